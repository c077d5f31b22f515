"""Models on the same rows, ranked."""

import dataclasses
import json
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import jaxci
from jaxci.statistics import WeightedFunction

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, 300)
GUESSES = {f"m{i}": np.where(RNG.random(300) < share, 1 - Y, Y) for i, share in enumerate((0.05, 0.06, 0.2, 0.3))}
VALUES = {name: RNG.normal(size=30) + shift for name, shift in (("a", 0.0), ("b", 0.2), ("c", 2.0))}
SMALL = np.array([0.1, 0.5, 0.3, 0.9, 0.2])


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
    assert [entry.tied for entry in board] == [True, True, False, False]
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


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_what_compare_says_of_a_difference_is_said_of_the_pair():
    rng = np.random.default_rng(0)
    values = {
        name: 0.3 * (rng.random(40) < share) + rng.normal(0, 0.001, 40)
        for name, share in zip("abc", (0, 0, 0.03), strict=True)
    }
    (said,) = (x for x in jaxci.compare("mean", None, values["a"], values["c"]).warnings if "decide the" in x)
    found = jaxci.leaderboard("mean", None, values, n_resamples=999, rng=0)
    assert f"2 of 3 differences, such as a - c: {said}" in found.warnings
    alone = jaxci.leaderboard("mean", None, {name: values[name] for name in "ac"}, n_resamples=999, rng=0)
    assert f"a - c: {said}" in alone.warnings


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_what_is_known_of_a_model_is_said_once_and_of_no_other():
    """Of pairs it was said of "b", whatever the second model's name."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    scores = {name: np.clip(0.7 * y + 0.3 * rng.random(80), 0.01, 0.99) for name in "abc"}
    scores["c"][1] = 0.0
    found = jaxci.leaderboard("log_loss", y, scores, n_resamples=999, rng=0)
    (said,) = (text for text in found.warnings if "probability of 0" in text)
    assert said.startswith("c: 1 of 80 rows has")


def test_a_reference_is_compared_with_all_others():
    found = jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=0, reference="m2")
    assert [(pair.a, pair.b) for pair in found.pairs] == [("m0", "m2"), ("m1", "m2"), ("m3", "m2")]
    assert found["m2"].tied
    assert not found["m0"].tied
    assert "tied with m2" in str(found)
    assert {row["tied_with"] for row in found.records()} == {"m2"}
    assert math.isnan(found["m0"].pvalue_best)


def test_values_by_case_and_which_end_is_good():
    found = jaxci.leaderboard("mean", VALUES, n_resamples=999, rng=0)
    assert next(iter(found)).name == "c"
    turned = jaxci.leaderboard("mean", np.stack(list(VALUES.values())), n_resamples=999, rng=0, less_is_better=True)
    assert [entry.name for entry in turned][-1] == "model 3"
    assert turned["model 3"].rank_low == 3


@pytest.mark.slow
@pytest.mark.parametrize(("less", "ranks"), [(True, {"A1": 1, "A2": 2}), (False, {"A1": 2, "A2": 1})])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_ranks_of_aggregates_are_those_of_challenger(statistic, less, ranks):
    """Cases of the tests of the R package challengeR (aggregate, then rank); its worked examples draw by R's seed."""
    board = jaxci.leaderboard(statistic, {"A1": [0.6, 0.4], "A2": [0.8, 1.0]}, less_is_better=less, n_resamples=99)
    assert {entry.name: entry.rank for entry in board} == ranks
    assert {entry.name: entry.estimate for entry in board} == pytest.approx({"A1": 0.5, "A2": 0.9}, rel=1e-12)
    tied = jaxci.leaderboard(statistic, {"A1": [0.6, 0.6], "A2": [0.6, 0.6]}, less_is_better=less, n_resamples=99)
    assert [entry.rank for entry in tied] == [1, 1]


def test_two_models_are_a_comparison():
    two = {"a": VALUES["a"], "c": VALUES["c"]}
    found = jaxci.leaderboard("mean", two, n_resamples=999, rng=0)
    alone = jaxci.compare("mean", None, two["a"], two["c"])
    (pair,) = found.pairs
    assert pair.pvalue == alone.pvalue
    assert (pair.low, pair.high) == pytest.approx(tuple(alone.confidence_interval), rel=0.06)


