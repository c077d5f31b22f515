"""Learners ranked: pairs, adjusted p-values, sets of ranks."""

import math

import numpy as np
import pytest

import jaxci
from jaxci.api.leaderboard_results import Pair, ranked
from jaxci.inducers import Constant, Lasso, Ridge
from jaxci.intervals.multiple import adjusted_pvalues
from jaxci.printing import ConfidenceInterval

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))
Y = X @ [1.0, 2.0, 0.0] + RNG.normal(size=90)
QUIET = {"rng": 0, "progress": False}


@pytest.fixture(scope="module")
def board():
    return jaxci.rank_inducers({"mean": Constant(), "ridge": Ridge(), "lasso": Lasso(0.3)}, X, Y, **QUIET)


@pytest.mark.slow
def test_the_order_is_that_of_the_estimates(board):
    estimates = [entry.estimate for entry in board.entries]
    assert estimates == sorted(estimates)
    assert [entry.rank for entry in board.entries] == [1, 2, 3]
    assert board["mean"].rank_low == board["mean"].rank_high == 3
    assert not board["mean"].tied
    assert board["ridge"].tied
    with pytest.raises(KeyError, match="no competitor 'tree'; known are"):
        board["tree"]


def test_each_learner_has_its_own_interval(board):
    alone = jaxci.generalization_interval(Ridge(), X, Y, method="corrected_t", cv=10, **QUIET)
    assert board["ridge"].confidence_interval == alone.confidence_interval
    assert board["ridge"].standard_error == alone.standard_error


def test_pairs_are_comparisons_at_a_level_for_all(board):
    two = jaxci.compare_inducers(Ridge(), Lasso(0.3), X, Y, confidence_level=1 - 0.05 / 3, **QUIET)
    (pair,) = (pair for pair in board.pairs if (pair.a, pair.b) == ("ridge", "lasso"))
    assert pair.estimate == pytest.approx(two.estimate, rel=1e-12)
    assert (pair.low, pair.high) == pytest.approx(tuple(two.confidence_interval), rel=1e-9)
    assert pair.pvalue == pytest.approx(two.pvalue, rel=1e-9)


def test_scores_turn_the_order():
    labels = (X[:, 0] + 0.3 * RNG.normal(size=90) > 0).astype(int)
    found = jaxci.rank_inducers(["constant", "logistic"], X, labels, scoring="accuracy", **QUIET)
    assert [entry.name for entry in found.entries] == ["logistic", "constant"]
    assert found.entries[0].estimate > found.entries[1].estimate
    assert found["constant"].rank_low == 2


class TestAdjusted:
    def test_holm_by_hand(self):
        found = adjusted_pvalues([0.01, 0.04, 0.03, 0.005], "holm")
        np.testing.assert_allclose(found, [0.03, 0.06, 0.06, 0.02])

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["holm", "bonferroni"])
    def test_as_statsmodels(self, method):
        multitest = pytest.importorskip("statsmodels.stats.multitest")
        p = np.random.default_rng(0).beta(0.3, 1, 21)
        np.testing.assert_allclose(adjusted_pvalues(p, method), multitest.multipletests(p, method=method)[1])

    def test_what_is_not_known_is_no_evidence(self):
        assert adjusted_pvalues([math.nan, 0.01], "holm").tolist() == [1.0, 0.02]
        assert adjusted_pvalues([0.4], "none").tolist() == [0.4]


def entries(differences, alpha=0.05, less_is_better=True):
    """Ranks of a, b, c at 1, 2, 3, by the adjusted p-values of their pairs."""
    values = {"a": 1.0, "b": 2.0, "c": 3.0}
    pairs = [Pair(x, y, values[x] - values[y], 0.0, 0.0, p, p) for (x, y), p in differences.items()]
    ends = [ConfidenceInterval(0.0, 1.0)] * 3
    return {e.name: e for e in ranked("abc", [1.0, 2.0, 3.0], ends, [0.1] * 3, pairs, alpha, less_is_better)}


def test_sets_of_ranks_by_hand():
    found = entries({("a", "b"): 0.2, ("a", "c"): 0.01, ("b", "c"): 0.2})
    assert {name: (e.rank_low, e.rank_high) for name, e in found.items()} == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert [found[name].tied for name in "abc"] == [True, True, False]
    turned = entries({("a", "b"): 0.01, ("a", "c"): 0.01, ("b", "c"): 0.2}, less_is_better=False)
    assert {name: (e.rank, e.rank_low, e.rank_high) for name, e in turned.items()} == {
        "a": (3, 3, 3),
        "b": (2, 1, 2),
        "c": (1, 1, 2),
    }


@pytest.mark.parametrize(
    ("inducers", "changes", "error", "message"),
    [
        (["ridge"], {}, ValueError, "inducers must hold at least two learners; got 1"),
        (["ridge", Ridge()], {}, ValueError, "inducers must be distinct|ridge"),
        ("ridge", {}, TypeError, "inducers must be a dict or a list of learners; got 'ridge'"),
        (["ridge", "constant"], {"adjust": "fdr"}, ValueError, "adjust must be one of"),
        (["ridge", "constant"], {"method": "bootstrap_632"}, ValueError, "method must be one of .* for a difference"),
        (["ridge", "constant"], {"confidence_level": 95}, ValueError, "confidence_level must lie in"),
    ],
)
def test_bad_input_is_refused(inducers, changes, error, message):
    with pytest.raises(error, match=message):
        jaxci.rank_inducers(inducers, X, Y, **QUIET, **changes)


@pytest.mark.slow
def test_the_command_line_ranks_more_than_two(tmp_path, capsys):
    from jaxci.cli import main

    np.savetxt(tmp_path / "t.csv", np.c_[X, Y], delimiter=",", header="a,b,c,y", comments="")
    command = ["generalization", str(tmp_path / "t.csv"), "--target", "y", "--model", "constant", "--versus", "ridge"]
    assert main([*command, "--versus", "lasso:alpha=0.3", "--seed", "1"]) == 0
    printed = capsys.readouterr().out
    assert "of 3 competitors" in printed
    assert "adjusted by Holm" in printed


class FailsWithoutTheOddRow:
    """The mean of the targets, as scikit-learn's estimators are; fails where the odd row is held out."""

    _estimator_type = "regressor"

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        return self

    def fit(self, X, y):
        if not (X[:, 0] > 50).any():
            raise RuntimeError("no odd row")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_learner_that_fails_in_hard_splits_is_no_better_for_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = 3 * X[:, 1] + rng.normal(size=60) / 2
    X[7, 0], y[7] = 99, 60
    learners = {"fails": FailsWithoutTheOddRow(), "ridge": "ridge"}
    with pytest.warns(jaxci.JaxciWarning, match="judged on the splits in which all could be fitted"):
        board = jaxci.rank_inducers(learners, X, y, n_jobs=1, rng=0, progress=False)
    assert [entry.name for entry in board.entries] == ["ridge", "fails"]
    assert all(entry.rank_low <= place <= entry.rank_high for place, entry in enumerate(board.entries, 1))
    with pytest.warns(jaxci.JaxciWarning):
        pair = jaxci.compare_inducers("ridge", learners["fails"], X, y, n_jobs=1, rng=0, progress=False)
    assert [entry.estimate for entry in board.entries] == [pair.estimate_a, pair.estimate_b]
