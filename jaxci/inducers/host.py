"""scikit-learn's estimators and pipelines on the host, under the same plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class HostBatch(NamedTuple):
    """Some of the fits: those from ``start`` on; ``errors`` says why a fit failed, None where it did not."""

    start: int
    predictions: np.ndarray
    errors: list[str | None]


def host_batches(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    train_counts: np.ndarray,
    n_classes: int = 0,
    *,
    seed: int = 0,
    n_jobs: int = -1,
) -> Iterator[HostBatch]:
    """Fit a clone of ``estimator`` for every row of ``train_counts`` and predict all rows of ``X``.

    Rows are repeated by their counts, so the estimator needs no ``sample_weight``. Where it has a
    ``random_state`` of None it gets one, from ``seed`` and the number of the fit. Classifiers without
    ``predict_proba`` give probabilities of 0 and 1.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
    X : (n, d) array or pandas frame
    y : (n,) array
        Targets, or class codes 0..K-1.
    train_counts : (F, n) int array
    n_classes : int
        K; 0 for a regression.
    seed : int
    n_jobs : int
        Processes of joblib.

    Yields
    ------
    HostBatch
        Predictions (b, n) or (b, n, K), NaN where the fit failed. The first batch is one fit.

    Raises
    ------
    ImportError
        Without scikit-learn.
    """
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise ImportError("scikit-learn's estimators need scikit-learn: install jaxci[sklearn]") from error
    parallel = Parallel(n_jobs=n_jobs)
    size, start = 1, 0
    while start < len(train_counts):
        rows = train_counts[start : start + size]
        tasks = (delayed(_fit_one)(estimator, X, y, row, n_classes, seed + start + i) for i, row in enumerate(rows))
        found = parallel(tasks) if len(rows) > 1 else [function(*args) for function, args, _ in tasks]
        yield HostBatch(start, np.stack([prediction for prediction, _ in found]), [error for _, error in found])
        start, size = start + len(rows), max(16, len(train_counts) // 16)


def _fit_one(
    estimator: Any, X: Any, y: np.ndarray, counts: np.ndarray, n_classes: int, seed: int
) -> tuple[np.ndarray, str | None]:
    from sklearn.base import clone

    rows = np.repeat(np.arange(len(y)), counts)
    model = clone(estimator)
    unset = [name for name, value in model.get_params().items() if name.endswith("random_state") and value is None]
    model.set_params(**dict.fromkeys(unset, seed % 2**32))
    taken = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    shape = (len(y), n_classes) if n_classes else (len(y),)
    try:
        model.fit(taken, y[rows])
        if not n_classes:
            return np.asarray(model.predict(X), np.float64).reshape(shape), None
        out = np.zeros(shape)
        if hasattr(model, "predict_proba"):
            out[:, np.asarray(model.classes_, int)] = model.predict_proba(X)
        else:
            out[np.arange(len(y)), np.asarray(model.predict(X), int)] = 1.0
        return out, None
    except Exception as error:
        return np.full(shape, np.nan), f"{type(error).__name__}: {error}"
