import subprocess
import sys

import numpy as np
import pytest

import jaxci
from jaxci.generalization import METHODS
from jaxci.inducers import Constant, Forest, Logistic, Ridge, Tuned, as_inducer
from jaxci.resampling import splits
from jaxci.statistics import F1

linear_model = pytest.importorskip("sklearn.linear_model")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")


def regression(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=n)


def classification(n=80):
    X, y = regression(n)
    return X, np.where(y > 0, "yes", "no")


def test_an_interval_without_a_reason_ends_with_its_method():
    X, y = classification(40)
    fits = jaxci.fit_resamples(Constant(), X, y, plans=[splits.bootstrap(40, 9, 0)], rng=0)
    for method in ("oob_t", "oob_percentile"):
        assert str(fits.interval(method)).splitlines()[5].endswith(method)


def test_a_method_that_several_plans_serve_says_which_it_reads():
    X, y = regression(40)
    plans = [splits.kfold(40, 4, 0), splits.subsampling(40, 0.8, 4, 0), splits.bootstrap(40, 4, 0)]
    fits = jaxci.fit_resamples(Ridge(), X, y, plans=plans, rng=0)
    usual = fits.interval("corrected_t")
    assert "read from subsampling, its usual plan (plan= names another of subsampling, kfold)" in usual.reason
    assert usual.confidence_interval == fits.interval("corrected_t", plan="subsampling").confidence_interval
    for plan in plans[:2]:
        alone = jaxci.fit_resamples(Ridge(), X, y, plans=[plan], rng=0).interval("corrected_t")
        chosen = fits.interval("corrected_t", plan=plan.name)
        np.testing.assert_allclose(chosen.confidence_interval, alone.confidence_interval, rtol=1e-9)
        assert "read from" not in chosen.reason
    with pytest.raises(ValueError, match="plan must be one of kfold, subsampling; got 'bootstrap'"):
        fits.interval("corrected_t", plan="bootstrap")


@pytest.mark.slow
@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_gives_an_interval_by_its_usual_plan(method):
    X, y = regression(40)
    result = jaxci.generalization_interval(Ridge(), X, y, method=method, rng=0)
    assert 0 <= result.confidence_interval.low < result.estimate < result.confidence_interval.high
    assert result.target == METHODS[method].target
    assert result.method in str(result)
    assert result.method in result._repr_html_()
    assert result.losses.shape == result.plan.test_mask.shape
    again = jaxci.generalization_interval(Ridge(), X, y, method=method, rng=result.rng)
    assert again.confidence_interval == result.confidence_interval


@pytest.mark.slow
def test_learners_are_named_by_strings_as_on_the_command_line():
    X, y = regression(40)
    tuned = Tuned(Ridge(), "alpha", (0.1, 10), n_folds=2)
    texts = {"ridge": Ridge(), "ridge:alpha=0.1": Ridge(alpha=0.1), "ridge:tune=alpha:values=0.1,10:n_folds=2": tuned}
    for text, made in texts.items():
        assert repr(as_inducer(text)) == repr(made)
        named, given = (jaxci.generalization_interval(x, X, y, method="corrected_t", rng=0) for x in (text, made))
        assert named.confidence_interval == given.confidence_interval
    pairs = (("ridge:alpha=30", "constant"), (Ridge(alpha=30), Constant()))
    named, given = (jaxci.compare_inducers(*pair, X, y, rng=0) for pair in pairs)
    assert named.confidence_interval == given.confidence_interval
    plans = [splits.kfold(40, 4, 0)]
    named, given = (jaxci.fit_resamples(x, X, y, plans=plans, rng=0) for x in ("ridge:alpha=3", Ridge(alpha=3.0)))
    assert named.interval("cv_wald").confidence_interval == given.interval("cv_wald").confidence_interval
    for text, message in (
        ("rigde", "no learner 'rigde': did you mean 'ridge'"),
        ("ridge:alfa=1", "no key 'alfa': did you mean 'alpha'"),
        ("ridge:alpha", "must be written NAME or NAME:field=value:...; got 'ridge:alpha'"),
    ):
        with pytest.raises(ValueError, match=message):
            jaxci.generalization_interval(text, X, y)


