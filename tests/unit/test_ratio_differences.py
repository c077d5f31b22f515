"""Exact bootstrap laws of differences of two models' ratios of counts: enumeration, draws, both sums, the verb."""

import itertools
import math

import numpy as np
import pytest
from laws_of_values import assert_law_is

import jaxci
from jaxci.resampling import ratio_differences
from jaxci.resampling.laws import Atoms, Drawn
from jaxci.resampling.ratio_differences import difference_of_ratios, law_of_rows
from jaxci.resampling.ratio_kinds import Kinds
from jaxci.statistics.averaged import F1, Jaccard, Precision

pytestmark = pytest.mark.computes

LEVELS = [1e-6, 0.001, 0.025, 0.1, 0.37, 0.5, 0.7, 0.9, 0.975, 0.999]
FEW = [
    ((2, 1, 0), (1, 1, 0), (0, 0, 1)),
    ((1, 2, 0), (0, 0, 1), (2, 1, 0)),
    ((1, 0, 3), (0, 0, 1), (1, 0, 1)),
    ((0, 1, 1), (1, 1, 1), (1, 1, 0)),
    ((3, 0, 1), (0, 1, 1), (0, 0, 1)),
    ((2, 1, 0), (2, 2, 0), (0, 0, 0)),  # all rows count
    ((3, 0, 1), (0, 0, 0), (1, 0, 2)),  # no misses
    ((0, 0, 0), (0, 2, 1), (1, 1, 1)),  # no hits of the first
]


def values_of(counts, odds, undefined):
    """Differences of counts (B, 3, 3)."""

    def ratio(kinds):
        below = odds * kinds[:, 0] + kinds[:, 1]
        return np.where(below > 0, odds * kinds[:, 0] / np.where(below > 0, below, 1), undefined)

    return ratio(counts.sum(axis=2)) - ratio(counts.sum(axis=1))


def enumerated(kinds, odds, undefined):
    """Differences of all resamples that have one, and their probabilities."""
    n, seen = int(kinds.sum()), np.flatnonzero(kinds)
    drawn = list(itertools.combinations_with_replacement(range(len(seen)), n))
    counts = np.zeros((len(drawn), 9))
    counts[:, seen] = [np.bincount(chosen, minlength=len(seen)) for chosen in drawn]
    ways = math.factorial(n) / np.prod(np.vectorize(math.factorial)(counts.astype(int)), axis=1)
    masses = ways * np.prod((kinds.ravel() / n) ** counts, axis=1)
    values = values_of(counts.reshape(-1, 3, 3), odds, undefined)
    known = ~np.isnan(values)
    return values[known], masses[known] / masses[known].sum()


