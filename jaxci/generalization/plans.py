"""The plans of a method for some data: the usual ones, or those that users pass in any of their forms."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from jaxci.checks import shown
from jaxci.generalization.registry import METHODS
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan
from jaxci.statistics.layout import uneven

CHANCE = 1e-3
"""Chance with which splits that take no heed of classes may be taken for such as do."""
RARE = 10
"""Rows of a class below which splits keep the shares of classes, so that no training sample lacks it."""
RARE_FOR_METRICS = 50
"""The same where splits are judged by a metric, for which parts that test need the class, too."""
FEWEST_LEFT_OUT, FEWEST_DRAWN = 8, 20
"""Groups from which on intervals covered 92%, where each is left out once, and where groups are drawn."""
FEWEST_EFFECTIVE, FEWEST_EFFECTIVE_DRAWN = 40, 100
"""Effective rows, ``(sum w)^2 / sum w^2``, from which on they did where rows are tested once each, and where not."""
TESTED_FOR_METRICS = 20
"""Rows, of classes those of each, that splits test below which means of a metric over splits are far from its value."""

FROM_PAIRS = {"holdout", "subsampling", "kfold", "repeated_kfold", "bootstrap"}
"""Plans that pairs of indices or a splitter can stand for."""


class Learning(NamedTuple):
    """Data as learners read them: features (n, d), targets or class codes (n,), labels by code, groups, weights.

    ``classes`` (K,), sorted, is None for a regression, whose targets may be (n, q) for an estimator of several outputs;
    of two the code ``positive`` is that of metrics of one class.
    """

    X: Any
    y: np.ndarray
    classes: np.ndarray | None
    groups: np.ndarray | None
    weights: np.ndarray | None = None
    positive: int = 1

    @property
    def codes(self) -> np.ndarray | None:
        """Class codes (n,), None for a regression."""
        return None if self.classes is None else self.y

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None where rows are independent."""
        return None if self.groups is None else len(np.unique(self.groups))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights that differ; equal ones count in fits alone."""
        return uneven(self.weights)

    @property
    def task(self) -> str:
        """Name of the task."""
        return "regression" if self.classes is None else "classification"


class Splitting(NamedTuple):
    """How rows are split.

    ``metric`` says that splits are judged by no mean of losses, ``settings`` change the usual plans, ``options`` are
    those of the method's formula. ``cv`` is what users pass, ``stratify`` whether splits keep the shares of classes;
    None is the default of both. ``folds`` are those of the usual plan, where it has folds.
    """

    method: str
    seed: int
    metric: bool = False
    settings: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    cv: Any = None
    stratify: bool | None = None
    folds: int = 0


class Planned(NamedTuple):
    """Plans, what users should be warned of, and why rows are split so."""

    plans: list[Plan]
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()


def usual_plans(how: Splitting, data: Learning) -> Planned:
    """Return the usual plans of a method for the data; groups stay together."""
    method = METHODS[how.method]

    def made(classes: np.ndarray | None) -> list[Plan]:
        return method.plans(
            len(data.y),
            how.seed,
            changes=how.settings,
            options=how.options,
            metric=how.metric,
            folds=how.folds,
            stratify=classes,
            groups=data.groups,
        )

    try:
        return _by_class(how, data, made)
    except ValueError as error:
        raise ValueError(f"the usual plan of {how.method} does not fit these data: {error} (pass cv)") from None


def tested_of_classes(plan: Plan, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows (S, K) of each class every split tests, and how many there are of even shares."""
    rows = np.bincount(codes)
    counts = np.stack([np.bincount(codes[mask], minlength=len(rows)) for mask in plan.test_mask])
    return counts, plan.test_mask.sum(axis=1)[:, None] * rows / plan.n


def keeps_shares(plan: Plan, codes: np.ndarray) -> bool:
    """Whether all splits test every class by its share, to within a row, where chance would not (1 in 1,000)."""
    rows, sizes = np.bincount(codes), plan.test_mask.sum(axis=1)
    counts, even = tested_of_classes(plan, codes)
    if np.any(np.abs(counts - even) >= 1):
        return False
    widest = int(np.argmax(rows * (plan.n - rows)))
    law = stats.hypergeom(plan.n, rows[widest], sizes)
    mean = even[:, widest]
    return bool(np.prod(law.cdf(np.ceil(mean + 1) - 1) - law.cdf(np.floor(mean - 1))) < CHANCE)


