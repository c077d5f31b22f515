"""Normal-theory intervals: z and t for a mean, Welch for two means, the delta method for the rest."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.checks import check_choice, check_number
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import (
    averages_shares,
    has_fixed_trials,
    is_binary_auc,
    is_mean,
    is_proportion,
    is_share_difference,
)
from jaxci.intervals.clusters import DEGREES, ClusterRobust, ClusterSums, satterthwaite
from jaxci.intervals.pvalues import NO_VARIATION, PValue, sign_test, standardized_test, varies
from jaxci.records import record, static
from jaxci.special import deviation, expit, logit, namespace, stdtrit
from jaxci.statistics.base import Statistic
from jaxci.statistics.paired import Paired

SCALES: dict[str, tuple[float, float]] = {
    "natural": (-math.inf, math.inf),
    "logit": (0.0, 1.0),
    "fisher": (-1.0, 1.0),
}


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


def _around(centre: Any, error: Any, steps: tuple[Any, Any], tails: Tails) -> Bounds:
    """Step down and up from ``centre``; infinite on an open side."""
    down, up = steps
    return open_sides(centre - down * error, centre + up * error, tails, (-math.inf, math.inf))


def student_steps(df: Any, tails: Tails) -> tuple[Any, Any]:
    """Return the Student quantiles of both sides for numbers or arrays ``df``, 0 on an open one."""
    down = -stdtrit(df, tails.lower) if tails.has_lower else 0.0
    return down, -stdtrit(df, tails.upper) if tails.has_upper else 0.0


def _moments(x: Any) -> tuple[Any, Any]:
    """Mean and standard error (ddof 1) of samples along the last axis."""
    n = x.shape[-1]
    return x.mean(axis=-1), deviation(x, ddof=1) / math.sqrt(n)


def _rows(values: ArrayLike, least: int = 2) -> np.ndarray:
    x = np.asarray(values, float)
    if x.ndim == 0 or x.shape[-1] < least:
        raise ValueError(f"values must be rows of at least {least} numbers; got shape {x.shape}")
    return x


def z_interval(values: ArrayLike, tails: Tails, sigma: float | None = None) -> Bounds:
    """Gaussian interval for a mean, ``xbar +- z s / sqrt(n)``.

    Parameters
    ----------
    values : (..., n) array_like
        Observations, n >= 2 (n >= 1 with ``sigma``).
    tails : Tails
        Error probability of each side.
    sigma : float, optional
        Known standard deviation, in place of ``s`` (ddof 1).

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero.

    Raises
    ------
    ValueError
        If there are too few values, or they are not one row.

    Notes
    -----
    Rows independent and identically distributed. Asymptotic; exact for normal observations with
    known ``sigma``.
    """
    return _z(_rows(values, least=2 if sigma is None else 1), tails, sigma)


def _z(x: Any, tails: Tails, sigma: Any) -> Bounds:
    mean, error = (x.mean(axis=-1), sigma / math.sqrt(x.shape[-1])) if sigma is not None else _moments(x)
    return _around(mean, error, normal_steps(tails), tails)


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
    return _around(*_moments(x), student_steps(x.shape[-1] - 1, tails), tails)


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
    (mean_a, error_a), (mean_b, error_b) = _moments(x), _moments(y)
    error = math.hypot(error_a, error_b)
    if error == 0:
        return _around(mean_a - mean_b, 0.0, (0.0, 0.0), tails)
    share_a, share_b = (error_a / error) ** 2, (error_b / error) ** 2
    df = 1 / (share_a**2 / (x.size - 1) + share_b**2 / (y.size - 1))
    return _around(mean_a - mean_b, error, student_steps(df, tails), tails)


def width_remarks(bounds: Bounds, name: str, statistic: Statistic) -> tuple[str, ...]:
    """Say that an interval of values that do not vary has no width."""
    if np.all(bounds.low != bounds.high):
        return ()
    if is_share_difference(statistic):
        return (f"the models differ alike everywhere, so the {name!r} interval has no width; use method='auto'",)
    if isinstance(statistic, Paired):
        return (f"the models differ alike everywhere, so the {name!r} interval has no width",)
    return (f"the values do not vary, so the {name!r} interval has no width; {_mean_advice(statistic)}",)


def _mean_advice(statistic: Statistic) -> str:
    """Which method still has width when a sample does not vary."""
    if is_proportion(statistic):
        return "use method='wilson'"
    if np.all(np.isfinite(statistic.bounds)):
        return "use method='betting', which needs the range of the values only"
    return "only a method that is told the range of the values, such as method='betting', has any"


def _width_advice(statistic: Statistic) -> tuple[str, ...]:
    """Which methods have width where an estimate has no variance; nothing where none is known, as of differences."""
    if isinstance(statistic, Paired):
        return ()
    if is_proportion(statistic):
        return ("use method='wilson'",)
    if is_binary_auc(statistic):
        return ("use method='delong_logit'",)
    if averages_shares(statistic):
        return ("use method='square_and_add'",)
    if is_mean(statistic):
        return (_mean_advice(statistic),)
    if not statistic.has_extremes or statistic.task not in ("binary", "multiclass"):
        return ()
    advice = "use method='proper_bayesian', which allows for what was not seen"
    if "y_pred" not in statistic.inputs:
        return (advice,)
    return advice, "method='clopper_pearson' serves the accuracy beside it"


@record
class Z(Method):
    """Normal interval of a mean; see :func:`z_interval`.

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
            _check_two(n)
        return ()

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.values``."""
        return open_sides(*_z(evidence.values, tails, self.sigma), tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width."""
        return width_remarks(bounds, self.name, evidence.statistic)