@pytest.mark.parametrize(("n", "pvalue"), [(6, 2.0**-5), (13, 2.0**-12), (14, 2.0**-13), (30, 1 / 500)])
def test_a_model_that_is_worse_by_the_same_in_every_row_is_not_tied_with_the_best(n, pvalue):
    x = np.arange(float(n))
    best, other = jaxci.leaderboard("mean", {"a": x, "b": x + 1}, n_resamples=499, rng=0).entries
    assert (best.name, best.tied) == ("b", True)
    assert (other.name, other.tied) == ("a", False)
    assert other.pvalue_best == pytest.approx(pvalue, rel=1e-12)


def test_models_may_be_named_by_numbers():
    y = np.tile([0, 1], 20)
    given = {1: y, 2: np.where(np.arange(40) < 8, 1 - y, y)}
    numbered, named = (jaxci.leaderboard("accuracy", y, given, reference=one, rng=0) for one in (1, "1"))
    assert repr(numbered.entries) == repr(named.entries)
    assert [(pair.a, pair.b) for pair in numbered.pairs] == [("2", "1")]


def test_models_that_agree_in_every_row_are_told_as_in_a_comparison():
    y = np.arange(40) % 2
    one, other = np.where(np.arange(40) < 5, 1 - y, y), np.where(np.arange(40) < 9, 1 - y, y)
    boards = [
        jaxci.leaderboard("accuracy", y, {"a": one, "b": other, "c": one}, n_resamples=99, rng=0),
        jaxci.leaderboard("roc_auc", y, {"a": one + 0.1, "b": other / 2, "c": one + 0.1}, n_resamples=99, rng=0),
        jaxci.leaderboard("mean", {"a": one / 1, "b": other / 1, "c": one / 1}, n_resamples=99, rng=0),
    ]
    told = [text for text in jaxci.compare("accuracy", y, one, one).warnings if text.startswith("all paired")]
    for board in boards:
        assert [text for text in board.warnings if "all paired" in text] == [f"a - c: {text}" for text in told]


def test_pairs_that_differ_alike_in_every_row_are_named_once():
    board = jaxci.leaderboard("mean", {"a": SMALL, "b": SMALL + 1}, n_resamples=999, rng=0)
    (pair,) = board.pairs
    assert pair.low == pair.high == -1
    assert pair.pvalue == 0.0625
    assert "a - b: the difference does not vary, so its interval has no width" in board.warnings
    many = jaxci.leaderboard("mean", {f"m{i}": SMALL + i for i in range(5)}, n_resamples=999, rng=0)
    (said,) = [text for text in many.warnings if "does not vary" in text]
    assert said.startswith("m0 - m1, m0 - m2, m0 - m3 and 7 more: the difference")
    apart = jaxci.leaderboard("mean", VALUES, n_resamples=999, rng=0)
    assert not any("does not vary" in text for text in apart.warnings)


@pytest.mark.slow
def test_too_few_resamples_for_the_simultaneous_level_say_of_what_it_is_one():
    models = {f"m{i}": VALUES["a"] ** (i + 1) for i in range(5)}
    with pytest.raises(ValueError, match=r"confidence_level = 0\.99, that of 5 models together \(two-sided\); got 99$"):
        jaxci.leaderboard("trimmed_mean", models, n_resamples=99, adjust="bonferroni", rng=0)
    with pytest.raises(ValueError, match=r"confidence_level = 0\.995, that of 10 pairs of models together \(two"):
        jaxci.leaderboard("trimmed_mean", models, n_resamples=250, adjust="bonferroni", rng=0)
    with pytest.raises(ValueError, match=r"confidence_level = 0\.95 \(two-sided\); got 9$"):
        jaxci.leaderboard("trimmed_mean", models, n_resamples=9, rng=0)


