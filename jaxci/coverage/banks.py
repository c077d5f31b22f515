"""Banks of resamples of a study's groups."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.iterated import Nested
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Nesting
from jaxci.resampling.bank import Scheme, replicate_keys
from jaxci.resampling.posterior import GammaTables, keeping_strata
from jaxci.resampling.schemes import make_scheme
from jaxci.resampling.words import exponentials
from jaxci.statistics.layout import Layout

BLOCK = 2**17
"""Draws of a bank made together: they stay in a CPU's cache."""
KEPT = 2**29
"""Bytes that the banks which cells share may take: 80 groups of 9,999 resamples up to n = 670 (weights: 160)."""
BYTES_PER_COUNT = 12
"""A count or weight of a bank, as a number and in the sums that statistics read."""

Piece = tuple[int, int]
"""Resamples of a bank that are read together: the first, and the one after the last."""


PURPOSES = {"weights": 2**31 - 1, "unseen": 2**31 - 2, "nested": 2**31 - 3}
"""Separate weights of posteriors and resamples of resamples from counts: numbers that no group has."""


def pieces_of(n: int, n_resamples: int, budget: int) -> list[Piece]:
    """Return pieces of a bank of n units, what is read of each of which fits ``budget`` bytes."""
    rows = max(1, BLOCK // n)
    most = max(1, budget // (BYTES_PER_COUNT * n * rows)) * rows
    count = -(-n_resamples // most)
    size = -(-n_resamples // (count * rows)) * rows
    return [(start, min(start + size, n_resamples)) for start in range(0, n_resamples, size)]


class Banks:
    """Banks of groups of data sets: counts of every resample in a column, or weights, and a last column of ones.

    A bank may be asked for piece by piece: the column of ones follows its last piece.

    The bank of group g depends on the key, the number of units n, their strata, B and g. Where cells share banks, a
    later one finds those of an earlier one: they are kept as far as they fit ``budget`` bytes, until another n or B is
    asked for, or other strata.
    """

    def __init__(self, key: jax.Array, budget: int = 0):
        self.key, self.budget = key, budget
        self._shape: tuple[Layout, int] | None = None
        self._kept: dict[tuple[str, int, Piece], jax.Array] = {}
        self._held = 0

    def columns(
        self, group: int, layout: Layout, n_resamples: int, spread: Spread, piece: Piece | None = None
    ) -> jax.Array:
        """Return the bank (U, B + 1) of the units of a group, one byte a count."""
        return self._bank("counts", group, layout, n_resamples, spread, piece or (0, n_resamples))

    def weights(
        self, group: int, layout: Layout, n_resamples: int, spread: Spread, piece: Piece | None = None
    ) -> jax.Array:
        """Return the bank (U, B + 1) of exponential weights of the units of a group, in single precision."""
        return self._bank("weights", group, layout, n_resamples, spread, piece or (0, n_resamples))

    def unseen(self, group: int, masses: tuple[float, ...], n_resamples: int, piece: Piece | None = None) -> jax.Array:
        """Return the weights (P, B + 1) of pseudo-units of these masses that go with :meth:`weights`, 0 at last."""
        whole = _unseen(self._key("unseen", group), GammaTables.of(masses), n_resamples=n_resamples)
        start, stop = piece or (0, n_resamples)
        return whole[:, start : stop + (stop == n_resamples)]

    def nested(self, group: int, n: int, nesting: Nesting) -> Nested:
        """Return resamples of resamples of n units."""
        return Nested.drawn(n, nesting, self._key("nested", group))

    def _key(self, kind: str, group: int) -> jax.Array:
        key = self.key if kind == "counts" else jax.random.fold_in(self.key, PURPOSES[kind])
        return jax.random.fold_in(key, group)

    def _bank(self, kind: str, group: int, layout: Layout, n_resamples: int, spread: Spread, piece: Piece) -> jax.Array:
        n = layout.n_units
        units = Layout(n, strata=layout.strata)
        if self._shape != (units, n_resamples):
            self._shape, self._kept, self._held = (units, n_resamples), {}, 0
        if (kind, group, piece) in self._kept:
            return self._kept[kind, group, piece]
        rows, (start, stop) = max(1, BLOCK // n), piece
        starts = start + jnp.arange(-(-(stop - start) // rows), dtype=jnp.int32) * rows
        shared = self._key(kind, group), make_scheme(units), units.strata
        drawn = spread(_bank_counts if kind == "counts" else _bank_weights, starts, shared, n=n, rows=rows)
        bank = _closed(drawn, n=n, n_resamples=stop - start, last=stop == n_resamples)
        if self._held + bank.nbytes <= self.budget:
            self._kept[kind, group, piece] = bank
            self._held += bank.nbytes
        return bank


@functools.partial(jax.jit, static_argnames="n_resamples")
def _unseen(key: jax.Array, tables: GammaTables, *, n_resamples: int) -> jax.Array:
    keys = replicate_keys(key, jnp.arange(n_resamples, dtype=jnp.int32))
    return jnp.pad(tables.variates(exponentials(keys, len(tables.of_unit))).T, ((0, 0), (0, 1)))


def _bank_weights(starts: jax.Array, shared: tuple[jax.Array, Scheme, Any], *, n: int, rows: int) -> jax.Array:
    key, _, strata = shared

    def block(start: jax.Array) -> jax.Array:
        drawn = exponentials(replicate_keys(key, start + jnp.arange(rows, dtype=jnp.int32)), n).T
        return drawn if strata is None else keeping_strata(drawn, strata, np.ones(n), n)

    return jax.lax.map(block, starts)


def _bank_counts(starts: jax.Array, shared: tuple[jax.Array, Scheme, Any], *, n: int, rows: int) -> jax.Array:
    key, scheme, _ = shared

    def block(start: jax.Array) -> jax.Array:
        counts = scheme.counts(key, start + jnp.arange(rows, dtype=jnp.int32))[:, :n]
        return counts.T.astype(jnp.uint8)  # no count of a bank of any use reaches 256

    return jax.lax.map(block, starts)


@functools.partial(jax.jit, static_argnames=("n", "n_resamples", "last"))
def _closed(counts: jax.Array, *, n: int, n_resamples: int, last: bool = True) -> jax.Array:
    counts = jnp.swapaxes(counts, 0, 1).reshape(n, -1)[:, :n_resamples]
    return jnp.concatenate([counts, jnp.ones((n, 1), counts.dtype)], axis=1) if last else counts
