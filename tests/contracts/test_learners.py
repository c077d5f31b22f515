"""What every learner promises: weights are repeats, a batch of fits is its fits, and a file gives it back."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.inducers import INDUCERS, Fitted, Inducer, Ridge, Tuned, as_inducer, base, fit_predict, inducer
from jaxci.inducers.base import room
from jaxci.inducers.registry import inducer_to_dict
from jaxci.records import record, settings

KEY = jax.random.key(0)
N, D, CLASSES = 60, 3, 3
SMALL = {
    "lasso": {"alpha": 0.1},
    "elastic_net": {"alpha": 0.1},
    "tree": {"max_depth": 2},
    "forest": {"n_trees": 8, "max_depth": 1},
    "boosting": {"n_trees": 4, "max_leaves": 3, "min_leaf": 5.0},
    "mlp": {"hidden": (8,), "max_epochs": 30},
}
"""Settings that make a learner of many steps quick; others are walked as they are."""
ITERATED = {"lasso": 1e-6, "elastic_net": 1e-6, "logistic": 1e-6, "mlp": 1e-6}
"""Differences that steps towards an optimum may leave."""
LEARNERS = {name: inducer(name, **SMALL.get(name, {})) for name in INDUCERS} | {
    "tuned": Tuned(Ridge(), "alpha", (0.1, 10.0), 4)
}
PAIRS = [
    (name, classes)
    for name, learner in LEARNERS.items()
    for classes, task in ((0, "regression"), (CLASSES, "classification"))
    if learner.task in (task, "any")
]
walk = pytest.mark.parametrize(("name", "classes"), PAIRS)
DRAWS_ROWS = {
    "forest": "each tree draws rows by their number",
    "mlp": "batches and validation rows are drawn by their number",
    "tuned": "folds are dealt to rows by their number",
}
"""Learners whose draws go to rows, so that only the law of their fits knows no difference between weight and repeat."""


def data(classes):
    """Rows, targets, and counts (3, n) of resamples whose first leaves six rows out."""
    rng = np.random.default_rng(classes)
    X = 5 + rng.normal(size=(N, D)) * [1, 2, 0.5]
    score = X @ rng.normal(size=(D, max(classes, 1))) + rng.normal(size=(N, max(classes, 1)))
    y = score[:, 0] if classes == 0 else np.argmax(score - score.mean(axis=0), axis=1).astype(np.int32)
    counts = rng.multinomial(N, np.r_[np.zeros(6), np.full(N - 6, 1 / (N - 6))], size=3)
    return X, y, counts


def fitted(name, X, y, counts, classes):
    """Predictions of three fits, and which converged: one program for every test of a learner."""
    assert len(counts) == 3
    return fit_predict(LEARNERS[name], KEY, X, y, counts, classes)


def assert_near(name, found, expected):
    tolerance = ITERATED.get(name, 1e-9)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@walk
def test_predictions_have_their_shape_and_range(name, classes):
    X, y, counts = data(classes)
    found, converged = fitted(name, X, y, counts, classes)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert found.shape == ((3, N, classes) if classes else (3, N))
    assert converged.shape == (3,)
    assert converged.dtype == np.bool_
    assert converged.all()
    if classes:
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if pair[0] not in DRAWS_ROWS])
def test_whole_weights_are_repeated_rows_in_any_order(name, classes):
    X, y, counts = data(classes)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(N), counts[0]))
    weighted, _ = fitted(name, X, y, counts, classes)
    repeated, _ = fitted(name, X[rows], y[rows], np.ones((3, N)), classes)
    assert_near(name, repeated[0], weighted[0][rows])
    order = np.random.default_rng(1).permutation(N)
    permuted, _ = fitted(name, X[order], y[order], counts[:, order], classes)
    assert_near(name, permuted, weighted[:, order])


@pytest.mark.slow
@walk
def test_rows_without_weight_do_nothing(name, classes):
    X, y, counts = data(classes)
    wild, other = X.copy(), y.copy()
    wild[:6] = 1e4 * np.random.default_rng(0).normal(size=(6, D))
    other[:6] = 0 if classes else 1e4
    found, _ = fitted(name, X, y, counts, classes)
    found_wild, _ = fitted(name, wild, other, counts, classes)
    assert_near(name, found_wild[:, 6:], found[:, 6:])


@walk
def test_a_fit_does_not_know_the_others_of_its_batch(name, classes):
    X, y, counts = data(classes)
    found, converged = fitted(name, X, y, counts, classes)
    other, also = fitted(name, X, y, counts[[0, 0, 0]], classes)
    np.testing.assert_array_equal(other[0], found[0])
    assert also[0] == converged[0]


@partial(jax.jit, static_argnums=5)
def alone(learner, key, X, y, weights, classes):
    return learner.predict(learner.fit(key, X, y, weights, classes).params, X)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if LEARNERS[pair[0]].pads_rows])
def test_room_for_more_rows_changes_no_fit(name, classes):
    X, y, counts = data(classes)
    assert room(N) > N
    found, _ = fitted(name, X, y, counts, classes)
    with jax.enable_x64(True):
        targets, weights = jnp.asarray(y, jnp.int32 if classes else float), jnp.asarray(counts, float)
        for i, own in enumerate(weights):
            key = jax.random.fold_in(KEY, i)
            assert_near(name, np.asarray(alone(LEARNERS[name], key, jnp.asarray(X), targets, own, classes)), found[i])


@record
class Mean(Inducer):
    """Weighted mean, and a draw for every row by its number."""

    task = "regression"
    pads_rows = True
    in_threads = True

    def fit(self, key, X, y, weights, n_classes):
        return Fitted((weights @ y / weights.sum(), jax.random.uniform(key, y.shape)), jnp.asarray(True))

    def predict(self, params, X):
        return params[0] + params[1]


def test_nearby_sizes_share_a_program_and_threads_change_no_fit(monkeypatch):
    draws = np.random.default_rng(0)
    X, y, counts = draws.normal(size=(64, 2)), draws.normal(size=64), draws.integers(0, 3, (20, 64))
    monkeypatch.setattr(base, "THREADS", 1)
    found, _ = fit_predict(Mean(), KEY, X, y, counts)
    before = base._compiled._cache_size()
    for n in (57, 60, 64):
        fewer, converged = fit_predict(Mean(), KEY, X[:n], y[:n], counts[:, :n])
        means = counts[:, :n] @ y[:n] / counts[:, :n].sum(axis=1)
        assert fewer.shape == (20, n)
        assert converged.shape == (20,)
        np.testing.assert_allclose(
            fewer - means[:, None], found[:, :n] - (counts @ y / counts.sum(axis=1))[:, None], atol=1e-12
        )
    assert base._compiled._cache_size() == before
    monkeypatch.setattr(base, "THREADS", 3)
    np.testing.assert_allclose(fit_predict(Mean(), KEY, X, y, counts)[0], found, atol=1e-14)


@pytest.mark.parametrize("name", ["constant", "ridge"])  # others compile every step of a loop alone
def test_a_fit_is_the_same_compiled_alone_and_not(name):
    X, y, counts = data(0)
    compiled, _ = fitted(name, X, y, counts, 0)
    learner, key = LEARNERS[name], jax.random.fold_in(KEY, 0)
    with jax.enable_x64(True):
        rows, weights = jnp.asarray(X), jnp.asarray(counts[0], float)
        plain = learner.predict(learner.fit(key, rows, jnp.asarray(y), weights, 0).params, rows)
    assert_near(name, np.asarray(plain), compiled[0])


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_survives_a_file_and_flattening(name):
    learner = LEARNERS[name]
    described = json.loads(json.dumps(inducer_to_dict(learner)))
    leaves, structure = jax.tree.flatten(learner)
    for again in (inducer(**described), as_inducer(described), jax.tree.unflatten(structure, leaves)):
        assert type(again) is type(learner)
        assert repr(again) == repr(learner)
        assert jax.tree.structure(again) == structure
    assert type(learner)(**settings(learner)).bytes_of_fit(N, D, 0) == learner.bytes_of_fit(N, D, 0) > 0


@pytest.mark.parametrize("name", INDUCERS)
def test_a_name_gives_the_learner_of_its_defaults(name):
    assert repr(as_inducer(name)) == repr(INDUCERS[name]())
    assert INDUCERS[name]().task in ("regression", "classification", "any")
