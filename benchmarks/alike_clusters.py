"""Simulate large clusters that differ little, of which one that was not seen would decide, and what intervals cover.

Run ``python benchmarks/alike_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%, through ``jaxci.evaluate``. Half of the rows are of the second class; scores tell it from
the first by two standard deviations, in a cluster by so much more or less ("differ": the standard deviation of that);
predictions are right where scores are above one. Labels of three classes are right in 95% of the rows of all clusters.
Widths are in multiples of 3.92 standard deviations of the estimates, the width that a normal interval needs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit
from sklearn.metrics import average_precision_score, f1_score, log_loss, matthews_corrcoef, roc_auc_score

import jaxci
from jaxci.coverage.store import surroundings

METHODS = ("auto", "proper_bayesian")
OF_TWO = ("accuracy", "f1", "matthews_corrcoef", "roc_auc", "average_precision", "log_loss")
OF_THREE = ("accuracy", "f1_macro", "matthews_corrcoef", "cohen_kappa_score")
APART, RIGHT, RESAMPLES = 2.0, 0.95, 499


def draw(rng: np.random.Generator, clusters: int, rows: int, differ: float) -> tuple[np.ndarray, ...]:
    """Return labels, predictions, probabilities and clusters."""
    groups = np.repeat(np.arange(clusters), rows)
    y = rng.integers(0, 2, len(groups))
    apart = APART + differ * rng.normal(size=clusters)
    score = rng.normal(size=len(y)) + y * apart[groups]
    return y, 1 * (score > APART / 2), expit(APART * (score - APART / 2)), groups


def draw_three(rng: np.random.Generator, clusters: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return labels of three classes, predictions and clusters."""
    y = rng.integers(0, 3, clusters * rows)
    wrong = rng.random(len(y)) >= RIGHT
    return y, (y + wrong * rng.integers(1, 3, len(y))) % 3, np.repeat(np.arange(clusters), rows)


def truths(differ: float) -> dict[str, float]:
    """Return the metrics of two classes of 4 million rows, each in a cluster of its own."""
    y, guess, score, _ = draw(np.random.default_rng(0), 4_000_000, 1, differ)
    return {
        "accuracy": float(np.mean(y == guess)),
        "f1": float(f1_score(y, guess)),
        "matthews_corrcoef": float(matthews_corrcoef(y, guess)),
        "roc_auc": float(roc_auc_score(y, score)) if differ else float(stats.norm.cdf(APART / np.sqrt(2))),
        "average_precision": float(average_precision_score(y, score)),
        "log_loss": float(log_loss(y, score)),
    }


def truths_of_three() -> dict[str, float]:
    """Return the metrics of three classes."""
    chance = RIGHT - (1 - RIGHT) / 2
    return {"accuracy": RIGHT, "f1_macro": RIGHT, "matthews_corrcoef": chance, "cohen_kappa_score": chance}


def design(
    classes: int, clusters: int, rows: int, differ: float, known: dict[str, float], sets: int
) -> list[dict[str, Any]]:
    """Return coverage and mean width of every method by metric, and which ``auto`` took."""
    rng = np.random.default_rng([classes, clusters, rows, round(100 * differ)])
    held: Counter[tuple[str, str]] = Counter()
    width: Counter[tuple[str, str]] = Counter()
    taken: dict[str, Counter[str]] = {metric: Counter() for metric in known}
    warned: Counter[str] = Counter()
    estimates: dict[str, list[float]] = {metric: [] for metric in known}
    for r in range(sets):
        *data, groups = draw(rng, clusters, rows, differ) if classes == 2 else draw_three(rng, clusters, rows)
        for method in METHODS:
            options = {"method": method, "groups": groups, "n_resamples": RESAMPLES, "rng": r}
            for row in jaxci.evaluate(*data, metrics=list(known), **options):
                low, high = row.confidence_interval
                held[row.statistic, method] += bool(low <= known[row.statistic] <= high)
                width[row.statistic, method] += high - low
                if method == "auto":
                    taken[row.statistic][row.method.name] += 1
                    warned[row.statistic] += bool(row.warnings)
                    estimates[row.statistic].append(row.estimate)
    needed = {metric: 3.92 * float(np.std(estimates[metric], ddof=1)) for metric in known}
    return [
        {
            "classes": classes,
            "clusters": clusters,
            "rows": rows,
            "differ": differ,
            "metric": metric,
            "sets": sets,
            "coverage": {method: round(held[metric, method] / sets, 4) for method in METHODS},
            "width": {method: round(width[metric, method] / sets / needed[metric], 3) for method in METHODS},
            "taken": dict(taken[metric]),
            "warned": round(warned[metric] / sets, 4),
        }
        for metric in known
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", type=int, default=150)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for classes, differences in ((2, (0.0, 0.15)), (3, (0.0,))):
        for differ in differences:
            known = truths(differ) if classes == 2 else truths_of_three()
            for clusters in (5, 10, 20, 40):
                for rows in (100, 600):
                    for row in design(classes, clusters, rows, differ, known, arguments.sets):
                        found.append(row)
                        shown = "  ".join(f"{m} {row['coverage'][m]:.3f} ({row['width'][m]:.2f})" for m in METHODS)
                        place = f"{row['metric']:18} K = {classes}, {clusters} of {rows} rows, differ by {differ}"
                        print(f"{place}  {shown}  warned {row['warned']:.2f}  {row['taken']}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({**surroundings(), "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
