"""What every metric, every interval method and every pair of them promises."""

import dataclasses
import functools
import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.inference import replicate
from jaxci.inference.batch import batch_evidence
from jaxci.inference.batch_replicates import programs_of, replicates_of
from jaxci.inference.wanted import Wanted
from jaxci.intervals.capabilities import has_beta_law
from jaxci.intervals.quantile import QuantileMethod
from jaxci.intervals.registry import METHODS, applicable_methods, method_by_name
from jaxci.records import decode, settings
from jaxci.resampling.laws import Drawn
from jaxci.statistics import F1, Quantile, WeightedFunction
from jaxci.statistics.base import MomentStatistic, RankedStatistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

N = 40
RESAMPLES = 199
TASKS = ("binary", "multiclass", "regression", "values")
LONGEST_LATER = [pytest.param(task, marks=pytest.mark.slow) if task == "multiclass" else task for task in TASKS]
RANGE = {"low": 0.0, "high": 100.0}
"""Known range of the values, for the methods that need one."""


@functools.cache
def sample_of(task):
    rng = np.random.default_rng([N, TASKS.index(task)])
    if task == "values":
        return Sample(values=rng.gamma(2.0, 3.0, N))
    if task == "regression":
        y = rng.normal(5, 2, N)
        return Sample(y_true=y, y_pred=y + rng.normal(0.3, 1, N))
    classes = 2 if task == "binary" else 3
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, N - classes)]).astype(np.int32)
    logits = rng.normal(size=(N, classes)) + 1.5 * np.eye(classes)[y]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    guess = np.argmax(p, axis=1).astype(np.int32)
    return Sample(y_true=y, y_pred=guess, y_score=p[:, 1] if classes == 2 else p, n_classes=classes)


BOTH = ("accuracy", "balanced_accuracy", "cohen_kappa_score", "log_loss", "brier_score_loss")
"""Metrics of any number of classes that are walked with two classes as well."""


def metrics_of(task):
    also = BOTH if task == "binary" else ()
    return [name for name, statistic in METRICS.items() if statistic.task == task or name in also]


IN_BLOCKS = [name for name, cls in METHODS.items() if cls.requires_blocks]
CLUSTERED = [name for name, cls in METHODS.items() if cls.requires_groups]


def served_by(method, task, **options):
    chosen = METHODS[method](**options)
    return [name for name in metrics_of(task) if chosen.refusal(METRICS[name]) is None]


def rows_of(task, names, **arguments):
    """One result a metric, from as few programs as the verbs allow; methods for clusters alone get some."""
    sample, arguments = sample_of(task), {"n_resamples": RESAMPLES, "rng": 0, **arguments}
    if arguments.get("method") in CLUSTERED:
        arguments = {"groups": np.arange(N) % 12, **arguments}  # each within a stratum of LAYOUTS
    if arguments.get("method") in IN_BLOCKS:
        arguments = {"resampling": "stationary", **arguments}
    if task == "values":
        return [jaxci.interval(name, sample.values, **arguments) for name in names]
    return list(jaxci.evaluate(sample.y_true, sample.y_pred, sample.y_score, metrics=names, **arguments))


def check(row, method, level=0.95):
    statistic = METRICS[row.statistic]
    low, high = row.confidence_interval
    bottom, top = statistic.bounds
    where = f"{row.statistic} by {method}: {row}"
    assert row.method == method
    assert row.confidence_level == level
    assert math.isfinite(row.estimate), where
    if math.isnan(low) or math.isnan(high):
        assert row.warnings, where
    else:
        assert low <= high, where
        assert bottom <= low, where
        assert high <= top, where
        assert low < high or row.warnings, where
    assert math.isnan(row.standard_error) or row.standard_error >= 0, where
    draws = METHODS[method]().reads_resamples
    if method == "proper_bayesian":  # that of a proportion of independent rows is known
        draws = row.bootstrap_distribution is not None
        assert draws or has_beta_law(statistic)
    of_its_own = METHODS[method]().own_resamples > 0
    assert row.n_resamples == (RESAMPLES if draws or of_its_own else 0)
    assert (row.bootstrap_distribution is not None) == draws
    assert row.statistic in str(row)
    assert decode(row.to_dict()["method"], METHODS, key="name") == row.method


