"""Gradient boosting of trees."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_not_negative, check_positive
from jaxci.inducers.tree import bin_codes, grow, indicators, leaf_of, leaf_values
from jaxci.records import record, static


@record
class Boosting(Inducer):
    """Gradient boosting (Friedman, 2001) by Newton steps with the gain of Chen and Guestrin (2016).

    Squared loss, log loss of two classes (one tree a round), or of K classes (K trees a round), from the
    mean, the log odds or the log shares. A leaf is minus the sum of gradients over the sum of second
    derivatives plus ``l2``, times ``learning_rate``.

    Parameters
    ----------
    n_trees : int
        Rounds.
    learning_rate : float
    max_depth : int
    n_bins : int
        Bins of a feature.
    min_leaf : float
        Weight of the rows that a leaf must have.
    l2 : float
        Penalty on the squared values of the leaves.
    """

    n_trees: int = static(default=100)
    learning_rate: float = 0.1
    max_depth: int = static(default=3)
    n_bins: int = static(default=32)
    min_leaf: float = 10.0
    l2: float = 1.0

    task: ClassVar[str] = "any"

    def __post_init__(self) -> None:
        check_count("n_trees", self.n_trees, 1)
        check_count("max_depth", self.max_depth, 1)
        check_count("n_bins", self.n_bins, 2)
        check_positive("learning_rate", self.learning_rate)
        check_positive("min_leaf", self.min_leaf)
        check_not_negative("l2", self.l2)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count what growing one tree takes: two to four times the data."""
        return 8 * n * (4 * d + max(n_classes, 1))

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Add ``n_trees`` rounds of trees; ``key`` is not used."""
        targets = indicators(y, weights, n_classes)
        codes = bin_codes(X, weights, self.n_bins)
        start = _start(weights @ targets / weights.sum())

        def tree(step: jax.Array, hessian: jax.Array | None) -> Any:
            splits, leaf = grow(
                X,
                codes,
                step[:, None],
                hessian,
                weights,
                max_depth=self.max_depth,
                n_bins=self.n_bins,
                min_leaf=self.min_leaf,
                l2=self.l2,
            )
            below = weights if hessian is None else hessian
            leaves = self.learning_rate * leaf_values(leaf, step[:, None], below, self.max_depth, self.l2)[:, 0]
            return (splits, leaves), leaves[leaf]

        def one(scores: jax.Array, _: None) -> Any:
            means = _means(scores)
            some = slice(1, None) if n_classes == 2 else slice(None)
            steps = (weights[:, None] * (targets - means))[:, some]
            hessians = (weights[:, None] * means * (1 - means))[:, some] if n_classes else None
            trees, change = jax.vmap(tree, in_axes=1)(steps, hessians)
            return scores + _columns(change, scores), trees

        _, trees = jax.lax.scan(one, jnp.broadcast_to(start, targets.shape), length=self.n_trees)
        return Fitted({"start": start, "trees": trees}, jnp.asarray(True))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Return means, or probabilities of the classes."""

        def add(scores: jax.Array, trees: Any) -> tuple[jax.Array, None]:
            change = jax.vmap(lambda splits, leaves: leaves[leaf_of(splits, X)])(*trees)
            return scores + _columns(change, scores), None

        start = params["start"]
        scores, _ = jax.lax.scan(add, jnp.broadcast_to(start, (X.shape[0], start.shape[0])), params["trees"])
        found = _means(scores)
        return found[:, 0] if found.shape[1] == 1 else found


def _start(means: jax.Array) -> jax.Array:
    """Return the scores before the first round: the mean, or log shares; of two classes zero and the log odds."""
    if means.shape[0] == 1:
        return means
    shares = jnp.log(jnp.maximum(means, jnp.finfo(means.dtype).eps))
    return shares - shares[0] if means.shape[0] == 2 else shares


def _means(scores: jax.Array) -> jax.Array:
    return scores if scores.shape[1] == 1 else jax.nn.softmax(scores, axis=1)


def _columns(change: jax.Array, scores: jax.Array) -> jax.Array:
    """Return the change of all scores from that of the trees (S, n); of two classes the first has no tree."""
    return jnp.pad(change.T, ((0, 0), (scores.shape[1] - len(change), 0)))
