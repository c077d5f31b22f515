import itertools
import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

import jaxci
from jaxci.api.quantile_plans import expected_order_statistic
from jaxci.api.quantiles import METHODS
from jaxci.intervals.base import tails
from jaxci.intervals.order_laws import (
    below,
    joint_level,
    least_simultaneous_n,
    randomized_ranks,
    simultaneous_ranks,
)
from jaxci.intervals.proportion import Jeffreys, Wilson
from jaxci.intervals.quantile import HarrellDavis, _ranks, order_statistic_ranks

LEVELS = (0.90, 0.95, 0.99)
TABLE_1 = {
    0.90: (230, 91, 45, 22, 9, 5),
    0.95: (299, 119, 59, 29, 11, 6),
    0.99: (459, 182, 90, 44, 17, 8),
}
TABLE_2 = {
    0.90: (446, 87, 42, 16, 7, 9, 25, 52, 268),
    0.95: (563, 110, 53, 19, 8, 12, 35, 73, 381),
    0.99: (846, 164, 79, 28, 11, 20, 60, 127, 657),
}


@pytest.mark.parametrize("level", LEVELS)
def test_tables_1_and_2_come_out(level):
    first = [jaxci.minimum_sample_size(u, confidence_level=level) for u in (0.01, 0.025, 0.05, 0.1, 0.25, 0.5)]
    assert tuple(first) == TABLE_1[level]
    us = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    second = [jaxci.minimum_sample_size(u, confidence_level=level, method="asymptotic") for u in us]
    assert tuple(second) == TABLE_2[level]


def test_the_median_of_one_to_twelve():
    result = jaxci.quantile_interval(np.arange(1, 13), 0.5, method="order_statistic")
    assert result.confidence_interval == (3.0, 10.0)
    assert result.actual_level == pytest.approx(0.96142578, abs=5e-9)


@pytest.mark.parametrize("n", [6, 12, 23])
@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
def test_one_sided_exact_bounds_are_scipys(n, q):
    x = np.random.default_rng(n).normal(size=n)
    for alternative, side in (("less", 1), ("greater", 0)):
        theirs = stats.quantile_test(x, p=q).confidence_interval(confidence_level=0.95)
        # SciPy's two-sided interval at level c puts (1 - c)/2 in each tail, as a one-sided bound at (1 + c)/2 does.
        try:
            ours = jaxci.quantile_interval(
                x, q, method="order_statistic", alternative=alternative, confidence_level=0.975
            )
        except ValueError:
            assert not math.isfinite(theirs[side])
            continue
        assert ours.confidence_interval[side] == theirs[side]


GRID = [(n, u, a) for n in (3, 6, 12, 17) for u in (0.1, 0.25, 0.5, 0.8) for a in (0.01, 0.05, 0.1, 0.4)]


@pytest.mark.parametrize(("n", "u", "alpha"), GRID)
def test_the_randomized_interval_has_the_level_and_least_length(n, u, alpha):
    law = below(n, u)
    pairs = [(k, l) for k in range(1, n) for l in range(k + 1, n + 1)]
    levels = np.array([law[l] - law[k] for k, l in pairs])
    lengths = np.array([l - k for k, l in pairs])
    equal = np.vstack([levels, np.ones(len(pairs))])
    program = linprog(lengths, A_eq=equal, b_eq=[1 - alpha, 1], bounds=(0, None))
    found = randomized_ranks(n, u, tails(1 - alpha))
    assert (found is None) == (u**n + (1 - u) ** n > alpha)
    if found is None:
        assert program.status != 0
        return
    level = sum(p * (law[l] - law[k]) for p, (k, l) in zip(found.probabilities, found.ranks, strict=True))
    length = sum(p * (l - k) for p, (k, l) in zip(found.probabilities, found.ranks, strict=True))
    assert level == pytest.approx(1 - alpha, abs=1e-12)
    assert length == pytest.approx(program.fun, abs=1e-8)


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_one_sided_randomized_bounds_have_the_level(alternative):
    n, u, level = 20, 0.3, 0.9
    found = randomized_ranks(n, u, tails(level, alternative))
    cover = []
    for k, l in found.ranks:
        bound = l if alternative == "less" else k
        below_bound = stats.binom.cdf(bound - 1, n, u)  # fewer than `bound` observations below the quantile
        cover.append(below_bound if alternative == "less" else 1 - below_bound)
    assert np.dot(found.probabilities, cover) == pytest.approx(level, abs=1e-12)


