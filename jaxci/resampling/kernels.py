"""Inner loops of resampling, those with a second form for CPUs beside the one for accelerators.

Nothing else in the package asks which machine it runs on. Letters: n observations, B resamples, R data
sets, C cells, m entries of a ranking. A bank transposed, ``bank_t`` (n, B), holds the weights of one
observation in all resamples next to each other: a CPU walks along the sorted observations with vectors of
B sums, whatever the order, so one bank in its own order serves every ranking of every data set.

A bank of integers or of half precision holds counts, and its sums are float32; a bank of float32 or
float64 may hold any weights, and its sums are of that precision. Sums of counts are exact: float32 up to
``2**24``, beyond which sums are float64 (needs 64-bit JAX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

Form = Literal["cpu", "accelerator"]
EXACT = 2**24
"""Largest integer up to which float32 holds all."""


def by_platform(
    *operands: Any, cpu: Callable[..., Any], accelerator: Callable[..., Any], form: Form | None = None
) -> Any:
    """Call the form for the platform that the program is lowered for, or the ``form`` named."""
    if form is None:
        return jax.lax.platform_dependent(*operands, cpu=cpu, default=accelerator)
    return {"cpu": cpu, "accelerator": accelerator}[form](*operands)


def sum_dtype(bank: jax.Array, largest: float = 0) -> Any:
    """Return the type of sums of a bank's weights, where counts sum to ``largest`` at most.

    Raises
    ------
    ValueError
        If float32 does not hold such sums exactly, and 64-bit JAX is off.
    """
    dtype = bank.dtype if bank.dtype in (jnp.float32, jnp.float64) else jnp.dtype(jnp.float32)
    if largest <= EXACT or dtype == jnp.float64:
        return dtype
    if jax.dtypes.canonicalize_dtype(jnp.float64) != jnp.float64:
        raise ValueError(
            f"bank needs 64-bit JAX (jax.enable_x64) for exact sums of counts above 2**24; got sums up to {largest:g}"
        )
    return jnp.dtype(jnp.float64)


def cell_counts(cumulative: jax.Array, counts: jax.Array) -> jax.Array:
    """Return the counts per cell of every resample of a data set with ``counts`` rows per cell.

    Rows of a bootstrap are exchangeable, so those of a data set may be taken sorted by cell: each
    cell's count is a difference of two cumulative sums, whatever n.

    Parameters
    ----------
    cumulative : (n + 1, B) array
        Sums of the first 0, 1, ..., n rows of a transposed bank.
    counts : (C,) integer array
        Rows per cell, n in all.

    Returns
    -------
    (C, B) array
        Like ``cumulative``; exact for counts.
    """
    ends = jnp.cumsum(jnp.asarray(counts), dtype=jnp.int32)
    ends = jnp.concatenate([jnp.zeros(1, jnp.int32), ends])
    reached = cumulative.at[ends].get(mode="promise_in_bounds")
    return reached[1:] - reached[:-1]


class RankPicks(NamedTuple):
    """Places, in a sorted sample, of the two values between which a resample's quantile lies.

    The quantile is ``(1 - fraction) x[low] + fraction x[high]``, x the sorted sample.

    Attributes
    ----------
    low, high : (B,) int32
        Places, from 0.
    fraction : (B,) float
        From 0 to 1; NaN for a resample without weight.
    """

    low: jax.Array
    high: jax.Array
    fraction: jax.Array


def rank_picks(bank: jax.Array, q: float) -> RankPicks:
    """Return the places that the quantile of probability ``q`` of every resample reads.

    Of N values repeated by count it lies between those of rank ``l`` and ``l + 1`` from 0, with
    ``l + fraction = (N - 1) q``: the linear quantile (type 7), for ``q = 1/2`` the median with two middle
    values. The places depend on the bank alone and serve every sorted sample.

    Parameters
    ----------
    bank : (B, n) array
        Counts.
    q : float
        Probability, from 0 to 1.

    Returns
    -------
    RankPicks

    References
    ----------
    Hyndman & Fan (1996), Sample quantiles in statistical packages, definition 7.
    """
    cumulative = jnp.cumsum(bank, axis=1, dtype=jnp.int32)
    total = cumulative[:, -1]
    start = jnp.maximum(total - 1, 0) * jnp.asarray(q, float)
    rank = jnp.floor(start).astype(jnp.int32)

    def place(rank: jax.Array) -> jax.Array:
        """Place of the value of ``rank`` (B,), that of the last where there is none."""
        rank = jnp.minimum(rank, total - 1)
        return jnp.sum(cumulative <= rank[:, None], axis=1, dtype=jnp.int32)

    return RankPicks(place(rank), place(rank + 1), jnp.where(total > 0, start - rank, jnp.nan))


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


def _walk(step: Step, sums: Any, entries: Any) -> Any:
    """Return ``sums`` after ``sums = step(sums, entry)`` for every entry along the first axis of ``entries``."""
    return jax.lax.scan(lambda *state: (step(*state), None), sums, entries, unroll=_UNROLL)[0]


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
    dtype = sum_dtype(bank_t, len(descent.rows) ** 2 / 2)

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
    _, members, others, wins = _walk(step, (zero,) * 4, entries)
    return PairSums(wins / 2, members, others)


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
    dtype = sum_dtype(bank_t, len(descent.rows) ** 2 / 2)

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
    _, members, wins = _walk(step, start, entries)
    return wins / 2, members


def scanned_precision(bank_t: jax.Array, descent: Descent) -> tuple[jax.Array, jax.Array]:
    """Sum the precision at every member, times its weight, along the ranking.

    Precision is the share of members in the weight of all that score as high or higher. The form for
    CPUs: m steps on vectors of B sums.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    descent : Descent
        Ranking of m entries.

    Returns
    -------
    precision, members : (B,) arrays
        The sum, and the weight of the members.
    """
    dtype = sum_dtype(bank_t, len(descent.rows))

    def step(sums: Any, entry: Any) -> Any:
        above, found, ranked, precision = sums
        row, member, closes = entry
        weight = bank_t[row].astype(dtype)
        found, ranked = found + member * weight, ranked + weight
        gain = (found - above) * found / jnp.where(ranked > 0, ranked, 1)
        return jnp.where(closes, found, above), found, ranked, jnp.where(closes, precision + gain, precision)

    zero = jnp.zeros(bank_t.shape[1], dtype)
    entries = (descent.rows, descent.member.astype(dtype), descent.closes)
    _, members, _, precision = _walk(step, (zero,) * 4, entries)
    return precision, members
