"""Columns of a file of rows: Parquet, JSON lines or separated text."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import itertools
import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from jaxci.api.readers.arrays import is_number
from jaxci.api.readers.files import JSON_LINES, PARQUET, ending, json_rows, opened, places, separator
from jaxci.api.readers.texts import (
    BLANKS,
    MISSING,
    NO_LABELS,
    CsvColumns,
    WrittenLabels,
    as_names,
    as_numbers,
    as_objects,
    as_they_stand,
    named,
)
from jaxci.checks import shown

AS_CSV: dict[str, Any] = {
    "index_col": False,
    "encoding": "utf-8-sig",
    "skipinitialspace": True,
    "keep_default_na": False,
    "na_values": list(MISSING),
    "low_memory": False,
}
"""How pandas reads a CSV file."""

EMPTY = "the file is empty"
LONGER = re.compile(r"Expected \d+ fields in line")
"""What pandas says of a row that is longer than those before it."""

SMALL = 2**20
"""Bytes up to which a CSV file is read without pandas: importing that takes longer."""


def read_columns(
    path: Path,
    names: Iterable[str],
    sep: str | None = None,
    *,
    texts: Iterable[str] = (),
    labels: WrittenLabels = NO_LABELS,
) -> dict[str, np.ndarray]:
    """Read columns of a Parquet (``.parquet``, ``.pq``), JSON-lines (``.jsonl``, ``.ndjson``) or CSV (any other) file.

    Parameters
    ----------
    path : Path
        The file; a CSV file has one header line. Text may be packed (``.gz``).
    names : iterable of str
        The columns wanted.
    sep : str, optional
        What stands between the values of a CSV file: see :func:`jaxci.api.readers.files.separator`.
    texts : iterable of str
        Those of them that hold names, as of clusters: of a CSV file whole numbers where all are such (5.0 is 5),
        or else the texts as they stand, so that 1.1 is not 1.10. Blanks around a text in a CSV file are no part of it.
    labels : WrittenLabels
        Those of them that hold labels of classes, of which a CSV file may write none in two ways.

    Returns
    -------
    dict of str to (n,) array
        Numbers and booleans where all values that are present are such, otherwise strings as
        objects. Missing values are NaN or None.

    Raises
    ------
    ValueError
        If the file cannot be read as what its name says.
    KeyError
        If a column is not there, naming the nearest one, or if its name occurs twice.
    """
    wanted = list(dict.fromkeys(names))
    if ending(path) in PARQUET:
        found = _read_parquet(path, wanted)
    elif ending(path) in JSON_LINES:
        found = _read_json(path, wanted)
    else:
        found = _read_csv(path, wanted, separator(path, sep), frozenset(texts), labels)
    for name, column in found.items():
        if several := first_several(column):
            row, values = several
            raise ValueError(f"{path}, row {row}: column {name!r} must hold one value; got {shown(values)}")
    return found


def column_names(path: Path, sep: str | None = None) -> list[str]:
    """Return the names of the columns of a file, in their order; those of JSON lines are in the first."""
    if ending(path) in PARQUET:
        pa, pq = pyarrow()
        try:
            return list(pq.read_schema(path).names)
        except pa.ArrowException as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    try:
        with opened(path) as (file, _):
            if ending(path) in JSON_LINES:
                return list(next(json_rows(path, file), {}))
            return _header(_csv_rows(file, separator(path, sep)))
    except (ValueError, csv.Error) as error:
        raise ValueError(_of_csv(path, error)) from error


def pyarrow() -> tuple[Any, Any]:
    """Return the module ``pyarrow``, and its module of Parquet files."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow: install jaxci[data]") from error
    return pa, pq


def _read_parquet(path: Path, wanted: list[str]) -> dict[str, np.ndarray]:
    pa, pq = pyarrow()
    with path.open("rb") as file:
        try:
            places(path, pq.read_schema(file).names, wanted)
            table = pq.read_table(file, columns=wanted)
        except pa.ArrowException as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    return {name: arrow_column(pa, table.column(name).combine_chunks()) for name in wanted}


def arrow_column(pa: Any, column: Any) -> np.ndarray:
    """Return a column of a Parquet file, with the values of a dictionary in its place, and decimals as numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        whole = column.type.scale <= 0 and column.type.precision <= 18
        column = column.cast(pa.int64() if whole else pa.float64())
    found: np.ndarray = column.to_numpy(zero_copy_only=False)
    return found


def _read_json(path: Path, wanted: list[str]) -> dict[str, np.ndarray]:
    with opened(path) as (file, _):
        rows = list(json_rows(path, file))
    if not rows:
        raise ValueError(f"{path} has no rows")
    places(path, list(dict.fromkeys(name for row in rows for name in row)), wanted)
    return {name: json_column([row.get(name) for row in rows]) for name in wanted}


def json_column(values: list[Any]) -> np.ndarray:
    """Return values of JSON as numbers (none as NaN) or booleans where all are such, otherwise as objects."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        return as_numbers([math.nan if value is None else value for value in values])
    return np.array(values, bool) if kinds == {bool} else as_objects(values)


def first_several(column: np.ndarray) -> tuple[int, Any] | None:
    """Return the first entry of a column that is a list or an object of its own, and its row."""
    if column.dtype.kind == "O":
        for row, value in enumerate(column):
            if isinstance(value, list | tuple | dict | np.ndarray):
                return row, value
    return None


END = "\0\0\0"
"""What follows the last line, as a row of its own unless a quote is open there."""


