"""One cell of a coverage study: a distribution, a sample size, statistics, methods and levels.

A cell is one program from keys to counters: draws, replicates, evidence, bounds, counts. On an accelerator all of it
runs there and only counts and widths leave; on a CPU the rows of replicates are sorted by threads of the host between
two stages, and the bounds, a few numbers a data set, are computed by the same lines on NumPy arrays.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.banks import Banks
from jaxci.coverage.enumeration import behaviour_of_proportion, enumerable, enumerated
from jaxci.coverage.tally import Behaviour, CellResult, Judgement, Outcomes, Tally, labelled, outcomes
from jaxci.distributions import Distribution, Truth, as_distribution, truth
from jaxci.distributions.base import observations, predicts
from jaxci.inference.batch import Reads, Unseen, Variants, Wanted, batch_evidence, reads_bank, with_sorted_rows
from jaxci.inference.iterated import Nested
from jaxci.inference.program import Rows, read
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Evidence, Method, Nesting, NoInterval, Tails, tails
from jaxci.intervals.capabilities import has_beta_law
from jaxci.intervals.registry import method_by_name
from jaxci.records import record, static
from jaxci.resampling.bank import replicate_keys
from jaxci.resampling.exact_order import QuantileWeights, RankWeights
from jaxci.statistics.base import MomentStatistic, Statistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.summary import Std
from jaxci.statistics.sums import Bank

PURPOSE_DATA, PURPOSE_BANK, PURPOSE_TRUTH, PURPOSE_CHOICE = 0, 1, 2, 3
BUDGET = 2**29
"""Bytes that the replicates of some data sets may take at a time, where no limit is given."""
BYTES_PER_REPLICATE = 32
"""Products, their sorted copies and what methods make of them."""
LEAST = 8
"""Data sets, at least, that a device holds at a time: products of a few rows round as those of many do, of one not."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """What is simulated.

    Attributes
    ----------
    distribution : Distribution
        Or what :func:`~jaxci.distributions.as_distribution` reads.
    n : int
        Sample size.
    statistics : dict of str to Statistic
    methods : sequence of str or Method, or dict of str to such a sequence
        Interval methods, the same for all statistics or by the name of each; those that do not serve
        a statistic are left out for it.
    levels : sequence of float
    n_replications, n_resamples, n_groups : int
        R simulated data sets in G groups, each group with its own bank of B resamples.
    """

    distribution: Distribution
    n: int
    statistics: dict[str, Statistic]
    methods: Sequence[str | Method] | Mapping[str, Sequence[str | Method]]
    levels: Sequence[float] = (0.95,)
    n_replications: int = 10_000
    n_resamples: int = 9_999
    n_groups: int = 80

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", as_distribution(self.distribution))

    @functools.cached_property
    def layout(self) -> Layout:
        """How rows are clustered and stratified."""
        return self.distribution.layout(self.n)

    def served(self, name: str) -> dict[str, Method]:
        """Methods that serve the statistic called ``name``, by their label."""
        wanted = self.methods[name] if isinstance(self.methods, Mapping) else self.methods
        found = labelled(map(method_by_name, wanted))
        statistic, given = self.statistics[name], self.layout.given
        return {label: method for label, method in found.items() if method.refusal_of_rows(statistic, given) is None}

    def simulated(self, name: str) -> dict[str, Method]:
        """Methods whose coverage is simulated: a share of all rows, independent ones, is enumerated instead."""
        served = self.served(name)
        if not self.enumerates(name):
            return served
        return {method: found for method, found in served.items() if not enumerable(found)}

    def enumerates(self, name: str) -> bool:
        """Whether the statistic called ``name`` is a share of all rows, independent ones."""
        return self.layout.plain and has_fixed_trials(self.statistics[name])

    def group_sizes(self) -> list[int]:
        """Return the number of data sets in each group; groups may be ragged by one."""
        groups = min(self.n_groups, self.n_replications)
        return [len(part) for part in np.array_split(np.arange(self.n_replications), groups)]


@record
class Judged:
    """One interval method of a cell at one level: whose interval it is, and what it reads besides evidence."""

    number: int = static()
    method: Method
    tails: Tails
    critical: Any


class Series(NamedTuple):
    """All that is judged in a cell, in one order: names as a reader knows them, and what a program reads.

    A method that has no interval at this n or level has no entry in ``judged``; its name is in ``absent``.
    """

    names: tuple[tuple[str, str, float], ...]
    judged: tuple[Judged, ...]
    absent: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, cell: Cell, methods: Mapping[str, Mapping[str, Method]]) -> Series:
        """Compute the critical values of every method and level."""
        names, judged, absent = [], [], []
        for number, (name, found) in enumerate(methods.items()):
            for method_name, method in found.items():
                for level in cell.levels:
                    series, sides = (name, method_name, level), tails(level)
                    try:
                        critical = method.critical(cell.statistics[name], cell.layout.n_units, sides)
                    except NoInterval:
                        absent.append(series)
                        continue
                    names.append(series)
                    judged.append(Judged(number, method, sides, critical))
        return cls(tuple(names), tuple(judged), tuple(absent))


def bounds_of(judged: Judged, evidence: Sequence[tuple[Evidence, Variants]]) -> tuple[Any, Any]:
    """Return the bounds (R,) of one method, clipped to the estimand's range; NaN where there is no interval."""
    mine, variants = evidence[judged.number]
    found = judged.method.bounds(variants.given_to(judged.method, mine), judged.tails, judged.critical)
    xp, (bottom, top) = mine.xp, mine.statistic.bounds
    missing = xp.isnan(mine.estimate) | xp.isnan(found.low) | xp.isnan(found.high)
    low, high = xp.clip(found.low, bottom, top), xp.clip(found.high, bottom, top)
    return xp.where(missing, xp.nan, low), xp.where(missing, xp.nan, high)


