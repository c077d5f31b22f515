"""Blocks of neighbouring rows: their law, their length, and the verbs that draw them."""

import json
from pathlib import Path

import arch.bootstrap
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arch.bootstrap._samplers_python import stationary_bootstrap_sample
from scipy import special, stats
from scipy.signal import lfilter
from sklearn import metrics

import jaxci
from jaxci.inference.dependence import _fixed_season, _further_back, dependence
from jaxci.inference.drawing import COVERED_OF_BATCHES, FEW_BATCHES, PURPOSE_POSTERIOR
from jaxci.inference.randomness import randomness
from jaxci.inference.seasons import without_season
from jaxci.resampling.blocks import CircularBlocks, MovingBlocks, StationaryBlocks, optimal_block_lengths
from jaxci.resampling.posterior import GammaTables, PosteriorOfBlocks
from jaxci.resampling.words import scaled_words
from jaxci.statistics.registry import statistic_by_name

pytestmark = pytest.mark.computes

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
N, LENGTH, COUNT = 23, 4, 20_000
STATIONARY = {"resampling": "stationary"}


def series(n, slope, seed=0):
    """Return values of an autoregression of the first order."""
    return lfilter([1.0], [1.0, -slope], np.random.default_rng(seed).normal(size=n + 200))[200:]


