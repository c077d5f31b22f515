"""Columns that number the rows: an index that was written along with the data, and is no part of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from jaxci.checks import shown
from jaxci.printing import first_few

NAMES = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""What pandas calls an index without a name: in CSV, when CSV is read, and in Parquet."""
FEWEST = 10
"""Rows below which whole numbers may well rise by chance."""


def is_index(name: str) -> bool:
    """Whether a column has the name of an index without a name."""
    return NAMES.fullmatch(name) is not None


def of_left_out(path: object, names: Iterable[str], what: str) -> list[str]:
    """Say which columns of a file are left out for their names, and that they are no ``what``."""
    left = [shown(name) for name in names if is_index(name)]
    if not left:
        return []
    column, are = ("column", "is an index") if len(left) == 1 else ("columns", "are indexes")
    return [f"{column} {first_few(left)} of {path} {are} of rows without a name, and no {what}: left out"]


def of_numbered_rows(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Remark on features, whole numbers (n,), that only rise or only fall over the rows, as an index does."""
    found = [shown(name) for name, column in columns.items() if _numbers_rows(column)]
    if not found:
        return []
    kind = (
        "is a whole number that only rises or falls" if len(found) == 1 else "are whole numbers that only rise or fall"
    )
    why = "of rows that are sorted by the target an index or an id gives the answer away"
    return [f"feature {first_few(found)} {kind} over the rows: {why} (leave it out of the features if it is one)"]


def _numbers_rows(column: np.ndarray) -> bool:
    if len(column) < FEWEST or column.dtype.kind not in "iuf" or not np.all(column == np.round(column)):
        return False
    steps = column[1:] > column[:-1]
    return bool(np.all(steps) or np.all(column[1:] < column[:-1]))
