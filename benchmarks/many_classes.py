"""Simulate what intervals of metrics of many classes cover, through ``jaxci.evaluate``.

Run ``python benchmarks/many_classes.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Nominal 95%. Classes are equally frequent; each is taken for five others, and now and then for any.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from simulated import CLASS_MEANS, averaged, class_means, simulate

import jaxci

METHODS = ("auto", "proper_bayesian")
METRICS = (*CLASS_MEANS[:1], *CLASS_MEANS[2:], "matthews_corrcoef")
RESAMPLES, TAKEN_FOR, SPREAD = 999, 0.7, 8.0
LARGE, MANY_RESAMPLES = 400, 9999
"""Classes from which on ``auto`` does not resample their tables so often; no other method is tried then."""


class Design(NamedTuple):
    """Number of classes, rows of each on average, and mean recall."""

    classes: int
    rows: int
    recall: float


@functools.cache
def law(design: Design) -> np.ndarray:
    """Return the probabilities (K, K) of true and predicted classes."""
    rng, k = np.random.default_rng(5), design.classes
    recalls = rng.beta(design.recall * SPREAD, (1 - design.recall) * SPREAD, k)
    table = np.zeros((k, k))
    for own in range(k):
        others = np.delete(np.arange(k), own)
        table[own, others] = (1 - TAKEN_FOR) / (k - 1)
        table[own, rng.choice(others, 5, replace=False)] += TAKEN_FOR * rng.dirichlet(np.ones(5))
    table *= (1 - recalls)[:, None]
    table[np.diag_indices(k)] = recalls
    return table / k


@functools.cache
def truth(design: Design) -> dict[str, float]:
    """Return the true metrics."""
    table = law(design)
    true, taken, hits = table.sum(axis=1), table.sum(axis=0), np.trace(table)
    chance = true @ taken
    matthews = (hits - chance) / np.sqrt((1 - true @ true) * (1 - taken @ taken))
    return class_means(table) | {"matthews_corrcoef": float(matthews)}


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and the share of warned data sets by metric and method."""
    k, known = design.classes, truth(design)
    found: dict[str, dict[str, list[Any]]] = {metric: {} for metric in METRICS}
    for number in range(sets):
        rng = np.random.default_rng([number, k, design.rows])
        y, guess = np.divmod(rng.choice(k * k, k * design.rows, p=law(design).ravel()), k)
        for name in METHODS if k < LARGE else METHODS[:1]:
            resamples = RESAMPLES if k < LARGE else MANY_RESAMPLES
            table = jaxci.evaluate(
                y, guess, metrics=METRICS, method=name, n_resamples=resamples, rng=number, labels=np.arange(k).tolist()
            )
            for row in table:
                low, high = row.confidence_interval
                held = low <= known[row.statistic] <= high
                found[row.statistic].setdefault(name, []).append((held, high - low, bool(row.warnings)))
    return averaged(found)


DESIGNS = [Design(k, rows, recall) for k in (15, 30, 100) for rows in (5, 10, 20) for recall in (0.7, 0.9, 0.98)]
DESIGNS += [Design(LARGE, rows, recall) for rows in (5, 20, 50) for recall in (0.7, 0.9, 0.98)]

if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 100, simulated, "coverage, width, warned")
