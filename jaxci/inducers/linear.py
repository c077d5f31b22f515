"""Constant and linear models."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer, Plane
from jaxci.inducers.fields import check_not_negative
from jaxci.inducers.gram import columns, gram
from jaxci.records import record

Lines = dict[str, jax.Array]


class Line(Inducer):
    """A learner whose predictions are a plane: ``slope`` (d,) and ``level``."""

    def predict(self, params: Lines, X: jax.Array) -> jax.Array:
        """Return values of the plane."""
        return X @ params["slope"] + params["level"]

    def plane(self, params: Lines, n_features: int) -> Plane:
        """Return the plane."""
        return Plane(params["level"], params["slope"])


@record
class Constant(Inducer):
    """Weighted mean of the targets, or shares of the classes."""

    task: ClassVar[str] = "any"

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Average the targets, or the indicators of the classes."""
        values = jax.nn.one_hot(y, n_classes, dtype=weights.dtype) if n_classes else y[:, None]
        return Fitted(weights @ values / weights.sum(), jnp.asarray(True))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Repeat the mean, or the shares."""
        found = jnp.broadcast_to(params, (X.shape[0], params.shape[0]))
        return found[:, 0] if params.shape[0] == 1 else found

    def plane(self, params: Any, n_features: int) -> Plane | None:
        """Return a level plane; there is none for more than two classes."""
        if params.shape[0] > 2:
            return None
        level = params[0] if params.shape[0] == 1 else jnp.log(params[1]) - jnp.log(params[0])
        return Plane(level, jnp.zeros(n_features, params.dtype))


class Centred(NamedTuple):
    """A weighted problem less its means: ``matrix`` (d, d) is ``X.T @ W @ X``, ``target`` (d,) ``X.T @ W @ y``.

    ``X`` and ``y`` are less their plain means, which do not depend on the weights; ``x_mean`` and
    ``y_mean`` are what the weights move them by. ``raw`` is the diagonal of the matrix before that.
    """

    X: jax.Array
    y: jax.Array
    x_mean: jax.Array
    y_mean: jax.Array
    matrix: jax.Array
    target: jax.Array
    raw: jax.Array

    def gradient(self, weights: jax.Array, slope: jax.Array) -> jax.Array:
        """Return ``X.T @ W @ residuals`` (d,) from the rows: more exact than from the matrix."""
        residuals = weights * (self.y - self.y_mean + self.x_mean @ slope - self.X @ slope)
        return residuals @ self.X - residuals.sum() * self.x_mean


def centred(X: jax.Array, y: jax.Array, weights: jax.Array) -> Centred:
    """Set up the normal equations of a line with a free intercept."""
    X, y, total = X - X.mean(axis=0), y - y.mean(), weights.sum()
    x_mean, y_mean = weights @ X / total, weights @ y / total
    whole = gram(columns(X), weights)
    target = (weights * y) @ X - total * x_mean * y_mean
    return Centred(X, y, x_mean, y_mean, whole - total * jnp.outer(x_mean, x_mean), target, jnp.diag(whole))


def line(X: jax.Array, y: jax.Array, weights: jax.Array, slope: jax.Array) -> Lines:
    """Return the parameters of the plane with these slopes through the weighted means."""
    total = weights.sum()
    level = weights @ (y - y.mean()) / total - (weights @ (X - X.mean(axis=0)) / total) @ slope
    return {"slope": slope, "level": level + y.mean() - X.mean(axis=0) @ slope}


@record
class Linear(Line):
    """Least squares with an intercept; the shortest coefficients where columns depend on each other.

    Normal equations by Cholesky with a step of refinement; a column that is constant in the training
    rows has coefficient 0. Where other columns depend on each other, nearly or wholly, the fit goes by
    singular values of the weighted rows: one such fit in a batch costs the batch some 200 microseconds
    a fit (500 rows, 20 columns).
    """

    task: ClassVar[str] = "regression"

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Solve the weighted problem."""
        if X.shape[0] <= X.shape[1]:
            slope = _shortest(X, y, weights)
        else:
            # Under vmap a loop runs while one fit of the batch needs it: a branch would run always. What its
            # body computes depends on its state, or the compiler would move it out of the loop.
            slope, _ = jax.lax.while_loop(
                lambda state: ~state[1],
                lambda state: (_shortest(X, y, jnp.where(state[1], 1.0, weights)), jnp.asarray(True)),
                _unique(X, y, weights),
            )
        return Fitted(line(X, y, weights, slope), jnp.all(jnp.isfinite(slope)))


