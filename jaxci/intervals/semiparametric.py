"""The semiparametric bootstrap of quantiles: ends beyond the extremes of the sample (Hutson 2002)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import check_count
from jaxci.intervals.base import Bounds, Evidence, NoInterval, Tails
from jaxci.intervals.capabilities import quantile_order
from jaxci.intervals.order_laws import TailedEnd
from jaxci.intervals.quantile import QuantileMethod, drawing_key, smallest_n
from jaxci.records import record, static
from jaxci.special import namespace

MEASURED = {
    0.90: ((0.1, 2, 78), (0.5, 37, 95), (math.inf, 58, 92)),
    0.95: ((0.1, 3, 89), (0.5, 57, 98), (math.inf, 70, 96)),
    0.99: ((0.1, 11, 100), (0.5, 70, 99), (math.inf, 76, 99)),
}
"""By level: least and greatest coverage (%) of two-sided intervals, closed form, at sample sizes of 2 to 50 that
are too small for a pair of order statistics, where up to so many values are expected beyond the quantile. Nine laws,
``benchmarks/quantile_few_runs.py``."""


def _few_runs(n: int, q: float, level: float, least: int) -> str:
    """Say what is known of the interval at a sample size where no exact one exists."""
    nearest = min(MEASURED, key=lambda measured: abs(measured - level))
    beyond = (n + 1) * min(q, 1 - q)
    most, low, high = next(band for band in MEASURED[nearest] if beyond < band[0])
    where = "" if math.isinf(most) else f" with fewer than {most:g} values expected beyond the quantile"
    return (
        f"q = {q:g}: the semiparametric interval may cover less than its level at n = {n} (an exact one needs n >= "
        f"{least}): where there is none, {100 * nearest:g}% intervals covered {low}% to {high}% in simulations{where}"
    )


class TailedMethod(QuantileMethod):
    """An interval with ends ``Q_T(v)``: extrapolated beyond the extremes of the sample (eq. 11).

    With ``outside="transform"`` that is done on a scale on which ``lowest`` and ``highest`` are infinite
    (logit, or log for one of them), so that no end leaves the range, and there is no interval for values outside it;
    ``"clip"`` cuts ends off there.
    """

    outside: str
    lowest: float
    highest: float

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2: two values to extrapolate from."""
        return None if q in (0, 1) else 2

    def interval(self, evidence: Evidence, tails: Tails) -> tuple[Bounds, tuple[str, ...]]:
        """Return bounds and remarks, one of them where no pair of order statistics reaches the level."""
        bounds, remarks = super().interval(evidence, tails)
        q = quantile_order(evidence.statistic)
        assert q is not None
        least = smallest_n(q, tails)
        if least is None or evidence.n >= least:
            return bounds, remarks
        return bounds, (*remarks, _few_runs(evidence.n, q, 1 - tails.lower - tails.upper, least))

    def end(self, ordered: Any, end: TailedEnd) -> Any:
        """Return one end (...) for ascending values (..., n), within the range."""
        xp = namespace(ordered)
        inner = xp.where(end.side < 0, ordered[..., 1], ordered[..., -2])
        extreme = xp.where(end.side < 0, ordered[..., 0], ordered[..., -1])
        beyond = self._beyond(extreme, inner, xp.abs(end.slope))
        found = xp.clip(xp.where(end.side == 0, end.place.of(ordered), beyond), self.lowest, self.highest)
        if self.outside == "clip":
            return found
        return xp.where((ordered[..., 0] >= self.lowest) & (ordered[..., -1] <= self.highest), found, xp.nan)

    def _beyond(self, extreme: Any, inner: Any, slope: Any) -> Any:
        if self.outside == "clip" or (math.isinf(self.lowest) and math.isinf(self.highest)):
            return extreme + (extreme - inner) * slope
        # All in halves: a range of numbers may be none. Steps are from the extreme, which may be tiny in the range.
        xp, low, high, step = namespace(extreme), self.lowest / 2, self.highest / 2, extreme / 2 - inner / 2
        from_low, from_high = extreme / 2 - low, high - extreme / 2
        grown = xp.log1p(step / (inner / 2 - low)) - xp.log1p(-step / (high - inner / 2))
        grown = slope * grown  # of the log odds of the position in the range
        if math.isinf(self.highest):
            moved = from_low * xp.expm1(grown)
        elif math.isinf(self.lowest):
            moved = -from_high * xp.expm1(-grown)
        else:
            ahead, behind = xp.where(grown > 0, from_high, from_low), xp.where(grown > 0, from_low, from_high)
            size = -xp.expm1(-xp.abs(grown)) / (1 + ahead / behind * xp.exp(-xp.abs(grown)))
            moved = xp.sign(grown) * ahead * size
            moved = xp.where((from_low <= 0) | (from_high <= 0) | (extreme == inner), 0.0, moved)
        return extreme + moved + moved


