"""Sums along a ranking of all resamples at once: pairs that a class wins, and precision.

A walk along the entries of the ranking, from the highest score down, with vectors of B sums: each step reads one row
of the transposed bank, whatever the order, so one bank in its own order serves every ranking of every data set. A CPU
takes two entries a step, and one data set after another, whose sums stay in its cache; an accelerator takes many
entries, and all data sets together, so that sums go through its memory a few times only.

A bank by observation, ``bank_t`` (n, B), is an array or a :class:`SpreadBank`: rows of a unit weigh what it does.

Letters: n observations, B resamples, m entries of a ranking, K classes. Types of sums are those of
:mod:`jaxci.resampling.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling import kernels


@record
class SpreadBank:
    """A transposed bank of rows (n, B) whose weights are those of their units, which a walk reads row by row.

    Attributes
    ----------
    columns : (U, B) array or SpreadBank
        Weights of units.
    units : (n,) int32 or None
        Unit of every row, None where they come in the order of the rows.
    weights : (n,) array or None
        What each row weighs in its unit, None where all weigh 1.
    sums : dtype or None
        Type of sums of weights that are counts of 8 bits, None where the weights' own tells it.
    """

    columns: Any
    units: Any = None
    weights: Any = None
    sums: Any = static(default=None)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of resamples."""
        of_rows = next(x for x in (self.units, self.weights, self.columns) if x is not None)
        return of_rows.shape[0], self.columns.shape[1]

    @property
    def dtype(self) -> Any:
        """Type of the weights of rows, as sums take them."""
        own = self.sums or self.columns.dtype
        return own if self.weights is None else jnp.result_type(own, jnp.asarray(self.weights))

    def __getitem__(self, row: Any) -> jax.Array:
        """Return the weights (B,) of one row, or those (k, B) of several."""
        found = self.columns[row if self.units is None else jnp.asarray(self.units)[row]]
        return found if self.weights is None else found * jnp.asarray(self.weights)[row][..., None]


def spread(bank_t: Any) -> jax.Array:
    """Return a transposed bank as an array (n, B)."""
    if not isinstance(bank_t, SpreadBank):
        return bank_t
    return bank_t[jnp.arange(bank_t.shape[0])].astype(bank_t.dtype)


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


_UNROLLED = {"cpu": 2, "accelerator": 16}
"""Entries per step of a walk: sums are then read and written once for all of them."""

Step = Callable[[Any, Any], Any]
Weights = Callable[[Any], jax.Array]
"""Weights of one row in the resamples of a block."""


def walk(step: Step, sums: Any, entries: Any, unroll: int | None = None) -> Any:
    """Return ``sums`` after ``sums = step(sums, entry)`` for every entry along the first axis of ``entries``.

    ``unroll`` entries are taken together; by default as many as suit the platform.
    """

    def taking(unroll: int) -> Callable[[Any, Any], Any]:
        return lambda sums, entries: jax.lax.scan(lambda *at: (step(*at), None), sums, entries, unroll=unroll)[0]

    if unroll is not None:
        return taking(unroll)(sums, entries)
    cpu, accelerator = taking(_UNROLLED["cpu"]), taking(_UNROLLED["accelerator"])
    return kernels.by_platform(sums, entries, cpu=cpu, accelerator=accelerator)


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


SUMS = frozenset({"wins", "class_wins", "precision"})
"""The sums of :class:`RankSums` that are to be had besides the weights."""


class Unseen(NamedTuple):
    """Weights (B,) that join a ranking: of members that score lower than all entries, of others that score higher."""

    members: jax.Array
    others: jax.Array


