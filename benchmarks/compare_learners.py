"""Simulate what intervals of the difference of two equally good learners cover, through ``jaxci.compare_inducers``.

Run ``python benchmarks/compare_learners.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Nominal 95%. Both learners see three columns each of six that count alike, so that the true
difference is 0: by the default, 10 folds, and by 25 subsamples. Designs of one learner are of its risk: by the default,
25 subsamples, and by 25 folds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from simulated import averaged, simulate
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import jaxci

FRESH = 5_000
APART = 2.2
"""Standard deviations between the classes of ``classes_apart`` in every column."""
LEARNERS = {
    "nearest neighbour": KNeighborsClassifier(1),
    "full tree": DecisionTreeClassifier(random_state=0),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "least squares": LinearRegression(),
}
SPLITS: Mapping[str, Mapping[str, Any]] = {"default": {}, "25 subsamples": {"n_subsamples": 25}}
SPLITS_OF_ONE: Mapping[str, Mapping[str, Any]] = {"default": {}, "25 folds": {"cv": 25}}


class Columns:
    """A learner that sees three of the columns."""

    def __init__(self, learner: Any, first: int) -> None:
        self.learner, self.first = learner, first

    def _seen(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.first : self.first + 3]

    def fit(self, X: np.ndarray, y: np.ndarray) -> Columns:
        """Fit the learner."""
        self.learner.fit(self._seen(X), y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return labels, or values."""
        return np.asarray(self.learner.predict(self._seen(X)))


class Ranking(Columns):
    """The same with scores."""

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return labels, as what ranks rows."""
        return self.predict(X).astype(float)


class Design(NamedTuple):
    """Learners, the law of the data, what they are judged by, rows, and how many learners there are."""

    learner: str
    law: str
    loss: str
    n: int
    learners: int = 2


def draw(law: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and targets."""
    X = rng.normal(size=(n, 6))
    if law == "classes apart":
        y = np.arange(n) % 2
        return X + APART * (y[:, None] - 0.5), y
    noisy = X.sum(axis=1) + rng.normal(size=n)
    return X, noisy if law == "values" else (noisy > 0).astype(int)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width by how rows are split."""
    splits = SPLITS if design.learners == 2 else SPLITS_OF_ONE
    held: dict[str, list[tuple[bool, float]]] = {name: [] for name in splits}
    asked = {"loss": design.loss, "n_jobs": 1, "progress": False}
    kind = Ranking if design.loss == "roc_auc" else Columns
    first, second = (kind(LEARNERS[design.learner], first) for first in (0, 3))
    for r in range(sets):
        rng = np.random.default_rng([design.n, r])
        data, truth = draw(design.law, rng, design.n), 0.0
        if design.learners == 1:
            X, y = draw(design.law, rng, FRESH)
            truth = float(np.mean(first.fit(*data).predict(X) != y))
        for name, given in splits.items():
            if design.learners == 1:
                found = jaxci.generalization_interval(first, *data, rng=r, **asked, **given)
            else:
                found = jaxci.compare_inducers(first, second, *data, rng=r, **asked, **given)
            low, high = found.confidence_interval
            held[name].append((bool(low <= truth <= high), high - low))
    return averaged({design.loss: held})


def designs() -> list[Design]:
    """Return all designs."""
    pairs = [
        Design(learner, law, loss, n)
        for learner, law, loss in (
            ("nearest neighbour", "classes", "zero_one"),
            ("nearest neighbour", "classes apart", "zero_one"),
            ("full tree", "classes", "zero_one"),
            ("linear discriminant", "classes apart", "zero_one"),
            ("least squares", "values", "squared"),
        )
        for n in (40, 100)
    ]
    pairs.append(Design("nearest neighbour", "classes", "roc_auc", 200))
    return pairs + [Design("nearest neighbour", "classes", "zero_one", n, 1) for n in (150, 300)]


if __name__ == "__main__":
    simulate(__doc__, designs(), 300, simulated, "coverage, width")
