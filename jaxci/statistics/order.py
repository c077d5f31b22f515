"""Statistics of sorted values: quantiles, their range, trimmed mean; see ``summary`` for the notation."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.resampling.kernels import RankPicks, cumulative_counts, rank_picks
from jaxci.special import between, namespace
from jaxci.statistics.base import Scaling, Statistic
from jaxci.statistics.cumulative import cumulative_sum, gather, sorting_order
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank

ROUNDING = 16.0
"""Multiples of the machine epsilon within which a difference of sums counts as zero."""


@record
class Ordered:
    """Data of an order statistic: ``values`` (n,) ascending, ``order`` (n,) int32 their rows.

    ``order`` is None if the rows come in ascending order; then no weights are gathered.
    """

    values: Any
    order: Any


@record
class RealWeights:
    """Weights ``rows`` (B, n) that may be whole numbers: of these quantiles lie between two values."""

    rows: Any


class OrderStatistic(Statistic):
    """A linear function of the sorted values, with coefficients that depend on the weights alone.

    With ``C_i`` the cumulative weights in sorted order, the coefficient of ``x_(i)`` is
    ``G(C_i) - G(C_{i-1})``, ``G(0) = 0``; the leaf gives the ``profile`` G. Cost: O(n) for each
    vector of weights, after one sort. ``mass``, the sum of the coefficients, is 1 for a location
    and 0 for a spread.
    """

    smooth = False
    of_law = False
    reads_sorted = True
    together = True
    mass: ClassVar[float] = 1.0

    @abc.abstractmethod
    def ordered_values(self, sample: Sample) -> Any:
        """Return the values (n,) float64, by row, that are put in order."""

    @abc.abstractmethod
    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G, times :meth:`span`, at ``cumulative`` (n,) weights out of ``total``."""

    def span(self, total: jax.Array) -> Any:
        """Return what the profile is divided by."""
        return 1.0

    def prepare(self, sample: Sample) -> Ordered:
        """Sort the values."""
        values = self.ordered_values(sample).astype(np.float64)
        if namespace(values) is jnp:
            rows = jnp.argsort(values).astype(jnp.int32)
            return Ordered(values[rows], rows)
        order = sorting_order(values)
        return Ordered(values if order is None else values[order], order)

    def coefficients(self, cumulative: jax.Array) -> jax.Array:
        """Return the coefficient (n, ...) of every sorted value from the cumulative weights (n, ...) in that order."""
        total = cumulative[-1]
        steps = jnp.diff(self.profile(cumulative, total), axis=0, prepend=0.0)
        return jnp.where(total > 0, steps / self.span(total), jnp.nan)

    def value(self, prepared: Ordered, weights: jax.Array) -> jax.Array:
        """Return ``coefficients @ values`` under ``weights`` (n,).

        Quantiles that lie between two values are read off these, so that rounding does not move them; differences of
        quantiles off their distances from the middle value, which keep their digits at an offset.
        """
        in_order = weights if prepared.order is None else gather(weights, prepared.order)
        middle = prepared.values[len(prepared.values) // 2]
        apart = prepared.values - middle
        cumulative = 1.0 * cumulative_sum(in_order)
        coefficients = self.coefficients(cumulative)
        product = self.mass * middle + jnp.dot(coefficients, apart, precision=jax.lax.Precision.HIGHEST)
        if not self.quantiles:
            return product
        if len(self.quantiles) == 1:
            ((factor, _),) = self.quantiles
            read, few = _read(prepared.values, coefficients)
            return jnp.where(few, factor * read, product)
        parts = [_read(apart, self._of_quantile(q, cumulative)) for _, q in self.quantiles]
        value = sum(factor * read for (factor, _), (read, _) in zip(self.quantiles, parts, strict=True))
        return jnp.where(jnp.all(jnp.stack([few for _, few in parts])), self.mass * middle + value, product)

    def _of_quantile(self, q: Any, cumulative: jax.Array) -> jax.Array:
        """Return the coefficients (n,) of the linear quantile of probability ``q``."""
        return jnp.diff(quantile_profile(q, cumulative, cumulative[-1]), prepend=0.0)

    def sort_keys(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        return self.ordered_values(sample)

    def scaling(self, prepared: Ordered) -> Scaling:
        """Return a value near the statistic, as often as the coefficients add up to, and the size of what lies around.

        Of quantiles both are such that nothing is rounded in double precision: the size is a power of two, and values
        are counted from 0 where that is as close as they are wide.
        """
        origin = self._origin(prepared)
        widest = jnp.max(jnp.abs(prepared.values - origin))
        if self.quantiles:
            widest = jnp.ldexp(jnp.ones_like(widest), jnp.frexp(widest)[1] - 1)
        return Scaling(self.mass * origin, jnp.where(widest > 0, widest, 1.0))

    def _origin(self, prepared: Ordered) -> jax.Array:
        """Return what values are counted from: the middle one, or 0 or the quantile of a single one."""
        values, n = prepared.values, len(prepared.values)
        if len(self.quantiles) != 1:
            return values[n // 2]
        ((_, q),) = self.quantiles
        near = jnp.asarray(values)[jnp.rint((n - 1) * jnp.asarray(q, float)).astype(jnp.int32)]
        return jnp.where(jnp.abs(near) <= 2 * (values[3 * n // 4] - values[n // 4]), 0.0, near)

    @property
    def quantiles(self) -> tuple[tuple[float, Any], ...]:
        """Factor and probability of every linear quantile that the statistic is a sum of; empty where it is none."""
        return ()

    def shared(self, bank: Bank) -> jax.Array | tuple[RankPicks, ...] | RealWeights:
        """Return how sorted values enter: rows are exchangeable, so sorted ones serve.

        The places (B,) of those that a quantile of a resample lies between, or coefficients (n, B) of all; the weights
        themselves where these may be whole numbers.
        """
        if self.quantiles and bank.counts:
            return self._picks(bank.cumulative)
        if self.quantiles and bank.by_rows:
            return RealWeights(bank.rows)
        # sums of counts are exact in any order; of other weights a median's ties need the accurate ones
        return self.coefficients(bank.cumulative[1:] if bank.counts else 1.0 * cumulative_sum(bank.rows).T)

    def _picks(self, cumulative: jax.Array) -> tuple[RankPicks, ...]:
        """Return the places of each quantile under counts whose sums are ``cumulative`` (n + 1, B)."""
        return tuple(rank_picks(cumulative, q) for _, q in self.quantiles)

    def replicates(self, prepared: Ordered, shared: jax.Array | tuple[RankPicks, ...] | RealWeights) -> jax.Array:
        """Return the core (B,) from the scaled sorted values, or from the values where they keep their digits."""
        if isinstance(shared, RealWeights):
            rows = shared.rows

            def of_counts() -> jax.Array:
                return self.replicates(prepared, self._picks(cumulative_counts(rows.T)))

            def of_others() -> jax.Array:
                return self.replicates(prepared, self.coefficients(1.0 * cumulative_sum(rows).T))

            return jax.lax.cond(jnp.all(rows == jnp.floor(rows)), of_counts, of_others)
        origin, scaling = self._origin(prepared), self.scaling(prepared)
        if not isinstance(shared, tuple):
            apart = ((prepared.values - origin) / scaling.scale).astype(shared.dtype)
            return jnp.matmul(apart, shared, precision=jax.lax.Precision.HIGHEST)
        dtype = shared[0].fraction.dtype
        whole = dtype == prepared.values.dtype and len(self.quantiles) == 1
        values = jnp.asarray(prepared.values) if whole else ((prepared.values - origin) / scaling.scale).astype(dtype)
        terms = (factor * picks.of(values) for (factor, _), picks in zip(self.quantiles, shared, strict=True))
        found = sum(terms, jnp.zeros((), dtype))
        return (found - scaling.offset) / scaling.scale if whole else found

    def left_out(self, values: Any) -> tuple[Any, Any]:
        """Return distinct leave-one-out values (..., m) of sorted ``values`` (..., n), with multiplicities (m,)."""
        n = values.shape[-1]
        coefficients = namespace(values).asarray(self.coefficients(jnp.cumsum(1.0 - jnp.eye(n), axis=0)))
        middle = values[..., n // 2 : n // 2 + 1]
        return (values - middle) @ coefficients + self.mass * middle, np.ones(n)


def _read(values: jax.Array, coefficients: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return ``coefficients @ values`` (n,) where two at most are not 0, which add up to 1, and whether it is so."""
    held = ~(coefficients <= 0)
    first, last = jnp.argmax(held), len(coefficients) - 1 - jnp.argmax(held[::-1])
    values = jnp.asarray(values)
    return between(values[first], values[last], coefficients[last]), jnp.sum(held) <= 2


def quantile_profile(q: float | jax.Array, cumulative: jax.Array, total: jax.Array) -> jax.Array:
    """Profile of the linear quantile: a uniform window of one observation from ``(N - 1) q`` on."""
    start = jnp.maximum((total - 1) * q, 0)
    return jnp.clip((cumulative - start) / jnp.minimum(total, 1), 0, 1)


def median_profile(cumulative: jax.Array, total: jax.Array) -> jax.Array:
    """Profile of the median: half a step where C reaches N/2, half where it exceeds N/2."""
    half = total / 2
    noise = ROUNDING / 2 * jnp.finfo(half.dtype).eps * half
    reached, passed = cumulative >= half - noise, cumulative > half + noise
    return (reached.astype(half.dtype) + passed.astype(half.dtype)) / 2


class QuantileStatistic(OrderStatistic):
    """An order statistic that is one linear quantile, of probability ``q``."""

    @property
    @abc.abstractmethod
    def q(self) -> Any:
        """Probability of the quantile."""

    @property
    def quantiles(self) -> tuple[tuple[float, Any], ...]:
        """The one quantile that the statistic is."""
        return ((1.0, self.q),)

    @property
    def probability(self) -> float:
        """Probability of the quantile as a number on the host."""
        return float(self.q)

    def left_out(self, values: Any) -> tuple[Any, Any]:
        """Return the three values (..., 3) that occur: the rank left out lies below, at or above the quantile."""
        xp, n = namespace(values), values.shape[-1]
        if n < 3:
            return values[..., ::-1], np.ones(2)
        h = (n - 2) * xp.asarray(self.q, float)
        lo = xp.minimum(xp.floor(h + 1e-9), n - 3.0)
        f, place = h - lo, lo.astype(np.int32)
        a, b, c = (values[..., place + i] for i in range(3))
        found = xp.stack([between(b, c, f), between(a, c, f), between(a, b, f)], axis=-1)
        return found, xp.stack([lo + 1.0, xp.ones_like(lo), n - 2.0 - lo])


class ValueOrderStatistic(OrderStatistic):
    """An order statistic of the values themselves."""

    task = "values"
    inputs = ("values",)

    @property
    def is_length(self) -> bool:
        """Whether it is a length between values, from 0 on, and lies not among them."""
        return tuple(self.bounds) == (0.0, np.inf)

    def ordered_values(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        assert sample.values is not None
        return sample.values


@record
class Median(ValueOrderStatistic, QuantileStatistic):
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
class Quantile(ValueOrderStatistic, QuantileStatistic):
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
    quantiles = ((1.0, 0.75), (-1.0, 0.25))

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return G at ``cumulative`` (n,)."""
        return quantile_profile(0.75, cumulative, total) - quantile_profile(0.25, cumulative, total)


@record
class TrimmedMean(ValueOrderStatistic):
    """Mean without a share of the smallest and of the largest values, by default a quarter of either.

    Without the g smallest and the g largest of N, ``g = floor(proportiontocut * N)``. Weights are cut at g and at
    N - g, so the value is differentiable for almost all weights; the derivatives keep the trimmed share ``g / N``
    fixed, which gives the influence values of the trimmed mean (winsorized values, centred, over ``1 - 2 g / N``). 0.25
    is the interquartile mean. NaN if nothing is left.

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
        """Return the weight that is left of ``cumulative`` (n,): the same for all that are cut off, to the last bit."""
        cut = self._cut(total)
        return jnp.clip(cumulative, cut, total - cut) - cut

    def span(self, total: jax.Array) -> jax.Array:
        """Return the weight that is left."""
        return total - 2 * self._cut(total)

    def _cut(self, total: jax.Array) -> jax.Array:
        """Return the weight g that is cut off on each side of ``total`` ones."""
        count = jnp.round(total)
        near = jnp.abs(total - count) <= 4 * ROUNDING * jnp.finfo(total.dtype).eps * total
        cut = jnp.floor(self.proportiontocut * jnp.where(near, count, total))
        return cut * (total / jax.lax.stop_gradient(total))
