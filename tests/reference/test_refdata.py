"""Real predictions of real models: the verbs run, agree with scikit-learn, and reject what is bad in the files."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import jaxci
from jaxci import JaxciWarning

metrics = pytest.importorskip("sklearn.metrics")

pytestmark = [pytest.mark.refdata, pytest.mark.slow, pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")]

QUICK = {"n_resamples": 499, "rng": 0}


def read(path: Path, *, every: int = 1) -> dict[str, np.ndarray]:
    """Read every so many rows of a file, column by column, as strings."""
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside the checkout")
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows)
        kept = [row for i, row in enumerate(rows) if i % every == 0]
    return {name: np.array([row[j] for row in kept]) for j, name in enumerate(header)}


def softmax(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Class probabilities in float64 from the columns of logits."""
    names = sorted((name for name in columns if name.startswith("logit_")), key=lambda name: int(name[6:]))
    return special.softmax(np.stack([columns[name].astype(float) for name in names], axis=1), axis=1)


def check(table: jaxci.EvaluationTable, expected: dict[str, float]) -> None:
    """Estimates are scikit-learn's, and intervals of positive width hold them."""
    for row in table:
        low, high = row.confidence_interval
        assert low < high, row.statistic
        assert low <= row.estimate <= high, row.statistic
        assert 0 < row.standard_error < high - low, row.statistic
    assert set(expected) <= {row.statistic for row in table}
    for name, value in expected.items():
        assert table[name].estimate == pytest.approx(value, rel=1e-12), name


def width(row: jaxci.IntervalResult) -> float:
    return row.confidence_interval.high - row.confidence_interval.low


# --- surgical actions: eight classes ---------------------------------------------------------------


@pytest.fixture(scope="module")
def surgery(refdata: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = read(refdata / "lapgyn4_surgical_actions_test.csv", every=6)
    # the part of the identifier that reads like a case number
    case = np.array([name.split("_c_")[1].split("_")[0] for name in columns["sample_id"]])
    return columns["target"].astype(int), softmax(columns), case


def test_surgical_actions(surgery):
    truth, score, _ = surgery
    guess = score.argmax(axis=1)
    one_hot = np.eye(8)[truth]
    table = jaxci.evaluate(truth, guess, score, **QUICK)
    check(
        table,
        {
            "accuracy": metrics.accuracy_score(truth, guess),
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, guess),
            "f1_macro": metrics.f1_score(truth, guess, average="macro"),
            "f1_weighted": metrics.f1_score(truth, guess, average="weighted"),
            "matthews_corrcoef": metrics.matthews_corrcoef(truth, guess),
            "cohen_kappa_score": metrics.cohen_kappa_score(truth, guess),
            "roc_auc_ovr": metrics.roc_auc_score(truth, score, multi_class="ovr"),
            "average_precision_macro": metrics.average_precision_score(one_hot, score, average="macro"),
            "log_loss": metrics.log_loss(truth, score),
        },
    )
    assert table.n == len(truth)
    assert table["accuracy"].method == "mid_p"
    assert width(table["accuracy"]) < 0.03


def test_surgical_actions_by_class(surgery):
    truth, score, _ = surgery
    guess = score.argmax(axis=1)
    table = jaxci.evaluate(truth, guess, metrics=["f1_per_class", "recall_per_class"], **QUICK)
    f1 = metrics.f1_score(truth, guess, average=None)
    recall = metrics.recall_score(truth, guess, average=None)
    check(table, {f"f1[{k}]": f1[k] for k in range(8)} | {f"recall[{k}]": recall[k] for k in range(8)})


def test_surgical_actions_by_case(surgery):
    """Frames of one operation resemble each other: resampled by case, intervals are wider."""
    truth, score, case = surgery
    guess = score.argmax(axis=1)
    chosen = ["accuracy", "f1_macro", "log_loss"]
    alone = jaxci.evaluate(truth, guess, score, metrics=chosen, **QUICK)
    together = jaxci.evaluate(truth, guess, score, metrics=chosen, groups=case, **QUICK)
    for name in chosen:
        assert together[name].estimate == pytest.approx(alone[name].estimate, rel=1e-12)
        assert together[name].n == len(np.unique(case))
        assert width(together[name]) > width(alone[name])


