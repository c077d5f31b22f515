"""Laws of one real variable on the host: moments, quantiles and trimmed means in double precision."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.distributions.base import Distribution, weighted_value
from jaxci.special import root_sum_of_squares
from jaxci.statistics.base import Statistic
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, Std, Variance

LEVEL_NOISE = 1e-12
"""Differences of a distribution function from a level that count as zero."""


class Law(abc.ABC):
    """A distribution function F on the real line."""

    @abc.abstractmethod
    def cdf(self, x: Any) -> np.ndarray:
        """Return ``F(x)``."""

    @abc.abstractmethod
    def quantile(self, q: float) -> float:
        """Return ``inf{x: F(x) >= q}`` for 0 < q < 1."""

    @abc.abstractmethod
    def support(self) -> tuple[float, float]:
        """Return the ends of the support."""

    @abc.abstractmethod
    def mean(self) -> float | None:
        """Return the mean; infinite or NaN where there is none, None where it is not known."""

    @abc.abstractmethod
    def deviation(self) -> float | None:
        """Return the standard deviation; infinite or NaN where there is none, None where it is not known."""

    def variance(self) -> float | None:
        """Return the variance; infinite or NaN where there is none, None where it is not known."""
        spread = self.deviation()
        return None if spread is None else spread * spread

    @abc.abstractmethod
    def partial_mean(self, a: float, b: float) -> float:
        """Return ``E[X; a < X <= b]``."""

    def middle_quantile(self, q: float) -> float:
        """Middle of the interval of quantiles of level q: of ``inf{F >= q}`` and ``inf{F > q}``."""
        if q <= 0 or q >= 1:
            return self.support()[int(q >= 1)]
        below = max(q - LEVEL_NOISE, q / 2)
        above = min(q + LEVEL_NOISE, (1 + q) / 2)
        low, high = self.quantile(below), self.quantile(above)
        return low + (high - low) / 2

    def trimmed_mean(self, proportiontocut: float) -> float | None:
        """Mean of the quantile function from p to 1 - p; atoms at the ends count in part."""
        p = proportiontocut
        if p <= 0:
            return self.mean()
        a, b = self.quantile(p), self.quantile(1 - p)
        if a == b:
            return a
        inside = self.partial_mean(a, b)
        at_ends = a * (float(self.cdf(a)) - p) - b * (float(self.cdf(b)) - (1 - p))
        return (inside + at_ends) / (1 - 2 * p)


def bisect(cdf: Callable[[float], float], q: float, low: float, high: float) -> float:
    """Return ``inf{x: F(x) >= q}`` in (low, high], to the last digit; ``F(high) >= q``."""
    for _ in range(200):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if cdf(middle) >= q else (middle, high)
    return high


class FiniteLaw(Law):
    """Finitely many points with probabilities.

    Parameters
    ----------
    points : (m,) array
    masses : (m,) array
        Probabilities, up to a factor; equal ones by default.
    """

    def __init__(self, points: Any, masses: Any = None) -> None:
        points = np.asarray(points, np.float64)
        order = np.argsort(points, kind="stable")
        masses = np.ones(len(points)) if masses is None else np.asarray(masses, np.float64)
        keep = masses[order] > 0
        self.points = points[order][keep]
        cumulative = np.cumsum(masses[order][keep])
        self.masses = masses[order][keep] / cumulative[-1]
        self.cumulative = cumulative / cumulative[-1]

    def cdf(self, x: Any) -> np.ndarray:
        """Return ``F(x)``."""
        return np.concatenate([[0.0], self.cumulative])[np.searchsorted(self.points, x, side="right")]

    def quantile(self, q: float) -> float:
        """Return the smallest point with ``F >= q``."""
        return float(self.points[min(np.searchsorted(self.cumulative, q), len(self.points) - 1)])

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest point."""
        return float(self.points[0]), float(self.points[-1])

    def mean(self) -> float:
        """Return the mean."""
        centre = self.points[len(self.points) // 2]
        return float(centre + self.masses @ (self.points - centre))

    def deviation(self) -> float:
        """Return the standard deviation (divisor N where the masses are equal)."""
        return float(root_sum_of_squares(self.points - self.mean(), self.masses))

    def partial_mean(self, a: float, b: float) -> float:
        """Return ``E[X; a < X <= b]``."""
        inside = (self.points > a) & (self.points <= b)
        return float(self.masses[inside] @ self.points[inside])


class MixtureLaw(Law):
    """Laws drawn from with probabilities ``weights``."""

    def __init__(self, laws: Sequence[Law], weights: Any) -> None:
        self.laws = tuple(laws)
        self.weights = np.asarray(weights, np.float64) / np.sum(weights)

    def cdf(self, x: Any) -> np.ndarray:
        """Return ``F(x)``."""
        return sum(w * law.cdf(x) for w, law in zip(self.weights, self.laws, strict=True))

    def quantile(self, q: float) -> float:
        """Return ``inf{x: F(x) >= q}``, between the extreme quantiles of the components."""
        ends = [law.quantile(q) for law in self.laws]
        low, high = min(ends), max(ends)
        if float(self.cdf(low)) >= q:
            return low
        return bisect(lambda x: float(self.cdf(x)), q, low, high)

    def support(self) -> tuple[float, float]:
        """Return the ends of the union of the supports."""
        ends = [law.support() for law in self.laws]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def mean(self) -> float | None:
        """Return the mean."""
        means = [law.mean() for law in self.laws]
        return None if None in means else float(self.weights @ np.asarray(means, float))

    def deviation(self) -> float | None:
        """Return the root of the variance within components plus that between their means."""
        mean, within = self.mean(), [law.deviation() for law in self.laws]
        if mean is None or None in within:
            return None
        if not np.isfinite(mean):
            return np.nan
        between = np.asarray([law.mean() for law in self.laws], float) - mean
        return float(root_sum_of_squares(np.hypot(np.asarray(within, float), between), self.weights))

    def partial_mean(self, a: float, b: float) -> float:
        """Return ``E[X; a < X <= b]``."""
        parts = [law.partial_mean(a, b) for law in self.laws]
        return float(self.weights @ parts)


class ValueDistribution(Distribution):
    """A distribution of one value a row, with a law on the real line."""

    kind = "values"

    @abc.abstractmethod
    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,)."""

    @abc.abstractmethod
    def law(self) -> Law:
        """Return the law, in double precision on the host."""

    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` values: ``{"values": (n,)}``."""
        return {"values": self.draw(key, n)}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return moments, quantiles and trimmed means of the law; None for other statistics."""
        law = self.law()
        match statistic:
            case Mean():
                return law.mean()
            case Variance():
                return law.variance()
            case Std():
                return law.deviation()
            case Median():
                return law.middle_quantile(0.5)
            case Quantile():
                return law.middle_quantile(float(statistic.q))
            case IQR():
                return law.middle_quantile(0.75) - law.middle_quantile(0.25)
            case TrimmedMean():
                return law.trimmed_mean(float(statistic.proportiontocut))
        if isinstance(law, FiniteLaw):
            sample = Sample(values=law.points, columns=(law.points,))
            return weighted_value(statistic, sample, law.masses)
        return None
