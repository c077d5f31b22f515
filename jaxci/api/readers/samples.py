"""From users' arrays to a :class:`~jaxci.statistics.sample.Sample`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_array, as_floats, check_lengths, missing_values
from jaxci.api.readers.labelled import Labelled
from jaxci.checks import check_number, shown
from jaxci.intervals.registry import method_by_name
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.registry import name_of
from jaxci.statistics.sample import Sample
from jaxci.statistics.weighted_functions import check_weighted


def is_function(statistic: Any) -> bool:
    """Whether ``statistic`` is a user's function of samples (a class of statistics is none)."""
    return callable(statistic) and not isinstance(statistic, type | Statistic)


def regression_sample(y_true: Any, y_pred: Any, called: str = "y_pred") -> Sample:
    """Check regression targets and predictions, the argument ``called``."""
    if y_pred is None:
        raise TypeError(f"{called} must be given for regression metrics; got None")
    true, predicted = as_floats("y_true", y_true), as_floats(called, y_pred)
    check_lengths({"y_true": len(true), called: len(predicted)})
    return Sample(y_true=true, y_pred=predicted)


def columns_sample(data: Mapping[str, Any], *, numbers: bool) -> tuple[Sample, tuple[str, ...]]:
    """Check the data of a user's own statistic, by name: arrays of one length; remark on missing values.

    Numbers become those of 64 bits. ``numbers``: whether a program reads them, so that they must be numbers or
    booleans.
    """
    if not data:
        raise TypeError("data must be at least one array; got none")
    arrays = {name: as_array(name, x) for name, x in data.items()}
    check_lengths({name: len(x) for name, x in arrays.items()})
    for name, x in arrays.items():
        if numbers and x.dtype.kind not in "biufc":
            raise TypeError(f"{name} must hold numbers; got dtype {x.dtype}, first value {shown(x.flat[0])}")
    lost = {name: missing_values(x) for name, x in arrays.items()}
    remarks = tuple(f"{name}: {text}; the function sees them as they are" for name, text in lost.items() if text)
    return Sample(columns=tuple(map(_wide, arrays.values()))), remarks


def _wide(x: np.ndarray) -> np.ndarray:
    """Return numbers of fewer than 64 bits as such of 64, whose differences and sums do not overflow."""
    wide = {"i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}.get(x.dtype.kind)
    return x if wide is None or x.dtype == np.uint64 else x.astype(wide, copy=False)


def positional(data: Sequence[Any]) -> dict[str, Any]:
    """Return positional ``data`` by the names that messages give them."""
    return {f"data[{i}]": x for i, x in enumerate(data)}


def named_inputs(statistic: Statistic, data: Sequence[Any]) -> dict[str, Any]:
    """Return positional ``data`` by the names of what a statistic reads; a user's own has no names for them."""
    return positional(data) if statistic.task == "custom" else dict(zip(statistic.inputs, data, strict=True))


def check_function_options(statistic: Any, data: Sequence[Any], method: Any, options: Mapping[str, Any]) -> None:
    """Refuse options of a user's function: ``options`` are the method's. Those that the function takes go into it."""
    name = name_of(statistic)
    for option, value in options.items():
        if method == "auto":
            fault = f"{name} has no option {option!r}, and method 'auto' has none"
        else:
            try:
                method_by_name(method, {option: value})
            except TypeError as error:
                fault = str(error)
            else:
                continue
        if _takes(statistic, option):
            number = {1: "one array", 2: "two arrays"}.get(len(data), f"{len(data)} arrays")
            fault += (
                f": pass a function of {number}, such as functools.partial({name if name.isidentifier() else 'f'}, "
                f"{option}={shown(value)})"
            )
        raise TypeError(fault)


def _takes(function: Any, option: str) -> bool:
    """Whether a function has a parameter of that name."""
    try:
        return option in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def sample_for(
    statistic: Statistic, name: str, data: Sequence[Any], *, labels: Sequence[Any] | None, pos_label: Any
) -> tuple[Sample, Statistic, tuple[str, ...]]:
    """Build the sample one statistic reads from positional ``data``.

    Returns
    -------
    sample : Sample
    statistic : Statistic
        Settled for the number of classes.
    remarks : tuple of str
        How the data were read.
    """
    if statistic.task == "custom":
        sample, remarks = columns_sample(positional(data), numbers=True)
        if isinstance(statistic, WeightedFunction):
            statistic = check_weighted(statistic, name, sample)
        return sample, statistic, remarks
    wanted = statistic.inputs
    if len(data) != len(wanted):
        arrays = "array" if len(wanted) == 1 else "arrays"
        raise TypeError(f"{name} takes {len(wanted)} {arrays} ({', '.join(wanted)}); got {len(data)}")
    given = named_inputs(statistic, data)
    if statistic.task == "values":
        return Sample(values=as_floats("values", given["values"])), statistic, ()
    if statistic.task == "regression":
        return regression_sample(given["y_true"], given["y_pred"]), statistic, ()
    scores = {called: x for called, x in given.items() if called == "y_score"}
    columns = {called: x for called, x in given.items() if called != "y_score"}
    labelled = Labelled.of(columns, scores, labels=labels, pos_label=pos_label)
    return (
        labelled.sample("y_pred", "y_score"),
        labelled.accept(name, statistic),
        labelled.remarks_for([statistic]),
    )


def as_threshold(threshold: Any) -> float | None:
    """Return a threshold of scores, a finite number, if there is one."""
    return None if threshold is None else check_number("threshold", threshold, "be a finite number", math.isfinite)


def check_threshold(threshold: float | None, y_pred: Any, y_score: Any) -> None:
    """Refuse a threshold that nothing is read by: without scores, or with predictions."""
    if threshold is not None and (y_score is None or y_pred is not None):
        what = "y_pred is given, too" if y_score is not None else "y_score is not given"
        raise ValueError(f"threshold makes labels of y_score where y_pred is not given; {what}")


def check_n(sample: Sample) -> None:
    """Refuse a single observation."""
    if sample.n < 2:
        raise ValueError("at least 2 observations are needed for an interval; got n = 1")
