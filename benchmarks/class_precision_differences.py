"""Simulate ``jaxci.compare`` of the average precision of two models, of two or more classes, one of which is rare.

Run ``python benchmarks/class_precision_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how
many data sets there are of a design. Beside the default stands ``adjusted_wald``. Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from simulated import of_differences, simulate
from sklearn.metrics import average_precision_score

import jaxci

METHODS = ("auto", "adjusted_wald")
MANY = 300_000
"""Rows that true average precisions are read off."""


class Design(NamedTuple):
    """Numbers of classes, rows and rows of the rarest class, areas of one class against another's of both models.

    ``common`` is the share of the variance of scores that both models have in common.
    """

    classes: int
    rows: int
    rarest: int
    areas: tuple[float, float]
    common: float

    @property
    def kinds(self) -> dict[str, str | None]:
        """How classes are averaged, by metric; of two classes one is looked at."""
        if self.classes == 2:
            return {"average_precision": None}
        return {f"average_precision_{kind}": kind for kind in ("macro", "micro")}

    def truly(self, rows: int) -> np.ndarray:
        """Return the classes (rows,), of which all but the rarest are equally frequent."""
        rare = round(rows * self.rarest / self.rows)
        return np.concatenate([np.full(rare, self.classes - 1), np.arange(rows - rare) % (self.classes - 1)])

    def scores(self, y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the probabilities of both models: (n, K), or those of the rarer of two classes (n,)."""
        shape = (y.size, self.classes)
        common = np.sqrt(self.common) * rng.normal(size=shape)
        found = []
        for area in self.areas:
            shift = np.sqrt(2) * norm.ppf(area) * (y[:, None] == np.arange(self.classes))
            odds = np.exp(common + np.sqrt(1 - self.common) * rng.normal(size=shape) + shift)
            shares = odds / odds.sum(axis=1, keepdims=True)
            found.append(shares[:, 1] if self.classes == 2 else shares)
        return found


@functools.cache
def truth(design: Design) -> dict[str, float]:
    """Return the true differences, by metric."""
    y = design.truly(MANY)
    if design.areas[0] == design.areas[1]:
        return dict.fromkeys(design.kinds, 0.0)
    hot = y if design.classes == 2 else 1 * (y[:, None] == np.arange(design.classes))
    first, second = design.scores(y, np.random.default_rng(0))
    return {
        metric: average_precision_score(hot, first, average=kind) - average_precision_score(hot, second, average=kind)
        for metric, kind in design.kinds.items()
    }


LAYOUTS = (
    (2, 50, 5),
    (2, 200, 20),
    (2, 1000, 100),
    (3, 60, 3),
    (3, 150, 8),
    (3, 150, 50),
    (3, 400, 12),
    (3, 1000, 30),
    (4, 60, 4),
    (4, 150, 6),
    (4, 400, 100),
    (4, 1000, 30),
    (8, 60, 3),
    (8, 150, 5),
    (8, 400, 50),
    (8, 1000, 30),
)
AREAS = ((0.8, 0.8), (0.99, 0.99), (0.85, 0.75), (0.99, 0.97))
ALIKE = (*LAYOUTS[:3], (3, 150, 8), (4, 400, 100), (8, 150, 5))
"""Of these models are also nearly the same."""
DESIGNS = tuple(
    Design(*layout, areas, common)
    for common, layouts in ((0.49, LAYOUTS), (0.999, ALIKE))
    for layout in layouts
    for areas in AREAS
)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return what is found of the differences of a design, by metric and method."""
    y = design.truly(design.rows)
    return of_differences(
        truth(design),
        METHODS,
        sets,
        lambda number: design.scores(y, np.random.default_rng([number, design.classes, design.rows])),
        lambda metric, name, scores, number: jaxci.compare(metric, y, *scores, rng=number, method=name),
    )


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width, below .05, width / 3.92 sd")
