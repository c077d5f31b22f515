"""Means and quantiles of row values that are known, whatever they were computed from."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxci.records import record
from jaxci.statistics.base import Statistic
from jaxci.statistics.order import QuantileStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic


class _OfKnown(Statistic):
    """What another statistic is, of a sample that holds its row values: all else is known of that one."""

    statistic: Any

    @property
    def of_rows(self) -> Statistic:
        """What the row values are of."""
        return self.statistic

    @property
    def task(self) -> str:  # type: ignore[override]
        """Kind of target."""
        return self.statistic.task

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the row values were computed from."""
        return self.statistic.inputs

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the statistic."""
        return self.statistic.bounds

    @property
    def loss(self) -> bool:  # type: ignore[override]
        """Whether smaller is better."""
        return self.statistic.loss


@record
class MeanOfKnown(_OfKnown, MeanStatistic):
    """The mean, or root of a mean, that another statistic is, of a sample that holds its row values.

    Parameters
    ----------
    statistic : MeanStatistic
        What the values are of.
    """

    statistic: Any

    @property
    def link(self) -> str:  # type: ignore[override]
        """Whether the statistic is the mean or its root."""
        return self.statistic.link

    def row_values(self, sample: Sample) -> Any:
        """Return the values (n,)."""
        return sample.values

    def averaged_values(self, sample: Sample) -> Any:
        """Return the values (n,) as they are: rows that stand for others of a cluster may lie beyond the bounds."""
        return sample.values.astype(np.float64)


@record
class QuantileOfKnown(_OfKnown, QuantileStatistic):
    """The quantile that another statistic is, of a sample that holds its row values.

    Parameters
    ----------
    statistic : QuantileStatistic
        What the values are of.
    """

    statistic: Any

    @property
    def q(self) -> Any:
        """Probability of the quantile."""
        return self.statistic.q

    def ordered_values(self, sample: Sample) -> Any:
        """Return the values (n,)."""
        return sample.values

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return the cumulated coefficient at ``cumulative`` (n,) weights out of ``total``."""
        return self.statistic.profile(cumulative, total)
