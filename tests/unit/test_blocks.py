"""Blocks of neighbouring rows: their law, their length, and the verbs that draw them."""

import arch.bootstrap
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arch.bootstrap._samplers_python import stationary_bootstrap_sample
from scipy import stats
from scipy.signal import lfilter
from sklearn import metrics

import jaxci
from jaxci.inference.dependence import dependence
from jaxci.inference.randomness import randomness
from jaxci.resampling.blocks import CircularBlocks, MovingBlocks, StationaryBlocks, optimal_block_lengths
from jaxci.resampling.words import scaled_words
from jaxci.statistics.registry import statistic_by_name

pytestmark = pytest.mark.computes

N, LENGTH, COUNT = 23, 4, 20_000
STATIONARY = {"resampling": "stationary"}


def series(n, slope, seed=0):
    """Return values of an autoregression of the first order."""
    return lfilter([1.0], [1.0, -slope], np.random.default_rng(seed).normal(size=n + 200))[200:]


def words(seed):
    draws = np.random.default_rng(seed)
    return (jnp.asarray(draws.integers(0, 2**32, 24, dtype=np.uint32)) for _ in range(2))


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_those_of_arch_for_the_same_draws(seed):
    starts, ends = words(seed)
    drawn = np.asarray(scaled_words(starts, jnp.int32(N)))[:N]
    short = np.asarray((ends >> 8).astype(jnp.float32) * 2**-24)[:N]
    expected = stationary_bootstrap_sample(drawn.astype(np.int64), short.astype(float), 1 / LENGTH)
    np.testing.assert_array_equal(StationaryBlocks.of(N, LENGTH).drawn(starts, ends)[:N], expected)

    class Source(np.random.RandomState):
        """Gives the starts that were drawn."""

        def randint(self, low, high=None, size=None, dtype=int):
            top = low if high is None else high
            return np.asarray(scaled_words(starts, jnp.int32(top)))[:size]

    for ours, theirs in (
        (CircularBlocks, arch.bootstrap.CircularBlockBootstrap),
        (MovingBlocks, arch.bootstrap.MovingBlockBootstrap),
    ):
        bootstrap = theirs(LENGTH, np.arange(N), seed=Source(0))
        np.testing.assert_array_equal(ours.of(N, LENGTH).drawn(starts, ends)[:N], bootstrap.update_indices())


@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize("scheme", [MovingBlocks, CircularBlocks, StationaryBlocks])
def test_means_of_resamples_have_the_variance_of_theory(scheme):
    x = np.append(series(N, 0.5), 3.0)  # six blocks of four
    n, apart = N + 1, np.append(series(N, 0.5), 3.0) - np.append(series(N, 0.5), 3.0).mean()
    if scheme is StationaryBlocks:  # Politis and Romano (1994), lemma 1
        lag = np.arange(1, n)
        covariance = np.array([apart[k:] @ apart[: n - k] for k in range(n)]) / n
        kept = (1 - lag / n) * (1 - 1 / LENGTH) ** lag + lag / n * (1 - 1 / LENGTH) ** (n - lag)
        variance = (covariance[0] + 2 * kept @ covariance[1:]) / n
    else:
        round_about = np.append(apart, apart[: LENGTH - 1]) if scheme is CircularBlocks else apart
        variance = np.convolve(round_about, np.ones(LENGTH), "valid").var() * (n / LENGTH) / n**2
    with jax.enable_x64(True):
        counts = jax.jit(lambda made: made.counts(jax.random.key(3), jnp.arange(COUNT, dtype=jnp.int32)))(
            scheme.of(n, LENGTH)
        )
        means = np.asarray(counts[:, :n] @ x) / n
    error = np.std((means - means.mean()) ** 2) / np.sqrt(COUNT)
    assert abs(means.var() - variance) < 5 * error


@pytest.mark.parametrize("slope", [0.0, 0.3, 0.7, 0.95, -0.5])
@pytest.mark.parametrize("n", [200, 1000, 5000])
def test_lengths_are_those_of_arch(n, slope):
    x = series(n, slope, seed=n)
    np.testing.assert_allclose(
        optimal_block_lengths(x), np.maximum(arch.bootstrap.optimal_block_length(x).to_numpy()[0], 1), rtol=1e-6
    )


def test_lengths_of_what_does_not_vary_or_is_short_are_one():
    assert optimal_block_lengths(np.ones(50)) == (1, 1)
    assert optimal_block_lengths(np.arange(7.0)) == (1, 1)


