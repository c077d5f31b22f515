"""Distribution-free intervals for quantiles between two order statistics."""

from __future__ import annotations

import bisect
import math

import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.records import record
from jaxci.statistics.base import Statistic


def smallest_n(q: float, tails: Tails) -> int | None:
    """Return the smallest n at which some pair of order statistics reaches the level; None where none does.

    Two-sided: ``q**n + (1 - q)**n <= alpha``; one-sided, the one term that applies. The sum lies
    between its greater term and twice that, which brackets n.
    """
    if tails.lower > 0 and tails.upper > 0:
        alpha, greater = tails.lower + tails.upper, max(q, 1 - q)
        if greater == 1:
            return None
        low, high = (max(2, math.ceil(math.log(share) / math.log(greater) - 1e-12)) for share in (alpha, alpha / 2))
        return low + bisect.bisect_left(range(low, high), True, key=lambda n: q**n + (1 - q) ** n <= alpha)
    base = 1 - q if tails.lower > 0 else q
    if base in (0, 1):
        return None if base else 1
    return max(1, math.ceil(math.log(max(tails)) / math.log(base) - 1e-12))


def needs_rows(n: int | None) -> str:
    """Say what :func:`smallest_n` found, after "the interval"."""
    return "exists at no n" if n is None else f"needs n >= {n}"


def order_statistic_ranks(n: int, q: float, tails: Tails) -> tuple[int, int] | None:
    """Return 1-based ranks (k, l) of the shortest conservative interval, or None below :func:`smallest_n`.

    The interval [X(k), X(l)] covers with probability ``sum_{s=k}^{l-1} C(n, s) q^s (1-q)^(n-s)``.
    Among intervals of least length l - k the one with the most equal tails, then the lowest.
    A one-sided bound has rank 0 or n + 1 on its open side.
    """
    spread = 12 * math.sqrt(n * q * (1 - q)) + 12
    first = max(0, math.floor(n * q - spread))
    last = min(n, math.ceil(n * q + spread))
    s = np.arange(first, last + 1)
    # below[i] = P(fewer than s[i] observations lie below the quantile)
    below = np.where(s > 0, special.bdtr(np.maximum(s - 1, 0), n, q), 0.0)
    slack = 1e-12
    if tails.lower == 0:
        reach = s[(below >= 1 - tails.upper - slack) & (s >= 1)]
        return (0, int(reach[0])) if reach.size else None
    if tails.upper == 0:
        reach = s[(below <= tails.lower + slack) & (s >= 1)]
        return (int(reach[-1]), n + 1) if reach.size else None
    level = 1 - tails.lower - tails.upper
    k = np.arange(max(1, first), last)
    at = below[k - first]
    # The smallest l for each k: below[l] >= level + below[k].
    place = np.searchsorted(below, level + at - slack)
    found = place < len(s)
    if not found.any():
        return None
    k, at, place = k[found], at[found], place[found]
    length = s[place] - k
    shortest = length == length.min()
    imbalance = np.abs((1 - below[place]) - at)
    best = np.flatnonzero(shortest)[np.argmin(imbalance[shortest].round(14))]
    return int(k[best]), int(s[place[best]])


@record
class OrderStatistic(Method):
    """Interval between two order statistics; covers at least the level at every n.

    Assumes i.i.d. observations only (continuous law; ties make it conservative).
    Reference: Lehmann and Paromau (2025), eq. 7; the shortest conservative single interval.
    """

    name = "order_statistic"
    needs = frozenset({"values"})
    one_by_one = True
    assumes_iid = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse everything but the median and quantiles."""
        if statistic.road == "order" and hasattr(statistic, "q"):
            return None
        return "order-statistic intervals are for the median and quantiles only"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return the two order statistics."""
        values = evidence.values
        assert values is not None
        q = float(evidence.statistic.q)  # type: ignore[attr-defined]
        n = len(values)
        ranks = order_statistic_ranks(n, q, tails)
        if ranks is None:
            raise ValueError(
                f"method 'order_statistic' for q = {q:g} {needs_rows(smallest_n(q, tails))} at this level; "
                f"got n = {n}; use 'exact' or 'percentile'"
            )
        k, l = ranks
        ends = evidence.statistic.bounds
        picked = np.partition(values, [max(k, 1) - 1, min(l, n) - 1])
        low = float(picked[k - 1]) if k >= 1 else ends[0]
        high = float(picked[l - 1]) if l <= n else ends[1]
        return Bounds(low, high)
