"""From what users pass as ``rng`` to a JAX key, and a record that repeats the call."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Randomness(NamedTuple):
    """A key, and what to pass as ``rng`` to get it again."""

    key: jax.Array
    record: Any


def randomness(rng: Any) -> Randomness:
    """Turn ``rng`` (int, NumPy Generator, JAX key, or None for OS entropy) into a key.

    Raises
    ------
    TypeError
        If ``rng`` is none of these.
    """
    if rng is None:
        seed = secrets.randbits(62)
    elif isinstance(rng, np.random.Generator):
        seed = int(rng.integers(2**62))
    elif isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        seed = int(rng)
        if not 0 <= seed < 2**64:
            raise ValueError(f"rng must be an integer in [0, 2**64); got {seed}")
    elif isinstance(rng, jax.Array) and jnp.issubdtype(rng.dtype, jax.dtypes.prng_key):
        return Randomness(rng, rng)
    elif isinstance(rng, jax.Array | np.ndarray) and rng.shape == (2,) and rng.dtype == np.uint32:
        return Randomness(jax.random.wrap_key_data(jnp.asarray(rng)), rng)
    else:
        raise TypeError(
            f"rng must be an int, a numpy.random.Generator, a JAX key or None; got {type(rng).__name__} ({rng!r})"
        )
    words = jnp.asarray([seed >> 32, seed & 0xFFFFFFFF], jnp.uint32)
    return Randomness(jax.random.wrap_key_data(words, impl="threefry2x32"), seed)
