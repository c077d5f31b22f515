"""Files as batches of rows, so that they may be larger than memory: CSV, Parquet and JSON lines."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from jaxci.api.readers.arrays import is_number
from jaxci.api.readers.files import GZIP, JSON_LINES, PARQUET, TEXT, ending, json_rows, opened, places, separator
from jaxci.api.readers.tables import (
    AS_CSV,
    arrow_column,
    column_names,
    first_several,
    in_our_words,
    json_column,
    of_longer_rows,
    pyarrow,
    text_batches,
)
from jaxci.api.readers.texts import NO_LABELS, CsvColumns, WrittenLabels, as_names
from jaxci.checks import shown

BATCH_ROWS, BATCH_BYTES = 2**17, 2**24
"""Rows of a batch at most, and of a text file bytes, about."""
IN_MEMORY, PACKED = 8, 5
"""How many times its size a file takes in memory while it is read and evaluated as a whole, and unpacked, roughly."""


class Batch(NamedTuple):
    """Columns of some rows of a file by name, the first being row ``start`` (from 0)."""

    path: Path
    start: int
    columns: dict[str, np.ndarray]


class Rules(TypedDict):
    """Names of columns by what they must hold, as :func:`read_batches` takes them."""

    numbers: tuple[str, ...]
    weights: tuple[str, ...]
    labels: WrittenLabels
    texts: tuple[str, ...]


def data_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of one data set: those named, and those in folders by name, at any depth, that are not hidden.

    Raises
    ------
    ValueError
        If a folder has no file whose name ends as data do, or a file is named twice, whose rows would count twice.
    """
    known = (*PARQUET, *JSON_LINES, *TEXT)
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if ending(p) in known and not _hidden(p, path) and p.is_file())
            if not inside:
                endings = ", ".join((*TEXT, *PARQUET, *JSON_LINES))
                raise ValueError(f"{path} must have files that end in one of {endings}, or so with .gz; got none")
            found += inside
        else:
            found.append(path)
    seen: dict[Path, Path] = {}
    for path in found:
        there = path.resolve()
        if there in seen:
            raise ValueError(f"FILE must name every file once, or rows count twice; got {seen[there]} and {path}")
        seen[there] = path
    return found


def _hidden(path: Path, folder: Path) -> bool:
    """Whether a file of a folder, or a folder on the way to it, has a name that begins with "." or "_"."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def available_memory() -> float:
    """Return the bytes of memory that the process may still use; infinite where the system does not tell."""
    known = [float("inf")]
    info = Path("/proc/meminfo")
    if info.exists():
        lines = dict(line.split(":", 1) for line in info.read_text().splitlines())
        known.append(1024.0 * int(lines["MemAvailable"].split()[0]))
    try:
        import resource
    except ImportError:  # Windows
        return min(known)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        known.append(float(limit))
    return min(known)


def too_large(paths: Sequence[Path]) -> bool:
    """Whether files, read as a whole, would take more than half of the memory that is available."""
    there = [path for path in paths if path.exists()]  # a file that is not there is refused later
    size = sum(path.stat().st_size * (PACKED if path.suffix == GZIP else 1) for path in there)
    return IN_MEMORY * size > available_memory() / 2


def read_batches(
    paths: Sequence[Path],
    names: Sequence[str],
    numbers: Sequence[str],
    progress: Callable[[int, int], None] | None = None,
    sep: str | None = None,
    *,
    weights: Sequence[str] = (),
    labels: WrittenLabels = NO_LABELS,
    texts: Sequence[str] = (),
) -> Iterator[Batch]:
    """Yield columns of files, some rows at a time.

    Parameters
    ----------
    paths : sequence of Path
        Parquet (``.parquet``, ``.pq``), JSON lines (``.jsonl``, ``.ndjson``) or CSV (any other name); text may be
        packed (``.gz``).
    names : sequence of str
        The columns wanted.
    numbers : sequence of str
        Those of them that must hold numbers.
    progress : callable, optional
        Called with (bytes read, bytes in all).
    sep : str, optional
        What stands between the values of CSV files: see :func:`jaxci.api.readers.files.separator`.
    weights : sequence of str
        Those of ``numbers`` that must not be negative.
    labels : WrittenLabels
        Columns that must hold labels of one type: no words where any of them holds numbers, none of which a CSV file
        writes in two ways.
    texts : sequence of str
        Columns that hold names, as of clusters: texts as they stand in CSV files (see :func:`whole`).

    Raises
    ------
    ValueError
        If a file cannot be read, or a value is missing, infinite, or not what its column must hold: it names file,
        row and column.
    KeyError
        If a file lacks a column.
    """
    wanted, done, numeric, rows = list(dict.fromkeys(names)), 0, False, 0
    total = sum(path.stat().st_size for path in paths)
    for path in paths:
        read = _parquet if ending(path) in PARQUET else _json_lines if ending(path) in JSON_LINES else _csv
        start, size = 0, path.stat().st_size
        for columns, share in read(path, wanted, sep, texts, labels):
            if len(columns[wanted[0]]) == 0:  # as of a header alone
                continue
            batch = Batch(path, start, columns)
            for name in wanted:
                columns[name] = _checked(batch, name, name in numbers)
            for name in weights:
                _refuse(batch, name, columns[name] < 0, "must not be negative; got {}")
            numeric = _numeric_labels(batch, labels.names, numeric)
            yield batch
            start += len(columns[wanted[0]])
            if progress is not None:
                progress(done + int(share * size), total)
        rows += start
        if start == 0 and (ending(path) not in PARQUET or (rows == 0 and path is paths[-1])):  # parts may have no rows
            raise ValueError(f"{path} has no rows")
        done += size


def whole(batches: Iterator[Batch], texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the columns of all batches together, those of ``texts`` as whole numbers where all are such."""
    parts = [batch.columns for batch in batches]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return found | {name: as_names(found[name]) for name in texts}


