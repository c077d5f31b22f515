"""Statistics of one value per observation: mean, spread, quantiles, trimmed mean.

Notation: values ``x_i``, weights ``w_i``, ``N = sum_i w_i``; ``x_(1) <= x_(2) <= ...`` sorted. A
statistic of integer weights equals that of the data with row i repeated ``w_i`` times. The value
is NaN where N = 0.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.statistics.base import Features, LinearStatistic, Sample, Statistic
from jaxci.statistics.cumulative import cumulative_sum, gather, sorting_order

_ROUNDING = 16.0
"""Multiples of the machine epsilon within which a difference of sums counts as zero."""


def centre(x: np.ndarray, n: int) -> np.float64:
    """Return the median of the first ``n`` of ``x``: a centre that outliers do not move.

    After subtracting it, sums of any resample are as accurate as the resample's own spread
    allows, whatever the offset of the data and whichever outliers the resample left out.
    """
    return np.float64(np.median(x[:n]))


def variance_from_sums(total: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Return ``second / total - (first / total)**2``, exactly 0 where it is within rounding of 0."""
    mean, square = first / total, second / total
    variance = square - mean**2
    return jnp.where(variance <= _ROUNDING * jnp.finfo(variance.dtype).eps * square, 0.0, variance)


def square_root(x: jax.Array, noise: float | jax.Array = 0.0) -> jax.Array:
    """Return the root of ``x``; 0 with a zero gradient where ``x <= noise``."""
    zero = x <= noise
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, x)))


