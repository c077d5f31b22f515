"""Batches as users have them: buffers that are filled anew, ordered categories, named columns, threads."""

from __future__ import annotations

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import jaxci

NAMES = ["low", "medium", "high"]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def three_classes(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, n)
    return y, 0.4 * np.eye(3)[y] + 0.6 * rng.dirichlet(np.ones(3), n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_arrays_may_be_filled_anew_after_every_batch(dtype):
    rng = np.random.default_rng(0)
    y, groups, weights = rng.integers(0, 2, 400), rng.integers(0, 40, 400), 1 + rng.random(400)
    scores = rng.random(400).astype(dtype)
    expected = jaxci.evaluate(
        y, y_score=scores, metrics=["roc_auc"], groups=groups, sample_weight=weights, rng=0, n_resamples=99
    )["roc_auc"]
    buffers = [np.empty(100, x.dtype) for x in (y, scores, groups, weights)]
    accumulator = jaxci.Accumulator(["roc_auc"], groups=True, rng=0, n_resamples=99)
    for rows in np.split(np.arange(400), 4):
        for buffer, column in zip(buffers, (y, scores, groups, weights), strict=True):
            buffer[:] = column[rows]
        accumulator.update(buffers[0], y_score=buffers[1], groups=buffers[2], sample_weight=buffers[3])
    (found,) = accumulator.finalize()
    assert (found.estimate, found.confidence_interval) == (expected.estimate, expected.confidence_interval)


@pytest.mark.parametrize("max_rows", [2**17, 100])
@pytest.mark.parametrize("columns", [None, NAMES[::-1]])
def test_ordered_categories_give_the_order_of_the_classes(monkeypatch, max_rows, columns):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    y, scores = three_classes()
    truth = pd.Series(pd.Categorical.from_codes(y, NAMES, ordered=True))
    given = scores if columns is None else pd.DataFrame(scores[:, ::-1], columns=columns)
    metrics = ["log_loss", "accuracy", "roc_auc_ovr"]
    expected = {row.statistic: row.estimate for row in jaxci.evaluate(truth, y_score=given, metrics=metrics)}
    one, other = (jaxci.Accumulator(metrics, rng=0, n_resamples=99, max_rows=max_rows) for _ in range(2))
    for accumulator, rows in ((one, np.arange(150)), (other, np.arange(150, 300))):
        batch = given[rows] if columns is None else given.iloc[rows]
        accumulator.update(truth[rows], y_score=batch, ids=rows)
    again = jaxci.Accumulator(metrics, rng=0, n_resamples=99, max_rows=max_rows)
    found = again.load(pickle.loads(pickle.dumps(one.merge(other).state_dict()))).finalize()
    assert {row.statistic: row.estimate for row in found} == pytest.approx(expected)


def test_ordered_categories_of_labels_alone():
    y, scores = three_classes()
    truth = pd.Series(pd.Categorical.from_codes(y, NAMES, ordered=True))
    guess = np.array(NAMES)[scores.argmax(axis=1)]
    kappa = jaxci.statistics.CohenKappa(weights="quadratic")
    (expected,) = jaxci.evaluate(truth, guess, metrics=[kappa])
    (found,) = jaxci.Accumulator([kappa]).update(truth, guess).finalize()
    assert found.estimate == expected.estimate
    few = [truth[:2].cat.remove_unused_categories(), truth[2:]]
    accumulator = jaxci.Accumulator([kappa]).update(few[0], guess[:2]).update(few[1], guess[2:])
    assert next(iter(accumulator.finalize())).estimate == expected.estimate
    with pytest.raises(ValueError, match=r"categories of one order in every batch; got \['high', 'medium', 'low'\]"):
        accumulator.update(truth.cat.reorder_categories(NAMES[::-1]), guess)


def _scored(y, scores, *, ordered: bool, order=NAMES):
    truth = np.array(NAMES)[y]
    truth = pd.Series(pd.Categorical(truth, categories=order, ordered=True)) if ordered else truth
    made = jaxci.Accumulator(["log_loss"], rng=0, max_rows=100)
    return made.update(truth, y_score=pd.DataFrame(scores, columns=NAMES))


@pytest.mark.parametrize("sizes", [(40, 50), (40, 150), (150, 40), (150, 160)])
def test_orders_that_differ_are_refused_where_scores_were_put_in_one(monkeypatch, sizes):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    y, scores = three_classes()
    rows = slice(0, sizes[0]), slice(100, 100 + sizes[1])
    first, other = ((y[part], scores[part]) for part in rows)
    for one, two in (
        ({"ordered": False}, {"ordered": True}),
        ({"ordered": True}, {"ordered": True, "order": NAMES[::-1]}),
    ):
        for before, after in ((one, two), (two, one)):
            kept, added = _scored(*first, **before), _scored(*other, **after)
            estimate = kept.finalize()["log_loss"].estimate
            with pytest.raises(ValueError, match="y_true must have categories of one order in every batch"):
                kept.merge(added)
            assert kept.finalize()["log_loss"].estimate == estimate
            assert kept.n == sizes[0]
    kept = _scored(*first, ordered=False)
    with pytest.raises(ValueError, match=r"got \['low', 'medium', 'high'\] after no order"):
        kept.update(
            pd.Series(pd.Categorical.from_codes(y, NAMES, ordered=True)), y_score=pd.DataFrame(scores, columns=NAMES)
        )
    kept = _scored(*first, ordered=True)
    texts = np.array(NAMES)[other[0]]  # are read in the order that is known
    kept.update(texts, y_score=pd.DataFrame(other[1], columns=NAMES))
    both = [np.concatenate(pair) for pair in zip(first, other, strict=True)]
    losses = -np.log(both[1][np.arange(len(both[0])), both[0]])
    assert kept.finalize()["log_loss"].estimate == pytest.approx(losses.mean())


def test_columns_of_other_names_are_told(monkeypatch):
    y, scores = three_classes()
    given = pd.DataFrame(scores, columns=[f"p_{name}" for name in NAMES])
    truth = np.array(NAMES)[y]
    told = jaxci.evaluate(truth, y_score=given, metrics=["log_loss"]).warnings
    assert "by their names they look swapped" in told[0]
    accumulator = jaxci.Accumulator(["log_loss"]).update(truth[:50], y_score=given[:50])
    accumulator.merge(jaxci.Accumulator(["log_loss"]).update(truth[50:], y_score=given[50:]))
    assert accumulator.finalize().warnings == told
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    counting = jaxci.Accumulator(["log_loss"], max_rows=100).update(truth[:50], y_score=given[:50])
    assert "look swapped" in counting.update(truth, y_score=scores).finalize().warnings[0]


@pytest.mark.parametrize("bad", [[0.2, 1.5], [[0.2, 0.9], [0.5, 0.5]]])
def test_scores_that_are_no_probabilities_are_refused_at_once(bad):
    accumulator = jaxci.Accumulator(["roc_auc", "log_loss"])
    good = np.array([0.1, 0.7, 0.2, 0.6]) if np.ndim(bad) == 1 else np.array([[0.1, 0.9], [0.8, 0.2]] * 2)
    accumulator.update([1, 1, 0, 1], y_score=good)
    with pytest.raises(ValueError, match=r"must (hold probabilities|sum to 1)"):
        accumulator.update([0, 1], y_score=bad)
    assert accumulator.update([1, 1, 0, 1], y_score=good).finalize().n == 8


@pytest.mark.parametrize(
    ("metrics", "given", "error"),
    [
        (["accuracy", "roc_auc"], {"y_pred": [0, 1]}, "roc_auc needs y_score, which was not given"),
        (["mean_absolute_error"], {"y_score": [0.1, 0.2]}, "y_pred must be given for regression metrics"),
    ],
)
def test_what_metrics_read_is_asked_for_at_once(metrics, given, error):
    accumulator = jaxci.Accumulator(metrics)
    with pytest.raises((TypeError, ValueError), match=error):
        accumulator.update([0, 1], **given)
    assert accumulator.n == 0


@pytest.mark.parametrize("k", [3, 100])
def test_softmax_in_16_bits_makes_probabilities(k):
    logits = 3 * np.random.default_rng(0).normal(size=(300, k))
    y = np.arange(300) % k
    scores = jax.nn.softmax(jnp.asarray(logits, jnp.bfloat16))
    found = jaxci.Accumulator(["log_loss"]).update(y, y_score=scores).finalize()["log_loss"]
    whole = -np.asarray(jax.nn.log_softmax(logits))[np.arange(300), y].mean()
    assert found.estimate == pytest.approx(whole, rel=0.01)
    assert "log_loss" in [row.statistic for row in jaxci.evaluate(y, y_score=scores, n_resamples=99)]


def test_of_two_columns_one_is_read_which_16_bits_round_to_1():
    """What is left of it would be nothing, where the other column says .002."""
    scores = np.asarray(jax.nn.softmax(jnp.asarray([[0.0, 6.2], [1.0, 0.0]], jnp.bfloat16)).astype(float))
    assert scores[0, 1] == 1.0
    with pytest.raises(ValueError, match=r"rows of y_score must sum to 1 .* the first is row 0 with sum 1.00"):
        jaxci.Accumulator(["log_loss"]).update([1, 0], y_score=scores)


@pytest.mark.parametrize("read", ["merge", "state_dict", "pickle"])
def test_what_is_read_beside_updates_is_of_whole_batches(read):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 600)
    guess = np.where(rng.random(600) < 0.2, 1 - y, y)
    accumulator, done = jaxci.Accumulator(["accuracy"], rng=0), threading.Event()
    accumulator.update(y, guess)

    def update() -> None:
        while not done.is_set():
            accumulator.update(y, guess)

    def rows_and_counts() -> tuple[int, int]:
        if read == "state_dict":
            state = accumulator.state_dict()
        elif read == "pickle":
            state = pickle.loads(pickle.dumps(accumulator)).state_dict()
        else:
            state = jaxci.Accumulator(["accuracy"], rng=0).merge(accumulator).state_dict()
        return state["n"], int(np.asarray(state["table"]["cells"])[:, -1].sum())

    with ThreadPoolExecutor(1) as pool:
        updating = pool.submit(update)
        try:
            found = [rows_and_counts() for _ in range(1000)]
        finally:
            done.set()
        updating.result()
    assert [n for n, _ in found] == [counted for _, counted in found]


