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
    ("kind", "n", "auc", "prevalence"),
    [
        ("roc", 100, 0.9, 0.5),
        ("roc", 100, 0.98, 0.5),
        ("roc", 200, 0.95, 0.2),
        ("precision_recall", 200, 0.95, 0.2),
        ("decision", 200, 0.95, 0.2),
    ],
)
def test_simultaneous_bands_hold_the_whole_curve(kind, n, auc, prevalence, false_alarm):
    rng, held, alone = np.random.default_rng(0), 0, 0
    for _ in range(REPLICATIONS):
        y, scores, odds = drawn(rng, n, auc, prevalence)
        given = special.expit(odds) if kind == "decision" else scores
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(curves, kind)(y, given, n_resamples=1999, rng=int(rng.integers(2**31)))
        true = truth(kind, found.x, auc, prevalence)
        held += np.all((found.simultaneous.low <= true) & (true <= found.simultaneous.high))
        alone += np.all((found.pointwise.low <= true) & (true <= found.pointwise.high))
    assert stats.binomtest(held, REPLICATIONS, LEAST, alternative="less").pvalue > false_alarm
    if auc < 0.98:  # bands of each point do not hold the curve, and would fail
        assert alone < held


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
def test_equal_curves_are_rarely_told_apart(false_alarm):
    rng, told, replications = np.random.default_rng(1), 0, 100
    shift = stats.norm.ppf(0.95) * np.sqrt(2)
    for _ in range(replications):
        y = (rng.random(200) < 0.3).astype(int)
        common = rng.normal(size=200)
        a, b = (0.8 * common + 0.6 * rng.normal(size=200) + shift * y for _ in range(2))
        told += curves.compare("roc", y, a, b, n_resamples=999, rng=int(rng.integers(2**31))).pvalue <= 0.05
    assert stats.binomtest(told, replications, 1 - LEAST, alternative="greater").pvalue > false_alarm
