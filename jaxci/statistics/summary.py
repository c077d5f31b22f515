"""Statistics of one value per observation: mean, spread, quantiles, trimmed mean.

Notation: values ``x_i``, weights ``w_i``, ``N = sum_i w_i``; ``x_(1) <= x_(2) <= ...`` sorted. A
statistic of integer weights equals that of the data with row i repeated ``w_i`` times. The value
is NaN where N = 0.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.kernels import RankPicks, rank_picks
from jaxci.special import namespace
from jaxci.statistics.base import ExtremeStatistic, MomentStatistic, Scaling, Statistic, square_root
from jaxci.statistics.cumulative import cumulative_sum, gather, sorting_order
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, Features

_ROUNDING = 16.0
"""Multiples of the machine epsilon within which a difference of sums counts as zero."""


def centre(x: Any, n: int) -> Any:
    """Return a centre of the first ``n`` of ``x``: their median, or the mean of traced values.

    After subtracting a median, sums of any resample are as accurate as the resample's own spread allows,
    whatever the offset of the data and whichever outliers the resample left out. Traced values are many data
    sets at once, and drawn from a law.
    """
    return np.float64(np.median(x[:n])) if namespace(x) is np else jnp.mean(x[:n])


def standardized(x: Any, n: int) -> tuple[Any, Any, Any]:
    """Return ``(x - centre) / scale`` (N,), centre and scale: the first ``n`` lie within [-1, 1].

    Where they do not vary the scale is 1.
    """
    xp = namespace(x)
    middle = centre(x, n)
    apart = x - middle
    widest = xp.max(xp.abs(apart[:n]))
    scale = xp.where(widest > 0, widest, 1.0)
    return apart / scale, middle, scale


def variance_from_sums(total: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Return ``second / total - (first / total)**2``, exactly 0 where it is within rounding of 0."""
    mean, square = first / total, second / total
    variance = square - mean**2
    return jnp.where(variance <= _ROUNDING * jnp.finfo(variance.dtype).eps * square, 0.0, variance)


class MeanStatistic(MomentStatistic, ExtremeStatistic):
    """A weighted mean of one value per row, or its square root.

    ``m = sum_i w_i r_i / N``; leaves supply the row values ``r``. The value is m where ``link``
    is ``"identity"``, and the root of m, for ``r >= 0``, where it is ``"sqrt"``.
    """

    link: ClassVar[str] = "identity"
    of_values: ClassVar[bool] = False
    """Whether the row values are the values of the sample themselves, whose range ``bounds`` then is."""

    @abc.abstractmethod
    def row_values(self, sample: Sample) -> Any:
        """Return the averaged value of every row, (n,) float64."""

    def prepare(self, sample: Sample) -> Features:
        """Standardize the row values."""
        values = self.row_values(sample)
        design, middle, scale = standardized(values.astype(np.float64), sample.n)
        return Features(design[:, None], (middle, scale))

    def scaling(self, prepared: Features) -> Scaling:
        """Return centre and scale of the row values, and whether the link is a root."""
        middle, scale = prepared.constants
        return Scaling(middle, scale, self.link == "sqrt")

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the mean of the standardized values from the sums (2,) of weights and of them."""
        return sums[1] / sums[0]

    def pseudo_masses(self, n_classes: int) -> tuple[float, ...]:
        """Return the masses of a unit at the lowest value, and of one at the highest."""
        return (1.0, 1.0)

    def posterior(self, prepared: Features, shared: Bank, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the core (B,) with units at both extremes."""
        total, first = prepared.bank_sums(shared)
        low, high = (end.astype(total.dtype) for end in self._extremes(prepared, unseen.reach))
        below, above = (unseen.weights * unseen.size).astype(total.dtype)
        return (first + below * low + above * high) / (total + below + above)

    def _extremes(self, prepared: Features, reach: Any) -> tuple[jax.Array, jax.Array]:
        """Return the standardized values of units at the extremes: beyond the lowest and highest, within the bounds.

        Where values do not vary they are the bounds.
        """
        values = jnp.asarray(prepared.design)[:, 0]
        held = jnp.ones_like(values) if prepared.mass is None else jnp.asarray(prepared.mass)
        values = values / jnp.where(held > 0, held, 1.0)
        least = jnp.min(jnp.where(held > 0, values, jnp.inf))
        most = jnp.max(jnp.where(held > 0, values, -jnp.inf))
        middle, scale = prepared.constants
        power = 2 if self.link == "sqrt" else 1
        bottom, top = ((end**power - middle) / scale for end in self.bounds)
        flat = (most - least) * scale <= _ROUNDING * np.finfo(float).eps * jnp.abs(middle)
        spread = jnp.where(flat, 0.0, most - least)
        known = jnp.minimum(least - bottom, top - most)  # of values that do not vary an open side mirrors the other
        beyond = spread * reach[1 if np.isfinite(self.bounds).any() else 0]
        beyond = jnp.where(flat & jnp.isfinite(known), known, beyond)

        def end(extreme: jax.Array, bound: jax.Array, side: int) -> jax.Array:
            cut = jnp.where(flat, bound, jnp.clip(extreme + side * beyond, bottom, top))
            return jnp.where(jnp.isfinite(bound), cut, extreme + side * beyond)

        return end(least, bottom, -1), end(most, top, 1)