def test_two_threads_may_merge_two_accumulators_both_ways():
    y = np.array([0, 1, 1, 0])
    one, other = (jaxci.Accumulator(["accuracy"], rng=0).update(y, y) for _ in range(2))

    def merge(pair: tuple[jaxci.Accumulator, jaxci.Accumulator]) -> None:
        for _ in range(5):
            pair[0].merge(pair[1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(merge, [(one, other), (other, one)], timeout=60))
    assert one.n % 4 == other.n % 4 == 0


@pytest.mark.parametrize("score", [True, False])
def test_several_threads_may_update_one_accumulator(monkeypatch, score):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    rng = np.random.default_rng(8)
    y, scores = rng.integers(0, 2, 6000), np.round(rng.random(6000), 2)
    metrics = ["roc_auc"] if score else ["accuracy"]
    accumulator = jaxci.Accumulator(metrics, rng=0, max_rows=1000)

    def update(rows: np.ndarray) -> None:
        given = {"y_score": scores[rows]} if score else {"y_pred": scores[rows] > 0.5}
        accumulator.update(y[rows] == 1, **given)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(update, np.array_split(np.arange(6000), 200)))
    given = {"y_score": scores} if score else {"y_pred": scores > 0.5}
    expected = jaxci.evaluate(y == 1, **given, metrics=metrics)[metrics[0]].estimate
    assert accumulator.n == accumulator.finalize().n == 6000
    assert pickle.loads(pickle.dumps(accumulator)).finalize()[metrics[0]].estimate == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_that_scores_speak_against_are_told_however_many_rows_there_are(monkeypatch, n_classes):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    rng = np.random.default_rng(11)
    y = rng.integers(0, n_classes, 900)
    scores = rng.dirichlet(np.ones(n_classes), 900) + np.eye(n_classes)[y]
    scores /= scores.sum(axis=1, keepdims=True)
    guess = (scores.argmax(axis=1) + (np.arange(900) % 10 == 0)) % n_classes
    scores = scores[:, 1] if n_classes == 2 else scores
    named = {"metrics": ["accuracy", "roc_auc" if n_classes == 2 else "log_loss"], "rng": 0}
    (expected,) = [text for text in jaxci.evaluate(y, guess, scores, **named).warnings if "y_pred is not" in text]
    assert " in 90 of 900 rows (10.0%)" in expected
    parts = []
    for rows in (slice(0, 450), slice(450, 900)):
        parts.append(jaxci.Accumulator(**named, max_rows=100))
        for batch in np.array_split(np.arange(900)[rows], 7):
            parts[-1].update(y[batch], guess[batch], scores[batch], ids=batch)
    state = json.loads(json.dumps(parts[1].state_dict(), default=np.ndarray.tolist))
    whole = parts[0].merge(jaxci.Accumulator(**named, max_rows=100).load(state))
    assert whole.finalize().warnings.count(expected) == 1
    agreeing = jaxci.Accumulator(**named, max_rows=100)
    agreeing.update(y, (guess - (np.arange(900) % 10 == 0)) % n_classes, scores, ids=np.arange(900))
    assert not [text for text in agreeing.finalize().warnings if "y_pred is not" in text]


