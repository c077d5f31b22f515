"""Coverage of intervals for a classifier's accuracy, some of which retrain it: Raschka's study.

A depth-3 decision tree is trained on rows of a synthetic population, and intervals from the test
set and from resampled training sets are compared with its true accuracy. The design and five of
the methods are those of S. Raschka, "Creating Confidence Intervals for Machine Learning
Classifiers" (2022). Trees are fitted by scikit-learn on the host.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import special

from jaxci.coverage.entries import check_seed
from jaxci.coverage.processes import Work
from jaxci.coverage.runner import Runnable
from jaxci.coverage.tally import judged_row
from jaxci.generalization.base import LossInterval, normal, quantiles, student

FLIPPED = 0.25
"""Share of labels that are drawn anew, so that half of them are wrong."""
DEPTH = 3
ANGLES = 8192
"""Directions of the quadrature of a leaf's probability; its error is below 1e-4, mostly below 1e-6."""
WEIGHT = 0.632
LABEL = "two Gaussian classes: 2 informative features, 2 redundant, 1 of noise, 25% of the labels random"
CELL = "decision_tree"


def _tree_class() -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise ImportError("a study of a trained classifier needs scikit-learn: install jaxci[sklearn]") from error
    return DecisionTreeClassifier


@dataclasses.dataclass(frozen=True, eq=False)
class Population:
    """Two Gaussian classes in the plane, seen through five features.

    The law of ``sklearn.datasets.make_classification`` with 5 features of which 2 are redundant
    (and so, by its default, 2 informative and 1 of pure noise), 1 cluster a class and flip_y
    0.25 (after I. Guyon, "Design of experiments for the NIPS 2003 variable selection benchmark").
    Features keep their order, which changes nothing but how a tree breaks ties.

    Attributes
    ----------
    centres : (2, 2) array
        Mean of the informative features of each class: two corners of the square [-1, 1]^2.
    mixing : (2, 2, 2) array
        ``mixing[k]`` (2, 2) maps two standard normal variates to the deviations of class k.
    redundant : (2, 2) array
        Maps the informative features to the redundant ones.
    """

    centres: np.ndarray
    mixing: np.ndarray
    redundant: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Population:
        """Draw a population: corners without replacement, matrices uniform on [-1, 1]."""
        corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
        centres = corners[rng.permutation(4)[:2]]
        return cls(centres, rng.uniform(-1, 1, (2, 2, 2)), rng.uniform(-1, 1, (2, 2)))

    def sample(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw features (n, 5) float32, the type that trees read, and labels (n,) int."""
        classes = rng.integers(0, 2, n)
        informative = np.einsum("ni,nij->nj", rng.standard_normal((n, 2)), self.mixing[classes])
        informative += self.centres[classes]
        features = np.column_stack([informative, informative @ self.redundant, rng.standard_normal(n)])
        anew = rng.random(n) < FLIPPED
        labels = np.where(anew, rng.integers(0, 2, n), classes)
        return features.astype(np.float32), labels

    def accuracy(self, tree: Any, n_angles: int = ANGLES) -> float:
        """Return the accuracy of a fitted tree in this population, by quadrature over its leaves.

        The first four features of a class are linear in two standard normal variates, so a leaf
        is a convex polygon of the plane: along every direction an interval of radii, whose
        probability is closed. The fifth feature is independent of them.
        """
        turns = 2 * np.pi * (np.arange(n_angles) + 0.5) / n_angles
        rays = np.column_stack([np.cos(turns), np.sin(turns)])
        spread = np.column_stack([np.eye(2), self.redundant])
        slopes = [rays @ self.mixing[k] @ spread for k in (0, 1)]
        right = 0.0
        for low, high, k in leaves(tree):
            offset = self.centres[k] @ spread
            with np.errstate(divide="ignore"):
                ends = (low[:4] - offset) / slopes[k], (high[:4] - offset) / slopes[k]
            inner = np.maximum(np.minimum(*ends).max(axis=1), 0.0)
            outer = np.maximum(np.maximum(*ends).min(axis=1), inner)
            polygon = float(np.mean(np.exp(-(inner**2) / 2) - np.exp(-(outer**2) / 2)))
            right += polygon * float(special.ndtr(high[4]) - special.ndtr(low[4])) / 2
        return FLIPPED / 2 + (1 - FLIPPED) * right


def leaves(tree: Any) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return the leaves of a fitted scikit-learn tree: lower and upper bounds (d,), and the class predicted."""
    nodes, classes = tree.tree_, tree.classes_
    found = []
    whole = np.full(nodes.n_features, np.inf)
    left_to_visit = [(0, -whole, whole)]
    while left_to_visit:
        node, low, high = left_to_visit.pop()
        if nodes.children_left[node] < 0:
            found.append((low, high, int(classes[nodes.value[node, 0].argmax()])))
            continue
        feature, threshold = nodes.feature[node], nodes.threshold[node]
        middle_high, middle_low = high.copy(), low.copy()
        middle_high[feature] = min(high[feature], threshold)
        middle_low[feature] = max(low[feature], threshold)
        left_to_visit += [(nodes.children_left[node], low, middle_high), (nodes.children_right[node], middle_low, high)]
    return found


def hits(tree: Any, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return which rows (n, d) float32 a fitted tree predicts right (n,) bool."""
    return tree.classes_[tree.tree_.predict(features).argmax(axis=1)] == labels


@dataclasses.dataclass(frozen=True, eq=False)
class Retrained:
    """What the methods read of one training and one test set.

    Attributes
    ----------
    truth : float
        Accuracy of the tree of the whole training set in the population.
    right : (n_test,) bool array
        Rows of the test set that it predicts right.
    apparent : float
        Its accuracy on the training set.
    training, left_out : (B,) array
        Accuracy of the tree of every resample on the whole training set, and on the rows left out.
    test_accuracies : (B,) array
        Accuracy of the first tree in resamples of the test set.
    """

    truth: float
    right: np.ndarray
    apparent: float
    training: np.ndarray
    left_out: np.ndarray
    test_accuracies: np.ndarray


def _normal(of: Retrained, level: float) -> LossInterval:
    return normal(of.right.mean(), of.right.std() / math.sqrt(len(of.right)), level)


def _oob_t(of: Retrained, level: float) -> LossInterval:
    return student(of.left_out.mean(), of.left_out.std(ddof=1), len(of.left_out) - 1, level)


def _percentiles(accuracies: np.ndarray, level: float) -> LossInterval:
    return quantiles(accuracies.mean(), accuracies, 0.0, level)


METHODS: dict[str, Callable[[Retrained, float], LossInterval]] = {
    "normal": _normal,
    "oob_t": _oob_t,
    "oob_percentile": lambda of, level: _percentiles(of.left_out, level),
    "bootstrap_632_reversed": lambda of, level: _percentiles(WEIGHT * of.training + (1 - WEIGHT) * of.left_out, level),
    "bootstrap_632_swapped": lambda of, level: _percentiles((1 - WEIGHT) * of.training + WEIGHT * of.left_out, level),
    "bootstrap_632": lambda of, level: _percentiles((1 - WEIGHT) * of.apparent + WEIGHT * of.left_out, level),
    "test_bootstrap": lambda of, level: _percentiles(of.test_accuracies, level),
}
"""Methods by name, as :class:`ClassifierStudy` says: what was fitted and a level in, interval out."""
ON_THE_TEST_SET = ("normal", "test_bootstrap")
"""Methods whose n is the size of the test set."""


@dataclasses.dataclass(frozen=True, eq=False)
class Repetition:
    """Truth of one simulated training and test set, and estimate and bounds (7,) of each of ``METHODS``."""

    truth: float
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclasses.dataclass(frozen=True)
class ClassifierStudy(Runnable):
    """How often intervals for the accuracy of a trained classifier hold its true accuracy.

    Methods, with the numbers of the article; b = 1..B are resamples of the training set, each with
    its own tree, its accuracy on rows left out (out of bag) and on the whole training set.

    - ``normal`` (1): ``p +- z sqrt(p (1 - p) / n_test)`` about the test accuracy p;
    - ``oob_t`` (2.1): mean of the out-of-bag accuracies -+ t (B - 1 df) times their standard deviation;
    - ``oob_percentile`` (2.2): their quantiles;
    - ``bootstrap_632_reversed`` (2.3): quantiles of .632 training + .368 out-of-bag accuracy, the
      weights of the article's code;
    - ``bootstrap_632_swapped``: the same with the weights the right way round;
    - ``bootstrap_632``: .632 out-of-bag quantiles + .368 apparent accuracy, that of the tree of
      all training rows on these rows, as in B. Efron, "Estimating the Error Rate of a Prediction
      Rule" (1983), eq. 6.12;
    - ``test_bootstrap`` (3): quantiles of the accuracy in resamples of the test set.

    Parameters
    ----------
    n_train, n_test : int
        Rows of the training set (at least 20, so that no resample leaves none out) and the test set.
    n_resamples, n_repeats : int
        B, and how many populations are drawn, each with a training and a test set.
    n_truth : int
        Fresh rows on which the true accuracy is measured, as the article does with 10,000,000; 0 for
        the exact value (:meth:`Population.accuracy`).
    level : float
    seed : int
        Below 2**32.

    Raises
    ------
    ValueError
        A number out of its range.
    ImportError
        On running it, without scikit-learn.
    """

    n_train: int = 1000
    n_test: int = 1000
    n_resamples: int = 200
    n_repeats: int = 1000
    n_truth: int = 0
    level: float = 0.95
    seed: int = 0

    limits_memory = False

    def __post_init__(self) -> None:
        least = {"n_train": 20, "n_test": 2, "n_resamples": 2, "n_repeats": 2, "n_truth": 0, "seed": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
                raise ValueError(f"{name} must be a whole number, at least {smallest}; got {value!r}")
        check_seed(self.seed)
        if isinstance(self.level, bool) or not isinstance(self.level, int | float) or not 0 < self.level < 1:
            raise ValueError(f"level must be a number between 0 and 1; got {self.level!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers, as a study file holds them."""
        return {"name": "classifier-ci", "classifier": dataclasses.asdict(self)}

    def cell_names(self) -> tuple[str, ...]:
        """Return the names of the cells: there is one."""
        return (CELL,)

    def identity(self, name: str) -> dict[str, Any]:
        """Return what determines the cell: all fields."""
        return dataclasses.asdict(self)

    @property
    def n_blocks(self) -> int:
        """Number of repetitions."""
        return self.n_repeats

    def shortened(self, n_blocks: int) -> ClassifierStudy:
        """Return the study with fewer repetitions."""
        return dataclasses.replace(self, n_repeats=n_blocks)

    def cost(self, name: str) -> tuple[str, int]:
        """Return what the cost of the cell depends on."""
        return name, self.n_train

    def run_cell(self, name: str, progress: Callable[[int, int], None] | None = None) -> list[dict[str, Any]]:
        """Run all repetitions and return one row a method; B + 1 trees a repetition, about 1 ms each at n = 1000."""
        if name not in self.cell_names():
            raise ValueError(f"no cell {name!r}; there is {self.cell_names()}")
        done = []
        for r in range(self.n_repeats):
            done.append(self.repetition(r))
            if progress is not None:
                progress(r + 1, self.n_repeats)
        return self.rows(done)

    def judged(self, name: str, work: Work, progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        """Run the one cell, in the first process."""
        if work.processes.index > 0:
            return None
        started = time.perf_counter()
        return {"rows": self.run_cell(name, progress), "seconds": time.perf_counter() - started}

    def repetition(self, r: int) -> Repetition:
        """Simulate repetition ``r``, which depends on ``seed`` and ``r`` alone."""
        of_data, of_training, of_test, of_truth = map(
            np.random.default_rng, np.random.SeedSequence(self.seed, spawn_key=(r,)).spawn(4)
        )
        population = Population.drawn(of_data)
        features, labels = population.sample(of_data, self.n_train)
        tree = _fitted(features, labels, np.ones(self.n_train))
        apparent = hits(tree, features, labels).mean()
        right = hits(tree, *population.sample(of_data, self.n_test))
        if self.n_truth:
            truth = float(hits(tree, *population.sample(of_truth, self.n_truth)).mean())
        else:
            truth = population.accuracy(tree)
        training, left_out = _retrained(features, labels, self.n_resamples, of_training)
        drawn = of_test.integers(0, self.n_test, (self.n_resamples, self.n_test))
        fitted = Retrained(truth, right, float(apparent), training, left_out, right[drawn].mean(axis=1))
        return Repetition(truth, *np.array([method(fitted, self.level)[:3] for method in METHODS.values()]).T)

    def rows(self, repetitions: Iterable[Repetition]) -> list[dict[str, Any]]:
        """Judge repetitions: one row a method, as every study has it.

        The truth differs between repetitions: ``truth`` is its mean, and ``truth_error`` the standard
        error of one (0 where exact). Repetitions share nothing, so their errors are binomial.
        """
        done = list(repetitions)
        truths = np.array([one.truth for one in done])
        truth_error = math.sqrt(float(np.mean(truths * (1 - truths))) / self.n_truth) if self.n_truth else 0.0
        rows = []
        for m, method in enumerate(METHODS):
            estimates, low, high = np.array([(one.estimates[m], one.low[m], one.high[m]) for one in done]).T
            n = self.n_test if method in ON_THE_TEST_SET else self.n_train
            found = judged_row(
                "accuracy",
                method,
                self.level,
                n,
                [len(done)],
                estimates=estimates,
                low=low,
                high=high,
                truths=truths,
                truth_error=truth_error,
            )
            rows.append({"distribution": LABEL, **found})
        return rows


def _fitted(features: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> Any:
    """Fit a tree to rows taken ``counts`` times each: the fit of the resample, without gathering its rows."""
    tree = _tree_class()(max_depth=DEPTH, random_state=42)
    return tree.fit(features, labels.astype(float), sample_weight=counts, check_input=False)


def _retrained(
    features: np.ndarray, labels: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for a tree of every resample, accuracies (B,) on the whole training set and on the rows left out."""
    n = len(labels)
    training, left_out = np.empty(n_resamples), np.empty(n_resamples)
    for b in range(n_resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        right = hits(_fitted(features, labels, counts.astype(float)), features, labels)
        training[b], left_out[b] = right.mean(), right[counts == 0].mean()
    return training, left_out