def _check_two(n: int) -> None:
    if n < 2:
        raise NoInterval(f"values must be rows of at least 2 numbers; got shape ({n},)")


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
        _check_two(n)
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
        return open_sides(*_around(estimate, error, steps, tails), tails, evidence.statistic.bounds)

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


def delta_interval(
    estimate: Any, standard_error: Any, tails: Tails, scale: str = "natural", steps: tuple[Any, Any] | None = None
) -> Bounds:
    """Delta-method interval ``g^-1(g(theta) +- z SE g'(theta))``.

    ``g`` is the identity ("natural"), ``log(p / (1 - p))`` ("logit") or ``atanh`` ("fisher").

    Parameters
    ----------
    estimate, standard_error : (...) arrays
        The estimate and its standard error on the natural scale. With influence values L the
        latter is ``sqrt(sum L_i^2) / n``.
    tails : Tails
        Error probability of each side.
    scale : {"natural", "logit", "fisher"}
        Scale on which the interval is symmetric.
    steps : pair of floats, optional
        Quantiles for z below and above, the standard normal ones by default.

    Returns
    -------
    low, high : (...) arrays
        Bounds. An open side is infinite, or the end of the scale's range. An estimate at the end
        of that range is returned as both bounds.

    Notes
    -----
    Asymptotic.
    """
    xp, steps = namespace(estimate, standard_error), steps or normal_steps(tails)
    if scale == "natural":
        return _around(estimate, standard_error, steps, tails)
    bottom, top = SCALES[scale]
    inside = (bottom < estimate) & (estimate < top)
    centre = xp.where(inside, estimate, (bottom + top) / 2)
    if scale == "logit":
        found = _around(logit(centre), standard_error / (centre * (1 - centre)), steps, tails)
        low, high = (expit(end) for end in found)
    else:
        found = _around(xp.arctanh(centre), standard_error / (1 - centre**2), steps, tails)
        low, high = (xp.tanh(end) for end in found)
    return open_sides(xp.where(inside, low, estimate)[()], xp.where(inside, high, estimate)[()], tails, SCALES[scale])


