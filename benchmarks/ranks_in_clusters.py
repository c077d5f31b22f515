"""Simulate intervals for areas and average precisions of rows in a hundred clusters or more, by ``interval``.

Run ``python benchmarks/ranks_in_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data sets
a design has. Beside the default stands ``proper_bayesian``. Widths are over those that a normal interval needs,
``told`` is the share of rows with a remark. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate
from unseen_rows import true_area

import jaxci


class Design(NamedTuple):
    """Clusters, their rows, the shares of classes, how far right classes stand out, and how far clusters differ."""

    clusters: int
    rows: int
    shares: tuple[float, ...]
    distance: float
    between: float


DESIGNS = (
    Design(120, 10, (0.5, 0.3, 0.2), 2, 0.5),
    Design(200, 4, (0.85, 0.1, 0.05), 2, 0.5),
    Design(100, 10, (0.6, 0.38, 0.02), 3, 0.5),
    Design(150, 5, (0.25, 0.25, 0.25, 0.25), 4, 0.5),
    Design(150, 100, (0.9, 0.1), 2, 0.7),
    Design(120, 200, (0.95, 0.05), 2.5, 0.5),
    Design(200, 3, (0.9, 0.1), 1.5, 0.7),
    Design(100, 2, (0.7, 0.3), 2, 0.5),
)


def drawn(design: Design, clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores and clusters (n,)."""
    k, groups = len(design.shares), np.repeat(np.arange(clusters), design.rows)
    y = rng.choice(k, len(groups), p=design.shares)
    logits = rng.normal(size=(len(y), k)) + design.between * rng.normal(size=(clusters, k))[groups]
    logits[np.arange(len(y)), y] += design.distance
    if k == 2:
        return y, logits[:, 1] - logits[:, 0], groups
    scores = np.exp(logits)
    return y, scores / scores.sum(axis=1, keepdims=True), groups


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told, by metric and method."""
    rng, k = np.random.default_rng(5), len(design.shares)
    y, scores, _ = drawn(design, 200_000 // design.rows, rng)
    metrics = ("roc_auc", "average_precision") if k == 2 else ("roc_auc_ovr", "average_precision_macro")
    columns = [(y, scores)] if k == 2 else [(y == c, scores[:, c]) for c in range(k)]
    true = [float(np.mean([true_area(*one, precision=precise) for one in columns])) for precise in (False, True)]
    methods = ("auto", "proper_bayesian")
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {m: {name: [] for name in methods} for m in metrics}
    estimates: dict[str, list[float]] = {metric: [] for metric in metrics}
    for number in range(sets):
        *data, groups = drawn(design, design.clusters, rng)
        for metric, value in zip(metrics, true, strict=True):
            for name in methods:
                asked = {"method": name, "labels": list(range(k)), "n_resamples": 499, "rng": number}
                found = jaxci.interval(metric, *data, groups=groups, **asked)
                low, high = found.confidence_interval
                held[metric][name].append((low <= value <= high, high - low, bool(found.warnings)))
            estimates[metric].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width over needed, told")
