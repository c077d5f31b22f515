"""Replicates of one data set: resamples in chunks that fit the memory, each draw tied to its replicate."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.resampling.bank import Scheme
from jaxci.resampling.kernels import in_parts
from jaxci.resampling.multinomial_rows import rows_in_cache
from jaxci.resampling.threads import each
from jaxci.special import namespace
from jaxci.statistics.base import LinearStatistic, RankedStatistic
from jaxci.statistics.sums import CellsOfUnits, padded

CACHE_BUDGET = 32 * 2**20
"""Default bytes the chunks in work may use on a CPU: more falls out of the cache and runs slower."""

SUM_BUDGET = 96 * 2**20
"""The same where sums along the bank are all that is computed: drawing then takes the time, best of many at once."""

WALK_BUDGET = 2**29
"""Default bytes of the chunks in work on a CPU where rankings are walked along."""

WALKED, WIDEST, NARROW = 32, 1024, 3
"""Replicates of a chunk whose walks are quick: from the first to the second number, or at most the third.

XLA joins the steps of a walk into one loop over very short vectors; of longer ones each costs as much as dozens do.
"""

LEAST_SHARE = 2000
"""Replicates that are worth a worker of their own."""

SUMS_HELD = 4
"""Times that sums without some units are held at the peak of a chunk, beside what is left out of them."""

MOST_SUBSETS = 2_000_000
"""Delete-d jackknives with more subsets are refused."""


class Resampled(Protocol):
    """A program that is evaluated under the rows of a bank."""

    @property
    def program(self) -> Program:
        """The program over the units that were seen."""

    @property
    def whole(self) -> Any:
        """The row of weights of the data themselves."""

    def of_rows(self, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Return values, standard errors if asked for, and whether a class is absent, (S, B) each."""


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


@functools.partial(jax.jit, static_argnames="size")
def _rows(
    scheme: Scheme, key: jax.Array, purpose: jax.Array, start: jax.Array, whole: jax.Array, *, size: int
) -> jax.Array:
    """Return the rows of replicates from number ``start`` on, a program that all statistics share.

    The data themselves, ``whole`` (U,), ride along as a last row, so that estimates need no program of their own.
    """
    drawn = scheme.bank_rows(jax.random.fold_in(key, purpose), start + jnp.arange(size, dtype=jnp.int32))
    return jnp.concatenate([drawn, jnp.asarray(whole, drawn.dtype)[None, :]])


