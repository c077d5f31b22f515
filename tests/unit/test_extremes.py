"""Extreme, yet legal, input: huge values that are cut off, settings at and beyond their ends, models all apart."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.api.runs import UNEVEN, skewed_models
from jaxci.statistics import FBeta

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "far"), [(50, 1e17), (1_000, 1e14), (10_000, 1e30)])
def test_values_that_are_trimmed_do_not_matter_however_large(n, far):
    x = np.random.default_rng(0).normal(size=n)
    x[7] = 10.0
    expected = jaxci.interval("trimmed_mean", x, n_resamples=199, rng=0)
    x[7] = far
    found = jaxci.interval("trimmed_mean", x, n_resamples=199, rng=0)
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-12)
    np.testing.assert_allclose(found.confidence_interval, expected.confidence_interval, rtol=1e-5)


@pytest.mark.parametrize(("bins", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), ("15", TypeError)])
def test_bins_are_a_positive_number(bins, error):
    y, score = np.arange(40) % 2, np.linspace(0, 1, 40)
    for metric in ("expected_calibration_error", "root_mean_squared_calibration_error"):
        with pytest.raises(error, match="n_bins must be"):
            jaxci.interval(metric, y, score, n_bins=bins)


def test_weights_of_recall_and_margins_are_numbers_that_mean_something():
    y = np.arange(40) % 2
    for beta in (np.nan, -1):
        with pytest.raises(ValueError, match="beta must not be negative"):
            jaxci.interval(FBeta(), y, y, beta=beta)
    with pytest.raises(ValueError, match="margin must be positive and finite"):
        jaxci.compare("accuracy", y, y, 1 - y, margin=np.inf)
    with pytest.raises(TypeError, match="margin must be a number"):
        jaxci.compare("accuracy", y, y, 1 - y, margin=True)


def test_the_curve_of_abc_that_turns_round_gives_no_interval():
    y = 1 * (np.arange(40) == 27)
    guess = [2, 0, 0, 2, 1, 2, 1, 1, 0, 0, 0, 1, 2, 2, 1, 0, 0, 0, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 2, 2, 2, 0, 0, 0, 2]
    guess += [0, 2, 1, 2, 2]
    groups = [0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0]
    groups += [0, 0, 1, 1, 1]
    found = jaxci.interval("balanced_accuracy", y, guess, method="abc", groups=groups)
    assert np.isnan(found.confidence_interval).all()
    assert any("undefined at an ABC endpoint" in one for one in found.warnings)


def test_models_that_differ_on_every_row_have_no_p_value_of_abc():
    y = np.arange(300) % 2
    found = jaxci.compare("accuracy", y, y, 1 - y, method="abc")
    assert math.isnan(found.pvalue)
    assert found.test == "no variation"


@pytest.mark.parametrize("q", [1e-9, 1e-20, 1e-300])
def test_quantiles_that_need_more_than_a_million_values_are_refused(q):
    with pytest.raises(ValueError, match="needs more than 1000000 values for any interval"):
        jaxci.plan_quantile(q, width=0.5)


def test_mid_p_next_to_all_successes():
    n = 10**15
    low, high = jaxci.proportion_interval(n - 1, n, method="mid_p").confidence_interval
    assert 1 - 1e-13 < low < high <= 1


def test_runs_that_do_not_vary_tell_nothing():
    found = jaxci.welch_interval([1.0, 1, 1], [2.0, 2, 2])
    assert math.isnan(found.pvalue)
    assert (found.conclusion, found.test) == ("no difference shown", "no variation")
    assert "neither model vary" in found.warnings[0]
    same = jaxci.welch_interval([1.0, 1], [1.0, 1, 1])
    assert (same.pvalue, same.conclusion, same.test) == (1.0, "no difference shown", "no variation")
    assert "do not vary" in jaxci.runs_interval([1.0, 1, 1]).warnings[0]
    assert jaxci.welch_interval([1.0, 1.1], [2.0, 2, 2]).warnings == ()


@pytest.mark.parametrize("value", [0.1, 0.2, 0.7, 1 / 3, 1e-200, 1e300])
@pytest.mark.parametrize("runs", [3, 7, 11])
def test_equal_runs_get_one_verdict_whatever_their_value(value, runs):
    """The mean of equal values rounds, which does not make runs vary."""
    found = jaxci.welch_interval([value] * runs, [value / 2] * 3)
    assert (found.estimate, *found.confidence_interval, found.standard_error) == (*[value - value / 2] * 3, 0.0)
    assert (found.conclusion, found.test) == ("no difference shown", "no variation")
    assert "neither model vary" in found.warnings[0]
    same = jaxci.welch_interval([value] * runs, [value] * 5)
    assert (same.estimate, same.pvalue, same.conclusion) == (0.0, 1.0, "no difference shown")
    alone = jaxci.runs_interval([value] * runs)
    assert alone.standard_error == 0
    assert "do not vary" in alone.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.1, 0.7, 94708.09631292422])
def test_models_whose_runs_do_not_vary_are_not_told_apart(value):
    runs = {"a": np.full((3, 7), value), "b": np.full((4, 7), 2 * value), "c": np.full((5, 7), 2 * value)}
    board = jaxci.leaderboard("mean", runs, n_resamples=99, rng=0)
    assert [math.isnan(pair.pvalue) for pair in board.pairs] == [True, True, False]
    assert (board.pairs[2].pvalue, [pair.adjusted for pair in board.pairs]) == (1.0, [1.0] * 3)
    assert {(entry.rank_low, entry.rank_high, entry.tied) for entry in board} == {(1, 3, True)}
    assert all(entry.confidence_interval == (entry.estimate, entry.estimate) for entry in board)
    assert "a, b, c: runs do not differ in mean" in " ".join(board.warnings)


@pytest.mark.slow
def test_learners_whose_losses_differ_by_one_number_are_not_told_apart():
    dummy = pytest.importorskip("sklearn.dummy")
    right, wrong = (dummy.DummyRegressor(strategy="constant", constant=value) for value in (3.0, 4.1))
    y = np.random.default_rng(0).random(40)
    found = jaxci.compare_inducers(right, wrong, np.ones((40, 1)), y, loss="absolute", rng=0, progress=False)
    assert found.confidence_interval == (found.estimate, found.estimate)
    assert math.isnan(found.pvalue)
    assert (found.conclusion, found.test) == ("no difference shown", "no variation")
    assert "the differences of the losses do not vary" in " ".join(found.warnings)


@pytest.mark.parametrize("value", [0.3, 0.7, 94708.09631292422])
@pytest.mark.parametrize("n", [10, 30, 49])
def test_equal_values_have_the_interval_of_their_value(value, n):
    """Sums of equal values round by how many a cluster or a split has."""
    x = np.full(n, value)
    for given in ({}, {"groups": np.arange(n) // 2}, {"groups": np.sqrt(np.arange(n)).astype(int)}):
        found = jaxci.interval("mean", x, method="t", **given)
        assert found.confidence_interval == (found.estimate, found.estimate)
    folds = np.array_split(np.arange(n), 4)
    found = jaxci.losses_interval([x[fold] for fold in folds], test=folds)
    assert (*found.confidence_interval, found.standard_error) == (found.estimate, found.estimate, 0.0)


@pytest.mark.parametrize("size", [1e-200, 1e160, 1e300])
def test_huge_and_tiny_weights_are_those_of_their_ratios(size):
    y, weights = np.arange(40) % 2, np.repeat([1.0, 3.0], 20)
    score = np.random.default_rng(0).normal(size=40) + y
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        found = jaxci.interval("roc_auc", y, score, sample_weight=size * weights, rng=0, n_resamples=199)
    wanted = jaxci.interval("roc_auc", y, score, sample_weight=weights / 2.5, rng=0, n_resamples=199)
    np.testing.assert_allclose(found.confidence_interval, wanted.confidence_interval, rtol=1e-9)


def test_tests_of_normality_do_not_depend_on_the_unit():
    values = np.random.default_rng(0).normal(size=30)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        found = [
            jaxci.quantile_interval(unit * values, 0.9, method="noncentral_t", rng=0) for unit in (1.0, 1e300, 1e-300)
        ]
    pvalues = np.array([(one.shapiro_pvalue, one.lilliefors_pvalue) for one in found])
    np.testing.assert_allclose(pvalues[1:], pvalues[[0, 0]], rtol=1e-6)


def test_runs_that_are_more_skewed_than_normal_ones_are_told():
    """Of lognormal runs Student's interval covers 83%, whether 10 or 30."""
    rng = np.random.default_rng(0)
    skewed, normal = rng.lognormal(size=30), rng.normal(size=30)
    with pytest.warns(jaxci.JaxciWarning, match=r"the runs are skewed \(1\.\d, of normal ones seldom above 0\.8\)"):
        found = jaxci.runs_interval(skewed)
    with pytest.warns(jaxci.JaxciWarning, match="the runs are skewed"):
        summary = jaxci.summarize_runs(skewed, qs=[0.5])
    assert summary.warnings == found.warnings
    assert "interval('mean', scores) may allow for more; that of their median (summarize_runs)" in found.warnings[0]
    assert f"warning: {found.warnings[0]}" in str(summary)
    assert jaxci.runs_interval(normal).warnings == jaxci.summarize_runs(normal, qs=[0.5]).warnings == ()
    assert jaxci.runs_interval([0.1, 0.3]).warnings == ()  # two are never skewed, but by rounding
    few = [0.9, 0.91, 0.89, 0.9, 0.3]
    (said,) = jaxci.runs_interval(few).warnings
    assert "interval('mean', scores) gives the same of so few" in said
    same = [jaxci.interval("mean", few).confidence_interval, jaxci.runs_interval(few).confidence_interval]
    np.testing.assert_allclose(*same, rtol=1e-12)
    six = [*few, 0.9]
    assert jaxci.interval("mean", six, rng=0).confidence_interval.low < jaxci.runs_interval(six).confidence_interval.low
    assert "may allow for more" in jaxci.runs_interval(six).warnings[0]


