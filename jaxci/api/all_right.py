"""What an interval of a metric of classes would be if no row were predicted wrong: no lower end should be above it."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np

from jaxci.api.interval import interval
from jaxci.intervals.capabilities import knows_mistakes
from jaxci.printing import JaxciWarning
from jaxci.statistics.base import Statistic

CLOSE = 2.2
"""An interval of rows all predicted right begins no further from the top than this times ``log(2 / (1 - level))``, over
the rows of the rarest class: more than twice as far as Clopper and Pearson's.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class AllRight:
    """Rows of known classes, and the metric by which predictions are judged.

    Attributes
    ----------
    statistic : Statistic
        Larger is better, the best is its upper bound.
    y : (n,) int array
        Codes of the classes; of two classes 1 is the positive one.
    groups, weights : (n,) arrays or None
        Groups that rows come in, and their weights.
    """

    statistic: Statistic
    y: np.ndarray
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        codes: np.ndarray,
        positive: int = 1,
        groups: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> AllRight | None:
        """Return the rows of a metric of classes that knows what mistakes would do; None of any other."""
        if statistic.loss or not knows_mistakes(statistic) or not np.isfinite(statistic.bounds[1]):
            return None
        return cls(statistic, 1 - codes if positive == 0 and codes.max() == 1 else codes, groups, weights)

    def low(self, seen: np.ndarray, level: float, found: float) -> float:
        """Return the lower end of the rows ``seen`` (n,) where it is below ``found``, which is returned else."""
        y = self.y[seen]
        rows = np.bincount(y, minlength=self.y.max() + 1)
        units = rows.min() if self.groups is None else min(rows.min(), len(np.unique(self.groups[seen])))
        low, high = self.statistic.bounds
        if rows.min() == 0 or found < high - (high - low) * CLOSE * math.log(2 / (1 - level)) / units:
            return found
        right = y if len(rows) == 2 else np.eye(len(rows))[y]
        given = {"groups": self.groups, "sample_weight": self.weights}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JaxciWarning)  # they would be of predictions that nobody made
            best = interval(
                self.statistic,
                y,
                right.astype(float) if "y_score" in self.statistic.inputs else y,
                confidence_level=level,
                rng=0,
                **{name: column[seen] for name, column in given.items() if column is not None},
            )
        return min(found, best.confidence_interval.low)
