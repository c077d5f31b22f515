"""Metrics by name."""

from __future__ import annotations

import dataclasses
import re
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
    "correlation": "pearsonr",
    "cross_entropy": "log_loss",
    "dice": "f1",
    "dice_coefficient": "f1",
    "dsc": "f1",
    "ece": "expected_calibration_error",
    "iou": "jaccard",
    "kappa": "cohen_kappa_score",
    "mae": "mean_absolute_error",
    "map": "average_precision_macro",
    "mape": "mean_absolute_percentage_error",
    "matthews_correlation_coefficient": "matthews_corrcoef",
    "mcc": "matthews_corrcoef",
    "mean_average_precision": "average_precision_macro",
    "medae": "median_absolute_error",
    "mse": "mean_squared_error",
    "nll": "log_loss",
    "npv": "negative_predictive_value",
    "pearson": "pearsonr",
    "percentile": "quantile",
    "ppv": "precision",
    "pr_auc": "average_precision",
    "r_squared": "r2",
    "rmse": "root_mean_squared_error",
    "rmsce": "root_mean_squared_calibration_error",
    "rsquared": "r2",
    "sd": "std",
    "sens": "recall",
    "sensitivity": "recall",
    "spearman": "spearmanr",
    "standard_deviation": "std",
    "tnr": "specificity",
    "tpr": "recall",
    "variance": "var",
    "zero_one_loss": "error_rate",
}
"""Metrics by what else they are called, for hints alone."""

COMPLEMENTS = {"fdr": "precision", "fnr": "recall", "fpr": "specificity"}
"""Rates of errors that are one less a metric."""

QUADRATIC = "did you mean 'cohen_kappa_score' with weights='quadratic'?"
RANKED = "there is none; another correlation of ranks is 'spearmanr'"
OF_LOSSES = "a mean over rows: give what each row loses to jaxci.interval('mean', losses, bounds=(0, numpy.inf))"
OF_HITS = "a share of rows: give whether each row is right to jaxci.interval('mean', hits, bounds=(0, 1))"
RELATED = {
    **dict.fromkeys(
        (
            "crps",
            "gamma_deviance",
            "hinge_loss",
            "mean_gamma_deviance",
            "mean_pinball_loss",
            "mean_poisson_deviance",
            "mean_squared_log_error",
            "mean_tweedie_deviance",
            "msle",
            "pinball",
            "pinball_loss",
            "poisson_deviance",
            "ranked_probability",
            "rps",
            "smape",
            "symmetric_mean_absolute_percentage_error",
            "tweedie_deviance",
        ),
        OF_LOSSES,
    ),
    "gini": "it is 2 A - 1, A the area: did you mean 'roc_auc'?",
    "hamming": "of one label a row it is 'error_rate'",
    "hamming_loss": "of one label a row it is 'error_rate'",
    "kendall": RANKED,
    "kendall_tau": RANKED,
    "kendalltau": RANKED,
    "quadratic_weighted_kappa": QUADRATIC,
    "qwk": QUADRATIC,
    "top_k_accuracy": OF_HITS,
    "weighted_kappa": "did you mean 'cohen_kappa_score' with weights='quadratic' or 'linear'?",
}
"""What to say of names that stand for a metric with settings, or for one that is only like a metric."""

F_BETA = re.compile(r"f_?(beta|[02-9][._\d]*)(_(macro|micro|weighted))?")
"""Names of F scores other than F1."""

BY_WORDS = {frozenset(name.split("_")): name for name in METRICS}
"""Metrics by the words of their names, in any order."""

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
        own = "; wrap a function: jaxci.statistics.WeightedFunction(f) of f(*data, weights)" if callable(name) else ""
        raise TypeError(f"a statistic must be a name or an object of jaxci.statistics; got {shown(name)}{own}")
    if name not in METRICS:
        base = name.removesuffix(PER_CLASS)
        if base != name and base in METRICS:
            raise ValueError(
                f"{name!r} stands for a row a class, in jaxci.evaluate only; one statistic is {base!r} of y == label"
            )
        raise ValueError(f"unknown metric {name!r}: {hint_of_metric(name)}")
    return METRICS[name]


def hint_of_metric(name: str) -> str:
    """Return a hint with the metric that a name of other libraries stands for, else with the nearest one."""
    whole = name.lower().replace("-", "_").replace(" ", "_")
    stem = whole.removeprefix("neg_").removesuffix("_score")
    for known in (whole, stem):
        found = BY_WORDS.get(frozenset(known.split("_"))) or ABBREVIATIONS.get(known)
        if found is not None:
            return f"did you mean {found!r}?"
        if known in COMPLEMENTS:
            return f"it is 1 - {COMPLEMENTS[known]}: did you mean {COMPLEMENTS[known]!r}?"
        if known in RELATED:
            return RELATED[known]
        if F_BETA.fullmatch(known):
            return "did you mean 'f1', or the object jaxci.statistics.FBeta(beta=2)?"
    return nearest(stem, METRICS)


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