@pytest.mark.parametrize("seed", range(4))
def test_lengths_are_at_most_a_third_of_the_rows(seed):
    x = np.cumsum(np.random.default_rng(seed).normal(size=30)) * (-1.0) ** np.arange(30)
    assert optimal_block_lengths(x) == tuple(arch.bootstrap.optimal_block_length(x).to_numpy()[0]) == (10, 10)


NAMED = {
    "mean": lambda x, y, score: x.mean(),
    "median": lambda x, y, score: np.median(x),
    "iqr": lambda x, y, score: np.subtract(*np.quantile(x, [0.75, 0.25])),
    "accuracy": lambda x, y, score: metrics.accuracy_score(y, score > 0),
    "roc_auc": lambda x, y, score: metrics.roc_auc_score(y, score),
    "average_precision": lambda x, y, score: metrics.average_precision_score(y, score),
}


@pytest.mark.parametrize("name", NAMED)
def test_replicates_are_the_statistic_of_rows_in_blocks(name):
    x = series(40, 0.7)
    y, score = (x > 0).astype(int), x + np.random.default_rng(0).normal(size=40)
    read = statistic_by_name(name).inputs
    data = {"values": (x,), "y_pred": (y, score > 0), "y_score": (y, score)}[read[-1]]
    found = jaxci.interval(name, *data, method="percentile", resampling="moving", block_length=5, n_resamples=60, rng=2)
    with jax.enable_x64(True):
        key = jax.random.fold_in(randomness(2).key, 0)
        rows = np.asarray(MovingBlocks.of(40, 5).rows(key, jnp.arange(60, dtype=jnp.int32)))[:, :40]
    assert np.all(np.diff(rows.reshape(60, 8, 5), axis=2) == 1)
    expected = [NAMED[name](x[r], y[r], score[r]) for r in rows]
    np.testing.assert_allclose(found.bootstrap_distribution, expected, rtol=1e-6)


WIDER = {"mean": 1.8, "std": 1.3, "median": 1.4, "iqr": 1.1}


@pytest.mark.slow
@pytest.mark.parametrize("statistic", WIDER)
@pytest.mark.parametrize("resampling", ["moving", "circular", "stationary"])
def test_dependent_rows_have_wider_intervals_by_blocks_of_their_own_length(statistic, resampling):
    x = series(400, 0.7)
    given = {"method": "percentile", "n_resamples": 999, "rng": 0}
    plain = jaxci.interval(statistic, x, **given)
    found = jaxci.interval(statistic, x, resampling=resampling, **given)
    assert "rows" in found.reason
    assert found.reason.endswith("estimated")
    assert found.standard_error > WIDER[statistic] * plain.standard_error
    shuffled = np.random.default_rng(1).permutation(x)
    again = jaxci.interval(statistic, shuffled, resampling=resampling, **given)
    assert again.standard_error == pytest.approx(plain.standard_error, rel=0.2)


def test_a_row_of_a_table_does_not_depend_on_the_others_of_its_call():
    x = series(200, 0.8)
    y, score = (x > 0).astype(int), x + np.random.default_rng(0).normal(size=200)
    given = {"resampling": "stationary", "n_resamples": 199, "rng": 4}
    data = (y, (score > 0).astype(int), score)
    both = jaxci.evaluate(*data, metrics=["accuracy", "roc_auc"], **given)
    for metric in ("accuracy", "roc_auc"):
        alone = jaxci.evaluate(*data, metrics=[metric], **given)[metric]
        np.testing.assert_allclose(alone.confidence_interval, both[metric].confidence_interval, rtol=1e-12)
    found = jaxci.compare("roc_auc", y, score, score + 0.1, block_length=7, **given)
    assert found.reason == "asked for stationary resampling; blocks of 7 rows on average"


def test_few_blocks_are_told():
    x = series(100, 0.9)
    given = {"resampling": "circular", "method": "percentile", "n_resamples": 199, "rng": 0}
    with pytest.warns(jaxci.JaxciWarning, match="100 rows are 10 blocks of 10: 95% intervals of fewer than 20 blocks"):
        jaxci.interval("mean", x, block_length=10, **given)
    with pytest.warns(jaxci.JaxciWarning, match="100 rows are 20 blocks of 5: 95% intervals of fewer than 60 blocks"):
        jaxci.interval("mean", x, block_length=5, **given)
    with pytest.warns(jaxci.JaxciWarning, match="100 rows are 100 blocks of 1: 95% intervals of fewer than 200"):
        jaxci.interval("mean", x, block_length=1, **given)
    assert not jaxci.interval("mean", series(200, 0.9), block_length=1, **given).warnings


