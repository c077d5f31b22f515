"""Summary statistics: hand-computed values, edges, order statistics, influence, batching."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jaxci.statistics.cumulative import cumulative_sum
from jaxci.statistics.order import IQR, Median, OrderStatistic, Quantile, TrimmedMean
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import METRICS, Mean, Std, Variance

pytestmark = pytest.mark.usefixtures("float64")
SMOOTH = [name for name, statistic in METRICS.items() if statistic.smooth]
ORDER = [name for name, statistic in METRICS.items() if isinstance(statistic, OrderStatistic)]


def sample_of(values):
    return Sample(values=np.asarray(values, float))


@jax.jit
def evaluate(statistic, prepared, weights):
    return statistic.value(prepared, weights)


gradient = jax.jit(jax.grad(evaluate, argnums=2))


def estimate(statistic, values, weights=None):
    sample = sample_of(values)
    weights = np.ones(sample.n) if weights is None else np.asarray(weights, float)
    return float(evaluate(statistic, statistic.prepare(sample), weights))


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (Mean(), 22 / 5),
        (Median(), 3.0),
        (Variance(), 150 / 5 - (22 / 5) ** 2),
        (Std(), math.sqrt(150 / 5 - (22 / 5) ** 2)),
        (TrimmedMean(), (2 + 3 + 6) / 3),
        (TrimmedMean(0.4), 3.0),
        (IQR(), 6 - 2),
        (Quantile(0.1), 1 + 0.4 * 1),
        (Quantile(0.0), 1.0),
        (Quantile(1.0), 10.0),
    ],
)
def test_values_by_hand(statistic, expected):
    assert estimate(statistic, [6, 1, 3, 10, 2]) == pytest.approx(expected, rel=1e-14)


def test_registered_names():
    assert list(METRICS) == ["mean", "median", "trimmed_mean", "std", "var", "iqr", "quantile"]
    assert {statistic.task for statistic in METRICS.values()} == {"values"}
    assert Median().q == Quantile().q == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_two_observations_and_constant_values(name):
    expected = {"std": 1.0, "var": 1.0, "iqr": 1.0}.get(name, 4.0)
    assert estimate(METRICS[name], [5, 3]) == pytest.approx(expected, rel=1e-15)
    spread = name in ("std", "var", "iqr")
    assert estimate(METRICS[name], np.full(7, 0.1)) == pytest.approx(0.0 if spread else 0.1, abs=1e-16)


@pytest.mark.parametrize("name", METRICS)
def test_no_weight_is_undefined(name):
    assert math.isnan(estimate(METRICS[name], [1, 2, 3], np.zeros(3)))


@pytest.mark.parametrize("name", METRICS)
def test_resamples_of_one_value(name):
    expected = 0.0 if name in ("std", "var", "iqr") else 1e8 + 0.1
    assert estimate(METRICS[name], [1e8 + 0.1, 5.0, 1e8 + 0.1, -1e9], [3, 0, 4, 0]) == pytest.approx(
        expected, rel=1e-15
    )


@pytest.mark.slow
def test_large_offset_loses_nothing():
    x = np.random.default_rng(0).integers(-(2**20), 2**20, 500) / 2**10
    for name, statistic in METRICS.items():
        shift = 0.0 if name in ("std", "var", "iqr") else 1e8
        assert estimate(statistic, x + 1e8) - shift == pytest.approx(
            estimate(statistic, x), abs=1e-6 if shift else 1e-12
        )


def test_an_outlier_left_out_costs_no_accuracy():
    values = np.append(np.random.default_rng(1).normal(size=50), 1e15)
    weights = np.append(np.ones(50), 0)
    assert estimate(Mean(), values, weights) == pytest.approx(np.mean(values[:-1]), rel=1e-13)
    assert estimate(Variance(), values, weights) == pytest.approx(np.var(values[:-1]), rel=1e-13)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=9, max_size=9).filter(
        lambda rows: sum(w for _, w in rows) > 0
    ),
    st.floats(0, 1),
)
def test_integer_weights_repeat_the_data(rows, q):
    values, weights = (np.array(column, float) for column in zip(*rows, strict=True))
    expanded = np.repeat(values, weights.astype(int))
    assert estimate(Quantile(q), values, weights) == pytest.approx(np.quantile(expanded, q), abs=1e-13)
    assert estimate(Median(), values, weights) == pytest.approx(np.median(expanded), abs=1e-13)
    assert estimate(IQR(), values, weights) == pytest.approx(stats.iqr(expanded), abs=1e-13)
    assert estimate(TrimmedMean(), values, weights) == pytest.approx(stats.trim_mean(expanded, 0.25), abs=1e-13)


@pytest.mark.parametrize("n", [2, 3, 7, 10, 101, 1001])
def test_quantile_at_whole_ranks(n):
    x = np.sort(np.random.default_rng(n).normal(size=n))
    for rank in {0, 1, n // 3, n - 2, n - 1}:
        assert estimate(Quantile(rank / (n - 1)), x) == pytest.approx(x[rank], abs=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.29, 0.3, 0.49])
def test_trimmed_counts_round_down_like_scipy(p):
    x = np.random.default_rng(2).exponential(size=100)
    assert estimate(TrimmedMean(p), x) == pytest.approx(stats.trim_mean(x, p), rel=1e-13)


def test_trimming_everything_is_undefined():
    assert math.isnan(estimate(TrimmedMean(0.5), [1, 2, 3, 4]))


def test_median_ignores_the_scale_of_weights():
    rng = np.random.default_rng(3)
    values = rng.normal(size=40)
    for weights in (np.ones(40), rng.integers(0, 4, 40), rng.exponential(size=40)):
        reference = estimate(Median(), values, weights)
        assert all(estimate(Median(), values, weights * scale) == reference for scale in (0.1, 1 / 3, 1e-9, 7e8))


def test_trimmed_mean_ignores_rounding_of_the_total():
    values = np.random.default_rng(4).normal(size=40)
    weights = np.full(40, 1.0)
    weights[0] -= 1e-14
    assert estimate(TrimmedMean(), values, weights) == pytest.approx(estimate(TrimmedMean(), values), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDER)
def test_sorted_rows_need_no_order_and_padding_no_weight(name):
    statistic = METRICS[name]
    assert isinstance(statistic, OrderStatistic)
    rng = np.random.default_rng(5)
    values, weights = np.round(rng.normal(size=37), 1), rng.integers(0, 3, 37).astype(float)
    sample = sample_of(values)
    rows = np.argsort(statistic.sort_keys(sample), kind="stable")
    prepared = statistic.prepare(sample.take(rows).padded())
    assert prepared.order is None
    assert len(prepared.values) == 40
    got = evaluate(statistic, prepared, np.pad(weights[rows], (0, 3)))
    assert float(got) == pytest.approx(estimate(statistic, values, weights), rel=1e-14)
    coefficients = statistic.coefficients(jnp.cumsum(jnp.asarray(weights[rows])))
    assert float(jnp.sum(coefficients)) == pytest.approx(0 if name == "iqr" else 1, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_the_influence_function(name):
    statistic = METRICS[name]
    n = 23
    prepared = statistic.prepare(sample_of(np.random.default_rng(6).normal(size=n)))
    slope = np.asarray(gradient(statistic, prepared, np.ones(n)))
    assert np.sum(slope) == pytest.approx(0, abs=1e-12)
    steps = 1e-5 * (np.eye(n) - 1 / n)
    numeric = [(evaluate(statistic, prepared, 1 + h) - evaluate(statistic, prepared, 1 - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, numeric, atol=1e-8)


def test_influence_by_hand():
    x = np.arange(12.0) ** 2

    def influence(statistic):
        return 12 * np.asarray(gradient(statistic, statistic.prepare(sample_of(x)), np.ones(12)))

    np.testing.assert_allclose(influence(Mean()), x - x.mean(), atol=1e-12)
    np.testing.assert_allclose(influence(Variance()), (x - x.mean()) ** 2 - x.var(), atol=1e-10)
    winsorized = np.clip(x, (x[2] + x[3]) / 2, (x[8] + x[9]) / 2)
    np.testing.assert_allclose(influence(TrimmedMean()), (winsorized - winsorized.mean()) / 0.5, atol=1e-12)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_finite_wherever_the_value_is(name):
    statistic = METRICS[name]
    for values, weights in (([2, 2, 2, 2], [1, 1, 1, 1]), ([1, 2, 3, 4], [0, 4, 0, 0]), ([1, 1, 5, 5], [2, 0, 2, 0])):
        prepared = statistic.prepare(sample_of(values))
        assert np.all(np.isfinite(gradient(statistic, prepared, np.asarray(weights, float))))


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_batch_equals_loop_for_float_and_integer_weights(name):
    statistic = METRICS[name]
    rng = np.random.default_rng(7)
    prepared = statistic.prepare(sample_of(rng.normal(size=30)))
    weights = rng.multinomial(30, np.full(30, 1 / 30), 4)
    batch = jax.jit(jax.vmap(lambda w: statistic.value(prepared, w)))
    loop = [float(evaluate(statistic, prepared, row.astype(float))) for row in weights]
    for dtype in (float, np.int32):
        np.testing.assert_allclose(batch(jnp.asarray(weights, dtype)), loop, rtol=1e-14)


def test_tuning_values_do_not_retrace():
    traces = []

    @jax.jit
    def value(statistic, prepared, weights):
        traces.append(type(statistic))
        return statistic.value(prepared, weights)

    prepared = Quantile().prepare(sample_of([3, 1, 2]))
    for q in (0.1, 0.5, 0.9):
        value(Quantile(q), prepared, jnp.ones(3))
        value(TrimmedMean(q / 2), prepared, jnp.ones(3))
    assert traces == [Quantile, TrimmedMean]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1,), (16,), (17,), (3, 250), (2, 3, 33)])
def test_cumulative_sum(shape):
    x = np.random.default_rng(8).integers(0, 9, shape).astype(float)
    np.testing.assert_array_equal(cumulative_sum(x), np.cumsum(x, -1))
    np.testing.assert_array_equal(cumulative_sum(x, reverse=True), np.cumsum(x[..., ::-1], -1)[..., ::-1])


@pytest.mark.slow
def test_float32_at_large_offset():
    x = np.random.default_rng(9).normal(size=1000) + 1e6
    with jax.enable_x64(False):
        for name in ("mean", "std", "var", "median", "trimmed_mean"):
            got = evaluate(METRICS[name], METRICS[name].prepare(sample_of(x)), np.ones(1000, np.float32))
            with jax.enable_x64(True):
                assert float(got) == pytest.approx(estimate(METRICS[name], x), rel=2e-6)
