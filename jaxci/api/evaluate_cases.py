"""Per-case metrics, summarized with intervals."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.case_results import CaseSummaries, CaseSummary
from jaxci.api.readers.arrays import as_floats, check_lengths, is_missing
from jaxci.api.readers.indexes import of_indexes
from jaxci.api.readers.labels import label_values
from jaxci.api.readers.layout import arranged
from jaxci.checks import check_distinct, nearest, shown
from jaxci.inference.engine import intervals
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import FEW_FOR_A_RARE_KIND, announce, layout_remarks, missing_kind
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.intervals.capabilities import power_of_variance
from jaxci.printing import ConfidenceInterval, first_few, gathered
from jaxci.results import IntervalResult
from jaxci.segmentation.table import DISTANCES, METRICS, OVERLAPS, CaseTable
from jaxci.statistics.base import Statistic
from jaxci.statistics.order import ValueOrderStatistic
from jaxci.statistics.registry import METRICS as STATISTICS
from jaxci.statistics.registry import name_of, statistic_by_name
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, is_mean

SUMMARIES = ("mean", "median", "std", "iqr", "trimmed_mean")
"""The five summaries: mean, median, standard deviation, length of the interquartile range, trimmed mean."""
BOUNDS = dict.fromkeys(OVERLAPS, (0.0, 1.0)) | dict.fromkeys(DISTANCES, (0.0, np.inf))
"""Range that a metric can have, by its name."""


def evaluate_cases(
    frame: Any,
    *,
    by: str | Sequence[str] | None = None,
    groups: Any = None,
    metrics: str | Sequence[str] | None = None,
    summaries: str | Statistic | Sequence[str | Statistic] = SUMMARIES,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    method: str | Method = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CaseSummaries:
    """Summaries of per-case metrics with confidence intervals.

    Parameters
    ----------
    frame : CaseTable, dict of (n,) array_like, or frame
        A row a case, or a case and label: :func:`jaxci.segmentation.cases` makes one.
    by : str or sequence of str, optional
        Columns (label, model, site ...) whose combinations of values are summarized apart. By default all rows are
        summarized together, but of a table with several labels every label apart.
    groups : str or (n,) array_like, optional
        Cluster of every row (patient), or the name of its column: clusters are resampled, not rows.
    metrics : str or sequence of str, optional
        Columns to summarize. By default those of a CaseTable; of other frames all that hold real numbers but ``by``,
        ``groups``, cases and labels. Whole numbers, which may be names, are summarized where they are named here.
    summaries : str, Statistic or sequence of these
        By default the mean, median, standard deviation ("std", with divisor n), length of the interquartile range
        ("iqr") and trimmed mean (without a quarter of the values at either end).
    bounds : (low, high), or dict of str to such a pair, optional
        Range that the values of all metrics can have, or of each by its name; intervals of means allow for it, and
        open ends of medians, quantiles and trimmed means are its ends. By default 0 to 1 for "dice", "iou",
        "boundary_iou" and "nsd", from 0 for distances, where values lie within.
    method, confidence_level, alternative, n_resamples, rng, memory_limit
        As in :func:`jaxci.evaluate`.
    progress : callable, optional
        Called with metrics and combinations (done, total).

    Returns
    -------
    CaseSummaries
        ``result(metric, summary)`` gives one interval, ``to_frame()`` all.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds: rows without a value, which are left out, among them.

    Notes
    -----
    Cases, or clusters, are assumed independent. The summaries of a metric share their resamples.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> dice = np.random.default_rng(0).beta(8, 2, 60)
    >>> found = jaxci.evaluate_cases({"dice": dice, "patient": np.arange(60) // 2}, groups="patient", rng=0)
    >>> [row.result.statistic for row in found]
    ['mean', 'median', 'std', 'iqr', 'trimmed_mean']
    >>> found.result("dice", "mean").n
    30
    """
    settings = Settings.of(confidence_level, alternative, n_resamples, memory_limit=memory_limit)
    table = _Frame.of(frame, by, groups, metrics)
    asked = [summaries] if isinstance(summaries, Statistic) else _listed("summaries", summaries)
    requests = [Request(name_of(given), statistic_by_name(given), method) for given in asked]
    if not requests:
        raise ValueError("summaries must hold at least one; got none")
    for request in requests:
        if request.statistic.task != "values":
            known = [name for name, statistic in STATISTICS.items() if statistic.task == "values"]
            raise ValueError(f"summaries must be of values ({', '.join(known)}); got {request.name!r}")
    check_distinct("summaries", [request.name for request in requests])
    ranges = _ranges(bounds, table.metrics)
    source = randomness(rng)
    read = {*table.metrics, *table.levels, *([groups] if isinstance(groups, str) else [])}
    indexed = {name: frame[name] for name in frame if name in read} if isinstance(frame, Mapping) else frame
    paired = of_indexes({"frame": indexed, "groups": groups})
    rows, remarks = [], [("", text) for text in (*paired, *table.left_out())]
    cells = list(table.cells())
    clustered = table.groups is not None and len(np.unique(table.groups)) > 1  # of a single cluster there is an error
    for done, cell in enumerate(cells):
        if len(cell.values) < 2:
            remarks.append(("", f"{cell.what} has {len(cell.values)} values: no interval"))
            continue
        if clustered and cell.groups is not None and (cell.groups == cell.groups[0]).all():
            remarks.append(
                ("", f"{cell.what} has the values of 1 cluster of groups, {shown(cell.groups[0])}: no interval")
            )
            continue
        sample, layout = arranged(Sample(values=cell.values), cell.groups, None, None, "importance")
        found = intervals(
            [_within(request, ranges.get(cell.metric), cell) for request in requests], sample, layout, settings, source
        )
        for request, result in zip(requests, found, strict=True):
            closed = _closed(result, request.statistic, ranges.get(cell.metric))
            rows.append(CaseSummary(cell.by, cell.metric, closed))
            texts = (*layout_remarks(layout), *closed.warnings, *_of_failures(cell, request.statistic))
            remarks += [(f"{result.statistic} of {cell.what}", text) for text in texts]
        if progress is not None:
            progress(done + 1, len(cells))
    if not rows:
        of = " in 2 clusters" if clustered else ""
        raise ValueError(f"frame must have at least 2 values of a metric{of}; got none: {'; '.join(_told(remarks))}")
    told = _told(remarks)
    announce(told)
    return CaseSummaries(tuple(rows), table.by, source.record, told)


class _Cell(NamedTuple):
    """Values of one metric in one combination of the ``by`` columns."""

    by: dict[str, Any]
    metric: str
    values: np.ndarray
    groups: np.ndarray | None

    @property
    def what(self) -> str:
        of = ", ".join(f"{name} {value!r}" for name, value in self.by.items())
        return f"{self.metric!r}" + (f" ({of})" if of else "")


@dataclasses.dataclass(frozen=True)
class _Frame:
    """Columns that are read: metrics as floats (n,), ``by`` columns, clusters; and names of those of whole numbers.

    ``written`` names columns of numbers that are text, ``repeated`` is what is to be said where rows of one case are
    taken for independent ones, or are one cell.
    """

    metrics: dict[str, np.ndarray]
    levels: dict[str, np.ndarray]
    groups: np.ndarray | None
    not_read: list[str]
    written: list[str]
    repeated: str = ""

    @property
    def by(self) -> tuple[str, ...]:
        return tuple(self.levels)

    @classmethod
    def of(cls, frame: Any, by: Any, groups: Any, metrics: Any) -> _Frame:
        columns = _columns(frame)
        own = isinstance(frame, CaseTable)
        if by is None:
            by = ["label"] if own and len(frame.labels) > 1 else []
        by = _listed("by", by)
        read = {f"by {name!r}": name for name in by}
        if isinstance(groups, str):
            read["groups"] = groups
        not_read: list[str] = []
        written: list[str] = []
        if metrics is None:
            spared = {*by, groups if isinstance(groups, str) else "", "case", "label"}
            kinds = {name: _kind(columns[name]) for name in columns if name not in spared}
            metrics = list(METRICS) if own else [name for name, kind in kinds.items() if kind == "f"]
            if not own:
                not_read = [str(name) for name, kind in kinds.items() if kind in "iub"]
                written = [str(name) for name, kind in kinds.items() if kind in "OUS" and _reads_real(columns[name])]
        metrics = _listed("metrics", metrics)
        check_distinct("by", by)
        check_distinct("metrics", metrics)
        for what, name in (*read.items(), *((f"metrics {name!r}", name) for name in metrics)):
            if name not in columns:
                raise ValueError(f"{what} must be a column of frame; {nearest(str(name), [*map(str, columns)])}")
        if not metrics:
            named = ", ".join(map(str, columns)) + (f"; numbers in {', '.join(written)} are text" if written else "")
            raise ValueError(f"frame must have a column of real numbers, or metrics must name one; it has {named}")
        values = {name: as_floats(name, columns[name], finite=False) for name in metrics}
        for name, column in values.items():
            if np.isinf(column).any():
                first = int(np.argmax(np.isinf(column)))
                raise ValueError(f"{name!r} must be finite or NaN (no value); got {column[first]:g} in row {first}")
        levels = {name: label_values(name, columns[name]) for name in by}
        given = columns[groups] if isinstance(groups, str) else groups
        units = None if given is None else label_values("groups", given)
        lengths = {name: len(x) for name, x in (*values.items(), *levels.items())}
        check_lengths(lengths | ({} if units is None else {"groups": len(units)}))
        repeated = ""
        if (own or units is None) and "case" in columns and "case" not in by:
            cases = label_values("case", columns["case"])
            check_lengths({"case": len(cases), **lengths})
            keys = list(zip(cases.tolist(), *(column.tolist() for column in levels.values()), strict=True))
            if len(set(keys)) < len(keys):
                apart = ", or by='label'" if "label" in columns and "label" not in by else ""
                repeated = (
                    f"rows of one case are taken for independent ones; groups='case' says that they are not{apart}"
                    if units is None
                    else "rows of one case, of several labels or models, are summarized together; by= tells them apart"
                )
        return cls(values, levels, units, not_read, written, repeated)

    def combinations(self) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        """Yield every combination of values that occurs, with its rows (n,), in order of appearance."""
        n = len(next(iter(self.metrics.values())))
        if not self.levels:
            yield {}, np.ones(n, bool)
            return
        keys = list(zip(*(column.tolist() for column in self.levels.values()), strict=True))
        places: dict[tuple[Any, ...], list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        for key, at in places.items():
            rows = np.zeros(n, bool)
            rows[at] = True
            yield dict(zip(self.levels, key, strict=True)), rows

    def cells(self) -> Iterator[_Cell]:
        """Yield the values that there are, of every combination and metric."""
        for by, rows in self.combinations():
            for name, column in self.metrics.items():
                kept = rows & ~np.isnan(column)
                groups = None if self.groups is None else self.groups[kept]
                if groups is not None and len(np.unique(groups)) == len(groups):
                    groups = None  # a row a cluster: independent rows
                yield _Cell(by, name, column[kept], groups)

    def left_out(self) -> list[str]:
        """Say how many rows of a metric have no value, which cases repeat, and which columns might be metrics."""
        told: dict[str, list[str]] = {}
        for name, column in self.metrics.items():
            missing = int(np.isnan(column).sum())
            if missing:
                told.setdefault(f"{missing} of {len(column)} rows have no value and are left out", []).append(name)
        found = [f"{', '.join(names)}: {text}" for text, names in told.items()]
        if self.repeated:
            found.append(self.repeated)
        if self.not_read:
            found.append(
                f"{', '.join(self.not_read)}: whole numbers and booleans may be names and are left out; metrics= takes "
                "them"
            )
        if self.written:
            found.append(f"{', '.join(self.written)}: numbers written as text are left out; make them numbers")
        return found


def _listed(name: str, given: Any) -> list[Any]:
    """Return one name as a list of one, several as a list."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a name or a sequence of names; got {shown(given)}")
    return [given] if isinstance(given, str) else list(given)


def _kind(column: Any) -> str:
    """Return the kind of a column's type; of objects that are numbers or missing, that of the numbers."""
    array = np.asarray(column)
    if array.dtype.kind != "O":
        return array.dtype.kind
    there = [x for x in array.flat if not is_missing(x)]
    real = len(there) > 0 and all(isinstance(x, numbers.Real) and not isinstance(x, bool | np.bool_) for x in there)
    return np.asarray(there).dtype.kind if real else "O"


def _reads_real(column: Any) -> bool:
    """Return whether most of the texts in a column read as numbers that are not whole, which may be names."""
    texts = [str(x) for x in np.ravel(np.asarray(column, object)) if not is_missing(x)]
    read = [number for number in map(_number, texts) if number is not None]
    return 2 * len(read) > len(texts) and not all(number.is_integer() for number in read)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _columns(frame: Any) -> dict[Any, Any]:
    if isinstance(frame, CaseTable):
        return dict(frame.columns)
    if isinstance(frame, Mapping):
        return dict(frame)
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):  # a frame of any library
        names = list(frame.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"frame must have each column once; it has {twice!r} again")
        return {name: np.asarray(frame[name]) for name in frame.columns}
    raise TypeError(f"frame must be a CaseTable, a dict of columns or a frame; got {shown(frame)}")


