"""Bands of curves from replicates of all their points: each for itself, or all together."""

from __future__ import annotations

import bisect
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

LEAST = 1e-6
"""Variances below such a share of what they should be are taken for it: one unit holds .999 of the weight."""
NEAR_HALF = 0.49
"""Tails above this count as much: the ratio of Student's quantiles to normal ones hardly changes there."""


class Band(NamedTuple):
    """Lower and upper ends (G,) of a curve."""

    low: Any
    high: Any


class Expansion(NamedTuple):
    """By how much bands of means are wider than those of Dirichlet weights: as wide as Student's intervals.

    Of U units of variance s^2 (divisor U) Dirichlet weights give a mean the variance ``s^2 / (U + 1)`` where Student
    has ``s^2 / (U - 1)``, and normal quantiles where that has those of U - 1 degrees of freedom.

    Of units that hold shares p of the weight it is ``U / (U + 1) sum p_i^2 (x_i - m)^2`` with the weighted mean m, a
    quadratic form: of values with the variance 1 it expects ``U / (U + 1) tr A`` for ``S_2``, and has
    ``(tr A)^2 / tr A^2`` degrees of freedom (Satterthwaite). With ``S_k = sum p^k``: ``tr A = S_2 - 2 S_3 + S_2^2`` and
    ``tr A^2 = (1 + 4 S_2) S_4 - 4 S_5 + 2 S_3^2 - 4 S_2^2 S_3 + S_2^4``.

    Attributes
    ----------
    scale : float
        Root of what variances grow by.
    degrees : float
        Degrees of freedom of a point.
    effective : float
        Those of ``1 / S_2`` units of equal weight, if more: far out, at the tails of simultaneous bands, Student's
        quantiles of fewer would be many times as large.

    References
    ----------
    Hesterberg (2015), What teachers should know about the bootstrap, The American Statistician 69, 371-386, section 6.
    Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics 2, 110-114.
    """

    scale: float
    degrees: float
    effective: float

    @classmethod
    def of(cls, weights: np.ndarray) -> Expansion:
        """Return that of means of units of ``weights`` (U,)."""
        units, shares = len(weights), weights / weights.sum()
        s2, s3, s4, s5 = (float(np.sum(shares**k)) for k in (2, 3, 4, 5))
        trace, degrees = s2 - 2 * s3 + s2**2, 1.0
        if trace > LEAST * s2:
            degrees = trace**2 / ((1 + 4 * s2) * s4 - 4 * s5 + 2 * s3**2 - 4 * s2**2 * s3 + s2**4)
        trace = max(trace, LEAST * s2)
        return cls(math.sqrt((units + 1) / units * s2 / trace), degrees, max(degrees, 1 / s2 - 1))

    def at(self, tail: float) -> float:
        """Return the factor of a point, with error probability ``tail`` on either side."""
        return self._student(self.degrees, tail)

    def together(self, tail: float, error: float) -> float:
        """Return the factor of points that hold together but for ``error``, each with ``tail`` on either side.

        It is at least that of a point at the same error, so that the one band holds the other.
        """
        return max(self.at(error / 2), self._student(self.effective, tail))

    def _student(self, degrees: float, tail: float) -> float:
        tail = min(tail, NEAR_HALF)
        return self.scale * float(special.stdtrit(degrees, 1 - tail) / special.ndtri(1 - tail))


def pointwise(
    replicates: np.ndarray, estimates: np.ndarray, level: float, bounds: Any, expansion: Expansion | None = None
) -> Band:
    """Return the band (G,) that holds each point of a curve at ``level``: quantiles of replicates (G, B).

    The estimate always lies within; where it is at an end of ``bounds``, so is the band. A replicate that is NaN may be
    anything: as low as can be for the lower end, as high for the upper.
    """
    unknown = np.isnan(replicates)
    low, high = (
        np.quantile(np.where(unknown, worst, replicates), at, axis=1, method="closest_observation")
        for worst, at in ((-np.inf, (1 - level) / 2), (np.inf, (1 + level) / 2))
    )
    return _opened(low, high, estimates, bounds, 1.0 if expansion is None else expansion.at((1 - level) / 2))


