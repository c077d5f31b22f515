"""Second-order terms of the ABC interval, from derivatives in the weights."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.intervals.approximate import Curvature
from jaxci.resampling.kernels import in_batches
from jaxci.special import root_sum_of_squares

UNITS_AT_A_TIME = 64
"""Second derivatives that are computed together."""


def _along(program: Program, direction: jax.Array, steps: jax.Array, *, which: int) -> jax.Array:
    """Return statistic number ``which`` at ``steps`` (m,) standard errors along a ``direction`` (U,)."""
    whole = jnp.asarray(program.multiplicity)
    return jax.vmap(lambda s: program.value(which, whole * (1 + s * direction)))(steps)


def _terms(program: Program, *, which: int) -> tuple[jax.Array, ...]:
    """Return standard error, acceleration, bias, quadratic term and the least favourable direction (U,).

    O(n) Hessian products, each O(n) at most.
    """
    whole = jnp.asarray(program.multiplicity)
    function = functools.partial(program.value, which)
    _, slope = program.slope(which)
    error = root_sum_of_squares(slope, whole)
    total = jnp.sum(whole)

    units = whole.shape[0]
    favourable = slope / jnp.where(error > 0, error, 1.0)

    def second(u: jax.Array) -> jax.Array:
        # Moving mass towards unit u alone, w -> (1 - e) w + e n e_u, twice differentiated at e = 0; the last of the
        # directions is the least favourable one.
        towards = jnp.zeros_like(whole).at[u].set(total, mode="drop") - whole
        direction = jnp.where(u < units, towards, whole * (slope / error))
        return jax.jvp(lambda w: jax.jvp(function, (w,), (direction,))[1], (whole,), (direction,))[1]

    curvatures = in_batches(second, jnp.arange(units + 1), UNITS_AT_A_TIME)
    bias = jnp.sum(whole * curvatures[:-1]) / (2 * total**2)
    return error, jnp.sum(whole * (slope / error) ** 3) / 6, bias, curvatures[-1] / (2 * error), favourable


_terms_of_one = jax.jit(_terms, static_argnames="which")
_along_of_one = jax.jit(_along, static_argnames="which")


def curvature(program: Program, which: int) -> Curvature:
    """Return the terms of statistic number ``which`` of one data set on the host, leading axis 1."""
    error, acceleration, bias, quadratic, direction = _terms_of_one(program, which=which)

    def value(steps: Any) -> np.ndarray:
        return np.asarray(_along_of_one(program, direction, jnp.asarray(steps[0], float), which=which))[None]

    error, acceleration, bias, quadratic = (np.asarray(x)[None] for x in (error, acceleration, bias, quadratic))
    return Curvature(error, acceleration, bias, quadratic, value)


def curvatures(programs: Program, which: int) -> Curvature:
    """Return the terms (R,) of statistic number ``which`` of a batch of data sets: traced."""
    error, acceleration, bias, quadratic, directions = jax.lax.map(functools.partial(_terms, which=which), programs)
    along = functools.partial(_along, which=which)
    value = jax.tree_util.Partial(jax.vmap(along), programs, directions)
    return Curvature(error, acceleration, bias, quadratic, value)
