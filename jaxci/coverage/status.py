"""How far a study is in its folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from jaxci.coverage.claims import Claims
from jaxci.coverage.growth import check_kept
from jaxci.coverage.runner import Runnable, store_of
from jaxci.coverage.store import DamagedFile


@dataclasses.dataclass(frozen=True)
class FolderState:
    """What a folder holds of a study.

    Attributes
    ----------
    n_cells : int
        Cells of the study.
    done : list of str
        Cells that are finished.
    under_way : dict of str to str
        Cells at which a process is, and which.
    to_grow : list of str
        Cells that are finished, but of the study before it had more statistics, methods or replications.
    to_do : list of str
        Cells of which there is nothing.
    damaged : dict of str to str
        Cells, and true values, whose file is damaged or of something else, and what is wrong; of cells to grow also
        what was kept to grow them from.
    strangers : list of Path
        Files among the cells that are of no cell of the study.
    """

    folder: Path
    n_cells: int
    done: list[str]
    under_way: dict[str, str]
    to_grow: list[str]
    to_do: list[str]
    damaged: dict[str, str]
    strangers: list[Path]


def state_of(study: Runnable, folder: str | Path) -> FolderState:
    """Return what ``folder`` holds of ``study``.

    Raises
    ------
    ValueError
        If the folder holds another study, or its manifest is damaged.
    """
    store = store_of(study, folder)
    names = study.cell_names()
    found = FolderState(store.folder, len(names), [], {}, [], [], {}, store.strangers(names))
    claims = Claims(store.folder / "claims")
    for note, of in study.notes().items():
        try:
            store.note(note, of)
        except DamagedFile as error:
            found.damaged[f"true values of {note}"] = str(error)
    for name in names:
        try:
            if store.has(name, study.identity(name)):
                found.done.append(name)
            elif who := claims.others(name):
                found.under_way[name] = who
            elif store.started(name):
                check_kept(store, name)
                found.to_grow.append(name)
            else:
                found.to_do.append(name)
        except DamagedFile as error:
            found.damaged[name] = str(error)
    return found
