"""What users get wrong: every bad input has one clear error or warning, which names argument, rule and value."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci import JaxciWarning

N = 40
ROWS = np.arange(N)
Y = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0, 1] * 4)
PRED = np.where(ROWS % 5 == 0, 1 - Y, Y)
SCORE = np.clip(0.5 + 0.3 * (2 * Y - 1) + np.random.default_rng(0).normal(0, 0.3, N), 0.01, 0.99)
Y3 = ROWS % 3
PRED3 = np.where(ROWS % 4 == 0, (Y3 + 1) % 3, Y3)
SCORE3 = np.eye(3)[Y3] + np.random.default_rng(1).random((N, 3))
SCORE3 /= SCORE3.sum(axis=1, keepdims=True)
BOOTSTRAP = ("percentile", "basic", "normal", "bc", "bca")


def evaluate(*data: Any, **options: Any) -> jaxci.EvaluationTable:
    return jaxci.evaluate(*data, **{"n_resamples": 199, "rng": 0, **options})


def interval(statistic: Any, *data: Any, **options: Any) -> jaxci.IntervalResult:
    return jaxci.interval(statistic, *data, **{"n_resamples": 199, "rng": 0, **options})


def compare(statistic: Any, *data: Any, **options: Any) -> jaxci.ComparisonResult:
    return jaxci.compare(statistic, *data, **{"n_resamples": 199, "rng": 0, **options})


def refusal(call: Callable[[], Any], *parts: str, error: Any = (ValueError, TypeError)) -> str:
    """Return the message of the error, which must hold all ``parts``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error) as caught:
            call()
    message = str(caught.value)
    for part in parts:
        assert part in message, f"{part!r} is not in: {message}"
    return message


def heard(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result and its warnings, of which none may come from NumPy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    foreign = [f"{w.category.__name__}: {w.message}" for w in caught if not issubclass(w.category, JaxciWarning)]
    assert not foreign
    return result, "\n".join(str(w.message) for w in caught)


def holed(x: np.ndarray, *places: tuple[int, float]) -> np.ndarray:
    out = x.astype(float)
    for row, value in places:
        out[row] = value
    return out


# --- lengths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: evaluate(Y, PRED[:-1]), ["y_true has 40", "y_pred has 39"]),
        (lambda: evaluate(Y, y_score=SCORE[:-3]), ["y_true has 40", "y_score has 37"]),
        (lambda: evaluate(Y, PRED, SCORE[:-3]), ["y_true has 40", "y_score has 37"]),
        (lambda: evaluate(SCORE, SCORE[:-1]), ["y_true has 40", "y_pred has 39"]),
        (lambda: interval("accuracy", Y, PRED[:-1]), ["y_true has 40", "y_pred has 39"]),
        (lambda: interval(lambda a, b: a.mean() - b.mean(), Y, PRED[:-1]), ["data[0] has 40", "data[1] has 39"]),
        (lambda: compare("mean", None, SCORE, SCORE[:-1]), ["prediction_a has 40", "prediction_b has 39"]),
        (lambda: jaxci.jackknife((Y, PRED[:-1]), "accuracy"), ["y_true has 40", "y_pred has 39"]),
        (lambda: evaluate(Y, PRED, groups=[1, 2, 3]), ["groups has 3"]),
        (lambda: evaluate(Y, PRED, strata=[1, 2, 3]), ["strata has 3"]),
        (lambda: evaluate(Y, PRED, sample_weight=[1, 2, 3]), ["sample_weight has 3"]),
        (lambda: compare("accuracy", Y, PRED, Y, groups=[1, 2, 3]), ["groups has 3"]),
    ],
)
def test_lengths_that_differ(call, parts):
    refusal(call, "one length", *parts, error=ValueError)


@pytest.mark.parametrize(
    ("statistic", "truth", "a", "b"),
    [("accuracy", Y, PRED, PRED[:-1]), ("roc_auc", Y, SCORE, SCORE[:-1]), ("r2", SCORE, SCORE, SCORE[:-1])],
)
def test_compare_names_its_own_arguments_on_length(statistic, truth, a, b):
    refusal(lambda: compare(statistic, truth, a, b), "prediction_b has 39", error=ValueError)


@pytest.mark.parametrize("argument", ["groups", "strata", "sample_weight"])
def test_a_length_error_names_no_argument_that_does_not_exist(argument):
    message = refusal(lambda: interval("mean", SCORE, **{argument: [1, 2, 3]}), f"{argument} has 3")
    assert "y_true" not in message


# --- NaN and infinity ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name", "count", "row"),
    [
        (lambda x: evaluate(Y, y_score=x), "y_score", "3 of 40", 3),
        (lambda x: evaluate(x, SCORE, metrics=["mean_squared_error"]), "y_true", "3 of 40", 3),
        (lambda x: evaluate(x, SCORE), "y_true", "3 of 40", 3),
        (lambda x: evaluate(SCORE, x), "y_pred", "3 of 40", 3),
        (lambda x: interval("mean", x), "values", "3 of 40", 3),
        (lambda x: interval("median", x), "values", "3 of 40", 3),
        (lambda x: interval("mean", SCORE, sample_weight=x), "sample_weight", "3 of 40", 3),
        (lambda x: compare("mean", None, SCORE, x), "prediction_b", "3 of 40", 3),
        (lambda x: jaxci.jackknife(x, "mean"), "values", "3 of 40", 3),
    ],
)
def test_nan_and_infinity_are_counted_and_placed(call, name, count, row):
    bad = holed(SCORE, (3, np.nan), (7, np.inf), (9, -np.inf))
    refusal(lambda: call(bad), name, "finite", count, f"row {row}", error=ValueError)


def test_nan_in_a_table_of_scores_is_placed_by_row():
    bad = SCORE3.copy()
    bad[5, 2] = np.nan
    refusal(lambda: evaluate(Y3, y_score=bad), "y_score", "1 of 120", "row 5", error=ValueError)


@pytest.mark.parametrize("name", ["y_true", "y_pred", "groups", "strata"])
@pytest.mark.parametrize(
    "bad",
    [
        holed(Y, (4, np.nan), (6, np.nan)),
        np.where(np.isin(ROWS, [4, 6]), None, Y),
        np.where(np.isin(ROWS, [4, 6]), None, np.array(["a", "b"], object)[Y]),
    ],
    ids=["NaN", "None among integers", "None among strings"],
)
def test_missing_labels_are_counted_and_placed(name, bad):
    labels = np.array(["a", "b"])[Y] if any(isinstance(x, str) for x in bad) else Y
    arguments = {"y_true": labels, "y_pred": labels, **{name: bad}}
    refusal(lambda: evaluate(**arguments), name, "missing", "2 of 40", "row 4", error=ValueError)


def test_missing_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    words = pd.Series(np.array(["a", "b"], object)[Y], dtype="string")
    refusal(lambda: evaluate(words.where(ROWS != 4), words), "y_true", "missing", "1 of 40", "row 4")
    numbers = pd.Series(Y, dtype="Int64")
    refusal(lambda: evaluate(numbers, numbers.where(ROWS != 4)), "y_pred", "missing", "1 of 40", "row 4")
    values = pd.Series(SCORE, dtype="Float64")
    refusal(lambda: interval("mean", values.where(ROWS != 4)), "values", "1 of 40", "row 4")


def test_compare_names_its_own_arguments_on_nan():
    refusal(lambda: compare("accuracy", Y, PRED, holed(PRED, (4, np.nan))), "prediction_b", "row 4")
    refusal(lambda: compare("roc_auc", Y, holed(SCORE, (4, np.nan)), SCORE), "prediction_a", "row 4")
    refusal(lambda: compare("r2", SCORE, SCORE, holed(SCORE, (4, np.nan))), "prediction_b", "row 4")


@pytest.mark.slow
def test_a_function_of_data_with_nan_is_not_silent():
    result, said = heard(lambda: interval(lambda x: jnp.mean(x), holed(SCORE, (3, np.nan))))
    assert np.isnan(result.estimate)
    assert "undefined" in said


def test_the_jackknife_of_a_function_of_data_with_nan_is_not_silent():
    try:
        _, said = heard(lambda: jaxci.jackknife(holed(SCORE, (3, np.nan)), np.mean))
    except ValueError as error:
        said = str(error)
    assert re.search("undefined|NaN|finite", said)


