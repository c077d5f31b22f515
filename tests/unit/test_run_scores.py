"""Scores of training runs on tasks: aggregates, resamples within tasks, boards, profiles."""

import math

import jax
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.api.run_boards import OF_MEDIANS
from jaxci.inference.run_scores import improvement_evidence, profile_replicates, run_evidence
from jaxci.statistics.run_scores import AGGREGATES, OptimalityGap

RNG = np.random.default_rng(11)
DIFFICULTY = np.exp(0.3 * RNG.normal(size=4))
RUNS = {
    name: gain * DIFFICULTY * np.exp(0.4 * RNG.normal(size=(5, 4))) for name, gain in (("a", 1), ("b", 1.2), ("c", 3))
}
DEFINITIONS = {
    "mean": lambda x: x.mean(axis=0).mean(),
    "median": lambda x: np.median(x.mean(axis=0)),
    "iqm": lambda x: stats.trim_mean(x, 0.25, axis=None),
    "optimality_gap": lambda x: 1 - np.minimum(x, 1).mean(),
}
"""As in Agarwal and others (2021), and in their code."""


def drawn(scores, key, size):
    """Return resamples (B, R - 1, T) of the scores, by the indices that the programs draw."""
    runs, tasks = scores.shape
    rows = [jax.random.randint(own, (runs - 1, tasks), 0, runs) for own in jax.random.split(key, size)]
    return np.stack([np.take_along_axis(scores, np.asarray(one), axis=0) for one in rows])


@pytest.mark.slow
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_are_by_their_definitions_on_the_same_resamples(name):
    with jax.enable_x64(True):
        found = run_evidence(AGGREGATES[name], RUNS["a"], jax.random.key(3), 99)
        expected = [DEFINITIONS[name](x) for x in drawn(RUNS["a"], jax.random.key(3), 99)]
    assert found.estimate == pytest.approx(DEFINITIONS[name](RUNS["a"]), rel=1e-12)
    np.testing.assert_allclose(found.replicates, expected, rtol=1e-12)
    assert found.standard_error == pytest.approx(np.std(expected), rel=1e-12)


def test_the_error_of_a_mean_is_unbiased_and_has_the_degrees_of_freedom_of_welch():
    found = run_evidence(AGGREGATES["mean"], RUNS["a"], jax.random.key(0), 40_000)
    parts = RUNS["a"].var(axis=0, ddof=1) / 5 / 16
    assert found.standard_error == pytest.approx(math.sqrt(parts.sum()), rel=0.02)
    assert found.degrees == pytest.approx(4 * parts.sum() ** 2 / np.sum(parts**2), rel=0.05)


def test_scores_that_do_not_vary_have_no_error_and_all_degrees_of_freedom():
    found = run_evidence(OptimalityGap(0.5), 1 + RUNS["a"], jax.random.key(0), 99)
    assert (found.estimate, found.standard_error, found.degrees) == (0.0, 0.0, 16.0)


def test_improvement_is_the_mean_of_mann_whitneys():
    a, b = np.round(RUNS["a"], 1), np.round(RUNS["b"], 1)[:4]
    found = improvement_evidence(a, b, jax.random.key(0), 99)
    expected = [stats.mannwhitneyu(a[:, t], b[:, t]).statistic / 20 for t in range(4)]
    assert found.estimate == pytest.approx(np.mean(expected), rel=1e-12)
    answer = jaxci.probability_of_improvement(a, b, n_resamples=99, rng=0)
    assert answer.confidence_interval.low < answer.estimate < answer.confidence_interval.high
    always = jaxci.probability_of_improvement(RUNS["c"], RUNS["a"] / 100, n_resamples=99, rng=0)
    assert (always.estimate, always.confidence_interval.high) == (1.0, 1.0)
    assert 0.5 < always.confidence_interval.low < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("runs", [5, 8, 15, 29])
def test_a_model_that_wins_throughout_has_an_interval_without_a_half(runs, tasks, swapped):
    """Five wins over five are p = .008 by the exact test of Mann and Whitney."""
    best = np.tile(np.arange(runs)[:, None] + 100.0, tasks)
    pair = (best - 100, best) if swapped else (best, best - 100)
    found = jaxci.probability_of_improvement(*pair, n_resamples=99, rng=0)
    low, high = found.confidence_interval
    assert found.standard_error == 0
    assert (0 == low < high < 0.45) if swapped else (0.55 < low < high == 1)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_model_that_wins_throughout_is_known_by_the_fewer_runs(swapped, tasks):
    """Three draws decide if the other model does not vary, however many runs it has."""
    few, many = np.tile(np.arange(3)[:, None] + 100.0, tasks), np.tile(np.arange(20)[:, None] / 100, tasks)
    ends = []
    for other in (many, many[:3]):
        pair = (other, few) if swapped else (few, other)
        ends.append(jaxci.probability_of_improvement(*pair, n_resamples=99, rng=0).confidence_interval)
    assert ends[0] == ends[1]


