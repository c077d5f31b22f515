"""Interval methods by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from jaxci.api.validation import nearest
from jaxci.intervals.approximate import ABC
from jaxci.intervals.auc import DeLong, DeLongLogit, HanleyMcNeil
from jaxci.intervals.base import Method
from jaxci.intervals.bootstrap import BC, Basic, BCa, Normal, Percentile, Studentized
from jaxci.intervals.concentration import Betting, EmpiricalBernstein, Hoeffding
from jaxci.intervals.exact import Exact
from jaxci.intervals.parametric import Delta, T, Z
from jaxci.intervals.proportion import PROPORTION_METHODS
from jaxci.intervals.quantile import OrderStatistic
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
    Hoeffding,
    EmpiricalBernstein,
    Betting,
)
METHODS: dict[str, type[Method]] = {cls.name: cls for cls in _ALL}


def method_by_name(name: Any, options: dict[str, Any] | None = None) -> Method:
    """Return the method called ``name`` with its ``options`` set.

    Raises
    ------
    ValueError
        If the name is unknown; the nearest one is named.
    TypeError
        If the method has no such option.
    """
    if isinstance(name, Method):
        return name
    if name not in METHODS:
        raise ValueError(
            f"method must be 'auto' or one of jaxci's methods; got {name!r}: {nearest(str(name), METHODS)}"
        )
    cls = METHODS[name]
    options = options or {}
    known = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise TypeError(f"method {name!r} has no option {option!r}; {has}")
    return cls(**options)


def applicable_methods(statistic: Statistic) -> list[str]:
    """Return the names of the methods that serve ``statistic``, in the order of the documentation."""
    return [name for name, cls in METHODS.items() if cls().refusal(statistic) is None]
