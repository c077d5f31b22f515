"""Exact bootstrap laws of statistics of a table that depend on the data: whether there is one, and what it is."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.request import Entry
from jaxci.intervals.capabilities import averages_proportions, has_exact_law, is_ratio, is_share_difference
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import discrete
from jaxci.resampling.exact_ratio import ratio_distribution
from jaxci.resampling.laws import BootstrapDistribution
from jaxci.resampling.mean_atoms import MOST_RESAMPLES, likely_resamples, number_of_resamples
from jaxci.resampling.two_shares import MOST_TERMS, TwoSharesLaw, number_of_terms
from jaxci.special import unit
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired

REPORTED = 1e-4
"""Share of resamples without a value from which on it is reported."""


def has_law(entry: Entry, layout: Layout) -> bool:
    """Whether the bootstrap distribution of the statistic of these data can be computed."""
    statistic = entry.statistic
    if has_exact_law(statistic, layout.given):
        return True
    if not isinstance(statistic, TableStatistic) or not layout.given <= {"groups", "sample_weight"}:
        return False
    if is_share_difference(statistic):
        return _share_difference(entry, layout) is not None
    return layout.plain and (_two_shares(entry, layout) is not None or _is_listed(entry, layout))


def law_of_table(entry: Entry, layout: Layout) -> BootstrapDistribution | None:
    """Return the law of a difference of shares, a mean of two shares or a small table; None where none is here."""
    if is_share_difference(entry.statistic):
        return _share_difference(entry, layout)
    if not layout.plain or has_exact_law(entry.statistic):
        return None
    if _is_listed(entry, layout):
        return _listed(entry, layout)
    return _two_shares(entry, layout)


def _share_difference(entry: Entry, layout: Layout) -> BootstrapDistribution | None:
    """Law of the difference of two models' shares of the same rows: as they have one denominator, it is a ratio."""
    statistic: Any = entry.statistic
    absent = 1.0 if statistic.statistic.has_fixed_trials else statistic.statistic.absent_share
    apart, counted = statistic.counted_in_cells(entry.prepared)
    cells, rows = entry.prepared.joint, np.stack([apart, counted], axis=1)
    if absent is None or not np.any(counted * cells.weights_of(layout)):
        return None
    if layout.plain:
        counts = cells.weights_of(layout)
        if statistic.statistic.has_fixed_trials:
            return mean_distribution(apart[counts > 0], counts[counts > 0])
        totals, sizes = np.repeat(rows, counts.astype(np.int64), axis=0).T
    else:
        totals, sizes = layout.sum_rows(rows[cells.codes[: layout.n_rows]], layout.n_units)[: layout.n_units].T
    return ratio_distribution(totals, sizes, undefined=0.0 * absent)


def _two_shares(entry: Entry, layout: Layout) -> TwoSharesLaw | None:
    """Law of the mean of the shares of two classes that no row is in both of."""
    statistic: Any = entry.statistic
    if not averages_proportions(statistic) or statistic.absent_share is None or entry.prepared.shape[0] != 2:
        return None
    counts = entry.prepared.weights_of(layout)
    table = np.zeros(5)  # the last is for padding
    np.add.at(table, np.minimum(entry.prepared.cells, 4), counts)
    found = jax.tree.map(np.asarray, statistic.shares(jnp.asarray(table[:4].reshape(2, 2))))
    n = round(float(counts.sum()))
    if number_of_terms(found.successes, found.trials, n) > MOST_TERMS:
        return None
    return TwoSharesLaw.of(found.successes, found.trials, n, absent=np.asarray(statistic.absent_share))


def _is_listed(entry: Entry, layout: Layout) -> bool:
    """Whether it is a mean of shares, or a difference of these or of ratios, of rows that have few resamples."""
    statistic = entry.statistic
    one: Statistic = statistic.statistic if isinstance(statistic, Paired) else statistic
    if not (averages_proportions(one) or (isinstance(statistic, Paired) and is_ratio(one))):
        return False
    counts = entry.prepared.weights_of(layout)
    return number_of_resamples(round(float(counts.sum())), int(np.count_nonzero(counts))) <= MOST_RESAMPLES


@jax.jit
def _values(statistic: Any, known: Any, tables: jax.Array) -> jax.Array:
    return statistic.core(known, tables)


def _listed(entry: Entry, layout: Layout) -> BootstrapDistribution | None:
    """List all resamples of a table, and what the statistic is of each."""
    counts = entry.prepared.weights_of(layout)
    cells = np.flatnonzero(counts)
    found = likely_resamples(np.eye(cells.size), counts[cells], round(float(counts.sum())))
    assert found is not None
    drawn, size = found.masses.size, 1 << (found.masses.size - 1).bit_length()
    tables = np.zeros((entry.prepared.size, size))  # a power of two: programs are compiled for few sizes
    tables[cells, :drawn] = found.sums
    tables[cells, drawn:] = found.sums[:, :1]
    values = np.asarray(_values(entry.statistic, entry.prepared.without_rows(), jnp.asarray(tables)))[:drawn]
    known = ~np.isnan(values)
    if not known.any():
        return None
    missing = float(found.masses[~known].sum())
    if missing >= REPORTED:
        entry.remarks.append(
            f"the statistic is undefined in {100 * missing:.3g}% of resamples; the interval is read from the others"
        )
    values = np.where(np.abs(values) <= 1e-15, 0.0, values)  # of two models that do equally well
    law = discrete(values[known], found.masses[known])
    scale = float(unit(np.abs(law.support).max()))
    return dataclasses.replace(law, tolerance=max(4 * float(law.tolerance), math.ulp(16 * scale)))
