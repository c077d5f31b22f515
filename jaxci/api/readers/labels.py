"""Class labels: which there are, and the code of every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_array, is_number, missing_values
from jaxci.api.readers.categories import (
    as_dates,
    in_category_order,
    is_categorical,
    is_span,
    named_spans,
    ordered_categories,
    placed,
    texts_of,
)
from jaxci.checks import shown

SMALL_RANGE = 10_000
"""Integer labels within such a range are encoded by a table, not by sorting."""

CACHED_ROWS = 2**15
"""Rows that stay in the cache while they are read twice."""


EXACT_FLOATS = 2**53
"""Below it every integer is a float64 of its own."""
ROWS_SEEN = 10_000
"""Rows from all parts of the data, at most, whose distinct values tell classes from numbers to predict."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, without their whole part, fill an interval evenly and fall in with no period of the rows."""


def label_values(name: str, data: Any) -> np.ndarray:
    """Return labels (n,) as :func:`plain_labels`, of ordered categories such that they are sorted in that order."""
    return placed(plain_labels(name, data), ordered_categories(data))


def plain_labels(name: str, data: Any) -> np.ndarray:
    """Return labels (n,) of one type: numbers, strings or booleans, none missing, all told apart exactly.

    Intervals and periods of pandas are texts, and times that are all at midnight dates.
    """
    array = as_array(name, named_spans(data))
    if isinstance(data, list | tuple) and array.dtype.kind == "f" and np.any(np.abs(array) >= EXACT_FLOATS):
        array = np.asarray(data, object)  # the integers among the numbers, before they were rounded
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        several = ", several labels a row: evaluate every column by itself" if array.ndim == 2 else ""
        raise ValueError(f"{name} must have shape (n,); got {array.shape}{several}")
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must hold labels that are real numbers, texts or booleans; got dtype {array.dtype}")
    if lost := missing_values(array):
        raise ValueError(f"{name} must have no missing labels; {lost}")
    if array.dtype.kind == "M":
        return as_dates(array)
    if array.dtype.kind == "O":
        kinds = {type(x) for x in array}
        if is_span(array[0]) and len(kinds) == 1:
            array = texts_of(array)
        elif all(issubclass(k, str) for k in kinds):
            array = array.astype(str)
        elif all(issubclass(k, bool | np.bool_) for k in kinds):
            array = array.astype(bool)
        elif not all(issubclass(k, int | float | np.number) for k in kinds):
            if len(kinds) == 1:
                raise TypeError(
                    f"{name} must hold labels that are numbers, texts or booleans; got {type(array[0]).__name__}, such "
                    f"as {shown(array[0])} in row 0"
                )
            row = next(row for row, x in enumerate(array) if type(x) is not type(array[0]))
            told = f"{shown(array[0])} in row 0 and {shown(array[row])} in row {row}"
            names = sorted(k.__name__ for k in kinds)
            raise TypeError(f"{name} must hold labels of one type; got {names}, such as {told}")
        else:
            array = exact_numbers([x.item() if isinstance(x, np.generic) else x for x in array])
    return array


def exact_numbers(values: Sequence[int | float]) -> np.ndarray:
    """Return numbers (n,) in the first type that holds them all exactly: int64, uint64, float64 or Python's own."""
    whole = all(isinstance(x, int) for x in values)
    for kind in (np.int64, np.uint64) if whole else (np.float64,):
        try:
            array = np.array(values, kind)
        except OverflowError:
            continue
        if whole or array.tolist() == values:
            return array
    return np.array(values, object)


