"""What learners are judged by: scikit-learn's names and scorers, users' losses, weights, outputs, and any estimator."""

import numpy as np
import pytest
from learners import LeastSquares

import jaxci
from jaxci.inducers import Logistic, Ridge
from jaxci.resampling import splits
from jaxci.statistics import WeightedFunction
from jaxci.statistics.registry import METRICS

sklearn = pytest.importorskip("sklearn")
from sklearn import datasets, ensemble, linear_model, metrics, model_selection, neighbors, pipeline, preprocessing  # noqa: E402
from sklearn.base import BaseEstimator, RegressorMixin, clone  # noqa: E402
from sklearn.dummy import DummyRegressor  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
TARGET = X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=150)
LABEL = (X[:, 0] + RNG.normal(size=150) > 0.4).astype(int)
FOLDS = model_selection.KFold(6, shuffle=True, random_state=0)


def cross_validated(model, y, scoring):
    return model_selection.cross_val_score(model, X, y, cv=FOLDS, scoring=scoring)


def interval(model, y, **arguments):
    return jaxci.generalization_interval(model, X, y, cv=FOLDS, progress=False, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring",
    [
        "neg_mean_squared_error",
        "neg_mean_absolute_error",
        "r2",
        "neg_max_error",
        "neg_median_absolute_error",
        "neg_mean_poisson_deviance",
        "explained_variance",
    ],
)
def test_regressions_are_scored_as_by_scikit_learn(scoring):
    y = TARGET if "poisson" not in scoring else np.exp(TARGET / 3)
    model = linear_model.Ridge() if "poisson" not in scoring else linear_model.PoissonRegressor()
    found = interval(model, y, scoring=scoring)
    means = cross_validated(model, y, scoring)
    assert found.estimate == pytest.approx(means.mean(), rel=1e-9)
    assert found.statistic == scoring
    assert found.standard_error == pytest.approx(np.sqrt((1 / 6 + 1 / 5) * means.var(ddof=1)), rel=1e-9)
    if "poisson" not in scoring:
        assert interval(Ridge(), y, scoring=scoring).estimate == pytest.approx(means.mean(), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring",
    [
        "accuracy",
        "neg_log_loss",
        "neg_brier_score",
        "f1",
        "f1_macro",
        "roc_auc",
        "average_precision",
        "balanced_accuracy",
        "d2_log_loss_score",
    ],
)
def test_classifiers_are_scored_as_by_scikit_learn(scoring):
    model = linear_model.LogisticRegression()
    found = interval(model, LABEL, scoring=scoring)
    assert found.estimate == pytest.approx(cross_validated(model, LABEL, scoring).mean(), rel=1e-9)
    ours = interval(Logistic(), LABEL, scoring=scoring)
    assert ours.estimate == pytest.approx(found.estimate, rel=0.1)


@pytest.mark.slow
def test_names_without_neg_are_losses_and_metrics_of_rows_are_means():
    plain, negative = (interval("ridge", TARGET, scoring=s) for s in ("mean_squared_error", "neg_mean_squared_error"))
    assert plain.estimate == -negative.estimate
    np.testing.assert_allclose(plain.confidence_interval, -np.array(negative.confidence_interval)[::-1])
    for method in ("cv_wald", "nested_cv", "oob", "bootstrap_632_plus"):
        pair = [
            jaxci.generalization_interval("logistic", X, LABEL, loss=loss, method=method, rng=0, progress=False)
            for loss in ("accuracy", "error_rate", "zero_one")
        ]
        assert pair[0].estimate == pytest.approx(1 - pair[2].estimate)
        assert pair[1].estimate == pair[2].estimate
        np.testing.assert_allclose(pair[0].confidence_interval, 1 - np.array(pair[2].confidence_interval)[::-1])
    brier = interval("logistic", LABEL, loss="brier_score_loss").estimate
    assert brier == pytest.approx(interval("logistic", LABEL, loss="brier").estimate / 2)


@pytest.mark.slow
def test_scorers_and_functions_of_estimators():
    scorer = metrics.make_scorer(metrics.fbeta_score, beta=2)
    model = linear_model.LogisticRegression()
    found = interval(model, LABEL, scoring=scorer)
    assert found.estimate == pytest.approx(cross_validated(model, LABEL, scorer).mean())
    assert found.statistic == "fbeta_score"
    assert interval("logistic", LABEL, scoring=scorer).estimate == pytest.approx(found.estimate, rel=0.1)

    def depth(estimator, X, y):
        return estimator.get_depth()

    from sklearn.tree import DecisionTreeClassifier

    deep = interval(DecisionTreeClassifier(max_depth=3), LABEL, scoring=depth)
    assert (deep.estimate, deep.statistic) == (3.0, "depth")
    with pytest.raises(
        ValueError, match="method must be one of corrected_t, conservative_z where the loss, 'depth', is"
    ):
        interval(model, LABEL, scoring=depth, method="cv_wald")


