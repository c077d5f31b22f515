"""Intervals for the mean of bounded observations that hold at every sample size.

``x`` are n independent observations with mean ``mu``, known to lie in ``[a, b]``. Each side misses
with probability at most its tail, whatever the distribution. Bounds are not clipped to [a, b],
except that an open side is the end of the range.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, open_sides
from jaxci.intervals.parametric import mean_refusal
from jaxci.records import record
from jaxci.special import namespace
from jaxci.statistics.base import Statistic
from jaxci.statistics.sums import padded

Range = tuple[float, float]

_TRUNCATION = 0.5  # the largest share of the capital at stake in one bet
_HALVINGS = 52


def _check_inside(values: np.ndarray, ends: Range) -> None:
    low, high = ends
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds must be finite with low < high; got ({low:g}, {high:g})")
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        raise ValueError(
            f"values must lie within bounds = ({low:g}, {high:g}); got {values[outside][0]:g} "
            f"({int(outside.sum())} of {values.size} outside)"
        )


def _logs(tails: Tails, factor: float = 1.0) -> tuple[Any, Any]:
    """Return ``log(factor / tail)`` of each side; 1 on an open one, whose bound is discarded."""
    xp = namespace(tails.lower, tails.upper)
    down = xp.log(factor / tails.lower) if tails.has_lower else 1.0
    return down, xp.log(factor / tails.upper) if tails.has_upper else 1.0


@jax.jit
@functools.partial(jax.vmap, in_axes=(0, None, 0))
@functools.partial(jax.vmap, in_axes=(0, None, None))
def _betting_lower(x: jax.Array, n: jax.Array, log_inverse: jax.Array) -> jax.Array:
    """Lower bounds (2, R) from observations (2, R, m) in [0, 1], of which the first ``n`` count, by side."""
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


@record
class ConcentrationMethod(Method):
    """A method for the mean of values in a known range.

    Attributes
    ----------
    low, high : float or None
        Range of the values; None takes the statistic's.
    """

    low: Any = None
    high: Any = None

    needs = frozenset({"values"})
    takes = frozenset()
    least: ClassVar[int] = 1

    @staticmethod
    @abc.abstractmethod
    def of_values(x: Any, ends: Range, tails: Tails) -> Bounds:
        """Return bounds (...) from values (..., n) and the ends of their range (a, b).

        In the formulas 1/tail is, two-sided, 2/alpha.
        """

    def value_range(self, statistic: Statistic) -> Range:
        """Range of the values: ``low`` and ``high`` where given, else the statistic's bounds."""
        low, high = statistic.bounds
        return (low if self.low is None else self.low), (high if self.high is None else self.high)

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean, or has no finite range."""
        if not np.all(np.isfinite(self.value_range(statistic))):
            return mean_refusal(self.name, statistic) or (
                f"{self.name!r} needs the range that every value is known to lie in, and "
                f"{type(statistic).__name__} has none: give low= and high="
            )
        return mean_refusal(self.name, statistic)

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Refuse too few values."""
        if n < self.least:
            raise NoInterval(f"values must be one row of at least {self.least} numbers; got shape ({n},)")
        return ()

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.values``, within the method's own range; NaN where a value lies outside."""
        xp, values, ends = evidence.xp, evidence.values, self.value_range(evidence.statistic)
        low, high = self.of_values(values, ends, tails)
        inside = xp.all((values >= ends[0]) & (values <= ends[1]), axis=-1)
        if self._own:
            low, high = xp.maximum(low, ends[0]), xp.minimum(high, ends[1])
        return Bounds(xp.where(inside, low, xp.nan)[()], xp.where(inside, high, xp.nan)[()])

    @property
    def _own(self) -> bool:
        return self.low is not None or self.high is not None

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Refuse values outside the range; say that bounds were clipped to the method's own."""
        ends = self.value_range(evidence.statistic)
        _check_inside(np.ravel(evidence.values), ends)
        if not (self._own and self.leaves_range):
            return ()
        at_low, at_high = np.all(bounds.low == ends[0]), np.all(bounds.high == ends[1])
        down, up = np.mean(evidence.values) - bounds.low, bounds.high - np.mean(evidence.values)
        # the sides are equally long, unless one was cut off
        if (at_low and at_high) or (at_low and np.all(down < up)) or (at_high and np.all(up < down)):
            return (f"the {self.name!r} interval was clipped to the range given, {ends[0]:g} to {ends[1]:g}",)
        return ()


