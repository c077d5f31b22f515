"""The difference of two models where rows are added on which they differ most."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from jaxci.inference.program import RowReader, of_units
from jaxci.inference.slopes import slopes
from jaxci.intervals.adjusted_wald import Adjusted
from jaxci.statistics.base import TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

NOISE = 1e-12
"""Differences of metrics, which are of order one, and their errors up to it are rounding errors."""


def adjusted(statistic: Paired, sample: Sample) -> Adjusted:
    """Return the difference with the opposed rows of ``statistic`` added, and its standard error, as a batch of one.

    The error is ``sqrt(sum_i w_i L_i^2)`` of the weights w, 1 for rows of the data, and the derivatives L in them.
    """
    rows, masses = statistic.opposed_rows(sample)
    joined = sample.joined(rows)
    weights = np.concatenate([np.ones(sample.n), masses])
    layout = Layout(joined.n, row_weights=weights)
    if isinstance(statistic, TableStatistic):
        prepared = statistic.prepare(joined)
        weights = prepared.weights_of(layout)
        value, found = _of_table(statistic, prepared.without_rows(), weights)
        square = np.sum(weights * np.asarray(found) ** 2)
    else:
        prepared = RowReader(joined, layout, exchangeable=False).prepared(statistic)
        (value,), (found,) = slopes(of_units([statistic], [prepared], layout, padded(joined.n)))
        square = np.sum(np.asarray(found)[: joined.n] ** 2 / weights)  # of a unit, which weighs as much
    error = float(np.sqrt(square))
    known = error > NOISE or not math.isfinite(error)
    return Adjusted(np.array([_rounded(float(value))]), np.array([error if known else 0.0]))


def _rounded(value: float) -> float:
    return 0.0 if abs(value) <= NOISE else value


@jax.jit
def _of_table(statistic: Any, known: Any, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(lambda sums: statistic.from_sums(known, sums))(sums)
