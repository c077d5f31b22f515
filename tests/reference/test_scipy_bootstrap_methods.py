"""Bootstrap intervals equal SciPy's on the same replicates; ABC, ranks and order statistics their references."""

import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import unit_program
from scipy import stats

import jaxci
from jaxci.inference.curvature import curvature
from jaxci.inference.slopes import jackknife_acceleration
from jaxci.intervals.approximate import ABC
from jaxci.intervals.base import Evidence, tails
from jaxci.intervals.bootstrap import (
    BC,
    Basic,
    BCa,
    Normal,
    Percentile,
    Studentized,
    median_bias,
    smallest_bank,
    studentized_pivots,
)
from jaxci.intervals.quantile import OrderStatistic, order_statistic_ranks, smallest_n
from jaxci.resampling.laws import Drawn
from jaxci.statistics import WeightedFunction
from jaxci.statistics.order import Median, Quantile
from jaxci.statistics.registry import METRICS
from jaxci.statistics.regression import PearsonR
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, Std

STATISTICS = {"mean": (Mean(), np.mean), "std": (Std(), np.std), "median": (Median(), np.median)}
SCIPYS = {"percentile": Percentile(), "basic": Basic(), "BCa": BCa(acceleration="jackknife")}
ALTERNATIVES = ("two-sided", "less", "greater")
NEAR = {"rtol": 1e-10, "atol": 1e-12}


def sample(seed=0, n=27):
    return np.random.default_rng(seed).gamma(2.0, 1.5, n)


def replicates_of(function, x, count=999, seed=1):
    rows = np.random.default_rng(seed).integers(0, len(x), (count, len(x)))
    return function(x[rows], axis=-1)


def leave_one_out(function, x):
    return np.array([function(np.delete(x, i)) for i in range(len(x))])


def scipy_interval(function, x, replicates, method, level, alternative):
    """SciPy's interval on replicates that are given: no resample of its own is added."""
    found = stats.bootstrap(
        (x,),
        function,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates),
        method=method,
        confidence_level=level,
        alternative=alternative,
        vectorized=True,
    )
    return found.confidence_interval


def compare_finite_sides(got, expected, alternative):
    if alternative != "less":
        np.testing.assert_allclose(got.low, expected.low, **NEAR)
    if alternative != "greater":
        np.testing.assert_allclose(got.high, expected.high, **NEAR)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", SCIPYS)
@pytest.mark.parametrize("name", STATISTICS)
def test_bounds_equal_scipys_on_the_same_replicates(name, method, alternative):
    statistic, function = STATISTICS[name]
    for seed, level in ((0, 0.95), (1, 0.9), (2, 0.99)):
        x = sample(seed)
        replicates = replicates_of(function, x)
        evidence = Evidence(
            statistic=statistic,
            estimate=function(x),
            n=len(x),
            distribution=Drawn.of(replicates),
            acceleration=jackknife_acceleration(leave_one_out(function, x), np.ones(len(x))),
        )
        got = SCIPYS[method].interval(evidence, tails(level, alternative))[0]
        expected = scipy_interval(function, x, replicates, method, level, alternative)
        compare_finite_sides(got, expected, alternative)
        if alternative == "less":
            assert got.low == statistic.bounds[0]
        if alternative == "greater":
            assert got.high == statistic.bounds[1]


def test_left_out_median_gives_scipys_bca():
    x = sample(3)
    replicates = replicates_of(np.median, x)
    evidence = Evidence(
        statistic=Median(),
        estimate=np.median(x),
        n=len(x),
        distribution=Drawn.of(replicates),
        acceleration=jackknife_acceleration(*Median().left_out(np.sort(x))),
    )
    got = BCa().interval(evidence, tails(0.95))[0]
    compare_finite_sides(got, scipy_interval(np.median, x, replicates, "BCa", 0.95, "two-sided"), "two-sided")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STATISTICS, "iqr"])