def test_logits_are_no_probabilities(surgery, refdata):
    columns = read(refdata / "lapgyn4_surgical_actions_test.csv", every=50)
    logits = np.stack([columns[f"logit_{k}"].astype(float) for k in range(8)], axis=1)
    truth = columns["target"].astype(int)
    with pytest.raises(ValueError, match=r"y_score must hold probabilities in \[0, 1\]"):
        jaxci.evaluate(truth, y_score=logits, metrics=["log_loss"])
    plain, soft = (jaxci.interval("roc_auc_ovo", truth, x, **QUICK) for x in (logits, special.softmax(logits, axis=1)))
    assert abs(plain.estimate - soft.estimate) < 0.02, "ranking metrics take any scores"


def test_a_class_that_a_subset_lacks(surgery):
    truth, score, _ = surgery
    rows = truth != 3
    with pytest.raises(ValueError, match=r"K = 7 .*labels.*8 columns"):
        jaxci.evaluate(truth[rows], y_score=score[rows], metrics=["log_loss"])
    table = jaxci.evaluate(truth[rows], y_score=score[rows], labels=range(8), metrics=["log_loss", "accuracy"])
    expected = metrics.log_loss(truth[rows], score[rows], labels=range(8))
    assert table["log_loss"].estimate == pytest.approx(expected, rel=1e-12)


# --- therapeutic interventions: two classes --------------------------------------------------------


def test_therapeutic_interventions(refdata):
    columns = read(refdata / "hyperkvasir_therapeutic-interventions_test.csv")
    truth, both = columns["target"].astype(int), softmax(columns)
    score, guess = both[:, 1], both.argmax(axis=1)
    table = jaxci.evaluate(truth, guess, score, **QUICK)
    check(
        table,
        {
            "accuracy": metrics.accuracy_score(truth, guess),
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, guess),
            "f1": metrics.f1_score(truth, guess),
            "precision": metrics.precision_score(truth, guess),
            "recall": metrics.recall_score(truth, guess),
            "specificity": metrics.recall_score(truth, guess, pos_label=0),
            "matthews_corrcoef": metrics.matthews_corrcoef(truth, guess),
            "roc_auc": metrics.roc_auc_score(truth, score),
            "average_precision": metrics.average_precision_score(truth, score),
            "log_loss": metrics.log_loss(truth, score),
            "brier_score_loss": metrics.brier_score_loss(truth, score),
        },
    )
    columnwise = jaxci.evaluate(truth, y_score=both, **QUICK)
    assert [row.confidence_interval for row in columnwise] == [row.confidence_interval for row in table]


def test_methods_agree_on_a_well_behaved_auc(refdata):
    columns = read(refdata / "hyperkvasir_therapeutic-interventions_test.csv")
    truth, score = columns["target"].astype(int), softmax(columns)[:, 1]
    ends = {
        method: jaxci.interval("roc_auc", truth, score, method=method, n_resamples=1999, rng=0)
        for method in ("delong", "delong_logit", "percentile", "bca", "delta")
    }
    error = ends["delong"].standard_error
    for method, result in ends.items():
        np.testing.assert_allclose(
            result.confidence_interval, ends["delong"].confidence_interval, atol=0.6 * error, err_msg=method
        )


def test_a_model_against_a_weaker_one(refdata):
    """One model before and after noise on its logits: every comparison finds the better one."""
    columns = read(refdata / "hyperkvasir_therapeutic-interventions_test.csv")
    truth, score = columns["target"].astype(int), softmax(columns)[:, 1]
    weak = special.expit(special.logit(score) + np.random.default_rng(0).normal(0, 4, len(score)))
    for name, a, b in (
        ("accuracy", (score > 0.5).astype(int), (weak > 0.5).astype(int)),
        ("f1", (score > 0.5).astype(int), (weak > 0.5).astype(int)),
        ("roc_auc", score, weak),
        ("log_loss", score, weak),
    ):
        result = jaxci.compare(name, truth, a, b, margin=0.01, **QUICK)
        assert result.conclusion == "a is better than b; a is non-inferior to b within the margin 0.01"
        assert result.pvalue < 0.05


