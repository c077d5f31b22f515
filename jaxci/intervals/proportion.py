"""Intervals for a proportion from counts.

:meth:`ProportionMethod.from_counts` broadcasts over arrays of counts, NumPy's or JAX's, and does no validation; an
open side is the end of the range. ``x`` of ``n`` trials succeed, ``p_hat = x/n``, and ``z`` is the standard normal
quantile of one minus the tail (each side has its own).
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.weighted_proportion import weighted_wilson
from jaxci.records import record
from jaxci.special import beta_slope, betainc, betaincc, betainccinv, betaincinv, expit, logit, loop, namespace
from jaxci.statistics.base import Statistic, TableStatistic, is_proportion

UNIT = (0.0, 1.0)


def as_float_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Return arrays in double precision, broadcast against each other."""
    xp = namespace(*arrays)
    return tuple(xp.broadcast_arrays(*(xp.asarray(a, float) for a in arrays)))


def joined(apart: Any) -> Any:
    """Return the root of the sum of squares of distances (..., K) with their common sign."""
    xp = namespace(apart)
    return xp.sign(xp.sum(apart, axis=-1)) * xp.sqrt(xp.sum(apart**2, axis=-1))


def _within(low: Any, high: Any, tails: Tails) -> Bounds:
    """Put an end of [0, 1] on an open side; scalars for scalar counts."""
    return open_sides(low[()], high[()], tails, UNIT)


def _score_interval(count: ArrayLike, nobs: ArrayLike, tails: Tails, correction: float) -> Bounds:
    """Return Wilson's interval, with a continuity ``correction`` of 0 or 1."""
    x, n = as_float_arrays(count, nobs)
    xp, (down, up) = namespace(x), normal_steps(tails)
    low, high = score_bound(x, n, -down, -correction), score_bound(x, n, up, correction)
    return _within(xp.where(x == 0, 0.0, low), xp.where(x == n, 1.0, high), tails)


def score_bound(x: Any, n: Any, z: Any, correction: float) -> Any:
    """Solve the score equation with ``p_hat`` moved by ``correction / 2n``; z is negative below."""
    xp = namespace(x)
    p, q = x / n, (n - x) / n
    inside = z * z + 4 * x * q + correction * (2 - 4 * p) - correction**2 / n
    root = (2 * x + z * z + correction + z * xp.sqrt(xp.maximum(inside, 0))) / (2 * (n + z * z))
    return xp.clip(root, 0, 1)


def _beta_quantiles(count: ArrayLike, nobs: ArrayLike, tails: Tails, shift: float) -> Bounds:
    """Return quantiles of Beta(x + shift, n - x + 1 - shift), 0 at x = 0, and of its mirror image."""
    x, n = as_float_arrays(count, nobs)
    xp = namespace(x)
    low, high = xp.zeros_like(x), xp.ones_like(x)
    if tails.has_lower:
        found = betaincinv(xp.where(x == 0, 1.0, x) + shift, n - x + 1 - shift, tails.lower)
        low = xp.where(x == 0, low, found)
    if tails.has_upper:
        found = betainccinv(x + 1 - shift, xp.where(x == n, 1.0, n - x) + shift, tails.upper)
        high = xp.where(x == n, high, found)
    return _within(low, high, tails)


def _averaged_root(x: Any, n: Any, tail: Any, share: Any, start: Any, sign: float) -> Any:
    """Solve the mean of both Clopper-Pearson equations for 0 < x < n, from the outer solution.

    Newton's iteration on the logarithm of the mean as a function of ``sign logit p``, which is concave.
    """
    xp = namespace(x, tail)

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        s, _, count = state
        p = expit(sign * s)
        mean = (share(x, n - x + 1, p) + share(x + 1, n - x, p)) / 2
        slope = (beta_slope(x, n - x + 1, p) + beta_slope(x + 1, n - x, p)) / 2
        change = (xp.log(tail) - xp.log(mean)) * mean / slope
        return s + change, xp.abs(change) * (1 - p), count + 1

    def going(state: tuple[Any, Any, Any]) -> Any:
        return (state[2] < 60) & xp.any(state[1] > 1e-10)

    inside = xp.clip(start, 1e-300, 1 - 2.0**-53)  # a start that is rounded to an end has no logit
    return expit(sign * loop(xp, going, step, (sign * logit(inside), xp.ones_like(x), 0))[0])


