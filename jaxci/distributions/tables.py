"""Inverse distribution functions as tables: built on the host, read by JAX programs.

One draw costs two random words and a few look-ups, some 10 ns on a CPU core, whatever the law;
drawing a beta or gamma variate by rejection costs fifty times as much.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record

TAIL = 1e-13
"""Tail probability of the most extreme values that a table holds."""

_REACH = float(np.log(0.5 / TAIL))
_FEWEST, _MOST = 128, 8192
_AIM, _ENOUGH, _LIMIT = 1e-7, 1e-5, 1e-4


def float_type() -> Any:
    """Return JAX's default type of real numbers, which follows its 64-bit switch."""
    return jnp.result_type(float)


def tail_coordinate(key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
    """Draw n sides (n,) bool, True for upper, and standard exponential distances ``-log(2 p)`` (n,).

    Of 64 random bits, one is the side and the rest the probability p of the tail beyond, which
    keeps its relative precision down to 1e-19 also where numbers are of single precision.
    """
    dtype = float_type()
    word, rest = jax.random.bits(key, (2, n), jnp.uint32)
    whole = (word & jnp.uint32(0x7FFFFFFF)).astype(dtype)
    distance = -jnp.log((whole + (rest.astype(dtype) + 0.5) * 2.0**-32) * 2.0**-31)
    return (word >> 31).astype(bool), jnp.abs(distance)


@record
class QuantileTable:
    """Quantile function of a continuous law, by monotone cubic pieces in the tail coordinate.

    For each side and tail probability p the coordinate is the root of ``-log(2 p)``, so nodes at
    equal steps crowd near the median, where a density may vanish, and reach tail probabilities of
    1e-13; beyond, the outermost value stands.

    Attributes
    ----------
    values : (2 m + 1,) array
        Quantiles at the nodes.
    slopes : (2 m + 1,) array
        Their derivatives for one step.
    """

    values: Any
    slopes: Any

    @classmethod
    def of(cls, law: Any, name: str) -> QuantileTable:
        """Tabulate a continuous scipy.stats law; refined until its error in probability is 1e-7.

        An error of 1e-5 does where finer steps do not help: scipy's own quantiles are then the limit.

        Raises
        ------
        ValueError
            If the error stays above 1e-4.
        """
        size, before = _FEWEST, np.inf
        while True:
            table = cls._with_steps(law, size)
            error = table._error(law, size)
            stuck = error <= _ENOUGH and error > before / 4
            if error <= _AIM or stuck or size >= _MOST:
                break
            size, before = 2 * size, error
        if not error <= _LIMIT:
            raise ValueError(
                f"{name} cannot be drawn from: its quantile function is not accurate (error {error:.1g}); where its "
                "density jumps, as a histogram's does, give a Mixture of uniform laws"
            )
        return table

    @classmethod
    def _with_steps(cls, law: Any, size: int) -> QuantileTable:
        with np.errstate(all="ignore"):
            root = np.linspace(1, 0, size + 1)
            p = 0.5 * np.exp(-_REACH * root**2)
            lower, upper = law.ppf(p), law.isf(p[::-1])
            values = np.concatenate([lower, upper[1:]])
            finite = np.flatnonzero(np.isfinite(values))
            if len(finite) == 0:
                values = np.zeros_like(values)
            else:
                values[: finite[0]], values[finite[-1] :] = values[finite[0]], values[finite[-1]]
            values = np.maximum.accumulate(values)
            rise = np.diff(values)
            left, right = np.append(rise[0], rise), np.append(rise, rise[-1])
            pace = p * root * (2 * _REACH / size)
            slopes = np.concatenate([pace, pace[-2::-1]]) / law.pdf(values)
            harmonic = 2 * left * right / (left + right)
        slopes = np.where(np.isfinite(slopes), slopes, np.nan_to_num(harmonic))
        return cls(values, np.clip(slopes, 0, 3 * np.minimum(left, right)))

    def _error(self, law: Any, size: int) -> float:
        """Largest error in probability at the middle of the steps, relative in the tails.

        Less what the spacing of double-precision numbers leaves no choice about.
        """
        root = (np.arange(-size, size) + 0.5) / size
        p = 0.5 * np.exp(-_REACH * root**2)
        x = (self.values[:-1] + self.values[1:]) / 2 + (self.slopes[:-1] - self.slopes[1:]) / 8

        def tail(x: np.ndarray, lower: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                return np.where(lower, law.cdf(x), law.sf(x))

        off = np.abs(tail(x, root < 0) - p)
        far = np.flatnonzero((off > _AIM * p) & (p > 1e-10))
        sides = [tail(np.nextafter(x[far], end), root[far] < 0) for end in (-np.inf, np.inf)]
        off[far] = np.clip(np.maximum(np.min(sides, axis=0) - p[far], p[far] - np.max(sides, axis=0)), 0, None)
        return float(np.max(np.where(p > 1e-10, off / np.maximum(p, 1e-3), 0)))

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw n values (n,)."""
        values, slopes = (jnp.asarray(x, float_type()) for x in (self.values, self.slopes))
        size = (values.shape[0] - 1) // 2
        upper, distance = tail_coordinate(key, n)
        place = jnp.minimum(size * jnp.sqrt(distance / _REACH), size)
        step = jnp.minimum(place.astype(jnp.int32), size - 1)
        cell = jnp.where(upper, size + step, size - 1 - step)
        f = jnp.where(upper, place - step, 1 - (place - step))

        def read(x: jax.Array, offset: int) -> jax.Array:
            return x.at[cell + offset].get(mode="promise_in_bounds")

        a, b = read(values, 0), read(values, 1)
        bend = f * (1 - f) * ((1 - f) * read(slopes, 0) - f * read(slopes, 1))
        return jnp.clip(a + (b - a) * f * f * (3 - 2 * f) + bend, a, b)


@record
class AliasTable:
    """A law on the indices ``0..m-1``, drawn by the alias method: two random numbers, any m.

    Attributes
    ----------
    keep : (m,) array
        Probability with which a uniformly chosen index stands.
    other : (m,) int32
        The index taken instead.

    References
    ----------
    Vose (1991), A linear algorithm for generating random numbers with a given distribution.
    """

    keep: Any
    other: Any

    @classmethod
    def of(cls, masses: Any) -> AliasTable:
        """Build from probabilities (m,), given up to a factor."""
        masses = np.asarray(masses, np.float64)
        share = masses * (len(masses) / masses.sum())
        keep, other = np.ones(len(share)), np.arange(len(share), dtype=np.int32)
        short = np.flatnonzero(share < 1).tolist()
        long = np.flatnonzero(share >= 1).tolist()
        left = share.tolist()
        while short and long:
            low, high = short.pop(), long[-1]
            keep[low], other[low] = left[low], high
            left[high] -= 1 - left[low]
            if left[high] < 1:
                short.append(long.pop())
        return cls(keep, other)

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw n indices (n,) int32."""
        which, whether = jax.random.split(key)
        index = jax.random.randint(which, (n,), 0, len(self.keep), jnp.int32)
        u = jax.random.uniform(whether, (n,), float_type())
        keep, other = jnp.asarray(self.keep, float_type()), jnp.asarray(self.other)
        return jnp.where(u < keep[index], index, other[index])


@record
class Lattice:
    """A law on ``start, start + 1, ...``."""

    start: Any
    alias: AliasTable

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw n values (n,), real numbers."""
        return self.start + self.alias.draw(key, n).astype(float_type())


Table = QuantileTable | Lattice
