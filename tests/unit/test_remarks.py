"""What results say of their data: that an interval has no width, that rows or cases are few, that labels disagree."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.inference.choice import CLASSES_IN_CLUSTERS, MISSED, NEAR_ONE, NEAR_ONE_COVERED, RARELY_PREDICTED
from jaxci.inference.engine import WITHOUT_WIDTH
from jaxci.inference.left_out import FOUND_IN_CLUSTERS
from jaxci.inference.remarks import (
    CALIBRATION_IN_CLUSTERS,
    DEVIATIONS_IN_CLUSTERS,
    EXPANDED_IN_CLUSTERS,
    EXPLAINED_IN_CLUSTERS,
    FEW_FOR_A_KIND,
    OF_ATOMS,
    PERCENTILE_ON_CARDS,
    QUANTILES_IN_CLUSTERS,
    size_remarks,
    weight_remarks,
)
from jaxci.intervals.base import tails
from jaxci.intervals.bootstrap import Percentile
from jaxci.intervals.cards import cards
from jaxci.intervals.kurtosis import IN_CLUSTERS, KurtosisT
from jaxci.intervals.proportion_difference import Tango
from jaxci.intervals.quantile import most_covered
from jaxci.intervals.registry import METHODS
from jaxci.intervals.sign_flip import COVERED, COVERED_SKEWED
from jaxci.statistics.averaged import Precision
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import Quantile
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
RNG = np.random.default_rng(0)
X = RNG.normal(size=30)
LABELS = np.arange(30) % 2
CLASSES = np.arange(30) % 3


def perfect(metric):
    """Return data on which a metric of classes has the best value that there is."""
    y = LABELS if METRICS[metric].task == "binary" else CLASSES
    if "y_pred" in METRICS[metric].inputs:
        return y, y
    apart = np.arange(30) / 100  # so that scores are no hard labels
    return y, (y + apart if METRICS[metric].task == "binary" else np.eye(3)[y] + apart[:, None])


# --- no width, or no variance ----------------------------------------------------------------------


def test_an_interval_without_width_claims_no_simulated_coverage():
    """Rows of one class, all right, have a correlation of 0 by convention: it claimed to hold in 97% of designs."""
    ones = np.ones(30, int)
    flat, share = jaxci.evaluate(ones, ones, metrics=["matthews_corrcoef", "accuracy"], labels=[0, 1, 2], rng=0)
    assert flat.confidence_interval == (0.0, 0.0)
    assert np.isnan([flat.simulated_coverage, flat.simulated_worst]).all()
    assert flat.reason == WITHOUT_WIDTH
    assert share.simulated_coverage > 0.9
    assert share.reason != WITHOUT_WIDTH


NO_WIDTH = "has no estimated variance, so the 'delta' interval has no width"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "named"),
    [
        ("f1_macro", "square_and_add"),
        ("f1_weighted", "proper_bayesian"),
        ("matthews_corrcoef", "proper_bayesian"),
        ("jaccard_micro", "proper_bayesian"),
        ("average_precision", "proper_bayesian"),
        ("roc_auc_ovr", "proper_bayesian"),
    ],
)
def test_where_delta_has_no_width_the_method_named_has_some(metric, named):
    (said,) = jaxci.interval(metric, *perfect(metric), method="delta").warnings
    assert f"{NO_WIDTH}; use method={named!r}" in said
    labelled = named == "proper_bayesian" and "y_pred" in METRICS[metric].inputs
    assert ("accuracy beside it" in said) == labelled
    low, high = jaxci.interval(metric, *perfect(metric), method=named, n_resamples=199).confidence_interval
    assert low < high


@pytest.mark.parametrize("metric", ["r2", "pearsonr", "explained_variance", "root_mean_squared_error"])
def test_no_method_is_named_where_none_is_known_to_have_width(metric):
    said, missing = jaxci.interval(metric, X, X, method="delta").warnings
    assert said.endswith(NO_WIDTH)
    assert missing.startswith("a kind of row that makes up")


@pytest.mark.parametrize(
    ("metric", "truth", "guess"),
    [("r2", X, X + 0.1), ("f1_macro", LABELS, 1 - LABELS), ("brier_score_loss", LABELS, np.full(30, 0.3))],
)
def test_no_method_is_named_for_a_difference_without_variance(metric, truth, guess):
    said = jaxci.compare(metric, truth, guess, guess, method="delta").warnings
    assert said[0].endswith(NO_WIDTH)


# --- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "effective", "said"),
    [(29, 12.0, True), (60, 12.0, True), (29, 26.0, True), (29, 26.2, False), (29, 29.0, False), (60, 30.0, False)],
)
def test_a_small_effective_size_is_said_where_weights_cost_a_tenth_of_the_rows(n, effective, said):
    assert len(weight_remarks(n, effective, share=0.05)) == said


def test_weights_of_few_rows_are_remarked_on():
    weights = np.r_[np.full(9, 9.0), np.ones(20)]
    effective = weights.sum() ** 2 / (weights**2).sum()
    truth = np.arange(29) % 2
    found = jaxci.interval("accuracy", truth, np.where(np.arange(29) % 7 == 0, 1 - truth, truth), sample_weight=weights)
    assert f"an effective size of {effective:.3g} of 29 rows" in found.warnings[0]


@pytest.mark.parametrize("light", [LABELS == 1, np.arange(30) < 29])
def test_weights_that_are_nothing_beside_others_leave_no_warning_of_numpy(light):
    guess = np.where(np.arange(30) % 7 == 0, 1 - LABELS, LABELS)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        found = jaxci.interval("f1", LABELS, guess, sample_weight=np.where(light, 1e-300, 1e300), rng=0)
    assert "an effective size of" in found.warnings[0]


# --- strata of one unit ----------------------------------------------------------------------------


STRATA_REMARK = "intervals that keep strata ('percentile', 'bca', 'delta', 'proper_bayesian') are too narrow"


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("clusters", [False, True])
def test_a_stratum_of_few_that_holds_much_of_the_weight_is_told(clusters):
    strata = np.repeat([0, 1, 2], [12, 14, 4])
    rows = np.repeat(strata, 2 if clusters else 1)
    labels = np.arange(len(rows)) % 2
    given = {"groups": np.arange(len(rows)) // 2} if clusters else {}
    told = f"a stratum of 4 {'clusters' if clusters else 'rows'} holds 40% of the weight: how it varies is hardly known"
    for heavy in (False, True):
        weights = np.where(rows == 2, 52 / 3 / 4 if heavy else 1.0, 1.0)
        found = jaxci.interval(
            "accuracy", labels, labels[::-1], strata=rows, sample_weight=weights, n_resamples=199, rng=0, **given
        )
        assert any(text.startswith(told) for text in found.warnings) == heavy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "keeps"),
    [(name, True) for name in ("percentile", "bca", "delta", "proper_bayesian")]
    + [(name, False) for name in ("auto", "wilson", "clopper_pearson")],
)
def test_methods_that_the_remark_on_strata_of_one_unit_names_are_those_that_keep_strata(method, keeps):
    guess = np.where(np.arange(30) % 7 == 0, 1 - LABELS, LABELS)
    apart, alone = (
        jaxci.interval("accuracy", LABELS, guess, method=method, rng=0, strata=strata)
        for strata in (None, np.minimum(np.arange(30), 10))
    )
    (said,) = (text for text in alone.warnings if "strata" in text)
    assert said == f"10 strata hold a single unit each, which adds nothing to the variance: {STRATA_REMARK}"
    narrower = np.ptp(alone.confidence_interval) < 0.99 * np.ptp(apart.confidence_interval)
    assert narrower == keeps


# --- few rows, and few cases of a class ------------------------------------------------------------


RARE = np.repeat([1, 0], [3, 9])
GUESS = np.r_[1, 1, 0, np.zeros(8, int), 1]
HALVES = np.arange(12) % 2
WEIGHTS = np.linspace(0.9, 1.1, 12)
THREE_CASES = "a class has only 3 cases: intervals that depend on it are rough"


def warnings_of(metric, *data, **options):
    return jaxci.interval(metric, *data, n_resamples=199, rng=0, **options).warnings


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["matthews_corrcoef", "f1_macro"])
def test_few_rows_in_strata_are_judged_as_independent_ones(metric):
    said = warnings_of(metric, RARE, GUESS, strata=HALVES)
    assert said[:1] == warnings_of(metric, RARE, GUESS)
    assert "no method is known to hold its level" in said[0]
    assert not said[1:]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["root_mean_squared_error", "median_absolute_error", "r2"])
def test_few_rows_of_a_regression_in_strata_are_said(metric):
    assert "no method is known to hold" in warnings_of(metric, X[:9], X[9:18], strata=np.arange(9) % 3)[0]


def test_few_rows_of_a_difference_that_no_card_judged_are_said():
    (said,) = jaxci.compare("median_absolute_error", X[:12], X[6:18], X[3:15], n_resamples=199, rng=0).warnings
    assert (
        said
        == f"n = 12 is below 50, where 'percentile' intervals often cover less than they say: {PERCENTILE_ON_CARDS}"
    )


def test_few_rows_of_a_function_are_said_and_many_are_not():
    def spread(x):
        return x.max() - x.min()

    assert "n = 30 is below 50" in warnings_of(spread, X)[0]
    assert not warnings_of(spread, np.tile(X, 2))


def test_few_cases_of_a_class_with_weights_are_said():
    few, said = warnings_of("matthews_corrcoef", RARE, GUESS, sample_weight=WEIGHTS)
    assert said == THREE_CASES.replace("cases", "cases in effect")
    assert few.startswith("a class has fewer than 3 wrong rows in effect, or right ones: ")
    assert warnings_of("accuracy", RARE, GUESS, sample_weight=WEIGHTS) == ()


def test_few_clusters_are_not_taken_for_few_cases():
    truth, guess, groups = (np.tile(LABELS, 4), np.tile(np.roll(LABELS, 1), 4), np.repeat(np.arange(12), 10))
    given = {"groups": groups, "strata": groups % 2, "method": "percentile"}
    said = warnings_of("f1", truth, np.where(np.arange(120) % 3 == 0, guess, truth), **given)
    assert not any("cases" in text for text in said)


def test_rows_that_a_card_judged_get_no_second_remark():
    (said,) = warnings_of("matthews_corrcoef", RARE, GUESS)
    assert "no method is known to hold" in said
    said, missing = warnings_of("r2", X[:9], X[9:18])
    assert "no method is known to hold" in said
    assert missing.startswith("a kind of row that makes up 28% of all is missing from 9 of them")


def test_remarks_on_a_difference_are_those_on_its_statistic():
    sample = Sample(y_true=RARE, y_pred=GUESS, n_classes=2, other=Sample(y_true=RARE, y_pred=RARE, n_classes=2))

    def said(metric, method):
        return size_remarks(paired_difference(METRICS[metric]), sample, Layout(12), None, method, judged=False)

    assert len(said("accuracy", Percentile())) == 1
    assert said("accuracy", Tango()) == []
    assert said("f1", Percentile())[1:] == [THREE_CASES]


def test_what_is_said_of_the_percentile_bootstrap_is_what_the_cards_say():
    table = cards().columns
    of_rows = (table["method"] == "percentile") & (table["n"] == 30)
    names = [x for x in np.unique(table["statistic"][of_rows]) if "clusters" not in x and "calibration" not in x]
    typical = [np.median(table["coverage"][of_rows & (table["statistic"] == name)]) for name in names]
    assert f"less than 93% for {np.sum(np.array(typical) < 0.93)} of {len(names)} metrics" in PERCENTILE_ON_CARDS


def results_of(design):
    """What is kept of a design, by metric and method: coverage and width first."""
    return next(found for name, found in design.items() if name.startswith("coverage, width"))


def kept_coverage(name, holds=lambda design: True, metrics=None):
    """Smallest and largest coverage of ``auto``, in percent, in the kept designs of a benchmark."""
    designs = [x for x in json.loads((BENCHMARKS / f"{name}.json").read_text())["designs"] if holds(x)]
    covered = [(metric, one["auto"][0]) for x in designs for metric, one in results_of(x).items()]
    found = [coverage for metric, coverage in covered if metrics is None or metric in metrics]
    return f"{round(100 * min(found))}% to {round(100 * max(found))}%"


def test_what_is_said_of_classes_without_a_right_prediction_is_what_the_benchmark_found():
    assert kept_coverage("missed_classes") in MISSED


def test_what_is_said_of_classes_that_are_predicted_rarely_is_what_the_benchmark_found():
    assert kept_coverage("rare_predictions", lambda design: "20 times" not in design["design"]) in RARELY_PREDICTED
    y = np.repeat([0, 1, 2], [280, 80, 40])
    for times, said in ((0, "never predicted (1 of 3)"), (1, "predicted once"), (9, "predicted 9 times"), (10, None)):
        guess = np.where(np.arange(400) < 400 - times, y % 2, 2)
        told = [text for text in warnings_of("precision_weighted", y, guess) if RARELY_PREDICTED in text]
        assert told == ([f"a class is {said}: {RARELY_PREDICTED}"] if said else [])
        assert any("covered" in text for text in warnings_of("precision_macro", y, guess)) or not said
        others = ("recall_weighted", Precision(average="class", class_index=0))
        assert not any(RARELY_PREDICTED in text for one in others for text in warnings_of(one, y, guess))


@pytest.mark.slow
def test_what_is_said_of_precisions_of_classes_in_few_clusters_is_what_the_benchmark_found():
    y, p, groups = np.arange(90) % 3, np.arange(90) * 7 % 3, np.arange(90) % 30
    assert CLASSES_IN_CLUSTERS in warnings_of("precision_macro", y, p, groups=groups)
    assert warnings_of("recall_macro", y, p, groups=groups) == ()
    assert warnings_of("recall_macro", y, p, groups=groups % 9)
    few = kept_coverage("classes_in_clusters", lambda design: design["clusters"] < 100, ["precision_macro"])
    assert f"covered {few} in simulations" in CLASSES_IN_CLUSTERS


def test_what_is_said_of_deviations_in_clusters_is_what_the_benchmark_found():
    said, _ = warnings_of("std", X, groups=np.arange(30) // 2)
    assert said.endswith(DEVIATIONS_IN_CLUSTERS)
    few = kept_coverage("spread_in_clusters", lambda design: design["clusters"] in (8, 20), ["std"])
    assert few in DEVIATIONS_IN_CLUSTERS


def test_what_is_said_of_explained_variance_in_clusters_is_what_the_benchmark_found():
    rng, groups = np.random.default_rng(0), np.arange(30) // 2
    said, decided, _ = warnings_of("r2", X, X + rng.standard_t(2, size=30), groups=groups)
    assert decided.startswith("a few of the 15 clusters decide the estimate: its error is known no better than")
    assert said.endswith(f"'kurtosis_t' intervals may cover less than they say: {EXPLAINED_IN_CLUSTERS}")
    few = kept_coverage("spread_in_clusters", lambda design: design["clusters"] in (8, 20), ["r2"])
    assert few in EXPLAINED_IN_CLUSTERS
    even = warnings_of("r2", X, X + rng.normal(size=30), groups=np.arange(30) // 3)
    assert any(text.endswith(EXPLAINED_IN_CLUSTERS) for text in even)  # of few clusters always


def covered(found):
    """The least and the largest coverage, in percent."""
    return f"covered {100 * min(found):.0f}% to {100 * max(found):.0f}%"


def of_few_clusters():
    """What the benchmark found in at most 30 clusters, by metric."""
    designs = json.loads((BENCHMARKS / "few_clusters.json").read_text())["designs"]
    of = [x["coverage, width, warned"] for x in designs if x["clusters"] <= 30]
    return {metric: [one[metric]["auto"][0] for one in of] for metric in of[0]}


def test_what_is_said_of_expanded_percentiles_in_clusters_is_what_the_benchmarks_found():
    said, _ = warnings_of("pearsonr", X, X[::-1], groups=np.arange(30) // 2)
    assert said.endswith(f"'expanded_percentile' intervals may cover less than they say: {EXPANDED_IN_CLUSTERS}")
    designs = json.loads((BENCHMARKS / "spread_in_clusters.json").read_text())["designs"]
    found = [results_of(x)["pearsonr"]["auto"][0] for x in designs if x["clusters"] <= 30]
    assert EXPANDED_IN_CLUSTERS.endswith(covered(found + of_few_clusters()["spearmanr"]))


def test_what_is_said_of_quantiles_in_clusters_is_what_the_benchmark_found():
    said, _ = warnings_of("median", X, groups=np.arange(30) // 2)
    assert said.endswith(f"'woodruff' intervals may cover less than they say: {QUANTILES_IN_CLUSTERS}")
    found = [one for metric, of in of_few_clusters().items() if metric != "spearmanr" for one in of]
    assert QUANTILES_IN_CLUSTERS.endswith(covered(found))


def test_rank_correlations_near_1_are_held_as_the_benchmark_found():
    designs = json.loads((BENCHMARKS / "rank_correlations.json").read_text())["designs"]
    found = [x["coverage, width, told"]["spearmanr"] for x in designs if x["correlation"] < NEAR_ONE]
    least = {method: min(one[method][0] for one in found) for method in ("auto", "bc", "percentile")}
    assert least["auto"] > 0.91
    assert least["auto"] > max(least["bc"], least["percentile"]) + 0.02
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    for noise, told in ((0.5, False), (0.2, False), (0.05, True)):
        assert (NEAR_ONE_COVERED in warnings_of("spearmanr", x, x + noise * rng.normal(size=100))) == told


def test_what_is_said_of_calibration_errors_in_clusters_is_what_the_benchmark_found():
    rng, name = np.random.default_rng(0), "root_mean_squared_calibration_error"
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    told = warnings_of(name, y, p, groups=np.arange(120) // 4)
    assert any(one.endswith(CALIBRATION_IN_CLUSTERS) for one in told)
    designs = json.loads((BENCHMARKS / "calibration_errors.json").read_text())["designs"]
    designs = [x for x in designs if x["kind"] in ("clusters", "weighted clusters")]
    found = [results_of(x)[name]["auto"] for x in designs]
    few = [results_of(x)[name]["auto"][0] for x in designs if x["clusters"] <= 50]
    assert f"{100 * min(few):.0f}% to {100 * max(few):.0f}%" in CALIBRATION_IN_CLUSTERS
    assert min(coverage for coverage, _, told in found if told < 0.5) > 0.9
    sizes = np.repeat(np.arange(80), np.where(np.arange(80) < 3, 60, 2))
    p = rng.random(len(sizes))
    y = (rng.random(len(sizes)) < p).astype(int)
    few = "a few of the 80 clusters decide the estimate: its error is known no better than that of"
    assert any(said.startswith(few) for said in warnings_of(name, y, p, groups=sizes))


@pytest.mark.slow
def test_few_clusters_that_decide_are_told_with_what_the_benchmark_found():
    designs = json.loads((BENCHMARKS / "spread_in_clusters.json").read_text())["designs"]
    many = [(x, metric, by["auto"]) for x in designs if x["clusters"] >= 50 for metric, by in results_of(x).items()]
    found = [one for _, metric, one in many if metric != "r2"]  # whose method tells it by itself
    told, untold = ([coverage for coverage, _, share in found if (share > 0.5) == most] for most in (True, False))
    assert f"{round(100 * min(told))}% to {round(100 * max(told))}%" == FOUND_IN_CLUSTERS
    assert min(untold) > 0.88
    assert min(coverage for x, _, (coverage, _, share) in many if share <= 0.5 and not x["uneven"]) > 0.91
    rng, groups = np.random.default_rng(0), np.arange(160) // 2
    even, heavy = rng.uniform(size=160), rng.standard_t(2, size=160)
    assert warnings_of("std", even, groups=groups) == ()
    (said,) = (x for x in warnings_of("pearsonr", heavy, heavy + even, groups=groups) if "decide" in x)
    assert said.startswith("a few of the 80 clusters decide the estimate, as if there were ")
    assert said.endswith(f" alone: 95% intervals of such data covered {FOUND_IN_CLUSTERS} in simulations")
    (said,) = warnings_of("std", heavy, groups=groups)
    assert said.startswith("a few of the 80 clusters decide the estimate: its error is known no better than that of ")
    assert not any("decide" in said for said in warnings_of("std", heavy))


def test_what_is_said_of_differences_where_a_class_is_rare_is_what_the_benchmark_found():
    designs = json.loads((BENCHMARKS / "rare_differences.json").read_text())["designs"]
    found = {x: [] for x in (False, True)}
    for x in designs:
        found[x["clusters"] > 0] += [one["auto"] for one in x["coverage, width, below .05, warned"].values()]
    assert f"covered as little as {100 * min(one[0] for one in found[True]):.0f}%" in IN_CLUSTERS
    assert min(one[3] for one in found[True] if one[0] < 0.92) > 0.9
    # of independent rows there is nothing to say: 95% less three standard errors of 300 data sets
    assert min(one[0] for one in found[False]) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)


def test_what_is_said_of_flips_where_few_clusters_decide_is_what_the_benchmark_found():
    designs = json.loads((BENCHMARKS / "heavy_differences.json").read_text())["designs"]
    found = [x["coverage, width, below .05, told"]["mean_squared_error"] for x in designs]
    skewed, flips = (min(one[method][0] for one in found) for method in ("auto", "sign_flip"))
    assert f"95% intervals covered as little as {100 * skewed:.0f}% in simulations" == COVERED_SKEWED
    expected = f"95% intervals covered as little as {100 * flips:.0f}% in simulations"
    assert f"{expected} ({100 * skewed:.0f}% with skewed=True)" == COVERED


def test_weights_do_not_silence_what_is_said_of_heavy_tails():
    rng = np.random.default_rng(0)
    x, weights = 2 * rng.normal(size=200), np.where(np.arange(200) % 2, 1.0, 1.01)
    y = x + 0.6 * rng.standard_t(3, 200)
    for metric in ("pearsonr", "r2"):
        (said,) = warnings_of(metric, y, x, sample_weight=weights)
        assert said.startswith("a few of the 200 rows decide the estimate")
    many, weights = rng.normal(size=2000), np.tile(weights, 10)
    assert warnings_of("r2", many + 0.6 * rng.normal(size=2000), many, sample_weight=weights) == ()


@pytest.mark.parametrize(("held", "said"), [(1, "a single cluster of 12"), (3, "3 clusters of 12"), (6, None)])
def test_a_class_that_lies_in_few_clusters_is_told(held, said):
    groups = np.repeat(np.arange(12), 5)
    y = 1 * (groups < held)
    a, b = (np.where(np.random.default_rng(seed).random(60) < 0.8, y, 1 - y) for seed in (0, 1))
    found = jaxci.compare("balanced_accuracy", y, a, b, groups=groups).warnings
    assert any(f"all rows of a class lie in {said}" in text for text in found) == (said is not None)
    assert not any("all rows of a class" in text for text in jaxci.compare("accuracy", y, a, b, groups=groups).warnings)


# --- kinds of clusters that may be missing ---------------------------------------------------------


MISSING_FROM_20 = (
    "a kind of cluster that makes up 14% of all is missing from 20 of them with a chance of 5%, and the interval does "
    "not allow for it"
)
ALLOWED_FOR = "; that of 'proper_bayesian' does"


def in_clusters(n):
    """Return labels, predictions, scores and targets of rows in n clusters that are alike."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 15 * n)
    guess = np.where(rng.random(len(y)) < 0.9, y, 1 - y)
    return {"y": y, "guess": guess, "score": y + rng.normal(size=len(y)), "groups": np.repeat(np.arange(n), 15)}


