"""Calls within functions that JAX traces: their arrays have no values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci

X, Y = jnp.arange(20.0) / 20, np.arange(20) % 2
CALLS = {
    "values": lambda x: jaxci.interval("mean", x),
    "sample_weight": lambda x: jaxci.interval("mean", np.arange(20.0), sample_weight=x),
    "groups": lambda x: jaxci.interval("mean", np.arange(20.0), groups=x > 0.5),
    "strata": lambda x: jaxci.interval("mean", np.arange(20.0), strata=x > 0.5),
    "y_pred": lambda x: jaxci.evaluate(Y, x > 0.5),
    "y_score": lambda x: jaxci.evaluate(Y, y_score=x),
    "x": lambda x: jaxci.quantile_interval(x, 0.5),
    r"data\[0\]": lambda x: jaxci.bootstrap((x,), np.mean),
    "count": lambda x: jaxci.proportion_interval(x[0], 20),
    "y_true": lambda x: jaxci.Accumulator(["accuracy"]).update(x > 0.5, Y),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_without_values_is_named(name):
    with pytest.raises(TypeError, match=f"^{name} must be an array of values; got .* which has none while JAX traces"):
        jax.make_jaxpr(lambda x: (CALLS[name](x), x)[1])(X)
