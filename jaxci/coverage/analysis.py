"""Analysis of a coverage study: convergence pace, required sizes, comparisons, averages, quartiles, failures.

Every function reads a column table: a dict of one-dimensional arrays of one length, one row a
judged cell. Every function returns such a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxci.checks import check_number, shown
from jaxci.coverage.tally import INFINITE, group_error

Columns = dict[str, np.ndarray]

SERIES = ("distribution", "statistic", "method", "level")
"""What identifies one curve against n."""
GROUP = ("statistic", "method", "level", "n")
"""Settings that instances (distributions) are summarized within."""
KIND = "metric"
"""Tag that tells apart what is not summarized together, where there is such a column."""


class StudyTable(Protocol):
    """Anything with the rows of a study: ``columns``, and the names of its tag columns."""

    @property
    def columns(self) -> Columns:
        """Column table."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Columns that describe the distribution."""


class Rows(NamedTuple):
    """Some rows of a study."""

    columns: Columns
    tags: tuple[str, ...]


def require(columns: Mapping[str, np.ndarray], names: Sequence[str], argument: str = "columns") -> None:
    """Raise ``ValueError`` unless every name is a column."""
    for name in names:
        if name not in columns:
            raise ValueError(f"{argument} must name columns of the table ({', '.join(columns)}); got {name!r}")


def groups(columns: Mapping[str, np.ndarray], by: Sequence[str]) -> dict[tuple[Any, ...], np.ndarray]:
    """Return the row numbers of every combination of the columns ``by``, in order of appearance."""
    found: dict[tuple[Any, ...], list[int]] = {}
    size = len(next(iter(columns.values()), ()))
    keys = zip(*(columns[name].tolist() for name in by), strict=True) if by else itertools.repeat((), size)
    for row, key in enumerate(keys):
        found.setdefault(key, []).append(row)
    return {key: np.array(rows) for key, rows in found.items()}


