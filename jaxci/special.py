"""Special functions by array namespace: SciPy's on NumPy arrays, traceable ones on JAX arrays, equal to 1e-12.

The incomplete beta function and its inverses are written here for JAX: at parameters near 10^6 its own loses nine
digits and it has no inverse. Both forms take scalars and arrays that broadcast; a JAX array among the arguments makes
the result one. Double precision is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy import special

S = TypeVar("S")


def namespace(*arrays: Any) -> Any:
    """Return ``jax.numpy`` where one of ``arrays`` is a JAX array or a tracer, else ``numpy``."""
    return jnp if any(isinstance(x, jax.Array) for x in arrays) else np


def loop(xp: Any, going: Callable[[S], Any], step: Callable[[S], S], state: S) -> S:
    """Return the first of ``state``, ``step(state)``, ... for which ``going`` is false."""
    if xp is not np:
        return lax.while_loop(going, step, state)
    while going(state):
        state = step(state)
    return state


def ratio(numerator: jax.Array, denominator: jax.Array, otherwise: float | jax.Array = jnp.nan) -> jax.Array:
    """Divide; ``otherwise`` where the denominator is not positive, with a zero gradient there."""
    defined = denominator > 0
    return jnp.where(defined, numerator / jnp.where(defined, denominator, 1), otherwise)


def unit(widest: Any) -> Any:
    """Return lengths as divisors, 1 where they are 0 or not finite: squares of what is divided do not overflow."""
    return namespace(widest).where((widest > 0) & (widest < np.inf), widest, 1.0)


def mean_of(x: Any) -> Any:
    """Return the means (...) of ``x`` (..., n), which rounding leaves among the values: of equal ones their value."""
    xp = namespace(x)
    return xp.clip(xp.mean(x, axis=-1), xp.min(x, axis=-1), xp.max(x, axis=-1))


def deviation(x: Any, ddof: int) -> Any:
    """Return the standard deviations (...) of ``x`` (..., n), divisor n - ddof, whatever the unit of x.

    Exactly 0 of equal values.
    """
    xp = namespace(x)
    apart = x - mean_of(x)[..., None]
    scale = unit(xp.max(xp.abs(apart), axis=-1, keepdims=True))
    return xp.sqrt(xp.sum((apart / scale) ** 2, axis=-1) / (x.shape[-1] - ddof)) * scale[..., 0]


def root_sum_of_squares(x: Any, weights: Any) -> Any:
    """Return ``sqrt(sum w x^2)`` (...) over the last axis, whatever the unit of x."""
    xp = namespace(x)
    scale = unit(xp.max(xp.abs(x), axis=-1))
    return xp.sqrt(xp.sum(weights * (x / scale[..., None]) ** 2, axis=-1)) * scale


def ndtr(x: Any) -> Any:
    """Return the standard normal distribution function."""
    return special.ndtr(x) if namespace(x) is np else jax.scipy.special.ndtr(x)


def ndtri(p: Any) -> Any:
    """Return the standard normal quantile."""
    return special.ndtri(p) if namespace(p) is np else jax.scipy.special.ndtri(p)


def stdtrit(df: Any, p: Any) -> Any:
    """Return Student's quantile with ``df`` degrees of freedom."""
    if namespace(df, p) is np:
        found = special.stdtrit(df, p)
        return np.where(np.asarray(p) < 0.5, -np.abs(found), found)[()]  # SciPy's is inf far out where df is no integer
    df, p = _floats(df, p)
    x, rest = _quantile(df / 2, jnp.full_like(df, 0.5), 2 * jnp.minimum(p, 1 - p))
    return jnp.sign(p - 0.5) * jnp.sqrt(df * rest / x)