@record
class Delta(Method):
    """Delta-method interval of any smooth statistic; see :func:`delta_interval`.

    With clusters or strata the standard error in the evidence accounts for them.

    Attributes
    ----------
    scale : {"natural", "logit", "fisher"}
        Scale on which the interval is symmetric. "logit" needs a range of (0, 1) and "fisher"
        one of (-1, 1); they never leave it.
    use_t : bool
        Step by Student's quantiles with n - 1 degrees of freedom, n being the number of units, and take the standard
        error of the jackknife of a mean: the influence of a unit that holds a share h of the rows counts
        ``sqrt((n - 1) / n) / (1 - h)`` times (of equal units ``sqrt(n / (n - 1))`` times). For few clusters.
    degrees_of_freedom : {"groups", "satterthwaite"}
        With ``use_t``, of rows in clusters: n - 1, or fewer where clusters are of unequal size
        (:func:`~jaxci.intervals.clusters.satterthwaite`).
    working_correlation : float
        Of two rows of a cluster, in [0, 1], by which Satterthwaite's are reckoned.
    error : {"influence", "jackknife"}
        Where the standard error comes from: derivatives, or the values with each unit left out, which cost as much as n
        resamples and see how a statistic of few units bends; without strata, and degrees of freedom n - 1.
    """

    scale: str = static(default="natural")
    use_t: bool = static(default=False)
    degrees_of_freedom: str = static(default="groups")
    working_correlation: float = static(default=1.0)
    error: str = static(default="influence")

    name = "delta"
    of_differences = True
    judged_by_size = True
    needs = frozenset({"standard_error"})
    leaves_range = True

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {tuple(SCALES)}; got {self.scale!r}")
        if not isinstance(self.use_t, bool):
            raise TypeError(f"use_t must be True or False; got {self.use_t!r}")
        check_choice("degrees_of_freedom", self.degrees_of_freedom, DEGREES)
        check_choice("error", self.error, ("influence", "jackknife"))
        if self.error == "jackknife" and self.degrees_of_freedom != "groups":
            raise ValueError(
                f"degrees_of_freedom must be 'groups' with error='jackknife'; got {self.degrees_of_freedom!r}"
            )
        check_number("working_correlation", self.working_correlation, "lie in [0, 1]", lambda x: 0 <= x <= 1)

    @property
    def by_leverage(self) -> bool:
        """Whether the standard error it reads allows for clusters of unequal size: a jackknife's does by itself."""
        return self.use_t and self.error == "influence"

    @property
    def by_jackknife(self) -> bool:
        """Whether the standard error must come from leave-one-out values."""
        return self.error == "jackknife"

    def unusable(self, given: frozenset[str]) -> frozenset[str]:
        """Refuse strata where units are left out: the rest of a stratum would weigh less than its share."""
        return super().unusable(given) | (given & {"strata"} if self.by_jackknife else frozenset())

    def _inflation(self, n: int) -> float:
        """Return the error of the jackknife over that by influence, of n equal units."""
        return math.sqrt(n / (n - 1)) if self.error == "influence" else 1.0

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what has no influence values, or not the range of the scale."""
        if not statistic.smooth:
            return (
                f"{self.name!r} needs a statistic that is differentiable in the weights; "
                f"{type(statistic).__name__} is not"
            )
        if self.scale != "natural" and tuple(statistic.bounds) != SCALES[self.scale]:
            low, high = SCALES[self.scale]
            return (
                f"scale={self.scale!r} needs a statistic between {low:g} and {high:g}; "
                f"{type(statistic).__name__} lies between {statistic.bounds[0]:g} and {statistic.bounds[1]:g}"
            )
        return None

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Return Student's quantiles, inflated, where they are wanted."""
        if not self.use_t:
            return None
        _check_two(n)
        lower, upper = student_steps(n - 1, tails)
        inflation = self._inflation(n)
        return inflation * lower, inflation * upper

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.estimate`` and ``evidence.standard_error``."""
        sizes = evidence.sizes
        if self.use_t and self.degrees_of_freedom == "satterthwaite" and sizes is not None:
            degrees = satterthwaite(ClusterSums(sizes, sizes), working_correlation=self.working_correlation)
            inflation = self._inflation(evidence.n)
            critical = tuple(inflation * step for step in student_steps(degrees, tails))
        found = delta_interval(evidence.estimate, evidence.standard_error, tails, self.scale, critical)
        return open_sides(*found, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width, and what to use."""
        estimate, statistic = np.ravel(evidence.estimate)[0], evidence.statistic
        at_the_end = self.scale != "natural" and estimate in statistic.bounds
        if np.all(np.asarray(evidence.standard_error) != 0) and not at_the_end:
            return ()
        remark = f"the estimate {estimate:g} has no estimated variance, so the {self.name!r} interval has no width"
        return ("; ".join([remark, *_width_advice(statistic)]),)
