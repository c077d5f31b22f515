"""Models on the same rows, ranked."""

import math

import numpy as np
import pytest

import jaxci

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, 300)
GUESSES = {f"m{i}": np.where(RNG.random(300) < share, 1 - Y, Y) for i, share in enumerate((0.05, 0.06, 0.2, 0.3))}
VALUES = {name: RNG.normal(size=30) + shift for name, shift in (("a", 0.0), ("b", 0.2), ("c", 2.0))}


@pytest.fixture(scope="module")
def board():
    return jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=0)


def test_models_come_in_order_with_the_intervals_of_evaluate(board):
    estimates = [entry.estimate for entry in board]
    assert estimates == sorted(estimates, reverse=True)
    for name, guess in GUESSES.items():
        alone = jaxci.interval("accuracy", Y, guess)
        assert board[name].estimate == alone.estimate
        assert board[name].confidence_interval == alone.confidence_interval
        wide, narrow = board[name].simultaneous_interval, alone.confidence_interval
        assert wide.low < narrow.low < narrow.high < wide.high


def test_pairs_are_those_of_compare(board):
    for pair in board.pairs:
        two = jaxci.compare("accuracy", Y, GUESSES[pair.a], GUESSES[pair.b])
        assert pair.pvalue == two.pvalue
        assert pair.estimate == two.estimate
        assert pair.low < two.confidence_interval.low
        assert pair.high > two.confidence_interval.high
        assert pair.adjusted >= pair.pvalue


def test_ranks_follow_from_the_pairs(board):
    best, second = (entry.name for entry in list(board)[:2])
    assert {best, second} == {"m0", "m1"}
    assert [(entry.rank_low, entry.rank_high) for entry in board][:2] == [(1, 2), (1, 2)]
    assert all(entry.rank_low >= 3 for entry in list(board)[2:])
    assert [entry.tied_with_best for entry in board] == [True, True, False, False]
    assert [entry.pvalue_best == 1.0 for entry in board] == [True, False, False, False]
    assert sum(entry.probability_best for entry in board) == pytest.approx(1.0)
    assert "4 of 6 pairs are told apart" in str(board) or "5 of 6 pairs are told apart" in str(board)


def test_max_t_is_between_no_adjustment_and_bonferroni(board):
    holm, none, bonferroni = (
        jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=0, adjust=how)
        for how in ("holm", "none", "bonferroni")
    )
    for mine, plain, wide, step in zip(board.pairs, none.pairs, bonferroni.pairs, holm.pairs, strict=True):
        assert plain.low > mine.low > wide.low - 0.003
        assert plain.adjusted == plain.pvalue
        assert step.adjusted <= wide.adjusted
        assert (step.low, step.high) == (wide.low, wide.high)


def test_a_reference_is_compared_with_all_others():
    found = jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=0, reference="m2")
    assert [(pair.a, pair.b) for pair in found.pairs] == [("m0", "m2"), ("m1", "m2"), ("m3", "m2")]
    assert found["m2"].tied_with_best
    assert not found["m0"].tied_with_best
    assert "tied with m2" in str(found)
    assert math.isnan(found["m0"].pvalue_best)


def test_values_by_case_and_which_end_is_good():
    found = jaxci.leaderboard("mean", VALUES, n_resamples=999, rng=0)
    assert next(iter(found)).name == "c"
    turned = jaxci.leaderboard("mean", np.stack(list(VALUES.values())), n_resamples=999, rng=0, less_is_better=True)
    assert [entry.name for entry in turned][-1] == "model 3"
    assert turned["model 3"].rank_low == 3


def test_two_models_are_a_comparison():
    two = {"a": VALUES["a"], "c": VALUES["c"]}
    found = jaxci.leaderboard("mean", two, n_resamples=999, rng=0)
    alone = jaxci.compare("mean", None, two["a"], two["c"])
    (pair,) = found.pairs
    assert pair.pvalue == alone.pvalue
    assert (pair.low, pair.high) == pytest.approx(tuple(alone.confidence_interval), rel=0.06)