def told_of_kinds(texts):
    """Return remarks on kinds of clusters."""
    return [text for text in texts if "a kind of cluster" in text]


SERVING = [name for name in jaxci.list_methods("f1", groups=True) if name not in ("auto", "proper_bayesian")]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", *SERVING])
def test_every_method_that_allows_for_no_kind_of_cluster_but_those_seen_says_so(method):
    assert METHODS.get(method) is None or METHODS[method]().prior is None
    rows = in_clusters(20)
    found = jaxci.interval("f1", rows["y"], rows["guess"], groups=rows["groups"], method=method, rng=0)
    assert told_of_kinds(found.warnings) == ([] if found.method.prior else [MISSING_FROM_20 + ALLOWED_FOR])


@pytest.mark.parametrize(("n", "share"), [(8, "31%"), (10, "26%"), (29, "9.8%"), (30, None)])
def test_how_common_a_kind_may_be_that_is_missing_depends_on_how_many_clusters_there_are(n, share):
    assert FEW_FOR_A_KIND == 30
    rows = in_clusters(n)
    options = {"groups": rows["groups"], "metrics": ["accuracy", "f1"]}
    found = jaxci.evaluate(rows["y"], rows["guess"], method="wilson_cluster", **options)
    expected = f"a kind of cluster that makes up {share} of all is missing from {n} of them with a chance of 5%"
    assert [row.warnings[-1].split(", and")[0] for row in found if row.warnings] == [expected] * 2 * (share is not None)
    assert len(told_of_kinds(found.remarks)) == (share is not None)
    assert not told_of_kinds(jaxci.evaluate(rows["y"], rows["guess"], method="proper_bayesian", **options).remarks)


