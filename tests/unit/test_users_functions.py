"""A user's weighted function is a metric like any other: intervals, comparisons, checks and study cells."""

import json
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.coverage import Study
from jaxci.coverage.cell import Cell
from jaxci.coverage.fitting import law_of_rows
from jaxci.coverage.running import run_cell
from jaxci.distributions import (
    Empirical,
    EmpiricalColumns,
    EmpiricalTargets,
    Parametric,
    RegressionErrors,
    as_distribution,
    distribution_from_dict,
    distribution_to_dict,
    truth,
)
from jaxci.inference.left_out import COVERED_BY_FEW
from jaxci.intervals.bootstrap import BCa, adjusted_probability
from jaxci.special import ndtri
from jaxci.statistics import WeightedFunction
from jaxci.statistics.registry import statistic_by_name
from jaxci.statistics.sample import Sample

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

N, B = 40, 199
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
KEY = jax.random.key(3)
RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, 3.0, N)
Y = RNG.normal(size=N)
P, Q = (Y + scale * RNG.normal(size=N) for scale in (1.0, 1.5))
METHODS = ("percentile", "bca", "delta", "studentized", "abc", "basic")
SIMULATED = ("percentile", "bca", "delta")


def mean(x, w):
    return jnp.sum(w * x) / jnp.sum(w)


def squared(y, p, w):
    return jnp.sum(w * (y - p) ** 2) / jnp.sum(w)


def third(x, w):
    """A step function of the weights: the smallest value with 31% of the weight at or below it."""
    order = jnp.argsort(x)
    reached = jnp.cumsum(w[order]) >= 0.31 * jnp.sum(w)
    return x[order][jnp.argmax(reached)]


MEAN, SQUARED, THIRD = WeightedFunction(mean), WeightedFunction(squared), WeightedFunction(third, False)


def ends(result):
    return [result.estimate, *result.confidence_interval, result.standard_error]


