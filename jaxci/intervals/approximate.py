"""Approximate bootstrap confidence (ABC) intervals: BCa by derivatives, without resampling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.records import record
from jaxci.resampling.engine import Program
from jaxci.special import ndtr, ndtri
from jaxci.statistics.base import Statistic


@record
class Curvature:
    """Second-order terms of a statistic, (...) over data sets, and the curve its endpoints lie on.

    Attributes
    ----------
    standard_error, acceleration, bias, quadratic : (...) arrays
        Terms of DiCiccio and Efron (1992).
    value : callable
        Takes steps (..., m) in standard errors along the least favourable direction and returns the values of the
        statistic there, (..., m). A pytree (``jax.tree_util.Partial`` holds the data) where it is to be traced.
    """

    standard_error: Any
    acceleration: Any
    bias: Any
    quadratic: Any
    value: Any

    def along(self, steps: Any) -> Any:
        """Return the values (..., m) at ``steps`` (..., m) standard errors along the least favourable direction."""
        return self.value(steps)


def _direction(program: Program, function: Callable[[jax.Array], jax.Array]) -> tuple[jax.Array, ...]:
    whole = jnp.asarray(program.multiplicity)
    slope = program.centred(jax.grad(function)(whole), whole)
    return whole, slope, jnp.sqrt(jnp.sum(whole * slope * slope))


@functools.partial(jax.jit, static_argnames=("which",))
def _along(program: Program, steps: jax.Array, which: int) -> jax.Array:
    function = program.functions()[which]
    whole, slope, error = _direction(program, function)
    return jax.vmap(lambda s: function(whole * (1 + s * slope / error)))(steps)


def _along_on_host(program: Program, which: int, steps: np.ndarray) -> np.ndarray:
    return np.asarray(_along(program, jnp.asarray(steps, float), which))


@functools.partial(jax.jit, static_argnames=("which",))
def _terms(program: Program, which: int) -> tuple[jax.Array, ...]:
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


def curvature(program: Program, which: int) -> Curvature:
    """Compute the ABC terms of statistic number ``which`` on the host: O(n) Hessian products, each O(n) at most."""
    error, acceleration, bias, quadratic = (np.float64(x) for x in _terms(program, which))
    return Curvature(error, acceleration, bias, quadratic, functools.partial(_along_on_host, program, which))


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

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the statistic at the ABC steps along the least favourable direction."""
        terms: Curvature = evidence.curvature
        xp, a = evidence.xp, terms.acceleration
        gamma = terms.bias / terms.standard_error - terms.quadratic
        z0 = ndtri(2 * ndtr(a) * ndtr(-gamma))
        down, up = normal_steps(tails)
        shifted = xp.stack(xp.broadcast_arrays(z0 - down, z0 + up), axis=-1)
        found = terms.along(shifted / (1 - xp.asarray(a)[..., None] * shifted) ** 2)
        flat = self._flat(evidence)
        low, high = (xp.where(flat, evidence.estimate, found[..., side])[()] for side in (0, 1))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    @staticmethod
    def _flat(evidence: Evidence) -> Any:
        error = evidence.curvature.standard_error
        return ~(error > 16 * np.finfo(float).eps * evidence.xp.abs(evidence.estimate))

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width, or that an endpoint is undefined."""
        if np.all(self._flat(evidence)):
            return ("the influence values are all zero, so the 'abc' interval has no width",)
        if np.isnan(bounds.low).any() or np.isnan(bounds.high).any():
            return ("the statistic is undefined at an ABC endpoint; use 'bca'",)
        return ()