def test_a_table_tells_of_a_missing_kind_once():
    rows = in_clusters(20)
    options = {"groups": rows["groups"], "method": "percentile", "n_resamples": 199, "rng": 0}
    with pytest.warns(jaxci.JaxciWarning) as caught:
        found = jaxci.evaluate(rows["y"], rows["guess"], metrics=["accuracy", "f1", "recall"], **options)
    expected = f"accuracy, f1, recall: {MISSING_FROM_20}{ALLOWED_FOR}"
    assert told_of_kinds(str(one.message) for one in caught) == [expected]
    assert str(found).count("a kind of cluster") == 1


@pytest.mark.parametrize("method", ["t", "proper_bayesian", "percentile"])
def test_no_method_is_said_to_allow_for_a_kind_with_errors_that_were_not_seen(method):
    rows = in_clusters(20)
    assert told_of_kinds(
        warnings_of("mean_absolute_error", rows["y"], rows["score"], groups=rows["groups"], method=method)
    ) == [MISSING_FROM_20]
    assert told_of_kinds(warnings_of("mean", rows["score"], groups=rows["groups"], method=method)) == [MISSING_FROM_20]


@pytest.mark.parametrize(
    ("metric", "options"),
    [("median_absolute_error", {}), ("accuracy", {"resample_size": 10}), ("expected_calibration_error", {})],
)
def test_no_method_is_named_where_none_that_allows_for_a_kind_serves(metric, options):
    rows = in_clusters(20)
    guess = rows["guess"] if metric == "accuracy" else 1 / (1 + np.exp(-rows["score"]))
    said = warnings_of(metric, rows["y"], guess, groups=rows["groups"], method="percentile", **options)
    assert told_of_kinds(said) == [MISSING_FROM_20]


