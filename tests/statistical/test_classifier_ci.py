"""The study of a retrained classifier (Raschka 2022): its truth, its intervals, and its published coverages."""

import dataclasses
import functools
import sys

import numpy as np
import pytest
from scipy import stats

from jaxci.coverage.classifier import METHODS, ClassifierStudy, Population, hits

pytest.importorskip("sklearn")
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

REPETITIONS = 45
SMALL = ClassifierStudy(n_train=120, n_test=90, n_resamples=25, n_repeats=4, seed=5)
PUBLISHED = {  # of 1,000 repetitions
    "normal": 0.956,
    "oob_t": 0.985,
    "oob_percentile": 0.980,
    "bootstrap_632_reversed": 0.832,
    "test_bootstrap": 0.945,
}


@functools.cache
def study():
    """Repetitions of the published design."""
    return tuple(ClassifierStudy(seed=1).repetition(r) for r in range(REPETITIONS))


def fitted(features, labels):
    return DecisionTreeClassifier(max_depth=3, random_state=42).fit(features, labels.astype(float))


@pytest.mark.false_alarm(4e-6)
def test_the_exact_accuracy_is_that_of_many_rows(false_alarm):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        population = Population.drawn(rng)
        tree = fitted(*population.sample(rng, 1000))
        exact, n = population.accuracy(tree), 400_000
        right = int(hits(tree, *population.sample(rng, n)).sum())
        assert stats.binomtest(right, n, exact).pvalue > false_alarm
        assert population.accuracy(tree, 2**16) == pytest.approx(exact, abs=1e-5)


@pytest.mark.false_alarm(1e-6)
def test_the_population_is_that_of_make_classification(false_alarm):
    n = 400_000
    features, labels = make_classification(
        n, 5, n_redundant=2, n_clusters_per_class=1, flip_y=0.25, shuffle=False, random_state=3
    )
    # Unshuffled rows show their class before labels are flipped, and so every part of the law.
    halves = np.split(features[:, :2], 2)
    redundant = np.linalg.lstsq(features[:, :2], features[:, 2:4])[0]
    assert np.allclose(features[:, :2] @ redundant, features[:, 2:4])
    mixing = np.array([np.linalg.cholesky(np.cov(half.T)).T for half in halves])
    population = Population(np.round([half.mean(axis=0) for half in halves]), mixing, redundant)
    assert np.all(np.abs(population.centres) == 1)
    chosen = np.random.default_rng(0).permutation(n)[:1000]
    features = features.astype(np.float32)
    tree = fitted(features[chosen], labels[chosen])
    rest = np.setdiff1d(np.arange(n), chosen)
    right = int(hits(tree, features[rest], labels[rest]).sum())
    assert stats.binomtest(right, len(rest), population.accuracy(tree)).pvalue > false_alarm


def test_one_repetition_equals_a_plain_computation():
    r = 2
    found = SMALL.repetition(r)
    of_data, of_training, of_test, _ = map(np.random.default_rng, np.random.SeedSequence(5, spawn_key=(r,)).spawn(4))
    population = Population.drawn(of_data)
    x, y = population.sample(of_data, 120)
    x_test, y_test = population.sample(of_data, 90)
    tree = fitted(x, y)
    p, apparent = tree.score(x_test, y_test), tree.score(x, y)
    training, left_out = [], []
    for _ in range(25):
        rows = of_training.integers(0, 120, 120)
        out = np.setdiff1d(np.arange(120), rows)
        other = fitted(x[rows], y[rows])  # of gathered rows, not of counts
        training.append(other.score(x, y))
        left_out.append(other.score(x[out], y[out]))
    training, left_out = np.array(training), np.array(left_out)
    agreed = tree.predict(x_test) == y_test
    resampled = [agreed[of_test.integers(0, 90, 90)].mean() for _ in range(25)]

    def percentile(accuracies):
        return [np.mean(accuracies), *np.percentile(accuracies, [2.5, 97.5])]

    wald = stats.norm(p, np.sqrt(p * (1 - p) / 90))
    t = stats.t(24, left_out.mean(), left_out.std(ddof=1))
    expected = {
        "normal": [p, *wald.interval(0.95)],
        "oob_t": [left_out.mean(), *t.interval(0.95)],
        "oob_percentile": percentile(left_out),
        "bootstrap_632_reversed": percentile(0.632 * training + 0.368 * left_out),
        "bootstrap_632_swapped": percentile(0.368 * training + 0.632 * left_out),
        "bootstrap_632": percentile(0.368 * apparent + 0.632 * left_out),
        "test_bootstrap": percentile(resampled),
    }
    got = np.column_stack([found.estimates, found.low, found.high])
    np.testing.assert_allclose(got, [expected[method] for method in METHODS], rtol=1e-12)
    assert found.truth == population.accuracy(tree)


