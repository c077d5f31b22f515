"""Bands of curves hold the true curve as often as they say, for good models and few rows."""

import warnings

import numpy as np
import pytest
from scipy import special, stats

from jaxci import curves

LEAST = 0.93
"""Coverage that 95% bands must not fall short of."""
REPLICATIONS = 100


def drawn(rng, n, auc, prevalence):
    """Labels and binormal scores, and their log odds."""
    shift = stats.norm.ppf(auc) * np.sqrt(2)
    y = (rng.random(n) < prevalence).astype(int)
    scores = rng.normal(size=n) + shift * y
    return y, scores, shift * scores - shift**2 / 2 + special.logit(prevalence)


def truth(kind, x, auc, prevalence):
    shift = stats.norm.ppf(auc) * np.sqrt(2)
    if kind == "roc":
        return stats.norm.sf(stats.norm.ppf(x) - shift)
    if kind == "precision_recall":
        alarms = stats.norm.sf(shift + stats.norm.isf(x))
        return prevalence * x / (prevalence * x + (1 - prevalence) * alarms)
    cut = (special.logit(x) - special.logit(prevalence) + shift**2 / 2) / shift
    return prevalence * stats.norm.sf(cut - shift) - (1 - prevalence) * stats.norm.sf(cut) * x / (1 - x)


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize(
    ("kind", "n", "auc", "prevalence", "weighted"),
    [
        ("roc", 100, 0.9, 0.5, False),
        ("roc", 100, 0.98, 0.5, False),
        ("roc", 200, 0.95, 0.2, False),
        ("precision_recall", 60, 0.8, 0.1, False),
        ("precision_recall", 200, 0.95, 0.2, False),
        ("decision", 200, 0.95, 0.2, False),
        ("decision", 100, 0.9, 0.3, True),
    ],
)
def test_simultaneous_bands_hold_the_whole_curve(kind, n, auc, prevalence, weighted, false_alarm):
    rng, held, alone = np.random.default_rng(0), 0, 0
    for _ in range(REPLICATIONS):
        y, scores, odds = drawn(rng, n, auc, prevalence)
        given = special.expit(odds) if kind == "decision" else scores
        weights = rng.lognormal(size=n) if weighted else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(curves, kind)(
                y, given, sample_weight=weights, n_resamples=1999, rng=int(rng.integers(2**31))
            )
        true = truth(kind, found.x, auc, prevalence)
        held += np.all((found.simultaneous.low <= true) & (true <= found.simultaneous.high))
        alone += np.all((found.pointwise.low <= true) & (true <= found.pointwise.high))
    assert stats.binomtest(held, REPLICATIONS, LEAST, alternative="less").pvalue > false_alarm
    if auc < 0.98:  # bands of each point do not hold the curve, and would fail
        assert alone < held


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-5)
def test_sensitivities_are_held_where_a_few_positives_are_hopeless(false_alarm):
    """Three in a hundred positives score below all negatives, the others four standard deviations above these."""
    rng, held, sets = np.random.default_rng(2), 0, 200
    y, at = np.repeat([0, 1], [140, 60]), 49
    for _ in range(sets):
        scores = rng.normal(size=200) + np.where(y == 1, np.where(rng.random(200) < 0.03, -99, 4), 0)
        found = curves.roc(y, scores, n_resamples=999, rng=int(rng.integers(2**31)))
        true = 0.97 * stats.norm.sf(stats.norm.ppf(found.x[at]) - 4)
        held += found.pointwise.low[at] <= true <= found.pointwise.high[at]
    assert stats.binomtest(int(held), sets, 0.97, alternative="less").pvalue > false_alarm


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize(("kind", "n_clusters"), [("roc", None), ("roc", 15), ("decision", 15)])
def test_equal_curves_are_rarely_told_apart(kind, n_clusters, false_alarm):
    rng, told, replications = np.random.default_rng(1), 0, 100
    shift, n, widths = stats.norm.ppf(0.95) * np.sqrt(2), 200 if n_clusters is None else 10 * n_clusters, []
    groups = None if n_clusters is None else np.repeat(np.arange(n_clusters), 10)

    def noise():
        alone = rng.normal(size=n)
        return alone if groups is None else np.sqrt(0.3) * rng.normal(size=n_clusters)[groups] + np.sqrt(0.7) * alone

    for _ in range(replications):
        y = (rng.random(n) < 0.3).astype(int)
        common = noise()
        models = [0.8 * common + 0.6 * noise() + shift * y for _ in range(2)]
        if kind == "decision":
            models = [special.expit(shift * x - shift**2 / 2 + special.logit(0.3)) for x in models]
        found = curves.compare(kind, y, *models, groups=groups, n_resamples=999, rng=int(rng.integers(2**31)))
        told += found.pvalue <= 0.05
        widths += [np.ptp(point.confidence_interval) for point in found if point.statistic == "area under the curve"]
    assert stats.binomtest(told, replications, 1 - LEAST, alternative="greater").pvalue > false_alarm
    if kind == "roc":  # rows that were not seen do not decide
        assert np.mean(widths) < (0.1 if groups is None else 0.2)


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("kind", ["roc", "calibration", "decision"])
def test_large_clusters_that_differ_little_have_bands_of_their_rows(kind, false_alarm):
    """Ten of 300 rows: if one that was not seen were as bad as can be, bands would be up to 40 times as wide."""
    rng, sets, held, widths, estimates = np.random.default_rng(4), 40, 0, [], []
    groups = np.repeat(np.arange(10), 300)
    for _ in range(sets):
        y = (rng.random(3000) < 0.3).astype(int)
        scores = rng.normal(size=3000) + 2 * y + 0.3 * rng.normal(size=10)[groups]
        odds = (2 * scores - 2) / 1.09 + special.logit(0.3)
        given, options = (scores, {"grid": [0.5, 0.9]}) if kind == "roc" else (special.expit(odds), {})
        if kind == "calibration":
            options = {"n_bins": 4}
        if kind == "decision":
            options = {"grid": [0.2, 0.5]}
        found = getattr(curves, kind)(y, given, groups=groups, n_resamples=499, rng=int(rng.integers(2**31)), **options)
        low, high = (end[-1] for end in found.pointwise)
        widths.append(high - low)
        estimates.append(found.estimate[-1])
        if kind == "roc":
            held += low <= stats.norm.sf(stats.norm.ppf(0.9) - 2 / np.sqrt(1.09)) <= high
    assert np.mean(widths) < 2.5 * 3.92 * np.std(estimates)
    if kind == "roc":
        assert stats.binomtest(held, sets, LEAST, alternative="less").pvalue > false_alarm
