"""The bootstrap distribution of a proportion: binomial."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import special


@dataclasses.dataclass(frozen=True)
class ProportionDistribution:
    """Law of ``X / nobs`` with ``X ~ Binomial(nobs, count / nobs)``: no error at all."""

    count: float
    nobs: float

    error_bound = 0.0

    @property
    def mean(self) -> float:
        """Mean of the law."""
        return self.count / self.nobs

    @property
    def standard_error(self) -> float:
        """Standard deviation of the law."""
        return math.sqrt(self.mean * (1 - self.mean) / self.nobs)

    def cdf(self, x: float) -> float:
        """Return ``P(X/n < x) + P(X/n = x) / 2``."""
        at = x * self.nobs
        whole = round(at)
        if abs(at - whole) < 1e-9 * max(1.0, self.nobs):
            return (self._below(whole) + self._below(whole - 1)) / 2
        return self._below(math.floor(at))

    def _below(self, k: float) -> float:
        if k < 0:
            return 0.0
        return 1.0 if k >= self.nobs else float(special.bdtr(k, int(self.nobs), self.mean))

    def quantile(self, p: float) -> float:
        """Return the smallest proportion whose distribution function reaches ``p``."""
        spread = 40 * math.sqrt(self.nobs * self.mean * (1 - self.mean)) + 40
        centre = self.count
        low, high = max(0, math.floor(centre - spread)), min(int(self.nobs), math.ceil(centre + spread))
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._below(middle) >= p - 1e-14 else (middle + 1, high)
        return float(np.clip(low, 0, self.nobs)) / self.nobs
