"""Results of a study as tables, with their analysis."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import shown
from jaxci.coverage import analysis, comparisons, instances, shifts, verdict
from jaxci.printing import MOST_ROWS, Printable, left_out, p_cell

PARQUET = (".parquet", ".pq")


def as_columns(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return rows as columns; a tag that a row lacks is empty, a number NaN."""
    kinds = {name: value for row in rows for name, value in row.items()}
    missing = {name: math.nan if isinstance(value, float) else "" for name, value in kinds.items()}
    return {name: np.array([row.get(name, missing[name]) for row in rows]) for name in kinds}


class ColumnTable(Printable):
    """A table by columns: prints, becomes a pandas frame, and gives its columns by name.

    ``least`` has the smallest numbers that draws can show, by column: at or below them the table prints "<".
    """

    def __init__(self, columns: dict[str, np.ndarray], least: Mapping[str, np.ndarray] | None = None):
        self.columns = columns
        self.least = dict(least or {})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary a row."""
        names = list(self.columns)
        lists = [self.columns[name].tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the columns."""
        return dict(self.columns)

    def to_frame(self) -> Any:
        """Return a pandas frame, one row a record; of no rows it has the columns."""
        return super().to_frame().reindex(columns=list(self.columns))

    def headline(self) -> str:
        """Return the line above the table: none."""
        return ""

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table; NaN, a number that does not exist, is an empty cell."""
        shown = {name: list(map(cell, column[:MOST_ROWS].tolist())) for name, column in self.columns.items()}
        for name, least in self.least.items():
            shown[name] = [x if x > floor else p_cell(x, floor) for x, floor in zip(shown[name], least, strict=False)]
        return list(shown), [list(row) for row in zip(*shown.values(), strict=True)]

    def notes(self) -> list[str]:
        """Return the lines below the table: how many rows it leaves out."""
        return left_out(len(self))


def cell(value: Any) -> Any:
    """Return a cell of a study's table; a number that does not exist is empty."""
    return "" if isinstance(value, float) and math.isnan(value) else value


def _stacked(name: str, tables: Sequence[dict[str, np.ndarray]]) -> np.ndarray:
    """Return a column of several tables, one below the other."""
    text = any(table[name].dtype.kind not in "fiub" for table in tables if name in table)
    parts = []
    for table in tables:
        if name in table:
            parts.append(table[name].astype(str) if text else table[name])
        else:
            parts.append(np.full(len(table["distribution"]), "" if text else np.nan))
    return np.concatenate(parts)


def check_table_file(name: str, path: Path) -> Path:
    """Return ``path`` if its name ends as a file that a table is written to."""
    if path.suffix not in (*PARQUET, ".csv", "") and path.suffixes[-2:] != [".csv", ".gz"]:
        raise ValueError(f"{name} must end in .parquet, .pq, .csv or .csv.gz, or have no ending; got {str(path)!r}")
    return path


