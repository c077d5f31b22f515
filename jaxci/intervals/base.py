"""What every interval method promises: bounds from evidence, at any level, without resampling."""

from __future__ import annotations

import abc
import functools
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jaxci.checks import ALTERNATIVES, shown
from jaxci.intervals.pvalues import UNDEFINED, PValue, one_or_two_sided, sign_test, smallest_tail, varies
from jaxci.records import Named, record, static
from jaxci.resampling.laws import BootstrapDistribution, Drawn
from jaxci.special import namespace, ndtri
from jaxci.statistics.base import ExtremeStatistic, Statistic
from jaxci.statistics.summary import is_mean

LEAST_TAIL = 1e-300
"""Tails of a p-value below it are taken for it."""


class NoInterval(ValueError):
    """There is no interval at this sample size, or on these data; the message says what there is."""


class Prior(NamedTuple):
    """What a method adds to the data: pseudo-units of this mass, and how far those of a mean lie beyond its values."""

    mass: float
    reach: float
    bounded_reach: float

    def masses(self, statistic: Statistic, n_classes: int) -> tuple[float, ...]:
        """Return the mass of each pseudo-unit of a statistic that has extremes."""
        assert isinstance(statistic, ExtremeStatistic)
        return tuple(self.mass * share for share in statistic.pseudo_masses(n_classes))


class Nesting(NamedTuple):
    """Resamples of resamples that a method reads: so many outer ones of the data, and inner ones of each of these."""

    outer: int
    inner: int


@record
class Tails:
    """Error probability allowed below and above.

    A side without a bound has ``has_lower`` or ``has_upper`` False; its probability is 0 and is never read.
    """

    lower: Any
    upper: Any
    has_lower: bool = static(default=True)
    has_upper: bool = static(default=True)

    @property
    def sides(self) -> tuple[float, float]:
        """Both probabilities as numbers on the host, 0 on a side without a bound."""
        return float(self.lower) if self.has_lower else 0.0, float(self.upper) if self.has_upper else 0.0


def tails(confidence_level: float, alternative: str = "two-sided") -> Tails:
    """Split ``1 - confidence_level`` over the tails with SciPy's meaning of ``alternative``.

    ``"less"`` gives an upper bound only, ``"greater"`` a lower bound only.
    """
    alpha = 1.0 - confidence_level
    if alternative == "two-sided":
        return Tails(alpha / 2, alpha / 2)
    if alternative == "less":
        return Tails(0.0, alpha, has_lower=False)
    if alternative == "greater":
        return Tails(alpha, 0.0, has_upper=False)
    raise ValueError(f"alternative must be one of {ALTERNATIVES}; got {alternative!r}")


def normal_steps(tails: Tails) -> tuple[Any, Any]:
    """Return the standard normal quantile of one minus each tail, 0 on an open side, whose value is discarded."""
    down = -ndtri(tails.lower) if tails.has_lower else 0.0
    return down, -ndtri(tails.upper) if tails.has_upper else 0.0


class Bounds(NamedTuple):
    """Interval bounds: arrays (...) over data sets, NaN where there is no interval."""

    low: Any
    high: Any


def open_sides(low: Any, high: Any, tails: Tails, ends: tuple[float, float]) -> Bounds:
    """Return bounds (...) with an end of the range on a side that has none, NaN where the other is."""
    xp = namespace(low, high)
    if not tails.has_lower:
        low = xp.where(xp.isnan(high), xp.nan, ends[0])[()]
    if not tails.has_upper:
        high = xp.where(xp.isnan(low), xp.nan, ends[1])[()]
    return Bounds(low, high)


