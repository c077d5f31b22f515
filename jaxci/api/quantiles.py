"""Intervals for quantiles of small samples, such as the results of training runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import scipy

from jaxci.api.quantile_points import probabilities_of, type_6
from jaxci.api.quantile_results import QuantileInterval
from jaxci.api.readers.runs import Results, limits_of, results_of
from jaxci.checks import check_alternative, check_choice, check_confidence_level, check_count
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce
from jaxci.intervals.base import Evidence, Tails, tails
from jaxci.intervals.order_laws import level_of_ranks, randomized_ranks
from jaxci.intervals.quantile import (
    Asymptotic,
    ExactRandomized,
    HarrellDavis,
    Interpolated,
    NoncentralT,
    OrderStatistic,
    QuantileMethod,
    needs_rows,
    order_statistic_ranks,
)
from jaxci.intervals.semiparametric import Semiparametric, SemiparametricResampled
from jaxci.printing import ConfidenceInterval
from jaxci.statistics.order import Quantile

METHODS: dict[str, type[QuantileMethod]] = {
    cls.name: cls
    for cls in (
        ExactRandomized,
        OrderStatistic,
        Interpolated,
        Asymptotic,
        Semiparametric,
        SemiparametricResampled,
        HarrellDavis,
        NoncentralT,
    )
}
_RENAMED = {"exact": "order_statistic", "normal": "noncentral_t"}
"""What two methods were called, by names that mean others in :func:`jaxci.interval`."""
DRAWN = ("exact_randomized", "semiparametric_resampled", "harrell_davis")
RANKED = ("order_statistic", "exact_randomized")
"""Methods that read the ranks of values alone, so that runs without a result may be the worst of all."""


def method_named(method: Any, others: tuple[str, ...] = ()) -> str:
    """Return the name of a quantile method, or one of ``others``."""
    if isinstance(method, str) and method in _RENAMED:
        raise ValueError(f"method {method!r} of quantiles is called {_RENAMED[method]!r}")
    return check_choice("method", method, (*others, *METHODS))


def quantile_interval(
    x: Any,
    q: Any,
    *,
    method: str | QuantileMethod = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    bounds: Any = None,
    goal: str | None = None,
    metric: str | None = None,
    n_resamples: int = 2_000,
    rng: Any = None,
) -> QuantileInterval:
    """Confidence interval for a quantile of a continuous law, from a small sample.

    Parameters
    ----------
    x : (n,) or (R, n) array_like, or SeedRuns
        Independent values, such as the results of n training runs; or R samples of n.
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    method : str or QuantileMethod
        - "order_statistic": two order statistics, at least the level;
        - "exact_randomized": one of two such intervals, drawn so that the level is exact and the
          expected length least (Zielinski and Zielinski 2005);
        - "interpolated": between order statistics (Nyblom 1992), approximate;
        - "asymptotic": order statistics at normal ranks (eq. 10);
        - "semiparametric": the bootstrap of Hutson (2002), in closed form, for every n; where no exact
          interval exists, 95% intervals covered 70 to 96%, and less far in the tails: a warning says how much;
        - "semiparametric_resampled": the same with ``n_resamples`` drawn resamples;
        - "harrell_davis": percentile bootstrap of the Harrell-Davis estimator;
        - "noncentral_t": exact for normal values;
        - "auto": "order_statistic" where it exists at this n, else "semiparametric";

        or a method with its settings, such as ``HarrellDavis(500)``: those are not set by ``n_resamples``, ``bounds``.
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
        "less" gives upper bounds, "greater" lower bounds.
    bounds : (low, high), "clip" or None
        Range of the values. Semiparametric ends stay inside: by extrapolation on a transformed scale
        (logit; log with one infinite bound), or cut off at [0, 1] with "clip".
    goal : {"higher", "lower"} or None
        Which results are good. NaN, and an infinity that is not good, is a run that diverged or failed: it
        counts as the worst. Then "order_statistic" and "exact_randomized" are the methods there are, as they
        read ranks alone; an end or estimate that lies on such a run is infinite (the bound, with ``bounds``),
        and where no pair of order statistics reaches the level, "auto" leaves a side open. None refuses NaN.
    metric : str, optional
        Which results to take where ``x`` is what :func:`jaxci.run_seeds` returned, with several metrics.
    n_resamples : int
        B of the two methods that draw resamples.
    rng : int, numpy.random.Generator, JAX key or None
        For what is drawn.

    Returns
    -------
    QuantileInterval

    Raises
    ------
    ValueError
        If the method has no interval at this n (the message names the smallest n) or needs values where
        a run diverged, or an argument breaks its rule.

    Warns
    -----
    JaxciWarning
        For tied values, for runs that diverged, and for semiparametric intervals where no pair of order
        statistics reaches the level.

    References
    ----------
    Lehmann and Paromau (2025), eqs. 7 to 11. Semiparametric levels: Hutson (1999), Calculating nonparametric
    confidence intervals for quantiles using fractional order statistics; they mirror when values do.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.quantile_interval(range(1, 13), 0.5)
    >>> result.confidence_interval.low, result.confidence_interval.high, round(result.actual_level, 8)
    (3.0, 10.0, 0.96142578)
    """
    results = results_of(x, goal=goal, metric=metric, bounds=limits_of(bounds)[0])
    found = intervals_of(
        results,
        q,
        method=method,
        confidence_level=confidence_level,
        alternative=alternative,
        bounds=bounds,
        n_resamples=n_resamples,
        rng=rng,
    )
    announce(found.warnings)
    return found


def intervals_of(
    results: Results,
    q: Any,
    *,
    method: str | QuantileMethod = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    bounds: Any = None,
    n_resamples: int = 2_000,
    rng: Any = None,
) -> QuantileInterval:
    """Return what :func:`quantile_interval` returns, without its warnings."""
    probabilities = probabilities_of("q", q)
    given = method if isinstance(method, QuantileMethod) else None
    name = method_named(method, ("auto",)) if given is None else given.name
    level = check_confidence_level(confidence_level)
    sides = tails(level, check_alternative(alternative))
    count = check_count("n_resamples", n_resamples, 2)
    limits, outside = limits_of(bounds)
    values = results.values
    source = randomness(rng)

    def settle(chosen: str) -> QuantileMethod:
        return _settled(chosen, limits, outside, count) if given is None else given

    found = [
        _one(results, float(u), name, sides, limits, settle, jax.random.fold_in(source.key, i))
        for i, u in enumerate(probabilities)
    ]
    remarks = dict.fromkeys([*results.remarks(), *(text for one in found for text in one["warnings"])])
    single = np.ndim(q) == 0
    stacked = {
        k: (_scalar(found[0][k]) if single else np.stack([one[k] for one in found], axis=-1))
        for k in ("estimate", "low", "high", "actual_level")
    }
    candidates = [one["candidates"] for one in found]
    drawn = any(name in DRAWN for name in _column(found))
    return QuantileInterval(
        q=float(probabilities[0]) if single else probabilities,
        estimate=stacked["estimate"],
        confidence_interval=ConfidenceInterval(stacked["low"], stacked["high"]),
        method=found[0]["method"] if single else tuple(one["method"] for one in found),
        reason=found[0]["reason"] if single else tuple(one["reason"] for one in found),
        confidence_level=level,
        alternative=alternative,
        actual_level=stacked["actual_level"],
        n=values.shape[-1],
        n_lost=results.n_lost,
        candidate_indices=_picked(candidates, 0, single),
        candidate_probabilities=_picked(candidates, 1, single),
        rng=source.record if drawn else None,
        warnings=tuple(remarks),
        **_normality(values, _column(found), source.key),
    )


def _scalar(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _column(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["method"] for one in found]


def _picked(candidates: list[Any], part: int, single: bool) -> Any:
    if all(c is None for c in candidates):
        return None
    arrays = [None if c is None else np.array(c[part]) for c in candidates]
    return arrays[0] if single else arrays


def _normality(values: np.ndarray, methods: list[str], key: jax.Array) -> dict[str, float]:
    """Return p-values of Shapiro-Wilk and Lilliefors beside an interval that assumes a normal law."""
    if "noncentral_t" not in methods or values.ndim > 1 or values.size < 3 or np.ptp(values) == 0:
        return {}
    seed = int(jax.random.bits(key))
    rng, law = np.random.default_rng(seed), scipy.stats.norm
    values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))  # the squares of huge or tiny values are none
    test = scipy.stats.goodness_of_fit(law, values, statistic="ks", n_mc_samples=999, rng=rng)
    return {"shapiro_pvalue": float(scipy.stats.shapiro(values).pvalue), "lilliefors_pvalue": float(test.pvalue)}


def _one(
    results: Results,
    u: float,
    method: str,
    sides: Tails,
    limits: tuple[float, float] | None,
    settle: Callable[[str], QuantileMethod],
    key: jax.Array,
) -> dict[str, Any]:
    """Return estimate, bounds and what goes with them for one quantile of one sample or a batch."""
    values, n = results.values, results.values.shape[-1]
    if results.n_lost and method not in ("auto", *RANKED):
        raise ValueError(
            f"method must be one of auto, {', '.join(RANKED)} where runs have no result, which these count by rank as "
            f"the worst; got {method!r}, which needs values, and {results.n_lost} of {values.size} that are none"
        )
    chosen, reason = method, "asked for"
    if method == "auto":
        least = OrderStatistic().least_n(u, sides)
        chosen, reason = "order_statistic", "two order statistics hold the level at every n and law"
        if least is None or n < least:
            reason = f"no pair of order statistics reaches the level at n = {n}: that {needs_rows(least)}"
            if results.n_lost:
                sides = _open(n, u, sides)
                reason += "; other methods cannot count runs without a result, so that a side stays open"
            else:
                chosen = "semiparametric"
    bounded = sides.has_lower or sides.has_upper
    if not bounded:
        low, high = (np.full(values.shape[:-1], end) for end in (-math.inf, math.inf))
        remarks: tuple[str, ...] = ()
    else:
        (low, high), remarks = _enclosed(settle(chosen), chosen, values, u, sides, key)
    estimate = type_6(np.sort(values, axis=-1), u)
    fallen = results.fallen(u, estimate, low if sides.has_lower else 0.0, high if sides.has_upper else 0.0)
    if limits is not None:
        estimate, low, high = (np.clip(x, *limits) for x in (estimate, low, high))
    outside = int(np.count_nonzero((estimate < low) | (estimate > high)))
    if outside:
        whose = "the estimate lies" if np.ndim(low) == 0 else f"{outside} of {np.size(low)} estimates lie"
        remarks += (
            f"{whose} outside the interval: it is read off the values themselves, which say little of q = {u:g} at "
            f"n = {n}, and the interval otherwise, by {chosen!r}",
        )
    actual, candidates = math.nan, None
    if chosen == "order_statistic":
        ranks: tuple[int, int] | None = order_statistic_ranks(n, u, sides) if bounded else (0, n + 1)
        assert ranks is not None
        actual = level_of_ranks(*ranks, n, u)
    elif chosen == "exact_randomized":
        mixture = randomized_ranks(n, u, sides)
        assert mixture is not None
        actual, candidates = 1 - sum(sides.sides), (mixture.ranks, mixture.probabilities)
    return {
        "estimate": estimate[()],
        "low": low[()],
        "high": high[()],
        "actual_level": np.full(np.shape(low), actual)[()],
        "candidates": candidates,
        "method": chosen,
        "reason": reason,
        "warnings": (*remarks, *fallen),
    }


def _open(n: int, u: float, sides: Tails) -> Tails:
    """Return the tails of a bound at the level of ``sides``, on the side that more values bound; none without one."""
    if sides.has_lower and sides.has_upper:
        one = tails(1 - sum(sides.sides), "less" if u < 0.5 else "greater")
        least = OrderStatistic().least_n(u, one)
        if least is not None and n >= least:
            return one
    return Tails(0.0, 0.0, has_lower=False, has_upper=False)


def _settled(name: str, limits: tuple[float, float] | None, outside: str, n_resamples: int) -> QuantileMethod:
    lowest, highest = limits or (-math.inf, math.inf)
    if name == "semiparametric":
        return Semiparametric(outside, lowest, highest)
    if name == "semiparametric_resampled":
        return SemiparametricResampled(outside, lowest, highest, n_resamples)
    if name == "harrell_davis":
        return HarrellDavis(n_resamples)
    return METHODS[name]()


def _enclosed(
    method: QuantileMethod, called: str, values: np.ndarray, u: float, sides: Tails, key: jax.Array
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[str, ...]]:
    n = values.shape[-1]
    least = method.least_n(u, sides)
    if least is None or n < least:
        there = [m for m in METHODS if (k := METHODS[m]().least_n(u, sides)) is not None and k <= n]
        raise ValueError(
            f"method {called!r} for q = {u:g} {needs_rows(least)} at this level; got n = {n}; "
            f"methods that exist at this n: {', '.join(there)}"
        )
    uniform = np.asarray(jax.random.uniform(key, values.shape[:-1]), np.float64)
    evidence = Evidence(statistic=Quantile(u), estimate=np.nan, n=n, values=values, uniform=uniform)
    (low, high), remarks = method.interval(evidence, sides)
    return (np.asarray(low), np.asarray(high)), remarks
