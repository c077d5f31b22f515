"""Ranking statistics: hand-computed values, edges, absent classes, influence, batching."""

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import jaxci
from jaxci.inference.program import RowReader, of_batch, of_units
from jaxci.intervals.auc import auc_evidence
from jaxci.resampling import kernels, ranked
from jaxci.statistics import class_ranking, ranking
from jaxci.statistics.class_ranking import AveragePrecisionMulticlass, RocAucMulticlass
from jaxci.statistics.cumulative import Ordering
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import AveragePrecision, RocAuc, placement_variances
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank, padded

pytestmark = pytest.mark.usefixtures("float64")
METRICS = ranking.METRICS | class_ranking.METRICS
BINARY = (RocAuc(), RocAuc(max_fpr=0.3), RocAuc(max_fpr=0.3, mcclish=True), AveragePrecision())
MULTICLASS = tuple(
    RocAucMulticlass(scheme=scheme, average=average)
    for scheme, average in [
        ("ovr", "macro"),
        ("ovr", "weighted"),
        ("ovo", "macro"),
        ("ovo", "weighted"),
        ("micro", "macro"),
    ]
) + tuple(AveragePrecisionMulticlass(average=average) for average in ("macro", "weighted", "micro"))
WHOLE_AREAS = (BINARY[0], MULTICLASS[4])
"""Ratios of two sums of counts: float32 gives one value, in whichever order it sums."""
RULES = ("sklearn", "zero", "skip")
OTHER_RULES = tuple(
    cls(absent_class=rule) for cls in (RocAucMulticlass, AveragePrecisionMulticlass) for rule in ("zero", "skip")
)
N = 24
TIED, UNTIED = 1, 8  # decimals of the scores
CASES = [(statistic, TIED) for statistic in BINARY + MULTICLASS] + [
    (statistic, UNTIED) for statistic in (*BINARY, RocAucMulticlass(scheme="ovo"), AveragePrecisionMulticlass())
]


def sample_of(y_true, y_score):
    y_score = np.asarray(y_score, float)
    classes = 2 if y_score.ndim == 1 else y_score.shape[1]
    return Sample(y_true=np.asarray(y_true, np.int32), y_score=y_score, n_classes=classes)


@jax.jit
def evaluate(statistic, prepared, weights):
    return statistic.value(prepared, weights)


gradient = jax.jit(jax.grad(evaluate, argnums=2))


def estimate(statistic, y_true, y_score, weights=None):
    sample = sample_of(y_true, y_score)
    weights = np.ones(sample.n) if weights is None else np.asarray(weights, float)
    return float(evaluate(statistic, statistic.prepare(sample), weights))


def draw(n, k, decimals=8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    scores = np.round(rng.dirichlet(np.ones(k), n) + 0.3 * np.eye(k)[y], decimals)
    return y, scores[:, 1] if k == 2 else scores


def drawn_for(statistic, n, decimals):
    return sample_of(*draw(n, 2 if statistic.task == "binary" else 3, decimals))


def test_areas_by_hand():
    y, s = [0, 1, 0, 1, 1], [1, 2, 3, 4, 3]
    # pairs won: the positive at 2 beats one negative, that at 4 two, that at 3 one and a half
    assert estimate(RocAuc(), y, s) == pytest.approx(4.5 / 6, rel=1e-15)
    assert estimate(RocAuc(), y, s, [1, 1, 2, 1, 0]) == pytest.approx((1 + 3) / 6, rel=1e-15)
    # curve through (0, 1/3), (1/2, 2/3), (1/2, 1), (1, 1)
    assert estimate(RocAuc(max_fpr=0.25), y, s) == pytest.approx(0.25 * (1 / 3 + 1 / 2) / 2, rel=1e-14)
    assert estimate(RocAuc(max_fpr=0.75), y, s) == pytest.approx(0.5 * 0.5 + 0.25, rel=1e-14)
    part = (0.5 * 0.5 + 0.25 - 0.75**2 / 2) / (0.75 - 0.75**2 / 2)
    assert estimate(RocAuc(max_fpr=0.75, mcclish=True), y, s) == pytest.approx(0.5 + part / 2, rel=1e-14)


def test_average_precision_by_hand():
    y, s = [0, 1, 0, 1, 1], [1, 2, 3, 4, 3]
    assert estimate(AveragePrecision(), y, s) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3, rel=1e-15)
    assert estimate(AveragePrecision(), y, s, [1, 2, 1, 0, 1]) == pytest.approx((1 / 2 + 2 * 3 / 4) / 3, rel=1e-15)


