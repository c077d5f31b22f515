"""Intervals from the exact bootstrap distribution: the limit of infinitely many resamples."""

from __future__ import annotations

import dataclasses
from typing import Any

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.bootstrap import BC, Basic, BCa, BootstrapMethod, Normal, Percentile
from jaxci.intervals.capabilities import has_exact_law, is_share_difference, may_have_exact_law
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
    (a ratio of sums, by root finding) and quantiles (order statistics); of one data set, not in simulations, also the
    ratios among these of rows in clusters or with weights, means of the shares of classes such as balanced accuracy,
    and differences of two models' shares, means of shares and ratios of counts. Where such a law would take more than
    about a minute it is refused. No Monte-Carlo error; otherwise the assumptions are those of the bootstrap interval
    named by ``endpoints``.
    """

    name = "exact"
    of_differences = True
    judged_by_size = True
    takes = frozenset({"groups", "sample_weight"})

    endpoints: str = static(default="percentile")

    @property
    def needs(self) -> frozenset[str]:
        """The law, and what else the endpoints are read from."""
        return frozenset({"law"}) | (self.read.needs - {"replicates"})

    @property
    def read(self) -> BootstrapMethod:
        """The method whose endpoints are read."""
        return ENDPOINTS[self.endpoints]

    @property
    def drawn(self) -> BootstrapMethod:
        """The method whose endpoints are read."""
        return self.read

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics whose bootstrap distribution has no closed form here."""
        if may_have_exact_law(statistic):
            return None
        return (
            "the exact bootstrap distribution is available for means, proportions, ratios of counts, means of shares, "
            "differences of two models' and quantiles only; use 'percentile' or 'bca'"
        )

    def refusal_of_data(self, statistic: Statistic, given: frozenset[str]) -> str | None:
        """Refuse, too, statistics of which no law of rows in clusters or with weights is known."""
        if given and not (has_exact_law(statistic, given) or is_share_difference(statistic)):
            return (
                f"no bootstrap law of it is known of rows with {' and '.join(sorted(given))}; use 'percentile' or 'bca'"
            )
        return self.refusal(statistic)

    def refusal_of_rows(self, statistic: Statistic, given: frozenset[str] = frozenset()) -> str | None:
        """Refuse, too, what has a law of one data set only."""
        found = super().refusal_of_rows(statistic, given)
        if found is None and (given or not has_exact_law(statistic)):
            return "the law of these is computed of one data set, not of many; use 'percentile', which draws"
        return found

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
