"""How groups of data sets go through the programs of a cell: several together, one by one, or part by part."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from jaxci.coverage.banks import BYTES_PER_COUNT, Asked, Banked, Banks, Piece, pieces_of
from jaxci.coverage.cell import (
    Cell,
    Drawn,
    Simulation,
    bounds_of,
    counts_of,
    counts_of_groups,
    rows_of_evidence,
    rows_of_replicates,
)
from jaxci.coverage.tally import Outcomes, even_sizes, outcomes
from jaxci.inference.batch_laws import Variants, with_sorted_rows
from jaxci.inference.batch_replicates import Replicated
from jaxci.inference.replicate import default_budget
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Evidence

BUDGET = 2**29
"""Bytes that the replicates of some data sets may take at a time on a CPU, where no limit is given."""
TOGETHER = 2**32
"""The same on an accelerator, or a quarter of its free memory if that is less."""
BYTES_PER_REPLICATE = 32
"""Products, their sorted copies and what methods make of them."""
LEAST = 8
"""Data sets, at least, that a device holds at a time: products of a few rows round as those of many do, of one not."""

Item = TypeVar("Item")


class Part(NamedTuple):
    """Some data sets of one group."""

    group: int
    start: int
    size: int
    last: bool

    @property
    def ids(self) -> np.ndarray:
        """Numbers (size,) of the data sets."""
        return np.arange(self.start, self.start + self.size, dtype=np.int32)


class Found(NamedTuple):
    """What became of every interval of a group's data sets, and their estimates of every statistic."""

    group: int
    counts: list[Outcomes]
    estimates: list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Dispatch:
    """Groups of data sets on their way through the programs of a cell.

    Attributes
    ----------
    simulation : Simulation
    key : PRNG key
        Of the data sets.
    banks : Banks
    spread : Spread
    memory_limit : int or None
        Bytes that replicates and a bank, each, may take at a time.
    """

    simulation: Simulation
    key: jax.Array
    banks: Banks
    spread: Spread
    memory_limit: int | None = None

    @functools.cached_property
    def limit(self) -> int:
        """Bytes that replicates and a bank, each, may take at a time."""
        return self.memory_limit or (BUDGET if self.spread.on_cpu else min(TOGETHER, default_budget()))

    @functools.cached_property
    def n_reading(self) -> int:
        """Number of replicates of a resample: of statistics, and of their posteriors."""
        return self.simulation.reading.n_replicates

    @functools.cached_property
    def bytes_of_data_set(self) -> int:
        """Bytes that a data set needs at its peak."""
        cell = self.simulation.cell
        levels = sum(nesting.outer for want in self.simulation.wanted for nesting in want.nestings)
        return BYTES_PER_REPLICATE * (cell.n_resamples * max(1, self.n_reading) + levels + cell.n)

    @functools.cached_property
    def pieces(self) -> list[Piece]:
        """Resamples of a bank that are read together."""
        units, resamples = self.simulation.cell.layout.n_units, self.simulation.cell.n_resamples
        return pieces_of(units, resamples, self.limit) if self.n_reading else [(0, resamples)]

    @functools.cached_property
    def most_together(self) -> int:
        """Number of groups that fit with their banks."""
        cell = self.simulation.cell
        of_bank = BYTES_PER_COUNT * cell.layout.n_units * cell.n_resamples
        return self.limit // (max(cell.group_sizes()) * self.bytes_of_data_set + of_bank)

    def through(self, groups: Sequence[int]) -> Iterator[Found]:
        """Yield what is found of every group: on accelerators of as many together as fit, in one program."""
        if self.spread.on_cpu or self.most_together < 2:
            return self.by_part(groups)
        return self.together(groups, self.most_together)

    def together(self, groups: Sequence[int], most: int) -> Iterator[Found]:
        """Yield what is found of every group, of up to ``most`` in one program, whose banks are not in pieces."""
        sizes = self.simulation.cell.group_sizes()
        count = max(even_sizes(len(groups), -(-len(groups) // most)))
        simulation = self.simulation
        shared, reading = simulation.judging(simulation.fixed(self.key)), simulation.reading

        def dispatched(some: Sequence[int]) -> Any:
            return self.spread(counts_of_groups, self.rows(some, count), shared, reading=reading, **simulation.static)

        for some, found in _one_ahead([groups[i : i + count] for i in range(0, len(groups), count)], dispatched):
            counts, estimates = jax.device_get(found)
            for place, group in enumerate(some):
                of_group = [x[place, :, : sizes[group]] for x in counts or ()]
                mine = [Outcomes(*one) for one in zip(*of_group, strict=True)]
                yield Found(group, mine, list(estimates[place, :, : sizes[group]]))

    def rows(self, groups: Sequence[int], count: int) -> tuple[np.ndarray, Banked]:
        """Return the numbers of the data sets of some groups, and the banks of each; repeated up to ``count``."""
        cell = self.simulation.cell
        starts, size = np.concatenate([[0], np.cumsum(cell.group_sizes())]), max(cell.group_sizes())
        ids = {group: np.arange(starts[group], starts[group + 1], dtype=np.int32) for group in groups}
        filled = [*groups, *[groups[-1]] * (count - len(groups))]
        banks = self.banks.of_groups(filled, self.simulation.asked, cell.layout, cell.n_resamples, self.spread)
        return np.stack([np.resize(ids[group], size) for group in filled]), banks

    def by_part(self, groups: Sequence[int]) -> Iterator[Found]:
        """Yield what is found of every group, of its data sets as many at a time as fit, and of its bank."""
        most = max(LEAST * len(self.spread.devices), self.limit // self.bytes_of_data_set)
        of_group: list[Any] = []
        for part, found in self._dispatched(groups, most):
            of_group.append(judged(found, self.simulation) if self.spread.on_cpu else jax.device_get(found))
            if part.last:
                yield Found(part.group, *jax.tree.map(lambda *parts: np.concatenate(parts), *of_group))
                of_group.clear()

    def _dispatched(self, groups: Sequence[int], most: int) -> Iterator[tuple[Part, Any]]:
        """Yield parts of groups with what the devices find of them, one ahead of what the host reads."""
        simulation, whole, asked = self.simulation, len(self.pieces) == 1, self.simulation.asked

        def of_part(one: tuple[Part, Replicated | None, Drawn]) -> Any:
            part, replicates, drawn = one
            fixed, rows = simulation.fixed(self.key, drawn), (part.ids, replicates)
            if self.spread.on_cpu:
                return self.spread(rows_of_evidence, rows, fixed, **simulation.static)
            return self.spread(counts_of, rows, simulation.judging(fixed), **simulation.static)

        def ready() -> Iterator[tuple[Part, Replicated | None, Drawn]]:
            for group in groups:
                parts = list(_parts(simulation.cell, group, most))
                found: list[Replicated | None] = [None for _ in parts]
                if not whole:
                    resampled = asked._replace(nestings=())
                    found = self._replicates(parts, (self.drawn(group, resampled, piece) for piece in self.pieces))
                drawn = self.drawn(group, asked if whole else Asked(False, nestings=asked.nestings))
                yield from ((part, replicates, drawn) for part, replicates in zip(parts, found, strict=True))

        return ((part, found) for (part, *_), found in _one_ahead(ready(), of_part))

    def drawn(self, group: int, asked: Asked, piece: Piece | None = None) -> Drawn:
        """Return what the banks of a group give all its data sets, or a piece of them, of what is asked of them."""
        cell = self.simulation.cell
        return self.simulation.read(self.banks.of(group, asked, cell.layout, cell.n_resamples, self.spread, piece))

    def _replicates(self, parts: Sequence[Part], pieces: Iterable[Drawn]) -> list[Replicated | None]:
        """Return the replicates of some data sets from a bank that is read piece by piece, one held at a time."""
        found: list[list[Replicated]] = [[] for _ in parts]
        for drawn in pieces:
            fixed = self.simulation.fixed(self.key, drawn)
            for part, some in zip(parts, found, strict=True):
                piece = self.spread(rows_of_replicates, part.ids, fixed, **self.simulation.static)
                some.append(jax.block_until_ready(piece))
        return [Replicated.joined(some) for some in found]


def _parts(cell: Cell, group: int, most: int) -> Iterator[Part]:
    """Yield the data sets of a group, at most so many at a time."""
    sizes = cell.group_sizes()
    first, size = sum(sizes[:group]), sizes[group]
    ends = np.cumsum(even_sizes(size, max(1, -(-size // most)))).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield Part(group, first + start, end - start, end == size)


def _one_ahead(items: Iterable[Item], dispatched: Callable[[Item], Any]) -> Iterator[tuple[Item, Any]]:
    """Yield every item with what is dispatched for it, the next one first: devices go on while the host reads."""
    waiting: list[tuple[Item, Any]] = []
    for item in items:
        waiting.append((item, dispatched(item)))
        if len(waiting) > 1:
            yield waiting.pop(0)
    yield from waiting


def host_evidence(found: Any, simulation: Simulation) -> list[tuple[Evidence, Variants]]:
    """Return what :func:`~jaxci.coverage.cell.rows_of_evidence` found, on the host and sorted."""
    return [
        with_sorted_rows(dataclasses.replace(one, statistic=statistic), own)
        for (one, own), statistic in zip(jax.tree.map(np.asarray, found), simulation.statistics, strict=True)
    ]


def judged(found: Any, simulation: Simulation) -> tuple[list[Outcomes], list[np.ndarray]]:
    """Do on the host what :func:`~jaxci.coverage.cell.counts_of` does after the evidence."""
    evidence = host_evidence(found, simulation)
    with np.errstate(invalid="ignore", divide="ignore"):
        counts = [
            outcomes(*bounds_of(one, evidence), simulation.targets[one.number]) for one in simulation.series.judged
        ]
    return counts, [one.estimate for one, _ in evidence]
