"""Labels made of scores by a threshold: those that the user would make."""

import numpy as np
import pytest

import jaxci

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, 120)
SCORE = np.clip(0.3 + 0.4 * Y + RNG.normal(0, 0.25, 120), 0, 1).round(2)  # some at the threshold itself
METRICS = ["recall", "specificity", "roc_auc"]


def numbers(table):
    return [(row.statistic, row.estimate, *row.confidence_interval) for row in table]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 2.0])
def test_scores_from_the_threshold_on_count_as_positive(threshold):
    found = jaxci.evaluate(Y, y_score=SCORE, metrics=METRICS, threshold=threshold, rng=0)
    own = jaxci.evaluate(Y, (threshold <= SCORE).astype(int), SCORE, metrics=METRICS, rng=0)
    assert numbers(found) == numbers(own)
    assert any(f"{np.sum(threshold <= SCORE)} of 120 scores reach the threshold" in text for text in found.warnings)


@pytest.mark.slow
def test_scores_that_are_no_probabilities_make_labels_too():
    found = jaxci.evaluate(Y, y_score=10 * SCORE - 3, threshold=0, rng=0)
    assert found["recall"].estimate == np.mean(SCORE[Y == 1] >= 0.3)
    assert found["specificity"].estimate == np.mean(SCORE[Y == 0] < 0.3)


def test_the_threshold_is_of_the_positive_class_of_two_columns():
    columns = np.stack([1 - SCORE, SCORE], axis=1)
    found = jaxci.evaluate(Y, y_score=columns, threshold=0.3, pos_label=0, metrics=["recall"], rng=0)
    assert found["recall"].estimate == np.mean(1 - SCORE[Y == 0] >= 0.3)


@pytest.mark.parametrize("most", [20_000, 131_072], ids=["counted", "kept"])
def test_an_accumulator_makes_the_same_labels(most):
    y, score = np.tile(Y, 180), np.tile(SCORE, 180)
    streamed = jaxci.Accumulator(["recall", "precision"], threshold=0.3, max_rows=most, rng=0)
    for rows in np.array_split(np.arange(len(y)), 3):
        streamed.update(y[rows], y_score=score[rows])
    whole = jaxci.evaluate(y, y_score=score, metrics=["recall", "precision"], threshold=0.3, rng=0)
    assert numbers(streamed.finalize()) == numbers(whole)
    assert jaxci.Accumulator(["recall", "precision"], threshold=0.3).load(streamed.state_dict()).n == len(y)
    with pytest.raises(ValueError, match="threshold"):
        streamed.merge(jaxci.Accumulator(["recall", "precision"], threshold=0.4))


def test_a_threshold_that_is_no_number_is_refused_before_rows_come():
    with pytest.raises(TypeError, match="threshold must be a number; got 'high'"):
        jaxci.Accumulator(["recall"], threshold="high")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y_pred": Y, "y_score": SCORE, "threshold": 0.3}, ValueError, "y_pred is given, too"),
        ({"y_pred": Y, "threshold": 0.3}, ValueError, "y_score is not given"),
        ({"y_score": SCORE, "threshold": "high"}, TypeError, "threshold must be a number; got 'high'"),
        ({"y_score": SCORE, "threshold": np.nan}, ValueError, "threshold must be a finite number; got nan"),
        ({"y_score": np.eye(3)[np.arange(120) % 3], "labels": [0, 1, 2], "threshold": 0.3}, ValueError, "two classes"),
    ],
)
def test_what_a_threshold_cannot_do_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        jaxci.evaluate(Y, **arguments)
