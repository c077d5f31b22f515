"""Random forests."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_positive
from jaxci.inducers.growing import at_once, workspace
from jaxci.inducers.nodes import Nodes, leaf_of, table
from jaxci.inducers.tree import check_depth, impurity_trees, node_bytes
from jaxci.records import record, static


@record
class Forest(Inducer):
    """Random forest (Breiman, 2001): the average of trees on bootstrap samples.

    Defaults are those of scikit-learn's ``RandomForest``. A tree counts a row of weight w Poisson(w) times,
    which is the bootstrap with a random sample size and leaves rows of weight 0 out. A node chooses from
    features drawn for it alone, of those that vary in it.

    Parameters
    ----------
    n_trees : int
    max_depth : int or None
        Splits from the root to a leaf at most; None: any number.
    min_leaf : float
        Weight of the rows that a leaf must have, counted as often as its tree drew them.
    max_features : int or "auto"
        Features that a node chooses from: ``"auto"`` is the root of their number, rounded down, for
        classes, and all of them for a regression.
    """

    n_trees: int = static(default=100)
    max_depth: int | None = static(default=None)
    min_leaf: float = 1.0
    max_features: int | str = static(default="auto")

    task: ClassVar[str] = "any"
    pads_rows: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("n_trees", self.n_trees, 1)
        check_depth(self.max_depth)
        check_positive("min_leaf", self.min_leaf)
        if self.max_features != "auto":
            check_count("max_features", self.max_features, 1)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count the nodes of all trees, and what growing takes of those that grow together."""
        return workspace(n, d, self._together(n, d)) + self.n_trees * node_bytes(n, self.max_depth, n_classes)

    def _together(self, n: int, d: int) -> int:
        """Return how many trees grow together: equal parts of all."""
        return -(-self.n_trees // -(-self.n_trees // at_once(n, d)))

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Grow the trees, some at a time."""
        (n, d), rows = X.shape, table(X)
        together = self._together(n, d)

        def draw(number: jax.Array) -> tuple[jax.Array, jax.Array]:
            draws, features = jax.random.split(jax.random.fold_in(key, number))
            counts = _poisson(draws, weights)
            return jnp.where(counts.sum() > 0, counts, weights), features

        def some(numbers: jax.Array) -> tuple[Nodes, jax.Array]:
            counts, keys = jax.vmap(draw)(numbers)
            return impurity_trees(
                rows, y, counts, n_classes, min_leaf=self.min_leaf, max_depth=self.max_depth,
                n_tried=self._n_tried(d, n_classes), keys=keys,
            )  # fmt: skip

        parts = -(-self.n_trees // together)
        numbers = jnp.minimum(jnp.arange(parts * together), self.n_trees - 1).reshape(parts, together)
        grown = jax.lax.map(some, numbers)
        return Fitted(jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: self.n_trees], grown), jnp.asarray(True))

    def _n_tried(self, d: int, n_classes: int) -> int:
        """Return how many features a node chooses from."""
        auto = math.isqrt(d) if n_classes else d
        return min(d, auto if self.max_features == "auto" else int(self.max_features))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Average the means, or the shares of the classes, of the leaves."""

        def add(total: jax.Array, tree: Any) -> tuple[jax.Array, None]:
            nodes, means = tree
            return total + means[leaf_of(nodes, X)], None

        means = params[1]
        start = jnp.zeros((X.shape[0], means.shape[2]), means.dtype)
        total, _ = jax.lax.scan(add, start, params)
        found = total / means.shape[0]
        return found[:, 0] if found.shape[1] == 1 else found


def _poisson(key: jax.Array, means: jax.Array) -> jax.Array:
    """Return Poisson counts by inversion, a uniform draw each: a faster program than ``jax.random.poisson``.

    The sum of probabilities starts ten standard deviations below the mean; time grows with their number.
    """
    draws = jax.random.uniform(key, means.shape, means.dtype)
    first = jnp.floor(jnp.maximum(means - 10 * jnp.sqrt(means), 0.0))
    some = jnp.where(means > 0, means, 1.0)
    chance = jnp.exp(first * jnp.log(some) - some - jax.lax.lgamma(first + 1))
    least = jnp.finfo(means.dtype).eps / 1024

    def open_(state: Any) -> jax.Array:
        count, chance, upto = state
        return (draws > upto) & ((count < means) | (chance > least))

    def step(state: Any) -> Any:
        count, chance, upto = state
        more = open_(state)
        later = chance * some / (count + 1)
        return (
            jnp.where(more, count + 1, count), jnp.where(more, later, chance), jnp.where(more, upto + later, upto)
        )  # fmt: skip

    count, _, _ = jax.lax.while_loop(lambda state: open_(state).any(), step, (first, chance, chance))
    return jnp.where(means > 0, count, 0.0)