def test_areas_of_three_classes_by_hand():
    y, scores = [0, 1, 2], [[3, 1, 2], [1, 2, 3], [2, 3, 1]]
    # class 0 beats both others by its column, class 1 one of them, class 2 none
    for scheme, average in itertools.product(("ovr", "ovo"), ("macro", "weighted")):
        assert estimate(RocAucMulticlass(scheme=scheme, average=average), y, scores) == pytest.approx(0.5, rel=1e-15)
    assert estimate(RocAucMulticlass(average="weighted"), y, scores, [2, 1, 1]) == pytest.approx((2 + 2 / 3) / 4)
    # A(0|1) = A(0|2) = A(1|0) = 1, the others 0
    assert estimate(RocAucMulticlass(scheme="ovo", average="weighted"), y, scores, [2, 1, 1]) == pytest.approx(
        (3 * 1 + 3 * 0.5 + 2 * 0) / 8, rel=1e-15
    )
    # own scores 3 2 1 against others' 1 2 1 3 2 3
    assert estimate(RocAucMulticlass(scheme="micro"), y, scores) == pytest.approx((5 + 3 + 1) / 18, rel=1e-15)


def test_registered_names_and_tasks():
    assert list(METRICS) == [
        "roc_auc",
        "average_precision",
        "roc_auc_ovr",
        "roc_auc_ovr_weighted",
        "roc_auc_ovo",
        "roc_auc_ovo_weighted",
        "roc_auc_micro",
        "average_precision_macro",
        "average_precision_micro",
    ]
    assert [name for name in METRICS if METRICS[name].task == "binary"] == ["roc_auc", "average_precision"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RocAuc(max_fpr=0.0), "max_fpr"),
        (lambda: RocAuc(max_fpr=1.5), "max_fpr"),
        (lambda: RocAucMulticlass(scheme="one"), "scheme"),
        (lambda: RocAucMulticlass(average="micro"), "average"),
        (lambda: RocAucMulticlass(absent_class="nan"), "absent_class"),
        (lambda: AveragePrecisionMulticlass(average="samples"), "average"),
    ],
)
def test_unknown_settings_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_perfect_separation_and_useless_scores():
    y = np.array([0, 0, 0, 1, 1])
    for sign, auc in ((1, 1.0), (-1, 0.0)):
        assert estimate(RocAuc(), y, sign * np.arange(5)) == auc
    assert estimate(RocAuc(), y, np.zeros(5)) == 0.5
    assert estimate(RocAuc(max_fpr=0.2), y, np.arange(5)) == pytest.approx(0.2, rel=1e-15)
    assert estimate(RocAuc(max_fpr=0.2, mcclish=True), y, np.arange(5)) == pytest.approx(1, rel=1e-15)
    assert estimate(RocAuc(max_fpr=0.2, mcclish=True), y, np.zeros(5)) == pytest.approx(0.5, rel=1e-14)
    assert estimate(AveragePrecision(), y, np.arange(5)) == 1
    assert estimate(AveragePrecision(), y, np.zeros(5)) == pytest.approx(2 / 5, rel=1e-15)
    assert estimate(RocAuc(), [0, 1], [0.2, 0.1]) == 0


def test_whole_partial_area_is_the_area():
    for decimals in (TIED, UNTIED):
        y, s = draw(40, 2, decimals)
        assert estimate(RocAuc(max_fpr=1.0), y, s) == pytest.approx(estimate(RocAuc(), y, s), rel=1e-14)


