"""Exact coverage of intervals for a proportion: a finite sum over the possible counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from jaxci.coverage.tally import Behaviour, Judgement, flags_of
from jaxci.distributions.base import Truth
from jaxci.intervals.base import Evidence, Tails, tails
from jaxci.intervals.exact import Exact
from jaxci.intervals.proportion import ProportionMethod
from jaxci.intervals.registry import METHODS, method_by_name
from jaxci.resampling.jackknife import acceleration
from jaxci.resampling.laws import BinomialLaw
from jaxci.statistics.classification import Accuracy

ENDPOINTS = {"percentile": "percentile", "basic": "basic", "bca": "bca", "exact": "percentile"}


@functools.lru_cache(maxsize=256)
def proportion_bounds(method: str, n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the two-sided bounds for every count 0..n (n + 1,), clipped to [0, 1].

    Bootstrap methods are read from their exact (binomial) distribution, B going to infinity.
    """
    sides = tails(level)
    counts = np.arange(n + 1.0)
    known = method_by_name(method)
    if isinstance(known, ProportionMethod):
        low, high = known.from_counts(counts, np.full(n + 1, float(n)), sides)
    elif method in ENDPOINTS:
        low, high = _exact(counts, n, sides, ENDPOINTS[method])
    else:
        raise ValueError(f"method must be a proportion method or one of {', '.join(ENDPOINTS)}; got {method!r}")
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _exact(counts: np.ndarray, n: int, sides: Tails, endpoints: str) -> tuple[np.ndarray, np.ndarray]:
    left_out = [np.array([(count - 1) / (n - 1), count / (n - 1)]) if n > 1 else np.zeros(2) for count in counts]
    evidence = Evidence(
        statistic=Accuracy(),
        estimate=counts / n,
        n=n,
        law=BinomialLaw(counts, np.full(n + 1, float(n))),
        acceleration=np.array(
            [
                acceleration(left, np.array([count, n - count])) if 0 < count < n else math.nan
                for count, left in zip(counts, left_out, strict=True)
            ]
        ),
    )
    low, high = Exact(endpoints=endpoints).interval(evidence, sides)[0]
    return low, high


def proportion_coverage(
    p: float | np.ndarray, n: int, method: str = "wilson", confidence_level: float = 0.95
) -> np.ndarray:
    """Return the exact coverage of a two-sided interval for true proportions ``p``.

    ``sum_k C(n, k) p^k (1 - p)^(n - k) 1[low_k <= p <= high_k]``: no simulation error.

    Parameters
    ----------
    p : float or array
        True proportions.
    n : int
        Trials.
    method : str
        A proportion method, or "percentile", "basic", "bca" (infinitely many resamples).
    confidence_level : float

    Returns
    -------
    float or array
        Coverage for every ``p``.

    Examples
    --------
    >>> round(float(proportion_coverage(0.05, 10, "wald")), 4)
    0.4002
    """
    low, high = proportion_bounds(method, n, confidence_level)
    p = np.asarray(p, float)
    k = np.arange(n + 1)
    mass = np.exp(
        special.gammaln(n + 1)
        - special.gammaln(k + 1)
        - special.gammaln(n - k + 1)
        + special.xlogy(k, p[..., None])
        + special.xlog1py(n - k, -p[..., None])
    )
    inside = (low <= p[..., None]) & (p[..., None] <= high)
    return np.sum(mass * inside, axis=-1)[()]


def enumerable(method: str) -> bool:
    """Whether the coverage of ``method`` for a share of all rows is a finite sum."""
    return method in ENDPOINTS or issubclass(METHODS[method], ProportionMethod)


def enumerated(statistic: str, method: str, p: float, n: int, level: float) -> Judgement:
    """Judge a method for a share of n rows with true value ``p``, without simulation."""
    low, high = proportion_bounds(method, n, level)
    mass = stats.binom.pmf(np.arange(n + 1), n, p)
    width = high - low
    order = np.argsort(width)
    median = width[order][np.searchsorted(np.cumsum(mass[order]), 0.5)]
    spread = float(np.subtract(*stats.binom.ppf([0.9, 0.1], n, p))) / n
    mean = float(mass @ width)
    return Judgement(
        statistic,
        method,
        level,
        float(proportion_coverage(p, n, method, level)),
        0.0,
        float(mass @ (high < p)),
        float(mass @ (low > p)),
        0.0,
        mean,
        float(median),
        mean / spread if spread > 0 else math.nan,
    )


def nearby_coverage(method: str, p: float, n: int, level: float) -> float:
    """Return the mean coverage over proportions near ``p``: as near as a sample of n could tell.

    The coverage at one p is that of a tooth of a saw; the mean over a Beta(n p + 1/2, n (1 - p) + 1/2)
    law of p says what to expect.
    """
    around = stats.beta.ppf((np.arange(64) + 0.5) / 64, n * p + 0.5, n * (1 - p) + 0.5)
    return float(np.mean(proportion_coverage(around, n, method, level)))


def behaviour_of_proportion(statistic: str, target: Truth, n: int, judgements: Sequence[Judgement]) -> Behaviour:
    """Behaviour of a share of n rows: binomial, so nothing is simulated but perhaps its truth."""
    p = target.value
    error = math.sqrt(p * (1 - p) / n)
    flags = flags_of(target, 0.0, judgements, np.array([0.0, error]))
    return Behaviour(statistic, p, target.error, 0.0, error, error, 0.0, flags)