def proportion_refusal(name: str, statistic: Statistic) -> str | None:
    """Return the sentence with which a method for proportions refuses other statistics."""
    if is_proportion(statistic):
        return None
    return (
        f"{name!r} needs a proportion, successes among a number of trials fixed in advance, or what tells of one; "
        f"{type(statistic).__name__} with these settings is neither"
    )


class ProportionMethod(Method):
    """A method that reads the count of successes and the number of trials.

    In strata of fixed size the count varies less than that of independent trials of one share (Hoeffding 1956), so that
    the interval is none too narrow there.
    """

    needs = frozenset({"count", "nobs"})
    takes = frozenset({"strata"})

    @abc.abstractmethod
    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts.

        Parameters
        ----------
        count, nobs : array_like
            Successes and trials.
        tails : Tails
            Error probability of each side.

        Returns
        -------
        low, high : float or ndarray
            Bounds of the broadcast shape, in [0, 1] unless :attr:`leaves_range`.
        """

    def of_share(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return (low, high) of the proportion."""
        return self.from_counts(evidence.count, evidence.nobs, tails)

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a proportion of a fixed number of trials."""
        return proportion_refusal(self.name, statistic)

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.count`` and ``evidence.nobs``, of what the statistic is for such proportions."""
        found = self.of_share(evidence, tails)
        assert isinstance(evidence.statistic, TableStatistic)
        return Bounds(*(evidence.statistic.of_share(end)[0] for end in found))

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width."""
        if np.any(bounds.low == bounds.high):
            return (f"the {self.name!r} interval has no width at 0 or n successes; use method='mid_p'",)
        return ()


@record
class Wald(ProportionMethod):
    """Normal interval of a proportion, named after Wald.

    ``p_hat +- z sqrt(p_hat (1 - p_hat) / n)``, not clipped: bounds may leave [0, 1], and have no width at 0 and n.

    Notes
    -----
    Asymptotic, and poor at any n near 0 and 1: at n = 10, p = .05 the 95 % interval covers .4002.

    References
    ----------
    .. [1] Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion,
       Statistical Science 16(2), eq. (1).
    """

    name = "wald"
    leaves_range = True

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        x, n = as_float_arrays(count, nobs)
        p = x / n
        se = namespace(x).sqrt(p * (1 - p) / n)
        down, up = normal_steps(tails)
        return _within(p - down * se, p + up * se, tails)


@record
class Wilson(ProportionMethod):
    """Wilson's score interval of a proportion.

    The values p that the score test does not reject: ``(2x + z^2 -+ z sqrt(z^2 + 4x(1 - p_hat))) / (2(n + z^2))``. Low
    is 0 at x = 0 and high is 1 at x = n. Rows with weights: see :mod:`~jaxci.intervals.weighted_proportion`.

    Notes
    -----
    Asymptotic: at n = 10, p = .05 the 95 % interval covers .9139. Near 0 and 1 coverage dips at every n: at worst to
    .835 at n = 10 (p = .9822), to .838 at n = 100 (p = .99823) and at n = 1,000 (p = .999824).

    References
    ----------
    .. [1] Wilson (1927), JASA 22, 209-212.
    .. [2] Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics
       in Medicine 17, 857-872, method 3.
    """

    name = "wilson"
    takes = frozenset({"strata", "sample_weight"})

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        return _score_interval(count, nobs, tails, 0.0)

    def of_share(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return (low, high) from counts, or from weights."""
        if evidence.weighing is None:
            return super().of_share(evidence, tails)
        return weighted_wilson(evidence.count / evidence.nobs, evidence.weighing, tails)


@record
class WilsonCC(ProportionMethod):
    """Wilson's score interval of a proportion with continuity correction.

    The numerator of :class:`Wilson` becomes ``2x + z^2 -+ (1 + z sqrt(z^2 + 4x(1 - p_hat) -+ (2 - 4 p_hat) - 1/n))``.

    References
    ----------
    .. [1] Newcombe (1998), Statistics in Medicine 17, 857-872, method 4.
    """

    name = "wilson_cc"

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        return _score_interval(count, nobs, tails, 1.0)


