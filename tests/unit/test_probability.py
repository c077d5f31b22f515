"""Log loss, Brier score and calibration error: hand-computed values, edges, influence, batching."""

import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci.intervals.clusters import ClusterSums
from jaxci.intervals.kurtosis import spread_of_clusters
from jaxci.statistics.probability import (
    METRICS,
    BrierScoreLoss,
    CalibrationError,
    LogLoss,
    RootMeanSquaredCalibrationError,
)
from jaxci.statistics.sample import Sample

pytestmark = pytest.mark.usefixtures("float64")


def sample_of(y_true, y_score):
    y_score = np.asarray(y_score, float)
    classes = 2 if y_score.ndim == 1 else y_score.shape[1]
    return Sample(y_true=np.asarray(y_true, np.int32), y_score=y_score, n_classes=classes)


@jax.jit
def evaluate(statistic, prepared, weights):
    return statistic.value(prepared, weights)


gradient = jax.jit(jax.grad(evaluate, argnums=2))


def estimate(statistic, y_true, y_score, weights=None):
    sample = sample_of(y_true, y_score)
    weights = np.ones(sample.n) if weights is None else np.asarray(weights, float)
    return float(evaluate(statistic, statistic.prepare(sample), weights))


def draw(n, k, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(k), n)
    return rng.integers(0, k, n), scores[:, 1] if k == 2 else scores


def test_values_by_hand():
    y, p = [1, 0, 1], [0.5, 0.25, 0.9]
    assert estimate(LogLoss(), y, p) == pytest.approx(-math.log(0.5 * 0.75 * 0.9) / 3, rel=1e-14)
    assert estimate(BrierScoreLoss(), y, p) == pytest.approx((0.25 + 0.0625 + 0.01) / 3, rel=1e-14)
    assert estimate(BrierScoreLoss(scale_by_half=False), y, p) == pytest.approx(2 * 0.3225 / 3, rel=1e-14)
    y, p = [2, 0], [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]]
    assert estimate(LogLoss(), y, p) == pytest.approx(-math.log(0.7 * 0.3) / 2, rel=1e-14)
    assert estimate(BrierScoreLoss(), y, p) == pytest.approx((0.01 + 0.04 + 0.09 + 0.49 + 0.36 + 0.01) / 2, rel=1e-14)
    assert estimate(BrierScoreLoss(scale_by_half=True), y, p) == pytest.approx(0.25, rel=1e-14)


def test_calibration_error_by_hand():
    y, p = [1, 0, 1, 1], [0.05, 0.05, 0.8, 0.9]
    # bins of width 1/2: |1 - 0.1| and |2 - 1.7|
    assert estimate(CalibrationError(n_bins=2), y, p) == pytest.approx((0.9 + 0.3) / 4, rel=1e-14)
    assert estimate(CalibrationError(n_bins=2), y, p, [2, 0, 1, 1]) == pytest.approx((1.9 + 0.3) / 4, rel=1e-14)
    # confidences 0.7 (hit) and 0.6 (miss) fall into one bin of width 1/2
    scores = [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]]
    assert estimate(CalibrationError(n_bins=2), [2, 0], scores) == pytest.approx(abs(1 - 1.3) / 2, rel=1e-14)
    assert estimate(CalibrationError(), [2, 0], scores) == pytest.approx((0.3 + 0.6) / 2, rel=1e-14)


def test_bins_are_closed_above():
    edges = np.arange(16) / 15
    design = CalibrationError().prepare(sample_of(np.ones(16), edges)).design
    bins = [0, *range(15)]
    np.testing.assert_array_equal(np.flatnonzero(design[:-1].ravel()) % 15, bins[:-1])
    assert np.all(design[-1, 1:] == 0)


def test_two_columns_are_the_binary_case():
    y, p = draw(50, 2)
    for statistic in METRICS.values():
        both = estimate(statistic, y, np.stack([1 - p, p], axis=1))
        assert both == pytest.approx(estimate(statistic, y, p), rel=1e-14)


def test_certain_predictions():
    eps = np.finfo(float).eps
    assert estimate(LogLoss(), [1, 0], [1.0, 0.0]) == pytest.approx(eps, rel=1e-12)
    assert estimate(LogLoss(), [0, 1], [1.0, 0.0]) == pytest.approx(-math.log(eps), rel=1e-14)
    assert estimate(BrierScoreLoss(), [1, 0], [1.0, 0.0]) == 0
    assert estimate(BrierScoreLoss(), [0, 1], [1.0, 0.0]) == 1
    assert estimate(BrierScoreLoss(), [0, 1], [[0, 0, 1.0], [1.0, 0, 0]]) == 2
    assert estimate(CalibrationError(), [0, 1], [1.0, 0.0]) == 1


