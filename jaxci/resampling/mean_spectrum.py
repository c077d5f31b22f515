"""Numerics of the bootstrap law of a mean: from values to their characteristic function, and back to a grid.

See :mod:`jaxci.resampling.exact_mean` for what is computed so, and why.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxci.special import namespace

BAND = 1 << 11
"""Frequencies kept when the law is smooth."""
RADIUS = 4.0
"""Half width in grid steps of the density that smooths an atomic law."""
TAIL = 1e-9
"""Mass allowed outside the window on each side."""

_WIDTH = 14  # grid cells under the spreading kernel: relative error about 1e-13
_STEEPNESS = 2.3 * _WIDTH
_CHUNKS = (1 << 10, 1 << 13, 1 << 16)


def without_atoms(cumulative: Any, places: Any, masses: Any) -> Any:
    """Return a smoothed distribution function (G,) on a grid less atoms (A,) at ``places`` in grid steps.

    Each is taken out smoothed as the law is.
    """
    xp = namespace(cumulative)
    if masses.shape[-1] == 0:
        found = xp.minimum(xp.maximum(cumulative, 0.0), 1.0)
        return np.maximum.accumulate(found) if xp is np else lax.cummax(found)
    nodes, share = smoothed_step()
    size, reach = cumulative.shape[-1], math.ceil(RADIUS)
    places = xp.clip(places, -reach, size + reach)
    first = xp.floor(places).astype(np.int32)[:, None] + np.arange(-reach, reach + 2)
    through = masses[:, None] * xp.interp(first - places[:, None], nodes, share)
    rises = xp.concatenate([through[:, :1], xp.diff(through, axis=1)], axis=1)
    first = xp.clip(first, 0, size - 1)
    taken = np.bincount(first.ravel(), rises.ravel(), size) if xp is np else xp.zeros(size).at[first].add(rises)
    left = xp.maximum(1.0 - xp.sum(masses), 0.0)
    found = xp.clip(cumulative - xp.cumsum(taken), 0.0, left)
    return np.maximum.accumulate(found) if xp is np else lax.cummax(found)


@functools.lru_cache(maxsize=1)
def smoothed_step() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes over ``[-RADIUS, RADIUS]`` and the mass through each of the density whose transform smooths."""
    nodes = np.linspace(-RADIUS, RADIUS, 4001)
    density = np.i0(np.pi * RADIUS * np.sqrt(1.0 - (nodes / RADIUS) ** 2))
    through = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return nodes, through / through[-1]


def half_width(n: float, variance: Any, largest: Any) -> Any:
    """Return x with ``P(S >= x) <= TAIL`` by Bennett's inequality, never beyond ``n * largest``."""
    xp = namespace(variance)
    rate = -math.log(TAIL) * largest * largest / (n * variance)
    u = xp.sqrt(2.0 * rate) + rate / 3.0  # from below; h is convex, so Newton ends above the root
    for _ in range(20):
        u = u + (rate - ((1.0 + u) * xp.log1p(u) - u)) / xp.log1p(u)
    return xp.minimum(u * n * variance / largest, n * largest)


@functools.lru_cache(maxsize=4)
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


@functools.lru_cache(maxsize=4)
def _smoothing(points: int) -> np.ndarray:
    """Return the transform of the Kaiser-Bessel density on ``[-RADIUS, RADIUS]`` steps of a grid of ``points``.

    Its main lobe ends at the last frequency of the grid; what is cut off changes the
    distribution function by at most 7e-7 of an atom's mass.
    """
    beta = np.pi * RADIUS
    root = beta * np.sqrt(1.0 - (np.arange(points // 2 + 1) / (points // 2)) ** 2)
    ratio = np.divide(np.sinh(root), root, out=np.ones_like(root), where=root > 0)
    return ratio * beta / np.sinh(beta)


def spread_values(d: np.ndarray, mass: np.ndarray | None, window: float, points: int) -> jax.Array:
    """Spread the values on the oversampled grid, in chunks of few fixed shapes."""
    size = next((c for c in _CHUNKS if c >= d.size), _CHUNKS[-1])
    grid = jax.device_put(np.zeros(2 * points))
    for start in range(0, d.size, size):
        chunk, held = d[start : start + size], None if mass is None else mass[start : start + size]
        if (missing := size - chunk.size) > 0:
            chunk = np.concatenate((chunk, np.zeros(missing)))
            held = None if held is None else np.concatenate((held, np.zeros(missing)))
        grid = add_values(grid, chunk, min(size, d.size - start), 2 * points / window, held)
    return grid


@functools.partial(jax.jit, donate_argnums=0)
def add_values(grid: jax.Array, d: jax.Array, count: jax.Array, cells: jax.Array, mass: Any = None) -> jax.Array:
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
def spectrum_of(grid: jax.Array, n: jax.Array, *, points: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return phi and ``|phi^n| / (pi j)`` at j >= 1, and the sum of the latter above BAND."""
    z = jnp.fft.rfft(grid)[: points // 2 + 1] * _deconvolution(points)
    z = z[1:] / z[0].real
    modulus = jnp.exp(0.5 * n * jnp.log(jnp.maximum(z.real**2 + z.imag**2, 1e-300)))
    modulus = modulus / (np.pi * jnp.arange(1, points // 2 + 1))
    return z, modulus, jnp.sum(modulus[BAND:])


def kept(modulus: jax.Array, points: int, smooth: Any) -> jax.Array:
    """Return ``modulus`` at the frequencies of a smooth law, 0 beyond, or that of the filtered law."""
    band = jnp.arange(1, points // 2 + 1) <= BAND
    return modulus * jnp.where(smooth, band, jnp.asarray(_smoothing(points)[1:]))


@functools.partial(jax.jit, static_argnames="last")
def read_at(z: jax.Array, modulus: jax.Array, n: Any, ends: tuple[Any, Any], window: Any, *, last: int) -> jax.Array:
    """Return the distribution function of the sum at the first of two ``ends``, 0 at the second.

    Summed over the first ``last`` frequencies.
    """
    z, modulus = z[:last], modulus[:last]
    angle, turn = n * jnp.arctan2(z.imag, z.real), 2 * np.pi / window * jnp.arange(1, last + 1)
    at, edge = (jnp.sum(modulus * jnp.sin(angle + turn * end)) for end in ends)
    return at - edge + (ends[0] - ends[1]) / window


@functools.partial(jax.jit, static_argnames=("points", "smooth"))
def inverted(z: jax.Array, modulus: jax.Array, n: jax.Array, *, points: int, smooth: bool) -> jax.Array:
    """Return the distribution function of the sum less a ramp, from its mean onwards, cyclically."""
    last = BAND if smooth else points // 2
    return inverse(z[:last], kept(modulus, points, smooth)[:last], n, points)


def inverse(z: jax.Array, modulus: jax.Array, n: jax.Array | float, points: int) -> jax.Array:
    """Return what :func:`inverted` does, of a modulus that is filtered already."""
    modulus = modulus * (0.5 * points)
    angle = n * jnp.arctan2(z.imag, z.real)
    integral = lax.complex(modulus * jnp.sin(angle), -modulus * jnp.cos(angle))  # phi^n / (2 pi i j)
    return jnp.fft.irfft(jnp.concatenate((jnp.zeros(1, integral.dtype), integral)), points)
