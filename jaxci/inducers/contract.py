"""What every learner promises, as checks that anyone can run on a learner of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import check_count
from jaxci.inducers.base import Inducer, batches, fit_predict, fitting, predicting
from jaxci.inducers.host import no_probabilities
from jaxci.inducers.registry import as_inducer, inducer, inducer_to_dict

N, D, FITS = 60, 3, 3
"""Rows, features and fits of the trials: one program serves all checks of a learner."""
KEY = 0
LEAK = 1e-3
"""Change of a prediction that rounding may make, as a share of what it is and of how far targets lie apart."""


class Trial(NamedTuple):
    """Rows (n, d), targets (n,), counts (3, n) of resamples whose first six rows are left out, and K or 0."""

    X: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, n_classes: int, targets: Callable[[np.ndarray], np.ndarray] | None = None) -> Trial:
        """Return the data on which learners are tried, with a function of the targets of a regression."""
        rng = np.random.default_rng(n_classes)
        X = 5 + rng.normal(size=(N, D)) * [1, 2, 0.5]
        score = X @ rng.normal(size=(D, max(n_classes, 1))) + rng.normal(size=(N, max(n_classes, 1)))
        y = score[:, 0] if n_classes == 0 else np.argmax(score - score.mean(axis=0), axis=1).astype(np.int32)
        y = targets(y) if targets is not None and n_classes == 0 else y
        counts = rng.multinomial(N, np.r_[np.zeros(6), np.full(N - 6, 1 / (N - 6))], size=FITS)
        return cls(X, y, counts, n_classes)

    def fitted(self, learner: Inducer, key: int = KEY, **changes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions of three fits to these data with ``changes``, and which converged."""
        X, y, counts, n_classes = self._replace(**changes)
        return fit_predict(learner, jax.random.key(key), X, y, counts, n_classes)


def _near(what: str, found: Any, expected: Any, tolerance: float) -> None:
    apart = np.abs(np.asarray(found) - expected) > tolerance * (1 + np.abs(expected))
    if apart.any():
        worst = float(np.max(np.abs(np.asarray(found) - expected)))
        raise AssertionError(f"{what}: {int(apart.sum())} of {apart.size} predictions differ, by up to {worst:.3g}")


def shape_and_range(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that predictions are finite and of their shape, probabilities sum to 1, and fits converge."""
    found, converged = trial.fitted(learner)
    if not np.isfinite(found).all():
        raise AssertionError(f"predictions must be finite; {int((~np.isfinite(found)).sum())} are not")
    if converged.dtype != np.bool_ or not converged.all():
        raise AssertionError(f"fits must converge, and say so by a boolean; got {converged}")
    if trial.n_classes:
        if (found < 0).any():
            raise AssertionError(f"probabilities must not be negative; got {found.min():.3g}")
        _near("probabilities of a row must sum to 1", found.sum(axis=2), 1.0, 1e-9)


def repeated_rows(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that whole weights are the fit of the rows repeated, in any order."""
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(N), trial.counts[0]))
    weighted, _ = trial.fitted(learner)
    repeated, _ = trial.fitted(learner, X=trial.X[rows], y=trial.y[rows], counts=np.ones((FITS, N)))
    _near("rows repeated must give the fit of whole weights", repeated[0], weighted[0][rows], tolerance)
    order = np.random.default_rng(1).permutation(N)
    moved, _ = trial.fitted(learner, X=trial.X[order], y=trial.y[order], counts=trial.counts[:, order])
    _near("the order of the rows must not matter", moved, weighted[:, order], tolerance)


