"""Weighted sums: banks of weights, and what is summed of the data, features of every row or its cell in a table."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.kernels import cell_counts, cumulative_counts
from jaxci.resampling.ranked import SpreadBank
from jaxci.special import namespace
from jaxci.statistics.layout import Layout

SMALL_TABLE = 16
"""Tables of at most so many cells keep them all; larger ones keep the observed."""


def padded(n: int) -> int:
    """Return the padded size for ``n``: eight sizes an octave, at most one eighth more.

    Arrays of data have padded sizes, so data of similar size share one compiled program.
    """
    if n <= 16:
        return n
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


SMALL_SIZES, FEW_UNITS = 64, 256
"""Up to so many cells, or laws, :func:`coarsely_padded` has three sizes; cells of more units are padded less."""


def coarsely_padded(n: int) -> int:
    """Return the padded size for ``n`` things of which a few more cost little: 16, 32 or 64, then :func:`padded`.

    How many cells of a table are observed, or how many laws differ, is another number in each of many data sets.
    """
    return max(16, 1 << (n - 1).bit_length()) if n <= SMALL_SIZES else padded(n)


PART = 4096
"""Units whose counts of 8 bits become floating-point numbers at a time."""


def _sums_of_parts(counts: jax.Array, features: jax.Array) -> jax.Array:
    """Return the product (B, k) of counts (B, n) of 8 bits and features (n, k), part by part."""

    def add(sums: jax.Array, number: jax.Array) -> tuple[jax.Array, None]:
        rows = jax.lax.dynamic_slice_in_dim(counts, number * PART, PART, axis=1).astype(features.dtype)
        columns = jax.lax.dynamic_slice_in_dim(features, number * PART, PART)
        return sums + jnp.matmul(rows, columns, precision=jax.lax.Precision.HIGHEST), None

    start = jnp.zeros((len(counts), features.shape[1]), features.dtype)
    return jax.lax.scan(add, start, jnp.arange(len(features) // PART))[0]


@record
class Bank:
    """Weights of B resamples of n rows, in the forms that statistics read.

    Attributes
    ----------
    rows : (B, n) array
        Weights, one resample a row.
    columns : (n, B) array
        The same, one observation a row.
    cumulative : (n + 1, B) array
        Sums of the first 0, 1, ... n observations.
    totals : (B,) array
    counts : bool
        Whether all weights are whole numbers.
    exchangeable : bool
        Whether weights that are none are so: then those of any rows may stand for those of others.
    by_rows : bool
        Whether the weights of a resample lie next to each other in memory, so that products had better read ``rows``.
    narrow : (B, n) array or None
        The rows where they were handed over as counts of 8 bits: an eighth of the memory, or a quarter.
    """

    rows: Any
    columns: Any
    cumulative: Any
    totals: Any
    counts: bool = static(default=False)
    exchangeable: bool = static(default=False)
    by_rows: bool = static(default=False)
    narrow: Any = None

    @classmethod
    def of(cls, rows: jax.Array, *, counts: bool = False) -> Bank:
        """Derive all forms of ``rows``; what is not read costs nothing under ``jit``."""
        narrow = rows if rows.dtype == jnp.uint8 else None
        if narrow is not None:
            rows = rows.astype(float)
        columns = rows.T
        totals = jnp.sum(rows, axis=1) if narrow is None else jnp.sum(narrow, axis=1, dtype=jnp.int32).astype(float)
        return cls(rows, columns, cumulative_counts(columns), totals, counts, by_rows=True, narrow=narrow)

    @classmethod
    def of_columns(cls, columns: jax.Array, *, counts: bool = False, exchangeable: bool = False) -> Bank:
        """Derive all forms of ``columns``, as :meth:`of` does."""
        narrow = columns.T if columns.dtype == jnp.uint8 else None
        if narrow is not None:
            columns = columns.astype(jnp.float32)
        totals = jnp.sum(columns, axis=0)
        return cls(columns.T, columns, cumulative_counts(columns), totals, counts, exchangeable, narrow=narrow)

    @functools.cached_property
    def by_observation(self) -> Any:
        """Weights (n, B) as a walk along rows reads them, with sums of the precision of the others."""
        if self.narrow is None:
            return self.columns
        return SpreadBank(self.narrow.T, sums=self.totals.dtype) if self.by_rows else self.narrow.T

    def sums(self, features: Any) -> jax.Array:
        """Return the weighted sums (k, B) of ``features`` (n, k) over every resample."""
        features = jnp.asarray(features, self.totals.dtype)
        if self.by_rows:
            if self.narrow is not None and len(features) > PART and len(features) % PART == 0:
                return _sums_of_parts(self.narrow, features).T
            return jnp.matmul(self.rows, features, precision=jax.lax.Precision.HIGHEST).T
        return jnp.matmul(features.T, self.columns, precision=jax.lax.Precision.HIGHEST)


@record
class Features:
    """Per-observation features of a moment statistic.

    ``design`` (n, k); ``constants`` is any pytree (centres, scales) that the statistic needs besides; ``mass``
    (n,) is the weight of a row that stands for several, None where all are 1. Centre and scale data before
    squaring it.
    """

    design: Any
    constants: Any = ()
    mass: Any = None

    def sums(self, weights: jax.Array) -> jax.Array:
        """Total weight and weighted sums of the features (1 + k,) for ``weights`` (n,)."""
        total = jnp.sum(weights) if self.mass is None else weights @ self.mass
        return jnp.concatenate([total[None], weights @ self.design])

    def bank_sums(self, bank: Bank) -> jax.Array:
        """Total weights and weighted sums (1 + k, B) of every resample: one product."""
        totals = bank.totals if self.mass is None else bank.sums(self.mass[:, None])[0]
        return jnp.concatenate([totals[None], bank.sums(self.design)])

    def sums_without(self, weights: jax.Array, units: jax.Array) -> jax.Array:
        """Return :meth:`sums` of ``weights`` (n,) with each row of ``units`` (m, d) left out once: (1 + k, m)."""
        mass = jnp.ones(units.shape) if self.mass is None else jnp.asarray(self.mass)[units]
        left_out = jnp.sum(jnp.asarray(self.design)[units], axis=1).T
        return self.sums(weights)[:, None] - jnp.concatenate([jnp.sum(mass, axis=1)[None], left_out])

    def by_unit(self, layout: Layout, capacity: int) -> Features:
        """Return the features of ``capacity`` units: sums over the rows of each, and its mass."""
        if layout.rows_are_units:
            return self
        mass = layout.sum_rows(np.ones((len(self.design), 1)), capacity)[:, 0]
        return Features(layout.sum_rows(self.design, capacity), self.constants, mass)

    @property
    def size(self) -> int:
        """k, the number of features."""
        return self.design.shape[1]

    def without_rows(self) -> Features:
        """Keep only what ``from_sums`` reads."""
        return Features(None, self.constants)


@record
class Cells:
    """Cell membership of each observation in a finite table.

    ``codes`` (n,) integers index into ``cells`` (C,) int32, the observed cells of the flattened
    table of shape ``shape`` (padded, so that tables of similar size share one program; a
    padding cell lies outside the table). Sums are weights per cell; :meth:`table` spreads them.
    """

    codes: Any
    cells: Any
    shape: tuple[int, ...] = static()

    @classmethod
    def observed(cls, flat: np.ndarray, shape: tuple[int, ...]) -> Cells:
        """Build from the flat table index (n,) of every observation; O(n + table)."""
        whole = int(np.prod(shape))
        if whole <= SMALL_TABLE:
            built = cls(flat, np.arange(whole, dtype=np.int32), shape)
            built.cells[built.counts == 0] = whole
            return built
        cells = np.flatnonzero(np.bincount(flat, minlength=whole))
        place = np.zeros(whole, np.int32)
        place[cells] = np.arange(len(cells), dtype=np.int32)
        padding = padded(len(cells)) - len(cells)
        return cls(place[flat], np.pad(cells, (0, padding), constant_values=whole).astype(np.int32), shape)

    @property
    def size(self) -> int:
        """C, the number of cells, padding included."""
        return self.cells.shape[0]

    @property
    def whole(self) -> int:
        """Cells of the whole table, which a resample takes at its widest."""
        return math.prod(self.shape)

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """Rows per cell (C,)."""
        if self.size <= SMALL_TABLE:
            return np.array([np.count_nonzero(self.codes == cell) for cell in range(self.size)])
        return np.bincount(self.codes, minlength=self.size)

    def weights_of(self, layout: Layout) -> np.ndarray:
        """Weight per cell (C,) of the rows of ``layout``."""
        n = layout.n_rows
        if layout.mass is None:
            return self.counts - np.bincount(self.codes[n:], minlength=self.size).astype(np.float64)
        return np.bincount(self.codes[:n], layout.mass, self.size).astype(np.float64)

    def in_cell_order(self) -> Cells:
        """Return the membership of the same rows in the order of their cells, on the host."""
        codes = np.repeat(np.arange(self.size, dtype=np.min_scalar_type(self.size)), self.counts)
        return Cells(codes, self.cells, self.shape)

    def without_rows(self) -> Cells:
        """Keep only what :meth:`table` reads."""
        return Cells(None, self.cells, self.shape)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per cell (C,) for ``weights`` (n,)."""
        return jax.ops.segment_sum(weights, self.codes, self.size)

    def bank_sums(self, bank: Bank) -> jax.Array:
        """Weight per cell (C, B) of every resample: differences of cumulative weights.

        Rows are exchangeable, so the cells may be blocks of rows that follow each other.
        """
        of_cell = jnp.asarray(self.codes)[:, None] == jnp.arange(self.size)
        return cell_counts(bank.cumulative, jnp.sum(of_cell, axis=0))

    def sums_without(self, weights: jax.Array, units: jax.Array) -> jax.Array:
        """Return :meth:`sums` of ``weights`` (n,) with each row of ``units`` (m, d) left out once: (C, m)."""
        return self.sums(weights)[:, None] - _how_often(jnp.asarray(self.codes)[units], self.size)

    def by_unit(self, layout: Layout, capacity: int) -> CellsOfUnits:
        """Return the cells of ``capacity`` units: the weight of each in every cell."""
        known = self.padded_for(capacity)
        return CellsOfUnits(layout.count_codes(known.codes, known.size, capacity), known.without_rows())

    def padded_for(self, capacity: int) -> Cells:
        """Return the same cells, of few units with more padding; those of batches, and whole tables, as they are."""
        if namespace(self.codes) is jnp or self.size >= self.whole or capacity > FEW_UNITS:
            return self
        padding = coarsely_padded(self.size) - self.size
        return Cells(self.codes, np.pad(self.cells, (0, padding), constant_values=self.whole), self.shape)

    def table(self, sums: jax.Array) -> jax.Array:
        """Spread sums (C, ...) over the whole table (..., with further axes last)."""
        whole, more = int(np.prod(self.shape)), sums.shape[1:]
        if whole <= SMALL_TABLE:
            known = (jnp.asarray(self.cells) < whole).reshape(-1, *[1] * len(more))
            return jnp.where(known, sums, 0.0).reshape(*self.shape, *more)
        spread = jnp.zeros((whole, *more), sums.dtype).at[self.cells].set(sums, mode="drop")
        return spread.reshape(*self.shape, *more)


def _how_often(codes: jax.Array, size: int) -> jax.Array:
    """Return how often each of ``size`` codes occurs in every row of ``codes`` (m, d): (size, m)."""
    return jnp.sum(codes[None] == jnp.arange(size)[:, None, None], axis=2)


@record
class CellsOfUnits:
    """Table data of units: ``members`` (U, C) is the weight of each in every cell, None where units are cells."""

    members: Any
    cells: Any

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per cell (C,) for weights (U,) of units."""
        return weights if self.members is None else weights @ self.members

    def sums_without(self, weights: jax.Array, units: jax.Array) -> jax.Array:
        """Return :meth:`sums` of ``weights`` (U,) with each row of ``units`` (m, d) left out once: (C, m)."""
        if self.members is None:
            return weights[:, None] - _how_often(units, weights.shape[0])
        return self.sums(weights)[:, None] - jnp.sum(jnp.asarray(self.members)[units], axis=1).T

    def bank_sums(self, bank: Bank) -> jax.Array:
        """Weight per cell (C, B) of every resample."""
        return bank.columns if self.members is None else bank.sums(self.members)

    def without_rows(self) -> Any:
        """Keep only what the statistic reads besides the sums."""
        return self.cells
