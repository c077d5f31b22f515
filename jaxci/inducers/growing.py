"""Growing decision trees: many at a time, and under ``vmap`` as many as memory allows."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxci.inducers.levels import Grower
from jaxci.inducers.nodes import Nodes, Shape, Table
from jaxci.resampling.kernels import in_batches

LANES, CELLS = 2**11, 2**23
"""Trees times features that are handled together at most, and the same times rows."""


def at_once(n: int, d: int) -> int:
    """Return how many trees of n rows and d features are grown together at most."""
    return max(1, min(LANES, CELLS // n) // d)


def workspace(n: int, d: int, trees: int) -> int:
    """Return the bytes that growing so many trees together takes: order twice, scores and places."""
    return 28 * n * d * trees


def grow(
    rows: Table,
    values: jax.Array,
    hessian: jax.Array | None,
    weights: jax.Array,
    shape: Shape,
    *,
    min_leaf: float | jax.Array,
    l2: float | jax.Array = 0.0,
    keys: jax.Array | None = None,
) -> tuple[Nodes, jax.Array]:
    """Grow T trees; return their nodes (T, M), and sums (T, M, Q) over the rows of each node.

    A side with sums V of ``values`` and H of ``hessian`` scores ``sum(V**2) / (H + l2)``; a split gains the
    scores of its sides less the score of the node. A row of weight 0 has no influence. Among equal gains the
    first of the features, and of the values, wins. With ``max_leaves``, the splits of largest gain stay,
    where a split counts no more than those above it: the tree that grows best leaf first.

    Parameters
    ----------
    rows : Table
    values : (T, n, C) array
        What to separate: sums over rows.
    hessian : (T, n) array or None
        Weights in the gain; None for ``weights``.
    weights : (T, n) array
    shape : Shape
    min_leaf : float
        Weight that both sides of a split must have.
    l2 : float
    keys : (T,) JAX keys
        Where features are drawn.

    Notes
    -----
    Sums are of the values, the hessian where there is one, and the weights. Under ``vmap`` over trees of the
    same rows, :func:`at_once` are grown together.
    """
    channels = [values, weights[..., None]] if hessian is None else [values, hessian[..., None], weights[..., None]]
    bounds = jnp.stack(jnp.broadcast_arrays(jnp.asarray(min_leaf), jnp.asarray(l2))).astype(values.dtype)
    bounds = jnp.broadcast_to(bounds, (len(values), 2))
    if shape.n_tried is not None and shape.n_tried >= rows.X.shape[1]:
        shape = dataclasses.replace(shape, n_tried=None)
    keys = None if shape.n_tried is None else keys
    return _builder(shape, values.shape[2])(rows, jnp.concatenate(channels, axis=-1), bounds, keys)


@functools.cache
def _builder(shape: Shape, n_values: int) -> Callable[..., Any]:
    """Return the builder for these settings, whose ``vmap`` makes more trees of the same rows."""

    @jax.custom_batching.custom_vmap
    def build(rows: Table, channels: jax.Array, bounds: jax.Array, keys: jax.Array | None) -> Any:
        return Grower(rows, channels, bounds, keys, shape, n_values).grown()

    @build.def_vmap
    def rule(size: int, batched: Any, rows: Table, *given: Any) -> Any:
        def every(x: Any, flags: Any) -> Any:
            return jax.tree.map(lambda x, b: x if b else jnp.broadcast_to(x, (size, *x.shape)), x, flags)

        trees = every(given, tuple(batched[1:]))
        n_trees, together = trees[0].shape[1], at_once(*rows.X.shape[-2:])
        if any(jax.tree.leaves(batched[0])):
            found = jax.lax.map(lambda both: build(both[0], *both[1]), (every(rows, batched[0]), trees))
        elif size * n_trees <= together:
            flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), trees)
            found = jax.tree.map(lambda x: x.reshape(size, n_trees, *x.shape[1:]), build(rows, *flat))
        elif 2 * n_trees <= together:
            found = in_batches(lambda own: build(rows, *own), trees, together // n_trees)
        else:
            found = jax.lax.map(lambda own: build(rows, *own), trees)
        return found, jax.tree.map(lambda _: True, found)

    return build
