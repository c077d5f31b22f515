"""Interval methods by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from jaxci.checks import check_choice, check_options
from jaxci.intervals.approximate import ABC
from jaxci.intervals.auc import DeLong, DeLongLogit, HanleyMcNeil
from jaxci.intervals.base import Method
from jaxci.intervals.bootstrap import BC, Basic, BCa, Normal, Percentile, Studentized
from jaxci.intervals.concentration import Betting, EmpiricalBernstein, Hoeffding
from jaxci.intervals.exact import Exact
from jaxci.intervals.parametric import Delta, T, Z
from jaxci.intervals.proportion import PROPORTION_METHODS
from jaxci.intervals.quantile import (
    Asymptotic,
    ExactRandomized,
    HarrellDavis,
    Interpolated,
    NoncentralT,
    OrderStatistic,
)
from jaxci.intervals.semiparametric import Semiparametric, SemiparametricResampled, SemiparametricTransformed
from jaxci.records import settings
from jaxci.statistics.base import Statistic

_ALL: tuple[type[Method], ...] = (
    Z,
    T,
    *PROPORTION_METHODS,
    DeLong,
    DeLongLogit,
    HanleyMcNeil,
    Delta,
    Percentile,
    Basic,
    Normal,
    BC,
    BCa,
    Studentized,
    ABC,
    Exact,
    OrderStatistic,
    ExactRandomized,
    Interpolated,
    Asymptotic,
    Semiparametric,
    SemiparametricTransformed,
    SemiparametricResampled,
    NoncentralT,
    HarrellDavis,
    Hoeffding,
    EmpiricalBernstein,
    Betting,
)
METHODS: dict[str, type[Method]] = {cls.name: cls for cls in _ALL}


def check_known(method: str, options: Mapping[str, Any], known: Collection[str] = ()) -> None:
    """Refuse ``options`` that the method does not have."""
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise TypeError(f"method {method!r} has no option {option!r}; {has}")


def method_by_name(name: Any, options: Mapping[str, Any] | None = None) -> Method:
    """Return the method called ``name``, or ``name`` itself if it is a method, with ``options`` set.

    Raises
    ------
    ValueError
        If the name is unknown (the nearest one is named), or an option has no such value.
    TypeError
        If the method has no such option.
    """
    chosen = name if isinstance(name, Method) else METHODS[check_choice("method", name, METHODS)]()
    options = options or {}
    check_known(chosen.name, options, list(settings(chosen)))
    chosen = dataclasses.replace(chosen, **options) if options else chosen  # type: ignore[type-var]
    check_options(settings(chosen))
    return chosen


def applicable_methods(statistic: Statistic) -> list[str]:
    """Return the names of the methods that serve ``statistic``, in the order of the documentation."""
    return [name for name, cls in METHODS.items() if cls().refusal(statistic) is None]
