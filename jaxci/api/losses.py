"""Intervals for the generalization error from what users' own loops found: losses of rows, or scores of splits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxci.api.all_right import AllRight
from jaxci.api.generalization_results import GeneralizationResult, ResampledFits, check_permitted
from jaxci.api.known_scores import KnownScore, averages_rows, known_score, losses_named
from jaxci.api.readers.arrays import as_floats, check_lengths
from jaxci.api.readers.labels import is_classification, label_values
from jaxci.checks import check_choice, check_count, shown
from jaxci.generalization.base import Resampled
from jaxci.generalization.plans import (
    FROM_PAIRS,
    Learning,
    check_plans,
    few_tested,
    keeps_shares,
    order_remark,
    standing_for,
    tested_of_classes,
)
from jaxci.generalization.registry import METHODS
from jaxci.inference.remarks import announce
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan
from jaxci.resampling.split_units import check_memory
from jaxci.statistics.registry import METRICS

OF_PLANS = {
    "holdout": "holdout",
    "nested_cv": "nested_cv",
    "bootstrap": "oob",
    "two_stage_bootstrap": "two_stage_bootstrap",
}
"""What "auto" stands for by the plan; of others it is the corrected t interval."""
MOST_GUESSED, LEAST_NAMED = 10_000_000, 1e-3
"""Entries of a table of splits by rows above which splits must name the second share of the rows, or n is asked for."""
ROUNDING = 1e-6
"""Share of a loss's range, or of the largest loss, by which rounding in single precision may leave the range."""

ROWS_OFF = 2
"""Rows of a class that a split tests too many or too few, from which on it does not keep the shares of classes."""


def losses_interval(
    losses: Any,
    train: Any = None,
    test: Any = None,
    *,
    method: str = "auto",
    loss: str = "loss",
    n: int | None = None,
    strata: Any = None,
    groups: Any = None,
    confidence_level: float = 0.95,
    **options: Any,
) -> GeneralizationResult:
    """Confidence interval for the generalization error from losses that a loop of your own computed.

    Parameters
    ----------
    losses : sequence of (m,) array_like, or (S, n) array_like
        Losses of the rows that each of S splits tests, in the order of ``test``; or a column a row of the data,
        where what a split does not test is not read.
    train : Plan, sequence of (m,) array_like, or (S, n) array_like, optional
        Rows that each split trains on: a plan of :mod:`jaxci.resampling.splits`, row numbers (repeats count), or
        how often each row trains. By default all rows that the split does not test.
    test : sequence of (m,) array_like, optional
        Row numbers that each split tests; needless beside a plan.
    method : str
        A method of :func:`generalization_interval` that reads one plan, or "auto": that of the plan, and the
        corrected t interval for folds, repeated folds and subsamples.
    loss : str
        Name of the loss. One that :func:`generalization_interval` knows ("zero_one", "brier", "log", "squared",
        "absolute" ...), or of a metric that is a mean over rows, with or without ``neg_`` ("log_loss",
        "mean_squared_error", "accuracy", of which 1 is right), has its range, and the ends given there (``scale``); of
        any other name nothing is known.
    n : int, optional
        Rows of the data; by default one more than the largest row number. It must be given where that makes a large
        table of which the splits name less than one row in 1,000.
    strata : (n,) array_like, optional
        Classes whose shares every split keeps, as scikit-learn's stratified splitters do. Without it intervals read
        off such splits are too narrow.
    groups : (n,) array_like, optional
        Group of every row; no split may train and test on rows of one.
    confidence_level : float
    **options
        Of the method's formula.

    Returns
    -------
    GeneralizationResult

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names it.

    Notes
    -----
    Nothing is fitted, so that models may be of any library: make a plan, train a model on ``plan.train_counts[s] > 0``
    of each split, and keep its losses on ``plan.test_mask[s]``.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> folds = np.array_split(rng.permutation(60), 5)
    >>> losses = [(y[fold] - np.delete(y, fold).mean()) ** 2 for fold in folds]
    >>> result = jaxci.losses_interval(losses, test=folds)
    >>> result.method, result.n, result.confidence_interval.low < 1 < result.confidence_interval.high
    ('corrected_t', 60, True)
    """
    test = list(test) if isinstance(test, Iterator) else test
    plan = _plan_of(train, test, n)
    remarks: tuple[str, ...] = ()
    if strata is not None:
        names, codes = np.unique(label_values("strata", strata), return_inverse=True)
        check_lengths({"strata": len(codes), "the rows of the splits": plan.n})
        plan, remarks = dataclasses.replace(plan, strata=codes), _rows_off_remark(plan, names, codes)
    check_choice("method", method, ("auto", *METHODS))
    reason = "asked for" if method != "auto" else "the method for such splits"
    if method == "auto":
        method = OF_PLANS.get(plan.name, "corrected_t")
    plan = _named_for(method, plan, isinstance(train, Plan))
    ids = None if groups is None else label_values("groups", groups)
    check_permitted(method, False, loss, groups is not None)
    check_plans([plan], Learning(None, np.zeros(plan.n), None, ids))
    remarks = (*remarks, *order_remark(plan), *_first_row_remark(plan))
    named, values = losses_named(loss), _losses_of(losses, plan, test)
    known = named or KnownScore()
    values = known.turn[1] * (values - known.turn[0])
    _check_range(values, loss, known)
    of = Resampled(plan, values)
    fits = ResampledFits(
        {plan.name: of}, loss, plan.n_fits, groups=ids, bounds=known.bounds, share=known.share, turn=known.turn
    )
    found = fits.interval(method, confidence_level=confidence_level, **options)
    of_errors = named is None and np.isin(of.tested[np.isfinite(of.tested)], (0, 1)).all()
    hint = "; losses named 'zero_one' have an interval that allows for them" if of_errors else ""
    return _told(found, reason, remarks, f"losses that were not seen{hint}")