# Every metric by every method


PAIRS = [(method, task) for method in METHODS for task in TASKS]
UNIT = "semiparametric_transformed"
"""Serves quantiles of values within [0, 1] only."""
SERVED = [pair for pair in PAIRS if served_by(*pair)]
REFUSED = [pair for pair in PAIRS if len(served_by(*pair)) < len(metrics_of(pair[1]))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "task"),
    [p for p in SERVED if p[0] != UNIT],
)
def test_every_pair_that_is_served_gives_an_interval(method, task):
    names = served_by(method, task)
    rows = rows_of(task, names, method=method)
    assert [row.statistic for row in rows] == names
    for row in rows:
        check(row, method)


@pytest.mark.parametrize(("method", "task"), [pair for pair in SERVED if pair[0] == UNIT])
def test_a_method_for_values_within_the_unit_interval_refuses_others(method, task):
    with pytest.raises(ValueError, match=r"is for values in \[0, 1\]"):
        rows_of(task, served_by(method, task), method=method)


@pytest.mark.parametrize("method", ["hoeffding", "empirical_bernstein", "betting"])
def test_methods_that_need_a_range_serve_any_mean_once_they_are_told_it(method):
    assert "mean" not in served_by(method, "values")
    assert "mean" in served_by(method, "values", **RANGE)
    sample = sample_of("values")
    row = jaxci.interval("mean", sample.values, method=method, **RANGE)
    check(row, method)
    assert row.confidence_interval.low < row.estimate < row.confidence_interval.high
    assert "range" in METHODS[method]().refusal(METRICS["mean"])


@pytest.mark.parametrize("method", METHODS)
def test_refusals_are_reasons(method):
    for name, statistic in METRICS.items():
        reason = METHODS[method]().refusal(statistic)
        assert reason is None or len(reason) > 30
        able = jaxci.list_methods(name, groups=METHODS[method].requires_groups)
        assert (method in able) == (reason is None and method not in IN_BLOCKS)


@pytest.mark.parametrize(("method", "task"), REFUSED)
def test_every_pair_that_is_refused_says_why(method, task):
    refused = [name for name in metrics_of(task) if name not in served_by(method, task)]
    for name in refused[:1]:
        reason = METHODS[method]().refusal(METRICS[name])
        with pytest.raises(ValueError, match="cannot serve") as error:
            rows_of(task, [name], method=method)
        assert reason in str(error.value)
        assert repr(name) in str(error.value)
        for other in applicable_methods(METRICS[name], groups=METHODS[method].requires_groups):
            assert other in str(error.value)


def test_every_metric_is_served_by_the_bootstrap_and_smooth_ones_by_the_delta_method():
    for name, statistic in METRICS.items():
        served = set(applicable_methods(statistic))
        assert {"percentile", "basic", "normal", "bc", "bca"} <= served, name
        assert ({"delta", "studentized", "abc"} <= served) == bool(statistic.smooth), name


LAYOUTS = {
    "groups": {"groups": np.arange(N) % 13},
    "strata": {"strata": np.arange(N) % 3},
    "sample_weight": {"sample_weight": 0.5 + np.arange(N) % 4},
}
DEPENDENT = [name for name, cls in METHODS.items() if cls.takes and not cls.requires_blocks]
INDEPENDENT = [name for name, cls in METHODS.items() if not cls.takes and not cls.requires_blocks]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", DEPENDENT)
def test_methods_that_allow_a_design_serve_it(method, layout):
    candidates = ["accuracy", "balanced_accuracy", "log_loss"] + (["roc_auc"] if layout == "groups" else [])
    if method == "squared_gaps":
        candidates = ["root_mean_squared_calibration_error"]
    given = frozenset({layout}) & METHODS[method].takes
    names = [name for name in candidates if METHODS[method]().refusal_of_data(METRICS[name], given) is None]
    assert names or method in ("t", "woodruff")
    task, names = ("binary", names) if names else ("values", ["mean" if method == "t" else "median"])
    if layout not in METHODS[method].takes:
        with pytest.raises(ValueError, match=f"cannot use {layout}"):
            rows_of(task, names, method=method, **LAYOUTS[layout])
        return
    for row in rows_of(task, names, method=method, **LAYOUTS[layout]):
        check(row, method)
        assert row.n == (13 if layout == "groups" else N)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", INDEPENDENT)
