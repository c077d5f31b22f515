from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.inducers.base import fit_predict
from jaxci.inducers.boosting import Boosting
from jaxci.inducers.forest import Forest
from jaxci.inducers.tree import Tree, bin_codes

sklearn = pytest.importorskip("sklearn")
datasets = pytest.importorskip("sklearn.datasets")
ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")

KEY = jax.random.key(3)
SMALL = {
    "tree": Tree(max_depth=3),
    "forest": Forest(n_trees=30, max_depth=2),
    "boosting": Boosting(n_trees=5, max_depth=2, min_leaf=5.0),
}


def grid_data(classes, n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (n, d)).astype(float)
    score = 0.5 * X[:, 0] - np.abs(X[:, 1] - 4) + rng.normal(size=n)
    y = score if classes == 0 else np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X, y, rng.multinomial(n, np.ones(n) / n, size=3)


def smooth_data(classes, n=120, d=4, seed=1):
    X, y, counts = grid_data(classes, n, d, seed)
    return X + np.random.default_rng(seed).normal(size=X.shape), y, counts


@partial(jax.jit, static_argnums=6)
def run(inducer, key, X, y, weights, X_new, classes):
    found = inducer.fit(key, X, y, weights, classes)
    return found.params, inducer.predict(found.params, X_new)


def fitted(inducer, X, y, weights, X_new, classes=0, key=KEY, params=False):
    with jax.enable_x64(True):
        target = jnp.asarray(y, jnp.int32 if classes else float)
        found = run(
            inducer, key, jnp.asarray(X, float), target, jnp.asarray(weights, float), jnp.asarray(X_new, float), classes
        )
        return jax.tree.map(np.asarray, found if params else found[1])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_trees_are_scikit_learns_on_repeated_rows(classes):
    # No two splits of these data gain the same; where they do, scikit-learn's tree depends on its seed.
    X, y, counts = grid_data(classes)
    fresh = np.random.default_rng(9).uniform(-1, 10, X.shape)
    maker = tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor
    for row in counts:
        rows = np.repeat(np.arange(len(y)), row)
        theirs = maker(max_depth=3, min_samples_leaf=5, random_state=0).fit(X[rows], y[rows])
        expected = theirs.predict_proba(fresh) if classes else theirs.predict(fresh)
        found = fitted(SMALL["tree"], X, y, row, fresh, classes)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("tree", 2),
        pytest.param("forest", 0, marks=pytest.mark.slow),
        pytest.param("boosting", 3, marks=pytest.mark.slow),
    ],
)
def test_fits_together_are_fits_one_at_a_time(name, classes):
    X, y, counts = smooth_data(classes)
    together, converged = fit_predict(SMALL[name], KEY, X, y, counts, classes)
    assert converged.all()
    for i, row in enumerate(counts):
        alone = fitted(SMALL[name], X, y, row, X, classes, key=jax.random.fold_in(KEY, i))
        np.testing.assert_allclose(together[i], alone, rtol=1e-9, atol=1e-12)
    if classes:
        assert together.shape == (3, len(y), classes)
        assert (together >= 0).all()
        np.testing.assert_allclose(together.sum(axis=2), 1)


def test_a_stump_splits_at_the_midpoint_of_the_rows_it_saw():
    X = np.array([[0.0], [1.0], [2.0], [3.5], [7.0], [8.0]])
    y = np.array([1.0, 1.0, 99.0, 1.0, 5.0, 6.0])
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    stump = Tree(max_depth=1, min_leaf=1.0)
    (splits, means), found = fitted(stump, X, y, weights, [[5.25], [5.26]], params=True)
    assert splits.threshold[0] == 5.25
    np.testing.assert_allclose(means[:, 0], [1.0, 5.5])
    np.testing.assert_allclose(found, [1.0, 5.5])


def test_a_node_without_a_gain_or_enough_weight_stays_a_leaf():
    X, ones, far = np.arange(6.0)[:, None], np.ones(6), [[np.inf], [-np.inf], [np.nan]]
    (splits, _), found = fitted(Tree(max_depth=2, min_leaf=1.0), X, np.full(6, 3.3), ones, far, params=True)
    assert np.isinf(splits.threshold).all()
    np.testing.assert_allclose(found, 3.3)
    (splits, _), found = fitted(Tree(max_depth=2, min_leaf=4.0), X, X[:, 0], ones, far, params=True)
    assert np.isinf(splits.threshold).all()
    np.testing.assert_allclose(found, 2.5)


def test_the_first_of_two_equal_features_is_chosen():
    X, y, _ = smooth_data(0)
    X = X[:, [0, 0, 1, 1]]
    (splits, _), _ = fitted(SMALL["tree"], X, y, np.ones(len(y)), X, params=True)
    assert set(splits.feature.tolist()) == {0, 2}


def test_a_forest_draws_features_for_every_node_and_rows_for_every_tree():
    X, y, _ = smooth_data(0)
    (splits, means), _ = fitted(SMALL["forest"], X, y, np.ones(len(y)), X, params=True)
    assert (splits.feature[:, 1] != splits.feature[:, 2]).mean() > 0.5
    assert np.bincount(splits.feature.ravel(), minlength=4).min() > 10
    assert len(np.unique(splits.threshold[:, 0])) > 15
    assert means.shape == (30, 4, 1)