def from_cross_validate(
    result: Mapping[str, Any],
    y: Any = None,
    *,
    score: str | None = None,
    method: str = "corrected_t",
    confidence_level: float = 0.95,
    **options: Any,
) -> GeneralizationResult:
    """Confidence interval for the mean score of scikit-learn's ``cross_validate(..., return_indices=True)``.

    Parameters
    ----------
    result : dict
        What ``cross_validate`` returned: scores of splits and their ``"indices"``.
    y : (n,) array_like, optional
        Targets or labels, which tell whether the splits keep the shares of classes.
    score : str, optional
        Which scores: ``"test_score"``, or ``"test_"`` and the name of one of several metrics.
    method : str
        A method that reads one number a split.
    confidence_level : float
    **options
        Of the method's formula.

    Returns
    -------
    GeneralizationResult
        Splits whose score is NaN (failed fits) are left out, with a warning. A score with the name of a metric, with or
        without ``neg_``, has its range, and the ends that :func:`generalization_interval` gives it: an accuracy that
        is 1 in all splits, or 0, has Clopper and Pearson's interval for the rows that were tested. A score that is
        known by its name for a mean over rows has the mean over all rows that were tested; others are averaged over
        splits, as scikit-learn does.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names it.

    Examples
    --------
    >>> import jaxci
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = cross_validate(Ridge(), X, y, cv=10, scoring="r2", return_indices=True)
    >>> result = jaxci.from_cross_validate(found, y)
    >>> result.method, result.confidence_interval.low < result.estimate
    ('corrected_t', True)
    """
    if not isinstance(result, Mapping) or not any(str(name).startswith("test_") for name in result):
        raise TypeError(f"result must be what scikit-learn's cross_validate returned; got {shown(result)}")
    if "indices" not in result:
        raise ValueError("result must hold the rows of its splits: call cross_validate(..., return_indices=True)")
    names = [name for name in result if str(name).startswith("test_")]
    score = f"test_{score}" if score is not None and f"test_{score}" in names else score
    if score is None and len(names) > 1:
        raise ValueError(f"score must be one of {', '.join(names)} where there are several")
    name = check_choice("score", score or names[0], names)
    values = np.asarray(result[name], np.float64)
    pairs = list(zip(result["indices"]["train"], result["indices"]["test"], strict=True))
    check_lengths({name: len(values), "the splits of indices": len(pairs)})
    if y is not None:
        rows = max(int(np.max(part)) for pair in pairs for part in pair) + 1
        if len(y) < rows:
            raise ValueError(
                f"y must hold all rows that were split; it has {len(y)}, and the splits name row {rows - 1}"
            )
    plan = _plan_of([train for train, _ in pairs], [test for _, test in pairs], None if y is None else len(y))
    plan = _named_for(check_choice("method", method, METHODS), plan, False)
    called = "score" if name == "test_score" else name.removeprefix("test_")
    check_permitted(method, True, called, False)
    known = known_score(called, values)
    none = np.full(plan.test_mask.shape, np.nan)
    of = Resampled(plan, none, ~np.isfinite(values), scores=known.losses(values), of_means=known.is_mean)
    fits = ResampledFits(
        {plan.name: of},
        called,
        plan.n_fits,
        warnings=(*_share_remark(plan, y), *_few_remark(called, plan, y), *order_remark(plan)),
        bounds=known.bounds,
        share=known.share,
        turn=known.turn,
        all_right=_all_right(called, y) if np.isfinite(known.bounds).all() else None,
    )
    found = fits.interval(method, confidence_level=confidence_level, **options)
    shares = called == "score" and found.estimate in (0, 1)
    hint = "; an accuracy that scoring=['accuracy'] names has an interval that allows for them" if shares else ""
    return _told(found, "asked for", unseen=f"scores that were not seen{hint}")


