"""``jaxci.bootstrap`` against ``scipy.stats.bootstrap``, and the jackknife against plain NumPy."""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.stats import DegenerateDataWarning

import jaxci
from jaxci import JaxciWarning

RNG = np.random.default_rng(11)
X = RNG.gamma(2.0, size=40)
V = X + RNG.normal(0, 0.5, 40)
W = RNG.normal(1.0, 2.0, 25)
TABLE = RNG.gamma(2.0, size=(3, 4, 20))
METHODS = ["percentile", "basic", "BCa"]
SIDES = ["two-sided", "less", "greater"]


# Statistics in the arithmetic that NumPy's and JAX's arrays share, so both verbs get the same function in float64.


def std(x: Any, axis: int = -1) -> Any:
    return ((x - x.mean(axis=axis, keepdims=True)) ** 2).mean(axis=axis) ** 0.5


def std_alone(x: Any) -> Any:
    return std(x)


def correlation(x: Any, v: Any, axis: int = -1) -> Any:
    dx, dv = (a - a.mean(axis=axis, keepdims=True) for a in (x, v))
    return (dx * dv).sum(axis=axis) / ((dx**2).sum(axis=axis) * (dv**2).sum(axis=axis)) ** 0.5


def correlation_alone(x: Any, v: Any) -> Any:
    return correlation(x, v)


def gap(x: Any, w: Any, axis: int = -1) -> Any:
    return x.mean(axis=axis) - w.mean(axis=axis)


def gap_alone(x: Any, w: Any) -> Any:
    return x.mean() - w.mean()


def ratio(x: Any, v: Any, axis: int = -1) -> Any:
    return x.mean(axis=axis) / (1 + v.mean(axis=axis) ** 2)


def host_mean(x: Any, axis: int = -1) -> Any:
    return np.asarray(x).mean(axis=axis)


CASES: dict[str, tuple[tuple[Any, ...], Callable[..., Any], dict[str, Any]]] = {
    "one sample": ((X,), std, {}),
    "one sample, NumPy's mean": ((X,), np.mean, {}),
    "one sample, NumPy's median": ((X,), np.median, {}),
    "one sample, not vectorized": ((X,), std_alone, {"vectorized": False}),
    "one sample, on the host": ((X,), host_mean, {}),
    "paired": ((X, V), correlation, {"paired": True}),
    "paired, not vectorized": ((X, V), correlation_alone, {"paired": True, "vectorized": False}),
    "paired, of two means": ((X, V), ratio, {"paired": True}),
    "two samples": ((X, W), gap, {}),
    "two samples, not vectorized": ((X, W), gap_alone, {"vectorized": False}),
    "three samples": ((X, V, W), lambda a, b, c, axis=-1: gap(a, b, axis) * c.mean(axis=axis), {}),
    "last axis of a table": ((TABLE,), std, {"axis": -1}),
    "first axis of a table": ((TABLE,), std, {"axis": 0}),
    "middle axis of a table": ((TABLE,), np.mean, {"axis": 1}),
    "table, not vectorized": ((TABLE[0],), std_alone, {"axis": 1, "vectorized": False}),
    "paired tables": ((TABLE, TABLE[::-1] ** 2), correlation, {"axis": 2, "paired": True}),
    "tables of unequal length": ((TABLE, TABLE[..., :15] + 1), gap, {"axis": -1}),
    "integers": ((np.round(10 * X).astype(int),), std, {}),
}


def quiet(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


# --- the same replicates give the same result ------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_injected_replicates(case, method):
    """With SciPy's replicates and none of our own, interval and standard error are SciPy's to 1e-10."""
    data, statistic, options = CASES[case]
    drawn = quiet(stats.bootstrap, data, statistic, n_resamples=199, method="percentile", rng=1, **options)
    for side, level in zip(SIDES, (0.95, 0.9, 0.8), strict=True):
        common = {"method": method, "alternative": side, "confidence_level": level, **options}
        theirs = quiet(stats.bootstrap, data, statistic, n_resamples=0, bootstrap_result=drawn, **common)
        ours = quiet(jaxci.bootstrap, data, statistic, n_resamples=0, bootstrap_result=drawn, **common)
        for name in ("low", "high"):
            a, b = (getattr(r.confidence_interval, name) for r in (ours, theirs))
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
        assert np.shape(ours.standard_error) == np.shape(theirs.standard_error)
        np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-12)
        np.testing.assert_array_equal(ours.bootstrap_distribution, drawn.bootstrap_distribution)


