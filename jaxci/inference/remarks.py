"""What a reader of a result should know of the data, and how it is said."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from jaxci.intervals.auc import NewcombeAuc
from jaxci.intervals.base import Method
from jaxci.printing import JaxciWarning
from jaxci.special import deviation
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean

FEW_CLUSTERS = 10
"""Below so many clusters every interval gets a remark."""
FEW_WEIGHTED, HEAVY = 30, 0.1
"""Below such an effective size, and from such a share of one row on, weighted data get a remark."""


def announce(remarks: Iterable[str]) -> None:
    """Emit each remark once as a warning that points at the caller's line."""
    for remark in dict.fromkeys(remarks):
        warnings.warn(remark, JaxciWarning, stacklevel=3)


def layout_remarks(layout: Layout) -> list[str]:
    """Remarks on the design of the data."""
    remarks = []
    if layout.units is not None and layout.n_units < FEW_CLUSTERS:
        remarks.append(
            f"there are only {layout.n_units} clusters: their variation is hardly known, and intervals that allow for "
            "none but these ('percentile', 'bca', 'delta') cover less than they say"
        )
    if layout.row_weights is not None:
        weights = layout.row_weights / layout.row_weights.max()
        remarks += weight_remarks(layout.n, layout.effective_size, float(1 / weights.sum()))
    lonely = 0 if layout.strata is None else int(np.sum(np.bincount(layout.strata) == 1))
    if lonely:
        remarks.append(
            f"{lonely} strata hold a single unit each, which adds nothing to the variance: intervals are too narrow"
        )
    return remarks


def weight_remarks(n: int, effective: float, share: float) -> list[str]:
    """Remarks on the weights of n rows: their effective size, and the ``share`` of the heaviest."""
    if not (effective < FEW_WEIGHTED <= n or (share >= HEAVY and n > 1 / HEAVY)):
        return []
    size = f"an effective size of {effective:.3g} of {n} rows"
    return [f"sample_weight leaves {size}; one row holds {share:.0%} of the weight"]


def _too_few(layout: Layout, least: int) -> str:
    n = layout.n_units
    return f"n = {n} is below {least}" if layout.units is None else f"{n} clusters are fewer than {least}"


def size_remarks(
    statistic: Statistic, sample: Sample, layout: Layout, values: np.ndarray | None, method: Method, *, judged: bool
) -> list[str]:
    """Warn below the sizes at which studies found 92.5% coverage of 95% intervals, of rare classes and equal scores.

    Those sizes are of percentile intervals: of a method that allows for what was not seen they hold for means alone.
    Where the method was ``judged`` by the cards these tell of sizes.
    """
    remarks, n = [], layout.n_units
    silent = method.prior is not None or isinstance(method, NewcombeAuc)  # the others say so themselves
    if silent and isinstance(statistic, ScoreRanking) and np.ptp(sample.y_score) == 0:
        remarks.append("all scores are equal: they tell nothing of the classes")
    if judged or (method.prior is not None and not isinstance(statistic, MeanStatistic)):
        pass
    elif statistic.least_n is not None:
        least, what = statistic.least_n
        if n < least:
            remarks.append(f"{_too_few(layout, least)}, where intervals for {what} cover less than they say")
    elif statistic.averages_classes and n < 50:
        remarks.append(f"{_too_few(layout, 50)}, where intervals for averaged metrics cover less than they say")
    elif is_mean(statistic) and values is not None and n >= 3:
        sd = float(deviation(values, ddof=0))
        skewness = float(np.mean(((values - np.mean(values)) / sd) ** 3)) if sd > 0 else 0.0
        least = 75 if abs(skewness) > 2 else 25
        if n < least:
            shape = "strongly skewed values" if least == 75 else "a mean"
            remarks.append(f"{_too_few(layout, least)}, where intervals for {shape} cover less than they say")
    if sample.n_classes >= 2 and sample.y_true is not None and statistic.task in ("binary", "multiclass"):
        counts = sample.class_sizes
        rare = counts[counts > 0].min(initial=n)
        if (
            (judged or method.prior is not None)
            and (counts == 0).any()
            and len(counts) > 2
            and not has_fixed_trials(statistic)
        ):
            remarks.append(
                f"{int(np.sum(counts == 0))} of {len(counts)} classes have no row in y_true: what they would score is "
                "unknown, and the interval does not allow for it"
            )
        if 0 < rare < 10 and n >= 20 and not has_fixed_trials(statistic):
            remarks.append(f"a class has only {int(rare)} cases: intervals that depend on it are rough")
    return remarks