def names_in(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names that a user gave, one or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def summarized_by(columns: Mapping[str, np.ndarray], by: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns that summaries hold fixed: by default the settings, and the metric where that is a tag.

    Raises
    ------
    ValueError
        If a name of ``by`` is no column.
    """
    if by is None:
        return (KIND, *GROUP) if KIND in columns else GROUP
    require(columns, names_in(by), "by")
    return names_in(by)


def take(columns: Mapping[str, np.ndarray], rows: np.ndarray) -> Columns:
    """Return the table of some rows (a mask or row numbers)."""
    return {name: values[rows] for name, values in columns.items()}


def levels_of(values: np.ndarray) -> list[Any]:
    """Return the distinct values of a column, in order of appearance."""
    return list(dict.fromkeys(values.tolist()))


def level_of(columns: Columns, level: float | None = None) -> float:
    """Return the simulated level asked for: by default .95, or else the highest.

    Raises
    ------
    ValueError
        If it was not simulated, or there are no rows.
    """
    simulated = levels_of(columns["level"]) if columns else []
    if not simulated:
        raise ValueError("results must hold at least one row; got none")
    if level is None:
        return 0.95 if 0.95 in simulated else max(simulated)
    if level not in simulated:
        raise ValueError(f"level must be a simulated level ({', '.join(map(str, simulated))}); got {shown(level)}")
    return float(level)


def of_infinitely_many(columns: Columns) -> list[str]:
    """Return the methods with rows whose coverage is that of infinitely many resamples."""
    return levels_of(columns["method"][columns["how"] == INFINITE]) if "how" in columns else []


def table_by(by: Sequence[str], keys: Sequence[tuple[Any, ...]], **computed: Sequence[Any]) -> Columns:
    """Return the table whose rows have ``keys``, one value a name of ``by``, and what was computed for them."""
    identity = {name: np.array([key[j] for key in keys]) for j, name in enumerate(by)}
    return identity | {name: np.array(values) for name, values in computed.items()}


def convergence_pace(columns: Columns, tags: Sequence[str] = ()) -> Columns:
    """Fit the pace at which coverage comes to its level.

    Coverage is modelled as ``level + pace / n``; the pace is the least-squares slope through the
    origin of ``coverage - level`` on ``1 / n``, over the sizes at which there are intervals (NaN where
    there are at none). A negative pace is undercoverage in small samples.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    tags : sequence of str
        Columns that describe the distribution; carried over.

    Returns
    -------
    dict of str to (series,) array
        ``distribution``, ``statistic``, ``method``, ``level``, the tags, ``pace``,
        ``relative_error`` and ``sizes`` (the number of sample sizes). The relative error is the
        root of the residual sum of squares over the sum of squared coverages.

    Raises
    ------
    ValueError
        If a column is missing.

    References
    ----------
    Andre et al. (2026), supplement S7.1, equation 2.
    """
    require(columns, (*SERIES, "n", "coverage"))
    require(columns, tags, "tags")
    pace, error, sizes = [], [], []
    found = groups(columns, (*SERIES, *tags))
    for rows in found.values():
        rows = rows[~np.isnan(columns["coverage"][rows])]
        inverse = 1.0 / columns["n"][rows]
        coverage, level = columns["coverage"][rows], columns["level"][rows]
        beta = float(inverse @ (coverage - level) / (inverse @ inverse)) if rows.size else np.nan
        residual = coverage - level - beta * inverse
        square = float(coverage @ coverage)
        pace.append(beta)
        error.append(float(np.sqrt(residual @ residual / square)) if square > 0 else np.nan)
        sizes.append(len(rows))
    return table_by((*SERIES, *tags), list(found), pace=pace, relative_error=error, sizes=sizes)


def _crossing(n: np.ndarray, quality: np.ndarray, target: float, power: float) -> float:
    """Return the n at which ``quality``, linear in ``n ** -power`` between sizes, first reaches ``target``.

    The smallest size if it is reached there, NaN if it is reached nowhere.
    """
    reached = np.flatnonzero(quality >= target)
    if reached.size == 0:
        return np.nan
    i = int(reached[0])
    if i == 0 or np.isnan(quality[i - 1]):
        return float(n[i])
    share = (target - quality[i - 1]) / (quality[i] - quality[i - 1])
    x = n ** (-power)
    return float((x[i - 1] + share * (x[i] - x[i - 1])) ** (-1 / power))


def aiming_at(columns: Columns, coverage: float) -> Columns:
    """Return the rows of intervals whose level is at least ``coverage``: others aim at less.

    Raises
    ------
    ValueError
        If there are none.
    """
    enough = columns["level"] >= coverage
    if len(enough) and not enough.any():
        levels = ", ".join(f"{level:g}" for level in sorted(levels_of(columns["level"])))
        raise ValueError(f"coverage must be at most the highest level, of {levels}; got {coverage}")
    return take(columns, enough)


def required_n(
    columns: Columns,
    *,
    coverage: float | None = None,
    width: float | None = None,
    by: Sequence[str] = SERIES,
) -> Columns:
    """Find the sample size a coverage, a mean width, or both, take.

    Between simulated sizes the coverage is taken to be linear in ``1 / n`` and the mean width in
    ``1 / sqrt(n)``. The answer is the first crossing; nothing is extrapolated.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    coverage : float in (0, 1), optional
        Least coverage wanted; :func:`aiming_at` leaves out levels below it.
    width : float > 0, optional
        Largest mean width wanted. With both targets the larger size counts.
    by : sequence of str
        Columns that identify one curve against n.

    Returns
    -------
    dict of str to (series,) array
        The columns ``by`` and ``required_n`` (NaN where a target is not reached), with three
        flags: ``reached``; ``at_smallest``, where the smallest simulated size is already enough
        and a smaller one may be; ``kept``, where every larger simulated size meets the targets.

    Raises
    ------
    ValueError
        If no target is given, a target is out of its range, a column is missing, or a curve has
        two rows of one size.

    References
    ----------
    Andre et al. (2026), section 4.5 and figure 11.
    """
    if coverage is None and width is None:
        raise ValueError("coverage or width must be given; got None for both")
    targets = []
    if coverage is not None:
        check_number("coverage", coverage, "lie in (0, 1)", lambda x: 0 < x < 1)
        targets.append(("coverage", 1.0, coverage, 1.0))
    if width is not None:
        check_number("width", width, "be positive and finite", lambda x: 0 < x < np.inf)
        targets.append(("mean_width", -1.0, -width, 0.5))
    require(columns, ("n", *(name for name, *_ in targets)))
    require(columns, by, "by")
    found = groups(columns, by)
    sizes, at_smallest, kept = [], [], []
    for key, rows in found.items():
        rows = rows[np.argsort(columns["n"][rows], kind="stable")]
        n = columns["n"][rows].astype(float)
        if np.any(np.diff(n) == 0):
            raise ValueError(f"by must identify one row a size; {shown(key)} has several rows of one n")
        curves = [(sign * columns[name][rows], target, power) for name, sign, target, power in targets]
        size = max(_crossing(n, *curve) for curve in curves) if all(np.any(c >= t) for c, t, _ in curves) else np.nan
        good = np.all([curve >= target for curve, target, _ in curves], axis=0)
        sizes.append(size)
        at_smallest.append(bool(good[0]))
        kept.append(bool(np.all(good[n >= size])) and not np.isnan(size))
    reached = ~np.isnan(np.array(sizes))
    return table_by(by, list(found), required_n=sizes, reached=reached, at_smallest=at_smallest, kept=kept)


def quartiles(columns: Columns, *, by: str | Sequence[str] | None = None) -> Columns:
    """Summarize coverage and mean width over instances (distributions).

    Parameters
    ----------
    columns : dict of str to (rows,) array
    by : str or sequence of str, optional
        Columns held fixed, tags among them; by default the settings, and the metric where there is such a tag.

    Returns
    -------
    dict of str to (groups,) array
        The columns ``by``, ``instances``, and ``_q1``, ``_median`` and ``_q3`` of ``coverage``
        and of ``mean_width``. NaNs are left out; NaN where there is nothing else.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    require(columns, ("coverage", "mean_width"))
    by = summarized_by(columns, by)
    found = groups(columns, by)
    out = table_by(by, list(found), instances=[len(rows) for rows in found.values()])
    for name in ("coverage", "mean_width"):
        three = np.array([three_quartiles(columns[name][rows]) for rows in found.values()]).reshape(-1, 3)
        out |= {f"{name}_{part}": three[:, j] for j, part in enumerate(("q1", "median", "q3"))}
    return out


def averages(columns: Columns, *, by: str | Sequence[str] | None = None) -> Columns:
    """Average coverage and mean width over instances (distributions), with the Monte-Carlo error of the coverage.

    Instances that share banks of resamples err together. So the error is that of the mean over instances in
    every group of data sets, from its variance between groups; a coverage that is computed adds none.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    by : str or sequence of str, optional
        Columns held fixed, tags among them; by default the settings, and the metric where there is such a tag.

    Returns
    -------
    dict of str to (groups,) array
        The columns ``by``, ``instances``, ``coverage``, ``coverage_error`` and ``mean_width``. Instances without
        intervals are left out; NaN where there is nothing else. With one group of data sets the error is the
        mean of those of the instances, which is an upper bound.

    Raises
    ------
    ValueError
        If a column is missing, or instances have different groups.
    """
    require(columns, ("coverage", "coverage_error", "mean_width", "covered_by_group"))
    by = summarized_by(columns, by)
    found = groups(columns, by)
    table: dict[str, list[float]] = {"coverage": [], "coverage_error": [], "mean_width": []}
    instances = []
    for rows in found.values():
        known = rows[~np.isnan(columns["coverage"][rows])]
        instances.append(len(known))
        table["coverage"].append(float(columns["coverage"][known].mean()) if known.size else np.nan)
        table["mean_width"].append(float(columns["mean_width"][known].mean()) if known.size else np.nan)
        table["coverage_error"].append(_error_of_mean(columns, known))
    return table_by(by, list(found), instances=instances, **table)


def _error_of_mean(columns: Columns, rows: np.ndarray) -> float:
    """Return the standard error of the mean coverage of ``rows``, from its variance between groups."""
    if rows.size == 0:
        return np.nan
    texts = [text for text in columns["covered_by_group"][rows].tolist() if text]
    if not texts:
        return float(columns["coverage_error"][rows].mean())
    shares = [[tuple(map(int, part.split("/"))) for part in text.split()] for text in texts]
    if len({tuple(size for _, size in row) for row in shares}) > 1:
        raise ValueError("covered_by_group must have the same groups of data sets in all rows that are averaged")
    sizes = np.array([size for _, size in shares[0]])
    if len(sizes) == 1:
        return float(columns["coverage_error"][rows].mean())
    return group_error(np.array(shares)[:, :, 0].sum(axis=0) / len(rows), sizes)


def three_quartiles(values: np.ndarray) -> np.ndarray:
    """Return the quartiles (3,) of the values that are no NaN; NaN where there is none."""
    known = values[~np.isnan(values)]
    return np.quantile(known, [0.25, 0.5, 0.75]) if known.size else np.full(3, np.nan)


def failures(columns: Columns, *, by: str | Sequence[str] | None = None) -> Columns:
    """Return the rows whose coverage lies below ``Q1 - 1.5 IQR`` of their group.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    by : str or sequence of str, optional
        Columns that make a group, whose instances the quartiles are over; by default the settings, and the metric where
        there is such a tag.

    Returns
    -------
    dict of str to (failures,) array
        All columns of those rows, and ``fence``, the bound they fall below; lowest coverage first.

    Raises
    ------
    ValueError
        If a column is missing.

    References
    ----------
    Andre et al. (2026), tables S6 and S7. Their section 4.6 prints Q3 in place of Q1.
    """
    require(columns, ("coverage",))
    by = summarized_by(columns, by)
    fence = np.full(len(columns["coverage"]), np.nan)
    for rows in groups(columns, by).values():
        q1, _, q3 = three_quartiles(columns["coverage"][rows])
        fence[rows] = q1 - 1.5 * (q3 - q1)
    failed = np.flatnonzero(columns["coverage"] < fence)
    failed = failed[np.argsort(columns["coverage"][failed], kind="stable")]
    return take(columns | {"fence": fence}, failed)