def no_weight_no_influence(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that a row of weight 0 does nothing, whatever it holds."""
    X, y = trial.X.copy(), trial.y.copy()
    X[:6] = 1e4 * np.random.default_rng(0).normal(size=(6, D))
    y[:6] = 0 if trial.n_classes else 1e4
    found, _ = trial.fitted(learner)
    wild, _ = trial.fitted(learner, X=X, y=y)
    _near("rows of weight 0 must have no influence", wild[:, 6:], found[:, 6:], tolerance)
    of_others, _ = trial.fitted(learner, y=other_targets(trial.y, np.arange(N) < 6, trial.n_classes))
    _near("targets of weight 0 must have no influence, on their rows neither", of_others, found, tolerance)


def other_targets(y: np.ndarray, rows: np.ndarray, n_classes: int) -> np.ndarray:
    """Return targets (n,) that differ in some ``rows`` (n,): of another class, or far away."""
    return np.where(rows, (y + 1) % n_classes if n_classes else y.max() + np.ptp(y) + 1, y).astype(y.dtype)


def check_first_fits(
    learner: Inducer,
    key: jax.Array,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    predictions: np.ndarray,
    *,
    probabilities: bool,
) -> None:
    """Check the first ``predictions`` (b, n) or (b, n, K) of a user's learner, fitted with ``weights`` (F, n).

    Raises
    ------
    ValueError
        If ``probabilities`` are none, or the first fit that leaves out rows knows their targets.
    """
    name = type(learner).__name__
    if probabilities and n_classes and np.isfinite(predictions).all():
        rows = predictions.reshape(-1, n_classes)
        if (off := no_probabilities(rows)).any():
            got = np.array2string(rows[np.argmax(off)], precision=3)
            raise ValueError(f"{name}.predict must return probabilities, which sum to 1; got {got}")
    leaving_out = np.flatnonzero((weights[: len(predictions)] == 0).any(axis=1))
    if not leaving_out.size or not np.isfinite(first := predictions[leaving_out[0]]).all():
        return
    targets = other_targets(y, weights[leaving_out[0]] == 0, n_classes)
    again = next(batches(learner, key, X, targets, weights, n_classes)).predictions[leaving_out[0]]
    scale = 1.0 if n_classes else float(np.ptp(y)) or 1.0
    moved = (np.abs(again - first) > LEAK * (scale + np.abs(first))).reshape(len(first), -1).any(axis=1)
    if moved.any():
        raise ValueError(
            f"{name}.fit must leave out rows of weight 0: {np.count_nonzero(moved)} of {len(first)} predictions change "
            "with the targets of these alone, so that a model is tested on what it was told; "
            "jaxci.inducers.check_inducer tries this and other promises"
        )


def try_fit(learner: Inducer, X: np.ndarray, y: np.ndarray, n_classes: int, *, probabilities: bool) -> None:
    """Fit a user's learner to all rows but the first quarter, and check it as the above."""
    weights = 1.0 * (np.arange(len(X)) >= len(X) // 4)[None]
    data = learner, jax.random.key(KEY), X, y, weights, n_classes
    for batch in batches(*data):
        check_first_fits(*data, batch.predictions, probabilities=probabilities)


def batch_is_its_fits(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that a fit does not know the others of its batch."""
    found, converged = trial.fitted(learner)
    other, also = trial.fitted(learner, counts=trial.counts[[0, 0, 0]])
    _near("a fit must not know the others of its batch", other[0], found[0], 0.0)
    if converged[0] != also[0]:
        raise AssertionError("whether a fit converges must not depend on the others of its batch")


def seeded(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that the same key gives the same fit."""
    _near("the same key must give the same fit", trial.fitted(learner)[0], trial.fitted(learner)[0], 0.0)


def compiled_or_not(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that a fit is the same step by step as compiled in a batch."""
    compiled, _ = trial.fitted(learner)
    key = jax.random.fold_in(jax.random.key(KEY), 0)
    with jax.enable_x64(True):
        X, weights = jnp.asarray(trial.X), jnp.asarray(trial.counts[0], jnp.float64)
        y = jnp.asarray(trial.y, jnp.int32 if trial.n_classes else jnp.float64)
        fitted = fitting(learner, key, X, y, weights, trial.n_classes)
        plain = np.asarray(predicting(learner, fitted.params, X, trial.n_classes))
    _near("a fit must be the same compiled and not", plain, compiled[0], max(tolerance, 1e-6))


def room_changes_nothing(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that rows filled up with, where ``pads_rows`` allows it, change no fit."""
    if not learner.pads_rows:
        return
    key = jax.random.fold_in(jax.random.key(KEY), 0)

    @jax.jit
    def alone(X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        fitted = fitting(learner, key, X, y, weights, trial.n_classes)
        return predicting(learner, fitted.params, X, trial.n_classes)

    with jax.enable_x64(True):
        y = jnp.asarray(trial.y, jnp.int32 if trial.n_classes else jnp.float64)
        exact = np.asarray(alone(jnp.asarray(trial.X), y, jnp.asarray(trial.counts[0], jnp.float64)))
    found, _ = trial.fitted(learner)
    _near("rows filled up with (pads_rows) must change no fit", found[0], exact, tolerance)


def plane_is_predict(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that the plane, where a learner tells one, is what it predicts."""
    key = jax.random.fold_in(jax.random.key(KEY), 0)
    n_classes = 2 if trial.n_classes else 0  # more classes have none
    y = np.minimum(trial.y, 1) if n_classes else trial.y

    def both(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> Any:
        params = fitting(learner, key, X, y, weights, n_classes).params
        return predicting(learner, params, X, n_classes), learner.plane(params, D)

    with jax.enable_x64(True):
        X, weights = jnp.asarray(trial.X), jnp.asarray(trial.counts[0], jnp.float64)
        found, plane = jax.jit(both)(key, X, jnp.asarray(y, jnp.int32 if n_classes else jnp.float64), weights)
    if plane is not None:
        found, line = np.asarray(found), plane.level + trial.X @ np.asarray(plane.slopes)
        told = np.log(found[:, 1]) - np.log(found[:, 0]) if n_classes else found
        _near("the plane must be what is predicted (log odds of two classes)", told, line, max(tolerance, 1e-6))


def survives_a_file(learner: Inducer, trial: Trial, tolerance: float) -> None:
    """Check that a study file gives it back, and so does a JAX program that it goes through."""
    leaves, structure = jax.tree.flatten(learner)
    described = json.loads(json.dumps(inducer_to_dict(learner)))
    for again in (inducer(**described), as_inducer(described), jax.tree.unflatten(structure, leaves)):
        if type(again) is not type(learner) or (repr(again), str(jax.tree.structure(again))) != (
            repr(learner),
            str(structure),
        ):
            raise AssertionError(f"a file, or a JAX program, must give {learner!r} back; got {again!r}")
    if not learner.bytes_of_fit(N, D, trial.n_classes) > 0:
        raise AssertionError(f"bytes_of_fit must be positive; got {learner.bytes_of_fit(N, D, trial.n_classes)}")


CHECKS = (
    shape_and_range,
    repeated_rows,
    no_weight_no_influence,
    batch_is_its_fits,
    seeded,
    compiled_or_not,
    room_changes_nothing,
    plane_is_predict,
    survives_a_file,
)
"""Everything that is promised."""


def check_inducer(
    learner: Any,
    *,
    n_classes: int | None = None,
    targets: Callable[[np.ndarray], np.ndarray] | None = None,
    draws_rows: bool = False,
    tolerance: float = 1e-6,
) -> tuple[str, ...]:
    """Try what a learner promises on 60 rows of 3 features.

    Parameters
    ----------
    learner : Inducer or str
    n_classes : int, optional
        K; 0 tries a regression. By default both tasks that the learner has, with K = 3 classes.
    targets : callable, optional
        What makes targets of a regression, which are about -3 with standard deviation 2, such that the learner takes
        them: ``np.exp`` for positive ones.
    draws_rows : bool
        Whether the fit draws numbers for rows (bootstrap samples, folds, batches): whole weights then equal repeated
        rows only in law, which is not tried.
    tolerance : float
        Relative and absolute difference of predictions that steps towards an optimum may leave.

    Returns
    -------
    tuple of str
        What was tried and holds.

    Raises
    ------
    AssertionError
        If a promise is broken; it says which, and by how much.
    TypeError
        If ``fit`` or ``predict`` is no JAX program, or returns another shape.

    Examples
    --------
    >>> from jaxci.inducers import Ridge, check_inducer
    >>> len(check_inducer(Ridge()))
    9
    """
    made = as_inducer(learner)
    if not isinstance(made, Inducer):
        raise TypeError(f"learner must derive from jaxci.inducers.Inducer; got {type(made).__name__}")
    if n_classes is not None:
        check_count("n_classes", n_classes, 0)
    return tuple(_tried(made, n_classes, targets, draws_rows, tolerance))


def _tried(
    made: Inducer,
    n_classes: int | None,
    targets: Callable[[np.ndarray], np.ndarray] | None,
    draws_rows: bool,
    tolerance: float,
) -> Iterator[str]:
    tasks = {"regression": (0,), "classification": (3,)}.get(made.task, (0, 3)) if n_classes is None else (n_classes,)
    for classes in tasks:
        for check in CHECKS:
            if not (draws_rows and check is repeated_rows):
                check(made, Trial.of(classes, targets), tolerance)
                yield f"{check.__name__}, {f'{classes} classes' if classes else 'regression'}"
