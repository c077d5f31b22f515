"""Widths and powers as functions of the number of rows, and the smallest number that meets a demand.

Closed forms where there are any, sums over possible counts where there are not; on the host, in double precision.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from scipy import special

from jaxci.intervals.base import Tails
from jaxci.intervals.proportion import ProportionMethod
from jaxci.statistics.base import TableStatistic, has_fixed_trials

ROUNDING = 1e-12
"""Widths and powers that miss a demand by this share of it meet it."""
SPREAD = 9.0
"""Standard deviations of a count around its mean beyond which nothing is summed: 2e-19 of the law."""
NODES = 400
"""Numbers of trials, at most, over which the share of samples of a certain width is averaged."""
UNKNOWN = 1.0
"""What an interval without width counts as: the range of a share."""
STEPS = (0.7548776662466927, 0.5698402909980532)
"""Steps, modulo 1, of points that fill the unit square evenly: powers of the root of ``x^3 + x^2 = 1``."""


def smallest(meets: Callable[[int], bool], least: int, most: int, ahead: int = 0) -> int | None:
    """Return the smallest n from ``least`` on that meets a demand, found by doubling and halving.

    Parameters
    ----------
    meets : callable
        Of n; false below some n and true above, or nearly so.
    least, most : int
        Where to look.
    ahead : int
        The demand is also met by this many numbers after n: for counts, whose laws move in steps.

    Returns
    -------
    int or None
        None where ``most`` does not meet the demand.
    """
    low, high = least - 1, least
    while not meets(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    checked = high
    while ahead and checked < min(high + ahead, most):
        checked += 1
        if not meets(checked):
            high = checked = checked + 1
            while high < most and not meets(high):
                high = checked = high + 1
    return high


def t_width(deviation: float, n: float, degrees: float, tails: Tails) -> float:
    """Return the width of Student's two-sided interval for a mean where the sample deviation is ``deviation``.

    ``2 t s / sqrt(n)``, t of ``degrees`` of freedom; the root mean square of widths is that where s is the true one.
    """
    return float(
        (scipy.stats.t.isf(tails.lower, degrees) + scipy.stats.t.isf(tails.upper, degrees)) * deviation / math.sqrt(n)
    )


def t_width_assurance(expected: float, width: float, degrees: float) -> float:
    """Return the share of normal samples whose Student interval is at most ``width``, where ``expected`` is at s = sd.

    ``P(chi2 <= v (width / expected)^2)`` with v degrees of freedom (Kupper & Hafner 1989, The American Statistician 43,
    101-105).
    """
    if expected == 0:
        return 1.0
    ratio = min(width / expected, 1e100)  # whose square is a number
    return float(scipy.stats.chi2.cdf(degrees * ratio**2, degrees))


class Widths:
    """Widths of intervals for a proportion, or what increases with it: those of a pair of counts are computed once."""

    def __init__(self, statistic: TableStatistic, method: ProportionMethod, tails: Tails) -> None:
        self.statistic, self.method, self.tails = statistic, method, tails
        self.known = np.empty(0, np.int64), np.empty(0)

    def of(self, counts: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """Return the widths (m,) for ``counts`` (m,) among ``trials`` (m,)."""
        keys, place = np.unique(trials.astype(np.int64) * 2**31 + counts.astype(np.int64), return_inverse=True)
        known, widths = self.known
        at = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        fresh = known[at] != keys if len(known) else np.ones(len(keys), bool)
        if fresh.any():
            found = self._computed(*(x.astype(float) for x in (keys[fresh] % 2**31, keys[fresh] // 2**31)))
            known, widths = np.concatenate([known, keys[fresh]]), np.concatenate([widths, found])
            order = np.argsort(known)
            known, widths = self.known = known[order], widths[order]
        return widths[np.searchsorted(known, keys)][place]

    def _computed(self, counts: np.ndarray, trials: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            ends = self.method.from_counts(counts, trials, self.tails)
            low, high = (self.statistic.of_share(np.clip(end, 0.0, 1.0))[0] for end in ends)
        return np.asarray(high - low)


_widths_of = functools.lru_cache(maxsize=16)(Widths)


class ShareLaw(NamedTuple):
    """A proportion among the rows of a law: every row is a trial with one probability, a trial a success with another.

    Attributes
    ----------
    statistic : TableStatistic
        The proportion, or what increases with it.
    trial, success : float
        Probability that a row is a trial, and that a trial is a success.
    seen : int or None
        Rows of the pilot data that these are shares of; None where they are taken as known.
    """

    statistic: TableStatistic
    trial: float
    success: float
    seen: int | None = None

    @property
    def successes(self) -> scipy.stats.rv_frozen:
        """What a pilot leaves open of the probability of a success: its posterior from Jeffreys' prior."""
        assert self.seen is not None
        return _posterior(self.seen * self.trial, self.success)

    def _widths(self, method: ProportionMethod, counts: np.ndarray, trials: np.ndarray, tails: Tails) -> np.ndarray:
        found = _widths_of(self.statistic, method, tails).of(counts, trials)
        certain = self.success in (0.0, 1.0)
        return np.where((found == 0) & (not certain), UNKNOWN, found)

    def width(self, method: ProportionMethod, n: int, tails: Tails) -> float:
        """Return the width of the interval where n rows hold as many trials and successes as expected.

        Trials are rounded down, the width lies between those of the whole numbers of successes beside the expected
        one; infinite without a trial. An interval without width, as Wald's of no errors, tells nothing: it counts as
        the whole range, but where there can be none.
        """
        trials = math.floor(n * self.trial * (1 + ROUNDING))
        if trials == 0:
            return math.inf
        below = math.floor(trials * self.success * (1 + ROUNDING))
        beside = np.array([below, min(below + 1, trials)], float)
        widths = self._widths(method, beside, np.full(2, float(trials)), tails)
        return float(np.interp(trials * self.success, beside, widths))

    def assurance(self, method: ProportionMethod, n: int, tails: Tails, width: float) -> float:
        """Return the share of samples of n rows whose interval is at most ``width``.

        A sum over numbers of trials and of successes; of more than :data:`NODES` numbers of trials over as many of
        equal probability. Of a pilot the mean over the posterior of both probabilities: a beta-binomial sum
        where all rows are trials, else over as many points of it.
        """
        if self.seen is not None and has_fixed_trials(self.statistic):
            law = scipy.stats.betabinom(n, *self.successes.args)
            middle, beside = law.mean(), SPREAD * law.std() + 2
            counts = np.arange(max(0, math.floor(middle - beside)), min(n, math.ceil(middle + beside)) + 1.0)
            met = self._widths(method, counts, np.full(len(counts), float(n)), tails) <= width * (1 + ROUNDING)
            return min(float(law.pmf(counts) @ met), 1.0)
        if self.seen is None:
            success = np.full(1, self.success)
            trials, mass = _binomial(n, self.trial)
            if len(trials) > NODES:
                trials = scipy.stats.binom.ppf((np.arange(NODES) + 0.5) / NODES, n, self.trial)
                mass = np.full(NODES, 1 / NODES)
        else:
            success, trials, mass = *self._drawn(n, self.seen), np.full(NODES, 1 / NODES)
        success, trials, mass = np.broadcast_arrays(success[:, None], trials[:, None], mass[:, None])
        counted = trials[:, 0] > 0
        success, trials, mass = success[counted], trials[counted], mass[counted]
        if not trials.size:
            return 0.0
        reach = math.ceil(SPREAD * math.sqrt(np.max(trials * success * (1 - success)))) + 2
        counts = np.floor(trials * success) + np.arange(-reach, reach + 1)
        possible = (counts >= 0) & (counts <= trials)
        success, trials, mass = (np.broadcast_to(x, counts.shape)[possible] for x in (success, trials, mass))
        met = self._widths(method, counts[possible], trials, tails) <= width * (1 + ROUNDING)
        return min(float(np.sum(mass * scipy.stats.binom.pmf(counts[possible], trials, success) * met)), 1.0)

    def _drawn(self, n: int, seen: int) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities of a success, and numbers of trials among n rows, at points spread over their laws."""
        points = np.mod(np.arange(NODES)[:, None] * [1 / NODES, *STEPS] + 0.5 / NODES, 1.0)
        of_success, of_trial, of_number = points.T
        trial = _posterior(seen, self.trial).ppf(of_trial)
        return self.successes.ppf(of_success), scipy.stats.binom.ppf(of_number, n, trial)


def _posterior(seen: float, share: float) -> scipy.stats.rv_frozen:
    """Return the law of a probability of which ``seen`` rows have shown a share, from Jeffreys' prior."""
    return scipy.stats.beta(seen * share + 0.5, max(seen * (1 - share), 0.0) + 0.5)


