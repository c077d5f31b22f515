"""The exact law of a mean against SciPy, exact convolutions, expansions and drawn resamples.

The comparisons with drawn resamples use the Dvoretzky-Kiefer-Wolfowitz-Massart band
``P(sup |F_B - F| > e) <= 2 exp(-2 B e^2)`` at a false-alarm probability of 1e-9 each.
"""

import functools

import numpy as np
import pytest
from scipy import signal, stats

from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution

median_distribution = functools.partial(quantile_distribution, q=0.5)

P = np.concatenate((np.geomspace(1e-4, 0.02, 8), np.linspace(0.025, 0.975, 39), 1 - np.geomspace(0.02, 1e-4, 8)))
DELTA = 1e-6


def large(*values):
    """A case of a million values, which takes a second."""
    return pytest.param(10**6, *values, marks=pytest.mark.slow)


def assert_promise(law, support, mass):
    """Quantiles within error_bound of the exact ones at p -+ 1e-6; moments equal."""
    cumulative = np.cumsum(mass)
    last = support.size - 1
    slack = law.error_bound * law.standard_error
    q = law.quantile(P)
    lower = support[np.minimum(np.searchsorted(cumulative, P - DELTA), last)]
    upper = support[np.minimum(np.searchsorted(cumulative, P + DELTA), last)]
    assert np.all(q >= lower - slack)
    assert np.all(q <= upper + slack)
    mean = mass @ support
    assert law.mean == pytest.approx(mean, abs=1e-9 * law.standard_error)
    assert law.standard_error == pytest.approx(np.sqrt(mass @ (support - mean) ** 2), rel=1e-7)


@pytest.mark.parametrize(
    ("n", "ones"), [(2, 1), (10, 3), (100, 1), (1000, 300), (1000, 997), (20_000, 10_000), large(3), large(400_000)]
)
def test_binary_data_are_binomial(n, ones):
    law = mean_distribution(np.repeat([1.0, 0.0], [ones, n - ones]))
    spread = int(12 * np.sqrt(ones * (1 - ones / n))) + 20
    k = np.arange(max(0, ones - spread), min(n, ones + spread) + 1)
    binomial = stats.binom(n, ones / n)
    assert_promise(law, k / n, binomial.pmf(k))
    assert law.error_bound < 1e-3
    np.testing.assert_allclose(law.share_below((k + 0.5) / n)[:-1], binomial.cdf(k)[:-1], atol=DELTA)
    half = binomial.cdf(k) - binomial.pmf(k) / 2
    assert np.all(np.abs(law.share_below(k / n) - half) <= 5e-3 * binomial.pmf(k) + DELTA)
    assert law.share_below(ones / n) == pytest.approx(half[k == ones][0], abs=DELTA)


@pytest.mark.parametrize("shape", ["uniform digits", "outlier", "rounded pareto", "coarse cauchy"])
def test_integer_data_are_a_convolution(shape):
    rng = np.random.default_rng(5)
    x = {
        "uniform digits": lambda: rng.integers(0, 10, size=500),
        "outlier": lambda: np.append(rng.integers(0, 5, size=99), 2000),
        "rounded pareto": lambda: np.minimum(np.rint(10 * rng.pareto(1.1, size=300)), 20_000).astype(int),
        "coarse cauchy": lambda: np.clip(np.rint(10 * rng.standard_cauchy(size=64)), -9000, 9000).astype(int),
    }[shape]()
    low, n = x.min(), x.size
    base = np.bincount(x - low) / n
    power, bits = np.ones(1), n
    while bits:  # the n-th convolution power by repeated squaring
        if bits & 1:
            power = signal.convolve(power, base)
        bits >>= 1
        base = signal.convolve(base, base) if bits else base
    power = np.maximum(power, 0.0)
    assert power.sum() == pytest.approx(1.0, abs=1e-9)
    assert_promise(mean_distribution(x), low + np.arange(power.size) / n, power)