def test_interval_equals_scipys_on_its_own_replicates(name):
    original = stats.iqr if name == "iqr" else STATISTICS[name][1]
    x = sample(4)

    def function(values, axis=-1):  # rounded, so that SciPy sees a replicate that equals the estimate as a tie
        return np.round(original(values, axis=axis), 12)

    for method, options in (("percentile", {}), ("basic", {}), ("bca", {"acceleration": "jackknife"})):
        for alternative in ALTERNATIVES:
            ours = jaxci.interval(name, x, method=method, n_resamples=799, alternative=alternative, rng=3, **options)
            theirs = {"percentile": "percentile", "basic": "basic", "bca": "BCa"}[method]
            replicates = np.round(ours.bootstrap_distribution, 12)
            expected = scipy_interval(function, x, replicates, theirs, 0.95, alternative)
            compare_finite_sides(ours.confidence_interval, expected, alternative)
            assert ours.estimate == pytest.approx(original(x), rel=1e-13)


def test_ties_with_the_estimate_count_one_half_as_in_scipy():
    x = np.random.default_rng(5).integers(0, 4, 20).astype(float)
    replicates = replicates_of(np.mean, x)
    assert np.mean(replicates == x.mean()) > 0.02
    evidence = Evidence(
        statistic=Mean(),
        estimate=x.mean(),
        n=20,
        distribution=Drawn.of(replicates),
        acceleration=jackknife_acceleration(leave_one_out(np.mean, x), np.ones(20)),
    )
    got = BCa().interval(evidence, tails(0.95))[0]
    compare_finite_sides(got, scipy_interval(np.mean, x, replicates, "BCa", 0.95, "two-sided"), "two-sided")
    below, tied = np.mean(replicates < x.mean()), np.mean(replicates == x.mean())
    assert median_bias(evidence) == pytest.approx(stats.norm.ppf(below + tied / 2), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean", "std", "var", "trimmed_mean", "median"])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_rounding_does_not_split_ties_with_the_estimate(name, scale):
    # On a lattice many replicates equal the estimate; z0 must not depend on how their sums rounded.
    x = scale * np.random.default_rng(0).integers(0, 5, 15)
    found = jaxci.interval(name, x, method="percentile", n_resamples=3999, rng=0)
    replicates, estimate = found.bootstrap_distribution, found.estimate
    tied = np.isclose(replicates, estimate, rtol=1e-12, atol=0)
    assert tied.mean() > 0.01
    expected = stats.norm.ppf(np.mean((replicates < estimate) & ~tied) + tied.mean() / 2)
    evidence = Evidence(statistic=METRICS[name], estimate=estimate, n=15, distribution=Drawn.of(replicates))
    assert median_bias(evidence) == pytest.approx(expected, abs=1e-12)


def test_degenerate_acceleration_is_bc_with_a_remark_or_scipys_nan():
    x = np.array([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 5.0])
    replicates = replicates_of(np.median, x)
    evidence = Evidence(
        statistic=Median(),
        estimate=2.0,
        n=9,
        distribution=Drawn.of(replicates),
        acceleration=jackknife_acceleration(np.full(9, 2.0), np.ones(9)),
    )
    (got, remarks), (bc, _) = BCa().interval(evidence, tails(0.95)), BC().interval(evidence, tails(0.95))
    assert got == bc
    assert "percentile" in remarks[0]
    strict, remarks = BCa(degenerate="nan").interval(evidence, tails(0.95))
    assert remarks == ()
    with pytest.warns(stats.DegenerateDataWarning), np.errstate(invalid="ignore"):
        expected = scipy_interval(np.median, x, replicates, "BCa", 0.95, "two-sided")
    assert math.isnan(expected.low)
    assert math.isnan(expected.high)
    assert math.isnan(strict.low)
    assert math.isnan(strict.high)


def test_normal_interval_is_bias_corrected():
    x = sample(6)
    replicates = replicates_of(np.std, x)
    evidence = Evidence(statistic=Std(), estimate=x.std(), n=len(x), distribution=Drawn.of(replicates))
    got = Normal().interval(evidence, tails(0.9))[0]
    centre, half = 2 * x.std() - replicates.mean(), stats.norm.ppf(0.95) * replicates.std(ddof=1)
    np.testing.assert_allclose(got[:2], [centre - half, centre + half], rtol=1e-12)
    lower = Normal().interval(evidence, tails(0.9, "greater"))[0]
    assert lower.low == pytest.approx(centre - stats.norm.ppf(0.9) * replicates.std(ddof=1), rel=1e-12)
    assert lower.high == np.inf


def test_studentized_interval_of_a_mean_is_the_bootstrap_t():
    x = sample(7)
    rows = np.random.default_rng(8).integers(0, len(x), (999, len(x)))
    means, errors = x[rows].mean(axis=1), x[rows].std(axis=1) / np.sqrt(len(x))
    error = x.std() / np.sqrt(len(x))
    t = (means - x.mean()) / errors
    evidence = Evidence(
        statistic=Mean(),
        estimate=x.mean(),
        n=len(x),
        distribution=Drawn.of(means),
        pivots=studentized_pivots(means, errors, x.mean(), error),
        standard_error=error,
    )
    got = Studentized().interval(evidence, tails(0.9))[0]
    low, high = np.quantile(t, [0.05, 0.95])
    np.testing.assert_allclose(got[:2], [x.mean() - high * error, x.mean() - low * error], rtol=1e-12)
    upper = Studentized().interval(evidence, tails(0.9, "less"))[0]
    assert upper.low == -np.inf
    assert upper.high == pytest.approx(x.mean() - np.quantile(t, 0.1) * error, rel=1e-12)

    ours = jaxci.interval("mean", x, method="studentized", n_resamples=999, rng=2)
    assert ours.standard_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize(
    ("level", "alternative", "least"), [(0.95, "two-sided", 39), (0.9, "less", 9), (0.99, "greater", 99)]
)
def test_smallest_bank_reaches_beyond_the_tails(level, alternative, least):
    assert smallest_bank(tails(level, alternative)) == least


# ABC


def abcnon(function, data, levels):
    """Efron & Tibshirani's nonparametric ABC (1993, section 22.6), derivatives by differences.

    ``function(p, data)`` takes probabilities. Step sizes balance truncation and rounding.
    """
    n = len(data[0])
    centre = np.full(n, 1 / n)
    step = 1e-3 / n
    value = function(centre, *data)
    first, second = np.empty(n), np.empty(n)
    for i in range(n):
        direction = np.eye(n)[i] - centre
        up, down = function(centre + step * direction, *data), function(centre - step * direction, *data)
        up2, down2 = function(centre + 2 * step * direction, *data), function(centre - 2 * step * direction, *data)
        first[i] = (8 * (up - down) - (up2 - down2)) / (12 * step)
        second[i] = (16 * (up + down) - (up2 + down2) - 30 * value) / (12 * step**2)
    error = np.sqrt(np.sum(first**2)) / n
    a = np.sum(first**3) / (6 * n**3 * error**3)
    delta = first / (n**2 * error)
    wide = 3e-3
    quadratic = (function(centre + wide * delta, *data) - 2 * value + function(centre - wide * delta, *data)) / (
        2 * error * wide**2
    )
    bias = np.sum(second) / (2 * n**2)
    z0 = stats.norm.ppf(2 * stats.norm.cdf(a) * stats.norm.cdf(-(bias / error - quadratic)))
    w = z0 + stats.norm.ppf(levels)
    steps = w / (1 - a * w) ** 2
    return error, a, bias, quadratic, np.array([function(centre + s * delta, *data) for s in steps])


def weighted_mean(p, x):
    return np.sum(p * x) / np.sum(p)


def weighted_std(p, x):
    return np.sqrt(weighted_mean(p, (x - weighted_mean(p, x)) ** 2))


def weighted_ratio(p, x, y):
    return np.sum(p * x) / np.sum(p * y)


def weighted_correlation(p, x, y):
    d, e = x - weighted_mean(p, x), y - weighted_mean(p, y)
    return weighted_mean(p, d * e) / np.sqrt(weighted_mean(p, d * d) * weighted_mean(p, e * e))


def _pair_of_columns():
    rng = np.random.default_rng(10)
    x = rng.gamma(3.0, size=15)
    return x, 1 + 0.6 * x + rng.gamma(2.0, size=15)


def _abc_cases():
    x, y = _pair_of_columns()
    ratio = WeightedFunction(lambda a, b, w: jnp.sum(w * a) / jnp.sum(w * b))
    return {
        "mean": (Mean(), Sample(values=x), weighted_mean, (x,)),
        "std": (Std(), Sample(values=x), weighted_std, (x,)),
        "ratio": (ratio, Sample(columns=(x, y)), weighted_ratio, (x, y)),
        "correlation": (PearsonR(), Sample(y_true=x, y_pred=y), weighted_correlation, (x, y)),
    }


ABC_CASES = _abc_cases()


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ABC_CASES)
def test_abc_equals_a_plain_implementation(name):
    statistic, rows, function, data = ABC_CASES[name]
    error, a, bias, quadratic, ends = abcnon(function, data, np.array([0.025, 0.05, 0.95, 0.975]))
    terms = curvature(unit_program([statistic], rows), 0)
    assert terms.standard_error == pytest.approx(error, rel=1e-6)
    assert terms.acceleration == pytest.approx(a, rel=1e-6)
    assert terms.bias == pytest.approx(bias, abs=1e-6 * error)
    assert terms.quadratic == pytest.approx(quadratic, abs=1e-6)
    estimate = np.array([function(np.full(15, 1 / 15), *data)])
    evidence = Evidence(statistic=statistic, estimate=estimate, n=15, curvature=terms)
    two_sided = ABC().interval(evidence, tails(0.95))[0]
    np.testing.assert_allclose(np.ravel(two_sided), ends[[0, 3]], rtol=1e-6)
    assert ABC().interval(evidence, tails(0.95, "greater"))[0].low == pytest.approx(ends[1], rel=1e-6)
    assert ABC().interval(evidence, tails(0.95, "less"))[0].high == pytest.approx(ends[2], rel=1e-6)


