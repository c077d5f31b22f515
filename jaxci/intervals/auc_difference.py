"""Interval and test for the difference of two areas under ROC curves on the same rows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.auc import placements
from jaxci.intervals.base import Bounds, Evidence, Method, Tails, open_sides
from jaxci.intervals.capabilities import is_auc_difference
from jaxci.intervals.delta import delta_interval, student_steps
from jaxci.intervals.kurtosis import spread
from jaxci.intervals.pvalues import PValue, one_or_two_sided, standardized_test
from jaxci.intervals.unseen import reaching_away, unseen_variance
from jaxci.records import record, static
from jaxci.special import namespace, ndtr
from jaxci.statistics.base import Statistic

MASS = 0.25
"""Of the rows at the extremes of each class, for Student's interval."""


@record
class AucDifferenceEvidence:
    """What the interval of a difference of two areas reads: arrays (...) over data sets.

    Attributes
    ----------
    difference : (...) array
        Area of a less that of b.
    variance : (...) array
        DeLong's variance of the difference; 0 where a class has a single member.
    alike : (...) bool array
        Whether the two scores order every pair of a positive and a negative alike.
    n_pos, n_neg : (...) arrays
        Positives m and negatives n.
    widened : (...) array
        The variance where each class also has a quarter of a row at both of its extremes.
    degrees_of_freedom : (...) array
        How many that has.
    """

    difference: Any
    variance: Any
    alike: Any
    n_pos: Any
    n_neg: Any
    widened: Any
    degrees_of_freedom: Any

    @property
    def pairs(self) -> Any:
        """Disjoint pairs of a positive and a negative, ``k = min(m, n)``."""
        return 1.0 * namespace(self.n_pos).minimum(self.n_pos, self.n_neg)

    @property
    def standard_error(self) -> Any:
        """DeLong's standard error; NaN where there is no variance."""
        xp = namespace(self.variance)
        known = self.variance > 0
        return xp.where(known, xp.sqrt(xp.where(known, self.variance, 1.0)), xp.nan)


def auc_difference_evidence(y_true: ArrayLike, score_a: ArrayLike, score_b: ArrayLike) -> AucDifferenceEvidence:
    """Compute the difference of two areas and its variance from two scores (rows,) of the same rows.

    From midranks, on the host: O(rows log rows).

    Raises
    ------
    ValueError
        If a class is absent, a score is not finite, or the lengths differ.
    """
    below, above = placements(y_true, np.stack([np.asarray(score_a, float), np.asarray(score_b, float)]))
    # difference before squaring: models that agree then have a variance of exactly zero
    return evidence_of_gaps(below[0] - below[1], above[0] - above[1])


def evidence_of_gaps(below: np.ndarray, above: np.ndarray) -> AucDifferenceEvidence:
    """Compute the evidence of data sets (...) from how two models differ in numbers of pairs.

    ``below`` (..., m) is the difference in how many negatives are below each positive, ``above`` (..., n) that in how
    many positives are above each negative.
    """
    m, n = below.shape[-1], above.shape[-1]
    variance = np.zeros(below.shape[:-1])
    if min(m, n) > 1:
        variance = below.var(axis=-1, ddof=1) / (m * n**2) + above.var(axis=-1, ddof=1) / (n * m**2)
    known = variance > 0
    widened, weights = np.zeros_like(variance), np.zeros_like(variance)
    for gap in (below / n, above / m) if known.any() else ():
        of_class = spread(gap - gap.mean(axis=-1, keepdims=True), MASS)
        square = of_class.standard_error**2
        widened, weights = widened + square, weights + square**2 / of_class.degrees_of_freedom
    degrees = np.where(known, widened**2 / np.where(known, weights, 1.0), math.nan)
    # these counts determine the order of every pair, ties included
    alike = ~(below.any(axis=-1) | above.any(axis=-1))
    widened = np.where(known, widened, 0.0)
    found = below.sum(axis=-1) / (m * n), variance, alike, np.asarray(m), np.asarray(n), widened, degrees
    return AucDifferenceEvidence(*found)