def models(n, prevalence, accuracies, alike, *, f1, seed=0):
    """Kinds of rows of two models, of which a share makes the same mistakes: of F1 or precision."""
    rng = np.random.default_rng(seed)
    y, base = rng.random(n) < prevalence, rng.random(n)
    kinds = []
    for accuracy in accuracies:
        right = np.where(rng.random(n) < alike, base, rng.random(n)) < accuracy
        guess = np.where(right, y, ~y)
        kinds.append(np.where(guess & y, 0, np.where(guess | (y & f1), 1, 2)))
    return np.bincount(3 * kinds[0] + kinds[1], minlength=9).reshape(3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("odds", [1.0, 2.0, 1.25])
def test_laws_are_those_of_all_resamples(odds, undefined):
    for rows in FEW:
        kinds = np.array(rows)
        values, masses = enumerated(kinds, odds, undefined)
        law = difference_of_ratios(kinds, odds, undefined)
        assert law is not None
        mean = masses @ values
        assert law.mean == pytest.approx(mean, abs=1e-7)
        assert law.standard_error == pytest.approx(math.sqrt(masses @ (values - mean) ** 2), abs=1e-6)
        assert isinstance(law, Atoms) or law.error_bound < 1e-3
        assert_law_is(law, values, masses, LEVELS, 1e-6)
        for atom in (-1.0, 0.0, 1.0):  # one value each
            held = masses[np.abs(values - atom) < 1e-12].sum()
            assert law.masses[np.abs(law.atoms - atom) < 1e-12].sum() == pytest.approx(held, abs=2e-7)


DRAWN = [
    (60, 0.3, (0.9, 0.8), 0.5, True),
    (300, 0.1, (0.9, 0.88), 0.9, False),
    (3000, 0.2, (0.9, 0.88), 0.5, True),
    (3000, 0.5, (0.99, 0.985), 0.99, False),
    (100_000, 0.1, (0.97, 0.968), 0.9, True),
    (100_000, 0.02, (0.99, 0.985), 0.5, False),
]


SLOW = (301, 0.3, (0.8, 0.79), 0.5, True)
"""Of these the law takes seconds."""


@pytest.mark.slow
@pytest.mark.parametrize(("n", "prevalence", "accuracies", "alike", "f1"), [*DRAWN, SLOW])
@pytest.mark.false_alarm(1e-8)
def test_a_million_drawn_differences_agree(n, prevalence, accuracies, alike, f1):
    kinds, odds, drawn = models(n, prevalence, accuracies, alike, f1=f1), 1.0 + f1, 10**6
    law = difference_of_ratios(kinds, odds, 0.0)
    if n == SLOW[0]:
        assert law is None
        law = difference_of_ratios(kinds, odds, 0.0, patience=60.0)
    assert law is not None
    assert law.error_bound < 1e-3
    assert law.probability_error < 4e-4
    counts = np.random.default_rng(1).multinomial(n, kinds.ravel() / n, size=drawn).reshape(-1, 3, 3)
    replicates = Drawn.of(values_of(counts, odds, 0.0))
    band = math.sqrt(math.log(2 / 1e-10) / (2 * drawn)) + law.probability_error  # Dvoretzky, Kiefer and Wolfowitz
    near = float(law.error) + 1e-12
    for p in LEVELS[1:]:
        found = law.quantile(p)
        assert replicates.share_below(found - near) - band <= p <= replicates.share_below(found + near) + band
    assert law.share_below(0.0) == pytest.approx(float(replicates.share_below(0.0)), abs=band)
    assert law.mean == pytest.approx(float(replicates.mean), abs=0.007 * float(law.standard_error))
    assert law.standard_error == pytest.approx(float(replicates.standard_error), rel=0.008)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "prevalence", "accuracies", "alike", "f1"),
    [
        (300, 0.3, (0.9, 0.85), 0.5, True),
        (300, 0.5, (0.9, 0.85), 0.5, False),
        (400, 0.1, (0.9, 0.87), 0.5, False),
        (1000, 0.05, (0.97, 0.96), 0.5, False),
        (1000, 0.5, (0.97, 0.95), 0.9, False),
    ],
)
def test_every_count_and_every_other_tell_the_same(monkeypatch, n, prevalence, accuracies, alike, f1):
    monkeypatch.setattr(ratio_differences, "MOST_LATTICE", 0.05)
    rows = Kinds.of(models(n, prevalence, accuracies, alike, f1=f1).astype(float), 1.0 + f1, 0.0)
    every, smooth = law_of_rows(rows, 4e7), law_of_rows(rows, 4e7, every=False)
    assert every is not None
    assert smooth is not None
    assert every.probability_error < 1e-6 < smooth.probability_error
    assert smooth.mean == pytest.approx(every.mean, abs=1e-6 * every.standard_error)
    assert smooth.standard_error == pytest.approx(every.standard_error, rel=1e-5)
    near = float(every.error + smooth.error)
    for value in every.mean + every.standard_error * np.linspace(-4, 4, 801):
        found, slack = smooth.share_below(value), smooth.probability_error + 1e-6
        assert every.share_below(value - near) - slack <= found <= every.share_below(value + near) + slack


@pytest.mark.parametrize(
    ("kinds", "values", "masses"),
    [
        (((50, 0, 0), (0, 9, 0), (0, 0, 800)), [0.0], [1.0]),  # models alike
        (((50, 0, 7), (0, 0, 0), (4, 0, 40_000)), [0.0], [1.0]),  # both without mistakes
        (((0, 0, 20), (0, 0, 0), (0, 0, 0)), [1.0], [1.0]),  # one model never tries
        (((0, 0, 0), (0, 0, 0), (1, 0, 14)), [-1.0, 0.0], [1 - (14 / 15) ** 15, (14 / 15) ** 15]),
        (((0, 0, 0), (0, 0, 0), (0, 0, 14)), [0.0], [1.0]),  # none does
    ],
)
def test_laws_of_a_few_values(kinds, values, masses):
    law = difference_of_ratios(np.array(kinds), 1.0, 0.0)
    assert isinstance(law, Atoms)
    np.testing.assert_allclose(law.atoms, values, atol=1e-15)
    np.testing.assert_allclose(law.masses, masses, atol=1e-9)


