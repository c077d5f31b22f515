import numpy as np
import pytest

import jaxci
from jaxci.api.generalization import TARGETS
from jaxci.inducers import Constant, Logistic, Ridge
from jaxci.resampling import splits

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


@pytest.mark.parametrize("method", list(TARGETS))
def test_every_method_gives_an_interval_by_its_usual_plan(method):
    X, y = regression(40)
    result = jaxci.generalization_interval(Ridge(), X, y, method=method, rng=0)
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high
    assert result.target == TARGETS[method]
    assert result.method in str(result)
    assert result.method in result._repr_html_()
    assert result.losses.shape == result.plan.test_mask.shape
    again = jaxci.generalization_interval(Ridge(), X, y, method=method, rng=result.rng)
    assert again.confidence_interval == result.confidence_interval


def test_scikit_learns_estimators_give_the_same_interval():
    X, y = regression()
    plan = splits.subsampling(60, 0.8, 6, 0)
    ours = jaxci.generalization_interval(Ridge(), X, y, method="corrected_t", plan=plan)
    theirs = jaxci.generalization_interval(linear_model.Ridge(), X, y, method="corrected_t", plan=plan)
    np.testing.assert_allclose(ours.confidence_interval, theirs.confidence_interval, rtol=1e-8)
    X, y = classification()
    plan = splits.kfold(80, 4, 0)
    ours = jaxci.generalization_interval(Logistic(), X, y, loss="log", method="cv_wald", plan=plan)
    model = pipeline.make_pipeline(preprocessing.FunctionTransformer(), linear_model.LogisticRegression(tol=1e-10))
    theirs = jaxci.generalization_interval(model, X, y, loss="log", method="cv_wald", plan=plan)
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
        ({"X": np.full((60, 2), np.nan)}, "X must be finite"),
        ({"X": np.ones((59, 2))}, "all arrays must have one length"),
        ({"plan": splits.kfold(50, 5, 0), "method": "cv_wald"}, "plans must be for the 60 rows"),
        ({"plan": splits.kfold(60, 5, 0), "method": "corrected_t"}, "corrected_t needs a plan 'subsampling'"),
        ({"inducer": Failing(), "method": "holdout"}, "failed in 1 of 1 fits; the first said: RuntimeError: no fit"),
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
        jaxci.generalization_interval("ridge", *regression())
    with pytest.raises(ValueError, match="y must hold at least 2 classes"):
        jaxci.generalization_interval(Logistic(), regression()[0], np.ones(60))
