"""Simulate ``compare`` of two models' labels of weighted rows, one of which is worse by 5% of the rows.

Run ``python benchmarks/weighted_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Weights are lognormal and go with nothing. "above" is how often the whole interval lies above the
true difference, so that the worse model would not be called inferior, "below" the opposite. Nominal 2.5% each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import averaged, simulate
from sklearn import metrics

import jaxci

METRICS = {
    "accuracy": metrics.accuracy_score,
    "recall": metrics.recall_score,
    "f1": metrics.f1_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
}
MANY = 2_000_000


class Design(NamedTuple):
    """Rows, standard deviation of the logarithm of the weights, share of positives, errors of the worse model."""

    n: int
    uneven: float
    positive: float
    wrong: float

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        """Return labels and two models' predictions of n rows; the second is wrong on .05 fewer of them."""
        y, hard, alike = (rng.random(n) < self.positive).astype(int), rng.random(n), rng.random(n) < 0.6
        second = np.where(alike, hard, rng.random(n)) < self.wrong - 0.05
        return y, np.where(hard < self.wrong, 1 - y, y), np.where(second, 1 - y, y)

    @property
    def truth(self) -> dict[str, float]:
        """Differences in very many rows."""
        y, a, b = self.draw(np.random.default_rng(0), MANY)
        return {name: score(y, a) - score(y, b) for name, score in METRICS.items()}


DESIGNS = [
    Design(*design)
    for design in (
        (100, 1.0, 0.3, 0.09),
        (300, 0.0, 0.3, 0.09),
        (300, 0.5, 0.3, 0.09),
        (300, 1.0, 0.3, 0.09),
        (300, 1.0, 0.1, 0.09),
        (300, 1.0, 0.3, 0.2),
        (300, 1.5, 0.3, 0.09),
        (1000, 1.0, 0.3, 0.09),
    )
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return how often intervals lie above and below the truth, their mean width and share of remarks."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {name: {"auto": []} for name in METRICS}
    truth = design.truth
    for number in range(sets):
        rng = np.random.default_rng([number, design.n])
        y, a, b = design.draw(rng, design.n)
        weights = rng.lognormal(sigma=design.uneven, size=design.n)
        for name, found in held.items():
            row = jaxci.compare(name, y, a, b, sample_weight=weights)
            low, high = row.confidence_interval
            found["auto"].append((low > truth[name], high < truth[name], high - low, bool(row.warnings)))
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "above, below, mean width, told")