def test_improvement_has_the_degrees_of_freedom_of_brunner_and_munzel():
    a, b = RUNS["a"][:, 0], RUNS["b"][:4, 0]
    found = improvement_evidence(a[:, None], b[:, None], jax.random.key(0), 99)
    with_t, with_z = (stats.brunnermunzel(a, b, distribution=law) for law in ("t", "normal"))
    assert with_t.statistic == with_z.statistic
    assert 2 * stats.t.sf(abs(with_t.statistic), found.degrees) == pytest.approx(with_t.pvalue)


@pytest.mark.statistical
@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize(("runs", "tasks", "wins"), [((5, 5), 1, 0.8), ((3, 10), 2, 0.7)])
def test_the_probability_of_improvement_is_covered(runs, tasks, wins, false_alarm):
    rng, sets, held = np.random.default_rng(6), 300, 0
    for _ in range(sets):
        first = rng.normal(stats.norm.ppf(wins) * np.sqrt(2), 1, (runs[0], tasks))
        found = jaxci.probability_of_improvement(first, rng.normal(size=(runs[1], tasks)), n_resamples=499, rng=rng)
        low, high = found.confidence_interval
        held += low <= wins <= high
    assert stats.binomtest(held, sets, 0.95, alternative="less").pvalue > false_alarm


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("tasks", "mean", "wins"), [(1, 2.5, 0.598), (5, 12.9, 0.9)])
def test_the_probability_of_improvement_of_few_runs_that_vary_is_covered(tasks, mean, wins, false_alarm):
    """Three runs of a model that varies ten times as much as the other, which has twenty."""
    rng, sets, held = np.random.default_rng(8), 300, 0
    assert stats.norm.cdf(mean / np.sqrt(101)) == pytest.approx(wins, abs=1e-3)
    for _ in range(sets):
        pair = rng.normal(mean, 10, (3, tasks)), rng.normal(size=(20, tasks))
        low, high = jaxci.probability_of_improvement(*pair, n_resamples=499, rng=rng).confidence_interval
        held += low <= wins <= high
    assert stats.binomtest(held, sets, 0.95, alternative="less").pvalue > false_alarm


@pytest.mark.slow
def test_profiles_count_scores_above_thresholds():
    at = np.quantile(RUNS["a"], [0.1, 0.5, 0.9])
    with jax.enable_x64(True):
        found = profile_replicates(RUNS["a"], at, jax.random.key(3), 99)
        rows = drawn(RUNS["a"], jax.random.key(3), 99)
    np.testing.assert_allclose(found, (rows[..., None] > at).mean(axis=(1, 2)), rtol=1e-12)
    profiles = jaxci.performance_profiles(RUNS, at, n_resamples=99, rng=0)
    one = profiles["a"]
    np.testing.assert_allclose(one.share, [0.9, 0.5, 0.1])
    assert np.all((one.simultaneous_low <= one.low) & (one.low < one.share))
    assert np.all((one.simultaneous_high >= one.high) & (one.high > one.share))
    assert len(profiles.records()) == 9
    assert len(jaxci.performance_profiles(RUNS, n_resamples=99, rng=0).thresholds) > 50


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("runs", "tasks"), [(4, 3), (5, 6), (10, 1)])
def test_bands_hold_at_all_thresholds_together(runs, tasks, false_alarm):
    """Normal scores, tasks a standard deviation apart: by Wilson's bounds alone 78% to 89% held."""
    rng, sets, held = np.random.default_rng(4), 250, 0
    means = np.arange(tasks)
    for seed in range(sets):
        profiles = jaxci.performance_profiles({"a": rng.normal(means, 1, (runs, tasks))}, n_resamples=499, rng=seed)
        truth = stats.norm.sf(profiles.thresholds, means[:, None]).mean(axis=0)
        band = profiles["a"]
        held += np.all((band.simultaneous_low <= truth) & (truth <= band.simultaneous_high))
    assert stats.binomtest(int(held), sets, 0.95, alternative="less").pvalue > false_alarm