@pytest.mark.slow
@pytest.mark.parametrize("function", [np.median, np.ptp, np.mean, np.std])
def test_functions_of_numpy_serve_more_than_once(function):
    """Numpy's own functions are no Python functions; the second use of one once ended the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        first, second = (
            jaxci.interval(function, np.arange(20.0) ** 2, method="percentile", n_resamples=99, rng=0) for _ in range(2)
        )
    assert first.confidence_interval == second.confidence_interval
    assert first.estimate == pytest.approx(function(np.arange(20.0) ** 2), rel=1e-12)


LAYOUTS = {"plain": {}, "groups": {"groups": np.arange(N) % 13}, "weights": {"sample_weight": 1.0 + np.arange(N) % 3}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "layout"), [*((method, "plain") for method in METHODS), ("bca", "groups"), ("delta", "weights")]
)
def test_intervals_are_those_of_the_metric(method, layout):
    settings = {"method": method, "n_resamples": B, "rng": 1, **LAYOUTS[layout]}
    found, known = (jaxci.interval(s, Y, P, **settings) for s in (SQUARED, "mean_squared_error"))
    np.testing.assert_allclose(ends(found), ends(known), rtol=1e-9)
    assert found.statistic == "squared"


@pytest.mark.parametrize("method", METHODS)
def test_comparisons_are_those_of_the_metric(method):
    found, known = (
        jaxci.compare(s, Y, P, Q, method=method, n_resamples=B, rng=1) for s in (SQUARED, "mean_squared_error")
    )
    np.testing.assert_allclose(ends(found), ends(known), rtol=1e-9)
    for field in ("estimate_a", "estimate_b", "pvalue"):
        assert getattr(found, field) == pytest.approx(getattr(known, field), rel=1e-9)


def test_values_by_case_are_compared_without_a_truth():
    found, known = (jaxci.compare(s, None, X, X[::-1] ** 1.2, method="delta") for s in (MEAN, "mean"))
    np.testing.assert_allclose(ends(found), ends(known), rtol=1e-9)


def test_a_comparison_says_which_is_larger_not_which_is_better():
    assert jaxci.compare(SQUARED, Y, P, Y + 9, method="delta").conclusion == "a is smaller than b"
    auto = jaxci.compare(SQUARED, Y, P, Q, n_resamples=B, rng=0)
    assert auto.method.label == "kurtosis_t(error=jackknife, skewed=True)"
    assert "a difference of smooth functions" in auto.reason


def variation(x, w):
    m = mean(x, w)
    return jnp.sqrt(mean((x - m) ** 2, w)) / m


def said_of(statistic, x, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jaxci.interval(statistic, x, n_resamples=1999, rng=0, **given).warnings


@pytest.mark.slow
def test_few_rows_that_decide_are_told():
    rng = np.random.default_rng(5)
    even, skewed = rng.uniform(1, 2, 200), np.exp(rng.normal(size=200))
    assert said_of(WeightedFunction(variation), even) == ()
    influence = ((skewed - skewed.mean()) ** 2 / skewed.var() - 1) / 2 - (skewed / skewed.mean() - 1)
    few = (influence**2).sum() ** 2 / (influence**4).sum()
    assert 1 < few < 5
    for own in (WeightedFunction(variation), WeightedFunction(variation, differentiable=False)):
        (said,) = said_of(own, skewed)
        assert said.startswith("a few of the 200 rows decide the estimate, as if there were ")
        assert float(said.split()[13]) == pytest.approx(few, rel=0.1)
    for own in (lambda x: jnp.std(x) / jnp.mean(x), lambda x: np.std(np.array(x)) / np.mean(np.array(x))):
        assert any("a few of the 200 rows decide" in said for said in said_of(own, skewed))
    (said,) = [
        text for text in said_of(lambda x: np.std(np.array(x)) / np.mean(np.array(x)), skewed) if "decide" in text
    ]
    assert "95% 'percentile' intervals of functions that fewer than 5 rows decide covered 20% to 91%" in said
    (said,) = said_of(WeightedFunction(variation), skewed, strata=np.arange(200) % 2)
    assert said.endswith("alone: resamples do not allow for that")
    assert not said_of(np.median, skewed[:199])[1:]  # of a function of NumPy it is said that it runs on the host


@pytest.mark.parametrize(("method", "column"), [("bca", "auto"), ("percentile", "percentile")])
def test_what_is_said_of_few_deciding_rows_is_what_the_benchmark_found(method, column):
    designs = json.loads((RESULTS / "own_functions.json").read_text())["designs"]
    by_limit = {}
    for design in designs:
        found = {name: one[column] for name, one in design["found"].items()}
        sets = sum(one[2] for one in found.values())
        share = 0.0
        for limit in sorted(COVERED_BY_FEW[method]):
            share += found.get(f"fewer than {limit}", (0, 0, 0))[2] / sets
            if share > 0.5:
                break
        else:
            limit = 0
        by_limit.setdefault(limit, []).append(sum(one[0] * one[2] for one in found.values()) / sets)
    assert len(by_limit[0]) > 100
    assert (0.875 if method == "bca" else 0.85) < min(by_limit[0]) < max(by_limit[0]) < 0.995
    for limit, told in COVERED_BY_FEW[method].items():
        found = by_limit[limit]
        np.testing.assert_allclose(told, [min(found), np.median(found), max(found)], atol=0.0051)


@pytest.mark.slow
def test_a_function_without_the_derivatives_it_declares_is_refused_where_they_are_read():
    wrong = WeightedFunction(third)
    for method in ("delta", "studentized"):
        with pytest.raises(ValueError, match=r"'third' is declared differentiable .* differentiable=False"):
            jaxci.interval(wrong, X, method=method, n_resamples=B)
    with pytest.raises(ValueError, match="'third' is declared differentiable"):
        jaxci.compare(wrong, None, X, X[::-1] ** 1.2, n_resamples=B)
    declared = jaxci.compare(THIRD, None, X, X[::-1] ** 1.2, n_resamples=B, rng=0)
    assert declared.method == "percentile"
    assert jaxci.interval(wrong, X, n_resamples=B, rng=0).confidence_interval.low < np.quantile(X, 0.31)
    constant = jaxci.interval(WeightedFunction(lambda x, w: 0 * w.sum() + 3.0), X, method="delta")
    assert constant.confidence_interval == (3.0, 3.0)


def rows_of(distribution, statistics, methods):
    cell = Cell(distribution, 20, statistics, methods, (0.9,), 100, B, 4)
    found = {}
    for judgement in run_cell(cell, KEY).judgements:
        found.setdefault(judgement.statistic, []).append(judgement)
    return found


@pytest.mark.slow
def test_cells_are_those_of_the_metric():
    found = rows_of(
        EmpiricalTargets(Y, P), {"own": SQUARED, "known": statistic_by_name("mean_squared_error")}, SIMULATED
    )
    assert len(found["own"]) == len(SIMULATED)
    known = {row.label: row for row in found["known"]}
    for row in found["own"]:
        assert row.coverage == known[row.label].coverage
        assert row.mean_width == pytest.approx(known[row.label].mean_width, rel=1e-5)


@pytest.mark.slow
def test_a_study_takes_it(tmp_path):
    design = {"n_replications": 100, "n_resamples": B, "n_groups": 4, "levels": [0.9]}
    laws = {"rows": EmpiricalColumns((Y, P)), "targets": EmpiricalTargets(Y, P)}
    rows = Study(laws, [SQUARED], ["percentile", "bca"], [20], **design).run(tmp_path).table.records()
    assert len(rows) == 4
    assert all(row["statistic"] == "squared" and 0.5 < row["coverage"] <= 1 for row in rows)
    for row in rows:
        assert row["truth"] == pytest.approx(np.mean((Y - P) ** 2), rel=1e-12)


@pytest.mark.slow
def test_a_check_is_that_of_the_metric():
    design = {"methods": ["percentile"], "n_replications": 100, "n_resamples": B, "rng": 5}
    found, known = (jaxci.check_coverage(s, Y, P, **design) for s in (SQUARED, "mean_squared_error"))
    assert found.statistic == "squared"
    for mine, theirs in zip(found.judgements, known.judgements, strict=True):
        assert mine.mean_width == pytest.approx(theirs.mean_width, rel=1e-5)
        assert mine.coverage == theirs.coverage


def test_one_column_of_real_numbers_is_checked_as_values_are():
    own, known = (
        law_of_rows(MEAN, Sample(columns=(X,))),
        law_of_rows(statistic_by_name("mean"), Sample(values=X, columns=(X,))),
    )
    for mine, theirs in zip(jax.tree.leaves(own), jax.tree.leaves(known), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert own.label == known.label
    assert law_of_rows(MEAN, Sample(columns=(np.arange(N),))).label == "empirical(40 rows of 1 columns)"


def test_columns_of_any_kind_are_checked_and_kept_as_they_are():
    data = np.arange(N) % 3 == 0, np.arange(N) % 3, RNG.normal(size=(N, 3))

    def picked(flag, codes, rows, w):
        assert flag.dtype == bool
        assert jnp.issubdtype(codes.dtype, jnp.integer)
        return jnp.sum(w * flag * rows[jnp.arange(len(codes)), codes]) / jnp.sum(w)

    own, law = WeightedFunction(picked), EmpiricalColumns(data)
    found = jaxci.check_coverage(own, *data, methods=["percentile"], n_replications=50, n_resamples=99, rng=0)
    assert found.distribution == "empirical(40 rows of 3 columns)"
    expected = np.mean(data[0] * data[2][np.arange(N), data[1]])
    assert truth(law, own, KEY).value == pytest.approx(expected, rel=1e-12)
    for mine, theirs in zip(law.columns, distribution_from_dict(distribution_to_dict(law)).columns, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (X, r"columns must be a tuple of arrays, one a column; got an array \(40,\)"),
        ((), "columns must be arrays of numbers, one row an observation; got nothing"),
        ((X, ["a"] * N), "columns must be arrays of numbers"),
        ((X, Y[1:]), "columns must have one length, at least 1; got 39, 40"),
        ((X, np.where(X > 9, np.nan, X)), "columns must be finite"),
    ],
)
def test_columns_that_cannot_be_drawn_are_refused(columns, words):
    with pytest.raises(ValueError, match=words):
        EmpiricalColumns(columns)


def test_a_metric_is_not_judged_on_columns():
    with pytest.raises(ValueError, match="MeanSquaredError reads regression targets; empirical"):
        truth(EmpiricalColumns((Y, P)), statistic_by_name("mean_squared_error"), KEY)


class Pairs:
    """A law of one's own that draws two columns."""

    def sample(self, key, n):
        level, noise = jax.random.normal(key, (2, n))
        return level, level + noise

    def analytic(self, statistic):
        return 1.0 if statistic == SQUARED else None


