"""Interval methods by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from jaxci.checks import check_choice, check_options
from jaxci.intervals.adjusted_wald import AdjustedWald
from jaxci.intervals.approximate import ABC
from jaxci.intervals.auc import DeLong, DeLongLogit, HanleyMcNeil, NewcombeAuc
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.base import Method
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.blocks import BlockBayesian, BlockT, BlockWilson
from jaxci.intervals.bootstrap import BC, Basic, BCa, ExpandedPercentile, Normal, Percentile, Studentized
from jaxci.intervals.calibration import BlockGaps, SquaredGaps
from jaxci.intervals.clustered_proportion import ClopperPearsonCluster, TangoCluster, WilsonCluster
from jaxci.intervals.concentration import Betting, EmpiricalBernstein, Hoeffding
from jaxci.intervals.delta import Delta
from jaxci.intervals.exact import Exact
from jaxci.intervals.iterated import Calibrated
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.mover import SquareAndAdd
from jaxci.intervals.parametric import T, Z
from jaxci.intervals.proportion import PROPORTION_METHODS
from jaxci.intervals.proportion_difference import Newcombe, SquareAndAddDifference, Tango
from jaxci.intervals.quantile import (
    Asymptotic,
    ExactRandomized,
    HarrellDavis,
    Interpolated,
    NoncentralT,
    OrderStatistic,
)
from jaxci.intervals.semiparametric import Semiparametric, SemiparametricResampled, SemiparametricTransformed
from jaxci.intervals.sign_flip import SignFlip
from jaxci.intervals.spread import Bonett
from jaxci.intervals.woodruff import Woodruff
from jaxci.records import settings
from jaxci.statistics.base import Statistic
from jaxci.statistics.paired import Paired

_ALL: tuple[type[Method], ...] = (
    Z,
    T,
    *PROPORTION_METHODS,
    WilsonCluster,
    ClopperPearsonCluster,
    DeLong,
    DeLongLogit,
    HanleyMcNeil,
    NewcombeAuc,
    SquareAndAdd,
    Bonett,
    SquaredGaps,
    ProperBayesian,
    Delta,
    KurtosisT,
    Percentile,
    ExpandedPercentile,
    Basic,
    Normal,
    BC,
    BCa,
    Studentized,
    BlockT,
    BlockWilson,
    BlockGaps,
    BlockBayesian,
    Calibrated,
    ABC,
    Exact,
    OrderStatistic,
    Woodruff,
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
"""Interval methods of one statistic; some serve differences of two models too."""
DIFFERENCES: dict[str, type[Method]] = {
    cls.name: cls
    for cls in (
        Tango,
        Newcombe,
        TangoCluster,
        SquareAndAddDifference,
        AdjustedWald,
        DeLongDifference,
        SignFlip,
    )
}
"""Methods of the difference of one statistic between two models alone."""


def difference_methods() -> dict[str, type[Method]]:
    """Return all methods that serve the difference of one statistic between two models, by name."""
    return DIFFERENCES | {name: cls for name, cls in METHODS.items() if cls.of_differences and name not in DIFFERENCES}


def _check_known(method: str, options: Mapping[str, Any], known: Collection[str]) -> None:
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
    return _chosen(name, options or {}, METHODS)


def difference_by_name(name: Any, options: Mapping[str, Any] | None = None) -> Method:
    """Return the method of a difference called ``name``, or ``name`` itself; see :func:`method_by_name`."""
    known = difference_methods()
    if isinstance(name, Method) and type(name) is not known.get(name.name):
        raise ValueError(f"method must be one for a difference of two models: {', '.join(known)}; got {name!r}")
    return _chosen(name, options or {}, known)


def _chosen(name: Any, options: Mapping[str, Any], family: Mapping[str, type[Method]]) -> Method:
    chosen = name if isinstance(name, Method) else family[check_choice("method", name, family)]()
    _check_known(chosen.name, options, list(settings(chosen)))
    chosen = dataclasses.replace(chosen, **options) if options else chosen  # type: ignore[type-var]
    check_options(settings(chosen))
    return chosen


def applicable_methods(statistic: Statistic, *, groups: bool = False, blocks: bool = False) -> list[str]:
    """Return the names of the methods that serve ``statistic`` of independent rows, in the order of the documentation.

    With ``groups``, of rows in clusters; with ``blocks``, of blocks of rows in the order of time.
    """
    family = difference_methods() if isinstance(statistic, Paired) else METHODS
    given = frozenset({"groups"}) if groups else frozenset()
    served = {name: cls for name, cls in family.items() if cls().refusal_of_data(statistic, given) is None}
    if blocks:
        return sorted(
            (name for name, cls in served.items() if cls().allows_blocks),
            key=lambda name: not served[name].requires_blocks,
        )
    served = {name: cls for name, cls in served.items() if not cls.requires_blocks}
    return [name for name, cls in served.items() if ("groups" in cls.takes if groups else not cls.requires_groups)]
