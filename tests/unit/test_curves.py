"""Curves with bands: their values, what is read off them, the design of the data, and what is refused."""

import functools
import warnings

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci import curves
from jaxci.intervals.bands import Expansion, Simultaneous, depths, pointwise

N = 60
RNG = np.random.default_rng(5)
Y = np.arange(N) % 2
SCORE = np.round(RNG.normal(size=N) + 1.5 * Y, 1)  # with ties
PROB = 1 / (1 + np.exp(-(1.2 * SCORE - 1)))
OTHER = SCORE + np.round(RNG.normal(size=N), 1)
KW = {"n_resamples": 999, "rng": 0}
OPEN = (-np.inf, np.inf)


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("weight_type", ["importance", "frequency"])
def test_predictions_right_in_every_bin_are_calibrated_whatever_rows_weigh(weight_type):
    p = np.repeat([0.6, 0.9, 0.1], [100, 100, 200])
    y = np.concatenate([np.repeat([1, 0], pair) for pair in ([60, 40], [90, 10], [20, 180])])
    weights = np.repeat([1.0, 9.0, 1.0], [100, 100, 200])
    found = curves.calibration(y, p, n_bins=2, sample_weight=weights, weight_type=weight_type, n_resamples=99, rng=0)
    assert found.x == pytest.approx([80 / 300, 0.9])
    assert found.estimate == pytest.approx(found.x)


@pytest.mark.slow
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
    """But for Student's quantiles and the divisor U - 1, which few clusters need more than rows do."""
    rows = np.repeat(np.arange(N), 3)
    found = curves.roc(Y[rows], SCORE[rows], max_fpr=(0.1, 0.5), groups=rows, **KW)
    assert found.estimate == pytest.approx(roc().estimate, abs=1e-9)
    assert found.bootstrap_distribution == pytest.approx(roc().bootstrap_distribution, abs=1e-9)
    assert Expansion.of(np.ones(N)).at(0.025) == pytest.approx(
        np.sqrt((N + 1) / (N - 1)) * stats.t.ppf(0.975, N - 1) / stats.norm.ppf(0.975)
    )
    wider = pointwise(roc().bootstrap_distribution, roc().estimate, 0.95, (0, 1), Expansion.of(np.ones(N)))
    assert np.all(found.pointwise.low <= wider.low + 1e-9)  # the least is Jeffreys' interval of three times the rows
    assert np.mean(np.isclose(found.pointwise.low, wider.low)) > 0.5
    assert np.all(found.simultaneous.low <= roc().simultaneous.low + 1e-9)
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


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_least_pvalue_is_said_where_resamples_are_too_few():
    found = curves.compare("roc", Y, SCORE + 9 * Y, -SCORE, n_resamples=199, rng=0)
    assert 0.05 < found.pvalue <= 1
    assert np.any(found.simultaneous.low > 0)  # the envelope leaves 0
    assert f"the envelope of all of them; no p-value of them is below {found.pvalue:.2g}" in str(found)


def test_bands_by_hand():
    replicates = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 4.0, 5.0]])
    ordered, depth = depths(replicates)
    assert ordered.tolist() == np.sort(replicates, axis=1).tolist()
    assert depth.tolist() == [1, 2, 2, 2, 1]
    assert depths(np.array([[2.0, 1.0, 2.0, 3.0, 1.0]]))[1].tolist() == [3, 2, 3, 1, 2]
    nine = np.arange(1.0, 10.0)[None]
    together = Simultaneous(nine, np.array([3.0]), OPEN)
    (low, high), enough = together.band(0.5)  # (1 + 2 * 2) / 10 leave it
    assert (low.tolist(), high.tolist(), enough) == ([2.0], [8.0], True)
    assert Simultaneous(nine, np.array([9.0]), (0.0, 9.0)).band(0.5)[0].high.tolist() == [9.0]
    (low, high), enough = Simultaneous(replicates, np.array([3.0, 3.0]), OPEN).band(0.6)
    assert (low.tolist(), high.tolist(), enough) == ([1.0, 1.0], [5.0, 5.0], False)
    assert together.excluded(np.array([0.0])) == pytest.approx(3 / 10)
    assert together.excluded(np.array([1.5])) == pytest.approx(5 / 10)
    assert together.excluded(np.array([5.0])) == 1.0
    assert Simultaneous(nine, np.array([0.0]), OPEN).excluded(np.array([0.0])) == 1.0  # the estimate is always held
    low, high = pointwise(np.arange(1000.0)[None], np.array([2000.0]), 0.9, OPEN)
    assert (low[0], high[0]) == pytest.approx((50, 2000), abs=1.5)


