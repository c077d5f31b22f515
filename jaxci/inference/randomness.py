"""From what users pass as ``rng`` to a JAX key, and a record that repeats the call."""

from __future__ import annotations

import dataclasses
import functools
import secrets
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.resampling.threads import begin


@dataclasses.dataclass(frozen=True)
class Randomness:
    """What to pass as ``rng`` to repeat a call, and the key it stands for."""

    record: Any

    @functools.cached_property
    def key(self) -> jax.Array:
        """The JAX key."""
        if not isinstance(self.record, int):
            return self.record if _is_typed(self.record) else jax.random.wrap_key_data(jnp.asarray(self.record))
        words = np.array([self.record >> 32, self.record & 0xFFFFFFFF], np.uint32)
        return jax.random.wrap_key_data(jax.device_put(words), impl="threefry2x32")


def _is_typed(rng: Any) -> bool:
    return isinstance(rng, jax.Array) and jnp.issubdtype(rng.dtype, jax.dtypes.prng_key)


def _is_key(rng: Any) -> bool:
    """Whether ``rng`` is one JAX key, typed or not."""
    if _is_typed(rng):
        return rng.shape == ()
    return isinstance(rng, jax.Array | np.ndarray) and rng.shape == (2,) and rng.dtype == np.uint32


def randomness(rng: Any) -> Randomness:
    """Turn ``rng`` (int, NumPy Generator, JAX key, or None for OS entropy) into a source of randomness.

    Raises
    ------
    TypeError
        If ``rng`` is none of these.
    RuntimeError
        In a process forked from one that had computed (:func:`~jaxci.resampling.threads.begin`).
    """
    begin()
    if rng is None:
        seed = secrets.randbits(62)
    elif isinstance(rng, np.random.Generator):
        seed = int(rng.integers(2**62))
    elif isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        seed = int(rng)
        if not 0 <= seed < 2**64:
            raise ValueError(f"rng must be an integer in [0, 2**64); got {seed}")
    elif _is_key(rng):
        return Randomness(rng)
    else:
        raise TypeError(
            f"rng must be an int, a numpy.random.Generator, a JAX key or None; got {type(rng).__name__} ({shown(rng)})"
        )
    return Randomness(seed)
