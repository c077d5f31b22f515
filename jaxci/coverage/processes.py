"""Several processes that work on one study together."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Iterator, Mapping, Sequence

import jax
import numpy as np

from jaxci.coverage.banks import Banks
from jaxci.coverage.claims import Claims
from jaxci.coverage.store import Store
from jaxci.inference.sharding import Spread
from jaxci.whole_files import write_whole


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
        """Wait until all processes have come to the same point.

        Raises
        ------
        ConnectionError
            If one of them has ended.
        """
        if self.count > 1:
            from jax.experimental import multihost_utils

            with _together():
                multihost_utils.sync_global_devices(what)

    def told(self, number: int) -> int:
        """Return the number that the first process gave."""
        if self.count == 1:
            return number
        from jax.experimental import multihost_utils

        with _together():
            return int(multihost_utils.broadcast_one_to_all(np.int32(number)))


@contextlib.contextmanager
def _together() -> Iterator[None]:
    """Say of what fails between processes that one of them is gone: as when a machine is taken away."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise ConnectionError(
            f"another process of this run has ended; start all again, what is finished is kept ({error})"
        ) from error


@dataclasses.dataclass(frozen=True)
class Work:
    """Where and with what a study is run.

    Its folder, the processes, the devices of this one, a memory budget, the banks that its cells share, if any, the
    claims of this process in the folder, whether all that is counted in a cell is kept there, and whether what is
    damaged is computed again.
    """

    store: Store
    processes: Processes
    spread: Spread
    memory_limit: int | None
    banks: Banks | None
    claims: Claims
    keep_tallies: bool
    recompute: bool

    def gather(self, name: str, arrays: Mapping[str, np.ndarray] | None) -> list[dict[str, np.ndarray]]:
        """Return what all processes counted in the cell ``name``, in their order; nothing but in the first.

        ``arrays`` are what this one counted: None where no group was its own.
        """
        if self.processes.count == 1:
            return [] if arrays is None else [dict(arrays)]
        if arrays is not None:
            held = io.BytesIO()
            np.savez(held, **arrays)  # type: ignore[arg-type]
            write_whole(self.store.part(name, self.processes.index), held.getvalue())
        else:  # a run that was killed may have left one
            self.store.part(name, self.processes.index).unlink(missing_ok=True)
        self.processes.wait(f"counted {name}")
        if self.processes.index > 0:
            return []
        found = []
        for path in (self.store.part(name, p) for p in range(self.processes.count)):
            if path.exists():
                with np.load(path) as part:
                    found.append(dict(part))
                path.unlink()
        return found
