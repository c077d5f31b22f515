"""Agreement and weighted averages of labels of rows weighted by importance: where few rows of a class are wrong."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import jaxci
from jaxci.inference.choice_of_weights import FEW_OF_CLASS_WRONG
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.kurtosis import KurtosisT

ROOT = Path(__file__).resolve().parents[2]
METRICS = ["matthews_corrcoef", "cohen_kappa_score", "precision_weighted", "f1_weighted"]
OF_CLASSES = np.array([1.8, 0.2, 1.0])


def rows_of(metrics, sizes, wrong, weights=None, **given):
    """Evaluate classes of ``sizes``, so many rows of each taken for the next class; by default each has a weight."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    weights = OF_CLASSES[y] if weights is None else weights
    number = np.concatenate([np.arange(size) for size in sizes])
    guess = np.where(number < np.array(wrong)[y], (y + 1) % len(sizes), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        return list(jaxci.evaluate(y, guess, metrics=metrics, sample_weight=weights, n_resamples=99, rng=0, **given))


@pytest.mark.parametrize("strata", [None, np.arange(120) % 3])
@pytest.mark.parametrize(
    ("sizes", "wrong", "method"),
    [
        ((80, 40), (3, 4), KurtosisT()),
        ((80, 40), (3, 2), ProperBayesian()),
        ((80, 40), (0, 5), ProperBayesian(mass=0.75)),
        ((112, 8), (4, 0), ProperBayesian()),
        ((80, 40), (78, 38), ProperBayesian()),
        ((60, 40, 20), (3, 5, 4), KurtosisT()),
        ((60, 40, 20), (3, 5, 0), ProperBayesian(mass=0.75)),
    ],
)
def test_influence_tells_where_rows_of_every_class_are_wrong(sizes, wrong, method, strata):
    found = rows_of(METRICS, sizes, wrong, strata=strata)
    assert [row.method for row in found] == [method] * len(METRICS)
    assert [FEW_OF_CLASS_WRONG in row.warnings for row in found] == [method != KurtosisT()] * len(METRICS)


def test_shares_and_rows_that_do_not_count_are_not_looked_at():
    (share,) = rows_of(["accuracy"], (80, 40), (0, 1))
    assert share.method.name == "wilson"
    (few,) = rows_of(METRICS[:1], (20, 20), (0, 5))
    assert few.method == ProperBayesian()
    weights = np.where(np.arange(120) < 3, 0.0, 1.0 + (np.arange(120) < 80))  # the wrong rows of the first class
    assert rows_of(METRICS[:1], (80, 40), (3, 4), weights)[0].method == ProperBayesian(mass=0.75)


def test_rows_that_weigh_little_beside_others_do_not_tell():
    """Of lognormal weights of sd 2 influence covered .70 of 300 rows, random weights .97."""
    heavy, light = (np.random.default_rng(5).lognormal(sigma=sd, size=120) for sd in (2, 0.1))
    assert [rows_of(METRICS[:1], (60, 60), (6, 8), x)[0].method for x in (heavy, light)] == [
        ProperBayesian(),
        KurtosisT(),
    ]


def test_wrong_rows_of_next_to_no_weight_do_not_tell_that_there_are_no_heavy_ones():
    number = np.concatenate([np.arange(60), np.arange(60)])
    tiny, light = (np.where(number < 8, weight, 1.0) for weight in (1e-3, 0.1))
    found = [rows_of(METRICS[:1], (60, 60), (8, 8), x)[0].method for x in (tiny, light)]
    assert found == [ProperBayesian(), KurtosisT()]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_classes_that_weigh_nothing_beside_others_have_rows_in_effect():
    weights = np.where(np.arange(120) < 60, 1e-200, 1.0)
    (found,) = rows_of(["f1_weighted"], (60, 60), (3, 4), weights)
    assert found.method == KurtosisT()


def test_classes_without_rows_are_told_of():
    y, weights = np.zeros(120, int), 1.0 + np.arange(120) % 2
    (found,) = jaxci.evaluate(
        y, 1 * (np.arange(120) < 20), metrics=METRICS[:1], sample_weight=weights, n_resamples=99, rng=0
    )
    assert found.method == ProperBayesian()
    assert any("y_true holds one of the two classes only" in text for text in found.warnings)


def test_what_was_not_seen_of_a_predicted_class_weighs_as_its_true_class_does():
    """Of light positives it weighed as heavy negatives do: intervals of precisions were 2.5 times as wide as needed."""
    light = np.where(np.arange(120) < 60, 1.96, 0.04)
    (bayesian,), (influence,) = (
        rows_of(["precision_weighted"], (60, 60), (3, 6), light, method=method)
        for method in ("proper_bayesian", "kurtosis_t")
    )
    assert np.ptp(bayesian.confidence_interval) < 1.2 * np.ptp(influence.confidence_interval)


def test_the_page_and_the_remark_say_what_the_benchmark_found():
    page = " ".join((ROOT / "docs" / "weights.md").read_text().split())
    designs = json.loads((ROOT / "benchmarks" / "results" / "weighted_labels.json").read_text())["designs"]
    held = [(x, x["coverage, width, warned"][name]) for x in designs for name in METRICS]

    def covered(kept, method="auto"):
        found = [100 * one[method][0] for x, one in held if kept(x, one)]
        return f"{min(found):.0f}% to {max(found):.0f}%"

    def heavy(x):
        return x["weights"] == "heavy where wrong"

    def few_heavy(x, one):
        return heavy(x) and x["n"] == 100 and x["right"] == [0.95, 0.95]

    def others(x, one):
        return x["n"] >= 100 and not heavy(x)

    assert f"are covered {covered(others)} from 100 rows on" in page
    assert f"(`proper_bayesian` {covered(others, 'proper_bayesian')}), and {covered(few_heavy)} where 5 of 100" in page
    assert f"covered {covered(lambda x, one: one['auto'][2] > 0.9)} in simulations" in FEW_OF_CLASS_WRONG
