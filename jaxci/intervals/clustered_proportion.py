"""Intervals for a proportion of rows that come in clusters: score and exact ones at the effective size."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Tails, open_sides
from jaxci.intervals.clusters import ClusterRobust, ClusterSums
from jaxci.intervals.parametric import student_steps
from jaxci.intervals.proportion import UNIT, clopper_pearson, proportion_refusal, score_bound
from jaxci.records import record
from jaxci.statistics.base import Statistic, TableStatistic


def effective_size(sums: ClusterSums, variance: Any) -> Any:
    """Return the number of independent rows (...) whose share varies as that of the clusters, ``p (1 - p) / variance``.

    At most the number of rows. Where every row fails or every row succeeds nothing tells how alike the rows of a
    cluster are: then each cluster counts as one row.

    Parameters
    ----------
    sums : ClusterSums
        Successes and trials of every cluster.
    variance : (...) array
        Cluster-robust variance of the share.

    References
    ----------
    .. [1] Kish (1965), Survey Sampling, section 8.2.
    """
    share = sums.mean
    varies = variance > 0
    size = np.where(varies, share * (1 - share) / np.where(varies, variance, 1.0), np.inf)
    return np.where((share == 0) | (share == 1), sums.count, np.minimum(size, sums.rows))


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
    and 40 of them: at a share of .8 .94, .94, .95, .95, very uneven sizes 1.00, .98, .98, .97; at .95 .99, .90, .89,
    .92, uneven 1.00, 1.00, .94, .93.

    References
    ----------
    .. [1] Dean & Pagano (2015), Evaluating confidence interval methods for binomial proportions in clustered surveys,
       Journal of Survey Statistics and Methodology 3, 484-503.
    """
    down, up = student_steps(degrees, tails)
    low, high = score_bound(share * size, size, -down, 0.0), score_bound(share * size, size, up, 0.0)
    return open_sides(np.where(share == 0, 0.0, low), np.where(share == 1, 1.0, high), tails, UNIT)


def clopper_pearson_cluster(share: Any, size: Any, degrees: Any, rows: Any, tails: Tails) -> Bounds:
    """Clopper-Pearson interval at an effective size that is cut by how little is known of the variance.

    The size is multiplied by ``(t(rows - 1) / t(degrees))^2``, the squared ratio of Student's quantiles.

    Parameters
    ----------
    share, size, degrees : (...) arrays
        As for :func:`wilson_cluster`.
    rows : (...) array
        Number of rows, at least 2.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : (...) arrays
        Bounds in [0, 1].

    Notes
    -----
    Asymptotic in the number of clusters; wider than :func:`wilson_cluster`, and covers 1 to 2 points more.

    References
    ----------
    .. [1] Korn & Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
       estimated from survey data, Survey Methodology 24, 193-201.
    """
    cut = [
        np.where(known != 0, known / np.where(step != 0, step, 1.0), 1.0) ** 2
        for known, step in zip(student_steps(rows - 1, tails), student_steps(degrees, tails), strict=True)
    ]
    low, high = (np.minimum(size * factor, rows) for factor in cut)
    return Bounds(clopper_pearson(share * low, low, tails).low, clopper_pearson(share * high, high, tails).high)


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
        """Bounds from ``evidence.clusters`` of one data set, of what the statistic is for such proportions."""
        sums = evidence.clusters
        variance, degrees = self.spread(sums)
        found = self.of_share(sums, effective_size(sums, variance), degrees, tails)
        assert isinstance(evidence.statistic, TableStatistic)
        return Bounds(*(evidence.statistic.of_share(end)[0] for end in found))

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say what was taken for granted where all rows agree."""
        if np.all(evidence.clusters.mean * (1 - evidence.clusters.mean) > 0):
            return ()
        return ("all rows agree, so how alike those of a cluster are is unknown: each cluster counts as one row",)


@record
class WilsonCluster(ClusteredProportion):
    """Score interval at the effective size of the clusters; see :func:`wilson_cluster`."""

    name = "wilson_cluster"

    def of_share(self, sums: ClusterSums, size: Any, degrees: Any, tails: Tails) -> Bounds:
        """Return (low, high) of the share."""
        return wilson_cluster(sums.mean, size, degrees, tails)


@record
class ClopperPearsonCluster(ClusteredProportion):
    """Korn and Graubard's interval; see :func:`clopper_pearson_cluster`."""

    name = "clopper_pearson_cluster"

    def of_share(self, sums: ClusterSums, size: Any, degrees: Any, tails: Tails) -> Bounds:
        """Return (low, high) of the share."""
        return clopper_pearson_cluster(sums.mean, size, degrees, sums.rows, tails)
