"""Pictures of a study, as images that its page holds itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxci.coverage.analysis import Columns, Rows, StudyTable, groups, level_of, levels_of, take, three_quartiles
from jaxci.report.page import picture, said
from jaxci.statistics.order import QuantileStatistic

FEW = 6
"""So many true values, or fewer, make no curve."""


def curves(results: StudyTable) -> list[str]:
    """Draw coverage and width against the sample size."""
    from jaxci import plots

    return [
        _drawn(results, "coverage", plots.coverage_against_n, "Coverage against sample size"),
        _drawn(_with_widths(results), "mean_width", plots.width_against_n, "Mean width against sample size"),
    ]


def boxes(results: StudyTable) -> str:
    """Draw the coverage of every distribution at one size."""
    from jaxci import plots

    return _drawn(results, "coverage", plots.coverage_boxes, "Coverage of every distribution, with quartiles")


def paces(results: StudyTable) -> str:
    """Draw the convergence pace of every distribution."""
    from jaxci import plots

    return _drawn(
        results, "coverage", plots.pace_by_statistic, "Convergence pace of every distribution, with quartiles"
    )


def _drawn(results: StudyTable, value: str, draw: Callable[[StudyTable], Any], caption: str) -> str:
    """Return a picture of a column, or a line in its place where no row that it shows has a value."""
    columns = results.columns
    if len(columns["level"]) and np.isfinite(columns[value][columns["level"] == level_of(columns)]).any():
        return picture(draw(results), caption)
    return said(f"{caption}: there is no picture, as no row has a {value.replace('_', ' ')} to draw.")


def _with_widths(results: StudyTable) -> Rows:
    """Return the rows whose width has a place on the axis: of several distributions its base is positive."""
    columns = results.columns
    base = columns["mean_width"].copy()
    if len(levels_of(columns["distribution"])) > 1:
        alone = len(levels_of(columns["method"])) == 1
        for rows in groups(columns, ("distribution", "statistic", "level", *(() if alone else ("n",)))).values():
            base[rows] = base[rows[np.argmin(columns["n"][rows])]] if alone else three_quartiles(base[rows])[1]
    return _positive(results, base)


def _positive(results: StudyTable, values: np.ndarray) -> Rows:
    """Return the rows whose value is positive and finite."""
    return Rows(take(results.columns, np.isfinite(values) & (values > 0)), tuple(results.tags))


def _methods_with(results: StudyTable, value: str) -> Rows:
    """Return the rows of the methods that have a positive value of a column at their sample size."""
    columns = results.columns
    most = np.zeros(len(columns["n"]))
    for rows in groups(columns, ("n", "method", "level")).values():
        known = columns[value][rows]
        most[rows] = known[np.isfinite(known)].max(initial=0.0)
    return _positive(results, most)


def saw_teeth(results: StudyTable) -> list[str]:
    """Draw coverage against many true values."""
    from jaxci import plots

    return [
        picture(plots.saw_tooth(results, statistic=name), f"Coverage of {name} against its true value")
        for name in _swept(results.columns)
    ]


def _swept(columns: Columns) -> list[str]:
    """Return the statistics with many true values over distributions named by a proportion ``p=``."""
    if "truth" not in columns:
        return []
    named = np.array([re.search(r"(^|\()p=", name) is not None for name in columns["distribution"].tolist()])
    statistics = levels_of(columns["statistic"][named])
    return [s for s in statistics if len(levels_of(columns["truth"][named & (columns["statistic"] == s)])) > FEW]


def quantiles(results: StudyTable) -> list[str]:
    """Draw coverage and width of quantile intervals where the study has several quantiles."""
    from jaxci.plots import quantiles as plots_quantiles

    statistics = getattr(getattr(results, "study", None), "named_statistics", {})
    if sum(isinstance(statistic, QuantileStatistic) for statistic in statistics.values()) < 2:
        return []
    methods = tuple(m for m in plots_quantiles.PAPER if m in results.columns["method"].tolist())
    if not methods:
        return []
    drawn = []
    for n in sorted(set(results.columns["n"].tolist())):
        for value, what in (("coverage", "Coverage"), ("mean_width", "Width over the interdecile range")):
            figure = plots_quantiles.quantile_panels(results, value=value, n=n, methods=methods)  # type: ignore[arg-type]
            drawn.append(picture(figure, f"{what} of quantile intervals, n = {n}"))
    return drawn


def learners(results: StudyTable) -> list[str]:
    """Draw coverage of each target, width and cost of a study of learners."""
    from jaxci.plots import generalization as plots_generalization

    sizes = sorted(set(results.columns["n"].tolist()))
    return [
        *(
            picture(plots_generalization.target_coverage(results, n=n), f"Coverage of each target, n = {n}")
            for n in sizes
        ),
        _drawn(
            _methods_with(results, "width_over_sd"),
            "width_over_sd",
            plots_generalization.coverage_against_width,
            "Coverage of the risk against relative width",
        ),
        _drawn(
            _methods_with(results, "fits"),
            "fits",
            plots_generalization.cost_against_n,
            "Fits and time of one interval",
        ),
    ]
