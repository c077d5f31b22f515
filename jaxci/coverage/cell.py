"""One cell of a coverage study: a distribution, a sample size, statistics, methods and levels.

A cell is one program from keys to counters: draws, replicates, evidence, bounds, counts. On an accelerator all of it
runs there and only counts and widths leave; on a CPU the rows of replicates are sorted by threads of the host between
two stages, and the bounds, a few numbers a data set, are computed by the same lines on NumPy arrays.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.banks import Asked, Banked
from jaxci.coverage.enumeration import enumerable
from jaxci.coverage.tally import Outcomes, even_sizes, labelled, outcomes
from jaxci.distributions import Distribution, Truth, as_distribution
from jaxci.distributions.base import observations, predicts
from jaxci.inference.batch import batch_evidence
from jaxci.inference.batch_laws import Variants, with_sorted_rows
from jaxci.inference.batch_posteriors import Unseen
from jaxci.inference.batch_replicates import Reads, Replicated, programs_of, reads_bank, replicates_of
from jaxci.inference.iterated import Nested
from jaxci.inference.program import Program, Rows, read
from jaxci.inference.wanted import Wanted
from jaxci.intervals.base import Evidence, Method, Nesting, NoInterval, Tails, tails
from jaxci.intervals.capabilities import has_beta_law
from jaxci.intervals.registry import method_by_name
from jaxci.records import record, static
from jaxci.resampling.bank import replicate_keys
from jaxci.resampling.exact_order import QuantileWeights, RankWeights
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank
from jaxci.tracing import as_now, of_users

PURPOSE_DATA, PURPOSE_CHOICE = 0, 3
"""What keys of a cell are folded with; 1 and 2 are :mod:`~jaxci.coverage.running`'s."""


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
        return even_sizes(self.n_replications, min(self.n_groups, self.n_replications))


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
    """Return the bounds (R,) of one method, clipped to the estimand's range; NaN where there is no interval.

    A share of no rows could be anything: the whole range, as for one data set (:mod:`jaxci.inference.engine`).
    """
    mine, variants = evidence[judged.number]
    found = judged.method.checked_bounds(variants.given_to(judged.method, mine), judged.tails, judged.critical)
    xp, (bottom, top) = mine.xp, mine.statistic.bounds
    missing = xp.isnan(mine.estimate) | xp.isnan(found.low) | xp.isnan(found.high)
    low, high = (xp.where(missing, xp.nan, xp.clip(end, bottom, top)) for end in found)
    if mine.nobs is None:
        return low, high
    nothing = (mine.nobs == 0) & ~xp.isnan(mine.estimate)
    return xp.where(nothing, bottom, low), xp.where(nothing, top, high)


class Reading(NamedTuple):
    """What the statistics of a cell read of banks.

    Attributes
    ----------
    which : tuple of int
        Numbers of those that read counts.
    whole : bool
        Whether a method asks for the counts themselves.
    masses : tuple of (int, tuple of tuples of float)
        Numbers of those whose posterior is drawn, with the masses of the pseudo-units of each of its priors.
    """

    which: tuple[int, ...]
    whole: bool
    masses: tuple[tuple[int, tuple[tuple[float, ...], ...]], ...]

    @property
    def n_replicates(self) -> int:
        """Number of replicates of a resample: of statistics, and of their posteriors."""
        return len(self.which) + sum(len(each) for _, each in self.masses)


class Drawn(NamedTuple):
    """What the banks of a group give all its data sets: a pytree."""

    reads: Reads
    unseen: Reads
    nested: dict[Nesting, Nested]


