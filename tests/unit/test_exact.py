"""Exact bootstrap laws against the enumeration of all n^n resamples, edges and equivariance."""

import functools
import itertools

import jax
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.resampling import exact_mean, exact_order
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.laws import Atoms, BootstrapDistribution
from jaxci.resampling.mean_spectrum import add_values, inverted, spectrum_of

median_distribution = functools.partial(quantile_distribution, q=0.5)

LEVELS = np.concatenate(([1e-4, 0.001, 0.01, 0.025], np.linspace(0.05, 0.95, 37), [0.975, 0.99, 0.999, 0.9999]))
SMALL = {
    "one": [1.7],
    "two": [0.3, 2.0],
    "tied pair": [1.0, 1.0, 4.0],
    "distinct": [-1.3, 0.2, 0.9, 2.4, 7.1],
    "six": [0.11, 0.52, 1.94, 2.3, 3.51, 40.0],
    "ties": [0.1, 0.1, 0.2, 0.2, 0.2, 0.7],
    "binary": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    "offset": [1e9, 1e9 + 1, 1e9 + 2, 1e9 + 5],
}


def resamples(values):
    x = np.asarray(values, dtype=float)
    return x[np.array(list(itertools.product(range(x.size), repeat=x.size)))]


def atoms(replicates):
    """Distinct replicate values, merged within rounding, and their probabilities."""
    x = np.sort(replicates)
    first = np.flatnonzero(np.concatenate(([True], np.diff(x) > 1e-13 * np.abs(x).max())))
    return x[first], np.diff(np.append(first, x.size)) / x.size


@pytest.mark.parametrize("name", SMALL)
def test_mean_keeps_its_promise_under_enumeration(name):
    replicates = np.sort(resamples(SMALL[name]).mean(axis=1))
    law = mean_distribution(SMALL[name])
    assert law.mean == pytest.approx(replicates.mean(), rel=1e-14)
    assert law.standard_error == pytest.approx(replicates.std(), rel=1e-7, abs=1e-300)
    assert law.low == pytest.approx(replicates[0], rel=1e-15)
    assert law.high == pytest.approx(replicates[-1], rel=1e-15)
    slack = law.error_bound * law.standard_error + 4e-16 * abs(law.mean)
    assert slack <= 1e-3 * law.standard_error + 4e-16 * abs(law.mean)
    q = law.quantile(LEVELS)
    for shift, sign in ((-1e-6, -1), (1e-6, 1)):
        index = np.clip(np.ceil((LEVELS + shift) * replicates.size).astype(int) - 1, 0, replicates.size - 1)
        assert np.all(sign * (replicates[index] - q) >= -slack)
    x = np.linspace(replicates[0] - 0.1, replicates[-1] + 0.1, 997)
    below = np.searchsorted(replicates, x - slack, side="left") / replicates.size
    through = np.searchsorted(replicates, x + slack, side="right") / replicates.size
    assert np.all(law.share_below(x) >= below - 1e-6)
    assert np.all(law.share_below(x) <= through + 1e-6)


@pytest.mark.parametrize("name", ["two", "tied pair", "distinct", "ties", "binary"])
def test_mean_counts_half_of_an_atom(name):
    support, mass = atoms(resamples(SMALL[name]).mean(axis=1))
    law = mean_distribution(SMALL[name])
    lonely = np.diff(np.concatenate(([-np.inf], support, [np.inf])))
    lonely = np.minimum(lonely[1:], lonely[:-1]) > 2 * law.error_bound * law.standard_error
    middle = np.cumsum(mass) - mass / 2
    assert lonely.sum() >= 3
    assert np.all(np.abs(law.share_below(support) - middle)[lonely] <= 5e-3 * mass[lonely] + 1e-6)


def test_mid_distribution_at_the_mean_is_exact():
    law = mean_distribution([0.0] * 7 + [1.0] * 3)
    expected = stats.binom.cdf(3, 10, 0.3) - stats.binom.pmf(3, 10, 0.3) / 2
    assert law.share_below(0.3) == pytest.approx(expected, abs=1e-6)
    assert law.share_below(law.mean) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 0.61, 0.9, 1.0])
