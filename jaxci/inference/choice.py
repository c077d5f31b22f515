"""``method="auto"``: which interval, and why."""

from __future__ import annotations

from typing import NamedTuple

from jaxci.intervals.auc import DeLongLogit
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.base import Method, Tails
from jaxci.intervals.bootstrap import Basic, Percentile
from jaxci.intervals.capabilities import averages_proportions
from jaxci.intervals.exact import Exact
from jaxci.intervals.mover import SquareAndAdd
from jaxci.intervals.parametric import Delta, T
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.proportion_difference import Newcombe
from jaxci.intervals.quantile import OrderStatistic, needs_rows, smallest_n
from jaxci.intervals.spread import LEAST, Bonett
from jaxci.statistics.base import MomentStatistic, RankedStatistic, Statistic, TableStatistic
from jaxci.statistics.class_ranking import AveragePrecisionMulticlass
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.summary import MeanStatistic, is_mean

MOST_DRAWS = 4e9
"""Above so many draws (units times resamples) a smooth statistic gets the delta interval."""

SMALL_MEAN = 50
"""Below so many observations a mean gets the t interval."""

FEW_CLASSES = 5
"""Up to so many classes Wilson's intervals of their proportions, joined, cover more than the percentile bootstrap."""


class Choice(NamedTuple):
    """A method with the reason it was chosen."""

    method: Method
    reason: str


def _scale(statistic: Statistic) -> str:
    return {(0.0, 1.0): "logit", (-1.0, 1.0): "fisher"}.get(statistic.bounds, "natural")


def choose(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, n_classes: int) -> Choice:
    """Choose the interval method for ``statistic`` from the data's layout and size, and the number of classes."""
    if isinstance(statistic, Paired):
        return _choose_difference(statistic, layout)
    if not layout.plain:
        return _choose_dependent(statistic, layout, n_resamples)
    n = layout.n
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        if statistic.share is None:
            return Choice(Wilson(), "a proportion of independent rows: Wilson's score interval")
        return Choice(Wilson(), f"increases with the proportion {statistic.share}: Wilson's score interval of that")
    if averages_proportions(statistic) and n_classes <= FEW_CLASSES:
        return Choice(SquareAndAdd(), f"a mean of proportions of at most {FEW_CLASSES} classes: Wilson's, joined")
    if DeLongLogit().refusal(statistic) is None:
        return Choice(DeLongLogit(), "a ROC AUC of independent rows: DeLong on the logit scale stays in [0, 1]")
    if is_mean(statistic) and n < SMALL_MEAN:
        return Choice(T(), f"a mean with n < {SMALL_MEAN}")
    if isinstance(statistic, MeanStatistic):
        return Choice(
            Exact(endpoints="bca"),
            "a mean (or its root): BCa endpoints of the exact bootstrap distribution, free of Monte-Carlo error",
        )
    if Bonett().refusal(statistic) is None and n >= LEAST:
        return Choice(Bonett(), "a standard deviation or variance: Bonett's interval, by the kurtosis of the values")
    if OrderStatistic().refusal(statistic) is None:
        q = float(statistic.q)  # type: ignore[attr-defined]
        need = smallest_n(q, tails)
        if need is not None and n >= need:
            return Choice(
                OrderStatistic(),
                "a quantile: an interval between order statistics holds its level at every n",
            )
        return Choice(
            Exact(),
            f"a quantile; the order-statistic interval {needs_rows(need)} at this level, so the exact bootstrap",
        )
    if (
        statistic.smooth
        and isinstance(statistic, MomentStatistic | RankedStatistic)
        and n * float(n_resamples) > MOST_DRAWS
    ):
        return _delta(statistic, n)
    if isinstance(statistic, AveragePrecisionMulticlass) and statistic.average == "macro":
        return Choice(Basic(), "macro-averaged average precision: percentile and BCa undercover, basic does better")
    if averages_proportions(statistic):
        return Choice(
            Percentile(), f"a mean of proportions of more than {FEW_CLASSES} classes: the percentile bootstrap"
        )
    if statistic.averages_classes:
        return Choice(Percentile(), "an averaged metric: the percentile bootstrap")
    return Choice(Percentile(), "no formula for this statistic: the percentile bootstrap")


def _choose_difference(statistic: Paired, layout: Layout) -> Choice:
    if layout.plain and Newcombe().refusal(statistic) is None:
        return Choice(Newcombe(), "paired proportions: Newcombe's hybrid score interval")
    if layout.plain and DeLongDifference().refusal(statistic) is None:
        return Choice(DeLongDifference(), "correlated AUCs of independent rows: DeLong")
    if layout.plain and is_mean(statistic):
        if layout.n < SMALL_MEAN:
            return Choice(T(), f"a mean of paired differences with n < {SMALL_MEAN}")
        return Choice(Exact(endpoints="bca"), "a mean of paired differences: BCa endpoints of its exact bootstrap")
    kind = "rows" if layout.units is None else "clusters"
    return Choice(Percentile(), f"no formula for this difference: the paired percentile bootstrap over {kind}")


def _delta(statistic: Statistic, n: int) -> Choice:
    scale = _scale(statistic)
    on = "" if scale == "natural" else f" on the {scale} scale"
    return Choice(Delta(scale=scale), f"n = {n} is large enough for the delta method{on}, and too large to resample")


def _choose_dependent(statistic: Statistic, layout: Layout, n_resamples: int) -> Choice:
    parts = []
    if layout.strata is not None:
        parts.append("stratified")
    if layout.units is not None:
        parts.append("cluster")
    kind = " ".join(parts) or "weighted"
    if statistic.smooth and layout.n_units * float(n_resamples) > MOST_DRAWS:
        return _delta(statistic, layout.n_units)
    return Choice(Percentile(), f"rows are not i.i.d.: the {kind} bootstrap with percentile endpoints")
