"""Permutation tests of a mean difference, on the device: paired by sign flips, unpaired by labels."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

BLOCK = 2**21
"""Random numbers held at a time by a permutation test."""
TIE = 1e-10
"""Permuted statistics this close to the observed one, relative to its scale, count as equal."""


@functools.partial(jax.jit, static_argnames=("chunk", "exact"))
def _count_flips(
    key: jax.Array, differences: jax.Array, total: jax.Array, bound: jax.Array, *, chunk: int, exact: bool
) -> jax.Array:
    """Count the sign flips, of ``total``, whose absolute sum of ``differences`` (units,) reaches ``bound``."""
    units = differences.shape[0]

    def bits(index: jax.Array) -> jax.Array:
        if exact:
            return (index >> jnp.arange(units)) & 1
        return jax.random.bits(jax.random.fold_in(key, index), (units,), jnp.uint32) & 1

    def one(index: jax.Array) -> jax.Array:
        return jnp.abs(jnp.where(bits(index) == 1, -differences, differences).sum())

    return _count(one, total, bound, chunk)


@functools.partial(jax.jit, static_argnames=("chunk",))
def _count_labels(
    key: jax.Array, values: jax.Array, sizes: jax.Array, total: jax.Array, bound: jax.Array, *, chunk: int
) -> jax.Array:
    """Count the relabellings whose absolute difference of means reaches ``bound``.

    ``values`` (padded units,) holds both samples, then zeros; ``sizes`` are their two sizes.
    """
    place = jnp.arange(values.shape[0])

    def one(index: jax.Array) -> jax.Array:
        uniform = jax.random.uniform(jax.random.fold_in(key, index), values.shape, jnp.float64)
        order = jnp.argsort(jnp.where(place < sizes.sum(), uniform, jnp.inf))
        first = jnp.where(place < sizes[0], values[order], 0.0).sum()
        return jnp.abs(first / sizes[0] - (values.sum() - first) / sizes[1])

    return _count(one, total, bound, chunk)


def _count(one: Callable[[jax.Array], jax.Array], total: jax.Array, bound: jax.Array, chunk: int) -> jax.Array:
    def step(i: jax.Array, count: jax.Array) -> jax.Array:
        index = i * chunk + jnp.arange(chunk)
        return count + jnp.sum((jax.vmap(one)(index) >= bound) & (index < total))

    return jax.lax.fori_loop(0, -(-total // chunk), step, jnp.int64(0))


def _padded(values: np.ndarray) -> np.ndarray:
    """Pad with zeros to a power of two, so that few shapes are compiled."""
    return np.pad(values, (0, (1 << (len(values) - 1).bit_length()) - len(values)))


def _chunk(units: int, total: int) -> int:
    """Return how many permutations of ``units`` are made at a time: a power of two."""
    return max(1, min(BLOCK // units, 1 << (total - 1).bit_length()))


def sign_flip_test(differences: np.ndarray, *, n_permutations: int = 50_000, seed: int = 0) -> tuple[float, int, bool]:
    """Test that paired differences (units,) have mean zero, by flipping their signs.

    Returns the two-sided p-value, the number of flips, and whether all ``2 ** units`` flips were
    taken, as they are when there are at most ``n_permutations``. Otherwise flips are drawn, and
    ``p = (1 + count) / (1 + n_permutations)``. Flip i depends on ``seed`` and i alone.

    References
    ----------
    Andre et al. (2026), supplement S7.2.1; the observed arrangement is counted among the drawn.
    """
    units = len(differences)
    exact = units <= 30 and 2**units <= n_permutations
    total = 2**units if exact else n_permutations
    bound = abs(differences.sum()) - TIE * np.abs(differences).sum()
    with jax.enable_x64(True):
        values = _padded(np.asarray(differences, float))
        size = _chunk(len(values), total)
        count = int(_count_flips(jax.random.key(seed), jnp.asarray(values), total, bound, chunk=size, exact=exact))
    return (count / total if exact else (1 + count) / (1 + total)), total, exact


def label_test(first: np.ndarray, second: np.ndarray, *, n_permutations: int = 50_000, seed: int = 0) -> float:
    """Test that two samples have one mean, by permuting their labels; return the two-sided p-value.

    ``p = (1 + count) / (1 + n_permutations)``. Permutation i depends on ``seed`` and i alone.

    References
    ----------
    Andre et al. (2026), supplement S7.2.2; the observed labels are counted among the drawn.
    """
    both = np.concatenate([first, second])
    both = both - both.mean()
    bound = abs(first.mean() - second.mean()) - TIE * np.abs(both).mean()
    with jax.enable_x64(True):
        values = _padded(both)
        size = _chunk(len(values), n_permutations)
        sizes = jnp.array([len(first), len(second)])
        key = jax.random.key(seed)
        count = int(_count_labels(key, jnp.asarray(values), sizes, n_permutations, bound, chunk=size))
    return (1 + count) / (1 + n_permutations)
