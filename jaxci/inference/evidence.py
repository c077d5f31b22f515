"""What interval methods read of one statistic: gathered as far as its method needs it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Entry, by_jackknife, programs
from jaxci.intervals.approximate import curvature
from jaxci.intervals.auc import auc_evidence
from jaxci.intervals.base import Evidence
from jaxci.intervals.bootstrap import studentized_pivots
from jaxci.intervals.capabilities import has_fixed_trials, is_mean, is_proportion, is_root
from jaxci.resampling.engine import Item, Layout
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.jackknife import acceleration, deleted_values, mean_acceleration, quantile_left_out
from jaxci.resampling.laws import BinomialLaw, BootstrapDistribution, Drawn, Root
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.custom import HostFunction, SampleFunction

PURPOSE_CHOICE = 5
"""Separates the draw of a randomized method from resamples."""


class Trials(NamedTuple):
    """Successes and trials of a proportion, weighted."""

    successes: float
    nobs: float


def rounding(*values: float) -> float:
    """Return the difference that rounding errors may make between numbers as large as ``values``."""
    return 16 * float(np.finfo(float).eps) * max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def error_or_zero(error: float, entry: Entry, layout: Layout) -> float:
    """Return a standard error from derivatives, 0 where these are rounding errors only."""
    noise = rounding(entry.estimate, *entry.statistic.bounds) / math.sqrt(layout.n_units)
    return 0.0 if error <= noise else error


def row_values_of(statistic: Statistic, sample: Sample) -> np.ndarray:
    """Return the values (n,) whose mean the statistic is."""
    return np.asarray(statistic.row_values(sample))  # type: ignore[attr-defined]


def _left_out(entry: Entry, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Values with each unit left out, and how many units each stands for."""
    if isinstance(entry.statistic, HostFunction):
        weights = np.ones((layout.n_units, layout.n))
        weights[np.arange(layout.n) if layout.units is None else layout.units, np.arange(layout.n)] = 0
        found = [entry.statistic.value(entry.item.prepared, row) for row in weights]
        return np.array(found), np.ones(len(found))
    if isinstance(entry.statistic, SampleFunction):
        sizes = np.ones(layout.n, int) if layout.units is None else np.bincount(layout.units)
        values = np.empty(layout.n_units)
        for size in np.unique(sizes):
            shorter = dataclasses.replace(entry.item.prepared, n=layout.n - int(size))
            ((program, _),) = programs([dataclasses.replace(entry, item=Item(entry.statistic, shorter))], layout)
            units = np.flatnonzero(sizes == size)
            values[units] = deleted_values(program, 0, units[:, None])
        return values, np.ones(len(values))
    ((program, _),) = programs([entry], layout)
    multiplicity = np.asarray(program.multiplicity)
    units = np.flatnonzero(multiplicity > 0)
    return deleted_values(program, 0, units[:, None]), multiplicity[units]


def _acceleration(entry: Entry, sample: Sample, layout: Layout) -> float:
    """BCa acceleration: from derivatives, or from leave-one-out values."""
    if entry.needs_slopes:
        return entry.acceleration
    if hasattr(entry.statistic, "row_values") and layout.plain and not by_jackknife(entry.method):
        return mean_acceleration(row_values_of(entry.statistic, sample))
    if layout.plain and entry.statistic.road == "order" and hasattr(entry.statistic, "q"):
        values_sorted = np.sort(_ordered_values(entry, sample))
        return acceleration(*quantile_left_out(values_sorted, float(entry.statistic.q)))
    return acceleration(*_left_out(entry, layout))


def _ordered_values(entry: Entry, sample: Sample) -> np.ndarray:
    """Values whose order statistics the statistic reads (n,)."""
    return np.asarray(entry.statistic.prepare(sample).values)


def gather(entry: Entry, sample: Sample, layout: Layout, trials: Trials | None, rng: Randomness) -> Evidence:
    """Gather what the method needs."""
    statistic, needs = entry.statistic, entry.needs
    parts: dict[str, Any] = {} if trials is None else {"count": trials.successes, "nobs": trials.nobs}
    if "values" in needs:
        parts["values"] = (
            row_values_of(statistic, sample) if hasattr(statistic, "row_values") else _ordered_values(entry, sample)
        )
    if "uniform" in needs:
        parts["uniform"] = float(jax.random.uniform(jax.random.fold_in(rng.key, PURPOSE_CHOICE)))
    if "law" in needs:
        parts["law"] = _law(entry, sample, parts)
    if "auc" in needs:
        parts["auc"] = auc_evidence(sample.y_true, sample.y_score)
    if "curvature" in needs:
        ((program, _),) = programs([entry], layout)
        parts["curvature"] = curvature(program, 0)
    if "acceleration" in needs:
        parts["acceleration"] = _acceleration(entry, sample, layout)
    if entry.replicates is not None:
        parts["distribution"] = Drawn.of(entry.replicates)
        if "pivots" in needs:
            parts["pivots"] = studentized_pivots(entry.replicates, entry.errors, entry.estimate, entry.standard_error)
    return Evidence(
        statistic=statistic,
        estimate=entry.estimate,
        n=layout.n_units,
        standard_error=entry.standard_error,
        **parts,
    )


@jax.jit
def _successes(statistic: Any, table: jax.Array) -> jax.Array:
    return jnp.stack(statistic.successes(table))


def trials_of(entry: Entry, layout: Layout) -> Trials | None:
    """Count the successes and trials of a proportion; None for other statistics."""
    if not is_proportion(entry.statistic):
        return None
    prepared = entry.item.prepared
    counts = prepared.weights_of(layout.n, layout.row_weights)
    table = np.zeros(prepared.shape).reshape(-1)
    inside = prepared.cells < table.size
    table[prepared.cells[inside]] = counts[inside]
    return Trials(*np.asarray(_successes(entry.statistic, table.reshape(prepared.shape))).tolist())


def _law(entry: Entry, sample: Sample, parts: dict[str, Any]) -> BootstrapDistribution:
    statistic = entry.statistic
    if has_fixed_trials(statistic):
        return BinomialLaw(parts["count"], parts["nobs"])
    if hasattr(statistic, "row_values"):
        law = mean_distribution(row_values_of(statistic, sample))
        return Root(law) if is_root(statistic) else law
    return quantile_distribution(np.sort(_ordered_values(entry, sample)), float(statistic.q))  # type: ignore[attr-defined]


def standard_error(entry: Entry, evidence: Evidence) -> float:
    """Return the standard error that goes with the interval; NaN where there is none."""
    if not math.isnan(entry.standard_error):
        return entry.standard_error
    if evidence.auc is not None:
        return math.sqrt(evidence.auc.variance) if evidence.auc.variance >= 0 else math.nan
    if evidence.curvature is not None:
        return float(evidence.curvature.standard_error)
    if evidence.distribution is not None:
        return float(evidence.distribution.deviation)
    if evidence.law is not None:
        return float(evidence.law.deviation)
    if evidence.count is not None and evidence.nobs:
        return math.sqrt(entry.estimate * (1 - entry.estimate) / evidence.nobs)
    if evidence.values is not None and is_mean(entry.statistic):
        return float(np.std(evidence.values, ddof=1)) / math.sqrt(len(evidence.values))
    return math.nan
