r"""The bootstrap distribution of the difference of two models' ratios of counts, without resampling.

Each row is a hit, a miss or neither for either model, which makes nine kinds of rows. Of n rows of a resample
:math:`(H_1, M_1)` are hits and misses of the first model; given these, those of the second are a sum of three
multinomials. With the law of the latter by a Fourier inversion in two dimensions,

.. math:: P(\Delta = d) = \sum_{h, m} P(H_1 = h, M_1 = m) \sum_{x, y} P(H_2 = x, M_2 = y \mid h, m)
   1\Big[\frac{\omega h}{\omega h + m} - \frac{\omega x}{\omega x + y} = d\Big].

Few rows have few counts, and all are summed, on a fine grid of values. Of many rows every k-th count is: the sum
of :math:`e^{iu\Delta}` over them is that over all, to rounding, as long as the frequency u is not large, because

.. math:: \Big|\sum_{j \ne 0} \varphi(2\pi j / k - u g)\Big| \approx 0, \quad |\varphi(\theta)| \le
   e^{-\sigma^2 (1 - \cos\theta)},

where a count has the standard deviation :math:`\sigma` and one more of it changes the difference by g. The law is the
integral over these frequencies. What those beyond add, as values lie on a lattice of sorts, is told by Poisson's sum
over integers :math:`l \ne 0`, with the counts normal about those of the sample and the difference of the second order
there, with gradient g, Hessian B and the covariance :math:`\Sigma` of the counts:

.. math:: E\,e^{iu(\Delta - \hat\Delta)} \approx \sum_l \det(I - iu\Sigma B)^{-1/2}
   e^{-r^T (\Sigma^{-1} - iuB)^{-1} r / 2}, \quad r = ug - 2\pi l.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import fft

from jaxci.resampling.grid_law import GridLaw, smooth_law
from jaxci.resampling.laws import Atoms
from jaxci.resampling.mean_spectrum import TAIL
from jaxci.special import log_binomial

GOAL = 9e-4
"""Error bound, in standard deviations, that the grid is made fine enough for."""
DEPTH = 21.0
"""Counts run to where a bound on the mass beyond is exp(-DEPTH)."""
OUTSIDE = 1e-7
"""Bound on the mass that is left out."""
RINGS = 0.0, 2.5, 5.0, 8.0, 11.0, 15.0
"""Counts of the first model less likely than the likeliest by the exponentials of these share windows of the second."""
NOTHING = 1e-13
"""Modulus that counts for nothing."""
APART = 6.0
"""Standard deviations between a frequency and those that a sum over every k-th count takes for it."""
SLOPES = 1.2
"""Factor by which the difference may be steeper in a count than is looked at."""
FREQUENCIES = (9.0, 18.0, 36.0, 72.0, 144.0, 288.0, 576.0, 1152.0, 2304.0, 4000.0)
"""Frequencies, times the standard deviation, up to which the law is summed; finer structure is not looked for."""
BETWEEN = 0.8
"""Distance, times the standard deviation, of the frequencies at which what is not summed is looked at."""
MOST_LEFT = 5e-5
"""Error in probability by frequencies near those that are summed up to which there is such a law."""
MOST_LATTICE = 3e-4
"""Error in probability by the lattice of the values up to which there is such a law."""
LATTICE = 3.0
"""Factor by which that error may be larger than is found."""
MOST_WORK = 12_000_000
"""Counts, and angles, that are summed over at most: some tenths of a second."""
LEAST_MASS = 1e-7
"""Mass from which on the ends, and 0, are atoms of their own."""
SAME = 1e-13
"""Values this close are one."""
LOOKED_AT = 1000
"""Counts of the first model whose windows are all looked at: of more, those at the ends."""
POINTS = 1 << 14, 1 << 21
"""Points of the grid, at least and at most."""
AT_ONCE = 1 << 17
"""Counts that are held in memory."""


def difference_of_ratios(kinds: np.ndarray, odds: float, undefined: float) -> GridLaw | Atoms | None:
    """Return the bootstrap distribution of ``odds H / (odds H + M)`` of one model less that of another.

    Parameters
    ----------
    kinds : (3, 3) array
        Rows that are a hit, a miss and neither for the first model, by what they are for the second.
    odds : float
        Weight of a hit.
    undefined : float
        What 0/0 counts as; NaN leaves such resamples out.

    Returns
    -------
    GridLaw, Atoms or None
        None where it costs too much, or where no resample has a value.
    """
    return law_of_rows(_Rows.of(np.asarray(kinds, float), float(odds), float(undefined)))


def law_of_rows(rows: _Rows, work: float = MOST_WORK, *, every: bool = True) -> GridLaw | Atoms | None:
    """Return the law from sums over at most ``work`` counts: over every one where that are no more and it is asked."""
    tried: tuple[int, ...] | None = None
    for frequency in (math.inf, *FREQUENCIES) if every else FREQUENCIES:
        steps = rows.steps(frequency)
        fine = rows.rough(steps) <= GOAL / 4 * rows.slopes[1]
        error = 0.0 if fine else rows.lattice_error(steps)
        if steps == tried or error > MOST_LATTICE:
            continue
        groups = _nodes(rows, steps, work) if rows.least_work(steps) <= work else []
        needed = sum(group.work for group in groups)
        if groups and needed <= work:
            summed = _summed(groups)
            found = None
            if summed is not None:
                found = summed.atoms() or (summed.on_grid() if fine else summed.smooth(rows.most(steps), error))
            if found is not None or summed is None:
                return found
            tried, work = steps, work - needed
        elif math.isfinite(frequency):
            return None
    return None


class _Ends(NamedTuple):
    """The least and the most of counts."""

    low: np.ndarray
    high: np.ndarray


def _ends(counts: np.ndarray, shares: np.ndarray, depth: float) -> _Ends:
    """Return how far sums of binomials of ``counts`` (..., m) reach (...), by Chernoff's bound."""
    found = []
    for sign in (-1.0, 1.0):
        low, high = np.zeros(counts.shape[:-1]), np.full(counts.shape[:-1], 60.0)
        for _ in range(26):
            middle = (low + high) / 2
            mean, log = _tilted(counts, shares, sign * middle)
            beyond = sign * middle * mean - log > depth
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        found.append(_tilted(counts, shares, sign * high)[0])
    return _Ends(np.floor(found[0] + 1e-6), np.ceil(found[1] - 1e-6))


