"""What every interval method promises: bounds from evidence, at any level, without resampling."""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jaxci.checks import ALTERNATIVES
from jaxci.intervals.replicates import Drawn, Rows
from jaxci.records import Named
from jaxci.statistics.base import Statistic


class Tails(NamedTuple):
    """Error probability allowed below and above; a zero means that side is unbounded."""

    lower: float
    upper: float


def tails(confidence_level: float, alternative: str = "two-sided") -> Tails:
    """Split ``1 - confidence_level`` over the tails with SciPy's meaning of ``alternative``.

    ``"less"`` gives an upper bound only, ``"greater"`` a lower bound only.
    """
    alpha = 1.0 - confidence_level
    if alternative == "two-sided":
        return Tails(alpha / 2, alpha / 2)
    if alternative == "less":
        return Tails(0.0, alpha)
    if alternative == "greater":
        return Tails(alpha, 0.0)
    raise ValueError(f"alternative must be one of {ALTERNATIVES}; got {alternative!r}")


class Bounds(NamedTuple):
    """Interval bounds (arrays of one shape) and remarks that became warnings."""

    low: Any
    high: Any
    remarks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Evidence:
    """Everything an interval may be read from. A method declares the fields it needs.

    Shapes are those of one data set; bootstrap methods, z, t and the proportion methods also
    take stacks of data sets, with leading axes (...) on every array.

    Attributes
    ----------
    statistic : Statistic
        The statistic the interval is about.
    estimate : float
        Its value on the data.
    n : int
        Number of independent units (rows, or clusters).
    count, nobs : float
        Successes and trials of a proportion.
    values : (n,) array
        Per-observation values whose mean, or whose order statistics, the estimate is.
    standard_error : float
        Influence-function standard error, ``sqrt(sum L_i**2) / n``.
    acceleration : float
        BCa acceleration.
    replicates : (B,) array
        Bootstrap replicates.
    replicate_errors : (B,) array
        Standard error at each replicate (studentized bootstrap).
    distribution : object
        Exact bootstrap distribution (see :mod:`jaxci.resampling.exact`).
    auc : object
        Counts and placement values of a ROC curve (see :mod:`jaxci.intervals.auc`).
    law : Rows
        Bootstrap distributions that are known already, in place of ``replicates``.
    curvature : object
        Second-order terms of the ABC interval.
    uniform : float
        A draw from (0, 1) for a method that is randomized.
    """

    statistic: Statistic
    estimate: Any
    n: int
    count: Any = None
    nobs: Any = None
    values: np.ndarray | None = None
    standard_error: Any = None
    acceleration: Any = None
    replicates: np.ndarray | None = None
    replicate_errors: np.ndarray | None = None
    distribution: Any = None
    auc: Any = None
    curvature: Any = None
    uniform: Any = None

    law: Rows | None = None

    @functools.cached_property
    def rows(self) -> Rows:
        """The bootstrap distributions: ``law`` where it is known, else the sorted replicates."""
        if self.law is not None:
            return self.law
        assert self.replicates is not None
        return Drawn.of(self.replicates)


class Method(Named, abc.ABC):
    """An interval method: a frozen :func:`~jaxci.records.record`.

    Class attributes: ``name`` (the word users type), ``needs`` (fields of
    :class:`Evidence`), ``assumes_iid`` (refuses clusters, strata and weights),
    ``leaves_range`` (bounds may fall outside the estimand's range and are then clipped),
    ``one_by_one`` (reads the evidence of one data set only, not of a stack of them).
    """

    needs: ClassVar[frozenset[str]]
    assumes_iid: ClassVar[bool] = False
    leaves_range: ClassVar[bool] = False
    one_by_one: ClassVar[bool] = False

    @abc.abstractmethod
    def refusal(self, statistic: Statistic) -> str | None:
        """Return why the method cannot serve ``statistic``, or None if it can."""

    @abc.abstractmethod
    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return the bounds; a side with a zero tail is the end of the estimand's range."""
