"""Confusion-matrix statistics: hand-computed values, edges, absent classes, influence, batching."""

import functools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.statistics.averaged import F1, FBeta, Jaccard, NegativePredictiveValue, Precision, Recall, Specificity
from jaxci.statistics.base import TableStatistic
from jaxci.statistics.classification import (
    METRICS,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    ErrorRate,
    MatthewsCorrcoef,
    OneVsRest,
)
from jaxci.statistics.sample import Sample

BINARY = np.array([[50, 10], [5, 35]])
TERNARY = np.array([[5, 1, 2], [0, 3, 1], [2, 2, 4]])
AVERAGED = (Precision, Recall, Specificity, NegativePredictiveValue, FBeta, F1, Jaccard)
MACRO_F1_TRUE = np.array([0, 1, 2, 2, 2, 1, 1, 1, 0, 2, 2, 1, 0, 2, 2, 1, 2, 2, 1, 1])
MACRO_F1_PREDICTED = np.array([0, 1, 0, 0, 2, 1, 1, 1, 0, 2, 2, 1, 0, 1, 2, 1, 2, 2, 1, 1])


def sample_of(y_true, y_pred, n_classes):
    return Sample(y_true=np.asarray(y_true, np.int32), y_pred=np.asarray(y_pred, np.int32), n_classes=n_classes)


def expand(table):
    """Return a sample whose confusion matrix is ``table``."""
    cells = np.repeat(np.arange(table.size), table.ravel())
    return sample_of(cells // len(table), cells % len(table), len(table))


def estimate(statistic, sample, weights=None):
    """Evaluate in float64."""
    with jax.enable_x64(True):
        weights = np.ones(sample.n) if weights is None else np.asarray(weights)
        return float(statistic.value(statistic.prepare(sample), jnp.asarray(weights)))


def of_table(statistic, table):
    """Evaluate ``from_sums`` on a whole ``table`` in float64."""
    everywhere = expand(np.ones(table.shape, int))
    with jax.enable_x64(True):
        sums = jnp.asarray(table.ravel(), float)
        return float(statistic.from_sums(statistic.prepare(everywhere), sums))


def sample_for(statistic, n=600):
    """Return a random sample of 2 or 3 classes in which every cell occurs."""
    k = 2 if statistic.task == "binary" else 3
    rng = np.random.default_rng(5)
    y_true = rng.choice(k, n, p=np.array([0.5, 0.3, 0.2])[:k] / sum([0.5, 0.3, 0.2][:k]))
    y_pred = np.where(rng.random(n) < 0.6, y_true, rng.integers(0, k, n))
    return sample_of(y_true, y_pred, k)


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (Accuracy(), 85 / 100),
        (ErrorRate(), 15 / 100),
        (BalancedAccuracy(), (50 / 60 + 35 / 40) / 2),
        (BalancedAccuracy(adjusted=True), 50 / 60 + 35 / 40 - 1),
        (Precision(), 35 / 45),
        (Recall(), 35 / 40),
        (Specificity(), 50 / 60),
        (NegativePredictiveValue(), 50 / 55),
        (F1(), 70 / 85),
        (FBeta(), 5 * 35 / (5 * 35 + 4 * 5 + 10)),
        (FBeta(beta=0.0), 35 / 45),
        (FBeta(beta=math.inf), 35 / 40),
        (Jaccard(), 35 / 50),
        (MatthewsCorrcoef(), (50 * 35 - 10 * 5) / math.sqrt(45 * 40 * 60 * 55)),
        (CohenKappa(), (0.85 - (0.6 * 0.55 + 0.4 * 0.45)) / (1 - (0.6 * 0.55 + 0.4 * 0.45))),
    ],
)
def test_binary_values_by_hand(statistic, expected):
    assert of_table(statistic, BINARY) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (Accuracy(), 12 / 20),
        (BalancedAccuracy(), (5 / 8 + 3 / 4 + 4 / 8) / 3),
        (BalancedAccuracy(adjusted=True), ((5 / 8 + 3 / 4 + 4 / 8) / 3 - 1 / 3) / (2 / 3)),
        (Precision(average="macro"), (5 / 7 + 3 / 6 + 4 / 7) / 3),
        (Precision(average="weighted"), (8 * 5 / 7 + 4 * 3 / 6 + 8 * 4 / 7) / 20),
        (Precision(average="class", class_index=2), 4 / 7),
        (Recall(average="class", class_index=0), 5 / 8),
        (Recall(average="weighted"), 12 / 20),
        (Specificity(average="macro"), (10 / 12 + 13 / 16 + 9 / 12) / 3),
        (Specificity(average="micro"), 32 / 40),
        (NegativePredictiveValue(average="macro"), (10 / 13 + 13 / 14 + 9 / 13) / 3),
        (F1(average="macro"), (10 / 15 + 6 / 10 + 8 / 15) / 3),
        (Jaccard(average="macro"), (5 / 10 + 3 / 7 + 4 / 11) / 3),
        (Jaccard(average="micro"), 12 / 28),
        (MatthewsCorrcoef(), (20 * 12 - 136) / math.sqrt((400 - 134) * (400 - 144))),
        (CohenKappa(), (12 / 20 - 136 / 400) / (1 - 136 / 400)),
        (CohenKappa(weights="linear"), 1 - 12 / (376 / 20)),
        (CohenKappa(weights="quadratic"), 1 - 20 / (600 / 20)),
    ],
)
def test_multiclass_values_by_hand(statistic, expected):
    assert of_table(statistic, TERNARY) == pytest.approx(expected, rel=1e-14)