def is_mean(statistic: Statistic) -> bool:
    """Whether the statistic is the plain mean of per-row values."""
    return isinstance(statistic, MeanStatistic) and statistic.link == "identity"


def is_mean_of_values(statistic: Statistic) -> TypeGuard[MeanStatistic]:
    """Whether the statistic is the plain mean of the values of the sample, within the bounds that it declares."""
    return isinstance(statistic, MeanStatistic) and statistic.of_values and is_mean(statistic)


@record
class Mean(MeanStatistic):
    """Mean of the values, ``sum_i w_i x_i / N``.

    Smooth: the influence value of row i is ``x_i - mean``.

    Parameters
    ----------
    bounds : tuple of float
        Lowest and highest value that there can be, whether or not there is one; infinite where there is no such bound.
    """

    task = "values"
    inputs = ("values",)
    of_values = True

    bounds: tuple[float, float] = static(default=(-np.inf, np.inf))  # type: ignore[misc]

    def __post_init__(self) -> None:
        try:
            low, high = map(float, self.bounds)
        except (TypeError, ValueError):
            raise ValueError(f"bounds must be two numbers; got {self.bounds!r}") from None
        if not low < high:
            raise ValueError(f"bounds must be the lowest and the highest value, in this order; got {self.bounds!r}")
        object.__setattr__(self, "bounds", (low, high))

    def row_values(self, sample: Sample) -> np.ndarray:
        """Return the values (n,).

        Raises
        ------
        ValueError
            If one of them lies beyond the bounds.
        """
        values = sample.values
        assert values is not None
        if namespace(values) is np and not (self.bounds[0] <= values.min() and values.max() <= self.bounds[1]):
            raise ValueError(
                f"bounds must hold all values; got {self.bounds} for values from {values.min():g} to {values.max():g}"
            )
        return values


