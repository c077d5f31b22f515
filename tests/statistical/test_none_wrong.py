"""Samples that show nothing of a kind of rows, by the verb's own default: none wrong, none ranked wrongly."""

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


@pytest.mark.false_alarm(1e-6)
def test_models_that_are_never_wrong_are_covered(false_alarm):
    """Three quarters of a row alone shift the posterior above the estimate, which half of the truths are below."""
    rng, held = np.random.default_rng(10), dict.fromkeys(METRICS, 0)
    y, scores = scored(np.zeros(400_000, bool), 2, rng)
    brier = ((scores - np.eye(2)[y]) ** 2).sum(axis=1) / 2
    true = dict(zip(METRICS, (-np.log(scores[np.arange(len(y)), y]).mean(), brier.mean()), strict=True))
    for number in range(SETS):
        for name, row in intervals(*scored(np.zeros(50, bool), 2, rng), rng=number).items():
            held[name] += row.confidence_interval.low <= true[name] <= row.confidence_interval.high
            assert row.confidence_interval.low <= row.estimate - 1.9 * row.standard_error
    for name in METRICS:
        assert stats.binom.cdf(held[name], SETS, LEAST) > false_alarm, (name, held)


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


def chosen(metric, *data, **options):
    with warnings.catch_warnings(action="ignore", category=jaxci.JaxciWarning):
        return jaxci.interval(metric, *data, n_resamples=999, **options)


@pytest.mark.parametrize("metric", ["roc_auc_ovr", "roc_auc_ovo", "roc_auc_micro", "average_precision_macro"])
@pytest.mark.parametrize("n", [90, 600])
def test_ranks_of_several_classes_that_are_all_right_have_a_width(metric, n):
    rng = np.random.default_rng(6)
    y, scores = scored(np.zeros(n, bool), 3, rng)
    found = chosen(metric, y, scores, rng=0)
    assert found.reason.startswith("no row is ranked wrongly")
    assert found.confidence_interval.high == found.estimate == 1
    assert found.confidence_interval.low < 1 - 0.5 / n


@pytest.mark.parametrize("kind", ["pos", "neg"])
def test_an_area_of_1_allows_for_three_rows_at_the_far_end(kind):
    rng = np.random.default_rng(7)
    y = np.arange(N) % 2
    found = chosen("roc_auc", y, y + rng.random(N), rng=0)
    assert found.reason.startswith("no row is ranked wrongly")
    expected = 2.5 / (N / 2)  # of one class, all of which would be on the wrong side of all others: 1.25 rows of 50
    assert found.confidence_interval.low < 1 - expected / 2
    assert chosen("roc_auc", y, y + rng.random(N), method="proper_bayesian", rng=0).confidence_interval.low > (
        found.confidence_interval.low
    )


@pytest.mark.false_alarm(1e-6)
def test_areas_of_which_few_positives_rank_last_are_not_judged_by_newcombes_variance(false_alarm):
    """Newcombe's intervals cover .71 of such data sets; DeLong's, on the logit scale, .97 of those it took them in."""
    rng, held, taken = np.random.default_rng(8), 0, 0
    for number in range(150):
        y = (rng.random(100) < 0.1).astype(int)
        y[:2] = 1
        score = np.where((y == 1) & (rng.random(100) < 0.3), -1.0, y) + rng.random(100)
        found = chosen("roc_auc", y, score, rng=number)
        taken += found.reason.startswith("a ROC AUC that varies")
        held += found.confidence_interval.low <= 0.7 <= found.confidence_interval.high
    assert taken > 40
    assert stats.binom.cdf(held, 150, 0.92) > false_alarm


def test_a_rare_class_without_errors_is_allowed_some():
    y = np.repeat([0, 1, 2], [235, 235, 30])
    guess = np.where(np.arange(500) < 2, 1, y)
    found, cards = chosen("f1_macro", y, guess, rng=0), chosen("f1_macro", y, guess, method="proper_bayesian", rng=0)
    assert found.reason.startswith("the rarest class has no error")
    assert found.confidence_interval.low < cards.confidence_interval.low - 0.002
    guess[-1] = 0
    assert "rarest class has no error" not in chosen("f1_macro", y, guess, rng=0).reason
    assert chosen("matthews_corrcoef", y, y, rng=0).reason.startswith("no row is wrong")
    even = np.repeat([0, 1, 2], 100)
    assert "rarest class has no" not in chosen("f1_macro", even, np.where(np.arange(300) < 2, 1, even), rng=0).reason


@pytest.mark.false_alarm(1e-6)
def test_means_over_classes_with_a_rare_one_are_covered(false_alarm):
    """With a quarter of a row of each class, half of it wrong, .76 of such data sets were covered."""
    shares, rng, held = np.array([0.47, 0.47, 0.06]), np.random.default_rng(9), 0
    law = np.diag(shares) * (1 - 0.006)
    law[~np.eye(3, dtype=bool)] = np.repeat(shares * 0.003, 2)
    law[0, :2] += (-0.01, 0.01)
    true = np.mean(2 * np.diag(law) / (law.sum(axis=0) + law.sum(axis=1)))
    for number in range(200):
        y, guess = np.divmod(np.repeat(np.arange(9), rng.multinomial(500, law.ravel())), 3)
        low, high = chosen("f1_macro", y, guess, labels=[0, 1, 2], rng=number).confidence_interval
        held += low <= true <= high
    assert stats.binom.cdf(held, 200, 0.93) > false_alarm