def test_weights_of_kappa_are_for_classes_in_an_order():
    assert of_table(CohenKappa(weights="quadratic"), BINARY) == of_table(CohenKappa(weights="linear"), BINARY)
    assert of_table(CohenKappa(weights="linear"), BINARY) == pytest.approx(of_table(CohenKappa(), BINARY), rel=1e-14)
    assert of_table(CohenKappa(weights="quadratic"), np.array([[0, 0, 5], [0, 0, 0], [5, 0, 0]])) == -1
    with pytest.raises(ValueError, match="weights must be 'linear', 'quadratic' or None; got 'cubic'"):
        CohenKappa(weights="cubic")


@pytest.mark.parametrize("cls", [Precision, Recall, F1, FBeta])
def test_micro_average_is_accuracy(cls):
    assert of_table(cls(average="micro"), TERNARY) == pytest.approx(12 / 20, rel=1e-15)


def test_f1_is_fbeta_of_one_and_a_function_of_jaccard():
    for average in ("macro", "weighted", "class"):
        f1 = of_table(F1(average=average), TERNARY)
        assert f1 == pytest.approx(of_table(FBeta(average=average, beta=1.0), TERNARY), rel=1e-15)
    jaccard = of_table(Jaccard(average="class", class_index=0), TERNARY)
    assert of_table(F1(average="class", class_index=0), TERNARY) == pytest.approx(2 * jaccard / (1 + jaccard))


def test_registered_names_and_tasks():
    assert METRICS["f1_macro"].task == "multiclass"
    assert METRICS["f1"].task == "binary"
    assert METRICS["matthews_corrcoef"].bounds == METRICS["cohen_kappa_score"].bounds == (-1.0, 1.0)
    assert BalancedAccuracy(adjusted=True).bounds == (-1.0, 1.0)
    assert {name for name, statistic in METRICS.items() if statistic.loss} == {"error_rate"}
    for statistic in METRICS.values():
        assert isinstance(statistic, TableStatistic)
        assert statistic.smooth


# --- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METRICS)
def test_perfect_prediction_is_exactly_the_best_value(name):
    statistic = METRICS[name]
    assert of_table(statistic, np.diag([3, 7])) == (0.0 if statistic.loss else 1.0)


@pytest.mark.parametrize("name", METRICS)
def test_two_observations(name):
    statistic = METRICS[name]
    value = estimate(statistic, sample_of([0, 1], [1, 0], 2))
    assert value == {"error_rate": 1.0, "matthews_corrcoef": -1.0, "cohen_kappa_score": -1.0}.get(name, 0.0)