def test_bands_of_means_are_as_wide_as_students():
    replicates, estimates, five = np.arange(-99.0, 100.0)[None], np.array([5.0]), Expansion.of(np.full(5, 3.0))
    (plain,), (wide,) = (pointwise(replicates, estimates, 0.95, OPEN, one).high for one in (None, five))
    student = np.sqrt(6 / 4) * stats.t.ppf(0.975, 4) / stats.norm.ppf(0.975)
    assert (wide - 5) / (plain - 5) == pytest.approx(student)
    (plain,), (wide,) = (Simultaneous(replicates, estimates, OPEN, one).band(0.95)[0].high for one in (None, five))
    k = 100 - plain
    student = np.sqrt(6 / 4) * stats.t.isf(k / 200, 4) / stats.norm.isf(k / 200)
    assert (wide - 5) / (plain - 5) == pytest.approx(student)


def test_the_expansion_of_weighted_means_by_the_matrix_of_their_variance():
    weights = np.array([1.0, 2.0, 3.0, 10.0])
    shares = weights / weights.sum()
    from_mean = np.eye(4) - shares
    form = from_mean.T @ np.diag(shares**2) @ from_mean
    found = Expansion.of(weights)
    assert found.scale**2 == pytest.approx(5 / 4 * (shares @ shares) / np.trace(form))
    assert found.degrees == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))
    assert found.effective == found.degrees > 16**2 / 114 - 1
    assert Expansion.of(np.array([1.0, 1.0, 1.0, 2.0])).effective == pytest.approx(5**2 / 7 - 1)
    alone = Expansion.of(np.array([1e12, 1.0, 1.0]))  # one unit holds all: nothing is known, and all is finite
    assert (alone.degrees, alone.effective) == (1.0, 1.0)
    assert 100 < alone.at(0.025) < alone.together(0.001, 0.05) < np.inf
    alike = Expansion.of(np.full(7, 2.0))
    assert (alike.scale**2, alike.degrees, alike.effective) == pytest.approx((8 / 6, 6, 6))


def test_a_replicate_that_is_no_number_may_be_anything():
    replicates = np.arange(1.0, 101.0)
    low, high = pointwise(np.where(replicates > 90, np.nan, replicates)[None], np.array([50.0]), 0.5, OPEN)
    assert (low[0], high[0]) == (15.0, 75.0)  # 10 are below 1 for the one end, and above 90 for the other
    low, high = pointwise(np.where(replicates > 60, np.nan, replicates)[None], np.array([50.0]), 0.5, OPEN)
    assert (low[0], high[0]) == OPEN


def test_replicates_of_independent_points_are_as_many_tails():
    draws = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    replicates = np.stack([np.random.default_rng(i).permutation(draws) for i in range(10)])
    (_, high), _ = Simultaneous(replicates, np.zeros(10), OPEN).band(0.95)
    level = 0.95 ** (1 / 10)
    assert high == pytest.approx(np.full(10, stats.norm.ppf((1 + level) / 2)), abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["roc", "precision_recall"])
def test_scores_that_do_not_vary_are_remarked_on(kind):
    text = "does not vary: it ranks nothing, and its curve is that of chance"
    with pytest.warns(jaxci.JaxciWarning, match=f"y_score {text}"):
        getattr(curves, kind)(Y, np.full(len(Y), 0.3), n_resamples=99, rng=0)
    with pytest.warns(jaxci.JaxciWarning, match=f"score_b {text}"):
        found = curves.compare(kind, Y, SCORE, np.zeros(len(Y)), n_resamples=99, rng=0)
    assert not any(f"score_a {text}" in one for one in found.warnings)