@pytest.mark.slow
def test_resamples_that_do_not_tell_the_level_of_many_pairs_are_no_error_unless_asked_for():
    models = {f"m{i}": VALUES["a"] ** (i + 1) for i in range(4)}
    board = jaxci.leaderboard("trimmed_mean", models, confidence_level=0.999, rng=0)
    (said,) = [text for text in board.warnings if "hold together" in text]
    assert said.startswith(
        "6 pairs of models hold together at 99.9% by intervals of 99.9833% each; 9999 resamples tell up"
    )
    assert said.endswith("to 99.98%, which 6 of the 6 have: ask for n_resamples=11999 for more")
    told = jaxci.compare(
        "trimmed_mean", None, models["m0"], models["m1"], confidence_level=1 - 2 / 9_999, method="percentile", rng=0
    )
    assert (board.pairs[0].low, board.pairs[0].high) == pytest.approx(tuple(told.confidence_interval), rel=1e-6)
    closed = jaxci.leaderboard("accuracy", Y, GUESSES, confidence_level=0.9997, rng=0)
    assert not any("hold together" in text for text in closed.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_max_t_is_never_wider_than_bonferroni(seed):
    """Five or nine positives of uneven weight: resamples have tails far heavier than normal ones."""
    rng = np.random.default_rng([3, seed])
    y = (rng.random(60) < 0.1).astype(int)
    scores = {f"m{i}": 2.5 * y + rng.normal(size=60) for i in range(4)}
    given = {"sample_weight": rng.exponential(size=60) + 0.05, "n_resamples": 999, "rng": 0}
    mine, wide = (jaxci.leaderboard("roc_auc", y, scores, adjust=how, **given) for how in ("max_t", "bonferroni"))
    for entry in mine:
        own, other = entry.simultaneous_interval, wide[entry.name].simultaneous_interval
        assert other.low <= own.low <= own.high <= other.high
    for pair, other in zip(mine.pairs, wide.pairs, strict=True):
        assert other.low <= pair.low <= pair.high <= other.high
        assert pair.adjusted <= other.adjusted


def test_equal_models_are_tied():
    found = jaxci.leaderboard("accuracy", Y, {"a": GUESSES["m0"], "b": GUESSES["m0"]}, n_resamples=999, rng=0)
    assert [entry.tied for entry in found] == [True, True]
    assert [entry.probability_best for entry in found] == [0.5, 0.5]
    assert [(entry.rank, entry.rank_low, entry.rank_high) for entry in found] == [(1, 1, 2), (1, 1, 2)]


def test_a_model_that_may_be_first_and_is_not_tied_is_explained(board):
    assert "ranks hold for all at once" not in str(board)
    second = board.entries[1]._replace(rank_low=1, tied=False)
    apart = dataclasses.replace(board, entries=(board.entries[0], second, *board.entries[2:]))
    assert f"may leave out more: {second.name}" in str(apart)
    assert "ranks hold for all at once" not in str(dataclasses.replace(apart, reference=second.name))


@pytest.mark.parametrize(("n", "reference"), [(200, "best"), (15, "best"), (200, "good")])
def test_a_model_whose_metric_is_undefined_is_last_and_pushes_none_out(n, reference):
    """A correlation with a constant is NaN: such a model had rank 1, and the best one was not tied with itself."""
    rng = np.random.default_rng(0)
    y, noise = rng.normal(size=(2, n))
    known = {"good": y + 0.1 * noise, "poor": y + 50 * noise}
    found, without = (
        jaxci.leaderboard("pearsonr", y, models, reference=reference, n_resamples=999, rng=0)
        for models in ({"const": np.zeros(n), **known}, known)
    )
    assert [(entry.name, entry.rank) for entry in found] == [("good", 1), ("poor", 2), ("const", 3)]
    assert [entry.tied for entry in found] == [True, n == 15, False]
    assert [found[name].tied for name in known] == [without[name].tied for name in known]
    if reference == "best":
        assert found["good"].pvalue_best == 1 > found["poor"].pvalue_best
        assert math.isnan(found["const"].pvalue_best)
        assert "const" not in found._apart()
        means = {entry.name: entry.mean_rank for entry in jaxci.mean_ranks({"one": found, "two": found}).entries}
        assert means == {"good": 1, "poor": 2, "const": 3}


def test_nothing_is_tied_with_a_reference_whose_metric_is_undefined():
    y = np.random.default_rng(0).normal(size=30)
    models = {"one": y**3, "other": y**5, "const": np.zeros(30)}
    found = jaxci.leaderboard("pearsonr", y, models, reference="const", n_resamples=99, rng=0)
    assert not any(entry.tied for entry in found)


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
    assert found.headline() == "accuracy of 4 competitors, 95% intervals and ranks, 300 rows in 50 clusters"
    half = jaxci.leaderboard("accuracy", Y, GUESSES, sample_weight=weights, n_resamples=999, rng=0)
    cut = jaxci.leaderboard("accuracy", Y[:150], {name: x[:150] for name, x in GUESSES.items()}, n_resamples=999, rng=0)
    assert [entry[:2] for entry in half] == [entry[:2] for entry in cut]


@pytest.mark.slow
def test_scores_of_several_models():
    scores = {f"s{i}": RNG.normal(size=300) + shift * Y for i, shift in enumerate((2.0, 1.0, 0.9))}
    found = jaxci.leaderboard("roc_auc", Y, scores, n_resamples=999, rng=0)
    for pair in found.pairs:
        assert pair.pvalue == jaxci.compare("roc_auc", Y, scores[pair.a], scores[pair.b]).pvalue
    assert next(iter(found)).name == "s0"


@pytest.mark.slow
def test_rows_in_the_order_of_time():
    """Models and pairs have the intervals of single calls in blocks, and share blocks as long as any model needs."""
    spells = np.repeat(RNG.normal(size=(3, 50)), 6, axis=1)
    values = {name: one + RNG.normal(size=300) / 2 for name, one in zip("abc", spells, strict=True)}
    values["d"] = RNG.normal(size=300)
    found = jaxci.leaderboard("mean", values, resampling="circular", n_resamples=999, rng=0)
    lengths = []
    for name, one in values.items():
        alone = jaxci.interval("mean", one, resampling="circular", n_resamples=999, rng=0)
        assert found[name].confidence_interval == alone.confidence_interval
        lengths.append(float(alone.reason.split("blocks of ")[1].split()[0]))
    assert max(lengths) > min(lengths)
    assert found.reason.endswith(f"999 resamples of blocks of {max(lengths):.4g} rows shared by all models")
    for pair in found.pairs:
        two = jaxci.compare("mean", None, values[pair.a], values[pair.b], resampling="circular", n_resamples=999, rng=0)
        assert (pair.estimate, pair.pvalue) == (two.estimate, two.pvalue)
        assert pair.low < two.confidence_interval.low
    given = jaxci.leaderboard("mean", values, resampling="stationary", block_length=5, n_resamples=999, rng=0)
    assert "999 resamples of blocks of 5 rows on average shared" in given.reason
    blocks = jaxci.leaderboard("mean", values, resampling="circular", block_length=299, n_resamples=999, rng=0)
    assert max(entry.probability_best for entry in blocks) == 1.0  # blocks of nearly all rows hardly vary


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"resampling": "balanced"}, ValueError, "resampling must be one of bootstrap, moving, circular, stationary"),
        ({"block_length": 5}, ValueError, "block_length goes with resampling"),
        ({"resampling": "moving", "groups": Y}, ValueError, "groups do not go with resampling='moving'"),
        ({"predictions": {"a": GUESSES["m0"]}}, ValueError, "predictions must hold at least two models; got 1"),
        ({"predictions": [GUESSES["m0"]] * 2}, TypeError, "predictions must be a dict or a frame of models by name"),
        ({"predictions": {1: GUESSES["m0"], "1": GUESSES["m1"]}}, ValueError, "predictions must be distinct; '1'"),
        ({"predictions": {"a": GUESSES["m0"], "b": GUESSES["m1"][:9]}}, ValueError, r"predictions\['b'\]"),
        ({"adjust": "fdr"}, ValueError, "adjust must be one of"),
        ({"reference": "m9"}, ValueError, "reference must be one of"),
        ({"less_is_better": 1}, TypeError, "less_is_better must be True, False or None; got 1"),
        ({"less_is_better": True}, ValueError, "less_is_better is for metrics that do not know; accuracy is better"),
        ({"confidence_level": 95}, ValueError, "confidence_level must lie in"),
        ({"order": 2}, TypeError, "accuracy has no option 'order'"),
    ],
)
def test_bad_input_is_refused(changes, error, message):
    given = {"predictions": GUESSES, **changes}
    with pytest.raises(error, match=message):
        jaxci.leaderboard("accuracy", Y, given.pop("predictions"), **given)