@pytest.mark.slow
def test_one_class_everywhere():
    one = sample_of([0, 0, 0], [0, 0, 0], 1)
    assert estimate(Accuracy(), one) == estimate(BalancedAccuracy(), one) == 1.0
    assert estimate(F1(average="macro"), one) == 1.0
    assert estimate(MatthewsCorrcoef(), one) == 0.0
    assert math.isnan(estimate(CohenKappa(), one))
    assert math.isnan(estimate(BalancedAccuracy(adjusted=True), one))
    assert estimate(Specificity(average="macro", zero_division=1.0), one) == 1.0


def test_constant_prediction_has_no_correlation():
    table = np.array([[6, 0], [4, 0]])
    assert of_table(MatthewsCorrcoef(), table) == 0.0
    assert of_table(CohenKappa(), table) == 0.0
    assert of_table(Precision(), table) == 0.0
    assert of_table(Precision(zero_division=1.0), table) == 1.0
    assert math.isnan(of_table(Precision(zero_division=math.nan), table))


@pytest.mark.parametrize("name", METRICS)
def test_no_weight_at_all_is_undefined(name):
    assert math.isnan(of_table(METRICS[name], np.zeros((2, 2))))


def test_zeros_stay_exact_under_real_weights():
    rng = np.random.default_rng(0)
    table = np.zeros((4, 4))
    table[:, 2] = rng.random(4)
    assert of_table(MatthewsCorrcoef(), table) == 0.0
    assert of_table(Specificity(average="class", class_index=2), table) == 0.0
    assert of_table(NegativePredictiveValue(average="class", class_index=2), table) == 0.0
    table[:] = 0
    table[1, 1] = 0.3
    assert math.isnan(of_table(CohenKappa(), table))


