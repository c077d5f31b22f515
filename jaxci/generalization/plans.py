"""The plans of a method for some data: the usual ones, or those that users pass in any of their forms."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import shown
from jaxci.generalization.registry import METHODS
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan

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