@pytest.mark.parametrize("given", [jnp.asarray, np.ndarray.tolist, lambda x: [jnp.asarray(one) for one in x]])
@pytest.mark.parametrize("shape", [(2, 30), (2, 5, 3)])
def test_arrays_of_all_models_may_be_of_any_library_or_nested_lists(given, shape):
    x = np.random.default_rng(0).integers(0, 9, shape).astype(float)
    found, plain = (jaxci.leaderboard("mean", one, n_resamples=99, rng=0) for one in (given(x), x))
    assert found.to_dict()["entries"] == plain.to_dict()["entries"]


@pytest.mark.parametrize("values", [[[1.0, 2.0], [1.0]], np.ones(9), [["x", "y"], ["y", "x"]]])
def test_what_is_no_array_of_models_is_refused_by_what_may_be_given(values):
    with pytest.raises(TypeError, match=r"y_true must be a dict .* by name, or files, or an array \(models, n\)"):
        jaxci.leaderboard("mean", values)
    with pytest.raises(TypeError, match=r"or an array \(models, runs, tasks\)"):
        jaxci.leaderboard("iqm", values)


def test_the_results_dictionary_and_its_repetition(board):
    again = jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, rng=board.rng)
    assert again.to_dict()["entries"] == board.to_dict()["entries"]
    row = board.to_dict()["entries"][0]
    assert row["simultaneous_low"] < row["low"]
    assert 0 <= row["probability_best"] <= 1


