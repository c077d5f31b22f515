"""What decision trees are grown from and what they become: sorted rows, shapes, nodes."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Table(NamedTuple):
    """Rows sorted by every feature.

    ``X`` (n, d) are values, ``ranks`` (n, d) count from 0 and are alike for equal values; ``order`` (n, d)
    holds ``rank << bits | row`` by place, where n rows need so many bits.
    """

    X: jax.Array
    ranks: jax.Array
    order: jax.Array


class Nodes(NamedTuple):
    """Nodes of a tree from the root on.

    One with a ``child`` sends rows there, or to the node after it where their ``feature`` exceeds
    ``threshold``; a leaf has the child 0.
    """

    feature: jax.Array
    threshold: jax.Array
    child: jax.Array


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is known of a tree before it grows.

    Attributes
    ----------
    max_depth, max_leaves : int or None
        Levels of splits and leaves at most.
    n_tried : int or None
        Features drawn for every node, of those that vary in it; None: all.
    shares : bool
        Whether values are weighted indicators of classes, so that nodes of one class need no search.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    n_tried: int | None = None
    shares: bool = False


def table(X: jax.Array) -> Table:
    """Sort rows (n, d) by every feature.

    Raises
    ------
    ValueError
        If there are more rows than the integers of single precision number.
    """
    n = X.shape[0]
    dtype = jax.dtypes.canonicalize_dtype(jnp.int32 if 2 * row_bits(n) < 32 else jnp.int64)
    if 2 * row_bits(n) >= jnp.iinfo(dtype).bits:
        raise ValueError(f"X must have at most 32,768 rows where 64-bit JAX (jax.enable_x64) is off; got {n}")
    rows = jnp.argsort(X, axis=0).astype(jnp.int32)
    x = jnp.take_along_axis(X, rows, axis=0)
    ranks = jnp.cumsum(jnp.pad(x[1:] != x[:-1], ((1, 0), (0, 0))), axis=0, dtype=jnp.int32)
    own = jnp.zeros_like(ranks).at[rows, jnp.arange(X.shape[1])].set(ranks, unique_indices=True)
    return Table(X, own, ranks.astype(dtype) << row_bits(n) | rows)


def row_bits(n: int) -> int:
    """Return the bits that n rows need."""
    return max(n - 1, 1).bit_length()


def node_count(n: int, max_depth: int | None) -> int:
    """Return how many nodes a tree of n rows has at most."""
    return 2 * n - 1 if max_depth is None or max_depth > 30 else min(2 * n - 1, 2 ** (max_depth + 1) - 1)


def take(array: jax.Array, *at: Any) -> jax.Array:
    """Return ``array[at]`` for indices that are known to be in range."""
    return array.at[at].get(mode="promise_in_bounds")


def leaf_of(nodes: Nodes, X: jax.Array) -> jax.Array:
    """Return the leaf (n,) of every row in one tree."""
    rows = jnp.arange(X.shape[0])

    def step(node: jax.Array) -> jax.Array:
        child = take(nodes.child, node)
        right = take(X, rows, take(nodes.feature, node)) > take(nodes.threshold, node)
        return jnp.where(child > 0, child + right, node)

    return jax.lax.while_loop(lambda node: (take(nodes.child, node) > 0).any(), step, jnp.zeros(X.shape[0], jnp.int32))
