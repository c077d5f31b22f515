"""Simulate log losses of 30 to 300 rows in 5 to 40 clusters, plain and good models and rare classes, by ``auto``.

Run ``python benchmarks/log_losses_in_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number
of data sets a design. Data sets of one class are left out. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from simulated import over_needed, simulate

import jaxci

MODELS = {"plain, 50% positive": (0.0, 1.5), "good, 50% positive": (0.0, 8.0), "5% positive": (-5.0, 2.5)}
"""Level and slope of the log odds on a normal score."""


class Design(NamedTuple):
    """Clusters, rows, the model, and the standard deviation of the log odds between clusters."""

    clusters: int
    rows: int
    model: str
    apart: float

    def draw(self, rng: np.random.Generator, clusters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return labels, predicted probabilities and clusters (n,)."""
        level, slope = MODELS[self.model]
        cluster = np.repeat(np.arange(clusters), self.rows // self.clusters)
        odds = level + slope * rng.normal(size=len(cluster))
        share = expit(odds + self.apart * rng.normal(size=clusters)[cluster])
        return (rng.random(len(cluster)) < share).astype(int), expit(odds), cluster

    @property
    def truth(self) -> float:
        """What is estimated: the loss in very many clusters."""
        y, predicted, _ = self.draw(np.random.default_rng(0), 1_000_000 * self.clusters // self.rows)
        return float(-np.log(np.where(y == 1, predicted, 1 - predicted)).mean())


SIZES = ((5, 30), (5, 100), (10, 100), (10, 300), (20, 100), (20, 300), (40, 300))
DESIGNS = [Design(*size, model, apart) for size in SIZES for model in MODELS for apart in (0.0, 0.5)]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, width over the needed one and share of remarks."""
    held: list[tuple[float, ...]] = []
    estimates, truth = [], design.truth
    for number in range(sets):
        y, predicted, cluster = design.draw(
            np.random.default_rng([number, design.clusters, design.rows]), design.clusters
        )
        if y.min() == y.max():
            continue
        row = jaxci.interval("log_loss", y, predicted, groups=cluster, rng=number, n_resamples=999)
        low, high = row.confidence_interval
        held.append((low <= truth <= high, high - low, bool(row.warnings)))
        estimates.append(row.estimate)
    return over_needed({"log_loss": {"auto": held}}, {"log_loss": estimates})


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 150, simulated, "coverage, width over needed, told")
