"""From users' arrays to a :class:`~jaxci.statistics.base.Sample`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxci.api.validation import (
    as_array,
    as_floats,
    check_lengths,
    check_probabilities,
    check_scores,
    encode_labels,
    nearest,
)
from jaxci.records import settings
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.registry import METRICS


def statistic_by_name(name: Any) -> Statistic:
    """Return the metric called ``name``, or ``name`` itself if it is a statistic.

    Raises
    ------
    ValueError
        If the name is unknown; the nearest one is named.
    """
    if isinstance(name, Statistic):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a statistic must be a name or an object of jaxci.statistics; got {name!r}")
    if name not in METRICS:
        raise ValueError(f"unknown metric {name!r}: {nearest(name, METRICS)}")
    return METRICS[name]


def name_of(statistic: Any) -> str:
    """Return the registered name of a statistic, or one that shows its settings."""
    if isinstance(statistic, str):
        return statistic
    if not isinstance(statistic, Statistic):
        return getattr(statistic, "__name__", type(statistic).__name__)
    mine = repr(settings(statistic))
    for name, known in METRICS.items():
        if type(known) is type(statistic) and repr(settings(known)) == mine:
            return name
    function = getattr(statistic, "function", None)
    return repr(statistic) if function is None else getattr(function, "__name__", "statistic")


def configured(statistic: Statistic, **options: Any) -> Statistic:
    """Return the statistic with those ``options`` set that it has."""
    fields = {f.name for f in dataclasses.fields(statistic)}  # type: ignore[arg-type]
    chosen = {name: value for name, value in options.items() if name in fields}
    return dataclasses.replace(statistic, **chosen) if chosen else statistic  # type: ignore[type-var]


@dataclasses.dataclass(frozen=True)
class Labelled:
    """A classification sample with its classes and remarks on how it was read.

    ``remarks`` are kept by what they concern: "any" metric, "binary" ones, readers of "y_pred".
    """

    sample: Sample
    classes: np.ndarray
    remarks: dict[str, str]

    def remarks_for(self, statistics: Iterable[Statistic]) -> tuple[str, ...]:
        """Return the remarks that concern any of ``statistics``."""
        concerns = {"any"}
        for statistic in statistics:
            concerns |= {statistic.task, *statistic.inputs}
        return tuple(text for concern, text in self.remarks.items() if concern in concerns)


def classification_sample(
    y_true: Any,
    y_pred: Any,
    y_score: Any,
    *,
    labels: Sequence[Any] | None,
    pos_label: Any,
    derive: bool = True,
) -> Labelled:
    """Encode labels and check scores; derive labels from scores where that is unambiguous."""
    columns = {"y_true": y_true} if y_pred is None else {"y_true": y_true, "y_pred": y_pred}
    scores = None if y_score is None else as_floats("y_score", y_score, (1, 2))
    codes, classes, positive = encode_labels(columns, labels, pos_label)
    check_lengths(**codes, y_score=scores)
    remarks: dict[str, str] = {}
    if len(classes) == 1:
        only = int(classes[0] == pos_label)
        codes = {name: np.full(len(code), only, np.int32) for name, code in codes.items()}
        n_classes = 2
        remarks["any"] = f"only one class, {classes[0].item()!r}, occurs in the data"
    else:
        n_classes = len(classes)
    if len(classes) == 2 and classes[1] != pos_label:
        remarks["binary"] = f"the positive class is {classes[1].item()!r} (set pos_label to change it)"
    if scores is not None:
        scores = check_scores(scores, n_classes, positive)
    predicted = codes.get("y_pred")
    if predicted is None and scores is not None and derive:
        if scores.ndim == 2:
            predicted = np.argmax(scores, axis=1).astype(np.int32)
            remarks["y_pred"] = "y_pred was not given: the class with the highest score is the prediction"
        elif scores.min() >= 0 and scores.max() <= 1:
            predicted = (scores >= 0.5).astype(np.int32)
            remarks["y_pred"] = "y_pred was not given: scores of at least 0.5 count as positive"
    sample = Sample(y_true=codes["y_true"], y_pred=predicted, y_score=scores, n_classes=n_classes)
    return Labelled(sample, classes, remarks)


def regression_sample(y_true: Any, y_pred: Any) -> Sample:
    """Check regression targets and predictions."""
    if y_pred is None:
        raise TypeError("y_pred must be given for regression metrics; got None")
    true, predicted = as_floats("y_true", y_true), as_floats("y_pred", y_pred)
    check_lengths(y_true=true, y_pred=predicted)
    return Sample(y_true=true, y_pred=predicted)


def values_sample(name: str, values: Any) -> Sample:
    """Check per-case values."""
    return Sample(values=as_floats(name, values))


def columns_sample(data: Sequence[Any]) -> Sample:
    """Check the data of a user's own statistic: arrays of one length."""
    arrays = tuple(as_array(f"data[{i}]", x) for i, x in enumerate(data))
    check_lengths(**{f"data[{i}]": x for i, x in enumerate(arrays)})
    return Sample(columns=arrays)


def check_sample(name: str, statistic: Statistic, sample: Sample) -> None:
    """Check that ``sample`` is what the statistic is for.

    Raises
    ------
    ValueError
        If an input is missing, the number of classes is wrong, or scores are no probabilities.
    """
    for field in statistic.inputs:
        if getattr(sample, field) is None:
            raise ValueError(f"{name} needs {field}, which was not given")
    if statistic.task == "binary" and sample.n_classes > 2:
        averaged = [m for m in METRICS if m.startswith(name) and m != name]
        hint = f"; for several classes use {', '.join(averaged)}" if averaged else ""
        raise ValueError(f"{name} is a binary metric; y_true has {sample.n_classes} classes{hint}")
    if statistic.needs_probabilities and sample.y_score is not None:
        check_probabilities(sample.y_score)


def sample_for(
    statistic: Statistic, name: str, data: Sequence[Any], *, labels: Sequence[Any] | None, pos_label: Any
) -> tuple[Sample, tuple[str, ...]]:
    """Build the sample one statistic reads from positional ``data``."""
    wanted = {
        "values": ("values",),
        "regression": ("y_true", "y_pred"),
        "custom": None,
    }.get(statistic.task, statistic.inputs)
    if wanted is None:
        if not data:
            raise TypeError("data must be at least one array; got none")
        return columns_sample(data), ()
    if len(data) != len(wanted):
        raise TypeError(f"{name} takes {len(wanted)} array(s) ({', '.join(wanted)}); got {len(data)}")
    given = dict(zip(wanted, data, strict=True))
    if statistic.task == "values":
        return values_sample("values", given["values"]), ()
    if statistic.task == "regression":
        return regression_sample(given["y_true"], given["y_pred"]), ()
    labelled = classification_sample(
        given["y_true"],
        given.get("y_pred"),
        given.get("y_score"),
        labels=labels,
        pos_label=pos_label,
        derive=False,
    )
    check_sample(name, statistic, labelled.sample)
    return labelled.sample, labelled.remarks_for([statistic])