def test_methods_that_assume_independent_rows_refuse_a_design(method, layout):
    task, name = next((task, served_by(method, task)[0]) for task in TASKS if served_by(method, task))
    with pytest.raises(ValueError, match=f"assumes independent rows of equal weight and cannot use {layout}"):
        rows_of(task, [name], method=method, **LAYOUTS[layout])


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_auto_serves_every_metric_and_says_why(task):
    names = metrics_of(task)
    for row in rows_of(task, names):
        check(row, row.method)
        assert METHODS[row.method]().refusal(METRICS[row.statistic]) is None
        assert len(row.reason) > 10


BOOTSTRAP = [name for name, cls in METHODS.items() if "replicates" in cls().needs]


@pytest.mark.slow
@pytest.mark.parametrize("method", BOOTSTRAP)
def test_bounds_are_in_order_where_every_replicate_lies_on_one_side_of_the_estimate(method):
    # A resample of well calibrated predictions is worse calibrated than the sample.
    p = np.sort(np.random.default_rng(1).random(200))
    y = np.diff(np.floor(np.cumsum(p) + 0.5), prepend=0.0).astype(int)
    rows = {"resampling": "stationary" if method in IN_BLOCKS else "bootstrap"}
    row = jaxci.interval("expected_calibration_error", y, p, method=method, n_resamples=RESAMPLES, rng=0, **rows)
    assert method in IN_BLOCKS or row.bootstrap_distribution.min() > row.estimate
    check(row, method)


# Levels and sides


QUANTILE_METHODS = [name for name, cls in METHODS.items() if issubclass(cls, QuantileMethod)]
TYPICAL = {
    **dict.fromkeys(("z", "t"), ("values", "mean", {})),
    **dict.fromkeys(("hoeffding", "empirical_bernstein", "betting"), ("values", "mean", RANGE)),
    **dict.fromkeys(("delong", "delong_logit", "hanley_mcneil", "newcombe"), ("binary", "roc_auc", {})),
    **dict.fromkeys(("exact", "order_statistic", "woodruff", *QUANTILE_METHODS), ("values", "median", {})),
    **dict.fromkeys(
        ("bonett", "delta", "percentile", "basic", "normal", "bc", "bca", "studentized", "abc"), ("values", "std", {})
    ),
    "square_and_add": ("binary", "balanced_accuracy", {}),
    **dict.fromkeys(("squared_gaps", "block_gaps"), ("binary", "root_mean_squared_calibration_error", {})),
}


def typical(method, **arguments):
    task, name, options = TYPICAL.get(method, ("binary", "accuracy", {}))
    sample = sample_of(task)
    data = {
        "values": (1 / (1 + np.exp(-sample.values)) if method == UNIT else sample.values,),
        "accuracy": (sample.y_true, sample.y_pred),
        "balanced_accuracy": (sample.y_true, sample.y_pred),
        "roc_auc": (sample.y_true, sample.y_score),
        "root_mean_squared_calibration_error": (sample.y_true, sample.y_score),
    }["values" if task == "values" else name]
    if method in CLUSTERED:
        arguments["groups"] = np.arange(N) % 13
    if method in IN_BLOCKS:
        arguments["resampling"] = "stationary"
    return jaxci.interval(name, *data, method=method, n_resamples=399, rng=1, **options, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name != "exact_randomized"])
def test_a_higher_level_contains_a_lower_one(method):
    for alternative in ("two-sided", "less", "greater"):
        inner, middle, outer = (
            typical(method, confidence_level=level, alternative=alternative).confidence_interval
            for level in (0.8, 0.9, 0.95)
        )
        assert outer.low <= middle.low <= inner.low
        assert inner.high <= middle.high <= outer.high
        if alternative == "two-sided":
            assert outer.high - outer.low > inner.high - inner.low


@pytest.mark.parametrize(
    "method", ["wilson", "delong_logit", "newcombe", "square_and_add", "bonett", "delta", "percentile"]
)
def test_a_bound_below_half_of_the_level_is_that_of_the_other_side(method):
    low, high = (
        typical(method, confidence_level=level, alternative=side).confidence_interval
        for level, side in ((0.2, "greater"), (0.8, "less"))
    )
    assert low.low == pytest.approx(high.high, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("order_statistic", "exact_randomized")])
