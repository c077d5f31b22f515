"""Intervals for quantiles from order statistics: exact, interpolated, asymptotic, semiparametric, normal."""

from __future__ import annotations

import abc
import bisect
import dataclasses
import functools
import math
import sys
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.checks import check_count
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, open_sides
from jaxci.intervals.capabilities import quantile_order
from jaxci.intervals.order_laws import (
    Place,
    asymptotic_positions,
    interpolated_quantile,
    nyblom_upper,
    randomized_ranks,
)
from jaxci.intervals.sample_size import smallest
from jaxci.records import record, static
from jaxci.resampling.bank import Bootstrap
from jaxci.resampling.laws import Drawn, picked
from jaxci.special import deviation, namespace
from jaxci.statistics.base import Statistic


def smallest_n(q: float, tails: Tails) -> int | None:
    """Return the smallest n at which some pair of order statistics reaches the level; None where none does.

    Two-sided: ``q**n + (1 - q)**n <= alpha``; one-sided, the one term that applies. The sum lies
    between its greater term and twice that, which brackets n.
    """
    lower, upper = tails.sides
    if tails.has_lower and tails.has_upper:
        alpha, greater = lower + upper, max(q, 1 - q)
        if greater == 1:
            return None
        low, high = (max(2, math.ceil(math.log(share) / math.log(greater) - 1e-12)) for share in (alpha, alpha / 2))
        return low + bisect.bisect_left(range(low, high), True, key=lambda n: q**n + (1 - q) ** n <= alpha)
    base = 1 - q if tails.has_lower else q
    if base in (0, 1):
        return None if base else 1
    return max(1, math.ceil(math.log(max(lower, upper)) / math.log(base) - 1e-12))


def most_covered(n: int, q: float, tails: Tails) -> float:
    """Return how often intervals that end at values of continuous data hold the quantile at most."""
    return 1 - (q**n if tails.has_upper else 0.0) - ((1 - q) ** n if tails.has_lower else 0.0)


def needs_rows(n: int | None) -> str:
    """Say what :func:`smallest_n` found, after "the interval"."""
    return "exists at no n" if n is None else f"needs n >= {n}"


def order_statistic_ranks(n: int, q: float, tails: Tails) -> tuple[int, int] | None:
    """Return 1-based ranks (k, l) of the shortest conservative interval, or None below :func:`smallest_n`.

    The interval [X(k), X(l)] covers with probability ``sum_{s=k}^{l-1} C(n, s) q^s (1-q)^(n-s)``.
    Among intervals of least length l - k the one with the most equal tails, then the lowest.
    A one-sided bound has rank 0 or n + 1 on its open side.
    """
    return _ranks(n, q, tails.sides, tails.has_lower, tails.has_upper)


@functools.lru_cache(maxsize=256)  # a verb asks for those of one n again and again
def _ranks(n: int, q: float, sides: tuple[float, float], has_lower: bool, has_upper: bool) -> tuple[int, int] | None:
    spread = 12 * math.sqrt(n * q * (1 - q)) + 12
    first = max(0, math.floor(n * q - spread))
    last = min(n, math.ceil(n * q + spread))
    s = np.arange(first, last + 1)
    # below[i] = P(fewer than s[i] observations lie below the quantile)
    below = np.where(s > 0, special.bdtr(np.maximum(s - 1, 0), n, q), 0.0)
    slack, (lower, upper) = 1e-12, sides
    if not has_lower:
        reach = s[(below >= 1 - upper - slack) & (s >= 1)]
        return (0, int(reach[0])) if reach.size else None
    if not has_upper:
        reach = s[(below <= lower + slack) & (s >= 1)]
        return (int(reach[-1]), n + 1) if reach.size else None
    level = 1 - lower - upper
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


