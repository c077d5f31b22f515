"""Fits of the data sets of a cell: programs of a learner, or estimators on the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.risks import Moments, exact_risks, moments
from jaxci.distributions import FileProblem, Problem
from jaxci.generalization.losses import CUT, Loss
from jaxci.inducers.base import Inducer, fitting, predicting, rows_with_room, with_room
from jaxci.inducers.host import Reading, host_batches
from jaxci.inference.sharding import Spread

VALIDATION_ROWS = 2**14
"""Rows of the validation set that are predicted at a time."""


class Predicted(NamedTuple):
    """Predictions (R, F, n[, K]), how many fits did not converge, and what those that failed said."""

    predictions: np.ndarray
    lost: int
    errors: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Fits:
    """What is fitted, where, and within what memory.

    Attributes
    ----------
    learner : Inducer or estimator
    problem : Problem or FileProblem
    loss : Loss
    spread : Spread
        Devices of a learner's programs.
    budget : int
        Bytes that fits made together may take.
    """

    learner: Any
    problem: Problem | FileProblem
    loss: Loss
    spread: Spread
    budget: int

    @property
    def n_classes(self) -> int:
        """K; 0 for a regression."""
        return self.problem.n_classes

    def predictions(self, keys: jax.Array, X: Any, y: Any, counts: np.ndarray, needed: np.ndarray) -> Predicted:
        """Predict every data set's rows by fits to ``counts`` (F, n); estimators those that are ``needed`` (F, n)."""
        if not isinstance(self.learner, Inducer):
            return self._on_host(keys, X, y, counts, np.arange(len(counts)), needed)
        n = counts.shape[1]
        per_fit = self._bytes_of_fit(n)
        size = int(np.clip(self.budget // (per_fit * len(keys)), 1, len(counts)))
        parts, lost = [], 0
        X, y, counts = with_room(self.learner, X, y, counts)
        for start in range(0, len(counts), size):
            numbers = np.minimum(np.arange(start, start + size), len(counts) - 1)
            kept = min(size, len(counts) - start)
            shared = (self.learner, jnp.asarray(counts[numbers], jnp.float64))
            found, converged = self.spread(_own, (folded(keys, numbers), X, y), shared, n_classes=self.n_classes)
            parts.append(np.asarray(found)[:, :kept, :n])
            lost += int((~np.asarray(converged)[:, :kept]).sum())
        return Predicted(np.concatenate(parts, axis=1), lost, ())

    def _on_host(
        self,
        keys: jax.Array,
        X: Any,
        y: Any,
        counts: np.ndarray,
        numbers: np.ndarray,
        needed: np.ndarray,
        fresh: tuple[Any, Any] | None = None,
    ) -> Predicted:
        """Fit an estimator, the data sets in parallel; ``numbers`` (F,) seed the fits; predict ``fresh`` if given."""
        from joblib import Parallel, delayed

        classes = np.arange(self.n_classes) if self.n_classes else None
        seeds = [int(bits) for bits in np.asarray(jax.vmap(jax.random.bits)(keys))]
        task = delayed(_of_data_set)
        found = Parallel(n_jobs=-1)(
            task(self.learner, rows, targets, counts, numbers, classes, self.loss.reads, needed, seed, fresh)
            for rows, targets, seed in zip(np.asarray(X), np.asarray(y), seeds, strict=True)
        )
        predictions, lost, errors = zip(*found, strict=True)
        return Predicted(np.stack(predictions), sum(lost), tuple(text for each in errors for text in each))

    def losses(self, y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """Return losses (..., n) of predictions (..., n[, K]): NaN where there is none, as of a fit that failed."""
        lacking = np.isnan(predictions).any(axis=-1) if self.n_classes else np.isnan(predictions)
        with np.errstate(invalid="ignore"):
            return np.where(lacking, np.nan, self.loss.rows(y, predictions))

    def risks(
        self,
        keys: jax.Array,
        X: Any,
        y: Any,
        counts: np.ndarray,
        numbers: np.ndarray,
        fresh: tuple[Any, Any] | None,
        tally: Callable[[np.ndarray], None] = lambda _: None,
    ) -> np.ndarray:
        """Return risks (R, F) of fits to ``counts`` (F, n): exact, or mean losses of ``fresh`` rows and targets.

        ``numbers`` (F,) are those of the fits, on which their draws depend. ``tally`` is given for every fit that did
        not fail one number a fresh row (m,), whose mean varies as the risk does with the rows.
        """
        n, d = counts.shape[1], self.problem.n_features
        each = self._bytes_of_fit(n)
        if fresh is not None:
            each += 8 * len(fresh[1]) * (max(self.n_classes, 1) + (0 if isinstance(self.learner, Inducer) else d))
        at_once = int(max(1, self.budget // each))
        size, blocks = min(at_once, len(counts)), []
        for start in range(0, len(counts), size):
            some, own = counts[start : start + size], numbers[start : start + size]
            found: list[np.ndarray] = []
            step = max(1, at_once // size)
            for first in range(0, len(keys), step):
                part = slice(first, first + step)
                given = (keys[part], X[part], y[part], some, own)
                found += self._exact(*given) if fresh is None else self._fresh_risks(*given, *fresh, tally)
            blocks.append(np.array(found))
        return np.concatenate(blocks, axis=1)

    def _bytes_of_fit(self, n: int) -> int:
        if isinstance(self.learner, Inducer):
            n = rows_with_room(self.learner, n)
            return self.learner.bytes_of_fit(n, self.problem.n_features, self.n_classes)
        return 8 * n * max(self.n_classes, 1)

    def _exact(self, keys: jax.Array, X: Any, y: Any, counts: np.ndarray, numbers: np.ndarray) -> list[np.ndarray]:
        assert isinstance(self.problem, Problem)
        shared = (self.learner, jnp.asarray(counts, jnp.float64), self.problem)
        found = self.spread(moments, (folded(keys, numbers), X, y), shared, n_classes=self.n_classes)
        return list(exact_risks(self.problem, self.loss, Moments(*found)))

    def _fresh_risks(
        self,
        keys: jax.Array,
        X: Any,
        y: Any,
        counts: np.ndarray,
        numbers: np.ndarray,
        rows: Any,
        targets: Any,
        tally: Callable[[np.ndarray], None],
    ) -> list[np.ndarray]:
        found, n = [], counts.shape[1]
        for r, held in enumerate(self._fresh(keys, X, y, counts, numbers, rows, targets)):
            losses = self.losses(targets, held)
            influence = losses
            if self.loss.name == "winsorized":
                losses, influence = _winsorized(losses)
            elif self.loss.adjusted is not None:
                own = np.asarray(y[r])
                losses = influence = self.loss.adjusted(
                    losses, np.ones(losses.shape, bool), np.broadcast_to(counts, (len(counts), n)), own
                )
            for one in influence:
                if np.isfinite(one).all():
                    tally(one)
            found.append(losses.mean(axis=1))
        return found

    def _fresh(
        self, keys: jax.Array, X: Any, y: Any, counts: np.ndarray, numbers: np.ndarray, rows: Any, targets: Any
    ) -> np.ndarray:
        """Return predictions (R, F, m[, K]) of other rows."""
        if not isinstance(self.learner, Inducer):
            needed = np.ones((len(counts), len(rows)), bool)
            return self._on_host(keys, X, y, counts, numbers, needed, (rows, targets)).predictions
        block = min(VALIDATION_ROWS, len(rows))
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % block, axis=0)])
        X, y, counts = with_room(self.learner, X, y, counts)
        shared = (self.learner, jnp.asarray(counts, jnp.float64), jnp.asarray(padded))
        found = self.spread(_fresh, (folded(keys, numbers), X, y), shared, n_classes=self.n_classes)
        return np.asarray(found)[:, :, : len(rows)]


def folded(keys: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Return a key (R, F) for every data set's fits."""
    return _folded(keys, np.asarray(numbers, np.int32))


@jax.jit
def _folded(keys: jax.Array, numbers: jax.Array) -> jax.Array:
    return jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))(keys, numbers)


def _of_data_set(
    estimator: Any,
    X: np.ndarray,
    y: np.ndarray,
    counts: np.ndarray,
    numbers: np.ndarray,
    classes: np.ndarray | None,
    reads: str,
    needed: np.ndarray,
    seed: int,
    fresh: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, int, list[str]]:
    """Fit to one data set; predict its rows that are ``needed`` (F, n), or all ``fresh`` ones (F, m)."""
    if fresh is not None:  # rows that no fit is trained on
        n = len(y)
        X, y = np.concatenate([X, fresh[0]]), np.concatenate([y, fresh[1]])
        counts, needed = (np.pad(x, ((0, 0), pad)) for x, pad in ((counts, (0, len(y) - n)), (needed, (n, 0))))
    predictions, lost, errors = [], 0, []
    for number, row, mask in zip(numbers, counts, needed, strict=True):
        reading, own_seed = Reading(reads, mask[None], n_jobs=1), (seed + int(number)) % 2**32
        for batch in host_batches(estimator, X, y, row[None], classes, seed=own_seed, reading=reading):
            predictions.append(batch.predictions[0] if fresh is None else batch.predictions[0][n:])
            lost += int((~batch.converged).sum())
            errors += [error for error in batch.errors if error is not None]
    return np.stack(predictions), lost, errors


def _winsorized(losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return losses (F, m) cut at their quantile, and their influence on the mean, to which the quantile's adds.

    That of a row on the quantile q is ``(CUT - [loss <= q]) / f(q)``, with a density f read off the quantiles
    ``m**-.5`` to each side.
    """
    m = losses.shape[1]
    reach = min(m**-0.5, (1 - CUT) / 2)
    below, cut, above = np.quantile(losses, [CUT - reach, CUT, CUT + reach], axis=1, keepdims=True)
    kept = np.minimum(losses, cut)
    return kept, kept + (1 - CUT) * (CUT - (losses <= cut)) * (above - below) / (2 * reach)


def _own(rows: Any, shared: Any, *, n_classes: int) -> tuple[jax.Array, jax.Array]:
    """Return predictions (R, F, n[, K]) of the data by fits to each of the counts, and which converged (R, F)."""
    keys, X, y = rows
    learner, counts = shared

    def fit(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        fitted = fitting(learner, key, X, y, weights, n_classes)
        return predicting(learner, fitted.params, X, n_classes), fitted.converged

    return jax.vmap(jax.vmap(fit, (0, None, None, 0)), (0, 0, 0, None))(keys, X, y, counts)


def _fresh(rows: Any, shared: Any, *, n_classes: int) -> jax.Array:
    """Return predictions (R, F, m[, K]) of other rows by fits to each of the counts."""
    keys, X, y = rows
    learner, counts, fresh = shared
    blocks = fresh.reshape(-1, min(VALIDATION_ROWS, fresh.shape[0]), fresh.shape[1])

    def fit(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        params = fitting(learner, key, X, y, weights, n_classes).params
        found = jax.lax.map(lambda block: predicting(learner, params, block, n_classes), blocks)
        return found.reshape(fresh.shape[0], *found.shape[2:])

    return jax.vmap(jax.vmap(fit, (0, None, None, 0)), (0, 0, 0, None))(keys, X, y, counts)
