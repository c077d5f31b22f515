"""Results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jaxci.cli.tables import write_csv, write_json
from jaxci.cli.words import in_flags
from jaxci.printing import Printable, in_columns, is_text
from jaxci.results import EvaluationTable, IntervalResult

if TYPE_CHECKING:
    from jaxci.api.case_results import CaseSummaries
    from jaxci.api.leaderboard_results import Leaderboard
    from jaxci.api.planning_results import Plan
    from jaxci.api.quantile_results import QuantileInterval
    from jaxci.coverage.check import CoverageCheck

NARROWEST = 110
"""Width of the page where the output is no terminal."""
GAP = 3
"""Space between the columns of a table."""


def page() -> Console:
    """Return the console of stdout, of a fixed width where stdout is a file or a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=NARROWEST)


def grid(header: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str | None = None) -> Table:
    """Lay out a table: words and the first column to the left, numbers to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    texts = in_columns(rows)
    for place, name in enumerate(header):
        words = place == 0 or is_text([row[place] for row in texts])
        table.add_column(name, justify="left" if words else "right", no_wrap=place < len(header) - 1)
    for row in texts:
        table.add_row(*map(Text, row))
    return table


def show_table(console: Console, result: Printable) -> None:
    """Print a result with its reasons and warnings below."""
    header, rows = result.texts()
    usual, console.width = console.width, max(console.width, _width(header, rows))
    console.print(grid(header, rows, title=result.headline()))
    console.width = usual
    show_notes(console, result.notes())


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width at which no cell is cut: a terminal breaks lines that are too long; the last column wraps."""
    columns = list(zip(header, *rows, strict=True))
    words = [word for cell in columns[-1] for word in cell.split()] if columns else []
    widths = [max(map(len, column)) for column in columns[:-1]]
    return sum(widths) + max(map(len, words), default=0) + GAP * len(columns)


def show_notes(console: Console, notes: Iterable[str]) -> None:
    """Print the lines below a table, warnings in colour."""
    for note in map(in_flags, filter(None, notes)):
        console.print(Text(note, style="yellow" if note.startswith("warning") else "dim"))


def show(console: Console, result: EvaluationTable | IntervalResult) -> None:
    """Print a table of metrics, an interval or a comparison, and how to draw its resamples again."""
    show_table(console, result)
    drawn = max(row.n_resamples for row in ([result] if isinstance(result, IntervalResult) else result))
    if drawn and result.rng is not None:
        console.print(Text(f"{drawn} resamples; repeat with --seed {result.rng}", style="dim"))
    elif isinstance(result, IntervalResult):
        _show_seed(console, result.rng)


def show_seeded(console: Console, result: CoverageCheck | Plan | Leaderboard | CaseSummaries) -> None:
    """Print a result that may have drawn, and how to draw the same again."""
    show_table(console, result)
    _show_seed(console, result.rng)


def _show_seed(console: Console, seed: Any) -> None:
    """Print how to draw the same again, where anything was drawn."""
    if seed is not None:
        console.print(Text(f"repeat with --seed {seed}", style="dim"))


def show_and_write(
    result: Any, json: Path | None, csv: Path | None = None, how: Callable[[Console, Any], None] = show_table
) -> None:
    """Print a result, and write the files that were asked for."""
    how(page(), result)
    if json is not None:
        write_json(json, result.to_dict())
    if csv is not None:
        write_csv(csv, result.records())


def show_quantiles(console: Console, found: dict[str, QuantileInterval], by: str) -> None:
    """Print the quantile intervals of every group in one table, and what to know below it."""
    header: list[str] = []
    rows: list[list[Any]] = []
    for name, one in found.items():
        header, cells = one.layout()
        rows += [[f"{name} (n = {one.n})", *row] for row in cells]
    first = next(iter(found.values()))
    console.print(grid([by or "runs", *header], rows, title=first.headline().rsplit(",", 1)[0]))
    groups: dict[str, list[str]] = {}
    for name, one in found.items():
        for note in one.notes():
            groups.setdefault(note, []).append(name)
    told = [note if len(names) == len(found) else f"{note} ({', '.join(names)})" for note, names in groups.items()]
    show_notes(console, told)
    _show_seed(console, first.rng)
