"""Results about learners: one interval, and fits that many intervals are read from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.api.all_right import AllRight
from jaxci.checks import check_choice, check_confidence_level
from jaxci.generalization.base import Resampled, pooled
from jaxci.generalization.registry import METHODS
from jaxci.inference.loss_intervals import KnownLosses
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
        known = KnownLosses(
            self.bounds,
            self.share,
            self.groups,
            self.turn,
            None if self.all_right is None else self.all_right.low,
        )
        found, why, told, said = known.interval(method, used or self.fits, level, options)
        first = next(used[name] for role in METHODS[method].roles for name in role.names if name in used)
        reasons = [why]
        for role in METHODS[method].roles:
            serving = [name for name in role.names if name in used]
            if len(serving) > 1:
                reasons.append(f"read from {serving[0]}, its usual plan (plan= names another of {', '.join(serving)})")
        reason = "; ".join(filter(None, (*reasons, told)))
        remarks = (*self.warnings, *failure_remark(method, used, found.low), *said)
        found = found.turned(*self.turn)
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