def test_one_class_only():
    for statistic in BINARY:
        prepared = statistic.prepare(sample_of([0, 1, 0], [1, 2, 3]))
        for weights, one_class in (([1, 0, 2], True), ([0, 1, 0], True), ([1, 1, 0], False), ([0, 0, 0], True)):
            weights = np.asarray(weights, float)
            assert bool(statistic.absent(prepared, weights)) == one_class
            defined = not one_class or (isinstance(statistic, AveragePrecision) and weights[1] > 0)
            assert bool(np.isfinite(evaluate(statistic, prepared, weights))) == defined


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "options", "sklearn", "zero", "skip"),
    [
        (RocAucMulticlass, {}, math.nan, 7 / 12, 7 / 8),
        (RocAucMulticlass, {"average": "weighted"}, 7 / 8, 7 / 8, 7 / 8),
        (RocAucMulticlass, {"scheme": "ovo"}, 7 / 8, 7 / 24, 7 / 8),
        (AveragePrecisionMulticlass, {}, 11 / 18, 11 / 18, 11 / 12),
        (AveragePrecisionMulticlass, {"average": "weighted"}, 11 / 12, 11 / 12, 11 / 12),
    ],
)
def test_absent_class(cls, options, sklearn, zero, skip):
    # class 0 has area and precision 1 by column 0, class 1 has 3/4 and 5/6 by column 1, class 2 no weight
    scores = [[0.9, 0.35, 0], [0.8, 0.1, 0], [0.5, 0.4, 0], [0.4, 0.2, 0], [0.1, 0.1, 1]]
    for rule, expected in zip(RULES, (sklearn, zero, skip), strict=True):
        statistic = cls(absent_class=rule, **options)
        got = estimate(statistic, [0, 0, 1, 1, 2], scores, [1, 1, 1, 1, 0])
        assert got == pytest.approx(expected, rel=1e-14, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_all_weight_on_one_class_or_none(rule):
    y, scores = draw(9, 3)
    for statistic in (RocAucMulticlass(absent_class=rule), RocAucMulticlass(scheme="ovo", absent_class=rule)):
        assert math.isnan(estimate(statistic, y, scores, y == 1))
        assert math.isnan(estimate(statistic, y, scores, np.zeros(9)))
    precision = AveragePrecisionMulticlass(absent_class=rule)
    assert estimate(precision, y, scores, y == 1) == pytest.approx(1.0 if rule == "skip" else 1 / 3)
    assert math.isnan(estimate(precision, y, scores, np.zeros(9)))


@pytest.mark.parametrize("statistic", MULTICLASS, ids=str)
def test_absent_class_is_reported(statistic):
    y, scores = draw(9, 3)
    scores = np.pad(scores, ((0, 0), (0, 1)))  # a fourth class that the sample lacks
    prepared = statistic.prepare(sample_of(y, scores))
    assert not statistic.absent(prepared, np.ones(9))
    assert statistic.absent(prepared, (y != 2).astype(float))


@pytest.mark.slow
@pytest.mark.parametrize("statistic", MULTICLASS, ids=str)
def test_two_classes_by_one_score(statistic):
    y, s = draw(30, 2)
    both = np.stack([1 - s, s], axis=1)
    assert estimate(statistic, y, s) == pytest.approx(estimate(statistic, y, both), rel=1e-14)
    if isinstance(statistic, RocAucMulticlass) and not statistic.micro:
        assert estimate(statistic, y, s) == pytest.approx(estimate(RocAuc(), y, s), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "decimals"), CASES, ids=str)
def test_integer_weights_repeat_the_data(statistic, decimals):
    sample = drawn_for(statistic, N, decimals)
    weights = np.random.default_rng(1).multinomial(N, np.full(N, 1 / N))
    repeated = sample.take(np.repeat(np.arange(N), weights))
    expected = float(evaluate(statistic, statistic.prepare(repeated), np.ones(N)))
    prepared = statistic.prepare(sample)
    assert float(evaluate(statistic, prepared, weights.astype(float))) == pytest.approx(expected, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [RocAuc(), AveragePrecision(), RocAucMulticlass()], ids=str)
