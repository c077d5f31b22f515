"""Intervals for a proportion of rows that come in clusters: score and exact ones at the effective size."""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import Any

import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Tails, open_sides
from jaxci.intervals.clusters import ClusterRobust, ClusterSums
from jaxci.intervals.delta import student_steps
from jaxci.intervals.proportion import UNIT, ClopperPearson, proportion_refusal, score_bound
from jaxci.intervals.proportion_difference import Tango, paired_score_interval
from jaxci.intervals.pvalues import PValue, one_or_two_sided
from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.base import Statistic, TableStatistic


def effective_size(sums: ClusterSums, variance: Any, most: Any) -> Any:
    """Return the number of independent rows (...) whose share varies as that of the clusters, ``p (1 - p) / variance``.

    At most ``most``. Where every row fails or every row succeeds nothing tells how alike the rows of a
    cluster are: then each cluster counts as one row.

    Parameters
    ----------
    sums : ClusterSums
        Successes and trials of every cluster.
    variance : (...) array
        Cluster-robust variance of the share.
    most : (...) array
        Number of rows, or that of rows of equal weight that tell as much.

    References
    ----------
    .. [1] Kish (1965), Survey Sampling, section 8.2.
    """
    share, xp = sums.mean, namespace(sums.sizes)
    varies = variance > 0
    size = xp.where(varies, share * (1 - share) / xp.where(varies, variance, 1.0), math.inf)
    return xp.minimum(xp.where((share == 0) | (share == 1), sums.count, size), most)


def wilson_cluster(share: Any, size: Any, degrees: Any, tails: Tails) -> Bounds:
    """Wilson's interval at an effective size, with Student's quantile in place of the normal one.

    Parameters
    ----------
    share, size, degrees : (...) arrays
        Share of successes, its effective size (:func:`effective_size`), and degrees of freedom of its variance.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : (...) arrays
        Bounds in [0, 1].

    Notes
    -----
    Asymptotic in the number of clusters. Coverage of 95% intervals, clusters of 15 rows with correlation .3, 5, 10, 20
    and 40 of them: at a share of .8 .94, .94, .95, .95, very uneven sizes 1.00, .99, .98, .97; at .95 .99, .90, .89,
    .92, uneven 1.00, 1.00, .96, .94.

    References
    ----------
    .. [1] Dean & Pagano (2015), Evaluating confidence interval methods for binomial proportions in clustered surveys,
       Journal of Survey Statistics and Methodology 3, 484-503.
    """
    down, up = student_steps(degrees, tails)
    low, high = score_bound(share * size, size, -down, 0.0), score_bound(share * size, size, up, 0.0)
    xp = namespace(share)
    return open_sides(xp.where(share == 0, 0.0, low), xp.where(share == 1, 1.0, high), tails, UNIT)


def korn_graubard(share: Any, size: Any, rows: Any, degrees: Any, tails: Tails) -> Bounds:
    """Clopper-Pearson's interval at an effective size that is cut by how little is known of the variance.

    ``size`` is multiplied by ``(t(rows - 1) / t(degrees))^2``, the squared ratio of Student's quantiles, and is at most
    ``rows``, which are infinite where strata may tell more than so many rows; else as :func:`wilson_cluster`.

    References
    ----------
    .. [1] Korn & Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
       estimated from survey data, Survey Methodology 24, 193-201.
    """
    xp, exact = namespace(share), ClopperPearson().from_counts
    cut = [
        xp.where(known != 0, known / xp.where(step != 0, step, 1.0), 1.0) ** 2
        for known, step in zip(student_steps(rows - 1, tails), student_steps(degrees, tails), strict=True)
    ]
    low, high = (xp.minimum(size * factor, rows) for factor in cut)
    return Bounds(exact(share * low, low, tails).low, exact(share * high, high, tails).high)


