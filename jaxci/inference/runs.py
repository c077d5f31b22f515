"""Rows of a ranking that are drawn together: of very many negatives those with no positive between them.

Their weights enter as sums, which have Gamma and multinomial laws of their own.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from jaxci.inference import program
from jaxci.inference.program import Program, RowReader
from jaxci.inference.request import Entry
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.rankings import with_tied_negatives
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

MANY_ROWS = 1000
"""Fewer rows are drawn one by one, which takes some tenths of a second."""

FEWER = 4
"""So many times fewer units than rows are worth a program of their own."""


class Runs(NamedTuple):
    """A program over runs of rows, and their sample and layout."""

    program: Program
    sample: Sample
    layout: Layout


def n_drawn(statistic: Statistic, sample: Sample, layout: Layout) -> int:
    """Return how many units are drawn for a statistic of one data set, at most: runs of rows where these are few."""
    if not (isinstance(statistic, ScoreRanking) and statistic.ties_negatives and layout.plain):
        return layout.n_units
    most = 3 * int((sample.y_true[: sample.n] == 1).sum()) + 1
    return most if layout.n > MANY_ROWS and FEWER * most <= layout.n_rows else layout.n_units


def in_runs(entry: Entry, sample: Sample, layout: Layout) -> Runs | None:
    """Return the runs that are drawn for a statistic; None where rows are."""
    if n_drawn(entry.statistic, sample, layout) == layout.n_units:
        return None
    rows, counts = sample.once(with_tied_negatives)  # all rankings of one data set read the same
    of_runs = dataclasses.replace(layout, counts=counts)
    statistic, prepared, weigh = RowReader(rows, of_runs).read(entry.statistic)
    found = program.of_units([statistic], [(prepared, weigh)], of_runs, padded(len(counts)))
    return Runs(found, rows, of_runs)
