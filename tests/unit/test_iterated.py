"""The iterated bootstrap against loops over resamples of resamples in plain NumPy."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import PURPOSE_DATA, Cell, Simulation, _evidence, draw
from jaxci.distributions import Cells, Parametric, Truth
from jaxci.inference import replicate
from jaxci.inference.iterated import PURPOSE_INNER, PURPOSE_OUTER
from jaxci.inference.randomness import randomness
from jaxci.inference.sharding import Spread
from jaxci.intervals.iterated import Calibrated
from jaxci.resampling.bank import Bootstrap
from jaxci.statistics.registry import METRICS

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

N, OUTER, INNER = 14, 60, 50
METHOD = Calibrated(n_outer=OUTER, n_inner=INNER)
RNG = np.random.default_rng(3)
Y = np.repeat([0, 1, 2], [5, 5, 4])
GUESS = np.where(RNG.random(N) < 0.7, Y, RNG.integers(0, 3, N))
BINARY = (Y > 0).astype(int)
SCORE = np.round(BINARY + RNG.normal(size=N), 1)
X = np.round(RNG.exponential(size=N), 2)
WEIGHT = RNG.integers(1, 4, N) / 2
GROUPS = RNG.permutation(np.repeat(np.arange(6), [1, 2, 2, 3, 3, 3]))


def draws(seed, n):
    """Counts of outer and of inner resamples of n positions."""
    key = randomness(seed).key
    with jax.enable_x64(True):
        return [
            np.asarray(Bootstrap.of(n).counts(jax.random.fold_in(key, purpose), jnp.arange(size)))[:, :n].astype(int)
            for purpose, size in ((PURPOSE_OUTER, OUTER), (PURPOSE_INNER, INNER))
        ]


def levels_by_loops(statistic, order, outer, inner):
    """Share of the inner replicates below the estimate, ties half: ``statistic`` takes units, in some ``order``."""
    estimate, found = statistic(np.arange(len(order))), []
    for counts in outer:
        resample = np.repeat(order, counts)
        values = np.array([statistic(np.repeat(resample, again)) for again in inner])
        values = values[~np.isnan(values)]
        tied = np.isclose(values, estimate, rtol=1e-12, atol=0)
        found.append(np.mean(np.where(tied, 0.5, values < estimate)) if len(values) else np.nan)
    return np.array(found)


def f1_macro(truth, guess, classes):
    """Mean F1 of the classes, 0 of an absent one."""
    found = []
    for k in range(classes):
        hits, rows = np.sum((truth == k) & (guess == k)), np.sum(truth == k) + np.sum(guess == k)
        found.append(2 * hits / rows if rows else 0.0)
    return np.mean(found)


def auc(truth, score):
    """Share of the pairs of a positive and a negative row in order, ties half; NaN without pairs."""
    apart = score[truth == 1][:, None] - score[truth == 0]
    return np.mean(0.5 * (1 + np.sign(apart))) if apart.size else np.nan


def mean_of_clusters(units):
    rows = np.concatenate([np.flatnonzero(unit == GROUPS) for unit in units])
    return X[rows].mean()


def by(keys):
    """Rows in the order of keys."""
    return np.argsort(keys, kind="stable")


ROWS = np.arange(N)
CASES = {
    "table": (lambda rows: f1_macro(Y[rows], GUESS[rows], 3), by(3 * Y + GUESS), ("f1_macro", Y, GUESS), {}),
    "share": (lambda rows: np.mean(Y[rows] == GUESS[rows]), by(3 * Y + GUESS), ("accuracy", Y, GUESS), {}),
    "ranks": (lambda rows: auc(BINARY[rows], SCORE[rows]), by(SCORE), ("roc_auc", BINARY, SCORE), {}),
    "mean": (lambda rows: X[rows].mean(), ROWS, ("mean", X), {}),
    "moments": (lambda rows: X[rows].std(), ROWS, ("std", X), {}),
    "median": (lambda rows: np.median(X[rows]), by(X), ("median", X), {}),
    "function": (lambda rows: np.max(X[rows]), ROWS, (lambda x: jnp.max(x), X), {}),
    "weights": (
        lambda rows: np.average(X[rows], weights=WEIGHT[rows]), ROWS, ("mean", X), {"sample_weight": WEIGHT}
    ),
    "clusters": (mean_of_clusters, np.arange(6), ("mean", X), {"groups": GROUPS}),
}  # fmt: skip


@functools.cache
def expected(case, seed):
    statistic, order, _, _ = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return levels_by_loops(statistic, order, *draws(seed, len(order)))


def interval(case, seed, **more):
    _, _, arguments, options = CASES[case]
    return jaxci.interval(*arguments, method=METHOD, rng=seed, n_resamples=299, confidence_level=0.9, **options, **more)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_ends_are_quantiles_of_the_replicates_at_quantiles_of_the_levels(case):
    levels, row = expected(case, 0), interval(case, 0)
    assert len(np.unique(levels)) > 10
    low, high = np.nanquantile(levels, [0.05, 0.95])
    replicates = row.bootstrap_distribution
    assert row.confidence_interval.low == pytest.approx(np.nanquantile(replicates, low), rel=1e-12)
    assert row.confidence_interval.high == pytest.approx(np.nanquantile(replicates, high), rel=1e-12)
    assert (row.method, row.n_resamples) == (METHOD, 299)


@pytest.mark.slow
def test_resamples_without_a_class_are_left_out_of_both_loops():
    rows = np.r_[0, 5:14]
    truth, score = BINARY[rows], SCORE[rows]
    levels = levels_by_loops(lambda rows: auc(truth[rows], score[rows]), by(score), *draws(1, len(rows)))
    assert 0 < np.isnan(levels).sum() < OUTER / 2
    row = jaxci.interval("roc_auc", truth, score, method=METHOD, rng=1, n_resamples=299, confidence_level=0.9)
    ends = np.nanquantile(row.bootstrap_distribution, np.nanquantile(levels, [0.05, 0.95]))
    np.testing.assert_allclose(row.confidence_interval, ends, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("alternative", "side", "level"), [("greater", 0, 0.1), ("less", 1, 0.9)])
def test_a_one_sided_interval_has_all_of_the_error_on_one_side(alternative, side, level):
    row = interval("mean", 2, alternative=alternative)
    at = np.quantile(expected("mean", 2), level)
    assert row.confidence_interval[side] == pytest.approx(np.quantile(row.bootstrap_distribution, at), rel=1e-12)
    assert np.isinf(row.confidence_interval[1 - side])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["table", "ranks", "moments", "clusters"])
def test_the_seed_alone_decides_whatever_the_chunks(case):
    one, again, other = interval(case, 5), interval(case, 5), interval(case, 6)
    small = interval(case, 5, memory_limit=1)
    assert one.confidence_interval == again.confidence_interval == small.confidence_interval
    assert one.confidence_interval != other.confidence_interval


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(monkeypatch):
    one = interval("table", 5)
    monkeypatch.setattr("jaxci.inference.iterated.chunk_workers", lambda: 7)
    assert interval("table", 5).confidence_interval == one.confidence_interval


@pytest.mark.slow
def test_statistics_share_resamples_of_resamples():
    rows = jaxci.evaluate(Y, GUESS, metrics=["accuracy", "f1_macro"], method=METHOD, rng=0, confidence_level=0.9)
    for row, case in zip(rows, ("share", "table"), strict=True):
        ends = np.quantile(row.bootstrap_distribution, np.quantile(expected(case, 0), [0.05, 0.95]))
        np.testing.assert_allclose(row.confidence_interval, ends, rtol=1e-12)


@pytest.mark.slow
def test_a_difference_has_the_interval_and_the_pvalue_of_its_levels():
    wrong = np.where(np.arange(N) < 12, (Y + 1) % 3, Y)
    near = jaxci.compare("accuracy", Y, GUESS, np.roll(GUESS, 1), method=Calibrated(n_outer=200), rng=0)
    low, high = near.confidence_interval
    assert low < near.estimate < high
    assert (low <= 0 <= high) == (near.pvalue >= 0.05)
    far = jaxci.compare("accuracy", Y, Y, wrong, method=METHOD, rng=0, confidence_level=0.9)
    assert far.pvalue == pytest.approx(2 / (OUTER + 1), rel=1e-6), "levels tell no less than their number"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n", "name", "order"),
    [
        (Cells(np.array([[0.4, 0.1], [0.15, 0.35]])), 15, "f1_macro", lambda data: data["y_true"] * 2 + data["y_pred"]),
        (Parametric("expon", {}), 12, "std", lambda data: np.zeros(12)),
        (Parametric("expon", {}), 11, "median", lambda data: data["values"]),
    ],
)
def test_a_cell_has_the_levels_of_every_data_set(law, n, name, order):
    cell = Cell(law, n, {name: METRICS[name]}, [METHOD], (0.9,), 4, 99, 1)
    simulation, key = Simulation.of(cell, {name: Truth(0.5, 0.0, "assumed")}), jax.random.key(3)
    banks = Banks(key)
    with jax.enable_x64(True):
        banked = banks.of(0, simulation.asked, cell.layout, 99, Spread.over())
        fixed = simulation.fixed(key, simulation.read(banked))
        ((evidence, variants),) = jax.jit(functools.partial(_evidence, **simulation.static))(jnp.arange(4), fixed)
        found = np.asarray(variants.given_to(METHOD, evidence).levels.replicates)
        outer, inner = (np.diff(np.asarray(x), axis=0).T[:, :n] for x in banks.nested(0, n, METHOD.nesting))
        data = draw(law, jax.random.fold_in(key, PURPOSE_DATA), 0, 4, n)
    for number, mine in enumerate(found):
        one = {k: np.asarray(v)[number] for k, v in data.items()}
        value = {
            "f1_macro": lambda r, one=one: f1_macro(one["y_true"][r], one["y_pred"][r], 2),
            "std": lambda r, one=one: one["values"][r].std(),
            "median": lambda r, one=one: np.median(one["values"][r]),
        }[name]
        rows = by(order(one))
        theirs = levels_by_loops(value, rows, outer.astype(int), inner.astype(int))
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.slow
def test_a_study_takes_small_numbers_of_resamples():
    methods = [Calibrated(n_outer=199, n_inner=99), "percentile"]
    check = jaxci.check_coverage("mean", X, methods=methods, rng=0, n_replications=200, n_resamples=199)
    assert check["calibrated"].coverage > check["percentile"].coverage
    assert check["calibrated"].mean_width > 1.1 * check["percentile"].mean_width


@pytest.mark.slow
def test_an_end_at_the_last_replicate_is_said():
    x = np.r_[np.zeros(9), 1.0, 5.0]
    row = jaxci.interval("mean", x, method="calibrated", rng=0, n_resamples=199)
    assert row.confidence_interval.high == row.bootstrap_distribution.max()
    assert any("no replicate lies beyond" in warning and "upper end" in warning for warning in row.warnings)
    inside = jaxci.interval("mean", np.arange(30.0), method="calibrated", rng=0)
    assert not any("no replicate" in warning for warning in inside.warnings)


def test_what_cannot_be_iterated_is_refused():
    def on_host(x):
        return float(np.mean(x.tolist()))

    assert jaxci.list_methods("mean").count("calibrated") == 1
    with pytest.raises(ValueError, match=r"JAX cannot trace it, and n_outer \* n_inner = 3,000 calls"):
        jaxci.interval(on_host, X, method=METHOD)
    with pytest.raises(ValueError, match="'calibrated' cannot use strata"):
        jaxci.interval("mean", X, method=METHOD, strata=Y)
    for more, given in (({"resampling": "balanced"}, "'balanced'"), ({"resample_size": 9}, "resample_size=9")):
        with pytest.raises(ValueError, match=f"'calibrated' resamples n of n units twice, .*{given}"):
            jaxci.interval("mean", X, method=METHOD, **more)


@pytest.mark.parametrize("name", ["n_outer", "n_inner"])
def test_numbers_of_resamples_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1; got 0"):
        Calibrated(**{name: 0})
    with pytest.raises(TypeError, match=f"{name} must be an integer; got 9.5"):
        jaxci.interval("mean", X, method="calibrated", **{name: 9.5})
    with pytest.raises(ValueError, match=f"{name} must be at least 39 for confidence_level = 0.95 .*; got 38"):
        jaxci.interval("mean", X, method="calibrated", **{name: 38})


@pytest.mark.slow
def test_chunks_keep_to_the_memory_limit(monkeypatch):
    """One outer resample holds as many inner replicates as fit, and those of the bank beside them."""
    sizes = []
    real = jaxci.inference.iterated.drawn
    monkeypatch.setattr("jaxci.inference.iterated.drawn", lambda *a, size: (sizes.append(size), real(*a, size=size))[1])
    interval("mean", 0, memory_limit=2**16)
    per = 8 * 4 * N  # weights of the units alone
    assert 1 < max(sizes) <= 2**16 // per // replicate.chunk_workers()
