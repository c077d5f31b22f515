"""``jaxci.plan``: how many cases a width takes, or a difference of two models."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.api.readers.expected import Clusters
from jaxci.coverage.widths import Widths
from jaxci.distributions import Cells, GaussianClasses
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.base import tails
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.mean_power import MeanPower
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.registry import method_by_name
from jaxci.intervals.sample_size import (
    ShareLaw,
    binormal_auc_variances,
    mcnemar_power,
    normal_power,
    normal_size,
    smallest,
    t_power,
    t_width,
)
from jaxci.statistics.registry import statistic_by_name

RATES = {"prevalence": 0.1, "sensitivity": 0.9, "specificity": 0.95}
PAIR = {"a": 0.85, "b": 0.82, "discordant": 0.09}


@pytest.mark.parametrize(("deviation", "n"), [(0.22, 77), (0.18, 53)])
def test_a_mean_by_t_takes_the_published_numbers(deviation, n):
    found = jaxci.plan("mean", expected={"mean": 0.8, "sd": deviation}, width=0.1)
    assert found.n == n
    assert found.method == "t"
    sides = tails(0.95)
    assert t_width(deviation, n, n - 1, sides) <= 0.1 < t_width(deviation, n - 1, n - 2, sides)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_assurance_of_a_mean_is_that_of_the_chi_squared_law_however_wide_the_interval():
    found = jaxci.plan("mean", expected={"sd": 0.22}, width=0.1)
    expected = stats.chi2.cdf((found.n - 1) * (0.1 / found.expected_width) ** 2, found.n - 1)
    assert found.assurance == pytest.approx(expected, rel=1e-12)
    assured = jaxci.plan("mean", expected={"sd": 0.22}, width=0.1, assurance=0.9)
    assert "ask for method='t'" in assured.warnings[-1]
    assert jaxci.plan("mean", expected={"sd": 0.22}, width=0.1, assurance=0.9, method="t").warnings == ()
    wide = jaxci.plan("mean", expected={"sd": 1.0}, width=1e300)
    assert (wide.n, wide.assurance) == (2, 1.0)


def test_an_accuracy_by_wilson_takes_the_published_number():
    found = jaxci.plan("accuracy", expected=0.8, width=0.1, method="wilson")
    assert (found.n, str(found.method)) == (245, "wilson")
    low, high = jaxci.proportion_interval(196, 245, method="wilson")
    assert found.expected_width == pytest.approx(high - low, rel=1e-12)
    found = jaxci.plan("accuracy", expected=0.8, width=0.1)
    assert (found.n, str(found.method)) == (246, "mid_p")
    assert jaxci.plan("error_rate", expected=0.2, width=0.1, method="wilson").n == 245


@pytest.mark.parametrize("method", ["wilson", "mid_p", "clopper_pearson", "jeffreys", "agresti_coull", "wald"])
def test_shares_near_one_have_widths(method):
    widths = [
        ShareLaw(statistic_by_name("accuracy"), 1.0, 0.999).width(method_by_name(method), n, tails(0.95))
        for n in (60, 90, 400)
    ]
    assert np.all(np.isfinite(widths))
    assert jaxci.plan("accuracy", expected=1.0, width=0.05, method=method).assurance == 1


def test_the_assurance_of_a_share_is_its_sum_over_all_counts():
    found = jaxci.plan("accuracy", expected=0.8, width=0.1, method="wilson", assurance=0.9)
    counts = np.arange(found.n + 1)
    ends = np.array([jaxci.proportion_interval(int(k), found.n, method="wilson") for k in counts])
    met = stats.binom.pmf(counts, found.n, 0.8) @ (ends[:, 1] - ends[:, 0] <= 0.1)
    assert found.assurance == pytest.approx(met, rel=1e-9)
    assert met >= 0.9


def test_positives_decide_a_recall():
    found = jaxci.plan("recall", expected=RATES, width=0.1, method="wilson")
    alone = jaxci.plan("accuracy", expected=0.9, width=0.1, method="wilson")
    assert abs(found.n - 10 * alone.n) < 10
    assert found.positives == alone.n
    part = {"prevalence": 0.1, "sensitivity": 0.9}
    assert jaxci.plan("recall", expected=part, width=0.1, method="wilson").n == found.n
    assert jaxci.plan("recall", expected=tuple(RATES.values()), width=0.1, method="wilson").n == found.n
    table = [[855, 45], [10, 90]]
    assert jaxci.plan("recall", expected=table, width=0.1, method="wilson").n == found.n


def test_the_assurance_of_a_recall_allows_for_the_number_of_positives():
    law = ShareLaw(statistic_by_name("recall"), 0.1, 0.9)
    n, sides = 300, tails(0.95)
    total = 0.0
    for m in range(1, n + 1):
        k = np.arange(m + 1.0)
        low, high = Wilson().from_counts(k, np.full(m + 1, float(m)), sides)
        total += stats.binom.pmf(m, n, 0.1) * (stats.binom.pmf(k, m, 0.9) @ (high - low <= 0.2))
    assert law.assurance(Wilson(), n, sides, 0.2) == pytest.approx(total, rel=1e-9)


def test_pilot_predictions_are_their_table():
    y = np.repeat([0, 0, 1, 1], [855, 45, 10, 90])
    guess = np.repeat([0, 1, 0, 1], [855, 45, 10, 90])
    found = jaxci.plan("f1", expected={"y_true": y, "y_pred": guess}, width=0.1, method="wilson")
    assert found.n == jaxci.plan("f1", expected=RATES, width=0.1, method="wilson").n
    assert found.expected == "as in 1000 pilot rows"
    assert found.warnings[0].startswith("the pilot has 1,000 rows: in the 95% interval of f1, ")


def pilot_of(rows, right):
    """Return labels and predictions of which so many are right."""
    y = np.arange(rows) % 2
    return {"y_true": y, "y_pred": np.where(np.arange(rows) < right, y, 1 - y)}


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "rows"), [(0.9, 30), (0.95, 30), (0.95, 100), (0.98, 30)])
def test_plans_from_small_pilots_reach_the_width_as_often_as_they_say(truth, rows):
    """Over all pilots that the truth may give, each with the studies that follow from it."""
    reached = total = 0.0
    for right in range(rows + 1):
        mass = stats.binom.pmf(right, rows, truth)
        if mass > 2e-3:
            found = jaxci.plan("accuracy", expected=pilot_of(rows, right), width=0.08, assurance=0.8, method="wilson")
            known = ShareLaw(statistic_by_name("accuracy"), 1.0, truth)
            reached, total = reached + mass * known.assurance(Wilson(), found.n, tails(0.95), 0.08), total + mass
    assert 0.79 <= reached / total <= 0.96


@pytest.mark.parametrize(("metric", "right", "n"), [("accuracy", 30, 60), ("accuracy", 27, 120), ("recall", 27, 150)])
def test_the_assurance_of_a_pilot_is_that_of_its_posterior(metric, right, n):
    rows, sides, width = 30, tails(0.95), 0.1
    trials = rows if metric == "accuracy" else rows // 2
    wrong = rows - right if metric == "accuracy" else int(np.sum(np.arange(right, rows) % 2))
    law = ShareLaw(statistic_by_name(metric), trials / rows, 1 - wrong / trials, rows)
    total = 0.0
    for m in [n] if metric == "accuracy" else range(1, n + 1):
        k = np.arange(m + 1.0)
        low, high = Wilson().from_counts(k, np.full(m + 1, float(m)), sides)
        of_trials = 1.0 if metric == "accuracy" else stats.betabinom.pmf(m, n, trials + 0.5, rows - trials + 0.5)
        total += of_trials * (stats.betabinom.pmf(k, m, trials - wrong + 0.5, wrong + 0.5) @ (high - low <= width))
    assert 0.02 < total < 0.98
    assert law.assurance(Wilson(), n, sides, width) == pytest.approx(total, abs=0.005)


def test_the_range_of_a_pilots_plan_is_that_of_the_ends_of_its_interval():
    found = jaxci.plan("accuracy", expected=pilot_of(30, 30), width=0.08, method="wilson")
    low = float(jaxci.proportion_interval(30, 30)[0])
    fewest, most = (jaxci.plan("accuracy", expected=p, width=0.08, method="wilson").n for p in (1.0, low))
    told = f"in the 95% interval of accuracy, {low:.3g} to 1, about {fewest} to {most} cases"
    said = f"the pilot has 30 rows: {told} would be planned if it were known; assurance= allows for that"
    assert found.warnings == (said,)
    assert found.n == fewest
    assert found.assurance < 0.7


def test_pilots_tell_the_range_of_other_methods_by_their_variance():
    share = jaxci.plan("accuracy", expected=pilot_of(30, 27), width=0.4, method="percentile")
    ends = jaxci.interval("std", np.arange(30) < 27.0, method="bonett").confidence_interval
    fewest, most = (math.ceil(share.n * end**2 * 29 / 2.7) for end in ends)
    assert fewest == 1  # of which there is no plan
    assert f"of the variance of accuracy, about 2 to {most} cases would be planned" in share.warnings[-1]
    sure = jaxci.plan("accuracy", expected=pilot_of(30, 30), width=0.4, method="percentile")
    assert sure.warnings[-1].endswith("30 rows, which do not tell how far n may be off")


@pytest.mark.slow
@pytest.mark.parametrize("of_rows", [{}, {"groups": np.arange(50) // 5}])
def test_pilots_of_means_tell_the_range_by_their_variance(of_rows):
    values = np.random.default_rng(0).normal(size=50)
    draws = {"n_replications": 100, "n_resamples": 99, "rng": 0}
    found = jaxci.plan("mean", expected={"values": values, **of_rows}, width=0.5, method="t", **draws)
    units = values if not of_rows else values.reshape(10, 5).sum(axis=1)
    ends = jaxci.interval("std", units - 5 * values.mean() * bool(of_rows), method="bonett").confidence_interval
    fewest, most = (math.ceil(found.n * (end / units.std(ddof=1)) ** 2) for end in ends)
    assert f"of the variance of mean, about {fewest} to {most} cases would be planned" in found.warnings[-1]


def test_clusters_enter_students_interval_by_the_design_effect():
    found = jaxci.plan("mean", expected={"sd": 0.2}, width=0.1, icc=0.1, cluster_size=10, method="t")
    assert found.n == 10 * found.clusters
    deviation = 0.2 * math.sqrt(1.9)
    sides = tails(0.95)
    assert t_width(deviation, found.n, found.clusters - 1, sides) <= 0.1
    assert t_width(deviation, found.n - 10, found.clusters - 2, sides) > 0.1
    alone = jaxci.plan("mean", expected={"sd": 0.2}, width=0.1, icc=0.0, cluster_size=1, method="t")
    assert alone.n == jaxci.plan("mean", expected={"sd": 0.2}, width=0.1).n


def test_the_width_of_clusters_is_that_of_the_interval():
    """Equal clusters: the interval of the rows is Student's of the cluster means."""
    values = np.random.default_rng(0).normal(size=(12, 5)) + np.random.default_rng(1).normal(size=(12, 1))
    low, high = jaxci.interval(
        "mean", values.ravel(), method="t", groups=np.repeat(np.arange(12), 5)
    ).confidence_interval
    deviation = values.mean(axis=1).std(ddof=1) * math.sqrt(5)
    assert high - low == pytest.approx(t_width(deviation, 60, 11, tails(0.95)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_a_mean_in_clusters_is_planned_by_what_the_default_takes():
    """By intervals of normal data with effects of clusters; planned by "t" a fifth of them was narrow enough."""
    expected, draws = {"sd": 0.22}, {"n_replications": 200, "n_resamples": 999, "rng": 0}
    found = jaxci.plan("mean", expected=expected, width=0.1, icc=0.2, cluster_size=10, **draws)
    rng, widths = np.random.default_rng(3), []
    groups = np.repeat(np.arange(found.clusters), 10)
    for _ in range(100):
        effects = rng.normal(scale=0.22 * math.sqrt(0.2), size=found.clusters)
        values = effects[groups] + rng.normal(scale=0.22 * math.sqrt(0.8), size=found.n)
        ends = jaxci.interval("mean", values, groups=groups, n_resamples=999, rng=0)
        assert ends.method == found.method
        widths.append(float(np.diff(ends.confidence_interval)[0]))
    error = math.hypot(np.std(widths) / math.sqrt(100), found.width_error)
    assert abs(np.mean(widths) - found.expected_width) < 5 * error


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "value"), [("accuracy", 0.99), ("error_rate", 0.01)])
def test_the_assurance_of_auto_is_that_of_what_it_takes_at_every_count(metric, value):
    found = jaxci.plan(metric, expected=value, width=0.04, assurance=0.8)
    assert found.method == "mid_p"
    share, y = 0.0, np.arange(found.n) % 2
    for wrong in range(14):
        guess = np.where(np.isin(np.arange(found.n), np.arange(wrong) * 3), 1 - y, y)
        low, high = jaxci.interval(metric, y, guess).confidence_interval
        share += stats.binom.pmf(wrong, found.n, 0.01) * (high - low <= 0.04)
    assert found.assurance == pytest.approx(share, abs=1e-6)
    assert found.assurance >= 0.8


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_the_assurance_of_auto_where_not_all_rows_count():
    """Of tables with numbers of positives and of those found, all false alarms as expected."""
    expected = {"prevalence": 0.5, "sensitivity": 0.97, "specificity": 0.9}
    found = jaxci.plan("recall", expected=expected, width=0.12, assurance=0.8)
    rng, n = np.random.default_rng(0), found.n
    narrow = []
    for _ in range(300):
        y = rng.random(n) < 0.5
        guess = rng.random(n) < np.where(y, 0.97, 0.1)
        low, high = jaxci.interval("recall", y.astype(int), guess.astype(int)).confidence_interval
        narrow.append(high - low <= 0.12)
    assert found.assurance >= 0.8
    assert np.mean(narrow) == pytest.approx(found.assurance, abs=5 * math.sqrt(0.16 / 300))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "error_rate", "f1_micro", "f1", "recall"])
