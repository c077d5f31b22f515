"""Simulate intervals for areas and average precisions of rows weighted by importance, through ``jaxci.interval``.

Run ``python benchmarks/weighted_ranks.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Scores are normal in either class. Rows are drawn with chances that rise or fall with the score, as by a
filter, and weigh the inverse; or weights are unrelated to the scores. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate
from sklearn.metrics import average_precision_score, roc_auc_score

import jaxci

RESAMPLES = 999
METRICS = ("roc_auc", "average_precision")
METHODS = ("auto", "proper_bayesian")
LEAST = 0.02
"""Chance of a row's being drawn, at least, where these differ by score; at most 0.52."""


class Design(NamedTuple):
    """Data: the distance of the classes' mean scores, the share of positives, rows that are drawn, and their weights.

    ``weights`` is "lognormal", "of class" (rows of class 0 are drawn at .15 of the chance of others), or how steeply
    the chance of being drawn changes with the score, on the logit scale.
    """

    distance: float
    prevalence: float
    n: int
    weights: str | float

    def rows(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return classes and scores (size,) of the population."""
        y = (rng.random(size) < self.prevalence).astype(int)
        return y, rng.normal(size=size) + self.distance * y

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return classes, both of which occur, scores and weights (n,)."""
        while True:
            y, score = self.rows(rng, 60 * self.n)
            chance = np.ones(len(y))
            if self.weights == "of class":
                chance = np.where(y == 1, 1, 0.15)
            elif not isinstance(self.weights, str):
                chance = 0.5 / (1 + np.exp(-self.weights * (score - self.distance / 2))) + LEAST
            kept = np.flatnonzero(rng.random(len(y)) < chance)[: self.n]
            if len(kept) == self.n and len(np.unique(y[kept])) == 2:
                break
        weights = rng.lognormal(size=self.n) if self.weights == "lognormal" else 1 / chance[kept]
        return y[kept], score[kept], weights

    @property
    def truth(self) -> dict[str, float]:
        """True values, by metric, of two million rows."""
        y, score = self.rows(np.random.default_rng(7), 2_000_000)
        return {"roc_auc": roc_auc_score(y, score), "average_precision": average_precision_score(y, score)}


DATA = (
    (1.8, 0.3, 30),
    (3.3, 0.3, 30),
    (1.8, 0.1, 100),
    (3.3, 0.1, 100),
    (0.75, 0.3, 100),
    (1.8, 0.3, 100),
    (3.3, 0.3, 100),
    (1.8, 0.1, 300),
    (3.3, 0.1, 300),
    (1.8, 0.5, 50),
    (1.8, 0.3, 1000),
)
DESIGNS = tuple(Design(*data, weights) for weights in ("lognormal", "of class", 1.0, -1.0, 3.0) for data in DATA)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one, and how often there was a warning of every method, by metric."""
    true = design.truth
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number in range(sets):
        y, score, weights = design.drawn(np.random.default_rng([number, design.n]))
        for metric in METRICS:
            for method in METHODS:
                found = jaxci.interval(
                    metric, y, score, sample_weight=weights, method=method, n_resamples=RESAMPLES, rng=number
                )
                low, high = found.confidence_interval
                warned = any("weights go with the scores" in text for text in found.warnings)
                one = low <= true[metric] <= high, high - low, warned
                held.setdefault(metric, {}).setdefault(method, []).append(one)
            estimates[metric].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width over the needed, warned")
