"""Metrics by name."""

from __future__ import annotations

from jaxci.statistics import classification, probability, ranking, regression, summary
from jaxci.statistics.base import Statistic

METRICS: dict[str, Statistic] = {
    **classification.METRICS,
    **ranking.METRICS,
    **probability.METRICS,
    **regression.METRICS,
    **summary.METRICS,
}