def test_both_candidates_are_shown_and_one_of_them_is_drawn():
    x = np.arange(1.0, 16.0)
    seen = set()
    for seed in range(30):
        result = jaxci.quantile_interval(x, 0.5, method="exact_randomized", confidence_level=0.9, rng=seed)
        assert result.candidate_indices.shape == (2, 2)
        assert result.candidate_probabilities.sum() == pytest.approx(1)
        ends = [int(b) for b in result.confidence_interval]
        assert ends in result.candidate_indices.tolist()
        seen.add(tuple(ends))
        again = jaxci.quantile_interval(x, 0.5, method="exact_randomized", confidence_level=0.9, rng=result.rng)
        assert again.confidence_interval == result.confidence_interval
    assert len(seen) == 2


def test_the_median_interpolates_as_hettmansperger_and_sheather():
    n, level = 15, 0.9
    x = np.sort(np.random.default_rng(0).normal(size=n))
    depth = np.arange(1, n // 2 + 1)
    levels = 1 - 2 * stats.binom.cdf(depth - 1, n, 0.5)
    d = int(np.flatnonzero(levels >= level)[-1]) + 1
    share = (levels[d - 1] - level) / (levels[d - 1] - levels[d])
    weight = (n - d) * share / (d + (n - 2 * d) * share)
    result = jaxci.quantile_interval(x, 0.5, method="interpolated", confidence_level=level)
    assert result.confidence_interval.low == pytest.approx((1 - weight) * x[d - 1] + weight * x[d])
    assert result.confidence_interval.high == pytest.approx((1 - weight) * x[n - d] + weight * x[n - d - 1])


def semiparametric_function(x, v):
    """``Q_T`` as eq. 11 prints it."""
    x, m = np.sort(x), len(x) + 1
    if v <= 1 / m:
        return x[0] + (x[1] - x[0]) * math.log(m * v)
    if v >= (m - 1) / m:
        return x[-1] - (x[-1] - x[-2]) * math.log(m * (1 - v))
    i, e = int(m * v), m * v - int(m * v)
    return (1 - e) * x[i - 1] + e * x[i] if i < len(x) else x[-1]


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.false_alarm(1e-4)
@pytest.mark.parametrize("q", [0.05, 0.3, 0.9])
def test_the_semiparametric_interval_is_its_bootstrap(q):
    x = np.random.default_rng(1).beta(8, 2, 12)
    closed = jaxci.quantile_interval(x, q, method="semiparametric").confidence_interval
    levels = np.random.default_rng(2).beta(13 * q, 13 * (1 - q), 40_000)
    drawn = np.array([semiparametric_function(x, v) for v in levels])
    spread = drawn.std()
    for p, end in ((0.025, closed.low), (0.975, closed.high)):
        assert np.mean(drawn < end) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 40_000))
    resampled = jaxci.quantile_interval(x, q, method="semiparametric_resampled", n_resamples=40_000, rng=0)
    np.testing.assert_allclose(resampled.confidence_interval, closed, atol=0.1 * spread)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_extrapolated_ends_stay_in_the_range():
    x = np.array([0.80, 0.9, 0.93, 0.95, 0.97, 0.99, 0.995])
    free, inside, clipped = (
        jaxci.quantile_interval(x, 0.95, method="semiparametric", bounds=b).confidence_interval
        for b in (None, (0, 1), "clip")
    )
    assert free.high > 1
    assert 0.995 < inside.high < 1
    assert clipped.high == 1
    shifted = jaxci.quantile_interval(10 * x - 3, 0.95, method="semiparametric", bounds=(-3, 7)).confidence_interval
    assert shifted.high == pytest.approx(10 * inside.high - 3)
    g = np.log(x / (1 - x))
    v = stats.beta.ppf(0.975, 8 * 0.95, 8 * 0.05)
    assert inside.high == pytest.approx(1 / (1 + math.exp(-semiparametric_function(g, v))))
    half = jaxci.quantile_interval(x, 0.05, method="semiparametric", bounds=(0, math.inf)).confidence_interval
    v = stats.beta.ppf(0.025, 8 * 0.05, 8 * 0.95)
    assert half.low == pytest.approx(math.exp(semiparametric_function(np.log(x), v)))
    touching = jaxci.quantile_interval([0.5, 0.7, 0.9, 1.0], 0.9, method="semiparametric", bounds=(0, 1))
    assert touching.confidence_interval.high == 1


