"""Files that are there whole, or as they were before, whenever the process ends."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield where to write a file that is put in its place when it is whole: beside it, with the same ending.

    A link, a pipe or a device, such as ``/dev/stdout``, is written as it stands.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield path
        return
    draft = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(draft)):  # writing itself does not say where
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there, and the folders that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_bytes(content)