@pytest.mark.parametrize("name", ["grid", "specificities", "sensitivities", "max_fpr"])
@pytest.mark.parametrize("given", ["a", ["a", "b"], [[0.1], [0.2, 0.3]], {"a": 0.5}])
def test_shares_that_are_no_numbers(name, given):
    with pytest.raises(TypeError, match=f"{name} must hold numbers between 0 and 1, exclusive; got ") as told:
        curves.roc(Y, SCORE, **{name: given})
    assert str(told.value).endswith(repr(given))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curves.roc(np.ones(9), np.arange(9.0)), "both classes; got 0 negative and 9 positive"),
        (lambda: curves.roc(np.arange(9) % 3, np.ones((9, 3))), "y_true must hold two classes; got 3"),
        (lambda: curves.roc(Y, SCORE, specificities=1.0), "specificities must .* between 0 and 1, exclusive; got 1.0"),
        (lambda: curves.roc(Y, SCORE, max_fpr=0), "max_fpr must hold numbers between 0 and 1, exclusive; got 0"),
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


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_rows_of_a_class_are_counted_in_effect():
    y, weights = np.arange(N) < 12, np.where(np.arange(N) == 0, 5.0, 1.0)
    rows = 16**2 / 36  # eleven of weight 1 and one of 5
    assert not curves.roc(y, SCORE, **KW).warnings
    found = curves.roc(y, SCORE, sample_weight=weights, **KW)
    assert f"a class has only {rows:.3g} cases in effect" in str(found)
    assert f"a class, of {rows:.3g} rows in effect:" in found["threshold at sensitivity 0.9"].warnings[0]


def _models(n_clusters, size, icc, seed=0, prevalence=0.3):
    """Labels, scores of two models that differ row by row, and clusters, in which rows are alike."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_clusters), size)
    y = (rng.random(len(groups)) < prevalence).astype(int)

    def noise():
        return np.sqrt(icc) * rng.normal(size=n_clusters)[groups] + np.sqrt(1 - icc) * rng.normal(size=len(groups))

    common = 0.8 * noise() + 1.8 * y
    return y, common + 0.6 * noise(), common + 0.6 * noise(), groups


@pytest.mark.parametrize("design", ["strata", "sample_weight"])
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_pvalue_is_the_level_at_which_the_band_of_net_benefits_leaves_0(design):
    y, a, b, _ = _models(60, 1, 0.0, seed=2)
    a, b = (1 / (1 + np.exp(1.5 - x)) for x in (a + 0.4 * y, b))
    given = {design: y if design == "strata" else np.random.default_rng(0).lognormal(size=60)}

    def leaves(error):
        band = curves.compare("decision", y, a, b, confidence_level=1 - error, **given, **KW).simultaneous
        return np.any((band.low > 0) | (band.high < 0))

    pvalue = curves.compare("decision", y, a, b, **given, **KW).pvalue
    assert 0.01 < pvalue < 0.9
    assert leaves(pvalue)
    assert not leaves(pvalue - 0.001)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_bands_of_weighted_net_benefits_hold_each_other():
    weights = np.random.default_rng(0).lognormal(sigma=1.5, size=N)
    found = curves.decision(Y, PROB, sample_weight=weights, **KW)
    equal = decision()
    assert np.all(found.simultaneous.low <= found.pointwise.low)
    assert np.all(found.pointwise.high <= found.simultaneous.high)
    spread = [np.std(one.bootstrap_distribution, axis=1) for one in (found, equal)]
    wide, narrow = (
        np.median((one.pointwise.high - one.pointwise.low) / sd) for one, sd in zip((found, equal), spread, strict=True)
    )
    assert wide > 1.2 * narrow  # Student's quantiles of fewer degrees of freedom


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_difference_in_clusters_is_not_far_wider_than_that_of_rows():
    y, a, b, groups = _models(15, 10, 0.1)
    by_rows, by_clusters = (
        np.ptp(curves.compare("roc", y, a, b, groups=given, **KW)["area under the curve"].confidence_interval)
        for given in (None, groups)
    )
    assert by_clusters < 1.5 * by_rows


@pytest.mark.slow
def test_a_difference_in_clusters_of_copies_is_that_of_rows():
    rows = np.repeat(np.arange(N), 3)
    found = curves.compare("roc", Y[rows], SCORE[rows], OTHER[rows], groups=rows, **KW)
    assert found.bootstrap_distribution == pytest.approx(difference().bootstrap_distribution, abs=1e-9)
    assert np.all(found.simultaneous.low <= difference().simultaneous.low + 1e-9)
    assert found.pvalue >= difference().pvalue


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_threshold_without_a_value_in_some_resamples_has_an_interval_and_a_remark():
    y, a, b, _ = _models(20, 1, 0.0)
    point = curves.compare("roc", y, a, b, specificities=0.99, **KW)["threshold at specificity 0.99"]
    missing = np.count_nonzero(np.isnan(point.bootstrap_distribution))
    assert missing > 0
    assert point.confidence_interval == OPEN
    assert f"no value in {missing:,} of 999 resamples" in point.warnings[-1]


@pytest.mark.slow
@pytest.mark.parametrize("apart", [2.0, 9.0])
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_rates_are_known_no_better_than_at_a_threshold_that_is_given(apart):
    """Jeffreys' interval of the share of as many rows of the class; the band of the curve holds that of each point."""
    rng, m, level = np.random.default_rng(3), 30, 0.9
    y, score = np.repeat([0, 1], [50, m]), np.r_[rng.normal(size=50), rng.normal(size=m) + apart]
    found = curves.roc(y, score, specificities=[0.1, 0.9], confidence_level=level, n_resamples=999, rng=0)

    def check(low, high, rate, n):
        least, most = stats.beta.ppf([(1 - level) / 2, (1 + level) / 2], n * rate + 0.5, n - n * rate + 0.5)
        assert low <= least + 1e-12
        assert high >= (1 if rate == 1 else most - 1e-12)

    for rate, low, high in zip(found.estimate, *found.pointwise, strict=True):
        check(low, high, rate, m)
    for name, n in (("sensitivity at specificity 0.1", m), ("specificity at sensitivity 0.9", 50)):
        check(*found[name].confidence_interval, found[name].estimate, n)
    assert found["sensitivity at specificity 0.1"].estimate == 1
    assert np.all((found.simultaneous.low <= found.pointwise.low) & (found.pointwise.high <= found.simultaneous.high))


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


