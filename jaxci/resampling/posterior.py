"""Weights of the proper Bayesian bootstrap: of what was seen, and a little for what was not."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.records import record, static
from jaxci.resampling.bank import Scheme, replicate_keys, replicate_keys_of
from jaxci.resampling.words import exponentials
from jaxci.statistics.sums import coarsely_padded

NODES = 2048
"""Points of the logarithm of an exponential variate at which quantiles of a Gamma law are tabulated."""
_UNSEEN = 2
"""What the keys of replicates are folded with for pseudo-units; blocks take 0 and 1."""
MANY = 100
"""In strata of more units weights lack less than 2% of the variance, and are not mended."""
ALL_BUT_ALWAYS = 0.02
"""What stands for no observation at all, ``m - 2`` of a pair."""
FIRST, LAST = np.log(1e-9), np.log(40.0)
"""First and last of them; variates beyond have a chance of 1e-9 together and are taken for the nearest."""


@functools.lru_cache(maxsize=1024)
def _log_quantiles(shape: float) -> np.ndarray:
    """Return the logarithms (NODES,) of the quantiles of a Gamma law at exponential variates."""
    if shape == 0:
        return np.full(NODES, -np.inf)
    exponential = np.exp(np.linspace(FIRST, LAST, NODES))
    below, above = -np.expm1(-exponential), np.exp(-exponential)
    # the smaller of both probabilities keeps its digits; near 0 the law is x^a / Gamma(a + 1)
    found = np.where(above < 0.5, special.gammainccinv(shape, above), special.gammaincinv(shape, below))
    lowest = (np.log(below) + special.gammaln(shape + 1)) / shape
    return np.where(found > 1e-200, np.log(np.maximum(found, 1e-200)), lowest)


@record
class GammaTables:
    """Quantiles of Gamma laws of scale 1: ``laws`` (T, NODES), their logarithms, and the law (U,) of each unit.

    ``x = F^-1(1 - exp(-e))`` turns an exponential variate e into one of the law F. Interpolated, linearly in both
    logarithms, x is off by less than 5e-5 of itself for shapes from 1/8 on.
    """

    laws: Any
    of_unit: Any

    @classmethod
    def of(cls, shapes: Sequence[float] | np.ndarray) -> GammaTables:
        """Tabulate the laws of ``shapes`` (U,); a shape of 0 means the weight 0."""
        known, of_unit = np.unique(np.asarray(shapes, float), return_inverse=True)
        logs = np.stack([_log_quantiles(float(shape)) for shape in known])
        filled = np.pad(logs, ((0, coarsely_padded(len(known)) - len(known)), (0, 0)), mode="edge")
        return cls(filled, of_unit.reshape(-1).astype(np.int32))

    def logarithms(self, exponential: jax.Array) -> jax.Array:
        """Return the logarithms of Gamma variates (..., U) from exponential ones."""
        place = (jnp.log(exponential) - FIRST) * ((NODES - 1) / (LAST - FIRST))
        place = jnp.clip(place, 0.0, NODES - 1.0)
        node = jnp.minimum(place.astype(jnp.int32), NODES - 2)
        laws = jnp.asarray(self.laws, exponential.dtype)
        below, above = laws[self.of_unit, node], laws[self.of_unit, node + 1]
        known = jnp.isfinite(below)
        return jnp.where(known, below + (place - node) * jnp.where(known, above - below, 0.0), -jnp.inf)

    def variates(self, exponential: jax.Array) -> jax.Array:
        """Return Gamma variates (..., U) from exponential ones."""
        return jnp.exp(self.logarithms(exponential))


@record
class WeightsWithinStrata:
    """Weights of units that sum, within strata, to what these hold, and vary as the units do: Dirichlet laws.

    A unit that stands for k of the m observations of its stratum has the parameter ``k (m - 2) / m``: the variance of a
    sum over the stratum is then the unbiased one, of which Rubin's parameters k have ``(m - 1) / (m + 1)``. Strata of
    more than :data:`MANY` keep these. Of a pair one unit has all but always the whole weight, as parameters near 0
    have it, and a stratum of one unit does not vary.

    Attributes
    ----------
    laws : GammaTables or None
        The Gamma laws whose shapes are those parameters; None where all are 1, or 0 of units that hold nothing.
    strata, held : (U,) arrays
        Stratum of every unit, and how many observations it stands for.
    n_strata : int
    """

    laws: GammaTables | None
    strata: Any
    held: Any
    n_strata: int = static()

    @classmethod
    def of(cls, held: np.ndarray, strata: np.ndarray, n_strata: int) -> WeightsWithinStrata:
        """Build for units that stand for ``held`` (U,) observations, in ``strata`` (U,)."""
        held = np.asarray(held, float)
        sizes = np.bincount(strata, held, n_strata)[strata]
        few = np.maximum(sizes - 2, ALL_BUT_ALWAYS) / np.maximum(sizes, 1)
        shapes = held * np.where(sizes > MANY, 1.0, few)
        return cls(None if np.isin(shapes, (0, 1)).all() else GammaTables.of(shapes), strata, held, n_strata)

    def weights(self, exponential: jax.Array) -> jax.Array:
        """Return weights (..., U) from exponential variates."""
        held = jnp.asarray(self.held, exponential.dtype)
        if self.laws is None:
            shares = jnp.moveaxis(jnp.where(held > 0, exponential, 0.0), -1, 0)
        else:
            logs = jnp.moveaxis(self.laws.logarithms(exponential), -1, 0)
            largest = jax.ops.segment_max(logs, self.strata, self.n_strata)
            shares = jnp.exp(logs - jnp.where(jnp.isfinite(largest), largest, 0.0)[self.strata])
        drawn = jax.ops.segment_sum(shares, self.strata, self.n_strata)
        whole = jax.ops.segment_sum(held, self.strata, self.n_strata).reshape(-1, *(1,) * (drawn.ndim - 1))
        return jnp.moveaxis(shares * (whole / jnp.where(drawn > 0, drawn, 1.0))[self.strata], 0, -1)


@record
class PosteriorWeights(Scheme):
    """Weights of units that were seen, and of pseudo-units that were not: Gamma variates, which no sum ties.

    A unit weighs Gamma(1), or Gamma(m) where it stands for m observations; a pseudo-unit weighs Gamma(mass). Divided by
    their sum they are a draw from a Dirichlet law. Units come first, padded; pseudo-units follow. Units in strata weigh
    as much together as these hold (:class:`WeightsWithinStrata`).

    Attributes
    ----------
    present : (U,)
        How many observations a unit stands for.
    units : GammaTables, WeightsWithinStrata or None
        Laws of the units, None where all have one observation and there are no strata.
    unseen : GammaTables
        Laws of the pseudo-units.
    numbers : (P,) int32
        Number of every pseudo-unit within its statistic: statistics of equal masses share weights.
    most : int
        Pseudo-units of a statistic, at most.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap; Muliere & Secchi (1996), Bayesian nonparametric predictive inference and
    bootstrap techniques.
    """

    present: Any
    units: GammaTables | WeightsWithinStrata | None
    unseen: GammaTables
    numbers: Any
    most: int = static()

    @classmethod
    def of(
        cls,
        multiplicity: np.ndarray,
        masses: Sequence[tuple[float, ...]],
        units: GammaTables | WeightsWithinStrata | None = None,
    ) -> PosteriorWeights:
        """Build for units that stand for ``multiplicity`` (U,) observations, and the ``masses`` of each statistic."""
        numbers = np.concatenate([np.arange(len(one), dtype=np.int32) for one in masses])
        return cls(multiplicity, units, GammaTables.of(np.concatenate(masses)), numbers, max(map(len, masses)))

    @property
    def n_units(self) -> int:
        """Number of units and pseudo-units."""
        return self.present.shape[0] + self.numbers.shape[0]

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of weights (B, U + P)."""
        units, unseen = self.present.shape[0], jnp.asarray(self.numbers)
        drawn = exponentials(replicate_keys(key, ids), units + self.most)
        seen, others = drawn[:, :units], self.unseen.variates(drawn[:, units + unseen])
        if isinstance(self.units, WeightsWithinStrata):
            seen = self.units.weights(seen)
        elif self.units is not None:
            seen = self.units.variates(seen)
        return jnp.concatenate([jnp.where(jnp.asarray(self.present) > 0, seen, 0.0), others], axis=1).astype(float)


@record
class PosteriorOfBlocks(Scheme):
    """Counts of rows that are drawn in blocks, and after them Gamma weights of pseudo-units, of laws ``unseen``."""

    blocks: Scheme
    unseen: GammaTables

    @property
    def n_units(self) -> int:
        """Number of rows, padded, and pseudo-units."""
        return self.blocks.n_units + self.unseen.of_unit.shape[0]

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        """Return rows of weights (B, U + P)."""
        keys = replicate_keys_of(replicate_keys(key, ids), jnp.int32(_UNSEEN))
        others = self.unseen.variates(exponentials(keys, self.unseen.of_unit.shape[0]))
        return jnp.concatenate([self.blocks.counts(key, ids).astype(float), others.astype(float)], axis=1)
