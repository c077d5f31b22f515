"""Programs over one data set, and banks that are given: what tests of the engine put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program, RowReader, of_tables, of_units
from jaxci.inference.slopes import first_order
from jaxci.inference.slopes import slopes as slopes_of
from jaxci.records import record
from jaxci.resampling.bank import Scheme
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded


def unit_program(statistics: Sequence[Statistic], sample: Sample, layout: Layout | None = None) -> Program:
    """Return the program over the rows of ``sample``, or over their clusters."""
    layout = Layout(sample.n) if layout is None else layout
    reader = RowReader(sample, layout)
    return of_units(statistics, [reader.prepared(s) for s in statistics], layout, padded(layout.n_units))


def table_program(
    statistics: Sequence[Statistic], sample: Sample, layout: Layout | None = None
) -> tuple[Program, Scheme]:
    """Return the program over the cells of the table that the statistics read, and the scheme that draws them."""
    layout = Layout(sample.n) if layout is None else layout
    return of_tables(statistics, statistics[0].prepare(sample), layout)


def row_order(statistic: Statistic, sample: Sample, layout: Layout) -> np.ndarray:
    """Return the rows (n,) in the order in which the units of a program stand for them.

    Exchangeable rows may be sorted, so that unit i is row i of the order that suits the statistic.
    """
    keys = statistic.sort_keys(sample) if layout.plain else None
    return np.arange(sample.n) if keys is None else np.argsort(keys, kind="stable")


@record
class Injected(Scheme):
    """A bank that is given: row b of ``rows`` (B, U) is replicate b."""

    rows: Any

    block: ClassVar[int] = 1

    @property
    def n_units(self) -> int:
        return self.rows.shape[1]

    def counts(self, key: jax.Array, ids: jax.Array) -> jax.Array:
        return jnp.asarray(self.rows)[ids]


def injected(counts: np.ndarray) -> Injected:
    """Return the scheme for counts (B, U) of the real units."""
    units = counts.shape[1]
    return Injected(np.pad(counts, ((0, 0), (0, padded(units) - units))))


class Influence(NamedTuple):
    """First-order behaviour of S statistics on the data (host arrays)."""

    estimates: np.ndarray
    slopes: np.ndarray
    standard_errors: np.ndarray
    accelerations: np.ndarray


def influence(program: Program) -> Influence:
    """Differentiate every statistic of ``program`` in the weights of its units."""
    values, slopes = (np.asarray(x) for x in slopes_of(program))
    first = first_order(slopes, np.asarray(program.multiplicity))
    return Influence(values, slopes, first.standard_error, first.acceleration)
