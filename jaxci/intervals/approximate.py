"""Approximate bootstrap confidence (ABC) intervals: BCa by derivatives, without resampling."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.records import record
from jaxci.statistics.base import Statistic


@dataclasses.dataclass(frozen=True, eq=False)
class Curvature:
    """Second-order terms of one statistic and the curve its endpoints lie on."""

    program: Any
    which: int
    standard_error: float
    acceleration: float
    bias: float
    quadratic: float

    def along(self, steps: np.ndarray) -> np.ndarray:
        """Value of the statistic ``steps`` standard errors along the least favourable direction."""
        return np.asarray(_along(self.program, jnp.asarray(steps, float), self.which))


def _direction(program: Any, function: Callable[[jax.Array], jax.Array]) -> tuple[jax.Array, ...]:
    whole = jnp.asarray(program.multiplicity)
    slope = program.centred(jax.grad(function)(whole), whole)
    return whole, slope, jnp.sqrt(jnp.sum(whole * slope * slope))


@functools.partial(jax.jit, static_argnames=("which",))
def _along(program: Any, steps: jax.Array, which: int) -> jax.Array:
    function = program.functions()[which]
    whole, slope, error = _direction(program, function)
    return jax.vmap(lambda s: function(whole * (1 + s * slope / error)))(steps)


@functools.partial(jax.jit, static_argnames=("which",))
def _terms(program: Any, which: int) -> tuple[jax.Array, ...]:
    function = program.functions()[which]
    whole, slope, error = _direction(program, function)
    total = jnp.sum(whole)

    def second(direction: jax.Array) -> jax.Array:
        return jax.jvp(lambda w: jax.jvp(function, (w,), (direction,))[1], (whole,), (direction,))[1]

    quadratic = second(whole * slope / error) / (2 * error)

    def unit(u: jax.Array) -> jax.Array:
        # Moving mass towards unit u alone: w -> (1 - e) w + e n e_u, twice differentiated at e = 0.
        direction = jnp.zeros_like(whole).at[u].set(total) - whole
        return second(direction)

    curvatures = jax.lax.map(unit, jnp.arange(whole.shape[0]), batch_size=64)
    bias = jnp.sum(whole * curvatures) / (2 * total**2)
    cubes = jnp.sum(whole * slope**3)
    return error, cubes / (6 * error**3), bias, quadratic


def curvature(program: Any, which: int) -> Curvature:
    """Compute the ABC terms of statistic number ``which``: O(n) Hessian products, each O(n) at most."""
    error, acceleration, bias, quadratic = (float(x) for x in _terms(program, which))
    return Curvature(program, which, error, acceleration, bias, quadratic)


@record
class ABC(Method):
    """Approximate bootstrap confidence interval (DiCiccio and Efron 1992).

    Second-order accurate for smooth statistics; no resampling. Asymptotic.
    """

    name = "abc"
    needs = frozenset({"curvature"})

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics without second derivatives."""
        if statistic.smooth:
            return None
        return "ABC needs a differentiable statistic; use 'percentile' or 'bca'"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return the statistic at the ABC steps along the least favourable direction."""
        terms: Curvature = evidence.curvature
        ends = evidence.statistic.bounds
        if not terms.standard_error > 16 * np.finfo(float).eps * abs(evidence.estimate):
            remark = "the influence values are all zero, so the 'abc' interval has no width"
            return Bounds(evidence.estimate, evidence.estimate, (remark,))
        a = terms.acceleration
        gamma = terms.bias / terms.standard_error - terms.quadratic
        z0 = float(special.ndtri(2 * special.ndtr(a) * special.ndtr(-gamma)))

        def step(p: float) -> float:
            w = z0 + float(special.ndtri(p))
            return w / (1 - a * w) ** 2

        probabilities = [tails.lower or 0.5, 1 - (tails.upper or 0.5)]
        low, high = (float(x) for x in terms.along(np.array([step(p) for p in probabilities])))
        if math.isnan(low) or math.isnan(high):
            return Bounds(math.nan, math.nan, ("the statistic is undefined at an ABC endpoint; use 'bca'",))
        return Bounds(low if tails.lower > 0 else ends[0], high if tails.upper > 0 else ends[1])
