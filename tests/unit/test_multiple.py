"""Many comparisons at once: the step-down test, simultaneous levels, the model confidence set."""

import math

import numpy as np
import pytest
from scipy import special, stats

from jaxci.intervals.multiple import (
    Pairs,
    model_confidence_set,
    simultaneous_level,
    standardized,
    step_down,
    two_sided_z,
)


def test_p_values_are_standard_errors():
    np.testing.assert_allclose(two_sided_z([1.0, 0.05, 2 * special.ndtr(-7.0)]), [0.0, 1.959964, 7.0], atol=1e-6)
    assert two_sided_z([math.nan, 0.0]).tolist() == pytest.approx([0.0, 37.0], abs=1.0)


def test_replicates_in_standard_errors():
    apart, errors = standardized(np.array([[1.0, 3.0, np.nan], [2.0, 2.0, 2.0]]), np.array([2.0, 2.0]))
    np.testing.assert_allclose(errors, [math.sqrt(2 / 3), 0.0])
    np.testing.assert_allclose(apart, [[-math.sqrt(1.5), math.sqrt(1.5), 0.0], [0.0, 0.0, 0.0]])


def test_the_step_down_test_by_its_definition():
    """Hypotheses fall one by one, the largest first; each is held against the largest of those that are left."""
    rng = np.random.default_rng(0)
    draws, z = np.abs(rng.normal(size=(6, 400)) + 0.7 * rng.normal(size=400)), np.array([2.4, 0.3, 3.1, 2.4, 1.0, 0.0])
    found, left, reached = step_down(z, lambda i: draws[i]), list(range(6)), 0.0
    while left:
        worst = max(left, key=lambda i: (z[i], i))
        share = (1 + np.sum(draws[left].max(axis=0) >= z[worst])) / 401
        reached = max(reached, share)
        assert found[worst] == pytest.approx(reached, rel=1e-12)
        left.remove(worst)


def test_one_hypothesis_is_not_adjusted_and_equal_ones_neither():
    rng = np.random.default_rng(1)
    draws = np.abs(rng.normal(size=9_999))
    alone = step_down(np.array([1.96]), lambda _: draws)
    assert alone[0] == (1 + np.sum(draws >= 1.96)) / 10_000
    assert step_down(np.full(3, 1.96), lambda _: draws).tolist() == [alone[0]] * 3


def test_the_level_of_one_of_several_is_sidaks_where_they_are_independent():
    rng = np.random.default_rng(2)
    largest = np.abs(rng.normal(size=(5, 400_000))).max(axis=0)
    assert simultaneous_level(largest, 0.95) == pytest.approx(0.95**0.2, abs=5e-4)
    assert simultaneous_level(np.zeros(100), 0.95) == 0.95


def test_differences_of_models_in_standard_errors():
    rng = np.random.default_rng(3)
    apart = rng.normal(size=(3, 50))
    apart[2] = apart[1]
    pairs = Pairs(apart)
    found = apart[0] - apart[1]
    np.testing.assert_allclose(pairs.of(0, 1), np.abs(found) / math.sqrt(np.mean(found**2)))
    assert not pairs.of(1, 2).any()
    np.testing.assert_array_equal(pairs.largest([(0, 1), (1, 2)]), pairs.of(0, 1))


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_model_confidence_set_is_that_of_arch(seed):
    """The same resamples of rows, handed over, give the same p-values (counted with the data among the resamples)."""
    bootstrap = pytest.importorskip("arch.bootstrap")
    rng = np.random.default_rng(seed)
    n, size = 200, 300
    losses = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 5)) + [0.0, 0.02, 0.05, 0.08, 0.5]
    theirs = bootstrap.MCS(losses, size=0.1, reps=size, block_size=1, method="R", bootstrap="circular", seed=seed)
    theirs.compute()
    means = losses.mean(axis=0)
    replicates = np.stack([losses[rows].mean(axis=0) for rows in theirs._bootstrap_indices], axis=1)
    pairs = Pairs(replicates - means[:, None])
    worse = np.zeros((5, 5))
    for i, j in ((i, j) for i in range(5) for j in range(5) if i != j):
        apart = pairs.apart[i] - pairs.apart[j]
        worse[i, j] = (means[i] - means[j]) / math.sqrt(np.mean(apart**2))
    found = model_confidence_set(worse, pairs)
    expected = theirs.pvalues["Pvalue"].loc[list(range(5))].to_numpy()
    np.testing.assert_allclose(np.where(expected == 1.0, 1.0, (1 + size * expected) / (1 + size)), found, rtol=1e-12)


@pytest.mark.false_alarm(1e-6)
def test_the_step_down_test_keeps_its_level(false_alarm):
    """Five correlated normal means of 0 beside three far off: at most 5% of data sets reject one of the five."""
    rng = np.random.default_rng(4)
    shift, wrong, sets = np.r_[np.zeros(5), np.full(3, 4.0)], 0, 1_500
    for _ in range(sets):
        draws = np.abs(rng.normal(size=(8, 499)) + rng.normal(size=499)) / math.sqrt(2)
        z = np.abs((rng.normal(size=8) + rng.normal()) / math.sqrt(2) + shift)
        wrong += step_down(z, lambda i, draws=draws: draws[i])[:5].min() <= 0.05
    assert stats.binomtest(wrong, sets, 0.05, alternative="greater").pvalue > false_alarm
    assert wrong / sets > 0.02
