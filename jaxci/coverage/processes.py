"""Several processes that work on one study together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax

from jaxci.coverage.sharding import Spread
from jaxci.coverage.store import Store


@dataclasses.dataclass(frozen=True)
class Processes:
    """The processes of :func:`jax.distributed.initialize`; one, if it was not called."""

    count: int
    index: int

    @classmethod
    def here(cls) -> Processes:
        """Return what JAX knows of the processes."""
        return cls(jax.process_count(), jax.process_index())

    def mine(self, items: Sequence[int]) -> Sequence[int]:
        """Return every ``count``-th of ``items``, from this process's own on."""
        return items[self.index :: self.count]

    def wait(self, what: str) -> None:
        """Wait until all processes have come to the same point."""
        if self.count > 1:
            from jax.experimental import multihost_utils

            multihost_utils.sync_global_devices(what)


@dataclasses.dataclass(frozen=True)
class Work:
    """Where and with what a study is run: its folder, the processes, the devices of this one, a memory budget."""

    store: Store
    processes: Processes
    spread: Spread
    memory_limit: int | None