def test_a_board_of_runs():
    board = jaxci.leaderboard("iqm", RUNS, n_resamples=999, rng=0)
    assert [entry.name for entry in board] == ["c", "b", "a"]
    for name, x in RUNS.items():
        assert board[name].estimate == pytest.approx(DEFINITIONS["iqm"](x), rel=1e-12)
    assert (board["c"].rank_low, board["c"].rank_high) == (1, 1)
    assert board["a"].rank_high == 3
    assert board.method == "stratified_t"
    assert "999 resamples of runs within each of 4 tasks" in board.reason
    gap = jaxci.leaderboard("optimality_gap", RUNS, gamma=2.0, n_resamples=99, rng=0)
    assert gap.less_is_better
    assert gap["a"].estimate == pytest.approx(2 - np.minimum(RUNS["a"], 2).mean(), rel=1e-12)


def test_two_models_on_one_task_are_welchs_test():
    a, b = RUNS["a"][:, 0], RUNS["b"][:4, 0]
    board = jaxci.leaderboard("mean", {"a": a[:, None], "b": b[:, None]}, n_resamples=40_000, rng=0)
    (pair,) = board.pairs
    expected = stats.ttest_ind(a, b, equal_var=False)
    assert pair.pvalue == pytest.approx(expected.pvalue, abs=0.01)
    interval = expected.confidence_interval()
    assert (pair.low, pair.high) == pytest.approx((interval.low, interval.high), rel=0.03)


def test_a_median_over_tasks_and_runs_that_do_not_differ_are_remarked_on():
    told = f"95% intervals of the median over tasks covered {OF_MEDIANS}"
    assert told in jaxci.leaderboard("median", RUNS, n_resamples=99, rng=0).warnings
    assert told not in jaxci.leaderboard("iqm", RUNS, n_resamples=99, rng=0).warnings
    with pytest.warns(jaxci.JaxciWarning, match="c: runs do not differ in optimality_gap"):
        jaxci.leaderboard("optimality_gap", {**RUNS, "c": RUNS["c"] + 9}, n_resamples=99, rng=0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jaxci.leaderboard("iqm", {"a": [[1.0]], "b": [[1.0]]}), ValueError, "'a' must hold at least 2 runs"),
        (lambda: jaxci.leaderboard("iqm", {**RUNS, "d": RUNS["a"][:, :2]}), ValueError, "same tasks.*'d' has 2"),
        (lambda: jaxci.leaderboard("iqm", RUNS, groups=[1, 2]), TypeError, "groups must be None for iqm of runs"),
        (lambda: jaxci.leaderboard("iqm", RUNS, memory_limit=1), TypeError, "memory_limit must be None for iqm"),
        (lambda: jaxci.leaderboard("iqm", RUNS, weight_type="frequency"), TypeError, "weight_type is for rows with"),
        (lambda: jaxci.leaderboard("iqm", RUNS, gamma=1), TypeError, "iqm of runs has no option 'gamma'"),
        (lambda: jaxci.leaderboard("optimality_gap", RUNS, gamma=math.inf), ValueError, "gamma must be finite"),
        (lambda: jaxci.leaderboard("iqm", {**RUNS, "d": RUNS["a"] * math.nan}), ValueError, "'d' must be finite"),
        (lambda: jaxci.leaderboard("iqm", RUNS, missing="pairwise"), ValueError, "missing='pairwise' is for values"),
        (lambda: jaxci.performance_profiles(RUNS, [2.0, 1.0]), ValueError, "thresholds must ascend"),
        (
            lambda: jaxci.performance_profiles({1: RUNS["a"], "1": RUNS["b"]}),
            ValueError,
            "scores must be distinct; '1'",
        ),
        (lambda: jaxci.performance_profiles([1.0]), TypeError, "scores must be a dict"),
        (lambda: jaxci.probability_of_improvement(RUNS["a"], RUNS["b"][:, :3]), ValueError, "4 and 3 columns"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
def test_intervals_of_few_runs_hold_their_level(false_alarm):
    """Six tasks of unlike scale and three runs, through the board: each of two aggregates holds in 92% at least."""
    rng, sets, held = np.random.default_rng(5), 250, {"mean": 0, "iqm": 0}
    scale = np.exp(1.2 * rng.normal(size=6))
    many = scale * np.exp(0.5 * rng.normal(size=(100_000, 6)))
    truth = {name: DEFINITIONS[name](many) for name in held}
    for seed in range(sets):
        both = {name: scale * np.exp(0.5 * rng.normal(size=(3, 6))) for name in "ab"}
        for name in held:
            low, high = jaxci.leaderboard(name, both, n_resamples=499, rng=seed)["a"].confidence_interval
            held[name] += low <= truth[name] <= high
    for count in held.values():
        assert stats.binom.cdf(count, sets, 0.92) > false_alarm
