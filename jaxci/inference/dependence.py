"""How rows depend on each other in their order: what a statistic sees of them, and the blocks that keep it."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from jaxci.inference.replicate import deleted_values
from jaxci.inference.request import Entry, unit_program
from jaxci.inference.slopes import slopes
from jaxci.intervals.blocks import Dependence
from jaxci.resampling.blocks import optimal_block_lengths
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.sample import Sample

STEEPEST = 0.97
"""Largest slope of a row on the one before."""
MOST_LEFT_OUT = 5000
"""Up to so many rows a statistic without derivatives is computed without each."""


def block_length(series: np.ndarray, resampling: str) -> float:
    """Estimate the length of blocks for one statistic from the :func:`influence` of the rows in their order."""
    found = optimal_block_lengths(series)
    return found.stationary if resampling == "stationary" else float(np.ceil(found.circular))


def dependence(series: np.ndarray, length: float, resampling: str) -> Dependence:
    """Compare the long-run variance of the :func:`influence` of rows (n,) with that which blocks show."""
    apart = series - series.mean()
    degrees = max(2, int(0.4 * len(series) ** (2 / 3)))
    largest = np.abs(apart).max()
    if len(series) < 8 or not largest > 1e-12 * np.abs(series).max():
        return Dependence(float(np.cbrt(len(series))), degrees, 1.0)
    apart = apart / largest
    found, of_blocks = _long_run(apart, degrees), _of_blocks(apart, length, resampling)
    return Dependence(found / float(apart @ apart / len(apart)), degrees, float(np.sqrt(found / of_blocks)))


def _long_run(apart: np.ndarray, degrees: int) -> float:
    """Return the long-run variance of a series with mean 0, as that of an autoregression's own noise."""
    n = len(apart)
    slope = float(apart[1:] @ apart[:-1] / (apart[:-1] @ apart[:-1]))
    slope = float(np.clip(slope + (1 + 3 * slope) / n, -STEEPEST, STEEPEST))
    noise = apart[1:] - slope * apart[:-1]
    waves = dct(noise - noise.mean(), norm="ortho")[1 : degrees + 1]
    return float(np.mean(waves**2)) / (1 - slope) ** 2


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
    order = np.argsort(values, kind="stable")
    found, multiplicity = statistic.left_out(values[order])
    without = np.empty(len(values))
    without[order] = np.repeat(np.asarray(found), np.asarray(multiplicity, int))
    return without