@record
class Evidence:
    """Everything an interval may be read from: a pytree whose arrays have leading axes (...) over data sets.

    A method declares the fields it needs. All arrays are NumPy's, or all are JAX's.

    Attributes
    ----------
    statistic : Statistic
        The statistic the interval is about.
    estimate : (...) array
        Its value on the data.
    n : int
        Number of independent units (rows, or clusters); static.
    count, nobs : (...) arrays
        Successes and trials of a proportion.
    weighing : Weighing
        How the rows of a proportion weigh (see :mod:`jaxci.intervals.weighted_proportion`), where they differ.
    shares : Shares
        Proportions whose mean the estimate is, (..., K) each.
    values : (..., n) array
        Per-observation values whose mean, order statistics or variance the estimate is.
    counts : (..., n) array
        How many observations each of the values stands for, which then ascend; None: each is one.
    standard_error : (...) array
        Influence-function standard error, ``sqrt(sum L_i**2) / n``.
    acceleration : (...) array
        BCa acceleration; NaN where it is 0/0.
    distribution : BootstrapDistribution
        Distribution of the drawn replicates.
    core : (...) array
        Where the replicates of ``distribution`` are mapped (see :class:`~jaxci.resampling.laws.Drawn`), the estimate
        before the map: ties with it are then seen exactly.
    pivots : Drawn
        Distribution of ``(replicate - estimate) / its own standard error``, NaN where that error is zero.
    levels : Drawn
        Of every outer resample, the share of its inner replicates below the estimate, ties half.
    law : BootstrapDistribution
        Exact bootstrap distribution.
    auc : AucEvidence
        Counts and placement variances of a ROC curve (see :mod:`jaxci.intervals.auc`).
    auc_difference : AucDifferenceEvidence
        Difference of two areas and its variance (see :mod:`jaxci.intervals.auc_difference`).
    places : Places
        Where the quantiles lie whose sum the estimate is (see :mod:`jaxci.intervals.woodruff`).
    clusters : ClusterSums
        What the rows of every cluster sum to (see :mod:`jaxci.intervals.clusters`), for a mean or a share.
    sizes : (..., G) array
        Rows of every cluster, for a method whose standard error allows for their unequal sizes.
    flips : Flipped
        Means of the clusters whose signs are flipped (see :mod:`jaxci.intervals.sign_flip`).
    outcomes : PairedOutcomes
        On how many rows two models succeed (see :mod:`jaxci.intervals.proportion_difference`).
    adjusted : Adjusted
        The difference of two models with rows added on which they differ (see :mod:`jaxci.intervals.adjusted_wald`).
    unseen : (...) array
        Variance that rows on which two models differ most add to their difference, though none was seen (see
        :mod:`jaxci.intervals.unseen`); None of statistics that know of none.
    influence : (..., n) array
        What every row contributes to the estimate, less the mean of that (see :mod:`jaxci.intervals.kurtosis`).
    curvature : Curvature
        Second-order terms of the ABC interval (see :mod:`jaxci.intervals.approximate`).
    posterior : BootstrapDistribution
        Distribution of the statistic under random weights of the units and of pseudo-units that were not seen.
    gaps : Gaps or ClusterGaps
        Bins of a calibration curve along the last axis (see :class:`~jaxci.statistics.probability.Gaps`), or what rows
        in clusters tell of its mean square (:class:`~jaxci.statistics.probability.ClusterGaps`).
    dependence : Dependence
        How rows in the order of time depend on each other (see :mod:`jaxci.intervals.blocks`).
    uniform : (...) array
        A draw from (0, 1) for a method that is randomized or draws for itself.
    """

    statistic: Statistic
    estimate: Any
    n: int = static()
    count: Any = None
    nobs: Any = None
    weighing: Any = None
    shares: Any = None
    values: Any = None
    counts: Any = None
    standard_error: Any = None
    acceleration: Any = None
    distribution: BootstrapDistribution | None = None
    core: Any = None
    pivots: Drawn | None = None
    levels: Drawn | None = None
    law: BootstrapDistribution | None = None
    auc: Any = None
    auc_difference: Any = None
    places: Any = None
    clusters: Any = None
    sizes: Any = None
    flips: Any = None
    outcomes: Any = None
    adjusted: Any = None
    unseen: Any = None
    influence: Any = None
    curvature: Any = None
    posterior: BootstrapDistribution | None = None
    gaps: Any = None
    dependence: Any = None
    uniform: Any = None

    @property
    def xp(self) -> Any:
        """Array namespace of the evidence: ``numpy`` or ``jax.numpy``."""
        return namespace(self.estimate)


def _least_tail(evidence: Evidence) -> float:
    """Return the smallest tail that the evidence of one data set can tell from 0; NaN where it shows no variation."""
    drawn, law = evidence.distribution, evidence.law
    if isinstance(drawn, Drawn):
        return 1 / (min(float(one.count[0]) for one in (drawn, evidence.levels) if one is not None) + 1)
    law = law or drawn
    if law is not None and law.probability_error is not None:
        return max(float(np.squeeze(law.probability_error)), LEAST_TAIL)
    return LEAST_TAIL if np.all(evidence.standard_error != 0) else math.nan