@pytest.mark.parametrize("n", [7, 60, 200])
def test_three_values_are_multinomial(n):
    values = np.array([0.0, np.sqrt(2.0), np.pi])
    counts = np.array([n // 2, n // 3, n - n // 2 - n // 3])
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    a, b = a[a + b <= n], b[a + b <= n]
    k = np.stack((a, b, n - a - b), axis=1)
    mass = stats.multinomial.pmf(k, n, counts / n)
    means = k @ values / n
    order = np.argsort(means)
    assert_promise(mean_distribution(np.repeat(values, counts)), means[order], mass[order])


def cornish_fisher(x, p):
    """Quantiles of the mean from the sample's skewness and kurtosis; error O(n^-3/2)."""
    n, z = x.size, stats.norm.ppf(p)
    skew, kurtosis = stats.skew(x) / np.sqrt(n), stats.kurtosis(x) / n
    return x.mean() + x.std() / np.sqrt(n) * (
        z + skew * (z**2 - 1) / 6 + kurtosis * (z**3 - 3 * z) / 24 - skew**2 * (2 * z**3 - 5 * z) / 36
    )


@pytest.mark.parametrize(("n", "tolerance"), [(1000, 3e-4), (10**5, 1e-6), large(1e-6)])
@pytest.mark.parametrize("shape", ["normal", "exponential", "beta"])
def test_smooth_data_agree_with_the_edgeworth_expansion(n, tolerance, shape):
    rng = np.random.default_rng(11)
    x = {"normal": rng.normal, "exponential": rng.exponential, "beta": lambda size: rng.beta(0.5, 3, size)}[shape](
        size=n
    )
    law = mean_distribution(x)
    assert law.error_bound < 1e-3
    p = np.linspace(0.005, 0.995, 199)
    assert np.max(np.abs(law.quantile(p) - cornish_fisher(x, p))) <= tolerance * law.standard_error
    assert law.share_below(law.quantile(p)) == pytest.approx(p, abs=DELTA)


def make(shape, n, rng):
    if shape == "pareto":
        return rng.pareto(1.1, n)
    if shape == "lognormal":
        return np.exp(3 * rng.normal(size=n))
    if shape == "cauchy":
        return rng.standard_cauchy(n)
    if shape == "rounded":
        return rng.normal(size=n).round(1)
    if shape == "two irrational values":
        return np.where(rng.random(n) < 0.3, np.sqrt(2), np.pi)
    if shape == "opposite outliers":
        return np.append(rng.normal(size=n - 2) * 1e-4, [n, -n])
    return rng.normal(size=n)


SHAPES = ["normal", "pareto", "lognormal", "cauchy", "rounded", "two irrational values", "opposite outliers"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [3, 20, 1000, 30_000, large()])
def test_error_bound_is_below_a_thousandth(shape, n):
    x = make(shape, n, np.random.default_rng(n))
    law = mean_distribution(x)
    assert 0.0 < law.error_bound < 1e-3
    assert law.standard_error == pytest.approx(x.std() / np.sqrt(n), rel=1e-9)
    grid = np.arange(law.rest.size) - law.origin
    cumulative = law.share_below(law.mean + grid * law.step)
    assert np.all(np.diff(cumulative) >= 0)
    assert cumulative[0] == pytest.approx(0.0, abs=DELTA)
    assert cumulative[-1] == pytest.approx(1.0, abs=DELTA)
    # The law's own moments, recovered from its distribution function.
    middles = (grid[:-1] + 0.5) * law.step / law.standard_error
    mass = np.diff(cumulative)
    assert mass @ middles == pytest.approx(0.0, abs=1e-4)
    assert mass @ middles**2 == pytest.approx(1.0, abs=1e-4)


def assert_within_band(law, replicates, error_bound):
    """Quantiles, moved by their error bound, inside the DKW band of the replicates."""
    replicates = np.sort(replicates)
    size = replicates.size
    band = np.sqrt(np.log(2 / 1e-9) / (2 * size)) + DELTA
    slack = (error_bound + 1e-12) * law.standard_error  # the second part for rounding
    q = law.quantile(P)
    assert np.all(np.searchsorted(replicates, q + slack, side="right") / size >= P - band)
    assert np.all(np.searchsorted(replicates, q - slack, side="left") / size <= P + band)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_mean_agrees_with_drawn_resamples(shape):
    rng = np.random.default_rng(23)
    x = make(shape, 40, rng)
    replicates = np.concatenate([rng.choice(x, size=(100_000, 40)).mean(axis=1) for _ in range(10)])
    law = mean_distribution(x)
    assert_within_band(law, replicates, law.error_bound)
    middle = (np.mean(replicates < law.mean - 1e-12) + np.mean(replicates <= law.mean + 1e-12)) / 2
    assert law.share_below(law.mean) == pytest.approx(middle, abs=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["pareto", "lognormal"])
def test_heavy_tails_agree_with_drawn_resamples_at_a_larger_n(shape):
    rng = np.random.default_rng(29)
    x = make(shape, 1000, rng)
    replicates = np.concatenate([rng.choice(x, size=(10_000, 1000)).mean(axis=1) for _ in range(10)])
    law = mean_distribution(x)
    assert_within_band(law, replicates, law.error_bound)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "cauchy", "rounded"])
def test_quantiles_agree_with_drawn_resamples(shape):
    rng = np.random.default_rng(31)
    x = np.sort(make(shape, 40, rng))
    drawn = np.concatenate([np.sort(rng.choice(x, size=(100_000, 40)), axis=1)[:, [7, 8, 19, 20]] for _ in range(10)])
    assert_within_band(median_distribution(x), (drawn[:, 2] + drawn[:, 3]) / 2, 0.0)
    assert_within_band(quantile_distribution(x, 0.2), drawn[:, 0] + 0.8 * (drawn[:, 1] - drawn[:, 0]), 0.0)