def _tilted(counts: np.ndarray, shares: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative and the cumulant generating function (...) at s of sums of binomials."""
    wave = np.exp(s)[..., None]
    whole = 1 - shares + shares * wave
    return (counts * shares * wave / whole).sum(axis=-1), (counts * np.log(whole)).sum(axis=-1)


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Rows of nine kinds, of which there are four counts: two of either model, the third being what they leave.

    Attributes
    ----------
    n : int
        Rows.
    first : (3,) array
        Share of each kind for the first model, in the order that ``outer`` is.
    given : (3, 3) array
        Share of each kind for the second model, in the order that ``inner`` is, among those of a kind for the first.
    outer, inner : (3,) arrays
        Orders of hit, miss and neither, the last of which is not counted.
    odds, undefined : float
        Weight of a hit, and what 0/0 counts as.
    """

    n: int
    first: np.ndarray
    given: np.ndarray
    outer: np.ndarray
    inner: np.ndarray
    odds: float
    undefined: float

    @classmethod
    def of(cls, kinds: np.ndarray, odds: float, undefined: float) -> _Rows:
        """Choose orders: last are the commonest kind of the first model, and that of the second that varies most."""
        sizes = kinds.sum(axis=1)
        given = kinds / np.maximum(sizes, 1)[:, None]
        variances = np.maximum(sizes @ (given * (1 - given)), 0.0)
        deviations = np.sqrt(variances) + 1e-3
        last = int(np.argmax(deviations))
        inner = np.array([*(k for k in range(3) if k != last), last])
        outer = np.argsort(sizes, kind="stable")
        n = round(float(sizes.sum()))
        return cls(n, sizes[outer] / n, given[np.ix_(outer, inner)], outer, inner, odds, undefined)

    @property
    def rest_share(self) -> float:
        """Share of the second kind of the first model among rows that are not of the first kind."""
        others = 1 - self.first[0]
        return min(float(self.first[1] / others), 1.0) if others > 0 else 0.0

    def spread_given(self, sizes: np.ndarray) -> np.ndarray:
        """Covariance (2, 2) of the second model's counts, given those of the first (3,)."""
        shares = self.given[:, :2]
        return np.diag(sizes @ shares) - (shares * sizes[:, None]).T @ shares

    @functools.cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each count (4,) given those before it."""
        p, rest = self.first[0], self.rest_share
        spread = self.spread_given(self.n * self.first)
        last = spread[1, 1] - (spread[0, 1] ** 2 / spread[0, 0] if spread[0, 0] > 0 else 0.0)
        found = np.array([self.n * p * (1 - p), self.n * (1 - p) * rest * (1 - rest), spread[0, 0], last])
        return np.sqrt(np.where(found > 1e-9, found, 0.0))

    @functools.cached_property
    def directions(self) -> np.ndarray:
        """What one more of each count adds to the means of those after it (4, 4)."""
        rest, (p, q, r) = self.rest_share, self.given[:, :2]
        spread = self.spread_given(self.n * self.first)
        along = spread[0, 1] / spread[0, 0] if spread[0, 0] > 0 else 0.0
        first = p - rest * q - (1 - rest) * r
        return np.array([[1, -rest, *first], [0, 1, *(q - r)], [0, 0, 1, along], [0, 0, 0, 1]])

    @functools.cached_property
    def means(self) -> np.ndarray:
        """Means (4,) of the counts."""
        return self.n * np.append(self.first[:2], self.first @ self.given[:, :2])

    @functools.cached_property
    def forms(self) -> tuple[np.ndarray, np.ndarray]:
        """What a row of each kind adds to the numerator and the denominator (2, 3) of each model's ratio."""
        both = np.array([[self.odds, 0.0, 0.0], [self.odds, 1.0, 0.0]])
        return both[:, self.outer], both[:, self.inner]

    def ratio(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return ratios, with what 0/0 counts as."""
        return np.where(below > 0, above / np.where(below > 0, below, 1.0), self.undefined)

    def value(self, counts: np.ndarray) -> np.ndarray:
        """Difference (...) at real counts (..., 4)."""
        found = []
        for form, of_model in zip(self.forms, (counts[..., :2], counts[..., 2:]), strict=True):
            rest = self.n - of_model.sum(axis=-1, keepdims=True)
            whole = np.maximum(np.concatenate([of_model, rest], axis=-1), 1e-3)
            found.append(whole @ form[0] / (whole @ form[1]))
        return found[0] - found[1]

    @functools.cached_property
    def slopes(self) -> tuple[np.ndarray, float]:
        """What one more of each count (4,) adds to the difference at most, and its standard deviation, about."""
        moved = self.directions * self.deviations[:, None]
        around = self.means + np.concatenate([np.zeros((1, 4)), -2.5 * moved, 2.5 * moved])
        up, down = (self.value(around[:, None] + half * moved) for half in (0.5, -0.5))
        each = np.abs(up - down)
        steepest = each.max(axis=0) / np.where(self.deviations > 0, self.deviations, 1.0)
        return steepest, math.sqrt(float(each[0] @ each[0]))

    @functools.cached_property
    def _closest(self) -> np.ndarray:
        """Angle (4,) from which on the characteristic function of each count is negligible; infinite for none."""
        deep = APART / (2 * np.maximum(self.deviations, 1e-300))
        return np.where(deep < 1, 2 * np.arcsin(np.minimum(deep, 1.0)), np.inf)

    def steps(self, frequency: float) -> tuple[int, ...]:
        """Every how many counts (4,) are summed for frequencies up to this over the standard deviation."""
        slopes, deviation = self.slopes
        if math.isinf(frequency) or not deviation > 0:
            return 1, 1, 1, 1
        turn = self._closest + SLOPES * slopes * frequency / deviation
        return tuple(max(1, int(2 * math.pi / one)) for one in turn)

    def least_work(self, steps: tuple[int, ...]) -> float:
        """Return how many counts are summed over at least, about."""
        return float(np.prod(np.maximum(6 * self.deviations / steps, 1.0)))

    def most(self, steps: tuple[int, ...]) -> float:
        """Return the frequency up to which sums of every so many counts hold."""
        slopes = SLOPES * np.maximum(self.slopes[0], 1e-300)
        turns = [(2 * math.pi / k - self._closest[i]) / slopes[i] for i, k in enumerate(steps) if k > 1]
        return min(turns, default=math.inf)

    def rough(self, steps: tuple[int, ...]) -> float:
        """Return by how much a value is moved at most where every so many counts are summed."""
        return float(sum(k * slope / 2 for k, slope in zip(steps, self.slopes[0], strict=True) if k > 1))

    @functools.cached_property
    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (4,) and Hessian (4, 4) of the difference at the means."""
        slope, bend = np.zeros(4), np.zeros((4, 4))
        for form, sign, here in ((self.forms[0], 1, slice(0, 2)), (self.forms[1], -1, slice(2, 4))):
            counts = self.means[here]
            top, size = form @ np.append(counts, self.n - counts.sum())
            size = max(float(size), 1.0)
            above, below = form[:, :2] - form[:, 2:]
            mixed = np.outer(above, below)
            slope[here] = sign * (above / size - top * below / size**2)
            bend[here, here] = sign * (2 * top * np.outer(below, below) / size**3 - (mixed + mixed.T) / size**2)
        return slope, bend

    @functools.cached_property
    def _of_lattice(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies (U,), times the standard deviation, and Poisson's sum (U,) but for its first term."""
        slope, bend = self._expansion
        moved = self.directions * self.deviations[:, None]
        deviation = max(float(np.linalg.norm(moved @ slope)), 1e-300)
        curved, axes = np.linalg.eigh(moved @ bend @ moved.T)
        times = BETWEEN * np.arange(1, int(FREQUENCIES[-1] / BETWEEN) + 1)
        u = times / deviation
        factor = 1 / (1 - 1j * np.outer(u, curved))
        wide = 1 / np.abs(factor).min()
        turns = np.zeros((len(u), 1, 4))
        for d in (3, 2, 1, 0):  # the nearest integers, given those of later counts, and those beside
            if self.deviations[d] == 0:
                continue
            left = u[:, None, None] * slope[d + 1 :] - 2 * np.pi * turns[:, :, d + 1 :]
            nearest = np.round((left @ self.directions[d, d + 1 :] + (u * slope[d])[:, None]) / (2 * np.pi))
            beside = (0,) if np.pi * self.deviations[d] > 7 * wide else (-1, 0, 1)
            one = np.arange(4) == d
            turns = np.concatenate([turns + (nearest + k)[:, :, None] * one for k in beside], axis=1)
        left = (u[:, None, None] * slope - 2 * np.pi * turns) @ (moved.T @ axes)
        terms = np.exp(-0.5 * np.einsum("uld,ud->ul", left**2, factor)) * np.sqrt(factor).prod(axis=1)[:, None]
        terms[~turns.any(axis=2)] = 0.0
        return times, terms.sum(axis=1)

    @functools.cached_property
    def _alike(self) -> float:
        """Probability that both models have the same counts, about."""
        apart = np.zeros((2, 3, 3))
        for kind in (0, 1):
            apart[kind, self.outer == kind] += 1
            apart[kind, :, self.inner == kind] -= 1
        shares, differ = (self.first[:, None] * self.given).ravel(), apart.reshape(2, 9)
        mean = differ @ shares
        spread = self.n * ((differ * shares) @ differ.T - np.outer(mean, mean))
        size = float(np.linalg.det(spread))
        if size < 0.1:
            return 0.0
        far = self.n**2 * float(mean @ np.linalg.solve(spread, mean))
        return min(math.exp(-far / 2) / (2 * math.pi * math.sqrt(size)), 1.0)

    def lattice_error(self, steps: tuple[int, ...]) -> float:
        """Return the error in probability, about, by frequencies beyond :meth:`most`."""
        times, sums = self._of_lattice
        if max(steps[2:]) == 1:  # 0 is an atom of its own
            at = float(self.value(self.means)) / max(self.slopes[1], 1e-300)
            sums = sums - self._alike * np.exp(-1j * times * at)
        beyond = np.where(times > self.most(steps) * self.slopes[1], sums / times, 0.0) * BETWEEN / np.pi
        waves = fft.fft(np.append(0.0, beyond), 1 << math.ceil(math.log2(4 * len(times))))
        return LATTICE * float(np.abs(waves.imag).max())


def _nodes(rows: _Rows, steps: tuple[int, ...], most: float) -> list[_Nodes]:
    """Choose the counts that are summed over, in rings; of more than ``most`` those of the first model alone."""
    n, rest = rows.n, rows.rest_share
    low, high = (float(end) for end in _ends(np.array([float(n)]), rows.first[:1], DEPTH))
    first = np.arange(low + (high - low) % steps[0] // 2, high + 1, steps[0])
    lows, highs = _ends((n - first)[:, None], np.array([rest]), DEPTH)
    lows = steps[1] * np.ceil(lows / steps[1])
    sizes = np.maximum((highs - lows) // steps[1] + 1, 0).astype(int)
    whole = int(sizes.sum())
    if whole > most:
        return [_Nodes(rows, steps, np.zeros((2, whole)), np.ones(whole), np.zeros((2, whole)), (1, 1))]
    place = np.arange(whole) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first, second = np.repeat(first, sizes), np.repeat(lows, sizes) + steps[1] * place
    logs = log_binomial(first, n, rows.first[0]) + log_binomial(second, n - first, rest)
    rarer, counts, found = logs.max() - logs, np.stack([first, second]), []
    for inside, outside in itertools.pairwise((*RINGS, DEPTH)):
        here = (rarer >= inside) & (rarer < outside)
        if here.any():
            masses = steps[0] * steps[1] * np.exp(logs[here])
            found.append(_Nodes(rows, steps, counts[:, here], masses, *_windows(rows, steps, counts[:, here], inside)))
    return found


def _windows(
    rows: _Rows, steps: tuple[int, ...], counts: np.ndarray, inside: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return where the second model's counts (2, K) start, given those of the first, and how many are summed."""
    starts, sizes = [], []
    of_first = np.stack([*counts, rows.n - counts.sum(axis=0)], axis=1)
    for axis, step in enumerate(steps[2:]):
        shares = rows.given[:, axis]
        means, spread = of_first @ shares, of_first @ (shares * (1 - shares))
        at = of_first
        if len(at) > LOOKED_AT:
            at = at[[end for found in (means, spread, *counts) for end in (found.argmin(), found.argmax())]]
        low, high = _ends(at, shares, DEPTH - inside)
        below, above = float(np.max(at @ shares - low)), float(np.max(high - at @ shares))
        starts.append(np.maximum(np.floor(means - below + 1e-6), 0.0))
        sizes.append(math.ceil((math.ceil(below + above - 1e-6) + 1 + (below + above > 1e-6)) / step))
    return np.stack(starts), (sizes[0], sizes[1])


@dataclasses.dataclass(frozen=True)
class _Nodes:
    """Counts that are summed over: of the first model (2, K), their masses (K,), and windows of the second's (2, K)."""

    rows: _Rows
    steps: tuple[int, ...]
    counts: np.ndarray
    masses: np.ndarray
    starts: np.ndarray
    sizes: tuple[int, int]

    @functools.cached_property
    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Angles of the second model's counts at which their characteristic function counts: from 0, and all."""
        least = np.array([*self.counts.min(axis=1), self.rows.n - self.counts.sum(axis=0).max()])
        spread = self.rows.spread_given(least)
        whole, found = float(np.linalg.det(spread)), []
        for axis, (size, step) in enumerate(zip(self.sizes, self.steps[2:], strict=True)):
            window = size * step
            other = spread[1 - axis, 1 - axis]
            alone = whole / other if other > 0 else spread[axis, axis]
            near = 1.5 * math.sqrt(-2 * math.log(NOTHING) / alone) if alone > 1e-9 else math.pi
            reach = min(window // 2, math.ceil(near * window / (2 * math.pi)))
            found.append(2 * np.pi / window * np.arange(0 if axis == 0 else -min(reach, (window - 1) // 2), reach + 1))
        near_enough = np.einsum("x,xab->ab", least, self._logs(*found).real) > math.log(NOTHING)
        return found[0][near_enough.any(axis=1)], found[1][near_enough.any(axis=0)]

    def _logs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Logarithms (3, A, B) of the characteristic function of a row of each kind of the first model.

        Of the last kind, by which the others are divided, bounded so that no power overflows.
        """
        waves = np.exp(1j * one)[:, None], np.exp(1j * other)[None, :]
        found = np.stack([p * waves[0] + q * waves[1] + (1 - p - q) for p, q, _ in self.rows.given])
        found[self.rows.first == 0] = 1.0
        least = np.array([-690.0, -690.0, -690.0 / (np.ptp(self.counts, axis=1).max() + 1)])[:, None, None]
        return np.maximum(np.log(np.maximum(np.abs(found), 1e-300)), least) + 1j * np.angle(found)

    @property
    def work(self) -> float:
        """How many counts and angles are summed over; of too many, counts alone."""
        found = float(len(self.masses)) * self.sizes[0] * self.sizes[1]
        return found if found > MOST_WORK else found + len(self.masses) * math.prod(map(len, self.angles))

    @functools.cached_property
    def ratios(self) -> np.ndarray:
        """The first model's ratio (K,)."""
        whole = np.stack([*self.counts, self.rows.n - self.counts.sum(axis=0)], axis=1)
        above, below = (whole @ form for form in self.rows.forms[0])
        return self.rows.ratio(above, below)

    @functools.cached_property
    def range(self) -> tuple[float, float]:
        """Bounds of the difference; the lower one is the larger where there is none."""
        rows, n = self.rows, self.rows.n
        low = np.minimum(self.starts, n)
        high = np.minimum(low + (np.array(self.sizes) * self.steps[2:])[:, None], n)
        least = np.stack([*low, np.maximum(n - high.sum(axis=0), 0.0)])
        most = np.stack([*high, np.maximum(n - low.sum(axis=0), 0.0)])
        hit, miss = (int(np.flatnonzero(rows.inner == kind)[0]) for kind in (0, 1))
        ends = []
        for hits, misses, other in ((most[hit], least[miss], 1.0), (least[hit], most[miss], 0.0)):
            below = rows.odds * hits + misses
            one = np.where(below > 0, rows.odds * hits / np.where(below > 0, below, 1.0), other)
            ends.append(np.where(least[hit] + least[miss] == 0, other, one))
        known = ~np.isnan(self.ratios)
        low, high = ((self.ratios - end)[known] for end in ends)
        return float(low.min(initial=math.inf)), float(high.max(initial=-math.inf))

    def _all_summed(self, kind: int) -> bool:
        """Whether both models' numbers of a kind are all summed over."""
        for order, steps in ((self.rows.outer, self.steps[:2]), (self.rows.inner, self.steps[2:])):
            place = int(np.flatnonzero(order == kind)[0])
            if (steps[place] if place < 2 else max(steps)) > 1:
                return False
        return True

    def add_to(self, found: _Summed) -> None:
        """Add all masses."""
        known = np.flatnonzero(~np.isnan(self.ratios))
        powers = self._powers()
        inverses = self._inverses()
        block = max(1, AT_ONCE // max(self.sizes[0] * self.sizes[1], powers[0].shape[1]))
        for start in range(0, len(known), block):
            here = known[start : start + block]
            values, masses = self._values(here), self._masses(here, powers, inverses)
            self._take_atoms(found, here, values, masses)
            found.add(values, masses)

    def _powers(self) -> tuple[np.ndarray, ...]:
        """Powers of the characteristic functions of rows, and the places (K,) of those of each pair of counts."""
        logs = self._logs(*self.angles).reshape(3, -1)
        (first, one), (second, other) = (np.unique(count, return_inverse=True) for count in self.counts)
        base = first[0] * logs[0] + second[0] * logs[1] + (self.rows.n - first[0] - second[0]) * logs[2]
        powers = np.exp(np.outer(first - first[0], logs[0] - logs[2]))
        return powers, np.exp(base + np.outer(second - second[0], logs[1] - logs[2])), one, other

    def _inverses(self) -> tuple[np.ndarray, np.ndarray]:
        """Matrices from angles to counts, times how many counts each stands for."""
        (one, other), (size, height), (step, rise) = self.angles, self.sizes, self.steps[2:]
        twice = np.where((one > 0) & (one < np.pi * (1 - 1e-12)), 2.0, 1.0)  # of the others there is the conjugate
        left = np.exp(-1j * step * np.outer(np.arange(size), one)) * twice / size
        right = np.exp(-1j * rise * np.outer(other, np.arange(height))) / height
        return np.concatenate([left.real, -left.imag], axis=1), right  # of the product the real part

    def _masses(
        self, here: np.ndarray, powers: tuple[np.ndarray, ...], inverses: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Masses (B, X, Y) of the second model's counts with those of the first at some places (B,)."""
        (one, other), (x, y) = self.angles, self.starts[:, here]
        first, second, at, place = powers
        waves = (first[at[here]] * second[place[here]]).reshape(len(here), len(one), len(other))
        waves *= (self.masses[here, None] * np.exp(-1j * np.outer(x, one)))[:, :, None]
        waves *= np.exp(-1j * np.outer(y, other))[:, None, :]
        left, right = inverses
        half = (waves.reshape(-1, len(other)) @ right).reshape(len(here), len(one), -1)
        return left @ np.concatenate([half.real, half.imag], axis=1)

    def _seconds(self, here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the second model's counts (B, X, 1) and (B, 1, Y)."""
        (x, y), (size, height) = self.starts[:, here], self.sizes
        x = x[:, None, None] + self.steps[2] * np.arange(size)[:, None]
        return x, y[:, None, None] + self.steps[3] * np.arange(height)

    def _values(self, here: np.ndarray) -> np.ndarray:
        """Differences (B, X, Y), NaN where there is none."""
        x, y = self._seconds(here)
        above, below = (_linear(form, x, y, self.rows.n) for form in self.rows.forms[1])
        if np.min(below) > 0:
            return self.ratios[here, None, None] - np.broadcast_to(above / below, (len(here), *self.sizes))
        found = np.where(x + y > self.rows.n, math.nan, self.rows.ratio(above, below))
        return self.ratios[here, None, None] - found

    def _take_atoms(self, found: _Summed, here: np.ndarray, values: np.ndarray, masses: np.ndarray) -> None:
        """Move the mass of 0 and of the ends out of the masses, where all counts that make it are summed over."""
        if max(self.steps) == 1:
            low, high = self.range
            for atom in (-1.0, 0.0, 1.0):
                if low - SAME < atom < high + SAME:
                    found.take(atom, np.abs(values - atom) < SAME, masses)
            return
        every = max(self.steps[2:]) == 1
        alone = [kind for kind in (0, 1) if self._all_summed(kind)]
        if not (every or alone):
            return
        zero = np.abs(values) < SAME
        node, one, other = np.nonzero(zero)
        if not len(node):
            return
        x, y = self._seconds(here)
        both = self.counts[:, here[node]], np.stack([x[node, one, 0], y[node, 0, other]])
        numbers = [
            dict(zip(order, [*counts, self.rows.n - counts.sum(axis=0)], strict=True))
            for order, counts in zip((self.rows.outer.tolist(), self.rows.inner.tolist()), both, strict=True)
        ]
        held = np.full(len(node), every) & np.all([numbers[0][k] == numbers[1][k] for k in (0, 1)], axis=0)
        for kind in alone:
            held |= (numbers[0][kind] == 0) & (numbers[1][kind] == 0)
        zero[node[~held], one[~held], other[~held]] = False
        found.take(0.0, zero, masses)


def _linear(form: np.ndarray, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Return what x rows of the first kind, y of the second and all others of the third add up to."""
    p, q = form[:2] - form[2]
    return form[2] * n + (p * x + q * y if p and q else p * x if p else q * y)


def _summed(groups: list[_Nodes]) -> _Summed | None:
    """Sum all; None where no resample has a value."""
    rows = groups[0].rows
    low, high = min(group.range[0] for group in groups), max(group.range[1] for group in groups)
    if low > high:
        return None
    middle = float(rows.value(rows.means))
    half, deviation = max(high - middle, middle - low, 1e-9), rows.slopes[1]
    while True:
        fine = math.ceil(math.log2(4 * half / (GOAL * max(deviation, 1e-9)) + 8))
        points = min(max(POINTS[0], 1 << fine), POINTS[1])
        found = _Summed(middle, 2 * half / (points - 8), np.zeros(points), {}, rows.rough(groups[0].steps))
        for group in groups:
            group.add_to(found)
        if not found.total > 0:
            return None
        deviation = found.moments[1]
        if 2 * found.step <= GOAL * deviation or points == POINTS[1] or found.atoms() is not None:
            return found


@dataclasses.dataclass
class _Summed:
    """Masses on a grid whose middle is the difference of the sample, those of atoms, and how far values were moved."""

    middle: float
    step: float
    masses: np.ndarray
    held: dict[float, float]
    rough: float

    def add(self, values: np.ndarray, masses: np.ndarray) -> None:
        """Split masses between the two nearest places; those of no value are left out."""
        place = (values.ravel() - self.middle) * (1 / self.step) + len(self.masses) // 2
        masses = masses.ravel()
        if np.isnan(place.min()):
            known = ~np.isnan(place)
            place, masses = place[known], masses[known]
        cell = np.minimum(np.maximum(place, 0.0), len(self.masses) - 2.0).astype(np.int64)
        place -= cell
        place *= masses
        above = np.bincount(cell, place, len(self.masses))
        self.masses += np.bincount(cell, masses - place, len(self.masses))
        self.masses[1:] += above[:-1]

    def take(self, atom: float, held: np.ndarray, masses: np.ndarray) -> None:
        """Move masses to an atom."""
        if held.any():
            self.held[atom] = self.held.get(atom, 0.0) + float(masses[held].sum())
            masses[held] = 0.0

    @property
    def total(self) -> float:
        """All mass."""
        return float(self.masses.sum()) + sum(self.held.values())

    @property
    def points(self) -> np.ndarray:
        """Values of the grid."""
        return self.middle + self.step * (np.arange(len(self.masses)) - len(self.masses) // 2)

    @functools.cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation."""
        values = np.append(self.points, list(self.held))
        masses = np.append(self.masses, list(self.held.values())) / self.total
        mean = float(masses @ values)
        return mean, math.sqrt(max(float(masses @ (values - mean) ** 2), 0.0))

    def atoms(self) -> Atoms | None:
        """Return the law where atoms are all there is."""
        if self.masses.sum() > TAIL * self.total:
            return None
        values = sorted(self.held)
        masses = np.array([self.held[value] for value in values])
        return Atoms(np.array(values), masses / masses.sum(), SAME)

    def _split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the masses of the grid, atoms, and theirs."""
        masses, total = np.maximum(self.masses, 0.0), self.total
        for value, mass in self.held.items():
            if mass < LEAST_MASS * total:
                masses[int(np.argmin(np.abs(self.points - value)))] += mass
        atoms = sorted(value for value, mass in self.held.items() if mass >= LEAST_MASS * total)
        held = np.array([self.held[value] / total for value in atoms])
        return masses * (1 - held.sum()) / max(float(masses.sum()), 1e-300), np.array(atoms), held

    def _reach(self, masses: np.ndarray, atoms: np.ndarray) -> tuple[float, float]:
        """Smallest and largest value, but for negligible mass."""
        there = np.append(self.points[masses > 1e-16], atoms)
        return max(-1.0, float(there.min())), min(1.0, float(there.max()))

    def on_grid(self) -> GridLaw | None:
        """Return the law of the values on the grid; None where that is too coarse."""
        masses, atoms, held = self._split()
        (mean, deviation), (low, high) = self.moments, self._reach(masses, atoms)
        if not (2 * self.step + self.rough) < 1e-3 * deviation:
            return None
        return GridLaw(
            centre=mean,
            spread=deviation,
            error_bound=(2 * self.step + self.rough) / deviation,
            probability_error=OUTSIDE,
            low=low,
            high=high,
            step=self.step,
            origin=len(masses) // 2 + (mean - self.middle) / self.step,
            rest=np.append(0.0, np.cumsum(masses)[:-1]) + masses / 2,
            atoms=atoms,
            masses=held,
        )

    def smooth(self, most: float, error: float) -> GridLaw | None:
        """Return the law whose frequencies end at ``most``, with this error; None where these do not suffice."""
        masses, atoms, held = self._split()
        (mean, deviation), (low, high) = self.moments, self._reach(masses, atoms)
        half = self.step * len(masses) / 2
        last = min(int(most * half / np.pi), len(masses) // 2)
        summed = np.conj(fft.rfft(np.roll(masses, len(masses) // 2))[: last + 1])
        j = np.arange(max(last // 2, 1), last + 1)
        left = float(np.sum(np.abs(summed[j]) / j)) / np.pi
        if not left <= MOST_LEFT:
            return None
        error += left + OUTSIDE
        return smooth_law(summed[1:], half, self.middle, mean, deviation, error, low, high, atoms, held)
