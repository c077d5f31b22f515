"""Products of the mid-ranks of two columns, of all resamples at once: walks along both orders, for CPUs."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxci.resampling import kernels, ranked

MOST_ROWS = 2**16
"""Rows up to which the walk is to be had: what it writes down of a block of resamples fits in memory."""

_KEPT = 2**22
_NARROWEST, _WIDEST = 128, 1024
"""Numbers that a block of resamples writes down, so that they stay in a cache; resamples of a block."""

_TOGETHER = 64
"""Entries whose products are summed before they join the others: sums of thousands would round more."""


class Ascent(NamedTuple):
    """Rows by ascending value.

    Attributes
    ----------
    rows : (n,) int32
        Row of the bank.
    first, last : (n,) int32
        At each place, where its group of equal values starts and ends (inclusive).
    """

    rows: jax.Array
    first: jax.Array
    last: jax.Array

    @classmethod
    def of(cls, n: int, order: Any, first: Any, last: Any) -> Ascent:
        """Build for n rows; ``order`` is None where they ascend as they come, the others where no values are equal."""
        place = jnp.arange(n, dtype=jnp.int32)
        return cls(*(place if x is None else jnp.asarray(x) for x in (order, first, last)))


class RankProducts(NamedTuple):
    """Weighted means (B,) of products of two columns' mid-ranks, as shares of the weight less one half."""

    first: jax.Array
    both: jax.Array
    second: jax.Array


def scanned_products(bank_t: Any, first: Ascent, second: Ascent) -> RankProducts:
    """Average products of the shares of weight below every row, ties half, less 1/2.

    The form for CPUs, block by block of resamples: a walk along the first order writes down the weight up to every
    place, one along the second reads there the share of each row, and adds what its own group of ties adds at its end.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    first, second : Ascent
        Orders of n rows.

    Returns
    -------
    RankProducts
        NaN for a resample without weight.
    """
    n = bank_t.shape[0]
    dtype = kernels.sum_dtype(bank_t)
    place = jnp.arange(n, dtype=jnp.int32)
    at = jnp.zeros_like(place).at[first.rows].set(place)[second.rows]
    closes = jnp.append(second.first[1:] != second.first[:-1], jnp.ones(1, bool))
    entries = (second.rows, first.first[at], first.last[at] + 1, closes)
    whole = (0, 0, n, False)  # an entry that fills up: a mid-rank in the middle, of a group that never ends
    parts = [
        jnp.pad(x, (0, -n % _TOGETHER), constant_values=value).reshape(-1, _TOGETHER)
        for x, value in zip(entries, whole, strict=True)
    ]

    def products(weights: ranked.Weights, width: int) -> RankProducts:
        zero = jnp.zeros(width, dtype)

        def add(state: Any, entry: Any) -> Any:
            sums, total = state
            place, row = entry
            total = total + weights(row).astype(dtype)
            return jax.lax.dynamic_update_index_in_dim(sums, total, place + 1, 0), total

        sums, total = ranked.walk(add, (jnp.zeros((n + 1, width), dtype), zero), (place, first.rows))
        share = 1 / total

        def step(state: Any, entry: Any) -> Any:
            below, through, group, found = state
            row, start, end, closes = entry
            weight = weights(row).astype(dtype)
            a = (sums[start] + sums[end]) * share - 1
            through, group = through + weight, group + weight * a
            b = (below + through) * share - 1
            ended = RankProducts(found.first, found.both + group * b, found.second + (through - below) * b * b)
            kept = jax.tree.map(lambda new, old: jnp.where(closes, new, old), ended, found)
            return (
                jnp.where(closes, through, below),
                through,
                jnp.where(closes, 0, group),
                kept._replace(first=found.first + weight * a * a),
            )

        def part(state: Any, entries: Any) -> Any:
            *walked, found = state
            *walked, more = ranked.walk(step, (*walked, RankProducts(zero, zero, zero)), entries)
            return (*walked, jax.tree.map(jnp.add, found, more))

        start = (zero, zero, zero, RankProducts(zero, zero, zero))
        found = ranked.walk(part, start, tuple(parts), unroll=1)[-1]
        return jax.tree.map(lambda x: x * share / 4, found)

    return ranked.over_blocks(products, bank_t, max(_NARROWEST, min(_WIDEST, _KEPT // n)))
