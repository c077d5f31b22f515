"""Differences of two models are interval methods: shares answer alike, methods are values, a law is computed once."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.inference import evidence
from jaxci.intervals.auc import DeLong, delong_covariance
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.bootstrap import BCa
from jaxci.intervals.exact import Exact
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.proportion_difference import Newcombe
from jaxci.intervals.registry import applicable_methods, difference_methods
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.registry import statistic_by_name

N, B = 60, 199
RNG = np.random.default_rng(4)
Y = np.arange(N) % 3
A = np.where(RNG.random(N) < 0.8, Y, RNG.integers(0, 3, N))
C = np.where(RNG.random(N) < 0.5, Y, RNG.integers(0, 3, N))
BINARY = np.arange(N) % 2
SCORES = [BINARY + spread * RNG.normal(size=N) for spread in (0.8, 1.2)]
X = [RNG.gamma(2.0, size=N), RNG.gamma(2.2, size=N)]
SHARES = ("accuracy", "f1_micro", "precision_micro", "recall_micro")

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def ends(result):
    return np.array([result.estimate, *result.confidence_interval])


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_shares_of_all_rows_answer_alike(alternative):
    first, *others = (jaxci.compare(metric, Y, A, C, alternative=alternative) for metric in SHARES)
    assert first.method == Newcombe()
    for result in others:
        np.testing.assert_allclose(ends(result), ends(first), rtol=1e-14)
        for name in ("standard_error", "pvalue", "test", "method", "reason", "conclusion"):
            assert getattr(result, name) == getattr(first, name)


def test_an_error_rate_answers_as_the_accuracy_with_its_sign_turned():
    right, wrong = jaxci.compare("accuracy", Y, A, C), jaxci.compare("error_rate", Y, A, C)
    np.testing.assert_allclose(ends(wrong), -ends(right)[[0, 2, 1]], rtol=1e-14)
    assert (wrong.method, wrong.test, wrong.pvalue) == (right.method, right.test, right.pvalue)
    assert wrong.standard_error == pytest.approx(right.standard_error, rel=1e-14)
    assert wrong.conclusion == right.conclusion == "a is better than b"
    less, greater = (
        jaxci.compare(metric, Y, A, C, alternative=side).pvalue
        for metric, side in (("error_rate", "less"), ("accuracy", "greater"))
    )
    assert less == greater


def test_outcomes_are_counted_in_the_table_of_both_predictions():
    right_a, right_b = A == Y, C == Y
    only_a, only_b = np.sum(right_a & ~right_b), np.sum(right_b & ~right_a)
    result = jaxci.compare("f1_micro", Y, A, C)
    assert result.pvalue == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-12)
    apart = right_a.astype(float) - right_b
    assert result.standard_error == pytest.approx(apart.std() / np.sqrt(N), rel=1e-12)


def test_methods_are_taken_as_objects():
    by_object = jaxci.compare("f1_macro", Y, A, C, method=BCa(acceleration="jackknife"), n_resamples=B, rng=0)
    by_name = jaxci.compare("f1_macro", Y, A, C, method="bca", acceleration="jackknife", n_resamples=B, rng=0)
    assert by_object.confidence_interval == by_name.confidence_interval
    assert by_object.method == by_name.method == BCa(acceleration="jackknife")
    assert jaxci.compare("accuracy", Y, A, C, method=Newcombe()).reason == "asked for"
    assert jaxci.compare("roc_auc", BINARY, *SCORES, method=DeLongDifference()).method == "delong"


def test_methods_of_one_statistic_are_refused():
    for method in (Wilson(), DeLong()):
        with pytest.raises(ValueError, match="method must be one for a difference of two models: newcombe, delong"):
            jaxci.compare("accuracy", Y, A, C, method=method)
    with pytest.raises(ValueError, match="method must be"):
        jaxci.compare("accuracy", Y, A, C, method="wilson")
    for method in (Newcombe(), DeLongDifference()):
        with pytest.raises(
            ValueError, match=f"method '{method.name}' cannot serve 'accuracy': .* compares two models'"
        ):
            jaxci.interval("accuracy", Y, A, method=method)


def test_delong_is_that_of_the_covariance():
    areas, covariance = delong_covariance(BINARY, SCORES)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    result = jaxci.compare("roc_auc", BINARY, *SCORES)
    assert result.standard_error == pytest.approx(error, rel=1e-12)
    assert (result.estimate_a, result.estimate_b) == pytest.approx(tuple(areas), rel=1e-12)
    assert result.pvalue == pytest.approx(2 * stats.norm.sf(abs(areas[0] - areas[1]) / error), rel=1e-9)
    assert result.test == "DeLong"


DATA = {"accuracy": (Y, A, C), "roc_auc": (BINARY, *SCORES), "mean": (None, *X)}
SERVED = {
    method: metric for metric in DATA for method in applicable_methods(paired_difference(statistic_by_name(metric)))
}
"""A metric for each method, the mean where that will do."""


def test_every_method_of_differences_serves_something():
    assert set(SERVED) == set(difference_methods())


@pytest.mark.parametrize(("method", "metric"), SERVED.items())
def test_two_sided_p_values_double_the_smaller_one_sided_one(method, metric):
    settings = {"method": method, "n_resamples": B, "rng": 2}
    sides = ("two-sided", "less", "greater")
    two, less, greater = (jaxci.compare(metric, *DATA[metric], alternative=side, **settings) for side in sides)
    assert two.test == less.test == greater.test
    assert two.pvalue == pytest.approx(min(1.0, 2 * min(less.pvalue, greater.pvalue)), rel=1e-9)
    assert (greater.pvalue < less.pvalue) == (two.estimate > 0)


def test_the_exact_law_of_a_difference_is_computed_once(monkeypatch):
    calls = []
    law = evidence.mean_distribution

    def counted(values):
        calls.append(len(values))
        return law(values)

    monkeypatch.setattr(evidence, "mean_distribution", counted)
    result = jaxci.compare("mean", None, *X, method=Exact(endpoints="bca"))
    assert calls == [N]
    assert result.test == "exact bootstrap: mass beyond 0"
    expected = law(X[0] - X[1]).share_below(0.0)
    assert result.pvalue == pytest.approx(2 * min(expected, 1 - expected), rel=1e-12)


@pytest.mark.parametrize("metric", ["f1_macro", "roc_auc_ovr"])
def test_classes_absent_from_resamples_are_reported_as_by_interval(metric):
    truth = np.where(np.arange(N) == 5, 2, BINARY)
    models = (truth, np.roll(truth, 1)) if metric == "f1_macro" else (np.eye(3)[truth], np.eye(3)[np.roll(truth, 1)])
    settings = {"method": "percentile", "n_resamples": B, "rng": 0}

    def counted(call):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            result = call()
        pattern = r"(?:a class was absent from|the statistic was undefined in) (\d+) of 199 resamples"
        (said,) = {text for text in result.warnings if re.search(pattern, text)}
        assert said in {str(one.message) for one in heard}
        return int(re.search(pattern, said)[1]), re.sub(r"\d+", "", said)

    alone, words = counted(lambda: jaxci.interval(metric, truth, models[0], **settings))
    both, same_words = counted(lambda: jaxci.compare(metric, truth, *models, **settings))
    # a resample lacks the one row with probability (1 - 1/60)^60 = 0.365, which is 73 of 199; four sigma are 27
    assert words == same_words
    assert abs(alone - 73) < 27
    assert abs(both - 73) < 27
