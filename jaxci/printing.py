"""What users receive: frozen results of plain numbers and NumPy arrays that print as tables."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np


class JaxciWarning(UserWarning):
    """A remark on data or method that a reader of the result should know."""


class ConfidenceInterval(NamedTuple):
    """Interval bounds."""

    low: Any
    high: Any


def plain(value: Any) -> Any:
    """Turn NumPy and JAX values into what JSON holds; NaN and infinities stay floats."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, ConfidenceInterval):
        return {"low": plain(value.low), "high": plain(value.high)}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def number(value: float | None, digits: int = 4) -> str:
    """Format a number for a table."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{digits}f}"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a text table: first column left, the others right, the last left."""
    widths = [max(len(str(row[j])) for row in [header, *rows]) for j in range(len(header))]
    last = len(header) - 1

    def line(row: Sequence[str]) -> str:
        cells = [
            str(cell).ljust(width) if j in (0, last) else str(cell).rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a small HTML table."""
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(records: list[dict[str, Any]]) -> Any:
    """Return a pandas frame of one row a record."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: install jaxci[data]") from error
    return pd.DataFrame.from_records(records)


COLUMNS = ("metric", "estimate", "low", "high", "std. error", "method")


@dataclasses.dataclass(frozen=True, eq=False)
class IntervalResult:
    """An estimate and its confidence interval.

    Attributes
    ----------
    statistic : str
        Name of the statistic.
    estimate : float
        Value on the data; the interval is about this estimator.
    confidence_interval : ConfidenceInterval
        ``.low`` and ``.high``; infinite, or the end of the range, on an unbounded side.
    standard_error : float
        Of the estimate: from the method where it has one, from influence values or the
        replicates otherwise; NaN where there is none.
    method, reason : str
        The method used and why.
    confidence_level : float
    alternative : str
    n : int
        Independent units behind the interval: rows, or clusters.
    n_resamples : int
        Resamples drawn; 0 for closed forms.
    bootstrap_distribution : (B,) array or None
        The replicates the interval was read from, NaN where undefined.
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``; None where nothing was drawn.
    warnings : tuple of str
    dtype : str
        Floating type of the computation.
    coverage, coverage_error : float
        Coverage that the method reaches on data like these, with its Monte-Carlo standard error;
        NaN where no check was asked for.
    """

    statistic: str
    estimate: float
    confidence_interval: ConfidenceInterval
    standard_error: float
    method: str
    reason: str
    confidence_level: float
    alternative: str
    n: int
    n_resamples: int = 0
    bootstrap_distribution: np.ndarray | None = dataclasses.field(default=None, repr=False)
    rng: Any = None
    warnings: tuple[str, ...] = ()
    dtype: str = "float64"
    coverage: float = math.nan
    coverage_error: float = math.nan

    heading: ClassVar[tuple[str, ...]] = COLUMNS
    subject: ClassVar[str] = "confidence intervals"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON (without the replicates)."""
        out = {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        del out["bootstrap_distribution"]
        return out

    def to_frame(self) -> Any:
        """Return a pandas frame of one row."""
        return frame([self.record()])

    def record(self) -> dict[str, Any]:
        """Return one flat row for a frame."""
        out = self.to_dict()
        interval = out.pop("confidence_interval")
        out["low"], out["high"] = interval["low"], interval["high"]
        out["warnings"] = "; ".join(out["warnings"])
        return out

    def cells(self) -> list[str]:
        """Return the cells of the row of a table."""
        low, high = self.confidence_interval
        return [
            self.statistic,
            number(self.estimate),
            number(low),
            number(high),
            number(self.standard_error),
            self.method,
        ]

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        return [f"{self.statistic}: {self.method}: {self.reason}", *(f"warning: {w}" for w in self.warnings)]

    def __str__(self) -> str:
        head = f"{headline(self)}\n{aligned(self.heading, [self.cells()])}\n"
        return head + "\n".join(self.notes())

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes())
        return f"<div>{html.escape(headline(self))}</div>{html_table(self.heading, [self.cells()])}{notes}"


def headline(result: IntervalResult) -> str:
    """Return the line above a table."""
    side = "" if result.alternative == "two-sided" else f", one-sided ({result.alternative})"
    return f"{100 * result.confidence_level:g}% {result.subject}{side}, n = {result.n}"


@dataclasses.dataclass(frozen=True, eq=False)
class EvaluationTable:
    """Intervals for several metrics of one model on one data set: one row a metric.

    Rows are :class:`IntervalResult`; ``table["f1"]`` and iteration give them.
    ``warnings`` holds remarks that concern the data as a whole.
    """

    rows: tuple[IntervalResult, ...]
    n: int
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> IntervalResult:
        for row in self.rows:
            if row.statistic == name:
                return row
        raise KeyError(f"no metric {name!r} in this table; it has {[row.statistic for row in self.rows]}")

    def __iter__(self) -> Iterator[IntervalResult]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "n": self.n,
            "rng": plain(self.rng),
            "warnings": list(self.warnings),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_frame(self) -> Any:
        """Return a pandas frame, one row a metric."""
        return frame([row.record() for row in self.rows])

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            reasons.setdefault((row.method, row.reason), []).append(row.statistic)
        notes = [f"{method}: {reason} ({', '.join(names)})" for (method, reason), names in reasons.items()]
        remarks: dict[str, list[str]] = {}
        for row in self.rows:
            for text in row.warnings:
                remarks.setdefault(text, []).append(row.statistic)
        notes += [f"warning: {text}" for text in self.warnings]
        return notes + [f"warning ({', '.join(names)}): {text}" for text, names in remarks.items()]

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table; a column of coverage where it was measured."""
        header, rows = list(COLUMNS), [row.cells() for row in self.rows]
        if any(not math.isnan(row.coverage) for row in self.rows):
            header.insert(-1, "coverage")
            for row, cells in zip(self.rows, rows, strict=True):
                cells.insert(-1, "" if math.isnan(row.coverage) else number(row.coverage))
        return header, rows

    def __str__(self) -> str:
        head = headline(self.rows[0]) if self.rows else "no metrics"
        return "\n".join([head, aligned(*self.layout()), *self.notes()])

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes())
        head = html.escape(headline(self.rows[0])) if self.rows else ""
        return f"<div>{head}</div>{html_table(*self.layout())}{notes}"


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonResult(IntervalResult):
    """A paired difference ``a - b``: the interval, both estimates, and tests.

    Attributes
    ----------
    estimate_a, estimate_b : float
    pvalue : float
        Of no difference, against ``alternative``; obtained by ``test``.
    test : str
    margin : float or None
        The margin asked for.
    conclusion : str
        What the interval says of superiority, and of non-inferiority within ``margin``.
    """

    estimate_a: float = math.nan
    estimate_b: float = math.nan
    pvalue: float = math.nan
    test: str = ""
    margin: float | None = None
    conclusion: str = ""

    heading = ("metric", "a - b", *COLUMNS[2:])
    subject = "confidence intervals of the difference a - b"

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        both = f"a = {number(self.estimate_a)}, b = {number(self.estimate_b)}"
        return [both, f"p = {number(self.pvalue)} ({self.test})", self.conclusion, *super().notes()]


@dataclasses.dataclass(frozen=True, eq=False)
class JackknifeResult:
    """Jackknife estimate, bias, standard error and pseudo-values.

    Attributes
    ----------
    estimate : float
        The statistic on the data.
    bias : float
        Jackknife bias of ``estimate``.
    bias_corrected : float
        ``estimate - bias``.
    standard_error : float
    pseudo_values : (n,) array, or (number of subsets,) for ``delete > 1``
    """

    estimate: float
    bias: float
    bias_corrected: float
    standard_error: float
    pseudo_values: np.ndarray = dataclasses.field(repr=False)
    delete: int = 1