def test_a_repetition_depends_on_the_seed_and_its_number_alone():
    whole = SMALL.run_cell(SMALL.cell_names()[0])
    longer = dataclasses.replace(SMALL, n_repeats=9)
    backwards = [longer.repetition(r) for r in (3, 2, 1, 0)]
    assert SMALL.rows(backwards[::-1]) == whole
    assert len({one.truth for one in backwards}) == 4
    other = dataclasses.replace(SMALL, seed=6)
    assert other.repetition(3).truth != backwards[0].truth


@pytest.mark.false_alarm(1e-6)
def test_a_measured_truth_is_near_the_exact_one(false_alarm):
    exact = SMALL.repetition(0)
    measured = dataclasses.replace(SMALL, n_truth=100_000).repetition(0)
    right = round(measured.truth * 100_000)
    assert stats.binomtest(right, 100_000, exact.truth).pvalue > false_alarm
    np.testing.assert_array_equal(measured.low, exact.low)


@pytest.mark.false_alarm(5e-6)
def test_coverages_are_those_published(false_alarm):
    rows = {row["method"]: row for row in ClassifierStudy().rows(study())}
    for method, published in PUBLISHED.items():
        table = [
            [round(rows[method]["coverage"] * REPETITIONS), round((1 - rows[method]["coverage"]) * REPETITIONS)],
            [round(published * 1000), round((1 - published) * 1000)],
        ]
        assert stats.fisher_exact(table).pvalue > false_alarm
        assert rows[method]["coverage"] + rows[method]["below"] + rows[method]["above"] == pytest.approx(1)


def test_reversed_weights_of_the_632_estimator_lose_coverage_by_being_narrow():
    place = {method: i for i, method in enumerate(METHODS)}
    width = np.array([one.high - one.low for one in study()])
    reversed_, swapped, efron = (
        width[:, place[name]] for name in ("bootstrap_632_reversed", "bootstrap_632_swapped", "bootstrap_632")
    )
    # Training accuracies of resampled trees share their rows and vary little; in every repetition that counts.
    assert np.mean(reversed_) < 0.8 * np.mean(swapped)
    assert np.mean(reversed_ < efron) > 0.9
    estimates = np.array([one.estimates for one in study()])
    assert np.all(estimates[:, place["bootstrap_632_reversed"]] > estimates[:, place["oob_t"]])


@pytest.mark.false_alarm(3e-4)
def test_reversed_weights_of_the_632_estimator_cover_least():
    # Of 1,000 published repetitions they covered 857, the others 938 and 916 (benchmarks/results). A smaller design
    # has the same order, and 400 repetitions that show it.
    design = dataclasses.replace(SMALL, n_repeats=400, seed=6)
    found = [design.repetition(r) for r in range(400)]
    covered = [(one.low <= one.truth) & (one.truth <= one.high) for one in found]
    shares = dict(zip(METHODS, np.mean(covered, axis=0), strict=True))
    assert shares["bootstrap_632_reversed"] < shares["bootstrap_632"]
    assert shares["bootstrap_632_reversed"] < shares["bootstrap_632_swapped"]


def test_without_scikit_learn_an_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(ImportError, match=r"install jaxci\[sklearn\]"):
        SMALL.repetition(0)


def test_numbers_out_of_range_and_unknown_cells_are_refused():
    for wrong in ({"n_train": 5}, {"n_test": 1.5}, {"n_resamples": True}, {"seed": -1}):
        name = next(iter(wrong))
        with pytest.raises(ValueError, match=name):
            ClassifierStudy(**wrong)
    with pytest.raises(ValueError, match="level"):
        ClassifierStudy(level=1.0)
    with pytest.raises(ValueError, match="no cell"):
        SMALL.run_cell("forest")
