"""One level of many decision trees.

Each tree keeps, for every feature, its rows in the order of their nodes and, within a node, of the values of
the feature. One pass over the places of that order sums what lies left of every split and keeps the best;
another moves the rows to the order of the next level. Both handle a place of all trees and features at a time
and stop after the rows of nodes that may still split: the work is the sum over rows of the depth of their
leaf, and memory does not grow with ``2**depth``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxci.inducers.nodes import Nodes, Shape, Table, node_count, row_bits, take

LEAST_HESSIAN = 1e-3
"""Sum of second derivatives that both sides of a split must have, as in scikit-learn's histogram boosting."""


class _Slots(NamedTuple):
    """Nodes that may split, S slots of T trees.

    Slot j has the places from ``start[j]`` to ``start[j + 1]``, is the node ``node[j]`` with the sums
    ``total`` (S, Q, T), and lies below splits that gain ``above`` or more; ``number`` (T,) of them are used.
    """

    start: jax.Array
    node: jax.Array
    total: jax.Array
    above: jax.Array
    number: jax.Array


class _Found(NamedTuple):
    """Nodes (M, T), their sums (M, Q, T), the worths of splits (M, T), and how many nodes there are (T,)."""

    nodes: Nodes
    sums: jax.Array
    worth: jax.Array
    used: jax.Array


class _Splits(NamedTuple):
    """The split of every slot (S, T): its first place on the right, or -1 where there is none, and its worth."""

    place: jax.Array
    feature: jax.Array
    threshold: jax.Array
    rank: jax.Array
    worth: jax.Array


class _Level(NamedTuple):
    """What a level starts from.

    ``order`` (n + 1, T, d) holds rows by place, ``spare`` that of the level before; ``best`` and ``place``
    (n, T, m) hold the best score of a split and its place, from the first place of a slot to each;
    ``leading`` (max_leaves - 1, T) are the largest worths of splits.
    """

    order: jax.Array
    spare: jax.Array
    best: jax.Array
    place: jax.Array
    slots: _Slots
    found: _Found
    leading: jax.Array
    depth: jax.Array


