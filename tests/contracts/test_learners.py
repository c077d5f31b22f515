"""What every learner promises: weights are repeats, a batch of fits is its fits, and a file gives it back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.inducers import (
    INDUCERS,
    Fitted,
    Inducer,
    Ridge,
    Tuned,
    as_inducer,
    base,
    check_inducer,
    contract,
    fit_predict,
    inducer,
)
from jaxci.inducers.contract import Trial
from jaxci.records import record, settings

CLASSES = 3
SMALL = {
    "lasso": {"alpha": 0.1},
    "elastic_net": {"alpha": 0.1},
    "tree": {"max_depth": 2},
    "forest": {"n_trees": 8, "max_depth": 1},
    "boosting": {"n_trees": 4, "max_leaves": 3, "min_leaf": 5.0},
    "mlp": {"hidden": (8,), "max_epochs": 30},
}
"""Settings that make a learner of many steps quick; others are walked as they are."""
TOLERANCE = {"lasso": 1e-6, "elastic_net": 1e-6, "logistic": 1e-6, "mlp": 1e-6}
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


@pytest.mark.slow
@pytest.mark.parametrize("check", [contract.shape_and_range, contract.no_weight_no_influence])
@walk
def test_what_a_fit_gives(name, classes, check):
    check(LEARNERS[name], Trial.of(classes), TOLERANCE.get(name, 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if pair[0] not in DRAWS_ROWS])
def test_whole_weights_are_repeated_rows_in_any_order(name, classes):
    contract.repeated_rows(LEARNERS[name], Trial.of(classes), TOLERANCE.get(name, 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize("check", [contract.batch_is_its_fits, contract.seeded])
@pytest.mark.parametrize(
    ("name", "classes"),
    [pytest.param(*pair, marks=[pytest.mark.slow] if pair[0] in ("forest", "boosting") else []) for pair in PAIRS],
)
def test_a_fit_depends_on_its_key_and_its_weights_alone(name, classes, check):
    check(LEARNERS[name], Trial.of(classes), 0.0)


@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if pair[0] in ("constant", "ridge", "logistic")])
def test_a_plane_is_what_is_predicted(name, classes):
    contract.plane_is_predict(LEARNERS[name], Trial.of(classes), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "lasso", "elastic_net", "tuned"])
def test_planes_of_other_learners_are_what_they_predict(name):
    contract.plane_is_predict(LEARNERS[name], Trial.of(0), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if LEARNERS[pair[0]].pads_rows])
def test_room_for_more_rows_changes_no_fit(name, classes):
    assert base.room(contract.N) > contract.N
    contract.room_changes_nothing(LEARNERS[name], Trial.of(classes), TOLERANCE.get(name, 1e-9))


@pytest.mark.parametrize("d", [3, 5])  # of 6 and 7 columns XLA went wrong, too, of 4 and 8 it did not
@pytest.mark.parametrize(("name", "classes"), [pair for pair in PAIRS if pair[0] in ("linear", "logistic", "mlp")])
def test_many_rows_are_predicted_as_few_are(name, classes, d):
    rng, n = np.random.default_rng(d), 90
    learner = inducer("mlp", hidden=(d,), max_epochs=2) if name == "mlp" else LEARNERS[name]
    X, rows = rng.normal(size=(n, d)), rng.normal(size=(17_000, d))
    y = rng.integers(0, classes, n) if classes else rng.normal(size=n)
    with jax.enable_x64(True):
        fitted = learner.fit(jax.random.key(0), jnp.asarray(X), jnp.asarray(y), jnp.ones(n), classes)
        predict = jax.jit(learner.predict)
        found = np.asarray(predict(fitted.params, jnp.asarray(rows)))
        parts = [np.asarray(predict(fitted.params, jnp.asarray(part))) for part in np.split(rows, 17)]
    np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [2, 4, 5])
def test_many_rows_are_fitted_as_few_are(d):
    """At the optimum the mean probability of every class is its share: intercepts are not shrunk."""
    rng, n = np.random.default_rng(d), 17_000
    y = rng.choice(CLASSES, n, p=(0.7, 0.2, 0.1))
    X = rng.normal(size=(n, d)) + y[:, None]
    with jax.enable_x64(True):
        fit = jax.jit(LEARNERS["logistic"].fit, static_argnums=4)
        fitted = fit(jax.random.key(0), jnp.asarray(X), jnp.asarray(y), jnp.ones(n), CLASSES)
    weights = np.asarray(fitted.params)
    scores = np.exp(X @ weights[:, :-1].T + weights[:, -1])
    shares = (scores / scores.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(shares, np.bincount(y) / n, atol=1e-7)


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
    key, draws = jax.random.key(0), np.random.default_rng(0)
    X, y, counts = draws.normal(size=(64, 2)), draws.normal(size=64), draws.integers(0, 3, (20, 64))
    monkeypatch.setattr(base, "THREADS", 1)
    found, _ = fit_predict(Mean(), key, X, y, counts)
    before = base._compiled._cache_size()
    for n in (57, 60, 64):
        fewer, converged = fit_predict(Mean(), key, X[:n], y[:n], counts[:, :n])
        means = counts[:, :n] @ y[:n] / counts[:, :n].sum(axis=1)
        assert fewer.shape == (20, n)
        assert converged.shape == (20,)
        np.testing.assert_allclose(
            fewer - means[:, None], found[:, :n] - (counts @ y / counts.sum(axis=1))[:, None], atol=1e-12
        )
    assert base._compiled._cache_size() == before
    monkeypatch.setattr(base, "THREADS", 3)
    np.testing.assert_allclose(fit_predict(Mean(), key, X, y, counts)[0], found, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["constant", "ridge"])  # others compile every step of a loop alone
def test_a_fit_is_the_same_compiled_alone_and_not(name):
    contract.compiled_or_not(LEARNERS[name], Trial.of(0), 1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_survives_a_file_and_flattening(name):
    contract.survives_a_file(LEARNERS[name], Trial.of(0), 0.0)
    assert type(LEARNERS[name])(**settings(LEARNERS[name])).bytes_of_fit(60, 3, 0) > 0


@pytest.mark.parametrize("name", INDUCERS)
def test_a_name_gives_the_learner_of_its_defaults(name):
    assert repr(as_inducer(name)) == repr(INDUCERS[name]())
    assert INDUCERS[name]().task in ("regression", "classification", "any")


def broken(fit=None, predict=None, decorated=True, **fields):
    """A mean of the targets, with a step that breaks a promise."""

    class Mean(Inducer):
        task = "regression"

        def fit(self, key, X, y, weights, n_classes):
            return fit(key, X, y, weights) if fit else Fitted(weights @ y / weights.sum(), jnp.asarray(True))

        def predict(self, params, X):
            return predict(params, X) if predict else jnp.full(len(X), params)

    return (record(Mean) if decorated else Mean)()


BROKEN = {
    "weights are not read": (
        {"fit": lambda key, X, y, w: Fitted(y.mean(), jnp.asarray(True))},
        (AssertionError, "rows repeated must give the fit of whole weights"),
    ),
    "a row of weight 0 counts": (
        {"fit": lambda key, X, y, w: Fitted((w @ y + 1e-6 * y[0]) / w.sum(), jnp.asarray(True))},
        (AssertionError, "rows repeated|rows of weight 0"),
    ),
    "a branch on a value": (
        {"fit": lambda key, X, y, w: Fitted(y.sum() if w.sum() > 0 else 0.0, jnp.asarray(True))},
        (TypeError, r"Mean\.fit must be a JAX program"),
    ),
    "a NumPy call": ({"predict": lambda p, X: np.sort(X[:, 0])}, (TypeError, r"Mean\.predict must be a JAX program")),
    "a column too many": (
        {"predict": lambda p, X: jnp.full((len(X), 1), p)},
        (TypeError, r"Mean\.predict must return the shape \(n,\): \(60,\) for 60 rows; got \(60, 1\)"),
    ),
    "no Fitted": ({"fit": lambda key, X, y, w: w @ y}, (TypeError, r"Mean\.fit must return Fitted")),
    "not finite": (
        {"fit": lambda key, X, y, w: Fitted(jnp.nan * y[0], jnp.asarray(True))},
        (AssertionError, "predictions must be finite; 180 are not"),
    ),
    "no record": ({"decorated": False}, (TypeError, "Mean must be a record")),
    "a class within a function": ({}, (ValueError, "Mean must be defined at the top level of a module")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_promises_are_told(name):
    how, (error, message) = BROKEN[name]
    with pytest.raises(error, match=message):
        check_inducer(broken(**how))


def test_a_class_is_no_learner():
    with pytest.raises(TypeError, match=r"a learner must be an object, not its class: write Ridge\(\.\.\.\)"):
        as_inducer(Ridge)
