"""Exact bootstrap distributions: the limit B -> infinity, computed instead of simulated.

What an interval needs of a bootstrap distribution is a distribution function and its
inverse. For a mean, a single order statistic and a sample quantile both are to be had
without a random number; they replace the replicates in percentile, basic and BCa intervals
and carry no Monte-Carlo error.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from jaxci.resampling.exact_mean import MeanDistribution, mean_distribution
from jaxci.resampling.exact_order import (
    DiscreteDistribution,
    median_distribution,
    order_statistic_distribution,
    quantile_distribution,
)

__all__ = [
    "DiscreteDistribution",
    "ExactDistribution",
    "MeanDistribution",
    "mean_distribution",
    "median_distribution",
    "order_statistic_distribution",
    "quantile_distribution",
]


@runtime_checkable
class ExactDistribution(Protocol):
    """A bootstrap distribution that was computed.

    ``quantile(p)`` is within ``error_bound`` standard errors of a quantile of the exact law
    at some ``p'`` with ``|p' - p| <= probability_error``.
    """

    @property
    def mean(self) -> float:
        """Mean of the law."""

    @property
    def standard_error(self) -> float:
        """Standard deviation of the law."""

    @property
    def error_bound(self) -> float:
        """Bound on the error of a quantile, in standard errors."""

    @property
    def probability_error(self) -> float:
        """Bound on the error in probability."""

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability below x plus half of that at x."""

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the p-quantile, p in [0, 1]."""