class TooMany:
    """A law that draws more rows than it is asked for."""

    def sample(self, key, n):
        return jax.random.normal(key, (n + 1,))


def test_a_distribution_of_ones_own_may_draw_columns():
    found = rows_of(as_distribution(Pairs(), "columns"), {"squared": SQUARED}, ["delta"])
    assert 0.5 < found["squared"][0].coverage <= 1
    with pytest.raises(ValueError, match="must draw columns of"):
        truth(as_distribution(TooMany(), "columns"), MEAN, KEY)


def test_bca_of_a_step_function_uses_leave_one_out_values():
    """With slopes the acceleration would be 0 / 0, which is BC."""
    left_out = np.array([np.sort(np.delete(X, i))[12] for i in range(N)])
    centred = left_out.mean() - left_out
    acceleration = np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5)
    assert abs(acceleration) > 1e-6
    bca, bc = (jaxci.interval(THIRD, X, method=m, n_resamples=999, rng=1) for m in ("bca", "bc"))
    replicates = bca.bootstrap_distribution
    z0 = ndtri(np.mean(replicates < bca.estimate) + np.mean(replicates == bca.estimate) / 2)
    for result, a in ((bca, acceleration), (bc, 0.0)):
        at = [adjusted_probability(p, z0, a) for p in (0.025, 0.975)]
        np.testing.assert_allclose(result.confidence_interval, np.quantile(replicates, at), rtol=1e-12)