@pytest.mark.slow
def test_scikit_learns_estimators_give_the_same_interval():
    X, y = regression()
    plan = splits.subsampling(60, 0.8, 6, 0)
    ours = jaxci.generalization_interval(Ridge(), X, y, method="corrected_t", cv=plan)
    theirs = jaxci.generalization_interval(linear_model.Ridge(), X, y, method="corrected_t", cv=plan)
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-8)
    X, y = classification()
    plan = splits.kfold(80, 4, 0)
    ours = jaxci.generalization_interval(Logistic(), X, y, loss="log", method="cv_wald", cv=plan)
    model = pipeline.make_pipeline(preprocessing.FunctionTransformer(), linear_model.LogisticRegression(tol=1e-10))
    theirs = jaxci.generalization_interval(model, X, y, loss="log", method="cv_wald", cv=plan)
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-5)


def test_fits_are_made_once_and_read_by_several_methods():
    X, y = classification()
    plans = [splits.subsampling(80, 0.8, 5, 0), splits.paired_subsampling(80, 0.8, 5, 3, 0), splits.kfold(80, 5, 0)]
    fits = jaxci.fit_resamples(Logistic(), X, y, plans=plans, rng=0)
    assert fits.n_fits == 5 + 30 + 5
    for method in ("corrected_t", "conservative_z", "cv_wald"):
        assert fits.interval(method).n_fits == 40
    with pytest.raises(ValueError, match="nested_cv needs a plan 'nested_cv'; there are subsampling"):
        fits.interval("nested_cv")


def test_auto_follows_the_number_of_rows():
    X, y = regression(120)
    assert jaxci.generalization_interval(Constant(), X, y, rng=0).method == "corrected_t"
    assert jaxci.generalization_interval(Constant(), X[:60], y[:60], rng=0).method == "nested_cv"


class Failing(linear_model.Ridge):
    def fit(self, X, y):
        raise RuntimeError("no fit today")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "zero_one"}, "loss must be one of squared, absolute"),
        ({"method": "percentile"}, "method must be one of"),
        ({"target": "truth"}, "target must be one of risk, expected_risk"),
        ({"loss": "rmse"}, "loss must be one of squared.*root_mean_squared_error"),
        ({"loss": "r2", "method": "cv_wald"}, "method must be one of corrected_t, conservative_z where the loss, 'r2'"),
        ({"y": np.ones(60)}, "y must vary; all 60 values are 1"),
        ({"y": np.r_[0.0, np.arange(59.0) + 1], "loss": "percentual"}, "y must not be 0"),
        (
            {"method": "corrected_t", "clip": False},
            "corrected_t has no setting 'clip'; known are: bounds, n_subsamples, p",
        ),
        ({"method": "nested_cv", "X": np.ones((4, 2)), "y": np.arange(4.0)}, "n_folds must be at most n, which is 4"),
        ({"method": "cv_wald", "groups": np.arange(60) // 4}, "method must be one of .* where rows come in groups"),
        ({"groups": np.arange(59)}, "all arrays must have one length"),
        ({"X": np.full((60, 2), np.nan)}, "X must be finite"),
        ({"X": np.ones((59, 2))}, "all arrays must have one length"),
        ({"cv": splits.kfold(50, 5, 0), "method": "cv_wald"}, "plans must be for the 60 rows"),
        (
            {"cv": splits.bootstrap(60, 5, 0), "method": "corrected_t"},
            "cv: corrected_t needs a plan 'subsampling'; got 'bootstrap'",
        ),
        ({"inducer": Failing(), "method": "holdout"}, "failed in all of 1 fits; the first said: RuntimeError: no fit"),
    ],
)
def test_bad_input_is_refused(change, message):
    X, y = regression()
    arguments = {"inducer": Ridge(), "X": X, "y": y} | change
    inducer, X, y = (arguments.pop(name) for name in ("inducer", "X", "y"))
    with pytest.raises(ValueError, match=message):
        jaxci.generalization_interval(inducer, X, y, **arguments)