def in_bytes(array: np.ndarray) -> np.ndarray:
    """Return integers as bytes where all of them fit one, in a single pass over the memory."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize == 1 or not array.dtype.isnative:
        return array
    narrow = np.empty(len(array), np.uint8)
    for start in range(0, len(array), CACHED_ROWS):
        part = np.ascontiguousarray(array[start : start + CACHED_ROWS])
        if part.view(f"u{array.dtype.itemsize}").max() > 255:  # a negative integer is a large one without its sign
            return array
        narrow[start : start + CACHED_ROWS] = part
    return narrow


def _above(array: np.ndarray, low: int) -> np.ndarray:
    """Return integers less ``low`` (n,) int32: right modulo 2^32, whatever type holds them."""
    steps = array.astype(np.int32)
    return steps - np.uint32(low % 2**32).astype(np.int32) if low else steps


def distinct(array: np.ndarray) -> np.ndarray:
    """Return the sorted distinct values: in O(n) for integers of a small range, by sorting otherwise."""
    if array.dtype.kind == "b":
        return np.array([value for value in (False, True) if (array == value).any()])
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low <= 1:
            return np.array(sorted({low, high}), array.dtype)
        if high - low <= SMALL_RANGE:
            found = np.flatnonzero(np.bincount(_above(array, low))).astype(array.dtype)
            return found + array.dtype.type(low)  # modulo 2^8 for bytes
    return np.unique(array)


def _rounds(arrays: Iterable[np.ndarray]) -> bool:
    """Whether the common type of ``arrays`` rounds integers of 8 bytes, or is Python's own."""
    kinds = {array.dtype for array in arrays}
    if len(kinds) == 1:
        return False
    wide = any(kind.kind in "iu" and kind.itemsize == 8 for kind in kinds)
    return any(kind.kind == "O" for kind in kinds) or (wide and np.result_type(*kinds).kind == "f")


def _union(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sorted values that occur in any of ``arrays``."""
    if _rounds(arrays):
        return exact_numbers(sorted({value for array in arrays for value in array.tolist()}))
    return np.unique(np.concatenate(arrays))


def positions(classes: np.ndarray, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position in ``classes`` of every value (n,), and which values are not there (n,)."""
    if classes.dtype.kind in "iub" and array.dtype.kind in "iub":
        low, high = int(classes.min()), int(classes.max())
        inside = int(array.min()) >= low and int(array.max()) <= high
        if inside and high - low + 1 == len(classes) and (classes[1:] > classes[:-1]).all():
            return _above(array, low), np.zeros(len(array), bool)
        if high - low <= SMALL_RANGE:
            table = np.full(high - low + 1, -1, np.int32)
            table[_above(classes, low)] = np.arange(len(classes), dtype=np.int32)
            if inside:
                place = table[_above(array, low)]
            else:
                place = np.full(len(array), -1, np.int32)
                known = (array >= low) & (array <= high)
                place[known] = table[_above(array[known], low)]
            return place, place < 0
    if _rounds([classes, array]):
        code = {value: i for i, value in enumerate(classes.tolist())}
        place = np.array([code.get(value, -1) for value in array.tolist()], np.int32)
        return place, place < 0
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes[order], array), len(classes) - 1)
    return order[place].astype(np.int32), classes[order][place] != array


