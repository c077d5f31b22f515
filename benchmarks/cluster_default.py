"""Simulate what ``auto`` covers of rows in clusters, through ``jaxci.interval``, beside two methods that it may take.

Run ``python benchmarks/cluster_default.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%; clusters of 20 rows on average. No design is on the cards. "warned" is the share of
data sets in which the row says that no method is known to hold.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxci
from jaxci.coverage.store import surroundings
from jaxci.distributions import Cells, Clustered, GaussianClasses, truth
from jaxci.statistics.registry import METRICS

RESAMPLES = 999
LAWS = {
    "2 classes, .3 / .9 / .95": (Cells.binary(0.3, 0.9, 0.95), ("accuracy", "balanced_accuracy", "f1", "recall")),
    "2 classes, .1 / .9 / .98": (Cells.binary(0.1, 0.9, 0.98), ("accuracy", "f1")),
    "AUC .9, prevalence .3": (GaussianClasses([0.7, 0.3], auc=0.9), ("roc_auc", "average_precision", "log_loss")),
}
CLUSTERS = {"8 even": 8, "15 uneven": [1, 2, 3, 4, 5] * 3, "30 uneven": np.linspace(1, 9, 30).tolist()}
CORRELATIONS = (0.1, 0.4)
METHODS = ("auto", "proper_bayesian", "percentile")


def design(law: Clustered, metric: str, n: int, sets: int) -> dict[str, Any]:
    """Return coverage and mean width of every method, which ``auto`` took, and how often it warned."""
    keys = jax.random.split(jax.random.key(3), sets)
    drawn = jax.tree.map(np.asarray, jax.vmap(lambda key: law.sample(key, n))(keys))
    target = truth(law, METRICS[metric].settled(2), jax.random.key(0)).value
    units, guess = law.layout(n).units, drawn["y_pred" if law.kind == "labels" else "y_score"]
    held: dict[str, list[bool]] = {name: [] for name in METHODS}
    wide: dict[str, list[float]] = {name: [] for name in METHODS}
    taken: dict[str, int] = {}
    warned = 0
    for r in range(sets):
        if len(np.unique(drawn["y_true"][r])) < 2:
            continue
        for name in METHODS:
            options = {"method": name, "groups": units, "n_resamples": RESAMPLES, "rng": r}
            found = jaxci.interval(metric, drawn["y_true"][r], guess[r], **options)
            low, high = found.confidence_interval
            held[name].append(low <= target <= high)
            wide[name].append(high - low)
            if name == "auto":
                taken[str(found.method)] = taken.get(str(found.method), 0) + 1
                warned += any("no method is known" in text for text in found.warnings)
    return {
        "coverage": {name: round(float(np.mean(x)), 4) for name, x in held.items()},
        "width": {name: round(float(np.mean(x)), 4) for name, x in wide.items()},
        "taken": taken,
        "warned": round(warned / len(held["auto"]), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", type=int, default=100)
    arguments = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    for name, (of_row, metrics) in LAWS.items():
        for form, sizes in CLUSTERS.items():
            for correlation in CORRELATIONS:
                law = Clustered(of_row, sizes, correlation)
                for metric in metrics:
                    found = design(law, metric, 20 * len(law.clusters), arguments.sets)
                    rows.append({"metric": metric, "law": name, "clusters": form, "correlation": correlation, **found})
                    shown = "  ".join(f"{m} {found['coverage'][m]:.3f} ({found['width'][m]:.2f})" for m in METHODS)
                    place = f"{metric:18} {name:25} {form:10} {correlation}"
                    print(f"{place}  {shown}  warned {found['warned']:.2f}", flush=True)
    for name in METHODS:
        covered = np.array([row["coverage"][name] for row in rows])
        often = np.mean(covered >= 0.91)
        summary = f"median {np.median(covered):.3f}, at least .91 in {often:.0%}, worst {covered.min()}"
        print(f"{name}: {summary}")
    if arguments.json is not None:
        held = {**surroundings(), "sets": arguments.sets, "rows": rows}
        arguments.json.write_text(json.dumps(held, indent=1) + "\n")


if __name__ == "__main__":
    main()
