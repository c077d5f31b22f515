"""What resamples are evaluated by: statistics with their prepared data, over the units that are resampled.

A program is a pytree. For one data set its leaves are host arrays and a bank of resamples comes in chunks; for a
batch of data sets every leaf has a leading axis, and all of them read one bank. The functions below are the only
ones that turn weights into values of statistics.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.bank import CellBootstrap
from jaxci.resampling.kernels import in_batches, stable_order
from jaxci.resampling.ranked import SpreadBank
from jaxci.special import root_sum_of_squares
from jaxci.statistics.base import ExtremeStatistic, LinearStatistic, RankedStatistic, Statistic, TableStatistic, cores
from jaxci.statistics.current import current
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking, ranked_cores
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, Cells, CellsOfUnits, padded


@record
class Rows:
    """How rows of some order weigh: their ``units`` and ``weights`` (N,), None where rows are units of weight 1."""

    units: Any = None
    weights: Any = None

    @property
    def are_units(self) -> bool:
        """Whether weights of rows are those of units."""
        return self.units is None and self.weights is None

    def __call__(self, weights: jax.Array) -> jax.Array:
        """Return weights of rows (..., N) from weights of units (..., U)."""
        rows = weights if self.units is None else weights[..., self.units]
        return rows if self.weights is None else rows * self.weights


@record
class Program:
    """Statistics with what they read of the data.

    Attributes
    ----------
    statistics : tuple of Statistic
    sources : tuple
        Prepared data, each once; linear statistics have theirs by unit.
    rows : tuple of Rows
        How rows weigh in each order in which some statistics read them.
    multiplicity : (U,)
        How many observations a unit stands for.
    strata : (U,) or None
        Stratum of every unit, out of ``n_strata``.
    where : tuple of (int, int)
        Source and order of rows of each statistic.
    """

    statistics: tuple[Statistic, ...]
    sources: tuple[Any, ...]
    rows: tuple[Rows, ...]
    multiplicity: Any
    strata: Any = None
    n_strata: int = static(default=0)
    where: tuple[tuple[int, int], ...] = static(default=())

    @property
    def program(self) -> Program:
        """Itself: all units were seen."""
        return self

    @property
    def whole(self) -> Any:
        """The weights (U,) of the data."""
        return self.multiplicity

    def of_rows(self, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Return values, standard errors if asked for, and whether a class is absent, (S, B), under ``rows`` (B, U)."""
        bank = Bank.of(rows)
        spread = self.errors(bank, range(len(self.statistics))) if errors else None
        return self.values(bank), spread, self.absent(bank)

    def functions(self) -> list[Callable[[jax.Array], jax.Array]]:
        """Each statistic as a function of the weights of units (U,)."""
        return [functools.partial(self.value, number) for number in range(len(self.statistics))]

    def value(self, number: int, weights: jax.Array) -> jax.Array:
        """Return the value of statistic ``number`` under the weights of units (U,)."""
        statistic, (source, order) = self.statistics[number], self.where[number]
        prepared = self.sources[source]
        if isinstance(statistic, LinearStatistic):
            return statistic.from_sums(prepared.without_rows(), prepared.sums(weights))
        return statistic.value(prepared, self.rows[order](weights))

    def shared(self, bank: Bank) -> tuple[Any, ...]:
        """Return what each statistic reads of a bank whatever the data."""
        return read(self.statistics, [self.rows[order] for _, order in self.where], bank)

    def cores(self, shared: Sequence[Any] | Mapping[int, Any], numbers: Sequence[int]) -> tuple[jax.Array, ...]:
        """Return the core (B,) of some statistics, by number, on every resample."""
        found: dict[int, jax.Array] = {}
        for members in self._alike(numbers):  # statistics of one source share its sums, or walks along its rankings
            statistics, prepared = [self.statistics[number] for number in members], self._source(members[0])
            of_bank = shared[members[0]]
            if linear := [one for one in statistics if isinstance(one, LinearStatistic)]:
                part = cores(linear, prepared, prepared.bank_sums(of_bank))
            elif ranked := _sharing(statistics):
                part = ranked_cores(ranked, prepared, of_bank)
            else:
                part = [statistics[0].replicates(prepared, of_bank)]
            found.update(zip(members, part, strict=True))
        return tuple(found[number] for number in numbers)

    def _source(self, number: int) -> Any:
        return self.sources[self.where[number][0]]

    def _alike(self, numbers: Sequence[int]) -> list[list[int]]:
        """Return the numbers in groups: of linear statistics of one source, of rankings of one source, of one other."""
        groups: dict[Any, list[int]] = {}
        for number in numbers:
            statistic, where = self.statistics[number], self.where[number]
            kind: Any = where[0] if isinstance(statistic, LinearStatistic) else (number, None)
            if _sharing([statistic]):
                kind = where
            groups.setdefault(kind, []).append(number)
        return list(groups.values())

    def values(self, bank: Bank) -> jax.Array:
        """Return the values (S, B) of all statistics on every resample."""
        cores = self.cores(self.shared(bank), range(len(self.statistics)))
        return jnp.stack(
            [statistic.scaling(self.sources[source])(core) for statistic, (source, _), core in self._with(cores)]
        )

    def values_without(self, units: jax.Array) -> jax.Array:
        """Return the values (S, m) of all statistics where each row of ``units`` (m, d) is left out, once."""
        cores = [self.core_without(number, units) for number in range(len(self.statistics))]
        return jnp.stack(
            [statistic.scaling(self.sources[source])(core) for statistic, (source, _), core in self._with(cores)]
        )

    def core_without(self, number: int, units: jax.Array) -> jax.Array:
        """Return the core (m,) of statistic ``number`` where each row of ``units`` (m, d) is left out, once.

        Of sums at a cost of O(m d); a jackknife of others is a bank of weights like any other.
        """
        statistic, (source, order) = self.statistics[number], self.where[number]
        prepared, whole = self.sources[source], jnp.asarray(self.multiplicity)
        if isinstance(statistic, LinearStatistic):
            return cores([statistic], prepared, prepared.sums_without(whole, units))[0]
        bank = Bank.of(jax.vmap(lambda left_out: whole.at[left_out].add(-1.0))(units))
        return statistic.replicates(prepared, read([statistic], [self.rows[order]], bank)[0])

    def _with(self, found: Sequence[Any]) -> list[tuple[Statistic, tuple[int, int], Any]]:
        return list(zip(self.statistics, self.where, found, strict=True))

    def posterior_cores(
        self, shared: Sequence[Any] | Mapping[int, Any], unseen: PseudoUnits, numbers: Sequence[int]
    ) -> tuple[jax.Array, ...]:
        """Return the core (B,) of some statistics, by number, on every resample of a bank joined by unseen units."""
        found: dict[int, jax.Array] = {}
        for members in self._alike(numbers):
            statistics, prepared = [self.statistics[number] for number in members], self._source(members[0])
            if ranked := _sharing(statistics):
                found.update(zip(members, ranked_cores(ranked, prepared, shared[members[0]], unseen), strict=True))
                continue
            for number, statistic in zip(members, statistics, strict=True):
                assert isinstance(statistic, ExtremeStatistic)
                found[number] = statistic.posterior(prepared, shared[number], unseen, jnp.asarray(self.multiplicity))
        return tuple(found[number] for number in numbers)

    def absent(self, bank: Bank) -> jax.Array:
        """Return (S, B) whether a class of the sample is absent, for statistics that say what such a class counts."""
        sums: dict[int, jax.Array] = {}
        known: dict[Any, jax.Array] = {}
        found = []
        for statistic, (source, order) in zip(self.statistics, self.where, strict=True):
            prepared = self.sources[source]
            kind: Any = (source, type(statistic).absent_in_sums if isinstance(statistic, LinearStatistic) else order)
            if statistic.absent_class is None:
                kind, known[None] = None, jnp.zeros(bank.rows.shape[0], bool)
            elif isinstance(statistic, LinearStatistic) and kind not in known:
                if source not in sums:
                    sums[source] = prepared.bank_sums(bank)
                lost = functools.partial(statistic.absent_in_sums, prepared.without_rows())
                known[kind] = jax.vmap(lost, in_axes=1)(sums[source])
            elif kind not in known:
                known[kind] = jax.vmap(functools.partial(statistic.absent, prepared))(self.rows[order](bank.rows))
            found.append(known[kind])
        return jnp.stack(found)

    def errors(self, bank: Bank, numbers: Sequence[int]) -> jax.Array:
        """Return the influence standard error (len(numbers), B) of some statistics at every resample."""

        def one(row: jax.Array) -> jax.Array:
            weights = row.astype(float)  # a derivative has the precision of what it is taken in
            slopes = [self.slope(number, weights)[1] for number in numbers]
            return jnp.stack([root_sum_of_squares(slope, weights) for slope in slopes])

        return jnp.moveaxis(in_batches(one, bank.rows, 256), 0, 1)

    def slope(self, number: int, weights: Any = None) -> tuple[jax.Array, jax.Array]:
        """Return the value of statistic ``number`` and its derivatives (U,) in the weights of units.

        A derivative is the influence value divided by the number of observations, within strata as :meth:`within` has
        it. ``weights`` (U,) are those of a resample, of the data by default.
        """
        at = jnp.asarray(self.multiplicity if weights is None else weights)
        value, slope = jax.value_and_grad(functools.partial(self.value, number))(at)
        return value, slope if self.strata is None else self.within(slope, weights)

    def within(self, slopes: jax.Array, resample: Any = None) -> jax.Array:
        """Return ``slopes`` (U,) less their mean in each stratum, at the scale that makes the variance unbiased.

        In strata of m observations their square is ``m / (m - 1)`` times that of the differences, and ``(n - 1) / n``
        times, so that one stratum of all n is none. A ``resample`` (U,) has m - 1 observations of its own in a stratum;
        the one of a pair is compared with the mean of both.
        """
        strata, data = jnp.asarray(self.strata), jnp.asarray(self.multiplicity)

        def of_stratum(x: jax.Array) -> jax.Array:
            return jax.ops.segment_sum(x, strata, self.n_strata)

        size = of_stratum(data)
        own = size - 1
        weights = data
        if resample is not None:
            own = jnp.where(size > 2, size - 2, own)
            weights = jnp.where((size > 2)[strata], resample, data)
        mean = of_stratum(slopes * weights) / jnp.where(size > 0, size, 1.0)
        scale = jnp.sqrt(jnp.where(own > 0, size / jnp.where(own > 0, own, 1.0), 0.0) * (1 - 1 / jnp.sum(data)))
        return (slopes - mean[strata]) * scale[strata]

    def slopes(self) -> tuple[jax.Array, jax.Array]:
        """Return the values (S,) on the data and their derivatives (S, U) in the weights of units (:meth:`slope`)."""
        pairs = [self.slope(number) for number in range(len(self.statistics))]
        return jnp.stack([p[0] for p in pairs]), jnp.stack([p[1] for p in pairs])

    def estimates(self) -> jax.Array:
        """Return the values (S,) on the data."""
        whole = jnp.asarray(self.multiplicity)
        return jnp.stack([function(whole) for function in self.functions()])