def test_ends_of_the_interval_of_runs_are_cut_off_at_the_bounds_of_a_summary():
    scores = [0.99, 0.999, 0.9, 0.998, 0.997]
    plain, cut = jaxci.runs_interval(scores), jaxci.runs_interval(scores, bounds=(0, 1))
    assert plain.confidence_interval.high == pytest.approx(1.0303, abs=1e-4)
    assert cut.confidence_interval == (plain.confidence_interval.low, 1.0)
    assert cut.confidence_interval == jaxci.summarize_runs(scores, qs=[0.5], bounds=(0, 1)).mean_interval
    assert jaxci.runs_interval(scores, bounds="clip").confidence_interval == cut.confidence_interval
    assert cut.warnings == plain.warnings
    with pytest.raises(ValueError, match=r"scores must lie within bounds \(0\.0, 0\.5\); got 0\.99"):
        jaxci.runs_interval(scores, bounds=(0, 0.5))
    with pytest.raises(ValueError, match="bounds must be a lower and a higher number"):
        jaxci.runs_interval(scores, bounds=(1, 0))


def test_two_models_whose_runs_are_skewed_or_few_beside_many_are_told():
    """2 runs beside 20 are told apart by chance in 12%, of one task on a leaderboard too."""
    rng = np.random.default_rng(1)
    few, many, skewed = rng.normal(size=2), rng.normal(size=20), rng.lognormal(size=20)
    told = "a has 2 runs beside 20: of 2 and many more normal ones 95% intervals told equal means apart in up to 13%"
    with pytest.warns(jaxci.JaxciWarning, match=told):
        found = jaxci.welch_interval(few, many)
    assert len(found.warnings) == 1
    (said,) = jaxci.welch_interval(many[:3], many).warnings
    assert said.startswith("a has 3 runs beside 20")
    assert "up to 8% of simulations" in said
    (said,) = jaxci.welch_interval(many, skewed).warnings
    assert said.startswith("runs are skewed, of b (")
    assert jaxci.welch_interval(many[:4], many).warnings == jaxci.welch_interval(few, many[:3]).warnings == ()
    models = {"one": few[:, None], "two": many[:, None], "three": skewed[:, None]}
    warned = jaxci.leaderboard("mean", models, n_resamples=99, rng=0).warnings
    assert any(text.startswith("one has 2 runs beside 20") for text in warned)
    assert any(text.startswith("runs are skewed, of three (") for text in warned)
    on_two_tasks = {name: np.hstack([x, x]) for name, x in models.items()}
    assert not any("beside" in text for text in jaxci.leaderboard("mean", on_two_tasks, n_resamples=99, rng=0).warnings)