class Grower:
    """The steps of a level, for trees that are grown together; arguments as in :func:`grow`."""

    def __init__(
        self, rows: Table, channels: jax.Array, bounds: jax.Array, keys: Any, shape: Shape, n_values: int
    ) -> None:
        self.rows, self.keys, self.shape, self.n_values = rows, keys, shape, n_values
        self.channels = jnp.moveaxis(channels, -1, 0)
        self.min_leaf, self.l2 = bounds.T
        (self.n, self.d), self.dtype = rows.X.shape, channels.dtype
        self.n_channels, self.n_trees, _ = self.channels.shape
        self.bits = row_bits(self.n)
        self.tiny = float(jnp.finfo(self.dtype).eps ** 0.75)
        self.tree = jnp.arange(self.n_trees, dtype=jnp.int32)
        self.tall, self.features = self.tree[:, None], jnp.arange(self.d, dtype=jnp.int32)
        self.n_nodes = node_count(self.n, shape.max_depth)
        self.n_splits = 0 if shape.max_leaves is None else shape.max_leaves - 1
        self.n_slots = max(1, self.n // 2)
        if shape.max_depth is not None:
            self.n_slots = min(self.n_slots, 2 ** min(shape.max_depth - 1, 30))
        if shape.max_leaves is not None:
            self.n_slots = max(1, min(self.n_slots, 2 * self.n_splits))
        self.tried = self.d if shape.n_tried is None else shape.n_tried

    def grown(self) -> tuple[Nodes, jax.Array]:
        """Grow level by level until nothing splits."""
        level = jax.lax.while_loop(lambda level: (level.slots.number > 0).any(), self.advance, self.first())
        found = level.found
        nodes, sums = self.kept(found, level.leading) if self.n_splits else (found.nodes, found.sums)
        return jax.tree.map(lambda x: x.T, nodes), jnp.moveaxis(sums, -1, 0)

    def row(self, entry: jax.Array) -> jax.Array:
        """Return the row of an entry of an order."""
        return entry & ((1 << self.bits) - 1)

    def put(self, array: jax.Array, at: jax.Array, value: jax.Array, where: jax.Array) -> jax.Array:
        """Set ``array[at[t], ..., t]`` for the trees t in ``where``."""
        to = jnp.where(where, at, len(array))
        index = (to, self.tree) if array.ndim == 2 else (to, slice(None), self.tree)
        return array.at[index].set(value.T.astype(array.dtype), mode="drop", unique_indices=True)

    def none(self, *shape: int, of: float = 0, dtype: Any = jnp.int32) -> jax.Array:
        """Return an array with an axis of trees behind ``shape``."""
        return jnp.full((*shape, self.n_trees), of, dtype)

    def slot_at(self, start: jax.Array, i: jax.Array, slot: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the slot of place i, and whether it begins there, by the slot of the place before."""
        begins = i == take(start, slot + 1, self.tree)
        return slot + begins, begins

    def may_split(self, sums: jax.Array, n_rows: jax.Array, depth: jax.Array) -> jax.Array:
        """Tell for a node of every tree, by its sums (Q, T), whether splits are to be looked for."""
        may = (n_rows > 1) & (sums[-1] >= 2 * self.min_leaf * (1 - self.tiny))
        if self.shape.max_depth is not None:
            may &= depth < self.shape.max_depth
        if self.shape.shares:
            shares = sums[: self.n_values]
            may &= (shares < sums[-1]).all(axis=0) & (shares > 0).any(axis=0)
        return may

    def first(self) -> _Level:
        """Return the level of the root."""
        sums, n_rows = self.channels.sum(axis=-1), jnp.sum(self.channels[-1] > 0, axis=-1, dtype=jnp.int32)
        may = self.may_split(sums, n_rows, jnp.int32(0))
        count = may.astype(jnp.int32)
        everything = self.none(self.n_slots + 2, of=2 * self.n + 2).at[0].set(0)
        given = jnp.broadcast_to(
            jnp.pad(self.rows.order, ((0, 1), (0, 0)))[:, None], (self.n + 1, self.n_trees, self.d)
        )
        bases = self.none(self.n_slots + 2), self.none(self.n_slots + 2, of=self.n)
        order = self.moved(
            given, given, everything, bases, lambda row, _: take(self.channels[-1], self.tall, row) == 0, self.n
        )
        slots = _Slots(
            self.put(everything, count, jnp.where(may, n_rows, 0), count >= 0),
            self.none(self.n_slots + 2),
            self.none(self.n_slots + 2, self.n_channels, dtype=self.dtype).at[0].set(sums),
            self.none(self.n_slots + 2, of=jnp.inf, dtype=self.dtype),
            count,
        )
        nodes = Nodes(
            self.none(self.n_nodes), self.none(self.n_nodes, dtype=self.rows.X.dtype), self.none(self.n_nodes)
        )
        all_sums = self.none(self.n_nodes, self.n_channels, dtype=self.dtype).at[0].set(sums)
        found = _Found(nodes, all_sums, self.none(self.n_nodes, of=-jnp.inf, dtype=self.dtype), self.none() + 1)
        best = jnp.zeros((self.n, self.n_trees, self.tried), self.dtype)
        leading = self.none(self.n_splits, of=-jnp.inf, dtype=self.dtype)
        return _Level(order, given, best, jnp.zeros(best.shape, jnp.int32), slots, found, leading, jnp.int32(0))

    def advance(self, level: _Level) -> _Level:
        """Split the slots of a level."""
        length = take(level.slots.start, level.slots.number, self.tree).max()
        chosen = self.choices(level) if self.shape.n_tried is not None else None
        best, place = self.search(level, chosen, length)
        level = level._replace(best=best, place=place)
        splits, leading = self.select(level, chosen)
        slots, found, bases = self.children(level, splits, leading, self.side_sums(level, splits, length))

        def goes_right(row: jax.Array, slot: jax.Array) -> jax.Array:
            by = take(self.rows.ranks, row, take(splits.feature, slot, self.tree)[:, None])
            return by >= take(splits.rank, slot, self.tree)[:, None]

        order = self.moved(level.order, level.spare, level.slots.start, bases, goes_right, length)
        return _Level(order, level.order, best, place, slots, found, leading, level.depth + 1)

    def moved(
        self, order: jax.Array, spare: jax.Array, start: jax.Array, bases: Any, goes_right: Any, length: Any
    ) -> jax.Array:
        """Put rows of every slot from its first base on, or those that go right from its second; n is waste."""

        def step(i: jax.Array, state: Any) -> Any:
            slot, left, right, new = state
            slot, begins = self.slot_at(start, i, slot)
            goes = goes_right(self.row(order[i]), slot)
            left, right = (
                jnp.where(begins[:, None], take(base, slot, self.tree)[:, None], side)
                for base, side in zip(bases, (left, right), strict=True)
            )
            to = jnp.minimum(jnp.where(goes, right, left), self.n)
            new = new.at[to, self.tall, self.features].set(order[i], mode="promise_in_bounds", unique_indices=True)
            return slot, left + ~goes, right + goes, new

        none = jnp.zeros((self.n_trees, self.d), jnp.int32)
        return jax.lax.fori_loop(0, length, step, (self.none(of=-1), none, none, spare))[-1]

    def choices(self, level: _Level) -> jax.Array:
        """Draw features (S, T, m) for every slot, those that vary in it first."""
        start, node = level.slots.start, level.slots.node

        def one(j: jax.Array, chosen: jax.Array) -> jax.Array:
            keys = jax.vmap(jax.random.fold_in)(self.keys, node[j])
            noise = jax.vmap(lambda key: jax.random.uniform(key, (self.d,), jnp.float32))(keys)
            ends = jnp.clip(jnp.stack([start[j], start[j + 1] - 1]), 0, self.n)
            first, last = (take(level.order, end, self.tree) >> self.bits for end in ends)
            return chosen.at[j].set(jax.lax.top_k(noise + (first < last), self.tried)[1])

        none = jnp.zeros((self.n_slots + 2, self.n_trees, self.tried), jnp.int32)
        return jax.lax.fori_loop(0, level.slots.number.max(), one, none)

    def score(self, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the dividend and the divisor of the score of sums (Q, T) or (Q, T, m)."""
        l2 = self.l2.reshape(-1, *(1,) * (sums.ndim - 2))
        return jnp.sum(sums[: self.n_values] ** 2, axis=0), sums[self.n_values] + l2

    def search(self, level: _Level, chosen: jax.Array | None, length: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the best score of a split (n, T, m) from the first place of a slot to each, and its place."""

        def step(i: jax.Array, state: Any) -> Any:
            slot, left, rank, best, place, bests, places = state
            slot, begins = self.slot_at(level.slots.start, i, slot)
            new = begins[:, None]
            total = level.slots.total.at[slot, :, self.tree].get(mode="promise_in_bounds").T
            above, below = self.score(total)
            slack = self.tiny * total[-1]
            least = jnp.maximum(self.min_leaf - slack, slack)[:, None]
            entry = level.order[i] if chosen is None else take(level.order, i, self.tall, take(chosen, slot, self.tree))
            left = jnp.where(new, 0.0, left)
            right = total[:, :, None] - left
            (one, under), (other, beneath) = self.score(left), self.score(right)
            allowed = (entry >> self.bits != rank) & ~new & (left[-1] >= least) & (right[-1] >= least)
            if self.n_channels > self.n_values + 1:
                allowed &= (left[-2] >= LEAST_HESSIAN) & (right[-2] >= LEAST_HESSIAN)
            score = (one * beneath + other * under) / (under * beneath)
            best = jnp.where(new, (above / below)[:, None], best)
            better = allowed & (score > best * (1 + self.tiny) + jnp.finfo(self.dtype).tiny)
            best = jnp.where(better, score, best)
            place = jnp.where(better, i, jnp.where(new, -1, place))
            left = left + self.channels.at[:, self.tall, self.row(entry)].get(mode="promise_in_bounds")
            return slot, left, entry >> self.bits, best, place, bests.at[i].set(best), places.at[i].set(place)

        none = jnp.zeros((self.n_trees, self.tried), self.dtype)
        left = jnp.zeros((self.n_channels, *none.shape), self.dtype)
        none, rank, place = none, none.astype(self.rows.order.dtype), none.astype(jnp.int32)
        state = (self.none(of=-1), left, rank, none, place, level.best, level.place)
        return jax.lax.fori_loop(0, length, step, state)[-2:]

    def select(self, level: _Level, chosen: jax.Array | None) -> tuple[_Splits, jax.Array]:
        """Return the best split of every slot, and the largest worths so far."""
        slots = level.slots

        def one(j: jax.Array, state: Any) -> Any:
            splits, leading = state
            end = jnp.clip(slots.start[j + 1] - 1, 0, self.n - 1)
            best, place = take(level.best, end, self.tree), take(level.place, end, self.tree)
            first = jnp.argmax(best >= jnp.max(best, axis=1, keepdims=True) * (1 - self.tiny), axis=1)
            at = jnp.where(j < slots.number, take(place, self.tree, first), -1)
            feature = first.astype(jnp.int32) if chosen is None else take(chosen, j, self.tree, first)
            on = jnp.maximum(at, 1)
            before, entry = (take(level.order, p, self.tree, feature) for p in (on - 1, on))
            low, high = (take(self.rows.X, self.row(e), feature) for e in (before, entry))
            middle = low + (high - low) / 2
            above, below = self.score(slots.total[j])
            worth = jnp.minimum(take(best, self.tree, first) - above / below, slots.above[j])
            if self.n_splits:
                least = jnp.argmin(leading, axis=0)
                leading = self.put(leading, least, worth, (at >= 0) & (worth > take(leading, least, self.tree)))
            own = _Splits(at, feature, jnp.where(middle < high, middle, low), entry >> self.bits, worth)
            return jax.tree.map(lambda x, new: x.at[j].set(new), splits, own), leading

        none = self.none(self.n_slots + 2)
        real = self.none(self.n_slots + 2, dtype=self.dtype)
        start = _Splits(none - 1, none, real.astype(self.rows.X.dtype), none.astype(self.rows.order.dtype), real)
        return jax.lax.fori_loop(0, slots.number.max(), one, (start, level.leading))

    def side_sums(self, level: _Level, splits: _Splits, length: jax.Array) -> jax.Array:
        """Return sums (n, Q, T) over the rows of the side of a split up to every place, in the order of its feature."""

        def step(i: jax.Array, state: Any) -> Any:
            slot, sums, found = state
            slot, begins = self.slot_at(level.slots.start, i, slot)
            row = self.row(take(level.order, i, self.tree, take(splits.feature, slot, self.tree)))
            anew = begins | (i == take(splits.place, slot, self.tree))
            sums = jnp.where(anew, 0.0, sums) + self.channels.at[:, self.tree, row].get(mode="promise_in_bounds")
            return slot, sums, found.at[i].set(sums)

        sums = self.none(self.n_channels, dtype=self.dtype)
        state = (self.none(of=-1), sums, self.none(self.n, self.n_channels, dtype=self.dtype))
        return jax.lax.fori_loop(0, length, step, state)[-1]

    def children(
        self, level: _Level, splits: _Splits, leading: jax.Array, sums: jax.Array
    ) -> tuple[_Slots, _Found, tuple[jax.Array, jax.Array]]:
        """Return the slots of the next level, all nodes, and where the rows of either side of a slot go."""
        slots = level.slots
        least = jnp.min(leading, axis=0) if self.n_splits else self.none(of=-jnp.inf, dtype=self.dtype)

        def one(j: jax.Array, state: Any) -> Any:
            new, (nodes, all_sums, worth, used), bases, base = state
            divides = (j < slots.number) & (splits.place[j] >= 0) & (splits.worth[j] >= least)
            nodes = Nodes(
                self.put(nodes.feature, slots.node[j], splits.feature[j], divides),
                self.put(nodes.threshold, slots.node[j], splits.threshold[j], divides),
                self.put(nodes.child, slots.node[j], used, divides),
            )
            worth = self.put(worth, slots.node[j], splits.worth[j], divides)
            cut, end = jnp.maximum(splits.place[j], 1), jnp.clip(slots.start[j + 1], 1, self.n)
            for side, (first, last) in enumerate(((slots.start[j], cut), (cut, end))):
                own = sums.at[last - 1, :, self.tree].get(mode="promise_in_bounds").T
                may = divides & self.may_split(own, last - first, level.depth + 1) & (new.number < self.n_slots)
                all_sums = self.put(all_sums, used + side, own, divides)
                new = _Slots(
                    self.put(new.start, new.number, base, may),
                    self.put(new.node, new.number, used + side, may),
                    self.put(new.total, new.number, own, may),
                    self.put(new.above, new.number, splits.worth[j], may),
                    new.number + may,
                )
                bases[side] = bases[side].at[j].set(jnp.where(may, base, self.n))
                base = base + jnp.where(may, last - first, 0)
            return new, _Found(nodes, all_sums, worth, used + 2 * divides), bases, base

        new = slots._replace(start=self.none(self.n_slots + 2, of=2 * self.n + 2), number=self.none())
        bases = [self.none(self.n_slots + 2, of=self.n)] * 2
        new, found, bases, base = jax.lax.fori_loop(0, slots.number.max(), one, (new, level.found, bases, self.none()))
        start = self.put(new.start, new.number, base, new.number >= 0)
        return new._replace(start=start), found, (bases[0], bases[1])

    def kept(self, found: _Found, leading: jax.Array) -> tuple[Nodes, jax.Array]:
        """Return the nodes (2 * max_leaves - 1, T) that the leading splits leave, and their sums."""
        least = jnp.min(leading, axis=0)
        # Of splits that are worth the same, as many stay as there is room for: those above others first.
        ties = (found.worth == least) & (least > -jnp.inf)
        room = self.n_splits - jnp.sum(found.worth > least, axis=0)
        stays = (found.worth > least) | (ties & (jnp.cumsum(ties, axis=0) <= room))
        number = jnp.where(stays, jnp.cumsum(stays, axis=0) - 1, self.n_splits)
        old = (
            self.none(self.n_splits, of=-1)
            .at[number, self.tree]
            .set(jnp.arange(self.n_nodes, dtype=jnp.int32)[:, None], mode="drop")
        )
        on, at = old >= 0, jnp.maximum(old, 0)
        below = take(found.nodes.child, at, self.tree)
        # The i-th split that stays has the children 2 i + 1 and 2 i + 2.
        twice = jnp.where(on, 2 * jnp.arange(self.n_splits, dtype=jnp.int32)[:, None] + 1, 2 * self.n_splits + 1)
        source = self.none(2 * self.n_splits + 1)
        for side in (0, 1):
            source = source.at[twice + side, self.tree].set(below + side, mode="drop")
        new = self.none(self.n_nodes).at[jnp.where(on, below, self.n_nodes), self.tree].set(twice, mode="drop")
        new = new.at[jnp.where(on, below + 1, self.n_nodes), self.tree].set(twice + 1, mode="drop")
        nodes = Nodes(*(take(part, source, self.tree) for part in found.nodes))
        child = jnp.where(take(stays, source, self.tree), take(new, nodes.child, self.tree), 0)
        return nodes._replace(child=child), found.sums.at[source, :, self.tree].get().transpose(0, 2, 1)