def test_one_sided_bounds_are_those_of_the_two_sided_interval_with_both_tails(method):
    # Order-statistic intervals are the shortest with the level, not those with equal tails.
    both = typical(method, confidence_level=0.9).confidence_interval
    lower = typical(method, confidence_level=0.95, alternative="greater")
    upper = typical(method, confidence_level=0.95, alternative="less")
    assert lower.confidence_interval.low == pytest.approx(both.low, rel=1e-9)
    assert upper.confidence_interval.high == pytest.approx(both.high, rel=1e-9)
    ends = METRICS[lower.statistic].bounds
    if method not in ("hoeffding", "empirical_bernstein", "betting"):
        assert lower.confidence_interval.high == ends[1]
        assert upper.confidence_interval.low == ends[0]


def test_neither_level_nor_method_nor_seed_compiles_another_chunk():
    names = ["f1", "roc_auc"]

    def table(**arguments):
        return rows_of("binary", names, **{"method": "percentile", **arguments})

    table()
    before = replicate._chunk._cache_size()
    for changed in (
        {"confidence_level": 0.9},
        {"alternative": "less"},
        {"method": "basic"},
        {"method": "bca"},
        {"rng": 7},
    ):
        table(**changed)
    assert replicate._chunk._cache_size() == before


# Equivariance


SHIFTED = ("mean", "median", "trimmed_mean", "quantile")
SCALED = ("std", "iqr")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["percentile", "t", "bca", "exact", "delta", "order_statistic", "studentized"])
def test_summaries_move_with_location_and_scale(method):
    x = sample_of("values").values
    a, b = -70.0, 4.0
    for name in (*SHIFTED, *SCALED, "var"):
        if METHODS[method]().refusal(METRICS[name]) is not None:
            continue
        plain = jaxci.interval(name, x, method=method, n_resamples=RESAMPLES, rng=3)
        moved = jaxci.interval(name, a + b * x, method=method, n_resamples=RESAMPLES, rng=3)
        shift, scale = (a, b) if name in SHIFTED else (0.0, b * b if name == "var" else b)
        expected = shift + scale * np.array([plain.estimate, *plain.confidence_interval])
        got = np.array([moved.estimate, *moved.confidence_interval])
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=name)
        assert moved.standard_error == pytest.approx(scale * plain.standard_error, rel=1e-8, nan_ok=True)


def test_a_mirrored_mean_has_a_mirrored_interval():
    x = sample_of("values").values
    for method in ("percentile", "t", "bca", "studentized", "basic", "normal"):
        plain = jaxci.interval("mean", x, method=method, n_resamples=RESAMPLES, rng=3).confidence_interval
        mirrored = jaxci.interval("mean", -x, method=method, n_resamples=RESAMPLES, rng=3).confidence_interval
        np.testing.assert_allclose([mirrored.low, mirrored.high], [-plain.high, -plain.low], rtol=1e-9)


def test_complementary_metrics_have_complementary_intervals():
    for method in ("wilson", "clopper_pearson", "exact", "percentile", "delta", "bca"):
        accuracy, error = rows_of("binary", ["accuracy", "error_rate"], method=method)
        low, high = error.confidence_interval
        np.testing.assert_allclose([1 - high, 1 - low], accuracy.confidence_interval, rtol=1e-9, atol=1e-12)


# Programs


@functools.cache
def weights_of_all():
    """Ones, real weights and counts (3, N), and all N (N - 1) resamples in which one row takes another's place."""
    rng = np.random.default_rng(5)
    three = np.stack([np.ones(N), rng.exponential(size=N), rng.multinomial(N, np.full(N, 1 / N)).astype(float)])
    swaps = np.eye(N)[:, None] - np.eye(N) + 1
    return np.concatenate([three, swaps[~np.eye(N, dtype=bool)]])


def values_of(task):
    """The function of weights (N,) to the values of all metrics of a task."""
    prepared = {name: METRICS[name].prepare(sample_of(task)) for name in metrics_of(task)}
    return lambda weights: jnp.stack([METRICS[name].value(p, weights) for name, p in prepared.items()])


