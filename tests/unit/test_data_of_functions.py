"""What a user's function gets: numbers of 64 bits, in arrays that it may change."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxci

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(0)
X, Y = RNG.permutation(40).astype(float), RNG.normal(size=40)


def test_the_jackknife_of_a_function_of_jax_computes_in_64_bits():
    x = RNG.normal(1e4, 1.0, 500)
    found = jaxci.jackknife(x, jnp.mean)
    assert found.estimate == pytest.approx(x.mean(), rel=1e-14)
    assert found.bias == pytest.approx(0.0, abs=1e-6)
    assert found.standard_error == pytest.approx(x.std(ddof=1) / 500**0.5, rel=1e-6)


def changing(a, b):
    """Change what it gets: JAX's arrays cannot be, so that it runs on the host."""
    a.sort()
    return float(np.mean(np.asarray(a) * np.asarray(b)))


@pytest.mark.parametrize("verb", ["jackknife", "interval"])
def test_functions_that_change_what_they_get_do_not_change_the_data(verb):
    x, y = X.copy(), Y.copy()
    if verb == "jackknife":
        found, known = (jaxci.jackknife((x, y), f) for f in (changing, lambda a, b: changing(a.copy(), b)))
        np.testing.assert_array_equal(found.pseudo_values, known.pseudo_values)
    else:
        jaxci.interval(changing, x, y, rng=0, n_resamples=99)
    np.testing.assert_array_equal((x, y), (X, Y))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("own", [np.mean, lambda v, axis: np.asarray(v).mean(axis=axis)])
def test_narrow_samples_are_resampled_in_64_bits(kind, own):
    narrow = RNG.normal(1e3 if kind is np.float16 else 1e5, 1.0, 1000).astype(kind)
    found, known = (jaxci.bootstrap((x,), own, n_resamples=199, rng=0) for x in (narrow, narrow.astype(float)))
    assert np.isfinite(found.confidence_interval).all()
    assert (found.confidence_interval, found.standard_error) == (known.confidence_interval, known.standard_error)


def test_rows_that_are_not_there_are_an_error():
    """Of a traced array JAX gives the last one."""
    with pytest.raises(IndexError, match="index 100 is out of bounds for axis 0 with size 40") as error:
        jaxci.interval(lambda v: v[100], X, rng=0, n_resamples=99)
    assert error.value.__notes__ == ["jaxci called the statistic on the data, of 40 rows"]
    of_jax = jaxci.interval(lambda v: v.at[0].set(0.0).mean(), X, rng=0, n_resamples=99)
    assert of_jax.estimate == pytest.approx(X.mean() - X[0] / 40)
