"""The difference of two models where rows are added on which they differ most."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from jaxci.inference.posterior import sizes
from jaxci.inference.program import of_sample
from jaxci.inference.slopes import slopes
from jaxci.intervals.adjusted_wald import Adjusted
from jaxci.intervals.capabilities import is_auc_difference, is_share_difference
from jaxci.intervals.unseen import unseen_variance
from jaxci.quick import Quick
from jaxci.statistics.base import TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample

NOISE = 1e-12
"""Differences of metrics, which are of order one, and their errors up to it are rounding errors."""


def unseen_sizes(sample: Sample, layout: Layout, least: float = 0.0) -> np.ndarray:
    """Return how many rows (or how much of their weight) a row of each class (K,) that was not seen stands for.

    In clusters the design effect ``1 + (m - 1) icc`` of the m rows that these have of the class, with the intraclass
    correlation of their ranks (or of being right), of two models of the difference of these, and at ``least`` a given
    one: what differs row by row would not be as bad as can be in a whole cluster. Where nothing varies, or all of a
    class, if it has rows, is in one cluster, it is not known and counts as 1.
    """
    held = np.asarray(sizes(sample, layout).of_class)
    if layout.units is None:
        return held
    stand = _standing(sample)
    if sample.other is not None:
        stand = stand - _standing(sample.other)
    shares = []
    for code in range(len(held)):
        rows = np.flatnonzero(sample.y_true == code)
        if len(rows) == 0:
            shares.append(1.0)
            continue
        of_class, of_rows = layout.of_some(rows), stand[rows]
        known = of_class.n_units > 1 and np.ptp(of_rows) > 0
        shares.append(share_alike(of_class, max(of_class.intraclass_correlation(of_rows), least) if known else 1.0))
    return held * np.array(shares)


def share_alike(layout: Layout, correlation: float) -> float:
    """Return the design effect of rows in clusters as a share of those that a cluster has."""
    return correlation + (1 - correlation) * layout.n_units / max(layout.n, 1)


def _standing(model: Sample) -> np.ndarray:
    """Return twice the mid-rank of the score of each row (n,), of several classes that of its own; or who is right."""
    if model.y_score is None:
        return 1.0 * (model.y_pred == model.y_true)
    own = model.y_score if model.y_score.ndim == 1 else model.y_score[np.arange(model.n), model.y_true]
    ordered = np.sort(own)
    return np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right")


def unseen_of_areas(statistic: Paired, sample: Sample, layout: Layout) -> np.ndarray:
    """Return the variance (1,) that opposed rows, though none was seen, add to a difference of two models' areas.

    Of areas that are averaged over several classes, against all others or one by one, that of each class against the
    rest, by the square of its share: a row that one model ranks last in its own class moves both alike. There are as
    many such rows in all as of two classes, whose areas against each other are one.
    """
    classes = np.bincount(sample.y_true[: layout.n_rows], layout.mass, sample.n_classes)
    held = unseen_sizes(sample, layout)
    counts = classes / held[: len(classes)]
    if is_auc_difference(statistic):
        return np.array([unseen_variance(counts[1], counts[0])])
    there = counts > 0
    if np.count_nonzero(there) == 2:
        return np.array([unseen_variance(*counts[there])])
    counts, shares = counts[there], statistic.statistic.shares_of_classes(classes[there])
    rest = counts.sum() - counts
    known = np.where(rest > 0, unseen_variance(counts, np.where(rest > 0, rest, 1.0)), 0.0)
    return np.array([2 / len(counts) * float(shares**2 @ known)])


def adjusted(statistic: Paired, sample: Sample, layout: Layout) -> Adjusted:
    """Return the difference with the opposed rows of ``statistic`` added, and its standard error, as a batch of one.

    The error is ``sqrt(sum_i m_i w_i^2 L_i^2)`` of rows, m of a kind and 1 of the data, with the weights w and the
    derivatives L in them. Opposed rows weigh what the rows of their class do on average, in clusters as
    :func:`unseen_sizes` says; the error is that of independent rows. Of rows weighted by importance it is at least
    that of weights that go with nothing within a class, whose squares are ``sum w^2 / sum w`` times w there: whether a
    few heavy rows decide is seen only where such rows are decided, and where they are not the error is too small. The
    skewness ``sum_i m_i L_i^3 / error^3`` is that of rows of equal weight, of metrics of labels but shares of all rows.
    """
    rows, masses = statistic.opposed_rows(sample)
    joined, row_weights = sample.joined(rows), layout.row_weights
    of_rows = np.ones(sample.n) if row_weights is None else row_weights
    if layout.units is None:
        of_class = np.bincount(sample.y_true[: sample.n], of_rows, sample.n_classes) / np.maximum(sample.class_sizes, 1)
    else:
        of_class = unseen_sizes(sample, layout)
    number = np.concatenate([np.ones(sample.n), masses])
    weights = np.concatenate([of_rows, np.where(of_class > 0, of_class, of_rows.mean())[rows.y_true]])
    degrees = math.inf
    if row_weights is not None:
        degrees = max(Layout(sample.n, row_weights=row_weights).effective_size - 1, 1.0)
    alike = weights  # what is squared of each row's weight beside it, where weights go with nothing
    if row_weights is not None and layout.units is None:
        of_squares = np.bincount(sample.y_true[: sample.n], of_rows**2, sample.n_classes)
        of_sums = np.bincount(sample.y_true[: sample.n], of_rows, sample.n_classes)
        per_weight = np.where(of_sums > 0, of_squares / np.where(of_sums > 0, of_sums, 1.0), of_rows.mean())
        alike = per_weight[joined.y_true[: joined.n]]
    layout = Layout(joined.n, row_weights=number * weights)  # of all rows, those added among them
    cubes = 0.0
    if isinstance(statistic, TableStatistic):
        prepared = statistic.prepare(joined)
        value, found = _of_table(statistic, prepared.without_rows(), prepared.weights_of(layout))
        added = np.arange(joined.n) >= sample.n
        squares = [
            np.sum(prepared.weights_of(Layout(joined.n, row_weights=number * some)) * np.asarray(found) ** 2)
            for some in (weights**2, added * weights**2, weights * alike)
        ]
        cubes += np.sum(prepared.weights_of(Layout(joined.n, row_weights=number * weights**3)) * np.asarray(found) ** 3)
    else:
        (value,), (found,) = slopes(of_sample(statistic, joined, layout))
        of_rows = np.asarray(found)[: joined.n] ** 2 / number  # all rows of a kind, which vary one by one
        squares = [np.sum(of_rows), np.sum(of_rows[sample.n :]), np.sum(of_rows * alike / weights)]
    error, unseen = float(np.sqrt(max(squares[0], squares[2]))), float(squares[1])
    known = error > NOISE or not math.isfinite(error)
    plain = known and error > 0 and row_weights is None and not is_share_difference(statistic)
    skew = float(cubes) / error**3 if plain else 0.0
    return Adjusted(*(np.array([x]) for x in (_rounded(float(value)), error if known else 0.0, degrees, unseen, skew)))


def _rounded(value: float) -> float:
    return 0.0 if abs(value) <= NOISE else value


@Quick
def _of_table(statistic: Any, known: Any, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(lambda sums: statistic.from_sums(known, sums))(sums)