@pytest.mark.usefixtures("float64")
def test_abc_of_a_mean_has_no_bias_and_no_curvature():
    x = sample(11, 15)
    terms = curvature(unit_program([Mean()], Sample(values=x)), 0)
    assert terms.bias == pytest.approx(0, abs=1e-15)
    assert terms.quadratic == pytest.approx(0, abs=1e-13)
    assert terms.acceleration == pytest.approx(stats.skew(x) / 6 / np.sqrt(15), rel=1e-12)


def test_abc_through_the_public_verb():
    x, y = _pair_of_columns()
    *_, ends = abcnon(weighted_correlation, (x, y), np.array([0.025, 0.975]))
    found = jaxci.interval("pearsonr", x, y, method="abc")
    np.testing.assert_allclose(found.confidence_interval, ends, rtol=1e-6)
    assert found.n_resamples == 0


# Order statistics


def level_of(n, q, k, l):
    """Probability that [X(k), X(l)] covers the quantile."""
    return stats.binom.cdf(l - 1, n, q) - stats.binom.cdf(k - 1, n, q)


def test_median_of_twelve_lies_between_the_third_and_the_tenth_value():
    x = np.arange(1.0, 13.0)
    assert order_statistic_ranks(12, 0.5, tails(0.95)) == (3, 10)
    assert level_of(12, 0.5, 3, 10) == pytest.approx(0.96142578, abs=5e-9)
    found = jaxci.interval("median", x, method="order_statistic")
    assert tuple(found.confidence_interval) == (3.0, 10.0)
    assert found.estimate == 6.5


