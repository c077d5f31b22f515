"""Tables of means and quantiles of values that are kept in bins: values of rows, and what the bins lose."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.rank_cells import RankCells
from jaxci.api.readers.layout import arranged, weighed
from jaxci.api.tallies import WeightSums
from jaxci.api.value_bins import Points, ValueBins
from jaxci.checks import shown
from jaxci.inference.engine import intervals
from jaxci.inference.randomness import Randomness
from jaxci.inference.remarks import layout_remarks
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.cards import Features
from jaxci.records import record
from jaxci.results import EvaluationTable
from jaxci.statistics.base import Statistic
from jaxci.statistics.known_values import MeanOfKnown, QuantileOfKnown
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import QuantileStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

LARGEST = 1e145
"""Values up to which the sum of squares of a hundred million million rows is a number."""

WEIGHTS = (1e-50, 1e50)
"""Weights whose cubes, and those of their ratios, are numbers above 0."""


@record
class MeanOfBins(MeanOfKnown):
    """The mean, or root of a mean, of row values in bins, which know what rows would have had as mistakes on average.

    Parameters
    ----------
    statistic : MeanStatistic
        What the values are of.
    """

    @staticmethod
    def sample(bins: ValueBins, rows: Points) -> Sample:
        """Return the ``rows`` of bins as a sample."""
        mistaken = np.full(len(rows.counts), bins.mistaken / bins.counts.sum())
        return Sample(values=rows.values[:, 0], columns=(mistaken,) if bins.mistaken else ())

    def mistaken_values(self, sample: Sample) -> Any:
        """Return the mean of what rows would have had (n,), had they been of another class; None where none decides."""
        return sample.columns[0] if sample.columns else None


def row_values(name: str, statistic: MeanStatistic | QuantileStatistic, sample: Sample) -> np.ndarray:
    """Return the row values (n,) float64 of a metric, a mean of them or a quantile.

    Raises
    ------
    ValueError
        If one of them is not finite, or too large for sums of squares.
    """
    with np.errstate(over="ignore"):
        read = statistic.averaged_values if isinstance(statistic, MeanStatistic) else statistic.ordered_values
        found = np.asarray(read(sample), np.float64)
    if not np.isfinite(found).all():
        first = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"the values of {name} must be finite in every row; got {shown(found[first])} in row {first}")
    check_squares(f"the values of {name}", found)
    return found


def check_squares(what: str, values: np.ndarray) -> None:
    """Refuse values (n,) that are too large for sums of their squares."""
    if np.abs(values).max(initial=0.0) > LARGEST:
        first = int(np.argmax(np.abs(values) > LARGEST))
        raise ValueError(
            f"{what} must lie within +-{LARGEST:g} where rows are counted, whose squares are summed; got "
            f"{shown(values[first])} in row {first}"
        )


class How(NamedTuple):
    """How intervals are asked for, and of rows of which weights; None where they do not differ.

    ``features`` are those of rows in clusters; None of others.
    """

    method: Any
    settings: Settings
    source: Randomness
    weights: WeightSums | None
    features: Features | None = None


def check_powers(weights: np.ndarray) -> None:
    """Refuse weights (n,) above 0 that are too small or too large for sums of their cubes."""
    least, most = WEIGHTS
    apart = (weights < least) | (weights > most)
    if apart.any():
        raise ValueError(
            f"sample_weight must be 0 or lie within {least:g} and {most:g} where weighted rows are counted; got "
            f"{weights[np.argmax(apart)]:g}"
        )


def laid_out(sample: Sample, rows: Points, weights: WeightSums | None) -> tuple[Sample, Layout]:
    """Return ``rows`` of values with their layout."""
    if weights is None:
        return arranged(sample, rows.groups, None, rows.counts, "frequency", countable=True)
    assert rows.groups is not None
    return weighed(sample, rows.groups, rows.counts, rows.masses, weights.known())


def counted(requests: Sequence[Request], sample: Sample, layout: Layout, how: How) -> EvaluationTable:
    """Return the table of rows that are counted."""
    layout = dataclasses.replace(layout, features=how.features)
    found = intervals(requests, sample, layout, how.settings, how.source)
    return EvaluationTable(tuple(found), layout.n, how.source.record, tuple(layout_remarks(layout)))


def table_of_mean(name: str, statistic: MeanStatistic, bins: ValueBins, how: How) -> EvaluationTable:
    """Return the table of a mean of row values."""
    rows = bins.rows()
    data = laid_out(MeanOfBins.sample(bins, rows), rows, how.weights)
    found = counted([Request(name, MeanOfBins(statistic), how.method)], *data, how)
    return with_error(found, bins, [rows.values])


def table_of_quantile(name: str, statistic: QuantileStatistic, bins: ValueBins, how: How) -> EvaluationTable:
    """Return the table of a quantile of row values."""
    rows = bins.middles()
    sample = Sample(values=rows.values[:, 0])
    if how.weights is None or not how.weights.uneven:
        data = laid_out(sample, rows, None)
    else:
        powers = np.column_stack([rows.counts, rows.masses, bins.powers[rows.cells], np.zeros(len(rows.counts))])
        data = weighed(sample, rows.groups, rows.counts, rows.masses, how.weights.of_powers(powers))
    return with_widths(counted([Request(name, QuantileOfKnown(statistic), how.method)], *data, how), bins)


def table_of_pairs(named: Sequence[tuple[str, Statistic]], pairs: ValueBins, how: How) -> EvaluationTable:
    """Return the table of smooth functions of targets and predictions."""
    rows = pairs.rows()
    sample = Sample(y_true=rows.values[:, 0], y_pred=rows.values[:, 1])
    requests = [Request(name, one, how.method) for name, one in named]
    found = counted(requests, *laid_out(sample, rows, how.weights), how)
    return with_error(found, pairs, [influence(one, sample, rows.counts) for _, one in named])


def table_of_ranks(named: Sequence[tuple[str, Statistic]], cells: RankCells, how: How) -> EvaluationTable:
    """Return the table of rank correlations, with how far they may be from those of all rows."""
    true, predicted = (code.astype(float) for code in cells.codes)
    sample = Sample(y_true=true, y_pred=predicted)
    data = arranged(sample, None, None, cells.counts, "frequency", countable=True)
    table = counted([Request(name, one, how.method) for name, one in named], *data, how)
    if cells.exact:
        return table
    low, high = cells.ends()
    rows = []
    for row in table:
        apart = max(high - row.estimate, row.estimate - low)
        text = (
            f"rows were counted in {len(cells.counts):,} cells of ranks; the estimate differs from that of all rows by "
            f"at most {apart:.1e}"
        )
        if row.standard_error > 0:
            text += f", which is {apart / row.standard_error:.2g} standard errors"
        rows.append(dataclasses.replace(row, warnings=(*row.warnings, text)))
    return dataclasses.replace(table, rows=tuple(rows))


def design_effect_of(bins: ValueBins, weights: WeightSums | None) -> float:
    """Return the design effect of the mean of values in clusters."""
    rows = bins.rows()
    sample, layout = laid_out(Sample(values=rows.values[:, 0]), rows, weights)
    return layout.design_effect(sample.values / 2)


def with_error(table: EvaluationTable, bins: ValueBins, influences: Sequence[np.ndarray]) -> EvaluationTable:
    """Add, of independent rows, how far resamples of cells are from those of rows, by the influence of every point.

    Points of a cell have the mean and the squares of its rows, so what both contribute differs by a variable of mean 0
    whose mean square is at most twice their variance, to first order.
    """
    if bins.clusters or not bins.squares.any():
        return table
    points = bins.rows()
    rows = []
    for row, influence in zip(table, influences, strict=True):
        found = influence.reshape(len(points.counts))
        whole = np.average(found, weights=points.counts)
        middle = np.bincount(points.cells, points.counts * found) / bins.counts
        within = float(points.counts @ (found - middle[points.cells]) ** 2)
        spread = float(points.counts @ (found - whole) ** 2)
        apart = math.sqrt(2 * within / spread) if spread > 0 else 0.0
        text = (
            f"rows were counted in {len(bins.counts):,} cells; the estimate is that of all rows, and resampled ones "
            f"differ from those of all rows by at most {apart:.1e} standard errors (root mean square)"
        )
        rows.append(dataclasses.replace(row, warnings=(*row.warnings, text)))
    return dataclasses.replace(table, rows=tuple(rows))


def with_widths(table: EvaluationTable, bins: ValueBins) -> EvaluationTable:
    """Add how far a quantile of the means of cells may be from that of all rows: order statistics lie in one bin."""
    if not bins.squares.any():
        return table
    (row,) = table
    ends = [x for x in (row.estimate, *row.confidence_interval) if math.isfinite(x)]
    apart = max(map(bins.width_at, ends))
    text = (
        f"rows were counted in {len(bins.counts):,} cells; the estimate and the ends of the interval differ from those "
        f"of all rows by at most {apart:.1e}"
    )
    return dataclasses.replace(table, rows=(dataclasses.replace(row, warnings=(*row.warnings, text)),))


def influence(statistic: Any, sample: Sample, counts: np.ndarray) -> np.ndarray:
    """Return the influence (r,) of rows that are counted on a statistic, up to a factor."""
    with jax.enable_x64(True):
        prepared = statistic.prepare(sample)
        return np.asarray(jax.grad(lambda weights: statistic.value(prepared, weights))(jnp.asarray(counts, float)))
