"""Plans: who trains and who tests, by identities, sizes, ids and refusals."""

import numpy as np
import pytest

from jaxci.resampling import splits
from jaxci.resampling.plan import Plan

N = 31
CLASSES = np.array([0] * 13 + [1] * 18)
GROUPS = np.repeat(np.arange(16), 2)[:N] * 7


@pytest.mark.parametrize("options", [{}, {"stratify": CLASSES}, {"groups": GROUPS}], ids=str)
def test_folds_partition_the_rows(options):
    plan = splits.repeated_kfold(N, 4, 3, 1, **options)
    for r in range(3):
        part = plan.subset(plan.repetition == r)
        np.testing.assert_array_equal(part.test_mask.sum(axis=0), 1)
        np.testing.assert_array_equal(part.train_counts, ~part.test_mask)
        np.testing.assert_array_equal(part.outer, range(4))
    folds = [splits.kfold(N, 4, 1, **options), splits.leave_one_out(N, groups=options.get("groups"))]
    assert all((x.test_mask.sum(axis=0) == 1).all() for x in folds)
    assert not np.array_equal(plan.test_mask[:4], plan.test_mask[4:8])


@pytest.mark.parametrize("seed", range(5))
def test_stratified_folds_keep_shares_and_sizes_within_one(seed):
    classes = np.random.default_rng(seed).permutation([0] * 11 + [1] * 7 + [2] * 23)
    plan = splits.kfold(41, 5, seed, stratify=classes)
    for chosen in (classes >= 0, *(classes == c for c in range(3))):
        sizes = plan.test_mask[:, chosen].sum(axis=1)
        assert np.ptp(sizes) <= 1
    once = splits.holdout(41, 0.7, seed, stratify=classes)
    assert once.test_mask.sum() == 41 - 29
    shares = np.array([once.test_mask[0, classes == c].sum() for c in range(3)])
    assert (np.abs(shares - np.array([11, 7, 23]) * 12 / 41) < 1).all()
    pair = splits.paired_subsampling(41, 0.8, 2, 3, seed, stratify=classes)
    used = (pair.train_counts > 0) | pair.test_mask
    assert all((np.abs(used[:, classes == c].sum(axis=1) - (classes == c).sum() / 2) <= 1).all() for c in range(3))


@pytest.mark.false_alarm(3e-6)
def test_subsamples_have_the_stated_size_and_are_even():
    plan = splits.subsampling(10, 0.7, 4000, 3)
    np.testing.assert_array_equal(plan.train_counts.sum(axis=1), 7)
    np.testing.assert_array_equal(plan.test_mask.sum(axis=1), 3)
    np.testing.assert_allclose(plan.test_mask.mean(axis=0), 0.3, atol=0.04)
    rare = splits.subsampling(20, 0.9, 4000, 3, stratify=[0] * 3 + [1] * 17)
    np.testing.assert_allclose(rare.test_mask.mean(axis=0), 0.1, atol=0.025)
    assert splits.holdout(100, 0.9, 0).test_mask.sum() == 10
    assert len(splits.holdout(100, 0.9, 0)) == 1


