"""The bootstrap distribution of a mean without resampling (B -> infinity).

The mean of n draws from the empirical law of ``x_1 .. x_n`` has the n-th power of the
empirical characteristic function as its own. With deviations ``d_i = x_i - mean``, one
non-uniform Fourier transform (values spread on an oversampled grid by a compact kernel, one
FFT, division by the kernel's transform) gives ``phi(t_j) = sum_i exp(-i t_j d_i) / n`` at
``t_j = 2 pi j / W``; ``phi ** n`` is taken in polar form, and one inverse FFT returns the
distribution function of the sum on G points of a window of width W that holds all but
``2e-9`` of the mass.

Two cases are told apart by looking at every frequency up to the grid's own:

- *smooth*: ``|phi| ** n`` has died out. The law is band-limited and nothing is filtered.
- *atomic*: it has not, as with lattice data (0/1, integers, rounded values), where ``|phi|``
  comes back to one, or with few observations. The law is then convolved with a Kaiser-Bessel
  density that vanishes beyond ``RADIUS`` grid steps, which moves no mass farther than that.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import ArrayLike

from jaxci.resampling.kernels import in_batches
from jaxci.resampling.laws import GridLaw
from jaxci.special import namespace

GRID = 1 << 17
"""Points of the distribution function in the window (G)."""
COARSE = GRID // 4
"""Points tried first: enough for a smooth law in a window of ordinary width."""
GOAL = 1e-3
"""Largest error bound, in standard errors, at which the coarse grid is accepted."""
BAND = 1 << 11
"""Frequencies kept when the law is smooth."""
RADIUS = 4.0
"""Half width in grid steps of the density that smooths an atomic law."""
TAIL = 1e-9
"""Mass allowed outside the window on each side."""
PROBABILITY_ERROR = 1e-6
"""Bound on the error in probability (window, filter and arithmetic together)."""

_WIDTH = 14  # grid cells under the spreading kernel: relative error about 1e-13
_STEEPNESS = 2.3 * _WIDTH
_CHUNKS = (1 << 10, 1 << 13, 1 << 16)


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
        where these suffice for a smooth law. A single or constant value gives a point mass.

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
    >>> round(float(law.share_below(0.9)), 4)  # 1 - (3/4)**4
    0.6836
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"values must be one-dimensional and not empty; got shape {x.shape}")
    mass = None if counts is None else np.asarray(counts, np.float64)
    n = x.size if mass is None else int(mass.sum())
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("values must be finite; got a NaN or an infinity")
    if low == high:
        return GridLaw(low, 0.0, 0.0, 0.0, low, high, 0.0, 0, np.full(4, 0.5))
    # A power of two scales without rounding. Centre twice, as the first mean is only as
    # precise as the values: where they differ in the last digit it is one of them.
    atom, atom_mass = _atom(x)
    scale = 2.0 ** min(math.frexp(max(high / 2 - low / 2, 1e-300))[1], 1000)
    d = x / scale
    centre = float(np.average(d, weights=mass))
    d -= centre
    residue = float(np.average(d, weights=mass))
    d -= residue
    variance = float(np.dot(d, d if mass is None else mass * d)) / n
    below = _half_width(n, variance, -float(d.min()))
    above = _half_width(n, variance, float(d.max()))
    window = (below + above) * (1.0 + 32.0 / COARSE)
    deviation = math.sqrt(n * variance)
    with jax.enable_x64(True):
        for points in (COARSE, GRID):
            step = window / points  # of the sum, in units of scale
            error_bound = 2.0 * step / deviation  # of a smooth law
            if points < GRID and error_bound > GOAL:
                continue
            phi, modulus, rest = _spectrum(_spread(d, mass, window, points), float(n), points=points)
            smooth = float(rest) < 0.01 * PROBABILITY_ERROR
            if smooth:
                break
        periodic = np.asarray(_invert(phi, modulus, float(n), points=points, smooth=smooth))
    origin = math.ceil(below / step) + 8
    cumulative = np.concatenate((periodic[-origin:], periodic[:-origin]))
    cumulative += np.arange(cumulative.size) / cumulative.size - cumulative[0]
    np.clip(cumulative, 0.0, 1.0, out=cumulative)
    np.maximum.accumulate(cumulative, out=cumulative)
    return GridLaw(
        centre=(centre + residue) * scale,
        spread=math.sqrt(variance / n) * scale,
        error_bound=error_bound if smooth else (RADIUS + 1.0) * step / deviation,
        probability_error=PROBABILITY_ERROR,
        low=low,
        high=high,
        step=step * scale / n,
        origin=origin,
        cumulative=cumulative,
        atom=atom,
        atom_mass=atom_mass,
        radius=(RADIUS + 1.0) * step * scale / n,
    )


def _atom(x: Any) -> tuple[Any, Any]:
    """Return a value of ``x`` (n,) that all draws may share, and the probability of that: of the most frequent one.

    From 32 values on it has no mass to speak of unless it is the median.
    """
    xp, n = namespace(x), x.shape[0]
    if n < 32:
        counts = xp.sum(x[:, None] == x, axis=1)
        first = xp.argmax(counts)
        return x[first], xp.exp(n * xp.log(counts[first] / n))
    ordered = np.partition(x, n // 2) if xp is np else jnp.sort(x)
    return ordered[n // 2], xp.exp(n * xp.log(xp.sum(x == ordered[n // 2]) / n))


def _half_width(n: float, variance: Any, largest: Any) -> Any:
    """Return x with ``P(S >= x) <= TAIL`` by Bennett's inequality, never beyond ``n * largest``."""
    xp = namespace(variance)
    rate = -math.log(TAIL) * largest * largest / (n * variance)
    u = xp.sqrt(2.0 * rate) + rate / 3.0  # from below; h is convex, so Newton ends above the root
    for _ in range(20):
        u = u + (rate - ((1.0 + u) * xp.log1p(u) - u)) / xp.log1p(u)
    return xp.minimum(u * n * variance / largest, n * largest)


