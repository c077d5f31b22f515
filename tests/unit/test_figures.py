"""Figures that stand on the pages are those of the results that are kept, and of the cards in the package."""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.api.run_boards import OF_FEW_GAPS, OF_MEDIANS
from jaxci.inference import drawing
from jaxci.inference.choice_by_rules import IN_MANY_CLASSES, OF_HEAVY_TARGETS, WITHOUT_DRAWS
from jaxci.intervals.bootstrap import ExpandedPercentile
from jaxci.intervals.cards import cards
from jaxci.intervals.kurtosis import FEW_FAIL
from jaxci.intervals.woodruff import Woodruff

ROOT = Path(__file__).resolve().parents[2]
CHECKS: list[Any] = []
"""Pages, and functions that return what must stand there."""


HELD_AND_TOLD = "coverage, width over needed, told"


def on(page: str) -> Callable[[Callable[[], list[str]]], Callable[[], list[str]]]:
    def keep(said: Callable[[], list[str]]) -> Callable[[], list[str]]:
        CHECKS.append(pytest.param(page, said, id=f"{page}-{said.__name__}"))
        return said

    return keep


def kept(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def share(x: float, digits: int = 2) -> str:
    return f"{x:.{digits}f}".removeprefix("0")


def shares(values: Iterable[float]) -> str:
    found = list(values)
    return f"{share(min(found))} to {share(max(found))}"


def percents(values: Iterable[float], digits: int = 0) -> str:
    found = [round(100 * x, digits) for x in values]
    return f"{min(found):g} to {max(found):g}%"


def of_card(statistic: str, method: str, *, law: str = "", **columns: Any) -> np.ndarray:
    """Coverages of a method on a card, of laws in whose name ``law`` is; columns equal a value or lie in a range."""
    table = cards().columns
    held = (table["statistic"] == statistic) & (table["method"] == method)
    held &= np.char.find(table["distribution"].astype(str), law) >= 0
    for name, wanted in columns.items():
        least, most = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        held &= (least <= table[name]) & (table[name] <= most)
    return np.asarray(table["coverage"][held], float)


def of_percentiles(n: int) -> np.ndarray:
    """Median coverage over the laws of percentile intervals of every metric but calibration errors."""
    table = cards().columns
    held = (table["method"] == "percentile") & (table["n"] == n)
    names = {x for x in table["statistic"][held] if "clusters" not in x and "calibration" not in x}
    return np.array([np.median(of_card(name, "percentile", n=n)) for name in names])


# --- cards -----------------------------------------------------------------------------------------


@on("cards")
def size_of_the_table() -> list[str]:
    return [f"one table of {len(cards().columns['n']):,} rows"]


@on("cards")
def percentile_bootstrap_of_few_rows() -> list[str]:
    ten, thirty, fifty = (of_percentiles(n) for n in (10, 30, 50))
    assert len(ten) == len(thirty) == len(fifty)
    half = [math.ceil(100 * np.median(found)) for found in (ten, thirty, fifty)]
    return [
        f"of {len(thirty)} metrics (all but calibration errors) it covers less than 93% in the median over the laws "
        f"for {np.sum(thirty < 0.93)} at n = 30 and {np.sum(fifty < 0.93)} at n = 50",
        f"for half of them less than {half[0]}% at n = 10, {half[1]}% at n = 30 and {half[2]}% at n = 50",
    ]


@on("cards")
def calibration_errors() -> list[str]:
    sizes = np.unique(cards().columns["n"][cards().columns["statistic"] == "expected_calibration_error"])
    told = []
    for name, method, few in (
        ("expected_calibration_error", "basic", 100),
        ("root_mean_squared_calibration_error", "squared_gaps", 50),
    ):
        found = {int(n): of_card(name, method, n=n) for n in sizes}
        worst = percents(x.min() for n, x in found.items() if n <= few)
        told.append(f"at worst {worst} up to n = {few}")
        told.append(f"{100 * found[1000].min():.0f}% at 1,000 and {100 * found[5000].min():.0f}% at 5,000")
    return [*told, f"covers {percents(np.median(x) for x in found.values())} in the median"]


@on("cards")
def areas_of_two_positives() -> list[str]:
    newcombe, bayes, delong, percentile = (
        percents(of_card("roc_auc", method, n=100, rarest=(1.9, 2.1)))
        for method in ("newcombe", "proper_bayesian", "delong_logit", "percentile")
    )
    return [
        f"only `newcombe` holds ({newcombe}); `proper_bayesian` covers {bayes}, DeLong's logit {delong}, "
        f"the percentile bootstrap {percentile}"
    ]


@on("cards")
def losses_of_a_rare_class() -> list[str]:
    found: dict[int, list[float]] = {100: [], 1000: []}
    for name, n in itertools.product(("log_loss", "brier_score_loss"), found):
        methods = np.unique(cards().columns["method"][cards().columns["statistic"] == name])
        rows = [of_card(name, method, n=n, law="prevalence 0.02") for method in methods]
        found[n] += list(np.max([row for row in rows if row.size], axis=0))
    return [f"no method holds, the best covers {percents(found[100])}; at n = 1,000 it covers {percents(found[1000])}"]


@on("cards")
def macro_f1_of_a_rare_class() -> list[str]:
    covered = of_card("f1_macro", "square_and_add", law="5 classes, 40 to 2%", n=(10, 199))
    assert covered.max() < 0.94
    what = "no method holds below n = 200, since the class is often missing"
    return [f"{what}: the best, `square_and_add`, covers {percents(covered)}"]


@on("cards")
def bca_of_few_errors() -> list[str]:
    covered = of_card("balanced_accuracy", "bca", n=100, errors=(0.5, 2.1))
    return [f"{percents(covered)} for balanced accuracy with one to two errors in 100 rows"]


@on("cards")
def designs_at_which_the_rule_warns() -> list[str]:
    found = kept("card_choices")["cards"]
    warned = sum(x["warned"] for x in found)
    assert min(x["lowest"] for x in found) >= 0.93
    return [f"({sum(x['designs'] for x in found) - warned:,} designs of {len(found)} cards; it warns at {warned})"]


@on("cards")
def through_the_verb() -> list[str]:
    rows = [x for x in kept("default_coverage_by_cards")["rows"] if x["metric"] != "expected_calibration_error"]
    told = []
    for method in ("auto", "percentile"):
        covered = np.array([x[method]["coverage"] for x in rows])
        parts = [f"{100 * np.mean(covered >= least):.0f}%" for least in (0.93, 0.91)]
        told.append((share(float(np.median(covered)), 3), *parts))
    auto, percentile = told
    low = [x["auto"]["warned"] for x in rows if x["auto"]["coverage"] < 0.93]
    often = sum(0.9 <= x < 1 for x in low)
    return [
        f"{len(rows)} designs",
        f"`auto` covers {auto[0]} in the median, at least .93 in {auto[1]} and at least .91 in {auto[2]} of the",
        f"the percentile bootstrap {percentile[0]}, {percentile[1]} and {percentile[2]}",
        f"Of the {len(low)} designs covered less than .93, {low.count(1)} carry a warning in every data set "
        f"and {often} in at least 90%",
    ]


@on("sharp_edges")
def strata_of_few_units() -> list[str]:
    found = [methods["auto"][0] for x in kept("small_strata")["designs"] for methods in x["coverage, width"].values()]
    return [f"intervals by default covered {min(found):.3f} to {max(found):.3f}".replace(" 0.", " .")]


# --- clusters --------------------------------------------------------------------------------------


@on("clusters")
def coverage_of_a_share() -> list[str]:
    jackknife = "{}, jackknife, Satterthwaite, working correlation 1"
    columns = [jackknife.format(name) for name in ("t", "wilson_cluster", "clopper_pearson_cluster")]
    columns += ["proper_bayesian", "percentile", "wilson, rows taken for independent"]
    told = []
    for row in kept("cluster_coverage")["rows"]:
        cells = [f"{share(row[x]['coverage'])} ({share(row[x]['width'])})" for x in columns]
        design = [f"{row['share']:g}", f"{row['correlation']:g}", str(row["clusters"]), row["sizes"]]
        told.append(f"| {' | '.join([*design, *cells])} |")
    return told


@on("clusters")
def the_default() -> list[str]:
    rows, told = kept("cluster_default")["rows"], []
    for method in ("auto", "proper_bayesian", "percentile"):
        covered = np.array([x["coverage"][method] for x in rows])
        told.append(
            (share(float(np.median(covered)), 3), f"{100 * np.mean(covered >= 0.91):.0f}%", share(covered.min(), 3))
        )
    auto, bayes, percentile = told
    large = [x for x in rows if x["clusters"] == "30 uneven"]
    assert min(x["coverage"]["auto"] for x in rows) == min(x["coverage"]["auto"] for x in large)
    kinds = (("balanced_accuracy", "log_loss"), ("accuracy", "recall"))
    warned = [max(x["warned"] for x in large if x["metric"] in names) for names in kinds]
    return [
        f"in {len(rows)} designs",
        f"`auto` covers {auto[0]} in the median, at least .91 in {auto[1]} and at least {auto[2]} in all",
        f"`proper_bayesian` alone {bayes[0]}, {bayes[1]} and {bayes[2]}",
        f"the percentile bootstrap {percentile[0]}, {percentile[1]} and {percentile[2]}",
        f"in up to {100 * warned[0]:.0f}% of the data sets that no method is known to hold, for shares in "
        f"{100 * warned[1]:.0f}% at most",
    ]


@on("clusters")
def log_losses_of_few_rows() -> list[str]:
    found, told = kept("log_losses_in_clusters"), []
    for model in ("good", "plain"):
        rows = [
            x["coverage, width over needed, told"]["log_loss"]["auto"] for x in found["designs"] if model in x["model"]
        ]
        held, wide = ([row[i] for row in rows] for i in (0, 1))
        width = f"{min(wide):.1f} to {max(wide):.1f} times"
        told += [f"{shares(held)}, but at {width} the" if model == "good" else f"{shares(held)} at {width}"]
    return [*told, f"{found['sets']} data sets each"]


@on("clusters")
def clusters_of_another_kind() -> list[str]:
    rows = kept("rare_clusters")["rows"]

    def of(method: str, metrics: tuple[str, ...], clusters: tuple[int, ...]) -> str:
        found = [x for x in rows if x["metric"] in metrics and x["clusters"] in clusters]
        return shares(x["coverage"][method] for x in found)

    every, few = tuple({x["metric"] for x in rows}), (10, 20)
    formulas = ("accuracy", "f1", "roc_auc", "average_precision")
    accuracy, f1, auc, precision = (of("auto", (metric,), few) for metric in formulas)

    def told(*metrics: str) -> list[tuple[float, float, float]]:
        found = []
        for x in (x for x in rows if x["metric"] in metrics and x["clusters"] in few):
            n, (untold, held) = x["sets"], x["not told of kinds"].values()
            with_it = (x["coverage"]["auto"] * n - held) / (n - untold)
            found.append(((n - untold) / n, with_it, held / untold))
        return found

    often = [percents(x[0] for x in told(metric)) for metric in formulas]
    labels, areas, precisions = (
        shares(x[1] for x in told(*metrics)) for metrics in (formulas[:2], formulas[2:3], formulas[3:])
    )
    wider = max(x["width"]["proper_bayesian"] / x["width"]["auto"] for x in rows)
    others = [x for x in rows if x["metric"] not in formulas]
    assert np.median([x["taken"]["proper_bayesian"] / x["sets"] for x in others]) >= 0.85
    return [
        f"covers {of('auto', ('log_loss',), (10, 20, 40))} of them in these designs",
        f"{rows[0]['sets']} data sets each, `benchmarks/results/rare_clusters.json`",
        f"accuracies {accuracy}, F1 {f1}, areas under ROC curves {auc} and average precisions {precision}, since",
        f"of 40 it covers {of('auto', every, (40,))}",
        f"{often[0]} of these data sets for accuracies, {often[1]} for F1, {often[2]} for areas and {often[3]} for",
        f"with the warning covered {labels} of accuracies and F1, {areas} of areas and {precisions} of average "
        f"precisions, those without it {shares(x[2] for x in told(*formulas))}",
        f"covers {of('proper_bayesian', every, (10, 20, 40))} in all {len(rows)} designs, at up to {wider:.1f} times",
    ]


@on("clusters")
def large_clusters_that_differ_little() -> list[str]:
    held = kept("alike_clusters")
    rows = [one for x in held["designs"] for one in x["coverage, width, warned"].values()]
    auto, needed, _ = zip(*(x["auto"] for x in rows), strict=True)
    bayes, wide, _ = zip(*(x["proper_bayesian"] for x in rows), strict=True)
    return [
        f"{held['sets']} data sets each, `benchmarks/results/alike_clusters.json`",
        f"`auto` covers {shares(auto)}, half of the {len(rows)} designs at least {share(np.median(auto), 3)},",
        f"at {np.median(needed):.1f} times the width that is needed in the median and {max(needed):.1f} times at most",
        f"`proper_bayesian` {shares(bayes)}, half of the time at more than {np.median(wide):.1f} times that width, "
        f"{max(wide):.0f} times at most",
    ]


@on("clusters")
def means_over_classes() -> list[str]:
    found: dict[tuple[str, bool], list[float]] = {}
    for design in kept("classes_in_clusters")["designs"]:
        for metric, methods in design["coverage, width"].items():
            for name, (coverage, _) in methods.items():
                found.setdefault((name, metric == "precision_macro"), []).append(coverage)
    auto, bayes, percentile = (shares(found[name, False]) for name in ("auto", "proper_bayesian", "percentile"))
    return [
        f"`auto` covered {auto}, the weights of clusters of `proper_bayesian` {bayes}",
        f"the percentile bootstrap {percentile}",
        f"Macro precision keeps `proper_bayesian`, {shares(found['proper_bayesian', True])}",
    ]


@on("clusters")
def moments_in_clusters() -> list[str]:
    designs = kept("spread_in_clusters")["designs"]

    def of(metric: str, method: str, holds: Callable[[dict[str, Any]], bool] = bool) -> list[float]:
        return [x["coverage, width, told"][metric][method][0] for x in designs if holds(x)]

    def covered(method: str, clusters: int) -> str:
        return shares(of("std", method, lambda x: (x["clusters"], x["rows"]) == (clusters, 3)))

    many = [x["coverage, width, told"] for x in designs if x["clusters"] >= 50]
    ends = [one["auto"] for by in many for metric, one in by.items() if metric != "r2"]
    told, others = (shares(x[0] for x in ends if (x[2] > 0.5) == most) for most in (True, False))
    return [
        f"designs where it mostly did were covered {told}, all others {others}",
        f"covered {covered('percentile', 8)} in 8 clusters of 3 rows and {covered('percentile', 20)} in 20",
        f"which covered {covered('auto', 8)} and {covered('auto', 20)}",
        f"of 8 to 60 very uneven clusters {shares(of('std', 'auto', lambda x: x['uneven']))}",
        f"in all {len(designs)} designs {shares(of('r2', 'auto'))}, "
        f"half of them at least {share(np.median(of('r2', 'auto')), 3)},",
        f"from 50 clusters on {shares(of('r2', 'auto', lambda x: x['clusters'] >= 50))} "
        f"(percentiles {shares(of('r2', 'percentile'))})",
        f"`expanded_percentile`: {shares(of('pearsonr', 'auto'))}",
    ]


CALIBRATION, COMMON = "root_mean_squared_calibration_error", ("balanced", "good", "rare")


def calibration(kind: str, method: str = "auto", models: tuple[str, ...] = ()) -> list[float]:
    """Return what a method covered in the designs of a kind, and of these models, that it was tried in."""
    designs = [x for x in kept("calibration_errors")["designs"] if x["kind"] == kind]
    found = [x["coverage, width, told"][CALIBRATION] for x in designs if not models or x["model"] in models]
    return [one[method][0] for one in found if method in one]


@on("clusters")
def calibration_errors_in_clusters() -> list[str]:
    found, basic = calibration("clusters"), calibration("clusters", "basic")
    designs = [x for x in kept("calibration_errors")["designs"] if x["kind"] in ("clusters", "weighted clusters")]
    every = [x["coverage, width, told"][CALIBRATION]["auto"] for x in designs]
    few = [told for coverage, _, told in every if coverage < 0.93]
    assert np.median(found) >= 0.99
    weighted, classes = ((calibration(kind), calibration(kind, models=COMMON)) for kind in ("weights", "class weights"))
    balanced = [calibration(kind, models=COMMON[:2]) for kind in ("rows", "weights", "class weights", "clusters")]
    return [
        f"in {len(found)} designs of 5 to 60 clusters, it covered {shares(found)}, half of them at least .99, and of "
        f"classes of 5% and more {shares(calibration('clusters', models=COMMON))} (the basic bootstrap {shares(basic)} "
        f"of {len(basic)} designs of those)",
        f"at least {math.floor(100 * min(few))}% of the data sets said",
        f"lognormal weights it covered {shares(weighted[0])}, of classes of 5% and more {shares(weighted[1])} "
        f"(the basic bootstrap {shares(calibration('weights', 'basic'))}), where positive rows weigh five times as "
        f"much {shares(classes[0])} and {shares(classes[1])}",
        f"Of balanced classes it covers at least {share(min(map(min, balanced)))}",
    ]


@on("clusters")
def rare_differences() -> list[str]:
    designs = [x for x in kept("rare_differences")["designs"] if x["clusters"]]
    rare = [x["prevalence"] for x in designs if x["clusters"] >= 30]

    def covered(*metrics: str) -> str:
        found = [x["coverage, width, below .05, warned"] for x in designs]
        return shares(one[metric]["auto"][0] for one in found for metric in metrics)

    return [
        f"with {percents(rare)[:-1]}% of positive rows in 30 to 200 clusters",
        f"are covered {covered('roc_auc', 'average_precision')}",
        f"of F1 {covered('f1')}, of the Matthews correlation {covered('matthews_corrcoef')}",
        f"of precision, of few predicted positives, {covered('precision')}",
    ]


def few_and_more_clusters(*, ranks: bool) -> dict[bool, dict[str, list[float]]]:
    """Coverage of rank correlations, or of quantiles, by whether clusters are few and by method."""
    methods = ("auto", "expanded_percentile", "percentile")
    found: dict[bool, dict[str, list[float]]] = {few: {method: [] for method in methods} for few in (True, False)}
    for design in kept("few_clusters")["designs"]:
        for metric, of in design["coverage, width, warned"].items():
            for method in methods:
                if (metric == "spearmanr") == ranks:
                    found[design["clusters"] <= 8][method].append(of[method][0])
    return found


@on("clusters")
def quantiles_and_ranks_in_few_clusters() -> list[str]:
    def of(*, ranks: bool, few: bool) -> dict[str, str]:
        return {name: shares(x) for name, x in few_and_more_clusters(ranks=ranks)[few].items()}

    few, more = (of(ranks=True, few=one) for one in (True, False))
    ranked = f"covered {few['auto']}, percentiles {few['percentile']}, and of 15 to 60 clusters {more['auto']} and "
    few, rest = (of(ranks=False, few=one) for one in (True, False))
    return [
        f"which of 5 and 8 clusters {ranked}{more['percentile']}",
        f"Of 5 and 8 clusters it covered {few['auto']}, `expanded_percentile` {few['expanded_percentile']}, "
        f"percentiles {few['percentile']}, and of 15 to 60 clusters {rest['auto']}, {rest['expanded_percentile']} and "
        f"{rest['percentile']}",
    ]


def test_the_docstrings_of_methods_of_few_clusters_say_what_was_found():
    few = few_and_more_clusters(ranks=True)[True]
    auto, percentile = (percents(few[method]).replace(" to ", "% to ") for method in ("auto", "percentile"))
    said = " ".join(str(ExpandedPercentile.__doc__).split())
    assert f"rank correlations of rows in 5 to 8 clusters are covered {auto}, by percentiles {percentile}" in said
    both = few_and_more_clusters(ranks=False)
    auto, percentile = (
        percents(both[True][method] + both[False][method]).replace(" to ", "% to ") for method in ("auto", "percentile")
    )
    said = " ".join(str(Woodruff.__doc__).split())
    assert f"median errors are covered {auto} on the logit scale, by percentiles {percentile}" in said


@on("clusters")
def heavy_differences() -> list[str]:
    column = "coverage, width, below .05, told"
    designs = [
        (x["law"], x[column]["mean_squared_error"]) for x in kept("heavy_differences")["designs"] if x["ratio"] > 1
    ]

    def of(method: str, law: str, place: int = 0) -> list[float]:
        return [found[method][place] for of_law, found in designs if of_law == law]

    said = []
    for method, normal in (("auto", " with normal errors"), ("sign_flip", ""), ("kurtosis_t", "")):
        heavy, heaviest = shares(of(method, "t(3)")), shares(of(method, "lognormal"))
        with_laws = f"{heavy} with t(3) and {heaviest} with lognormal ones"
        said.append(f"{shares(of(method, 'normal'))}{normal}, {with_laws if normal else f'{heavy} and {heaviest}'}")
    widths = [found["auto"][1] / found["sign_flip"][1] for _, found in designs]
    told = [found["auto"][3] for _, found in designs if found["auto"][0] < 0.85]
    return [
        *said,
        f"at {min(widths):.2f} to {max(widths):.2f} times the width",
        f"finds the difference in {percents(of('kurtosis_t', 'lognormal', 2))} of the lognormal data sets",
        f"`sign_flip` in {percents(of('sign_flip', 'lognormal', 2))}",
        f"they are below .85 the result says in {percents(told)} that a few clusters decide",
    ]


@on("clusters")
def verdicts_on_equal_models() -> list[str]:
    rows = [x for x in kept("compare_errors")["rows"] if "clusters" in x["kind"]]
    assert {x["replications"] for x in rows} == {1000}
    most: dict[str, float] = {}
    for one in (x["auto"] for x in rows):
        most[one["method"]] = max(100 * one["error"], most.get(one["method"], 0.0))
    tango, smooth, flips, few = (f"{most.pop(name):.1f}%" for name in ("tango_cluster", "kurtosis_t", "sign_flip", "t"))
    assert not most
    return [
        f"at most {100 * max(x['auto']['error'] for x in rows):.0f}% of 1,000 data sets with 5 to 40 clusters",
        f"`tango_cluster` {tango} of accuracies, `kurtosis_t` {smooth} of balanced accuracies",
        f"`sign_flip` {flips} and `t` of five clusters {few} of mean absolute errors",
        f"where the percentile bootstrap reaches {100 * max(x['percentile']['error'] for x in rows):.0f}%",
    ]


# --- other pages -----------------------------------------------------------------------------------


@on("training_runs")
def how_many_runs() -> list[str]:
    return [
        f"`jaxci.minimum_sample_size(0.1)` is {jaxci.minimum_sample_size(0.1)} runs, "
        f"`jaxci.plan_quantile(0.1, width=0.15)` says {jaxci.plan_quantile(0.1, width=0.15).n}."
    ]


@on("training_runs")
def bounds_of_quantiles() -> list[str]:
    rows = kept("quantile_bounds")["rows"]
    gains = [100 * (x["transform_coverage"] - x["clip_coverage"]) for x in rows]
    outside = max(x["leaves_range"] for x in rows)
    narrower = max(1 - x["transform_width"] / x["clip_width"] for x in rows)
    return [
        f"up to {100 * outside:.0f}% of the semiparametric intervals of a design leave [0, 1]",
        f"up to {100 * narrower:.0f}% narrower, but they cover up to {-min(gains):.1f} points less next to the bound, "
        f"and up to {max(gains):.1f} points more away from it",
    ]


WAYS_OF_BOARDS = ("bootstrap", "stationary")


@on("leaderboards")
def how_often_a_board_holds() -> list[str]:
    every = kept("leaderboards")["rows"]
    rows = [x for x in every if x["slope"] == 0]
    of_rows, of_blocks = (next(x for x in every if x["slope"] and x["resampling"] == how) for how in WAYS_OF_BOARDS)

    def held(what: str) -> str:
        return percents((x[what] for x in rows), 1)

    def one(x: dict[str, Any]) -> str:
        told, intervals, differences = (f"{100 * x[what]:g}%" for what in ("told_apart", "intervals", "differences"))
        return f"told apart in {told}, all intervals hold in {intervals} and all differences in {differences}"

    assert {x["ranks"] for x in rows} == {1.0}
    return [
        f"equal models are {one(of_blocks)}; of rows one by one they are {one(of_rows)}.",
        f"All ten simultaneous intervals held in {held('intervals')}, all 45 differences in {held('differences')}, "
        f"all sets of ranks in every data set; any two equal models were told apart in {held('told_apart')}; "
        f"and all five were in the confidence set in {held('confidence_set')}",
    ]


@on("choose")
def metrics_of_many_classes() -> list[str]:
    def covered(method: str, *rows: int) -> str:
        designs = [x for x in kept("many_classes")["designs"] if x["rows"] in rows and x["classes"] <= 100]
        found = [one[method][0] for x in designs for one in x["coverage, width, warned"].values()]
        return f"{min(found):.3f} to {max(found):.3f}".replace("0.", ".")

    few = covered("auto", 5)
    large = [x["coverage, width, warned"] for x in kept("many_classes")["designs"] if x["classes"] > 100]
    means = [100 * found["auto"][0] for x in large for metric, found in x.items() if metric != "matthews_corrcoef"]
    assert f"covered {min(means):.0f}% to {max(means):.0f}% in simulations of 400 classes" in WITHOUT_DRAWS
    other = [x["matthews_corrcoef"]["auto"][0] for x in large]
    assert IN_MANY_CLASSES.startswith(f"covered {100 * float(few[:4]):.0f}% to {100 * float(few[-4:]):.0f}% in")
    return [
        f"`bca`, which covers {covered('auto', 10, 20)} in simulations of 15 to 100 equally frequent classes of 10 or "
        "20 rows",
        f"({few} of 5 rows)",
        f"shifts a mean over many, {covered('proper_bayesian', 10, 20)}",
        f"means over 400 classes of 5 to 50 rows were covered {min(means):.0f}% to {max(means):.0f}%, "
        f"Matthews correlations {100 * min(other):.0f}% to {100 * max(other):.0f}%",
    ]


@on("choose")
def explained_variances_of_heavy_targets() -> list[str]:
    designs = [x for x in kept("heavy_targets")["designs"] if x["targets"] != "normal"]
    held = [one for x in designs for one in x["coverage, width over the needed, warned"].values()]
    auto, percentile = ([one[method][0] for one in held] for method in ("auto", "percentile"))
    assert f"covered {100 * min(auto):.0f}% to {100 * max(auto):.0f}% in simulations" in OF_HEAVY_TARGETS
    widest = max(one["auto"][1] for one in held)
    return [
        f"{min(auto):.2f} to {max(auto):.2f}, at most {widest:.1f} times as wide as needed",
        f"`percentile`: {min(percentile):.2f} to {max(percentile):.2f}",
    ]


@on("choose")
def equal_models_that_tango_tells_apart() -> list[str]:
    """By the law of the rows that differ, and of these which model they favour."""

    def told_apart(level: float, n: int, *, one_sided: bool) -> float:
        step = stats.norm.isf((1 - level) / (1 if one_sided else 2))
        rejected = [0.0]
        for differ in range(1, n + 1):
            ahead = (2 * np.arange(differ + 1) - differ) / np.sqrt(differ)
            far = ahead > step if one_sided else np.abs(ahead) > step
            rejected.append(float(stats.binom.pmf(np.flatnonzero(far), differ, 0.5).sum()))
        shares = np.linspace(0.005, 1, 400)[:, None]
        return float(np.max(stats.binom.pmf(np.arange(n + 1), n, shares) @ rejected))

    said = []
    for one_sided in (False, True):
        worst = [max(told_apart(level, n, one_sided=one_sided) for n in (30, 100, 300)) for level in (0.95, 0.9, 0.8)]
        said.append([f"{100 * worst[0]:.1f}%", *(f"{100 * x:.0f}%" for x in worst[1:])])
    (a, b, c), (d, e, f) = said
    return [f"in at most {a} at 95%, {b} at 90% and {c} at 80%, one-sided {d}, {e} and {f} (30 to 300 rows, exactly)"]


@on("choose")
def regressions_that_fail_on_few_rows() -> list[str]:
    found = {
        (design["law"], design["n"]): {m: 100 * one["auto"][0] for m, one in design[HELD_AND_TOLD].items()}
        for design in kept("failing_rows")["designs"]
    }
    moments = ("root_mean_squared_error", "r2", "pearsonr")
    two = moments[:2]

    def among(law: str, n: int, metrics: tuple[str, ...] = moments) -> str:
        held = [found[law, n][metric] for metric in metrics]
        return f"{min(held):.0f}% to {max(held):.0f}%"

    few, targets = "one in twenty fails", "in proportion to skewed targets"
    both = [min(found[law, n][m] for law in (few, targets) for m in moments) for n in (20, 50)]
    most = [max(found[law, n][m] for law in (few, targets) for m in moments) for n in (20, 50)]
    assert f"{both[0]:.0f}% to {most[0]:.0f}% of 20 rows and {both[1]:.0f}% to {most[1]:.0f}% of 50" in FEW_FAIL
    alone = {m: [f"{found[few, n][m]:.0f}%" for n in (20, 50, 200)] for m in ("mean_absolute_error", "spearmanr")}
    said = {m: f"{a}, {b} and {c}" for m, (a, b, c) in alone.items()}
    return [
        f"in {among(few, 20)} of samples of 20, {among(few, 50)} of 50 and {among(few, 200)} of 200",
        f"of mean absolute errors in {said['mean_absolute_error']}; of rank correlations in {said['spearmanr']}",
        f"in {among(targets, 20, two)}, {among(targets, 50, two)} and {among(targets, 200, two)}",
    ]


@on("choose")
def clusters_in_strata_compared() -> list[str]:
    rows = [
        row
        for design in kept("clusters_in_strata")["designs"]
        for row in design["coverage, width, width / 3.92 sd"].values()
    ]
    covered = ([100 * row[name][0] for row in rows] for name in ("auto", "expanded_percentile"))
    auto, drawn = (f"{min(of):.1f}% to {max(of):.1f}%" for of in covered)
    return [f"in strata covered {auto}, paired resamples {drawn}"]


@on("choose")
def areas_of_classes_compared() -> list[str]:
    kept_run = kept("class_area_differences")
    covered: dict[str, list[float]] = {"auto": [], "seen": []}
    rejected = []
    for design in kept_run["designs"]:
        for rows in design["coverage, width, below .05, width / 3.92 sd"].values():
            for name, of in covered.items():
                of.append(100 * rows[name][0])
            if design["areas"][0] == design["areas"][1]:
                rejected.append(100 * rows["auto"][2])
    return [
        f"were covered {min(covered['auto']):.1f}% or more in simulations of {kept_run['sets']} data sets each",
        f"equal models told apart in {max(rejected):.1f}% or less; without the end that allows for rows that were not "
        f"seen {min(covered['seen']):.1f}% or more",
    ]


@on("choose")
def average_precisions_of_classes_compared() -> list[str]:
    found: dict[str, list[float]] = {"auto": [], "adjusted_wald": []}
    alike: dict[str, list[float]] = {"auto": [], "adjusted_wald": []}
    kept_run = kept("class_precision_differences")
    for design in kept_run["designs"]:
        for rows in design["coverage, width, below .05, width / 3.92 sd"].values():
            for method, (covered, _, _, width) in rows.items():
                found[method].append(100 * covered)
                if design["common"] > 0.9:
                    alike[method].append(width)
    assert min(found["auto"]) == min(found["adjusted_wald"])
    return [
        f"were covered {min(found['auto']):.1f}% or more in simulations of {kept_run['sets']} data sets each",
        f"{np.median(alike['auto']):.1f} times as wide as needed in the median (`adjusted_wald`: "
        f"{np.median(alike['adjusted_wald']):.1f})",
    ]


@on("findings")
def interval_of_a_classifier() -> list[str]:
    found = {x["method"]: f"{100 * x['coverage']:.1f}%" for x in kept("classifier_ci_1000")["rows"]}
    return [
        f"test-set normal {found['normal']}, test-set bootstrap {found['test_bootstrap']}, "
        f"out-of-bag t {found['oob_t']}, out-of-bag percentile {found['oob_percentile']}",
        f'The published ".632" interval covers {found["bootstrap_632_reversed"]} here',
        f"With the weights the right way round it covers {found['bootstrap_632_swapped']}",
    ]


@on("findings")
def what_was_not_seen() -> list[str]:
    law = {"law": "2 classes, .1 / .95 / .995", "n": 100}
    (percentile,), (bayes,) = (of_card("balanced_accuracy", x, **law) for x in ("percentile", "proper_bayesian"))
    return [
        f"balanced accuracy holds the truth in {100 * percentile:.0f}% of data sets",
        f"holds it in {100 * bayes:.0f}%",
    ]


@on("generalization")
def metrics_of_learners() -> list[str]:
    designs = kept("metrics_of_learners")["designs"]
    rows = [
        (one["apart"] >= 3.5 and name in ("roc_auc", "average_precision"), found["plain"][0], found["auto"][0])
        for one in designs
        for name, found in one["coverage, mean width, told"].items()
    ]
    every, good = ([shares(row[k] for row in some) for k in (1, 2)] for some in (rows, [r for r in rows if r[0]]))
    return [f"plain ends covered {every[0]}, those {every[1]}", f"{good[0]} and {good[1]}"]


@on("weights")
def weighted_differences() -> list[str]:
    found = [
        one["auto"]
        for design in kept("weighted_differences")["designs"]
        if design["uneven"] > 0
        for one in design["above, below, mean width, told"].values()
    ]
    above, below = ([f"{100 * end(one[k] for one in found):.1f}" for end in (min, max)] for k in (0, 1))
    return [f"in {above[0]} to {above[1]}%, and below it in {below[0]} to {below[1]}%"]


@on("leaderboards")
def optimality_gaps() -> list[str]:
    held: dict[str, list[float]] = {"told": [], "untold": []}
    for one in kept("optimality_gaps")["designs"]:
        for which, found in one["coverage, mean width over the gap, told"]["optimality_gap"].items():
            held[which].append(found[0])
    assert percents(held["told"]).replace(" to", "% to") + " in simulations" == OF_FEW_GAPS
    return [f"covered {percents(held['untold'])}".replace("%", ""), f"where fewer are {percents(held['told'])}"]


def of_runs(law: str, name: str, verb: str, tasks: int = 0) -> dict[int, list[tuple[float, ...]]]:
    """Coverage, width and share of remarks by number of runs, of one number of tasks or (0) of several."""
    found: dict[int, list[tuple[float, ...]]] = {}
    for one in kept("training_runs")["designs"]:
        if one["law"] == law and (one["tasks"] == tasks if tasks else one["tasks"] > 1):
            found.setdefault(one["runs"], []).append(one["coverage, mean width, told"][name][verb])
    return found


@on("training_runs")
def means_of_runs() -> list[str]:
    def covered(law: str, verb: str = "runs_interval") -> dict[int, float]:
        return {runs: 100 * row[0] for runs, (row,) in of_runs(law, "mean", verb, 1).items()}

    def many(verb: str) -> str:
        held = [x for runs, x in covered("lognormal", verb).items() if runs >= 10]
        return f"{min(held):.0f} to {max(held):.0f}%"

    five = {law: covered(law)[5] for law in ("normal", "beta(8,2)", "lognormal", "failing")}
    assert f"lognormal ones it covers {five['lognormal']:.0f}%" in str(jaxci.runs_interval.__doc__)
    assert f"comes to a bad score {five['failing']:.0f}%" in str(jaxci.runs_interval.__doc__)
    for law in five:
        assert all(covered(law)[runs] == covered(law, "interval")[runs] for runs in (3, 5))
    fail = covered("failing")
    assert all(abs(fail[runs] - covered("failing", "interval")[runs]) < 2 for runs in (3, 5, 10, 20))
    told = {runs: 100 * row[2] for runs, (row,) in of_runs("failing", "mean", "runs_interval", 1).items()}
    return [
        f"Of five runs it covers {five['normal']:.0f}% of normal means, {five['beta(8,2)']:.0f}% of those of a score "
        f"near its end (beta(8, 2)) and {five['lognormal']:.0f}% of those of lognormal runs",
        f"covers {fail[3]:.0f}% of the means of 3 runs, {fail[5]:.0f}% of 5, {fail[10]:.0f}% of 10 and "
        f"{fail[20]:.0f}% of 20",
        f"in {told[3]:.0f}, {told[5]:.0f}, {told[10]:.0f} and {told[20]:.0f}% of these data sets a warning says that",
        f"of 10 to 30 lognormal runs it covers {many('interval')} of the means, Student's {many('runs_interval')}",
    ]


@on("leaderboards")
def aggregates_of_runs() -> list[str]:
    def covered(name: str, *laws: str) -> str:
        return percents(row[0] for law in laws for rows in of_runs(law, name, "leaderboard").values() for row in rows)

    laws = ("normal", "lognormal", "failing")
    means, medians = ([covered(name, law) for law in laws] for name in ("mean", "median"))
    middle = covered("iqm", *laws)
    normal, lognormal, failing = (x.replace(" to", "% to") for x in medians)
    assert OF_MEDIANS.startswith(
        f"{normal} of normal runs in simulations, {lognormal} of lognormal ones and {failing} "
    )
    assert OF_MEDIANS.endswith(f"{middle.replace(' to', '% to')} of all these")
    return [
        f"cover {means[0]} of the means of normal runs, {means[1]} of those of lognormal ones and {means[2]} where 10 "
        "to 30% of the runs of a task fail",
        f"Of medians over tasks they cover {', '.join(medians[:2])} and {medians[2]}",
        f"Of interquartile means they cover {middle} of all these",
    ]


@on("generalization")
def methods_beside_plain_numpy() -> list[str]:
    found = kept("generalization_coverage")

    def covered(method: str, n: int) -> str:
        return percents(x["coverage"] for x in found["rows"] if (x["method"], x["n"]) == (method, n))

    return [
        f"no number of {3 * len(found['rows'])} is further apart than {found['largest_difference']:.1f}",
        f"corrected t covers the risk in {covered('corrected_t', 500)}, "
        f"conservative z in {covered('conservative_z', 500)}, nested CV in {covered('nested_cv', 500)}; "
        f"at n = 100 corrected t only in {covered('corrected_t', 100)}",
    ]


@on("generalization")
def defaults_by_kind_of_data() -> list[str]:
    rows, told = kept("generalization_defaults")["rows"], [f"{len(kept('generalization_defaults')['rows'])} designs"]
    far = [x for x in rows if "deviations apart" in x["law"]]
    least, silent = min(x["coverage"] for x in far), min(x["coverage"] for x in far if x["warned"] <= 0.5)
    middle = share(float(np.median([x["coverage"] for x in far])))
    told += [f"4 deviations apart, 20 and 50% positive, Brier scores and log losses, n = 50 to 1,000 | {middle} | "]
    told += [f"{middle} | {share(least)} (warned of), else {share(silent)} |"]
    skewed = [x for x in rows if "exponential errors" in x["law"]]
    rows = [x for x in rows if x not in skewed]
    least, middle = min(x["coverage"] for x in skewed), float(np.median([x["coverage"] for x in skewed]))
    told += [f"exponential errors (300 data sets each) | {share(middle)} | {share(least)} |"]
    for kind, word in (("linear regression and trees", "errors"), ("5 to 80 groups", "groups")):
        covered = [x["coverage"] for x in rows if word in x["law"]]
        told += [f"| {share(float(np.median(covered)))} | {share(min(covered))} |"]
        assert kind in text("generalization")
    return told


@on("generalization")
def differences_of_equally_good_learners() -> list[str]:
    found, told, ratios = kept("compare_learners"), [], []
    of = operator.itemgetter("learners", "learner", "law", "loss")
    for (learners, learner, law, loss), designs in itertools.groupby(found["designs"], of):
        rows = [(x["n"], *x["coverage, width"][loss].values()) for x in designs]
        n, default, other = zip(*rows, strict=True)
        held = [", ".join(share(coverage) for coverage, _ in one) for one in (default, other)]
        if learners == 2:
            told.append(f"| {learner} | {law}, {loss} | {', '.join(map(str, n))} | {held[1]} | {held[0]} |")
            ratios += [wide / narrow for (_, wide), (_, narrow) in zip(default, other, strict=True)]
        else:
            below, above = (text.replace(", ", " and ") for text in held)
            told.append(f"was held in {below} (n = {' and '.join(map(str, n))}; `cv=25` {above}, at 1.2 times")
    sets = f"({found['sets']} data sets a design, `benchmarks/compare_learners.py`)"
    return [sets, *told, f"at {np.median(ratios):.1f} times the width"]


@on("curves")
def how_often_bands_of_curves_hold() -> list[str]:
    found, told = kept("curve_coverage"), []
    titles = {"roc": "ROC", "precision_recall": "precision-recall"}
    for x in found["designs"]:
        kind = titles.get(x["kind"], x["kind"])
        kind = f"difference of {kind}, equal models" if x["models"] == 2 else kind
        kind += f", {x['n'] // 10} clusters" if x["clustered"] else f", {x['weights']} weights" if x["weights"] else ""
        (curve, *others) = (one["95%"][0] for one in x["coverage, width, warned"].values())
        numbers = [f"{x[name]:g}".removeprefix("0") for name in ("share", "area")]
        between = shares(others) if share(min(others)) != share(max(others)) else share(min(others))
        told.append(f"| {kind} | {x['n']}, {' | '.join(numbers)} | {share(curve)} | {between} |")
    return [f"{found['sets']} data sets of binormal scores each", *told]


@on("curves")
def bands_beside_another_library() -> list[str]:
    rows = kept("curves_beside_rocci")["rows"]
    told = []
    for ours, other in itertools.pairwise(rows):
        if (ours["library"], other["library"]) == ("jaxci", "rocci"):
            cells = [f"{share(x['held'], 3)}, {share(x['height'])}" for x in (ours, other)]
            numbers = [f"{ours[name]:g}".removeprefix("0") for name in ("share", "area")]
            design = f"{ours['n']:,}, {' | '.join(numbers)}"
            told.append(f"| {design} | {cells[0]} | {cells[1]} |")
    assert len(told) == len(rows) / 2
    return told


@on("devices")
def time_of_cells() -> list[str]:
    found = kept("device_h200_2026-11-28")
    whole = [row["seconds"] for row in found["rows"] if row["stage"] == "whole cell"]
    page = (ROOT / "docs" / "devices.md").read_text().split("| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert [line.split("| ")[-1] for line in page] == [f"{1e3 * seconds:.0f} |" for seconds in whole]
    return [f"{found['R']:,} data sets of {found['rows'][0]['n']} rows, {found['B']:,} resamples"]


@on("time")
def series_that_are_smooth() -> list[str]:
    results = kept("smooth_rows")
    every = [x["coverage, width, told"]["mean"] for x in results["designs"]]
    found = [x for x in every if x["auto"][2] == 1]
    auto, plain = (shares(x[method][0] for x in found) for method in ("auto", "percentile"))
    assert auto.replace(" to ", "% to ").replace(".", "") + "%" in drawing.STEEP
    return [
        f"({results['sets']} data sets a design, `benchmarks/results/smooth_rows.json`)",
        f"coverages of means of {auto} by default, and {plain} of percentiles",
    ]


@on("time")
def seasons_that_stay_and_that_change() -> list[str]:
    results = kept("fixed_seasons")
    found = [
        (x["kind"] == "changes", *x["coverage, mean width, median width, needed"]["mean"]["auto"])
        for x in results["designs"]
    ]
    stays, changes = ([x for x in found if x[0] == kind] for kind in (False, True))
    least, most = (f(x[3] / x[4] for x in stays) for f in (min, max))
    return [
        f"`auto` covered {shares(x[1] for x in stays)} of means",
        f"the median interval was {least:.1f} to {most:.1f} times as wide as was needed",
        f"the mean one {max(x[2] / x[4] for x in stays):.1f} times at most",
        f"Means of seasons that change were covered {shares(x[1] for x in changes)}",
        f"`python benchmarks/fixed_seasons.py`, {results['sets']} data sets a design of 120 to 4,000 rows",
    ]


@on("masks")
def time_of_masks() -> list[str]:
    found = kept("masks")["surfaces"]
    each = {name: x["cpu seconds"] / x["pairs"] for name, x in found.items()}
    all_of_them = found["elements"]
    return [
        f"{all_of_them['pairs']} pairs took {all_of_them['cpu seconds']:.0f} s of processor time",
        f"and {all_of_them['seconds']:.0f} s of waiting",
        f"{each['voxels']:.2f} s of processor time a pair",
        f"({each['faces']:.1f} s)",
        f"a pair took {each['elements, --full']:.1f} s of processor time",
    ]


@on("sharp_edges")
def rows_that_belong_together() -> list[str]:
    design = {"share": 0.8, "correlation": 0.3, "clusters": 10, "sizes": "even"}
    (row,) = (x for x in kept("cluster_coverage")["rows"] if design.items() <= x.items())
    rows, clusters = (
        share(row[name]["coverage"])
        for name in (
            "wilson, rows taken for independent",
            "wilson_cluster, jackknife, Satterthwaite, working correlation 1",
        )
    )
    return [f"is covered {rows} by `wilson`, {clusters} by `wilson_cluster`"]


@on("findings")
@on("generalization")
def replaced_one() -> list[str]:
    first, second = kept("replace_one_constant")["rows"]
    original, corrected = ((share(first[name]), share(second[name])) for name in ("original", "corrected"))
    wide = f"{original[0]} and {original[1]} times the true standard deviation at n = {first['n']} and {second['n']:,}"
    return [f"{wide}, the corrected {corrected[0]} and {corrected[1]}"]


# --- rows in the order of time ---------------------------------------------------------------------

WAYS = ("rows", "blocks, percentile", "blocks, auto")


def of_time() -> dict[tuple[str, int, float, int], dict[str, float]]:
    rows = (row for row in kept("dependent_rows") if row["law"] == "autoregression")
    return {(row["statistic"], row["n"], row["slope"], row["lag"]): row for row in rows}


@on("time")
def autoregressions() -> list[str]:
    found, names = of_time(), ("mean", "median", "accuracy of 68%", "accuracy of 95%", "area")

    def cells(n: int, slope: float) -> str:
        of_ways = ([share(found[name, n, slope, 1][f"coverage, {way}"]) for way in WAYS] for name in names)
        return " | ".join(", ".join(one) for one in of_ways)

    both = itertools.product((100, 400, 1600), (0.0, 0.3, 0.6, 0.9))
    return [f"| {share(slope, 1) if slope else 0} | {cells(n, slope)} |" for n, slope in both]


@on("time")
def good_models_and_rare_classes() -> list[str]:
    found = of_time()
    metrics = {
        "roc_auc": "area under the curve",
        "average_precision": "average precision",
        "balanced_accuracy": "balanced accuracy",
        "matthews_corrcoef": "Matthews correlation",
        "brier_score_loss": "Brier score",
    }
    kinds = {"": "good model", ", rare": "10% positives", ", good, rare": "good model, 10% positives"}
    same = {f"{one} of two models": f"two equal models: {metrics[one]}" for one in [*metrics][:3]}
    same["roc_auc of unequal models"] = f"areas .986 and .967: {metrics['roc_auc']}"

    def line(name: str, first: str, second: str) -> str:
        def cell(n: int) -> str:
            rows = [found[name, n, slope, 1] for slope in (0.0, 0.6, 0.9)]
            return "; ".join(shares(row[f"coverage, {way}"] for row in rows) for way in WAYS[1:])

        return f"| {first} | {second} | {cell(30)} | {cell(100)} | {cell(400)} |"

    single = [line(f"{one}{kind}", metrics[one], kinds[kind]) for one in metrics for kind in kinds]
    pairs = {"": "good models", ", rare": "good models, 10% positives"}
    both = [line(f"{one}{kind}", same[one], pairs[kind]) for one in same for kind in pairs]
    return single + both


@on("time")
def calibration_errors_in_time() -> list[str]:
    found, balanced, resampled = (
        calibration("time"),
        calibration("time", models=COMMON[:2]),
        calibration("time", "block_t"),
    )
    designs = [x for x in kept("calibration_errors")["designs"] if x["kind"] == "time"]
    every = [x["coverage, width, told"][CALIBRATION]["auto"] for x in designs]
    assert min(told for coverage, _, told in every if coverage < 0.93) == 1
    return [
        f"in {len(found)} designs of {min(x['rows'] for x in designs)} to {max(x['rows'] for x in designs):,} rows",
        f"`block_gaps` covered {shares(found)}, of models of balanced classes {shares(balanced)}, least of "
        f"classes of 1% (`block_t`, of {len(resampled)} designs without those, {shares(resampled)})",
    ]


@on("time")
def weekdays() -> list[str]:
    found = of_time()
    said = []
    for slope in (0.5, 0.8):
        auto, percentile = (
            ", ".join(share(found["mean", n, slope, 7][f"coverage, blocks, {way}"]) for n in (100, 400, 1600))
            for way in ("auto", "percentile")
        )
        said.append(f"covered {auto} by `auto` and {percentile} by percentiles of blocks")
    return said


@on("time")
def harder_to_tell() -> list[str]:
    found = {
        (row["law"], row["slope"], row["statistic"], row["n"]): [share(row[f"coverage, {way}"]) for way in WAYS[1:]]
        for row in kept("dependent_rows")
    }
    laws = {
        ("below noise", 0.95): "slope .95, below noise",
        ("autoregression", 0.9): "slope .9",
        ("autoregression", 0.97): "slope .97",
        ("garch", 0.95): "spells of large errors",
        ("cycle", 0.95): "cycles of about 12 rows",
    }
    names = {
        "mean": "mean",
        "median": "median",
        "accuracy of 80%": "share of 80%",
        "area": "area under the curve",
        "std": "standard deviation",
        "mean_squared_error": "mean squared error",
        "90% quantile": "90% quantile",
        "mean_squared_error of two models": "mean squared errors of two models",
    }

    def line(law: tuple[str, float], name: str) -> str:
        cells = ["; ".join(found[*law, name, n]) if (*law, name, n) in found else "" for n in (30, 100, 500, 2000)]
        return " ".join(f"| {laws[law]} | {names[name]} | {' | '.join(cells)} |".split())

    lines = [line(law, name) for law in laws for name in names if (*law, name, 500) in found]
    slow = [found["below noise", 0.99, name, 8000] for name in ("mean", "accuracy of 80%")]
    by_auto, by_percentiles = (" and ".join(both) for both in zip(*(one[::-1] for one in slow), strict=True))
    return [*lines, f"covered {by_auto} by `auto`, and {by_percentiles} by percentiles of blocks"]


def text(page: str) -> str:
    return " ".join((ROOT / "docs" / f"{page}.md").read_text().split())


@pytest.mark.parametrize(("page", "said"), CHECKS)
def test_the_page_says_what_was_found(page, said):
    phrases = said()
    assert phrases
    assert [phrase for phrase in phrases if phrase not in text(page)] == []


def test_remarks_on_few_blocks_tell_what_was_found():
    def among(row: dict[str, Any], few: int, way: str) -> bool:
        """Tell by what data sets were told, where that is kept; elsewhere blocks count as n^(1/3) rows, or as ten."""
        if told := row.get(f"told, {way}"):
            return told.get(str(few), 0) >= 0.25
        if row["n"] == 1600:
            return few == 200
        return few == (20 if row["n"] == 30 or (row["n"] == 100 and row["slope"] == 0.9) else 60)

    def of_few(few: int, way: str, *, shares: bool | None) -> str:
        held = [
            row[f"coverage, {way}"]
            for row in kept("dependent_rows")
            if row["lag"] == 1 and among(row, few, way) and shares in (None, row["statistic"].startswith("accuracy"))
        ]
        return percents(held).replace(" to ", "% to ")

    assert {few: of_few(few, "blocks, percentile", shares=None) for few in drawing.FEW_BLOCKS} == drawing.FEW_BLOCKS
    stretched = drawing.FEW_BLOCKS_STRETCHED
    assert {few: of_few(few, "blocks, auto", shares=False) for few in stretched} == stretched
    of_shares = drawing.FEW_BLOCKS_OF_SHARES
    assert {few: of_few(few, "blocks, auto", shares=True) for few in of_shares} == of_shares
    steep = [row for row in kept("dependent_rows") if row.get("told, blocks, auto", {}).get("closely", 0) >= 0.25]
    assert "81% to 93%" in drawing.STEEP
    assert all(0.81 <= row["coverage, blocks, auto"] <= 0.93 for row in steep)
