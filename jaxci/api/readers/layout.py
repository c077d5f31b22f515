"""The design of the data: clusters, strata and case weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_floats, check_lengths
from jaxci.api.readers.labels import label_values
from jaxci.checks import shown
from jaxci.statistics.layout import Layout


def make_layout(n: int, groups: Any, strata: Any, sample_weight: Any) -> Layout:
    """Build the layout of rows from clusters, strata and case weights."""
    units = stratum = weights = None
    if groups is not None:
        column = label_values("groups", groups)
        check_lengths({"the data": n, "groups": len(column)})
        found, units = np.unique(column, return_inverse=True)
        units = units.astype(np.int32)
        if len(found) < 2:
            raise ValueError(f"groups must name at least 2 clusters; all {n} rows belong to {shown(found[0])}")
    if strata is not None:
        column = label_values("strata", strata)
        check_lengths({"the data": n, "strata": len(column)})
        stratum = np.unique(column, return_inverse=True)[1].astype(np.int32)
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
    if sample_weight is not None:
        weights = as_floats("sample_weight", sample_weight)
        check_lengths({"the data": n, "sample_weight": len(weights)})
        if (weights < 0).any():
            first = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight must not be negative; got {weights[first]:g} in row {first}")
        if not weights.sum() > 0:
            raise ValueError("sample_weight must have a positive sum; all weights are 0")
        if np.any(weights != np.round(weights)):
            weights = weights * (n / weights.sum())
    return Layout(n, units, stratum, weights)


def one_length(layout: Layout) -> bool:
    """Whether every resample has as many rows as the data: clusters of one size within each stratum."""
    if layout.units is None:
        return True
    sizes = np.bincount(layout.units)
    strata = np.zeros(len(sizes), int) if layout.strata is None else layout.strata
    return all(np.ptp(sizes[strata == stratum]) == 0 for stratum in np.unique(strata))
