"""Counts of pairs of values in cells that widen as they must: what an accumulator keeps of the ranks of many pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from jaxci.api.score_bins import firsts
from jaxci.api.tallies import read_back
from jaxci.api.value_bins import in_cells, value_keys
from jaxci.resampling.kernels import stable_order

MOST_BINS = 2**17
"""Bins of the values of one column."""

MOST_WIDE_BINS = 2**10
"""Wide bins of the values of one column, of which cells are made."""

LIMB_BITS = 22
"""Bits of a part of a key, so that the parts of 2**41 keys add up to whole numbers without overflow."""

_SHIFTS = np.array([2 * LIMB_BITS, LIMB_BITS, 0], np.uint64)
_MASK = np.uint64((1 << LIMB_BITS) - 1)

ARRAYS = ("keys", "counts", "sums")
"""What is kept of cells."""


class WideBins(NamedTuple):
    """What the bins of a column tell of its wide bins (m,), and of the ranks of all rows.

    Ranks are shares of rows below, ties counting one half, less 1/2.

    Attributes
    ----------
    shares, ranks : (m,) float64
        Of rows, and their mean rank.
    slopes : (m,) float64
        Of ranks within the wide bin, by least squares on the place in it, from 0 to 1.
    rest : (m,) float64
        At most the root mean square of what these lines leave of ranks.
    spread, most : float
        The mean square of ranks, at least and at most.
    """

    shares: np.ndarray
    ranks: np.ndarray
    slopes: np.ndarray
    rest: np.ndarray
    spread: float
    most: float


class Margin:
    """Counts of the values of a column by bin: values whose floats agree but for their last ``level`` bits.

    The level is the lowest that needs no more than :data:`MOST_BINS`, and ``wide`` the lowest that needs no more than
    :data:`MOST_WIDE_BINS`. Both depend on the values alone.
    """

    def __init__(self) -> None:
        self.level = self.wide = 0
        self.keys = np.zeros(0, np.uint64)
        self.counts = np.zeros(0, np.int64)

    def add(self, keys: np.ndarray, counts: np.ndarray, level: int = 0) -> None:
        """Count keys (n,), whose last ``level`` bits are gone."""
        common = max(self.level, level)
        mine, theirs = self.keys >> np.uint64(common - self.level), keys >> np.uint64(common - level)
        keys = np.concatenate([mine, theirs])
        order = stable_order(keys)
        keys, counts = keys[order], np.concatenate([self.counts, counts])[order]
        distinct = keys[firsts(keys)]
        self.level = _lowest(distinct, common, common, MOST_BINS)
        keys = keys >> np.uint64(self.level - common)
        first = firsts(keys)
        self.keys, self.counts = keys[first], np.add.reduceat(counts, first)
        self.wide = _lowest(self.keys, self.level, max(self.level, self.wide), MOST_WIDE_BINS)

    def wide_bins(self) -> WideBins:
        """Return what is known of ranks within wide bins."""
        n = self.counts.sum()
        shares = self.counts / n
        ranks = (np.cumsum(self.counts) - self.counts / 2) / n - 0.5
        bits = np.uint64(self.wide - self.level)
        wide = self.keys >> bits
        code = np.cumsum(np.diff(wide, prepend=wide[:1]) > 0)
        width = 2.0 ** (self.level - self.wide)
        blurred = self.level > 0
        places = ((self.keys - (wide << bits)) + 0.5 * blurred) * width
        sums = np.bincount(code, shares)
        middle, centre = (np.bincount(code, shares * x) / sums for x in (ranks, places))
        within, apart = ranks - middle[code], places - centre[code]
        square = np.bincount(code, shares * apart**2)
        slopes = np.bincount(code, shares * within * apart) / np.where(square > 0, square, 1.0)
        rest = np.sqrt(np.bincount(code, shares * (within - slopes[code] * apart) ** 2) / sums)
        spread = most = float(shares @ ranks**2)
        if blurred:
            rest += np.sqrt(np.bincount(code, shares**3) / sums / 12) + slopes * width / 2
            most += float(np.sum(shares**3)) / 12
        return WideBins(sums, middle, slopes, rest, spread, most)

    def state(self) -> dict[str, Any]:
        """Return the counts as numbers and arrays."""
        return {"level": self.level, "wide": self.wide, "keys": self.keys.copy(), "counts": self.counts.copy()}

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put the counts that :meth:`state` describes in the place of what is kept."""
        self.level, self.wide = int(state["level"]), int(state["wide"])
        self.keys, self.counts = (read_back(state[name], getattr(self, name)) for name in ("keys", "counts"))
        return self


