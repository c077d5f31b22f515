"""What users' code computes now, told by tracing it: compiled programs serve as long as it computes the same.

A function may read what is not among its arguments: variables of its module or of the function around it, fields of
its object, arrays that are changed in place. JAX reads them once, when it compiles the function, and knows the program
by the function alone.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np

from jaxci.records import MARK, settings

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr

T = TypeVar("T")
ADDRESS = re.compile("0x[0-9a-f]+")
"""Where an object lies in memory, which the text of a traced function may say."""


def traced(function: Callable[..., Any], *arguments: Any) -> tuple[ClosedJaxpr, Any]:
    """Trace a function as it is now, on arrays or on their shapes; return what it does, and the shapes it returns."""
    # A new function each time: JAX keeps what it traced of one, and of NumPy's own crashes the process (0.10).
    return jax.make_jaxpr(lambda *given: function(*given), return_shape=True)(*arguments)


def digest_of(steps: ClosedJaxpr) -> str:
    """Return a digest of what a traced function does, with the numbers of the arrays that it reads."""
    found = hashlib.sha256(ADDRESS.sub("", str(steps)).encode())
    for x in _constants(steps):
        held = np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
        found.update(f"{held.dtype}{held.shape}".encode())
        found.update(held.tobytes())
    return found.hexdigest()


def _constants(steps: ClosedJaxpr | Jaxpr) -> Iterator[Any]:
    """Yield the arrays that a traced function reads besides its arguments, and those of the functions within it."""
    from jax.extend.core import ClosedJaxpr, Jaxpr  # takes a while, and is needed for users' functions only

    if isinstance(steps, ClosedJaxpr):
        yield from steps.consts
        steps = steps.jaxpr
    for step in steps.eqns:
        for within in jax.tree.leaves(list(step.params.values())):
            if isinstance(within, ClosedJaxpr | Jaxpr):
                yield from _constants(within)


def computing(record: T, steps: ClosedJaxpr) -> T:
    """Return a copy of a record that programs tell from others of its like by what its traced code does."""
    found = copy.copy(record)
    object.__setattr__(found, MARK, digest_of(steps))
    return found


def of_users(thing: Any) -> bool:
    """Whether a record or a function, or one that it holds, is not the library's, and is not marked as it is now."""
    if getattr(thing, MARK, None) is not None:
        return False
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return not _known(type(thing)) or any(map(of_users, settings(thing).values()))
    return callable(thing) and not _known(thing)


def _known(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "jaxci"


def as_now(record: T, evaluate: Callable[..., Any], *arguments: Any) -> T:
    """Return a record as it computes now ``evaluate(record, *arguments)``, of arrays or their shapes, in 64 bits.

    Code of the library does not change: its records are returned as they are, as is one that is marked.
    """
    if not of_users(record):
        return record
    with jax.enable_x64(True):
        steps, _ = traced(evaluate, record, *arguments)
    return computing(record, steps)
