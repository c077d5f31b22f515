"""What a user's function of weighted data has to be, looked at before anything is computed by it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.sample import Sample

CORRECTIONS = 2
"""Twice the weights may change a value by this number over n of it: corrections for degrees of freedom do."""


def check_weighted(statistic: WeightedFunction, name: str, sample: Sample) -> None:
    """Refuse a function that JAX cannot trace, has no scalar value, or does not weigh the rows.

    Raises
    ------
    TypeError
        If the function cannot be traced by JAX, or returns no scalar number.
    ValueError
        If it does not read its weights, or depends on their scale.
    """
    padded = sample.padded()
    weights = np.zeros(len(padded.columns[0]))
    weights[: sample.n] = 1.0
    with jax.enable_x64(True):
        try:
            traced = jax.make_jaxpr(statistic.function)(*padded.columns, weights)
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise TypeError(
                f"{name!r} must be written with jax.numpy, to be compiled: it turns its arguments into numbers or "
                "arrays of NumPy; pass a plain function f(*data) to have it called on resampled data instead"
            ) from error
        shapes = [value.shape for value in traced.out_avals]
        if shapes != [()]:
            raise TypeError(f"{name!r} must return a scalar number; got shapes {', '.join(map(str, shapes))}")
        *_, given = traced.jaxpr.invars
        if not any(given is read for step in traced.eqns for read in step.invars):
            raise ValueError(f"{name!r} must weigh the rows by its last argument; it does not read the weights")
        once, twice = (float(x) for x in _scaled(statistic, padded.columns, weights))
    if abs(twice - once) > max(CORRECTIONS / sample.n, 1e-9) * abs(once):
        raise ValueError(
            f"{name!r} must not depend on the scale of the weights: it is {once:.6g}, and {twice:.6g} with twice the "
            "weights; divide by weights.sum(), not by the number of rows, which is that of padded arrays"
        )


@jax.jit
def _scaled(statistic: WeightedFunction, columns: Any, weights: jax.Array) -> jax.Array:
    """Return the values with the weights, and with twice these."""
    return jax.vmap(lambda scale: statistic.value(columns, scale * weights))(jnp.array([1.0, 2.0]))
