"""Checks on what users pass. Every error names the argument, the rule and the value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxci.intervals.base import ALTERNATIVES
from jaxci.resampling.engine import Layout
from jaxci.statistics.base import Sample


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known name, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known)}"


def check_confidence_level(level: Any) -> float:
    """Return ``level`` as a float strictly between 0 and 1."""
    try:
        value = float(level)
    except (TypeError, ValueError):
        raise TypeError(f"confidence_level must be a number in (0, 1); got {level!r}") from None
    if 1 < value <= 100:
        raise ValueError(f"confidence_level must lie in (0, 1); got {level}: for {level}% pass {value / 100:g}")
    if not 0 < value < 1:
        raise ValueError(f"confidence_level must lie in (0, 1); got {level}")
    return value


def check_alternative(alternative: Any) -> str:
    """Return ``alternative`` if it is one of SciPy's three."""
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(ALTERNATIVES)}; got {alternative!r}")
    return str(alternative)


def check_count(name: str, value: Any, minimum: int) -> int:
    """Return ``value`` as an int of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}")
    return int(value)


def as_array(name: str, data: Any) -> np.ndarray:
    """Return ``data`` (NumPy, pandas, JAX, list) as a non-empty NumPy array."""
    if data is None:
        raise TypeError(f"{name} must be an array; got None")
    array = np.asarray(data)
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array of observations; got the scalar {data!r}")
    if len(array) == 0:
        raise ValueError(f"{name} must not be empty; it has 0 observations")
    return array


def as_floats(name: str, data: Any, ndim: tuple[int, ...] = (1,)) -> np.ndarray:
    """Return ``data`` as finite float64 of one of the dimensions ``ndim``."""
    array = as_array(name, data)
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} must hold numbers; got dtype {array.dtype}, first value {array.flat[0]!r}"
            ) from None
    array = array.astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1 and 1 in ndim:
        array = array[:, 0]
    if array.ndim not in ndim:
        shape = " or ".join({1: "(n,)", 2: "(n, K)"}[d] for d in ndim)
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        first = int(np.argwhere(bad)[0][0])
        raise ValueError(
            f"{name} must be finite; {int(bad.sum())} of {array.size} values are NaN or infinite, "
            f"the first in row {first}"
        )
    return array


def check_lengths(**arrays: np.ndarray | None) -> int:
    """Return the common length of the arrays that are given."""
    given = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(given.values())) > 1:
        lengths = ", ".join(f"{name} has {length}" for name, length in given.items())
        raise ValueError(f"all arrays must have one length (one entry per observation); {lengths}")
    return next(iter(given.values()))


def check_missing_labels(name: str, array: np.ndarray) -> None:
    """Refuse NaN, None and infinities among labels."""
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        bad = np.array([x is None or x != x for x in array.flat]).reshape(array.shape)
    else:
        return
    if bad.any():
        first = int(np.argwhere(bad)[0][0])
        raise ValueError(
            f"{name} must have no missing labels; {int(bad.sum())} of {array.size} are missing, "
            f"the first in row {first}"
        )


def _label_values(name: str, data: Any) -> np.ndarray:
    array = as_array(name, data)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,); got {array.shape}")
    check_missing_labels(name, array)
    if array.dtype.kind == "O":
        kinds = {type(x) for x in array}
        if all(issubclass(k, str) for k in kinds):
            array = array.astype(str)
        elif all(issubclass(k, bool | np.bool_) for k in kinds):
            array = array.astype(bool)
        elif not all(issubclass(k, int | float | np.number) for k in kinds):
            raise TypeError(f"{name} must hold labels of one type; got {sorted(k.__name__ for k in kinds)}")
        else:
            array = array.astype(np.float64)
    return array


def distinct(array: np.ndarray) -> np.ndarray:
    """Return the sorted distinct values: in O(n) for integers of a small range, by sorting otherwise."""
    if array.dtype.kind == "b":
        return np.array([value for value in (False, True) if (array == value).any()])
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low <= 1:
            return np.arange(low, high + 1, dtype=array.dtype)
        if high - low <= SMALL_RANGE:
            return (np.flatnonzero(np.bincount((array - low).astype(np.intp))) + low).astype(array.dtype)
    return np.unique(array)


def positions(classes: np.ndarray, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position in ``classes`` of every value (n,), and which values are not there (n,)."""
    if classes.dtype.kind in "iub" and array.dtype.kind in "iub":
        low, high = int(classes.min()), int(classes.max())
        if high - low <= SMALL_RANGE:
            table = np.full(high - low + 3, -1, np.int32)
            table[classes.astype(np.int64) - low + 1] = np.arange(len(classes), dtype=np.int32)
            array = array.astype(np.intp)
            if array.min() < low or array.max() > high:
                array = np.clip(array, low - 1, high + 1)
            place = table[array - (low - 1)]
            return place, place < 0
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes[order], array), len(classes) - 1)
    return order[place].astype(np.int32), classes[order][place] != array


SMALL_RANGE = 10_000
"""Integer labels within such a range are encoded by a table, not by sorting."""


