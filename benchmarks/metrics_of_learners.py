"""Simulate metrics of logistic regressions that separate two classes well, by ``generalization_interval``.

Run ``python benchmarks/metrics_of_learners.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. What is estimated is the metric of the model of all rows, on 100,000 fresh rows. Nominal 95%.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from simulated import averaged, simulate
from sklearn import metrics

import jaxci
from jaxci.inducers import Logistic
from jaxci.inducers.base import fit_predict

METRICS = {
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": metrics.f1_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
}
SCORED = ("roc_auc", "average_precision")
FRESH = 100_000
LEARNER = Logistic()


class Design(NamedTuple):
    """Rows, share of positives, how many standard deviations these lie apart, and the share of rows that splits test.

    ``tested`` is that of the default plan where it is 0. Rows come in ``groups``, which shift all features, if any.
    """

    n: int
    positive: float
    apart: float
    tested: float
    groups: int = 0

    def groups_of(self, n: int) -> np.ndarray:
        """Return groups (n,), as many rows each as among those of a data set."""
        return np.arange(n) // (self.n // self.groups)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features (n, 3) and labels (n,), two of each class at least."""
        y = np.zeros(n, int)
        while np.bincount(y, minlength=2).min() < 2:
            y = (rng.random(n) < self.positive).astype(int)
        X = rng.normal(size=(n, 3))
        X[:, 0] += self.apart * y
        if self.groups:
            own = self.groups_of(n)
            X += 0.5 * rng.normal(size=(own[-1] + 1, 3))[own]
        return X, y


DESIGNS = [
    Design(*design)
    for design in (
        (100, 0.5, 2.0, 0.0),
        (100, 0.5, 3.5, 0.5),
        (300, 0.3, 1.0, 0.0),
        (300, 0.1, 2.0, 0.5),
        (400, 0.1, 3.5, 0.5),
        (600, 0.5, 3.5, 0.0),
        (1000, 0.3, 4.2, 0.0),
        (1000, 0.05, 2.5, 0.5),
        (30, 0.5, 3.5, 0.5),
        (100, 0.05, 3.5, 0.5),
        (72, 0.5, 3.5, 0.0, 6),
        (200, 0.5, 3.5, 0.0, 20),
    )
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and share of remarks, by the scale of the ends."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {name: {"auto": [], "plain": []} for name in METRICS}
    for number in range(sets):
        rng = np.random.default_rng([number, design.n])
        X, y = design.draw(rng, design.n)
        fresh, labels = design.draw(rng, FRESH)
        rows, both = np.concatenate([X, fresh]), np.concatenate([y, labels])
        counts = (np.arange(len(both)) < design.n)[None].astype(float)
        predicted, _ = fit_predict(LEARNER, jax.random.key(0), rows, both, counts, 2)
        score = np.asarray(predicted)[0, design.n :, 1]
        given: dict[str, Any] = {} if design.tested == 0 else {"p": design.tested}
        if design.groups:
            given["groups"] = design.groups_of(design.n)
        for name, found in held.items():
            truth = METRICS[name](labels, score if name in SCORED else (score > 0.5).astype(int))
            for which, options in (("auto", {}), ("plain", {"scale": "plain"})):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = jaxci.generalization_interval(
                        LEARNER, X, y, scoring=name, rng=number, progress=False, **given, **options
                    )
                low, high = row.confidence_interval
                found[which].append((low <= truth <= high, high - low, bool(row.warnings)))
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 100, simulated, "coverage, mean width, told")
