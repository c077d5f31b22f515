"""From the predictions of several models on the same rows to a sample of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.arrays import as_floats, check_lengths, missing_values, unmasked
from jaxci.api.readers.files import without_ending
from jaxci.api.readers.labelled import Labelled
from jaxci.api.readers.labels import distinct, label_values
from jaxci.api.readers.samples import columns_sample, regression_sample
from jaxci.api.readers.scores import are_named_by
from jaxci.api.readers.tables import NamedScores, as_scores, column_names, read_columns
from jaxci.api.readers.texts import WrittenLabels
from jaxci.checks import check_distinct, shown
from jaxci.index_columns import is_index, of_left_out
from jaxci.printing import first_few
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.sample import Sample
from jaxci.statistics.weighted_functions import check_weighted

MAYBE_LABELS = WrittenLabels(("predictions",), sure=False)
"""Of files whose columns may hold labels."""


def by_name(what: str, predictions: Any, ndim: int = 2, truth: Any = None) -> dict[str, Any]:
    """Return the predictions of every model by its name: of a dict, a frame, a list of files or, of values, an array.

    A file is one model, of the file's name without its ending; it holds one column of predictions or values, or the
    scores of every class, named by the labels of ``truth``. ``ndim`` is that of an array of all models, or of nested
    lists that NumPy reads as one, which are taken for "y_true" alone.
    """
    names: list[str]
    if isinstance(predictions, Mapping):
        names, columns = [str(name) for name in predictions], list(predictions.values())
    elif hasattr(predictions, "columns") and hasattr(predictions, "__getitem__"):  # a frame of any library
        names = [str(name) for name in predictions.columns]
        columns = [predictions[name] for name in predictions.columns]
    elif isinstance(predictions, Sequence) and predictions and all(isinstance(x, str | PathLike) for x in predictions):
        named = of_files(predictions, truth=truth)
        names, columns = list(named), list(named.values())
    elif what == "y_true" and (array := numbers_of(what, predictions)).ndim == ndim:
        names, columns = [f"model {number + 1}" for number in range(len(array))], list(array)
    else:
        arrays = {"y_true": f", or an array ({'models, n' if ndim == 2 else 'models, runs, tasks'})"}.get(what, "")
        raise TypeError(
            f"{what} must be a dict or a frame of models by name, or files{arrays}; got {shown(predictions)}"
        )
    check_distinct(what, names)
    if len(names) < 2:
        raise ValueError(f"{what} must hold at least two models; got {len(names)}")
    return dict(zip(names, columns, strict=True))


def numbers_of(name: str, data: Any) -> np.ndarray:
    """Return an array of numbers; one without entries where ``data`` is something else, or of rows of several lengths.

    Raises
    ------
    ValueError
        If values are masked.
    """
    try:
        array = unmasked(name, data)
    except ValueError:
        if np.ma.is_masked(data):
            raise
        return np.empty(0)
    return array if array.dtype.kind in "biuf" else np.empty(0)


def of_files(
    paths: Sequence[str | PathLike[str]],
    sep: str | None = None,
    *,
    truth: Any = None,
    target: str | None = None,
    labels: WrittenLabels = MAYBE_LABELS,
) -> dict[str, np.ndarray | NamedScores]:
    """Return the predictions of every model by the name of its file.

    Parameters
    ----------
    paths : sequence of str or Path
    sep : str, optional
        What stands between values of CSV.
    truth : (n,) array_like, optional
        The labels, by which columns of class scores must be named: those of the data, or all there are.
    target : str, optional
        The name of the column of the truth, which no file may hold beside others.
    labels : WrittenLabels
        How labels are read; the predictions are none if it names no column.

    Raises
    ------
    ValueError
        If a file holds several columns, but an index without a name, that are no scores of classes.
    """
    names = [without_ending(Path(path)) for path in paths]
    check_distinct("names of files", names)
    return {name: _of_file(Path(path), sep, truth, target, labels) for name, path in zip(names, paths, strict=True)}


def of_index_columns(predictions: Any, sep: str | None = None) -> list[str]:
    """Say which columns of files of models, if ``predictions`` are such, are left out."""
    if not isinstance(predictions, Sequence) or not all(isinstance(x, str | PathLike) for x in predictions):
        return []
    headers = {Path(path): column_names(Path(path), sep) for path in predictions}
    return [
        text for path, names in headers.items() if len(names) > 1 for text in of_left_out(path, names, "prediction")
    ]


def _of_file(
    path: Path, sep: str | None, truth: Any, target: str | None, labels: WrittenLabels
) -> np.ndarray | NamedScores:
    there = column_names(path, sep)
    names = there if len(there) == 1 else [name for name in there if not is_index(name)]
    if len(names) != 1:
        known = [] if truth is None else distinct(label_values("y_true", truth)).tolist()
        if not names or target in names or not are_named_by(names, known):
            classes = f", or one per class, whose names end in the labels {first_few(list(map(shown, known)))}"
            got = ", ".join(f"{name!r}{' of --target' * (name == target)}" for name in there)
            raise ValueError(
                f"{path} must hold one column, the predictions of a model{classes if known else ''}; it has {got}"
            )
    if len(names) > 1:
        return as_scores(read_columns(path, names, sep), names)
    own = dataclasses.replace(labels, names=names if labels.names else (), written={})
    return read_columns(path, names, sep, labels=own)[names[0]]


class Models(NamedTuple):
    """A sample of every model, the statistic settled for them, and what is to be said of the data."""

    samples: tuple[Sample, ...]
    statistic: Statistic
    remarks: tuple[str, ...]


def read_models(
    statistic: Statistic,
    name: str,
    y_true: Any,
    predictions: Mapping[str, Any],
    labels: Sequence[Any] | None,
    pos_label: Any,
    *,
    finite: bool = True,
    advice: str = "",
) -> Models:
    """Return a sample of every model; ``predictions`` are named as messages should call them.

    Per-case values may be NaN if ``finite`` is False; else ``advice`` says what to do where they are.

    Raises
    ------
    ValueError, TypeError
        If an array is not what the statistic needs, or of another length.
    """
    if statistic.task == "custom":
        truth = {} if y_true is None else {"y_true": y_true}
        read = [columns_sample(truth | {called: x}, numbers=True) for called, x in predictions.items()]
        check_lengths({called: one.n for called, (one, _) in zip(predictions, read, strict=True)})
        if isinstance(statistic, WeightedFunction):
            statistic = check_weighted(statistic, name, read[0][0])
        said = dict.fromkeys(text for _, remarks in read for text in remarks)
        return Models(tuple(one for one, _ in read), statistic, tuple(said))
    if statistic.task == "values":
        if y_true is not None:
            raise TypeError(f"y_true must be None for {name}, which compares per-case values; got an array")
        values = {called: as_floats(called, x, finite=False) for called, x in predictions.items()}
        for called, x in values.items():
            if finite and (lost := missing_values(x)):
                raise ValueError(f"{called} must be finite; {lost}{advice}")
        for called, x in values.items():
            if np.isinf(x).any():
                raise ValueError(f"{called} must not be infinite; it is in row {int(np.argmax(np.isinf(x)))}")
        check_lengths({called: len(x) for called, x in values.items()})
        return Models(tuple(Sample(values=x) for x in values.values()), statistic, ())
    if statistic.task == "regression":
        return Models(tuple(regression_sample(y_true, x, called) for called, x in predictions.items()), statistic, ())
    scored = "y_score" in statistic.inputs
    columns = {"y_true": y_true} if scored else {"y_true": y_true, **predictions}
    labelled = Labelled.of(columns, predictions if scored else {}, labels=labels, pos_label=pos_label)
    samples = tuple(labelled.sample(called, called) for called in predictions)
    return Models(samples, labelled.accept(name, statistic), labelled.remarks_for([statistic]))
