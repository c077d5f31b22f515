"""What users say of a learner's data, loss and splits, as the fits read it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.arrays import as_array, as_floats, check_lengths, missing_values
from jaxci.api.data import statistic_by_name
from jaxci.api.labels import encode_labels, is_classification, label_values
from jaxci.api.validation import check_choice, shown
from jaxci.generalization.fits import Score
from jaxci.generalization.losses import LOSSES, losses_of
from jaxci.generalization.registry import METHODS
from jaxci.inducers.base import Inducer
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import METRICS

FROM_PAIRS = {"holdout", "subsampling", "kfold", "repeated_kfold", "bootstrap"}
"""Plans that pairs of indices or a splitter can stand for."""


class Learning(NamedTuple):
    """Data as learners read them: features (n, d), targets or class codes (n,), labels by code, groups.

    ``classes`` (K,) is None for a regression.
    """

    X: Any
    y: np.ndarray
    classes: np.ndarray | None
    groups: np.ndarray | None

    @property
    def codes(self) -> np.ndarray | None:
        """Class codes (n,), None for a regression."""
        return None if self.classes is None else self.y

    @property
    def task(self) -> str:
        """Name of the task."""
        return "regression" if self.classes is None else "classification"


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
        ids = as_array("groups", groups)
        given["groups"] = len(ids)
        if lost := missing_values(ids):
            raise ValueError(f"groups must have no missing ids; {lost}")
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


def usual_plans(method: str, data: Learning, seed: int, options: Mapping[str, Any]) -> list[Plan]:
    """Return the usual plans of a method for the data, classes in proportion and groups kept together."""
    stratify = None if data.groups is not None else data.codes
    try:
        return METHODS[method].plans(len(data.y), seed, stratify=stratify, groups=data.groups, options=options)
    except ValueError as error:
        raise ValueError(f"the usual plan of {method} does not fit these data: {error} (pass plan)") from None


def read_plans(plan: Any, method: str, data: Learning, seed: int, options: Mapping[str, Any]) -> list[Plan]:
    """Return the plans of a method from what users pass: plans, a scikit-learn splitter, or pairs of indices.

    Plans that only the data decide (all rows, each row left out) are added where they are missing.

    Raises
    ------
    ValueError, TypeError
        If the plans are not those of the method, split a group, or are no plans.
    """
    if plan is None:
        return usual_plans(method, data, seed, options)
    if isinstance(plan, Plan):
        plans = [plan]
    elif isinstance(plan, list | tuple) and plan and all(isinstance(one, Plan) for one in plan):
        plans = list(plan)
    else:
        plans = [_from_pairs(plan, method, data, seed, options)]
    check_plans(plans, data)
    roles = [role for role in METHODS[method].roles if not role.optional(options)]
    for role in roles:
        if not {one.name for one in plans} & set(role.names):
            if role.names[0] not in ("insample", "leave_one_out"):
                have = ", ".join(repr(one.name) for one in plans)
                raise ValueError(f"plan: {method} needs a plan {role.names[0]!r}; got {have}")
            plans.append(role.plan(len(data.y), seed, {}, {}))
    known = {name for role in METHODS[method].roles for name in role.names}
    for one in plans:
        if one.name not in known:
            raise ValueError(f"plan: {method} does not read a plan {one.name!r}")
    return plans


def check_plans(plans: Sequence[Plan], data: Learning) -> None:
    """Refuse plans of other data, of one name, or that train and test on rows of one group."""
    names = [plan.name for plan in plans]
    for plan in plans:
        if plan.n != len(data.y):
            raise ValueError(f"plans must be for the {len(data.y)} rows of y; {plan.name!r} has {plan.n}")
        if names.count(plan.name) > 1:
            raise ValueError(f"plans must have different names; got {plan.name!r} twice")
        if data.groups is None or plan.name in ("insample", "insample_bootstrap", "bootstrap_apparent"):
            continue
        codes = np.unique(data.groups, return_inverse=True)[1]
        for split, (train, test) in enumerate(zip(plan.train_counts > 0, plan.test_mask, strict=True)):
            both = np.intersect1d(codes[train], codes[test])
            if len(both):
                raise ValueError(
                    f"plan must keep groups together; split {split} of {plan.name!r} trains and tests on "
                    f"{len(both)} of them (leave groups out if that is meant)"
                )


def _from_pairs(plan: Any, method: str, data: Learning, seed: int, options: Mapping[str, Any]) -> Plan:
    name = METHODS[method].roles[0].names[0]
    others = {role.names for role in METHODS[method].roles[1:] if not role.optional(options)} - {("insample",)}
    if name not in FROM_PAIRS or others:
        raise TypeError(f"plan must be plans of jaxci.resampling.splits for {method}; got {shown(plan)}")
    n = len(data.y)
    try:
        if hasattr(plan, "split") and not isinstance(plan, str | type):
            pairs = list(_seeded(plan, seed).split(np.zeros((n, 1)), data.y, data.groups))
        else:
            pairs = [(np.asarray(train), np.asarray(test)) for train, test in plan]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"plan must be a Plan, a splitter or pairs (train, test) of row numbers; got {shown(plan)}: {error}"
        ) from None
    found = splits.from_indices(n, pairs, name=name)
    if name == "repeated_kfold":
        number = np.arange(len(found), dtype=np.int32)
        found = dataclasses.replace(found, repetition=number // 2, outer=number % 2)
    if fault := _fault(found):
        raise ValueError(f"plan must give {fault} for {method}; got {shown(plan)}")
    return found


def _seeded(splitter: Any, seed: int) -> Any:
    """Return a splitter whose random state is settled, so that the result can be repeated."""
    if getattr(splitter, "random_state", 0) is not None:
        return splitter
    settled = copy.copy(splitter)
    settled.random_state = seed % 2**32
    return settled


def _fault(plan: Plan) -> str | None:
    """Say what pairs of indices lack to be the plan that they stand for."""
    times = plan.test_mask.sum(axis=0)
    if plan.name == "holdout" and len(plan) != 1:
        return f"one split, not {len(plan)},"
    if plan.name == "kfold" and np.any(times != 1):
        return "splits that test every row once"
    if plan.name == "repeated_kfold":
        first, second = plan.test_mask[0::2], plan.test_mask[1::2]
        if len(first) != len(second) or not np.array_equal(first, ~second):
            return "pairs of halves that test each other"
    if plan.name == "bootstrap":
        if np.any(plan.train_counts.sum(axis=1) != plan.n):
            return f"resamples of {plan.n} rows"
        if not np.array_equal(plan.test_mask, plan.train_counts == 0):
            return "resamples that test all rows they leave out"
    return None
