"""Weights by score and class in Poisson resamples: what an accumulator keeps for ranks of rows it does not keep."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from jaxci.api.score_bins import MOST_BINS, ScoreBins, firsts, score_keys
from jaxci.api.tallies import read_back
from jaxci.statistics.cumulative import Ordering
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.rankings import Ranking, class_scores
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

ARRAYS = ("codes", "keys", "sums")
"""What is kept of cells of a ranking."""

MOST_SUMS = 2**23
"""Sums that are kept of all resamples and cells, about."""

TOO_MANY_SUMS = 2**27
"""Sums that are not kept: a gibibyte of them."""

LEAST_BINS = 16
"""Bins of a ranking at least, with rows of every class in each."""

AT_A_TIME = 2**22
"""Weights of rows in resamples that are ranked together, about."""


class RankedRows(NamedTuple):
    """Rows of a ranking: place (n,) of the class in those that the ranking tells apart, score (n,), and row (n,)."""

    codes: np.ndarray
    scores: np.ndarray
    rows: np.ndarray


class Binned(NamedTuple):
    """Rows (r,) by ascending score: label, weight, cell and score."""

    labels: np.ndarray
    weights: np.ndarray
    cells: np.ndarray
    scores: np.ndarray


class Ranks(NamedTuple):
    """A statistic of ranks (R,), in how many resamples a class is absent, and how far it may be from that of rows."""

    values: np.ndarray
    absent: int
    remark: str


class RankTable:
    """One ranking: weights by bin of score and class of the data, and of B resamples by coarser bins, R = 1 + B.

    Both kinds of bins are those of :class:`ScoreBins`; the coarser ones are as fine as ``most_cells`` pairs of a bin
    and a class allow.

    Attributes
    ----------
    labels : (C,) int
        What the classes are called that the ranking tells apart.
    target : int
        The one that is ranked.
    entries : int
        How often a row is in the ranking.
    bins : ScoreBins
    level : int
        Of the coarser bins.
    codes, keys : (m,)
        Class and bin of every cell, ascending.
    sums : (m, R) float64
        Weight of every cell.
    """

    def __init__(self, labels: Sequence[int], target: int, entries: int, most_cells: int, most_bins: int, width: int):
        self.labels, self.target, self.entries, self.most_cells = np.array(labels), target, entries, most_cells
        self.bins = ScoreBins(len(labels), most_bins, weighted=True)
        self.level = 0
        self.codes, self.keys = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        self.sums = np.zeros((0, width))

    def place(self, ranked: RankedRows, weights: np.ndarray) -> np.ndarray:
        """Take in the data, whose rows have ``weights`` (n,); return the cell of each."""
        self.bins.add(ranked.codes, ranked.scores, weights[ranked.rows])
        keys = score_keys(ranked.scores)
        self._make_room(ranked.codes, keys >> np.uint64(self.level))
        return self._cells(ranked.codes, keys >> np.uint64(self.level))

    def _make_room(self, codes: np.ndarray, keys: np.ndarray) -> None:
        """Add cells for those that are new, and widen all where there are too many."""
        both, ends = np.concatenate([self.codes, codes]), np.concatenate([self.keys, keys])
        order = np.lexsort((ends, both))
        both, ends = both[order], ends[order]

        def starts(level: int) -> np.ndarray:
            found = np.zeros(len(both), bool)
            found[firsts(both)] = True
            found[firsts(ends >> np.uint64(level))] = True
            return np.flatnonzero(found)

        level = 0
        while len(first := starts(level)) > self.most_cells:
            level += 1
        if level == 0 and np.array_equal(both[first], self.codes) and np.array_equal(ends[first], self.keys):
            return
        before, sums = (self.codes, self.keys >> np.uint64(level)), self.sums
        self.level += level
        self.codes, self.keys = both[first], ends[first] >> np.uint64(level)
        self.sums = np.zeros((len(first), sums.shape[1]))
        np.add.at(self.sums, self._cells(*before), sums)

    def _cells(self, codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return the cell (n,) of pairs of a class and a bin that are there."""
        found = np.zeros(len(codes), np.int64)
        for code in range(len(self.labels)):
            mine = codes == code
            low, high = np.searchsorted(self.codes, [code, code + 1])
            found[mine] = low + np.searchsorted(self.keys[low:high], keys[mine])
        return found

    def add(self, cells: np.ndarray, rows: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> None:
        """Add rows (n,) of ``weights`` that were drawn ``counts`` (n, R) times, each of them in these ``cells``."""
        there, place = np.unique(cells, return_inverse=True)
        members = scipy.sparse.csr_array((weights[rows], (place, rows)), shape=(len(there), len(weights)))
        self.sums[there] += members @ counts

    def merge(self, other: RankTable) -> None:
        """Add the weights of other rows."""
        self.bins.merge(other.bins)
        up = max(other.level - self.level, 0)
        self.level += up
        self.keys = self.keys >> np.uint64(up)
        theirs = other.keys >> np.uint64(self.level - other.level)
        self._make_room(other.codes, theirs)
        theirs = other.keys >> np.uint64(self.level - other.level)
        np.add.at(self.sums, self._cells(other.codes, theirs), other.sums)

    def in_bins(self, worst: bool | None = None) -> Binned:
        """Return the rows that the data are counted in, by ascending score, those of one bin as ties.

        ``worst`` gives, in place of ties, the class that is ranked the lowest score of every bin and others the
        highest; False the other way round.
        """
        place, codes = np.nonzero(self.bins.counts)
        keys = self.bins.keys[place] >> np.uint64(self.level - self.bins.level)
        scores = place.astype(float)
        if worst is not None:
            low = (self.labels[codes] == self.target) == worst
            scores = np.where(low, self.bins.lowest[place], self.bins.highest[place])
        order = np.argsort(scores, kind="stable")
        found = self.labels[codes], self.bins.counts[place, codes], self._cells(codes, keys), scores
        return Binned(*(x[order] for x in found))

    def absent(self) -> np.ndarray:
        """Return in which resamples (B,) a class that has rows has none."""
        weights = [self.sums[self.codes == code].sum(axis=0) for code in range(len(self.labels))]
        return np.any([(one[1:] == 0) & (one[0] > 0) for one in weights], axis=0)

    def lost(self, rows: Binned, slopes: np.ndarray) -> float:
        """Return the root mean square of what resamples leave out of rows of weight 1, by the influence of each (r,).

        That of a cell is a sum over its rows, whose influence differs from the mean of the cell by a variable.
        """
        whole = np.bincount(rows.cells, rows.weights)
        middle = np.bincount(rows.cells, rows.weights * slopes) / whole
        apart = np.where(np.bincount(rows.cells)[rows.cells] > 1, slopes - middle[rows.cells], 0.0)
        return float(np.sqrt(self.entries * (rows.weights @ apart**2)))

    def state(self) -> dict[str, Any]:
        """Return the weights as numbers and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return {"level": self.level, "bins": self.bins.state(), **arrays}

    def load(self, state: Mapping[str, Any]) -> None:
        """Put the weights that :meth:`state` describes in the place of what is kept."""
        self.level = int(state["level"])
        self.bins.load(state["bins"])
        for name in ARRAYS:
            setattr(self, name, read_back(state[name], getattr(self, name)))


class RankReplicates:
    """The rankings that statistics of ranks read, each with weights of the data and of B resamples.

    Attributes
    ----------
    tables : dict of list of RankTable
        By what rows are ranked by (:attr:`ScoreRanking.ranked_by`): of several classes one a class.
    """

    def __init__(self, statistics: Sequence[ScoreRanking], n_classes: int, n_resamples: int) -> None:
        wanted = {one.ranked_by for one in statistics}
        wanted -= {"classes"} if "pairs" in wanted else set()
        by_class = sorted(wanted & {"classes", "pairs"})
        n_tables = max(1, n_classes * len(by_class) + len(wanted) - len(by_class))
        width = 1 + n_resamples
        self.tables: dict[str, list[RankTable]] = {}
        for by in sorted(wanted):
            targets = range(n_classes) if by in by_class else [1]
            for k in targets:
                labels = {"classes": [-1, k], "pairs": [*range(n_classes)]}.get(by, [0, 1])
                cells = max(LEAST_BINS * len(labels), min(MOST_SUMS // width, MOST_BINS) // n_tables)
                bins = max(cells, MOST_BINS // n_tables)
                entries = n_classes if by == "entries" else 1
                self.tables.setdefault(by, []).append(RankTable(labels, k, entries, cells, bins, width))

    @property
    def most_sums(self) -> int:
        """Sums that may be kept."""
        return sum(one.most_cells * one.sums.shape[1] for tables in self.tables.values() for one in tables)

    @property
    def n_bins(self) -> int:
        """Bins of scores that are kept."""
        return sum(len(one.bins.keys) for tables in self.tables.values() for one in tables)

    def _of(self, statistic: ScoreRanking) -> list[RankTable]:
        """Return the rankings that a statistic reads; those of pairs tell more than those of classes."""
        by = statistic.ranked_by
        return self.tables["pairs" if by == "classes" and by not in self.tables else by]

    def ranked(self, sample: Sample, rows: np.ndarray) -> list[tuple[RankTable, RankedRows]]:
        """Return every ranking with those ``rows`` (n,) of a batch, whether they count, that are in it."""
        found = []
        kept = np.arange(np.count_nonzero(rows))
        codes = np.asarray(sample.y_true)[rows]
        for by, tables in self.tables.items():
            if by == "score":
                of = [(codes, np.asarray(sample.y_score)[rows], kept)]
            else:
                scores = np.asarray(class_scores(sample, 1.0 if by == "entries" else 0.0)[2])[rows]
                own = codes[:, None] == np.arange(scores.shape[1])
                if by == "entries":
                    of = [(own.ravel().astype(np.int64), scores.ravel(), np.repeat(kept, scores.shape[1]))]
                else:
                    told = [codes if by == "pairs" else mine.astype(np.int64) for mine in own.T]
                    of = [(code, column, kept) for code, column in zip(told, scores.T, strict=True)]
            ranked = [RankedRows(code, score.astype(np.float64), place) for code, score, place in of]
            found += list(zip(tables, ranked, strict=True))
        return found

    def merge(self, other: RankReplicates) -> None:
        """Add the weights of other rows."""
        for by, tables in self.tables.items():
            for mine, theirs in zip(tables, other.tables[by], strict=True):
                mine.merge(theirs)

    def value(self, statistic: ScoreRanking, heaviest: float) -> Ranks:
        """Return a statistic of the data and of every resample, of units of which the ``heaviest`` has this weight.

        A resample gives the rows of a cell the weight of the cell, shared as the data do. What that leaves out is, to
        first order, how the influence of rows varies within cells.
        """
        tables = self._of(statistic)
        found = [one.in_bins() for one in tables]
        size, most = _room([len(one.labels) for one in found]), _room([len(one.keys) for one in tables])
        weights = np.stack([_filled(one.weights, size) for one in found])
        cells = np.stack([_filled(one.cells, size) for one in found])
        shares = np.stack([_filled(one.sums / one.sums[:, :1], most).T for one in tables], axis=1)
        with jax.enable_x64(True):
            rankings = _stacked(found, size)
            at_a_time = max(1, AT_A_TIME // weights.size)
            values = np.asarray(_values(statistic, rankings, weights, cells, shares, at_a_time=at_a_time))
            slopes = np.asarray(_slopes(statistic, rankings, weights))
            ends = []
            for worst in (True, False):
                rows = [one.in_bins(worst) for one in tables]
                there = np.stack([_filled(one.weights, size) for one in rows])
                ends.append(float(_value(statistic, _stacked(rows, size), there)))
        missing = np.any([one.absent() for one in tables if one.entries == 1] or [np.zeros(1, bool)], axis=0)
        lost = sum(
            one.lost(rows, slope[: len(rows.cells)]) for one, rows, slope in zip(tables, found, slopes, strict=True)
        )
        spread = float(np.nanstd(values[1:], ddof=1)) if np.isfinite(values[1:]).sum() > 1 else 0.0
        text = []
        if not all(one.bins.exact for one in tables):
            bins, apart = sum(len(one.bins.keys) for one in tables), max(abs(values[0] - end) for end in ends)
            text.append(f"scores were counted in {bins:,} bins")
            text.append(f"the estimate differs from that of all rows by at most {apart:.1e}")
        if lost > 0 and spread > 0:
            apart = np.sqrt(heaviest) * lost / spread
            text.append(f"resamples were counted in {sum(len(one.keys) for one in tables):,} cells of scores")
            text.append(f"they differ from those of all rows by at most {apart:.1e} standard errors (root mean square)")
        return Ranks(values, int(missing.sum()), "; ".join(text))

    def state(self) -> dict[str, list[dict[str, Any]]]:
        """Return the weights as numbers and arrays."""
        return {by: [one.state() for one in tables] for by, tables in self.tables.items()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Put the weights that :meth:`state` describes in the place of what is kept."""
        for by, tables in self.tables.items():
            for one, found in zip(tables, state[by], strict=True):
                one.load(found)


@functools.partial(jax.jit, static_argnames="at_a_time")
def _values(
    statistic: ScoreRanking,
    rankings: Ranking,
    weights: jax.Array,
    cells: jax.Array,
    shares: jax.Array,
    *,
    at_a_time: int,
) -> jax.Array:
    """Return a statistic (R,) where rows of ``weights`` (K, m) have these ``shares`` (R, K, c) by cell (K, m)."""

    def one(share: jax.Array) -> jax.Array:
        return statistic.of_columns(rankings, weights * jnp.take_along_axis(share, cells, axis=1))

    return jax.lax.map(one, shares, batch_size=at_a_time)


@jax.jit
def _value(statistic: ScoreRanking, rankings: Ranking, weights: jax.Array) -> jax.Array:
    """Return a statistic of rows of ``weights`` (K, m)."""
    return statistic.of_columns(rankings, weights)


@jax.jit
def _slopes(statistic: ScoreRanking, rankings: Ranking, weights: jax.Array) -> jax.Array:
    """Return the influence (K, m) of rows of ``weights`` (K, m) on a statistic."""
    return jax.grad(lambda own: statistic.of_columns(rankings, own))(weights)


def _room(sizes: Sequence[int]) -> int:
    """Return a size of a program that holds all ``sizes``."""
    return padded(max(LEAST_BINS, *sizes))


def _filled(x: np.ndarray, size: int) -> np.ndarray:
    """Return ``x`` (n, ...) with zeros up to ``size``."""
    return np.pad(x, ((0, size - len(x)), *((0, 0),) * (x.ndim - 1)))


def _stacked(found: Sequence[Binned], size: int) -> Ranking:
    """Return rankings with fields (K, size); rows that fill up come last, and are of no class."""
    labels, first, last = [], [], []
    for one in found:
        starts = np.append(firsts(one.scores), len(one.scores))
        starts = starts[starts < size]
        sizes = np.diff(np.append(starts, size))
        labels.append(np.pad(one.labels.astype(np.int32), (0, size - len(one.labels)), constant_values=-1))
        first.append(np.repeat(starts, sizes).astype(np.int32))
        last.append(np.repeat(starts + sizes - 1, sizes).astype(np.int32))
    return Ranking(np.stack(labels), Ordering(None, np.stack(first), np.stack(last)))
