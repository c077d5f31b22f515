"""Which metrics a table shows: those that were named, or a set that suits the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from jaxci.api.readers.labelled import Labelled, not_probabilities
from jaxci.checks import check_distinct, shown
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.registry import METRICS, PER_CLASS, name_of, statistic_by_name
from jaxci.statistics.sample import Sample

_BINARY_LABELS = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "precision",
    "recall",
    "specificity",
    "matthews_corrcoef",
)
_BINARY_SCORES = ("roc_auc", "average_precision")
_BINARY_PROBABILITIES = ("log_loss", "brier_score_loss")
_CLASS_LABELS = (
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f1_weighted",
    "matthews_corrcoef",
    "cohen_kappa_score",
)
_CLASS_SCORES = ("roc_auc_ovr", "average_precision_macro")
_CLASS_PROBABILITIES = ("log_loss",)
_REGRESSION = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "r2",
)


def default_metrics(sample: Sample, labelled: Labelled | None, *, first: bool = False) -> list[tuple[str, Statistic]]:
    """Return a sensible set of metrics for what was given; ``labelled`` is None for a regression.

    ``first``: whether these are the first rows of several, of which others have the classes that they lack.
    """
    if labelled is None:
        return [(name, METRICS[name]) for name in _REGRESSION]
    binary = sample.n_classes == 2
    alone = binary and not first and not sample.class_sizes.all()  # all rows of one class, as where answers are graded
    names: list[str] = []
    if sample.y_pred is not None:
        names += ("accuracy",) if alone else _BINARY_LABELS if binary else _CLASS_LABELS
    if sample.y_score is not None:
        names += () if alone else _BINARY_SCORES if binary else _CLASS_SCORES
        if not not_probabilities("y_score", labelled.given["y_score"]):
            names += _BINARY_PROBABILITIES if binary else _CLASS_PROBABILITIES
    if not names:
        raise ValueError("y_true must hold rows of both classes where scores are no probabilities; it holds one")
    return [(name, METRICS[name]) for name in names]


def named_metrics(metrics: Any) -> list[tuple[str, Statistic | None]]:
    """Return the metrics by name; a name that stands for one row a class has no statistic yet."""
    if isinstance(metrics, str | Statistic):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics must be names or objects of jaxci.statistics; got {shown(metrics)}")
    found: list[tuple[str, Statistic | None]] = []
    for metric in metrics:
        by_class = isinstance(metric, str) and metric.endswith(PER_CLASS)
        found.append((name_of(metric), None if by_class else statistic_by_name(metric)))
    if not found:
        raise ValueError("metrics must name at least one metric; got none")
    check_distinct("metrics", [name for name, _ in found])
    return found


def is_of_values(named: list[tuple[str, Statistic | None]] | None) -> bool:
    """Whether all metrics are summaries of values: a mean, a quantile, a deviation."""
    return named is not None and all(one is not None and one.task == "values" for _, one in named)


def is_regression(named: list[tuple[str, Statistic | None]]) -> bool:
    """Whether all metrics are for regressions, rather than all for class labels.

    Raises
    ------
    ValueError
        If they are for several kinds of target, or for none.
    """
    own = [name for name, statistic in named if isinstance(statistic, FunctionStatistic)]
    if own:
        raise ValueError(
            f"metrics must be for class labels or for regressions; got {', '.join(own)}, of your own: "
            "jaxci.interval(f, ...) and jaxci.compare(f, ...) take functions"
        )
    tasks = {name: "multiclass" if statistic is None else statistic.task for name, statistic in named}
    if set(tasks.values()) == {"regression"}:
        return True
    wrong = [name for name, task in tasks.items() if task not in ("binary", "multiclass")]
    if wrong:
        are = "is" if len(wrong) == 1 else "are"
        raise ValueError(f"metrics must all be for one kind of target; {', '.join(wrong)} {are} not for class labels")
    return False


def are_of_numbers(metrics: Sequence[str]) -> bool:
    """Whether metrics are named, all of values or of a regression: what they read is no label."""
    named = named_metrics(metrics) if metrics else None
    return named is not None and (is_of_values(named) or is_regression(named))


def _per_class(name: str, labelled: Labelled) -> list[tuple[str, Statistic]]:
    base = name.removesuffix(PER_CLASS)
    if base not in METRICS or METRICS[base].of_class(0) is None:
        known = [m for m, s in METRICS.items() if s.of_class(0) is not None]
        raise ValueError(f"unknown metric {name!r}: per-class metrics are {', '.join(m + PER_CLASS for m in known)}")
    codes = range(len(labelled.classes)) if len(labelled.classes) > 1 else [int(labelled.codes["y_true"][0])]
    return [
        (f"{base}[{label}]", dataclasses.replace(METRICS[base], average="class", class_index=code))  # type: ignore[type-var]
        for label, code in zip(labelled.classes, codes, strict=True)
    ]


def _made_of_scores(field: str, sample: Sample) -> str:
    """Say what makes labels of scores that are no probabilities."""
    if field != "y_pred" or sample.y_score is None:
        return ""
    return "; y_score are no probabilities, of which threshold=0, say, would make labels"


def chosen_metrics(
    named: list[tuple[str, Statistic | None]] | None, sample: Sample, labelled: Labelled | None
) -> list[tuple[str, Statistic]]:
    """Return the metrics of a table, each checked against the data."""
    if labelled is None:
        return default_metrics(sample, None) if named is None else [(n, s) for n, s in named if s is not None]
    expanded: list[tuple[str, Statistic]] = []
    for name, statistic in default_metrics(sample, labelled) if named is None else named:
        if statistic is None:
            expanded += _per_class(name, labelled)
        else:
            expanded.append((name, statistic))
    for name, statistic in expanded:
        for field in statistic.inputs:
            if getattr(sample, field) is None:
                raise ValueError(f"{name} needs {field}, which was not given{_made_of_scores(field, sample)}")
    return [(name, labelled.accept(name, statistic)) for name, statistic in expanded]
