"""Decision trees from histograms, and the builder that forests and boosting share."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_positive
from jaxci.records import record, static


class Splits(NamedTuple):
    """Inner nodes of a full binary tree, the root first and a level after the other.

    A row goes right where its ``feature`` exceeds ``threshold``; a node that does not split has the
    threshold infinity.
    """

    feature: jax.Array
    threshold: jax.Array


def bin_codes(X: jax.Array, weights: jax.Array, n_bins: int) -> jax.Array:
    """Return the bin of every row in every feature, (d, n).

    A feature with at most ``n_bins`` values has a bin for each; others are cut at weighted quantiles.
    Equal values share a bin. Sorting depends on ``X`` alone, so a ``vmap`` over weights sorts once.
    """
    n = X.shape[0]
    place = jnp.arange(n, dtype=jnp.int32)

    def one(column: jax.Array) -> jax.Array:
        order = jnp.argsort(column)
        x = column[order]
        new = x[1:] != x[:-1]
        first, last = jnp.pad(new, (1, 0), constant_values=True), jnp.pad(new, (0, 1), constant_values=True)
        start = jax.lax.cummax(jnp.where(first, place, 0))
        stop = jax.lax.cummin(jnp.where(last, place + 1, n), reverse=True)
        sums = jnp.pad(jnp.cumsum(weights[order]), (1, 0))
        below, upto = sums[start], sums[stop]
        rank = jnp.cumsum(first & (upto > below), dtype=jnp.int32) - 1
        quantile = jnp.floor((below + upto) * (n_bins / (2 * sums[-1]))).astype(jnp.int32)
        codes = jnp.where(rank[-1] < n_bins, rank, quantile)
        return jnp.zeros_like(codes).at[order].set(jnp.clip(codes, 0, n_bins - 1))

    return jax.lax.map(one, X.T)


def grow(
    X: jax.Array,
    codes: jax.Array,
    values: jax.Array,
    hessian: jax.Array | None,
    weights: jax.Array,
    *,
    max_depth: int,
    n_bins: int,
    min_leaf: float | jax.Array,
    l2: float | jax.Array = 0.0,
    choices: jax.Array | None = None,
) -> tuple[Splits, jax.Array]:
    """Grow a tree level by level, and return it with the leaf of every row.

    A side with sums V of ``values`` and H of ``hessian`` scores ``sum(V**2) / (H + l2)``; a split gains
    the scores of its sides less the score of the node. Among equal gains the first feature wins.

    Parameters
    ----------
    X : (n, d) array
    codes : (d, n) array
        Bins of the rows, see :func:`bin_codes`.
    values : (n, C) array
        Sums to separate, 0 where the weight is 0.
    hessian : (n,) array or None
        Weights in the gain; None for ``weights``.
    weights : (n,) array
    max_depth : int
    n_bins : int
    min_leaf : float
        Weight that both sides of a split must have.
    l2 : float
    choices : (m, 2**max_depth - 1) int array, optional
        Features that a node may choose from; all where not given.

    Notes
    -----
    As many features are looked at together as keep the memory at a few times that of ``X``.
    """
    n, d = X.shape
    rows = jnp.arange(n)
    channels = [values, weights[:, None]] if hessian is None else [values, hessian[:, None], weights[:, None]]
    stacked = jnp.concatenate(channels, axis=1)
    node = jnp.zeros(n, jnp.int32)
    found = []
    for level in range(max_depth):
        nodes = 2**level
        if choices is None:
            tried = jnp.broadcast_to(jnp.arange(d, dtype=jnp.int32)[:, None], (d, nodes))
            columns = codes
        else:
            tried = choices[:, nodes - 1 : 2 * nodes - 1]
            columns = codes[tried[:, node], rows]

        def best(column: jax.Array, node: jax.Array = node, nodes: int = nodes) -> tuple[jax.Array, ...]:
            cells = jnp.zeros((nodes * n_bins, stacked.shape[1]), stacked.dtype)
            return _best_bin(
                cells.at[node * n_bins + column].add(stacked).reshape(nodes, n_bins, -1), min_leaf, l2, hessian is None
            )

        gains, bins, noise_level = jax.lax.map(best, columns, batch_size=_block(n, d, nodes * n_bins, len(columns)))
        chosen = jnp.argmax(gains >= jnp.max(gains, axis=0) - noise_level[0], axis=0)
        at = chosen, jnp.arange(nodes)
        splits = gains[at] > noise_level[0]
        feature = jnp.where(splits, tried[at], 0)
        right = (columns[chosen[node], rows] > bins[at][node]) & splits[node]
        x = X[rows, feature[node]]
        # The largest value on the left, and the largest negative of a value on the right.
        ends = jnp.stack([jnp.where(right, -jnp.inf, x), jnp.where(right, -x, -jnp.inf)], axis=1)
        ends = jnp.where(weights[:, None] > 0, ends, -jnp.inf)
        ends = jnp.full((nodes, 2), -jnp.inf, x.dtype).at[node].max(ends)
        low, high = ends[:, 0], -ends[:, 1]
        middle = low + (high - low) / 2
        found.append(Splits(feature, jnp.where(splits, jnp.where(middle < high, middle, low), jnp.inf)))
        node = 2 * node + right
    return Splits(*(jnp.concatenate(parts) for parts in zip(*found, strict=True))), node


def _block(n: int, d: int, cells: int, n_columns: int) -> int:
    """Return how many features are looked at together: a divisor, so that no block is left over."""
    most = max(1, n * d // (4 * max(n, cells)))
    return max(size for size in range(1, n_columns + 1) if size <= most and n_columns % size == 0)


def _best_bin(
    cells: jax.Array, min_leaf: float | jax.Array, l2: float | jax.Array, alike: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return for every node the best gain, the last bin on its left, and the gain that is rounding."""
    # Cumulative sums as a product: twice as fast as a scan on a CPU.
    upto = jnp.triu(jnp.ones((cells.shape[1],) * 2, cells.dtype))
    left = jnp.matmul(jnp.swapaxes(cells, 1, 2), upto, precision="highest")
    total = left[:, :, -1:]
    right = total - left
    n_values = cells.shape[2] - (1 if alike else 2)

    def score(sums: jax.Array) -> jax.Array:
        below = sums[:, n_values] + l2
        return jnp.sum(sums[:, :n_values] ** 2, axis=1) / jnp.where(below > 0, below, jnp.inf)

    parent = score(total)
    tiny = jnp.finfo(cells.dtype).eps ** 0.75
    slack = tiny * total[:, -1]
    least = jnp.maximum(min_leaf - slack, slack)
    allowed = (left[:, -1] >= least) & (right[:, -1] >= least) & (slack > 0)
    gains = jnp.where(allowed, score(left) + score(right) - parent, -jnp.inf)
    noise = tiny * parent[:, 0] + jnp.finfo(cells.dtype).tiny
    best = jnp.max(gains, axis=1)
    return best, jnp.argmax(gains >= best[:, None] - noise[:, None], axis=1), noise


