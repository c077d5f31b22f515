"""Curves of one or more models on the same rows, under one bank of weights of the proper Bayesian bootstrap."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.opposed import share_alike, unseen_sizes
from jaxci.inference.posterior import posterior_weights
from jaxci.inference.program import Program, Rows, of_units
from jaxci.inference.randomness import Randomness
from jaxci.inference.replicate import replicate
from jaxci.inference.settings import Settings
from jaxci.records import record
from jaxci.resampling.kernels import in_batches, stable_order
from jaxci.statistics.curves import Curve, Unseen
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

PURPOSE_CURVES = 9
AT_A_TIME = 2**21
"""Weights of rows that are turned into curves at a time."""


@record
class CurveProgram:
    """A curve of each of m models over the units that were seen and, after them, those that were not.

    Attributes
    ----------
    curve : Curve
    program : Program
        What models have prepared, and how their rows weigh; it has no statistics of its own.
    whole : (U + P,) array
        The weights of the data: of units that were not seen 0.
    """

    curve: Curve
    program: Program
    whole: Any

    def of_rows(self, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Return the curves (m S, B) under ``rows`` (B, U + P); no errors, and no class is ever absent."""
        both = list(zip(self.program.sources, self.program.rows, strict=True))

        def one(weights: jax.Array) -> jax.Array:
            return jnp.concatenate([self.curve.values(data, of(weights)) for data, of in both])

        values = in_batches(one, rows.astype(float), max(1, AT_A_TIME // rows.shape[1])).T
        return values, None, jnp.zeros(values.shape, bool)


def curve_replicates(
    curve: Curve, sample: Sample, layout: Layout, settings: Settings, rng: Randomness
) -> tuple[np.ndarray, np.ndarray]:
    """Return the curves (m, S) of the models of ``sample`` and their replicates (m, S, B), on the same weights.

    A unit weighs Gamma(1), and rows that were not seen (:meth:`Curve.unseen`) Gamma(mass), as many times as
    :func:`_stand_for` says. Strata keep their weight.
    """
    unseen = curve.unseen(sample)
    held = _stand_for(curve, unseen, sample, layout)
    capacity = padded(layout.n_units)
    units = np.arange(layout.n) if layout.units is None else layout.units
    units = np.concatenate([units, capacity + np.arange(unseen.rows.n)])
    weights = np.concatenate([np.ones(layout.n) if layout.row_weights is None else layout.row_weights, held])
    models = []
    seen: Any = sample
    added: Any = unseen.rows
    while seen is not None:
        joined = dataclasses.replace(seen, other=None, y_pred=None).joined(dataclasses.replace(added, other=None))
        models.append(_prepared(curve, joined, layout.n, units, weights))
        seen, added = seen.other, added.other
    with jax.enable_x64(True):
        program = of_units((), models, layout, capacity)
        found = replicate(
            CurveProgram(curve, program, np.concatenate([program.multiplicity, np.zeros(unseen.rows.n)])),
            posterior_weights(program, [unseen.masses], tabulated=False),
            rng.key,
            settings.n_resamples,
            purpose=PURPOSE_CURVES,
            memory_limit=settings.memory_limit,
            progress=settings.progress,
        )
    shape = (len(models), len(found.estimates) // len(models))
    return found.estimates.reshape(shape), found.values.reshape(*shape, -1)


def _stand_for(curve: Curve, unseen: Unseen, sample: Sample, layout: Layout) -> np.ndarray:
    """Return how many rows (or how much of their weight) each row (P,) that was not seen stands for.

    In clusters the design effect of as many of its class as these have, or of its bin; where the shares of the classes
    count clusters are at least as alike as in these, or, in bins, in what they are apart from the predictions.
    """
    codes = unseen.rows.y_true
    if layout.units is None or sample.other is not None or not curve.reads_prevalence:
        return unseen_sizes(sample, layout)[codes]
    if unseen.held is None:
        return unseen_sizes(sample, layout, layout.intraclass_correlation(1.0 * (sample.y_true == 1)))[codes]
    alike = layout.intraclass_correlation(sample.y_true - sample.y_score)
    found = []
    weights = np.ones(layout.n) if layout.row_weights is None else layout.row_weights
    for code, place in zip(codes, unseen.bins, strict=True):
        rows = np.flatnonzero(sample.y_true == code if place < 0 else unseen.held == place)
        some = layout.of_some(rows)
        found.append(weights[rows].sum() / some.n_units * share_alike(some, alike))
    return np.array(found)


def _prepared(curve: Curve, joined: Sample, n: int, units: np.ndarray, weights: np.ndarray) -> tuple[Any, Rows]:
    """Return what a curve reads of rows, the first ``n`` seen, in the order of their scores, and how they weigh."""
    order = stable_order(joined.y_score)
    extra = padded(len(order)) - len(order)
    units = np.pad(units[order], (0, extra), mode="edge").astype(np.int32)
    numbers = np.pad(np.maximum(order - n, -1), (0, extra), constant_values=-1)
    return curve.prepare(joined.take(order).padded(), numbers), Rows(units, np.pad(weights[order], (0, extra)))
