"""Leave-one-out values by weights, their acceleration, and the subsets of a delete-d jackknife."""

import itertools
import math
import warnings

import numpy as np
import pytest
from programs import influence, row_order, table_program, unit_program
from scipy import stats
from sklearn import metrics as sk

import jaxci
from jaxci.inference import replicate
from jaxci.inference.replicate import bytes_per_replicate, deleted_values, subsets
from jaxci.inference.slopes import jackknife_acceleration
from jaxci.statistics.averaged import F1
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, Std
from jaxci.statistics.sums import Features

pytestmark = pytest.mark.usefixtures("float64")

N = 21
PROBABILITIES = (0.0, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 0.95, 1.0)


def left_out(x):
    return [np.delete(x, i) for i in range(len(x))]


@pytest.mark.parametrize("q", PROBABILITIES)
def test_quantile_left_out_equals_brute_force(q):
    rng = np.random.default_rng(0)
    for n in (*range(2, 31), 99, 100, 101, 102):
        for x in (np.sort(rng.normal(size=n)), np.sort(rng.integers(0, 4, n).astype(float))):
            expected = np.sort([np.quantile(rest, q) for rest in left_out(x)])
            values, multiplicity = Quantile(q).left_out(x)
            assert multiplicity.sum() == n
            assert np.all(multiplicity >= 0)
            got = np.sort(np.repeat(values, multiplicity.astype(int)))
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12, err_msg=f"n = {n}")


def test_quantile_left_out_of_the_median_equals_brute_force():
    for n in range(2, 30):
        x = np.sort(np.random.default_rng(n).exponential(size=n))
        values, multiplicity = Median().left_out(x)
        expected = np.sort([np.median(rest) for rest in left_out(x)])
        np.testing.assert_allclose(np.sort(np.repeat(values, multiplicity.astype(int))), expected, rtol=1e-13)


def test_acceleration_is_efrons_formula():
    values = np.random.default_rng(1).gamma(1.5, size=40)
    d = values.mean() - values
    expected = np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)
    assert jackknife_acceleration(values, np.ones(40)) == pytest.approx(expected, rel=1e-12)
    assert jackknife_acceleration(-values, np.ones(40)) == pytest.approx(-expected, rel=1e-12)
    assert jackknife_acceleration(1e6 + 3 * values, np.ones(40)) == pytest.approx(expected, rel=1e-8)


def test_acceleration_of_a_mean_is_its_skewness():
    x = np.random.default_rng(2).exponential(size=50)
    found = jackknife_acceleration((x.sum() - x) / 49, np.ones(50))
    assert found == pytest.approx(stats.skew(x) / 6 / np.sqrt(50), rel=1e-11)


def brute_error(values):
    """The jackknife error of one value a unit."""
    return np.sqrt((len(values) - 1) * values.var())


def test_the_error_of_average_precision_is_from_rows_left_out():
    rng = np.random.default_rng(3)
    y, score = np.arange(45) % 3 == 0, np.round(rng.normal(size=45) + (np.arange(45) % 3 == 0), 1)
    kept = [np.arange(45) != i for i in range(45)]
    values = np.array([sk.average_precision_score(y[rows], score[rows]) for rows in kept])
    result = jaxci.interval("average_precision", 1 * y, score, method="delta", scale="logit", error="jackknife")
    assert result.standard_error == pytest.approx(brute_error(values), rel=1e-12)
    whole = sk.average_precision_score(y, score)
    logit = np.log(whole / (1 - whole)) + np.array([-1, 1]) * stats.norm.ppf(0.975) * brute_error(values) / (
        whole * (1 - whole)
    )
    np.testing.assert_allclose(result.confidence_interval, 1 / (1 + np.exp(-logit)), rtol=1e-10)