def test_declarations():
    assert list(METRICS) == [
        "log_loss",
        "brier_score_loss",
        "expected_calibration_error",
        "root_mean_squared_calibration_error",
    ]
    for statistic in METRICS.values():
        assert statistic.needs_probabilities
        assert statistic.loss
        assert statistic.task == "multiclass"
    assert BrierScoreLoss().bounds == (0, 2)
    assert BrierScoreLoss(scale_by_half=True).bounds == (0, 1)


def debiased_by_loops(hit, confidence, n_bins):
    """Return the mean squared gap, its variance, and the gaps of the bins with their rows."""
    bins = np.array([next(b for b in range(n_bins) if c <= (b + 1) / n_bins + 1e-15) for c in confidence])
    total = within = 0.0
    squares = np.zeros(len(hit))
    for b in range(n_bins):
        gap = (hit - confidence)[bins == b]
        share = len(gap) / len(hit)
        if len(gap) > 1:
            total += share * (gap.mean() ** 2 - gap.var(ddof=1) / len(gap))
            noise = gap.var(ddof=1) / len(gap)
            within += share**2 * (4 * gap.mean() ** 2 * noise + 2 * noise**2)
        if len(gap):
            squares[bins == b] = gap.mean() ** 2
    return total, within + squares.var() / len(hit)


@pytest.mark.parametrize("shift", [0.0, 0.15])
@pytest.mark.parametrize("n", [23, 200])
def test_the_debiased_calibration_error_and_its_interval_by_loops(n, shift):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = (rng.random(n) < np.clip(p - shift, 0, 1)).astype(int)
    square, variance = debiased_by_loops(y, p, 15)
    row = jaxci.interval("root_mean_squared_calibration_error", y, p, method="squared_gaps")
    assert row.estimate == pytest.approx(math.sqrt(max(square, 0)), abs=1e-9)
    ends = square + stats.norm.ppf([0.025, 0.975]) * math.sqrt(variance)
    np.testing.assert_allclose(row.confidence_interval, np.sqrt(np.clip(ends, 0, 1)), rtol=1e-9)
    if square > 0:
        assert row.standard_error == pytest.approx(math.sqrt(variance) / (2 * row.estimate), rel=1e-6)


def weighted_by_loops(gap, bins, weights, n_bins):
    """Return the weighted mean squared gap of independent rows, and its variance."""
    total = variance = 0.0
    squares = np.zeros(len(gap))
    for b in range(n_bins):
        inside = bins == b
        if not inside.any():
            continue
        w, share = weights[inside], weights[inside].sum() / weights.sum()
        mean = np.average(gap[inside], weights=w)
        squares[inside] = mean**2
        size = w.sum() ** 2 / (w**2).sum()
        if inside.sum() > 1:
            noise = (w**2 @ (gap[inside] - mean) ** 2) / w.sum() ** 2 * size / (size - 1)
            total += share * (mean**2 - noise)
            variance += share**2 * (4 * mean**2 * noise + 2 * noise**2)
    middle = np.average(squares, weights=weights)
    return total, variance + weights**2 @ (squares - middle) ** 2 / weights.sum() ** 2


def clustered_by_loops(gap, bins, units, weights, n_bins):
    """Return the mean squared gap, what each cluster adds to it (to first order), and the variance of chance."""
    n_units, whole = units.max() + 1, weights.sum()
    mean, share = np.zeros(n_bins), np.zeros(n_bins)
    apart, known = np.zeros((n_units, n_bins)), np.zeros(n_bins, bool)
    for b in range(n_bins):
        of_bin = [(bins == b) & (units == u) for u in range(n_units)]
        size = np.array([weights[rows].sum() for rows in of_bin])
        if size.sum() == 0:
            continue
        share[b] = size.sum() / whole
        mean[b] = np.average(gap[bins == b], weights=weights[bins == b])
        effective = size.sum() ** 2 / (size**2).sum()
        known[b] = np.count_nonzero(size) > 1
        if known[b]:
            off = np.array([weights[rows] @ (gap[rows] - mean[b]) for rows in of_bin])
            apart[:, b] = off / size.sum() * math.sqrt(effective / (effective - 1))
    joint = apart.T @ apart
    square = sum(share[b] * (mean[b] ** 2 - joint[b, b]) for b in range(n_bins) if known[b])
    chance = 2 * sum(share[b] * share[c] * joint[b, c] ** 2 for b in range(n_bins) for c in range(n_bins))
    middle = share @ mean**2
    influence = [
        weights[units == u] @ (mean[bins[units == u]] ** 2 - middle) / whole + 2 * apart[u] @ (share * mean)
        for u in range(n_units)
    ]
    return square, np.array(influence), chance


