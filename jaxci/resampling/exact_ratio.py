r"""The bootstrap distribution of ratios of two sums without resampling (B -> infinity).

A resample of n rows has ``R = N / D``, N the sum of the rows' ``a_i`` and D that of their ``b_i >= 0``. Its moments are
those of :mod:`jaxci.resampling.ratio_moments`.

Its distribution function is that of a mean: ``P(R <= t) = P(N - t D <= 0) - P(D = 0)`` where D > 0, and ``N - t D`` is
a sum of independent ``a_i - t b_i``, whose law :mod:`jaxci.resampling.exact_mean` gives; a quantile is found by secants
of its normal quantiles, which are nearly linear in t. Where few kinds of rows make few different resamples, all of them
are listed.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.records import record
from jaxci.resampling.exact_mean import (
    COARSE,
    GRID,
    PROBABILITY_ERROR,
    Share,
    mean_distribution,
    mean_distributions,
    share_below_zero,
    shares_below_zero,
)
from jaxci.resampling.exact_order import discrete
from jaxci.resampling.grid_law import SAME
from jaxci.resampling.laws import ROUNDING, Atoms, MomentLaw, picked
from jaxci.resampling.mean_atoms import (
    FIRST,
    MOST_KINDS,
    MOST_RESAMPLES,
    AtomsOfMean,
    Resamples,
    likely_resamples,
    number_of_resamples,
)
from jaxci.resampling.ratio_moments import ratio_moments, with_undefined
from jaxci.special import loop, namespace, ndtri

TOLERANCE = 1e-4
"""Error, in standard deviations, to which a quantile is searched for in a distribution function."""
WITHIN = 3.0
"""Deviations from the ratio up to which errors are looked for."""
GOAL = 9.9e-4
"""Error bound, in deviations, that the grid of one data set is made fine enough for."""
GRIDS = (COARSE, GRID, 2 * GRID, 4 * GRID, 8 * GRID, 16 * GRID)
"""Grids of one data set, the first of which that keeps to :data:`GOAL` is taken."""
MOST_WALKS = 8
"""Steps from atom to atom."""
MOST_STEPS = 60
"""Steps of the search; smooth laws need three or four."""
NEGLIGIBLE = 1e-9
"""Probability of a denominator that is not positive below which negative terms of it are borne."""
NODES = 401
"""Values of the distribution function that moments are read from where terms of the denominator are negative."""
FARTHEST = 1e3
"""Deviations up to which quantiles are looked for where terms of the denominator are negative."""


@record
class RatioLaw(MomentLaw):
    """Laws of ``centre + N / D``, N and D sums over n units that are resampled.

    :attr:`error_bound` is below 1e-3 deviations for one data set, as its grid is made fine enough; traced, where the
    grid is one for all, below 3e-3 for smooth laws and 6e-3 for others but where the denominator may be near 0.

    Attributes
    ----------
    apart, parts : (..., n) arrays
        What each unit adds to N, 0 on average, and to D, not negative; 0 to N where it adds 0 to D.
    centre : (...) array
        The ratio of the data.
    undefined : (...) array or float
        What 0/0 counts as; NaN leaves such resamples out.

    Notes
    -----
    Cost of a quantile: three or four laws of a mean; more where the law has large atoms. :meth:`cdf` is that of the
    exact law at a value within :attr:`error`, and at the value itself where resamples are listed.
    """

    apart: Any
    parts: Any
    centre: Any
    undefined: Any

    @functools.cached_property
    def _spread(self) -> Any:
        """Deviations (...) to the first order."""
        xp = namespace(self.apart, self.parts)
        total = xp.sum(self.parts, axis=-1)
        return xp.sqrt(xp.sum(self.apart**2, axis=-1)) / xp.where(total > 0, total, 1.0)

    @functools.cached_property
    def _empty(self) -> Any:
        """Probability (...) that D = 0."""
        xp = namespace(self.apart, self.parts)
        return xp.mean(self.parts == 0, axis=-1) ** self.parts.shape[-1]

    @functools.cached_property
    def _kinds(self) -> tuple[Any, Any, Any]:
        """What units add to both sums (..., m), and how many there are of each (m,); None: one."""
        if namespace(self.apart, self.parts) is np and self._spread.size == 1:
            rows = np.stack([self.apart, self.parts]).reshape(2, -1)
            if np.unique(rows[:, :FIRST], axis=1).shape[1] < FIRST // 2:
                kinds, counts = np.unique(rows[0] + 1j * rows[1], return_counts=True)
                shape = *self._spread.shape, -1
                return kinds.real.reshape(shape), kinds.imag.reshape(shape), counts
        return self.apart, self.parts, None

    def _shares_below_zero(self, apart: Any, points: int) -> Share:
        """Return the shares (...) of resamples below ``centre + apart`` or 0/0, ties half; errors are those of sums."""
        xp, (above, below, counts) = namespace(self.apart, apart), self._kinds
        terms = above - xp.asarray(apart)[..., None] * below
        if xp is not np:
            found = shares_below_zero(terms)
            deviations = xp.sqrt(xp.sum((terms - xp.mean(terms, axis=-1, keepdims=True)) ** 2, axis=-1))
            return found._replace(error=found.error * deviations / terms.shape[-1])
        rows, n = terms.reshape(-1, terms.shape[-1]), self.apart.shape[-1]
        apart = np.broadcast_to(apart, terms.shape[:-1]).ravel()
        shares = [share_below_zero(row, counts, points, self._sums_at(at)) for row, at in zip(rows, apart, strict=True)]
        mean = np.average(rows, axis=-1, weights=counts)[:, None]
        deviations = np.sqrt(n * np.average((rows - mean) ** 2, axis=-1, weights=counts)) / n
        found = Share(*(np.reshape(x, terms.shape[:-1]) for x in zip(*shares, strict=True)))
        return found._replace(error=found.error * deviations.reshape(terms.shape[:-1]))

    def _reached(self, apart: Any) -> Any:
        """Return the share (...) of resamples below ``centre + apart``, ties half, 0/0 among them."""
        return self._with_undefined(self._shares_below_zero(apart, self._points), apart)[0]

    def _with_undefined(self, found: Share, apart: Any) -> tuple[Any, Any]:
        """Return shares (...) below ``centre + apart`` where 0/0 counts as what it does, not half below, and ties."""
        xp = namespace(found.below, self.apart)
        empty, undefined = self._empty, xp.asarray(self.undefined)
        at = self.centre + apart
        same = xp.abs(undefined - at) <= SAME * xp.maximum(xp.abs(at), xp.abs(self.centre))
        below = xp.where(same, 0.5, xp.where(undefined < at, 1.0, 0.0)) * empty
        known = xp.where(xp.isnan(undefined), 1.0 - empty, 1.0)
        known = xp.where(known > 0, known, xp.nan)
        tied = xp.maximum(found.tied - empty, 0.0) + xp.where(same, empty, 0.0)
        return xp.clip((found.below - 0.5 * empty + below) / known, 0.0, 1.0), tied / known

    def _bound(self, at_centre: Any, points: int) -> Any:
        """Return :attr:`error_bound` (...) on a grid of ``points``, from the error at the centre."""
        xp, found = namespace(self.apart, self.parts), at_centre
        for side in (-WITHIN, WITHIN):
            found = xp.maximum(found, self._shares_below_zero(side * self._spread, points).error)
        varies, low = self._spread > 0, self._low
        scale = xp.where(varies, self._spread, 1.0) * xp.where(low > 0, low, 1.0)
        return xp.where(varies, xp.where(low > 0, TOLERANCE + found / scale, xp.inf), 0.0)

    @functools.cached_property
    def _low(self) -> Any:
        """Mean (...) of a denominator that lies as low as a ratio :data:`WITHIN` deviations off its own."""
        xp, p = namespace(self.parts), special.ndtr(-WITHIN)
        rows = self.parts.reshape(-1, self.parts.shape[-1])
        if xp is np:
            return np.array([mean_distribution(row).quantile(p) for row in rows]).reshape(self.parts.shape[:-1])
        return mean_distributions(rows).quantile(p + xp.zeros(rows.shape[0])).reshape(self.parts.shape[:-1])

    @functools.cached_property
    def _on_host(self) -> tuple[int, Any, Share]:
        """The first grid of :data:`GRIDS` that keeps to :data:`GOAL`, the error bound, and the share at the centre."""
        for points in GRIDS:
            share = self._shares_below_zero(0.0 * self._spread, points)
            bound = self._bound(share.error, points)
            if not np.any((bound > GOAL) & (bound < np.inf)):
                break
        return points, bound, share

    @functools.cached_property
    def _centre_share(self) -> Share:
        """The share at the centre."""
        if namespace(self.apart, self.parts) is np:
            return self._on_host[2]
        return self._shares_below_zero(0.0 * self._spread, COARSE)

    @property
    def _points(self) -> int:
        """Points of the grid."""
        return self._on_host[0] if namespace(self.apart, self.parts) is np else COARSE

    @functools.cached_property
    def error_bound(self) -> Any:
        """Bound (...) on the error of quantiles, in standard deviations to the first order.

        An error of the law of ``N - t D`` moves t by itself over D. The largest of errors from :data:`WITHIN`
        deviations below the ratio to as many above it, over a denominator as many below its mean (in probability),
        beside the :data:`TOLERANCE` of the search; for a probability as far off as theirs may be.
        """
        if namespace(self.apart, self.parts) is np:
            return self._on_host[1][()]
        return self._bound(self._centre_share.error, COARSE)

    @property
    def probability_error(self) -> float:
        """Bound on the error in probability."""
        return PROBABILITY_ERROR

    @property
    def error(self) -> Any:
        """Bound (...) on the error of quantiles."""
        return self.error_bound * self._spread

    @functools.cached_property
    def _at_centre(self) -> Any:
        return self._with_undefined(self._centre_share, 0.0 * self._spread)[0]

    @functools.cached_property
    def _range(self) -> tuple[Any, Any]:
        """The least and the largest ratio (...), less the centre."""
        xp, counted = namespace(self.apart, self.parts), self.parts > 0
        own = xp.where(counted, self.apart, 0.0) / xp.where(counted, self.parts, 1.0)
        ends = [xp.where(counted, own, side * xp.inf) for side in (1, -1)]
        counts = (self._empty > 0) & ~xp.isnan(self.undefined + 0.0 * self._spread)
        other = xp.where(counts, self.undefined - self.centre, 0.0)
        beyond = xp.where(xp.any(self.parts < 0, axis=-1), FARTHEST * self._spread, 0.0)
        low = xp.minimum(xp.minimum(xp.min(ends[0], axis=-1), other), -beyond)
        return low, xp.maximum(xp.maximum(xp.max(ends[1], axis=-1), other), beyond)

    def _below_and_through(self, value: Any, core: Any = None) -> tuple[Any, Any]:
        xp, (low, high) = namespace(self.apart, value), self._range
        apart = xp.asarray(value) - self.centre
        known, rounding = ~xp.isnan(apart), 16 * np.finfo(float).eps * xp.abs(self.centre)
        beside = xp.where(self._spread > 0, self._spread, 1.0)
        apart = xp.where(known & (xp.abs(apart) > rounding), xp.clip(apart, low - beside, high + beside), 0.0)
        at_centre = xp is np and not np.any(apart)
        share = self._centre_share if at_centre else self._shares_below_zero(apart, self._points)
        middle, tied = self._with_undefined(share, apart)
        middle = xp.where(known, middle, xp.nan)
        return middle - tied / 2, middle + tied / 2

    def quantile(self, p: Any) -> Any:
        """Return the quantile, to :data:`TOLERANCE` deviations."""
        xp = namespace(self.apart, p)
        p = xp.asarray(p) + 0.0 * self._spread
        target, spread = self._score(xp.where(xp.isnan(p), 0.5, p)), xp.where(self._spread > 0, self._spread, 1.0)
        low, high = self._range
        if xp is np and not np.any(self._spread > 0):
            return (self.centre + 0.0 * p)[()]
        error = self._score(self._at_centre) - target
        known, steps = 0.0 * p, self._kinds[2] is not None
        start = (known, error, xp.clip(-error * spread, low, high), low, high, xp.ones(p.shape, bool), 0)

        def step(state: Any) -> Any:
            before, error_before, at, low, high, going, count = state
            error = self._score(self._reached(at)) - target
            low, high = xp.where(error < 0, at, low), xp.where(error < 0, high, at)
            slope = (error - error_before) / xp.where(at != before, at - before, 1.0)
            slope = xp.where(slope * spread > 0.01, slope, 1.0 / spread)
            found = at - error / slope
            halved = (low + high) / 2
            inside = (found > low) & (found < high) & (count % 4 != 3)
            found = xp.where(inside, found, halved)
            near = TOLERANCE * spread
            close = xp.abs(found - at) < near
            if steps:  # between two atoms a distribution function is flat: what lies beyond is looked at
                found = xp.where(close, at - 0.9 * near * xp.sign(error), found)
            done = (high - low < near) | (close & (not steps))
            following = xp.where(going, found, at)
            return xp.where(going, at, before), error, following, low, high, going & ~done, count + 1

        final = loop(xp, lambda state: xp.any(state[5]) & (state[6] < MOST_STEPS), step, start)
        found = self._at_atom(final[2], p)
        shared, mass, middle = self._shared
        found = xp.where(xp.abs(p - middle) <= mass / 2, shared, found)
        found = xp.where(self._spread > 0, found + self.centre, self.centre)
        found = xp.where(xp.abs(found) <= SAME * xp.abs(self.centre), 0.0, found)
        return xp.where(xp.isnan(p), xp.nan, found)[()]

    @functools.cached_property
    def _shared(self) -> tuple[Any, Any, Any]:
        """A ratio, less the centre, that all units drawn may share, the probability of that, and the share below it.

        As 0 of a difference between models that seldom differ, whatever the units weigh.
        """
        xp = namespace(self.apart, self.parts)
        counted = self.parts > 0
        own = xp.where(counted, self.apart, 0.0) / xp.where(counted, self.parts, 1.0)
        ordered = xp.sort(xp.where(counted, own, xp.inf), axis=-1)
        shared = picked(ordered, xp.maximum(xp.sum(counted, axis=-1) - 1, 0) // 2)
        tie = SAME * xp.maximum(xp.abs(shared), xp.abs(self.centre))[..., None]
        alike = ~counted | (xp.abs(own - shared[..., None]) <= tie)
        known = xp.where(xp.isnan(xp.asarray(self.undefined)), 1.0 - self._empty, 1.0)
        mass = xp.mean(alike, axis=-1) ** self.parts.shape[-1] - self._empty
        mass = xp.where(mass > PROBABILITY_ERROR, mass / xp.where(known > 0, known, 1.0), -1.0)
        if xp is np and not np.any(mass > 0):
            return shared, mass, shared
        return shared, mass, self._reached(shared)

    def _at_atom(self, apart: Any, p: Any) -> Any:
        """Return p-quantiles ``apart`` (...) from the centre; where an atom that is known is one, the atom (host).

        From any point the list of atoms leads to the one that should hold p, but for what is not on it.
        """
        if namespace(self.apart, p) is not np or self._atoms is None:
            return apart
        atoms, masses = self._atoms
        through, found = np.cumsum(masses), np.array(apart)
        for index in np.ndindex(found.shape):
            at, wanted = float(found[index]), float(np.asarray(p)[index])
            for _ in range(MOST_WALKS):
                here = float(np.ravel(self._reached(np.full(self._spread.shape, at)))[0])
                near = int(np.argmin(np.abs(atoms - at)))
                same = abs(atoms[near] - at) <= SAME * abs(atoms).max()
                if same and abs(wanted - here) <= masses[near] / 2 + ROUNDING:
                    found[index] = atoms[near]
                    break
                first = int(np.searchsorted(atoms, at))
                listed = through[near] - masses[near] / 2 if same else (through[first - 1] if first else 0.0)
                following = int(np.searchsorted(through, listed + wanted - here - ROUNDING))
                if following >= atoms.size or (same and following == near):
                    break
                at = float(atoms[following])
        return found

    @functools.cached_property
    def _likely(self) -> Resamples | None:
        """Sums of the resamples of one data set with few kinds of units (host)."""
        above, below, counts = self._kinds
        if counts is None or counts.size > MOST_KINDS:
            return None
        return likely_resamples(np.stack([above, below]).reshape(2, -1), counts, self.apart.shape[-1])

    def _sums_at(self, apart: float) -> AtomsOfMean | None:
        """Return the atoms that are known of the mean of ``N - (centre + apart) D``."""
        if self._likely is None:
            return None
        (above, below), masses, whole = self._likely
        return AtomsOfMean((above - apart * below) / self.apart.shape[-1], masses, whole, 0.0)

    @functools.cached_property
    def _atoms(self) -> tuple[Any, Any] | None:
        """Atoms of the ratio less its centre and their probabilities, of one data set with few kinds of units."""
        found = self._likely
        if found is None or not np.any(found.sums[1] > 0):
            return None
        above, below = found.sums
        values = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.ravel(self.undefined - self.centre)[0])
        mass = np.where(np.isnan(values), 0.0, found.masses)
        law = discrete(values, mass)
        known = 1.0 - float(np.ravel(self._empty)[0]) if np.isnan(self.undefined).any() else 1.0
        return law.atoms, law.masses * (mass.sum() / known)

    def _score(self, p: Any) -> Any:
        xp = namespace(self.apart, p)
        return ndtri(xp.clip(p, ROUNDING, 1.0 - ROUNDING))

    @functools.cached_property
    def _moments(self) -> tuple[Any, Any]:
        if namespace(self.apart, self.parts) is np and np.any(self.parts < 0):
            return self._moments_by_shares()
        shares = 0.0 * self.apart + 1.0 / self.apart.shape[-1]
        first, second = ratio_moments(self.apart, self.parts, shares, self.apart.shape[-1])
        return with_undefined(self.centre, first, second, self._empty, self.undefined)

    def _moments_by_shares(self) -> tuple[Any, Any]:
        """Integrate the distribution function between far quantiles (host)."""
        low, high = (self.quantile(p) - self.centre for p in (NEGLIGIBLE, 1.0 - NEGLIGIBLE))
        apart, step = np.linspace(low, high, NODES, retstep=True, axis=-1)
        through = np.stack([self._reached(at) for at in np.moveaxis(apart, -1, 0)], axis=-1)
        first = high - np.trapezoid(through, dx=1.0, axis=-1) * step
        second = high**2 - 2 * np.trapezoid(apart * through, dx=1.0, axis=-1) * step
        return self.centre + first, np.sqrt(np.maximum(second - first**2, 0.0))


def ratio_distribution(
    numerators: ArrayLike, denominators: ArrayLike, *, undefined: float = math.nan, offset: float = 0.0
) -> Atoms | RatioLaw:
    r"""Return the exact bootstrap distribution of ``offset + sum a_i / sum b_i``.

    Parameters
    ----------
    numerators, denominators : (n,) array_like
        Finite terms a and b of both sums by unit. A unit that adds 0 below the line adds 0 above it.
    undefined : float
        What a resample whose denominator is 0 counts as; by default nothing: the law is that given ``D > 0``.
    offset : float
        Added to the ratio.

    Returns
    -------
    Atoms or RatioLaw
        Atoms, without error but rounding, where there are at most 100,000 different resamples: up to 10 units, or a few
        kinds of units. Else a :class:`RatioLaw`, about 1e-3 deviations off at most: ``error_bound`` says how many.

    Raises
    ------
    ValueError
        If the terms are no two vectors of one length, not finite, negative below the line (unless the sum of a resample
        is so with a probability below 1e-9), all 0 there, or 0 there only.

    Examples
    --------
    >>> law = ratio_distribution([1.0, 0.0], [1.0, 2.0])
    >>> law.atoms.round(4).tolist(), law.masses.tolist()
    ([0.0, 0.3333, 1.0], [0.25, 0.5, 0.25])
    >>> float(law.cdf(0.5)), float(law.quantile(0.9)), round(float(law.standard_error), 4)
    (0.75, 1.0, 0.3632)
    """
    a, b = _checked(numerators, denominators)
    centre = float(a.sum() / b.sum())
    few = len(set(zip(a[:FIRST].tolist(), b[:FIRST].tolist(), strict=True)))
    if number_of_resamples(a.size, few) <= MOST_RESAMPLES:
        kinds, counts = np.unique(np.stack([a, b]), axis=1, return_counts=True)
        if number_of_resamples(a.size, counts.size) <= MOST_RESAMPLES:
            return _listed(kinds, counts, undefined, offset)
    return RatioLaw(a - centre * b, b, np.asarray(offset + centre), np.asarray(undefined))


def _checked(numerators: ArrayLike, denominators: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.asarray(x, dtype=np.float64) for x in (numerators, denominators))
    if a.ndim != 1 or a.shape != b.shape or a.size == 0:
        raise ValueError(
            f"numerators and denominators must be vectors of one length, not empty; got shapes {a.shape}, {b.shape}"
        )
    for name, x in (("numerators", a), ("denominators", b)):
        if not np.all(np.isfinite(x)):
            raise ValueError(f"{name} must be finite; got {x[~np.isfinite(x)][0]}")
    if np.any(b < 0) and (b.sum() <= 0 or mean_distribution(b).share_below(0.0) > NEGLIGIBLE):
        raise ValueError(f"denominators must have positive sums in all resamples; got values down to {b.min():g}")
    if np.any((b == 0) & (a != 0)) or not np.any(b):
        raise ValueError("denominators must be positive where numerators are not 0, and somewhere; got 0")
    return a, b


def _listed(kinds: np.ndarray, counts: np.ndarray, undefined: float, offset: float) -> Atoms:
    """List all resamples of k ``kinds`` (2, k) of units: their ratios and probabilities."""
    found = likely_resamples(kinds, counts, int(counts.sum()))
    assert found is not None
    (above, below), mass = found.sums, found.masses
    values = np.where(below > 0, above / np.where(below > 0, below, 1.0) + offset, undefined)
    law = discrete(values, np.where(np.isnan(values), 0.0, mass))
    return dataclasses.replace(law, tolerance=4 * law.tolerance)  # what is compared with atoms are other sums
