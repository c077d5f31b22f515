"""Results about learners: one interval, and fits that many intervals are read from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.api.all_right import AllRight
from jaxci.checks import check_choice, check_confidence_level, shown
from jaxci.generalization.base import IncompleteFits, LossInterval, Resampled, check_bounds, pooled
from jaxci.generalization.registry import METHODS, usual_scale
from jaxci.inference.ends import within_range
from jaxci.intervals.base import Bounds, tails
from jaxci.intervals.proportion import ClopperPearson
from jaxci.intervals.pvalues import NO_VARIATION
from jaxci.printing import ConfidenceInterval, Printable, number
from jaxci.resampling.plan import Plan
from jaxci.results import ComparisonResult, IntervalResult


@dataclasses.dataclass(frozen=True, eq=False)
class GeneralizationResult(IntervalResult):
    """An estimated generalization error with its interval.

    Attributes
    ----------
    target : str
        What the interval is for: the risk of one model, its expectation over data sets, or a proxy.
    n_fits : int
        Models fitted, those that other methods read too among them.
    n_failed : int
        Splits of the first plan whose model could not be fitted.
    losses : (S, n) array
        Of the first plan; NaN where a split does not test a row.
    plan : Plan
        The first plan.
    """

    target: str = ""
    n_fits: int = 0
    n_failed: int = 0
    losses: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 0)), repr=False)
    plan: Plan | None = dataclasses.field(default=None, repr=False)

    heading = ("loss", *IntervalResult.heading[1:])
    subject = "confidence intervals of the generalization error"

    unlisted = IntervalResult.unlisted | {"losses", "plan"}

    def notes(self) -> list[str]:
        """Return the lines below the table: target, fits, reason and warnings."""
        return [f"target: {self.target}; {self.n_fits} fits", *super().notes()]


@dataclasses.dataclass(frozen=True, eq=False)
class InducerComparison(ComparisonResult):
    """A difference of two learners.

    Attributes
    ----------
    rope : float or None
        Differences up to so much are of no practical account.
    probabilities : dict or None
        Posterior probabilities that a is better, that both are equivalent, and that b is better.
    """

    rope: float | None = None
    probabilities: dict[str, float] | None = None

    def notes(self) -> list[str]:
        """Return the lines below the table, with the posterior where it was asked for."""
        if self.probabilities is None:
            return super().notes()
        shares = ", ".join(f"{what} {share:.3f}" for what, share in self.probabilities.items())
        return [*super().notes(), f"posterior, equivalent within {number(self.rope or 0.0)}: {shares}"]


FEW_ERRORS = 10
"""Rows that are predicted wrong below which means of a loss of 0 and 1 are skewed."""
MOST, FAR = 1e305, 300
"""The largest loss, of either sign; and powers of two up to which squares of losses are numbers."""


def checked_interval(
    method: str, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]
) -> LossInterval:
    """Return the interval of a method, or one of NaN that says why, where too many fits failed.

    Losses whose squares would overflow, or vanish, are taken over a power of two.

    Raises
    ------
    ValueError
        If losses are so large that an interval may end beyond all numbers.
    """
    largest = max(of.largest for of in fits.values())
    if largest > MOST:
        raise ValueError(f"losses must lie within +-{MOST:g}; got {largest:g}")
    power = math.frexp(largest)[1]
    power = power if abs(power) > FAR else 0
    try:
        of = {name: one.over(power) for name, one in fits.items()} if power else fits
        found = METHODS[method].interval(of, level, options).times(2.0**power)
        if found.high - found.low <= NO_VARIATION * largest:  # of splits that differ by rounding
            return found._replace(low=found.estimate, high=found.estimate, standard_error=0.0)
        return found
    except IncompleteFits as error:
        return LossInterval(math.nan, math.nan, math.nan, math.nan, remarks=(str(error),))


def failure_remark(method: str, fits: Mapping[str, Resampled], low: float) -> list[str]:
    """Say how many splits count for nothing, and what an interval then means."""
    lost = {name: int((~of.kept).sum()) for name, of in fits.items() if not of.kept.all()}
    if not lost:
        return []
    counted = ", ".join(f"{count} of {len(fits[name].plan)} splits of {name!r}" for name, count in lost.items())
    what = "a loss is not finite" if all(of.scores is None for of in fits.values()) else "the metric is undefined"
    means = (
        ""
        if math.isnan(low)
        else f"; {method} leaves them out, so the interval is for data on which that does not happen"
    )
    return [f"the fit failed, or {what}, in {counted}{means}"]


@dataclasses.dataclass(frozen=True, eq=False)
class ResampledFits(Printable):
    """Losses of all splits of some plans: fitted once, read by every method that knows one of the plans.

    Attributes
    ----------
    fits : dict of Resampled
        Plan and losses by the plan's name.
    loss : str
    n_fits : int
        Models fitted.
    rng
        Repeats the fits when passed as ``rng``.
    warnings : tuple of str
    groups : (n,) array or None
        Group of every row, where rows come in groups.
    bounds : (float, float)
        Range of the loss; intervals are clipped to it.
    share : bool
        Whether the loss is 0 or 1.
    turn : (float, float)
        Offset and sign of what is shown: ``offset + sign * loss``.
    all_right : AllRight or None
        What an interval of the metric would be if no row were predicted wrong, where that is known.
    """

    fits: Mapping[str, Resampled] = dataclasses.field(repr=False)
    loss: str
    n_fits: int
    rng: Any = None
    warnings: tuple[str, ...] = ()
    groups: np.ndarray | None = dataclasses.field(default=None, repr=False)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    share: bool = False
    turn: tuple[float, float] = (0.0, 1.0)
    all_right: AllRight | None = dataclasses.field(default=None, repr=False)

    unlisted = frozenset({"fits", "groups", "all_right"})

    def headline(self) -> str:
        """Return the line above the table."""
        return f"{self.n_fits} fits, loss {self.loss}"

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a plan; ``mean`` is over the rows that fitted splits test."""
        return [
            {
                "plan": name,
                "splits": len(of.plan),
                "failed": int((~of.kept).sum()),
                "mean": self.turn[0] + self.turn[1] * pooled(of.means[of.kept], of.masses[of.kept])[0]
                if of.kept.any()
                else math.nan,
            }
            for name, of in self.fits.items()
        ]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        rows = [[r["plan"], str(r["splits"]), str(r["failed"]), r["mean"]] for r in self.records()]
        return ["plan", "splits", "failed", "mean"], rows

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the fields, and the rows of the table for the losses."""
        return {**super().contents(), "plans": self.records()}

    def interval(
        self, method: str, *, plan: str | None = None, confidence_level: float = 0.95, **options: Any
    ) -> GeneralizationResult:
        """Return the interval of one method; ``options`` are those of its formula.

        ``plan`` says which plan it reads where several that were fitted serve: else its usual one, which is then said.

        Raises
        ------
        ValueError
            If the method is unknown, its plan was not fitted, or it does not permit the loss or groups.
        """
        check_choice("method", method, METHODS)
        level = check_confidence_level(confidence_level)
        names = {role.names for role in METHODS[method].roles}
        weighted = any(of.weights is not None for of in self.fits.values())
        used = {name: of for name, of in self.fits.items() if any(name in group for group in names)}
        if plan is not None:
            check_choice("plan", plan, used or self.fits)
            others = {name for group in names if plan in group for name in group} - {plan}
            used = {name: of for name, of in used.items() if name not in others}
        check_permitted(
            method, any(of.scores is not None for of in used.values()), self.loss, self.groups is not None, weighted
        )
        check_scale(options, self.share)
        is_mean = all(of.scores is None or of.of_means for of in self.fits.values())
        n_groups = None if self.groups is None else len(np.unique(self.groups))
        scale, why = usual_scale(method, self.bounds, n_groups, self.share, is_mean)
        if why and "scale" not in options:
            options["scale"] = scale
        else:
            why = ""
        if options.get("scale") == "nearer_end":
            options.setdefault("bounds", self.bounds)
            check_bounds(options["bounds"])
        found = checked_interval(method, used or self.fits, level, options)
        serving = [[n for n in role.names if n in used] for role in METHODS[method].roles]
        first = next(used[n] for group in serving for n in group)
        still = self.share and found.standard_error == 0
        ends, said, reason = Bounds(found.low, found.high), found.remarks, "" if still else why
        for group in serving:
            if len(group) > 1:
                read = f"read from {group[0]}, its usual plan (plan= names another of {', '.join(group)})"
                reason = "; ".join(filter(None, (reason, read)))
        if still:
            ends, told = self._of_shares(found.estimate, first, level, **options)
            reason = "; ".join(filter(None, (reason, told)))
        elif not math.isnan(found.low):
            ends, told = self._reaching_all_right(ends, first, level, options)
            reason = "; ".join(filter(None, (reason, told)))
            ends, said = within_range(ends, said, *self.bounds, method)
            nearest = min(max(found.estimate, self.bounds[0]), self.bounds[1])
            if nearest != found.estimate:
                shown_as = number(self.turn[0] + self.turn[1] * found.estimate)
                told = f"the estimate of {method}, {shown_as}, left the range of the loss: its nearest end is reported"
                said, found = (*said, told), found._replace(estimate=nearest)
            said = (*said, *self._few_errors(method, first))
        remarks = (*self.warnings, *failure_remark(method, used, ends.low), *said)
        found = found._replace(low=ends.low, high=ends.high).turned(*self.turn)
        return GeneralizationResult(
            statistic=self.loss,
            estimate=found.estimate,
            confidence_interval=ConfidenceInterval(found.low, found.high),
            standard_error=found.standard_error,
            method=method,
            reason=reason,
            confidence_level=level,
            alternative=("less" if self.turn[1] > 0 else "greater") if options.get("one_sided") else "two-sided",
            n=first.plan.n,
            rng=self.rng,
            warnings=remarks,
            target=METHODS[method].target,
            n_fits=self.n_fits,
            n_failed=int((~first.kept).sum()),
            losses=first.losses,
            plan=first.plan,
        )

    def _reaching_all_right(
        self, ends: Bounds, of: Resampled, level: float, options: Mapping[str, Any]
    ) -> tuple[Bounds, str]:
        """Return ends that begin no closer to the best value than those of rows all predicted right, and why."""
        skewed = options.get("scale") == "nearer_end" or ends.low == ends.high
        if self.all_right is None or not skewed or options.get("one_sided"):
            return ends, ""
        seen = (of.plan.test_mask & of.kept[:, None]).any(axis=0)
        low = self.all_right.low(seen, level, float(ends.low))
        if low == ends.low:
            return ends, ""
        return Bounds(low, ends.high), "the lower end as far as that of as many rows all predicted right"

    def _few_errors(self, method: str, of: Resampled) -> list[str]:
        """Say where few rows are predicted wrong, and ends do not reach as far as Wilson's."""
        if not self.share or of.scores is not None or usual_scale(method, self.bounds, None, True)[0] == "wilson":
            return []
        seen = of.plan.test_mask[of.kept].any(axis=0)
        n, wrong = int(seen.sum()), float(np.nanmean(of.tested[:, seen], axis=0).sum())
        few, which = min((wrong, "wrong"), (n - wrong, "right"))
        if few >= FEW_ERRORS:
            return []
        return [
            f"about {few:.2g} of {n} rows are predicted {which}: 95% intervals by methods that do not reach as far as "
            f"Wilson's covered 79 to 91% below {FEW_ERRORS}; corrected_t and nested_cv do"
        ]

    def _of_shares(self, estimate: float, of: Resampled, level: float, **options: Any) -> tuple[Bounds, str]:
        """Return the interval of a share that does not vary between splits, and why.

        Clopper and Pearson's, for as many rows as were tested, or groups, or as tell as much where rows have weights.
        """
        seen = (of.plan.test_mask & of.kept[:, None]).any(axis=0)
        n, what = float(seen.sum()), "rows"
        if of.weights is not None:
            n = float(of.weights[seen].sum() ** 2 / np.sum(of.weights[seen] ** 2))
        if self.groups is not None:
            n, what = min(n, float(len(np.unique(self.groups[seen])))), "groups"
        level = 2 * level - 1 if options.get("one_sided") else level
        count = min(max(estimate, 0.0), 1.0) * n
        low, high = map(float, ClopperPearson().from_counts(count, n, tails(level)))
        losses = of.tested[np.isfinite(of.tested)] if of.scores is None else of.means[of.kept]
        if np.all(losses == 0) or np.all(losses == 1):
            found = f"no row is predicted {'right' if estimate else 'wrong'}"
        else:
            found = f"nothing varies between splits ({count:.3g} wrong)"
        ends = Bounds(0.0 if options.get("one_sided") else low, high)
        return ends, f"{found}: Clopper and Pearson's interval for {n:.4g} {what}"


