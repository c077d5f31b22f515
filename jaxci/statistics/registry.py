"""Metrics by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxci.checks import check_options, nearest, shown
from jaxci.records import settings
from jaxci.statistics import class_ranking, classification, probability, ranking, regression, summary
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import called

METRICS: dict[str, Statistic] = {
    **classification.METRICS,
    **ranking.METRICS,
    **class_ranking.METRICS,
    **probability.METRICS,
    **regression.METRICS,
    **summary.METRICS,
}

PER_CLASS = "_per_class"
"""Ending of a name that stands for one row a class."""


def statistic_by_name(name: Any) -> Statistic:
    """Return the metric called ``name``, or ``name`` itself if it is a statistic.

    Raises
    ------
    ValueError
        If the name is unknown; the nearest one is named.
    """
    if isinstance(name, Statistic):
        check_options(settings(name))
        return name
    if not isinstance(name, str):
        raise TypeError(f"a statistic must be a name or an object of jaxci.statistics; got {shown(name)}")
    if name not in METRICS:
        base = name.removesuffix(PER_CLASS)
        if base != name and base in METRICS:
            raise ValueError(f"{name!r} stands for a row a class, in jaxci.evaluate only; one statistic is {base!r}")
        raise ValueError(f"unknown metric {name!r}: {nearest(name, METRICS)}")
    return METRICS[name]


def name_of(statistic: Any) -> str:
    """Return the registered name of a statistic, or one that shows its settings."""
    if isinstance(statistic, str):
        return statistic
    if not isinstance(statistic, Statistic):
        return called(statistic)
    mine = repr(settings(statistic))
    for name, known in METRICS.items():
        if type(known) is type(statistic) and repr(settings(known)) == mine:
            return name
    return statistic.described


def configured(statistic: Statistic, options: Mapping[str, Any]) -> tuple[Statistic, dict[str, Any]]:
    """Return the statistic with those ``options`` set that it has, and the others."""
    checked = check_options(options)
    fields = {f.name for f in dataclasses.fields(statistic)}  # type: ignore[arg-type]
    own = {name: value for name, value in checked.items() if name in fields}
    rest = {name: value for name, value in checked.items() if name not in fields}
    return (dataclasses.replace(statistic, **own) if own else statistic), rest  # type: ignore[type-var]
