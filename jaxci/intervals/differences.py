"""Differences of two estimates: from their own intervals (variance estimates recovered), or from a standard error."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy import special


class Ends(NamedTuple):
    """An estimate with the ends of its interval."""

    estimate: float
    low: float
    high: float


class Difference(NamedTuple):
    """A difference, its interval, and how many standard errors it is from 0."""

    estimate: float
    low: float
    high: float
    z: float

    @property
    def pvalue(self) -> float:
        """Two-sided p-value: below alpha where, and only where, the interval at 1 - alpha leaves 0 out."""
        return float(2 * special.ndtr(-abs(self.z)))


def recovered(a: Ends, b: Ends, correlation: float, level: float, wider: float = 1.0) -> Difference:
    """Return ``a - b`` with the interval that follows from those of a and b at ``level`` (Zou 2007, eq. 3 and 4).

    The margins of a and b towards the end of the difference recover their variances there:

    ``D - sqrt(l^2 + u^2 - 2 r l u)``, l the margin of a below and u that of b above its estimate; above with those on
    the other sides.

    Parameters
    ----------
    a, b : Ends
        Two-sided intervals at ``level``.
    correlation : float
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

    def margin(one: float, other: float) -> float:
        return math.sqrt(max(one * one + other * other - 2 * correlation * one * other, 0.0))

    below = margin(a.estimate - a.low, b.high - b.estimate)
    above = margin(a.high - a.estimate, b.estimate - b.low)
    towards = below if apart > 0 else above
    critical = float(special.ndtri((1 + level) / 2))
    if math.isnan(towards):
        z = math.nan
    elif towards == 0:
        z = 0.0 if apart == 0 else math.copysign(math.inf, apart)
    else:
        z = critical * apart / towards
    return Difference(apart, apart - wider * below, apart + wider * above, z)


def studentized(a: float, b: float, error: float, df: float, level: float, wider: float = 1.0) -> Difference:
    """Return ``a - b`` with the t interval of its standard error; ``z`` has the t statistic's p-value."""
    apart = a - b
    half = wider * float(special.stdtrit(df, (1 + level) / 2)) * error
    if math.isnan(apart) or math.isnan(error):
        return Difference(apart, math.nan, math.nan, math.nan)
    if error == 0:
        return Difference(apart, apart, apart, 0.0 if apart == 0 else math.copysign(math.inf, apart))
    z = -float(special.ndtri(special.stdtr(df, -abs(apart) / error)))
    return Difference(apart, apart - half, apart + half, math.copysign(z, apart))
