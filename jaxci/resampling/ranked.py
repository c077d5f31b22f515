"""Sums along a ranking of all resamples at once: pairs that a class wins, and precision.

Two forms of one result. *Scanned*, for CPUs: a walk along the entries of the ranking, from the highest score
down, with vectors of B sums; each step reads one row of the transposed bank, whatever the order, so one
bank in its own order serves every ranking of every data set. *Compared*, for accelerators and a few thousand
observations: a product of the bank with the table of who scores higher than whom.

A bank by observation, ``bank_t`` (n, B), is an array or a :class:`SpreadBank`: rows of a unit weigh what it does.

Letters: n observations, B resamples, m entries of a ranking, K classes. Types of sums are those of
:mod:`jaxci.resampling.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.resampling import kernels


@record
class SpreadBank:
    """A transposed bank of rows (n, B) whose weights are those of their units, which a walk reads row by row.

    Attributes
    ----------
    columns : (U, B) array
        Weights of units.
    units : (n,) int32 or None
        Unit of every row, None where they come in the order of the rows.
    weights : (n,) array or None
        What each row weighs in its unit, None where all weigh 1.
    """

    columns: Any
    units: Any
    weights: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of resamples."""
        of_rows = next(x for x in (self.units, self.weights, self.columns) if x is not None)
        return of_rows.shape[0], self.columns.shape[1]

    @property
    def dtype(self) -> Any:
        """Type of the weights of rows."""
        return self.columns.dtype if self.weights is None else jnp.result_type(self.columns, jnp.asarray(self.weights))

    def __getitem__(self, row: Any) -> jax.Array:
        """Return the weights (B,) of one row, or those (k, B) of several."""
        found = self.columns[row if self.units is None else jnp.asarray(self.units)[row]]
        return found if self.weights is None else found * jnp.asarray(self.weights)[row][..., None]


def spread(bank_t: Any) -> jax.Array:
    """Return a transposed bank as an array (n, B)."""
    return bank_t[jnp.arange(bank_t.shape[0])] if isinstance(bank_t, SpreadBank) else bank_t


class Descent(NamedTuple):
    """Entries of a ranking from the highest score down, members first among equal scores.

    Attributes
    ----------
    rows : (m,) int32
        Row of the bank.
    member : (m,) bool
        Whether the entry belongs to the class that is ranked.
    opens, closes : (m,) bool
        Whether it is the first, the last, of its group of equal scores.
    """

    rows: jax.Array
    member: jax.Array
    opens: jax.Array
    closes: jax.Array

    @classmethod
    def of(cls, rows: jax.Array, member: jax.Array, first: jax.Array | None) -> Descent:
        """Build from entries by ascending score; ``first`` is where each tie group starts, None without ties."""
        rows, member = jnp.asarray(rows), jnp.asarray(member)
        if first is None:
            alone = jnp.ones(rows.shape, bool)
            return cls(rows[::-1], member[::-1], alone, alone)
        first = jnp.asarray(first)
        turn = jnp.argsort(2 * first + member)[::-1]
        group = first[turn]
        change = group[1:] != group[:-1]
        edge = jnp.ones(1, bool)
        return cls(rows[turn], member[turn], jnp.append(edge, change), jnp.append(change, edge))


_UNROLL = 2
"""Entries per step of a walk: sums are then read and written once for two."""

Step = Callable[[Any, Any], Any]
Weights = Callable[[Any], jax.Array]
"""Weights of one row in the resamples of a block."""


def walk(step: Step, sums: Any, entries: Any, unroll: int = _UNROLL) -> Any:
    """Return ``sums`` after ``sums = step(sums, entry)`` for every entry along the first axis of ``entries``."""
    return jax.lax.scan(lambda *state: (step(*state), None), sums, entries, unroll=unroll)[0]


