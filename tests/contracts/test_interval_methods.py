"""What every interval method promises: one text for NumPy and for JAX, for one data set and for stacks of them."""

import dataclasses
import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from jaxci.intervals.adjusted_wald import Adjusted
from jaxci.intervals.approximate import Curvature
from jaxci.intervals.auc import AucEvidence, auc_evidence
from jaxci.intervals.auc_difference import AucDifferenceEvidence
from jaxci.intervals.base import Evidence, NoInterval, tails
from jaxci.intervals.blocks import Dependence
from jaxci.intervals.bootstrap import studentized_pivots
from jaxci.intervals.capabilities import averages_share_differences
from jaxci.intervals.concentration import ConcentrationMethod
from jaxci.intervals.proportion_difference import PairedOutcomes
from jaxci.intervals.quantile import QuantileMethod
from jaxci.intervals.registry import DIFFERENCES, METHODS
from jaxci.intervals.woodruff import Place, Places
from jaxci.records import settings
from jaxci.resampling.exact_mean import mean_distributions
from jaxci.resampling.exact_order import quantile_weights
from jaxci.resampling.laws import Drawn, RankLaw, Root
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.statistics import Accuracy, BalancedAccuracy, CohenKappa, Mean, Median, RocAuc, Std
from jaxci.statistics.base import Shares
from jaxci.statistics.paired import PairedGeneral, PairedTable, paired_difference
from jaxci.statistics.probability import Gaps, RootMeanSquaredCalibrationError

N, B = 60, 499
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)

OTHERS = (
    METHODS["hoeffding"](low=0.0, high=2.0),
    METHODS["betting"](low=-1.0, high=1.0),
    METHODS["z"](sigma=0.3),
    METHODS["delta"](scale="logit"),
    METHODS["delta"](scale="fisher"),
    METHODS["delta"](error="jackknife"),
    METHODS["kurtosis_t"](mass=0.0),
    METHODS["kurtosis_t"](scale="logit"),
    METHODS["woodruff"](scale="logit"),
    DIFFERENCES["delong"](use_t=True),
    METHODS["bca"](degenerate="nan"),
    METHODS["bca"](clean_classes=True),
    METHODS["exact"](endpoints="basic"),
    METHODS["exact"](endpoints="bca"),
    METHODS["semiparametric"](outside="transform", lowest=0.0, highest=1.0),
    METHODS["semiparametric"](outside="transform", lowest=0.0),
    METHODS["semiparametric"](outside="transform", highest=1.0),
)
"""Methods whose settings take another way through their text."""
OF_TWO = [cls() for cls in DIFFERENCES.values()]
"""Methods for a difference of two models alone."""
WALKED = [m for m in (*(cls() for cls in METHODS.values()), *OTHERS, *OF_TWO) if "clusters" not in m.needs]
"""Those for clusters alone read one data set at a time, on the host."""


def label(method):
    """The name, and the settings that are not the default."""
    own, default = settings(method), settings(type(method)())
    changed = [f"{name}={value}" for name, value in own.items() if value != default[name]]
    return " ".join([method.name, *changed, *(["difference"] if method in OF_TWO else [])])


walk = pytest.mark.parametrize("method", WALKED, ids=label)


@functools.cache
def values():
    """Data sets (R, n) with values in [0, 1]: distinct, tied, constant, at both ends, nearly constant."""
    rng = np.random.default_rng(7)
    rows = [
        rng.beta(2, 1, N),
        rng.integers(0, 5, N) / 4,
        (rng.random(N) < 0.7).astype(float),
        np.arange(N) == 17,
        1 - 1e-9 * rng.random(N),
        1e-9 * rng.random(N),
        np.full(N, 0.375),
        np.zeros(N),
        np.ones(N),
    ]
    return np.stack([np.asarray(row, float) for row in rows])


COUNTS = np.array([0, 1, 2, 17, 30, 43, 58, 59, 60.0])
"""Successes among N trials."""
R = len(COUNTS)


