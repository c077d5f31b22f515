"""Numbers from the literature, through the public verbs, and point values against scikit-learn.

The replications needed for a given coverage error (9604, 6147, 3457, 1825, 380) have no public function yet, so they
are not tested here.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci import JaxciWarning

Z = special.ndtri(0.975)


def binary(successes: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions of which ``successes`` agree."""
    truth = np.arange(n) % 2
    return truth, np.where(np.arange(n) < successes, truth, 1 - truth)


def covered_by_counts(method: str, n: int, p: float) -> float:
    """The sum of the binomial probabilities of the counts whose interval holds p."""
    counts = np.arange(n + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = jaxci.proportion_interval(counts, n, method=method)
    return float(stats.binom.pmf(counts, n, p)[(low <= p) & (p <= high)].sum())


# --- proportions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"), [(22, 23, 0.873179017733963, 1.0398644605269067), (17, 20, 0.6935, 1.0065)]
)
def test_normal_intervals_of_an_accuracy(successes, n, low, high):
    """Raschka: 23 test points of accuracy 0.9565, and accuracy 0.85 of 20; the upper end is beyond 1.

    The second is printed with four digits and z = 1.96.
    """
    tolerance = 1e-12 if n == 23 else 5e-5
    assert successes / n == pytest.approx({23: 0.9565217391304348, 20: 0.85}[n], rel=1e-15)
    with pytest.warns(JaxciWarning, match="clipped"):
        found = jaxci.proportion_interval(successes, n, method="wald")
    assert found.low == pytest.approx(low, abs=tolerance)
    assert found.high == 1
    # the end that was clipped, from the one that was not: Wald's interval is symmetric about the estimate
    assert 2 * successes / n - found.low == pytest.approx(high, abs=tolerance)
    with pytest.warns(JaxciWarning, match="clipped"):
        result = jaxci.interval("accuracy", *binary(successes, n), method="wald")
    assert result.estimate == pytest.approx(successes / n, rel=1e-15)
    assert result.confidence_interval.low == pytest.approx(low, abs=tolerance)
    assert result.confidence_interval.high == 1
    assert any("clipped" in text for text in result.warnings)
    assert result.confidence_interval.low + Z * result.standard_error == pytest.approx(result.estimate, abs=1e-12)


def test_wilson_needs_no_clipping():
    result = jaxci.interval("accuracy", *binary(22, 23), method="wilson")
    expected = stats.binomtest(22, 23).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(result.confidence_interval, (expected.low, expected.high), rtol=1e-12)


def test_mid_p_is_the_default_where_wilson_was():
    """Of 22 out of 23 Wilson's interval ends at .992, and covers .84 where that is the share."""
    p = np.concatenate([np.linspace(0.98, 0.9999, 200), np.linspace(0.5, 0.98, 200)])
    result = jaxci.interval("accuracy", *binary(22, 23))
    assert (result.method, result.warnings) == ("mid_p", ())
    assert result.confidence_interval == jaxci.proportion_interval(22, 23)
    assert min(covered_by_counts("mid_p", 23, share) for share in p) > 0.92
    assert min(covered_by_counts("wilson", 23, share) for share in p) < 0.85


@pytest.mark.parametrize(
    ("method", "n", "p", "coverage"),
    [
        ("wald", 10, 0.05, 0.4002),
        ("wilson", 10, 0.05, 0.9139),
        ("clopper_pearson", 10, 0.05, 0.9885),
        ("wald", 100, 0.106, 0.9522),
    ],
)
def test_coverage_by_enumeration(method, n, p, coverage):
    assert covered_by_counts(method, n, p) == pytest.approx(coverage, abs=5e-5)


# --- macro F1 --------------------------------------------------------------------------------------


TRUTH = [0, 1, 2, 2, 2, 1, 1, 1, 0, 2, 2, 1, 0, 2, 2, 1, 2, 2, 1, 1]
GUESS = [0, 1, 0, 0, 2, 1, 1, 1, 0, 2, 2, 1, 0, 1, 2, 1, 2, 2, 1, 1]