@pytest.mark.parametrize("method", METHODS)
def test_ties_with_the_estimate_count_one_half(method):
    x = np.array([1.0, 1, 2, 2, 2, 3, 4, 4, 5, 9])
    drawn = quiet(stats.bootstrap, (x,), np.median, n_resamples=499, rng=3, method="percentile")
    ours, theirs = (
        quiet(f, (x,), np.median, n_resamples=0, bootstrap_result=drawn, method=method)
        for f in (jaxci.bootstrap, stats.bootstrap)
    )
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-10)


def test_scipy_reads_our_result_and_we_read_scipys():
    mine = jaxci.bootstrap((X,), np.mean, n_resamples=199, rng=0)
    theirs = stats.bootstrap((X,), np.mean, n_resamples=0, bootstrap_result=mine)
    np.testing.assert_allclose(theirs.confidence_interval, mine.confidence_interval, rtol=1e-10)
    more = jaxci.bootstrap((X,), np.mean, n_resamples=100, bootstrap_result=mine, rng=1)
    assert more.bootstrap_distribution.shape == (299,)
    np.testing.assert_array_equal(more.bootstrap_distribution[:199], mine.bootstrap_distribution)
    assert more.standard_error == pytest.approx(more.bootstrap_distribution.std(ddof=1), rel=1e-12)


# --- the same face ---------------------------------------------------------------------------------


def test_same_attributes_and_arguments():
    mine = jaxci.bootstrap((X,), np.mean, n_resamples=99, rng=0)
    theirs = stats.bootstrap((X,), np.mean, n_resamples=99, rng=0)
    for name in ("confidence_interval", "bootstrap_distribution", "standard_error"):
        assert np.shape(getattr(mine, name)) == np.shape(getattr(theirs, name))
    assert (mine.confidence_interval.low, mine.confidence_interval.high) == tuple(mine.confidence_interval)
    ours = inspect.signature(jaxci.bootstrap).parameters
    for name, parameter in inspect.signature(stats.bootstrap).parameters.items():
        if name not in ("random_state",):
            assert name in ours, name
            assert ours[name].default == parameter.default, name
            assert ours[name].kind == parameter.kind, name


@pytest.mark.parametrize("spelling", ["BCa", "bca", "BCA", "Percentile", "BASIC"])
def test_spellings_of_methods(spelling):
    assert np.isfinite(jaxci.bootstrap((X,), np.mean, n_resamples=99, method=spelling, rng=0).standard_error)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_shapes(case):
    data, statistic, options = CASES[case]
    ours, theirs = (
        quiet(f, data, statistic, n_resamples=19, method="percentile", rng=0, **options)
        for f in (jaxci.bootstrap, stats.bootstrap)
    )
    assert ours.bootstrap_distribution.shape == theirs.bootstrap_distribution.shape
    assert np.shape(ours.confidence_interval.low) == np.shape(theirs.confidence_interval.low)
    assert np.shape(ours.standard_error) == np.shape(theirs.standard_error)
    np.testing.assert_allclose(ours.standard_error, ours.bootstrap_distribution.std(ddof=1, axis=-1), rtol=1e-12)


def test_samples_broadcast_against_each_other():
    data = (TABLE, TABLE[:1, :1, :12])
    ours, theirs = (
        f(data, gap, n_resamples=19, axis=-1, method="basic", rng=0) for f in (jaxci.bootstrap, stats.bootstrap)
    )
    assert ours.bootstrap_distribution.shape == theirs.bootstrap_distribution.shape == (3, 4, 19)