def test_weights_may_be_integers(statistic):
    prepared = statistic.prepare(drawn_for(statistic, N, UNTIED))
    weights = np.random.default_rng(2).integers(0, 4, N)
    expected = float(evaluate(statistic, prepared, weights.astype(float)))
    assert float(evaluate(statistic, prepared, weights.astype(np.int32))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [*BINARY, *MULTICLASS[::2]], ids=str)
def test_padding_has_no_effect_and_makes_no_ties(statistic):
    sample = drawn_for(statistic, N - 1, UNTIED)
    weights = np.random.default_rng(3).integers(0, 4, N - 1).astype(float)
    keys = statistic.sort_keys(sample)
    rows = np.arange(N - 1) if keys is None else np.argsort(keys)
    padded = sample.take(rows).padded()
    assert padded.padding == 1
    prepared = statistic.prepare(padded)
    ordering = prepared.ordering if keys is not None else prepared.ranking.ordering
    assert (ordering.order is None) == (keys is not None)
    if not getattr(statistic, "micro", False):
        assert ordering.first is ordering.last is None
    got = evaluate(statistic, prepared, np.append(weights[rows], 0))
    assert float(got) == pytest.approx(float(evaluate(statistic, statistic.prepare(sample), weights)), rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "decimals"), CASES, ids=str)
def test_gradient_is_the_influence_function_and_batch_equals_loop(statistic, decimals):
    prepared = statistic.prepare(drawn_for(statistic, N, decimals))
    weights = np.random.default_rng(4).uniform(0.5, 1.5, N)
    slope = np.asarray(gradient(statistic, prepared, weights))
    assert np.sum(slope * weights) == pytest.approx(0, abs=1e-12)
    steps = 1e-6 * np.eye(N)
    batch = jax.jit(jax.vmap(lambda w: statistic.value(prepared, w)))
    above, below = batch(weights + steps), batch(weights - steps)
    np.testing.assert_allclose(slope, (above - below) / 2e-6, atol=1e-8)
    loop = [float(evaluate(statistic, prepared, row)) for row in weights + steps]
    np.testing.assert_allclose(above, loop, rtol=1e-13)


@pytest.mark.parametrize("decimals", [TIED, UNTIED])
def test_influence_gives_the_delong_variance(decimals):
    y, s = draw(N, 2, decimals)
    wins = (s[y == 1][:, None] > s[y == 0]) + (s[y == 1][:, None] == s[y == 0]) / 2
    sizes = [np.sum(y == k) for k in (0, 1)]
    delong = np.var(wins.mean(0), ddof=1) / sizes[0] + np.var(wins.mean(1), ddof=1) / sizes[1]
    influence = N * np.asarray(gradient(RocAuc(), RocAuc().prepare(sample_of(y, s)), np.ones(N)))
    scaled = sum(np.sum(influence[y == k] ** 2) * sizes[k] / (sizes[k] - 1) for k in (0, 1))
    assert scaled / N**2 == pytest.approx(delong, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [*BINARY, *MULTICLASS, *OTHER_RULES], ids=str)
def test_gradient_is_finite_wherever_the_value_is(statistic):
    sample = drawn_for(statistic, N, TIED)
    prepared = statistic.prepare(sample)
    for weights in (np.ones(N), sample.y_true == 1, sample.y_true != 0, np.arange(N) % 2):
        weights = np.asarray(weights, float)
        defined = np.isfinite(evaluate(statistic, prepared, weights))
        assert np.all(np.isfinite(gradient(statistic, prepared, weights))) or not defined


def test_area_of_a_million_rows_takes_a_handful_of_arrays():
    n = 1_000_000
    rng = np.random.default_rng(5)
    y = rng.random(n) < 0.1
    s = np.sort(rng.normal(size=n))
    for statistic in (RocAuc(), AveragePrecision()):
        prepared = jax.device_put(statistic.prepare(sample_of(y, s)))
        compiled = evaluate.lower(statistic, prepared, jnp.ones(n)).compile()
        memory = compiled.memory_analysis()
        if memory is not None:
            assert memory.temp_size_in_bytes < 8 * 8 * n


