"""Exact bootstrap laws of statistics of a table that depend on the data: whether there is one, and what it is."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.request import Entry
from jaxci.intervals.capabilities import (
    averages_proportions,
    averages_share_differences,
    has_exact_law,
    is_ratio,
    is_ratio_difference,
    is_share_difference,
)
from jaxci.quick import Quick
from jaxci.resampling.class_means import mean_of_class_means
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import discrete
from jaxci.resampling.exact_ratio import ratio_distribution
from jaxci.resampling.kernels import in_batches
from jaxci.resampling.laws import BootstrapDistribution
from jaxci.resampling.mean_atoms import MOST_RESAMPLES, likely_resamples, number_of_resamples
from jaxci.resampling.mean_spectrum import TAIL
from jaxci.resampling.ratio_differences import difference_of_ratios
from jaxci.resampling.rounded_class_means import rounded_mean_of_class_means
from jaxci.resampling.two_shares import MOST_TERMS, TwoSharesLaw, number_of_terms
from jaxci.special import unit
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired

MOST_AT_ONCE = 2**20
"""Cells of tables of units that are held at once."""
REPORTED = 1e-4
"""Share of resamples without a value from which on it is reported."""


def table_of(prepared: Any, layout: Layout) -> np.ndarray:
    """Return the weights of the cells of a table."""
    counts = prepared.weights_of(layout)
    table = np.zeros(prepared.shape).reshape(-1)
    inside = prepared.cells < table.size
    table[prepared.cells[inside]] = counts[inside]
    return table.reshape(prepared.shape)


@Quick
def shares_of(statistic: Any, table: jax.Array) -> Any:
    """Return the proportions that a statistic averages."""
    return statistic.shares(table)


@jax.jit
def shares_of_units(statistic: Any, cells: Any, members: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return successes and trials (K, U) of the proportions from the weights (U, C) of units in every cell."""

    def one(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = statistic.shares(cells.table(weights))
        return found.successes, found.trials

    size = max(1, MOST_AT_ONCE // math.prod(cells.shape))
    successes, trials = in_batches(one, members, size)
    return successes.T, trials.T


def law_of_table(entry: Entry, layout: Layout, patience: float = 1.0) -> BootstrapDistribution | None:
    """Return the law of a difference of shares or ratios, a mean of shares or a small table; None where there is none.

    Of a difference of shares also where rows have clusters or weights. With more ``patience``, a multiple of what takes
    some tenths of a second, also where that takes long.
    """
    statistic = entry.statistic
    if not isinstance(statistic, TableStatistic) or has_exact_law(statistic):
        return None
    if is_share_difference(statistic):
        return _share_difference(entry, layout) if layout.given <= {"groups", "sample_weight"} else None
    if not layout.plain:
        return None
    if _is_listed(entry, layout):
        return _listed(entry, layout)
    if is_ratio_difference(statistic):
        return _ratio_difference(entry, layout, patience)
    return _mean_of_shares(entry, layout, patience)


def _share_difference(entry: Entry, layout: Layout) -> BootstrapDistribution | None:
    """Law of the difference of two models' shares of the same rows: as they have one denominator, it is a ratio."""
    statistic: Any = entry.statistic
    absent = 1.0 if statistic.statistic.has_fixed_trials else statistic.statistic.absent_share
    apart, counted = statistic.counted_in_cells(entry.prepared)
    cells, rows = entry.prepared.joint, np.stack([apart, counted], axis=1)
    if absent is None:
        return None
    if not np.any(counted * cells.weights_of(layout)):  # what no row tells counts the same for both models
        return discrete(np.zeros(1), np.ones(1))
    if layout.plain:
        counts = cells.weights_of(layout)
        if statistic.statistic.has_fixed_trials:
            return mean_distribution(apart[counts > 0], counts[counts > 0])
        totals, sizes = np.repeat(rows, counts.astype(np.int64), axis=0).T
    else:
        totals, sizes = layout.sum_rows(rows[cells.codes[: layout.n_rows]], layout.n_units)[: layout.n_units].T
    if np.all(sizes == sizes[0]):  # as of clusters of one size
        return mean_distribution(totals / sizes[0])
    return ratio_distribution(totals, sizes, undefined=0.0 * absent)


def _ratio_difference(entry: Entry, layout: Layout, patience: float) -> BootstrapDistribution | None:
    """Law of the difference of two models' ratios of counts."""
    statistic: Any = entry.statistic
    kinds = statistic.kinds(entry.prepared, entry.prepared.weights_of(layout))
    _, _, odds, undefined = statistic.statistic.count_ratio(np.ones(entry.prepared.first.shape))
    law = difference_of_ratios(kinds, odds, undefined, patience)
    if law is not None and math.isnan(undefined):
        none = np.array([kinds[2].sum(), kinds[:, 2].sum(), kinds[2, 2]]) / kinds.sum()
        _report_missing(entry, float(none ** kinds.sum() @ [1, 1, -1]))
    return law


def _report_missing(entry: Entry, missing: float) -> None:
    """Say in what share of resamples there is no value."""
    if missing >= REPORTED:
        entry.remarks.append(
            f"the statistic is undefined in {100 * missing:.3g}% of resamples; the interval is read from the others"
        )


def _mean_of_shares(entry: Entry, layout: Layout, patience: float) -> BootstrapDistribution | None:
    """Law of the mean of the shares of classes that no row is in two of, or of the difference of two models' means."""
    statistic: Any = entry.statistic
    counts = entry.prepared.weights_of(layout)
    n = round(float(counts.sum()))
    if averages_share_differences(statistic):
        both, only_a, only_b, neither, weights = statistic.outcomes(entry.prepared, counts)
        absent = statistic.statistic.absent_share
        absent = None if absent is None else 0.0 * absent
        return _of_classes(entry, only_a, only_b, both + only_a + only_b + neither, weights, n, 0.0, absent, patience)
    if not averages_proportions(statistic):
        return None
    shares = jax.tree.map(np.asarray, shares_of(statistic, table_of(entry.prepared, layout)))
    gone = shares.trials == 0
    offset, absent = float(shares.weights[gone] @ shares.scores[gone]), statistic.absent_share
    hits = shares.successes
    return _of_classes(entry, hits, 0 * hits, shares.trials, shares.weights, n, offset, absent, patience)


def _of_classes(
    entry: Entry,
    plus: np.ndarray,
    minus: np.ndarray,
    sizes: np.ndarray,
    weights: np.ndarray,
    n: int,
    offset: float,
    absent: float | None,
    patience: float,
) -> BootstrapDistribution | None:
    """Law of a mean of class means; None where that is not smooth and an absent class counts as more than a number."""
    there = sizes > 0
    rows = plus[there], minus[there], sizes[there], weights[there]
    smooth = mean_of_class_means(*rows, n, offset, patience)
    never = float(np.sum((1 - sizes[there] / n) ** n))
    if smooth is not None or (absent is None and never > TAIL):
        return smooth
    two = absent is not None and len(sizes) == 2 and not minus.any()
    if two and number_of_terms(plus, sizes, n) <= patience * MOST_TERMS:
        law: BootstrapDistribution | None = TwoSharesLaw.of(plus, sizes, n, absent=np.asarray(absent))
    else:
        law = rounded_mean_of_class_means(*rows, n, offset, math.nan if absent is None else absent, patience)
    if law is not None and never >= REPORTED and entry.statistic.absent_class is not None:
        entry.remarks.append(
            f"a class is absent from {100 * never:.3g}% of resamples; see absent_class for what they count as"
        )
    return law


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
    _report_missing(entry, float(found.masses[~known].sum()))
    values = np.where(np.abs(values) <= 1e-15, 0.0, values)  # of two models that do equally well
    law = discrete(values[known], found.masses[known])
    scale = float(unit(np.abs(law.atoms).max()))
    return dataclasses.replace(law, tolerance=max(4 * float(law.tolerance), math.ulp(16 * scale)))
