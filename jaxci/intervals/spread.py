"""Intervals for a standard deviation or a variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import power_of_variance
from jaxci.intervals.cards import ROUNDING
from jaxci.intervals.delta import width_remarks
from jaxci.records import record
from jaxci.special import namespace
from jaxci.statistics.base import Statistic

LEAST = 5
"""Fewest values: the trimmed mean of Bonett's kurtosis needs more than four."""


def bonett(values: Any, tails: Tails) -> Bounds:
    """Bonett's interval of a standard deviation, ``exp((log(c s^2) +- z c sqrt((k - (n - 3) / n) / (n - 1))) / 2)``.

    ``c = n / (n - z)``, s the standard deviation (divisor n - 1), and ``k = n sum (x - m)^4 / (sum (x - mean)^2)^2``
    the kurtosis about the mean m of all but the ``floor(n / (2 sqrt(n - 4)))`` smallest and largest values, which
    skewness and outliers bias less than that about the mean.

    Parameters
    ----------
    values : (..., n) array
        Ascending along the last axis, n at least 5.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : (...) arrays
        Bounds in the unit of the values; 0 where these do not vary.

    Notes
    -----
    Asymptotic, independent rows with a finite fourth moment. Coverage of 95% intervals at n = 10, 30, 100: normal .96,
    .95, .94; exponential .88, .88, .92; Student t with 5 df .94, .90, .92; too low for longer tails.

    References
    ----------
    .. [1] Bonett (2006), Approximate confidence interval for standard deviation of nonnormal distributions,
       Computational Statistics & Data Analysis 50, 775-782.
    """
    xp, n = namespace(values), values.shape[-1]
    cut = int(n / (2 * np.sqrt(n - 4)))
    apart = values - xp.mean(values, axis=-1, keepdims=True)
    widest = xp.max(xp.abs(apart), axis=-1, keepdims=True)
    varies = widest > ROUNDING * xp.max(xp.abs(values), axis=-1, keepdims=True)
    apart = xp.where(varies, apart / xp.where(varies, widest, 1.0), 0.0)
    squares = xp.sum(apart**2, axis=-1)
    divisor = xp.where(squares > 0, squares, 1.0)
    middle = xp.mean(apart[..., cut : n - cut], axis=-1, keepdims=True)
    kurtosis = xp.where(squares > 0, n * xp.sum((apart - middle) ** 4, axis=-1) / divisor**2, 1.0)

    def end(z: Any) -> Any:
        c = n / (n - abs(z))
        error = c * xp.sqrt((kurtosis - (n - 3) / n) / (n - 1))
        return xp.sqrt(c * squares / (n - 1)) * xp.exp(z * error / 2) * widest[..., 0]

    down, up = normal_steps(tails)
    return open_sides(end(-down), end(up), tails, (0.0, np.inf))


@record
class Bonett(Method):
    """Bonett's interval of a standard deviation or a variance; see :func:`bonett`."""

    name = "bonett"
    needs = frozenset({"values", "standard_error"})
    takes = frozenset()

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a variance or its root."""
        if power_of_variance(statistic) is not None:
            return None
        return f"{self.name!r} needs a standard deviation or a variance; {type(statistic).__name__} is neither"

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Refuse too few values."""
        if n < LEAST:
            raise NoInterval(f"values must be one row of at least {LEAST} numbers; got shape ({n},)")
        if max(normal_steps(tails)) >= n:
            raise NoInterval(
                f"confidence_level is too high for {self.name!r} at n = {n}, which must exceed its quantile"
            )
        return ()

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.values``."""
        power = power_of_variance(evidence.statistic)
        assert power is not None
        return Bounds(*(end ** (2 * power) for end in bonett(evidence.values, tails)))

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width."""
        return width_remarks(bounds, self.name, evidence.statistic)
