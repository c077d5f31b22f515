r"""The bootstrap distribution of the mean of two shares, such as the recalls of two classes, without resampling.

Every row belongs to one of two classes, and is a hit or a miss. Of the n rows of a resample ``m ~ Binomial(n, q)`` are
of the first class; given m, the hits of the classes are independent binomials, so that

.. math:: P(\bar S \le s) = \sum_m P(m) \sum_b P(B_{m, p_1} = b) P(B_{n - m, p_2} \le (n - m) (2 s - b / m)),

which is summed up to a mass of 4e-9 of the m, and of the b of each.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jaxci.records import record, static
from jaxci.resampling.laws import ROUNDING, MomentLaw
from jaxci.resampling.share_laws import binomial_through
from jaxci.special import log_binomial, loop, namespace

REACH = 6.0
"""Half width, in standard deviations, of the numbers of rows and hits that are summed over; and 16 more."""
TIE = 1e-9
"""A number of hits this close to a whole one is it."""
NARROW = 1e-11
"""Width of the interval in which the search for a quantile ends."""
MOST_TERMS = 300_000
"""Terms of a sum beyond which there is no such law."""
OUTSIDE = 1e-8
"""Bound on the mass that is left out."""


def _width(n: float, share: float) -> int:
    """Return over how many values of a binomial number of trials n a sum runs."""
    return min(int(n) + 1, 2 * math.ceil(REACH * math.sqrt(n * share * (1 - share))) + 33)


@record
class TwoSharesLaw(MomentLaw):
    """Laws of the mean of the shares of hits in two classes of rows.

    Attributes
    ----------
    hits, sizes : (..., 2) arrays
        Hits, and rows, of each class; the rows sum to n.
    absent : (...) array or float
        What the share of a class counts as that a resample holds no row of; NaN: the other share alone is the value.
    n : int
        Rows.
    windows : (int, int, int)
        Over how many numbers of rows of the first class, and of hits of each, sums run.

    Notes
    -----
    No error but rounding and the mass left out, below 1e-8. Cost of a distribution function: the product of the first
    two windows, about ``150 n (q (1 - q) p_1 (1 - p_1) q)^(1/2)``; of a quantile some 30 of them.
    """

    hits: Any
    sizes: Any
    absent: Any
    n: int = static()
    windows: tuple[int, int, int] = static()

    @classmethod
    def of(cls, hits: Any, sizes: Any, n: int, *, absent: Any) -> TwoSharesLaw:
        """Return the laws for ``hits`` and ``sizes`` (..., 2) among n rows."""
        return cls(hits, sizes, absent, n, windows(hits, sizes, n))

    @property
    def probability_error(self) -> float:
        """Bound on the error in probability."""
        return OUTSIDE

    @functools.cached_property
    def _shares(self) -> Any:
        """Shares (..., 2)."""
        return self.hits / namespace(self.sizes).maximum(self.sizes, 1)

    @functools.cached_property
    def _rows(self) -> tuple[Any, Any, Any, Any]:
        """Numbers m (..., M) of rows of the first class, probabilities, and those (...) of none of either class."""
        xp = namespace(self.hits, self.sizes)
        share, window = self.sizes[..., 0] / self.n, self.windows[0]
        first = xp.clip(xp.floor(self.sizes[..., 0] - (window - 1) / 2), 0.0, self.n + 1.0 - window)
        m = first[..., None] + np.arange(window)
        mass = xp.where((m > 0) & (m < self.n), xp.exp(log_binomial(m, self.n, share[..., None])), 0.0)
        none = [xp.exp(log_binomial(end, self.n, share)) for end in (0.0, float(self.n))]
        total = xp.sum(mass, axis=-1) + none[0] + none[1]
        return xp.clip(m, 1.0, max(self.n - 1.0, 1.0)), mass / total[..., None], none[0] / total, none[1] / total

    def _hits_of(self, index: int) -> tuple[Any, Any]:
        """Numbers (..., M, W) of hits of a class for each m, and their probabilities."""
        xp, m = namespace(self.hits, self.sizes), self._rows[0]
        rows, window = (m, self.n - m)[index][..., None], self.windows[1 + index]
        share = self._shares[..., index, None, None]
        first = xp.clip(xp.floor(rows * share - (window - 1) / 2), 0.0, xp.maximum(rows + 1.0 - window, 0.0))
        hits = first + np.arange(window)
        mass = xp.exp(log_binomial(hits, xp.maximum(rows, 1.0), share))
        return hits, mass / xp.sum(mass, axis=-1, keepdims=True)

    @functools.cached_property
    def _first(self) -> tuple[Any, Any]:
        """Shares (..., M, W) of the first class, and their probabilities with those of m."""
        hits, mass = self._hits_of(0)
        m, of_m, _, _ = self._rows
        return hits / m[..., None], mass * of_m[..., None]

    @functools.cached_property
    def _second(self) -> tuple[Any, Any]:
        """Fewest hits (..., M, 1) of the second class, and the distribution function from them on."""
        xp, (hits, mass) = namespace(self.hits, self.sizes), self._hits_of(1)
        return hits[..., :1], xp.clip(xp.cumsum(mass, axis=-1), 0.0, 1.0)

    def _most(self, s: Any, *, through: bool) -> Any:
        """Return the most hits (..., M, W) of the second class with which the mean is at most s, or below it."""
        xp = namespace(self.hits, s)
        at = (self.n - self._rows[0])[..., None] * (2 * xp.asarray(s)[..., None, None] - self._first[0])
        return xp.floor(at + TIE) if through else xp.ceil(at - TIE) - 1.0

    def _reached(self, s: Any, *, through: bool) -> Any:
        """Return ``P(S <= s)``, or ``P(S < s)``, for s (...)."""
        xp = namespace(self.hits, s)
        least, cumulative = self._second
        place = self._most(s, through=through) - least
        last = cumulative.shape[-1] - 1
        cumulative = xp.broadcast_to(cumulative, (*place.shape[:-1], last + 1))
        share = xp.take_along_axis(cumulative, xp.clip(place, 0, last).astype(np.int32), axis=-1)
        found = xp.sum(self._first[1] * xp.where(place < 0, 0.0, share), axis=(-2, -1))
        for index, mass in ((1, self._rows[2]), (0, self._rows[3])):
            found = found + mass * self._alone(index, s, through=through)
        return found

    def _alone(self, index: int, s: Any, *, through: bool) -> Any:
        """Return the probability (...) of at most s, or below it, where all rows are of one class."""
        xp, absent = namespace(self.hits, s), namespace(self.hits, s).asarray(self.absent)
        at = self.n * xp.where(xp.isnan(absent), s, 2 * s - xp.where(xp.isnan(absent), 0.0, absent))
        most = xp.floor(at + TIE) if through else xp.ceil(at - TIE) - 1.0
        return binomial_through(xp.clip(most, -1.0, self.n), 1.0 * self.n, self._shares[..., index])

    def quantile(self, p: Any) -> Any:
        """Return the smallest value whose distribution function reaches ``p``."""
        xp = namespace(self.hits, p)
        p = xp.asarray(p) + 0.0 * self._shares[..., 0]
        target = xp.clip(xp.where(xp.isnan(p), 0.5, p) - ROUNDING, ROUNDING, 1.0 - ROUNDING)
        at_nothing = self._reached(xp.zeros_like(p), through=True) >= target

        def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
            low, high, below, above, count = state
            secant = low - below * (high - low) / xp.where(above > below, above - below, 1.0)
            inside = (count % 2 == 0) & (secant > low) & (secant < high)
            at = xp.where(inside, secant, (low + high) / 2)
            found = self._reached(at, through=True) - target
            left = found < 0
            return (
                xp.where(left, at, low),
                xp.where(left, high, at),
                xp.where(left, found, below / 2),  # Illinois: the end that stays counts half
                xp.where(left, above / 2, found),
                count + 1,
            )

        start = xp.zeros_like(p), xp.ones_like(p), -target, 1.0 - target, xp.zeros((), np.int32)
        low, high, *_ = loop(xp, lambda state: xp.any(state[1] - state[0] > NARROW), step, start)
        found = xp.where(at_nothing, 0.0, self._next(low, high))
        return xp.where(xp.isnan(p), xp.nan, found)[()]

    def _next(self, low: Any, high: Any) -> Any:
        """Return the smallest value (...) from ``low`` on, but for what ties with it, ``high`` where none is near."""
        xp, m = namespace(self.hits, low), self._rows[0][..., None]
        low = low - 2 * TIE / self.n
        following = (self._first[0] + (self._most(low, through=False) + 1.0) / (self.n - m)) / 2
        found = [xp.min(xp.where(self._first[1] > 0, following, 2.0), axis=(-2, -1))]
        absent = xp.asarray(self.absent)
        other = xp.where(xp.isnan(absent), 0.0, absent)
        alone = xp.where(xp.isnan(absent), low, 2 * low - other)
        share = xp.ceil(self.n * alone - TIE) / self.n
        share = xp.where(xp.isnan(absent), share, (share + other) / 2)
        found.append(xp.where(self._rows[2] + self._rows[3] > 0, share, 2.0))
        nearest = xp.minimum(*found)
        return xp.where(nearest <= high + TIE, nearest, high)

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp = namespace(self.hits, value)
        at = xp.clip(xp.where(xp.isnan(value), 0.0, value), -1.0, 2.0)
        return self._reached(at, through=False), self._reached(at, through=True)

    @functools.cached_property
    def _moments(self) -> tuple[Any, Any]:
        xp, (m, mass, *none) = namespace(self.hits, self.sizes), self._rows
        shares = self._shares
        variances = shares * (1 - shares)
        absent = xp.asarray(self.absent) + 0.0 * shares[..., 0]
        left_out = xp.isnan(absent)
        means, spreads = [], []
        for index in (1, 0):
            mean = xp.where(left_out, shares[..., index], (shares[..., index] + xp.where(left_out, 0.0, absent)) / 2)
            means.append(mean)
            spreads.append(variances[..., index] / self.n * xp.where(left_out, 1.0, 0.25))
        middle = xp.mean(shares, axis=-1)
        within = xp.sum(mass * (variances[..., :1] / m + variances[..., 1:] / (self.n - m)) / 4, axis=-1)
        mean = xp.sum(mass, axis=-1) * middle + none[0] * means[0] + none[1] * means[1]
        between = xp.sum(mass, axis=-1) * (middle - mean) ** 2
        for chance, one, spread in zip(none, means, spreads, strict=True):
            between = between + chance * ((one - mean) ** 2 + spread)
        return mean, xp.sqrt(within + between)


def windows(hits: Any, sizes: Any, n: int) -> tuple[int, int, int]:
    """Return over how many numbers of rows of the first of two classes, and of hits of each, sums run."""
    shape = np.shape(sizes)
    rows, shares = np.asarray(sizes, float), hits / np.maximum(sizes, 1)
    most = np.minimum(rows + REACH * np.sqrt(rows * (1 - rows / n)) + 16, n)
    first, one, other = (
        max(_width(float(m), float(p)) for m, p in zip(np.ravel(numbers), np.ravel(of_each), strict=True))
        for numbers, of_each in (
            (np.full(shape[:-1], float(n)), rows[..., 0] / n),
            (most[..., 0], shares[..., 0]),
            (most[..., 1], shares[..., 1]),
        )
    )
    return first, one, other


def number_of_terms(hits: np.ndarray, sizes: np.ndarray, n: int) -> int:
    """Return over how many terms the distribution function sums."""
    first, one, other = windows(hits, sizes, n)
    return first * max(one, other)
