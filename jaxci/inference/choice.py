"""``method="auto"``: which interval, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxci.intervals.auc import DeLongLogit, NewcombeAuc
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.base import Method, Tails
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.bootstrap import Percentile, smallest_bank
from jaxci.intervals.exact import Exact
from jaxci.intervals.parametric import Delta, T
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.proportion_difference import Tango
from jaxci.intervals.quantile import OrderStatistic, needs_rows, smallest_n
from jaxci.intervals.spread import LEAST, Bonett
from jaxci.statistics.base import MomentStatistic, Sample, Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.ranking import AveragePrecision, RocAuc, ScoreRanking
from jaxci.statistics.summary import MeanStatistic, is_mean

MOST_DRAWS = 4e9
"""Above so many draws (units times resamples) a smooth statistic gets the delta interval."""

MOST_AREA_DRAWS = 1e8
"""Above so many draws the area under one ROC curve is not resampled: a formula serves nearly as well, at once."""

SMALL_MEAN = 50
"""Below so many observations a mean of values without bounds gets the t interval."""

LARGE_MEAN = 1000
"""From so many observations on the exact bootstrap of a bounded mean covers, which needs no draws."""

FEW, FEW_PRECISION = 100, 200
"""Ranks of classes with fewer rows than that are judged with rows that were not seen: resamples hold too few errors.

The second is for the average precision of two classes.
"""


class Choice(NamedTuple):
    """A method with the reason it was chosen."""

    method: Method
    reason: str


def _scale(statistic: Statistic) -> str:
    return {(0.0, 1.0): "logit", (-1.0, 1.0): "fisher"}.get(statistic.bounds, "natural")


def choose(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose the interval method for ``statistic`` from the data's layout and size, and the rarest class."""
    if isinstance(statistic, Paired):
        return _choose_difference(statistic, layout)
    if not layout.plain:
        return _choose_dependent(statistic, layout, n_resamples)
    n = layout.n
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        if statistic.share is None:
            return Choice(Wilson(), "a proportion of independent rows: Wilson's score interval")
        return Choice(Wilson(), f"increases with the proportion {statistic.share}: Wilson's score interval of that")
    if isinstance(statistic, TableStatistic) and statistic.has_extremes:
        return _proper("a metric of a confusion table", layout)
    enough = n_resamples >= smallest_bank(tails)
    if isinstance(statistic, ScoreRanking):
        return _choose_ranking(statistic, sample, layout, n_resamples, enough=enough)
    if isinstance(statistic, MeanStatistic):
        return _choose_mean(statistic, layout, enough=enough)
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
    if statistic.smooth and isinstance(statistic, MomentStatistic) and n * float(n_resamples) > MOST_DRAWS:
        return _delta(statistic, n)
    return Choice(Percentile(), "no formula for this statistic: the percentile bootstrap")


def _proper(what: str, layout: Layout) -> Choice:
    units = "rows" if layout.units is None else "clusters"
    return Choice(ProperBayesian(), f"{what}: random weights of the {units}, and of a few that were not seen")


def _choose_mean(statistic: MeanStatistic, layout: Layout, *, enough: bool) -> Choice:
    if np.isfinite(statistic.bounds).any() and layout.n < LARGE_MEAN and enough:
        return _proper(f"a mean of bounded values (or its root) with n < {LARGE_MEAN}", layout)
    if is_mean(statistic) and layout.n < SMALL_MEAN:
        return Choice(T(), f"a mean with n < {SMALL_MEAN}")
    return Choice(
        Exact(endpoints="bca"),
        "a mean (or its root): BCa endpoints of the exact bootstrap distribution, free of Monte-Carlo error",
    )


def _choose_ranking(
    statistic: ScoreRanking, sample: Sample, layout: Layout, n_resamples: int, *, enough: bool
) -> Choice:
    sizes = sample.class_sizes
    rarest, draws = int(sizes[sizes > 0].min()), sample.n * float(n_resamples)
    whole = isinstance(statistic, RocAuc) and statistic.is_whole_area
    few = FEW_PRECISION if isinstance(statistic, AveragePrecision) else FEW
    drawn = draws <= (MOST_AREA_DRAWS if whole else MOST_DRAWS) and (enough or not whole)
    if statistic.has_extremes and rarest < few and drawn:
        return _proper(f"ranks, {rarest} in the rarest class", layout)
    if whole and rarest < few:
        why = "too many rows to resample" if enough else "too few resamples for this level"
        return Choice(NewcombeAuc(), f"a ROC AUC, {rarest} in the rarest class, and {why}: Newcombe's score interval")
    if DeLongLogit().refusal(statistic) is None:
        return Choice(DeLongLogit(), "a ROC AUC of independent rows: DeLong on the logit scale stays in [0, 1]")
    if statistic.smooth and draws > MOST_DRAWS:
        return _delta(statistic, sample.n)
    why = f"ranks, {few} or more in every class" if statistic.has_extremes else "no formula for this statistic"
    return Choice(Percentile(), f"{why}: the percentile bootstrap")


def _choose_difference(statistic: Paired, layout: Layout) -> Choice:
    if layout.plain and Tango().refusal(statistic) is None:
        return Choice(Tango(), "paired proportions: the interval that Tango's score test does not reject")
    if layout.plain and DeLongDifference().refusal(statistic) is None:
        return Choice(DeLongDifference(), "correlated AUCs of independent rows: DeLong")
    if layout.plain and is_mean(statistic):
        return Choice(T(), "a mean of paired differences: Student's, which few rows that differ do not mislead")
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
    if statistic.has_extremes and layout.strata is None:
        return _proper("clustered rows" if layout.units is not None else "weighted rows", layout)
    return Choice(Percentile(), f"rows are not i.i.d.: the {kind} bootstrap with percentile endpoints")
