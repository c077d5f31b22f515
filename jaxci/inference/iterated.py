"""The iterated bootstrap: where an estimate lies among the resamples of each resample."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.inference.replicate import bytes_per_replicate, chunk_workers, default_budget
from jaxci.intervals.base import Nesting
from jaxci.resampling.bank import Bootstrap
from jaxci.resampling.kernels import cell_counts, cumulative_counts
from jaxci.resampling.threads import each
from jaxci.special import namespace
from jaxci.statistics.sums import Bank

PURPOSE_OUTER, PURPOSE_INNER = 3, 4
"""Separate outer and inner resamples from each other and from replicates."""


class Nested(NamedTuple):
    """Resamples of n positions as cumulative counts: outer ones (n + 1, B1), and inner ones (n + 1, B2).

    A resample puts the copies of each unit on positions that follow each other, so that a resample of positions is one
    of it: counts of units are differences of the cumulative counts of the positions, for the data as for a resample.
    """

    outer: Any
    inner: Any

    @classmethod
    def drawn(cls, n: int, nesting: Nesting, key: jax.Array) -> Nested:
        """Draw both for n units."""
        purposes = (PURPOSE_OUTER, PURPOSE_INNER)
        both = zip(purposes, nesting, strict=True)
        return cls(*(drawn(Bootstrap.of(n), key, np.int32(p), np.int32(0), size=size) for p, size in both))


@functools.partial(jax.jit, static_argnames="size")
def drawn(positions: Bootstrap, key: jax.Array, purpose: jax.Array, start: jax.Array, *, size: int) -> jax.Array:
    """Return the cumulative counts (U + 1, size) of resamples of positions from number ``start`` on."""
    rows = positions.counts(jax.random.fold_in(key, purpose), start + jnp.arange(size, dtype=jnp.int32))
    return cumulative_counts(rows.T)


class Placed(NamedTuple):
    """How many inner replicates of each outer resample lie below the estimate, ties half, and are defined: (S, B1)."""

    below: Any
    defined: Any

    @property
    def levels(self) -> Any:
        """The share (S, B1) that lies below; NaN where none is defined."""
        xp = namespace(self.below)
        return xp.where(self.defined > 0, self.below / xp.maximum(self.defined, 1), xp.nan)


def placed(program: Program, nested: Nested, estimates: Any, slack: Any, counted: Any = True) -> Placed:
    """Evaluate the inner resamples of every outer resample, one outer resample after another.

    Parameters
    ----------
    program : Program
    nested : Nested
    estimates, slack : (S,) arrays
        The statistics on the data, and how far from them values are ties.
    counted : (B2,) array
        Which inner resamples count; all by default.
    """

    def one(resample: jax.Array) -> Placed:
        values = program.values(Bank.of_columns(cell_counts(nested.inner, resample)))
        apart = values - estimates[:, None]
        below = jnp.where(jnp.abs(apart) <= slack[:, None], 0.5, 1.0 * (apart < 0))
        return Placed(jnp.sum(jnp.where(counted, below, 0.0), axis=1), jnp.sum(counted & ~jnp.isnan(values), axis=1))

    resamples = cell_counts(nested.outer, jnp.asarray(program.multiplicity).astype(jnp.int32))
    found = jax.lax.map(one, resamples.T.astype(jnp.int32))
    return Placed(found.below.T, found.defined.T)


_placed = jax.jit(placed)


def levels(
    program: Program,
    n_units: int,
    nesting: Nesting,
    key: jax.Array,
    estimates: np.ndarray,
    slack: np.ndarray,
    memory_limit: int | None = None,
) -> np.ndarray:
    """Return the levels (S, B1) of one data set; see :func:`placed` for ``estimates`` and ``slack``.

    Draws depend on the key and their numbers, not on chunks, which keep to ``memory_limit`` bytes, or to one inner
    replicate if that takes more.
    """
    workers, positions = chunk_workers(), Bootstrap.of(n_units)
    budget = (memory_limit or default_budget()) // workers
    per_draw = 3 * 8 * positions.n_units
    n_inner = _even(nesting.inner, budget // (bytes_per_replicate(program) + per_draw))
    n_outer = _even(-(-nesting.outer // workers), budget // per_draw)
    program, positions = jax.device_put((program, positions), next(iter(key.devices())))  # threads know no default
    wide = jnp.result_type(float) == jnp.float64
    whole = Placed(*np.zeros((2, len(estimates), nesting.outer)))
    for first in range(0, nesting.inner, n_inner):
        inner = drawn(positions, key, np.int32(PURPOSE_INNER), np.int32(first), size=n_inner)
        counted = first + np.arange(n_inner) < nesting.inner

        def run(start: int, inner: jax.Array = inner, counted: np.ndarray = counted) -> Placed:
            with jax.enable_x64(wide):  # a context of the calling thread
                outer = drawn(positions, key, np.int32(PURPOSE_OUTER), np.int32(start), size=n_outer)
                return jax.block_until_ready(_placed(program, Nested(outer, inner), estimates, slack, counted))

        parts = each(run, range(0, nesting.outer, n_outer), workers)
        for total, part in zip(whole, zip(*parts, strict=True), strict=True):
            total += np.concatenate(part, axis=1)[:, : nesting.outer]
    return whole.levels


def _even(total: int, most: int) -> int:
    """Return the size of as few chunks of ``total`` as hold at most ``most`` each."""
    return -(-total // -(-total // max(1, most)))