class ClusteredProportion(ClusterRobust):
    """A method for a proportion that reads successes and trials of every cluster."""

    needs = frozenset({"clusters"})
    requires_groups = True

    @abc.abstractmethod
    def of_share(self, sums: ClusterSums, size: Any, degrees: Any, tails: Tails) -> Bounds:
        """Return (low, high) of the share."""

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a proportion."""
        return proportion_refusal(self.name, statistic)

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.clusters``, of what the statistic is for such shares; the range from one cluster."""
        sums, xp = evidence.clusters, evidence.xp
        variance, degrees = self.spread(sums)
        found = self.of_share(sums, effective_size(sums, variance, sums.rows), degrees, tails)
        found = Bounds(*(xp.where(sums.count == 1, end, one) for end, one in zip(UNIT, found, strict=True)))
        assert isinstance(evidence.statistic, TableStatistic)
        return Bounds(*(evidence.statistic.of_share(end)[0] for end in found))

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that a single cluster counts, or what was taken for granted where all rows agree."""
        if evidence.clusters.count[0] == 1:
            return ("only one cluster has rows that count: how clusters differ is unknown, and so is the share",)
        if np.all(evidence.clusters.mean * (1 - evidence.clusters.mean) > 0):
            return ()
        return ("all rows agree, so how alike those of a cluster are is unknown: each cluster counts as one row",)


@record
class TangoCluster(ClusterRobust):
    """Score interval of two models' shares of the same rows, in clusters, with its test.

    Tango's interval of the outcomes divided by the design effect, with Student's quantile in place of the normal one.
    The design effect is the ratio of the cluster-robust variance of the difference to that of independent rows, at
    least 1; where all rows agree it is unknown, and each cluster counts as one row. Degrees of freedom are those of
    independent rows: differences of two models in a cluster are less alike than their outcomes.

    Asymptotic in the number of clusters. Coverage of 95% intervals where only a is right on .02 or .05 of the rows,
    only b on 0 to .05, correlation .05 and .3: .90 to 1.00 for 6 to 30 clusters of 15 rows, .87 to 1.00 for very uneven
    ones; type I errors at most .048.

    References
    ----------
    .. [1] Tango (1998), Statistics in Medicine 17, 891-908.
    .. [2] Kish (1965), Survey Sampling, section 8.2.
    """

    working_correlation: float = static(default=0.0)

    name = "tango_cluster"
    of_differences = True
    needs = frozenset({"clusters", "outcomes"})
    requires_groups = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a difference of shares of the same rows."""
        return Tango().refusal(statistic)

    def _scaled(self, evidence: Evidence) -> tuple[list[Any], Any]:
        """Outcomes (1,) divided by the design effect, and degrees of freedom (1,)."""
        seen, sums = evidence.outcomes, evidence.clusters
        variance, degrees = self.spread(sums)
        independent = seen.standard_error**2
        size = np.where(variance > 0, independent / np.where(variance > 0, variance, 1.0), 1.0) * sums.rows
        size = np.where(independent > 0, np.minimum(size, sums.rows), sums.count)
        return [counts * size / sums.rows for counts in seen.of_one], degrees

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.outcomes`` and ``evidence.clusters`` of one data set; the range from one cluster."""
        if evidence.clusters.count[0] < 2:
            low, high = evidence.statistic.bounds
            return Bounds(np.array([low]), np.array([high]))
        (both, only_a, only_b, neither), degrees = self._scaled(evidence)
        below, above = (special.ndtr(-step) for step in student_steps(degrees, tails))
        return paired_score_interval(
            both, only_a, only_b, neither, dataclasses.replace(tails, lower=below, upper=above)
        )

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of the score test."""
        test = "score test of paired proportions in clusters"
        if evidence.clusters.count[0] < 2:
            return PValue(1.0, test)
        (_, only_a, only_b, _), degrees = self._scaled(evidence)
        z = float((only_a - only_b)[0]) / math.sqrt(max(float((only_a + only_b)[0]), 1e-300))
        below, above = (float(special.stdtr(degrees[0], side)) for side in (-z, z))
        return PValue(one_or_two_sided(below, above, alternative), test)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that a single cluster has rows that count."""
        if evidence.clusters.count[0] == 1:
            return ("only one cluster has rows that count: how clusters differ is unknown, and so is the difference",)
        return ()


@record
class WilsonCluster(ClusteredProportion):
    """Score interval at the effective size of the clusters; see :func:`wilson_cluster`."""

    name = "wilson_cluster"

    def of_share(self, sums: ClusterSums, size: Any, degrees: Any, tails: Tails) -> Bounds:
        """Return (low, high) of the share."""
        return wilson_cluster(sums.mean, size, degrees, tails)


@record
class ClopperPearsonCluster(ClusteredProportion):
    """Korn and Graubard's interval: exact at the effective size of the clusters; see :func:`korn_graubard`.

    Notes
    -----
    Asymptotic in the number of clusters; wider than :class:`WilsonCluster`, and covers 1 to 2 points more.
    """

    name = "clopper_pearson_cluster"

    def of_share(self, sums: ClusterSums, size: Any, degrees: Any, tails: Tails) -> Bounds:
        """Return (low, high) of the share."""
        return korn_graubard(sums.mean, size, sums.rows, degrees, tails)