def _refuse(batch: Batch, name: str, bad: np.ndarray, rule: str) -> None:
    """Raise the error that the first ``bad`` value (n,) of a column breaks a rule, in which ``{}`` stands for it."""
    if bad.any():
        row = int(np.argmax(bad))
        broken = rule.format(shown(batch.columns[name][row]))
        raise ValueError(f"{batch.path}, row {batch.start + row}, column {name!r}: the value {broken}")


def _checked(batch: Batch, name: str, number: bool) -> np.ndarray:
    """Return a column without missing and infinite values, of numbers if it must be."""
    column = batch.columns[name]
    if column.dtype.kind not in "biuf":
        if several := first_several(column):
            where = f"{batch.path}, row {batch.start + several[0]}, column {name!r}"
            raise ValueError(f"{where}: there must be one value; got {shown(several[1])}")
        _refuse(batch, name, np.array([x is None or x != x for x in column], bool), "is missing")
        if number:
            _refuse(batch, name, _words(column), "must be a number; got {}")
            column = column.astype(np.float64)
    if column.dtype.kind == "f":
        _refuse(batch, name, np.isnan(column), "is missing")
        _refuse(batch, name, np.isinf(column), "must be finite; got {}")
    return column


def _numeric_labels(batch: Batch, labels: Collection[str], before: bool) -> bool:
    """Return whether labels are numbers, here or ``before``, and refuse words among them.

    A column of nothing but words is none of numbers with a slip, unless all were numbers before.
    """
    numeric = before or any(_holds_numbers(batch.columns[name]) for name in labels)
    for name in labels if numeric else ():
        if batch.columns[name].dtype.kind == "O":
            words = _words(batch.columns[name])
            if before or not words.all():
                _refuse(batch, name, words, "must be a number, as other labels are; got {}")
    return numeric


def _holds_numbers(column: np.ndarray) -> bool:
    """Whether any label is a number, and no text that reads like one."""
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    return any(issubclass(kind, int | float) and kind is not bool for kind in set(map(type, column)))


def _words(column: np.ndarray) -> np.ndarray:
    """Return which values (n,) are no numbers."""
    return np.array([not is_number(value) for value in column], bool)


def _parquet(
    path: Path, wanted: list[str], sep: str | None, texts: Sequence[str], labels: WrittenLabels
) -> Iterator[tuple[dict[str, np.ndarray], float]]:
    pa, pq = pyarrow()
    try:
        with pq.ParquetFile(path) as file:
            places(path, file.schema_arrow.names, wanted)
            rows, done = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                done += len(batch)
                yield {name: arrow_column(pa, batch.column(name)) for name in wanted}, done / rows
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def _rows_at_a_time(path: Path) -> int:
    """Return how many rows of a text file make a batch, by the length of its first lines."""
    with opened(path) as (file, _):
        head = file.read(2**16)
    return max(1, min(BATCH_ROWS, BATCH_BYTES * head.count(b"\n") // max(1, len(head))))


def _json_lines(
    path: Path, wanted: list[str], sep: str | None, texts: Sequence[str], labels: WrittenLabels
) -> Iterator[tuple[dict[str, np.ndarray], float]]:
    number, most = 0, _rows_at_a_time(path)
    with opened(path) as (file, share):
        found = json_rows(path, file)
        while rows := list(itertools.islice(found, most)):
            for row in rows:
                for name in wanted:
                    if name not in row:
                        raise ValueError(f"{path}, row {number}, column {name!r}: the value is missing")
                number += 1
            yield {name: json_column([row[name] for row in rows]) for name in wanted}, share()


def _csv(
    path: Path, wanted: list[str], sep: str | None, texts: Sequence[str], labels: WrittenLabels
) -> Iterator[tuple[dict[str, np.ndarray], float]]:
    header, most = column_names(path, sep), _rows_at_a_time(path)
    at, columns, done = places(path, header, wanted), CsvColumns(path, texts, labels), 0
    if len(header) == 1:
        yield from text_batches(path, wanted, separator(path, sep), columns, most)
        return
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("reading CSV in batches needs pandas: install jaxci[data]") from error
    reading = {"sep": separator(path, sep), "dtype": columns.kinds, "chunksize": most, **AS_CSV}
    try:
        with opened(path) as (file, share), warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            with pd.read_csv(file, **reading) as frames:
                for frame in frames:
                    yield dict(columns.of_frame(frame, wanted, at)), share()
                    done += len(frame)
            return
    except (pd.errors.ParserWarning, pd.errors.ParserError, UnicodeDecodeError) as error:
        if not of_longer_rows(error):  # which are read one by one from there on
            raise ValueError(f"{path} cannot be read as CSV: {in_our_words(error)}") from error
    yield from text_batches(path, wanted, separator(path, sep), columns, most, done)
