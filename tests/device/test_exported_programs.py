"""Programs of coverage cells lowered for accelerators that are not at hand, and held against the road of a CPU."""

import dataclasses
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.coverage import banks, dispatch
from jaxci.coverage import cell as cells
from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import Cell, Simulation
from jaxci.distributions import Cells, Clustered, EmpiricalTargets, LogitKDE, Parametric, Stratified, Truth
from jaxci.inducers import MLP, Boosting, Forest, Tree
from jaxci.inference.sharding import Spread
from jaxci.intervals.concentration import ConcentrationMethod
from jaxci.intervals.registry import METHODS
from jaxci.resampling.posterior import GammaTables
from jaxci.resampling.schemes import make_scheme
from jaxci.statistics import Quantile, RocAuc, WeightedFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import METRICS

N, B, R, G = 16, 63, 6, 2
PLATFORMS = ("cuda", "tpu")
QUICK = {"xla_backend_optimization_level": 0}


def weighted_mean(x, weights):
    return jnp.sum(x * weights) / jnp.sum(weights)


def table(k):
    return Cells(np.random.default_rng(k).random((k, k)) + 2 * np.eye(k))


def scores(k):
    labels = np.arange(40) % k
    logits = np.random.default_rng(k).normal(size=(40, k)) + 1.5 * np.eye(k)[labels]
    return LogitKDE.fit(logits[:, 1] - logits[:, 0] if k == 2 else logits, labels)


def targets():
    y, noise = np.random.default_rng(0).normal(size=(2, 40))
    return EmpiricalTargets(y, y + noise / 2)


def named(*names):
    return {name: METRICS[name] for name in names}


VALUES = Parametric("beta", {"a": 8, "b": 2})
KINDS = {
    "means and moments": (VALUES, {**named("mean", "std"), "own": WeightedFunction(weighted_mean)}),
    "order statistics": (VALUES, {**named("median", "iqr", "trimmed_mean"), "quantile": Quantile(0.7)}),
    "targets": (targets(), named("root_mean_squared_error", "r2", "pearsonr", "spearmanr")),
    "tables, K = 2": (table(2), named("accuracy", "precision", "matthews_corrcoef")),
    "tables, K = 4": (table(4), named("balanced_accuracy", "f1_macro", "matthews_corrcoef")),
    "ranks, K = 2": (
        scores(2),
        {
            **named(
                "roc_auc", "average_precision", "expected_calibration_error", "root_mean_squared_calibration_error"
            ),
            "partial": RocAuc(max_fpr=0.2),
        },
    ),
    "tables in clusters": (Clustered(table(2), (1, 2, 3, 4, 6), 0.3), named("accuracy", "recall", "f1")),
    "values in clusters and strata": (
        Stratified((Clustered(VALUES, 3, 0.3), Clustered(VALUES, 4, 0.3)), (2, 1)),
        named("mean", "median"),
    ),
    "ranks, K = 4": (
        scores(4),
        named("roc_auc_ovr", "roc_auc_ovo", "roc_auc_micro", "average_precision_macro", "average_precision_micro"),
    ),
}
FOREIGN = re.compile(r"custom_call|infeed|outfeed|stablehlo\.(?:send|recv)|memory_kind|pinned_host|annotate_device")
"""What is no plain computation on the device: calls of Python or of a library, and traffic with the host."""


SETTINGS = {"calibrated": {"n_outer": 19, "n_inner": 19}}
EVERY = [
    cls(0.0, 1.0) if issubclass(cls, ConcentrationMethod) else cls(**SETTINGS.get(name, {}))
    for name, cls in METHODS.items()
]

BANKED = ["percentile", "bca", "studentized", "proper_bayesian", METHODS["calibrated"](**SETTINGS["calibrated"])]
"""Methods that read all that the banks of a group hold."""


def cell_of(kind, names=None, n_replications=R, methods=EVERY):
    law, statistics = KINDS[kind]
    return Cell(law, N, {k: statistics[k] for k in names or statistics}, methods, (0.8,), n_replications, B, G)


def reading_all_evidence(kind):
    """Methods that together read all that any reads in a cell: bounds of each are exported among the contracts."""
    judged, chosen, read = simulation_of(cell_of(kind)).series.judged, {}, set()
    for one in judged:
        method = one.method
        reads = {*method.needs, method.prior, method.nesting, (method.by_jackknife, method.by_leverage)}
        if not {(one.number, what) for what in reads} <= read:
            read |= {(one.number, what) for what in reads}
            chosen[method] = None
    return list(chosen)


def simulation_of(cell, truth=0.5):
    return Simulation.of(cell, {name: Truth(truth, 0.0, "assumed") for name in cell.statistics})


def banked_of(simulation, key=0):
    """The banks of a group."""
    return Banks(jax.random.key(key)).of(0, simulation.asked, simulation.cell.layout, B, Spread.over())


def exported(function, *arguments):
    """Lower ``function`` for all platforms at once."""
    return jax.export.export(jax.jit(function), platforms=PLATFORMS)(*arguments)


def foreign(program):
    return sorted(set(FOREIGN.findall(program.mlir_module())))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_is_one_program_of_accelerators_that_only_counts_leave(kind, float64):
    simulation = simulation_of(cell_of(kind, methods=reading_all_evidence(kind)))
    assert set(simulation.names) == set(KINDS[kind][1])
    groups = jax.tree.map(lambda x: jax.ShapeDtypeStruct((G, *jnp.shape(x)), x.dtype), banked_of(simulation))
    whole = exported(
        functools.partial(cells.counts_of_groups, reading=simulation.reading, **simulation.static),
        (jnp.arange(G * R, dtype=jnp.int32).reshape(G, R), groups),
        simulation.judging(simulation.fixed(jax.random.key(0))),
    )
    assert set(whole.platforms) == set(PLATFORMS)
    assert foreign(whole) == []
    series, statistics = len(simulation.series.judged), len(simulation.names)
    outcome = [np.int8, np.float64, np.float64]  # what became of it, width and shift
    assert [x.dtype for x in whole.out_avals] == [*outcome, np.float64]
    assert [x.shape for x in whole.out_avals] == [(G, series, R)] * 3 + [(G, statistics, R)]