def test_areas_tell_of_predicted_classes(metric):
    found = jaxci.plan(metric, expected={"auc": 0.8, "prevalence": 0.3}, width=0.1)
    apart = math.sqrt(2) * stats.norm.ppf(0.8)
    cut = math.log(0.7 / 0.3) / apart + apart / 2
    rates = (0.3, stats.norm.sf(cut - apart), stats.norm.cdf(cut))
    alike = jaxci.plan(metric, expected=rates, width=0.1)
    assert (found.n, found.positives) == (alike.n, alike.positives)
    assert found.value == pytest.approx(alike.value, rel=1e-9)


@pytest.mark.slow
def test_shares_of_any_law_of_classes_are_planned():
    law = GaussianClasses([0.7, 0.3], 0.8)
    found = jaxci.plan("accuracy", expected=law, width=0.1)
    known = jaxci.plan("accuracy", expected={"auc": 0.8, "prevalence": 0.3}, width=0.1)
    assert abs(found.value - known.value) < 5 * math.sqrt(0.18 / 1e6)
    assert abs(found.n - known.n) <= 1


def test_errors_of_few_data_sets_are_at_least_those_of_independent_ones():
    widths = np.array([0.1, 0.3, 0.2, 0.2])
    found = Widths(10, 10, None, [widths, widths[::-1]], np.array([[2, 2], [4, 4]]), 10)
    assert found.error == pytest.approx(np.std([*widths, *widths], ddof=1) / math.sqrt(8))
    assert found.assurance(0.2) == (0.75, pytest.approx(math.sqrt(0.75 * 0.25 / 8)))
    assert found.coverage == (0.5, pytest.approx(math.sqrt(0.25 / 8)))


