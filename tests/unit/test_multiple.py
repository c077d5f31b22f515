"""Many comparisons at once: the step-down test, simultaneous levels, the model confidence set."""

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import special, stats

from jaxci.api.leaderboard_results import Pair, rank_sets
from jaxci.intervals.base import tails
from jaxci.intervals.bootstrap import smallest_bank
from jaxci.intervals.multiple import (
    Differences,
    Pairs,
    level_told_by,
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
    """One-sided hypotheses fall one by one, the largest first, each held against the largest of those that are left."""
    rng = np.random.default_rng(0)
    draws, z = rng.normal(size=(6, 400)) + 0.7 * rng.normal(size=400), np.array([2.4, 0.3, -3.1, 2.4, -1.0, 0.1])
    found, reached = step_down(z, lambda i: draws[i]), 0.0
    both, statistics = np.concatenate([draws, -draws]), np.concatenate([z, -z])
    left = list(range(12))
    while (worst := max(left, key=lambda i: (statistics[i], i))) is not None and statistics[worst] > 0:
        share = (1 + np.sum(both[left].max(axis=0) >= statistics[worst])) / 401
        reached = max(reached, share)
        assert found[worst % 6] == pytest.approx(reached, rel=1e-12)
        left.remove(worst)
    assert len(left) == 6


def test_one_hypothesis_is_not_adjusted_and_equal_ones_neither():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=9_999)
    alone = step_down(np.array([-1.96]), lambda _: draws)
    assert alone[0] == (1 + np.sum(np.abs(draws) >= 1.96)) / 10_000
    assert step_down(np.full(3, 1.96), lambda _: draws).tolist() == [alone[0]] * 3


PISA = """491.3600252 1.939833031 498.9423138 2.970998694 508.0703063 2.262662011 512.0169429 2.357475749 417.4065563
2.41588757 390.9322732 2.989559274 499.4676508 2.460661531 509.3983746 1.735002337 523.4145802 1.743602224 507.3013618
1.967920411 495.4075794 2.320214487 500.0437805 2.647083096 451.3703438 3.091228197 481.0826364 2.319596741 495.1873762
1.953082603 499.632894 2.198621128 463.0345488 3.498563228 486.5898573 2.780045867 526.9732502 2.471475318 525.933002
3.121394315 496.1263306 1.962766789 481.1911884 1.953282039 483.421485 1.097632409 408.8014734 2.493225544 519.2309824
2.632277885 494.489676 1.705942856 500.9637885 2.219044878 515.6478747 2.602085176 492.4874062 2.684570081 486.1648542
2.555595707 508.8975441 1.363877596 481.3926126 1.462417763 502.3877022 2.654250935 515.3147131 2.908003898 453.5077774
2.260406789 501.7698992 2.564428111 478.2447174 3.235444099"""
"""Mean scores in mathematics of 37 countries with their standard errors, from PISA 2018 (OECD), in alphabetic order."""


class TestRanksOfCountries:
    """What the documentation of the R package csranks prints of these data."""

    def sets(self, which, level=0.95):
        """Return the least and largest rank of every country from the differences ``which``."""
        score, error = np.array(PISA.split(), float).reshape(-1, 2).T
        draws = Pairs(error[:, None] * np.random.default_rng(0).standard_normal((len(score), 40_000)))
        z = np.array([(score[i] - score[j]) / math.hypot(error[i], error[j]) for i, j in which])
        pvalues = step_down(z, lambda k: draws.of(*which[k]))
        pairs = [
            Pair(str(i), str(j), score[i] - score[j], *[math.nan] * 3, p)
            for (i, j), p in zip(which, pvalues, strict=True)
        ]
        return rank_sets([str(i) for i in range(len(score))], pairs, 1 - level, less_is_better=False)

    def test_of_one_country(self):
        """It says 8 to 23 in one place and 7 to 23 in another: whether Canada is better hangs on the draws, p = .05."""
        kingdom, canada = 35, 3
        which = [(kingdom, j) for j in range(37) if j != kingdom]
        at = [self.sets(which, level)[str(kingdom)] for level in (0.945, 0.955)]
        assert [(one.low, one.high) for one in at] == [(8, 23), (7, 23)]
        assert [str(kingdom) in self.sets(which, level)[str(canada)].beats for level in (0.945, 0.955)] == [True, False]

    @pytest.mark.parametrize(("level", "excluded"), [(0.95, set()), (0.9, {32})])
    def test_of_those_that_may_be_among_the_best_five(self, level, excluded):
        found = self.sets(list(itertools.combinations(range(37), 2)), level)
        assert {int(i) for i in found if found[i].low <= 5} == {2, 3, 7, 8, 9, 18, 19, 24, 27, 30, 32, 33} - excluded

    def test_of_all_countries(self):
        found = self.sets(list(itertools.combinations(range(37), 2)))
        last = {"4", "5", "23"}  # Chile, Colombia, Mexico
        assert min(found[i].low for i in last) > max(found[i].high for i in set(found) - last)