class RankCells:
    """Counts of pairs of a target and a prediction by wide bin of both, and of either by bin.

    A cell is what pairs have in common whose values share a wide bin of their :class:`Margin`, so there are no more
    than ``MOST_WIDE_BINS**2``. All that is kept are whole numbers that depend on the rows alone: not on batches, their
    order and merging.

    Attributes
    ----------
    margins : pair of Margin
        Of targets and of predictions.
    levels : (2,) uint64
        Bits that are gone from the keys of cells: ``wide`` of the margins.
    keys : (m, 2) uint64
        Of the cells that hold rows, ascending.
    counts : (m,) int64
        Rows.
    sums : (m, 2, 3) int64
        Of the keys of their values, by parts of :data:`LIMB_BITS`.
    """

    def __init__(self) -> None:
        self.margins = Margin(), Margin()
        self.levels = np.zeros(2, np.uint64)
        self.keys = np.zeros((0, 2), np.uint64)
        self.counts = np.zeros(0, np.int64)
        self.sums = np.zeros((0, 2, 3), np.int64)

    def add(self, pairs: np.ndarray) -> None:
        """Count rows (n, 2)."""
        keys, ones = value_keys(pairs), np.ones(len(pairs), np.int64)
        for margin, column in zip(self.margins, keys.T, strict=True):
            margin.add(column, ones)
        self._join(keys, ones, _parts(keys), np.zeros(2, np.uint64))

    def merge(self, other: RankCells) -> None:
        """Add the counts of other rows."""
        for mine, theirs in zip(self.margins, other.margins, strict=True):
            if len(theirs.keys):
                mine.add(theirs.keys, theirs.counts, theirs.level)
        self._join(other.keys, other.counts, other.sums, other.levels)

    def _join(self, keys: np.ndarray, counts: np.ndarray, sums: np.ndarray, levels: np.ndarray) -> None:
        """Add cells of which ``levels`` bits are gone, or rows as cells of one, by the wide bins of the margins."""
        wide = np.array([margin.wide for margin in self.margins], np.uint64)
        keys = np.concatenate([self.keys >> (wide - self.levels), keys >> (wide - levels)])
        order, first = in_cells(np.zeros(len(keys), np.int64), keys)
        self.levels, self.keys = wide, keys[order[first]]
        self.counts = np.add.reduceat(np.concatenate([self.counts, counts])[order], first)
        self.sums = np.add.reduceat(np.concatenate([self.sums, sums])[order], first)

    @property
    def exact(self) -> bool:
        """Whether no two values that differ share a wide bin, or a column does not vary: nothing is lost."""
        return not self.levels.any() or any(len(margin.keys) == 1 for margin in self.margins)

    @property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (m,) of the wide bins of every cell, in ascending order of their values."""
        first, second = (np.unique(column, return_inverse=True)[1].reshape(-1) for column in self.keys.T)
        return first, second

    def ends(self) -> tuple[float, float]:
        """Return between which values the rank correlation of all rows lies, where both columns vary.

        Let a and b be the ranks of the targets and predictions of rows, as shares less 1/2, A and B their means over
        wide bins, which are the ranks of rows that tie within them, and d = a - A and e = b - B. The mean product is
        ``<a, b> = <A, B> + <A, e> + <d, B> + <d, e>``. With a slope s for every wide bin of predictions, x the places
        of rows in it and u = e - s x, ``<A, e>`` is the sum over these bins of ``<A - M, s x>``, M the mean of A in
        the bin, which the sums of keys give, and ``<A - M, u>``, which is no larger than the product of both standard
        deviations (Cauchy & Schwarz): the first is known from cells, and that of u from the bins of the margin: those
        of a margin blur ranks by a mean square of at most q^2 / 12, q their share, and places by half their width.
        So with ``<d, B>``. The last is at most ``sqrt(<d, d> <e, e>)``, and as d has mean 0 in every wide bin,
        ``<d, d> = <a, a> - <A, A>``; ``<a, a>`` exceeds the mean square of ranks by bin by at most the mean of
        q^2 / 12.
        """
        found, codes = [margin.wide_bins() for margin in self.margins], self.codes
        n = self.counts.sum()
        ranks = [one.ranks[code] for one, code in zip(found, codes, strict=True)]
        product, loose = float(self.counts @ (ranks[0] * ranks[1])) / n, 0.0
        for own, code, other, places in zip(found, codes, ranks[::-1], self._places(), strict=True):
            middle = np.bincount(code, self.counts * other) / n / own.shares
            apart = other - middle[code]
            product += float(self.counts @ (apart * own.slopes[code] * places)) / n
            deviations = np.sqrt(np.bincount(code, self.counts * apart**2) / n / own.shares)
            loose += float(own.shares @ (deviations * own.rest))
        loose += math.sqrt(math.prod(max(one.most - float(one.shares @ one.ranks**2), 0.0) for one in found))
        scales = [math.sqrt(math.prod(spreads)) for spreads in ([x.spread for x in found], [x.most for x in found])]
        low, high = min((product - loose) / x for x in scales), max((product + loose) / x for x in scales)
        return max(low, -1.0), min(high, 1.0)

    def _places(self) -> np.ndarray:
        """Return the mean places (2, m) of the rows of every cell in the wide bins of both values, from 0 to 1."""
        apart = self.sums - self.counts[:, None, None] * _parts(self.keys << self.levels)
        scales = 2.0 ** (_SHIFTS.astype(float) - self.levels.astype(float)[:, None])
        return ((apart * scales).sum(axis=2) / self.counts[:, None]).T

    def state(self) -> dict[str, Any]:
        """Return the counts as numbers, lists and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return {"margins": [one.state() for one in self.margins], **arrays}

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put the counts that :meth:`state` describes in the place of what is kept."""
        for margin, kept in zip(self.margins, state["margins"], strict=True):
            margin.load(kept)
        self.levels = np.array([margin.wide for margin in self.margins], np.uint64)
        for name in ARRAYS:
            setattr(self, name, read_back(state[name], getattr(self, name)))
        return self


def _parts(keys: np.ndarray) -> np.ndarray:
    """Return the parts (..., 3) int64 of keys (...), from the highest bits down."""
    return ((keys[..., None] >> _SHIFTS) & _MASK).astype(np.int64)


def _lowest(distinct: np.ndarray, level: int, least: int, most: int) -> int:
    """Return the lowest level from ``least`` on at which keys (m,) of a ``level`` need no more than ``most`` bins."""
    keys = distinct >> np.uint64(least - level)
    keys = keys[firsts(keys)]
    while len(keys) > most:
        keys = keys >> np.uint64(1)
        keys, least = keys[firsts(keys)], least + 1
    return least