def test_nothing_is_said_of_kinds_of_rows_or_of_differences():
    rows = in_clusters(20)
    assert not told_of_kinds(warnings_of("accuracy", rows["y"], rows["guess"], method="wilson"))
    found = jaxci.compare("accuracy", rows["y"], rows["guess"], rows["y"], groups=rows["groups"])
    assert not told_of_kinds(found.warnings)


@pytest.mark.parametrize(("method", "told"), [("wilson_cluster", []), ("percentile", [MISSING_FROM_20 + ALLOWED_FOR])])
def test_an_interval_of_an_estimate_at_an_end_that_has_a_width_allows_for_what_was_not_seen(method, told):
    rows = in_clusters(20)
    said = warnings_of("accuracy", rows["y"], rows["y"], groups=rows["groups"], method=method)
    assert told_of_kinds(said) == told


def test_an_accumulator_says_what_evaluate_says_of_kinds():
    rows = in_clusters(20)
    counted = jaxci.Accumulator(["accuracy", "f1"], groups=True, n_resamples=199, rng=0)
    found = counted.update(rows["y"], rows["guess"], groups=rows["groups"]).finalize("percentile")
    assert told_of_kinds(found.remarks) == [f"accuracy, f1: {MISSING_FROM_20}{ALLOWED_FOR}"]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_resamples_of_rows_that_are_not_kept_allow_for_no_kind(weighted, monkeypatch):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)
    rows = in_clusters(20)
    given = {"y_score": rows["score"], "groups": rows["groups"]}
    if weighted:
        given["sample_weight"] = 1 + rows["score"] ** 2
    resampled = jaxci.Accumulator(["roc_auc"], groups=True, n_resamples=199, rng=0, max_rows=20)
    (row,) = resampled.update(rows["y"], **given).finalize()
    assert "Poisson" in row.reason
    assert told_of_kinds(row.warnings) == [MISSING_FROM_20]