@functools.cache
def values_of_all(task):
    """Values of all metrics for all weights, by one program."""
    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(values_of(task)))(jnp.asarray(weights_of_all())))


@pytest.mark.slow
@pytest.mark.parametrize("task", LONGEST_LATER)
def test_value_is_the_same_compiled_batched_and_neither(task):
    with jax.enable_x64(True):
        values, weights = values_of(task), jnp.asarray(weights_of_all()[:3])
        compiled = np.stack([np.asarray(jax.jit(values)(w)) for w in weights])
        plain = np.asarray(values(weights[1]))
    assert compiled.dtype == np.float64
    assert np.all(np.isfinite(compiled))
    np.testing.assert_allclose(values_of_all(task)[:3], compiled, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(plain, compiled[1], rtol=1e-12, atol=1e-14)


@functools.partial(jax.jit, static_argnames=("wanted", "reading", "errors"))
def evidence_of_batch(statistics, ranks, sample, rows, *, wanted, reading, errors):
    bank = Bank.of(rows, counts=True)
    shared = [s.shared(bank) if reads else None for s, reads in zip(statistics, reading, strict=True)]
    nothing = [None] * len(statistics)
    programs = programs_of(statistics, sample, Layout(N))
    found = replicates_of(statistics, wanted, sample, programs, shared, None, nothing, Layout(N))
    batch = batch_evidence(statistics, wanted, sample, programs, found, ranks, None, {}, Layout(N))
    return [(one.estimate, one.standard_error if errors else None, one.distribution) for one, _ in batch]


@pytest.mark.slow
@pytest.mark.parametrize("task", LONGEST_LATER)
def test_a_batch_of_data_sets_gives_what_each_gives_alone(task):
    """Replicates are compared as sets: the bank is closed under permutations, as a batch may meet rows in any order."""
    statistics = tuple(METRICS[name] for name in metrics_of(task))
    wanted = tuple(Wanted.by([METHODS["percentile"]()], s) for s in statistics)
    ranks = tuple(want.ranks_of(s, Layout(N)) for s, want in zip(statistics, wanted, strict=True))
    reading = tuple(want.replicates_of(s, Layout(N)) for s, want in zip(statistics, wanted, strict=True))
    smooth = served_by("delta", task) if task != "multiclass" else []  # whose derivatives take long to compile
    one = sample_of(task)
    other = one.take(np.r_[np.arange(N - 8), np.arange(8)])
    with jax.enable_x64(True):
        rows = jnp.asarray(np.concatenate([weights_of_all()[3:], np.ones((1, N))]), jnp.float32)
        static = {"wanted": wanted, "reading": reading, "errors": bool(smooth)}
        pairs = [jax.tree.map(lambda *x: np.stack(x), one, second) for second in (other, one)]
        mixed, twice = (
            jax.tree.map(np.asarray, evidence_of_batch(statistics, ranks, pair, rows, **static)) for pair in pairs
        )
    expected = values_of_all(task)
    rows = rows_of(task, smooth, method="delta") if smooth else []
    errors = {row.statistic: row.standard_error for row in rows}
    for number, name in enumerate(metrics_of(task)):
        (estimate, error, law), (again, _, same) = mixed[number], twice[number]
        np.testing.assert_allclose(estimate[0], expected[0, number], rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(again, estimate[0], rtol=1e-12, err_msg=name)
        if name in errors:
            np.testing.assert_allclose(error[0], errors[name], rtol=1e-9, err_msg=name)
        if isinstance(law, Drawn):
            found = np.sort(law.mapped(law.ordered), axis=-1)
            np.testing.assert_allclose(found[0], np.sort(expected[3:, number]), rtol=1e-6, atol=1e-6, err_msg=name)
            np.testing.assert_array_equal(found[0], np.sort(same.mapped(same.ordered), axis=-1)[1], err_msg=name)
    assert any(estimate[0] != estimate[1] for estimate, _, _ in mixed)


@pytest.mark.parametrize("task", TASKS)
def test_prepared_data_may_be_arguments_of_a_program(task):
    sample = sample_of(task)
    statistics = [METRICS[name] for name in metrics_of(task)]
    with jax.enable_x64(True):
        prepared = [statistic.prepare(sample) for statistic in statistics]
        found = jax.eval_shape(
            lambda s, p, w: [x.value(y, w) for x, y in zip(s, p, strict=True)],
            statistics,
            prepared,
            jax.ShapeDtypeStruct((N,), jnp.float64),
        )
    for statistic, value in zip(statistics, found, strict=True):
        assert value.shape == (), statistic
        assert value.dtype == jnp.float64, statistic


def test_declarations_are_complete():
    for name, statistic in METRICS.items():
        assert statistic.task in TASKS, name
        assert isinstance(statistic, MomentStatistic | TableStatistic | OrderStatistic | RankedStatistic), name
        assert set(statistic.inputs) <= {"values", "y_true", "y_pred", "y_score"}, name
        low, high = statistic.bounds
        assert low < high, name
        assert isinstance(statistic.smooth, bool), name
        assert isinstance(statistic.loss, bool), name
    for name, cls in METHODS.items():
        assert cls.name == name
        assert cls.needs


# Records


def _records():
    found = {f"metric {name}": statistic for name, statistic in METRICS.items()}
    found |= {f"method {name}": cls() for name, cls in METHODS.items()}
    found["quantile with a probability"] = Quantile(q=0.3)
    found["f1 of a class"] = F1(average="class", class_index=2, zero_division=math.nan)
    found["weighted function"] = WeightedFunction(np.dot)
    found["paired f1"] = paired_difference(F1())
    return found


RECORDS = _records()


@pytest.mark.parametrize("name", RECORDS)
def test_records_survive_flattening_and_print(name):
    whole = RECORDS[name]
    leaves, structure = jax.tree.flatten(whole)
    again = jax.tree.unflatten(structure, leaves)
    assert type(again) is type(whole)
    assert repr(settings(again)) == repr(settings(whole))
    assert jax.tree.structure(again) == structure
    assert hash(structure) == hash(jax.tree.structure(again))
    assert repr(whole).startswith(type(whole).__name__ + "(")
    for field in dataclasses.fields(whole):
        assert field.name in repr(whole)
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.anything = 1
    assert dataclasses.replace(whole) is not whole


@pytest.mark.parametrize("name", [name for name in RECORDS if name.startswith(("metric", "method"))])
def test_records_are_made_again_from_their_settings(name):
    whole = RECORDS[name]
    again = type(whole)(**settings(whole))
    assert jax.tree.structure(again) == jax.tree.structure(whole)
    assert repr(again) == repr(whole)


# Unknown names and options


@pytest.mark.parametrize("method", METHODS)
def test_unknown_options_of_a_method_fail(method):
    with pytest.raises(TypeError, match=f"method '{method}' has no option 'tightness'"):
        method_by_name(method, {"tightness": 2})


def test_unknown_options_fail_before_anything_is_drawn():
    x = sample_of("values").values
    for method in ("percentile", "bca", "t"):
        with pytest.raises(TypeError, match="has no option 'tightness'"):
            jaxci.interval("mean", x, method=method, tightness=2)
    with pytest.raises(TypeError, match="mean has no option 'tightness', and method 'auto' has none"):
        jaxci.interval("mean", x, tightness=2)
    with pytest.raises(TypeError, match="tightness"):
        F1(tightness=2)


@pytest.mark.parametrize(
    ("given", "meant"), [("wilsn", "wilson"), ("BCa", "bca"), ("clopper-pearson", "clopper_pearson")]
)
def test_an_unknown_method_names_the_nearest(given, meant):
    with pytest.raises(ValueError, match=f"got '{given}': did you mean '{meant}'"):
        method_by_name(given)


def test_an_unknown_metric_names_the_nearest():
    sample = sample_of("binary")
    with pytest.raises(ValueError, match="did you mean 'accuracy'"):
        jaxci.evaluate(sample.y_true, sample.y_pred, metrics=["acuracy"])


def test_a_warning_is_given_once_for_each_remark():
    sample = sample_of("binary")
    right = sample.y_true
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        row = jaxci.evaluate(right, right, metrics=["accuracy"], method="wald")["accuracy"]
    texts = [str(w.message) for w in caught if issubclass(w.category, jaxci.JaxciWarning)]
    assert row.warnings
    assert sorted(texts) == sorted({f"accuracy: {text}" for text in row.warnings})
