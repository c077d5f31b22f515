"""``method="auto"``: which interval, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxci.intervals.auc import DeLongLogit
from jaxci.intervals.base import Method, Tails
from jaxci.intervals.bootstrap import Basic, Percentile
from jaxci.intervals.exact import Exact
from jaxci.intervals.parametric import Delta, T, is_mean
from jaxci.intervals.proportion import Wilson, is_proportion
from jaxci.intervals.quantile import OrderStatistic, smallest_n
from jaxci.resampling.engine import Layout
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.classification import Accuracy, BalancedAccuracy, ErrorRate
from jaxci.statistics.ranking import AveragePrecision, AveragePrecisionMulticlass, RocAuc, RocAucMulticlass

MOST_DRAWS = 4e9
"""Above so many draws (units times resamples) a smooth statistic gets the delta interval."""

SMALL_MEAN = 50
"""Below so many observations a mean gets the t interval."""


class Choice(NamedTuple):
    """A method with the reason it was chosen."""

    method: Method
    reason: str


def _scale(statistic: Statistic) -> str:
    return {(0.0, 1.0): "logit", (-1.0, 1.0): "fisher"}.get(statistic.bounds, "natural")


def _averaged(statistic: Statistic) -> bool:
    return getattr(statistic, "average", "binary") in ("macro", "weighted", "micro")


def choose(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails) -> Choice:
    """Choose the interval method for ``statistic`` from the data's layout and size."""
    if not layout.plain:
        return _choose_dependent(statistic, layout, n_resamples)
    n = layout.n
    if is_proportion(statistic):
        return Choice(Wilson(), "a proportion of independent rows: Wilson keeps its level at every n")
    if DeLongLogit().refusal(statistic) is None:
        return Choice(DeLongLogit(), "a ROC AUC of independent rows: DeLong on the logit scale stays in [0, 1]")
    if is_mean(statistic) and n < SMALL_MEAN:
        return Choice(T(), f"a mean with n < {SMALL_MEAN}")
    if hasattr(statistic, "row_values"):
        return Choice(
            Exact(endpoints="bca"),
            "a mean (or its root): BCa endpoints of the exact bootstrap distribution, free of Monte-Carlo error",
        )
    if OrderStatistic().refusal(statistic) is None:
        q = float(statistic.q)  # type: ignore[attr-defined]
        need = smallest_n(q, tails)
        if n >= need:
            return Choice(
                OrderStatistic(),
                "a quantile: an interval between order statistics holds its level at every n",
            )
        return Choice(
            Exact(),
            f"a quantile; the order-statistic interval needs n >= {need} at this level, so the exact bootstrap",
        )
    if statistic.smooth and statistic.road not in ("cells", "any") and n * float(n_resamples) > MOST_DRAWS:
        return _delta(statistic, n)
    if isinstance(statistic, AveragePrecisionMulticlass) and statistic.average == "macro":
        return Choice(Basic(), "macro-averaged average precision: percentile and BCa undercover, basic does better")
    if _averaged(statistic):
        return Choice(Percentile(), "an averaged metric: the percentile bootstrap")
    return Choice(Percentile(), "no formula for this statistic: the percentile bootstrap")


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


_SMALL: dict[type[Statistic], tuple[int, str]] = {
    BalancedAccuracy: (50, "balanced accuracy"),
    RocAuc: (25, "AUC"),
    RocAucMulticlass: (25, "AUC"),
    AveragePrecision: (25, "average precision"),
    AveragePrecisionMulticlass: (25, "average precision"),
}


def size_remarks(statistic: Statistic, sample: Sample, n: int, values: np.ndarray | None) -> list[str]:
    """Warn below the sizes at which studies found 92.5% coverage of 95% intervals, and of rare classes."""
    remarks = []
    if type(statistic) in _SMALL:
        least, what = _SMALL[type(statistic)]
        if n < least:
            remarks.append(f"n = {n} is below {least}, where intervals for {what} cover less than they say")
    elif _averaged(statistic) and n < 50:
        remarks.append(f"n = {n} is below 50, where intervals for averaged metrics cover less than they say")
    elif is_mean(statistic) and values is not None and n >= 3:
        sd = float(np.std(values))
        skewness = float(np.mean((values - np.mean(values)) ** 3)) / sd**3 if sd > 0 else 0.0
        least = 75 if abs(skewness) > 2 else 25
        if n < least:
            shape = "strongly skewed values" if least == 75 else "a mean"
            remarks.append(f"n = {n} is below {least}, where intervals for {shape} cover less than they say")
    if sample.n_classes >= 2 and sample.y_true is not None and statistic.task in ("binary", "multiclass"):
        counts = np.bincount(sample.y_true, minlength=sample.n_classes)
        rare = counts[counts > 0].min(initial=n)
        if 0 < rare < 10 and n >= 20 and not isinstance(statistic, Accuracy | ErrorRate):
            remarks.append(f"a class has only {int(rare)} cases: intervals that depend on it are rough")
    return remarks
