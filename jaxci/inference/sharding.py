"""Rows of a computation spread over the devices of this process."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

AXIS = "replications"


@dataclasses.dataclass(frozen=True)
class Spread:
    """Runs ``function(rows, shared)`` with the leading axis of ``rows`` split over ``devices``.

    Every device works on its rows by itself and sees all of ``shared``. Rows of the result come
    back in their order, so that the number of devices changes no draw; sums within a row may
    round differently.
    """

    devices: tuple[jax.Device, ...]

    @classmethod
    def over(cls, devices: Sequence[jax.Device] | None = None) -> Spread:
        """Spread over ``devices`` of this process: all of them by default."""
        mine = jax.local_devices()
        chosen = tuple(mine if devices is None else devices)
        if not chosen:
            raise ValueError("devices must hold at least one device; got none")
        for device in chosen:
            if device not in mine:
                raise ValueError(f"devices must be devices of this process, {mine}; got {device}")
        return cls(chosen)

    @property
    def on_cpu(self) -> bool:
        """Whether the devices are a CPU's."""
        return self.devices[0].platform == "cpu"

    def __call__(self, function: Callable[..., Any], rows: Any, shared: Any, /, **static: Any) -> Any:
        """Return ``function(rows, shared, **static)``, compiled once for every set of ``static`` values."""
        program = _program(function, self.devices, tuple(sorted(static.items())))
        if len(self.devices) == 1:
            with jax.default_device(self.devices[0]):
                return program(rows, shared)
        size = jax.tree.leaves(rows)[0].shape[0]
        extra = -size % len(self.devices)
        if extra:
            rows = jax.tree.map(lambda x: jnp.concatenate([x, jnp.repeat(x[-1:], extra, axis=0)]), rows)
        mesh = Mesh(self.devices, (AXIS,))
        rows = jax.device_put(rows, NamedSharding(mesh, PartitionSpec(AXIS)))
        found = program(rows, jax.device_put(shared, NamedSharding(mesh, PartitionSpec())))
        if not extra:
            return found
        # On one device: to cut rows that lie on several is a collective operation, which can block where cores are few.
        return jax.tree.map(lambda x: x[:size], jax.device_put(found, self.devices[0]))


@functools.lru_cache(maxsize=256)
def _program(
    function: Callable[..., Any], devices: tuple[jax.Device, ...], static: tuple[tuple[str, Any], ...]
) -> Callable[..., Any]:
    whole = functools.partial(function, **dict(static))
    if len(devices) == 1:
        return jax.jit(whole)
    mesh = Mesh(devices, (AXIS,))
    split, same = PartitionSpec(AXIS), PartitionSpec()
    return jax.jit(jax.shard_map(whole, mesh=mesh, in_specs=(split, same), out_specs=split, check_vma=False))