# --- spoofing detection: string labels, scores beyond [0, 1] ----------------------------------------


def test_spoofing(refdata):
    columns = read(refdata / "cm_fused_dev2019.csv", every=8)
    key, score = columns["key"], columns["score"].astype(float)
    assert score.min() < 0
    assert score.max() > 1
    table = jaxci.evaluate(key, y_score=score, pos_label="bonafide", **QUICK)
    positive = key == "bonafide"
    check(
        table,
        {
            "roc_auc": metrics.roc_auc_score(positive, score),
            "average_precision": metrics.average_precision_score(positive, score),
        },
    )
    assert [row.statistic for row in table] == ["roc_auc", "average_precision"]
    assert table.warnings == ()
    with pytest.raises(ValueError, match="y_score must hold probabilities"):
        jaxci.interval("log_loss", key, score, pos_label="bonafide")


def test_spoofing_without_a_positive_class(refdata):
    """The second class in the alphabet is taken, which turns the AUC about: the table says so."""
    columns = read(refdata / "cm_fused_dev2019.csv", every=8)
    key, score = columns["key"], columns["score"].astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = jaxci.evaluate(key, y_score=score, metrics=["roc_auc"])
    assert table["roc_auc"].estimate == pytest.approx(metrics.roc_auc_score(key == "spoof", score), rel=1e-12)
    assert any(issubclass(w.category, JaxciWarning) and "positive class is 'spoof'" in str(w.message) for w in caught)


def test_spoofing_with_the_number_of_each_key_fixed(refdata):
    """Bona fide and spoofed speech were collected apart, so they are resampled apart."""
    columns = read(refdata / "cm_fused_dev2019.csv", every=8)
    key, score = columns["key"], columns["score"].astype(float)
    guess = np.where(score > 0, "bonafide", "spoof")
    chosen = ["accuracy", "recall", "specificity", "roc_auc"]
    table = jaxci.evaluate(key, guess, score, metrics=chosen, pos_label="bonafide", strata=key, **QUICK)
    positive = key == "bonafide"
    check(
        table,
        {
            "accuracy": np.mean(guess == key),
            "recall": np.mean(guess[positive] == "bonafide"),
            "specificity": np.mean(guess[~positive] == "spoof"),
            "roc_auc": metrics.roc_auc_score(positive, score),
        },
    )
    assert all("strata" in row.reason for row in table)


# --- win probabilities: many rows of few games -----------------------------------------------------


