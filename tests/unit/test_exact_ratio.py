"""The exact bootstrap law of ratios: enumeration, drawn resamples, JAX, and the verbs that read it."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import signal, stats

import jaxci
from jaxci.intervals.exact import Exact
from jaxci.resampling import exact_ratio
from jaxci.resampling.count_ratio import CountRatioLaw
from jaxci.resampling.exact_ratio import RatioLaw, ratio_distribution
from jaxci.resampling.laws import Atoms, Drawn
from jaxci.statistics.averaged import F1, FBeta, Jaccard, Precision, Recall, Specificity

pytestmark = pytest.mark.computes

LEVELS = [1e-6, 0.001, 0.025, 0.1, 0.37, 0.5, 0.7, 0.9, 0.975, 0.999]
COUNTED = [(h, m, n) for n in (1, 2, 4, 7) for h in range(n + 1) for m in range(n + 1 - h) if h + m]
METRICS = ("precision", "recall", "f1", "jaccard", "specificity", "negative_predictive_value", "jaccard_micro")
BOOTSTRAP = ("percentile", "basic", "normal", "bc", "bca")


def enumerated(hits, misses, n, odds, undefined):
    """Values of all tables of a resample in order, with their probabilities."""
    values, masses = [], []
    for h in range(n + 1):
        for m in range(n + 1 - h):
            ways = math.comb(n, h) * math.comb(n - h, m)
            masses.append(ways * (hits / n) ** h * (misses / n) ** m * (1 - (hits + misses) / n) ** (n - h - m))
            values.append(odds * h / (odds * h + m) if h + m else undefined)
    values, masses = np.array(values), np.maximum(masses, 0.0)
    kept = ~np.isnan(values) & (masses > 0)
    order = np.argsort(values[kept], kind="stable")
    return values[kept][order], masses[kept][order] / masses[kept].sum()


def labels(n, seed=0, share=0.4, right=0.8):
    """Labels of two classes and predictions."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, np.where(rng.random(n) < right, y, 1 - y)


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("odds", [0.5, 1.0, 2.0])
def test_ratios_of_counts_are_those_of_all_resamples(odds, undefined):
    for hits, misses, n in COUNTED:
        values, masses = enumerated(hits, misses, n, odds, undefined)
        law = CountRatioLaw.of(np.array(hits), np.array(misses), n, odds=odds, undefined=undefined)
        cumulative = np.cumsum(masses)
        expected = values[np.minimum(np.searchsorted(cumulative, np.array(LEVELS) - 1e-12), len(values) - 1)]
        np.testing.assert_allclose([law.quantile(p) for p in LEVELS], expected, atol=1e-14)
        for value in [*np.unique(values), -0.1, 0.123, 1.1]:
            tied = np.abs(values - value) < 1e-12
            below = masses[(values < value) & ~tied].sum() + 0.5 * masses[tied].sum()
            assert law.share_below(value) == pytest.approx(below, abs=1e-12)
        mean = masses @ values
        assert law.mean == pytest.approx(mean, abs=1e-11)
        assert law.standard_error**2 == pytest.approx(masses @ (values - mean) ** 2, abs=1e-11)


def test_rows_in_every_order_are_what_the_table_counts():
    y, predicted = np.array([1, 1, 0, 1, 0, 0]), np.array([1, 0, 1, 1, 0, 0])
    rows = np.array(list(itertools.product(range(6), repeat=6)))
    hits = (y & predicted)[rows].sum(axis=1)
    scores = {"precision": predicted, "recall": y, "jaccard": y | predicted}
    for metric, counted in scores.items():
        trials = counted[rows].sum(axis=1)
        values = np.sort(np.where(trials > 0, hits / np.maximum(trials, 1), 0.0))
        found = jaxci.interval(metric, y, predicted, method="percentile", confidence_level=0.8).confidence_interval
        expected = [values[math.ceil(p * len(values) - 1e-6) - 1] for p in (0.1, 0.9)]
        np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-15)