def _unique(X: jax.Array, y: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return slopes by Cholesky, and whether columns are far enough from depending on each other."""
    problem = centred(X, y, weights)
    eps = jnp.finfo(X.dtype).eps
    spread = jnp.diag(problem.matrix)
    varies = spread > 4 * len(y) * eps * problem.raw
    scale = jnp.where(varies, 1 / jnp.sqrt(jnp.where(varies, spread, 1.0)), 0.0)
    matrix = problem.matrix * scale[:, None] * scale + jnp.diag(1.0 * ~varies)
    factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    slope = scale * jax.scipy.linalg.cho_solve((factor, True), scale * problem.target)
    rest = problem.gradient(weights, slope)
    slope = slope + scale * jax.scipy.linalg.cho_solve((factor, True), scale * rest)
    sound = jnp.all(~varies | (spread > jnp.sqrt(eps) * problem.raw)) & jnp.all(jnp.diag(factor) > eps**0.25)
    return slope, sound | (weights.sum() <= 0)


def _shortest(X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    """Return the shortest slopes among those of least squares, by singular values."""
    total, root = weights.sum(), jnp.sqrt(weights)[:, None]
    table = jnp.concatenate([X, y[:, None]], axis=1)
    table = root * (table - weights @ table / total)
    if X.shape[0] > X.shape[1]:
        table = jnp.linalg.qr(table, mode="r")
    u, s, vt = jnp.linalg.svd(table[:, :-1], full_matrices=False)
    tiny = jnp.finfo(s.dtype).eps * max(X.shape) * s[0]
    inverse = jnp.where(s > tiny, 1 / jnp.where(s > tiny, s, 1.0), 0.0)
    return (inverse * (table[:, -1] @ u)) @ vt


@record
class Ridge(Line):
    """Least squares plus ``alpha`` times the squared coefficients; the intercept is free."""

    alpha: float = 1.0

    task: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        check_not_negative("alpha", self.alpha)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Solve the normal equations by Cholesky: d of them, or n where rows are fewer."""
        n, d = X.shape
        slope = self._by_rows(X, y, weights) if n < d else self._by_columns(X, y, weights)
        return Fitted(line(X, y, weights, slope), jnp.all(jnp.isfinite(slope)))

    def _by_columns(self, X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        problem = centred(X, y, weights)
        matrix = problem.matrix + self.alpha * jnp.eye(X.shape[1], dtype=X.dtype)
        factor = (jnp.linalg.cholesky(matrix, symmetrize_input=False), True)
        slope = jax.scipy.linalg.cho_solve(factor, problem.target)
        rest = problem.gradient(weights, slope) - self.alpha * slope
        return slope + jax.scipy.linalg.cho_solve(factor, rest)

    def _by_rows(self, X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        X, y, share = X - X.mean(axis=0), y - y.mean(), weights / weights.sum()
        kernel = X @ X.T
        towards = kernel @ share
        kernel = kernel - towards[:, None] - towards + share @ towards
        root = jnp.sqrt(weights)
        matrix = kernel * root[:, None] * root + self.alpha * jnp.eye(len(y), dtype=X.dtype)
        factor = (jnp.linalg.cholesky(matrix, symmetrize_input=False), True)
        dual = root * jax.scipy.linalg.cho_solve(factor, root * (y - share @ y))
        return dual @ X - dual.sum() * (share @ X)
