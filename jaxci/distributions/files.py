"""Distributions as plain dictionaries (numbers, strings, lists), as a study file holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jaxci.checks import check_number
from jaxci.distributions.base import Distribution
from jaxci.distributions.designs import Clustered, Stratified
from jaxci.distributions.empirical import Cells, Empirical, EmpiricalColumns, EmpiricalRows, EmpiricalTargets
from jaxci.distributions.kde import AdaptiveKDE
from jaxci.distributions.logit_kde import LogitKDE
from jaxci.distributions.models import GaussianClasses, RegressionErrors
from jaxci.distributions.parametric import Mixture, Parametric
from jaxci.records import Form, decode, encode


def _read_parametric(name: str, **parameters: Any) -> Distribution:
    for key, value in parameters.items():
        check_number(f"{key} of the parametric distribution {name!r}", value, "be finite", math.isfinite)
    return Parametric(name, parameters)


def _write_parametric(x: Parametric) -> dict[str, Any]:
    return {"name": x.name, **{name: float(value) for name, value in x.parameters.items()}}


def _read_mixture(components: Any, weights: Any) -> Distribution:
    return Mixture(tuple(map(distribution_from_dict, components)), weights)


def _write_mixture(x: Mixture) -> dict[str, Any]:
    return {"weights": x.weights, "components": [distribution_to_dict(part) for part in x.components]}


def _write_kde(x: AdaptiveKDE) -> dict[str, Any]:
    return {"values": x.values, "bounds": x.bounds} | ({} if x.grid is None else {"grid": x.grid})


def _write_logits(x: LogitKDE) -> dict[str, Any]:
    return {"logits": x.logits, "labels": x.labels, "variant": x.variant}


def _read_regression(errors: Any, **predictions: Any) -> Distribution:
    return RegressionErrors(distribution_from_dict(errors), **predictions)  # type: ignore[arg-type]


def _write_regression(x: RegressionErrors) -> dict[str, Any]:
    return {"errors": distribution_to_dict(x.errors), "spread": float(x.spread), "centre": float(x.centre)}


def _read_clustered(law: Any, **design: Any) -> Distribution:
    return Clustered(distribution_from_dict(law), **design)


def _write_clustered(x: Clustered) -> dict[str, Any]:
    sizes = len(x.clusters) if set(x.clusters) == {1.0} else list(x.clusters)
    return {"law": distribution_to_dict(x.law), "clusters": sizes, "correlation": float(x.correlation)}


def _read_stratified(laws: Any, shares: Any) -> Distribution:
    return Stratified(tuple(map(distribution_from_dict, laws)), shares)


def _write_stratified(x: Stratified) -> dict[str, Any]:
    return {"laws": [distribution_to_dict(law) for law in x.laws], "shares": list(x.shares)}


KINDS: dict[str, type[Any] | Form] = {
    "parametric": Form(Parametric, _read_parametric, _write_parametric, ("name",), None),
    "mixture": Form(Mixture, _read_mixture, _write_mixture, ("components", "weights")),
    "empirical": Empirical,
    "rows": EmpiricalRows,
    "targets": EmpiricalTargets,
    "columns": EmpiricalColumns,
    "cells": Form(Cells, Cells, lambda x: {"table": x.table}, ("table",)),
    "kde": Form(AdaptiveKDE, AdaptiveKDE.fit, _write_kde, ("values",), ("bounds", "grid")),
    "gaussian_classes": GaussianClasses,
    "regression_errors": Form(RegressionErrors, _read_regression, _write_regression, ("errors",), ("spread", "centre")),
    "clustered": Form(Clustered, _read_clustered, _write_clustered, ("law", "clusters"), ("correlation",)),
    "stratified": Form(Stratified, _read_stratified, _write_stratified, ("laws", "shares")),
    "logit_kde": Form(LogitKDE, LogitKDE.fit, _write_logits, ("logits", "labels"), ("variant",)),
}
"""Distributions as files hold them; estimated densities as the data from which they are estimated again."""


def distribution_to_dict(distribution: Distribution) -> dict[str, Any]:
    """Return a dictionary of plain numbers, strings and lists that describes the distribution.

    Raises
    ------
    ValueError
        If it is a user's own, which no file can hold.
    """
    return encode(distribution, KINDS, defaults=True)


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
        - "columns": ``columns``, a list of columns;
        - "cells": ``table``;
        - "kde": ``values``, ``bounds`` and ``grid`` if wanted;
        - "logit_kde": ``logits``, ``labels``, and ``variant`` if wanted;
        - "gaussian_classes": ``shares``, ``auc``, and ``temperature`` if wanted;
        - "regression_errors": ``errors`` (a dictionary), ``spread`` and ``centre`` if wanted;
        - "clustered": ``law`` (a dictionary), ``clusters`` (a number or relative sizes), and ``correlation`` if wanted;
        - "stratified": ``laws`` (dictionaries) and ``shares``.

    Raises
    ------
    ValueError
        If the kind or a key is unknown or missing, or a value is not what the distribution takes.

    Examples
    --------
    >>> distribution_from_dict({"kind": "parametric", "name": "beta", "a": 8, "b": 2}).label
    'beta(a=8, b=2)'
    """
    return decode(description, KINDS, what="a distribution")
