"""Files in and out: columns of predictions, and results as JSON or CSV."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from jaxci.api.readers.files import GZIP, JSON_LINES, PARQUET, ending
from jaxci.api.readers.tables import first_text
from jaxci.api.readers.texts import TRUTH
from jaxci.whole_files import whole_file


def holds_runs(path: Path) -> bool:
    """Whether ``run_seeds`` wrote a file of JSON lines."""
    from jaxci.runs.file import LINE_START

    if ending(path) not in JSON_LINES or path.suffix == GZIP:
        return False
    with path.open("rb") as file:
        return file.read(len(LINE_START)) == LINE_START


def read_runs_file(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Read metrics, ``seed`` or ``seconds`` of the first run of every seed from a file that ``run_seeds`` wrote.

    Raises
    ------
    ValueError
        If the file holds something else.
    KeyError
        If there is no such metric, naming the nearest one.
    """
    from jaxci.checks import nearest
    from jaxci.runs.seeds import read_runs

    runs = read_runs(path)
    first = [i for i, row in enumerate(runs.records()) if row["repetition"] == 0]
    columns = {**runs.values, "seed": runs.seeds, "seconds": runs.seconds}
    for name in names:
        if name not in columns:
            raise KeyError(f"{path} has no column {name!r}; {nearest(name, columns)}")
    return {name: columns[name][first] for name in names}


def as_numbers(path: Path, name: str, values: np.ndarray, *, complete: bool = False) -> np.ndarray:
    """Return a column as float64; text is an error that names its place, and so is a gap if ``complete``."""

    def refuse(row: int, what: str) -> NoReturn:
        place = f"row {row}" if ending(path) in (*PARQUET, *JSON_LINES) else f"line {row + 2}"
        raise ValueError(f"{path}, {place}: column {name!r} must hold numbers; got {what}")

    if found := first_text(values):
        refuse(found[0], repr(found[1]))
    numbers = values.astype(np.float64)
    if complete and not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        refuse(row, "none" if np.isnan(numbers[row]) else f"{numbers[row]:g}")
    return numbers


def as_label(text: str, target: np.ndarray) -> Any:
    """Return the label that ``text`` writes, of the type of the labels in ``target``."""
    kind = target.dtype.kind
    if kind in "iuf":
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"labels of the target are numbers; got {text!r}") from None
        return value if kind == "f" else int(value) if value.is_integer() else value
    if kind == "b":
        if text.lower() not in TRUTH:
            raise ValueError(f"labels of the target are booleans; got {text!r}")
        return TRUTH[text.lower()]
    return text


def _finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a result's ``to_dict()``; undefined and unbounded values become ``null``."""
    with whole_file(path) as draft:
        draft.write_text(json.dumps(_finite(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write one line per flat record."""
    with whole_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