class Method(Named, abc.ABC):
    """An interval method: a frozen :func:`~jaxci.records.record`.

    Class attributes: ``name`` (the word users type), ``takes`` (what of clusters, strata and weights it honours; it
    refuses the rest), ``requires_groups`` (it is for clusters alone), ``requires_blocks`` (for blocks of rows
    alone), ``leaves_range`` (bounds may fall outside the estimand's range and are then clipped), ``of_differences``
    (it also serves the difference of a statistic between two models, with a p-value), ``judged_by_size`` (few rows
    get a remark where no card judged it), ``allows_for_few`` (percentiles go further out where units are few),
    ``models_variance`` (the variance of an area comes from a model of the scores), ``reads_counts`` (it serves values
    that are counted, not listed row by row), ``tails_at_once`` (tails of which :meth:`bounds` finds the ends of one
    data set together).

    The work is in three parts. :meth:`critical` is host code that knows the sample size and the level but no data;
    :meth:`bounds` is array code, on NumPy arrays or traced by JAX, for stacks of data sets; :meth:`remarks` is host
    code that says what a reader of one interval should know.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"groups", "strata", "sample_weight"})
    requires_groups: ClassVar[bool] = False
    requires_blocks: ClassVar[bool] = False
    leaves_range: ClassVar[bool] = False
    of_differences: ClassVar[bool] = False
    judged_by_size: ClassVar[bool] = False
    allows_for_few: ClassVar[bool] = False
    models_variance: ClassVar[bool] = False
    reads_counts: ClassVar[bool] = False
    tails_at_once: ClassVar[int] = 1

    @property
    @abc.abstractmethod
    def needs(self) -> frozenset[str]:
        """What the method reads: fields of :class:`Evidence`, and "replicates" for ``distribution``."""

    @property
    def drawn(self) -> Method:
        """The method that reads of drawn resamples what this one reads of a computed law; else this one."""
        return self

    @property
    def own_resamples(self) -> int:
        """How many resamples a method draws by itself; 0 where it reads those of the call, or none."""
        return 0

    def with_resamples(self, n_resamples: int) -> Method:
        """Return the method with so many resamples of its own, where it draws any."""
        return self

    @property
    def reads_law(self) -> bool:
        """Whether all that it reads of resamples is the distribution of the replicates, if it reads any."""
        return False

    @property
    def by_jackknife(self) -> bool:
        """Whether the acceleration, or the standard error, it reads must come from leave-one-out values."""
        return False

    @property
    def by_leverage(self) -> bool:
        """Whether the standard error it reads allows for clusters of unequal size, as that of a jackknife does."""
        return False

    @property
    def prior(self) -> Prior | None:
        """What is added to the data for a method that reads a posterior."""
        return None

    @property
    def nesting(self) -> Nesting | None:
        """How many resamples of resamples a method reads."""
        return None

    @property
    def reads_resamples(self) -> bool:
        """Whether it reads resamples, be it of the rows or of a posterior."""
        return bool(self.needs & {"replicates", "posterior"})

    @property
    def reads_formulas(self) -> bool:
        """Whether it reads, besides resamples, what takes rows for independent."""
        return bool(self.needs & {"acceleration", "standard_error", "pivots"})

    @property
    def allows_blocks(self) -> bool:
        """Whether it serves blocks of rows in the order of time: for them, or by what their resamples alone tell."""
        alone = "replicates" in self.needs and not self.reads_formulas and self.nesting is None
        return self.requires_blocks or alone

    @property
    def n_flips(self) -> int:
        """How many ways to flip the signs of clusters a method reads at most."""
        return 0

    @abc.abstractmethod
    def refusal(self, statistic: Statistic) -> str | None:
        """Return why the method cannot serve ``statistic``, or None if it can."""

    def refusal_of_data(self, statistic: Statistic, given: frozenset[str]) -> str | None:
        """Return why the method cannot serve ``statistic`` of one data set with clusters or weights; None if it can.

        ``given`` says which of them there are; that it can use them at all is told by :meth:`unusable`.
        """
        return self.refusal(statistic)

    def unusable(self, given: frozenset[str]) -> frozenset[str]:
        """Return which of clusters, strata and weights, of those ``given``, the method cannot honour."""
        return given - self.takes

    def refusal_of_rows(self, statistic: Statistic, given: frozenset[str] = frozenset()) -> str | None:
        """Return why the method cannot serve ``statistic`` of rows with clusters, strata or weights; None if it can.

        ``given`` says which of them there are (:attr:`~jaxci.statistics.layout.Layout.given`).
        """
        if self.requires_groups and "groups" not in given:
            return f"{self.name!r} is for rows in clusters, and these are independent"
        if self.requires_blocks:
            return f"{self.name!r} is for rows in the order of time, and these are independent"
        if unusable := self.unusable(given):
            return f"{self.name!r} cannot use {' and '.join(sorted(unusable))}"
        return self.refusal(statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Return the critical values that :meth:`bounds` reads: a pytree of NumPy numbers and arrays.

        Raises
        ------
        NoInterval
            If there is no interval at this n.
        """
        return ()

    @abc.abstractmethod
    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the bounds (...), NaN where there is no interval; an open side is the end of the estimand's range."""

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say what a reader of the interval of one data set should know.

        Raises
        ------
        NoInterval
            If the data are none that the method is for, so that there is no interval.
        """
        return ()

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of a true value of 0 that goes with the interval of one data set.

        It is the smallest error probability at which the interval excludes 0; of replicates, not below 1 / (B + 1) on
        a side. ``standard_error`` is the one reported beside the interval.
        """
        estimate = float(evidence.estimate[0])
        if math.isnan(standard_error):
            return PValue(math.nan, UNDEFINED)
        if not varies(estimate, standard_error) and (estimate == 0 or is_mean(evidence.statistic)):
            return sign_test(estimate, evidence.n, alternative)
        least = _least_tail(evidence)
        if math.isnan(least):
            return PValue(math.nan, "no variation")
        below, above = (max(tail, least) for tail in self.tails_at_zero(evidence, least))
        return PValue(one_or_two_sided(below, above, alternative), f"inversion of the {self.name!r} interval")

    def tails_at_zero(self, evidence: Evidence, least: float) -> tuple[float, float]:
        """Return the smallest tails, from ``least`` on, whose lower and whose upper bound of one data set exclude 0."""

        def excludes(tail: np.ndarray, has_lower: bool) -> Any:
            error = tail if self.tails_at_once > 1 else float(tail[0])
            one = Tails(error, 0.0, has_upper=False) if has_lower else Tails(0.0, error, has_lower=False)
            return self._excludes(evidence, one)

        below, above = (
            smallest_tail(functools.partial(excludes, has_lower=lower), least, self.tails_at_once)
            for lower in (True, False)
        )
        return below, above

    def _excludes(self, evidence: Evidence, tails: Tails) -> Any:
        """Whether one-sided intervals of one data set exclude 0: one, or with arrays of tails many."""
        critical = self.critical(evidence.statistic, evidence.n, tails)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            low, high = self.checked_bounds(evidence, tails, critical)
        return np.squeeze(low) > 0 if tails.has_lower else np.squeeze(high) < 0

    def checked_bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the :meth:`bounds`; a method of users may return any pair of arrays (...) over data sets."""
        found, shape = self.bounds(evidence, tails, critical), np.shape(evidence.estimate)
        if isinstance(found, Bounds):
            return found
        if not (isinstance(found, tuple) and len(found) == 2 and all(np.shape(end) in ((), shape) for end in found)):
            rule = f"return the low and the high end, arrays of shape {shape} as the estimate is"
            raise ValueError(f"bounds of method {self.name!r} must {rule}; got {shown(found)}")
        return Bounds(*found)

    def interval(self, evidence: Evidence, tails: Tails) -> tuple[Bounds, tuple[str, ...]]:
        """Return bounds and remarks for one data set on the host."""
        critical = self.critical(evidence.statistic, evidence.n, tails)
        with np.errstate(invalid="ignore", divide="ignore"):
            bounds = self.checked_bounds(evidence, tails, critical)
        return bounds, self.remarks(evidence, bounds)
