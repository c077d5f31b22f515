"""Bootstrap distributions of means as arrays: a distribution function on a grid, and atoms beside it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from scipy import fft

from jaxci.records import record, static
from jaxci.resampling.laws import ROUNDING, BootstrapDistribution, picked, rank
from jaxci.special import namespace

SAME = 64 * float(np.finfo(float).eps)
"""A value this close to an atom, relative to the largest, is the atom."""
SMOOTH_POINTS = 1 << 16
"""Points of the distribution function of a smooth law."""


@record
class GridLaw(BootstrapDistribution):
    r"""Bootstrap distributions of a mean: atoms, and the rest on grids (see :mod:`jaxci.resampling.exact_mean`).

    What is promised: for every p there is a ``p'`` with ``|p' - p| <= probability_error`` such that ``quantile(p)``
    is within ``error_bound * standard_error`` of a :math:`p'`-quantile of the exact law, and likewise for
    :meth:`cdf` with the roles exchanged. At an atom the exact quantile function is a step, so a p within
    ``probability_error`` of a step may return either of its sides or a value between. An atom that is kept is one
    value: nothing of its mass lies beside it.

    Attributes
    ----------
    centre, spread : (...) arrays
        Exact moments of the law: the sample mean and ``sqrt(sum (x_i - mean)^2) / n``.
    error_bound : (...) array
        Bound on the quantile error in standard deviations: ``RADIUS + 1`` grid steps where atoms are left in the rest;
        2 steps for a smooth law (the cell that is interpolated, and 1 for structure finer than the grid, which no
        finite set of frequencies can exclude; where there is none the error is below 1e-6); rounding where atoms are
        all there is.
    probability_error : (...) array
        Bound on the error in probability.
    low, high : (...) arrays
        Smallest and largest value of the mean of a resample.
    step : (...) array
        Distance of the grid points, in units of the mean.
    origin : (...) array
        Index of the grid point that lies at the mean.
    rest : (..., G) array
        Distribution function, at the grid points, of what is no atom: from 0 to the mass of that, non-decreasing.
    atoms, masses : (..., A) arrays
        Atoms, ascending, and their probabilities; places that are not needed have no mass.
    cubic : bool
        Whether between the grid points a cubic is the rest to a part of ``probability_error``, so that quantiles are
        its quantiles; otherwise they are linear in a cell, whose width is part of ``error_bound``.
    """

    centre: Any
    spread: Any
    error_bound: Any
    probability_error: Any = dataclasses.field()  # given always: the base's None is no default
    low: Any
    high: Any
    step: Any
    origin: Any
    rest: Any
    atoms: Any
    masses: Any
    cubic: bool = static(default=False)

    @property
    def mean(self) -> Any:
        """Means."""
        return self.centre

    @property
    def standard_error(self) -> Any:
        """Standard deviations."""
        return self.spread

    @property
    def error(self) -> Any:
        """Bounds (...) on the errors of quantiles."""
        return self.error_bound * self.spread

    @functools.cached_property
    def _edges(self) -> Any:
        """Mass (..., A + 1) of the atoms before each, and of all."""
        xp = namespace(self.masses)
        return xp.concatenate([xp.zeros_like(self.masses[..., :1]), xp.cumsum(self.masses, axis=-1)], axis=-1)

    @functools.cached_property
    def _through(self) -> Any:
        """Distribution function (..., A) at the atoms."""
        return self._rest_at(self.atoms) + self._edges[..., 1:]

    def _of_atoms(self, values: Any) -> tuple[Any, Any]:
        """Return the mass of the atoms below ``values`` (..., m), and through them."""
        if self.atoms.shape[-1] == 0:
            return 0.0, 0.0
        xp = namespace(self.atoms, values)
        near = SAME * xp.maximum(xp.abs(xp.asarray(self.low)), xp.abs(xp.asarray(self.high)))[..., None]
        atoms, edges, size = self.atoms[..., None, :], self._edges[..., None, :], self.atoms.shape[-1]
        below = picked(edges, rank(atoms, values - near, size, through=False))
        return below, picked(edges, rank(atoms, values + near, size, through=True))

    def _rest_at(self, values: Any) -> Any:
        """Return the rest's distribution function at ``values`` (..., m): a cubic, kept within the ends of its cell."""
        xp = namespace(self.rest, values)
        centre, step, origin = (xp.asarray(x)[..., None] for x in (self.centre, self.step, self.origin))
        last = self.rest.shape[-1] - 1
        position = xp.clip((values - centre) / xp.where(step > 0, step, 1.0) + origin, 0.0, last)
        position = xp.where(xp.isnan(position), 0.0, position)
        cell = xp.clip(xp.floor(position).astype(np.int32), 1, last - 2)
        t = position - cell
        rest = self.rest[..., None, :]
        before, left, right, after = (picked(rest, cell + k) for k in (-1, 0, 1, 2))
        found = _along(t, left, *_cubic(before, left, right, after))
        found = xp.minimum(xp.maximum(found, left), right)
        whole = self.rest[..., -1:]
        return xp.where(position <= 0.0, 0.0, xp.where(position >= last, whole, found))

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        """Exact to ``probability_error`` at the mean, which is a grid point, and at atoms."""
        values = namespace(self.rest, value).asarray(value)[..., None]
        rest = self._rest_at(values)
        below, through = ((rest + of_atoms)[..., 0] for of_atoms in self._of_atoms(values))
        return below, through

    def quantile(self, p: Any) -> Any:
        """Return the p-quantile: an atom, or linear between grid points."""
        xp = namespace(self.rest, p)
        p, size = xp.asarray(p), self.atoms.shape[-1]
        if size == 0:
            x = self._quantile_of_rest(p)
        else:
            first = rank(self._through, p - ROUNDING, size, through=False)  # atoms of which all lies below
            at = xp.minimum(first, size - 1)
            held = (first < size) & (p > picked(self._through - self.masses, at)) & (picked(self.masses, at) > 0)
            x = self._quantile_of_rest(p - picked(self._edges, first))
            before = picked(self.atoms, xp.maximum(first - 1, 0))
            x = xp.where(first > 0, xp.maximum(x, before), x)
            x = xp.where(first < size, xp.minimum(x, picked(self.atoms, at)), x)
            x = xp.where(held, picked(self.atoms, at), x)
        x = xp.where(p <= 0.0, self.low, xp.where(p >= 1.0, self.high, x))
        return xp.where(xp.isnan(p), xp.nan, xp.clip(x, self.low, self.high))[()]

    def _quantile_of_rest(self, mass: Any) -> Any:
        """Return where the distribution function of the rest is ``mass`` (...)."""
        xp, last = namespace(self.rest, mass), self.rest.shape[-1] - 1
        right = xp.minimum(xp.maximum(rank(self.rest, mass, last + 1, through=False), 1), last)
        below, above = picked(self.rest, right - 1), picked(self.rest, right)
        width = xp.where(above > below, above - below, 1.0)
        part = xp.minimum(xp.maximum((mass - below) / width, 0.0), 1.0)
        if self.cubic:
            before, after = picked(self.rest, xp.maximum(right - 2, 0)), picked(self.rest, xp.minimum(right + 1, last))
            powers = _cubic(before, below, above, after)
            for _ in range(3):  # by the slope of the cell, which is nearly that of the cubic
                part = part + (mass - _along(part, below, *powers)) / width
                part = xp.minimum(xp.maximum(part, 0.0), 1.0)
        return self.centre + (right - 1 + part - self.origin) * self.step