@functools.partial(jax.jit, static_argnames="errors")
def _chunk(program: Resampled, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
    return program.of_rows(rows, errors=errors)


def default_budget() -> int:
    """Bytes a chunk may use: a quarter of an accelerator's free memory, a cache's worth on a CPU."""
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if not stats:
        return CACHE_BUDGET
    free = stats.get("bytes_limit", 4 << 30) - stats.get("bytes_in_use", 0)
    return max(CACHE_BUDGET, free // 4)


@functools.partial(jax.jit, static_argnames=("size", "block"))
def _streamed(
    program: Resampled, scheme: Scheme, key: jax.Array, purpose: jax.Array, start: jax.Array, *, size: int, block: int
) -> tuple[jax.Array, None, jax.Array]:
    """Return what :func:`_chunk` does of :func:`_rows`, of which no more than a block is held at a time."""
    key = jax.random.fold_in(key, purpose)

    def values(rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        found, _, absent = program.of_rows(rows, errors=False)
        return found.T, absent.T

    drawn = in_parts(lambda ids: values(scheme.bank_rows(key, ids)), start + jnp.arange(size, dtype=jnp.int32), block)
    whole = values(jnp.asarray(program.whole, jnp.uint8)[None, :])
    found, absent = (jnp.concatenate(parts).T for parts in zip(drawn, whole, strict=True))
    return found, None, absent


def bytes_per_replicate(program: Program, *, errors: bool = False, narrow: bool = False) -> int:
    """Estimate the bytes that one replicate of a chunk needs at its peak; ``narrow``, where its counts have 8 bits."""
    units = len(program.multiplicity)
    tables = [source.cells.whole for source in program.sources if isinstance(source, CellsOfUnits)]
    if _light(program) and not errors:
        return max((4 if narrow else 32) * units, 16 * max(tables, default=0))
    leaves = [x for source in program.sources for x in jax.tree.leaves(source)]
    rows = max((np.shape(x)[0] for x in leaves if np.ndim(x) > 0), default=0)
    classes = max((np.shape(x)[-1] for x in leaves if np.ndim(x) > 1), default=1)
    per = 4 * units + max(rows * (1 + 6 * classes), 2 * max(tables, default=0))
    if errors:
        per += (2 * units + 6 * rows) * len(program.statistics)
    return 8 * per


def _light(program: Program) -> bool:
    """Whether the bank is all that is made of rows: a CPU sums along it."""
    of_sums = all(isinstance(statistic, LinearStatistic | RankedStatistic) for statistic in program.statistics)
    return jax.default_backend() == "cpu" and of_sums


def _walks(program: Program) -> bool:
    """Whether resamples are walked along rankings, beside sums at most."""
    return _light(program) and any(isinstance(statistic, RankedStatistic) for statistic in program.statistics)


def _budget(program: Program) -> int:
    if not _light(program):
        return default_budget()
    return WALK_BUDGET if _walks(program) else SUM_BUDGET


def most_together(program: Program, budget: int, *, errors: bool = False, narrow: bool = False) -> int:
    """Return how many replicates a chunk of ``budget`` bytes holds, at least one, where steps are to be quick."""
    most = max(1, budget // bytes_per_replicate(program, errors=errors, narrow=narrow))
    if _walks(program) and not errors:
        return min(most, NARROW if most < WALKED else WIDEST)
    return most


def chunk_size(
    program: Program, scheme: Scheme, n_resamples: int, budget: int, *, errors: bool, workers: int = 1
) -> int:
    """Return the number of replicates a chunk holds: a multiple of the scheme's block.

    ``workers`` chunks run at a time and share the ``budget``; each gets as many chunks, where
    there are replicates enough for all.
    """
    block = scheme.block
    most = max(1, most_together(program, budget // workers, errors=errors, narrow=scheme.narrow) // block)
    total = -(-n_resamples // block)
    chunks = -(-total // most)
    shares = max(1, min(workers, n_resamples // LEAST_SHARE))
    chunks = -(-chunks // shares) * shares
    return -(-total // min(chunks, total)) * block


def chunk_workers() -> int:
    """Chunks to run at a time: XLA runs most of one on a single core of a CPU."""
    return min(8, os.cpu_count() or 1) if jax.default_backend() == "cpu" else 2


def replicate(
    program: Resampled,
    scheme: Scheme,
    key: jax.Array,
    n_resamples: int,
    *,
    purpose: int = 0,
    errors: bool = False,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replicates:
    """Draw ``n_resamples`` resamples and evaluate every statistic on each.

    Cost: O(B U) draws plus one product (B, U) x (U, k) for each source of a linear statistic and
    O(B n) for each other statistic. Memory: ``memory_limit`` bytes, or one replicate if that
    takes more. Chunk size never changes a draw; ``purpose``, folded into the key, does.
    """
    workers = chunk_workers()
    budget = memory_limit or _budget(program.program)
    size = chunk_size(program.program, scheme, n_resamples, budget, errors=errors, workers=workers)
    program, scheme = jax.device_put((program, scheme), next(iter(key.devices())))  # threads know no default device
    wide = jnp.result_type(float) == jnp.float64
    streams = scheme.narrow and _light(program.program) and not _walks(program.program) and not errors
    block = rows_in_cache(len(program.program.multiplicity))

    def run(start: int) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        with jax.enable_x64(wide):  # a context of the calling thread
            numbered = np.int32(purpose), np.int32(start)
            if streams:
                return jax.block_until_ready(_streamed(program, scheme, key, *numbered, size=size, block=block))
            rows = _rows(scheme, key, *numbered, program.whole, size=size)
            return jax.block_until_ready(_chunk(program, rows, errors=errors))

    def finished(parts: int) -> None:
        if progress is not None:
            progress(min(parts * size, n_resamples), n_resamples)

    parts = each(run, range(0, n_resamples, size), workers, finished)
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
        tied = np.abs(values - estimates[:, None]) <= tie_width(values, estimates)[:, None]
        return np.where(tied, estimates[:, None], values)


def tie_width(values: Any, estimates: Any) -> Any:
    """Return how far from the estimate (S,) rounding may move a value that equals it, among replicates (S, B)."""
    xp = namespace(values, estimates)
    with np.errstate(invalid="ignore"):
        apart = xp.abs(values - estimates[:, None])
        largest = xp.max(xp.where(xp.isfinite(apart), apart, 0.0), axis=1, initial=0.0)
        return 1e-12 * largest + 16 * np.finfo(float).eps * xp.abs(estimates)


@jax.jit
def _sums(source: Any, weights: jax.Array) -> jax.Array:
    return source.sums(weights)


@jax.jit
def _without(program: Program, deleted: jax.Array) -> jax.Array:
    return program.values_without(deleted)


def _most_left_out(program: Program, d: int) -> int:
    """Return how many values without ``d`` units a chunk holds: of sums as many as what is left out of them allows.

    A chunk reads the sums of all rows anew, so one of few values would cost O(n) for each few.
    """
    if not all(isinstance(statistic, LinearStatistic) for statistic in program.statistics):
        return most_together(program, _budget(program))
    whole = jnp.asarray(program.multiplicity)
    sums = sum(_sums.eval_shape(program.sources[source], whole).shape[0] for source, _ in program.where)
    return max(1, _budget(program) // (8 * (d + SUMS_HELD) * sums))


def deleted_values(program: Program, deleted: np.ndarray) -> np.ndarray:
    """Return every statistic with each row of units in ``deleted`` (m, d) left out: (S, m).

    Cost O(n + m d) of sums, O(m n) at most of others, in chunks of the default budget.
    """
    size = min(padded(len(deleted)), _most_left_out(program, deleted.shape[1]))
    program = jax.device_put(program)
    parts = []
    for start in range(0, len(deleted), size):
        part = deleted[start : start + size].astype(np.int32)
        filled = np.pad(part, ((0, size - len(part)), (0, 0)), mode="edge")
        parts.append(np.asarray(_without(program, filled))[:, : len(part)])
    return np.concatenate(parts, axis=1)


def subsets(n: int, delete: int) -> np.ndarray:
    """Return all subsets of ``delete`` units out of ``n``, one a row."""
    if delete == 1:
        return np.arange(n)[:, None]
    count = math.comb(n, delete)
    if count > MOST_SUBSETS:
        raise ValueError(
            f"delete = {delete} of n = {n} means {count:,} subsets, more than {MOST_SUBSETS:,}; use a smaller delete"
        )
    flat = itertools.chain.from_iterable(itertools.combinations(range(n), delete))
    return np.fromiter(flat, np.int64, count * delete).reshape(count, delete)
