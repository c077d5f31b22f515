"""The public verbs as their users see them: results, printing, repetition, options, choices and conclusions."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci import JaxciWarning
from jaxci.inference import choice
from jaxci.intervals.cards import Cards
from jaxci.intervals.exact import Exact
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.woodruff import Woodruff

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

N = 120
RNG = np.random.default_rng(7)
Y = RNG.integers(0, 2, N)
A = np.where(RNG.random(N) < 0.1, 1 - Y, Y)
B = np.where(RNG.random(N) < 0.3, 1 - Y, Y)
SCORE_A = np.clip(0.3 + 0.4 * Y + RNG.normal(0, 0.2, N), 0.01, 0.99)
SCORE_B = np.clip(0.4 + 0.2 * Y + RNG.normal(0, 0.2, N), 0.01, 0.99)
Y3 = RNG.integers(0, 3, N)
A3 = np.where(RNG.random(N) < 0.2, (Y3 + 1) % 3, Y3)
SCORE3 = np.eye(3)[Y3] + RNG.random((N, 3))
SCORE3 /= SCORE3.sum(axis=1, keepdims=True)
X = RNG.gamma(2.0, size=N)
TARGET = RNG.normal(size=N)
CLOSE = TARGET + RNG.normal(0, 0.3, N)
FAR = TARGET + RNG.normal(0, 0.6, N)
GROUPS = np.arange(N) // 4
STRATA = np.arange(N) % 2
WEIGHTS = 1.0 + np.arange(N) % 3
Z = special.ndtri(0.975)


def evaluate(*data: Any, **options: Any) -> jaxci.EvaluationTable:
    return jaxci.evaluate(*data, **{"n_resamples": 199, "rng": 0, **options})


def interval(statistic: Any, *data: Any, **options: Any) -> jaxci.IntervalResult:
    return jaxci.interval(statistic, *data, **{"n_resamples": 199, "rng": 0, **options})


def compare(statistic: Any, *data: Any, **options: Any) -> jaxci.ComparisonResult:
    return jaxci.compare(statistic, *data, **{"n_resamples": 199, "rng": 0, **options})


def remarks(call: Any) -> tuple[Any, list[str]]:
    """Return the result and the warnings of this package that came with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert all(issubclass(w.category, JaxciWarning) for w in caught), [str(w.message) for w in caught]
    return result, [str(w.message) for w in caught]


# --- results ---------------------------------------------------------------------------------------


def test_attributes_of_an_interval():
    result = interval("f1_macro", Y, A)
    assert result.statistic == "f1_macro"
    assert type(result.estimate) is float
    low, high = result.confidence_interval
    assert (result.confidence_interval.low, result.confidence_interval.high) == (low, high)
    assert type(low) is type(high) is float
    assert 0 <= low < result.estimate < high <= 1
    assert 0 < result.standard_error < 0.1
    assert (result.method, result.confidence_level, result.alternative) == ("proper_bayesian", 0.95, "two-sided")
    assert result.reason
    assert (result.n, result.n_resamples, result.rng) == (N, 199, 0)
    assert isinstance(result.bootstrap_distribution, np.ndarray)
    assert result.bootstrap_distribution.shape == (199,)
    assert result.bootstrap_distribution.dtype == np.float64
    assert result.dtype == "float64"
    assert isinstance(result.warnings, tuple)


@pytest.mark.slow
def test_the_percentile_interval_is_read_from_the_replicates_returned():
    for call in (
        lambda **k: interval("f1", Y, A, **k),
        lambda **k: compare("f1", Y, A, B, **k),
        lambda **k: evaluate(Y, A, metrics=["f1"], **k)["f1"],
    ):
        for level in (0.95, 0.8):
            result = call(confidence_level=level, method="percentile")
            tail = (1 - level) / 2
            expected = np.quantile(result.bootstrap_distribution, [tail, 1 - tail])
            np.testing.assert_allclose(result.confidence_interval, expected, rtol=1e-14)
            assert result.standard_error == pytest.approx(result.bootstrap_distribution.std(ddof=1), rel=1e-12)


def test_closed_forms_draw_nothing():
    result = interval("accuracy", Y, A)
    assert (result.method, result.n_resamples, result.bootstrap_distribution, result.rng) == ("mid_p", 0, None, None)


def test_results_are_frozen():
    for result in (interval("accuracy", Y, A), evaluate(Y, A, metrics=["accuracy"]), compare("accuracy", Y, A, B)):
        with pytest.raises(AttributeError):
            result.n = 3


def test_an_interval_prints_as_a_table():
    text = str(interval("f1_macro", Y, A))
    lines = text.splitlines()
    assert lines[0].startswith("95% confidence interval")
    for word in ("metric", "estimate", "low", "high", "std. error", "method"):
        assert word in lines[1]
    row = lines[3]
    result = interval("f1_macro", Y, A)
    assert row.split()[0] == "f1_macro"
    for number in (result.estimate, *result.confidence_interval, result.standard_error):
        assert f"{number:.4f}" in row
    assert "proper_bayesian" in row
    assert result.reason in text
    assert "99%" in str(interval("f1_macro", Y, A, confidence_level=0.99)).splitlines()[0]
    assert "less" in str(interval("f1_macro", Y, A, alternative="less")).splitlines()[0]


@pytest.mark.slow
def test_a_table_prints_every_metric_with_reasons_and_warnings():
    table = evaluate(Y[:45], A[:45], SCORE_A[:45])
    text = str(table)
    lines = text.splitlines()
    assert "95%" in lines[0]
    assert "n = 45" in lines[0]
    for row in table:
        assert sum(line.split()[0] == row.statistic for line in lines[3 : 3 + len(table)]) == 1
        assert row.reason in text or f"{100 * row.simulated_coverage:.1f}% (worst" in text
        assert all(remark in text for remark in row.warnings)
    assert max(map(len, lines[1 : 3 + len(table)])) < 110


def test_a_comparison_prints_both_estimates_and_the_conclusion():
    result = compare("accuracy", Y, A, B)
    text = str(result)
    assert f"a = {result.estimate_a:.4f}" in text
    assert f"b = {result.estimate_b:.4f}" in text
    assert "p = " in text
    assert result.conclusion in text
    assert "accuracy" in text


def test_a_jackknife_prints_its_numbers_but_not_its_values():
    text = str(jaxci.jackknife(X, "std"))
    assert "bias" in text
    assert "standard_error" in text
    assert len(text) < 400


@pytest.mark.slow
@pytest.mark.parametrize(
    "result",
    [
        lambda: interval("f1", Y, A),
        lambda: interval("mean", X, alternative="less"),
        lambda: interval("f1", Y, A, rng=np.random.default_rng(0)),
        lambda: interval("f1", Y, A, rng=jax.random.key(1)),
        lambda: interval("f1", Y, A, rng=jax.random.PRNGKey(1)),
        lambda: interval("roc_auc", np.ones(N, int), SCORE_A),
        lambda: compare("f1", Y, A, B, margin=0.1),
        lambda: evaluate(Y, A, SCORE_A, groups=GROUPS),
        lambda: evaluate(Y3, A3, metrics=["f1_per_class", jaxci.statistics.F1(average="macro")]),
    ],
)
def test_to_dict_is_plain(result):
    found = result().to_dict()
    again = json.loads(json.dumps(found))
    rows = again.get("rows", [again])
    for row in rows:
        assert {"statistic", "estimate", "confidence_interval", "method", "reason", "warnings"} <= set(row)
        assert set(row["confidence_interval"]) == {"low", "high"}
        assert "bootstrap_distribution" not in row


def test_to_dict_holds_the_numbers():
    result = compare("accuracy", Y, A, B, margin=0.1)
    found = result.to_dict()
    assert found["estimate"] == result.estimate
    assert found["confidence_interval"] == {
        "low": result.confidence_interval.low,
        "high": result.confidence_interval.high,
    }
    for name in ("estimate_a", "estimate_b", "pvalue", "test", "margin", "conclusion"):
        assert found[name] == getattr(result, name)
    table = evaluate(Y, A, metrics=["accuracy", "f1"])
    found = table.to_dict()
    assert (found["n"], found["rng"]) == (N, 0)
    assert [row["statistic"] for row in found["rows"]] == ["accuracy", "f1"]


def test_to_frame():
    pytest.importorskip("pandas")
    table = evaluate(Y, A, SCORE_A)
    frame = table.to_frame()
    assert list(frame["statistic"]) == [row.statistic for row in table]
    np.testing.assert_array_equal(frame["low"], [row.confidence_interval.low for row in table])
    np.testing.assert_array_equal(frame["high"], [row.confidence_interval.high for row in table])
    np.testing.assert_array_equal(frame["estimate"], [row.estimate for row in table])
    one = interval("f1", Y, A).to_frame()
    assert len(one) == 1
    assert compare("accuracy", Y, A, B).to_frame()["pvalue"].item() < 0.05


