import jax
import numpy as np
import pytest

from jaxci.inducers import MLP, Constant, ElasticNet, Lasso, Linear, Logistic, Ridge, Tree, Tuned, fit_predict
from jaxci.inducers.tuned import deal

linear_model = pytest.importorskip("sklearn.linear_model")
KEY = jax.random.key(0)
SHRUNK = {"tol": 1e-12, "max_iter": 100_000}


def data(classes=0, n=60, d=4):
    rng = np.random.default_rng(classes)
    X = 5 + rng.normal(size=(n, d)) * [1, 2, 0.5, 3]
    score = X @ rng.normal(size=(d, max(classes, 1))) + rng.normal(size=(n, max(classes, 1)))
    y = score[:, 0] if classes == 0 else np.argmax(score - score.mean(axis=0), axis=1).astype(np.int32)
    return X, y, rng.multinomial(n, np.ones(n) / n, size=3)


def awkward(kind):
    rng = np.random.default_rng(1)
    n, d = (20, 70) if kind == "more columns than rows" else (60, 6)
    X = 5 + rng.normal(size=(n, d))
    if kind == "badly scaled":
        X *= 10.0 ** np.linspace(-4, 4, d)
    if kind == "mildly scaled":
        X *= 10.0 ** np.linspace(-2, 2, d)
    if kind == "columns twice":
        X[:, 4], X[:, 5] = X[:, 0], 1000 * X[:, 1]
    if kind == "levels":
        level = np.r_[3, 3, rng.integers(0, 3, size=n - 2)]
        X[:, 2:] = np.eye(4)[level]
    y = (X / X.std(axis=0)) @ rng.normal(size=d) + rng.normal(size=n)
    counts = rng.multinomial(n, np.ones(n) / n, size=4)
    if kind == "levels":
        counts[0, :2] = counts[1, :1] = 0  # no row of the last level in the first sample
    return X, y, counts


def predictions(model, X, y, counts):
    found = []
    for row in counts:
        rows = np.repeat(np.arange(len(y)), row)
        fitted = model.fit(X[rows], y[rows])
        found.append(fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.predict(X))
    return np.array(found)


PAIRS = {
    "linear": (Linear(), linear_model.LinearRegression()),
    "ridge": (Ridge(alpha=2.5), linear_model.Ridge(alpha=2.5, solver="svd")),
    "lasso": (Lasso(alpha=0.2), linear_model.Lasso(alpha=0.2, **SHRUNK)),
    "elastic net": (ElasticNet(alpha=0.2, l1_ratio=0.4), linear_model.ElasticNet(alpha=0.2, l1_ratio=0.4, **SHRUNK)),
}


KINDS = ["plain", "mildly scaled", "columns twice", "levels", "more columns than rows"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    # Coordinate descent does not get there for badly scaled columns.
    [*((name, kind) for name in PAIRS for kind in KINDS), ("linear", "badly scaled"), ("ridge", "badly scaled")],
)
def test_regressions_are_scikit_learns_on_repeated_rows(name, kind):
    ours, theirs = PAIRS[name]
    X, y, counts = awkward(kind)
    found, converged = fit_predict(ours, KEY, X, y, counts)
    assert converged.all()
    if kind == "badly scaled" and name == "linear":
        X = X / X.std(axis=0)  # scikit-learn's drops columns a million times smaller than others
    np.testing.assert_allclose(found, predictions(theirs, X, y, counts), rtol=0, atol=1e-6 * y.std())


