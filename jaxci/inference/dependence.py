"""How rows depend on each other in their order: what a statistic sees of them, and the blocks that keep it."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from jaxci.inference.replicate import deleted_values
from jaxci.inference.request import Entry, unit_program
from jaxci.inference.seasons import LEAST_ROWS, Season, same_season, without_season
from jaxci.inference.slopes import slopes
from jaxci.intervals.blocks import Dependence
from jaxci.intervals.kurtosis import KurtosisT, spread
from jaxci.resampling.blocks import optimal_block_lengths
from jaxci.resampling.kernels import stable_order
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.sample import Sample

STEEPEST = 0.97
"""Largest sum of the slopes of a row on those before."""
LEAST = {False: 0.25, True: 1.0}
"""Least share of what blocks show that the variance is taken for; all of it where slopes sum to more than that.

And where blocks are longer than the waves by which the variance is estimated: these do not see what changes so slowly.
"""
FURTHEST, STANDS_OUT = 31, 1.2
"""How far back a row may depend on another, and how much more alike they are than the most alike ones of noise."""
CYCLE = -0.5
"""Largest slope on the row before the last by which rows may go in cycles, whose roots have a modulus of .7 or more."""
MOST_ALIKE, FEWEST_DEGREES = 0.25, 3.0
"""Largest share of the rows that count as one, and fewest degrees of freedom, where a range has one end.

There a variance that is far too large would not add to an interval but multiply its end.
"""
MOST_LEFT_OUT = 5000
"""Up to so many rows a statistic without derivatives is computed without each."""


def block_length(series: np.ndarray, resampling: str) -> float:
    """Estimate the length of blocks for one statistic from the :func:`influence` of the rows in their order."""
    found = optimal_block_lengths(series)
    return found.stationary if resampling == "stationary" else float(np.ceil(found.circular))


def dependence(series: np.ndarray, length: float, resampling: str, *, one_end: bool = False) -> Dependence:
    """Compare the long-run variance of the :func:`influence` of rows (n,) with that which blocks show.

    Where the range of the statistic has ``one_end`` it is held by :data:`MOST_ALIKE` and :data:`FEWEST_DEGREES`.
    """
    apart = series - series.mean()
    degrees = max(2, int(0.4 * len(series) ** (2 / 3)))
    largest = np.abs(apart).max()
    if len(series) < 8 or not largest > 1e-12 * np.abs(series).max():
        return Dependence(float(np.cbrt(len(series))), degrees, 1.0, degrees)
    apart = apart / largest
    season = _fixed_season(apart)
    found, steep = _long_run(season.left, degrees)
    of_left = _of_blocks(season.left, length, resampling)
    found = max(found, LEAST[steep or length * degrees > len(apart)] * of_left) + season.variance
    variance = float(apart @ apart / len(apart))
    if one_end:
        found = min(found, MOST_ALIKE * len(apart) * variance)
    effect = found / variance
    alone = float(spread(apart, KurtosisT().mass).degrees_of_freedom)
    few = max(effect, 1.0) * max(1 / alone - 1 / len(apart), 0.0)  # beyond what normal values, which the waves take, do
    of_blocks = _of_blocks(apart, length, resampling) if season.waves else of_left
    ratio = float(np.sqrt(found / of_blocks)) if of_blocks > 0 else 1.0
    least = min(FEWEST_DEGREES, degrees) if one_end else 1.0
    return Dependence(effect, degrees, ratio, max(least, 1 / (1 / degrees + few)), steep)


def _fixed_season(apart: np.ndarray) -> Season:
    """Return a series without waves that stay, and the series where rows of a season depend on each other beside them.

    Such a season changes, and its waves are part of what varies in the long run. Waves that are taken out leave rows a
    whole season apart less alike by as many shares of 1/n as numbers were fitted, which is put back (Kendall 1954).
    """
    season, n = without_season(apart), len(apart)
    if not season.waves:
        return season
    alike = _alike(_autoregression(season.left, (1,))[1], n // 5) + (1 + 2 * season.waves) / n
    changes = _standing_out(np.where(same_season(season.frequency, np.arange(len(alike))), alike, 0.0), n)
    return Season(apart) if changes else season


def _long_run(apart: np.ndarray, degrees: int) -> tuple[float, bool]:
    """Return the long-run variance of a series with mean 0, as that of an autoregression's own noise.

    A row depends on the one before and, where what is left tells so, on one further back and the one before that; or
    on the two before, where rows go in cycles and these leave less noise. Also returned is whether slopes sum to more
    than :data:`STEEPEST`, as those of smooth series do.
    """
    slope, noise, steep = _autoregression(apart, (1,))
    cycle = None if steep else _cycle(apart)
    further = _further_back(noise)
    if further:
        slope, noise, steep = _autoregression(apart, (1, further, further + 1))
    if cycle and np.mean(cycle[1] ** 2) < np.mean(noise**2):
        (slope, noise), steep = cycle, False
    waves = dct(noise - noise.mean(), norm="ortho")[1 : degrees + 1]
    return float(np.mean(waves**2)) / (1 - slope) ** 2, steep


def _cycle(apart: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Return the sum of the slopes on the two rows before, and the noise; None where these do not tell of a cycle.

    In a cycle that is not smooth slopes have complex roots. Their correction is that of Shaman and Stine (1988).
    """
    n = len(apart)
    if n < LEAST_ROWS:
        return None
    before = np.stack([apart[1:-1], apart[:-2]], axis=1)
    slopes = np.linalg.lstsq(before, apart[2:], rcond=None)[0]
    one, two = map(float, slopes)
    if two > CYCLE or one**2 + 4 * two >= 0 or one + two > STEEPEST:
        return None
    return min(one + two + (3 + one + 5 * two) / n, STEEPEST), apart[2:] - before @ slopes


