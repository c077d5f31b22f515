"""Intervals and a test for the difference of two proportions, from counts.

The functions broadcast over arrays of counts and do no validation; an open side is the end of the
range. :class:`Newcombe` is the method of the pair of them that is for two models on the same rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import is_share_difference
from jaxci.intervals.proportion import as_float_arrays, score_bound
from jaxci.intervals.pvalues import PValue
from jaxci.records import record
from jaxci.special import namespace
from jaxci.statistics.base import Statistic


def newcombe_difference(
    count_a: ArrayLike, nobs_a: ArrayLike, count_b: ArrayLike, nobs_b: ArrayLike, tails: Tails
) -> Bounds:
    """Interval for the difference ``p_a - p_b`` of two independent proportions.

    With Wilson's bounds ``(l, u)`` of each: ``d - sqrt((p_a - l_a)^2 + (u_b - p_b)^2)`` and
    ``d + sqrt((u_a - p_a)^2 + (p_b - l_b)^2)``.

    Parameters
    ----------
    count_a, nobs_a, count_b, nobs_b : array_like
        Successes and trials of each group.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [-1, 1].

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Newcombe (1998), Interval estimation for the difference between independent
       proportions, Statistics in Medicine 17, 873-890, method 10.
    """
    xa, na, xb, nb = as_float_arrays(count_a, nobs_a, count_b, nobs_b)
    return _square_and_add(xa, na, xb, nb, namespace(xa).zeros_like(xa), tails)


def paired_difference(
    both: ArrayLike, only_a: ArrayLike, only_b: ArrayLike, neither: ArrayLike, tails: Tails
) -> Bounds:
    """Interval for the difference ``p_a - p_b`` of two proportions on the same observations.

    The hybrid of :func:`newcombe_difference` with cross terms ``-2 phi (p_a - l_a)(u_b - p_b)``
    and ``-2 phi (u_a - p_a)(p_b - l_b)`` under the roots. ``phi`` is the correlation of the two
    indicators, ``c / sqrt(product of the four margins)`` with ``c = both neither - only_a
    only_b``, replaced by ``max(c - n/2, 0)`` where positive; 0 where a margin is empty.

    Parameters
    ----------
    both, only_a, only_b, neither : array_like
        Observations on which both, only a, only b, neither succeed (are classified correctly).
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float or ndarray
        Bounds in [-1, 1].

    Notes
    -----
    Asymptotic.

    References
    ----------
    .. [1] Newcombe (1998), Improved confidence intervals for the difference between binomial
       proportions based on paired data, Statistics in Medicine 17, 2635-2650, method 10.
    """
    a, b, c, d = as_float_arrays(both, only_a, only_b, neither)
    xp, n = namespace(a), a + b + c + d
    cross = a * d - b * c
    cross = xp.where(cross > 0, xp.maximum(cross - n / 2, 0), cross)
    scale = xp.sqrt(a + b) * xp.sqrt(c + d) * xp.sqrt(a + c) * xp.sqrt(b + d)
    phi = xp.where(scale > 0, cross / xp.where(scale > 0, scale, 1), 0.0)
    return _square_and_add(a + b, n, a + c, n, phi, tails)


def _square_and_add(xa: Any, na: Any, xb: Any, nb: Any, phi: Any, tails: Tails) -> Bounds:
    xp, (z_down, z_up) = namespace(xa), normal_steps(tails)

    def reach(x: Any, n: Any, y: Any, m: Any, z: Any) -> Any:
        """Length from the difference down to its lower bound (up, with the groups exchanged)."""
        down = x / n - score_bound(x, n, -z, 0.0)
        up = score_bound(y, m, z, 0.0) - y / m
        square = down**2 + up**2 - 2 * phi * down * up
        return xp.sign(z) * xp.sqrt(xp.maximum(square, 0))

    difference = xa / na - xb / nb
    low = difference - reach(xa, na, xb, nb, z_down)
    high = difference + reach(xb, nb, xa, na, z_up)
    return open_sides(xp.clip(low, -1, 1)[()], xp.clip(high, -1, 1)[()], tails, (-1.0, 1.0))


def mcnemar_pvalue(only_a: ArrayLike, only_b: ArrayLike, exact: bool = True) -> Any:
    """Two-sided p-value of equal proportions on the same observations.

    Exact: the discordant observations are Binomial(only_a + only_b, 1/2), and the smaller tail
    is doubled. Otherwise ``max(|only_a - only_b| - 1, 0)^2 / (only_a + only_b)`` is chi-square
    with one degree of freedom.

    Parameters
    ----------
    only_a, only_b : array_like
        Observations on which only a, only b succeeds.
    exact : bool
        Binomial (finite-sample, conservative) or continuity-corrected chi-square (asymptotic).

    Returns
    -------
    float or ndarray
        p-value; 1 where no observation is discordant.

    References
    ----------
    .. [1] McNemar (1947), Psychometrika 12, 153-157.
    .. [2] Edwards (1948), Psychometrika 13, 185-187 (the correction).
    """
    b, c = as_float_arrays(only_a, only_b)
    total, smaller = b + c, np.minimum(b, c)
    if exact:
        return np.minimum(1.0, 2 * special.bdtr(smaller, total.astype(int), 0.5))[()]
    excess = np.maximum(np.abs(b - c) - 1, 0)
    return special.chdtrc(1, excess**2 / np.maximum(total, 1))[()]


@record
class PairedOutcomes:
    """On how many rows both models, only a, only b, neither succeed: arrays (...) over data sets."""

    both: Any
    only_a: Any
    only_b: Any
    neither: Any

    @property
    def standard_error(self) -> Any:
        """Standard error of the difference of the shares."""
        n = self.both + self.only_a + self.only_b + self.neither
        discordant, apart = self.only_a + self.only_b, self.only_a - self.only_b
        return np.sqrt(np.maximum(discordant - apart**2 / n, 0.0)) / n


@record
class Newcombe(Method):
    """Hybrid score interval of two models' shares of all rows (:func:`paired_difference`), with McNemar's exact test.

    Asymptotic, independent rows; the test is exact.
    """

    name = "newcombe"
    needs = frozenset({"outcomes"})
    assumes_iid = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a difference of shares of all rows."""
        if is_share_difference(statistic):
            return None
        return f"{self.name!r} compares two models' shares of all rows, such as accuracies or error rates"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.outcomes``."""
        seen: PairedOutcomes = evidence.outcomes
        return paired_difference(seen.both, seen.only_a, seen.only_b, seen.neither, tails)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of McNemar's exact test; one-sided, the binomial tail."""
        only_a, only_b = (int(x[0]) for x in (evidence.outcomes.only_a, evidence.outcomes.only_b))
        if alternative == "two-sided":
            return PValue(float(mcnemar_pvalue(only_a, only_b)), "exact McNemar")
        more, total = only_a if alternative == "greater" else only_b, only_a + only_b
        return PValue(float(special.bdtrc(more - 1, total, 0.5)) if more > 0 else 1.0, "exact McNemar")
