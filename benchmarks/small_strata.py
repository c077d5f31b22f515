"""Simulate what intervals cover where strata hold few rows, or few clusters, through ``jaxci.evaluate``.

Run ``python benchmarks/small_strata.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%. Half of the rows are of the second class; scores tell it from the first by two standard
deviations, predictions are right where scores are above one. Strata do not differ, so that they take no variance away;
clusters of five rows do, by a standard deviation of .7 in how far the classes are apart.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from simulated import averaged, simulate
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef, roc_auc_score

import jaxci

METHODS = ("auto", "percentile", "delta")
METRICS = ("balanced_accuracy", "matthews_corrcoef", "roc_auc")
APART, DIFFER, IN_CLUSTER, ROWS, CLUSTERS, RESAMPLES = 2.0, 0.7, 5, 200, 60, 499


def draw(rng: np.random.Generator, units: int, clustered: bool) -> tuple[np.ndarray, ...]:
    """Return labels, predictions, probabilities and clusters of rows."""
    groups = np.repeat(np.arange(units), IN_CLUSTER if clustered else 1)
    y = rng.integers(0, 2, len(groups))
    apart = APART + clustered * DIFFER * rng.normal(size=units)
    score = rng.normal(size=len(y)) + y * apart[groups]
    return y, 1 * (score > APART / 2), expit(APART * (score - APART / 2)), groups


@functools.cache
def truths(clustered: bool) -> dict[str, float]:
    """Return the metrics of a million units."""
    y, guess, score, _ = draw(np.random.default_rng(0), 1_000_000, clustered)
    return {
        "balanced_accuracy": float(balanced_accuracy_score(y, guess)),
        "matthews_corrcoef": float(matthews_corrcoef(y, guess)),
        "roc_auc": float(roc_auc_score(y, score)),
    }


class Design(NamedTuple):
    """Rows or clusters that a stratum holds."""

    size: int
    units: str


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width, by metric and method."""
    size, clustered = design.size, design.units == "clusters"
    rng, known = np.random.default_rng([size, clustered]), truths(clustered)
    units = (CLUSTERS if clustered else ROWS) // size * size
    found: dict[str, dict[str, list[tuple[bool, float]]]]
    found = {metric: {method: [] for method in METHODS} for metric in METRICS}
    for r in range(sets):
        *data, groups = draw(rng, units, clustered)
        options: dict[str, Any] = {"groups": groups} if clustered else {}
        for method in METHODS:
            options |= {"method": method, "n_resamples": RESAMPLES, "rng": r}
            for row in jaxci.evaluate(*data, metrics=METRICS, strata=groups // size, **options):
                low, high = row.confidence_interval
                found[row.statistic][method].append((bool(low <= known[row.statistic] <= high), high - low))
    return averaged(found)


if __name__ == "__main__":
    designs = (Design(size, units) for units in ("rows", "clusters") for size in (2, 3, 5, 10, 20))
    simulate(__doc__, designs, 300, simulated, "coverage, width")