def test_quantiles_under_enumeration(name, q):
    x = np.sort(SMALL[name])
    replicates = np.quantile(resamples(x), q, axis=1)
    law = quantile_distribution(x, q)
    support, mass = atoms(replicates)
    np.testing.assert_allclose(law.atoms, support, rtol=1e-14)
    np.testing.assert_allclose(law.masses, mass, rtol=1e-9, atol=1e-12)
    assert law.mean == pytest.approx(replicates.mean(), rel=1e-12)
    assert law.standard_error == pytest.approx(replicates.std(), rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(law.share_below(support), np.cumsum(mass) - mass / 2, atol=1e-12)
    p = LEVELS[np.min(np.abs(LEVELS[:, None] - np.cumsum(mass)), axis=1) > 1e-9]
    np.testing.assert_allclose(law.quantile(p), support[np.searchsorted(np.cumsum(mass), p)], rtol=1e-14)


def test_median_of_an_even_sample_follows_the_joint_law():
    x = np.sort(np.random.default_rng(3).normal(size=12))
    law = median_distribution(x)
    n, m = 12, 6
    # The joint survival function, differenced twice, over all pairs.
    joint = np.zeros((n + 2, n + 2))
    for i in range(1, n + 1):
        for j in range(i + 1, n + 2):
            joint[i, j] = (i / n) ** m * ((n - j + 1) / n) ** (n - m)
    joint *= stats.binom.pmf(m, n, 0.5) * 2**n
    values, mass = [], []
    for i in range(1, n + 1):
        row = 0.0
        for j in range(i + 1, n + 1):
            p = joint[i, j] - joint[i, j + 1] - joint[i - 1, j] + joint[i - 1, j + 1]
            values.append((x[i - 1] + x[j - 1]) / 2)
            mass.append(p)
            row += p
        alone = stats.binom.sf(m - 1, n, i / n) - stats.binom.sf(m - 1, n, (i - 1) / n)
        values.append(x[i - 1])
        mass.append(alone - row)
    order = np.argsort(values)
    np.testing.assert_allclose(law.atoms, np.array(values)[order], rtol=1e-13)
    np.testing.assert_allclose(law.masses, np.array(mass)[order], atol=1e-14)


@pytest.mark.parametrize(("n", "q"), [(7, 0.3), (500, 0.5), (10**6, 0.5), (10**6, 0.99), (10**6, 1e-6), (10**7, 0.5)])
def test_window_of_pairs_loses_no_mass(n, q, monkeypatch):
    totals = []
    monkeypatch.setattr(exact_order, "discrete", lambda x, mass, values: totals.append(mass.sum()))
    quantile_distribution(np.arange(n, dtype=float), q)
    assert totals[0] == pytest.approx(1.0, abs=1e-12)


def test_median_of_a_large_sample_is_asymptotically_normal():
    n = 10**6
    law = quantile_distribution(stats.norm.ppf((np.arange(n) + 0.5) / n), 0.5)
    error = np.sqrt(np.pi / 2 / n)
    assert law.standard_error == pytest.approx(error, rel=1e-4)
    np.testing.assert_allclose(law.quantile([0.025, 0.975]) / error, [-1.959964, 1.959964], atol=2e-3)


def test_atoms_that_differ_by_rounding_are_one():
    # (0.1 + 0.3) / 2 and 0.2 are the same median.
    law = median_distribution([0.1, 0.1, 0.2, 0.3, 0.3, 0.3])
    assert law.atoms.size == 5
    below = law.masses[law.atoms < 0.19].sum()
    at = law.masses[np.abs(law.atoms - 0.2) < 1e-9].sum()
    for x in (0.2, (0.1 + 0.3) / 2, 0.1 + 0.5 * (0.3 - 0.1)):
        assert law.share_below(x) == pytest.approx(below + at / 2, abs=1e-14)


@pytest.mark.parametrize("scale", [2.5, 1e-200, 1e200])
def test_mean_is_equivariant(scale):
    x = np.random.default_rng(0).gamma(0.5, size=200)
    law, moved = mean_distribution(x), mean_distribution(scale * x)
    np.testing.assert_allclose(moved.quantile(LEVELS), scale * law.quantile(LEVELS), rtol=1e-9)
    assert moved.error_bound == pytest.approx(law.error_bound, rel=1e-9)
    mirrored = mean_distribution(-x)
    np.testing.assert_allclose(mirrored.quantile(LEVELS), -law.quantile(1 - LEVELS), atol=1e-7 * law.standard_error)


def test_mean_survives_a_large_offset():
    x = np.random.default_rng(0).integers(0, 1000, size=300) / 1024
    law, moved = mean_distribution(x), mean_distribution(x + 2.0**30)
    error = law.standard_error
    assert moved.standard_error == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(moved.quantile(LEVELS) - 2.0**30, law.quantile(LEVELS), atol=1e-5 * error)


@pytest.mark.parametrize("values", [[1.0, np.nextafter(1.0, 2.0)], [-1.7e308, 1.7e308], [0.0, 1e-300], [1e300, 1e-300]])
def test_extremes_of_floating_point(values):
    law = mean_distribution(values)
    np.testing.assert_array_equal(law.quantile([0.0, 0.1, 0.9, 1.0]), np.sort(np.repeat(values, 2)))


def test_order_statistics_are_equivariant_under_monotone_maps():
    x = np.sort(np.random.default_rng(0).normal(size=401))
    law, moved = quantile_distribution(x, 0.25), quantile_distribution(np.exp(x), 0.25)
    np.testing.assert_array_equal(moved.quantile(LEVELS), np.exp(law.quantile(LEVELS)))


def test_constant_data_are_a_point_mass():
    for law in (mean_distribution([2.5] * 9), median_distribution([2.5] * 9), mean_distribution([2.5])):
        np.testing.assert_array_equal(law.quantile([0.0, 0.3, 1.0]), 2.5)
        np.testing.assert_array_equal(law.share_below([2.0, 2.5, 3.0]), [0.0, 0.5, 1.0])
        assert law.standard_error == 0.0
        assert law.mean == 2.5


@pytest.mark.parametrize("make", [mean_distribution, median_distribution])
def test_laws_share_an_interface(make):
    law = make(np.arange(30.0))
    assert isinstance(law, BootstrapDistribution)
    q = law.quantile(LEVELS)
    assert q.shape == LEVELS.shape
    assert q.dtype == np.float64
    assert np.all(np.diff(q) >= 0)
    assert np.isscalar(law.quantile(0.5))
    assert np.isscalar(law.share_below(0.5))
    assert law.quantile(0.0) == pytest.approx(0.0, abs=5)
    np.testing.assert_array_equal(law.share_below([-1.0, 31.0]), [0.0, 1.0])
    assert np.isnan(law.share_below(np.nan))
    assert np.isnan(law.quantile(np.nan))


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]], [1.0, np.nan], [1.0, np.inf]])
def test_values_are_checked(bad):
    for make in (mean_distribution, median_distribution):
        with pytest.raises(ValueError, match="values"):
            make(bad)