def test_what_is_no_learner_is_refused():
    with pytest.raises(TypeError, match=r"inducer must be of jaxci\.inducers"):
        jaxci.generalization_interval(object(), *regression())
    with pytest.raises(TypeError, match=r"a learner must be an object, not its class: write Ridge\(\.\.\.\)"):
        jaxci.generalization_interval(Ridge, *regression())
    with pytest.raises(ValueError, match="y must hold at least 2 classes"):
        jaxci.generalization_interval(Logistic(), regression()[0], np.ones(60))


def test_a_class_smaller_than_the_folds_is_named():
    X, y = classification(60)
    y = np.where(np.arange(60) < 3, "rare", y)
    with pytest.raises(ValueError, match=r"usual plan of nested_cv does not fit.*smallest class.* which is 3"):
        jaxci.generalization_interval(Logistic(), X, y, method="nested_cv", stratify=True)
    with pytest.warns(jaxci.JaxciWarning, match="class 'rare' has 3 rows: some splits lack it"):
        jaxci.generalization_interval(Logistic(), X, y, method="nested_cv", n_repeats=2)


class Sometimes(linear_model.Ridge):
    """Fails where row 0 (the largest first feature) trains twice or more."""

    def fit(self, X, y):
        if np.sum(X[:, 0] > 50) > 1:
            raise RuntimeError("too large")
        return super().fit(X, y)


@pytest.mark.slow
def test_fits_that_fail_are_counted_and_their_meaning_said():
    X, y = regression()
    X[0, 0] = 100.0
    with pytest.warns(jaxci.JaxciWarning, match="the estimator failed in .* the first said: RuntimeError: too large"):
        result = jaxci.generalization_interval(Sometimes(), X, y, method="oob_t", rng=0)
    failed = int(np.sum(result.plan.train_counts[:, 0] > 1))
    assert result.n_failed == failed > 0
    assert np.isfinite(result.confidence_interval).all()
    assert any("the interval is for data on which that does not happen" in text for text in result.warnings)
    X[1, 0] = 100.0
    with pytest.warns(jaxci.JaxciWarning, match="cv_wald needs the losses of every split"):
        result = jaxci.generalization_interval(Sometimes(), X, y, method="cv_wald", rng=0)
    assert np.isnan(result.confidence_interval).all()
    assert 0 < result.n_failed < 10


@pytest.mark.parametrize("loss", ["roc_auc", "f1", F1(average="macro")])
def test_metrics_that_are_no_mean_over_rows(loss):
    metrics = pytest.importorskip("sklearn.metrics")
    X, y = classification()
    plan = splits.subsampling(80, 0.7, 6, 0, stratify=y)
    result = jaxci.generalization_interval(Logistic(), X, y, loss=loss, cv=plan)
    values = []
    for train, test in zip(plan.train_counts > 0, plan.test_mask, strict=True):
        model = linear_model.LogisticRegression(tol=1e-10).fit(X[train], y[train])
        if loss == "roc_auc":
            values.append(metrics.roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
        else:
            average = {"average": "binary", "pos_label": "yes"} if loss == "f1" else {"average": "macro"}
            values.append(metrics.f1_score(y[test], model.predict(X[test]), **average))
    np.testing.assert_allclose(result.estimate, np.mean(values), rtol=1e-6)
    error = np.sqrt((1 / 6 + 24 / 56) * np.var(values, ddof=1))
    np.testing.assert_allclose(result.standard_error, error, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "splitter"),
    [
        ("cv_wald", "KFold(5)"),
        ("corrected_t", "ShuffleSplit(6, test_size=0.2, random_state=0)"),
        ("five_by_two_cv", "RepeatedKFold(n_splits=2, n_repeats=5, random_state=0)"),
        ("holdout", "ShuffleSplit(1, test_size=0.3, random_state=0)"),
    ],
)
def test_splitters_and_index_lists_stand_for_plans(method, splitter):
    model_selection = pytest.importorskip("sklearn.model_selection")
    X, y = regression()
    splitter = eval(splitter, vars(model_selection))
    by_splitter = jaxci.generalization_interval(Ridge(), X, y, method=method, cv=splitter)
    by_lists = jaxci.generalization_interval(Ridge(), X, y, method=method, cv=list(splitter.split(X, y)))
    assert by_splitter.confidence_interval == by_lists.confidence_interval
    np.testing.assert_array_equal(by_lists.plan.test_mask, [np.isin(np.arange(60), t) for _, t in splitter.split(X)])