def test_the_normal_interval_is_that_of_the_noncentral_t():
    x = np.random.default_rng(3).normal(2, 3, 14)
    result = jaxci.quantile_interval(x, 0.9, method="noncentral_t", rng=0)
    law = stats.nct(13, stats.norm.ppf(0.9) * math.sqrt(14))
    expected = x.mean() + law.ppf([0.025, 0.975]) * x.std(ddof=1) / math.sqrt(14)
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=1e-6)
    assert result.shapiro_pvalue == pytest.approx(stats.shapiro(x).pvalue)
    assert 0 < result.lilliefors_pvalue <= 1


def test_point_estimates():
    x = np.random.default_rng(4).normal(size=17)
    for u in (0.1, 0.5, 0.77):
        assert jaxci.quantile_estimate(x, u) == np.sort(x)[math.ceil(17 * u) - 1]
        assert jaxci.quantile_estimate(x, u, method="interpolated") == pytest.approx(
            np.quantile(x, u, method="weibull")
        )
        assert jaxci.quantile_estimate(x, u, method="linear") == pytest.approx(np.quantile(x, u))
        expected = float(stats.mstats.hdquantiles(x, [u])[0])
        assert jaxci.quantile_estimate(x, u, method="harrell_davis") == pytest.approx(expected)
        middle = stats.beta.ppf(0.5, 18 * u, 18 * (1 - u))
        found = jaxci.quantile_estimate(x, u, method="semiparametric_median")
        assert found == pytest.approx(semiparametric_function(x, middle))


@pytest.mark.false_alarm(1e-5)
def test_the_harrell_davis_interval_is_a_percentile_bootstrap():
    x = np.random.default_rng(5).exponential(size=20)
    result = jaxci.quantile_interval(x, 0.5, method="harrell_davis", n_resamples=4_000, rng=0)
    theirs = stats.bootstrap(
        (x,),
        lambda s, axis: (
            np.asarray(stats.mstats.hdquantiles(s, [0.5], axis=axis))[..., 0, :]
            if axis == 0
            else np.apply_along_axis(lambda row: float(stats.mstats.hdquantiles(row, [0.5])[0]), axis, s)
        ),
        n_resamples=1_000,
        method="percentile",
        rng=1,
    ).confidence_interval
    np.testing.assert_allclose(result.confidence_interval, theirs, atol=0.1)


@pytest.mark.parametrize("method", ["order_statistic", "interpolated", "asymptotic", "semiparametric", "noncentral_t"])
def test_batches_and_vectors_equal_single_calls(method):
    x = np.random.default_rng(6).normal(size=(3, 25))
    both = jaxci.quantile_interval(x, [0.25, 0.5], method=method, rng=0).confidence_interval
    assert both.low.shape == (3, 2)
    for r in range(3):
        for j, q in enumerate((0.25, 0.5)):
            one = jaxci.quantile_interval(x[r], q, method=method, rng=0).confidence_interval
            np.testing.assert_allclose([both.low[r, j], both.high[r, j]], one, rtol=1e-12)


def test_auto_says_why():
    x = np.random.default_rng(7).normal(size=10)
    with pytest.warns(jaxci.JaxciWarning, match="may cover less than its level"):
        result = jaxci.quantile_interval(x, [0.1, 0.5])
    assert result.method == ("semiparametric", "order_statistic")
    assert "needs n >= 29" in result.reason[0]
    assert "semiparametric" in str(result)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("n", [15, 25, 50])
