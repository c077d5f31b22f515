"""Simulate what ``auto`` covers where strata hold few rows, or few clusters, through ``jaxci.evaluate``.

Run ``python benchmarks/small_strata.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%. Half of the rows are of the second class; scores tell it from the first by two standard
deviations, predictions are right where scores are above one. Strata do not differ, so that they take no variance away;
clusters of five rows do, by a standard deviation of .7 in how far the classes are apart.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef, roc_auc_score

import jaxci
from jaxci.coverage.store import surroundings

METRICS = ("balanced_accuracy", "matthews_corrcoef", "roc_auc")
APART, DIFFER, IN_CLUSTER, ROWS, CLUSTERS, RESAMPLES = 2.0, 0.7, 5, 200, 60, 499


def draw(rng: np.random.Generator, units: int, clustered: bool) -> tuple[np.ndarray, ...]:
    """Return labels, predictions, probabilities and clusters of rows."""
    groups = np.repeat(np.arange(units), IN_CLUSTER if clustered else 1)
    y = rng.integers(0, 2, len(groups))
    apart = APART + clustered * DIFFER * rng.normal(size=units)
    score = rng.normal(size=len(y)) + y * apart[groups]
    return y, 1 * (score > APART / 2), expit(APART * (score - APART / 2)), groups


def truths(clustered: bool) -> dict[str, float]:
    """Return the metrics of a million units."""
    y, guess, score, _ = draw(np.random.default_rng(0), 1_000_000, clustered)
    return {
        "balanced_accuracy": float(balanced_accuracy_score(y, guess)),
        "matthews_corrcoef": float(matthews_corrcoef(y, guess)),
        "roc_auc": float(roc_auc_score(y, score)),
    }


def design(size: int, clustered: bool, sets: int) -> list[dict[str, Any]]:
    """Return the coverage of every metric where strata hold so many rows or clusters, and how many were warned of."""
    rng, known = np.random.default_rng([size, clustered]), truths(clustered)
    units = (CLUSTERS if clustered else ROWS) // size * size
    held, warned = dict.fromkeys(METRICS, 0), 0
    for r in range(sets):
        *data, groups = draw(rng, units, clustered)
        options = {"groups": groups} if clustered else {}
        table = jaxci.evaluate(*data, metrics=METRICS, strata=groups // size, n_resamples=RESAMPLES, rng=r, **options)
        warned += all(any("lacks up to" in text for text in row.warnings) for row in table)
        for row in table:
            low, high = row.confidence_interval
            held[row.statistic] += bool(low <= known[row.statistic] <= high)
    return [
        {
            "units": "clusters" if clustered else "rows",
            "size": size,
            "metric": metric,
            "sets": sets,
            "coverage": round(held[metric] / sets, 4),
            "warned": round(warned / sets, 4),
        }
        for metric in METRICS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", type=int, default=300)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for clustered in (False, True):
        for size in (2, 3, 5, 10, 20):
            found += design(size, clustered, arguments.sets)
            shown = "  ".join(f"{row['metric']} {row['coverage']:.3f}" for row in found[-len(METRICS) :])
            print(f"{size:3} {found[-1]['units']:8} {shown}  warned {found[-1]['warned']:.2f}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({**surroundings(), "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