@functools.lru_cache(maxsize=2)
def _deconvolution(points: int) -> np.ndarray:
    """Return ``(-1)^j / psi(j)``, psi the transform of the spreading kernel centred mid-grid."""
    node, weight = np.polynomial.legendre.leggauss(56)
    half = _WIDTH / 2
    kernel = weight * half * np.exp(_STEEPNESS * (np.sqrt(1.0 - node * node) - 1.0))
    turn = np.pi * half / points
    j = np.arange(points // 2 + 1)
    transform = np.zeros(j.size)
    for x, k in zip(node[28:], kernel[28:], strict=True):
        transform += 2.0 * k * np.cos(turn * x * j)
    return (1.0 - 2.0 * (j % 2)) / transform


@functools.lru_cache(maxsize=2)
def _smoothing(points: int) -> np.ndarray:
    """Return the transform of the Kaiser-Bessel density on ``[-RADIUS, RADIUS]`` steps of a grid of ``points``.

    Its main lobe ends at the last frequency of the grid; what is cut off changes the
    distribution function by at most 7e-7 of an atom's mass.
    """
    beta = np.pi * RADIUS
    root = beta * np.sqrt(1.0 - (np.arange(points // 2 + 1) / (points // 2)) ** 2)
    ratio = np.divide(np.sinh(root), root, out=np.ones_like(root), where=root > 0)
    return ratio * beta / np.sinh(beta)


def _spread(d: np.ndarray, mass: np.ndarray | None, window: float, points: int) -> jax.Array:
    """Spread the values on the oversampled grid, in chunks of few fixed shapes."""
    size = next((c for c in _CHUNKS if c >= d.size), _CHUNKS[-1])
    grid = jax.device_put(np.zeros(2 * points))
    for start in range(0, d.size, size):
        chunk, held = d[start : start + size], None if mass is None else mass[start : start + size]
        if (missing := size - chunk.size) > 0:
            chunk = np.concatenate((chunk, np.zeros(missing)))
            held = None if held is None else np.concatenate((held, np.zeros(missing)))
        grid = _add(grid, chunk, min(size, d.size - start), 2 * points / window, held)
    return grid


@functools.partial(jax.jit, donate_argnums=0)
def _add(grid: jax.Array, d: jax.Array, count: jax.Array, cells: jax.Array, mass: Any = None) -> jax.Array:
    """Add the first ``count`` values of a chunk, ``mass`` times; the others are padding and weigh nothing."""
    position = d * cells + grid.shape[0] // 2
    first = jnp.ceil(position - _WIDTH / 2).astype(jnp.int32)
    x = (first[:, None] + jnp.arange(_WIDTH) - position[:, None]) * (2.0 / _WIDTH)
    kernel = jnp.exp(_STEEPNESS * (jnp.sqrt(jnp.maximum(1.0 - x * x, 0.0)) - 1.0))
    kernel = jnp.where(jnp.arange(d.shape[0])[:, None] < count, kernel, 0.0)
    kernel = kernel if mass is None else kernel * mass[:, None]
    rows = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
    )
    return lax.scatter_add(grid, first[:, None], kernel, rows, mode="promise_in_bounds")


@functools.partial(jax.jit, static_argnames="points")
def _spectrum(grid: jax.Array, n: jax.Array, *, points: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return phi and ``|phi^n| / (pi j)`` at j >= 1, and the sum of the latter above BAND."""
    z = jnp.fft.rfft(grid)[: points // 2 + 1] * _deconvolution(points)
    z = z[1:] / z[0].real
    modulus = jnp.exp(0.5 * n * jnp.log(jnp.maximum(z.real**2 + z.imag**2, 1e-300)))
    modulus = modulus / (np.pi * jnp.arange(1, points // 2 + 1))
    return z, modulus, jnp.sum(modulus[BAND:])


@functools.partial(jax.jit, static_argnames=("points", "smooth"))
def _invert(z: jax.Array, modulus: jax.Array, n: jax.Array, *, points: int, smooth: bool) -> jax.Array:
    """Return the distribution function of the sum less a ramp, from its mean onwards, cyclically."""
    last = BAND if smooth else points // 2
    kept = jnp.ones(last) if smooth else jnp.asarray(_smoothing(points)[1:])
    return _inverse(z[:last], modulus[:last] * kept, n, points)


def _inverse(z: jax.Array, modulus: jax.Array, n: jax.Array | float, points: int) -> jax.Array:
    modulus = modulus * (0.5 * points)
    angle = n * jnp.arctan2(z.imag, z.real)
    integral = lax.complex(modulus * jnp.sin(angle), -modulus * jnp.cos(angle))  # phi^n / (2 pi i j)
    return jnp.fft.irfft(jnp.concatenate((jnp.zeros(1, integral.dtype), integral)), points)


def mean_distributions(values: jax.Array, points: int = COARSE) -> GridLaw:
    """Return the exact bootstrap distributions of the means of ``values`` (..., n): traceable, in double precision.

    The method of :func:`mean_distribution` on one grid of ``points``: ``error_bound`` says what it comes to, below
    3.4e-3 at 32,768 points and 9e-4 at 131,072. Rows are independent of each other; a constant one is a point mass.
    Cost O(n + G log G) a row; memory 8 G bytes a row, and 40 G more for some rows at a time.
    """
    n = values.shape[-1]
    found = in_batches(functools.partial(_law, points=points), values.reshape(-1, n), 8)
    return jax.tree.map(lambda x: x.reshape(values.shape[:-1] + x.shape[1:]), found)


def _law(x: jax.Array, *, points: int) -> GridLaw:
    n = x.shape[0]
    low, high = jnp.min(x), jnp.max(x)
    varies = low < high
    exponent = jnp.frexp(jnp.maximum(high / 2 - low / 2, 1e-300))[1]
    scale = jnp.ldexp(1.0, jnp.minimum(exponent, 1000))
    atom, atom_mass = _atom(x)
    d = x / scale
    centre = jnp.mean(d)
    d = d - centre
    residue = jnp.mean(d)
    d = jnp.where(varies, d - residue, jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0))
    variance = jnp.mean(d * d)
    below, above = _half_width(n, variance, -jnp.min(d)), _half_width(n, variance, jnp.max(d))
    window = (below + above) * (1.0 + 32.0 / COARSE)
    step = window / points
    z, modulus, rest = _spectrum(_add(jnp.zeros(2 * points), d, n, 2 * points / window), n, points=points)
    smooth = rest < 0.01 * PROBABILITY_ERROR
    band = jnp.arange(1, points // 2 + 1) <= BAND
    periodic = _inverse(z, modulus * jnp.where(smooth, band, jnp.asarray(_smoothing(points)[1:])), n, points)
    origin = jnp.ceil(below / step).astype(jnp.int32) + 8
    cumulative = jnp.roll(periodic, origin)
    cumulative = lax.cummax(jnp.clip(cumulative + jnp.arange(points) / points - cumulative[0], 0.0, 1.0))
    steps = jnp.where(smooth, 2.0, RADIUS + 1.0)
    return GridLaw(
        centre=jnp.where(varies, (centre + residue) * scale, low),
        spread=jnp.where(varies, jnp.sqrt(variance / n) * scale, 0.0),
        error_bound=jnp.where(varies, steps * step / jnp.sqrt(n * variance), 0.0),
        probability_error=jnp.where(varies, PROBABILITY_ERROR, 0.0),
        low=low,
        high=high,
        step=jnp.where(varies, step * scale / n, 0.0),
        origin=origin,
        cumulative=cumulative,
        atom=atom,
        atom_mass=jnp.where(varies, atom_mass, 0.0),
        radius=(RADIUS + 1.0) * step * scale / n,
    )