def test_mean_ranks_hold_on_all_boards_together(board):
    other = jaxci.leaderboard("matthews_corrcoef", Y, GUESSES, n_resamples=999, rng=0)
    found = jaxci.mean_ranks({"accuracy": board, "mcc": other})
    assert [entry.name for entry in found.entries][2:] == ["m2", "m3"]
    for entry in found.entries:
        assert entry.mean_rank == (board[entry.name].rank + other[entry.name].rank) / 2
        assert entry.low <= (board[entry.name].rank_low + other[entry.name].rank_low) / 2
        assert entry.high >= (board[entry.name].rank_high + other[entry.name].rank_high) / 2
    first = found.to_dict()["entries"][0]
    assert list(first) == ["name", "mean_rank", "low", "high", "ranks"]
    assert (first["name"], first["ranks"]) == (found.entries[0].name, list(found.entries[0].ranks))
    assert "mean rank over 2, 95% intervals" in str(found)


def test_equal_competitors_share_their_mean_rank():
    tied = {"a": GUESSES["m0"], "b": GUESSES["m0"], "c": GUESSES["m3"]}
    first = jaxci.leaderboard("accuracy", Y, tied, n_resamples=999, rng=0)
    other = jaxci.leaderboard("mean", {"a": VALUES["a"] + 1, "b": VALUES["a"], "c": VALUES["a"] - 1}, n_resamples=999)
    found = {entry.name: entry for entry in jaxci.mean_ranks({"tied": first, "not": other}).entries}
    assert found["a"].ranks == (1.5, 1)
    assert found["b"].ranks == (1.5, 2)
    ours = [[found[name].ranks[0] for name in "abc"], [found[name].ranks[1] for name in "abc"]]
    values = [[-first[name].estimate for name in "abc"], [-other[name].estimate for name in "abc"]]
    np.testing.assert_array_equal(ours, stats.rankdata(values, axis=1))


@pytest.mark.parametrize(
    ("boards", "error", "message"),
    [
        (lambda b: [b, b], TypeError, "boards must be a dict of Leaderboard"),
        (lambda b: {"one": b}, ValueError, "boards must hold at least two leaderboards; got 1"),
        (
            lambda b: {"one": b, "two": jaxci.leaderboard("mean", VALUES, n_resamples=999, rng=0)},
            ValueError,
            "boards must be of the same competitors; 'two' has others",
        ),
        (
            lambda b: {"one": b, "two": jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, reference="m0")},
            ValueError,
            "boards must compare all pairs; 'two' has reference='m0'",
        ),
        (
            lambda b: {
                "one": b,
                "two": jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, confidence_level=0.9),
            },
            ValueError,
            "boards must have one confidence_level; 'two' has 0.9, others 0.95",
        ),
        (
            lambda b: {"one": b, "two": jaxci.leaderboard("accuracy", Y, GUESSES, n_resamples=999, adjust="none")},
            ValueError,
            "boards must be adjusted for the number of their pairs; 'two' has adjust='none'",
        ),
    ],
)
def test_boards_that_cannot_be_joined(board, boards, error, message):
    with pytest.raises(error, match=message):
        jaxci.mean_ranks(boards(board))


def test_blocks_are_of_rows_in_the_order_of_time_without_gaps():
    gaps = {"a": np.where(np.arange(30) == 3, np.nan, VALUES["a"]), "b": VALUES["b"]}
    with pytest.raises(ValueError, match="missing='pairwise' does not go with resampling='moving'"):
        jaxci.leaderboard("mean", gaps, missing="pairwise", resampling="moving")
    runs = {"a": RNG.normal(size=(4, 3)), "b": RNG.normal(size=(4, 3))}
    with pytest.raises(ValueError, match="rows in the order of time; iqm is of runs on tasks"):
        jaxci.leaderboard("iqm", runs, resampling="moving")


def test_values_that_are_missing_are_refused():
    holes = {**VALUES, "b": np.where(np.arange(30) == 4, np.nan, VALUES["b"])}
    with pytest.raises(ValueError, match=r"predictions\['b'\].*row 4"):
        jaxci.leaderboard("mean", holes)


