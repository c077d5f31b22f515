"""Second-order terms of the ABC interval, from derivatives in the weights."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.intervals.approximate import Curvature
from jaxci.special import root_sum_of_squares


def _along(program: Program, steps: jax.Array, *, which: int) -> jax.Array:
    """Return statistic number ``which`` at ``steps`` (m,) standard errors along its least favourable direction."""
    whole = jnp.asarray(program.multiplicity)
    _, slope = program.slope(which)
    error = root_sum_of_squares(slope, whole)
    direction = slope / jnp.where(error > 0, error, 1.0)
    return jax.vmap(lambda s: program.value(which, whole * (1 + s * direction)))(steps)


def _terms(program: Program, *, which: int) -> tuple[jax.Array, ...]:
    """Return standard error, acceleration, bias and quadratic term: O(n) Hessian products, each O(n) at most."""
    whole = jnp.asarray(program.multiplicity)
    function = functools.partial(program.value, which)
    _, slope = program.slope(which)
    error = root_sum_of_squares(slope, whole)
    total = jnp.sum(whole)

    def second(direction: jax.Array) -> jax.Array:
        return jax.jvp(lambda w: jax.jvp(function, (w,), (direction,))[1], (whole,), (direction,))[1]

    quadratic = second(whole * (slope / error)) / (2 * error)

    def unit(u: jax.Array) -> jax.Array:
        # Moving mass towards unit u alone: w -> (1 - e) w + e n e_u, twice differentiated at e = 0.
        direction = jnp.zeros_like(whole).at[u].set(total) - whole
        return second(direction)

    curvatures = jax.lax.map(unit, jnp.arange(whole.shape[0]), batch_size=64)
    bias = jnp.sum(whole * curvatures) / (2 * total**2)
    return error, jnp.sum(whole * (slope / error) ** 3) / 6, bias, quadratic


_terms_of_one = jax.jit(_terms, static_argnames="which")
_along_of_one = jax.jit(_along, static_argnames="which")


def curvature(program: Program, which: int) -> Curvature:
    """Return the terms of statistic number ``which`` of one data set on the host, leading axis 1."""

    def value(steps: Any) -> np.ndarray:
        return np.asarray(_along_of_one(program, jnp.asarray(steps[0], float), which=which))[None]

    error, acceleration, bias, quadratic = (np.asarray(x)[None] for x in _terms_of_one(program, which=which))
    return Curvature(error, acceleration, bias, quadratic, value)


def curvatures(programs: Program, which: int) -> Curvature:
    """Return the terms (R,) of statistic number ``which`` of a batch of data sets: traced."""
    error, acceleration, bias, quadratic = jax.lax.map(functools.partial(_terms, which=which), programs)
    along = functools.partial(_along, which=which)
    return Curvature(error, acceleration, bias, quadratic, jax.tree_util.Partial(jax.vmap(along), programs))