def test_powers_of_students_test_are_those_of_statsmodels():
    power = pytest.importorskip("statsmodels.stats.power")
    for effect, n in [(0.3, 20), (0.3, 90), (0.05, 4_000), (1.2, 5)]:
        ours = t_power(effect * 2.0, 2.0, n, n - 1, 0.05)
        assert ours == pytest.approx(power.TTestPower().power(effect, n, 0.05), rel=1e-8)
    wanted = power.TTestPower().solve_power(0.3, power=0.8, alpha=0.05)
    found = jaxci.plan("mean", expected={"sd": 0.1}, difference=0.03, power=0.8, method="t")
    assert (found.n, found.method) == (math.ceil(wanted), T())


def test_normal_powers_are_those_of_statsmodels():
    power = pytest.importorskip("statsmodels.stats.power")
    discordant, d = 0.09, 0.03
    null, own = math.sqrt(discordant), math.sqrt(discordant - d * d)
    ours = normal_power(d, own, null, 500, 0.05)
    theirs = power.normal_power_het(d, 500, 0.05, std_null=null, std_alternative=own, alternative="two-sided")
    assert ours == pytest.approx(theirs, rel=1e-8)
    size = power.normal_sample_size_one_tail(d, 0.8, 0.025, std_null=null, std_alternative=own)
    assert normal_size(d, own, null, 0.8, 0.05) == pytest.approx(size, rel=1e-8)
    found = jaxci.plan("accuracy", expected=PAIR, power=0.8)
    assert found.n == pytest.approx(size, rel=0.03)  # the sum over counts is no normal law


@pytest.mark.parametrize("exact", [False, True])
def test_the_power_of_mcnemars_test_is_a_sum_over_tables(exact):
    mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
    n, only_a, only_b = 30, 0.3, 0.08
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if b + c == 0:
                continue
            if mcnemar([[0, b], [c, n - b - c]], exact=exact, correction=False).pvalue <= 0.05:
                total += stats.multinomial.pmf([b, c, n - b - c], n, [only_a, only_b, 1 - only_a - only_b])
    assert mcnemar_power(only_a, only_b, n, 0.05, exact=exact) == pytest.approx(total, rel=1e-9)


def test_delong_powers_are_those_of_proc():
    """Variances, areas and sizes of pROC's data aSAH (41 cases, 72 controls), as its documentation and tests have them.

    It judges the difference by twice the first variance less twice the covariance.
    """
    areas = {"s100b": 0.7313686, "ndka": 0.6119580, "wfns": 0.8236789}
    variances = {"s100b": 0.00266868245717244, "ndka": 0.0031908105493913, "wfns": 0.00146991470882363}
    examples = [("ndka", "wfns", -0.000532967856762438, 64.77777), ("s100b", "ndka", -0.000756164938056579, 213.117677)]
    for first, second, covariance, cases in examples:
        null = math.sqrt(41 * 2 * (variances[first] - covariance))
        own = math.sqrt(41 * (variances[first] + variances[second] - 2 * covariance))
        d = areas[second] - areas[first]
        assert normal_size(d, own, null, 0.9, 0.05) == pytest.approx(cases, rel=1e-5)
        if first == "ndka":
            assert normal_power(d, own, null, 41, 0.05) == pytest.approx(0.7131594, abs=2e-6)