HOLES = {name: np.where(RNG.random(30) < 0.3, np.nan, x) for name, x in VALUES.items()}


class TestModelsThatLackCases:
    """Values by case with holes, where two models are compared on the cases that both have."""

    @pytest.mark.slow
    @pytest.mark.parametrize("of_rows", [{}, {"groups": np.arange(30) // 2, "sample_weight": 1.0 + np.arange(30) % 3}])
    def test_are_compared_on_what_both_have(self, of_rows):
        drawn = {"n_resamples": 999, "rng": 0}
        board = jaxci.leaderboard("mean", HOLES, missing="pairwise", **drawn, **of_rows)
        for name, x in HOLES.items():
            seen = ~np.isnan(x)
            alone = jaxci.interval("mean", x[seen], **drawn, **{k: v[seen] for k, v in of_rows.items()})
            if of_rows:  # weights of a part are scaled to its own number of rows
                np.testing.assert_allclose(board[name].confidence_interval, alone.confidence_interval, rtol=1e-12)
            else:
                assert board[name].confidence_interval == alone.confidence_interval
        for pair in board.pairs:
            both = ~np.isnan(HOLES[pair.a] + HOLES[pair.b])
            rows = {**drawn, **{k: v[both] for k, v in of_rows.items()}}
            alone = jaxci.compare("mean", None, HOLES[pair.a][both], HOLES[pair.b][both], **rows)
            assert (pair.estimate, pair.pvalue) == pytest.approx((alone.estimate, alone.pvalue), rel=1e-12)
            assert pair.adjusted >= pair.pvalue
        lost = {name: int(np.isnan(x).sum()) for name, x in HOLES.items()}
        most = max(lost, key=lambda name: lost[name])
        said = f"3 of 3 models lack cases ('{most}' {lost[most]} of 30): each is"
        assert any(text.startswith(said) for text in board.warnings)
        assert board.n == 30

    @pytest.mark.slow
    def test_are_compared_as_all_others_where_nothing_lacks(self):
        found, expected = (
            jaxci.leaderboard("trimmed_mean", VALUES, missing=how, n_resamples=999, rng=0)
            for how in ("pairwise", "raise")
        )
        for entry, other in zip(found, expected, strict=True):
            assert entry._replace(pvalue_best=0) == other._replace(pvalue_best=0)
            assert entry.pvalue_best == pytest.approx(other.pvalue_best, abs=0.01)
        np.testing.assert_allclose([p[2:] for p in found.pairs], [p[2:] for p in expected.pairs], rtol=0, atol=0.02)
        assert found.warnings == expected.warnings

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"missing": "drop"}, "missing must be one of"),
            ({"metric": "accuracy"}, "missing='pairwise' is for values by case, as of 'mean'; accuracy is of"),
            ({"values": {**VALUES, "b": np.full(30, np.nan)}}, "at least 2 cases of any two models; 'a' and 'b' have"),
            ({"values": {**VALUES, "b": np.r_[np.inf, VALUES["b"][1:]]}}, "must not be infinite; it is in row 0"),
        ],
    )
    def test_are_refused_where_there_is_no_answer(self, changes, message):
        given = {"metric": "mean", "values": VALUES, "missing": "pairwise", **changes}
        with pytest.raises(ValueError, match=message):
            jaxci.leaderboard(given["metric"], given["values"], missing=given["missing"])

    @pytest.mark.statistical
    @pytest.mark.false_alarm(1e-7)
    def test_are_told_apart_wrongly_in_few_data_sets(self, false_alarm):
        """Five equally good models of which each has 70% of 60 cases: at most 5% of data sets tell any two apart."""
        rng, sets, wrong = np.random.default_rng(3), 80, 0
        for seed in range(sets):
            values = rng.normal(size=60) + rng.normal(size=(5, 60))
            values[rng.random((5, 60)) < 0.3] = np.nan
            board = jaxci.leaderboard("mean", values, missing="pairwise", n_resamples=999, rng=seed)
            wrong += any(pair.adjusted <= 0.05 for pair in board.pairs)
        assert stats.binom.sf(wrong - 1, sets, 0.05) > false_alarm


