"""Columns of a categorical type, of pandas or Polars, of intervals and of periods: which categories, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.checks import shown


class Placed(str):
    """A text that is sorted by its place among the categories."""

    __slots__ = ("place",)
    place: int

    def __lt__(self, other: str) -> bool:
        return self.place < other.place if isinstance(other, Placed) else super().__lt__(other)


def is_categorical(data: Any) -> bool:
    """Whether a column says that its values are categories: by its type in pandas or Polars."""
    return str(getattr(data, "dtype", "")).lower().startswith(("category", "categorical", "enum"))


def ordered_categories(data: Any) -> list[Any] | None:
    """Return the categories of a column whose type has an order of them, as labels; None of any other.

    Intervals, as ``pandas.cut`` makes, are in their order always.
    """
    dtype: Any = getattr(data, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is not None and hasattr(dtype, "ordered"):
        found = list(categories)
        return [as_text(x) for x in found] if dtype.ordered or any(map(is_span, found)) else None
    if str(dtype).startswith("interval"):
        return [as_text(x) for x in sorted(set(np.asarray(data)))]
    return None


def is_span(value: Any) -> bool:
    """Whether a value is an interval or a period of pandas."""
    kind = type(value)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ in ("Interval", "Period")


def as_text(value: Any) -> Any:
    """Return an interval or a period as a text, between dates without their time; anything else as it is."""
    if not is_span(value):
        return value
    text = str(value)
    return text.replace(" 00:00:00", "") if text.count(" 00:00:00") == 2 else text


def texts_of(spans: np.ndarray) -> np.ndarray:
    """Return intervals or periods (n,) as texts."""
    text = {span: as_text(span) for span in set(spans)}
    return np.array([text[span] for span in spans])


def named_spans(data: Any) -> Any:
    """Return a column of categories that are intervals or periods as objects, texts or None; any other as it is."""
    dtype: Any = getattr(data, "dtype", None)
    if not hasattr(dtype, "ordered") or not any(map(is_span, dtype.categories)):
        return data
    codes = np.asarray(getattr(data, "cat", data).codes)
    return np.array([*map(as_text, dtype.categories), None], object)[codes]


def as_dates(array: np.ndarray) -> np.ndarray:
    """Return times (n,) that are all at midnight as days; days, months and years as they are."""
    if np.datetime_data(array.dtype)[0] in ("Y", "M", "W", "D"):
        return array
    days = array.astype("datetime64[D]")
    return days if (days == array).all() else array


def dates_as_texts(array: np.ndarray) -> np.ndarray:
    """Return times (n,) as texts to the nanosecond, whose order is theirs; anything else as it is."""
    if array.dtype.kind != "M":
        return array
    if np.datetime_data(array.dtype)[0] in ("ns", "ps", "fs", "as"):
        return np.datetime_as_string(array, unit="ns")
    # Years beyond those that nanoseconds reach are told apart, too.
    texts: np.ndarray = np.char.add(np.datetime_as_string(array, unit="us"), "000")
    return texts


def in_category_order(data: Any, classes: np.ndarray) -> np.ndarray:
    """Return distinct labels in the order of the categories of ``data``, where they have one; others come last."""
    order = ordered_categories(data)
    if order is None:
        return classes
    place = {category: i for i, category in enumerate(order)}
    return classes[np.argsort([place.get(label, len(place)) for label in classes.tolist()], kind="stable")]


def agreed(
    one: Sequence[Any] | None, other: Sequence[Any] | None, *, scored: bool, part: bool = False
) -> Sequence[Any] | None:
    """Return the order of the categories of two batches, of either None where it has none: the longer one.

    The shorter must be a part of it. Where rows have scores, whose columns were put in that order, both must be the
    same, or the other is a ``part`` that is read in the order of the one; no order is that of sorted labels.
    """
    less, more = sorted([one or [], other or []], key=len)
    fits = [category for category in more if category in less] == list(less)
    if scored and list(less) != list(more):
        within = part and one is not None and len(more) == len(one)
        fits &= (bool(less) and within) or (not less and _is_sorted(more))
    if not fits:
        what = "no order" if other is None else shown(list(other))
        raise ValueError(
            f"y_true must have categories of one order in every batch; got {what} after "
            f"{'no order' if one is None else shown(list(one))}"
        )
    return more or None


def _is_sorted(labels: Sequence[Any]) -> bool:
    try:
        return list(labels) == sorted(labels)
    except TypeError:
        return False


def placed(array: np.ndarray, order: Sequence[Any] | None) -> np.ndarray:
    """Return texts (n,) such that sorting brings them into an order, where they are not in it anyway."""
    if array.dtype.kind not in "US" or order is None:
        return array
    place = {text: i for i, text in enumerate(order) if isinstance(text, str)}
    if list(place) == sorted(place):
        return array
    texts, codes = np.unique(array, return_inverse=True)
    found = np.empty(len(texts), object)
    for i, text in enumerate(texts.tolist()):
        found[i] = Placed(text)
        found[i].place = place[text]
    return found[codes]
