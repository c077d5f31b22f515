"""What some methods read of one data set beyond what a road hands over for a whole group."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.roads import Draws
from jaxci.inference.sharding import Spread
from jaxci.intervals.approximate import curvature
from jaxci.intervals.auc import auc_evidence
from jaxci.intervals.base import Evidence
from jaxci.intervals.bootstrap import studentized_pivots
from jaxci.intervals.capabilities import is_root
from jaxci.resampling import engine
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.laws import Drawn, Root
from jaxci.statistics.base import Sample, Statistic


def one_of(evidence: Evidence, r: int) -> Evidence:
    """Return the evidence of data set ``r`` of a group."""
    fields = ("standard_error", "acceleration", "values", "count", "nobs", "uniform")
    parts = {name: x[r] for name in fields if (x := getattr(evidence, name)) is not None}
    return dataclasses.replace(evidence, estimate=float(evidence.estimate[r]), distribution=None, core=None, **parts)


def supplemented(
    evidence: Evidence, draws: Draws, n_classes: int, needs: frozenset[str], bank: jax.Array | None, to: Spread, r: int
) -> Evidence:
    """Return the evidence of data set ``r`` with what ``needs`` names besides.

    The terms of ABC, the placement values of an AUC, the exact distribution of a mean or an order statistic,
    and replicates with their standard errors are computed data set by data set.
    """
    statistic, one = evidence.statistic, one_of(evidence, r)
    sample = Sample(**{name: x[r] for name, x in draws.items()}, n_classes=n_classes)
    parts: dict[str, Any] = {}
    if "auc" in needs:
        parts["auc"] = auc_evidence(sample.y_true, sample.y_score)
    with jax.enable_x64(True):
        if "law" in needs:
            if hasattr(statistic, "row_values"):
                law = mean_distribution(np.asarray(statistic.row_values(sample), float))
                parts["law"] = Root(law) if is_root(statistic) else law
            else:
                values = np.asarray(statistic.prepare(sample).values, float)
                parts["law"] = quantile_distribution(np.sort(values), float(statistic.q))  # type: ignore[attr-defined]
        if "curvature" in needs:
            layout = engine.Layout(sample.n)
            items = engine.prepare([statistic], sample)
            parts["curvature"] = curvature(engine.unit_program(items, layout, engine.make_scheme(layout)), 0)
        if "pivots" in needs:
            assert bank is not None
            prepared = statistic.prepare(sample)
            found = to(_with_errors, jnp.asarray(bank[:-1], jnp.float64), (statistic, prepared))
            replicates, errors = (np.asarray(x) for x in found)
            parts["distribution"] = Drawn.of(replicates)
            parts["pivots"] = studentized_pivots(replicates, errors, one.estimate, one.standard_error)
    return dataclasses.replace(one, **parts)


def _with_errors(bank: jax.Array, shared: tuple[Statistic, Any]) -> tuple[jax.Array, jax.Array]:
    """Return values (B,) and infinitesimal-jackknife standard errors (B,) of resamples."""
    statistic, prepared = shared

    def one(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, slope = jax.value_and_grad(lambda w: statistic.value(prepared, w))(weights)
        centred = slope - jnp.sum(slope * weights) / jnp.sum(weights)
        return value, jnp.sqrt(jnp.sum(weights * centred**2))

    return jax.lax.map(one, bank, batch_size=256)
