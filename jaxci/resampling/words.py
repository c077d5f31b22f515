"""Random words of many keys at once, and what draws make of them.

They are JAX's own, bit for bit. Its Threefry goes over all words once a round on a CPU, which takes ten times as
long as the same rounds written out, of which XLA makes one loop.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.resampling.kernels import Form, by_platform, in_batches

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
TOGETHER = 2**14
"""Words made together on a CPU: in a loop of their own, so that readers do not make them again, one by one."""


def random_words(keys: jax.Array, size: int, form: Form | None = None) -> jax.Array:
    """Return ``jax.random.bits(key, (size,), uint32)`` (B, size) of every key (B,).

    Parameters
    ----------
    keys : (B,) key array
    size : int
        Words of each key, below 2**32.
    form : {"cpu", "accelerator"}, optional
        Form to use, rounds written out or JAX's own; by default that of the platform.

    References
    ----------
    Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3 (Threefry-2x32, 20 rounds).
    """
    return of_words(lambda words: words, keys, size, form)


def wide_words(keys: jax.Array, size: int, form: Form | None = None) -> jax.Array:
    """Return ``jax.random.bits(key, (size,), uint64)`` (B, size) of every key (B,), as :func:`random_words` does."""
    return of_words(lambda words: words, keys, size, form, np.uint64)


def of_words(
    function: Callable[[jax.Array], jax.Array],
    keys: jax.Array,
    size: int,
    form: Form | None = None,
    kind: type[np.unsignedinteger] = np.uint32,
) -> jax.Array:
    """Return ``function`` of the words (size,) of every key, those of :func:`random_words`, as they are made.

    They are of ``kind`` uint32, or uint64 (:func:`wide_words`).
    """

    def of_jax(keys: jax.Array) -> jax.Array:
        return jax.vmap(lambda key: function(jax.random.bits(key, (size,), kind)))(keys)

    def own_words(key: jax.Array) -> jax.Array:
        x, y = _threefry(key, size)
        return x ^ y if kind is np.uint32 else (x.astype(kind) << kind(32)) | y.astype(kind)

    def written_out(keys: jax.Array) -> jax.Array:
        data = jax.random.key_data(keys)
        return in_batches(lambda key: function(own_words(key)), data, max(1, TOGETHER // max(1, size)))

    partitionable = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    if not (partitionable and str(jax.random.key_impl(keys)) == "threefry2x32"):
        return of_jax(keys)
    return by_platform(keys, cpu=written_out, accelerator=of_jax, form=form)


def _threefry(key: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """Return both words (size,) of the cipher, of a key (2,) and the counters (0, i)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x = jnp.broadcast_to(schedule[0], (size,))
    y = jnp.arange(size, dtype=jnp.uint32) + schedule[1]
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(bits)) | (y >> np.uint32(32 - bits)))
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def split_mix(starts: jax.Array, places: jax.Array) -> jax.Array:
    """Return the words uint64 at ``places`` of the sequences of SplitMix64 from ``starts`` (uint64, they broadcast).

    References
    ----------
    Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators.
    """
    x = starts + places.astype(jnp.uint64) * _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def scaled_words(words: jax.Array, n: jax.Array) -> jax.Array:
    """Map 32-bit words to ``0..n-1``: the high half of the product ``words * n``.

    Integer arithmetic only, so the result does not depend on the 64-bit switch. An index's
    probability differs from 1/n by less than 2**-32.
    """
    n = n.astype(jnp.uint32)
    low, high = words & 0xFFFF, words >> 16
    n_low, n_high = n & 0xFFFF, n >> 16
    ll, lh, hl, hh = low * n_low, low * n_high, high * n_low, high * n_high
    middle = (ll >> 16) + (lh & 0xFFFF) + (hl & 0xFFFF)
    return (hh + (lh >> 16) + (hl >> 16) + (middle >> 16)).astype(jnp.int32)


def exponentials(keys: jax.Array, size: int) -> jax.Array:
    """Return ``jax.random.exponential(key, (size,), float32)`` (B, size) of every key (B,)."""
    uniform = (random_words(keys, size) >> np.uint32(9)).astype(jnp.float32) * np.float32(2.0**-23)
    return -jnp.log1p(-uniform)
