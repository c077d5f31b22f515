"""Student's interval of a smooth statistic, with degrees of freedom that allow for heavy tails."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from scipy import special

from jaxci.checks import check_choice, check_number
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, open_sides
from jaxci.intervals.capabilities import opposed_mass
from jaxci.intervals.clusters import ClusterSums, satterthwaite
from jaxci.intervals.delta import SCALES, delta_interval, scale_refusal, student_steps, width_remarks
from jaxci.intervals.pvalues import UNDEFINED, PValue, one_or_two_sided, sign_test, varies
from jaxci.intervals.unseen import none_seen, reaching_away
from jaxci.records import record, static
from jaxci.special import namespace, unit
from jaxci.statistics.base import Statistic
from jaxci.statistics.paired import Paired
from jaxci.statistics.summary import is_mean

FEW_DEGREES = 20.0
"""Fewer degrees of freedom get a remark."""
MANY = 0.8
"""So many of those of normal contributions do not."""
HEAVY_TAILS = (
    "Where models differ much and errors have heavy tails, 95% intervals covered as little as 83% in simulations"
)
FEW_FAIL = (
    "Where one model fails on few rows, or errors are in proportion to skewed targets, 95% intervals covered 51% to "
    "92% of 20 rows and 78% to 94% of 50 in simulations"
)
"""What ``benchmarks/failing_rows.py`` found of root mean squared errors, R2, correlations and deviations."""
IN_CLUSTERS = "Where a class is rare, 95% intervals covered as little as 78% in simulations"
"""What ``benchmarks/rare_differences.py`` found of rows in clusters."""


class Spread(NamedTuple):
    """Standard errors (...) and how many degrees of freedom (...) they have."""

    standard_error: Any
    degrees_of_freedom: Any


def spread(influence: Any, mass: float) -> Spread:
    """Return the standard error of a mean of ``influence`` (..., n), centred values, and its degrees of freedom.

    With ``mass`` of a row at the largest and at the smallest value besides, the sums ``S2`` and ``S4`` of squares and
    fourth powers and ``k = (n + 2 mass) S4 / S2^2``: ``sqrt(S2 / (n (n - 1)))`` and ``2 n / (k - 1)``, not above n - 1
    and not below 1. Sums are of values divided by the largest, so that none overflows.
    """
    xp, n = namespace(influence), influence.shape[-1]
    scale = unit(xp.max(xp.abs(influence), axis=-1))
    scaled = influence / scale[..., None]
    squares = scaled**2
    ends = xp.stack([scaled.max(axis=-1), scaled.min(axis=-1)], axis=-1) ** 2
    second = squares.sum(axis=-1) + mass * ends.sum(axis=-1)
    fourth = (squares**2).sum(axis=-1) + mass * (ends**2).sum(axis=-1)
    varied = second > 0
    kurtosis = (n + 2 * mass) * fourth / xp.where(varied, second, 1.0) ** 2
    degrees = xp.clip(2 * n / xp.maximum(kurtosis - 1, 1e-9), 1.0, max(n - 1.0, 1.0))
    return Spread(xp.sqrt(second / (n * (n - 1))) * scale, xp.where(varied, degrees, n - 1.0))


def spread_of_clusters(influence: Any, mass: float, sums: ClusterSums) -> Spread:
    """Return the :func:`spread` of what clusters contribute, with at most the degrees of freedom their sizes leave."""
    error, degrees = spread(influence, mass)
    fewer = satterthwaite(sums, working_correlation=0.0)
    return Spread(error, namespace(influence).minimum(degrees, fewer))


def skewness(influence: Any) -> Any:
    """Return the skewness (...) of a mean of ``influence`` (..., n), centred values: theirs over the root of n."""
    xp = namespace(influence)
    scaled = influence / unit(xp.max(xp.abs(influence), axis=-1))[..., None]
    second = (scaled**2).sum(axis=-1)
    return (scaled**3).sum(axis=-1) / xp.where(second > 0, second, 1.0) ** 1.5


def further(step: Any, skew: Any) -> Any:
    """Return how many errors (...) an end lies away that was to lie ``step`` away, where the values are skewed.

    At least as many, and those that Hall's monotone transformation (1992) of a ratio t to its error,
    ``t + a t^2 / 3 + a^2 t^3 / 27 + a / 6`` with the skewness ``a`` of the mean, takes to ``step``, but at most twice
    as many: it is flat where it turns.
    """
    xp, moved = namespace(step, skew), step - skew / 6
    root = xp.cbrt(1 + skew * moved)
    return xp.minimum(xp.maximum(step, 3 * moved / (root * root + root + 1)), step + xp.abs(step))


def nearer(ratio: float, skew: float) -> float:
    """Return the step that :func:`further` takes to ``ratio``."""
    transformed = ratio + skew * ratio**2 / 3 + skew**2 * ratio**3 / 27 + skew / 6
    return max(min(ratio, transformed), ratio / 2) if ratio >= 0 else min(ratio, transformed)


def decided_by_few(degrees: float, n: int, units: str, what: str) -> str:
    """Say that a few of n rows or clusters decide ``what``; nothing where degrees of freedom are many enough."""
    if degrees >= min(FEW_DEGREES, MANY * (n - 1)):
        return ""
    known = f"its error is known no better than that of {degrees + 1:.0f} normal values."
    return f"a few of the {n} {units} decide the {what}: {known}"


@record
class KurtosisT(Method):
    """Student's interval of a smooth statistic whose rows may have heavy tails, and interval and test of a difference.

    ``d -+ t s``: the error s and the degrees of freedom of t come from what the rows contribute to the estimate, and
    from a little of a row at the largest and at the smallest contribution (see :func:`spread`). For normal
    contributions that is nearly Student's interval; where few rows decide the estimate it is wider.

    Attributes
    ----------
    mass : float
        Of the rows at both extremes, at least 0.
    scale : {"natural", "logit", "fisher", "log", "log_complement"}
        Scale on which the interval is symmetric, as of :class:`~jaxci.intervals.delta.Delta`; that of a difference is
        the natural one.
    error : {"influence", "jackknife"}
        What a row contributes: n times the derivative in its weight (for a mean, its value less the mean), or Tukey's
        pseudo-value less their mean, which costs as much as n resamples.
    skewed : bool
        Let both ends reach :func:`further`, by the skewness of what rows contribute: where some lie far out on one
        side, a sample that shows few has both an estimate on the other side and a small error. For independent rows of
        equal weight, of means, and of what is contributed by the jackknife. The p-value follows suit.

    Notes
    -----
    Independent rows, also with case weights or within strata: contributions are then less the mean of their stratum. Of
    clusters what the rows of each contribute together, as a jackknife of clusters of unequal size would have it, with
    at most the degrees of freedom that their sizes leave (:func:`~jaxci.intervals.clusters.satterthwaite`, of rows that
    are independent: differences of two models are hardly alike within a cluster).
    The variance of s^2 is that of n values of this kurtosis to first order, and a variance estimate so spread has these
    degrees of freedom (Satterthwaite). Coverage of 95% intervals of differences of mean squared errors, one model's
    errors 1.5 times the other's, at 20, 50, 200 and 1,000 rows, with Student's interval in brackets: normal errors .93,
    .95, .96, .95 (.91, .94, .95, .95); exponential .88, .92, .95, .96 (.86, .89, .92, .94); t with 3 degrees of
    freedom, of which squares have no variance, .85, .87, .89, .89 (.80, .83, .85, .86). Few degrees of freedom get a
    remark; that there is none is no assurance, as the rows that would show heavy tails may not have been seen. Of
    areas, average precisions and metrics of labels the end away from 0 allows for rows on which models differ most,
    though none was seen (:mod:`jaxci.intervals.unseen`). The standard error beside the interval is that without
    ``mass``. ``benchmarks/compare_errors.py`` measures both. Of means of 20, 50, 100 and 300 lognormal differences,
    whose logarithms have sd 1, .94, .96, .97, .96 with ``skewed``, .90, .93, .94, .94 without, .87, .90, .92, .93 by
    Student's interval, at 1.6 to 1.3, 1.1, 0.9 to 1.0 times the width needed (``benchmarks/skewed_differences.py``).

    References
    ----------
    .. [1] Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2,
       110-114.
    .. [2] Efron & Tibshirani (1993), An introduction to the bootstrap, eq. (11.5) (the jackknife error).
    .. [3] Hall (1992), On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54,
       221-228.
    """

    mass: float = static(default=0.25)
    scale: str = static(default="natural")
    error: str = static(default="influence")
    skewed: bool = static(default=False)

    name = "kurtosis_t"
    of_differences = True
    needs = frozenset({"standard_error", "influence", "unseen"})
    takes = frozenset({"groups", "strata", "sample_weight"})
    leaves_range = True

    def __post_init__(self) -> None:
        check_number("mass", self.mass, "be finite and not negative", lambda x: 0 <= x < math.inf)
        check_choice("scale", self.scale, tuple(SCALES))
        check_choice("error", self.error, ("influence", "jackknife"))
        if not isinstance(self.skewed, bool):
            raise TypeError(f"skewed must be True or False; got {self.skewed!r}")
        if self.skewed and self.scale != "natural":
            raise ValueError(f"skewed=True goes with scale='natural'; got {self.scale!r}")

    @property
    def by_jackknife(self) -> bool:
        """Whether contributions come from leave-one-out values."""
        return self.error == "jackknife"

    @property
    def by_leverage(self) -> bool:
        """Whether contributions of clusters allow for their unequal sizes."""
        return self.error == "influence"

    def unusable(self, given: frozenset[str]) -> frozenset[str]:
        """Refuse strata where rows are left out, the rest of which would weigh less than its share, and clusters.

        With ``skewed`` also weights.
        """
        alike = given & {"groups", "strata"} if self.by_jackknife or self.skewed else frozenset()
        return super().unusable(given) | alike | (given & {"sample_weight"} if self.skewed else frozenset())

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not differentiable in the weights, or not in the range of the scale."""
        if not statistic.smooth:
            return f"{self.name!r} needs a metric that is differentiable in the weights of the rows"
        if isinstance(statistic, Paired) and self.scale != "natural":
            return f"scale={self.scale!r} of {self.name!r} is for the metric of one model"
        if self.skewed and not (is_mean(statistic) or self.by_jackknife):
            return f"skewed=True of {self.name!r} is for means, of other metrics with error='jackknife'"
        return scale_refusal(self.scale, statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Refuse a single row."""
        if n < 2:
            raise NoInterval(f"method {self.name!r} needs at least 2 rows; got {n}")
        return ()

    def _spread(self, evidence: Evidence) -> Spread:
        """Return the error and its degrees of freedom, none where the difference has no error but rounding."""
        seen, sizes = evidence.influence, evidence.sizes
        if sizes is None:
            error, degrees = spread(seen, self.mass)
        else:
            error, degrees = spread_of_clusters(seen, self.mass, ClusterSums(sizes, sizes))
        return Spread(evidence.xp.where(evidence.standard_error == 0, 0.0, error), degrees)

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.influence``."""
        error, degrees = self._spread(evidence)
        steps = student_steps(degrees, tails)
        if self.skewed:
            skew = skewness(evidence.influence)
            steps = further(steps[0], skew), further(steps[1], -skew)
        found = Bounds(*delta_interval(evidence.estimate, error, tails, self.scale, steps))
        if evidence.unseen is not None:
            found = reaching_away(found, evidence.estimate, evidence.unseen, tails)
            if (mass := opposed_mass(evidence.statistic)) is not None:
                seen = (error > 0) | (evidence.estimate != 0)
                alike = none_seen(evidence.unseen / (2 * mass), tails)
                found = Bounds(*(evidence.xp.where(seen, x, y) for x, y in zip(found, alike, strict=True)))
        return open_sides(*found, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width, or that few rows decide it."""
        error, degrees = (float(x[0]) for x in self._spread(evidence))
        of_two, units = isinstance(evidence.statistic, Paired), "rows" if evidence.sizes is None else "clusters"
        said = decided_by_few(degrees, evidence.n, units, "difference" if of_two else "estimate")
        allowed_for = units == "rows" and evidence.unseen is not None  # by quantiles, and by what was not seen
        if not error > 0 or not said or allowed_for:
            return width_remarks(bounds, self.name, evidence.statistic)
        low = (FEW_FAIL if self.by_jackknife else HEAVY_TAILS) if of_two and units == "rows" else ""
        if units == "clusters" and of_two and evidence.statistic.task in ("binary", "multiclass"):
            low = IN_CLUSTERS
        return (f"{said} {low}".rstrip(),)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of Student's test with these degrees of freedom."""
        estimate, (error, degrees) = float(evidence.estimate[0]), (float(x[0]) for x in self._spread(evidence))
        if math.isnan(estimate) or math.isnan(error):
            return PValue(math.nan, UNDEFINED if math.isnan(estimate) else "none: the error is undefined")
        if not varies(estimate, error):
            alike = estimate == 0 or is_mean(evidence.statistic)
            return sign_test(estimate, evidence.n, alternative) if alike else PValue(math.nan, "no variation")
        ratio, skew = estimate / error, float(skewness(evidence.influence)[0]) if self.skewed else 0.0
        steps = (nearer(sign * ratio, sign * skew) if self.skewed else sign * ratio for sign in (1, -1))
        below, above = (float(special.stdtr(degrees, -step)) for step in steps)
        return PValue(one_or_two_sided(below, above, alternative), "adjusted paired t")
