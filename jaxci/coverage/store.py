"""A folder of finished cells: a manifest that says what is studied, and one small file a cell."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import socket
import zlib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
import scipy

from jaxci.whole_files import write_whole

MANIFEST = "manifest.json"
UNKNOWN = "unknown"
"""Stands in what determines a cell for what cannot be told any more, and is not compared."""


def file_name(name: str) -> str:
    """Return a file name for a cell: readable, safe, and different for different names."""
    readable = re.sub(r"[^A-Za-z0-9.=-]+", "_", name).strip("_")[:80]
    return f"{readable}-{zlib.crc32(name.encode()):08x}.json"


def _storable(value: Any) -> Any:
    """Turn numbers that JSON does not know into strings, and NumPy's into Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(k): _storable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(v) for v in value]
    return value


_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        return _SPECIAL.get(value, value)
    if isinstance(value, dict):
        return {k: _restored(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    return value


def surroundings() -> dict[str, str]:
    """Return versions and device, as every cell records them."""
    device = jax.local_devices()[0]
    return {
        "jaxci": version("jaxci"),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "device": f"{device.platform} ({device.device_kind})",
        "dtype": "float32 products, float64 estimates",
    }


def difference(
    old: Any, new: Any, path: str = "", grows: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, Any, Any] | None:
    """Return path and values of the first field in which two descriptions differ; None if they agree.

    ``grows`` names by their path the fields in which ``new`` may have more than ``old``, and how:
    "contains" keeps every entry there was, "at least" does not fall, "free" may be anything.
    """
    how = grows.get(path)
    if how == "free" or (how == "at least" and new >= old):
        return None
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(k for k in new if k not in old and how != "contains")]:
            here = f"{path}.{key}" if path else str(key)
            if key not in old or key not in new:
                return here, old.get(key, "nothing"), new.get(key, "nothing")
            if found := difference(old[key], new[key], here, grows):
                return found
        return None
    if how == "contains" and all(entry in new for entry in old):
        return None
    return None if old == new else (path, old, new)


def _known(wanted: Any, told: Any) -> Any:
    """Return a description in which what is :data:`UNKNOWN` is as ``told`` has it."""
    if not isinstance(wanted, dict) or not isinstance(told, dict):
        return wanted
    found = {key: _known(value, told.get(key)) for key, value in wanted.items() if value != UNKNOWN}
    return found | {key: told[key] for key, value in wanted.items() if value == UNKNOWN and key in told}


def digest(value: Any) -> str:
    """Return a fingerprint of plain values: equal for equal ones, whatever the order of their fields."""
    return hashlib.sha256(json.dumps(_storable(value), sort_keys=True).encode()).hexdigest()


class DamagedFile(ValueError):
    """A file of a folder that is not what it should be."""

    def __init__(self, path: Path, why: str, how: str = "delete it, or run it again (recompute=True, --recompute)"):
        super().__init__(f"{path} {why}: {how}")


def _content(path: Path) -> dict[str, Any]:
    """Return what a JSON file of a folder holds."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise DamagedFile(path, f"cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"is damaged or cut short ({error})") from None
    if not isinstance(found, dict):
        raise DamagedFile(path, "is damaged: it holds no record")
    return _restored(found)


def _check_hash(path: Path, record: Mapping[str, Any]) -> None:
    """Raise where a file was changed since it was written; those of an earlier version do not tell."""
    known = record.get("hash")
    if known is not None and known != digest({key: value for key, value in record.items() if key != "hash"}):
        raise DamagedFile(path, "was changed since it was written: its content is not what its hash was taken of")


def _with_hash(content: Mapping[str, Any]) -> bytes:
    """Return a JSON file that holds the content, and a fingerprint of it."""
    return json.dumps({**_storable(content), "hash": digest(content)}, indent=1).encode()


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclasses.dataclass(frozen=True)
class Store:
    """Finished cells of one study in a folder.

    Every record says what it is of: the name of the cell and what determines its content, which is compared whenever it
    is read. ``grows`` names the fields in which a study may have more than the folder (see :func:`difference`).
    """

    folder: Path
    grows: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def opened(
        cls,
        folder: str | Path,
        description: Mapping[str, Any],
        *,
        grows: Mapping[str, str] = MappingProxyType({}),
        create: bool = True,
        recompute: bool = False,
    ) -> Store:
        """Open the folder of the study with this ``description``.

        With ``create`` a new one gets its manifest, and that of a study that has grown is written again; with
        ``recompute`` also one that is damaged or lacking.

        Raises
        ------
        ValueError
            If the folder holds another study (the message names the first field that differs), or cells without a
            manifest.
        DamagedFile
            If the manifest is damaged.
        """
        store = cls(Path(folder), grows)
        wanted = _storable(description)
        path = store.folder / MANIFEST
        try:
            held = store._manifest()
        except DamagedFile:
            if not recompute:
                raise
            held = None
        if held is not None and (found := difference(held, wanted, grows=grows)):
            field, old, new = found
            may = f" (it may only grow, in {', '.join(grows)})" if grows else ""
            raise ValueError(
                f"{store.folder} holds another study: {field} is {_brief(old)} there and {_brief(new)} here; "
                f"give another folder, or the study as it was{may}"
            )
        if create and held != wanted:
            manifest = {"study": wanted, "hash": digest(wanted), **surroundings()}
            write_whole(path, json.dumps(manifest, indent=1).encode())
        return store

    def description(self) -> dict[str, Any]:
        """Return the description of the study that the folder holds.

        Raises
        ------
        ValueError
            If there is none, or its manifest is damaged.
        """
        held = self._manifest()
        if held is None:
            raise ValueError(f"{self.folder} holds no study: there is no {MANIFEST}")
        return _restored(held)

    def _manifest(self) -> dict[str, Any] | None:
        """Return the study that the folder holds, as it was stored; None where there is nothing in it."""
        path, how = self.folder / MANIFEST, "write it again for this study (recompute=True, --recompute)"
        if not path.exists():
            if any((self.folder / "cells").glob("*.json")):
                raise DamagedFile(path, "is not there, and the folder holds cells", how)
            return None
        try:
            found = json.loads(path.read_bytes())
            study, known = found["study"], found["hash"]
        except OSError as error:
            raise DamagedFile(path, f"cannot be read ({error.strerror})", how) from None
        except (ValueError, RecursionError, TypeError, KeyError) as error:
            raise DamagedFile(path, f"is damaged or cut short ({error})", how) from None
        if digest(study) != known:
            raise DamagedFile(path, "is damaged: its study is not the one that its hash was taken of", how)
        return study

    def _path(self, name: str) -> Path:
        return self.folder / "cells" / file_name(name)

    def has(self, name: str, of: Mapping[str, Any]) -> bool:
        """Whether a cell is finished."""
        return self.read(name, of) is not None

    def write(self, name: str, of: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Write a finished cell; ``of`` is what determines it."""
        process = f"{os.getpid()} on {socket.gethostname()}"
        content = {"name": name, "of": of, **record, "surroundings": {**surroundings(), "process": process}}
        write_whole(self._path(name), _with_hash(content))

    def read(self, name: str, of: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a finished cell as it was written; None if it is not there, or of the study before it grew.

        Raises
        ------
        DamagedFile
            If the file is cut short, was changed, cannot be read, or is that of another cell or study.
        """
        path = self._path(name)
        if not path.exists():
            return None
        record = _content(path)
        grown = self.check(path, name, of, record)
        if not isinstance(record.get("rows"), list) or "seconds" not in record:
            raise DamagedFile(path, "is damaged: it holds no rows")
        _check_hash(path, record)
        return None if grown else record

    def check(self, path: Path, name: str, of: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
        """Check what a record says that it is of; return whether the study has grown since.

        Raises
        ------
        DamagedFile
            If it is of something else.
        """
        told, wanted = _storable(record.get("of")), _storable(of)
        if record.get("name") != name:
            raise DamagedFile(path, f"is not of {name!r} but of {record.get('name', 'nothing')!r}")
        if not isinstance(told, dict):
            raise DamagedFile(path, "does not say what it is of, as files of an earlier version")
        wanted = _known(wanted, told)
        if found := difference(told, wanted, grows=self.grows):
            field, old, new = found
            raise DamagedFile(path, f"is of another study: {field} is {_brief(old)} there and {_brief(new)} here")
        return told != wanted

    def started(self, name: str) -> bool:
        """Whether there is a file of a cell, whatever it holds."""
        return self._path(name).exists()

    def strangers(self, names: Iterable[str]) -> list[Path]:
        """Return files among the cells that are of no cell of ``names``."""
        known = {file_name(name) for name in names}
        return sorted(path for path in (self.folder / "cells").glob("[!.]*") if path.name not in known)

    def discard(self, name: str) -> None:
        """Delete what there is of a cell."""
        for path in (self._path(name), self.tally(name)):
            path.unlink(missing_ok=True)

    def _note(self, name: str) -> Path:
        return self.folder / "truths" / file_name(name)

    def note(self, name: str, of: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a note (true values of a distribution) if there is one, checked as cells are."""
        path = self._note(name)
        if not path.exists():
            return None
        record = _content(path)
        self.check(path, name, of, record)
        if not isinstance(record.get("truths"), dict):
            raise DamagedFile(path, "is damaged: it holds no true values")
        _check_hash(path, record)
        return record["truths"]

    def keep_note(self, name: str, of: Mapping[str, Any], truths: Mapping[str, Any]) -> None:
        """Keep a note beside the cells."""
        write_whole(self._note(name), _with_hash({"name": name, "of": of, "truths": truths}))

    def discard_note(self, name: str) -> None:
        """Delete a note."""
        self._note(name).unlink(missing_ok=True)

    def part(self, name: str, process: int) -> Path:
        """Path of what one of several processes counted in a cell."""
        return self.folder / "parts" / f"{file_name(name)[:-5]}.{process}.npz"

    def tally(self, name: str) -> Path:
        """Path of all that was counted in a cell."""
        return self.folder / "tallies" / f"{file_name(name)[:-5]}.npz"
