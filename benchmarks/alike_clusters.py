"""Simulate large clusters that differ little, of which one that was not seen would decide, and what intervals cover.

Run ``python benchmarks/alike_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%, through ``jaxci.evaluate``. Half of the rows are of the second class; scores tell it from
the first by two standard deviations, in a cluster by so much more or less ("differ": the standard deviation of that);
predictions are right where scores are above one. Labels of three classes are right in 95% of the rows of all clusters.
Widths are in multiples of 3.92 standard deviations of the estimates, the width that a normal interval needs.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit
from simulated import averaged, simulate
from sklearn.metrics import average_precision_score, f1_score, log_loss, matthews_corrcoef, roc_auc_score

import jaxci

METHODS = ("auto", "proper_bayesian")
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


@functools.cache
def truths(classes: int, differ: float) -> dict[str, float]:
    """Return the metrics of two classes of 4 million rows, each in a cluster of its own, or of three classes."""
    if classes == 3:
        chance = RIGHT - (1 - RIGHT) / 2
        return {"accuracy": RIGHT, "f1_macro": RIGHT, "matthews_corrcoef": chance, "cohen_kappa_score": chance}
    y, guess, score, _ = draw(np.random.default_rng(0), 4_000_000, 1, differ)
    return {
        "accuracy": float(np.mean(y == guess)),
        "f1": float(f1_score(y, guess)),
        "matthews_corrcoef": float(matthews_corrcoef(y, guess)),
        "roc_auc": float(roc_auc_score(y, score)) if differ else float(stats.norm.cdf(APART / np.sqrt(2))),
        "average_precision": float(average_precision_score(y, score)),
        "log_loss": float(log_loss(y, score)),
    }


class Design(NamedTuple):
    """Classes, clusters, rows in each, and how far clusters are apart."""

    classes: int
    clusters: int
    rows: int
    differ: float


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one, and the share of rows with a warning, by metric and method."""
    classes, clusters, rows, differ = design
    rng, known = np.random.default_rng([classes, clusters, rows, round(100 * differ)]), truths(classes, differ)
    found: dict[str, dict[str, list[tuple[bool, float, bool]]]] = {name: {m: [] for m in METHODS} for name in known}
    estimates: dict[str, list[float]] = {metric: [] for metric in known}
    for r in range(sets):
        *data, groups = draw(rng, clusters, rows, differ) if classes == 2 else draw_three(rng, clusters, rows)
        for method in METHODS:
            options = {"method": method, "groups": groups, "n_resamples": RESAMPLES, "rng": r}
            for row in jaxci.evaluate(*data, metrics=list(known), **options):
                low, high = row.confidence_interval
                held = bool(low <= known[row.statistic] <= high)
                found[row.statistic][method].append((held, high - low, bool(row.warnings)))
                estimates[row.statistic].append(row.estimate)
    for metric, methods in found.items():
        needed = 3.92 * np.std(estimates[metric][:: len(METHODS)], ddof=1)
        for rows_of in methods.values():
            rows_of[:] = [(held, width / needed, warned) for held, width, warned in rows_of]
    return averaged(found)


if __name__ == "__main__":
    kinds = ((2, 0.0), (2, 0.15), (3, 0.0))
    designs = (Design(k, clusters, rows, d) for k, d in kinds for clusters in (5, 10, 20, 40) for rows in (100, 600))
    simulate(__doc__, designs, 150, simulated, "coverage, width, warned")