@pytest.mark.parametrize(("n", "share", "of_hits"), [(30, 0.1, 0.9), (250, 0.5, 0.6), (10**6, 0.3, 0.99)])
@pytest.mark.false_alarm(6e-9)
def test_a_million_drawn_ratios_agree(n, share, of_hits):
    hits, misses = round(n * share * of_hits), round(n * share * (1 - of_hits))
    rng, drawn = np.random.default_rng(5), 10**6
    counts = rng.multinomial(n, [hits / n, misses / n, 1 - (hits + misses) / n], size=drawn)
    known = np.maximum(2 * counts[:, 0] + counts[:, 1], 1)
    replicates = Drawn.of(2 * counts[:, 0] / known)
    law = CountRatioLaw.of(np.array(hits), np.array(misses), n, odds=2.0)
    band = math.sqrt(math.log(2 / 1e-9) / (2 * drawn))  # Dvoretzky, Kiefer and Wolfowitz; Massart
    for p in LEVELS[1:]:
        value = law.quantile(p)
        around = [replicates.share_below(value * (1 + side * 1e-13)) for side in (-1, 1)]
        assert abs(law.share_below(value) - np.mean(around)) < band
        low, high = (replicates.quantile(min(max(p + side * band, 0), 1)) for side in (-1, 1))
        assert low * (1 - 1e-13) <= value <= high * (1 + 1e-13)
    assert law.standard_error == pytest.approx(float(replicates.standard_error), rel=0.02)


@pytest.mark.slow
@pytest.mark.computes(False)
def test_traced_laws_are_those_of_one_data_set_each():
    hits, misses, n = np.array([0, 3, 40, 17, 0, 60]), np.array([5, 0, 10, 17, 0, 0]), 60
    undefined = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    with jax.enable_x64(True):
        traced = jax.jit(
            lambda h, m, u: [
                [law.quantile(p) for p in LEVELS] + [law.share_below(0.8), law.mean, law.standard_error]
                for law in [CountRatioLaw.of(h, m, n, odds=2.0, undefined=u)]
            ]
        )
        found = np.array(traced(*map(jax.numpy.asarray, (hits, misses, undefined)))[0])
    for i in range(len(hits)):
        law = CountRatioLaw.of(hits[i], misses[i], n, odds=2.0, undefined=undefined[i])
        expected = [*(law.quantile(p) for p in LEVELS), law.share_below(0.8), law.mean, law.standard_error]
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", BOOTSTRAP)
def test_no_number_of_resamples_reads_the_exact_law(metric, method):
    y, predicted = labels(80)
    exact = jaxci.interval(metric, y, predicted, method=method)
    assert exact.n_resamples == 0
    assert exact.bootstrap_distribution is None
    by_name = jaxci.interval(metric, y, predicted, method=Exact(endpoints=method))
    assert exact.confidence_interval == by_name.confidence_interval
    again = jaxci.interval(metric, y, predicted, method=method, rng=3)
    assert exact.confidence_interval == again.confidence_interval


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bca", *(pytest.param(m, marks=pytest.mark.slow) for m in BOOTSTRAP if m != "bca")])
@pytest.mark.false_alarm(1e-5)
def test_draws_come_near_the_exact_interval(method):
    y, predicted = labels(200, seed=2)
    exact = jaxci.interval("f1", y, predicted, method=method)
    drawn = jaxci.interval("f1", y, predicted, method=method, n_resamples=99_999, rng=1)
    assert drawn.n_resamples == 99_999
    # a quantile of 10^5 draws at 2.5% is off by .0084 deviations, of BCa with its bias by .014: six times that
    slack = 0.084 * exact.standard_error
    np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)
    assert exact.standard_error == pytest.approx(drawn.standard_error, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "exact"),
    [
        (Precision(absent_class="zero"), True),
        (Recall(zero_division=np.nan), True),
        (Jaccard(absent_class="skip"), False),
        (F1(absent_class="zero", zero_division=1.0), False),
        (F1(average="macro"), False),
        (Specificity(average="micro"), True),
        (FBeta(), True),
        (FBeta(average="macro"), False),
    ],
)
def test_what_is_no_ratio_is_drawn(statistic, exact):
    found = jaxci.interval(statistic, *labels(60), method="percentile")
    assert (found.n_resamples == 0) == exact
    assert exact or found.n_resamples == 9_999


