"""Means of rows that come in clusters: their robust variances, and how well these are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_number
from jaxci.intervals.base import Method, NoInterval
from jaxci.records import record, static

VARIANCES = ("CR1", "CR2", "jackknife")
DEGREES = ("groups", "satterthwaite")


@record
class ClusterSums:
    """What the rows of every cluster sum to; clusters without a row that counts are left out.

    Attributes
    ----------
    totals : (..., G) array
        Sums of the values, or successes.
    sizes : (..., G) array
        Rows, or trials; positive.
    """

    totals: Any
    sizes: Any

    @property
    def count(self) -> int:
        """Number of clusters G."""
        return int(self.sizes.shape[-1])

    @property
    def rows(self) -> Any:
        """Number of rows (...)."""
        return self.sizes.sum(axis=-1)

    @property
    def mean(self) -> Any:
        """Mean over all rows (...)."""
        return self.totals.sum(axis=-1) / self.rows

    @property
    def others(self) -> Any:
        """Share of the rows (..., G) that all other clusters than each hold."""
        rows = self.rows[..., None]
        return (rows - self.sizes) / rows


def _inflation(others: Any, n_clusters: int, variance: str) -> Any:
    """Return the factors (..., G) of the squared residuals of clusters from the share of all ``others`` than each."""
    g = n_clusters
    if variance == "CR1":
        return np.broadcast_to(g / (g - 1), others.shape)
    if variance == "CR2":
        return 1 / others
    return (g - 1) / (g * others**2)


def cluster_variance(sums: ClusterSums, variance: str = "jackknife") -> Any:
    """Cluster-robust variance of the mean over all rows.

    With the residuals ``e_g = sum of cluster g - mean x rows of g`` and its share h_g of the N rows, ``sum a_g e_g^2 /
    N^2``, where a_g is ``G / (G - 1)`` (CR1), ``1 / (1 - h_g)`` (CR2), which has no bias where rows are independent, or
    ``(G - 1) / G / (1 - h_g)^2`` (jackknife), the variance of the means that leave out a cluster, which errs upwards
    there. The three agree where clusters are equally large; where one holds most of the rows only the last sees how
    much it may differ from the others.

    Parameters
    ----------
    sums : ClusterSums
        Of at least two clusters (...).
    variance : {"CR1", "CR2", "jackknife"}
        The estimate.

    Returns
    -------
    (...) array
        Variance.

    References
    ----------
    .. [1] Cameron & Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources 50,
       317-372, section VI.B.
    .. [2] Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples,
       Survey Methodology 28, 169-181: here of a regression on a constant alone, of which ``(I - H)^(-1/2)`` is known.
    """
    residuals = sums.totals - sums.mean[..., None] * sums.sizes
    factors = _inflation(sums.others, sums.count, variance)
    return np.sum(factors * residuals**2, axis=-1) / sums.rows**2


def satterthwaite(sums: ClusterSums, variance: str = "jackknife", working_correlation: float = 1.0) -> Any:
    """Degrees of freedom of a cluster-robust variance, ``(tr M)^2 / tr M^2``.

    M is the covariance of the residuals ``sqrt(a_g) e_g`` (see :func:`cluster_variance`) in a model where two values
    of a cluster have correlation ``working_correlation``, those of different clusters none. O(G log G).

    Parameters
    ----------
    sums : ClusterSums
        Of at least two clusters (...); their sizes alone are read.
    variance : {"CR1", "CR2", "jackknife"}
        The estimate.
    working_correlation : float
        1: clusters differ as wholes; 0: rows are independent.

    Returns
    -------
    (...) array
        Between 1 and G - 1, which it is for clusters of one size.

    References
    ----------
    .. [1] Bell & McCaffrey (2002), Survey Methodology 28, 169-181, eq. (11).
    .. [2] Pustejovsky & Tipton (2018), Small-sample methods for cluster-robust variance estimation and hypothesis
       testing in fixed effects models, Journal of Business & Economic Statistics 36, 672-683, eq. (10).
    """
    # The largest cluster, at last, is kept apart: where it holds nearly all rows, terms of the others' size would be
    # lost beside its own. Of the others' pairs the sum of all products is known, less those of each with itself.
    sizes = np.sort(np.asarray(sums.sizes, float), axis=-1)
    own = sizes * (1 - working_correlation) + sizes**2 * working_correlation
    rows, rest = sizes.sum(axis=-1), sizes[..., :-1].sum(axis=-1)
    h, others = sizes / rows[..., None], (rows[..., None] - sizes) / rows[..., None]
    others[..., -1] = rest / rows
    a = _inflation(others, sums.count, variance)
    whole, small = own.sum(axis=-1), own[..., :-1].sum(axis=-1)
    apart = whole[..., None] - own
    apart[..., -1] = small
    diagonal = a * (own * others**2 + h**2 * apart)

    with_largest = h[..., :-1] * (small * h[..., -1] - others[..., -1] * own[..., -1])[..., None]
    with_largest = with_largest - h[..., -1:] * own[..., :-1]
    crossed = 2 * a[..., -1] * np.sum(a[..., :-1] * with_largest**2, axis=-1)
    x, y = (np.sqrt(a) * h)[..., :-1], (np.sqrt(a) * own)[..., :-1]
    xx, yy, xy = ((one * two).sum(axis=-1) for one, two in ((x, x), (y, y), (x, y)))
    pairs = 2 * xx * yy + 2 * xy**2 + whole**2 * xx**2 - 4 * whole * xx * xy
    alone = np.sum((x * (whole[..., None] * x - 2 * y)) ** 2, axis=-1)
    squares = np.sum(diagonal**2, axis=-1) + crossed + np.maximum(pairs - alone, 0.0)
    return np.clip(diagonal.sum(axis=-1) ** 2 / squares, 1.0, sums.count - 1.0)


@record
class ClusterRobust(Method):
    """A method that allows for clusters by a robust variance.

    Attributes
    ----------
    variance : {"CR1", "CR2", "jackknife"}
        Estimate of the variance; see :func:`cluster_variance`.
    degrees_of_freedom : {"satterthwaite", "groups"}
        How well it is known: by :func:`satterthwaite`, or as of G - 1 equal clusters.
    working_correlation : float
        Of two rows of a cluster, in [0, 1], by which Satterthwaite's degrees of freedom are reckoned. 1 leaves the
        fewest where few clusters are large.
    """

    variance: str = static(default="jackknife")
    degrees_of_freedom: str = static(default="satterthwaite")
    working_correlation: float = static(default=1.0)

    takes = frozenset({"groups"})

    def __post_init__(self) -> None:
        check_choice("variance", self.variance, VARIANCES)
        check_choice("degrees_of_freedom", self.degrees_of_freedom, DEGREES)
        check_number("working_correlation", self.working_correlation, "lie in [0, 1]", lambda x: 0 <= x <= 1)

    def spread(self, sums: ClusterSums) -> tuple[Any, Any]:
        """Return the variance of the mean of one data set (1,) and its degrees of freedom (1,).

        Raises
        ------
        NoInterval
            If there are fewer than two clusters.
        """
        if sums.count < 2:
            raise NoInterval(
                f"method {self.name!r} needs at least 2 rows, or clusters of groups, that count; got {sums.count}"
            )
        degrees = np.array([sums.count - 1.0])
        if self.degrees_of_freedom == "satterthwaite":
            degrees = satterthwaite(sums, self.variance, self.working_correlation)
        return cluster_variance(sums, self.variance), degrees