def test_weights_may_be_integers():
    sample = expand(BINARY)
    for statistic in (Accuracy(), F1(), MatthewsCorrcoef()):
        whole = statistic.value(statistic.prepare(sample), jnp.ones(sample.n, jnp.int32))
        assert whole.dtype == jnp.float32
        assert float(whole) == pytest.approx(of_table(statistic, BINARY), rel=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_float32_is_accurate_at_ten_million_rows(name):
    statistic = METRICS[name]
    table = np.array([[8_999_871, 999_903], [113, 113]])
    prepared = statistic.prepare(expand(np.ones((2, 2), int)))
    single = statistic.from_sums(prepared, jnp.asarray(table.ravel(), jnp.float32))
    assert single.dtype == jnp.float32
    # Kappa is 1 minus a number near 1 here: what float32 can promise is an absolute error.
    absolute = 2e-7 if name == "cohen_kappa_score" else 0.0
    assert float(single) == pytest.approx(of_table(statistic, table), rel=1e-6, abs=absolute)


# --- absent classes -----------------------------------------------------------------------------

LACKS_1 = np.array([[6, 1, 1], [0, 0, 0], [1, 0, 3]])
"""Class 1 is predicted once and never true; its recall is 0 / 0 and its F is 0."""
LACKS_2 = np.array([[6, 2, 0], [1, 3, 0], [0, 0, 0]])
"""Class 2 is neither true nor predicted; all its ratios but specificity and NPV are 0 / 0."""


@pytest.mark.parametrize(
    ("cls", "table", "zero_division", "sklearn", "zero", "skip"),
    [
        (Recall, LACKS_1, 0.0, (6 / 8 + 0 + 3 / 4) / 3, (6 / 8 + 3 / 4) / 3, (6 / 8 + 3 / 4) / 2),
        (Recall, LACKS_1, 1.0, (6 / 8 + 1 + 3 / 4) / 3, (6 / 8 + 3 / 4) / 3, (6 / 8 + 3 / 4) / 2),
        (Recall, LACKS_1, math.nan, (6 / 8 + 3 / 4) / 2, (6 / 8 + 3 / 4) / 3, (6 / 8 + 3 / 4) / 2),
        (F1, LACKS_1, 1.0, (12 / 15 + 6 / 8) / 3, (12 / 15 + 6 / 8) / 3, (12 / 15 + 6 / 8) / 2),
        (F1, LACKS_2, 1.0, (12 / 15 + 6 / 9 + 1) / 3, (12 / 15 + 6 / 9) / 3, (12 / 15 + 6 / 9) / 2),
        (Specificity, LACKS_1, 0.0, *((3 / 4 + 11 / 12 + 7 / 8) / 3,) * 2, (3 / 4 + 7 / 8) / 2),
    ],
)
def test_macro_average_without_a_class(cls, table, zero_division, sklearn, zero, skip):
    for rule, expected in (("sklearn", sklearn), ("zero", zero), ("skip", skip)):
        statistic = cls(average="macro", zero_division=zero_division, absent_class=rule)
        assert of_table(statistic, table) == pytest.approx(expected, rel=1e-14), rule


def test_score_of_the_absent_class_itself():
    for rule, expected in (("sklearn", 1.0), ("zero", 0.0), ("skip", math.nan)):
        statistic = Recall(average="class", class_index=1, zero_division=1.0, absent_class=rule)
        assert of_table(statistic, LACKS_1) == pytest.approx(expected, nan_ok=True)
        positive = Recall(zero_division=1.0, absent_class=rule)
        assert of_table(positive, np.array([[4, 1], [0, 0]])) == pytest.approx(expected, nan_ok=True)


def test_balanced_accuracy_without_a_class():
    mean = (6 / 8 + 3 / 4) / 2
    for rule in ("sklearn", "skip"):
        assert of_table(BalancedAccuracy(absent_class=rule), LACKS_1) == pytest.approx(mean)
        adjusted = BalancedAccuracy(absent_class=rule, adjusted=True)
        assert of_table(adjusted, LACKS_1) == pytest.approx(2 * mean - 1)
    assert of_table(BalancedAccuracy(absent_class="zero"), LACKS_1) == pytest.approx(mean * 2 / 3)
    adjusted = BalancedAccuracy(absent_class="zero", adjusted=True)
    assert of_table(adjusted, LACKS_1) == pytest.approx((mean * 2 / 3 - 1 / 3) / (2 / 3))


@pytest.mark.parametrize("rule", ["sklearn", "zero", "skip"])
def test_weighted_average_gives_an_absent_class_no_weight(rule):
    recall = Recall(average="weighted", zero_division=1.0, absent_class=rule)
    assert of_table(recall, LACKS_1) == pytest.approx(9 / 12, rel=1e-15)


@pytest.mark.parametrize("statistic", [Accuracy(), MatthewsCorrcoef(), CohenKappa(), F1(average="macro")])
def test_absent_class_is_reported(statistic):
    y_true = np.array([0, 1, 2, 3, 3, 1, 0])
    sample = sample_of(y_true, [0, 1, 2, 3, 4, 5, 5], 6)  # classes 4 and 5 are only ever predicted
    prepared = statistic.prepare(sample)
    weights = jnp.array([[1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 0], [2, 0, 1, 0, 3, 1, 0]], float)
    found = jax.vmap(lambda w: statistic.absent(prepared, w))(weights)
    assert found.tolist() == [False, True, False]
    part = jax.vmap(prepared.sums)(weights)
    bare = prepared.without_rows()
    assert jax.vmap(lambda s: statistic.absent_in_sums(bare, s))(part).tolist() == [False, True, False]


# --- influence ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_delta_standard_error_of_macro_f1():
    statistic = METRICS["f1_macro"]
    sample = sample_of(MACRO_F1_TRUE, MACRO_F1_PREDICTED, 3)
    with jax.enable_x64(True):
        prepared = statistic.prepare(sample)
        slope = jax.grad(lambda w: statistic.value(prepared, w))(jnp.ones(20))
        influence = 20 * np.asarray(slope)
    standard_error = math.sqrt(np.sum(influence**2)) / 20
    assert standard_error == pytest.approx(0.0891008, abs=5e-8)
    low, high = np.array([-1.96, 1.96]) * standard_error + estimate(statistic, sample)
    assert (round(low, 3), round(high, 3)) == (0.656, 1.005)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_gradient_is_the_influence_function(name):
    statistic = METRICS[name]
    sample = sample_for(statistic)
    n = sample.n
    with jax.enable_x64(True):
        prepared = statistic.prepare(sample)

        def value(w):
            return statistic.value(prepared, w)

        theta, slope = jax.value_and_grad(value)(jnp.ones(n))
        influence = n * np.asarray(slope)
        # Rows of one cell are alike: one of each is enough.
        rows = np.unique(np.asarray(prepared.codes), return_index=True)[1]
        change = np.eye(n)[rows]
        out, up, down = np.asarray(
            jax.vmap(value)(np.concatenate([1 - change, 1 + 1e-4 * change, 1 - 1e-4 * change]))
        ).reshape(3, -1)
    largest = np.abs(influence).max()
    assert abs(influence.sum()) < 1e-9 * largest * n  # the value does not change with the scale of w
    # Central differences of step h: error O(h^2) and rounding 1e-16 / h.
    np.testing.assert_allclose(n * (up - down) / 2e-4, influence[rows], atol=1e-7 * largest)
    # Leaving one row out is a finite step: it differs from the tangent by O(1 / n_k), n_k the rows of
    # the smallest class (about 120), some 1% of the largest influence.
    np.testing.assert_allclose((n - 1) * (float(theta) - out), influence[rows], atol=0.02 * largest)


@pytest.mark.slow
@pytest.mark.parametrize("absent_class", ["sklearn", "zero", "skip"])
def test_gradient_is_finite_wherever_the_value_is(absent_class):
    degenerate = [LACKS_1, LACKS_2, np.diag([4, 0, 0]), np.diag([1, 2, 3]), np.eye(3, k=1, dtype=int) * 2]
    statistics = [
        Accuracy(),
        BalancedAccuracy(absent_class=absent_class),
        MatthewsCorrcoef(),
        CohenKappa(),
        *(
            cls(average=average, absent_class=absent_class, zero_division=zero_division)
            for cls in (Recall, Specificity, FBeta, Jaccard)
            for average, zero_division in (("macro", math.nan), ("weighted", math.nan), ("micro", 0.0))
        ),
    ]
    sums = jnp.asarray(np.stack(degenerate).reshape(len(degenerate), 9), jnp.float32)
    for statistic in statistics:
        prepared = statistic.prepare(expand(np.ones((3, 3), int)))
        from_sums = functools.partial(statistic.from_sums, prepared)
        values, slopes = jax.vmap(jax.value_and_grad(from_sums))(sums)
        assert np.isfinite(np.asarray(slopes)[np.isfinite(values)]).all(), statistic


# --- the same value on every road -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_batch_loop_and_sums_agree(name):
    statistic = METRICS[name]
    sample = sample_for(statistic, n=40)
    weights = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=4).astype(float)
    loop = [estimate(statistic, sample, w) for w in weights]
    with jax.enable_x64(True):
        prepared = statistic.prepare(sample)
        value = jax.jit(jax.vmap(functools.partial(statistic.value, prepared)))
        batch, scaled = np.asarray(value(weights)), np.asarray(value(weights / 40))
        sums = weights @ np.eye(prepared.size)[prepared.codes]
        bare = prepared.without_rows()
        from_sums = [float(statistic.from_sums(bare, jnp.asarray(s))) for s in sums]
    np.testing.assert_allclose(batch, loop, rtol=1e-14)
    np.testing.assert_allclose(from_sums, loop, rtol=1e-14)
    np.testing.assert_allclose(scaled, loop, rtol=1e-13, atol=1e-15)