def _sharing(statistics: Sequence[Statistic]) -> list[ScoreRanking]:
    """Return those that share walks along their rankings."""
    return [one for one in statistics if isinstance(one, ScoreRanking) and one.reads]


def read(statistics: Sequence[Statistic], rows: Sequence[Rows], bank: Bank) -> tuple[Any, ...]:
    """Return what each statistic reads of a bank of units whatever the data, its ``rows`` weighing as they do."""
    orders, places = distinct(rows)
    banks = [bank if one.are_units else Bank.of(one(bank.rows)) for one in orders]

    def of(statistic: Statistic, place: int) -> Any:
        if isinstance(statistic, LinearStatistic) or orders[place].are_units:
            return statistic.shared(bank)
        if isinstance(statistic, RankedStatistic):
            return SpreadBank(bank.by_observation, orders[place].units, orders[place].weights)
        return statistic.shared(banks[place])

    return tuple(of(statistic, place) for statistic, place in zip(statistics, places, strict=True))


def distinct(things: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return each object once, and the place of every one of ``things`` among them."""
    places: dict[int, int] = {}
    found: list[Any] = []
    for thing in things:
        if id(thing) not in places:
            places[id(thing)] = len(found)
            found.append(thing)
    return found, [places[id(thing)] for thing in things]


def of_tables(statistics: Sequence[Statistic], cells: Any, layout: Layout) -> tuple[Program, CellBootstrap]:
    """Return the program over the cells of one table, and the scheme that draws them: its cost is free of n."""
    if layout.strata is None:
        groups, observed = 1, cells.weights_of(layout)[None]
        members = None
    else:
        groups = layout.n_strata
        flat = layout.strata.astype(np.int64) * cells.size + cells.codes[: layout.n]
        observed = np.bincount(flat, minlength=groups * cells.size).astype(np.float64).reshape(groups, cells.size)
        members = np.tile(np.eye(cells.size), (groups, 1))
    program = Program(
        statistics=tuple(statistics),
        sources=(CellsOfUnits(members, cells.without_rows()),),
        rows=(Rows(),),
        multiplicity=observed.reshape(-1),
        strata=None if layout.strata is None else np.repeat(np.arange(groups, dtype=np.int32), cells.size),
        n_strata=0 if layout.strata is None else groups,
        where=((0, 0),) * len(statistics),
    )
    return program, CellBootstrap(observed)


class RowReader:
    """Prepares statistics of one data set on the host, each in the order of rows that suits it.

    Prepared tables of one sample are one object, and so are the orders of statistics that sort by one column.
    With ``exchangeable``, rows of a plain layout may meet any weights: then sorted rows are units as they come.
    """

    def __init__(self, sample: Sample, layout: Layout, *, exchangeable: bool = True):
        self.sample, self.layout = sample, layout
        self.exchangeable = exchangeable and layout.plain and layout.counts is None
        self._padded: Sample | None = None
        self._sorted: dict[int, tuple[np.ndarray, Sample, Rows]] = {}
        self._plain = self._rows(layout)

    def _rows(self, layout: Layout) -> Rows:
        if layout.rows_are_units:
            return Rows()
        n, size = layout.n_rows, padded(layout.n_rows)
        units = None
        if layout.units is not None:
            units = np.zeros(size, np.int32)
            units[:n] = layout.units
        weights = np.zeros(size)
        by_unit = layout.row_weights is None and self.layout.units is None  # units count as often as rows, if at all
        weights[:n] = 1.0 if by_unit or layout.mass is None else layout.mass
        return Rows(units, weights)

    def read(self, statistic: Statistic) -> tuple[Statistic, Any, Rows]:
        """Return the statistic as it computes now, prepared data and how their rows weigh."""
        prepared, rows = self.prepared(statistic)
        n = self.sample.n if isinstance(statistic, TableStatistic) else padded(self.sample.n)
        return current(statistic, prepared, n), prepared, rows

    def prepared(self, statistic: Statistic) -> tuple[Any, Rows]:
        """Return prepared data and how their rows weigh."""
        if isinstance(statistic, TableStatistic):
            return statistic.prepare(self.sample), self._plain
        if self._padded is None:
            self._padded = self.sample.padded()
        keys = statistic.sort_keys(self.sample)
        if keys is None:
            return self._of(statistic, self._padded, self._plain), self._plain
        if id(keys) not in self._sorted:
            order = stable_order(keys)
            rows = self._plain if self.exchangeable else self._rows(self.layout.take(order))
            self._sorted[id(keys)] = (keys, self.sample.take(order).padded(), rows)
        _, sample, rows = self._sorted[id(keys)]
        return self._of(statistic, sample, rows), rows

    def _of(self, statistic: Statistic, sample: Sample, rows: Rows) -> Any:
        if self.layout.row_weights is None:
            return statistic.prepare(sample)
        return statistic.prepare_weighted(sample, rows.weights)


def of_units(
    statistics: Sequence[Statistic], prepared: Sequence[tuple[Any, Rows]], layout: Layout, capacity: int
) -> Program:
    """Return the program over the rows or clusters of one data set; without ``statistics``, of data read otherwise."""
    sources, source_at = distinct([data for data, _ in prepared])
    orders, order_at = distinct([rows for _, rows in prepared])
    both = zip(statistics, source_at, strict=bool(statistics))
    linear = {at for statistic, at in both if isinstance(statistic, LinearStatistic)}
    multiplicity = np.zeros(capacity)
    if layout.units is None and layout.counts is not None:
        multiplicity[: layout.n_rows] = layout.counts if layout.row_weights is None else 1.0  # of which there are sums
    else:
        multiplicity[: layout.n_units] = 1.0
    strata = None
    if layout.strata is not None:
        strata = np.zeros(capacity, np.int32)
        strata[: layout.n_units] = layout.strata
    return Program(
        statistics=tuple(statistics),
        sources=tuple(data.by_unit(layout, capacity) if at in linear else data for at, data in enumerate(sources)),
        rows=tuple(orders),
        multiplicity=multiplicity,
        strata=strata,
        n_strata=0 if layout.strata is None else layout.n_strata,
        where=tuple(zip(source_at, order_at, strict=True)),
    )


def of_sample(statistic: Statistic, sample: Sample, layout: Layout) -> Program:
    """Return the program of one statistic over the rows of one data set."""
    statistic, prepared, rows = RowReader(sample, layout, exchangeable=False).read(statistic)
    return of_units([statistic], [(prepared, rows)], layout, padded(sample.n))


def of_batch(statistics: Sequence[Statistic], sample: Sample, layout: Layout) -> Program:
    """Return the program over the units of traced data: ``jax.vmap`` of it serves a batch of data sets."""
    prepared = [statistic.prepare(sample) for statistic in statistics]
    if not layout.plain:
        rows = Rows(layout.units)
        both = zip(statistics, prepared, strict=True)
        own = [_in_order(s, sample, layout) if s.reads_sorted else (data, rows) for s, data in both]
        return of_units(statistics, own, layout, layout.n_units)
    sources, source_at = distinct(prepared)
    return Program(
        statistics=tuple(statistics),
        sources=tuple(sources),
        rows=(Rows(),),
        multiplicity=jnp.ones(sample.n),
        where=tuple((at, 0) for at in source_at),
    )


def _in_order(statistic: Statistic, sample: Sample, layout: Layout) -> tuple[Any, Rows]:
    """Return traced data prepared in the order of the statistic's sort keys, and how rows weigh in it."""
    order = jnp.argsort(jnp.asarray(statistic.sort_keys(sample)))
    units = np.arange(layout.n) if layout.units is None else layout.units
    return statistic.prepare(sample.take(order)), Rows(jnp.asarray(units)[order])


def alone(program: Program, number: int) -> Program:
    """Return the program of one statistic out of those of a batch, of a table of independent rows over its cells."""
    at, order = program.where[number]
    source, multiplicity = program.sources[at], program.multiplicity
    if isinstance(source, Cells):
        source, multiplicity = CellsOfUnits(None, source.without_rows()), source.sums(multiplicity)
    statistics, rows = program.statistics[number : number + 1], (program.rows[order],)
    return dataclasses.replace(
        program, statistics=statistics, sources=(source,), rows=rows, multiplicity=multiplicity, where=((0, 0),)
    )