@pytest.mark.parametrize("n", [100, 101])
def test_paired_halves_are_disjoint(n):
    plan = splits.paired_subsampling(n, 0.9, 5, 3, 2)
    full = splits.subsampling(n, 0.9, 1, 2).test_mask.sum()
    assert len(plan) == 30
    np.testing.assert_array_equal(plan.test_mask.sum(axis=1), full)
    used = (plan.train_counts > 0) | plan.test_mask
    np.testing.assert_array_equal(used.sum(axis=1), 50)
    for r in range(3):
        halves = [used[(plan.repetition == r) & (plan.extra == h)] for h in (0, 1)]
        assert all((half == half[0]).all() for half in halves)
        assert not (halves[0][0] & halves[1][0]).any()
        assert halves[0][0].sum() + halves[1][0].sum() == 2 * (n // 2)


def test_nested_inner_sets_lie_in_outer_training_sets():
    plan = splits.nested_cv(23, 4, 3, 9)
    assert (len(plan), plan.n_fits) == (3 * 16, 3 * 10)
    for r in range(3):
        for k in range(4):
            own = (plan.repetition == r) & (plan.outer == k)
            outer, inner = plan.subset(own & (plan.inner == -1)), plan.subset(own & (plan.inner >= 0))
            trained = outer.train_counts[0] > 0
            np.testing.assert_array_equal(trained, ~outer.test_mask[0])
            np.testing.assert_array_equal(inner.test_mask.sum(axis=0), trained)
            np.testing.assert_array_equal(inner.train_counts > 0, trained & ~inner.test_mask)
            for fold, test in zip(inner.inner, inner.test_mask, strict=True):
                same = (plan.repetition == r) & (plan.outer == fold) & (plan.inner == -1)
                np.testing.assert_array_equal(test, plan.test_mask[same][0])


@pytest.mark.parametrize("stratify", [None, CLASSES], ids=["plain", "stratified"])
def test_replace_one_differs_from_its_base_in_one_row(stratify):
    plan = splits.repeated_replace_one_cv(N, 4, 2, 3, stratify=stratify)
    assert len(plan) == 2 * 4 * 16
    label = np.where(plan.test_mask, 2, plan.train_counts)
    substitutes = {}
    for r in range(2):
        base = label[(plan.repetition == r) & (plan.extra == -1)]
        ours = np.flatnonzero((base > 0).all(axis=0))
        assert len(ours) == 15
        np.testing.assert_array_equal((base == 2).sum(axis=0)[ours], 1)
        np.testing.assert_array_equal(np.unique(plan.extra), np.append(-1, ours))
        for row in ours:
            other = label[(plan.repetition == r) & (plan.extra == row)]
            changed = np.flatnonzero((other != base).any(axis=0))
            assert len(changed) == 2
            substitute = changed[changed != row][0]
            np.testing.assert_array_equal(other[:, substitute], base[:, row])
            assert not other[:, row].any()
            assert not base[:, substitute].any()
            assert substitutes.setdefault(row, substitute) == substitute
    assert len(set(substitutes.values())) == 15
    assert splits.replace_one_cv(N, 4, 3).n_fits == 4 + 15 * 3


@pytest.mark.false_alarm(2e-5)
def test_bootstrap_counts():
    plan = splits.bootstrap(N, 400, 8)
    np.testing.assert_array_equal(plan.train_counts.sum(axis=1), N)
    np.testing.assert_array_equal(plan.test_mask, plan.train_counts == 0)
    np.testing.assert_allclose(plan.train_counts.mean(axis=0), 1, atol=0.25)
    inside = splits.insample_bootstrap(N, 400, 8)
    np.testing.assert_array_equal(inside.train_counts, plan.train_counts)
    np.testing.assert_array_equal(inside.test_mask, ~plan.test_mask)
    strata = splits.bootstrap(N, 20, 8, stratify=CLASSES)
    np.testing.assert_array_equal(strata.train_counts[:, CLASSES == 1].sum(axis=1), 18)
    assert splits.bootstrap(2, 50, 0).test_mask.sum(axis=1).tolist() == [1] * 50  # of (2,0), (1,1), (0,2), not (1,1)


def test_case_cv_leaves_each_distinct_case_out():
    plan = splits.bootstrap_case_cv(12, 6, 4)
    np.testing.assert_array_equal(plan.test_mask.argmax(axis=1), plan.extra)
    np.testing.assert_array_equal(plan.test_mask.sum(axis=1), 1)
    copies = 12 - plan.train_counts.sum(axis=1)
    for r in range(6):
        own = plan.repetition == r
        sample = np.zeros(12, int)
        sample[plan.extra[own]] = copies[own]
        assert sample.sum() == 12
        np.testing.assert_array_equal(plan.outer[own], range(np.count_nonzero(sample)))
        for case, counts in zip(plan.extra[own], plan.train_counts[own], strict=True):
            np.testing.assert_array_equal(counts, np.where(np.arange(12) == case, 0, sample))


def test_second_stages_draw_from_the_first():
    plan = splits.two_stage_bootstrap(15, 8, 5, 1, stratify=CLASSES[5:20])
    np.testing.assert_array_equal(plan.train_counts.sum(axis=1), 15)
    np.testing.assert_array_equal(plan.train_counts[:, :8].sum(axis=1), 8)
    for r in range(8):
        stages = plan.subset(plan.outer == r)
        np.testing.assert_array_equal(stages.inner, range(-1, 5))
        present, inner = stages.train_counts[0] > 0, stages.train_counts[1:]
        np.testing.assert_array_equal(stages.test_mask[0], present)
        assert not inner[:, ~present].any()
        np.testing.assert_array_equal(stages.test_mask[1:], present & (inner == 0))


def test_by_hand():
    left = splits.leave_one_out(3)
    np.testing.assert_array_equal(left.train_counts, [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(left.test_mask, np.eye(3, dtype=bool))
    grouped = splits.leave_one_out(4, groups=["b", "a", "b", "c"])
    np.testing.assert_array_equal(grouped.test_mask, [[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])
    whole = splits.insample(3)
    assert whole.train_counts.tolist() == whole.test_mask.tolist() == [[1, 1, 1]]
    given = splits.from_indices(4, [([0, 0, 2], [1]), ([3], [0, 2])], repetition=[0, 1])
    assert given.train_counts.tolist() == [[2, 0, 1, 0], [0, 0, 0, 1]]
    assert given.test_mask.tolist() == [[False, True, False, False], [True, False, True, False]]
    assert given.repetition.tolist() == given.outer.tolist() == [0, 1]
    assert (given.name, len(given), given.n, given.n_fits) == ("indices", 2, 4, 2)
    assert given.subset(np.array([False, True])).train_counts.tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: splits.kfold(4, 5, 0), "n_folds must be at most n, which is 4; got n_folds = 5"),
        (lambda: splits.kfold(4, 1, 0), "n_folds must be an integer of at least 2; got 1"),
        (lambda: splits.kfold(9, 3, 0, groups=[0] * 4 + [1] * 5), "at most the number of groups, which is 2"),
        (lambda: splits.kfold(9, 3, 0, stratify=[0] * 7 + [1] * 2), "smallest class of stratify, which is 2"),
        (lambda: splits.kfold(9, 3, 0, stratify=[0] * 9), "at least 2 classes; got 1"),
        (lambda: splits.kfold(9, 3, 0, stratify=[0, 1]), r"stratify must have shape \(9,\)"),
        (lambda: splits.kfold(4, 2, 0, groups=[0] * 4), "at least 2 groups; got 1"),
        (lambda: splits.kfold(4, 2, 0, stratify=[0, 1, 0, 1], groups=[0, 0, 1, 2]), "1 groups do not"),
        (lambda: splits.repeated_kfold(9, 3, 0, 0), "n_repeats must be an integer of at least 1; got 0"),
        (lambda: splits.nested_cv(9, 2, 1, 0), "n_folds must be an integer of at least 3; got 2"),
        (lambda: splits.replace_one_cv(9, 5, 0), "at most n // 2, which is 4; got n_folds = 5"),
        (
            lambda: splits.replace_one_cv(19, 3, 0, stratify=[0] * 5 + [1] * 14),
            "smallest class of stratify in a half, which is 2",
        ),
        (lambda: splits.holdout(9, 1.0, 0), r"p, the share that trains, must lie in \(0, 1\); got 1.0"),
        (lambda: splits.holdout(9, float("nan"), 0), "must lie in"),
        (lambda: splits.holdout(9, 0.99, 0), "p = 0.99 tests 0 of 9"),
        (lambda: splits.holdout(9, 0.01, 0), "p = 0.01 tests 9 of 9"),
        (lambda: splits.holdout(9, 0.5, 0, stratify=[0] * 8 + [1]), "leave every class of stratify"),
        (lambda: splits.subsampling(9, 0.5, True, 0), "n_subsamples must be an integer"),
        (lambda: splits.paired_subsampling(20, 0.5, 2, 2, 0), "in each half; p = 0.5 tests 10 of 10"),
        (lambda: splits.leave_one_out(1), "n must be an integer of at least 2; got 1"),
        (lambda: splits.leave_one_out(60_000), "at most 4 GiB; 60,000 splits"),
        (lambda: splits.bootstrap(3, 2, 0, stratify=[0, 1, 2]), "a class of at least 2"),
        (lambda: splits.bootstrap_case_cv(10_000, 200, 0), "GiB"),
        (lambda: splits.from_indices(3, []), "at least one pair"),
        (lambda: splits.from_indices(3, [([], [1])]), r"splits\[0\]\[0\] \(train\) must be a list of at least one"),
        (lambda: splits.from_indices(3, [([0], [3])]), r"integers in \[0, 3\); got int64 from 3 to 3"),
        (lambda: splits.from_indices(3, [([0.5], [1])]), "float64"),
        (lambda: splits.from_indices(3, [([0], [1, 1])]), "must test a row once; 1 rows are not, first 1"),
        (lambda: splits.from_indices(3, [([0, 1], [1])]), "only where it does not train"),
        (lambda: splits.from_indices(3, [([0], [1])], repetition=[0, 1]), "repetition must be"),
        (lambda: splits.insample(3).subset(np.array([False])), "true somewhere"),
        (lambda: splits.insample(3).subset(np.array([0])), "mask must be boolean"),
    ],
)
def test_splits_that_cannot_be_made_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_plans_are_checked_when_made():
    counts, mask, ids = np.ones((2, 3), np.int32), np.ones((2, 3), bool), np.zeros(2, np.int32)
    empty = mask & np.array([[True], [False]])
    for broken, message in [
        ((counts[:1], mask), "one shape"),
        ((counts.astype(float), mask), "int32"),
        ((-counts, mask), "negative"),
        ((counts * empty, mask), "train on at least 1 row; 1 do not, first split 1"),
        ((counts, empty), "test at least 1 row"),
    ]:
        with pytest.raises(ValueError, match=message):
            Plan("mine", *broken, ids, ids, ids, ids)
    with pytest.raises(ValueError, match="inner must have shape"):
        Plan("mine", counts, mask, ids, ids, ids[:1], ids)