# --- labels beside scores --------------------------------------------------------------------------


PROBABILITY = np.where(np.arange(40) % 2 == 1, 0.9, 0.2)
TRUE = np.arange(40) % 2


def disagreements(predicted, score, truth=TRUE, **options):
    table = jaxci.evaluate(truth, predicted, score, metrics=["accuracy", "roc_auc"], n_resamples=199, rng=0, **options)
    return [text for text in table.warnings if "y_pred is not the class" in text]


def with_wrong(n_wrong):
    return np.where(np.arange(40) < n_wrong, 1 - TRUE, TRUE)


def test_labels_that_disagree_with_one_column_of_probabilities_are_said():
    (said,) = disagreements(with_wrong(3), PROBABILITY)
    assert said == (
        "y_pred is not the class that y_score makes likelier in 3 of 40 rows (7.5%); "
        "y_score is taken for the probability of 1, and 0.5 for the threshold"
    )
    assert not disagreements(with_wrong(2), PROBABILITY), "5% may differ"
    (said,) = disagreements(TRUE, 1 - PROBABILITY)
    assert "40 of 40 rows" in said


def test_ties_at_one_half_agree_with_both_labels():
    assert not disagreements(with_wrong(20), np.full(40, 0.5))
    (said,) = disagreements(with_wrong(20), np.where(TRUE == 1, 0.5, 0.4))
    assert "10 of 40 rows" in said


