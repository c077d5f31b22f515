"""Simulate areas and average precisions of few positives among very many rows, more than any design of the cards has.

Run ``python benchmarks/rare_positives.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Scores are normal; numbers of positives are binomial. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from simulated import over_needed, simulate

import jaxci

METRICS = ("average_precision", "roc_auc")


class Design(NamedTuple):
    """Rows, expected positives, and the area under the ROC curve."""

    n: int
    positives: int
    area: float

    @property
    def shift(self) -> float:
        """How far the scores of positives are moved."""
        return float(np.sqrt(2) * stats.norm.ppf(self.area))

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return labels and scores."""
        y = np.zeros(self.n, np.int64)
        y[: max(int(rng.binomial(self.n, self.positives / self.n)), 2)] = 1
        return y, rng.normal(size=self.n) + self.shift * y

    @property
    def truths(self) -> dict[str, float]:
        """What is estimated: the average precision of all rows that there could be, and the area."""
        share = self.positives / self.n
        cuts = np.linspace(self.shift + 9, -9, 800_001)
        recall, wrong = stats.norm.sf(cuts - self.shift), stats.norm.sf(cuts)
        precision = share * recall / (share * recall + (1 - share) * wrong)
        return {"average_precision": float(np.trapezoid(precision, recall)), "roc_auc": self.area}


DESIGNS = [Design(100_000, positives, area) for positives in (10, 30, 80, 150) for area in (0.8, 0.95, 0.99)]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, width over the needed one and share of remarks, by metric."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {metric: {"auto": []} for metric in METRICS}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    truths = design.truths
    for number in range(sets):
        y, scores = design.draw(np.random.default_rng([number, design.positives]))
        for metric in METRICS:
            row = jaxci.interval(metric, y, scores, rng=number)
            low, high = row.confidence_interval
            held[metric]["auto"].append((low <= truths[metric] <= high, high - low, bool(row.warnings)))
            estimates[metric].append(row.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width over needed, told")