def test_html_is_escaped():
    names = np.array(["<b>", "&c"])
    table = evaluate(names[Y], names[A], metrics=["f1_per_class"])
    text = table._repr_html_()
    assert "<table>" in text
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    for result in (interval("f1", Y, A), compare("accuracy", Y, A, B)):
        found = result._repr_html_()
        assert "<table>" in found
        assert result.statistic in found
        assert str(result.method) in found


def test_ipython_shows_the_printed_table():
    formatters = pytest.importorskip("IPython.core.formatters")
    for result in (evaluate(Y, A, metrics=["accuracy"]), interval("f1", Y, A)):
        shown, _ = formatters.DisplayFormatter().format(result)
        assert shown["text/plain"] == str(result)
        assert "<table>" in shown["text/html"]


def test_rows_of_a_table():
    table = evaluate(Y, A, metrics=["accuracy", "f1"])
    assert len(table) == 2
    assert [row.statistic for row in table] == ["accuracy", "f1"]
    assert table["f1"] is table.rows[1]
    with pytest.raises(KeyError, match=r"no metric 'recall'.*accuracy.*f1"):
        table["recall"]


# --- evaluate --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ((Y, A), {"accuracy", "balanced_accuracy", "f1", "precision", "recall", "specificity"}),
        ((Y, A, SCORE_A), {"accuracy", "f1", "roc_auc", "average_precision", "log_loss", "brier_score_loss"}),
        ((Y, None, SCORE_A), {"accuracy", "f1", "roc_auc", "log_loss"}),
        ((Y3, A3), {"accuracy", "balanced_accuracy", "f1_macro", "cohen_kappa_score"}),
        ((Y3, A3, SCORE3), {"accuracy", "f1_macro", "roc_auc_ovr", "average_precision_macro", "log_loss"}),
        ((TARGET, CLOSE), {"mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2"}),
        ((Y3.astype(str), A3.astype(str)), {"accuracy", "f1_macro"}),
    ],
)
def test_default_metrics_suit_the_problem(data, expected):
    table = evaluate(*data)
    names = [row.statistic for row in table]
    assert expected <= set(names)
    assert set(names) <= set(jaxci.list_metrics())
    assert ("f1" in names) == (data[0] is Y)
    for row in table:
        assert row.confidence_interval.low <= row.estimate <= row.confidence_interval.high


def test_labels_are_derived_from_scores_and_that_is_said():
    table, said = remarks(lambda: evaluate(Y, y_score=SCORE_A, metrics=["accuracy"]))
    assert table["accuracy"].estimate == np.mean((SCORE_A >= 0.5) == Y)
    assert any("y_pred was not given" in text for text in said)
    table, said = remarks(lambda: evaluate(Y3, y_score=SCORE3, metrics=["accuracy"]))
    assert table["accuracy"].estimate == np.mean(SCORE3.argmax(axis=1) == Y3)
    assert any("y_pred was not given" in text for text in said)
    _, said = remarks(lambda: evaluate(Y, y_score=SCORE_A, metrics=["roc_auc"]))
    assert not any("y_pred" in text for text in said), "no metric reads the labels"


def test_one_bank_serves_all_metrics():
    """Replicates of two metrics belong to the same resamples, so an identity holds for each of them."""
    table = evaluate(Y, A, metrics=["recall", "specificity", "balanced_accuracy"], method="percentile")
    recall, specificity, balanced = (
        table[name].bootstrap_distribution for name in ("recall", "specificity", "balanced_accuracy")
    )
    np.testing.assert_allclose(balanced, (recall + specificity) / 2, rtol=1e-12)
    table = evaluate(TARGET, CLOSE, metrics=["mean_squared_error", "root_mean_squared_error"], method="percentile")
    squared, root = (row.bootstrap_distribution for row in table)
    np.testing.assert_allclose(root**2, squared, rtol=1e-12)


def test_labels_order_the_columns_of_scores():
    order = [2, 0, 1]
    plain = interval("log_loss", Y3, SCORE3)
    moved = interval("log_loss", Y3, SCORE3[:, order], labels=order)
    assert moved.estimate == pytest.approx(plain.estimate, rel=1e-14)
    four = np.concatenate([SCORE3, np.zeros((N, 1))], axis=1)
    assert interval("log_loss", Y3, four, labels=[0, 1, 2, 3]).estimate == pytest.approx(plain.estimate, rel=1e-14)


@pytest.mark.parametrize("labels", [None, [0, 1], [1, 0]])
@pytest.mark.parametrize("positive", [0, 1])
def test_pos_label_names_the_positive_class(labels, positive):
    both = np.stack([1 - SCORE_A, SCORE_A], axis=1)
    columns = both if labels != [1, 0] else both[:, ::-1]
    found = evaluate(Y, A, columns, metrics=["recall", "roc_auc", "log_loss"], labels=labels, pos_label=positive)
    mask = positive == Y
    assert found["recall"].estimate == np.mean(A[mask] == positive)
    assert found["roc_auc"].estimate == interval("roc_auc", Y, SCORE_A).estimate
    assert found["log_loss"].estimate == pytest.approx(-np.mean(np.log(both[np.arange(N), Y])), rel=1e-12)


def test_per_class_metrics():
    names = np.array(["cat", "dog", "emu"])
    table = evaluate(names[Y3], names[A3], metrics=["f1_per_class", "recall_per_class", "f1_macro"])
    assert [row.statistic for row in table][:3] == ["f1[cat]", "f1[dog]", "f1[emu]"]
    assert [row.statistic for row in table][3:6] == ["recall[cat]", "recall[dog]", "recall[emu]"]
    scores = [table[f"f1[{name}]"].estimate for name in names]
    assert np.mean(scores) == pytest.approx(table["f1_macro"].estimate, rel=1e-14)
    for k, name in enumerate(names):
        assert table[f"recall[{name}]"].estimate == np.mean(A3[k == Y3] == k)
        assert table[f"recall[{name}]"].method == "mid_p"
        assert table[f"f1[{name}]"].method == "mid_p"


def test_per_class_metrics_of_two_classes():
    table = evaluate(Y, A, metrics=["precision_per_class", "precision"])
    assert [row.statistic for row in table] == ["precision[0]", "precision[1]", "precision"]
    assert table["precision[1]"].estimate == table["precision"].estimate
    assert table["precision[0]"].estimate == np.mean(Y[A == 0] == 0)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-8)
@pytest.mark.parametrize(
    ("metric", "changed"),
    [("f1_macro", {"skip"}), ("recall_macro", {"skip"}), ("balanced_accuracy", {"zero"})],
)
def test_absent_class_of_labels(metric, changed):
    """What ``absent_class`` changes in resamples that lack the one rare class, and nowhere else."""
    truth = np.r_[np.zeros(30, int), np.ones(28, int), 2, 2]
    guess = truth.copy()
    guess[[0, 40]] = [1, 0]
    found = {
        rule: evaluate(truth, guess, metrics=[metric], absent_class=rule, method="percentile", n_resamples=499)[
            metric
        ].bootstrap_distribution
        for rule in ("sklearn", "zero", "skip")
    }
    assert found["zero"].min() < 0.8
    for rule in ("zero", "skip"):
        if rule in changed:
            differ = found[rule] != found["sklearn"]
            assert 0.05 < differ.mean() < 0.3  # (58/60)^60 = .13 of the resamples lack the class
        else:
            np.testing.assert_array_equal(found[rule], found["sklearn"])


@pytest.mark.slow
@pytest.mark.false_alarm(1e-8)
@pytest.mark.parametrize("metric", ["roc_auc_ovr", "average_precision_macro"])
def test_absent_class_of_scores(metric):
    truth = np.r_[np.zeros(30, int), np.ones(28, int), 2, 2]
    scores = np.eye(3)[truth] + np.random.default_rng(0).random((60, 3))
    scores /= scores.sum(axis=1, keepdims=True)
    found = {
        rule: evaluate(
            truth, y_score=scores, metrics=[metric], absent_class=rule, method="percentile", n_resamples=499
        )[metric].bootstrap_distribution
        for rule in ("sklearn", "zero", "skip")
    }
    skipped, zero = found["skip"], found["zero"]
    assert np.isfinite(skipped).all()
    lacking = zero < skipped - 0.2
    assert 0.05 < lacking.mean() < 0.3
    np.testing.assert_allclose(zero[lacking], skipped[lacking] * 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(zero[~lacking], skipped[~lacking], rtol=1e-12)
    if metric == "roc_auc_ovr":
        np.testing.assert_array_equal(np.isnan(found["sklearn"]), lacking)


def test_zero_division():
    guess = np.zeros(N, int)
    for value in (0, 1):
        assert evaluate(Y, guess, metrics=["precision"], zero_division=value)["precision"].estimate == value
    assert np.isnan(evaluate(Y, guess, metrics=["precision"], zero_division=np.nan)["precision"].estimate)
    assert interval("precision", Y, guess, zero_division=1.0).estimate == 1


# --- statistics ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "statistic"),
    [
        ("f1_macro", jaxci.statistics.F1(average="macro")),
        ("precision_weighted", jaxci.statistics.Precision(average="weighted")),
        ("accuracy", jaxci.statistics.Accuracy()),
        ("cohen_kappa_score", jaxci.statistics.CohenKappa()),
    ],
)
def test_an_object_is_its_name(name, statistic):
    named, given = interval(name, Y3, A3), interval(statistic, Y3, A3)
    assert given.statistic == name
    assert given.to_dict() == named.to_dict()
    assert [row.to_dict() for row in evaluate(Y3, A3, metrics=[statistic])] == [
        row.to_dict() for row in evaluate(Y3, A3, metrics=[name])
    ]
    assert evaluate(Y3, A3, metrics=statistic).rows[0].statistic == name


