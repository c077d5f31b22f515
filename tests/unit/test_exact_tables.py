"""Exact bootstrap laws of means and differences of shares, and of small tables: enumeration, draws, the verbs."""

import itertools
import math

import numpy as np
import pytest
from laws_of_values import assert_law_is

import jaxci
from jaxci.resampling.class_means import MOST_LEFT, MOST_ROWS, mean_of_class_means
from jaxci.resampling.laws import Drawn
from jaxci.resampling.rounded_class_means import MOST_SETS, rounded_mean_of_class_means
from jaxci.resampling.two_shares import TwoSharesLaw
from jaxci.statistics.averaged import F1, Recall

pytestmark = pytest.mark.computes

LEVELS = [1e-6, 0.001, 0.025, 0.1, 0.37, 0.5, 0.7, 0.9, 0.975, 0.999]
SMALL = [
    (hits_a, a, hits_b, n - a)
    for n in (2, 3, 6)
    for a in {1, n // 2, n - 1}
    for hits_a, hits_b in itertools.product(range(a + 1), range(n - a + 1))
]


def enumerated(hits_a, a, hits_b, b, absent):
    """Means of two shares of all resamples, ascending, and their probabilities."""
    n, values, masses = a + b, [], []
    chances = np.array([hits_a, a - hits_a, hits_b, b - hits_b]) / n
    for counts in itertools.product(range(n + 1), repeat=4):
        if sum(counts) == n:
            ways = math.factorial(n) / math.prod(map(math.factorial, counts))
            shares = [hits / (hits + misses) if hits + misses else absent for hits, misses in (counts[:2], counts[2:])]
            values.append(np.nanmean(shares))
            masses.append(ways * np.prod(chances ** np.array(counts)))
    order = np.argsort(values, kind="stable")
    return np.array(values)[order], np.array(masses)[order]


@pytest.mark.slow
@pytest.mark.parametrize("absent", [0.0, 1.0, np.nan])
def test_means_of_two_shares_are_those_of_all_resamples(absent):
    for hits_a, a, hits_b, b in SMALL:
        values, masses = enumerated(hits_a, a, hits_b, b, absent)
        law = TwoSharesLaw.of(np.array([hits_a, hits_b]), np.array([a, b]), a + b, absent=np.asarray(absent))
        cumulative = np.cumsum(masses)
        expected = values[np.minimum(np.searchsorted(cumulative, np.array(LEVELS) - 1e-12), len(values) - 1)]
        np.testing.assert_allclose([law.quantile(p) for p in LEVELS], expected, atol=1e-12)
        for value in [*np.unique(values[masses > 0])[::4], -0.1, 0.123, 1.1]:
            tied = np.abs(values - value) < 1e-12
            below = masses[(values < value) & ~tied].sum() + 0.5 * masses[tied].sum()
            assert law.share_below(value) == pytest.approx(below, abs=1e-12)
        mean = masses @ values
        assert law.mean == pytest.approx(mean, abs=1e-12)
        assert law.standard_error**2 == pytest.approx(masses @ (values - mean) ** 2, abs=1e-12)
    assert np.isnan(law.quantile(np.nan))


@pytest.mark.parametrize(("hits", "sizes"), [((30_000, 12_000), (36_000, 14_000)), ((50_000, 9_000), (52_000, 13_000))])
def test_a_smooth_law_is_that_of_conditional_binomials(hits, sizes):
    hits, sizes = np.array(hits), np.array(sizes)
    law = mean_of_class_means(hits, 0 * hits, sizes, np.full(2, 0.5), sizes.sum())
    summed = TwoSharesLaw.of(hits, sizes, int(sizes.sum()), absent=np.asarray(np.nan))
    assert law is not None
    assert law.probability_error < MOST_LEFT + 1e-8
    assert law.error_bound < 1e-3
    assert law.mean == pytest.approx(summed.mean, abs=1e-12)
    assert law.standard_error == pytest.approx(summed.standard_error, rel=1e-9)
    for p in LEVELS[1:]:
        value = law.quantile(p)
        assert summed.share_below(value) == pytest.approx(p, abs=law.probability_error + 2e-5)  # an atom of either


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.false_alarm(1e-8)
def test_a_million_drawn_means_of_classes_agree(n, signed):
    rng, drawn = np.random.default_rng(n), 10**6
    sizes = rng.multinomial(n - 50, rng.dirichlet(np.full(6, 9.0)))  # 50 rows are of no class
    plus = rng.binomial(sizes, 0.1 if signed else 0.85)
    minus = rng.binomial(sizes - plus, 0.06 if signed else 0.0)
    weights = rng.dirichlet(np.full(6, 20.0))
    law = mean_of_class_means(plus, minus, sizes, weights, n, offset=0.25)
    assert law is not None
    m = rng.multinomial(n, np.append(sizes, 50) / n, size=drawn)[:, :-1]
    ups = rng.binomial(m, plus / sizes)
    downs = rng.binomial(m - ups, minus / (sizes - plus))
    replicates = Drawn.of(0.25 + ((ups - downs) / m) @ weights)
    band = math.sqrt(math.log(2 / 1e-10) / (2 * drawn)) + law.probability_error  # Dvoretzky, Kiefer and Wolfowitz
    for p in LEVELS[1:]:
        assert abs(replicates.share_below(law.quantile(p)) - p) < band
    assert law.share_below(law.centre) == pytest.approx(float(replicates.share_below(law.centre)), abs=band)
    assert law.standard_error == pytest.approx(float(replicates.standard_error), rel=0.006)
    assert law.low < replicates.ordered[0]
    assert law.high > replicates.ordered[-1]


@pytest.mark.parametrize(
    ("hits", "sizes"),
    [
        ((40, 50, 60), (50, 60, 70)),  # few resamples: a lattice shows
        ((9000, 9), (10_000, 10)),  # a class may be absent
        ((400, 500, 600), (400, 500, 600)),  # nothing varies
        ((398, 499, 598), (400, 500, 600)),  # few misses
        ((MOST_ROWS, MOST_ROWS), (2 * MOST_ROWS, 2 * MOST_ROWS)),  # many rows
    ],
)
def test_a_law_that_is_not_smooth_is_not_given(hits, sizes):
    hits, sizes = np.array(hits), np.array(sizes)
    assert mean_of_class_means(hits, 0 * hits, sizes, np.full(len(hits), 1 / len(hits)), sizes.sum()) is None


def resamples_of_classes(plus, minus, sizes, weights, n, absent):
    """Means of class means of all resamples of n rows, and their probabilities: by numbers of +1, -1 and 0 of each."""
    kinds = np.stack([plus, minus, sizes - plus - minus]).T.reshape(-1) / n
    seen = np.flatnonzero(kinds)
    drawn = itertools.combinations_with_replacement(range(len(seen)), n)
    counts = np.zeros((math.comb(n + len(seen) - 1, n), len(kinds)), int)
    for row, chosen in zip(counts, drawn, strict=True):
        row[seen] = np.bincount(chosen, minlength=len(seen))
    ways = math.factorial(n) / np.prod(np.vectorize(math.factorial)(counts), axis=1)
    masses = ways * np.prod(kinds**counts, axis=1)
    of_class = counts.reshape(len(counts), -1, 3)
    rows = of_class.sum(axis=2)
    means = np.where(rows > 0, (of_class[..., 0] - of_class[..., 1]) / np.maximum(rows, 1), absent)
    weights = weights * (rows > 0) if np.isnan(absent) else np.broadcast_to(weights, rows.shape)
    return (weights / weights.sum(axis=1, keepdims=True) * np.nan_to_num(means)).sum(axis=1), masses


@pytest.mark.parametrize("absent", [0.0, 1.0, np.nan])
@pytest.mark.parametrize(
    ("plus", "minus", "sizes"),
    [((2, 1, 2), (0, 0, 0), (2, 2, 3)), ((1, 3), (1, 0), (4, 3)), ((3, 2), (0, 0), (3, 4)), ((1, 0), (0, 1), (3, 4))],
)
def test_rounded_laws_are_those_of_all_resamples(plus, minus, sizes, absent):
    plus, minus, sizes = (np.array(x) for x in (plus, minus, sizes))
    weights, n = np.full(len(sizes), 1 / len(sizes)), int(sizes.sum())
    law = rounded_mean_of_class_means(plus, minus, sizes, weights, n, absent=absent)
    assert law is not None
    values, masses = resamples_of_classes(plus, minus, sizes, weights, n, absent)
    assert law.error_bound < 1e-3
    assert law.mean == pytest.approx(masses @ values, abs=1e-9)
    assert law.standard_error**2 == pytest.approx(masses @ (values - law.mean) ** 2, abs=1e-9)
    assert_law_is(law, values, masses, LEVELS, 1e-6)
    for value, mass in zip(law.atoms, law.masses, strict=True):
        held = np.abs(values - value) < 1e-12
        assert mass == pytest.approx(masses[held].sum(), abs=1e-6)
        assert law.share_below(value) == pytest.approx(masses[values < value - 1e-12].sum() + mass / 2, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("absent", [0.0, np.nan])
@pytest.mark.parametrize(("hits", "sizes"), [((40, 20), (50, 60)), ((48, 5), (50, 6)), ((100, 190), (110, 200))])
def test_a_rounded_law_is_that_of_conditional_binomials(hits, sizes, absent):
    hits, sizes, n = np.array(hits), np.array(sizes), sum(sizes)
    law = rounded_mean_of_class_means(hits, 0 * hits, sizes, np.full(2, 0.5), n, absent=absent)
    summed = TwoSharesLaw.of(hits, sizes, n, absent=np.asarray(absent))
    assert law is not None
    assert law.mean == pytest.approx(float(summed.mean), abs=1e-9)
    assert law.standard_error == pytest.approx(float(summed.standard_error), rel=1e-9)
    near = law.error_bound * law.standard_error
    for p in LEVELS[1:]:
        found = law.quantile(p)
        assert summed.share_below(found - near) - 1e-6 <= p <= summed.share_below(found + near) + 1e-6


def test_what_costs_too_much_or_does_not_vary_has_no_rounded_law():
    def law(hits, sizes):
        return rounded_mean_of_class_means(hits, 0 * sizes, sizes, np.full(len(sizes), 1 / len(sizes)), sizes.sum())

    rare = np.append(np.full(8, 4), 60)
    assert MOST_SETS < 2**8
    assert law(rare - 1, rare) is None
    many = np.full(10, 500)
    assert law(many - 50, many) is None
    assert law(many, many) is None


Y = np.array([1, 1, 0, 1, 0, 0])
A = np.array([1, 1, 0, 1, 1, 0])
B = np.array([1, 0, 0, 0, 0, 1])
ROWS = np.array(list(itertools.product(range(6), repeat=6)))


def recall(true, right, label, absent):
    counted = (true == label).sum(axis=1)
    return np.where(counted > 0, (right & (true == label)).sum(axis=1) / np.maximum(counted, 1), absent)


def f1(true, predicted):
    hits, counted = ((true & predicted) == 1).sum(axis=1), true.sum(axis=1) + predicted.sum(axis=1)
    return np.where(counted > 0, 2 * hits / np.maximum(counted, 1), 0.0)


METRICS = {
    "accuracy": lambda true, predicted: (true == predicted).mean(axis=1),
    "recall": lambda true, predicted: recall(true, true == predicted, 1, 0.0),
    "f1": f1,
    "balanced_accuracy": lambda true, predicted: np.nanmean(
        [recall(true, true == predicted, label, np.nan) for label in (0, 1)], axis=0
    ),
    "recall_macro": lambda true, predicted: np.mean(
        [recall(true, true == predicted, label, 0.0) for label in (0, 1)], axis=0
    ),
}


def assert_ends(result, values, level):
    """The percentile interval is read off all resamples."""
    values = np.sort(values)
    expected = [values[math.ceil(p * len(values) - 1e-6) - 1] for p in ((1 - level) / 2, (1 + level) / 2)]
    assert result.n_resamples == 0
    assert result.error_bound < 1e-11
    np.testing.assert_allclose(result.confidence_interval, expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "recall_macro"])
def test_few_resamples_are_listed(metric):
    for level in (0.6, 0.8, 0.95):
        found = jaxci.interval(metric, Y, B, method="percentile", confidence_level=level)
        assert_ends(found, METRICS[metric](Y[ROWS], B[ROWS]), level)


def test_few_resamples_of_three_classes_are_listed():
    true, predicted = np.array([0, 1, 2, 2, 1, 2]), np.array([0, 1, 1, 2, 0, 2])
    shares = [recall(true[ROWS], (true == predicted)[ROWS], label, np.nan) for label in range(3)]
    found = jaxci.interval("balanced_accuracy", true, predicted, method="percentile", confidence_level=0.8)
    assert_ends(found, np.nanmean(shares, axis=0), 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_few_differences_are_listed(metric):
    differences = METRICS[metric](Y[ROWS], A[ROWS]) - METRICS[metric](Y[ROWS], B[ROWS])
    for level in (0.6, 0.8, 0.95):
        found = jaxci.compare(metric, Y, A, B, method="percentile", confidence_level=level)
        assert_ends(found, differences, level)


@pytest.mark.parametrize("metric", ["accuracy", "recall"])
def test_differences_of_shares_in_clusters_are_those_of_all_resamples(metric):
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(5), [2, 5, 1, 4, 3])
    true, a, b = rng.integers(0, 2, 15), rng.integers(0, 2, 15), rng.integers(0, 2, 15)
    differences = []
    for drawn in itertools.product(range(5), repeat=5):
        rows = np.concatenate([np.flatnonzero(groups == g) for g in drawn])[None]
        differences.append((METRICS[metric](true[rows], a[rows]) - METRICS[metric](true[rows], b[rows]))[0])
    found = jaxci.compare(metric, true, a, b, groups=groups, method="percentile", confidence_level=0.8)
    assert_ends(found, differences, 0.8)


def test_models_that_seldom_differ_have_an_atom_at_nothing():
    true = np.arange(60) % 2
    a, b = true.copy(), true.copy()
    b[[3, 8]] = 1 - b[[3, 8]]
    for metric in ("accuracy", "recall"):
        found = jaxci.compare(metric, true, a, b, method="percentile")
        assert found.n_resamples == 0
        assert found.confidence_interval.low == 0
        assert 0.05 < found.pvalue <= 1


@pytest.mark.parametrize("metric", ["balanced_accuracy", "recall_macro", "precision_macro"])
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.slow
@pytest.mark.false_alarm(1e-7)
def test_draws_come_near_the_laws_of_means_of_shares(metric, method):
    rng = np.random.default_rng(5)
    for n, classes in ((150, 2), (120, 3), (2500, 8)):
        true = rng.choice(classes, n, p=rng.dirichlet(np.full(classes, 9.0)))
        a, b = (np.where(rng.random(n) < share, true, rng.integers(0, classes, n)) for share in (0.85, 0.8))
        exact = jaxci.interval(metric, true, a, method=method)
        drawn = jaxci.interval(metric, true, a, method=method, n_resamples=29_999, rng=1)
        slack = 0.1 * exact.standard_error  # see test_draws_come_near_the_exact_interval
        assert exact.n_resamples == 0
        np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)
        if classes != 2 and metric == "balanced_accuracy" and method == "percentile":
            exact = jaxci.compare(metric, true, a, b, method=method)
            drawn = jaxci.compare(metric, true, a, b, method=method, n_resamples=9_999, rng=1)
            slack = 0.3 * exact.standard_error
            assert exact.n_resamples == 0
            np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)