def _autoregression(apart: np.ndarray, lags: tuple[int, ...]) -> tuple[float, np.ndarray, bool]:
    """Return the sum of the slopes on rows so many before, the first with Kendall's correction, and the noise.

    Slopes that sum to more than :data:`STEEPEST` are made smaller: no more is taken off the series than is put back.
    """
    n, start = len(apart), lags[-1]
    before = np.stack([apart[start - lag : n - lag] for lag in lags], axis=1)
    slopes = np.linalg.lstsq(before, apart[start:], rcond=None)[0]
    steep = bool(slopes.sum() > STEEPEST)
    if steep:
        slopes *= STEEPEST / slopes.sum()
    total = float(np.clip(slopes.sum() + (1 + 3 * slopes[0]) / n, -STEEPEST, STEEPEST))
    return total, apart[start:] - before @ slopes, steep


def _further_back(noise: np.ndarray) -> int:
    """Return the lag at which noise is most alike, as those of the same weekday; 0 where none stands out.

    Up to a fifth of the rows, and :data:`FURTHEST`. Of independent rows some lag stands out in 2% to 4% of data sets.
    """
    last = min(len(noise) // 5, FURTHEST)
    return _standing_out(_alike(noise, last), len(noise)) if last >= 2 else 0


def _alike(noise: np.ndarray, last: int) -> np.ndarray:
    """Return the autocorrelations at the lags from 0 to the last."""
    n, apart = len(noise), noise - noise.mean()
    alike = np.fft.irfft(np.abs(np.fft.rfft(apart, 2 * n)) ** 2)[: last + 1]
    return np.asarray(alike / max(alike[0], np.finfo(float).tiny) * n / (n - np.arange(last + 1)))


def _standing_out(alike: np.ndarray, n: int) -> int:
    """Return the lag of 2 or more at which n rows are most alike; 0 where noise would be as much."""
    lag = 2 + int(np.argmax(alike[2:]))
    return lag if alike[lag] > STANDS_OUT * np.sqrt(2 * np.log(len(alike) - 1) / n) else 0


def _of_blocks(apart: np.ndarray, length: float, resampling: str) -> float:
    """Return the variance of a mean over blocks, times n (Politis and Romano, 1994, lemma 1, of stationary ones)."""
    n = len(apart)
    k = np.arange(1, n)
    covariance = np.fft.irfft(np.abs(np.fft.rfft(apart)) ** 2, n) / n  # on the circle of rows
    kept = (1 - k / n) * (1 - 1 / length) ** k if resampling == "stationary" else np.maximum(1 - k / length, 0)
    return float(covariance[0] + 2 * kept @ covariance[1:])


def influence(entry: Entry, sample: Sample, layout: Layout) -> np.ndarray:
    """Return what each row (n,) adds to a statistic: derivatives in the weights, or values without the row, negative.

    Raises
    ------
    ValueError
        If the statistic would have to be computed without each of more than :data:`MOST_LEFT_OUT` rows.
    """
    statistic = entry.statistic
    if isinstance(statistic, QuantileStatistic):
        return -_values_without(statistic, sample)
    if statistic.smooth and not entry.on_host:
        return np.asarray(slopes(unit_program([entry], layout, exchangeable=False))[1])[0, : layout.n]
    if layout.n > MOST_LEFT_OUT:
        raise ValueError(
            f"block_length must be a number for {entry.request.name!r}, which has no derivatives, of more than "
            f"{MOST_LEFT_OUT} rows; got 'auto'"
        )
    if isinstance(statistic, HostFunction):
        return -np.array([statistic.value(entry.prepared, row) for row in 1.0 - np.eye(layout.n)])
    if isinstance(statistic, OrderStatistic):
        return -_values_without(statistic, sample)
    return -deleted_values(unit_program([entry], layout, exchangeable=False), np.arange(layout.n)[:, None])[0]


def _values_without(statistic: OrderStatistic, sample: Sample) -> np.ndarray:
    """Return the value of a statistic without each row (n,)."""
    values = statistic.ordered_values(sample)
    order = stable_order(values)
    found, multiplicity = statistic.left_out(values[order])
    without = np.empty(len(values))
    without[order] = np.repeat(np.asarray(found), np.asarray(multiplicity, int))
    return without