# --- empty, and a single observation ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: evaluate([], []), "y_true"),
        (lambda: evaluate([], y_score=[]), "y_score"),
        (lambda: evaluate([], [], metrics=["r2"]), "y_true"),
        (lambda: evaluate(Y, PRED, groups=[]), "groups"),
        (lambda: interval("mean", []), "values"),
        (lambda: interval("median", np.empty(0)), "values"),
        (lambda: interval(lambda x: x.mean(), []), "data[0]"),
        (lambda: compare("accuracy", [], [], []), "y_true"),
        (lambda: compare("mean", None, [], []), "prediction_a"),
        (lambda: jaxci.jackknife([], "mean"), "values"),
        (lambda: jaxci.bootstrap(([],), np.mean), "data[0]"),
    ],
)
def test_empty(call, name):
    refusal(call, name, " 0", error=ValueError)


def test_no_data_at_all():
    refusal(lambda: interval("mean"), "mean takes 1 array", "got 0", error=TypeError)
    refusal(lambda: interval(np.mean), "data", "at least one array", "none", error=TypeError)
    refusal(lambda: evaluate(Y), "y_pred or y_score must be given", error=TypeError)
    refusal(lambda: jaxci.bootstrap((), np.mean), "data must hold at least one sample", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, metrics=[]), "metrics must name at least one", error=ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate([1], [1]),
        lambda: evaluate([1], y_score=[0.3]),
        lambda: evaluate([1.5], [2.0]),
        lambda: interval("mean", [1.0]),
        lambda: interval(lambda x: x.mean(), [1.0]),
        lambda: compare("accuracy", [1], [1], [0]),
        lambda: compare("mean", None, [1.0], [2.0]),
    ],
)
def test_one_observation(call):
    refusal(call, "at least 2 observations", "n = 1", error=ValueError)


def test_one_observation_in_the_other_verbs():
    refusal(lambda: jaxci.bootstrap(([1.0],), np.mean), "at least 2 observations", "data[0] has 1", error=ValueError)
    refusal(lambda: jaxci.jackknife([1.0], "mean"), "delete must be less than", "n = 1", error=ValueError)


def test_two_observations_work():
    result, _ = heard(lambda: interval("mean", [1.0, 3.0]))
    assert (result.estimate, result.method) == (2.0, "t")
    assert result.confidence_interval.high - result.confidence_interval.low == pytest.approx(2 * 12.7062, rel=1e-4)


# --- labels ----------------------------------------------------------------------------------------


def test_labels_outside_labels():
    refusal(
        lambda: evaluate(Y3, PRED3, labels=[0, 1]),
        "y_true must only hold values in labels [0, 1]",
        "13 do not",
        "2",
        "row 2",
        error=ValueError,
    )
    refusal(lambda: evaluate(Y, np.where(ROWS == 7, 9, PRED), labels=[0, 1]), "y_pred", "1 do not", "9", "row 7")
    words = np.array(["a", "b", "c"])
    refusal(lambda: interval("f1_macro", words[Y3], words[PRED3], labels=["a", "b"]), "y_true", "'c'", "row 2")


def test_labels_must_be_distinct_and_there():
    refusal(lambda: evaluate(Y, PRED, labels=[0, 1, 1]), "labels must be distinct", "[0, 1, 1]", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, labels=[]), "labels must not be empty", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, labels=1), "labels must be", "1")


def test_labels_of_two_types():
    refusal(lambda: evaluate(Y, PRED.astype(str)), "y_true has dtype", "y_pred has dtype", error=TypeError)


def test_pos_label_must_be_a_label():
    words = np.array(["no", "yes"])
    refusal(lambda: evaluate(words[Y], words[PRED], pos_label="maybe"), "pos_label", "['no', 'yes']", "'maybe'")


def test_a_bad_outcome_is_named_although_the_target_could_be_a_number():
    """One fraction among outcomes of 0 and 1 must not turn the problem into a regression where labels are given."""
    bad = holed(Y, (7, 0.5))
    parts = ["y_true must only hold values in labels [0, 1]", "1 do not", "0.5", "row 7"]
    refusal(lambda: evaluate(bad, y_score=SCORE, labels=[0, 1]), *parts, error=ValueError)
    refusal(lambda: evaluate(bad, y_score=SCORE, labels=[0, 1], metrics=["log_loss"]), *parts, error=ValueError)
    refusal(lambda: interval("brier_score_loss", bad, SCORE, labels=[0, 1]), *parts, error=ValueError)


@pytest.mark.slow
def test_strings_and_booleans_as_labels():
    numbers = evaluate(Y, PRED, SCORE)
    words = np.array(["no", "yes"])
    for truth, guess, positive in (
        (words[Y], words[PRED], "yes"),
        (words[Y].astype(object), words[PRED].tolist(), "yes"),
        (Y == 1, PRED == 1, True),
        (Y.astype(float), PRED.astype(np.int8), 1),
        (2 * Y - 1, 2 * PRED - 1, 1),
    ):
        other = evaluate(truth, guess, SCORE, pos_label=positive)
        assert [row.estimate for row in other] == [row.estimate for row in numbers]
        assert [row.confidence_interval for row in other] == [row.confidence_interval for row in numbers]


def test_the_positive_class_is_named_where_it_was_guessed():
    words = np.array(["no", "yes"])
    result, said = heard(lambda: interval("recall", words[Y], words[PRED]))
    assert "positive class is 'yes'" in said
    assert result.estimate == interval("recall", Y, PRED).estimate
    _, said = heard(lambda: interval("log_loss", words[Y], SCORE))
    assert "positive class is 'yes'" in said, "one column of scores is that class's, whatever the metric"
    _, said = heard(lambda: interval("log_loss", words[Y], np.stack([1 - SCORE, SCORE], axis=1)))
    assert "positive class" not in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", [int, float])
def test_labels_1_and_2_say_that_1_is_positive(kind):
    y, guess = (1 + Y).astype(kind), (1 + PRED).astype(kind)
    remark = "the labels are 1 and 2: the positive class is 1 (pass pos_label=2 to change it)"
    table, said = heard(lambda: evaluate(y, guess, SCORE))
    assert said.count(remark) == 1
    assert table["recall"].estimate == np.mean(PRED[Y == 0] == 0)
    assert table["roc_auc"].estimate == pytest.approx(1 - interval("roc_auc", Y, SCORE).estimate)
    for call in (
        lambda: interval("f1", y, guess),
        lambda: interval("log_loss", y, SCORE),
        lambda: compare("f1", y, guess, y, labels=[2, 1]),
        lambda: jaxci.check_coverage("f1", y, guess, n_replications=50, n_resamples=99, methods=["wilson"], rng=0),
    ):
        assert remark in heard(call)[1]
    for call in (
        lambda: evaluate(y, guess, SCORE, pos_label=1),
        lambda: evaluate(y, guess, metrics=["accuracy", "f1_macro"]),
        lambda: interval("f1", Y, PRED),
        lambda: interval("f1", np.array([-1, 1])[Y], PRED * 2 - 1),
        lambda: interval("f1_macro", 1 + Y3, 1 + PRED3),
    ):
        assert "positive class" not in heard(call)[1]
    table, said = heard(lambda: evaluate(y, guess, SCORE, pos_label=2))
    assert "positive class" not in said
    assert table["recall"].estimate == interval("recall", Y, PRED).estimate


def shifted(predictions: np.ndarray, rows: int, classes: int) -> np.ndarray:
    return np.where(np.arange(len(predictions)) < rows, (predictions + 1) % classes, predictions)


@pytest.mark.parametrize("options", [{}, {"pos_label": 0}, {"labels": [1, 0]}])
def test_predictions_that_are_not_those_of_the_highest_score_are_remarked_on(options):
    """More than 5% of 40 rows are three or more; a tie is no disagreement."""
    words, order = ["a", "b", "c"], options.get("labels", [0, 1])
    two = np.stack([1 - SCORE, SCORE], axis=1)[:, order]
    mine = (SCORE > 0.5).astype(int)
    for rows in (0, 2, 3):
        told = f"in {rows} of 40 rows ({rows / 40:.1%}); columns of y_score are taken in the order"
        _, said = heard(
            lambda rows=rows: evaluate(Y, shifted(mine, rows, 2), two, metrics=["accuracy", "f1"], **options)
        )
        assert (f"{told} {order}" in said) == (rows == 3), said
        guess = np.array(words)[shifted(SCORE3.argmax(axis=1), rows, 3)]
        _, said = heard(lambda guess=guess: evaluate(np.array(words)[Y3], guess, SCORE3, metrics=["accuracy"]))
        assert said.count(f"{told} {words}") == (rows == 3)
    for call in (
        lambda: evaluate(Y, shifted(mine, 20, 2), SCORE),
        lambda: evaluate(Y, mine, np.full((N, 2), 0.5), metrics=["accuracy"]),
        lambda: evaluate(Y3, y_score=SCORE3, metrics=["accuracy"]),
    ):
        assert "highest y_score" not in heard(call)[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate(Y3, PRED3, labels=[0, 1]),
        lambda: evaluate(np.array(["a", "b"])[Y], np.array(["a", "c"])[PRED], labels=["a", "b"]),
        lambda: evaluate(Y, PRED, labels=np.array([0, 1, 1])),
        lambda: evaluate(Y, PRED, groups=np.ones(N, int)),
        lambda: evaluate(Y, PRED, groups=["a"] * N),
        lambda: interval("mean", ["a", "b"]),
        lambda: jaxci.bootstrap(SCORE, np.mean),
    ],
)
def test_values_in_messages_are_plain(call):
    message = refusal(call)
    assert not re.search(r"np\.\w+\(|array\(", message), message


