"""The engine on injected counts: a resample by weights equals the statistic of repeated data."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import Injected, influence, injected, row_order, table_program, unit_program
from scipy import stats
from sklearn import metrics as sk

from jaxci.inference.replicate import (
    WALKED,
    _budget,
    _chunk,
    bytes_per_replicate,
    chunk_size,
    deleted_values,
    most_together,
    replicate,
)
from jaxci.inference.slopes import estimates, slopes
from jaxci.resampling.schemes import make_scheme
from jaxci.statistics import WeightedFunction
from jaxci.statistics.averaged import F1
from jaxci.statistics.class_ranking import RocAucMulticlass
from jaxci.statistics.classification import Accuracy, BalancedAccuracy, CohenKappa, MatthewsCorrcoef
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.probability import CalibrationError, LogLoss
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.registry import METRICS
from jaxci.statistics.regression import (
    R2,
    ExplainedVariance,
    MeanAbsoluteError,
    MeanSquaredError,
    MedianAbsoluteError,
    PearsonR,
    RootMeanSquaredError,
    SpearmanR,
)
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, Std, Variance
from jaxci.statistics.sums import padded

pytestmark = pytest.mark.usefixtures("float64")

N = 43
ROWS = 60
KEY_SEED = 5
NEAR = {"rtol": 1e-10, "atol": 1e-12}
KEPT = Layout(N, strata=np.zeros(N, np.int32))
"""One stratum: rows are not exchangeable, so that unit i stays row i whatever the statistic sorts by."""


def multinomial_counts(units, size=None, rows=ROWS, seed=3):
    rng = np.random.default_rng([units, seed])
    return rng.multinomial(units if size is None else size, np.full(units, 1 / units), rows).astype(float)


def run(statistics, sample, layout, counts, **options):
    program = unit_program(statistics, sample, layout)
    return replicate(program, injected(counts), jax.random.key(0), len(counts), **options)


def expected_values(functions, counts, orders=None):
    """Evaluate ``functions(rows)`` on row numbers repeated by their counts: (S, B).

    ``orders`` gives, for each function, the rows that the columns of ``counts`` stand for.
    """
    orders = [np.arange(counts.shape[1])] * len(functions) if orders is None else orders
    return np.array(
        [
            [function(np.repeat(order, row.astype(int))) for row in counts]
            for function, order in zip(functions, orders, strict=True)
        ]
    )


def orders_of(statistics, sample, layout):
    """Return the row that every unit of a program stands for, for each statistic."""
    return [row_order(statistic, sample, layout) for statistic in statistics]


@functools.cache
def values_sample():
    rng = np.random.default_rng(11)
    return Sample(values=rng.gamma(2.0, 3.0, N) + 100)


@functools.cache
def regression_sample():
    rng = np.random.default_rng(12)
    y = rng.normal(5, 2, N)
    return Sample(y_true=y, y_pred=y + rng.normal(0.3, 1, N))


@functools.cache
def binary_sample(ties=False):
    rng = np.random.default_rng(13)
    y = (rng.random(N) < 0.4).astype(np.int32)
    score = np.clip(0.5 + 0.18 * (2 * y - 1) + 0.2 * rng.normal(size=N), 0.01, 0.99)
    score = np.round(score, 1) if ties else score
    return Sample(y_true=y, y_pred=(score >= 0.5).astype(np.int32), y_score=score, n_classes=2)


@functools.cache
def multiclass_sample():
    rng = np.random.default_rng(14)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, N - 3)]).astype(np.int32)
    logits = rng.normal(size=(N, 3)) + 1.2 * np.eye(3)[y]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Sample(y_true=y, y_pred=np.argmax(p, axis=1).astype(np.int32), y_score=p, n_classes=3)


SUMMARIES = {
    "mean": (Mean(), np.mean),
    "var": (Variance(), np.var),
    "std": (Std(), np.std),
    "median": (Median(), np.median),
    "quantile": (Quantile(q=0.3), lambda x: np.quantile(x, 0.3)),
    "iqr": (IQR(), stats.iqr),
    "trimmed_mean": (TrimmedMean(), lambda x: stats.trim_mean(x, 0.25)),
}
REGRESSIONS = {
    "mse": (MeanSquaredError(), sk.mean_squared_error),
    "rmse": (RootMeanSquaredError(), sk.root_mean_squared_error),
    "mae": (MeanAbsoluteError(), sk.mean_absolute_error),
    "medae": (MedianAbsoluteError(), sk.median_absolute_error),
    "r2": (R2(), sk.r2_score),
    "explained": (ExplainedVariance(), sk.explained_variance_score),
    "pearson": (PearsonR(), lambda y, p: np.corrcoef(y, p)[0, 1]),
    "spearman": (SpearmanR(), lambda y, p: stats.spearmanr(y, p).statistic),
}
LABELS = {
    "accuracy": (Accuracy(), sk.accuracy_score),
    "balanced": (BalancedAccuracy(), sk.balanced_accuracy_score),
    "f1": (
        F1(average="macro"),
        functools.partial(sk.f1_score, average="macro", labels=np.arange(3), zero_division=0.0),
    ),
    "mcc": (MatthewsCorrcoef(), sk.matthews_corrcoef),
    "kappa": (CohenKappa(), sk.cohen_kappa_score),
}


def summary_case():
    x = values_sample().values
    functions = [lambda i, f=f: f(x[i]) for _, f in SUMMARIES.values()]
    return [s for s, _ in SUMMARIES.values()], values_sample(), functions


def regression_case():
    y, p = regression_sample().y_true, regression_sample().y_pred
    functions = [lambda i, f=f: f(y[i], p[i]) for _, f in REGRESSIONS.values()]
    return [s for s, _ in REGRESSIONS.values()], regression_sample(), functions


def label_case():
    y, p = multiclass_sample().y_true, multiclass_sample().y_pred
    functions = [lambda i, f=f: f(y[i], p[i]) for _, f in LABELS.values()]
    return [s for s, _ in LABELS.values()], multiclass_sample(), functions


def binary_case(ties=False):
    sample = binary_sample(ties)
    y, s = sample.y_true, sample.y_score

    def calibration(i):
        bins = np.ceil(s[i] * 15).astype(int)
        return sum(abs(np.sum((y[i] - s[i])[bins == b])) for b in range(16)) / len(i)

    functions = [
        lambda i: sk.roc_auc_score(y[i], s[i]),
        lambda i: sk.average_precision_score(y[i], s[i]),
        lambda i: sk.log_loss(y[i], s[i]),
        calibration,
    ]
    return [RocAuc(), AveragePrecision(), LogLoss(), CalibrationError()], sample, functions


def class_score_case():
    sample = multiclass_sample()
    y, s = sample.y_true, sample.y_score
    functions = [
        lambda i: sk.roc_auc_score(y[i], s[i], multi_class="ovr"),
        lambda i: sk.roc_auc_score(y[i], s[i], multi_class="ovo"),
        lambda i: sk.log_loss(y[i], s[i], labels=np.arange(3)),
    ]
    return [RocAucMulticlass(), RocAucMulticlass(scheme="ovo"), LogLoss()], sample, functions


CASES = {
    "summaries": summary_case,
    "regression": regression_case,
    "labels": label_case,
    "binary scores": binary_case,
    "tied binary scores": functools.partial(binary_case, True),
    "class scores": class_score_case,
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_replicates_equal_the_statistic_of_repeated_rows(case):
    statistics, sample, functions = CASES[case]()
    counts = multinomial_counts(N)
    found = run(statistics, sample, Layout(N), counts)
    expected = expected_values(functions, counts, orders_of(statistics, sample, Layout(N)))
    np.testing.assert_allclose(found.values, expected, **NEAR)
    assert not found.absent.any()
    assert found.errors is None


@pytest.mark.slow
@pytest.mark.parametrize("case", ["summaries", "regression", "labels", "binary scores"])
def test_resampled_clusters_equal_whole_clusters_repeated(case):
    statistics, sample, functions = CASES[case]()
    units = np.random.default_rng(0).integers(0, 14, N)
    units[:14] = np.arange(14)
    counts = multinomial_counts(14)
    found = run(statistics, sample, Layout(N, units.astype(np.int32)), counts)
    np.testing.assert_allclose(found.values, expected_values(functions, counts[:, units]), **NEAR)


@pytest.mark.slow
def test_case_weights_multiply_counts():
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=N)
    counts = multinomial_counts(N)
    sample, labelled = regression_sample(), multiclass_sample()
    y, p = sample.y_true, sample.y_pred
    statistics = [MeanSquaredError(), R2(), MeanAbsoluteError()]
    found = run(statistics, sample, Layout(N, row_weights=weights), counts)
    functions = [sk.mean_squared_error, sk.r2_score, sk.mean_absolute_error]
    expected = [[f(y, p, sample_weight=row * weights) for row in counts] for f in functions]
    np.testing.assert_allclose(found.values, expected, **NEAR)

    found = run([Accuracy(), F1(average="macro")], labelled, Layout(N, row_weights=weights), counts)
    y, p = labelled.y_true, labelled.y_pred
    functions = [sk.accuracy_score, functools.partial(sk.f1_score, average="macro")]
    expected = [[f(y, p, sample_weight=row * weights) for row in counts] for f in functions]
    np.testing.assert_allclose(found.values, expected, **NEAR)

    scored = binary_sample()
    found = run([RocAuc(), AveragePrecision()], scored, Layout(N, row_weights=weights), counts)
    y, s = scored.y_true, scored.y_score
    functions = [sk.roc_auc_score, sk.average_precision_score]
    expected = [[f(y, s, sample_weight=row * weights) for row in counts] for f in functions]
    np.testing.assert_allclose(found.values, expected, **NEAR)


def test_case_weights_inside_clusters():
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, N).astype(float)
    units = (np.arange(N) % 9).astype(np.int32)
    counts = multinomial_counts(9)
    x = values_sample().values
    statistics = [Mean(), Std(), Median()]
    found = run(statistics, values_sample(), Layout(N, units, row_weights=weights), counts)
    functions = [lambda i, f=f: f(x[i]) for f in (np.mean, np.std, np.median)]
    np.testing.assert_allclose(found.values, expected_values(functions, counts[:, units] * weights), **NEAR)


def test_cell_program_equals_the_rows_it_stands_for():
    statistics, sample, _ = label_case()
    counts = multinomial_counts(N)
    by_rows = run(statistics, sample, Layout(N), counts)
    program, scheme = table_program(statistics, sample)
    codes = statistics[0].prepare(sample).codes
    cells = np.stack([np.bincount(codes, row, scheme.n_units) for row in counts])
    by_cells = replicate(program, Injected(cells), jax.random.key(0), ROWS)
    np.testing.assert_allclose(by_cells.values, by_rows.values, rtol=1e-13)


@pytest.mark.slow
def test_strata_stay_apart_in_units_and_in_cells():
    statistics, sample, functions = label_case()
    strata = (np.arange(N) % 3).astype(np.int32)
    layout = Layout(N, strata=strata)
    scheme = make_scheme(layout)
    key = jax.random.key(KEY_SEED)
    found = replicate(unit_program(statistics, sample, layout), scheme, key, ROWS, purpose=7)
    own = jax.random.fold_in(key, 7)
    counts = np.asarray(scheme.counts(own, jnp.arange(ROWS, dtype=jnp.int32)))[:, :N]
    for stratum in range(3):
        np.testing.assert_allclose(counts[:, strata == stratum].sum(axis=1), np.sum(strata == stratum), rtol=1e-14)
    whole = np.round(14 * 13 * counts)  # of 15, 14 and 14 units 14, 13 and 13 are drawn
    np.testing.assert_allclose(found.values, expected_values(functions, whole), **NEAR)

    program, _ = table_program(statistics, sample, layout)
    codes = statistics[0].prepare(sample).codes
    cells = np.stack([np.bincount(strata * 9 + codes, row, 27) for row in counts])
    assert np.all(program.multiplicity == np.bincount(strata * 9 + codes, minlength=27))
    by_cells = replicate(program, Injected(cells), key, ROWS)
    np.testing.assert_allclose(by_cells.values, found.values, rtol=1e-13)


def test_absent_classes_are_counted():
    sample = multiclass_sample()
    counts = multinomial_counts(N)
    gone = np.zeros(ROWS, bool)
    gone[[3, 20]] = True
    counts[np.ix_(gone, sample.y_true == 1)] = 0
    statistics = [BalancedAccuracy(), RocAucMulticlass(), RocAucMulticlass(absent_class="skip")]
    found = run(statistics, sample, Layout(N), counts)
    np.testing.assert_array_equal(found.absent, np.broadcast_to(gone, (3, ROWS)))
    values = found.values
    np.testing.assert_array_equal(np.isnan(values[0]), np.zeros(ROWS, bool))
    np.testing.assert_array_equal(np.isnan(values[1]), gone)
    np.testing.assert_array_equal(np.isnan(values[2]), np.zeros(ROWS, bool))


def _bank_programs():
    statistics, sample, _ = CASES["summaries"]()
    labels, labelled, _ = label_case()
    scores, scored, _ = binary_case()
    clusters = Layout(N, (np.arange(N) % 11).astype(np.int32))
    strata = Layout(N, strata=(np.arange(N) % 3).astype(np.int32))
    plain = Layout(N)
    return {
        "rows": lambda: (unit_program(statistics, sample), make_scheme(plain)),
        "scores": lambda: (unit_program(scores, scored), make_scheme(plain)),
        "clusters": lambda: (unit_program(statistics, sample, clusters), make_scheme(clusters)),
        "balanced": lambda: (unit_program(statistics, sample), make_scheme(plain, "balanced")),
        "cells in strata": lambda: table_program(labels, labelled, strata),
    }


PROGRAMS = _bank_programs()


LONG = ("balanced", "clusters")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(p, marks=pytest.mark.slow) if p in LONG else p for p in PROGRAMS])
def test_values_do_not_depend_on_the_memory_limit(name):
    program, scheme = PROGRAMS[name]()
    key, count = jax.random.key(KEY_SEED), 230
    block = scheme.block
    whole = replicate(program, scheme, key, count, memory_limit=2**30)
    assert whole.values.shape == (len(program.statistics), count)
    assert chunk_size(program, scheme, count, 2**30, errors=False) >= count
    limit = bytes_per_replicate(program) * (-(-count // (4 * block)) * block)
    size = chunk_size(program, scheme, count, limit, errors=False)
    assert size % block == 0
    assert size < count
    parts = replicate(program, scheme, key, count, memory_limit=limit)
    np.testing.assert_array_equal(parts.absent, whole.absent)
    if name == "cells":  # sums of whole numbers are exact
        np.testing.assert_array_equal(parts.values, whole.values)
    else:  # the same draws, whose products with real numbers may round differently
        np.testing.assert_allclose(parts.values, whole.values, rtol=1e-13)


@pytest.mark.slow
def test_one_replicate_a_chunk_still_works_below_any_memory_limit():
    program, scheme = PROGRAMS["rows"]()
    assert chunk_size(program, scheme, 7, 1, errors=True) == 1
    balanced, blocks = PROGRAMS["balanced"]()
    assert chunk_size(balanced, blocks, 230, 1, errors=False) == 100
    whole = replicate(program, scheme, jax.random.key(1), 7)
    single = replicate(program, scheme, jax.random.key(1), 7, memory_limit=1)
    np.testing.assert_allclose(single.values, whole.values, rtol=1e-13)


@pytest.mark.parametrize(("count", "workers", "chunks"), [(9999, 2, 2), (9999, 4, 4), (9999, 8, 4), (100, 4, 1)])
def test_workers_share_the_replicates_where_that_is_worth_it(count, workers, chunks):
    program, scheme = PROGRAMS["cells in strata"]()
    size = chunk_size(program, scheme, count, 2**30, errors=False, workers=workers)
    assert -(-count // size) == chunks


@pytest.mark.parametrize("equal", [0, 2])
@pytest.mark.parametrize("n", [50_000, 1_000_000])
def test_many_scores_are_walked_along_in_wide_chunks(n, equal):
    scores = np.random.default_rng(2).permutation(n) / n
    scores[:equal] = scores[0]
    program = unit_program([AveragePrecision()], Sample(y_true=np.arange(n) % 2, y_score=scores, n_classes=2))
    assert most_together(program, _budget(program) // 2, narrow=True) >= WALKED


def test_counts_of_many_scores_stay_small_numbers():
    """A walk reads them as they were drawn: no bank of numbers of 64 bits is made of them."""
    n, rows = 5_000, 40
    sample = Sample(y_true=np.arange(n) % 2, y_score=np.random.default_rng(2).random(n), n_classes=2)
    with jax.enable_x64(True):
        program = unit_program([AveragePrecision(), RocAuc()], sample)
        units = len(program.multiplicity)
        text = _chunk.lower(program, jax.ShapeDtypeStruct((rows, units), jnp.uint8), errors=False).as_text()
    found = {kind for kind in ("ui8", "f32", "f64") if f"tensor<{units}x{rows}x{kind}>" in text}
    assert found == {"ui8"}


@pytest.mark.slow
def test_more_resamples_keep_the_first_ones():
    program, scheme = PROGRAMS["rows"]()
    key = jax.random.key(2)
    many, few = replicate(program, scheme, key, 230), replicate(program, scheme, key, 100)
    np.testing.assert_allclose(many.values[:, :100], few.values, rtol=1e-13)


@pytest.mark.slow
def test_progress_counts_up_to_the_number_of_resamples():
    (program, scheme), seen = PROGRAMS["rows"](), []
    limit = bytes_per_replicate(program) * 100

    def progress(done, total):
        seen.append((done, total))

    replicate(program, scheme, jax.random.key(1), 230, memory_limit=limit, progress=progress)
    assert seen[-1] == (230, 230)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


# Influence values


def influence_of(statistics, sample, layout):
    return influence(unit_program(statistics, sample, layout))


def test_influence_of_a_mean_is_its_textbook_standard_error_and_skewness():
    x = values_sample().values
    found = influence_of([Mean()], values_sample(), Layout(N))
    np.testing.assert_allclose(found.estimates, [x.mean()], rtol=1e-14)
    np.testing.assert_allclose(found.standard_errors, [x.std() / np.sqrt(N)], rtol=1e-12)
    np.testing.assert_allclose(found.accelerations, [stats.skew(x) / 6 / np.sqrt(N)], rtol=1e-12)
    np.testing.assert_allclose(found.slopes[0, :N] * N, x - x.mean(), atol=1e-10)


def test_influence_of_moments_is_their_textbook_standard_error():
    x = values_sample().values
    d = x - x.mean()
    found = influence_of([Variance(), Std()], values_sample(), Layout(N))
    variance_error = np.sqrt(np.mean(d**4) - x.var() ** 2) / np.sqrt(N)
    expected = [variance_error, variance_error / (2 * x.std())]
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-11)


def test_influence_of_a_proportion_and_of_an_auc():
    sample = binary_sample(True)
    y, s = sample.y_true, sample.y_score
    errors = influence_of([Accuracy(), RocAuc()], sample, Layout(N)).standard_errors
    p = np.mean(y == sample.y_pred)
    np.testing.assert_allclose(errors[0], np.sqrt(p * (1 - p) / N), rtol=1e-12)
    wins = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    delong = wins.mean(axis=1).var() / np.sum(y == 1) + wins.mean(axis=0).var() / np.sum(y == 0)
    np.testing.assert_allclose(errors[1], np.sqrt(delong), rtol=1e-12)


def test_influence_sums_over_clusters_before_squaring():
    x = values_sample().values
    units = (np.arange(N) ** 2 % 9).astype(np.int32)
    units = np.unique(units, return_inverse=True)[1].astype(np.int32)
    found = influence_of([Mean()], values_sample(), Layout(N, units))
    sums = np.bincount(units, x - x.mean())
    np.testing.assert_allclose(found.standard_errors, [np.sqrt(np.sum(sums**2)) / N], rtol=1e-11)
    expected = np.sum(sums**3) / (6 * np.sum(sums**2) ** 1.5)
    np.testing.assert_allclose(found.accelerations, [expected], rtol=1e-9)


def test_influence_is_centred_within_strata():
    x = values_sample().values
    strata = np.repeat([0, 1, 2], [20, 13, N - 33]).astype(np.int32)
    found = influence_of([Mean()], values_sample(), Layout(N, strata=strata))
    within = sum(np.sum(strata == h) * np.var(x[strata == h], ddof=1) for h in range(3)) * (N - 1) / N
    np.testing.assert_allclose(found.standard_errors, [np.sqrt(within) / N], rtol=1e-11)


@pytest.mark.slow
def test_influence_through_cells_equals_influence_through_rows():
    statistics, sample, _ = label_case()
    layout = Layout(N, strata=(np.arange(N) % 3).astype(np.int32))
    by_rows = influence_of(statistics, sample, layout)
    by_cells = influence(table_program(statistics, sample, layout)[0])
    np.testing.assert_allclose(by_cells.estimates, by_rows.estimates, rtol=1e-13)
    np.testing.assert_allclose(by_cells.standard_errors, by_rows.standard_errors, rtol=1e-11)
    np.testing.assert_allclose(by_cells.accelerations, by_rows.accelerations, rtol=1e-9)


def smooth_metrics(sample):
    if sample.values is not None:
        tasks = ("values",)
    elif sample.n_classes == 0:
        tasks = ("regression",)
    else:
        tasks = ("binary",) if sample.n_classes == 2 else ("multiclass",)
    return [s for s in METRICS.values() if s.task in tasks and s.smooth]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [values_sample, regression_sample, binary_sample, pytest.param(multiclass_sample, marks=pytest.mark.slow)]
)
def test_influence_values_are_numerical_derivatives_for_every_differentiable_metric(make):
    sample = make()
    statistics = [s for s in smooth_metrics(sample) if not isinstance(s, TrimmedMean)]
    program = unit_program(statistics, sample, Layout(N))
    found = influence(program)
    step = 1e-4
    whole = np.asarray(program.multiplicity)
    moved = np.concatenate([whole + step * np.eye(len(whole))[:N], whole - step * np.eye(len(whole))[:N]])
    evaluate = jax.jit(jax.vmap(lambda w: jnp.stack([f(w) for f in program.functions()])))
    up, down = np.split(np.asarray(evaluate(jnp.asarray(moved))), 2)
    numerical = ((up - down) / (2 * step)).T
    scale = np.abs(numerical).max(axis=1, keepdims=True)
    assert np.all(np.isfinite(numerical))
    np.testing.assert_allclose(found.slopes[:, :N] / scale, numerical / scale, rtol=0, atol=2e-7)
    # Statistics do not depend on the scale of the weights, so influence values sum to zero.
    np.testing.assert_allclose(found.slopes[:, :N].sum(axis=1) / scale[:, 0], 0, atol=1e-11)


def test_influence_of_a_trimmed_mean_is_the_winsorized_sample():
    # The share that is cut stays fixed, whereas the number of values cut jumps with the weights. Whole counts cut
    # between two values: the mean of both one-sided derivatives winsorizes half way.
    x = values_sample().values
    cut = N // 4
    ordered = np.sort(x)
    low, high = ordered[[cut - 1, cut]].mean(), ordered[[N - 1 - cut, N - cut]].mean()
    winsorized = np.clip(x, low, high)
    found = influence_of([TrimmedMean()], values_sample(), Layout(N))
    expected = (winsorized - winsorized.mean()) / (1 - 2 * cut / N) / N
    order = row_order(TrimmedMean(), values_sample(), Layout(N))
    np.testing.assert_allclose(found.slopes[0, :N], expected[order], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("make", [values_sample, regression_sample, binary_sample])
def test_influence_errors_and_accelerations_agree_with_leave_one_out_on_large_data(make):
    # Repeated data: the jackknife approaches the infinitesimal jackknife as 1/n.
    copies = 16
    sample = make().take(np.tile(np.arange(N), copies))
    n = N * copies
    chosen = {
        "values": [Mean(), Std(), Variance()],
        "regression": [RootMeanSquaredError(), R2(), PearsonR(), SpearmanR()],
        "binary": [F1(), MatthewsCorrcoef(), RocAuc(), AveragePrecision()],
    }
    task = "values" if sample.values is not None else "binary" if sample.n_classes else "regression"
    program = unit_program(chosen[task], sample)
    found = influence(program)
    for which, left in enumerate(deleted_values(program, np.arange(n)[:, None])):
        centred = left.mean() - left
        error = np.sqrt((n - 1) / n * np.sum(centred**2))
        skewness = np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5)
        assert found.standard_errors[which] == pytest.approx(error, rel=0.01)
        assert found.accelerations[which] == pytest.approx(skewness, rel=0.05, abs=5e-4)


def test_degenerate_influence_gives_a_zero_error_and_no_acceleration():
    constant = Sample(values=np.full(12, 3.5))
    found = influence_of([Mean()], constant, Layout(12))
    assert found.standard_errors[0] == 0
    assert np.isnan(found.accelerations[0])


# Standard errors at every replicate


STUDENTIZED = {
    "values": (values_sample, [Mean(), Std()]),
    "regression": (regression_sample, [MeanSquaredError(), R2(), PearsonR(), SpearmanR()]),
    "binary": (binary_sample, [Accuracy(), F1(), RocAuc()]),
}


def repeated_errors(statistics, sample, counts, units=None, strata=None):
    """Influence standard errors (S, B) on data in which whole units are repeated."""
    n = counts.shape[1] if units is None else len(units)
    errors = []
    for row in counts:
        copies, new_units, new_strata = [], [], []
        for unit in np.flatnonzero(row):
            members = np.arange(n)[unit : unit + 1] if units is None else np.flatnonzero(units == unit)
            for _ in range(int(row[unit])):
                copies.append(members)
                new_units.append(np.full(len(members), len(new_strata)))
                new_strata.append(0 if strata is None else strata[unit])
        rows = np.concatenate(copies)
        layout = Layout(
            len(rows),
            None if units is None else np.concatenate(new_units).astype(np.int32),
            None if strata is None else np.array(new_strata, np.int32),
        )
        errors.append(influence_of(statistics, sample.take(rows), layout).standard_errors)
    return np.array(errors).T


@pytest.mark.slow
@pytest.mark.parametrize("case", STUDENTIZED)
def test_error_at_a_replicate_is_the_influence_error_of_the_repeated_data(case):
    make, statistics = STUDENTIZED[case]
    counts = multinomial_counts(N, rows=12)
    found = run(statistics, make(), Layout(N), counts, errors=True)
    orders = orders_of(statistics, make(), Layout(N))
    for order in np.unique(orders, axis=0):
        same = [np.array_equal(order, mine) for mine in orders]
        expected = repeated_errors(list(itertools.compress(statistics, same)), make().take(order), counts)
        np.testing.assert_allclose(found.errors[same], expected, rtol=1e-9, atol=1e-15)


def test_error_at_a_replicate_with_clusters_repeats_whole_clusters():
    statistics = [Mean(), Std()]
    units = (np.arange(N) % 10).astype(np.int32)
    counts = multinomial_counts(10, rows=8)
    found = run(statistics, values_sample(), Layout(N, units), counts, errors=True)
    np.testing.assert_allclose(found.errors, repeated_errors(statistics, values_sample(), counts, units), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["values", "binary"])
def test_error_at_a_replicate_with_strata_is_centred_within_the_resampled_strata(case):
    make, statistics = STUDENTIZED[case]
    strata = np.repeat([0, 1, 2], [21, 21, 1]).astype(np.int32)
    counts = np.concatenate([multinomial_counts(size, rows=8) for size in (21, 21, 1)], axis=1)
    found = run(statistics, make(), Layout(N, strata=strata), counts, errors=True)
    expected = repeated_errors(statistics, make(), counts, strata=strata) * np.sqrt(20 / 19)  # m - 1 are drawn of m
    np.testing.assert_allclose(found.errors, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.slow
def test_error_at_a_replicate_through_cells_equals_the_one_through_rows():
    statistics, sample, _ = label_case()
    counts = multinomial_counts(N)
    by_rows = run(statistics, sample, Layout(N), counts, errors=True)
    program, _ = table_program(statistics, sample)
    cells = np.stack([np.bincount(statistics[0].prepare(sample).codes, row, 9) for row in counts])
    by_cells = replicate(program, Injected(cells), jax.random.key(0), ROWS, errors=True)
    np.testing.assert_allclose(by_cells.errors, by_rows.errors, rtol=1e-9, atol=1e-13)


# Other statistics


@pytest.mark.slow
def test_paired_difference_is_the_difference_on_every_resample():
    labelled, scored = multiclass_sample(), binary_sample()
    rng = np.random.default_rng(4)
    other = np.where(rng.random(N) < 0.3, (labelled.y_true + 1) % 3, labelled.y_true).astype(np.int32)
    counts = multinomial_counts(N)
    pairs = [
        (Accuracy(), dataclasses.replace(labelled, other=dataclasses.replace(labelled, y_pred=other))),
        (F1(average="macro"), dataclasses.replace(labelled, other=dataclasses.replace(labelled, y_pred=other))),
        (LogLoss(), dataclasses.replace(scored, other=dataclasses.replace(scored, y_score=1 - scored.y_score))),
        (RocAuc(), dataclasses.replace(scored, other=dataclasses.replace(scored, y_score=rng.random(N)))),
    ]
    for statistic, sample in pairs:
        found = run([paired_difference(statistic)], sample, Layout(N), counts)
        by_row = np.empty_like(counts)
        by_row[:, row_order(paired_difference(statistic), sample, Layout(N))] = counts
        a = run([statistic], dataclasses.replace(sample, other=None), KEPT, by_row)
        b = run([statistic], sample.other, KEPT, by_row)
        np.testing.assert_allclose(found.values, a.values - b.values, rtol=1e-10, atol=1e-12)


def test_weighted_function_is_resampled_by_weights():
    x = values_sample().values
    geometric = WeightedFunction(lambda x, w: jnp.exp(jnp.sum(w * jnp.log(x)) / jnp.sum(w)))
    counts = multinomial_counts(N)
    found = run([geometric], Sample(columns=(x,)), Layout(N), counts, errors=True)
    expected = expected_values([lambda i: stats.gmean(x[i])], counts)
    np.testing.assert_allclose(found.values, expected, **NEAR)
    spreads = [np.std(np.log(np.repeat(x, row.astype(int)))) for row in counts]
    error = expected[0] * np.array(spreads) / np.sqrt(N)
    np.testing.assert_allclose(found.errors[0], error, rtol=1e-10)


# Traces


def _programs_of(n, seed):
    rng = np.random.default_rng([n, seed])
    x, y = rng.normal(size=n), rng.integers(0, 2, n).astype(np.int32)
    y[:2] = [0, 1]
    scored = Sample(y_true=y, y_pred=rng.integers(0, 2, n).astype(np.int32), y_score=rng.random(n), n_classes=2)
    scheme = make_scheme(Layout(n))
    return {
        "values": (unit_program([Mean(), Std(), Median()], Sample(values=x)), scheme),
        "scores": (unit_program([RocAuc(), LogLoss()], scored), scheme),
        "cells": table_program([Accuracy(), F1()], scored),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["values", "scores", "cells"])
def test_data_of_similar_size_share_one_compiled_chunk(name):
    assert padded(97) == padded(104) == 104
    smooth = name != "values"
    first, scheme = _programs_of(97, 0)[name]
    replicate(first, scheme, jax.random.key(0), 50)
    estimates(first)
    if smooth:
        slopes(first)
    programs = (_chunk, estimates.quickly, estimates.optimized, slopes.quickly, slopes.optimized)
    before = [program._cache_size() for program in programs]
    for n, seed in ((97, 1), (100, 0), (104, 0)):
        other, scheme = _programs_of(n, seed)[name]
        replicate(other, scheme, jax.random.key(seed), 50)
        estimates(other)
        if smooth:
            slopes(other)
    assert [program._cache_size() for program in programs] == before


def test_a_users_function_is_not_retraced_for_data_of_similar_size():
    traces = []

    def function(x, w):
        traces.append(x.shape)
        return jnp.sum(w * x) / jnp.sum(w)

    statistic = WeightedFunction(function)
    for n in (97, 100, 104):
        sample = Sample(columns=(np.random.default_rng(n).normal(size=n),))
        replicate(unit_program([statistic], sample), make_scheme(Layout(n)), jax.random.key(0), 50)
    assert len(traces) == 1