def test_ranks_orders_and_sorting_are_checked():
    with pytest.raises(ValueError, match="non-decreasing"):
        median_distribution([2.0, 1.0])
    for q in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="q must be within"):
            quantile_distribution([1.0, 2.0], q)


def test_atoms_alone():
    law = Atoms(np.array([1.0, 2.0]), np.array([0.25, 0.75]))
    assert law.mean == 1.75
    assert law.standard_error == pytest.approx(np.sqrt(3) / 4)
    np.testing.assert_array_equal(law.quantile([0.25, 0.26]), [1.0, 2.0])


def test_only_numpy_leaves_and_sizes_do_not_recompile():
    rng = np.random.default_rng(0)
    enabled = jax.config.jax_enable_x64
    law = mean_distribution(rng.normal(size=900))
    mean_distribution(rng.integers(0, 2, size=900))
    before = [f._cache_size() for f in (add_values, inverted, spectrum_of)]
    for n in (300, 901, 1000):
        mean_distribution(rng.normal(size=n))
        mean_distribution(rng.integers(0, 3, size=n))
    assert before == [f._cache_size() for f in (add_values, inverted, spectrum_of)]
    assert type(law.rest) is np.ndarray
    assert type(law.mean) is float
    assert jax.config.jax_enable_x64 == enabled


def probability_of_zero(others):
    """Probability that 200 draws from these and 197 zeros sum to 0."""
    tenths, few = np.rint(10 * np.array(others)).astype(int), np.arange(41)
    a, b, c = np.meshgrid(few, few, few, indexing="ij")
    found = a * tenths[0] + b * tenths[1] + c * tenths[2] == 0
    drawn = np.stack([a[found], b[found], c[found], 200 - a[found] - b[found] - c[found]], axis=1)
    return stats.multinomial.pmf(drawn, 200, [0.005, 0.005, 0.005, 0.985]).sum()


