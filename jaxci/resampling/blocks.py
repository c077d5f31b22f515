"""Resamples of rows in their order: blocks of neighbours, for data that depend on each other over time.

A resample is a sequence of blocks cut to n rows, so that what lies within a block depends on each other as in the
data. Of statistics that take weights the order within a resample does not matter: a bank still holds counts.
"""

from __future__ import annotations

import abc
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxci.records import record, static
from jaxci.resampling.bank import Scheme, replicate_keys, replicate_keys_of
from jaxci.resampling.kernels import count_rows
from jaxci.resampling.words import random_words, scaled_words
from jaxci.statistics.sums import padded

_STARTS, _ENDS = 0, 1


@record
class Blocks(Scheme):
    """Blocks of ``length`` rows, on average, of ``n``."""

    n: int
    length: float
    capacity: int = static()

    @classmethod
    def of(cls, n: int, length: float) -> Blocks:
        """Build for ``n`` rows and blocks of ``length``."""
        return cls(np.int32(n), cls.rounded(length), padded(n))  # type: ignore[arg-type]

    @staticmethod
    def rounded(length: float) -> np.generic:
        """Return the length as it is used."""
        return np.int32(math.ceil(length))

    @property
    def n_units(self) -> int:
        """Padded number of rows."""
        return self.capacity

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of counts (B, U)."""
        return count_rows(self.rows(key, ids), self.capacity, jnp.arange(self.capacity, dtype=jnp.int32) < self.n)

    def rows(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return the numbers of the rows that resamples hold, (B, U), of which the first n count."""
        keys = replicate_keys(key, ids)
        words, ends = (
            random_words(replicate_keys_of(keys, purpose), self.capacity)
            for purpose in (jnp.int32(_STARTS), jnp.int32(_ENDS))
        )
        return jax.vmap(self.drawn)(words, ends)

    @abc.abstractmethod
    def drawn(self, words: jax.Array, ends: jax.Array) -> jax.Array:
        """Return row numbers (U,) of one resample from words (U,) that say where blocks start, and where they end."""

    def _fixed(self, words: jax.Array, starts: jax.Array) -> jax.Array:
        """Return the rows of blocks that start at one of ``starts`` rows."""
        place = jnp.arange(self.capacity, dtype=jnp.int32)
        length = jnp.asarray(self.length)
        return scaled_words(words[place // length], starts) + place % length


@record
class MovingBlocks(Blocks):
    """Blocks of ``length`` rows that start at any row but the last ones (Kuensch, 1989; Liu and Singh, 1992)."""

    def drawn(self, words: jax.Array, ends: jax.Array) -> jax.Array:
        """Return row numbers (U,)."""
        return self._fixed(words, jnp.asarray(self.n) - jnp.asarray(self.length) + 1)


@record
class CircularBlocks(Blocks):
    """Blocks of ``length`` rows that start at any row, the first row following the last (Politis and Romano, 1992)."""

    def drawn(self, words: jax.Array, ends: jax.Array) -> jax.Array:
        """Return row numbers (U,)."""
        return self._fixed(words, jnp.asarray(self.n)) % jnp.asarray(self.n)


@record
class StationaryBlocks(Blocks):
    """Blocks of geometric lengths with mean ``length``, on the circle of rows (Politis and Romano, 1994).

    After every row a new block starts with probability ``1 / length``, so that resamples are stationary.
    """

    @staticmethod
    def rounded(length: float) -> np.generic:
        """Return the length as it is."""
        return np.float32(length)

    def drawn(self, words: jax.Array, ends: jax.Array) -> jax.Array:
        """Return row numbers (U,)."""
        place = jnp.arange(self.capacity, dtype=jnp.int32)
        short = (ends >> 8).astype(jnp.float32) * jnp.float32(2**-24) < 1 / jnp.asarray(self.length)
        begun = jax.lax.cummax(jnp.where(short | (place == 0), place, 0))
        return (scaled_words(words, jnp.asarray(self.n))[begun] + place - begun) % jnp.asarray(self.n)


class BlockLengths(NamedTuple):
    """Lengths of blocks: the mean of the stationary bootstrap's, and the circular one's (and of moving blocks)."""

    stationary: float
    circular: float


def optimal_block_lengths(series: ArrayLike) -> BlockLengths:
    r"""Estimate the lengths of blocks at which the variance of a mean is estimated best.

    :math:`(2 G^2 / D)^{1/3} n^{1/3}` with :math:`G = \sum_k \lambda(k / M) |k| R(k)`,
    :math:`g = \sum_k \lambda(k / M) R(k)`, ``D = 2 g^2`` for the stationary and ``4/3 g^2`` for the circular bootstrap,
    autocovariances R(k) and the window :math:`\lambda(t) = \min(1, 2 (1 - |t|))`. M is twice the first lag
    from which five autocorrelations lie within :math:`\pm 2 \sqrt{\log_{10}(n) / n}`.

    Parameters
    ----------
    series : (n,) array_like
        Values in the order of time, or a statistic's derivatives in the weights of the rows.

    Returns
    -------
    BlockLengths
        At least 1, at most ``min(3 sqrt(n), n / 3)`` rounded up; 1 for a constant series. Of fewer than 8 values, too.

    References
    ----------
    Politis & White, Econometric Reviews 23 (2004), section 3; D as corrected by Patton, Politis & White, ibid. 28
    (2009), eqs. (1) and (2).

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=500)
    >>> [round(length, 1) for length in optimal_block_lengths(np.convolve(noise, np.ones(5) / 5, "valid"))]
    [11.1, 12.7]
    """
    x = np.asarray(series, dtype=np.float64)
    n = x.size
    apart = x - x.mean()
    if n < 8 or not np.ptp(x) > 0:
        return BlockLengths(1.0, 1.0)
    longest = math.ceil(min(3 * math.sqrt(n), n / 3))
    run = max(5, math.ceil(math.sqrt(math.log10(n))))
    most = min(math.ceil(math.sqrt(n)) + run, n - 1)
    spectrum = np.fft.rfft(apart / np.abs(apart).max(), 2 * n)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[: most + 1] / n
    within = np.abs(covariance / covariance[0]) < 2 * math.sqrt(math.log10(n) / n)
    quiet = (lag for lag in range(1, most - run + 2) if within[lag : lag + run].all())
    window = min(2 * next(quiet, most), most)
    k = np.arange(1, window + 1)
    kept = np.minimum(1.0, 2 * (1 - k / window)) * covariance[1 : window + 1]
    moment, level = 2 * float(kept @ k), float(covariance[0] + 2 * kept.sum())
    if level == 0:
        return BlockLengths(float(longest), float(longest))

    def length(constant: float) -> float:
        return min(max((2 * moment**2 / (constant * level**2) * n) ** (1 / 3), 1.0), float(longest))

    return BlockLengths(length(2.0), length(4 / 3))