SMALLEST = {
    0.90: (230, 91, 45, 22, 9, 5),
    0.95: (299, 119, 59, 29, 11, 6),
    0.99: (459, 182, 90, 44, 17, 8),
}
PROBABILITIES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5)


@pytest.mark.parametrize("level", SMALLEST)
def test_smallest_sample_with_an_order_statistic_interval(level):
    for q, n in zip(PROBABILITIES, SMALLEST[level], strict=True):
        for probability in (q, 1 - q):
            assert smallest_n(probability, tails(level)) == n
            assert order_statistic_ranks(n - 1, probability, tails(level)) is None
        assert order_statistic_ranks(n, q, tails(level))[0] == 1
        assert order_statistic_ranks(n, 1 - q, tails(level))[1] == n


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("q", [0.05, 0.25, 0.5, 0.8])
def test_two_sided_ranks_are_the_shortest_conservative_ones(q, level):
    for n in (*range(3, 60), 101, 150):
        pairs = [(k, l) for k in range(1, n) for l in range(k + 1, n + 1)]
        k, l = np.array(pairs).T
        below = np.concatenate([[0.0], stats.binom.cdf(np.arange(n), n, q)])
        enough = below[l] - below[k] >= level - 1e-12
        found = order_statistic_ranks(n, q, tails(level))
        if not enough.any():
            assert found is None
            continue
        assert found is not None
        shortest = (l - k)[enough].min()
        assert found[1] - found[0] == shortest
        assert level_of(n, q, *found) >= level - 1e-12
        best = enough & (l - k == shortest)
        imbalance = np.abs((1 - below[l]) - below[k])[best]
        mine = abs((1 - below[found[1]]) - below[found[0]])
        assert mine <= imbalance.min() + 1e-12


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.73])
def test_one_sided_bounds_equal_scipys_quantile_test(q, level):
    for n in (5, 12, 29, 60, 200):
        x = np.random.default_rng(n).normal(size=n)
        for alternative in ("less", "greater"):
            expected = stats.quantile_test(x, q=0, p=q, alternative=alternative).confidence_interval(level)
            side = "high" if alternative == "less" else "low"
            reference = getattr(expected, side)
            ranks = order_statistic_ranks(n, q, tails(level, alternative))
            if math.isnan(reference):
                assert ranks is None, (n, alternative)
                continue
            evidence = Evidence(statistic=Quantile(q=q), estimate=0.0, n=n, values=x)
            got = OrderStatistic().interval(evidence, tails(level, alternative))[0]
            assert getattr(got, side) == reference, (n, alternative)
            other = got.low if side == "high" else got.high
            assert abs(other) == np.inf


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_one_sided_smallest_sample(alternative):
    for q in PROBABILITIES:
        for level in SMALLEST:
            side = tails(level, alternative)
            n = smallest_n(q, side)
            assert order_statistic_ranks(n, q, side) is not None
            assert n == 1 or order_statistic_ranks(n - 1, q, side) is None


def test_too_small_a_sample_is_refused_with_the_size_that_is_needed():
    with pytest.raises(ValueError, match="needs n >= 29"):
        jaxci.interval("quantile", np.arange(28.0), q=0.1, method="order_statistic")


def test_tails_of_nothing_are_open_sides():
    less, greater = tails(0.95, "less"), tails(0.95, "greater")
    assert less.sides == (0.0, pytest.approx(0.05))
    assert (less.has_lower, less.has_upper) == (False, True)
    assert greater.sides == (pytest.approx(0.05), 0.0)
    assert (greater.has_lower, greater.has_upper) == (True, False)


def test_the_bootstrap_verb_and_scipy_read_replicates_alike():
    x = sample(12)
    found = jaxci.bootstrap((x,), np.std, n_resamples=499, rng=1)
    expected = scipy_interval(np.std, x, found.bootstrap_distribution, "BCa", 0.95, "two-sided")
    np.testing.assert_allclose(found.confidence_interval, expected, **NEAR)
    assert not jax.config.jax_enable_x64
