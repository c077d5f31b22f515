"""What users receive: frozen results of plain numbers and NumPy arrays that print as tables."""

from __future__ import annotations

import abc
import dataclasses
import html
import math
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from jaxci.records import Named

T = TypeVar("T", bound=Hashable)

MOST_ROWS = 60
"""Rows that a printed table shows."""
DECIMALS, MOST_DECIMALS = 4, 6
"""Decimals of printed numbers, and as many as a column may have."""
LARGEST, EXACT = 1e7, 1e15
"""From where on numbers are printed without decimals, and as powers of ten."""


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
    if isinstance(value, Printable):
        return value.to_dict()
    if isinstance(value, Named):
        return value.written()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # a named tuple, such as an interval or a mean rank
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def one_format(values: Sequence[Any], least: int = DECIMALS) -> list[str]:
    """Format the numbers of a column alike, and everything else as it prints.

    Fixed point with ``least`` decimals, or as many more as give the smallest number two digits, and none from
    :data:`LARGEST` on; powers of ten for a number that would need more than :data:`MOST_DECIMALS`, or has more digits
    than are exact.
    """
    needed = [1 - math.floor(math.log10(abs(x))) if _is_float(x) and 0 < abs(x) < LARGEST else 0 for x in values]
    fixed = f".{max([least, *(decimals for decimals in needed if decimals <= MOST_DECIMALS)])}f"

    def shown(x: Any, decimals: int) -> str:
        if not _is_float(x):
            return str(x)
        if LARGEST <= abs(x) < EXACT:
            return format(float(x), ".0f")
        powers = decimals > MOST_DECIMALS or EXACT <= abs(x) < math.inf
        return format(float(x), f".{least - 1}e" if powers else fixed)

    return [shown(x, decimals) for x, decimals in zip(values, needed, strict=True)]


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating)


def number(value: float | None, decimals: int = DECIMALS) -> str:
    """Format one number that stands alone; see :func:`one_format`."""
    return "" if value is None else one_format([float(value)], decimals)[0]


def p_cell(value: float, least: float = 0.0) -> str:
    """Format a p-value for a table; empty where there is none.

    ``least`` is the smallest that the resamples, or draws, behind it could show: at or below it only that is said,
    as "< 0.0002".
    """
    if math.isnan(value):
        return ""
    if value == least == 0.0:
        return "< 1e-300"  # what double precision can tell from 0, nearly
    if value <= least * (1 + 1e-9):
        return f"< {np.format_float_positional(float(f'{least:.2g}'), min_digits=DECIMALS)}"
    return number(value)


def p_said(value: float, least: float = 0.0) -> str:
    """Return a p-value as a sentence has it, "p = 0.0312" or "p < 0.0002"; see :func:`p_cell`."""
    shown = p_cell(value, least) or "nan"
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


NUMERIC = re.compile(r"\s*(?:< )?[-+]?(?:\d[\d.,]*(?:e[-+]?\d+)?|inf|nan)?%?\s*")

ONE_LINE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""How a cell shows what would break its line, as a label may hold."""


def is_text(cells: Sequence[str]) -> bool:
    """Whether a column holds words, and is aligned to the left: one of its cells is neither empty nor a number."""
    return any(NUMERIC.fullmatch(cell) is None for cell in cells)


def in_columns(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Return cells as texts of one line, the floats of a column in one format."""
    return [
        [cell.translate(ONE_LINE) for cell in row]
        for row in zip(*map(one_format, zip(*rows, strict=True)), strict=True)
    ]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a text table: words and the first column left, numbers right."""
    columns = [[row[j] for row in rows] for j in range(len(header))]
    widths = [max(map(len, [name, *cells])) for name, cells in zip(header, columns, strict=True)]
    left = [j == 0 or is_text(cells) for j, cells in enumerate(columns)]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, left, strict=True)
        return "  ".join(cell.ljust(width) if words else cell.rjust(width) for cell, width, words in cells).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, long: int | None = None) -> str:
    """Render a small HTML table; cells of more than ``long`` characters are of the class "long"."""

    def cell(text: str) -> str:
        kind = "" if long is None or len(text) <= long else ' class="long"'
        return f"<td{kind}>{html.escape(text)}</td>"

    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in header)
    body = "".join(f"<tr>{''.join(cell(str(text)) for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(records: list[dict[str, Any]]) -> Any:
    """Return a pandas frame of one row a record."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: install jaxci[data]") from error
    return pd.DataFrame.from_records(records)


def stated_level(confidence_level: float, alternative: str, what: str) -> str:
    """Return level and side of intervals in words, as a headline has them."""
    side = "" if alternative == "two-sided" else f", one-sided ({alternative})"
    return f"{100 * confidence_level:g}% {what}{side}"


def gathered(said: Iterable[tuple[str, T]]) -> dict[T, list[str]]:
    """Return each thing that is said once, in order of appearance, with those of which it is said."""
    found: dict[T, list[str]] = {}
    for of, what in said:
        found.setdefault(what, []).append(of)
    return found


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Return names in a row: the first ``most``, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def left_out(size: int) -> list[str]:
    """Return the line that says how many rows of ``size`` a table leaves out; nothing where it shows all."""
    return [f"... and {size - MOST_ROWS} rows more"] if size > MOST_ROWS else []


class Printable(abc.ABC):
    """A result of plain numbers and arrays: prints as a table, and becomes HTML, a dictionary or a frame.

    Leaves say what is in it: ``headline``, ``layout`` and ``records``, and ``notes`` beside warnings. Fields in
    ``unlisted`` stay out of the dictionary.
    """

    unlisted: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def headline(self) -> str:
        """Return the line above the table."""

    @abc.abstractmethod
    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table, texts and floats; an empty header where there is none."""

    def notes(self) -> list[str]:
        """Return the lines below the table: the warnings, where the result has any."""
        return [f"warning: {text}" for text in getattr(self, "warnings", ())]

    @abc.abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return one flat dictionary of plain values a row."""

    def texts(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table as texts, the floats of a column in one format."""
        header, rows = self.layout()
        return header, in_columns(rows)

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds, by name: the fields."""
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names if name not in self.unlisted}

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON; NaN and infinities stay floats, which ``json`` writes as NaN."""
        return {name: plain(value) for name, value in self.contents().items()}

    def to_frame(self) -> Any:
        """Return a pandas frame, one row a record."""
        return frame(self.records())

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the result; see :func:`jaxci.plots.draw`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        **options
            Of the picture: see :mod:`jaxci.plots.results`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        TypeError
            If there is no picture of such results.
        ImportError
            Without matplotlib (the ``plot`` extra).
        """
        from jaxci.plots.results import draw

        return draw(self, ax=ax, **options)

    def __str__(self) -> str:
        header, rows = self.texts()
        table = [aligned(header, rows)] if header else []
        return "\n".join(filter(None, [self.headline(), *table, *self.notes()]))

    def _repr_html_(self) -> str:
        header, rows = self.texts()
        table = html_table(header, rows) if header else ""
        above, *below = (f"<div>{html.escape(text)}</div>" if text else "" for text in (self.headline(), *self.notes()))
        return above + table + "".join(below)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the printed table in IPython, and beside the HTML of a notebook, in place of all fields."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}