def test_settings_of_a_statistic_by_object_and_by_option():
    by_object = interval(jaxci.statistics.Quantile(q=0.9), X, method="percentile")
    by_option = interval("quantile", X, q=0.9, method="percentile")
    assert by_object.estimate == by_option.estimate == pytest.approx(np.quantile(X, 0.9), rel=1e-12)
    assert by_object.confidence_interval == by_option.confidence_interval
    partial = interval("roc_auc", Y, SCORE_A, max_fpr=0.2)
    assert partial.estimate < 0.2 or partial.estimate < interval("roc_auc", Y, SCORE_A).estimate
    assert interval("trimmed_mean", X, proportiontocut=0.1).estimate == pytest.approx(
        stats.trim_mean(X, 0.1), rel=1e-12
    )


@pytest.mark.parametrize("metric", jaxci.list_metrics())
def test_every_metric_can_be_resampled(metric):
    methods = jaxci.list_methods(metric)
    assert {"percentile", "basic", "normal", "bc", "bca"} <= set(methods)
    assert len(methods) == len(set(methods))


def weighted_mean(x: jax.Array, weights: jax.Array) -> jax.Array:
    return jnp.sum(x * weights) / jnp.sum(weights)


def test_a_function_of_weights_takes_the_fast_road():
    statistic = jaxci.statistics.WeightedFunction(weighted_mean)
    ours, said = remarks(lambda: interval(statistic, X, method="delta"))
    assert said == []
    assert ours.statistic == "weighted_mean"
    assert ours.estimate == pytest.approx(X.mean(), rel=1e-14)
    assert ours.standard_error == pytest.approx(X.std() / np.sqrt(N), rel=1e-12)
    for method in ("percentile", "bca", "studentized"):
        ours, builtin = (interval(s, X, method=method) for s in (statistic, "mean"))
        np.testing.assert_allclose(ours.confidence_interval, builtin.confidence_interval, rtol=1e-12)
    weighted = interval(statistic, X, sample_weight=WEIGHTS)
    assert weighted.estimate == pytest.approx(np.average(X, weights=WEIGHTS), rel=1e-12)
    clustered = interval(statistic, X, groups=GROUPS)
    builtin = interval("mean", X, groups=GROUPS, method="expanded_percentile")
    np.testing.assert_allclose(clustered.confidence_interval, builtin.confidence_interval, rtol=1e-12)


def test_a_function_of_weights_that_is_not_differentiable():
    statistic = jaxci.statistics.WeightedFunction(
        lambda x, w: jnp.max(jnp.where(w > 0, x, -jnp.inf)), differentiable=False
    )
    assert interval(statistic, X, method="percentile").estimate == X.max()
    with pytest.raises(ValueError, match="delta"):
        interval(statistic, X, method="delta")
    assert "delta" not in jaxci.list_methods(statistic)


def test_a_function_that_jax_can_trace_runs_without_a_word():
    result, said = remarks(lambda: interval(lambda x: jnp.mean(x), X))
    assert said == []
    np.testing.assert_allclose(
        result.confidence_interval, interval("mean", X, method="percentile").confidence_interval, rtol=1e-12
    )
    result, said = remarks(lambda: interval(lambda a, b: jnp.mean(a - b), TARGET, CLOSE))
    assert said == []
    assert result.estimate == pytest.approx(np.mean(TARGET - CLOSE), rel=1e-12)


def test_a_function_on_the_host_warns_once():
    def spread(x: np.ndarray) -> float:
        return float(np.sort(np.asarray(x))[-5:].mean())

    result, said = remarks(lambda: interval(spread, X))
    assert len(said) == 1
    assert "on the host" in said[0]
    assert "jax.numpy" in said[0]
    assert result.statistic == "spread"
    assert result.estimate == pytest.approx(np.sort(X)[-5:].mean(), rel=1e-14)
    traced, _ = remarks(lambda: interval(lambda x: jnp.sort(x)[-5:].mean(), X))
    np.testing.assert_allclose(result.bootstrap_distribution, traced.bootstrap_distribution, rtol=1e-12)


@pytest.mark.slow
def test_scikit_learn_functions_work():
    metrics = pytest.importorskip("sklearn.metrics")
    result, said = remarks(lambda: interval(metrics.f1_score, Y, A, n_resamples=99))
    assert len(said) == 1
    assert result.estimate == metrics.f1_score(Y, A)
    np.testing.assert_allclose(
        result.confidence_interval,
        interval("f1", Y, A, method="percentile", n_resamples=99).confidence_interval,
        rtol=0.05,
    )
    words = np.array(["no", "yes"])
    result, _ = remarks(lambda: interval(metrics.accuracy_score, words[Y], words[A], n_resamples=99))
    assert result.estimate == np.mean(Y == A)


@pytest.mark.slow
@pytest.mark.parametrize(
    "groups", [GROUPS, np.r_[np.zeros(60, int), np.arange(60)]], ids=["equal sizes", "very unequal sizes"]
)
def test_functions_see_whole_clusters_whatever_their_sizes(groups):
    """A resample of clusters has as many rows as its clusters have, not n."""
    builtin = interval("mean", X, method="percentile", groups=groups)
    host, _ = remarks(lambda: interval(lambda x: float(np.mean(x)), X, groups=groups))
    np.testing.assert_allclose(host.bootstrap_distribution, builtin.bootstrap_distribution, rtol=1e-12)
    traced, _ = remarks(lambda: interval(lambda x: jnp.mean(x), X, groups=groups))
    np.testing.assert_allclose(traced.bootstrap_distribution, builtin.bootstrap_distribution, rtol=1e-12)


# --- randomness ------------------------------------------------------------------------------------


VERBS = [
    lambda rng: interval("f1", Y, A, rng=rng),
    lambda rng: interval("trimmed_mean", X, method="bca", rng=rng),
    lambda rng: interval("f1", Y, A, groups=GROUPS, rng=rng),
    lambda rng: interval("mean", X, method="percentile", resampling="bayesian", rng=rng),
    lambda rng: compare("f1", Y, A, B, rng=rng),
    lambda rng: jaxci.bootstrap((X,), np.median, n_resamples=99, method="percentile", rng=rng),
]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: 3,
        lambda: 2**63 + 1,
        lambda: np.random.default_rng(3),
        lambda: jax.random.key(3),
        lambda: jax.random.PRNGKey(3),
    ],
    ids=["None", "int", "large int", "Generator", "key", "old key"],
)
def test_rng_of_the_result_repeats_the_call(verb, make):
    first = verb(make())
    again = verb(first.rng)
    np.testing.assert_array_equal(first.bootstrap_distribution, again.bootstrap_distribution)
    assert first.confidence_interval == again.confidence_interval


def test_rng_of_a_table_repeats_it():
    first = evaluate(Y, A, SCORE_A, rng=None)
    again = evaluate(Y, A, SCORE_A, rng=first.rng)
    assert [row.confidence_interval for row in first] == [row.confidence_interval for row in again]


def test_none_differs_every_time_and_seeds_differ():
    draws = [interval("f1_macro", Y, A, rng=rng).bootstrap_distribution for rng in (None, None, 0, 1, 2**32, 2**32 + 1)]
    for i, a in enumerate(draws):
        for b in draws[:i]:
            assert not np.array_equal(a, b)


def test_a_generator_is_advanced_and_reproducible():
    one, two = np.random.default_rng(5), np.random.default_rng(5)
    first = [interval("f1_macro", Y, A, rng=one).confidence_interval for _ in range(2)]
    assert first[0] != first[1]
    assert first == [interval("f1_macro", Y, A, rng=two).confidence_interval for _ in range(2)]


@pytest.mark.slow
def test_the_global_generator_of_numpy_is_left_alone():
    def state() -> np.ndarray:
        return np.random.get_state()[1]  # noqa: NPY002

    before = state().copy()
    for verb in VERBS:
        verb(0)
    np.testing.assert_array_equal(state(), before)


