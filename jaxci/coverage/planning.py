"""What a study will cost on this machine, from a few cells that are timed with few groups."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxci.checks import shown
from jaxci.coverage.claims import Claims
from jaxci.coverage.processes import Processes, Work
from jaxci.coverage.runner import Runnable, store_of
from jaxci.inference.sharding import Spread
from jaxci.resampling.threads import begin

TIMED = 3
"""Groups that a cell is timed with: the first waits until the second is under way, and the last has company no more."""
MUCH = 2e9
"""Rows times resamples times data sets of a group from which a cell is not timed in full: some seconds a group."""
THINNED = (2e8, 6e8)
"""The same of the two smaller cells that are timed in its place."""


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of one cell, timed with :data:`TIMED` groups twice.

    Attributes
    ----------
    start : float
        Compiling, and true values.
    bank : float
        The resamples of a group, which cells of one n may share.
    group : float
        All else of a group.
    cell : float
        What a cell takes whatever the number of its groups: coverages that are enumerated, and writing.
    """

    start: float
    bank: float
    group: float
    cell: float = 0.0


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What the cells that are left of a study will cost on this machine.

    Attributes
    ----------
    n_cells : int
        Cells that are left.
    n_timed : int
        Cells that were timed, with few groups.
    seconds : float
        Time of a run in one process.
    memory : int or None
        The most bytes that this process held so far, with those of the banks that a run keeps; None where the system
        does not tell.
    n_extrapolated : int
        Cells that were timed with fewer resamples and data sets, too, since whole groups of theirs take long.
    """

    n_cells: int
    n_timed: int
    seconds: float
    memory: int | None
    n_extrapolated: int = 0

    def __str__(self) -> str:
        held = "unknown" if self.memory is None else f"{self.memory / 2**30:.1f} GiB"
        thinned = f", {self.n_extrapolated} of them extrapolated from fewer resamples and data sets"
        return (
            f"{self.n_cells} cells to do, about {duration(self.seconds)} in one process, memory about {held} "
            f"({self.n_timed} timed{thinned if self.n_extrapolated else ''})"
        )


def duration(seconds: float) -> str:
    """Return a time in words, to two digits or so."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"


def estimate(study: Runnable, folder: str | Path, *, budget: float = 20.0) -> Estimate:
    """Return what the cells of ``study`` that ``folder`` does not hold yet will cost on this machine.

    Of every kind of cell (:meth:`Runnable.cost`) the one of the smallest and that of the largest n are computed with
    three groups, aside from the folder, until ``budget`` seconds are spent; both of the first kind always are. Others
    are taken to cost what lies between by n, and kinds of which one n was timed, or none, to grow with n as the first
    does.
    Cells whose groups would take long (:data:`MUCH`) are timed with fewer resamples and data sets, twice, and
    extrapolated: straight lines in the resamples, in proportion to the data sets.

    Parameters
    ----------
    study : Study or GeneralizationStudy
    folder : path
        Of its results; it is read, and need not be there.
    budget : float
        Seconds for timing.

    Returns
    -------
    Estimate

    Raises
    ------
    TypeError
        If ``study`` is none.
    ValueError
        If ``folder`` holds another study.
    """
    if not isinstance(study, Runnable):
        raise TypeError(f"study must be a study, which jaxci.coverage.load_study reads by name; got {shown(study)}")
    begin()
    store = store_of(study, folder)
    left = [name for name in study.cell_names() if not store.has(name, study.identity(name))]
    cost = {name: study.cost(name) for name in left}
    timed: dict[tuple[str, int], Timing] = {}
    started, thinned = time.perf_counter(), 0
    for name in _chosen(cost):
        if len(timed) > 1 and time.perf_counter() - started > budget:
            break
        much = study.work(name) > MUCH
        thinned += much
        timed[cost[name]] = _extrapolated(study, name) if much else _timing(study.shortened(TIMED), name)
    seconds = _seconds(study, list(cost.values()), timed)
    return Estimate(len(left), len(timed), seconds, _memory(study, [n for _, n in cost.values()]), thinned)