def test_the_level_of_one_of_several_is_sidaks_where_they_are_independent():
    rng = np.random.default_rng(2)
    largest = np.abs(rng.normal(size=(5, 400_000))).max(axis=0)
    assert simultaneous_level(largest, 0.95, 5) == pytest.approx(0.95**0.2, abs=5e-4)
    assert simultaneous_level(np.zeros(100), 0.95, 5) == 0.95


def test_the_level_of_one_of_several_is_at_most_bonferronis():
    heavy = np.abs(np.random.default_rng(3).standard_t(1, 9_999))
    assert simultaneous_level(heavy, 0.95, 20) == pytest.approx(1 - 0.05 / 20)


def test_the_level_that_resamples_tell_needs_no_more_of_them():
    for size in (39, 999, 9_999, 100_000):
        assert smallest_bank(tails(level_told_by(size))) <= size
        assert smallest_bank(tails(1 - (1 - level_told_by(size)) * 0.99)) > size - 1


def test_differences_of_models_in_standard_errors():
    rng = np.random.default_rng(3)
    apart = rng.normal(size=(3, 50))
    apart[2] = apart[1]
    pairs = Pairs(apart)
    found = apart[0] - apart[1]
    np.testing.assert_allclose(pairs.of(0, 1), found / math.sqrt(np.mean(found**2)))
    assert not pairs.of(1, 2).any()
    np.testing.assert_array_equal(pairs.largest([(0, 1), (1, 2)]), np.abs(pairs.of(0, 1)))
    np.testing.assert_array_equal(pairs.widest, np.abs(apart).max(axis=1))


class Counted(Pairs):
    """Pairs that count how often a difference is formed."""

    asked: ClassVar[int] = 0

    def apart_from(self, i, j):
        Counted.asked += 1
        return super().apart_from(i, j)


@pytest.mark.parametrize("heavy", [False, True])
def test_the_largest_difference_of_many_models_is_found_without_all_pairs(heavy):
    rng = np.random.default_rng(4)
    drawn = rng.standard_t(3, size=(90, 3_000)) if heavy else rng.normal(size=(90, 3_000))
    apart = np.logspace(-3, 3, 90)[:, None] * (drawn + 0.5 * rng.normal(size=3_000))
    apart[5] = 0.0
    which, Counted.asked = list(itertools.combinations(range(90), 2)), 0
    found = Counted(apart).largest(which)
    assert Counted.asked == 0
    np.testing.assert_allclose(found, Differences.largest(Pairs(apart), which), rtol=1e-12)


def test_the_largest_difference_of_models_that_hang_together_is_that_of_all_pairs():
    rng = np.random.default_rng(5)
    apart = rng.normal(size=(90, 1_000)) + 3 * rng.normal(size=1_000)
    apart[7] = apart[6]
    which = list(itertools.combinations(range(90), 2))
    np.testing.assert_array_equal(Pairs(apart).largest(which), Differences.largest(Pairs(apart), which))


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
        draws = (rng.normal(size=(8, 499)) + rng.normal(size=499)) / math.sqrt(2)
        z = (rng.normal(size=8) + rng.normal()) / math.sqrt(2) + shift
        wrong += step_down(z, lambda i, draws=draws: draws[i])[:5].min() <= 0.05
    assert stats.binomtest(wrong, sets, 0.05, alternative="greater").pvalue > false_alarm
    assert wrong / sets > 0.02
