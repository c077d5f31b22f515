"""Statistics of fewer rows than any simulated design has, and of models that few rows tell apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jaxci
from jaxci.inference.choice_by_rules import FEWEST, OF_FEWEST
from jaxci.intervals.kurtosis import KurtosisT

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(3).normal(size=8)
Y = X + np.random.default_rng(4).normal(size=8)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("statistic", ["std", "var", "iqr", "pearsonr", "spearmanr", "r2", "explained_variance"])
def test_few_rows_are_told_how_often_their_intervals_held(statistic, n):
    data = (X[:n],) if statistic in ("std", "var", "iqr") else (Y[:n], X[:n])
    if len(data) == 2 and n == 2:
        return  # two rows have no error
    found = jaxci.interval(statistic, *data, n_resamples=999, rng=0)
    told = [text for text in found.warnings if "rows are fewer" in text]
    assert len(told) == (n < FEWEST and found.method != "bonett")
    assert all(f"of {n} rows covered {OF_FEWEST[n]}" in text for text in told)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("statistic", ["mean", "median", "mean_absolute_error"])
def test_what_is_known_of_few_rows_is_not_doubted(statistic):
    data = (X[:4],) if statistic != "mean_absolute_error" else (Y[:4], X[:4])
    assert not any("rows are fewer" in text for text in jaxci.interval(statistic, *data, rng=0).warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_deviations_of_few_values():
    found = {n: jaxci.interval("std", X[:n], n_resamples=999, rng=0).method for n in (3, 4, 5)}
    assert found == {3: KurtosisT(scale="log"), 4: "studentized", 5: "bonett"}
    for tied in ([3.0, 3.0, 3.0, 4.0], [2.0, 2.0, 3.0, 3.0], [1.0, 1.0, 2.0]):
        assert np.ptp(jaxci.interval("std", tied, n_resamples=999, rng=0).confidence_interval) > 0
    assert jaxci.interval("std", np.ones(4), n_resamples=999, rng=0).confidence_interval == (0.0, 0.0)


def test_the_remark_says_what_the_benchmark_found():
    held = {}
    for design in json.loads((ROOT / "benchmarks" / "results" / "few_rows.json").read_text())["designs"]:
        ((found,),) = (one.values() for one in design["coverage, width, told"].values())
        if found[2]:
            held.setdefault(design["n"], []).append(100 * found[0])
    assert {n: f"{min(x):.0f}% to {max(x):.0f}%" for n, x in held.items()} == OF_FEWEST


@pytest.mark.parametrize(("n", "wrong"), [(4, 4), (30, 4), (30, 5)])
def test_models_that_few_rows_tell_apart_say_what_an_exact_test_finds(n, wrong):
    y = np.arange(n) % 2
    other = np.where(np.arange(n) < wrong, 1 - y, y)
    for one, two, sign in ((y, other, 1), (other, y, -1)):
        exact = f"{2 * 0.5**wrong:.3g}"
        with pytest.warns(jaxci.JaxciWarning, match=f"only {wrong} rows tell .* has p = {exact}"):
            found = jaxci.compare("accuracy", y, one, two)
        assert found.method == "tango"
        assert sign * found.estimate > 0
        assert found.pvalue < 0.05


@pytest.mark.parametrize("wrong", [0, 3, 6, 9])
def test_others_do_not(wrong):
    y = np.arange(30) % 2
    found = jaxci.compare("accuracy", y, y, np.where(np.arange(30) < wrong, 1 - y, y))
    assert not any("tell the models apart" in text for text in found.warnings)
