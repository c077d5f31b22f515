"""What users say of a learner's data, loss and splits, as the fits read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.arrays import as_array, as_floats, check_lengths
from jaxci.api.data import statistic_by_name
from jaxci.api.labels import encode_labels, is_classification
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
    """Data as learners read them: features (n, d), targets or class codes (n,), K (0 for a regression), groups."""

    X: Any
    y: np.ndarray
    n_classes: int
    groups: np.ndarray | None

    @property
    def classes(self) -> np.ndarray | None:
        """Class codes (n,), None for a regression."""
        return self.y if self.n_classes else None

    @property
    def task(self) -> str:
        """Name of the task."""
        return "classification" if self.n_classes else "regression"


def read_learning(inducer: Any, X: Any, y: Any, groups: Any = None) -> Learning:
    """Read features and targets; classes where the learner, or for one of any task ``y``, is for classes."""
    ours = isinstance(inducer, Inducer)
    if ours:
        task = inducer.task
    elif hasattr(inducer, "fit") and hasattr(inducer, "predict") and not isinstance(inducer, type):
        from sklearn.base import is_classifier

        task = "classification" if is_classifier(inducer) else "regression"
    else:
        raise TypeError(f"inducer must be of jaxci.inducers or scikit-learn; got {shown(inducer)}")
    # An estimator may know what to do with strings or NaN; a learner of ours does not.
    features = as_floats("X", X, (2,)) if ours else X if hasattr(X, "iloc") else np.asarray(X)
    if np.ndim(features) != 2:
        raise ValueError(f"X must have shape (n, d); got {np.shape(features)}")
    given = {"X": len(features), "y": len(as_array("y", y))}
    if groups is not None:
        given["groups"] = len(as_array("groups", groups))
    check_lengths(given)
    ids = None if groups is None else np.asarray(groups)
    if not (task == "classification" or (task == "any" and is_classification(y))):
        targets = as_floats("y", y)
        if np.ptp(targets) == 0:
            raise ValueError(f"y must vary; all {len(targets)} values are {targets[0]:g}")
        return Learning(features, targets, 0, ids)
    codes, classes, _ = encode_labels({"y_true": y}, None, 1)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least 2 classes; got {classes.tolist()}")
    return Learning(features, codes["y_true"], len(classes), ids)


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
        return type(loss).__name__, loss
    check_choice("loss", loss, [*names, *suiting])
    return loss, statistic_by_name(loss)


def _metrics_for(data: Learning) -> list[str]:
    tasks = {0: ("regression",), 2: ("binary", "multiclass")}.get(data.n_classes, ("multiclass",))
    return [name for name, s in METRICS.items() if s.task in tasks and set(s.inputs) & {"y_pred", "y_score"}]


def usual_plans(method: str, data: Learning, seed: int, options: dict[str, Any]) -> list[Plan]:
    """Return the usual plans of a method for the data, classes in proportion and groups kept together."""
    try:
        return METHODS[method].plans(
            len(data.y),
            seed,
            stratify=None if data.groups is not None else data.classes,
            groups=data.groups,
            options=options,
        )
    except ValueError as error:
        raise ValueError(f"the usual plan of {method} does not fit these data: {error} (pass plan)") from None


def read_plans(plan: Any, method: str, data: Learning, seed: int, options: dict[str, Any]) -> list[Plan]:
    """Return the plans of a method from what users pass: plans, a scikit-learn splitter, or pairs of indices.

    Plans that only the data decide (all rows, each row left out) are added where they are missing.
    """
    if plan is None:
        return usual_plans(method, data, seed, options)
    if isinstance(plan, Plan):
        plans = [plan]
    elif isinstance(plan, Sequence) and plan and all(isinstance(one, Plan) for one in plan):
        plans = list(plan)
    else:
        plans = [_from_pairs(plan, method, data, options)]
    have = {one.name for one in plans}
    for role in METHODS[method].roles:
        lacking = not have & set(role.names)
        if lacking and role.names[0] in ("insample", "leave_one_out") and not role.optional(options):
            plans.append(role.plan(len(data.y), seed, {}, {}))
    return plans


def _from_pairs(plan: Any, method: str, data: Learning, options: dict[str, Any]) -> Plan:
    name = METHODS[method].roles[0].names[0]
    others = {role.names for role in METHODS[method].roles[1:] if not role.optional(options)} - {("insample",)}
    if name not in FROM_PAIRS or others:
        raise TypeError(f"plan must be plans of jaxci.resampling.splits for {method}; got {shown(plan)}")
    n = len(data.y)
    if hasattr(plan, "split"):
        pairs = list(plan.split(np.zeros((n, 1)), data.y, data.groups))
    elif isinstance(plan, Iterable):
        pairs = list(plan)
    else:
        raise TypeError(f"plan must be a Plan, a splitter or pairs (train, test) of row numbers; got {shown(plan)}")
    found = splits.from_indices(n, pairs, name=name)
    if name == "repeated_kfold":
        number = np.arange(len(found), dtype=np.int32)
        found = dataclasses.replace(found, repetition=number // 2, outer=number % 2)
    return found
