"""Intervals and estimates for quantiles of small samples, such as the results of training runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy import special, stats

from jaxci.api.quantile_results import QuantileInterval, RunSummary
from jaxci.api.readers.arrays import as_floats
from jaxci.checks import check_alternative, check_choice, check_confidence_level, check_count, shown
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce
from jaxci.intervals.base import Evidence, Tails, tails
from jaxci.intervals.order_laws import (
    Place,
    TailedEnd,
    level_of_ranks,
    randomized_ranks,
    sample_rank,
    semiparametric_level,
)
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
from jaxci.statistics.summary import Mean, Quantile

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
ESTIMATES = ("sample", "interpolated", "linear", "semiparametric_median", "harrell_davis")


def probabilities_of(name: str, q: Any) -> np.ndarray:
    """Return probabilities (m,) strictly between 0 and 1."""
    values = as_floats(name, np.atleast_1d(q))
    if np.any((values <= 0) | (values >= 1)):
        raise ValueError(f"{name} must lie in (0, 1); got {shown(q)}")
    return values


def method_named(method: Any, others: tuple[str, ...] = ()) -> str:
    """Return the name of a quantile method, or one of ``others``."""
    if isinstance(method, str) and method in _RENAMED:
        raise ValueError(f"method {method!r} of quantiles is called {_RENAMED[method]!r}")
    return check_choice("method", method, (*others, *METHODS))


def samples_of(x: Any, bounds: tuple[float, float] | None, least: int = 2) -> np.ndarray:
    """Return finite values (n,) or (R, n) within ``bounds``."""
    values = as_floats("x", x, (1, 2))
    if values.shape[-1] < least:
        raise ValueError(f"x must hold at least {least} values; got n = {values.shape[-1]}")
    if bounds is not None:
        outside = (values < bounds[0]) | (values > bounds[1])
        if outside.any():
            raise ValueError(f"x must lie within bounds {bounds}; got {shown(values[outside][0])}")
    return values


def _bounds(bounds: Any) -> tuple[tuple[float, float] | None, str]:
    """Return the range of the values, and what happens to ends outside it."""
    if bounds is None:
        return None, "clip"
    if isinstance(bounds, str):
        check_choice("bounds", bounds, ("clip",))
        return (0.0, 1.0), "clip"
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be (low, high), 'clip' for [0, 1] or None; got {shown(bounds)}") from None
    if not low < high:
        raise ValueError(f"bounds must be a lower and a higher number; got {shown(bounds)}")
    return (low, high), "transform"


def one_sample(x: Any) -> np.ndarray:
    """Return at least 2 finite values (n,)."""
    values = samples_of(x, None)
    if values.ndim > 1:
        raise ValueError(f"x must have shape (n,); got {values.shape}")
    return values


def tie_remarks(values: np.ndarray) -> list[str]:
    """Say how many values equal another; nothing where none does."""
    ordered = np.sort(values, axis=-1)
    same = np.diff(ordered, axis=-1) == 0
    pad = [(0, 0)] * (values.ndim - 1)
    tied = int(np.sum(np.pad(same, [*pad, (0, 1)]) | np.pad(same, [*pad, (1, 0)])))
    return [f"{tied} of {values.size} values are tied: the intervals assume a continuous law"] if tied else []


def quantile_interval(
    x: Any,
    q: Any,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    bounds: Any = None,
    n_resamples: int = 2_000,
    rng: Any = None,
) -> QuantileInterval:
    """Confidence interval for a quantile of a continuous law, from a small sample.

    Parameters
    ----------
    x : (n,) or (R, n) array_like
        Independent values, such as the results of n training runs; or R samples of n.
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    method : str
        - "order_statistic": two order statistics, at least the level;
        - "exact_randomized": one of two such intervals, drawn so that the level is exact and the
          expected length least (Zielinski and Zielinski 2005);
        - "interpolated": between order statistics (Nyblom 1992), approximate;
        - "asymptotic": order statistics at normal ranks (eq. 10);
        - "semiparametric": the bootstrap of Hutson (2002), in closed form, for every n; its level
          falls to about 0.85 where no exact interval exists;
        - "semiparametric_resampled": the same with ``n_resamples`` drawn resamples;
        - "harrell_davis": percentile bootstrap of the Harrell-Davis estimator;
        - "noncentral_t": exact for normal values;
        - "auto": "order_statistic" where it exists at this n, else "semiparametric".
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
        "less" gives upper bounds, "greater" lower bounds.
    bounds : (low, high), "clip" or None
        Range of the values. Semiparametric ends stay inside: by extrapolation on a transformed scale
        (logit; log with one infinite bound), or cut off at [0, 1] with "clip".
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
        If the method has no interval at this n (the message names the smallest n), or an argument
        breaks its rule.

    Warns
    -----
    JaxciWarning
        For tied values, and where "auto" found no pair of order statistics.

    References
    ----------
    Lehmann and Paromau (2025), eqs. 7 to 11.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.quantile_interval(range(1, 13), 0.5)
    >>> result.confidence_interval.low, result.confidence_interval.high, round(result.actual_level, 8)
    (3.0, 10.0, 0.96142578)
    """
    probabilities = probabilities_of("q", q)
    method = method_named(method, ("auto",))
    level = check_confidence_level(confidence_level)
    sides = tails(level, check_alternative(alternative))
    count = check_count("n_resamples", n_resamples, 2)
    limits, outside = _bounds(bounds)
    values = samples_of(x, limits)
    source = randomness(rng)
    found = [
        _one(values, float(u), method, sides, limits, outside, count, jax.random.fold_in(source.key, i))
        for i, u in enumerate(probabilities)
    ]
    remarks = dict.fromkeys([*tie_remarks(values), *(text for one in found for text in one["warnings"])])
    single = np.ndim(q) == 0
    stacked = {
        k: (_scalar(found[0][k]) if single else np.stack([one[k] for one in found], axis=-1))
        for k in ("estimate", "low", "high", "actual_level")
    }
    candidates = [one["candidates"] for one in found]
    drawn = any(name in DRAWN for name in _column(found))
    announce(tuple(remarks))
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
    test = stats.goodness_of_fit(stats.norm, values, statistic="ks", n_mc_samples=999, rng=np.random.default_rng(seed))
    return {"shapiro_pvalue": float(stats.shapiro(values).pvalue), "lilliefors_pvalue": float(test.pvalue)}


def _one(
    values: np.ndarray,
    u: float,
    method: str,
    sides: Tails,
    limits: tuple[float, float] | None,
    outside: str,
    n_resamples: int,
    key: jax.Array,
) -> dict[str, Any]:
    """Return estimate, bounds and what goes with them for one quantile of one sample or a batch."""
    n = values.shape[-1]
    chosen, reason, remarks = method, "asked for", []
    if method == "auto":
        least = OrderStatistic().least_n(u, sides)
        chosen, reason = "order_statistic", "two order statistics hold the level at every n and law"
        if least is None or n < least:
            chosen = "semiparametric"
            reason = f"no pair of order statistics reaches the level at n = {n}: that {needs_rows(least)}"
            remarks = [f"q = {u:g}: the semiparametric interval may cover less than its level at n = {n}"]
    estimate = quantile_estimate(values, u, method="interpolated")
    low, high = _enclosed(_settled(chosen, limits, outside, n_resamples), chosen, values, u, sides, key)
    if limits is not None:
        low, high = np.clip(low, *limits), np.clip(high, *limits)
    actual, candidates = math.nan, None
    if chosen == "order_statistic":
        ranks = order_statistic_ranks(n, u, sides)
        assert ranks is not None
        actual = level_of_ranks(*ranks, n, u)
    elif chosen == "exact_randomized":
        mixture = randomized_ranks(n, u, sides)
        assert mixture is not None
        actual, candidates = 1 - sum(sides.sides), (mixture.ranks, mixture.probabilities)
    return {
        "estimate": estimate,
        "low": low[()],
        "high": high[()],
        "actual_level": np.full(np.shape(low), actual)[()],
        "candidates": candidates,
        "method": chosen,
        "reason": reason,
        "warnings": remarks,
    }


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
) -> tuple[np.ndarray, np.ndarray]:
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
    low, high = method.interval(evidence, sides)[0]
    return np.asarray(low), np.asarray(high)


def harrell_davis_weights(n: int, u: float) -> np.ndarray:
    """Return the weights (n,) of the order statistics in the Harrell-Davis estimator (Harrell and Davis 1982)."""
    return np.diff(special.betainc((n + 1) * u, (n + 1) * (1 - u), np.arange(n + 1) / n))


def quantile_estimate(x: Any, q: Any, *, method: str = "sample") -> Any:
    """Point estimate of a quantile.

    Parameters
    ----------
    x : (n,) or (R, n) array_like
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    method : str
        "sample": the ceil(n q)-th order statistic; "interpolated": type 6 of Hyndman and Fan, at rank
        (n + 1) q; "linear": type 7, NumPy's default; "semiparametric_median": the median of the
        semiparametric bootstrap, in closed form; "harrell_davis".

    Returns
    -------
    float or array
        (m,), (R,) or (R, m).

    References
    ----------
    Lehmann and Paromau (2025), section 3.

    Examples
    --------
    >>> import jaxci
    >>> [round(float(jaxci.quantile_estimate([1, 2, 4, 8], 0.7, method=m)), 3) for m in ("sample", "interpolated")]
    [4.0, 6.0]
    """
    check_choice("method", method, ESTIMATES)
    probabilities = probabilities_of("q", q)
    ordered = np.sort(samples_of(x, None, 1), axis=-1)
    n = ordered.shape[-1]
    if method == "semiparametric_median" and n > 1:
        ends = [Semiparametric().end(ordered, TailedEnd.at(semiparametric_level(n, u, 0.5), n)) for u in probabilities]
    elif method == "harrell_davis":
        middle = ordered[..., n // 2]
        ends = [middle + (ordered - middle[..., None]) @ harrell_davis_weights(n, u) for u in probabilities]
    else:
        positions: dict[str, Callable[[float], float]] = {
            "sample": lambda u: sample_rank(n, u),
            "interpolated": lambda u: (n + 1) * u,
            "linear": lambda u: 1 + (n - 1) * u,
            "semiparametric_median": lambda u: 1,
        }
        ends = [Place.at(positions[method](u), n).of(ordered) for u in probabilities]
    found = np.stack(ends, axis=-1)
    return found[..., 0][()] if np.ndim(q) == 0 else found


def summarize_runs(
    x: Any,
    *,
    qs: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
    goal: str = "higher",
    bounds: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> RunSummary:
    """Summarize the results of n training runs: the mean, and how bad or good a run can turn out.

    Parameters
    ----------
    x : (n,) array_like
        One result a run.
    qs : sequence of float
    goal : {"higher", "lower"}
        Which results are good.
    bounds, confidence_level, rng
        As in :func:`quantile_interval`, which gives the quantiles by ``method="auto"``.

    Returns
    -------
    RunSummary

    References
    ----------
    Lehmann and Paromau (2025), section 5.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> summary = jaxci.summarize_runs(np.linspace(0.8, 0.9, 30), qs=[0.5])
    >>> round(summary.mean, 3), summary.quantiles.method
    (0.85, ('order_statistic',))
    """
    check_choice("goal", goal, ("higher", "lower"))
    values = one_sample(x)
    quantiles = quantile_interval(
        values, np.sort(np.atleast_1d(qs)), bounds=bounds, confidence_level=confidence_level, rng=rng
    )
    from jaxci.intervals.parametric import T

    evidence = Evidence(statistic=Mean(), estimate=values.mean(), n=len(values), values=values)
    low, high = T().interval(evidence, tails(quantiles.confidence_level))[0]
    limits = _bounds(bounds)[0] or (-math.inf, math.inf)
    mean = ConfidenceInterval(float(np.clip(low, *limits)), float(np.clip(high, *limits)))
    return RunSummary(len(values), float(values.mean()), mean, quantiles, goal)
