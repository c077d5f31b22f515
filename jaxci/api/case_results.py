"""What :func:`jaxci.evaluate_cases` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxci.checks import nearest, shown
from jaxci.printing import Printable, plain, stated_level
from jaxci.results import IntervalResult


class CaseSummary(NamedTuple):
    """One summary of one metric: the ``by`` columns' values of its rows, the metric, and the interval."""

    by: dict[str, Any]
    metric: str
    result: IntervalResult


@dataclasses.dataclass(frozen=True, eq=False)
class CaseSummaries(Printable):
    """Summaries of per-case metrics with intervals: one row a metric, summary and combination of the ``by`` columns.

    Attributes
    ----------
    rows : tuple of CaseSummary
    by : tuple of str
        Columns whose values tell the rows apart.
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``.
    warnings : tuple of str
    """

    rows: tuple[CaseSummary, ...]
    by: tuple[str, ...] = ()
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def select(self, **values: Any) -> CaseSummaries:
        """Return the rows of a ``metric``, a ``summary`` (or ``statistic``), or a value of one of the ``by`` columns.

        Raises
        ------
        KeyError
            If there is no such column or row.
        """
        rows = self.rows
        for name, value in values.items():
            if name not in (known := ("metric", "summary", "statistic", *self.by)):
                raise KeyError(f"no column {name!r} to choose by: {nearest(name, known)}")
            kept = tuple(row for row in rows if self._of(row, name) == value)
            if not kept:
                there = list(dict.fromkeys(self._of(row, name) for row in rows))
                raise KeyError(f"no row with {name} {value!r}; there are {shown(there)}")
            rows = kept
        return dataclasses.replace(self, rows=rows)

    def result(self, metric: str, statistic: str = "mean", **by: Any) -> IntervalResult:
        """Return the interval of one summary of one metric, of one combination of the ``by`` columns.

        Raises
        ------
        KeyError
            If there is no such row, or there are several.
        """
        rows = self.select(metric=metric, statistic=statistic, **by).rows
        if len(rows) > 1:
            open_ = [name for name in self.by if name not in by]
            raise KeyError(f"{len(rows)} rows are of the {statistic} of {metric!r}: name a value of {', '.join(open_)}")
        return rows[0].result

    @staticmethod
    def _of(row: CaseSummary, name: str) -> Any:
        statistic = row.result.statistic
        return {"metric": row.metric, "summary": statistic, "statistic": statistic, **row.by}[name]

    def __iter__(self) -> Iterator[CaseSummary]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def headline(self) -> str:
        """Return the line above the table."""
        if not self.rows:
            return "no summaries"
        first = self.rows[0].result
        return stated_level(first.confidence_level, first.alternative, first.subject)

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        header = [*self.by, "metric", "summary", "estimate", "low", "high", "std. error", "n", "method"]
        clusters = any(row.result.n_rows for row in self.rows)
        if clusters:
            header.insert(-1, "rows")
        rows = []
        for row in self.rows:
            name, *numbers, method = row.result.cells()
            sizes = [str(row.result.n)]
            if clusters:
                sizes.append(str(row.result.n_rows or row.result.n))
            rows.append([*map(str, row.by.values()), row.metric, name, *numbers, *sizes, method])
        return header, rows

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a summary."""
        return [
            {**{name: plain(value) for name, value in row.by.items()}, "metric": row.metric, **row.result.records()[0]}
            for row in self.rows
        ]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the fields, summaries as flat rows."""
        return {**super().contents(), "rows": self.records()}
