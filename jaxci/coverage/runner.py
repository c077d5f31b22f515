"""Running a study into a folder: cell by cell, resumable, by one process or several."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import errno
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import jax

from jaxci.checks import check_count, nearest
from jaxci.coverage.banks import Banks
from jaxci.coverage.claims import POLL, Claims
from jaxci.coverage.processes import Processes, Work
from jaxci.coverage.results import StudyResults, as_columns
from jaxci.coverage.store import DamagedFile, Store
from jaxci.inference.held import few_programs
from jaxci.inference.sharding import Spread
from jaxci.resampling.threads import begin
from jaxci.whole_files import write_whole

LEAST_MEMORY = 2**20
"""Bytes that a run is limited to, at least: with less it would take resamples one by one, and not end."""


def check_memory(name: str, limit: Any) -> int:
    """Return a number of bytes that a run can be limited to."""
    if check_count(name, limit, 0) < LEAST_MEMORY:
        raise ValueError(f"{name} must be at least {LEAST_MEMORY:,} bytes; got {limit}")
    return int(limit)


class Runnable(abc.ABC):
    """A study: a description that identifies it, and cells that can be judged one by one.

    ``called`` is how errors name it; ``limits_memory`` says whether its cells can be computed in parts that fit a
    limit; ``grows`` names the fields of :meth:`to_dict` and :meth:`identity` in which it may have more than its folder,
    and how (see :func:`~jaxci.coverage.store.difference`); ``tags`` are the columns that describe each distribution.
    """

    called: ClassVar[str] = "a study"
    limits_memory: ClassVar[bool] = True
    grows: ClassVar[Mapping[str, str]] = MappingProxyType({})
    tags: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    seed: int

    @classmethod
    def check_fields(cls, given: Mapping[str, Any], needs: Sequence[str] = ()) -> None:
        """Raise ``ValueError`` if ``given`` has a field that the study has not, or lacks one of ``needs``."""
        fields = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
        for key in given:
            if key not in fields:
                raise ValueError(f"{cls.called} has no field {key!r}; {nearest(key, fields)}")
        for key in needs:
            if key not in given:
                raise ValueError(f"{cls.called} needs the field {key!r}; got {', '.join(given) or 'nothing'}")

    def key(self, name: str) -> jax.Array:
        """JAX key of a cell, or of a distribution: from the seed and the name alone."""
        return jax.random.fold_in(jax.random.key(self.seed, impl="threefry2x32"), zlib.crc32(name.encode()))

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study, as plain numbers, strings, lists and dictionaries."""

    @abc.abstractmethod
    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells."""

    @abc.abstractmethod
    def identity(self, name: str) -> dict[str, Any]:
        """Return what determines the content of a cell besides its name, as plain values."""

    @abc.abstractmethod
    def judged(self, name: str, work: Work, progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        """Return the record of a cell: ``rows`` and ``seconds``; None from all processes but the first."""

    def left_out(self) -> list[str]:
        """Return what of the design is not judged, and what is judged but says nothing, in sentences: nothing."""
        return []

    def notes(self) -> dict[str, dict[str, Any]]:
        """Return what determines each note that cells share, by its name: there are none."""
        return {}

    def cell_tags(self, name: str) -> Mapping[str, str]:
        """Return columns that describe a cell and do not determine it: none."""
        return {}

    def banks(self) -> Banks | None:
        """Return the banks that cells share: none."""
        return None

    @property
    @abc.abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks of a cell, which cost the same: groups of data sets, or repetitions."""

    @abc.abstractmethod
    def shortened(self, n_blocks: int) -> Runnable:
        """Return the study with fewer blocks of the same size, to time it."""

    def numbers(self, name: str) -> tuple[int, int]:
        """Return the resamples of a cell, and its data sets a block: one each where these do not decide its cost."""
        return 1, 1

    def work(self, name: str) -> float:
        """Return the numbers that a block of a cell multiplies: 0 where that is not known."""
        return 0.0

    def thinned(self, name: str, n_blocks: int, work: float) -> Runnable:
        """Return the study with fewer blocks, of resamples and data sets so few that a cell has ``work`` to do."""
        return self.shortened(n_blocks)

    @abc.abstractmethod
    def cost(self, name: str) -> tuple[str, int]:
        """Return what the cost of a cell depends on: its kind, and n."""

    def bank_bytes(self, n: int) -> int:
        """Return the bytes of the banks that are kept at sample size ``n``: none."""
        return 0

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return cells in the order in which they are run."""
        return list(names)

    def save(self, path: str | Path) -> None:
        """Write the study to a TOML file."""
        import tomli_w

        write_whole(Path(path), tomli_w.dumps(self.to_dict()).encode())

    def run(
        self,
        folder: str | Path,
        *,
        memory_limit: int | None = None,
        devices: Sequence[jax.Device] | None = None,
        progress: bool | Callable[[int, int], None] = False,
        recompute: bool = False,
        keep_tallies: bool = True,
    ) -> StudyResults:
        """Simulate every cell that ``folder`` does not hold yet, and return all results.

        A cell is written when it is finished, all at once: a run that is killed loses no more than
        the cell under way, and running again goes on to the same results, bit for bit on the same
        device. Draws depend on the seed alone.

        Runs that are started on one folder share its cells: each claims a cell before it computes it
        (:class:`~jaxci.coverage.claims.Claims`), and all return when every cell is done. Within a run
        the replications of a cell are spread over ``devices``, those of this process by default; after
        ``jax.distributed.initialize`` every process takes its share of the groups. All of them must see
        ``folder``.

        The study may have more than the folder: see :func:`~jaxci.coverage.store.difference` and
        ``grows``. Cells that stay as they were are kept. Where a cell of a :class:`Study` gets more
        statistics, methods, or groups of the same size, only these are computed, from what was counted in
        it; without ``tallies/`` of the folder, and in other studies, the cell is computed anew.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        memory_limit : int, optional
            Bytes that the replicates, or the fits, of some data sets may take at a time; at least 2**20.
        devices : sequence of jax.Device, optional
        progress : bool or callable
            True writes a line with rate and time left to stderr; a function is called with
            (done, total).
        recompute : bool
            Compute again what the folder holds damaged, or of something else; by default it is an error.
        keep_tallies : bool
            Keep all that is counted in a cell of a :class:`Study`, so that it can grow: 8 bytes a
            replication for each estimate and each interval.

        Returns
        -------
        StudyResults

        Raises
        ------
        ValueError
            If ``folder`` holds another study (the message names the field that differs) or a file that
            is damaged, or ``memory_limit`` is below 2**20 or given where a study cannot honour it.
        """
        begin()
        if memory_limit is not None:
            check_memory("memory_limit", memory_limit)
            if not self.limits_memory:
                raise ValueError(
                    f"memory_limit must be None for a {type(self).__name__}, which holds one data set at a time; "
                    f"got {memory_limit}"
                )
        processes, spread = Processes.here(), Spread.over(devices)
        if processes.index > 0:
            processes.wait("opened")
        first = processes.index == 0
        store = store_of(self, folder, create=first and recompute, recompute=recompute)
        if first and recompute:
            _discard_damaged(self, store)
        for note, of in self.notes().items():
            store.note(note, of)
        names = self.cell_names()
        left = self.in_order([name for name in names if not store.has(name, self.identity(name))])
        if first:  # all that is there belongs to the study: one that has grown may be written down
            store_of(self, folder, create=True, recompute=recompute)
            processes.wait("opened")
        processes.wait("counted what is missing")
        pace = StudyProgress(progress, len(left))
        with Claims(store.folder / "claims") as claims:
            work = Work(store, processes, spread, memory_limit, self.banks(), claims, keep_tallies, recompute)
            while left:
                turn = Turn.of(processes.told(_turn(self, work, left).number if processes.index == 0 else 0))
                if turn.place is None:
                    time.sleep(POLL)
                    continue
                name = left.pop(turn.place)
                advance = pace.within(name)
                if turn.mine:
                    few_programs()
                    with _saying_what_is_kept(store):
                        record = self.judged(name, work, advance)
                        if record is not None:
                            store.write(name, self.identity(name), record)
                    if record is not None:
                        claims.drop(name)
                advance(1, 1)
                pace.done += 1
        pace.close()
        processes.wait("finished")
        return self._found(store)

    def results(self, folder: str | Path) -> StudyResults:
        """Return the results of the cells that are finished in ``folder``.

        Raises
        ------
        ValueError
            If the folder holds another study, a file that is damaged, or no cell of this one.
        """
        found = self._found(store_of(self, folder))
        if not found.n_done:
            raise ValueError(f"{folder} holds no finished cell of this study: run it first")
        return found

    def _found(self, store: Store) -> StudyResults:
        names = self.cell_names()
        found = {name: store.read(name, self.identity(name)) for name in names}
        done = {name: record for name, record in found.items() if record is not None}
        rows = [
            {"distribution": row["distribution"], **self.cell_tags(name), **row}
            for name, record in done.items()
            for row in record["rows"]
        ]
        return StudyResults(as_columns(rows), self, len(names), len(done))


class StudyProgress:
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


class Turn(NamedTuple):
    """What a run does next: the ``place`` of a cell among those left, and whether it is to compute it; None to wait."""

    place: int | None
    mine: bool = False

    @property
    def number(self) -> int:
        """The turn as one number, to tell other processes."""
        return 0 if self.place is None else (self.place + 1) * (1 if self.mine else -1)

    @classmethod
    def of(cls, number: int) -> Turn:
        """Return the turn of a number."""
        return cls(abs(number) - 1, number > 0) if number else cls(None)


def _turn(study: Runnable, work: Work, left: Sequence[str]) -> Turn:
    """Claim the first cell that no other run is at; one that another has finished meanwhile is passed over."""
    for place, name in enumerate(left):
        if work.claims.take(name):
            if not work.store.has(name, study.identity(name)):
                return Turn(place, mine=True)
            work.claims.drop(name)
            return Turn(place)
    return Turn(None)


@contextlib.contextmanager
def _saying_what_is_kept(store: Store) -> Iterator[None]:
    """Say in an error of a full disk, or of a file that may not grow, that what was finished before is kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        kept = f"{error.strerror}; finished cells are kept in {store.folder}, run the study again to go on"
        raise OSError(error.errno, kept, error.filename) from error


def store_of(study: Runnable, folder: str | Path, *, create: bool = False, recompute: bool = False) -> Store:
    """Open the folder of a study; see :meth:`Store.opened`."""
    return Store.opened(folder, study.to_dict(), grows=study.grows, create=create, recompute=recompute)


def _discard_damaged(study: Runnable, store: Store) -> None:
    """Delete the files of cells and notes that are damaged, or of something else."""
    for note, of in study.notes().items():
        try:
            store.note(note, of)
        except DamagedFile:
            store.discard_note(note)
    for name in study.cell_names():
        try:
            store.read(name, study.identity(name))
        except DamagedFile:
            store.discard(name)
