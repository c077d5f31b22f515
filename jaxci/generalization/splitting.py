"""Intervals from splits of the rows: holdout, cross-validation and subsampling. Formulas only, no fits.

Every method names the plan it needs and refuses others. Source: Schulz-Kuempel et al. (2024) and
the papers named below. Where splits keep the shares of classes, means of splits vary less than means of
as many rows: what the shares add (:attr:`Resampled.between`, over the rows of a mean) is put back.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from jaxci.generalization.base import ANY, LossInterval, Resampled, normal, on_scale, pooled, student

RESAMPLED = ("subsampling", "kfold", "repeated_kfold", "leave_one_out")
"""Plans whose means of splits the corrected t interval reads."""
APART = 1.5
"""Factor between the mean losses of models of fewer and of more rows from which on neither tells that of all rows."""


def holdout(of: Resampled, *, level: float = 0.95) -> LossInterval:
    """Mean test loss of one split, with the normal interval of a mean. Target: the risk of its model."""
    of.need("holdout", "holdout")
    of.need_all("holdout")
    found = of.tested[0][of.plan.test_mask[0]]
    if found.size < 2:
        raise ValueError(f"holdout needs at least 2 test rows; got {found.size}")
    return normal(float(found.mean()), float(found.std(ddof=1)) / math.sqrt(found.size), level)


def cv_wald(of: Resampled, *, level: float = 0.95, variance: str = "all-pairs") -> LossInterval:
    """Cross-validation with a normal interval (Bayle et al. 2020).

    ``variance="all-pairs"`` is that of all n losses about their mean (divisor n);
    ``"within-fold"`` the mean over folds of the variance within the fold (divisor n/K - 1), which
    leave-one-out does not have.
    """
    of.need("cv_wald", "kfold", "leave_one_out")
    of.need_all("cv_wald")
    by_row = np.nanmean(of.tested, axis=0)
    if variance == "all-pairs":
        squared = float(by_row.var())
    elif variance == "within-fold":
        if of.sizes.min() < 2:
            raise ValueError("variance='within-fold' needs at least 2 rows in every fold")
        squared = float(np.nanvar(of.tested, axis=1, ddof=1).mean())
    else:
        raise ValueError(f"variance must be 'all-pairs' or 'within-fold'; got {variance!r}")
    return normal(float(by_row.mean()), math.sqrt(squared / of.plan.n), level)


def corrected_t(
    of: Resampled, *, level: float = 0.95, scale: str = "plain", bounds: tuple[float, float] = ANY
) -> LossInterval:
    """Corrected resampled t interval over K splits (Nadeau and Bengio 2003).

    Splits may be subsamples, the folds of a cross-validation, once or repeated (Bouckaert and Frank 2004), or
    leave out one row or group each. Those whose fit failed are left out of K, and splits that test the same rows
    count once. Splits of several sizes have the mean over the rows that they test, not over splits (scikit-learn
    averages folds), and the variance of a ratio of sums: with L_s of the m_s rows, or their weight, of split s, that of
    ``(L_s - L) m_s / mean(m)``, where ``L = sum(m_s L_s) / sum(m_s)``. Of splits of one size it is the published
    formula; metrics that are no means of losses count alike. Degrees of freedom are K - 1, and at most one less than
    the rows, or groups, that splits test apart, or, where no two test a row, than ``sum(m_s)^2 / sum(m_s^2)``.
    ``scale`` is one of :func:`~jaxci.generalization.base.on_scale`: means of few groups, and of few errors, are
    skewed, and so are metrics near an end of their range, the ``bounds`` of "nearer_end".
    """
    of.need("corrected_t", *RESAMPLED)
    packed = np.packbits(of.plan.test_mask[of.kept], axis=1)  # of the same order, in an eighth of the columns
    _, first = np.unique(packed, axis=0, return_index=True)
    means, masses, sizes = (values[of.kept][first] for values in (of.means, of.masses, of.sizes))
    splits = len(means)
    if splits < 2:
        of.need_all("corrected_t")
        raise ValueError(f"corrected_t needs at least 2 splits that test different rows; got {splits}")
    trained = of.plan.train_counts[of.kept][first].sum(axis=1)
    tested = of.plan.test_mask[of.kept][first]
    overlap = tested.sum(axis=0).max() > 1  # subsets of n rows vary less than as many rows
    apart = np.unique(np.packbits(tested[:, tested.any(axis=0)], axis=0), axis=1).shape[1] if overlap else splits
    hidden = 1 / float(sizes.mean()) - (1 / of.plan.n if overlap else 0.0)
    mean, parts = pooled(means, masses)
    spread = float(parts.var(ddof=1)) + of.between * hidden
    error = math.sqrt((1 / splits + float(sizes.mean() / trained.mean())) * spread)
    effective = splits if overlap else round(float(masses.sum() ** 2 / np.sum(masses**2)))
    return on_scale(student(mean, error, max(1, min(splits, apart, effective) - 1), level), scale, bounds=bounds)


def conservative_z(of: Resampled, paired: Resampled, *, level: float = 0.95) -> LossInterval:
    """Conservative z interval (Nadeau and Bengio 2003): subsampling, and the same in R pairs of disjoint halves.

    Both plans have the same number of subsamples and of test rows. Subsamples whose fit failed are
    left out of the means, which are over the rows that subsamples test, or their weight.
    """
    of.need("conservative_z", "subsampling")
    paired.need("conservative_z", "paired_subsampling")
    sizes = [set(map(int, part.sizes)) for part in (of, paired)]
    subsamples = int(paired.plan.outer.max()) + 1
    alike = sizes[0] == sizes[1] or max(map(len, sizes)) > 1  # groups of several sizes make tests of several sizes
    if not alike or subsamples != len(of.plan):
        raise ValueError(
            "conservative_z needs plans with as many subsamples and test rows; got "
            f"{len(of.plan)} and {subsamples} subsamples, test sizes {sorted(sizes[0] | sizes[1])}"
        )
    pairs = int(paired.plan.repetition.max()) + 1
    half = 2 * paired.plan.repetition + paired.plan.extra
    count = np.bincount(half[paired.kept], minlength=2 * pairs)
    if count.min() == 0 or not of.kept.any():
        paired.need_all("conservative_z")
        of.need_all("conservative_z")
    means, masses = paired.means[paired.kept], paired.masses[paired.kept]
    total, mass = (np.bincount(half[paired.kept], values, 2 * pairs) for values in (means * masses, masses))
    first, second = (total / mass).reshape(pairs, 2).T
    error = math.sqrt(float(np.mean((first - second) ** 2)) / 2 + 2 * of.between / of.plan.n)
    return normal(pooled(of.means[of.kept], of.masses[of.kept])[0], error, level)


def five_by_two_cv(of: Resampled, *, level: float = 0.95) -> LossInterval:
    """5x2 cross-validation (Dietterich 1998): t with 5 degrees of freedom about the first fold's loss."""
    by_repetition = _by_repetition(of, "five_by_two_cv")
    squared = float(np.sum((by_repetition[:, 0] - by_repetition[:, 1]) ** 2)) / 10
    error = math.sqrt(squared + 2 * of.between / of.plan.n)
    return student(float(by_repetition[0, 0]), error, 5, level)


