"""A folder of finished cells: a manifest that says what is studied, and one small file a cell."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scipy

MANIFEST = "manifest.json"


def file_name(name: str) -> str:
    """Return a file name for a cell: readable, safe, and different for different names."""
    readable = re.sub(r"[^A-Za-z0-9.=-]+", "_", name).strip("_")[:80]
    return f"{readable}-{zlib.crc32(name.encode()):08x}.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there, whenever the process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


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


def difference(old: Any, new: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Return path and values of the first field in which two descriptions differ; None if they agree."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(k for k in new if k not in old)]:
            here = f"{path}.{key}" if path else str(key)
            if key not in old or key not in new:
                return here, old.get(key, "nothing"), new.get(key, "nothing")
            if found := difference(old[key], new[key], here):
                return found
        return None
    return None if old == new else (path, old, new)


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclasses.dataclass(frozen=True)
class Store:
    """Finished cells of one study in a folder."""

    folder: Path

    @classmethod
    def opened(cls, folder: str | Path, description: Mapping[str, Any], *, create: bool = True) -> Store:
        """Open the folder of the study with this ``description``; a new one gets its manifest.

        Raises
        ------
        ValueError
            If the folder holds another study; the message names the first field that differs.
        """
        store = cls(Path(folder))
        wanted = _storable(description)
        path = store.folder / MANIFEST
        if path.exists():
            held = json.loads(path.read_text())["study"]
            if found := difference(held, wanted):
                field, old, new = found
                raise ValueError(
                    f"{store.folder} holds another study: {field} is {_brief(old)} there and {_brief(new)} here; "
                    "give another folder, or the study as it was"
                )
        elif create:
            spec = json.dumps(wanted, sort_keys=True).encode()
            manifest = {"study": wanted, "hash": hashlib.sha256(spec).hexdigest(), **surroundings()}
            write_atomically(path, json.dumps(manifest, indent=1).encode())
        return store

    def _path(self, name: str) -> Path:
        return self.folder / "cells" / file_name(name)

    def has(self, name: str) -> bool:
        """Whether a cell is finished."""
        return self._path(name).exists()

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Write a finished cell."""
        content = {"name": name, **record, "surroundings": surroundings()}
        write_atomically(self._path(name), json.dumps(_storable(content), indent=1).encode())

    def read(self, name: str) -> dict[str, Any]:
        """Return a finished cell as it was written."""
        return _restored(json.loads(self._path(name).read_text()))

    def note(self, name: str) -> dict[str, Any] | None:
        """Return a note (true values of a distribution) if there is one."""
        path = self.folder / "truths" / file_name(name)
        return _restored(json.loads(path.read_text())) if path.exists() else None

    def keep_note(self, name: str, content: Mapping[str, Any]) -> None:
        """Keep a note beside the cells."""
        write_atomically(self.folder / "truths" / file_name(name), json.dumps(_storable(content), indent=1).encode())

    def part(self, name: str, process: int) -> Path:
        """Path of what one of several processes counted in a cell."""
        return self.folder / "parts" / f"{file_name(name)[:-5]}.{process}.npz"

    def finished(self, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Return the finished ones among cells, in their order."""
        return (self.read(name) for name in names if self.has(name))
