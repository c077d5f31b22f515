"""Pictures of a coverage study, as matplotlib figures.

Every function takes the results of a study (``columns`` and ``tags``) and returns a
``matplotlib.figure.Figure``; nothing is shown and no global state of matplotlib is touched. Save one
with ``figure.savefig(path)``. Needs the ``plot`` extra: install jaxci[plot].
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxci.checks import check_choice, shown
from jaxci.coverage.analysis import Columns, StudyTable, convergence_pace, groups, levels_of, quartiles, require, take
from jaxci.plots.style import (
    INK,
    axes_grid,
    legend_above,
    matplotlib_modules,
    selected_rows,
    size_axis,
    styles_of,
)

LOWEST = 0.5
"""Coverage below this is counted beside a triangle in box plots."""


def coverage_against_n(
    results: StudyTable,
    *,
    level: float | None = None,
    statistics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw coverage against the sample size: one panel a statistic, one colour a method.

    Lines are medians over instances (distributions), bands their quartiles; with one instance,
    bars are two Monte-Carlo standard errors either way.

    Parameters
    ----------
    results : object with ``columns`` and ``tags``
        A tag named ``metric`` splits the panels further.
    level : float, optional
        Default: .95, or else the highest level simulated.
    statistics, methods : sequence of str, optional
        What to draw, in this order; default: everything.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a level, statistic or method was not simulated.
    ImportError
        Without matplotlib.

    References
    ----------
    Andre et al. (2026), figures 4 to 6.
    """
    table, level = selected_rows(results, level, statistics, methods)

    def finish(axes: Any) -> None:
        axes.axhline(100 * level, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)

    return _curves(results, table, "coverage", f"Coverage of {100 * level:g}% intervals (%)", finish)


