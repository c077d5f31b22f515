"""Moments of values in cells that widen as they must: what an accumulator keeps of row values, by cluster or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from jaxci.api.tallies import alike, coded, read_back

MOST_CELLS = 2**16
"""Cells of values; where more would be needed, each two neighbouring bins become one, up to one cell a cluster."""

MOST_OF_CLUSTERS = 2**20
"""Cells of values whose quantiles are read, in clusters: each cluster needs as many bins as all rows."""

WIDEST = 64
"""Level at which all values share a bin."""

ARRAYS = ("units", "keys", "counts", "masses", "powers", "means", "squares")
"""What is kept of cells."""


def value_keys(values: np.ndarray) -> np.ndarray:
    """Return keys (...) uint64 in the order of finite ``values`` (...) float64, of neighbouring floats neighbours."""
    bits = np.abs(values).view(np.uint64)
    middle = np.uint64(1 << 63)
    return np.where(values < 0, middle - bits, middle + bits)


def _floats(keys: np.ndarray) -> np.ndarray:
    """Return the values (...) of keys, those beyond all floats infinite."""
    middle, infinite = 1 << 63, int(np.float64(np.inf).view(np.uint64))
    below = keys < middle
    bits = np.where(below, np.uint64(middle) - keys, keys - np.uint64(middle))
    return np.where(below, -1.0, 1.0) * np.minimum(bits, np.uint64(infinite)).view(np.float64)


class Points(NamedTuple):
    """Rows (r, d) with the moments of those that were counted, how many each stands for, and clusters, if any.

    ``masses`` are the weights of those that each stands for, or their counts.
    """

    values: np.ndarray
    counts: np.ndarray
    masses: np.ndarray
    cells: np.ndarray
    groups: np.ndarray | None


class ValueBins:
    """Counts, means and centred squares of rows of d values, d = 1 or 2, by cluster and bin of every value.

    A bin is what values have in common whose floats agree but for their last ``level`` bits, and the level is the
    lowest that needs no more than ``most`` cells, or one at which every cluster has one cell. So cells depend
    on the rows alone: not on batches, their order and merging. Moments are joined as in Chan, Golub & LeVeque (1983),
    The American Statistician 37, 242-247.

    Attributes
    ----------
    clusters : dict
        Code of every cluster; empty where there are none.
    units : (m,) int64
        Code of the cluster of every cell.
    keys : (m, d) uint64
        Of the bins.
    counts : (m,) int64
        Rows.
    masses, powers : (m,) float64
        Sums of their weights, and of the squares of these; of rows without such their counts.
    means : (m, d) float64
        Weighted, as are sums.
    squares : (m, d, d) float64
        Sums of squares and products of the deviations from the means.
    mistaken : float
        Sum of what all rows would have had, had they been of another class; 0 where no class decides.
    """

    def __init__(self, width: int = 1, most: int | None = None) -> None:
        self.most = MOST_CELLS if most is None else most
        self.level = 0
        self.clusters: dict[Any, int] = {}
        self.units = np.zeros(0, np.int64)
        self.keys = np.zeros((0, width), np.uint64)
        self.counts = np.zeros(0, np.int64)
        self.masses, self.powers = np.zeros(0), np.zeros(0)
        self.means = np.zeros((0, width))
        self.squares = np.zeros((0, width, width))
        self.mistaken = 0.0

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return self.keys.shape[1]

    def add(
        self,
        values: np.ndarray,
        groups: np.ndarray | None,
        mistaken: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        """Count rows (n, d) of ``weights`` above 0, and what they would have had as ``mistaken`` ones (n,)."""
        units = np.zeros(len(values), np.int64)
        if groups is not None:
            alike("groups", groups, self.clusters)
            units = coded(groups, self.clusters)
        keys = value_keys(values) >> np.uint64(self.level)
        squares = np.zeros((len(values), self.width, self.width))
        masses = np.ones(len(values)) if weights is None else weights
        self._join(units, keys, np.ones(len(values), np.int64), masses, masses**2, values, squares)
        self.mistaken += 0.0 if mistaken is None else float(mistaken.sum())

    def merge(self, other: ValueBins) -> None:
        """Add the moments of other cells."""
        codes = [self.clusters.setdefault(name, len(self.clusters)) for name in other.clusters] or [0]
        level = max(self.level, other.level)
        self.keys = self.keys >> np.uint64(level - self.level)
        keys = other.keys >> np.uint64(level - other.level)
        self.level = level
        theirs = (other.counts, other.masses, other.powers, other.means, other.squares)
        self._join(np.array(codes)[other.units], keys, *theirs)
        self.mistaken += other.mistaken

    def _join(
        self,
        units: np.ndarray,
        keys: np.ndarray,
        counts: np.ndarray,
        masses: np.ndarray,
        powers: np.ndarray,
        means: np.ndarray,
        squares: np.ndarray,
    ) -> None:
        """Add cells, or rows as cells of one, and widen bins where there are too many."""
        units, keys = np.concatenate([self.units, units]), np.concatenate([self.keys, keys])
        counts, masses = np.concatenate([self.counts, counts]), np.concatenate([self.masses, masses])
        powers = np.concatenate([self.powers, powers])
        means, squares = np.concatenate([self.means, means]), np.concatenate([self.squares, squares])
        order, first = in_cells(units, keys)
        if len(first) > self.most:
            distinct = order[first]
            low, high = 0, WIDEST - self.level
            while high - low > 1:
                middle = (low + high) // 2
                found = len(in_cells(units[distinct], keys[distinct] >> np.uint64(middle))[1])
                low, high = (low, middle) if found <= self.most else (middle, high)
            self.level += high
            keys = keys >> np.uint64(high)
            order, first = in_cells(units, keys)
        units, keys, counts, masses, powers = (x[order] for x in (units, keys, counts, masses, powers))
        means, squares = means[order], squares[order]
        place = np.repeat(np.arange(len(first)), np.diff(first, append=len(counts)))
        self.units, self.keys = units[first], keys[first]
        self.counts, self.masses, self.powers = (np.add.reduceat(x, first) for x in (counts, masses, powers))
        apart = means - means[first][place]
        moved = np.add.reduceat(masses[:, None] * apart, first) / self.masses[:, None]
        self.means = means[first] + moved
        rest = apart - moved[place]
        between = masses[:, None, None] * rest[:, :, None] * rest[:, None, :]
        self.squares = np.add.reduceat(squares + between, first)

    def width_at(self, value: float) -> float:
        """Return the width of the bin of one value, or the larger of those beside it that hold rows."""
        order = np.argsort(self.means[:, 0], kind="stable")
        place = np.searchsorted(self.means[order, 0], value)
        beside = self.keys[order[max(place - 1, 0) : place + 1], 0]
        low = beside << np.uint64(self.level)
        return float(np.max(_floats(low + np.uint64((1 << self.level) - 1)) - _floats(low)))

    def middles(self) -> Points:
        """Return the mean of every cell, in place of its rows, in ascending order."""
        order = np.argsort(self.means[:, 0], kind="stable")
        groups = np.array([*self.clusters])[self.units[order]] if self.clusters else None
        return Points(self.means[order], self.counts[order], self.masses[order], order, groups)

    def rows(self) -> Points:
        """Return rows that have the count, mean and squares of every cell: at most two of a value, three of a pair.

        Those of one value come in ascending order.
        """
        parts, places = _spread(self.counts, self.masses, self.means, self.squares)
        cells, _ = np.nonzero(parts)
        values, counts = places[parts > 0], parts[parts > 0]
        if self.width == 1:
            order = np.argsort(values[:, 0], kind="stable")
            cells, values, counts = cells[order], values[order], counts[order]
        groups = np.array([*self.clusters])[self.units[cells]] if self.clusters else None
        masses = counts * (self.masses / self.counts)[cells]
        return Points(values, counts, masses, cells, groups)

    def state(self) -> dict[str, Any]:
        """Return the moments as numbers, lists and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return {"level": self.level, "mistaken": self.mistaken, "clusters": [*self.clusters], **arrays}

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put the cells that :meth:`state` describes in the place of what is kept."""
        self.level, self.mistaken = int(state["level"]), float(state["mistaken"])
        self.clusters = {one: code for code, one in enumerate(state["clusters"])}
        for name in ARRAYS:
            setattr(self, name, read_back(state[name], getattr(self, name)))
        return self


def in_cells(units: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an order (n,) in which rows of one cell follow each other, and where each cell begins in it."""
    columns = [*keys.T[::-1], units] if units.any() else [*keys.T[::-1]]
    order = np.lexsort(columns)
    changes = np.zeros(max(len(order) - 1, 0), bool)
    for column in columns:
        ordered = column[order]
        changes |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(np.concatenate([[True], changes])[: len(order)])