@pytest.mark.parametrize("method", BOOTSTRAP)
@pytest.mark.parametrize("layout", ["groups", "sample_weight", "both"])
@pytest.mark.parametrize("metric", ["mean", "root_mean_squared_error", "f1", "accuracy", "fbeta"])
@pytest.mark.slow
@pytest.mark.false_alarm(1e-5)
def test_ratios_over_units_come_near_draws(metric, layout, method):
    rng = np.random.default_rng(8)
    y, predicted = labels(120, seed=3)
    given = {"groups": rng.integers(0, 25, 120), "sample_weight": rng.exponential(size=120) + 0.1}
    given = given if layout == "both" else {layout: given[layout]}
    values = rng.normal(size=120) + 1e3
    data = {"mean": (values,), "root_mean_squared_error": (values, values + rng.normal(size=120))}
    statistic = FBeta() if metric == "fbeta" else metric
    exact = jaxci.interval(statistic, *data.get(metric, (y, predicted)), method=method, **given)
    options = {"n_resamples": 99_999, "rng": 1, **given}
    drawn = jaxci.interval(statistic, *data.get(metric, (y, predicted)), method=method, **options)
    assert exact.n_resamples == 0
    slack = 0.1 * exact.standard_error  # see test_draws_come_near_the_exact_interval
    np.testing.assert_allclose(exact.confidence_interval, drawn.confidence_interval, rtol=0, atol=slack)
    assert exact.standard_error == pytest.approx(drawn.standard_error, rel=0.03)


@pytest.mark.slow
def test_other_layouts_and_schemes_are_drawn():
    y, predicted = labels(60)
    for given in ({"strata": y}, {"resample_size": 30}, {"resampling": "balanced"}):
        found = jaxci.interval("f1", y, predicted, method="percentile", rng=0, **given)
        assert found.n_resamples == 9_999
    clusters = jaxci.interval("median", np.arange(60.0), method="percentile", rng=0, groups=np.arange(60) // 2)
    assert clusters.n_resamples == 9_999


RATIOS = {
    "reals": ([0.3, -1.2, 2.2, 0.7, 5.0, 1.1], [1.0, 0.4, 2.2, 0.1, 3.0, 0.7]),
    "lattice": ([0, 1, 1, 3, 2, 0, 4], [1, 1, 2, 3, 4, 2, 5]),
    "empty": ([0, 0, 0, 2, 1], [0, 0, 0, 3, 1]),
    "one": ([2.0], [4.0]),
    "constant": ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]),
}