def check_scale(options: Mapping[str, Any], share: bool, paired: bool = False) -> None:
    """Refuse a scale that the losses do not have: ``paired`` are differences, of either sign."""
    scale = options.get("scale", "plain")
    if paired and scale != "plain":
        raise ValueError(
            f"scale must be 'plain' for a difference of learners, which may be negative; got {shown(scale)}"
        )
    if scale == "wilson" and not share:
        raise ValueError("scale='wilson' is for losses that are 0 or 1")
    if "bounds" in options and scale != "nearer_end":
        raise ValueError(f"bounds must go with scale='nearer_end', of which they are; got {shown(options['bounds'])}")


def check_permitted(method: str, is_metric: bool, loss: str, grouped: bool, weighted: bool = False) -> None:
    """Refuse metrics, groups and weights where the method cannot use them."""
    if is_metric and not METHODS[method].metrics:
        able = ", ".join(name for name, m in METHODS.items() if m.metrics)
        raise ValueError(f"method must be one of {able} where the loss, {loss!r}, is no mean over rows; got {method!r}")
    if grouped and not METHODS[method].groups:
        able = ", ".join(name for name, m in METHODS.items() if m.groups)
        raise ValueError(
            f"method must be one of {able} where rows come in groups: the others count rows as independent; "
            f"got {method!r}"
        )
    if weighted and not METHODS[method].groups:
        able = ", ".join(name for name, m in METHODS.items() if m.groups)
        raise ValueError(f"method must be one of {able} where rows have weights; got {method!r}")