def test_ordering():
    x = jnp.array([1.0, 2.0, 4.0, 8.0])
    tied = Ordering.of(np.array([3.0, 1.0, 3.0, 2.0]), 4)
    np.testing.assert_array_equal(tied.arrange(x), [2, 8, 1, 4])
    np.testing.assert_array_equal(tied.below(tied.arrange(x)), [1, 6, 12.5, 12.5])
    np.testing.assert_array_equal(tied.upward(tied.arrange(x)), [15, 13, 5, 5])
    np.testing.assert_array_equal(tied.above(tied.arrange(x)), [13, 5, 0, 0])
    plain = Ordering.of(np.arange(4.0), 4)
    assert jax.tree.leaves(plain) == []
    np.testing.assert_array_equal(plain.below(x), [0.5, 2, 5, 11])
    np.testing.assert_array_equal(plain.above(x), [14, 12, 8, 0])


def prepared_in_program(statistic, data):
    y_true, y_score = data
    classes = 2 if y_score.ndim == 1 else y_score.shape[1]
    return statistic.prepare(Sample(y_true=y_true, y_score=y_score, n_classes=classes))


@jax.jit
def prepared_batch(statistic, data):
    return jax.vmap(lambda one: prepared_in_program(statistic, one))(data)


@jax.jit
def replicates_and_values(statistic, data, bank_t):
    """Both (R, B), for several data sets and one transposed bank."""

    def one(data):
        prepared = prepared_in_program(statistic, data)
        return statistic.replicates(prepared, bank_t), jax.vmap(lambda w: statistic.value(prepared, w), 1)(bank_t)

    return jax.lax.map(one, data)


@jax.jit
def replicates(statistic, prepared, bank_t):
    return statistic.replicates(prepared, bank_t)


def several(statistic, decimals, count=3):
    """Data sets one by one, and stacked."""
    drawn = [draw(N, 2 if statistic.task == "binary" else 3, decimals, seed) for seed in range(count)]
    return drawn, tuple(np.stack(x) for x in zip(*drawn, strict=True))


def bank_for(y, size=40):
    """Counts (B, n): random, of one class alone, without one class, and none."""
    counts = np.random.default_rng(7).multinomial(N, np.full(N, 1 / N), size)
    counts[:3] = [y == 1, 2 * (y != 1), np.zeros(N)]
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "decimals"), CASES, ids=str)
def test_prepared_in_a_program_as_on_the_host(statistic, decimals):
    drawn, stacked = several(statistic, decimals)
    batch = prepared_batch(statistic, stacked)
    weights = np.random.default_rng(6).integers(0, 4, N).astype(float)
    for i, data in enumerate(drawn):
        in_program = jax.tree.map(lambda x: x[i], batch)  # noqa: B023
        on_host = statistic.prepare(sample_of(*data))
        if decimals == TIED:
            jax.tree.map(np.testing.assert_array_equal, in_program, on_host)
        expected = float(evaluate(statistic, on_host, weights))
        assert float(evaluate(statistic, in_program, weights)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "decimals"), [*CASES, *((statistic, TIED) for statistic in OTHER_RULES)], ids=str
)
def test_replicates_are_the_values_under_every_resample(statistic, decimals):
    drawn, stacked = several(statistic, decimals)
    counts = bank_for(drawn[0][0]).T
    for bank_t in (counts * 1.0, counts * np.random.default_rng(8).gamma(1, size=counts.shape)):
        got, expected = replicates_and_values(statistic, stacked, bank_t)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=0)
        if decimals == UNTIED:  # prepared on the host without groups of ties
            got = replicates(statistic, statistic.prepare(sample_of(*drawn[-1])), bank_t)
            np.testing.assert_allclose(got, expected[-1], rtol=1e-12, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "rtol"), [*((area, 0) for area in WHOLE_AREAS), (AveragePrecision(), 1e-6)], ids=str
)
def test_replicates_in_single_precision(statistic, rtol):
    drawn, stacked = several(statistic, TIED)
    counts = bank_for(drawn[0][0]).T
    got, expected = replicates_and_values(statistic, stacked, jnp.asarray(counts, jnp.float32))
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=0)
    for data, row in zip(drawn, got, strict=True):
        small = replicates(statistic, statistic.prepare(sample_of(*data)), jnp.asarray(counts, jnp.uint8))
        np.testing.assert_array_equal(small, row)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [*BINARY, *MULTICLASS[:3:2], MULTICLASS[4], MULTICLASS[5]], ids=str)