def width_against_n(
    results: StudyTable,
    *,
    level: float | None = None,
    statistics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw the mean width of the intervals against the sample size, both on logarithmic axes.

    Arguments, result and errors are those of :func:`coverage_against_n`. The unit is that of the
    statistic.

    References
    ----------
    Andre et al. (2026), figures 7 and 11.
    """
    table, level = selected_rows(results, level, statistics, methods)
    return _curves(results, table, "mean_width", f"Mean width of {100 * level:g}% intervals", _decimal_log_y)


def coverage_boxes(results: StudyTable, *, by: str = "method", n: int | None = None, level: float | None = None) -> Any:
    """Draw box plots of coverage over instances at one sample size.

    Boxes hold the quartiles, whiskers reach the last instance within 1.5 interquartile ranges,
    and points are instances. Instances below 50% are counted beside a triangle.

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
    across = ("method",) if by == "statistic" else _panel_keys(results)
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
        if np.any(found < 100 * LOWEST):
            axes.set_xlim(left=100 * LOWEST - 4)
        axes.axvline(100 * level, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        _name_rows(axes, rows)
        _title(axes, key)
    figure.supxlabel(f"Coverage of {100 * level:g}% intervals (%), n = {n}", fontsize=10, color=INK)
    if inner != [None]:
        legend_above(figure, inner, styles, lines=False)
    return figure


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
    rows = list(groups(table, _panel_keys(results)))
    panels = groups(table, ("method",))
    styles = styles_of(results, "method")
    figure, grid = axes_grid(len(panels), height=0.9 + 0.36 * len(rows), sharey=True)
    for axes, ((method,), where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        for key, mine in groups(part, _panel_keys(results)).items():
            _box(axes, rows.index(key), 0.62, styles[method][0], part["pace"][mine])
        axes.axvline(0, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        _name_rows(axes, [" of ".join(map(str, key[::-1])) for key in rows])
        _title(axes, (method,))
    text = f"Convergence pace b: coverage = {level:g} + b / n (below 0: undercoverage)"
    figure.supxlabel(text, fontsize=10, color=INK)
    return figure


def saw_tooth(
    results: StudyTable,
    *,
    statistic: str | None = None,
    level: float | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw coverage against the true value, one panel a sample size.

    For a proportion this is the saw tooth of its discreteness. Coverage more than 20 points below
    the level is out of the frame.

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
    styles = styles_of(results, "method")
    panels = dict(sorted(groups(table, ("n",)).items()))
    figure, grid = axes_grid(len(panels), height=2.3, sharey=True, across=1, width=8.0)
    for axes, ((n,), where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        for (method,), rows in groups(part, ("method",)).items():
            rows = rows[np.argsort(part["truth"][rows], kind="stable")]
            colour, marker, dash = styles[method]
            dots = {"marker": marker, "markersize": 3.5} if len(rows) <= 25 else {}
            axes.plot(
                part["truth"][rows], 100 * part["coverage"][rows], color=colour, linestyle=dash, linewidth=1.2, **dots
            )
        axes.axhline(100 * level, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.set_title(f"n = {n}", loc="left", fontsize=10, color=INK)
    figure.supxlabel(f"True {name}", fontsize=10, color=INK)
    lowest = 100 * float(np.nanmin(table["coverage"]))
    floor = max(0.0, 100 * level - 20)
    label = f"Coverage of {100 * level:g}% intervals (%)"
    if lowest < floor:
        grid[0].set_ylim(floor, 101)
        label += f"; not drawn below {floor:g}%"
    figure.supylabel(label, fontsize=10, color=INK)
    legend_above(figure, levels_of(table["method"]), styles, lines=True)
    return figure


def _panel_keys(results: StudyTable) -> tuple[str, ...]:
    return ("metric", "statistic") if "metric" in results.tags else ("statistic",)


def _curves(results: StudyTable, table: Columns, value: str, label: str, finish: Callable[[Any], None]) -> Any:
    """Draw ``value`` against n."""
    keys = _panel_keys(results)
    styles = styles_of(results, "method")
    panels = groups(table, keys)
    most = max(len(levels_of(table["distribution"][rows])) for rows in panels.values())
    single = most == 1
    factor = 100.0 if value == "coverage" else 1.0
    figure, grid = axes_grid(len(panels), height=2.9, sharey=False)
    for axes, (key, where) in zip(grid, panels.items(), strict=True):
        part = take(table, where)
        methods = levels_of(part["method"])
        for j, method in enumerate(methods):
            mine = take(part, part["method"] == method)
            colour, marker, dash = styles[method]
            line = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
            middle = quartiles(mine, by=("n",))
            order = np.argsort(middle["n"])
            n = middle["n"][order]
            low, centre, high = (factor * middle[f"{value}_{q}"][order] for q in ("q1", "median", "q3"))
            if not single:
                axes.fill_between(n, low, high, color=colour, alpha=0.14, linewidth=0)
                axes.plot(n, centre, **line)
            elif value == "coverage":
                bars = 2 * factor * mine["coverage_error"][np.argsort(mine["n"])]
                apart = 1.03 ** (j - (len(methods) - 1) / 2)
                axes.errorbar(n * apart, centre, yerr=bars, elinewidth=1, capsize=2, **line)
            else:
                axes.plot(n, centre, **line)
        size_axis(axes, sorted(levels_of(part["n"])))
        _title(axes, key)
        finish(axes)
    note = f" (median and quartiles over {most} distributions)"
    if single:
        note = " (bars: two Monte-Carlo standard errors either way)" if value == "coverage" else ""
    figure.supxlabel(f"Sample size n{note}", fontsize=10, color=INK)
    figure.supylabel(label, fontsize=10, color=INK)
    legend_above(figure, levels_of(table["method"]), styles, lines=True)
    return figure


def _decimal_log_y(axes: Any) -> None:
    ticker = matplotlib_modules().ticker
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())


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
    axes.scatter(values, place + jitter, s=9, color=colour, alpha=0.65, linewidths=0, zorder=3)


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
    axes.set_yticks(range(len(names)), [_short(str(name)) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")


def _short(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:35]}…"


def _title(axes: Any, key: Sequence[Any]) -> None:
    text = ", ".join(map(str, key))
    axes.set_title("\n".join(textwrap.wrap(text, 34)), loc="left", fontsize=10, color=INK)
