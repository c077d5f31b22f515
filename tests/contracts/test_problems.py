"""What every supervised learning problem promises: its shape, one sample a key, and a file that gives it back."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.distributions import PROBLEMS, Covariance, Problem, problem, problem_from_dict, problem_to_dict
from jaxci.distributions.problem_registry import problem_label
from jaxci.records import settings

KEY = jax.random.key(11)
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(50, 4)) @ RNG.normal(size=(4, 4)) * [1e-3, 1, 10, 1e4]


DRAWN = ("bates_classif_20", "bates_regr_20", "friedman1", "chen_10_null", "chen_10_code", "highdim_100")
MEMBERS = [*map(problem, DRAWN), Covariance(np.cov(DATA.T), [1, -2, 0, 0.5] / DATA.std(axis=0))]
"""Problems that are drawn from: of every class one that compiles soon."""
walk = pytest.mark.parametrize("law", MEMBERS, ids=problem_label)

draw = jax.jit(lambda law, key, n: law.sample(key, n), static_argnums=2)


def test_every_class_that_is_registered_is_drawn_from():
    assert {type(problem(name)) for name in PROBLEMS} <= {type(law) for law in MEMBERS}


@pytest.mark.slow
@walk
def test_the_same_key_draws_the_same_rows_batched_or_not(law):
    keys = jax.random.split(KEY, 3)
    together = jax.jit(jax.vmap(lambda key: law.sample(key, 40)))(keys)
    for i, key in enumerate(keys):
        X, y = draw(law, key, 40)
        np.testing.assert_array_equal(X, draw(law, key, 40)[0])
        np.testing.assert_allclose(together[0][i], X, rtol=1e-5, atol=1e-6 * np.abs(X).max())
        np.testing.assert_allclose(together[1][i], y, rtol=1e-4, atol=1e-4)
    assert np.any(together[0][0] != together[0][1])


@walk
def test_types_follow_the_switch_to_double_precision(law):
    for wide, dtype in ((True, jnp.float64), (False, jnp.float32)):
        with jax.enable_x64(wide):
            X, y = jax.eval_shape(lambda: law.sample(KEY, 10))
        assert X.dtype == dtype
        assert y.dtype == (jnp.int32 if law.n_classes else dtype)


@pytest.mark.parametrize("name", PROBLEMS)
def test_names(name):
    law = problem(name)
    assert isinstance(law, Problem)
    assert problem_label(law) == name
    assert law.task == ("classification" if "classif" in name or "highdim" in name else "regression")
    assert law.n_classes == (2 if law.task == "classification" else 0)
    X, y = jax.eval_shape(lambda: law.sample(KEY, 6))
    assert X.shape == (6, law.n_features)
    assert y.shape == (6,)
    if name.startswith(("bates", "highdim")):
        assert law.n_features == int(name.split("_")[-1])


@pytest.mark.parametrize("law", [*map(problem, PROBLEMS), MEMBERS[-1]], ids=problem_label)
def test_round_trip_through_json(law):
    again = problem_from_dict(json.loads(json.dumps(problem_to_dict(law))))
    assert type(again) is type(law)
    for name, value in settings(law).items():
        np.testing.assert_array_equal(getattr(again, name), value)
