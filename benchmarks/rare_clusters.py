"""Simulate clusters of which a few are of another kind, in which the model fails, and may be missing from the data.

Run ``python benchmarks/rare_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%, through ``jaxci.evaluate``. Clusters of 30 rows, 30% of them positive; 3% of the labels are
wrong, in clusters of the other kind 40%, and scores tell the classes apart by 3 standard deviations, there by half of
one. Within a kind clusters are alike. "missing" is the share of data sets without a cluster of the other kind; "warned"
that in which the row of ``auto`` has a warning, "not told of kinds" how many have none of a kind that may be missing,
and how many of their intervals hold the truth.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score

import jaxci
from jaxci.coverage.store import surroundings

METHODS = ("auto", "proper_bayesian", "percentile")
METRICS = ("accuracy", "f1", "roc_auc", "average_precision", "log_loss")
POSITIVE, ROWS, RESAMPLES = 0.3, 30, 999
WRONG, APART = (0.03, 0.4), (3.0, 0.5)


def draw(rng: np.random.Generator, clusters: int, share: float) -> tuple[np.ndarray, ...]:
    """Return labels, predictions, probabilities and clusters of rows, and whether clusters are of the other kind."""
    other = rng.random(clusters) < share
    groups = np.repeat(np.arange(clusters), ROWS)
    kind = 1 * other[groups]
    y = 1 * (rng.random(len(groups)) < POSITIVE)
    guess = np.where(rng.random(len(y)) < np.take(WRONG, kind), 1 - y, y)
    score = rng.normal(size=len(y)) + y * np.take(APART, kind)
    return y, guess, expit(APART[0] * (score - APART[0] / 2) + logit(POSITIVE)), groups, other


def truths(share: float) -> dict[str, float]:
    """Return the metrics of 3 million rows."""
    y, guess, score, _, _ = draw(np.random.default_rng(0), 100_000, share)
    return {
        "accuracy": float(np.mean(y == guess)),
        "f1": float(f1_score(y, guess)),
        "roc_auc": float(roc_auc_score(y, score)),
        "average_precision": float(average_precision_score(y, score)),
        "log_loss": float(log_loss(y, score)),
    }


def design(clusters: int, share: float, sets: int) -> list[dict[str, Any]]:
    """Return coverage and mean width of every method by metric, which ``auto`` took, and what it said."""
    rng, known, missing = np.random.default_rng([clusters, round(1000 * share)]), truths(share), 0
    held = {(metric, method): [0, 0.0] for metric in METRICS for method in METHODS}
    taken: dict[str, dict[str, int]] = {metric: {} for metric in METRICS}
    warned, untold = dict.fromkeys(METRICS, 0), {metric: [0, 0] for metric in METRICS}
    for r in range(sets):
        *data, groups, other = draw(rng, clusters, share)
        missing += not other.any()
        for method in METHODS:
            options = {"method": method, "groups": groups, "n_resamples": RESAMPLES, "rng": r}
            for row in jaxci.evaluate(*data, metrics=METRICS, **options):
                low, high = row.confidence_interval
                holds = bool(low <= known[row.statistic] <= high)
                held[row.statistic, method][0] += holds
                held[row.statistic, method][1] += high - low
                if method == "auto":
                    taken[row.statistic][row.method.name] = taken[row.statistic].get(row.method.name, 0) + 1
                    warned[row.statistic] += bool(row.warnings)
                    if not any("a kind of cluster" in text for text in row.warnings):
                        untold[row.statistic][0] += 1
                        untold[row.statistic][1] += holds
    return [
        {
            "clusters": clusters,
            "share": share,
            "metric": metric,
            "sets": sets,
            "missing": round(missing / sets, 4),
            "coverage": {method: round(held[metric, method][0] / sets, 4) for method in METHODS},
            "width": {method: round(held[metric, method][1] / sets, 4) for method in METHODS},
            "taken": taken[metric],
            "warned": round(warned[metric] / sets, 4),
            "not told of kinds": dict(zip(("sets", "held"), untold[metric], strict=True)),
        }
        for metric in METRICS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", type=int, default=150)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for share in (0.05, 0.1):
        for clusters in (10, 20, 40):
            for row in design(clusters, share, arguments.sets):
                rows.append(row)
                shown = "  ".join(f"{m} {row['coverage'][m]:.3f} ({row['width'][m]:.3f})" for m in METHODS)
                place = f"{row['metric']:18} {share} of {clusters} (missing {row['missing']:.2f})"
                print(f"{place}  {shown}  warned {row['warned']:.2f}  {row['taken']}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({**surroundings(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
