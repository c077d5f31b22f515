"""Banks of resamples: rows of counts (or weights) over the units that are resampled.

A scheme draws ``counts(keys)``, one row a key, over a padded number of units; units beyond
the real number always get zero. The key of a replicate is folded from its global number
(:func:`replicate_keys`), so neither chunk size nor padding changes a draw.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.kernels import count_rows
from jaxci.resampling.multinomial import multinomial
from jaxci.resampling.multinomial_rows import LEAST, multinomial_rows, poisson_bounds
from jaxci.resampling.words import random_words, scaled_words
from jaxci.statistics.sums import padded


def replicate_keys(key: jax.Array, ids: jax.Array) -> jax.Array:
    """Fold the global replicate numbers ``ids`` (B,) into ``key``."""
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(ids)


class Scheme(abc.ABC):
    """How rows of a bank are drawn. Leaves are :func:`~jaxci.records.record` dataclasses.

    ``block`` is the number of consecutive replicates that are drawn together (1: each on
    its own); an engine starts and ends its chunks at multiples of it.
    """

    block: ClassVar[int] = 1

    @property
    @abc.abstractmethod
    def n_units(self) -> int:
        """Padded number of units U."""

    @abc.abstractmethod
    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows (B, U) for the replicates numbered ``ids`` (B,)."""

    @property
    def narrow(self) -> bool:
        """Whether :meth:`bank_rows` have 8 bits a count."""
        return False

    def bank_rows(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return what :meth:`counts` does, as a bank takes it."""
        return self.counts(key, ids)


@record
class Bootstrap(Scheme):
    """``size`` draws with replacement from ``n`` units (``size = n``, or m-out-of-n).

    With ``bounds``, those of Poisson counts, n of many units are drawn as :func:`multinomial_rows` says.
    """

    n: Any
    size: Any
    bounds: Any
    capacity: int = static()
    draws: int = static()

    @classmethod
    def of(cls, n: int, size: int | None = None) -> Bootstrap:
        """Build for ``n`` units and ``size`` draws (default n)."""
        size = n if size is None else size
        bounds = poisson_bounds(n) if n == size and n > LEAST else None
        return cls(np.int32(n), np.int32(size), bounds, padded(n), padded(size))

    @property
    def n_units(self) -> int:
        """Padded number of units."""
        return self.capacity

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of counts (B, U)."""
        return self.bank_rows(key, ids).astype(float)

    @property
    def narrow(self) -> bool:
        """Whether there are many units."""
        return self.bounds is not None

    def bank_rows(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return what :meth:`counts` does, as a bank takes it."""
        keys = replicate_keys(key, ids)
        if self.bounds is not None:
            return multinomial_rows(keys, jnp.asarray(self.bounds), jnp.asarray(self.n), self.capacity)
        words = random_words(keys, self.draws)
        index = scaled_words(words, jnp.asarray(self.n))
        if self.draws <= 16:  # small sizes are not padded
            return count_rows(index, self.capacity)
        counted = jnp.arange(self.draws, dtype=jnp.int32) < self.size
        return count_rows(index, self.capacity, counted, even=self.draws <= self.capacity)


@record
class StratifiedBootstrap(Scheme):
    """Draws with replacement within strata: of m units m - 1, each of which counts m / (m - 1) times.

    The variance of a sum is then the unbiased one, of which m draws have (m - 1) / m. A stratum of one unit does not
    vary. Position p of the bank draws from ``members[start[p] : start[p] + size[p]]``; ``counted`` (U,) is what a draw
    of each unit counts.

    References
    ----------
    Rao & Wu (1988), Resampling inference with complex survey data; m - 1 draws leave no constants.
    """

    members: Any
    start: Any
    size: Any
    draws: Any
    counted: Any

    @classmethod
    def of(cls, strata: np.ndarray) -> StratifiedBootstrap:
        """Build from the stratum code (n,) of every unit."""
        n = len(strata)
        members = np.argsort(strata, kind="stable").astype(np.int32)
        _, code, counts = np.unique(strata, return_inverse=True, return_counts=True)
        first, drawn = np.cumsum(counts) - counts, np.maximum(counts - 1, 1)
        pad = padded(n) - n

        def extend(x: np.ndarray) -> np.ndarray:
            return np.pad(x.astype(np.int32), (0, padded(n) - len(x)), mode="edge")

        return cls(
            extend(members),
            extend(np.repeat(first, drawn)),
            extend(np.repeat(counts, drawn)),
            np.int32(drawn.sum()),
            np.pad((counts / drawn)[code], (0, pad)),
        )

    @property
    def n_units(self) -> int:
        """Padded number of units."""
        return self.members.shape[0]

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of weights (B, U)."""
        units = self.n_units
        keys = replicate_keys(key, ids)
        words = random_words(keys, units)
        place = self.start + scaled_words(words, jnp.asarray(self.size))
        drawn = jnp.arange(units, dtype=jnp.int32) < self.draws
        return count_rows(jnp.asarray(self.members)[place], units, drawn) * jnp.asarray(self.counted, float)


@record
class BalancedBootstrap(Scheme):
    """Every unit appears equally often over each block of 100 replicates.

    A random permutation of 100 copies of the units is cut into 100 rows. Blocks are
    independent; replicates of one block are not.
    """

    block: ClassVar[int] = 100

    n: int = static()

    @property
    def n_units(self) -> int:
        """Padded number of units."""
        return padded(self.n)

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of counts (B, U); ``ids`` are whole consecutive blocks."""
        keys = replicate_keys(key, ids[:: self.block] // self.block)
        copies = jnp.tile(jnp.arange(self.n, dtype=jnp.int32), self.block)
        shuffled = jax.lax.map(lambda k: jax.random.permutation(k, copies), keys)
        return count_rows(shuffled.reshape(-1, self.n), self.n_units)


@record
class BayesianBootstrap(Scheme):
    """Dirichlet(1, ..., 1) weights scaled to sum to n (Rubin 1981)."""

    n: Any
    capacity: int = static()

    @classmethod
    def of(cls, n: int) -> BayesianBootstrap:
        """Build for ``n`` units."""
        return cls(np.int32(n), padded(n))

    @property
    def n_units(self) -> int:
        """Padded number of units."""
        return self.capacity

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of weights (B, U)."""
        keys = replicate_keys(key, ids)
        gaps = jax.vmap(lambda k: jax.random.exponential(k, (self.capacity,), float))(keys)
        gaps = jnp.where(jnp.arange(self.capacity) < self.n, gaps, 0.0)
        return gaps * (self.n / jnp.sum(gaps, axis=1, keepdims=True))


@record
class CellBootstrap(Scheme):
    """The i.i.d. bootstrap seen through a finite table: counts per cell, at a cost free of n.

    Units are cells that hold ``observed`` observations each. Rows of ``observed`` are strata (S, U), resampled
    independently, as :class:`StratifiedBootstrap` does; a plain bootstrap has one.
    """

    observed: Any

    @property
    def n_units(self) -> int:
        """Number of cells over all strata."""
        return self.observed.shape[0] * self.observed.shape[1]

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of counts (B, S U)."""
        keys = replicate_keys(key, ids)
        observed = jnp.asarray(self.observed)
        strata = observed.shape[0]

        def stratum(row: jax.Array, number: jax.Array) -> jax.Array:
            held = jnp.sum(row)
            trials = jnp.maximum(held - 1, 1)
            return multinomial(replicate_keys_of(keys, number), trials, row / held) * (held / trials)

        if strata == 1:
            return multinomial(keys, jnp.sum(observed), observed[0] / jnp.sum(observed))
        drawn = jax.lax.map(lambda pair: stratum(*pair), (observed, jnp.arange(strata, dtype=jnp.int32)))
        return jnp.swapaxes(drawn, 0, 1).reshape(len(ids), -1)


def replicate_keys_of(keys: jax.Array, number: jax.Array) -> jax.Array:
    """Fold one ``number`` (a stratum, a purpose) into every key of ``keys`` (B,)."""
    return jax.vmap(lambda k: jax.random.fold_in(k, number))(keys)