class MeanStatistic(LinearStatistic):
    """A weighted mean of one value per row, or its square root.

    ``m = sum_i w_i r_i / N``; leaves supply the row values ``r``. The value is m where ``link``
    is ``"identity"``, and the root of m, for ``r >= 0``, where it is ``"sqrt"``.
    """

    road = "moments"
    link: ClassVar[str] = "identity"

    @abc.abstractmethod
    def row_values(self, sample: Sample) -> np.ndarray:
        """Return the averaged value of every row, (n,) float64."""

    def prepare(self, sample: Sample) -> Features:
        """Centre the row values."""
        values = np.asarray(self.row_values(sample), np.float64)
        middle = centre(values, sample.n)
        return Features(np.stack([np.ones_like(values), values - middle], axis=1), (middle,))

    def from_sums(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the statistic from the sums (2,) of weights and weighted centred values."""
        (middle,) = prepared.constants
        mean = middle + sums[1] / sums[0]
        if self.link == "identity":
            return mean
        return square_root(mean, _ROUNDING * jnp.finfo(mean.dtype).eps * middle)


@record
class Mean(MeanStatistic):
    """Mean of the values, ``sum_i w_i x_i / N``.

    Smooth: the influence value of row i is ``x_i - mean``.
    """

    task = "values"
    inputs = ("values",)

    def row_values(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        assert sample.values is not None
        return sample.values


class SecondMoment(LinearStatistic):
    """A function of the variance of the values."""

    task = "values"
    inputs = ("values",)
    road = "moments"
    bounds = (0.0, np.inf)

    def prepare(self, sample: Sample) -> Features:
        """Return powers 0, 1, 2 of the centred values."""
        assert sample.values is not None
        d = sample.values - centre(sample.values, sample.n)
        return Features(np.stack([np.ones_like(d), d, d * d], axis=1))


@record
class Variance(SecondMoment):
    """Variance with divisor N, ``sum_i w_i (x_i - mean)**2 / N``; ``numpy.var``'s default.

    A variance within rounding of 0 is 0.
    """

    def from_sums(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the variance from the sums (3,) of powers."""
        return variance_from_sums(sums[0], sums[1], sums[2])


@record
class Std(SecondMoment):
    """Standard deviation with divisor N, the root of :class:`Variance`; ``numpy.std``'s default.

    Where it is 0 (constant values) its derivatives are given as 0.
    """

    def from_sums(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the standard deviation from the sums (3,) of powers."""
        return square_root(variance_from_sums(sums[0], sums[1], sums[2]))


@record
class Ordered:
    """Data of an order statistic: ``values`` (n,) ascending, ``order`` (n,) int32 their rows.

    ``order`` is None if the rows come in ascending order; then no weights are gathered.
    """

    values: Any
    order: Any


class OrderStatistic(Statistic):
    """A linear function of the sorted values, with coefficients that depend on the weights alone.

    With ``C_i`` the cumulative weights in sorted order, the coefficient of ``x_(i)`` is
    ``G(C_i) - G(C_{i-1})``, ``G(0) = 0``; the leaf gives the ``profile`` G. Cost: O(n) for each
    vector of weights, after one sort. ``mass``, the sum of the coefficients, is 1 for a location
    and 0 for a spread.
    """

    road = "order"
    smooth = False
    mass: ClassVar[float] = 1.0

    @abc.abstractmethod
    def ordered_values(self, sample: Sample) -> np.ndarray:
        """Return the values (n,) float64, by row, that are put in order."""

    @abc.abstractmethod
    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,) weights out of ``total``."""

    def prepare(self, sample: Sample) -> Ordered:
        """Sort the values."""
        values = np.asarray(self.ordered_values(sample), np.float64)
        order = sorting_order(values)
        return Ordered(values if order is None else values[order], order)

    def coefficients(self, weights_sorted: jax.Array) -> jax.Array:
        """Return the coefficient (n,) of every sorted value from the weights (n,) in that order."""
        cumulative = 1.0 * cumulative_sum(weights_sorted)
        total = cumulative[-1]
        steps = jnp.diff(self.profile(cumulative, total), prepend=0.0)
        return jnp.where(total > 0, steps, jnp.nan)

    def value(self, prepared: Ordered, weights: jax.Array) -> jax.Array:
        """Return ``coefficients @ values`` under ``weights`` (n,)."""
        in_order = weights if prepared.order is None else gather(weights, prepared.order)
        middle = prepared.values[len(prepared.values) // 2]
        apart = prepared.values - middle
        return self.mass * middle + jnp.dot(self.coefficients(in_order), apart, precision=jax.lax.Precision.HIGHEST)

    def sort_keys(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        return self.ordered_values(sample)


def quantile_profile(q: float | jax.Array, cumulative: jax.Array, total: jax.Array) -> jax.Array:
    """Profile of the linear quantile: a uniform window of one observation from ``(N - 1) q`` on."""
    start = jnp.maximum((total - 1) * q, 0)
    return jnp.clip((cumulative - start) / jnp.minimum(total, 1), 0, 1)


def median_profile(cumulative: jax.Array, total: jax.Array) -> jax.Array:
    """Profile of the median: half a step where C reaches N/2, half where it exceeds N/2."""
    half = total / 2
    noise = _ROUNDING / 2 * jnp.finfo(half.dtype).eps * half
    reached, passed = cumulative >= half - noise, cumulative > half + noise
    return (reached.astype(half.dtype) + passed.astype(half.dtype)) / 2


class ValueOrderStatistic(OrderStatistic):
    """An order statistic of the values themselves."""

    task = "values"
    inputs = ("values",)

    def ordered_values(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        assert sample.values is not None
        return sample.values


@record
class Median(ValueOrderStatistic):
    """Median, ``(inf{x: F(x) >= 1/2} + inf{x: F(x) > 1/2}) / 2``, F the weighted distribution.

    The mean of the two middle values where N is even; unchanged when the weights are rescaled.
    """

    @property
    def q(self) -> float:
        """Probability of the quantile, 1/2."""
        return 0.5

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,)."""
        return median_profile(cumulative, total)


@record
class Quantile(ValueOrderStatistic):
    """Quantile of probability q, ``(1 - f) x_(l+1) + f x_(l+2)`` with ``l + f = (N - 1) q``.

    Linear interpolation of the data repeated by weight (``numpy.quantile``'s default, type 7 of
    Hyndman & Fan); for real weights, the mean of the weighted quantile function over one unit of
    weight from ``(N - 1) q`` on, so weights count observations and their scale matters.

    Parameters
    ----------
    q : float
        Probability, from 0 to 1.

    References
    ----------
    Hyndman & Fan (1996), Sample quantiles in statistical packages, definition 7.
    """

    q: float = 0.5

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,)."""
        return quantile_profile(self.q, cumulative, total)


@record
class IQR(ValueOrderStatistic):
    """Interquartile range: the quantile of probability 3/4 less that of 1/4 (:class:`Quantile`)."""

    bounds = (0.0, np.inf)
    mass: ClassVar[float] = 0.0

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,)."""
        return quantile_profile(0.75, cumulative, total) - quantile_profile(0.25, cumulative, total)


@record
class TrimmedMean(ValueOrderStatistic):
    """Mean without the g smallest and the g largest values, ``g = floor(proportiontocut * N)``.

    Weights are cut at g and at N - g, so the value is differentiable for almost all weights; the
    derivatives keep the trimmed share ``g / N`` fixed, which gives the influence values of the
    trimmed mean (winsorized values, centred, over ``1 - 2 g / N``). 0.25 is the interquartile
    mean. NaN if nothing is left.

    Parameters
    ----------
    proportiontocut : float
        Share cut on each side, below 1/2.

    References
    ----------
    Huber & Ronchetti (2009), Robust Statistics, section 3.3.
    """

    smooth = True

    proportiontocut: float = 0.25

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,)."""
        count = jnp.round(total)
        near = jnp.abs(total - count) <= 4 * _ROUNDING * jnp.finfo(total.dtype).eps * total
        cut = jnp.floor(self.proportiontocut * jnp.where(near, count, total))
        cut = cut * (total / jax.lax.stop_gradient(total))
        return (jnp.clip(cumulative, cut, total - cut) - cut) / (total - 2 * cut)


METRICS: dict[str, Statistic] = {
    "mean": Mean(),
    "median": Median(),
    "trimmed_mean": TrimmedMean(),
    "std": Std(),
    "var": Variance(),
    "iqr": IQR(),
    "quantile": Quantile(),
}
"""Statistics by name, with default settings."""