def is_classification(y_true: Any) -> bool:
    """Whether targets look like class labels: not floats with fractions, and few of them."""
    array = np.asarray(y_true)
    if array.dtype.kind in "bOSUT":
        return True
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)]
        if np.any(finite != np.round(finite)):
            return False
    distinct = len(np.unique(array[:10_000]))
    return distinct <= 2 or distinct <= max(20, min(len(array), 10_000) // 20)


def encode_labels(
    columns: dict[str, Any], labels: Sequence[Any] | None, pos_label: Any
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """Encode label columns as codes; return the codes, the classes by code, and the positive score column.

    Codes ``0..K-1`` follow the order of ``labels`` (the sorted classes by default), as score
    columns do. With two classes ``pos_label`` becomes code 1 if it is one of them (otherwise the second
    of the sorted classes is, provided ``pos_label`` is the default 1).
    """
    arrays = {name: _label_values(name, data) for name, data in columns.items()}
    if len({a.dtype.kind in "US" for a in arrays.values()}) > 1:
        kinds = ", ".join(f"{name} has dtype {a.dtype}" for name, a in arrays.items())
        raise TypeError(f"labels must be of one type; {kinds}")
    if labels is None:
        classes = np.unique(np.concatenate([distinct(a) for a in arrays.values()]))
    else:
        classes = _label_values("labels", labels)
        if len(np.unique(classes)) != len(classes):
            raise ValueError(f"labels must be distinct; got {list(classes)}")
    positive = 1
    if len(classes) == 2:
        if pos_label in classes.tolist():
            positive = classes.tolist().index(pos_label)
            classes = classes[[1 - positive, positive]]
        elif pos_label != 1:
            raise ValueError(f"pos_label must be one of the labels {classes.tolist()}; got {pos_label!r}")
    codes = {}
    for name, array in arrays.items():
        place, unknown = positions(classes, array)
        if unknown.any():
            first = int(np.argmax(unknown))
            raise ValueError(
                f"{name} must only hold values in labels {classes.tolist()}; {int(unknown.sum())} do not, "
                f"the first is {array[first].item()!r} in row {first}"
            )
        codes[name] = place
    return codes, classes, positive


def check_scores(scores: np.ndarray, n_classes: int, positive: int) -> np.ndarray:
    """Return scores (n,) of the positive class, column ``positive``, for two classes; (n, K) for more."""
    if scores.ndim == 2 and n_classes == 2 and scores.shape[1] == 2:
        return scores[:, positive]
    if scores.ndim == 1 and n_classes <= 2:
        return scores
    if scores.ndim == 1:
        raise ValueError(f"y_score must have shape (n, K) for K = {n_classes} classes; got {scores.shape}")
    if scores.shape[1] != n_classes:
        raise ValueError(
            f"y_score must have one column per class, K = {n_classes} (pass labels to name classes that do not "
            f"occur); got {scores.shape[1]} columns"
        )
    return scores


def check_probabilities(scores: np.ndarray) -> None:
    """Refuse scores outside [0, 1] and rows that do not sum to 1."""
    outside = (scores < 0) | (scores > 1)
    if outside.any():
        first = int(np.argwhere(outside)[0][0])
        raise ValueError(
            f"y_score must hold probabilities in [0, 1] for this metric; {int(outside.sum())} values lie outside, "
            f"the first in row {first}: {scores[first]}"
        )
    if scores.ndim == 2:
        total = scores.sum(axis=1)
        off = np.abs(total - 1) > 1e-3
        if off.any():
            first = int(np.argmax(off))
            raise ValueError(
                f"rows of y_score must sum to 1 for this metric; {int(off.sum())} do not, "
                f"the first is row {first} with sum {total[first]:.6g}"
            )


def make_layout(n: int, groups: Any, strata: Any, sample_weight: Any) -> Layout:
    """Build the layout of rows from clusters, strata and case weights."""
    units = stratum = weights = None
    if groups is not None:
        column = _label_values("groups", groups)
        check_lengths(y_true=np.empty(n), groups=column)
        found, units = np.unique(column, return_inverse=True)
        units = units.astype(np.int32)
        if len(found) < 2:
            raise ValueError(f"groups must name at least 2 clusters; all {n} rows belong to {found[0]!r}")
    if strata is not None:
        column = _label_values("strata", strata)
        check_lengths(y_true=np.empty(n), strata=column)
        stratum = np.unique(column, return_inverse=True)[1].astype(np.int32)
        if units is not None:
            whole = np.zeros(int(units.max()) + 1, np.int32)
            whole[units] = stratum
            crossing = whole[units] != stratum
            if crossing.any():
                first = int(np.argmax(crossing))
                raise ValueError(
                    "every cluster of groups must lie in one stratum; the cluster of row "
                    f"{first} has rows in more than one"
                )
            stratum = whole
    if sample_weight is not None:
        weights = as_floats("sample_weight", sample_weight)
        check_lengths(y_true=np.empty(n), sample_weight=weights)
        if (weights < 0).any():
            first = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight must not be negative; got {weights[first]:g} in row {first}")
        if not weights.sum() > 0:
            raise ValueError("sample_weight must have a positive sum; all weights are 0")
        if np.any(weights != np.round(weights)):
            weights = weights * (n / weights.sum())
    return Layout(n, units, stratum, weights)


def singleton_strata(layout: Layout) -> int:
    """Return the number of strata that hold a single unit."""
    return 0 if layout.strata is None else int(np.sum(np.bincount(layout.strata) == 1))


def check_n(sample: Sample) -> None:
    """Refuse a single observation."""
    if sample.n < 2:
        raise ValueError("at least 2 observations are needed for an interval; got n = 1")