def ends_by_loops(gap, bins, units, weights):
    """Return the interval of the root of the mean squared gap of rows in clusters."""
    square, influence, chance = clustered_by_loops(gap, bins, units, weights, 15)
    sizes = np.bincount(units, weights)
    influence *= (len(sizes) - 1) / (1 - sizes / sizes.sum())
    error, degrees = spread_of_clusters(influence[None], 0.25, ClusterSums(sizes[None], sizes[None]))
    ends = square + stats.t.ppf([0.025, 0.975], degrees[0]) * math.sqrt(error[0] ** 2 + chance)
    return np.sqrt(np.clip(ends, 0, 1))


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_the_debiased_calibration_error_of_weighted_rows_by_loops(shift):
    rng, statistic = np.random.default_rng(4), RootMeanSquaredCalibrationError()
    p, weights = rng.random(150), rng.exponential(size=150)
    y = (rng.random(150) < np.clip(p - shift, 0, 1)).astype(int)
    bins = np.minimum((15 * p).astype(int), 14)
    square, variance = weighted_by_loops(y - p, bins, weights, 15)
    design = statistic.prepare_weighted(sample_of(y, p), weights).design
    gaps = statistic.gaps(np.concatenate([[weights.sum()], weights @ design]))
    np.testing.assert_allclose((gaps.square, gaps.square_variance), (square, variance), rtol=1e-10)
    row = jaxci.interval("root_mean_squared_calibration_error", y, p, sample_weight=weights)
    assert row.method == "squared_gaps"
    assert row.estimate == pytest.approx(math.sqrt(max(square, 0)), abs=1e-9)
    ends = ends_by_loops(y - p, bins, np.arange(150), weights)
    np.testing.assert_allclose(row.confidence_interval, ends, rtol=1e-9)
    other = np.clip(p + 0.2 * rng.normal(size=150), 0.01, 0.99)
    both = [jaxci.interval(row.statistic, y, s, sample_weight=weights).estimate for s in (p, other)]
    found = jaxci.compare(row.statistic, y, p, other, sample_weight=weights, n_resamples=199, rng=0)
    assert found.estimate == pytest.approx(both[0] - both[1], abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_debiased_calibration_error_of_clusters_by_loops(weighted):
    rng = np.random.default_rng(6)
    units = np.repeat(np.arange(12), rng.integers(3, 12, 12))
    n = len(units)
    p, weights = rng.random(n), rng.exponential(size=n) if weighted else np.ones(n)
    y = (rng.random(n) < np.clip(p - 0.3 + 0.2 * rng.normal(size=12)[units], 0, 1)).astype(int)
    given = {"sample_weight": weights} if weighted else {}
    with pytest.warns(jaxci.JaxciWarning, match="clusters"):
        row = jaxci.interval("root_mean_squared_calibration_error", y, p, groups=units, **given)
    assert row.method == "squared_gaps"
    ends = ends_by_loops(y - p, np.minimum((15 * p).astype(int), 14), units, weights)
    np.testing.assert_allclose(row.confidence_interval, ends, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(
    ("design", "n", "scale"),
    [("weights", 60, 3), ("clusters", 60, 3), ("strata", 60, 3), ("rows", 300, 8), ("strata", 300, 8)],
)
def test_debiased_calibration_errors_cover_by_default(design, n, scale):
    """At least .85 of 100 calibrated models: resamples, which exaggerate, covered .30 to .60."""
    rng, name, covered = np.random.default_rng(8), "root_mean_squared_calibration_error", 0
    for _ in range(100):
        p = special.expit(scale * rng.normal(size=n))
        y = (rng.random(n) < p).astype(int)
        given = {
            "rows": {},
            "weights": {"sample_weight": rng.integers(1, 4, n)},
            "clusters": {"groups": np.arange(n) // 4},
            "strata": {"strata": np.arange(n) // 20},
        }[design]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jaxci.JaxciWarning)
            covered += jaxci.interval(name, y, p, rng=0, **given).confidence_interval.low == 0
    assert covered >= 85


def test_the_debiased_calibration_error_of_several_classes_is_that_of_the_highest():
    y, scores = draw(60, 4)
    square, _ = debiased_by_loops(np.argmax(scores, axis=1) == y, scores.max(axis=1), 15)
    assert estimate(RootMeanSquaredCalibrationError(), y, scores) == pytest.approx(math.sqrt(max(square, 0)), abs=1e-9)


@pytest.mark.false_alarm(1e-6)
def test_the_debiased_square_of_a_calibrated_model_is_zero_on_average():
    """Five standard errors of 400 data sets."""
    rng, statistic, found = np.random.default_rng(0), RootMeanSquaredCalibrationError(), []
    for _ in range(400):
        p = rng.random(100)
        design = statistic.prepare(sample_of((rng.random(100) < p).astype(int), p)).design
        sums = np.concatenate([[100.0], np.asarray(design).sum(axis=0)])
        found.append(float(statistic.gaps(sums).square))
    assert abs(np.mean(found)) < 5 * np.std(found) / 20
    assert estimate(RootMeanSquaredCalibrationError(), [0, 1], [0.2, 0.2]) == pytest.approx(0, abs=1e-12)


def test_a_calibrated_model_has_a_positive_calibration_error():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    assert 0.02 < estimate(CalibrationError(), rng.random(400) < p, p) < 0.12


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", METRICS)
def test_weights(name, k):
    statistic = METRICS[name]
    y, scores = draw(37, k)
    weights = np.random.default_rng(2).integers(0, 3, 37)
    expected = estimate(statistic, np.repeat(y, weights), np.repeat(scores, weights, axis=0))
    assert estimate(statistic, y, scores, weights) == pytest.approx(expected, rel=1e-13)
    prepared = statistic.prepare(sample_of(y, scores).padded())
    assert float(evaluate(statistic, prepared, np.pad(weights, (0, 3)).astype(float))) == pytest.approx(expected)
    assert math.isnan(estimate(statistic, y, scores, np.zeros(37)))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", [name for name, statistic in METRICS.items() if statistic.smooth])
def test_gradient_is_the_influence_function(name, k):
    n = 19
    statistic = METRICS[name]
    prepared = statistic.prepare(sample_of(*draw(n, k)))
    slope = np.asarray(gradient(statistic, prepared, np.ones(n)))
    assert np.sum(slope) == pytest.approx(0, abs=1e-12)
    steps = 1e-5 * (np.eye(n) - 1 / n)
    numeric = [(evaluate(statistic, prepared, 1 + h) - evaluate(statistic, prepared, 1 - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, numeric, atol=1e-8)


@pytest.mark.parametrize("name", METRICS)
def test_batch_equals_loop_for_float_and_integer_weights(name):
    statistic = METRICS[name]
    prepared = statistic.prepare(sample_of(*draw(30, 3)))
    weights = np.random.default_rng(3).multinomial(30, np.full(30, 1 / 30), 4)
    batch = jax.jit(jax.vmap(lambda w: statistic.value(prepared, w)))
    loop = [float(evaluate(statistic, prepared, row.astype(float))) for row in weights]
    for dtype in (float, np.int32):
        np.testing.assert_allclose(batch(jnp.asarray(weights, dtype)), loop, rtol=1e-12)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "nullable", "list"])
def test_log_loss_clips_at_the_precision_of_the_scores(kind):
    y, p = np.array([1, 0, 1, 1]), np.array([0.0, 1.0, 0.5, 1.0])
    pandas = pytest.importorskip("pandas")
    scores = {"list": p.tolist(), "nullable": pandas.Series(p).convert_dtypes()}.get(kind, p)
    if kind.startswith("float"):
        scores = p.astype(kind)
    eps = float(np.finfo(kind if kind.startswith("float") else float).eps)
    expected = -(2 * np.log(eps) + np.log(0.5) + np.log1p(-eps)) / 4
    assert jaxci.interval("log_loss", y, scores, method="t").estimate == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_two_columns_of_logits_are_ranked_by_their_difference():
    rng = np.random.default_rng(0)
    y, logits = np.arange(40) % 2, rng.normal(size=(40, 2))
    logits[:, 1] += 2 * y
    with pytest.warns(jaxci.JaxciWarning, match="ranked by their difference"):
        table = jaxci.evaluate(y, None, logits, n_resamples=99, rng=0)
    apart = logits[:, 1] - logits[:, 0]
    assert table["accuracy"].estimate == np.mean((apart > 0) == y)
    assert table["roc_auc"].estimate == jaxci.interval("roc_auc", y, apart, method="delong").estimate
    assert "log_loss" not in [row.statistic for row in table]
