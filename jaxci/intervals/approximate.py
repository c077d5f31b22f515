"""Approximate bootstrap confidence (ABC) intervals: BCa by derivatives, without resampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.pvalues import PValue
from jaxci.records import record
from jaxci.special import ndtr, ndtri
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import is_mean

PARTS, ROUNDS = 64, 8
"""Parts into which what is left of the curve is cut to find where it reaches 0, and how often."""


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

    Second-order accurate for smooth statistics; no resampling. Asymptotic. Strata are refused: its steps are those of
    rows that may take the place of any other.
    """

    name = "abc"
    of_differences = True
    needs = frozenset({"curvature"})
    takes = frozenset({"groups", "sample_weight"})

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics without second derivatives."""
        if statistic.smooth:
            return None
        return "ABC needs a differentiable statistic; use 'percentile' or 'bca'"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the statistic at the ABC steps along the least favourable direction."""
        xp, (down, up) = evidence.xp, normal_steps(tails)
        both = xp.stack(xp.broadcast_arrays(0.0 * evidence.estimate - down, 0.0 * evidence.estimate + up), axis=-1)
        found, flat = self._bound(evidence, both), self._flat(evidence)
        if tails.has_lower and tails.has_upper:  # where the curve turns round between its ends there is no interval
            found = xp.where(found[..., :1] > found[..., 1:], xp.nan, found)
        low, high = (xp.where(flat, evidence.estimate, found[..., side])[()] for side in (0, 1))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    @staticmethod
    def _bound(evidence: Evidence, steps: Any) -> Any:
        """Return the bounds (..., m) at normal quantiles (..., m).

        The step along the curve, ``w / (1 - a w)**2``, rises with w between ``-1 / |a|`` and ``1 / |a|``: beyond the
        one it stays, beyond the other there is none.
        """
        terms: Curvature = evidence.curvature
        xp, a = evidence.xp, evidence.xp.asarray(terms.acceleration)[..., None]
        gamma = terms.bias / terms.standard_error - terms.quadratic
        shifted = ndtri(2 * ndtr(terms.acceleration) * ndtr(-gamma))[..., None] + steps
        turned = a * shifted
        held = xp.where(turned < -1, -1 / xp.where(a == 0, 1.0, a), shifted)
        return terms.along(xp.where(turned < 1, held / (1 - xp.maximum(turned, -1.0)) ** 2, xp.nan))

    def tails_at_zero(self, evidence: Evidence, least: float) -> tuple[float, float]:
        """Follow the curve from its middle until it reaches 0; where it ends before, to its end."""
        side = -1.0 if np.squeeze(self._bound(evidence, np.zeros((1, 1)))) > 0 else 1.0
        near, width = 0.0, -float(ndtri(least))
        for _ in range(ROUNDS):
            apart = near + width * np.arange(1, PARTS + 1) / PARTS
            with np.errstate(invalid="ignore", over="ignore"):
                beyond = -side * np.ravel(self._bound(evidence, side * apart[None])) > 0
            stays = PARTS if beyond.all() else int(np.argmin(beyond))
            near, width = near + width * stays / PARTS, width / PARTS
        tail = float(ndtr(-near))
        return (tail, 1.0 - tail) if side < 0 else (1.0 - tail, tail)

    def pvalue(self, evidence: Evidence, standard_error: float, alternative: str) -> PValue:
        """Return the p-value of the curve; none where nothing varies and the estimate is no mean."""
        if np.all(self._flat(evidence)) and evidence.estimate[0] != 0 and not is_mean(evidence.statistic):
            return PValue(math.nan, "no variation")
        return super().pvalue(evidence, standard_error, alternative)

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
