"""Models on few rows, clusters or runs, whose resamples do not tell how far the largest statistic may be."""

import itertools

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.intervals.multiple import FEW, model_confidence_set

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(8)
SHIFTS = np.array([0.0, 0.1, 1.5, 3.0])
SIX_CLUSTERS = np.repeat(np.arange(6), 4)


def drawn(*shape):
    """Values of four models of which two are much the same."""
    values = RNG.normal(size=(4, *shape)) + SHIFTS.reshape(4, *[1] * len(shape))
    return {f"m{i}": x for i, x in enumerate(values)}


HOLES = drawn(30)
HOLES["m0"][:8], HOLES["m1"][-7:] = np.nan, np.nan
RUNS = drawn(5, 3)
CASES = {
    "rows": ((drawn(5),), {}, "5 rows"),
    "clusters": ((drawn(24),), {"groups": SIX_CLUSTERS}, "6 clusters"),
    "cases that two models have": ((HOLES,), {"missing": "pairwise"}, "15 rows"),
    "runs": (({**RUNS, "m4": RNG.normal(size=(3, 3))},), {}, "3 runs"),
}


def holm(pvalues):
    """Holm's p-values by their definition: the largest of the number left times p, up to each."""
    order, found, reached = np.argsort(pvalues, kind="stable"), np.ones(len(pvalues)), 0.0
    for rank, which in enumerate(order):
        reached = found[which] = min(1.0, max(reached, (len(pvalues) - rank) * pvalues[which]))
    return found


def among_the_best(board):
    """P-values of being among the best, where the pairs that are left are allowed for by Bonferroni."""
    left, found, reached = {entry.name for entry in board}, {}, 0.0
    while len(left) > 1:
        within = [pair for pair in board.pairs if {pair.a, pair.b} <= left]
        least = min(within, key=lambda pair: pair.pvalue)
        reached = max(reached, min(1.0, len(within) * least.pvalue))
        worst = least.a if least.estimate < 0 else least.b
        left.remove(worst)
        found[worst] = reached
    return {**found, left.pop(): 1.0}


@pytest.mark.parametrize("case", CASES)
def test_few_units_are_adjusted_by_holm_and_bonferroni(case):
    args, kwargs, units = CASES[case]
    given = {"n_resamples": 399, "rng": 0, **kwargs}
    board, wide = (jaxci.leaderboard("mean", *args, adjust=adjust, **given) for adjust in ("max_t", "bonferroni"))
    np.testing.assert_allclose([p.adjusted for p in board.pairs], holm([p.pvalue for p in board.pairs]), rtol=1e-12)
    np.testing.assert_array_equal([p[2:6] for p in board.pairs], [p[2:6] for p in wide.pairs])
    if case != "runs":
        assert [e.simultaneous_interval for e in board] == [e.simultaneous_interval for e in wide]
    assert board.adjust == "holm"
    assert "p-values adjusted by Holm)" in str(board)
    assert f"{units} are too few for max-t: Holm" in board.reason


@pytest.mark.parametrize("adjust", ["max_t", "holm", "bonferroni", "none"])
@pytest.mark.parametrize("case", CASES)
def test_the_confidence_set_of_few_units_allows_for_the_pairs_that_are_left(case, adjust):
    args, kwargs, _ = CASES[case]
    board = jaxci.leaderboard("mean", *args, adjust=adjust, n_resamples=399, rng=0, **kwargs)
    expected = among_the_best(board)
    assert {e.name: e.pvalue_best for e in board} == pytest.approx(expected, rel=1e-9)
    assert [e.tied for e in board] == [expected[e.name] > 0.05 for e in board]


def test_models_with_runs_of_their_own_hold_together_as_independent_ones():
    board = jaxci.leaderboard("mean", RUNS, n_resamples=399, rng=0)
    alone = jaxci.leaderboard("mean", RUNS, n_resamples=399, rng=0, confidence_level=0.95 ** (1 / 4))
    for entry in board:
        assert entry.simultaneous_interval == pytest.approx(alone[entry.name].confidence_interval, rel=1e-12)
    assert "5 runs are too few for max-t: Holm, Bonferroni and Sidak are in its place" in board.reason


def test_a_reference_is_told_from_others_by_holm_where_units_are_few():
    board = jaxci.leaderboard("mean", CASES["rows"][0][0], reference="m3", n_resamples=399, rng=0)
    assert [p.adjusted for p in board.pairs] == pytest.approx(holm([p.pvalue for p in board.pairs]), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "kwargs"),
    [
        (drawn(FEW), {}),
        (drawn(2 * FEW), {"groups": np.arange(2 * FEW) // 2}),
        (drawn(FEW, 2), {}),
    ],
)
def test_enough_units_are_adjusted_by_max_t(values, kwargs):
    board = jaxci.leaderboard("mean", values, n_resamples=399, rng=0, **kwargs)
    assert board.adjust == "max_t"
    assert "adjusted by the step-down max-t test" in str(board)
    assert "too few" not in board.reason
    assert np.abs(np.subtract([p.adjusted for p in board.pairs], holm([p.pvalue for p in board.pairs]))).max() > 1e-3


def test_the_confidence_set_without_resamples_by_hand():
    z = stats.norm.isf(np.array([0.001, 0.02, 0.3]) / 2)
    worse = np.zeros((3, 3))
    for (i, j), score in zip(itertools.combinations(range(3), 2), (-z[1], -z[0], -z[2]), strict=True):
        worse[i, j], worse[j, i] = score, -score
    assert model_confidence_set(worse, None).tolist() == pytest.approx([1.0, 0.02, 0.003])
    assert model_confidence_set(worse / 50, None).tolist() == [1.0, 1.0, 1.0]