@pytest.mark.parametrize("given", [("groups",), ("groups", "sample_weight"), ("sample_weight",), ()])
def test_the_error_by_the_jackknife_leaves_out_units(given):
    rng = np.random.default_rng(4)
    y = np.arange(48) % 2
    guess = np.where(rng.random(48) < 0.3, 1 - y, y)
    units = np.arange(48) // 4 if "groups" in given else np.arange(48)
    weights = rng.uniform(0.5, 2, 48) if "sample_weight" in given else np.ones(48)
    known = {"groups": units, "sample_weight": weights}
    values = []
    for unit in range(units.max() + 1):
        rows = units != unit
        values.append(sk.f1_score(y[rows], guess[rows], sample_weight=weights[rows]))
    expected = brute_error(np.array(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        result = jaxci.interval("f1", y, guess, method="delta", error="jackknife", **{k: known[k] for k in given})
    assert result.standard_error == pytest.approx(expected, rel=1e-11)


def test_what_goes_with_units_left_out_is_said():
    y, guess = np.arange(40) % 2, np.arange(40) % 3 % 2
    with pytest.raises(ValueError, match="cannot use strata"):
        jaxci.interval("f1", y, guess, method="delta", error="jackknife", strata=y)
    with pytest.raises(ValueError, match="degrees_of_freedom must be 'groups' with error='jackknife'"):
        jaxci.interval("f1", y, guess, method="delta", error="jackknife", degrees_of_freedom="satterthwaite")


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_rounding_of_units_left_out_is_no_variation():
    x = np.random.default_rng(6).normal(size=1000)
    result = jaxci.interval("pearsonr", x, 3 * x + 0.1, method="delta", error="jackknife")
    assert result.standard_error == 0


def test_a_mean_has_the_error_that_students_interval_reads():
    x = np.random.default_rng(5).gamma(2.0, size=23)
    result = jaxci.interval("mean", x, method="delta", error="jackknife", use_t=True)
    np.testing.assert_allclose(
        result.confidence_interval, jaxci.interval("mean", x, method="t").confidence_interval, rtol=1e-10
    )


def test_multiplicity_repeats_a_value():
    values, multiplicity = np.array([1.0, 2.5, 7.0]), np.array([4.0, 0.0, 2.0])
    repeated = np.repeat(values, multiplicity.astype(int))
    assert jackknife_acceleration(values, multiplicity) == pytest.approx(
        jackknife_acceleration(repeated, np.ones(6)), rel=1e-12
    )


@pytest.mark.parametrize("value", [0.0, 3.7, -1e9, 1 / 3])
def test_acceleration_is_undefined_where_nothing_varies(value):
    assert math.isnan(jackknife_acceleration(np.full(10, value), np.ones(10)))
    rounding = value + np.spacing(value) * (np.arange(10) % 2)
    assert math.isnan(jackknife_acceleration(rounding, np.ones(10))) or value == 0.0
    assert math.isnan(jackknife_acceleration(np.array([value, value + 5.0]), np.array([10.0, 0.0])))


def test_undefined_leave_one_out_value_makes_the_acceleration_undefined():
    assert math.isnan(jackknife_acceleration(np.array([1.0, np.nan, 2.0]), np.ones(3)))


def values_sample(n=N):
    return Sample(values=np.random.default_rng(3).gamma(2.0, size=n))


SUMMARIES = {
    "mean": (Mean(), np.mean),
    "std": (Std(), np.std),
    "median": (Median(), np.median),
    "quantile": (Quantile(q=0.8), lambda x: np.quantile(x, 0.8)),
    "iqr": (IQR(), stats.iqr),
    "trimmed_mean": (TrimmedMean(), lambda x: stats.trim_mean(x, 0.25)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMMARIES)
def test_deleted_values_equal_brute_force(name):
    statistic, function = SUMMARIES[name]
    sample = values_sample()
    program = unit_program([statistic], sample)
    x = sample.values[row_order(statistic, sample, Layout(N))]
    got = deleted_values(program, np.arange(N)[:, None])[0]
    np.testing.assert_allclose(got, [function(rest) for rest in left_out(x)], rtol=1e-12)
    pairs = subsets(N, 2)
    got = deleted_values(program, pairs)[0]
    np.testing.assert_allclose(got, [function(np.delete(x, pair)) for pair in pairs], rtol=1e-12)


def test_values_of_other_data_of_the_same_size_are_not_traced_again(monkeypatch):
    traced, sums = [], Features.sums
    monkeypatch.setattr(Features, "sums", lambda self, weights: traced.append(1) or sums(self, weights))
    for seed in range(3):
        sample = Sample(values=np.random.default_rng(seed).gamma(2.0, size=N))
        deleted_values(unit_program([Std()], sample), np.arange(N)[:, None])
        if seed == 0:
            traced.clear()
    assert traced == []


def test_deleted_values_of_rankings_and_cells_equal_brute_force():
    rng = np.random.default_rng(4)
    y = np.resize([0, 1, 1], N).astype(np.int32)
    s = np.round(rng.random(N), 1)
    p = (s > 0.5).astype(np.int32)
    sample = Sample(y_true=y, y_pred=p, y_score=s, n_classes=2)
    program = unit_program([F1(), RocAuc()], sample)
    one = np.arange(N)[:, None]
    f1 = [sk.f1_score(np.delete(y, i), np.delete(p, i)) for i in range(N)]
    auc = [sk.roc_auc_score(np.delete(y, i), np.delete(s, i)) for i in range(N)]
    order = row_order(RocAuc(), sample, Layout(N))
    found = deleted_values(program, one)
    np.testing.assert_allclose(found[0], f1, rtol=1e-12)
    np.testing.assert_allclose(found[1], np.array(auc)[order], rtol=1e-12)

    cells, _ = table_program([F1()], sample)
    occupied = np.flatnonzero(np.asarray(cells.multiplicity) > 0)
    left = deleted_values(cells, occupied[:, None])[0]
    multiplicity = np.asarray(cells.multiplicity)[occupied]
    assert multiplicity.sum() == N
    np.testing.assert_allclose(np.sort(np.repeat(left, multiplicity.astype(int))), np.sort(f1), rtol=1e-12)


def test_deleting_a_unit_deletes_its_cluster():
    sample = values_sample()
    units = (np.arange(N) % 6).astype(np.int32)
    program = unit_program([Mean(), Std()], sample, Layout(N, units))
    for got, function in zip(deleted_values(program, np.arange(6)[:, None]), (np.mean, np.std), strict=True):
        np.testing.assert_allclose(got, [function(sample.values[units != u]) for u in range(6)], rtol=1e-12)


@pytest.mark.slow
def test_deleted_values_do_not_depend_on_the_chunk(monkeypatch):
    program = unit_program([Mean(), Median()], values_sample())
    one = np.arange(N)[:, None]
    whole = deleted_values(program, one)
    per = bytes_per_replicate(program)
    for size in (1, 4):
        monkeypatch.setattr(replicate, "default_budget", lambda size=size: size * per)
        parts = deleted_values(program, one)
        np.testing.assert_allclose(parts, whole, rtol=1e-14)


def test_deleted_sums_do_not_depend_on_the_chunk(monkeypatch):
    y = np.resize([0, 1, 1], N).astype(np.int32)
    sample = Sample(y_true=y, y_pred=np.roll(y, 1), n_classes=2)
    for program in (unit_program([Mean(), Std()], values_sample()), unit_program([F1()], sample)):
        pairs = subsets(N, 2)
        whole = deleted_values(program, pairs)
        for budget in (1, 1000):
            monkeypatch.setattr(replicate, "_budget", lambda program, budget=budget: budget)
            np.testing.assert_allclose(deleted_values(program, pairs[:30]), whole[:, :30], rtol=1e-14)
        monkeypatch.undo()


@pytest.mark.parametrize("delete", [1, 2])
@pytest.mark.parametrize("clustered", [False, True])
def test_what_is_left_out_of_sums_is_found_in_linear_time(monkeypatch, delete, clustered):
    """The sums of all rows are read a few times, not once for every few values."""
    calls, without = [], replicate._without
    monkeypatch.setattr(replicate, "_without", lambda *given: calls.append(given) or without(*given))
    n, size = 40_000, 2 if clustered else 1
    x = np.random.default_rng(7).gamma(2.0, size=n)
    units = (np.arange(n) // size).astype(np.int32)
    program = unit_program([Mean()], Sample(values=x), Layout(n, units) if clustered else None)
    deleted = np.arange(n // size).reshape(-1, delete)
    left = deleted_values(program, deleted)[0]
    np.testing.assert_allclose(left, (x.sum() - x.reshape(-1, size * delete).sum(axis=1)) / (n - size * delete))
    assert len(calls) <= 2


def test_left_out_class_is_undefined_not_an_error():
    y = np.zeros(8, np.int32)
    y[5] = 1
    sample = Sample(y_true=y, y_pred=y, y_score=np.linspace(0, 1, 8), n_classes=2)
    left = deleted_values(unit_program([RocAuc()], sample), np.arange(8)[:, None])[0]
    np.testing.assert_array_equal(np.isnan(left), (y == 1)[row_order(RocAuc(), sample, Layout(8))])


@pytest.mark.parametrize(("n", "delete"), [(5, 1), (5, 2), (6, 3), (7, 7), (9, 4)])
def test_subsets_are_all_combinations_in_order(n, delete):
    found = subsets(n, delete)
    assert found.shape == (math.comb(n, delete), delete)
    np.testing.assert_array_equal(found, list(itertools.combinations(range(n), delete)))


def test_too_many_subsets_are_refused_with_their_number():
    with pytest.raises(ValueError, match=r"delete = 10 of n = 60 means 75,394,027,566 subsets, more than 2,000,000"):
        subsets(60, 10)


def test_influence_acceleration_is_the_limit_of_the_jackknife_one():
    x = np.random.default_rng(6).gamma(2.0, size=1500)
    program = unit_program([Std()], Sample(values=x))
    left = deleted_values(program, np.arange(1500)[:, None])[0]
    by_jackknife = jackknife_acceleration(left, np.ones(1500))
    assert influence(program).accelerations[0] == pytest.approx(by_jackknife, rel=0.02)