def test_the_positive_class_is_the_one_that_the_column_is_of():
    names = np.array(["yes", "no"])
    given = {"truth": names[TRUE], "pos_label": "no"}
    assert not disagreements(names[TRUE], PROBABILITY, **given)
    (said,) = disagreements(names[TRUE], 1 - PROBABILITY, **given)
    assert "taken for the probability of 'no'" in said


@pytest.mark.parametrize("score", [PROBABILITY + 0.2, 20 * PROBABILITY, PROBABILITY - 0.3])
def test_nothing_is_said_of_one_column_of_other_scores(score):
    assert not disagreements(1 - TRUE, score)


@pytest.mark.slow
def test_a_comparison_says_that_rows_or_cases_are_few():
    rng, x = np.random.default_rng(0), np.arange(9.0)
    models = x + rng.normal(size=9), x + rng.normal(size=9)
    (told,) = jaxci.compare("median_absolute_error", x, *models).warnings
    assert "n = 9 is below 50" in told
    (told,) = jaxci.compare("mean_absolute_error", x, *models).warnings
    assert told.startswith("a kind of row that makes up 28% of all is missing from 9 of them")
    for metric in ("r2", "root_mean_squared_error"):
        far = np.where(x == 4, 9.0, models[0])
        told, missing = jaxci.compare(metric, x, far, models[1]).warnings
        assert "a few of the 9 rows decide the difference" in told
        assert "a kind of row" in missing
    y = np.repeat([1, 0], [3, 57])
    assert jaxci.compare("f1", y, y, np.roll(y, 1)).warnings == (
        "a class has only 3 cases: intervals that depend on it are rough",
    )


def test_a_root_mean_square_in_clusters_has_the_remark_of_its_square():
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(50), 4)
    errors = (np.repeat(rng.standard_t(4, 50), 4) + rng.standard_t(4, 200)) / 2
    with warnings.catch_warnings(action="ignore"):
        found = [
            jaxci.interval(name, errors, 0 * errors, groups=groups, rng=0)
            for name in ("mean_squared_error", "root_mean_squared_error")
        ]
    assert any("strongly skewed values" in remark for remark in found[0].warnings)
    assert found[1].warnings == found[0].warnings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n", "covered"),
    [
        ("percentile", 60, "6% to 100%"),
        ("percentile", 240, "46% to 97%"),
        ("percentile", 400, "71% to 95%"),
        ("percentile", 2000, None),
        ("auto", 60, "62% to 100%"),
        ("auto", 240, "72% to 100%"),
        ("auto", 400, "80% to 96%"),
        ("auto", 2000, None),
    ],
)
def test_few_blocks_are_told_with_what_they_covered(method, n, covered):
    values = np.random.default_rng(0).normal(size=n)
    with warnings.catch_warnings(action="ignore"):
        found = jaxci.interval(
            "mean", values, method=method, resampling="stationary", block_length=5, n_resamples=99, rng=0
        )
    said = [remark for remark in found.warnings if "blocks" in remark]
    assert len(said) == (covered is not None)
    assert covered is None or covered in said[0]


