"""What is asked for: a statistic under a name, with an interval method; and its state on the way to an interval."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.inference import program
from jaxci.inference.program import Program, RowReader, Rows
from jaxci.intervals.base import Method
from jaxci.intervals.blocks import Dependence
from jaxci.intervals.cards import Standing
from jaxci.resampling.bank import CellBootstrap
from jaxci.resampling.laws import BootstrapDistribution
from jaxci.statistics.base import MomentStatistic, Statistic, TableStatistic
from jaxci.statistics.custom import FunctionStatistic, HostFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.summary import MeanStatistic
from jaxci.statistics.sums import Cells, padded


@dataclasses.dataclass(frozen=True)
class Request:
    """A statistic under the name it is reported by, and the interval method asked for."""

    name: str
    statistic: Statistic
    method: str | Method = "auto"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


class Trials(NamedTuple):
    """Successes and trials of a proportion, weighted."""

    successes: float
    nobs: float


@dataclasses.dataclass
class Entry:
    """Working state of one request: ``prepared`` data, and how their ``rows`` weigh.

    ``scale`` is the size of the numbers whose difference the statistic is, 0 where it is none; ``exact`` says that the
    method reads the law of the replicates instead of replicates, and ``law`` is it where it depends on the data whether
    there is one; ``effective_units``, where derivatives are taken, is how many units decide: as many alike would vary
    as they do (:func:`~jaxci.inference.slopes.effective_units`), ``contributions`` (n,) what units contribute, where
    the method reads that (:func:`~jaxci.inference.slopes.contributions`); ``left_out`` is what
    :func:`~jaxci.inference.left_out.left_out` found.
    """

    request: Request
    prepared: Any
    rows: Rows
    estimate: float = math.nan
    scale: float = 0.0
    standard_error: float = math.nan
    acceleration: float = math.nan
    method: Method | None = None
    reason: str = "asked for"
    standing: Standing | None = None
    trials: Trials | None = None
    replicates: np.ndarray | None = None
    errors: np.ndarray | None = None
    levels: np.ndarray | None = None
    exact: bool = False
    law: BootstrapDistribution | None = None
    absent: int = 0
    effective_units: float = math.nan
    contributions: np.ndarray | None = None
    left_out: tuple[np.ndarray, np.ndarray] | None = None
    dependence: Dependence | None = None
    block_length: float = 1.0
    remarks: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, request: Request, reader: RowReader) -> Entry:
        """Prepare the data of a request."""
        statistic, prepared, rows = reader.read(request.statistic)
        return cls(dataclasses.replace(request, statistic=statistic), prepared, rows)

    @property
    def statistic(self) -> Statistic:
        """The statistic asked for."""
        return self.request.statistic

    @property
    def on_host(self) -> bool:
        """Whether the statistic is a function that is called on the host."""
        return isinstance(self.statistic, HostFunction)

    @property
    def of_users_function(self) -> bool:
        """Whether the statistic, or that of both models, is a user's function, of which no simulations tell."""
        statistic = self.statistic.statistic if isinstance(self.statistic, Paired) else self.statistic
        return isinstance(statistic, FunctionStatistic)

    def counts_effective_units(self, layout: Layout) -> bool:
        """Whether derivatives are to tell how many units decide on a user's function, or on moments of clusters."""
        told = self.of_users_function or (isinstance(self.statistic, MomentStatistic) and layout.units is not None)
        return told and self.statistic.smooth and self.request.method == "auto"

    @property
    def needs(self) -> frozenset[str]:
        """Fields of the evidence that the method reads."""
        assert self.method is not None
        return self.method.needs

    @property
    def draws(self) -> bool:
        """Whether the method reads replicates that must be drawn."""
        return "replicates" in self.needs and not self.exact

    @property
    def by_jackknife(self) -> bool:
        """Whether the method asks for the acceleration, or the standard error, from leave-one-out values."""
        assert self.method is not None
        return self.method.by_jackknife

    @property
    def error_by_jackknife(self) -> bool:
        """Whether the method asks for the standard error from leave-one-out values."""
        return self.by_jackknife and "standard_error" in self.needs

    @property
    def needs_slopes(self) -> bool:
        """Whether derivatives in the weights are wanted."""
        assert self.method is not None
        by_slopes = "standard_error" in self.needs and not self.by_jackknife
        of_posterior = "posterior" in self.needs and not self.method.requires_blocks
        if by_slopes or (of_posterior and isinstance(self.statistic, MeanStatistic)):
            return True
        return "acceleration" in self.needs and self.statistic.smooth and not self.by_jackknife


def by_table(entry: Entry, layout: Layout) -> bool:
    """Whether counts per cell are all that the statistic needs of the data."""
    return isinstance(entry.statistic, TableStatistic) and layout.rows_are_units


def table_program(entries: Sequence[Entry], layout: Layout) -> tuple[Program, CellBootstrap]:
    """Return the program over the cells of the one table of ``entries``."""
    return program.of_tables([entry.statistic for entry in entries], entries[0].prepared, layout)


def unit_program(entries: Sequence[Entry], layout: Layout, *, exchangeable: bool = True) -> Program:
    """Return the program over the units of ``entries``.

    Plain rows of a table come in the order of its cells, so that resamples are the same for rows in any order, unless
    they are not ``exchangeable``.
    """
    capacity = padded(layout.n_rows if layout.units is None else layout.n_units)
    sources, places = program.distinct([entry.prepared for entry in entries])
    if exchangeable and layout.plain and layout.counts is None:
        sources = [data.in_cell_order() if isinstance(data, Cells) else data for data in sources]
    prepared = [(sources[place], entry.rows) for place, entry in zip(places, entries, strict=True)]
    return program.of_units([entry.statistic for entry in entries], prepared, layout, capacity)


def programs(entries: Sequence[Entry], layout: Layout) -> list[tuple[Program, list[Entry]]]:
    """Programs that evaluate ``entries`` without resampling: tables by their cells, the rest by units."""
    tables = [entry for entry in entries if by_table(entry, layout)]
    rest = [entry for entry in entries if not by_table(entry, layout)]
    found = [(table_program(group, layout)[0], group) for group in by_shared_table(tables)]
    if rest:
        found.append((unit_program(rest, layout), rest))
    return found


def by_shared_table(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group entries that share one table."""
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(id(entry.prepared), []).append(entry)
    return list(groups.values())