def _share_remark(how: Splitting) -> list[str]:
    if how.metric:
        return ["splits keep the shares of classes, and the interval is for data sets that have them"]
    return ["splits keep the shares of classes; what the loss varies by their variation is put back"]


def _by_class(how: Splitting, data: Learning, made: Callable[[np.ndarray | None], list[Plan]]) -> Planned:
    """Split whatever the class, as data sets are drawn, unless asked to heed it or a split might then lack a class."""
    if how.stratify:
        plans = made(data.codes)
        if plans[0].strata is None:
            raise ValueError("stratify must not be True where each group is left out once: splits keep no shares")
        return Planned(plans, _share_remark(how))
    if how.stratify is False or data.codes is None or data.groups is not None:
        return Planned(made(None))
    rows = np.bincount(data.y)
    if rows.min() >= (RARE_FOR_METRICS if how.metric else RARE) or not METHODS[how.method].stratified:
        return Planned(made(None))
    rare = f"class {_rarest(data.y, data.classes)} has {rows.min()} rows"
    try:
        plans, said = made(data.codes), [f"{rare}: so that no split lacks it, {_share_remark(how)[0]}"]
        return Planned(plans, said) if how.metric else Planned(plans, notes=said)
    except ValueError:
        return Planned(made(None), [f"{rare}: some splits lack it"])


def _rarest(codes: np.ndarray, classes: Any) -> str:
    return shown(np.asarray(classes)[np.bincount(codes).argmin()].item())


def _remarks(how: Splitting, plans: Sequence[Plan], data: Learning) -> list[str]:
    told = _group_remark(how, plans, data) or _weight_remark(how, plans, data)
    few = few_tested(plans[0], None if data.codes is None else data.y, data.classes) if how.metric else []
    return told + _untrained_remark(how, plans[0], data) + few + order_remark(plans[0])


def _untrained_remark(how: Splitting, plan: Plan, data: Learning) -> list[str]:
    """Say where the groups, or splits of the user's own, leave a class that is tested out of what is trained on."""
    if data.classes is None or (data.groups is None and how.cv is None):
        return []
    is_class = data.y[:, None] == np.arange(len(data.classes))
    unknown = (plan.test_mask @ is_class) & ~((plan.train_counts > 0) @ is_class)
    if not unknown.any():
        return []
    name = shown(np.asarray(data.classes)[unknown.any(axis=0).argmax()].item())
    splits = f"{np.count_nonzero(unknown.any(axis=1))} of {len(plan)} splits"
    return [f"{splits} test a class that they do not train on (class {name}): its rows are predicted wrong there"]


def _group_remark(how: Splitting, plans: Sequence[Plan], data: Learning) -> list[str]:
    """Say where groups are fewer than those with which the interval was found to hold."""
    if data.groups is None:
        return []
    codes = np.unique(data.groups, return_inverse=True)[1]
    alone = all(np.ptp(codes[mask]) == 0 for mask in plans[0].test_mask)
    least = FEWEST_LEFT_OUT if alone and len(plans[0]) == codes.max() + 1 else FEWEST_DRAWN
    if codes.max() + 1 >= least:
        return []
    return [
        f"{data.n_groups} groups: 95% intervals by {how.method} of fewer than {least} have covered less than 92% in "
        "simulations"
    ]


def _weight_remark(how: Splitting, plans: Sequence[Plan], data: Learning) -> list[str]:
    """Say where weights, or sizes of groups, make of the rows, or groups, as few as those with which intervals fail."""
    once = plans[0].test_mask.sum(axis=0).max() == 1
    if not data.weighted and (data.groups is None or not once):
        return []
    of = np.arange(len(data.y)) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]
    mass = np.bincount(of, data.weights)
    effective = float(mass.sum() ** 2 / np.sum(mass**2))
    what, least = "rows", FEWEST_EFFECTIVE if once else FEWEST_EFFECTIVE_DRAWN
    if data.groups is not None:
        what, least = "groups", FEWEST_LEFT_OUT if once else FEWEST_DRAWN
    if effective >= least:
        return []
    cause, kind = ("weights leave", "weight") if data.weighted else ("sizes of groups leave", "size")
    return [
        f"{cause} as much as {effective:.3g} {what} of equal {kind} tell: 95% intervals by {how.method} of fewer "
        f"than {least} have covered less than 92% in simulations"
    ]


