"""Curves with bands: their values, what is read off them, the design of the data, and what is refused."""

import functools

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci import curves
from jaxci.intervals.bands import Band, depths, excluded, expanded, pointwise, simultaneous

N = 60
RNG = np.random.default_rng(5)
Y = np.arange(N) % 2
SCORE = np.round(RNG.normal(size=N) + 1.5 * Y, 1)  # with ties
PROB = 1 / (1 + np.exp(-(1.2 * SCORE - 1)))
OTHER = SCORE + np.round(RNG.normal(size=N), 1)
KW = {"n_resamples": 999, "rng": 0}


@functools.cache
def roc():
    return curves.roc(Y, SCORE, max_fpr=(0.1, 0.5), **KW)


@functools.cache
def precision_recall():
    return curves.precision_recall(Y, SCORE, recalls=(0.5, 0.9), **KW)


@functools.cache
def calibration():
    return curves.calibration(Y, PROB, n_bins=5, **KW)


@functools.cache
def decision():
    return curves.decision(Y, PROB, thresholds=(0.2, 0.5), **KW)


@functools.cache
def difference():
    return curves.compare("roc", Y, SCORE, OTHER, **KW)


def test_a_roc_curve_runs_on_straight_lines_between_thresholds():
    metrics = pytest.importorskip("sklearn.metrics")
    fpr, tpr, _ = metrics.roc_curve(Y, SCORE, drop_intermediate=False)
    found = roc()
    expected = np.interp(1 - found.x - 1e-12, fpr, tpr)
    upright = np.isclose(1 - found.x[:, None], fpr).any(axis=1)  # the largest of a specificity is taken there
    assert found.estimate[~upright] == pytest.approx(expected[~upright], abs=1e-9)
    at = [tpr[np.isclose(fpr, 1 - x)].max() for x in found.x[upright]]
    assert found.estimate[upright] == pytest.approx(at, abs=1e-9)
    assert found["area under the curve"].estimate == pytest.approx(metrics.roc_auc_score(Y, SCORE), abs=1e-12)
    partial = jaxci.interval("roc_auc", Y, SCORE, max_fpr=0.1, method="percentile", **KW).estimate
    assert found["partial area, specificity from 0.9"].estimate == pytest.approx(partial, abs=1e-12)


def test_thresholds_reach_what_they_are_for():
    found = roc()
    negatives, positives = SCORE[Y == 0], SCORE[Y == 1]
    at = found["threshold at specificity 0.9"].estimate
    assert np.mean(negatives < at) >= 0.9 > np.mean(negatives < np.max(SCORE[at > SCORE]))
    at = found["threshold at sensitivity 0.9"].estimate
    assert np.mean(positives >= at) >= 0.9 > np.mean(positives > at)


@pytest.mark.slow
def test_precision_by_recall():
    metrics = pytest.importorskip("sklearn.metrics")
    precision, recall, _ = metrics.precision_recall_curve(Y, SCORE)
    found = curves.precision_recall(Y, SCORE, grid=np.unique(recall[(recall > 0) & (recall < 1)]), **KW)
    for x, estimate in zip(found.x, found.estimate, strict=True):
        assert estimate == pytest.approx(precision[np.isclose(recall, x)].max(), abs=1e-9)
    expected = metrics.average_precision_score(Y, SCORE)
    assert precision_recall()["average precision"].estimate == pytest.approx(expected, abs=1e-12)
    assert set(found.reference) == {0.5}


@pytest.mark.slow
def test_calibration_by_bins_and_by_logistic_regression():
    sm = pytest.importorskip("statsmodels.api")
    found = calibration()
    edges = np.unique(np.quantile(PROB, np.arange(1, 5) / 5, method="inverted_cdf"))
    codes = np.searchsorted(edges, PROB, side="right")
    assert found.estimate == pytest.approx(np.bincount(codes, Y) / np.bincount(codes), abs=1e-12)
    assert found.x == pytest.approx(np.bincount(codes, PROB) / np.bincount(codes), abs=1e-12)
    odds = np.log(PROB / (1 - PROB))
    slope = sm.GLM(Y, sm.add_constant(odds), family=sm.families.Binomial()).fit(tol=1e-12).params[1]
    level = sm.GLM(Y, np.ones(N), offset=odds, family=sm.families.Binomial()).fit(tol=1e-12).params[0]
    assert found["slope"].estimate == pytest.approx(slope, abs=1e-7)
    assert found["intercept"].estimate == pytest.approx(level, abs=1e-7)


