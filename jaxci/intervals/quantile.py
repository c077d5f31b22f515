"""Intervals for quantiles from order statistics: exact, interpolated, asymptotic, semiparametric, normal."""

from __future__ import annotations

import abc
import bisect
import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.bootstrap import open_ends
from jaxci.intervals.order_laws import (
    TailedEnd,
    asymptotic_positions,
    interpolated_quantile,
    nyblom_upper,
    randomized_ranks,
    sample_rank,
    semiparametric_level,
    unit,
)
from jaxci.records import record, static
from jaxci.resampling.bank import Bootstrap
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import QuantileStatistic


def smallest_n(q: float, tails: Tails) -> int | None:
    """Return the smallest n at which some pair of order statistics reaches the level; None where none does.

    Two-sided: ``q**n + (1 - q)**n <= alpha``; one-sided, the one term that applies. The sum lies
    between its greater term and twice that, which brackets n.
    """
    if tails.lower > 0 and tails.upper > 0:
        alpha, greater = tails.lower + tails.upper, max(q, 1 - q)
        if greater == 1:
            return None
        low, high = (max(2, math.ceil(math.log(share) / math.log(greater) - 1e-12)) for share in (alpha, alpha / 2))
        return low + bisect.bisect_left(range(low, high), True, key=lambda n: q**n + (1 - q) ** n <= alpha)
    base = 1 - q if tails.lower > 0 else q
    if base in (0, 1):
        return None if base else 1
    return max(1, math.ceil(math.log(max(tails)) / math.log(base) - 1e-12))


def needs_rows(n: int | None) -> str:
    """Say what :func:`smallest_n` found, after "the interval"."""
    return "exists at no n" if n is None else f"needs n >= {n}"


def order_statistic_ranks(n: int, q: float, tails: Tails) -> tuple[int, int] | None:
    """Return 1-based ranks (k, l) of the shortest conservative interval, or None below :func:`smallest_n`.

    The interval [X(k), X(l)] covers with probability ``sum_{s=k}^{l-1} C(n, s) q^s (1-q)^(n-s)``.
    Among intervals of least length l - k the one with the most equal tails, then the lowest.
    A one-sided bound has rank 0 or n + 1 on its open side.
    """
    spread = 12 * math.sqrt(n * q * (1 - q)) + 12
    first = max(0, math.floor(n * q - spread))
    last = min(n, math.ceil(n * q + spread))
    s = np.arange(first, last + 1)
    # below[i] = P(fewer than s[i] observations lie below the quantile)
    below = np.where(s > 0, special.bdtr(np.maximum(s - 1, 0), n, q), 0.0)
    slack = 1e-12
    if tails.lower == 0:
        reach = s[(below >= 1 - tails.upper - slack) & (s >= 1)]
        return (0, int(reach[0])) if reach.size else None
    if tails.upper == 0:
        reach = s[(below <= tails.lower + slack) & (s >= 1)]
        return (int(reach[-1]), n + 1) if reach.size else None
    level = 1 - tails.lower - tails.upper
    k = np.arange(max(1, first), last)
    at = below[k - first]
    # The smallest l for each k: below[l] >= level + below[k].
    place = np.searchsorted(below, level + at - slack)
    found = place < len(s)
    if not found.any():
        return None
    k, at, place = k[found], at[found], place[found]
    length = s[place] - k
    shortest = length == length.min()
    imbalance = np.abs((1 - below[place]) - at)
    best = np.flatnonzero(shortest)[np.argmin(imbalance[shortest].round(14))]
    return int(k[best]), int(s[place[best]])