@functools.cache
def resamples():
    return values()[:, np.random.default_rng(8).integers(0, N, (B, N))]


def replicates():
    """Means of resamples (R, B), unsorted, some undefined; of one data set all."""
    found = resamples().mean(axis=-1)
    tied = np.abs(found - values().mean(axis=1, keepdims=True)) < 1e-15
    found = np.where(tied, values().mean(axis=1, keepdims=True), found)
    found[0, 5:90] = np.nan
    found[4, :] = np.nan
    return found


def levels():
    """Levels (R, B1) of outer resamples: any, few distinct ones, some undefined, all the same; of one data set none."""
    found = np.random.default_rng(10).beta(1.2, 1.0, (R, 80))
    found[1:3] = np.round(10 * found[1:3]) / 10
    found[0, 3:9] = found[4] = np.nan
    found[6] = 0.5
    return found


def along(data, steps):
    """A statistic between 0 and 1 with a curve."""
    xp = jnp if isinstance(steps, jax.Array) else np
    return data.mean(axis=-1)[..., None] ** xp.exp(-0.01 * steps)


def estimates():
    """Estimates (R,) that go with each of the laws."""
    mean, median = values().mean(axis=1), np.median(values(), axis=1)
    own = {"pairs of ranks": median, "ranks": median, "root of grid": np.sqrt(mean), "drawn root": np.sqrt(mean)}
    return {**dict.fromkeys(LAWS, mean), **own, "binomial": COUNTS / N}


DEGREES = np.where(np.arange(R) % 2, 7.5, np.inf)
"""Degrees of freedom (R,) of weighted rows, and of others."""