def leaf_of(splits: Splits, X: jax.Array) -> jax.Array:
    """Return the leaf of every row, (n,)."""
    depth = (splits.feature.shape[0] + 1).bit_length() - 1
    rows = jnp.arange(X.shape[0])
    node = jnp.zeros(X.shape[0], jnp.int32)
    for level in range(depth):
        at = node + (2**level - 1)
        node = 2 * node + (X[rows, splits.feature[at]] > splits.threshold[at])
    return node


def leaf_values(
    leaf: jax.Array, values: jax.Array, hessian: jax.Array, max_depth: int, l2: float | jax.Array = 0.0
) -> jax.Array:
    """Return ``sum(values) / (sum(hessian) + l2)`` of every leaf, (2**max_depth, C); 0 where that is 0 / 0."""
    cells = jnp.zeros((2**max_depth, values.shape[1] + 1), values.dtype)
    sums = cells.at[leaf].add(jnp.concatenate([values, hessian[:, None]], axis=1))
    below = sums[:, -1:] + l2
    return sums[:, :-1] / jnp.where(below > 0, below, jnp.inf)


def indicators(y: jax.Array, weights: jax.Array, n_classes: int) -> jax.Array:
    """Return the targets (n, 1), or the indicators of the classes (n, K), 0 where the weight is 0."""
    targets = jax.nn.one_hot(y, n_classes, dtype=weights.dtype) if n_classes else y[:, None].astype(weights.dtype)
    return jnp.where(weights[:, None] > 0, targets, 0.0)


def centred(targets: jax.Array, weights: jax.Array) -> jax.Array:
    """Return weighted targets about their mean: the variance, or Gini, criterion as sums to separate.

    Of two indicators one is enough.
    """
    targets = targets[:, :1] if targets.shape[1] == 2 else targets
    return weights[:, None] * (targets - weights @ targets / weights.sum())


@record
class Tree(Inducer):
    """Decision tree (Breiman, Friedman, Olshen and Stone, 1984): least squares, or Gini impurity for classes.

    Split points are looked for between bins of the features, cut at weighted quantiles of the training
    rows; a feature with at most ``n_bins`` values has them all, and the tree is then the exact one.

    Parameters
    ----------
    max_depth : int
    n_bins : int
        Bins of a feature.
    min_leaf : float
        Weight of the rows that a leaf must have.
    """

    max_depth: int = static(default=6)
    n_bins: int = static(default=32)
    min_leaf: float = 5.0

    task: ClassVar[str] = "any"

    def __post_init__(self) -> None:
        check_count("max_depth", self.max_depth, 1)
        check_count("n_bins", self.n_bins, 2)
        check_positive("min_leaf", self.min_leaf)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count what growing one tree takes: two to four times the data."""
        return 8 * n * (4 * d + max(n_classes, 1))

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Grow the tree; ``key`` is not used."""
        targets = indicators(y, weights, n_classes)
        codes = bin_codes(X, weights, self.n_bins)
        splits, leaf = grow(
            X,
            codes,
            centred(targets, weights),
            None,
            weights,
            max_depth=self.max_depth,
            n_bins=self.n_bins,
            min_leaf=self.min_leaf,
        )
        means = leaf_values(leaf, weights[:, None] * targets, weights, self.max_depth)
        return Fitted((splits, means), jnp.asarray(True))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Return means, or shares of the classes, of the leaves."""
        splits, means = params
        found = means[leaf_of(splits, X)]
        return found[:, 0] if found.shape[1] == 1 else found