def test_binormal_variances_are_those_of_placement_values():
    own, other, both = binormal_auc_variances(0.85, 0.75, 0.6)
    one, _, same = binormal_auc_variances(0.85, 0.85, 0.999999)
    assert one == own
    assert same == pytest.approx(own, rel=1e-4)
    assert binormal_auc_variances(0.85, 0.75, 0.0)[2] == pytest.approx(0.0, abs=1e-8)
    # E[Phi(x)^2] for x normal around the distance of the classes
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    apart = math.sqrt(2) * stats.norm.ppf(0.75)
    square = weight @ stats.norm.cdf(x + apart) ** 2 / weight.sum()
    assert other == pytest.approx(square - 0.75**2, rel=1e-6)
    assert 0 < both < math.sqrt(own * other)


def test_a_plan_of_a_mean_says_whose_width_it_plans():
    """Of 41 values of a beta law, .9 on average, auto's interval is .054 wide on average, Student's .049."""
    with pytest.warns(jaxci.JaxciWarning, match="the width is that of 't': 'auto' may take a wider interval"):
        jaxci.plan("mean", expected={"mean": 0.9, "sd": 0.08}, width=0.05)
    assert jaxci.plan("mean", expected={"mean": 0.9, "sd": 0.08}, width=0.05, method="t").warnings == ()


def test_a_difference_of_areas():
    expected = {"a": 0.85, "b": 0.8, "prevalence": 0.3, "correlation": 0.6}
    found = jaxci.plan("roc_auc", expected=expected, power=0.8, method="delong")
    of_a, of_b, both = binormal_auc_variances(0.85, 0.8, 0.6)
    error = math.sqrt((of_a + of_b - 2 * both) * (1 / 0.3 + 1 / 0.7) / found.n)
    assert stats.norm.cdf(0.05 / error - stats.norm.ppf(0.975)) == pytest.approx(0.8, abs=1e-3)
    assert found.positives == round(0.3 * found.n)
    with pytest.warns(jaxci.JaxciWarning, match="no 'correlation' was given"):
        more = jaxci.plan("roc_auc", expected={"a": 0.85, "prevalence": 0.3}, difference=0.05, power=0.8)
    assert more.n > found.n


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(
    ("expected", "n"),
    [
        ({"a": 0.9, "b": 0.8, "prevalence": 0.5, "correlation": 0.97}, 28),
        ({"a": 0.95, "b": 0.75, "prevalence": 0.3, "correlation": 0.9}, 30),
    ],
)
def test_a_power_of_areas_is_that_of_the_interval_that_compare_takes(expected, n):
    """The normal law promises .8 of n cases, where it is about .5 and .65."""
    found = jaxci.plan("roc_auc", expected=expected, power=0.8)
    promised = jaxci.plan("roc_auc", expected=expected, power=0.8, method="delong")
    assert (promised.n, found.method) == (n, DeLongDifference(use_t=True))
    assert found.n >= 1.15 * n
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [found.positives, found.n - found.positives])
    a, b = math.sqrt(2) * stats.norm.ppf([expected["a"], expected["b"]])
    rho, shown = expected["correlation"], 0
    for _ in range(400):
        one, other = rng.normal(size=(2, found.n))
        scores = one + a * y, rho * one + math.sqrt(1 - rho**2) * other + b * y
        low, high = jaxci.compare("roc_auc", y, *scores).confidence_interval
        shown += low > 0 or high < 0
    assert shown / 400 == pytest.approx(found.reached_power, abs=5 * math.sqrt(0.16 / 400 + 0.16 / 1000))


SKEWED = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)) - math.exp(0.5),
    "lognormal, away": lambda rng, n: math.exp(0.5) - np.exp(rng.normal(size=n)),
    "one in ten": lambda rng, n: np.where(rng.random(n) < 0.1, rng.normal(size=n), 0.0),
}


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(("law", "times"), zip(SKEWED, (1.01, 0.7, 2.5, 1.7), strict=True))
def test_a_power_of_means_is_that_of_the_interval_that_compare_takes(law, times):
    """Student's law of normal differences plans ``times`` fewer or more cases."""
    rng = np.random.default_rng(1)
    drawn = SKEWED[law](rng, 2_000)
    drawn = drawn - drawn.mean()
    expected = {"prediction_a": drawn, "prediction_b": np.zeros(2_000)} if law != "normal" else {"sd": drawn.std()}
    d = 0.4 * drawn.std()
    found = jaxci.plan("mean", expected=expected, difference=d, power=0.8)
    by_student = jaxci.plan("mean", expected=expected, difference=d, power=0.8, method="t")
    assert found.method == KurtosisT(skewed=True)
    assert found.n / by_student.n > times if times > 1 else found.n / by_student.n < 1
    shown = 0
    for _ in range(400):
        values = d + (rng.normal(size=found.n) * drawn.std() if law == "normal" else rng.choice(drawn, size=found.n))
        compared = jaxci.compare("mean", None, values, np.zeros(found.n))
        assert compared.method == found.method
        shown += compared.confidence_interval.low > 0
    assert shown / 400 == pytest.approx(found.reached_power, abs=5 * math.sqrt(0.16 / 400 + 0.16 / 1000))


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_power_of_means_is_not_lost_by_more_rows():
    """One row in a hundred lies far out: 6 rows show a difference, and 100, which hold one of these, mostly do not."""
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.normal(0.1, 0.05, 990), rng.normal(-2, 0.05, 10)])
    found = jaxci.plan("mean", expected={"prediction_a": a, "prediction_b": 0 * a}, power=0.8)
    power = MeanPower(a.mean(), a.std(), a, 0.95, 1_000)
    assert power(6) > 0.8 > 0.5 > power(100)
    assert 250 < found.n < 350
    assert min(power(n) for n in (found.n, 350, 500, 700)) >= 0.8


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_differences_that_are_all_the_same_have_the_power_of_the_sign_test():
    """Whatever rounding makes of their deviation: as compare judges them."""
    a = np.concatenate([np.full(18, 0.7), np.full(2, -0.1)])
    power = MeanPower(a.mean(), a.std(), a, 0.95, 1_000)
    assert all(power(n) > 0.98 for n in range(10, 19))
    found = jaxci.plan("mean", expected={"prediction_a": a, "prediction_b": 0 * a}, power=0.9)
    assert found.n <= 10


