"""Units do not matter: values near 1e200 have the intervals of values near 1, where squares would overflow."""

import warnings

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


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["iqm", "mean", "median", "optimality_gap"])
@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-600])
def test_boards_of_runs_are_in_the_unit_of_the_scores(metric, scale):
    runs = {name: np.random.default_rng(at).normal(at, 1.0, size=(5, 6)) for at, name in enumerate("abc")}
    options = {"gamma": 2.0} if metric == "optimality_gap" else {}
    plain = jaxci.leaderboard(metric, runs, n_resamples=B, rng=0, **options)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        large = jaxci.leaderboard(
            metric,
            {name: scale * x for name, x in runs.items()},
            n_resamples=B,
            rng=0,
            **{name: scale * x for name, x in options.items()},
        )
    for one, other in zip(large, plain, strict=True):
        np.testing.assert_allclose(numbers(one), scale * numbers(other), rtol=1e-12)
        assert one._replace(estimate=0, confidence_interval=0, standard_error=0, simultaneous_interval=0) == (
            other._replace(estimate=0, confidence_interval=0, standard_error=0, simultaneous_interval=0)
        )
    assert [pair.adjusted for pair in large.pairs] == [pair.adjusted for pair in plain.pairs]


def test_scores_of_runs_beyond_all_differences_are_refused():
    with pytest.raises(ValueError, match=r"scores of 'b' must lie within \+-1e\+305; got -1e\+307"):
        jaxci.leaderboard("iqm", {"a": np.ones((3, 2)), "b": np.full((3, 2), -1e307)})


@pytest.mark.parametrize("method", ["corrected_t", "cv_wald"])
def test_losses_have_intervals_in_their_unit(method):
    folds = np.array_split(np.random.default_rng(2).permutation(N), 5)
    plain = jaxci.losses_interval([X[fold] for fold in folds], test=folds, method=method)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        for scale in (1e300, 1e-200):
            large = jaxci.losses_interval([scale * X[fold] for fold in folds], test=folds, method=method)
            np.testing.assert_allclose(numbers(large), scale * numbers(plain), rtol=1e-12)
        with pytest.raises(ValueError, match=r"losses must lie within \+-1e\+305; got 1e\+307"):
            jaxci.losses_interval([np.full(len(fold), 1e307) for fold in folds], test=folds, method=method)


@pytest.mark.parametrize("method", ["semiparametric", "semiparametric_resampled"])
@pytest.mark.parametrize("q", [0.02, 0.5, 0.99])
def test_bounds_far_from_all_values_are_none(method, q):
    """On the logit of a range that is wide enough values are extrapolated along a line, as without bounds."""
    free, wide, wider = (
        jaxci.quantile_interval(X, q, method=method, bounds=bounds, rng=0).confidence_interval
        for bounds in (None, (-1e9, 1e9), (-1e308, 1e308))
    )
    np.testing.assert_allclose(wide, free, rtol=1e-7)
    np.testing.assert_allclose(wider, free, rtol=1e-14)


def test_values_at_the_end_of_all_numbers_stay_within_their_bounds():
    low, high = jaxci.quantile_interval(
        1e307 * X, 0.99, method="semiparametric", bounds=(-1e308, 1e308)
    ).confidence_interval
    assert 0 < low < high < 1e308


@pytest.mark.slow
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


@pytest.mark.parametrize("metric", ["mean_squared_error", "root_mean_squared_error"])
def test_errors_whose_squares_are_no_numbers_are_refused(metric):
    error = np.where(np.arange(N) == 3, LARGE, 1.0)
    message = r"less than 1\.3e\+154 apart for metrics of squared errors; in row 3 they are not"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match=message):
            jaxci.interval(metric, X + error, X, rng=0)


def test_the_coverage_of_values_near_the_largest_number_is_found():
    sizes = {"n_replications": 20, "n_resamples": B, "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        large, plain = (jaxci.check_coverage("mean", c * X, methods=["t"], **sizes)["t"] for c in (1e300, 1.0))
    assert large.coverage == plain.coverage
