"""Log losses and Brier scores of rows none of which is wrong by its scores, by the verb's own default."""

import warnings

import numpy as np
import pytest
from scipy import stats

import jaxci

METRICS = ["log_loss", "brier_score_loss"]
N, EXPECTED, SETS, LEAST = 100, 2.5, 40, 0.9
WHY = "no row is wrong by its scores, which has a chance of 5% where three are expected to be"


def scored(wrong, k, rng, sure=50):
    """Return labels (n,) and scores (n, k) of rows that are ``wrong`` (n,) as surely as others are right."""
    y = rng.integers(k, size=len(wrong))
    guess = np.where(wrong, (y + rng.integers(1, k, size=len(wrong))) % k, y)
    best = np.minimum(1 / k + (1 - 1 / k) * rng.beta(sure, 1, size=len(wrong)), 1 - 1e-7)
    scores = np.repeat((1 - best)[:, None] / (k - 1), k, axis=1)
    scores[np.arange(len(wrong)), guess] = best
    return y, scores


def intervals(y, scores, **options):
    with warnings.catch_warnings(action="ignore", category=jaxci.JaxciWarning):
        table = jaxci.evaluate(
            y, y_score=scores, metrics=METRICS, labels=list(range(scores.shape[1])), n_resamples=999, **options
        )
    return {row.statistic: row for row in table}


@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("k", [2, 4])
def test_samples_without_errors_allow_for_as_many_as_their_number_leaves_open(k, false_alarm):
    rng = np.random.default_rng(3)
    y, scores = scored(rng.random(400_000) < EXPECTED / N, k, rng)
    brier = ((scores - np.eye(k)[y]) ** 2).sum(axis=1) / (2 if k == 2 else 1)
    true = dict(zip(METRICS, (-np.log(scores[np.arange(len(y)), y]).mean(), brier.mean()), strict=True))
    held, narrow = dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0)
    for number in range(SETS):
        y, scores = scored(np.zeros(N, bool), k, rng)
        for name, row in intervals(y, scores, rng=number).items():
            assert row.reason.startswith(WHY)
            held[name] += row.confidence_interval.low <= true[name] <= row.confidence_interval.high
        for name, row in intervals(y, scores, rng=number, method="proper_bayesian").items():
            narrow[name] += row.confidence_interval.high >= true[name]
    for name in METRICS:
        assert stats.binom.cdf(held[name], SETS, LEAST) > false_alarm, (name, held)
        assert narrow[name] < held[name] / 2


@pytest.mark.parametrize("wrong", [1, 2])
def test_one_wrong_row_is_judged_by_cards(wrong):
    rng = np.random.default_rng(4)
    for row in intervals(*scored(np.arange(N) < wrong, 2, rng), rng=0).values():
        assert "no row is wrong" not in row.reason
        assert row.method.label != "proper_bayesian(mass=0.75)"


def test_accumulators_and_groups_of_one_row_agree():
    rng = np.random.default_rng(5)
    y, scores = scored(np.zeros(N, bool), 2, rng)
    whole = intervals(y, scores, rng=0)
    counted = jaxci.Accumulator(METRICS, rng=0, n_resamples=999)
    for part in np.array_split(np.arange(N), 3):
        counted.update(y[part], y_score=scores[part])
    for row in counted.finalize():
        assert row.method.label == whole[row.statistic].method.label
        assert row.reason == whole[row.statistic].reason
    clusters = intervals(y, scores, groups=np.arange(N) // 5, rng=0)
    assert all("no row is wrong" not in row.reason for row in clusters.values())
