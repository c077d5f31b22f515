"""Columns of a file of rows: Parquet, JSON lines or separated text."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from jaxci.api.readers.arrays import is_number
from jaxci.api.readers.files import JSON_LINES, PARQUET, ending, json_rows, opened, places, separator

MISSING = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
"""What a missing value looks like in a CSV file: the words that pandas takes for one."""

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

SMALL = 2**20
"""Bytes up to which a CSV file is read without pandas: importing that takes longer."""

TRUTH = {"true": True, "false": False}


def read_columns(path: Path, names: Iterable[str], sep: str | None = None) -> dict[str, np.ndarray]:
    """Read columns of a Parquet (``.parquet``, ``.pq``), JSON-lines (``.jsonl``, ``.ndjson``) or CSV (any other) file.

    Parameters
    ----------
    path : Path
        The file; a CSV file has one header line. Text may be packed (``.gz``).
    names : iterable of str
        The columns wanted.
    sep : str, optional
        What stands between the values of a CSV file: see :func:`jaxci.api.readers.files.separator`.

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
        return _read_parquet(path, wanted)
    return _read_json(path, wanted) if ending(path) in JSON_LINES else _read_csv(path, wanted, separator(path, sep))


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
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error


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
    """Return a column of a Parquet file, with the values of a dictionary in its place."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
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
        return np.array([math.nan if value is None else value for value in values])
    return np.array(values, bool if kinds == {bool} else object)


def _csv_rows(file: IO[bytes], sep: str) -> Iterator[list[str]]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    yield from csv.reader(text, skipinitialspace=True, delimiter=sep)


def _header(rows: Iterator[list[str]]) -> list[str]:
    """Return the first row that is no empty line."""
    for row in rows:
        if row:
            return row
    raise ValueError(EMPTY)


def _read_csv(path: Path, wanted: list[str], sep: str) -> dict[str, np.ndarray]:
    try:
        with opened(path) as (file, _):
            rows = _csv_rows(file, sep)
            header = _header(rows)
            at = places(path, header, wanted)
            large = path.stat().st_size > SMALL and len(header) > 1  # of one column pandas would skip empty lines
            pandas = _pandas() if large else None
            if pandas is None:
                columns = [_typed(text) for text in zip(*_cells(rows, len(header), at), strict=True)]
            else:
                with opened(path) as (again, _):
                    frame = _frame(pandas, again, sep)
                columns = [frame.iloc[:, place].to_numpy() for place in at]
    except (ValueError, csv.Error) as error:  # of decoding and of pandas' parser, too
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error
    if not columns or not len(columns[0]):
        raise ValueError(f"{path} has no rows below its header")
    return dict(zip(wanted, columns, strict=True))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _frame(pd: Any, file: IO[bytes], sep: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        try:
            return pd.read_csv(file, sep=sep, **AS_CSV)
        except pd.errors.ParserWarning as warning:
            raise ValueError(str(warning)) from warning


def _cells(rows: Iterator[list[str]], width: int, places: Sequence[int]) -> Iterator[list[str]]:
    """Yield the texts of the columns wanted; an empty line is no row, but a missing value of a single column."""
    number = empty = 0
    for row in rows:
        if len(row) > width:
            raise ValueError(f"row {number} has {len(row)} values, the header has {width}")
        if not row:
            empty += width == 1
            continue
        yield from [[""] * len(places)] * empty
        yield [row[place] if place < len(row) else "" for place in places]
        number, empty = number + empty + 1, 0


def _typed(texts: Sequence[str]) -> np.ndarray:
    """Turn the texts of one column into integers, floats, booleans or strings."""
    present = [text for text in texts if text not in MISSING]
    whole = len(present) == len(texts)
    for kind in (int, float) if not any("_" in text for text in present) else ():  # Python reads "1_2" as 12
        with contextlib.suppress(ValueError):
            numbers = iter([kind(text) for text in present])
            return np.array([math.nan if text in MISSING else next(numbers) for text in texts])
    if all(text.lower() in TRUTH for text in present):
        truths = [None if text in MISSING else TRUTH[text.lower()] for text in texts]
        return np.array(truths, bool if whole else object)
    return np.array([None if text in MISSING else text for text in texts], object)


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
