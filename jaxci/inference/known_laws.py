"""Bootstrap distributions of one data set that are known without draws: those of infinitely many resamples."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from jaxci.inference.request import Entry
from jaxci.inference.table_laws import table_of
from jaxci.quick import Quick
from jaxci.resampling.count_ratio import CountRatioLaw
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.exact_ratio import ratio_distribution
from jaxci.resampling.laws import BootstrapDistribution, Root
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.statistics.base import Statistic, TableStatistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, SecondMoment


def row_values_of(statistic: Statistic, sample: Sample) -> np.ndarray:
    """Return the values (n,) whose mean the statistic is."""
    assert isinstance(statistic, MeanStatistic)
    return statistic.averaged_values(sample)


def ordered_values_of(entry: Entry, sample: Sample) -> np.ndarray:
    """Values (n,), ascending, whose order statistics or variance the statistic is."""
    if isinstance(entry.statistic, SecondMoment):
        assert sample.values is not None
        return np.sort(sample.values[: sample.n])
    assert isinstance(entry.statistic, OrderStatistic)
    return np.sort(entry.statistic.ordered_values(sample))


@Quick
def _counted(statistic: Any, table: jax.Array) -> Any:
    return statistic.count_ratio(table)


def law_of(entry: Entry, sample: Sample, layout: Layout) -> BootstrapDistribution:
    """Return the law of the replicates of a statistic that has one."""
    statistic = entry.statistic
    if entry.law is not None:
        return entry.law
    if not layout.plain:
        return _ratio_law(entry, sample, layout)
    if has_fixed_trials(statistic):
        assert entry.trials is not None
        return BinomialLaw(entry.trials.successes, entry.trials.nobs)
    if isinstance(statistic, TableStatistic):
        if not statistic.is_count_ratio:
            return _ratio_law(entry, sample, layout)
        hits, misses, odds, undefined = jax.tree.map(np.asarray, _counted(statistic, table_of(entry.prepared, layout)))
        return CountRatioLaw.of(hits, misses, layout.n, odds=odds, undefined=undefined)
    if isinstance(statistic, MeanStatistic):
        law = mean_distribution(row_values_of(statistic, sample), sample.counts)
        return Root(law) if statistic.link == "sqrt" else law
    assert isinstance(statistic, QuantileStatistic)
    return quantile_distribution(ordered_values_of(entry, sample), statistic.probability)


def _ratio_law(entry: Entry, sample: Sample, layout: Layout) -> BootstrapDistribution:
    """Law of a ratio of sums over units: of a weighted mean, or a mean of clusters, or of a table's cells."""
    statistic = entry.statistic
    if isinstance(statistic, MeanStatistic):
        values = row_values_of(statistic, sample)
        offset, undefined = float(np.average(values, weights=layout.counts)), math.nan
        rows = np.stack([values - offset, np.ones(layout.n_rows)], axis=1)
    else:
        assert isinstance(statistic, TableStatistic)
        offset, undefined = 0.0, statistic.undefined
        rows = np.stack(statistic.terms_in_cells(entry.prepared), axis=1)
        if layout.plain:  # rows may be counted
            counts = entry.prepared.weights_of(layout).astype(np.int64)
            return ratio_distribution(*np.repeat(rows, counts, axis=0).T, undefined=undefined, offset=offset)
        rows = rows[entry.prepared.codes[: layout.n_rows]]
    totals, sizes = layout.sum_rows(rows, layout.n_units)[: layout.n_units].T
    law = ratio_distribution(totals, sizes, undefined=undefined, offset=offset)
    return Root(law) if isinstance(statistic, MeanStatistic) and statistic.link == "sqrt" else law
