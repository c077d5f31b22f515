"""Intervals from the exact bootstrap distribution: the limit of infinitely many resamples."""

from __future__ import annotations

import math

from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.bootstrap import DEGENERATE, adjusted_probability
from jaxci.records import record, static
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.summary import MeanStatistic, QuantileStatistic


def has_exact_law(statistic: Statistic) -> bool:
    """Whether the bootstrap distribution of ``statistic`` can be computed: means, proportions, quantiles."""
    return (
        isinstance(statistic, MeanStatistic)
        or has_fixed_trials(statistic)
        or isinstance(statistic, QuantileStatistic)
    )


@record
class Exact(Method):
    """Percentile (or BCa, or basic) endpoints of the exact bootstrap distribution.

    Serves means and their square roots (by convolution), proportions (binomial) and
    quantiles (order statistics). No Monte-Carlo error; otherwise the assumptions are those
    of the bootstrap interval named by ``endpoints``.
    """

    name = "exact"
    needs = frozenset({"distribution"})
    assumes_iid = True

    endpoints: str = static(default="percentile")

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics whose bootstrap distribution has no closed form here."""
        if has_exact_law(statistic):
            return None
        return (
            "the exact bootstrap distribution is available for means, proportions and quantiles only; "
            "use 'percentile' or 'bca'"
        )

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return quantiles of the distribution."""
        law = evidence.distribution
        root = getattr(evidence.statistic, "link", "identity") == "sqrt"
        centre = evidence.estimate**2 if root else evidence.estimate
        low, high = tails.lower, 1 - tails.upper
        remarks: tuple[str, ...] = ()
        if self.endpoints == "bca":
            acceleration = evidence.acceleration
            assert acceleration is not None
            if math.isnan(acceleration):
                acceleration, remarks = 0.0, (DEGENERATE,)
            z0 = float(special.ndtri(law.cdf(centre)))
            low, high = (float(adjusted_probability(p, z0, acceleration)) for p in (low, high))
        elif self.endpoints == "basic":
            low, high = tails.upper, 1 - tails.lower
        ends = [float(law.quantile(low)), float(law.quantile(high))]
        if root:
            ends = [math.sqrt(max(end, 0.0)) for end in ends]
        if self.endpoints == "basic":
            ends = [2 * evidence.estimate - ends[1], 2 * evidence.estimate - ends[0]]
        whole = evidence.statistic.bounds
        return Bounds(ends[0] if tails.lower > 0 else whole[0], ends[1] if tails.upper > 0 else whole[1], remarks)