@pytest.mark.slow
def test_bca_of_a_step_function_in_a_cell_uses_leave_one_out_values():
    methods = ["bca", BCa(acceleration="jackknife"), BCa(degenerate="nan")]
    rows = rows_of(Empirical(X), {"own": THIRD}, methods)["own"]
    assert rows[0].mean_width == rows[1].mean_width == pytest.approx(rows[2].mean_width, rel=0.2)
    assert rows[2].invalid < 1


# --- what a function of weighted data has to be ----------------------------------------------------


def _total(y, p, weights):
    return jnp.sum(weights * jnp.abs(y - p))


def _by_length(y, p, weights):
    return jnp.mean(weights * jnp.abs(y - p))


def _without_weights(y, p, weights):
    return jnp.mean(jnp.abs(y - p))


def _of_rows(y, p, weights):
    return weights * jnp.abs(y - p)


def _in_numpy(y, p, weights):
    return np.sum(np.asarray(weights) * np.abs(y - p))


def _as_float(y, p, weights):
    return float(jnp.sum(weights * jnp.abs(y - p)))


def _of_some_rows(y, p, weights):
    return jnp.mean(y[weights > 0])


def _in_complex(y, p, weights):
    return jnp.sum(weights * jnp.exp(1j * (y - p))) / jnp.sum(weights)


def _in_a_loop(y, p, weights):
    total = jax.lax.while_loop(lambda x: x > 10, lambda x: x / 2, jnp.sum(weights * y))
    return jnp.sum(weights * y) / jnp.sum(weights) + 0 * total


