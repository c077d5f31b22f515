"""Approximate bootstrap confidence (ABC) intervals: BCa by derivatives, without resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.records import record
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


@record
class ABC(Method):
    """Approximate bootstrap confidence interval (DiCiccio and Efron 1992).

    Second-order accurate for smooth statistics; no resampling. Asymptotic.
    """

    name = "abc"
    of_differences = True
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
