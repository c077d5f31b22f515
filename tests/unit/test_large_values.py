"""Units do not matter: values near 1e200 have the intervals of values near 1, where squares would overflow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.coverage.cell import Cell
from jaxci.coverage.running import run_cell
from jaxci.distributions import AdaptiveKDE, Empirical, Mixture, Parametric
from jaxci.records import record
from jaxci.special import deviation, root_sum_of_squares, unit
from jaxci.statistics import Std
from jaxci.statistics.base import Scaling
from jaxci.statistics.registry import statistic_by_name
from jaxci.statistics.summary import SecondMoment

N, B, LARGE = 40, 199, 1e200
X = np.random.default_rng(0).gamma(2.0, size=N)
Z = np.random.default_rng(1).gamma(1.5, size=N)

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning", "ignore::RuntimeWarning")


@pytest.mark.parametrize("scale", [1.0, LARGE, 1e-200])
@pytest.mark.parametrize("xp", [np, jnp])
def test_deviations_are_in_the_unit_of_the_values(xp, scale):
    rows = np.stack([X, Z, np.zeros(N)])
    with jax.enable_x64(True):
        found = np.asarray(deviation(xp.asarray(scale * rows), ddof=1))
        roots = np.asarray(root_sum_of_squares(xp.asarray(scale * rows), 1 / N))
    np.testing.assert_allclose(found, scale * rows.std(axis=-1, ddof=1), rtol=1e-14)
    np.testing.assert_allclose(roots, scale * np.sqrt(np.mean(rows**2, axis=-1)), rtol=1e-14)


def test_a_unit_is_a_length_that_can_be_divided_by():
    np.testing.assert_array_equal(unit(np.array([0.0, 2.0, np.inf, np.nan, LARGE])), [1.0, 2.0, 1.0, 1.0, LARGE])
    assert np.isnan(deviation(np.array([1.0, np.inf]), ddof=1))
    assert np.isnan(deviation(np.array([1.0, np.nan]), ddof=1))


def numbers(result):
    return np.array([result.estimate, *result.confidence_interval, result.standard_error])


SERVED = [
    *(("mean", m) for m in ("auto", "t", "z", "exact", "percentile", "normal", "bca", "delta", "studentized", "abc")),
    *(("std", m) for m in ("percentile", "basic", "bc", "bca", "delta", "studentized", "abc")),
    *(("median", m) for m in ("exact", "noncentral_t", "normal", "bca")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "method"), SERVED)
def test_intervals_are_in_the_unit_of_the_values(statistic, method):
    large, plain = (jaxci.interval(statistic, c * X, method=method, n_resamples=B, rng=0) for c in (LARGE, 1.0))
    np.testing.assert_allclose(numbers(large), LARGE * numbers(plain), rtol=1e-9)
    assert large.method == plain.method


@pytest.mark.parametrize("method", ["auto", "delta", "studentized"])
def test_comparisons_are_in_the_unit_of_the_values(method):
    large, plain = (jaxci.compare("std", None, c * X, c * Z, method=method, n_resamples=B, rng=0) for c in (LARGE, 1.0))
    np.testing.assert_allclose(numbers(large), LARGE * numbers(plain), rtol=1e-9)
    assert large.pvalue == pytest.approx(plain.pvalue, rel=1e-9)


def test_other_verbs_are_in_the_unit_of_the_values():
    large, plain = (jaxci.bootstrap((c * X,), np.mean, n_resamples=B, rng=0).standard_error for c in (LARGE, 1.0))
    assert large == pytest.approx(LARGE * plain, rel=1e-9)
    large, plain = (jaxci.jackknife(c * X, "std").standard_error for c in (LARGE, 1.0))
    assert large == pytest.approx(LARGE * plain, rel=1e-9)
    large, plain = (jaxci.welch_interval(c * X, c * Z[:9]) for c in (LARGE, 1.0))
    np.testing.assert_allclose(numbers(large), LARGE * numbers(plain), rtol=1e-9)
    assert large.pvalue == pytest.approx(plain.pvalue, rel=1e-9)


def test_cells_cover_alike():
    statistics = {name: statistic_by_name(name) for name in ("mean", "std")}
    methods = ("percentile", "bca", "delta", "studentized", "t")
    large, plain = (
        run_cell(Cell(Empirical(c * X), 20, statistics, methods, (0.9,), 100, B, 4), jax.random.key(0)).judgements
        for c in (LARGE, 1.0)
    )
    assert [row.coverage for row in large] == [row.coverage for row in plain]
    for found in ("mean_width", "median_width"):
        np.testing.assert_allclose(
            *([getattr(row, found) / c for row in rows] for rows, c in ((large, LARGE), (plain, 1.0))), rtol=1e-6
        )
    np.testing.assert_allclose([row.relative_width for row in large], [row.relative_width for row in plain], rtol=1e-6)
    assert all(0.5 < row.coverage <= 1 for row in large)


LAWS = {
    "empirical": Empirical,
    "kde": AdaptiveKDE.fit,
    "mixture": lambda x: Mixture((Empirical(x[:9]), Empirical(x[9:])), (0.3, 0.7)),
}


@pytest.mark.parametrize("law", LAWS)
def test_deviations_of_laws_are_in_the_unit_of_the_values(law):
    large, plain = (LAWS[law](c * X).analytic(Std()) for c in (LARGE, 1.0))
    assert large == pytest.approx(LARGE * plain, rel=1e-12)
    assert LAWS[law](X).analytic(statistic_by_name("var")) == pytest.approx(plain**2, rel=1e-12)


def test_an_infinite_variance_stays_infinite():
    assert Parametric("t", {"df": 2.0}).analytic(Std()) == np.inf
    assert Parametric("gamma", {"a": 2.0}).analytic(Std()) == pytest.approx(stats.gamma(2.0).std(), rel=1e-12)


@record
class LogVariance(SecondMoment):
    """Logarithm of the variance."""

    bounds = (-np.inf, np.inf)

    def scaling(self, prepared):
        return Scaling(2 * jnp.log(prepared.constants[0]), 1.0)

    def of_variance(self, variance):
        return jnp.log(variance)


@pytest.mark.slow
def test_a_function_of_the_variance_is_what_it_says():
    result, std = (
        jaxci.interval(s, LARGE * X, method="percentile", n_resamples=B, rng=0) for s in (LogVariance(), "std")
    )
    expected = 2 * np.log([std.estimate, *std.bootstrap_distribution])
    np.testing.assert_allclose([result.estimate, *result.bootstrap_distribution], expected, rtol=1e-12)
    cell = Cell(Empirical(X), 20, {"own": LogVariance(), "std": Std()}, ("percentile",), (0.9,), 100, B, 4)
    own, std = run_cell(cell, jax.random.key(0)).judgements
    # linear quantiles of logarithms lie above logarithms of linear quantiles by less than the gap of two replicates
    assert abs(own.coverage - std.coverage) <= 0.02
    assert own.invalid == std.invalid == 0
