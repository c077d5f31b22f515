"""What ``generalization_interval`` gives by default covers the risk, through the verb itself: no other door is tried.

The full design is ``benchmarks/generalization_defaults.py``.
"""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest

import jaxci
from jaxci.inducers.registry import as_inducer

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

REPLICATIONS = 150


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
        yield importlib.import_module("generalization_defaults")


CASES = {
    "a rare class": ("two classes, 0.1 positive, slope 2.2", "logistic", "zero_one", 300),
    "a rare class, few rows": ("two classes, 0.1 positive, slope 2.2", "logistic", "brier", 50),
    "a majority": ("two classes, 0.1 positive, slope 2.2", "constant", "zero_one", 300),
    "balanced": ("two classes, 0.5 positive, slope 2.2", "logistic", "brier", 100),
    "targets": ("linear, normal errors", "ridge:alpha=0.1", "squared", 300),
    "few targets": ("linear, normal errors", "ridge:alpha=0.1", "squared", 20),
    "ten groups": ("linear, even groups", "ridge:alpha=0.1", "squared", 10),
    "uneven groups": ("two classes, 0.5 positive, uneven groups", "logistic", "zero_one", 10),
    "forty groups": ("two classes, 0.15 positive, even groups", "logistic", "brier", 40),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.false_alarm(1e-4)
def test_the_default_covers_the_risk(bench, case):
    """At least 92%, give or take 3.7 Monte-Carlo errors of 150 data sets."""
    wanted = CASES[case]
    design = next(d for d in bench.designs() if (d.law, d.learner, d.loss, d.size) == wanted)
    row = bench.simulate(design, REPLICATIONS)
    assert row["coverage"] > 0.92 - 3.7 * math.sqrt(0.92 * 0.08 / REPLICATIONS)
    assert row["data_sets"] > 0.95 * REPLICATIONS


@pytest.mark.false_alarm(1e-4)
def test_splits_within_classes_cover_it_with_what_they_hide_and_not_without(bench):
    """A constant is wrong on every row of the rare class and on no other: nothing but their shares varies."""
    draw = bench.classes(0.1, 2.2)
    rng, held = np.random.default_rng(4), {True: [], False: []}
    for seed in range(REPLICATIONS):
        X, y, *_ = draw(rng, 200)
        within = jaxci.generalization_interval(as_inducer("constant"), X, y, stratify=True, rng=seed, progress=False)
        held[True].append(within.confidence_interval.low <= 0.1 <= within.confidence_interval.high)
        means = np.nanmean(within.losses, axis=1)
        error = 2.06 * math.sqrt((1 / 25 + 1 / 9) * means.var(ddof=1))
        held[False].append(abs(means.mean() - 0.1) < error)
    least = 0.92 - 3.7 * math.sqrt(0.92 * 0.08 / REPLICATIONS)
    assert np.mean(held[True]) > least
    assert np.mean(held[False]) < 0.7


def heavy_groups(rng):
    """Draw 60 groups: a fifth has 32 rows with errors of variance 4, others 2 rows with errors of variance 1."""
    large = rng.random(60) < 0.2
    groups = np.repeat(range(60), np.where(large, 32, 2))
    X = rng.normal(size=(len(groups), 2))
    return X, X[:, 0] + np.where(large, 2.0, 1.0)[groups] * rng.normal(size=len(groups)), {"groups": groups}


def heavy_rows(rng):
    """Draw 60 rows: a fifth has errors of variance 4 and a weight of 5, others have 1 of both."""
    heavy, X = rng.random(60) < 0.2, rng.normal(size=(60, 2))
    y = X[:, 0] + np.where(heavy, 2.0, 1.0) * rng.normal(size=60)
    return X, y, {"sample_weight": np.where(heavy, 5.0, 1.0)}


@pytest.mark.parametrize(("draw", "noise"), [(heavy_groups, 3.4), (heavy_rows, 4.8 / 1.8)])
@pytest.mark.false_alarm(1e-4)
def test_rows_that_count_for_more_are_no_less_noisy(draw, noise):
    """Of groups that counted alike intervals held the risk of a new row in 0%; with heavy rows in 77%."""
    held = []
    for seed in range(REPLICATIONS):
        X, y, given = draw(np.random.default_rng(seed))
        design, mass = np.c_[np.ones(len(y)), X], np.sqrt(given.get("sample_weight", np.ones(len(y))))[:, None]
        slopes = np.linalg.lstsq(mass * design, mass[:, 0] * y, rcond=None)[0]
        low, high = jaxci.generalization_interval("linear", X, y, rng=seed, progress=False, **given).confidence_interval
        held.append(low <= noise + np.sum((slopes - [0, 1, 0]) ** 2) <= high)
    assert np.mean(held) > 0.92 - 3.7 * math.sqrt(0.92 * 0.08 / REPLICATIONS)


class Nearest:
    """The label of the nearest row, by some columns."""

    def __init__(self, *columns):
        self.columns = list(columns)

    def fit(self, X, y):
        self.X, self.y = X[:, self.columns], y
        return self

    def predict(self, X):
        return self.y[((X[:, None, self.columns] - self.X) ** 2).sum(axis=2).argmin(axis=1)]

    decision_function = predict


def two_sums(rng, n):
    """Draw classes by the sum of six columns and noise."""
    X = rng.normal(size=(n, 6))
    return X, (X.sum(axis=1) + rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(("n", "loss"), [(100, "zero_one"), (200, "roc_auc")])
@pytest.mark.false_alarm(1e-5)
def test_learners_that_follow_single_rows_are_seldom_told_apart(n, loss):
    """By three columns each, of six that count alike: 25 subsamples tell them apart in 11 to 13% of data sets."""
    apart = []
    for seed in range(2 * REPLICATIONS):
        X, y = two_sums(np.random.default_rng(seed), n)
        learners = Nearest(0, 1, 2), Nearest(3, 4, 5)
        found = jaxci.compare_inducers(*learners, X, y, loss=loss, rng=seed, n_jobs=1, progress=False)
        apart.append(found.pvalue < 0.05)
    assert np.mean(apart) < 0.05 + 3.7 * math.sqrt(0.05 * 0.95 / len(apart))  # about 3% are
