"""What interval methods read of one statistic: gathered as far as its method needs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.curvature import curvature
from jaxci.inference.left_out import left_out
from jaxci.inference.opposed import adjusted
from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Entry, Trials, by_shared_table, programs
from jaxci.inference.slopes import jackknife_acceleration, jackknife_error, slopes
from jaxci.inference.table_laws import shares_of, shares_of_units, table_of
from jaxci.intervals.auc import auc_evidence
from jaxci.intervals.auc_difference import auc_difference_evidence
from jaxci.intervals.base import Evidence
from jaxci.intervals.bootstrap import studentized_pivots
from jaxci.intervals.capabilities import (
    averages_share_differences,
    has_beta_law,
    is_debiased_calibration,
    is_share_difference,
)
from jaxci.intervals.clusters import ClusterRobust, ClusterSums, cluster_variance
from jaxci.intervals.kurtosis import spread
from jaxci.intervals.mover import shares_by_weight, shares_in_clusters
from jaxci.intervals.proportion_difference import PairedOutcomes
from jaxci.intervals.sign_flip import flipped
from jaxci.intervals.weighted_proportion import Weighing, rows_in_effect
from jaxci.resampling.count_ratio import CountRatioLaw
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.exact_ratio import ratio_distribution
from jaxci.resampling.laws import BootstrapDistribution, Drawn, Root
from jaxci.resampling.share_laws import BetaLaw, BinomialLaw
from jaxci.special import deviation
from jaxci.statistics.base import Shares, Statistic, TableStatistic, has_fixed_trials, is_proportion
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, SecondMoment, is_mean
from jaxci.statistics.sums import Cells

LEAST_WEIGHT = 1e-150
"""Weights below such a share of the largest count as it: squares of smaller ones would be 0."""

PURPOSE_CHOICE = 5
"""Separates the draw of a randomized method from resamples."""


def rounding(*values: float) -> float:
    """Return the difference that rounding errors may make between numbers as large as ``values``."""
    return 16 * float(np.finfo(float).eps) * max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def error_or_zero(error: float, entry: Entry, layout: Layout) -> float:
    """Return a standard error from derivatives, 0 where these are rounding errors only."""
    noise = rounding(entry.estimate, entry.scale, *entry.statistic.bounds) / math.sqrt(layout.n_units)
    return 0.0 if error <= noise else error


def row_values_of(statistic: Statistic, sample: Sample) -> np.ndarray:
    """Return the values (n,) whose mean the statistic is."""
    assert isinstance(statistic, MeanStatistic)
    return statistic.row_values(sample)


def _influence(
    entry: Entry, sample: Sample, layout: Layout, without: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray:
    """Return what each row contributes to the estimate (n,), from values that leave it out if given.

    Within strata of m rows it is less their mean, times ``sqrt(m / (m - 1) (n - 1) / n)``: the sum of squares over
    ``n (n - 1)`` is then the variance.
    """
    n = layout.n_units
    if without is not None:
        values, multiplicity = without
        return np.repeat((n - 1) * (np.average(values, weights=multiplicity) - values), multiplicity.astype(int))
    strata = layout.strata
    if is_mean(entry.statistic) and layout.rows_are_units:
        found = row_values_of(entry.statistic, sample)
    else:
        ((program, _),) = programs([entry], layout)
        multiplicity = np.asarray(program.multiplicity).astype(int)
        found = np.repeat(n * np.asarray(slopes(program)[1])[0], multiplicity)
        if layout.units is not None and entry.method is not None and entry.method.by_leverage:
            found = found * layout.leverage(n)
        strata = None if program.strata is None else np.repeat(program.strata, multiplicity)
    if strata is None:
        return found - found.mean()
    held = np.bincount(strata)
    apart = found - (np.bincount(strata, found) / np.maximum(held, 1))[strata]
    return apart * np.sqrt(held / np.maximum(held - 1, 1) * (n - 1) / n)[strata]


def _acceleration(entry: Entry, sample: Sample, layout: Layout) -> float:
    """BCa acceleration: from derivatives, or from leave-one-out values."""
    if layout.plain and isinstance(entry.statistic, MeanStatistic) and not entry.by_jackknife:
        return entry.acceleration
    if entry.needs_slopes:
        return entry.acceleration
    if layout.plain and isinstance(entry.statistic, OrderStatistic):
        return float(jackknife_acceleration(*entry.statistic.left_out(_ordered_values(entry, sample))))
    return float(jackknife_acceleration(*left_out(entry, layout)))


def _ordered_values(entry: Entry, sample: Sample) -> np.ndarray:
    """Values (n,), ascending, whose order statistics or variance the statistic is."""
    if isinstance(entry.statistic, SecondMoment):
        assert sample.values is not None
        return np.sort(sample.values[: sample.n])
    assert isinstance(entry.statistic, OrderStatistic)
    return np.sort(entry.statistic.ordered_values(sample))


def _cluster_sums(entry: Entry, sample: Sample, layout: Layout) -> ClusterSums:
    """Return sums of a mean, or successes and trials of a share, by clusters; of independent rows each is one."""
    statistic = entry.statistic
    if isinstance(statistic, MeanStatistic):
        values = row_values_of(statistic, sample)
        rows = np.stack([values, np.ones(len(values))], axis=1)
    else:
        assert isinstance(statistic, TableStatistic)
        rows = np.stack(statistic.counted_in_cells(entry.prepared), axis=1)[entry.prepared.codes[: layout.n_rows]]
    totals, sizes = layout.sum_rows(rows, layout.n_units).T
    counted = sizes > 0
    return ClusterSums(totals[None, counted], sizes[None, counted])


def _tables_by_weight(cells: Cells, layout: Layout) -> list[np.ndarray]:
    """Return the numbers of rows in the cells of a table, their weights and the squares of these, at most 1."""
    assert layout.row_weights is not None
    weights = np.maximum(layout.row_weights / layout.row_weights.max(), LEAST_WEIGHT)
    return [table_of(cells, Layout(layout.n, row_weights=weights**power)) for power in (0, 1, 2)]


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


def _counted_rows(statistic: TableStatistic, trials: Trials, cells: Cells, layout: Layout) -> dict[str, Any]:
    """Return successes and trials, of weighted rows those of rows of equal weight that tell as much."""
    count, nobs = (np.array([x]) for x in trials)
    if layout.row_weights is None:
        return {"count": count, "nobs": nobs}
    tables = _tables_by_weight(cells, layout)
    weighing = _weighing(statistic, tables, lambda table: np.asarray(_successes((statistic,), table))[0][:, None])
    sums, squares = (np.asarray(_successes((statistic,), table))[0] for table in tables[1:])
    size = rows_in_effect(*sums, *squares)[None]
    return {"count": np.minimum(count / nobs, 1.0) * size, "nobs": size, "weighing": weighing}


def _shares(statistic: TableStatistic, cells: Cells, layout: Layout) -> Shares:
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


def gather(entry: Entry, sample: Sample, layout: Layout, rng: Randomness) -> Evidence:
    """Gather what the method needs, as a batch of one data set."""
    statistic, needs, trials = entry.statistic, entry.needs, entry.trials
    parts: dict[str, Any] = {}
    if trials is not None:
        assert isinstance(statistic, TableStatistic)
        parts |= _counted_rows(statistic, trials, entry.prepared, layout)
    if "clusters" in needs or ("values" in needs and (layout.units is not None or is_share_difference(statistic))):
        parts["clusters"] = _cluster_sums(entry, sample, layout)
    elif "values" in needs and layout.counts is not None:
        assert isinstance(statistic, QuantileStatistic)
        values = statistic.ordered_values(sample)
        order = np.argsort(values, kind="stable")
        parts |= {"values": values[order][None], "counts": layout.counts[order][None]}
    elif "values" in needs:
        mean = isinstance(statistic, MeanStatistic)
        parts["values"] = (row_values_of(statistic, sample) if mean else _ordered_values(entry, sample))[None]
    if layout.units is not None and entry.method is not None and entry.method.by_leverage:
        parts["sizes"] = layout.sum_rows(np.ones((layout.n_rows, 1)), layout.n_units).T
    without = left_out(entry, layout) if entry.error_by_jackknife else None
    if without is not None:
        n = layout.n_units  # values of which one unit is left out are n times as close as derivatives are large
        entry.standard_error = n * error_or_zero(float(jackknife_error(*without)) / n, entry, layout)
    if "influence" in needs:
        parts["influence"] = _influence(entry, sample, layout, without)[None]
    if "uniform" in needs:
        key = jax.random.fold_in(rng.key, PURPOSE_CHOICE)
        parts["uniform"] = np.array([float(jax.random.uniform(key, dtype=jnp.float64))])
    if "flips" in needs:
        assert entry.method is not None
        parts["flips"] = flipped(parts["clusters"], entry.method.n_flips, float(parts["uniform"][0]))
    if isinstance(statistic, TableStatistic) and "shares" in needs:
        parts["shares"] = _shares(statistic, entry.prepared, layout)
    if "law" in needs or entry.exact:
        law = jax.tree.map(lambda x: np.asarray(x)[None], _law(entry, sample, layout))
        parts["distribution" if entry.exact else "law"] = law
    if "auc" in needs:
        parts["auc"] = jax.tree.map(
            lambda x: np.asarray(x)[None], auc_evidence(sample.y_true, sample.y_score, sample.counts)
        )
    if "auc_difference" in needs:
        assert sample.other is not None
        areas = auc_difference_evidence(sample.y_true, sample.y_score, sample.other.y_score)
        parts["auc_difference"] = jax.tree.map(lambda x: x[None], areas)
    if "outcomes" in needs:
        assert is_share_difference(statistic) or averages_share_differences(statistic)
        counted = statistic.outcomes(entry.prepared, entry.prepared.weights_of(layout))
        parts["outcomes"] = PairedOutcomes(*(x[None] for x in counted))
    if "adjusted" in needs:
        assert isinstance(statistic, Paired)
        parts["adjusted"] = adjusted(statistic, sample, layout.row_weights)
    if "gaps" in needs:
        assert is_debiased_calibration(statistic)
        rows = np.asarray(entry.prepared.design)[: layout.n_rows]
        sums = rows.sum(axis=0) if layout.counts is None else layout.counts @ rows
        parts["gaps"] = statistic.gaps(np.concatenate([[layout.n], sums])[None])
    if "curvature" in needs:
        ((program, _),) = programs([entry], layout)
        parts["curvature"] = curvature(program, 0)
    if "acceleration" in needs:
        parts["acceleration"] = np.array([_acceleration(entry, sample, layout)])
    if "posterior" in needs:
        parts["posterior"] = _posterior(entry, layout)
    elif entry.replicates is not None:
        parts["distribution"] = Drawn.of(entry.replicates[None])
        if "pivots" in needs:
            assert entry.errors is not None
            parts["pivots"] = studentized_pivots(
                entry.replicates[None], entry.errors[None], np.array([entry.estimate]), np.array([entry.standard_error])
            )
    if entry.levels is not None:
        parts["levels"] = Drawn.of(entry.levels[None])
    return Evidence(
        statistic=statistic,
        estimate=np.array([entry.estimate]),
        n=layout.n_units,
        standard_error=np.array([entry.standard_error]),
        **parts,
    )


@jax.jit
def _successes(statistics: Sequence[Any], table: jax.Array) -> jax.Array:
    return jnp.stack([jnp.stack(statistic.successes(table)) for statistic in statistics])


@jax.jit
def _counted(statistic: Any, table: jax.Array) -> Any:
    return statistic.count_ratio(table)


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


def _law(entry: Entry, sample: Sample, layout: Layout) -> BootstrapDistribution:
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
    return quantile_distribution(_ordered_values(entry, sample), statistic.probability)


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


def draws_posterior(entry: Entry, layout: Layout) -> bool:
    """Whether a method reads a posterior that must be drawn: that of a share of independent rows is known."""
    return "posterior" in entry.needs and not (layout.plain and has_beta_law(entry.statistic))


def _posterior(entry: Entry, layout: Layout) -> BootstrapDistribution:
    assert entry.method is not None
    assert entry.method.prior is not None
    if draws_posterior(entry, layout):
        assert entry.replicates is not None
        return Drawn.of(entry.replicates[None])
    assert entry.trials is not None
    return BetaLaw(np.array([entry.trials.successes]), np.array([entry.trials.nobs]), entry.method.prior.mass)


def _slope(entry: Entry, share: float) -> float:
    """Return the derivative of a statistic that tells of a share."""
    assert isinstance(entry.statistic, TableStatistic)
    return float(entry.statistic.of_share(share)[1])


def standard_error(entry: Entry, evidence: Evidence) -> float:
    """Return the standard error that goes with the interval; NaN where there is none."""
    if evidence.influence is not None:
        return 0.0 if entry.standard_error == 0 else float(spread(evidence.influence, 0.0).standard_error[0])
    if not math.isnan(entry.standard_error) and (entry.needs_slopes or entry.error_by_jackknife):
        return entry.standard_error
    if evidence.auc is not None:
        return float(np.sqrt(evidence.auc.variance[0])) if evidence.auc.variance[0] >= 0 else math.nan
    if evidence.clusters is not None:
        if evidence.clusters.count[0] < 2:
            return math.nan
        estimator = entry.method.variance if isinstance(entry.method, ClusterRobust) else "jackknife"
        error = float(np.sqrt(cluster_variance(evidence.clusters, estimator)[0]))
        return error * (1.0 if entry.trials is None else _slope(entry, entry.trials.successes / entry.trials.nobs))
    for paired in (evidence.auc_difference, evidence.outcomes, evidence.adjusted):
        if paired is not None:
            return float(paired.standard_error[0])
    if evidence.gaps is not None:
        twice = 2 * entry.estimate
        return float(np.sqrt(evidence.gaps.square_variance[0])) / twice if twice > 0 else math.nan
    if evidence.curvature is not None:
        return float(evidence.curvature.standard_error[0])
    for known in (evidence.distribution, evidence.law, evidence.posterior):
        if known is not None:
            return float(known.standard_error[0])
    if evidence.shares is not None:
        return float(evidence.shares.standard_error[0])
    if evidence.count is not None and evidence.nobs[0]:
        share = float(evidence.count[0]) / float(evidence.nobs[0])
        return _slope(entry, share) * math.sqrt(share * (1 - share) / float(evidence.nobs[0]))
    if evidence.values is not None and is_mean(entry.statistic):
        return float(deviation(evidence.values[0], ddof=1)) / math.sqrt(evidence.values.shape[-1])
    return math.nan
