"""scikit-learn's estimators and pipelines, and what looks like them, on the host, under the same plans."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxci.checks import shown

OFF = 1e-3
"""How far from 1 probabilities of a row may sum."""
MOST_LABELS = 5
"""Labels that an error names."""


class UnreadablePrediction(ValueError):
    """A model predicted what is no label of its targets, or no number for each row and output."""


class Scorer(Protocol):
    """What judges a fitted estimator on rows that it did not see."""

    def of(self, model: Any, X: Any, y: Any, weights: np.ndarray | None) -> float:
        """Return the score."""


class HostBatch(NamedTuple):
    """Some of the fits: those from ``start`` on.

    ``errors`` says why a fit failed, None where it did not; ``converged`` whether scikit-learn did not
    warn that it had not. ``scores`` are those of the parts that each fit is tested on, if a scorer judges.
    """

    start: int
    predictions: np.ndarray
    errors: list[str | None]
    converged: np.ndarray
    scores: list[list[float]]


@dataclasses.dataclass(frozen=True)
class Reading:
    """What is fitted to the training rows, and what is read on the others.

    Attributes
    ----------
    read : {"labels", "probabilities", "scores"}
        What to read off a classifier: ``predict``, as indicators, ``predict_proba``, or what ranks rows
        (``decision_function`` where there are no probabilities).
    needed : (F, n) bool array, optional
        Rows that are predicted by each fit; all by default.
    scorer : Scorer, optional
        What judges the fitted estimators instead of what they predict.
    parts : sequence of sequence of (m,) array
        Rows that each fit is judged on by ``scorer``.
    weights : (n,) array, optional
        Case weights: passed to ``fit``.
    params : dict
        Further arguments of ``fit``; those with an entry a row are taken by rows.
    n_jobs : int
        Processes of joblib.
    """

    read: str = "probabilities"
    needed: np.ndarray | None = None
    scorer: Scorer | None = None
    parts: Sequence[Sequence[np.ndarray]] = ()
    weights: np.ndarray | None = None
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    n_jobs: int = -1


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
    seed: int = 0,
    reading: Reading | None = None,
) -> Iterator[HostBatch]:
    """Fit a clone of ``estimator`` for every row of ``train_counts`` and predict the rows that are read.

    Rows are repeated by their counts, so the estimator needs no ``sample_weight``. Where it has a
    ``random_state`` of None it gets one, from ``seed`` and the number of the fit.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline, or any object with ``fit`` and ``predict``
    X : (n, d) array, pandas frame, sparse matrix, or (n,) sequence
        Handed on as it is.
    y : (n,) or (n, q) array
        Targets, or class codes.
    train_counts : (F, n) int array
    classes : (K,) array, optional
        Labels by code, which the estimator is fitted to; none for a regression.
    seed : int
    reading : Reading

    Yields
    ------
    HostBatch
        Predictions shaped (b, ``*y.shape``), or (b, n, K) for classes; NaN where the fit failed and where no
        prediction is needed. The first batch is one fit.

    Raises
    ------
    ImportError
        Without joblib, which comes with scikit-learn.
    """
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise ImportError("estimators on the host need scikit-learn: install jaxci[sklearn]") from error
    reading = reading or Reading()
    parallel = Parallel(n_jobs=reading.n_jobs)
    size, start = 1, 0
    while start < len(train_counts):
        numbers = range(start, min(start + size, len(train_counts)))
        tasks = [
            delayed(_fit_one)(
                estimator,
                X,
                y,
                train_counts[i],
                classes,
                dataclasses.replace(reading, needed=None, parts=()),
                np.arange(len(y)) if reading.needed is None else np.flatnonzero(reading.needed[i]),
                reading.parts[i] if reading.parts else (),
                seed + i,
            )
            for i in numbers
        ]
        found = parallel(tasks) if len(tasks) > 1 else [function(*args) for function, args, _ in tasks]
        predictions, errors, converged, scores = zip(*found, strict=True)
        yield HostBatch(start, np.stack(predictions), list(errors), np.array(converged), list(scores))
        start, size = start + len(tasks), max(16, len(train_counts) // 16)


def taken(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of what users pass as features."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return X[rows]


def _fit_one(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    counts: np.ndarray,
    classes: np.ndarray | None,
    reading: Reading,
    tested: np.ndarray,
    parts: Sequence[np.ndarray],
    seed: int,
) -> tuple[np.ndarray, str | None, bool, list[float]]:
    from sklearn.exceptions import ConvergenceWarning

    rows = np.repeat(np.arange(len(y)), counts)
    targets = y if classes is None else classes[y]
    predictions = np.full(y.shape if classes is None else (len(y), len(classes)), np.nan)
    try:
        model = _unfitted(estimator, seed)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(taken(X, rows), targets[rows], **_fit_arguments(model, reading, rows, len(y)))
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in told)
        if reading.scorer is not None:
            predictions[tested] = 0.0
            scores = [reading.scorer.of(model, taken(X, p), targets[p], _of_rows(reading.weights, p)) for p in parts]
            return predictions, None, converged, scores
        fresh = taken(X, tested)
        labels = np.unique(targets[rows]) if classes is not None else targets
        found = model.predict(fresh) if classes is None else _by_class(model, fresh, classes, reading.read, labels)
        predictions[tested] = _numbers(found, (len(tested), *predictions.shape[1:]))
        return predictions, None, converged, []
    except UnreadablePrediction:
        raise
    except Exception as error:
        return np.full_like(predictions, np.nan), f"{type(error).__name__}: {error}", True, [np.nan for _ in parts]


def _numbers(found: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return predictions in their shape, (m,), (m, q) or (m, K); those of one output may be (m, 1)."""
    array = np.asarray(found)
    if array.dtype.kind not in "biufO":
        raise UnreadablePrediction(f"inducer must predict numbers; got {shown(array)}")
    if array.shape != shape and array.shape != (*shape, 1) and (*array.shape, 1) != shape:
        raise UnreadablePrediction(f"inducer must predict an array of shape {shape}; got shape {array.shape}")
    return array.astype(np.float64).reshape(shape)


