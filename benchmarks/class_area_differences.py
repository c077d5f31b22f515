"""Simulate ``jaxci.compare`` of the mean areas of two models under the ROC curves of several classes.

Run ``python benchmarks/class_area_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many
data sets there are of a design, which are those of ``class_precision_differences.py``. "seen" are intervals without the
rows on which models differ most and which were not seen. Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np
from class_precision_differences import MANY, Design
from simulated import beside_spread, simulate
from sklearn.metrics import roc_auc_score

import jaxci

DESIGNS = tuple(
    Design(*layout, areas, 0.49)
    for layout in ((3, 150, 8), (3, 300, 60), (8, 80, 10), (8, 300, 10), (8, 300, 37), (8, 1000, 30), (12, 300, 25))
    for areas in ((0.98, 0.98), (0.9, 0.85), (0.99, 0.97))
)
KINDS = {"roc_auc_ovr": "ovr", "roc_auc_ovo": "ovo"}
MASSES = {"auto": 1 / 16, "seen": 0.0}


@functools.cache
def truth(design: Design) -> dict[str, float]:
    """Return the true differences, by metric."""
    if design.areas[0] == design.areas[1]:
        return dict.fromkeys(KINDS, 0.0)
    y = design.truly(MANY)
    first, second = (
        {m: roc_auc_score(y, s, multi_class=kind) for m, kind in KINDS.items()} for s in both(design, y, 0)
    )
    return {metric: first[metric] - second[metric] for metric in KINDS}


def both(design: Design, y: np.ndarray, *seed: int) -> list[np.ndarray]:
    """Return the probabilities (n, K) of both models."""
    return design.scores(y, np.random.default_rng(seed))


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width, share of p-values below .05 and width in 3.92 standard deviations, by metric."""
    true, y = truth(design), design.truly(design.rows)
    held: dict[str, dict[str, list[Any]]] = {metric: {name: [] for name in MASSES} for metric in KINDS}
    estimates: dict[str, list[float]] = {metric: [] for metric in KINDS}
    for number in range(sets):
        scores = both(design, y, number, design.classes, design.rows)
        for metric in KINDS:
            for name, mass in MASSES.items():
                with mock.patch("jaxci.intervals.unseen.MASS", mass):
                    row = jaxci.compare(metric, y, *scores, rng=number)
                low, high = row.confidence_interval
                held[metric][name].append((low <= true[metric] <= high, high - low, row.pvalue < 0.05))
            estimates[metric].append(row.estimate)
    return beside_spread(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width, below .05, width / 3.92 sd")
