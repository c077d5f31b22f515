"""Exact coverage of intervals for a proportion: a finite sum over the possible counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from jaxci.checks import check_confidence_level, check_count, shown
from jaxci.coverage.finite_banks import is_known, mean_ends, misses
from jaxci.coverage.tally import INFINITE, Behaviour, Judgement, flags_of
from jaxci.distributions.base import Truth
from jaxci.inference.slopes import jackknife_acceleration
from jaxci.intervals.base import Evidence, Method, Tails, tails
from jaxci.intervals.bootstrap import Basic, BCa, BootstrapMethod, Percentile
from jaxci.intervals.exact import Exact
from jaxci.intervals.proportion import ProportionMethod
from jaxci.intervals.registry import method_by_name
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.special import log_binomial
from jaxci.statistics.classification import Accuracy

ENDPOINTS: dict[Method, str] = {
    Percentile(): "percentile",
    Basic(): "basic",
    BCa(): "bca",
    BCa(acceleration="jackknife"): "bca",
    **{Exact(endpoints=ends): ends for ends in ("percentile", "basic", "bca")},
}
"""Bootstrap methods whose ends are read from the binomial law; of a mean, both accelerations of BCa agree."""
NEAR = 1e-9
"""Distance of an end from a proportion that it holds yet."""


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
    p: float | np.ndarray,
    n: int,
    method: str | Method = "mid_p",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
) -> np.ndarray:
    """Return the exact coverage of a two-sided interval for true proportions ``p``.

    ``sum_k C(n, k) p^k (1 - p)^(n - k) P(low_k <= p <= high_k)``: no simulation error. An end within 1e-9 of a
    proportion holds it.

    Parameters
    ----------
    p : float or array
        True proportions.
    n : int
        Trials.
    method : str or Method
        A proportion method, or "percentile", "basic", "bca".
    confidence_level : float
    n_resamples : int, optional
        Resamples of bootstrap methods, 499 or more of "bca", 99 or more of the others; by default infinitely many. The
        ends are random then, and their law given the count is known.

    Returns
    -------
    float or array
        Coverage for every ``p``.

    Examples
    --------
    >>> round(float(proportion_coverage(0.05, 10, "wald")), 4)
    0.4002

    With 9,999 resamples BCa covers two points less here than with infinitely many:

    >>> [round(float(proportion_coverage(0.8833, 25, "bca", n_resamples=b)), 3) for b in (None, 9999)]
    [0.934, 0.913]
    """
    method, n = method_by_name(method), check_count("n", n, 1)
    try:
        p = np.asarray(p, float)
    except (TypeError, ValueError):
        raise TypeError(f"p must hold numbers; got {shown(p)}") from None
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"p must lie in [0, 1]; got {shown(p)}")
    check_confidence_level(confidence_level)
    if n_resamples is not None:
        check_count("n_resamples", n_resamples, 1)
    if isinstance(method, ProportionMethod | Exact) or method not in ENDPOINTS:
        n_resamples = None
    elif n_resamples is not None and not is_known(method, n_resamples):
        raise ValueError(f"n_resamples must be 499 or more of 'bca', 99 or more of others; got {n_resamples}")
    below, above = _misses(method, p, n, confidence_level, n_resamples)
    return (1 - below - above)[()]


def _misses(
    method: Method, p: np.ndarray, n: int, level: float, n_resamples: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances that an interval lies wholly below, and wholly above, each ``p``."""
    if n_resamples is None:
        low, high = proportion_bounds(method, n, level)
        mass = np.exp(log_binomial(np.arange(n + 1.0), n, p[..., None]))
        return np.sum(mass * (high < p[..., None] - NEAR), axis=-1), np.sum(mass * (low > p[..., None] + NEAR), axis=-1)
    flat = p.reshape(-1)
    counts, of = _likely(flat, n)
    mass = np.exp(log_binomial(counts, n, flat[of]))
    found = misses(method, counts, flat[of], n, n_resamples, level)
    below, above = (np.bincount(of, mass * one, minlength=len(flat)).reshape(p.shape) for one in found)
    return below, above


