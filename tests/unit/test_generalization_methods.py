"""Formulas of the generalization intervals against slow loops that are written independently."""

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
    with pytest.raises(ValueError, match="corrected_t needs a plan subsampling; got 'kfold'"):
        m.corrected_t(Resampled(plan, losses))
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
