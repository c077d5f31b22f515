"""Rows of class 0 that no row of class 1 parts are drawn together, which no ranking tells apart."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxci
from jaxci.inference.choice_by_rules import OF_FEW_AMONG_MANY
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.rankings import with_tied_negatives
from jaxci.statistics.sample import Sample

ROOT = Path(__file__).resolve().parents[2]
STATISTICS = [RocAuc(), RocAuc(max_fpr=0.2), AveragePrecision()]


def rare(n: int, positives: int, seed: int = 0, digits: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.zeros(n, np.int32)
    y[rng.choice(n, positives, replace=False)] = 1
    return y, np.round(rng.normal(1.5 * y), digits)


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_a_ranking_does_not_tell_such_rows_apart(statistic, counted, digits):
    y, scores = rare(300, 12, digits=digits)
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=300)
    sample = Sample(y_true=y, y_score=scores, n_classes=2, counts=weights if counted else None)
    rows, counts = with_tied_negatives(sample)
    assert rows.n <= 3 * 12 + 1
    assert np.all(np.diff(rows.y_score) >= 0)
    assert counts.sum() == pytest.approx(weights.sum() if counted else 300)
    whole = weights if counted else np.ones(300)
    with jax.enable_x64(True):
        found, expected = (
            float(statistic.value(statistic.prepare(one), held)) for one, held in ((rows, counts), (sample, whole))
        )
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("method", ["proper_bayesian", "percentile"])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_draws_of_runs_have_the_law_of_draws_of_rows(monkeypatch, metric, method, false_alarm):
    y, scores = rare(1200, 25, seed=2)
    size = 4000

    def drawn() -> np.ndarray:
        found = jaxci.interval(metric, y, scores, method=method, n_resamples=size, rng=5)
        return np.array([*found.confidence_interval, found.standard_error])

    by_runs = drawn()
    monkeypatch.setattr("jaxci.inference.runs.MANY_ROWS", 10**9)
    by_rows = drawn()
    assert np.all(by_runs != by_rows)  # other draws
    error = by_rows[2]
    # a quantile of 4,000 draws at .025 has an error of .042 deviations, a deviation of such draws about .014
    assert np.abs(by_runs - by_rows)[:2].max() < 6 * np.sqrt(2) * 0.042 * error
    assert abs(by_runs[2] / by_rows[2] - 1) < 6 * np.sqrt(2) * 0.014


@pytest.mark.slow
def test_rare_positives_of_very_many_rows_are_resampled_at_once():
    y, scores = rare(200_000, 40, digits=12)
    for method in ("auto", "bca"):
        jaxci.interval("average_precision", y, scores, method=method, rng=0)
        start = time.perf_counter()
        found = jaxci.interval("average_precision", y, scores, method=method, rng=0)
        assert time.perf_counter() - start < 4  # a minute and more where rows are drawn one by one
        assert found.method == ("proper_bayesian" if method == "auto" else method)
        assert found.n_resamples == 9999


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.slow
def test_scores_that_are_counted_are_resampled_as_all_rows_are(monkeypatch):
    y, scores = rare(3000, 20, digits=2)
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", 100)
    monkeypatch.setattr("jaxci.inference.runs.FEWER", 1)
    accumulator = jaxci.Accumulator(["average_precision"], rng=0, max_rows=100)
    for rows in np.array_split(np.arange(3000), 7):
        accumulator.update(y[rows], y_score=scores[rows])
    for method in ("proper_bayesian", "percentile"):
        (expected,) = jaxci.evaluate(
            y, y_score=scores, metrics=["average_precision"], rng=0, n_resamples=999, method=method
        )
        (found,) = accumulator.finalize(method)
        assert found.confidence_interval == expected.confidence_interval
    with pytest.raises(ValueError, match="method 'calibrated' reads resamples of 'average_precision', for which 3,000"):
        accumulator.finalize("calibrated")


@pytest.mark.slow
def test_few_positives_among_many_rows_are_told_of_average_precisions():
    rows = json.loads((ROOT / "benchmarks" / "results" / "rare_positives.json").read_text())["designs"]
    found = [design["coverage, width over needed, told"] for design in rows]
    covered = [one["average_precision"]["auto"][0] for one in found]
    for positives, said in ((30, True), (199, True), (200, False)):
        y, scores = rare(100_000, positives, digits=12)
        with warnings.catch_warnings(action="ignore"):
            row = jaxci.interval("average_precision", y, scores, rng=0)
        assert any(text.endswith(OF_FEW_AMONG_MANY) for text in row.warnings) == said
    assert f"{int(100 * min(covered))}% to {int(100 * max(covered))}%" in OF_FEW_AMONG_MANY
    assert min(one["roc_auc"]["auto"][0] for one in found) > 0.9


@pytest.mark.slow
def test_areas_of_which_few_positives_are_lost_allow_for_what_was_not_seen():
    y = (np.arange(50_000) < 300).astype(int)
    scores = np.random.default_rng(0).normal(size=50_000) + y * np.array([3.9, 1.8])[:, None]
    methods = [jaxci.interval("roc_auc", y, one, rng=0).method for one in scores]
    assert methods == ["proper_bayesian", "delong_logit"]