def test_a_difference_of_rows_that_all_count_is_a_share():
    kinds = np.array([[5000, 200, 0], [100, 400, 0], [0, 0, 0]])
    law = difference_of_ratios(kinds, 1.0, 0.0)
    assert law is not None
    n, apart = 5700, 100 / 5700
    assert law.mean == pytest.approx(apart, abs=1e-9)
    assert law.standard_error == pytest.approx(math.sqrt((300 / n - apart**2) / n), rel=1e-6)


def test_the_order_of_models_is_the_sign():
    kinds = models(200, 0.3, (0.9, 0.85), 0.9, f1=True)
    one, other = (difference_of_ratios(rows, 2.0, 0.0) for rows in (kinds, kinds.T))
    assert one is not None
    assert other is not None
    assert one.mean == pytest.approx(-other.mean, abs=1e-9)
    for p in LEVELS:
        assert one.quantile(p) == pytest.approx(-other.quantile(1 - p), abs=float(one.error + other.error) + 2e-3 * p)


def test_what_costs_too_much_or_has_no_value_has_no_law():
    assert difference_of_ratios(np.array([[0, 0, 0], [0, 0, 0], [4, 5, 0]]), 1.0, np.nan) is None
    assert difference_of_ratios(np.array([[5000, 1, 0], [0, 80, 1], [1, 0, 94_000]]), 2.0, 0.0) is None  # a lattice
    kinds = models(200, 0.3, (0.9, 0.85), 0.5, f1=True).astype(float)
    assert law_of_rows(Kinds.of(kinds, 2.0, 0.0), 1e5) is None


def labels(n, seed=3):
    rng = np.random.default_rng(seed)
    y, base = (rng.random(n) < 0.3).astype(int), rng.random(n)
    b = np.where(rng.random(n) < 0.8, base, rng.random(n)) < 0.87
    return y, np.where(base < 0.9, y, 1 - y), np.where(b, y, 1 - y)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["percentile", "basic", "bc", "bca"])
@pytest.mark.parametrize("metric", ["f1", "precision", "jaccard", "negative_predictive_value"])
@pytest.mark.false_alarm(1e-7)
def test_intervals_of_differences_are_read_without_a_seed(metric, method):
    for n in (80, 2000):
        rows = labels(n)
        exact = jaxci.compare(metric, *rows, method=method)
        drawn = jaxci.compare(metric, *rows, method=method, n_resamples=29_999, rng=1)
        assert (exact.n_resamples, drawn.n_resamples) == (0, 29_999)
        assert exact.error_bound < 1e-3 * exact.standard_error
        assert math.isnan(drawn.error_bound)
        assert exact.confidence_interval == jaxci.compare(metric, *rows, method=method, rng=7).confidence_interval
        slack = 0.12 * exact.standard_error
        np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)
        assert exact.pvalue == pytest.approx(drawn.pvalue, rel=0.2, abs=0.002)


def test_laws_that_take_seconds_are_had_by_name():
    rows = labels(350)
    drawn, exact = (jaxci.compare("f1", *rows, method=method, rng=0) for method in ("percentile", "exact"))
    assert (drawn.n_resamples, exact.n_resamples) == (9_999, 0)
    assert exact.error_bound < 1e-3 * exact.standard_error
    slack = 0.15 * exact.standard_error
    np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)


@pytest.mark.parametrize("metric", [F1(average="class"), Jaccard(average="micro"), Precision(average="class")])
def test_other_ratios_have_laws(metric):
    found = jaxci.compare(metric, *labels(80), method="percentile")
    assert found.n_resamples == 0
    assert found.confidence_interval.low < found.estimate < found.confidence_interval.high


def test_resamples_without_a_value_are_told():
    y, a, b = (np.repeat(x, [2, 1, 40]) for x in ((1, 0, 0), (1, 0, 0), (1, 1, 0)))
    b[0] = 0
    share = 100 * ((41 / 43) ** 43 + (41 / 43) ** 43 - (40 / 43) ** 43)
    precision = Precision(zero_division=np.nan)
    with pytest.warns(jaxci.JaxciWarning, match=f"undefined in {share:.3g}% of resamples"):
        jaxci.compare(precision, y, a, b, method="percentile")
