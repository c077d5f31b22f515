"""Banks of resamples of a study's groups."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from jaxci.inference.sharding import Spread
from jaxci.resampling.bank import Bootstrap

BLOCK = 2**17
"""Draws of a bank made together: they stay in a CPU's cache."""
KEPT = 2**31
"""Bytes that the banks which cells share may take: 80 groups of 9,999 resamples up to n = 2,600."""


class Banks:
    """Banks of groups of data sets: counts of every resample in a column, and a last column of ones.

    The bank of group g depends on the key, n, B and g. Where cells share banks, a later one finds those of an earlier
    one: they are kept as far as they fit ``budget`` bytes, until another n or B is asked for.
    """

    def __init__(self, key: jax.Array, budget: int = 0):
        self.key, self.budget = key, budget
        self._shape: tuple[int, int] = (0, 0)
        self._kept: dict[int, jax.Array] = {}

    def columns(self, group: int, n: int, n_resamples: int, spread: Spread) -> jax.Array:
        """Return the bank (n, B + 1) of a group, one byte a count."""
        if self._shape != (n, n_resamples):
            self._shape, self._kept = (n, n_resamples), {}
        if group in self._kept:
            return self._kept[group]
        own = jax.random.fold_in(self.key, group)
        rows = max(1, BLOCK // n)
        starts = jnp.arange(-(-n_resamples // rows), dtype=jnp.int32) * rows
        counts = spread(_bank_counts, starts, (own, Bootstrap.of(n)), n=n, rows=rows)
        bank = _closed(counts, n=n, n_resamples=n_resamples)
        if (len(self._kept) + 1) * bank.size <= self.budget:
            self._kept[group] = bank
        return bank


def _bank_counts(starts: jax.Array, shared: tuple[jax.Array, Bootstrap], *, n: int, rows: int) -> jax.Array:
    key, scheme = shared

    def block(start: jax.Array) -> jax.Array:
        counts = scheme.counts(key, start + jnp.arange(rows, dtype=jnp.int32))[:, :n]
        return counts.T.astype(jnp.uint8)  # no count of a bank of any use reaches 256

    return jax.lax.map(block, starts)


@functools.partial(jax.jit, static_argnames=("n", "n_resamples"))
def _closed(counts: jax.Array, *, n: int, n_resamples: int) -> jax.Array:
    counts = jnp.swapaxes(counts, 0, 1).reshape(n, -1)[:, :n_resamples]
    return jnp.concatenate([counts, jnp.ones((n, 1), counts.dtype)], axis=1)