def test_every_method_is_lowered_for_some_statistic():
    lowered = {method for kind in KINDS for _, method, _ in simulation_of(cell_of(kind)).series.names}
    assert lowered == {name for name, cls in METHODS.items() if not cls.requires_blocks}


@pytest.mark.slow
def test_banks_are_programs_of_accelerators(float64):
    keys = jax.random.split(jax.random.key(0), G)
    starts, layout = jnp.arange(0, B, 8, dtype=jnp.int32), Layout(N, strata=np.arange(N, dtype=np.int32) % 3)
    sizes = {"n": N, "rows": 8, "n_resamples": B}
    within = banks._within_strata(layout)
    drawn_of = (("counts", None, Layout(N)), ("weights", None, Layout(N)), ("counts", within, layout))
    for kind, strata, units in (*drawn_of, ("weights", within, layout)):
        drawn = functools.partial(banks._columns_of_groups, kind=kind, **sizes)
        columns = exported(drawn, keys, (starts, make_scheme(units), strata))
        assert foreign(columns) == []
        assert [x.shape for x in columns.out_avals] == [(G, N, B + 1)]
    others = exported(functools.partial(banks._unseen, n_resamples=B), keys[0], GammaTables.of((0.25, 0.125)))
    assert foreign(others) == []
    assert others.out_avals[0].shape == (2, B + 1)


def test_a_call_of_the_host_is_found():
    def calls(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert FOREIGN.findall(jax.jit(calls).lower(jnp.ones(3)).as_text()) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "names", "truth"),
    [
        ("means and moments", ["mean"], 0.8),
        ("order statistics", ["quantile"], 0.87),
        ("ranks, K = 2", ["roc_auc"], 0.85),
        ("tables, K = 4", ["f1_macro"], 0.7),
        ("tables in clusters", ["accuracy"], 0.75),
    ],
)
def test_one_program_counts_what_a_program_and_the_host_count(kind, names, truth, float64):
    cell = cell_of(kind, names, n_replications=40)
    simulation, key = simulation_of(cell, truth), jax.random.key(5)
    fixed = simulation.fixed(key, simulation.read(banked_of(simulation, 5)))
    ids = jnp.arange(40, dtype=jnp.int32)
    parts, whole = (
        jax.jit(
            functools.partial(function, **simulation.static), compiler_options={"xla_backend_optimization_level": 0}
        )
        for function in (cells._evidence, cells.counts_of)
    )
    counts, estimates = jax.device_get(whole((ids, None), simulation.judging(fixed)))
    expected, expected_estimates = dispatch.judged(parts(ids, fixed), simulation)
    for series, one, other in zip(simulation.series.names, counts, expected, strict=True):
        np.testing.assert_array_equal(one.outcome, other.outcome, str(series))
        np.testing.assert_allclose(one.width, other.width, rtol=1e-6, err_msg=str(series))
    np.testing.assert_allclose(estimates, expected_estimates, rtol=1e-12)
    assert len({tuple(np.bincount(one.outcome, minlength=4)) for one in counts}) > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "names", "methods"),
    [
        ("means and moments", ["mean"], BANKED),
        ("ranks, K = 2", ["roc_auc"], BANKED),
        ("tables in clusters", ["recall"], BANKED),
        ("order statistics", ["median"], ["order_statistic"]),
    ],
)
def test_groups_together_count_what_each_counts_alone(kind, names, methods):
    cell = cell_of(kind, names, n_replications=23)
    cell = dataclasses.replace(cell, n_groups=5, methods=methods, levels=(0.8,) if methods is BANKED else (0.999999,))
    assert cell.group_sizes() == [5, 5, 5, 4, 4]
    road = dispatch.Dispatch(simulation_of(cell, 0.8), jax.random.key(3), Banks(jax.random.key(4)), Spread.over())
    with jax.enable_x64(True):
        alone, together = (list(found) for found in (road.by_part([0, 2, 4]), road.together([0, 2, 4], 2)))
    assert [found.group for found in together] == [found.group for found in alone] == [0, 2, 4]
    for one, other in zip(together, alone, strict=True):
        assert len(one.counts) == len(other.counts) == len(road.simulation.series.judged)
        np.testing.assert_allclose(one.estimates, other.estimates, rtol=1e-12)
        for mine, theirs in zip(one.counts, other.counts, strict=True):
            np.testing.assert_array_equal(mine.outcome, theirs.outcome)
            np.testing.assert_allclose(mine.width, theirs.width, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize(
    "learner", [Tree(), Forest(n_trees=5), Boosting(n_trees=3), MLP()], ids=lambda x: type(x).__name__
)
def test_learners_are_programs_of_accelerators(learner, classes, float64):
    """Fits of several samples of the same rows."""
    X = jax.ShapeDtypeStruct((N, 4), jnp.float64)
    y = jax.ShapeDtypeStruct((N,), jnp.int32 if classes else jnp.float64)

    def fits(keys, X, y, counts):
        def one(key, weights):
            return learner.predict(learner.fit(key, X, y, weights, classes).params, X)

        return jax.vmap(one)(keys, counts)

    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 3))
    program = exported(fits, keys, X, y, jax.ShapeDtypeStruct((3, N), jnp.float64))
    assert foreign(program) == []
    assert program.out_avals[0].shape == ((3, N, classes) if classes else (3, N))
