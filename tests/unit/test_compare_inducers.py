"""Tests of two learners: the combined 5x2 F test, and the posterior of the correlated t test."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.generalization import Resampled, combined_five_by_two_cv
from jaxci.resampling import splits

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 3))
Y = X @ [1.0, 0.3, 0.0] + RNG.normal(size=80)


def folds_of(means):
    """Losses of 5x2 splits whose mean is given."""
    plan = splits.repeated_kfold(20, 2, 5, 0)
    return Resampled(plan, np.broadcast_to(np.asarray(means).reshape(10, 1), plan.test_mask.shape))


def test_the_f_test_by_hand():
    p = RNG.normal(0.3, 1.0, (5, 2))
    found = combined_five_by_two_cv(folds_of(p))
    spread = np.sum((p - p.mean(axis=1, keepdims=True)) ** 2)
    assert found.pvalue == pytest.approx(stats.f.sf(np.sum(p**2) / (2 * spread), 10, 5), rel=1e-12)
    for end in (found.low, found.high):  # the ends are what the test just does not reject
        moved = combined_five_by_two_cv(folds_of(p - end))
        assert moved.pvalue == pytest.approx(0.05, rel=1e-9)
    assert found.estimate == pytest.approx(p.mean())


def test_where_every_difference_is_rejected_there_is_no_interval():
    apart = np.arange(5.0)[:, None] + np.array([0.0, 1e-3])
    found = combined_five_by_two_cv(folds_of(apart))
    assert math.isnan(found.low)
    assert "rejects every value" in found.remarks[0]
    plan = splits.repeated_kfold(20, 3, 4, 0)
    of = Resampled(plan, np.ones(plan.test_mask.shape))
    with pytest.raises(ValueError, match="needs 5 repetitions of 2 folds; got 4 of 3"):
        combined_five_by_two_cv(of)


def test_the_verb_reads_the_same_fits_as_dietterichs_test():
    plan = splits.repeated_kfold(80, 2, 5, 0)
    pair = [
        jaxci.compare_inducers("ridge", "constant", X, Y, method=method, cv=plan)
        for method in ("five_by_two_cv", "combined_five_by_two_cv")
    ]
    assert pair[1].test == "F test of no difference, 10 and 5 degrees of freedom"
    differences = [jaxci.fit_resamples(one, X, Y, plans=[plan]).fits["repeated_kfold"] for one in ("ridge", "constant")]
    means = dataclasses.replace(differences[0], losses=differences[0].losses - differences[1].losses).means
    assert pair[1].estimate == pytest.approx(means.mean(), rel=1e-9)
    assert pair[1].conclusion == pair[0].conclusion == "a is better than b"
    assert pair[1].pvalue < 0.05


def test_the_posterior_of_a_difference():
    """Benavoli et al. (2017): a Student distribution with the error of Nadeau and Bengio."""
    result = jaxci.compare_inducers("ridge", "ridge:alpha=0.5", X, Y, rope=0.05, rng=0)
    law = stats.t(9, result.estimate, result.standard_error)
    expected = {
        "a is better": law.cdf(-0.05),
        "equivalent": law.cdf(0.05) - law.cdf(-0.05),
        "b is better": law.sf(0.05),
    }
    assert result.probabilities == pytest.approx(expected, rel=1e-6)
    assert "posterior, equivalent within 0.0500: a is better" in str(result)
    assert result.to_dict()["probabilities"]["equivalent"] == result.probabilities["equivalent"]
    turned = jaxci.compare_inducers(
        "ridge", "ridge:alpha=0.5", X, Y, rope=0.05, rng=0, scoring="neg_mean_squared_error"
    )
    assert turned.probabilities == pytest.approx(result.probabilities)
    alike = jaxci.compare_inducers("ridge", "ridge", X, Y, rope=0.0, rng=0)
    assert alike.probabilities == {"a is better": 0.0, "equivalent": 1.0, "b is better": 0.0}
    with pytest.raises(ValueError, match="rope must be a difference of at least 0; got -1"):
        jaxci.compare_inducers("ridge", "constant", X, Y, rope=-1)
    with pytest.raises(ValueError, match="rope needs method='corrected_t'"):
        jaxci.compare_inducers("ridge", "constant", X, Y, rope=0.1, method="cv_wald")