def _chosen(cost: dict[str, tuple[str, int]]) -> list[str]:
    """Return a cell of the first kind at its smallest n, one of every kind at its largest, then all that are left."""
    sizes: dict[str, list[int]] = {}
    for kind, n in cost.values():
        sizes.setdefault(kind, []).append(n)
    smallest, largest = ([(kind, pick(found)) for kind, found in sizes.items()] for pick in (min, max))
    wanted = dict.fromkeys([*smallest[:1], *largest, *smallest])
    return [next(name for name, one in cost.items() if one == cell) for cell in wanted]


def _extrapolated(study: Runnable, name: str) -> Timing:
    """Return the timing of a cell from those of two that have fewer resamples and data sets."""
    resamples, size = study.numbers(name)
    few, more = (study.thinned(name, TIMED, work) for work in THINNED)
    (low, _), (high, sets) = (one.numbers(name) for one in (few, more))
    first, second = _timing(few, name), _timing(more, name)

    def at_all(x: float, y: float) -> float:
        slope = (y - x) / (high - low) if high > low else 0.0
        return y + min(max(slope, 0.0), y / high) * (resamples - high)

    group = at_all(*(one.group + one.cell / TIMED for one in (first, second)))
    return Timing(second.start, at_all(first.bank, second.bank), group * size / sets)


def _timing(short: Runnable, name: str) -> Timing:
    banks = short.banks()
    spent: list[list[float]] = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as aside, Claims(Path(aside) / "claims") as claims:
            alone = Processes(1, 0)
            work = Work(store_of(short, aside), alone, Spread.over(), None, banks, claims, False, False)
            ends = [time.perf_counter()]

            def advance(done: int, total: int, ends: list[float] = ends) -> None:
                ends.append(time.perf_counter())

            short.judged(name, work, advance)
            spent.append([*np.diff(ends).tolist(), time.perf_counter() - ends[0]])
    (*cold, whole), (*warm, again) = spent
    group = min(warm[-2], again / TIMED) if len(warm) == TIMED else 0.0
    bank = max(0.0, cold[-2] - group) if len(cold) == TIMED else 0.0
    cell = again - TIMED * group
    return Timing(max(0.0, whole - cell - TIMED * (group + bank)), bank, group, cell)


def _seconds(study: Runnable, cells: Sequence[tuple[str, int]], timed: dict[tuple[str, int], Timing]) -> float:
    """Return the seconds of all ``cells``, kinds and sizes; programs are compiled once for each of both."""
    found = {cell: _interpolated(cell, timed) for cell in dict.fromkeys(cells)}
    starts = sum(one.start for one in found.values())
    if study.banks() is None:
        banks = sum(found[cell].bank for cell in cells)
    else:
        banks = sum({n: one.bank for (_, n), one in found.items()}.values())
    groups = sum(found[cell].group for cell in cells)
    return starts + sum(found[cell].cell for cell in cells) + study.n_blocks * (banks + groups)


def _interpolated(cell: tuple[str, int], timed: dict[tuple[str, int], Timing]) -> Timing:
    """Return the timing of a cell: between those of its kind by n, or as the first kind that was timed grows."""
    kind, n = cell
    first = next(iter(timed))[0]
    own = {size: one for (other, size), one in timed.items() if other == kind}
    if len(own) > 1 or kind == first:
        return _between(own, n)
    curve = {size: one for (other, size), one in timed.items() if other == first}
    at = _between(curve, n)
    for size, one in own.items():
        there = _between(curve, size)
        return Timing(*(x * y / z if z > 0 else y for x, y, z in zip(*map(_fields, (at, one, there)), strict=True)))
    return at


def _between(known: dict[int, Timing], n: int) -> Timing:
    sizes = sorted(known)
    columns = zip(*(_fields(known[size]) for size in sizes), strict=True)
    return Timing(*(float(np.interp(n, sizes, column)) for column in columns))


def _fields(one: Timing) -> tuple[float, ...]:
    return one.start, one.bank, one.group, one.cell


def _memory(study: Runnable, sizes: Sequence[int]) -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return held + study.bank_bytes(max(sizes, default=0))
