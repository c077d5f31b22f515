"""Distributions as plain dictionaries (numbers, strings, lists), as a study file holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import check_keys, read_kind
from jaxci.distributions.base import Distribution
from jaxci.distributions.empirical import Cells, Empirical, EmpiricalRows, EmpiricalTargets
from jaxci.distributions.kde import AdaptiveKDE
from jaxci.distributions.logit_kde import LogitKDE
from jaxci.distributions.parametric import Mixture, Parametric


class _Form(NamedTuple):
    """How one class of distributions is written: its keys, those it needs first."""

    cls: type[Distribution]
    needs: tuple[str, ...]
    allows: tuple[str, ...]
    read: Callable[..., Distribution]
    write: Callable[[Any], dict[str, Any]]


def _listed(x: Any) -> Any:
    return np.asarray(x).tolist()


def _read_parametric(name: str, **parameters: Any) -> Distribution:
    return Parametric(name, parameters)


def _read_mixture(components: Any, weights: Any) -> Distribution:
    return Mixture(tuple(distribution_from_dict(part) for part in components), weights)


def _write_mixture(x: Mixture) -> dict[str, Any]:
    return {"weights": _listed(x.weights), "components": [distribution_to_dict(part) for part in x.components]}


def _write_rows(x: EmpiricalRows) -> dict[str, Any]:
    second = "y_pred" if x.y_score is None else "y_score"
    return {"y_true": _listed(x.y_true), second: _listed(getattr(x, second)), "n_classes": x.n_classes}


def _write_kde(x: AdaptiveKDE) -> dict[str, Any]:
    grid = {} if x.grid is None else {"grid": x.grid}
    return {"values": _listed(x.values), "bounds": list(x.bounds), **grid}


def _write_logits(x: LogitKDE) -> dict[str, Any]:
    return {"logits": _listed(x.logits), "labels": _listed(x.labels), "variant": x.variant}


_FORMS = {
    "parametric": _Form(
        Parametric, ("name",), (), _read_parametric, lambda x: {"name": x.name, **_numbers(x.parameters)}
    ),
    "mixture": _Form(Mixture, ("components", "weights"), (), _read_mixture, _write_mixture),
    "empirical": _Form(Empirical, ("values",), (), Empirical, lambda x: {"values": _listed(x.values)}),
    "rows": _Form(EmpiricalRows, ("y_true",), ("y_pred", "y_score", "n_classes"), EmpiricalRows, _write_rows),
    "targets": _Form(
        EmpiricalTargets,
        ("y_true", "y_pred"),
        (),
        EmpiricalTargets,
        lambda x: {"y_true": _listed(x.y_true), "y_pred": _listed(x.y_pred)},
    ),
    "cells": _Form(Cells, ("table",), (), Cells, lambda x: {"table": _listed(x.table)}),
    "kde": _Form(AdaptiveKDE, ("values",), ("bounds", "grid"), AdaptiveKDE.fit, _write_kde),
    "logit_kde": _Form(LogitKDE, ("logits", "labels"), ("variant",), LogitKDE.fit, _write_logits),
}


def _numbers(parameters: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in parameters.items()}


def distribution_to_dict(distribution: Distribution) -> dict[str, Any]:
    """Return a dictionary of plain numbers, strings and lists that describes the distribution.

    Estimated densities are written as their data, from which they are estimated again.

    Raises
    ------
    ValueError
        If it is a user's own, which no file can hold.
    """
    for kind, form in _FORMS.items():
        if isinstance(distribution, form.cls):
            return {"kind": kind, **form.write(distribution)}
    raise ValueError(f"{distribution.label} cannot be written to a file: it is a user's own object")


def distribution_from_dict(description: Mapping[str, Any]) -> Distribution:
    """Return the distribution that a dictionary describes.

    Parameters
    ----------
    description : mapping
        ``kind`` and what it asks for:

        - "parametric": ``name`` and the parameters by name;
        - "mixture": ``components`` (dictionaries) and ``weights``;
        - "empirical": ``values``;
        - "rows": ``y_true``, ``y_pred`` or ``y_score``, and ``n_classes`` if not read off them;
        - "targets": ``y_true`` and ``y_pred`` of a regression;
        - "cells": ``table``;
        - "kde": ``values``, ``bounds`` and ``grid`` if wanted;
        - "logit_kde": ``logits``, ``labels``, and ``variant`` if wanted.

    Raises
    ------
    ValueError
        If the kind or a key is unknown or missing, or a value is not what the distribution takes.

    Examples
    --------
    >>> distribution_from_dict({"kind": "parametric", "name": "beta", "a": 8, "b": 2}).label
    'beta(a=8, b=2)'
    """
    kind, given = read_kind("a distribution", description, _FORMS)
    form = _FORMS[kind]
    # The keys of a parametric law are those of SciPy's distribution, which knows them.
    known = given if kind == "parametric" else (*form.needs, *form.allows)
    check_keys(f"a distribution of kind {kind!r}", given, form.needs, known)
    return form.read(**given)
