"""Simulate ``jaxci.compare`` of two models on rows in clusters, which come in strata, by the default and by resamples.

Run ``python benchmarks/clusters_in_strata.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data
sets there are of a design. Heavy designs sample the last stratum less than its share, and weigh its rows accordingly.
Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from simulated import beside_spread, simulate

import jaxci

METHODS = ("auto", "expanded_percentile")
METRICS = ("accuracy", "f1", "roc_auc", "mean_squared_error")
SHARES = np.array([0.15, 0.35, 0.5])
"""Of the population, by stratum."""
MANY = 60_000
"""Clusters a stratum that true differences are read off."""


class Design(NamedTuple):
    """Clusters of each stratum, rows of each cluster, and whether rows are weighted to the shares of the population."""

    clusters: tuple[int, int, int]
    rows: int
    heavy: bool

    def drawn(self, clusters: tuple[int, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return labels, two models' scores and errors, strata, groups and weights of so many clusters."""
        of_cluster = np.repeat(np.arange(3), clusters)
        groups = np.repeat(np.arange(len(of_cluster)), self.rows)
        strata, n = of_cluster[groups], len(groups)
        shared, own = (rng.normal(0, 0.6, len(of_cluster))[groups] for _ in range(2))
        y = 1 * (rng.normal(size=n) + own > 0.4 * strata)
        common = rng.normal(size=n) + shared
        a, b = ((2 * y - 1) * (s - 0.3 * strata) + 0.7 * (common + rng.normal(size=n)) for s in (1.6, 1.3))
        weights = (SHARES / (np.bincount(strata) / n))[strata] if self.heavy else np.ones(n)
        return {"y": y, "a": a, "b": b, "strata": strata, "groups": groups, "weights": weights}


def compared(metric: str, data: dict[str, np.ndarray], **given: Any) -> Any:
    """Compare the two models by a metric."""
    y, models = data["y"], [data["a"], data["b"]]
    if metric in ("accuracy", "f1"):
        models = [1 * (one > 0) for one in models]
    elif metric == "mean_squared_error":
        y = data["y"] - 0.5
    return jaxci.compare(metric, y, *models, **given)


@functools.cache
def truth(design: Design) -> dict[str, float]:
    """Return the true differences, of as many clusters of every stratum, weighted to what the design estimates."""
    data = design.drawn((MANY,) * 3, np.random.default_rng(0))
    shares = SHARES if design.heavy else np.array(design.clusters) / sum(design.clusters)
    weights = shares[data["strata"]]
    return {metric: compared(metric, data, sample_weight=weights, method="kurtosis_t").estimate for metric in METRICS}


DESIGNS = (
    Design((6, 4, 2), 5, True),
    Design((12, 8, 6), 6, True),
    Design((3, 3, 3), 5, False),
    Design((7, 7, 7), 5, False),
    Design((20, 14, 6), 5, True),
)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and width in 3.92 standard deviations of the estimates, by metric and method."""
    true = truth(design)
    held: dict[str, dict[str, list[Any]]] = {metric: {name: [] for name in METHODS} for metric in METRICS}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number in range(sets):
        data = design.drawn(design.clusters, np.random.default_rng([number, *design.clusters]))
        given = {"groups": data["groups"], "strata": data["strata"], "rng": number, "n_resamples": 1_999}
        if design.heavy:
            given["sample_weight"] = data["weights"]
        for metric in METRICS:
            for name in METHODS:
                row = compared(metric, data, method=name, **given)
                low, high = row.confidence_interval
                held[metric][name].append((low <= true[metric] <= high, high - low))
            estimates[metric].append(row.estimate)
    return beside_spread(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width, width / 3.92 sd")