def _ranges(bounds: Any, metrics: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """Return the range of every metric that has one."""
    if isinstance(bounds, Mapping):
        for name in bounds:
            if name not in metrics:
                raise ValueError(f"bounds must name metrics; {name!r} is none: {nearest(str(name), list(metrics))}")
        told = {name: Mean(bounds=ends).bounds for name, ends in bounds.items()}
    else:
        told = {} if bounds is None else dict.fromkeys(metrics, Mean(bounds=bounds).bounds)
    for name, values in metrics.items():
        low, high = BOUNDS.get(name, (-np.inf, np.inf))
        seen = values[~np.isnan(values)]
        if name in BOUNDS and name not in told and len(seen) and low <= seen.min() and seen.max() <= high:
            told[name] = low, high
    return told


def _within(request: Request, ends: tuple[float, float] | None, cell: _Cell) -> Request:
    """Return a mean with the range of its values, others as they are."""
    statistic = request.statistic
    told = is_mean(statistic) or _lies_among_values(statistic) or power_of_variance(statistic) is not None
    if ends is None or not told:
        return request
    if not ends[0] <= cell.values.min() <= cell.values.max() <= ends[1]:
        raise ValueError(
            f"bounds must hold all values; got {ends} for {cell.what} from {cell.values.min():g} to "
            f"{cell.values.max():g}"
        )
    return dataclasses.replace(request, statistic=Mean(bounds=ends)) if is_mean(statistic) else request


def _closed(result: IntervalResult, statistic: Statistic, ends: tuple[float, float] | None) -> IntervalResult:
    """Return the interval of a quantile or a trimmed mean with the range of the values where it is open.

    That of a measure of spread ends where the range of the values ends it.
    """
    if ends is None:
        return result
    low, high = result.confidence_interval
    if (most := _most(statistic, ends[1] - ends[0])) is not None:
        if not high > most:
            return result
        told = f"values from {ends[0]:g} to {ends[1]:g} have at most {most:g}, where the interval ends"
        warnings = (*result.warnings, told) if np.isfinite(high) else result.warnings
        return dataclasses.replace(
            result, confidence_interval=ConfidenceInterval(min(low, most), most), warnings=warnings
        )
    if not _lies_among_values(statistic):
        return result
    kept = ConfidenceInterval(ends[0] if low == -np.inf else low, ends[1] if high == np.inf else high)
    return dataclasses.replace(result, confidence_interval=kept)


def _most(statistic: Statistic, width: float) -> float | None:
    """Return the largest value that a measure of spread has within a range of this width; None for other statistics."""
    power = power_of_variance(statistic)
    if power is not None:
        return (width / 2) ** (2 * power)
    return width if isinstance(statistic, ValueOrderStatistic) and statistic.is_length else None


def _of_failures(cell: _Cell, statistic: Statistic) -> list[str]:
    """Remark on a mean of overlaps or distances of few cases: masks that fail altogether may not be among them."""
    if cell.groups is not None or cell.metric not in BOUNDS or not is_mean(statistic):
        return []
    said = missing_kind(len(cell.values), "case", FEW_FOR_A_RARE_KIND)
    return [] if said is None else [said]


def _lies_among_values(statistic: Statistic) -> bool:
    """Whether a statistic of ordered values is one of them, or between two."""
    return isinstance(statistic, ValueOrderStatistic) and tuple(statistic.bounds) == (-np.inf, np.inf)


def _told(remarks: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return remarks, each once, with the cells that it is made on: "" where it is on none."""
    texts = gathered(remarks)
    return tuple(f"{first_few(of)}: {text}" if any(of) else text for text, of in texts.items())