@pytest.mark.slow
@pytest.mark.false_alarm(1e-11)
@pytest.mark.parametrize("others", [[0.7, -1.3, 2.9], [0.7] * 3])
def test_a_difference_that_is_mostly_zero_keeps_its_atom(others):
    x = np.r_[np.zeros(197), others]
    law, mass = mean_distribution(x), probability_of_zero(others)
    assert mass > 0.04
    below = float(law.share_below(0.0)) - mass / 2
    for p in (below + 0.01 * mass, below + 0.5 * mass, below + 0.99 * mass):
        assert law.quantile(p) == 0.0
    assert law.quantile(below + 1.01 * mass + 1e-4) > 0
    tiny = 1e-5 * law.standard_error
    assert law.share_below(tiny) - law.share_below(-tiny) == pytest.approx(mass, rel=1e-9)
    with jax.enable_x64(True):
        traced = jax.jit(lambda x: exact_mean.mean_distributions(x).quantile(below + 0.5 * mass))(x[None])
    assert traced[0] == 0.0
    drawn = np.random.default_rng(0).multinomial(200, [0.985, *[0.005] * 3], size=10**5)[:, 1:] @ others / 200
    assert below == pytest.approx((drawn < -1e-12).mean(), abs=0.011)


def test_equal_differences_give_an_end_at_zero():
    a = np.r_[np.zeros(197), 0.7, 1.3, 2.9]
    found = jaxci.compare("mean", None, a, np.zeros(200), method="percentile")
    assert found.confidence_interval.low == 0.0


@pytest.mark.parametrize("name", [name for name in SMALL if name != "one"])
def test_means_of_few_values_are_atoms(name):
    support, mass = atoms(resamples(SMALL[name]).mean(axis=1))
    law, through = mean_distribution(SMALL[name]), np.cumsum(mass)
    place = 1e-12 * law.standard_error + 4e-16 * np.abs(support).max()
    np.testing.assert_allclose(law.share_below(support), through - mass / 2, rtol=0, atol=1e-12)
    for side in (-0.49, 0.0, 0.49):
        np.testing.assert_allclose(law.quantile(through - mass / 2 + side * mass), support, rtol=0, atol=place)
    between = (support[1:] + support[:-1]) / 2
    np.testing.assert_allclose(law.share_below(between), through[:-1], rtol=0, atol=1e-12)
    assert law.error_bound <= 1e-12


@pytest.mark.parametrize(
    ("kinds", "counts"),
    [
        ([0.0, np.sqrt(2), np.pi, np.e], [50, 60, 70, 20]),
        ([0.0, np.sqrt(3), np.e, np.pi, -np.sqrt(5)], [300, 1, 1, 2, 1]),
    ],
)
def test_the_heavy_atoms_of_few_kinds_stay_where_they_are(kinds, counts):
    kinds, counts = np.array(kinds), np.array(counts)
    law, n = mean_distribution(np.repeat(kinds, counts)), counts.sum()
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(n, counts / n, size=50)
    masses = stats.multinomial.pmf(drawn, n, counts / n)
    for value, mass in zip(drawn @ kinds / n, masses, strict=True):
        if mass < 2e-5:
            continue
        step = 1e-11 * law.standard_error
        assert law.share_below(value + step) - law.share_below(value - step) == pytest.approx(mass, rel=1e-6)
        middle = law.share_below(value)
        assert law.quantile([middle - 0.4 * mass, middle, middle + 0.4 * mass]) == pytest.approx(value, abs=step)
    assert np.sum(masses >= 2e-5) > 10


@pytest.mark.slow
@pytest.mark.parametrize("n", [7, 60, 250])
def test_traced_means_on_a_lattice_are_those_of_the_host(n):
    rng = np.random.default_rng(n)
    rows = np.stack(
        [rng.integers(0, 2, n), rng.integers(1, 6, n) / 4 + 3, 0.1 * rng.integers(-3, 4, n), np.full(n, 2.5)]
    )
    with jax.enable_x64(True):
        stack = jax.tree.map(np.asarray, jax.jit(exact_mean.mean_distributions)(jax.numpy.asarray(rows)))
    for r, row in enumerate(rows):
        one, host = jax.tree.map(lambda leaf, r=r: leaf[r], stack), mean_distribution(row)
        assert one.error_bound <= 1e-12
        np.testing.assert_allclose(one.quantile(LEVELS), host.quantile(LEVELS), rtol=1e-14, atol=1e-15)
        for value in host.quantile([0.1, 0.5, 0.8]):
            for apart in (-1e-9, 0.0, 1e-9):
                assert one.share_below(value + apart) == pytest.approx(host.share_below(value + apart), abs=1e-8)


def test_rows_on_a_lattice_may_be_counted():
    values, counts = np.array([0.5, 2.0, 3.5, 11.0]), np.array([3, 4, 9, 2])
    law, rows = mean_distribution(values, counts), mean_distribution(np.repeat(values, counts))
    np.testing.assert_allclose(law.quantile(LEVELS), rows.quantile(LEVELS), rtol=1e-14)
    np.testing.assert_allclose(law.share_below(rows.atoms), rows.share_below(rows.atoms), atol=1e-12)