def test_values_in_warnings_are_plain():
    _, said = heard(lambda: interval("roc_auc", np.ones(N, int), SCORE))
    assert not re.search(r"np\.\w+\(|array\(", said), said


def test_messages_are_one_line():
    logits = 9 * np.random.default_rng(0).normal(size=(N, 12))
    message = refusal(lambda: evaluate(ROWS % 12, y_score=logits, metrics=["log_loss"]), "y_score", "[0, 1]")
    assert "\n" not in message


# --- probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["log_loss", "brier_score_loss", "expected_calibration_error"])
def test_scores_that_are_no_probabilities(metric):
    bad = SCORE.copy()
    bad[[6, 9]] = 1.5, -0.25
    parts = ["y_score", "[0, 1]", "2 values", "row 6", "1.5"]
    refusal(lambda: interval(metric, Y, bad), *parts, error=ValueError)
    refusal(lambda: evaluate(Y, y_score=bad, metrics=[metric]), *parts, error=ValueError)
    refusal(lambda: compare(metric, Y, SCORE, bad), "[0, 1]", "row 6", error=ValueError)


@pytest.mark.parametrize("metric", ["log_loss", "brier_score_loss", "expected_calibration_error"])
def test_rows_that_do_not_sum_to_one(metric):
    bad = SCORE3.copy()
    bad[[4, 8]] *= 0.5
    refusal(lambda: interval(metric, Y3, bad), "y_score", "sum to 1", "2 do not", "row 4", "0.5", error=ValueError)


def test_two_columns_that_do_not_sum_to_one():
    both = np.stack([SCORE, SCORE], axis=1)
    refusal(lambda: interval("log_loss", Y, both), "y_score", "sum to 1", "row 0", error=ValueError)


def test_scores_that_are_no_probabilities_serve_ranking_metrics():
    table = evaluate(Y, y_score=9 * SCORE - 4)
    assert [row.statistic for row in table] == ["roc_auc", "average_precision"]
    assert table["roc_auc"].estimate == interval("roc_auc", Y, SCORE).estimate


def test_shape_of_scores():
    refusal(lambda: interval("roc_auc", SCORE, Y), "y_true", "y_score", "swapped", error=ValueError)
    refusal(lambda: evaluate(Y3, y_score=SCORE3[:, :2]), "y_score", "K = 3", "2 columns", error=ValueError)
    refusal(
        lambda: evaluate(Y3, y_score=SCORE),
        "y_score",
        "(n, K)",
        "K = 3 classes (the rarest is",
        "(40,)",
        error=ValueError,
    )
    refusal(lambda: evaluate(Y, y_score=np.ones((N, 2, 2))), "y_score", "(40, 2, 2)", error=ValueError)


