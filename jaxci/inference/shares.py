"""Proportions of a table as interval methods read them: successes and trials, of weighted rows and of clusters too."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.request import Entry, Trials, by_shared_table
from jaxci.inference.table_laws import shares_of, shares_of_units, table_of
from jaxci.intervals.clusters import ClusterSums
from jaxci.intervals.mover import shares_by_weight, shares_in_clusters
from jaxci.intervals.weighted_proportion import Weighing, rows_in_effect
from jaxci.quick import Quick
from jaxci.statistics.base import Shares, TableStatistic, is_proportion
from jaxci.statistics.layout import Layout
from jaxci.statistics.sums import Cells


def _tables_by_weight(cells: Cells, layout: Layout) -> list[np.ndarray]:
    """Return the numbers of rows in the cells of a table, their weights, and squares and cubes of these, at most 1."""
    powers = layout.powers_of_weights()
    return [table_of(cells, dataclasses.replace(layout, row_weights=weights)) for weights in powers.T]


def _potential(statistic: TableStatistic, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return tables of rows that could be in any cell: those of their classes.

    Classes that have rows count alike, as rare ones may make most of the failures; of shares of all rows those that are
    right count by their rows.
    """
    of_class = [table.sum(axis=1, keepdims=True) for table in tables]
    alike = np.where(of_class[0] > 0, of_class[0], 1.0)
    rows = np.where(np.eye(len(alike)) == 1, 1.0, alike) if statistic.has_fixed_trials else alike
    return [np.broadcast_to(sums / rows, table.shape) for sums, table in zip(of_class, tables, strict=True)]


def _weighing(
    statistic: TableStatistic, tables: Sequence[np.ndarray], counted: Callable[[np.ndarray], Any]
) -> Weighing:
    """Return how the rows of proportions weigh, whose successes and trials are ``counted`` in a table."""
    sums, potential = (
        np.stack([np.stack(counted(table)) for table in found]) for found in (tables, _potential(statistic, tables))
    )
    return Weighing.of(sums, potential, np.array([table.sum() for table in tables]))


def counted_rows(statistic: TableStatistic, trials: Trials, cells: Cells, layout: Layout) -> dict[str, Any]:
    """Return successes and trials, of weighted rows those of rows of equal weight that tell as much."""
    count, nobs = (np.array([x]) for x in trials)
    if layout.row_weights is None:
        return {"count": count, "nobs": nobs}
    tables = _tables_by_weight(cells, layout)
    weighing = _weighing(statistic, tables, lambda table: np.asarray(_successes((statistic,), table))[0][:, None])
    sums, squares = (np.asarray(_successes((statistic,), table))[0] for table in tables[1:3])
    size = rows_in_effect(*sums, *squares)[None]
    return {"count": np.minimum(count / nobs, 1.0) * size, "nobs": size, "weighing": weighing}


def shares_that_tell(statistic: TableStatistic, cells: Cells, layout: Layout) -> Shares:
    """Return the proportions that a statistic averages, of rows of equal weight that tell as much."""

    def shares(table: np.ndarray) -> Shares:
        return jax.tree.map(lambda x: np.asarray(x, float)[None], shares_of(statistic, table))

    def counted(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = shares(table)
        return found.successes, found.trials

    if layout.row_weights is None:
        alike = shares(table_of(cells, layout))
    else:
        tables = _tables_by_weight(cells, layout)
        alike = shares_by_weight(shares(tables[1]), shares(tables[2]), _weighing(statistic, tables, counted))
    if layout.units is None:
        return alike
    members = layout.count_codes(cells.codes, cells.size, layout.n_units)
    sums = shares_of_units(statistic, cells.without_rows(), members)
    return shares_in_clusters(alike, ClusterSums(*(np.asarray(x, float)[None] for x in sums)), alike.trials)


@Quick
def _successes(statistics: Sequence[Any], table: jax.Array) -> jax.Array:
    return jnp.stack([jnp.stack(statistic.successes(table)) for statistic in statistics])


def count_trials(entries: Sequence[Entry], layout: Layout) -> None:
    """Count the successes and trials of all proportions among ``entries``, those of one table in one program.

    Their share is the estimate, unless there are no trials: what that counts as is the statistic's to say.
    """
    proportions = [entry for entry in entries if is_proportion(entry.statistic)]
    for group in by_shared_table(proportions):
        table = table_of(group[0].prepared, layout)
        found = np.asarray(_successes(tuple(entry.statistic for entry in group), table))
        for entry, (successes, nobs) in zip(group, found.tolist(), strict=True):
            entry.trials = Trials(successes, nobs)
            if nobs > 0 and math.isnan(entry.estimate):
                assert isinstance(entry.statistic, TableStatistic)
                if entry.statistic.absent_class == "skip":  # a class that is absent has no score, whatever is counted
                    sums = jnp.asarray(entry.prepared.weights_of(layout), float)
                    entry.estimate = float(entry.statistic.from_sums(entry.prepared.without_rows(), sums))
                else:
                    entry.estimate = float(entry.statistic.of_share(successes / nobs)[0])
