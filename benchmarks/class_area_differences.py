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
from simulated import of_differences, simulate
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
    """Return what is found of the differences of a design, by metric and by what ends allow for."""
    y = design.truly(design.rows)

    def compared(metric: str, name: str, scores: list[np.ndarray], number: int) -> Any:
        with mock.patch("jaxci.intervals.unseen.MASS", MASSES[name]):
            return jaxci.compare(metric, y, *scores, rng=number)

    return of_differences(
        truth(design), MASSES, sets, lambda number: both(design, y, number, design.classes, design.rows), compared
    )


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width, below .05, width / 3.92 sd")