class Simultaneous:
    """Bands that hold all points of a curve together, from replicates (G, B), at any error probability.

    Between the k-th smallest and the k-th largest replicate of every point: as far out, in probability, at every point,
    whatever the scale. k is the largest for which one more replicate curve would leave the band with a chance of at
    most the error, ``(1 + #{depth <= k}) / (1 + B)``, and the tail of a point is k of B + 1. Where there is none, there
    are too few replicates, and the band is the envelope of all.

    References
    ----------
    Beran (1988), Balanced simultaneous confidence sets, Journal of the American Statistical Association 83, 679-686.
    """

    def __init__(
        self, replicates: np.ndarray, estimates: np.ndarray, bounds: Any, expansion: Expansion | None = None
    ) -> None:
        replicates = replicates[:, np.isfinite(replicates).all(axis=0)]
        self.estimates, self.bounds, self.expansion = estimates, bounds, expansion
        self.ordered, depth = depths(replicates)
        self.depth = np.sort(depth)

    def band(self, level: float) -> tuple[Band, bool]:
        """Return the band (G,) at ``level``, and whether there are replicates enough for it."""
        drawn = len(self.depth)
        if drawn == 0:
            return Band(*np.full((2, len(self.estimates)), np.nan)), False
        outside = int(np.floor((1 - level) * (1 + drawn) + 1e-9)) - 1  # curves that may be as far out as k
        k = int(self.depth[outside]) - 1 if 0 <= outside < drawn else 0
        within = max(1, k)
        return self._between(within, min(1 - level, self._error(within))), k > 0

    def excluded(self, curve: np.ndarray) -> float:
        """Return the least error probability at which the band leaves ``curve`` (G,).

        The p-value of the hypothesis that it is the true one.
        """

        def left(k: int) -> bool:
            low, high = self._between(k, self._error(k))
            return bool(np.any((low > curve) | (high < curve)))

        return self._error(1 + bisect.bisect_left(range(1, 1 + len(self.depth) // 2), True, key=left))

    def _error(self, k: int) -> float:
        return min(1.0, float((1 + np.searchsorted(self.depth, k, side="right")) / (1 + len(self.depth))))

    def _between(self, k: int, error: float) -> Band:
        """Return the band between the k-th replicates from either side, expanded as one of this error is."""
        factor, drawn = 1.0, len(self.depth)
        if self.expansion is not None:
            factor = self.expansion.together(k / (1 + drawn), error)
        return _opened(self.ordered[:, k - 1], self.ordered[:, drawn - k], self.estimates, self.bounds, factor)


def depths(replicates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ordered replicates (G, B), and how far inside them each replicate curve (B,) lies.

    The number of replicates that are as far out, where these are fewest: at the worst point and side.
    """
    drawn = replicates.shape[1]
    ordered, found = np.empty_like(replicates), np.full(drawn, drawn)
    for values, row in zip(replicates, ordered, strict=True):
        order = np.argsort(values)
        row[:] = values[order]
        first = np.flatnonzero(np.concatenate([np.ones(min(1, drawn), bool), row[1:] != row[:-1]]))  # of equal ones
        alike = np.diff(first, append=drawn)
        as_far = np.minimum(first + alike, drawn - first)  # from below, and from above
        found[order] = np.minimum(found[order], np.repeat(as_far, alike))
    return ordered, found


def _opened(low: np.ndarray, high: np.ndarray, estimates: np.ndarray, bounds: Any, factor: float) -> Band:
    """Return the band from low to high, as far about the estimates as ``factor`` says."""
    least, most = bounds
    low = np.where(estimates <= least, least, np.minimum(low, estimates))
    high = np.where(estimates >= most, most, np.maximum(high, estimates))
    if factor != 1:
        known = np.isfinite(estimates)
        middle = np.where(known, estimates, 0.0)
        low, high = (
            np.where(known, np.clip(middle + factor * (end - middle), least, most), end) for end in (low, high)
        )
    return Band(low, high)