class RankSums(NamedTuple):
    """Sums along a ranking in every resample, None those that were not asked for.

    Attributes
    ----------
    members, others : (B,) arrays
        Weight of the members, and of the others.
    wins : (B,) array
        Weight of pairs in which a member scores higher than another, ties half.
    class_wins : (K, B) array
        The same by the class of the other; 0 for the members' own.
    precision : (B,) array
        Precision at every member times its weight: the share of members in all that score as high or higher.
    unseen : Unseen or None
        What joins the ranking. It counts in ``precision``; of the pairs it wins none.
    """

    members: jax.Array
    others: jax.Array
    wins: Any = None
    class_wins: Any = None
    precision: Any = None
    unseen: Unseen | None = None

    @property
    def joined(self) -> Unseen:
        """Weights of the members and of the others, with those that were not seen."""
        if self.unseen is None:
            return Unseen(self.members, self.others)
        return Unseen(self.members + self.unseen.members, self.others + self.unseen.others)


def scanned(
    bank_t: Any,
    descent: Descent,
    wanted: Iterable[str],
    labels: Any = None,
    n_classes: int = 0,
    unseen: Unseen | None = None,
) -> RankSums:
    """Sum along the ranking whatever statistics read of it, in one walk: m steps on vectors of B sums.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    descent : Descent
        Ranking of m entries.
    wanted : names out of ``SUMS``
    labels : (n,) int32
        Class of every row of the bank, out of ``n_classes``; read for "class_wins".
    unseen : Unseen, optional

    Returns
    -------
    RankSums
        Wins are exact for counts that sum to m: in float32 up to m = 5,792, in float64 beyond.
    """
    wanted, size, m = frozenset(wanted), bank_t.shape[1], len(descent.rows)
    dtype, of_pairs = kernels.sum_dtype(bank_t, m), kernels.sum_dtype(bank_t, m**2 / 2)
    by_class, pairs = "class_wins" in wanted, wanted & {"wins", "class_wins"}
    if unseen is not None:
        unseen = Unseen(*(jnp.asarray(weight, dtype) for weight in unseen))

    def step(state: Any, entry: Any) -> Any:
        above, sums = state
        row, member, opens, closes, label = entry
        weight = bank_t[row].astype(dtype)
        outside = (1 - member) * weight
        above = jnp.where(opens, sums.members, above)
        found = sums._replace(members=sums.members + member * weight, others=sums.others + outside)
        if pairs:
            won = outside.astype(of_pairs) * (above + found.members).astype(of_pairs)
            if "wins" in wanted:
                found = found._replace(wins=sums.wins + won)
            if by_class:
                won = sums.class_wins[label] + won
                found = found._replace(class_wins=jax.lax.dynamic_update_index_in_dim(sums.class_wins, won, label, 0))
        if "precision" in wanted:
            ranked = found.members + found.others
            if unseen is not None:
                ranked = ranked + unseen.others
            gain = (found.members - above) * found.members / jnp.where(ranked > 0, ranked, 1)
            found = found._replace(precision=jnp.where(closes, sums.precision + gain, sums.precision))
        return above, found

    zero, no_pairs = jnp.zeros(size, dtype), jnp.zeros(size, of_pairs)
    start = RankSums(
        zero,
        zero,
        no_pairs if "wins" in wanted else None,
        jnp.zeros((n_classes, size), of_pairs) if by_class else None,
        zero if "precision" in wanted else None,
    )
    label = jnp.asarray(labels)[descent.rows] if by_class else None
    entries = (descent.rows, descent.member.astype(dtype), descent.opens, descent.closes, label)
    _, sums = walk(step, (zero, start), entries)
    sums = sums._replace(unseen=unseen, **{name: getattr(sums, name) / 2 for name in pairs})
    if "precision" in wanted and unseen is not None:
        members, others = sums.joined
        last = unseen.members * members / jnp.where(members + others > 0, members + others, 1)
        sums = sums._replace(precision=sums.precision + last)
    return sums


def scanned_partial_wins(bank_t: jax.Array, descent: Descent, share: float) -> RankSums:
    """Sum the wins of :func:`scanned` over the highest ``share`` of the weight of the others.

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
    return RankSums(members, others, wins)
