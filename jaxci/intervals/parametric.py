"""Normal-theory intervals of means: z and t, and Welch's of two."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import is_share_difference
from jaxci.intervals.clusters import ClusterRobust
from jaxci.intervals.delta import around, check_two, student_steps, width_remarks
from jaxci.intervals.pvalues import NO_VARIATION, PValue, sign_test, standardized_test, varies
from jaxci.records import record
from jaxci.special import deviation
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.summary import is_mean


def mean_refusal(name: str, statistic: Statistic) -> str | None:
    """Return the sentence with which a method for means refuses other statistics."""
    if is_mean(statistic):
        return None
    if has_fixed_trials(statistic):
        return (
            f"{name!r} is for means of numbers; a share of rows has methods of its own ('clopper_pearson' holds at "
            "every n, 'wald' is the normal interval)"
        )
    return (
        f"{name!r} needs the plain mean of one value per row, and this is another function "
        "(method='delta' serves smooth functions of means)"
    )


def _moments(x: Any) -> tuple[Any, Any]:
    """Mean and standard error (ddof 1) of samples along the last axis."""
    n = x.shape[-1]
    return x.mean(axis=-1), deviation(x, ddof=1) / math.sqrt(n)


def _rows(values: ArrayLike) -> np.ndarray:
    x = np.asarray(values, float)
    if x.ndim == 0 or x.shape[-1] < 2:
        raise ValueError(f"values must be rows of at least 2 numbers; got shape {x.shape}")
    return x


def t_interval(values: ArrayLike, tails: Tails) -> Bounds:
    """Student interval for a mean, ``xbar +- t_{n-1} s / sqrt(n)``.

    Parameters
    ----------
    values : (..., n) array_like
        Observations, n >= 2.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero.

    Raises
    ------
    ValueError
        If there are fewer than two values, or they are not one row.

    Notes
    -----
    Rows independent and identically distributed. Exact for normal observations, asymptotic
    otherwise.

    References
    ----------
    .. [1] Student (1908), The probable error of a mean, Biometrika 6, 1-25.
    """
    x = _rows(values)
    return around(*_moments(x), student_steps(x.shape[-1] - 1, tails), tails)


def welch(a: ArrayLike, b: ArrayLike, tails: Tails) -> Bounds:
    """Interval for the difference of two independent means, ``mean(a) - mean(b)``.

    ``d +- t_v sqrt(s_a^2/n_a + s_b^2/n_b)`` with Satterthwaite's degrees of freedom
    ``v = (s_a^2/n_a + s_b^2/n_b)^2 / ((s_a^2/n_a)^2/(n_a-1) + (s_b^2/n_b)^2/(n_b-1))``.

    Parameters
    ----------
    a, b : (n_a,), (n_b,) array_like
        Observations of each group, at least two each; variances may differ.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero. Both equal the difference where neither
        group varies.

    Raises
    ------
    ValueError
        If a group has fewer than two values, or is not one row.

    Notes
    -----
    Groups independent, rows independent within each. Approximate for normal observations,
    asymptotic otherwise.

    References
    ----------
    .. [1] Welch (1947), Biometrika 34, 28-35.
    .. [2] Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
    """
    x, y = _rows(a), _rows(b)
    error, df = welch_error(x, y)
    steps = student_steps(df, tails) if error > 0 else (0.0, 0.0)
    return around(x.mean() - y.mean(), error, steps, tails)


def welch_error(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the standard error of the difference of two means, and its degrees of freedom, infinite where it is 0."""
    errors = _moments(x)[1], _moments(y)[1]
    error = math.hypot(*errors)
    if error == 0:
        return 0.0, math.inf
    share_x, share_y = ((one / error) ** 4 for one in errors)
    return error, float(1 / (share_x / (x.size - 1) + share_y / (y.size - 1)))


@record
class Z(Method):
    """Normal interval of a mean, ``xbar +- z s / sqrt(n)``.

    Exact for normal observations with known ``sigma``, else asymptotic.

    Attributes
    ----------
    sigma : float or None
        Known standard deviation of one observation; None estimates it.
    """

    sigma: Any = None

    name = "z"
    of_differences = True
    needs = frozenset({"values"})
    takes = frozenset()
    leaves_range = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean."""
        return mean_refusal(self.name, statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Refuse a single value, unless ``sigma`` is known."""
        if self.sigma is None:
            check_two(n)
        return ()

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.values``."""
        x = evidence.values
        mean, error = _moments(x) if self.sigma is None else (x.mean(axis=-1), self.sigma / math.sqrt(x.shape[-1]))
        return open_sides(*around(mean, error, normal_steps(tails), tails), tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width."""
        return width_remarks(bounds, self.name, evidence.statistic)


@record
class T(ClusterRobust):
    """Student interval of a mean; see :func:`t_interval`.

    Of rows in clusters ``mean +- t sqrt(V)``, with a cluster-robust variance V and its degrees of freedom
    (:func:`~jaxci.intervals.clusters.cluster_variance`, :func:`~jaxci.intervals.clusters.satterthwaite`). Coverage of
    95% intervals of a share of .8, clusters of 15 rows with correlation .3: .88, .91, .93, .94 for 5, 10, 20, 40 of
    them, .95 for very uneven sizes; of a share of .95 .72, .76, .83, .88.
    """

    name = "t"
    of_differences = True
    needs = frozenset({"values"})
    leaves_range = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean, or a difference of shares."""
        return None if is_share_difference(statistic) else mean_refusal(self.name, statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Return Student's quantiles with n - 1 degrees of freedom."""
        check_two(n)
        return student_steps(n - 1, tails)

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.values``, or from ``evidence.clusters``."""
        xp, estimate = evidence.xp, evidence.estimate
        if evidence.clusters is None:
            error, steps = _moments(evidence.values)[1], critical
        else:
            variance, degrees = self.spread(evidence.clusters)
            error, steps = xp.sqrt(variance), student_steps(degrees, tails)
            error = xp.where(error <= NO_VARIATION * xp.abs(estimate), 0.0, error)  # equal values of uneven clusters
        return open_sides(*around(estimate, error, steps, tails), tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width; there is none of one cluster."""
        if evidence.clusters is not None:
            self.check_clusters(evidence.clusters)
        return width_remarks(bounds, self.name, evidence.statistic)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of Student's test."""
        estimate, sums = float(evidence.estimate[0]), evidence.clusters
        if not varies(estimate, standard_error):
            return sign_test(estimate, evidence.n if sums is None else int(sums.count[0]), alternative)
        degrees, test = evidence.n - 1.0, "paired t"
        if sums is not None:
            degrees = float(self.spread(sums)[1][0])
            test = "paired t of clusters" if np.any(sums.sizes > 1) else test
        law = functools.partial(special.stdtr, degrees)
        return standardized_test(estimate, standard_error, law, test, alternative)