@record
class DeLongDifference(Method):
    """DeLong's interval and test of the difference of two areas on the same rows.

    ``d +- z sqrt(C_aa + C_bb - 2 C_ab)`` with DeLong's covariance C; the p-value is the normal one of d over that
    standard error. Asymptotic, independent rows, or such in strata of fixed size, which vary less; bounds may leave
    [-1, 1].

    Attributes
    ----------
    use_t : bool
        Step by Student's quantiles: of the placements of each class, with a quarter of a row at both extremes besides,
        the variance and its degrees of freedom by their kurtosis (:func:`jaxci.intervals.kurtosis.spread`), joined as
        Welch's test joins two (Satterthwaite). The end away from 0 also allows for a sixteenth of a row of each class
        that the models rank first and last (:mod:`jaxci.intervals.unseen`). For rare classes.

    Notes
    -----
    Coverage of 95% intervals where the second of two models of area .9 is worse by half a standard deviation, in
    brackets without ``use_t``: prevalence .15, n = 50, 100, 300: .945, .960, .969 (.911, .936, .958); .05, n = 300 and
    1,000: .960, .963 (.924, .950). The standard error beside the interval is DeLong's.

    Where the variance is zero or a class has a single member, a finite-sample bound takes over and a remark says so.
    Two scores that order every pair of a positive and a negative alike: ``|A_a - A_b| <= 1 - tail^(1/k)``,
    k = min(m, n), as k independent pairs showed no difference. Otherwise ``d +- sqrt(2 ln(1/tail) / k)``, clipped to
    [-1, 1], by Hoeffding's inequality for two-sample U-statistics. The p-value follows suit.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves,
       Biometrics 44, 837-845.
    .. [2] Hoeffding (1963), Probability inequalities for sums of bounded random variables, JASA 58, 13-30, section 5.
    """

    use_t: bool = static(default=False)

    name = "delong"
    needs = frozenset({"auc_difference"})
    takes = frozenset({"strata"})
    leaves_range = True

    def __post_init__(self) -> None:
        if not isinstance(self.use_t, bool):
            raise TypeError(f"use_t must be True or False; got {self.use_t!r}")

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a difference of whole areas."""
        if is_auc_difference(statistic):
            return None
        return f"{self.name!r} compares two models' whole areas under one binary ROC curve"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.auc_difference``."""
        return self.bounds_of(evidence.auc_difference, tails)

    def bounds_of(self, seen: AucDifferenceEvidence, tails: Tails) -> Bounds:
        """Bounds (...) of the difference of two areas."""
        xp = namespace(seen.difference)
        known, k = seen.variance > 0, seen.pairs
        error = xp.sqrt(xp.where(known, seen.widened if self.use_t else seen.variance, 1.0))
        steps = student_steps(xp.where(known, seen.degrees_of_freedom, 1.0), tails) if self.use_t else None
        found = Bounds(*delta_interval(seen.difference, error, tails, steps=steps))
        if self.use_t:
            found = reaching_away(found, seen.difference, unseen_variance(seen.n_pos, seen.n_neg), tails)
        low, high = open_sides(*found, tails, (-1.0, 1.0))

        def reach(tail: Any, bounded: bool) -> Any:
            if not bounded:
                return 2.0
            return xp.where(seen.alike, 1 - tail ** (1 / k), xp.sqrt(-2 * xp.log(tail) / k))

        least = xp.maximum(seen.difference - reach(tails.lower, tails.has_lower), -1.0)
        most = xp.minimum(seen.difference + reach(tails.upper, tails.has_upper), 1.0)
        return Bounds(xp.where(known, low, least)[()], xp.where(known, high, most)[()])

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that there is no variance, and what the bounds are."""
        seen = evidence.auc_difference
        m, n, k = (int(np.squeeze(x)) for x in (seen.n_pos, seen.n_neg, seen.pairs))
        if np.all(seen.variance > 0):
            return ()
        if np.all(seen.alike):
            reason = "the two scores order every pair of a positive and a negative alike"
        else:
            reason = f"DeLong's variance does not exist or is zero ({m} positives, {n} negatives)"
        return (f"{reason}: the bounds are conservative finite-sample ones from {k} disjoint pairs",)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return DeLong's p-value, or Hoeffding's bound on it where there is no variance."""
        seen = evidence.auc_difference
        difference, k = float(np.squeeze(seen.difference)), float(np.squeeze(seen.pairs))
        if np.all(seen.variance > 0) and self.use_t:
            law = functools.partial(special.stdtr, float(np.squeeze(seen.degrees_of_freedom)))
            return standardized_test(
                difference, math.sqrt(np.squeeze(seen.widened)), law, "DeLong, Student's t", alternative
            )
        if np.all(seen.variance > 0):
            return standardized_test(difference, float(np.squeeze(seen.standard_error)), ndtr, "DeLong", alternative)
        if np.all(seen.alike):
            return PValue(1.0, "DeLong")
        tail = math.exp(-k * difference**2 / 2)
        below, above = (tail, 1.0) if difference > 0 else (1.0, tail)
        return PValue(one_or_two_sided(below, above, alternative), "DeLong")