def order_remark(plan: Plan) -> list[str]:
    """Say where every split tests rows that come after those it trains on, and others than the other splits."""
    tests = plan.test_mask
    before = all(np.flatnonzero(used)[-1] < test.argmax() for used, test in zip(plan.train_counts, tests, strict=True))
    if not before or len(np.unique(tests, axis=0)) < max(2, len(plan)):
        return []
    never, sizes = plan.n - int(tests.any(axis=0).sum()), plan.train_counts.sum(axis=1)
    return [
        f"every split tests rows after those it trains on, as TimeSeriesSplit does: {never} of {plan.n} rows are never "
        f"tested, and {sizes.min()} to {sizes.max()} train a split. The interval takes rows for independent and splits "
        "for exchangeable, so that how often it covers is not known: split independent rows by KFold(shuffle=True)"
    ]


def few_tested(plan: Plan, codes: np.ndarray | None, classes: Any = None) -> list[str]:
    """Say where splits test too few rows, or rows of a class, for a metric that is no mean of losses.

    ``codes`` (n,) are those of the ``classes`` of rows, None of other targets.
    """
    rarest = slice(None) if codes is None else codes == np.bincount(codes).argmin()
    tested = float(plan.test_mask[:, rarest].sum(axis=1).mean())
    if tested >= TESTED_FOR_METRICS:
        return []
    if codes is None:
        return [
            f"splits test about {tested:.2g} rows: means of a metric over so few can be far from its value (R2 of 10 "
            "rows was 0.10 for 0.28 on average, and 95% intervals covered 88%); test more rows (p=0.5, or fewer folds)"
        ]
    return [
        f"splits test about {tested:.2g} rows of class {_rarest(codes, classes)}: means of a metric over so few can be "
        "far from its value, and intervals of them have covered as little as a third of 95%; test more rows (p=0.5, or "
        "fewer folds)"
    ]


def read_plans(how: Splitting, data: Learning) -> Planned:
    """Return the plans of a method from what users pass.

    They pass plans, a number of folds, a scikit-learn splitter, or pairs of indices. Plans that only the data decide
    (all rows, each row left out) are added where they are missing.

    Raises
    ------
    ValueError, TypeError
        If the plans are not those of the method, split a group, or are no plans.
    """
    if how.stratify is not None and not isinstance(how.stratify, bool | np.bool_):
        raise TypeError(f"stratify must be True, False or None; got {shown(how.stratify)}")
    if how.stratify and data.codes is None:
        raise ValueError("stratify must not be True for a regression: it has no classes")
    if how.stratify and not METHODS[how.method].stratified:
        METHODS[how.method].refuse_strata("stratify=True")
    cv, method = how.cv, how.method
    if cv is None:
        usual = usual_plans(how, data)
        return usual._replace(remarks=[*usual.remarks, *_remarks(how, usual.plans, data)])
    if how.settings:
        raise ValueError(f"{', '.join(how.settings)} must not be given beside cv, which says how rows are split")
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        plans, remarks, notes = _from_folds(how, data)
    elif isinstance(cv, Plan) or (isinstance(cv, list | tuple) and cv and all(isinstance(one, Plan) for one in cv)):
        plans = [cv] if isinstance(cv, Plan) else list(cv)
        if how.stratify is not None:
            raise ValueError("stratify must be given to the builders of plans where cv holds plans")
    else:
        plans = [_from_pairs(how, data)]
        if plans[0].strata is not None:
            remarks = _share_remark(how)
    check_plans(plans, data)
    options = how.options
    roles = [role for role in METHODS[method].roles if not role.optional(options)]
    for role in roles:
        if not {one.name for one in plans} & set(role.names):
            if role.names[0] not in ("insample", "leave_one_out"):
                have = ", ".join(repr(one.name) for one in plans)
                raise ValueError(f"cv: {method} needs a plan {role.names[0]!r}; got {have}")
            plans.append(role.plan(len(data.y), how.seed, {}, {}, how.metric))
    known = {name for role in METHODS[method].roles for name in role.names}
    for one in plans:
        if one.name not in known:
            raise ValueError(f"cv: {method} does not read a plan {one.name!r}")
        if one.strata is not None and not METHODS[method].stratified:
            METHODS[method].refuse_strata(f"the plan {one.name!r} in cv")
    return Planned(plans, [*remarks, *_remarks(how, plans, data)], notes)


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
                    f"splits must keep groups together; split {split} of {plan.name!r} trains and tests on "
                    f"{len(both)} of them (leave groups out if that is meant)"
                )