def test_what_only_the_data_decide_is_added_to_a_plan():
    X, y = regression()
    result = jaxci.generalization_interval(
        Ridge(), X, y, method="bootstrap_632_plus", cv=splits.bootstrap(60, 300, 0), progress=False
    )
    assert result.n_fits == 301
    with pytest.raises(TypeError, match=r"cv must be plans of jaxci\.resampling\.splits for nested_cv"):
        jaxci.generalization_interval(Ridge(), X, y, method="nested_cv", cv=[([0], [1])])


def test_groups_stay_together():
    X, y = regression()
    groups = np.arange(60) // 5
    result = jaxci.generalization_interval(Ridge(), X, y, groups=groups, rng=0)
    assert result.method == "corrected_t"
    for train, test in zip(result.plan.train_counts > 0, result.plan.test_mask, strict=True):
        assert not set(groups[train]) & set(groups[test])


def test_resamples_that_plans_share_are_fitted_once():
    X, y = regression()
    result = jaxci.generalization_interval(Ridge(), X, y, method="location_shifted_bootstrap", rng=0)
    assert result.n_fits == 101


def test_progress_is_told():
    X, y = regression()
    told = []
    jaxci.generalization_interval(
        Ridge(), X, y, method="oob_t", rng=0, progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (200, 200)
    assert len(told) > 4


def test_learners_are_compared_on_the_same_splits():
    X, y = regression()
    plan = splits.subsampling(60, 0.8, 8, 0)
    result = jaxci.compare_inducers(Ridge(), Ridge(alpha=500.0), X, y, cv=plan)
    fits = [jaxci.fit_resamples(one, X, y, plans=[plan]) for one in (Ridge(), Ridge(alpha=500.0))]
    apart = np.subtract(*(one.fits["subsampling"].means for one in fits))
    error = np.sqrt((1 / 8 + 12 / 48) * apart.var(ddof=1))
    np.testing.assert_allclose([result.estimate, result.standard_error], [apart.mean(), error], rtol=1e-12)
    stats = pytest.importorskip("scipy.stats")
    np.testing.assert_allclose(result.pvalue, 2 * stats.t.sf(abs(apart.mean() / error), 7), rtol=1e-10)
    np.testing.assert_allclose(result.estimate_a - result.estimate_b, result.estimate, rtol=1e-10)
    assert "p = " in str(result)


@pytest.mark.slow
def test_dietterichs_5x2_test():
    """t = p_1^(1) / sqrt(1/5 sum_r s_r^2), s_r^2 the two-point variance of repetition r, 5 degrees of freedom."""
    stats = pytest.importorskip("scipy.stats")
    X, y = classification(120)
    plan = splits.repeated_kfold(120, 2, 5, 0)
    pair = Logistic(), Logistic(C=0.01)
    result = jaxci.compare_inducers(*pair, X, y, method="five_by_two_cv", loss="log", cv=plan)
    fits = [jaxci.fit_resamples(one, X, y, plans=[plan], loss="log") for one in pair]
    apart = np.subtract(*(one.fits["repeated_kfold"].means for one in fits)).reshape(5, 2)
    t = apart[0, 0] / np.sqrt(np.mean(apart.var(axis=1, ddof=1)))
    np.testing.assert_allclose(result.pvalue, 2 * stats.t.sf(abs(t), 5), rtol=1e-9)


def test_learners_that_cannot_be_told_apart():
    X, y = regression()
    with pytest.warns(jaxci.JaxciWarning, match="all differences of the losses are zero"):
        result = jaxci.compare_inducers(Ridge(), Ridge(), X, y, rng=0)
    assert result.pvalue == 1.0
    with pytest.raises(ValueError, match="for a difference of learners; got 'bootstrap_632_plus'"):
        jaxci.compare_inducers(Ridge(), Ridge(), X, y, method="bootstrap_632_plus")
    with pytest.raises(ValueError, match="a and b must be of one task"):
        jaxci.compare_inducers(Ridge(), Logistic(), X, (y > 0).astype(int))


def test_intervals_leave_no_range():
    X, y = classification(40)
    with pytest.warns(jaxci.JaxciWarning, match=r"left the range \[0, 1\]"):
        result = jaxci.generalization_interval(Logistic(), X, y, method="holdout", loss="zero_one", rng=0)
    assert result.confidence_interval.low == 0


def test_scores_of_runs():
    stats = pytest.importorskip("scipy.stats")
    a, b = np.array([0.91, 0.93, 0.92, 0.95]), np.array([0.88, 0.90, 0.89])
    expected = stats.t.interval(0.9, 3, a.mean(), stats.sem(a))
    np.testing.assert_allclose(jaxci.runs_interval(a, confidence_level=0.9).confidence_interval, expected)
    test = stats.ttest_ind(a, b, equal_var=False)
    found = jaxci.welch_interval(a, b)
    np.testing.assert_allclose(found.pvalue, test.pvalue, rtol=1e-10)
    np.testing.assert_allclose(found.confidence_interval, test.confidence_interval(0.95), rtol=1e-10)
    with pytest.raises(ValueError, match="scores must hold the scores of at least 2 runs; got 1"):
        jaxci.runs_interval([0.5])
    assert jaxci.welch_interval([1.0, 1.0], [1.0, 1.0]).pvalue == 1.0


@pytest.mark.slow
def test_a_metric_that_grows_names_the_better_learner():
    X, y = classification(120)
    result = jaxci.compare_inducers(Logistic(), Constant(), X, y, loss="roc_auc", rng=0, progress=False)
    assert result.estimate > 0
    assert result.conclusion == "a is better than b"
    result = jaxci.compare_inducers(Logistic(), Constant(), X, y, loss="log", rng=0, progress=False)
    assert result.conclusion == "a is better than b"


def by_hand(model, X, y, plan, score):
    return np.mean(
        [
            score(model.fit(X[t > 0], y[t > 0]), X[m], y[m])
            for t, m in zip(plan.train_counts, plan.test_mask, strict=True)
        ]
    )


def test_a_classifier_is_judged_by_what_it_predicts():
    selection = pytest.importorskip("sklearn.model_selection")
    X, y = classification(120)
    model = selection.FixedThresholdClassifier(linear_model.LogisticRegression(), threshold=0.95, pos_label="yes")
    plan = splits.subsampling(120, 0.8, 5, 0)
    found = jaxci.generalization_interval(model, X, y, cv=plan, method="corrected_t", progress=False)
    np.testing.assert_allclose(found.estimate, by_hand(model, X, y, plan, lambda m, a, b: 1 - m.score(a, b)))


def test_scores_without_probabilities_rank_rows():
    svm, metrics = pytest.importorskip("sklearn.svm"), pytest.importorskip("sklearn.metrics")
    X, y = classification(120)
    plan = splits.subsampling(120, 0.8, 5, 0, stratify=y)
    model = svm.LinearSVC(random_state=0)
    arguments = {"cv": plan, "method": "corrected_t", "progress": False}
    found = jaxci.generalization_interval(model, X, y, loss="roc_auc", **arguments)
    auc = by_hand(model, X, y, plan, lambda m, a, b: metrics.roc_auc_score(b, m.decision_function(a)))
    np.testing.assert_allclose(found.estimate, auc)
    with pytest.raises(ValueError, match="loss='log' needs predict_proba, which LinearSVC has not"):
        jaxci.generalization_interval(model, X, y, loss="log", **arguments)


def test_an_estimator_is_fitted_to_the_users_labels():
    X, y = classification(120)
    model = linear_model.LogisticRegression(class_weight={"no": 1, "yes": 30})
    plan = splits.subsampling(120, 0.8, 5, 0)
    found = jaxci.generalization_interval(model, X, y, cv=plan, method="corrected_t", progress=False)
    np.testing.assert_allclose(found.estimate, by_hand(model, X, y, plan, lambda m, a, b: 1 - m.score(a, b)))


@pytest.mark.parametrize(
    ("method", "splitter", "message"),
    [
        ("cv_wald", "ShuffleSplit(5, random_state=0)", "cv must give splits that test every row once"),
        ("holdout", "KFold(5)", "cv must give one split, not 5"),
        ("five_by_two_cv", "ShuffleSplit(10, random_state=0)", "pairs of halves that test each other"),
        ("oob_t", "ShuffleSplit(10, random_state=0)", "cv must give resamples of 60 rows"),
    ],
)
def test_splits_that_are_not_those_of_the_method_are_refused(method, splitter, message):
    model_selection = pytest.importorskip("sklearn.model_selection")
    X, y = regression()
    with pytest.raises(ValueError, match=message):
        jaxci.generalization_interval(Ridge(), X, y, method=method, cv=eval(splitter, vars(model_selection)))


@pytest.mark.parametrize("plan", ["kfold", [1, 2], {"a": 1}, 2.5])
def test_what_is_no_plan_is_refused(plan):
    with pytest.raises(TypeError, match="cv must be"):
        jaxci.generalization_interval(Ridge(), *regression(), method="cv_wald", cv=plan)
    with pytest.raises(TypeError, match="plans must be a list of plans"):
        jaxci.fit_resamples(Ridge(), *regression(), plans=plan)


def test_a_splitter_without_a_seed_gets_one():
    selection = pytest.importorskip("sklearn.model_selection")
    X, y = regression()
    splitter = selection.ShuffleSplit(4)
    found = [jaxci.generalization_interval(Ridge(), X, y, method="corrected_t", cv=splitter, rng=0) for _ in "ab"]
    assert found[0].estimate == found[1].estimate
    assert splitter.random_state is None


def test_groups_are_not_split_by_a_plan():
    X, y = regression()
    groups = np.arange(60) // 6
    with pytest.raises(ValueError, match=r"splits must keep groups together; split 0 of 'subsampling'"):
        jaxci.generalization_interval(Ridge(), X, y, groups=groups, cv=splits.subsampling(60, 0.9, 5, 0))
    with pytest.raises(ValueError, match="groups must have no missing labels; 1 of 60"):
        jaxci.generalization_interval(Ridge(), X, y, groups=np.r_[np.nan, groups[1:]])
    uneven = np.random.default_rng(0).integers(0, 15, 60)
    result = jaxci.generalization_interval(Ridge(), X, y, groups=uneven, method="conservative_z", rng=0)
    assert np.isfinite(result.confidence_interval).all()


def test_a_target_that_the_method_has_not_is_refused():
    X, y = regression()
    assert jaxci.generalization_interval(Ridge(), X, y, target="risk", rng=0).method == "nested_cv"
    assert jaxci.generalization_interval(Ridge(), X, y, target="expected_risk", rng=0).method == "conservative_z"
    with pytest.raises(ValueError, match="target='risk' is that of nested_cv; corrected_t is for the expected risk"):
        jaxci.generalization_interval(Ridge(), X, y, method="corrected_t", target="risk")
    with pytest.raises(ValueError, match="and serves these data"):
        jaxci.generalization_interval(Ridge(), X, y, groups=np.arange(60) // 5, target="risk")


def test_folds_of_one_row_have_no_nested_interval():
    X, y = regression(7)
    told = r"nested_cv needs at least 2 rows in every fold; got 1 \(n = 7, 5 folds\): use n_folds=3$"
    with pytest.raises(ValueError, match=told):
        jaxci.generalization_interval(Ridge(), X, y, rng=0)
    assert jaxci.generalization_interval(Ridge(), X, y, rng=0, n_folds=3).method == "nested_cv"
    with pytest.raises(ValueError, match="3 folds, the fewest, take 6 rows"):
        jaxci.generalization_interval(Ridge(), X[:5], y[:5], rng=0)


def test_a_one_sided_interval_says_so():
    X, y = regression(20)
    arguments = {"cv": splits.bootstrap_case_cv(20, 4, 0), "method": "bootstrap_case_cv", "rng": 0}
    result = jaxci.generalization_interval(Ridge(), X, y, one_sided=True, **arguments)
    assert (result.alternative, result.confidence_interval.low) == ("less", 0.0)


def test_the_loss_decides_for_a_learner_of_any_task():
    X = np.random.default_rng(0).normal(size=(60, 2))
    counts = np.random.default_rng(1).poisson(3, 60)
    plan = splits.subsampling(60, 0.8, 4, 0)
    result = jaxci.generalization_interval(Constant(), X, counts, loss="squared", method="corrected_t", cv=plan)
    assert result.estimate > 1
    result = jaxci.compare_inducers(Ridge(), Constant(), X, counts, cv=plan)
    assert result.statistic == "squared"


def test_convergence_of_estimators_is_a_status():
    X, y = classification(60)
    plan = splits.subsampling(60, 0.8, 4, 0)
    with pytest.warns(jaxci.JaxciWarning, match="4 of 4 fits did not converge"):
        jaxci.generalization_interval(
            linear_model.LogisticRegression(max_iter=1), X, y, method="corrected_t", cv=plan, progress=False
        )


def test_estimators_that_are_neither_are_refused():
    cluster = pytest.importorskip("sklearn.cluster")
    with pytest.raises(TypeError, match="inducer must be a classifier or a regressor"):
        jaxci.generalization_interval(cluster.KMeans(2), *regression())


def test_texts_and_sparse_features_reach_a_pipeline():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    sparse = pytest.importorskip("scipy.sparse")
    words, y = ["good day", "bad night"] * 20, np.array([1, 0] * 20)
    model = pipeline.make_pipeline(text.CountVectorizer(), linear_model.LogisticRegression())
    plan = splits.kfold(40, 4, 0)
    assert jaxci.generalization_interval(model, words, y, method="cv_wald", cv=plan).estimate == 0
    X, target = regression()
    plan = splits.kfold(60, 4, 0)
    found = [
        jaxci.generalization_interval(linear_model.Ridge(), x, target, method="cv_wald", cv=plan)
        for x in (X, sparse.csr_matrix(X))
    ]
    np.testing.assert_allclose(found[0].estimate, found[1].estimate, rtol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"combine": "632_plus", "method": "oob_percentile"}, "for a difference of learners"),
        ({"correction": "x", "method": "corrected_t"}, "corrected_t has no setting 'correction'"),
        ({"cv": splits.bootstrap(60, 5, 0)}, "cv: corrected_t needs a plan 'subsampling'; got 'bootstrap'"),
        ({"progress": "yes"}, "progress must be True, False or a function"),
    ],
)
def test_comparisons_are_checked_before_any_fit(change, message):
    class Untouched(linear_model.Ridge):
        def fit(self, X, y):
            raise AssertionError("fitted")

    with pytest.raises((ValueError, TypeError), match=message):
        jaxci.compare_inducers(Untouched(), Ridge(), *regression(), **change)