# --- quantiles beyond the values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alternative", "q", "told"),
    [("two-sided", 0.05, "45.9%"), ("two-sided", 0.5, "75%"), ("less", 0.9, "27.1%"), ("greater", 0.1, "27.1%")],
)
def test_quantiles_beyond_the_values_are_said_to_be_missed(alternative, q, told):
    n = 12 if q == 0.05 else 3
    found = jaxci.interval(Quantile(q), np.arange(n) ** 2.0, alternative=alternative, rng=0)
    assert f"intervals that end at values hold this quantile in at most {told} of data sets of {n} rows" in " ".join(
        found.warnings
    )


def test_nearly_all_is_not_said_to_be_all():
    found = jaxci.interval(Quantile(0.95), np.arange(125.0), confidence_level=0.999, rng=0)
    assert "in at most 99.8% of data sets of 125 rows" in " ".join(found.warnings)


def test_most_that_intervals_of_values_cover_is_how_often_the_extremes_enclose_the_quantile():
    drawn = np.random.default_rng(0).uniform(size=(20_000, 12))
    held = np.mean((drawn.min(axis=1) <= 0.05) & (drawn.max(axis=1) >= 0.05))
    assert most_covered(12, 0.05, tails(0.95)) == pytest.approx(held, abs=0.012)


# --- all rows of one class -------------------------------------------------------------------------


def test_rows_of_one_class_alone_are_told_and_have_the_metrics_of_one():
    """As where answers are graded: y_true says "right" everywhere."""
    guess = (np.arange(100) % 3 > 0).astype(int)
    assert [row.statistic for row in jaxci.evaluate(np.ones(100, int), guess, rng=0)] == ["accuracy"]
    metrics = ["accuracy", "recall", "specificity", "balanced_accuracy", "matthews_corrcoef"]
    found = {row.statistic: row for row in jaxci.evaluate(np.ones(100, int), guess, metrics=metrics, rng=0)}
    told = [name for name, row in found.items() if any("one of the two classes only" in x for x in row.warnings)]
    assert told == ["balanced_accuracy", "matthews_corrcoef"]
    assert [name for name, row in found.items() if np.isfinite(row.simulated_coverage)] == ["accuracy"]
    assert not any("times as many" in text for row in found.values() for text in row.warnings)
    with pytest.raises(ValueError, match="y_true must hold rows of both classes where scores are no probabilities"):
        jaxci.evaluate(np.ones(100, int), y_score=np.arange(100.0))


# --- relative errors of nothing --------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [0, 2])
def test_relative_errors_of_targets_that_are_zero_are_told(zeros):
    y = np.where(np.arange(30) < zeros, 0.0, 10 + X)
    metric, told = "mean_absolute_percentage_error", f"y_true is 0 in {zeros} of 30 rows"
    one = jaxci.evaluate(y, y + 1 + X, metrics=[metric], rng=0)[metric].warnings
    two = jaxci.compare(metric, y, y + 1 + X, y - X, rng=0).warnings
    assert [any(text.startswith(told) for text in texts) for texts in (one, two)] == [zeros > 0] * 2


@pytest.mark.parametrize(
    ("least", "dtype", "said"),
    [
        (
            0.0,
            np.float64,
            "a probability of 0 for its class: the loss there is infinite and was cut at 36, that of 2.2e",
        ),
        (
            1e-9,
            np.float32,
            "a probability below 1.2e-07 for its class: the loss there was cut at 15.9",
        ),
        (1e-9, np.float64, None),
    ],
)
def test_losses_that_are_cut_are_told(least, dtype, said):
    y = np.arange(40) % 2
    good = (0.3 + 0.4 * y).astype(dtype)
    bad = np.where(np.arange(40) == 1, least, good).astype(dtype)
    metrics = ["log_loss", "brier_score_loss"]
    rows = {row.statistic: row.warnings for row in jaxci.evaluate(y, y_score=bad, metrics=metrics, rng=0)}
    asked = jaxci.interval("log_loss", y, bad, method="t").warnings
    two = jaxci.compare("log_loss", y, good, bad, method="t").warnings
    for texts, whose in ((rows["log_loss"], ""), (asked, ""), (two, " of model b")):
        told = [text for text in texts if "for its class" in text]
        assert len(told) == (said is not None)
        assert said is None or told[0].startswith(f"1 of 40 rows{whose} has {said}")
    weights = np.where(np.arange(40) == 1, 0, 1 + y)
    unread = jaxci.interval("log_loss", y, bad, method="t", sample_weight=weights, weight_type="frequency").warnings
    assert not any("for its class" in text for text in (*rows["brier_score_loss"], *unread))


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (lambda rng: rng.uniform(0.1, 10, 100), True),
        (lambda rng: np.abs(rng.normal(3, 1.2, 100)) + 0.02, True),
        (lambda rng: rng.uniform(1, 2, 100), False),
        (lambda rng: rng.normal(5, 1, 100), False),
    ],
    ids=["from 0 on", "near 0", "from 1 on", "far from 0"],
)
def test_relative_errors_of_targets_that_come_close_to_zero_are_told(law, told):
    """95% intervals covered .90 and .85 of such data, those of the others .95 to .97."""
    rng = np.random.default_rng(1)
    y = law(rng)
    metric = "mean_absolute_percentage_error"
    for guess, expected in ((y + rng.normal(0, 0.5, 100), told), (y * np.exp(rng.normal(0, 0.3, 100)), False)):
        warned = jaxci.evaluate(y, guess, metrics=[metric], rng=0)[metric].warnings
        assert any(text.startswith("y_true comes as close to 0 as") for text in warned) == expected


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_rank_correlations_near_one_are_corrected_for_what_resamples_bend(sign):
    """Of 100 rows with a correlation of ranks of .9995 percentile intervals covered 27%, all others below."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    guess = sign * (y + 0.03 * rng.normal(size=100))
    (row,) = jaxci.evaluate(y, guess, metrics=["spearmanr"], rng=0)
    assert row.method.name == "bc"
    assert row.warnings[0].startswith("a rank correlation this close to 1: 95% 'bc' intervals covered")
    end = row.confidence_interval.high if sign > 0 else -row.confidence_interval.low
    assert end > 6 / np.pi * np.arcsin(0.5 / np.hypot(1, 0.03))
    for other in (y, y + rng.normal(size=100), np.zeros(100)):
        (row,) = jaxci.evaluate(y, other, metrics=["spearmanr"], rng=0)
        assert row.method == KurtosisT(scale="fisher")


# --- shares without a range ------------------------------------------------------------------------


@pytest.mark.parametrize(("bounds", "last"), [(None, 0.0), ((0, 1), 0.0), (None, 0.5)])
def test_means_of_zeros_and_ones_are_told_of_bounds(bounds, last):
    values = np.append(np.ones(29), last)
    statistic = "mean" if bounds is None else Mean(bounds=bounds)
    found = jaxci.interval(statistic, values, rng=0)
    told = any("proportion_interval gives that of a share" in text for text in found.warnings)
    assert told == (bounds is None and last == 0)


def test_a_deviation_that_one_cluster_decides_has_ends_of_its_own_size():
    """Of one failed case in 20 patients studentized intervals ended fifteen times above the largest value."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), rng.integers(1, 6, 20))
    values = rng.uniform(0, 10, len(groups))
    values[7] = 200.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        found = jaxci.interval("std", values, groups=groups, rng=0)
        few = jaxci.interval("std", np.delete(values, 7), groups=np.delete(groups, 7), rng=0)
    assert found.method == KurtosisT(scale="log")
    assert found.confidence_interval.high < values.max()
    assert few.method == "studentized"


