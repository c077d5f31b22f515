"""Pictures of a study, as images that its page holds itself."""

from __future__ import annotations

import re

import numpy as np

from jaxci.coverage.analysis import Columns, StudyTable, levels_of
from jaxci.report.page import picture
from jaxci.statistics.order import QuantileStatistic

FEW = 6
"""So many true values, or fewer, make no curve."""


def curves(results: StudyTable) -> list[str]:
    """Draw coverage and width against the sample size."""
    from jaxci import plots

    return [
        picture(plots.coverage_against_n(results), "Coverage against sample size"),
        picture(plots.width_against_n(results), "Mean width against sample size"),
    ]


def boxes(results: StudyTable) -> str:
    """Draw the coverage of every distribution at one size."""
    from jaxci import plots

    return picture(plots.coverage_boxes(results), "Coverage of every distribution, with quartiles")


def paces(results: StudyTable) -> str:
    """Draw the convergence pace of every distribution."""
    from jaxci import plots

    return picture(plots.pace_by_statistic(results), "Convergence pace of every distribution, with quartiles")


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
        picture(plots_generalization.coverage_against_width(results), "Coverage of the risk against relative width"),
        picture(plots_generalization.cost_against_n(results), "Fits and time of one interval"),
    ]
