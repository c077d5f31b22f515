"""Interval for a calibration error."""

from __future__ import annotations

from typing import Any

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import is_debiased_calibration
from jaxci.intervals.delta import width_remarks
from jaxci.records import record
from jaxci.statistics.base import Statistic


@record
class SquaredGaps(Method):
    """Normal interval of the mean squared gap of a calibration curve, and its root.

    The variance of the debiased mean square is ``sum_b w_b^2 (4 m_b^2 v_b + 2 v_b^2) + Var_w(m_b^2) / N`` with
    ``w_b = n_b / N`` and ``v_b = s_b^2 / n_b``; ends below 0 are 0. Assumes independent rows.
    """

    name = "squared_gaps"
    needs = frozenset({"gaps"})
    takes = frozenset()

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not the root mean squared calibration error."""
        if is_debiased_calibration(statistic):
            return None
        return f"{self.name!r} needs the root mean squared calibration error; got {type(statistic).__name__}"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.gaps``."""
        xp, gaps = evidence.xp, evidence.gaps
        error = xp.sqrt(gaps.square_variance)
        down, up = normal_steps(tails)
        low, high = (xp.sqrt(xp.maximum(gaps.square + step * error, 0.0)) for step in (-down, up))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width."""
        return width_remarks(bounds, self.name, evidence.statistic)