def _csv_rows(file: IO[bytes], sep: str) -> Iterator[list[str]]:
    """Yield the rows of a text file, the first of which is the header; refuse a quote that is never closed."""
    text, number = io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), -1
    try:
        for row in csv.reader(itertools.chain(text, [END]), skipinitialspace=True, delimiter=sep):
            if row == [END]:
                return
            if row and row[-1].endswith(END):
                raise ValueError(_open_quote(number))
            yield row
            number += bool(row)
    finally:
        with contextlib.suppress(ValueError):  # of a file that is closed already
            text.detach()  # else it would close the file


def _open_quote(row: int) -> str:
    return f"{'the header' if row < 0 else f'row {row}'} opens a quote that is never closed"


def _of_csv(path: Path, error: Exception) -> str:
    said = in_our_words(error)
    return said if said.startswith((f"{path} ", f"{path}, ")) else f"{path} cannot be read as CSV: {said}"


def in_our_words(error: Exception) -> str:
    """Return what an error says, of pandas' parser as that of small files says it."""
    found = re.search(r"EOF inside string starting at row (\d+)", str(error))
    return str(error) if found is None else _open_quote(int(found[1]) - 1)


def _header(rows: Iterator[list[str]]) -> list[str]:
    """Return the first row that is no empty line."""
    for row in rows:
        if row:
            return row
    raise ValueError(EMPTY)


def _read_csv(
    path: Path, wanted: list[str], sep: str, texts: Collection[str], labels: WrittenLabels
) -> dict[str, np.ndarray]:
    read = CsvColumns(path, texts, labels)
    try:
        with opened(path) as (file, _):
            rows = _csv_rows(file, sep)
            header = _header(rows)
            at = places(path, header, wanted)
            large = path.stat().st_size > SMALL and len(header) > 1  # of one column pandas would skip empty lines
            pandas = _pandas() if large else None
            frame = None
            if pandas is not None:
                with opened(path) as (again, _):
                    frame = _frame(pandas, again, sep, read.kinds)
            if frame is None:
                cells = zip(*_cells(rows, len(header), at), strict=True)
                columns = [
                    named(x) if name in texts else read.of_texts(name, x)
                    for name, x in zip(wanted, cells, strict=False)
                ]
            else:
                columns = [
                    as_names(column) if name in texts else column for name, column in read.of_frame(frame, wanted, at)
                ]
    except (ValueError, csv.Error) as error:  # of decoding and of pandas' parser, too
        raise ValueError(_of_csv(path, error)) from error
    if not columns or not len(columns[0]):
        raise ValueError(f"{path} has no rows below its header")
    return dict(zip(wanted, columns, strict=True))


def text_batches(
    path: Path, wanted: Sequence[str], sep: str, columns: CsvColumns, most: int, skipped: int = 0
) -> Iterator[tuple[dict[str, np.ndarray], float]]:
    """Yield columns of a text file without pandas, at most ``most`` rows at a time, and the share of the file read.

    The first rows are ``skipped``.
    """
    try:
        with opened(path) as (file, share):
            rows = _csv_rows(file, sep)
            header = _header(rows)
            cells = itertools.islice(_cells(rows, len(header), places(path, header, wanted)), skipped, None)
            while batch := list(itertools.islice(cells, most)):
                read = zip(wanted, zip(*batch, strict=True), strict=True)
                yield (
                    {
                        name: as_they_stand(x) if name in columns.texts else columns.of_texts(name, x)
                        for name, x in read
                    },
                    share(),
                )
    except (ValueError, csv.Error) as error:
        raise ValueError(_of_csv(path, error)) from error


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _frame(pd: Any, file: IO[bytes], sep: str, kinds: dict[str, Any]) -> Any:
    """Return what pandas reads; None where rows are longer than the header, of which it does not tell what matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(file, sep=sep, dtype=kinds, **AS_CSV)
        except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
            if not of_longer_rows(error):
                raise
    return None


def of_longer_rows(error: Exception) -> bool:
    """Whether pandas says that rows are longer than the header, or than those before."""
    return isinstance(error, Warning) or LONGER.search(str(error)) is not None


def _cells(rows: Iterator[list[str]], width: int, places: Sequence[int]) -> Iterator[list[str]]:
    """Yield the texts of the columns wanted; a blank line is no row, but of a single column a missing value.

    What a row has beyond the header must be missing values, as after a comma at its end.
    """
    number = empty = 0
    for row in rows:
        if any(text.strip(BLANKS) not in MISSING for text in row[width:]):
            raise ValueError(f"row {number} has {len(row)} values, the header has {width}")
        if not row or (width > 1 and len(row) == 1 and not row[0].strip(BLANKS)):
            empty += width == 1
            continue
        yield from [[""] * len(places)] * empty
        yield [row[place].strip(BLANKS) if place < len(row) else "" for place in places]
        number, empty = number + empty + 1, 0


@dataclasses.dataclass(frozen=True)
class NamedScores:
    """Scores (n, K) with the names of their columns, as a frame has them."""

    columns: tuple[str, ...]
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)


def as_scores(columns: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray | NamedScores:
    """Return score columns as (n,), or (n, K) with their names where there are several."""
    scores = as_matrix(columns, names)
    return scores[:, 0] if len(names) == 1 else NamedScores(tuple(names), scores)


def as_matrix(columns: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """Return columns of numbers side by side (n, K)."""
    for name in names:
        if found := first_text(columns[name]):
            row, text = found
            raise ValueError(f"column {name!r} must hold numbers; got {text!r} in row {row}")
    return np.column_stack([columns[name].astype(np.float64) for name in names])


def first_text(column: np.ndarray) -> tuple[int, str | bytes] | None:
    """Return the first text of a column that reads like no number, and its row."""
    if column.dtype.kind not in "biuf":
        for row, value in enumerate(column):
            if isinstance(value, str | bytes) and not is_number(value):
                return row, value
    return None
