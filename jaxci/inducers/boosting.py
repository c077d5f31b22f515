"""Gradient boosting of trees."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_not_negative, check_positive
from jaxci.inducers.growing import grow, workspace
from jaxci.inducers.nodes import Shape, leaf_of, table
from jaxci.inducers.tree import check_depth, indicators, node_bytes
from jaxci.records import record, static


@record
class Boosting(Inducer):
    """Gradient boosting (Friedman, 2001) by Newton steps with the gain of Chen and Guestrin (2016).

    Squared loss, log loss of two classes (one tree a round), or of K classes (K trees a round), from the
    mean, the log odds or the log shares. A leaf is minus the sum of gradients over the sum of second
    derivatives plus ``l2``, times ``learning_rate``. Defaults are those of scikit-learn's
    ``HistGradientBoosting``, of which it differs in looking at all split points rather than at those
    between 255 bins, and in that it never stops early.

    Parameters
    ----------
    n_trees : int
        Rounds.
    learning_rate : float
    max_leaves : int
        Leaves of a tree, which grows best leaf first.
    max_depth : int or None
        Splits from the root to a leaf at most; None: any number.
    min_leaf : float
        Weight of the rows that a leaf must have.
    l2 : float
        Penalty on the squared values of the leaves.
    """

    n_trees: int = static(default=100)
    learning_rate: float = 0.1
    max_leaves: int = static(default=31)
    max_depth: int | None = static(default=None)
    min_leaf: float = 20.0
    l2: float = 0.0

    task: ClassVar[str] = "any"
    pads_rows: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("n_trees", self.n_trees, 1)
        check_count("max_leaves", self.max_leaves, 2)
        check_depth(self.max_depth)
        check_positive("learning_rate", self.learning_rate)
        check_positive("min_leaf", self.min_leaf)
        check_not_negative("l2", self.l2)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count what growing the trees of a round takes, and the nodes of all rounds."""
        trees = n_classes if n_classes > 2 else 1
        kept = self.n_trees * 24 * (2 * self.max_leaves - 1)
        return trees * (workspace(n, d, 1) + node_bytes(n, self.max_depth, 1) + kept)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Add ``n_trees`` rounds of trees; ``key`` is not used."""
        targets, rows = indicators(y, weights, n_classes), table(X)
        start = _start(weights @ targets / weights.sum())
        shape = Shape(self.max_depth, self.max_leaves)

        def one(scores: jax.Array, _: None) -> Any:
            means = _means(scores)
            some = slice(1, None) if n_classes == 2 else slice(None)
            steps = (weights[:, None] * (targets - means))[:, some].T
            hessians = (weights[:, None] * means * (1 - means))[:, some].T if n_classes else None
            every = jnp.broadcast_to(weights, steps.shape)
            nodes, sums = grow(rows, steps[..., None], hessians, every, shape, min_leaf=self.min_leaf, l2=self.l2)
            below = sums[..., 1] + self.l2
            leaves = self.learning_rate * sums[..., 0] / jnp.where(below > 0, below, jnp.inf)
            return scores + _columns(_change((nodes, leaves), X), scores), (nodes, leaves)

        _, trees = jax.lax.scan(one, jnp.broadcast_to(start, targets.shape), length=self.n_trees)
        return Fitted({"start": start, "trees": trees}, jnp.asarray(True))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Return means, or probabilities of the classes."""

        def add(scores: jax.Array, trees: Any) -> tuple[jax.Array, None]:
            return scores + _columns(_change(trees, X), scores), None

        start = params["start"]
        scores, _ = jax.lax.scan(add, jnp.broadcast_to(start, (X.shape[0], start.shape[0])), params["trees"])
        found = _means(scores)
        return found[:, 0] if found.shape[1] == 1 else found


def _change(trees: Any, X: jax.Array) -> jax.Array:
    """Return what the trees of a round add to the scores, (S, n)."""
    return jax.vmap(lambda nodes, leaves: leaves[leaf_of(nodes, X)])(*trees)


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
