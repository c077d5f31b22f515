"""Rows in clusters: robust variances, effective sizes, and flips of signs."""

import functools
import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci.inference import choice_of_many_rows, replicate
from jaxci.intervals.base import tails
from jaxci.intervals.clustered_proportion import effective_size
from jaxci.intervals.clusters import ClusterSums, cluster_variance, satterthwaite
from jaxci.intervals.delta import Delta
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.proportion_difference import paired_score_interval
from jaxci.intervals.sign_flip import SignFlip

RNG = np.random.default_rng(3)
SIZES = np.array([3, 9, 1, 14, 6, 6, 2])
GROUPS = np.repeat(np.arange(len(SIZES)), SIZES)
N = len(GROUPS)
X = RNG.normal(size=len(SIZES))[GROUPS] + RNG.normal(size=N)
Y = RNG.integers(0, 2, N)
P = np.where(RNG.random(N) < 0.85, Y, 1 - Y)
Q = np.where(RNG.random(N) < 0.6, Y, 1 - Y)

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def sums_of(values, sizes=None):
    totals = np.array([values[g == GROUPS].sum() for g in range(len(SIZES))])
    return ClusterSums(totals, SIZES if sizes is None else sizes)


def projection():
    return np.eye(N) - np.full((N, N), 1 / N)


def adjusted(variance):
    """Matrices that take a cluster's residuals of a regression on a constant to adjusted ones, by linear algebra."""
    hat = np.full((N, N), 1 / N)
    for g, size in enumerate(SIZES):
        block = np.eye(size) - hat[np.ix_(g == GROUPS, g == GROUPS)]
        if variance == "CR1":
            yield np.eye(size) * np.sqrt(len(SIZES) / (len(SIZES) - 1))
        elif variance == "CR2":
            values, vectors = np.linalg.eigh(block)
            yield vectors @ np.diag(values**-0.5) @ vectors.T
        else:
            yield np.linalg.inv(block) * np.sqrt((len(SIZES) - 1) / len(SIZES))


@pytest.mark.parametrize("variance", ["CR1", "CR2", "jackknife"])
def test_variances_and_degrees_of_freedom_are_those_of_a_regression_on_a_constant(variance):
    residuals = projection() @ X
    weights = [
        np.ones(size) @ matrix @ projection()[g == GROUPS] / N
        for g, (size, matrix) in enumerate(zip(SIZES, adjusted(variance), strict=True))
    ]
    meat = sum(
        float(np.ones(size) @ matrix @ residuals[g == GROUPS]) ** 2
        for g, (size, matrix) in enumerate(zip(SIZES, adjusted(variance), strict=True))
    )
    assert cluster_variance(sums_of(X), variance) == pytest.approx(meat / N**2, rel=1e-12)
    for correlation in (0.0, 0.3, 1.0):
        covariance = np.where(GROUPS[:, None] == GROUPS, correlation, 0.0) + (1 - correlation) * np.eye(N)
        matrix = np.array(weights) @ covariance @ np.array(weights).T
        expected = np.trace(matrix) ** 2 / np.sum(matrix**2)
        assert satterthwaite(sums_of(X), variance, correlation) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("variance", ["CR1", "CR2", "jackknife"])
@pytest.mark.parametrize(
    "sizes", [(10**6, 1), (10**4, 1, 1, 1), (10**8, *[1] * 10), (10**6, 10**6, 1, 2), (10**5, *[30] * 9)]
)
@pytest.mark.parametrize("correlation", [Fraction(0), Fraction(1, 20), Fraction(1)])
def test_degrees_of_freedom_are_right_where_one_cluster_holds_nearly_all_rows(variance, sizes, correlation):
    g, rows = len(sizes), sum(sizes)
    own = [size * (1 - correlation) + size**2 * correlation for size in sizes]
    factors = {
        "CR1": [Fraction(g, g - 1)] * g,
        "CR2": [Fraction(rows, rows - size) for size in sizes],
        "jackknife": [Fraction(g - 1, g) * Fraction(rows, rows - size) ** 2 for size in sizes],
    }[variance]
    h = [Fraction(size, rows) for size in sizes]
    trace = squares = Fraction(0)
    for i, j in itertools.product(range(g), repeat=2):
        covariance = (i == j) * own[i] - h[i] * own[j] - h[j] * own[i] + sum(own) * h[i] * h[j]
        trace += factors[i] * covariance * (i == j)
        squares += factors[i] * factors[j] * covariance**2
    found = satterthwaite(ClusterSums(None, np.array(sizes)), variance, float(correlation))
    assert found == pytest.approx(float(trace**2 / squares), rel=1e-9)
    assert 1 <= found <= g - 1


@pytest.mark.slow
@pytest.mark.parametrize("big", [1_000, 100_000])
def test_an_interval_beside_one_large_cluster_is_finite_and_wide(big):
    groups = np.repeat(np.arange(11), [big] + [1] * 10)
    rng = np.random.default_rng(big)
    held = 0
    for _ in range(100):
        x = rng.normal(size=len(groups)) + rng.normal(size=11)[groups]
        low, high = jaxci.interval("mean", x, groups=groups, method="t").confidence_interval
        held += low <= 0 <= high
    assert held >= 88  # CR2 would hold 10


def test_the_jackknife_variance_leaves_clusters_out():
    left = np.array([X[g != GROUPS].mean() for g in range(len(SIZES))])
    g = len(SIZES)
    expected = (g - 1) / g * np.sum((left - X.mean()) ** 2)
    assert cluster_variance(sums_of(X), "jackknife") == pytest.approx(expected, rel=1e-12)


def test_clusters_of_one_size_have_one_variance_and_one_degree_of_freedom_less_than_clusters():
    sums = ClusterSums(RNG.normal(size=8), np.full(8, 5))
    variances = [cluster_variance(sums, variance) for variance in ("CR1", "CR2", "jackknife")]
    np.testing.assert_allclose(variances, variances[0], rtol=1e-12)
    for correlation in (0.0, 0.4, 1.0):
        assert satterthwaite(sums, "CR2", correlation) == pytest.approx(7, rel=1e-12)


