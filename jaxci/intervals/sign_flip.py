"""Interval and test of a mean difference by flipping the signs of clusters: exact for symmetric differences."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import check_count
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails
from jaxci.intervals.capabilities import is_share_difference
from jaxci.intervals.clusters import ClusterSums, cluster_residuals
from jaxci.intervals.delta import delta_interval, student_steps
from jaxci.intervals.kurtosis import MANY, spread, spread_of_clusters
from jaxci.intervals.pvalues import PValue, one_or_two_sided
from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import is_mean

MOST_CLUSTERS = 10_000
SIGNS_AT_A_TIME = 2**24
ROUNDING = 1e-12
"""Means below this share of the largest are 0."""
FEW_DIFFER = 6
"""Below so many clusters with any difference an interval gets a remark."""
FEW_DEGREES, MASS = 10.0, 0.25
"""So does that of a mean where what clusters contribute, with such a mass at either extreme, has fewer degrees of
freedom: then they are hardly symmetric.
"""
COVERED_SKEWED = "95% intervals covered as little as 77% in simulations"
COVERED = "95% intervals covered as little as 72% in simulations (77% with skewed=True)"
"""What ``benchmarks/heavy_differences.py`` found."""


class Flipped(NamedTuple):
    """Means (M,), ascending, of the clusters whose sign is flipped, and how many flips leave all signs alone."""

    means: np.ndarray
    alone: int

    @property
    def total(self) -> int:
        """Number of flips."""
        return len(self.means) + self.alone


def flipped(sums: ClusterSums, n_flips: int, uniform: float) -> Flipped:
    """Mean over the flipped clusters of every way to flip signs, or of ``n_flips`` drawn ones and of none.

    Parameters
    ----------
    sums : ClusterSums
        Differences of one data set, (1, G).
    n_flips : int
        All 2^G ways are tried if they are at most so many.
    uniform : float
        In (0, 1), from which flips are drawn.
    """
    totals, sizes = sums.totals[0], sums.sizes[0]
    g = len(sizes)
    if g < n_flips.bit_length():
        chosen = (np.arange(1, 2**g)[:, None] >> np.arange(g)) & 1
        return Flipped(_ascending((chosen @ totals) / (chosen @ sizes)), 1)
    if g > MOST_CLUSTERS:
        raise NoInterval(f"method 'sign_flip' flips at most {MOST_CLUSTERS} clusters; got {g}: use 't' or 'tango'")
    rng = np.random.default_rng(int(uniform * 2.0**53))
    at_a_time = max(1, SIGNS_AT_A_TIME // g)
    parts = []
    for start in range(0, n_flips, at_a_time):
        chosen = rng.integers(0, 2, (min(at_a_time, n_flips - start), g), np.int8).astype(float)
        rows = chosen @ sizes
        parts.append((chosen @ totals)[rows > 0] / rows[rows > 0])
    means = _ascending(np.concatenate(parts))
    return Flipped(means, n_flips - len(means) + 1)


def _ascending(means: np.ndarray) -> np.ndarray:
    """Return means in order, those that rounding alone keeps from 0 as 0."""
    return np.sort(np.where(np.abs(means) <= ROUNDING * np.abs(means).max(initial=0.0), 0.0, means))


def _few_decide(sums: ClusterSums) -> bool:
    """Whether what clusters contribute to the mean has the kurtosis of a few."""
    totals, sizes = sums.totals[0], sums.sizes[0]
    apart = totals - totals.sum() / sizes.sum() * sizes
    return float(spread(apart, MASS).degrees_of_freedom) < min(FEW_DEGREES, MANY * (len(sizes) - 1))


def _by_student(sums: ClusterSums, tails: Tails) -> Bounds:
    """Student's interval of the mean of all rows, with the degrees of freedom of ``kurtosis_t``."""
    apart = cluster_residuals(sums)
    error, degrees = spread_of_clusters(apart - apart.mean(axis=-1, keepdims=True), MASS, sums)
    g = apart.shape[-1]
    error = error * math.sqrt(g * (g - 1)) / sums.rows
    return delta_interval(sums.mean, error, tails, steps=student_steps(degrees, tails))