def expit(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``."""
    return special.expit(x) if namespace(x) is np else jax.scipy.special.expit(x)


def logit(p: Any) -> Any:
    """Return ``log(p / (1 - p))``."""
    return special.logit(p) if namespace(p) is np else jax.scipy.special.logit(p)


def log_binomial(k: Any, n: Any, p: Any) -> Any:
    """Return ``log P(X = k)``, ``X ~ Binomial(n, p)``: -inf below 0 and above n, by the gamma function in between."""
    xp = namespace(k, n, p)
    by = special if xp is np else jax.scipy.special
    inside = (k >= 0) & (k <= n)
    k = xp.where(inside, k, 0.0)
    ways = by.gammaln(n + 1.0) - by.gammaln(k + 1.0) - by.gammaln(n - k + 1.0)
    return xp.where(inside, ways + by.xlogy(k, p) + by.xlog1py(n - k, -p), -np.inf)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function ``I_x(a, b)``, a, b > 0 and x in [0, 1]."""
    if namespace(a, b, x) is np:
        return special.betainc(a, b, x)
    return _shares(*_floats(a, b, x, 1 - jnp.asarray(x))).below


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Return ``1 - I_x(a, b)`` without cancellation."""
    if namespace(a, b, x) is np:
        return special.betaincc(a, b, x)
    return _shares(*_floats(a, b, x, 1 - jnp.asarray(x))).above


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """Return x with ``I_x(a, b) = p``."""
    if namespace(a, b, p) is np:
        return _polished(a, b, special.betaincinv(a, b, p), p, 1 - p)
    return _quantile(*_floats(a, b, p))[0]


def betainccinv(a: Any, b: Any, p: Any) -> Any:
    """Return x with ``1 - I_x(a, b) = p``."""
    if namespace(a, b, p) is np:
        return _polished(a, b, special.betainccinv(a, b, p), 1 - p, p)
    return _quantile(*_floats(b, a, p))[1]


def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """Return ``x^a (1 - x)^b / B(a, b)``, the derivative of ``I_x(a, b)`` in ``logit x``."""
    if namespace(a, b, x) is np:
        return np.exp(special.xlogy(a, x) + special.xlog1py(b, -x) - special.betaln(a, b))
    a, b, x, y = _floats(a, b, x, 1 - jnp.asarray(x))
    return jnp.exp(_log_factor(a, b, x, y))


def _polished(a: Any, b: Any, x: Any, below: Any, above: Any) -> Any:
    """Return SciPy's quantile after a Newton step: at parameters near 10^6 it may be off by 6e-8."""
    excess = np.where(below < 0.5, special.betainc(a, b, x) - below, above - special.betaincc(a, b, x))
    with np.errstate(invalid="ignore", divide="ignore"):
        step = excess * x * (1 - x) / beta_slope(a, b, x)
    return np.where(np.isfinite(step), x - step, x)[()]


def _floats(*arrays: Any) -> list[jax.Array]:
    return jnp.broadcast_arrays(*(jnp.asarray(x, float) for x in arrays))


_LOG_SERIES = tuple(1 / (2 * k + 3) for k in range(16))
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _log_less(u: jax.Array, grown: jax.Array) -> jax.Array:
    """Return ``log(grown) - u``, ``grown = 1 + u``, without cancellation near u = 0."""
    r = u / (2 + u)
    series = jnp.polyval(jnp.array(_LOG_SERIES[::-1]), r * r)
    return jnp.where(jnp.abs(u) < 0.5, r * (2 * r * r * series - u), jnp.log(grown) - u)


def _stirling_error(z: jax.Array) -> jax.Array:
    """Return ``log Gamma(z + 1) - (z log z - z + log(2 pi z) / 2)``."""
    large = jnp.maximum(z, 15.0)
    series = jnp.polyval(jnp.array(_STIRLING[::-1]), 1 / (large * large)) / large
    small = jnp.minimum(z, 15.0)
    direct = lax.lgamma(small + 1) - (small * jnp.log(small) - small + 0.5 * jnp.log(2 * jnp.pi * small))
    return jnp.where(z >= 15.0, series, direct)


def _log_factor(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return ``log(x^a y^b / B(a, b))``, y = 1 - x (Loader 2000): exact to rounding at any size of a and b."""
    n = a + b
    apart = x * b - y * a
    exponent = a * _log_less(apart / a, x * n / a) + b * _log_less(-apart / b, y * n / b)
    corrections = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    return exponent + corrections + 0.5 * jnp.log(a * b / (2 * jnp.pi * n))


def _fraction(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return ``x^a y^b / (B(a, b) I_x(a, b))`` for x below the mean, y = 1 - x: a continued fraction, by Lentz.

    The even part of DLMF 8.17.22, in the form of Didonato and Morris (1992, eq. 9), free of cancellation near x = 1.
    """
    tiny = 1e-300

    def partial(m: jax.Array) -> tuple[jax.Array, jax.Array]:
        inner = a + 2 * m - 1
        above = (a + m - 1) * (a + b + m - 1) * m * (b - m) * (x / inner) ** 2
        below = m + m * (b - m) * x / inner + (a + m) * (a * y - b * x + 1 + m * (1 + y)) / (a + 2 * m + 1)
        return above, below

    def step(state: Any) -> Any:
        m, found, c, d, _ = state
        above, below = partial(m)
        d = below + above * d
        c = below + above / c
        d, c = (jnp.where(jnp.abs(value) < tiny, tiny, value) for value in (d, c))
        d = 1 / d
        return m + 1, found * c * d, c, d, jnp.abs(c * d - 1)

    def going(state: Any) -> jax.Array:
        return (state[0] < 20_000) & jnp.any(state[4] > 4e-16)

    first = (a * (a * y - b * x + 1)) / (a + 1)
    first = jnp.where(jnp.abs(first) < tiny, tiny, first)
    start = (jnp.array(1.0), first, first, jnp.zeros_like(x), jnp.ones_like(x))
    return lax.while_loop(going, step, start)[1]


class _Shares(NamedTuple):
    """``I_x(a, b)``, its complement, its logarithm, and its derivative in ``logit x`` over itself."""

    below: jax.Array
    above: jax.Array
    log_below: jax.Array
    slope: jax.Array


@jax.jit
def _shares(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array) -> _Shares:
    """Compute the smaller one of ``I_x(a, b)`` and its complement, y = 1 - x."""
    swap = x > (a + 1) / (a + b + 2)
    a, b, x, y = (jnp.where(swap, *pair) for pair in ((b, a), (a, b), (y, x), (x, y)))
    inside, undefined = (x > 0) & (y > 0), jnp.isnan(x)
    x, y = jnp.where(inside, x, 0.5), jnp.where(inside, y, 0.5)
    log_factor = _log_factor(a, b, x, y)
    log_found = jnp.minimum(log_factor - jnp.log(_fraction(a, b, x, y)), 0.0)
    log_found = jnp.where(inside, log_found, jnp.where(undefined, jnp.nan, -jnp.inf))
    found = jnp.exp(log_found)
    log_below = jnp.where(swap, jnp.log1p(-found), log_found)
    below, above = jnp.where(swap, 1 - found, found), jnp.where(swap, found, 1 - found)
    return _Shares(below, above, log_below, jnp.exp(log_factor - log_below))


@jax.jit  # so that a program of many intervals holds it once
def _quantile(a: jax.Array, b: jax.Array, p: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return x with ``I_x(a, b) = p``, and 1 - x.

    Newton's iteration on ``log I`` as a function of ``logit x``, which is concave: from any start it comes to the
    root from below. The smaller of p and 1 - p is solved for.
    """
    flip = p > 0.5
    a, b, tail = jnp.where(flip, b, a), jnp.where(flip, a, b), jnp.where(flip, 1 - p, p)
    inside = tail > 0
    tail = jnp.where(inside, tail, 0.5)

    def step(state: Any) -> Any:
        s, _, count = state
        x, y = jax.scipy.special.expit(s), jax.scipy.special.expit(-s)
        share = _shares(a, b, x, y)
        change = jnp.clip((jnp.log(tail) - share.log_below) / share.slope, -100.0, 100.0)
        return s + change, jnp.abs(change), count + 1

    def going(state: Any) -> jax.Array:
        return (state[2] < 60) & jnp.any(state[1] > 1e-9)

    start = jnp.log(a / b) + jax.scipy.special.ndtri(tail) * jnp.sqrt(1 / a + 1 / b)
    s = lax.while_loop(going, step, (start, jnp.ones_like(start), 0))[0]
    s = jnp.where(inside, s, jnp.where(jnp.isnan(p), jnp.nan, -jnp.inf))
    x, y = jax.scipy.special.expit(s), jax.scipy.special.expit(-s)
    return jnp.where(flip, y, x), jnp.where(flip, x, y)


def between(low: Any, high: Any, fraction: Any) -> Any:
    """Return ``(1 - fraction) low + fraction high`` as NumPy rounds it: of equal values the value, to the last bit.

    Half the way it is the mean of both, rounded once: of values on a lattice the one between them, where there is one.
    """
    xp = namespace(low, high, fraction)
    apart = high - low
    near = xp.where(fraction < 0.5, low + apart * fraction, high - apart * (1 - fraction))
    return xp.where(fraction == 0.5, low / 2 + high / 2, near)