@dataclasses.dataclass(frozen=True, eq=False)
class JoinedStudies:
    """Several studies by name, as :meth:`StudyResults.concat` joins their results."""

    studies: dict[str, Any]

    @property
    def tags(self) -> dict[str, dict[str, str]]:
        """What describes the distributions: the study, and what they had there."""
        found = {name: {"study": name} for name in self.studies}
        for name, study in self.studies.items():
            found |= {f"{name}: {k}": {"study": name, **v} for k, v in study.tags.items()}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the designs by name."""
        return {"name": " + ".join(self.studies), **{name: study.to_dict() for name, study in self.studies.items()}}


@dataclasses.dataclass(frozen=True, eq=False)
class StudyResults(Printable):
    """Finished cells of a study: one row a distribution, sample size, statistic, method and level.

    Attributes
    ----------
    columns : dict of str to array
        The table by columns: those of :class:`~jaxci.coverage.Judgement` and
        :class:`~jaxci.coverage.Behaviour`, with ``distribution``, ``n`` and the tags.
    study : Study
    n_cells, n_done : int
        Cells of the study, and those that are finished.
    """

    columns: dict[str, np.ndarray]
    study: Any
    n_cells: int
    n_done: int

    @classmethod
    def concat(cls, results: Sequence[StudyResults], names: Sequence[str] | None = None) -> StudyResults:
        """Return the results of several studies as one table.

        The column ``study`` has the name of each, and names of distributions begin with it. It is a tag:
        ``compare(by="study", paired=False)`` tells whether coverage differs between the studies. Where some of them
        have the tag ``metric``, it is the statistic in the others: ``compare(by="metric", paired=False)`` compares
        metrics of per-case values with metrics of a classification.

        Parameters
        ----------
        results : sequence of StudyResults
        names : sequence of str, optional
            Names of the studies; by default their own.

        Returns
        -------
        StudyResults
            A column that a study lacks is NaN there, or empty where it is text.

        Raises
        ------
        ValueError
            If there are no results, or names are not distinct, or not one for each.
        """
        listed = list(results)
        if not listed:
            raise ValueError("results must not be empty")
        called = [one.name for one in listed] if names is None else list(map(str, names))
        if len(called) != len(listed):
            raise ValueError(f"names must be one for each of the {len(listed)} studies; got {', '.join(called)}")
        if len(set(called)) < len(called):
            raise ValueError(f"names of studies must be distinct, give others as names; got {', '.join(called)}")
        tables = []
        for name, one in zip(called, listed, strict=True):
            rows = one.columns["distribution"].tolist() if one.columns else []
            own = {"study": np.array([name] * len(rows)), "distribution": np.array([f"{name}: {row}" for row in rows])}
            tables.append({**own, **{k: v for k, v in one.columns.items() if k != "distribution"}})
        if any("metric" in table for table in tables):
            tables = [{"metric": table["statistic"], **table} if "statistic" in table else table for table in tables]
        order = dict.fromkeys(name for table in tables for name in table)
        columns = {name: _stacked(name, tables) for name in order}
        study = JoinedStudies(dict(zip(called, (one.study for one in listed), strict=True)))
        return cls(columns, study, sum(one.n_cells for one in listed), sum(one.n_done for one in listed))

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the columns that describe the distributions."""
        return tuple(dict.fromkeys(tag for tags in self.study.tags.values() for tag in tags))

    @property
    def table(self) -> ColumnTable:
        """The whole table."""
        return ColumnTable(self.columns)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a judgement."""
        return self.table.records()

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the design, how far it is, and the rows."""
        design = self.study.to_dict()
        return {"study": design, "n_cells": self.n_cells, "n_done": self.n_done, "rows": self.records()}

    def headline(self) -> str:
        """Return the line above the table."""
        return f"{self.n_done} of {self.n_cells} cells"

    @property
    def _brief(self) -> ColumnTable:
        wanted = ("distribution", "n", "statistic", "method", "level", "coverage", "coverage_error", "mean_width")
        return ColumnTable({name: self.columns[name] for name in wanted if name in self.columns})

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        return self._brief.layout()

    def notes(self) -> list[str]:
        """Return the lines below the table: how many rows it leaves out, and what is of infinitely many resamples."""
        methods = analysis.of_infinitely_many(self.columns)
        return [*self._brief.notes(), *([f"enumerated for B = infinity: {', '.join(methods)}"] if methods else [])]

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.study.to_dict()["name"])

    def save(self, path: str | Path) -> None:
        """Write the table as Parquet (``.parquet``, ``.pq``) or as CSV (``.csv``, ``.csv.gz``, or no ending).

        Raises
        ------
        ValueError
            If the name ends otherwise.
        """
        path = check_table_file("path", Path(path))
        table = self.to_frame()
        if path.suffix in PARQUET:
            table.to_parquet(path, index=False)
        else:
            table.to_csv(path, index=False)

    def convergence_pace(self) -> ColumnTable:
        """Pace at which coverage nears its level; see :func:`jaxci.coverage.analysis.convergence_pace`."""
        return ColumnTable(analysis.convergence_pace(self.columns, self.tags))

    def required_n(self, *, coverage: float | None = None, width: float | None = None) -> ColumnTable:
        """Sample size needed for a coverage, a width or both; see :func:`jaxci.coverage.analysis.required_n`.

        Intervals of levels below the coverage are left out.
        """
        aiming = isinstance(coverage, int | float) and 0 < coverage < 1 and "level" in self.columns
        columns = analysis.aiming_at(self.columns, float(coverage or 0)) if aiming else self.columns
        return ColumnTable(analysis.required_n(columns, coverage=coverage, width=width))

    def compare(
        self,
        *,
        by: str,
        value: str = "coverage",
        paired: bool = True,
        within: str | Sequence[str] = (),
        pairs: Sequence[tuple[Any, Any]] | None = None,
        family: str | int = "all",
        n_permutations: int = 50_000,
        seed: int = 0,
    ) -> ColumnTable:
        """Permutation tests between pairs of the levels of ``by``; see :func:`jaxci.coverage.comparisons.compare`."""
        options: dict[str, Any] = {"pairs": pairs, "family": family, "n_permutations": n_permutations, "seed": seed}
        own = comparisons.compare(self.columns, self.tags, by=by, value=value, paired=paired, within=within, **options)
        return ColumnTable(own, comparisons.least_pvalues(own))

    def averages(self, *, by: str | Sequence[str] | None = None) -> ColumnTable:
        """Mean coverage over distributions, with its error; see :func:`jaxci.coverage.analysis.averages`."""
        return ColumnTable(analysis.averages(self.columns, by=by))

    def quartiles(self, *, by: str | Sequence[str] | None = None) -> ColumnTable:
        """Median and quartiles over distributions; see :func:`jaxci.coverage.analysis.quartiles`."""
        return ColumnTable(analysis.quartiles(self.columns, by=by))

    def failures(self, *, by: str | Sequence[str] | None = None) -> ColumnTable:
        """Rows of unusually low coverage; see :func:`jaxci.coverage.analysis.failures`."""
        return ColumnTable(analysis.failures(self.columns, by=by))

    def interval_shifts(
        self, *, against: str | None = "percentile", by: str | Sequence[str] | None = None
    ) -> ColumnTable:
        """Where intervals lie about the truth; see :func:`jaxci.coverage.shifts.interval_shifts`."""
        return ColumnTable(shifts.interval_shifts(self.columns, against=against, by=by))

    def where(self, **wanted: Any) -> StudyResults:
        """Return the rows in which each column named has the value given, or one of those in a list.

        ``results.where(method="percentile", statistic=["mean", "roc_auc_ovr"])``.

        Raises
        ------
        ValueError
            If there is no such column, or no row is left.
        """
        chosen = np.full(len(self.table), True)
        for name, values in wanted.items():
            analysis.require(self.columns, [name])
            chosen &= np.isin(self.columns[name], values)
        if not chosen.any():
            raise ValueError(f"no row has {', '.join(f'{name}={shown(value)}' for name, value in wanted.items())}")
        return dataclasses.replace(self, columns=analysis.take(self.columns, chosen))

    def shapes(self) -> ColumnTable:
        """Mean, deviation, skewness and kurtosis of the data of instances; see :mod:`jaxci.coverage.instances`."""
        return ColumnTable(instances.shapes(self.study))

    def ks_distances(self, families: str | Sequence[str] = ()) -> ColumnTable:
        """Distances of data from fitted laws; see :func:`jaxci.coverage.instances.ks_distances`."""
        return ColumnTable(instances.ks_distances(self.study, families))

    def extrapolated_widths(self, sizes: Sequence[int]) -> ColumnTable:
        """Widths beyond the sizes simulated; see :func:`jaxci.coverage.instances.extrapolated_widths`."""
        return ColumnTable(instances.extrapolated_widths(self.columns, sizes))

    def shape_and_pace(self) -> ColumnTable:
        """How the pace goes with skewness and kurtosis; see :func:`jaxci.coverage.instances.shape_and_pace`."""
        return ColumnTable(instances.shape_and_pace(self.columns, self.tags, self.study))

    def regression_on_shape(
        self,
        *,
        groups_by: str | Sequence[str] | None = None,
        features: str | Sequence[str] = ("skewness",),
        value: str = "pace",
        confidence_level: float = 0.95,
    ) -> ColumnTable:
        """Mixed model of the pace on features; see :func:`jaxci.coverage.instances.regression_on_shape`."""
        options: dict[str, Any] = {"features": features, "groups_by": groups_by, "confidence_level": confidence_level}
        options["value"] = value
        return ColumnTable(instances.regression_on_shape(self.columns, self.tags, self.study, **options))

    def verdicts(self, *, level: float | None = None) -> dict[str, str]:
        """Say in sentences which method to use from which n on, and which misses by how much, as the report does.

        Parameters
        ----------
        level : float, optional
            A simulated level; by default .95, or else the highest.

        Returns
        -------
        dict of str to str
            By statistic, with the metric where there is one. What is told, and how sure it is:
            :func:`jaxci.coverage.verdict.verdicts`.

        Raises
        ------
        ValueError
            If the level was not simulated, or no row is there.
        """
        return verdict.verdicts(self.columns, analysis.level_of(self.columns, level))

    def report(self, path: str | Path) -> None:
        """Write a self-contained HTML page with tables and pictures."""
        from jaxci.report.study import report

        report(self, path)