def test_student_of_clusters_steps_from_the_mean():
    row = jaxci.interval("mean", X, groups=GROUPS, method="t")
    error = np.sqrt(cluster_variance(sums_of(X), "jackknife"))
    step = stats.t.isf(0.025, satterthwaite(sums_of(X), "jackknife", 1.0)) * error
    assert row.standard_error == pytest.approx(error, rel=1e-12)
    np.testing.assert_allclose(row.confidence_interval, [X.mean() - step, X.mean() + step], rtol=1e-12)
    plain = jaxci.interval("mean", X, groups=GROUPS, method="t", variance="CR1", degrees_of_freedom="groups")
    step = stats.t.isf(0.025, len(SIZES) - 1) * np.sqrt(cluster_variance(sums_of(X), "CR1"))
    np.testing.assert_allclose(plain.confidence_interval, [X.mean() - step, X.mean() + step], rtol=1e-12)
    assert plain.method == T(variance="CR1", degrees_of_freedom="groups")
    alone = jaxci.interval("mean", X, groups=np.arange(N), method="t")
    np.testing.assert_allclose(
        alone.confidence_interval, jaxci.interval("mean", X, method="t").confidence_interval, rtol=1e-12
    )


def f1_of(hits, true, taken, weights):
    return 2 * np.sum(weights * hits) / (np.sum(weights * true) + np.sum(weights * taken))


@pytest.mark.parametrize("scale", ["natural", "logit"])
def test_the_delta_method_steps_by_students_quantiles_if_asked(scale):
    plain, student = (
        jaxci.interval("f1", Y, P, groups=GROUPS, method="delta", scale=scale, use_t=use_t) for use_t in (False, True)
    )
    g = len(SIZES)
    parts = [np.delete(np.arange(N), np.flatnonzero(one == GROUPS)) for one in range(g)]  # by finite differences
    f1 = functools.partial(f1_of, (Y == 1) & (P == 1), (Y == 1), (P == 1))
    slopes = [(f1(np.where(one == GROUPS, 1 + 1e-6, 1.0)) - f1(np.ones(N))) / 1e-6 for one in range(g)]
    leverage = np.sqrt((g - 1) / g) / np.array([len(kept) / N for kept in parts])
    error = np.sqrt(np.sum((np.array(slopes) * leverage) ** 2))
    assert student.standard_error == pytest.approx(error * np.sqrt((g - 1) / g), rel=1e-4)
    wider = stats.t.isf(0.025, g - 1) / stats.norm.isf(0.025) * error / plain.standard_error
    on_scale = special.logit if scale == "logit" else np.asarray
    lengths = [np.diff(on_scale(row.confidence_interval))[0] for row in (plain, student)]
    assert lengths[1] / lengths[0] == pytest.approx(wider, rel=1e-4)
    with pytest.raises(TypeError, match="use_t must be True or False; got 1"):
        jaxci.interval("f1", Y, P, groups=GROUPS, method="delta", use_t=1)


def test_student_of_clusters_compares_with_the_test_of_its_interval():
    result = jaxci.compare("mean", None, X, 0 * X, groups=GROUPS, method="t", confidence_level=0.9)
    again = jaxci.compare("mean", None, X, 0 * X, groups=GROUPS, method="t", confidence_level=1 - result.pvalue)
    nearest = min(again.confidence_interval, key=abs)
    assert nearest == pytest.approx(0, abs=1e-9)
    assert result.test == "paired t of clusters"


@pytest.mark.parametrize("metric", ["accuracy", "recall", "specificity", "f1"])
def test_proportions_of_clusters_are_those_of_the_effective_size(metric):
    right, counted = {
        "accuracy": (Y == P, np.ones(N)),
        "recall": ((Y == 1) & (P == 1), Y == 1),
        "specificity": ((Y == 0) & (P == 0), Y == 0),
        "f1": ((Y == 1) & (P == 1), (Y == 1) | (P == 1)),
    }[metric]
    totals, sizes = (sums_of(1.0 * x).totals for x in (right, counted))
    sums = ClusterSums(totals[sizes > 0], sizes[sizes > 0])
    share, variance, degrees = sums.mean, cluster_variance(sums), satterthwaite(sums)
    size = min(share * (1 - share) / variance, sums.rows)
    assert effective_size(sums, variance, sums.rows) == pytest.approx(size, rel=1e-12)

    step = stats.t.isf(0.025, degrees)
    centre = (share + step**2 / (2 * size)) / (1 + step**2 / size)
    half = step / (1 + step**2 / size) * np.sqrt(share * (1 - share) / size + step**2 / (4 * size**2))
    cut = min(size * (stats.t.isf(0.025, sums.rows - 1) / step) ** 2, sums.rows)
    expected = {
        "wilson_cluster": [centre - half, centre + half],
        "clopper_pearson_cluster": [
            stats.beta.ppf(0.025, share * cut, cut - share * cut + 1),
            stats.beta.isf(0.025, share * cut + 1, cut - share * cut),
        ],
    }
    for method, bounds in expected.items():
        if metric == "f1":
            bounds = [2 * end / (1 + end) for end in bounds]
        row = jaxci.interval(metric, Y, P, groups=GROUPS, method=method)
        np.testing.assert_allclose(row.confidence_interval, bounds, rtol=1e-10)
        slope = 2 / (1 + share) ** 2 if metric == "f1" else 1.0
        assert row.standard_error == pytest.approx(slope * np.sqrt(variance), rel=1e-10)


def test_clusters_that_all_agree_count_as_one_row_each():
    row = jaxci.interval("accuracy", Y, Y, groups=GROUPS, method="wilson_cluster", degrees_of_freedom="groups")
    assert row.confidence_interval.high == 1
    step = stats.t.isf(0.025, len(SIZES) - 1)
    assert row.confidence_interval.low == pytest.approx(
        Wilson().from_counts(7, 7, tails(2 * stats.norm.cdf(step) - 1)).low
    )
    assert any("each cluster counts as one row" in remark for remark in row.warnings)


