"""Intervals from the losses of a plan's splits: formulas only, no fits.

``losses`` (S, n) holds the loss of row i under the model of split s where ``plan.test_mask`` is
true; other entries are not read. Every method names the plan it needs and refuses others.
Source: Schulz-Kuempel et al. (2024) and the papers named below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxci.resampling.plan import Plan


class LossInterval(NamedTuple):
    """Estimate of a generalization error, two-sided interval and standard error (NaN where there is none)."""

    estimate: float
    low: float
    high: float
    standard_error: float


def _normal(estimate: float, error: float, level: float) -> LossInterval:
    half = special.ndtri((1 + level) / 2) * error
    return LossInterval(estimate, estimate - half, estimate + half, error)


def _student(estimate: float, error: float, df: int, level: float) -> LossInterval:
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    return LossInterval(estimate, estimate - half, estimate + half, error)


def _require(plan: Plan, method: str, *names: str) -> None:
    if plan.name not in names:
        raise ValueError(f"{method} needs a plan {' or '.join(names)}; got {plan.name!r}")


def _tested(losses: np.ndarray, plan: Plan) -> np.ndarray:
    """Return the losses with NaN where a split does not test, in double precision."""
    losses = np.asarray(losses, np.float64)
    if losses.shape != plan.test_mask.shape:
        raise ValueError(f"losses must have the shape of the plan, {plan.test_mask.shape}; got {losses.shape}")
    bad = plan.test_mask & ~np.isfinite(losses)
    if bad.any():
        split, row = np.argwhere(bad)[0]
        raise ValueError(
            f"losses must be finite where rows are tested; {int(bad.sum())} are not, first at ({split}, {row})"
        )
    return np.where(plan.test_mask, losses, np.nan)


def split_means(losses: np.ndarray, plan: Plan) -> np.ndarray:
    """Return the mean loss of every split (S,)."""
    return np.nanmean(_tested(losses, plan), axis=1)


def holdout(losses: np.ndarray, plan: Plan, *, level: float = 0.95) -> LossInterval:
    """Mean test loss of one split, with the normal interval of a mean. Target: the risk of its model."""
    _require(plan, "holdout", "holdout")
    found = _tested(losses, plan)[0]
    found = found[~np.isnan(found)]
    if found.size < 2:
        raise ValueError(f"holdout needs at least 2 test rows; got {found.size}")
    return _normal(float(found.mean()), float(found.std(ddof=1)) / math.sqrt(found.size), level)


def cv_wald(losses: np.ndarray, plan: Plan, *, level: float = 0.95, variance: str = "all-pairs") -> LossInterval:
    """Cross-validation with a normal interval (Bayle et al. 2020).

    ``variance="all-pairs"`` is that of all n losses about their mean (divisor n);
    ``"within-fold"`` the mean over folds of the variance within the fold (divisor n/K - 1), which
    leave-one-out does not have.
    """
    _require(plan, "cv_wald", "kfold", "leave_one_out")
    found = _tested(losses, plan)
    by_row = np.nanmean(found, axis=0)
    if variance == "all-pairs":
        squared = float(by_row.var())
    elif variance == "within-fold":
        if plan.test_mask.sum(axis=1).min() < 2:
            raise ValueError("variance='within-fold' needs at least 2 rows in every fold")
        squared = float(np.nanvar(found, axis=1, ddof=1).mean())
    else:
        raise ValueError(f"variance must be 'all-pairs' or 'within-fold'; got {variance!r}")
    return _normal(float(by_row.mean()), math.sqrt(squared / plan.n), level)


def corrected_t(losses: np.ndarray, plan: Plan, *, level: float = 0.95) -> LossInterval:
    """Corrected resampled t interval over K subsamples (Nadeau and Bengio 2003)."""
    _require(plan, "corrected_t", "subsampling")
    means = split_means(losses, plan)
    splits = len(means)
    if splits < 2:
        raise ValueError(f"corrected_t needs at least 2 subsamples; got {splits}")
    tested = plan.test_mask.sum(axis=1).mean() / plan.n
    error = math.sqrt((1 / splits + tested / (1 - tested)) * means.var(ddof=1))
    return _student(float(means.mean()), error, splits - 1, level)


def conservative_z(
    losses: np.ndarray, plan: Plan, paired_losses: np.ndarray, paired_plan: Plan, *, level: float = 0.95
) -> LossInterval:
    """Conservative z interval (Nadeau and Bengio 2003): subsampling, and the same in R pairs of disjoint halves.

    Both plans have the same number of subsamples and of test rows.
    """
    _require(plan, "conservative_z", "subsampling")
    _require(paired_plan, "conservative_z", "paired_subsampling")
    halves = split_means(paired_losses, paired_plan)
    sizes = {int(x) for x in (*plan.test_mask.sum(axis=1), *paired_plan.test_mask.sum(axis=1))}
    subsamples = int(paired_plan.outer.max()) + 1
    if len(sizes) > 1 or subsamples != len(plan):
        raise ValueError(
            "conservative_z needs plans with as many subsamples and test rows; got "
            f"{len(plan)} and {subsamples} subsamples, test sizes {sorted(sizes)}"
        )
    pairs = int(paired_plan.repetition.max()) + 1
    means = np.array(
        [
            [halves[(paired_plan.repetition == r) & (paired_plan.extra == side)].mean() for side in (0, 1)]
            for r in range(pairs)
        ]
    )
    error = math.sqrt(float(np.mean((means[:, 0] - means[:, 1]) ** 2)) / 2)
    return _normal(float(split_means(losses, plan).mean()), error, level)


def five_by_two_cv(losses: np.ndarray, plan: Plan, *, level: float = 0.95) -> LossInterval:
    """5x2 cross-validation (Dietterich 1998): t with 5 degrees of freedom about the first fold's loss."""
    _require(plan, "five_by_two_cv", "repeated_kfold")
    if len(plan) != 10 or int(plan.outer.max()) != 1:
        folds, repetitions = int(plan.outer.max()) + 1, int(plan.repetition.max()) + 1
        raise ValueError(f"five_by_two_cv needs 5 repetitions of 2 folds; got {repetitions} of {folds}")
    means = split_means(losses, plan)
    by_repetition = means[np.lexsort((plan.outer, plan.repetition))].reshape(5, 2)
    error = math.sqrt(float(np.sum((by_repetition[:, 0] - by_repetition[:, 1]) ** 2)) / 10)
    return _student(float(by_repetition[0, 0]), error, 5, level)


