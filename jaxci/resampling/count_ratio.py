"""The bootstrap distribution of ratios of numbers of rows: a finite sum.

Of the rows that count, as hits or as misses, m are drawn, and the hits among them are binomial.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jaxci.records import record, static
from jaxci.resampling.laws import ROUNDING, MomentLaw, picked
from jaxci.resampling.ratio_moments import LEAST, ratio_moments, with_undefined
from jaxci.resampling.share_laws import binomial_through
from jaxci.special import log_binomial, loop, namespace

TIE = 1e-8
"""A share times its trials this close to a whole number is one: shares of up to 10^7 rows differ by more."""
REACH = 8.0
"""Half width, in standard deviations, of the numbers of counted rows that are summed over; and 16 rows more."""


@record
class CountRatioLaw(MomentLaw):
    r"""Laws of ``odds H / (odds H + M)``, of which H hits and M misses among n rows are resampled: no error at all.

    With ``S = H / (H + M)``, ``q`` the share of rows that count and ``p`` that of hits among them,

    .. math:: P(S \le s \mid D > 0) = \frac{\sum_{m \ge 1} \binom{n}{m} q^m (1 - q)^{n - m} P(B_{m, p} \le s m)}
              {1 - (1 - q)^n}

    and the ratio increases with S: odds of 1 give S itself (precision, recall, the Jaccard index), 2 give F1. The
    atoms are all fractions of whole numbers up to n.

    Attributes
    ----------
    hits, misses : (...) arrays
        Rows that count, whole numbers.
    odds : (...) array or float
        Weight of a hit.
    undefined : (...) array or float
        What 0/0 counts as, 0 or 1; NaN leaves such resamples out.
    n : int
        Rows.
    window : int
        How many numbers of counted rows are summed over; together they hold all but 1e-14 of the mass.

    Notes
    -----
    Cost O(window log n) a quantile; window is at most ``16 sqrt(n p (1 - p)) + 34``.
    """

    hits: Any
    misses: Any
    odds: Any
    undefined: Any
    n: int = static()
    window: int = static()

    @classmethod
    def of(cls, hits: Any, misses: Any, n: int, *, odds: Any = 1.0, undefined: Any = 0.0) -> CountRatioLaw:
        """Return the laws for ``hits`` and ``misses`` (...) among n rows."""
        counted = hits + misses
        share = 0.5 if namespace(counted) is not np else counted / n  # traced: as many as there may be
        reach = math.ceil(REACH * float(np.max(np.sqrt(n * share * (1.0 - share))))) + 16
        all_count = namespace(counted) is np and bool(np.all(counted == n))
        return cls(hits, misses, odds, undefined, n, 1 if all_count else min(n, 2 * reach + 1))

    @functools.cached_property
    def _share(self) -> Any:
        """The share of hits (...) among the rows that count."""
        counted = self.hits + self.misses
        return self.hits / namespace(counted).maximum(counted, 1)

    @functools.cached_property
    def _sizes(self) -> tuple[Any, Any, Any]:
        """Numbers m (..., window) of rows that count, their probabilities, and that of none (...)."""
        xp = namespace(self.hits, self.misses)
        counted = xp.asarray(self.hits + self.misses, float)
        first = xp.clip(xp.floor(counted - (self.window - 1) / 2), 1.0, self.n - self.window + 1.0)
        m = first[..., None] + np.arange(self.window)
        q = counted / self.n
        masses, empty = xp.exp(log_binomial(m, self.n, q[..., None])), (1.0 - q) ** self.n
        left_out = xp.isnan(xp.asarray(self.undefined))
        total = xp.sum(masses, axis=-1) + xp.where(left_out, 0.0, empty)
        total = xp.where(total > 0, total, xp.nan)
        return m, masses / total[..., None], xp.where(left_out, 0.0, empty) / total

    def _reached(self, s: Any, *, through: bool) -> Any:
        """Return ``P(S <= s)``, or ``P(S < s)``, for s (...).

        From m to m + 1 rows the distribution function of the hits changes by one binomial probability, and these by a
        factor: two cumulative sums.
        """
        xp = namespace(self.hits, s)
        m, masses, empty = self._sizes
        p, before = self._share[..., None], m[..., :-1]
        s = xp.where((s > 0) & (s < 0.5 / self.n), 0.5 / self.n, s)  # below the smallest share but 0
        at = xp.asarray(s)[..., None] * m
        k = xp.clip(xp.floor(at + TIE) if through else xp.ceil(at - TIE) - 1.0, -1.0, m)
        rises = k[..., 1:] > k[..., :-1]
        up = (before + 1.0) / xp.maximum(k[..., 1:], 1.0) * p
        steps = xp.where(rises, up, (before + 1.0) / (before + 1.0 - k[..., :-1]) * (1.0 - p))
        start = log_binomial(k[..., :1], m[..., :1], p)
        steps = xp.cumsum(xp.log(xp.maximum(steps, LEAST)), axis=-1)
        path = xp.concatenate([start, start + steps], axis=-1)
        point = xp.exp(path)
        change = xp.where(rises, point[..., 1:], 0.0) - p * point[..., :-1]
        first = binomial_through(k[..., :1], m[..., :1], p)
        found = xp.clip(xp.concatenate([first, first + xp.cumsum(change, axis=-1)], axis=-1), 0.0, 1.0)
        at_undefined = (self.undefined <= s) if through else (self.undefined < s)
        return xp.sum(masses * found, axis=-1) + empty * at_undefined

    def quantile(self, p: Any) -> Any:
        """Return the smallest value whose distribution function reaches ``p``."""
        xp = namespace(self.hits, p)
        p = xp.asarray(p) + 0.0 * self._share
        target = xp.clip(xp.where(xp.isnan(p), 0.5, p) - ROUNDING, ROUNDING, 1.0)
        m, _, _ = self._sizes
        apart = 0.5 / float(self.n) ** 2  # two shares differ by more

        def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            low, high, width = state
            middle = (low + high) / 2
            reached = self._reached(middle, through=True) >= target
            return xp.where(reached, low, middle), xp.where(reached, middle, high), width / 2

        start = xp.zeros_like(p), xp.ones_like(p), xp.ones(())
        low, _, _ = loop(xp, lambda state: state[2] > apart, step, start)
        hits = xp.minimum(xp.floor(low[..., None] * m + TIE) + 1.0, m)
        first = xp.argmin(hits / m, axis=-1)
        none = self._reached(xp.zeros_like(p), through=True) >= target
        hits, m = xp.where(none, 0.0, picked(hits, first)), picked(m + 0.0 * hits, first)
        found = self.odds * hits / (self.odds * hits + m - hits)
        return xp.where(xp.isnan(p), xp.nan, found)[()]

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp = namespace(self.hits, value)
        value = xp.asarray(value)
        inside = xp.clip(value, 0.0, 1.0)
        share = inside / (self.odds - (self.odds - 1.0) * inside)
        below, through = (self._reached(share, through=through) for through in (False, True))
        return xp.where(value > 1, 1.0, below), xp.where(value < 0, 0.0, through)

    @functools.cached_property
    def _moments(self) -> tuple[Any, Any]:
        xp = namespace(self.hits, self.misses)
        hits, misses = xp.asarray(1.0 * self.hits), xp.asarray(1.0 * self.misses)
        weighed = self.odds * hits
        centre = weighed / xp.where(weighed + misses > 0, weighed + misses, 1.0)
        shares = xp.stack([hits, misses, self.n - hits - misses], axis=-1) / self.n
        apart = xp.stack([self.odds * (1.0 - centre), -centre, 0.0 * centre], axis=-1)
        parts = xp.stack([self.odds + 0.0 * hits, 1.0 + 0.0 * hits, 0.0 * hits], axis=-1)
        first, second = ratio_moments(apart, parts, shares, self.n)
        empty = (1.0 - (hits + misses) / self.n) ** self.n
        return with_undefined(centre, first, second, empty, self.undefined)