class SHARES:
    """Recalls of two classes (R, 2), one of them without a row, some without an error, and their mean."""

    successes = np.stack([COUNTS // 2, np.minimum(COUNTS, 9)], axis=1)
    trials = np.tile([float(N), 9.0], (R, 1)) * (np.arange(2 * R).reshape(R, 2) != 1)
    scores = successes / np.maximum(trials, 1)
    of = Shares(successes, trials, np.full((R, 2), 0.5), scores)
    mean = np.mean(scores, axis=1)


OUTCOMES = PairedOutcomes(
    *np.array(
        [
            *((60, 0, 0, 0), (0, 0, 0, 60), (0, 60, 0, 0), (0, 0, 60, 0), (30, 0, 0, 30)),
            *((40, 9, 2, 9), (10, 20, 20, 10), (0, 1, 0, 59), (25, 0, 5, 30)),
        ],
        float,
    ).T[..., None],
    np.ones((R, 1)),
)
"""Rows on which both models, only a, only b, neither succeed, of one share."""
OUTCOMES_OF_TWO = jax.tree.map(lambda x: np.concatenate([x, np.roll(x, 3, axis=0)], axis=1), OUTCOMES)
OUTCOMES_OF_TWO = dataclasses.replace(OUTCOMES_OF_TWO, weights=np.full((R, 2), 0.5))
"""The same of two shares, which are averaged."""
AREAS = AucDifferenceEvidence(
    difference=np.array([0.1, -0.03, 0.0, 0.0, 0.0, 0.5, -1.0, 0.9, 1e-9]),
    variance=np.array([2e-3, 1e-4, 0.01, 0.0, 0.0, 0.0, 0.0, 0.04, 1e-20]),
    alike=np.array([False, False, False, True, False, False, False, False, False]),
    n_pos=np.array([20.0, 30, 30, 4, 30, 1, 30, 9, 30]),
    n_neg=np.array([40.0, 30, 30, 56, 30, 59, 30, 51, 30]),
    widened=np.array([2.3e-3, 1.1e-4, 0.02, 0.0, 0.0, 0.0, 0.0, 0.05, 2e-20]),
    degrees_of_freedom=np.array([7.5, 58.0, 1.0, np.nan, np.nan, np.nan, np.nan, 20.0, 3.0]),
)
"""Differences of areas with a variance and without one, of models that order all pairs alike and of others."""


SHARES_OF_ROWS = np.arange(1.0, N + 1) / (N * (N + 1) / 2)
"""Share of the weight that each of N rows has."""


def share_difference(seen):
    return np.sum(seen.weights * (seen.only_a - seen.only_b) / N, axis=1)


def evidence_of(statistic, law):
    """Everything a method may read, for the whole stack, of NumPy arrays."""
    x = values()
    mean, error = x.mean(axis=1), x.std(axis=1) / np.sqrt(N)
    with np.errstate(invalid="ignore", divide="ignore"):
        skewness = np.mean((x - mean[:, None]) ** 3, axis=1) / x.std(axis=1) ** 3
    rng = np.random.default_rng(9)
    areas = [auc_evidence(row > 0.5, row + rng.normal(size=N)) for row in x[:3]]
    extremes = [
        AucEvidence(a, m, n, v, w)
        for a, m, n, v, w in (
            (0.0, 4, 5, 0.0, 0.0),
            (1.0, 30, 1, 0.0, np.nan),
            (0.4, 1, 9, np.nan, 0.1),
            (0.5, 30, 30, 0.0, 0.0),
            (1 - 1e-9, 7, 9, 1e-10, 1e-9),
            (0.9, 20, 40, 0.02, 0.03),
        )
    ]
    auc = jax.tree.map(lambda *leaves: np.array(leaves, float), *areas, *extremes)
    own_rng = np.random.default_rng(8)
    rows = own_rng.multinomial(N, [0.5, 0.3, 0.2], R).astype(float)
    middles, noise = own_rng.normal(0, 0.2, (R, 3)), own_rng.gamma(2, 0.2, (R, 3)) / np.maximum(rows, 1)
    gaps = Gaps(rows, rows, middles, noise, rows > 1)
    outcomes = OUTCOMES_OF_TWO if averages_share_differences(statistic) else OUTCOMES
    own = (
        (BalancedAccuracy, SHARES.mean),
        (RocAuc, auc.auc),
        (RootMeanSquaredCalibrationError, np.sqrt(np.maximum(gaps.square, 0.0))),
        (PairedTable, share_difference(outcomes)),
        (PairedGeneral, AREAS.difference),
    )
    found = replicates()
    errors = np.where(rng.random(found.shape) < 0.02, 0.0, resamples().std(axis=-1) / np.sqrt(N))
    return Evidence(
        statistic=statistic,
        estimate=next((found for kind, found in own if isinstance(statistic, kind)), estimates()[law]),
        n=N,
        count=COUNTS,
        nobs=np.full(R, float(N)),
        shares=SHARES.of,
        values=x,
        standard_error=error,
        acceleration=np.where(error > 0, skewness / (6 * np.sqrt(N)), np.nan),
        distribution=Drawn.of(found),
        pivots=studentized_pivots(found, errors, mean, error),
        levels=Drawn.of(levels()),
        posterior=Drawn.of(found),
        law=laws()[law],
        auc=auc,
        gaps=gaps,
        auc_difference=AREAS,
        outcomes=outcomes,
        adjusted=Adjusted(
            share_difference(OUTCOMES) * N / (N + 2),
            np.linspace(0.02, 0.3, R),
            DEGREES,
            np.linspace(0.001, 0.01, R),
            np.linspace(-0.5, 0.5, R),
        ),
        influence=x - mean[:, None],
        dependence=Dependence(*np.linspace([0.4, 2, 0.7, 1.5], [30, 40, 3, 20], R).T),
        curvature=Curvature(error, 0.1 * mean, 0.01 * error, 0.02 * mean, jax.tree_util.Partial(along, x)),
        places=Places(
            (Place(np.sort(x, axis=1), np.tile(np.cumsum(SHARES_OF_ROWS), (R, 1))),),
            (1.0,),
            False,
            (np.full(R, 0.5),),
            np.linspace(0.0, 0.3, R)[:, None],
            np.ones((R, 1, 1)),
            np.linspace(1.0, 59.0, R),
        ),
        uniform=np.full(R, 0.37),
    )


@functools.cache
def laws():
    """Distributions of the stack, of every kind."""
    ordered = np.sort(values(), axis=1)
    with jax.enable_x64(True):
        grid = jax.tree.map(np.asarray, jax.jit(mean_distributions)(jnp.asarray(values())))
    mean = values().mean(axis=1)
    apart = np.sort(replicates() - mean[:, None], axis=1).astype(np.float32)
    return {
        "drawn": Drawn.of(replicates()),
        "drawn around": Drawn(apart, mean, np.ones(R)),
        "drawn root": Drawn(apart, mean, root=True),
        "pairs of ranks": quantile_weights(N, 0.5).distribution(ordered),
        "ranks": RankLaw(ordered, np.linspace(1 / N, 1, N)),
        "grid": grid,
        "root of grid": Root(grid),
        "binomial": BinomialLaw(COUNTS, np.full(R, float(N))),
    }


CENTRED = ("drawn around", "drawn root")
"""Laws of differences from the estimate."""
LAWS = ("drawn", "drawn around", "drawn root", "pairs of ranks", "ranks", "grid", "root of grid", "binomial")


def statistic_of(method):
    """A statistic that the method serves."""
    pairs = (paired_difference(Accuracy()), paired_difference(RocAuc()), paired_difference(BalancedAccuracy()))
    every = (
        Median(),
        Accuracy(),
        RocAuc(),
        Std(),
        Mean(),
        CohenKappa(),
        BalancedAccuracy(),
        *pairs,
        RootMeanSquaredCalibrationError(),
    )
    return next(s for s in every if method.refusal(s) is None)


def told(method):
    """The method, told the range of the values where it needs one."""
    if isinstance(method, ConcentrationMethod) and method.low is None:
        return dataclasses.replace(method, low=0.0, high=1.0)
    return method


def case(method):
    """The method and evidence for it: of the median for exact laws, else of the mean."""
    method = told(method)
    return method, evidence_of(statistic_of(method), "pairs of ranks" if "law" in method.needs else "drawn")


def bounds_of(method, evidence, sides):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(method.bounds(evidence, sides, method.critical(evidence.statistic, evidence.n, sides)))


def traced(method, evidence, sides):
    """Bounds from the compiled form, and how often it was traced, for each of ``sides``."""
    count = []

    @jax.jit
    def compiled(evidence, sides, critical):
        count.append(1)
        return method.bounds(evidence, sides, critical)

    with jax.enable_x64(True):
        moved = jax.tree.map(jnp.asarray, evidence)
        found = [compiled(moved, one, method.critical(evidence.statistic, evidence.n, one)) for one in sides]
        return [np.stack([np.asarray(end) for end in bounds]) for bounds in found], len(count)


def together(method, evidence, sides):
    """Bounds of each of ``sides`` from one compiled program."""
    with jax.enable_x64(True):
        critical = [method.critical(evidence.statistic, evidence.n, one) for one in sides]
        pairs = list(zip(sides, critical, strict=True))
        found = jax.jit(lambda evidence, pairs: [method.bounds(evidence, *pair) for pair in pairs])(evidence, pairs)
        return [np.stack([np.asarray(end) for end in bounds]) for bounds in found]


def assert_equal(found, expected, tolerance=1e-12):
    """Equal (2, R) bounds to ``tolerance`` of their size or of the width, whichever is larger."""
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    width = np.where(finite.all(axis=0), expected[1] - np.where(finite[0], expected[0], 0), 0.0)
    size = np.maximum(np.abs(expected), width)
    assert np.all(np.abs(found - expected)[finite] <= (tolerance * size)[finite])


@pytest.mark.slow
@walk
def test_low_is_not_above_high(method):
    method, evidence = case(method)
    for level in LEVELS:
        for alternative in ("two-sided", "less", "greater"):
            low, high = bounds_of(method, evidence, tails(level, alternative))
            known = ~(np.isnan(low) | np.isnan(high))
            assert np.all(low[known] <= high[known])
            assert known.sum() >= 3


UNNESTED = {
    "exact_randomized": "one of two intervals is drawn",
    "agresti_coull": "its centre moves towards 1/2",
}


@pytest.mark.slow
@pytest.mark.parametrize("method", [m for m in WALKED if m.name not in UNNESTED], ids=label)
def test_a_higher_level_contains_a_lower_one(method):
    method, evidence = case(method)
    for alternative in ("two-sided", "less", "greater"):
        found = [bounds_of(method, evidence, tails(level, alternative)) for level in LEVELS]
        for (low, high), (lower, higher) in itertools.pairwise(found):
            slack = 1e-14 * np.abs(evidence.estimate)
            assert not np.any(lower > low + slack)
            assert not np.any(higher < high - slack)


@pytest.mark.slow
@walk
def test_numpy_and_compiled_jax_agree_and_levels_share_a_program(method):
    method, evidence = case(method)
    sides = [tails(level) for level in LEVELS]
    found, count = traced(method, evidence, sides)
    assert count == 1
    for one, bounds in zip(sides, found, strict=True):
        assert_equal(bounds, bounds_of(method, evidence, one))


@pytest.mark.slow
@walk
def test_numpy_and_compiled_jax_agree_on_one_sided_bounds(method):
    method, evidence = case(method)
    one_sided = [tails(0.9, "less"), tails(0.9, "greater")]
    for one, bounds in zip(one_sided, together(method, evidence, one_sided), strict=True):
        assert_equal(bounds, bounds_of(method, evidence, one))


READERS = [METHODS[name]() for name in ("percentile", "bca")]
OTHERS = [pytest.param(METHODS[name](), marks=pytest.mark.slow) for name in ("basic", "normal", "bc")]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", [*READERS, *OTHERS], ids=label)
def test_every_distribution_is_read_alike(method, law):
    _, evidence = case(method)
    core = np.zeros(R) if law in CENTRED else None
    evidence = dataclasses.replace(evidence, estimate=estimates()[law], distribution=laws()[law], core=core)
    sides = [tails(0.9)]
    (bounds,), _ = traced(method, evidence, sides)
    assert_equal(bounds, bounds_of(method, evidence, sides[0]), 1e-12)
    assert np.isfinite(bounds).all(axis=0).sum() >= 3


def data_set(evidence, pick):
    """Evidence of the data sets that ``pick`` takes from arrays with a leading axis."""
    return jax.tree.map(lambda x: x[pick] if np.shape(x)[:1] == (R,) else x, evidence)


@pytest.mark.slow
@walk
def test_a_stack_gives_what_its_data_sets_give_one_by_one(method):
    method, evidence = case(method)
    for sides in (tails(0.9), tails(0.9, "less")):
        stack = bounds_of(method, evidence, sides)
        one_by_one = np.stack([bounds_of(method, data_set(evidence, r), sides) for r in range(R)], axis=1)
        assert_equal(stack, one_by_one, 1e-13)
        batches_of_one = [bounds_of(method, data_set(evidence, slice(r, r + 1)), sides) for r in range(R)]
        assert_equal(stack, np.concatenate(batches_of_one, axis=1), 1e-13)
        folded = jax.tree.map(lambda x: x.reshape(3, 3, *x.shape[1:]) if np.shape(x)[:1] == (R,) else x, evidence)
        assert_equal(stack, bounds_of(method, folded, sides).reshape(2, R), 1e-13)


SHORTEST = ("order_statistic", "exact_randomized")
"""The shortest intervals with the level, not those with equal tails."""


@pytest.mark.slow
@pytest.mark.parametrize("method", [m for m in WALKED if m.name not in SHORTEST], ids=label)
def test_one_sided_bounds_are_those_of_the_two_sided_interval_with_both_tails(method):
    method, evidence = case(method)
    low, high = bounds_of(method, evidence, tails(0.9))
    lower, top = bounds_of(method, evidence, tails(0.95, "greater"))
    bottom, upper = bounds_of(method, evidence, tails(0.95, "less"))
    np.testing.assert_allclose(lower, low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(upper, high, rtol=1e-9, atol=1e-12)
    ends = (method.low, method.high) if isinstance(method, ConcentrationMethod) else evidence.statistic.bounds
    assert set(bottom[~np.isnan(bottom)]) <= {ends[0], *low[np.isin(evidence.estimate, (0, 1))]}
    assert set(top[~np.isnan(top)]) <= {ends[1], *high[np.isin(evidence.estimate, (0, 1))]}


PLATFORMS = ["cpu", "cuda", "tpu"]


def exported(function, *arguments):
    with jax.enable_x64(True):
        return export.export(jax.jit(function), platforms=PLATFORMS)(*jax.tree.map(jnp.asarray, arguments))


def assert_stays_on_the_device(program):
    assert program.platforms == tuple(PLATFORMS)
    text = program.mlir_module()
    called = set(re.findall(r"custom_call @(\w+)", text))
    assert not [name for name in called if "callback" in name], called
    assert "stablehlo.infeed" not in text
    assert "stablehlo.outfeed" not in text


@pytest.mark.slow
@walk
def test_bounds_are_exported_for_accelerators_without_a_host_callback(method):
    method, evidence = case(method)
    sides = tails(0.9)
    critical = method.critical(evidence.statistic, evidence.n, sides)
    assert_stays_on_the_device(exported(method.bounds, evidence, sides, critical))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_distributions_are_exported_for_accelerators(law):
    def read(law, value):
        return law.quantile(0.1), law.share_below(value), law.mean, law.standard_error

    assert_stays_on_the_device(exported(read, laws()[law], values().mean(axis=1)))


def test_exact_laws_are_exported_for_accelerators():
    assert_stays_on_the_device(exported(mean_distributions, values()))
    program = exported(lambda weights, x: weights.distribution(x), quantile_weights(N, 0.5), np.sort(values(), axis=1))
    assert_stays_on_the_device(program)


def test_a_callback_is_seen():
    def asked(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), x.dtype), x)

    with pytest.raises(NotImplementedError, match="callback"):
        exported(asked, 1.0)


@walk
def test_critical_values_depend_on_no_data_and_are_of_numpy(method):
    method, evidence = case(method)
    for leaf in jax.tree.leaves(method.critical(evidence.statistic, N, tails(0.9))):
        assert isinstance(leaf, int | float | np.ndarray | np.generic)


@walk
def test_what_a_method_needs_is_a_field_of_the_evidence(method):
    method, evidence = case(method)
    fields = {f.name for f in dataclasses.fields(Evidence)} | {"replicates"}
    assert method.needs <= fields
    read = {"distribution" if name == "replicates" else name for name in method.needs}
    kept = {name: getattr(evidence, name) for name in read}
    only = Evidence(statistic=evidence.statistic, estimate=evidence.estimate, n=N, **kept)
    np.testing.assert_array_equal(bounds_of(method, only, tails(0.9)), bounds_of(method, evidence, tails(0.9)))


@walk
def test_no_interval_is_said_by_its_own_error(method):
    statistic = statistic_of(told(method))
    names = ("t", "z", "bonett", "empirical_bernstein", "expanded_percentile")
    needy = isinstance(method, QuantileMethod) or label(method) in names or method.name in ("kurtosis_t", "woodruff")
    if not needy:
        assert jax.tree.leaves(told(method).critical(statistic, 1, tails(0.9))) is not None
        return
    with pytest.raises(NoInterval, match=r"needs n >=|at least [25]"):
        method.critical(statistic, 1, tails(0.9))