@pytest.mark.parametrize("weight_type", ["importance", "frequency"])
def test_predictions_right_in_every_bin_are_calibrated_whatever_rows_weigh(weight_type):
    p = np.repeat([0.6, 0.9, 0.1], [100, 100, 200])
    y = np.concatenate([np.repeat([1, 0], pair) for pair in ([60, 40], [90, 10], [20, 180])])
    weights = np.repeat([1.0, 9.0, 1.0], [100, 100, 200])
    found = curves.calibration(y, p, n_bins=2, sample_weight=weights, weight_type=weight_type, n_resamples=99, rng=0)
    assert found.x == pytest.approx([80 / 300, 0.9])
    assert found.estimate == pytest.approx(found.x)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(
    ("predictions", "slope", "said"),
    [
        (np.repeat([0.0, 1.0], 20), np.inf, "separate the classes"),
        (np.r_[np.linspace(0.01, 0.5, 20), np.linspace(0.5, 0.99, 20)], np.inf, "separate the classes"),
        (np.repeat([0.8, 0.3], 20), -np.inf, "separate the classes"),
        (np.full(40, 0.5), np.nan, "do not vary"),
    ],
)
def test_a_slope_that_does_not_exist_is_no_number(predictions, slope, said):
    found = curves.calibration(np.repeat([0, 1], 20), predictions, n_resamples=199, rng=0)
    at = found["slope"]
    assert at.estimate == pytest.approx(slope, nan_ok=True)
    assert any(said in remark for remark in found.warnings)
    low, high = at.confidence_interval
    assert (high == np.inf, low == -np.inf) == (slope == np.inf, slope == -np.inf)
    assert np.isfinite(found["intercept"].confidence_interval).all()


def test_net_benefit():
    found = decision()
    for x, estimate in zip(found.x, found.estimate, strict=True):
        treated = ~(x > PROB)
        expected = np.mean(treated & (Y == 1)) - np.mean(treated & (Y == 0)) * x / (1 - x)
        assert estimate == pytest.approx(expected, abs=1e-12)
    at = found["net benefit at 0.5"].estimate
    assert found["net benefit less treating all at 0.5"].estimate == pytest.approx(at - 0.0, abs=1e-12)
    assert found.reference[49] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "made",
    [roc, decision, *(pytest.param(x, marks=pytest.mark.slow) for x in (precision_recall, calibration, difference))],
)
def test_bands_hold_the_curve_and_each_other(made):
    found = made()
    tight, wide = found.pointwise, found.simultaneous
    assert np.all((wide.low <= tight.low) & (tight.low <= found.estimate))
    assert np.all((found.estimate <= tight.high) & (tight.high <= wide.high))
    assert np.any(wide.high - wide.low > tight.high - tight.low)
    inside = (found.bootstrap_distribution >= wide.low[:, None]) & (found.bootstrap_distribution <= wide.high[:, None])
    assert inside.all(axis=0).mean() >= 0.95
    for point in found:
        low, high = point.confidence_interval
        assert low <= point.estimate <= high


@pytest.mark.slow
def test_a_perfect_model_has_a_band():
    found = curves.roc(Y, Y + 0.1 * RNG.random(N), **KW)
    assert np.all(found.estimate == 1.0)
    assert np.all(found.pointwise.high == 1.0)
    assert np.all(found.simultaneous.low < 0.95)


@pytest.mark.slow
def test_a_cluster_of_copies_is_one_row():
    rows = np.repeat(np.arange(N), 3)
    found = curves.roc(Y[rows], SCORE[rows], max_fpr=(0.1, 0.5), groups=rows, **KW)
    assert found.estimate == pytest.approx(roc().estimate, abs=1e-9)
    assert found.simultaneous.low == pytest.approx(roc().simultaneous.low, abs=1e-9)
    assert "180 rows in 60 clusters" in str(found)


@pytest.mark.slow
def test_frequencies_are_repeats_and_weights_of_one_are_none():
    counts = 1 + np.arange(N) % 3
    rows = np.repeat(np.arange(N), counts)
    by_counts = curves.roc(Y, SCORE, sample_weight=counts, weight_type="frequency", **KW)
    repeated = curves.roc(Y[rows], SCORE[rows], **KW)
    assert by_counts.simultaneous.low == pytest.approx(repeated.simultaneous.low, abs=1e-12)
    weighted = curves.roc(Y, SCORE, sample_weight=counts, **KW)
    assert weighted.estimate == pytest.approx(repeated.estimate, abs=1e-9)
    ones = curves.roc(Y, SCORE, max_fpr=(0.1, 0.5), sample_weight=np.ones(N), **KW)
    assert ones.pointwise.low == pytest.approx(roc().pointwise.low, abs=1e-12)