class QuantileMethod(Method):
    """An interval for a quantile whose ends are functions of the order statistics, fixed by n and the level.

    Assumes i.i.d. observations of a continuous law.
    """

    needs = frozenset({"values"})
    takes = frozenset()
    instead: ClassVar[str] = "use 'exact' or 'percentile'"

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse everything but the median and quantiles."""
        if quantile_order(statistic) is not None:
            return None
        return f"{self.name!r} is for the median and quantiles only"

    @abc.abstractmethod
    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which the interval exists; None where it does at none."""

    @abc.abstractmethod
    def places(self, n: int, q: float, tails: Tails) -> Any:
        """Return what :meth:`ends` reads, for an n at which the interval exists (host)."""

    @abc.abstractmethod
    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return both ends (...) for ascending values (..., n); that of an open side is discarded."""

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Return what the ends are read from."""
        q = quantile_order(statistic)
        assert q is not None
        least = self.least_n(q, tails)
        if least is None or n < least:
            raise NoInterval(
                f"method {self.name!r} for q = {q:g} {needs_rows(least)} at this level; got n = {n}; {self.instead}"
            )
        return self.places(n, q, tails)

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return both ends."""
        ordered = namespace(evidence.values).sort(evidence.values, axis=-1)
        return open_sides(*self.ends(ordered, critical, tails, evidence), tails, evidence.statistic.bounds)


@record
class OrderStatistic(QuantileMethod):
    """Interval between two order statistics; covers at least the level at every n.

    Reference: Lehmann and Paromau (2025), eq. 7; the shortest conservative single interval.
    """

    name = "order_statistic"
    reads_counts = True

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n (eq. 8)."""
        return smallest_n(q, tails)

    def places(self, n: int, q: float, tails: Tails) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranks k and l."""
        ranks = order_statistic_ranks(n, q, tails)
        assert ranks is not None
        return _within_sample(ranks[0], n), _within_sample(ranks[1], n)

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return X(k) and X(l)."""
        k, l = places
        if evidence.counts is not None:
            through = np.cumsum(evidence.counts, axis=-1)
            k, l = ((through < rank).sum(axis=-1) + 1 for rank in (k, l))
        return picked(ordered, k - 1), picked(ordered, l - 1)


def _within_sample(ranks: Any, n: int) -> np.ndarray:
    """Return ranks as an array; a rank off the sample, of an open side, becomes that of its extreme."""
    return np.clip(np.asarray(ranks, np.int32 if n <= np.iinfo(np.int32).max else np.int64), 1, n)


@record
class ExactRandomized(QuantileMethod):
    """Randomized interval between order statistics: exactly the level, least expected length.

    One of two intervals, drawn with fixed probabilities (Zielinski and Zielinski 2005; Lehmann and
    Paromau 2025, section 3.4).
    """

    name = "exact_randomized"
    needs = frozenset({"values", "uniform"})

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n (eq. 8)."""
        return smallest_n(q, tails)

    def places(self, n: int, q: float, tails: Tails) -> tuple[np.ndarray, float]:
        """Return the ranks (2, 2) of both intervals, and the probability of the first."""
        found = randomized_ranks(n, q, tails)
        assert found is not None
        return _within_sample(found.ranks, n), found.probabilities[0]

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return the ends of the interval that ``evidence.uniform`` (...) picks."""
        ranks, probability = places
        xp = namespace(ordered)
        first = evidence.uniform < probability
        low, high = (picked(ordered, xp.where(first, ranks[0, side], ranks[1, side]) - 1) for side in (0, 1))
        return low, high


class BetweenMethod(QuantileMethod):
    """An interval whose ends lie between two neighbouring order statistics each."""

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return the values at both places."""
        low, high = (place.of(ordered) for place in places)
        return low, high


@record
class Interpolated(BetweenMethod):
    """Ends interpolated between order statistics to the level asked for, without randomness.

    Reference: Nyblom (1992); for the median, Hettmansperger and Sheather (1986). Approximate.
    """

    name = "interpolated"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which the extremes reach both tails."""
        if q in (0, 1):
            return None
        lower, upper = tails.sides
        bases = [base for base, tail in ((q, upper), (1 - q, lower)) if tail > 0]
        tail = min(lower, upper) or max(lower, upper)
        return max(2, max(math.ceil(math.log(tail) / math.log(base) - 1e-12) for base in bases))

    def places(self, n: int, q: float, tails: Tails) -> tuple[Place, Place]:
        """Return both places; the lower one is the upper one of the mirrored sample."""
        lower, upper = tails.sides
        high = nyblom_upper(n, q, upper) if upper else Place.at(float(n), n)
        low = nyblom_upper(n, 1 - q, lower) if lower else Place.at(float(n), n)
        assert low is not None
        assert high is not None
        return low.mirrored(n), high


