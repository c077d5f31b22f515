"""Interval for a calibration error."""

from __future__ import annotations

import math
from typing import Any

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import is_debiased_calibration
from jaxci.intervals.clusters import ClusterSums
from jaxci.intervals.delta import student_steps, width_remarks
from jaxci.intervals.kurtosis import Spread, decided_by_few, spread_of_clusters
from jaxci.records import record
from jaxci.special import namespace
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import ROUNDING
from jaxci.statistics.probability import ClusterGaps, Gaps

MASS = 0.25
"""Of clusters at both extreme contributions (see :func:`~jaxci.intervals.kurtosis.spread`)."""


def error_of_square(gaps: Gaps | ClusterGaps) -> Spread:
    """Return the standard error (...) of the mean squared gap and its degrees of freedom, infinite without clusters."""
    xp = namespace(gaps.square)
    if isinstance(gaps, Gaps):
        return Spread(xp.sqrt(gaps.square_variance), math.inf)
    sums = ClusterSums(gaps.sizes, gaps.sizes)
    g = gaps.sizes.shape[-1]
    error, degrees = spread_of_clusters(gaps.influence * (1 - 1 / g) / xp.maximum(sums.others, ROUNDING), MASS, sums)
    return Spread(xp.sqrt(error**2 + gaps.chance), degrees)


@record
class SquaredGaps(Method):
    """Normal or Student's interval of the mean squared gap of a calibration curve, and its root.

    The variance of the debiased mean square is ``sum_b w_b^2 (4 m_b^2 v_b + 2 v_b^2) + Var_w(m_b^2) / N`` with
    ``w_b = n_b / N`` and ``v_b = s_b^2 / n_b``; ends below 0 are 0. Of rows in clusters the variance of what each
    cluster contributes takes the place of what is linear in it, with Student's quantiles as of
    :class:`~jaxci.intervals.kurtosis.KurtosisT`, and ``2 sum_bc w_b w_c V_bc^2`` of the covariance V of the means of
    bins that of the squares of v_b; what V says that chance adds is taken off. Rows with importance weights are
    clusters of one row each. Assumes independent rows, or clusters. Strata are not allowed for: they make the variance
    smaller than it is said to be.
    """

    name = "squared_gaps"
    needs = frozenset({"gaps"})
    by_leverage = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not the root mean squared calibration error."""
        if is_debiased_calibration(statistic):
            return None
        return f"{self.name!r} needs the root mean squared calibration error; got {type(statistic).__name__}"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.gaps``."""
        xp, gaps = evidence.xp, evidence.gaps
        error, degrees = error_of_square(gaps)
        down, up = normal_steps(tails) if isinstance(gaps, Gaps) else student_steps(degrees, tails)
        low, high = (xp.sqrt(xp.maximum(gaps.square + step * error, 0.0)) for step in (-down, up))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the interval has no width, or that few rows or clusters decide it."""
        if isinstance(evidence.gaps, ClusterGaps):
            error, degrees = (float(x[0]) for x in error_of_square(evidence.gaps))
            said = decided_by_few(degrees, evidence.gaps.sizes.shape[-1], self._units(evidence), "estimate")
            if error > 0 and said:
                return (said,)
        return width_remarks(bounds, self.name, evidence.statistic)

    def _units(self, evidence: Evidence) -> str:
        return "rows" if evidence.sizes is None else "clusters"


@record
class BlockGaps(SquaredGaps):
    """Interval of a squared calibration error of rows in the order of time: blocks are taken for clusters.

    A block has ``2 n^(1/3)`` rows where no length is given. Asymptotic in the number of rows. Of balanced classes
    it covers 94% to 100% in designs of 30 to 1,000 rows with slopes of .6 and .9 (``docs/time.md``).
    """

    name = "block_gaps"
    requires_blocks = True

    def _units(self, evidence: Evidence) -> str:
        return "blocks"
