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

from jaxci.api.validation import check_choice, shown
from jaxci.coverage.analysis import Columns, StudyTable, convergence_pace, groups, levels_of, quartiles, require, take

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B5B5B", "#8B6D00")
"""Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow."""
MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
INK, PALE = "#333333", "#D9D9D9"
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
    lowest = 100 * float(np.min(table["coverage"]))
    floor = max(0.0, 100 * level - 20)
    label = f"Coverage of {100 * level:g}% intervals (%)"
    if lowest < floor:
        grid[0].set_ylim(floor, 101)
        label += f"; not drawn below {floor:g}%"
    figure.supylabel(label, fontsize=10, color=INK)
    legend_above(figure, levels_of(table["method"]), styles, lines=True)
    return figure


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError as error:
        raise ImportError("plots need matplotlib: install jaxci[plot]") from error
    return matplotlib


def _panel_keys(results: StudyTable) -> tuple[str, ...]:
    return ("metric", "statistic") if "metric" in results.tags else ("statistic",)


def selected_rows(
    results: StudyTable, level: float | None, statistics: Sequence[str] | None, methods: Sequence[str] | None
) -> tuple[Columns, float]:
    """Return the rows asked for, in the order asked for, and the level."""
    table = results.columns
    simulated = levels_of(table["level"])
    if not simulated:
        raise ValueError("results must hold at least one row; got none")
    if level is None:
        level = 0.95 if 0.95 in simulated else max(simulated)
    if level not in simulated:
        raise ValueError(f"level must be a simulated level ({', '.join(map(str, simulated))}); got {shown(level)}")
    keep = table["level"] == level
    order = [np.zeros(len(keep))]
    for argument, column, wanted in (("methods", "method", methods), ("statistics", "statistic", statistics)):
        if wanted is not None:
            known = levels_of(table[column])
            for name in wanted:
                check_choice(argument, name, known)
            keep &= np.isin(table[column], list(wanted))
            place = {name: i for i, name in enumerate(wanted)}
            order.append(np.array([place.get(name, 0) for name in table[column].tolist()]))
    rows = np.lexsort(order)
    return take(table, rows[keep[rows]]), float(level)


def styles_of(results: StudyTable, column: str) -> dict[Any, tuple[str, str, Any]]:
    """Colour, marker and dash of every level of a column: the same in every picture of a study."""
    return {
        name: (PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)], DASHES[i // len(PALETTE) % len(DASHES)])
        for i, name in enumerate(levels_of(results.columns[column]))
    }


def axes_grid(count: int, *, height: float, sharey: bool, across: int = 3, width: float = 3.4) -> tuple[Any, list[Any]]:
    """Return a figure with ``count`` panels, at most ``across`` a row."""
    across = 2 if count == 4 and across > 2 else min(count, across)
    down = -(-count // across)
    size = (max(6.4, width * across + 1.0), height * down + 0.9)
    figure = _matplotlib().figure.Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    grid = figure.subplots(down, across, squeeze=False, sharey=sharey).ravel().tolist()
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[:count]:
        axes.grid(color=PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=9, color=INK, labelcolor=INK)
        axes.xaxis.set_tick_params(labelbottom=True)
    return figure, grid[:count]


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


def size_axis(axes: Any, sizes: Sequence[int]) -> None:
    """Make n logarithmic, with ticks at simulated sizes that stand clear of each other."""
    ticker = _matplotlib().ticker
    axes.set_xscale("log")
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    kept = [sizes[0]]
    for size in sizes[1:-1]:
        if min(math.log(size / kept[-1]), math.log(sizes[-1] / size)) > 0.09 * span:
            kept.append(size)
    kept += sizes[-1:]
    axes.xaxis.set_major_locator(ticker.FixedLocator(kept))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def _decimal_log_y(axes: Any) -> None:
    ticker = _matplotlib().ticker
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


def legend_above(figure: Any, names: Sequence[Any], styles: dict[Any, tuple[str, str, Any]], *, lines: bool) -> None:
    """Draw one legend for all panels, above them."""
    line = _matplotlib().lines.Line2D
    handles = [
        line(
            [],
            [],
            color=styles[name][0],
            marker=styles[name][1] if lines else "s",
            linestyle=styles[name][2] if lines else "",
            label=str(name),
        )
        for name in names
    ]
    room = max(2, int(figure.get_figwidth() / (0.5 + 0.075 * max(len(str(name)) for name in names))))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(room, len(handles)), frameon=False, fontsize=9)