def test_models_of_three_classes_that_seldom_differ_have_an_atom_at_nothing():
    true = np.arange(90) % 3
    a, b = true.copy(), true.copy()
    b[[3, 8]] = 0, 1
    found = jaxci.compare("balanced_accuracy", true, a, b, method="percentile")
    assert found.n_resamples == 0
    assert found.confidence_interval.low == 0
    assert 2 * (88 / 90) ** 90 < found.pvalue <= 1


def test_resamples_without_a_class_are_told():
    true = np.repeat([0, 1, 2], [20, 20, 4])
    with pytest.warns(jaxci.JaxciWarning, match="a class is absent from 1.51% of resamples"):
        jaxci.interval("balanced_accuracy", true, np.roll(true, 3), method="percentile")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "classes", "n"), [(F1(average="macro"), 3, 300), (Recall(average="macro"), 9, 40)]
)
def test_what_has_no_law_is_drawn(statistic, classes, n):
    rng = np.random.default_rng(6)
    true = rng.integers(0, classes, n)
    predicted = np.where(rng.random(n) < 0.9, true, 0)
    found = jaxci.interval(statistic, true, predicted, method="percentile", rng=0)
    assert found.n_resamples == 9_999


def test_laws_that_percentile_reads_are_had_by_name():
    rng = np.random.default_rng(8)
    true = rng.integers(0, 2, 60)
    a, b = (np.where(rng.random(60) < share, true, 1 - true) for share in (0.85, 0.7))
    clusters = np.arange(60) // 3
    for read in (
        lambda method: jaxci.interval("balanced_accuracy", true, a, method=method),
        lambda method: jaxci.interval("accuracy", true, a, groups=clusters, method=method),
        lambda method: jaxci.compare("accuracy", true, a, b, method=method),
        lambda method: jaxci.compare("recall", true, a, b, method=method),
    ):
        exact, percentile = read("exact"), read("percentile")
        assert exact.confidence_interval == percentile.confidence_interval
        assert exact.error_bound == percentile.error_bound
        assert exact.n_resamples == 0
    one, other = (
        jaxci.compare("balanced_accuracy", true, a, b, method=name).pvalue for name in ("exact", "percentile")
    )
    assert one == other


