"""Learners by name, and as plain tables of a study file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxci.checks import hint
from jaxci.inducers.base import Inducer
from jaxci.inducers.boosting import Boosting
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


def inducer(name: str, **fields: Any) -> Inducer:
    """Return the learner of that name with ``fields`` of its class.

    ``tune`` names a field that inner cross-validation chooses among ``values`` (in ``n_folds`` folds).

    Raises
    ------
    ValueError
        If the name or a field is unknown.

    Examples
    --------
    >>> inducer("ridge", alpha=2.0)
    Ridge(alpha=2.0)
    """
    if name not in INDUCERS:
        raise ValueError(f"there is no learner {name!r}{hint(name, INDUCERS)}")
    tuning = {key: fields.pop(key) for key in ("tune", "values", "n_folds") if key in fields}
    made: Inducer = decode({"name": name, **fields}, INDUCERS, key="name", what="a learner")
    known = [field.name for field in dataclasses.fields(made)]  # type: ignore[arg-type]
    if "tune" in tuning and tuning["tune"] not in known:
        raise ValueError(f"the learner {name!r} has no field {tuning['tune']!r}{hint(tuning['tune'], known)}")
    if not tuning:
        return made
    if "tune" not in tuning or "values" not in tuning:
        raise ValueError(f"a learner that is tuned needs 'tune' and 'values'; got {', '.join(tuning)}")
    more = {"n_folds": tuning["n_folds"]} if "n_folds" in tuning else {}
    return Tuned(made, tuning["tune"], tuple(tuning["values"]), **more)


def inducer_to_dict(learner: Inducer) -> dict[str, Any]:
    """Return the arguments of :func:`inducer` that make it again; a user's own class is refused."""
    if isinstance(learner, Tuned):
        tuning = {"tune": learner.field, "values": written(learner.values), "n_folds": learner.n_folds}
        return {**inducer_to_dict(learner.base), **tuning}
    return encode(learner, INDUCERS, key="name", defaults=True)


def inducer_from_dict(description: str | Mapping[str, Any]) -> Inducer:
    """Return the learner that a name, or a table with ``name`` and fields, describes."""
    if isinstance(description, str):
        return inducer(description)
    if not isinstance(description, Mapping) or "name" not in description:
        raise ValueError(f"a learner must be a name or a table with a key 'name'; got {description!r}")
    return inducer(**description)