def test_tuning_values_do_not_retrace():
    sample = sample_for(F1(average="macro"), n=40)

    @jax.jit
    @chex.assert_max_traces(1)
    def value(statistic, prepared, weights):
        return statistic.value(prepared, weights)

    weights = jnp.ones(40)
    prepared = sample.confusion
    values = [
        float(value(FBeta(average="macro", zero_division=float("nan"), beta=beta), prepared, weights))
        for beta in (0.5, 1.0, 2.0)
    ]
    assert len(set(values)) == 3


def test_metrics_of_one_sample_share_its_cells():
    sample = expand(BINARY)
    assert METRICS["f1"].prepare(sample) is METRICS["accuracy"].prepare(sample)


# --- proportions --------------------------------------------------------------------------------


def test_successes_of_proportions():
    table = jnp.asarray(TERNARY, jnp.float32)
    pairs = {
        Accuracy(): (12, 20),
        ErrorRate(): (8, 20),
        Precision(average="class", class_index=0): (5, 7),
        Recall(average="class", class_index=2): (4, 8),
        Specificity(average="class", class_index=1): (13, 16),
        NegativePredictiveValue(average="class", class_index=1): (13, 14),
        Precision(average="micro"): (12, 20),
        Recall(average="weighted"): (12, 20),
        F1(average="micro"): (12, 20),
        F1(average="class", class_index=0): (5, 10),
        Jaccard(average="class", class_index=2): (4, 11),
    }
    for statistic, pair in pairs.items():
        assert statistic.is_proportion
        assert tuple(map(float, statistic.successes(table))) == pair


