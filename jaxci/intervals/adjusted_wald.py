"""Interval and test of the difference between two models with rows added on which they differ most."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import has_opposed_rows
from jaxci.intervals.delta import delta_interval, student_steps
from jaxci.intervals.kurtosis import further, nearer
from jaxci.intervals.pvalues import UNDEFINED, PValue, one_or_two_sided
from jaxci.records import record
from jaxci.special import ndtr
from jaxci.statistics.base import Statistic


class Adjusted(NamedTuple):
    """Differences (...) where opposed rows are added to the data, and their standard errors (...) by influence.

    The ``degrees`` of freedom (...) of the errors are infinite for rows of equal weight; ``unseen`` (...) is what the
    opposed rows add to the variance, and ``skewness`` (...) that of the difference, 0 where rows are weighted.
    """

    difference: np.ndarray
    standard_error: np.ndarray
    degrees: np.ndarray
    unseen: np.ndarray
    skewness: np.ndarray


@record
class AdjustedWald(Method):
    """Wald's interval and test of a difference, computed from the data and a few rows on which the models differ most.

    Opposed rows come in pairs: on one the first model is right and the second as wrong as it can be, on the other they
    change places. They are declared by the statistic and weigh less than a row (see Notes). With ``d'`` and ``s'`` the
    difference and its influence-function standard error on the data so joined, the bounds are ``d' -+ z s'`` and the
    p-value is the normal one of ``d' / s'``, so that interval and test agree. Of rows of equal weight both ends reach
    :func:`~jaxci.intervals.kurtosis.further` by the skewness of ``d'``, but for shares of all rows, and the p-value
    follows suit. Of rows weighted by importance Student's quantiles take the place of z, of one degree of freedom less
    than their effective size; opposed rows then weigh what the rows of their class do on average, and ``s'`` is at
    least the error of weights that go with nothing within a class: where the few rows that decide are heavy, and none
    was seen, the difference and its error come out too small together, and a worse model was called not inferior two
    to three times too often.

    Where models differ in few rows of one kind, as in the false positives of precision, samples that show few of these
    have a small difference and a small error: of two models of 300 rows, precisions .94 and .98, the end away from the
    truth left it out in 6.5% of data sets, and in 1.5% with the skewness, at 1.2 times the width.

    Without them the rows on which the models differ are too few to tell how much they vary: two good models differ on
    one row of a hundred or on none, and resamples cannot hold a difference that was not seen.

    Notes
    -----
    Independent rows; those in strata of fixed size vary less, which it does not allow for. For the difference of two
    shares of all rows it is the interval of [1]_: one row each way. Other metrics of labels gain half a row each way in
    each of two classes, a quarter of one in each of more, wrong labels spread as both models' predictions are; classes
    that have no row gain none. The average precision gains a quarter of a positive and a sixteenth of a negative each
    way, which one model ranks first and the other last, for every class of several; of K > 2 classes the negatives
    weigh ``1 / K^2`` of that. So 95% intervals of average precisions of three to eight classes covered 93.7% or more in
    simulations (``benchmarks/class_precision_differences.py``). Bounds may leave the range.
    ``benchmarks/compare_errors.py`` measures how often it errs; classes with a handful of rows, of models that differ
    much, are where it still does.

    References
    ----------
    .. [1] Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on
       paired data, Journal of Educational and Behavioral Statistics 37, 479-488, eq. (8).
    """

    name = "adjusted_wald"
    needs = frozenset({"adjusted"})
    takes = frozenset({"strata", "sample_weight"})
    leaves_range = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse differences of what has no opposed rows."""
        if has_opposed_rows(statistic):
            return None
        return (
            f"{self.name!r} compares two models by a metric of labels or by the average precision: others do not say "
            "on which rows models differ most"
        )

    def bounds(self, evidence: Evidence, tails: Tails, critical: object) -> Bounds:
        """Bounds from ``evidence.adjusted``."""
        seen: Adjusted = evidence.adjusted
        normal = evidence.xp.isinf(seen.degrees)
        student = student_steps(evidence.xp.where(normal, 1.0, seen.degrees), tails)
        steps = tuple(evidence.xp.where(normal, z, t) for z, t in zip(normal_steps(tails), student, strict=True))
        steps = further(steps[0], seen.skewness), further(steps[1], -seen.skewness)
        low, high = delta_interval(seen.difference, seen.standard_error, tails, steps=steps)
        low, high = open_sides(low, high, tails, evidence.statistic.bounds)
        varies = (seen.standard_error > 0) | (seen.difference == 0)
        return Bounds(*(evidence.xp.where(varies, end, np.nan) for end in (low, high)))

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the normal p-value of the adjusted difference, Student's of weighted rows."""
        difference, error, degrees, _, skew = (float(x[0]) for x in evidence.adjusted)
        if error == 0:
            return PValue(1.0, "no variation") if difference == 0 else PValue(math.nan, UNDEFINED)
        law = ndtr if math.isinf(degrees) else functools.partial(special.stdtr, degrees)
        steps = (nearer(sign * difference / error, sign * skew) for sign in (1, -1))
        below, above = (float(law(-step)) for step in steps)
        return PValue(one_or_two_sided(below, above, alternative), "adjusted Wald")