@pytest.mark.slow
def test_labels_in_the_place_of_scores_are_told_where_rows_are_ranked():
    y = np.arange(40) % 2
    with pytest.warns(jaxci.JaxciWarning, match="y_score takes only two values, as hard labels do"):
        jaxci.curves.roc(y, np.where(np.arange(40) < 30, y, 1 - y), n_resamples=99, rng=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        jaxci.curves.calibration(y, np.where(y == 1, 0.8, 0.3), rng=0)
    assert not any("hard labels" in str(one.message) for one in told)


def test_bins_of_tied_probabilities_hold_their_own_means():
    """The mean of equal values may round to just below them: half a row of either class went to the bin before."""
    score = np.repeat([0.05, 0.2, 0.4, 0.6, 0.9], [7, 11, 15, 9, 18])
    y = np.repeat([0, 1, 0, 1], [33, 1, 16, 10])
    found = curves.calibration(y, score, n_bins=10, n_resamples=4999, rng=0)
    jeffreys = jaxci.proportion_interval(0, 11, method="jeffreys").confidence_interval
    (at,) = np.flatnonzero(np.isclose(found.x, 0.2))
    assert found.pointwise.high[at] == pytest.approx(jeffreys.high, rel=0.1)
    assert (found.simultaneous.high > 0.1).all()


def test_what_is_known_of_thresholds_stands_below_the_table():
    assert "warning (threshold at sensitivity 0.9): a threshold lies in the tail" in str(roc()).replace(
        "threshold at specificity 0.9, ", ""
    )


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_predictions_without_log_odds_are_told():
    """Votes of a forest: some predictions are 0 or 1, whose log odds would be infinite."""
    votes = np.round(np.where(np.arange(N) % 7 == 0, 1 - Y, PROB) * 2) / 2
    votes[:6] = Y[:6]
    certain = int(np.sum((votes == 0) | (votes == 1)))
    said = f"{certain} of {N} predictions are 0 or 1, which count as 2.2e-16 and 1 less 2.2e-16 in slope and intercept"
    assert any(text.startswith(said) for text in curves.calibration(Y, votes, n_bins=2, **KW).warnings)
    assert not any("are 0 or 1" in text for text in curves.calibration(Y, PROB, n_bins=2, **KW).warnings)


def test_resamples_too_few_for_the_level_are_refused():
    with pytest.raises(ValueError, match=r"n_resamples must be at least 39 for confidence_level = 0\.95"):
        curves.roc(Y, SCORE, n_resamples=9)
