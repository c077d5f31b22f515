"""Power of the comparison of two means, by simulation of normal differences or of those of a pilot."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from jaxci.intervals.base import Evidence, tails
from jaxci.intervals.delta import student_steps
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.sample_size import t_power
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.summary import Mean

BLOCK = 100
"""Studies simulated at once."""
STEP = 7 / 6
"""How many times as many rows as the last the sizes have that are looked at beyond a plan."""


@dataclasses.dataclass(frozen=True, eq=False)
class MeanPower:
    """The share of studies in which the interval that allows for skewed differences shows that two means differ.

    Of normal differences only what that interval shows less often than Student's is simulated, whose power is known.
    Studies of all sizes take the first of the same draws.

    Attributes
    ----------
    difference, deviation : float
        Mean and standard deviation of the differences.
    rows : array (m,) or None
        What studies draw from, moved and scaled to this mean and deviation; normal differences where it is None.
    level : float
    studies : int
        How many are simulated.
    """

    difference: float
    deviation: float
    rows: np.ndarray | None
    level: float
    studies: int

    def __call__(self, n: int) -> float:
        """Return the power of n rows."""
        if n < 2:
            return 0.0
        shown = np.concatenate([self._shown(first, n) for first in range(0, self.studies, BLOCK)], axis=1)
        if self.rows is not None:
            return float(shown[0].mean())
        by_student = t_power(self.difference, self.deviation, n, n - 1, 1 - self.level)
        return max(by_student - float(np.mean(shown[1] & ~shown[0])), 0.0)

    def from_then_on(self, n: int, most: int) -> float:
        """Return the least power of n rows and of some larger numbers up to ``most``, each a sixth more than the last.

        Where a few rows lie far out, samples without them show more than larger ones that hold some.
        """
        sizes = {most} | {size for k in range(100) if (size := math.ceil(STEP**k)) < most}
        return min(self._kept(size) for size in {n, *(size for size in sizes if size > n)})

    @functools.cache  # noqa: B019 - of few sizes
    def _kept(self, n: int) -> float:
        return self(n)

    def _shown(self, first: int, n: int) -> np.ndarray:
        """Return whether studies (BLOCK,) show a difference, by the interval that compare takes and by Student's.

        Differences that are all the same are judged by the sign test, as compare does.
        """
        drawn = self._drawn(first, n)
        values = (self.difference + self.deviation * drawn).T
        estimate, sides = values.mean(axis=-1), tails(self.level)
        influence, error = values - estimate[:, None], values.std(axis=-1, ddof=1) / np.sqrt(n)
        evidence = Evidence(paired_difference(Mean()), estimate, n, influence=influence, standard_error=error)
        low, high = KurtosisT(skewed=True).bounds(evidence, sides, ())
        by_student = np.abs(estimate) > student_steps(n - 1, sides)[0] * error
        found = np.stack([(low > 0) | (high < 0), by_student])
        return np.where(np.ptp(drawn, axis=0) == 0, 2.0 ** (1 - n) < 1 - self.level, found)

    def _drawn(self, first: int, n: int) -> np.ndarray:
        """Return differences (n, BLOCK) of mean 0 and deviation 1."""
        rng = np.random.default_rng(first)
        if self.rows is None:
            return rng.standard_normal((n, BLOCK))
        rows = (self.rows - self.rows.mean()) / self.rows.std()
        return rows[(rng.random((n, BLOCK)) * len(rows)).astype(int)]
