"""Means of losses, standard deviations and metrics of labels of rows that weigh unlike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jaxci
from jaxci.inference.choice_of_weights import WEIGHED_BY_VALUE, WEIGHTED_CLUSTERS, WEIGHTED_DEVIATIONS
from jaxci.intervals.kurtosis import KurtosisT

ROOT = Path(__file__).resolve().parents[2]
ON_LOG = KurtosisT(scale="log")
ERRORS = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error")


def two_sites(n, seed=0, light=True):
    """Return errors (n,), ten times as large in one of two sites, and weights, of which that site has few or many."""
    rng = np.random.default_rng(seed)
    noisy = rng.random(n) < 0.5
    return np.where(noisy, 10.0, 1.0) * rng.normal(size=n), np.where(noisy == light, 0.1, 1.9)


@pytest.mark.parametrize("metric", ERRORS)
@pytest.mark.parametrize("layout", ["rows", "strata", "groups"])
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_errors_with_which_weights_fall_are_judged_by_what_each_row_contributes(metric, layout):
    errors, weights = two_sites(200)
    given = {"rows": {}, "strata": {"strata": np.arange(200) % 4}, "groups": {"groups": np.arange(200) // 4}}[layout]
    found = jaxci.interval(metric, np.zeros(200), errors, sample_weight=weights, rng=0, **given)
    assert found.method == ON_LOG
    assert "weights go with the values" in found.reason
    drawn = jaxci.interval(metric, np.zeros(200), errors, sample_weight=weights, method="percentile", rng=0, **given)
    assert 0.8 < np.ptp(found.confidence_interval) / np.ptp(drawn.confidence_interval) < 1.5
    assert WEIGHED_BY_VALUE not in found.warnings


@pytest.mark.parametrize("metric", ERRORS)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_errors_with_which_weights_rise_are_told(metric):
    errors, weights = two_sites(200, light=False)
    found = jaxci.interval(metric, np.zeros(200), errors, sample_weight=weights, rng=0)
    assert found.method == "proper_bayesian"
    assert WEIGHED_BY_VALUE in found.warnings


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("statistic", ["std", "mean_absolute_error"])
def test_few_rows_in_effect_are_not_judged_by_what_each_contributes(statistic):
    rng = np.random.default_rng(0)
    errors, weights = np.sort(rng.exponential(size=40))[::-1], np.r_[1e-3 + 1e-4 * np.arange(39), 10.0]
    data = (errors,) if statistic == "std" else (np.zeros(40), errors)
    found = jaxci.interval(statistic, *data, sample_weight=weights, n_resamples=999, rng=0)
    assert found.method == ("percentile" if statistic == "std" else "proper_bayesian")


def test_errors_of_which_weights_tell_nothing_are_judged_as_before():
    errors, weights = two_sites(200)
    mixed = np.random.default_rng(1).permutation(weights)
    assert jaxci.interval("mean_absolute_error", np.zeros(200), errors, sample_weight=mixed).method == "proper_bayesian"


def test_values_below_zero_are_judged_on_their_own_scale():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    found = jaxci.interval("mean", x, sample_weight=np.exp(x))
    assert found.method == KurtosisT()


@pytest.mark.parametrize("statistic", ["std", "var"])
@pytest.mark.parametrize("strata", [None, np.arange(60) % 3])
def test_deviations_of_weighted_rows_say_how_often_their_intervals_held(statistic, strata):
    rng = np.random.default_rng(0)
    x, weights = rng.exponential(size=60), rng.gamma(2.0, size=60)
    with pytest.warns(jaxci.JaxciWarning, match="standard deviations of weighted rows"):
        found = jaxci.interval(statistic, x, sample_weight=weights, strata=strata)
    assert found.method == ON_LOG
    assert WEIGHTED_DEVIATIONS in found.warnings


@pytest.mark.statistical
@pytest.mark.false_alarm(3e-7)
@pytest.mark.parametrize(
    ("statistic", "least"),
    [("std", 240), ("mean_absolute_error", 261), ("root_mean_squared_error", 261)],
)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_intervals_of_weighted_values_hold(statistic, least):
    """Of 300 data sets as many are held by true coverages of 95%, and 89% of deviations, but for a chance of 1e-7."""
    if statistic == "std":
        truth = 1.0
    else:
        truth = np.sqrt(2 / np.pi) * 1.45 if statistic == "mean_absolute_error" else np.sqrt(0.05 * 100 + 0.95)
    n, held, width = 100, 0, 0.0
    for seed in range(300):
        if statistic == "std":
            rng = np.random.default_rng(seed)
            data, weights = (rng.exponential(size=n),), np.where(rng.random(n) < 0.3, 3.0, 1.0)
        else:
            errors, weights = two_sites(n, seed)
            data = np.zeros(n), errors
        low, high = jaxci.interval(statistic, *data, sample_weight=weights, rng=0).confidence_interval
        held += low <= truth <= high
        width += (high - low) / 300
    assert held >= least
    assert width < truth  # pseudo-rows that weigh what rows do on average: 4 times as wide


@pytest.mark.parametrize("clusters", [8, 24, 120])
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.slow
def test_labels_of_weighted_rows_in_few_clusters_say_how_often_their_intervals_held(clusters):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(clusters), 5)
    y = rng.integers(0, 2, 5 * clusters)
    guess = np.where(rng.random(5 * clusters) < 0.8, y, 1 - y)
    weights = rng.lognormal(0, 0.7, clusters)[group]
    for metric in ("accuracy", "f1", "balanced_accuracy"):
        found = jaxci.interval(metric, y, guess, groups=group, sample_weight=weights, n_resamples=999, rng=0)
        assert (WEIGHTED_CLUSTERS in found.warnings) == (clusters < 100)
        assert WEIGHTED_CLUSTERS not in jaxci.interval(metric, y, guess, groups=group, n_resamples=999, rng=0).warnings


def results(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["designs"]


def span(of, decimals=0):
    unit = "%" if decimals == 0 else ""
    return f"{min(of):.{decimals}f}{unit} to {max(of):.{decimals}f}{unit}"


def test_the_page_says_what_the_benchmark_found():
    page = " ".join((ROOT / "docs" / "weights.md").read_text().split())
    found = [(x, y) for x in results("weighted_values") for y in x["coverage, width over the needed, warned"].values()]
    directions = {"falling": ("large errors weigh less", "falling")}
    directions["rising"] = ("large errors weigh more", "rising", "rising, few rows")
    falling, rising = (
        [y for x, y in found if x["of"] == "errors" and x["weights"] in names] for names in directions.values()
    )
    one, other = (
        [span([100 * y[m][0] for y in falling]), span([y[m][1] for y in falling], 1)]
        for m in ("auto", "proper_bayesian")
    )
    assert f"covered {one[0]} in 30 to 400 rows and were {one[1]} times as wide as needed" in page
    assert f"those of `proper_bayesian` {other[0]} and {other[1]} times" in page
    few = span([100 * y["auto"][0] for y in rising])
    assert f"no method held: {few}" in page
    assert f"covered {few} in simulations" in WEIGHED_BY_VALUE
    deviations = [y for x, y in found if x["of"] == "values"]
    auto, percentile = (span([100 * y[m][0] for y in deviations]) for m in ("auto", "percentile"))
    assert f"weighted rows were covered {auto} (percentile intervals {percentile})" in page
    assert f"covered {auto} in simulations of 30 and 100 rows" in WEIGHTED_DEVIATIONS
    assert all(y["auto"][0] >= 0.91 for x, y in found if x["of"] == "errors" and x["weights"] == "lognormal")


def test_the_remark_on_weighted_clusters_says_what_the_benchmark_found():
    held = [100 * y["auto"][0] for x in results("weighted_clusters") for y in x["coverage, width, told"].values()]
    assert f"covered {span(held)} in simulations of 8 to 60 such clusters" in WEIGHTED_CLUSTERS