@pytest.mark.parametrize(
    ("function", "error", "told"),
    [
        (_total, ValueError, "'_total' must not depend on the scale .*: with twice the weights it is 2 times as large"),
        (_by_length, ValueError, "'_by_length' must not depend on the scale of the weights"),
        (_without_weights, ValueError, "'_without_weights' must weigh the rows .* it does not read the weights"),
        (_of_rows, TypeError, "'_of_rows' must return a scalar number; got shapes"),
        (_in_complex, TypeError, "'_in_complex' must return a real number; got complex128"),
        (_in_numpy, TypeError, "'_in_numpy' must be written with jax.numpy"),
        (_as_float, TypeError, "'_as_float' must be written with jax.numpy"),
        (_of_some_rows, TypeError, "'_of_some_rows' must be written with jax.numpy"),
        (_in_a_loop, ValueError, "'_in_a_loop' is declared differentiable .* JAX cannot differentiate it"),
    ],
)
def test_functions_that_do_not_weigh_rows_are_refused(function, error, told):
    """Their estimates, intervals or standard errors would be wrong without a word."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=129)  # padded to 144 rows
    p = y + rng.uniform(0.9, 1.1, 129)
    own = WeightedFunction(function)
    for verb in (
        lambda: jaxci.interval(own, y, p),
        lambda: jaxci.compare(own, y, p, p + 0.1),
        lambda: jaxci.leaderboard(own, y, {"a": p, "b": p + 0.1}),
        lambda: jaxci.check_coverage(own, y, p),
        lambda: jaxci.generalization_interval("ridge", p[:, None], y, loss=own),
        lambda: Study({"errors": RegressionErrors(Parametric("norm"))}, [own], ["percentile"], [9]),
    ):
        with pytest.raises(error, match=told):
            verb()


def test_the_imaginary_part_of_a_value_is_never_lost():
    y = np.random.default_rng(0).normal(size=30)
    with pytest.raises(TypeError, match="the statistic must return a real number; got complex128"):
        jaxci.interval(lambda x: jnp.mean(jnp.exp(1j * x)), y)
    with pytest.raises(TypeError, match="the statistic must return a scalar number; got complex"):
        jaxci.interval(lambda x: complex(np.mean(np.array(x))), y)
    for verb in (jaxci.jackknife, lambda data, own: jaxci.bootstrap((data,), own)):
        with pytest.raises(TypeError, match=r"must return a (scalar )?number"):
            verb(y, lambda x: np.mean(np.exp(1j * x)))


def _squared(x, y):
    return np.mean((x - y) ** 2)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int32, np.float32])
def test_narrow_numbers_reach_a_function_in_64_bits(kind):
    x, y = np.tile(np.array([[1, 2, 3, 4, 0, 9], [2, 4, 3, 1, 5, 90]], kind), 10)
    expected = _squared(x.astype(float), y.astype(float))
    own = WeightedFunction(lambda x, y, w: jnp.sum(w * (x - y) ** 2) / jnp.sum(w))
    for found in (jaxci.interval(_squared, x, y, rng=0, n_resamples=99), jaxci.interval(own, x, y, rng=0)):
        assert found.estimate == pytest.approx(expected, rel=1e-12)
        assert found.confidence_interval.low < expected < found.confidence_interval.high
    assert jaxci.jackknife((x, y), _squared).estimate == pytest.approx(expected, rel=1e-12)


def test_a_mean_of_booleans_says_that_it_is_of_single_precision():
    y, p = (np.arange(60) % k < 2 for k in (3, 4))
    found = jaxci.interval(lambda y, p: np.mean(y == p), y, p, rng=0, n_resamples=99)
    assert (found.dtype, found.estimate) == ("float32", pytest.approx(np.mean(y == p), rel=1e-6))
    found = jaxci.interval(lambda y, p: np.mean(y == p, dtype=float), y, p, rng=0, n_resamples=99)
    assert (found.dtype, found.estimate) == ("float64", np.mean(y == p))


def test_sums_of_32_bits_do_not_overflow():
    x = 2_000_000 + np.arange(3000, dtype=np.int32)
    found = jaxci.interval(lambda v: np.cumsum(v)[-1] / len(v), x, rng=0, n_resamples=99)
    assert found.estimate == pytest.approx(x.mean(), rel=1e-12)


@pytest.mark.parametrize("kind", [str, object])
def test_a_function_of_texts_runs_on_the_host(kind):
    told, number = np.where(np.arange(60) % 7 < 3, "a", "b").astype(kind), np.arange(60.0)
    one = jaxci.interval(lambda q: np.mean(q == "a"), told, rng=0, n_resamples=99)
    assert one.estimate == np.mean(told == "a")
    assert any("reads data that are no numbers and was called on the host" in text for text in one.warnings)
    two = jaxci.interval(lambda q, v: np.mean(v[q == "a"]), told, number, rng=0, n_resamples=99)
    assert two.estimate == np.mean(number[told == "a"])


def test_a_board_says_of_models_that_are_alike_only_that_they_are():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 60)
    near, far = (np.where(rng.random(60) < right, y, 1 - y) for right in (0.9, 0.6))
    own = WeightedFunction(lambda t, p, w: jnp.sum(w * (t == p)) / jnp.sum(w))
    options = {"less_is_better": False, "n_resamples": 99, "rng": 0}
    apart, alike = (jaxci.leaderboard(own, y, {"a": near, "b": other}, **options) for other in (far, near))
    assert not any("all paired differences are zero" in text for text in apart.warnings)
    assert "a - b: all paired differences are zero" in alike.warnings[0]


ROWS = np.random.default_rng(4).normal(size=60)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda v: jnp.abs(jnp.diff(v)).mean(), True),
        (lambda v: float(np.abs(np.diff(np.asarray(v))).mean()), True),
        (lambda v: np.cumsum(v)[-1] / len(v), False),
        (lambda v: np.sum(v - v.mean()), False),
        (lambda v: float(np.median(np.asarray(v))), False),
        (np.std, False),
    ],
)
def test_a_function_of_the_order_of_the_rows_is_told(function, told):
    found = jaxci.interval(function, ROWS, rng=0, n_resamples=99)
    assert sum("of the same rows in another order" in text for text in found.warnings) == told


def test_a_function_that_needs_its_order_tells_nothing():
    def of_sorted(v, t):
        if np.any(np.diff(np.asarray(t)) < 0):
            raise ValueError("unsorted")
        return float(np.mean(np.asarray(v)))

    assert not any("another order" in text for text in jaxci.interval(of_sorted, ROWS, np.arange(60.0), rng=0).warnings)


@pytest.mark.parametrize("method", ["percentile", "basic", "bc", "bca", "expanded_percentile"])
def test_infinite_resamples_leave_the_other_end(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = jaxci.interval(
            lambda v: jnp.where(v.mean() > 26, jnp.inf, v.mean()),
            np.arange(50.0),
            rng=0,
            n_resamples=199,
            method=method,
        )
    low, high = found.confidence_interval
    assert (np.isinf(low), np.isinf(high)) == ((True, False) if method == "basic" else (False, True))
    assert found.warnings == ("the statistic was infinite in 45 of 199 resamples",)


def _log_odds_ratio(y, guess, weights=1):
    cells = [[jnp.sum(weights * ((y == i) & (guess == j))) for j in (0, 1)] for i in (0, 1)]
    return jnp.log(cells[0][0] * cells[1][1] / (cells[0][1] * cells[1][0]))


@pytest.mark.parametrize("method", ["auto", "percentile", "bca", "basic", "normal"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_statistic_that_is_infinite_has_no_interval(method, alternative):
    """A cell without a row: the interval was [inf, inf]."""
    y = np.arange(60) % 2
    guess = np.where(np.isin(np.arange(60), [1, 7, 21]), 0, y)
    asked = {"method": method, "alternative": alternative, "rng": 0, "n_resamples": 199}
    found = jaxci.interval(_log_odds_ratio, y, guess, **asked)
    assert np.isinf(found.estimate)
    assert np.isnan(found.confidence_interval).all()
    infinite = "_log_odds_ratio is infinite on these data (as where it divides by 0); there is no interval"
    assert found.warnings == (infinite, "the statistic was infinite in 199 of 199 resamples")


def test_two_models_of_which_one_is_infinite_are_not_compared():
    y = np.arange(60) % 2
    one, other = (np.where(np.isin(np.arange(60), wrong), 1 - y, y) for wrong in ([1, 7, 21], [1, 8, 21, 30]))
    found = jaxci.compare(WeightedFunction(_log_odds_ratio), y, one, other, rng=0, n_resamples=199)
    assert np.isnan([*found.confidence_interval, found.pvalue]).all()


def test_a_percentile_interval_that_does_not_exist_is_not_named_as_the_way_out():
    found = jaxci.interval(
        lambda v: jnp.where(v.mean() > 26, jnp.inf, v.mean()), np.arange(50.0), rng=0, n_resamples=199, method="normal"
    )
    assert "the normal interval does not exist on these data; use 'percentile'" in found.warnings


def test_an_error_on_a_resample_says_where_it_came_from():
    rare = np.r_[1.0, np.zeros(8)]
    with pytest.raises(ZeroDivisionError) as error:
        jaxci.interval(lambda v: 1.0 if len(set(np.asarray(v))) > 1 else 1 / 0, rare, rng=0)
    assert "the data or a resample; NaN would say that it is undefined" in error.value.__notes__[0]


class _Unkeyed:
    def sample(self, key, n):
        return jax.random.normal(jax.random.key(1), (n,))


class _Numpys:
    def sample(self, key, n):
        return np.random.default_rng(0).normal(size=n)


class _Constant:
    def sample(self, key, n):
        return jnp.full(n, 0.5)


def test_a_distribution_that_draws_the_same_whatever_the_key_is_refused():
    design = {"statistics": ["mean"], "methods": ["t"], "sample_sizes": [9], "n_replications": 20, "n_resamples": 19}
    for law in (_Unkeyed(), _Numpys()):
        with pytest.raises(ValueError, match=r"distributions: 'own': .*\.sample must draw by its key"):
            Study({"own": law}, **design)
    assert Study({"own": _Constant()}, **design).sample_sizes == (9,)


def test_a_plain_function_is_told_how_to_be_compared():
    with pytest.raises(TypeError, match=r"wrap a function: jaxci\.statistics\.WeightedFunction"):
        jaxci.compare(_squared, *np.random.default_rng(6).normal(size=(3, 9)))


@pytest.mark.parametrize("function", [_total, _by_length])
def test_functions_of_two_rows_are_refused_too(function):
    with pytest.raises(ValueError, match="must not depend on the scale of the weights"):
        jaxci.interval(WeightedFunction(function), np.array([1.0, 2.0]), np.array([2.0, 4.0]))


def test_functions_without_derivatives_are_taken_where_they_say_so():
    own = WeightedFunction(_in_a_loop, differentiable=False)
    found = jaxci.interval(own, Y, P, method="percentile", n_resamples=99, rng=0)
    assert found.estimate == pytest.approx(np.mean(Y), rel=1e-9)


@pytest.mark.slow
def test_corrections_of_values_near_0_are_taken():
    def adjusted(x, y, weights):
        total = weights.sum()
        dx, dy = x - jnp.sum(weights * x) / total, y - jnp.sum(weights * y) / total
        square = jnp.sum(weights * dx * dy) ** 2 / jnp.sum(weights * dx**2) / jnp.sum(weights * dy**2)
        return 1 - (1 - square) * (total - 1) / (total - 2)

    for seed in range(20):
        x, y = np.random.default_rng(seed).normal(size=(2, 100))
        found = jaxci.interval(WeightedFunction(adjusted), x, y, method="percentile", n_resamples=99, rng=0)
        assert abs(found.estimate) < 0.1


@pytest.mark.parametrize("n", [4, 129])
def test_functions_that_correct_for_degrees_of_freedom_are_taken(n):
    def variance(x, weights):
        total = weights.sum()
        return jnp.sum(weights * (x - jnp.sum(weights * x) / total) ** 2) / (total - 1)

    x = np.random.default_rng(0).normal(size=n)
    found = jaxci.interval(WeightedFunction(variance), x, method="percentile", n_resamples=99, rng=0)
    assert found.estimate == pytest.approx(np.var(x, ddof=1), rel=1e-12)


@pytest.mark.parametrize("others", [[], ["r2"], ["accuracy"]])
def test_a_table_of_metrics_names_the_verbs_that_take_functions(others):
    def bias(y, p, weights):
        return jnp.sum(weights * (p - y)) / jnp.sum(weights)

    own = jaxci.statistics.WeightedFunction(bias)
    with pytest.raises(ValueError, match=r"got bias, of your own: jaxci.interval\(f, ...\) and jaxci.compare"):
        jaxci.evaluate(np.arange(9) % 2, np.arange(9) % 3 % 2, metrics=[*others, own])
