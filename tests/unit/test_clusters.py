"""Rows in clusters: robust variances, effective sizes, and flips of signs."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci.intervals.base import tails
from jaxci.intervals.clustered_proportion import effective_size
from jaxci.intervals.clusters import ClusterSums, cluster_variance, satterthwaite
from jaxci.intervals.parametric import Delta, T
from jaxci.intervals.proportion import wilson
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
    error = np.sqrt(cluster_variance(sums_of(X)))
    step = stats.t.isf(0.025, satterthwaite(sums_of(X))) * error
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


@pytest.mark.parametrize("scale", ["natural", "logit"])
def test_the_delta_method_steps_by_students_quantiles_if_asked(scale):
    plain, student = (
        jaxci.interval("f1", Y, P, groups=GROUPS, method="delta", scale=scale, use_t=use_t) for use_t in (False, True)
    )
    g = len(SIZES)
    wider = stats.t.isf(0.025, g - 1) / stats.norm.isf(0.025) * np.sqrt(g / (g - 1))
    on_scale = special.logit if scale == "logit" else np.asarray
    lengths = [np.diff(on_scale(row.confidence_interval))[0] for row in (plain, student)]
    assert lengths[1] / lengths[0] == pytest.approx(wider, rel=1e-9)
    assert student.standard_error == plain.standard_error
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
    assert effective_size(sums, variance) == pytest.approx(size, rel=1e-12)

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
    assert row.confidence_interval.low == pytest.approx(wilson(7, 7, tails(2 * stats.norm.cdf(step) - 1)).low)
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
    with pytest.raises(ValueError, match="at least 2 clusters that count for method 'wilson_cluster'; got 1"):
        jaxci.interval("recall", 1 * (GROUPS == 0), P, groups=GROUPS, method="wilson_cluster")
    with pytest.raises(ValueError, match="'wilson_cluster' is for rows in clusters"):
        jaxci.check_coverage("accuracy", Y, P, methods=["wilson_cluster"], n_replications=20)
    with pytest.raises(ValueError, match="is for rows in clusters"):
        jaxci.coverage.Study(
            distributions={"law": jaxci.distributions.Cells.binary(0.5, 0.8, 0.8)},
            statistics=["accuracy"],
            methods=["clopper_pearson_cluster"],
            sample_sizes=[20],
        )


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
    assert any("4 clusters are too few" in remark for remark in result.warnings)


def test_rows_on_their_own_are_clusters_and_their_test_is_that_of_signs():
    only_a, only_b = 9, 1
    y = np.zeros(30, int)
    a, b = (np.isin(np.arange(30), rows).astype(int) for rows in (range(only_b), range(only_b, only_b + only_a)))
    result = jaxci.compare("accuracy", y, a, b, method=SignFlip(n_flips=200_000), labels=[0, 1])
    assert result.pvalue == pytest.approx(2 * special.bdtr(only_b, only_a + only_b, 0.5), abs=0.004)


@pytest.mark.parametrize(("clusters", "method"), [(5, "t"), (6, "sign_flip"), (12, "sign_flip")])
def test_auto_compares_means_and_shares_in_clusters_by_flips_where_these_can_tell(clusters, method):
    groups = np.arange(N) % clusters
    for metric, data in (("accuracy", (Y, P, Q)), ("recall", (Y, P, Q)), ("mean", (None, X, X**2))):
        result = jaxci.compare(metric, *data, groups=groups)
        assert result.method == method
        assert "clusters" in result.reason
    assert jaxci.compare("f1", Y, P, Q, groups=groups).method == Delta(use_t=True)
    assert (
        jaxci.compare("mean", None, X, X**2, groups=groups, strata=0 * groups, n_resamples=199).method == "percentile"
    )
    assert jaxci.compare("accuracy", Y, P, Q, groups=groups, alternative="greater").method in ("sign_flip",)
