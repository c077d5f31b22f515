"""One run of a training function: its random states, what it is called with, and what came of it."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import platform
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from jaxci.checks import shown
from jaxci.runs.file import Run

METRIC = "value"
"""Name of the metric of a function that returns one number."""
LONGEST = 2_000
"""Characters of an error's message that are recorded."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended: what may be recorded of it, and the error that ended it, if one did.

    ``recordable`` is False where ``train`` returned what it must not: that is no accident of a seed.
    """

    run: Run
    error: Exception | None = None
    recordable: bool = True


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A training function with what holds for all of its runs."""

    train: Callable[..., Any]
    varies: str
    seed_all: bool

    def attempt(self, seed: int, repetition: int) -> Outcome:
        """Make one run."""
        call = with_arguments(self.train)
        seeded = _seed_libraries(seed) if self.seed_all else []
        error: Exception | None = None
        values: dict[str, float] = {}
        recordable = True
        start = time.perf_counter()
        try:
            result = call(seed)
            recordable = _is_metrics(result)
            values = _metrics(result, seed)
        except Exception as raised:
            error = raised
        except SystemExit as raised:  # as scripts say that they failed
            error = RuntimeError(f"train called for the end of the process: SystemExit: {raised.code}")
        seconds = time.perf_counter() - start
        told = None if error is None else f"{type(error).__name__}: {error}"[:LONGEST]
        return Outcome(
            Run(seed, repetition, values, seconds, self.varies, seeded, _versions(), told), error, recordable
        )

    def outcomes(self, waiting: deque[tuple[int, int]]) -> Generator[Outcome, None, None]:
        """Make the runs that wait, one by one; emptying ``waiting`` ends it."""
        with _states_kept():
            while waiting:
                yield self.attempt(*waiting.popleft())


def with_arguments(train: Callable[..., Any]) -> Callable[[int], Any]:
    """Return a function of the seed that calls ``train`` with what it accepts: a seed, a key, or both."""
    try:
        signature = inspect.signature(train)
    except (TypeError, ValueError):
        return train

    def binds(*args: Any, **kwargs: Any) -> bool:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            return False
        return True

    if "key" in signature.parameters and binds(0, key=0):
        return lambda seed: train(seed, key=jax.random.key(seed))
    if "key" in signature.parameters and binds(key=0):
        return lambda seed: train(key=jax.random.key(seed))
    if not binds(0):
        raise TypeError(f"train must accept one argument, the seed; its signature is {signature}")
    return train


@contextlib.contextmanager
def _states_kept() -> Iterator[None]:
    """Give the states of ``random`` and ``numpy.random`` back on the way out."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(theirs)  # noqa: NPY002


def _seed_libraries(seed: int) -> list[str]:
    """Seed the global random states there are, and name their libraries; importing torch would be slow."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return ["random", "numpy"]
    torch.manual_seed(seed)
    return ["random", "numpy", "torch"]


def _versions() -> dict[str, str]:
    """Versions of what a result may depend on."""
    found = {
        "python": platform.python_version(),
        "jaxci": version("jaxci"),
        "jax": jax.__version__,
        "numpy": np.__version__,
    }
    torch: Any = sys.modules.get("torch")
    return found if torch is None else {**found, "torch": str(torch.__version__)}


def _is_metrics(result: Any) -> bool:
    """Whether ``train`` may return this: a number, or names with numbers."""
    if not isinstance(result, Mapping):
        return _is_number(result)
    return bool(result) and all(isinstance(name, str) and _is_number(x) for name, x in result.items())


def _metrics(result: Any, seed: int) -> dict[str, float]:
    """Return what ``train`` returned as metrics."""
    if not _is_metrics(result):
        given = dict(result) if isinstance(result, Mapping) else result
        raise TypeError(
            f"train must return a number or a non-empty dict of names to numbers; got {shown(given)} for seed {seed}"
        )
    return {name: float(x) for name, x in (result if isinstance(result, Mapping) else {METRIC: result}).items()}


def _is_number(value: Any) -> bool:
    return not isinstance(value, str | complex) and hasattr(value, "__float__") and np.ndim(value) == 0
