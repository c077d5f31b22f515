"""Estimators of users and of scikit-learn: their task, a short name, and the table that a file holds."""

from __future__ import annotations

import inspect
from typing import Any

from jaxci.checks import check_keys, shown
from jaxci.importing import arguments, import_path, imported, restored
from jaxci.inducers.base import TASKS, Inducer


def task_of(inducer: Any) -> str:
    """Return the task of a learner or estimator: "any" where the targets decide.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(inducer, Inducer):
        return inducer.task
    if isinstance(inducer, type) or not (hasattr(inducer, "fit") and hasattr(inducer, "predict")):
        raise TypeError(
            f"inducer must be of jaxci.inducers, or an estimator with fit and predict as scikit-learn's; "
            f"got {shown(inducer)}"
        )
    if not hasattr(inducer, "__sklearn_tags__"):  # what looks like an estimator says what it is, or its targets do
        kind = getattr(inducer, "_estimator_type", None)
        reads_classes = hasattr(inducer, "predict_proba") or hasattr(inducer, "decision_function")
        return {"classifier": "classification", "regressor": "regression"}.get(
            str(kind), "classification" if reads_classes else "any"
        )
    from sklearn.base import is_classifier, is_regressor

    try:
        classifier, regressor = is_classifier(inducer), is_regressor(inducer)
    except AttributeError as error:
        raise TypeError(f"inducer must be an estimator of scikit-learn; {type(inducer).__name__}: {error}") from None
    if not (classifier or regressor):
        raise TypeError(f"inducer must be a classifier or a regressor; got {shown(inducer)}")
    return "classification" if classifier else "regression"


def check_learner(learner: Any) -> None:
    """Refuse a learner that is no record, or does not say its task.

    Raises
    ------
    TypeError
        If it does not.
    """
    if isinstance(learner, type) and issubclass(learner, Inducer):
        raise TypeError(f"a learner must be an object, not its class: write {learner.__name__}(...)")
    if not isinstance(learner, Inducer):
        return
    name = type(learner).__name__
    if not learner.is_record:
        raise TypeError(
            f"{name} must be a record, so that its fields reach a JAX program: decorate the class with "
            "jaxci.records.record"
        )
    if getattr(learner, "task", None) not in TASKS:
        raise TypeError(f"task of {name} must be one of {', '.join(TASKS)}; got {getattr(learner, 'task', 'none')!r}")


def estimator_label(estimator: Any) -> str:
    """Return the name of its class; of a pipeline those of its steps."""
    steps = getattr(estimator, "steps", None)
    return "+".join(name for name, _ in steps) if steps else type(estimator).__name__


def estimator_to_dict(made: Any) -> dict[str, Any]:
    """Return ``name``, which is ``module:class``, and the ``fields`` that differ from their defaults.

    Raises
    ------
    ValueError
        If :func:`estimator` could not make it again.
    """
    path, fields = import_path(type(made)), arguments(made)
    if repr(arguments(estimator(path, **fields))) != repr(fields):
        raise ValueError(f"{type(made).__name__} cannot be made again: its arguments come back as others")
    return {"name": path, "fields": fields}


def estimator(name: str, **parameters: Any) -> Any:
    """Return what ``module:class`` makes of the parameters: an estimator as :func:`estimator_to_dict` wrote it.

    Raises
    ------
    ValueError
        If it cannot be imported, is no class with ``fit`` and ``predict``, or has no such parameter.
    """
    cls = imported(name)
    if not isinstance(cls, type) or not (hasattr(cls, "fit") and hasattr(cls, "predict")):
        raise ValueError(f"{name!r} must be a class of estimators, with fit and predict; got {shown(cls)}")
    known = inspect.signature(cls).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        check_keys(f"an estimator {name!r}", parameters, (), tuple(known))
    return cls(**{key: restored(value) for key, value in parameters.items()})
