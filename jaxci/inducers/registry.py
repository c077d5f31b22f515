"""Learners by name, and as plain tables of a study file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxci.checks import check_distinct, hint
from jaxci.importing import imported, is_import_path
from jaxci.inducers.base import Inducer
from jaxci.inducers.boosting import Boosting
from jaxci.inducers.estimators import check_learner, estimator, estimator_label, estimator_to_dict
from jaxci.inducers.forest import Forest
from jaxci.inducers.lasso import ElasticNet, Lasso
from jaxci.inducers.linear import Constant, Linear, Ridge
from jaxci.inducers.logistic import Logistic
from jaxci.inducers.mlp import MLP
from jaxci.inducers.tree import Tree
from jaxci.inducers.tuned import Tuned
from jaxci.records import decode, encode, written

INDUCERS: dict[str, type[Any]] = {
    "constant": Constant,
    "linear": Linear,
    "ridge": Ridge,
    "lasso": Lasso,
    "elastic_net": ElasticNet,
    "logistic": Logistic,
    "tree": Tree,
    "forest": Forest,
    "boosting": Boosting,
    "mlp": MLP,
}
"""Classes by name; their fields have defaults."""


def inducer(name: str, **fields: Any) -> Any:
    """Return the learner of that name with ``fields`` of its class.

    ``tune`` names a field that inner cross-validation chooses among ``values`` (in ``n_folds`` folds). A name
    ``module:class`` is imported: a learner of the user's own, or an estimator such as
    ``sklearn.linear_model:LinearRegression``; its arguments stand in a table ``fields``.

    Raises
    ------
    ValueError
        If the name or a field is unknown.

    Examples
    --------
    >>> inducer("ridge", alpha=2.0)
    Ridge(alpha=2.0)
    """
    own = is_import_path(name)
    if name not in INDUCERS and not own:
        raise ValueError(f"there is no learner {name!r}{hint(name, INDUCERS)}")
    if own and not _derives(imported(name)):
        return estimator(name, **fields.pop("fields", {}), **fields)
    tuned = not own or "tune" in fields  # else these are fields of its own
    tuning = {key: fields.pop(key) for key in ("tune", "values", "n_folds") if tuned and key in fields}
    made: Inducer = decode({"name": name, **fields}, INDUCERS, key="name", what="a learner", base=Inducer)
    known = [field.name for field in dataclasses.fields(made)]  # type: ignore[arg-type]
    if "tune" in tuning and tuning["tune"] not in known:
        raise ValueError(f"the learner {name!r} has no field {tuning['tune']!r}{hint(tuning['tune'], known)}")
    if not tuning:
        return made
    if "tune" not in tuning or "values" not in tuning:
        raise ValueError(f"a learner that is tuned needs 'tune' and 'values'; got {', '.join(tuning)}")
    more = {"n_folds": tuning["n_folds"]} if "n_folds" in tuning else {}
    values = tuning["values"] if isinstance(tuning["values"], Sequence) else [tuning["values"]]
    return Tuned(made, tuning["tune"], tuple(values), **more)


def _derives(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Inducer)


def inducer_to_dict(learner: Any) -> dict[str, Any]:
    """Return the arguments of :func:`inducer` that make a learner or estimator again.

    Raises
    ------
    ValueError
        If they could not: its class cannot be imported, or a file cannot hold a field.
    """
    if not isinstance(learner, Inducer):
        return estimator_to_dict(learner)
    if isinstance(learner, Tuned):
        tuning = {"tune": learner.field, "values": written(learner.values), "n_folds": learner.n_folds}
        return {**inducer_to_dict(learner.base), **tuning}
    return encode(learner, INDUCERS, key="name", defaults=True, base=Inducer)


def inducer_label(learner: Any) -> str:
    """Return the name of a learner in :data:`INDUCERS`, or that of its class; of a pipeline those of its steps."""
    if not isinstance(learner, Inducer):
        return estimator_label(learner)
    base = learner.base if isinstance(learner, Tuned) else learner
    return next((name for name, cls in INDUCERS.items() if type(base) is cls), type(base).__name__)


def _number(text: str) -> Any:
    """Return the number or the numbers that a text holds, or else the text."""
    if "," in text:
        return [_number(part.strip()) for part in text.split(",")]
    if text in ("True", "true", "False", "false", "None"):
        return {"t": True, "f": False}.get(text[0].lower())
    for kind in (int, float) if "_" not in text else ():  # Python reads "1_2" as 12
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_inducer(source: Any) -> Any:
    """Return the learner that ``source`` stands for: itself where it is one, or an estimator.

    Parameters
    ----------
    source : Inducer, estimator, str or mapping
        A text is a name, and after colons fields of it: ``"ridge:alpha=2"``,
        ``"ridge:tune=alpha:values=0.1,1,10"``, ``"sklearn.linear_model:Ridge:alpha=2"``. A table has the arguments
        of :func:`inducer`.

    Raises
    ------
    ValueError
        If the name or a field is unknown.
    TypeError
        If a learner is no record, or a class is passed in place of an object.

    Examples
    --------
    >>> as_inducer("ridge:alpha=0.1")
    Ridge(alpha=0.1)
    """
    if isinstance(source, str):
        name, *fields = source.split(":")
        if fields and name not in INDUCERS and is_import_path(f"{name}:{fields[0]}"):
            name, *fields = f"{name}:{fields[0]}", *fields[1:]
        pairs = [field.partition("=") for field in fields]
        if any(not sign for _, sign, _ in pairs):
            raise ValueError(f"a learner must be written NAME or NAME:field=value:...; got {source!r}")
        check_distinct("fields of a learner", [field.strip() for field, _, _ in pairs])
        if "name" in (field.strip() for field, _, _ in pairs):
            raise ValueError(f"a learner has its name before the first colon, and no field 'name'; got {source!r}")
        given = {field.strip(): _number(value.strip()) for field, _, value in pairs}
        return inducer(
            name.strip(), **{key: {"none": True} if value is None else value for key, value in given.items()}
        )
    if isinstance(source, Mapping):
        if "name" not in source:
            raise ValueError(f"a learner must be a name or a table with a key 'name'; got {source!r}")
        return inducer(**source)
    check_learner(source)
    return source
