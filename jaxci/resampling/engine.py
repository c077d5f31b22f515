"""Replicates of many statistics from one bank: chunked to memory, each draw tied to its replicate.

Rows of data are grouped into units (rows, clusters, or cells of a table); a scheme draws
weights of units. Linear statistics read one matrix product of the bank with the unit sums
of their features; the others read the weights of the rows.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.bank import (
    BalancedBootstrap,
    BayesianBootstrap,
    Bootstrap,
    CellBootstrap,
    Scheme,
    StratifiedBootstrap,
)
from jaxci.resampling.threads import pool
from jaxci.statistics.base import Cells, LinearStatistic, Sample, Statistic, padded

CACHE_BUDGET = 32 * 2**20
"""Default bytes the chunks in work may use on a CPU: more falls out of the cache and runs slower."""

LEAST_SHARE = 2000
"""Replicates that are worth a worker of their own."""


class Item(NamedTuple):
    """A statistic with its prepared data."""

    statistic: Statistic
    prepared: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """How rows relate to the units that are resampled (host arrays).

    Attributes
    ----------
    n : int
        Rows.
    units : (n,) int32 or None
        Cluster code of every row; None: every row is its own unit.
    strata : (number of units,) int32 or None
        Stratum code of every unit.
    row_weights : (n,) float64 or None
        Case weights.
    """

    n: int
    units: np.ndarray | None = None
    strata: np.ndarray | None = None
    row_weights: np.ndarray | None = None

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.n if self.units is None else int(self.units.max()) + 1

    @property
    def plain(self) -> bool:
        """Whether rows are exchangeable: no clusters, strata or weights."""
        return self.units is None and self.strata is None and self.row_weights is None

    def take(self, rows: np.ndarray) -> Layout:
        """Return the layout of permuted rows."""
        own = self.units is None
        return Layout(
            self.n,
            None if own else self.units[rows],  # type: ignore[index]
            self.strata[rows] if own and self.strata is not None else self.strata,
            None if self.row_weights is None else self.row_weights[rows],
        )


@record
class Program:
    """What one chunk evaluates: a pytree of data, statistics and scheme."""

    scheme: Scheme
    multiplicity: Any
    design: Any
    linear: tuple[Item, ...]
    general: tuple[Item, ...]
    row_units: Any
    row_weights: Any
    strata: Any
    n_strata: int = static(default=0)
    spans: tuple[tuple[int, int], ...] = static(default=())

    def row_weight(self, weights: jax.Array) -> jax.Array:
        """Weights of rows (..., N) from weights of units (..., U)."""
        rows = weights if self.row_units is None else weights[..., self.row_units]
        return rows if self.row_weights is None else rows * self.row_weights

    def functions(self) -> list[Callable[[jax.Array], jax.Array]]:
        """Each statistic as a function of the unit weights (U,): linear ones first."""

        def linear(item: Item, span: tuple[int, int], w: jax.Array) -> jax.Array:
            return item.statistic.from_sums(item.prepared, w @ self.design[:, slice(*span)])  # type: ignore[attr-defined]

        def general(item: Item, w: jax.Array) -> jax.Array:
            return item.statistic.value(item.prepared, self.row_weight(w))

        return [
            *(functools.partial(linear, item, span) for item, span in zip(self.linear, self.spans, strict=True)),
            *(functools.partial(general, item) for item in self.general),
        ]

    def centred(self, influence: jax.Array, weights: jax.Array) -> jax.Array:
        """Centre influence values (U,) within strata, where there are any, under ``weights`` (U,)."""
        if self.strata is None:
            return influence
        total = jax.ops.segment_sum(influence * weights, self.strata, self.n_strata)
        size = jax.ops.segment_sum(weights, self.strata, self.n_strata)
        return influence - (total / jnp.where(size > 0, size, 1.0))[self.strata]


def is_cells(prepared: Any) -> bool:
    """Whether prepared data are cells of a finite table (of one model, or jointly of two)."""
    return hasattr(prepared, "codes") and hasattr(prepared, "size")


def _unit_sums(matrix: np.ndarray, layout: Layout, capacity: int) -> np.ndarray:
    """Sum feature rows (N, k), weighted, within units: (U, k)."""
    rows = matrix[: layout.n]
    if layout.row_weights is not None:
        rows = rows * layout.row_weights[:, None]
    out = np.zeros((capacity, matrix.shape[1]))
    if layout.units is None:
        out[: layout.n] = rows
    else:
        for j in range(matrix.shape[1]):
            out[: layout.n_units, j] = np.bincount(layout.units, rows[:, j], layout.n_units)
    return out


def _cell_sums(cells: Cells, layout: Layout, capacity: int) -> np.ndarray:
    """Weight per unit and cell (U, C)."""
    unit = np.arange(layout.n) if layout.units is None else layout.units
    flat = unit.astype(np.int64) * cells.size + cells.codes[: layout.n]
    counts = np.bincount(flat, layout.row_weights, capacity * cells.size)
    return counts.astype(np.float64).reshape(capacity, cells.size)


def cell_program(items: Sequence[Item], layout: Layout) -> Program:
    """Build a program over the cells that all ``items`` share; its cost is free of n."""
    cells: Cells = items[0].prepared
    if layout.strata is None:
        groups, observed = 1, cells.weights_of(layout.n, None)[None]
    else:
        groups = int(layout.strata.max()) + 1
        flat = layout.strata.astype(np.int64) * cells.size + cells.codes[: layout.n]
        observed = np.bincount(flat, minlength=groups * cells.size).astype(np.float64).reshape(groups, cells.size)
    return Program(
        scheme=CellBootstrap(observed),
        multiplicity=observed.reshape(-1),
        design=np.tile(np.eye(cells.size), (groups, 1)),
        linear=tuple(Item(item.statistic, item.prepared.without_rows()) for item in items),
        general=(),
        row_units=None,
        row_weights=None,
        strata=None if layout.strata is None else np.repeat(np.arange(groups, dtype=np.int32), cells.size),
        n_strata=0 if layout.strata is None else groups,
        spans=((0, cells.size),) * len(items),
    )


def unit_program(items: Sequence[Item], layout: Layout, scheme: Scheme) -> Program:
    """Build a program over rows or clusters."""
    linear = [item for item in items if isinstance(item.statistic, LinearStatistic)]
    general = [item for item in items if not isinstance(item.statistic, LinearStatistic)]
    capacity = scheme.n_units
    blocks: list[np.ndarray] = []
    spans: list[tuple[int, int]] = []
    known: dict[int, tuple[int, int]] = {}
    width = 0
    for item in linear:
        if id(item.prepared) not in known:
            if is_cells(item.prepared):
                blocks.append(_cell_sums(item.prepared, layout, capacity))
            else:
                blocks.append(_unit_sums(item.prepared.design, layout, capacity))
            known[id(item.prepared)] = (width, width + blocks[-1].shape[1])
            width += blocks[-1].shape[1]
        spans.append(known[id(item.prepared)])
    rows = padded(layout.n)
    row_units = row_weights = None
    if general:
        if layout.units is not None:
            row_units = np.zeros(rows, np.int32)
            row_units[: layout.n] = layout.units
        if layout.units is not None or layout.row_weights is not None:
            row_weights = np.zeros(rows)
            row_weights[: layout.n] = 1.0 if layout.row_weights is None else layout.row_weights
    multiplicity = np.zeros(capacity)
    multiplicity[: layout.n_units] = 1.0
    strata = None
    if layout.strata is not None:
        strata = np.zeros(capacity, np.int32)
        strata[: layout.n_units] = layout.strata
    return Program(
        scheme=scheme,
        multiplicity=multiplicity,
        design=np.concatenate(blocks, axis=1) if blocks else None,
        linear=tuple(Item(item.statistic, item.prepared.without_rows()) for item in linear),
        general=tuple(general),
        row_units=row_units,
        row_weights=row_weights,
        strata=strata,
        n_strata=0 if layout.strata is None else int(layout.strata.max()) + 1,
        spans=tuple(spans),
    )


def make_scheme(layout: Layout, resampling: str = "bootstrap", resample_size: int | None = None) -> Scheme:
    """Build the scheme named ``resampling``: "bootstrap", "balanced" or "bayesian"."""
    if resampling == "bootstrap" and layout.strata is not None:
        return StratifiedBootstrap.of(layout.strata)
    if resampling == "bootstrap":
        return Bootstrap.of(layout.n_units, resample_size)
    if resampling == "balanced":
        return BalancedBootstrap(layout.n_units)
    return BayesianBootstrap.of(layout.n_units)


class Replicates(NamedTuple):
    """Bootstrap replicates of S statistics (host arrays; NaN where undefined)."""

    estimates: np.ndarray
    """(S,) values on the data"""
    values: np.ndarray
    """(S, B)"""
    errors: np.ndarray | None
    """(S, B) influence standard error at each replicate, if asked for"""
    absent: np.ndarray
    """(S, B) whether a class of the sample is absent from the resample"""


@functools.partial(jax.jit, static_argnames=("size", "errors"))
def _chunk(
    program: Program, key: jax.Array, start: jax.Array, *, size: int, errors: bool
) -> tuple[jax.Array, jax.Array | None, jax.Array]:
    ids = start + jnp.arange(size, dtype=jnp.int32)
    # The data themselves ride along as a last row, so that estimates need no program of their own.
    whole = jnp.asarray(program.multiplicity)[None, :]
    weights = jnp.concatenate([program.scheme.counts(key, ids), whole])
    size = size + 1
    values, absent, spread = [], [], []
    if program.linear:
        sums = weights @ program.design
        shared: dict[tuple[int, int], Any] = {}
        gone: dict[tuple[Any, ...], jax.Array] = {}
        for item, span in zip(program.linear, program.spans, strict=True):
            part = sums[:, slice(*span)]
            # Items of one span have the same data: read as such, the compiler sees what they have in common.
            prepared = shared.setdefault(span, item.prepared)
            from_sums = functools.partial(item.statistic.from_sums, prepared)  # type: ignore[attr-defined]
            values.append(jax.vmap(from_sums)(part))
            known = (span, type(item.statistic).absent_in_sums)  # type: ignore[attr-defined]
            if known not in gone:
                lost = functools.partial(item.statistic.absent_in_sums, prepared)  # type: ignore[attr-defined]
                gone[known] = jnp.broadcast_to(jax.vmap(lost)(part), (size,))
            absent.append(gone[known])
            if errors:
                slope = jax.vmap(jax.grad(from_sums))(part)
                spread.append(jax.vmap(program.centred)(slope @ program.design[:, slice(*span)].T, weights))
    if program.general:
        rows = program.row_weight(weights)
        for item in program.general:
            values.append(jax.vmap(functools.partial(item.statistic.value, item.prepared))(rows))
            missing = functools.partial(item.statistic.absent, item.prepared)
            absent.append(jnp.broadcast_to(jax.vmap(missing)(rows), (size,)))
        if errors:
            for function in program.functions()[len(program.linear) :]:
                spread.append(jax.vmap(program.centred)(jax.vmap(jax.grad(function))(weights), weights))
    squared = [jnp.sum(weights * d * d, axis=1) for d in spread]
    return jnp.stack(values), jnp.sqrt(jnp.stack(squared)) if errors else None, jnp.stack(absent)


def default_budget() -> int:
    """Bytes a chunk may use: a quarter of an accelerator's free memory, a cache's worth on a CPU."""
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if not stats:
        return CACHE_BUDGET
    free = stats.get("bytes_limit", 4 << 30) - stats.get("bytes_in_use", 0)
    return max(CACHE_BUDGET, free // 4)


def bytes_per_replicate(program: Program, *, errors: bool = False) -> int:
    """Estimate the bytes that one replicate of a chunk needs at its peak."""
    units = program.scheme.n_units
    leaves = [x for item in program.general for x in jax.tree.leaves(item.prepared)]
    rows = max((np.shape(x)[0] for x in leaves if np.ndim(x) > 0), default=0)
    classes = max((np.shape(x)[-1] for x in leaves if np.ndim(x) > 1), default=1)
    per = 4 * units + rows * (1 + 6 * classes)
    if errors:
        per += 2 * units * (len(program.linear) + len(program.general)) + 6 * rows * len(program.general)
    return 8 * per


def chunk_size(program: Program, n_resamples: int, budget: int, *, errors: bool, workers: int = 1) -> int:
    """Return the number of replicates a chunk holds: a multiple of the scheme's block.

    ``workers`` chunks run at a time and share the ``budget``; each gets as many chunks, where
    there are replicates enough for all.
    """
    block = program.scheme.block
    most = max(1, budget // workers // bytes_per_replicate(program, errors=errors) // block)
    total = -(-n_resamples // block)
    chunks = -(-total // most)
    shares = max(1, min(workers, n_resamples // LEAST_SHARE))
    chunks = -(-chunks // shares) * shares
    return -(-total // min(chunks, total)) * block


def chunk_workers() -> int:
    """Chunks to run at a time: XLA runs most of one on a single core of a CPU."""
    return min(8, os.cpu_count() or 1) if jax.default_backend() == "cpu" else 2


def replicate(
    program: Program,
    key: jax.Array,
    n_resamples: int,
    *,
    errors: bool = False,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replicates:
    """Draw ``n_resamples`` resamples and evaluate every statistic on each.

    Cost: O(B U) draws plus one product (B, U) x (U, k) for the linear statistics and
    O(B n) for each other one. Memory: ``memory_limit`` bytes, or one replicate if that
    takes more. Chunk size never changes a draw.
    """
    workers = chunk_workers()
    size = chunk_size(program, n_resamples, memory_limit or default_budget(), errors=errors, workers=workers)
    program = jax.device_put(program, next(iter(key.devices())))  # threads know no default device of the caller
    wide = jnp.result_type(float) == jnp.float64

    def run(start: int) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        with jax.enable_x64(wide):  # a context of the calling thread
            return jax.block_until_ready(_chunk(program, key, jnp.int32(start), size=size, errors=errors))

    waiting = [pool(workers).submit(run, start) for start in range(0, n_resamples, size)]
    parts = []
    try:
        for future in waiting:
            parts.append(future.result())
            if progress is not None:
                progress(min(len(parts) * size, n_resamples), n_resamples)
    finally:  # an interrupt leaves no work behind
        for future in waiting:
            future.cancel()
    values, spread, absent = (
        None if part[0] is None else np.concatenate([np.asarray(x)[:, :-1] for x in part], axis=1)[:, :n_resamples]
        for part in zip(*parts, strict=True)
    )
    assert values is not None
    assert absent is not None
    estimates = np.asarray(parts[0][0])[:, -1]
    return Replicates(estimates, with_ties(values, estimates), spread, absent)


def with_ties(values: np.ndarray, estimates: np.ndarray) -> np.ndarray:
    """Return replicates (S, B) in which those equal to the estimate (S,) up to rounding are equal to it.

    BCa counts ties one half, so how a sum happened to round must not decide on which side it falls.
    """
    with np.errstate(invalid="ignore"):
        apart = np.abs(values - estimates[:, None])
        largest = np.max(np.where(np.isfinite(apart), apart, 0.0), axis=1, initial=0.0)
        rounding = 1e-12 * largest + 16 * np.finfo(float).eps * np.abs(estimates)
        return np.where(apart <= rounding[:, None], estimates[:, None], values)


@jax.jit
def _influence(program: Program) -> tuple[jax.Array, jax.Array]:
    whole = jnp.asarray(program.multiplicity)
    pairs = [jax.value_and_grad(function)(whole) for function in program.functions()]
    return jnp.stack([p[0] for p in pairs]), jnp.stack([program.centred(p[1], whole) for p in pairs])


class Influence(NamedTuple):
    """First-order behaviour of S statistics on the data (host arrays).

    ``slopes`` (S, U) are derivatives with respect to the weight of each unit: the influence
    value divided by n. ``multiplicity`` (U,) says how many observations a unit stands for.
    """

    estimates: np.ndarray
    slopes: np.ndarray
    multiplicity: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Infinitesimal-jackknife standard errors (S,)."""
        return np.sqrt(np.sum(self.multiplicity * self.slopes**2, axis=1))

    @property
    def accelerations(self) -> np.ndarray:
        """BCa accelerations (S,): NaN where every slope is zero."""
        with np.errstate(invalid="ignore", divide="ignore"):
            cubes = np.sum(self.multiplicity * self.slopes**3, axis=1)
            return cubes / (6 * np.sum(self.multiplicity * self.slopes**2, axis=1) ** 1.5)


def influence(program: Program) -> Influence:
    """Differentiate every (smooth) statistic of ``program`` in the unit weights: O(n) each."""
    estimates, slopes = _influence(program)
    return Influence(np.asarray(estimates), np.asarray(slopes), np.asarray(program.multiplicity))


@jax.jit
def _estimates(program: Program) -> jax.Array:
    whole = jnp.asarray(program.multiplicity)
    return jnp.stack([function(whole) for function in program.functions()])


def estimates(program: Program) -> np.ndarray:
    """Return the value of every statistic (S,) on the data."""
    return np.asarray(_estimates(program))


def prepare(statistics: Sequence[Statistic], sample: Sample) -> list[Item]:
    """Prepare statistics on ``sample``, padded where a program reads its rows."""
    whole = sample if all(statistic.road == "cells" for statistic in statistics) else sample.padded()
    return [Item(statistic, statistic.prepare(whole)) for statistic in statistics]
