"""Random forests."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_positive
from jaxci.inducers.tree import bin_codes, centred, grow, indicators, leaf_of, leaf_values
from jaxci.records import record, static


@record
class Forest(Inducer):
    """Random forest (Breiman, 2001): the average of trees on bootstrap samples.

    A tree counts a row of weight w Poisson(w) times, which is the bootstrap with a random sample size and
    leaves rows of weight 0 out. A node chooses from features drawn for it alone. The bins of the
    features are those of the whole training sample.

    Parameters
    ----------
    n_trees : int
    max_depth : int
    n_bins : int
        Bins of a feature.
    min_leaf : float
        Weight of the rows that a leaf must have.
    max_features : int or "auto"
        Features that a node chooses from: ``"auto"`` is the root of their number, rounded up, for
        classes, and a third of it for a regression.
    """

    n_trees: int = static(default=50)
    max_depth: int = static(default=8)
    n_bins: int = static(default=32)
    min_leaf: float = 1.0
    max_features: int | str = static(default="auto")

    task: ClassVar[str] = "any"

    def __post_init__(self) -> None:
        check_count("n_trees", self.n_trees, 1)
        check_count("max_depth", self.max_depth, 1)
        check_count("n_bins", self.n_bins, 2)
        check_positive("min_leaf", self.min_leaf)
        if self.max_features != "auto":
            check_count("max_features", self.max_features, 1)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count what growing one tree takes: two to four times the data."""
        return 8 * n * (4 * d + max(n_classes, 1))

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Grow the trees one after the other."""
        targets = indicators(y, weights, n_classes)
        codes = bin_codes(X, weights, self.n_bins)
        d, nodes = X.shape[1], 2**self.max_depth - 1
        n_tried = self._n_tried(d, n_classes)

        def one(number: jax.Array) -> Any:
            draws, features = jax.random.split(jax.random.fold_in(key, number))
            counts = jax.random.poisson(draws, weights).astype(weights.dtype)
            counts = jnp.where(counts.sum() > 0, counts, weights)
            choices = _subsets(features, nodes, d, n_tried) if n_tried < d else None
            splits, leaf = grow(
                X,
                codes,
                centred(targets, counts),
                None,
                counts,
                max_depth=self.max_depth,
                n_bins=self.n_bins,
                min_leaf=self.min_leaf,
                choices=choices,
            )
            return splits, leaf_values(leaf, counts[:, None] * targets, counts, self.max_depth)

        return Fitted(jax.lax.map(one, jnp.arange(self.n_trees)), jnp.asarray(True))

    def _n_tried(self, d: int, n_classes: int) -> int:
        """Return how many features a node chooses from."""
        auto = math.ceil(math.sqrt(d)) if n_classes else max(1, d // 3)
        return min(d, auto if self.max_features == "auto" else int(self.max_features))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Average the means, or the shares of the classes, of the leaves."""

        def add(total: jax.Array, tree: Any) -> tuple[jax.Array, None]:
            splits, means = tree
            return total + means[leaf_of(splits, X)], None

        means = params[1]
        start = jnp.zeros((X.shape[0], means.shape[2]), means.dtype)
        total, _ = jax.lax.scan(add, start, params)
        found = total / means.shape[0]
        return found[:, 0] if found.shape[1] == 1 else found


def _subsets(key: jax.Array, nodes: int, d: int, size: int) -> jax.Array:
    """Return ``size`` of d features for every node, (size, nodes); faster than ``top_k`` on a CPU."""

    def next_one(noise: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        largest = jnp.argmax(noise, axis=1).astype(jnp.int32)
        return jnp.where(jnp.arange(d) == largest[:, None], -1.0, noise), largest

    return jax.lax.scan(next_one, jax.random.uniform(key, (nodes, d), jnp.float32), length=size)[1]
