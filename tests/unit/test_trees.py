from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.inducers.base import fit_predict
from jaxci.inducers.boosting import Boosting
from jaxci.inducers.forest import Forest, _poisson
from jaxci.inducers.growing import LANES, at_once, grow
from jaxci.inducers.nodes import Shape, leaf_of, table
from jaxci.inducers.tree import Tree, impurity_trees

sklearn = pytest.importorskip("sklearn")
datasets = pytest.importorskip("sklearn.datasets")
ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")

KEY = jax.random.key(3)
SMALL = {
    "tree": Tree(max_depth=3),
    "forest": Forest(n_trees=30, max_depth=2),
    "boosting": Boosting(n_trees=5, max_leaves=4, min_leaf=5.0),
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


@pytest.mark.slow
def test_a_stump_splits_at_the_midpoint_of_the_rows_it_saw():
    X = np.array([[0.0], [1.0], [2.0], [3.5], [7.0], [8.0]])
    y = np.array([1.0, 1.0, 99.0, 1.0, 5.0, 6.0])
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    stump = Tree(max_depth=1, min_leaf=1.0)
    (nodes, means), found = fitted(stump, X, y, weights, [[5.25], [5.26]], params=True)
    assert nodes.threshold[0] == 5.25
    np.testing.assert_array_equal(nodes.child, [1, 0, 0])
    np.testing.assert_allclose(means[:, 0], [2.5, 1.0, 5.5])
    np.testing.assert_allclose(found, [1.0, 5.5])


@pytest.mark.slow
def test_a_node_without_a_gain_or_enough_weight_stays_a_leaf():
    X, ones, far = np.arange(6.0)[:, None], np.ones(6), [[np.inf], [-np.inf], [np.nan]]
    (nodes, _), found = fitted(Tree(max_depth=2, min_leaf=1.0), X, np.full(6, 3.3), ones, far, params=True)
    assert not nodes.child.any()
    np.testing.assert_allclose(found, 3.3)
    (nodes, _), found = fitted(Tree(max_depth=2, min_leaf=4.0), X, X[:, 0], ones, far, params=True)
    assert not nodes.child.any()
    np.testing.assert_allclose(found, 2.5)


@pytest.mark.slow
def test_the_first_of_two_equal_features_is_chosen():
    X, y, _ = smooth_data(0)
    X = X[:, [0, 0, 1, 1]]
    (nodes, _), _ = fitted(SMALL["tree"], X, y, np.ones(len(y)), X, params=True)
    assert set(nodes.feature[nodes.child > 0].tolist()) == {0, 2}


@pytest.mark.slow
def test_a_forest_draws_features_for_every_node_and_rows_for_every_tree():
    X, y, _ = smooth_data(2)
    (nodes, shares), _ = fitted(SMALL["forest"], X, y, np.ones(len(y)), X, 2, params=True)
    below = np.take_along_axis(nodes.feature, np.stack([nodes.child[:, 0], nodes.child[:, 0] + 1], axis=1), axis=1)
    assert (below[:, 0] != below[:, 1]).mean() > 0.4
    assert np.bincount(nodes.feature[nodes.child > 0], minlength=4).min() > 5
    assert len(np.unique(nodes.threshold[:, 0])) > 15
    assert shares.shape == (30, 7, 2)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 3])
def test_trees_without_limits_tell_all_rows_apart(classes):
    X, y, _ = smooth_data(classes)
    kind = "Classifier" if classes else "Regressor"
    for weights in (np.ones(len(y)), np.arange(len(y)) % 3):
        full = getattr(tree, f"DecisionTree{kind}")(random_state=0).fit(X, y, weights)
        (nodes, _), found = fitted(Tree(None, 1.0), X, y, weights, X, classes, params=True)
        seen = weights > 0
        np.testing.assert_allclose(found[seen], np.eye(3)[y[seen]] if classes else y[seen], atol=1e-12)
        assert abs((nodes.child > 0).sum() - (full.tree_.feature >= 0).sum()) <= 0.1 * full.tree_.node_count


