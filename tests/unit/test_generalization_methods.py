"""Formulas of the generalization intervals against slow loops that are written independently."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from jaxci import generalization as m
from jaxci.generalization import Resampled
from jaxci.resampling import splits

N = 24
Z, LEVEL = stats.norm.ppf(0.95), 0.9


def losses_for(plan, seed=0):
    return np.random.default_rng(seed).exponential(size=plan.test_mask.shape) + 0.1 * np.arange(plan.n)


def of_split(losses, plan, s):
    return [losses[s, i] for i in range(plan.n) if plan.test_mask[s, i]]


def same(found, estimate, error, quantile):
    expected = (estimate, estimate - quantile * error, estimate + quantile * error, error)
    np.testing.assert_allclose(found[:4], expected, rtol=1e-10)


def test_holdout():
    plan = splits.holdout(N, 0.75, 0)
    tested = of_split(losses_for(plan), plan, 0)
    error = np.std(tested, ddof=1) / math.sqrt(len(tested))
    same(m.holdout(Resampled(plan, losses_for(plan)), level=LEVEL), np.mean(tested), error, Z)


def test_cv_wald_by_both_variances():
    plan = splits.kfold(N, 4, 0)
    losses = losses_for(plan)
    folds = [of_split(losses, plan, s) for s in range(4)]
    pooled = np.concatenate(folds)
    same(m.cv_wald(Resampled(plan, losses), level=LEVEL), pooled.mean(), math.sqrt(pooled.var() / N), Z)
    within = np.mean([np.var(fold, ddof=1) for fold in folds])
    same(
        m.cv_wald(Resampled(plan, losses), level=LEVEL, variance="within-fold"), pooled.mean(), math.sqrt(within / N), Z
    )


def test_corrected_t():
    plan = splits.subsampling(N, 0.75, 7, 0)
    losses = losses_for(plan)
    means = [np.mean(of_split(losses, plan, s)) for s in range(7)]
    error = math.sqrt((1 / 7 + 6 / 18) * np.var(means, ddof=1))
    same(m.corrected_t(Resampled(plan, losses), level=LEVEL), np.mean(means), error, stats.t.ppf(0.95, 6))


def test_degrees_of_freedom_are_fewer_than_rows_or_groups_that_are_tested():
    def degrees(plan):
        return m.corrected_t(Resampled(plan, losses_for(plan))).df

    assert degrees(splits.subsampling(N, 0.5, 18, 0, groups=np.arange(N) // 4)) == 5
    assert degrees(splits.subsampling(N, 0.75, 40, 0)) == N - 1
    assert degrees(splits.repeated_kfold(N, 4, 3, 0)) == 11


@pytest.mark.parametrize("weighted", [False, True])
def test_corrected_t_of_splits_of_several_sizes_is_that_of_a_ratio_of_sums(weighted):
    plan = splits.leave_one_out(N, groups=np.repeat(range(5), [1, 2, 3, 6, 12]))
    losses = losses_for(plan)
    w = np.random.default_rng(5).exponential(size=N) if weighted else np.ones(N)
    sums, masses = [0.0] * 5, [0.0] * 5
    for s in range(5):
        for i in range(N):
            if plan.test_mask[s, i]:
                sums[s], masses[s] = sums[s] + w[i] * losses[s, i], masses[s] + w[i]
    estimate = sum(sums) / sum(masses)
    variance = 5 / 4 * sum((s - estimate * m) ** 2 for s, m in zip(sums, masses, strict=True)) / sum(masses) ** 2
    df = round(sum(masses) ** 2 / sum(m**2 for m in masses)) - 1  # 5 var(s - estimate m) / sum(m)^2 is the variance
    error = math.sqrt((1 / 5 + 1 / 4) * 5 * variance)
    found = m.corrected_t(Resampled(plan, losses, weights=w if weighted else None), level=LEVEL)
    assert found.df == df < 4
    same(found, estimate, error, stats.t.ppf(0.95, df))


def test_conservative_z_of_groups_of_several_sizes_is_over_rows():
    groups = np.repeat(range(8), [1, 1, 1, 2, 2, 3, 6, 8])
    plan = splits.subsampling(N, 0.75, 3, 0, groups=groups)
    paired = splits.paired_subsampling(N, 0.75, 3, 4, 1, groups=groups)
    losses, halves = losses_for(plan), losses_for(paired, 1)
    squares = 0.0
    for r in range(4):
        halved = [[s for s in range(24) if paired.repetition[s] == r and paired.extra[s] == e] for e in (0, 1)]
        first, second = (np.concatenate([of_split(halves, paired, s) for s in chosen]).mean() for chosen in halved)
        squares += (first - second) ** 2
    estimate = np.concatenate([of_split(losses, plan, s) for s in range(3)]).mean()
    found = m.conservative_z(Resampled(plan, losses), Resampled(paired, halves), level=LEVEL)
    same(found, estimate, math.sqrt(squares / (2 * 4)), Z)


def test_what_shares_of_classes_hide_of_weighted_means():
    """Where losses and weights are one number a class, they hide all: the variance of ``w (l - r) / mean(w)``."""
    y = np.repeat([0, 1], [18, 6])
    plan = splits.subsampling(N, 0.5, 20, 0, stratify=y)
    losses, weights = np.where(y, 3.0, 1.0), np.where(y, 5.0, 1.0)
    of = Resampled(plan, np.broadcast_to(losses, plan.test_mask.shape), weights=weights)
    parts = weights * (losses - np.average(losses, weights=weights)) / weights.mean()
    assert of.between == pytest.approx(parts.var(), rel=1e-12)


def test_conservative_z():
    plan, paired = splits.subsampling(N, 0.75, 3, 0), splits.paired_subsampling(N, 0.75, 3, 4, 1)
    losses, halves = losses_for(plan), losses_for(paired, 1)
    squares = 0.0
    for r in range(4):
        sides = []
        for side in (0, 1):
            chosen = [s for s in range(len(paired)) if paired.repetition[s] == r and paired.extra[s] == side]
            sides.append(np.mean([np.mean(of_split(halves, paired, s)) for s in chosen]))
        squares += (sides[0] - sides[1]) ** 2
    estimate = np.mean([np.mean(of_split(losses, plan, s)) for s in range(3)])
    found = m.conservative_z(Resampled(plan, losses), Resampled(paired, halves), level=LEVEL)
    same(found, estimate, math.sqrt(squares / (2 * 4)), Z)


def test_five_by_two_cv():
    plan = splits.repeated_kfold(N, 2, 5, 0)
    losses = losses_for(plan)
    means = {(plan.repetition[s], plan.outer[s]): np.mean(of_split(losses, plan, s)) for s in range(10)}
    error = math.sqrt(sum((means[r, 0] - means[r, 1]) ** 2 for r in range(5)) / 10)
    same(m.five_by_two_cv(Resampled(plan, losses), level=LEVEL), means[0, 0], error, stats.t.ppf(0.95, 5))


@pytest.mark.parametrize(("correction", "power"), [("printed", 1.0), ("code", 1.5)])
def test_nested_cv(correction, power):
    folds, repetitions = 4, 3
    plan = splits.nested_cv(N, folds, repetitions, 0)
    losses = losses_for(plan)
    squares, inner_all, outer_means = [], [], []
    for r in range(repetitions):
        for k in range(folds):
            inner, outer = [], []
            for s in range(len(plan)):
                if plan.repetition[s] == r and plan.outer[s] == k:
                    (outer if plan.inner[s] < 0 else inner).extend(of_split(losses, plan, s))
            squares.append((np.mean(inner) - np.mean(outer)) ** 2 - np.var(outer, ddof=1) / len(outer))
            inner_all += inner
            outer_means.append(np.mean(outer))
    spread = np.std(inner_all, ddof=1)
    error = math.sqrt(max(0, (folds - 1) / folds * np.mean(squares)))
    error = min(max(error, spread / math.sqrt(N)), spread * math.sqrt(folds / N))
    gap = np.mean(inner_all) - np.mean(outer_means)
    estimate = np.mean(inner_all) - (1 + ((folds - 2) / folds) ** power) * gap
    same(m.nested_cv(Resampled(plan, losses), level=LEVEL, correction=correction), estimate, error, Z)


@pytest.mark.parametrize(("constant", "factor"), [("corrected", 4), ("original", 2)])
@pytest.mark.parametrize("repetitions", [1, 2])
def test_replace_one_cv(constant, factor, repetitions):
    plan = splits.repeated_replace_one_cv(N, 3, repetitions, 0)
    losses = losses_for(plan)

    def mean_of(row):
        by_repetition = []
        for r in range(repetitions):
            chosen = [s for s in range(len(plan)) if plan.repetition[s] == r and plan.extra[s] == row]
            by_repetition.append(sum(sum(of_split(losses, plan, s)) for s in chosen) / (N // 2))
        return np.mean(by_repetition)

    rows = sorted({int(row) for row in plan.extra if row >= 0})
    assert len(rows) == N // 2
    whole = splits.repeated_kfold(N, 3, repetitions, 1)
    folds = losses_for(whole, 1)
    estimate = np.mean([folds[s, i] for s in range(len(whole)) for i in range(N) if whole.test_mask[s, i]])
    variance = N / factor * sum((mean_of(-1) - mean_of(row)) ** 2 for row in rows)
    found = m.replace_one_cv(Resampled(plan, losses), Resampled(whole, folds), level=LEVEL, constant=constant)
    same(found, estimate, math.sqrt(variance / N), Z)


def test_out_of_bag_t_and_percentile():
    plan = splits.bootstrap(N, 30, 0)
    losses = losses_for(plan)
    means = [np.mean(of_split(losses, plan, s)) for s in range(30)]
    same(m.oob_t(Resampled(plan, losses), level=LEVEL), np.mean(means), np.std(means, ddof=1), stats.t.ppf(0.95, 29))
    found = m.oob_percentile(Resampled(plan, losses), level=LEVEL)
    np.testing.assert_allclose(found[:3], [np.mean(means), *np.quantile(means, [0.05, 0.95])], rtol=1e-12)


def test_entries_that_are_not_tested_are_not_read():
    plan = splits.kfold(N, 4, 0)
    losses = losses_for(plan)
    assert m.cv_wald(Resampled(plan, np.where(plan.test_mask, losses, np.nan))) == m.cv_wald(Resampled(plan, losses))


def test_bad_input_is_refused():
    plan = splits.kfold(N, 4, 0)
    losses = losses_for(plan)
    with pytest.raises(ValueError, match="holdout needs a plan holdout; got 'kfold'"):
        m.holdout(Resampled(plan, losses))
    with pytest.raises(ValueError, match="losses must have the shape of the plan"):
        Resampled(plan, losses[:, 1:])
    losses[np.unravel_index(np.argmax(plan.test_mask), losses.shape)] = np.nan
    with pytest.raises(ValueError, match="losses must be finite where rows are tested; 1 are not"):
        m.cv_wald(Resampled(plan, losses))
    repeated = splits.repeated_kfold(N, 2, 4, 0)
    with pytest.raises(ValueError, match="5 repetitions of 2 folds; got 4 of 2"):
        m.five_by_two_cv(Resampled(repeated, losses_for(repeated)))


def tiny(name, pairs, losses, **ids):
    plan = splits.from_indices(4, pairs, name=name, **ids)
    return Resampled(plan, np.where(plan.test_mask, np.asarray(losses, float), np.nan))


FOLDS = [([2, 3], [0, 1]), ([0, 1], [2, 3])]


def test_tiny_cases_by_hand():
    losses = [[1, 3, 0, 0], [0, 0, 2, 6]]  # fold means 2 and 4
    z = 1.959963984540054
    # mean 3, variance ((-2)^2 + 0 + (-1)^2 + 3^2) / 4 = 3.5, error sqrt(3.5 / 4)
    found = m.cv_wald(tiny("kfold", FOLDS, losses))
    np.testing.assert_allclose(found[:4], [3, 3 - z * 0.935414346693, 3 + z * 0.935414346693, 0.935414346693])
    # within folds: (2 + 8) / 2 = 5, error sqrt(5 / 4)
    found = m.cv_wald(tiny("kfold", FOLDS, losses), variance="within-fold")
    np.testing.assert_allclose(found.standard_error, 1.118033988750)
    # means 2 and 4, variance 2, (1/2 + 1/1) 2 = 3
    found = m.corrected_t(tiny("subsampling", FOLDS, losses))
    np.testing.assert_allclose(found[:4:3], [3, 1.732050807569])
    np.testing.assert_allclose(found.high - 3, 12.7062047361747 * 1.732050807569)
    # one split: losses 2 and 6, sd sqrt(8), error sqrt(8 / 2) = 2
    found = m.holdout(tiny("holdout", FOLDS[1:], [losses[1]]))
    np.testing.assert_allclose(found[:4], [4, 4 - 2 * z, 4 + 2 * z, 2])


def test_a_tiny_out_of_bag_case_by_hand():
    """Two resamples of three rows: row 0 left out by the first, rows 0 and 1 by the second."""
    plan = splits.from_indices(3, [([1, 1, 2], [0]), ([2, 2, 2], [0, 1])], name="bootstrap")
    losses = np.array([[2.0, np.nan, np.nan], [4.0, 1.0, np.nan]])
    # E = (3, 1), point 2; q = (2/3, 5/3); mean counts (0, 1); (2 + 1/2) (E - 2) / 3 = (5/6, -5/6);
    # sums (0, (2 - 1) 2/3 + (0 - 1) 5/3 = -1) over (2, 1); D = (5/6, -11/6); error^2 = 3/2 (25 + 121) / 36
    found = m.oob(Resampled(plan, losses))
    np.testing.assert_allclose(found[:4:3], [2, math.sqrt(3 / 2 * 146 / 36)])
    found = m.oob_percentile(Resampled(plan, losses), level=0.5)
    np.testing.assert_allclose(found[:3], [2.25, 2.125, 2.375])  # of 2 and 2.5


def by_hand(name, n, splits_of, losses, **ids):
    """Fits of a plan from pairs of rows, each with the losses of the rows that it tests, in their order."""
    plan = splits.from_indices(n, splits_of, name=name)
    plan = dataclasses.replace(plan, **{key: np.asarray(value, np.int32) for key, value in ids.items()})
    table = np.full((len(plan), n), np.nan)
    for split, found in enumerate(losses):
        table[split, plan.test_mask[split]] = found
    return Resampled(plan, table)


def test_tiny_5x2_and_conservative_z_by_hand():
    means = [1, 2, 2, 2, 3, 1, 1, 1, 0, 2]  # squared differences 1, 0, 4, 0, 4
    halves = by_hand("repeated_kfold", 4, FOLDS * 5, means, repetition=np.repeat(range(5), 2), outer=[0, 1] * 5)
    found = m.five_by_two_cv(halves)
    np.testing.assert_allclose(found[:4:3], [1, math.sqrt(0.9)])
    whole = by_hand("subsampling", 8, [([1, 2, 3], [0])], [5])
    pairs = [([1, 2, 3], [0]), ([5, 6, 7], [4])] * 2
    paired = by_hand(
        "paired_subsampling", 8, pairs, [1, 3, 2, 2], repetition=[0, 0, 1, 1], extra=[0, 1, 0, 1], outer=[0] * 4
    )
    found = m.conservative_z(whole, paired)  # squared differences 4 and 0, over 2 R = 4
    np.testing.assert_allclose(found[:4:3], [5, 1])


def test_a_tiny_nested_cv_by_hand():
    rows = [[0, 1], [2, 3], [4, 5]]
    pairs, losses, outer, inner = [], [], [], []
    outside = [[1, 3], [2, 2], [0, 4]]  # means 2, variances over two rows 1, 0, 4
    inside = [3, 4, 2]
    for k in range(3):
        for fold in range(3):
            train = [row for other in range(3) if other not in (k, fold) for row in rows[other]]
            pairs.append((train, rows[fold]))
            losses.append(outside[k] if fold == k else [inside[k]] * 2)
            outer.append(k)
            inner.append(-1 if fold == k else fold)
    # a - b = 1 - 1, 4 - 0, 0 - 4: their mean 0 is raised to s / sqrt(n), s^2 = 8 / 11; 3 - 4/3 (3 - 2)
    found = m.nested_cv(by_hand("nested_cv", 6, pairs, losses, outer=outer, inner=inner, repetition=[0] * 9))
    np.testing.assert_allclose(found[:4:3], [5 / 3, math.sqrt(8 / 11 / 6)])


def test_a_tiny_replace_one_cv_by_hand():
    pairs = [([1], [0]), ([0], [1]), ([1], [2]), ([2], [1]), ([3], [0]), ([0], [3])]
    extra = [-1, -1, 0, 0, 1, 1]
    fits = by_hand("replace_one_cv", 4, pairs, [1, 3, 2, 4, 1, 1], extra=extra, outer=[0, 1] * 3, repetition=[0] * 6)
    whole = by_hand("kfold", 4, FOLDS, [[1, 3], [2, 6]])
    found = m.replace_one_cv(fits, whole)  # P = 2, 3 and 1: 4/4 (1 + 1) = 2, over n
    np.testing.assert_allclose(found[:4:3], [3, math.sqrt(2 / 4)])


BAG = [([1, 1, 2], [0]), ([2, 2, 2], [0, 1])]


def tiny_bag():
    """The out-of-bag case above: estimate 2; losses on all rows .5, no-information rate 3."""
    whole = by_hand("insample", 3, [([0], [1, 2])], [[0.5, 0.5]])
    plan = splits.insample(3)
    return by_hand("bootstrap", 3, BAG, [2, [4, 1]]), dataclasses.replace(
        whole, plan=plan, losses=np.full((1, 3), 0.5), no_information=np.array([3.0])
    )


def test_tiny_632_estimates_by_hand():
    bag, whole = tiny_bag()
    error = math.sqrt(3 / 2 * 146 / 36)
    found = m.bootstrap_632(bag, whole)  # .632 2 + .368 .5
    np.testing.assert_allclose(found[:4:3], [1.448, error * 1.448 / 2])
    found = m.bootstrap_632_plus(bag, whole)  # R = 1.5 / 2.5, weight .632 / .7792
    np.testing.assert_allclose(found[:4:3], [1.716632443532, error * 1.716632443532 / 2])
    found = m.oob_t(bag, level=0.5)  # of 2 and 2.5, t = 1
    np.testing.assert_allclose(found[:3], [2.25, 2.25 - math.sqrt(0.125), 2.25 + math.sqrt(0.125)])


def test_tiny_percentile_intervals_by_hand():
    bag, whole = tiny_bag()
    cases = by_hand("bootstrap_case_cv", 3, [([1], [0]), ([0, 0], [1]), ([2, 2], [0]), ([0], [2])], [1, 4, 3, 0])
    cases = dataclasses.replace(cases, plan=dataclasses.replace(cases.plan, repetition=np.int32([0, 0, 1, 1])))
    alone = by_hand("leave_one_out", 3, [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])], [1, 2, 0])
    found = m.bootstrap_case_cv(cases, alone, level=0.5)  # (2 1 + 4) / 3 = 2 and (3 + 2 0) / 3 = 1, less .5
    np.testing.assert_allclose(found[:3], [1, 0.75, 1.25])
    plan = splits.insample_bootstrap(3, 2, 0)
    counts = np.int32([[2, 1, 0], [1, 1, 1]])
    own = Resampled(
        dataclasses.replace(plan, train_counts=counts, test_mask=counts > 0),
        np.array([[3.0, 0.0, np.nan], [1.0, 1.0, 1.0]]),
    )
    found = m.location_shifted_bootstrap(own, bag, whole, level=0.5)  # of 2 and 1, moved by 1.7166 - .5
    np.testing.assert_allclose(found[1:3], [1.25 + 1.216632443532, 1.75 + 1.216632443532])


def test_a_tiny_two_stage_bootstrap_by_hand():
    bag, whole = tiny_bag()
    plan = splits.two_stage_bootstrap(3, 2, 1, 0)
    counts = np.int32([[2, 1, 0], [0, 3, 0], [1, 1, 1], [2, 1, 0]])
    tests = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]], bool)
    nan = np.nan
    fits = Resampled(
        dataclasses.replace(plan, train_counts=counts, test_mask=tests),
        np.array([[1.0, 4.0, nan], [5.0, nan, nan], [0.0, 0.0, 3.0], [nan, nan, 1.5]]),
        no_information=np.array([4.0, nan, 2.0, nan]),
    )
    # inside (2 1 + 4) / 3 = 2, out 5 cut to 4: R = 1, weight 1: 4; inside 1, out 1.5: R = .5: 1.387255
    second = 0.632 / 0.816 * 1.5 + (1 - 0.632 / 0.816)
    found = m.two_stage_bootstrap(fits, bag, whole, level=0.5)
    np.testing.assert_allclose(found[:3], [1.716632443532, second + (4 - second) / 4, second + 3 * (4 - second) / 4])