def test_delta_interval_of_a_macro_f1():
    """Takahashi et al. (2022): standard error .0891008 and .656 to 1.005, of which the upper end is clipped at 1."""
    with pytest.warns(JaxciWarning, match=r"left the range \[0, 1\] and was clipped"):
        result = jaxci.interval("f1_macro", TRUTH, GUESS, method="delta")
    assert result.standard_error == pytest.approx(0.0891008, abs=5e-8)
    assert result.confidence_interval.low == pytest.approx(0.656, abs=5e-4)
    assert result.confidence_interval.high == 1
    assert result.estimate + Z * result.standard_error == pytest.approx(1.005, abs=5e-4)
    assert result.confidence_interval.low == pytest.approx(result.estimate - Z * result.standard_error, abs=1e-12)
    assert any("clipped" in text for text in result.warnings)


def test_macro_f1_in_a_table_and_on_the_logit_scale():
    with pytest.warns(JaxciWarning):
        table = jaxci.evaluate(TRUTH, GUESS, metrics=["f1_macro"], method="delta")
    assert table["f1_macro"].standard_error == pytest.approx(0.0891008, abs=5e-8)
    result = jaxci.interval("f1_macro", TRUTH, GUESS, method="delta", scale="logit")
    step = Z * 0.0891008 / (result.estimate * (1 - result.estimate))
    expected = special.expit(special.logit(result.estimate) + np.array([-step, step]))
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=0, atol=1e-6)
    assert result.confidence_interval.high < 1


# --- AUC -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [1, 12])
def test_delong_is_the_delta_method_with_the_correction_of_each_class(decimals):
    """Delta: ``v_pos / m + v_neg / n`` with divisor m and n in v; DeLong: divisors m - 1 and n - 1."""
    rng = np.random.default_rng(2)
    truth = np.r_[np.ones(31, int), np.zeros(47, int)]
    score = np.round(rng.normal(truth, 1.0), decimals)
    pairs = score[truth == 1][:, None] - score[truth == 0]
    wins = (pairs > 0) + 0.5 * (pairs == 0)
    positive, negative = wins.mean(axis=1).var() / 31, wins.mean(axis=0).var() / 47
    delta = jaxci.interval("roc_auc", truth, score, method="delta")
    delong = jaxci.interval("roc_auc", truth, score, method="delong")
    assert delta.estimate == pytest.approx(wins.mean(), rel=1e-13)
    assert delta.standard_error**2 == pytest.approx(positive + negative, rel=1e-12)
    assert delong.standard_error**2 == pytest.approx(positive * 31 / 30 + negative * 47 / 46, rel=1e-12)
    expected = wins.mean() + np.array([-Z, Z]) * delong.standard_error
    np.testing.assert_allclose(delong.confidence_interval, np.clip(expected, 0, 1), rtol=1e-12)


def test_delong_is_the_corrected_delta_method_in_a_balanced_sample():
    rng = np.random.default_rng(3)
    truth = np.arange(60) % 2
    score = rng.normal(truth, 1.0)
    delta, delong = (jaxci.interval("roc_auc", truth, score, method=method) for method in ("delta", "delong"))
    assert delong.standard_error**2 == pytest.approx(delta.standard_error**2 * 30 / 29, rel=1e-12)
    # influence values of an AUC have mean 0 within each class: to draw these apart adds what DeLong has more, 30/29,
    # less 60/59, which delta leaves out
    stratified = jaxci.interval("roc_auc", truth, score, method="delta", strata=truth)
    assert delong.standard_error**2 == pytest.approx(stratified.standard_error**2 * 60 / 59, rel=1e-12)


# --- means -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("method", "factor"), [("hoeffding", 0.6929), ("empirical_bernstein", 1.5104)])
def test_width_of_concentration_intervals_against_student(method, factor):
    """Andre et al., Table S5: at large n .6929 / s and 1.5104 times the width of Student's interval."""
    n = 1_000_000
    x = special.betaincinv(8, 2, (np.arange(n) + 0.5) / n)
    wide = jaxci.interval("mean", x, method=method, low=0, high=1).confidence_interval
    t = jaxci.interval("mean", x, method="t").confidence_interval
    ratio = (wide.high - wide.low) / (t.high - t.low)
    expected = factor / x.std() if method == "hoeffding" else factor
    # the second term of the empirical Bernstein interval, 7 ln(4 / alpha) / (3 n), is of order 1 / sqrt(n) beside it
    second = 2 * 7 * math.log(80) / (3 * n) / (t.high - t.low) if method == "empirical_bernstein" else 0
    assert ratio == pytest.approx(expected + second, abs=1e-4 * expected)


# --- scikit-learn ----------------------------------------------------------------------------------