def test_equal_models_are_tied():
    found = jaxci.leaderboard("accuracy", Y, {"a": GUESSES["m0"], "b": GUESSES["m0"]}, n_resamples=999, rng=0)
    assert [entry.tied_with_best for entry in found] == [True, True]
    assert [entry.probability_best for entry in found] == [0.5, 0.5]
    assert [(entry.rank, entry.rank_low, entry.rank_high) for entry in found] == [(1, 1, 2), (1, 1, 2)]


def test_errors_are_ranked_from_the_least():
    target = RNG.normal(size=40)
    far = {"near": target + 0.1 * RNG.normal(size=40), "far": target + RNG.normal(size=40)}
    found = jaxci.leaderboard("mean_absolute_error", target, far, n_resamples=999, rng=0)
    assert [entry.name for entry in found] == ["near", "far"]


@pytest.mark.slow
def test_clusters_weights_and_frames():
    pandas = pytest.importorskip("pandas")
    groups = np.arange(300) // 6
    found = jaxci.leaderboard("accuracy", Y, pandas.DataFrame(GUESSES), groups=groups, n_resamples=999, rng=0)
    pair = next(pair for pair in found.pairs if (pair.a, pair.b) == ("m0", "m2"))
    assert pair.pvalue == jaxci.compare("accuracy", Y, GUESSES["m0"], GUESSES["m2"], groups=groups).pvalue
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    half = jaxci.leaderboard("accuracy", Y, GUESSES, sample_weight=weights, n_resamples=999, rng=0)
    cut = jaxci.leaderboard("accuracy", Y[:150], {name: x[:150] for name, x in GUESSES.items()}, n_resamples=999, rng=0)
    assert [entry[:2] for entry in half] == [entry[:2] for entry in cut]


@pytest.mark.slow
def test_scores_of_several_models():
    scores = {f"s{i}": RNG.normal(size=300) + shift * Y for i, shift in enumerate((2.0, 1.0, 0.9))}
    found = jaxci.leaderboard("roc_auc", Y, scores, n_resamples=999, rng=0)
    for pair in found.pairs:
        assert pair.pvalue == jaxci.compare("roc_auc", Y, scores[pair.a], scores[pair.b]).pvalue
    assert [entry.name for entry in found][0] == "s0"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"predictions": {"a": GUESSES["m0"]}}, ValueError, "predictions must hold at least two models; got 1"),
        ({"predictions": [GUESSES["m0"]] * 2}, TypeError, "predictions must be a dict or a frame of models by name"),
        ({"predictions": {1: GUESSES["m0"], "1": GUESSES["m1"]}}, ValueError, "predictions must be distinct; '1'"),
        ({"predictions": {"a": GUESSES["m0"], "b": GUESSES["m1"][:9]}}, ValueError, r"predictions\['b'\]"),
        ({"adjust": "fdr"}, ValueError, "adjust must be one of"),
        ({"reference": "m9"}, ValueError, "reference must be one of"),
        ({"less_is_better": 1}, TypeError, "less_is_better must be True, False or None; got 1"),
        ({"confidence_level": 95}, ValueError, "confidence_level must lie in"),
        ({"order": 2}, TypeError, "accuracy has no option 'order'"),
    ],
)
def test_bad_input_is_refused(changes, error, message):
    given = {"predictions": GUESSES, **changes}
    with pytest.raises(error, match=message):
        jaxci.leaderboard("accuracy", Y, given.pop("predictions"), **given)


def test_the_results_dictionary_and_its_repetition(board):
    again = jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=board.rng)
    assert again.to_dict()["entries"] == board.to_dict()["entries"]
    row = board.to_dict()["entries"][0]
    assert row["simultaneous_low"] < row["low"]
    assert 0 <= row["probability_best"] <= 1
