"""Metrics by group: a table per group, differences to the rest and to all, and the largest gap."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from jaxci.printing import MOST_ROWS, gathered, left_out, number, p_cell
from jaxci.results import EvaluationTable, IntervalResult

OF_RESULT = ("estimate", "low", "high", "method", "warnings")
"""What a flat row takes over from an interval."""


class Contrast(NamedTuple):
    """A difference of two estimates: its simultaneous interval, p-value and adjusted p-value."""

    estimate: float
    low: float
    high: float
    pvalue: float
    adjusted: float


@dataclasses.dataclass(frozen=True, eq=False)
class Subgroup:
    """One metric of one group.

    Attributes
    ----------
    by : str
        The column, or columns, that the groups are of.
    group : str
    size : int
        Rows.
    result : IntervalResult
        Estimate and interval of the group alone.
    rest, whole : Contrast
        Its difference to all other rows, and to all rows. Of ratios of sums the second is the first on the scale of its
        own estimate, so that both have the same p-values (none where their estimates differ in sign); of other metrics,
        which of all rows need not lie between both, it has an interval and p-values of its own.
    least : float
        The smallest adjusted p-value that the draws behind it can show.
    """

    by: str
    group: str
    size: int
    result: IntervalResult
    rest: Contrast
    whole: Contrast
    least: float = 0.0

    @property
    def name(self) -> str:
        """Column and group."""
        return self.group if " = " in self.group else f"{self.by} = {self.group}"


class Gap(NamedTuple):
    """The largest difference of a metric between two groups, with an interval for the largest true one."""

    by: str
    metric: str
    highest: str
    lowest: str
    estimate: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class SubgroupTable(EvaluationTable):
    """Metrics of all rows, as without groups, and of groups of them.

    Attributes
    ----------
    subgroups : tuple of Subgroup
        By column, metric and group. Differences of one column and metric hold together with the confidence level.
    gaps : tuple of Gap
        One a column and metric; ``low`` to ``high`` holds the largest true gap with the confidence level.
    """

    subgroups: tuple[Subgroup, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def headline(self) -> str:
        """Return the line above the table."""
        return f"{super().headline()}; by group"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        header = ["group", "n", "metric", "estimate", "low", "high", "less rest", "low", "high", "adjusted p"]
        cells = [["all", str(self.n), *one.cells()[:4], "", "", "", ""] for one in self.rows]
        for row in self.subgroups[: max(0, MOST_ROWS - len(cells))]:
            low, high = row.result.confidence_interval
            cells.append(
                [
                    row.name,
                    str(row.size),
                    row.result.statistic,
                    *map(float, (row.result.estimate, low, high)),
                    *map(float, (row.rest.estimate, row.rest.low, row.rest.high)),
                    p_cell(row.rest.adjusted, row.least),
                ]
            )
        return header, cells

    def notes(self) -> list[str]:
        """Return the lines below the table: the largest gaps, and warnings."""
        lines = left_out(len(self.subgroups) + len(self.rows))
        for gap in self.gaps:
            ends = f"{number(gap.low)} to {number(gap.high)}"
            who = f"{gap.highest} less {gap.lowest}"
            lines.append(f"largest gap of {gap.metric} by {gap.by}: {number(gap.estimate)} ({ends}), {who}")
        results = [*self.rows, *(row.result for row in self.subgroups)]
        methods = dict.fromkeys(f"{one.method} ({one.statistic})" for one in results if str(one.method) != "none")
        lines.append(f"intervals: {', '.join(methods)}")
        return [*lines, *(f"warning: {text}" for text in self.remarks)]

    @property
    def remarks(self) -> list[str]:
        """All warnings, those of groups under their names."""
        groups = [(f"{row.result.statistic} of {row.name}", row.result.warnings) for row in self.subgroups]
        seen = gathered((name, text) for name, warnings in groups for text in warnings)
        return [*super().remarks, *(f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in seen.items())]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a metric of all rows, and one a group and metric."""
        every = [
            {
                "by": "",
                "group": "all",
                "size": self.n,
                "metric": one["statistic"],
                **{name: one[name] for name in OF_RESULT},
                **{f"less_{what}_{name}": math.nan for what in ("rest", "all") for name in Contrast._fields},
            }
            for one in super().records()
        ]
        return every + [
            {
                "by": row.by,
                "group": row.group,
                "size": row.size,
                "metric": row.result.statistic,
                **{name: one[name] for name in OF_RESULT},
                **{f"less_rest_{name}": value for name, value in row.rest._asdict().items()},
                **{f"less_all_{name}": value for name, value in row.whole._asdict().items()},
            }
            for row in self.subgroups
            for one in row.result.records()
        ]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the fields, groups and gaps as flat rows."""
        groups = [row for row in self.records() if row["by"]]
        return {**super().contents(), "subgroups": groups, "gaps": [gap._asdict() for gap in self.gaps]}

    def group(self, name: str) -> dict[str, IntervalResult]:
        """Return the results of one group by metric.

        Parameters
        ----------
        name : str
            As it is printed (``"smoker = yes"``), or the group alone (``"yes"``) where no other column has one of
            that name.

        Raises
        ------
        KeyError
            If there is no such group, or several columns have one.
        """
        rows = [row for row in self.subgroups if name in (row.group, row.name)]
        names = list(dict.fromkeys(row.name for row in rows))
        if not rows:
            known = ", ".join(dict.fromkeys(row.group for row in self.subgroups))
            raise KeyError(f"there is no group {name!r}; known are {known}")
        if len(names) > 1:
            raise KeyError(f"group {name!r} is one of several columns; name one of {', '.join(map(repr, names))}")
        return {row.result.statistic: row.result for row in rows}
