"""Simulate intervals of metrics of labels of weighted rows in clusters, through ``jaxci.evaluate``.

Run ``python benchmarks/weighted_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Rows are right more often in some clusters than in others; a weight is a row's own, or that of its
cluster, as of hospitals in a survey. Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from simulated import averaged, simulate
from sklearn import metrics

import jaxci

METHODS = ("auto", "expanded_percentile")
METRICS = {
    "accuracy": metrics.accuracy_score,
    "recall": metrics.recall_score,
    "precision": metrics.precision_score,
    "f1": metrics.f1_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
}


class Design(NamedTuple):
    """Clusters, rows of each, how many are right, about, whether weights are those of clusters, share of positives."""

    clusters: int
    rows: int
    right: float
    of_clusters: bool
    positive: float = 0.3

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return true and predicted labels, weights and clusters (n,)."""
        cluster = np.repeat(np.arange(self.clusters), self.rows)
        n = len(cluster)
        y = (rng.random(n) < self.positive).astype(int)
        right = rng.random(n) < expit(1.1 * logit(self.right) + 0.7 * rng.normal(size=self.clusters)[cluster])
        weights = rng.lognormal(0, 0.7, self.clusters)[cluster] if self.of_clusters else rng.lognormal(0, 0.7, n)
        return y, np.where(right, y, 1 - y), weights, cluster


SIZES = ((8, 10), (15, 5), (24, 5), (24, 20), (60, 5))
RARE_SIZES = ((8, 30), (15, 20), (24, 20), (60, 10))
DESIGNS = [Design(*size, right, own) for size in SIZES for right in (0.7, 0.85, 0.97) for own in (True, False)]
DESIGNS += [Design(*size, right, own, 0.05) for size in RARE_SIZES for right in (0.85, 0.97) for own in (True, False)]


@functools.cache
def truths(right: float, positive: float) -> dict[str, float]:
    """Return the metrics of a million clusters, of which weights tell nothing."""
    y, guess, *_ = Design(10**6, 1, right, False, positive).draw(np.random.default_rng(5))
    return {name: metric(y, guess) for name, metric in METRICS.items()}


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and share of remarks on clusters with weights, by method."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    true = truths(design.right, design.positive)
    for number in range(sets):
        y, guess, weights, cluster = design.draw(np.random.default_rng([number, design.clusters, design.rows]))
        for method in METHODS:
            given = {"sample_weight": weights, "groups": cluster, "labels": [0, 1]}
            for row in jaxci.evaluate(
                y, guess, metrics=[*METRICS], method=method, n_resamples=999, rng=number, **given
            ):
                low, high = row.confidence_interval
                told = any("clusters of unlike weight" in text for text in row.warnings)
                found = (low <= true[row.statistic] <= high, high - low, told)
                held.setdefault(row.statistic, {}).setdefault(method, []).append(found)
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width, told")
