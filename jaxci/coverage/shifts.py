"""Where intervals lie about the truth: how far their middles are shifted, and what that costs in coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxci.checks import shown
from jaxci.coverage.analysis import SERIES, Columns, groups, levels_of, require, summarized_by, table_by


def interval_shifts(
    columns: Columns, *, against: str | None = "percentile", by: str | Sequence[str] | None = None
) -> Columns:
    """Return how far the middles of intervals lie from the truth, and from those of another method.

    A shift is the mean middle of the intervals of one instance (distribution) less the truth. Where a statistic is
    biased or its law is skewed, good intervals are shifted as well: the two kinds of misses tell whether a shift is
    one to worry about, as they are as frequent in a balanced interval.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    against : str, optional
        Label of the method that others are held against, on the same instance and settings; None for no such columns.
    by : str or sequence of str, optional
        Columns held fixed, tags among them; by default the settings, and the metric where there is such a tag.

    Returns
    -------
    dict of str to (groups,) array
        The columns ``by``, ``instances``, and means over rows: ``shift``, in units of the statistic,
        ``relative_shift``, in widths, ``below`` and ``above``, the shares of intervals that miss on either side,
        ``shift_apart`` and ``coverage_apart``, the differences from ``against``. Rows without intervals, or of infinite
        ones only, are left out; NaN where there are no others.

    Raises
    ------
    ValueError
        If a column is missing, or no row is of the method ``against``.

    References
    ----------
    Andre et al. (2026), supplement S15 and figure S20.
    """
    require(columns, (*SERIES, "n", "coverage", "mean_width", "mean_shift", "below", "above"))
    by = summarized_by(columns, by)
    shift, width = columns["mean_shift"], columns["mean_width"]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(width > 0, shift / width, np.nan)
    table = {"shift": shift, "relative_shift": relative, "below": columns["below"], "above": columns["above"]}
    if against is not None:
        other = _partners(columns, against)
        known = other >= 0
        for name, values in (("shift_apart", shift), ("coverage_apart", columns["coverage"])):
            table[name] = np.where(known, values - values[other], np.nan)
    found = groups(columns, by)
    kept = {key: rows[~np.isnan(shift[rows])] for key, rows in found.items()}
    instances = [len(set(columns["distribution"][rows].tolist())) for rows in kept.values()]
    means = {name: [_mean(values[rows]) for rows in kept.values()] for name, values in table.items()}
    return table_by(by, list(found), instances=instances, **means)


def _partners(columns: Columns, against: str) -> np.ndarray:
    """Return the row of the method ``against`` with the settings of each row; -1 where there is none."""
    if against not in levels_of(columns["method"]):
        raise ValueError(f"against must be one of the methods {shown(levels_of(columns['method']))}; got {against!r}")
    settings = [name for name in (*SERIES, "n") if name != "method"]
    keys = list(zip(*(columns[name].tolist() for name in settings), strict=True))
    rows = {keys[row]: row for row in np.flatnonzero(columns["method"] == against).tolist()}
    return np.array([rows.get(key, -1) for key in keys])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan
