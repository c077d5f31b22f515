"""The worked example of Raschka (2022): a decision tree on iris, with the article's own resamples.

His .632 and .632+ intervals (methods 2.3 and 2.4) give the large weight to the accuracy on the
training set; that is ``swapped=True`` here. His .632+ takes its no-information rate from all 150 rows.
"""

import dataclasses

import numpy as np
import pytest

import jaxci
from jaxci import generalization
from jaxci.resampling import splits

datasets = pytest.importorskip("sklearn.datasets")
model_selection = pytest.importorskip("sklearn.model_selection")
tree = pytest.importorskip("sklearn.tree")

RESAMPLES, N = 200, 127


@pytest.fixture(scope="module")
def iris():
    X, y = datasets.load_iris(return_X_y=True)
    return model_selection.train_test_split(X, y, test_size=0.15, random_state=123, stratify=y)


@pytest.fixture(scope="module")
def fits(iris):
    rng, pairs = np.random.RandomState(12345), []
    for _ in range(RESAMPLES):
        drawn = rng.choice(np.arange(N), size=N, replace=True)
        pairs.append((drawn, np.setdiff1d(np.arange(N), drawn)))
    plan = splits.from_indices(N, pairs, name="bootstrap")
    apparent = dataclasses.replace(plan, name="bootstrap_apparent", test_mask=np.ones_like(plan.test_mask))
    model = tree.DecisionTreeClassifier(random_state=123)
    return jaxci.fit_resamples(model, iris[0], iris[2], plans=[plan, apparent], loss="zero_one", progress=False)


def accuracies(found):
    """Bounds of the accuracy from those of the error."""
    return 1 - found.high, 1 - found.low


@pytest.mark.slow
def test_the_models_are_fitted_once(fits):
    assert fits.n_fits == RESAMPLES


def test_method_1_the_normal_interval_of_the_test_set(iris):
    X, Xt, y, yt = iris
    right = tree.DecisionTreeClassifier(random_state=123).fit(X, y).predict(Xt) == yt
    found = jaxci.proportion_interval(int(right.sum()), len(right), method="wald")
    centre, half = right.mean(), right.mean() - found.low
    np.testing.assert_allclose([centre - half, centre + half], [0.873179017733963, 1.0398644605269067], rtol=1e-12)


@pytest.mark.slow
def test_method_2_1_out_of_bag_t(fits):
    found = generalization.oob_t(fits.fits["bootstrap"])
    np.testing.assert_allclose(accuracies(found), [0.879470830164037, 1.0132047668825668], rtol=1e-12)


@pytest.mark.slow
def test_method_2_2_out_of_bag_percentiles(fits):
    found = generalization.oob_percentile(fits.fits["bootstrap"])
    np.testing.assert_allclose(accuracies(found), [0.8695652173913043, 1.0], rtol=1e-12)


@pytest.mark.parametrize(("swapped", "lower"), [(True, 0.9221417322834646), (False, 0.9001793906196508)])
def test_method_2_3_632(fits, swapped, lower):
    both = fits.fits["bootstrap"], fits.fits["bootstrap_apparent"]
    found = generalization.oob_percentile(*both, combine="632", swapped=swapped)
    np.testing.assert_allclose(accuracies(found), [lower, 1.0], rtol=1e-12)


@pytest.mark.parametrize(("swapped", "lower"), [(True, 0.9248753660725227), (False, 0.8974457568305926)])
def test_method_2_4_632_plus_with_the_rate_of_all_150_rows(fits, swapped, lower):
    of, apparent = fits.fits["bootstrap"], fits.fits["bootstrap_apparent"]
    his = dataclasses.replace(apparent, no_information=np.full(RESAMPLES, 2 / 3))
    found = generalization.oob_percentile(of, his, combine="632_plus", swapped=swapped)
    np.testing.assert_allclose(accuracies(found), [lower, 1.0], rtol=1e-12)


@pytest.mark.parametrize(("swapped", "lower"), [(True, 0.9248755579827521), (False, 0.8974455649203632)])
def test_method_2_4_632_plus_with_the_rate_of_the_training_rows(fits, swapped, lower):
    found = fits.interval("oob_percentile", combine="632_plus", swapped=swapped)
    np.testing.assert_allclose(accuracies(found.confidence_interval), [lower, 1.0], rtol=1e-12)


def test_method_3_resamples_of_the_test_set(iris):
    X, Xt, y, yt = iris
    right = (tree.DecisionTreeClassifier(random_state=123).fit(X, y).predict(Xt) == yt).astype(float)
    rng = np.random.RandomState(12345)
    drawn = [rng.choice(np.arange(23), size=23, replace=True) for _ in range(RESAMPLES)]
    counts = np.stack([np.bincount(rows, minlength=23) for rows in drawn])
    accuracy = jaxci.statistics.Mean()
    values = [float(accuracy.value(accuracy.prepare(_sample(right)), row)) for row in counts]
    np.testing.assert_allclose(np.quantile(values, [0.025, 0.975]), [0.8260869565217391, 1.0], rtol=1e-6)


def _sample(values):
    from jaxci.statistics.sample import Sample

    return Sample(values=values)
