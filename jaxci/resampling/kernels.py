"""Inner loops of resampling, those with a second form for CPUs beside the one for accelerators.

Nothing else in the package asks which machine it runs on. Letters: n observations, B resamples, R data
sets, C cells. A bank transposed, ``bank_t`` (n, B), holds the weights of one observation in all resamples
next to each other.

A bank of integers or of half precision holds counts, and its sums are float32; a bank of float32 or
float64 may hold any weights, and its sums are of that precision. Sums of counts are exact: float32 up to
``2**24``, beyond which sums are float64 (needs 64-bit JAX). Counts of 8 bits or in half precision are
multiplied in half precision on an accelerator, exactly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.special import between

Form = Literal["cpu", "accelerator", "tpu"]
EXACT = 2**24
"""Largest integer up to which float32 holds all."""

COMPARED, FEW = 4096, 32
"""Units up to which a TPU, and a GPU, compares all draws with all of them rather than adding each draw to its place."""

THREADS = min(8, os.cpu_count() or 1)
"""Threads that sort rows on a CPU."""


def by_platform(
    *operands: Any,
    cpu: Callable[..., Any],
    accelerator: Callable[..., Any],
    tpu: Callable[..., Any] | None = None,
    form: Form | None = None,
) -> Any:
    """Call the form for the platform that the program is lowered for, or the ``form`` named."""
    forms: dict[Form, Callable[..., Any]] = {"cpu": cpu, "accelerator": accelerator, "tpu": tpu or accelerator}
    if form is not None:
        return forms[form](*operands)
    others: dict[str, Callable[..., Any]] = {} if tpu is None else {"tpu": tpu}
    return jax.lax.platform_dependent(*operands, cpu=cpu, default=accelerator, **others)


def mapped(function: Callable[[Any], Any], rows: Any, form: Form | None = None) -> Any:
    """Return ``function`` of every row of a pytree: one after another on a CPU, whose cache holds one, else together.

    Parameters
    ----------
    function : callable
        Of one row; returns a pytree of arrays.
    rows : pytree of (R, ...) arrays
    form : {"cpu", "accelerator"}, optional
        Form to use; by default that of the platform.
    """
    return by_platform(rows, cpu=lambda rows: jax.lax.map(function, rows), accelerator=jax.vmap(function), form=form)


def sum_dtype(bank: jax.Array, largest: float = 0) -> Any:
    """Return the type of sums of a bank's weights, where counts sum to ``largest`` at most.

    Raises
    ------
    ValueError
        If float32 does not hold such sums exactly, and 64-bit JAX is off.
    """
    dtype = bank.dtype if bank.dtype in (jnp.float32, jnp.float64) else jnp.dtype(jnp.float32)
    if largest <= EXACT or dtype == jnp.float64:
        return dtype
    if jax.dtypes.canonicalize_dtype(jnp.float64) != jnp.float64:
        raise ValueError(
            f"bank needs 64-bit JAX (jax.enable_x64) for exact sums of counts above 2**24; got sums up to {largest:g}"
        )
    return jnp.dtype(jnp.float64)


def check_places(rows: int, size: int) -> None:
    """Refuse ``rows`` of ``size`` counts whose places 31 bits do not number."""
    if rows * size >= 2**31:
        raise ValueError(f"index times size must stay below 2**31 counts; got {rows} rows of {size}")


def count_rows(
    index: jax.Array,
    size: int,
    counted: jax.Array | None = None,
    *,
    even: bool = False,
    form: Form | None = None,
) -> jax.Array:
    """Count the draws of every resample.

    A CPU adds each draw to its place, in the narrowest integers that hold m, or 8 bits for ``even`` draws, and so does
    a GPU, in 32 bits: places lie apart, so that additions seldom wait for each other. Of few units, where they would,
    a GPU compares all draws with all, and a TPU of up to 4,096: one reduction, of which the comparison is a part and
    not an array.

    Parameters
    ----------
    index : (B, m) int32
        Draws, from 0 to ``size - 1``.
    size : int
        Number of units.
    counted : (m,) or (B, m) bool, optional
        Which draws count; all by default.
    even : bool
        Whether draws are independent, and all of about as many units as there are draws, or more, equally likely: then
        a count of 256 has a chance below 1e-490.
    form : {"cpu", "accelerator", "tpu"}, optional
        Form to use; by default that of the platform.

    Returns
    -------
    (B, size) array
        Counts.

    Raises
    ------
    ValueError
        If ``B * size`` is 2**31 or more.
    """
    rows, m = index.shape
    check_places(rows, size)
    narrow = next(t for t in (jnp.uint8, jnp.uint16, jnp.uint32) if even or m <= jnp.iinfo(t).max)
    counted = jnp.broadcast_to(True if counted is None else counted, index.shape)

    def adding(kind: Any) -> Callable[[jax.Array, jax.Array], jax.Array]:
        def added(index: jax.Array, counted: jax.Array) -> jax.Array:
            place = index + (jnp.arange(rows, dtype=jnp.int32) * size)[:, None]
            counts = jnp.zeros(rows * size, kind)
            counts = counts.at[place.ravel()].add(counted.ravel().astype(kind), mode="promise_in_bounds")
            return counts.reshape(rows, size).astype(float)

        return added

    def compared(index: jax.Array, counted: jax.Array) -> jax.Array:
        unit, kept = jnp.arange(size, dtype=jnp.int32), jnp.where(counted, index, -1)
        return jnp.sum(kept[:, :, None] == unit, axis=1, dtype=jnp.int32).astype(float)

    wide = adding(jnp.uint32)
    forms = {"accelerator": compared if size <= FEW else wide, "tpu": compared if size <= COMPARED else wide}
    return by_platform(index, counted, cpu=adding(narrow), **forms, form=form)


def cumulative_counts(bank_t: jax.Array, form: Form | None = None) -> jax.Array:
    """Return the sums of the first 0, 1, ..., n rows of a transposed bank.

    Parameters
    ----------
    bank_t : (n, B) array
        Weights.
    form : {"cpu", "accelerator"}, optional
        Form to use, row by row or as a parallel scan; by default that of the platform.

    Returns
    -------
    (n + 1, B) array
        Exact for counts.
    """
    n, width = bank_t.shape
    dtype = sum_dtype(bank_t, n)

    def row_by_row(bank_t: jax.Array) -> jax.Array:
        def add(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            sums, total = state[0], state[1] + bank_t[i].astype(dtype)
            return jax.lax.dynamic_update_index_in_dim(sums, total, i + 1, 0), total

        return jax.lax.fori_loop(0, n, add, (jnp.zeros((n + 1, width), dtype), jnp.zeros(width, dtype)))[0]

    def parallel(bank_t: jax.Array) -> jax.Array:
        return jnp.pad(jnp.cumsum(bank_t, axis=0, dtype=dtype), ((1, 0), (0, 0)))

    return by_platform(bank_t, cpu=row_by_row, accelerator=parallel, form=form)


BLOCK = 512
"""Tables that are evaluated together on a CPU: they and what is made of them stay in the cache."""


def in_blocks(function: Callable[[jax.Array], Any], columns: jax.Array, form: Form | None = None) -> Any:
    """Return ``function(columns)`` for a function of each column by itself, block by block on a CPU.

    Parameters
    ----------
    function : callable
        Takes (C, b) for any b and returns a pytree of arrays (b,).
    columns : (C, B) array
    form : {"cpu", "accelerator"}, optional
        Form to use, in blocks or at once; by default that of the platform.
    """
    size = columns.shape[1]
    if size <= BLOCK:
        return function(columns)

    def blocked(columns: jax.Array) -> Any:
        blocks = -(-size // BLOCK)
        filled = jnp.pad(columns, ((0, 0), (0, blocks * BLOCK - size)))
        parts = jnp.swapaxes(filled.reshape(columns.shape[0], blocks, BLOCK), 0, 1)
        return jax.tree.map(lambda x: x.reshape(-1)[:size], jax.lax.map(function, parts))

    return by_platform(columns, cpu=blocked, accelerator=function, form=form)


def in_batches(function: Callable[[Any], Any], rows: Any, size: int) -> Any:
    """Return ``function`` of every row of a pytree, at most ``size`` rows at a time, as :func:`in_parts` does.

    Parameters
    ----------
    function : callable
        Of one row.
    rows : pytree of (B, ...) arrays
    size : int
    """
    return in_parts(jax.vmap(function), rows, size)


def in_parts(function: Callable[[Any], Any], rows: Any, size: int) -> Any:
    """Return ``function`` of the rows of a pytree, at most ``size`` rows at a time.

    Parts are of one size, the last filled up with its last row: the function is compiled once.

    Parameters
    ----------
    function : callable
        Of some rows; returns a pytree of as many.
    rows : pytree of (B, ...) arrays
    size : int
    """
    count = jax.tree.leaves(rows)[0].shape[0]
    parts = -(-count // size)
    if parts <= 1:
        return function(rows)
    each = -(-count // parts)

    def split(x: jax.Array) -> jax.Array:
        filled = jnp.concatenate([x, jnp.repeat(x[-1:], parts * each - count, axis=0)])
        return filled.reshape(parts, each, *x.shape[1:])

    found = jax.lax.map(function, jax.tree.map(split, rows))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:count], found)


def cell_counts(cumulative: jax.Array, counts: jax.Array) -> jax.Array:
    """Return the counts per cell of every resample of a data set with ``counts`` rows per cell.

    Rows of a bootstrap are exchangeable, so those of a data set may be taken sorted by cell: each
    cell's count is a difference of two cumulative sums, whatever n.

    Parameters
    ----------
    cumulative : (n + 1, B) array
        :func:`cumulative_counts` of a transposed bank.
    counts : (C,) integer array
        Rows per cell, n in all.

    Returns
    -------
    (C, B) array
        Like ``cumulative``; exact for counts.
    """
    ends = jnp.cumsum(jnp.asarray(counts), dtype=jnp.int32)
    ends = jnp.concatenate([jnp.zeros(1, jnp.int32), ends])
    reached = cumulative.at[ends].get(mode="promise_in_bounds")
    return reached[1:] - reached[:-1]


class RankPicks(NamedTuple):
    """Places, in a sorted sample, of the two values between which a resample's quantile lies.

    The quantile is :func:`~jaxci.special.between` ``x[low]`` and ``x[high]``, x the sorted sample.

    Attributes
    ----------
    low, high : (B,) int32
        Places, from 0.
    fraction : (B,) float
        From 0 to 1; NaN for a resample without weight.
    """

    low: jax.Array
    high: jax.Array
    fraction: jax.Array

    def of(self, ordered: jax.Array) -> jax.Array:
        """Return the quantiles (B,) that are read from a sorted sample (n,)."""
        low, high = (ordered.at[place].get(mode="promise_in_bounds") for place in (self.low, self.high))
        found: jax.Array = between(low, high, self.fraction)
        return found


def rank_picks(cumulative: jax.Array, q: float | jax.Array) -> RankPicks:
    """Return the places that the quantile of probability ``q`` of every resample reads.

    Of N values repeated by count it lies between those of rank ``l`` and ``l + 1`` from 0, with
    ``l + fraction = (N - 1) q``: the linear quantile (type 7), for ``q = 1/2`` the median with two middle
    values. The places depend on the bank alone and serve every sorted sample.

    Parameters
    ----------
    cumulative : (n + 1, B) array
        :func:`cumulative_counts` of a transposed bank of counts, rows in the order of the sorted sample.
    q : float
        Probability, from 0 to 1.

    Returns
    -------
    RankPicks

    Notes
    -----
    By halving: B log2(n) steps.

    References
    ----------
    Hyndman & Fan (1996), Sample quantiles in statistical packages, definition 7.
    """
    n, resamples = cumulative.shape[0] - 1, jnp.arange(cumulative.shape[1])
    total = cumulative[-1].astype(jnp.int32)
    start = jnp.maximum(total - 1, 0) * jnp.asarray(q, float)
    rank = jnp.floor(start).astype(jnp.int32)

    def place(rank: jax.Array) -> jax.Array:
        """Place of the value of ``rank`` (B,), that of the last where there is none."""
        wanted = jnp.minimum(rank, total - 1)

        def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = ends
            middle = (low + high) // 2
            beyond = cumulative.at[middle + 1, resamples].get(mode="promise_in_bounds") <= wanted
            return jnp.where(beyond, middle + 1, low), jnp.where(beyond, high, middle)

        ends = (jnp.zeros_like(total), jnp.full_like(total, n - 1))
        return jax.lax.fori_loop(0, n.bit_length(), halve, ends)[0]

    fraction = jnp.where(total > 0, start - rank, jnp.nan).astype(cumulative.dtype)
    return RankPicks(place(rank), place(rank + 1), fraction)


def _on_cpu(x: Any) -> bool:
    return not isinstance(x, jax.Array) or next(iter(x.devices())).platform == "cpu"


def sorted_rows(x: Any, form: Form | None = None) -> Any:
    """Return the rows of ``x`` (R, B) in ascending order, NaN last.

    A host function: NumPy in threads for what lies in a CPU's memory (an array of NumPy's comes back), else
    a program on the device that holds ``x``.
    """
    if form == "accelerator" or (form is None and not _on_cpu(x)):
        return jnp.sort(x, axis=-1)
    x = np.array(x)
    parts = np.array_split(x, THREADS) if x.size > 2**16 else [x]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda part: part.sort(axis=-1), parts))
    return x


def stable_order(keys: np.ndarray) -> np.ndarray:
    """Return the stable ascending order (n,) of ``keys`` (n,) without NaN, on the host.

    NumPy sorts with any order among equals in a third of the time of a stable sort; equals are then put right by their
    numbers.
    """
    order = np.argsort(keys)
    rising = keys[order]
    change = rising[1:] != rising[:-1]
    if change.all():
        return order
    numbered = np.zeros(len(order), np.int64)
    np.cumsum(change, out=numbered[1:])
    numbered <<= 32
    numbered |= order
    numbered.sort()
    numbered &= 2**32 - 1
    return numbered