def test_the_first_round_of_boosting_by_hand():
    X, weights = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 1.0, 1.0])
    one = Boosting(n_trees=1, max_depth=1, min_leaf=1.0, learning_rate=0.5, l2=2.0)
    found = fitted(one, X, [0.0, 1.0, 10.0, 12.0], weights, X)
    mean = 24 / 5
    left, right = (2 - 3 * mean) / (3 + 2), (22 - 2 * mean) / (2 + 2)
    np.testing.assert_allclose(found, mean + 0.5 * np.array([left, left, right, right]))
    found = fitted(one, X, [0, 0, 1, 1], weights, X, 2)
    p, start = 2 / 5, np.log(2 / 3)
    left, right = -3 * p / (3 * p * (1 - p) + 2), 2 * (1 - p) / (2 * p * (1 - p) + 2)
    expected = 1 / (1 + np.exp(-start - 0.5 * np.array([left, left, right, right])))
    np.testing.assert_allclose(found[:, 1], expected)
    params, _ = fitted(one, X, [0, 0, 1, 2], weights, X, 3, params=True)
    np.testing.assert_allclose(params["start"], np.log([3 / 5, 1 / 5, 1 / 5]))
    expected = 0.5 * np.array([6 / 5, -6 / 5]) / (np.array([3, 2]) * 0.24 + 2)
    np.testing.assert_allclose(params["trees"][1][0, 0], expected)


def test_many_values_are_cut_at_weighted_quantiles(float64):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(400, 2)).round(2), rng.integers(0, 4, 400)
    codes = np.asarray(bin_codes(jnp.asarray(X), jnp.asarray(weights, float), 16))
    for x, code in zip(X.T, codes, strict=True):
        assert (np.diff(code[np.argsort(x)]) >= 0).all()
        assert len(set(zip(x, code, strict=True))) == len(set(x))
        share = np.bincount(code, weights, minlength=16) / weights.sum()
        assert abs(share - 1 / 16).max() < 0.025


def problems():
    """Ten features and 440 rows each, so that a learner is compiled twice and no more."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(440, 10))
    label = rng.logistic(size=440) < 2 * X[:, 0] - X[:, 1] * X[:, 2]
    found = {
        "friedman": (*datasets.make_friedman1(440, noise=1.0, random_state=0), 0),
        "linear": (X, X @ rng.normal(size=10) + rng.normal(size=440), 0),
        "logistic": (X, label.astype(int), 2),
        "diabetes": (*datasets.load_diabetes(return_X_y=True), 0),
        "cancer": (*datasets.load_breast_cancer(return_X_y=True), 2),
    }
    return [pytest.param(X[:440, :10], y[:440], classes, id=name) for name, (X, y, classes) in found.items()]


PAIRS = {
    "tree": (
        Tree(max_depth=4, min_leaf=10.0),
        lambda c: (tree.DecisionTreeClassifier if c else tree.DecisionTreeRegressor)(
            max_depth=4, min_samples_leaf=10, random_state=0
        ),
    ),
    "forest": (
        Forest(n_trees=100, max_depth=4, min_leaf=3.0),
        lambda c: (ensemble.RandomForestClassifier if c else ensemble.RandomForestRegressor)(
            100, max_depth=4, min_samples_leaf=3, max_features="sqrt" if c else 1 / 3, random_state=0
        ),
    ),
    "boosting": (
        Boosting(),
        lambda c: (ensemble.GradientBoostingClassifier if c else ensemble.GradientBoostingRegressor)(
            min_samples_leaf=10, random_state=0
        ),
    ),
}


def held_out_loss(found, y):
    """Squared error over the variance, or the Brier score over that of the shares."""
    if found.ndim == 1:
        return np.mean((found - y) ** 2) / np.var(y)
    target = np.eye(found.shape[1])[y]
    return np.sum((found - target) ** 2) / np.sum((target - target.mean(axis=0)) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize(("X", "y", "classes"), problems())
def test_held_out_losses_are_near_scikit_learns(X, y, classes):
    """Mean over three splits: at most 10% and 0.01 of the trivial loss above that of the like estimator."""
    rng = np.random.default_rng(1)
    masks = np.array([rng.permutation(len(y)) < 2 * len(y) // 3 for _ in range(3)])
    for name, (ours, make) in PAIRS.items():
        found, _ = fit_predict(ours, KEY, X, y, masks.astype(int), classes)
        losses = []
        for mask, mine in zip(masks, found, strict=True):
            theirs = make(classes).fit(X[mask], y[mask])
            expected = theirs.predict_proba(X[~mask]) if classes else theirs.predict(X[~mask])
            losses.append([held_out_loss(p, y[~mask]) for p in (mine[~mask], expected)])
        mine, expected = np.mean(losses, axis=0)
        assert mine <= 1.1 * expected + 0.01, (name, mine, expected)