@pytest.mark.parametrize("scales", [[1, 1, 1, 1], [0.01, 1, 100, 1]])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_scikit_learns_on_repeated_rows(classes, scales):
    X, y, counts = data(classes)
    X = X * scales
    found, converged = fit_predict(Logistic(C=0.7), KEY, X, y, counts, classes)
    assert converged.all()
    theirs = linear_model.LogisticRegression(C=0.7, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    np.testing.assert_allclose(found, predictions(theirs, X, y, counts), atol=1e-6)


def test_constants():
    X, y, counts = data()
    found, _ = fit_predict(Constant(), KEY, X, y, counts)
    np.testing.assert_allclose(found[:, 0], counts @ y / counts.sum(axis=1))
    X, y, counts = data(3)
    found, _ = fit_predict(Constant(), KEY, X, y, counts, 3)
    np.testing.assert_allclose(found[:, 0], counts @ np.eye(3)[y] / counts.sum(axis=1)[:, None])


@pytest.mark.slow
def test_separated_classes_have_finite_coefficients():
    X = np.linspace(-1, 1, 20)[:, None]
    y = (X[:, 0] > 0).astype(np.int32)
    found, converged = fit_predict(Logistic(), KEY, X, y, np.ones((1, 20)), 2)
    assert converged.all()
    assert np.isfinite(found).all()
    assert not fit_predict(Logistic(max_iter=2), KEY, X, y, np.ones((1, 20)), 2)[1].any()


@pytest.mark.slow
def test_a_lasso_without_enough_steps_has_not_converged():
    X, y, counts = awkward("more columns than rows")
    assert not fit_predict(Lasso(alpha=0.01, max_iter=1), KEY, X, y, counts)[1].any()


SMALL = {
    "linear": Linear(),
    "ridge": Ridge(),
    "lasso": Lasso(alpha=0.1),
    "logistic": Logistic(),
    "mlp": MLP(hidden=(8,), max_epochs=50),
    "tree": Tree(max_depth=3),
    "tuned": Tuned(Ridge(), "alpha", (0.1, 10.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_batches_change_nothing(name, monkeypatch):
    classes = 3 if name == "logistic" else 0
    X, y, counts = data(classes)
    found, converged = fit_predict(SMALL[name], KEY, X, y, counts, classes)
    assert converged.all()
    monkeypatch.setattr("jaxci.inducers.base.FIT_BUDGET", 1)
    one_by_one, _ = fit_predict(SMALL[name], KEY, X, y, counts, classes)
    np.testing.assert_allclose(found, one_by_one, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "lasso", "logistic", "tree"])
def test_fits_of_many_data_sets_are_those_of_each(name):
    learner, classes = SMALL[name], 3 if name == "logistic" else 0
    X, y, counts = data(classes)
    sets = np.stack([X, X**2, X[::-1]]), np.stack([y, y, y[::-1]])
    with jax.enable_x64(True):

        def one(X, y, weights):
            fitted = learner.fit(KEY, X, y, weights, classes)
            return learner.predict(fitted.params, X)

        together = jax.jit(jax.vmap(jax.vmap(one, (None, None, 0)), (0, 0, None)))
        found = np.asarray(together(*sets, counts.astype(float)))
    for i in range(3):
        alone, _ = fit_predict(learner, KEY, sets[0][i], sets[1][i], counts, classes)
        np.testing.assert_allclose(found[i], alone, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "ridge", "lasso", "logistic", "mlp"])
def test_single_precision_stays_single(name):
    learner, classes = SMALL[name], 3 if name == "logistic" else 0
    X, y, counts = data(classes)

    @jax.jit
    def one(X, y, weights):
        fitted = learner.fit(KEY, X, y, weights, classes)
        return learner.predict(fitted.params, X), fitted.converged

    y = y.astype(np.int32 if classes else np.float32)
    found, converged = one(X.astype(np.float32), y, counts[0].astype(np.float32))
    assert found.dtype == np.float32
    assert converged
    if name != "mlp":
        expected, _ = fit_predict(learner, KEY, X, y, counts, classes)
        np.testing.assert_allclose(found, expected[0], rtol=1e-3, atol=1e-3)


def problems(classes):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    n = 400
    X = rng.uniform(size=(n, 10))
    noise = rng.normal(size=n)
    if classes:
        cancer = datasets.load_breast_cancer()
        yield "cancer", cancer.data[:n, :10], cancer.target[:n]
        yield "ring", X, (np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) + 0.05 * noise > 0.35).astype(int)
    else:
        diabetes = datasets.load_diabetes()
        yield "diabetes", diabetes.data[:n], diabetes.target[:n]
        curved = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        yield "curved", X, curved + noise
        yield "plane", X, X @ np.arange(10) + noise


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("classes", [0, 2])
def test_networks_predict_as_well_as_scikit_learns(classes):
    """Losses of held-out quarters: at most 1.35 times scikit-learn's, with early stopping or without."""
    networks = pytest.importorskip("sklearn.neural_network")
    make = networks.MLPClassifier if classes else networks.MLPRegressor
    for name, X, y in problems(classes):
        n, rng = len(y), np.random.default_rng(1)
        train = np.array([rng.permutation(n) < 0.75 * n for _ in range(3)])

        def loss(p, y):
            return -np.mean(np.log(p[np.arange(len(y)), y])) if classes else np.mean((p - y) ** 2)

        found, _ = fit_predict(MLP(), KEY, X, y.astype(np.int32) if classes else y, train.astype(int), classes)
        ours = np.mean([loss(found[i][~train[i]], y[~train[i]]) for i in range(3)])
        theirs = []
        for early_stopping in (True, False):
            losses = []
            for inside in train:
                Z = (X - X[inside].mean(axis=0)) / X[inside].std(axis=0)
                shift, scale = (0, 1) if classes else (y[inside].mean(), y[inside].std())
                t = (y[inside] - shift) / scale if not classes else y[inside]
                model = make(hidden_layer_sizes=(64,), early_stopping=early_stopping, random_state=0)
                model.fit(Z[inside], t)
                p = model.predict_proba(Z[~inside]) if classes else model.predict(Z[~inside]) * scale + shift
                losses.append(loss(p, y[~inside]))
            theirs.append(np.mean(losses))
        assert ours < 1.35 * min(theirs), name


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 2])
def test_tuning_chooses_as_an_explicit_loop_does(classes):
    X, y, counts = data(classes)
    values = (0.01, 1.0, 100.0)
    learner = Tuned(Logistic(), "C", values, 4) if classes else Tuned(Ridge(), "alpha", values, 4)
    assert learner.task == ("classification" if classes else "regression")
    found, converged = fit_predict(learner, KEY, X, y, counts, classes)
    assert converged.all()
    for i, row in enumerate(counts):
        with jax.enable_x64(True):
            folds = np.asarray(deal(jax.random.split(jax.random.fold_in(KEY, i), 3)[0], row.astype(float), 4))
        assert np.ptp(np.bincount(folds[row > 0], minlength=4)) <= 1
        errors, models = [], []
        for value in values:
            model = (
                linear_model.LogisticRegression(C=value, tol=1e-10, solver="newton-cholesky")
                if classes
                else linear_model.Ridge(value)
            )
            error = 0.0
            for fold in range(4):
                out = folds == fold
                p = predictions(model, X, y, [np.where(out, 0, row)])[0]
                losses = -np.log(p[np.arange(len(y)), y]) if classes else (p - y) ** 2
                error += (row * losses)[out].sum()
            errors.append(error)
            models.append(model)
        best = models[int(np.argmin(errors))]
        np.testing.assert_allclose(found[i], predictions(best, X, y, [row])[0], atol=1e-5)
