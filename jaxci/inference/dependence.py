"""How rows depend on each other in their order: what a statistic sees of them, and the blocks that keep it."""

from __future__ import annotations

import numpy as np

from jaxci.inference.replicate import deleted_values
from jaxci.inference.request import Entry, unit_program
from jaxci.inference.slopes import slopes
from jaxci.resampling.blocks import optimal_block_lengths
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.sample import Sample

MOST_LEFT_OUT = 5000
"""Up to so many rows a statistic without derivatives is computed without each."""


def block_length(entry: Entry, sample: Sample, layout: Layout, resampling: str) -> float:
    """Estimate the length of blocks for one statistic from the :func:`influence` of the rows in their order."""
    found = optimal_block_lengths(influence(entry, sample, layout))
    return found.stationary if resampling == "stationary" else float(np.ceil(found.circular))


def influence(entry: Entry, sample: Sample, layout: Layout) -> np.ndarray:
    """Return what each row (n,) adds to a statistic: derivatives in the weights, or values without the row, negative.

    Raises
    ------
    ValueError
        If the statistic would have to be computed without each of more than :data:`MOST_LEFT_OUT` rows.
    """
    statistic = entry.statistic
    if isinstance(statistic, QuantileStatistic):
        return -_values_without(statistic, sample)
    if statistic.smooth and not entry.on_host:
        return np.asarray(slopes(unit_program([entry], layout, exchangeable=False))[1])[0, : layout.n]
    if layout.n > MOST_LEFT_OUT:
        raise ValueError(
            f"block_length must be a number for {entry.request.name!r}, which has no derivatives, of more than "
            f"{MOST_LEFT_OUT} rows; got 'auto'"
        )
    if isinstance(statistic, HostFunction):
        return -np.array([statistic.value(entry.prepared, row) for row in 1.0 - np.eye(layout.n)])
    if isinstance(statistic, OrderStatistic):
        return -_values_without(statistic, sample)
    return -deleted_values(unit_program([entry], layout, exchangeable=False), np.arange(layout.n)[:, None])[0]


def _values_without(statistic: OrderStatistic, sample: Sample) -> np.ndarray:
    """Return the value of a statistic without each row (n,)."""
    values = statistic.ordered_values(sample)
    order = np.argsort(values, kind="stable")
    found, multiplicity = statistic.left_out(values[order])
    without = np.empty(len(values))
    without[order] = np.repeat(np.asarray(found), np.asarray(multiplicity, int))
    return without