def test_runs_that_are_skewed_about_the_means_of_their_tasks_are_told():
    """Means of lognormal runs on several tasks are covered by 87 to 92%."""
    rng, scales, means = np.random.default_rng(3), np.array([1e-3, 1.0, 1e3]), np.array([5.0, 0.0, 9e3])
    skewed, normal = rng.lognormal(size=(10, 3)), rng.normal(size=(10, 3))
    turns = np.array([1.0, -1.0, 0.0])  # runs of two tasks are skewed to either side, those of one do not vary

    def told(metric, x):
        models = {"one": normal, "two": means + scales * x}
        said = jaxci.leaderboard(metric, models, n_resamples=99, rng=0).warnings
        return [text for text in said if text.startswith("runs are skewed")]

    for metric in ("mean", "median"):
        (said,) = told(metric, skewed)
        assert said.startswith("runs are skewed, of two (")
    assert told("iqm", skewed) == told("mean", normal) == told("mean", turns * skewed[:, :1]) == []
    assert skewed_models({"two": skewed}) == skewed_models({"two": means + scales * skewed})


@pytest.mark.parametrize(("runs", "tasks", "models"), [(5, 1, 1), (10, 1, 2), (3, 10, 2), (10, 3, 6)])
def test_few_boards_of_normal_runs_are_told_of(runs, tasks, models):
    """One in twenty, however many models there are."""
    rng, sets = np.random.default_rng(4), 1_000
    boards = rng.normal(size=(sets, models, runs, tasks))
    told = sum(bool(skewed_models(dict(zip("abcdef", board, strict=False)))) for board in boards)
    assert told / sets < 0.07


@pytest.mark.statistical
@pytest.mark.parametrize(("few", "percent"), UNEVEN.items())
def test_models_of_few_runs_beside_many_are_told_apart_as_often_as_is_said(few, percent):
    rng, sets = np.random.default_rng(2), 20_000
    told = []
    for many in (2 * few, 10, 20, 50):
        for spread in (0.3, 1.0, 3.0):
            pair = spread * rng.normal(size=(sets, few)), rng.normal(size=(sets, many))
            told.append(np.mean(stats.ttest_ind(*pair, axis=1, equal_var=False).pvalue < 0.05))
    assert 100 * max(told) == pytest.approx(percent, abs=1)
