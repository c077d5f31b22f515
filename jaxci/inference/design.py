"""The design effect: how much less clusters tell than as many independent rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxci.inference.program import RowReader, of_units
from jaxci.inference.slopes import slopes
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.summary import OrderStatistic
from jaxci.statistics.sums import padded


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

    Of one that is not smooth the values that it puts in order, or :func:`natural_values`.
    """
    if statistic.smooth:
        plain = Layout(sample.n)
        prepared = RowReader(sample, plain, exchangeable=False).prepared(statistic)
        _, found = slopes(of_units([statistic], [prepared], plain, padded(sample.n)))
        return np.asarray(found)[0, : sample.n]
    if isinstance(statistic, OrderStatistic):
        return np.asarray(statistic.ordered_values(sample))
    return natural_values(sample)


def natural_values(sample: Sample) -> np.ndarray:
    """Return values (n,) that tell how alike rows are: half the values, whether predictions are right, their errors.

    Of scores the probability of the true class, or what ranks as it does; 0 for a user's own columns.
    """
    _, values = _natural(sample)
    if values is None and sample.y_score is not None:
        scores = sample.y_score if sample.y_score.ndim > 1 else np.stack([-sample.y_score, sample.y_score], axis=1)
        return scores[np.arange(sample.n), sample.y_true]
    return np.zeros(sample.n) if values is None else values


def _natural(sample: Sample) -> tuple[str, Any]:
    """Return a mean and half its values (n,), whose differences do not overflow; None of scores and users' columns."""
    if sample.values is not None:
        return "the mean", sample.values / 2
    if sample.y_pred is None:
        return "", None
    if sample.n_classes > 0:
        return "accuracy", (sample.y_true == sample.y_pred) / 2
    return "the mean absolute error", np.abs(sample.y_true / 2 - sample.y_pred / 2)
