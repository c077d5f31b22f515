"""Constant and linear models."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.records import record, static

Lines = dict[str, jax.Array]


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


def _centred(X: jax.Array, y: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    total = weights.sum()
    x_mean, y_mean = weights @ X / total, weights @ y / total
    root = jnp.sqrt(weights)
    return (X - x_mean) * root[:, None], (y - y_mean) * root, x_mean, y_mean


@record
class Linear(Inducer):
    """Least squares with an intercept; the shortest coefficients where columns depend on each other."""

    task: ClassVar[str] = "regression"

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Solve the weighted problem by singular values."""
        rows, targets, x_mean, y_mean = _centred(X, y, weights)
        u, s, vt = jnp.linalg.svd(rows, full_matrices=False)
        tiny = jnp.finfo(s.dtype).eps * max(X.shape) * s[0]
        inverse = jnp.where(s > tiny, 1 / jnp.where(s > tiny, s, 1.0), 0.0)
        slope = vt.T @ (inverse * (u.T @ targets))
        return Fitted({"slope": slope, "level": y_mean - x_mean @ slope}, jnp.all(jnp.isfinite(slope)))

    def predict(self, params: Lines, X: jax.Array) -> jax.Array:
        """Return values of the plane."""
        return X @ params["slope"] + params["level"]


@record
class Ridge(Inducer):
    """Least squares plus ``alpha`` times the squared coefficients; the intercept is free."""

    alpha: float = 1.0

    task: ClassVar[str] = "regression"

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Solve the normal equations by Cholesky."""
        rows, targets, x_mean, y_mean = _centred(X, y, weights)
        gram = rows.T @ rows + self.alpha * jnp.eye(X.shape[1], dtype=X.dtype)
        slope = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(gram), rows.T @ targets)
        return Fitted({"slope": slope, "level": y_mean - x_mean @ slope}, jnp.all(jnp.isfinite(slope)))

    def predict(self, params: Lines, X: jax.Array) -> jax.Array:
        """Return values of the plane."""
        return X @ params["slope"] + params["level"]


@record
class Logistic(Inducer):
    """Multinomial logistic regression: log loss plus ``|coefficients|**2 / (2 C)``; intercepts are free.

    Two classes have one set of coefficients, as in scikit-learn. Newton's method with halved steps;
    a fit that has not reached a gradient of 1e-8 a unit of weight after ``max_iter`` steps has not
    converged.
    """

    C: float = 1.0
    max_iter: int = static(default=50)

    task: ClassVar[str] = "classification"

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Minimise by Newton steps from zero."""
        n, d = X.shape
        sets = 1 if n_classes == 2 else n_classes
        design = jnp.concatenate([X, jnp.ones((n, 1), X.dtype)], axis=1)
        penalised = jnp.tile(jnp.r_[jnp.ones(d), 0.0], sets).astype(X.dtype)
        total = weights.sum()

        def objective(theta: jax.Array) -> jax.Array:
            logits = _logits(design @ theta.reshape(sets, d + 1).T)
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)[:, 0]
            return (-weights @ chosen + jnp.sum(penalised * theta**2) / (2 * self.C)) / total

        gradient, hessian = jax.grad(objective), jax.hessian(objective)
        # Softmax does not see a shift of all intercepts: a speck on the diagonal settles it.
        speck = 1e-10 * jnp.eye(sets * (d + 1), dtype=X.dtype)
        steps = 0.5 ** jnp.arange(12, dtype=X.dtype)

        def going(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            _, slope, step = state
            return (step < self.max_iter) & (jnp.max(jnp.abs(slope)) > 1e-8)

        def newton(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            theta, slope, step = state
            direction = jnp.linalg.solve(hessian(theta) + speck, slope)
            tried = theta - steps[:, None] * direction
            values = jax.vmap(objective)(tried)
            best = tried[jnp.nanargmin(values)]
            return best, gradient(best), step + 1

        start = jnp.zeros(sets * (d + 1), X.dtype)
        theta, slope, _ = jax.lax.while_loop(going, newton, (start, gradient(start), jnp.int32(0)))
        return Fitted(theta.reshape(sets, d + 1), jnp.max(jnp.abs(slope)) <= 1e-8)

    def predict(self, params: jax.Array, X: jax.Array) -> jax.Array:
        """Return class probabilities (n, K)."""
        return jax.nn.softmax(_logits(X @ params[:, :-1].T + params[:, -1]), axis=1)


def _logits(scores: jax.Array) -> jax.Array:
    """Return a logit for every class: for one column, of two classes, zero and the score."""
    return jnp.concatenate([jnp.zeros_like(scores), scores], axis=1) if scores.shape[1] == 1 else scores
