"""The semiparametric bootstrap of quantiles: ends beyond the extremes of the sample (Hutson 2002)."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.intervals.base import Bounds, Evidence, NoInterval, Tails
from jaxci.intervals.order_laws import TailedEnd, sample_rank, semiparametric_level
from jaxci.intervals.quantile import QuantileMethod, drawing_key
from jaxci.records import record, static
from jaxci.special import betaincinv, namespace


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
        xp = namespace(extreme)
        from_low, from_high = extreme - self.lowest, self.highest - extreme
        scaled = _log_ratio(from_low, inner - self.lowest) - _log_ratio(from_high, self.highest - inner)
        factor = xp.exp(slope * scaled)  # the odds of the position in the range grow by this factor
        if math.isinf(self.highest):
            return self.lowest + from_low * factor
        if math.isinf(self.lowest):
            return self.highest - from_high / factor
        moved = (self.lowest * from_high + self.highest * from_low * factor) / (from_high + from_low * factor)
        at_end = (from_low <= 0) | (from_high <= 0) | (extreme == inner)
        return xp.where(at_end, extreme, moved)


def _log_ratio(extreme: Any, inner: Any) -> Any:
    """Log of the ratio of two distances from a bound; 0 from a bound at infinity."""
    xp = namespace(extreme)
    return xp.where(xp.isinf(extreme), 0.0, xp.log(extreme) - xp.log(inner))


class ClosedForm(TailedMethod):
    """Both ends at the Beta quantiles of the tails (Hutson 2002): the bootstrap without its resamples."""

    def places(self, n: int, q: float, tails: Tails) -> Any:
        """Return both ends at the quantiles of the tails."""
        levels = [p if 0 < p < 1 else 0.5 for p in (tails.sides[0], 1 - tails.sides[1])]
        return tuple(TailedEnd.at(semiparametric_level(n, q, p), n) for p in levels)

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

    def places(self, n: int, q: float, tails: Tails) -> tuple[float, float]:
        """Return the parameters of the levels' Beta law."""
        rank = sample_rank(n, q)
        return float(rank), float(n - rank + 1)

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return quantiles of ``Q_T`` at drawn levels."""
        with jax.enable_x64(True):
            drawn = namespace(ordered).asarray(_uniforms(evidence.uniform, self.n_resamples))
        xp = namespace(ordered)
        positions = xp.asarray([tails.lower, 1 - tails.upper]) * (self.n_resamples - 1)
        i = xp.clip(xp.floor(positions), 0, self.n_resamples - 2).astype(np.int32)
        a, b = places
        levels = betaincinv(a, b, drawn[xp.stack([i, i + 1])])
        left, right = ([self.end(ordered, TailedEnd.at(v, ordered.shape[-1])) for v in of] for of in levels)
        low, high = (left[side] + (positions[side] - i[side]) * (right[side] - left[side]) for side in (0, 1))
        return low, high
