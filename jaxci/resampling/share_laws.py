"""Bootstrap distributions and posteriors of a share: binomial and beta laws."""

from __future__ import annotations

from typing import Any

from jaxci.records import record
from jaxci.resampling.laws import BootstrapDistribution
from jaxci.special import betainc, betaincc, betaincinv, loop, namespace


def binomial_through(k: Any, n: Any, p: Any) -> Any:
    """Return ``P(X <= k)`` for whole numbers k, ``X ~ Binomial(n, p)``."""
    xp = namespace(k, n, p)
    inside = (k >= 0) & (k < n)
    at = xp.where(inside, k, 0.0)
    return xp.where(inside, betaincc(at + 1, xp.maximum(n - at, 1), p), xp.where(k < 0, 0.0, 1.0))


@record
class BinomialLaw(BootstrapDistribution):
    """Laws of ``X / nobs`` with ``X ~ Binomial(nobs, count / nobs)``: no error at all."""

    count: Any
    nobs: Any

    @property
    def mean(self) -> Any:
        """Means."""
        return 1.0 * self.count / self.nobs

    @property
    def standard_error(self) -> Any:
        """Standard deviations."""
        return namespace(self.count).sqrt(self.mean * (1 - self.mean) / self.nobs)

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp = namespace(self.count, value)
        at = xp.clip(value, -1.0, 2.0) * self.nobs
        whole = xp.round(at)
        tied = xp.abs(at - whole) < 1e-9 * xp.maximum(1.0, self.nobs)
        below = binomial_through(xp.where(tied, whole - 1, xp.floor(at)), self.nobs, self.mean)
        return below, binomial_through(xp.where(tied, whole, xp.floor(at)), self.nobs, self.mean)

    def quantile(self, p: Any) -> Any:
        """Return the smallest proportion whose distribution function reaches ``p``."""
        xp = namespace(self.count, p)
        p = xp.asarray(p) + 0.0 * self.count
        reach = 40 * xp.sqrt(self.nobs * self.mean * (1 - self.mean)) + 40
        low = xp.maximum(xp.floor(self.count - reach), 0.0) + 0.0 * p
        high = xp.minimum(xp.ceil(self.count + reach), self.nobs) + 0.0 * p

        def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
            low, high = state
            middle = xp.floor((low + high) / 2)
            reached = binomial_through(middle, self.nobs, self.mean) >= p - 1e-14
            low, high = xp.where(reached, low, middle + 1), xp.where(reached, middle, high)
            return xp.minimum(low, high), high

        return (loop(xp, lambda state: xp.any(state[0] < state[1]), step, (low, high))[0] / self.nobs)[()]


@record
class BetaLaw(BootstrapDistribution):
    """Laws of a proportion with a mass of ``mass`` unseen successes and as many failures: Beta."""

    count: Any
    nobs: Any
    mass: Any

    @property
    def _shapes(self) -> tuple[Any, Any]:
        return self.count + self.mass, self.nobs - self.count + self.mass

    @property
    def mean(self) -> Any:
        """Means."""
        return (self.count + self.mass) / (self.nobs + 2 * self.mass)

    @property
    def standard_error(self) -> Any:
        """Standard deviations."""
        return namespace(self.count).sqrt(self.mean * (1 - self.mean) / (self.nobs + 2 * self.mass + 1))

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        found = betainc(*self._shapes, namespace(self.count, value).clip(value, 0.0, 1.0))
        return found, found

    def quantile(self, p: Any) -> Any:
        """Return the quantile."""
        xp = namespace(self.count, p)
        found = betaincinv(*self._shapes, xp.clip(xp.where(xp.isnan(p), 0.5, p), 0.0, 1.0))
        return xp.where(xp.isnan(p), xp.nan, found)[()]