def test_methods_for_clusters_say_what_they_need():
    with pytest.raises(ValueError, match="groups must be given for method 'wilson_cluster'"):
        jaxci.interval("accuracy", Y, P, method="wilson_cluster")
    with pytest.raises(ValueError, match="variance must be one of CR1, CR2, jackknife; got 'CR4'"):
        jaxci.interval("accuracy", Y, P, groups=GROUPS, method="wilson_cluster", variance="CR4")
    with pytest.raises(ValueError, match=r"working_correlation must lie in \[0, 1\]; got 1.5"):
        jaxci.interval("mean", X, groups=GROUPS, method="t", working_correlation=1.5)
    with pytest.raises(ValueError, match="degrees_of_freedom must be one of"):
        jaxci.interval("mean", X, groups=GROUPS, method="t", degrees_of_freedom="rows")
    with pytest.raises(ValueError, match="'wilson_cluster' is for rows in clusters"):
        jaxci.check_coverage("accuracy", Y, P, methods=["wilson_cluster"], n_replications=20)
    with pytest.raises(ValueError, match="is for rows in clusters"):
        jaxci.coverage.Study(
            distributions={"law": jaxci.distributions.Cells.binary(0.5, 0.8, 0.8)},
            statistics=["accuracy"],
            methods=["clopper_pearson_cluster"],
            sample_sizes=[20],
        )


