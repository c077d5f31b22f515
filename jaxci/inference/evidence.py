"""What interval methods read of one statistic: gathered as far as its method needs it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.curvature import curvature
from jaxci.inference.known_laws import law_of, ordered_values_of, row_values_of
from jaxci.inference.left_out import left_out
from jaxci.inference.opposed import adjusted, unseen_of_areas
from jaxci.inference.places import places
from jaxci.inference.posterior import posterior_law
from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Entry, programs
from jaxci.inference.shares import counted_rows, shares_that_tell
from jaxci.inference.slopes import (
    contributions,
    contributions_left_out,
    jackknife_acceleration,
    jackknife_error,
)
from jaxci.intervals.auc import auc_evidence
from jaxci.intervals.auc_difference import auc_difference_evidence
from jaxci.intervals.base import Evidence
from jaxci.intervals.blocks import Dependence
from jaxci.intervals.bootstrap import studentized_pivots
from jaxci.intervals.calibration import error_of_square
from jaxci.intervals.capabilities import (
    averages_areas,
    averages_share_differences,
    has_opposed_rows,
    is_auc_difference,
    is_debiased_calibration,
    is_share_difference,
)
from jaxci.intervals.clusters import ClusterRobust, ClusterSums, cluster_variance
from jaxci.intervals.kurtosis import spread
from jaxci.intervals.proportion_difference import PairedOutcomes
from jaxci.intervals.sign_flip import flipped
from jaxci.resampling.kernels import stable_order
from jaxci.resampling.laws import Drawn
from jaxci.special import deviation, unit
from jaxci.statistics.base import TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean

PURPOSE_CHOICE = 5
"""Separates the draw of a randomized method from resamples."""


def rounding(*values: float) -> float:
    """Return the difference that rounding errors may make between numbers as large as ``values``."""
    return 16 * float(np.finfo(float).eps) * max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def error_or_zero(error: float, entry: Entry, layout: Layout) -> float:
    """Return a standard error from derivatives, 0 where these are rounding errors only."""
    noise = rounding(entry.estimate, entry.scale, *entry.statistic.bounds) / math.sqrt(layout.n_units)
    return 0.0 if error <= noise else error


def _influence(
    entry: Entry, sample: Sample, layout: Layout, without: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray:
    """Return what each unit contributes to the estimate (n,), from values that leave it out if given."""
    if without is not None:
        values, multiplicity = without
        return contributions_left_out(np.repeat(values, multiplicity.astype(int)))
    if entry.contributions is not None:
        return entry.contributions
    assert isinstance(entry.statistic, MeanStatistic)  # whose derivatives are its values, so that none were taken
    per_row = unit(np.array(2 * entry.estimate)) if entry.statistic.link == "sqrt" else 1.0
    return contributions(row_values_of(entry.statistic, sample) / per_row / layout.n)


def _acceleration(entry: Entry, sample: Sample, layout: Layout) -> float:
    """BCa acceleration: from derivatives, or from leave-one-out values."""
    if layout.plain and isinstance(entry.statistic, MeanStatistic) and not entry.by_jackknife:
        return entry.acceleration
    if entry.needs_slopes:
        return entry.acceleration
    if layout.plain and isinstance(entry.statistic, OrderStatistic):
        return float(jackknife_acceleration(*entry.statistic.left_out(ordered_values_of(entry, sample))))
    return float(jackknife_acceleration(*left_out(entry, layout)))


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


def _in_units(entry: Entry, layout: Layout) -> Layout:
    """Return the layout in which blocks are clusters, and rows that differ in weight are clusters of one row."""
    assert entry.method is not None
    if layout.units is None and (entry.method.requires_blocks or layout.row_weights is not None):
        length = int(entry.block_length) if entry.method.requires_blocks else 1
        return dataclasses.replace(layout, units=(np.arange(layout.n) // length).astype(np.int32))
    return layout


def gather(entry: Entry, sample: Sample, layout: Layout, rng: Randomness) -> Evidence:
    """Gather what the method needs, as a batch of one data set."""
    statistic, needs, trials = entry.statistic, entry.needs, entry.trials
    parts: dict[str, Any] = {}
    if trials is not None:
        assert isinstance(statistic, TableStatistic)
        parts |= counted_rows(statistic, trials, entry.prepared, layout)
    if "clusters" in needs or ("values" in needs and (layout.units is not None or is_share_difference(statistic))):
        parts["clusters"] = _cluster_sums(entry, sample, layout)
    elif "values" in needs and layout.counts is not None:
        assert isinstance(statistic, QuantileStatistic)
        values = statistic.ordered_values(sample)
        order = stable_order(values)
        parts |= {"values": values[order][None], "counts": layout.counts[order][None]}
    elif "values" in needs:
        mean = isinstance(statistic, MeanStatistic)
        parts["values"] = (row_values_of(statistic, sample) if mean else ordered_values_of(entry, sample))[None]
    if layout.units is not None and entry.method is not None and entry.method.by_leverage:
        parts["sizes"] = layout.sum_rows(np.ones((layout.n_rows, 1)), layout.n_units).T
    if "places" in needs:
        found = places(statistic, statistic.prepare(sample), layout)  # in the order of the layout's rows
        parts["places"] = jax.tree.map(lambda x: np.asarray(x)[None], found)
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
        parts["shares"] = shares_that_tell(statistic, entry.prepared, layout)
    if "law" in needs or entry.exact:
        law = jax.tree.map(lambda x: np.asarray(x)[None], law_of(entry, sample, layout))
        parts["distribution" if entry.exact else "law"] = law
    if "auc" in needs:
        parts["auc"] = jax.tree.map(
            lambda x: np.asarray(x)[None], auc_evidence(sample.y_true, sample.y_score, sample.counts)
        )
    if "auc_difference" in needs:
        assert sample.other is not None
        areas = auc_difference_evidence(sample.y_true, sample.y_score, sample.other.y_score)
        parts["auc_difference"] = jax.tree.map(lambda x: x[None], areas)
    if "unseen" in needs and (is_auc_difference(statistic) or averages_areas(statistic)):
        parts["unseen"] = unseen_of_areas(statistic, sample, layout)
    elif "unseen" in needs and has_opposed_rows(statistic):
        parts["unseen"] = adjusted(statistic, sample, layout).unseen
    if "outcomes" in needs:
        assert is_share_difference(statistic) or averages_share_differences(statistic)
        counted = statistic.outcomes(entry.prepared, entry.prepared.weights_of(layout))
        parts["outcomes"] = PairedOutcomes(*(x[None] for x in counted))
    if "adjusted" in needs:
        assert isinstance(statistic, Paired)
        parts["adjusted"] = adjusted(statistic, sample, layout)
    if "gaps" in needs:
        assert is_debiased_calibration(statistic)
        rows = np.asarray(entry.prepared.design)[: layout.n_rows]
        by = _in_units(entry, layout)
        if by.units is None:
            sums = rows.sum(axis=0) if layout.counts is None else layout.counts @ rows
            parts["gaps"] = statistic.gaps(np.concatenate([[layout.n], sums])[None])
        else:
            parts["gaps"] = statistic.gaps_of_clusters(by.sum_rows(rows, by.n_units)[None])
    if "curvature" in needs:
        ((program, _),) = programs([entry], layout)
        parts["curvature"] = curvature(program, 0)
    if entry.dependence is not None:
        parts["dependence"] = Dependence(*(np.array([x]) for x in entry.dependence))
    if "acceleration" in needs:
        parts["acceleration"] = np.array([_acceleration(entry, sample, layout)])
    if "posterior" in needs:
        parts["posterior"] = posterior_law(entry, layout)
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


def _slope(entry: Entry, share: float) -> float:
    """Return the derivative of a statistic that tells of a share."""
    assert isinstance(entry.statistic, TableStatistic)
    return float(entry.statistic.of_share(share)[1])


def standard_error(entry: Entry, evidence: Evidence) -> float:
    """Return the standard error that goes with the interval; NaN where there is none.

    Of rows that depend on each other it is the one in the long run.
    """
    found = _error_of_resamples(entry, evidence)
    assert entry.method is not None
    if entry.dependence is None:
        return found
    effect = max(entry.dependence.effect, 1.0)
    return found * (entry.dependence.ratio if entry.method.reads_resamples else math.sqrt(effect))


def _error_of_resamples(entry: Entry, evidence: Evidence) -> float:
    """Return the standard error of independent rows, or of the resamples that were drawn; NaN where there is none."""
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
        return float(error_of_square(evidence.gaps).standard_error[0]) / twice if twice > 0 else math.nan
    if evidence.places is not None:
        return float(evidence.places.standard_error[0])
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
