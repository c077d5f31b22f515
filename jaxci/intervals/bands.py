"""Bands of curves from replicates of all their points: each for itself, or all together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special


class Band(NamedTuple):
    """Lower and upper ends (G,) of a curve."""

    low: Any
    high: Any


def pointwise(replicates: np.ndarray, estimates: np.ndarray, level: float, bounds: Any) -> Band:
    """Return the band (G,) that holds each point of a curve at ``level``: quantiles of replicates (G, B).

    The estimate always lies within; where it is at an end of ``bounds``, so is the band.
    """
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=1, method="closest_observation")
    return _opened(low, high, estimates, bounds)


def simultaneous(replicates: np.ndarray, estimates: np.ndarray, level: float, bounds: Any) -> tuple[Band, float]:
    """Return the band (G,) that holds all points of a curve together at ``level``, and the tail of each point.

    Between the k-th smallest and the k-th largest replicate (G, B) of every point: as far out, in probability, at every
    point, whatever the scale. k is the largest for which one more replicate curve would leave the band with a chance of
    at most ``1 - level``, ``(1 + #{depth <= k}) / (1 + B)``, and the tail is k of B + 1. Where there is none, there are
    too few replicates, the band is the envelope of all, and the tail is 0.

    References
    ----------
    Beran (1988), Balanced simultaneous confidence sets, Journal of the American Statistical Association 83, 679-686.
    """
    replicates = replicates[:, np.isfinite(replicates).all(axis=0)]
    drawn = replicates.shape[1]
    if drawn == 0:
        return Band(np.full(len(replicates), np.nan), np.full(len(replicates), np.nan)), 0.0
    ordered = np.sort(replicates, axis=1)
    depth = np.sort(depths(replicates, ordered))
    outside = int(np.floor((1 - level) * (1 + drawn) + 1e-9)) - 1  # curves that may be as far out as k
    k = int(depth[outside]) - 1 if 0 <= outside < drawn else 0
    deep = max(1, k)
    return _opened(ordered[:, deep - 1], ordered[:, drawn - deep], estimates, bounds), max(0, k) / (1 + drawn)


def expanded(band: Band, estimates: np.ndarray, units: int, tail: float) -> Band:
    """Return a band (G,) of means that is as wide as Student's intervals, about the estimates.

    Of U units Dirichlet weights give a mean the variance ``s^2 / (U + 1)``, s^2 with the divisor U, where Student has
    ``s^2 / (U - 1)``, and normal quantiles at the tail where that has those of U - 1 degrees of freedom.

    References
    ----------
    Hesterberg (2015), What teachers should know about the bootstrap, The American Statistician 69, 371-386, section 6.
    """
    factor = np.sqrt((units + 1) / (units - 1)) * special.stdtrit(units - 1, 1 - tail) / special.ndtri(1 - tail)
    return Band(*(estimates + factor * (end - estimates) for end in band))


def depths(curves: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return how far inside the ordered replicates (G, B) each of ``curves`` (G, C) lies.

    The number of replicates that are as far out, where these are fewest: at the worst point and side.
    """
    drawn = ordered.shape[1]
    found = np.full(curves.shape[1], drawn)
    for values, row in zip(curves, ordered, strict=True):
        order = np.argsort(values)  # a search of ascending values stays in the cache
        up, down = (np.searchsorted(row, values[order], side) for side in ("right", "left"))
        found[order] = np.minimum(found[order], np.minimum(up, drawn - down))
    return found


def excluded(replicates: np.ndarray, curve: np.ndarray) -> float:
    """Return the least error probability at which the simultaneous band of replicates (G, B) excludes ``curve`` (G,).

    The p-value of the hypothesis that it is the true one.
    """
    ordered = np.sort(replicates, axis=1)
    at = depths(curve[:, None], ordered)[0] + 1
    return min(1.0, float((1 + np.count_nonzero(depths(replicates, ordered) <= at)) / (1 + replicates.shape[1])))


def _opened(low: np.ndarray, high: np.ndarray, estimates: np.ndarray, bounds: Any) -> Band:
    least, most = bounds
    low = np.where(estimates <= least, least, np.minimum(low, estimates))
    high = np.where(estimates >= most, most, np.maximum(high, estimates))
    return Band(low, high)
