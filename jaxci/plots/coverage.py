"""Pictures of a coverage study, as matplotlib figures.

Every function takes the results of a study (``columns`` and ``tags``) and returns a
``matplotlib.figure.Figure``; nothing is shown and no global state of matplotlib is touched. Save one
with ``figure.savefig(path)``. Needs the ``plot`` extra: install jaxci[plot].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.checks import check_choice, shown
from jaxci.coverage.analysis import (
    StudyTable,
    convergence_pace,
    groups,
    levels_of,
    require,
    take,
)
from jaxci.plots.style import (
    INK,
    REACH,
    REFERENCE,
    TOGETHER,
    axes_grid,
    facets,
    legend_above,
    literal,
    named_panel,
    panel_keys,
    selected_rows,
    shortened,
    styles_of,
)

LOWEST = 0.5
"""Coverage below this is out of every frame of points."""
FEW = 5
"""Instances of a box below which their points are large: these are then all that there is to see."""


@literal
def coverage_boxes(results: StudyTable, *, by: str = "method", n: int | None = None, level: float | None = None) -> Any:
    """Draw box plots of coverage over instances at one sample size.

    Boxes hold the quartiles, whiskers reach the last instance within 1.5 interquartile ranges,
    and points are instances. Instances below 50% are counted beside a triangle. All panels share their axes.

    Parameters
    ----------
    results : object with ``columns`` and ``tags``
    by : str
        ``"method"`` (rows are methods, panels statistics), ``"statistic"`` (the other way
        round) or a tag (rows are its levels, panels statistics, colours methods).
    n : int, optional
        Default: the simulated size closest to 50 on a logarithmic scale.
    level : float, optional
        Default: .95, or else the highest level simulated.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    Raises
    ------
    ValueError
        If ``by``, ``n`` or ``level`` is not there.
    ImportError
        Without matplotlib.

    References
    ----------
    Andre et al. (2026), figure 8 and supplementary figures S4 to S8.
    """
    check_choice("by", by, ("method", "statistic", *results.tags))
    table, level = selected_rows(results, level, None, None)
    sizes = levels_of(table["n"])
    if n is None:
        n = min(sizes, key=lambda size: abs(math.log(size / 50)))
    if n not in sizes:
        raise ValueError(f"n must be a simulated size ({', '.join(map(str, sorted(sizes)))}); got {shown(n)}")
    table = take(table, table["n"] == n)
    colour = "method" if by in results.tags else by
    across = ("method",) if by == "statistic" else panel_keys(results)
    panels = groups(table, tuple(name for name in across if name != by))
    styles = styles_of(results, colour)
    rows = levels_of(table[by])
    inner = levels_of(table[colour]) if colour != by else [None]
    figure, grid = axes_grid(len(panels), height=0.9 + 0.34 * len(rows) * max(1.0, 0.6 * len(inner)), sharey=True)
    for axes, (key, where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        found = 100 * part["coverage"]
        for (r, row), (j, own) in itertools.product(enumerate(rows), enumerate(inner)):
            values = found[(part[by] == row) & ((own is None) | (part[colour] == own))]
            place = r + (j - (len(inner) - 1) / 2) * 0.8 / len(inner)
            _box(axes, place, 0.62 / len(inner), styles[row if own is None else own][0], values)
            _count_below(axes, place, styles[row if own is None else own][0], int(np.sum(values < 100 * LOWEST)))
        axes.axvline(100 * level, **REFERENCE)
        _name_rows(axes, rows)
        named_panel(axes, key)
    if np.any(table["coverage"] < LOWEST):
        grid[0].set_xlim(left=100 * LOWEST - 4)
    figure.supxlabel(f"Coverage of {100 * level:g}% intervals (%), n = {n:,}", fontsize=10, color=INK)
    if inner != [None]:
        legend_above(figure, inner, styles, lines=False)
    return figure


@literal
def pace_by_statistic(results: StudyTable, *, level: float | None = None) -> Any:
    """Draw the convergence pace of every instance: one row a statistic, one panel a method.

    Parameters
    ----------
    results : object with ``columns`` and ``tags``
        With a tag named ``metric``, one row a metric and statistic.
    level : float, optional
        Default: .95, or else the highest level simulated.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    Raises
    ------
    ValueError
        If the level was not simulated.
    ImportError
        Without matplotlib.

    References
    ----------
    Andre et al. (2026), figure 9, panel C.
    """
    table, level = selected_rows(results, level, None, None)
    table = convergence_pace(table, results.tags)
    rows = list(groups(table, panel_keys(results)))
    panels = groups(table, ("method",))
    styles = styles_of(results, "method")
    figure, grid = axes_grid(len(panels), height=0.9 + 0.36 * len(rows), sharey=True)
    for axes, ((method,), where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        for key, mine in groups(part, panel_keys(results)).items():
            _box(axes, rows.index(key), 0.62, styles[method][0], part["pace"][mine])
        axes.axvline(0, **REFERENCE)
        _name_rows(axes, [" of ".join(map(str, key[::-1])) for key in rows])
        named_panel(axes, (method,))
    text = f"Convergence pace b: coverage = {level:g} + b / n (below 0: undercoverage)"
    figure.supxlabel(text, fontsize=10, color=INK)
    return figure


@literal
def saw_tooth(
    results: StudyTable,
    *,
    statistic: str | None = None,
    level: float | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw coverage against the true value, one panel a sample size, and a method where there are more than four.

    For a proportion, of which some coverage is enumerated, this is the saw tooth of its discreteness, and lines join
    the true values. Laws of any other statistic are points: nothing is known to lie between them. Coverage more than 20
    points below the level is out of the frame.

    Parameters
    ----------
    results : object with ``columns`` and ``tags``
    statistic : str, optional
        Default: the first.
    level : float, optional
        Default: .95, or else the highest level simulated.
    methods : sequence of str, optional
        Default: all.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    Raises
    ------
    ValueError
        If a level, statistic or method was not simulated.
    ImportError
        Without matplotlib.
    """
    name = levels_of(results.columns["statistic"])[0] if statistic is None else statistic
    table, level = selected_rows(results, level, [name], methods)
    require(table, ("truth",))
    styles, drawn, sizes = styles_of(results, "method"), levels_of(table["method"]), sorted(levels_of(table["n"]))
    apart = len(drawn) > TOGETHER
    joined = any(str(how).startswith("enumerated") for how in levels_of(table.get("how", np.array([]))))
    if apart:
        figure, grid = facets([[True] * len(sizes)] * len(drawn), width=2.6, height=1.25, most=4)
        panels = [(n, [method], f"{method}, n = {n:,}") for method in drawn for n in sizes]
    else:
        figure, grid = axes_grid(len(sizes), height=2.3, sharey=True, across=1, width=8.0)
        panels = [(n, drawn, f"n = {n:,}") for n in sizes]
    for axes, (n, mine, title) in zip(grid, panels, strict=True):
        for method in mine:
            part = take(table, (table["n"] == n) & (table["method"] == method))
            part = take(part, np.argsort(part["truth"], kind="stable"))
            colour, marker, dash = styles[method]
            dots = {"marker": marker, "markersize": 3.5 if joined else 5} if len(part["n"]) <= 25 or not joined else {}
            line = {"linestyle": dash, "linewidth": 1.2} if joined else {"linestyle": "", "alpha": 0.8}
            axes.plot(part["truth"], 100 * part["coverage"], color=colour, **line, **dots)
        axes.axhline(100 * level, **REFERENCE)
        axes.set_title(title, loc="left", fontsize=9 if apart else 10, color=INK)
    figure.supxlabel(f"True {name}", fontsize=10, color=INK)
    lowest = 100 * float(np.nanmin(table["coverage"]))
    floor = max(0.0, 100 * (level - REACH))
    label = f"Coverage of {100 * level:g}% intervals (%)"
    if lowest < floor:
        grid[0].set_ylim(floor, 101)
        label += f"\n(not drawn below {floor:g}%)"
    figure.supylabel(label, fontsize=10, color=INK)
    if not apart:
        legend_above(figure, drawn, styles, lines=joined)
    return figure


