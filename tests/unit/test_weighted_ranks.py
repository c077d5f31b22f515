"""Areas and average precisions of rows weighted by importance: weights that go with the scores are told of."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import jaxci
from jaxci.inference.choice_of_weights import WEIGHED_BY_SCORE
from jaxci.intervals.kurtosis import KurtosisT

ROOT = Path(__file__).resolve().parents[2]
rng = np.random.default_rng(5)
Y = (rng.random(120) < 0.4).astype(int)
SCORE = rng.normal(size=120) + 1.2 * Y
RISING = 0.1 + 1 / (1 + np.exp(-SCORE))


def chosen(weights, metric="roc_auc", score=SCORE, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        found = jaxci.interval(metric, Y, score, sample_weight=weights, n_resamples=99, rng=0, **given)
    return found.method, WEIGHED_BY_SCORE in found.warnings


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("weights", [RISING, 1 / RISING, np.where(Y == 1, RISING, 1.0), np.where(Y == 1, 1.0, RISING)])
def test_ranks_whose_weights_go_with_scores_are_served_by_slopes_with_a_remark(metric, weights):
    """By weights of the rows, and a mean row that was not seen, they covered as little as 77% in simulations."""
    method, told = chosen(weights, metric)
    assert (method, told) == (KurtosisT(scale="logit"), True)
    assert chosen(weights, metric, np.exp(3 * SCORE)) == (method, True)  # the order of the scores is what counts


@pytest.mark.parametrize("weights", [np.random.default_rng(6).lognormal(size=120), np.where(Y == 1, 3.0, 0.5)])
def test_ranks_whose_weights_tell_nothing_of_scores_are_not(weights):
    method, told = chosen(weights)
    assert (method.name, told) == ("proper_bayesian", False)


@pytest.mark.parametrize("weights", [RISING, np.random.default_rng(6).lognormal(size=120)])
def test_strata_keep_random_weights_and_are_told_alike(weights):
    method, told = chosen(weights, strata=np.arange(120) % 3)
    assert (method.name, told) == ("proper_bayesian", weights is RISING)


def test_good_models_allow_for_rows_that_were_not_seen():
    """Where hardly any row is ranked wrongly slopes are nearly 0: of areas of .99 they covered as little as .50."""
    method, told = chosen(0.1 + 1 / (1 + np.exp(-(SCORE + 4 * Y))), score=SCORE + 4 * Y)
    assert (method.name, told) == ("proper_bayesian", True)


def test_the_page_says_what_the_benchmark_found():
    page = " ".join((ROOT / "docs" / "weights.md").read_text().split())
    kept = json.loads((ROOT / "benchmarks" / "results" / "weighted_ranks.json").read_text())["designs"]
    steep = [x for x in kept if not isinstance(x["weights"], str)]
    other = [x for x in kept if isinstance(x["weights"], str)]
    found = {
        name: [one[method] for x in of for one in x["coverage, width over the needed, warned"].values()]
        for name, of, method in (
            ("slopes", steep, "auto"),
            ("before", steep, "proper_bayesian"),
            ("others", other, "auto"),
        )
    }
    said = {name: f"{100 * min(x)[0]:.0f}% to {100 * max(x)[0]:.0f}%" for name, x in found.items()}
    wide = {name: f"{max(y for _, y, _ in x):.1f}" for name, x in found.items()}
    assert f"in {len(steep)} designs of 30 to 1,000 rows" in page
    assert f"covered {said['slopes']} and were at most {wide['slopes']} times as wide as needed" in page
    assert f"those of `proper_bayesian` covered {said['before']} and were up to {wide['before']} times" in page
    assert f"Where weights tell nothing of scores within a class, {said['others']}" in page
    assert said["slopes"] in WEIGHED_BY_SCORE
    assert min(told for _, _, told in found["slopes"]) > 0.99
    assert max(told for _, _, told in found["others"]) < 0.02
