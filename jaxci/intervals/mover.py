"""The method of variance estimates recovery: an interval of a mean from intervals of its terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, open_sides
from jaxci.intervals.capabilities import averages_proportions
from jaxci.intervals.proportion import wilson
from jaxci.records import record
from jaxci.special import namespace
from jaxci.statistics.base import Shares, Statistic


def joined(apart: Any) -> Any:
    """Return the root of the sum of squares of distances (..., K) with their common sign."""
    xp = namespace(apart)
    return xp.sign(xp.sum(apart, axis=-1)) * xp.sqrt(xp.sum(apart**2, axis=-1))


def square_and_add(estimate: Any, shares: Shares, tails: Tails) -> Bounds:
    """Interval of a weighted mean of independent proportions from Wilson's interval of each.

    With the weights w, scores p and bounds (l, u): ``sum w p - sqrt(sum (w (p - l))^2)`` and
    ``sum w p + sqrt(sum (w (u - p))^2)``. The bounds of a proportion without trials are 0 and 1.

    Parameters
    ----------
    estimate : (...) array
        The mean.
    shares : Shares
        Arrays (..., K).
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : (...) arrays
        Bounds in [0, 1], which have width where every trial succeeds.

    Notes
    -----
    Asymptotic. Coverage of 95% intervals of the balanced accuracy at n = 30, 100, 1,000, where every class occurs: .92,
    .94, .95 with prevalence .1, sensitivity .95 and specificity .995; .91, .94, .94 with .5, .98, .98; for five even
    classes and accuracy .98 .90, .88, .93; less with more classes. Near 1 nearly all misses are truths above the
    interval: one-sided 95% upper bounds of the first two covered .89 at n = 30 and .88 at n = 100.

    References
    ----------
    .. [1] Zou & Donner (2008), Construction of confidence limits about effect measures: a general approach,
       Statistics in Medicine 27, 1693-1702, eq. (5).
    .. [2] Newcombe (1998), Interval estimation for the difference between independent proportions, Statistics in
       Medicine 17, 873-890, method 10.
    """
    xp = namespace(shares.successes)
    tried = shares.trials > 0
    low, high = wilson(shares.successes, xp.where(tried, shares.trials, 1.0), tails)
    low, high = xp.where(tried, low, 0.0), xp.where(tried, high, 1.0)

    low = estimate - joined(shares.weights * (shares.scores - low))
    high = estimate + joined(shares.weights * (high - shares.scores))
    return open_sides(low, high, tails, (0.0, 1.0))


@record
class SquareAndAdd(Method):
    """Interval of a mean of independent proportions; see :func:`square_and_add`."""

    name = "square_and_add"
    needs = frozenset({"shares"})
    takes = frozenset()

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a mean of independent proportions."""
        if averages_proportions(statistic):
            return None
        named = type(statistic).__name__
        return f"{self.name!r} needs a mean of independent proportions; {named} with these settings is none"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.shares``."""
        return square_and_add(evidence.estimate, evidence.shares, tails)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say which classes tell nothing."""
        untried, counted = evidence.shares.trials == 0, evidence.shares.weights > 0
        said = {
            "the interval allows for any between 0 and 1": int(np.sum(untried & counted)),
            "it is left out of the mean, and the interval is for the others alone": int(np.sum(untried & ~counted)),
        }
        return tuple(f"no row tells of the share of {k} of the classes: {text}" for text, k in said.items() if k)