def test_users_functions_are_resampled_in_blocks():
    x = series(60, 0.8)
    given = {"method": "percentile", "resampling": "moving", "n_resamples": 199, "rng": 4}
    traced = jaxci.interval(jaxci.statistics.WeightedFunction(lambda x, w: w @ x / w.sum()), x, **given)
    np.testing.assert_allclose(traced.confidence_interval, jaxci.interval("mean", x, **given).confidence_interval)
    with pytest.raises(ValueError, match="block_length must be a number for 'iqr', which has no derivatives"):
        jaxci.interval("iqr", np.resize(x, 5001), **given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resampling": "moving", "block_length": 2.5}, "block_length must be a whole number of at least 1; got 2.5"),
        ({"resampling": "stationary", "block_length": 0.5}, "block_length must be at least 1; got 0.5"),
        ({"resampling": "circular", "block_length": "long"}, "block_length must be a number or 'auto'; got 'long'"),
        ({"resampling": "moving", "block_length": 61}, "block_length must be at most n = 60; got 61"),
        ({"block_length": 3}, "block_length goes with resampling = 'moving', 'circular', 'stationary' only"),
        ({"resampling": "moving", "groups": np.arange(60) // 4}, "groups do not go with resampling='moving'"),
        ({"resampling": "moving", "strata": np.arange(60) // 30}, "strata go with resampling='bootstrap'"),
        ({"resampling": "moving", "resample_size": 30}, "resample_size goes with resampling='bootstrap' only"),
        ({"resampling": "moving", "method": "bca"}, "'bca' takes rows for independent"),
        ({"resampling": "moving", "method": "studentized"}, "'studentized' takes rows for independent"),
        ({"resampling": "moving", "method": "t"}, "go with methods that read resamples"),
    ],
)
def test_what_does_not_go_with_blocks_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        jaxci.interval("mean", series(60, 0.0), **arguments)


@pytest.mark.false_alarm(2e-6)
@pytest.mark.slow
def test_intervals_of_an_autoregression_hold_its_mean():
    ways = {"rows": {"method": "percentile"}, "blocks": {"method": "percentile", **STATIONARY}, "auto": STATIONARY}
    held = dict.fromkeys(ways, 0)
    for seed in range(300):
        x = series(200, 0.6, seed=1000 + seed)
        for way, given in ways.items():
            low, high = jaxci.interval("mean", x, n_resamples=499, rng=seed, **given).confidence_interval
            held[way] += low <= 0 <= high
    assert held["rows"] < 0.77 * 300  # in the long run .67
    assert held["blocks"] > 0.82 * 300  # .89
    assert held["auto"] > 0.88 * 300  # .94


@pytest.mark.false_alarm(1e-6)
@pytest.mark.slow
def test_intervals_of_shares_near_one_and_of_differences_hold_in_short_series():
    share, errors = 0, 0
    for seed in range(200):
        a, b = (series(100, 0.8, seed=one) for one in (2 * seed, 2 * seed + 1))
        right = a * 0.6 < 1.645  # standard deviation 1 / .6
        found = jaxci.interval("accuracy", np.ones(100, bool), right, resampling="stationary")
        share += found.confidence_interval.low <= 0.95 <= found.confidence_interval.high
        truth = np.zeros(100)
        given = {"resampling": "stationary", "n_resamples": 499, "rng": seed}
        errors += jaxci.compare("mean_absolute_error", truth, a, b, **given).pvalue < 0.05
    assert share > 0.86 * 200  # in the long run .96, of percentiles .72
    assert errors < 0.17 * 200  # .08, of percentiles .22


def test_shares_have_wilsons_interval_at_the_number_of_rows_that_vary_as_much():
    x = series(300, 0.8)
    right = x < 1
    found = jaxci.interval("accuracy", np.ones(300, bool), right, **STATIONARY)
    effect, degrees, _ = dependence(right.astype(float), 1.0, "stationary")
    assert found.method == "block_wilson"
    assert effect > 2
    size, z = 300 / effect, stats.t.ppf(0.975, degrees)
    for end in found.confidence_interval:  # the score equation
        apart = right.mean() - end
        assert apart**2 == pytest.approx(z**2 * end * (1 - end) / size)
    iid = np.sqrt(right.mean() * (1 - right.mean()) / 300)
    assert found.standard_error == pytest.approx(iid * np.sqrt(effect))
    assert found.reason == f"asked for stationary resampling; design effect {effect:.3g}"
    alike = jaxci.interval("accuracy", right, right, **STATIONARY)
    assert "all rows agree, so how they depend on each other is unknown: 6.7 neighbours count as one" in alike.warnings
    assert alike.confidence_interval.low == pytest.approx(1 / (1 + z**2 / 300 ** (2 / 3)))
    assert alike.confidence_interval.high == 1


def test_means_have_students_interval_of_the_long_run_variance():
    x = series(300, 0.8)
    found = jaxci.interval("mean", x, rng=0, **STATIONARY)
    _, degrees, ratio = dependence(x, optimal_block_lengths(x).stationary, "stationary")
    assert found.method == "block_t"
    assert degrees == 17
    drawn = found.bootstrap_distribution
    assert found.standard_error == pytest.approx(ratio * drawn.std(ddof=1), rel=1e-3)
    reach = ratio * stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
    expected = x.mean() + reach * (np.quantile(drawn, [0.025, 0.975]) - np.median(drawn))
    np.testing.assert_allclose(found.confidence_interval, expected, atol=0.01 * np.ptp(expected))
    high = jaxci.interval("mean", x, rng=0, alternative="less", confidence_level=0.975, **STATIONARY)
    assert high.confidence_interval.high == pytest.approx(found.confidence_interval.high)


def test_means_of_ranges_with_ends_stay_within():
    y = np.abs(series(60, 0.9))
    found = jaxci.interval("mean_absolute_error", np.zeros(60), y, rng=0, **STATIONARY)
    drawn = np.log(found.bootstrap_distribution)
    _, degrees, ratio = dependence(y, optimal_block_lengths(y).stationary, "stationary")
    reach = ratio * stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
    expected = y.mean() * np.exp(reach * (np.quantile(drawn, [0.025, 0.975]) - np.median(drawn)))
    np.testing.assert_allclose(found.confidence_interval, expected, rtol=0.02)


@pytest.mark.parametrize("resampling", ["circular", "stationary"])
def test_the_variance_of_blocks_and_the_one_in_the_long_run_are_those_of_their_definitions(resampling):
    x = series(60, 0.6)
    apart, n, degrees = x - x.mean(), 60, 6
    slope = (apart[1:] @ apart[:-1]) / (apart[:-1] @ apart[:-1])
    slope += (1 + 3 * slope) / n
    noise = apart[1:] - slope * apart[:-1]
    t = (np.arange(n - 1) + 0.5) / (n - 1)
    waves = [np.sqrt(2 / (n - 1)) * np.cos(np.pi * j * t) @ noise for j in range(1, degrees + 1)]
    long_run = np.mean(np.square(waves)) / (1 - slope) ** 2
    effect, found, ratio = dependence(x, 4.0, resampling)
    assert found == degrees
    assert effect == pytest.approx(long_run / x.var())
    with jax.enable_x64(True):
        made = {"circular": CircularBlocks, "stationary": StationaryBlocks}[resampling].of(60, 4)
        counts = jax.jit(lambda made: made.counts(jax.random.key(3), jnp.arange(COUNT, dtype=jnp.int32)))(made)
        means = np.asarray(counts[:, :60] @ x) / 60
    assert ratio**2 == pytest.approx(long_run / (60 * means.var()), rel=0.05)


def test_blocks_have_methods_of_their_own():
    x = series(60, 0.0)
    with pytest.raises(ValueError, match="resampling must be 'moving', 'circular', 'stationary' for method 'block_t'"):
        jaxci.interval("mean", x, method="block_t")
    assert not {"block_t", "block_wilson"} & set(jaxci.list_methods("accuracy"))
    able = jaxci.list_methods("accuracy", **STATIONARY)
    assert able == ["block_t", "block_wilson", "percentile", "basic", "normal", "bc"]
    for method in able:
        assert jaxci.interval("accuracy", x > 0, x < 1, method=method, n_resamples=99, **STATIONARY).method == method
    with pytest.raises(ValueError, match="groups do not go with resampling='stationary'"):
        jaxci.list_methods("accuracy", groups=True, **STATIONARY)
    weighted = jaxci.interval("accuracy", x > 0, x < 1, sample_weight=1 + np.arange(60), **STATIONARY)
    assert weighted.method == "block_t"
    assert jaxci.compare("accuracy", x > 0, x > 0.1, x > 0.3, **STATIONARY).method == "block_t"
    with pytest.raises(ValueError, match="block_length must be a number for 'iqr'"):
        jaxci.interval("iqr", np.resize(x, 5001), **STATIONARY)
