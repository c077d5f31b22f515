"""Power of the comparison of two means, by simulation of normal differences or of those of a pilot."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxci.intervals.base import Evidence, tails
from jaxci.intervals.delta import student_steps
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.sample_size import t_power
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.summary import Mean

BLOCK = 100
"""Studies simulated at once."""


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

    def _shown(self, first: int, n: int) -> np.ndarray:
        """Return whether studies (BLOCK,) show a difference, by the interval that compare takes and by Student's."""
        values = (self.difference + self.deviation * self._drawn(first, n)).T
        estimate, sides = values.mean(axis=-1), tails(self.level)
        influence, error = values - estimate[:, None], values.std(axis=-1, ddof=1) / np.sqrt(n)
        evidence = Evidence(paired_difference(Mean()), estimate, n, influence=influence, standard_error=error)
        low, high = KurtosisT(skewed=True).bounds(evidence, sides, ())
        by_student = np.abs(estimate) > student_steps(n - 1, sides)[0] * error
        return (error > 0) & np.stack([(low > 0) | (high < 0), by_student])

    def _drawn(self, first: int, n: int) -> np.ndarray:
        """Return differences (n, BLOCK) of mean 0 and deviation 1."""
        rng = np.random.default_rng(first)
        if self.rows is None:
            return rng.standard_normal((n, BLOCK))
        drawn = self.rows[(rng.random((n, BLOCK)) * len(self.rows)).astype(int)]
        return (drawn - self.rows.mean()) / self.rows.std()
