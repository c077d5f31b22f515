"""Simulate ``jaxci.compare`` of two models that rank rows of which few are positive.

Run ``python benchmarks/rare_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data
sets there are of a design. Rows are independent or in clusters, alike in their classes and scores. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from simulated import averaged, simulate
from sklearn.metrics import average_precision_score

import jaxci

METRICS = ("roc_auc", "average_precision")
COMMON, ALIKE, ALIKE_CLASSES = 0.49, 0.3, 0.1
"""Share of the variance of scores that both models have in common, and that clusters have, of scores and of classes."""
MANY = 400_000
"""Rows that true average precisions are read off."""


class Design(NamedTuple):
    """Clusters (0: rows are independent) of so many rows or uneven ones, share of positives, areas of models."""

    clusters: int
    rows: int
    uneven: bool
    prevalence: float
    areas: tuple[float, float]

    @property
    def groups(self) -> np.ndarray:
        """Cluster of every row."""
        if not self.uneven:
            return np.repeat(np.arange(max(1, self.clusters)), self.rows)
        spread = np.exp(norm.ppf((np.arange(self.clusters) + 0.5) / self.clusters))
        return np.repeat(np.arange(self.clusters), np.maximum(1, np.round(self.rows * spread)).astype(int))

    @property
    def shifts(self) -> np.ndarray:
        """By how much the scores of positives exceed those of negatives."""
        found: np.ndarray = np.sqrt(2) * norm.ppf(self.areas)
        return found

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return classes (n,), at least three of each, and scores of both models (2, n)."""
        groups = self.groups

        def noise(alike: float) -> np.ndarray:
            own = rng.normal(size=groups.size)
            if self.clusters == 0:
                return own
            shared = rng.normal(size=self.clusters)[groups]
            joined: np.ndarray = np.sqrt(alike) * shared + np.sqrt(1 - alike) * own
            return joined

        while True:
            y = 1 * (noise(ALIKE_CLASSES) < norm.ppf(self.prevalence))
            if 3 <= y.sum() <= y.size - 3:
                break
        common = np.sqrt(COMMON) * noise(ALIKE)
        return y, np.stack([common + np.sqrt(1 - COMMON) * noise(ALIKE) + shift * y for shift in self.shifts])

    @property
    def truth(self) -> dict[str, float]:
        """True differences, by metric."""
        rng = np.random.default_rng(0)
        y = 1 * (rng.random(MANY) < self.prevalence)
        score = rng.normal(size=MANY)
        precisions = [average_precision_score(y, score + shift * y) for shift in self.shifts]
        return {"roc_auc": self.areas[0] - self.areas[1], "average_precision": precisions[0] - precisions[1]}


LAYOUTS = (
    (0, 300, False, 0.05),
    (0, 1000, False, 0.02),
    (0, 100, False, 0.3),
    (60, 5, False, 0.05),
    (30, 8, False, 0.06),
    (200, 5, False, 0.02),
    (20, 10, False, 0.3),
    (8, 15, False, 0.3),
    (15, 12, True, 0.3),
    (40, 6, True, 0.1),
)
AREAS = ((0.988, 0.967), (0.95, 0.95), (0.9, 0.85))
DESIGNS = tuple(Design(*layout, areas) for layout in LAYOUTS for areas in AREAS)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width, share of p-values below .05 and of warnings of the default, by metric."""
    true, held = design.truth, {metric: {"auto": []} for metric in METRICS}
    given = {} if design.clusters == 0 else {"groups": design.groups}
    for number in range(sets):
        y, scores = design.drawn(np.random.default_rng([number, design.clusters]))
        for metric in METRICS:
            row = jaxci.compare(metric, y, *scores, rng=number, **given)
            low, high = row.confidence_interval
            one = low <= true[metric] <= high, high - low, row.pvalue < 0.05, bool(row.warnings)
            held[metric]["auto"].append(one)
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, width, below .05, warned")
