"""Intervals for the difference of two proportions, from counts.

They broadcast over arrays of counts and do no validation; an open side is the end of the range.
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import averages_share_differences, is_share_difference
from jaxci.intervals.proportion import as_float_arrays, joined, score_bound
from jaxci.intervals.pvalues import PValue, one_or_two_sided, smallest_tail
from jaxci.records import record
from jaxci.special import loop, namespace
from jaxci.statistics.base import Statistic

PARTS, ROUNDS = 16, 15
"""Parts into which the range of a bound is cut, and how often: from -1 to 1 down to the last digits."""
LEAST_DISCORDANT = 6
"""Of fewer discordant rows an exact test at 5% rejects nothing."""
AT_ONCE = 128
"""Bounds of a share, or so, that are searched at once for a p-value."""


def score_statistic(only_a: Any, only_b: Any, n: Any, difference: Any) -> Any:
    """Return Tango's score statistic of a true ``difference`` of two proportions on the same n observations.

    ``(b - c - n d) / sqrt(n (2 q + d (1 - d)))``, with q the most likely share of observations on which only b succeeds
    where the difference is d. At d = 0 its square is McNemar's. 0 where nothing is discordant and d is 0.
    """
    xp = namespace(only_a, difference)
    linear = -only_a - only_b + (2 * n - only_a + only_b) * difference
    root = xp.sqrt(xp.maximum(linear**2 + 8 * n * only_b * difference * (1 - difference), 0.0))
    share = xp.maximum((root - linear) / (4 * n), xp.maximum(-difference, 0.0))
    variance = n * xp.maximum(2 * share + difference * (1 - difference), 0.0)
    apart = only_a - only_b - n * difference
    return xp.where(apart == 0, 0.0, apart / xp.sqrt(xp.where(variance > 0, variance, 1e-300)))


def paired_score_interval(
    both: ArrayLike, only_a: ArrayLike, only_b: ArrayLike, neither: ArrayLike, tails: Tails
) -> Bounds:
    """Interval of the differences ``p_a - p_b`` that the score test of paired proportions does not reject.

    Parameters
    ----------
    both, only_a, only_b, neither : array_like
        Observations on which both, only a, only b, neither succeed (are classified correctly).
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [-1, 1], to 1e-13 for up to 10^5 observations, to 1e-8 for 10^8.

    Notes
    -----
    Asymptotic; by search. It excludes 0 where McNemar's test without a correction rejects, whose two-sided error at 5%
    stays below .055 for n from 20 on where at most 80% of the observations are discordant (enumerated; up to .078 where
    all are, and .125 of 4).

    References
    ----------
    .. [1] Tango (1998), Equivalence test and confidence interval for the difference in proportions for the
       paired-sample design, Statistics in Medicine 17, 891-908.
    """
    a, b, c, d = as_float_arrays(both, only_a, only_b, neither)
    xp, n = namespace(a), a + b + c + d

    def highest(first: Any, second: Any, z: Any) -> Any:
        """Return the largest difference whose statistic is not below -z: it decreases with the difference."""
        of_first, of_second, of_all, least = (x[..., None] for x in (first, second, n, -xp.asarray(z)))

        def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
            low, count = state
            width = 2.0 / PARTS ** (count + 1)
            points = low[..., None] + width * np.arange(1, PARTS)
            kept = score_statistic(of_first, of_second, of_all, points) >= least
            return low + width * xp.sum(kept, axis=-1), count + 1

        low, _ = loop(xp, lambda state: state[1] < ROUNDS, step, (-xp.ones_like(n + z), 0))
        return xp.minimum(low + 2.0 / PARTS**ROUNDS, 1.0)

    (down, up), ends = normal_steps(tails), (-xp.ones_like(n), xp.ones_like(n))
    low = -highest(c, b, down) if tails.has_lower else ends[0]
    high = highest(b, c, up) if tails.has_upper else ends[1]
    return open_sides(low[()], high[()], tails, (-1.0, 1.0))


@record
class PairedOutcomes:
    """On how many rows of K shares both models, only a, only b, neither succeeds: arrays (..., K) over data sets.

    ``weights`` are those of the shares in the mean that is compared, 1 where it is one share.
    """

    both: Any
    only_a: Any
    only_b: Any
    neither: Any
    weights: Any

    @property
    def trials(self) -> Any:
        """Rows of each share (..., K)."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def standard_error(self) -> Any:
        """Standard error (...) of the difference of the means; NaN without any row."""
        xp = namespace(self.both)
        n = xp.maximum(self.trials, 1.0)
        discordant, apart = self.only_a + self.only_b, self.only_a - self.only_b
        squares = xp.maximum(discordant - apart**2 / n, 0.0) / n**2
        error = xp.sqrt(xp.sum(self.weights**2 * squares, axis=-1))
        return xp.where(xp.any(self.trials > 0, axis=-1), error, xp.nan)

    @property
    def of_one(self) -> tuple[Any, Any, Any, Any]:
        """Both, only a, only b, neither (...) of the first share."""
        return self.both[..., 0], self.only_a[..., 0], self.only_b[..., 0], self.neither[..., 0]


