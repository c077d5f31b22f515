"""The few frequencies of a smooth law of a mean, and that there are no others: on the host.

With continuous data ``|phi| ** n`` is nothing from some dozens of frequencies on. That has to be known up to the last
frequency of the grid, but a bound will do there, and one for several frequencies. ``|phi| ** 2`` is a mean of cosines
of t times the difference of two values, so that its second derivative is at most twice the variance: between two
frequencies it is at most the larger of both plus ``spacing ** 2 * variance / 4``. At frequencies some way apart phi is
that of the values on a circle; values that are shared out between the points of a grid on either side move it by no
more than an eighth of the square of the phase between these points. The few frequencies that are left are summed value
by value.

See :mod:`jaxci.resampling.exact_mean` for the law.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import fft

APART = 16
"""Frequencies from one that is looked at to the next, at most."""
GAP = 0.05
"""Bound on what those between add to the square of the modulus."""
FINE = 8
"""Points of the circle for each frequency that is looked at."""
MOST = 128
"""Most frequencies that are summed value by value."""
LEAST_DRAWS = 24
"""Of fewer draws a law is not smooth: ``|phi| ** n`` stays above 1e-8 somewhere on a grid."""
CHUNK = 1 << 12
"""Values whose waves are held at a time."""
INTERPOLATION = 1e-10
"""Bound on the error in probability of a cubic between the points of a grid."""


class Band(NamedTuple):
    """A distribution function less a ramp, by its frequencies 1 to K: ``phi^n / (2 pi i j)`` (K,)."""

    waves: np.ndarray

    def points(self, most: int) -> int:
        """Return a power of two of grid points, between which the distribution function is a cubic."""
        turns = 2 * np.pi * np.arange(1, self.waves.size + 1)
        fourth = 2 * float(np.abs(self.waves) @ turns**4) * 9 / 384  # of the cubic through four points, amid them
        size = max(1024, 4 * self.waves.size, (fourth / INTERPOLATION) ** 0.25)
        return min(most, 1 << math.ceil(math.log2(size)))

    def inverted(self, points: int) -> np.ndarray:
        """Return it at ``points`` from the mean onwards, cyclically."""
        return fft.irfft(np.concatenate((np.zeros(1), self.waves)), points, norm="forward")

    def between(self, low: float, high: float, window: float) -> float:
        """Return the probability of a sum of deviations from ``low`` to ``high``."""
        turn = 2j * np.pi / window * np.arange(1, self.waves.size + 1)
        return 2 * float((self.waves @ (np.exp(turn * high) - np.exp(turn * low))).real) + (high - low) / window


def band_of(
    d: np.ndarray, mass: np.ndarray | None, n: int, variance: float, window: float, points: int, outside: float
) -> Band | None:
    """Return the frequencies of the sum of n draws from ``d``, or None unless they are few.

    Parameters
    ----------
    d : (m,) array
        Deviations of the values from their mean.
    mass : (m,) array or None
        How many times each occurs.
    n : int
        Draws: the sum of those.
    variance : float
        Of one draw.
    window : float
        Width that holds the sum.
    points : int
        Points of the grid whose frequencies are looked at.
    outside : float
        Bound on the error in probability by the frequencies left out.

    Returns
    -------
    Band or None
    """
    last = _last(d, mass, n, variance, window, points, outside) if n >= LEAST_DRAWS else MOST + 1
    if last > MOST:
        return None
    phi = _transform(d, mass, 2 * np.pi / window, last) / n
    modulus = np.exp(0.5 * n * np.log(np.maximum(phi.real**2 + phi.imag**2, 1e-300)))
    modulus /= 2 * np.pi * np.arange(1, last + 1)
    angle = n * np.arctan2(phi.imag, phi.real)
    return Band(modulus * np.sin(angle) - 1j * (modulus * np.cos(angle)))


def _last(
    d: np.ndarray, mass: np.ndarray | None, n: int, variance: float, window: float, points: int, outside: float
) -> int:
    """Return a frequency beyond which ``|phi^n| / (pi j)`` sums to ``outside`` at most, or one too many."""
    apart, unit = APART, variance * (np.pi / window) ** 2
    while apart > 1 and unit * apart**2 > GAP:
        apart //= 2
    looked_at = points // 2 // apart
    size = FINE * looked_at
    place = d * (size * apart / window)
    cell = np.floor(place)
    share = place - cell
    share = share if mass is None else share * mass
    cell = cell.astype(np.int64) & (size - 1)
    right = np.bincount(cell, share, size)
    circle = np.bincount(cell, mass, size) - right
    circle[1:] += right[:-1]
    circle[0] += right[-1]
    found = fft.rfft(circle)[1 : looked_at + 1]
    modulus = np.abs(found) / n + (2 * np.pi / size * np.arange(1, looked_at + 1)) ** 2 / 8
    square = np.maximum(modulus[:-1], modulus[1:]) ** 2 + unit * apart**2
    blocks = np.exp(0.5 * n * np.log(np.minimum(square, 1.0))) / (np.pi * np.arange(1, looked_at))  # each to the next
    rest = np.cumsum(blocks[::-1])[::-1]
    few = np.flatnonzero(rest[: MOST // apart] <= outside)
    return apart * (int(few[0]) + 1) if few.size else MOST + 1


def _transform(d: np.ndarray, mass: np.ndarray | None, t: float, last: int) -> np.ndarray:
    """Return ``sum_i exp(-i j t d_i)`` at j from 1 to ``last``: one product of few powers and powers of the highest."""
    few = 8 if last <= 64 else 16
    steps = -(-last // few)
    found = np.zeros((steps, few), complex)
    for start in range(0, d.size, CHUNK):
        phase = -t * d[start : start + CHUNK]
        low = _powers(np.exp(1j * phase), few)
        high = np.concatenate((np.ones((1, phase.size)), _powers(low[-1], steps - 1)))
        found += (high if mass is None else high * mass[start : start + CHUNK]) @ low.T
    return found.ravel()[:last]


def _powers(z: np.ndarray, count: int) -> np.ndarray:
    """Return ``z`` (m,) to the powers 1 to ``count``, in rows."""
    rows = np.empty((count, z.size), complex)
    rows[:1] = z
    done = 1
    while done < count:
        more = min(done, count - done)
        np.multiply(rows[:more], rows[done - 1], out=rows[done : done + more])
        done += more
    return rows
