"""Supervised learning problems: their laws by large samples, names and descriptions that are refused.

Bounds of 5 standard errors: some 6e-7 false alarms a comparison.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from jaxci.distributions.problem_files import FileProblem
from jaxci.distributions.problem_registry import (
    PROBLEMS,
    problem,
    problem_from_dict,
    problem_label,
    problem_to_dict,
)
from jaxci.distributions.problems import (
    BatesClassification,
    BatesRegression,
    Chen10,
    Covariance,
    Friedman1,
    HighDimensional,
    Problem,
)
from jaxci.printing import JaxciWarning
from jaxci.records import record

KEY = jax.random.key(11)
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(50, 4)) @ RNG.normal(size=(4, 4)) * [1e-3, 1, 10, 1e4]
SIZE = 50_000
DEPENDENT = Covariance(np.cov(DATA.T), [1, -2, 0, 0.5] / DATA.std(axis=0))

draw = jax.jit(lambda law, key, n: law.sample(key, n), static_argnums=2)


def drawn(law, n=SIZE):
    """Rows in double precision on the host, targets of a regression too."""
    X, y = draw(law, KEY, n)
    assert X.shape == (n, law.n_features)
    assert y.shape == (n,)
    return np.asarray(X, np.float64), np.asarray(y) if law.n_classes else np.asarray(y, np.float64)


def near(values, expected=0.0, errors=5.0):
    """Whether means of columns are within standard errors of what is expected."""
    values = np.asarray(values)
    se = values.std(axis=0) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - expected), errors * se)


def check_classes(X, y, log_odds, errors=5.0):
    """Residuals of the classes have mean 0 overall, in bins of the log odds, and with them and every feature."""
    p = special.expit(log_odds)
    assert y.dtype == np.int32
    assert set(np.unique(y)) == {0, 1}
    np.testing.assert_allclose(y.mean(), 0.5, atol=errors * 0.5 / np.sqrt(len(y)))
    bins = np.digitize(log_odds, np.quantile(log_odds, np.linspace(0.1, 0.9, 9)))
    tests = np.column_stack([np.ones(len(y)), bins[:, None] == np.arange(10), log_odds, X])
    z = tests.T @ (y - p) / np.sqrt((tests**2).T @ (p * (1 - p)))
    assert np.abs(z).max() < errors


def check_regression(X, residuals, variance):
    """Residuals have mean 0, the variance, and no correlation with features or their squares."""
    near(residuals)
    near(residuals**2, variance)
    centred = X - X.mean(axis=0)
    near(residuals[:, None] * centred)
    near(residuals[:, None] * (centred**2 - centred.var(axis=0)))


# --- laws ------------------------------------------------------------------------------------------


def check_standard_normal(X):
    near(X)
    near(X**2, 1.0)
    near(X**4, 3.0)
    off = np.corrcoef(X.T)[np.triu_indices(X.shape[1], 1)]
    assert np.abs(off).max() < 5 / np.sqrt(len(X))


@pytest.mark.false_alarm(2e-4)
def test_bates_classification():
    X, y = drawn(BatesClassification())
    check_standard_normal(X)
    check_classes(X, y, X[:, :5].sum(axis=1))


@pytest.mark.false_alarm(2e-4)
def test_bates_regression():
    X, y = drawn(BatesRegression())
    check_standard_normal(X)
    check_regression(X, y - X[:, :5].sum(axis=1), 1.0)
    near(y**2, 6.0)


@pytest.mark.slow
@pytest.mark.false_alarm(6e-5)
@pytest.mark.parametrize("cls", [BatesClassification, BatesRegression])
def test_bates_with_a_hundred_features_has_five_active_ones(cls):
    X, y = drawn(cls(100), 20_000)
    related = (y - y.mean())[:, None] * X
    t = np.abs(related.mean(axis=0)) / related.std(axis=0) * np.sqrt(len(y))
    assert t[:5].min() > 15
    assert t[5:].max() < 5


@pytest.mark.false_alarm(5e-5)
def test_friedman1():
    X, y = drawn(Friedman1())
    assert X.min() >= 0
    assert X.max() < 1
    near(X, 0.5)
    near((X - 0.5) ** 2, 1 / 12)
    a, b, c, d, e = X.T[:5]
    check_regression(X, y - (10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e), 1.0)
    assert abs(y.mean() - 14.413) < 0.1  # mlbench and scikit-learn: 14.4


def chen_mean(a, b, c):
    return 0.25 * np.exp(4 * a) + 4 / (1 + np.exp(-20 * (b - 0.5))) + 3 * c


@pytest.mark.slow
@pytest.mark.false_alarm(1.2e-4)
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(("variant", "steps", "noise", "sd"), [("paper", 10, 0.0, 0.3), ("code", 9, 0.3, 1.0)])
def test_features_of_chen(null, variant, steps, noise, sd):
    X, _ = drawn(Chen10(null, variant))
    parts = X.reshape(-1, 6, 10)
    scale = 0.01 + 0.5 * np.arange(10) / steps
    near(X, 0.5 + np.tile(scale * noise, 6))
    centred = parts - 0.5 - scale * noise
    near((centred**2).reshape(-1, 60), np.tile(1 / 12 + (scale * sd) ** 2, 6))
    near(centred[:, :, 1:] * centred[:, :, :1], 1 / 12)  # the latent that ten features share
    near(centred[:, 1:, 0] * centred[:, :1, 0])  # latents are independent


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("variant", "noise", "sd"), [("paper", 0.0, 0.3), ("code", 0.3, 1.0)])
def test_target_of_chen_given_the_sharpest_features(variant, noise, sd):
    """Features 0, 10 and 20 are the latents up to .01 Z; slopes of the mean turn that into variance."""
    X, y = drawn(Chen10(variant=variant))
    residuals = y - chen_mean(*(X[:, [0, 10, 20]] - 0.01 * noise).T)
    slopes = (np.exp(8) - 1) / 8 + 6400 / 120 + 9
    assert abs(residuals.mean()) < 5 * residuals.std() / np.sqrt(SIZE) + 30 * (0.01 * sd) ** 2  # curvature
    np.testing.assert_allclose(residuals.var(), 0.04 + (0.01 * sd) ** 2 * slopes, rtol=0.05)


@pytest.mark.slow
@pytest.mark.false_alarm(1.4e-4)
@pytest.mark.parametrize(("variant", "mean", "sd"), [("paper", 0.0, np.sqrt(0.2)), ("code", 0.2, 1.0)])
def test_target_of_chen_null_has_its_own_latents(variant, mean, sd):
    X, y = drawn(Chen10(null=True, variant=variant))
    latents = np.random.default_rng(1).normal(mean, sd, (3, SIZE))
    expected = chen_mean(*latents) + np.random.default_rng(2).normal(0, 0.2, SIZE)
    assert stats.ks_2samp(y, expected).pvalue > 1e-4
    ranks = stats.rankdata(y)
    related = [np.corrcoef(ranks, column)[0, 1] for column in X.T]
    assert np.abs(related).max() < 5 / np.sqrt(SIZE)


@pytest.mark.slow
@pytest.mark.false_alarm(7e-5)
@pytest.mark.parametrize(("exponent", "n"), [(0, 24_200), (1, 12_100)])
def test_high_dimensional(exponent, n):
    X, y = drawn(HighDimensional(exponent), n)
    d = 100 * 2**exponent
    near(X, errors=5.5)
    blocks = np.arange(d) // (d // 25)
    expected = np.where(blocks[:, None] == blocks, 0.8, 0.0)
    np.fill_diagonal(expected, 1.0)
    deviations = np.abs(np.corrcoef(X.T) - expected)
    assert deviations[expected == 0.8].max() < 6 * 0.36 / np.sqrt(n)
    assert deviations[expected == 0].max() < 6 / np.sqrt(n)
    log_odds = X[:, :: d // 25].sum(axis=1)
    near(log_odds**2, 25.0)
    check_classes(X, y, log_odds, errors=5.5)


@pytest.mark.false_alarm(3e-5)
def test_covariance_of_data():
    X, y = drawn(DEPENDENT)
    sd = np.sqrt(np.diagonal(DEPENDENT.covariance))
    Z = X / sd
    near(Z)
    products = Z[:, :, None] * Z[:, None, :]
    near(products.reshape(len(y), -1), (DEPENDENT.covariance / sd / sd[:, None]).ravel())
    check_classes(X, y, X @ DEPENDENT.theta)


def test_a_singular_covariance_draws_features_that_depend_on_each_other(float64):
    law = Covariance(np.cov(RNG.normal(size=(3, 6)), rowvar=False), np.ones(6))
    X = np.asarray(law.sample(KEY, 1000)[0])
    assert np.linalg.matrix_rank(X, tol=1e-5) == 2


# --- names and files -------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_are_the_same_without_jit(float64):
    for plain, compiled in zip(DEPENDENT.sample(KEY, 40), draw(DEPENDENT, KEY, 40), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-9)


def test_a_covariance_is_traced():
    traced = []

    @jax.jit
    def draw(law):
        traced.append(law)
        return law.sample(KEY, 20)[0]

    first = draw(DEPENDENT)
    second = draw(Covariance(DEPENDENT.covariance * 4, DEPENDENT.theta))
    assert len(traced) == 1
    np.testing.assert_allclose(second, 2 * first, rtol=1e-4)


def test_the_registry_has_the_problems_of_the_paper():
    assert len(PROBLEMS) == 16
    assert {"bates_classif_20", "chen_10_null_code", "highdim_6400"} < set(PROBLEMS)
    assert problem_label(BatesRegression(50)) == "BatesRegression(50 features)"
    assert problem_label(DEPENDENT) == "Covariance(4 features)"


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"no problem 'fridman1': did you mean 'friedman1'\?"):
        problem("fridman1")
    with pytest.raises(ValueError, match="known are bates_classif_20"):
        problem("zzz")


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"n_features": 20}, "key 'kind'"),
        ({"kind": "friedman"}, "did you mean 'friedman1'"),
        ({"kind": "chen_10", "nul": True}, "no key 'nul': did you mean 'null'"),
        ({"kind": "covariance", "theta": [1.0]}, "needs 'covariance'"),
        ({"kind": "bates_regression", "n_features": 4}, "n_features must be an integer of at least 5; got 4"),
        ({"kind": "chen_10", "variant": "book"}, "variant must be 'paper' or 'code'; got 'book'"),
        ({"kind": "chen_10", "null": "no"}, "null must be True or False"),
        ({"kind": "high_dimensional", "exponent": 7}, "exponent must be an integer from 0 to 6; got 7"),
        ({"kind": "covariance", "covariance": [[1.0]], "theta": [1.0, 2.0]}, "for theta"),
        ({"kind": "covariance", "covariance": [[1.0, 2.0], [2.0, 1.0]], "theta": [1, 2]}, "no negative eigenvalue"),
        ({"kind": "covariance", "covariance": [[1.0, 0.5], [0.0, 1.0]], "theta": [1, 2]}, "symmetric"),
    ],
)
def test_descriptions_that_are_refused(description, words):
    with pytest.raises(ValueError, match=words):
        problem_from_dict(description)


def test_a_feature_that_does_not_vary_is_refused():
    with pytest.raises(ValueError, match="variance of feature 1 is not positive"):
        Covariance(np.diag([1.0, 0.0]), np.ones(2))


def test_a_users_own_problem_draws_but_is_not_written():
    @record
    class Coin(Problem):
        task = "classification"
        n_features = 1
        n_classes = 2

        def sample(self, key, n):
            return jnp.zeros((n, 1)), jax.random.randint(key, (n,), 0, 2)

    assert problem_label(Coin()) == "Coin(1 features)"
    with pytest.raises(ValueError, match="Coin must be defined at the top level of a module"):
        problem_to_dict(Coin())


# --- files -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    n = 1000
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "kind": rng.choice(["b", "a", "c"], n),
            "x": rng.normal(size=n),
            "seen": rng.random(n) < 0.5,
            "y": rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module", params=["t.csv", "t.csv.gz", "t.parquet", "t.pq"])
def path(request, table, tmp_path_factory):
    file = tmp_path_factory.mktemp("files") / request.param
    table.to_parquet(file) if request.param.endswith(("parquet", "pq")) else table.to_csv(file, index=False)
    return file


def test_subsets_of_a_file_are_disjoint_and_follow_the_seed(path, table):
    data = FileProblem(path, "y", "regression", n_validation=300, seed=1)
    assert (data.n_features, data.n_classes, problem_label(data)) == (3, 0, "t")
    assert data.feature_names == ("row", "x", "seen")
    assert data.replications(100) == 7
    parts = [data.validation(), *(data.subset(r, 100) for r in range(7))]
    rows = np.concatenate([X[:, 0] for X, _ in parts]).astype(int)
    assert len(rows) == 1000
    np.testing.assert_array_equal(np.sort(rows), np.arange(1000))
    assert np.any(rows != np.arange(1000))
    for X, y in parts:
        kept = table.iloc[X[:, 0].astype(int)]
        np.testing.assert_allclose(X[:, 1], kept["x"], rtol=1e-12)
        np.testing.assert_array_equal(X[:, 2], kept["seen"])
        np.testing.assert_allclose(y, kept["y"], rtol=1e-12)
    again = FileProblem(path, "y", "regression", n_validation=300, seed=1)
    np.testing.assert_array_equal(again.subset(3, 100)[0], parts[4][0])
    other = FileProblem(path, "y", "regression", n_validation=300, seed=2)
    assert np.any(other.subset(3, 100)[0] != parts[4][0])


def test_classes_of_a_file(path, table):
    data = FileProblem(str(path), "kind", "classification", n_validation=0)
    assert data.classes == ("a", "b", "c")
    assert data.n_classes == 3
    assert data.feature_names == ("row", "x", "seen", "y")
    X, y = data.subset(0, 1000)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(np.array(data.classes)[y], table["kind"].to_numpy()[X[:, 0].astype(int)])


def test_an_index_without_a_name_is_no_feature(table, tmp_path):
    table.to_csv(tmp_path / "t.csv")
    with pytest.warns(JaxciWarning) as said:
        names = FileProblem(tmp_path / "t.csv", "y", "regression", n_validation=0).feature_names
    index, numbered = (str(one.message) for one in said)
    assert index.startswith(f"column 'Unnamed: 0' of {tmp_path / 't.csv'} is an index of rows without a name")
    assert numbered.startswith("feature 'row' is a whole number that only rises or falls over the rows")
    assert names == ("row", "x", "seen")


def test_a_file_of_too_few_rows(path):
    data = FileProblem(path, "y", "regression", n_validation=300)
    with pytest.raises(ValueError, match=r"1000 rows, 300 of them .* 2 replications of size 333.*; got replication 2"):
        data.subset(2, 333)
    with pytest.raises(ValueError, match="0 replications of size 701"):
        data.subset(0, 701)
    with pytest.raises(ValueError, match="n_validation must be at most the 1000 rows"):
        FileProblem(path, "y", "regression").validation()


def test_files_that_are_refused(path, table, tmp_path):
    with pytest.raises(ValueError, match="no column 'yy': did you mean 'y'"):
        FileProblem(path, "yy", "regression").validation()
    with pytest.raises(ValueError, match=r"column 'kind' of .* must be an array of numbers"):
        FileProblem(path, "kind", "regression", n_validation=0).validation()
    table.assign(x=table["x"].where(table["row"] > 2)).to_csv(tmp_path / "missing.csv", index=False)
    for target in ("x", "y"):
        with pytest.raises(ValueError, match=r"column 'x' of .* has 3 missing or infinite values"):
            FileProblem(tmp_path / "missing.csv", target, "regression", 0).validation()
    header, *rows = (tmp_path / "missing.csv").read_text().splitlines()
    for longer in (rows, rows[-1:]):
        (tmp_path / "longer.csv").write_text(
            "\n".join([header, *rows[: -len(longer)], *(f"{row},7" for row in longer)])
        )
        with pytest.raises(ValueError, match=r"longer\.csv must be a CSV file, no row of it longer than its header"):
            FileProblem(tmp_path / "longer.csv", "y", "regression", 0).validation()
    table[["kind", "y"]].to_csv(tmp_path / "words.csv", index=False)
    with pytest.raises(ValueError, match="no columns of numbers besides 'y'"):
        FileProblem(tmp_path / "words.csv", "y", "regression", 0).validation()
    with pytest.raises(ValueError, match="task must be"):
        FileProblem("t.csv", "y", "ranking")
    with pytest.raises(ValueError, match="seed must be"):
        FileProblem("t.csv", "y", "regression", seed=-1)


def test_a_file_problem_is_written_without_its_rows(path):
    data = FileProblem(path, "y", "regression", 300, seed=3)
    data.subset(0, 10)
    again = problem_from_dict(json.loads(json.dumps(problem_to_dict(data))))
    assert problem_to_dict(data) == {
        "kind": "file",
        "path": str(path),
        "target": "y",
        "task": "regression",
        "n_validation": 300,
        "seed": 3,
    }
    np.testing.assert_array_equal(again.subset(0, 10)[0], data.subset(0, 10)[0])
