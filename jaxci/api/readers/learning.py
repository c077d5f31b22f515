"""What users say of a learner's data, loss and splits, as the fits read it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_array, as_floats, check_lengths
from jaxci.api.readers.label_remarks import of_many_numbers
from jaxci.api.readers.labels import encode_labels, is_classification, label_values, plain_labels
from jaxci.checks import check_choice, hint, shown
from jaxci.generalization.losses import LOSSES, METRICS_OF_ROWS, Loss, loss_of_function, losses_of
from jaxci.generalization.plans import Learning
from jaxci.generalization.scores import Metric, Score, Scorer
from jaxci.inducers.base import Inducer
from jaxci.inducers.estimators import task_of
from jaxci.inducers.host import weights_name
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.registry import METRICS, name_of
from jaxci.statistics.sample import Sample
from jaxci.statistics.weighted_functions import check_weighted

SCORERS = {"average_precision": "average_precision", "brier_score": "brier_score_loss"}
"""Names of scikit-learn's scorers (without ``neg_``) that are not ours."""


TASKS = {
    "classification": "classification",
    "binary": "classification",
    "multiclass": "classification",
    "regression": "regression",
}
"""Tasks of learners by those of the losses and metrics that judge them."""
SCORED = {
    "sklearn.metrics._classification": "classification",
    "sklearn.metrics._ranking": "classification",
    "sklearn.metrics._regression": "regression",
}
"""Tasks of scikit-learn's metrics by the module that holds them."""


def _task(learners: Sequence[Any], loss: Any, scoring: Any, y: Any) -> str:
    """Return the one task of the learners: where they are of any, what judges them decides, and then the targets."""
    tasks = {task_of(learner) for learner in learners} - {"any"}
    if len(tasks) > 1:
        raise ValueError("a and b must be of one task; got a classification and a regression")
    if tasks:
        return tasks.pop()
    return _task_of_score(loss, scoring) or ("classification" if is_classification(y) else "regression")


def of_undecided_task(learners: Sequence[Any], y: Any, loss: Any, scoring: Any, data: Learning) -> list[str]:
    """Remark on whole numbers that are taken for numbers to predict where neither learners nor a loss settle it."""
    if data.classes is not None or any(task_of(learner) != "any" for learner in learners):
        return []
    if _task_of_score(loss, scoring):
        return []
    return of_many_numbers("y", y, None, "loss='zero_one' takes them for these, and loss='squared' for numbers")


def _task_of_score(loss: Any, scoring: Any) -> str | None:
    """Return the task of a loss, a metric or a scorer of scikit-learn; None of what serves any, or is not known."""
    judge = scoring if loss is None else loss
    if isinstance(loss, str):
        judge = LOSSES.get(loss) or METRICS.get(loss)
    elif isinstance(judge, str):
        bare = judge.removeprefix("neg_")
        name = SCORERS.get(bare, bare)
        judge = METRICS[name] if name in METRICS else _scorer_called(judge).call
    if isinstance(judge, Loss | Statistic):
        return TASKS.get(judge.task)
    return SCORED.get(getattr(getattr(judge, "_score_func", None), "__module__", ""))


def _features(X: Any, ours: bool) -> Any:
    """Return features: checked numbers for a learner of ours, as they are for one that may know what to do."""
    if ours:
        if hasattr(X, "tocsr"):
            raise TypeError(
                f"X must be an array for a learner of jaxci.inducers, which has no place for sparse features; got "
                f"{type(X).__name__}: pass X.toarray(), or an estimator of scikit-learn"
            )
        if hasattr(X, "dtypes") and hasattr(X, "columns"):
            texts = [str(name) for name, kind in zip(X.columns, X.dtypes, strict=True) if kind.kind not in "biuf"]
            if texts:
                raise ValueError(f"X must hold numbers; the columns {', '.join(texts)} do not")
        if np.ndim(X) != 2 or 0 in np.shape(X):
            raise ValueError(f"X must have shape (n, d), not empty; got {np.shape(X)}")
        return as_floats("X", X, (2,))
    if hasattr(X, "iloc") or hasattr(X, "tocsr"):
        return X
    return np.asarray(X, object) if isinstance(X, list) and X and isinstance(X[0], str) else np.asarray(X)


