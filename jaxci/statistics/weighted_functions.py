"""What a user's function of weighted data has to be, looked at before anything is computed by it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.sample import Sample
from jaxci.tracing import computing, traced

SCALES = (2.0**20, 2.0**21)
"""Weights of a row under which values are compared: corrections for degrees of freedom vanish there."""
ALIKE, ROUNDING = 0.01, 1e-9
"""Values are equal, but for such corrections and for rounding, that differ by less than the first share of them or by
less than the second number.
"""
UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""Errors of functions that ask traced arrays for their numbers."""


def check_weighted(statistic: WeightedFunction, name: str, sample: Sample) -> WeightedFunction:
    """Return a function as it computes now, if JAX can trace and differentiate it and it is a real scalar of weights.

    Raises
    ------
    TypeError
        If the function cannot be traced by JAX, or returns no real scalar number.
    ValueError
        If it does not read its weights, depends on their scale, or is declared differentiable and is not.
    """
    padded = sample.padded()
    weights = np.zeros(len(padded.columns[0]))
    weights[: sample.n] = 1.0
    with jax.enable_x64(True):
        try:
            steps, _ = traced(statistic.function, *padded.columns, weights)
        except UNTRACEABLE as error:
            raise TypeError(
                f"{name!r} must be written with jax.numpy, to be compiled: it asks its arguments for their numbers; "
                "pass a plain function f(*data) to have it called on resampled data instead"
            ) from error
        shapes = [value.shape for value in steps.out_avals]
        if shapes != [()]:
            raise TypeError(f"{name!r} must return a scalar number; got shapes {', '.join(map(str, shapes))}")
        if jnp.iscomplexobj(steps.out_avals[0]):
            raise TypeError(f"{name!r} must return a real number; got {steps.out_avals[0].dtype}")
        *_, given = steps.jaxpr.invars
        if not any(given is read for step in steps.eqns for read in step.invars):
            raise ValueError(f"{name!r} must weigh the rows by its last argument; it does not read the weights")
        statistic = computing(statistic, steps)
        if statistic.differentiable:
            _check_differentiable(statistic, name, padded.columns, weights)
        once, twice = (float(x) for x in _scaled(statistic, padded.columns, weights))
    if abs(twice - once) > max(ALIKE * abs(once), ROUNDING):
        times = f"{twice / once:.3g} times as large" if once else "another"
        raise ValueError(
            f"{name!r} must not depend on the scale of the weights: with twice the weights it is {times}; divide by "
            "weights.sum(), not by the number of rows, which is that of padded arrays"
        )
    return statistic


def _check_differentiable(statistic: WeightedFunction, name: str, columns: Any, weights: np.ndarray) -> None:
    try:
        jax.eval_shape(jax.grad(lambda given, columns: statistic.value(columns, given)), weights, columns)
    except ValueError as error:
        raise ValueError(
            f"{name!r} is declared differentiable in its weights, but JAX cannot differentiate it; give "
            "WeightedFunction(f, differentiable=False)"
        ) from error


@jax.jit
def _scaled(statistic: WeightedFunction, columns: Any, weights: jax.Array) -> jax.Array:
    """Return the values under weights of both scales."""
    return jax.vmap(lambda scale: statistic.value(columns, scale * weights))(jnp.array(SCALES))