def _likely(p: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts (K,) that samples of n have under proportions (P,), and which proportion each is of."""
    first, last = stats.binom.ppf([[1e-10], [1 - 1e-10]], n, p)
    first = np.maximum(first, 0)  # SciPy's of the proportion 0 is -1
    sizes = (last - first + 1).astype(int)
    of = np.repeat(np.arange(len(p)), sizes)
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[of], of


def enumerable(method: Method) -> bool:
    """Whether the coverage of ``method`` for a share of all rows is a finite sum."""
    return method in ENDPOINTS or isinstance(method, ProportionMethod)


def enumerated(
    statistic: str, method: Method, target: Truth, n: int, level: float, label: str, n_resamples: int
) -> Judgement:
    """Judge a method for a share of n rows with a true value, without simulation.

    Bootstrap methods are judged with as many resamples as a cell has: their widths at a count are means. Of too few
    resamples (:func:`~jaxci.coverage.finite_banks.is_known`) ends are those of infinitely many, and the row says so.
    Where the true value is simulated, the error of the coverage is what that makes of it: the root mean square of the
    differences from the coverage at true values spread by their error.
    """
    p = target.value
    known = is_known(method, n_resamples)
    draws = n_resamples if known else None
    if known:
        counts = _likely(np.array([p]), n)[0]
        low, high = (np.clip(ends, 0.0, 1.0) for ends in mean_ends(method, counts, n, n_resamples, level))
    else:
        counts = np.arange(n + 1.0)
        low, high = proportion_bounds(method, n, level)
    mass = stats.binom.pmf(counts, n, p)
    below, above = _misses(method, np.array(p), n, level, draws)
    width = high - low
    order = np.argsort(width)
    median = width[order][np.searchsorted(np.cumsum(mass[order]), 0.5)]
    spread = float(np.subtract(*stats.binom.ppf([0.9, 0.1], n, p))) / n
    mean = float(mass @ width)
    return Judgement(
        statistic,
        method,
        level,
        float(1 - below - above),
        _error_from_truth(target, n, method, level, draws),
        float(below),
        float(above),
        0.0,
        mean,
        float(median),
        mean / spread if spread > 0 else math.nan,
        label,
        how="enumerated" if known or not isinstance(method, BootstrapMethod) else INFINITE,
        mean_shift=float(mass @ (low / 2 + high / 2)) - p,
        shift_error=0.0,
    )


def _error_from_truth(target: Truth, n: int, method: Method, level: float, n_resamples: int | None) -> float:
    """Return the standard error that a simulated true value gives to the coverage at it."""
    if target.error == 0:
        return 0.0
    around = np.clip(stats.norm.ppf((np.arange(256) + 0.5) / 256, target.value, target.error), 0.0, 1.0)
    here, *there = proportion_coverage(np.array([target.value, *around]), n, method, level, n_resamples)
    return float(np.sqrt(np.mean((np.array(there) - here) ** 2)))


def nearby_coverage(method: Method, p: float, n: int, level: float, n_resamples: int) -> float:
    """Return the mean coverage over proportions near ``p``: as near as a sample of n could tell.

    The coverage at one p is that of a tooth of a saw; the mean over a Beta(n p + 1/2, n (1 - p) + 1/2)
    law of p says what to expect.
    """
    around = stats.beta.ppf((np.arange(64) + 0.5) / 64, n * p + 0.5, n * (1 - p) + 0.5)
    draws = n_resamples if is_known(method, n_resamples) else None
    return float(np.mean(proportion_coverage(around, n, method, level, draws)))


def behaviour_of_proportion(statistic: str, target: Truth, n: int, judgements: Sequence[Judgement]) -> Behaviour:
    """Behaviour of a share of n rows: binomial, so nothing is simulated but perhaps its truth."""
    p = target.value
    error = math.sqrt(p * (1 - p) / n)
    flags = flags_of(target, 0.0, judgements, np.array([0.0, error]))
    return Behaviour(statistic, p, target.error, 0.0, error, error, 0.0, flags)