def combined_five_by_two_cv(of: Resampled, *, level: float = 0.95) -> LossInterval:
    """5x2 cross-validation by the combined F test (Alpaydin 1999): what it does not reject.

    With p_ij of fold j of repetition i, ``sum_ij (p_ij - d)^2 / (2 sum_i s_i^2)`` is F with 10 and 5 degrees of
    freedom. Where folds differ so much from one repetition to the next that it rejects every d, there is no interval.
    """
    by_repetition = _by_repetition(of, "combined_five_by_two_cv")
    variances = by_repetition.var(axis=1, ddof=1) + 2 * of.between / of.plan.n
    estimate, total = float(by_repetition.mean()), float(variances.sum())
    apart = float(np.sum((by_repetition - estimate) ** 2))
    error = math.sqrt(total / 5)
    squared = (2 * total * float(special.fdtri(10, 5, level)) - apart) / 10
    ratio = float(np.sum(by_repetition**2)) / (2 * total) if total > 0 else math.inf
    pvalue = 1.0 if not by_repetition.any() else float(special.fdtrc(10, 5, ratio))
    if squared < 0:
        said = "combined_five_by_two_cv rejects every value: repetitions differ more than their folds do"
        return LossInterval(estimate, math.nan, math.nan, error, math.nan, (said,), pvalue)
    half = math.sqrt(squared)
    return LossInterval(estimate, estimate - half, estimate + half, error, math.nan, (), pvalue)


def _by_repetition(of: Resampled, method: str) -> np.ndarray:
    """Return the mean losses (5, 2) of both folds of every repetition."""
    of.need(method, "repeated_kfold")
    plan = of.plan
    if len(plan) != 10 or int(plan.outer.max()) != 1:
        folds, repetitions = int(plan.outer.max()) + 1, int(plan.repetition.max()) + 1
        raise ValueError(f"{method} needs 5 repetitions of 2 folds; got {repetitions} of {folds}")
    of.need_all(method)
    return of.means[np.lexsort((plan.outer, plan.repetition))].reshape(5, 2)