def test_the_method_that_a_plan_names_may_be_asked_for():
    areas = {"a": 0.9, "b": 0.7, "prevalence": 0.5, "correlation": 0.5}
    means = ({"sd": 1.0, "a": a, "b": 0.0} for a in (0.5, 0.02))
    for metric, expected in (*(("mean", one) for one in means), ("roc_auc", areas)):
        found = jaxci.plan(metric, expected=expected, power=0.8)
        again = jaxci.plan(metric, expected=expected, power=0.8, method=found.method)
        assert (again.n, again.method, again.reason) == (found.n, found.method, "asked for")


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_power_of_areas_from_a_pilot_with_ties_is_that_of_compare():
    rng = np.random.default_rng(0)
    y = (rng.random(3_000) < 0.05).astype(int)
    one, other = rng.normal(size=(2, 3_000))
    a = np.round(2 * (one + math.sqrt(2) * stats.norm.ppf(0.9) * y)) / 2
    b = np.round(2 * (0.9 * one + math.sqrt(0.19) * other + math.sqrt(2) * stats.norm.ppf(0.8) * y)) / 2
    expected = {"y_true": y, "prediction_a": a, "prediction_b": b}
    found = jaxci.plan("roc_auc", expected=expected, power=0.8)
    assert (found.method, found.reason) == (DeLongDifference(use_t=True), "what compare takes")
    assert found.n > 1.05 * jaxci.plan("roc_auc", expected=expected, power=0.8, method="delong").n
    shown = 0
    for _ in range(400):
        sizes = (found.positives, 1), (found.n - found.positives, 0)
        rows = np.concatenate([rng.choice(np.flatnonzero(y == code), size) for size, code in sizes])
        shown += jaxci.compare("roc_auc", y[rows], a[rows], b[rows]).confidence_interval.low > 0
    assert shown / 400 == pytest.approx(found.reached_power, abs=5 * math.sqrt(0.16 / 400 + 0.16 / 1000))


def test_a_difference_of_shares():
    found = jaxci.plan("accuracy", expected=PAIR, power=0.8)
    assert found.n == jaxci.plan("accuracy", expected={"discordant": 0.09}, difference=0.03, power=0.8).n
    assert found.reached_power >= 0.8 > mcnemar_power(0.06, 0.03, found.n - 1, 0.05)
    recall = jaxci.plan("recall", expected=PAIR | {"prevalence": 0.5}, power=0.8)
    assert recall.n == pytest.approx(2 * found.n, abs=2)
    clustered = jaxci.plan("accuracy", expected=PAIR, power=0.8, icc=0.1, cluster_size=11)
    judged = 2 * stats.norm.sf(stats.t.isf(0.025, clustered.clusters - 1))
    power = mcnemar_power(0.06, 0.03, math.floor(clustered.n / 2), judged)
    assert clustered.reached_power == pytest.approx(power, rel=1e-12)
    assert 2 * found.n < clustered.n < 2 * found.n * 1.03
    assert clustered.clusters == clustered.n // 11
    assert jaxci.plan("accuracy", expected=PAIR, power=0.8, method="newcombe").n > found.n
    with pytest.warns(jaxci.JaxciWarning, match="no 'discordant' was given"):
        jaxci.plan("accuracy", expected=0.85, difference=0.03, power=0.8)


def power_of_table(n, only_a, only_b, critical):
    """Return the power of the score test on n rows, summed over all tables."""
    total = 0.0
    for b in range(n + 1):
        c = np.arange(n + 1 - b)
        mass = stats.multinomial.pmf(
            np.stack([np.full(len(c), b), c, n - b - c], axis=1), n, [only_a, only_b, 1 - only_a - only_b]
        )
        total += float(mass @ (abs(b - c) > critical * np.sqrt(b + c)))
    return total


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_power_of_shares_in_few_clusters_is_that_of_students_test():
    found = jaxci.plan("accuracy", expected={"a": 0.9, "b": 0.6, "discordant": 0.4}, power=0.8, icc=0, cluster_size=5)
    critical = stats.t.isf(0.025, found.clusters - 1)
    assert found.reached_power == pytest.approx(power_of_table(found.n, 0.35, 0.05, critical), rel=1e-9)
    assert found.n > jaxci.plan("accuracy", expected={"a": 0.9, "b": 0.6, "discordant": 0.4}, power=0.8).n


def test_the_power_of_areas_in_few_clusters_is_that_of_students_test():
    expected = {"a": 0.9, "b": 0.7, "prevalence": 0.3, "correlation": 0.5}
    with pytest.warns(jaxci.JaxciWarning, match="clusters are few, so their power is a rough one"):
        found = jaxci.plan("roc_auc", expected=expected, power=0.8, icc=0.02, cluster_size=20)
    of_a, of_b, both = binormal_auc_variances(0.9, 0.7, 0.5)
    error = math.sqrt((of_a + of_b - 2 * both) * (1 / 0.3 + 1 / 0.7) * 1.38 / found.n)
    law = stats.nct(found.clusters - 1, 0.2 / error)
    assert found.reached_power == pytest.approx(law.sf(stats.t.isf(0.025, found.clusters - 1)), abs=1e-6)
    assert "noncentral t law of the clusters" in found.found_by


