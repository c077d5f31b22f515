"""Bootstrap intervals for a share from as many resamples as are drawn: the law of each end is known.

Given the count k of n rows, replicates are B independent draws of ``Binomial(n, k / n)``, and an end of the percentile
interval is their linear quantile at a position s from 0 to B - 1. With N(t) draws not above the whole number t, it is
at most ``t + f``, f in [0, 1), if and only if ``N(t) >= s + 1 - f``: between draws of t and t + 1 it is interpolated.
(That a number near a quantile is not drawn at all has a chance far below those told here.) The ends of ``basic`` are
those of ``percentile``, reflected. For ``bca`` the position depends on how many draws lie below k, and are k: chances
are sums over both on a lattice, with the masses of their law. The position takes all fractions alike then, and whole
numbers of draws are smoothed.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from jaxci.intervals.base import Method, tails
from jaxci.intervals.bootstrap import Basic, BCa, Percentile, adjusted_probability
from jaxci.special import log_binomial

LATTICE = np.arange(-6.0, 6.5, 0.75)
COARSE = np.arange(-6.0, 6.5, 1.5)
CORNERS = np.array([-7.0, 0.0, 7.0])
"""Numbers of draws at which chances are summed, and means, and at which chances are looked at first, in standard
deviations."""
CERTAIN = 9.0
"""Standard deviations beyond which a number of draws does not lie."""
NEAR = 1e-9
"""Distance, as a share of n, from a whole number that is that number."""


def is_known(method: Method, n_resamples: int) -> bool:
    """Whether ``method`` reads resamples, enough of them that the law of its ends for a share is known (to 0.0005)."""
    if isinstance(method, BCa):
        return n_resamples >= 499
    return isinstance(method, Percentile | Basic) and n_resamples >= 99


@dataclasses.dataclass(frozen=True)
class End:
    """One end of percentile intervals, or of those of BCa, in units of rows: its law given the count of a sample.

    Attributes
    ----------
    adjusted : bool
        Whether it is of BCa.
    p : float
        Probability of the quantile before it is adjusted.
    n, n_resamples : int
    """

    adjusted: bool
    p: float
    n: int
    n_resamples: int

    def at_most(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the chance (K,) that the end at each of ``counts`` is at most ``value`` (K,)."""
        whole = np.floor(value + NEAR * self.n)
        return self._reached(counts, whole, np.maximum(value - whole, 0.0), 0.5)

    def below(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the chance (K,) that the end at each of ``counts`` is below ``value`` (K,)."""
        whole = np.ceil(value - NEAR * self.n) - 1
        return self._reached(counts, whole, np.minimum(value - whole, 1.0) - 2 * NEAR * self.n, 0.5)

    def means(self, counts: np.ndarray) -> np.ndarray:
        """Return the mean (K,) of the end at each of ``counts``: a sum of chances to be above whole numbers."""
        reach = np.ceil(10 * np.sqrt(counts * (self.n - counts) / self.n) + 10)
        first, last = np.maximum(counts - reach, 0), np.minimum(counts + reach, self.n)
        sizes = (last - first).astype(int)
        row = np.repeat(np.arange(len(counts)), sizes)
        whole = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[row]
        if self.adjusted:  # the mean over fractions of the position
            parts = [(1.0, self._reached(counts[row], whole, np.zeros(len(row)), 0.0, COARSE))]
        else:
            upper = self.p * (self.n_resamples - 1) % 1
            parts = [
                (share, self._reached(counts[row], whole, np.full(len(row), fraction), 0.0, COARSE))
                for share, fraction in ((upper, 0.0), (1 - upper, 1.0))
            ]
        above = sum(share * (1 - chance) for share, chance in parts)
        return first + np.bincount(row, above, minlength=len(counts))

    def _reached(
        self, counts: np.ndarray, whole: np.ndarray, fraction: np.ndarray, more: float, lattice: np.ndarray = LATTICE
    ) -> np.ndarray:
        """Return the chance that so many draws are at most ``whole`` that the end is at most ``whole + fraction``."""
        found = np.where(whole < 0, 0.0, 1.0)
        steps = CORNERS if self.adjusted else np.zeros(1)
        open_ones = np.flatnonzero((whole >= 0) & (whole < self.n))
        if not open_ones.size:
            return found
        points = self._points(counts[open_ones], whole[open_ones], fraction[open_ones], steps)
        apart = points.trials * points.chance - points.wanted
        reach = CERTAIN * np.sqrt(points.trials * points.chance * (1 - points.chance)) + 2
        never, always = np.all(apart < -reach, axis=1), np.all(apart > reach, axis=1)
        found[open_ones] = np.where(always, 1.0, 0.0)
        rest = open_ones[~(never | always)]
        for part in np.array_split(rest, -(-len(rest) // 4096)) if rest.size else []:
            points = self._points(counts[part], whole[part], fraction[part], lattice if self.adjusted else steps)
            wanted = points.wanted + more if self.adjusted else np.ceil(points.wanted - NEAR)
            found[part] = np.sum(points.weights * _at_least(wanted, points.trials, points.chance), axis=1)
        return found

    def _points(self, counts: np.ndarray, whole: np.ndarray, fraction: np.ndarray, steps: np.ndarray) -> Points:
        """Return what is summed over, at lattice points ``steps`` of the draws below the count and tied with it."""
        n, size, last = self.n, self.n_resamples, self.n_resamples - 1
        share = counts / n
        at = stats.binom.cdf(whole, n, share)[:, None]
        if not self.adjusted:
            wanted = (self.p * last + 1 - fraction)[:, None]
            return Points(wanted, np.full_like(wanted, size), at, np.ones_like(wanted))
        lower, through = (stats.binom.cdf(counts - one, n, share)[:, None, None] for one in (1, 0))
        below = np.clip(size * lower + np.sqrt(size * lower * (1 - lower)) * steps[:, None], 0, size)
        others, tied = size - below, (through - lower) / (1 - lower)
        spread = np.sqrt(others * tied * (1 - tied))
        ties = np.clip(others * tied + spread * steps, 0, others)
        mass = np.exp(log_binomial(below, size, lower) + log_binomial(ties, others, tied)) * spread
        below, ties, mass = (np.broadcast_to(x, ties.shape).reshape(len(counts), -1) for x in (below, ties, mass))
        acceleration = (1 - 2 * share) / (6 * np.sqrt(n * share * (1 - share)))
        bias = special.ndtri((below + ties / 2) / size)
        wanted = adjusted_probability(self.p, bias, acceleration[:, None]) * last + 1 - fraction[:, None]
        lower, through, upto = lower[:, 0], through[:, 0], below + ties
        under = (whole < counts)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.clip(np.where(under, at / lower, (at - through) / (1 - through)), 0.0, 1.0)
        return Points(
            np.where(under, wanted, wanted - upto),
            np.where(under, below, size - upto),
            chance,
            mass / mass.sum(axis=1, keepdims=True),
        )


class Points(NamedTuple):
    """Chances (K, P) of ``wanted`` of ``trials`` draws, each of ``chance``, with ``weights`` that sum to one."""

    wanted: np.ndarray
    trials: np.ndarray
    chance: np.ndarray
    weights: np.ndarray


def _at_least(wanted: np.ndarray, trials: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return the chance of ``wanted`` or more of ``trials``: 0 and 1 beyond what there can be."""
    possible = (wanted > 0) & (wanted <= trials)
    inside = special.betainc(np.where(possible, wanted, 1.0), np.where(possible, trials - wanted + 1, 1.0), chance)
    return np.where(possible, inside, np.where(wanted > 0, 0.0, 1.0))


def _ends(method: Method, n: int, n_resamples: int, level: float) -> tuple[End, End]:
    """Return the ends of the percentile interval, or of BCa, that a method reads."""
    sides = tails(level)
    adjusted = isinstance(method, BCa)
    return End(adjusted, sides.lower, n, n_resamples), End(adjusted, 1 - sides.upper, n, n_resamples)


def misses(
    method: Method, counts: np.ndarray, p: np.ndarray, n: int, n_resamples: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances (K,) that the interval at each of ``counts`` lies wholly below, and wholly above, each ``p``.

    Parameters
    ----------
    method : Percentile, Basic or BCa
    counts : (K,) array
        Of n rows.
    p : (K,) array
        True shares.
    n, n_resamples : int
    level : float
        Of a two-sided interval.
    """
    found = np.stack([counts < (p - NEAR) * n, counts > (p + NEAR) * n]).astype(float)
    varies = (counts > 0) & (counts < n)
    some, value = counts[varies].astype(float), p[varies] * n
    low, high = _ends(method, n, n_resamples, level)
    if isinstance(method, Basic):
        reflected = 2 * some - value
        found[:, varies] = 1 - low.at_most(some, reflected), high.below(some, reflected)
    else:
        found[:, varies] = high.below(some, value), 1 - low.at_most(some, value)
    return found[0], found[1]


def mean_ends(
    method: Method, counts: np.ndarray, n: int, n_resamples: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (K,) of both ends of the interval at each of ``counts``, as shares, before they are clipped."""
    found = np.stack([counts, counts]).astype(float)
    varies = (counts > 0) & (counts < n)
    some = counts[varies].astype(float)
    low, high = (end.means(some) for end in _ends(method, n, n_resamples, level))
    found[:, varies] = (2 * some - high, 2 * some - low) if isinstance(method, Basic) else (low, high)
    return found[0] / n, found[1] / n