@pytest.mark.slow
def test_the_global_configuration_of_jax_is_left_alone():
    code = """
import jax, jax.numpy as jnp, numpy as np
before = dict(jax.config.values)
import jaxci
y = np.arange(60) % 2; p = np.where(np.arange(60) % 5 == 0, 1 - y, y); x = np.linspace(0, 1, 60) ** 2
jaxci.evaluate(y, p, x, n_resamples=99, rng=0)
jaxci.interval(lambda v: jnp.mean(v), x, n_resamples=99, rng=0)
jaxci.compare("f1", y, p, y, n_resamples=99, rng=0)
jaxci.bootstrap((x,), np.mean, n_resamples=99, rng=0)
jaxci.jackknife(x, "std")
try:
    jaxci.interval("mean", x, method="wilsn")
except ValueError:
    pass
after = dict(jax.config.values)
assert before == after, {k: (before[k], after[k]) for k in before if before[k] != after[k]}
assert jnp.ones(2).dtype == jnp.float32
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("x64", [False, True])
def test_results_do_not_depend_on_the_users_precision(x64):
    plain = [interval("trimmed_mean", X), compare("f1", Y, A, B), interval(lambda x: jnp.mean(x), X)]
    with jax.enable_x64(x64):
        again = [interval("trimmed_mean", X), compare("f1", Y, A, B), interval(lambda x: jnp.mean(x), X)]
    for a, b in zip(plain, again, strict=True):
        np.testing.assert_array_equal(a.bootstrap_distribution, b.bootstrap_distribution)
        assert a.confidence_interval == b.confidence_interval


def test_nothing_but_numpy_and_floats_leaves():
    table = evaluate(Y, A, SCORE_A)
    for row in table:
        for value in (row.estimate, row.standard_error, *row.confidence_interval):
            assert type(value) is float
        assert row.bootstrap_distribution is None or type(row.bootstrap_distribution) is np.ndarray
    compared = compare("roc_auc", Y, SCORE_A, SCORE_B)
    for value in (
        compared.estimate,
        compared.estimate_a,
        compared.estimate_b,
        compared.pvalue,
        compared.standard_error,
    ):
        assert type(value) is float


# --- sides, groups, strata, weights ----------------------------------------------------------------


@pytest.mark.parametrize("metric", ["accuracy", "f1", "roc_auc", "log_loss", "matthews_corrcoef"])
def test_one_sided_intervals(metric):
    data = (Y, A) if metric in ("accuracy", "f1", "matthews_corrcoef") else (Y, SCORE_A)
    both = interval(metric, *data, confidence_level=0.9)
    upper = interval(metric, *data, alternative="less")
    lower = interval(metric, *data, alternative="greater")
    bottom, top = {"log_loss": (0, np.inf), "matthews_corrcoef": (-1, 1)}.get(metric, (0, 1))
    assert upper.confidence_interval.low == bottom
    assert lower.confidence_interval.high == top
    assert upper.confidence_interval.high == pytest.approx(both.confidence_interval.high, rel=1e-12)
    assert lower.confidence_interval.low == pytest.approx(both.confidence_interval.low, rel=1e-12)


@pytest.mark.parametrize(
    "method", ["t", "z", "delta", "percentile", "basic", "normal", "bc", "bca", "studentized", "abc", "exact"]
)
def test_one_sided_intervals_of_a_mean_are_open(method):
    both = interval("mean", X, method=method, confidence_level=0.9)
    upper = interval("mean", X, method=method, alternative="less")
    lower = interval("mean", X, method=method, alternative="greater")
    assert upper.confidence_interval.low == -np.inf
    assert lower.confidence_interval.high == np.inf
    assert upper.confidence_interval.high == pytest.approx(both.confidence_interval.high, rel=1e-9)
    assert lower.confidence_interval.low == pytest.approx(both.confidence_interval.low, rel=1e-9)


@pytest.mark.parametrize("call", [lambda **k: interval("f1", Y, A, **k), lambda **k: compare("f1", Y, A, B, **k)])
@pytest.mark.parametrize("method", ["percentile", "bca", "delta", "studentized"])
def test_levels_are_nested(call, method):
    ends = [call(method=method, confidence_level=level).confidence_interval for level in (0.5, 0.8, 0.9, 0.95)]
    lows, highs = [e.low for e in ends], [e.high for e in ends]
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)


@pytest.mark.false_alarm(1e-6)
def test_clusters():
    """Copies of a row in one cluster add no information; taken for independent rows they seem to."""
    groups = np.repeat(np.arange(30), 4)
    x = np.repeat(X[:30], 4)
    clustered = interval("mean", x, method="delta", groups=groups)
    assert clustered.n == 30
    assert clustered.standard_error == pytest.approx(X[:30].std() / np.sqrt(30), rel=1e-12)
    assert interval("mean", x, method="delta").standard_error == pytest.approx(clustered.standard_error / 2, rel=1e-12)
    assert "cluster" in interval("mean", x, groups=groups).reason
    drawn = interval("mean", x, groups=groups, n_resamples=999, method="percentile")
    assert drawn.standard_error == pytest.approx(clustered.standard_error, rel=5 * 1 / np.sqrt(2 * 999))
    shuffled = np.random.default_rng(0).permutation(len(x))
    moved = interval("mean", x[shuffled], method="delta", groups=groups[shuffled].astype(str))
    assert moved.standard_error == pytest.approx(clustered.standard_error, rel=1e-12)


DESIGNS = {
    "clusters": {"groups": GROUPS},
    "weights": {"groups": GROUPS, "sample_weight": WEIGHTS},
    "strata": {"groups": GROUPS, "strata": (np.arange(30) % 3)[GROUPS]},
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e300])
def test_the_design_effect_is_a_ratio_of_variances(design, unit):
    """Of the delta method's, which follows from derivatives, to that of rows of equal weight."""
    x = X + np.arange(30)[GROUPS] / 10
    found = interval("mean", unit * x, method="delta", **DESIGNS[design])
    weights = DESIGNS[design].get("sample_weight", np.ones(N))
    variance = np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)
    assert found.design_effect == pytest.approx((found.standard_error / unit) ** 2 / (variance / N), rel=1e-9)
    assert found.design_effect_of == "the mean"


@pytest.mark.slow
def test_the_design_effect_of_what_is_natural_for_the_data():
    """Of twins it is 2; of clusters whose rows cancel there is none."""
    twins = {"groups": np.repeat(np.arange(N), 2), "n_resamples": 199}
    y, a, b, score = (np.repeat(x, 2) for x in (Y, A, B, SCORE_A))
    target, close, far = (np.repeat(x, 2) for x in (TARGET, CLOSE, FAR))
    table = evaluate(y, a, score, metrics=["f1", "roc_auc"], **twins)
    assert [row.design_effect for row in table] == pytest.approx([2, 2], rel=1e-12)
    assert table.design_effect == table["f1"].design_effect
    size = f"{2 * N} rows in {N} clusters (design effect of"
    assert table.headline() == f"95% confidence intervals, {size} accuracy 2.0: as {N} independent rows)"
    assert table["f1"].to_dict()["design_effect_of"] == "accuracy"
    for result, mean in (
        (interval("r2", target, close, **twins), "the mean absolute error"),
        (interval("median", target, **twins), "the mean"),
        (compare("f1", y, a, b, **twins), "the difference in accuracy"),
        (compare("r2", target, close, far, **twins), "the difference in the mean absolute error"),
        (compare("mean", None, close, far, **twins), "the difference in the mean"),
    ):
        assert result.design_effect == pytest.approx(2, rel=1e-12)
        assert f"{size} {mean} 2.0: as {N} independent rows)" in str(result)
    pairs = np.tile([0.1, 0.3], N)
    for result in (
        interval("roc_auc", y, score, **twins),
        evaluate(y, y_score=score, metrics=["roc_auc"], **twins)["roc_auc"],
        compare("roc_auc", y, score, score[::-1], **twins),
        interval("median", pairs, **twins),
        interval("median", np.full(2 * N, 0.1), **twins),
        interval("f1", Y, A),
    ):
        assert math.isnan(result.design_effect)
        assert result.design_effect_of == ""
        assert "design effect of" not in str(result)


def test_a_design_effect_below_one():
    """Rows of a cluster that are opposite but for little tell more than as many that are independent."""
    x = np.tile([0.0, 1.0], N) + np.repeat(np.linspace(-0.1, 0.1, N), 2)
    row = interval("mean", x, groups=np.repeat(np.arange(N), 2), method="delta")
    between, within = 2 * np.var(np.linspace(-0.1, 0.1, N)), np.var(np.linspace(-0.1, 0.1, N)) + 0.25
    assert row.design_effect == pytest.approx(between / within, rel=1e-9)
    assert f"of the mean {between / within:.2g}: as {2 * N * within / between:,.0f} independent rows" in row.headline()