# --- independent streams ---------------------------------------------------------------------------

B = 3999


@pytest.mark.slow
@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize("case", ["one sample", "paired", "two samples", "one sample, on the host"])
def test_independent_streams_have_one_distribution(case):
    """Kolmogorov-Smirnov's distance of the two sets of replicates stays below its 1e-6 point.

    ``sqrt(ln(2 / 1e-6) / 2) sqrt(2 / B)`` = .0602 at B = 3,999 for each.
    """
    data, statistic, options = CASES[case]
    ours, theirs = (
        quiet(f, data, statistic, n_resamples=B, method="percentile", rng=5, **options)
        for f in (jaxci.bootstrap, stats.bootstrap)
    )
    found = stats.ks_2samp(ours.bootstrap_distribution, theirs.bootstrap_distribution, method="asymp")
    assert found.statistic < math.sqrt(math.log(2 / 1e-6) / 2) * math.sqrt(2 / B)
    # relative error of a standard deviation from B draws: sqrt((kurtosis - 1) / 4 / B), at most .014 here; 5 sigma
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=5 * math.sqrt(2) * 0.014)


@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ["one sample", "paired", "two samples"])
def test_independent_streams_give_close_intervals(case, method):
    """Ends differ by less than five Monte-Carlo errors of a .025 quantile for each of the two sets.

    That error is ``sqrt(p (1 - p) / B) / density``, with a normal density .043 standard errors at B = 3,999; BCa
    moves the probability, for these data to no less than .01, where it is .06.
    """
    data, statistic, options = CASES[case]
    ours, theirs = (
        quiet(f, data, statistic, n_resamples=B, method=method, rng=6, **options)
        for f in (jaxci.bootstrap, stats.bootstrap)
    )
    bound = 5 * math.sqrt(2) * (0.06 if method == "BCa" else 0.045) * theirs.standard_error
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=0, atol=bound)


def test_paired_samples_share_their_rows():
    shifted = jaxci.bootstrap(
        (X, X + 3),
        lambda a, b, axis=-1: (b - a).mean(axis=axis),
        n_resamples=99,
        paired=True,
        method="percentile",
        rng=0,
    )
    np.testing.assert_allclose(shifted.bootstrap_distribution, 3, rtol=1e-12)
    apart = jaxci.bootstrap((X, X + 3), gap, n_resamples=99, method="percentile", rng=0)
    assert apart.bootstrap_distribution.std() > 0.1