def _told(
    result: GeneralizationResult, reason: str, remarks: tuple[str, ...] = (), unseen: str = ""
) -> GeneralizationResult:
    """Return a result with its reason and remarks, announced: also that nothing is known of what was not seen."""
    reason = "; ".join(filter(None, (reason, result.reason)))
    low, high = result.confidence_interval
    still = (f"nothing is known of {unseen}",) if low == high else ()
    result = dataclasses.replace(result, reason=reason, warnings=(*remarks, *result.warnings, *still))
    announce(result.warnings)
    return result


def _first_row_remark(plan: Plan) -> tuple[str, ...]:
    """Say where row numbers seem to count from 1: the first row is then the only one that is never tested."""
    first, others = plan.test_mask[:, 0], plan.test_mask[:, 1:]
    if first.any() or not others.any(axis=0).all():
        return ()
    return (
        f"row 0 is tested by no split, and the other {plan.n - 1} of {plan.n} rows are: row numbers count from 0; "
        "where yours count from 1, subtract 1",
    )


def _rows_off_remark(plan: Plan, names: np.ndarray, codes: np.ndarray) -> tuple[str, ...]:
    """Say where a split does not test the share of a stratum: what losses vary by the shares is then counted twice."""
    found, even = tested_of_classes(plan, codes)
    apart = np.abs(found - even)
    if apart.max() < ROWS_OFF:
        return ()
    split, stratum = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return (
        f"strata must be classes whose shares every split keeps; split {split} tests {found[split, stratum]} rows of "
        f"{shown(names[stratum])}, of which its share is {even[split, stratum]:.3g}: leave strata out where splits "
        "are random, or what losses vary by the shares is counted twice",
    )


def _share_remark(plan: Plan, y: Any) -> tuple[str, ...]:
    """Say where scores hide what the shares of classes vary by, or may."""
    if y is None:
        return ("whether the splits keep the shares of classes is not known: pass y, or no stratified splitter",)
    if not is_classification(y):
        return ()
    if not keeps_shares(plan, np.unique(label_values("y", y), return_inverse=True)[1]):
        return ()
    return (
        "every split keeps the shares of the classes, as stratified splitters do: what scores vary by the shares is "
        "missing, and the interval is for data sets that have them; split by KFold(shuffle=True) for any data set",
    )


def _all_right(name: str, y: Any) -> AllRight | None:
    """Return the rows of a metric of classes, by its name, of which the positive one is 1, or else the last."""
    if name not in METRICS or averages_rows(name) or y is None or not is_classification(y):
        return None
    classes, codes = np.unique(label_values("y", y), return_inverse=True)
    return AllRight.of(METRICS[name], codes, 0 if classes[0] == 1 else 1)


def _few_remark(name: str, plan: Plan, y: Any) -> list[str]:
    """Say where splits test too few rows for a score whose name is that of a metric, and no mean of losses."""
    bare = name.removeprefix("neg_")
    if bare not in METRICS or averages_rows(bare):
        return []
    if y is None or not is_classification(y):
        return few_tested(plan, None)
    classes, codes = np.unique(label_values("y", y), return_inverse=True)
    return few_tested(plan, codes, classes)


def _plan_of(train: Any, test: Any, n: int | None) -> Plan:
    """Return the plan of what users say of their splits."""
    if isinstance(train, Plan):
        if test is not None or n is not None:
            raise ValueError("test and n must not be given beside a plan, which says which rows test")
        return train
    if test is None:
        raise TypeError(
            "test must hold the row numbers that each split tests, unless train is a plan of jaxci.resampling.splits; "
            "got None (of scores by cross_val_score no interval is made: call cross_validate(..., return_indices=True) "
            "and jaxci.from_cross_validate)"
        )
    tests = _rows_of("test", test)
    trains: list[np.ndarray]
    if isinstance(train, np.ndarray) and train.ndim == 2:
        n = check_count("n", train.shape[1] if n is None else n, 1)
        if train.shape[1] != n or train.dtype.kind not in "biu":
            raise ValueError(
                f"train must count every one of {n} rows where it is an array; got {train.dtype} of shape "
                f"{train.shape} (row numbers are a list of arrays)"
            )
        trains = [np.repeat(np.arange(n), counts) for counts in train.astype(np.intp)]
    else:
        trains = [] if train is None else _rows_of("train", train)
    n = _rows_named(tests, trains) if n is None else check_count("n", n, _largest([*tests, *trains]) + 1)
    if train is None:
        check_memory(len(tests), n)
        trains = [np.flatnonzero(np.isin(np.arange(n), one, invert=True)) for one in tests]
    check_lengths({"train": len(trains), "test": len(tests)})
    return splits.from_indices(n, zip(trains, tests, strict=True))