@pytest.mark.false_alarm(1e-6)
def test_strata():
    """Within strata that do not vary there is no variance, whatever lies between them."""
    x = STRATA.astype(float)
    result = interval("mean", x, strata=STRATA)
    assert result.confidence_interval == (0.5, 0.5)
    x = x * 10 + X
    result = interval("mean", x, strata=STRATA, method="delta")
    within = sum(x[s == STRATA].var(ddof=1) * (s == STRATA).sum() for s in (0, 1)) / N**2
    assert result.standard_error == pytest.approx(np.sqrt(within * (N - 1) / N), rel=1e-12)
    drawn = interval("mean", x, strata=STRATA, n_resamples=999)
    assert "strata" in drawn.reason
    assert drawn.standard_error == pytest.approx(np.sqrt(within), rel=5 / np.sqrt(2 * 999))


def test_clusters_within_strata():
    strata = (np.arange(30) % 3)[GROUPS]
    result = interval("mean", X, groups=GROUPS, strata=strata)
    assert "stratified cluster" in result.reason
    assert result.n == 30
    drawn, wide = (
        interval("mean", X + apart * strata, groups=GROUPS, strata=strata, method="percentile") for apart in (0, 100)
    )
    assert wide.standard_error == pytest.approx(drawn.standard_error, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1", "roc_auc", "log_loss", "average_precision"])
def test_whole_weights_are_repeated_rows(metric):
    prediction = A if metric in ("accuracy", "f1") else SCORE_A
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))
    weighted = interval(metric, Y, prediction, sample_weight=WEIGHTS)
    repeated = interval(metric, Y[rows], prediction[rows])
    assert weighted.estimate == pytest.approx(repeated.estimate, rel=1e-12)
    assert "weighted" in weighted.reason
    same = interval(metric, Y, prediction, sample_weight=np.ones(N))
    assert same.estimate == pytest.approx(interval(metric, Y, prediction).estimate, rel=1e-12)


def test_weights_that_leave_few_rows_are_remarked_on():
    weights = np.where(np.arange(N) == 7, 40.0, 1.0)
    effective = weights.sum() ** 2 / (weights**2).sum()
    share = 40 / weights.sum()
    _, said = remarks(lambda: interval("accuracy", Y, A, sample_weight=weights))
    assert f"an effective size of {effective:.3g} of {N} rows; one row holds {share:.0%} of the weight" in said[0]
    _, said = remarks(lambda: interval("accuracy", Y, A, sample_weight=WEIGHTS))
    assert not any("effective" in text for text in said)


def test_the_scale_of_weights_does_not_matter():
    found = [interval("f1", Y, A, sample_weight=WEIGHTS * scale, method="delta") for scale in (1, 0.1, 1e6)]
    for other in found[1:]:
        assert other.estimate == pytest.approx(found[0].estimate, rel=1e-12)
        np.testing.assert_allclose(other.confidence_interval, found[0].confidence_interval, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", ["root_mean_squared_calibration_error", "expected_calibration_error", "average_precision"]
)
def test_the_scale_of_whole_weights_does_not_matter_to_scores(metric):
    """The bias of a squared calibration error was that of as many rows as the weights sum to."""
    plain = interval(metric, Y, SCORE_A).estimate
    assert interval(metric, Y, SCORE_A, sample_weight=np.full(N, 3.0)).estimate == pytest.approx(plain, rel=1e-9)
    found = [interval(metric, Y, SCORE_A, sample_weight=WEIGHTS * scale, rng=0) for scale in (1, 2, 0.5)]
    for other in found[1:]:
        assert other.estimate == pytest.approx(found[0].estimate, rel=1e-9)
        np.testing.assert_allclose(other.confidence_interval, found[0].confidence_interval, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["iqr", "median", "trimmed_mean", "std"])
def test_the_scale_of_whole_weights_does_not_matter_to_values(metric):
    assert interval(metric, X, sample_weight=np.full(N, 3.0)).estimate == pytest.approx(interval(metric, X).estimate)
    found = [interval(metric, X, sample_weight=WEIGHTS * scale, rng=0) for scale in (1, 2, 0.5)]
    for other in found[1:]:
        assert other.estimate == pytest.approx(found[0].estimate, rel=1e-9)
        np.testing.assert_allclose(other.confidence_interval, found[0].confidence_interval, rtol=1e-9)


def test_models_whose_difference_does_not_vary_have_no_verdict():
    """It said "no difference shown" beside an interval of [2, 2]."""
    for metric, other in (("pearsonr", -X), ("explained_variance", 0 * X)):
        found = jaxci.compare(metric, X, X, other, margin=0.1)
        assert math.isnan(found.pvalue)
        assert found.conclusion == "nothing can be said of a difference that does not vary"


# --- auto ------------------------------------------------------------------------------------------


LONG = np.random.default_rng(3).gamma(2.0, size=400)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "data", "method", "reason"),
    [
        ("accuracy", (Y, A), "mid_p", "proportion"),
        ("error_rate", (Y, A), "mid_p", "proportion"),
        ("recall", (Y, A), "mid_p", "proportion"),
        ("f1_micro", (Y3, A3), "mid_p", "proportion"),
        ("roc_auc", (Y, SCORE_A), "proper_bayesian", "in the rarest class"),
        ("roc_auc", (np.tile(Y, 30), np.tile(SCORE_A, 30)), "delong_logit", "AUC"),
        ("mean", (X[:30],), "t", "mean with n < 50"),
        ("log_loss", (Y, SCORE_A), "proper_bayesian", "bounded values"),
        ("brier_score_loss", (np.tile(Y, 30), np.tile(SCORE_A, 30)), "exact", "exact bootstrap"),
        ("mean", (X,), "exact", "exact bootstrap"),
        ("mean_squared_error", (TARGET, CLOSE), "proper_bayesian", "bounded values"),
        ("root_mean_squared_error", (np.tile(TARGET, 30), np.tile(CLOSE, 30)), "exact", "exact bootstrap"),
        ("median", (X,), "order_statistic", "order statistics"),
        ("median", (X[:4],), "exact", "needs n >= 6"),
        ("quantile", (X,), "order_statistic", "order statistics"),
        ("median_absolute_error", (TARGET, CLOSE), "order_statistic", "order statistics"),
        ("iqr", (X,), "percentile", "percentile"),
        ("trimmed_mean", (X,), "percentile", "percentile"),
        ("std", (X,), "bonett", "kurtosis"),
        ("var", (X[:4],), "studentized", "Bonett"),
        ("f1_macro", (Y3, A3), "proper_bayesian", "table"),
        ("roc_auc_ovr", (Y3, SCORE3), "proper_bayesian", "in the rarest class"),
        ("average_precision_macro", (np.tile(Y3, 30), np.tile(SCORE3, (30, 1))), "percentile", "100 or more"),
        ("f1", (Y, A), "mid_p", "the proportion TP / (TP + FP + FN)"),
        ("balanced_accuracy", (Y, A), "proper_bayesian", "not seen"),
        ("matthews_corrcoef", (Y, A), "proper_bayesian", "not seen"),
        ("r2", (TARGET, CLOSE), KurtosisT(scale="log_complement"), "influence, on the scale 'log_complement'"),
        ("expected_calibration_error", (Y, SCORE_A), "basic", "exaggerate"),
        ("root_mean_squared_calibration_error", (Y, SCORE_A), "squared_gaps", "debiased"),
    ],
)
def test_auto_chooses_by_rules_where_there_is_no_card_and_says_why(monkeypatch, statistic, data, method, reason):
    monkeypatch.setattr(choice, "cards", lambda: Cards({"statistic": np.array([])}))
    result = interval(statistic, *data)
    assert result.method == method
    assert reason in result.reason
    assert "\n" not in result.reason
    assert interval(statistic, *data, method="percentile").reason == "asked for"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"groups": GROUPS}, "cluster"),
        ({"sample_weight": WEIGHTS}, "weighted"),
        ({"groups": GROUPS, "strata": (np.arange(30) % 3)[GROUPS]}, "stratified cluster"),
    ],
)
@pytest.mark.parametrize("statistic", ["accuracy", "roc_auc", "mean", "median"])
def test_auto_gives_up_formulas_for_dependent_rows(statistic, given, word):
    data = {"accuracy": (Y, A), "roc_auc": (Y, SCORE_A)}.get(statistic, (X,))
    result = interval(statistic, *data, **given)
    if word == "weighted" and statistic == "accuracy":  # Wilson's formula allows for weights
        assert result.method == "wilson"
    elif statistic == "median":
        assert result.method == (Woodruff(scale="logit") if "groups" in given else Woodruff(ends="values"))
        word = "rows in clusters" if "groups" in given else "rows with weights"
    else:
        assert result.method == "proper_bayesian"
    assert word in result.reason