class ShareDifference(Method):
    """A method that reads on how many rows both models, one alone, or neither succeeds.

    In strata of fixed size these counts vary less than those of independent rows, so that it is none too narrow there.
    """

    needs = frozenset({"outcomes"})
    takes = frozenset({"strata"})

    @abc.abstractmethod
    def from_outcomes(self, seen: PairedOutcomes, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a difference of shares of the same rows."""
        if is_share_difference(statistic):
            return None
        return f"{self.name!r} compares two models' shares of the same rows, such as accuracies or recalls of one class"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.outcomes``."""
        return self.from_outcomes(evidence.outcomes, tails)


@record
class Newcombe(ShareDifference):
    """Hybrid score interval of two models' shares of rows, beside McNemar's exact test.

    With Wilson's bounds ``(l, u)`` of each and d = ``p_a - p_b``:
    ``d - sqrt((p_a - l_a)^2 - 2 phi (p_a - l_a)(u_b - p_b) + (u_b - p_b)^2)`` and
    ``d + sqrt((u_a - p_a)^2 - 2 phi (u_a - p_a)(p_b - l_b) + (p_b - l_b)^2)``. ``phi`` is the
    correlation of the two indicators, ``c / sqrt(product of the four margins)`` with
    ``c = both neither - only_a only_b``, replaced by ``max(c - n/2, 0)`` where positive; 0 where a
    margin is empty. Discordant rows of the test are Binomial(only_a + only_b, 1/2), and the smaller tail is doubled.

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Newcombe (1998), Improved confidence intervals for the difference between binomial
       proportions based on paired data, Statistics in Medicine 17, 2635-2650, method 10.
    .. [2] McNemar (1947), Psychometrika 12, 153-157.
    """

    name = "newcombe"

    def from_outcomes(self, seen: PairedOutcomes, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        a, b, c, d = as_float_arrays(*seen.of_one)
        xp, n = namespace(a), a + b + c + d
        cross = a * d - b * c
        cross = xp.where(cross > 0, xp.maximum(cross - n / 2, 0), cross)
        scale = xp.sqrt(a + b) * xp.sqrt(c + d) * xp.sqrt(a + c) * xp.sqrt(b + d)
        phi = xp.where(scale > 0, cross / xp.where(scale > 0, scale, 1), 0.0)
        z_down, z_up = normal_steps(tails)

        def reach(x: Any, y: Any, z: Any) -> Any:
            """Length from the difference down to its lower bound (up, with the two exchanged)."""
            down = x / n - score_bound(x, n, -z, 0.0)
            up = score_bound(y, n, z, 0.0) - y / n
            square = down**2 + up**2 - 2 * phi * down * up
            return xp.sign(z) * xp.sqrt(xp.maximum(square, 0))

        difference = (a + b) / n - (a + c) / n
        low = difference - reach(a + b, a + c, z_down)
        high = difference + reach(a + c, a + b, z_up)
        return open_sides(xp.clip(low, -1, 1)[()], xp.clip(high, -1, 1)[()], tails, (-1.0, 1.0))

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of McNemar's exact test, 1 where no row is discordant; one-sided, the binomial tail."""
        only_a, only_b = (int(x[0]) for x in evidence.outcomes.of_one[1:3])
        total = only_a + only_b
        if alternative == "two-sided":
            return PValue(min(1.0, 2 * float(special.bdtr(min(only_a, only_b), total, 0.5))), "exact McNemar")
        more = only_a if alternative == "greater" else only_b
        return PValue(float(special.bdtrc(more - 1, total, 0.5)) if more > 0 else 1.0, "exact McNemar")


@record
class Tango(ShareDifference):
    """Score interval of two models' shares of the same rows, with its test; see :func:`paired_score_interval`."""

    name = "tango"

    def from_outcomes(self, seen: PairedOutcomes, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        return paired_score_interval(*seen.of_one, tails)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that so few rows tell the models apart that no exact test of them could."""
        only_a, only_b = (round(float(x[0])) for x in evidence.outcomes.of_one[1:3])
        total = only_a + only_b
        if total >= LEAST_DISCORDANT or not (bounds.low[0] > 0 or bounds.high[0] < 0):
            return ()
        exact = 2 * float(special.bdtr(min(only_a, only_b), total, 0.5))
        test = "the exact two-sided sign test of equal models has"
        return (f"only {total} rows tell the models apart, and {test} p = {exact:.3g}",)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of the score test, which is McNemar's without a correction."""
        only_a, only_b = (float(x[0]) for x in evidence.outcomes.of_one[1:3])
        z = (only_a - only_b) / np.sqrt(max(only_a + only_b, 1.0))
        below, above = float(special.ndtr(-z)), float(special.ndtr(z))
        return PValue(one_or_two_sided(below, above, alternative), "score test of paired proportions")


@record
class SquareAndAddDifference(ShareDifference):
    """Interval of two models' means of shares of the same rows.

    With the weights w, differences d and Tango's bounds (l, u) of each: ``sum w d - sqrt(sum (w (d - l))^2)`` and
    ``sum w d + sqrt(sum (w (u - d))^2)``. A share of no rows tells nothing, and cannot differ.

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Zou & Donner (2008), Construction of confidence limits about effect measures: a general approach,
       Statistics in Medicine 27, 1693-1702, eq. (5).
    .. [2] Tango (1998), Statistics in Medicine 17, 891-908.
    """

    name = "square_and_add"

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a mean of shares of rows that do not depend on the predictions."""
        if averages_share_differences(statistic):
            return None
        return f"{self.name!r} compares two models' means of shares of the same rows, such as balanced accuracies"

    def from_outcomes(self, seen: PairedOutcomes, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        xp, tried = namespace(seen.both), seen.trials > 0
        difference = (seen.only_a - seen.only_b) / xp.maximum(seen.trials, 1.0)
        low, high = paired_score_interval(seen.both, seen.only_a, seen.only_b, seen.neither + ~tried, tails)
        mean, weights = xp.sum(seen.weights * difference, axis=-1), xp.where(tried, seen.weights, 0.0)
        low, high = mean - joined(weights * (difference - low)), mean + joined(weights * (high - difference))
        return open_sides(low, high, tails, (-1.0, 1.0))

    def tails_at_zero(self, evidence: Evidence, least: float) -> tuple[float, float]:
        """Ask for many bounds at once; see :meth:`Method.tails_at_zero`.

        The upper bound with a tail is the lower one with the rest, so that the side of the estimate tells both.
        """
        seen, above = evidence.outcomes, float(np.squeeze(evidence.estimate)) > 0

        def excludes(tails: np.ndarray) -> Any:
            some = tails[:, None]
            if above:
                return self.from_outcomes(seen, Tails(some, 0.0, has_upper=False)).low > 0
            return self.from_outcomes(seen, Tails(0.0, some, has_lower=False)).high < 0

        tail = smallest_tail(excludes, least, max(1, AT_ONCE // seen.both.shape[-1]))
        return (tail, 1 - tail) if above else (1 - tail, tail)
