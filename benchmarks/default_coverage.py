"""Simulate what ``auto`` covers, through ``jaxci.interval`` itself, where users live.

Run ``python benchmarks/default_coverage.py``; ``--json FILE`` keeps the numbers. Nominal 95%. Models are tables by
shares of classes and accuracy, or by prevalence, sensitivity and specificity; data sets are drawn whole, so that a rare
class may be missing (its share of data sets is printed as "lost"). Accuracy in clusters: a beta-binomial share of right
answers with an intraclass correlation of .3.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jaxci
from jaxci.statistics import F1

SIZES = (30, 100, 300)


def binary(prevalence: float, sensitivity: float, specificity: float) -> np.ndarray:
    """Table (2, 2) of truth by prediction."""
    return np.array(
        [
            [(1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)],
            [prevalence * (1 - sensitivity), prevalence * sensitivity],
        ]
    )


def classes(shares: list[float], accuracy: float) -> np.ndarray:
    """Table (K, K): every class is right with the same chance, errors go to the others by their shares."""
    share = np.array(shares) / np.sum(shares)
    errors = np.where(np.eye(len(share)) == 1, 0.0, share)
    errors *= (share * (1 - accuracy) / errors.sum(axis=1))[:, None]
    return np.diag(share * accuracy) + errors


TABLES = {
    "2 classes, .1 / .95 / .995": binary(0.1, 0.95, 0.995),
    "2 classes, .05 / .6 / .98": binary(0.05, 0.6, 0.98),
    "2 classes, .5 / .98 / .98": binary(0.5, 0.98, 0.98),
    "3 classes, uneven, .95": classes([5, 3, 2], 0.95),
    "5 classes, even, .98": classes([1, 1, 1, 1, 1], 0.98),
    "5 classes, 40 to 2%, .95": classes([40, 30, 20, 8, 2], 0.95),
}
LAWS = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "t5": (lambda rng, n: rng.standard_t(5, n), np.sqrt(5 / 3)),
    "beta(8, 2)": (lambda rng, n: rng.beta(8, 2, n), np.sqrt(16 / 1100)),
}


def truths(table: np.ndarray) -> dict[str, float]:
    """Return the true values of what a table gives."""
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    jaccard = hits / (true + taken - hits)
    known = {"balanced_accuracy": (hits / true).mean(), "precision_macro": (hits / taken).mean()}
    rare = int(np.argmin(true))
    known[f"f1 of class {rare}"] = 2 * jaccard[rare] / (1 + jaccard[rare])
    return known | ({"jaccard": jaccard[1]} if len(table) == 2 else {})


def named(metric: str) -> Any:
    """Return the metric itself: one class is a setting."""
    return F1(average="class", class_index=int(metric[-1])) if metric.startswith("f1") else metric


def row(kind: str, metric: str, n: int, found: list[Any], truth: float, lost: float = 0.0) -> dict[str, Any]:
    """Judge intervals."""
    ends = np.array([one.confidence_interval for one in found], float)
    above, below = np.mean(ends[:, 0] > truth), np.mean(ends[:, 1] < truth)
    methods = "/".join(sorted({str(one.method) for one in found}))
    judged = {"kind": kind, "metric": metric, "n": n, "method": methods, "replications": len(found)}
    shares = {
        "coverage": np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])),
        "low_above": above,
        "high_below": below,
    }
    return judged | {name: float(value) for name, value in shares.items()} | {"lost": lost}


def of_tables(replications: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for kind, table in TABLES.items():
        k = len(table)
        for n in SIZES:
            cells = rng.choice(k * k, p=table.ravel(), size=(replications, n))
            lost = float(np.mean([len(np.unique(one // k)) < k for one in cells]))
            for metric, truth in truths(table).items():
                found = [
                    jaxci.interval(named(metric), one // k, one % k, labels=list(range(k)), n_resamples=999, rng=0)
                    for one in cells
                ]
                yield row(kind, metric, n, found, truth, lost)


def of_values(replications: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for law, (draw, sd) in LAWS.items():
        for n in (10, *SIZES):
            samples = [draw(rng, n) for _ in range(replications)]
            for metric, truth in (("std", sd), ("var", sd**2)):
                yield row(law, metric, n, [jaxci.interval(metric, x) for x in samples], truth)


def of_clusters(replications: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    share, correlation = 0.95, 0.3
    mass = 1 / correlation - 1
    for clusters in (5, 10, 20, 40):
        groups = np.repeat(np.arange(clusters), 15)
        found: dict[str, list[Any]] = {"accuracy": [], "balanced_accuracy": [], "f1 of class 1": []}
        for _ in range(replications):
            right = rng.random(groups.size) < rng.beta(share * mass, (1 - share) * mass, clusters)[groups]
            y = rng.integers(0, 2, groups.size)
            for metric, kept in found.items():
                one = jaxci.interval(
                    named(metric), y, np.where(right, y, 1 - y), labels=[0, 1], groups=groups, n_resamples=999, rng=0
                )
                kept.append(one)
        for metric, kept in found.items():  # both recalls, and F1 of even classes, are the share of right answers
            yield row(f"{clusters} clusters of 15, ICC .3, .95", metric, groups.size, kept, share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1_000)
    parser.add_argument("--only", choices=("tables", "values", "clusters"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    parts = {"tables": of_tables, "values": of_values, "clusters": of_clusters}
    rows = []
    for name in [arguments.only] if arguments.only else parts:
        for found in parts[name](arguments.replications, np.random.default_rng(0)):
            rows.append(found)
            print(
                f"{found['kind']:30s} {found['metric']:18s} n = {found['n']:4d}  {found['method']:15s} "
                f"covers {found['coverage']:.3f}  low > truth {found['low_above']:.3f}  high < truth "
                f"{found['high_below']:.3f}  lost {found['lost']:.2f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
