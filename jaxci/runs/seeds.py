"""Runs of a training function under many seeds: recorded one by one, resumed, and checked for repeatability."""

from __future__ import annotations

import contextlib
import inspect
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxci.checks import check_count, shown
from jaxci.inference.remarks import announce
from jaxci.printing import number
from jaxci.runs.file import Run, append, recorded
from jaxci.runs.results import SeedRuns, numbered

METRIC = "value"
"""Name of the metric of a function that returns one number."""

SEED_LIMIT = 2**32
"""Seeds lie below it: numpy.random.seed takes 32 bits."""

MOST_LISTED = 20
"""Seeds that a warning lists."""


def run_seeds(
    train: Callable[..., Any],
    seeds: int | Iterable[int],
    *,
    varies: str = "init",
    seed_all: bool = True,
    file: str | os.PathLike[str] | None = None,
    repeat: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SeedRuns:
    """Train once a seed, with the random states under control, and keep every result.

    Parameters
    ----------
    train : callable
        ``train(seed)`` returns a number, or a dictionary of metric names to numbers. Where it
        accepts a parameter called ``key``, it also gets ``jax.random.key(seed)``: JAX has no
        global random state, so ``train(seed, key)`` or ``train(key)`` must use the key itself.
    seeds : int or iterable of int
        ``n`` means 0 to n - 1. A seed that is given twice is run twice.
    varies : str
        What the seed controls: "init", "data order", "split", "all" ...; recorded with every run.
    seed_all : bool
        Whether to seed the global states of ``random`` and ``numpy.random`` before every run, and
        those of torch (``torch.manual_seed``: all devices) if torch has been imported by then.
    file : path, optional
        Where to record every run as soon as it ends, one line of JSON a run. Runs that the file
        already holds are not made again. Only one process at a time may use a file.
    repeat : int
        Runs of each seed. More than one shows whether the seed determines the result.
    progress : callable, optional
        Called with (runs done, runs in all) after every run; runs in the file count as done.

    Returns
    -------
    SeedRuns
        ``runs[metric]`` holds one value a seed; ``differing`` the seeds that gave two results.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, ``train`` returns something else or other metrics than
        before, or ``file`` holds runs that vary something else, have other metrics, or were made
        under another ``seed_all``.
    Exception
        Whatever ``train`` raises, with a note that names the seed and how to go on. The runs
        before it stay in ``file``.

    Warns
    -----
    JaxciWarning
        If runs of one seed differ, compared exactly; if a result is not finite; if runs were made
        under several versions of a package; or if torch was first imported within a run, which
        therefore drew from a state that nobody seeded.

    Notes
    -----
    Afterwards ``random`` and ``numpy.random`` are in the state in which they were before the
    call; torch stays as the last run left it. Not controlled are generators with a state of their
    own (``numpy.random.default_rng()`` without a seed, a ``torch.Generator``), other processes,
    and operations of accelerators that add in no fixed order: ``repeat=2`` reveals these. It cannot
    reveal what stays the same within a process, such as the order of sets of strings. After a
    change of ``train`` or its data give a new ``file``: such a change goes unnoticed. Source: Lehmann
    and Paromau (2025), who run a pipeline under controlled random states to see the distribution of
    its metric.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxci import run_seeds
    >>> def train(seed):
    ...     noise = np.random.normal(size=50)
    ...     return {"accuracy": float(np.mean(noise > -1)), "loss": float(np.mean(noise**2))}
    >>> runs = run_seeds(train, 5, varies="noise", repeat=2)
    >>> runs["accuracy"].tolist(), len(runs), runs.differing
    ([0.84, 0.88, 0.82, 0.76, 0.8], 10, {})
    """
    if not callable(train):
        raise TypeError(f"train must be callable; got {shown(train)}")
    asked = numbered([seed for seed in _seeds(seeds) for _ in range(check_count("repeat", repeat, 1))])
    if not isinstance(varies, str):
        raise TypeError(f"varies must be a str; got {shown(varies)}")
    if not varies.strip():
        raise ValueError(f"varies must say what the seed controls; got {varies!r}")
    if not isinstance(seed_all, bool):
        raise TypeError(f"seed_all must be True or False; got {shown(seed_all)}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None; got {shown(progress)}")
    path = _path(file)
    call = _with_arguments(train)
    runs = {} if path is None else recorded(path, varies, seed_all)
    missing = [(seed, repetition) for seed, repetition in asked if (seed, repetition) not in runs]
    with _states_kept():
        for seed, repetition in missing:
            try:
                run = _finished(call, seed, repetition, varies, seed_all)
                _check_metrics(run, next(iter(runs.values()), run), path)
                if path is not None:
                    append(path, run.line())
            except BaseException as error:
                error.add_note(_how_to_go_on(seed, sum(pair in runs for pair in asked), len(asked), path))
                raise
            runs[seed, repetition] = run
            if progress is not None:
                progress(sum(pair in runs for pair in asked), len(asked))
    found = _collected([runs[pair] for pair in asked], varies)
    announce(found.warnings)
    return found


def _seeds(seeds: Any) -> list[int]:
    """Return the seeds as a list of at least one int in [0, 2**32)."""
    if isinstance(seeds, int | np.integer):
        return list(range(check_count("seeds", seeds, 1)))
    try:
        given = list(seeds)
    except TypeError:
        raise TypeError(f"seeds must be an integer or an iterable of integers; got {shown(seeds)}") from None
    if not given:
        raise ValueError("seeds must hold at least one seed; got none")
    checked = [check_count(f"seeds[{i}]", seed, 0) for i, seed in enumerate(given)]
    for i, seed in enumerate(checked):
        if seed >= SEED_LIMIT:
            raise ValueError(f"seeds[{i}] must be below 2**32; got {seed}")
    return checked


def _path(file: Any) -> Path | None:
    """Return ``file`` as a path that stays the same wherever ``train`` moves to."""
    if file is None:
        return None
    if not isinstance(file, str | os.PathLike):
        raise TypeError(f"file must be a path or None; got {shown(file)}")
    path = Path(file).absolute()
    if path.is_dir():
        raise ValueError(f"file must be the path of a file; got the folder {path}")
    return path


def _with_arguments(train: Callable[..., Any]) -> Callable[[int], Any]:
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


def _finished(call: Callable[[int], Any], seed: int, repetition: int, varies: str, seed_all: bool) -> Run:
    """Make one run."""
    seeded = _seed_libraries(seed) if seed_all else []
    start = time.perf_counter()
    values = _metrics(call(seed), seed)
    seconds = time.perf_counter() - start
    return Run(seed, repetition, values, seconds, varies, seeded, _versions())


def _metrics(result: Any, seed: int) -> dict[str, float]:
    """Return what ``train`` returned as metrics."""
    if not isinstance(result, Mapping):
        result = {METRIC: result}
    names_hold = all(isinstance(name, str) for name in result)
    if not result or not names_hold or not all(_is_number(x) for x in result.values()):
        given = result[METRIC] if list(result) == [METRIC] else dict(result)
        raise TypeError(
            f"train must return a number or a non-empty dict of names to numbers; got {shown(given)} for seed {seed}"
        )
    return {name: float(x) for name, x in result.items()}


def _is_number(value: Any) -> bool:
    return not isinstance(value, str | complex) and hasattr(value, "__float__") and np.ndim(value) == 0


def _check_metrics(run: Run, other: Run, path: Path | None) -> None:
    """Refuse a run whose metrics are not those of an earlier one."""
    if run.values.keys() != other.values.keys():
        hint = "" if path is None else f", which {path} may hold from another call: give another file"
        raise ValueError(
            f"train must return the same metric names in every run; got {sorted(run.values)} for seed {run.seed} "
            f"and {sorted(other.values)} for seed {other.seed}{hint}"
        )


def _how_to_go_on(seed: int, done: int, total: int, path: Path | None) -> str:
    """Return the note on an error."""
    if path is None:
        return f"run_seeds: seed {seed} failed after {done} of {total} runs, which are lost: pass file= to keep them"
    return (
        f"run_seeds: seed {seed} failed; {done} of {total} runs are in {path}: "
        "call again with the same arguments to go on with this seed"
    )


def _collected(runs: Sequence[Run], varies: str) -> SeedRuns:
    """Return runs as a result, with what to know of them."""
    seeds = np.array([run.seed for run in runs], np.int64)
    values = {name: np.array([run.values[name] for run in runs]) for name in runs[0].values}
    repeated = [seed for seed, count in Counter(seeds.tolist()).items() if count > 1]
    largest = {seed: largest_difference([x[seeds == seed] for x in values.values()]) for seed in repeated}
    differing = {seed: spread for seed, spread in largest.items() if spread != 0}
    warnings = []
    if differing:
        most = float(np.max(list(differing.values())))
        warnings.append(
            f"{len(differing)} of {len(repeated)} repeated seeds gave different results (seeds {_listed(differing)}; "
            f"largest difference {number(most)}): the seed does not control all randomness of train"
        )
    for name, x in values.items():
        lost = seeds[~np.isfinite(x)].tolist()
        if lost:
            warnings.append(f"{name} is not finite in {len(lost)} of {len(runs)} runs (seeds {_listed(lost)})")
    unseeded = [run.seed for run in runs if run.seeded and "torch" in run.versions and "torch" not in run.seeded]
    if unseeded:
        warnings.append(
            f"torch was first imported within a run and not seeded there (seeds {_listed(unseeded)}): "
            "import torch before run_seeds"
        )
    for package in dict.fromkeys(name for run in runs for name in run.versions):
        used = list(dict.fromkeys(run.versions[package] for run in runs if package in run.versions))
        if len(used) > 1:
            warnings.append(f"runs were made under {len(used)} versions of {package}: {', '.join(used)}")
    seconds = np.array([run.seconds for run in runs])
    return SeedRuns(seeds, values, seconds, varies, differing, tuple(warnings))


def _listed(seeds: Iterable[int]) -> str:
    """Return seeds for a message, each once."""
    texts = [str(seed) for seed in dict.fromkeys(seeds)]
    return ", ".join(texts[:MOST_LISTED]) + (" ..." if len(texts) > MOST_LISTED else "")


def largest_difference(columns: Iterable[np.ndarray]) -> float:
    """Return the largest range within any column: 0 where all agree exactly, NaN where only some are NaN."""
    spreads = [
        0.0 if np.array_equal(x, np.full_like(x, x[0]), equal_nan=True) else np.max(x) - np.min(x) for x in columns
    ]
    return float(np.max(spreads))
