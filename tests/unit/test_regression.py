"""Regression statistics: hand-computed values, edges, influence, batching."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxci.statistics.regression import METRICS, R2, ExplainedVariance, PearsonR, RootMeanSquaredError, SpearmanR
from jaxci.statistics.sample import Sample

pytestmark = pytest.mark.usefixtures("float64")
SMOOTH = [name for name, statistic in METRICS.items() if statistic.smooth]
CORRELATIONS = ("pearsonr", "spearmanr")


def sample_of(y_true, y_pred):
    return Sample(y_true=np.asarray(y_true, float), y_pred=np.asarray(y_pred, float))


@jax.jit
def evaluate(statistic, prepared, weights):
    return statistic.value(prepared, weights)


gradient = jax.jit(jax.grad(evaluate, argnums=2))


def estimate(statistic, y_true, y_pred, weights=None):
    sample = sample_of(y_true, y_pred)
    weights = np.ones(sample.n) if weights is None else np.asarray(weights, float)
    return float(evaluate(statistic, statistic.prepare(sample), weights))


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, y + rng.normal(size=n)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean_squared_error", 11 / 4),
        ("root_mean_squared_error", math.sqrt(11 / 4)),
        ("mean_absolute_error", 5 / 4),
        ("median_absolute_error", 1.0),
        ("mean_absolute_percentage_error", (1 / 1 + 0 / 2 + 1 / 3 + 3 / 6) / 4),
        ("r2", 1 - 11 / 14),
        ("explained_variance", 1 - (11 - 9 / 4) / 14),
        ("pearsonr", 3 / math.sqrt(14 * 0.75)),
        ("spearmanr", 3 / math.sqrt(5 * 3)),
    ],
)
def test_values_by_hand(name, expected):
    # sums of squares about the mean: targets 14, predictions 3/4, ranks 5 and 3; errors -1 0 1 3
    assert estimate(METRICS[name], [1, 2, 3, 6], [2, 2, 2, 3]) == pytest.approx(expected, rel=1e-14)


def test_registered_names():
    assert list(METRICS) == [
        "mean_squared_error",
        "root_mean_squared_error",
        "mean_absolute_error",
        "median_absolute_error",
        "r2",
        "mean_absolute_percentage_error",
        "explained_variance",
        "pearsonr",
        "spearmanr",
    ]
    assert {statistic.task for statistic in METRICS.values()} == {"regression"}
    assert [name for name in METRICS if METRICS[name].loss] == [name for name in METRICS if name.endswith("_error")]
    assert RootMeanSquaredError().link == "sqrt"


@pytest.mark.parametrize("name", METRICS)
def test_exact_predictions(name):
    expected = 0.0 if METRICS[name].loss else 1.0
    assert estimate(METRICS[name], [1, 2, 4], [1, 2, 4]) == expected


@pytest.mark.parametrize("name", METRICS)
def test_no_weight_is_undefined(name):
    assert math.isnan(estimate(METRICS[name], [1, 2, 3], [1, 3, 2], np.zeros(3)))


def test_two_observations():
    assert estimate(PearsonR(), [1, 2], [3, 8]) == pytest.approx(1, abs=1e-15)
    assert estimate(SpearmanR(), [1, 2], [8, 3]) == pytest.approx(-1, abs=1e-15)
    assert estimate(R2(), [1, 2], [1, 1]) == pytest.approx(-1, abs=1e-15)
    assert math.isnan(estimate(R2(), [1], [1]))


@pytest.mark.parametrize("statistic", [R2(), ExplainedVariance()])
def test_targets_that_do_not_vary(statistic):
    strict = type(statistic)(force_finite=False)
    for y, p, w, expected in (
        ([0.1, 0.1, 0.1], [0.1, 0.1, 0.1], [1, 1, 1], 1.0),
        ([0.1, 0.1, 0.1], [0.1, 0.3, 0.4], [1, 1, 1], 0.0),
        ([1e8 + 0.1, 3.0, 1e8 + 0.1], [0.0, 3.0, 1.0], [2, 0, 3], 0.0),
    ):
        assert estimate(statistic, y, p, w) == expected
        assert math.isnan(estimate(strict, y, p, w))
    assert estimate(strict, [1, 2, 3], [1, 2, 4]) == estimate(statistic, [1, 2, 3], [1, 2, 4])


@pytest.mark.parametrize("name", CORRELATIONS)
def test_no_correlation_with_a_constant(name):
    assert math.isnan(estimate(METRICS[name], [1, 2, 3], [0.1, 0.1, 0.1]))
    assert math.isnan(estimate(METRICS[name], [1, 2, 3], [5, 5, 7], [3, 4, 0]))
    assert math.isnan(estimate(METRICS[name], [1, 2, 3], [5, 6, 7], [0, 0.3, 0]))


@pytest.mark.parametrize("name", ["r2", "explained_variance", "pearsonr", "spearmanr", "mean_squared_error"])
def test_large_offset_loses_nothing(name):
    y, p = (np.round(x, 4) for x in draw(200))
    shifted = estimate(METRICS[name], y + 1e8, p + 1e8)
    assert shifted == pytest.approx(estimate(METRICS[name], y + 1e8 - 1e8, p + 1e8 - 1e8), rel=1e-7)


def test_a_zero_target_left_out_costs_no_accuracy():
    y, p = draw(40)
    weights = np.append(np.ones(40), 0)
    statistic = METRICS["mean_absolute_percentage_error"]
    expected = estimate(statistic, y, p)
    assert estimate(statistic, np.append(y, 0), np.append(p, 1), weights) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("decimals", [0, 8])
def test_rank_correlation_repeats_the_data(decimals):
    y, p = (np.round(x, decimals) for x in draw(40))
    rng = np.random.default_rng(1)
    for weights in (np.ones(40, int), rng.integers(0, 4, 40), rng.multinomial(5, np.full(40, 1 / 40))):
        expected = stats.spearmanr(np.repeat(y, weights), np.repeat(p, weights)).statistic
        assert estimate(SpearmanR(), y, p, weights) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("decimals", [0, 8])
def test_ranks_are_prepared_in_a_program_as_on_the_host(decimals):
    drawn = [np.round(draw(20, seed), decimals) for seed in range(3)]
    statistic = SpearmanR()
    batch = jax.jit(jax.vmap(lambda pair: statistic.prepare(Sample(y_true=pair[0], y_pred=pair[1]))))(np.stack(drawn))
    weights = np.random.default_rng(1).integers(0, 4, 20).astype(float)
    for i, (y, p) in enumerate(drawn):
        in_program = jax.tree.map(lambda x: x[i], batch)  # noqa: B023
        on_host = statistic.prepare(sample_of(y, p))
        if decimals == 0:
            jax.tree.map(np.testing.assert_array_equal, in_program, on_host)
        got = float(evaluate(statistic, in_program, weights))
        assert got == pytest.approx(float(evaluate(statistic, on_host, weights)), rel=1e-14)


@pytest.mark.parametrize("name", ["spearmanr", "median_absolute_error"])
def test_sorted_rows_need_one_gather_less_and_padding_has_no_effect(name):
    statistic = METRICS[name]
    y, p = draw(37)
    weights = np.random.default_rng(2).integers(0, 3, 37).astype(float)
    sample = sample_of(y, p)
    rows = np.argsort(statistic.sort_keys(sample))
    prepared = statistic.prepare(sample.take(rows).padded())
    if name == "spearmanr":
        assert prepared[0].position is None
        assert prepared[0].ordering.order is prepared[0].ordering.first is prepared[1].ordering.first is None
    else:
        assert prepared.order is None
    got = evaluate(statistic, prepared, np.pad(weights[rows], (0, 3)))
    assert float(got) == pytest.approx(estimate(statistic, y, p, weights), rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 8])
@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_the_influence_function(name, decimals):
    n = 19
    statistic = METRICS[name]
    y, p = (np.round(x, decimals) + 0.25 for x in draw(n))
    prepared = statistic.prepare(sample_of(y, p))
    slope = np.asarray(gradient(statistic, prepared, np.ones(n)))
    assert np.sum(slope) == pytest.approx(0, abs=1e-12)
    steps = 1e-5 * (np.eye(n) - 1 / n)
    numeric = [(evaluate(statistic, prepared, 1 + h) - evaluate(statistic, prepared, 1 - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, numeric, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_finite_wherever_the_value_is(name):
    statistic = METRICS[name]
    cases = (([1, 2, 4], [1, 2, 4], [1, 1, 1]), ([2, 2, 2], [1, 2, 3], [1, 1, 1]), ([1, 2, 4], [2, 1, 4], [3, 0, 0]))
    for y, p, weights in cases:
        prepared = statistic.prepare(sample_of(y, p))
        weights = np.asarray(weights, float)
        defined = np.isfinite(evaluate(statistic, prepared, weights))
        assert np.all(np.isfinite(gradient(statistic, prepared, weights))) or not defined


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_batch_equals_loop_for_float_and_integer_weights(name):
    statistic = METRICS[name]
    prepared = statistic.prepare(sample_of(*draw(30)))
    weights = np.random.default_rng(3).multinomial(30, np.full(30, 1 / 30), 4)
    batch = jax.jit(jax.vmap(lambda w: statistic.value(prepared, w)))
    loop = [float(evaluate(statistic, prepared, row.astype(float))) for row in weights]
    for dtype in (float, np.int32):
        np.testing.assert_allclose(batch(jnp.asarray(weights, dtype)), loop, rtol=1e-12)