@pytest.mark.parametrize("metric", ["f1_macro", "recall_macro"])
def test_classes_are_joined_at_their_effective_sizes_and_by_how_clusters_vary(metric):
    """A class with rows in a single cluster may have any score; one without a success counts clusters."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(12), 8)
    y = np.where(groups == 3, rng.integers(0, 4, 96), rng.integers(0, 3, 96))
    p = np.where(rng.random(96) < 0.3, rng.integers(0, 3, 96), np.where((y == 2) | (y == 3), 0, y))
    p[(y == 2) & (p == 2)] = 1
    p[p == 2] = 0
    score = (lambda x: 2 * x / (1 + x)) if metric == "f1_macro" else (lambda x: x)

    apart, moves, scores = [[], []], [], []
    for k in range(4):
        counted = (y == k) | (p == k) if metric == "f1_macro" else y == k
        totals = np.bincount(groups, (y == k) & (p == k), 12)
        sums = ClusterSums(totals, np.bincount(groups, counted, 12))
        scores.append(score(sums.mean))
        if sums.count < 2:
            assert k == 3
            apart[0].append(scores[-1]), apart[1].append(1 - scores[-1]), moves.append(None)
            continue
        size = effective_size(sums, cluster_variance(sums), sums.rows)
        step = stats.t.isf(0.025, sums.count - 1)
        centre = (sums.mean + step**2 / (2 * size)) / (1 + step**2 / size)
        half = step / (1 + step**2 / size) * np.sqrt(sums.mean * (1 - sums.mean) / size + step**2 / (4 * size**2))
        apart[0].append(scores[-1] - score(centre - half if sums.mean > 0 else 0.0))
        apart[1].append(score(centre + half) - scores[-1])
        others = 1 - sums.sizes / sums.rows
        moves.append((sums.totals - sums.mean * sums.sizes) / others)
    assert scores[2] == 0
    assert scores[0] > 0

    ends = []
    for sign, distances in zip((-1, 1), apart, strict=True):
        square, rest = 0.0, 0.0
        for i, a in enumerate(distances):
            rest += a if moves[i] is None else 0.0
            for j, b in enumerate(distances):
                if moves[i] is not None and moves[j] is not None:
                    norm = np.sqrt((moves[i] @ moves[i]) * (moves[j] @ moves[j]))
                    square += a * b * ((i == j) if norm == 0 or i == j else moves[i] @ moves[j] / norm)
        ends.append(np.mean(scores) + sign * (np.sqrt(square) + rest) / 4)
    row = jaxci.interval(metric, y, p, groups=groups, method="square_and_add")
    np.testing.assert_allclose(row.confidence_interval, np.clip(ends, 0, 1), rtol=1e-9)
    assert any("fewer than two clusters tell of the share of 1 of the classes" in text for text in row.warnings)


@pytest.mark.parametrize("metric", ["f1_macro", "jaccard_macro", "precision_macro", "recall_macro"])
def test_errors_of_joined_classes_are_the_delta_methods_whatever_the_weights(metric):
    rng = np.random.default_rng(1)
    y, w = rng.integers(0, 3, 90), rng.exponential(size=90)
    p = np.where(rng.random(90) < 0.7, y, rng.integers(0, 3, 90))
    error = jaxci.interval(metric, y, p, sample_weight=w, method="delta").standard_error
    joined = jaxci.interval(metric, y, p, sample_weight=w, method="square_and_add")
    assert joined.standard_error == pytest.approx(error, rel=1e-9)
    scaled = jaxci.interval(metric, y, p, sample_weight=1e6 * w, method="square_and_add")
    np.testing.assert_allclose(scaled.confidence_interval, joined.confidence_interval, rtol=1e-9)


def test_a_class_without_an_error_counts_rows_of_equal_weight_that_tell_as_much():
    y, w = np.repeat([0, 1], [40, 20]), np.linspace(0.1, 2, 60)
    row = jaxci.interval("balanced_accuracy", y, y, sample_weight=w, method="square_and_add")
    by_effect, by_rows = (
        1 - np.sqrt(sum((1 - Wilson().from_counts(size, size, tails(0.95)).low) ** 2 for size in sizes)) / 2
        for sizes in ([w[y == k].sum() ** 2 / (w[y == k] ** 2).sum() for k in (0, 1)], (40, 20))
    )
    assert by_effect < row.confidence_interval.low < by_rows  # the skewness that weights add brings it nearer
    assert row.confidence_interval.low == pytest.approx(by_effect, rel=2e-3)


# two models


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("metric", ["accuracy", "recall"])
def test_shares_in_clusters_are_compared_at_the_effective_size(metric, alternative):
    counted = np.ones(N, bool) if metric == "accuracy" else Y == 1
    apart = counted * ((P == Y).astype(float) - (Q == Y))
    totals, sizes = sums_of(apart).totals, sums_of(1.0 * counted).totals
    sums = ClusterSums(totals[sizes > 0], sizes[sizes > 0])
    rows, only_a, only_b = counted.sum(), np.sum(apart > 0), np.sum(apart < 0)
    independent = (only_a + only_b - (only_a - only_b) ** 2 / rows) / rows**2
    variance, degrees = cluster_variance(sums, "jackknife"), satterthwaite(sums, "jackknife", 0.0)
    effect = max(1.0, variance / independent)
    outcomes = np.array([rows - only_a - only_b, only_a, only_b, 0]) / effect
    tail = stats.norm.sf(stats.t.isf(0.025 if alternative == "two-sided" else 0.05, degrees))
    level = 1 - 2 * tail if alternative == "two-sided" else 1 - tail
    result = jaxci.compare(metric, Y, P, Q, groups=GROUPS, alternative=alternative)
    assert result.method == "tango_cluster"
    expected = paired_score_interval(*outcomes, tails(level, alternative))
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=1e-9)
    assert result.standard_error == pytest.approx(np.sqrt(variance), rel=1e-12)
    z = (outcomes[1] - outcomes[2]) / np.sqrt(outcomes[1] + outcomes[2])
    sides = {"greater": stats.t.sf(z, degrees), "less": stats.t.cdf(z, degrees)}
    assert result.pvalue == pytest.approx(sides.get(alternative, 2 * min(sides.values())), rel=1e-9)


def test_models_that_agree_everywhere_differ_by_as_much_as_clusters_leave_open():
    result = jaxci.compare("accuracy", Y, P, P, groups=GROUPS, margin=0.01)
    alone = jaxci.compare("accuracy", Y[:7], Y[:7], Y[:7])
    assert result.confidence_interval.high > alone.confidence_interval.high > 0.3
    assert result.pvalue == 1
    assert "not shown to be non-inferior" in result.conclusion


@pytest.mark.parametrize(
    ("positive", "said"),
    [([], "recall of both models is a share of no rows"), ([0, 1, 2], "only one cluster has rows")],
)
def test_shares_of_too_few_clusters_could_be_anything(positive, said):
    truth = np.isin(np.arange(N), positive).astype(int)
    result = jaxci.compare("recall", truth, P, Q, groups=GROUPS, labels=[0, 1])
    assert tuple(result.confidence_interval) == (-1, 1)
    assert np.isnan(result.standard_error)
    assert any(said in remark for remark in result.warnings)
    assert not any("all paired differences are zero" in remark for remark in result.warnings)
    assert (result.pvalue, result.conclusion) == (1.0, "no difference shown")


def test_students_test_of_shares_counts_the_rows_that_count():
    truth = np.r_[np.ones(5, int), np.zeros(995, int)]
    none, some = np.zeros(1000, int), np.r_[np.zeros(3, int), np.ones(2, int), np.zeros(995, int)]
    everything = jaxci.compare("recall", truth, truth, none, method="t")
    assert (everything.pvalue, everything.test) == (2 * 0.5**5, "sign test")
    part = jaxci.compare("recall", truth, truth, some, method="t")
    expected = stats.ttest_1samp([1, 1, 1, 0, 0], 0)
    assert part.pvalue == pytest.approx(expected.pvalue)
    assert (part.pvalue < 0.05) == (part.confidence_interval.low > 0)


def test_many_classes_are_averaged_in_little_memory():
    rng, k = np.random.default_rng(0), 300
    y = rng.integers(0, k, 3_000)
    a, b = (np.where(rng.random(3_000) < share, y, rng.integers(0, k, 3_000)) for share in (0.9, 0.8))
    tracemalloc.start()
    result = jaxci.compare("balanced_accuracy", y, a, b)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.conclusion == "a is better than b"
    assert most < 100e6  # an indicator of every class in every cell takes 2 x 300^3 x 8 bytes


def test_ranks_of_many_rows_in_many_clusters_are_not_resampled(monkeypatch):
    monkeypatch.setattr(choice_of_many_rows, "MOST_SMOOTH_DRAWS", 1e5)
    monkeypatch.setattr(choice_of_many_rows, "LARGE_ROWS", 100)
    groups = np.arange(300) % 100
    y, score = np.arange(300) % 2, np.random.default_rng(0).normal(size=300) + np.arange(300) % 2
    found = {
        size: jaxci.interval("roc_auc", y, score, groups=groups % size, n_resamples=999, rng=0) for size in (99, 100)
    }
    assert found[99].method == "proper_bayesian"
    assert found[100].method == Delta(scale="logit", use_t=True)
    np.testing.assert_allclose(found[100].confidence_interval, found[99].confidence_interval, atol=0.02)


# flips of signs


def flips(totals, sizes, difference):
    """Sums over clusters under every way to flip signs, less the one that is seen: by enumeration."""
    apart = totals - difference * sizes
    return np.array([np.dot(signs, apart) for signs in itertools.product((1, -1), repeat=len(totals))]), apart.sum()


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bounds_are_the_differences_that_the_sign_flip_test_does_not_reject(level):
    z = RNG.normal(0.3, 1, N)
    result = jaxci.compare("mean", None, X, X - z, groups=GROUPS, method="sign_flip", confidence_level=level)
    totals, tail = sums_of(z).totals, (1 - level) / 2
    low, high = result.confidence_interval
    for bound, sign in ((low, 1), (high, -1)):
        for step, kept in ((-1e-6, sign < 0), (1e-6, sign > 0)):
            flipped, seen = flips(totals, SIZES, bound + step)
            share = np.mean(sign * flipped >= sign * seen - 1e-12)
            assert (share > tail) == kept
    flipped, seen = flips(totals, SIZES, 0.0)
    expected = 2 * min(np.mean(flipped >= seen - 1e-12), np.mean(flipped <= seen + 1e-12))
    assert result.pvalue == pytest.approx(min(expected, 1))
    assert (result.conclusion == "no difference shown") == (low <= 0 <= high)


def test_drawn_flips_are_near_to_all_of_them():
    everything, drawn, again = (
        jaxci.compare("accuracy", Y, P, Q, groups=GROUPS, method=SignFlip(n_flips=b), rng=seed, confidence_level=0.8)
        for b, seed in ((128, 0), (127, 0), (100_000, 5))
    )
    assert everything.pvalue != drawn.pvalue
    groups = np.arange(N) % 16
    one, other = (
        jaxci.compare("accuracy", Y, P, Q, groups=groups, method=SignFlip(n_flips=flips), rng=0)
        for flips in (2**16, 2**16 - 1)
    )
    np.testing.assert_allclose(one.confidence_interval, other.confidence_interval, atol=0.06)
    assert one.pvalue == pytest.approx(other.pvalue, abs=0.01)
    assert again.pvalue == everything.pvalue


def test_too_few_clusters_have_the_whole_range_and_the_smallest_p():
    keep = GROUPS < 4
    result = jaxci.compare("accuracy", Y[keep], Y[keep], 1 - Y[keep], groups=GROUPS[keep], method="sign_flip")
    assert tuple(result.confidence_interval) == (-1, 1)
    assert result.pvalue == 2**-3
    assert result.conclusion == "no difference shown"
    (said,) = [remark for remark in result.warnings if "ways to flip" in remark]
    assert said == (
        "16 ways to flip the signs of 4 clusters are too few for this level: a one-sided p-value is never below 0.062"
    )
    drawn = jaxci.compare(
        "mean", None, X, 0 * X, groups=np.arange(N) % 20, method="sign_flip", n_flips=99, confidence_level=0.999
    )
    assert any("100 ways to flip the signs of 20 clusters" in remark for remark in drawn.warnings)
    right = jaxci.compare("accuracy", Y, Y, 1 - Y, groups=np.arange(N) % 10, method="sign_flip", alternative="less")
    assert not any("few" in remark for remark in right.warnings)


def test_an_interval_by_flips_says_that_few_clusters_differ():
    half = np.where(GROUPS < 3, 1 - Y, Y)
    result = jaxci.compare("accuracy", Y, Y, half, groups=GROUPS, method="sign_flip", confidence_level=0.9)
    text = "only 3 of 7 clusters differ: the interval covers less than it says"
    assert f"{text}; use 'tango_cluster'" in result.warnings
    values = jaxci.compare("mean", None, Y, half, groups=GROUPS, method="sign_flip", confidence_level=0.9)
    assert text in values.warnings


def test_an_interval_by_flips_says_that_few_clusters_decide():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 8)
    y, error = rng.normal(size=160), rng.normal(size=160)
    heavy = np.where(groups == 3, 9.0, 1.0)
    text = "a few of the 20 clusters decide the difference, which flips of signs take to be symmetric"
    few, many = (
        jaxci.compare("mean_squared_error", y, y + error * by, y + 1.6 * rng.normal(size=160) * by, groups=groups)
        for by in (heavy, 1.0)
    )
    assert few.method == many.method == "sign_flip"
    assert any(text in remark for remark in few.warnings)
    assert not any(text in remark for remark in many.warnings)


@pytest.mark.parametrize("ratio", [0.4, 2.0])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_auto_reaches_away_from_0_as_far_as_student_and_keeps_the_verdict(ratio, alternative):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), np.arange(1, 21))
    y = rng.normal(size=len(groups))
    models = [y + times * rng.standard_t(3, len(y)) for times in (1, ratio)]
    auto, flips, student = (
        jaxci.compare("mean_squared_error", y, *models, groups=groups, method=method, alternative=alternative, rng=0)
        for method in ("auto", "sign_flip", "kurtosis_t")
    )
    assert auto.method == SignFlip(skewed=True)
    assert auto.pvalue == flips.pvalue
    assert auto.conclusion == flips.conclusion
    low, high = flips.confidence_interval
    if ratio > 1 and alternative != "less":
        assert student.confidence_interval.low < low
        low = student.confidence_interval.low
    if ratio < 1 and alternative != "greater":
        assert student.confidence_interval.high > high
        high = student.confidence_interval.high
    np.testing.assert_allclose(auto.confidence_interval, (low, high), rtol=1e-9)
    alone = jaxci.compare("recall", 1 * (GROUPS == 0), P, Q, groups=GROUPS, method=SignFlip(skewed=True))
    assert tuple(alone.confidence_interval) == (-1, 1)
    with pytest.raises(TypeError, match="skewed must be True or False; got 1"):
        SignFlip(skewed=1)


@pytest.mark.slow
@pytest.mark.false_alarm(2e-6)
def test_differences_in_clusters_with_heavy_tails_are_covered():
    """Flips alone cover 83%: the model that errs more has the longer tail. Equal models are seldom told apart."""
    rng, groups = np.random.default_rng(11), np.repeat(np.arange(40), 10)
    heavy = functools.partial(rng.standard_t, 3)
    for ratio, data_sets in ((1.6, 5_000), (1.0, 2_000)):
        held = found = 0
        for _ in range(data_sets):
            y, alike, common = rng.normal(size=400), heavy(size=40), heavy(size=400)
            models = [
                y
                + times * np.sqrt(0.2 / 3) * (alike + heavy(size=40))[groups]
                + times * np.sqrt(0.3 / 3) * (common + heavy(size=400))
                for times in (1, ratio)
            ]
            row = jaxci.compare("mean_squared_error", y, *models, groups=groups)
            held += row.confidence_interval.low <= 1 - ratio**2 <= row.confidence_interval.high
            found += row.pvalue <= 0.05
        if ratio > 1:
            assert held >= stats.binom.ppf(1e-6, data_sets, 0.87)
        else:
            assert found <= stats.binom.isf(1e-6, data_sets, 0.05)


def expanded(clusters, tail):
    """The tail of Hesterberg (2015)."""
    return stats.norm.cdf(-np.sqrt(clusters / (clusters - 1)) * stats.t.isf(tail, clusters - 1))


@pytest.mark.slow
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_expanded_percentiles_are_percentiles_further_out(alternative):
    tail = 0.025 if alternative == "two-sided" else 0.05
    level = 1 - (2 if alternative == "two-sided" else 1) * expanded(len(SIZES), tail)
    shared = {"groups": GROUPS, "alternative": alternative, "rng": 0}
    for metric, data in (("median", (X,)), ("iqr", (X,)), ("spearmanr", (X, X + RNG.normal(size=N)))):
        method = "auto" if metric == "spearmanr" else "expanded_percentile"
        found = jaxci.interval(metric, *data, method=method, **shared)
        assert found.method == "expanded_percentile"
        asked = found.reason == "asked for"
        assert asked or found.reason.endswith("percentile endpoints, further out as clusters are few")
        plain = jaxci.interval(metric, *data, method="percentile", confidence_level=level, **shared)
        np.testing.assert_allclose(found.confidence_interval, plain.confidence_interval, rtol=1e-12)
        assert found.standard_error == plain.standard_error


@pytest.mark.slow
@pytest.mark.parametrize("n_resamples", [None, 9_999])
def test_expanded_percentiles_of_a_mean_are_nearly_students(n_resamples):
    """Of the law of the mean, and of draws; the p-value is that of the interval."""
    x = stats.norm.ppf((np.arange(12) + 0.5) / 12) + 1.2
    found = jaxci.interval("mean", x, method="expanded_percentile", n_resamples=n_resamples, rng=0)
    np.testing.assert_allclose(
        found.confidence_interval, jaxci.interval("mean", x, method="t").confidence_interval, atol=0.08
    )
    zero = np.zeros(12)
    for shift in (0.3, -0.7):
        two = {"n_resamples": n_resamples, "rng": 0, "method": "expanded_percentile"}
        p = jaxci.compare("mean", None, x - 1.2 + shift, zero, **two).pvalue
        assert p == pytest.approx(stats.ttest_1samp(x - 1.2 + shift, 0).pvalue, abs=0.03)
        for level, excluded in ((1 - 1.1 * p, True), (1 - 0.9 * p, False)):
            low, high = jaxci.compare(
                "mean", None, x - 1.2 + shift, zero, confidence_level=level, **two
            ).confidence_interval
            assert (low > 0 or high < 0) == excluded


@pytest.mark.computes
@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("metric", "least"), [("iqr", 0.91), ("spearmanr", 0.93), ("median_absolute_error", 0.92)])
def test_metrics_without_a_formula_are_covered_in_eight_clusters(metric, least):
    """Through the verbs; percentiles cover 84% to 91%. Of two models with the same law errors do not differ."""
    rng, groups, held, sets = np.random.default_rng(2), np.repeat(np.arange(8), 30), 0, 600
    truth = {"iqr": 2 * stats.norm.ppf(0.75), "spearmanr": 6 / np.pi * np.arcsin(np.sqrt(0.5) / 2)}.get(metric, 0.0)
    for number in range(sets):
        x, e = np.sqrt(0.2) * rng.normal(size=(2, 8))[:, groups] + np.sqrt(0.8) * rng.normal(size=(2, 240))
        shared = {"groups": groups, "n_resamples": 1999, "rng": number}
        if metric == "median_absolute_error":
            row = jaxci.compare(metric, 0 * x, x, e, **shared)
        else:
            row = jaxci.interval(metric, *((x,) if metric == "iqr" else (x, x + e)), **shared)
        held += row.confidence_interval.low <= truth <= row.confidence_interval.high
    assert held >= stats.binom.ppf(1e-6, sets, least)


@pytest.mark.slow
def test_moments_of_two_clusters_have_intervals_with_a_width():
    """Resamples of two clusters hold one of them twice, which has no error, or both: pivots of 0 alone."""
    rng = np.random.default_rng(0)
    for clusters, method in ((2, "delta"), (3, "delta"), (4, "studentized")):
        groups = np.repeat(np.arange(clusters), 15)
        y = rng.normal(size=len(groups))
        table = jaxci.evaluate(y, y + rng.normal(size=len(y)), metrics=["r2", "pearsonr"], groups=groups, rng=0)
        of_four = ("kurtosis_t", "expanded_percentile")  # a formula of its own, and a range that it keeps to
        for row, expected in zip(table, of_four if clusters == 4 else (method, method), strict=True):
            assert row.method.name == expected
            assert row.confidence_interval.high - row.confidence_interval.low > row.standard_error
        assert jaxci.interval("std", y, groups=groups, rng=0).method.name == method


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "method"), [(3, "delta"), (4, "studentized"), (60, "studentized")])
def test_deviations_of_weighted_rows_in_clusters_are_studentized(clusters, method):
    groups = np.arange(240) % clusters
    y, guess, weights = RNG.normal(size=240), RNG.normal(size=240), RNG.uniform(0.5, 2, 240)
    options = {"groups": groups, "sample_weight": weights, "rng": 0}
    for metric in ("std", "var"):
        found = jaxci.interval(metric, y, **options)
        assert found.method.name == method
        assert (
            found.confidence_interval == jaxci.interval(metric, y, **options, method=found.method).confidence_interval
        )
        assert bool(found.warnings) == (clusters < 50)
    assert jaxci.interval("r2", y, guess, **options).method == KurtosisT(scale="log_complement")


@pytest.mark.computes
@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_deviations_of_weighted_rows_in_clusters_are_covered():
    """Percentile intervals cover 77%."""
    rng, groups, law, held = np.random.default_rng(4), np.repeat(np.arange(60), 5), stats.lognorm(0.8), 0
    for number in range(1_000):
        normal = np.sqrt(0.4) * rng.normal(size=60)[groups] + np.sqrt(0.6) * rng.normal(size=300)
        options = {"groups": groups, "sample_weight": rng.gamma(2, 1, 300) + 0.1, "n_resamples": 999, "rng": number}
        low, high = jaxci.interval("std", np.exp(0.8 * normal), **options).confidence_interval
        held += low <= law.std() <= high
    assert held >= stats.binom.ppf(1e-6, 1_000, 0.86)


@pytest.mark.parametrize("metric", ["r2", "explained_variance"])
def test_explained_variance_in_clusters_is_judged_on_the_scale_of_its_complement(metric):
    """By its definition: what clusters contribute to log(1 - R2), as a jackknife of uneven ones would have it."""
    rng, sizes = np.random.default_rng(3), np.array([12, 3, 5, 7, 4, 9, 6, 5])
    groups = np.repeat(np.arange(8), sizes)
    y = rng.normal(size=8)[groups] + rng.normal(size=len(groups))
    guess = y + rng.standard_t(4, size=len(groups)) - 0.2
    found = jaxci.interval(metric, y, guess, groups=groups)
    assert found.method == KurtosisT(scale="log_complement")

    missed = y - guess
    unexplained = missed - missed.mean() if metric == "explained_variance" else missed
    of_rows = unexplained**2 / np.mean(unexplained**2) - (y - y.mean()) ** 2 / y.var()
    n, total = 8, np.bincount(groups, of_rows)
    units = n * total / len(y) * (1 - 1 / n) / (1 - sizes / len(y))
    units -= units.mean()
    ends = np.array([units.max(), units.min()])
    second, fourth = (np.sum(units**k) + np.sum(ends**k) / 4 for k in (2, 4))
    degrees = np.clip(2 * n / ((n + 0.5) * fourth / second**2 - 1), 1, n - 1)
    counted = ClusterSums(sizes[None] * 1.0, sizes[None] * 1.0)
    fewer = min(degrees, float(satterthwaite(counted, working_correlation=0.0)[0]))
    step = stats.t.ppf(0.975, fewer) * np.sqrt(second / (n * (n - 1)))
    ratio = np.mean(unexplained**2) / y.var()
    expected = [1 - ratio * np.exp(step), 1 - ratio * np.exp(-step)]
    np.testing.assert_allclose(found.confidence_interval, expected, rtol=1e-9)
    assert (
        f"of the 8 clusters decide the estimate: its error is known no better than that of {fewer + 1:.0f}"
        in " ".join(found.warnings)
    )


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("clusters", "least"), [(20, 0.92), (60, 0.93)])
def test_explained_variance_in_uneven_clusters_is_covered(clusters, least):
    """Through the verb; lognormal values and errors, of which studentized intervals cover 93% and 85%."""
    rng, law, held, sets = np.random.default_rng(6), stats.lognorm(0.8), 0, 600
    spread = np.exp(stats.norm.ppf((np.arange(clusters) + 0.5) / clusters))
    groups = np.repeat(np.arange(clusters), np.maximum(1, np.round(6 * spread)).astype(int))
    for _ in range(sets):
        normal = rng.normal(size=(2, clusters))[:, groups] + rng.normal(size=(2, len(groups)))
        y, errors = np.exp(0.8 * normal / np.sqrt(2))
        low, high = jaxci.interval("r2", y, y + 0.6 * (errors - law.mean()), groups=groups).confidence_interval
        held += low <= 1 - 0.6**2 <= high
    assert held >= stats.binom.ppf(1e-6, sets, least)


@pytest.mark.slow
def test_thousands_of_clusters_are_flipped_by_chance():
    x = np.random.default_rng(0).normal(0.01, 1, 6_000)
    groups = np.arange(6_000) // 2
    flips, student = (jaxci.compare("mean", None, x, 0 * x, groups=groups, method=m) for m in ("auto", "t"))
    assert flips.method == "sign_flip"
    np.testing.assert_allclose(flips.confidence_interval, student.confidence_interval, atol=0.002)
    assert flips.pvalue == pytest.approx(student.pvalue, abs=0.03)
    with pytest.raises(ValueError, match="flips at most 10000 clusters; got 20000"):
        jaxci.compare("mean", None, np.tile(x, 4)[:20_000], np.zeros(20_000), method="sign_flip")


def test_sums_that_cancel_but_for_rounding_are_zero():
    tenths = np.array([0.1, 0.2, -0.3, 0.1, 0.2, -0.3, 0.4])
    result = jaxci.compare("mean", None, tenths, 0 * tenths, method="sign_flip", confidence_level=0.5)
    assert all(end == 0 or abs(end) > 1e-12 for end in result.confidence_interval)
    ways = np.array([np.dot(signs, tenths) for signs in itertools.product((0, 1), repeat=7)])
    below = np.mean(ways <= 1e-12)
    assert result.pvalue == pytest.approx(2 * min(below, np.mean(ways >= -1e-12)))


def test_rows_on_their_own_are_clusters_and_their_test_is_that_of_signs():
    only_a, only_b = 9, 1
    y = np.zeros(30, int)
    a, b = (np.isin(np.arange(30), rows).astype(int) for rows in (range(only_b), range(only_b, only_b + only_a)))
    result = jaxci.compare("accuracy", y, a, b, method=SignFlip(n_flips=200_000), labels=[0, 1])
    assert result.pvalue == pytest.approx(2 * special.bdtr(only_b, only_a + only_b, 0.5), abs=0.004)


def test_contributions_of_clusters_are_judged_like_those_of_rows():
    """Of clusters of one size the mean of each is a row; uneven ones leave fewer degrees of freedom."""
    rng = np.random.default_rng(5)
    a = rng.lognormal(size=(12, 4))
    means = a.mean(axis=1)
    found = jaxci.compare(
        "mean", None, a.ravel(), 0 * a.ravel(), groups=np.repeat(np.arange(12), 4), method="kurtosis_t"
    )
    of_rows = jaxci.compare("mean", None, means, 0 * means, method="kurtosis_t")
    np.testing.assert_allclose(found.confidence_interval, of_rows.confidence_interval, rtol=1e-9)
    assert found.standard_error == pytest.approx(of_rows.standard_error, rel=1e-9)

    sizes = np.array([40, 3, 3, 3, 3, 3])
    x, groups = rng.normal(size=sizes.sum()), np.repeat(np.arange(6), sizes)
    uneven = jaxci.compare("mean", None, x, 0 * x, groups=groups, method=KurtosisT(mass=0.0))
    counted = ClusterSums(sizes[None] * 1.0, sizes[None] * 1.0)
    degrees = float(satterthwaite(counted, working_correlation=0.0)[0])
    half = stats.t.ppf(0.975, degrees) * uneven.standard_error
    np.testing.assert_allclose(uneven.confidence_interval, [x.mean() - half, x.mean() + half], rtol=1e-9)
    assert degrees < 3
    with pytest.raises(ValueError, match="'kurtosis_t' with these settings cannot use groups"):
        jaxci.compare("mean", None, x, 0 * x, groups=groups, method=KurtosisT(error="jackknife"))


def test_few_clusters_that_decide_a_difference_are_told():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5)
    y = 1 * (np.arange(200) % 40 == 0)
    found = jaxci.compare("roc_auc", y, *(3 * y + rng.normal(size=(2, 200))), groups=groups)
    assert found.method == KurtosisT()
    assert any("of the 40 clusters decide the difference" in text for text in found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "method"), [(5, "t"), (6, "sign_flip"), (12, "sign_flip")])
def test_auto_compares_means_in_clusters_by_flips_where_these_can_tell(clusters, method):
    groups = np.arange(N) % clusters
    for metric, data in (("mean_absolute_error", (Y, P / 2, Q / 3)), ("mean", (None, X, X**2))):
        result = jaxci.compare(metric, *data, groups=groups)
        assert result.method == method
        assert "clusters" in result.reason
    drawn = jaxci.compare("mean", None, X, X**2, groups=groups, confidence_level=0.99999)
    assert drawn.method == "t"
    assert jaxci.compare("f1", Y, P, Q, groups=groups).method == KurtosisT()
    for metric, data in (("mean", (None, X, X**2)), ("f1", (Y, P, Q))):
        assert jaxci.compare(metric, *data, groups=groups, strata=0 * groups).method == KurtosisT()
        with pytest.warns(jaxci.JaxciWarning, match="strata hold a single unit each"):
            alone = jaxci.compare(metric, *data, groups=groups, strata=groups, n_resamples=199)
        assert alone.method == "expanded_percentile"
    assert jaxci.compare("accuracy", Y, P, Q, groups=groups, alternative="greater").method == "tango_cluster"


@pytest.mark.parametrize("method", ["wilson_cluster", "clopper_pearson_cluster"])
def test_a_share_of_rows_in_one_cluster_may_be_anything(method):
    with pytest.warns(jaxci.JaxciWarning, match="only one cluster has rows that count: how clusters differ is unknown"):
        found = jaxci.interval("recall", 1 * (GROUPS == 0), P, groups=GROUPS, method=method)
    assert tuple(found.confidence_interval) == (0, 1)


def test_the_delta_method_takes_degrees_of_freedom_for_uneven_clusters():
    """The width is that of G - 1 degrees of freedom, by the ratio of Student's quantiles."""
    sizes = np.bincount(GROUPS).astype(float)[None]
    options = {"groups": GROUPS, "method": "delta", "use_t": True}
    plain = jaxci.interval("f1", Y, P, **options)
    for correlation in (0.0, 1.0):
        few = {"degrees_of_freedom": "satterthwaite", "working_correlation": correlation}
        found = jaxci.interval("f1", Y, P, **options, **few)
        degrees = satterthwaite(ClusterSums(sizes, sizes), working_correlation=correlation)[0]
        ratio = stats.t.ppf(0.975, degrees) / stats.t.ppf(0.975, sizes.size - 1)
        low, high = plain.confidence_interval
        expected = plain.estimate + (np.array([low, high]) - plain.estimate) * ratio
        np.testing.assert_allclose(found.confidence_interval, np.clip(expected, 0, 1), rtol=1e-9)
    few = {"degrees_of_freedom": "few", "working_correlation": 3}
    for option, value in few.items():
        with pytest.raises(ValueError, match=option):
            Delta(use_t=True, **{option: value})