@pytest.mark.slow
@pytest.mark.false_alarm(3e-6)
def test_auto_resamples_where_a_scheme_is_asked_for():
    for options in ({"resampling": "balanced"}, {"resampling": "bayesian"}, {"resample_size": 60}):
        result = interval("mean", X, **options)
        assert result.n_resamples == 199
        assert result.bootstrap_distribution is not None
        assert "resampling" in result.reason
    whole, half = (interval("mean", X, method="percentile", n_resamples=999, resample_size=m) for m in (None, N // 4))
    assert half.standard_error / whole.standard_error == pytest.approx(2, rel=0.15)


def test_balanced_resampling_has_no_bias_in_the_mean():
    block = interval("mean", X, method="percentile", resampling="balanced", n_resamples=1024)
    plain = interval("mean", X, method="percentile", n_resamples=1024)
    off = [abs(r.bootstrap_distribution.mean() - X.mean()) for r in (block, plain)]
    assert off[0] < 1e-12 or off[0] < off[1] / 3


@pytest.mark.parametrize(
    ("statistic", "data", "words"),
    [
        ("mean", (X[:20],), "below"),
        ("roc_auc", (Y, np.ones(N)), "scores are equal"),
        ("balanced_accuracy", (Y, Y), "end of its range"),
        ("mean", (np.exp(2 * LONG[:60]),), "below 75"),
        ("f1_macro", (np.r_[Y3, 3, 3], np.r_[A3, 3, 3]), "2 cases"),
    ],
)
def test_auto_warns_of_small_samples_and_rare_classes(monkeypatch, statistic, data, words):
    monkeypatch.setattr(choice, "cards", lambda: Cards({"statistic": np.array([])}))
    result, said = remarks(lambda: interval(statistic, *data))
    assert any(words in text for text in said)
    assert any(words in text for text in result.warnings)


def test_auto_is_silent_where_all_is_well():
    _, said = remarks(lambda: evaluate(Y, (SCORE_A > 0.5).astype(int), SCORE_A))
    assert said == []


# --- compare ---------------------------------------------------------------------------------------


DRAWN_APART = functools.partial(pytest.param, marks=pytest.mark.false_alarm(2e-4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "truth", "a", "b", "method"),
    [
        ("accuracy", Y, A, B, "tango"),
        ("f1", Y, A, B, "adjusted_wald"),
        ("balanced_accuracy", Y, A, B, "adjusted_wald"),
        ("recall", Y, A, B, "tango"),
        ("matthews_corrcoef", Y, A, B, "adjusted_wald"),
        ("error_rate", Y, A, B, None),
        ("roc_auc", Y, SCORE_A, SCORE_B, "delong"),
        ("average_precision", Y, SCORE_A, -SCORE_B, "kurtosis_t"),
        ("log_loss", Y, SCORE_A, SCORE_B, "kurtosis_t"),
        ("brier_score_loss", Y, SCORE_A, SCORE_B, "kurtosis_t"),
        ("mean_squared_error", TARGET, CLOSE, FAR, "kurtosis_t"),
        ("root_mean_squared_error", TARGET, CLOSE, FAR, "kurtosis_t"),
        ("mean_absolute_error", TARGET, CLOSE, FAR, "kurtosis_t"),
        DRAWN_APART("median_absolute_error", TARGET, CLOSE, FAR, "percentile"),
        ("r2", TARGET, CLOSE, FAR, "kurtosis_t"),
        ("spearmanr", TARGET, CLOSE, FAR, "kurtosis_t"),
        ("f1_macro", Y3, A3, np.roll(A3, 1), "adjusted_wald"),
        ("roc_auc_ovr", Y3, SCORE3, np.roll(SCORE3, 1, axis=0), "kurtosis_t"),
    ],
)
def test_comparisons(statistic, truth, a, b, method):
    result = compare(statistic, truth, a, b)
    assert method is None or result.method == method
    assert result.reason
    assert result.estimate_a == pytest.approx(interval(statistic, truth, a).estimate, rel=1e-12)
    assert result.estimate_b == pytest.approx(interval(statistic, truth, b).estimate, rel=1e-12)
    assert result.estimate == pytest.approx(result.estimate_a - result.estimate_b, abs=1e-12)
    low, high = result.confidence_interval
    assert low < result.estimate < high
    assert 0 <= result.pvalue <= 1
    assert result.conclusion == "a is better than b"
    assert result.pvalue < 0.05
    swapped = compare(statistic, truth, b, a)
    # sorted statistics draw by the order of the first model: other resamples, ends apart by Monte-Carlo error, which
    # is .19 standard errors for an end at B = 199; four sigma of the difference of two
    drawn = statistic == "median_absolute_error"
    error = 4 * np.sqrt(2) * 0.19 * result.standard_error if drawn else 1e-9
    assert swapped.estimate == pytest.approx(-result.estimate, abs=1e-12)
    np.testing.assert_allclose(swapped.confidence_interval, (-high, -low), rtol=1e-6, atol=error)
    assert swapped.conclusion == "b is better than a"
    assert swapped.pvalue == pytest.approx(result.pvalue, rel=1e-3, abs=0.05 if drawn else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["mean", "median", "trimmed_mean", "std", "iqr", "quantile", "var"])
def test_comparisons_of_values_by_case(statistic):
    a, b = X, X * 0.8 + 0.01 * TARGET
    result = compare(statistic, None, a, b)
    assert result.estimate == pytest.approx(
        interval(statistic, a).estimate - interval(statistic, b).estimate, abs=1e-12
    )
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high
    assert result.pvalue < 0.05
    assert compare(statistic, None, a, b, confidence_level=0.8).confidence_interval.low > result.confidence_interval.low


def test_a_comparison_of_means_is_the_interval_of_the_differences():
    for n in (30, N):
        a, b = X[:n], 0.9 * X[:n] + 0.1 * TARGET[:n]
        result = compare("mean", None, a, b, method="t")
        alone = interval("mean", a - b, method="t")
        np.testing.assert_allclose(result.confidence_interval, alone.confidence_interval, rtol=1e-9)
    t = stats.ttest_rel(X[:30], 0.9 * X[:30] + 0.1 * TARGET[:30])
    result = compare("mean", None, X[:30], 0.9 * X[:30] + 0.1 * TARGET[:30], method="t")
    assert result.pvalue == pytest.approx(t.pvalue, rel=1e-9)
    np.testing.assert_allclose(result.confidence_interval, t.confidence_interval(0.95), rtol=1e-9)
    for side in ("less", "greater"):
        t = stats.ttest_rel(X[:30], 0.9 * X[:30] + 0.1 * TARGET[:30], alternative=side)
        result = compare("mean", None, X[:30], 0.9 * X[:30] + 0.1 * TARGET[:30], alternative=side, method="t")
        assert result.pvalue == pytest.approx(t.pvalue, rel=1e-9)


@pytest.mark.parametrize(("metric", "a", "b"), [("accuracy", A, B), ("roc_auc", SCORE_A, SCORE_B)])
def test_paired_rows_are_kept_together(metric, a, b):
    """Two models that err alike differ less uncertainly than two that err apart."""
    twin = np.where(np.arange(N) == 5, 1 - a, a) if metric == "accuracy" else a + 0.01 * (b - 0.5)
    close = compare(metric, Y, a, twin, method="percentile")
    apart = compare(metric, Y, a, b, method="percentile")
    assert close.standard_error < apart.standard_error / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "name"),
    [({"groups": GROUPS}, "clusters"), ({"strata": STRATA}, ""), ({"sample_weight": WEIGHTS}, "")],
)
@pytest.mark.parametrize("statistic", ["accuracy", "f1", "roc_auc", "log_loss"])
def test_comparisons_of_dependent_rows(statistic, given, name):
    a, b = (A, B) if statistic in ("accuracy", "f1") else (SCORE_A, SCORE_B)
    result = compare(statistic, Y, a, b, **given)
    of_clusters = {"accuracy": "tango_cluster", "log_loss": "sign_flip"}.get(statistic, "kurtosis_t")
    of_strata = {"accuracy": "tango", "f1": "adjusted_wald", "roc_auc": "delong"}.get(statistic, "kurtosis_t")
    of_weights = "adjusted_wald" if statistic in ("accuracy", "f1") else "kurtosis_t"
    expected = of_clusters if name == "clusters" else of_strata if "strata" in given else of_weights
    assert result.method == expected
    assert name in result.reason
    alone = [interval(statistic, Y, x, **given).estimate for x in (a, b)]
    assert [result.estimate_a, result.estimate_b] == pytest.approx(alone, rel=1e-12)
    assert result.estimate == pytest.approx(alone[0] - alone[1], abs=1e-12)
    assert result.n == (30 if "groups" in given else N)
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "method"),
    [
        *(("f1", m) for m in ("delta", "abc", "percentile", "basic", "normal", "bc", "bca", "studentized")),
        *(("roc_auc", m) for m in ("delta", "bca")),
        *(("r2", m) for m in ("delta", "bca", "studentized")),
    ],
)
def test_comparisons_by_every_general_method(statistic, method):
    truth, a, b = {"f1": (Y, A, B), "roc_auc": (Y, SCORE_A, SCORE_B), "r2": (TARGET, CLOSE, FAR)}[statistic]
    result = compare(statistic, truth, a, b, method=method)
    assert result.method == method
    assert result.reason == "asked for"
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high
    assert result.standard_error > 0
    assert result.test
    delta = compare(statistic, truth, a, b, method="delta")
    width = result.confidence_interval.high - result.confidence_interval.low
    assert width == pytest.approx(2 * Z * delta.standard_error, rel=0.5)


