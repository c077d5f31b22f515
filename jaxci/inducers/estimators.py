"""Estimators of users and of scikit-learn: their task, a short name, and the table that a file holds."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.checks import check_keys, shown
from jaxci.importing import import_path, imported, is_import_path
from jaxci.inducers.base import Inducer
from jaxci.records import written


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


def estimator_label(estimator: Any) -> str:
    """Return the name of its class; of a pipeline those of its steps."""
    steps = getattr(estimator, "steps", None)
    return "+".join(name for name, _ in steps) if steps else type(estimator).__name__


def estimator_to_dict(estimator: Any) -> dict[str, Any]:
    """Return ``name``, which is ``module:class``, and the parameters that differ from their defaults.

    Estimators among the parameters, as in a pipeline, are such tables; functions are ``module:function``.

    Raises
    ------
    ValueError
        If :func:`estimator` could not make it again.
    """
    path = import_path(type(estimator))
    if hasattr(estimator, "get_params"):
        parameters = estimator.get_params(deep=False)
    else:
        parameters = dict(vars(estimator)) if hasattr(estimator, "__dict__") else {}
    known = inspect.signature(type(estimator)).parameters
    found = {}
    for name, value in parameters.items():
        if name not in known:
            raise ValueError(
                f"{type(estimator).__name__} cannot be made again: {name!r} is no argument of its class (get_params, "
                "as of scikit-learn's BaseEstimator, returns those)"
            )
        try:
            plain = _written(value)
            default = known[name].default
            if default is inspect.Parameter.empty or repr(plain) != repr(_written(default)):
                found[name] = plain
        except ValueError as error:
            raise ValueError(f"{name} of {type(estimator).__name__} cannot be written to a file: {error}") from None
    return {"name": path, **found}


def _written(value: Any) -> Any:
    if hasattr(value, "get_params") and not isinstance(value, type):
        return estimator_to_dict(value)
    if isinstance(value, tuple | list):
        return [_written(x) for x in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"keys must be text; got {shown(value)}")
        return {key: _written(x) for key, x in value.items()}
    if isinstance(value, type) or inspect.isroutine(value) or isinstance(value, np.ufunc):
        return {"function": import_path(value)}
    return written(value)


def estimator(name: str, **parameters: Any) -> Any:
    """Return what ``module:class`` makes of the parameters: an estimator as :func:`estimator_to_dict` wrote it.

    Raises
    ------
    ValueError
        If it cannot be imported, is no class with ``fit`` and ``predict`` or ``transform``, or lacks a parameter.
    """
    cls = imported(name)
    if not isinstance(cls, type) or not hasattr(cls, "get_params" if not hasattr(cls, "fit") else "fit"):
        raise ValueError(f"{name!r} must be a class of estimators, with fit and predict; got {shown(cls)}")
    known = inspect.signature(cls).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        check_keys(f"an estimator {name!r}", parameters, (), tuple(known))
    return cls(**{key: _read(value) for key, value in parameters.items()})


def _read(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_read, value))
    if isinstance(value, Mapping):
        if is_import_path(value.get("name")):
            return estimator(**value)
        if list(value) == ["function"]:
            return imported(value["function"])
        return {key: _read(x) for key, x in value.items()}
    return value