def is_classification(y_true: Any) -> bool:
    """Whether targets look like class labels: of a categorical type; or not floats with fractions, and few of them."""
    array = as_array("y_true", y_true)
    if is_categorical(y_true) or array.dtype.kind in "bOSUT":
        return True
    if has_fractions(array):
        return False
    number = number_of_values(array)
    return number <= 2 or number <= max(20, min(len(array), ROWS_SEEN) // 20)


def has_fractions(array: np.ndarray) -> bool:
    """Whether some numbers are no whole ones."""
    if array.dtype.kind != "f":
        return False
    finite = array[np.isfinite(array)]
    return bool(np.any(finite != np.round(finite)))


def number_of_values(array: np.ndarray) -> int:
    """Return how many distinct values the rows that are looked at hold: from all parts, as they may be sorted."""
    if len(array) > ROWS_SEEN:
        array = array[(np.arange(ROWS_SEEN) * GOLDEN % 1 * len(array)).astype(np.int64)]
    return len(np.unique(array))


def _refuse_rounded(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse floats among labels where they may be integers of another column that were rounded."""
    whole = [a for a in arrays.values() if a.dtype.kind in "iuO" and a.dtype.itemsize == 8]
    if not any(a.max() > EXACT_FLOATS or a.min() < -EXACT_FLOATS for a in whole):
        return
    for name, array in arrays.items():
        large = np.abs(array) >= EXACT_FLOATS if array.dtype.kind == "f" else np.zeros(1, bool)
        if large.any():
            row = int(np.argmax(large))
            raise ValueError(
                f"{name} must hold integers, as other labels are, where they exceed 2**53: dtype {array.dtype} rounds "
                f"them; got {shown(array[row])} in row {row}"
            )


def _without_fractions(name: str, array: np.ndarray, truth: np.ndarray) -> None:
    """Refuse predicted labels that must be scores: fractions that no true label is."""
    if array.dtype.kind != "f":
        return
    strange = (array != np.round(array)) & ~np.isin(array, truth)
    if strange.any():
        first = int(np.argmax(strange))
        raise ValueError(
            f"{name} must hold class labels; {int(strange.sum())} of {array.size} values are fractions that y_true "
            f"never holds, the first is {shown(array[first])} in row {first} (scores belong in y_score and in metrics "
            "that read it; pass labels to name classes that do not occur; of a regression name the metrics, such as "
            "metrics=['mean_absolute_error'])"
        )


def encode_labels(
    columns: Mapping[str, Any], labels: Sequence[Any] | None, pos_label: Any
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """Encode label columns as codes; return the codes, the classes by code, and the positive score column.

    Codes ``0..K-1`` follow the order of ``labels``, as score columns do: by default that of ordered categories of
    "y_true", or else the sorted classes. With two classes ``pos_label`` becomes code 1 if it is one of them (otherwise
    the second of the classes is, provided ``pos_label`` is the default 1).
    """
    arrays = {name: in_bytes(plain_labels(name, data)) for name, data in columns.items()}
    given = arrays if labels is None else {**arrays, "labels": plain_labels("labels", labels)}
    for name, array in given.items():
        if array.dtype.kind in "Mm" and any(other.dtype.kind != array.dtype.kind for other in given.values()):
            raise TypeError(f"{name} must hold labels of the type of the others; got dtype {array.dtype}")
    if len({a.dtype.kind in "US" for a in given.values()}) > 1:
        kinds = ", ".join(f"{name} has dtype {a.dtype}" for name, a in given.items())
        name, texts = next((name, a) for name, a in given.items() if a.dtype.kind in "US")
        row = next((row for row, text in enumerate(texts) if not is_number(text)), 0)
        raise TypeError(f"labels must be of one type; {kinds}: the text {shown(texts[row])} in row {row} of {name}")
    _refuse_rounded(given)
    if labels is None:
        for name, array in arrays.items():
            _without_fractions(name, array, arrays["y_true"])
        classes = in_category_order(columns["y_true"], _union([distinct(a) for a in arrays.values()]))
    else:
        classes = given["labels"]
        if len(np.unique(classes)) != len(classes):
            raise ValueError(f"labels must be distinct; got {shown(classes)}")
    positive = 1
    if len(classes) == 2:
        if pos_label in classes.tolist():
            positive = classes.tolist().index(pos_label)
            classes = classes[[1 - positive, positive]]
        elif pos_label != 1:
            raise ValueError(f"pos_label must be one of the labels {classes.tolist()}; got {shown(pos_label)}")
    codes = {}
    for name, array in arrays.items():
        place, unknown = positions(classes, array)
        if unknown.any():
            first = int(np.argmax(unknown))
            raise ValueError(
                f"{name} must only hold values in labels {classes.tolist()}; {int(unknown.sum())} do not, "
                f"the first is {shown(array[first])} in row {first}"
            )
        codes[name] = place
    return codes, classes, positive
