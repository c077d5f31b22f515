"""What a file of rows is by its name, how it is opened, and where its columns are."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PARQUET, JSON_LINES, TEXT = (".parquet", ".pq"), (".jsonl", ".ndjson"), (".csv", ".tsv")
GZIP = ".gz"
UNREAD = (
    ".zip", ".bz2", ".xz", ".zst", ".npy", ".npz", ".feather", ".arrow", ".h5", ".mat", ".pkl", ".xls", ".xlsx", ".ods"
)  # fmt: skip
"""How files end that hold no text, and are not read."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How texts begin that are no UTF-8."""
SEP_LINE, LONGEST = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([\t -~])"?\r?\n'), 16
"""The first line by which Excel says what stands between values, and its bytes at most."""
SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
"""What may stand between the values of a text file where it is no comma, and how ``--sep`` names it."""


def ending(path: Path) -> str:
    """Return how the name of a file ends, but for ``.gz``."""
    return Path(path.stem).suffix if path.suffix == GZIP else path.suffix


def without_ending(path: Path) -> str:
    """Return the name of a file without what tells its kind, and without ``.gz``."""
    return Path(path.stem).stem if path.suffix == GZIP else path.stem


class Opened(NamedTuple):
    """Bytes of a file, unpacked if it is packed, and the share of it that is read."""

    file: Any
    share: Callable[[], float]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Open a file behind a line in which Excel names the separator, and unpack it where its name ends in ``.gz``.

    Raises
    ------
    ValueError
        If it is not packed as its name says, or is no text in UTF-8 by its name or its beginning.
    """
    if path.suffix.lower() in UNREAD:
        known = f"CSV, JSON lines ({', '.join(JSON_LINES)}) or Parquet ({', '.join(PARQUET)})"
        raise ValueError(f"{path} must be {known}, text also packed as {GZIP}; got a file that ends in {path.suffix}")
    size = max(1, path.stat().st_size)
    with path.open("rb") as raw:

        def share() -> float:
            return raw.tell() / size

        if path.suffix != GZIP:
            _begin(path, raw)
            yield Opened(raw, share)
            return
        try:
            with gzip.GzipFile(fileobj=raw) as file:
                _begin(path, file)
                yield Opened(file, share)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} cannot be unpacked as gzip: {error}") from error


def _begin(path: Path, file: Any) -> None:
    """Go behind a line that names the separator; refuse a text that is no UTF-8."""
    head = file.read(LONGEST)
    if head.startswith(UTF_16):
        raise ValueError(f"{path} must be text in UTF-8; it begins as UTF-16 does")
    line = SEP_LINE.match(head)
    file.seek(line.end() if line else 0)


def _named_separator(path: Path) -> str | None:
    """Return the separator that the first line of a text file names, as Excel writes it."""
    with path.open("rb") as raw, contextlib.suppress(OSError, EOFError, zlib.error):  # of a file that is not packed
        line = SEP_LINE.match((gzip.GzipFile(fileobj=raw) if path.suffix == GZIP else raw).read(LONGEST))
        return line[1].decode() if line else None
    return None


def separator(path: Path, given: str | None) -> str:
    r"""Return what stands between the values of a text file: ``--sep``, where "tab" and ``\t`` are a tab.

    By default what a first line ``sep=;`` names, or a tab where the name ends in ``.tsv``, else a comma.
    """
    if ending(path) == ".json":
        raise ValueError(f"{path} must end in .jsonl, and hold an object of JSON in each line, to be read as JSON")
    if given is None:
        return _named_separator(path) or ("\t" if ending(path) == ".tsv" else ",")
    found = "\t" if given in ("tab", "\\t") else given
    if len(found) != 1:
        raise ValueError(f"--sep must be one character, or tab; got {given!r}")
    return found


def places(path: Path, header: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where the columns wanted are in the header of a file; refuse names that it lacks, or has twice."""
    from jaxci.checks import nearest

    for name in wanted:
        if name not in header:
            if padded := next((own for own in header if own.strip() == name), None):
                raise KeyError(f"{path} has no column {name!r}, but one with blanks around its name, {padded!r}")
            between = next((sign for sign in SEPARATORS if len(header) == 1 and sign in header[0]), None)
            if between is not None:
                raise KeyError(f"{path} is read as one column, {header[0]!r}: pass --sep {SEPARATORS[between]}")
            if "," in name and set(name.split(",")) <= set(header):
                raise KeyError(f"{path} has no column {name!r}; one column is wanted: join these into one first")
            raise KeyError(f"{path} has no column {name!r}; {nearest(name, header)}")
        if header.count(name) > 1:
            raise KeyError(f"{path} has {header.count(name)} columns with the name {name!r}")
    return [header.index(name) for name in wanted]


def json_rows(path: Path, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; empty lines are none.

    Raises
    ------
    ValueError
        If a line is no object of JSON: it names file and row (from 0).
    """
    number = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, row {number} cannot be read as JSON: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path}, row {number} must be an object of JSON; got {line[:80]!r}")
        yield row
        number += 1