@pytest.mark.slow
def test_batches_and_roads_do_not_change_a_draw():
    """Device, host, vectorized or not, in whatever batches: one seed, one set of resamples."""
    whole = jaxci.bootstrap((X,), std, n_resamples=99, method="percentile", rng=4).bootstrap_distribution
    for statistic, options in (
        (std, {"batch": 10}),
        (std, {"batch": 1}),
        (std_alone, {"vectorized": False}),
        (np.std, {}),
        (lambda x, axis=-1: np.asarray(x).std(axis=axis), {}),
        (lambda x: float(np.asarray(x).std()), {}),
    ):
        found = quiet(jaxci.bootstrap, (X,), statistic, n_resamples=99, method="percentile", rng=4, **options)
        np.testing.assert_allclose(found.bootstrap_distribution, whole, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("road", ["device", "host"])
def test_several_values_for_each_slice(road, vectorized):
    """Their axes come first, as in SciPy: each value's interval is that of the value alone."""
    library = jnp if road == "device" else np

    def values(x, axis=-1):
        x = np.asarray(x) if road == "host" else x
        return library.stack([[x.mean(axis=axis), x.std(axis=axis)], [x.min(axis=axis), x.max(axis=axis)]])

    def as_lists(x, axis=-1):
        x = np.asarray(x) if road == "host" else x
        return [[x.mean(axis=axis), x.std(axis=axis)], (x.min(axis=axis), x.max(axis=axis))]

    options = {"n_resamples": 99, "vectorized": vectorized, "axis": -1, "rng": 3}
    for statistic in (as_lists,) if road == "device" else (lambda x, axis=-1: np.array(as_lists(x, axis)), as_lists):
        for batch in (None, 7, 99):
            found = quiet(jaxci.bootstrap, (TABLE,), statistic, batch=batch, **options)
            assert found.bootstrap_distribution.shape == (2, 2, 3, 4, 99)
            theirs = quiet(
                stats.bootstrap,
                (TABLE,),
                lambda x, axis=-1: np.array(as_lists(np.asarray(x), axis)),
                n_resamples=0,
                axis=-1,
                bootstrap_result=found,
            )
            np.testing.assert_allclose(found.confidence_interval, theirs.confidence_interval, rtol=1e-9)
            for at, alone in (((0, 0), np.mean), ((0, 1), np.std), ((1, 0), np.min), ((1, 1), np.max)):
                one = quiet(jaxci.bootstrap, (TABLE,), alone, n_resamples=99, axis=-1, rng=3)
                np.testing.assert_allclose(found.bootstrap_distribution[at], one.bootstrap_distribution, rtol=1e-12)
                np.testing.assert_allclose(found.standard_error[at], one.standard_error, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_integers_stay_integers(kind):
    rows = np.arange(40).astype(kind)
    plain = jaxci.bootstrap((X,), np.mean, n_resamples=99, rng=0)
    for statistic in (lambda i: X[i].mean(), lambda i: jnp.asarray(X)[i].mean()):
        found = quiet(jaxci.bootstrap, (rows,), statistic, n_resamples=99, rng=0)
        np.testing.assert_allclose(found.confidence_interval, plain.confidence_interval, rtol=1e-10)


def test_booleans_stay_booleans():
    options = {"paired": True, "n_resamples": 99, "rng": 0}
    host = quiet(jaxci.bootstrap, (X, X > 1), lambda x, case: x[case].mean() - x[~case].mean(), **options)
    device = jaxci.bootstrap((X, X > 1), lambda x, case: x.mean(where=case) - x.mean(where=~case), **options)
    np.testing.assert_allclose(host.confidence_interval, device.confidence_interval, rtol=1e-10)


def test_means_of_integers_and_booleans_are_in_double_precision():
    for data in (np.arange(40) % 3 == 0, (np.arange(40) % 7).astype(np.int32)):
        found = jaxci.bootstrap((data,), np.mean, n_resamples=99, rng=0)
        plain = jaxci.bootstrap((data.astype(float),), np.mean, n_resamples=99, rng=0)
        np.testing.assert_allclose(found.bootstrap_distribution, plain.bootstrap_distribution, rtol=1e-14)
        np.testing.assert_allclose(found.confidence_interval, plain.confidence_interval, rtol=1e-12)


def test_a_result_is_extended_as_if_by_one_longer_call():
    """Replicate i belongs to the seed, whichever call draws it: SciPy's ``test_re_bootstrap``."""
    longer = jaxci.bootstrap((X,), np.mean, n_resamples=300, confidence_level=0.9, rng=7)
    first = jaxci.bootstrap((X,), np.mean, n_resamples=100, method="percentile", rng=7)
    found = jaxci.bootstrap((X,), np.mean, n_resamples=200, confidence_level=0.9, rng=7, bootstrap_result=first)
    np.testing.assert_allclose(found.bootstrap_distribution, longer.bootstrap_distribution, rtol=1e-14)
    np.testing.assert_allclose(found.confidence_interval, longer.confidence_interval, rtol=1e-13)
    assert found.standard_error == pytest.approx(longer.standard_error, rel=1e-13)


def test_a_result_of_other_data_is_not_extended():
    """An estimate tells other data, but for rounding; a result of SciPy has none."""
    options = {"n_resamples": 20, "rng": 7}
    first = jaxci.bootstrap((X,), np.mean, **options)
    refused = (
        rf"^bootstrap_result must be of the same data and statistic; its estimate is {X.mean():.6}.*, that of data is"
    )
    with pytest.raises(ValueError, match=rf"{refused} {X.mean() + 1:.6}"):
        jaxci.bootstrap((X + 1,), np.mean, bootstrap_result=first, **options)
    middle = X - X.mean()
    for offset in (0.0, 1e9):
        found = jaxci.bootstrap((middle + offset,), np.mean, **options)
        summed = quiet(
            jaxci.bootstrap, (middle + offset,), lambda x: sum(x) / len(x), bootstrap_result=found, **options
        )
        assert summed.bootstrap_distribution.shape == (40,)
    rows = jaxci.bootstrap((TABLE,), np.mean, axis=-1, **options)
    other = TABLE.copy()
    other[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match="that of data is nan"):
        jaxci.bootstrap((other,), np.mean, axis=-1, bootstrap_result=rows, **options)
    again = quiet(jaxci.bootstrap, (other,), np.mean, axis=-1, **options)
    assert quiet(jaxci.bootstrap, (other,), np.mean, axis=-1, bootstrap_result=again, **options).estimate.shape == (
        3,
        4,
    )
    theirs = stats.bootstrap((X,), np.mean, n_resamples=20)
    assert jaxci.bootstrap((X + 1,), np.mean, bootstrap_result=theirs, **options).bootstrap_distribution.shape == (40,)


def test_statistics_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"statistic must reduce axis and keep .* \(3, 4\), last; got shape \(\)"):
        jaxci.bootstrap((TABLE,), lambda x, axis: x.mean(), axis=-1, n_resamples=9)
    with pytest.raises(TypeError, match="statistic must return a number or an array of numbers; got 'large'"):
        quiet(jaxci.bootstrap, (X,), lambda x: "large", n_resamples=9)
    with pytest.raises(TypeError, match="statistic must return a number or an array of numbers; got None"):
        quiet(jaxci.bootstrap, (X,), lambda x: None, n_resamples=9)
    with pytest.raises(TypeError, match=r"statistic must return a number or an array of numbers; got .*complex128"):
        quiet(jaxci.bootstrap, (X,), lambda x, axis: jnp.mean(x * 1j, axis=axis), n_resamples=9)
    for wrong in (lambda x, axis: jnp.mean(x, axis=axis, keepdims=True), lambda x, axis: x, lambda x, axis: x.mean()):
        with pytest.raises(ValueError, match=r"^statistic must reduce axis, without keepdims; got shape \((9, \d+)?\)"):
            jaxci.bootstrap((X,), wrong, n_resamples=9)
    earlier = jaxci.bootstrap((TABLE[0],), np.mean, axis=-1, n_resamples=9)
    with pytest.raises(ValueError, match=r"^bootstrap_result must be of .* shape \(\); got .* shape \(4, 9\)"):
        jaxci.bootstrap((X,), np.mean, n_resamples=9, bootstrap_result=earlier)
    with pytest.raises(ValueError, match=r"samples must broadcast but for axis; got shapes \[\(3, 20\), \(4, 20\)\]"):
        jaxci.bootstrap((TABLE[0, :3], TABLE[0, :4]), gap, axis=-1, n_resamples=9)


def test_samples_that_cannot_be_read_are_named():
    with pytest.raises(ValueError, match=r"^data\[1\] must hold no masked values; 1 of 3 .* in row 2$"):
        jaxci.bootstrap((X, np.ma.masked_array([1.0, 2.0, 99.0], [0, 0, 1])), gap, n_resamples=9)
    with pytest.raises(ValueError, match=r"^data\[0\] must be an array with rows of one length; got \[\[1"):
        jaxci.bootstrap(([[1, 2], [3]],), np.mean, n_resamples=9)


# --- warnings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [np.full(20, 2.5), np.r_[np.zeros(19), 1.0]])
def test_degenerate_data(data):
    """Where SciPy's BCa interval is NaN, ours is, with SciPy's warning class."""
    drawn = quiet(stats.bootstrap, (data,), np.median, n_resamples=99, rng=0, method="percentile")
    with pytest.warns(DegenerateDataWarning):
        theirs = stats.bootstrap((data,), np.median, n_resamples=0, bootstrap_result=drawn)
    with pytest.warns(DegenerateDataWarning, match="BCa"):
        ours = jaxci.bootstrap((data,), np.median, n_resamples=0, bootstrap_result=drawn)
    np.testing.assert_array_equal(np.isnan(ours.confidence_interval), np.isnan(theirs.confidence_interval))


def test_degenerate_entries_of_a_table_leave_the_others_alone():
    table = np.stack([X, np.full(40, 2.0)])
    with pytest.warns(DegenerateDataWarning):
        ours = jaxci.bootstrap((table,), np.mean, axis=1, n_resamples=199, rng=0)
    assert np.isfinite([end[0] for end in ours.confidence_interval]).all()
    assert np.isnan([end[1] for end in ours.confidence_interval]).all()


@pytest.mark.parametrize("method", METHODS)
def test_nan_in_the_data_is_not_silent(method):
    bad = X.copy()
    bad[3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # SciPy 1.15 says so of BCa alone
        theirs = stats.bootstrap((bad,), np.mean, n_resamples=99, method=method, rng=0)
    assert np.isnan(theirs.confidence_interval).all()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ours = jaxci.bootstrap((bad,), np.mean, n_resamples=99, method=method, rng=0)
            said = " ".join(str(w.message) for w in caught)
            assert np.isnan(ours.confidence_interval).all()
        except ValueError as error:
            said = str(error)
    assert "NaN" in said
    assert "leave-one-out values do not vary" not in said


def test_infinite_values_are_told_of():
    with pytest.warns(DegenerateDataWarning, match="the statistic is infinite in 99 of 99 resamples") as said:
        found = jaxci.bootstrap((1e200 * X,), np.var, n_resamples=99, rng=0)
    assert len(said) == 1
    assert np.isnan(found.confidence_interval).all()


@pytest.mark.slow
def test_warns_once_where_the_statistic_runs_on_the_host():
    with pytest.warns(JaxciWarning, match="host") as caught:
        jaxci.bootstrap((X,), host_mean, n_resamples=99, rng=0)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for statistic in (np.mean, np.std, np.var, np.median, np.min, np.max, std, lambda x: jnp.sort(x)[3]):
            jaxci.bootstrap((X,), statistic, n_resamples=99, method="percentile", rng=0)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize(
    "data", [X, np.stack([X, V]), np.where(np.arange(len(X)) == 3, np.nan, X)], ids=["1d", "2d", "nan"]
)
def test_numpys_median_stays_on_the_host_of_a_cpu_with_the_answers_of_jax(data, method):
    found, traced = (
        quiet(jaxci.bootstrap, (data,), statistic, axis=-1, n_resamples=499, method=method, rng=0, batch=100)
        for statistic in (np.median, jnp.median)
    )
    np.testing.assert_allclose(found.bootstrap_distribution, traced.bootstrap_distribution, rtol=1e-15)
    np.testing.assert_allclose(found.confidence_interval, traced.confidence_interval, rtol=1e-13)


def test_scipy_functions_work_on_the_host():
    found = quiet(
        jaxci.bootstrap, (X, V), lambda a, b: stats.spearmanr(a, b).statistic, n_resamples=99, paired=True, rng=0
    )
    theirs = stats.bootstrap(
        (X, V),
        lambda a, b: stats.spearmanr(a, b).statistic,
        n_resamples=0,
        paired=True,
        vectorized=False,
        bootstrap_result=found,
    )
    np.testing.assert_allclose(found.confidence_interval, theirs.confidence_interval, rtol=1e-10)


# --- the other road to BCa -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean", "std", "var", "trimmed_mean"])
def test_bca_of_interval_with_the_jackknife_acceleration_is_scipys(name):
    """The replicates of :func:`jaxci.interval` in SciPy's hands give the same BCa interval."""
    function = {
        "mean": np.mean,
        "std": np.std,
        "var": np.var,
        "trimmed_mean": lambda x, axis=-1: stats.trim_mean(x, 0.25, axis=axis),
    }[name]
    ours = jaxci.interval(name, X, method="bca", acceleration="jackknife", n_resamples=999, rng=0)
    theirs = stats.bootstrap((X,), function, n_resamples=0, bootstrap_result=ours)
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-9)


def test_bca_of_a_median_with_nan_where_scipy_has_it():
    x = np.round(X, 0)
    ours = quiet(
        jaxci.interval, "median", x, method="bca", acceleration="jackknife", degenerate="nan", n_resamples=199, rng=0
    )
    theirs = quiet(stats.bootstrap, (x,), np.median, n_resamples=0, bootstrap_result=ours)
    np.testing.assert_array_equal(np.isnan(ours.confidence_interval), np.isnan(theirs.confidence_interval))


# --- jackknife -------------------------------------------------------------------------------------


def by_hand(data: tuple[np.ndarray, ...], statistic: Callable[..., float], d: int) -> dict[str, Any]:
    """Efron and Tibshirani (1993), eqs. 11.4 to 11.10, with Shao and Wu's factor (n - d) / d for d > 1."""
    n = len(data[0])
    whole = statistic(*data)
    left = np.array([statistic(*(np.delete(x, s, axis=0) for x in data)) for s in itertools.combinations(range(n), d)])
    factor = (n - d) / d
    return {
        "estimate": whole,
        "bias": factor * (left.mean() - whole),
        "bias_corrected": whole - factor * (left.mean() - whole),
        "standard_error": math.sqrt(factor * np.mean((left - left.mean()) ** 2)),
        "pseudo_values": (n * whole - (n - d) * left) / d,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "named", "function"),
    [
        ((X[:12],), "mean", np.mean),
        ((X[:12],), "std", np.std),
        ((X[:12],), "var", np.var),
        ((X[:12],), "median", np.median),
        ((X[:12], V[:12]), "mean_squared_error", lambda a, b: np.mean((a - b) ** 2)),
        ((X[:12], V[:12]), "pearsonr", lambda a, b: np.corrcoef(a, b)[0, 1]),
    ],
)
@pytest.mark.parametrize("delete", [1, 2, 3])
def test_jackknife_by_hand(data, named, function, delete):
    expected = by_hand(data, function, delete)
    for statistic in (named, function):
        found = quiet(jaxci.jackknife, data if len(data) > 1 else data[0], statistic, delete=delete)
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-12, err_msg=name)
        assert found.delete == delete


