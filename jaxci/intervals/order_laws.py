"""Laws of order statistics: which of them enclose a quantile, at what level.

For X(1) <= ... <= X(n) from a continuous law, ``P(X(k) <= x_u < X(l))`` is the probability that
between k and l - 1 of n observations lie below the u-quantile: it depends on (k, l, n, u) alone.
So do the ends of all intervals here as linear functions of the sorted values. Source: Lehmann and
Paromau (2025), section 2; ranks are 1-based.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from jaxci.intervals.base import Tails
from jaxci.records import record
from jaxci.resampling.laws import picked
from jaxci.special import betaincinv, namespace

SLACK = 1e-12
"""Rounding in sums of binomial probabilities."""
NEGLIGIBLE = 1e-20
"""Poisson tails below it are none."""
LEAST_LEVEL = float(np.finfo(np.float64).tiny)
"""Levels below it count as it: their logarithm must be finite."""


def below(n: int, u: float) -> np.ndarray:
    """``P(fewer than s of n observations lie below the u-quantile)`` for s = 0..n+1 (n + 2,)."""
    s = np.arange(n + 2)
    return np.where(s > 0, special.bdtr(np.clip(s - 1, 0, n), n, u), 0.0)


def level_of_ranks(k: int, l: int, n: int, u: float) -> float:
    """Return the level of [X(k), X(l)] (eq. 7); rank 0 and n + 1 stand for an open side."""
    law = below(n, u)
    upper = 1.0 if l > n else law[l]
    return float(upper - (0.0 if k < 1 else law[k]))


@dataclasses.dataclass(frozen=True)
class RandomizedRanks:
    """Two intervals of order statistics, and the probability with which each is to be used.

    ``ranks`` are ((k, l), (k, l)), the shorter interval first; a rank 0 or n + 1 is an open side.
    The mixture has exactly the level asked for, and no mixture is shorter in expectation.
    """

    ranks: tuple[tuple[int, int], tuple[int, int]]
    probabilities: tuple[float, float]


def randomized_ranks(n: int, u: float, tails: Tails) -> RandomizedRanks | None:
    """Return the randomized interval of least expected length (Zielinski and Zielinski 2005); None below the least n.

    Ties are broken by the smallest difference of the two tail probabilities, then by the smallest k.
    """
    return _randomized_ranks(n, u, *tails.sides)


@functools.lru_cache(maxsize=512)
def _randomized_ranks(n: int, u: float, lower: float, upper: float) -> RandomizedRanks | None:
    law = below(n, u)
    if lower == 0 or upper == 0:
        return _one_sided(law, n, lower, upper)
    level = 1 - lower - upper
    ranks = np.arange(1, n)
    by_length = {d: law[ranks[: n - d] + d] - law[ranks[: n - d]] for d in range(1, n)}
    best = {d: float(r.max()) for d, r in by_length.items()}
    if not best or best[n - 1] < level - SLACK:
        return None
    if best[1] >= level:
        pairs = [(1, 1)]
    else:
        longer = [d for d in best if best[d] >= level - SLACK]
        shorter = [d for d in best if best[d] < level - SLACK]
        expected = {(a, b): a + _share(level, best[a], best[b]) * (b - a) for a in shorter for b in longer}
        expected |= {(b, b): float(b) for b in longer[:1] if best[b] <= level + SLACK}
        least = min(expected.values())
        pairs = [pair for pair, length in expected.items() if length <= least + 1e-11]
    options = []
    for a, b in pairs:
        reach_a, reach_b = (by_length[a] >= best[a] - SLACK), (by_length[b] >= min(best[b], level) - SLACK)
        if a == b:
            reach_a = by_length[a] <= level + SLACK
        else:
            reach_b = by_length[b] >= best[b] - SLACK
        for i, j in itertools.product((np.flatnonzero(reach_a) + 1).tolist(), (np.flatnonzero(reach_b) + 1).tolist()):
            share = _share(level, law[i + a] - law[i], law[j + b] - law[j])
            weights = (1 - share, share)
            missed = [w * law[k] - w * (1 - law[k + d]) for w, k, d in zip(weights, (i, j), (a, b), strict=True)]
            options.append((round(abs(sum(missed)), 12), i, j, a, b, share))
    _, i, j, a, b, share = min(options)
    return RandomizedRanks(((i, i + a), (j, j + b)), (1 - share, share))


def _share(level: float, low: float, high: float) -> float:
    """Return the weight of ``high`` in the mixture of levels that is ``level``."""
    return 1.0 if high - low <= SLACK else float(np.clip((level - low) / (high - low), 0.0, 1.0))


def _one_sided(law: np.ndarray, n: int, lower: float, upper: float) -> RandomizedRanks | None:
    if upper == 0:
        k = np.arange(n + 1)  # rank 0: no bound, level 1
        levels = 1 - law[k]
        level = 1 - lower
        if levels[1] < level - SLACK:
            return None
        tight = int(np.flatnonzero(levels >= level - SLACK)[-1])
        loose = min(tight + 1, n)
        share = _share(level, float(levels[loose]), float(levels[tight]))
        return RandomizedRanks(((loose, n + 1), (tight, n + 1)), (1 - share, share))
    mirrored = _one_sided(1 - law[::-1], n, upper, 0.0)
    if mirrored is None:
        return None
    (a, _), (b, _) = mirrored.ranks
    return RandomizedRanks(((0, n + 1 - a), (0, n + 1 - b)), mirrored.probabilities)


@record
class Place:
    """Where between two neighbouring order statistics an end lies: ``(1 - weight) X(rank) + weight X(rank + 1)``.

    ``rank`` (...) counts from 1 to n - 1 (1 where n = 1), ``weight`` (...) is in [0, 1].
    """

    rank: Any
    weight: Any

    @classmethod
    def at(cls, position: Any, n: int) -> Place:
        """Return the place of ``Q_L`` at real ranks (...): the extremes beyond them."""
        xp = namespace(position)
        place = xp.clip(xp.asarray(position, float), 1.0, float(n))
        rank = xp.clip(xp.floor(place), 1, max(n - 1, 1))
        return cls(rank.astype(np.int32), place - rank)

    def mirrored(self, n: int) -> Place:
        """Return the place in a sample of n > 1 with its order reversed."""
        return Place(n - self.rank, 1 - self.weight)

    def of(self, ordered: Any) -> Any:
        """Return the value (...) there of ascending values (..., n)."""
        next_one = namespace(self.rank).minimum(self.rank, ordered.shape[-1] - 1)
        low, high = picked(ordered, self.rank - 1), picked(ordered, next_one)
        return low + self.weight * (high - low)


def interpolated_quantile(v: Any, n: int) -> Place:
    """Return the place of ``Q_L(v)``, at rank (n + 1) v (type 6 of Hyndman and Fan)."""
    return Place.at((n + 1) * v, n)


def asymptotic_positions(n: int, u: float, tails: Tails) -> tuple[float, float] | None:
    """Return the ranks n (u -+ z sqrt(u (1 - u) / n)) (eq. 10); None where one lies outside [1, n]."""
    half, (lower, upper) = math.sqrt(u * (1 - u) * n), tails.sides
    k = n * u + special.ndtri(lower) * half if lower else 1.0
    l = n * u - special.ndtri(upper) * half if upper else float(n)
    return (k, l) if k >= 1 - SLACK and l <= n + SLACK and k < l else None


def nyblom_upper(n: int, u: float, tail: float) -> Place | None:
    """Return the place of the interpolated upper bound with error ``tail`` (Nyblom 1992).

    ``(1 - w) X(r) + w X(r + 1)`` between the ranks whose levels enclose 1 - tail; for the median that of
    Hettmansperger and Sheather (1986). None where X(n) is not enough.
    """
    law = below(n, u)  # level of the upper bound X(r) is law[r]
    level = 1 - tail
    if law[n] < level - SLACK:
        return None
    r = int(np.flatnonzero(law[1 : n + 1] <= level + SLACK)[-1]) + 1 if law[1] <= level + SLACK else 1
    if r >= n or law[1] > level:
        return Place.at(float(min(r, n)), n)
    rise, rest = max(level - law[r], 0.0), law[r + 1] - level
    w = rise * (n - r) * u / (rise * (n - r) * u + rest * r * (1 - u))
    return Place(np.int32(r), np.float64(w))


def fractional_law(n: int, u: float) -> tuple[float, float]:
    """Return the parameters of the Beta law of the order statistic of n uniforms at the real rank (n + 1) u.

    At a whole rank it is the law of that order statistic; between, of what Stigler (1977) put there. The law at
    1 - u is its mirror, which that of the ceil(n u)-th order statistic is not where n u is whole.
    """
    return (n + 1) * u, (n + 1) * (1 - u)


def sample_rank(n: int, u: float) -> int:
    """Return ceil(n u), the rank of the sample quantile."""
    return min(max(math.ceil(n * u - SLACK), 1), n)


@record
class TailedEnd:
    """An end ``Q_T(v)``: between two sorted values inside, extrapolated beyond the extremes (eq. 11).

    ``side`` (...) is -1 below 1/(n + 1), where the end is ``X(1) + (X(2) - X(1)) slope``, 1 above
    n/(n + 1), where it is ``X(n) - (X(n) - X(n - 1)) slope``, 0 inside, where ``place`` holds.
    """

    side: Any
    slope: Any
    place: Place

    @classmethod
    def at(cls, n: int, u: float, p: Any, rest: Any) -> TailedEnd:
        """Return the ends at the quantiles p (...), 1 - ``rest``, of the law of the u-quantile's level.

        Levels v near 1 are read off 1 - v, so that the ends at 1 - u are the mirrored ones.
        """
        a, b = fractional_law(n, u)
        v, w = betaincinv(a, b, p), betaincinv(b, a, rest)
        xp = namespace(v)
        lower, upper = v < 1 / (n + 1), w < 1 / (n + 1)
        slope = xp.log((n + 1) * xp.maximum(xp.where(lower, v, xp.where(upper, w, 1 / (n + 1))), LEAST_LEVEL))
        return cls(xp.where(lower, -1, xp.where(upper, 1, 0)), slope, interpolated_quantile(v, n))


def joint_level(ranks: Sequence[tuple[int, int]], n: int, us: Sequence[float]) -> float:
    """Return the probability that every [X(k), X(l)] encloses its quantile, ``us`` increasing (Hayter 2014).

    The numbers of observations between the quantiles are multinomial: independent Poisson counts, given that their
    sum is n. So the numbers below the quantiles are reached by one convolution each, O(m n) where intervals are
    as wide as ``sqrt(n)``.
    """
    first, mass, reached = 0, np.ones(1), 0.0
    for (k, l), u in zip(ranks, us, strict=True):
        low, step = _poisson(n * (u - reached))
        first, mass = first + low, np.convolve(mass, step)
        mass = mass[max(k - first, 0) : max(l - first, 0)]
        if not mass.size:
            return 0.0
        first, reached = max(first, k), u
    rest = _poisson_at(n - first - np.arange(len(mass)), n * (1 - reached))
    return min(float(mass @ rest / _poisson_at(np.array([n]), float(n))[0]), 1.0)


def _poisson(mean: float) -> tuple[int, np.ndarray]:
    """Return a count and the Poisson probabilities of it and those that follow, all that are not negligible.

    Products of the ratios of neighbours, so that they have their digits at every mean.
    """
    decay = -math.log(NEGLIGIBLE)
    reach = decay / 3 + math.sqrt(decay**2 / 9 + 2 * decay * mean)  # Bernstein's inequality
    low, mode, high = max(0, math.floor(mean - reach)), math.floor(mean), math.ceil(mean + reach)
    below_mode = np.cumprod(np.arange(mode, low, -1) / mean)[::-1]
    weights = np.concatenate([below_mode, [1.0], np.cumprod(mean / np.arange(mode + 1, high + 1))])
    return low, weights / weights.sum()


def _poisson_at(counts: np.ndarray, mean: float) -> np.ndarray:
    """Return the Poisson probabilities of ``counts`` (m,), negligible ones as 0."""
    low, known = _poisson(mean)
    place = counts - low
    inside = (place >= 0) & (place < len(known))
    return np.where(inside, known[np.where(inside, place, 0)], 0.0)


def least_simultaneous_n(us: Sequence[float], level: float) -> int | None:
    """Return the smallest n at which the extremes enclose all quantiles, ``us`` increasing; None where none does.

    They do not if all observations lie above the first quantile or below the last. That probability falls with n and
    lies between its greater term and twice that, which brackets n.
    """
    first, last, missed = us[0], us[-1], 1 - level + SLACK
    greater = max(1 - first, last)
    if greater == 1:
        return None
    low, high = (max(2, math.ceil(math.log(share) / math.log(greater) - SLACK)) for share in (missed, missed / 2))

    def reached(n: int) -> bool:
        return (1 - first) ** n + last**n - (last - first) ** n <= missed

    return low + bisect.bisect_left(range(low, high), True, key=reached)


def simultaneous_ranks(n: int, us: Sequence[float], level: float) -> list[tuple[int, int]] | None:
    """Return ranks (k, l) for each of increasing ``us`` with joint level at least ``level``; None below the least n.

    All intervals get the same tails, as wide as needed; then ends are moved inwards, one rank at a
    time, wherever the joint level allows it, the longest interval first.
    """
    least = least_simultaneous_n(us, level)
    if least is None or n < least:
        return None
    laws = [below(n, u) for u in us]

    def equal_tails(tail: float) -> list[tuple[int, int]]:
        found = []
        for law in laws:
            low = np.flatnonzero(law[: n + 1] <= tail)[-1]
            high = np.flatnonzero(law >= 1 - tail)[0]
            found.append((max(1, int(low)), min(n, int(high))))
        return found

    narrow, wide = (1 - level) / 2, 0.0
    for _ in range(60):
        middle = (narrow + wide) / 2
        if joint_level(equal_tails(middle), n, us) >= level - SLACK:
            wide = middle
        else:
            narrow = middle
    ranks = equal_tails(wide)
    moved = True
    while moved:
        moved = False
        for j in sorted(range(len(us)), key=lambda j: ranks[j][0] - ranks[j][1]):
            k, l = ranks[j]
            for shorter in ((k + 1, l), (k, l - 1)):
                tried = [*ranks[:j], shorter, *ranks[j + 1 :]]
                if shorter[0] < shorter[1] and joint_level(tried, n, us) >= level - SLACK:
                    ranks, moved = tried, True
                    break
    return ranks