def test_users_losses_of_rows_serve_every_method():
    def pinball(y, prediction):
        return np.maximum(0.9 * (y - prediction), 0.1 * (prediction - y))

    for model in ("ridge", linear_model.Ridge()):
        found = interval(model, TARGET, loss=pinball)
        scorer = metrics.make_scorer(metrics.mean_pinball_loss, alpha=0.9)
        assert found.estimate == pytest.approx(interval(model, TARGET, scoring=scorer).estimate, rel=1e-9)
    assert found.statistic == "pinball"
    every = jaxci.generalization_interval(
        "ridge", X[:40], TARGET[:40], loss=pinball, method="bootstrap_632_plus", rng=0
    )
    assert np.isfinite(every.confidence_interval).all()

    def cost(y, label):
        return np.where(y == label, 0.0, np.where(y == "ill", 5.0, 1.0))

    words = np.where(LABEL, "ill", "well")
    by_hand = interval(linear_model.LogisticRegression(), words, loss=cost)
    folds = [
        cost(words[test], clone(linear_model.LogisticRegression()).fit(X[train], words[train]).predict(X[test])).mean()
        for train, test in FOLDS.split(X)
    ]
    assert by_hand.estimate == pytest.approx(np.mean(folds))


def test_the_no_information_rate_of_a_users_loss_is_that_of_the_built_in_one():
    from jaxci.generalization.losses import LOSSES, loss_of_function

    mine = loss_of_function(lambda y, f: (y - f) ** 2, None)
    weights = RNG.integers(0, 3, 150).astype(float)
    rates = [one.no_information(TARGET, X[:, 1], weights) for one in (mine, LOSSES["squared"])]
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)


