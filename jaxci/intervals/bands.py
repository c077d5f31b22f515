"""Bands of curves from replicates of all their points: each for itself, or all together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


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


def simultaneous(replicates: np.ndarray, estimates: np.ndarray, level: float, bounds: Any) -> Band:
    """Return the band (G,) that holds all points of a curve together at ``level``.

    Between the k-th smallest and the k-th largest replicate of every point, k the largest for which a share ``level``
    of replicate curves lies wholly inside: as far out, in probability, at every point, whatever the scale.

    References
    ----------
    Beran (1988), Balanced simultaneous confidence sets, Journal of the American Statistical Association 83, 679-686.
    """
    replicates = replicates[:, np.isfinite(replicates).all(axis=0)]
    drawn = replicates.shape[1]
    if drawn == 0:
        return Band(np.full(len(replicates), np.nan), np.full(len(replicates), np.nan))
    ordered = np.sort(replicates, axis=1)
    depth = np.sort(depths(replicates, ordered))
    k = max(1, int(depth[int(np.floor((1 - level) * drawn))]))
    return _opened(ordered[:, k - 1], ordered[:, drawn - k], estimates, bounds)


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
    at = depths(curve[:, None], ordered)[0]
    return float((1 + np.count_nonzero(depths(replicates, ordered) <= at)) / (1 + replicates.shape[1]))


def _opened(low: np.ndarray, high: np.ndarray, estimates: np.ndarray, bounds: Any) -> Band:
    least, most = bounds
    low = np.where(estimates <= least, least, np.minimum(low, estimates))
    high = np.where(estimates >= most, most, np.maximum(high, estimates))
    return Band(low, high)
