"""Fit the distinct training samples of some plans once, and keep the losses of every split."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxci.generalization.base import Resampled
from jaxci.generalization.losses import Loss
from jaxci.generalization.scores import Metric, Score, Scorer
from jaxci.inducers.base import Inducer, batches
from jaxci.inducers.contract import check_first_fits
from jaxci.inducers.host import Reading, check_readable, host_batches, predicted
from jaxci.resampling.plan import Plan
from jaxci.statistics.layout import uneven
from jaxci.tracing import of_users

LONG = 2.0
"""Seconds from which on a run says how long it will take."""

COMPILED = 10
"""How many times as long it must seem after the first fits, which hold the time to compile."""


class Outcome(NamedTuple):
    """Fits of some plans: losses by plan, how many models were fitted, and what befell them."""

    plans: dict[str, Resampled]
    n_fits: int
    not_converged: int
    errors: tuple[str, ...]


class Pace:
    """Says on stderr how many fits there are and how long they take, where that is long.

    Use as a context: a run of a single batch says how many fits are under way after :data:`LONG` seconds.
    """

    def __init__(self, total: int, shown: bool, call: Callable[[int, int], None] | None = None) -> None:
        self.total, self.call, self.before, self.spoke = total, call, 0, False
        self.shown, self.begun, self.done = shown, (time.perf_counter(), 0), 0
        self.timer = threading.Timer(LONG, self._say, (f"{total} fits under way",))
        self.timer.daemon = True

    def __enter__(self) -> Pace:
        if self.shown:
            self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        if self.spoke:
            print(file=sys.stderr)

    def _say(self, text: str) -> None:
        self.spoke = True
        print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)

    def __call__(self, done: int) -> None:
        """Tell that so many fits of the present learner are done."""
        done += self.before
        self.done = done
        if self.call is not None:
            self.call(done, self.total)
        now, (since, first) = time.perf_counter(), self.begun
        left = (now - since) / (done - first) * (self.total - done)
        if self.shown and (self.spoke or left > (LONG if first else COMPILED * LONG)):
            self._say(f"{self.total} fits: {done} done, about {left:.0f} s left")
        if first == 0:  # compiling counts for the first fits only
            self.begun = (now, done)

    def next_learner(self) -> None:
        """Count on: what is told from now on are fits of another learner."""
        self.before = self.done


def distinct_samples(plans: Sequence[Plan]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct training counts (F, n) of all plans, and the place of every split among them."""
    numbers: dict[bytes, int] = {}
    rows: list[np.ndarray] = []
    places = []
    for plan in plans:
        first, place = plan.fits
        own = np.empty(len(first), np.int64)
        for i, split in enumerate(first):
            row = plan.train_counts[split]
            number = numbers.setdefault(row.tobytes(), len(rows))
            if number == len(rows):
                rows.append(row)
            own[i] = number
        places.append(own[place])
    return np.stack(rows), places


def _of_learner(
    learner: Any,
    X: Any,
    y: np.ndarray,
    counts: np.ndarray,
    classes: np.ndarray | None,
    score: Score,
    key: jax.Array,
    reading: Reading,
) -> Iterator[tuple[int, np.ndarray, int, list[str], list[list[float]]]]:
    """Yield start, predictions, how many did not converge, errors, and what a scorer said of each batch of fits."""
    if isinstance(learner, Inducer):
        n_classes = 0 if classes is None else len(classes)
        weighted = counts if reading.weights is None else counts * reading.weights
        data = learner, key, np.asarray(X), y, weighted, n_classes
        for batch in batches(*data):
            if batch.start == 0 and of_users(learner):
                check_first_fits(*data, batch.predictions, probabilities=score.reads == "probabilities")
            scores = []
            if isinstance(score, Scorer):
                fits = zip(batch.predictions, reading.parts[batch.start :], strict=False)
                scores = [_scores(score, X, y, one, parts, classes, reading.weights) for one, parts in fits]
            yield batch.start, batch.predictions, int((~batch.converged).sum()), [], scores
        return
    if classes is not None and not isinstance(score, Scorer):
        check_readable(learner, score.reads, score.name)
    seed = int(jax.random.bits(key))
    for found in host_batches(learner, X, y, counts, classes, seed=seed, reading=reading):
        errors = [error for error in found.errors if error is not None]
        yield found.start, found.predictions, int((~found.converged).sum()), errors, found.scores


def _scores(
    scorer: Scorer,
    X: Any,
    y: np.ndarray,
    found: np.ndarray,
    parts: Sequence[np.ndarray],
    classes: np.ndarray | None,
    weights: np.ndarray | None,
) -> list[float]:
    targets = y if classes is None else classes[y]
    if not np.isfinite(found).all():
        return [np.nan for _ in parts]
    scores = []
    for part in parts:
        mass = None if weights is None else weights[part]
        try:
            scores.append(scorer.of(predicted(found[part], classes), X[part], targets[part], mass))
        except Exception as error:
            raise ValueError(
                f"scoring={scorer.name!r} failed: {error} (a learner of jaxci.inducers has predict, and predict_proba "
                "for classes, alone)"
            ) from error
    return scores