def over_blocks(function: Callable[[Weights, int], Any], bank_t: Any, most: int) -> Any:
    """Return ``function(weights, width)`` of all resamples, ``most`` at a time.

    Parameters
    ----------
    function : callable
        Takes the weights (width,) of a row, as a function of its number, and their number; returns a pytree of arrays
        (..., width).
    bank_t : (n, B) array
        Weights; no block of it is copied.
    most : int
        Resamples of a block at most; the last block may begin before the one ahead of it ends.
    """
    size = bank_t.shape[1]
    blocks = -(-size // most)
    width = -(-size // max(1, blocks))

    def block(left: Any) -> Any:
        return function(lambda row: _part_of_row(bank_t, row, left, width), width)

    if blocks <= 1:
        return block(0)

    def fill(number: Any, found: Any) -> Any:
        left = jnp.minimum(number * width, size - width)
        return jax.tree.map(
            lambda whole, part: jax.lax.dynamic_update_slice_in_dim(whole, part, left, axis=-1), found, block(left)
        )

    shapes = jax.eval_shape(block, jnp.zeros((), jnp.int32))
    start = jax.tree.map(lambda part: jnp.zeros((*part.shape[:-1], size), part.dtype), shapes)
    return jax.lax.fori_loop(np.int32(0), np.int32(blocks), fill, start)


def _part_of_row(bank_t: Any, row: Any, left: Any, width: int) -> jax.Array:
    """Return the weights (width,) of one row, from resample ``left`` on."""
    if isinstance(bank_t, SpreadBank):
        unit = row if bank_t.units is None else jnp.asarray(bank_t.units)[row]
        found = _part_of_row(bank_t.columns, unit, left, width)
        return found if bank_t.weights is None else found * jnp.asarray(bank_t.weights)[row]
    return jax.lax.dynamic_slice(bank_t, (row, jnp.asarray(left, row.dtype)), (1, width))[0]


class PairSums(NamedTuple):
    """Weights of the pairs of a member and another, with their sums over each side, all (B,)."""

    wins: jax.Array
    members: jax.Array
    others: jax.Array


def scanned_wins(bank_t: jax.Array, descent: Descent) -> PairSums:
    """Sum the weights of pairs in which the member scores higher, ties half, along the ranking.

    The form for CPUs: m steps on vectors of B sums.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    descent : Descent
        Ranking of m entries.

    Returns
    -------
    PairSums
        Exact for counts that sum to m: in float32 up to m = 5,792, in float64 beyond.
    """
    dtype = kernels.sum_dtype(bank_t, len(descent.rows) ** 2 / 2)

    def step(sums: Any, entry: Any) -> Any:
        above, through, others, wins = sums
        row, member, opens = entry
        weight = bank_t[row].astype(dtype)
        above = jnp.where(opens, through, above)
        through = through + member * weight
        outside = (1 - member) * weight
        return above, through, others + outside, wins + outside * (above + through)

    zero = jnp.zeros(bank_t.shape[1], dtype)
    entries = (descent.rows, descent.member.astype(dtype), descent.opens)
    _, members, others, wins = walk(step, (zero,) * 4, entries)
    return PairSums(wins / 2, members, others)


def compared_wins(bank_t: jax.Array, descent: Descent) -> PairSums:
    """Like :func:`scanned_wins`, as a product with the table of who scores higher than whom.

    The form for accelerators, and for m = n up to 4,096: ``n**2 B`` multiplications, in half precision for a
    bank of 8 bits or half precision. Exact where that is.
    """
    won, members, others = _won(bank_t, descent)
    return PairSums(jnp.sum(won, axis=0), members, others)


def _won(bank_t: jax.Array, descent: Descent) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Weight of pairs, of the members and every row (n, B), that the members win; both sides' weights (B,)."""
    bank_t = spread(bank_t)
    dtype = kernels.sum_dtype(bank_t, bank_t.shape[0] ** 2 / 2)
    counts = bank_t.dtype in (jnp.bfloat16, jnp.int8, jnp.uint8)
    bank = bank_t.astype(jnp.bfloat16 if counts else dtype)
    place = jnp.zeros_like(descent.rows).at[descent.rows].set(jnp.cumsum(descent.opens, dtype=jnp.int32))
    member = jnp.zeros_like(descent.member).at[descent.rows].set(descent.member)
    above, below = place[None, :], place[:, None]
    points = 2 * (above < below).astype(bank.dtype) + (above == below).astype(bank.dtype)
    sides = jnp.stack([member, ~member]).astype(bank.dtype)
    table = jnp.concatenate([points * sides[0] * sides[1][:, None], sides])

    sums = jnp.matmul(table, bank, precision=jax.lax.Precision.HIGHEST, preferred_element_type=dtype)
    return sums[:-2] * bank_t.astype(dtype) / 2, sums[-2], sums[-1]


def compared_class_wins(
    bank_t: jax.Array, descent: Descent, labels: jax.Array, n_classes: int
) -> tuple[jax.Array, jax.Array]:
    """Like :func:`scanned_class_wins`, as a product: the form for accelerators, for n up to 4,096."""
    won, members, _ = _won(bank_t, descent)
    of_class = (jnp.asarray(labels) == jnp.arange(n_classes)[:, None]).astype(won.dtype)
    return jnp.matmul(of_class, won, precision=jax.lax.Precision.HIGHEST), members


def scanned_class_wins(
    bank_t: jax.Array, descent: Descent, labels: jax.Array, n_classes: int
) -> tuple[jax.Array, jax.Array]:
    """Like :func:`scanned_wins`, for members against each class apart.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    descent : Descent
        Ranking of n rows.
    labels : (n,) int32
        Class of every row of the bank.
    n_classes : int
        K.

    Returns
    -------
    wins : (K, B) array
        Weight of pairs in which a member scores higher than a row of the class, ties half; 0 for
        the members' own.
    members : (B,) array
        Weight of the members.
    """
    dtype = kernels.sum_dtype(bank_t, len(descent.rows) ** 2 / 2)

    def step(sums: Any, entry: Any) -> Any:
        above, through, wins = sums
        row, member, opens, label = entry
        weight = bank_t[row].astype(dtype)
        above = jnp.where(opens, through, above)
        through = through + member * weight
        won = wins[label] + (1 - member) * weight * (above + through)
        return above, through, jax.lax.dynamic_update_index_in_dim(wins, won, label, 0)

    zero = jnp.zeros(bank_t.shape[1], dtype)
    entries = (descent.rows, descent.member.astype(dtype), descent.opens, jnp.asarray(labels)[descent.rows])
    start = (zero, zero, jnp.zeros((n_classes, bank_t.shape[1]), dtype))
    _, members, wins = walk(step, start, entries)
    return wins / 2, members


def scanned_partial_wins(bank_t: jax.Array, descent: Descent, share: float) -> PairSums:
    """Like :func:`scanned_wins`, for pairs with the highest ``share`` of the weight of the others.

    A member gains the weight of those of them that it outranks, averaged over its group of ties.
    """
    dtype = kernels.sum_dtype(bank_t, len(descent.rows) ** 2 / 2)
    member = descent.member.astype(dtype)
    others = walk(
        lambda total, entry: total + (1 - entry[1]) * bank_t[entry[0]].astype(dtype),
        jnp.zeros(bank_t.shape[1], dtype),
        (descent.rows, member),
    )
    limit = share * others

    def step(sums: Any, entry: Any) -> Any:
        above, through, before, found, wins = sums
        row, member, closes = entry
        weight = bank_t[row].astype(dtype)
        found, through = found + member * weight, through + (1 - member) * weight
        start, end = jnp.minimum(above, limit), jnp.minimum(through, limit)
        tied = through > above
        mean = (end - start) * (limit - (start + end) / 2) / jnp.where(tied, through - above, 1)
        gain = (found - before) * jnp.where(tied, mean, limit - start)
        return (
            jnp.where(closes, through, above),
            through,
            jnp.where(closes, found, before),
            found,
            jnp.where(closes, wins + gain, wins),
        )

    zero = jnp.zeros(bank_t.shape[1], dtype)
    _, _, _, members, wins = walk(step, (zero,) * 5, (descent.rows, member, descent.closes))
    return PairSums(wins, members, others)


def scanned_precision(
    bank_t: jax.Array, descent: Descent, above_all: Any = 0.0, below_all: Any = 0.0
) -> tuple[jax.Array, jax.Array]:
    """Sum the precision at every member, times its weight, along the ranking.

    Precision is the share of members in the weight of all that score as high or higher. The form for
    CPUs: m steps on vectors of B sums.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    descent : Descent
        Ranking of m entries.
    above_all, below_all : (B,) arrays
        Weight of others that score higher than all entries, and of members that score lower.

    Returns
    -------
    precision, members : (B,) arrays
        The sum, and the weight of the members.
    """
    dtype = kernels.sum_dtype(bank_t, len(descent.rows))

    def step(sums: Any, entry: Any) -> Any:
        above, found, ranked, precision = sums
        row, member, closes = entry
        weight = bank_t[row].astype(dtype)
        found, ranked = found + member * weight, ranked + weight
        gain = (found - above) * found / jnp.where(ranked > 0, ranked, 1)
        return jnp.where(closes, found, above), found, ranked, jnp.where(closes, precision + gain, precision)

    zero = jnp.zeros(bank_t.shape[1], dtype)
    entries = (descent.rows, descent.member.astype(dtype), descent.closes)
    above_all, below_all = (jnp.asarray(weight, dtype) for weight in (above_all, below_all))
    _, members, ranked, precision = walk(step, (zero, zero, zero + above_all, zero), entries)
    members, ranked = members + below_all, ranked + below_all
    return precision + below_all * members / jnp.where(ranked > 0, ranked, 1), members
