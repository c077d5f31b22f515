"""What ``method="auto"`` takes for a share of independent rows: cards read the counts, so that samples differ in it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from numpy.typing import ArrayLike

from jaxci.coverage.widths import MOST_JUDGED, auto_choice, chosen_for, rounded, rows_of_table
from jaxci.distributions import Cells
from jaxci.inference.choice import SHARES
from jaxci.inference.standings import Choice
from jaxci.intervals.base import Bounds, Method, Tails
from jaxci.intervals.proportion import ProportionMethod
from jaxci.intervals.sample_size import ROUNDING, ShareLaw
from jaxci.statistics.base import has_fixed_trials

SAMPLES = 200
"""Numbers of successes, of equal probability, of which it is asked what is taken."""

NEARBY = 1.02
"""Ratio of the numbers of rows of which that is asked where not all rows are trials: there are many counts of each."""


@dataclasses.dataclass(frozen=True, eq=False)
class AutoShares:
    """The methods taken for a share, by the number of rows and how many of them are successes.

    A number of successes stands for the table that is expected with it. Where not all rows are trials, it has the
    expected number of these, and as many successes or failures as were counted, whichever are rarer.

    Attributes
    ----------
    law : Cells
        Of the rows.
    share : ShareLaw
        The share in it.
    level : float
    """

    law: Cells
    share: ShareLaw
    level: float
    _known: dict[tuple[int, int], Choice] = dataclasses.field(default_factory=dict, init=False)

    def method(self, n: int, limit: float | None = None) -> ProportionMethod:
        """Return what is taken for samples of n rows, or one that is as often no wider than a limit."""
        if n > MOST_JUDGED:
            return cast(ProportionMethod, self.expected(n).method)
        if limit is None or has_fixed_trials(self.share.statistic):
            return cast(ProportionMethod, AutoCounts(self, n, limit))
        like = round(NEARBY ** round(math.log(n) / math.log(NEARBY)))
        return cast(ProportionMethod, AutoCounts(self, like, None))

    def expected(self, n: int) -> Choice:
        """Return what is taken for the expected table of n rows."""
        return auto_choice(self.share.statistic, self.law, n, self.level, jax.random.key(0))

    def taken(self, n: int) -> dict[Method, float]:
        """Return the methods taken for samples of n rows, each with its share of them, the most frequent first."""
        if n > MOST_JUDGED:
            return {self.expected(n).method: 1.0}
        trials, share = self._trials(n), self.share
        law = scipy.stats.binom(trials, share.success)
        if share.seen is not None:
            law = scipy.stats.betabinom(trials, *share.successes.args)
        counts = np.maximum(law.ppf((np.arange(SAMPLES) + 0.5) / SAMPLES), 0)
        found = Counter(self.choice(n, int(count)).method for count in counts)
        return {method: times / SAMPLES for method, times in found.most_common()}

    def choice(self, n: int, successes: int) -> Choice:
        """Return what is taken for n rows, so many of which are successes."""
        if (n, successes) not in self._known:
            trials = self._trials(n)
            counts = sum(map(self._cells, (successes, trials - successes, n - trials), self._kinds))
            sample = rows_of_table(np.asarray(counts), self.law.n_classes)
            self._known[n, successes] = chosen_for(self.share.statistic, sample, self.level)
        return self._known[n, successes]

    def successes(self, n: int, counts: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """Return the successes that stand for counts of them among numbers of trials (...)."""
        if has_fixed_trials(self.share.statistic):
            return counts.astype(int)
        most = self._trials(n)
        rarer = np.minimum(counts if self.share.success <= 0.5 else trials - counts, most).astype(int)
        return rarer if self.share.success <= 0.5 else most - rarer

    def _trials(self, n: int) -> int:
        return math.floor(n * self.share.trial * (1 + ROUNDING))

    @functools.cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which cells (K, K) hold successes, failures, and rows that do not count."""
        with jax.enable_x64(True):
            table = jnp.asarray(self.law.table, jnp.float64)
            slopes = jax.jacobian(lambda x: jnp.stack(self.share.statistic.successes(x)))(table)  # type: ignore[arg-type]
        success, trial = np.asarray(slopes) > 0
        return success, trial & ~success, ~trial

    def _cells(self, rows: int, kind: np.ndarray) -> np.ndarray:
        """Return how many rows of a kind are expected in each cell (K, K); equally many where none is."""
        weights = np.where(kind, np.asarray(self.law.table, float), 0.0)
        weights = weights if weights.sum() > 0 else kind.astype(float)
        return rounded(rows * weights / max(weights.sum(), 1e-300), rows)


@dataclasses.dataclass(frozen=True, eq=False)
class AutoCounts:
    """The interval of a share whose method depends on the count, as a method that reads counts.

    Attributes
    ----------
    shares : AutoShares
    n : int
        Rows of which it is asked what is taken.
    limit : float or None
        A width: where all methods are wider, or none is, the first is read.
    """

    shares: AutoShares
    n: int
    limit: float | None

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) from counts (m,)."""
        counts, trials = np.asarray(count, float), np.asarray(nobs, float)
        asked = np.ones(len(counts), bool) if self.limit is None else self._differ(counts, trials, tails, self.limit)
        standing, which = self.shares.successes(self.n, counts, trials), np.zeros(len(counts), int)
        for one in np.unique(standing[asked]).tolist():
            which[asked & (standing == one)] = SHARES.index(self.shares.choice(self.n, one).method)
        ends = np.empty((2, len(counts)))
        for i in np.unique(which).tolist():
            method = cast(ProportionMethod, SHARES[i])
            ends[:, which == i] = method.from_counts(counts[which == i], trials[which == i], tails)
        return Bounds(*ends)

    def _differ(self, counts: np.ndarray, trials: np.ndarray, tails: Tails, limit: float) -> np.ndarray:
        """Whether some methods, and not all, are no wider than the limit at counts (m,)."""
        methods = cast(tuple[ProportionMethod, ...], SHARES)
        ends = np.array([method.from_counts(counts, trials, tails) for method in methods])
        low, high = (self.shares.share.statistic.of_share(np.clip(end, 0, 1))[0] for end in ends.swapaxes(0, 1))
        narrow = high - low <= limit * (1 + ROUNDING)
        return narrow.any(axis=0) & ~narrow.all(axis=0)
