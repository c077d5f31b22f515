"""Columns of scores that have names: in the order of the labels where the names are these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import is_number
from jaxci.checks import shown
from jaxci.printing import first_few


def in_label_order(given: Any, scores: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
    """Return scores (n, K) in the order of ``labels`` where these name their columns, else as they are.

    Parameters
    ----------
    given : frame or array
        What the scores were read from; a frame of any library has ``columns``, or ``column_names``.
    scores : (n,) or (n, K) array
    labels : sequence of K
        Plain labels in the order that scores should have.
    """
    names = names_of_columns(given, scores)
    if len(names) != len(labels):
        return scores
    order = _order(names, labels)
    if order is None:
        _check_places(names, labels)
        return scores
    return scores if order == list(range(len(order))) else scores[:, order]


def _order(names: Sequence[Any], labels: Sequence[Any]) -> list[int] | None:
    """Return which column each of as many labels names; None where the names are not the labels."""
    for written in _WAYS:
        texts = [written(name) for name in names]
        wanted = [written(label) for label in labels]
        if set(texts) == set(wanted) and len(set(texts)) == len(texts):
            return [texts.index(label) for label in wanted]
    return None


def of_other_names(what: str, names: Sequence[Any], labels: Sequence[Any], asked: Sequence[Any] | None) -> list[str]:
    """Remark on columns whose ``names`` are texts, but not the labels: they are taken by position.

    Nothing is said where names end with the labels ("prob_0" with 0) in their order, and where those that were
    ``asked`` for give the order, unless the names give another.
    """
    if len(names) != len(labels) or _order(names, labels) is not None or not all(isinstance(x, str) for x in names):
        return []
    ends = [_end(name, labels) for name in names]
    told = len(set(ends)) == len(ends) and None not in ends
    if (told and ends == list(range(len(ends)))) or (asked is not None and not told):
        return []
    pairs = first_few([f"{shown(name)} for {shown(label)}" for name, label in zip(names, labels, strict=True)])
    swapped = "; by their names they look swapped: name them by the labels, or put them in order" if told else ""
    return [f"columns of {what} are taken in the order of the labels: {pairs}{swapped}"]


def are_named_by(names: Sequence[str], labels: Sequence[Any]) -> bool:
    """Whether every name of a column is a label, or ends with one."""
    return all(_end(name, labels) is not None for name in names)


def _end(name: str, labels: Sequence[Any]) -> int | None:
    """Return the place of the longest label that a name ends with, as a word of its own, if there is one."""
    found: dict[int, int] = {}
    for place, label in enumerate(labels):
        text, folded = _whole(label).casefold(), name.casefold()
        before = folded[: len(folded) - len(text)][-1:]
        if not text or not folded.endswith(text):
            continue
        if not (text[0].isalpha() and before.isalpha()) and not (text[0].isdigit() and before.isdigit()):
            found[place] = len(text)
    return max(found, key=lambda place: found[place], default=None)


def _check_places(names: Sequence[Any], labels: Sequence[Any]) -> None:
    """Refuse columns of which some are named by labels that are not theirs by position."""
    for written in _WAYS:
        wanted = [written(label) for label in labels]
        for place, name in enumerate(map(written, names)):
            if name in wanted and wanted[place] != name:
                known = f"got {name!r} in the place of {labels[place]!r}, out of {shown(list(names))}"
                raise ValueError(f"scores must have columns named by all labels, or by none of them; {known}")


def in_name_order(given: Any, scores: np.ndarray, labels: Sequence[Any], last: Any = None) -> np.ndarray:
    """Return scores (n, K) in the order of all labels, of which the data have some: those of the columns.

    They are sorted; of two the label ``last`` comes last.
    """
    names = names_of_columns(given, scores)
    for written in _WAYS:
        known = {written(name): name for name in names}
        if labels and len(known) == len(names) and {written(label) for label in labels} <= known.keys():
            try:
                everyone = sorted(_like(name, labels[0]) for name in names)
            except (TypeError, ValueError):  # a name that is no label
                continue
            if len(everyone) == 2 and everyone[0] == last:
                everyone.reverse()
            return in_label_order(given, scores, everyone)
    return scores


def _like(name: Any, label: Any) -> Any:
    """Return the label of the type of another one that a column is named by."""
    if isinstance(label, bool):
        return {"True": True, "False": False}.get(str(name), name)
    return type(label)(name)


def names_of_columns(given: Any, scores: np.ndarray) -> list[Any]:
    """Return the names of the columns of scores, where they have any: those of a frame without are its numbers."""
    named = getattr(given, "column_names", getattr(given, "columns", ())) if scores.ndim == 2 else ()
    found = [x.item() if isinstance(x, np.generic) else x for x in named]
    numbered = found == list(range(len(found))) and all(type(x) is int for x in found)
    known = len(found) == scores.shape[-1] and all(isinstance(x, str | int | float) for x in found)
    return found if known and not numbered else []


def _plain(value: Any) -> Any:
    return value


def _whole(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _number(value: Any) -> str:
    return _whole(float(value)) if isinstance(value, str) and is_number(value) else _whole(value)


_WAYS: tuple[Callable[[Any], Any], ...] = (_plain, str, _whole, _number)
"""How a label may be written as the name of a column: as it is, as a text, as a whole number, and as any (01, 1e5)."""
