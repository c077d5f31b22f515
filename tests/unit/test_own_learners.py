"""Problems, learners and estimators of users' own in studies, and the truths that they are judged by."""

import sys
import tomllib

import jax
import numpy as np
import pytest
import tomli_w
from joblib.externals.loky import get_reusable_executor
from scipy import special, stats

import jaxci
from jaxci.coverage import GeneralizationStudy, learner_cell, learner_fits, load_study, risks
from jaxci.coverage.learner_cell import Configuration, Found, LearningCell, rows_of, run_cell
from jaxci.distributions import BatesClassification, BatesRegression, Covariance, problem
from jaxci.generalization import LOSSES
from jaxci.importing import portable, restored
from jaxci.inducers import Constant, Lasso, Linear, Logistic, Ridge, Tree, Tuned, as_inducer, check_inducer, inducer
from jaxci.inducers.estimators import estimator_label, estimator_to_dict, task_of
from jaxci.inducers.registry import inducer_to_dict
from jaxci.inference.sharding import Spread

KEY = jax.random.key(8, impl="threefry2x32")

MODULE = """
import jax
import jax.numpy as jnp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from jaxci.distributions import BatesRegression, Problem
from jaxci.inducers import Fitted, Inducer, Ridge
from jaxci.records import record, static


@record
class Counts(Problem):
    slope: float = 0.5
    n_features: int = static(default=2)
    task = "regression"

    def sample(self, key, n):
        for_x, for_y = jax.random.split(key)
        X = jax.random.normal(for_x, (n, self.n_features))
        return X, jax.random.poisson(for_y, jnp.exp(self.slope * X[:, 0])).astype(X.dtype)


@record
class Poisson(Inducer):
    ridge: float = 1e-3
    steps: int = static(default=12)
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        rows = jnp.concatenate([X, jnp.ones((len(X), 1), X.dtype)], axis=1)

        def newton(_, b):
            mean = jnp.exp(jnp.clip(rows @ b, -20, 20))
            slope = rows.T @ (weights * (y - mean)) - self.ridge * b
            return b + jnp.linalg.solve((rows.T * (weights * mean)) @ rows + self.ridge * jnp.eye(rows.shape[1]), slope)

        start = jnp.zeros(rows.shape[1], X.dtype).at[-1].set(jnp.log(weights @ y / weights.sum() + 1e-3))
        b = jax.lax.fori_loop(0, self.steps, newton, start)
        return Fitted(b, jnp.isfinite(b).all())

    def predict(self, params, X):
        return jnp.exp(X @ params[:-1] + params[-1])


@record
class Prior(Inducer):
    centre: object
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        return Fitted(jnp.asarray(self.centre), jnp.asarray(True))

    def predict(self, params, X):
        return X @ params


@record
class Wrap(Inducer):
    base: Inducer
    n_folds: int = static(default=3)
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        return self.base.fit(key, X, y, weights, n_classes)

    def predict(self, params, X):
        return self.base.predict(params, X)


@record
class NonNegative(Ridge):
    def predict(self, params, X):
        return jnp.maximum(super().predict(params, X), 0)


@record
class WrongPlane(Ridge):
    def plane(self, params, n_features):
        found = super().plane(params, n_features)
        return found._replace(level=found.level + 3)


@record
class Typo(Ridge):
    task = "regresion"


@record
class Heavy(BatesRegression):
    def sample(self, key, n):
        X, y = super().sample(key, n)
        return X, y + 3 * jax.random.normal(jax.random.fold_in(key, 1), (n,), X.dtype)


@record
class Shifted(BatesRegression):
    def sample(self, key, n):
        X, y = super().sample(key, n)
        return X, 5 + y

    def normal_law(self):
        return super().normal_law()


@record
class Coded(Problem):
    n_features: int = static(default=2)
    task = "classification"
    n_classes = 2

    def sample(self, key, n):
        X = jax.random.normal(key, (n, 2))
        return X, 1 + (X[:, 0] > 0).astype(jnp.int32)


class Boosted(RegressorMixin, BaseEstimator):
    # Keyword arguments beyond those that it names, as of XGBoost.
    def __init__(self, n_estimators=5, **others):
        self.n_estimators, self.others = n_estimators, others

    @classmethod
    def _get_param_names(cls):
        return ["n_estimators"]

    def get_params(self, deep=True):
        return {"n_estimators": self.n_estimators, "booster": None, **self.others}

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


class Doubled(RegressorMixin, BaseEstimator):
    def __init__(self, a=1.0):
        self.a = 2 * a

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


class Flaky(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if X[0, 0] > 0:
            raise RuntimeError("no luck")
        return self

    def predict(self, X):
        return X[:, 0].astype(int) * 0 + 1


class Median(RegressorMixin, BaseEstimator):
    def __init__(self, scale=1.0, explode=False):
        self.scale, self.explode = scale, explode

    def fit(self, X, y):
        import numpy as np

        if self.explode and y[0] > np.median(y):
            raise RuntimeError("no luck")
        self.value_ = self.scale * np.median(y)
        return self

    def predict(self, X):
        import numpy as np

        return np.full(len(X), self.value_)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A module of a user's own."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "mine_for_tests.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    import mine_for_tests

    get_reusable_executor().shutdown()  # workers of other tests started without this folder on their path
    yield mine_for_tests
    sys.path.remove(str(folder))
    del sys.modules["mine_for_tests"]


def study(**changes):
    given = {
        "problems": ["friedman1"],
        "inducers": ["ridge"],
        "losses": ["squared"],
        "methods": ["corrected_t"],
        "sample_sizes": [40],
        "n_replications": 4,
        "n_groups": 2,
        "n_validation": 500,
    }
    return GeneralizationStudy(**{**given, **changes})


def cell(law, learner, loss, n=60, **changes):
    given = {
        "configurations": [Configuration("cv_wald", "cv_wald"), Configuration("holdout", "holdout")],
        "n_replications": 6,
        "n_groups": 2,
        "n_validation": 50_000,
        "level": 0.9,
    }
    return LearningCell(law, n, learner, LOSSES[loss], **{**given, **changes})


class TestOwnClasses:
    @pytest.mark.slow
    def test_a_study_file_names_them(self, module, tmp_path):
        made = study(problems=[module.Counts(0.8)], inducers=[module.Poisson(steps=9), "constant"])
        assert made.cell_names()[0] == "Counts(2 features), Poisson, squared, n=40"
        made.save(tmp_path / "study.toml")
        text = (tmp_path / "study.toml").read_text()
        assert 'kind = "mine_for_tests:Counts"' in text
        assert 'name = "mine_for_tests:Poisson"' in text
        again = load_study(tmp_path / "study.toml")
        assert again.to_dict() == made.to_dict()
        assert type(again.problems["Counts(2 features)"]) is module.Counts
        assert repr(again.inducers["Poisson"]) == "Poisson(ridge=0.001, steps=9)"

    @pytest.mark.slow
    def test_they_are_run_and_other_settings_are_another_study(self, module, tmp_path):
        made = study(problems=[module.Counts()], inducers=[module.Poisson()])
        rows = made.run(tmp_path / "out").to_frame()
        assert list(rows["inducer"]) == ["Poisson"]
        assert rows["mean_width"].iloc[0] > 0
        with pytest.raises(ValueError, match=r"holds another study: generalization\.inducers"):
            study(problems=[module.Counts()], inducers=[module.Poisson(ridge=0.1)]).run(tmp_path / "out")

    @pytest.mark.slow
    def test_the_contract_holds_for_one(self, module):
        assert len(check_inducer(module.Poisson(), targets=lambda y: np.floor(np.exp(-y / 4)))) == 9

    def test_a_name_with_fields_is_the_learner(self, module):
        found = as_inducer("mine_for_tests:Poisson:ridge=0.5:steps=3")
        assert (type(found), found.ridge, found.steps) == (module.Poisson, 0.5, 3)
        tuned = inducer("mine_for_tests:Poisson", tune="ridge", values=(0.1, 1.0))
        assert isinstance(tuned, Tuned)
        assert inducer_to_dict(tuned)["name"] == "mine_for_tests:Poisson"

    @pytest.mark.parametrize(
        ("word", "message"),
        [
            ("no_such_module:Thing", "'no_such_module:Thing' cannot be imported: ModuleNotFoundError: No module named"),
            ("mine_for_tests:Thing", "the module mine_for_tests has no such name"),
            ("mine_for_tests:Poisson:stepz=3", "has no key 'stepz': did you mean 'steps'"),
            ("mine_for_tests:Median:scal=3", "has no key 'scal': did you mean 'scale'"),
            ("json:dumps", "must be a class of estimators"),
            ("ridge:nonsense", "a learner must be written NAME or NAME:field=value"),
        ],
    )
    def test_what_cannot_be_made_is_refused(self, module, word, message):
        with pytest.raises(ValueError, match=message):
            as_inducer(word)

    def test_what_a_problem_lacks_is_told(self, module):
        from jaxci.distributions import Problem
        from jaxci.records import record

        class Plain(Problem):
            task, n_features = "regression", 2

            def sample(self, key, n):
                return jax.random.normal(key, (n, 3)), jax.random.normal(key, (n,))

        with pytest.raises(ValueError, match="Plain must be a record"):
            study(problems={"plain": Plain()})
        with pytest.raises(
            ValueError, match=r"must return X \(n, 2\) and y \(n,\); for n = 7 it returns \(7, 3\), \(7,\)"
        ):
            study(problems={"plain": record(Plain)()})

    def test_what_no_file_can_name_is_refused_before_the_run(self):
        from jaxci.inducers import Fitted, Inducer
        from jaxci.records import record

        @record
        class Local(Inducer):
            task = "regression"

            def fit(self, key, X, y, weights, n_classes):
                return Fitted(weights @ y / weights.sum(), weights.sum() > 0)

            def predict(self, params, X):
                return params + 0 * X[:, 0]

        with pytest.raises(ValueError, match="Local must be defined at the top level of a module"):
            study(inducers={"local": Local()})


class TestEstimators:
    def test_a_pipeline_survives_a_file(self):
        pytest.importorskip("sklearn")
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        made = make_pipeline(
            StandardScaler(with_mean=False), FunctionTransformer(np.log1p), RandomForestRegressor(7, max_features=0.5)
        )
        described = estimator_to_dict(made)
        assert described["name"] == "sklearn.pipeline:Pipeline"
        assert described["fields"]["steps"][1]["tuple"][1] == {
            "object": "sklearn.preprocessing:FunctionTransformer",
            "fields": {"func": {"import": "numpy:log1p"}},
        }
        again = inducer(**described)
        assert estimator_to_dict(again) == described
        assert (again.steps[2][1].n_estimators, again.steps[2][1].max_features) == (7, 0.5)
        assert estimator_label(made) == "standardscaler+functiontransformer+randomforestregressor"
        assert task_of(again) == "regression"

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: __import__("sklearn.linear_model").linear_model.Ridge(random_state=np.random.RandomState(0)),
             "random_state of Ridge cannot be written to a file"),
            (lambda: __import__("sklearn.preprocessing").preprocessing.FunctionTransformer(lambda x: x),
             "func of FunctionTransformer .*<lambda> must be defined at the top level"),
        ],
    )  # fmt: skip
    def test_what_no_file_can_hold_is_refused(self, make, message):
        pytest.importorskip("sklearn")
        with pytest.raises(ValueError, match=message):
            estimator_to_dict(make())

    @pytest.mark.slow
    def test_a_cell_of_an_estimator_is_that_of_the_learner(self):
        pytest.importorskip("sklearn")
        from sklearn.linear_model import Ridge as Namesake

        law = problem("friedman1")
        configurations = [
            Configuration("corrected_t", "corrected_t", {"n_subsamples": 4}),
            *cell(law, None, "squared").configurations,
        ]
        made = {"configurations": configurations, "n_replications": 4, "n_validation": 3000}
        ours = run_cell(cell(law, Ridge(), "squared", **made), KEY, [0, 1], Spread.over())
        theirs = run_cell(cell(law, Namesake(), "squared", **made), KEY, [0, 1], Spread.over())
        for name in ("estimates", "low", "high", "risks", "proxies", "fresh"):
            np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=1e-9, err_msg=name)
        assert list(theirs.fits) == list(ours.fits)

    @pytest.mark.slow
    def test_a_classifier_reads_labels_and_probabilities(self, tmp_path):
        pytest.importorskip("sklearn")
        from sklearn.naive_bayes import GaussianNB
        from sklearn.svm import LinearSVC

        made = study(
            problems=["bates_classif_20"], inducers=[GaussianNB(), LinearSVC(C=0.1)], losses=["zero_one"],
            methods=["cv_wald", {"method": "corrected_t", "stratify": True, "label": "within"}],
        )  # fmt: skip
        rows = made.run(tmp_path / "out").to_frame()
        assert list(rows["inducer"]) == ["GaussianNB", "GaussianNB", "LinearSVC", "LinearSVC"]
        assert rows["truth"].between(0.1, 0.4).all()
        assert rows["invalid"].eq(0).all()
        again = GeneralizationStudy.from_dict(made.to_dict())
        assert again.to_dict() == made.to_dict()
        assert made.results(tmp_path / "out").n_done == 2

    @pytest.mark.slow
    def test_fits_that_fail_are_counted_and_told(self, module, tmp_path):
        made = study(inducers=[module.Median(explode=True)], methods=["cv_wald"], n_replications=8)
        rows = made.run(tmp_path / "out").to_frame()
        assert "fits failed: RuntimeError: no luck" in rows["flags"].iloc[0]
        assert "data sets have no risk" in rows["flags"].iloc[0]
        assert rows["invalid"].iloc[0] > 0
        assert rows["truth"].iloc[0] > 10  # of the others
        pytest.importorskip("matplotlib")
        made.results(tmp_path / "out").report(tmp_path / "report.html")

    @pytest.mark.slow
    @pytest.mark.false_alarm(1e-7)
    def test_a_fit_that_failed_predicts_no_class(self, module, tmp_path):
        made = study(
            problems=["bates_classif_20"], inducers=[module.Flaky()], losses=["zero_one"], methods=["cv_wald"],
            n_replications=8, n_validation=20_000,
        )  # fmt: skip
        rows = made.run(tmp_path / "out").to_frame()
        assert rows["invalid"].iloc[0] > 0
        assert rows["truth"].iloc[0] == pytest.approx(0.5, abs=0.02)  # always class 1, where it is fitted

    @pytest.mark.slow
    def test_memory_is_kept_to(self, monkeypatch):
        seen = []
        configurations = [Configuration("cv", "cv_wald", {"n_folds": 20})]
        made = cell(BatesRegression(), Ridge(), "squared", configurations=configurations)
        original = learner_fits.Fits._exact

        def counting(self, keys, X, y, counts, numbers):
            seen.append(len(keys) * len(counts))
            return original(self, keys, X, y, counts, numbers)

        monkeypatch.setattr(learner_fits.Fits, "_exact", counting)
        limit = 4 * Ridge().bytes_of_fit(60, 20, 0)
        run_cell(made, KEY, [0], Spread.over(), memory_limit=limit)
        assert max(seen) <= 4


class TestFiles:
    @pytest.mark.parametrize(
        "make",
        [
            lambda m, s: s.ensemble.VotingRegressor([("a", s.linear_model.Ridge()), ("b", s.linear_model.Lasso())]),
            lambda m, s: s.model_selection.GridSearchCV(
                s.linear_model.Ridge(), [{"alpha": [0.1, 1.0]}], cv=s.model_selection.KFold(3, shuffle=True)
            ),
            lambda m, s: s.ensemble.RandomForestRegressor(max_features=None),
            lambda m, s: s.linear_model.LogisticRegression(class_weight={0: 1, 1: 2}),
            lambda m, s: s.linear_model.RidgeCV(alphas=np.logspace(-2, 2, 3)),
            lambda m, s: s.compose.ColumnTransformer([("n", s.preprocessing.StandardScaler(), slice(0, 2))]),
            lambda m, s: m.Median(scale=None),
            lambda m, s: m.Boosted(n_estimators=7),
        ],
    )
    def test_arguments_come_back_as_they_were(self, module, make):
        sklearn = pytest.importorskip("sklearn")
        for name in ("ensemble", "linear_model", "model_selection", "preprocessing", "compose"):
            __import__(f"sklearn.{name}")
        made = make(module, sklearn)
        text = tomli_w.dumps({"x": portable(made)})
        again = restored(tomllib.loads(text)["x"])
        assert type(again) is type(made)
        assert repr(again) == repr(made)

    def test_own_records_with_arrays_and_learners_in_them(self, module):
        made = study(inducers={"prior": module.Prior(np.arange(10.0)), "wrap": module.Wrap(Ridge(2.0), n_folds=4)})
        again = GeneralizationStudy.from_dict(tomllib.loads(tomli_w.dumps(made.to_dict())))
        assert isinstance(again.inducers["prior"].centre, np.ndarray)
        assert repr(again.inducers["wrap"]) == "Wrap(base=Ridge(alpha=2.0), n_folds=4)"

    def test_what_comes_back_as_another_is_refused(self, module):
        with pytest.raises(ValueError, match="Doubled cannot be made again: its arguments come back as others"):
            study(inducers=[module.Doubled(2.0)])

    def test_words_on_the_command_line_are_values(self, module):
        assert as_inducer("sklearn.linear_model:Ridge:fit_intercept=False").fit_intercept is False
        assert as_inducer("mine_for_tests:Median:scale=None").scale is None


class TestClaims:
    def test_a_plane_of_the_base_is_not_that_of_another_prediction(self, module):
        assert learner_cell.is_exact(BatesRegression(), Ridge(), LOSSES["squared"], 40)
        assert not learner_cell.is_exact(BatesRegression(), module.NonNegative(), LOSSES["squared"], 40)
        assert not learner_cell.is_exact(module.Heavy(), Ridge(), LOSSES["squared"], 40)
        wrapped = Tuned(module.NonNegative(), "alpha", (0.1, 1.0))
        assert not learner_cell.is_exact(BatesRegression(), wrapped, LOSSES["squared"], 40)

    def test_a_wrong_plane_is_told(self, module):
        with pytest.raises(AssertionError, match="the plane must be what is predicted"):
            check_inducer(module.WrongPlane())

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("Shifted", "normal_law of Shifted must be that of its draws; it says that targets less their line"),
            ("Coded", "Coded.sample must return class codes 0 to 1; got 1 to 2"),
        ],
    )
    def test_problems_that_are_not_what_they_say(self, module, name, message):
        with pytest.raises(ValueError, match=message):
            study(problems=[getattr(module, name)()], inducers=["constant"], losses=["squared", "zero_one"])

    def test_a_task_is_said_and_has_a_cell(self, module):
        with pytest.raises(TypeError, match=r"task of Typo must be one of regression, .*; got 'regresion'"):
            as_inducer(module.Typo())
        with pytest.raises(ValueError, match="inducers: 'logistic' has no cell"):
            study(inducers=["ridge", "logistic"])

    def test_a_loss_of_probabilities_needs_them(self):
        pytest.importorskip("sklearn")
        from sklearn.svm import LinearSVC

        with pytest.raises(ValueError, match="loss='log' needs predict_proba, which LinearSVC has not"):
            study(problems=["bates_classif_20"], inducers=[LinearSVC()], losses=["log"])


class TestTruths:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("law", "learner", "loss"),
        [
            pytest.param(BatesRegression(), Ridge(), "absolute", marks=pytest.mark.slow),
            (BatesRegression(), Constant(), "squared"),
            pytest.param(BatesClassification(), Logistic(), "zero_one", marks=pytest.mark.slow),
            pytest.param(BatesClassification(), Logistic(), "log", marks=pytest.mark.slow),
            pytest.param(BatesClassification(), Constant(), "brier", marks=pytest.mark.slow),
            pytest.param(BatesRegression(), Tuned(Lasso(), "alpha", (0.01, 0.1)), "squared", marks=pytest.mark.slow),
            pytest.param(problem("highdim_100"), Logistic(), "zero_one", marks=pytest.mark.slow),
            pytest.param(Covariance(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -0.5])), Logistic(), "brier",
                         marks=pytest.mark.slow),
        ],
    )  # fmt: skip
    @pytest.mark.false_alarm(1e-5)
    def test_exact_risks_are_those_of_fresh_rows(self, law, learner, loss, monkeypatch):
        made = cell(law, learner, loss)
        exact = run_cell(made, KEY, [0, 1], Spread.over())
        assert exact.fresh.size == 0
        assert exact.validation_error == 0
        monkeypatch.setattr(learner_cell, "is_exact", lambda *_: False)
        drawn = run_cell(made, KEY, [0, 1], Spread.over())
        np.testing.assert_allclose(exact.low, drawn.low, rtol=1e-9)
        # A bounded loss, or a light tail: the error of a mean of 50,000 rows is at most this.
        largest = 5 * (4 * exact.risks.max() if loss in ("squared", "absolute") else 1) / 50_000**0.5
        assert np.abs(exact.risks - drawn.risks).max() < largest
        assert np.abs(exact.proxies - drawn.proxies).max() < largest
        assert abs(exact.risks.mean() - drawn.risks.mean()) < 5 * drawn.validation_error + 1e-4

    @pytest.mark.parametrize(
        ("law", "learner", "loss"),
        [
            ("bates_regr_20", Tree(), "squared"),
            ("friedman1", Ridge(), "squared"),
            ("bates_regr_20", Ridge(), "percentual"),
        ],
    )
    def test_others_are_measured(self, law, learner, loss):
        assert not learner_cell.is_exact(problem(law), learner, LOSSES[loss], 40)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("mean", "spread", "covariance", "whole"),
        [(10.0, 300.0, 0.9 * 300 * 5, 25.0), (0.0, 1.0, 0.5, 4.0), (100.0, 30.0, 0.0, 1.0), (-1.0, 0.0, 0.0, 25.0)],
    )
    @pytest.mark.parametrize("loss", ["log", "zero_one", "brier"])
    def test_integrals_are_those_of_a_dense_rule(self, mean, spread, covariance, whole, loss):
        found = risks._of_classes(LOSSES[loss], risks.Moments(mean, spread**2, covariance), whole)
        z = np.linspace(-9, 9, 400_001)
        v = mean + spread * z
        slope = covariance / spread if spread else 0.0
        rest = np.sqrt(max(whole - slope**2, 0))
        inner = np.linspace(-9, 9, 73)
        mass = stats.norm.pdf(inner) * 0.25
        chance = sum(m * special.expit(slope * z + rest * u) for u, m in zip(inner, mass, strict=True))
        both = np.stack([special.expit(-v), special.expit(v)], axis=1)
        second, first = (LOSSES[loss].rows(np.full(len(v), code), both) for code in (1, 0))
        dense = np.trapezoid((chance * second + (1 - chance) * first) * stats.norm.pdf(z), z)
        assert found == pytest.approx(dense, rel=2e-6, abs=1e-9)

    def test_the_error_of_a_winsorized_mean_includes_that_of_its_cut(self):
        rng = np.random.default_rng(1)
        losses = rng.normal(size=(400, 2000)) ** 2
        kept, influence = learner_fits._winsorized(losses)
        said = np.mean(influence.std(axis=1, ddof=1)) / 2000**0.5
        true = kept.mean(axis=1).std(ddof=1)
        assert said == pytest.approx(true, rel=0.15)
        assert kept.std(axis=1).mean() / 2000**0.5 < 0.8 * true

    @pytest.mark.slow
    @pytest.mark.false_alarm(1e-5)
    def test_least_squares_have_the_risk_of_the_textbook(self):
        """``(1 + 1/n) (1 + d / (n - d - 2))`` for normal features, noise 1 and an intercept."""
        made = cell(
            BatesRegression(),
            Linear(),
            "squared",
            500,
            n_replications=60,
            configurations=cell(None, None, "squared").configurations[1:],
        )
        found = run_cell(made, KEY, [0, 1], Spread.over())
        exact = (1 + 1 / 500) * (1 + 20 / 478)
        assert exact == pytest.approx(1.04392, abs=1e-5)
        assert abs(found.risks.mean() - exact) < 4.5 * found.truth_error
        assert found.truth_error < 0.003

    @pytest.mark.slow
    @pytest.mark.false_alarm(1e-4)
    def test_the_error_of_a_truth_includes_that_of_its_validation_set(self):
        """Means over 300 fresh rows vary from seed to seed as much as is said."""
        made = cell(
            problem("friedman1"),
            Ridge(),
            "squared",
            n_validation=300,
            configurations=cell(None, None, "squared").configurations[1:],
        )
        found = [run_cell(made, jax.random.key(s, impl="threefry2x32"), [0, 1], Spread.over()) for s in range(40)]
        truths, said = np.array([f.risks.mean() for f in found]), np.array([f.truth_error for f in found])
        ratio = truths.var(ddof=1) / np.mean(said**2)
        assert 0.3 < ratio < 2.4  # chi-squared with 39 degrees of freedom, 1e-4
        of_replications = np.mean([f.risks.var(ddof=1) / len(f.risks) for f in found])
        assert truths.var(ddof=1) / of_replications > 2.4  # which alone is far too small

    def test_errors_of_coverage_carry_the_error_of_the_truth(self):
        made = cell(
            BatesRegression(), Ridge(), "squared", configurations=cell(None, None, "squared").configurations[:1]
        )
        rng = np.random.default_rng(0)
        risks, shape = np.full(400, 1.0), (400, 1)
        estimates = rng.normal(1, 0.1, shape)
        parts = {
            "proxies": np.full(shape, np.nan),
            "groups": np.repeat([0, 1], 200),
            "fits": np.ones(1),
            "seconds": np.ones(1),
        }
        ends = {"estimates": estimates, "low": estimates - 0.1, "high": estimates + 0.3}
        sharp = Found(**ends, risks=risks, fresh=np.zeros(0), **parts)
        fresh = 400 * rng.normal(1, 1, 400)  # a validation set of 400 rows: its mean has a standard error of .05
        blunt = Found(**ends, risks=risks, fresh=fresh, **parts)
        assert blunt.validation_error == pytest.approx(0.05, rel=0.2)
        one, other = (rows_of(made, found, "here")[0] for found in (sharp, blunt))
        assert one["coverage"] == other["coverage"]
        moved = [
            np.mean((estimates - 0.1 <= 1 + e) & (1 + e <= estimates + 0.3))
            for e in (-blunt.validation_error, blunt.validation_error)
        ]
        assert other["coverage_error"] == pytest.approx(np.hypot(one["coverage_error"], (moved[1] - moved[0]) / 2))
        assert other["coverage_error"] > 1.5 * one["coverage_error"]


@pytest.mark.slow
def test_the_command_line_takes_classes_by_path(tmp_path, capsys):
    pytest.importorskip("sklearn")
    from jaxci.cli import main

    rng = np.random.default_rng(0)
    table = np.c_[rng.normal(size=(60, 2)), np.zeros(60)]
    table[:, 2] = table[:, 0] + 0.1 * rng.normal(size=60)
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,y", comments="")
    assert (
        main(
            [
                "generalization",
                str(tmp_path / "t.csv"),
                "--model",
                "sklearn.linear_model:Ridge:alpha=0.5",
                "--target",
                "y",
                "--seed",
                "1",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    X, y = table[:, :2], table[:, 2]
    assert f"{jaxci.generalization_interval(Ridge(alpha=0.5), X, y, rng=1).estimate:.4f}" in printed