def ratios_of_all_resamples(a, b, undefined):
    a, b = np.asarray(a, float), np.asarray(b, float)
    rows = np.array(list(itertools.product(range(a.size), repeat=a.size)))
    above, below = a[rows].sum(axis=1), b[rows].sum(axis=1)
    values = np.where(below > 0, above / np.where(below > 0, below, 1.0), undefined)
    return np.sort(values[~np.isnan(values)])


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, np.nan])
@pytest.mark.parametrize("name", RATIOS)
def test_few_units_are_listed(name, undefined):
    values = ratios_of_all_resamples(*RATIOS[name], undefined)
    law = ratio_distribution(*RATIOS[name], undefined=undefined)
    assert isinstance(law, Atoms)
    for p in LEVELS:
        assert law.quantile(p) == pytest.approx(values[math.ceil(p * values.size - 1e-6) - 1], abs=1e-12)
    assert law.mean == pytest.approx(values.mean(), abs=1e-12)
    assert law.standard_error == pytest.approx(values.std(), abs=1e-12)
    for value in [*values[:: max(1, values.size // 50)], -3.3, 0.77]:
        tied = np.abs(values - value) < 1e-11
        assert law.share_below(value) == pytest.approx(((values < value) & ~tied).mean() + tied.mean() / 2, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, np.nan])
@pytest.mark.parametrize(
    "name", [pytest.param("reals", marks=pytest.mark.slow), "lattice", pytest.param("empty", marks=pytest.mark.slow)]
)
def test_root_finding_keeps_its_promise(name, undefined, monkeypatch):
    monkeypatch.setattr(exact_ratio, "MOST_RESAMPLES", 0)
    values = ratios_of_all_resamples(*RATIOS[name], undefined)
    law = ratio_distribution(*RATIOS[name], undefined=undefined)
    assert isinstance(law, RatioLaw)
    slack = law.error_bound * law.standard_error
    for p in LEVELS:
        ends = (values[min(max(math.ceil((p + side) * values.size) - 1, 0), values.size - 1)] for side in (-2e-6, 2e-6))
        low, high = ends
        assert low - slack <= law.quantile(p) <= high + slack
    assert law.mean == pytest.approx(values.mean(), abs=1e-8)
    assert law.standard_error == pytest.approx(values.std(), rel=1e-5)
    at = float(law.centre)
    below, through = np.mean(values < at - 1e-9), np.mean(values < at + 1e-9)
    assert law.share_below(at) == pytest.approx((below + through) / 2, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["heavy tails", "ties"])
def test_the_error_of_a_ratio_is_bounded(kind):
    rng = np.random.default_rng(4)
    b = np.abs(rng.standard_cauchy(300)) if kind == "heavy tails" else rng.integers(1, 7, 300)
    a = b * (np.abs(rng.standard_cauchy(300)) if kind == "heavy tails" else rng.integers(0, 9, 300))
    law = ratio_distribution(a, b)
    assert exact_ratio.TOLERANCE < law.error_bound < 1e-3
    fine = ratio_distribution(np.append(a, 0.0), np.append(b, 1e-9))  # another grid, almost the same law
    assert fine.quantile(0.9) == pytest.approx(law.quantile(0.9), abs=6 * law.error_bound * law.standard_error)


@pytest.mark.parametrize("n", [300, 10_000, pytest.param(10**6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["cauchy", "pareto", "ties", "labels"])
def test_the_error_bound_of_any_ratio_is_below_a_thousandth(kind, seed, n):
    rng = np.random.default_rng(seed)
    b = {
        "cauchy": lambda: np.abs(rng.standard_cauchy(n)),
        "pareto": lambda: rng.pareto(1.1, n),
        "ties": lambda: rng.integers(0, 3, n),
        "labels": lambda: rng.choice([0.0, 0.2, 0.8, 1.0], n),
    }[kind]()
    law = ratio_distribution(b * (rng.normal(size=n) if kind in ("cauchy", "pareto") else rng.integers(0, 2, n)), b)
    assert 0 < law.error_bound < 1e-3
    assert law.error == law.error_bound * law._spread


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, np.nan])
def test_atoms_of_ratios_are_where_they_are(undefined):
    rng = np.random.default_rng(6)
    kinds, counts = np.array([[0.0, 1.0, np.sqrt(2), 0.0], [0.0, 1.3, 2.0, np.e]]), np.array([170, 5, 15, 10])
    law = ratio_distribution(*np.repeat(kinds, counts, axis=1), undefined=undefined)
    assert isinstance(law, RatioLaw)
    drawn = np.unique(rng.multinomial(200, counts / 200, size=3), axis=0)
    masses = stats.multinomial.pmf(drawn, 200, counts / 200)
    for (above, below), mass in zip(drawn @ kinds.T, masses, strict=True):
        if below > 0 and mass > 2e-5:
            value = above / below
            middle = law.share_below(value)
            for p in (middle - 0.4 * mass, middle, middle + 0.4 * mass):
                assert law.quantile(p) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_results_tell_the_error_of_an_exact_law(method):
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=300), rng.exponential(size=300)
    mean = jaxci.interval("mean", values, method=method)
    weighted = jaxci.interval("mean", values, method=method, sample_weight=weights)
    for found in (mean, weighted):
        assert 0 < found.error_bound < 1e-3 * found.standard_error
        assert found.to_dict()["error_bound"] == found.error_bound
    assert jaxci.interval("f1", *labels(60), method=method).error_bound == 0.0
    assert jaxci.interval("mean", rng.integers(0, 5, 80), method=method).error_bound < 1e-12
    drawn = jaxci.interval("mean", values, method=method, n_resamples=999, rng=0)
    assert math.isnan(drawn.error_bound)
    assert math.isnan(jaxci.interval("mean", values, method="t").error_bound)
    root = jaxci.interval("root_mean_squared_error", values, 0.0 * values, method=method)
    squared = jaxci.interval("mean_squared_error", values, 0.0 * values, method=method)
    assert root.error_bound == pytest.approx(squared.error_bound / (2 * root.estimate))


def test_a_ratio_that_cannot_vary_has_no_error():
    b = np.arange(1.0, 40.0)
    law = RatioLaw(0.0 * b, b, np.asarray(0.5), np.asarray(np.nan))
    assert law.error_bound == 0.0


@pytest.mark.slow
@pytest.mark.computes(False)
def test_traced_ratios_are_those_of_one_data_set():
    rng = np.random.default_rng(1)
    b = rng.exponential(size=(3, 60)) + 0.1
    a = b * (1 + rng.normal(size=b.shape))
    centre = a.sum(axis=1) / b.sum(axis=1)
    with jax.enable_x64(True):
        arrays = (a - centre[:, None] * b, b, centre, np.full(3, np.nan))
        read = jax.jit(
            lambda *law: [
                RatioLaw(*law).quantile(0.025),
                RatioLaw(*law).share_below(law[2]),
                RatioLaw(*law).error_bound,
            ]
        )
        low, below, bound = map(np.asarray, read(*map(jax.numpy.asarray, arrays)))
    for i in range(3):
        law = ratio_distribution(a[i], b[i])
        assert 0 < bound[i] < 4e-3
        assert low[i] == pytest.approx(law.quantile(0.025), abs=4e-3 * law.standard_error)
        assert below[i] == pytest.approx(law.share_below(law.centre), abs=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0], "one length"),
        ([], [], "not empty"),
        ([1.0, np.nan], [1.0, 1.0], "numerators must be finite"),
        ([1.0, 1.0], [-1.0, 1.5], "denominators must have positive sums"),
        ([1.0, 1.0], [0.0, 1.5], "denominators must be positive where"),
        ([0.0, 0.0], [0.0, 0.0], "denominators must be positive where"),
    ],
)
def test_terms_that_make_no_ratio_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        ratio_distribution(a, b)