def test_replicates_of_the_form_for_accelerators(statistic, monkeypatch):
    drawn, _ = several(statistic, TIED)
    prepared, bank_t = statistic.prepare(sample_of(*drawn[0])), jnp.asarray(bank_for(drawn[0][0]).T, float)
    expected = replicates(statistic, prepared, bank_t)
    monkeypatch.setattr(kernels, "by_platform", functools.partial(kernels.by_platform, form="accelerator"))
    got = jax.jit(lambda prepared, bank_t: statistic.replicates(prepared, bank_t))(prepared, bank_t)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistics", "walks"), [((*BINARY[::3], RocAuc()), 1), (MULTICLASS, 2)], ids=["binary", "multiclass"]
)
def test_statistics_of_one_ranking_share_a_walk(statistics, walks, monkeypatch):
    """On the host and in a program; each has the value that it has alone."""
    y, s = draw(N, 2 if statistics[0].task == "binary" else 3, TIED, 3)
    rows = jnp.asarray(bank_for(y, 200), float) * np.random.default_rng(8).gamma(1, size=(200, N))
    walked = []

    def counting(*given, **named):
        walked.append(given)
        return scanned(*given, **named)

    scanned = ranked.scanned
    monkeypatch.setattr(ranked, "scanned", counting)
    sample, layout = sample_of(y, s), Layout(N)

    def on_host(statistics):
        reader = RowReader(sample, layout)
        return of_units(statistics, [reader.prepared(one) for one in statistics], layout, padded(N)).values

    def in_program(statistics):
        traced = dataclasses.replace(sample, y_true=jnp.asarray(y, jnp.int32), y_score=jnp.asarray(s))
        return of_batch(statistics, traced, layout).values

    for values in (on_host, in_program):
        walked.clear()
        found = values(statistics)(Bank.of(rows))
        assert len(walked) == walks
        alone = [values([one])(Bank.of(rows))[0] for one in statistics]
        np.testing.assert_array_equal(found, alone)
        assert len(walked) == walks + len(statistics)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "decimals"), [(N, TIED), (N, UNTIED), (17, UNTIED)])
def test_placement_variances_are_those_of_the_host(rows, decimals):
    y, s = draw(rows, 2, decimals)
    expected = auc_evidence(y, s)
    for got in (
        jax.jit(placement_variances)(RocAuc().prepare(sample_of(y, s))),
        jax.jit(lambda *data: placement_variances(prepared_in_program(RocAuc(), data)))(y, s),
    ):
        want = (expected.auc, expected.n_pos, expected.n_neg)
        want += (expected.placement_variance_pos, expected.placement_variance_neg)
        np.testing.assert_allclose([float(x) for x in got], want, rtol=1e-13)


def test_placement_variances_of_a_class_of_one():
    y, s = np.array([0, 1, 0, 0]), np.array([0.1, 0.4, 0.5, 0.3])
    got = placement_variances(RocAuc().prepare(sample_of(y, s)))
    expected = auc_evidence(y, s)
    assert math.isnan(got.variance_pos)
    assert float(got.variance_neg) == pytest.approx(expected.placement_variance_neg, rel=1e-14)


@pytest.mark.parametrize("steps", [5, 10, 20, 100])
def test_scores_of_two_classes_that_are_written_alike_tie(steps):
    rng = np.random.default_rng(steps)
    p = rng.integers(0, steps + 1, 120) / steps
    y, scores = (rng.random(120) < p).astype(int), np.stack([np.round(1 - p, 3), p], axis=1)
    pairs = np.eye(2)[y].ravel(), scores.ravel()
    for name, reference in (("roc_auc_micro", roc_auc_score), ("average_precision_micro", average_precision_score)):
        found = jaxci.interval(name, y, scores, n_resamples=19, confidence_level=0.5, rng=0).estimate
        assert found == pytest.approx(reference(*pairs), rel=1e-12)
