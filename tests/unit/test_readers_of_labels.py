"""How users' labels, targets, names of columns and indexes are read, and what is said of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import jaxci

MANY = "distinct whole numbers: taken for numbers to predict, not for classes"


def said_by(call):
    """Return the warnings of a call, one string."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return "; ".join(str(one.message) for one in caught)


# --- many whole numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(1000, 100), (100, 30)])
def test_many_whole_numbers_are_targets_and_a_remark_says_so(n, k):
    y = np.arange(n) % k
    with pytest.warns(jaxci.JaxciWarning, match=f"y_true has {k} {MANY}; labels= or metrics= says otherwise"):
        table = jaxci.evaluate(y, np.where(np.arange(n) % 7 == 0, (y + 1) % k, y))
    assert "mean_squared_error" in [row.statistic for row in table]
    assert any(MANY in remark for remark in table.remarks)


def test_what_settles_the_task_leaves_no_remark():
    y = np.arange(200) % 60
    near = y + np.linspace(-1, 1, 200)
    guess = np.where(np.arange(200) % 7 == 0, (y + 1) % 60, y)
    assert MANY not in said_by(lambda: jaxci.evaluate(y, near))
    assert MANY not in said_by(lambda: jaxci.evaluate(y + 0.5, guess))
    assert MANY not in said_by(lambda: jaxci.evaluate(y, guess, metrics=["mean_absolute_error"]))
    assert MANY not in said_by(lambda: jaxci.evaluate(y, guess, metrics=["accuracy"]))
    assert MANY not in said_by(lambda: jaxci.evaluate(y % 20, guess % 20))


def test_rows_beyond_the_first_are_not_counted_in_the_remark():
    y = np.arange(20_000) % 1000
    with pytest.warns(jaxci.JaxciWarning, match="1000 distinct whole numbers in its first 10,000 rows: taken"):
        jaxci.evaluate(y, y[::-1])


@pytest.mark.parametrize("kind", [pd.Categorical, lambda y: pd.Series(y).astype("category")])
def test_whole_numbers_of_a_categorical_type_are_labels_however_many(kind):
    y = np.arange(100) % 30
    guess = np.where(np.arange(100) % 7 == 0, (y + 1) % 30, y)
    table = jaxci.evaluate(kind(y), guess)
    assert table["accuracy"].estimate == pytest.approx(np.mean(y == guess))
    assert not any(MANY in remark for remark in table.remarks)


def test_learners_of_any_task_say_what_they_took_the_targets_for():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), np.arange(150) % 30
    with pytest.warns(jaxci.JaxciWarning, match=f"y has 30 {MANY}; loss='zero_one' takes them for these"):
        jaxci.generalization_interval("tree", X, y, method="holdout", rng=0, progress=False)

    def interval(learner, y=y, **more):
        return jaxci.generalization_interval(learner, X, y, method="holdout", rng=0, progress=False, **more)

    for learner, loss in (("tree", "squared"), ("tree", "zero_one"), ("ridge", None)):
        assert MANY not in said_by(lambda a=learner, b=loss: interval(a, loss=b))
    assert 0 < interval("tree", pd.Categorical(y)).estimate <= 1


# --- options of functions ------------------------------------------------------------------------


def graded(a, b, weight=1.0):
    return weight * np.mean(np.asarray(a) == np.asarray(b))


@pytest.mark.parametrize("method", ["auto", "percentile"])
def test_an_option_of_a_function_is_refused_with_the_way_to_pass_it(method):
    y = np.arange(40) % 3
    way = r"no option 'weight'.*: pass a function of two arrays, such as functools.partial\(graded, weight=2.0\)"
    with pytest.raises(TypeError, match=way):
        jaxci.interval(graded, y, y[::-1], method=method, weight=2.0)
    with pytest.raises(TypeError, match="no option 'tightness'") as found:
        jaxci.interval(graded, y, y[::-1], method=method, tightness=2.0)
    assert "partial" not in str(found.value)


def test_a_metric_of_scikit_learn_with_an_option_is_refused_with_the_way_to_pass_it():
    metrics = pytest.importorskip("sklearn.metrics")
    y = np.arange(40) % 3
    with pytest.raises(TypeError, match=r"such as functools.partial\(f1_score, average='macro'\)"):
        jaxci.interval(metrics.f1_score, y, y[::-1], average="macro")


# --- names of score columns ----------------------------------------------------------------------

ORDER = "columns of y_score are taken in the order of the labels"


def scored(names, labels=("0", "1")):
    """Return labels, and a frame of probabilities with columns of those names."""
    rng = np.random.default_rng(0)
    y = np.array([int(x) if x.isdigit() else x for x in labels])[np.arange(120) % len(labels)]
    return y, pd.DataFrame(rng.dirichlet([1] * len(names), 120), columns=names)


@pytest.mark.parametrize(
    ("names", "labels", "text"),
    [
        (["a", "b"], ("0", "1"), "'a' for 0, 'b' for 1"),
        (["prob_1", "prob_0"], ("0", "1"), "'prob_1' for 0, 'prob_0' for 1; by their names they look swapped"),
        (["p10", "p1"], ("0", "1"), "'p10' for 0, 'p1' for 1"),
        (
            ["P_low", "P_medium", "P_high"],
            ("high", "low", "medium"),
            "'P_low' for 'high', 'P_medium' for 'low', 'P_high' for 'medium'; by their names they look swapped",
        ),
        (list("abcde"), tuple("01234"), "'a' for 0, 'b' for 1, 'c' for 2 and 2 more"),
    ],
)
def test_score_columns_with_other_names_are_taken_by_position_and_a_remark_says_so(names, labels, text):
    y, scores = scored(names, labels)
    table = jaxci.evaluate(y, y_score=scores, metrics=["log_loss"])
    said = [remark for remark in table.remarks if ORDER in remark]
    assert len(said) == 1
    assert f"{ORDER}: {text}" in said[0]
    assert ("swapped" in said[0]) == ("swapped" in text)
    plain = jaxci.evaluate(y, y_score=scores.to_numpy(), metrics=["log_loss"])
    assert plain["log_loss"].estimate == table["log_loss"].estimate


@pytest.mark.parametrize("names", [["prob_0", "prob_1"], ["0", "1"], ["1", "0"], [0, 1], [1, 0]])
def test_names_that_are_labels_or_end_with_them_in_order_leave_no_remark(names):
    y, scores = scored(names)
    assert ORDER not in said_by(lambda: jaxci.evaluate(y, y_score=scores, metrics=["log_loss"]))


def test_labels_that_were_asked_for_settle_the_order_unless_names_tell_another():
    y, scores = scored(["a", "b"])
    assert ORDER not in said_by(lambda: jaxci.evaluate(y, y_score=scores, metrics=["log_loss"], labels=[0, 1]))
    y, scores = scored(["prob_1", "prob_0"])
    assert "swapped" in said_by(lambda: jaxci.evaluate(y, y_score=scores, metrics=["log_loss"], labels=[0, 1]))
    assert ORDER not in said_by(lambda: jaxci.evaluate(y, y_score=scores, metrics=["log_loss"], labels=[1, 0]))