def _of_rows(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if weights is None else weights[rows]


def _unfitted(estimator: Any, seed: int) -> Any:
    """Return a copy that is seeded where it can be: scikit-learn's clone, or a deep copy of what is none of its own."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    model = clone(estimator)
    unset = [name for name, value in model.get_params().items() if name.endswith("random_state") and value is None]
    model.set_params(**dict.fromkeys(unset, seed % 2**32))
    return model


def _fit_arguments(model: Any, reading: Reading, rows: np.ndarray, n: int) -> dict[str, Any]:
    """Return what ``fit`` takes beside rows and targets: weights and other arrays by rows, and what has no rows."""
    found = {}
    for name, value in reading.params.items():
        by_row = hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == n
        found[name] = taken(value if hasattr(value, "iloc") else np.asarray(value), rows) if by_row else value
    if reading.weights is not None:
        found[weights_name(model)] = reading.weights[rows]
    return found


def weights_name(estimator: Any) -> str:
    """Return what ``fit`` calls case weights: in a pipeline whose metadata are not routed, those of its last step.

    Raises
    ------
    ValueError
        If the estimator takes none.
    """
    from sklearn import get_config
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(estimator, "steps", None)
    routed = get_config()["enable_metadata_routing"]
    last = steps[-1][1] if steps else estimator
    if not routed and not has_fit_parameter(last, "sample_weight"):
        raise ValueError(f"sample_weight needs an estimator whose fit takes it, which {type(last).__name__}'s does not")
    return f"{steps[-1][0]}__sample_weight" if steps and not routed else "sample_weight"


def _by_class(model: Any, X: Any, classes: np.ndarray, read: str, seen: np.ndarray) -> np.ndarray:
    """Return a column a class (n, K): indicators of the labels predicted, probabilities, or scores.

    ``seen`` are the sorted labels that the model was fitted to, which its columns follow unless it says otherwise, or
    has a column for every class. Of two labels a single column is of the second.
    """
    if read == "labels":
        found = np.asarray(model.predict(X))
        if found.dtype.kind == "f" and np.isnan(found).any():  # as regressors that diverge, which predict none either
            raise ValueError("the model predicts nan")
        return _indicators(found, classes)
    by_label = hasattr(model, "predict_proba")
    if read == "probabilities" and not by_label:
        raise ValueError(f"{type(model).__name__} has no predict_proba")
    found = np.asarray(model.predict_proba(X) if by_label else model.decision_function(X))
    every = np.sort(classes)
    labels = np.asarray(getattr(model, "classes_", every if found.shape[1:] in ((), (len(every),)) else seen))
    if found.ndim == 1 or (found.shape[1] == 1 and len(labels) == 2):  # of the second label alone
        found = found.reshape(len(found))
        found = np.stack([1 - found if by_label else -found, found], axis=1)
    if found.shape[1] != len(labels):
        called = "predict_proba" if by_label else "decision_function"
        raise ValueError(f"{called} must return a column for each of {len(labels)} labels; got shape {found.shape}")
    if read == "probabilities" and (off := no_probabilities(found)).any():
        raise ValueError(f"predict_proba must return probabilities, which sum to 1; got {found[np.argmax(off)]}")
    out = np.zeros((len(found), len(classes))) if by_label else np.full((len(found), len(classes)), found.min())
    out[:, _indicators(labels, classes).argmax(axis=1)] = found
    return out


def no_probabilities(found: np.ndarray) -> np.ndarray:
    """Return which rows of ``found`` (m, K) have a negative entry, or do not sum to 1, beyond rounding."""
    return np.asarray((found < -OFF).any(axis=1) | (np.abs(found.sum(axis=1) - 1) > OFF))


def _indicators(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return which of the classes (K,) each label (m,) is (m, K); refuse labels that are none."""
    is_class = labels.reshape(-1, 1) == classes
    unknown = ~is_class.any(axis=1)
    if unknown.any():
        known = ", ".join(map(shown, np.sort(classes)[:MOST_LABELS].tolist()))
        more = f" and {len(classes) - MOST_LABELS} more" if len(classes) > MOST_LABELS else ""
        hint = " (a regressor needs a loss of targets, such as 'squared')" if classes.dtype.kind in "iuf" else ""
        raise UnreadablePrediction(
            f"inducer must predict labels of y, which are {known}{more}; got {shown(labels[np.argmax(unknown)])}{hint}"
        )
    return is_class.astype(np.float64)


def predicted(prediction: np.ndarray, classes: np.ndarray | None) -> Any:
    """Return a fitted estimator of scikit-learn that predicts these values (m,), or probabilities (m, K)."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class Classifier(ClassifierMixin, BaseEstimator):
        classes_ = classes

        def predict(self, X: Any) -> np.ndarray:
            return np.asarray(classes)[prediction.argmax(axis=1)]

        def predict_proba(self, X: Any) -> np.ndarray:
            return prediction

    class Regressor(RegressorMixin, BaseEstimator):
        fitted_ = True

        def predict(self, X: Any) -> np.ndarray:
            return prediction

    return Regressor() if classes is None else Classifier()
