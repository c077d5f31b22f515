"""The delta method: intervals of smooth statistics by their standard error, and what intervals without width say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import check_choice, check_number
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import averages_shares, is_binary_auc, is_share_difference, knows_mistakes
from jaxci.intervals.clusters import DEGREES, ClusterSums, satterthwaite
from jaxci.records import record, static
from jaxci.special import expit, logit, namespace, stdtrit
from jaxci.statistics.base import Statistic, is_proportion
from jaxci.statistics.paired import Paired
from jaxci.statistics.summary import is_mean

MOST_LOG = 709.0
"""Above it the exponential is no number in double precision."""


class Scale(NamedTuple):
    """Scale on which an interval is symmetric.

    The ``bounds`` of the values that it serves, one of them, the increasing function ``to`` it, its inverse and its
    derivative.
    """

    bounds: tuple[float, float]
    inside: float
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[Any], Any]


def _exp(y: Any) -> Any:
    """Return ``exp(y)``, at most the largest number."""
    xp = namespace(y)
    return xp.exp(xp.minimum(y, MOST_LOG))


SCALES: dict[str, Scale] = {
    "natural": Scale((-math.inf, math.inf), 0.0, lambda x: x, lambda x: x, lambda x: 1.0),
    "logit": Scale((0.0, 1.0), 0.5, logit, expit, lambda p: 1 / (p * (1 - p))),
    "fisher": Scale(
        (-1.0, 1.0),
        0.0,
        lambda r: namespace(r).arctanh(r),
        lambda z: namespace(z).tanh(z),
        lambda r: 1 / (1 - r**2),
    ),
    "log": Scale((0.0, math.inf), 1.0, lambda x: namespace(x).log(x), _exp, lambda x: 1 / x),
    "log_complement": Scale(
        (-math.inf, 1.0), 0.0, lambda x: -namespace(x).log1p(-x), lambda y: 1 - _exp(-y), lambda x: 1 / (1 - x)
    ),
}


def around(centre: Any, error: Any, steps: tuple[Any, Any], tails: Tails) -> Bounds:
    """Step down and up from ``centre``; infinite on an open side."""
    down, up = steps
    return open_sides(centre - down * error, centre + up * error, tails, (-math.inf, math.inf))


def student_steps(df: Any, tails: Tails) -> tuple[Any, Any]:
    """Return the Student quantiles of both sides for numbers or arrays ``df``, 0 on an open one."""
    down = -stdtrit(df, tails.lower) if tails.has_lower else 0.0
    return down, -stdtrit(df, tails.upper) if tails.has_upper else 0.0


def check_two(n: int) -> None:
    """Refuse a single unit."""
    if n < 2:
        raise NoInterval(f"values must be rows of at least 2 numbers; got shape ({n},)")


def width_remarks(bounds: Bounds, name: str, statistic: Statistic) -> tuple[str, ...]:
    """Say that an interval of values that do not vary has no width."""
    if np.all(bounds.low != bounds.high):
        return ()
    if is_share_difference(statistic):
        return (f"the models differ alike everywhere, so the {name!r} interval has no width; use method='auto'",)
    if isinstance(statistic, Paired):
        return (f"the models differ alike everywhere, so the {name!r} interval has no width",)
    known = is_proportion(statistic) or is_mean(statistic)
    why = "the values do not vary" if known or statistic.task == "values" else "the estimate has no estimated variance"
    return (f"{why}, so the {name!r} interval has no width" + f"; {_mean_advice(statistic)}" * known,)


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
    if not knows_mistakes(statistic):
        return ()
    advice = "use method='proper_bayesian', which allows for what was not seen"
    if "y_pred" not in statistic.inputs:
        return (advice,)
    return advice, "method='clopper_pearson' serves the accuracy beside it"


def scale_refusal(scale: str, statistic: Statistic) -> str | None:
    """Return why a statistic is not served on a scale; None if it is."""
    low, high = SCALES[scale].bounds
    if scale == "natural" or tuple(statistic.bounds) == (low, high):
        return None
    return (
        f"scale={scale!r} needs a statistic between {low:g} and {high:g}; "
        f"{type(statistic).__name__} lies between {statistic.bounds[0]:g} and {statistic.bounds[1]:g}"
    )


def delta_interval(
    estimate: Any, standard_error: Any, tails: Tails, scale: str = "natural", steps: tuple[Any, Any] | None = None
) -> Bounds:
    """Delta-method interval ``g^-1(g(theta) +- z SE g'(theta))``.

    ``g`` is the identity ("natural"), ``log(p / (1 - p))`` ("logit"), ``atanh`` ("fisher"), ``log`` ("log") or
    ``-log(1 - x)`` ("log_complement").

    Parameters
    ----------
    estimate, standard_error : (...) arrays
        The estimate and its standard error on the natural scale. With influence values L the
        latter is ``sqrt(sum L_i^2) / n``.
    tails : Tails
        Error probability of each side.
    scale : {"natural", "logit", "fisher", "log", "log_complement"}
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
    xp, steps, known = namespace(estimate, standard_error), steps or normal_steps(tails), SCALES[scale]
    inside = (known.bounds[0] < estimate) & (estimate < known.bounds[1])
    centre = xp.where(inside, estimate, known.inside)
    found = around(known.to(centre), standard_error * known.slope(centre), steps, tails)
    low, high = (xp.where(inside, known.back(end), estimate)[()] for end in found)
    return open_sides(low, high, tails, known.bounds)


@record
class Delta(Method):
    """Delta-method interval of any smooth statistic; see :func:`delta_interval`.

    With clusters or strata the standard error in the evidence accounts for them.

    Attributes
    ----------
    scale : {"natural", "logit", "fisher", "log", "log_complement"}
        Scale on which the interval is symmetric. "logit" needs a range of (0, 1), "fisher" one of (-1, 1), "log" (of
        errors and standard deviations) one of (0, inf), and "log_complement" (of R2: log of 1 - R2) one of (-inf, 1);
        they never leave it.
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
        check_choice("scale", self.scale, tuple(SCALES))
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
        return scale_refusal(self.scale, statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Return Student's quantiles, inflated, where they are wanted."""
        if not self.use_t:
            return None
        check_two(n)
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