def smooth_law(
    summed: np.ndarray,
    half: float,
    middle: float,
    mean: float,
    deviation: float,
    probability_error: float,
    low: float,
    high: float,
    atoms: np.ndarray,
    masses: np.ndarray,
) -> GridLaw:
    """Return a law from its first frequencies, all others being negligible.

    Parameters
    ----------
    summed : (J,) array
        Characteristic function of what is no atom, less ``middle``, at ``pi / half`` times 1 .. J.
    half : float
        The law reaches no further from ``middle``.
    middle, mean, deviation : float
        Middle of the grid, and moments of the law.
    probability_error : float
        Bound on the error in probability.
    low, high : float
        Smallest and largest value.
    atoms, masses : (A,) arrays
        Atoms, ascending, and their probabilities.
    """
    points, origin = SMOOTH_POINTS, SMOOTH_POINTS // 2
    step, whole = 2 * half / points, 1.0 - float(masses.sum())
    j = np.arange(1, min(len(summed), points // 2) + 1)
    turned = np.conj(summed[: len(j)]) / (2j * np.pi * j)
    cumulative = np.roll(fft.irfft(np.concatenate([[0.0], points * turned]), points), origin)
    cumulative = cumulative - cumulative[0] + whole * np.arange(points) / points
    return GridLaw(
        centre=mean,
        spread=deviation,
        error_bound=2 * step / deviation,
        probability_error=probability_error,
        low=low,
        high=high,
        step=step,
        origin=origin + (mean - middle) / step,
        rest=np.clip(np.maximum.accumulate(cumulative), 0.0, whole),
        atoms=atoms,
        masses=masses,
    )


def _cubic(before: Any, left: Any, right: Any, after: Any) -> tuple[Any, Any, Any]:
    """Return the coefficients of t, its square and its cube in the cubic through values at -1, 0, 1 and 2."""
    first = right - left / 2 - before / 3 - after / 6
    return first, (before + right) / 2 - left, (after - before) / 6 + (left - right) / 2


def _along(t: Any, start: Any, first: Any, second: Any, third: Any) -> Any:
    """Return a cubic at t."""
    return start + t * (first + t * (second + t * third))