def problem(
    n_classes: int, n: int = 400, *, ties: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    truth = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    score = np.eye(n_classes)[truth] + rng.gamma(1.0, size=(n, n_classes))
    score = np.round(score * 4) + 1 if ties else score
    score /= score.sum(axis=1, keepdims=True)
    return truth, score.argmax(axis=1), score, rng.integers(1, 4, n).astype(float)


def scikit_learn(truth: Any, guess: Any, score: Any, weight: Any) -> dict[str, float]:
    m = pytest.importorskip("sklearn.metrics")
    w = {"sample_weight": weight}
    k = score.shape[1]
    labels = np.unique(truth)
    found = {
        "accuracy": m.accuracy_score(truth, guess, **w),
        "balanced_accuracy": m.balanced_accuracy_score(truth, guess, **w),
        "matthews_corrcoef": m.matthews_corrcoef(truth, guess, **w),
        "cohen_kappa_score": m.cohen_kappa_score(truth, guess, **w),
        "error_rate": m.zero_one_loss(truth, guess, **w),
        "log_loss": m.log_loss(truth, score, labels=labels, **w),
    }
    for name, function in (
        ("f1", m.f1_score),
        ("precision", m.precision_score),
        ("recall", m.recall_score),
        ("jaccard", m.jaccard_score),
    ):
        for average in ("macro", "micro", "weighted"):
            found[f"{name}_{average}"] = function(truth, guess, average=average, zero_division=0, **w)
    one_hot = (truth[:, None] == labels).astype(int)
    if k > 2:
        found |= {
            "roc_auc_ovr": m.roc_auc_score(truth, score, multi_class="ovr", labels=labels, **w),
            "roc_auc_ovr_weighted": m.roc_auc_score(
                truth, score, multi_class="ovr", average="weighted", labels=labels, **w
            ),
            "roc_auc_micro": m.roc_auc_score(one_hot, score, average="micro", **w),
            "average_precision_macro": m.average_precision_score(one_hot, score, average="macro", **w),
            "average_precision_micro": m.average_precision_score(one_hot, score, average="micro", **w),
        }
        if weight is None:
            for average, name in (("macro", "roc_auc_ovo"), ("weighted", "roc_auc_ovo_weighted")):
                found[name] = m.roc_auc_score(truth, score, multi_class="ovo", average=average, labels=labels)
    else:
        positive = labels[1]
        found |= {
            "f1": m.f1_score(truth, guess, pos_label=positive, **w),
            "precision": m.precision_score(truth, guess, pos_label=positive, **w),
            "recall": m.recall_score(truth, guess, pos_label=positive, **w),
            "specificity": m.recall_score(truth, guess, pos_label=labels[0], **w),
            "jaccard": m.jaccard_score(truth, guess, pos_label=positive, **w),
            "roc_auc": m.roc_auc_score(truth == positive, score[:, 1], **w),
            "average_precision": m.average_precision_score(truth == positive, score[:, 1], **w),
            "brier_score_loss": m.brier_score_loss(truth == positive, score[:, 1], **w),
        }
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("ties", "weighted"), [(False, False), (True, True)])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_point_values_are_scikit_learns(n_classes, ties, weighted):
    truth, guess, score, weight = problem(n_classes, ties=ties)
    names = np.array(["ant", "bee", "cat", "dog", "emu"])[:n_classes]
    weight = weight if weighted else None
    expected = scikit_learn(names[truth], names[guess], score, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxciWarning)
        table = jaxci.evaluate(
            names[truth], names[guess], score, metrics=list(expected), sample_weight=weight, method="delta"
        )
    found = {row.statistic: row.estimate for row in table}
    assert found == pytest.approx(expected, rel=1e-12)


def test_regression_point_values_are_scikit_learns():
    m = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    truth = 1e4 + rng.normal(size=300)
    guess = truth + rng.normal(0, 0.4, 300)
    names = {
        "mean_squared_error": m.mean_squared_error,
        "root_mean_squared_error": m.root_mean_squared_error,
        "mean_absolute_error": m.mean_absolute_error,
        "median_absolute_error": m.median_absolute_error,
        "mean_absolute_percentage_error": m.mean_absolute_percentage_error,
        "r2": m.r2_score,
        "explained_variance": m.explained_variance_score,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxciWarning)
        table = jaxci.evaluate(truth, guess, metrics=list(names), method="percentile", n_resamples=99, rng=0)
    # the offset of 10^4 costs either side four digits of the sixteen in each difference from the mean
    for name, function in names.items():
        assert table[name].estimate == pytest.approx(function(truth, guess), rel=1e-10), name
