"""Pictures of intervals for quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.coverage.analysis import groups, levels_of, take
from jaxci.coverage.results import StudyResults
from jaxci.plots.forest import draw_interval
from jaxci.plots.style import (
    INK,
    PALE,
    PALETTE,
    REFERENCE,
    at_size,
    axes_grid,
    hold_x,
    legend_above,
    literal,
    selected_rows,
    shortened,
    styles_of,
)
from jaxci.statistics.order import QuantileStatistic

PAPER = ("exact_randomized", "interpolated", "asymptotic", "semiparametric", "noncentral_t")


@literal
def quantile_panels(
    results: StudyResults,
    *,
    value: str = "coverage",
    n: int | None = None,
    level: float | None = None,
    methods: tuple[str, ...] = PAPER,
) -> Any:
    """Coverage, or mean width, of quantile intervals by the probability of the quantile.

    One panel a distribution. Methods stand side by side at every quantile; a cross at the bottom says where one has no
    interval at this n.

    Parameters
    ----------
    results : StudyResults
        Of quantile statistics, as the study "quantile-paper" has them.
    value : {"coverage", "mean_width"}
        Widths are divided by the true interdecile range of the distribution.
    n : int, optional
        Sample size; the smallest by default.
    level : float, optional
    methods : tuple of str

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    References
    ----------
    Lehmann and Paromau (2025), Figures 4 and 5.
    """
    if value not in ("coverage", "mean_width"):
        raise ValueError(f"value must be 'coverage' or 'mean_width'; got {value!r}")
    probabilities = _probabilities(results)
    table, level = selected_rows(results, level, list(probabilities), list(methods))
    table, n = at_size(table, n, min)
    styles, shown = styles_of(results, "method"), levels_of(table["method"])
    order = sorted(set(probabilities.values()))
    panels = groups(table, ("distribution",))
    figure, grid = axes_grid(len(panels), height=2.4, sharey=True)
    missing: list[tuple[Any, float, str]] = []
    for axes, ((name,), where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        slot = np.array([order.index(probabilities[s]) for s in part["statistic"].tolist()], float)
        y = 100 * part["coverage"] if value == "coverage" else part["mean_width"] / _interdecile(results, name)
        y = np.where(part["invalid"] < 1, y, np.nan)
        for (method,), rows in groups(part, ("method",)).items():
            rows = rows[np.argsort(slot[rows])]
            x = slot[rows] + 0.7 * ((shown.index(method) + 0.5) / len(shown) - 0.5)
            colour, marker, dash = styles[method]
            axes.plot(x, y[rows], color=colour, marker=marker, linestyle=dash, markersize=4, linewidth=0.7)
            missing += [(axes, place, colour) for place in x[np.isnan(y[rows])]]
        if value == "coverage":
            axes.axhline(100 * level, **REFERENCE)
        axes.set_xticks(range(len(order)), [f"{100 * q:g}" for q in order])
        axes.set_xlim(-0.6, len(order) - 0.4)
        axes.grid(False, axis="x")
        for edge in np.arange(len(order) - 1) + 0.5:
            axes.axvline(edge, color=PALE, linewidth=0.6, zorder=0.5)
        axes.set_title(name, loc="left", fontsize=10, color=INK)
    if missing:
        least, most = grid[0].get_ylim()
        strip = least - 0.07 * (most - least)
        grid[0].set_ylim(strip - 0.05 * (most - least), most)
        for axes, place, colour in missing:
            axes.plot([place], [strip], color=colour, marker="x", markersize=4)
    noted = "; x: no interval" if missing else ""
    figure.supxlabel(f"Probability of the quantile (%), n = {n:,}{noted}", fontsize=10, color=INK)
    what = f"Coverage of {100 * level:g}% intervals (%)" if value == "coverage" else "Mean width / interdecile range"
    figure.supylabel(what, fontsize=10, color=INK)
    legend_above(figure, shown, styles, lines=True)
    return figure


@literal
def interval_bars(tables: dict[str, Any]) -> Any:
    """Draw the quantile intervals of several groups of runs side by side.

    Parameters
    ----------
    tables : dict of str to QuantileInterval
        By group; each with the same quantiles. An infinite end is an arrow at the edge, and an infinite
        estimate has no dot.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.
    """
    names = list(tables)
    records = [tables[name].records() for name in names]
    figure, grid = axes_grid(len(records[0]), height=0.9 + 0.35 * len(names), sharey=True)
    table = np.array([[[row["low"], row["estimate"], row["high"]] for row in rows] for rows in records])
    for j, axes in enumerate(grid):
        hold_x(axes, table.ravel(), 0.1)
        for place, (low, estimate, high) in enumerate(table[:, j]):
            draw_interval(axes, place, low, high, color=PALETTE[0], linewidth=3)
            if np.isfinite(estimate):
                axes.plot([estimate], [place], color=INK, marker="o", markersize=5, zorder=4)
        axes.set_yticks(range(len(names)), shortened(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.locator_params(axis="x", nbins=4)
        axes.set_title(f"{100 * records[0][j]['q']:g}% quantile", loc="left", fontsize=10, color=INK)
    return figure


def _probabilities(results: StudyResults) -> dict[str, float]:
    """Return the probability of every quantile among the statistics of a study."""
    found = {name: s.q for name, s in results.study.named_statistics.items() if isinstance(s, QuantileStatistic)}
    if not found:
        raise ValueError("results must hold quantiles; the study has none")
    return found


def _interdecile(results: StudyResults, distribution: str) -> float:
    from jaxci.statistics.order import Quantile

    law = results.study.distributions[distribution]
    return float(law.analytic(Quantile(0.9)) - law.analytic(Quantile(0.1)))