@pytest.mark.parametrize("alternative", ["less", "greater"])
@pytest.mark.parametrize("statistic", ["accuracy", "roc_auc", "f1", "log_loss"])
def test_one_sided_comparisons(statistic, alternative):
    a, b = (A, B) if statistic in ("accuracy", "f1") else (SCORE_A, SCORE_B)
    result = compare(statistic, Y, a, b, alternative=alternative)
    low, high = result.confidence_interval
    bottom, top = (-np.inf, np.inf) if statistic == "log_loss" else (-1, 1)
    assert (low == bottom) if alternative == "less" else (high == top)
    two = compare(statistic, Y, a, b, confidence_level=0.9)
    if alternative == "less":
        assert high == pytest.approx(two.confidence_interval.high, rel=1e-6)
    else:
        assert low == pytest.approx(two.confidence_interval.low, rel=1e-6)
    expected = (alternative == "greater") != (statistic == "log_loss")
    assert (result.pvalue < 0.05) == expected
    assert (result.conclusion == "a is better than b") == expected


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("method", ["delong", "delta", "basic", "normal"])
def test_a_difference_of_two_aucs_stays_within_one(method, alternative):
    """A good model against its reverse: a bound that leaves [-1, 1] is clipped, and the result says so."""
    truth = np.arange(40) % 2
    score = truth + np.random.default_rng(3).normal(0, 0.3, 40)
    result = compare("roc_auc", truth, score, -score, method=method, alternative=alternative)
    low, high = result.confidence_interval
    assert result.estimate + 1.64 * result.standard_error > 1.01
    assert -1 <= low <= result.estimate <= high <= 1
    assert any("clipped" in text for text in result.warnings)


@pytest.mark.parametrize("statistic", ["std", "var", "iqr"])
def test_a_larger_spread_is_not_called_better(statistic):
    result = compare(statistic, None, X, 0.5 * X)
    assert result.confidence_interval.low > 0
    assert "better" not in result.conclusion


def test_losses_are_better_when_smaller():
    assert compare("mean_squared_error", TARGET, CLOSE, FAR).estimate < 0
    assert compare("mean_squared_error", TARGET, CLOSE, FAR).conclusion == "a is better than b"
    assert compare("log_loss", Y, SCORE_B, SCORE_A).conclusion == "b is better than a"
    assert compare("r2", TARGET, CLOSE, FAR).conclusion == "a is better than b"


def test_margins():
    def said(metric: str, a: Any, b: Any, margin: float, truth: Any = Y) -> str:
        result = compare(metric, truth, a, b, margin=margin)
        assert result.margin == margin
        return result.conclusion

    near = np.where(np.arange(N) < 2, 1 - A, A)
    assert said("accuracy", near, A, 0.2) == "no difference shown; a is non-inferior to b within the margin 0.2"
    assert said("accuracy", near, A, 0.001) == (
        "no difference shown; a is not shown to be non-inferior to b within the margin 0.001"
    )
    assert said("accuracy", A, B, 0.05) == "a is better than b; a is non-inferior to b within the margin 0.05"
    assert said("accuracy", B, A, 0.9) == "b is better than a; a is non-inferior to b within the margin 0.9"
    assert said("accuracy", B, A, 0.05).endswith("a is not shown to be non-inferior to b within the margin 0.05")
    # of a loss: a is worse by .0009 to .27, so within 0.5 but not within 0.01
    assert said("mean_squared_error", FAR, CLOSE, 0.9, TARGET) == (
        "b is better than a; a is non-inferior to b within the margin 0.9"
    )
    assert said("mean_squared_error", FAR, CLOSE, 0.01, TARGET).endswith(
        "a is not shown to be non-inferior to b within the margin 0.01"
    )
    assert compare("accuracy", Y, A, B).margin is None


@pytest.mark.parametrize(
    ("metric", "data", "open_there", "other"),
    [("accuracy", (Y, A, B), "less", "greater"), ("mean_squared_error", (TARGET, FAR, CLOSE), "greater", "less")],
)
def test_a_margin_is_held_against_an_end_that_there_is(metric, data, open_there, other):
    with pytest.raises(
        ValueError, match=f"alternative={open_there!r} has no .* end, which says how much worse a may be"
    ):
        compare(metric, *data, margin=0.3, alternative=open_there)
    assert compare(metric, *data, margin=0.9, alternative=other).conclusion.endswith("within the margin 0.9")


def test_exact_mcnemar():
    only_a, only_b = int(np.sum((A == Y) & (B != Y))), int(np.sum((A != Y) & (B == Y)))
    for alternative in ("two-sided", "less", "greater"):
        result = compare("accuracy", Y, A, B, alternative=alternative, method="newcombe")
        test = stats.binomtest(only_a, only_a + only_b, alternative=alternative)
        assert result.pvalue == pytest.approx(test.pvalue, rel=1e-9)
        assert "McNemar" in result.test


def test_comparisons_with_strings_and_booleans():
    words = np.array(["no", "yes"])
    plain = compare("f1", Y, A, B)
    assert compare("f1", words[Y], words[A], words[B], pos_label="yes").confidence_interval == plain.confidence_interval
    assert compare("f1", Y == 1, A == 1, B == 1).confidence_interval == plain.confidence_interval
    other = compare("recall", words[Y], words[A], words[B], pos_label="no")
    assert other.estimate_a == np.mean(A[Y == 0] == 0)


def test_options_reach_the_statistic_and_the_method():
    assert compare("quantile", None, X, 0.8 * X, q=0.9).estimate == pytest.approx(0.2 * np.quantile(X, 0.9), rel=1e-9)
    by_jackknife = compare("f1", Y, A, B, method="bca", acceleration="jackknife")
    assert by_jackknife.method == "bca"
    logit = interval("f1", Y, A, method="delta", scale="logit")
    natural = interval("f1", Y, A, method="delta")
    assert logit.confidence_interval.low < natural.confidence_interval.low
    exact = interval("mean", X, method="exact", endpoints="bca")
    assert exact.confidence_interval == interval("mean", X, method=Exact(endpoints="bca")).confidence_interval
    assert exact.confidence_interval != interval("mean", X, method="exact").confidence_interval


# --- the other verbs -------------------------------------------------------------------------------


def test_list_metrics():
    names = jaxci.list_metrics()
    assert len(names) == len(set(names))
    wanted = """
        accuracy balanced_accuracy f1 f1_macro f1_micro f1_weighted precision_macro recall specificity jaccard
        matthews_corrcoef cohen_kappa_score roc_auc roc_auc_ovr roc_auc_ovo roc_auc_micro average_precision
        average_precision_macro log_loss brier_score_loss mean_squared_error root_mean_squared_error
        mean_absolute_error r2 mean median trimmed_mean std iqr quantile
    """
    assert set(wanted.split()) <= set(names)
    names.clear()
    assert jaxci.list_metrics(), "the list is the caller's own"


def test_list_methods():
    wanted = """
        z t wald wilson wilson_cc agresti_coull clopper_pearson jeffreys mid_p delong delong_logit hanley_mcneil
        delta percentile basic normal bc bca studentized abc exact hoeffding empirical_bernstein betting
    """
    every = {method for metric in jaxci.list_metrics() for method in jaxci.list_methods(metric)}
    assert set(wanted.split()) <= every
    assert jaxci.list_methods("accuracy") == jaxci.list_methods(jaxci.statistics.Accuracy())
    assert "wilson" in jaxci.list_methods("accuracy")
    assert "delong" in jaxci.list_methods("roc_auc")
    assert "delong" not in jaxci.list_methods(jaxci.statistics.RocAuc(max_fpr=0.1))
    assert "wilson" not in jaxci.list_methods("mean")


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["accuracy", "brier_score_loss", "median"])
def test_every_method_listed_serves(statistic):
    uniform = stats.rankdata(X) / (len(X) + 1)  # within [0, 1] and symmetric, as some methods for quantiles ask
    data = {"accuracy": (Y, A), "brier_score_loss": (Y, SCORE_A), "median": (uniform,)}[statistic]
    for method in jaxci.list_methods(statistic):
        result = interval(statistic, *data, method=method)
        assert result.confidence_interval.low <= result.estimate <= result.confidence_interval.high
        assert (result.method, result.reason) == (method, "asked for")