def test_extreme_tables_have_their_exact_interval():
    y = np.repeat([0, 1], 30)
    found = jaxci.interval("f1", y, y, method="bca")
    assert found.confidence_interval == (1.0, 1.0)
    assert found.standard_error == 0
    nothing = jaxci.interval("recall", y, 1 - y, method="percentile")
    assert nothing.confidence_interval == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-5)
def test_a_cell_reads_the_exact_law():
    y, predicted = labels(30, seed=4)
    methods = [Exact(), Exact(endpoints="bca"), "percentile", "bca"]
    found = jaxci.check_coverage("f1", y, predicted, methods=methods, n_replications=400, n_resamples=1999, rng=0)
    exact, exact_bca, drawn, drawn_bca = found.judgements
    assert abs(exact.mean_width - drawn.mean_width) < 0.02 * drawn.mean_width
    assert abs(exact_bca.mean_width - drawn_bca.mean_width) < 0.02 * drawn.mean_width
    assert abs(exact.coverage - drawn.coverage) < 0.03


def sums_by_convolution(values, weights):
    """Return the ratios of all resamples' sums of whole numbers, and their probabilities."""
    law, one = np.ones((1, 1)), np.zeros((max(values) + 1, max(weights) + 1))
    np.add.at(one, (values, weights), 1 / len(values))
    for _ in values:
        law = np.maximum(signal.fftconvolve(law, one), 0)
    above, below = np.indices(law.shape)
    kept = (law > 1e-15) & (below > 0)
    ratios, place = np.unique(np.round(above[kept] / below[kept], 12), return_inverse=True)
    return ratios, np.bincount(place, law[kept])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 17, 101, 103])
def test_quantiles_of_ratios_of_small_whole_numbers_are_right_to_their_error_bound(seed):
    """On such a staircase a step of the search may be short where the law is flat; probabilities are right to 2e-6."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(14, 60))
    weights = rng.integers(1, 4, n)
    values = weights * (rng.integers(0, 3, n) if seed > 100 else (rng.random(n) < 0.1) * rng.integers(1, 3, n))
    law = ratio_distribution(values, weights)
    ratios, masses = sums_by_convolution(values, weights)
    through = np.cumsum(masses)
    for p in (0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995):
        found = float(law.quantile(p))
        low, high = ratios[np.searchsorted(through, p - 2e-6)], ratios[np.searchsorted(through, p + 2e-6)]
        slack = law.error + 1e-11
        assert low - slack <= found <= high + slack, p


@pytest.mark.slow
def test_negative_terms_of_a_denominator_that_is_surely_positive():
    """Ratios then lie beyond those of the units; 100,000 draws, five of their standard errors."""
    rng = np.random.default_rng(0)
    below = np.append(-np.ones(3), rng.uniform(5, 10, 37))
    above = np.append(np.full(3, 5.0), below[3:] + rng.normal(0, 0.01, 37))
    law, drawn = ratio_distribution(above, below), rng.integers(0, 40, (100_000, 40))
    ratios = above[drawn].sum(axis=1) / below[drawn].sum(axis=1)
    assert ratios.max() > (above[3:] / below[3:]).max() + 0.1
    for p in (0.025, 0.5, 0.9, 0.975):
        share = np.mean(ratios < float(law.quantile(p)))
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / len(ratios))
    assert float(law.mean) == pytest.approx(ratios.mean(), abs=5 * ratios.std() / np.sqrt(len(ratios)))
    assert float(law.standard_error) == pytest.approx(ratios.std(), rel=0.02)
