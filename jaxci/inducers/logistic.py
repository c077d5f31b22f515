"""Logistic regression."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inducers.base import Fitted, Inducer, Plane
from jaxci.inducers.fields import check_count, check_positive
from jaxci.inducers.gram import Columns, columns, gram
from jaxci.records import record, static

SHORTEST = 2.0**-30
"""Part of a Newton step below which a search along it ends."""


class _Point(NamedTuple):
    """Coefficients (sets, d + 1), their scores (sets, n), probabilities (sets, n) and the slope of the objective."""

    theta: jax.Array
    scores: jax.Array
    shares: jax.Array
    slope: jax.Array


@record
class Logistic(Inducer):
    """Multinomial logistic regression: log loss plus ``|coefficients|**2 / (2 C)``; intercepts are free.

    Two classes have one set of coefficients, as in scikit-learn. Newton's method with halved steps. A fit
    has converged when the gradient a unit of weight, for columns scaled to 1, is below 1e-10 (6e-6 in single
    precision) within ``max_iter`` steps. The intercept of a class that the training rows lack falls until then.
    """

    C: float = 1.0
    max_iter: int = static(default=50)

    task: ClassVar[str] = "classification"

    def __post_init__(self) -> None:
        check_positive("C", self.C)
        check_count("max_iter", self.max_iter, 1)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Minimise by Newton steps from zero."""
        n, d = X.shape
        sets = 1 if n_classes == 2 else n_classes
        centre = X.mean(axis=0)
        design = columns(jnp.concatenate([X - centre, jnp.ones((n, 1), X.dtype)], axis=1))
        codes = (jnp.arange(sets)[:, None] + (sets == 1) == y).astype(X.dtype)
        penalty = jnp.append(jnp.full(d, 1 / self.C, X.dtype), 0.0)
        total = weights.sum()
        tolerance = max(1e-10, 50 * float(jnp.finfo(X.dtype).eps))
        spread = jnp.sqrt(weights @ design.values**2 / total)
        unit = jnp.where(spread > 0, 1 / (total * jnp.where(spread > 0, spread, 1.0)), 0.0)

        def at(theta: jax.Array, scores: jax.Array) -> _Point:
            shares = _shares(scores)
            return _Point(theta, scores, shares, (weights * (shares - codes)) @ design.values + penalty * theta)

        def value(theta: jax.Array, scores: jax.Array) -> jax.Array:
            return weights @ _losses(scores, codes) + jnp.sum(penalty * theta**2) / 2

        def flat(point: _Point) -> jax.Array:
            return jnp.max(jnp.abs(point.slope) * unit) <= tolerance

        def going(state: tuple[_Point, jax.Array, jax.Array]) -> jax.Array:
            return (state[2] < self.max_iter) & ~flat(state[0])

        def newton(state: tuple[_Point, jax.Array, jax.Array]) -> tuple[_Point, jax.Array, jax.Array]:
            here, height, step = state
            matrix = _curvature(design, weights, here.shares) + jnp.diag(jnp.tile(penalty, sets))
            factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
            way = jax.scipy.linalg.cho_solve((factor, True), here.slope.ravel()).reshape(sets, d + 1)
            ahead = way @ design.values.T
            gain, slack = jnp.sum(way * here.slope), 8 * jnp.finfo(X.dtype).eps * jnp.abs(height)

            def after(size: jax.Array) -> jax.Array:
                return value(here.theta - size * way, here.scores - size * ahead)

            def high(trial: tuple[jax.Array, jax.Array]) -> jax.Array:
                return ~(trial[1] <= height - 1e-4 * gain * trial[0] + slack) & (trial[0] > SHORTEST)

            def halve(trial: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
                return trial[0] / 2, after(trial[0] / 2)

            whole = jnp.ones((), X.dtype)
            size, reached = jax.lax.while_loop(high, halve, (whole, after(whole)))
            there = at(here.theta - size * way, here.scores - size * ahead)
            return there, reached, jnp.where(size > SHORTEST, step + 1, self.max_iter)

        theta, scores = jnp.zeros((sets, d + 1), X.dtype), jnp.zeros((sets, n), X.dtype)
        start = (at(theta, scores), value(theta, scores), jnp.int32(0))
        point, _, _ = jax.lax.while_loop(going, newton, start)
        theta = point.theta.at[:, -1].add(-point.theta[:, :-1] @ centre)
        return Fitted(theta, flat(point))

    def predict(self, params: jax.Array, X: jax.Array) -> jax.Array:
        """Return class probabilities (n, K)."""
        scores = X @ params[:, :-1].T + params[:, -1]
        if scores.shape[1] > 1:
            return shares_of_rows(scores)
        shares = jax.nn.sigmoid(scores)
        return jnp.concatenate([1 - shares, shares], axis=1)

    def plane(self, params: jax.Array, n_features: int) -> Plane | None:
        """Return the log odds of the second of two classes; more have none."""
        return Plane(params[0, -1], params[0, :-1]) if len(params) == 1 else None


def shares_of_rows(scores: jax.Array) -> jax.Array:
    """Return probabilities (n, K) of scores (n, K) that a product of matrices gave.

    In this order: along the first axis of such a product of more than 16,384 columns XLA adds up wrongly on a CPU.
    """
    return jax.nn.softmax(scores, axis=1)


def _shares(scores: jax.Array) -> jax.Array:
    """Return probabilities (sets, n) of scores (sets, n)."""
    return jax.nn.sigmoid(scores) if len(scores) == 1 else jax.nn.softmax(scores, axis=0)


def _losses(scores: jax.Array, codes: jax.Array) -> jax.Array:
    """Return log losses (n,) of scores (sets, n)."""
    chosen = jnp.sum(scores * codes, axis=0)
    if len(scores) > 1:
        return jax.nn.logsumexp(scores, axis=0) - chosen
    return jnp.maximum(scores[0], 0.0) + jnp.log(1 + jnp.exp(-jnp.abs(scores[0]))) - chosen


def _curvature(design: Columns, weights: jax.Array, shares: jax.Array) -> jax.Array:
    """Return the second derivatives of the log loss (sets p, sets p), p columns in the design."""
    sets, p = shares.shape[0], design.values.shape[1]
    speck = 1e-12 * weights.sum()
    if sets == 1:
        return gram(design, weights * shares[0] * (1 - shares[0])).at[-1, -1].add(speck)
    first, second = np.triu_indices(sets)
    products = shares[first] * ((first == second)[:, None] - shares[second])
    blocks = jax.vmap(gram, (None, 0))(design, weights * products)
    place = np.zeros((sets, sets), np.int32)
    place[first, second] = place[second, first] = np.arange(len(first))
    # Softmax does not see a shift of all intercepts, nor has it a slope along one: any curvature will do there.
    blocks = blocks.at[:, -1, -1].add(weights.sum() / sets**2)
    found = blocks[place].transpose(0, 2, 1, 3).reshape(sets * p, sets * p)
    return found + speck * jnp.eye(sets * p, dtype=found.dtype)
