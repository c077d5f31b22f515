import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.inducers.base import fit_predict
from jaxci.inducers.boosting import Boosting
from jaxci.inducers.forest import Forest
from jaxci.inducers.tree import Tree, leaf_of

sklearn = pytest.importorskip("sklearn")
datasets = pytest.importorskip("sklearn.datasets")
ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")

KEY = jax.random.key(3)
SMALL = {
    "tree": Tree(max_depth=4),
    "forest": Forest(n_trees=4, max_depth=4),
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


def fitted(inducer, X, y, weights, X_new, classes=0, key=KEY):
    with jax.enable_x64(True):
        target = jnp.asarray(y, jnp.int32 if classes else float)
        found = jax.jit(inducer.fit, static_argnums=4)(key, jnp.asarray(X), target, jnp.asarray(weights, float), classes)
        return np.asarray(jax.jit(inducer.predict)(found.params, jnp.asarray(X_new)))


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_trees_are_scikit_learns_on_repeated_rows(classes):
    X, y, counts = grid_data(classes, n=200, seed=classes)
    fresh = np.random.default_rng(9).uniform(-1, 10, (400, X.shape[1]))
    maker = tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor
    for row in counts:
        rows = np.repeat(np.arange(len(y)), row)
        theirs = maker(max_depth=3, min_samples_leaf=5, random_state=0).fit(X[rows], y[rows])
        expected = theirs.predict_proba(fresh) if classes else theirs.predict(fresh)
        found = fitted(Tree(max_depth=3, min_leaf=5.0), X, y, row, fresh, classes)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_weights_are_repeated_rows_in_any_order(name, classes):
    X, y, counts = smooth_data(classes)
    weights = counts[0]
    fresh = smooth_data(classes, seed=5)[0]
    found = fitted(SMALL[name], X, y, weights, fresh, classes)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), weights))
    repeated = fitted(SMALL[name], X[rows], y[rows], np.ones(len(rows)), fresh, classes)
    np.testing.assert_allclose(found, repeated, rtol=1e-9, atol=1e-12)
    order = np.random.default_rng(1).permutation(len(y))
    permuted = fitted(SMALL[name], X[order], y[order], weights[order], fresh, classes)
    np.testing.assert_allclose(found, permuted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_rows_of_weight_zero_have_no_influence(name, classes):
    X, y, counts = smooth_data(classes)
    weights = counts[0]
    fresh = smooth_data(classes, seed=5)[0]
    found = fitted(SMALL[name], X, y, weights, fresh, classes)
    out = weights == 0
    wild_X, wild_y = X.copy(), y.copy()
    wild_X[out] = np.random.default_rng(2).normal(size=(out.sum(), X.shape[1])) * 1e6
    wild_y[out] = 0 if classes else 1e6
    np.testing.assert_array_equal(fitted(SMALL[name], wild_X, wild_y, weights, fresh, classes), found)
    if name != "forest":
        removed = fitted(SMALL[name], X[~out], y[~out], weights[~out], fresh, classes)
        np.testing.assert_allclose(removed, found, rtol=1e-12, atol=1e-12)


def test_a_forest_does_not_depend_on_the_order_of_columns_values_alone():
    # Poisson draws belong to positions: with weights of one value a forest sees only monotone ranks of X.
    X, y, counts = smooth_data(0)
    found = fitted(SMALL["forest"], X, y, counts[0], X)
    cubed = fitted(SMALL["forest"], X**3, y, counts[0], X**3)
    seen = counts[0] > 0
    np.testing.assert_allclose(found[seen], cubed[seen], rtol=1e-9)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
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


def test_a_stump_splits_at_the_midpoint_of_the_rows_it_saw(float64):
    X = jnp.array([[0.0], [1.0], [2.0], [3.5], [7.0], [8.0]])
    y = jnp.array([1.0, 1.0, 99.0, 1.0, 5.0, 6.0])
    weights = jnp.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    (splits, means), _ = Tree(max_depth=1, min_leaf=1.0).fit(KEY, X, y, weights, 0)
    assert splits.threshold[0] == 5.25
    np.testing.assert_allclose(means[:, 0], [1.0, 5.5])
    assert leaf_of(splits, jnp.array([[5.25], [5.26]])).tolist() == [0, 1]


def test_a_node_without_a_gain_or_enough_weight_stays_a_leaf(float64):
    X, ones = jnp.arange(6.0)[:, None], jnp.ones(6)
    (splits, _), _ = Tree(max_depth=2, min_leaf=1.0).fit(KEY, X, jnp.full(6, 3.3), ones, 0)
    assert jnp.isinf(splits.threshold).all()
    (splits, _), _ = Tree(max_depth=2, min_leaf=4.0).fit(KEY, X, X[:, 0], ones, 0)
    assert jnp.isinf(splits.threshold).all()
    far = Tree(max_depth=2).predict((splits, jnp.arange(4.0)[:, None]), jnp.array([[jnp.inf], [-jnp.inf], [jnp.nan]]))
    assert far.tolist() == [0, 0, 0]


def test_the_first_of_two_equal_features_is_chosen(float64):
    X, y, _ = smooth_data(0)
    X = jnp.asarray(np.c_[X[:, 0], X, X[:, ::-1]])
    (splits, _), _ = Tree(max_depth=3).fit(KEY, X, jnp.asarray(y), jnp.ones(len(y)), 0)
    assert set(splits.feature.tolist()) <= {0, 2, 3, 4}


def test_the_first_round_of_boosting_by_hand(float64):
    X = jnp.array([[0.0], [1.0], [2.0], [3.0]])
    weights = jnp.array([1.0, 2.0, 1.0, 1.0])
    one = Boosting(n_trees=1, max_depth=1, min_leaf=1.0, learning_rate=0.5, l2=2.0)
    y = jnp.array([0.0, 1.0, 10.0, 12.0])
    params, _ = one.fit(KEY, X, y, weights, 0)
    mean = 24 / 5
    left, right = (2 - 3 * mean) / (3 + 2), (22 - 2 * mean) / (2 + 2)
    np.testing.assert_allclose(one.predict(params, X), mean + 0.5 * np.array([left, left, right, right]))
    params, _ = one.fit(KEY, X, jnp.array([0, 0, 1, 1]), weights, 2)
    p, start = 2 / 5, np.log(2 / 3)
    left, right = -3 * p / (3 * p * (1 - p) + 2), 2 * (1 - p) / (2 * p * (1 - p) + 2)
    expected = 1 / (1 + np.exp(-start - 0.5 * np.array([left, left, right, right])))
    np.testing.assert_allclose(one.predict(params, X)[:, 1], expected)
    params, _ = one.fit(KEY, X, jnp.array([0, 0, 1, 2]), weights, 3)
    np.testing.assert_allclose(params["start"], np.log([3 / 5, 1 / 5, 1 / 5]))
    np.testing.assert_allclose(params["trees"][1][0, 0], 0.5 * np.array([6 / 5, -6 / 5]) / (np.array([3, 2]) * 0.24 + 2))


def test_many_values_are_cut_at_weighted_quantiles(float64):
    from jaxci.inducers.tree import bin_codes

    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(400, 2)).round(2), rng.integers(0, 4, 400)
    codes = np.asarray(bin_codes(jnp.asarray(X), jnp.asarray(weights, float), 16))
    for x, code in zip(X.T, codes, strict=True):
        assert (np.diff(code[np.argsort(x)]) >= 0).all()
        assert len(set(zip(x, code, strict=True))) == len(set(x))
        share = np.bincount(code, weights, minlength=16) / weights.sum()
        assert abs(share - 1 / 16).max() < 0.025


def problems():
    rng = np.random.default_rng(7)
    X, y = datasets.make_friedman1(600, noise=1.0, random_state=0)
    yield "friedman", X, y, 0
    X = rng.normal(size=(600, 8))
    yield "linear", X, X @ rng.normal(size=8) + rng.normal(size=600), 0
    X = rng.normal(size=(600, 6))
    yield "logistic", X, (rng.logistic(size=600) < 2 * X[:, 0] - X[:, 1] * X[:, 2]).astype(int), 2
    yield "diabetes", *datasets.load_diabetes(return_X_y=True), 0
    yield "cancer", *datasets.load_breast_cancer(return_X_y=True), 2


PAIRS = {
    "tree": (
        Tree(max_depth=4, min_leaf=10.0),
        lambda c: (tree.DecisionTreeClassifier if c else tree.DecisionTreeRegressor)(
            max_depth=4, min_samples_leaf=10, random_state=0
        ),
    ),
    "forest": (
        Forest(n_trees=100, min_leaf=3.0),
        lambda c: (ensemble.RandomForestClassifier if c else ensemble.RandomForestRegressor)(
            100, max_depth=8, min_samples_leaf=3, max_features="sqrt" if c else 1 / 3, random_state=0
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