def _from_folds(how: Splitting, data: Learning) -> Planned:
    """Return the plan of ``cv`` folds, or the method's own plans with as many."""
    method, folds = METHODS[how.method], int(how.cv)
    own = "n_folds" in method.plan_settings and method.roles[0].names[0] != "repeated_kfold"
    if not own and "kfold" not in method.roles[0].names:
        raise TypeError(f"cv must be plans of jaxci.resampling.splits for {how.method}; got {folds}")

    def made(classes: np.ndarray | None) -> list[Plan]:
        if own:
            return method.plans(
                len(data.y),
                how.seed,
                changes={"n_folds": folds},
                options=how.options,
                metric=how.metric,
                stratify=classes,
                groups=data.groups,
            )
        return [splits.kfold(len(data.y), folds, how.seed, stratify=classes, groups=data.groups)]

    try:
        return _by_class(how, data, made)
    except ValueError as error:
        raise ValueError(f"cv, which is n_folds: {error}") from None


def _from_pairs(how: Splitting, data: Learning) -> Plan:
    cv, method, n = how.cv, how.method, len(data.y)
    name = METHODS[method].roles[0].names[0]
    others = {role.names for role in METHODS[method].roles[1:] if not role.optional(how.options)} - {("insample",)}
    if name not in FROM_PAIRS or others:
        raise TypeError(f"cv must be plans of jaxci.resampling.splits for {method}; got {shown(cv)}")
    if hasattr(cv, "split") and not isinstance(cv, str | type):
        targets = data.y if data.classes is None else data.classes[data.y]
        try:
            pairs = list(_seeded(cv, how.seed).split(data.X, targets, data.groups))
        except Exception as error:
            raise ValueError(f"cv: {shown(cv)} gives no splits of these data: {error}") from error
    else:
        try:
            pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"cv must be a number of folds, a Plan, a splitter or pairs (train, test) of row numbers; "
                f"got {shown(cv)}: {error}"
            ) from None
    found = splits.from_indices(n, pairs, name=name)
    if data.codes is not None:
        kept = _is_stratified(cv) or keeps_shares(found, data.codes)
        if how.stratify is not None and how.stratify != kept:
            say = "do not keep" if how.stratify else "keep"
            raise ValueError(f"stratify={how.stratify} is not what cv does: its splits {say} the shares of the classes")
        if kept:
            found = dataclasses.replace(found, strata=data.codes)
    found, fault = standing_for(name, found)
    if fault:
        raise ValueError(f"cv must give {fault} for {method}; got {shown(cv)}")
    return found


def _is_stratified(splitter: Any) -> bool:
    """Whether it is a splitter of scikit-learn that keeps the shares of classes."""
    known = sys.modules.get("sklearn.model_selection")
    if known is None:
        return False
    keeping = (known.StratifiedKFold, known.RepeatedStratifiedKFold, known.StratifiedShuffleSplit)
    return isinstance(splitter, (*keeping, known.StratifiedGroupKFold))


def _seeded(splitter: Any, seed: int) -> Any:
    """Return a splitter whose random state is settled, so that the result can be repeated."""
    if getattr(splitter, "random_state", 0) is not None:
        return splitter
    settled = copy.copy(splitter)
    settled.random_state = seed % 2**32
    return settled


def standing_for(name: str, plan: Plan) -> tuple[Plan, str | None]:
    """Return splits that were given as the plan called ``name``, and what they lack to be it."""
    plan = dataclasses.replace(plan, name=name)
    if name == "repeated_kfold":
        number = np.arange(len(plan), dtype=np.int32)
        plan = dataclasses.replace(plan, repetition=number // 2, outer=number % 2)
    return plan, _fault_of(plan)


def _fault_of(plan: Plan) -> str | None:
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