@pytest.fixture(scope="module")
def games(refdata: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = read(refdata / "march_madness_in_game_men.csv", every=25)
    game = np.char.add(np.char.add(columns["season"], columns["team1"]), columns["team2"])
    return columns["prob1_outcome"].astype(int), columns["prob1"].astype(float), game


def test_win_probabilities(games):
    outcome, probability, game = games
    guess = (probability >= 0.5).astype(int)
    expected = {
        "accuracy": metrics.accuracy_score(outcome, guess),
        "f1": metrics.f1_score(outcome, guess),
        "roc_auc": metrics.roc_auc_score(outcome, probability),
        "average_precision": metrics.average_precision_score(outcome, probability),
        "log_loss": metrics.log_loss(outcome, probability),
        "brier_score_loss": metrics.brier_score_loss(outcome, probability),
    }
    rows = jaxci.evaluate(outcome, y_score=probability, metrics=list(expected), **QUICK)
    clusters = jaxci.evaluate(outcome, y_score=probability, metrics=list(expected), groups=game, **QUICK)
    check(rows, expected)
    check(clusters, expected)
    for name in expected:
        # two dozen rows of one game share its outcome: the variance is about five times as large
        assert width(clusters[name]) > 1.5 * width(rows[name]), name
        assert clusters[name].n == len(np.unique(game)) < rows[name].n
        assert "cluster" in clusters[name].reason


@pytest.mark.parametrize("name", ["accuracy", "f1", "roc_auc", "brier_score_loss"])
def test_cluster_robust_errors_agree_with_the_cluster_bootstrap(games, name):
    """Influence values summed within games against resampled games: within 5 standard errors of a bootstrap error.

    Relative error of a standard deviation from B = 499 draws: 1 / sqrt(2 B) = .032; and .04 for what is not linear.
    """
    outcome, probability, game = games
    prediction: Any = (probability >= 0.5).astype(int) if name in ("accuracy", "f1") else probability
    delta = jaxci.interval(name, outcome, prediction, method="delta", groups=game)
    drawn = jaxci.interval(name, outcome, prediction, method="percentile", groups=game, **QUICK)
    assert delta.standard_error == pytest.approx(drawn.standard_error, rel=5 * 0.032 + 0.04)
    assert delta.estimate == pytest.approx(drawn.estimate, rel=1e-12)


# --- forecasts of baseball: one outcome is no outcome ----------------------------------------------


@pytest.mark.parametrize("chosen", [None, ["log_loss"], ["roc_auc", "brier_score_loss"]])
def test_a_tie_among_wins_and_losses_is_rejected(refdata, chosen):
    """A user who names the labels is told which value is none of them, how often and where."""
    columns = read(refdata / "mlb_games.csv")
    outcome, probability = columns["prob1_outcome"].astype(float), columns["prob1"].astype(float)
    (where,) = np.flatnonzero(~np.isin(outcome, [0, 1]))
    with pytest.raises(ValueError, match=rf"y_true .*labels \[0, 1\].* 1 do not.* 0\.5 in row {where}"):
        jaxci.evaluate(outcome, y_score=probability, labels=[0, 1], metrics=chosen)


def test_a_tie_among_wins_and_losses_is_rejected_by_interval_and_compare(refdata):
    columns = read(refdata / "mlb_games.csv")
    outcome, probability = columns["prob1_outcome"].astype(float), columns["prob1"].astype(float)
    with pytest.raises(ValueError, match=r"labels \[0, 1\].* 1 do not.* 0\.5 in row"):
        jaxci.interval("brier_score_loss", outcome, probability, labels=[0, 1])
    with pytest.raises(ValueError, match=r"labels \[0, 1\].* 1 do not.* 0\.5 in row"):
        jaxci.compare("brier_score_loss", outcome, probability, 1 - probability, labels=[0, 1])


def test_a_tie_without_labels_is_not_taken_for_a_regression(refdata):
    """With scores and no predictions the error must speak of the outcomes, not of a regression without ``y_pred``."""
    columns = read(refdata / "mlb_games.csv", every=1)
    outcome, probability = columns["prob1_outcome"].astype(float), columns["prob1"].astype(float)
    with pytest.raises((ValueError, TypeError)) as caught:
        jaxci.evaluate(outcome, y_score=probability)
    assert "y_true" in str(caught.value) or "classes" in str(caught.value)


def test_forecasts_of_decided_games(refdata):
    columns = read(refdata / "mlb_games.csv")
    outcome, probability = columns["prob1_outcome"].astype(float), columns["prob1"].astype(float)
    decided = np.isin(outcome, [0, 1])
    truth, score = outcome[decided], probability[decided]
    table = jaxci.evaluate(truth, y_score=score, metrics=["roc_auc", "log_loss", "brier_score_loss"], **QUICK)
    check(
        table,
        {
            "roc_auc": metrics.roc_auc_score(truth, score),
            "log_loss": metrics.log_loss(truth, score),
            "brier_score_loss": metrics.brier_score_loss(truth, score),
        },
    )
    naive = np.full(len(truth), truth.mean())
    result = jaxci.compare("log_loss", truth, score, naive, **QUICK)
    assert result.conclusion == "a is better than b"
    assert result.estimate_b == pytest.approx(metrics.log_loss(truth, naive), rel=1e-12)
