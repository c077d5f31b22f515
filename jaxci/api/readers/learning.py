"""What users say of a learner's data, loss and splits, as the fits read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_array, as_floats, check_lengths
from jaxci.api.readers.labels import encode_labels, is_classification, label_values
from jaxci.checks import check_choice, shown
from jaxci.generalization.fits import Score
from jaxci.generalization.losses import LOSSES, losses_of
from jaxci.generalization.plans import Learning
from jaxci.inducers.base import Inducer
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import METRICS, statistic_by_name


def _task_of(inducer: Any) -> str:
    """Return the task of a learner or estimator: "any" where the targets decide."""
    if isinstance(inducer, Inducer):
        return inducer.task
    if isinstance(inducer, type) or not (hasattr(inducer, "fit") and hasattr(inducer, "predict")):
        raise TypeError(f"inducer must be of jaxci.inducers or an estimator of scikit-learn; got {shown(inducer)}")
    from sklearn.base import is_classifier, is_regressor

    try:
        classifier, regressor = is_classifier(inducer), is_regressor(inducer)
    except AttributeError as error:
        raise TypeError(f"inducer must be an estimator of scikit-learn; {type(inducer).__name__}: {error}") from None
    if not (classifier or regressor):
        raise TypeError(f"inducer must be a classifier or a regressor; got {shown(inducer)}")
    return "classification" if classifier else "regression"


def _task(learners: Sequence[Any], loss: Any, y: Any) -> str:
    """Return the one task of the learners: where they are of any, the loss decides, and then the targets."""
    tasks = {_task_of(learner) for learner in learners} - {"any"}
    if len(tasks) > 1:
        raise ValueError("a and b must be of one task; got a classification and a regression")
    if tasks:
        return tasks.pop()
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss].task
    return "classification" if is_classification(y) else "regression"


def _features(X: Any, ours: bool) -> Any:
    """Return features: checked numbers for a learner of ours, as they are for one that may know what to do."""
    if ours:
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


def read_learning(learners: Sequence[Any], X: Any, y: Any, groups: Any = None, loss: Any = None) -> Learning:
    """Read features and targets, for one learner or several of one task."""
    task = _task(learners, loss, y)
    features = _features(X, any(isinstance(learner, Inducer) for learner in learners))
    rows = int(features.shape[0]) if np.ndim(features) or hasattr(features, "tocsr") else 0
    given = {"X": rows, "y": len(as_array("y", y))}
    ids = None
    if groups is not None:
        ids = label_values("groups", groups)
        given["groups"] = len(ids)
    check_lengths(given)
    if task == "regression":
        targets = as_floats("y", y)
        if np.ptp(targets) == 0:
            raise ValueError(f"y must vary; all {len(targets)} values are {targets[0]:g}")
        return Learning(features, targets, None, ids)
    try:
        labels = label_values("y", y)
        if labels.dtype.kind == "f" and np.any(labels != np.round(labels)):
            raise ValueError(f"y must hold class labels for a classifier; got fractions such as {shown(labels[0])}")
        codes, classes, _ = encode_labels({"y_true": labels}, None, 1)
    except ValueError as error:
        raise ValueError(str(error).replace("y_true", "y")) from None
    if len(classes) < 2:
        raise ValueError(f"y must hold at least 2 classes; got {classes.tolist()}")
    return Learning(features, codes["y_true"], classes, ids)


def read_score(loss: Any, data: Learning) -> tuple[str, Score]:
    """Return a loss, or a metric that is no mean over rows, by its name; the first that suits for None."""
    names = losses_of(data.task)
    if loss is None:
        loss = names[0]
    if isinstance(loss, str) and loss in LOSSES:
        check_choice("loss", loss, names)
        LOSSES[loss].check(data.y)
        return loss, LOSSES[loss]
    suiting = _metrics_for(data)
    if isinstance(loss, Statistic):
        if not _suits(loss, data):
            raise ValueError(f"loss must be a metric of a {data.task} with these classes; got {type(loss).__name__}")
        return type(loss).__name__, loss
    check_choice("loss", loss, [*names, *suiting])
    return loss, statistic_by_name(loss)


def _suits(statistic: Statistic, data: Learning) -> bool:
    tasks = ["regression"] if data.classes is None else ["multiclass"]
    if data.classes is not None and len(data.classes) == 2:
        tasks.append("binary")
    return statistic.task in tasks and bool(set(statistic.inputs) & {"y_pred", "y_score"})


def _metrics_for(data: Learning) -> list[str]:
    return [name for name, statistic in METRICS.items() if _suits(statistic, data)]