def best_first(X, y, max_leaves, min_leaf):
    """Means of the leaves that a plain loop grows best leaf first, for rows of one feature."""
    leaves = [np.argsort(X, kind="stable")]

    def split(rows):
        sums = np.cumsum(y[rows] - y.mean())
        sides = np.arange(1, len(rows))
        left, right = sums[:-1], sums[-1] - sums[:-1]
        gains = left**2 / sides + right**2 / (len(rows) - sides) - sums[-1] ** 2 / len(rows)
        gains[(sides < min_leaf) | (len(rows) - sides < min_leaf)] = -np.inf
        return (gains.max(), gains.argmax() + 1) if len(gains) else (-np.inf, 0)

    while len(leaves) < max_leaves:
        gains = [split(rows) for rows in leaves]
        best = int(np.argmax([gain for gain, _ in gains]))
        if gains[best][0] <= 0:
            break
        rows = leaves.pop(best)
        leaves += [rows[: gains[best][1]], rows[gains[best][1] :]]
    found = np.empty(len(y))
    for rows in leaves:
        found[rows] = y[rows].mean()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "max_leaves", [5, pytest.param(2, marks=pytest.mark.slow), pytest.param(12, marks=pytest.mark.slow)]
)
def test_a_tree_of_few_leaves_grows_best_leaf_first(max_leaves, float64):
    rng = np.random.default_rng(max_leaves)
    X = rng.normal(size=(90, 1))
    y = np.sin(4 * X[:, 0]) + rng.normal(size=90) / 3
    centred = jnp.asarray(y - y.mean())[None, :, None]

    @jax.jit
    def grown(X, values):
        shape = Shape(max_leaves=max_leaves)
        nodes, sums = grow(table(X), values, None, jnp.ones((1, 90)), shape, min_leaf=4.0)
        leaf = leaf_of(jax.tree.map(lambda x: x[0], nodes), X)
        return nodes, (sums[0, :, 0] / sums[0, :, 1])[leaf]

    nodes, found = grown(jnp.asarray(X), centred)
    assert nodes.child.shape == (1, 2 * max_leaves - 1)
    assert (np.asarray(nodes.child) > 0).sum() <= max_leaves - 1
    np.testing.assert_allclose(found + y.mean(), best_first(X[:, 0], y, max_leaves, 4), rtol=1e-9)


@pytest.mark.slow
def test_trees_that_grow_together_are_those_that_grow_alone(float64):
    X, y, _ = smooth_data(0, n=60, d=3)
    weights = jnp.asarray(np.random.default_rng(0).integers(0, 3, (3, 400, 60)), float)
    assert 400 * 3 < LANES < 3 * 400 * 3  # so that sets of trees follow each other, and trees of a set do not

    def means(weights):
        nodes, found = impurity_trees(table(X), jnp.asarray(y), weights, 0, min_leaf=2.0, max_depth=3)
        return jax.vmap(lambda nodes, found: found[leaf_of(nodes, jnp.asarray(X))])(nodes, found)

    together = jax.jit(jax.vmap(means))(weights)
    some = jax.jit(means)(weights[1, 7:9])
    np.testing.assert_allclose(together[1, 7:9], some, rtol=1e-12)
    one = jax.jit(jax.vmap(lambda weights: means(weights[None])[0]))(weights[2, :5])
    np.testing.assert_allclose(together[2, :5], one, rtol=1e-12)
    assert at_once(500, 20) == 102
    assert at_once(100_000, 10) == 8


@pytest.mark.false_alarm(8e-6)
def test_a_forest_counts_rows_by_poissons_law(float64):
    stats = pytest.importorskip("scipy.stats")
    means = np.repeat([0.0, 0.3, 1.0, 12.0, 2000.0], 4000)
    counts = np.asarray(jax.jit(_poisson)(KEY, jnp.asarray(means))).reshape(5, 4000)
    assert not counts[0].any()
    for mean, found in zip([0.3, 1.0, 12.0, 2000.0], counts[1:], strict=True):
        edges = np.unique(stats.poisson.ppf(np.arange(1, 12) / 12, mean))
        expected = np.diff(np.r_[0, stats.poisson.cdf(edges, mean), 1])
        observed = np.bincount(np.searchsorted(edges, found), minlength=len(expected))
        assert stats.chisquare(observed, 4000 * expected).pvalue > 2e-6


@pytest.mark.slow
def test_the_first_round_of_boosting_by_hand():
    X, weights = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 1.0, 1.0])
    one = Boosting(n_trees=1, max_leaves=2, min_leaf=1.0, learning_rate=0.5, l2=2.0)
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
    np.testing.assert_allclose(params["trees"][1][0, 0, 1:], expected)


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
            100, max_depth=4, min_samples_leaf=3, max_features="sqrt" if c else 1.0, random_state=0
        ),
    ),
    "boosting": (
        Boosting(),
        lambda c: (ensemble.HistGradientBoostingClassifier if c else ensemble.HistGradientBoostingRegressor)(),
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
