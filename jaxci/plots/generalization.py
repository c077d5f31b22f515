"""Pictures of intervals for the generalization error of learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.coverage.analysis import StudyTable, groups, levels_of, require, take
from jaxci.plots.coverage import LOWEST
from jaxci.plots.style import (
    BESIDE,
    INK,
    NAMED,
    REFERENCE,
    at_size,
    axes_grid,
    legend_above,
    literal,
    named_height,
    selected_rows,
    side_labels,
    size_axis,
    styles_of,
)

TARGETS = {
    "coverage": "risk of the fitted model",
    "coverage_expected": "expected risk",
    "coverage_proxy": "proxy of the method",
}
"""Columns of coverage, and what they are of."""


@literal
def target_coverage(results: StudyTable, *, n: int | None = None) -> Any:
    """Coverage of the risk, the expected risk and the proxy, method by method.

    One point a problem and learner, coloured by the learner; a bar at their mean. Points below 50%
    lie at the edge.

    Parameters
    ----------
    results : StudyResults
        Of a study of learners.
    n : int, optional
        Sample size; the largest by default.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    References
    ----------
    Schulz-Kuempel et al. (2024), Figures 3 to 5.
    """
    require(results.columns, ("inducer", *TARGETS))
    table, level = selected_rows(results, None, None, None)
    table, n = at_size(table, n, max)
    methods = levels_of(table["method"])
    styles = styles_of(results, "inducer")
    figure, grid = axes_grid(len(TARGETS), height=0.25 * len(methods) + 1.2, sharey=True)
    for axes, (column, what) in zip(grid, TARGETS.items(), strict=True):
        for place, method in enumerate(methods):
            part = take(table, np.flatnonzero((table["method"] == method) & ~np.isnan(table[column])))
            shares = part[column]
            if len(shares) == 0:
                continue
            learners = part["inducer"].tolist()
            offsets = np.linspace(-0.25, 0.25, len(shares)) if len(shares) > 1 else np.zeros(1)
            for share, learner, offset in zip(shares, learners, offsets, strict=True):
                colour, marker, _ = styles[learner]
                axes.plot(100 * max(share, LOWEST), place + offset, color=colour, marker=marker, markersize=3.5)
            mean = 100 * max(float(shares.mean()), LOWEST)
            axes.plot([mean, mean], [place - 0.35, place + 0.35], color=INK, linewidth=2)
        axes.axvline(100 * level, **REFERENCE)
        axes.set_xlim(100 * LOWEST - 1, 101)
        axes.set_yticks(range(len(methods)), methods)
        axes.set_title(what, loc="left", fontsize=9, color=INK)
    grid[0].invert_yaxis()
    figure.supxlabel(f"Coverage of {100 * level:g}% intervals (%), n = {n:,}", fontsize=10, color=INK)
    legend_above(figure, levels_of(table["inducer"]), styles, lines=False)
    return figure


@literal
def coverage_against_width(results: StudyTable) -> Any:
    """Mean coverage of the risk against the median relative width, one point a method, one panel a sample size.

    Methods are named beside the panel, with a line to each point.

    Relative widths are over the standard deviation of the estimate: about 4 is perfect at 95%, and more
    than 8 is useless.

    Parameters
    ----------
    results : StudyResults
        Of a study of learners.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    References
    ----------
    Schulz-Kuempel et al. (2024), section 5.3 and Figure 2.
    """
    require(results.columns, ("width_over_sd", "coverage"))
    table, level = selected_rows(results, None, None, None)
    styles = styles_of(results, "method")
    panels = groups(table, ("n",))
    height = named_height(len(levels_of(table["method"])))
    figure, grid = axes_grid(len(panels), height=height, sharey=True, across=2, width=NAMED)
    found: list[dict[str, tuple[float, float]]] = []
    for axes, ((n,), where) in zip(grid, panels.items(), strict=True):
        found.append({})
        for (method,), rows in groups(take(table, where), ("method",)).items():
            part = take(take(table, where), rows)
            if np.isnan(part["coverage"]).all():
                continue
            colour, marker, _ = styles[method]
            width = float(np.nanmedian(part["width_over_sd"]))
            found[-1][method] = width, 100 * float(np.nanmean(part["coverage"]))
            axes.plot(*found[-1][method], color=colour, marker=marker, markersize=6, clip_on=False, zorder=3)
        axes.axhline(100 * level, **REFERENCE)
        axes.axvline(4, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        axes.set_title(f"n = {n:,}", loc="left", fontsize=10, color=INK)
    for axes, ends in zip(grid, found, strict=True):
        side_labels(axes, ends, height - BESIDE)
    figure.supxlabel("Median width / standard deviation of the estimate (dotted: 4)", fontsize=10, color=INK)
    figure.supylabel("Mean coverage of the risk (%)", fontsize=10, color=INK)
    return figure


@literal
def cost_against_n(results: StudyTable) -> Any:
    """Fits and seconds of one interval against the sample size, averaged over problems and learners.

    Parameters
    ----------
    results : StudyResults
        Of a study of learners.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    References
    ----------
    Schulz-Kuempel et al. (2024), Figure 8.
    """
    require(results.columns, ("fits", "seconds"))
    table, _ = selected_rows(results, None, None, None)
    styles = styles_of(results, "method")
    height = named_height(len(levels_of(table["method"])))
    figure, grid = axes_grid(2, height=height, sharey=False, width=NAMED)
    for axes, (column, what) in zip(grid, (("fits", "Fits"), ("seconds", "Seconds")), strict=True):
        ends = {}
        for (method,), rows in groups(table, ("method",)).items():
            part = take(table, rows)
            sizes = sorted(levels_of(part["n"]))
            means = [float(np.mean(part[column][part["n"] == n])) for n in sizes]
            colour, marker, dash = styles[method]
            axes.plot(sizes, means, color=colour, marker=marker, linestyle=dash, markersize=4, linewidth=1.3)
            ends[method] = sizes[-1], means[-1]
        size_axis(axes, sorted(levels_of(table["n"])))
        axes.set_yscale("log")
        axes.set_title(f"{what} of one interval", loc="left", fontsize=10, color=INK)
        side_labels(axes, ends, height - BESIDE)
    figure.supxlabel("Sample size n", fontsize=10, color=INK)
    return figure