def _of_classes(number, classes, n):
    """Return labels of several classes, seven in ten right, of which other cells are observed in each data set."""
    rng = np.random.default_rng([number, classes])
    y = rng.integers(0, classes, n)
    return y, np.where(rng.random(n) < 0.7, y, rng.integers(0, classes, n))


def test_tables_of_other_observed_cells_do_not_recompile():
    """In clusters each of 45, 47, 51, 54 and 56 cells had a program of its own, of .3 to 9 seconds."""
    asked = {"groups": np.arange(300) // 10, "n_resamples": 199, "rng": 0}
    cells, compiled = set(), set()
    for number in range(5):
        y, guess = _of_classes(number, 8, 300)
        jaxci.interval("matthews_corrcoef", y, guess, **asked)
        cells.add(len(np.unique(8 * y + guess)))
        compiled.add((replicate._chunk._cache_size(), replicate._rows._cache_size()))
    assert len(cells) > 2
    assert len(compiled) == 1


def test_tables_of_rows_that_hold_other_numbers_do_not_recompile():
    """The laws of the weights of cells are as many as numbers of rows in these differ."""
    compiled, laws = set(), set()
    for number in range(5):
        y = np.repeat(np.arange(5), 30)
        guess = y.copy()
        wrong = np.repeat(np.arange(5), 1 + number * np.arange(5) // 4)
        first = np.concatenate([30 * k + np.arange(np.sum(wrong == k)) for k in range(5)])
        guess[first] = (guess[first] + 1) % 5
        laws.add(len(np.unique(np.unique(5 * y + guess, return_counts=True)[1])))
        jaxci.interval("matthews_corrcoef", y, guess, n_resamples=199, rng=0)
        compiled.add(replicate._rows._cache_size())
    assert len(laws) > 2
    assert len(compiled) == 1


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_log_losses_of_clusters_of_dozens_of_rows_do_not_hang_on_one_that_was_not_seen():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(40), 24)
    odds = 4 * rng.normal(size=960) - 3
    y = (rng.random(960) < 1 / (1 + np.exp(-odds))).astype(int)
    given = {"groups": cluster, "rng": 0, "n_resamples": 999}
    found = jaxci.interval("log_loss", y, 1 / (1 + np.exp(-odds)), **given)
    other = jaxci.interval("log_loss", y, 1 / (1 + np.exp(-odds)), method=KurtosisT(scale="log"), **given)
    assert found.method.name == "proper_bayesian"
    low, high = found.confidence_interval
    assert high - low < 1.5 * (other.confidence_interval.high - other.confidence_interval.low)  # as the rule asks
    assert high - found.estimate > found.estimate - low > 0


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("metric", ["area", "precision"])
def test_ranks_in_many_clusters_are_judged_by_influence(k, metric):
    name = {2: ("roc_auc", "average_precision"), 3: ("roc_auc_ovr", "average_precision_macro")}[k][
        metric == "precision"
    ]
    rng, groups = np.random.default_rng(7), np.repeat(np.arange(120), 20)
    y = rng.choice(k, len(groups), p=[*([0.05] * (k - 1)), 1 - 0.05 * (k - 1)][::-1])
    logits = rng.normal(size=(len(y), k)) + 0.5 * rng.normal(size=(120, k))[groups]
    logits[np.arange(len(y)), y] += 2.5
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    asked = {"groups": groups, "n_resamples": 199, "confidence_level": 0.9, "rng": 0}
    found = jaxci.interval(name, y, scores, **asked)
    assert found.method.label == "kurtosis_t(scale=logit)"
    assert found.reason.startswith("ranks of rows in 100 clusters or more: influence, summed over each")
    low, high = found.confidence_interval
    wide = jaxci.interval(name, y, scores, method="proper_bayesian", **asked).confidence_interval
    assert high - low < 0.9 * (wide.high - wide.low)
    weights, with_scores = rng.lognormal(0, 0.5, len(y)), np.exp(3 * scores[:, -1])
    weighted, told = (jaxci.interval(name, y, scores, sample_weight=w, **asked) for w in (weights, with_scores))
    assert (weighted.method == found.method) == (k == 2)  # what the weights of several classes go with is not known
    assert told.method == "proper_bayesian"
    fewer = groups < 90
    assert (
        "100 clusters" not in jaxci.interval(name, y[fewer], scores[fewer], **asked | {"groups": groups[fewer]}).reason
    )
    right = np.eye(k)[y] + 0.01 * rng.random((len(y), k))
    assert "100 clusters" not in jaxci.interval(name, y, right / right.sum(axis=1, keepdims=True), **asked).reason