def _box(axes: Any, place: float, height: float, colour: str, values: np.ndarray) -> None:
    """Draw the points ``values`` and, where there are at least three, their box."""
    values = values[~np.isnan(values)]
    if values.size > 2:
        q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
        inside = values[(values >= q1 - 1.5 * (q3 - q1)) & (values <= q3 + 1.5 * (q3 - q1))]
        top, bottom = place - height / 2, place + height / 2
        axes.barh(place, q3 - q1, height, left=q1, facecolor=(colour, 0.18), edgecolor=colour)
        axes.hlines([place, place], [inside.min(), q3], [q1, inside.max()], color=colour, linewidth=1)
        axes.vlines(median, top, bottom, color=colour, linewidth=2)
    jitter = ((np.arange(values.size) * 0.618) % 1 - 0.5) * 0.7 * height
    area = 9 if values.size >= FEW else 30
    axes.scatter(values, place + jitter, s=area, color=colour, alpha=0.65, linewidths=0, zorder=3)


def _count_below(axes: Any, place: float, colour: str, count: int) -> None:
    """Write how many instances lie below the lowest coverage shown."""
    if count:
        at = 100 * LOWEST - 2.5
        axes.plot([at], [place], marker="<", markersize=6, color=colour, zorder=4)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.annotate(
            str(count), (at, place), (6, 0), textcoords="offset points", va="center", fontsize=8, bbox=box, zorder=4
        )


def _name_rows(axes: Any, names: Sequence[Any]) -> None:
    axes.set_yticks(range(len(names)), shortened([str(name) for name in names], 36))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
