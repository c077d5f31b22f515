"""Fixed seasons of a series: waves of one frequency each, which add next to nothing to the variance of its mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

LEAST_ROWS, LEAST_SEASONS = 100, 5
"""Rows, and periods of a wave in them, of which it is looked for: fewer do not tell it from a season that changes."""
MOST_WAVES = 8
"""Waves that are taken out at most."""
FALSE_WAVES = 0.01
"""Share of data sets of noise in which a wave would be found, were the power around it known: it is in 2% to 3%."""
NEIGHBOURS = 15
"""Frequencies up to one, and from it on, whose median power is what there is without a wave."""
IN_STEP = 0.7
"""Least cosine of the strongest wave at a lag for rows so far apart to be of the same season."""


class Season(NamedTuple):
    """A series without its waves, the long-run variance that these add, the strongest frequency and their number."""

    left: np.ndarray
    variance: float = 0.0
    frequency: float = 0.0
    waves: int = 0


def without_season(apart: np.ndarray) -> Season:
    """Take the waves out of a series with mean 0 whose power stands out from that of the frequencies around.

    Of a stationary series with waves of amplitudes A and frequencies f, whose phases are random, the mean over n rows
    has the variance of what is left, and that of the waves, ``A^2 / 2 (sin(pi f n) / (n sin(pi f)))^2`` each: 0 over
    whole seasons. ``A^2 / 2`` is the mean square of the wave as fitted.

    References
    ----------
    .. [1] Priestley (1981), Spectral analysis and time series, sections 6.1.4 and 8.3, on mixed spectra.
    """
    n, left = len(apart), apart
    frequencies: list[float] = []
    powers = np.zeros(0)
    while n >= LEAST_ROWS and len(frequencies) < MOST_WAVES and (near := _standing_out(left)):
        frequencies.append(_refined(left, near))
        angles = 2 * np.pi * np.outer(np.arange(n), frequencies)
        waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        waves -= waves.mean(axis=0)
        fitted = waves * np.linalg.lstsq(waves.T @ waves, waves.T @ apart, rcond=1e-9)[0]
        both = fitted[:, : len(frequencies)] + fitted[:, len(frequencies) :]
        left, powers = apart - both.sum(axis=1), (both**2).mean(axis=0)  # coefficients near the end may be any
    if not frequencies or not np.abs(left).max() > 1e-6 * np.abs(apart).max():  # rows that only repeat tell nothing
        return Season(apart)
    f = np.array(frequencies)
    of_mean = powers * (np.sin(np.pi * f * n) / (n * np.sin(np.pi * f))) ** 2
    return Season(left, n * float(of_mean.sum()), float(f[np.argmax(powers)]), len(f))


def same_season(frequency: float, lags: np.ndarray) -> np.ndarray:
    """Return which lags are about whole periods of a wave."""
    return np.asarray(np.cos(2 * np.pi * frequency * lags) > IN_STEP)


def _standing_out(series: np.ndarray) -> float:
    """Return the frequency at which the power stands out most from that on both sides; 0 where none does."""
    if not series.any():
        return 0.0
    slope = float(series[1:] @ series[:-1] / (series @ series))
    noise = series[1:] - slope * series[:-1]
    n = len(noise)
    power = np.abs(np.fft.rfft(noise - noise.mean()))[1:] ** 2
    aside = NEIGHBOURS // 2
    sides = [
        scipy.ndimage.median_filter(power, NEIGHBOURS, mode="reflect", origin=origin) for origin in (aside, -aside)
    ]
    beside = np.maximum(*sides) / np.log(2)
    out = power / np.maximum(beside, np.finfo(float).tiny)
    out[: LEAST_SEASONS - 1] = 0
    most = int(np.argmax(out))
    return (most + 1) / n if out[most] > np.log(n / 2 / FALSE_WAVES) else 0.0


def _refined(series: np.ndarray, near: float) -> float:
    """Return the frequency of the largest power near one of the grid."""
    n = len(series)
    rows = np.arange(n)

    def lack(frequency: float) -> float:
        return -float(np.abs(series @ np.exp(-2j * np.pi * frequency * rows)))

    ends = (near - 0.6 / n, min(near + 0.6 / n, 0.5))
    return float(scipy.optimize.minimize_scalar(lack, bounds=ends, method="bounded", options={"xatol": 1e-4 / n}).x)