def test_simultaneous_intervals_hold_their_level(n):
    us = [0.25, 0.5, 0.75]
    ranks = simultaneous_ranks(n, us, 0.9)
    joint = joint_level(ranks, n, us)
    assert joint >= 0.9
    drawn = np.sort(np.random.default_rng(n).random((40_000, n)), axis=1)
    inside = np.ones(40_000, bool)
    for (k, l), u in zip(ranks, us, strict=True):
        inside &= (drawn[:, k - 1] <= u) & (u <= drawn[:, l - 1])
    assert inside.mean() == pytest.approx(joint, abs=5 * math.sqrt(0.09 / 40_000))
    for j, (k, l) in enumerate(ranks):  # no end can move inwards
        for shorter in ((k + 1, l), (k, l - 1)):
            assert joint_level([*ranks[:j], shorter, *ranks[j + 1 :]], n, us) < 0.9


def test_the_joint_level_is_that_of_the_multinomial_law():
    """By all samples of 9 rows, counted."""
    us, n, ranks = [0.2, 0.25, 0.7], 9, [(1, 4), (2, 6), (4, 9)]
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n])
    reached = np.cumsum(counts[:, :3], axis=1)
    inside = np.all((reached >= np.array(ranks)[:, 0]) & (reached < np.array(ranks)[:, 1]), axis=1)
    expected = stats.multinomial(n, np.diff([0, *us, 1])).pmf(counts[inside]).sum()
    assert joint_level(ranks, n, us) == pytest.approx(expected, abs=1e-14)
    assert joint_level([(1, 2), (5, 6), (5, 5)], n, us) == 0


@pytest.mark.parametrize(("n", "u"), [(300, 0.01), (2000, 0.5), (2000, 0.999), (1_000_000, 0.3)])
def test_the_joint_level_of_one_quantile_is_binomial_at_every_size(n, u):
    law = stats.binom(n, u)
    for tail in (0.2, 0.025, 1e-6):
        k, l = int(law.ppf(tail)), int(law.isf(tail)) + 1
        assert joint_level([(k, l)], n, [u]) == pytest.approx(law.cdf(l - 1) - law.cdf(k - 1), abs=1e-12)


def test_simultaneous_intervals_of_a_large_sample():
    """Equal steps of the level: ranks of 100,000 values as those that the normal law of counts gives."""
    us, n = [0.1, 0.25, 0.5, 0.75, 0.9], 100_000
    found = jaxci.simultaneous_quantile_intervals(np.arange(1, n + 1), us)
    assert 0.95 <= found.actual_level[0] < 0.9505
    low, high = found.confidence_interval
    half = (high - low) / 2 / np.sqrt(n * np.array(us) * (1 - np.array(us)))
    assert np.ptp(half) < 0.05
    assert 2.2 < half.mean() < 2.58  # between five independent intervals and Bonferroni's, less what is correlated


@pytest.mark.parametrize("us", [[0.5], [0.25, 0.5, 0.75], [0.01, 0.5], [0.05, 0.06], [0.3, 0.95]])
@pytest.mark.parametrize("level", [0.5, 0.75, 0.95])
def test_simultaneous_intervals_exist_from_the_least_n_on(us, level):
    least = least_simultaneous_n(us, level)
    assert simultaneous_ranks(least - 1, us, level) is None
    ranks = simultaneous_ranks(least, us, level)
    assert joint_level(ranks, least, us) >= level - 1e-12
    assert joint_level([(1, least - 1)] * len(us), least - 1, us) < level


@pytest.mark.slow
def test_plans_are_the_smallest_n_nearby():
    plan = jaxci.plan_quantile(0.1, width=0.15)
    assert plan.expected_width <= 0.15
    law = stats.norm(0.9, 0.02)
    by_value = jaxci.plan_quantile(0.1, width=0.02, distribution=law)
    level = np.linspace(0, 1, 2_000_001)[1:-1]
    first, last = (np.mean(law.ppf(level) * stats.beta.pdf(level, k, by_value.n - k + 1)) for k in by_value.ranks)
    assert by_value.expected_width == pytest.approx(last - first, rel=1e-5)
    assert by_value.expected_width <= 0.02