class SecondMoment(MomentStatistic):
    """A function of the variance of the values: a leaf gives the ``core`` from that of the standardized ones.

    ``power`` is p where it is the variance to the power p, None where it is another function.
    """

    power: ClassVar[float | None] = None

    task = "values"
    inputs = ("values",)
    bounds = (0.0, np.inf)

    def prepare(self, sample: Sample) -> Features:
        """Return powers 1 and 2 of the standardized values, whose squares are 1 on average."""
        assert sample.values is not None
        d, _, scale = standardized(sample.values, sample.n)
        xp = namespace(d)
        size = xp.sqrt(xp.mean(d[: sample.n] ** 2))
        unit = xp.where(size > 0, size, 1.0)
        d = d / unit
        return Features(xp.stack([d, d * d], axis=1), (scale * unit,))

    @abc.abstractmethod
    def of_variance(self, variance: jax.Array) -> jax.Array:
        """Return the core from the variance of the standardized values."""

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the core from the sums (3,) of powers."""
        return self.of_variance(variance_from_sums(sums[0], sums[1], sums[2]))


@record
class Variance(SecondMoment):
    """Variance with divisor N, ``sum_i w_i (x_i - mean)**2 / N``; ``numpy.var``'s default.

    A variance within rounding of 0 is 0.
    """

    power = 1.0

    def scaling(self, prepared: Features) -> Scaling:
        """Return the unit of the variance."""
        return Scaling(0.0, prepared.constants[0] ** 2)

    def of_variance(self, variance: jax.Array) -> jax.Array:
        """Return the variance."""
        return variance


@record
class Std(SecondMoment):
    """Standard deviation with divisor N, the root of :class:`Variance`; ``numpy.std``'s default.

    Where it is 0 (constant values) its derivatives are given as 0.
    """

    power = 0.5

    def scaling(self, prepared: Features) -> Scaling:
        """Return the unit of the values."""
        return Scaling(0.0, prepared.constants[0])

    def of_variance(self, variance: jax.Array) -> jax.Array:
        """Return its root."""
        return square_root(variance)


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
        """Return G at ``cumulative`` (n,) weights out of ``total``."""

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
        return jnp.where(total > 0, steps, jnp.nan)

    def value(self, prepared: Ordered, weights: jax.Array) -> jax.Array:
        """Return ``coefficients @ values`` under ``weights`` (n,)."""
        in_order = weights if prepared.order is None else gather(weights, prepared.order)
        middle = prepared.values[len(prepared.values) // 2]
        apart = prepared.values - middle
        coefficients = self.coefficients(1.0 * cumulative_sum(in_order))
        return self.mass * middle + jnp.dot(coefficients, apart, precision=jax.lax.Precision.HIGHEST)

    def sort_keys(self, sample: Sample) -> np.ndarray:
        """Return the values (n,)."""
        return self.ordered_values(sample)

    def scaling(self, prepared: Ordered) -> Scaling:
        """Return the middle value, as often as the coefficients add up to, and the largest distance from it."""
        middle = prepared.values[len(prepared.values) // 2]
        widest = jnp.max(jnp.abs(prepared.values - middle))
        return Scaling(self.mass * middle, jnp.where(widest > 0, widest, 1.0))

    @property
    def quantiles(self) -> tuple[tuple[float, Any], ...]:
        """Factor and probability of every linear quantile that the statistic is a sum of; empty where it is none."""
        return ()

    def shared(self, bank: Bank) -> jax.Array | tuple[RankPicks, ...]:
        """Return how sorted values enter: rows are exchangeable, so sorted ones serve.

        The places (B,) of those that a quantile of a resample lies between, or coefficients (n, B) of all.
        """
        if self.quantiles and bank.counts:
            return tuple(rank_picks(bank.cumulative, q) for _, q in self.quantiles)
        # sums of counts are exact in any order; of other weights a median's ties need the accurate ones
        return self.coefficients(bank.cumulative[1:] if bank.counts else 1.0 * cumulative_sum(bank.rows).T)

    def replicates(self, prepared: Ordered, shared: jax.Array | tuple[RankPicks, ...]) -> jax.Array:
        """Return the core (B,) from the scaled sorted values."""
        middle = prepared.values[len(prepared.values) // 2]
        apart = (prepared.values - middle) / self.scaling(prepared).scale
        if isinstance(shared, tuple):
            apart = apart.astype(shared[0].fraction.dtype)
            terms = (factor * picks.of(apart) for (factor, _), picks in zip(self.quantiles, shared, strict=True))
            return sum(terms, jnp.zeros((), apart.dtype))
        return jnp.matmul(apart.astype(shared.dtype), shared, precision=jax.lax.Precision.HIGHEST)

    def left_out(self, values: Any) -> tuple[Any, Any]:
        """Return distinct leave-one-out values (..., m) of sorted ``values`` (..., n), with multiplicities (m,)."""
        n = values.shape[-1]
        coefficients = namespace(values).asarray(self.coefficients(jnp.cumsum(1.0 - jnp.eye(n), axis=0)))
        middle = values[..., n // 2 : n // 2 + 1]
        return (values - middle) @ coefficients + self.mass * middle, np.ones(n)


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
        found = xp.stack([(1 - f) * b + f * c, (1 - f) * a + f * c, (1 - f) * a + f * b], axis=-1)
        return found, xp.stack([lo + 1.0, xp.ones_like(lo), n - 2.0 - lo])


class ValueOrderStatistic(OrderStatistic):
    """An order statistic of the values themselves."""

    task = "values"
    inputs = ("values",)

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
        cut = self._cut(total)
        return (jnp.clip(cumulative, cut, total - cut) - cut) / (total - 2 * cut)

    def coefficients(self, cumulative: jax.Array) -> jax.Array:
        """Return the coefficient (n, ...) of every sorted value: of those cut off exactly 0, however large they are."""
        total = cumulative[-1]
        cut = self._cut(total)
        kept = jnp.concatenate([cut[None], jnp.clip(cumulative, cut, total - cut)])
        return jnp.where(total > 0, jnp.diff(kept, axis=0) / (total - 2 * cut), jnp.nan)

    def _cut(self, total: jax.Array) -> jax.Array:
        """Return the weight g that is cut off on each side of ``total`` ones."""
        count = jnp.round(total)
        near = jnp.abs(total - count) <= 4 * _ROUNDING * jnp.finfo(total.dtype).eps * total
        cut = jnp.floor(self.proportiontocut * jnp.where(near, count, total))
        return cut * (total / jax.lax.stop_gradient(total))


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