@record
class AgrestiCoull(ProportionMethod):
    """Adjusted Wald interval of a proportion (Agresti and Coull 1998).

    Wald's after adding ``z^2`` trials, half of them successes: ``p~ +- z sqrt(p~ (1 - p~) / n~)`` with ``n~ = n + z^2``
    and ``p~ = (x + z^2/2) / n~``, not clipped. Bounds may leave [0, 1], and always contain Wilson's.

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Agresti & Coull (1998), Approximate is better than "exact" for interval estimation of
       binomial proportions, The American Statistician 52(2), 119-126.
    """

    name = "agresti_coull"
    leaves_range = True

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        x, n = as_float_arrays(count, nobs)
        xp, (down, up) = namespace(x), normal_steps(tails)
        sides = []
        for z in (-down, up):
            total = n + z * z
            p = (x + z * z / 2) / total
            sides.append(p + z * xp.sqrt(p * (1 - p) / total))
        return _within(sides[0], sides[1], tails)


@record
class ClopperPearson(ProportionMethod):
    """Clopper and Pearson's exact interval of a proportion, which covers at least the level.

    ``P(X >= x | low) = tail`` and ``P(X <= x | high) = tail``: quantiles of Beta(x, n - x + 1) and Beta(x + 1, n - x).

    Notes
    -----
    Finite-sample: each side misses with at most its tail, at every n and p; hence conservative.

    References
    ----------
    .. [1] Clopper & Pearson (1934), Biometrika 26, 404-413.
    """

    name = "clopper_pearson"

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        return _beta_quantiles(count, nobs, tails, 0.0)


@record
class Jeffreys(ProportionMethod):
    """Posterior interval of a proportion under Jeffreys' prior.

    Equal-tailed quantiles of Beta(x + 1/2, n - x + 1/2). Low is 0 at x = 0 and high is 1 at x = n, where coverage would
    otherwise drop to zero as p goes to the end.

    Notes
    -----
    Coverage is nominal on average over p, not at each p.

    References
    ----------
    .. [1] Brown, Cai & DasGupta (2001), Statistical Science 16(2), section 3.1.
    """

    name = "jeffreys"

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        return _beta_quantiles(count, nobs, tails, 0.5)


@record
class MidP(ProportionMethod):
    """Mid-p interval of a proportion.

    Clopper-Pearson with half the probability of the observed count: ``P(X > x | low) + P(X = x | low) / 2 = tail``, and
    the mirror image for the upper bound. Low is 0 at x = 0 and high is 1 at x = n.

    Notes
    -----
    Near nominal on average; not guaranteed at each p. Root finding, about 10 evaluations of the
    incomplete beta function per bound.

    References
    ----------
    .. [1] Lancaster (1961), Significance tests in discrete distributions, JASA 56, 223-234.
    .. [2] Newcombe (1998), Statistics in Medicine 17, 857-872, method 6.
    """

    name = "mid_p"

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts."""
        x, n = as_float_arrays(count, nobs)
        xp = namespace(x)
        inner = (x > 0) & (x < n)
        k = xp.where(inner, x, 1.0)
        m = xp.where(inner, n, 2.0)
        low, high = xp.zeros_like(x), xp.ones_like(x)
        if tails.has_lower:
            root = _averaged_root(k, m, tails.lower, betainc, betaincinv(k, m - k + 1, tails.lower), 1.0)
            low = xp.where(inner, root, xp.where(x == 0, 0.0, xp.minimum((2 * tails.lower) ** (1 / n), 1.0)))
        if tails.has_upper:
            root = _averaged_root(k, m, tails.upper, betaincc, betainccinv(k + 1, m - k, tails.upper), -1.0)
            high = xp.where(inner, root, xp.where(x == n, 1.0, xp.maximum(-xp.expm1(xp.log(2 * tails.upper) / n), 0.0)))
        return _within(low, high, tails)


PROPORTION_METHODS: tuple[type[ProportionMethod], ...] = (
    Wald,
    Wilson,
    WilsonCC,
    AgrestiCoull,
    ClopperPearson,
    Jeffreys,
    MidP,
)