def test_a_file_is_a_model(tmp_path, capsys, board):
    pytest.importorskip("typer")
    from jaxci.cli import main

    paths = [tmp_path / f"{name}.csv" for name in GUESSES]
    for path, guess in zip(paths, GUESSES.values(), strict=True):
        path.write_text("\n".join(["guess", *map(str, guess)]) + "\n")
    (tmp_path / "truth.csv").write_text("\n".join(["y", *map(str, Y)]) + "\n")
    found = jaxci.leaderboard("accuracy", Y, [str(path) for path in paths], n_resamples=999, rng=0)
    assert found.to_dict() == board.to_dict()
    command = ["leaderboard", str(tmp_path / "truth.csv"), "--target", "y", "--metric", "accuracy", "--seed", "0"]
    command += ["--resamples", "999", "--models", ",".join(map(str, paths)), "--json", str(tmp_path / "board.json")]
    assert main(command) == 0
    capsys.readouterr()
    assert json.loads((tmp_path / "board.json").read_text())["entries"] == board.to_dict()["entries"]
    scores = RNG.normal(size=(300, 2))
    for name in ("one", "two"):
        lines = [",".join(map(str, row)) for row in scores]
        (tmp_path / f"{name}.csv").write_text("\n".join(["p0,p1", *lines]) + "\n")
    both = jaxci.leaderboard("roc_auc", Y, [tmp_path / "one.csv", tmp_path / "two.csv"], n_resamples=999, rng=0)
    assert both["one"].estimate == jaxci.interval("roc_auc", Y, scores).estimate


class TestFilesOfModels:
    """What a file of a model may hold besides its predictions."""

    @pytest.fixture
    def files(self, tmp_path):
        pd = pytest.importorskip("pandas")
        frames = {"a": pd.DataFrame({"score": RNG.random(300)}), "b": pd.DataFrame({"score": RNG.random(300)})}
        (tmp_path / "t.csv").write_text("\n".join(["y", *map(str, Y)]) + "\n")

        def write(change):
            paths = [tmp_path / f"{name}.csv" for name in frames]
            for frame, path in zip(frames.values(), paths, strict=True):
                change(frame).to_csv(path)  # with the index
            return paths, frames

        return write

    def test_an_index_is_left_out(self, tmp_path, capsys, files):
        pytest.importorskip("typer")
        from jaxci.cli import main

        paths, frames = files(lambda frame: frame)
        expected = jaxci.leaderboard(
            "roc_auc", Y, {name: frame["score"].to_numpy() for name, frame in frames.items()}, n_resamples=99, rng=0
        )
        with pytest.warns(jaxci.JaxciWarning, match=r"column '' of .*a\.csv is an index of rows without a name"):
            found = jaxci.leaderboard("roc_auc", Y, paths, n_resamples=99, rng=0)
        assert found["a"].estimate == expected["a"].estimate
        command = ["leaderboard", str(tmp_path / "t.csv"), "--target", "y", "--metric", "roc_auc", "--seed", "0"]
        command += ["--resamples", "99", "--models", ",".join(map(str, paths)), "--json", str(tmp_path / "o.json")]
        assert main(command) == 0
        assert "is an index of rows without a name, and no prediction: left out" in " ".join(
            capsys.readouterr().out.split()
        )
        board = json.loads((tmp_path / "o.json").read_text())
        assert {one["name"]: one["estimate"] for one in board["entries"]} == {one.name: one.estimate for one in found}
        assert board["warnings"] == list(found.warnings)

    @pytest.mark.parametrize("target", ["y", None])
    @pytest.mark.parametrize(
        ("more", "got"), [("y", "'', 'score', 'y'"), ("case", "'', 'score', 'case'"), ("0", "'', 'score', '0'")]
    )
    def test_others_are_refused(self, tmp_path, capsys, files, more, got, target):
        pytest.importorskip("typer")
        from jaxci.cli import main

        paths, _ = files(lambda frame: frame.assign(**{more: Y}))
        labels = ", or one per class, whose names end in the labels 0, 1"
        told = f"a.csv must hold one column, the predictions of a model{labels if target else ''}; it has "
        command = ["leaderboard", str(tmp_path / "t.csv"), "--metric", "roc_auc" if target else "mean"]
        command += ["--models", ",".join(map(str, paths))]
        assert main(command + (["--target", target] if target else [])) == 2
        got = got.replace("'y'", "'y' of --target") if target else got
        assert told + got in capsys.readouterr().err
        with pytest.raises(ValueError, match=r"a\.csv must hold one column, the predictions of a model"):
            jaxci.leaderboard(*(("roc_auc", Y, paths) if target else ("mean", paths)))

    def test_scores_of_classes_are_named_by_them(self, tmp_path, files):
        paths, _ = files(lambda frame: frame.assign(score_1=frame["score"], score=1 - frame["score"]).set_axis(
            ["p_0", "p_1"], axis=1
        ))  # fmt: skip
        one = jaxci.leaderboard("roc_auc", Y, paths, n_resamples=99, rng=0)
        paths, frames = files(lambda frame: frame)
        expected = jaxci.interval("roc_auc", Y, frames["a"]["score"].to_numpy(), n_resamples=99, rng=0)
        assert one["a"].estimate == pytest.approx(expected.estimate)


