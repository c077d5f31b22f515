"""Intervals for the mean of bounded observations that hold at every sample size.

``x`` are n independent observations with mean ``mu``, known to lie in ``[a, b]``. Each side misses
with probability at most its tail, whatever the distribution. Bounds are not clipped to [a, b],
except that a side whose tail is zero is the end of the range.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.parametric import mean_refusal
from jaxci.records import record
from jaxci.statistics.base import Statistic, padded

Range = tuple[float, float]

_TRUNCATION = 0.5  # the largest share of the capital at stake in one bet
_HALVINGS = 52


def _checked(values: ArrayLike, bounds: Range, least: int = 1) -> tuple[np.ndarray, float, float]:
    low, high = float(bounds[0]), float(bounds[1])
    x = np.asarray(values, float)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds must be finite with low < high; got ({low:g}, {high:g})")
    if x.ndim != 1 or x.size < least:
        raise ValueError(f"values must be one row of at least {least} numbers; got shape {x.shape}")
    outside = ~((x >= low) & (x <= high))
    if outside.any():
        raise ValueError(
            f"values must lie within bounds = ({low:g}, {high:g}); got {x[outside][0]:g} "
            f"({int(outside.sum())} of {x.size} outside)"
        )
    return x, low, high


def _log_inverse(tail: float, factor: float = 1.0) -> float:
    return math.log(factor / tail) if tail > 0 else math.inf


def hoeffding(values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
    """Hoeffding's interval ``xbar +- (b - a) sqrt(ln(1/tail) / (2n))``.

    Parameters
    ----------
    values : (n,) array_like
        Observations.
    bounds : (float, float)
        Their range, (a, b).
    tails : Tails
        Error probability of each side; two-sided, 1/tail is 2/alpha.

    Returns
    -------
    low, high : float
        Bounds.

    Raises
    ------
    ValueError
        If the range is not finite, or a value lies outside.

    Notes
    -----
    Finite-sample, independent observations (not necessarily identically distributed). Blind to
    the variance: for large n its width is .6929 (b - a) / s times that of Student's interval.

    References
    ----------
    .. [1] Hoeffding (1963), JASA 58, 13-30, theorem 2.
    """
    x, a, b = _checked(values, bounds)
    steps = [(b - a) * math.sqrt(_log_inverse(tail) / (2 * x.size)) for tail in tails]
    return _sides(float(x.mean()), steps, a, b)


def empirical_bernstein(values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
    """Maurer and Pontil's interval, ``xbar +- s sqrt(2L/n) + 7 (b - a) L / (3(n - 1))``.

    ``L = ln(2/tail)``, and ``s`` is the standard deviation with ddof 1.

    Parameters
    ----------
    values : (n,) array_like
        Observations, n >= 2.
    bounds : (float, float)
        Their range, (a, b).
    tails : Tails
        Error probability of each side; two-sided, 2/tail is 4/alpha.

    Returns
    -------
    low, high : float
        Bounds.

    Raises
    ------
    ValueError
        If the range is not finite, a value lies outside, or there are fewer than two.

    Notes
    -----
    Finite-sample, independent and identically distributed observations. For large n its width is
    1.5104 times that of Student's interval.

    References
    ----------
    .. [1] Maurer & Pontil (2009), Empirical Bernstein bounds and sample variance penalization,
       COLT, theorem 4.
    """
    x, a, b = _checked(values, bounds, least=2)
    n, sd = x.size, float(x.std(ddof=1))
    steps = []
    for tail in tails:
        log = _log_inverse(tail, 2.0)
        spread = sd * math.sqrt(2 * log / n) if sd > 0 else 0.0
        steps.append(spread + 7 * (b - a) * log / (3 * (n - 1)))
    return _sides(float(x.mean()), steps, a, b)


def _sides(mean: float, steps: list[float], a: float, b: float) -> tuple[float, float]:
    down, up = steps
    return (a if math.isinf(down) else mean - down), (b if math.isinf(up) else mean + up)


def betting(values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
    """Betting interval: the means against which no gambler grows rich on these observations.

    With observations scaled to [0, 1], a gambler who holds that the mean exceeds ``m`` ends with
    the capital ``K(m) = prod_t (1 + lambda_t(m) (x_t - m))`` of an initial 1. Were ``m`` the mean,
    its expectation would be 1, so ``P(K(m) >= 1/tail) <= tail``; the lower bound is the largest
    ``m`` with ``K(m) >= 1/tail``. The upper bound is the same on ``1 - x``. The bets look at the
    past alone: ``lambda_t(m) = min(sqrt(2 ln(1/tail) / (n sigma2_{t-1})), c/m)`` with c = 1/2,
    ``sigma2_t = (1/4 + sum_{i<=t} (x_i - mu_i)^2) / (t + 1)`` and
    ``mu_t = (1/2 + sum_{i<=t} x_i) / (t + 1)``. Two-sided, 1/tail is 2/alpha: the capital is
    hedged half and half between the two sides.

    Parameters
    ----------
    values : (n,) array_like
        Observations *in random order*: the bets, and so the bounds, depend on the order. Where
        rows are sorted or grouped, shuffle them first, once, without regard to the values.
    bounds : (float, float)
        Their range, (a, b).
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float
        Bounds within [a, b], to 2^-52 (b - a), rounded outward. They always contain the sample
        mean, toward which they are widened where an unfavourable order excludes it.

    Raises
    ------
    ValueError
        If the range is not finite, or a value lies outside.

    Notes
    -----
    Finite-sample, for independent and identically distributed observations (or any sequence
    with a constant conditional mean). The fixed-n interval, without the intersection over t.
    For large n its width is ``sqrt(2 ln(2/alpha)) / z`` times that of Student's interval (1.386
    at 95 %).

    Cost: K is decreasing in m, so 52 halvings find each bound, ``O(104 n)`` logarithms in
    float64 in one compiled program (0.2 s for n = 10^6 on two CPU cores), and about 100 n
    bytes. Samples of one padded size (eight an octave) share one compiled program.

    References
    ----------
    .. [1] Waudby-Smith & Ramdas (2024), Estimating means of bounded random variables by betting,
       JRSS B 86(1), 1-27, theorem 3, with their bets for a fixed n.
    """
    x, a, b = _checked(values, bounds)
    n = x.size
    scaled = np.zeros((2, padded(n)))
    scaled[0, :n] = np.clip((x - a) / (b - a), 0, 1)
    scaled[1, :n] = np.clip((b - x) / (b - a), 0, 1)
    # any positive tail will do for a side that is unbounded and discarded below
    logs = np.array([_log_inverse(tail) if tail > 0 else 1.0 for tail in tails])
    with jax.enable_x64(True):
        down, up = np.asarray(_betting_lower(scaled, np.float64(n), logs))
    low = a + (b - a) * float(down) if tails.lower > 0 else a
    high = b - (b - a) * float(up) if tails.upper > 0 else b
    mean = float(x.mean())
    return max(min(low, mean), a), min(max(high, mean), b)


@jax.jit
@functools.partial(jax.vmap, in_axes=(0, None, 0))
def _betting_lower(x: jax.Array, n: jax.Array, log_inverse: jax.Array) -> jax.Array:
    """Lower bound from observations in [0, 1], of which the first ``n`` count."""
    t = jnp.arange(1, x.size + 1)
    valid = t <= n
    mean = (0.5 + jnp.cumsum(x)) / (t + 1)
    variance = (0.25 + jnp.cumsum((x - mean) ** 2)) / (t + 1)
    past = jnp.concatenate([jnp.full(1, 0.25, x.dtype), variance[:-1]])
    bets = jnp.where(valid, jnp.sqrt(2 * log_inverse / (n * past)), 0.0)

    def halve(_: int, bracket: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        rejected, kept = bracket
        m = (rejected + kept) / 2
        capital = jnp.sum(jnp.log1p(jnp.minimum(bets, _TRUNCATION / m) * (x - m)))
        rich = capital >= log_inverse
        return jnp.where(rich, m, rejected), jnp.where(rich, kept, m)

    start = jnp.zeros((), x.dtype), jnp.sum(x) / n
    return jax.lax.fori_loop(0, _HALVINGS, halve, start)[0]


class ConcentrationMethod(Method):
    """A method for the mean of values in a known range: the record's own, or the statistic's."""

    low: Any
    high: Any

    needs: ClassVar[frozenset[str]] = frozenset({"values"})
    one_by_one: ClassVar[bool] = True
    assumes_iid: ClassVar[bool] = True

    @abc.abstractmethod
    def interval(self, values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
        """Return (low, high) from values and their range."""

    def value_range(self, statistic: Statistic) -> Range:
        """Range of the values: ``low`` and ``high`` where given, else the statistic's bounds."""
        low, high = statistic.bounds
        return (low if self.low is None else float(self.low)), (high if self.high is None else float(self.high))

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean, or has no finite range."""
        if not np.all(np.isfinite(self.value_range(statistic))):
            return mean_refusal(self.name, statistic) or (
                f"{self.name!r} needs the range that every value is known to lie in, and "
                f"{type(statistic).__name__} has none: give low= and high="
            )
        return mean_refusal(self.name, statistic)

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Bounds from ``evidence.values``."""
        assert evidence.values is not None
        bottom, top = self.value_range(evidence.statistic)
        low, high = self.interval(evidence.values, (bottom, top), tails)
        own = self.low is not None or self.high is not None
        if not own or (low >= bottom and high <= top):
            return Bounds(low, high)
        remark = f"the {self.name!r} interval was clipped to the range given, {bottom:g} to {top:g}"
        return Bounds(max(low, bottom), min(high, top), (remark,))


