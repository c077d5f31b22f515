"""Users' functions of samples, on the device or on the host."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_TWINS: dict[Any, Callable[..., Any]] = {
    np.mean: jnp.mean,
    np.std: jnp.std,
    np.var: jnp.var,
    np.median: jnp.median,
    np.sum: jnp.sum,
    np.min: jnp.min,
    np.max: jnp.max,
}
"""NumPy functions whose JAX twin is meant when they are passed."""


@dataclasses.dataclass(frozen=True)
class Function:
    """A statistic of samples whose last axis runs over observations; hashable, so programs are compiled once."""

    host: Callable[..., Any]
    vectorized: bool

    @classmethod
    def of(cls, statistic: Callable[..., Any], vectorized: bool | None) -> Function:
        """Settle whether ``statistic`` is vectorized."""
        if vectorized is None:
            vectorized = _twin(statistic) is not None or _takes_axis(statistic)
        return cls(statistic, vectorized)

    @property
    def device(self) -> Callable[..., Any]:
        """The function to trace."""
        return _twin(self.host) or self.host

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean, whose leave-one-out values have a formula."""
        return self.device is jnp.mean

    def traceable(self, samples: Sequence[np.ndarray]) -> bool:
        """Whether JAX can trace the function on such samples."""
        try:
            jax.eval_shape(self.on_device, *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in samples))
        except Exception:
            return False
        return True

    def on_device(self, *samples: Any) -> jax.Array:
        """Value (...) of samples (..., n)."""
        if self.vectorized:
            return jnp.asarray(self.device(*samples, axis=-1), float)
        function = self.device
        for _ in range(samples[0].ndim - 1):
            function = jax.vmap(function)
        return jnp.asarray(function(*samples), float)

    def on_host(self, *samples: np.ndarray) -> np.ndarray:
        """Value (...) of samples (..., n)."""
        if self.vectorized:
            return np.asarray(self.host(*samples, axis=-1), float)
        lead = samples[0].shape[:-1]
        if not lead:
            return np.asarray(self.host(*samples), float)
        out = np.empty(lead)
        for at in np.ndindex(lead):
            out[at] = self.host(*(x[at] for x in samples))
        return out


def _twin(statistic: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        return _TWINS.get(statistic)
    except TypeError:  # unhashable
        return None


def _takes_axis(statistic: Callable[..., Any]) -> bool:
    try:
        return "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):
        return False
