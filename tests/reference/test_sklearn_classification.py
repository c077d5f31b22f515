"""Confusion-matrix statistics equal scikit-learn's in float64."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics as sk

from jaxci.statistics.averaged import F1, FBeta, Jaccard, NegativePredictiveValue, Precision, Recall, Specificity
from jaxci.statistics.classification import METRICS, BalancedAccuracy
from jaxci.statistics.sample import Sample

pytestmark = pytest.mark.filterwarnings("ignore")
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
N = 60
CASES = [(k, case) for k in (2, 3, 5) for case in ("all", "unpredicted", "untrue", "unused")]
RATIOS = (
    (Precision, {}, sk.precision_score, {}),
    (Recall, {}, sk.recall_score, {}),
    (F1, {}, sk.f1_score, {}),
    (FBeta, {"beta": 2.0}, sk.fbeta_score, {"beta": 2.0}),
    (Jaccard, {}, sk.jaccard_score, {}),
)
EXTREMES = tuple((FBeta, {"beta": beta}, sk.fbeta_score, {"beta": beta}) for beta in (0.0, math.inf))


def draw(k, case):
    """Return labels of which the last class may lack a row, a column or both, and three weight vectors."""
    rng = np.random.default_rng([k, len(case)])
    true = k - 1 if case in ("untrue", "unused") else k
    predicted = k - 1 if case in ("unpredicted", "unused") else k
    y_true = rng.integers(0, true, N)
    y_pred = np.where((rng.random(N) < 0.5) & (y_true < predicted), y_true, rng.integers(0, predicted, N))
    y_true[:true], y_pred[-predicted:] = range(true), range(predicted)
    return y_true, y_pred, (np.ones(N), rng.integers(0, 4, N).astype(float), rng.exponential(size=N))


def evaluate(statistic, y_true, y_pred, weights, k):
    sample = Sample(y_true=y_true.astype(np.int32), y_pred=y_pred.astype(np.int32), n_classes=k)
    prepared = statistic.prepare(sample)
    return np.array([float(statistic.value(prepared, jnp.asarray(w))) for w in weights])


def reference(function, y_true, y_pred, weights, **options):
    return np.array([function(y_true, y_pred, sample_weight=w, **options) for w in weights])


@pytest.mark.slow
@pytest.mark.parametrize(("k", "case"), CASES)
def test_ratios(k, case):
    y_true, y_pred, weights = draw(k, case)
    with jax.enable_x64(True):
        for (cls, ours, function, theirs), zero_division in itertools.product(RATIOS, (0.0, 1.0)):
            options = {**theirs, "labels": np.arange(k), "zero_division": zero_division}
            for average in ("micro", "macro", "weighted"):
                statistic = cls(average=average, zero_division=zero_division, **ours)
                got = evaluate(statistic, y_true, y_pred, weights, k)
                expected = reference(function, y_true, y_pred, weights, average=average, **options)
                np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=f"{statistic}")
            last = cls(average="class", class_index=k - 1, zero_division=zero_division, **ours)
            got = evaluate(last, y_true, y_pred, weights[2:], k)
            expected = reference(function, y_true, y_pred, weights[2:], average=None, **options)[:, k - 1]
            np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=f"{last}")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["all", "unpredicted", "untrue", "unused"])
def test_binary_ratios(case):
    y_true, y_pred, weights = draw(2, case)
    with jax.enable_x64(True):
        for (cls, ours, function, theirs), zero_division in itertools.product(RATIOS + EXTREMES, (0.0, 1.0)):
            statistic = cls(zero_division=zero_division, **ours)
            got = evaluate(statistic, y_true, y_pred, weights, 2)
            expected = reference(function, y_true, y_pred, weights, zero_division=zero_division, **theirs)
            np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=f"{statistic}")


@pytest.mark.parametrize("case", ["all", "unpredicted", "untrue", "unused"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_undefined_ratios_leave_the_mean(case, average):
    y_true, y_pred, weights = draw(3, case)
    options = {"labels": [0, 1, 2], "average": average, "zero_division": math.nan}
    with jax.enable_x64(True):
        for cls, ours, function, theirs in RATIOS[:4]:
            statistic = cls(average=average, zero_division=math.nan, **ours)
            expected = reference(function, y_true, y_pred, weights, **options, **theirs)
            np.testing.assert_allclose(evaluate(statistic, y_true, y_pred, weights, 3), expected, **TOLERANCE)


@pytest.mark.slow
def test_weighted_mean_of_scores_that_have_no_weight():
    y_true, y_pred = np.zeros(N, int), np.ones(N, int)
    expected = sk.precision_score(y_true, y_pred, labels=[0, 1], average="weighted", zero_division=math.nan)
    statistic = Precision(average="weighted", zero_division=math.nan)
    assert evaluate(statistic, y_true, y_pred, [np.ones(N)], 2) == expected == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("k", "case"), CASES)
def test_scores_of_the_whole_table(k, case):
    y_true, y_pred, weights = draw(k, case)
    pairs = [
        (METRICS["accuracy"], sk.accuracy_score, {}),
        (METRICS["error_rate"], sk.zero_one_loss, {}),
        (METRICS["balanced_accuracy"], sk.balanced_accuracy_score, {}),
        (METRICS["matthews_corrcoef"], sk.matthews_corrcoef, {}),
        (METRICS["cohen_kappa_score"], sk.cohen_kappa_score, {"labels": np.arange(k)}),
    ]
    if (k, case) not in ((2, "untrue"), (2, "unused")):  # with one true class the adjustment is 0 / 0
        pairs.append((BalancedAccuracy(adjusted=True), sk.balanced_accuracy_score, {"adjusted": True}))
    with jax.enable_x64(True):
        for statistic, function, options in pairs:
            got = evaluate(statistic, y_true, y_pred, weights, k)
            expected = reference(function, y_true, y_pred, weights, **options)
            np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=f"{statistic}")


@pytest.mark.slow
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize(("k", "case"), CASES)
def test_negatives_are_the_other_side_of_each_class(k, case, zero_division):
    y_true, y_pred, weights = draw(k, case)
    shares = np.stack([np.bincount(y_true, w, k) / w.sum() for w in weights], axis=1)
    with jax.enable_x64(True):
        for cls, function in ((Specificity, sk.recall_score), (NegativePredictiveValue, sk.precision_score)):
            options = {"zero_division": zero_division}
            each = [reference(function, y_true != c, y_pred != c, weights, **options) for c in range(k)]
            means = {"macro": np.mean(each, axis=0), "weighted": np.sum(each * shares, axis=0)}
            if k == 2:
                means["binary"] = each[1]
            for average, expected in means.items():
                got = evaluate(cls(average=average, **options), y_true, y_pred, weights, k)
                np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=f"{cls} {average}")
