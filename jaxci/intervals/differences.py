"""Differences of two estimates: from their own intervals (variance estimates recovered), or from a standard error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special


class Ends(NamedTuple):
    """Estimates (...) with the ends of their intervals."""

    estimate: Any
    low: Any
    high: Any

    def at(self, which: Any) -> Ends:
        """Return those of some numbers."""
        return Ends(*(x[which] for x in self))


class Difference(NamedTuple):
    """Differences (...), their intervals, and how many standard errors they are from 0."""

    estimate: Any
    low: Any
    high: Any
    z: Any

    @property
    def pvalue(self) -> Any:
        """Two-sided p-value: below alpha where, and only where, the interval at 1 - alpha leaves 0 out."""
        return 2 * special.ndtr(-np.abs(self.z))


def recovered(a: Ends, b: Ends, correlation: Any, level: float, wider: float = 1.0) -> Difference:
    """Return ``a - b`` with the interval that follows from those of a and b at ``level`` (Zou 2007, eq. 3 and 4).

    The margins of a and b towards the end of the difference recover their variances there:

    ``D - sqrt(l^2 + u^2 - 2 r l u)``, l the margin of a below and u that of b above its estimate; above with those on
    the other sides.

    Parameters
    ----------
    a, b : Ends
        Two-sided intervals at ``level``, (...) each.
    correlation : float or (...) array
        Of the two estimates; 0 for independent samples.
    level : float
    wider : float
        Factor of all margins, for intervals that hold together: the ratio of critical values.

    Returns
    -------
    Difference
        NaN where an interval does not exist. ``z`` is the difference over its margin towards 0, in standard errors.
    """
    apart = a.estimate - b.estimate

    def margin(one: Any, other: Any) -> Any:
        return np.sqrt(np.maximum(one * one + other * other - 2 * correlation * one * other, 0.0))

    with np.errstate(invalid="ignore", over="ignore"):
        below = margin(a.estimate - a.low, b.high - b.estimate)
        above = margin(a.high - a.estimate, b.estimate - b.low)
    z = _over(float(special.ndtri((1 + level) / 2)) * apart, np.where(apart > 0, below, above))
    return Difference(apart, apart - wider * below, apart + wider * above, z)


def studentized(a: Any, b: Any, error: Any, df: float, level: float) -> Difference:
    """Return ``a - b`` with the t interval of its standard error; ``z`` has the t statistic's p-value."""
    apart = a - b
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    z = -special.ndtri(special.stdtr(df, -np.abs(_over(apart, error))))
    return Difference(apart, apart - half, apart + half, np.copysign(z, apart))


def _over(apart: Any, error: Any) -> Any:
    """Return ``apart / error``: infinite where the error alone is 0, and 0 where both are; NaN where one is unknown."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((apart == 0) & (error == 0), 0.0, np.divide(apart, error))[()]
