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
    with pytest.warns(jaxci.JaxciWarning, match=f"y_true has {k} {MANY}; pass labels, or pass metrics"):
        table = jaxci.evaluate(y, np.where(np.arange(n) % 7 == 0, (y + 1) % k, y))
    assert "mean_squared_error" in [row.statistic for row in table]
    assert any(MANY in remark for remark in table.remarks)


@pytest.mark.slow
def test_what_settles_the_task_leaves_no_remark():
    y = np.arange(200) % 60
    near = y + np.linspace(-1, 1, 200)
    guess = np.where(np.arange(200) % 7 == 0, (y + 1) % 60, y)
    assert MANY not in said_by(lambda: jaxci.evaluate(y, near))
    assert MANY not in said_by(lambda: jaxci.evaluate(y + 0.5, guess))
    assert MANY not in said_by(lambda: jaxci.evaluate(y, guess, metrics=["mean_absolute_error"]))
    assert MANY not in said_by(lambda: jaxci.evaluate(y, guess, metrics=["accuracy"]))
    assert MANY not in said_by(lambda: jaxci.evaluate(y % 20, guess % 20))


def test_the_remark_says_how_many_rows_were_looked_at():
    y = np.arange(20_000) % 1000
    with pytest.warns(jaxci.JaxciWarning, match="1000 distinct whole numbers in 10,000 of its rows: taken"):
        jaxci.evaluate(y, y[::-1])


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_order_of_rows_does_not_make_classes_of_numbers():
    """The first rows alone decided: those of sorted counts hold few values."""
    rng = np.random.default_rng(0)
    y = np.sort(np.round(rng.exponential(250, 12_000)).astype(int))
    guess = np.clip(y + rng.integers(-30, 31, len(y)), 0, None)
    mixed = rng.permutation(len(y))
    whole, other = (jaxci.evaluate(y[rows], guess[rows], n_resamples=99) for rows in (np.arange(len(y)), mixed))
    assert [row.statistic for row in whole] == [row.statistic for row in other]
    assert whole["mean_absolute_error"].estimate == pytest.approx(other["mean_absolute_error"].estimate)


@pytest.mark.slow
def test_numbers_that_are_taken_for_classes_and_nearly_met_get_a_remark():
    """Sixty counts in 2,000 rows are few enough for classes; ten kinds, or classes that are missed, are such."""
    rng, near = np.random.default_rng(1), "predictions are mostly near misses"
    y = rng.integers(0, 60, 2000)
    close, missed = np.clip(y + rng.integers(-3, 4, 2000), 0, 59), np.where(rng.random(2000) < 0.4, y, y[::-1])
    assert near in said_by(lambda: jaxci.evaluate(y, close, n_resamples=99))
    assert near not in said_by(lambda: jaxci.evaluate(y, missed, n_resamples=99))
    assert near not in said_by(lambda: jaxci.evaluate(y % 10, close % 10, n_resamples=99))
    assert near not in said_by(lambda: jaxci.evaluate(y, close, metrics=["accuracy"], n_resamples=99))


@pytest.mark.parametrize("kind", [pd.Categorical, lambda y: pd.Series(y).astype("category")])
def test_whole_numbers_of_a_categorical_type_are_labels_however_many(kind):
    y = np.arange(100) % 30
    guess = np.where(np.arange(100) % 7 == 0, (y + 1) % 30, y)
    table = jaxci.evaluate(kind(y), guess)
    assert table["accuracy"].estimate == pytest.approx(np.mean(y == guess))
    assert not any(MANY in remark for remark in table.remarks)


@pytest.mark.slow
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


# --- the order of categories ---------------------------------------------------------------------

LEVELS = ["low", "medium", "high"]


