"""The design of the data: clusters, strata and case weights."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_floats, check_lengths
from jaxci.api.readers.labels import EXACT_FLOATS, label_values
from jaxci.checks import check_choice, shown
from jaxci.statistics.layout import CaseWeights, Layout, uneven
from jaxci.statistics.sample import Sample

WEIGHT_TYPES = ("importance", "frequency")
MOST_ROWS = 2**31 - 1
"""Rows that frequencies may count together where all are needed."""
MOST_REPEATED = 2**20
"""Rows that frequencies count together which are repeated where their counts would do: resamples are then of rows."""


def arranged(
    sample: Sample, groups: Any, strata: Any, sample_weight: Any, weight_type: Any, *, countable: bool = False
) -> tuple[Sample, Layout]:
    """Return the rows that count and their layout, from clusters, strata and case weights.

    Rows of weight 0 leave; with ``weight_type`` "frequency" a row of weight w is w rows. Where these are more than
    :data:`MOST_REPEATED` and statistics are ``countable``, from counts of equal rows, it stays one row that is counted.
    """
    check_choice("weight_type", weight_type, WEIGHT_TYPES)
    columns = {
        name: label_values(name, given) for name, given in (("groups", groups), ("strata", strata)) if given is not None
    }
    check_lengths({"the data": sample.n, **{name: len(column) for name, column in columns.items()}})
    if sample_weight is None:
        if weight_type == "frequency":
            raise ValueError("weight_type='frequency' needs sample_weight, the number of times that each row was seen")
        return sample, _layout(sample.n, columns, None)
    weights = _weights(sample.n, sample_weight)
    counts = weights if weight_type == "frequency" else weights > 0
    if np.any(counts != np.round(counts)):
        first = int(np.argmax(counts != np.round(counts)))
        raise ValueError(
            f"sample_weight must be whole numbers with weight_type='frequency'; got {weights[first]:g} in row {first}"
        )
    largest = float(counts.max())
    total = largest if largest > EXACT_FLOATS else float(counts.sum())  # too many either way, and no overflow
    counted = weight_type == "frequency" and countable and total > MOST_REPEATED
    if total > (EXACT_FLOATS if counted else MOST_ROWS):
        raise ValueError(
            f"sample_weight must count at most {EXACT_FLOATS if counted else MOST_ROWS:,} rows with "
            f"weight_type='frequency'; got {format(total, ',.0f' if total <= EXACT_FLOATS else 'g')}"
        )
    if total < 2:
        raise ValueError(f"sample_weight must leave at least 2 observations; got {total:.0f}")
    if counted:
        rows = np.flatnonzero(counts)
        sample = dataclasses.replace(sample.take(rows), counts=counts[rows])
        layout = _layout(len(rows), {name: column[rows] for name, column in columns.items()}, None)
        return sample, dataclasses.replace(layout, n=int(counts.sum()), counts=counts[rows])
    if np.any(counts != 1):
        rows = np.repeat(np.arange(sample.n), counts.astype(np.int64))
        sample, weights = sample.take(rows), weights[rows]
        columns = {name: column[rows] for name, column in columns.items()}
    if weight_type == "frequency":
        return sample, _layout(sample.n, columns, None)
    if not uneven(weights):
        return sample, _layout(sample.n, columns, None)
    extreme = not 1e-100 < weights.max() < EXACT_FLOATS  # squares of these, or sums, may be no numbers
    if extreme:
        weights = weights / weights.max()
    return sample, _layout(sample.n, columns, weights / (weights.sum() / sample.n))


def weighed(
    sample: Sample, groups: np.ndarray | None, counts: np.ndarray, weights: np.ndarray, known: CaseWeights
) -> tuple[Sample, Layout]:
    """Return rows that each stand for as many observations as ``counts`` says, of ``weights`` in sum, in clusters."""
    n = int(counts.sum())
    layout = _layout(n, {} if groups is None else {"groups": groups}, weights / (weights.sum() / n))
    counts = counts.astype(np.float64)
    return dataclasses.replace(sample, counts=counts), dataclasses.replace(layout, counts=counts, case_weights=known)


def as_weights(name: str, data: Any) -> np.ndarray:
    """Return case weights (n,) float64: finite, and none below 0."""
    weights = as_floats(name, data)
    if (weights < 0).any():
        first = int(np.argmax(weights < 0))
        raise ValueError(f"{name} must not be negative; got {weights[first]:g} in row {first}")
    return weights


def _weights(n: int, sample_weight: Any) -> np.ndarray:
    weights = as_weights("sample_weight", sample_weight)
    check_lengths({"the data": n, "sample_weight": len(weights)})
    if not weights.max() > 0:
        raise ValueError("sample_weight must have a positive sum; all weights are 0")
    return weights


def _layout(n: int, columns: dict[str, Any], weights: np.ndarray | None) -> Layout:
    """Build the layout of rows from the columns of clusters and strata."""
    units = stratum = None
    if "groups" in columns:
        found, units = np.unique(columns["groups"], return_inverse=True)
        units = units.astype(np.int32)
        if len(found) < 2:
            raise ValueError(f"groups must name at least 2 clusters; all {n} rows belong to {shown(found[0])}")
    if "strata" in columns:
        stratum = np.unique(columns["strata"], return_inverse=True)[1].astype(np.int32)
        if units is not None:
            whole = np.zeros(int(units.max()) + 1, np.int32)
            whole[units] = stratum
            crossing = whole[units] != stratum
            if crossing.any():
                first = int(np.argmax(crossing))
                raise ValueError(
                    "every cluster of groups must lie in one stratum; the cluster of row "
                    f"{first} has rows in more than one"
                )
            stratum = whole
    return Layout(n, units, stratum, weights)


def one_length(layout: Layout) -> bool:
    """Whether every resample has as many rows as the data: clusters of one size within each stratum."""
    if layout.units is None:
        return True
    sizes = np.bincount(layout.units)
    strata = np.zeros(len(sizes), int) if layout.strata is None else layout.strata
    return all(np.ptp(sizes[strata == stratum]) == 0 for stratum in np.unique(strata))
