"""Intervals for a proportion from counts.

The functions broadcast over arrays of counts and do no validation; a side whose tail is zero is
the end of the range. ``x`` of ``n`` trials succeed, ``p_hat = x/n``, and ``z`` is the standard
normal quantile of one minus the tail (each side has its own). The records below them are the same
formulas as methods.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.records import record
from jaxci.statistics.base import Statistic

Pair = tuple[Any, Any]


def is_proportion(statistic: Statistic) -> bool:
    """Whether the statistic is a count of successes over a fixed number of trials."""
    return bool(getattr(statistic, "is_proportion", False))


def as_float_arrays(*arrays: ArrayLike) -> tuple[np.ndarray, ...]:
    """Return arrays in double precision, broadcast against each other."""
    return tuple(np.broadcast_arrays(*(np.asarray(a, float) for a in arrays)))


def critical(tail: float) -> float:
    """Return the normal quantile of a side; 0 for an unbounded side, whose value is discarded."""
    return float(-special.ndtri(tail)) if tail > 0 else 0.0


def open_sides(low: np.ndarray, high: np.ndarray, tails: Tails, bottom: float = 0.0) -> Pair:
    """Put the ends of the range ``[bottom, 1]`` where a tail is zero."""
    low = low if tails.lower > 0 else np.full_like(low, bottom)
    high = high if tails.upper > 0 else np.ones_like(high)
    return low[()], high[()]


def wald(count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
    """Wald's interval ``p_hat +- z sqrt(p_hat (1 - p_hat) / n)``, not clipped.

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds of the broadcast shape. They may leave [0, 1], and have no width at 0 and n.

    Notes
    -----
    Asymptotic, and poor at any n near 0 and 1: at n = 10, p = .05 the 95 % interval covers .4002.

    References
    ----------
    .. [1] Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion,
       Statistical Science 16(2), eq. (1).
    """
    x, n = as_float_arrays(count, nobs)
    p = x / n
    se = np.sqrt(p * (1 - p) / n)
    return open_sides(p - critical(tails.lower) * se, p + critical(tails.upper) * se, tails)


def wilson(count: ArrayLike, nobs: ArrayLike, tails: Tails, *, continuity: bool = False) -> Pair:
    """Score interval: the values p that the score test does not reject.

    ``(2x + z^2 -+ z sqrt(z^2 + 4x(1 - p_hat))) / (2(n + z^2))``. With the continuity correction
    the numerator becomes ``2x + z^2 -+ (1 + z sqrt(z^2 + 4x(1 - p_hat) -+ (2 - 4 p_hat) - 1/n))``.
    Low is 0 at x = 0 and high is 1 at x = n.

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.
    continuity : bool
        Apply the continuity correction.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [0, 1].

    Notes
    -----
    Asymptotic, but good at every n: at n = 10, p = .05 the 95 % interval covers .9139.

    References
    ----------
    .. [1] Wilson (1927), JASA 22, 209-212.
    .. [2] Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics
       in Medicine 17, 857-872, methods 3 and 4.
    """
    x, n = as_float_arrays(count, nobs)
    low = score_bound(x, n, -critical(tails.lower), -1.0 if continuity else 0.0)
    high = score_bound(x, n, critical(tails.upper), 1.0 if continuity else 0.0)
    return open_sides(np.where(x == 0, 0.0, low), np.where(x == n, 1.0, high), tails)


def score_bound(x: np.ndarray, n: np.ndarray, z: float, correction: float) -> np.ndarray:
    """Solve the score equation with ``p_hat`` moved by ``correction / 2n``; z is negative below."""
    p, q = x / n, (n - x) / n
    inside = z * z + 4 * x * q + correction * (2 - 4 * p) - correction**2 / n
    root = (2 * x + z * z + correction + z * np.sqrt(np.maximum(inside, 0))) / (2 * (n + z * z))
    return np.clip(root, 0, 1)


def agresti_coull(count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
    """Wald interval after adding ``z^2`` trials, half of them successes; not clipped.

    ``n~ = n + z^2``, ``p~ = (x + z^2/2) / n~``, ``p~ +- z sqrt(p~ (1 - p~) / n~)``.

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds, which may leave [0, 1]. They always contain Wilson's.

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Agresti & Coull (1998), Approximate is better than "exact" for interval estimation of
       binomial proportions, The American Statistician 52(2), 119-126.
    """
    x, n = as_float_arrays(count, nobs)
    sides = []
    for sign, z in ((-1, critical(tails.lower)), (1, critical(tails.upper))):
        total = n + z * z
        p = (x + z * z / 2) / total
        sides.append(p + sign * z * np.sqrt(p * (1 - p) / total))
    return open_sides(sides[0], sides[1], tails)


def clopper_pearson(count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
    """Exact interval: ``P(X >= x | low) = tail`` and ``P(X <= x | high) = tail``.

    The bounds are the quantiles of Beta(x, n - x + 1) and Beta(x + 1, n - x).

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [0, 1].

    Notes
    -----
    Finite-sample: each side misses with at most its tail, at every n and p; hence conservative.

    References
    ----------
    .. [1] Clopper & Pearson (1934), Biometrika 26, 404-413.
    """
    x, n = as_float_arrays(count, nobs)
    low = np.where(x == 0, 0.0, special.betaincinv(np.where(x == 0, 1, x), n - x + 1, tails.lower))
    high = np.where(x == n, 1.0, special.betainccinv(x + 1, np.where(x == n, 1, n - x), tails.upper))
    return open_sides(low, high, tails)


def jeffreys(count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
    """Equal-tailed posterior interval under Jeffreys' prior, Beta(x + 1/2, n - x + 1/2).

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [0, 1]; low is 0 at x = 0 and high is 1 at x = n, where coverage would
        otherwise drop to zero as p goes to the end.

    Notes
    -----
    Coverage is nominal on average over p, not at each p.

    References
    ----------
    .. [1] Brown, Cai & DasGupta (2001), Statistical Science 16(2), section 3.1.
    """
    x, n = as_float_arrays(count, nobs)
    low = np.where(x == 0, 0.0, special.betaincinv(x + 0.5, n - x + 0.5, tails.lower))
    high = np.where(x == n, 1.0, special.betainccinv(x + 0.5, n - x + 0.5, tails.upper))
    return open_sides(low, high, tails)


def mid_p(count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
    """Clopper-Pearson with half the probability of the observed count.

    ``P(X > x | low) + P(X = x | low) / 2 = tail``, and the mirror image for the upper bound.

    Parameters
    ----------
    count, nobs : array_like
        Successes and trials.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [0, 1]; low is 0 at x = 0 and high is 1 at x = n.

    Notes
    -----
    Near nominal on average; not guaranteed at each p. Root finding, about 10 evaluations of the
    incomplete beta function per bound.

    References
    ----------
    .. [1] Lancaster (1961), Significance tests in discrete distributions, JASA 56, 223-234.
    .. [2] Newcombe (1998), Statistics in Medicine 17, 857-872, method 6.
    """
    x, n = as_float_arrays(count, nobs)
    low, high = np.zeros(x.shape), np.ones(x.shape)
    inner = (x > 0) & (x < n)
    with np.errstate(invalid="ignore", divide="ignore"):
        if tails.lower > 0:
            low = np.where(x == n, np.minimum((2 * tails.lower) ** (1 / n), 1.0), low)
            low[inner] = _mid_p_root(x[inner], n[inner], tails.lower, special.betainc, special.betaincinv)
        if tails.upper > 0:
            high = np.where(x == 0, np.maximum(-np.expm1(np.log(2 * tails.upper) / n), 0.0), high)
            high[inner] = _mid_p_root(x[inner], n[inner], tails.upper, special.betaincc, special.betainccinv)
    return open_sides(low, high, tails)


def _mid_p_root(x: np.ndarray, n: np.ndarray, tail: float, cdf: Any, quantile: Any) -> np.ndarray:
    """Solve for 0 < x < n between the two Clopper-Pearson equations that mid-p averages."""
    if x.size == 0:
        return x

    def excess(p: np.ndarray, x: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (cdf(x, n - x + 1, p) + cdf(x + 1, n - x, p)) / 2 - tail

    from scipy.optimize import elementwise  # heavy, and needed here only

    below, above = quantile(x, n - x + 1, tail), quantile(x + 1, n - x, tail)
    root = elementwise.find_root(excess, (below, above), args=(x, n))
    # where rounding leaves no sign change the two quantiles are one floating-point number, nearly
    return np.where(root.success, root.x, (below + above) / 2)


class ProportionMethod(Method):
    """A method that reads the count of successes and the number of trials."""

    needs: ClassVar[frozenset[str]] = frozenset({"count", "nobs"})
    assumes_iid: ClassVar[bool] = True

    @abc.abstractmethod
    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a proportion of a fixed number of trials."""
        if is_proportion(statistic):
            return None
        return (
            f"{self.name!r} needs a proportion, successes among a number of trials fixed in advance; "
            f"{type(statistic).__name__} is not one"
        )

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Bounds from ``evidence.count`` and ``evidence.nobs``."""
        assert evidence.count is not None
        assert evidence.nobs is not None
        low, high = self.interval(evidence.count, evidence.nobs, tails)
        remarks: tuple[str, ...] = ()
        if np.any(low == high):
            remarks = (f"the {self.name!r} interval has no width at 0 or n successes; use method='wilson'",)
        return Bounds(low, high, remarks)


@record
class Wald(ProportionMethod):
    """Normal interval; see :func:`wald`."""

    name: ClassVar[str] = "wald"
    leaves_range: ClassVar[bool] = True

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return wald(count, nobs, tails)


@record
class Wilson(ProportionMethod):
    """Score interval; see :func:`wilson`."""

    name: ClassVar[str] = "wilson"

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return wilson(count, nobs, tails)


@record
class WilsonCC(ProportionMethod):
    """Score interval with continuity correction; see :func:`wilson`."""

    name: ClassVar[str] = "wilson_cc"

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return wilson(count, nobs, tails, continuity=True)


@record
class AgrestiCoull(ProportionMethod):
    """Adjusted Wald interval; see :func:`agresti_coull`."""

    name: ClassVar[str] = "agresti_coull"
    leaves_range: ClassVar[bool] = True

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return agresti_coull(count, nobs, tails)


@record
class ClopperPearson(ProportionMethod):
    """Exact interval; see :func:`clopper_pearson`."""

    name: ClassVar[str] = "clopper_pearson"

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return clopper_pearson(count, nobs, tails)


@record
class Jeffreys(ProportionMethod):
    """Posterior interval under Jeffreys' prior; see :func:`jeffreys`."""

    name: ClassVar[str] = "jeffreys"

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return jeffreys(count, nobs, tails)


@record
class MidP(ProportionMethod):
    """Mid-p interval; see :func:`mid_p`."""

    name: ClassVar[str] = "mid_p"

    def interval(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Pair:
        """Return (low, high) from counts."""
        return mid_p(count, nobs, tails)


PROPORTION_METHODS: tuple[type[ProportionMethod], ...] = (
    Wald,
    Wilson,
    WilsonCC,
    AgrestiCoull,
    ClopperPearson,
    Jeffreys,
    MidP,
)
