import jax
import numpy as np
import pytest

from jaxci.generalization import corrected_t
from jaxci.generalization.losses import split_losses
from jaxci.inducers import Constant, Linear, Logistic, Ridge, fit_predict
from jaxci.resampling import splits

linear_model = pytest.importorskip("sklearn.linear_model")
KEY = jax.random.key(0)


def data(classes=0, n=60, d=4):
    rng = np.random.default_rng(classes)
    X = 5 + rng.normal(size=(n, d)) * [1, 2, 0.5, 3]
    score = X @ rng.normal(size=(d, max(classes, 1))) + rng.normal(size=(n, max(classes, 1)))
    y = score[:, 0] if classes == 0 else np.argmax(score - score.mean(axis=0), axis=1).astype(np.int32)
    return X, y, rng.multinomial(n, np.ones(n) / n, size=3)


def predictions(model, X, y, counts):
    found = []
    for row in counts:
        rows = np.repeat(np.arange(len(y)), row)
        fitted = model.fit(X[rows], y[rows])
        found.append(fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.predict(X))
    return np.array(found)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Linear(), lambda: linear_model.LinearRegression()), (Ridge(alpha=2.5), lambda: linear_model.Ridge(alpha=2.5))],
)
def test_regressions_are_scikit_learns_on_repeated_rows(ours, theirs):
    X, y, counts = data()
    found, converged = fit_predict(ours, KEY, X, y, counts)
    assert converged.all()
    np.testing.assert_allclose(found, predictions(theirs(), X, y, counts), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_scikit_learns_on_repeated_rows(classes):
    X, y, counts = data(classes)
    found, converged = fit_predict(Logistic(C=0.7), KEY, X, y, counts, classes)
    assert converged.all()
    theirs = linear_model.LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000)
    np.testing.assert_allclose(found, predictions(theirs, X, y, counts), atol=1e-6)


def test_a_column_twice_gives_the_shortest_coefficients():
    X, y, counts = data()
    X = np.concatenate([X, X[:, :1]], axis=1)
    found, converged = fit_predict(Linear(), KEY, X, y, counts)
    assert converged.all()
    np.testing.assert_allclose(found, predictions(linear_model.LinearRegression(), X, y, counts), rtol=1e-6)


def test_constants():
    X, y, counts = data()
    found, _ = fit_predict(Constant(), KEY, X, y, counts)
    np.testing.assert_allclose(found[:, 0], counts @ y / counts.sum(axis=1))
    X, y, counts = data(3)
    found, _ = fit_predict(Constant(), KEY, X, y, counts, 3)
    np.testing.assert_allclose(found[:, 0], counts @ np.eye(3)[y] / counts.sum(axis=1)[:, None])


def test_separated_classes_have_finite_coefficients():
    X = np.linspace(-1, 1, 20)[:, None]
    y = (X[:, 0] > 0).astype(np.int32)
    found, converged = fit_predict(Logistic(), KEY, X, y, np.ones((1, 20)), 2)
    assert converged.all()
    assert np.isfinite(found).all()


def test_chunks_change_nothing():
    X, y, counts = data()
    whole, _ = fit_predict(Ridge(), KEY, X, y, counts)
    parts, _ = fit_predict(Ridge(), KEY, X, y, counts, memory_limit=1)
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


def test_losses_of_a_plan_are_those_of_a_loop():
    X, y, _ = data(2)
    plan = splits.subsampling(len(y), 0.8, 5, 0, stratify=y)
    for loss, expected in (
        ("zero_one", lambda p, c: float(p.argmax() != c)),
        ("log", lambda p, c: -np.log(p[c])),
        ("brier", lambda p, c: np.sum((p - np.eye(2)[c]) ** 2)),
    ):
        losses, converged = split_losses(Logistic(), X, y, plan, loss, KEY, 2)
        assert converged.all()
        theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=10_000)
        for s in range(len(plan)):
            probabilities = predictions(theirs, X, y, plan.train_counts[s : s + 1])[0]
            for i in np.flatnonzero(plan.test_mask[s]):
                assert losses[s, i] == pytest.approx(expected(probabilities[i], y[i]), abs=1e-5)
        assert np.isnan(losses[~plan.test_mask]).all()
    low, high = corrected_t(losses, plan)[1:3]
    assert low < np.nanmean(losses) < high


def test_unknown_losses_are_refused():
    X, y, _ = data()
    with pytest.raises(ValueError, match="loss must be one of squared, absolute; got 'zero_one'"):
        split_losses(Ridge(), X, y, splits.kfold(len(y), 5, 0), "zero_one", KEY)