@jax.jit
def _linear(values: jax.Array, coefficients: jax.Array) -> jax.Array:
    """Return (..., m) for sorted ``values`` (..., n) and ``coefficients`` (m, n)."""
    # Differences from the median of the sample: an end must not lose digits to the size of the values.
    middle = values[..., values.shape[-1] // 2 : values.shape[-1] // 2 + 1]
    return (values - middle) @ coefficients.T + middle * coefficients.sum(axis=1)


def _sorted(evidence: Evidence) -> jax.Array:
    assert evidence.values is not None
    return jnp.sort(jnp.asarray(evidence.values), axis=-1)


def linear_ends(values: jax.Array, coefficients: Sequence[np.ndarray]) -> np.ndarray:
    """Return linear functions (..., m) of sorted values (..., n) in double precision."""
    return np.asarray(_linear(values, jnp.asarray(np.stack(coefficients))))


class QuantileMethod(Method):
    """An interval for a quantile whose ends are fixed functions of the order statistics.

    Assumes i.i.d. observations of a continuous law; reads data sets one at a time or in stacks.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"values"})
    assumes_iid: ClassVar[bool] = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse everything but the median and quantiles."""
        if isinstance(statistic, QuantileStatistic):
            return None
        return f"{self.name!r} is for the median and quantiles only"

    @abc.abstractmethod
    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends (...) for sorted ``values`` (..., n); raise ``ValueError`` where there is no interval."""

    @abc.abstractmethod
    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which the interval exists; None where it does at none."""

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return both ends; an open side is the end of the estimand's range."""
        assert evidence.values is not None
        q, n = float(evidence.statistic.q), evidence.values.shape[-1]  # type: ignore[attr-defined]
        least = self.least_n(q, tails)
        if least is None or n < least:
            raise ValueError(
                f"method {self.name!r} for q = {q:g} {needs_rows(least)} at this level; got n = {n}; {self.instead}"
            )
        with jax.enable_x64(True):
            low, high = self.ends(_sorted(evidence), q, tails, evidence)
        return open_ends(low, high, evidence, tails)

    instead: ClassVar[str] = "use 'exact' or 'percentile'"


@record
class OrderStatistic(QuantileMethod):
    """Interval between two order statistics; covers at least the level at every n.

    Reference: Lehmann and Paromau (2025), eq. 7; the shortest conservative single interval.
    """

    name = "order_statistic"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n (eq. 8)."""
        return smallest_n(q, tails)

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return X(k) and X(l)."""
        n = values.shape[-1]
        ranks = order_statistic_ranks(n, q, tails)
        assert ranks is not None
        return _at_ranks(values, *ranks)


@jax.jit
def _picked(values: jax.Array, k: jax.Array, l: jax.Array) -> tuple[jax.Array, jax.Array]:
    n = values.shape[-1]
    places = [jnp.broadcast_to(jnp.clip(rank, 1, n) - 1, values.shape[:-1]) for rank in (k, l)]
    low, high = (jnp.take_along_axis(values, place[..., None], axis=-1)[..., 0] for place in places)
    return low, high


def _at_ranks(values: jax.Array, k: Any, l: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return X(k) and X(l) (...) of sorted values (..., n); a rank off the sample gives its extreme."""
    low, high = _picked(values, jnp.asarray(k), jnp.asarray(l))
    return np.asarray(low), np.asarray(high)


@record
class ExactRandomized(QuantileMethod):
    """Randomized interval between order statistics: exactly the level, least expected length.

    One of two intervals, drawn with fixed probabilities (Zielinski and Zielinski 2005; Lehmann and
    Paromau 2025, section 3.4).
    """

    name = "exact_randomized"
    needs: ClassVar[frozenset[str]] = frozenset({"values", "uniform"})

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n (eq. 8)."""
        return smallest_n(q, tails)

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the interval that ``evidence.uniform`` (...) picks."""
        found = randomized_ranks(values.shape[-1], q, tails)
        assert found is not None
        first = np.asarray(evidence.uniform) < found.probabilities[0]
        (k1, l1), (k2, l2) = found.ranks
        return _at_ranks(values, np.where(first, k1, k2), np.where(first, l1, l2))


@record
class Interpolated(QuantileMethod):
    """Ends interpolated between order statistics to the level asked for, without randomness.

    Reference: Nyblom (1992); for the median, Hettmansperger and Sheather (1986). Approximate.
    """

    name = "interpolated"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which the extremes reach both tails."""
        if q in (0, 1):
            return None
        bases = [base for base, tail in ((q, tails.upper), (1 - q, tails.lower)) if tail > 0]
        tail = max(tails.lower, tails.upper) if 0 in tails else min(tails)
        return max(2, max(math.ceil(math.log(tail) / math.log(base) - 1e-12) for base in bases))

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends; the lower one is the upper one of the mirrored sample."""
        n = values.shape[-1]
        high = nyblom_upper(n, q, tails.upper) if tails.upper else unit(n, n)
        low = nyblom_upper(n, 1 - q, tails.lower) if tails.lower else unit(n, n)
        assert low is not None
        assert high is not None
        found = linear_ends(values, [low[::-1], high])
        return found[..., 0], found[..., 1]


@record
class Asymptotic(QuantileMethod):
    """Order statistics at ranks ``n (q -+ z sqrt(q (1 - q) / n))``, interpolated (Lehmann and Paromau 2025, eq. 10)."""

    name = "asymptotic"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which both ranks lie in the sample (Table 2)."""
        return least_asymptotic_n(q, tails)

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return Q_L at k/n and l/n."""
        n = values.shape[-1]
        positions = asymptotic_positions(n, q, tails)
        if positions is None:
            raise ValueError(f"method 'asymptotic' for q = {q:g}: a rank lies outside the sample at n = {n}")
        found = linear_ends(values, [interpolated_quantile(rank / n, n) for rank in positions])
        return found[..., 0], found[..., 1]


def least_asymptotic_n(q: float, tails: Tails) -> int | None:
    """Return the smallest n at which eq. 10 gives ranks in [1, n] (Table 2)."""
    if not 0 < q < 1:
        return None
    n, step = 1, 1
    while asymptotic_positions(n, q, tails) is None:
        n, step = n + step, 2 * step
    above = n
    below = max(1, n - step // 2)
    while below < above:  # both conditions are monotone in n
        middle = (below + above) // 2
        below, above = (below, middle) if asymptotic_positions(middle, q, tails) else (middle + 1, above)
    return above


class TailedMethod(QuantileMethod):
    """An interval with ends ``Q_T(v)``: extrapolated beyond the extremes of the sample (eq. 11).

    With ``outside="transform"`` that is done on a scale on which ``lowest`` and ``highest`` are infinite
    (logit, or log for one of them), so that no end leaves the range; ``"clip"`` cuts ends off there.
    """

    outside: str
    lowest: float
    highest: float

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2: two values to extrapolate from."""
        return None if q in (0, 1) else 2

    def closed_form(self, values: jax.Array, q: float, tails: Tails) -> tuple[np.ndarray, np.ndarray]:
        """Return Q_T at the Beta quantiles of both tails (Hutson 2002): the bootstrap without its resamples."""
        n = values.shape[-1]
        levels = [p if 0 < p < 1 else 0.5 for p in (tails.lower, 1 - tails.upper)]
        low, high = (self.end(values, TailedEnd.at(semiparametric_level(n, q, p), n)) for p in levels)
        return low, high

    def end(self, values: jax.Array, end: TailedEnd) -> np.ndarray:
        """Return one end (...) for sorted values (..., n), within the range."""
        if end.side == 0:
            found = linear_ends(values, [end.coefficients])[..., 0]
        else:
            inner, extreme = (values[..., 1], values[..., 0]) if end.side < 0 else (values[..., -2], values[..., -1])
            found = np.asarray(self._beyond(extreme, inner, abs(end.slope)))
        return np.clip(found, self.lowest, self.highest)

    def _beyond(self, extreme: jax.Array, inner: jax.Array, slope: float) -> jax.Array:
        if self.outside == "clip" or (math.isinf(self.lowest) and math.isinf(self.highest)):
            return extreme + (extreme - inner) * slope
        from_low, from_high = extreme - self.lowest, self.highest - extreme
        scaled = _log(from_low, inner - self.lowest) - _log(from_high, self.highest - inner)
        factor = jnp.exp(slope * scaled)  # the odds of the position in the range grow by this factor
        if math.isinf(self.highest):
            return self.lowest + from_low * factor
        if math.isinf(self.lowest):
            return self.highest - from_high / factor
        moved = (self.lowest * from_high + self.highest * from_low * factor) / (from_high + from_low * factor)
        at_end = (from_low <= 0) | (from_high <= 0) | (extreme == inner)
        return jnp.where(at_end, extreme, moved)


def _log(extreme: jax.Array, inner: jax.Array) -> jax.Array:
    """Log of the ratio of two distances from a bound; 0 from a bound at infinity."""
    return jnp.where(jnp.isinf(extreme), 0.0, jnp.log(extreme) - jnp.log(inner))


@record
class Semiparametric(TailedMethod):
    """Percentile interval of the semiparametric bootstrap, in closed form (Hutson 2002)."""

    outside: str = static(default="clip")
    lowest: float = static(default=-math.inf)
    highest: float = static(default=math.inf)

    name = "semiparametric"

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return Q_T at the Beta quantiles of both tails."""
        return self.closed_form(values, q, tails)


@record
class SemiparametricTransformed(TailedMethod):
    """Semiparametric interval for values in [0, 1], extrapolated on the logit scale."""

    outside: str = static(default="transform")
    lowest: float = static(default=0.0)
    highest: float = static(default=1.0)

    name = "semiparametric_transformed"

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return Q_T at the Beta quantiles of both tails."""
        fits = np.asarray((values[..., 0] >= self.lowest) & (values[..., -1] <= self.highest))
        if fits.ndim == 0 and not fits:
            raise ValueError(f"method {self.name!r} is for values in [0, 1]; use 'semiparametric'")
        low, high = self.closed_form(values, q, tails)
        return np.where(fits, low, np.nan), np.where(fits, high, np.nan)


@record
class SemiparametricResampled(TailedMethod):
    """The semiparametric bootstrap with drawn resamples, as Lehmann and Paromau (2025) have it (B = 2,000)."""

    outside: str = static(default="clip")
    lowest: float = static(default=-math.inf)
    highest: float = static(default=math.inf)
    n_resamples: int = static(default=2_000)

    name = "semiparametric_resampled"
    needs: ClassVar[frozenset[str]] = frozenset({"values", "uniform"})

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return quantiles of ``Q_T`` at drawn levels: one bank of levels for a stack."""
        n, rank = values.shape[-1], sample_rank(values.shape[-1], q)
        seed = int(np.ravel(evidence.uniform)[0] * 2**53)
        drawn = np.sort(np.random.default_rng(seed).beta(rank, n - rank + 1, self.n_resamples))
        found = []
        for p in (tails.lower, 1 - tails.upper):
            place = p * (self.n_resamples - 1)
            i = min(int(place), self.n_resamples - 2)
            left, right = (self.end(values, TailedEnd.at(float(drawn[j]), n)) for j in (i, i + 1))
            found.append(left + (place - i) * (right - left))
        return found[0], found[1]


@record
class NoncentralT(QuantileMethod):
    """Interval for a quantile of a normal law: exact if the values are normal.

    ``mean + s t / sqrt(n)`` at quantiles of a noncentral t law with n - 1 degrees of freedom and
    noncentrality ``z_q sqrt(n)`` (Hahn and Meeker 1991, section 4.4).
    """

    name = "noncentral_t"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2."""
        return None if q in (0, 1) else 2

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return mean plus multiples of the standard deviation."""
        n = values.shape[-1]
        found = np.asarray(_about_the_mean(values, jnp.asarray(noncentral_factors(n, q, tails))))
        return found[..., 0], found[..., 1]


@jax.jit
def _about_the_mean(values: jax.Array, factors: jax.Array) -> jax.Array:
    mean, deviation = values.mean(axis=-1, keepdims=True), values.std(axis=-1, ddof=1, keepdims=True)
    return mean + factors * deviation


@functools.lru_cache(maxsize=512)
def noncentral_factors(n: int, q: float, tails: Tails) -> tuple[float, float]:
    """Return the multiples of the standard deviation at which a normal quantile's interval ends."""
    centre = special.ndtri(q) * math.sqrt(n)
    low, high = (special.nctdtrit(n - 1, centre, p) if 0 < p < 1 else math.nan for p in (tails.lower, 1 - tails.upper))
    return float(low) / math.sqrt(n), float(high) / math.sqrt(n)


@record
class HarrellDavis(QuantileMethod):
    """Percentile bootstrap of the Harrell-Davis estimator, a smooth mean of order statistics (1982).

    A stack of data sets shares one bank of resamples.
    """

    n_resamples: int = static(default=2_000)

    name = "harrell_davis"
    needs: ClassVar[frozenset[str]] = frozenset({"values", "uniform"})

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2."""
        return None if q in (0, 1) else 2

    def ends(self, values: jax.Array, q: float, tails: Tails, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return quantiles of the estimator over the resamples."""
        n = values.shape[-1]
        key = jax.random.key(int(np.ravel(evidence.uniform)[0] * 2**53))
        counts = Bootstrap.of(n).counts(key, jnp.arange(self.n_resamples, dtype=jnp.int32))[:, :n]
        drawn = np.asarray(_harrell_davis(counts, values, q))
        low, high = (np.quantile(drawn, p, axis=-1) for p in (tails.lower, 1 - tails.upper))
        return low, high


@functools.partial(jax.jit, static_argnums=2)
def _harrell_davis(counts: jax.Array, ordered: jax.Array, q: float) -> jax.Array:
    """Return the estimator (..., B) for counts (B, n) of sorted values (..., n)."""
    n = counts.shape[1]
    reached = jnp.cumsum(jnp.pad(counts, ((0, 0), (1, 0))), axis=1) / n
    profile = jax.scipy.special.betainc((n + 1) * q, (n + 1) * (1 - q), jnp.clip(reached, 0, 1))
    return ordered @ jnp.diff(profile, axis=1).T