class Fixed(NamedTuple):
    """What all data sets of a group share, those of other groups too but for what is ``drawn``: a pytree."""

    distribution: Distribution
    key: jax.Array
    choice: jax.Array
    statistics: tuple[Statistic, ...]
    ranks: tuple[QuantileWeights | RankWeights | None, ...]
    drawn: Drawn | None


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

    @functools.cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics that are simulated; users' own as they compute now."""
        found = tuple(self.cell.statistics[name] for name in self.names)
        if not any(map(of_users, found)):
            return found
        weights = jax.ShapeDtypeStruct((self.cell.n,), np.float64)
        return tuple(as_now(one, _value, self.rows, weights) for one in found)

    @functools.cached_property
    def rows(self) -> Sample:
        """Shapes of the rows of a data set."""
        law, n = self.cell.distribution, self.cell.n
        with jax.enable_x64(True):
            return jax.eval_shape(lambda key: observations(law, law.sample(key, n), predicts(law)), jax.random.key(0))

    @functools.cached_property
    def reading(self) -> Reading:
        """What the statistics read of banks."""
        both = list(enumerate(zip(self.statistics, self.wanted, strict=True)))
        layout = self.cell.layout
        which = tuple(i for i, (s, want) in both if want.replicates_of(s, layout))
        whole = any("pivots" in want.needs for want in self.wanted)
        drawn = {i: (s, want) for i, (s, want) in both if want.priors and not (layout.plain and has_beta_law(s))}
        if not drawn:
            return Reading(which, whole, ())
        masses = ((i, tuple(p.masses(s, self.rows.n_classes) for p in want.priors)) for i, (s, want) in drawn.items())
        return Reading(which, whole, tuple(masses))

    @functools.cached_property
    def asked(self) -> Asked:
        """What the programs read of the banks of a group."""
        masses = dict.fromkeys(one for _, each in self.reading.masses for one in each)
        nestings = dict.fromkeys(nesting for want in self.wanted for nesting in want.nestings)
        return Asked(bool(self.reading.which), tuple(masses), tuple(nestings))

    def read(self, banked: Banked) -> Drawn:
        """Return what every statistic reads of the banks of a group."""
        return _read(self.statistics, banked, reading=self.reading, layout=self.cell.layout)

    @property
    def static(self) -> dict[str, Any]:
        """Static arguments of the programs over data sets."""
        return {"layout": self.cell.layout, "wanted": self.wanted, "derives": predicts(self.cell.distribution)}

    def fixed(self, key: jax.Array, drawn: Drawn | None = None) -> Fixed:
        """Return what all data sets of a group share, or those of all groups where nothing is ``drawn``."""
        data, choice = (jax.random.fold_in(key, purpose) for purpose in (PURPOSE_DATA, PURPOSE_CHOICE))
        both = zip(self.statistics, self.wanted, strict=True)
        ranks = tuple(want.ranks_of(s, self.cell.layout) for s, want in both)
        return Fixed(self.cell.distribution.sharing, data, choice, self.statistics, ranks, drawn)

    def judging(self, fixed: Fixed) -> tuple[Fixed, tuple[Judged, ...], jax.Array]:
        """Return what :func:`counts_of` reads besides the numbers of data sets."""
        return fixed, self.series.judged, jnp.asarray(self.targets)


def _value(statistic: Statistic, sample: Sample, weights: jax.Array) -> jax.Array:
    return statistic.value(statistic.prepare(sample), weights)


def draw(distribution: Distribution, key: jax.Array, start: int, size: int, n: int) -> dict[str, Any]:
    """Draw ``size`` data sets of n observations, numbered from ``start``."""
    ids = jnp.arange(start, start + size, dtype=jnp.int32)
    return jax.tree.map(np.asarray, _drawn(ids, distribution.sharing, key, n=n))


@functools.partial(jax.jit, static_argnames="n")
def _drawn(ids: jax.Array, distribution: Distribution, key: jax.Array, *, n: int) -> dict[str, Any]:
    return jax.vmap(lambda k: distribution.sample(k, n))(replicate_keys(key, ids))


def _samples(ids: jax.Array, fixed: Fixed, layout: Layout, derives: bool) -> tuple[Sample, Program]:
    """Draw the data sets numbered ``ids``, and prepare the statistics for them."""
    law = fixed.distribution
    samples = jax.vmap(lambda k: observations(law, law.sample(k, layout.n), derives))(replicate_keys(fixed.key, ids))
    return samples, programs_of(fixed.statistics, samples, layout)


def _replicates(
    samples: Sample, programs: Program, fixed: Fixed, layout: Layout, wanted: tuple[Wanted, ...]
) -> Replicated:
    assert fixed.drawn is not None
    shared, bank = fixed.drawn.reads.given()
    unseen, _ = fixed.drawn.unseen.given()
    return replicates_of(fixed.statistics, wanted, samples, programs, shared, bank, unseen, layout)


def _evidence(
    ids: jax.Array,
    fixed: Fixed,
    found: Replicated | None = None,
    *,
    layout: Layout,
    wanted: tuple[Wanted, ...],
    derives: bool,
) -> list[tuple[Evidence, Variants]]:
    """Draw the data sets numbered ``ids`` and return the evidence of every statistic, replicates unsorted.

    Replicates are ``found`` already where a bank is read piece by piece.
    """
    samples, programs = _samples(ids, fixed, layout, derives)
    if found is None:
        found = _replicates(samples, programs, fixed, layout, wanted)
    uniform = None
    if any("uniform" in want.needs for want in wanted):
        uniform = jax.vmap(lambda k: jax.random.uniform(k, dtype=jnp.float64))(replicate_keys(fixed.choice, ids))
    assert fixed.drawn is not None
    return batch_evidence(
        fixed.statistics, wanted, samples, programs, found, fixed.ranks, uniform, fixed.drawn.nested, layout
    )


