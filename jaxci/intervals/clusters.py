"""Means of rows that come in clusters: their robust variances, and how well these are known."""

from __future__ import annotations

import math
from typing import Any

from jaxci.checks import check_choice, check_number
from jaxci.intervals.base import Method, NoInterval
from jaxci.records import record, static
from jaxci.special import namespace

VARIANCES = ("CR1", "CR2", "jackknife")
DEGREES = ("groups", "satterthwaite")


@record
class ClusterSums:
    """What the rows of every cluster sum to; clusters without a row that counts tell nothing.

    Attributes
    ----------
    totals : (..., G) array
        Sums of the values, or successes.
    sizes : (..., G) array
        Rows, or trials; 0 in clusters that do not count.
    """

    totals: Any
    sizes: Any

    @property
    def count(self) -> Any:
        """Number of clusters (...) that count."""
        return (self.sizes > 0).sum(axis=-1)

    @property
    def rows(self) -> Any:
        """Number of rows (...)."""
        return self.sizes.sum(axis=-1)

    @property
    def mean(self) -> Any:
        """Mean over all rows (...)."""
        return self.totals.sum(axis=-1) / positive(self.rows)

    @property
    def others(self) -> Any:
        """Share of the rows (..., G) that all other clusters than each hold."""
        rows = self.rows[..., None]
        return (rows - self.sizes) / positive(rows)


def positive(x: Any) -> Any:
    """Return a divisor, 1 where it would be 0."""
    return namespace(x).where(x > 0, x, 1)


def _inflation(others: Any, count: Any, variance: str) -> Any:
    """Return the factors (..., G) of the squared residuals of clusters from the share of all ``others`` than each."""
    xp, g = namespace(others), count[..., None]
    if variance == "CR1":
        return xp.broadcast_to(g / positive(g - 1), others.shape)
    if variance == "CR2":
        return 1 / positive(others)
    return (g - 1) / positive(g * others**2)


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
        Of clusters (...).
    variance : {"CR1", "CR2", "jackknife"}
        The estimate.

    Returns
    -------
    (...) array
        Variance; NaN where fewer than two clusters count.

    References
    ----------
    .. [1] Cameron & Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources 50,
       317-372, section VI.B.
    .. [2] Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples,
       Survey Methodology 28, 169-181: here of a regression on a constant alone, of which ``(I - H)^(-1/2)`` is known.
    """
    found = (cluster_residuals(sums, variance) ** 2).sum(axis=-1) / positive(sums.rows) ** 2
    return namespace(found).where(sums.count > 1, found, math.nan)


def cluster_residuals(sums: ClusterSums, variance: str = "jackknife") -> Any:
    """Return the residuals ``sqrt(a_g) e_g`` (..., G) of clusters, of :func:`cluster_variance`."""
    xp = namespace(sums.sizes)
    factors = xp.maximum(_inflation(sums.others, sums.count, variance), 0.0)  # negative where no cluster counts
    return xp.sqrt(factors) * (sums.totals - sums.mean[..., None] * sums.sizes)


def satterthwaite(sums: ClusterSums, variance: str = "jackknife", working_correlation: float = 1.0) -> Any:
    """Degrees of freedom of a cluster-robust variance, ``(tr M)^2 / tr M^2``.

    M is the covariance of the residuals ``sqrt(a_g) e_g`` (see :func:`cluster_variance`) in a model where two values
    of a cluster have correlation ``working_correlation``, those of different clusters none. O(G log G).

    Parameters
    ----------
    sums : ClusterSums
        Of clusters (...); their sizes alone are read.
    variance : {"CR1", "CR2", "jackknife"}
        The estimate.
    working_correlation : float
        1: clusters differ as wholes; 0: rows are independent.

    Returns
    -------
    (...) array
        Between 1 and G - 1, which it is for clusters of one size; NaN where fewer than two clusters count.

    References
    ----------
    .. [1] Bell & McCaffrey (2002), Survey Methodology 28, 169-181, eq. (11).
    .. [2] Pustejovsky & Tipton (2018), Small-sample methods for cluster-robust variance estimation and hypothesis
       testing in fixed effects models, Journal of Business & Economic Statistics 36, 672-683, eq. (10).
    """
    # The largest cluster, at last, is kept apart: where it holds nearly all rows, terms of the others' size would be
    # lost beside its own. Of the others' pairs the sum of all products is known, less those of each with itself.
    xp = namespace(sums.sizes)
    sizes = xp.sort(xp.asarray(sums.sizes, float), axis=-1)
    own = sizes * (1 - working_correlation) + sizes**2 * working_correlation
    rows = positive(sizes.sum(axis=-1))[..., None]
    h, others = sizes / rows, _of_others(sizes) / rows
    a = _inflation(others, sums.count, variance)
    whole, small = own.sum(axis=-1), own[..., :-1].sum(axis=-1)
    apart = _of_others(own)
    diagonal = a * (own * others**2 + h**2 * apart)

    with_largest = h[..., :-1] * (small * h[..., -1] - others[..., -1] * own[..., -1])[..., None]
    with_largest = with_largest - h[..., -1:] * own[..., :-1]
    crossed = 2 * a[..., -1] * (a[..., :-1] * with_largest**2).sum(axis=-1)
    x, y = (xp.sqrt(a) * h)[..., :-1], (xp.sqrt(a) * own)[..., :-1]
    xx, yy, xy = ((one * two).sum(axis=-1) for one, two in ((x, x), (y, y), (x, y)))
    pairs = 2 * xx * yy + 2 * xy**2 + whole**2 * xx**2 - 4 * whole * xx * xy
    alone = ((x * (whole[..., None] * x - 2 * y)) ** 2).sum(axis=-1)
    squares = (diagonal**2).sum(axis=-1) + crossed + xp.maximum(pairs - alone, 0.0)
    found = xp.clip(diagonal.sum(axis=-1) ** 2 / positive(squares), 1.0, xp.maximum(sums.count - 1.0, 1.0))
    return xp.where(sums.count > 1, found, math.nan)


def _of_others(x: Any) -> Any:
    """Return the sum (..., G) of all but each of ascending numbers; of all but the last without cancellation."""
    apart = x.sum(axis=-1, keepdims=True) - x[..., :-1]
    return namespace(x).concatenate([apart, x[..., :-1].sum(axis=-1, keepdims=True)], axis=-1)


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
        """Return the variance of the mean (...) and its degrees of freedom (...), NaN without two clusters."""
        variance = cluster_variance(sums, self.variance)
        if self.degrees_of_freedom == "satterthwaite":
            return variance, satterthwaite(sums, self.variance, self.working_correlation)
        return variance, namespace(variance).where(sums.count > 1, sums.count - 1.0, math.nan)

    def check_clusters(self, sums: ClusterSums) -> None:
        """Raise ``NoInterval`` if fewer than two clusters of one data set count."""
        if sums.count[0] < 2:
            raise NoInterval(
                f"method {self.name!r} needs at least 2 rows, or clusters of groups, that count; got {sums.count[0]}"
            )
