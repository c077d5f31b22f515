"""scikit-learn's estimators and pipelines on the host, under the same plans."""

from __future__ import annotations

from typing import Any

import numpy as np


def host_fit_predict(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    train_counts: np.ndarray,
    n_classes: int = 0,
    *,
    seed: int = 0,
    n_jobs: int = -1,
) -> np.ndarray:
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

    Returns
    -------
    predictions : (F, n) or (F, n, K) array

    Raises
    ------
    ValueError
        If a fit fails; the message says how many did, and what the first said.
    ImportError
        Without scikit-learn.
    """
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise ImportError("scikit-learn's estimators need scikit-learn: install jaxci[sklearn]") from error
    tasks = (delayed(_fit_one)(estimator, X, y, row, n_classes, seed + i) for i, row in enumerate(train_counts))
    found = Parallel(n_jobs=n_jobs)(tasks)
    failed = [error for _, error in found if error is not None]
    if failed:
        raise ValueError(f"the estimator failed in {len(failed)} of {len(found)} fits; the first said: {failed[0]}")
    return np.stack([prediction for prediction, _ in found])


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