def _binomial(n: int, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of a binomial law that matter, and their probabilities."""
    reach = SPREAD * math.sqrt(n * p * (1 - p)) + 2
    counts = np.arange(max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach)) + 1.0)
    return counts, scipy.stats.binom.pmf(counts, n, p)


def normal_power(difference: float, deviation: float, null_deviation: float, n: float, alpha: float) -> float:
    """Return the power of a two-sided normal test of a mean difference of n rows.

    ``Phi((|d| sqrt(n) - z s0) / s1) + Phi((-|d| sqrt(n) - z s0) / s1)``.

    Parameters
    ----------
    difference : float
        True difference d.
    deviation, null_deviation : float
        Standard deviation of a row's difference, s1, and that by which the test judges it, s0.
    n : float
        Rows.
    alpha : float
        Error probability of the test.
    """
    apart, z = abs(difference) * math.sqrt(n), -special.ndtri(alpha / 2)
    if deviation == 0:
        return float(apart > z * null_deviation)
    sides = [(sign * apart - z * null_deviation) / deviation for sign in (1, -1)]
    return float(sum(map(special.ndtr, sides)))


def normal_size(difference: float, deviation: float, null_deviation: float, power: float, alpha: float) -> float:
    """Return the rows, not rounded, at which the nearer side of :func:`normal_power` reaches ``power``.

    ``((z s0 + z_power s1) / d)^2``. With ``s0^2`` the share of rows on which two models differ and
    ``s1^2 = s0^2 - d^2`` it is that of McNemar's test (Connor 1987, Biometrics 43, 207-211, eq. 3).
    """
    return float(((-special.ndtri(alpha / 2) * null_deviation + special.ndtri(power) * deviation) / difference) ** 2)


def t_power(difference: float, deviation: float, n: float, degrees: float, alpha: float) -> float:
    """Return the power of the two-sided one-sample t-test of normal differences, from the noncentral t law."""
    critical, shift = scipy.stats.t.isf(alpha / 2, degrees), abs(difference) * math.sqrt(n) / deviation
    found = special.nctdtr(degrees, shift, critical)
    power = 1 - found + special.nctdtr(degrees, shift, -critical)
    return float(power) if math.isfinite(power) else normal_power(difference, deviation, deviation, n, alpha)


def normal_alpha(alpha: float, degrees: float) -> float:
    """Return the error probability whose normal quantile is Student's of ``alpha``: ``2 Phi(-t_{1 - alpha/2})``."""
    return float(2 * special.ndtr(-scipy.stats.t.isf(alpha / 2, degrees)))


def mcnemar_power(only_a: float, only_b: float, n: int, alpha: float, *, exact: bool = False) -> float:
    """Return the power of McNemar's two-sided test on n rows, summed over the numbers of rows that differ.

    Parameters
    ----------
    only_a, only_b : float
        Probabilities that only a, only b is right on a row.
    n : int
        Rows.
    alpha : float
        Error probability.
    exact : bool
        The binomial test; by default the score test without a correction, ``|b - c| > z sqrt(b + c)``, which is where
        Tango's interval excludes 0.

    Notes
    -----
    Of n rows a binomial number m differs, on a binomial number of which a is right (Miettinen 1968, Biometrics 24,
    339-352).
    """
    differing = only_a + only_b
    if differing == 0:
        return 0.0
    m, mass = _binomial(n, min(differing, 1.0))
    if exact:  # the largest count whose doubled tail is at most alpha
        below = scipy.stats.binom.ppf(alpha / 2, m, 0.5)
        below = np.where(scipy.stats.binom.cdf(below, m, 0.5) * 2 <= alpha * (1 + ROUNDING), below, below - 1)
    else:
        below = np.ceil((m - -special.ndtri(alpha / 2) * np.sqrt(m)) / 2) - 1
    share = only_a / differing
    rejected = scipy.stats.binom.cdf(below, m, share) + scipy.stats.binom.cdf(below, m, 1 - share)
    return float(mass @ np.where(below >= 0, rejected, 0.0))


def binormal_auc_variances(area_a: float, area_b: float, correlation: float) -> tuple[float, float, float]:
    """Return the variances of placement values under two binormal models of equal variances, and their covariance.

    The placement value of a positive is the share of negatives below it; that of a negative has the same variance.
    With m positives and n negatives the variance of an area is ``V / m + V / n`` to first order, which is what DeLong's
    method estimates.

    Parameters
    ----------
    area_a, area_b : float
        Areas under the two curves.
    correlation : float
        Of the scores of the two models within each class.

    Notes
    -----
    ``P(two negatives below a positive) = Phi2(z, z; 1/2)`` with ``z = Phi^-1(area)``; of two models
    ``Phi2(z_a, z_b; r / 2)``. Sources: DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845; the binormal
    model with one correlation of Obuchowski & McClish (1997), Statistics in Medicine 16, 1529-1542, whose variances
    are those of fitted curves and a little smaller.
    """

    def both(one: float, other: float, r: float) -> float:
        points = special.ndtri([one, other])
        return float(scipy.stats.multivariate_normal.cdf(points, cov=[[1, r], [r, 1]])) - one * other

    return both(area_a, area_a, 0.5), both(area_b, area_b, 0.5), both(area_a, area_b, correlation / 2)
