"""Losses of predictions, row by row."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from jaxci.inducers.base import Inducer, fit_predict
from jaxci.resampling.plan import Plan


def _zero_one(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return (prediction.argmax(axis=-1) != y).astype(np.float64)


def _chosen(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    places = np.broadcast_to(y, prediction.shape[:-1])[..., None]
    return np.take_along_axis(prediction, places, axis=-1)[..., 0]


def _log(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(_chosen(y, prediction), np.finfo(float).tiny))


def _brier(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.sum(prediction**2, axis=-1) - 2 * _chosen(y, prediction) + 1


CLASSIFICATION: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "zero_one": _zero_one,
    "log": _log,
    "brier": _brier,
}
"""Of class codes (n,) and probabilities (..., n, K); Brier sums over classes."""

REGRESSION: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda y, prediction: (prediction - y) ** 2,
    "absolute": lambda y, prediction: np.abs(prediction - y),
}
"""Of targets (n,) and predictions (..., n)."""


def split_losses(
    inducer: Inducer, X: np.ndarray, y: np.ndarray, plan: Plan, loss: str, key: jax.Array, n_classes: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Fit every distinct training sample of a plan once, and return losses and which fits converged.

    Returns
    -------
    losses : (S, n) array
        NaN where a split does not test a row.
    converged : (S,) bool array
    """
    known = CLASSIFICATION if n_classes else REGRESSION
    if loss not in known:
        raise ValueError(f"loss must be one of {', '.join(known)}; got {loss!r}")
    first, place = plan.fits
    predictions, converged = fit_predict(inducer, key, X, y, plan.train_counts[first], n_classes)
    found = known[loss](np.asarray(y), predictions)
    return np.where(plan.test_mask, found[place], np.nan), converged[place]