def fit_plans(
    learner: Any,
    X: Any,
    y: np.ndarray,
    plans: Sequence[Plan],
    score: Score,
    classes: np.ndarray | None,
    key: jax.Array,
    pace: Callable[[int], None] = lambda done: None,
    *,
    weights: np.ndarray | None = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int = -1,
) -> Outcome:
    """Fit every distinct training sample of ``plans`` once and keep what the formulas read.

    Parameters
    ----------
    learner : Inducer or scikit-learn estimator
    X : (n, d) array
    y : (n,) array
        Targets, or class codes; (n, q) for an estimator of several outputs.
    plans : sequence of Plan
        With different names.
    score : Loss, Metric or Scorer
        A loss of rows, or what judges all rows that a split tests.
    classes : (K,) array or None
        Labels by code; None for a regression.
    key : JAX key
    pace : callable, optional
        Called with the number of fits done.
    weights : (n,) array, optional
        Case weights, of fits and of means.
    params : dict, optional
        Further arguments of an estimator's ``fit``.
    n_jobs : int
        Processes that fit estimators.
    """
    counts, places = distinct_samples(plans)
    n_classes = 0 if classes is None else len(classes)
    n_fits, n = counts.shape
    failed = np.zeros(n_fits, bool)
    losses = np.full((n_fits, n), np.nan)
    rates = [np.full(len(plan), np.nan) for plan in plans]
    scores = [np.full(len(plan), np.nan) for plan in plans]
    tests = [np.zeros((0, 2), int) for _ in range(n_fits)]  # plan and split of the parts that a fit is judged on
    needed = np.zeros((n_fits, n), bool)
    for number, (plan, place) in enumerate(zip(plans, places, strict=True)):
        np.logical_or.at(needed, place, plan.test_mask)
        for fit in np.unique(place) if isinstance(score, Scorer) else ():
            mine = np.flatnonzero(place == fit)
            tests[fit] = np.concatenate([tests[fit], np.stack([np.full(len(mine), number), mine], axis=1)])
    parts = [[np.flatnonzero(plans[p].test_mask[s]) for p, s in mine] for mine in tests]
    scorer = score if isinstance(score, Scorer) else None
    reading = Reading(score.reads, needed, scorer, parts, weights, params or {}, n_jobs)
    not_converged, errors = 0, []
    for start, predictions, lost, messages, said in _of_learner(learner, X, y, counts, classes, score, key, reading):
        these = slice(start, start + len(predictions))
        finite = np.isfinite(predictions).reshape(len(predictions), n, -1).all(axis=2)
        failed[these] = ~np.where(needed[these], finite, True).all(axis=1)
        if isinstance(score, Loss) and score.of_user:  # sees the rows that are tested, of fits that did not fail
            for fit in np.flatnonzero(~failed[these]):
                rows = np.flatnonzero(needed[start + fit])
                losses[start + fit, rows] = score.rows(y[rows], predictions[fit][rows])
        elif isinstance(score, Loss):
            losses[these] = score.rows(y, predictions)
        for fit, values in enumerate(said, start):
            for (number, split), value in zip(tests[fit], values, strict=True):
                scores[number][split] = value
        for plan, place, rate, found in zip(plans, places, rates, scores, strict=True):
            fitted = (place >= start) & (place < start + len(predictions)) & ~failed[place]
            if isinstance(score, Loss):
                for split in np.flatnonzero(fitted & tested_on_themselves(plan)):
                    mass = plan.train_counts[split] if plan.name == "two_stage_bootstrap" else np.ones(plan.n)
                    mass = mass if weights is None else mass * weights
                    rate[split] = score.no_information(y, predictions[place[split] - start], mass)
            elif isinstance(score, Metric):
                for split in np.flatnonzero(fitted):
                    rows = plan.test_mask[split]
                    mass = np.ones(rows.sum()) if weights is None else weights[rows]
                    found[split] = score.of(y[rows], predictions[place[split] - start][rows], n_classes, mass)
        not_converged += lost
        errors += messages
        pace(min(these.stop, n_fits))
    outcome, of_means = {}, weights if uneven(weights) else None
    for plan, place, rate, found in zip(plans, places, rates, scores, strict=True):
        own = losses[place]
        if isinstance(score, Loss) and score.adjusted is not None:
            own = score.adjusted(own, plan.test_mask, plan.train_counts, y)
        own = np.where(plan.test_mask, own, np.nan)
        if isinstance(score, Loss):
            lost_splits = failed[place] | ~np.isfinite(np.where(plan.test_mask, own, 0.0)).all(axis=1)
            outcome[plan.name] = Resampled(plan, own, lost_splits, rate, weights=of_means)
        else:
            outcome[plan.name] = Resampled(plan, own, failed[place] | np.isnan(found), None, found)
    return Outcome(outcome, n_fits, not_converged, tuple(errors))


def tested_on_themselves(plan: Plan) -> np.ndarray:
    """Return which splits (S,) need a no-information rate: those whose model is tested where it was trained."""
    if plan.name in ("insample", "bootstrap_apparent"):
        return np.ones(len(plan), bool)
    return (plan.inner < 0) if plan.name == "two_stage_bootstrap" else np.zeros(len(plan), bool)


def difference(first: Resampled, second: Resampled) -> Resampled:
    """Return the losses of the first learner less those of the second, on the same splits."""
    failed = ~(first.kept & second.kept)
    scores = None
    if first.scores is not None and second.scores is not None:
        scores = first.scores - second.scores
    return dataclasses.replace(
        first, losses=first.losses - second.losses, failed=failed, no_information=None, scores=scores
    )