def test_expectations_of_order_statistics():
    for k, n in [(1, 1), (3, 10), (29, 29), (1, 300), (900_000, 1_000_000)]:
        assert expected_order_statistic(stats.uniform(), k, n) == pytest.approx(k / (n + 1), rel=1e-9)
        harmonic = math.fsum(1 / i for i in range(n - k + 1, n + 1))
        assert expected_order_statistic(stats.expon(), k, n) == pytest.approx(harmonic, rel=1e-9)
    for k, n, shape in [(30, 30, 1.5), (28, 30, 0.4), (29, 30, 0.7)]:
        c, lg = 1 / shape, math.lgamma
        known = math.exp(lg(n + 1) + lg(n - k + 1 - c) - lg(n - k + 1) - lg(n + 1 - c))
        assert expected_order_statistic(stats.pareto(shape), k, n) == pytest.approx(known, rel=1e-6)
    assert expected_order_statistic(stats.cauchy(), 30, 30) == math.inf
    assert expected_order_statistic(stats.cauchy(), 1, 30) == -math.inf
    assert expected_order_statistic(stats.t(0.4), 29, 30) == math.inf
    assert expected_order_statistic(stats.norm(), 500, 999) == pytest.approx(0, abs=1e-12)
    normal = expected_order_statistic(SimpleNamespace(ppf=stats.norm.ppf), 30, 30)
    assert normal == pytest.approx(expected_order_statistic(stats.norm(), 30, 30), rel=1e-6)
    known = np.sum(stats.beta.sf(stats.poisson.cdf(np.arange(40), 5), 15, 16))
    assert expected_order_statistic(stats.poisson(5), 15, 30) == pytest.approx(known, rel=0.01)


@pytest.mark.false_alarm(1e-6)
def test_a_plan_of_heavy_tails_has_the_mean_width_of_its_intervals():
    plan = jaxci.plan_quantile(0.9, width=1.0, distribution=stats.t(3))
    ranks = np.array(plan.ranks) - 1
    drawn = np.sort(stats.t(3).rvs(size=(20_000, plan.n), random_state=0), axis=1)[:, ranks]
    widths = drawn[:, 1] - drawn[:, 0]
    assert abs(widths.mean() - plan.expected_width) < 5 * widths.std() / math.sqrt(20_000)