def _largest(parts: list[np.ndarray]) -> int:
    return max(int(np.max(rows, initial=0)) for rows in parts)


def _rows_named(tests: list[np.ndarray], trains: list[np.ndarray]) -> int:
    """Return one more than the largest row number, unless it is so large that it can be none."""
    parts = [*tests, *trains]
    largest = _largest(parts)
    if len(tests) * largest > MOST_GUESSED:
        named = len(np.unique(np.concatenate(parts)))
        if named < LEAST_NAMED * largest:
            name = "test" if _largest(tests) == largest else "train"
            raise ValueError(
                f"{name} must hold row numbers from 0 to n - 1, of n rows of the data; got row {largest} where the "
                f"splits name {named} rows in all (give n = {largest + 1} if that is meant)"
            )
    return largest + 1


def _rows_of(name: str, given: Any) -> list[np.ndarray]:
    try:
        found = [np.asarray(rows) for rows in given]
    except TypeError:
        raise TypeError(f"{name} must be a sequence of row numbers a split; got {shown(given)}") from None
    if not found or any(rows.ndim != 1 or rows.dtype.kind not in "iu" for rows in found):
        raise TypeError(f"{name} must be a sequence of row numbers a split; got {shown(given)}")
    return found


def _named_for(method: str, plan: Plan, as_it_is: bool) -> Plan:
    """Return the plan under the name that the method reads, if it is such a plan."""
    names = METHODS[method].roles[0].names
    others = [role for role in METHODS[method].roles[1:] if role.names != ("insample",)]
    if as_it_is:
        return plan
    if names[0] not in FROM_PAIRS or others:
        raise ValueError(f"{method} needs a plan of jaxci.resampling.splits, which losses_interval takes as train")
    plan, fault = standing_for(names[0], plan)
    if fault:
        raise ValueError(f"test must give {fault} for {method}")
    return plan


def _losses_of(losses: Any, plan: Plan, test: Any) -> np.ndarray:
    """Return losses (S, n), NaN where a split does not test."""
    table = np.full(plan.test_mask.shape, np.nan)
    given = losses if isinstance(losses, np.ndarray) and losses.ndim == 2 else None
    if given is not None and given.shape == table.shape:
        found = np.where(plan.test_mask, np.asarray(given, np.float64), np.nan)
        _check_finite(found, plan)
        return found
    try:
        parts = list(losses)
    except TypeError:
        raise TypeError(f"losses must hold the losses of the rows that each split tests; got {shown(losses)}") from None
    check_lengths({"losses": len(parts), "the splits": len(plan)})
    for split, part in enumerate(parts):
        rows = np.flatnonzero(plan.test_mask[split]) if test is None else np.asarray(test[split])
        values = as_floats(f"losses[{split}]", part)
        check_lengths({f"losses[{split}]": len(values), f"the rows that split {split} tests": len(rows)})
        table[split, rows] = values
    return table


def _check_finite(found: np.ndarray, plan: Plan) -> None:
    bad = plan.test_mask & ~np.isfinite(found)
    if bad.any():
        split, row = np.argwhere(bad)[0]
        count = int(bad.sum())
        raise ValueError(
            f"losses must be finite where rows are tested; {count} are not, first of row {row}, split {split}"
        )


def _check_range(found: np.ndarray, name: str, known: KnownScore) -> None:
    """Refuse losses (S, n), NaN where a split does not test, that a loss cannot have."""
    low, high = known.bounds
    if np.isinf(low):
        return
    reach = ROUNDING * max(1.0, min(high, float(np.nanmax(np.abs(found)))))
    bad = (found < low - reach) | (found > high + reach)
    if bad.any():
        split, row = np.argwhere(bad)[0]
        offset, sign = known.turn
        best = offset + sign * low
        if np.isinf(high):
            rule = f"not be {'below' if sign > 0 else 'above'} {best:g}"
        else:
            ends = sorted((best, offset + sign * high))
            rule = f"lie in [{ends[0]:g}, {ends[1]:g}]"
        value = offset + sign * found[split, row]
        raise ValueError(
            f"losses must {rule} where the loss is {name!r}; {int(bad.sum())} do not, first {value:g} of row {row}, "
            f"split {split}"
        )