@record
class SignFlip(Method):
    """Interval of the mean differences that the sign-flip test of clusters does not reject, with its test.

    Under a true difference d every sum of a cluster, less d a row, has a law symmetric about 0, so that its sign may be
    flipped. Flipping those of a set of clusters lowers the sum over all of them if and only if the mean over that set
    exceeds d: bounds are order statistics of the means over all sets, or over ``n_flips`` drawn ones. The two-sided
    p-value is never below ``2^-(G - 1)`` with G clusters, so that a 95% interval needs six.

    Finite-sample: exact for symmetric differences of independent clusters, whatever their sizes. Where few clusters
    differ, and in one direction, the test keeps its level and the interval does not: a share of rows of .02 on which
    only a is right was covered in 58% with 12 clusters of 15 (``tango_cluster`` .99 and more). Nor does it of skewed
    differences, as where one model's errors are larger and so are their tails: of mean squared errors in 8 to 40
    clusters, one model's errors 1.6 times the other's, it covered .91 to .95 (normal errors), .79 to .88 (t(3)) and .72
    to .80 (lognormal); with ``skewed``, which reaches further on that side, .93 to .97, .82 to .90 and .77 to .86
    (``benchmarks/heavy_differences.py``). Few clusters that decide get a remark. Rows without ``groups`` are clusters
    of one.

    Attributes
    ----------
    n_flips : int
        All ways to flip signs are tried if they are at most so many, else so many are drawn.
    skewed : bool
        Let the end away from 0 reach at least as far as that of ``kurtosis_t``: the model that errs more has the longer
        tail. The test, and whether the interval holds 0, stay as they are.

    References
    ----------
    .. [1] Hartigan (1969), Using subsample values as typical values, JASA 64, 1303-1317.
    .. [2] Canay, Romano & Shaikh (2017), Randomization tests under an approximate symmetry assumption, Econometrica
       85, 1013-1030.
    """

    n_flips: int = static(default=9_999)
    skewed: bool = static(default=False)

    name = "sign_flip"
    of_differences = True
    needs = frozenset({"clusters", "flips", "uniform"})
    takes = frozenset({"groups"})

    def __post_init__(self) -> None:
        check_count("n_flips", self.n_flips, 99)
        if not isinstance(self.skewed, bool):
            raise TypeError(f"skewed must be True or False; got {self.skewed!r}")

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a difference of means or of shares of the same rows."""
        if is_mean(statistic) or is_share_difference(statistic):
            return None
        return f"{self.name!r} compares two models' means of one value per row, or their shares of the same rows"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.flips`` of one data set, the end of the range where no flip tells a side apart."""
        found, ends = evidence.flips, evidence.statistic.bounds
        below, above = (math.floor(tail * found.total * (1 + 1e-12)) - found.alone for tail in tails.sides)
        low = found.means[below] if below >= 0 else ends[0]
        high = found.means[-1 - above] if above >= 0 else ends[1]
        sums = evidence.clusters
        if self.skewed and sums.count[0] > 1:
            away = _by_student(sums, tails)
            low = min(low, away.low[0]) if sums.mean[0] < 0 and tails.has_lower else low
            high = max(high, away.high[0]) if sums.mean[0] > 0 and tails.has_upper else high
        return Bounds(np.array([low]), np.array([high]))

    def interval(self, evidence: Evidence, tails: Tails) -> tuple[Bounds, tuple[str, ...]]:
        """Return bounds and remarks; say that flips are too few to tell anything, or that few clusters differ."""
        bounds, remarks = super().interval(evidence, tails)
        found, g = evidence.flips, len(evidence.clusters.sizes[0])
        if max(tails.sides) * found.total < found.alone:
            few = f"{found.total} ways to flip the signs of {g} clusters are too few for this level"
            return bounds, (*remarks, f"{few}: a one-sided p-value is never below {found.alone / found.total:.2g}")
        differing = int(np.count_nonzero(evidence.clusters.totals))
        if differing < FEW_DIFFER and g > differing:
            text = (
                f"only {differing} of {g} clusters differ: the interval covers less than it says; use 'tango_cluster'"
            )
            return bounds, (*remarks, text if is_share_difference(evidence.statistic) else text.partition(";")[0])
        if is_mean(evidence.statistic) and _few_decide(evidence.clusters):
            return bounds, (
                *remarks,
                f"a few of the {g} clusters decide the difference, which flips of signs take to be symmetric: where "
                f"models differ much and errors have heavy tails, {COVERED_SKEWED if self.skewed else COVERED}",
            )
        return bounds, remarks

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of the sign-flip test."""
        found = evidence.flips
        below = (found.alone + np.count_nonzero(found.means <= 0)) / found.total
        above = (found.alone + np.count_nonzero(found.means >= 0)) / found.total
        return PValue(one_or_two_sided(below, above, alternative), "sign-flip test")
