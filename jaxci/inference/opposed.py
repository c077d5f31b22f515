"""The difference of two models where rows are added on which they differ most."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from jaxci.inference.program import of_sample
from jaxci.inference.slopes import slopes
from jaxci.intervals.adjusted_wald import Adjusted
from jaxci.statistics.base import TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample

NOISE = 1e-12
"""Differences of metrics, which are of order one, and their errors up to it are rounding errors."""


def adjusted(statistic: Paired, sample: Sample, row_weights: np.ndarray | None) -> Adjusted:
    """Return the difference with the opposed rows of ``statistic`` added, and its standard error, as a batch of one.

    The error is ``sqrt(sum_i m_i w_i^2 L_i^2)`` of rows, m of a kind and 1 of the data, with the weights w and the
    derivatives L in them. Opposed rows weigh what the rows of their class do on average.
    """
    rows, masses = statistic.opposed_rows(sample)
    joined = sample.joined(rows)
    number, weights, degrees = np.concatenate([np.ones(sample.n), masses]), np.ones(joined.n), math.inf
    if row_weights is not None:
        degrees = max(Layout(sample.n, row_weights=row_weights).effective_size - 1, 1.0)
        of_class = np.bincount(sample.y_true[: sample.n], row_weights) / np.maximum(sample.class_sizes, 1)
        weights = np.concatenate([row_weights, np.where(of_class > 0, of_class, row_weights.mean())[rows.y_true]])
    layout = Layout(joined.n, row_weights=number * weights)
    if isinstance(statistic, TableStatistic):
        prepared = statistic.prepare(joined)
        value, found = _of_table(statistic, prepared.without_rows(), prepared.weights_of(layout))
        added = np.arange(joined.n) >= sample.n
        squares = [
            np.sum(
                prepared.weights_of(Layout(joined.n, row_weights=some * number * weights**2)) * np.asarray(found) ** 2
            )
            for some in (1.0, added)
        ]
    else:
        (value,), (found,) = slopes(of_sample(statistic, joined, layout))
        of_rows = np.asarray(found)[: joined.n] ** 2 / number  # all rows of a kind, which vary one by one
        squares = [np.sum(of_rows), np.sum(of_rows[sample.n :])]
    error, unseen = float(np.sqrt(squares[0])), float(squares[1])
    known = error > NOISE or not math.isfinite(error)
    return Adjusted(*(np.array([x]) for x in (_rounded(float(value)), error if known else 0.0, degrees, unseen)))


def _rounded(value: float) -> float:
    return 0.0 if abs(value) <= NOISE else value


@jax.jit
def _of_table(statistic: Any, known: Any, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(lambda sums: statistic.from_sums(known, sums))(sums)