@record
class Hoeffding(ConcentrationMethod):
    """Hoeffding's interval of a mean of bounded values: covers at least the level.

    ``xbar +- (b - a) sqrt(ln(1/tail) / (2n))``. ``low`` and ``high`` are the range (a, b); None takes the statistic's.

    Notes
    -----
    Finite-sample, independent observations (not necessarily identically distributed). Blind to
    the variance: for large n its width is .6929 (b - a) / s times that of Student's interval.

    References
    ----------
    .. [1] Hoeffding (1963), JASA 58, 13-30, theorem 2.
    """

    name = "hoeffding"
    leaves_range = True

    @staticmethod
    def of_values(x: Any, ends: Range, tails: Tails) -> Bounds:
        """Return bounds (...) from values (..., n)."""
        xp, mean = namespace(x), x.mean(axis=-1)
        down, up = ((ends[1] - ends[0]) * xp.sqrt(log / (2 * x.shape[-1])) for log in _logs(tails))
        return open_sides(mean - down, mean + up, tails, ends)


@record
class EmpiricalBernstein(ConcentrationMethod):
    """Empirical Bernstein interval of a mean of bounded values: covers at least the level.

    Maurer and Pontil's, ``xbar +- s sqrt(2L/n) + 7 (b - a) L / (3(n - 1))`` with ``L = ln(2/tail)`` and the standard
    deviation ``s`` with ddof 1. ``low`` and ``high`` are the range (a, b); None takes the statistic's.

    Notes
    -----
    Finite-sample, independent and identically distributed observations. For large n its width is
    1.5104 times that of Student's interval.

    References
    ----------
    .. [1] Maurer & Pontil (2009), Empirical Bernstein bounds and sample variance penalization,
       COLT, theorem 4.
    """

    name = "empirical_bernstein"
    least = 2
    leaves_range = True

    @staticmethod
    def of_values(x: Any, ends: Range, tails: Tails) -> Bounds:
        """Return bounds (...) from values (..., n), n >= 2."""
        xp, n, width = namespace(x), x.shape[-1], ends[1] - ends[0]
        mean, sd = x.mean(axis=-1), xp.std(x, axis=-1, ddof=1)
        down, up = (sd * xp.sqrt(2 * log / n) + 7 * width * log / (3 * (n - 1)) for log in _logs(tails, 2.0))
        return open_sides(mean - down, mean + up, tails, ends)


@record
class Betting(ConcentrationMethod):
    """Betting interval of a mean of bounded values in random order: covers at least the level.

    The means against which no gambler grows rich on these observations. ``low`` and ``high`` are their range (a, b);
    None takes the statistic's. With observations scaled to [0, 1], a gambler who holds that the mean exceeds ``m`` ends
    with the capital ``K(m) = prod_t (1 + lambda_t(m) (x_t - m))`` of an initial 1. Were ``m`` the mean,
    its expectation would be 1, so ``P(K(m) >= 1/tail) <= tail``; the lower bound is the largest
    ``m`` with ``K(m) >= 1/tail``. The upper bound is the same on ``1 - x``. The bets look at the
    past alone: ``lambda_t(m) = min(sqrt(2 ln(1/tail) / (n sigma2_{t-1})), c/m)`` with c = 1/2,
    ``sigma2_t = (1/4 + sum_{i<=t} (x_i - mu_i)^2) / (t + 1)`` and
    ``mu_t = (1/2 + sum_{i<=t} x_i) / (t + 1)``. Two-sided, the capital is hedged half and half between the two sides.

    The bets, and so the bounds, depend on the order of the rows. Where they are sorted or grouped, shuffle them first,
    once, without regard to the values. Bounds lie within [a, b], to 2^-52 (b - a), rounded outward. They always contain
    the sample mean, toward which they are widened where an unfavourable order excludes it.

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

    name = "betting"

    @staticmethod
    def of_values(x: Any, ends: Range, tails: Tails) -> Bounds:
        """Return bounds (...) from values (..., n)."""
        xp, n, (a, b) = namespace(x), x.shape[-1], ends
        # NumPy's rows are filled up to a padded size and handed to the compiled program.
        size = padded(n) if xp is np else n
        rows = xp.clip(xp.stack([(x - a) / (b - a), (b - x) / (b - a)]), 0, 1).reshape(2, -1, n)
        rows = xp.concatenate([rows, xp.zeros((2, rows.shape[1], size - n))], axis=-1)
        logs = xp.stack(xp.broadcast_arrays(*(xp.asarray(log, float) for log in _logs(tails))))
        with jax.enable_x64(True):
            found = _betting_lower(rows, xp.asarray(n, float), logs)
        down, up = xp.asarray(found).reshape(2, *x.shape[:-1])
        mean = x.mean(axis=-1)
        low = xp.maximum(xp.minimum(a + (b - a) * down, mean), a)
        high = xp.minimum(xp.maximum(b - (b - a) * up, mean), b)
        return open_sides(low, high, tails, ends)
