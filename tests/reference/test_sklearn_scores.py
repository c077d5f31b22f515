"""Ranking, probability, regression and summary statistics equal scikit-learn's, SciPy's and NumPy's in float64."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk
from sklearn.preprocessing import label_binarize

from jaxci.statistics import probability, ranking, regression, summary
from jaxci.statistics.class_ranking import AveragePrecisionMulticlass, RocAucMulticlass
from jaxci.statistics.order import Quantile, TrimmedMean
from jaxci.statistics.probability import BrierScoreLoss
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.sample import Sample

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("float64")]
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
N = 60
RNG = np.random.default_rng(20)
WEIGHTS = {
    "none": np.ones(N),
    "counts": RNG.integers(0, 4, N).astype(float),
    "real": RNG.exponential(size=N),
}
DECIMALS = (1, 3, 12)


@jax.jit
def value(statistic, prepared, weights):
    return statistic.value(prepared, weights)


def evaluate(statistic, sample, weights):
    return float(value(statistic, statistic.prepare(sample), weights))


def scores(k, decimals, n=N):
    """Return codes and probabilities, of class 1 if ``k`` is 2."""
    rng = np.random.default_rng([k, decimals])
    y = rng.permutation(np.arange(n) % k)
    p = np.round(0.7 * rng.dirichlet(np.ones(k), n) + 0.3 * np.eye(k)[y], decimals)
    p[:, -1] = 1 - p[:, :-1].sum(axis=1)
    p = np.clip(p, 0, 1)
    return y, p[:, 1] if k == 2 else p


def classified(y, p):
    return Sample(y_true=y.astype(np.int32), y_score=p, n_classes=2 if p.ndim == 1 else p.shape[1])


@pytest.mark.slow
@pytest.mark.parametrize(("decimals", "kind"), list(itertools.product(DECIMALS, WEIGHTS)))
def test_binary_ranking(decimals, kind):
    y, s = scores(2, decimals)
    w = WEIGHTS[kind]
    pairs = [
        (ranking.METRICS["roc_auc"], sk.roc_auc_score(y, s, sample_weight=w)),
        (ranking.METRICS["average_precision"], sk.average_precision_score(y, s, sample_weight=w)),
    ]
    for max_fpr in (0.05, 0.2, 0.5, 0.9):
        expected = sk.roc_auc_score(y, s, sample_weight=w, max_fpr=max_fpr)
        pairs.append((RocAuc(max_fpr=max_fpr, mcclish=True), expected))
        fpr, tpr, _ = sk.roc_curve(y, s, sample_weight=w)
        stop = np.searchsorted(fpr, max_fpr, "right")
        height = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
        raw = sk.auc(np.append(fpr[:stop], max_fpr), np.append(tpr[:stop], height))
        pairs.append((RocAuc(max_fpr=max_fpr), raw))
    for statistic, expected in pairs:
        np.testing.assert_allclose(evaluate(statistic, classified(y, s), w), expected, **TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("decimals", "kind"), list(itertools.product(DECIMALS, WEIGHTS)))
def test_multiclass_ranking(decimals, kind):
    y, p = scores(4, decimals)
    w = WEIGHTS[kind]
    sample, member = classified(y, p), label_binarize(y, classes=range(4))
    for average in ("macro", "weighted", "micro"):
        roc = RocAucMulticlass(scheme="micro") if average == "micro" else RocAucMulticlass(average=average)
        expected = sk.roc_auc_score(y, p, multi_class="ovr", average=average, sample_weight=w)
        np.testing.assert_allclose(evaluate(roc, sample, w), expected, **TOLERANCE)
        expected = sk.average_precision_score(member, p, average=average, sample_weight=w)
        precision = AveragePrecisionMulticlass(average=average)
        np.testing.assert_allclose(evaluate(precision, sample, w), expected, **TOLERANCE)
    if kind != "real":  # scikit-learn takes no weights here
        rows = np.repeat(np.arange(N), w.astype(int))
        for average in ("macro", "weighted"):
            expected = sk.roc_auc_score(y[rows], p[rows], multi_class="ovo", average=average)
            got = evaluate(RocAucMulticlass(scheme="ovo", average=average), sample, w)
            np.testing.assert_allclose(got, expected, **TOLERANCE)


def test_absent_class_as_scikit_learn_does():
    y, p = scores(4, 2)
    for gone in (0, 3):
        w = (y != gone).astype(float)
        rows = y != gone
        labels = {"labels": range(4)}
        for scheme, average in itertools.product(("ovr", "ovo"), ("macro", "weighted")):
            expected = sk.roc_auc_score(y[rows], p[rows], multi_class=scheme, average=average, **labels)
            got = evaluate(RocAucMulticlass(scheme=scheme, average=average), classified(y, p), w)
            np.testing.assert_allclose(got, expected, **TOLERANCE)
        member = label_binarize(y[rows], classes=range(4))
        for average in ("macro", "weighted", "micro"):
            expected = sk.average_precision_score(member, p[rows], average=average)
            got = evaluate(AveragePrecisionMulticlass(average=average), classified(y, p), w)
            np.testing.assert_allclose(got, expected, **TOLERANCE)


@pytest.mark.parametrize(("k", "decimals", "kind"), list(itertools.product((2, 4), (1, 12), WEIGHTS)))
def test_probabilities(k, decimals, kind):
    y, p = scores(k, decimals)
    w, sample = WEIGHTS[kind], classified(y, p)
    expected = sk.log_loss(y, p, sample_weight=w, labels=range(k))
    np.testing.assert_allclose(evaluate(probability.METRICS["log_loss"], sample, w), expected, **TOLERANCE)
    for half in ("auto", True, False):
        options = {} if k == 2 else {"labels": range(k)}
        expected = sk.brier_score_loss(y, p, sample_weight=w, scale_by_half=half, **options)
        got = evaluate(BrierScoreLoss(scale_by_half=half), sample, w)
        np.testing.assert_allclose(got, expected, **TOLERANCE)


def test_log_loss_of_rows_that_do_not_sum_to_one():
    y, p = scores(3, 12)
    expected = sk.log_loss(y, 0.9 * p)
    got = evaluate(probability.METRICS["log_loss"], classified(y, 0.9 * p), np.ones(N))
    np.testing.assert_allclose(got, expected, **TOLERANCE)


REGRESSION = {
    "mean_squared_error": sk.mean_squared_error,
    "root_mean_squared_error": sk.root_mean_squared_error,
    "mean_absolute_error": sk.mean_absolute_error,
    "median_absolute_error": sk.median_absolute_error,
    "r2": sk.r2_score,
    "mean_absolute_percentage_error": sk.mean_absolute_percentage_error,
    "explained_variance": sk.explained_variance_score,
}


def targets(case):
    rng = np.random.default_rng(21)
    y = rng.normal(size=N)
    p = y + rng.normal(size=N)
    if case == "tied":
        return np.round(y), np.round(p)
    return (y + 1e8, p + 1e8) if case == "offset" else (y, p)


@pytest.mark.parametrize(("case", "kind"), list(itertools.product(("plain", "tied", "offset"), WEIGHTS)))
def test_regression(case, kind):
    y, p = targets(case)
    w, sample = WEIGHTS[kind], Sample(y_true=y, y_pred=p)
    for name, function in REGRESSION.items():
        got = evaluate(regression.METRICS[name], sample, w)
        np.testing.assert_allclose(got, function(y, p, sample_weight=w), **TOLERANCE, err_msg=name)


@pytest.mark.parametrize(("case", "kind"), list(itertools.product(("plain", "tied", "offset"), ("none", "counts"))))
def test_correlations(case, kind):
    y, p = targets(case)
    w = WEIGHTS[kind]
    rows = np.repeat(np.arange(N), w.astype(int))
    for name, function in (("pearsonr", stats.pearsonr), ("spearmanr", stats.spearmanr)):
        got = evaluate(regression.METRICS[name], Sample(y_true=y, y_pred=p), w)
        np.testing.assert_allclose(got, function(y[rows], p[rows]).statistic, **TOLERANCE, err_msg=name)


def test_weighted_correlation():
    y, p = targets("plain")
    w = WEIGHTS["real"]
    covariance = np.cov(y, p, aweights=w)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    got = evaluate(regression.METRICS["pearsonr"], Sample(y_true=y, y_pred=p), w)
    np.testing.assert_allclose(got, expected, **TOLERANCE)


@pytest.mark.parametrize(("case", "kind"), list(itertools.product(("plain", "tied", "offset"), WEIGHTS)))
def test_moments(case, kind):
    x, w = targets(case)[0], WEIGHTS[kind]
    mean = np.average(x, weights=w)
    variance = np.cov(x, aweights=w, ddof=0)
    for name, expected in (("mean", mean), ("var", variance), ("std", np.sqrt(variance))):
        np.testing.assert_allclose(evaluate(summary.METRICS[name], Sample(values=x), w), expected, **TOLERANCE)


@pytest.mark.parametrize(("case", "kind"), list(itertools.product(("plain", "tied", "offset"), ("none", "counts"))))
def test_order_statistics(case, kind):
    x, w = targets(case)[0], WEIGHTS[kind]
    repeated = np.repeat(x, w.astype(int))
    pairs = [
        (summary.METRICS["median"], np.median(repeated)),
        (summary.METRICS["iqr"], stats.iqr(repeated - x[0])),  # at an offset SciPy rounds each quartile
        *((Quantile(q), np.quantile(repeated, q)) for q in (0, 0.05, 0.1, 1 / 3, 0.9, 0.975, 1)),
        *((TrimmedMean(p), stats.trim_mean(repeated, p)) for p in (0, 0.05, 0.1, 0.25, 0.49)),
    ]
    for statistic, expected in pairs:
        got = evaluate(statistic, Sample(values=x), w)
        np.testing.assert_allclose(got, expected, **TOLERANCE, err_msg=str(statistic))
