"""The design effect: how much less clusters tell than as many independent rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxci.inference.program import of_sample
from jaxci.inference.slopes import slopes
from jaxci.intervals.capabilities import quantile_terms
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.sample import Sample


class DesignEffect(NamedTuple):
    """A design effect, NaN where it is not defined, and the mean it is of."""

    value: float = math.nan
    of: str = ""


def design_effect(statistics: Iterable[Statistic], sample: Sample, layout: Layout) -> DesignEffect:
    """Return the design effect of the mean that is natural for the data, or of its difference between two models.

    There is none where no statistic reads values or predictions.
    """
    if layout.units is None or not any({"values", "y_pred"} & {*statistic.inputs} for statistic in statistics):
        return DesignEffect()
    mean, values = _natural(sample)
    if values is None:
        return DesignEffect()
    if sample.other is not None:
        values = values - _natural(sample.other)[1]
        mean = f"the difference in {mean}"
    found = layout.design_effect(values)
    return DesignEffect() if math.isnan(found) else DesignEffect(found, mean)


def row_influence(statistic: Statistic, sample: Sample) -> np.ndarray:
    """Return the influence (n,) of every row on a statistic, up to a factor.

    Of one that is not smooth, or has none, the values that it puts in order, or :func:`natural_values`.
    """
    if statistic.smooth:
        _, found = slopes(of_sample(statistic, sample, Layout(sample.n)))
        influence = np.asarray(found)[0, : sample.n]
        if np.all(np.isfinite(influence)):
            return influence
    if isinstance(statistic, OrderStatistic):
        return np.asarray(statistic.ordered_values(sample))
    return natural_values(statistic, sample)


def unit_influence(statistic: Statistic, sample: Sample, layout: Layout) -> np.ndarray | None:
    """Return the influence (U,) of every row, or cluster, of a layout with weights on a statistic, up to a factor.

    Of a quantile the share below it; None where there is no formula.
    """
    if not statistic.smooth:
        terms = quantile_terms(statistic)
        if len(terms) != 1 or layout.row_weights is None:
            return None
        assert isinstance(statistic, OrderStatistic)
        values, ((_, q, _),) = np.asarray(statistic.ordered_values(sample)), terms
        found = layout.row_weights * ((values <= _quantile(values, layout.row_weights, float(q))) - q)
        return found if layout.units is None else layout.sum_rows(found[:, None], layout.n_units)[:, 0]
    with jax.enable_x64(True):
        found = np.asarray(slopes(of_sample(statistic, sample, layout))[1])[0, : layout.n_units]
    return found if np.isfinite(found).all() else None


def _quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    """Return the first of the ``values`` (n,) up to which a share q of the weight lies."""
    order = np.argsort(values)
    through = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(through, q * through[-1]), len(values) - 1)])


def natural_values(statistic: Statistic, sample: Sample) -> np.ndarray:
    """Return values (n,) that tell how alike rows are in what a statistic reads, up to a factor.

    Values, whether predictions are right, or the errors of a regression; of scores that of the true class less its mean
    over the rows of that class. Of a user's own columns the only one, if it holds real numbers.

    Raises
    ------
    ValueError
        If a user's own statistic, without derivatives, reads other columns.
    """
    if sample.y_score is not None and "y_pred" not in statistic.inputs:
        true = true_scores(sample)
        means = np.bincount(sample.y_true, true, sample.n_classes) / np.maximum(sample.class_sizes, 1)
        return true - means[sample.y_true]
    _, values = _natural(sample)
    if values is not None:
        return values
    if len(sample.columns) == 1 and sample.columns[0].ndim == 1 and sample.columns[0].dtype.kind == "f":
        return np.asarray(sample.columns[0])
    raise ValueError(
        "groups: how alike rows are is unknown for a function without derivatives of other columns than one"
    )


def true_scores(sample: Sample) -> np.ndarray:
    """Return the score (n,) of the true class of every row; of two classes with one score that, or its negative."""
    scores = sample.y_score if sample.y_score.ndim > 1 else np.stack([-sample.y_score, sample.y_score], axis=1)
    return np.asarray(scores[np.arange(sample.n), sample.y_true])


def _natural(sample: Sample) -> tuple[str, Any]:
    """Return a mean and half its values (n,), whose differences do not overflow; None of scores and users' columns."""
    if sample.values is not None:
        return "the mean", sample.values / 2
    if sample.y_pred is None:
        return "", None
    if sample.n_classes > 0:
        return "accuracy", (sample.y_true == sample.y_pred) / 2
    return "the mean absolute error", np.abs(sample.y_true / 2 - sample.y_pred / 2)