def read_learning(
    learners: Sequence[Any],
    X: Any,
    y: Any,
    groups: Any = None,
    loss: Any = None,
    scoring: Any = None,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Learning:
    """Read features and targets, for one learner or several of one task."""
    task = _task(learners, loss, scoring, y)
    ours = any(isinstance(learner, Inducer) for learner in learners)
    features = _features(X, ours)
    rows = int(features.shape[0]) if np.ndim(features) or hasattr(features, "tocsr") else 0
    given = {"X": rows, "y": len(as_array("y", y))}
    ids = weights = None
    if groups is not None:
        ids = label_values("groups", groups)
        given["groups"] = len(ids)
    if sample_weight is not None:
        weights = as_floats("sample_weight", sample_weight)
        given["sample_weight"] = len(weights)
        for learner in learners:
            if not isinstance(learner, Inducer):
                weights_name(learner)
    check_lengths(given)
    if weights is not None and (weights.min() < 0 or weights.max() == 0):
        raise ValueError(f"sample_weight must not be negative, nor 0 everywhere; the least is {weights.min():g}")
    if task == "regression":
        targets = as_floats("y", y, (1,) if ours else (1, 2))
        if np.ptp(targets) == 0:
            raise ValueError(f"y must vary; all {len(targets)} values are {targets.flat[0]:g}")
        if pos_label is not None:
            raise ValueError("pos_label must not be given for a regression: it has no classes")
        return Learning(features, targets, None, ids, weights)
    try:
        labels = plain_labels("y", y)
        if labels.dtype.kind == "f" and np.any(labels != np.round(labels)):
            raise ValueError(f"y must hold class labels for a classifier; got fractions such as {shown(labels[0])}")
        codes, classes, _ = encode_labels({"y_true": labels}, None, 1 if pos_label is None else pos_label)
    except ValueError as error:
        raise ValueError(str(error).replace("y_true", "y")) from None
    classes = np.asarray(classes).astype(labels.dtype)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least 2 classes; got {classes.tolist()}")
    if pos_label is not None and len(classes) > 2:
        raise ValueError(f"pos_label needs two classes; y has {len(classes)}")
    found, positive = codes["y_true"], 1
    if len(classes) == 2 and classes.tolist() != sorted(classes.tolist()):  # learners see the sorted classes
        classes, found, positive = classes[::-1], 1 - found, 0
    return Learning(features, found, classes, ids, weights, positive)


def read_score(loss: Any, scoring: Any, data: Learning, pos_label: Any = None) -> tuple[Score, list[str]]:
    """Return what judges predictions, and what is to be said of it; the first loss that suits where none is named."""
    if loss is not None and scoring is not None:
        raise ValueError(f"loss and scoring must not both be given; got {shown(loss)} and {shown(scoring)}")
    score = _of_scoring(scoring, data) if scoring is not None else _of_loss(loss, data)
    if np.ndim(data.y) > 1 and not isinstance(score, Scorer):
        if score.name not in OF_OUTPUTS or not isinstance(score, Loss):
            able = ", ".join(OF_OUTPUTS)
            raise ValueError(f"loss must be one of {able} for y of shape {data.y.shape}; got {score.name!r}")
        score = score.of_outputs()
    if isinstance(score, Loss):
        score.check(data.y)
    if isinstance(score, Metric):
        score = dataclasses.replace(score, positive=data.positive)
    return score, _positive_remark(score, data, pos_label)


OF_OUTPUTS = tuple(
    f"{sign}{name}"
    for name in ("squared", "absolute", "mean_squared_error", "mean_absolute_error")
    for sign in ("", "neg_")
    if not (sign and "_" not in name)
)
"""Losses of several outputs: means over them."""


def _of_loss(loss: Any, data: Learning) -> Score:
    names = losses_of(data.task)
    if loss is None:
        return LOSSES[names[0]]
    if isinstance(loss, str):
        return _named(loss, data, "loss", names)
    if isinstance(loss, WeightedFunction):
        return Metric(name_of(loss), check_weighted(loss, name_of(loss), _without_features(data)), loss=True)
    if isinstance(loss, Statistic):
        if not _suits(loss, data):
            raise ValueError(f"loss must be a metric of a {data.task} with these classes; got {type(loss).__name__}")
        return Metric(type(loss).__name__, loss)
    if hasattr(loss, "_score_func"):
        raise TypeError(f"loss must not be a scorer: pass it as scoring; got {shown(loss)}")
    if callable(loss):
        return loss_of_function(loss, data.classes)
    raise TypeError(f"loss must be a name, a function f(y_true, y_pred) of rows, or a statistic; got {shown(loss)}")


def _without_features(data: Learning) -> Sample:
    """Return targets beside the predictions of a model that knows none of the features."""
    if data.classes is None:
        return Sample(columns=(data.y, np.full_like(data.y, data.y.mean())))
    shares = np.bincount(data.y) / len(data.y)
    guessed = shares[1] if len(shares) == 2 else shares
    return Sample(columns=(data.y, np.broadcast_to(guessed, (len(data.y), *guessed.shape))))


def _named(name: str, data: Learning, argument: str, names: Sequence[str]) -> Score:
    if name in LOSSES and LOSSES[name].task == data.task:
        return LOSSES[name]
    by_row = {
        metric: made
        for metric, make in METRICS_OF_ROWS.items()
        if (made := make(0 if data.classes is None else len(data.classes))).task == data.task
    }
    if name in by_row:
        return by_row[name]
    suiting = _metrics_for(data)
    check_choice(argument, name, [*names, *by_row, *(metric for metric in suiting if metric not in by_row)])
    return Metric(name, METRICS[name])


def _of_scoring(scoring: Any, data: Learning) -> Score:
    """Read scikit-learn's ``scoring``: a name, a scorer, or a function of an estimator, X and y."""
    if isinstance(scoring, str):
        bare = scoring.removeprefix("neg_")
        name = SCORERS.get(bare, bare)
        negative = bare != scoring
        if name in METRICS_OF_ROWS or name in METRICS:
            if np.ndim(data.y) > 1 and name not in METRICS_OF_ROWS:
                return _scorer_called(scoring)
            found = _named(name, data, "scoring", ())
            if found.less_is_better or not negative:
                return _negated(found, scoring) if negative else found
        return _scorer_called(scoring)
    if callable(scoring):
        wants = list(inspect.signature(scoring).parameters.values()) if inspect.isfunction(scoring) else []
        free = any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in wants)
        names = [parameter.name for parameter in wants]
        if (wants and len(wants) < 3 and not free) or names[:1] == ["y_true"]:
            raise TypeError(
                f"scoring must be a function of (estimator, X, y); got {shown(scoring)} of ({', '.join(names)}): pass "
                "make_scorer of it"
            )
        if data.weights is not None and not hasattr(scoring, "_score_func"):
            raise ValueError("sample_weight needs a score that takes weights: a name, or what make_scorer returns")
        return Scorer(_name_of_scorer(scoring), scoring)
    raise TypeError(f"scoring must be a name or a function of (estimator, X, y); got {shown(scoring)}")


