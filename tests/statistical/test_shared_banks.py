"""What it costs the coverage estimate that data sets share a bank of resamples.

With R/G data sets a bank the variance is ``[p (1 - p) + (R/G - 1) tau^2] / R``, tau^2 the variance
between banks, which falls as B grows. With B = 199 a group of 200 shows what a group of 10,000
shows with B = 9,999.
"""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import Cell, Study, run_cell
from jaxci.distributions import Parametric, Truth
from jaxci.statistics import Mean, Median, TrimmedMean

STATISTICS = {"mean": Mean(), "trimmed_mean": TrimmedMean(), "median": Median()}
TRUTHS = {name: Truth(0.0, 0.0, "known") for name in STATISTICS}
R, B, N = 10_000, 199, 50


def judged(n_groups, seed, n_replications=R, statistics=STATISTICS):
    cell = Cell(Parametric("norm", {}), N, statistics, ["percentile"], [0.95], n_replications, B, n_groups)
    return {j.statistic: j for j in run_cell(cell, jax.random.key(seed), truths=TRUTHS).judgements}


def inflation(judgement, n_replications=R):
    """Return the variance of the coverage estimate over that of as many banks as data sets."""
    return judgement.coverage_error**2 / (judgement.coverage * (1 - judgement.coverage) / n_replications)


def inflation_band(groups, factor, false_alarm):
    """Return the range of an inflation of ``factor``, estimated from ``groups`` groups."""
    tails = stats.chi2.ppf([false_alarm / 2, 1 - false_alarm / 2], groups - 1) / (groups - 1)
    return factor * tails[0], factor * tails[1]


@pytest.fixture(scope="module")
def by_groups():
    return {groups: judged(groups, seed=groups) for groups in (50, 1_000)}


@pytest.mark.false_alarm(5e-6)
@pytest.mark.parametrize("name", list(STATISTICS))
def test_coverage_is_unbiased_however_many_banks(by_groups, name, false_alarm):
    few, many = (by_groups[groups][name] for groups in (50, 1_000))
    error = np.hypot(few.coverage_error, many.coverage_error)
    assert abs(few.coverage - many.coverage) < stats.norm.isf(false_alarm / 2) * error


@pytest.mark.false_alarm(2e-5)
def test_the_variance_grows_for_order_statistics_that_share_one_bank_but_not_for_means(by_groups, false_alarm):
    low, high = inflation_band(50, 1.0, false_alarm)
    assert low < inflation(by_groups[50]["mean"]) < high
    many = judged(200, seed=400, n_replications=4 * R)  # 50 groups may hide an inflation of 1.8
    for name in ("trimmed_mean", "median"):
        assert inflation(many[name], 4 * R) > stats.chi2.isf(1e-3, 199) / 199


@pytest.mark.false_alarm(1e-4)
@pytest.mark.parametrize("name", list(STATISTICS))
def test_small_groups_are_as_good_as_a_bank_each(by_groups, name, false_alarm):
    low, high = inflation_band(1_000, 1.0, false_alarm)
    assert low < inflation(by_groups[1_000][name]) < 1.1 * high  # ten data sets a bank


@pytest.mark.false_alarm(2e-6)
def test_the_reported_error_is_that_of_repeated_studies(false_alarm):
    repeats, groups = 60, 8
    found = [
        judged(groups, seed=1_000 + r, n_replications=1_600, statistics={"trimmed_mean": TrimmedMean()})["trimmed_mean"]
        for r in range(repeats)
    ]
    between = np.var([j.coverage for j in found], ddof=1)
    reported = np.mean([j.coverage_error**2 for j in found])
    # A ratio of two variances: of the repeats, and of the groups within them.
    law = stats.f(repeats - 1, repeats * (groups - 1))
    assert law.ppf(false_alarm / 2) < between / reported < law.isf(false_alarm / 2)
    plain = np.mean([j.coverage * (1 - j.coverage) for j in found]) / 1_600
    assert reported > 1.2 * plain


@pytest.mark.false_alarm(5e-6)
def test_the_error_of_an_average_over_distributions_that_share_banks_is_that_of_repeated_studies(tmp_path, false_alarm):
    """The trimmed means of six equal laws err together, and errors taken as independent say far too little."""
    repeats, groups, laws = 40, 4, 6
    reported, independent, found = [], [], []
    for r in range(repeats):
        twins = {f"law {i}": Parametric("norm", {}) for i in range(laws)}
        study = Study(
            twins,
            ["trimmed_mean"],
            ["percentile"],
            [20],
            [0.8],
            n_replications=1_600,
            n_resamples=19,
            n_groups=groups,
            seed=r,
        )
        results = study.run(tmp_path / str(r))
        average = results.averages()
        found.append(average["coverage"][0])
        reported.append(average["coverage_error"][0] ** 2)
        independent.append(np.mean(results.columns["coverage_error"] ** 2) / laws)
    between = np.var(found, ddof=1)
    law = stats.f(repeats - 1, repeats * (groups - 1))
    assert law.ppf(false_alarm / 2) < between / np.mean(reported) < law.isf(false_alarm / 2)
    assert between / np.mean(independent) > law.isf(false_alarm / 2)
