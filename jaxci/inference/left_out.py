"""What a statistic is without each unit in turn, and how many units decide on it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from jaxci.inference.replicate import deleted_values
from jaxci.inference.request import Entry, programs
from jaxci.inference.slopes import effective_units
from jaxci.statistics.base import MomentStatistic
from jaxci.statistics.custom import HostFunction, SampleFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.summary import MeanStatistic

FEW_DECIDING = 15
"""Fewer units than these that decide on a user's function get a remark."""
SHARE_LEFT_OUT = 5
"""Rows are left out in turn, to see how many decide, where they are at most the resamples divided by this number."""
PROBED = 16
"""Units without which a function is evaluated where derivatives say that it does not depend on them."""
ROUNDING = 1e-12
"""Differences below such a share of the values are rounding errors."""
COVERED_BY_FEW = {
    "bca": {5: (0.24, 0.83, 0.94), FEW_DECIDING: (0.04, 0.93, 0.97)},
    "percentile": {5: (0.20, 0.80, 0.91), FEW_DECIDING: (0.02, 0.91, 0.99)},
}
"""Least, median and largest coverage of 95% intervals, by method, of functions of independent rows for which fewer rows
decided in most data sets (``benchmarks/own_functions.py``).
"""
FEW_CLUSTERS_DECIDING, MANY_CLUSTERS = 5, 50
"""Fewer clusters that decide on moments get a remark, where there are as many that their number is no remark."""
FOUND_IN_CLUSTERS = "82% to 97%"
"""What 95% intervals covered where most data sets had the remark, in ``benchmarks/spread_in_clusters.py``."""


def left_out(entry: Entry, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the values with each unit left out, and how many units each stands for."""
    if entry.left_out is None:
        entry.left_out = _left_out(entry, layout)
    return entry.left_out


def _left_out(entry: Entry, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(entry.statistic, HostFunction):
        weights = np.ones((layout.n_units, layout.n))
        weights[np.arange(layout.n) if layout.units is None else layout.units, np.arange(layout.n)] = 0
        found = [entry.statistic.value(entry.prepared, row) for row in weights]
        return np.array(found), np.ones(len(found))
    if isinstance(entry.statistic, SampleFunction):
        sizes = np.ones(layout.n, int) if layout.units is None else np.bincount(layout.units)
        values = np.empty(layout.n_units)
        for size in np.unique(sizes):
            shorter = dataclasses.replace(entry.prepared, n=layout.n - int(size))
            ((program, _),) = programs([dataclasses.replace(entry, prepared=shorter)], layout)
            units = np.flatnonzero(sizes == size)
            values[units] = deleted_values(program, units[:, None])[0]
        return values, np.ones(len(values))
    ((program, _),) = programs([entry], layout)
    multiplicity = np.asarray(program.multiplicity)
    units = np.flatnonzero(multiplicity > 0)
    return deleted_values(program, units[:, None])[0], multiplicity[units]


def check_derivatives(entry: Entry, layout: Layout, slopes: np.ndarray) -> None:
    """Refuse a user's function that does not have the derivatives it is declared to have.

    Steps have derivatives of 0 everywhere, so intervals that read ``slopes`` would have no width.
    """
    if not (entry.of_users_function and "standard_error" in entry.needs) or np.any(slopes):
        return
    ((program, _),) = programs([entry], layout)
    units = np.flatnonzero(np.asarray(program.multiplicity) > 0)
    some = units[np.linspace(0, len(units) - 1, min(PROBED, len(units))).astype(int)]
    values = deleted_values(program, some[:, None])[0]
    if np.ptp(values) > ROUNDING * np.max(np.abs(values)):
        raise ValueError(
            f"{entry.request.name!r} is declared differentiable in its weights, but its derivatives are 0 where "
            "leaving rows out changes it; give WeightedFunction(f, differentiable=False), whose intervals read none"
        )


def deciding_remark(entry: Entry, layout: Layout, n_resamples: int) -> str | None:
    """Say where few rows or clusters decide on a statistic, which resamples of these do not allow for.

    Like other remarks on the data it is for those who leave the choice of the method to the library. Cards tell it of
    metrics of independent rows, by the shape of the values.
    """
    method, units = entry.method, "rows" if layout.units is None else "clusters"
    assert method is not None
    if entry.request.method != "auto" or not (method.judged_by_size or method.prior is not None):
        return None
    told = f"a few of the {layout.n_units:,} {units} decide the estimate, as if there were {{:.2g}} alone"
    if entry.of_users_function:
        few = _deciding(entry, layout, n_resamples)
        known = COVERED_BY_FEW.get(method.name, {}) if layout.plain else {}
        for limit, (least, median, largest) in known.items():
            if few < limit:
                return (
                    f"{told.format(few)}: 95% {method.name!r} intervals of functions that fewer than {limit} rows "
                    f"decide covered {least:.0%} to {largest:.0%} in simulations, half of them less than {median:.0%}"
                )
        return None if known or not few < FEW_DECIDING else f"{told.format(few)}: resamples do not allow for that"
    of_sums = isinstance(entry.statistic, MomentStatistic | MeanStatistic) and entry.standing is None
    if not of_sums or layout.units is None or layout.n_units < MANY_CLUSTERS:
        return None
    if not entry.effective_units < FEW_CLUSTERS_DECIDING:
        return None
    return (
        f"{told.format(entry.effective_units)}: 95% intervals of such data covered {FOUND_IN_CLUSTERS} in simulations"
    )


def _deciding(entry: Entry, layout: Layout, n_resamples: int) -> float:
    """Return how many units decide on a user's function; NaN where that is not known, or would cost too much."""
    if entry.statistic.smooth:
        return entry.effective_units
    if isinstance(entry.statistic, Paired) or not layout.plain or layout.n * SHARE_LEFT_OUT > n_resamples:
        return math.nan
    values, multiplicity = left_out(entry, layout)
    apart = values - np.average(values, weights=multiplicity)
    noise = ROUNDING * np.max(np.abs(values))
    return float(effective_units(np.where(np.abs(apart) > noise, apart, 0.0), multiplicity))