@record
class Hoeffding(ConcentrationMethod):
    """Hoeffding's interval; see :func:`hoeffding`.

    Attributes
    ----------
    low, high : float or None
        Range of the values; None takes the statistic's.
    """

    low: Any = None
    high: Any = None

    name: ClassVar[str] = "hoeffding"
    leaves_range: ClassVar[bool] = True

    def interval(self, values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
        """Return (low, high) from values and their range."""
        return hoeffding(values, bounds, tails)


@record
class EmpiricalBernstein(ConcentrationMethod):
    """Empirical Bernstein interval; see :func:`empirical_bernstein`.

    Attributes
    ----------
    low, high : float or None
        Range of the values; None takes the statistic's.
    """

    low: Any = None
    high: Any = None

    name: ClassVar[str] = "empirical_bernstein"
    leaves_range: ClassVar[bool] = True

    def interval(self, values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
        """Return (low, high) from values and their range."""
        return empirical_bernstein(values, bounds, tails)


@record
class Betting(ConcentrationMethod):
    """Betting interval, for rows in random order; see :func:`betting`.

    Attributes
    ----------
    low, high : float or None
        Range of the values; None takes the statistic's.
    """

    low: Any = None
    high: Any = None

    name: ClassVar[str] = "betting"

    def interval(self, values: ArrayLike, bounds: Range, tails: Tails) -> tuple[float, float]:
        """Return (low, high) from values and their range."""
        return betting(values, bounds, tails)
