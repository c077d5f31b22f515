"""Ends of intervals of quantiles are values of the data, and what NumPy makes of two, to the last bit."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.resampling.exact_order import quantile_distribution, quantile_weights
from jaxci.special import between
from jaxci.statistics.order import IQR, Median, Quantile
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank

pytestmark = [pytest.mark.usefixtures("float64"), pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")]

LATTICES = {
    "integers": lambda rng, n: rng.poisson(8, n).astype(float),
    "cents": lambda rng, n: np.round(3.07 + 0.1 * rng.normal(size=n), 2),
    "cents around 0": lambda rng, n: np.round(0.3 * rng.normal(size=n), 2),
    "large offsets": lambda rng, n: np.round(1e6 + 0.07 + 0.1 * rng.normal(size=n), 2),
    "outliers": lambda rng, n: np.round(0.5 + 0.02 * rng.standard_cauchy(n), 2),
    "constants": lambda rng, n: np.full(n, 0.1),
}

LAST_BITS = 4e-16
"""Differences of quartiles, each of which is rounded, are NumPy's up to it."""


def data_sets(name, n, number=10):
    return [LATTICES[name](np.random.default_rng([seed, n]), n) for seed in range(number)]


def assert_no_ulp_off(ends, x):
    """Assert that what is a value of the data but for rounding is that value."""
    for end in ends:
        nearest = x[np.argmin(np.abs(x - end))]
        assert end == nearest or abs(end - nearest) > 1e-12 * abs(end)


def assert_medians(ends, x):
    """Assert that what is the mean of two values but for rounding is what NumPy gives."""
    means = np.array([np.median([a, b]) for a, b in itertools.combinations_with_replacement(np.unique(x), 2)])
    for end in ends:
        assert end in means or np.min(np.abs(means - end)) > 1e-12 * abs(end)


def numpys(statistic, x):
    if isinstance(statistic, Median):
        return np.median(x)
    if isinstance(statistic, IQR):
        return np.subtract(*np.percentile(x - np.sort(x)[len(x) // 2], [75, 25]))  # at an offset quartiles lose digits
    return np.quantile(x, statistic.q)


@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("n", [59, 60, 200])
def test_estimates_are_numpys_to_the_last_bit(name, n):
    for x in data_sets(name, n, 4):
        for statistic in ("median", "iqr"):
            expected = numpys({"median": Median(), "iqr": IQR()}[statistic], x)
            for method in ("percentile", "basic"):
                found = jaxci.interval(statistic, x, method=method, n_resamples=199, rng=0).estimate
                assert found == expected or (statistic == "iqr" and found == pytest.approx(expected, rel=LAST_BITS))


@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES)
def test_ends_for_the_median_are_what_numpy_makes_of_values_of_the_data(name):
    for x in data_sets(name, 60):
        for method in ("exact", "order_statistic"):
            ends = jaxci.interval("median", x, method=method).confidence_interval
            assert_no_ulp_off(ends, x)
            assert_medians(ends, x)
        for method in ("percentile", "bca"):
            assert_medians(jaxci.interval("median", x, method=method, n_resamples=999, rng=0).confidence_interval, x)


@pytest.mark.slow
def test_ends_for_the_range_of_whole_numbers_are_multiples_of_what_numpy_interpolates():
    """Of 201 values both quartiles are values, of 200 they have quarters; of 2001 resamples, the ends are two."""
    for n, parts in ((201, 1), (200, 4)):
        for x in data_sets("integers", n, 5):
            for method in ("percentile", "basic"):
                ends = jaxci.interval("iqr", x, method=method, n_resamples=2001, rng=0).confidence_interval
                assert [end * parts % 1 for end in ends] == [0, 0]


def test_ends_of_constants_are_the_constant():
    for statistic, value in (("median", 0.1), ("iqr", 0.0), (Quantile(0.3), 0.1)):
        found = jaxci.interval(statistic, np.full(60, 0.1), method="percentile", rng=0)
        assert (found.estimate, *found.confidence_interval) == (value, value, value)


def test_an_end_at_the_true_value_holds_it():
    """Of values rounded to a hundredth, ends often are the median of the law: an ulp beyond is no miss."""
    held = allowed = 0
    for seed in range(100):
        x = np.round(0.87 + 0.05 * np.random.default_rng(seed).normal(size=60), 2)
        low, high = jaxci.interval("median", x, method="exact").confidence_interval
        held += low <= 0.87 <= high
        allowed += low - 1e-9 <= 0.87 <= high + 1e-9
    assert held == allowed


@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("q", [0.5, 0.25, 0.9])
@pytest.mark.parametrize("n", [60, 61])
def test_laws_in_programs_have_the_atoms_of_the_host(name, q, n):
    levels = (0.025, 0.1, 0.5, 0.975)
    weights, stack = quantile_weights(n, q), np.sort(np.stack(data_sets(name, n, 4)), axis=1)
    compiled = jax.jit(lambda v: [weights.distribution(v).quantile(p) for p in levels])(jnp.asarray(stack))
    for row, ends in zip(stack, np.transpose(compiled), strict=True):
        assert_no_ulp_off(ends, row)
        law = quantile_distribution(row, q)
        assert_no_ulp_off([law.quantile(p) for p in levels], row)
        np.testing.assert_allclose(ends, [law.quantile(p) for p in levels], rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("statistic", [Median(), Quantile(0.25), IQR()], ids=["median", "quantile", "iqr"])
@pytest.mark.parametrize("counts", [True, False])
def test_resamples_in_programs_give_numpys_value_to_the_last_bit(name, statistic, counts):
    """Also of weights that are not known to be counts, as those of clusters."""
    n = 61  # a quarter of the way from one value to the next, whose product does not round
    drawn = np.random.default_rng(1).multinomial(n, np.ones(n) / n, size=40).astype(float)

    @jax.jit
    def values(statistic, prepared, rows):
        core = statistic.replicates(prepared, statistic.shared(Bank.of(rows, counts=counts)))
        return statistic.scaling(prepared)(core), statistic.value(prepared, rows[0])

    for x in data_sets(name, n, 3):
        x = np.sort(x)
        found, first = values(statistic, statistic.prepare(Sample(values=x)), jnp.asarray(drawn))
        expected = [numpys(statistic, np.repeat(x, row.astype(int))) for row in drawn]
        tolerance = LAST_BITS if isinstance(statistic, IQR) else 0
        np.testing.assert_allclose(found, expected, rtol=tolerance)
        np.testing.assert_allclose(first, expected[0], rtol=tolerance)


@pytest.mark.slow
def test_real_weights_keep_their_quantiles():
    """Beside the coefficients that the weights give, in a program that does not know which weights come."""
    rows = np.random.default_rng(2).dirichlet(np.ones(40), size=30) * 40
    x = np.sort(np.random.default_rng(3).normal(size=40))
    for statistic in (Median(), Quantile(0.3), IQR()):
        prepared = statistic.prepare(Sample(values=x))
        found = statistic.scaling(prepared)(
            statistic.replicates(prepared, statistic.shared(Bank.of(jnp.asarray(rows))))
        )
        np.testing.assert_allclose(found, [statistic.value(prepared, row) for row in jnp.asarray(rows)], rtol=1e-12)


def test_between_two_values_is_numpys():
    rng = np.random.default_rng(0)
    for fraction in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9):
        for low, apart in np.round(np.abs(rng.normal(loc=(2, 0), size=(50, 2))), 2):
            assert between(low, low + apart, fraction) == np.quantile([low, low + apart], fraction)
            assert between(low, low, fraction) == low
    assert between(-0.01, 0.03, 0.5) == np.median([-0.01, 0.03])
