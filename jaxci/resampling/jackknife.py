"""Leave-one-out and delete-d values by weights: no data are moved."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.resampling.engine import Program, bytes_per_replicate, default_budget

MOST_SUBSETS = 2_000_000
"""Delete-d jackknives with more subsets are refused."""


@functools.partial(jax.jit, static_argnames=("which",))
def _without(program: Program, deleted: jax.Array, which: int) -> jax.Array:
    function = program.functions()[which]
    whole = jnp.asarray(program.multiplicity)

    def value(units: jax.Array) -> jax.Array:
        return function(whole.at[units].add(-1.0))

    return jax.vmap(value)(deleted)


def _batches(deleted: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, int]]:
    for start in range(0, len(deleted), size):
        part = deleted[start : start + size]
        yield np.pad(part, ((0, size - len(part)), (0, 0)), mode="edge"), len(part)


def deleted_values(program: Program, which: int, deleted: np.ndarray) -> np.ndarray:
    """Return statistic number ``which`` with each row of units in ``deleted`` (m, d) left out: (m,).

    Cost O(m n) at most, in chunks of the default memory budget.
    """
    size = max(1, min(len(deleted), default_budget() // bytes_per_replicate(program)))
    program = jax.device_put(program)
    parts = [
        np.asarray(_without(program, units, which))[:kept] for units, kept in _batches(deleted.astype(np.int32), size)
    ]
    return np.concatenate(parts)


def quantile_left_out(values: np.ndarray, q: float) -> tuple[np.ndarray, np.ndarray]:
    """Leave-one-out values of the linear quantile of sorted ``values`` (n,), with multiplicities.

    Only three values occur: the deleted rank lies below, at, or above the interpolation point.
    """
    n = len(values)
    h = (n - 2) * q
    lo = min(math.floor(h + 1e-9), max(n - 3, 0))
    f = h - lo
    x = values[lo : lo + 3]
    if len(x) < 3:
        return np.array([x[1], x[0]]), np.array([1.0, 1.0])
    found = np.array([(1 - f) * x[1] + f * x[2], (1 - f) * x[0] + f * x[2], (1 - f) * x[0] + f * x[1]])
    return found, np.array([lo + 1.0, 1.0, n - 2.0 - lo])


def acceleration(left_out: np.ndarray, multiplicity: np.ndarray) -> float:
    """Return the BCa acceleration from leave-one-out values; NaN where they are all equal."""
    total = multiplicity.sum()
    centred = np.sum(multiplicity * left_out) / total - left_out
    spread = np.sum(multiplicity * centred**2)
    scale = np.max(np.abs(left_out), initial=0.0)
    if not spread > total * (1e-14 * scale) ** 2:
        return math.nan
    return float(np.sum(multiplicity * centred**3) / (6 * spread**1.5))


def mean_acceleration(values: np.ndarray) -> float:
    """Return the BCa acceleration of the mean of ``values`` (n,): skewness over ``6 sqrt(n)``; NaN if constant."""
    centred = values - np.mean(values)
    squares = centred * centred
    spread = np.sum(squares)
    return float(np.sum(squares * centred) / (6 * spread**1.5)) if spread > 0 else math.nan


def subsets(n: int, delete: int) -> np.ndarray:
    """Return all subsets of ``delete`` units out of ``n``, one a row."""
    if delete == 1:
        return np.arange(n)[:, None]
    count = math.comb(n, delete)
    if count > MOST_SUBSETS:
        raise ValueError(
            f"delete = {delete} of n = {n} means {count:,} subsets, more than {MOST_SUBSETS:,}; use a smaller delete"
        )
    flat = itertools.chain.from_iterable(itertools.combinations(range(n), delete))
    return np.fromiter(flat, np.int64, count * delete).reshape(count, delete)
