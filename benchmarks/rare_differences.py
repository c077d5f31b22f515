"""Simulate ``jaxci.compare`` of two models that rank, or label, rows of which few are positive.

Run ``python benchmarks/rare_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data
sets there are of a design. Rows are independent or in clusters, alike in their classes and scores. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from simulated import averaged, simulate
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, precision_score

import jaxci

SCORED = ("roc_auc", "average_precision")
LABELLED = ("f1", "matthews_corrcoef", "precision")
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
        """Return classes (n,), at least three of each, and scores of both models (2, n), which find some positive."""
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
            common = np.sqrt(COMMON) * noise(ALIKE)
            scores = np.stack([common + np.sqrt(1 - COMMON) * noise(ALIKE) + shift * y for shift in self.shifts])
            if 3 <= y.sum() <= y.size - 3 and self.labels(scores).any(axis=1).all():
                return y, scores

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the likelier class (2, n) by the scores of each model."""
        cuts = self.shifts / 2 + np.log(1 / self.prevalence - 1) / self.shifts
        found: np.ndarray = 1 * (scores > cuts[:, None])
        return found

    @property
    def truth(self) -> dict[str, float]:
        """True differences, by metric."""
        rng = np.random.default_rng(0)
        y = 1 * (rng.random(MANY) < self.prevalence)
        scores = rng.normal(size=MANY) + self.shifts[:, None] * y
        labels = self.labels(scores)
        read = {
            "average_precision": (average_precision_score, scores),
            "f1": (f1_score, labels),
            "matthews_corrcoef": (matthews_corrcoef, labels),
            "precision": (precision_score, labels),
        }
        found = {metric: [of(y, one) for one in both] for metric, (of, both) in read.items()}
        return {"roc_auc": self.areas[0] - self.areas[1]} | {metric: a - b for metric, (a, b) in found.items()}


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
AREAS = ((0.988, 0.967), (0.95, 0.95), (0.9, 0.85), (0.995, 0.95), (0.99, 0.99))
DESIGNS = tuple(Design(*layout, areas) for layout in LAYOUTS for areas in AREAS)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width, share of p-values below .05 and of warnings of the default, by metric."""
    true, held = design.truth, {metric: {"auto": []} for metric in SCORED + LABELLED}
    given = {} if design.clusters == 0 else {"groups": design.groups}
    for number in range(sets):
        y, scores = design.drawn(np.random.default_rng([number, design.clusters]))
        for metric in held:
            read = scores if metric in SCORED else design.labels(scores)
            row = jaxci.compare(metric, y, *read, rng=number, **given)
            low, high = row.confidence_interval
            one = low <= true[metric] <= high, high - low, row.pvalue < 0.05, bool(row.warnings)
            held[metric]["auto"].append(one)
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, width, below .05, warned")