class Fixed(NamedTuple):
    """What all data sets of a cell share: a pytree."""

    distribution: Distribution
    key: jax.Array
    choice: jax.Array
    statistics: tuple[Statistic, ...]
    reads: Reads
    ranks: tuple[QuantileWeights | RankWeights | None, ...]
    unseen: Reads
    nested: dict[Nesting, Nested]


@dataclasses.dataclass(frozen=True, eq=False)
class Simulation:
    """What the programs of a cell read besides banks and draws: of the statistics that are simulated.

    Attributes
    ----------
    names : tuple of str
        Statistics with a known truth, in the order of the programs.
    wanted : tuple of Wanted
        What is read of each.
    series : Series
    targets : (S,) array
        True values.
    """

    cell: Cell
    names: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    series: Series
    targets: np.ndarray

    @classmethod
    def of(cls, cell: Cell, truths: Mapping[str, Truth]) -> Simulation:
        """Settle the methods of a cell and their critical values."""
        known = {name: cell.simulated(name) for name in cell.statistics if math.isfinite(truths[name].value)}
        methods = {name: found for name, found in known.items() if found}
        wanted = tuple(Wanted.by(found.values(), cell.statistics[name]) for name, found in methods.items())
        targets = np.array([truths[name].value for name in methods])
        return cls(cell, tuple(methods), wanted, Series.of(cell, methods), targets)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics that are simulated."""
        return tuple(self.cell.statistics[name] for name in self.names)

    @property
    def reading(self) -> tuple[int, ...]:
        """Numbers of the statistics that read a bank."""
        both = zip(self.statistics, self.wanted, strict=True)
        return tuple(i for i, (s, want) in enumerate(both) if want.replicates_of(s, self.cell.layout))

    @functools.cached_property
    def drawn_masses(self) -> dict[int, tuple[tuple[float, ...], ...]]:
        """Masses of the pseudo-units of each prior of the statistics, by number, whose posterior is drawn."""
        both = enumerate(zip(self.statistics, self.wanted, strict=True))
        law, n, plain = self.cell.distribution, self.cell.n, self.cell.layout.plain
        drawn = {i: (s, want) for i, (s, want) in both if want.priors and not (plain and has_beta_law(s))}
        if not drawn:
            return {}
        with jax.enable_x64(True):
            sample = jax.eval_shape(lambda key: observations(law, law.sample(key, n), predicts(law)), jax.random.key(0))
        return {i: tuple(p.masses(s, sample.n_classes) for p in want.priors) for i, (s, want) in drawn.items()}

    def read_unseen(self, banks: Banks, group: int, spread: Spread) -> Reads:
        """Return what posteriors read: weights of the units of a group, and of those that were not seen."""
        known: list[Unseen | None] = [None] * len(self.names)
        if masses := self.drawn_masses:
            resamples = self.cell.n_resamples
            layout = self.cell.layout
            columns = banks.weights(group, layout, resamples, spread)
            found = _read_weights(self.statistics, columns, which=tuple(masses), layout=layout)
            shared = dict(zip(masses, found, strict=True))
            distinct = dict.fromkeys(one for each in masses.values() for one in each)
            weights = {one: banks.unseen(group, one, resamples) for one in distinct}
            for i, each in masses.items():
                known[i] = Unseen(shared[i], tuple(weights[one] for one in each))
        return Reads.of(known, None)

    @property
    def nestings(self) -> tuple[Nesting, ...]:
        """Sizes of the resamples of resamples that methods read."""
        return tuple(dict.fromkeys(nesting for want in self.wanted for nesting in want.nestings))

    def draw_nested(self, banks: Banks, group: int) -> dict[Nesting, Nested]:
        """Return the resamples of resamples of a group."""
        return {nesting: banks.nested(group, self.cell.layout.n_units, nesting) for nesting in self.nestings}

    @property
    def static(self) -> dict[str, Any]:
        """Static arguments of the programs over data sets."""
        return {"layout": self.cell.layout, "wanted": self.wanted, "derives": predicts(self.cell.distribution)}

    def read(self, columns: jax.Array) -> Reads:
        """Return what every statistic reads of a bank (U, B + 1), and the bank where a method asks for it."""
        whole = any("pivots" in want.needs for want in self.wanted)
        return _read(self.statistics, columns, which=self.reading, whole=whole, layout=self.cell.layout)

    def fixed(
        self,
        key: jax.Array,
        reads: Reads | None,
        unseen: Reads | None = None,
        nested: dict[Nesting, Nested] | None = None,
    ) -> Fixed:
        """Return what all data sets of a group share.

        That is what :meth:`read`, :meth:`read_unseen` and :meth:`draw_nested` gave, None without.
        """
        nothing = Reads.of((None,) * len(self.names), None)
        reads, unseen = reads or nothing, unseen or nothing
        data, choice = (jax.random.fold_in(key, purpose) for purpose in (PURPOSE_DATA, PURPOSE_CHOICE))
        both = zip(self.statistics, self.wanted, strict=True)
        ranks = tuple(want.ranks_of(s, self.cell.layout) for s, want in both)
        law = self.cell.distribution.sharing
        return Fixed(law, data, choice, self.statistics, reads, ranks, unseen, nested or {})

    def judging(self, fixed: Fixed) -> tuple[Fixed, tuple[Judged, ...], jax.Array]:
        """Return what :func:`_counts` reads besides the numbers of data sets."""
        return fixed, self.series.judged, jnp.asarray(self.targets)


def draw(distribution: Distribution, key: jax.Array, start: int, size: int, n: int) -> dict[str, Any]:
    """Draw ``size`` data sets of n observations, numbered from ``start``."""
    ids = jnp.arange(start, start + size, dtype=jnp.int32)
    return jax.tree.map(np.asarray, _drawn(ids, distribution.sharing, key, n=n))


@functools.partial(jax.jit, static_argnames="n")
def _drawn(ids: jax.Array, distribution: Distribution, key: jax.Array, *, n: int) -> dict[str, Any]:
    return jax.vmap(lambda k: distribution.sample(k, n))(replicate_keys(key, ids))


def _evidence(
    ids: jax.Array, fixed: Fixed, *, layout: Layout, wanted: tuple[Wanted, ...], derives: bool
) -> list[tuple[Evidence, Variants]]:
    """Draw the data sets numbered ``ids`` and return the evidence of every statistic, replicates unsorted."""
    law = fixed.distribution
    samples = jax.vmap(lambda k: observations(law, law.sample(k, layout.n), derives))(replicate_keys(fixed.key, ids))
    uniform = None
    if any("uniform" in want.needs for want in wanted):
        uniform = jax.vmap(lambda k: jax.random.uniform(k, dtype=jnp.float64))(replicate_keys(fixed.choice, ids))
    shared, bank = fixed.reads.given()
    unseen, _ = fixed.unseen.given()
    return batch_evidence(
        fixed.statistics, wanted, samples, shared, fixed.ranks, bank, uniform, unseen, fixed.nested, layout
    )


def _rows_of_evidence(ids: jax.Array, fixed: Fixed, **static: Any) -> list[tuple[Evidence, Variants]]:
    """Return :func:`_evidence` without the statistics: all that is left has an axis over data sets."""
    nothing: Any = None
    return [(dataclasses.replace(one, statistic=nothing), own) for one, own in _evidence(ids, fixed, **static)]


def _counts(
    ids: jax.Array,
    fixed: tuple[Fixed, tuple[Judged, ...], jax.Array],
    *,
    layout: Layout,
    wanted: tuple[Wanted, ...],
    derives: bool,
) -> tuple[list[Outcomes], list[jax.Array]]:
    """Do all of a cell for the data sets numbered ``ids``: what became of every interval, and estimates."""
    data, judged, targets = fixed
    evidence = [with_sorted_rows(*one) for one in _evidence(ids, data, layout=layout, wanted=wanted, derives=derives)]
    counts = [outcomes(*bounds_of(series, evidence), targets[series.number]) for series in judged]
    return counts, [one.estimate for one, _ in evidence]


@functools.partial(jax.jit, static_argnames=("which", "whole", "layout"))
def _read(
    statistics: tuple[Statistic, ...], columns: jax.Array, *, which: tuple[int, ...], whole: bool, layout: Layout
) -> Reads:
    bank = Bank.of_columns(columns.astype(jnp.float32), counts=layout.plain)
    found = dict(zip(which, _of_which(statistics, bank, which, layout), strict=True))
    return Reads.of([found.get(i) for i in range(len(statistics))], bank if whole else None)


@functools.partial(jax.jit, static_argnames=("which", "layout"))
def _read_weights(
    statistics: tuple[Statistic, ...], columns: jax.Array, *, which: tuple[int, ...], layout: Layout
) -> tuple[Any, ...]:
    return _of_which(statistics, Bank.of_columns(columns, exchangeable=layout.plain), which, layout)


def _of_which(statistics: Sequence[Statistic], bank: Bank, which: tuple[int, ...], layout: Layout) -> tuple[Any, ...]:
    known = [i for i in which if not reads_bank(statistics[i], layout)]
    found = dict(zip(known, read([statistics[i] for i in known], [Rows(layout.units)] * len(known), bank), strict=True))
    return tuple(found.get(i, bank) for i in which)


class Part(NamedTuple):
    """Some data sets of one group."""

    group: int
    start: int
    size: int
    last: bool


def _parts(cell: Cell, groups: Sequence[int] | None, most: int) -> Iterator[Part]:
    starts = np.concatenate([[0], np.cumsum(cell.group_sizes())])
    mine = range(len(starts) - 1) if groups is None else groups
    for group in mine:
        first, size = int(starts[group]), int(starts[group + 1] - starts[group])
        ends = np.cumsum([len(part) for part in np.array_split(np.arange(size), max(1, -(-size // most)))])
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
    The replicates of no more data sets than fit ``memory_limit`` bytes are held at a time.
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
    most = max(LEAST * len(spread.devices), (memory_limit or BUDGET) // held)
    n_groups = len(cell.group_sizes() if groups is None else groups)
    done = 0

    def finished(part: Part, found: Any) -> None:
        nonlocal done
        counts, estimates = _judged(found, simulation) if on_host else jax.device_get(found)
        for name, one in zip(simulation.series.names, counts, strict=True):
            tally.add(name, part.group, one)
        never = np.full(part.size, np.nan)
        for name in simulation.series.absent:
            tally.add(name, part.group, outcomes(never, never, 0.0))
        for statistic, estimate in zip(simulation.names, estimates, strict=True):
            tally.estimated(statistic, part.group, np.asarray(estimate))
        if part.last:
            done += 1
            if progress is not None:
                progress(done, n_groups)

    waiting: list[tuple[Part, Any]] = []
    with jax.enable_x64(True):
        for group, parts in itertools.groupby(_parts(cell, groups, most), key=operator.attrgetter("group")):
            bank = banks.columns(group, cell.layout, cell.n_resamples, spread) if simulation.reading else None
            reads = None if bank is None else simulation.read(bank)
            unseen, nested = simulation.read_unseen(banks, group, spread), simulation.draw_nested(banks, group)
            fixed = simulation.fixed(key, reads, unseen, nested)
            for part in parts:
                ids = np.arange(part.start, part.start + part.size, dtype=np.int32)
                if on_host:
                    found = spread(_rows_of_evidence, ids, fixed, **simulation.static)
                else:
                    found = spread(_counts, ids, simulation.judging(fixed), **simulation.static)
                waiting.append((part, found))  # the device goes on while the host counts the part before
                if len(waiting) > 1:
                    finished(*waiting.pop(0))
        for one in waiting:
            finished(*one)
    return tally


def host_evidence(found: Any, simulation: Simulation) -> list[tuple[Evidence, Variants]]:
    """Return what :func:`_rows_of_evidence` found, on the host and sorted."""
    return [
        with_sorted_rows(dataclasses.replace(one, statistic=statistic), own)
        for (one, own), statistic in zip(jax.tree.map(np.asarray, found), simulation.statistics, strict=True)
    ]


def _judged(found: Any, simulation: Simulation) -> tuple[list[Outcomes], list[np.ndarray]]:
    """Do on the host what :func:`_counts` does after the evidence."""
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
                        found[label, level] = enumerated(name, method, target.value, cell.n, level, label)
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