def test_methods_for_values_in_a_known_range():
    x = X / X.max()
    for method in ("hoeffding", "empirical_bernstein", "betting"):
        result = interval("mean", x, method=method, low=0, high=1)
        assert 0 <= result.confidence_interval.low < x.mean() < result.confidence_interval.high <= 1
        assert result.confidence_interval.high > interval("mean", x, method="t").confidence_interval.high


def test_the_range_of_a_binary_brier_score_is_one():
    assert interval("brier_score_loss", Y, SCORE_A, alternative="greater").confidence_interval.high == 1


def test_proportion_interval():
    low, high = jaxci.proportion_interval(22, 23, method="wilson")
    expected = stats.binomtest(22, 23).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    found = jaxci.proportion_interval(np.array([[0, 5], [7, 10]]), 10, method="clopper_pearson", alternative="greater")
    assert found.low.shape == (2, 2)
    assert (found.high == 1).all()
    one = jaxci.proportion_interval(7, 10, method="clopper_pearson", alternative="greater")
    assert "1234567 of 9876543" in str(jaxci.proportion_interval(1234567, 9876543))
    assert type(one.low) is float
    assert one.low == found.low[1, 0]
    result = interval("accuracy", Y, A)
    assert result.confidence_interval == jaxci.proportion_interval(int(np.sum(Y == A)), N)


def test_jackknife():
    x = X[:20]
    n = len(x)
    for statistic in ("std", lambda v: np.std(v), jaxci.statistics.Std()):
        result = jaxci.jackknife(x, statistic)
        left = np.array([np.delete(x, i).std() for i in range(n)])
        assert result.estimate == pytest.approx(x.std(), rel=1e-12)
        assert result.bias == pytest.approx((n - 1) * (left.mean() - x.std()), rel=1e-9)
        assert result.bias_corrected == pytest.approx(result.estimate - result.bias, rel=1e-12)
        assert result.standard_error == pytest.approx(np.sqrt((n - 1) * left.var()), rel=1e-9)
        np.testing.assert_allclose(result.pseudo_values, n * x.std() - (n - 1) * left, rtol=1e-9)
        assert result.delete == 1
    assert jaxci.jackknife(x, "mean").standard_error == pytest.approx(x.std(ddof=1) / np.sqrt(n), rel=1e-12)
    assert jaxci.jackknife(x, "var").bias_corrected == pytest.approx(x.var(ddof=1), rel=1e-9)
    two = jaxci.jackknife(x, "mean", delete=2)
    assert two.pseudo_values.shape == (n * (n - 1) // 2,)
    assert two.standard_error == pytest.approx(x.std(ddof=1) / np.sqrt(n), rel=1e-9)


def test_jackknife_of_metrics():
    found = jaxci.jackknife((Y, A), "f1")
    by_hand = jaxci.jackknife((Y, A), lambda y, p: 2 * np.sum(y * p) / np.sum(y + p))
    assert found.standard_error == pytest.approx(by_hand.standard_error, rel=1e-9)
    np.testing.assert_allclose(found.pseudo_values, by_hand.pseudo_values, rtol=1e-9)
    words = np.array(["no", "yes"])
    assert jaxci.jackknife((words[Y], words[A]), "accuracy").estimate == np.mean(Y == A)


def test_progress_is_called_to_the_end():
    seen: list[tuple[int, int]] = []
    result = interval("roc_auc", Y, SCORE_A, method="percentile", memory_limit=1, progress=lambda *at: seen.append(at))
    assert seen[-1] == (199, 199)
    assert len(seen) > 1
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    assert result.n_resamples == 199


def test_public_names():
    assert set(jaxci.__all__) <= set(dir(jaxci))
    for name in jaxci.__all__:
        assert getattr(jaxci, name).__doc__
    with pytest.raises(AttributeError, match="nonsense"):
        jaxci.nonsense  # noqa: B018


@pytest.mark.slow
def test_a_row_depends_on_no_other_metric_and_its_rng_repeats_it_alone():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 40)
    guess, score = np.where(rng.random(40) < 0.3, 0, y), rng.dirichlet(np.ones(3), 40)
    metrics = ["balanced_accuracy", "f1_macro", "roc_auc_ovr", "average_precision_macro", "matthews_corrcoef"]
    settings = {"method": "percentile", "n_resamples": 199}
    together = jaxci.evaluate(y, guess, score, metrics=metrics, rng=7, **settings)
    fewer = jaxci.evaluate(y, guess, score, metrics=metrics[::2], rng=7, **settings)
    for row in fewer:
        np.testing.assert_allclose(
            row.bootstrap_distribution, together[row.statistic].bootstrap_distribution, rtol=1e-9
        )
    for row in together:
        arrays = (score,) if "roc" in row.statistic or "precision" in row.statistic else (guess,)
        alone = jaxci.interval(row.statistic, y, *arrays, rng=row.rng, **settings)
        np.testing.assert_allclose(alone.bootstrap_distribution, row.bootstrap_distribution, rtol=1e-9)
        np.testing.assert_allclose(alone.confidence_interval, row.confidence_interval, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_a_weighted_median_halves_a_tie_at_half_of_the_weight(n):
    weights = np.resize([0.3, 0.7, 1.1, 0.1], n)
    weights = np.concatenate([weights, weights[::-1]])  # each half has half of the weight
    result = interval("median", np.arange(2.0 * n), sample_weight=weights, n_resamples=99, rng=0)
    assert result.estimate == n - 0.5


# --- what weights mean -----------------------------------------------------------------------------

TIMES = np.arange(N) % 4
AGAIN = np.repeat(np.arange(N), TIMES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "data"),
    [
        ("accuracy", (Y, A)),
        ("f1_macro", (Y3, A3)),
        ("roc_auc", (Y, SCORE_A)),
        ("average_precision_macro", (Y3, SCORE3)),
        ("mean", (X,)),
        ("median", (X,)),
        ("mean_squared_error", (TARGET, CLOSE)),
        (np.ptp, (X,)),
    ],
)
def test_frequencies_are_repeated_rows(statistic, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxciWarning)
        counted = interval(statistic, *data, sample_weight=TIMES, weight_type="frequency")
        repeated = interval(statistic, *(x[AGAIN] for x in data))
    assert counted.n == len(AGAIN)
    assert counted.estimate == repeated.estimate
    assert counted.confidence_interval == repeated.confidence_interval
    assert counted.method == repeated.method


def test_frequencies_go_with_clusters_comparisons_and_tables():
    given = {"n_resamples": 199, "rng": 0}
    table = jaxci.evaluate(Y, A, groups=GROUPS, sample_weight=TIMES, weight_type="frequency", **given)
    again = jaxci.evaluate(Y[AGAIN], A[AGAIN], groups=GROUPS[AGAIN], **given)
    assert [row.confidence_interval for row in table] == [row.confidence_interval for row in again]
    difference = jaxci.compare("accuracy", Y, A, 1 - A, sample_weight=TIMES, weight_type="frequency")
    assert (
        difference.confidence_interval
        == jaxci.compare("accuracy", Y[AGAIN], A[AGAIN], 1 - A[AGAIN]).confidence_interval
    )


def test_rows_of_weight_zero_leave():
    weights = np.where(np.arange(N) % 5 == 0, 0.0, WEIGHTS)
    kept = weights > 0
    row, less = interval("mean", X, sample_weight=weights), interval("mean", X[kept], sample_weight=weights[kept])
    assert row.n == less.n == kept.sum()
    assert row.confidence_interval == less.confidence_interval
    assert "in effect" in row.reason


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sample_weight": WEIGHTS + 0.5, "weight_type": "frequency"}, "sample_weight must be whole numbers"),
        ({"weight_type": "frequency"}, "needs sample_weight"),
        ({"sample_weight": WEIGHTS, "weight_type": "analytic"}, "weight_type must be one of importance, frequency"),
        ({"sample_weight": np.eye(1, N)[0]}, "sample_weight must leave at least 2 observations; got 1"),
        ({"sample_weight": np.full(N, 1e12), "weight_type": "frequency"}, "must count at most 2,147,483,647 rows"),
    ],
)
def test_weights_that_mean_nothing_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        interval("mean", X, **given)


@pytest.mark.parametrize("weight", [1.0, 3.0, 1e-120])
def test_rows_of_equal_weight_are_rows(weight):
    weights = np.full(N, weight)
    weights[3] = 0.0
    left = np.arange(N) != 3
    found, plain = (
        evaluate(Y[rows], A[rows], SCORE_A[rows], metrics=["accuracy", "balanced_accuracy", "roc_auc"], rng=0, **given)
        for rows, given in ((np.full(N, True), {"sample_weight": weights}), (left, {}))
    )
    for one, other in zip(found, plain, strict=True):
        assert (one.method, one.confidence_interval) == (other.method, other.confidence_interval)
