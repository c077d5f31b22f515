"""Bootstrap distributions of stacks of data sets, as intervals read them: quantiles and shares."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np
from numpy.typing import ArrayLike


class Rows(abc.ABC):
    """One bootstrap distribution a data set; leading axes (...) run over data sets."""

    @abc.abstractmethod
    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the quantile (...) at ``p``, one probability or one a data set; NaN where p is."""

    @abc.abstractmethod
    def share_below(self, value: ArrayLike) -> np.ndarray:
        """Return the share (...) below ``value`` (...), ties counting one half."""

    @property
    @abc.abstractmethod
    def mean(self) -> np.ndarray:
        """Means (...)."""

    @property
    @abc.abstractmethod
    def deviation(self) -> np.ndarray:
        """Standard deviations (...), ddof 1."""


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn(Rows):
    """Replicates (..., B) sorted along the last axis, NaN last; NaN count for nothing."""

    ordered: np.ndarray

    @classmethod
    def of(cls, replicates: np.ndarray) -> Drawn:
        """Sort ``replicates`` (..., B)."""
        return cls(np.sort(replicates, axis=-1))

    @property
    def count(self) -> np.ndarray:
        """Number of defined replicates (...)."""
        last = self.ordered[..., -1]
        if not np.isnan(last).any():
            return np.full(last.shape, self.ordered.shape[-1])
        return self.ordered.shape[-1] - np.sum(np.isnan(self.ordered), axis=-1)

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the linear quantile (NumPy's default)."""
        count = self.count
        position = np.clip(p, 0.0, 1.0) * np.maximum(count - 1, 0)
        known = ~np.isnan(position) & (count > 0)
        position = np.where(known, position, 0.0)
        below = np.floor(position).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(count - 1, 0))
        left = np.take_along_axis(self.ordered, below[..., None], axis=-1)[..., 0]
        right = np.take_along_axis(self.ordered, above[..., None], axis=-1)[..., 0]
        return np.where(known, left + (position - below) * (right - left), np.nan)

    def share_below(self, value: ArrayLike) -> np.ndarray:
        """Return the share below ``value``, ties half."""
        value, count = np.asarray(value), self.count
        hits = (self._rank(value, strict=True) + self._rank(value, strict=False)) / 2
        return np.where(count > 0, hits / np.maximum(count, 1), np.nan)

    def _rank(self, value: np.ndarray, *, strict: bool) -> np.ndarray:
        """Count the replicates below ``value`` (or not above it), by bisection."""
        low = np.zeros(value.shape, np.intp)
        high = np.array(np.broadcast_to(self.count, value.shape))
        for _ in range(int(self.ordered.shape[-1]).bit_length()):
            middle = np.minimum((low + high) // 2, self.ordered.shape[-1] - 1)
            at = np.take_along_axis(self.ordered, middle[..., None], axis=-1)[..., 0]
            going = (at < value) if strict else (at <= value)
            going &= low < high
            low = np.where(going, middle + 1, low)
            high = np.where(going, high, np.maximum(middle, low))
        return low

    @property
    def mean(self) -> np.ndarray:
        """Means of the defined replicates."""
        count = self.count
        return np.nansum(self.ordered, axis=-1, dtype=np.float64) / np.where(count > 0, count, np.nan)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations of the defined replicates."""
        apart = self.ordered - self.mean[..., None].astype(self.ordered.dtype)
        squares = np.nansum(apart * apart, axis=-1, dtype=np.float64)
        return np.sqrt(squares / np.where(self.count > 1, self.count - 1, np.nan))


@dataclasses.dataclass(frozen=True, eq=False)
class Around(Rows):
    """Distributions ``offset`` (...) + ``apart``: differences may be in float32 where values are not."""

    offset: np.ndarray
    apart: Drawn

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the linear quantile."""
        return self.offset + self.apart.quantile(p)

    def share_below(self, value: ArrayLike) -> np.ndarray:
        """Return the share below ``value``, ties half."""
        return self.apart.share_below(np.asarray(value) - self.offset)

    @property
    def mean(self) -> np.ndarray:
        """Means of the defined replicates."""
        return self.offset + self.apart.mean

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations of the defined replicates."""
        return self.apart.deviation


@dataclasses.dataclass(frozen=True, eq=False)
class Lawful(Rows):
    """Exact distributions that share one law over the ranks of sorted values (..., n).

    ``cumulative`` (n,) is the probability of drawing a rank not above each.
    """

    values: np.ndarray
    cumulative: np.ndarray

    @property
    def probabilities(self) -> np.ndarray:
        """Probability of each rank (n,)."""
        return np.diff(self.cumulative, prepend=0.0)

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the smallest value whose distribution function reaches p."""
        p = np.broadcast_to(np.asarray(p, float), self.values.shape[:-1])
        rank = np.minimum(np.searchsorted(self.cumulative, p - 1e-14), self.values.shape[-1] - 1)
        found = np.take_along_axis(self.values, rank[..., None], axis=-1)[..., 0]
        return np.where(np.isnan(p), np.nan, found)

    def share_below(self, value: ArrayLike) -> np.ndarray:
        """Return the probability below ``value``, ties half."""
        value = np.asarray(value)[..., None]
        return ((self.values < value) + 0.5 * (self.values == value)) @ self.probabilities

    @property
    def mean(self) -> np.ndarray:
        """Means."""
        return self.values @ self.probabilities

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt((self.values - self.mean[..., None]) ** 2 @ self.probabilities)