def test_what_has_no_law_of_the_data_is_named():
    true = np.arange(12) % 2
    with pytest.raises(ValueError, match="no bootstrap law of it is known of rows with groups"):
        jaxci.interval("balanced_accuracy", true, true, groups=np.arange(12) // 2, method="exact")
    with pytest.raises(ValueError, match="no bootstrap law of it is known of rows with sample_weight"):
        jaxci.interval("median", np.arange(12.0), sample_weight=1.0 + true, method="exact")
    assert "exact" not in jaxci.list_methods("balanced_accuracy", groups=True)
    assert "exact" in jaxci.list_methods("balanced_accuracy")
    with pytest.raises(ValueError, match="or one that can: ") as told:
        jaxci.interval("median", np.arange(12.0), sample_weight=1.0 + true, method="order_statistic")
    assert "exact" not in str(told.value)
    with pytest.raises(ValueError, match="'exact' cannot use strata"):
        jaxci.interval("accuracy", true, true, strata=true, method="exact")
    many = np.arange(40) % 20
    with pytest.raises(ValueError, match="of these data, or it would take more than"):
        jaxci.interval("balanced_accuracy", many, np.roll(many, 1), method="exact")
    with pytest.raises(ValueError, match="computed of one data set, not of many; use 'percentile'"):
        jaxci.check_coverage("balanced_accuracy", true, true, methods=["exact"], n_replications=20)


def test_models_that_no_row_tells_apart_have_the_law_of_no_difference():
    true, guess = np.zeros(30, int), np.arange(30) % 2
    for method in ("exact", "percentile"):
        found = jaxci.compare("recall", true, true, guess, labels=[0, 1], method=method)
        assert (found.confidence_interval, found.n_resamples, found.pvalue) == ((0, 0), 0, 1)
        assert any("a share of no rows at all" in said for said in found.warnings)


def test_laws_of_one_data_set_are_simulated_by_draws():
    rng = np.random.default_rng(9)
    true = rng.integers(0, 2, 50)
    predicted = np.where(rng.random(50) < 0.8, true, 1 - true)
    exact, drawn = (
        jaxci.evaluate(true, predicted, metrics=["balanced_accuracy"], method=name, check=True, rng=0).rows[0].coverage
        for name in ("exact", "percentile")
    )
    assert 0.8 < exact < 1
    assert exact == drawn
