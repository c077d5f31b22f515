"""Cumulative sums of weights along a sorted sample, and the order and ties of that sample.

Ranked and order statistics are read off cumulative weights. The sum is taken in two levels
(a small triangular product within blocks, a scan over block totals), which on a CPU takes half
the time of one long scan for a batch of rows and which rounds less; counts are summed exactly.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.resampling.kernels import stable_order

_BLOCK = 16


def cumulative_sum(x: jax.Array, reverse: bool = False) -> jax.Array:
    """Return inclusive cumulative sums along the last axis.

    Parameters
    ----------
    x : (..., n) array
        Terms.
    reverse : bool
        Sum from the last element down to each element.

    Returns
    -------
    (..., n) array
        ``sum(x[..., :i + 1])``, or ``sum(x[..., i:])`` if ``reverse``.
    """
    x = jnp.asarray(x)
    n = x.shape[-1]
    blocks = -(-n // _BLOCK)
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, blocks * _BLOCK - n)])
    tiles = padded.reshape(*x.shape[:-1], blocks, _BLOCK)
    ones = jnp.ones((_BLOCK, _BLOCK), x.dtype)
    triangle = jnp.tril(ones) if reverse else jnp.triu(ones)
    within = jnp.matmul(tiles, triangle, precision=jax.lax.Precision.HIGHEST)
    totals = within[..., 0 if reverse else -1]
    outside = jax.lax.cumsum(totals, axis=totals.ndim - 1, reverse=reverse) - totals
    return (within + outside[..., None]).reshape(padded.shape)[..., :n]


def gather(x: jax.Array, index: Any) -> jax.Array:
    """Return ``x[index]`` for ``index`` within bounds.

    The barrier keeps a batch of rows in row order; without it XLA lays the result out by column
    on a CPU, and what follows runs four times slower.
    """
    return jax.lax.optimization_barrier(jnp.asarray(x).at[index].get(mode="promise_in_bounds"))


def sorting_order(keys: Any) -> Any:
    """Return the stable ascending order (n,) int32 of ``keys`` (n,).

    None for host keys that are in order; a traced program fills it always.
    """
    if keys.__array_namespace__() is jnp:
        return jnp.argsort(keys).astype(jnp.int32)
    if np.all(keys[1:] >= keys[:-1]):
        return None
    return stable_order(keys).astype(np.int32)


@record
class Ordering:
    """Ascending order of the keys of n rows, and the extent of every group of tied keys.

    Host keys (NumPy) leave out what they do not need; those of a program (JAX, traced or not) fill all.

    Attributes
    ----------
    order : (n,) int32 or None
        Rows by ascending key; None if the rows come that way.
    first, last : (n,) int32 or None
        At each sorted position, where its group of tied keys starts and ends (inclusive);
        None if no keys are tied.
    """

    order: Any
    first: Any
    last: Any

    @classmethod
    def of(cls, keys: Any, n: int) -> Ordering:
        """Order ``keys`` (N,), of which the first ``n`` are of observations and the rest padding."""
        order = sorting_order(keys)
        return cls(order, *_ties(keys if order is None else keys[order], _distinct(keys[:n])))

    @classmethod
    def of_columns(cls, keys: Any, n: int) -> Ordering:
        """Order each column of ``keys`` (N, K): the fields are of shape (N, K)."""
        if keys.__array_namespace__() is jnp:
            return jax.vmap(lambda column: cls.of(column, n), in_axes=1, out_axes=1)(keys)
        order = np.stack([stable_order(column) for column in keys.T], axis=1).astype(np.int32)
        distinct = all(_distinct(column) for column in keys[:n].T)
        columns = zip(keys.T, order.T, strict=True)
        first, last = zip(*(_ties(column[rows], distinct) for column, rows in columns), strict=True)
        return cls(order, *((None, None) if distinct else (np.stack(first, 1), np.stack(last, 1))))

    @classmethod
    def of_entries(cls, keys: Any, n: int) -> tuple[Ordering, Any]:
        """Order all entries of ``keys`` (N, K) together: ``order`` (N * K,) names their rows.

        Also returned are the positions (N * K,) of the entries in ``keys.ravel()``.
        """
        flat = keys.ravel()
        entries = keys.__array_namespace__().argsort(flat, stable=True)
        ties = _ties(flat[entries], _distinct(keys[:n].ravel()))
        return cls((entries // keys.shape[1]).astype(np.int32), *ties), entries

    def arrange(self, x: jax.Array) -> jax.Array:
        """Return ``x`` (n,), given by row, in sorted order."""
        return x if self.order is None else gather(x, self.order)

    def below(self, x: jax.Array) -> jax.Array:
        """Sum of ``x`` (n,), sorted, below each position, plus half the sum over its tie group.

        With the weights as ``x`` this is the weighted mid-rank, less one half.
        """
        sums = cumulative_sum(x)
        if self.first is None:
            return sums - 0.5 * x
        starts = jnp.pad(sums, (1, 0))
        return 0.5 * (gather(starts, self.first) + gather(sums, self.last))

    def upward(self, x: jax.Array) -> jax.Array:
        """Sum of ``x`` (n,), sorted, over each position's tie group and all above it."""
        sums = cumulative_sum(x, reverse=True)
        return sums if self.first is None else gather(sums, self.first)

    def above(self, x: jax.Array) -> jax.Array:
        """Sum of ``x`` (n,), sorted, over all positions above each position's tie group."""
        sums = cumulative_sum(x, reverse=True)
        if self.first is None:
            return sums - x
        return gather(jnp.pad(sums, (0, 1)), self.last + 1)


def _distinct(keys: Any) -> bool:
    """Whether host ``keys`` are known to have no two equal."""
    if keys.__array_namespace__() is jnp:
        return False
    ascending = np.sort(keys)
    return not np.any(ascending[1:] == ascending[:-1])


def _ties(keys: Any, distinct: bool) -> tuple[Any, Any]:
    """First and last position (n,) of the group of equal sorted ``keys`` (n,) at each position."""
    if distinct:
        return None, None
    if keys.__array_namespace__() is jnp:
        place, change = jnp.arange(len(keys), dtype=jnp.int32), keys[1:] != keys[:-1]
        first = jax.lax.cummax(jnp.where(jnp.append(True, change), place, 0))
        last = jax.lax.cummin(jnp.where(jnp.append(change, True), place, len(keys) - 1), reverse=True)
        return first, last
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    sizes = np.diff(np.append(starts, len(keys)))
    return np.repeat(starts, sizes).astype(np.int32), np.repeat(starts + sizes - 1, sizes).astype(np.int32)