class ClosedForm(TailedMethod):
    """Both ends at the Beta quantiles of the tails (Hutson 2002): the bootstrap without its resamples.

    The quantile of a resample is that at the real rank (n + 1) q, whose law is Beta((n + 1) q, (n + 1) (1 - q))
    (Hutson 1999). The interval for the mirrored values at 1 - q is the mirrored interval.
    """

    def places(self, n: int, q: float, tails: Tails) -> Any:
        """Return both ends at the quantiles of the tails; a side that is open has the median."""
        lower, upper = (tail if tail > 0 else 0.5 for tail in tails.sides)
        return TailedEnd.at(n, q, lower, 1 - lower), TailedEnd.at(n, q, 1 - upper, upper)

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return Q_T at both ends."""
        low, high = (self.end(ordered, place) for place in places)
        return low, high


@record
class Semiparametric(ClosedForm):
    """Percentile interval of the semiparametric bootstrap, in closed form (Hutson 2002)."""

    outside: str = static(default="clip")
    lowest: float = static(default=-math.inf)
    highest: float = static(default=math.inf)

    name = "semiparametric"


@record
class SemiparametricTransformed(ClosedForm):
    """Semiparametric interval for values in [0, 1], extrapolated on the logit scale; none for other values."""

    outside: str = static(default="transform")
    lowest: float = static(default=0.0)
    highest: float = static(default=1.0)

    name = "semiparametric_transformed"

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Refuse values outside [0, 1]."""
        if np.min(evidence.values) < self.lowest or np.max(evidence.values) > self.highest:
            raise NoInterval(f"method {self.name!r} is for values in [0, 1]; use 'semiparametric'")
        return ()


@functools.partial(jax.jit, static_argnames="n_resamples")
def _uniforms(uniform: Any, n_resamples: int) -> jax.Array:
    return jnp.sort(jax.random.uniform(drawing_key(uniform), (n_resamples,)))


@record
class SemiparametricResampled(TailedMethod):
    """The semiparametric bootstrap with drawn resamples, as Lehmann and Paromau (2025) have it (B = 2,000).

    A stack of data sets shares one bank of levels: that of the first.
    """

    outside: str = static(default="clip")
    lowest: float = static(default=-math.inf)
    highest: float = static(default=math.inf)
    n_resamples: int = static(default=2_000)

    name = "semiparametric_resampled"
    needs = frozenset({"values", "uniform"})

    @property
    def own_resamples(self) -> int:
        """How many resamples it draws."""
        return self.n_resamples

    def with_resamples(self, n_resamples: int) -> SemiparametricResampled:
        """Return the method with so many resamples, at least 2."""
        return dataclasses.replace(self, n_resamples=check_count("n_resamples", n_resamples, 2))

    def places(self, n: int, q: float, tails: Tails) -> float:
        """Return the probability of the quantile, whose level is drawn."""
        return q

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return quantiles of ``Q_T`` at drawn levels."""
        with jax.enable_x64(True):
            drawn = namespace(ordered).asarray(_uniforms(evidence.uniform, self.n_resamples))
        xp = namespace(ordered)
        positions = xp.asarray([tails.lower, 1 - tails.upper]) * (self.n_resamples - 1)
        i = xp.clip(xp.floor(positions), 0, self.n_resamples - 2).astype(np.int32)
        left, right = (
            [self.end(ordered, TailedEnd.at(ordered.shape[-1], places, p, 1 - p)) for p in of]
            for of in drawn[xp.stack([i, i + 1])]
        )
        low, high = (left[side] + (positions[side] - i[side]) * (right[side] - left[side]) for side in (0, 1))
        return low, high
