"""Cells that grow: all that was counted in one is kept in a file, and only what is new is simulated."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.coverage.cell import Cell
from jaxci.coverage.store import DamagedFile, Store
from jaxci.coverage.tally import COUNTS, MISSING, Tally
from jaxci.intervals.base import Method
from jaxci.whole_files import write_whole

Pairs = dict[str, list[Method]]
"""Methods by the name of their statistic."""


@dataclasses.dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a cell: its tally, with methods by their full label, and the number of its groups."""

    tally: Tally
    n_groups: int


def pairs_of(cell: Cell) -> Pairs:
    """Return the statistics of a cell, each with the methods that are simulated for it."""
    return {name: list(cell.simulated(name).values()) for name in cell.statistics}


def only(cell: Cell, pairs: Pairs) -> Cell:
    """Return a cell with some of its statistics, and some methods for each."""
    some = {name: methods for name, methods in pairs.items() if methods}
    return dataclasses.replace(cell, statistics={name: cell.statistics[name] for name in some}, methods=some)


def fully_labelled(cell: Cell, tally: Tally) -> Tally:
    """Return a tally with every method by its full label: as it prints, it depends on the others of a cell."""
    full = {(name, label): m.label for name in cell.statistics for label, m in cell.served(name).items()}
    found = Tally()
    found.estimates = tally.estimates
    for table, own in ((tally.counts, found.counts), (tally.widths, found.widths), (tally.shifts, found.shifts)):
        own.update({(name, full[name, label], level): groups for (name, label, level), groups in table.items()})
    return found


def as_printed(cell: Cell, tally: Tally) -> Tally:
    """Return what a fully labelled ``tally`` has of a cell, in the order and with the labels of the cell."""
    groups, found = len(cell.group_sizes()), Tally()
    for name in cell.statistics:
        if name in tally.estimates:
            found.estimates[name] = _first(tally.estimates[name], groups)
        for label, method in cell.simulated(name).items():
            for level in cell.levels:
                full = name, method.label, level
                if full in tally.counts:
                    found.counts[name, label, level] = _first(tally.counts[full], groups)
                    found.widths[name, label, level] = _first(tally.widths[full], groups)
                    found.shifts[name, label, level] = _first(tally.shifts[full], groups)
    return found


def _first(groups: Mapping[int, np.ndarray], count: int) -> dict[int, np.ndarray]:
    return {group: groups[group] for group in range(count)}


def keep(store: Store, name: str, of: Mapping[str, Any], cell: Cell, tally: Tally) -> None:
    """Write all that was counted in a cell, by full labels; ``of`` is what determines the cell."""
    groups = range(len(cell.group_sizes()))
    series = list(tally.counts)
    counts = [[tally.counts[one][g] for g in groups] for one in series]
    shifts = [[tally.shifts[one][g] for g in groups] for one in series]
    widths = [tally.widths[one][g] for one in series for g in groups]
    estimates = [tally.estimates[one][g] for one in tally.estimates for g in groups]
    told = {"name": name, "of": of, "series": series, "statistics": list(tally.estimates)}
    held = io.BytesIO()
    np.savez(
        held,
        told=np.array(json.dumps(told)),
        counts=np.array(counts, np.int64).reshape(len(series), len(groups), len(COUNTS)),
        shifts=np.array(shifts, np.float64).reshape(len(series), len(groups), 2),
        widths=np.concatenate([*widths, np.empty(0)]),
        estimates=np.concatenate([*estimates, np.empty(0)]),
    )
    write_whole(store.tally(name), held.getvalue())


def kept(store: Store, name: str, of: Mapping[str, Any], cell: Cell) -> Kept | None:
    """Return what :func:`keep` wrote of a cell before it grew.

    None if nothing is kept, its groups are not the first ones of the cell as it is now, or it was written before shifts
    were counted.

    Raises
    ------
    DamagedFile
        If the file is damaged, or of another cell or study.
    """
    path = store.tally(name)
    if not path.exists():
        return None
    told, arrays = _arrays(path)
    store.check(path, name, of, told)
    was = told["of"]
    sizes = dataclasses.replace(cell, n_replications=was["n_replications"], n_groups=was["n_groups"]).group_sizes()
    if sizes != cell.group_sizes()[: len(sizes)] or "shifts" not in arrays:
        return None
    try:
        return Kept(_tally(told, arrays, sizes), len(sizes))
    except (KeyError, ValueError, IndexError) as error:
        raise DamagedFile(path, f"is damaged ({error})") from None


def check_kept(store: Store, name: str) -> None:
    """Raise :class:`DamagedFile` if what :func:`keep` wrote of a cell, if anything, cannot be read."""
    path = store.tally(name)
    if path.exists():
        _arrays(path)


def _arrays(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with np.load(path) as file:
            arrays = dict(file)
        return json.loads(str(arrays.pop("told"))), arrays
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(path, f"is damaged or cut short ({error})") from None


def _tally(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray], sizes: list[int]) -> Tally:
    found, counts = Tally(), arrays["counts"]
    lengths = (counts.sum(axis=2) - counts[:, :, MISSING]).ravel()
    widths = iter(_split(arrays["widths"], lengths))
    for one, of_groups, shifts in zip(told["series"], counts, arrays["shifts"], strict=True):
        statistic, label, level = one
        found.counts[statistic, label, level] = dict(enumerate(of_groups))
        found.shifts[statistic, label, level] = dict(enumerate(shifts))
        found.widths[statistic, label, level] = {g: next(widths) for g in range(len(sizes))}
    estimates = iter(_split(arrays["estimates"], np.array(sizes * len(told["statistics"]), int)))
    for statistic in told["statistics"]:
        found.estimates[statistic] = {g: next(estimates) for g in range(len(sizes))}
    return found


def _split(flat: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    if lengths.sum() != len(flat):
        raise ValueError(f"{len(flat)} values where there should be {lengths.sum()}")
    return np.split(flat, np.cumsum(lengths)[:-1]) if len(lengths) else []


def what_is_new(cell: Cell, held: Kept | None) -> list[tuple[Cell, range]]:
    """Return what is to be simulated: cells with some of the statistics and methods of ``cell``, each with its groups.

    Of the groups that are kept, the statistics and methods that these lack; of the others, all.
    """
    everything, groups = pairs_of(cell), len(cell.group_sizes())
    if held is None:
        return [(only(cell, everything), range(groups))]
    known = {(name, label) for name, label, _ in held.tally.counts}
    lacking = {name: [m for m in methods if (name, m.label) not in known] for name, methods in everything.items()}
    found = [(only(cell, lacking), range(held.n_groups)), (only(cell, everything), range(held.n_groups, groups))]
    return [(part, numbers) for part, numbers in found if part.statistics and len(numbers)]


def merged(parts: list[Tally]) -> Tally:
    """Return the tally of all of ``parts``; what two of them have is that of the first."""
    return Tally.merged(reversed(parts))