def pilot_of_clusters(sizes):
    """Return data of two models whose rows agree in every cluster; in a fifth of them only a is right."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y, alone = np.arange(len(groups)) % 2, groups % 5 == 0
    return {"y_true": y, "prediction_a": y, "prediction_b": np.where(alone, 1 - y, y), "groups": groups}


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_plans_of_a_pilot_of_uneven_clusters_have_its_design_effect():
    """Rows of a cluster agree, so the design effect is sum m^2 / sum m: clusters weigh as their squared sizes."""
    sizes = np.where(np.arange(200) % 4 == 0, 17, 1)
    found = jaxci.plan("accuracy", expected=pilot_of_clusters(sizes), power=0.8)
    effect, share = np.sum(sizes**2) / sizes.sum(), sizes.mean() ** 2 / np.mean(sizes**2)
    assert effect == pytest.approx(14.6)
    assert found.clusters == pytest.approx(found.n / 5, abs=1)
    critical = stats.t.isf(0.025, found.clusters * share - 1)
    power = power_of_table(math.floor(found.n / effect), found.value, 0.0, critical)
    assert found.reached_power == pytest.approx(power, rel=0.01)
    alike = jaxci.plan("accuracy", expected=pilot_of_clusters(np.full(200, 5)), power=0.8)
    assert found.n > 2.5 * alike.n
    assert "design effect 1 + (m - 1) icc = 14.6, m = sum of squared sizes / rows = 14.6" in found.found_by


@pytest.mark.parametrize(
    ("sizes", "units"),
    [(np.tile([2, 2, 2, 2, 32], 60), 30), (np.repeat([1, 2], [60, 40]), 40), (np.arange(1, 40), 20)],
)
def test_simulated_clusters_are_as_uneven_as_those_of_the_pilot(sizes, units):
    clusters = Clusters(0.3, sizes)
    drawn = clusters.law(Cells([[40, 2], [3, 15]]), units * clusters.step).sizes(units * clusters.rows(clusters.step))
    assert len(drawn) == units * clusters.step
    assert drawn.mean() == pytest.approx(sizes.mean(), rel=0.02)
    assert np.sum(drawn**2) / drawn.sum() == pytest.approx(np.sum(sizes**2) / sizes.sum(), rel=0.02)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_powers_in_few_clusters_are_those_of_compare():
    """Of plans by normal quantiles the first showed the difference in .71, that of areas in .35."""
    given = {"expected": {"a": 0.9, "b": 0.7, "discordant": 0.3}, "icc": 0.1, "cluster_size": 20}
    found, shown = jaxci.plan("accuracy", **given, power=0.8), 0
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(found.clusters), 20)
    for _ in range(1_000):
        y, a, b = two_models(rng, groups, (0.65, 0.25, 0.05, 0.05), 0.1)
        shown += jaxci.compare("accuracy", y, a, b, groups=groups).confidence_interval.low > 0
    assert shown / 1_000 > found.reached_power - 0.02 - 5 * math.sqrt(0.16 / 1_000)

    def scores(clusters):
        groups = np.repeat(np.arange(clusters), 20)
        y, half = (rng.random(len(groups)) < 0.3).astype(int), np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
        alike = math.sqrt(0.2) * rng.normal(size=(clusters, 2))[groups]
        z = (alike + math.sqrt(0.8) * rng.normal(size=(len(groups), 2))) @ half
        apart = math.sqrt(2) * stats.norm.ppf([0.9, 0.7])
        return {"y_true": y, "prediction_a": z[:, 0] + apart[0] * y, "prediction_b": z[:, 1] + apart[1] * y}, groups

    pilot, groups = scores(2_000)
    found = jaxci.plan("roc_auc", expected=pilot | {"groups": groups}, power=0.8)
    shown = 0
    for _ in range(200):
        data, groups = scores(found.clusters)
        shown += jaxci.compare("roc_auc", *data.values(), groups=groups).confidence_interval.low > 0
    assert shown / 200 > found.reached_power - 5 * math.sqrt(0.16 / 200)


def two_models(rng, groups, outcomes, correlation):
    """Return labels and predictions with shares of rows where both, only a, only b and neither are right."""
    own, of_all = (rng.choice(4, size=n, p=outcomes) for n in (len(groups), groups[-1] + 1))
    kind = np.where(rng.random(len(groups)) < math.sqrt(correlation), of_all[groups], own)
    y = rng.integers(0, 2, len(groups))
    return y, np.where(kind % 4 < 2, y, 1 - y), np.where(kind % 2 == 0, y, 1 - y)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_plans_from_pilots_of_uneven_clusters_hold_on_fresh_data():
    """Planned by the mean size the intervals were half as wide again, and .37 of the differences were shown."""
    rng, shares = np.random.default_rng(0), (0.75, 0.1, 0.05, 0.1)

    def fresh(clusters):
        groups = np.repeat(np.arange(clusters), np.where(rng.random(clusters) < 0.8, 2, 32))
        return *two_models(rng, groups, shares, 0.3), groups

    y, a, b, groups = fresh(3_000)
    pilot, draws = {"y_true": y, "y_pred": a, "groups": groups}, {"n_replications": 200, "n_resamples": 499, "rng": 0}
    found, widths = jaxci.plan("accuracy", expected=pilot, width=0.1, **draws), []
    for _ in range(100):
        y, a, _, its = fresh(found.clusters)
        low, high = jaxci.interval("accuracy", y, a, groups=its, n_resamples=499, rng=0).confidence_interval
        widths.append(high - low)
    assert np.mean(widths) == pytest.approx(0.1, abs=0.01)
    pilot = {"y_true": pilot["y_true"], "prediction_a": pilot["y_pred"], "prediction_b": b, "groups": groups}
    found, shown = jaxci.plan("accuracy", expected=pilot, difference=0.05, power=0.8), 0
    for _ in range(400):
        y, a, b, its = fresh(found.clusters)
        shown += jaxci.compare("accuracy", y, a, b, groups=its).confidence_interval.low > 0
    assert shown / 400 == pytest.approx(found.reached_power, abs=0.1)


def test_pilot_predictions_of_two_models():
    y = np.arange(400) % 2
    a = np.where(np.arange(400) % 10 == 0, 1 - y, y)
    b = np.where(np.arange(400) % 8 == 0, 1 - y, y)
    given = {"y_true": y, "prediction_a": a, "prediction_b": b}
    found = jaxci.plan("accuracy", expected=given, power=0.8)
    only_a, only_b = np.mean((a == y) & (b != y)), np.mean((a != y) & (b == y))
    expected = {"a": np.mean(a == y), "b": np.mean(b == y), "discordant": only_a + only_b}
    assert found.n == jaxci.plan("accuracy", expected=expected, power=0.8).n
    deviation = np.std(1.0 * (a == y) - (b == y))
    as_values = {"prediction_a": 1.0 * (a == y), "prediction_b": 1.0 * (b == y)}
    by_t = jaxci.plan("mean", expected=as_values, power=0.8, method="t")
    wanted = normal_size(only_a - only_b, deviation, deviation, 0.8, 0.05)
    assert by_t.n == pytest.approx(wanted, rel=0.02)
    assert "there may be none, which no number of cases shows; difference= plans" in found.warnings[-1]
    given = jaxci.plan("accuracy", expected=given, difference=0.05, power=0.8)
    assert "in the 95% interval of the variance of the difference, about" in given.warnings[-1]


@pytest.mark.parametrize("of_rows", [{}, {"groups": np.arange(300) // 6}])
@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_the_range_of_a_pilot_of_two_models(metric, of_rows):
    y = np.arange(300) % 2
    a, b = (np.where(np.arange(300) % every == 0, 1 - y, y) for every in (20, 7))
    found = jaxci.plan(metric, expected={"y_true": y, "prediction_a": a, "prediction_b": b, **of_rows}, power=0.8)
    method = {"accuracy": "tango_cluster" if of_rows else "tango", "f1": "delta"}[metric]
    low, high = jaxci.compare(metric, y, a, b, method=method, **of_rows).confidence_interval
    fewest, most = (math.ceil(found.n * (found.value / end) ** 2) for end in (high, low))
    told = f"of the difference, {low:.3g} to {high:.3g}, about {fewest:,} to {most:,} cases would be planned"
    assert told in found.warnings[-1]


def test_smallest_looks_ahead():
    assert smallest(lambda n: n >= 37, 2, 1_000) == 37
    assert smallest(lambda n: n >= 37 and n not in (40, 44), 2, 1_000, 10) == 45
    assert smallest(lambda n: n >= 2, 2, 1_000) == 2
    assert smallest(lambda n: False, 2, 1_000) is None


def test_results_print_and_convert():
    found = jaxci.plan("mean", expected={"mean": 0.8, "sd": 0.22}, width=0.1, icc=0.1, cluster_size=5, method="t")
    assert str(found).splitlines()[0] == "Cases for 95% intervals of width 0.1"
    assert "design effect 1 + (m - 1) icc = 1.4" in str(found)
    assert "<table>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["n"] == found.n
    pytest.importorskip("pandas")
    assert found.to_frame().loc[0, "method"] == "t"


MISTAKES = [
    ("accuracy", {"expected": 0.8}, "width, or power with a difference, must be given"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "power": 0.8}, "width plans one interval, power"),
    ("accuracy", {"expected": 0.8, "difference": 0.1}, "power must be given with difference"),
    ("accuracy", {"expected": 0.8, "width": 0}, "width must be positive and finite; got 0"),
    ("accuracy", {"expected": 0.8, "width": True}, "width must be a number; got True"),
    ("accuracy", {"expected": PAIR, "power": 0.8, "difference": True}, "difference must be a number; got True"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "icc": True, "cluster_size": 3}, "icc must be a number; got True"),
    ("accuracy", {"expected": 0.8, "width": 10**400}, "width must be positive and finite; got 1"),
    ("mean", {"expected": {"sd": True}, "width": 0.1}, "expected['sd'] must be a number; got True"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "assurance": 1}, "assurance must lie in (0, 1); got 1"),
    ("accuracy", {"expected": PAIR, "power": 0.8, "assurance": 0.9}, "assurance goes with width"),
    ("accuracy", {"expected": PAIR, "power": 2}, "power must lie in (0, 1); got 2"),
    ("accuracy", {"expected": PAIR, "power": 0.01}, "power must exceed the error probability 0.05"),
    ("accuracy", {"expected": PAIR, "power": 0.8, "difference": 0.1}, "difference must be that of 'a' and 'b'"),
    ("accuracy", {"expected": PAIR | {"discordant": 0.01}, "power": 0.8}, "expected['discordant'] must lie between"),
    ("accuracy", {"expected": PAIR | {"b": 0.85}, "power": 0.8}, "difference must not be 0"),
    ("accuracy", {"expected": PAIR, "power": 0.8, "method": "t"}, "method must be one whose power is known"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "icc": 0.1}, "cluster_size must be given with icc; got None"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "icc": 2, "cluster_size": 2}, "icc must lie in [0, 1]; got 2"),
    ("accuracy", {"expected": 1.2, "width": 0.1}, "expected must lie in [0, 1] for accuracy; got 1.2"),
    ("accuracy", {"expected": "much", "width": 0.1}, "expected must be of a known form for accuracy; got 'much'"),
    ("accuracy", {"expected": {"auk": 0.8}, "width": 0.1}, "expected has no key 'auk': did you mean 'auc'?"),
    ("accuracy", {"expected": {}, "width": 0.1}, "expected must tell of the data for accuracy; got {}"),
    (
        "mean",
        {"expected": {"sd": 0.2, "mean": 0.5}, "power": 0.8, "difference": 0.05},
        "expected must hold no key but 'a', 'b', 'sd', 'sd_a', 'sd_b', 'correlation'; got 'mean'",
    ),
    ("mean", {"expected": {"values": np.ones(30)}, "width": 0.1}, "expected must be pilot data in which mean varies"),
    (
        "mean_absolute_error",
        {"expected": {"y_true": np.arange(30.0), "y_pred": np.arange(30.0)}, "width": 0.1},
        "expected must be pilot data in which mean_absolute_error varies",
    ),
    ("accuracy", {"expected": np.ones((2, 3)), "width": 0.1}, "table must be square"),
    ("accuracy", {"expected": 0.8, "width": 0.1, "method": "t"}, "method must serve accuracy"),
    ("accuracy", {"expected": 0.8, "width": 1e-6}, "width = 1e-06 needs more than 100,000,000 cases of accuracy"),
    ("f1", {"expected": 0.8, "width": 0.1}, "expected must tell more than its value for f1"),
    ("f1", {"expected": {"prevalence": 0.1, "sensitivity": 0.9}, "width": 0.1}, "expected needs 'specificity'"),
    ("f1", {"expected": PAIR, "power": 0.8}, "expected must be pilot data for the power of f1"),
    ("recall", {"expected": (0, 0.9, 0.95), "width": 0.1}, "expected must hold rows that count: a share of no rows"),
    ("specificity", {"expected": (1, 0.9, 0.95), "width": 0.1}, "expected must hold rows that count"),
    (
        "precision",
        {"expected": (0.1, 0, 1), "width": 0.1, "icc": 0.1, "cluster_size": 5},
        "expected must hold rows that count",
    ),
    ("mean", {"expected": {"sd": -1}, "width": 0.1}, "expected['sd'] must be positive and finite; got -1"),
    ("mean", {"expected": RATES, "width": 0.1}, "expected must tell of the values for mean"),
    (
        "mean",
        {"expected": {"mean": 0.5, "sd": 0.6}, "width": 0.1, "bounds": (0, 1)},
        "expected must be possible within",
    ),
    ("roc_auc", {"expected": tuple(RATES.values()), "width": 0.1}, "expected must tell of what roc_auc reads"),
    ("roc_auc", {"expected": {"auc": 0.4, "prevalence": 0.3}, "width": 0.1}, "expected['auc'] must lie in (0.5, 1)"),
    ("roc_auc", {"expected": {"a": 0.8, "b": 0.7}, "power": 0.8}, "expected needs 'prevalence' for roc_auc"),
]


@pytest.mark.parametrize(("metric", "given", "message"), MISTAKES, ids=[m for _, _, m in MISTAKES])
def test_mistakes_are_named(metric, given, message):
    with pytest.raises((ValueError, TypeError)) as error:
        jaxci.plan(metric, **given)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_the_command_says_what_the_function_does(tmp_path):
    testing = pytest.importorskip("typer.testing")

    from jaxci.cli.app import app

    run = testing.CliRunner().invoke
    out = tmp_path / "plan.json"
    found = run(app, ["plan", "accuracy", "--expected", "0.8", "--width", "0.1", "--json", str(out)])
    assert found.exit_code == 0
    assert json.loads(out.read_text())["n"] == 246
    words = ["plan", "accuracy", "-a", "0.85", "-b", "0.82", "--discordant", "0.09", "--power", "0.8"]
    assert str(jaxci.plan("accuracy", expected=PAIR, power=0.8).n) in run(app, words).output
    words = ["plan", "recall", "--prevalence", "0.1", "--sensitivity", "0.9", "--width", "0.1", "--method", "wilson"]
    assert run(app, words).exit_code == 0
    words = ["plan", "mean", "--sd", "0.2", "--width", "0.1", "--icc", "0.1", "--cluster-size", "10", "--method", "t"]
    assert "design effect" in run(app, words).output


@pytest.mark.slow
def test_the_command_reads_pilot_data(tmp_path):
    testing = pytest.importorskip("typer.testing")

    from jaxci.cli.app import app

    rng = np.random.default_rng(8)
    y, team = rng.integers(0, 2, 120), np.arange(120) // 6
    a, b = (np.where(rng.random(120) < wrong, 1 - y, y) for wrong in (0.1, 0.25))
    lines = [",".join(map(str, row)) for row in zip(y, a, b, rng.normal(size=120), team, strict=True)]
    file, out = tmp_path / "pilot.csv", tmp_path / "plan.json"
    file.write_text("\n".join(["y,a,b,value,team", *lines]) + "\n")

    def run(*words):
        return testing.CliRunner().invoke(app, ["plan", *words, "--pilot", str(file), "--json", str(out)])

    def planned(*words):
        assert run(*words).exit_code == 0
        return json.loads(out.read_text())["n"]

    found = planned("accuracy", "--target", "y", "--pred", "a", "--width", "0.1")
    assert found == jaxci.plan("accuracy", expected={"y_true": y, "y_pred": a}, width=0.1).n
    pilot = {"y_true": y, "prediction_a": a, "prediction_b": b, "groups": team}
    found = planned("accuracy", "--target", "y", "--models", "a,b", "--groups", "team", "--power", "0.8")
    assert found == jaxci.plan("accuracy", expected=pilot, power=0.8).n
    for words, said in (
        (["--target", "y", "--width", "0.1"], "--pilot needs one of --pred, --score, --values and --models"),
        (["--models", "a", "--power", "0.8"], "--models must name the columns of two models; got a"),
        (["--sd", "0.2", "--width", "0.1"], "--pilot tells all that is expected: leave out --sd"),
    ):
        assert said in str(run("accuracy", *words).exception)
    alone = testing.CliRunner().invoke(app, ["plan", "accuracy", "--target", "y", "--width", "0.1"])
    assert "--target names a column of --pilot, which is not given" in str(alone.exception)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(
    ("metric", "expected", "assurance"),
    [("balanced_accuracy", RATES, None), ("roc_auc", {"auc": 0.85, "prevalence": 0.3}, 0.8)],
)
def test_a_simulated_plan_holds_on_fresh_draws(metric, expected, assurance):
    found = jaxci.plan(metric, expected=expected, width=0.14, assurance=assurance, n_replications=400, rng=1)
    rng = np.random.default_rng(2)
    widths = []
    for _ in range(120):
        y = (rng.random(found.n) < expected["prevalence"]).astype(int)
        if metric == "roc_auc":
            second = rng.normal(size=found.n) + math.sqrt(2) * stats.norm.ppf(0.85) * y
        else:
            second = np.where(y == 1, rng.random(found.n) < 0.9, rng.random(found.n) >= 0.95).astype(int)
        low, high = jaxci.interval(
            metric, y, second, method=found.method, rng=int(rng.integers(2**31))
        ).confidence_interval
        widths.append(high - low)
    error = math.hypot(np.std(widths) / math.sqrt(120), found.width_error)
    assert abs(np.mean(widths) - found.expected_width) < 5 * error
    met = np.mean(np.array(widths) <= 0.14)
    spread = math.hypot(math.sqrt(0.25 / 120), found.assurance_error)
    assert abs(met - found.assurance) < 5 * spread
    if assurance is not None:
        assert found.assurance >= assurance


def test_an_interval_without_width_is_not_narrow():
    """Wald's of two right answers has no width, and 2 rows would do."""
    assert jaxci.plan("accuracy", expected=0.99, width=0.02, method="wald").n > 300


def test_a_class_that_never_occurs_has_no_f1():
    never = {"prevalence": 0, "sensitivity": 0.9, "specificity": 0.9}
    with pytest.raises(
        ValueError, match=r"expected\['prevalence'\] must be positive for f1, of the positive class; got 0"
    ):
        jaxci.plan("f1", expected=never, width=0.1)
    assert jaxci.plan("specificity", expected=never, width=0.1).n > 100


def test_a_mean_that_is_not_needed_is_not_printed():
    found = jaxci.plan("mean", expected={"sd": 0.22}, width=0.1)
    assert math.isnan(found.value)
    assert "0.0000" not in str(found)
    assert jaxci.plan("mean", expected={"mean": 0.5, "sd": 0.22}, width=0.1).n == found.n