def _negated(score: Score, name: str) -> Score:
    if isinstance(score, Loss):
        return score.turned(name)
    assert isinstance(score, Metric)
    return Metric(name, score.statistic, -1.0)


def _scorer_called(name: str) -> Scorer:
    try:
        from sklearn.metrics import get_scorer, get_scorer_names
    except ImportError as error:
        raise ImportError(f"scoring={name!r} needs scikit-learn: install jaxci[sklearn]") from error
    if name not in get_scorer_names():
        raise ValueError(
            f"scoring must be a name of scikit-learn's scorers; got {name!r}{hint(name, get_scorer_names())}"
        )
    return Scorer(name, get_scorer(name))


def _name_of_scorer(scoring: Callable[..., Any]) -> str:
    function = getattr(scoring, "_score_func", scoring)
    return str(getattr(function, "__name__", type(function).__name__))


def _positive_remark(score: Score, data: Learning, pos_label: Any) -> list[str]:
    """Say which class is positive where nothing but the order of the labels does."""
    if pos_label is not None or data.classes is None or len(data.classes) != 2 or not isinstance(score, Metric):
        return []
    label = data.classes[data.positive].item()
    if score.statistic.task != "binary" or label in (1, True, 1.0):
        return []
    return [f"{score.name} is of class {shown(label)}, the last of the sorted labels; pass pos_label for the other"]


def _suits(statistic: Statistic, data: Learning) -> bool:
    tasks = ["regression"] if data.classes is None else ["multiclass"]
    if data.classes is not None and len(data.classes) == 2:
        tasks.append("binary")
    return statistic.task in tasks and bool(set(statistic.inputs) & {"y_pred", "y_score"})


def _metrics_for(data: Learning) -> list[str]:
    return [name for name, statistic in METRICS.items() if _suits(statistic, data)]
