"""The bootstrap distribution of a mean without resampling (B -> infinity).

The mean of n draws from the empirical law of ``x_1 .. x_n`` has the n-th power of the
empirical characteristic function as its own. With deviations ``d_i = x_i - mean``, one
non-uniform Fourier transform (values spread on an oversampled grid by a compact kernel, one
FFT, division by the kernel's transform) gives ``phi(t_j) = sum_i exp(-i t_j d_i) / n`` at
``t_j = 2 pi j / W``; ``phi ** n`` is taken in polar form, and one inverse FFT returns the
distribution function of the sum on G points of a window of width W that holds all but
``2e-9`` of the mass.

Values on a lattice, and few kinds of values, have a law of atoms alone, which
:mod:`jaxci.resampling.mean_atoms` finds without a grid. Elsewhere two cases are told apart by
looking at every frequency up to the grid's own:

- *smooth*: ``|phi| ** n`` has died out. The law is band-limited and nothing is filtered. On the
  host :mod:`jaxci.resampling.mean_band` tells this most often from a bound, and sums the few
  frequencies of the law value by value; a coarser grid and cubics hold it.
- *atomic*: it has not, as with a lattice finer than the grid, where ``|phi|`` comes back to
  one, or with few observations. The law is then convolved with a Kaiser-Bessel density that
  vanishes beyond ``RADIUS`` grid steps, which moves no mass farther than that. Atoms that are
  known are taken out, smoothed as they are, and put back where they lie.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxci.resampling.grid_law import SAME, GridLaw
from jaxci.resampling.kernels import in_batches
from jaxci.resampling.mean_atoms import AtomsOfMean, atoms_of_mean, lattice_atoms, spacing
from jaxci.resampling.mean_band import Band, band_of
from jaxci.resampling.mean_spectrum import (
    BAND,
    RADIUS,
    TAIL,
    add_values,
    half_width,
    inverse,
    inverted,
    kept,
    read_at,
    smoothed_step,
    spectrum_of,
    spread_values,
    without_atoms,
)
from jaxci.special import namespace

GRID = 1 << 17
"""Points of the distribution function in the window (G)."""
COARSE = GRID // 4
"""Points tried first: enough for a smooth law in a window of ordinary width."""
GOAL = 1e-3
"""Largest error bound, in standard errors, at which the coarse grid is accepted."""
PROBABILITY_ERROR = 1e-6
"""Bound on the error in probability (window, filter and arithmetic together)."""
LATTICE = 1 << 10
"""Atoms of a lattice that are kept where many data sets are computed at once."""
LEAST_ATOM = 1e-5
"""Mass of an atom beside which a grid is that is taken out of it."""
ROUNDING = 1e-12
"""Bound, in standard errors, on the error of the place of an atom."""

NO_ATOMS = AtomsOfMean(np.zeros(0), np.zeros(0), False, 0.0)
"""What is known of the atoms of a law that has none, or is smooth."""


def mean_distribution(values: ArrayLike, counts: ArrayLike | None = None) -> GridLaw:
    r"""Return the exact bootstrap distribution of the mean of ``values``.

    The law of :math:`\bar X^* = \frac1n \sum_{i=1}^n X^*_i` with :math:`X^*_i` drawn
    independently and uniformly from the n values: characteristic function of the sum's
    deviation :math:`\varphi(t)^n`, :math:`\varphi(t) = \frac1n \sum_i e^{it(x_i - \bar x)}`.

    Parameters
    ----------
    values : (n,) array_like
        Finite real values, n >= 1. Computed in float64.
    counts : (n,) array_like, optional
        How many times each value occurs, whole numbers of at least 1; once by default.

    Returns
    -------
    GridLaw
        Error below 1e-3 standard errors for any data, heavy tails and ties included: the
        window is at most 22 standard errors wide and the grid has 131,072 points, or 32,768
        where these suffice for a smooth law. No error but rounding for values on a lattice
        whose points in the window are not more than those of the grid, and where there are at
        most 100,000 different resamples. A single or constant value gives a point mass.

    Raises
    ------
    ValueError
        If ``values`` is not one-dimensional, is empty or has a value that is not finite.

    Notes
    -----
    Cost O(n + G log G), memory 8 (n + 6 G) bytes. The half widths of the window solve
    Bennett's inequality ``P(S >= x) <= exp(-n v / b^2 * h(b x / (n v)))``,
    ``h(u) = (1 + u) log(1 + u) - u``, for a tail of 1e-9, with v the variance and b the
    largest deviation on that side (Boucheron, Lugosi & Massart, *Concentration
    Inequalities*, 2013, theorem 2.9). Spreading kernel: ``exp(beta (sqrt(1 - x^2) - 1))``
    (Barnett, Magland & af Klinteberg, SIAM J. Sci. Comput. 41, 2019). A law that agrees with
    a smooth one on all frequencies below T differs from it by at most ``pi / T`` times the
    density nearby, that is by one grid step (Vaaler, Bull. Amer. Math. Soc. 12, 1985).

    Examples
    --------
    >>> law = mean_distribution([0.0, 1.0, 1.0, 1.0])
    >>> round(float(law.cdf(0.75)), 4)  # 1 - (3/4)**4
    0.6836
    >>> law.quantile([0.1, 0.5]).tolist(), round(float(law.standard_error), 4)
    ([0.5, 0.75], 0.2165)
    """
    x, mass, n = _checked(values, counts)
    low, high = float(x.min()), float(x.max())
    if low == high:
        return GridLaw(low, 0.0, 0.0, 0.0, low, high, 0.0, 0, np.zeros(4), np.full(1, low), np.ones(1))
    at = _Scaled.of(x, mass, n)
    held = atoms_of_mean(at.x, mass, n, at.below, at.above, GRID, TAIL)
    law = functools.partial(GridLaw, centre=at.mean, spread=at.deviation * at.unit, low=low, high=high)
    if held is not None and held.whole:
        step = at.window / COARSE
        return law(
            error_bound=ROUNDING,
            probability_error=float(held.error),
            step=step * at.unit,
            origin=math.ceil(at.below / step) + 8,
            rest=np.zeros(COARSE),
            atoms=held.atoms * at.scale,
            masses=held.masses,
        )
    periodic, smooth, error_bound = at.inverted()
    size = periodic.size
    step = at.window / size
    origin = math.ceil(at.below / step) + min(8, 8 * size // COARSE)
    cumulative = np.concatenate((periodic[-origin:], periodic[:-origin]))
    cumulative += np.arange(size) / size - cumulative[0]
    if smooth or held is None:
        held = NO_ATOMS
    return law(
        error_bound=error_bound,
        probability_error=PROBABILITY_ERROR,
        step=step * at.unit,
        origin=origin,
        rest=without_atoms(cumulative, at.of_sum(held.atoms) / step + origin, held.masses),
        atoms=held.atoms * at.scale,
        masses=held.masses,
        cubic=size < COARSE,
    )


class Share(NamedTuple):
    """Probabilities that means are below a value, ties half, errors of that value in deviations, and ties (...).

    ``tied`` is the mass of the atom at the value, where one is known: all draws are the value, or resamples are listed.
    """

    below: Any
    error: Any
    tied: Any


def share_below_zero(values: np.ndarray, counts: np.ndarray | None, points: int, held: AtomsOfMean | None) -> Share:
    """Return the probability that the mean of a resample of ``values`` (m,) is negative, ties half.

    Each occurs ``counts`` (m,) times, or once. ``held`` are atoms of the mean that are known, in any order.

    It is summed over the frequencies of a grid of ``points`` at 0 itself, so that the error is that of no cell: 1 step
    of a smooth law, :data:`RADIUS` steps of another; rounding where all atoms are known.
    """
    x, mass, n = _checked(values, counts)
    if x.min() == x.max():
        return Share(0.5 - 0.5 * float(np.sign(x[0])), 0.0, float(x[0] == 0))
    at = _Scaled.of(x, mass, n)
    held = NO_ATOMS if held is None else held._replace(atoms=held.atoms / at.scale)
    tie = SAME * float(np.abs(at.x).max())
    tied = max(float(held.masses @ (np.abs(held.atoms) <= tie)), _all_zero(at.x, mass, n, tie))
    if held.whole:
        return Share(_below(held, tie), ROUNDING, tied)
    zero, step = float(at.of_sum(0.0)), at.window / points
    low = -at.below - 8 * step
    band, smooth = at.band(points), True
    if band is not None:
        found = band.between(low, zero, at.window)
    else:
        with jax.enable_x64(True):
            phi, modulus, smooth = at.spectrum(points)
            modulus, last = kept(modulus, points, smooth), BAND if smooth else points // 2
            found = float(read_at(phi, modulus, float(n), (zero, low), at.window, last=last))
    if not smooth:
        through = np.interp((zero - at.of_sum(held.atoms)) / step, *smoothed_step())
        found += _below(held, tie) - float(held.masses @ through)
    return Share(min(max(found, 0.0), 1.0), (1.0 if smooth else RADIUS) * step / at.deviation, tied)


def _below(held: AtomsOfMean, tie: float) -> float:
    """Return the mass of atoms below 0, ties half."""
    return float(held.masses @ ((held.atoms < -tie) + 0.5 * (np.abs(held.atoms) <= tie)))


def _all_zero(x: Any, mass: Any, n: int, tie: Any) -> Any:
    """Return the probability that all n draws of ``x`` (m,) are 0."""
    return namespace(x).average(1.0 * (abs(x) <= tie), weights=mass) ** n


def _checked(values: ArrayLike, counts: ArrayLike | None) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Return the values, how many times each occurs, and how many there are."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"values must be one-dimensional and not empty; got shape {x.shape}")
    mass = None if counts is None else np.asarray(counts, np.float64)
    if not (math.isfinite(x.min()) and math.isfinite(x.max())):
        raise ValueError("values must be finite; got a NaN or an infinity")
    return x, mass, x.size if mass is None else int(mass.sum())


class _Scaled(NamedTuple):
    """Values x over a power of two, their deviations d (n,), and the window of the sum of n of these.

    ``deviation`` is that of the sum; ``centre + residue`` is the mean of x.
    """

    x: np.ndarray
    mass: np.ndarray | None
    n: int
    d: np.ndarray
    scale: float
    centre: float
    residue: float
    deviation: float
    below: float
    above: float

    @classmethod
    def of(cls, x: np.ndarray, mass: np.ndarray | None, n: int) -> _Scaled:
        """Scale without rounding; centre twice, as the mean of values that differ in the last digit is one of them."""
        scale = 2.0 ** min(math.frexp(max(float(x.max()) / 2 - float(x.min()) / 2, 1e-300))[1], 1000)
        x = x / scale
        centre = float(np.average(x, weights=mass))
        d = x - centre
        residue = float(np.average(d, weights=mass))
        d -= residue
        variance = float(np.dot(d, d if mass is None else mass * d)) / n
        below, above = (float(half_width(n, variance, end)) for end in (-float(d.min()), float(d.max())))
        return cls(x, mass, n, d, scale, centre, residue, math.sqrt(n * variance), below, above)

    @property
    def window(self) -> float:
        """Width of the window of the sum."""
        return (self.below + self.above) * (1.0 + 32.0 / COARSE)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return (self.centre + self.residue) * self.scale

    @property
    def unit(self) -> float:
        """Change of the mean of the values with the sum of deviations."""
        return self.scale / self.n

    def of_sum(self, mean: Any) -> Any:
        """Return the sum of deviations where the mean of x is ``mean``."""
        return self.n * (mean - self.centre) - self.n * self.residue

    def inverted(self) -> tuple[np.ndarray, bool, float]:
        """Return the distribution function of the sum as :func:`inverted` does, whether it is smooth, and its error."""
        for points in (COARSE, GRID):
            step = self.window / points / self.deviation
            if points < GRID and 2.0 * step > GOAL:
                continue
            band = self.band(points)
            if band is not None:
                return band.inverted(band.points(points)), True, 2.0 * step
            with jax.enable_x64(True):
                phi, modulus, smooth = self.spectrum(points)
                if smooth or points == GRID:
                    found = np.asarray(inverted(phi, modulus, float(self.n), points=points, smooth=smooth))
                    break
        return found, smooth, 2.0 * step if smooth else (RADIUS + 1.0) * step

    def band(self, points: int) -> Band | None:
        """Return the frequencies of a smooth law, None where these are more than a few."""
        variance = self.deviation**2 / self.n
        return band_of(self.d, self.mass, self.n, variance, self.window, points, 0.01 * PROBABILITY_ERROR)

    def spectrum(self, points: int) -> tuple[jax.Array, jax.Array, bool]:
        """Return what :func:`spectrum_of` does, and whether the law is smooth."""
        grid = spread_values(self.d, self.mass, self.window, points)
        phi, modulus, rest = spectrum_of(grid, float(self.n), points=points)
        return phi, modulus, float(rest) < 0.01 * PROBABILITY_ERROR


def mean_distributions(values: jax.Array, points: int = COARSE) -> GridLaw:
    """Return the exact bootstrap distributions of the means of ``values`` (..., n): traceable, in double precision.

    The method of :func:`mean_distribution` on one grid of ``points``: ``error_bound`` says what it comes to, below
    3.4e-3 at 32,768 points and 9e-4 at 131,072. Rows are independent of each other; a constant one is a point mass.
    Cost O(n + G log G) a row; memory 8 G bytes a row, and 40 G more for some rows at a time.
    """
    n = values.shape[-1]
    found = in_batches(functools.partial(_law, points=points), values.reshape(-1, n), 8)
    return jax.tree.map(lambda x: x.reshape(values.shape[:-1] + x.shape[1:]), found)


def shares_below_zero(values: jax.Array) -> Share:
    """Return what :func:`share_below_zero` does for each row of ``values`` (..., n): traceable, in double precision.

    Atoms are not looked for: one at 0 itself is halved nevertheless.
    """
    n = values.shape[-1]
    found = in_batches(_share, values.reshape(-1, n), 8)
    return Share(*(x.reshape(values.shape[:-1]) for x in found))


def _share(x: jax.Array) -> Share:
    points, at = COARSE, _Traced.of(x)
    window, n = at.window, x.shape[0]
    z, modulus, rest = spectrum_of(add_values(jnp.zeros(2 * points), at.d, n, 2 * points / window), n, points=points)
    smooth = rest < 0.01 * PROBABILITY_ERROR
    ends = (-n * at.centre - n * at.residue, -at.below - 8 * window / points)
    read = read_at(z, kept(modulus, points, smooth), n, ends, window, last=points // 2)
    found = jnp.clip(read, 0.0, 1.0)
    error = jnp.where(smooth, 1.0, RADIUS) * window / points / at.deviation
    found = jnp.where(at.varies, found, 0.5 - 0.5 * jnp.sign(x[0]))
    tied = _all_zero(at.x, None, n, SAME * jnp.max(jnp.abs(at.x)))
    return Share(found, jnp.where(at.varies, error, 0.0), tied)


class _Traced(NamedTuple):
    """What :class:`_Scaled` has, traced; constant values have the deviations 1 and -1."""

    x: Any
    d: Any
    varies: Any
    scale: Any
    centre: Any
    residue: Any
    deviation: Any
    below: Any
    above: Any

    @classmethod
    def of(cls, x: jax.Array) -> _Traced:
        """Scale and centre."""
        low, high = jnp.min(x), jnp.max(x)
        varies = low < high
        exponent = jnp.frexp(jnp.maximum(high / 2 - low / 2, 1e-300))[1]
        scale = jnp.ldexp(1.0, jnp.minimum(exponent, 1000))
        x, n = x / scale, x.shape[0]
        centre = jnp.mean(x)
        d = x - centre
        residue = jnp.mean(d)
        d = jnp.where(varies, d - residue, jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0))
        variance = jnp.mean(d * d)
        below, above = half_width(n, variance, -jnp.min(d)), half_width(n, variance, jnp.max(d))
        return cls(x, d, varies, scale, centre, residue, jnp.sqrt(n * variance), below, above)

    @property
    def window(self) -> Any:
        """Width of the window of the sum."""
        return (self.below + self.above) * (1.0 + 32.0 / COARSE)


def _law(x: jax.Array, *, points: int) -> GridLaw:
    n, at = x.shape[0], _Traced.of(x)
    varies, scale, step = at.varies, at.scale, at.window / points
    z, modulus, rest = spectrum_of(add_values(jnp.zeros(2 * points), at.d, n, 2 * points / at.window), n, points=points)
    smooth = rest < 0.01 * PROBABILITY_ERROR
    periodic = inverse(z, kept(modulus, points, smooth), n, points)
    origin = jnp.ceil(at.below / step).astype(jnp.int32) + 8
    cumulative = jnp.roll(periodic, origin)
    cumulative = cumulative + jnp.arange(points) / points - cumulative[0]
    # Constant values are a lattice of one point.
    noise = 8 * np.finfo(float).eps * jnp.max(jnp.abs(at.x))
    length = spacing(at.x - at.x[0], (at.below + at.above) / (LATTICE - 8), noise)
    listed = (length > 0) | ~varies
    length = jnp.where(length > 0, length, 1.0)
    all_of = lattice_atoms(at.x, None, n, length, at.below, at.above, LATTICE, TAIL)
    single, mass = _atom(at.x)
    mass = jnp.where(smooth | (mass < LEAST_ATOM), 0.0, mass)
    place = (n * (single - at.centre) - n * at.residue) / step + origin
    error = jnp.where(smooth, 2.0, RADIUS + 1.0) * step / at.deviation
    return GridLaw(
        centre=jnp.where(varies, (at.centre + at.residue) * scale, x[0]),
        spread=jnp.where(varies, at.deviation / n * scale, 0.0),
        error_bound=jnp.where(varies, jnp.where(listed, ROUNDING, error), 0.0),
        probability_error=jnp.where(varies, jnp.where(listed, all_of.error, PROBABILITY_ERROR), 0.0),
        low=jnp.min(x),
        high=jnp.max(x),
        step=jnp.where(varies, step * scale / n, 0.0),
        origin=origin,
        rest=jnp.where(listed, 0.0, without_atoms(cumulative, place[None], mass[None])),
        atoms=jnp.where(listed, all_of.atoms, single) * scale,
        masses=jnp.where(listed, all_of.masses, jnp.where(jnp.arange(LATTICE) == 0, mass, 0.0)),
    )


def _atom(x: jax.Array) -> tuple[Any, Any]:
    """Return a value of ``x`` (n,) that all draws may share, and the probability of that: of the most frequent one.

    From 32 values on it has no mass to speak of unless it is the median.
    """
    n = x.shape[0]
    if n < 32:
        counts = jnp.sum(x[:, None] == x, axis=1)
        first = jnp.argmax(counts)
        return x[first], jnp.exp(n * jnp.log(counts[first] / n))
    middle = jnp.sort(x)[n // 2]
    return middle, jnp.exp(n * jnp.log(jnp.sum(x == middle) / n))