@pytest.mark.parametrize("name", METRICS)
def test_a_proportion_or_what_tells_of_one_is_known_from_successes_and_trials(name):
    statistic = METRICS[name]
    table = BINARY if statistic.task == "binary" else TERNARY
    pair = statistic.successes(jnp.asarray(table, jnp.float32))
    assert (pair is not None) == statistic.is_proportion
    if pair is not None:
        share = float(pair[0]) / float(pair[1])
        value, slope = statistic.of_share(share)
        assert value == pytest.approx(of_table(statistic, table), rel=1e-14)
        ends = [statistic.of_share(share + step)[0] for step in (-1e-6, 1e-6)]
        assert slope == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-6)
        assert (statistic.share is None) == (name != "f1")


@pytest.mark.parametrize(
    "statistic",
    [BalancedAccuracy(), F1(average="macro"), Jaccard(average="micro"), FBeta(), Recall(average="macro")],
)
def test_means_and_ratios_are_no_proportions(statistic):
    assert not statistic.is_proportion
    assert statistic.successes(jnp.asarray(BINARY)) is None


def test_one_vs_rest_counts():
    counts = OneVsRest.of(jnp.asarray(TERNARY))
    chex.assert_shape(list(counts), (3,))
    assert [x.tolist() for x in counts] == [[5, 3, 4], [3, 1, 4], [2, 3, 3], [12, 16, 12], [13, 14, 13]]
    assert [int(x) for x in counts.pooled()] == [12, 8, 8, 40, 40]


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", AVERAGED)
def test_unknown_settings_are_refused(cls):
    with pytest.raises(ValueError, match=r"average must be one of .* got 'samples'"):
        cls(average="samples")
    with pytest.raises(ValueError, match=r"absent_class must be one of .* got 'drop'"):
        cls(absent_class="drop")
    with pytest.raises(ValueError, match=r"zero_division must be 0\.0, 1\.0 or nan; got 0\.5"):
        cls(zero_division=0.5)


@pytest.mark.parametrize("average", ["binary", "macro"])
def test_a_class_is_named_for_the_score_of_one_alone(average):
    with pytest.raises(ValueError, match=f"class_index goes with average='class' alone; got 0 and average='{average}'"):
        Recall(average=average, class_index=0)


def test_balanced_accuracy_refuses_unknown_rule():
    with pytest.raises(ValueError, match="absent_class must be one of"):
        BalancedAccuracy(absent_class="drop")


def test_prepare_names_the_rule_that_is_broken():
    three = expand(TERNARY)
    with pytest.raises(ValueError, match="average='binary' needs exactly 2 classes; got 3"):
        F1().prepare(three)
    with pytest.raises(ValueError, match=r"class_index must be from 0 to 2 \(3 classes\); got 3"):
        Recall(average="class", class_index=3).prepare(three)
    with pytest.raises(ValueError, match="Accuracy needs class labels y_true and y_pred"):
        Accuracy().prepare(Sample(y_true=np.zeros(3, np.int32), n_classes=1))
