"""Power of the comparison of two areas under ROC curves, by simulation of normal scores or of those of a pilot."""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol

import numpy as np
import scipy.stats
from scipy import special

from jaxci.intervals.auc_difference import DeLongDifference, evidence_of_gaps
from jaxci.intervals.base import tails

BLOCK = 250
"""Studies simulated at once."""


class Scores(Protocol):
    """Where scores of two models come from."""

    def drawn(self, first: int, code: int, rows: int) -> np.ndarray:
        """Return the scores (2, studies, rows) of rows of a class, the first of the same draws for any number."""


@dataclasses.dataclass(frozen=True)
class BinormalScores:
    """Scores that are normal within each class, of variance 1, and correlated alike in both.

    Attributes
    ----------
    area_a, area_b : float
    correlation : float
        Of the two scores within a class.
    """

    area_a: float
    area_b: float
    correlation: float

    def drawn(self, first: int, code: int, rows: int) -> np.ndarray:
        """Return scores, those of positives further up."""
        one, other = np.random.default_rng([first, code]).standard_normal((rows, 2, BLOCK)).transpose(1, 2, 0)
        both = np.stack([one, self.correlation * one + math.sqrt(1 - self.correlation**2) * other])
        return both + code * math.sqrt(2) * special.ndtri([self.area_a, self.area_b])[:, None, None]


@dataclasses.dataclass(frozen=True, eq=False)
class PilotScores:
    """Scores (2, n) of two models in pilot data with labels (n,), drawn with replacement within each class."""

    y_true: np.ndarray
    scores: np.ndarray

    def drawn(self, first: int, code: int, rows: int) -> np.ndarray:
        """Return scores of both models in rows of the pilot."""
        of_class = self.scores[:, self.y_true == code]
        places = np.random.default_rng([first, code]).random((rows, BLOCK)) * of_class.shape[1]
        return of_class[:, places.T.astype(int)]


@dataclasses.dataclass(frozen=True, eq=False)
class AreaPower:
    """The share of studies in which Student's interval shows which of two areas is larger, or that they differ.

    Studies of all sizes take the first of the same draws, so that what is found rises with the size.

    Attributes
    ----------
    scores : Scores
    prevalence : float
    level : float
    studies : int
        How many are simulated.
    """

    scores: Scores
    prevalence: float
    level: float
    studies: int

    def __call__(self, n: int) -> float:
        """Return the power of n rows, as many of them positive as are expected, and at least two of each class."""
        if n < 4:
            return 0.0
        positives, sides = min(max(round(n * self.prevalence), 2), n - 2), tails(self.level)
        shown = 0
        for first in range(0, self.studies, BLOCK):
            below, above = np.zeros(()), np.zeros(())
            of_classes = [self.scores.drawn(first, code, rows) for code, rows in ((1, positives), (0, n - positives))]
            for sign, of_pos, of_neg in zip((1, -1), *of_classes, strict=True):
                counted = _counted(of_pos, of_neg)
                below, above = below + sign * counted[0], above + sign * counted[1]
            low, high = DeLongDifference(use_t=True).bounds_of(evidence_of_gaps(below, above), sides)
            shown += int(np.count_nonzero((low > 0) | (high < 0)))
        return shown / (len(range(0, self.studies, BLOCK)) * BLOCK)


def _counted(positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many negatives are below each positive (studies, m), positives above each negative; ties half."""
    m = positives.shape[1]
    together = scipy.stats.rankdata(np.concatenate([positives, negatives], axis=1), axis=1)
    of_pos, of_neg = scipy.stats.rankdata(positives, axis=1), scipy.stats.rankdata(negatives, axis=1)
    return together[:, :m] - of_pos, m - (together[:, m:] - of_neg)
