"""Coverage and width against the sample size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.coverage.analysis import Columns, Rows, StudyTable, groups, levels_of, quartiles, take, three_quartiles
from jaxci.plots.style import (
    ACROSS,
    BESIDE,
    FAINT,
    INK,
    MOST_PANELS,
    NAMED,
    REACH,
    REFERENCE,
    TOGETHER,
    axes_grid,
    facets,
    legend_above,
    literal,
    matplotlib_modules,
    named_height,
    named_panel,
    panel_keys,
    selected_rows,
    side_labels,
    size_axis,
    styles_of,
)


@literal
def coverage_against_n(
    results: StudyTable,
    *,
    level: float | None = None,
    statistics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw coverage against the sample size: one panel a statistic, one colour a method.

    Lines are medians over instances (distributions), bands their quartiles; with one instance,
    bars are two Monte-Carlo standard errors either way. Of more than four methods every one has a panel of its own, the
    others pale behind it; where these would be more than 24 panels, methods are named beside their medians instead.
    All panels share their axes. Coverage more than 20 points below the level is out of the frame, and a triangle says
    so.

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
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

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
    figure, drawn = _panels(results, table, "coverage")
    for panel in drawn:
        panel.axes.axhline(100 * level, **REFERENCE)
    label = f"Coverage of {100 * level:g}% intervals (%)"
    if _framed(drawn, 100 * (level - REACH)):
        label += f"\n(triangles: below {100 * (level - REACH):g}%)"
    for panel in drawn:
        panel.name()
    figure.supylabel(label, fontsize=10, color=INK)
    return figure


@literal
def width_against_n(
    results: StudyTable,
    *,
    level: float | None = None,
    statistics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Any:
    """Draw the mean width of the intervals against the sample size, both on logarithmic axes.

    Arguments and errors are those of :func:`coverage_against_n`. Of one distribution the unit is that of the
    statistic. Several have scales of their own: there a width is over the median of all methods of the study for the
    same distribution and n, or, where it has one method, over that at the smallest n.

    Returns
    -------
    matplotlib.figure.Figure
        Not one of pyplot's: ``figure.savefig`` saves it, and a cell of a notebook that ends with it shows it.

    References
    ----------
    Andre et al. (2026), figures 7 and 11.
    """
    table, level = selected_rows(results, level, None, None)
    label = f"Mean width of {100 * level:g}% intervals"
    if len(levels_of(table["distribution"])) > 1:
        alone = len(levels_of(table["method"])) == 1
        base = f"at n = {table['n'].min():,}" if alone else "of the median method"
        label += f"\nover that {base}"
        table = table | {"mean_width": _relative_widths(table, alone)}
    table, _ = selected_rows(Rows(table, tuple(results.tags)), level, statistics, methods)
    figure, drawn = _panels(results, table, "mean_width")
    for panel in drawn:
        _decimal_log_y(panel.axes)
    for panel in drawn:
        panel.name()
    figure.supylabel(label, fontsize=10, color=INK)
    return figure


class Curve(NamedTuple):
    """A method of a panel: sizes (m,), and quartiles over instances, and errors of one instance, at each."""

    n: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    errors: np.ndarray | None

    def alone(self) -> Curve:
        """Return the curve without quartiles and errors."""
        return self._replace(low=self.middle, high=self.middle, errors=None)


class Panel(NamedTuple):
    """A panel: its axes, the curves drawn in colour by method, how each looks, and inches for names beside it."""

    axes: Any
    curves: dict[str, Curve]
    styles: dict[Any, tuple[str, str, Any]]
    named: float = 0.0

    def name(self) -> None:
        """Name the curves beside the panel, at their last points; where these lie out of the frame, at its edge."""
        if not self.named:
            return
        ends = {}
        least, _ = self.axes.get_ylim()
        for method, one in self.curves.items():
            known = np.flatnonzero(np.isfinite(one.middle))
            if known.size:
                ends[method] = float(one.n[known[-1]]), max(float(one.middle[known[-1]]), least)
        side_labels(self.axes, ends, self.named)


def _panels(results: StudyTable, table: Columns, value: str) -> tuple[Any, list[Panel]]:
    """Draw the curves of all panels.

    More than :data:`TOGETHER` methods have a panel each, or, where these are too many, are to be named beside theirs.
    """
    found = groups(table, panel_keys(results))
    laws = max(len(levels_of(table["distribution"][rows])) for rows in found.values())
    curves = {key: _curves_of(take(table, rows), value, laws == 1) for key, rows in found.items()}
    methods, styles = levels_of(table["method"]), styles_of(results, "method")
    most = max(map(len, curves.values()))
    apart = most > TOGETHER and sum(map(len, curves.values())) <= MOST_PANELS
    named = most > TOGETHER and not apart
    notes = [f"median{'' if named else ' and quartiles'} over {laws} distributions"] if laws > 1 else []
    if apart:
        methods.sort(key=lambda method: sum(method not in own for own in curves.values()))
        aligned = len(methods) <= ACROSS
        blocks = [[method in own for method in methods if aligned or method in own] for own in curves.values()]
        figure, grid = facets(blocks, width=2.3, height=1.75, most=ACROSS)
        places = [(key, method) for key, own in curves.items() for method in methods if method in own]
        panels = [
            (Panel(axes, {method: curves[key][method]}, styles), key)
            for axes, (key, method) in zip(grid, places, strict=True)
        ]
        notes.append("pale: the other methods")
    elif named:
        height = named_height(most)
        figure, grid = axes_grid(len(curves), height=height, sharey=True, across=2, width=NAMED)
        panels = [
            (Panel(axes, {m: one.alone() for m, one in own.items()}, styles, height - BESIDE), key)
            for axes, (key, own) in zip(grid, curves.items(), strict=True)
        ]
    else:
        figure, grid = axes_grid(len(curves), height=2.9, sharey=True)
        panels = [(Panel(axes, own, styles), key) for axes, (key, own) in zip(grid, curves.items(), strict=True)]
        legend_above(figure, methods, styles, lines=True)
    for panel, key in panels:
        for method, other in curves[key].items():
            if method not in panel.curves:
                panel.axes.plot(other.n, other.middle, color=FAINT, linewidth=1.0, zorder=1.5)
        _draw(panel)
        size_axis(panel.axes, sorted(levels_of(table["n"])), gap=0.16 if apart else 0.09)
        named_panel(panel.axes, (*key, *panel.curves) if apart else key, small=apart)
    if laws == 1 and value == "coverage" and not named:
        notes.append("bars: two Monte-Carlo standard errors either way")
    for panel in [panel for panel, _ in panels if named]:
        panel.axes.margins(x=0.08)
    noted = f" ({'; '.join(notes)})" if notes else ""
    figure.supxlabel(f"Sample size n{noted}", fontsize=10, color=INK)
    return figure, [panel for panel, _ in panels]


def _curves_of(part: Columns, value: str, alone: bool) -> dict[str, Curve]:
    factor = 100.0 if value == "coverage" else 1.0
    out = {}
    for (method,), rows in groups(part, ("method",)).items():
        mine = take(part, rows)
        found = quartiles(mine, by=("n",))
        order = np.argsort(found["n"])
        low, middle, high = (factor * found[f"{value}_{q}"][order] for q in ("q1", "median", "q3"))
        errors = factor * mine["coverage_error"][np.argsort(mine["n"])] if alone and value == "coverage" else None
        out[method] = Curve(found["n"][order], low, middle, high, errors)
    return out


def _draw(panel: Panel) -> None:
    for place, (method, one) in enumerate(panel.curves.items()):
        colour, marker, dash = panel.styles[method]
        line = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        if one.errors is not None:
            aside = 1.03 ** (place - (len(panel.curves) - 1) / 2)
            panel.axes.errorbar(one.n * aside, one.middle, yerr=2 * one.errors, elinewidth=1, capsize=2, **line)
            continue
        if not np.array_equal(one.low, one.high, equal_nan=True):
            panel.axes.fill_between(one.n, one.low, one.high, color=colour, alpha=0.14, linewidth=0)
        panel.axes.plot(one.n, one.middle, **line)


def _framed(panels: Sequence[Panel], floor: float) -> bool:
    """Leave out of the frames what lies below ``floor``; return whether a curve does, which triangles then say."""
    curves = [one for panel in panels for one in panel.curves.values()]
    if not min(np.nanmin([*one.low, *one.middle, np.inf]) for one in curves) < floor:
        return False
    panels[0].axes.set_ylim(bottom=floor)
    gone = False
    for panel in panels:
        for place, (method, one) in enumerate(panel.curves.items()):
            below = one.n[one.middle < floor]
            gone |= below.size > 0
            look = {"linestyle": "", "marker": "v", "markersize": 6, "color": panel.styles[method][0], "zorder": 4}
            panel.axes.plot(below * 1.07**place, np.full(below.size, floor + 0.7), **look)
    return gone


def _relative_widths(table: Columns, alone: bool) -> np.ndarray:
    """Return mean widths over those of the median method, or of a method that is ``alone`` over its own at first."""
    by = ("distribution", "statistic", "level") if alone else ("distribution", "statistic", "level", "n")
    out = np.full(len(table["mean_width"]), np.nan)
    for rows in groups(table, by).values():
        widths = table["mean_width"][rows]
        base = widths[np.argmin(table["n"][rows])] if alone else three_quartiles(widths)[1]
        if base > 0:
            out[rows] = widths / base
    return out


def _decimal_log_y(axes: Any) -> None:
    ticker = matplotlib_modules().ticker
    axes.set_yscale("log")
    least, most = axes.get_ylim()
    some = ticker.LogLocator(subs=(1, 2, 5)) if most > 5 * least else ticker.MaxNLocator(5, steps=[1, 2, 5, 10])
    axes.yaxis.set_major_locator(some)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
