"""Banks of resamples of a study's groups."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.iterated import Nested
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Nesting
from jaxci.resampling.bank import Scheme, replicate_keys
from jaxci.resampling.posterior import GammaTables, WeightsWithinStrata
from jaxci.resampling.schemes import make_scheme
from jaxci.resampling.words import exponentials
from jaxci.statistics.layout import Layout

BLOCK, WIDE_BLOCK = 2**17, 2**26
"""Draws of a bank made together: on a CPU they stay in its cache, an accelerator takes all of most banks."""
KEPT = 2**29
"""Bytes that the banks which cells share may take: 80 groups of 9,999 resamples up to n = 670 (weights: 160)."""
BYTES_PER_COUNT = 12
"""A count or weight of a bank, as a number and in the sums that statistics read."""

Piece = tuple[int, int]
"""Resamples of a bank that are read together: the first, and the one after the last."""


class Asked(NamedTuple):
    """What a cell reads of the banks of a group.

    Attributes
    ----------
    counts : bool
        Whether it reads resamples.
    masses : tuple of tuples of float
        Masses of the pseudo-units of each prior whose posterior is drawn.
    nestings : tuple of Nesting
        Sizes of resamples of resamples.
    """

    counts: bool
    masses: tuple[tuple[float, ...], ...] = ()
    nestings: tuple[Nesting, ...] = ()


class Banked(NamedTuple):
    """Banks of a group, or a piece of them, or those of several groups with a leading axis: a pytree.

    Attributes
    ----------
    counts, weights : (U, B + 1) array or None
        As :meth:`Banks.bank` returns them.
    unseen : dict of tuple to (P, B + 1) array
        :meth:`Banks.unseen`, by the masses of pseudo-units.
    nested : dict of Nesting to Nested
    """

    counts: Any
    weights: Any
    unseen: dict[tuple[float, ...], Any]
    nested: dict[Nesting, Nested]


PURPOSES = {"weights": 2**31 - 1, "unseen": 2**31 - 2, "nested": 2**31 - 3}
"""Separate weights of posteriors and resamples of resamples from counts: numbers that no group has."""


def pieces_of(n: int, n_resamples: int, budget: int) -> list[Piece]:
    """Return pieces of a bank of n units, what is read of each of which fits ``budget`` bytes."""
    rows = max(1, BLOCK // n)
    most = max(1, budget // (BYTES_PER_COUNT * n * rows)) * rows
    count = -(-n_resamples // most)
    size = -(-n_resamples // (count * rows)) * rows
    return [(start, min(start + size, n_resamples)) for start in range(0, n_resamples, size)]


class Banks:
    """Banks of groups of data sets: counts of every resample in a column, or weights, and a last column of ones.

    A bank may be asked for piece by piece: the column of ones follows its last piece.

    The bank of group g depends on the key, the number of units n, their strata, B and g. Where cells share banks, a
    later one finds those of an earlier one: they are kept as far as they fit ``budget`` bytes, until another n or B is
    asked for, or other strata.
    """

    def __init__(self, key: jax.Array, budget: int = 0):
        self.key, self.budget = key, budget
        self._shape: tuple[Layout, int] | None = None
        self._kept: dict[tuple[Any, ...], jax.Array] = {}
        self._held = 0

    def of(
        self, group: int, asked: Asked, layout: Layout, n_resamples: int, spread: Spread, piece: Piece | None = None
    ) -> Banked:
        """Return what is asked of the banks of a group, or of a piece of them."""
        given = group, layout, n_resamples, spread, piece
        return Banked(
            self.bank("counts", *given) if asked.counts else None,
            self.bank("weights", *given) if asked.masses else None,
            {masses: self.unseen(group, masses, n_resamples, piece) for masses in asked.masses},
            {nesting: self.nested(group, layout.n_units, nesting) for nesting in asked.nestings},
        )

    def of_groups(
        self, groups: Sequence[int], asked: Asked, layout: Layout, n_resamples: int, spread: Spread
    ) -> Banked:
        """Return what is asked of the banks of several groups, with a leading axis: what :meth:`of` returns of each."""
        of_group = jnp.asarray(groups, jnp.int32)

        def keys(kind: str) -> jax.Array:
            return replicate_keys(self._key(kind), of_group)

        def columns(kind: str) -> jax.Array:
            def drawn(units: Layout) -> jax.Array:
                n, (rows, starts) = units.n_units, _blocks(units.n_units, (0, n_resamples), spread)
                shared, static = (starts, make_scheme(units), _within_strata(units)), {"n_resamples": n_resamples}
                return spread(_columns_of_groups, keys(kind), shared, kind=kind, n=n, rows=rows, **static)

            return self._kept_or(drawn, layout, n_resamples, (kind, *groups))

        unseen = jax.vmap(functools.partial(_unseen, n_resamples=n_resamples), in_axes=(0, None))
        return Banked(
            columns("counts") if asked.counts else None,
            columns("weights") if asked.masses else None,
            {masses: unseen(keys("unseen"), GammaTables.of(masses)) for masses in asked.masses},
            {
                nesting: jax.vmap(functools.partial(Nested.drawn, layout.n_units, nesting))(keys("nested"))
                for nesting in asked.nestings
            },
        )

    def bank(
        self, kind: str, group: int, layout: Layout, n_resamples: int, spread: Spread, piece: Piece | None = None
    ) -> jax.Array:
        """Return the bank (U, B + 1) of the units of a group.

        Of "counts", one byte each, in strata four, or of exponential "weights" in single precision.
        """
        piece = piece or (0, n_resamples)

        def drawn(units: Layout) -> jax.Array:
            n, (rows, starts) = units.n_units, _blocks(units.n_units, piece, spread)
            shared = jax.random.fold_in(self._key(kind), group), make_scheme(units), _within_strata(units)
            found = spread(_DRAWN[kind], starts, shared, n=n, rows=rows)
            return _closed(found, n=n, n_resamples=piece[1] - piece[0], last=piece[1] == n_resamples)

        return self._kept_or(drawn, layout, n_resamples, (kind, group, piece))

    def unseen(self, group: int, masses: tuple[float, ...], n_resamples: int, piece: Piece | None = None) -> jax.Array:
        """Return the weights (P, B + 1) of pseudo-units of these masses that go with those of the units, 0 at last."""
        key = jax.random.fold_in(self._key("unseen"), group)
        whole = _unseen(key, GammaTables.of(masses), n_resamples=n_resamples)
        start, stop = piece or (0, n_resamples)
        return whole[:, start : stop + (stop == n_resamples)]

    def nested(self, group: int, n: int, nesting: Nesting) -> Nested:
        """Return resamples of resamples of n units."""
        return Nested.drawn(n, nesting, jax.random.fold_in(self._key("nested"), group))

    def _key(self, kind: str) -> jax.Array:
        return self.key if kind == "counts" else jax.random.fold_in(self.key, PURPOSES[kind])

    def _kept_or(
        self, drawn: Callable[[Layout], jax.Array], layout: Layout, n_resamples: int, name: tuple[Any, ...]
    ) -> jax.Array:
        """Return the bank of this name if it is kept, else what is drawn of the units, which is kept if it fits."""
        units = Layout(layout.n_units, strata=layout.strata)
        if self._shape != (units, n_resamples):
            self._shape, self._kept, self._held = (units, n_resamples), {}, 0
        if name in self._kept:
            return self._kept[name]
        bank = drawn(units)
        if self._held + bank.nbytes <= self.budget:
            self._kept[name] = bank
            self._held += bank.nbytes
        return bank


def _blocks(n: int, piece: Piece, spread: Spread) -> tuple[int, np.ndarray]:
    """Return how many resamples of n units are drawn together, and the first of each such block of a piece."""
    start, stop = piece
    rows = max(1, min(stop - start, (BLOCK if spread.on_cpu else WIDE_BLOCK) // n))
    return rows, np.arange(start, stop, rows, dtype=np.int32)


@functools.partial(jax.jit, static_argnames="n_resamples")
def _unseen(key: jax.Array, tables: GammaTables, *, n_resamples: int) -> jax.Array:
    keys = replicate_keys(key, jnp.arange(n_resamples, dtype=jnp.int32))
    return jnp.pad(tables.variates(exponentials(keys, len(tables.of_unit))).T, ((0, 0), (0, 1)))


def _within_strata(units: Layout) -> WeightsWithinStrata | None:
    """Return the laws of weights of units in strata, None where there are none."""
    if units.strata is None:
        return None
    return WeightsWithinStrata.of(np.ones(units.n_units), units.strata, units.n_strata)


def _bank_weights(
    starts: jax.Array, shared: tuple[jax.Array, Scheme, WeightsWithinStrata | None], *, n: int, rows: int
) -> jax.Array:
    key, _, within = shared

    def block(start: jax.Array) -> jax.Array:
        drawn = exponentials(replicate_keys(key, start + jnp.arange(rows, dtype=jnp.int32)), n)
        return (drawn if within is None else within.weights(drawn)).T

    return jax.lax.map(block, starts)


def _bank_counts(
    starts: jax.Array, shared: tuple[jax.Array, Scheme, WeightsWithinStrata | None], *, n: int, rows: int
) -> jax.Array:
    key, scheme, within = shared
    kind = jnp.uint8 if within is None else jnp.float32  # no count of a bank of any use reaches 256

    def block(start: jax.Array) -> jax.Array:
        return scheme.counts(key, start + jnp.arange(rows, dtype=jnp.int32))[:, :n].T.astype(kind)

    return jax.lax.map(block, starts)


_DRAWN = {"counts": _bank_counts, "weights": _bank_weights}


def _columns_of_groups(
    keys: jax.Array, shared: tuple[Any, ...], *, kind: str, n: int, rows: int, n_resamples: int
) -> jax.Array:
    """Banks (G, n, B + 1) of the groups that these are the keys of, one after another: each is work for a device."""
    starts, scheme, within = shared

    def columns(key: jax.Array) -> jax.Array:
        return _closed(_DRAWN[kind](starts, (key, scheme, within), n=n, rows=rows), n=n, n_resamples=n_resamples)

    return jax.lax.map(columns, keys)


@functools.partial(jax.jit, static_argnames=("n", "n_resamples", "last"))
def _closed(counts: jax.Array, *, n: int, n_resamples: int, last: bool = True) -> jax.Array:
    counts = jnp.swapaxes(counts, 0, 1).reshape(n, -1)[:, :n_resamples]
    return jnp.concatenate([counts, jnp.ones((n, 1), counts.dtype)], axis=1) if last else counts
