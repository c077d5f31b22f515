"""scikit-learn's estimators and pipelines on the host, under the same plans."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class HostBatch(NamedTuple):
    """Some of the fits: those from ``start`` on.

    ``errors`` says why a fit failed, None where it did not; ``converged`` whether scikit-learn did not
    warn that it had not.
    """

    start: int
    predictions: np.ndarray
    errors: list[str | None]
    converged: np.ndarray


READ = ("labels", "probabilities", "scores")
"""What is read off a classifier: ``predict``, ``predict_proba``, or what ranks rows (``decision_function``
where there are no probabilities)."""


def check_readable(estimator: Any, read: str, loss: str) -> None:
    """Refuse a classifier that does not give what the loss reads."""
    if read == "probabilities" and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"loss={loss!r} needs predict_proba, which {type(estimator).__name__} has not")
    if read == "scores" and not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        raise ValueError(
            f"loss={loss!r} needs predict_proba or decision_function; {type(estimator).__name__} has neither"
        )


def host_batches(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    train_counts: np.ndarray,
    classes: np.ndarray | None = None,
    *,
    read: str = "probabilities",
    seed: int = 0,
    n_jobs: int = -1,
) -> Iterator[HostBatch]:
    """Fit a clone of ``estimator`` for every row of ``train_counts`` and predict all rows of ``X``.

    Rows are repeated by their counts, so the estimator needs no ``sample_weight``. Where it has a
    ``random_state`` of None it gets one, from ``seed`` and the number of the fit.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
    X : (n, d) array, pandas frame, sparse matrix, or (n,) sequence
        Handed on as it is.
    y : (n,) array
        Targets, or class codes.
    train_counts : (F, n) int array
    classes : (K,) array, optional
        Labels by code, which the estimator is fitted to; none for a regression.
    read : {"labels", "probabilities", "scores"}
        What to read off a classifier; labels come as indicators.
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
        tasks = (delayed(_fit_one)(estimator, X, y, row, classes, read, seed + start + i) for i, row in enumerate(rows))
        found = parallel(tasks) if len(rows) > 1 else [function(*args) for function, args, _ in tasks]
        predictions, errors, converged = zip(*found, strict=True)
        yield HostBatch(start, np.stack(predictions), list(errors), np.array(converged))
        start, size = start + len(rows), max(16, len(train_counts) // 16)


def _taken(X: Any, rows: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return X[rows]


def _fit_one(
    estimator: Any, X: Any, y: np.ndarray, counts: np.ndarray, classes: np.ndarray | None, read: str, seed: int
) -> tuple[np.ndarray, str | None, bool]:
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    rows = np.repeat(np.arange(len(y)), counts)
    model = clone(estimator)
    unset = [name for name, value in model.get_params().items() if name.endswith("random_state") and value is None]
    model.set_params(**dict.fromkeys(unset, seed % 2**32))
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(_taken(X, rows), y[rows] if classes is None else classes[y[rows]])
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in told)
        found = model.predict(X) if classes is None else _by_class(model, X, classes, read)
        return np.asarray(found, np.float64).reshape((len(y),) if classes is None else (len(y), -1)), None, converged
    except Exception as error:
        shape = (len(y),) if classes is None else (len(y), len(classes))
        return np.full(shape, np.nan), f"{type(error).__name__}: {error}", True


def _by_class(model: Any, X: Any, classes: np.ndarray, read: str) -> np.ndarray:
    """Return a column a class (n, K): indicators of the labels predicted, probabilities, or scores."""
    if read == "labels":
        return (np.asarray(model.predict(X))[:, None] == classes).astype(np.float64)
    by_label = hasattr(model, "predict_proba")
    found = np.asarray(model.predict_proba(X) if by_label else model.decision_function(X))
    if found.ndim == 1:
        found = np.stack([-found, found], axis=1)
    out = np.zeros((len(found), len(classes))) if by_label else np.full((len(found), len(classes)), found.min())
    for column, label in enumerate(np.asarray(model.classes_)):
        out[:, np.flatnonzero(classes == label)[0]] = found[:, column]
    return out