def rows_of_replicates(
    ids: jax.Array, fixed: Fixed, *, layout: Layout, wanted: tuple[Wanted, ...], derives: bool
) -> Replicated:
    """Return what one piece of a bank makes of the data sets numbered ``ids``."""
    return _replicates(*_samples(ids, fixed, layout, derives), fixed, layout, wanted)


Numbered = tuple[jax.Array, Replicated | None]
"""Numbers of data sets, and their replicates where these are found already."""


def rows_of_evidence(rows: Numbered, fixed: Fixed, **static: Any) -> list[tuple[Evidence, Variants]]:
    """Return :func:`_evidence` without the statistics: all that is left has an axis over data sets."""
    nothing: Any = None
    ids, found = rows
    return [(dataclasses.replace(one, statistic=nothing), own) for one, own in _evidence(ids, fixed, found, **static)]


def counts_of(
    rows: Numbered, fixed: tuple[Fixed, tuple[Judged, ...], jax.Array], **static: Any
) -> tuple[list[Outcomes], list[jax.Array]]:
    """Do all of a cell for some data sets: what became of every interval, and estimates."""
    data, judged, targets = fixed
    ids, found = rows
    evidence = [with_sorted_rows(*one) for one in _evidence(ids, data, found, **static)]
    counts = [outcomes(*bounds_of(series, evidence), targets[series.number]) for series in judged]
    return counts, [one.estimate for one, _ in evidence]


def counts_of_groups(
    rows: tuple[jax.Array, Banked],
    fixed: tuple[Fixed, tuple[Judged, ...], jax.Array],
    *,
    reading: Reading,
    layout: Layout,
    **static: Any,
) -> tuple[Outcomes | None, jax.Array]:
    """Do what :func:`counts_of` does for the data sets of many groups: numbers (G, R), and the banks of each group.

    For accelerators, to which one group is little work: of many, kernels are as few, and wide. All intervals are in
    arrays (G, K, R), None where no method has one, and all estimates in one (G, S, R): four leave the device.
    """
    data, judged, targets = fixed

    def of_group(group: tuple[jax.Array, Banked]) -> tuple[Outcomes | None, jax.Array]:
        ids, banked = group
        drawn = drawn_from(data.statistics, banked, reading=reading, layout=layout)
        given = data._replace(drawn=drawn), judged, targets
        counts, estimates = counts_of((ids, None), given, layout=layout, **static)
        together = Outcomes(*map(jnp.stack, zip(*counts, strict=True))) if counts else None
        return together, jnp.stack(estimates)

    return jax.vmap(of_group)(rows)


def drawn_from(statistics: tuple[Statistic, ...], banked: Banked, *, reading: Reading, layout: Layout) -> Drawn:
    """Return what every statistic reads of the banks of a group, of those that are there."""
    reads: list[Any] = [None] * len(statistics)
    unseen: list[Any] = [None] * len(statistics)
    bank = None
    if banked.counts is not None:
        bank = Bank.of_columns(banked.counts, counts=layout.plain)
        for i, found in zip(reading.which, _of_which(statistics, bank, reading.which, layout), strict=True):
            reads[i] = found
    if banked.weights is not None:
        weights = Bank.of_columns(banked.weights, exchangeable=layout.plain)
        which = tuple(i for i, _ in reading.masses)
        for (i, each), found in zip(reading.masses, _of_which(statistics, weights, which, layout), strict=True):
            unseen[i] = Unseen(found, tuple(banked.unseen[masses] for masses in each))
    return Drawn(Reads.of(reads, bank if reading.whole else None), Reads.of(unseen, None), banked.nested)


_read = jax.jit(drawn_from, static_argnames=("reading", "layout"))


def _of_which(statistics: Sequence[Statistic], bank: Bank, which: tuple[int, ...], layout: Layout) -> tuple[Any, ...]:
    known = [i for i in which if not reads_bank(statistics[i], layout)]
    found = dict(zip(known, read([statistics[i] for i in known], [Rows(layout.units)] * len(known), bank), strict=True))
    return tuple(found.get(i, bank) for i in which)
