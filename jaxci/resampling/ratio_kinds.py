"""Rows that are a hit, a miss or neither for each of two models: their counts, and the difference of ratios of these.

What the sums of :mod:`jaxci.resampling.ratio_differences` need to know of them beforehand: how far counts reach, how
the difference changes with each, every how many suffice, and what the lattice of the values adds.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy import fft

APART = 6.0
"""Standard deviations between a frequency and those that a sum over every k-th count takes for it."""
SLOPES = 1.2
"""Factor by which the difference may be steeper in a count than is looked at."""
FREQUENCIES = (9.0, 18.0, 36.0, 72.0, 144.0, 288.0, 576.0, 1152.0, 2304.0, 4000.0)
"""Frequencies, times the standard deviation, up to which the law is summed; finer structure is not looked for."""
BETWEEN = 0.8
"""Distance, times the standard deviation, of the frequencies at which what is not summed is looked at."""
LATTICE = 3.0
"""Factor by which that error may be larger than is found."""


@dataclasses.dataclass(frozen=True)
class Kinds:
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
    def of(cls, kinds: np.ndarray, odds: float, undefined: float) -> Kinds:
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