@pytest.mark.parametrize("least", [0.0, 1e-20])
def test_losses_that_are_cut_are_told(monkeypatch, least):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    y, scores = three_classes()
    for row in (3, 160, 290):
        scores[row] = 0.5
        scores[row, y[row]] = least
    told = jaxci.evaluate(y, y_score=scores, metrics=["log_loss"])["log_loss"].warnings
    said = [text for text in told if text.startswith("3 of 300 rows have a probability")]
    assert len(said) == 1
    one, other = (jaxci.Accumulator(["log_loss"], rng=0, max_rows=100) for _ in range(2))
    for accumulator, rows in ((one, slice(0, 150)), (other, slice(150, 300))):
        accumulator.update(y[rows], y_score=scores[rows])
    again = jaxci.Accumulator(["log_loss"], rng=0, max_rows=100).load(one.merge(other).state_dict())
    assert "cells of values" in again.kept
    assert said[0] in again.finalize()["log_loss"].warnings


@pytest.mark.parametrize("max_rows", [2**17, 100])
@pytest.mark.parametrize("step", [np.timedelta64(6, "h"), np.timedelta64(1, "ns")])
def test_clusters_that_are_named_by_times_are_those_of_all_rows(monkeypatch, max_rows, step):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 100)
    y, scores = three_classes()
    guess, times = scores.argmax(axis=1), np.datetime64("2026-01-01") + np.arange(300) // 10 * step
    settings = {"metrics": ["accuracy"], "n_resamples": 99, "rng": 0}
    expected = jaxci.evaluate(y, guess, groups=times, **settings)["accuracy"]
    accumulator = jaxci.Accumulator(groups=True, max_rows=max_rows, **settings)
    for rows in (slice(0, 10), slice(10, 300)):  # the first batch is all of midnight
        accumulator.update(y[rows], guess[rows], groups=times[rows])
    found = accumulator.finalize()["accuracy"]
    assert found.confidence_interval == expected.confidence_interval
