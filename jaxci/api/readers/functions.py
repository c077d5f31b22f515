"""Users' functions of samples, on the device or on the host."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.tracing import digest_of, traced

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
    """A statistic of samples whose last axis runs over observations; hashable, so programs are compiled once.

    ``computes`` is a digest of what it computes of such samples, None where it is not to be traced or JAX cannot do so.
    """

    host: Callable[..., Any]
    vectorized: bool
    computes: str | None = None

    @classmethod
    def of(cls, statistic: Callable[..., Any], vectorized: bool | None, samples: Sequence[np.ndarray]) -> Function:
        """Settle whether ``statistic`` is vectorized, and whether it is traced on such samples."""
        if vectorized is None:
            vectorized = _twin(statistic) is not None or _takes_axis(statistic)
        try:
            hash(statistic)
        except TypeError:  # programs are kept by what they compute
            statistic = functools.partial(statistic)
        function = cls(statistic, vectorized)
        if function.stays_on_host:
            return function
        try:
            steps, _ = traced(function.on_device, *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in samples))
        except Exception:
            return function
        return dataclasses.replace(function, computes=digest_of(steps))

    @property
    def device(self) -> Callable[..., Any]:
        """The function to trace."""
        return _twin(self.host) or self.host

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean, whose leave-one-out values have a formula."""
        return self.device is jnp.mean

    @property
    def stays_on_host(self) -> bool:
        """Whether it is NumPy's median and JAX computes on a CPU, where NumPy picks what XLA would sort for."""
        return self.host is np.median and jax.default_backend() == "cpu"

    @property
    def traceable(self) -> bool:
        """Whether the function is to be traced, and JAX can do so."""
        return self.computes is not None

    def on_device(self, *samples: Any) -> jax.Array:
        """Value (..., lead) of samples (lead, n): what the function returns for one sample comes first."""
        if _twin(self.host) is not None:  # of booleans JAX would take it in single precision
            samples = tuple(x.astype(float) if x.dtype == bool else x for x in samples)
        if self.vectorized:
            return _as_floats(self.device(*samples, axis=-1))
        function = self.device
        for depth in range(1, samples[0].ndim):
            function = jax.vmap(function, out_axes=-depth)
        return _as_floats(function(*samples))

    def on_host(self, *samples: np.ndarray) -> np.ndarray:
        """Value (..., lead) of samples (lead, n): what the function returns for one sample comes first."""
        if self.vectorized:
            return _as_host_floats(self.host(*samples, axis=-1))
        lead = samples[0].shape[:-1]
        values = [_as_host_floats(self.host(*(x[at] for x in samples))) for at in np.ndindex(lead)]
        return np.stack(values, axis=-1).reshape((*values[0].shape, *lead))


def _as_floats(value: Any) -> jax.Array:
    """Return a traced number, an array of them or a sequence of arrays as one array."""
    if isinstance(value, tuple | list):
        return jnp.stack([_as_floats(x) for x in value])
    if jnp.iscomplexobj(value):
        raise TypeError  # the host says which
    return jnp.asarray(value, float)


def _as_host_floats(value: Any) -> np.ndarray:
    """Return a number, an array of them or a sequence of arrays as one array."""
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and any(x is None for x in found.flat):
            raise TypeError  # which would be NaN
        return found.astype(float, casting="safe" if np.iscomplexobj(found) else "unsafe")
    except (TypeError, ValueError):
        raise TypeError(f"statistic must return a number or an array of numbers; got {shown(value)}") from None


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