def test_predictions_that_look_like_scores():
    """Probabilities passed as labels must not become 38 classes without a word."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            evaluate(Y, SCORE)
        except (ValueError, TypeError) as error:
            said = str(error)
        else:
            said = "\n".join(str(w.message) for w in caught)
    assert "y_score" in said


# --- the kind of problem ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "prediction", "instead"),
    [
        ("f1", PRED3, "f1_macro"),
        ("precision", PRED3, "precision_macro"),
        ("recall", PRED3, "recall_weighted"),
        ("jaccard", PRED3, "jaccard_macro"),
        ("specificity", PRED3, "specificity_macro"),
        ("negative_predictive_value", PRED3, ""),
        ("roc_auc", SCORE3, "roc_auc_ovr"),
        ("average_precision", SCORE3, "average_precision_macro"),
    ],
)
def test_a_binary_metric_of_three_classes(metric, prediction, instead):
    parts = [f"{metric} is a binary metric", "3 classes", instead]
    refusal(lambda: interval(metric, Y3, prediction), *parts, error=ValueError)
    given = {"y_pred": prediction} if prediction.ndim == 1 else {"y_score": prediction}
    refusal(lambda: evaluate(Y3, metrics=[metric], **given), *parts, error=ValueError)
    refusal(lambda: compare(metric, Y3, prediction, prediction), *parts, error=ValueError)


def test_metrics_of_two_kinds_of_target():
    refusal(lambda: evaluate(Y, PRED, metrics=["f1", "mean_squared_error"]), "metrics", "mean_squared_error")
    refusal(lambda: evaluate(Y, PRED, metrics=["mean"]), "metrics", "mean")


def test_metrics_need_their_inputs():
    refusal(lambda: evaluate(Y, PRED, metrics=["roc_auc"]), "roc_auc needs y_score", error=ValueError)
    refusal(lambda: evaluate(Y, y_score=9 * SCORE, metrics=["f1"]), "f1 needs y_pred", error=ValueError)
    refusal(lambda: interval("accuracy", Y), "accuracy takes 2", "y_true, y_pred", "got 1", error=TypeError)
    refusal(lambda: interval("mean", SCORE, SCORE), "mean takes 1", "values", "got 2", error=TypeError)
    refusal(lambda: evaluate(SCORE, y_score=SCORE, metrics=["r2"]), "y_pred must be given", error=TypeError)


def test_metrics_given_twice():
    refusal(lambda: evaluate(Y, PRED, metrics=["f1", "f1"]), "distinct", "'f1'", "2 times", error=ValueError)


# --- one class only --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "delong", "delta", *BOOTSTRAP])
@pytest.mark.parametrize("truth", [np.zeros(N, int), np.ones(N, int)])
def test_auc_of_one_class_is_undefined(method, truth):
    result, said = heard(lambda: interval("roc_auc", truth, SCORE, method=method))
    assert np.isnan(result.estimate)
    assert np.isnan(result.confidence_interval).all()
    assert "undefined" in said
    assert f"only one class, {truth[0]}," in said
    assert any("undefined" in text for text in result.warnings)
    assert "read from the others" not in said, "there are no others"
    assert "e+" not in said, "a share of 100% is printed as such"


def test_one_class_among_several_metrics():
    table, said = heard(lambda: evaluate(np.ones(N, int), np.ones(N, int), SCORE, metrics=["accuracy", "roc_auc"]))
    assert np.isnan(table["roc_auc"].estimate)
    assert table["accuracy"].confidence_interval.low < 1
    assert "roc_auc: roc_auc is undefined" in said


def test_one_true_class_with_predictions_of_two():
    table, said = heard(lambda: evaluate(np.ones(N, int), PRED, SCORE, metrics=["accuracy", "f1", "roc_auc"]))
    assert np.isnan(table["roc_auc"].estimate)
    assert table["accuracy"].estimate == PRED.mean()
    assert "undefined" in said


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["specificity", "negative_predictive_value", "precision", "recall"])
def test_a_ratio_without_trials_says_so(metric):
    """The 0 that ``zero_division`` gives is no estimate, and no division by 0 reaches the user."""
    truth, guess = {
        "specificity": (np.ones(N, int), PRED),
        "recall": (np.zeros(N, int), PRED),
        "precision": (Y, np.zeros(N, int)),
        "negative_predictive_value": (Y, np.ones(N, int)),
    }[metric]
    for method in ("auto", "wilson", "clopper_pearson", "jeffreys", "percentile", "delta"):
        result, said = heard(lambda method=method: interval(metric, truth, guess, method=method, labels=[0, 1]))
        assert said, method
        assert result.warnings, method


@pytest.mark.parametrize("method", ["auto", "percentile"])
def test_compare_auc_of_one_class(method):
    """Either an undefined result with a warning or a clear refusal, whatever the method."""
    said, conclusion = "", ""
    try:
        result, said = heard(lambda: compare("roc_auc", np.ones(N, int), SCORE, SCORE**2, method=method))
        conclusion = result.conclusion
    except ValueError as error:
        said = str(error)
    assert "undefined" in said or "y_true must hold both classes" in said
    assert "better" not in conclusion
    assert "no difference" not in conclusion


@pytest.mark.false_alarm(7e-5)
def test_resamples_of_one_class_are_counted():
    rare = (ROWS == 5).astype(int)
    result, said = heard(lambda: interval("roc_auc", rare, SCORE, method="percentile", n_resamples=999))
    lost = int(np.isnan(result.bootstrap_distribution).sum())
    # each resample misses the one positive with probability (1 - 1/40)^40 = .363; four sigma
    assert abs(lost / 999 - 0.363) < 4 * np.sqrt(0.363 * 0.637 / 999)
    assert f"undefined in {lost} of 999 resamples" in said
    assert np.isfinite(result.confidence_interval).all()


def test_absent_classes_are_counted():
    truth = np.where(ROWS == 5, 2, Y)
    result, said = heard(lambda: interval("f1_macro", truth, truth, method="percentile", n_resamples=999))
    found = re.search(r"class was absent from (\d+) of 999 resamples", said)
    assert found
    assert int(found[1]) == int((result.bootstrap_distribution < 1).sum())


# --- no variation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [True, False])
def test_accuracy_of_all_or_nothing(right):
    guess = Y if right else 1 - Y
    result, said = heard(lambda: interval("accuracy", Y, guess))
    assert said == ""
    # mid-p at x = n: half of p^n is alpha / 2; Wilson: n / (n + z^2)
    far = {"mid_p": 0.05 ** (1 / N), "wilson": N / (N + 1.959963984540054**2)}[str(result.method)]
    expected = (far, 1.0) if right else (0.0, 1 - far)
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", jaxci.list_methods("accuracy"))
@pytest.mark.parametrize("right", [True, False])
def test_accuracy_of_all_or_nothing_by_every_method(method, right):
    result, said = heard(lambda: interval("accuracy", Y, Y if right else 1 - Y, method=method))
    low, high = result.confidence_interval
    if np.isnan(low):
        assert method == "studentized"
        assert "zero standard error" in said
        return
    assert 0 <= low <= result.estimate <= high <= 1
    assert high - low > 0.01 or "width" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    ["balanced_accuracy", "f1_macro", "f1_weighted", "matthews_corrcoef", "cohen_kappa_score", "jaccard_macro"],
)
@pytest.mark.parametrize("method", ["auto", "delta", "bca", "studentized", "abc"])
def test_perfect_predictions_never_have_zero_width_in_silence(metric, method):
    """Influence values and replicates vary by rounding errors only, which must not pass for variation."""
    result, said = heard(lambda: interval(metric, Y3, Y3, method=method))
    low, high = result.confidence_interval
    assert result.estimate == pytest.approx(1, abs=1e-12)
    if method == "auto":
        assert result.method == "proper_bayesian"
        assert 0.02 < high - low < 0.5
        assert 0 < result.standard_error < 0.2
        return
    assert result.standard_error < 1e-12
    assert not high - low > 1e-9, "an interval made of rounding errors"
    assert "width" in said or (np.isnan(low) and "zero standard error" in said)
    assert "left the range" not in said, "by a rounding error only"


@pytest.mark.parametrize("metric", ["matthews_corrcoef", "cohen_kappa_score"])
def test_all_wrong_never_has_zero_width_in_silence(metric):
    result, said = heard(lambda: interval(metric, Y, np.full(N, 2), labels=[0, 1, 2]))
    low, high = result.confidence_interval
    assert result.method == "proper_bayesian"
    assert low <= result.estimate == 0 < 0.01 < high
    result, said = heard(lambda: interval(metric, Y, np.full(N, 2), labels=[0, 1, 2], method="percentile"))
    low, high = result.confidence_interval
    assert high - low < 1e-9
    assert "width" in said


@pytest.mark.parametrize("method", jaxci.list_methods("mean"))
def test_constant_values_by_every_method(method):
    result, said = heard(lambda: interval("mean", np.full(N, 2.5), method=method))
    low, high = result.confidence_interval
    assert result.estimate == 2.5
    assert np.isnan(low) or low == high == 2.5
    assert said


@pytest.mark.parametrize("metric", ["mean", "median", "trimmed_mean", "std", "var", "iqr", "quantile"])
def test_constant_values(metric):
    result, said = heard(lambda: interval(metric, np.full(N, 2.5)))
    assert result.estimate == (0 if metric in ("std", "var", "iqr") else 2.5)
    assert "width" in said


def test_constant_targets_and_predictions():
    table, said = heard(lambda: evaluate(np.full(N, 2.5), np.full(N, 2.5), metrics=["mean_squared_error", "r2"]))
    assert [row.estimate for row in table] == [0, 1]
    assert all(any("width" in text for text in row.warnings) for row in table)
    result, said = heard(lambda: interval("pearsonr", np.full(N, 2.5), SCORE))
    assert np.isnan(result.estimate)
    assert "undefined" in said


def test_constant_scores_have_an_auc_of_one_half():
    result, said = heard(lambda: interval("roc_auc", Y, np.full(N, 0.5)))
    assert result.estimate == 0.5
    assert result.confidence_interval.low < 0.47
    assert result.confidence_interval.high >= 0.5
    assert "scores are equal" in said
    result, said = heard(lambda: interval("roc_auc", Y, np.full(N, 0.5), method="delong"))
    assert result.confidence_interval.low < 0.4
    assert "scores are equal" in said


@pytest.mark.parametrize(
    ("statistic", "truth", "prediction"),
    [
        ("accuracy", Y, PRED),
        ("f1", Y, PRED),
        ("f1_macro", Y3, PRED3),
        ("roc_auc", Y, SCORE),
        ("log_loss", Y, SCORE),
        ("mean_squared_error", SCORE, SCORE**2),
        ("r2", SCORE, SCORE**2),
        ("mean", None, SCORE),
        ("median", None, SCORE),
    ],
)
def test_all_differences_zero(statistic, truth, prediction):
    result, said = heard(lambda: compare(statistic, truth, prediction, prediction))
    low, high = result.confidence_interval
    assert result.estimate == 0
    assert low <= 0 <= high
    assert result.pvalue == 1
    assert result.conclusion == "no difference shown"
    assert "differences are zero" in said or "alike" in said


@pytest.mark.parametrize("seed", range(3))
def test_the_same_predictions_do_not_differ_by_rounding_errors(seed):
    """The difference of two sums in different orders was -2.2e-16, and replicates of it have a sign."""
    truth = np.random.default_rng(seed).random(40)
    result, said = heard(lambda: compare("r2", truth, truth**2, truth**2, n_resamples=9999))
    assert (result.estimate, result.standard_error, result.pvalue) == (0, 0, 1)
    assert not np.any(result.bootstrap_distribution)
    assert "differences are zero" in said


@pytest.mark.parametrize("method", ["t", "z", "delta", "exact", "abc", "studentized", *BOOTSTRAP])
def test_all_differences_zero_by_every_method(method):
    result, said = heard(lambda: compare("mean", None, SCORE, SCORE, method=method))
    assert result.estimate == 0
    assert result.pvalue == 1
    assert "differences are zero" in said


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", *jaxci.list_methods("roc_auc")])
def test_auc_of_exactly_one(method):
    result, said = heard(lambda: interval("roc_auc", Y, Y + 0.01 * SCORE, method=method))
    low, high = result.confidence_interval
    assert result.estimate == 1
    assert 0 <= low <= high == pytest.approx(1, abs=1e-12)
    if method in ("auto", "proper_bayesian"):
        assert 0.8 < low < 0.95
        assert "end of its range" in said or "separated" in said
        return
    assert result.standard_error < 1e-12
    assert "separated" in said or "width" in said
    if method == "newcombe":
        assert 0.8 < low < 0.95
    elif method in ("delong", "delong_logit", "hanley_mcneil"):
        assert low == pytest.approx(0.025 ** (1 / 16), abs=1e-12)  # 16 negatives, 24 positives
    else:
        assert high - low < 1e-9, "an interval made of rounding errors"


# --- groups, strata and weights --------------------------------------------------------------------


@pytest.mark.parametrize("groups", [np.ones(N, int), ["ward"] * N])
def test_one_cluster(groups):
    parts = ["groups", "at least 2 clusters", "40 rows", str(groups[0])]
    refusal(lambda: evaluate(Y, PRED, groups=groups), *parts, error=ValueError)
    refusal(lambda: compare("accuracy", Y, PRED, Y, groups=groups), *parts, error=ValueError)


def test_few_clusters_are_not_taken_for_enough():
    result, said = heard(lambda: interval("mean", SCORE, groups=ROWS % 2))
    assert result.n == 2
    assert "only 2 clusters" in said
    result, said = heard(lambda: interval("f1", Y, PRED, groups=ROWS // 14))
    assert result.n == 3
    assert "only 3 clusters" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "data", "least"),
    [
        ("mean", (SCORE,), 25),
        ("mean", (np.where(ROWS == 3, 50, SCORE),), 75),
        ("r2", (SCORE, Y), 50),
        ("median", (SCORE,), 50),
    ],
)
def test_sizes_are_told_in_what_they_count(statistic, data, least):
    groups = ROWS % 18
    _, said = heard(lambda: interval(statistic, *data, groups=groups, strata=groups % 2))
    assert f"18 clusters are fewer than {least}, where" in said
    assert "n = 18" not in said


def test_clusters_across_strata():
    refusal(
        lambda: interval("mean", SCORE, groups=ROWS // 2, strata=ROWS % 2),
        "every cluster of groups must lie in one stratum",
        "row 0",
        error=ValueError,
    )


def test_shape_of_groups_and_strata():
    refusal(lambda: evaluate(Y, PRED, groups=np.ones((N, 2))), "groups", "(40, 2)", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, strata=3), "strata", "3")


@pytest.mark.parametrize("metric", ["f1", "accuracy"])
def test_a_stratum_with_one_row(metric):
    result, said = heard(lambda: interval(metric, Y, PRED, strata=np.where(ROWS == 3, "b", "a")))
    assert re.search(r"\b1 strat\w+ holds? a single", said)
    assert result.confidence_interval.low < result.confidence_interval.high


def test_every_stratum_with_one_row():
    result, said = heard(lambda: interval("mean", SCORE, strata=ROWS))
    assert "40 strata hold a single unit each" in said
    result, said = heard(lambda: interval("mean", SCORE, strata=ROWS, method="percentile"))
    assert result.confidence_interval.low == result.confidence_interval.high
    assert "width" in said


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda **k: interval("mean", SCORE, **k), "z"),
        (lambda **k: interval("brier_score_loss", Y, SCORE, **k), "hoeffding"),
        (lambda **k: interval("median", SCORE, **k), "order_statistic"),
        (lambda **k: interval("roc_auc", Y, SCORE, **k), "delong"),
        (lambda **k: interval("roc_auc", Y, SCORE, **k), "delong_logit"),
        (lambda **k: compare("mean", None, SCORE, SCORE**2, **k), "z"),
    ],
)
@pytest.mark.parametrize("name", ["groups", "strata", "sample_weight"])
def test_a_formula_for_independent_rows_refuses_dependent_ones(call, method, name):
    given = {"groups": ROWS // 4, "strata": ROWS % 2, "sample_weight": 1.0 + ROWS % 3}[name]
    refusal(
        lambda: call(method=method, **{name: given}),
        repr(method),
        "assumes independent rows",
        name,
        "percentile",
        error=ValueError,
    )


@pytest.mark.parametrize(
    ("method", "name"), [("wilson", "groups"), ("clopper_pearson", "groups"), ("clopper_pearson", "sample_weight")]
)
def test_shares_of_dependent_rows_are_refused_but_in_strata(method, name):
    given = {"groups": ROWS // 4, "sample_weight": 1.0 + ROWS % 3}[name]
    words = repr(method), "assumes independent rows", name, "percentile"
    refusal(lambda: interval("accuracy", Y, PRED, method=method, **{name: given}), *words, error=ValueError)
    refusal(lambda: evaluate(Y, PRED, metrics=["accuracy"], method=method, **{name: given}), *words, error=ValueError)
    interval("accuracy", Y, PRED, method=method, strata=ROWS % 2)


@pytest.mark.parametrize("name", ["groups", "sample_weight"])
@pytest.mark.parametrize("method", ["newcombe", "tango", "delong"])
def test_differences_of_dependent_rows_are_refused_but_in_strata(method, name):
    metric, a, b = ("roc_auc", SCORE, SCORE**2) if method == "delong" else ("accuracy", PRED, Y)
    given = {"groups": ROWS // 4, "sample_weight": 1.0 + ROWS % 3}[name]
    words = repr(method), "assumes independent rows", name, "percentile"
    refusal(lambda: compare(metric, Y, a, b, method=method, **{name: given}), *words, error=ValueError)
    compare(metric, Y, a, b, method=method, strata=ROWS % 2)


@pytest.mark.parametrize("name", ["strata", "sample_weight"])
@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda **k: interval("mean", SCORE, **k), "t"),
        (lambda **k: compare("mean", None, SCORE, SCORE**2, **k), "t"),
        (lambda **k: compare("accuracy", Y, PRED, Y, **k), "sign_flip"),
    ],
)
def test_a_formula_for_clusters_refuses_strata_and_weights(call, method, name):
    given = {"strata": ROWS % 2, "sample_weight": 1.0 + ROWS % 3}[name]
    refusal(
        lambda: call(method=method, **{name: given}), f"{method!r} cannot use {name}", "percentile", error=ValueError
    )


def test_weights():
    refusal(
        lambda: interval("mean", SCORE, sample_weight=np.where(ROWS == 6, -2, 1)),
        "sample_weight must not be negative",
        "-2",
        "row 6",
        error=ValueError,
    )
    refusal(lambda: interval("mean", SCORE, sample_weight=np.zeros(N)), "sample_weight", "positive sum", "0")
    refusal(
        lambda: interval("mean", SCORE, sample_weight=["a"] * N), "sample_weight must hold numbers", error=TypeError
    )
    refusal(lambda: interval("mean", SCORE, sample_weight=np.ones((N, 2))), "sample_weight", "(40, 2)")


def test_rows_of_weight_zero_do_not_count():
    weights = np.where(ROWS < 10, 0.0, 1.0)
    result = interval("mean", SCORE, sample_weight=weights)
    assert result.estimate == pytest.approx(SCORE[10:].mean(), rel=1e-12)


def test_weights_need_a_statistic_of_weights():
    refusal(
        lambda: interval(lambda x: jnp.mean(x), SCORE, sample_weight=np.arange(N)), "sample_weight", "WeightedFunction"
    )


# --- level, alternative, resamples, memory, randomness ----------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda level: evaluate(Y, PRED, confidence_level=level),
        lambda level: interval("mean", SCORE, confidence_level=level),
        lambda level: compare("accuracy", Y, PRED, Y, confidence_level=level),
        lambda level: jaxci.bootstrap((SCORE,), np.mean, confidence_level=level),
        lambda level: jaxci.proportion_interval(3, 5, confidence_level=level),
    ],
)
def test_confidence_level(call):
    refusal(lambda: call(95), "confidence_level must lie in (0, 1)", "got 95", "pass 0.95", error=ValueError)
    for bad in (0, 1, -0.1, 101, np.nan, np.inf):
        refusal(lambda bad=bad: call(bad), "confidence_level must lie in (0, 1)", f"got {bad}", error=ValueError)
    for bad in ("high", None, [0.9]):
        refusal(lambda bad=bad: call(bad), "confidence_level must be a number", repr(bad), error=TypeError)


def test_the_hint_on_a_confidence_level_of_100_leads_somewhere():
    message = refusal(lambda: interval("mean", SCORE, confidence_level=100), "confidence_level must lie in (0, 1)")
    assert "pass 1" not in message


@pytest.mark.parametrize("bad", ["two_sided", "both", None, ["less"]])
def test_alternative(bad):
    parts = ["alternative must be one of", "two-sided, less, greater", repr(bad)]
    refusal(lambda: interval("mean", SCORE, alternative=bad), *parts, error=ValueError)
    refusal(lambda: compare("accuracy", Y, PRED, Y, alternative=bad), *parts, error=ValueError)
    refusal(lambda: jaxci.proportion_interval(3, 5, alternative=bad), *parts, error=ValueError)


@pytest.mark.parametrize(
    ("level", "alternative", "least"), [(0.95, "two-sided", 39), (0.95, "less", 19), (0.99, "two-sided", 199)]
)
@pytest.mark.parametrize("method", ["percentile", "bca", "studentized"])
def test_too_few_resamples_for_the_level(level, alternative, least, method):
    options = {"method": method, "confidence_level": level, "alternative": alternative}
    refusal(
        lambda: interval("mean", SCORE, n_resamples=least - 1, **options),
        f"n_resamples must be at least {least}",
        f"confidence_level = {level:g}",
        f"got {least - 1}",
        error=ValueError,
    )
    if method == "percentile":
        assert interval("mean", SCORE, n_resamples=least, **options).n_resamples == least


def test_too_few_resamples_in_the_other_verbs():
    parts = ["n_resamples must be at least 39", "got 38"]
    refusal(lambda: evaluate(Y, PRED, n_resamples=38), *parts, error=ValueError)
    refusal(lambda: compare("f1", Y, PRED, Y, method="percentile", n_resamples=38), *parts, error=ValueError)
    assert evaluate(Y, PRED, metrics=["accuracy"], n_resamples=38)["accuracy"].n_resamples == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda b: evaluate(Y, PRED, n_resamples=b),
        lambda b: interval("mean", SCORE, n_resamples=b),
        lambda b: compare("accuracy", Y, PRED, Y, n_resamples=b),
        lambda b: jaxci.bootstrap((SCORE,), np.mean, n_resamples=b),
    ],
)
def test_n_resamples_is_an_integer(call):
    for bad in (True, 99.0, "99", np.float64(99)):
        refusal(lambda bad=bad: call(bad), "n_resamples must be an integer", repr(bad), error=TypeError)
    for bad in (0, -1):
        refusal(lambda bad=bad: call(bad), "n_resamples must be at least", f"got {bad}", error=ValueError)


def test_n_resamples_may_be_a_numpy_integer():
    assert interval("mean", SCORE, method="percentile", n_resamples=np.int64(199)).n_resamples == 199


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "data", "options"),
    [
        ("f1", (Y, PRED), {"method": "percentile"}),
        ("roc_auc", (Y, SCORE), {"method": "percentile"}),
        ("average_precision", (Y, SCORE), {"method": "percentile"}),
        ("median", (SCORE,), {"method": "bca"}),
        ("trimmed_mean", (SCORE,), {"method": "percentile"}),
        ("r2", (SCORE, SCORE**2), {"method": "percentile"}),
        ("mean", (SCORE,), {"method": "studentized"}),
        ("mean", (SCORE,), {"method": "percentile", "resampling": "balanced"}),
        ("mean", (SCORE,), {"method": "percentile", "resampling": "bayesian"}),
        ("f1", (Y, PRED), {"method": "percentile", "groups": ROWS // 4}),
        ("f1_macro", (Y3, PRED3), {"method": "percentile", "strata": ROWS % 2}),
    ],
)
def test_resamples_beyond_memory_are_chunked(statistic, data, options):
    """One byte allows one replicate at a time: the same draws, and values equal but for the order of sums."""
    whole = interval(statistic, *data, **options)
    chunked = interval(statistic, *data, memory_limit=1, **options)
    np.testing.assert_allclose(chunked.bootstrap_distribution, whole.bootstrap_distribution, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(chunked.confidence_interval, whole.confidence_interval, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_chunks_of_the_other_verbs():
    whole, chunked = (evaluate(Y, PRED, SCORE, memory_limit=limit) for limit in (None, 1))
    for a, b in zip(whole, chunked, strict=True):
        np.testing.assert_allclose(a.confidence_interval, b.confidence_interval, rtol=1e-12, atol=1e-14)
    whole, chunked = (
        compare("roc_auc", Y, SCORE, SCORE**2, method="percentile", memory_limit=limit) for limit in (None, 1)
    )
    assert whole.confidence_interval == chunked.confidence_interval
    whole, chunked = (jaxci.bootstrap((SCORE,), np.median, n_resamples=99, batch=b, rng=0) for b in (None, 7))
    np.testing.assert_array_equal(whole.bootstrap_distribution, chunked.bootstrap_distribution)


def test_memory_limit_is_a_positive_integer():
    for bad in (0, -1):
        refusal(
            lambda bad=bad: interval("mean", SCORE, memory_limit=bad), "memory_limit", f"got {bad}", error=ValueError
        )
    for bad in ("1", 1.5, True):
        refusal(lambda bad=bad: interval("mean", SCORE, memory_limit=bad), "memory_limit", repr(bad), error=TypeError)


@pytest.mark.parametrize("bad", ["0", 1.5, True, [1], np.random.RandomState(0)])
def test_rng_of_a_wrong_type(bad):
    parts = ["rng must be an int, a numpy.random.Generator, a JAX key or None", type(bad).__name__]
    refusal(lambda: interval("mean", SCORE, rng=bad), *parts, error=TypeError)
    refusal(lambda: evaluate(Y, PRED, rng=bad), *parts, error=TypeError)
    refusal(lambda: compare("accuracy", Y, PRED, Y, rng=bad), *parts, error=TypeError)
    refusal(lambda: jaxci.bootstrap((SCORE,), np.mean, rng=bad), *parts, error=TypeError)


def test_rng_out_of_range():
    for bad in (-1, 2**64):
        refusal(lambda bad=bad: interval("mean", SCORE, rng=bad), "rng", "[0, 2**64)", str(bad), error=ValueError)


def test_rng_of_several_keys():
    keys = jax.random.split(jax.random.key(0), 2)
    refusal(lambda: interval("mean", SCORE, method="percentile", rng=keys), "rng must be")


# --- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("acuracy", "accuracy"),
        ("auc", "roc_auc"),
        ("f1-macro", "f1_macro"),
        ("accuracy_score", "accuracy"),
        ("brier", "brier_score_loss"),
    ],
)
def test_an_unknown_metric_names_the_nearest(wrong, meant):
    parts = [f"unknown metric {wrong!r}", f"did you mean {meant!r}"]
    refusal(lambda: evaluate(Y, PRED, metrics=[wrong]), *parts, error=ValueError)
    refusal(lambda: interval(wrong, Y, PRED), *parts, error=ValueError)
    refusal(lambda: compare(wrong, Y, PRED, PRED), *parts, error=ValueError)
    refusal(lambda: jaxci.jackknife((Y, PRED), wrong), *parts, error=ValueError)
    refusal(lambda: jaxci.list_methods(wrong), *parts, error=ValueError)


def test_an_unknown_metric_that_is_near_to_none():
    refusal(lambda: interval("zzz", SCORE), "unknown metric 'zzz'", "known are", "roc_auc", error=ValueError)


@pytest.mark.parametrize(("wrong", "meant"), [("AUC", "roc_auc"), ("F1", "f1"), ("Accuracy", "accuracy")])
def test_the_nearest_metric_whatever_the_case(wrong, meant):
    refusal(lambda: interval(wrong, Y, PRED), f"did you mean {meant!r}", error=ValueError)


def test_per_class_metrics_belong_to_evaluate():
    refusal(lambda: evaluate(Y3, PRED3, metrics=["f2_per_class"]), "f2_per_class", "f1_per_class", error=ValueError)
    refusal(lambda: interval("f1_per_class", Y3, PRED3), "f1_per_class", "evaluate", error=ValueError)


@pytest.mark.parametrize("bad", [3, None, object()])
def test_a_statistic_of_a_wrong_type(bad):
    for call in (
        lambda: evaluate(Y, PRED, metrics=[bad]),
        lambda: interval(bad, Y, PRED),
        lambda: compare(bad, Y, PRED, PRED),
        lambda: jaxci.list_methods(bad),
    ):
        refusal(call, "statistic must be a name or an object of jaxci.statistics", error=TypeError)


def test_a_statistic_s_class_is_not_an_object():
    refusal(lambda: interval(jaxci.statistics.F1, Y, PRED), "statistic", "F1", error=TypeError)
    refusal(lambda: evaluate(Y, PRED, metrics=[jaxci.statistics.F1]), "statistic", "F1", error=TypeError)


@pytest.mark.parametrize(("wrong", "meant"), [("wilsn", "wilson"), ("clopper-pearson", "clopper_pearson")])
def test_an_unknown_method_names_the_nearest(wrong, meant):
    parts = ["method must be", repr(wrong), f"did you mean {meant!r}"]
    refusal(lambda: evaluate(Y, PRED, method=wrong), *parts, error=ValueError)
    refusal(lambda: interval("accuracy", Y, PRED, method=wrong), *parts, error=ValueError)
    refusal(lambda: jaxci.proportion_interval(3, 5, method=wrong), *parts, error=ValueError)


def test_an_unknown_method_of_the_other_verbs():
    refusal(lambda: compare("accuracy", Y, PRED, Y, method="newcomb"), "method must be", "did you mean 'newcombe'")
    refusal(lambda: jaxci.bootstrap((SCORE,), np.mean, method="bcaa"), "method must be", "'bcaa'", error=ValueError)


@pytest.mark.parametrize("wrong", ["BCa", "BCA", "Percentile", "Wilson"])
def test_the_nearest_method_whatever_the_case(wrong):
    refusal(lambda: interval("accuracy", Y, PRED, method=wrong), f"did you mean {wrong.lower()!r}", error=ValueError)


def test_the_nearest_of_many_methods_comes_before_them_all():
    with pytest.raises(
        ValueError, match=r"^method must be one of \d+ names; got 'BCa': did you mean 'bca'[?] They are z, t,"
    ):
        interval("accuracy", Y, PRED, method="BCa")
    with pytest.raises(ValueError, match=r"^method must be one of .*; got 'beta'$"):
        interval("accuracy", Y, PRED, method="beta")


@pytest.mark.parametrize("bad", [None, 3, ["wilson"]])
def test_a_method_of_a_wrong_type(bad):
    for call in (
        lambda: evaluate(Y, PRED, method=bad),
        lambda: interval("accuracy", Y, PRED, method=bad),
        lambda: compare("accuracy", Y, PRED, Y, method=bad),
        lambda: jaxci.bootstrap((SCORE,), np.mean, method=bad),
        lambda: jaxci.proportion_interval(3, 5, method=bad),
    ):
        refusal(call, "method must be")


@pytest.mark.parametrize(
    ("statistic", "data", "method", "why"),
    [
        ("median", (SCORE,), "wilson", "proportion"),
        ("f1", (Y, PRED), "t", "mean"),
        ("median", (SCORE,), "delta", "differentiable"),
        ("median", (SCORE,), "studentized", "differentiable"),
        ("f1_macro", (Y, PRED), "exact", "exact"),
        ("accuracy", (Y, PRED), "delong", "ROC curve"),
        ("mean", (SCORE,), "hoeffding", "range"),
        ("accuracy", (Y, PRED), "hoeffding", "clopper_pearson' holds at every n"),
        ("accuracy", (Y, PRED), "betting", "a share of rows has methods of its own"),
        ("mean", (SCORE,), "order_statistic", "median and quantiles"),
    ],
)
def test_a_method_that_cannot_serve_says_why_and_which_can(statistic, data, method, why):
    message = refusal(lambda: interval(statistic, *data, method=method), repr(method), statistic, why, error=ValueError)
    for able in jaxci.list_methods(statistic):
        assert able in message
    assert method not in jaxci.list_methods(statistic)


def test_compare_refuses_what_is_not_for_it():
    refusal(lambda: compare("f1", Y, PRED, Y, method="newcombe"), "newcombe", "f1", "percentile", error=ValueError)
    refusal(lambda: compare("f1", Y, PRED, Y, method="delong"), "delong", "f1", "percentile", error=ValueError)
    refusal(lambda: compare("f1", Y, PRED, Y, method="t"), "'t'", "f1", "mean", error=ValueError)


# --- options ---------------------------------------------------------------------------------------


def test_unknown_options():
    refusal(
        lambda: interval("mean", SCORE, method="bca", accelerate=1),
        "'bca' has no option 'accelerate'",
        "acceleration, degenerate",
        error=TypeError,
    )
    refusal(lambda: interval("mean", SCORE, method="t", scale="logit"), "'t' has no option 'scale'", error=TypeError)
    refusal(lambda: interval("mean", SCORE, acceleration="jackknife"), "acceleration", "'auto'", error=TypeError)
    refusal(lambda: interval("mean", SCORE, n_resample=99), "n_resample", error=TypeError)
    refusal(lambda: interval(lambda x: jnp.mean(x), SCORE, nonsense=1), "nonsense", error=TypeError)
    refusal(lambda: evaluate(Y, PRED, nonsense=1), "nonsense", error=TypeError)


@pytest.mark.parametrize("method", ["auto", "newcombe", "percentile"])
def test_compare_refuses_unknown_options(method):
    refusal(lambda: compare("accuracy", Y, PRED, Y, method=method, nonsense=1), "nonsense", error=TypeError)
    refusal(lambda: compare("accuracy", Y, PRED, Y, method=method, n_resample=9), "n_resample", error=TypeError)


@pytest.mark.parametrize(
    ("statistic", "method", "option", "bad"),
    [
        ("mean", "bca", "acceleration", "jack"),
        ("mean", "bca", "degenerate", "none"),
        ("mean", "exact", "endpoints", "studentized"),
        ("mean", "delta", "scale", "log"),
    ],
)
def test_values_of_method_options(statistic, method, option, bad):
    refusal(lambda: interval(statistic, SCORE, method=method, **{option: bad}), option, repr(bad), error=ValueError)


@pytest.mark.parametrize("bad", [2, -0.5, np.nan, "a", None])
def test_probability_of_a_quantile(bad):
    for method in ("auto", "percentile"):
        refusal(lambda method=method: interval("quantile", SCORE, q=bad, method=method), "q ", str(bad))


@pytest.mark.parametrize("bad", [0.5, 0.7, -0.1, np.nan])
def test_share_of_a_trimmed_mean(bad):
    refusal(lambda: interval("trimmed_mean", SCORE, proportiontocut=bad), "proportiontocut", str(bad), error=ValueError)


@pytest.mark.parametrize("metrics", [["f1"], ["accuracy"], ["f1", "accuracy"], None])
def test_conventions_are_checked_whatever_the_metrics(metrics):
    refusal(lambda: evaluate(Y, PRED, metrics=metrics, absent_class="none"), "absent_class", "'none'", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, metrics=metrics, zero_division=0.5), "zero_division", "0.5", error=ValueError)
    refusal(lambda: evaluate(Y, PRED, metrics=metrics, zero_division="warn"), "zero_division", "'warn'")


def test_margin():
    for bad in (-1, 0, np.nan):
        refusal(lambda bad=bad: compare("accuracy", Y, PRED, Y, margin=bad), "margin must be positive", str(bad))
    refusal(lambda: compare("accuracy", Y, PRED, Y, margin="wide"), "margin", "'wide'")


def test_resampling():
    refusal(lambda: interval("mean", SCORE, resampling="balancd"), "resampling must be one of", "'balancd'")
    refusal(lambda: interval("mean", SCORE, resample_size=1), "resample_size must be at least 2", "1")
    refusal(lambda: interval("mean", SCORE, resample_size=9, resampling="balanced"), "resample_size", "'balanced'")
    refusal(lambda: interval("mean", SCORE, strata=ROWS % 2, resampling="bayesian"), "strata", "'bayesian'")
    refusal(lambda: interval(lambda x: jnp.mean(x), SCORE, resampling="bayesian"), "WeightedFunction", "'bayesian'")


def test_resampling_asked_for_is_not_ignored():
    try:
        _, said = heard(lambda: interval("mean", SCORE, method="t", resampling="bayesian"))
    except (ValueError, TypeError) as error:
        said = str(error)
    assert "resampling" in said


# --- types of data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (["a", "b", "c"], TypeError),
        (None, TypeError),
        (3.0, ValueError),
        ("abc", ValueError),
        ({"a": 1}, ValueError),
        (np.ones((5, 2)), ValueError),
        (np.ones((5, 2, 2)), ValueError),
        (np.array([1, "a", None] * 4, object), TypeError),
        (SCORE + 1j, TypeError),
        (np.array(["2020-01-01", "2020-01-02"] * 5, "M8[D]"), TypeError),
        ([[1.0, 2.0], [3.0]], ValueError),
    ],
    ids=["strings", "None", "scalar", "string", "dict", "2-D", "3-D", "objects", "complex", "dates", "ragged"],
)
def test_values_of_a_wrong_type(bad, error):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal(lambda: interval("mean", bad), "values", error=(error, TypeError))
        refusal(lambda: compare("mean", None, bad, bad), "prediction_a", error=(error, TypeError))


def test_masked_values_are_not_read_behind_the_mask():
    masked = np.ma.masked_array(SCORE, ROWS < 3)
    refusal(lambda: interval("mean", masked), "values", error=(ValueError, TypeError))


@pytest.mark.parametrize("bad", [None, 1, "abc"])
def test_targets_that_are_no_arrays(bad):
    refusal(lambda: evaluate(bad, bad if bad is not None else PRED), "y_true")
    refusal(lambda: interval("accuracy", bad, PRED), "y_true")
    refusal(lambda: compare("accuracy", bad, PRED, Y), "y_true")


def test_targets_of_two_dimensions():
    refusal(lambda: evaluate(np.eye(3)[Y3], PRED3), "y_true", "(n,)", "(40, 3)", error=ValueError)
    refusal(lambda: evaluate(Y, np.eye(2)[PRED]), "y_pred", "(n,)", "(40, 2)", error=ValueError)
    assert evaluate(Y[:, None], PRED[:, None], metrics=["accuracy"])["accuracy"].estimate == (Y == PRED).mean()


def test_scores_of_a_wrong_type():
    refusal(lambda: evaluate(Y, y_score=["a"] * N), "y_score must hold numbers", error=TypeError)
    refusal(
        lambda: evaluate(["a", "b"] * 20, ["a", "b"] * 20, metrics=["r2"]), "y_true must hold numbers", error=TypeError
    )


def test_compare_says_what_its_data_are():
    refusal(lambda: compare("mean", Y, SCORE, SCORE), "y_true must be None for mean", error=TypeError)
    weighted = jaxci.statistics.WeightedFunction(lambda x, w: (x * w).sum() / w.sum())
    refusal(lambda: compare(weighted, None, SCORE, SCORE[1:]), "prediction_a has 40, prediction_b has 39")
    refusal(lambda: compare(weighted, None, SCORE, ["a"] * N), "prediction_b must hold numbers", error=TypeError)
    refusal(lambda: compare(weighted, Y[1:], SCORE, SCORE), "y_true has 39, prediction_a has 40")
    refusal(lambda: compare(lambda a, b: 0.0, Y, PRED, Y), "statistic must be a name or an object", error=TypeError)


def test_a_function_must_return_a_number():
    refusal(lambda: interval(lambda x: x, SCORE), "statistic", "scalar")
    refusal(lambda: interval(lambda x: np.sort(np.asarray(x)), SCORE), "statistic", "scalar")
    refusal(lambda: interval(lambda x: None, SCORE), "statistic", "scalar")


def test_a_function_that_fails_shows_its_own_error():
    def broken(x: Any) -> float:
        raise RuntimeError("my own fault")

    refusal(lambda: interval(broken, SCORE), "my own fault", error=RuntimeError)
    refusal(lambda: jaxci.bootstrap((SCORE,), broken, n_resamples=9), "my own fault", error=RuntimeError)


@pytest.mark.parametrize("kind", ["list", "tuple", "float32", "JAX", "pandas", "column", "read-only", "object"])
def test_arrays_of_many_kinds(kind):
    pd = pytest.importorskip("pandas")
    frozen = SCORE.copy()
    frozen.setflags(write=False)
    given = {
        "list": SCORE.tolist(),
        "tuple": tuple(SCORE),
        "float32": SCORE.astype(np.float32),
        "JAX": jnp.asarray(SCORE),
        "pandas": pd.Series(SCORE, index=range(100, 100 + N)),
        "column": pd.DataFrame({"score": SCORE}),
        "read-only": frozen,
        "object": SCORE.astype(object),
    }[kind]
    tolerance = 1e-6 if kind in ("float32", "JAX") else 0
    result = interval("mean", given)
    assert result.estimate == pytest.approx(SCORE.mean(), rel=tolerance, abs=0)
    assert isinstance(result.estimate, float)
    table = evaluate(Y, y_score=given, metrics=["roc_auc", "log_loss"])
    assert table["log_loss"].estimate == pytest.approx(interval("log_loss", Y, SCORE).estimate, rel=10 * tolerance)


def test_columns_of_pandas():
    pd = pytest.importorskip("pandas")
    words = np.array(["a", "b"])
    frame = pd.DataFrame({"truth": words[Y], "guess": words[PRED], "ward": ROWS // 4}, index=range(7, 7 + N))
    plain = evaluate(Y, PRED, metrics=["f1"], groups=ROWS // 4)["f1"]
    for dtype in ("object", "string", "category"):
        found = evaluate(
            frame["truth"].astype(dtype),
            frame["guess"].astype(dtype),
            metrics=["f1"],
            groups=frame["ward"],
            pos_label="b",
        )["f1"]
        assert found.confidence_interval == plain.confidence_interval
    scores = pd.DataFrame(SCORE3, columns=list("xyz"))
    assert interval("log_loss", Y3, scores).estimate == interval("log_loss", Y3, SCORE3).estimate


# --- the other verbs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options", "parts"),
    [
        (3, {}, ["data must be a sequence of samples", "3"]),
        (None, {}, ["data must be a sequence of samples", "None"]),
        (SCORE, {}, ["data must be a sequence of samples", "(x,)"]),
        ((["a"] * 4,), {}, ["data[0] must hold numbers"]),
        ((SCORE,), {"axis": 1}, ["axis", "1", "(40,)"]),
        ((SCORE, SCORE[1:]), {"paired": True}, ["paired", "40", "39"]),
        ((SCORE,), {"batch": 0}, ["batch must be at least 1", "0"]),
        ((SCORE,), {"n_resamples": 0}, ["n_resamples must be at least 1", "bootstrap_result"]),
        ((SCORE,), {"vectorized": "yes"}, ["vectorized", "'yes'"]),
        ((SCORE,), {"bootstrap_result": 3}, ["bootstrap_result"]),
    ],
)
def test_bootstrap(data, options, parts):
    statistic = (lambda a, b, axis=-1: (a - b).mean(axis)) if options.get("paired") else np.mean
    refusal(lambda: jaxci.bootstrap(data, statistic, **{"n_resamples": 99, **options}), *parts)


def test_bootstrap_takes_functions_only():
    refusal(lambda: jaxci.bootstrap((SCORE,), "mean"), "statistic must be callable", "'mean'", error=TypeError)


@pytest.mark.parametrize(
    ("data", "statistic", "options", "parts"),
    [
        (SCORE, "mean", {"delete": 0}, ["delete must be at least 1", "0"]),
        (SCORE, "mean", {"delete": 1.0}, ["delete must be an integer", "1.0"]),
        (SCORE, "mean", {"delete": 40}, ["delete must be less than", "n = 40", "40"]),
        (SCORE, "mean", {"delete": 10}, ["delete = 10", "847,660,528 subsets"]),
        (["a", "b"], "mean", {}, ["values must hold numbers"]),
        (SCORE, "accuracy", {}, ["accuracy takes 2", "y_true, y_pred", "got 1"]),
        (SCORE, 3, {}, ["statistic must be a name"]),
    ],
)
def test_jackknife(data, statistic, options, parts):
    refusal(lambda: jaxci.jackknife(data, statistic, **options), *parts)


def test_jackknife_of_what_is_not_smooth_warns():
    with pytest.warns(JaxciWarning, match="not smooth"):
        jaxci.jackknife(SCORE, "median")


@pytest.mark.parametrize(
    ("count", "nobs", "parts"),
    [
        (6, 5, ["count", "between 0 and nobs", "6", "nobs = 5"]),
        (-1, 5, ["count", "-1"]),
        (0.5, 5, ["count", "integer", "0.5"]),
        (np.nan, 5, ["count", "integer", "nan"]),
        (0, 0, ["nobs must be an integer of at least 1", "0"]),
        (1, np.inf, ["nobs", "inf"]),
        (1, 2.5, ["nobs", "2.5"]),
        ("a", 5, ["count", "'a'"]),
        ([1, 2], [3, 4, 5], ["count and nobs", "(2,)", "(3,)"]),
        ([1, 9], 5, ["count", "9", "nobs = 5"]),
        ("3", 5, ["count must be an integer", "'3'"]),
        (2, np.ma.masked_array([5, 99], [False, True]), ["nobs must hold no masked values", "in row 1"]),
        ([[1], [2, 3]], 5, ["count must be an array with rows of one length"]),
    ],
)
def test_proportion_interval(count, nobs, parts):
    refusal(lambda: jaxci.proportion_interval(count, nobs), *parts, error=ValueError)


@pytest.mark.parametrize("count", [0, 5])
@pytest.mark.parametrize(
    "method", ["wald", "wilson", "wilson_cc", "agresti_coull", "clopper_pearson", "jeffreys", "mid_p"]
)
def test_proportion_interval_of_all_or_nothing(count, method):
    (low, high), said = heard(lambda: jaxci.proportion_interval(count, 5, method=method))
    assert 0 <= low <= count / 5 <= high <= 1
    assert high > low or "no width" in said


# --- where warnings point --------------------------------------------------------------------------


@pytest.mark.slow
def test_warnings_point_at_the_caller_and_are_kept_in_the_result():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = jaxci.interval("mean", np.full(N, 2.5), method="t")
        table = jaxci.evaluate(Y, y_score=SCORE, metrics=["accuracy"])
        jaxci.compare("mean", None, SCORE, SCORE)
        jaxci.proportion_interval(0, 5, method="wald")
        jaxci.jackknife(SCORE, "median")
    assert {warning.filename for warning in caught} == {__file__}
    said = [str(warning.message) for warning in caught]
    assert len(said) == len(set(said)), "each remark once"
    assert all(text in said for text in (*result.warnings, *table.warnings))
    assert "width" in str(result)
    assert "y_pred was not given" in str(table)
