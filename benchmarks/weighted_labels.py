"""Simulate intervals for metrics of labels of rows that are weighted by importance, through ``jaxci.evaluate``.

Run ``python benchmarks/weighted_labels.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Weights are unrelated to the labels, those of a class, or go with being right. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import CLASS_MEANS, averaged, class_means, simulate

import jaxci

RESAMPLES = 499
METHODS = ("auto", "proper_bayesian", "percentile")
BINARY = ("accuracy", "recall", "precision", "f1")
AGREEMENT = ("matthews_corrcoef", "cohen_kappa_score", "precision_weighted", "f1_weighted")
SIZES = (30, 100, 300, 1000)
WRONG = {"light where wrong": 0.1, "heavy where wrong": 10.0}
"""What wrong rows weigh, where right ones weigh 1, times lognormal factors: as rows that were drawn less, or more."""


class Design(NamedTuple):
    """Shares of the classes, how many of each are right, and weights.

    ``weights`` is "exponential", "lognormal", "heavy tails" (lognormal, sd 2), what the rows of each class weigh, or of
    :data:`WRONG`.
    """

    shares: tuple[float, ...]
    right: tuple[float, ...]
    weights: str | tuple[float, ...]
    n: int

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return classes, all of which occur, predictions and weights (n,)."""
        classes = len(self.shares)
        while True:
            y = rng.choice(classes, self.n, p=self.shares)
            if len(np.unique(y)) == classes:
                break
        wrong = rng.random(self.n) >= np.array(self.right)[y]
        guess = np.where(wrong, (y + rng.integers(1, classes, self.n)) % classes, y)
        if self.weights == "exponential":
            return y, guess, rng.exponential(size=self.n)
        if self.weights == "heavy tails":
            return y, guess, rng.lognormal(sigma=2, size=self.n)
        if self.weights == "lognormal":
            return y, guess, rng.lognormal(size=self.n)
        if isinstance(self.weights, str):
            return y, guess, np.where(wrong, WRONG[self.weights], 1.0) * rng.lognormal(0, 0.5, self.n)
        return y, guess, np.array(self.weights)[y]

    @property
    def truth(self) -> dict[str, float]:
        """True values, by metric."""
        classes, right = len(self.shares), np.array(self.right)
        weights = np.ones(classes) if isinstance(self.weights, str) else np.array(self.weights)
        mass = np.array(self.shares) * weights
        table = np.repeat((mass * (1 - right) / (classes - 1))[:, None], classes, axis=1)
        table[np.arange(classes), np.arange(classes)] = 0
        table = table * WRONG.get(self.weights, 1.0) + np.diag(mass * right)
        found = class_means(table)
        if classes == 2:
            hits, whole = table[1, 1], table.sum()
            precision, recall = hits / table[:, 1].sum(), hits / table[1].sum()
            f1 = 2 * hits / (table[:, 1].sum() + table[1].sum())
            found |= {"accuracy": np.trace(table) / whole, "recall": recall, "precision": precision, "f1": f1}
        return found | of_agreement(table / table.sum())


def of_agreement(table: np.ndarray) -> dict[str, float]:
    """Return the metrics of :data:`AGREEMENT` of a table (K, K) of probabilities."""
    true, guessed, right = table.sum(axis=1), table.sum(axis=0), np.diag(table)
    beyond_chance = right.sum() - true @ guessed
    scale = np.sqrt((1 - true @ true) * (1 - guessed @ guessed))
    weighted = (true * right / guessed).sum(), (true * 2 * right / (true + guessed)).sum()
    return dict(zip(AGREEMENT, (beyond_chance / scale, beyond_chance / (1 - true @ guessed), *weighted), strict=True))


RARE, EVEN, THREE, FOUR = (0.95, 0.05), (0.5, 0.5), (0.55, 0.4, 0.05), (0.4, 0.3, 0.2, 0.1)
KINDS = (
    (RARE, (0.99, 0.9), "exponential"),
    (RARE, (0.99, 0.9), "lognormal"),
    (RARE, (0.99, 0.9), (1.8, 0.2)),
    (RARE, (0.99, 0.9), (0.2, 1.8)),
    (EVEN, (0.98, 0.98), "exponential"),
    (EVEN, (0.98, 0.98), (1.8, 0.2)),
    (THREE, (0.98, 0.97, 0.9), "exponential"),
    (THREE, (0.98, 0.97, 0.9), "lognormal"),
    (THREE, (0.98, 0.97, 0.9), (1.0, 1.5, 0.2)),
    (THREE, (0.98, 0.97, 0.9), (1.0, 0.5, 3.0)),
    (FOUR, (0.8, 0.75, 0.7, 0.5), "exponential"),
)
DESIGNS = (
    *(Design(*kind, n) for kind in KINDS for n in SIZES),
    *(Design(EVEN, (right, right), kind, n) for right in (0.8, 0.95) for kind in WRONG for n in (100, 1000, 10000)),
    Design((0.99, 0.01), (0.995, 0.8), (1.0, 99.0), 1000),
    *(Design(EVEN, (0.9, 0.9), "heavy tails", n) for n in (100, 300, 1000)),
    *(Design(EVEN, (0.97, 0.9), (1.96, 0.04), n) for n in (100, 300)),
    *(Design((0.9, 0.1), (0.95, 0.95), (5 / 9, 5.0), n) for n in (100, 500)),
)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and how often there was a warning of every method, by metric."""
    true = design.truth
    metrics = [*(BINARY if len(design.shares) == 2 else ()), *CLASS_MEANS, *AGREEMENT]
    held: dict[str, dict[str, list[tuple[bool, float, bool]]]] = {}
    for number in range(sets):
        y, guess, weights = design.drawn(np.random.default_rng([number, design.n]))
        for method in METHODS:
            rows = jaxci.evaluate(
                y, guess, metrics=metrics, method=method, sample_weight=weights, n_resamples=RESAMPLES, rng=number
            )
            for row in rows:
                low, high = row.confidence_interval
                one = low <= true[row.statistic] <= high, high - low, bool(row.warnings)
                held.setdefault(row.statistic, {}).setdefault(method, []).append(one)
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width, warned")