def test_a_summary_of_runs_reads_from_bad_to_good():
    x = np.random.default_rng(8).normal(0.9, 0.01, 30)
    summary = jaxci.summarize_runs(x)
    np.testing.assert_allclose(summary.mean_interval, stats.ttest_1samp(x, 0).confidence_interval())
    rows = summary.layout()[1]
    assert [row[0] for row in rows] == [
        "mean",
        "worst 10% lie below",
        "worst 25% lie below",
        "median",
        "best 25% lie above",
        "best 10% lie above",
    ]
    lower = jaxci.summarize_runs(x, goal="lower").layout()[1]
    assert lower[1][0] == "worst 10% lie above"
    assert float(lower[1][1]) > float(lower[5][1])
    assert "30 runs" in str(summary)
    assert len(summary.to_frame()) == 6


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (np.arange(10.0), 0.1),
            {"method": "order_statistic"},
            "needs n >= 29 .* got n = 10; methods that exist .* semiparametric",
        ),
        ((np.arange(10.0), 0.9), {"method": "asymptotic"}, "needs n >= 35"),
        ((np.arange(10.0), 1.0), {}, r"q must lie in \(0, 1\); got 1.0"),
        ((np.arange(10.0), 0.0), {}, r"q must lie in \(0, 1\)"),
        (([1.0, np.nan], 0.5), {}, "x must be finite"),
        (([1.0], 0.5), {}, "x must hold at least 2 values; got n = 1"),
        (([0.5, 1.5], 0.5), {"bounds": (0, 1)}, r"x must lie within bounds .* got 1.5"),
        (([0.5, 0.7], 0.5), {"bounds": (1, 0)}, "bounds must be a lower and a higher"),
        (([0.5, 0.7], 0.5), {"method": "percentile"}, "method must be one of"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        jaxci.quantile_interval(*arguments, **options)


def test_ties_are_remarked():
    with pytest.warns(jaxci.JaxciWarning, match="3 of 8 values are tied"):
        jaxci.quantile_interval([1, 1, 1, 2, 3, 4, 5, 6], 0.5)


def test_runs_that_do_not_vary_are_remarked():
    with pytest.warns(jaxci.JaxciWarning) as said:
        jaxci.summarize_runs([0.3] * 6)
    told = [str(one.message) for one in said]
    assert "all 6 values are 0.3: runs that do not vary give intervals of no width" in told
    assert not any("are tied" in text for text in told)


def test_too_few_runs_for_simultaneous_intervals():
    with pytest.raises(ValueError, match="needs n >= "):
        jaxci.simultaneous_quantile_intervals(np.arange(8.0), [0.1, 0.9])
    with pytest.raises(ValueError, match="needs n >= 2995; got n = 30"):
        jaxci.simultaneous_quantile_intervals(range(30), [0.001, 0.5])
    with pytest.raises(ValueError, match="exists at no n; got n = 30"):
        jaxci.simultaneous_quantile_intervals(range(30), [1e-20, 0.5])
    with pytest.raises(ValueError, match="distinct"):
        jaxci.simultaneous_quantile_intervals(np.arange(30.0), [0.5, 0.5])


@pytest.mark.slow
@pytest.mark.false_alarm(1e-5)
def test_methods_run_inside_interval_and_cells():
    from jaxci.coverage import Cell, run_cell
    from jaxci.distributions import Parametric

    methods = [
        "exact_randomized",
        "order_statistic",
        "interpolated",
        "asymptotic",
        "semiparametric",
        "semiparametric_transformed",
        "semiparametric_resampled",
        "noncentral_t",
    ]
    cell = Cell(
        Parametric("beta", {"a": 8, "b": 2}),
        25,
        {"median": jaxci.statistics.Quantile(q=0.5)},
        methods,
        [0.9],
        8_000,
        1,
        4,
    )
    judged = {j.method: j for j in run_cell(cell, jax.random.key(0)).judgements}
    assert set(judged) == set(methods)
    for method in methods:
        assert 0.8 < judged[method].coverage <= 1, method
    x = np.random.default_rng(9).beta(8, 2, 25)
    for method in methods:
        low, high = jaxci.interval("quantile", x, q=0.5, method=method, rng=0).confidence_interval
        assert x.min() <= low < high <= x.max()


def test_ends_outside_the_range_are_cut_off_on_both_sides():
    x = np.random.default_rng(0).uniform(size=40)
    low, high = jaxci.quantile_interval(x, 0.99, bounds=(0, 1), method="noncentral_t", rng=0).confidence_interval
    assert low <= high == 1


def test_a_batch_prints():
    x = np.random.default_rng(0).normal(size=(3, 40))
    assert "3 samples" in str(jaxci.quantile_interval(x, 0.5))
    assert "3 samples" in jaxci.quantile_interval(x, 0.5)._repr_html_()


def test_a_method_has_one_name_everywhere():
    x = np.random.default_rng(0).normal(size=40)
    for name, former in (("order_statistic", "exact"), ("noncentral_t", "normal")):
        found = jaxci.quantile_interval(x, 0.5, method=name, rng=0)
        assert found.method == name
        assert found.confidence_interval == jaxci.interval("median", x, method=name, rng=0).confidence_interval
        for verb in (
            lambda m: jaxci.quantile_interval(x, 0.5, method=m),
            lambda m: jaxci.minimum_sample_size(0.5, method=m),
        ):
            with pytest.raises(ValueError, match=f"method '{former}' of quantiles is called '{name}'"):
                verb(former)
    assert jaxci.quantile_interval(x, 0.5).method == "order_statistic"
    served = set(jaxci.list_methods("median"))
    assert set(METHODS) <= served


def test_several_probabilities_at_once():
    assert jaxci.minimum_sample_size([0.5, 0.1]).tolist() == [6, 29]
    two = jaxci.summarize_runs([0.5, 0.6], qs=0.5, bounds=(0, 1))
    assert two.mean_interval == (0.0, 1.0)


@pytest.mark.parametrize("name", ["q", "width", "confidence_level"])
@pytest.mark.parametrize("value", ["a", "0.2", None, True, math.nan, 10**400, [0.1, 0.5], np.array([0.2])])
def test_a_plan_names_an_argument_that_is_no_number(name, value):
    rule = "must (be a number|lie in \\(0, 1\\)|be positive and finite); got"
    with pytest.raises((TypeError, ValueError), match=f"^{name} {rule}"):
        jaxci.plan_quantile(**{"q": 0.5, "width": 0.2} | {name: value})


@pytest.mark.parametrize("q", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("width", [0.12, 0.15, 0.2, 0.33])
def test_a_plan_is_the_smallest_sample_size(q, width):
    """By trying every sample size."""
    least = jaxci.minimum_sample_size(q)
    for n in range(least, 400):
        ranks = order_statistic_ranks(n, q, tails(0.95))
        if (ranks[1] - ranks[0]) / (n + 1) <= width * (1 + 1e-12):
            break
    plan = jaxci.plan_quantile(q, width=width)
    assert (plan.n, plan.ranks) == (n, ranks)
    assert plan.expected_width <= width * (1 + 1e-12)


def test_the_ranks_of_one_sample_size_and_level_are_found_once():
    _ranks.cache_clear()
    assert order_statistic_ranks(37, 0.5, tails(0.95)) == order_statistic_ranks(37, 0.5, tails(0.95))
    assert order_statistic_ranks(37, 0.5, tails(0.975, "greater")) != order_statistic_ranks(
        37, 0.5, tails(0.975, "less")
    )
    assert _ranks.cache_info().misses == 3


def test_a_plan_goes_as_far_as_the_most_that_is_planned(monkeypatch):
    """Also where twice a number that does not do would be more."""
    needed = jaxci.plan_quantile(0.5, width=0.12).n
    monkeypatch.setattr(jaxci.api.quantile_plans, "MOST_PLANNED", needed + 10)
    assert jaxci.plan_quantile(0.5, width=0.12).n == needed
    monkeypatch.setattr(jaxci.api.quantile_plans, "MOST_PLANNED", needed - 10)
    with pytest.raises(ValueError, match=f"width = 0.12 needs more than {needed - 10} values"):
        jaxci.plan_quantile(0.5, width=0.12)


def test_methods_are_values_too():
    x = np.random.default_rng(0).normal(size=30)
    named = jaxci.quantile_interval(x, 0.5, method="harrell_davis", n_resamples=500, rng=0)
    assert str(jaxci.quantile_interval(x, 0.5, method=HarrellDavis(500), rng=0)) == str(named)
    shares = jaxci.proportion_interval([5, 9], 10, method="jeffreys")
    assert str(jaxci.proportion_interval([5, 9], 10, method=Jeffreys())) == str(shares)
    for refused in (Wilson(), 3):
        with pytest.raises(ValueError, match="method must be one of"):
            jaxci.quantile_interval(x, 0.5, method=refused)
    with pytest.raises(ValueError, match="method must be one of"):
        jaxci.proportion_interval(5, 10, method=HarrellDavis(500))


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_an_estimate_outside_its_interval_is_told():
    values = np.random.default_rng(0).normal(size=10)
    far = jaxci.quantile_interval(values, 0.99, confidence_level=0.9)
    assert far.estimate < far.confidence_interval.low
    assert any("the estimate lies outside the interval" in remark for remark in far.warnings)
    near = jaxci.quantile_interval(values, 0.5)
    assert not any("outside" in remark for remark in near.warnings)
    both = jaxci.quantile_interval(np.stack([values, values + 1]), 0.99, confidence_level=0.9)
    assert any("2 of 2 estimates lie outside the interval" in remark for remark in both.warnings)


def test_intervals_that_end_within_the_values_say_how_seldom_these_reach_a_quantile():
    values = np.random.default_rng(0).normal(size=10)
    with pytest.warns(
        jaxci.JaxciWarning, match=r"harrell_davis do, hold this quantile in at most 65% of data sets of 10"
    ):
        jaxci.quantile_interval(values, 0.9, method="harrell_davis", n_resamples=500, rng=0)
    assert jaxci.quantile_interval(values, 0.5, method="harrell_davis", n_resamples=500, rng=0).warnings == ()