def nested_cv(losses: np.ndarray, plan: Plan, *, level: float = 0.95, correction: str = "printed") -> LossInterval:
    """Nested cross-validation (Bates, Hastie and Tibshirani 2024).

    ``correction`` is the factor of the bias: ``"printed"`` is ``1 + (K - 2)/K``, ``"code"`` is the
    authors' ``1 + ((K - 2)/K)**1.5``.
    """
    _require(plan, "nested_cv", "nested_cv")
    factors = {"printed": 1.0, "code": 1.5}
    if correction not in factors:
        raise ValueError(f"correction must be 'printed' or 'code'; got {correction!r}")
    found = _tested(losses, plan)
    folds = int(plan.outer.max()) + 1
    outer = plan.inner < 0
    inner_losses = found[~outer]
    pooled = inner_losses[~np.isnan(inner_losses)]
    squares = []
    for r, k in zip(plan.repetition[outer], plan.outer[outer], strict=True):
        here = (plan.repetition == r) & (plan.outer == k)
        mine = found[here & outer][0]
        mine = mine[~np.isnan(mine)]
        inner = found[here & ~outer]
        squares.append((float(np.nanmean(inner)) - float(mine.mean())) ** 2 - float(mine.var(ddof=1)) / mine.size)
    spread = float(pooled.std(ddof=1)) / math.sqrt(plan.n)
    error = math.sqrt(max(0.0, (folds - 1) / folds * float(np.mean(squares))))
    error = min(max(error, spread), spread * math.sqrt(folds))
    nested = float(pooled.mean())
    plain = float(np.nanmean(found[outer], axis=1).mean())
    bias = (1 + ((folds - 2) / folds) ** factors[correction]) * (nested - plain)
    return _normal(nested - bias, error, level)


def replace_one_cv(losses: np.ndarray, plan: Plan, *, level: float = 0.95, constant: str = "corrected") -> LossInterval:
    """Replace-one cross-validation, once or repeated (Austern and Zhou 2020).

    The variance is ``n/4 sum_l (P - P_l)**2`` over the replaced rows l; ``constant="original"`` has
    ``n/2``, which is sqrt(2) too wide.
    """
    _require(plan, "replace_one_cv", "replace_one_cv", "repeated_replace_one_cv")
    factors = {"corrected": 0.25, "original": 0.5}
    if constant not in factors:
        raise ValueError(f"constant must be 'corrected' or 'original'; got {constant!r}")
    found = _tested(losses, plan)
    half = plan.n // 2

    def mean_of(chosen: np.ndarray) -> float:
        repetitions = np.unique(plan.repetition[chosen])
        return float(np.mean([np.nansum(found[chosen & (plan.repetition == r)]) / half for r in repetitions]))

    base = plan.extra < 0
    centre = mean_of(base)
    moved = np.array([mean_of(plan.extra == row) for row in np.unique(plan.extra[~base])])
    squared = factors[constant] * plan.n * float(np.sum((centre - moved) ** 2))
    return _normal(centre, math.sqrt(squared / plan.n), level)


def oob_t(losses: np.ndarray, plan: Plan, *, level: float = 0.95) -> LossInterval:
    """Mean of the out-of-bag losses of the resamples -+ t times their standard deviation (Raschka 2022, method 2.1)."""
    _require(plan, "oob_t", "bootstrap")
    means = split_means(losses, plan)
    return _student(float(means.mean()), float(means.std(ddof=1)), len(means) - 1, level)


def oob_percentile(losses: np.ndarray, plan: Plan, *, level: float = 0.95) -> LossInterval:
    """Quantiles of the out-of-bag losses of the resamples (Raschka 2022, method 2.2)."""
    _require(plan, "oob_percentile", "bootstrap")
    means = split_means(losses, plan)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return LossInterval(float(means.mean()), float(low), float(high), float(means.std(ddof=1)))
