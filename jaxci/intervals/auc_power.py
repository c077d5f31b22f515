"""Power of the comparison of two areas under ROC curves, by simulation under the correlated binormal model."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import special

from jaxci.intervals.auc_difference import DeLongDifference, evidence_of_gaps
from jaxci.intervals.base import tails

BLOCK = 250
"""Studies simulated at once."""


@dataclasses.dataclass(frozen=True)
class AreaPower:
    """The share of studies in which Student's interval shows which of two areas is larger, or that they differ.

    Scores are normal within each class, of variance 1, and correlated alike in both. Studies of all sizes take the
    first of the same draws, so that what is found rises with the size.

    Attributes
    ----------
    area_a, area_b : float
    correlation : float
        Of the two scores within a class.
    prevalence : float
    level : float
    studies : int
        How many are simulated.
    """

    area_a: float
    area_b: float
    correlation: float
    prevalence: float
    level: float
    studies: int

    def __call__(self, n: int) -> float:
        """Return the power of n rows, as many of them positive as are expected, and at least two of each class."""
        if n < 4:
            return 0.0
        positives = min(max(round(n * self.prevalence), 2), n - 2)
        shifts, sides = math.sqrt(2) * special.ndtri([self.area_a, self.area_b]), tails(self.level)
        shown = 0
        for first in range(0, self.studies, BLOCK):
            below, above = np.zeros(()), np.zeros(())
            of_classes = [self._scores(first, code, rows) for code, rows in ((1, positives), (0, n - positives))]
            for sign, shift, of_pos, of_neg in zip((1, -1), shifts, *of_classes, strict=True):
                counted = _counted(of_pos + shift, of_neg)
                below, above = below + sign * counted[0], above + sign * counted[1]
            low, high = DeLongDifference(use_t=True).bounds_of(evidence_of_gaps(below, above), sides)
            shown += int(np.count_nonzero((low > 0) | (high < 0)))
        return shown / (len(range(0, self.studies, BLOCK)) * BLOCK)

    def _scores(self, first: int, code: int, rows: int) -> np.ndarray:
        """Return the scores (2, studies, rows) of both models in rows of a class."""
        one, other = np.random.default_rng([first, code]).standard_normal((rows, 2, BLOCK)).transpose(1, 2, 0)
        return np.stack([one, self.correlation * one + math.sqrt(1 - self.correlation**2) * other])


def _counted(positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the negatives below each positive (studies, m), and the positives above each negative (studies, n)."""
    m = positives.shape[1]
    together = _ranks(np.concatenate([positives, negatives], axis=1))
    return together[:, :m] - _ranks(positives), m - (together[:, m:] - _ranks(negatives))


def _ranks(values: np.ndarray) -> np.ndarray:
    order = np.argsort(values, axis=1)
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.broadcast_to(np.arange(values.shape[1]), values.shape), axis=1)
    return found
