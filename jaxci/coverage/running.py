"""Runs a coverage cell group by group, counts, and judges every method."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxci.coverage.banks import Banks, Piece, pieces_of
from jaxci.coverage.cell import Cell, Fixed, Simulation, bounds_of, counts_of, rows_of_evidence, rows_of_replicates
from jaxci.coverage.enumeration import behaviour_of_proportion, enumerable, enumerated
from jaxci.coverage.tally import Behaviour, CellResult, Judgement, Outcomes, Tally, even_sizes, outcomes
from jaxci.distributions import Distribution, Truth, truth
from jaxci.inference.batch_laws import Variants, with_sorted_rows
from jaxci.inference.batch_replicates import Replicated
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Evidence, Method
from jaxci.statistics.base import MomentStatistic, Statistic
from jaxci.statistics.summary import Std

PURPOSE_BANK, PURPOSE_TRUTH = 1, 2
BUDGET = 2**29
"""Bytes that the replicates of some data sets may take at a time, where no limit is given."""
BYTES_PER_REPLICATE = 32
"""Products, their sorted copies and what methods make of them."""
LEAST = 8
"""Data sets, at least, that a device holds at a time: products of a few rows round as those of many do, of one not."""


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


def _parts(cell: Cell, groups: Sequence[int] | None, most: int) -> Iterator[Part]:
    starts = np.concatenate([[0], np.cumsum(cell.group_sizes())])
    mine = range(len(starts) - 1) if groups is None else groups
    for group in mine:
        first, size = int(starts[group]), int(starts[group + 1] - starts[group])
        ends = np.cumsum(even_sizes(size, max(1, -(-size // most))))
        for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            yield Part(group, first + start, end - start, end == size)


def simulate(
    cell: Cell,
    key: jax.Array,
    truths: dict[str, Truth],
    *,
    banks: Banks | None = None,
    groups: Sequence[int] | None = None,
    spread: Spread | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Simulate some groups of a cell, all by default; statistics without a known truth are left out.

    Draws of data set r depend on ``key`` and r alone, the bank of group g on ``banks`` (``key`` by default), n and g.
    The replicates of no more data sets, and no more of a bank, than fit ``memory_limit`` bytes each are held at a time:
    a bank that does not fit is read piece by piece, for which data sets are drawn again each time.
    Cost: G banks of B n draws, R B n multiply-adds a linear statistic, and sorting R rows of B.
    """
    spread = spread or Spread.over()
    banks = banks or Banks(jax.random.fold_in(key, PURPOSE_BANK))
    simulation, tally = Simulation.of(cell, truths), Tally()
    if not simulation.names:
        return tally
    on_host = spread.devices[0].platform == "cpu"
    rows = len(simulation.reading) + sum(map(len, simulation.drawn_masses.values()))
    levels = sum(nesting.outer for want in simulation.wanted for nesting in want.nestings)
    held = BYTES_PER_REPLICATE * (cell.n_resamples * max(1, rows) + levels + cell.n)
    limit = memory_limit or BUDGET
    most = max(LEAST * len(spread.devices), limit // held)
    pieces = pieces_of(cell.layout.n_units, cell.n_resamples, limit) if rows else [(0, cell.n_resamples)]
    sizes = cell.group_sizes()
    n_groups = len(sizes if groups is None else groups)
    done = 0
    of_group: list[Any] = []

    def finished(part: Part, found: Any) -> None:
        nonlocal done
        of_group.append(_judged(found, simulation) if on_host else jax.device_get(found))
        if not part.last:
            return
        counts, estimates = jax.tree.map(lambda *parts: np.concatenate(parts), *of_group)
        of_group.clear()
        for name, one in zip(simulation.series.names, counts, strict=True):
            tally.add(name, part.group, one)
        never = np.full(sizes[part.group], np.nan)
        for name in simulation.series.absent:
            tally.add(name, part.group, outcomes(never, never, 0.0))
        for statistic, estimate in zip(simulation.names, estimates, strict=True):
            tally.estimated(statistic, part.group, estimate)
        done += 1
        if progress is not None:
            progress(done, n_groups)

    waiting: list[tuple[Part, Any]] = []
    with jax.enable_x64(True):
        for group, some in itertools.groupby(_parts(cell, groups, most), key=operator.attrgetter("group")):
            parts = list(some)
            read = functools.partial(_read, simulation, key, banks, group, spread)
            found: list[Replicated | None] = [None for _ in parts]
            if len(pieces) == 1:
                fixed = read(*pieces)
            else:
                found, fixed = _replicates(simulation, parts, map(read, pieces), spread), read(None)
            for part, replicates in zip(parts, found, strict=True):
                numbered = part.ids, replicates
                if on_host:
                    gathered = spread(rows_of_evidence, numbered, fixed, **simulation.static)
                else:
                    gathered = spread(counts_of, numbered, simulation.judging(fixed), **simulation.static)
                waiting.append((part, gathered))  # the device goes on while the host counts the part before
                if len(waiting) > 1:
                    finished(*waiting.pop(0))
        for one in waiting:
            finished(*one)
    return tally


def _read(
    simulation: Simulation, key: jax.Array, banks: Banks, group: int, spread: Spread, piece: Piece | None
) -> Fixed:
    """Return what all data sets of a group share, of its bank no more than a piece, or nothing."""
    reads = unseen = None
    if piece is not None:
        reads = simulation.read_counts(banks, group, spread, piece)
        unseen = simulation.read_unseen(banks, group, spread, piece)
    return simulation.fixed(key, reads, unseen, simulation.draw_nested(banks, group))


def _replicates(
    simulation: Simulation, parts: Sequence[Part], read: Iterable[Fixed], spread: Spread
) -> list[Replicated | None]:
    """Return the replicates of some data sets from a bank that is read piece by piece, one held at a time."""
    found: list[list[Replicated]] = [[] for _ in parts]
    for fixed in read:
        for part, pieces in zip(parts, found, strict=True):
            piece = spread(rows_of_replicates, part.ids, fixed, **simulation.static)
            pieces.append(jax.block_until_ready(piece))
    return [Replicated.joined(pieces) for pieces in found]


def host_evidence(found: Any, simulation: Simulation) -> list[tuple[Evidence, Variants]]:
    """Return what :func:`rows_of_evidence` found, on the host and sorted."""
    return [
        with_sorted_rows(dataclasses.replace(one, statistic=statistic), own)
        for (one, own), statistic in zip(jax.tree.map(np.asarray, found), simulation.statistics, strict=True)
    ]


def _judged(found: Any, simulation: Simulation) -> tuple[list[Outcomes], list[np.ndarray]]:
    """Do on the host what :func:`counts_of` does after the evidence."""
    evidence = host_evidence(found, simulation)
    with np.errstate(invalid="ignore", divide="ignore"):
        counts = [
            outcomes(*bounds_of(one, evidence), simulation.targets[one.number]) for one in simulation.series.judged
        ]
    return counts, [one.estimate for one, _ in evidence]


def judge(cell: Cell, truths: dict[str, Truth], tally: Tally, seconds: float) -> CellResult:
    """Return the result of a cell from the tally of all its groups, in the order of its statistics."""
    judged, behaved = tally.judge(truths, {name: cell.served(name) for name in cell.statistics})
    judgements: list[Judgement] = []
    behaviours: list[Behaviour] = []
    for name, statistic in cell.statistics.items():
        target, served = truths[name], cell.served(name)
        found = {(j.label, j.level): j for j in judged if j.statistic == name}
        seen = [b for b in behaved if b.statistic == name]
        if not math.isfinite(target.value):
            found = {
                (m, level): _unknown(name, method, level, m) for m, method in served.items() for level in cell.levels
            }
            unknown = math.nan
            seen = [Behaviour(name, unknown, unknown, unknown, unknown, unknown, unknown, (target.how,))]
        elif cell.enumerates(name):
            for label, method in served.items():
                if enumerable(method):
                    for level in cell.levels:
                        found[label, level] = enumerated(name, method, target, cell.n, level, label, cell.n_resamples)
            seen = [behaviour_of_proportion(name, target, cell.n, list(found.values()))]
        judgements += [found[m, level] for m in served for level in cell.levels]
        extra = _remarks(cell.distribution, statistic) if served else ()
        behaviours += [dataclasses.replace(b, flags=(*b.flags, *extra)) for b in seen]
    return CellResult(cell.n, tuple(judgements), tuple(behaviours), seconds)


def _unknown(statistic: str, method: Method, level: float, label: str) -> Judgement:
    unknown = math.nan
    return Judgement(
        statistic, method, level, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, label
    )


def _remarks(distribution: Distribution, statistic: Statistic) -> tuple[str, ...]:
    """Return what the law itself says against trusting moments of a simulation."""
    if distribution.kind != "values" or not isinstance(statistic, MomentStatistic):
        return ()
    spread = distribution.analytic(Std())
    if spread is None or math.isfinite(spread):
        return ()
    return ("the variance of the distribution is infinite: widths, bias and RMSE of a simulation do not settle",)


def run_cell(
    cell: Cell,
    key: jax.Array,
    *,
    truths: dict[str, Truth] | None = None,
    spread: Spread | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CellResult:
    """Simulate one cell and judge every method; see :func:`simulate` for the cost."""
    started = time.perf_counter()
    truths = truths or cell_truths(cell.distribution, cell.statistics, key)
    tally = simulate(cell, key, truths, spread=spread, progress=progress)
    return judge(cell, truths, tally, time.perf_counter() - started)


def cell_truths(distribution: Distribution, statistics: dict[str, Statistic], key: jax.Array) -> dict[str, Truth]:
    """Return the true value of every statistic; NaN, with the reason in ``how``, where there is none."""
    own = jax.random.fold_in(key, PURPOSE_TRUTH)
    found: dict[str, Truth] = {}
    for name, statistic in statistics.items():
        try:
            found[name] = truth(distribution, statistic, own)
        except ValueError as error:
            found[name] = Truth(math.nan, math.nan, str(error))
    return found
