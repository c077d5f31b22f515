"""Statistics of one value per observation: mean and spread; those of sorted values are in ``order``.

Notation: values ``x_i``, weights ``w_i``, ``N = sum_i w_i``; ``x_(1) <= x_(2) <= ...`` sorted. A
statistic of integer weights equals that of the data with row i repeated ``w_i`` times. The value
is NaN where N = 0.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.base import ExtremeStatistic, MomentStatistic, Scaling, Statistic, square_root
from jaxci.statistics.order import IQR, ROUNDING, Median, Quantile, TrimmedMean
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, Features

BEYOND = 1e-5
"""How far values may lie beyond the bounds of their metric, by rounding in whatever precision they were computed."""


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
    return jnp.where(variance <= ROUNDING * jnp.finfo(variance.dtype).eps * square, 0.0, variance)


FARTHER = 3.0
"""How much farther clusters of mistaken rows lie where rows are alike. Of correlations of .3 95% intervals of Brier
scores of 5 to 10 clusters covered .87 to .96 without, and .88 to .97 with it.
"""


class Mistaken(NamedTuple):
    """What is known of rows as mistakes, standardized: what they would have had on average, and how rows vary.

    Attributes
    ----------
    mean : ()
        Of what rows would have had, were they of another class.
    deviation : ()
        Of what they have.
    rows : ()
        Number of rows.
    """

    mean: Any
    deviation: Any
    rows: Any

    def of_clusters(self, means: jax.Array, held: jax.Array) -> jax.Array:
        """Return () what a cluster has whose rows go along as those of the others do, by their means (U,) and masses.

        It lies from the mean of all as far as mistaken rows do, times ``s + 3 (s^2 - 1 / m)``, at most 1, with the
        deviation s of what clusters of m rows on average contribute over that of a row: 1 where the rows of each are
        alike, one over the root of m where they have nothing in common, and not less than that.
        """
        total, units = jnp.sum(held), jnp.sum(held > 0)
        whole = jnp.sum(held * means) / total
        between = jnp.sqrt(jnp.sum((held * (means - whole)) ** 2) / jnp.maximum(units - 1, 1)) * units / total
        varies = self.deviation > 0
        share = jnp.where(varies, between / jnp.where(varies, self.deviation, 1.0), 1.0)
        least = units / self.rows
        share = jnp.maximum(share, jnp.sqrt(least))
        return whole + (self.mean - whole) * jnp.minimum(share + FARTHER * (share**2 - least), 1.0)


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
        """Return the averaged value of every row (n,)."""

    def averaged_values(self, sample: Sample) -> Any:
        """Return the :meth:`row_values` (n,) in float64.

        Raises
        ------
        ValueError
            If they are not one number a row, or some lie beyond the bounds.
        """
        values, name = self.row_values(sample), type(self).__name__
        kinds = (jnp.floating, jnp.integer, jnp.bool_)
        numbers = hasattr(values, "dtype") and any(jnp.issubdtype(values.dtype, kind) for kind in kinds)
        if not numbers or values.ndim != 1 or len(values) < sample.n:
            what = f"shape {values.shape} and dtype {values.dtype}" if hasattr(values, "dtype") else shown(values)
            raise ValueError(f"row_values of {name!r} must return one number a row, shape ({sample.n},); got {what}")
        values = values.astype(np.float64)
        if isinstance(values, np.ndarray) and np.isfinite(self.bounds).any():
            low, high = (end ** (2 if self.link == "sqrt" else 1) for end in self.bounds)
            slack = BEYOND * max(1.0, *(abs(end) for end in (low, high) if np.isfinite(end)))
            outside = values[: sample.n][(values[: sample.n] < low - slack) | (values[: sample.n] > high + slack)]
            if len(outside):
                rule = f"lie within its bounds, [{low:g}, {high:g}]"
                raise ValueError(f"row_values of {name!r} must {rule}; {len(outside)} do not, such as {outside[0]:g}")
        return values

    def mistaken_values(self, sample: Sample) -> Any:
        """Return what rows would have had, had they been of another class (n,); None where no class decides."""
        return None

    def prepare(self, sample: Sample) -> Features:
        """Standardize the row values; of rows that may be mistaken, keep what is known of these (:class:`Mistaken`)."""
        values, mistaken = self.averaged_values(sample), self.mistaken_values(sample)
        design, middle, scale = standardized(values, sample.n)
        if mistaken is None:
            return Features(design[:, None], (middle, scale))
        xp, counts = namespace(values), sample.counts
        mean = xp.average(mistaken[: sample.n], weights=counts)
        apart = design[: sample.n] - xp.average(design[: sample.n], weights=counts)
        rows = xp.asarray(float(sample.n)) if counts is None else counts.sum().astype(np.float64)
        known = Mistaken((mean - middle) / scale, xp.sqrt(xp.average(apart**2, weights=counts)), rows)
        return Features(design[:, None], (middle, scale, known))

    def scaling(self, prepared: Features) -> Scaling:
        """Return centre and scale of the row values, and whether the link is a root."""
        middle, scale, *_ = prepared.constants
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
        low, high = (end.astype(total.dtype) for end in self._extremes(prepared, unseen))
        below, above = (unseen.weights * unseen.sizes.all).astype(total.dtype)
        return (first + below * low + above * high) / (total + below + above)

    def _extremes(self, prepared: Features, unseen: PseudoUnits) -> tuple[jax.Array, jax.Array]:
        """Return the standardized values of units at the extremes: beyond the lowest and highest, within the bounds.

        Where values do not vary they are the bounds. Where a row may be mistaken for one of another class, the highest
        is what such rows have on average, if that is more; of clusters as far from the mean as these go along.
        """
        values = jnp.asarray(prepared.design)[:, 0]
        held = jnp.ones_like(values) if prepared.mass is None else jnp.asarray(prepared.mass)
        values = values / jnp.where(held > 0, held, 1.0)
        least = jnp.min(jnp.where(held > 0, values, jnp.inf))
        most = jnp.max(jnp.where(held > 0, values, -jnp.inf))
        middle, scale, *mistaken = prepared.constants
        power = 2 if self.link == "sqrt" else 1
        bottom, top = ((end**power - middle) / scale for end in self.bounds)
        flat = (most - least) * scale <= ROUNDING * np.finfo(float).eps * jnp.abs(middle)
        spread = jnp.where(flat, 0.0, most - least)
        known = jnp.minimum(least - bottom, top - most)  # of values that do not vary an open side mirrors the other
        beyond = spread * unseen.reach[1 if np.isfinite(self.bounds).any() else 0]
        beyond = jnp.where(flat & jnp.isfinite(known), known, beyond)

        def end(extreme: jax.Array, bound: jax.Array, side: int) -> jax.Array:
            cut = jnp.where(flat, bound, jnp.clip(extreme + side * beyond, bottom, top))
            return jnp.where(jnp.isfinite(bound), cut, extreme + side * beyond)

        high = end(most, top, 1)
        for known in mistaken:
            high = jnp.maximum(high, known.mean if unseen.together is None else known.of_clusters(values, held))
        return end(least, bottom, -1), high


def is_mean(statistic: Statistic) -> bool:
    """Whether the statistic is the plain mean of per-row values."""
    return isinstance(statistic, MeanStatistic) and statistic.link == "identity"


def is_mean_of_values(statistic: Statistic) -> TypeGuard[MeanStatistic]:
    """Whether the statistic is the plain mean of the values of the sample, within the bounds that it declares."""
    return isinstance(statistic, MeanStatistic) and statistic.of_values and is_mean(statistic)


def is_mean_between_ends(statistic: Statistic) -> TypeGuard[MeanStatistic]:
    """Whether it is such a mean, and declares both the lowest and the highest value."""
    return is_mean_of_values(statistic) and bool(np.isfinite(statistic.bounds).all())


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

    @property
    def described(self) -> str:
        """Name and range."""
        return f"mean within [{self.bounds[0]:g}, {self.bounds[1]:g}]"

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