def test_strata_keep_their_share():
    free, held = (
        curves.decision(Y, PROB, thresholds=(0.2, 0.5), strata=strata, **KW).bootstrap_distribution[0]
        for strata in (None, Y)
    )
    assert held.std() < 0.2 * free.std()


@pytest.mark.slow
def test_neither_chunks_nor_the_order_of_rows_change_the_estimate():
    chunked = curves.roc(Y, SCORE, max_fpr=(0.1, 0.5), memory_limit=2**20, **KW)
    assert np.array_equal(chunked.bootstrap_distribution, roc().bootstrap_distribution)
    turned = curves.roc(Y[::-1], SCORE[::-1], max_fpr=(0.1, 0.5), **KW)
    assert turned.estimate == pytest.approx(roc().estimate, abs=1e-12)


@pytest.mark.slow
def test_a_difference_of_two_curves():
    found = difference()
    assert found.estimate == pytest.approx(found.a.estimate - found.b.estimate, abs=1e-12)
    assert found.a.estimate == pytest.approx(roc().estimate, abs=1e-12)
    apart = np.any((found.simultaneous.low > 0) | (found.simultaneous.high < 0))
    assert apart == (found.pvalue <= 0.05)
    same = curves.compare("roc", Y, SCORE, SCORE, **KW)
    assert np.all(same.estimate == 0)
    assert np.all(same.simultaneous.high > 0)
    assert 0.5 < same.pvalue <= 1.0


def test_bands_by_hand():
    replicates = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 4.0, 5.0]])
    assert depths(replicates, np.sort(replicates, axis=1)).tolist() == [1, 2, 2, 2, 1]
    nine = np.arange(1.0, 10.0)[None]
    (low, high), tail = simultaneous(nine, np.array([3.0]), 0.5, (-np.inf, np.inf))  # (1 + 2 * 2) / 10 leave it
    assert (low.tolist(), high.tolist(), tail) == ([2.0], [8.0], 2 / 10)
    (_, high), _ = simultaneous(nine, np.array([9.0]), 0.5, (0.0, 9.0))
    assert high.tolist() == [9.0]
    (low, high), tail = simultaneous(replicates, np.array([3.0, 3.0]), 0.6, (-np.inf, np.inf))
    assert (low.tolist(), high.tolist(), tail) == ([1.0, 1.0], [5.0, 5.0], 0)
    assert expanded(Band(low, high), np.array([2.0, 2.0]), 5, 0.025).high == pytest.approx(
        2 + 3 * np.sqrt(6 / 4) * stats.t.ppf(0.975, 4) / stats.norm.ppf(0.975)
    )
    assert excluded(nine, np.array([0.0])) == pytest.approx(3 / 10)
    assert excluded(nine, np.array([1.5])) == pytest.approx(5 / 10)
    assert excluded(nine, np.array([5.0])) == 1.0
    low, high = pointwise(np.arange(1000.0)[None], np.array([2000.0]), 0.9, (-np.inf, np.inf))
    assert (low[0], high[0]) == pytest.approx((50, 2000), abs=1.5)


def test_replicates_of_independent_points_are_as_many_tails():
    draws = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    replicates = np.stack([np.random.default_rng(i).permutation(draws) for i in range(10)])
    (_, high), _ = simultaneous(replicates, np.zeros(10), 0.95, (-np.inf, np.inf))
    level = 0.95 ** (1 / 10)
    assert high == pytest.approx(np.full(10, stats.norm.ppf((1 + level) / 2)), abs=0.06)


