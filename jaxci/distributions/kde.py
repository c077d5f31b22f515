"""Adaptive kernel density estimate of values within bounds.

A kernel sits at every observation, narrower where a pilot estimate f of the density is high: its
width is multiplied by ``(f_i / g)**(-1/2)``, g the geometric mean of the f_i. It is Epanechnikov's,
with a density proportional to ``1 - |e|**2`` on the unit ball.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.distributions.base import RowDistribution
from jaxci.distributions.empirical import checked_floats
from jaxci.distributions.laws import FiniteLaw, Law, ValueDistribution, bisect
from jaxci.distributions.tables import float_type
from jaxci.records import record, static
from jaxci.special import deviation, root_sum_of_squares

BLOCK = 1 << 22
"""Numbers in one block of a computation of all pairs."""


def local_modifiers(pilot: np.ndarray) -> np.ndarray:
    """Return ``(f_i / g)**(-1/2)`` for pilot densities (n,), given up to a factor."""
    logs = np.log(pilot)
    return np.exp((logs.mean() - logs) / 2)


def pilot_density(x: np.ndarray, h: float) -> np.ndarray:
    """Return the kernel estimate of width h at each of its points (n,), times a constant.

    ``sum_j (1 - ((x_i - x_j) / h)**2)`` over the points within h, in O(n log n): sums of powers
    between the ends of a window in the sorted points.
    """
    order = np.argsort(x, kind="stable")
    u = x[order] / h
    u -= np.median(u)
    powers = np.stack([np.ones_like(u), u, u * u])
    sums = np.pad(np.cumsum(powers, axis=1), ((0, 0), (1, 0)))
    start, end = np.searchsorted(u, u - 1, side="left"), np.searchsorted(u, u + 1, side="right")
    count, first, second = sums[:, end] - sums[:, start]
    density = np.empty_like(u)
    density[order] = np.maximum(count - (count * u**2 - 2 * u * first + second), 1.0)
    return density


def checked_within(values: Any, bounds: tuple[float, float]) -> np.ndarray:
    """Return finite values (n,) that lie within ``bounds``; raise ``ValueError`` where they do not."""
    x = checked_floats("values", values)
    low, high = (float(bound) for bound in bounds)
    if not low < high:
        raise ValueError(f"bounds must be a lower and a higher number; got {bounds}")
    outside = (x < low) | (x > high)
    if np.any(outside):
        raise ValueError(f"values must lie within bounds [{low:g}, {high:g}]; got {x[outside][0]:g}")
    return x


class KernelLaw(Law):
    """Equal mixture of Epanechnikov kernels at ``values`` (n,) of half-width ``bandwidths`` (n,)."""

    def __init__(self, values: Any, bandwidths: Any) -> None:
        self.values = np.asarray(values, np.float64)
        self.bandwidths = np.asarray(bandwidths, np.float64)

    def _standard(self, x: np.ndarray) -> np.ndarray:
        """Return (x - value) / bandwidth within [-1, 1], (m, n); a step where the bandwidth is 0."""
        apart = x[:, None] - self.values
        wide = self.bandwidths > 0
        scaled = apart / np.where(wide, self.bandwidths, 1.0)
        return np.where(wide, np.clip(scaled, -1, 1), np.where(apart >= 0, 1.0, -1.0))

    def cdf(self, x: Any) -> np.ndarray:
        """Return ``F(x)``, the mean of ``(2 + 3 u - u**3) / 4`` over the kernels."""
        flat = np.atleast_1d(np.asarray(x, np.float64)).ravel()
        step = max(1, BLOCK // len(self.values))
        parts = []
        for i in range(0, len(flat), step):
            u = self._standard(flat[i : i + step])
            parts.append(((2 + 3 * u - u**3) / 4).mean(axis=1))
        return np.concatenate(parts).reshape(np.shape(x))

    def quantile(self, q: float) -> float:
        """Return ``inf{x: F(x) >= q}`` by bisection."""
        low, high = self.support()
        if float(self.cdf(low)) >= q:
            return low
        return bisect(lambda x: float(self.cdf(x)), q, low, high)

    def support(self) -> tuple[float, float]:
        """Return the outermost ends of the kernels."""
        return float(np.min(self.values - self.bandwidths)), float(np.max(self.values + self.bandwidths))

    def mean(self) -> float:
        """Return the mean of the values."""
        return FiniteLaw(self.values).mean()

    def deviation(self) -> float:
        """Return the root of the variance of the values plus a fifth of the mean squared bandwidth."""
        widths = root_sum_of_squares(np.asarray(self.bandwidths), 1 / (5 * len(self.bandwidths)))
        return float(np.hypot(FiniteLaw(self.values).deviation(), widths))

    def partial_mean(self, a: float, b: float) -> float:
        """Return ``E[X; a < X <= b]`` in closed form."""
        low, high = self._standard(np.array([a, b]))
        share = (3 * (high - low) - (high**3 - low**3)) / 4
        shift = (3 / 16) * (2 * (high**2 - low**2) - (high**4 - low**4))
        return float(np.mean(self.values * share + self.bandwidths * shift))


@record
class AdaptiveKDE(RowDistribution, ValueDistribution):
    """Adaptive kernel density estimate of bounded values; :meth:`fit` builds it from data.

    With sd the standard deviation (divisor n), ``h = 1.06 sd n**(-1/5)``; the pilot estimate has
    width h everywhere, whether or not it leaves the bounds. The width of kernel i is
    ``h_i = min(h (f_i / g)**(-1/2), x_i - low, high - x_i)``, so no mass leaves the bounds; a value
    on a bound is a point mass, as are all values where sd is 0. A draw is a value chosen at random
    plus h_i times an Epanechnikov variate, the median of three uniform ones on [-1, 1].

    Parameters
    ----------
    values : (n,) array
        Observed values.
    bandwidths : (n,) array
        Half-widths of their kernels.
    low, high : float
        Bounds of the values; infinite where there are none.
    grid : int or None
        Round draws to the nearest of so many equally spaced points between the bounds (where
        infinite, the outermost ends of the kernels), which makes ties; None: continuous draws.

    References
    ----------
    Wilcox (2012), Introduction to robust estimation and hypothesis testing, with this kernel and
    these bounds; Andre et al. (2026), supplement S4, Algorithm 2, with the cap on
    the width instead of the modifier and applied once.
    """

    values: Any
    bandwidths: Any
    low: Any = -np.inf
    high: Any = np.inf
    grid: int | None = static(default=None)

    row_fields = ("values", "bandwidths")

    @classmethod
    def fit(
        cls,
        values: Any,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        grid: int | None = None,
        spread: float | None = None,
    ) -> AdaptiveKDE:
        """Estimate from ``values`` (n,) within ``bounds``; ``spread`` in place of sd where it is given.

        Raises
        ------
        ValueError
            If a value is not finite or lies outside the bounds, or ``grid`` is below 2.
        """
        x = checked_within(values, bounds)
        low, high = map(float, bounds)
        if grid is not None and grid < 2:
            raise ValueError(f"grid must be at least 2 points or None; got {grid}")
        h = 1.06 * (deviation(x, ddof=0) if spread is None else spread) * len(x) ** -0.2
        if np.ptp(x) == 0 or h == 0:
            return cls(x, np.zeros_like(x), low, high, grid)
        widths = h * local_modifiers(pilot_density(x, h))
        return cls(x, np.minimum(widths, np.minimum(x - low, high - x)), low, high, grid)

    @classmethod
    def of_cases(cls, values: Any, bounds: tuple[float, float] = (-np.inf, np.inf)) -> AdaptiveKDE:
        """Estimate from per-case values (n,) within ``bounds``; without any, within [0, 1] where all values are."""
        x = checked_floats("values", values)
        free = not np.isfinite(bounds).any()
        return cls.fit(x, (0.0, 1.0) if free and x.min() >= 0 and x.max() <= 1 else bounds)

    @classmethod
    def like(cls, values: Any, bounds: tuple[float, float] = (-np.inf, np.inf)) -> AdaptiveKDE:
        """Estimate as :meth:`of_cases` does, but with widths that a few far values do not decide.

        They follow Silverman's (1986, section 3.4.2) lesser of sd and the interquartile range over 1.349, where this
        is positive. Without bounds, values of which none is negative are drawn from 0 on.
        """
        x = checked_floats("values", values)
        within_quartiles = float(np.subtract(*np.quantile(x, (0.75, 0.25)))) / 1.349
        sd = float(deviation(x, ddof=0))
        spread = min(sd, within_quartiles) if within_quartiles > 0 else sd
        if not np.isfinite(bounds).any() and x.min() >= 0:
            bounds = (0.0, 1.0 if x.max() <= 1 else np.inf)
        return cls.fit(x, bounds, spread=spread)

    @property
    def label(self) -> str:
        """Number of values."""
        return f"kde({len(self.values)} values)"

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the values."""
        return float(self.low), float(self.high)

    def law(self) -> Law:
        """Return the law, in double precision on the host; that of the grid points if there is a grid."""
        law = KernelLaw(self.values, self.bandwidths)
        if self.grid is None:
            return law
        ends = zip(self.bounds, law.support(), strict=True)
        low, high = (bound if np.isfinite(bound) else end for bound, end in ends)
        if low == high:
            return FiniteLaw([low])
        points = np.linspace(low, high, self.grid)
        inner = law.cdf((points[1:] + points[:-1]) / 2)
        return FiniteLaw(points, np.diff(np.concatenate([[0.0], inner, [1.0]])))

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,)."""
        return self.sample(key, n)["values"]

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, jax.Array]:
        """Draw ``n`` values from the kernels at the first ``size`` values."""
        dtype = float_type()
        which, where = jax.random.split(key)
        values, widths = jnp.asarray(self.values, dtype), jnp.asarray(self.bandwidths, dtype)
        rows = jax.random.randint(which, (n,), 0, size, jnp.int32)
        a, b, c = jax.random.uniform(where, (3, n), dtype, -1, 1)
        epanechnikov = jnp.maximum(jnp.minimum(a, b), jnp.minimum(jnp.maximum(a, b), c))
        x = values[rows] + widths[rows] * epanechnikov
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        if self.grid is not None:
            start = jnp.where(jnp.isfinite(low), low, jnp.min(values - widths))
            end = jnp.where(jnp.isfinite(high), high, jnp.max(values + widths))
            step = (end - start) / (self.grid - 1)
            x = jnp.where(step > 0, start + jnp.round((x - start) / jnp.where(step > 0, step, 1)) * step, x)
        return {"values": jnp.clip(x, low, high)}