def test_a_long_run_of_one_batch_says_how_many_fits(monkeypatch, capsys):
    from jaxci.generalization import fits

    monkeypatch.setattr(fits, "LONG", 0.05)
    with fits.Pace(25, True) as pace:
        fits.time.sleep(0.3)
        pace(25)
    assert "25 fits under way" in capsys.readouterr().err
    with fits.Pace(25, False):
        fits.time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ridge(alpha=-1.0), "alpha must be a number of at least 0; got -1.0"),
        (lambda: Ridge(alpha="a"), "alpha must be a number of at least 0; got 'a'"),
        (lambda: Forest(n_trees=0), "n_trees must be an integer of at least 1; got 0"),
        (lambda: Tuned(Ridge(), "beta", (1.0,)), "shapes no arrays .alpha.; got 'beta'"),
        (lambda: Logistic(C=0.0), "C must be a number above 0"),
    ],
)
def test_fields_of_learners_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


MEMORY = """
import numpy as np, jaxci
from jaxci.inducers import Logistic
from jaxci.resampling import splits
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = (X[:, :3].sum(axis=1) + rng.logistic(size=20_000) > 0).astype(int)
plan = splits.bootstrap(20_000, 100, 0)
jaxci.generalization_interval(
    Logistic(), X, y, loss="log", method="bootstrap_632_plus", cv=plan, rng=0, progress=False
)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_632_plus_of_20000_rows_stays_below_one_gibibyte():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 2**20
