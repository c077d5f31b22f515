"""Texts of CSV files as what they write: numbers, truths, names and labels."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import is_number
from jaxci.api.readers.labels import is_classification

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

INTEGER = re.compile(r"(0|-?[1-9][0-9]*)(\.0)?")
"""Whole numbers that are written as Python would write them, also as floats: pandas does where some are missing."""

TRUTH = {"true": True, "false": False}

BLANKS = " \t"
"""What is no part of a text in a CSV file where it stands around it."""


@dataclasses.dataclass(frozen=True)
class WrittenLabels:
    """Columns of text files that hold labels, how these are read, and what the files write for each.

    Attributes
    ----------
    names : collection of str
        Of the columns.
    sure : bool
        Whether they are known to hold labels: others do where they look like it.
    texts : bool
        Whether labels are taken as they stand: some that are to be told apart would be one number.
    written : dict
        What stands for each label, by column, in the files of the data set that were read.
    """

    names: Collection[str] = ()
    sure: bool = True
    texts: bool = False
    written: dict[str, dict[float, str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str | None], labels: Sequence[str] = (), *, sure: bool = True) -> WrittenLabels:
        """Return them for columns and the ``labels`` that a user names, if any, as they are written."""
        numbers = {float(text) if is_number(text) else text for text in labels}
        given = [name for name in names if name is not None]
        return cls(given, sure or bool(labels), len(numbers) < len(set(labels)))

    def check(self, path: Path, name: str, column: np.ndarray, numbers: Mapping[str, float]) -> None:
        """Refuse labels of which one is written in two ways, other than as 3 and 3.0.

        Parameters
        ----------
        path : Path
        name : str
        column : (n,) array
            What was read.
        numbers : mapping of str to number
            What each text stands for.

        Raises
        ------
        ValueError
            If texts are one number: labels that differ would be taken for the same.
        """
        written = self.written.setdefault(name, {})
        for text, number in numbers.items():
            before = written.setdefault(number, text)
            if before == text or (_is_plain(before) and _is_plain(text)):
                continue
            if self.sure or is_classification(column):
                raise ValueError(
                    f"{path}, column {name!r}, must write a label in one way; got {before!r} and {text!r}, which are "
                    f"one number (where they are two labels, write them as texts that are no numbers, or pass "
                    f"labels=[{before!r}, {text!r}, ...])"
                )


def _is_plain(text: str) -> bool:
    """Whether a text is a number as Python writes it, whole ones with or without a decimal."""
    number = float(text)
    whole = number.is_integer() and text.removesuffix(".0").removeprefix("-") == str(abs(int(number)))
    return whole or text == repr(number)


NO_LABELS = WrittenLabels()
"""Where no column is known to hold labels."""


class CsvColumns:
    """What the columns of a CSV file hold, read at once or some rows after others."""

    def __init__(self, path: Path, texts: Collection[str], labels: WrittenLabels):
        self.path, self.texts, self.labels = path, texts, labels

    @property
    def kinds(self) -> dict[str, Any]:
        """What pandas makes of columns that it leaves as texts."""
        return dict.fromkeys(self.texts, str) | dict.fromkeys(self.labels.names, object)

    def of_texts(self, name: str, texts: Sequence[str]) -> np.ndarray:
        """Return what the texts of a column are, labels as they stand or checked."""
        if name not in self.labels.names:
            return typed(texts)
        place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        return self._of_codes(name, [*place], np.fromiter(map(place.__getitem__, texts), np.int64, len(texts)))

    def _of_codes(self, name: str, different: list[str], codes: np.ndarray) -> np.ndarray:
        """Return labels (n,) by what ``different`` texts there are and which each row has."""
        if self.labels.texts:
            return as_they_stand(different)[codes]
        values = typed(different)
        found: np.ndarray = values[codes]
        pairs = zip(different, values.tolist(), strict=True)
        numbers = {text: x for text, x in pairs if type(x) in (int, float) and text not in MISSING}
        self.labels.check(self.path, name, found, numbers)
        return found

    def of_frame(self, frame: Any, wanted: Sequence[str], at: Sequence[int]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield columns of a frame that pandas read with their names, texts without the blanks around them."""
        for name, place in zip(wanted, at, strict=True):
            series = frame.iloc[:, place]
            if name in self.labels.names:
                codes, different = series.factorize()
                missing = [""] if (codes < 0).any() else []
                yield name, self._of_codes(name, [text.strip(BLANKS) for text in different] + missing, codes)
                continue
            column = series.to_numpy()
            if column.dtype.kind == "O" and _has_blanks(column.tolist()):
                texts = [x.strip(BLANKS) if isinstance(x, str) else "" for x in column.tolist()]
                column = as_they_stand(texts) if name in self.texts else typed(texts)
            yield name, column


def _has_blanks(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) and value != value.strip(BLANKS) for value in set(values))


def as_names(column: np.ndarray) -> np.ndarray:
    """Return a column of texts, or of texts and numbers, as whole numbers where all that are present are such."""
    if column.dtype.kind != "O":
        return column
    texts = ["" if x is None or x != x else str(x) if type(x) in (int, float) else x for x in column]
    return named(texts) if all(isinstance(text, str) for text in texts) else column


def as_texts(column: np.ndarray) -> np.ndarray:
    """Return a column of texts, of integers or of both, of which none is missing, as texts; another as it is."""
    if column.dtype.kind not in "iuO":
        return column
    return as_objects([str(x) if type(x) is int else x for x in column.tolist()])


def named(texts: Sequence[str]) -> np.ndarray:
    """Turn the texts of one column into integers where all are written as such, or keep them."""
    present = [text for text in texts if text not in MISSING]
    if present and all(INTEGER.fullmatch(text) for text in present):
        return as_numbers([math.nan if text in MISSING else int(text.removesuffix(".0")) for text in texts])
    return as_they_stand(texts)


def typed(texts: Sequence[str]) -> np.ndarray:
    """Turn the texts of one column into integers, floats, booleans or strings."""
    present = [text for text in texts if text not in MISSING]
    whole = len(present) == len(texts)
    for kind in (int, float) if not any("_" in text for text in present) else ():  # Python reads "1_2" as 12
        with contextlib.suppress(ValueError):
            numbers = iter([kind(text) for text in present])
            return as_numbers([math.nan if text in MISSING else next(numbers) for text in texts])
    if all(text.lower() in TRUTH for text in present):
        truths = [None if text in MISSING else TRUTH[text.lower()] for text in texts]
        return np.array(truths, bool if whole else object)
    return as_they_stand(texts)


def as_they_stand(texts: Sequence[str]) -> np.ndarray:
    """Return texts as objects, missing ones as None."""
    return as_objects([None if text in MISSING else text for text in texts])


def as_objects(values: Sequence[Any]) -> np.ndarray:
    """Return an array (n,) of objects, whatever these are."""
    found = np.empty(len(values), object)
    for row, value in enumerate(values):
        found[row] = value
    return found


def as_numbers(values: Sequence[float]) -> np.ndarray:
    """Return an array of numbers; of Python's own where they are integers that no type of 8 bytes holds together."""
    found = np.array(values)
    rounded = found.dtype.kind == "f" and all(isinstance(value, int) for value in values)
    return as_objects(values) if rounded else found