def graded_rows(n=240):
    """Return codes of three grades, and predicted ones."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n)
    return codes, np.clip(codes + rng.integers(-1, 2, n), 0, 2)


def ordered(codes, categories=LEVELS, *, order=True):
    return pd.Categorical.from_codes(codes, categories=categories, ordered=order)


@pytest.mark.parametrize("kind", [lambda x: x, pd.Series, pd.CategoricalIndex])
def test_ordered_categories_give_the_order_of_the_classes(kind):
    codes, guess = graded_rows()
    predicted = np.array(LEVELS)[guess]
    given = {"method": "delta", "weights": "quadratic"}
    asked = jaxci.interval("cohen_kappa_score", np.array(LEVELS)[codes], predicted, labels=LEVELS, **given)
    found = jaxci.interval("cohen_kappa_score", kind(ordered(codes)), predicted, **given)
    plain = jaxci.interval("cohen_kappa_score", ordered(codes, order=False), predicted, **given)
    assert found.estimate == asked.estimate
    assert plain.estimate == jaxci.interval("cohen_kappa_score", np.array(LEVELS)[codes], predicted, **given).estimate
    assert plain.estimate < found.estimate


def test_score_columns_and_rows_of_classes_are_in_the_order_of_categories():
    codes, _ = graded_rows()
    scores = np.random.default_rng(1).dirichlet([1, 1, 1], len(codes))
    scores[np.arange(len(codes)), codes] += 1
    scores /= scores.sum(axis=1, keepdims=True)
    table = jaxci.evaluate(ordered(codes), y_score=scores, metrics=["log_loss", "f1_per_class"])
    asked = jaxci.evaluate(np.array(LEVELS)[codes], y_score=scores, metrics=["log_loss", "f1_per_class"], labels=LEVELS)
    assert [row.statistic for row in table] == ["log_loss", "f1[low]", "f1[medium]", "f1[high]"]
    assert [row.estimate for row in table] == [row.estimate for row in asked]


def test_categories_that_do_not_occur_are_classes_only_where_scores_have_a_column_for_each():
    codes, guess = graded_rows()
    levels = ["none", *LEVELS]
    rows = jaxci.evaluate(ordered(codes + 1, levels), ordered(guess), metrics=["recall_per_class"])
    assert [row.statistic for row in rows] == ["recall[low]", "recall[medium]", "recall[high]"]
    y = ordered(codes + 1, levels)
    scores = np.random.default_rng(1).dirichlet([1, 1, 1, 1], len(codes))
    found = jaxci.interval("log_loss", y, scores, method="t").estimate
    asked = jaxci.interval("log_loss", np.array(levels)[codes + 1], scores, method="t", labels=levels).estimate
    assert found == asked


def test_of_two_ordered_categories_the_second_is_positive():
    y = ordered(np.arange(60) % 2, ["yes", "no"])
    guess = np.where(np.arange(60) % 7 == 0, "no", np.array(["yes", "no"])[np.arange(60) % 2])
    with pytest.warns(jaxci.JaxciWarning, match="the positive class is 'no'"):
        found = jaxci.interval("precision", y, guess)
    assert found.estimate == jaxci.interval("precision", y == "no", guess == "no").estimate


# --- groups of intervals, periods and dates ------------------------------------------------------


def groups_of(by, n=120):
    y = np.arange(n) % 2
    guess = np.where(np.arange(n) % 7 == 0, 1 - y, y)
    return [one.group for one in jaxci.evaluate(y, guess, metrics=["accuracy"], by=by).subgroups]


def test_groups_may_be_intervals_in_the_order_of_their_categories():
    ages = np.arange(120) % 90 + 1
    cut = pd.cut(ages, [0, 5, 18, 35, 90])
    texts = ["(0, 5]", "(5, 18]", "(18, 35]", "(35, 90]"]
    assert groups_of(cut) == texts
    assert groups_of(pd.Series(cut)) == texts
    assert groups_of(pd.arrays.IntervalArray(cut)) == texts
    assert groups_of(pd.DataFrame({"age": cut})) == texts
    assert groups_of(pd.qcut(ages, 3))[0].startswith("(0.999, ")


def test_groups_of_ordered_categories_are_in_their_order():
    codes = np.arange(120) % 3
    assert groups_of(ordered(codes)) == LEVELS
    assert groups_of(ordered(codes, order=False)) == sorted(LEVELS)
    assert groups_of(ordered(codes, [*LEVELS, 4])) == LEVELS


def test_groups_may_be_periods_and_dates_print_without_a_time():
    days = pd.Series(pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"] * 40))
    assert groups_of(days) == ["2024-01-01", "2024-02-01", "2024-03-01"]
    assert groups_of(days.dt.to_period("M")) == ["2024-01", "2024-02", "2024-03"]
    assert groups_of(days + pd.Timedelta(hours=6))[0].startswith("2024-01-01T06:00")
    assert groups_of(days.to_numpy().astype("datetime64[M]"))[0] == "2024-01"
    edges = pd.to_datetime(["2023-12-31", "2024-01-15", "2024-03-15"])
    assert groups_of(pd.cut(days, edges)) == ["(2023-12-31, 2024-01-15]", "(2024-01-15, 2024-03-15]"]


def test_clusters_may_be_intervals_and_values_outside_of_them_are_missing():
    y, x = np.arange(120) % 2, np.arange(120)
    found = jaxci.interval("accuracy", y, y[::-1], groups=pd.cut(x, np.arange(-1, 121, 4)), method="wilson_cluster")
    assert found.estimate == jaxci.interval("accuracy", y, y[::-1], groups=x // 4, method="wilson_cluster").estimate
    with pytest.raises(ValueError, match=r"groups must have no missing labels; 20 of 120 .* the first in row 100"):
        jaxci.interval("accuracy", y, y[::-1], groups=pd.cut(x, [-1, 49, 99]))


def test_targets_may_be_intervals():
    ages = np.arange(120) % 90 + 1
    cut = [pd.cut(x, [0, 5, 18, 90]) for x in (ages, np.roll(ages, 3))]
    rows = jaxci.evaluate(*cut, metrics=["recall_per_class"])
    assert [row.statistic for row in rows] == ["recall[(0, 5]]", "recall[(5, 18]]", "recall[(18, 90]]"]


# --- indexes -------------------------------------------------------------------------------------

PAIRED = "rows are paired by position"


def test_columns_with_different_indexes_are_paired_by_position_and_a_remark_says_so():
    rng = np.random.default_rng(0)
    y, x = pd.Series(np.arange(60) % 2), pd.Series(rng.normal(size=60))
    guess = pd.Series(np.where(np.arange(60) % 7 == 0, 1 - y, y))
    text = f"and y_true have different indexes; {PAIRED}"
    with pytest.warns(jaxci.JaxciWarning, match=f"^y_pred {text}"):
        found = jaxci.evaluate(y, guess.set_axis(np.arange(60)[::-1]), metrics=["accuracy"])
    assert found["accuracy"].estimate == jaxci.evaluate(y, guess, metrics=["accuracy"])["accuracy"].estimate
    with pytest.warns(jaxci.JaxciWarning, match=f"^groups {text}"):
        jaxci.evaluate(y, guess, metrics=["accuracy"], groups=pd.Series(np.arange(60) // 3, index=range(60, 120)))
    with pytest.warns(jaxci.JaxciWarning, match=f"^by {text}"):
        jaxci.evaluate(y, guess, metrics=["accuracy"], by=pd.DataFrame({"a": np.arange(60) % 3}, index=range(60, 120)))
    with pytest.warns(jaxci.JaxciWarning, match=f"^prediction_b and prediction_a have different indexes; {PAIRED}"):
        jaxci.compare("mean", None, x, (x + 1).set_axis(range(60, 120)))
    with pytest.warns(jaxci.JaxciWarning, match=f"^y_pred {text}"):
        jaxci.interval("accuracy", y, guess.sample(frac=1, random_state=0))
    with pytest.warns(jaxci.JaxciWarning, match=rf"^data\[1\] and data\[0\] have different indexes; {PAIRED}"):
        jaxci.interval(graded, y, guess[::-1], n_resamples=99)
    with pytest.warns(jaxci.JaxciWarning, match=r"^predictions\['b'\] and y_true have different indexes"):
        jaxci.leaderboard("accuracy", y, {"a": guess, "b": guess[::-1], "c": guess.to_numpy()}, n_resamples=200)
    models = pd.DataFrame(dict.fromkeys("abcd", guess)).set_axis(range(60, 120))
    said = r"^predictions\['a'\], predictions\['b'\], predictions\['c'\] and 1 more have other indexes than y_true"
    with pytest.warns(jaxci.JaxciWarning, match=said):
        jaxci.leaderboard("accuracy", y, models, n_resamples=200)


def test_columns_of_cases_with_different_indexes_are_paired_by_position_and_a_remark_says_so():
    dice, patients = pd.Series(np.linspace(0.5, 0.9, 60)), pd.Series(np.arange(60) // 3)
    frame, turned = pd.DataFrame({"dice": dice, "patient": patients}), patients.set_axis(range(60, 120))
    options = {"metrics": "dice", "summaries": "mean", "rng": 0}
    with pytest.warns(jaxci.JaxciWarning, match=f"^groups and frame have different indexes; {PAIRED}"):
        found = jaxci.evaluate_cases(frame, groups=turned, **options)
    same = jaxci.evaluate_cases(frame, groups="patient", **options)
    assert found.result("dice", "mean").confidence_interval == same.result("dice", "mean").confidence_interval
    assert not any(PAIRED in text for text in same.warnings)
    said = rf"^frame\['patient'\] and frame\['dice'\] have different indexes; {PAIRED}"
    with pytest.warns(jaxci.JaxciWarning, match=said):
        jaxci.evaluate_cases({"dice": dice, "patient": turned}, groups="patient", **options)
    unread = {"dice": dice, "patient": turned, "site": turned}
    for given in (patients, patients.to_numpy(), None):
        assert PAIRED not in said_by(lambda x=given: jaxci.evaluate_cases(unread, groups=x, **options))
        assert PAIRED not in said_by(lambda x=given: jaxci.evaluate_cases(frame, groups=x, **options))


def test_equal_indexes_and_columns_without_one_leave_no_remark():
    y = pd.Series(np.arange(60) % 2, index=list(map(str, range(60))))
    guess = np.where(np.arange(60) % 7 == 0, 1 - y, y)
    for predicted in (pd.Series(guess, index=list(map(str, range(60)))), guess, guess.tolist(), tuple(guess)):
        assert PAIRED not in said_by(lambda x=predicted: jaxci.evaluate(y, x, metrics=["accuracy"]))
        assert PAIRED not in said_by(lambda x=predicted: jaxci.compare("accuracy", y, x, guess[::-1]))
    with pytest.raises(ValueError, match="one length"):
        jaxci.evaluate(y, pd.Series(guess[:50]), metrics=["accuracy"])
