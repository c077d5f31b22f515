"""Closed-form intervals against SciPy, statsmodels, scikit-learn and plain loops."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from delong import plain_delong
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from jaxci.api.proportion import proportion_interval
from jaxci.checks import ALTERNATIVES
from jaxci.intervals import auc, parametric, proportion
from jaxci.intervals.auc_difference import auc_difference_evidence
from jaxci.intervals.base import tails
from jaxci.intervals.proportion_difference import Newcombe, PairedOutcomes

LEVELS = (0.3, 0.8, 0.95, 0.999)
FORMULAS = {method.name: method().from_counts for method in proportion.PROPORTION_METHODS}


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("ours", "theirs"), [("clopper_pearson", "exact"), ("wilson", "wilson"), ("wilson_cc", "wilsoncc")]
)
def test_scipy_binomtest(ours, theirs, alternative):
    # SciPy finds the exact bounds by root finding, to about 1e-12 absolute
    tolerance = {"rtol": 1e-12, "atol": 4e-12 if theirs == "exact" else 1e-14}
    for n in (1, 2, 9, 40):
        for x in sorted({0, 1, n // 3, n - 1, n}):
            test = stats.binomtest(x, n, alternative=alternative)
            for level in LEVELS:
                expected = test.proportion_ci(level, method=theirs)
                got = FORMULAS[ours](x, n, tails(level, alternative))
                np.testing.assert_allclose(got, tuple(expected), **tolerance)


STATSMODELS = {
    "clopper_pearson": "beta",
    "wilson": "wilson",
    "agresti_coull": "agresti_coull",
    "wald": "normal",
    "jeffreys": "jeffreys",
}


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("name", STATSMODELS)
def test_statsmodels_proportion(name, alternative):
    n = 25
    # at the ends Jeffreys' interval is extended to the end of the range here, and not there
    x = np.arange(1, n) if name == "jeffreys" else np.arange(n + 1)
    # statsmodels names the alternative after the bound it leaves
    renamed = {"two-sided": "two-sided", "less": "larger", "greater": "smaller"}[alternative]
    # one-sided below a level of one half, Wilson's bound at 0 and n is the end of the range, as in SciPy
    for level in LEVELS if alternative == "two-sided" else LEVELS[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = proportion_confint(x, n, 1 - level, method=STATSMODELS[name], alternative=renamed)
            got = proportion_interval(x, n, method=name, confidence_level=level, alternative=alternative)
        np.testing.assert_allclose(got.low, np.broadcast_to(expected[0], x.shape), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(got.high, np.broadcast_to(expected[1], x.shape), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("table", [(4, 6, 4, 6), (0, 0, 3, 7), (0, 10, 0, 0), (160, 240, 240, 360), (2, 1, 1, 2)])
def test_statsmodels_difference(table):
    """Pairs without correlation are as good as independent."""
    a, b, c, _ = table
    n = sum(table)
    for level in LEVELS:
        expected = confint_proportions_2indep(a + b, n, a + c, n, method="newcomb", compare="diff", alpha=1 - level)
        got = Newcombe().from_outcomes(PairedOutcomes(*np.reshape(table, (4, 1)), 1.0), tails(level))
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_statsmodels_mcnemar():
    for b, c in ((1, 0), (3, 9), (25, 4), (130, 100)):
        expected = mcnemar([[7, b], [c, 5]], exact=True).pvalue
        evidence = SimpleNamespace(outcomes=PairedOutcomes(*np.reshape((7, b, c, 5), (4, 1, 1)), 1.0))
        assert Newcombe().pvalue(evidence, np.nan, "two-sided").value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_scipy_means(alternative):
    rng = np.random.default_rng(0)
    a, b = rng.normal(3, 2, 12), rng.exponential(1, 31)
    for level in LEVELS:
        chosen = tails(level, alternative)
        expected = stats.ttest_1samp(a, 0, alternative=alternative).confidence_interval(level)
        np.testing.assert_allclose(parametric.t_interval(a, chosen), tuple(expected), rtol=1e-12)
        test = stats.ttest_ind(a, b, equal_var=False, alternative=alternative)
        expected = test.confidence_interval(level)
        np.testing.assert_allclose(parametric.welch(a, b, chosen), tuple(expected), rtol=1e-12)


@pytest.mark.parametrize("decimals", [6, 1, 0])
def test_delong_against_all_pairs(decimals):
    rng = np.random.default_rng(decimals)
    y = (rng.random(180) < 0.3).astype(int)
    scores = (y * [[1.0], [0.5], [0.2]] + rng.normal(size=(3, 180))).round(decimals)
    areas, covariance = plain_delong(y, scores)
    for row, score in enumerate(scores):
        found = auc.auc_evidence(y, score)
        assert found.auc == pytest.approx(roc_auc_score(y, score), abs=1e-14)
        assert found.variance == pytest.approx(covariance[row, row], rel=1e-10)
        other = row - 1
        apart = auc_difference_evidence(y, score, scores[other])
        assert apart.difference == pytest.approx(areas[row] - areas[other], abs=1e-14)
        expected = covariance[row, row] + covariance[other, other] - 2 * covariance[row, other]
        assert apart.variance == pytest.approx(expected, rel=1e-9)