def words(seed):
    draws = np.random.default_rng(seed)
    return (jnp.asarray(draws.integers(0, 2**32, 24, dtype=np.uint32)) for _ in range(2))


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        ({"resampling": "moving", "block_length": 60}, "block_length must be less than n = 60; got 60"),
        ({"block_length": 3}, "block_length goes with resampling = 'moving', 'circular', 'stationary' only"),
        ({"resampling": "moving", "groups": np.arange(60) // 4}, "groups do not go with resampling='moving'"),
        ({"resampling": "moving", "strata": np.arange(60) // 30}, "strata go with resampling='bootstrap'"),
        ({"resampling": "moving", "resample_size": 30}, "resample_size goes with resampling='bootstrap' only"),
        ({"resampling": "moving", "method": "bca"}, "'bca' takes rows for independent"),
        ({"resampling": "moving", "method": "studentized"}, "'studentized' takes rows for independent"),
        (
            {"resampling": "moving", "method": "t"},
            "method 't' reads no resamples, so it cannot go with resampling='moving'",
        ),
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


def smooth(n, width, seed):
    """Independent normal values under a moving average of normal weights."""
    weights = stats.norm.pdf(np.arange(-5 * width, 5 * width + 1), scale=width)
    return np.convolve(np.random.default_rng(seed).normal(size=n + 10 * width), weights, "valid")


@pytest.mark.parametrize(("length", "blocks"), [(59, "1"), (25, "2.4"), (20, None)])
def test_hardly_any_blocks_are_told(length, blocks):
    found = jaxci.interval("mean", series(60, 0.0), resampling="moving", block_length=length, n_resamples=99, rng=0)
    told = [text for text in found.warnings if "so few do not tell how blocks vary" in text]
    assert len(told) == (blocks is not None)
    assert all(text.startswith(f"60 rows are {blocks} blocks of {length}: ") for text in told)
    assert any("in simulations, least" in text for text in found.warnings) == (blocks is None)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.slow
def test_intervals_of_smooth_series_are_as_wide_as_blocks_show():
    held, told, outside = 0, 0, 0
    for seed in range(100):
        found = jaxci.interval("mean", smooth(400, 5, seed), n_resamples=299, rng=seed, **STATIONARY)
        low, high = found.confidence_interval
        held += low <= 0 <= high
        outside += not low <= found.estimate <= high
        told += any("rows follow each other so closely" in text for text in found.warnings)
    assert held > 68  # in the long run .88, of percentiles .82; it was .15
    assert (told, outside) == (100, 0)


@pytest.mark.parametrize("x", [np.arange(200.0), np.sin(np.arange(200.0) / 3), smooth(400, 15, 0)])
def test_intervals_of_series_without_noise_hold_their_estimates(x):
    found = jaxci.interval("mean", x, n_resamples=299, rng=0, **STATIONARY)
    low, high = found.confidence_interval
    assert low < found.estimate < high
    assert high - low > np.std(x) / len(x)
    assert sum("covered" in text for text in found.warnings) <= 1


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
    effect, degrees, *_ = dependence(right.astype(float), 1.0, "stationary")
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


@pytest.mark.slow
def test_means_have_students_interval_of_the_long_run_variance():
    x = series(300, 0.8)
    found = jaxci.interval("mean", x, rng=0, **STATIONARY)
    _, waves, ratio, degrees, _ = dependence(x, optimal_block_lengths(x).stationary, "stationary")
    assert found.method == "block_t"
    assert waves == 17
    assert degrees < waves
    drawn = found.bootstrap_distribution
    assert found.standard_error == pytest.approx(ratio * drawn.std(ddof=1), rel=1e-3)
    reach = ratio * stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
    expected = np.median(drawn) + reach * (np.quantile(drawn, [0.025, 0.975]) - np.median(drawn))
    np.testing.assert_allclose(found.confidence_interval, expected, atol=0.01 * np.ptp(expected))
    high = jaxci.interval("mean", x, rng=0, alternative="less", confidence_level=0.975, **STATIONARY)
    assert high.confidence_interval.high == pytest.approx(found.confidence_interval.high)


@pytest.mark.slow
def test_means_of_ranges_with_ends_stay_within():
    y = np.abs(series(60, 0.9))
    found = jaxci.interval("mean_absolute_error", np.zeros(60), y, rng=0, **STATIONARY)
    drawn = np.log(found.bootstrap_distribution)
    _, _, ratio, degrees, _ = dependence(y, optimal_block_lengths(y).stationary, "stationary", one_end=True)
    reach = ratio * stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
    expected = np.exp(np.median(drawn) + reach * (np.quantile(drawn, [0.025, 0.975]) - np.median(drawn)))
    np.testing.assert_allclose(found.confidence_interval, expected, rtol=0.02)


def test_variances_that_are_hardly_known_do_not_multiply_the_ends_of_a_range():
    e = lfilter([np.sqrt(0.19)], [1, -0.9], np.random.default_rng([0, 21]).normal(size=660))[600:]
    low, high = jaxci.interval("mean_squared_error", np.zeros(60), e, rng=0, **STATIONARY).confidence_interval
    assert 0.01 < low < 1 < high < 20  # it was 3e-8 to 1e5
    length = optimal_block_lengths(e**2).stationary
    free, held = (dependence(e**2, length, "stationary", one_end=one_end) for one_end in (False, True))
    assert (free.effect > 20, free.degrees_of_variance) == (True, 1.0)
    assert (held.effect, held.degrees_of_variance) == (pytest.approx(15), 3.0)
    assert held.ratio**2 / held.effect == pytest.approx(free.ratio**2 / free.effect)


@pytest.mark.slow
@pytest.mark.parametrize("resampling", ["circular", "stationary"])
def test_the_variance_of_blocks_and_the_one_in_the_long_run_are_those_of_their_definitions(resampling):
    x = series(60, 0.6)
    apart, n, degrees = x - x.mean(), 60, 6
    slope = (apart[1:] @ apart[:-1]) / (apart[:-1] @ apart[:-1])
    noise = apart[1:] - slope * apart[:-1]
    slope += (1 + 3 * slope) / n
    t = (np.arange(n - 1) + 0.5) / (n - 1)
    waves = [np.sqrt(2 / (n - 1)) * np.cos(np.pi * j * t) @ noise for j in range(1, degrees + 1)]
    long_run = np.mean(np.square(waves)) / (1 - slope) ** 2
    effect, found, ratio, fewer, _ = dependence(x, 4.0, resampling)
    assert found == degrees
    squares, ends = apart**2, np.array([apart.max(), apart.min()]) ** 2
    kurtosis = 60.5 * (np.sum(squares**2) + np.sum(ends**2) / 4) / (squares.sum() + ends.sum() / 4) ** 2
    assert kurtosis > 1 + 2 * 60 / 59  # more than that of normal values
    assert 1 / fewer == pytest.approx(1 / degrees + effect * ((kurtosis - 1) / 120 - 1 / 60))
    assert effect == pytest.approx(long_run / x.var())
    with jax.enable_x64(True):
        made = {"circular": CircularBlocks, "stationary": StationaryBlocks}[resampling].of(60, 4)
        counts = jax.jit(lambda made: made.counts(jax.random.key(3), jnp.arange(COUNT, dtype=jnp.int32)))(made)
        means = np.asarray(counts[:, :60] @ x) / 60
    assert ratio**2 == pytest.approx(long_run / (60 * means.var()), rel=0.05)


def test_rows_may_depend_on_those_of_the_same_weekday():
    rng = np.random.default_rng(5)
    x = lfilter([1.0], [1.0, -0.3, *np.zeros(5), -0.4], rng.normal(size=900))[500:]
    apart, n = x - x.mean(), 400
    before = np.stack([apart[8 - lag : n - lag] for lag in (1, 7, 8)], axis=1)
    slopes, *_ = np.linalg.lstsq(before, apart[8:], rcond=None)
    noise = apart[8:] - before @ slopes
    t = (np.arange(n - 8) + 0.5) / (n - 8)
    waves = [np.sqrt(2 / (n - 8)) * np.cos(np.pi * j * t) @ noise for j in range(1, 22)]
    long_run = np.mean(np.square(waves)) / (1 - slopes.sum() - (1 + 3 * slopes[0]) / n) ** 2
    found = dependence(x, 4.0, "stationary")
    assert found.degrees == 21
    assert found.effect == pytest.approx(long_run / x.var())
    assert found.effect > 4  # in the long run 1 / (1 - .7)^2 over the variance of a value, some 6
    alone = [_further_back(np.random.default_rng(seed).normal(size=100)) > 0 for seed in range(500)]
    assert np.mean(alone) < 0.06


@pytest.mark.parametrize(("modulus", "period"), [(0.95, 12), (0.9, 7), (0.9, 5)])
def test_a_cycle_is_not_taken_for_rows_that_hardly_return(modulus, period):
    one, two = 2 * modulus * np.cos(2 * np.pi / period), -(modulus**2)
    found = []
    for seed in range(20):
        x = lfilter([1.0], [1.0, -one, -two], np.random.default_rng(seed).normal(size=1000))[500:]
        known = dependence(x, optimal_block_lengths(x).stationary, "stationary")
        assert not known.steep
        found.append(known.effect * x.var())
    assert np.mean(found) * (1 - one - two) ** 2 == pytest.approx(1.1, abs=0.2)  # it was 2.6 to 34


def test_blocks_longer_than_the_waves_tell_of_what_these_do_not_see():
    rng = np.random.default_rng(0)
    x = np.sqrt(0.3 * (1 - 0.99**2)) * series(8000, 0.99) + np.sqrt(0.7) * rng.normal(size=8000)
    long, short = (dependence(x, length, "stationary") for length in (150.0, 49.0))
    assert long.degrees * 49 < 8000 < long.degrees * 150
    assert long.ratio == 1
    assert 0.5 < short.ratio < 1  # as half of what blocks show, or more
    assert long.effect > 1.2 * short.effect


def wave(n, period, start=0.0):
    return 3 * np.sin(2 * np.pi * (np.arange(n) + start) / period)


@pytest.mark.parametrize("period", [7, 12, 24])
@pytest.mark.parametrize("slope", [0.0, 0.6])
def test_a_season_that_stays_adds_nothing_to_the_variance_of_a_mean_over_whole_seasons(period, slope):
    for seed in range(3):
        x = series(840, slope, seed)
        alone, both = (dependence(y, 10.0, "stationary").effect * y.var() for y in (x, x + wave(840, period)))
        assert both == pytest.approx(alone, rel=0.1)


def test_a_season_that_is_cut_off_adds_what_its_start_says():
    n, starts = 100, np.arange(0, 12, 0.25)
    noise = np.random.default_rng(3).normal(size=n)
    found = [_fixed_season(x - x.mean()).variance for x in (noise + wave(n, 12, start) for start in starts)]
    assert np.mean(found) == pytest.approx(n * np.mean([wave(n, 12, start).mean() ** 2 for start in starts]), rel=0.1)


def test_a_season_that_changes_varies_in_the_long_run():
    for seed in range(5):
        x = lfilter([1.0], [1.0, *np.zeros(6), -0.9], np.random.default_rng(seed).normal(size=1100))[700:]
        apart = x - x.mean()
        assert without_season(apart).waves > 0
        assert _fixed_season(apart).waves == 0


def test_rows_that_only_repeat_and_few_rows_are_left_as_they_are():
    for x in (np.tile([0.0, 0, 0, 0, 0, 1, 1], 40), wave(280, 7), wave(99, 7) + series(99, 0.0)):
        assert _fixed_season(x - x.mean()).waves == 0


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.0, 0.9])
def test_waves_are_hardly_found_in_noise(slope):
    found = [_fixed_season((x := series(400, slope, seed)) - x.mean()).waves for seed in range(300)]
    assert np.mean(np.array(found) > 0) < 0.05


@pytest.mark.slow
def test_blocks_have_methods_of_their_own():
    x = series(60, 0.0)
    with pytest.raises(ValueError, match="resampling must be 'moving', 'circular', 'stationary' for method 'block_t'"):
        jaxci.interval("mean", x, method="block_t")
    assert not {"block_t", "block_wilson", "block_bayesian"} & set(jaxci.list_methods("accuracy"))
    able = jaxci.list_methods("accuracy", **STATIONARY)
    assert able == [
        *("block_t", "block_wilson", "block_bayesian"),
        *("percentile", "expanded_percentile", "basic", "normal", "bc"),
    ]
    for method in able:
        assert jaxci.interval("accuracy", x > 0, x < 1, method=method, n_resamples=99, **STATIONARY).method == method
    with pytest.raises(ValueError, match="groups do not go with resampling='stationary'"):
        jaxci.list_methods("accuracy", groups=True, **STATIONARY)
    weighted = jaxci.interval("accuracy", x > 0, x < 1, sample_weight=1 + np.arange(60), **STATIONARY)
    assert weighted.method == "block_bayesian"
    assert jaxci.interval("iqr", x, **STATIONARY).method == "block_t"
    with pytest.raises(ValueError, match="cannot serve 'iqr': 'block_bayesian' needs known extremes"):
        jaxci.interval("iqr", x, method="block_bayesian", **STATIONARY)
    assert jaxci.compare("accuracy", x > 0, x > 0.1, x > 0.3, **STATIONARY).method == "block_t"
    with pytest.raises(ValueError, match="block_length must be a number for 'iqr'"):
        jaxci.interval("iqr", np.resize(x, 5001), **STATIONARY)


def scored(n, slope, gap, positives, seed):
    """Return classes, and scores whose positives lie ``gap`` standard deviations higher."""
    x, other = (series(n, slope, seed=one) * np.sqrt(1 - slope**2) for one in (2 * seed, 2 * seed + 1))
    y = (other > stats.norm.isf(positives)).astype(int)
    return y, x + gap * y


@pytest.mark.slow
@pytest.mark.false_alarm(2e-6)
def test_rows_in_blocks_come_with_rows_that_were_not_seen():
    blocks = StationaryBlocks.of(N, LENGTH)
    posterior = PosteriorOfBlocks(blocks, GammaTables.of((0.25, 0.25, 1.0)))
    key, ids = jax.random.key(7), jnp.arange(COUNT, dtype=jnp.int32)
    drawn = np.asarray(jax.jit(lambda made: made.counts(key, ids))(posterior))
    np.testing.assert_array_equal(drawn[:, :-3], jax.jit(lambda made: made.counts(key, ids))(blocks))
    unseen = drawn[:, -3:]
    for one, mass in zip(unseen.T, (0.25, 0.25, 1.0), strict=True):
        assert stats.kstest(one, stats.gamma(mass).cdf).pvalue > 4e-7
    together = np.corrcoef(unseen.T)[np.triu_indices(3, 1)]
    assert np.abs(together).max() < 5.2 / np.sqrt(COUNT)
    again = np.asarray(posterior.counts(key, ids[100:110]))
    np.testing.assert_allclose(again, drawn[100:110], rtol=1e-6)


@pytest.mark.slow
def test_a_row_that_was_not_seen_weighs_as_many_as_count_as_one():
    y, score = scored(120, 0.8, 2.0, 0.3, seed=5)
    found = jaxci.interval("roc_auc", y, score, rng=3, n_resamples=199, **STATIONARY)
    assert found.method == "block_bayesian"
    positive, negative = (score[y == c][:, None] for c in (1, 0))
    wins = positive > negative.T
    slopes = np.empty(120)
    slopes[y == 1] = (wins.mean(axis=1) - wins.mean()) / np.mean(y)
    slopes[y == 0] = (wins.mean(axis=0) - wins.mean()) / np.mean(1 - y)
    length = optimal_block_lengths(slopes).stationary
    effect, degrees, ratio, *_ = dependence(slopes, length, "stationary")
    assert effect > 1
    posterior = PosteriorOfBlocks(StationaryBlocks.of(120, length), GammaTables.of((0.125, 0.125)))
    with jax.enable_x64(True):
        key = jax.random.fold_in(randomness(3).key, PURPOSE_POSTERIOR)
        drawn = np.asarray(posterior.counts(key, jnp.arange(199, dtype=jnp.int32)))
    weights = np.concatenate([drawn[:, :120], effect * drawn[:, -2:]], axis=1)
    kinds, scores = np.append(y, [0, 1]), np.append(score, [99.0, -99.0])  # ranked first and last
    values = [metrics.roc_auc_score(kinds, scores, sample_weight=one) for one in weights]
    np.testing.assert_allclose(np.sort(found.bootstrap_distribution), np.sort(values), atol=1e-9)
    reach = ratio * stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
    low, middle, high = special.logit(np.quantile(found.bootstrap_distribution, [0.025, 0.5, 0.975]))
    expected = special.expit([middle + reach * (low - middle), middle + reach * (high - middle)])
    np.testing.assert_allclose(found.confidence_interval, expected, atol=0.02)
    assert found.standard_error == pytest.approx(ratio * np.std(values, ddof=1), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "method"),
    [
        ("accuracy", "block_wilson"),
        ("f1", "block_wilson"),
        ("balanced_accuracy", "block_bayesian"),
        ("matthews_corrcoef", "block_bayesian"),
        ("roc_auc", "block_bayesian"),
        ("average_precision", "block_bayesian"),
        ("brier_score_loss", "block_bayesian"),
        ("log_loss", "block_bayesian"),
        ("root_mean_squared_calibration_error", "block_gaps"),
        ("mean_absolute_error", "block_t"),
    ],
)
def test_what_could_be_mistaken_has_width_where_nothing_went_wrong(metric, method):
    y = scored(60, 0.6, 0.0, 0.4, seed=1)[0]
    scores = np.where(y == 1, 0.99, 0.01)
    read = y if metric in ("accuracy", "f1", "balanced_accuracy", "matthews_corrcoef") else scores
    found = jaxci.interval(metric, y * 1.0 if metric == "mean_absolute_error" else y, read, rng=0, **STATIONARY)
    assert found.method == method
    low, high = found.confidence_interval
    without = method in ("block_t", "block_gaps")  # what knows nothing of the unseen
    assert method == "block_t" or low <= found.estimate <= high
    assert (high - low > 0.02) != without


def test_calibration_errors_in_time_are_those_of_blocks_taken_for_clusters():
    rng, name = np.random.default_rng(3), "root_mean_squared_calibration_error"
    p, weights = rng.random(125), rng.exponential(size=125)
    y = (rng.random(125) < np.clip(p - 0.2, 0, 1)).astype(int)
    for length, given in ((10, {}), (7, {"block_length": 7}), (10, {"sample_weight": weights})):
        found = jaxci.interval(name, y, p, rng=0, **STATIONARY, **given)
        assert found.method == "block_gaps"
        assert f"{-(-125 // length)} blocks of {length} rows for clusters" in found.reason
        given.pop("block_length", None)
        other = jaxci.interval(name, y, p, groups=np.arange(125) // length, method="squared_gaps", **given)
        np.testing.assert_allclose(found.confidence_interval, other.confidence_interval, rtol=1e-12)
        assert found.estimate == pytest.approx(other.estimate, rel=1e-12)
    few = f"95% intervals of calibration errors of fewer than {FEW_BATCHES} blocks covered {COVERED_OF_BATCHES} in"
    assert any(few in said for said in found.warnings)
    designs = json.loads((BENCHMARKS / "calibration_errors.json").read_text())["designs"]
    covered = [x["coverage, width, told"][name]["auto"][0] for x in designs if x["kind"] == "time"]
    assert f"{100 * min(covered):.0f}% to {100 * max(covered):.0f}%" == COVERED_OF_BATCHES
    most = max(x["rows"] for x in designs if x["kind"] == "time")
    assert most / (2 * np.cbrt(most)) < FEW_BATCHES  # what is said is of all that were simulated


@pytest.mark.parametrize("scheme", ["stationary", "bayesian"])
def test_resampled_calibration_errors_are_remarked_on(scheme):
    y, score = scored(60, 0.6, 0.0, 0.4, seed=1)
    p = 1 / (1 + np.exp(-score))
    with pytest.warns(jaxci.JaxciWarning, match="no method is known to hold its level for a calibration error"):
        jaxci.interval("expected_calibration_error", y, p, resampling=scheme, n_resamples=99, rng=0)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.slow
@pytest.mark.parametrize(("metric", "least"), [("roc_auc", 0.93), ("average_precision", 0.93)])
def test_areas_near_one_hold_in_short_series_of_a_rare_class(metric, least):
    truth = {"roc_auc": 0.9858, "average_precision": 0.9203}[metric]  # benchmarks/dependent_rows.py
    held, percentiles, made = 0, 0, 0
    for seed in range(200):
        y, score = scored(100, 0.6, 3.1, 0.1, seed)
        if len(np.unique(y)) < 2:
            continue
        made += 1
        for method in ("auto", "percentile"):
            found = jaxci.interval(metric, y, score, method=method, n_resamples=499, rng=seed, **STATIONARY)
            within = found.confidence_interval.low <= truth <= found.confidence_interval.high
            held, percentiles = held + within * (method == "auto"), percentiles + within * (method != "auto")
    assert held > least * made - 4.9 * np.sqrt(least * (1 - least) * made)
    assert percentiles < 0.9 * made


@pytest.mark.parametrize("n", [101, 141, 500, 1001])
def test_a_season_of_two_rows_adds_next_to_nothing(n):
    """Of an odd number of rows the wave of two lies between the frequencies of the grid, and its sine is nearly 0."""
    rng = np.random.default_rng(0)
    alternating = 1.5 * (-1.0) ** np.arange(n)
    found, noise = (
        jaxci.interval("mean", rng.normal(size=n) + wave, resampling="moving", rng=1).confidence_interval
        for wave in (alternating, 0.0)
    )
    assert found.high - found.low < 1.5 * (noise.high - noise.low)


def test_rows_of_which_blocks_are_all_alike_have_an_interval():
    found = jaxci.interval("mean", (-1.0) ** np.arange(100), resampling="moving", block_length=2)
    assert found.confidence_interval == (0, 0)
