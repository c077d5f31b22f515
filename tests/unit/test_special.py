"""Special functions in their JAX form against SciPy, at ordinary and extreme arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special as scipy_special
from scipy import stats

from jaxci import special

TAILS = (1e-9, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9999)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def traced(function, *arguments):
    found = jax.jit(function)(*(jnp.asarray(x, float) for x in arguments))
    assert isinstance(found, jax.Array)
    return np.asarray(found)


@pytest.mark.parametrize("name", ["ndtr", "ndtri", "expit", "logit"])
def test_elementary_functions_are_scipys(name):
    x = {
        "ndtr": np.linspace(-37, 9, 501),
        "ndtri": np.concatenate([np.geomspace(1e-300, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 50), [0.0, 1.0]]),
        "expit": np.linspace(-700, 40, 301),
        "logit": np.concatenate([np.geomspace(1e-300, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 50), [0.0, 1.0]]),
    }[name]
    expected = getattr(scipy_special, name)(x)
    np.testing.assert_array_equal(getattr(special, name)(x), expected)
    np.testing.assert_allclose(traced(getattr(special, name), x), expected, rtol=1e-13, atol=1e-300)


def parameters(n):
    """Parameters of the laws that a count of n trials leads to: few, many, nearly all successes."""
    count = np.unique(np.concatenate([[1, n], np.rint(n * np.array([0.001, 0.1, 0.5, 0.9, 0.999])).clip(1, n)]))
    return np.concatenate([count, count - 0.5]), np.concatenate([n - count + 1, n - count + 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 30, *(pytest.param(n, marks=pytest.mark.slow) for n in (250, 10_000, 10**6))])
def test_the_incomplete_beta_function_and_its_inverses_are_scipys(n):
    a, b = (x[:, None] for x in parameters(n))
    p = np.array(TAILS)
    x, y = special.betaincinv(a, b, p), special.betainccinv(a, b, p)
    if n <= 10_000:  # above, SciPy's own are off by up to 6e-8
        np.testing.assert_allclose(x, scipy_special.betaincinv(a, b, p), rtol=1e-12)
        np.testing.assert_allclose(y, scipy_special.betainccinv(a, b, p), rtol=1e-12)
    np.testing.assert_allclose(traced(special.betaincinv, a, b, p), x, rtol=1e-12)
    np.testing.assert_allclose(traced(special.betainccinv, a, b, p), y, rtol=1e-12)
    np.testing.assert_allclose(traced(special.betainc, a, b, x), scipy_special.betainc(a, b, x), rtol=1e-12)
    np.testing.assert_allclose(traced(special.betaincc, a, b, y), scipy_special.betaincc(a, b, y), rtol=1e-12)
    slope = np.exp(scipy_special.xlogy(a, x) + scipy_special.xlog1py(b, -x) - scipy_special.betaln(a, b))
    np.testing.assert_allclose(traced(special.beta_slope, a, b, x), slope, rtol=1e-7)
    np.testing.assert_array_equal(special.beta_slope(a, b, x), slope)


@pytest.mark.parametrize(
    ("p", "expected"),
    [(1e-9, 0.00082190557706738903572), (0.975, 0.0010628871719771342416), (0.9999, 0.0011218352198352798376)],
)
def test_quantiles_of_a_large_sample_in_forty_digits(p, expected):
    # roots of the incomplete beta function in 40 digits
    for found in (special.betaincinv(1000, 999_001, p), traced(special.betaincinv, 1000, 999_001, p)):
        assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.slow
def test_ends_and_undefined_arguments():
    x = np.array([0.0, 1.0, np.nan])
    np.testing.assert_array_equal(traced(special.betainc, 2.0, 3.0, x), [0, 1, np.nan])
    np.testing.assert_array_equal(traced(special.betaincc, 2.0, 3.0, x), [1, 0, np.nan])
    np.testing.assert_array_equal(traced(special.betaincinv, 2.0, 3.0, x), [0, 1, np.nan])
    np.testing.assert_array_equal(traced(special.betainccinv, 2.0, 3.0, x), [1, 0, np.nan])


def test_the_namespace_is_that_of_any_jax_array():
    assert special.namespace(1.0, np.zeros(2)) is np
    assert special.namespace(1.0, jnp.zeros(2)) is jnp
    assert jax.jit(lambda x: jnp.asarray(special.namespace(0.0, x) is jnp))(1.0)


def test_a_loop_stops_where_its_condition_fails():
    for xp in (np, jnp):
        assert int(special.loop(xp, lambda x: x < 50, lambda x: 3 * x, xp.asarray(2))) == 54


@pytest.mark.slow
def test_students_quantiles_are_scipys():
    df, p = np.meshgrid([1.0, 2.3, 11.7, 300.0], [1e-12, 1e-4, 0.025, 0.3, 0.6, 0.975])
    expected = stats.t.ppf(p, df)
    np.testing.assert_allclose(special.stdtrit(df, p), expected, rtol=1e-9)
    np.testing.assert_allclose(special.stdtrit(jnp.asarray(df), p), expected, rtol=1e-9)
    assert special.stdtrit(2.3, 1e-300) == -np.inf, "SciPy's is inf"


def test_a_program_of_many_quantiles_holds_their_iteration_once():
    program = jax.make_jaxpr(lambda df: [special.stdtrit(df + k, 0.975) for k in range(5)])(jnp.ones(3))
    iterations = [one.params["jaxpr"] for one in program.eqns if one.params.get("name") == "_quantile"]
    assert len(iterations) == 5
    assert len({id(one) for one in iterations}) == 1


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3, 1e-300, 1e300])
def test_equal_values_deviate_by_nothing_from_their_mean(value):
    x = np.full((3, 11), value)
    for xp in (np, jnp):
        np.testing.assert_array_equal(special.mean_of(xp.asarray(x)), x[:, 0])
        np.testing.assert_array_equal(special.deviation(xp.asarray(x), ddof=1), 0.0)
    assert np.isnan(special.deviation(np.array([value, np.nan]), ddof=1))


@pytest.mark.slow
def test_deviations_are_numpys():
    x = np.random.default_rng(0).normal(5, 2, (4, 30))
    for xp in (np, jnp):
        np.testing.assert_allclose(special.deviation(xp.asarray(x), ddof=1), x.std(axis=-1, ddof=1), rtol=1e-14)
