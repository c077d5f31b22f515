"""Bootstrap distributions: distribution function, quantiles, mean and standard error.

Each class is a pytree of arrays with leading axes (...) over data sets, NumPy's or JAX's; replicates that were drawn
and laws that were computed answer the same questions.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any

import numpy as np

from jaxci.records import record, static
from jaxci.special import loop, namespace, root_sum_of_squares

ROUNDING = 1e-12
"""Slack in cumulative probabilities: p within it of a step counts as reached."""


class BootstrapDistribution(abc.ABC):
    """One bootstrap distribution a data set.

    ``probability_error`` (...) bounds the errors of probabilities; None where they are those of rounding, or of chance.
    """

    probability_error: Any = None

    @abc.abstractmethod
    def quantile(self, p: Any) -> Any:
        """Return the quantile (...) at ``p``, one probability or one a data set; NaN where p is."""

    @abc.abstractmethod
    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        """Return ``P(X < value)`` and ``P(X <= value)`` (...), whatever where the value is NaN.

        ``core`` (...) is the value before the map of :class:`Drawn`, where it is known; other laws ignore it.
        """

    def cdf(self, value: Any) -> Any:
        """Return ``P(X <= value)`` (...) for ``value`` (...); NaN where the value is."""
        return _probability(self._below_and_through(value)[1], value)

    def share_below(self, value: Any, core: Any = None) -> Any:
        """Return ``P(X < value) + P(X = value) / 2`` (...), of which intervals read the bias; NaN where the value is.

        ``core`` (...) is the value before the map of :class:`Drawn`, where it is known; other laws ignore it.
        """
        below, through = self._below_and_through(value, core)
        return _probability((below + through) / 2, value if core is None else core)

    @property
    @abc.abstractmethod
    def mean(self) -> Any:
        """Means (...)."""

    @property
    @abc.abstractmethod
    def standard_error(self) -> Any:
        """Standard deviations (...): the bootstrap standard errors."""

    @property
    def error(self) -> Any:
        """Bounds (...) on the errors of quantiles, in units of the statistic: 0 of a finite sum."""
        return 0.0 * self.standard_error


def _probability(found: Any, value: Any) -> Any:
    """Return probabilities that were found but for rounding; NaN where ``value`` is."""
    xp = namespace(found, value)
    return xp.where(xp.isnan(value), xp.nan, xp.clip(found, 0.0, 1.0))[()]


class MomentLaw(BootstrapDistribution):
    """A law whose mean and standard error are found together."""

    @property
    @abc.abstractmethod
    def _moments(self) -> tuple[Any, Any]:
        """Means (...) and standard deviations (...)."""

    @property
    def mean(self) -> Any:
        """Means."""
        return self._moments[0]

    @property
    def standard_error(self) -> Any:
        """Standard deviations."""
        return self._moments[1]


def picked(rows: Any, places: Any) -> Any:
    """Return the entry of each row (..., m) at its place (...); either may lack axes that the other has."""
    xp = namespace(rows, places)
    if xp is np and rows.size == rows.shape[-1]:  # one data set on the host
        found = rows.reshape(-1)[places]
        return found if rows.ndim - 1 <= np.ndim(places) else np.broadcast_to(found, rows.shape[:-1])
    shape = np.broadcast_shapes(rows.shape[:-1], np.shape(places))
    rows = xp.broadcast_to(rows, (*shape, rows.shape[-1]))
    return xp.take_along_axis(rows, xp.broadcast_to(places, shape)[..., None], axis=-1)[..., 0]


def rank(rows: Any, value: Any, count: Any, *, through: bool) -> Any:
    """Count the entries below ``value`` (or not above it, ``through``) among the first ``count`` of ascending rows."""
    xp = namespace(rows, value)
    shape = np.broadcast_shapes(rows.shape[:-1], np.shape(value))
    if xp is np and rows.size == rows.shape[-1]:  # one data set on the host
        found = np.searchsorted(rows.reshape(-1), value, "right" if through else "left")
        return np.broadcast_to(np.minimum(found, count), shape)

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = state
        middle = xp.minimum((low + high) // 2, rows.shape[-1] - 1)
        at = picked(rows, middle)
        going = ((at <= value) if through else (at < value)) & (low < high)
        return xp.where(going, middle + 1, low), xp.where(going, high, xp.maximum(middle, low))

    start = xp.zeros(shape, np.int32), xp.broadcast_to(xp.asarray(count, np.int32), shape)
    return loop(xp, lambda state: xp.any(state[0] < state[1]), step, start)[0]


@record
class Drawn(MomentLaw):
    """Replicates, linear quantiles; undefined ones (NaN) count for nothing.

    A replicate is ``offset + scale * core``, or the root of that (``root``; of a negative number 0). The cores,
    ``ordered`` (..., B), ascend along the last axis, NaN last: differences from an estimate may be in float32 where
    ``offset`` and ``scale`` (...) are not. The map is applied to the order statistics that a quantile lies between.
    """

    ordered: Any
    offset: Any = None
    scale: Any = None
    root: bool = static(default=False)

    @classmethod
    def of(cls, replicates: Any) -> Drawn:
        """Sort ``replicates`` (..., B)."""
        return cls(namespace(replicates).sort(replicates, axis=-1))

    @functools.cached_property
    def count(self) -> Any:
        """Number of defined replicates (...)."""
        size = self.ordered.shape[-1]
        return rank(self.ordered, math.inf, size, through=True)

    def mapped(self, cores: Any) -> Any:
        """Return replicates (..., k) from their cores."""
        xp = namespace(cores, self.offset)
        if self.scale is not None:
            cores = cores * xp.asarray(self.scale)[..., None]
        if self.offset is not None:
            cores = cores + xp.asarray(self.offset)[..., None]
        return xp.sqrt(xp.maximum(cores, 0)) if self.root else cores

    @property
    def error(self) -> Any:
        """No bound (...): the errors are those of chance."""
        return np.nan * self.standard_error

    @property
    def replicates(self) -> Any:
        """Replicates (..., B), ascending, NaN last."""
        return self.mapped(self.ordered)

    def quantile(self, p: Any) -> Any:
        """Return the linear quantile (NumPy's default)."""
        xp = namespace(self.ordered, p)
        last = xp.maximum(self.count - 1, 0)
        position = xp.clip(p, 0.0, 1.0) * last
        known = ~xp.isnan(position) & (self.count > 0)
        position = xp.where(known, position, 0.0)
        below = xp.floor(position).astype(np.int32)
        ends = xp.stack([picked(self.ordered, place) for place in (below, xp.minimum(below + 1, last))], axis=-1)
        low, high = xp.moveaxis(self.mapped(ends), -1, 0)
        beyond = position - below
        with np.errstate(invalid="ignore"):  # of infinite replicates
            found = xp.where((beyond == 0) | (low == high), low, low + beyond * (high - low))
        return xp.where(known, found, xp.nan)[()]

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp = namespace(self.ordered, value)
        if core is None:
            core = self._core(xp.asarray(value))
        below, through = (rank(self.ordered, core, self.count, through=through) for through in (False, True))
        count = xp.where(self.count > 0, self.count, xp.nan)
        return below / count, through / count

    def _core(self, value: Any) -> Any:
        """Undo the map."""
        xp = namespace(value)
        if self.root:
            value = xp.where(value < 0, -xp.inf, value * value)
        if self.offset is not None:
            value = value - self.offset
        return value if self.scale is None else value / self.scale

    @functools.cached_property
    def _moments(self) -> tuple[Any, Any]:  # of defined replicates, ddof 1
        xp, count = namespace(self.ordered), self.count
        undefined = xp.isnan(self.ordered)
        replicates = self.replicates.astype(float)
        total = xp.sum(xp.where(undefined, 0.0, replicates), axis=-1)
        mean = xp.asarray(total / xp.where(count > 0, count, xp.nan))
        with np.errstate(invalid="ignore"):  # of infinite ones
            apart = xp.where(undefined, 0.0, replicates - mean[..., None])
        return mean[()], (root_sum_of_squares(apart, 1.0) / xp.sqrt(xp.where(count > 1, count - 1, xp.nan)))[()]


class Steps(BootstrapDistribution):
    """A law with finitely many atoms: moments are sums over them.

    Attributes
    ----------
    atoms : (..., m) array
        Ascending. Laws with fewer than m atoms repeat the last one without mass.
    masses : (..., m) or (m,) array
        Their probabilities, which sum to one.
    through : array
        The mass through each atom, of the shape of their probabilities.
    tolerance : (...) array or float
        Values this close to an atom are taken to be the atom.
    """

    atoms: Any
    masses: Any
    through: Any
    tolerance: Any = 0.0

    @property
    def mean(self) -> Any:
        """Means."""
        return namespace(self.atoms).sum(self.atoms * self.masses, axis=-1)

    @property
    def standard_error(self) -> Any:
        """Standard deviations."""
        return root_sum_of_squares(self.atoms - self.mean[..., None], self.masses)

    def quantile(self, p: Any) -> Any:
        """Return the smallest atom x with ``P(X <= x) >= p``."""
        xp, size = namespace(self.atoms, p), self.atoms.shape[-1]
        place = rank(self.through, xp.asarray(p) - ROUNDING, size, through=False)
        return xp.where(xp.isnan(p), xp.nan, picked(self.atoms, xp.minimum(place, size - 1)))[()]

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        """Return the mass below ``value`` (...) and through it, tied within the tolerance."""
        xp, size = namespace(self.through, self.atoms, value), self.atoms.shape[-1]
        nothing = xp.zeros_like(self.through[..., :1])
        edges = xp.concatenate([nothing, self.through[..., :-1], nothing + 1.0], axis=-1)
        below = picked(edges, rank(self.atoms, xp.asarray(value) - self.tolerance, size, through=False))
        return below, picked(edges, rank(self.atoms, xp.asarray(value) + self.tolerance, size, through=True))


@record
class RankLaw(Steps):
    """Laws that share one law over the ranks of ascending ``atoms`` (..., n), the values."""

    atoms: Any
    through: Any

    @property
    def masses(self) -> Any:
        """Probability of each rank, of the shape of ``through``."""
        xp = namespace(self.through)
        return xp.diff(self.through, prepend=xp.zeros_like(self.through[..., :1]))


@record
class Atoms(Steps):
    """Laws with finitely many atoms, given by these and their masses."""

    atoms: Any
    masses: Any
    tolerance: Any = 0.0

    @functools.cached_property
    def through(self) -> Any:
        """The mass through each atom."""
        return namespace(self.masses).cumsum(self.masses, axis=-1)


@record
class Root(BootstrapDistribution):
    """Laws of the square root of what has ``law``; moments to the first order."""

    law: BootstrapDistribution

    @property
    def mean(self) -> Any:
        """Roots of the means."""
        xp = namespace(self.law.mean)
        return xp.sqrt(xp.maximum(self.law.mean, 0.0))

    @property
    def standard_error(self) -> Any:
        """Standard errors over twice the roots of the means."""
        xp, centre, error = namespace(self.law.mean), self.mean, self.law.standard_error
        return xp.where(centre > 0, error / xp.where(centre > 0, 2 * centre, 1.0), error)

    @property
    def error(self) -> Any:
        """Bounds (...) on the errors of quantiles, to the first order."""
        xp, centre = namespace(self.law.mean), self.mean
        return xp.where(centre > 0, self.law.error / xp.where(centre > 0, 2 * centre, 1.0), self.law.error)

    def quantile(self, p: Any) -> Any:
        """Return roots of quantiles."""
        found = self.law.quantile(p)
        xp = namespace(found)
        return xp.sqrt(xp.maximum(found, 0.0))

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp = namespace(value)
        value = xp.asarray(value)
        below, through = self.law._below_and_through(xp.where(value < 0, -xp.inf, value**2))
        return xp.where(value > 0, below, 0.0), through
