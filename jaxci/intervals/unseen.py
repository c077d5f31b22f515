"""Rows on which two models differ most, though none was seen: how far they may take the difference."""

from __future__ import annotations

from typing import Any

from jaxci.intervals.base import Bounds, Tails, normal_steps
from jaxci.special import namespace

MASS = 1 / 16
"""Of a row of each class that one model ranks first and the other last, each way."""


def unseen_variance(n_pos: Any, n_neg: Any) -> Any:
    """Return the variance (...) that they add to a difference of areas of so many positives and negatives (...)."""
    return 2 * MASS * (1.0 / n_pos**2 + 1.0 / n_neg**2)


def none_seen(variance: Any, tails: Tails) -> Bounds:
    """Return bounds (...) of a difference of which no row or cluster shows any, by the ``variance`` of an opposed one.

    Of n units the number that differ is Poisson, and none of it is seen with the error probability t where its mean is
    ``-log t``: as many opposed units one way make the bound.
    """
    xp = namespace(variance)
    reach = xp.sqrt(variance)
    return Bounds(
        *(
            side * reach * -xp.log(tail if bounded else 1.0)
            for side, tail, bounded in ((-1, tails.lower, tails.has_lower), (1, tails.upper, tails.has_upper))
        )
    )


def reaching_away(found: Bounds, difference: Any, variance: Any, tails: Tails) -> Bounds:
    """Return bounds (...) of a difference whose end away from 0 also allows for a ``variance`` that was not seen.

    Distances from the difference d become ``sqrt(distance^2 + z^2 variance)``. The other end, and so the verdict and
    the p-value, stay: to see no more rows that speak for a difference is no evidence of one.
    """
    xp = namespace(difference)

    def further(distance: Any, z: Any, away: Any) -> Any:
        reached = xp.sqrt(xp.maximum(distance, 0.0) ** 2 + xp.maximum(z, 0.0) ** 2 * variance)
        return xp.where(away, xp.maximum(distance, reached), distance)

    down, up = normal_steps(tails)
    low = difference - further(difference - found.low, down, difference <= 0)
    high = difference + further(found.high - difference, up, difference >= 0)
    return Bounds(low, high)