def _spread(
    counts: np.ndarray, masses: np.ndarray, means: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return up to three whole numbers (m, 3) that add up to every count, and values (m, 3, d) of these moments.

    With shares ``u_k^2`` of the count, the values are the mean plus a root of the covariance times ``q_k / u_k``, of a
    matrix q with orthonormal columns that are orthogonal to u.
    """
    varies = np.trace(squares, axis1=1, axis2=2) > 0
    third = np.where(varies & (means.shape[1] > 1), counts // 3, 0)
    second = np.where(varies, (counts - third) // 2, 0)
    parts = np.stack([counts - second - third, second, third], axis=1)
    return parts, means[:, None, :] + spread(parts / counts[:, None], squares / masses[:, None, None])


def spread(shares: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return values (m, 3, d) of mean 0 and the ``covariance`` (m, d, d) where they have these ``shares`` (m, 3).

    A covariance of rank 2 needs three shares, of rank 1 two; the value of a share of 0 is anything. Variances below 0,
    of rounding errors, are 0.
    """
    u = np.sqrt(shares)
    one, two, three = u.T
    safe = np.where(u > 0, u, 1.0)
    both = np.hypot(one, two)
    first = np.stack([two / both, -one / both, 0 * both], axis=1) / safe
    rest = np.stack([one * three / both, two * three / both, -both], axis=1) / safe
    if covariance.shape[-1] == 1:
        return first[:, :, None] * np.sqrt(np.maximum(covariance, 0.0))
    a, b = (np.maximum(covariance[:, i, i], 0.0) for i in (0, 1))
    ab = covariance[:, 0, 1]
    root = np.sqrt(a)
    flat = root == 0
    slope = np.where(flat, np.sqrt(b), ab / np.where(flat, 1.0, root))
    left = np.where(flat, 0.0, np.sqrt(np.maximum(b - slope**2, 0.0)))
    y = first * root[:, None]
    p = first * slope[:, None] + rest * left[:, None]
    return np.stack([y, p], axis=2)