def test_jackknife_by_hand_values():
    """x = 1 2 4: leave-one-out means 3, 2.5, 1.5; s = sqrt(7/3); the pseudo-values of a mean are the data."""
    found = jaxci.jackknife(np.array([1.0, 2.0, 4.0]), "mean")
    assert found.estimate == pytest.approx(7 / 3, rel=1e-14)
    assert found.bias == pytest.approx(0, abs=1e-14)
    assert found.standard_error == pytest.approx(math.sqrt(7 / 3 / 3), rel=1e-14)
    np.testing.assert_allclose(found.pseudo_values, [1, 2, 4], rtol=1e-14)
    # variance with divisor n: leave-one-out 1, 9/4, 1/4, whole 14/9; bias 2 (7/6 - 14/9) = -7/9, corrected 7/3
    found = jaxci.jackknife(np.array([1.0, 2.0, 4.0]), "var")
    assert found.bias == pytest.approx(-7 / 9, rel=1e-12)
    assert found.bias_corrected == pytest.approx(7 / 3, rel=1e-12)


def test_jackknife_of_rows_of_a_table():
    table = TABLE[0].T
    found = jaxci.jackknife(table, lambda t: np.linalg.norm(np.mean(t, axis=0)))
    expected = by_hand((table,), lambda t: np.linalg.norm(np.mean(t, axis=0)), 1)
    np.testing.assert_allclose(found.pseudo_values, expected["pseudo_values"], rtol=1e-12)
