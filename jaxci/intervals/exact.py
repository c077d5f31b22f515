"""Intervals from the exact bootstrap distribution: the limit of infinitely many resamples."""

from __future__ import annotations

import dataclasses
from typing import Any

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.bootstrap import BC, Basic, BCa, BootstrapMethod, Normal, Percentile
from jaxci.intervals.capabilities import has_exact_law
from jaxci.records import record, static
from jaxci.statistics.base import Statistic

ENDPOINTS: dict[str, BootstrapMethod] = {
    method.name: method for method in (Percentile(), Basic(), Normal(), BC(), BCa())
}


@record
class Exact(Method):
    """Percentile (or BCa, BC, basic or normal) endpoints of the exact bootstrap distribution.

    Serves means and their square roots (by convolution), proportions (binomial), ratios of counts such as precision,
    recall, F1 and the Jaccard index of one class (binomial, over the numbers of rows that count), F-beta of one class
    (a ratio of sums, by root finding) and quantiles (order statistics). No Monte-Carlo error; otherwise the assumptions
    are those of the bootstrap interval named by ``endpoints``.
    """

    name = "exact"
    of_differences = True
    judged_by_size = True
    takes = frozenset()

    endpoints: str = static(default="percentile")

    @property
    def needs(self) -> frozenset[str]:
        """The law, and what else the endpoints are read from."""
        return frozenset({"law"}) | (self.read.needs - {"replicates"})

    @property
    def read(self) -> BootstrapMethod:
        """The method whose endpoints are read."""
        return ENDPOINTS[self.endpoints]

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics whose bootstrap distribution has no closed form here."""
        if has_exact_law(statistic):
            return None
        return (
            "the exact bootstrap distribution is available for means, proportions, ratios of counts and quantiles "
            "only; use 'percentile' or 'bca'"
        )

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the endpoints, read from the law."""
        return self.read.bounds(_of_law(evidence), tails, critical)

    def tails_at_zero(self, evidence: Evidence, least: float) -> tuple[float, float]:
        """Return those of the endpoints' method."""
        return self.read.tails_at_zero(_of_law(evidence), least)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say what the endpoints' method says."""
        return self.read.remarks(_of_law(evidence), bounds)


def _of_law(evidence: Evidence) -> Evidence:
    return dataclasses.replace(evidence, distribution=evidence.law, core=None)