@record
class Asymptotic(BetweenMethod):
    """Order statistics at ranks ``n (q -+ z sqrt(q (1 - q) / n))``, interpolated (Lehmann and Paromau 2025, eq. 10)."""

    name = "asymptotic"

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return the smallest n at which both ranks lie in the sample (Table 2)."""
        if not 0 < q < 1:
            return None
        return smallest(lambda n: asymptotic_positions(n, q, tails) is not None, 1, sys.maxsize)

    def places(self, n: int, q: float, tails: Tails) -> tuple[Place, ...]:
        """Return the places of Q_L at k/n and l/n."""
        positions = asymptotic_positions(n, q, tails)
        if positions is None:
            raise NoInterval(f"method 'asymptotic' for q = {q:g}: a rank lies outside the sample at n = {n}")
        return tuple(interpolated_quantile(rank / n, n) for rank in positions)


def drawing_key(uniform: Any) -> jax.Array:
    """Return the key that the first of ``uniform`` (...) makes."""
    return jax.random.key((jnp.ravel(uniform)[0] * 2.0**53).astype(jnp.int64))


@functools.partial(jax.jit, static_argnames=("n", "n_resamples"))
def _ranks_drawn(uniform: Any, n: int, n_resamples: int) -> jax.Array:
    """Return how many of n draws are at most each rank, (B, n + 1), the 0th rank first."""
    counts = Bootstrap.of(n).counts(drawing_key(uniform), jnp.arange(n_resamples, dtype=jnp.int32))[:, :n]
    return jnp.cumsum(jnp.pad(counts.astype(jnp.int32), ((0, 0), (1, 0))), axis=1)


@record
class NoncentralT(QuantileMethod):
    """Interval for a quantile of a normal law: exact if the values are normal.

    ``mean + s t / sqrt(n)`` at quantiles of a noncentral t law with n - 1 degrees of freedom and
    noncentrality ``z_q sqrt(n)`` (Hahn and Meeker 1991, section 4.4).
    """

    name = "noncentral_t"

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse quantiles of errors too, which are not normal: they are not negative."""
        if statistic.task != "values":
            return f"{self.name!r} is for quantiles of values that may be normal"
        return super().refusal(statistic)

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2."""
        return None if q in (0, 1) else 2

    def places(self, n: int, q: float, tails: Tails) -> tuple[float, float]:
        """Return the multiples of the standard deviation at which the ends lie."""
        return _noncentral_factors(n, q, *tails.sides)

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return mean plus multiples of the standard deviation."""
        mean, spread = ordered.mean(axis=-1), deviation(ordered, ddof=1)
        return mean + places[0] * spread, mean + places[1] * spread


@functools.lru_cache(maxsize=512)
def _noncentral_factors(n: int, q: float, lower: float, upper: float) -> tuple[float, float]:
    centre = special.ndtri(q) * math.sqrt(n)
    low, high = (special.nctdtrit(n - 1, centre, p) if 0 < p < 1 else 0.0 for p in (lower, 1 - upper))
    return float(low) / math.sqrt(n), float(high) / math.sqrt(n)


def harrell_davis_shares(n: int, q: float) -> np.ndarray:
    """Return the share of the Harrell-Davis estimator's weight (n + 1,) on the first 0, 1, ... n of n sorted values."""
    return special.betainc((n + 1) * q, (n + 1) * (1 - q), np.arange(n + 1) / n)


@record
class HarrellDavis(QuantileMethod):
    """Percentile bootstrap of the Harrell-Davis estimator, a smooth mean of order statistics (1982).

    A stack of data sets shares one bank of resamples.
    """

    n_resamples: int = static(default=2_000)

    name = "harrell_davis"
    needs = frozenset({"values", "uniform"})

    @property
    def own_resamples(self) -> int:
        """How many resamples it draws."""
        return self.n_resamples

    def with_resamples(self, n_resamples: int) -> HarrellDavis:
        """Return the method with so many resamples, at least 2."""
        return dataclasses.replace(self, n_resamples=check_count("n_resamples", n_resamples, 2))

    def least_n(self, q: float, tails: Tails) -> int | None:
        """Return 2."""
        return None if q in (0, 1) else 2

    def places(self, n: int, q: float, tails: Tails) -> np.ndarray:
        """Return :func:`harrell_davis_shares`."""
        return harrell_davis_shares(n, q)

    def interval(self, evidence: Evidence, tails: Tails) -> tuple[Bounds, tuple[str, ...]]:
        """Return bounds and remarks, one of them where the values themselves seldom reach as far as the quantile."""
        bounds, remarks = super().interval(evidence, tails)
        q, n = quantile_order(evidence.statistic), evidence.n
        assert q is not None
        least = smallest_n(q, tails)
        if least is not None and n >= least:
            return bounds, remarks
        said = (
            f"q = {q:g}: intervals that end within the values, as those of harrell_davis do, hold this quantile in at "
            f"most {most_covered(n, q, tails):.0%} of data sets of {n} values"
        )
        return bounds, (*remarks, said)

    def ends(self, ordered: Any, places: Any, tails: Tails, evidence: Evidence) -> tuple[Any, Any]:
        """Return quantiles of the estimator over the resamples."""
        xp, n = namespace(ordered), ordered.shape[-1]
        with jax.enable_x64(True):
            reached = xp.asarray(_ranks_drawn(evidence.uniform, n, self.n_resamples))
        drawn = Drawn.of(ordered @ xp.diff(xp.asarray(places)[reached], axis=1).T)
        return drawn.quantile(tails.lower), drawn.quantile(1 - tails.upper)
