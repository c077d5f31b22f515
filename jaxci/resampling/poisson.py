"""Poisson weights of rows that are never held together: a row's weights follow from its name alone.

In the bootstrap of n rows the count of each is binomial with n trials and chance 1/n, and their sum is n. Independent
Poisson counts of mean 1 are the limit of large n but for that sum, which ratios of sums do not depend on. So a row can
be weighted when it passes, and weights keyed by its name are the same in any batch, order and process.

References: Hanley & MacGibbon (2006), Computer Methods and Programs in Biomedicine 83, 57-62; Chamandy, Muralidharan,
Najmi & Naidu (2012), Estimating uncertainty for massive data streams.
"""

from __future__ import annotations

import functools
import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.resampling.words import split_mix

_SPACE = 2**32
_STEPS = np.array([t for k in range(20) if (t := round(float(special.pdtr(k, 1.0)) * _SPACE)) < _SPACE], np.uint32)
"""Uniform words from which on a Poisson count of mean 1 exceeds 0, 1, ...: within 2**-33 of its distribution."""


def name_words(names: np.ndarray) -> np.ndarray:
    """Return two words (n, 2) uint32 of every name (n,): numbers, or strings.

    Whole numbers have the same words in every type; different ones of 64 bits have different words, and so have other
    numbers of double precision. Those of strings are a hash of 64 bits.
    """
    if names.dtype.kind == "f":
        whole = (names == np.round(names)) & (np.abs(names) < 2.0**63)
        bits = names.astype(np.float64).view(np.uint64)
        found = np.where(whole, np.where(whole, names, 0).astype(np.int64).view(np.uint64), bits)
    elif names.dtype.kind in "biu":
        found = names.astype(np.uint64 if names.dtype.kind == "u" else np.int64).view(np.uint64)
    else:
        texts = [str(name).encode() for name in names.tolist()]
        hashes = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
        found = np.frombuffer(hashes, "<u8").astype(np.uint64)
    return np.stack([found >> np.uint64(32), found & np.uint64(_SPACE - 1)], axis=1).astype(np.uint32)


def poisson_counts(key: jax.Array, words: jax.Array, n_resamples: int) -> jax.Array:
    """Return the counts (n, B) int32 of rows of these names' ``words`` (n, 2): Poisson of mean 1, independent.

    Those of replicate b do not depend on B. A row's are read from the sequence of SplitMix64 that starts where
    Threefry, keyed by ``key``, maps its name. Needs integers of 64 bits.
    """
    own = jax.vmap(lambda both: jax.random.key_data(_named(key, both)))(words).astype(jnp.uint64)
    starts = (own[:, :1] << np.uint64(32)) | own[:, 1:2]
    bits = (split_mix(starts, 1 + jnp.arange(n_resamples)) >> np.uint64(32)).astype(jnp.uint32)
    return sum((bits >= step).astype(jnp.int32) for step in jnp.asarray(_STEPS))


def _named(key: jax.Array, both: jax.Array) -> jax.Array:
    """Return the key of a name of two words."""
    return jax.random.fold_in(jax.random.fold_in(key, both[0]), both[1])


@functools.partial(jax.jit, static_argnames=("n_resamples", "n_cells"))
def poisson_sums(
    key: jax.Array,
    words: jax.Array,
    features: jax.Array,
    weights: jax.Array,
    codes: jax.Array,
    *,
    n_resamples: int,
    n_cells: int,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return sums of features (1 + B, k), of weights by cell (n_cells, 1 + B), and the counts (n, 1 + B) summed with.

    First come those of the data, where every row counts once, then those of B draws.

    ``features`` (n, k) and ``weights`` (n,) are float64, ``codes`` (n,) the cells of rows.
    """
    drawn = poisson_counts(key, words, n_resamples).astype(features.dtype)
    counts = jnp.concatenate([jnp.ones((len(words), 1), features.dtype), drawn], axis=1)
    sums = jnp.matmul(counts.T, features, precision=jax.lax.Precision.HIGHEST)
    return sums, jax.ops.segment_sum(weights[:, None] * counts, codes, n_cells), counts
