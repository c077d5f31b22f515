"""Decision trees, and what they share with forests."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_positive
from jaxci.inducers.growing import grow, workspace
from jaxci.inducers.nodes import Nodes, Shape, Table, leaf_of, node_count, table
from jaxci.records import record, static


def indicators(y: jax.Array, weights: jax.Array, n_classes: int) -> jax.Array:
    """Return the targets (n, 1), or the indicators of the classes (n, K), 0 where the weight is 0."""
    targets = jax.nn.one_hot(y, n_classes, dtype=weights.dtype) if n_classes else y[:, None].astype(weights.dtype)
    return jnp.where(weights[:, None] > 0, targets, 0.0)


def impurity_trees(
    rows: Table,
    y: jax.Array,
    weights: jax.Array,
    n_classes: int,
    *,
    min_leaf: float | jax.Array,
    max_depth: int | None,
    n_tried: int | None = None,
    keys: jax.Array | None = None,
) -> tuple[Nodes, jax.Array]:
    """Grow T trees of least squares, or Gini impurity; return nodes (T, M) and their means or shares (T, M, C).

    ``weights`` (T, n) are those of each tree. Sums of squares are taken about the mean of a tree; of two
    classes the second is counted.
    """
    targets = jax.vmap(lambda own: indicators(y, own, n_classes))(weights)
    if n_classes:
        targets = targets[..., 1:] if n_classes == 2 else targets
        middle = jnp.zeros((len(weights), 1), weights.dtype)
    else:
        middle = jnp.sum(weights * targets[..., 0], axis=1, keepdims=True) / jnp.sum(weights, axis=1, keepdims=True)
    values = weights[..., None] * (targets - middle[..., None])
    shape = Shape(max_depth, n_tried=n_tried, shares=bool(n_classes))
    nodes, sums = grow(rows, values, None, weights, shape, min_leaf=min_leaf, keys=keys)
    means = sums[..., :-1] / jnp.where(sums[..., -1:] > 0, sums[..., -1:], jnp.inf) + middle[..., None]
    return nodes, jnp.concatenate([1 - means, means], axis=-1) if n_classes == 2 else means


@record
class Tree(Inducer):
    """Decision tree (Breiman, Friedman, Olshen and Stone, 1984): least squares, or Gini impurity for classes.

    Split points lie halfway between neighbouring values. With ``max_depth=None`` and ``min_leaf=1.0`` it is
    scikit-learn's ``DecisionTree`` at its defaults, up to choices between equal gains. The defaults here
    stop earlier: better probabilities and means of noisy targets, but more errors where many small regions
    tell classes apart.

    Parameters
    ----------
    max_depth : int or None
        Splits from the root to a leaf at most; None: any number.
    min_leaf : float
        Weight of the rows that a leaf must have.
    """

    max_depth: int | None = static(default=6)
    min_leaf: float = 5.0

    task: ClassVar[str] = "any"
    pads_rows: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_depth(self.max_depth)
        check_positive("min_leaf", self.min_leaf)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count what growing takes, and the nodes."""
        return workspace(n, d, 1) + node_bytes(n, self.max_depth, n_classes)

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Grow the tree; ``key`` is not used."""
        found = impurity_trees(table(X), y, weights[None], n_classes, min_leaf=self.min_leaf, max_depth=self.max_depth)
        return Fitted(jax.tree.map(lambda x: x[0], found), jnp.asarray(True))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Return means, or shares of the classes, of the leaves."""
        nodes, means = params
        found = means[leaf_of(nodes, X)]
        return found[:, 0] if found.shape[1] == 1 else found


def check_depth(max_depth: int | None) -> None:
    """Refuse a depth that is no count, nor None."""
    if max_depth is not None:
        check_count("max_depth", max_depth, 1)


def node_bytes(n: int, max_depth: int | None, n_classes: int) -> int:
    """Return the bytes of the nodes of a tree of n rows, with their sums and means."""
    return (48 + 16 * max(n_classes, 1)) * node_count(n, max_depth)