@pytest.mark.parametrize("name", ["grid", "specificities", "sensitivities", "max_fpr"])
@pytest.mark.parametrize("given", ["a", ["a", "b"], [[0.1], [0.2, 0.3]], {"a": 0.5}])
def test_shares_that_are_no_numbers(name, given):
    with pytest.raises(TypeError, match=f"{name} must hold numbers between 0 and 1; got ") as told:
        curves.roc(Y, SCORE, **{name: given})
    assert str(told.value).endswith(repr(given))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curves.roc(np.ones(9), np.arange(9.0)), "both classes; got 0 negative and 9 positive"),
        (lambda: curves.roc(np.arange(9) % 3, np.ones((9, 3))), "y_true must hold two classes; got 3"),
        (lambda: curves.roc(Y, SCORE, specificities=1.0), "specificities must hold numbers between 0 and 1; got 1.0"),
        (lambda: curves.roc(Y, SCORE, grid=[0.5, 0.2]), "grid must hold at least two numbers, ascending"),
        (lambda: curves.calibration(Y, SCORE), "y_prob must hold probabilities"),
        (lambda: curves.calibration(Y, PROB, n_bins=1), "n_bins must be at least 2; got 1"),
        (lambda: curves.decision(Y, SCORE), "y_prob must hold probabilities"),
        (lambda: curves.compare("calibration", Y, PROB, PROB), "kind must not be 'calibration'"),
        (lambda: curves.compare("rock", Y, PROB, PROB), "kind must be one of .* did you mean 'roc'"),
        (lambda: curves.roc(Y, SCORE[:-1]), "y_score"),
    ],
)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unknown_names():
    with pytest.raises(KeyError, match="no 'accuracy' is read off this curve; it has"):
        roc()["accuracy"]
    with pytest.raises(TypeError, match="has no option 'recalls'"):
        curves.compare("roc", Y, SCORE, OTHER, recalls=0.5)


def test_few_cases_of_a_class_are_remarked_on():
    with pytest.warns(jaxci.JaxciWarning, match="a class has only 5 cases"):
        found = curves.roc(np.arange(N) < 5, SCORE, **KW)
    assert "a class has only 5 cases" in str(found)


# Answers of pROC 1.18.0 (R): `coords`, `auc(partial.auc = c(1, .9))`, `var` and `ci.auc`; and `ci.se`, `ci.sp` and
# `ci.auc` of 20,000 stratified resamples, seed 1.
PROC = {
    "sensitivity at specificity 0.5": (0.9333333333, 0.850000, 0.983333),
    "sensitivity at specificity 0.7": (0.8333333333, 0.716667, 0.933333),
    "sensitivity at specificity 0.8": (0.75, 0.600000, 0.866667),
    "sensitivity at specificity 0.9": (0.6, 0.433333, 0.750000),
    "sensitivity at specificity 0.95": (0.45, 0.266667, 0.633333),
    "specificity at sensitivity 0.9": (0.6071428571, 0.414286, 0.771429),
    "specificity at sensitivity 0.8": (0.7571428571, 0.607143, 0.871429),
    "area under the curve": (0.8558333333, 0.79619, 0.907024),
    "partial area, specificity from 0.9": (0.04119048, 0.0270238, 0.057381),
}


@pytest.mark.slow
def test_intervals_lie_near_those_of_proc():
    """Estimates are the same; intervals, which allow for unseen cases, are about as wide, and not far apart."""
    positive = np.round(stats.norm.ppf((np.arange(60) + 0.5) / 60) + 1.5, 3)
    negative = np.round(stats.norm.ppf((np.arange(140) + 0.5) / 140), 3)
    y, score = np.repeat([0, 1], [140, 60]), np.concatenate([negative, positive])
    found = curves.roc(
        y,
        score,
        specificities=[0.5, 0.7, 0.8, 0.9, 0.95],
        sensitivities=[0.9, 0.8],
        max_fpr=0.1,
        strata=y,
        n_resamples=9999,
        rng=0,
    )
    for name, (estimate, low, high) in PROC.items():
        assert found[name].estimate == pytest.approx(estimate, abs=5e-9), name
        ends = found[name].confidence_interval
        assert np.abs(np.subtract(ends, (low, high))).max() < 0.25 * (high - low), name
        assert 0.86 < (ends.high - ends.low) / (high - low) < 1.25, name
    area = jaxci.interval("roc_auc", y, score, method="delong")
    assert area.standard_error**2 == pytest.approx(0.0008102682192, rel=1e-9)
    np.testing.assert_allclose(area.confidence_interval, (0.8000426, 0.9116241), atol=5e-8)


def test_thresholds_of_few_rows_have_a_remark():
    found = roc()
    said = {point.statistic: point.warnings for point in found}
    assert {name for name, remarks in said.items() if remarks} == {
        name for name in said if name.startswith("threshold")
    }
    assert "a threshold lies in the tail of a class" in said["threshold at specificity 0.9"][0]
