"""Simulate intervals for log loss and Brier score of sure models that are seldom wrong, by ``evaluate``.

Run ``python benchmarks/none_wrong.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data sets a
design has. So few of n rows are expected to be wrong that many samples show none; ``mass 1/4`` is the default of
``proper_bayesian``. Widths are over those that a normal interval needs, ``told`` is the share of rows with a remark.
Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate

import jaxci

METRICS = ("log_loss", "brier_score_loss")


class Design(NamedTuple):
    """Rows expected to be wrong, rows, classes, and the law of the scores of what is predicted: near to 1 if sure."""

    wrong: float
    n: int
    classes: int
    sure: float


DESIGNS = (
    Design(0, 50, 2, 50),
    Design(0.3, 100, 2, 50),
    Design(2, 30, 2, 10),
    Design(1, 50, 2, 50),
    Design(2, 50, 2, 50),
    Design(2.5, 50, 2, 50),
    Design(1, 100, 2, 50),
    Design(2, 100, 2, 10),
    Design(2, 100, 2, 300),
    Design(2.5, 100, 2, 50),
    Design(3, 100, 2, 50),
    Design(5, 100, 2, 50),
    Design(2, 200, 2, 300),
    Design(2, 1_000, 2, 50),
    Design(2, 100, 4, 50),
    Design(3, 100, 4, 50),
)


def rows(share: float, n: int, k: int, sure: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (n,) and scores (n, k) of a model that is wrong in a share of rows, as surely as it is right."""
    y = rng.integers(k, size=n)
    guess = np.where(rng.random(n) < share, (y + rng.integers(1, k, size=n)) % k, y)
    best = np.minimum(1 / k + (1 - 1 / k) * rng.beta(sure, 1, size=n), 1 - 1e-7)
    scores = np.repeat((1 - best)[:, None] / (k - 1), k, axis=1)
    scores[np.arange(n), guess] = best
    return y, scores


def losses(y: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return what every row adds to each metric (n,)."""
    brier = ((scores - np.eye(scores.shape[1])[y]) ** 2).sum(axis=1) / (2 if scores.shape[1] == 2 else 1)
    return dict(zip(METRICS, (-np.log(scores[np.arange(len(y)), y]), brier), strict=True))


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told, of the default and of the mass of the cards, by metric."""
    rng, share = np.random.default_rng(5), design.wrong / design.n
    law = (design.classes, design.sure, rng)
    true = {name: values.mean() for name, values in losses(*rows(share, 2_000_000, *law)).items()}
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {m: {"auto": [], "mass 1/4": []} for m in METRICS}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number in range(sets):
        y, scores = rows(share, design.n, *law)
        asked = {"metrics": METRICS, "labels": list(range(design.classes)), "n_resamples": 999, "rng": number}
        for name, method in (("auto", "auto"), ("mass 1/4", "proper_bayesian")):
            for row in jaxci.evaluate(y, y_score=scores, method=method, **asked):
                low, high = row.confidence_interval
                held[row.statistic][name].append((low <= true[row.statistic] <= high, high - low, bool(row.warnings)))
                estimates[row.statistic] += [row.estimate] if name == "auto" else []
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, width over needed, told")