def test_weighted_functions_are_metrics_of_what_a_split_tests():
    import jax.numpy as jnp

    def root(y, prediction, weights):
        return jnp.sqrt(weights @ (y - prediction) ** 2 / weights.sum())

    mine, theirs = (interval("ridge", TARGET, loss=x) for x in (WeightedFunction(root), "root_mean_squared_error"))
    assert mine.estimate == pytest.approx(theirs.estimate, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"loss": "squared", "scoring": "r2"}, ValueError, "loss and scoring must not both be given"),
        ({"scoring": "neg_r2"}, ValueError, "scoring must be a name of scikit-learn's scorers; got 'neg_r2'"),
        ({"scoring": lambda y, p: 0.0}, TypeError, r"scoring must be a function of \(estimator, X, y\)"),
        ({"scoring": 3}, TypeError, "scoring must be a name or a function"),
        ({"scoring": "f1"}, ValueError, "scoring must be one of mean_squared_error"),
        ({"loss": 3}, TypeError, "loss must be a name, a function"),
        ({"loss": metrics.mean_squared_error}, TypeError, "loss='mean_squared_error' must return one number a row"),
        ({"pos_label": 1}, ValueError, "pos_label must not be given for a regression"),
        ({"sample_weight": -np.ones(150)}, ValueError, "sample_weight must not be negative"),
        ({"sample_weight": np.ones(9)}, ValueError, "all arrays must have one length"),
        ({"sample_weight": np.arange(150) + 1.0, "method": "cv_wald"}, ValueError, "one of .* where rows have weights"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a number of processes"),
        ({"params": 3}, TypeError, "params must be a dict of arguments of an estimator's fit"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        interval("ridge", TARGET, **arguments)


def test_learners_of_ours_refuse_sparse_features():
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(X)
    with pytest.raises(
        TypeError, match=r"X must be an array for a learner of jaxci\.inducers.*csr_matrix: pass X\.toarray"
    ):
        jaxci.generalization_interval("ridge", sparse, TARGET)
    dense, thin = (jaxci.generalization_interval(linear_model.Ridge(), x, TARGET, cv=FOLDS) for x in (X, sparse))
    assert thin.estimate == pytest.approx(dense.estimate, rel=1e-6)


def test_the_positive_class_can_be_named():
    words = np.where(LABEL, "benign", "malignant")  # the last label is the one that LABEL calls 0
    model = linear_model.LogisticRegression()
    with pytest.warns(
        jaxci.JaxciWarning, match="f1 is of class 'malignant', the last of the sorted labels; pass pos_label"
    ):
        last = interval(model, words, loss="f1")
    named = interval(model, words, loss="f1", pos_label="benign")
    assert named.estimate == pytest.approx(cross_validated(model, LABEL, "f1").mean())
    assert last.estimate == pytest.approx(cross_validated(model, 1 - LABEL, "f1").mean())
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        interval(model, words, loss="f1", pos_label="good")


class DuckClassifier(LeastSquares):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return super().fit(X, y == self.classes_[1])

    def predict_proba(self, X):
        p = np.clip(super().predict(X), 0.01, 0.99)
        return np.stack([1 - p, p], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_what_has_fit_and_predict_is_an_estimator():
    duck = interval(LeastSquares(), TARGET)
    plain = interval(linear_model.LinearRegression(fit_intercept=False), TARGET)
    assert duck.estimate == pytest.approx(plain.estimate, rel=1e-9)
    assert duck.statistic == "squared"
    assert interval(DuckClassifier(), np.where(LABEL, "b", "a"), loss="log").statistic == "log"
    assert interval(DuckClassifier(), LABEL).estimate < 0.5


def test_several_outputs_are_averaged():
    both = np.stack([TARGET, X[:, 0] ** 2], axis=1)
    model = neighbors.KNeighborsRegressor()
    found = interval(model, both)
    assert found.estimate == pytest.approx(-cross_validated(model, both, "neg_mean_squared_error").mean())
    assert interval(model, both, scoring="r2").estimate == pytest.approx(cross_validated(model, both, "r2").mean())
    wide = jaxci.generalization_interval(model, X[:40], both[:40], method="bootstrap_632_plus", rng=0, progress=False)
    assert np.isfinite(wide.confidence_interval).all()
    with pytest.raises(
        ValueError, match=r"loss must be one of squared, .* for y of shape \(150, 2\); got 'winsorized'"
    ):
        interval(model, both, loss="winsorized")
    with pytest.raises(ValueError, match="y must have shape"):
        interval("ridge", both)


def weighted_mean(model, weights, scorer, **names):
    scores = np.empty(len(X))
    for train, test in FOLDS.split(X):
        fitted = clone(model).fit(X[train], TARGET[train], **dict.fromkeys(names.values(), weights[train]))
        scores[test] = scorer(TARGET[test], fitted.predict(X[test]))
    return np.average(scores, weights=weights)


@pytest.mark.parametrize(
    "model",
    [
        linear_model.Ridge(),
        pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()),
    ],
    ids=["plain", "pipeline"],
)
def test_case_weights_count_in_fits_and_means(model):
    weights = RNG.uniform(0.1, 3, 150)
    found = interval(model, TARGET, sample_weight=weights)
    name = "ridge__sample_weight" if hasattr(model, "steps") else "sample_weight"
    by_hand = weighted_mean(model, weights, lambda y, f: (y - f) ** 2, fit=name)
    assert found.estimate == pytest.approx(by_hand, rel=1e-9)
    assert found.reason.startswith("the method that reads")
    if not hasattr(model, "steps"):
        assert interval(Ridge(), TARGET, sample_weight=weights).estimate == pytest.approx(by_hand, rel=0.02)
    root = interval(model, TARGET, sample_weight=weights, loss="root_mean_squared_error")
    assert root.estimate < np.sqrt(found.estimate)
    with pytest.raises(
        ValueError, match="sample_weight needs an estimator whose fit takes it, which KNeighborsRegressor"
    ):
        interval(neighbors.KNeighborsRegressor(), TARGET, sample_weight=weights)
    alone = jaxci.generalization_interval("ridge", X[:60], TARGET[:60], sample_weight=weights[:60], rng=0)
    assert alone.method == "corrected_t"
    assert "case weights" in alone.reason


def test_weights_that_are_all_one_change_nothing():
    plain, ones = (interval("ridge", TARGET, sample_weight=w) for w in (None, np.ones(150)))
    np.testing.assert_allclose(ones.confidence_interval, plain.confidence_interval, rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_equal_weights_leave_the_method_as_it_is(weight):
    given = {"rng": 0, "progress": False}
    plain = jaxci.generalization_interval("linear", X[:30], TARGET[:30], **given)
    equal = jaxci.generalization_interval("linear", X[:30], TARGET[:30], sample_weight=np.full(30, weight), **given)
    assert (equal.method, equal.reason) == (plain.method, plain.reason) == ("nested_cv", plain.reason)
    np.testing.assert_allclose(equal.confidence_interval, plain.confidence_interval, rtol=1e-4)


@pytest.mark.slow
def test_rows_of_unequal_weight_are_left_out_once_each_and_told_of_where_they_are_few():
    weights = np.where(np.arange(150) < 5, 20.0, 1.0)
    with pytest.warns(jaxci.JaxciWarning, match="leave as much as 28 rows of equal weight tell: .* of fewer than 40"):
        found = jaxci.generalization_interval("ridge", X, TARGET, sample_weight=weights, rng=0)
    assert found.n_fits == 25
    np.testing.assert_array_equal(found.plan.test_mask.sum(axis=0), 1)
    assert found.estimate == pytest.approx(np.average(np.nansum(found.losses, axis=0), weights=weights))
    with pytest.warns(jaxci.JaxciWarning, match="leave as much as 28 rows .* of fewer than 100"):
        drawn = jaxci.generalization_interval("ridge", X, TARGET, sample_weight=weights, rng=0, p=0.8)
    assert drawn.plan.test_mask.sum(axis=0).max() > 1
    few = jaxci.generalization_interval("logistic", X, LABEL, sample_weight=1 + LABEL, stratify=True, rng=0)
    assert few.n_fits == min(25, np.bincount(LABEL).min())
    groups = np.arange(150) // 5
    with pytest.warns(jaxci.JaxciWarning, match=r"leave as much as 5\.6 groups of equal weight tell"):
        jaxci.generalization_interval("ridge", X, TARGET, sample_weight=weights, groups=groups, rng=0)
    uneven = np.minimum(np.arange(150) // 9, 10)  # ten groups of 9 rows, and one of 60
    with pytest.warns(jaxci.JaxciWarning, match=r"sizes of groups leave as much as 5\.1 groups of equal size tell"):
        jaxci.generalization_interval("ridge", X, TARGET, groups=uneven, rng=0)


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean of what comes by ``params``, and notes how many rows it predicts."""

    predicted: list = []  # noqa: RUF012

    def fit(self, X, y, noise=None, scale=1.0):
        self.value_ = scale * np.mean(noise)
        return self

    def predict(self, X):
        self.predicted.append(len(X))
        return np.full(len(X), self.value_)


def test_arguments_of_fit_are_taken_by_rows():
    noise = RNG.normal(size=150)
    found = interval(Recorder(), TARGET, params={"noise": noise, "scale": 2.0}, n_jobs=1)
    means = [np.mean((TARGET[test] - 2 * noise[train].mean()) ** 2) for train, test in FOLDS.split(X)]
    assert found.estimate == pytest.approx(np.mean(means), rel=1e-12)


def test_only_rows_that_are_tested_are_predicted():
    Recorder.predicted.clear()
    interval(Recorder(), TARGET, params={"noise": TARGET}, n_jobs=1)
    assert Recorder.predicted == [25] * 6


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        weights = RNG.uniform(0.1, 3, 150)
        inner = linear_model.Ridge().set_fit_request(sample_weight=True)
        model = pipeline.make_pipeline(preprocessing.StandardScaler().set_fit_request(sample_weight=False), inner)
        found = interval(model, TARGET, sample_weight=weights, n_jobs=1)
    plain = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    by_hand = weighted_mean(plain, weights, lambda y, f: (y - f) ** 2, fit="ridge__sample_weight")
    assert found.estimate == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.slow
def test_learners_are_compared_by_scores():
    result = jaxci.compare_inducers("ridge", "constant", X, TARGET, scoring="r2", rng=0)
    assert result.conclusion == "a is better than b"
    assert result.estimate_a > result.estimate_b
    forest = ensemble.RandomForestClassifier(10)
    iris = datasets.load_iris()
    pair = jaxci.compare_inducers(forest, "constant", iris.data, iris.target, scoring="accuracy", rng=0, n_jobs=1)
    assert pair.conclusion == "a is better than b"


def test_splits_by_hand_and_plans_agree():
    plan = splits.from_indices(len(X), FOLDS.split(X), name="kfold")
    np.testing.assert_allclose(
        jaxci.generalization_interval("ridge", X, TARGET, method="corrected_t", cv=plan).confidence_interval,
        interval("ridge", TARGET).confidence_interval,
    )


def test_estimators_see_the_users_labels():
    three = np.digitize(TARGET, [-0.6, 0.6])

    class Spy(linear_model.LogisticRegression):
        def fit(self, X, y):
            assert y.dtype == three.dtype
            return super().fit(X, y)

    found = interval(Spy(), three, loss=lambda y, label: np.abs(y - label), n_jobs=1)
    means = cross_validated(linear_model.LogisticRegression(), three, "neg_mean_absolute_error")
    assert found.estimate == pytest.approx(-means.mean())
    assert not found.warnings


def test_less_of_a_users_loss_is_better():
    import jax.numpy as jnp

    mine = WeightedFunction(lambda y, p, w: jnp.sum(w * (y - p) ** 2) / jnp.sum(w))
    assert jaxci.compare_inducers("ridge", "constant", X, TARGET, loss=mine, rng=0).conclusion == "a is better than b"


def test_weights_reach_scorers_and_are_never_all_zero():
    weights = np.where(LABEL, 10.0, 0.1)
    model = linear_model.LogisticRegression()
    for learner in (model, "logistic"):
        named, made = (
            interval(learner, LABEL, sample_weight=weights, scoring=scoring)
            for scoring in ("accuracy", metrics.make_scorer(metrics.accuracy_score))
        )
        right = 1 - named.losses
        tested = np.where(named.plan.test_mask, weights, 0.0)
        assert made.estimate == pytest.approx(np.mean(np.nansum(right * tested, axis=1) / tested.sum(axis=1)))
        assert named.estimate == pytest.approx(np.nansum(right * tested) / tested.sum())
    with pytest.raises(ValueError, match="sample_weight needs a score that takes weights"):
        interval(model, LABEL, sample_weight=weights, scoring=lambda estimator, X, y: 0.0)
    plain = model_selection.KFold(5)
    half = (np.arange(150) >= 75).astype(float)
    with pytest.raises(ValueError, match="sample_weight must not be 0 for all rows that a split tests"):
        jaxci.generalization_interval("ridge", X, TARGET, sample_weight=half, cv=plain)


def test_ducks_without_classes_have_sorted_columns():
    class Silent(DuckClassifier):
        def __getattribute__(self, name):
            if name == "classes_" and "classes_" in self.__dict__:
                raise AttributeError(name)
            return super().__getattribute__(name)

        def fit(self, X, y):
            self.labels = np.unique(y)
            self.slopes = np.linalg.lstsq(X, y == self.labels[1], rcond=None)[0]
            return self

        def predict(self, X):
            return self.labels[self.predict_proba(X).argmax(axis=1)]

    words = np.where(LABEL, "b", "a")
    plain = interval(Silent(), words, loss="log").estimate
    assert interval(Silent(), words, loss="log", pos_label="a").estimate == pytest.approx(plain)
    assert interval(Silent(), LABEL + 1, loss="log").estimate == pytest.approx(plain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scoring": metrics.accuracy_score}, "scoring must be a function of .estimator, X, y.*pass make_scorer of it"),
        ({"loss": metrics.make_scorer(metrics.f1_score)}, "loss must not be a scorer: pass it as scoring"),
        ({"params": {"a": 1}}, "which learners of jaxci.inducers do not take"),
    ],
)
def test_what_is_passed_at_the_wrong_place_is_told(arguments, message):
    with pytest.raises(TypeError, match=message):
        interval("logistic", LABEL, **arguments)


def test_losses_of_users_see_tested_rows_alone():
    def strict(y, prediction):
        assert len(y) == 25
        assert np.isfinite(prediction).all()
        return np.abs(y - prediction)

    assert np.isfinite(interval(linear_model.Ridge(), TARGET, loss=strict, n_jobs=1).estimate)
    with pytest.raises(ValueError, match=r"scoring='slope' failed: .*coef_.*a learner of jaxci"):
        interval("ridge", TARGET, scoring=slope)


def slope(estimator, X, y):
    return float(estimator.coef_[0])


@pytest.mark.parametrize(
    ("asked", "score", "sign"),
    [
        ({"loss": "mean_squared_error"}, "neg_mean_squared_error", -1),
        ({"scoring": "neg_mean_squared_error"}, "neg_mean_squared_error", 1),
        ({"scoring": "neg_mean_squared_log_error"}, "neg_mean_squared_log_error", 1),
        ({"loss": METRICS["r2"]}, "r2", 1),
        ({"scoring": "r2"}, "r2", 1),
        ({"scoring": metrics.make_scorer(metrics.r2_score)}, "r2", 1),
    ],
)
def test_what_is_asked_for_decides_whether_integers_are_targets_or_classes(asked, score, sign):
    """A learner of any task that predicts one value predicts the mean of targets, and of classes the commonest."""
    counts = np.arange(150) % 4
    means = cross_validated(DummyRegressor(), counts, score)
    assert interval("constant", counts, **asked).estimate == pytest.approx(sign * means.mean(), rel=1e-5)


@pytest.mark.parametrize("asked", [{"loss": "accuracy"}, {"scoring": "accuracy"}, {"scoring": "balanced_accuracy"}])
def test_many_integers_are_classes_where_a_metric_of_classes_is_asked_for(asked):
    assert interval("constant", np.arange(150) // 2, **asked).estimate < 0.05  # 75 classes of two rows


@pytest.mark.parametrize("groups", [None, np.arange(40) // 4])
@pytest.mark.parametrize("metric", ["roc_auc", "f1"])
def test_where_no_row_is_predicted_wrong_ends_are_those_of_as_many_rows_all_right(metric, groups, recwarn):
    y = np.arange(40) % 4 // 3
    features = np.stack([20.0 * y, np.arange(40) % 7], axis=1)
    given = {} if groups is None else {"groups": groups}
    cv = model_selection.StratifiedKFold(5) if groups is None else model_selection.GroupKFold(5)
    found = jaxci.generalization_interval("logistic", features, y, scoring=metric, cv=cv, progress=False, **given)
    best = jaxci.interval(metric, y, y if metric == "f1" else y.astype(float), rng=0, **given)
    assert (found.estimate, found.confidence_interval.high) == (1.0, 1.0)
    assert found.confidence_interval.low == best.confidence_interval.low < 0.95
    assert "all predicted right" in found.reason
    assert not any("zero width" in said for said in found.warnings)


def test_ends_near_the_best_value_reach_as_far_as_those_of_rows_all_right():
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    features = 2.2 * y[:, None] + rng.normal(size=(60, 1))
    cv = model_selection.RepeatedKFold(n_splits=2, n_repeats=10, random_state=0)
    scores = model_selection.cross_validate(
        linear_model.LogisticRegression(), features, y, cv=cv, scoring=["roc_auc"], return_indices=True
    )
    scores["test_roc_auc"] = 1 - 0.02 * (1 - scores["test_roc_auc"])
    found, unknown = jaxci.from_cross_validate(scores, y), jaxci.from_cross_validate(scores)
    best = jaxci.interval("roc_auc", y, y.astype(float), rng=0).confidence_interval.low
    assert found.confidence_interval == (best, unknown.confidence_interval.high)
    assert best < unknown.confidence_interval.low
    plain = jaxci.from_cross_validate(scores, y, scale="plain").confidence_interval
    assert plain.low > best
    assert "all predicted right" not in interval("logistic", LABEL, scoring="roc_auc").reason


def test_scores_that_leave_their_range_by_rounding_are_within():
    tests = np.array_split(np.arange(60), 5)
    indices = {"train": [np.setdiff1d(np.arange(60), rows) for rows in tests], "test": tests}
    y, one = np.arange(60) % 2, np.ones(5)
    given = {"score": "average_precision", "method": "corrected_t"}
    at, above, beyond = (
        jaxci.from_cross_validate({"test_average_precision": one + off, "indices": indices}, y, **given)
        for off in (0, 4e-16, 1e-3)
    )
    assert above.confidence_interval == at.confidence_interval
    assert at.confidence_interval.low < 0.97
    assert beyond.confidence_interval.low > 1


@pytest.mark.slow
def test_which_class_is_positive_changes_metrics_of_one_class_alone():
    rng = np.random.default_rng(0)
    y, X = np.arange(40) % 2, rng.normal(size=(40, 2))  # of many ties: half of the rows of every class
    tests = np.array_split(np.arange(40), 10)
    cv = [(np.delete(np.arange(40), rows), rows) for rows in tests]

    def found(labels, loss=None, **more):
        return jaxci.generalization_interval("tree", X, labels, loss=loss, cv=cv, rng=0, **more).estimate

    assert found(y, pos_label=0) == found(y, pos_label=1) == found(y + 1) == found(y + 1, pos_label=2)
    first, second = (found(y, "recall", pos_label=label) for label in (0, 1))
    assert first != second
    assert [found(y + 1, "recall", pos_label=label) for label in (1, 2)] == [first, second]
    assert found(y, "roc_auc", pos_label=0) == pytest.approx(found(y, "roc_auc", pos_label=1), rel=1e-12)