def nested_cv(
    of: Resampled,
    *,
    level: float = 0.95,
    correction: str = "printed",
    scale: str = "plain",
    bounds: tuple[float, float] = ANY,
) -> LossInterval:
    """Nested cross-validation (Bates, Hastie and Tibshirani 2024).

    ``correction`` is the factor of the bias: ``"printed"`` is ``1 + (K - 2)/K``, ``"code"`` is the
    authors' ``1 + ((K - 2)/K)**1.5``. ``scale``, for positive losses, is one of
    :func:`~jaxci.generalization.base.on_scale`: losses without a bound have skewed means of few rows, and so have
    rare errors. It is that of the mean before the correction, which may take the estimate to 0 and below; where that is
    not positive ends are plain. Folds, of which none has two rows more than another, count alike, as printed.
    """
    of.need("nested_cv", "nested_cv")
    of.need_all("nested_cv")
    factors = {"printed": 1.0, "code": 1.5}
    if correction not in factors:
        raise ValueError(f"correction must be 'printed' or 'code'; got {correction!r}")
    plan = of.plan
    folds = int(plan.outer.max()) + 1
    fold = plan.repetition * folds + plan.outer
    outer = plan.inner < 0
    mine = of.tested[outer][np.argsort(fold[outer])]
    inner_sums = np.bincount(fold[~outer], of.sums[~outer])
    inner_sizes = np.bincount(fold[~outer], of.sizes[~outer])
    outer_means = np.nanmean(mine, axis=1)
    sizes = np.sum(~np.isnan(mine), axis=1)
    if sizes.min() < 2:
        able = plan.n // 2
        way = "" if able >= folds else f": use n_folds={able}" if able > 2 else ": 3 folds, the fewest, take 6 rows"
        raise ValueError(
            f"nested_cv needs at least 2 rows in every fold; got {sizes.min()} (n = {plan.n}, {folds} folds){way}"
        )
    squares = (inner_sums / inner_sizes - outer_means) ** 2 - np.nanvar(mine, axis=1, ddof=1) / sizes
    squares += of.between * (1 / sizes + 1 / (plan.n - sizes))
    pooled = of.tested[~outer]
    pooled = pooled[~np.isnan(pooled)]
    spread = float(pooled.std(ddof=1)) / math.sqrt(plan.n)
    error = math.sqrt(max(0.0, (folds - 1) / folds * float(squares.mean())))
    error = min(max(error, spread), spread * math.sqrt(folds))
    nested, plain = float(pooled.mean()), float(outer_means.mean())
    bias = (1 + ((folds - 2) / folds) ** factors[correction]) * (nested - plain)
    found = normal(nested - bias, error, level)._replace(remarks=tuple(_size_remark(of, nested, plain, spread)))
    return found if nested <= 0 and scale in ("log", "cube_root") else on_scale(found, scale, nested, bounds)


def _size_remark(of: Resampled, nested: float, plain: float, spread: float) -> list[str]:
    """Say where the error of fewer rows is so much another that the correction for their number cannot be trusted."""
    if np.nanmin(of.tested) < 0 or abs(nested - plain) <= spread or max(nested, plain) <= APART * min(nested, plain):
        return []
    inner = of.plan.inner >= 0
    few, more = (float(of.plan.train_counts[which].sum(axis=1).mean()) for which in (inner, ~inner))
    return [
        f"models of {few:.0f} rows have a mean loss of {nested:.3g}, of {more:.0f} rows {plain:.3g}: so far apart, the "
        "correction of nested_cv for fewer rows than all cannot be trusted, and its interval may be many times too "
        "wide, or miss; use method='corrected_t'"
    ]


def replace_one_cv(
    of: Resampled, whole: Resampled, *, level: float = 0.95, constant: str = "corrected"
) -> LossInterval:
    """Replace-one cross-validation, once or repeated (Austern and Zhou 2020).

    The estimate is the CV loss of all rows, ``whole``. The variance is ``n/4 sum_l (P - P_l)**2``, where P
    is the CV loss of half the rows, and P_l the same with row l replaced; ``constant="original"`` has
    ``n/2``, which makes the interval sqrt(2) times as wide.
    """
    of.need("replace_one_cv", "replace_one_cv", "repeated_replace_one_cv")
    whole.need("replace_one_cv", "kfold", "repeated_kfold")
    of.need_all("replace_one_cv")
    whole.need_all("replace_one_cv")
    factors = {"corrected": 0.25, "original": 0.5}
    if constant not in factors:
        raise ValueError(f"constant must be 'corrected' or 'original'; got {constant!r}")
    plan = of.plan
    if whole.plan.outer.max() != plan.outer.max():
        raise ValueError(
            f"{plan.name} needs a CV of all rows in as many folds; got {plan.outer.max() + 1} and "
            f"{whole.plan.outer.max() + 1}"
        )
    repetitions = len(np.unique(plan.repetition))
    _, place = np.unique(plan.extra, return_inverse=True)  # -1, the base, comes first
    means = np.bincount(place, of.sums) / (plan.n // 2 * repetitions)
    squared = factors[constant] * plan.n * float(np.sum((means[0] - means[1:]) ** 2))
    return normal(float(whole.sums.sum() / whole.sizes.sum()), math.sqrt(squared / plan.n), level)
