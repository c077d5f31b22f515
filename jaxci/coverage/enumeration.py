"""Exact coverage of intervals for a proportion: a finite sum over the possible counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from jaxci.coverage.tally import Behaviour, Judgement, flags_of
from jaxci.distributions.base import Truth
from jaxci.inference.slopes import jackknife_acceleration
from jaxci.intervals.base import Evidence, Method, Tails, tails
from jaxci.intervals.bootstrap import Basic, BCa, BootstrapMethod, Percentile
from jaxci.intervals.exact import Exact
from jaxci.intervals.proportion import ProportionMethod
from jaxci.intervals.registry import method_by_name
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.statistics.classification import Accuracy

ENDPOINTS: dict[Method, str] = {
    Percentile(): "percentile",
    Basic(): "basic",
    BCa(): "bca",
    BCa(acceleration="jackknife"): "bca",
    **{Exact(endpoints=ends): ends for ends in ("percentile", "basic", "bca")},
}
"""Bootstrap methods whose ends are read from the binomial law; of a mean, both accelerations of BCa agree."""


@functools.lru_cache(maxsize=256)
def proportion_bounds(method: Method, n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the two-sided bounds for every count 0..n (n + 1,), clipped to [0, 1].

    Bootstrap methods are read from their exact (binomial) distribution, B going to infinity.
    """
    sides = tails(level)
    counts = np.arange(n + 1.0)
    if isinstance(method, ProportionMethod):
        low, high = method.from_counts(counts, np.full(n + 1, float(n)), sides)
    elif method in ENDPOINTS:
        low, high = _exact(counts, n, sides, ENDPOINTS[method])
    else:
        known = ", ".join(dict.fromkeys(map(str, ENDPOINTS)))
        raise ValueError(f"method must be a proportion method or one of {known}; got {method.written()!r}")
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _exact(counts: np.ndarray, n: int, sides: Tails, endpoints: str) -> tuple[np.ndarray, np.ndarray]:
    # Without one of the successes, or one of the others.
    left_out = np.stack([counts - 1, counts], axis=-1) / max(n - 1, 1)
    times = np.stack([counts, n - counts], axis=-1)
    varies = (counts > 0) & (counts < n)
    evidence = Evidence(
        statistic=Accuracy(),
        estimate=counts / n,
        n=n,
        law=BinomialLaw(counts, np.full(n + 1, float(n))),
        acceleration=np.where(varies, jackknife_acceleration(left_out, times), math.nan),
    )
    low, high = Exact(endpoints=endpoints).interval(evidence, sides)[0]
    return low, high


def proportion_coverage(
    p: float | np.ndarray, n: int, method: str | Method = "wilson", confidence_level: float = 0.95
) -> np.ndarray:
    """Return the exact coverage of a two-sided interval for true proportions ``p``.

    ``sum_k C(n, k) p^k (1 - p)^(n - k) 1[low_k <= p <= high_k]``: no simulation error.

    Parameters
    ----------
    p : float or array
        True proportions.
    n : int
        Trials.
    method : str or Method
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
    low, high = proportion_bounds(method_by_name(method), n, confidence_level)
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


def enumerable(method: Method) -> bool:
    """Whether the coverage of ``method`` for a share of all rows is a finite sum."""
    return method in ENDPOINTS or isinstance(method, ProportionMethod)


def enumerated(statistic: str, method: Method, target: Truth, n: int, level: float, label: str) -> Judgement:
    """Judge a method for a share of n rows with a true value, without simulation.

    Where the true value is simulated, the error of the coverage is what that makes of it: the root mean square of the
    differences from the coverage at true values spread by their error.
    """
    p = target.value
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
        _error_from_truth(target, n, method, level),
        float(mass @ (high < p)),
        float(mass @ (low > p)),
        0.0,
        mean,
        float(median),
        mean / spread if spread > 0 else math.nan,
        label,
        how="enumerated, B = infinity" if isinstance(method, BootstrapMethod) else "enumerated",
        mean_shift=float(mass @ (low / 2 + high / 2)) - p,
        shift_error=0.0,
    )


def _error_from_truth(target: Truth, n: int, method: Method, level: float) -> float:
    """Return the standard error that a simulated true value gives to the coverage at it."""
    if target.error == 0:
        return 0.0
    around = np.clip(stats.norm.ppf((np.arange(256) + 0.5) / 256, target.value, target.error), 0.0, 1.0)
    apart = proportion_coverage(around, n, method, level) - proportion_coverage(target.value, n, method, level)
    return float(np.sqrt(np.mean(apart**2)))


def nearby_coverage(method: Method, p: float, n: int, level: float) -> float:
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
