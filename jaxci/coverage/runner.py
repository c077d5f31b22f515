"""Running a study into a folder: cell by cell, resumable, by one process or several."""

from __future__ import annotations

import abc
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax

from jaxci.checks import check_count
from jaxci.coverage.banks import Banks
from jaxci.coverage.processes import Processes, Work
from jaxci.coverage.results import StudyResults, as_columns
from jaxci.coverage.store import Store, write_atomically
from jaxci.inference.sharding import Spread
from jaxci.resampling.threads import begin


class Runnable(abc.ABC):
    """A study: a description that identifies it, and cells that can be judged one by one.

    ``limits_memory`` says whether its cells can be computed in parts that fit a limit.
    """

    limits_memory: ClassVar[bool] = True

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study, as plain numbers, strings, lists and dictionaries."""

    @abc.abstractmethod
    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells."""

    @abc.abstractmethod
    def judged(self, name: str, work: Work, progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        """Return the record of a cell: ``rows`` and ``seconds``; None from all processes but the first."""

    def banks(self) -> Banks | None:
        """Return the banks that cells share: none."""
        return None

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return cells in the order in which they are run."""
        return list(names)

    def save(self, path: str | Path) -> None:
        """Write the study to a TOML file."""
        import tomli_w

        write_atomically(Path(path), tomli_w.dumps(self.to_dict()).encode())

    def run(
        self,
        folder: str | Path,
        *,
        memory_limit: int | None = None,
        devices: Sequence[jax.Device] | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> StudyResults:
        """Simulate every cell that ``folder`` does not hold yet, and return all results; see :func:`run`."""
        return run(self, folder, memory_limit=memory_limit, devices=devices, progress=progress)

    def results(self, folder: str | Path) -> StudyResults:
        """Return the results of the cells that are finished in ``folder``; see :func:`results_in`."""
        return results_in(self, folder)


class Pace:
    """Tells how far a run is: a line on stderr, or calls of a user's function with (done, total) in thousandths."""

    def __init__(self, progress: bool | Callable[[int, int], None], cells: int):
        self.cells, self.done, self.shown = cells, 0, 0.0
        self.call = progress if callable(progress) else None
        self.speaks = progress is True
        self.started = time.perf_counter()

    def within(self, name: str) -> Callable[[int, int], None]:
        """Return what is called as the cell ``name`` goes on."""

        def advance(done: int, total: int) -> None:
            share = self.done + done / total
            if self.call is not None:
                self.call(round(1000 * share), 1000 * self.cells)
            now = time.perf_counter()
            if self.speaks and now - self.shown > 0.5:
                self.shown = now
                spent = now - self.started
                left = spent / share * (self.cells - share)
                pace = f"{60 * share / spent:.3g} cells/min, {left:.0f} s left"
                line = f"cell {self.done + 1}/{self.cells} {name}: {pace}"
                print(f"\r{line[:110]:<110}", end="", file=sys.stderr, flush=True)

        return advance

    def close(self) -> None:
        """End the line."""
        if self.shown:
            print(file=sys.stderr)


def mappings() -> tuple[int, int] | None:
    """Return the memory mappings of this process and the most it may have; None where the system does not say."""
    try:
        used = Path("/proc/self/maps").read_bytes().count(b"\n")
        return used, int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return None


def few_programs() -> None:
    """Drop compiled programs when they are many: each takes memory mappings, and XLA crashes where none are left."""
    counted = mappings()
    if counted is not None and counted[0] > counted[1] // 2:
        jax.clear_caches()


def run(
    study: Runnable,
    folder: str | Path,
    *,
    memory_limit: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> StudyResults:
    """Simulate every cell of ``study`` that ``folder`` does not hold yet, and return all results.

    A cell is written when it is finished, all at once: a run that is killed loses no more than
    the cell under way, and running again goes on to the same results, bit for bit on the same
    device. The replications of a cell are spread over ``devices``, those of this process by
    default; after ``jax.distributed.initialize`` every process takes its share of the groups and
    ``folder`` must be one that all of them see. Draws depend on the seed alone.

    Parameters
    ----------
    study : Study
    folder : path
        Made if it is not there.
    memory_limit : int, optional
        Bytes that the replicates, or the fits, of some data sets may take at a time.
    devices : sequence of jax.Device, optional
    progress : bool or callable
        True writes a line with rate and time left to stderr; a function is called with
        (done, total).

    Returns
    -------
    StudyResults

    Raises
    ------
    ValueError
        If ``folder`` holds another study (the message names the field that differs), or
        ``memory_limit`` is given where a study cannot honour it.
    """
    begin()
    if memory_limit is not None:
        check_count("memory_limit", memory_limit, 1)
        if not study.limits_memory:
            raise ValueError(
                f"memory_limit must be None for a {type(study).__name__}, which holds one data set at a time; "
                f"got {memory_limit}"
            )
    processes, spread = Processes.here(), Spread.over(devices)
    if processes.index == 0:
        store = Store.opened(folder, study.to_dict())
        processes.wait("opened")
    else:
        processes.wait("opened")
        store = Store.opened(folder, study.to_dict(), create=False)
    names = study.cell_names()
    missing = study.in_order([name for name in names if not store.has(name)])
    processes.wait("counted what is missing")
    pace, work = Pace(progress, len(missing)), Work(store, processes, spread, memory_limit, study.banks())
    for name in missing:
        few_programs()
        advance = pace.within(name)
        record = study.judged(name, work, advance)
        if record is not None:
            store.write(name, record)
        advance(1, 1)
        pace.done += 1
    pace.close()
    processes.wait("finished")
    return _results(study, store)


def _results(study: Runnable, store: Store) -> StudyResults:
    names = study.cell_names()
    records = list(store.finished(names))
    rows = [row for record in records for row in record["rows"]]
    return StudyResults(as_columns(rows), study, len(names), len(records))


def results_in(study: Runnable, folder: str | Path) -> StudyResults:
    """Return the results of the cells of ``study`` that are finished in ``folder``.

    Raises
    ------
    ValueError
        If the folder holds another study, or no cell of this one.
    """
    found = _results(study, Store.opened(folder, study.to_dict(), create=False))
    if not found.n_done:
        raise ValueError(f"{folder} holds no finished cell of this study: run it first")
    return found
