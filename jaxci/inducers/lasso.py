"""Linear models with few coefficients: lasso and elastic net."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted
from jaxci.inducers.fields import check_count, check_field, check_not_negative
from jaxci.inducers.gram import WIDEST
from jaxci.inducers.linear import Line, centred, line
from jaxci.records import record, static

STEPS = 10
"""Gradient steps between two looks at convergence, at least."""


@record
class Lasso(Line):
    """Mean squared error over 2 plus ``alpha * sum(|coefficients|)``; the intercept is free.

    As scikit-learn's ``Lasso``, to the optimum: the optimality residual falls below 1e-12 (1e-5 in single
    precision) of the largest slope at 0 within ``max_iter`` steps, or the fit has not converged.
    """

    alpha: float = 1.0
    max_iter: int = static(default=10_000)

    task: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        check_not_negative("alpha", self.alpha)
        check_count("max_iter", self.max_iter, 1)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Minimise by accelerated gradient steps, and exactly on the coefficients they leave."""
        return _fit(X, y, weights, jnp.asarray(self.alpha, X.dtype), jnp.zeros((), X.dtype), self.max_iter)


@record
class ElasticNet(Line):
    """Mean squared error over 2 plus ``alpha * (l1_ratio * sum(|b|) + (1 - l1_ratio) * sum(b**2) / 2)``.

    As scikit-learn's ``ElasticNet``; ``b`` are the coefficients, the intercept is free. Convergence is
    that of :class:`Lasso`.
    """

    alpha: float = 1.0
    l1_ratio: float = 0.5
    max_iter: int = static(default=10_000)

    task: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        check_not_negative("alpha", self.alpha)
        check_field("l1_ratio", self.l1_ratio, "be between 0 and 1", lambda x: 0 <= x <= 1)
        check_count("max_iter", self.max_iter, 1)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Minimise by accelerated gradient steps, and exactly on the coefficients they leave."""
        alpha, share = jnp.asarray(self.alpha, X.dtype), jnp.asarray(self.l1_ratio, X.dtype)
        return _fit(X, y, weights, alpha * share, alpha * (1 - share), self.max_iter)


class _Problem(NamedTuple):
    """``u H u / 2 - r u + sum(l1 |u|)`` in coefficients ``u`` scaled so that ``H`` has a diagonal of 1.

    ``bound`` is no less than the largest eigenvalue of ``H``; ``polish`` solves for the coefficients
    whose signs are given.
    """

    times: Callable[[jax.Array], jax.Array]
    r: jax.Array
    l1: jax.Array
    bound: jax.Array
    polish: Callable[[jax.Array], jax.Array]
    unscale: jax.Array
    steps: int


class _State(NamedTuple):
    """Coefficients, the point ahead of them, its momentum, the optimality residual, steps taken."""

    u: jax.Array
    ahead: jax.Array
    momentum: jax.Array
    residual: jax.Array
    step: jax.Array


def _soft(x: jax.Array, by: jax.Array) -> jax.Array:
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - by, 0.0)


def _unscale(spread: jax.Array, raw: jax.Array, l2: jax.Array, n: int) -> jax.Array:
    """Return what takes scaled coefficients back: 0 for a column that does not vary."""
    varies = spread > 4 * n * jnp.finfo(spread.dtype).eps * raw
    return jnp.where(varies, 1 / jnp.sqrt(jnp.where(varies, spread + l2, 1.0)), 0.0)


def _by_columns(X: jax.Array, y: jax.Array, weights: jax.Array, l1: jax.Array, l2: jax.Array) -> _Problem:
    d, total, eps = X.shape[1], weights.sum(), jnp.finfo(X.dtype).eps
    problem = centred(X, y, weights)
    unscale = _unscale(jnp.diag(problem.matrix) / total, problem.raw / total, l2, len(y))
    matrix = (problem.matrix / total + l2 * jnp.eye(d, dtype=X.dtype)) * unscale[:, None] * unscale
    r, l1 = unscale * problem.target / total, l1 * unscale
    bound = jnp.minimum(jnp.max(jnp.sum(jnp.abs(matrix), axis=0)), jnp.sqrt(jnp.sum(matrix**2)))

    def polish(signs: jax.Array) -> jax.Array:
        on = signs != 0
        # The speck lets columns depend on each other.
        part = jnp.where(on[:, None] & on, matrix, 0.0) + jnp.diag(jnp.where(on, 16 * d * eps, 1.0))
        factor = jnp.linalg.cholesky(part, symmetrize_input=False)
        return jax.scipy.linalg.cho_solve((factor, True), jnp.where(on, r - l1 * signs, 0.0))

    return _Problem(lambda u: matrix @ u, r, l1, bound, polish, unscale, max(STEPS, d // 8))


def _by_rows(X: jax.Array, y: jax.Array, weights: jax.Array, l1: jax.Array, l2: jax.Array) -> _Problem:
    n = X.shape[0]
    X, y, share = X - X.mean(axis=0), y - y.mean(), weights / weights.sum()
    x_mean, raw = share @ X, share @ X**2
    unscale = _unscale(raw - x_mean**2, raw, l2, n)

    def back(rows: jax.Array) -> jax.Array:
        rows = share * rows
        return unscale * (rows @ X - rows.sum() * x_mean)

    def times(u: jax.Array) -> jax.Array:
        slope = unscale * u
        return back(X @ slope - x_mean @ slope) + l2 * unscale * slope

    def grow(_: int, u: jax.Array) -> jax.Array:
        u = times(u)
        return u / jnp.maximum(jnp.linalg.norm(u), jnp.finfo(u.dtype).tiny)

    r, l1 = back(y - share @ y), l1 * unscale
    bound = 1.1 * jnp.linalg.norm(times(jax.lax.fori_loop(0, 30, grow, jnp.where(r == 0, 1.0, r))))

    def polish(signs: jax.Array) -> jax.Array:
        on = signs != 0
        return jax.scipy.sparse.linalg.cg(
            lambda u: jnp.where(on, times(u), 0.0), jnp.where(on, r - l1 * signs, 0.0), tol=1e-14, maxiter=2 * n
        )[0]

    return _Problem(times, r, l1, bound, polish, unscale, max(STEPS, n))


def _solve(problem: _Problem, max_iter: int) -> tuple[_State, jax.Array]:
    """Minimise; return the last state and whether it is optimal."""
    d, dtype = problem.r.shape[0], problem.r.dtype
    tolerance = max(1e-12, 100 * float(jnp.finfo(dtype).eps)) * jnp.max(jnp.abs(problem.r))

    def residual(u: jax.Array) -> jax.Array:
        return jnp.max(jnp.abs(u - _soft(u - problem.times(u) + problem.r, problem.l1)))

    def onward(_: int, state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        u, ahead, momentum = state
        slope = problem.times(ahead) - problem.r
        new = _soft(ahead - slope / problem.bound, problem.l1 / problem.bound)
        momentum = jnp.where(jnp.sum((ahead - new) * (new - u)) > 0, 1.0, momentum)
        after = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
        return new, new + (momentum - 1) / after * (new - u), after

    def going(state: _State) -> jax.Array:
        return (state.residual > tolerance) & (state.step < max_iter)

    def advance(state: _State) -> _State:
        u, ahead, momentum = jax.lax.fori_loop(0, problem.steps, onward, state[:3])
        exact = problem.polish(jnp.sign(u))
        # On the way to the exact coefficients of these signs the objective falls until the first sign changes.
        # To go that far drops a coefficient at last, but breaks the momentum: every fourth time.
        flips = u * exact < 0
        parts = jnp.where(flips, u / jnp.where(flips, u - exact, 1.0), 1.0)
        part = jnp.min(parts)
        tried = jnp.where(flips & (parts <= part), 0.0, u + part * (exact - u))
        left, improved = residual(u), residual(tried)
        better = (improved < left) & ((part >= 1) | (state.step // problem.steps % 4 == 3))
        return _State(
            jnp.where(better, tried, u),
            jnp.where(better, tried, ahead),
            jnp.where(better, 1.0, momentum),
            jnp.where(better, improved, left),
            state.step + problem.steps,
        )

    zero = jnp.zeros(d, dtype)
    start = _State(zero, zero, jnp.ones((), dtype), residual(zero), jnp.int32(0))
    state = jax.lax.while_loop(going, advance, start)
    return state, state.residual <= tolerance


def _fit(X: jax.Array, y: jax.Array, weights: jax.Array, l1: jax.Array, l2: jax.Array, max_iter: int) -> Fitted:
    n, d = X.shape
    problem = (_by_columns if d <= max(n, WIDEST) else _by_rows)(X, y, weights, l1, l2)
    state, converged = _solve(problem, max_iter)
    return Fitted(line(X, y, weights, problem.unscale * state.u), converged)
