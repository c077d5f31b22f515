r"""The bootstrap distribution of a mean of class means of few rows, which is not smooth, without resampling.

As in :mod:`jaxci.resampling.class_means`, the classes' numbers of rows are independent Poisson numbers given that they
sum to n. What a class' mean adds is rounded to the nearest point of a grid; the law of the sum of these is, with
:math:`\mu_{km}` that of class k of m rows,

.. math:: \frac{1}{T P(N = n)} \sum_{j < T} e^{-in\theta_j} \prod_k \sum_m P(N_k = m) e^{i\theta_j m} \mu_{km},
   \quad \theta_j = 2 \pi j / T, \quad N_k \sim Poisson(n q_k),

the product being a convolution. No value is moved by more than half a step for each class. Where a class may be
absent, the law is a mixture over the classes that are.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
import scipy
from scipy import fft, special

from jaxci.resampling.grid_law import GridLaw
from jaxci.resampling.mean_spectrum import TAIL, half_width

GOAL = 9.9e-4
"""Error bound, in standard deviations, that the grid is made fine enough for."""
REACH = 6.5
"""Standard deviations that Poisson numbers reach; and 12 numbers more."""
MOST_MISSING = 1e-7
"""Probability of sets of absent classes that are not looked at, or of no class, up to which there is such a law."""
MOST_SETS = 16
"""Sets of absent classes."""
MOST_ROWS = 5_000
"""Rows of which there is such a law: of more, most laws are smooth."""
MOST_WORK = 2e7
"""Points of all transforms beyond which there is no such law: about a quarter of a second."""
LEAST_MASS = 1e-7
"""Mass from which on the ends, and 0, are atoms of their own."""
AT_ONCE = 1 << 22
"""Points of the transforms that are held in memory."""


@dataclasses.dataclass(frozen=True)
class _Part:
    """The law where a set of classes is absent: weights (K,), 0 of these, of the means, and what is added to them."""

    weights: np.ndarray
    constant: float
    present: np.ndarray


def rounded_mean_of_class_means(
    plus: np.ndarray,
    minus: np.ndarray,
    sizes: np.ndarray,
    weights: np.ndarray,
    n: int,
    offset: float = 0.0,
    absent: float = math.nan,
    patience: float = 1.0,
) -> GridLaw | None:
    """Return the bootstrap distribution of ``offset + sum_k weights_k mean_k``, or None where it costs too much.

    Parameters
    ----------
    plus, minus : (K,) arrays
        Rows of each class whose value is 1, and -1; that of all others is 0.
    sizes, weights : (K,) arrays
        Rows of each class, at least 1, and the weights of their means.
    n : int
        Rows of all classes, and of none.
    offset : float, optional
        A constant.
    absent : float, optional
        What the mean of a class counts of which a resample has no row; NaN: nothing, and the other weights grow.
    patience : float, optional
        How many rows, sets of absent classes and points there may be, as a multiple of 5,000, 16 and what takes about a
        quarter of a second.

    Returns
    -------
    GridLaw or None
        None where nothing varies, or there are more of these.
    """
    plus, minus, sizes, weights = (np.asarray(x, float) for x in (plus, minus, sizes, weights))
    rows = _Rows(np.stack([minus, sizes - plus - minus, plus]) / sizes, sizes, n)
    if n > patience * MOST_ROWS or not np.any(rows.varies) or not weights.sum() > 0:
        return None
    parts: list[_Part] = []
    for gone in _absent_sets(sizes / n, n):
        if len(parts) >= patience * MOST_SETS:
            return None
        kept = np.where(gone, 0.0, weights)
        if math.isnan(absent) and kept.sum() > 0:
            parts.append(_Part(kept / kept.sum() * weights.sum(), offset, ~gone))
        elif not math.isnan(absent):
            parts.append(_Part(kept, offset + absent * float(weights @ gone), ~gone))
    chances, means, variances = np.transpose([rows.moments(part) for part in parts])
    known = float(chances.sum())
    if 1.0 - known > MOST_MISSING:
        return None
    chances = chances / known
    centre = float(chances @ means)
    spread = math.sqrt(float(chances @ (variances + (means - centre) ** 2)))
    low, high, reach = rows.ends(parts, means, variances)
    varying = int(np.count_nonzero(rows.varies))
    halves = (varying + 3) / 2  # of the classes' means, of what is added, and a step by interpolation
    window = reach[1] - reach[0]
    points = 1 << max(10, math.ceil(math.log2(window * halves / (GOAL * spread) + 4)))
    if len(parts) * varying * rows.turns / 2 * points > patience * MOST_WORK:
        return None
    step = window / (points - 4)
    start = reach[0] - 2 * step
    mass, atoms = np.zeros(points), dict[float, float]()
    for part in parts:
        of_part = np.maximum(rows.on_grid(part, start, step, points), 0.0) / known
        for value, share, place in rows.alike(part, start, step, points):
            taken = min(share / known, of_part[place]) if value else of_part[place]  # also where classes cancel out
            if value not in (low, 0.0, high) or taken < LEAST_MASS:
                continue
            of_part[place] -= taken
            atoms[value] = atoms.get(value, 0.0) + taken
        mass += of_part
    places = sorted(atoms)
    held = np.array([atoms[value] for value in places])
    mass *= max(1.0 - held.sum(), 0.0) / max(mass.sum(), 1e-300)
    return GridLaw(
        centre=centre,
        spread=spread,
        error_bound=halves * step / spread,
        probability_error=2 * (MOST_MISSING + TAIL),
        low=low,
        high=high,
        step=step,
        origin=(centre - start) / step,
        rest=np.append(0.0, np.cumsum(mass)[:-1]) + mass / 2,
        atoms=np.array(places),
        masses=held,
    )


def _absent_sets(chances: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Yield sets (K,) of classes that may be absent together, the empty one first, but for unlikely ones."""
    rare = np.flatnonzero((1.0 - chances) ** n > TAIL / 10)
    for size in range(len(rare) + 1):
        some = False
        for gone in itertools.combinations(rare, size):
            if max(1.0 - chances[list(gone)].sum(), 0.0) ** n > TAIL / 10:
                some = True
                yield np.isin(np.arange(len(chances)), gone)
        if not some:
            return


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Shares (3, K) of rows of K classes whose value is -1, 0 and 1, and numbers of rows (K,)."""

    shares: np.ndarray
    sizes: np.ndarray
    n: int

    @property
    def means(self) -> np.ndarray:
        """Means (K,) of the classes."""
        return self.shares[2] - self.shares[0]

    @property
    def varies(self) -> np.ndarray:
        """Whether the rows of a class (K,) differ."""
        return self.shares.max(axis=0) < 1.0

    @property
    def turns(self) -> int:
        """How many angles tell n rows from other numbers: a multiple of two."""
        return 2 * math.ceil(REACH * math.sqrt(self.n) / 2 + 8)

    @property
    def angles(self) -> np.ndarray:
        """The angles from 0 to pi; of the others there is the conjugate."""
        return 2 * np.pi / self.turns * np.arange(self.turns // 2 + 1)

    def _numbers(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of rows (M,) of a class, at least 1, and their Poisson probabilities."""
        size = self.sizes[k]
        reach = REACH * math.sqrt(size) + 12
        m = np.arange(max(1.0, math.floor(size - reach)), math.ceil(size + reach) + 1)
        return m, np.exp(special.xlogy(m, size) - size - special.gammaln(m + 1))

    def _waves(self, k: int, m: np.ndarray) -> np.ndarray:
        """Return ``exp(i angle (m - size))`` (M, T)."""
        return np.exp(1j * np.outer(m - self.sizes[k], self.angles))

    def _others(self, part: _Part) -> np.ndarray:
        """Factors (T,) of rows of no class and of absent ones, each with the weight of its angle in the sum."""
        angles, others = self.angles, self.n - self.sizes.sum()
        of_sum = special.xlogy(self.n, self.n) - self.n - special.gammaln(self.n + 1)
        gone = float(self.sizes[~part.present].sum())
        twice = np.where((angles > 0) & (np.arange(len(angles)) < self.turns // 2), 2.0, 1.0)
        found = np.exp(others * (np.exp(1j * angles) - 1 - 1j * angles) - gone * (1 + 1j * angles) - of_sum)
        return found * twice / self.turns

    def _present(self, part: _Part, powers: np.ndarray | None = None) -> np.ndarray:
        """Factors (K, T) of the classes' numbers of rows; with powers (K,) of these for every row."""
        found = np.ones((len(self.sizes), len(self.angles)), complex)
        for k in np.flatnonzero(part.present).tolist():
            m, mass = self._numbers(k)
            found[k] = (mass if powers is None else mass * powers[k] ** m) @ self._waves(k, m)
        return found

    def moments(self, part: _Part) -> tuple[float, float, float]:
        """Return the probability of a part, and the mean and variance there."""
        others, factors = self._others(part), self._present(part)
        chance = float(np.sum(others * factors.prod(axis=0)).real)
        variance = 0.0
        for k in np.flatnonzero(part.present & self.varies).tolist():
            m, mass = self._numbers(k)
            of_rows = self.shares[0, k] + self.shares[2, k] - self.means[k] ** 2
            one = (mass / m) @ self._waves(k, m)
            others_of = np.delete(factors, k, axis=0).prod(axis=0)
            variance += part.weights[k] ** 2 * of_rows * float(np.sum(others * one * others_of).real)
        return chance, part.constant + float(part.weights @ self.means), variance / max(chance, 1e-300)

    @property
    def extremes(self) -> np.ndarray:
        """The smallest and the largest value of the rows of each class, and 0 where these differ (3, K)."""
        seen = self.shares > 0
        least = np.where(seen[0], -1.0, np.where(seen[1], 0.0, 1.0))
        most = np.where(seen[2], 1.0, np.where(seen[1], 0.0, -1.0))
        return np.stack([least, most, np.where(self.varies, 0.0, least)])

    def ends(
        self, parts: list[_Part], means: np.ndarray, variances: np.ndarray
    ) -> tuple[float, float, tuple[float, float]]:
        """Return the smallest and largest value, and how far the law reaches but for a negligible mass."""
        ends = np.array([part.constant + self.extremes[:2] @ part.weights for part in parts])
        lows, highs = ends.T
        halves = []
        for part, variance in zip(parts, variances, strict=True):
            largest = np.max(part.weights * (1 + np.abs(self.means)) * self.n / self.sizes)
            wide = variance > 0
            halves.append(1.1 * half_width(self.n, self.n * variance, largest) / self.n if wide else 0.0)
        reach = np.maximum(lows, means - halves).min(), np.minimum(highs, means + halves).max()
        return round(float(lows.min()), 14), round(float(highs.max()), 14), (float(reach[0]), float(reach[1]))

    def _base(self, part: _Part, start: float, step: float) -> int:
        """Place on the grid of what is added to the classes whose rows differ."""
        fixed = part.constant + float(part.weights @ np.where(self.varies, 0.0, self.means))
        return round((fixed - start) / step)

    def alike(self, part: _Part, start: float, step: float, points: int) -> Iterator[tuple[float, float, int]]:
        """Yield what the mean is where all rows of a class have its :attr:`extremes`, the masses, and the places."""
        for values in np.unique(self.extremes, axis=0):
            shares = self.shares[values.astype(int) + 1, np.arange(len(values))]
            mass = float(np.sum(self._others(part) * self._present(part, shares).prod(axis=0)).real)
            at = round(part.constant + float(part.weights @ values), 14)
            places = np.round(values * part.weights / step)[part.present & self.varies]
            place = self._base(part, start, step) + int(places.sum())
            if 0 <= place < points:
                yield at, mass, place

    def on_grid(self, part: _Part, start: float, step: float, points: int) -> np.ndarray:
        """Return the masses (G,) of the rounded law on the grid."""
        others, found = self._others(part), np.zeros(points, complex)
        factors = self._present(part)
        chosen = part.present & self.varies
        fixed = others * factors[~chosen].prod(axis=0)
        measures = [self._measure(k, part.weights[k] / step, points) for k in np.flatnonzero(chosen).tolist()]
        block = max(1, AT_ONCE // points)
        for first in range(0, len(self.angles), block):
            here = slice(first, first + block)
            product = fixed[here, None]
            for matrix, waves in measures:
                product = product * fft.fft((matrix @ waves[:, here]).T, axis=1)
            found += product.sum(axis=0)
        return np.roll(fft.ifft(found).real, self._base(part, start, step) % points)

    def _measure(self, k: int, scale: float, points: int) -> tuple[scipy.sparse.csr_array, np.ndarray]:
        """Return masses (G, M) on the grid of a class' mean for each number of its rows, and the waves (M, T) of it."""
        m, mass = self._numbers(k)
        size = 2 * int(m[-1]) + 1
        turn = 2 * np.pi / size * np.arange(size)
        down, same, up = self.shares[:, k]
        one = same + up * np.exp(-1j * turn) + down * np.exp(1j * turn)
        sums = fft.ifft(one ** m[:, None], axis=1).real * mass[:, None]
        row, column = np.nonzero(sums > 1e-18)
        total = np.where(column > size // 2, column - size, column)
        place = np.round(scale * total / m[row]).astype(np.int64) % points
        matrix = scipy.sparse.csr_array((sums[row, column], (place, row)), (points, len(m)))
        return matrix, self._waves(k, m)
