"""Metrics by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxci.checks import check_options, nearest, shown
from jaxci.records import settings
from jaxci.statistics import class_ranking, classification, probability, ranking, regression, summary
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import called

METRICS: dict[str, Statistic] = {
    **classification.METRICS,
    **ranking.METRICS,
    **class_ranking.METRICS,
    **probability.METRICS,
    **regression.METRICS,
    **summary.METRICS,
}

ABBREVIATIONS: dict[str, str] = {
    "acc": "accuracy",
    "ap": "average_precision",
    "auc": "roc_auc",
    "auc_roc": "roc_auc",
    "auprc": "average_precision",
    "auroc": "roc_auc",
    "bacc": "balanced_accuracy",
    "brier": "brier_score_loss",
    "cross_entropy": "log_loss",
    "dice": "f1",
    "dsc": "f1",
    "ece": "expected_calibration_error",
    "iou": "jaccard",
    "kappa": "cohen_kappa_score",
    "mae": "mean_absolute_error",
    "map": "average_precision_macro",
    "mape": "mean_absolute_percentage_error",
    "mcc": "matthews_corrcoef",
    "medae": "median_absolute_error",
    "mse": "mean_squared_error",
    "nll": "log_loss",
    "npv": "negative_predictive_value",
    "pearson": "pearsonr",
    "ppv": "precision",
    "pr_auc": "average_precision",
    "r2_score": "r2",
    "rmse": "root_mean_squared_error",
    "rmsce": "root_mean_squared_calibration_error",
    "sd": "std",
    "sensitivity": "recall",
    "spearman": "spearmanr",
    "tnr": "specificity",
    "tpr": "recall",
}
"""Metrics by what else they are called, for hints alone."""

COMPLEMENTS = {"fdr": "precision", "fnr": "recall", "fpr": "specificity"}
"""Rates of errors that are one less a metric."""

PER_CLASS = "_per_class"
"""Ending of a name that stands for one row a class."""


def statistic_by_name(name: Any) -> Statistic:
    """Return the metric called ``name``, or ``name`` itself if it is a statistic.

    Raises
    ------
    ValueError
        If the name is unknown; the nearest one is named.
    """
    if isinstance(name, Statistic):
        check_options(settings(name))
        return name
    if not isinstance(name, str):
        raise TypeError(f"a statistic must be a name or an object of jaxci.statistics; got {shown(name)}")
    if name not in METRICS:
        base = name.removesuffix(PER_CLASS)
        if base != name and base in METRICS:
            raise ValueError(f"{name!r} stands for a row a class, in jaxci.evaluate only; one statistic is {base!r}")
        raise ValueError(f"unknown metric {name!r}: {hint_of_metric(name)}")
    return METRICS[name]


def hint_of_metric(name: str) -> str:
    """Return a hint with the metric that an abbreviation stands for, else with the nearest one."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    if plain in ABBREVIATIONS:
        return f"did you mean {ABBREVIATIONS[plain]!r}?"
    if plain in COMPLEMENTS:
        return f"it is 1 - {COMPLEMENTS[plain]}: did you mean {COMPLEMENTS[plain]!r}?"
    return nearest(name, METRICS)


def name_of(statistic: Any) -> str:
    """Return the registered name of a statistic, or one that shows its settings."""
    if isinstance(statistic, str):
        return statistic
    if not isinstance(statistic, Statistic):
        return called(statistic)
    mine = repr(settings(statistic))
    for name, known in METRICS.items():
        if type(known) is type(statistic) and repr(settings(known)) == mine:
            return name
    return statistic.described


def configured(statistic: Statistic, options: Mapping[str, Any]) -> tuple[Statistic, dict[str, Any]]:
    """Return the statistic with those ``options`` set that it has, and the others."""
    checked = check_options(options)
    fields = {f.name for f in dataclasses.fields(statistic)}  # type: ignore[arg-type]
    own = {name: value for name, value in checked.items() if name in fields}
    rest = {name: value for name, value in checked.items() if name not in fields}
    return (dataclasses.replace(statistic, **own) if own else statistic), rest  # type: ignore[type-var]