@pytest.mark.slow
def test_studentized_intervals_in_strata_of_few_units_say_what_they_lack():
    x = np.random.default_rng(0).normal(size=60)
    for size, said in ((2, True), (3, True), (4, False), (20, False)):
        strata = np.arange(60) // size
        found = warnings_of("mean", x, strata=strata, method="studentized")
        assert any(f"a stratum of {size} units hardly tell" in text for text in found) == said
        assert not any("hardly tell" in text for text in warnings_of("mean", x, strata=strata, method="bca"))


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_lengths_between_quartiles_of_few_tied_values_are_told(false_alarm):
    """Distances on a lattice, 8% of them those of missed cases: of 30 few are covered, and all have a remark."""
    rng, held, told, sets = np.random.default_rng(0), 0, 0, 200
    for _ in range(sets):
        values = np.where(rng.random(30) < 0.08, 141.4, np.sqrt(rng.choice([1, 1, 1, 2, 4, 4, 5, 9, 10, 16], 30)))
        found = jaxci.interval("iqr", values, n_resamples=499, rng=0)
        held += found.confidence_interval.low <= np.sqrt(10) - 1 <= found.confidence_interval.high
        told += any("the values are tied" in text for text in found.warnings)
    assert told == sets
    assert stats.binomtest(held, sets, 0.97, alternative="less").pvalue < false_alarm
    untied = jaxci.interval("iqr", rng.normal(size=30), n_resamples=499, rng=0)
    assert not any("tied" in text for text in untied.warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.slow
def test_an_atom_that_ends_next_to_a_quartile_is_told():
    """Overlaps of which 27% are 0: the lower quartile lies at .3 or so, or, of nearly as many data sets, at 0."""
    rng = np.random.default_rng(1)
    for n, zeros, said in ((100, 0.27, True), (500, 0.27, True), (500, 0.1, False), (500, 0.5, False)):
        values = np.where(np.arange(n) < zeros * n, 0.0, rng.beta(8, 3, n))
        found = jaxci.interval("iqr", values, n_resamples=499, rng=0)
        assert any(f"covered {OF_ATOMS} in simulations" in text for text in found.warnings) == said
        assert not jaxci.interval("median", values[values > 0], n_resamples=499, rng=0).warnings
    rows = np.concatenate([rng.normal(size=180), np.full(20, 5.0)])
    for weight, said in ((1 / 3, True), (1.0, False)):  # 75% and 90% of the weight lie below the gap
        weights = np.where(rows < 5, weight, 1.0)
        found = jaxci.interval("iqr", rows, sample_weight=weights, n_resamples=499, rng=0)
        assert any("next to a quartile" in text for text in found.warnings) == said
    answers = rng.integers(1, 6, 300)  # values that are tied on both sides of a gap
    assert not jaxci.interval("iqr", answers, n_resamples=499, rng=0).warnings


def test_the_remark_on_atoms_is_what_was_simulated():
    kept = json.loads((ROOT / "benchmarks" / "results" / "atoms_near_quartiles.json").read_text())["designs"]
    found = [design["coverage, width over needed, told"]["iqr"]["auto"] for design in kept]
    covered = [coverage for coverage, _, told in found if told > 0.5]
    assert f"{int(100 * min(covered))}% to {int(100 * max(covered))}%" == OF_ATOMS
    assert min(coverage for coverage, _, told in found if told <= 0.5) > 0.92


def test_an_interval_without_width_does_not_say_how_far_it_reaches():
    y = np.arange(60) % 7
    told = warnings_of("mean_absolute_error", y, y, method="proper_bayesian")
    assert any("zero width" in text for text in told)
    assert not any("how far the interval reaches" in text for text in told)
    assert any(
        "how far the interval reaches" in text for text in warnings_of("f1", RARE, RARE, method="proper_bayesian")
    )