@pytest.mark.slow
def test_the_command(tmp_path, capsys, board):
    pytest.importorskip("typer")
    from jaxci.cli import main

    path, out = tmp_path / "models.csv", tmp_path / "out.json"
    rows = [",".join(["y", *GUESSES]), *(",".join(map(str, row)) for row in zip(Y, *GUESSES.values(), strict=True))]
    path.write_text("\n".join(rows))
    shared = [str(path), "--target", "y", "--models", "m0,m1,m2,m3", "--resamples", "999", "--seed", "0"]
    assert main(["leaderboard", *shared, "--metric", "accuracy", "--json", str(out)]) == 0
    assert "tied with best" in capsys.readouterr().out
    found = json.loads(out.read_text())
    assert [entry["name"] for entry in found["entries"]] == [entry.name for entry in board]
    assert found["entries"][0]["simultaneous_low"] == board["m0"].simultaneous_interval.low
    assert main(["leaderboard", *shared, "--metric", "accuracy,f1", "--reference", "m9"]) == 2
    assert "reference must be one of" in capsys.readouterr().err
    arguments = [*shared, "--metric", "accuracy", "--resampling", "moving", "--block-length", "7", "--json", str(out)]
    assert main(["leaderboard", *arguments]) == 0
    assert "999 resamples of blocks of 7 rows shared by all models" in json.loads(out.read_text())["reason"]


# --- what is taken for granted ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_good_end_of_a_function_of_ones_own_is_said():
    own = WeightedFunction(lambda y, p, weights: jnp.sum(weights * jnp.abs(y - p)) / jnp.sum(weights))
    given = {"n_resamples": 499, "rng": 0}
    told = jaxci.leaderboard(own, Y, GUESSES, **given)
    assert "are taken for better; less_is_better=True is for a loss" in told.warnings[0]
    known = jaxci.leaderboard(own, Y, GUESSES, less_is_better=True, **given)
    assert not any("taken for better" in text for text in known.warnings)
    assert [entry.name for entry in known] == [entry.name for entry in told][::-1]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 1e305])
def test_gaps_of_two_runs_are_numbers_in_order(size):
    runs = {"a": size * np.array([[-0.9], [-0.2]]), "b": size * np.array([[-0.2], [-0.3]])}
    board = jaxci.leaderboard("optimality_gap", runs, rng=0, n_resamples=199, adjust="none")
    for entry in board.entries:
        low, high = entry.confidence_interval
        assert 0 < low < entry.estimate < high < np.inf
        assert high <= entry.estimate + np.exp(2) * special.stdtrit(1, 0.975) * entry.standard_error * 1.001


def test_a_gap_that_few_scores_have_is_positive_and_told():
    rng = np.random.default_rng(3)
    runs = {"good": 1.1 + 0.1 * rng.normal(size=(5, 5)), "fair": 0.95 + 0.1 * rng.normal(size=(5, 5))}
    board = jaxci.leaderboard("optimality_gap", runs, rng=0, n_resamples=499, adjust="none")
    good = next(entry for entry in board.entries if entry.name == "good")
    low, high = good.confidence_interval
    assert 0 < low < good.estimate < high
    assert low * high == pytest.approx(good.estimate**2, rel=1e-9)
    below = int((runs["good"] < 1).sum())
    assert 0 < below < 8 < (runs["fair"] < 1).sum()
    assert [said for said in board.warnings if f"gamma = 1 ({below} of good)" in said]
    assert not any("gamma" in said for said in jaxci.leaderboard("mean", runs, rng=0, n_resamples=499).warnings)


@pytest.mark.parametrize(("shape", "told"), [((60, 4), True), ((60, 1), False), ((40, 4), False), ((60, 10), False)])
def test_many_rows_of_runs_may_be_questions(shape, told):
    scores = {name: np.random.default_rng(seed).random(shape) for seed, name in enumerate("ab")}
    found = jaxci.leaderboard("mean", scores, n_resamples=99, rng=0)
    assert told == any("60 rows are taken for independent runs on 4 tasks" in text for text in found.warnings)
