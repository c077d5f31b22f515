"""What the pictures share: colours, rows of a table, grids of axes, legends."""

from __future__ import annotations

import collections
import functools
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec

import numpy as np

from jaxci.checks import check_choice, shown
from jaxci.coverage.analysis import Columns, StudyTable, level_of, levels_of, take

P = ParamSpec("P")

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B5B5B", "#8B6D00")
"""Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow."""
MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
INK, FAINT, PALE = "#333333", "#B0B0B0", "#D9D9D9"
REFERENCE: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}
"""A line that results are held against: a level, no difference."""
LONGEST, LEAST = 48, 8
"""Characters of a label at most, if that tells it from others, and of its beginning at least."""
LETTER, NARROW = 0.07, 24
"""Inches of a letter of a label, and the letters for which a picture has room anyway."""
REACH = 0.2
"""Coverage farther below its level is out of the frame of curves."""
LINE = 0.16
"""Inches between labels that stand below each other."""
TOGETHER, ACROSS, MOST_PANELS = 4, 5, 24
"""Methods in one panel of curves, at most; more have a panel each, so many in a row and so many in all at most."""
NAMED, BESIDE = 4.8, 0.8
"""Inches of the width of a panel with names beside it, and of its height that its axes do not take."""


def matplotlib_modules() -> Any:
    """Return matplotlib with the modules that figures need; loaded on first use."""
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.pyplot
        import matplotlib.ticker
    except ImportError as error:
        raise ImportError("plots need matplotlib: install jaxci[plot]") from error
    return matplotlib


def literal(picture: Callable[P, Any]) -> Callable[P, Any]:
    """Have a picture show dollar signs in names as they are: matplotlib takes what stands between two for mathematics.

    A title that is passed, and what the axes held before, stay as they are.
    """

    @functools.wraps(picture)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Any:
        text, axes = matplotlib_modules().text.Text, options.get("ax")
        before = set(axes.figure.findobj(text)) if isinstance(axes, matplotlib_modules().axes.Axes) else set()
        found = picture(*arguments, **options)
        for one in set(found.figure.findobj(text)) - before:
            if "$" in one.get_text() and one.get_text() != options.get("title"):
                one.set_parse_math(False)
        return found

    return drawn


def selected_rows(
    results: StudyTable, level: float | None, statistics: Sequence[str] | None, methods: Sequence[str] | None
) -> tuple[Columns, float]:
    """Return the rows asked for, in the order asked for, and the level."""
    table = results.columns
    level = level_of(table, level)
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
    return take(table, rows[keep[rows]]), level


def styles_of(results: StudyTable, column: str) -> dict[Any, tuple[str, str, Any]]:
    """Colour, marker and dash of every level of a column: the same in every picture of a study."""
    return {
        name: (PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)], DASHES[i // len(PALETTE) % len(DASHES)])
        for i, name in enumerate(levels_of(results.columns[column]))
    }


def at_size(table: Columns, n: int | None, default: Callable[[list[int]], int]) -> tuple[Columns, int]:
    """Return the rows of one sample size, by default that which ``default`` picks of those simulated, and the size."""
    sizes = levels_of(table["n"])
    n = default(sizes) if n is None else n
    if n not in sizes:
        raise ValueError(f"n must be a simulated sample size ({', '.join(map(str, sizes))}); got {n}")
    return take(table, np.flatnonzero(table["n"] == n)), n


def axes_grid(count: int, *, height: float, sharey: bool, across: int = 3, width: float = 3.4) -> tuple[Any, list[Any]]:
    """Return a figure with ``count`` panels, at most ``across`` a row; what is compared shares its axes."""
    across = 2 if count == 4 and across > 2 else min(count, across)
    down = -(-count // across)
    size = (max(6.4, width * across + 1.0), height * down + 0.9)
    figure = matplotlib_modules().figure.Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=sharey).ravel().tolist()
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[:count]:
        dressed(axes)
        axes.xaxis.set_tick_params(labelbottom=True)
    return figure, grid[:count]


def facets(blocks: Sequence[Sequence[bool]], *, width: float, height: float, most: int) -> tuple[Any, list[Any]]:
    """Return a figure of small panels that share both axes, and the panels block by block.

    A block begins a row, and takes several of about one length where it has more than ``most`` places. It says which of
    its places have a panel, so that panels of one kind stand below each other.
    """
    places = max(map(len, blocks))
    across = -(-places // -(-places // most))
    down = [-(-len(block) // across) for block in blocks]
    size = (width * across + 0.8, height * sum(down) + 0.7)
    figure = matplotlib_modules().figure.Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.05)
    grid = figure.subplots(sum(down), across, squeeze=False, sharex=True, sharey=True)
    found: list[Any] = []
    for block, rows in zip(blocks, np.split(grid, np.cumsum(down)[:-1]), strict=True):
        own = rows.ravel().tolist()
        there = [*block, *[False] * (len(own) - len(block))]
        found += [dressed(axes) for axes, drawn in zip(own, there, strict=True) if drawn]
        for axes in [axes for axes, drawn in zip(own, there, strict=True) if not drawn]:
            axes.remove()
    stands = {axes: axes.get_subplotspec() for axes in found}
    first = {at.rowspan.start: at.colspan.start for at in reversed(stands.values())}
    taken = {(at.rowspan.start, at.colspan.start) for at in stands.values()}
    for axes, at in stands.items():
        below = (at.rowspan.stop, at.colspan.start) not in taken
        axes.tick_params(labelsize=8, labelbottom=below, labelleft=first[at.rowspan.start] == at.colspan.start)
    return figure, found


def dressed(axes: Any) -> Any:
    """Give axes the look of all pictures: a pale grid behind, no frame above and on the right."""
    axes.grid(color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, color=INK, labelcolor=INK)
    return axes


def own_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes ``ax`` to draw on, or those of a new figure of ``size`` inches, which a notebook shows."""
    if ax is None:
        ax = matplotlib_modules().pyplot.subplots(figsize=size, layout="constrained")[1]
    elif not hasattr(ax, "errorbar"):
        raise TypeError(f"ax must be axes of matplotlib, or None for a new figure; got {shown(ax)}")
    return dressed(ax)


def hold_x(axes: Any, values: Iterable[float], margin: float) -> None:
    """Have limits of x that hold the finite ``values``, with a share of their range as a margin on both sides.

    Limits that were set, and those of what is drawn already, here or on axes that share x, are widened only.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    least, most = min(finite), max(finite)
    together = axes.get_shared_x_axes().get_siblings(axes)
    drawn = not axes.get_autoscalex_on() or any(other.has_data() for other in together)
    left, right = sorted(axes.get_xlim()) if drawn else (math.inf, -math.inf)
    room = margin * (max(most, right) - min(least, left) or abs(most) or 1.0)
    axes.set_xlim(left if left <= least else least - room, right if right >= most else most + room)


def legend_beside(axes: Any) -> None:
    """Draw the legend to the right of the axes, where it covers nothing."""
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def entitled(axes: Any, title: str, x: str, y: str = "") -> None:
    """Write title and axis labels."""
    axes.set_title("\n".join(textwrap.wrap(title, 60, break_on_hyphens=False)), loc="left", fontsize=10, color=INK)
    axes.set_xlabel("\n".join(textwrap.wrap(x, 60)), fontsize=10, color=INK)
    axes.set_ylabel(y, fontsize=10, color=INK)


def size_axis(axes: Any, sizes: Sequence[int], *, gap: float = 0.09) -> None:
    """Make n logarithmic, with ticks at simulated sizes that are apart by the share ``gap`` of the axis."""
    ticker = matplotlib_modules().ticker
    axes.set_xscale("log")
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    kept = [sizes[0]]
    for size in sizes[1:-1]:
        if min(math.log(size / kept[-1]), math.log(sizes[-1] / size)) > gap * span:
            kept.append(size)
    kept += sizes[-1:]
    axes.xaxis.set_major_locator(ticker.FixedLocator(kept))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def legend_above(figure: Any, names: Sequence[Any], styles: dict[Any, tuple[str, str, Any]], *, lines: bool) -> None:
    """Draw one legend for all panels, above them."""
    line = matplotlib_modules().lines.Line2D
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


def side_labels(axes: Any, ends: Mapping[str, tuple[float, float]], height: float) -> None:
    """Name points to the right of the axes, where no label meets another or a point; a line leads to each.

    Parameters
    ----------
    axes : Axes
        With its final limits.
    ends : dict of str to (x, y)
    height : float
        Of the axes in inches, at least.
    """
    axes.get_xlim(), axes.get_ylim()  # settles limits that are not
    to_share = axes.transScale + axes.transLimits
    order = sorted(ends, key=lambda name: ends[name][1])
    gap = LINE / height
    places = [float(to_share.transform(ends[name])[1]) for name in order]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    most = 1.0 + max(0.0, gap * (len(places) - 1) - 1.0) / 2
    for i in reversed(range(len(places))):
        places[i] = min(places[i], most - gap * (len(places) - 1 - i))
    lead = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)}
    for name, place in zip(order, places, strict=True):
        axes.annotate(
            name, ends[name], (1.04, place), textcoords="axes fraction", va="center", ha="left", fontsize=8, color=INK,
            arrowprops=lead, annotation_clip=False, zorder=1.5,
        )  # fmt: skip


def named_height(names: int) -> float:
    """Return the inches of a panel beside which so many names stand on lines of their own."""
    return max(3.0, LINE * names + BESIDE)


def panel_keys(results: StudyTable) -> tuple[str, ...]:
    """Return the columns that panels are of."""
    return ("metric", "statistic") if "metric" in results.tags else ("statistic",)


def shortened(labels: Sequence[str], most: int = LONGEST) -> list[str]:
    """Return labels of at most ``most`` characters: longer ones lack their middle.

    Where two would be the same, more of their ends is kept.
    """
    found = {label: label for label in labels}
    left = [label for label in found if len(label) > most]
    for end in range(most // 2 - 1, max(map(len, left), default=0)):
        begin = max(most - 1 - end, LEAST)
        found |= {one: f"{one[:begin]}…{one[-end:]}" if begin + 1 + end < len(one) else one for one in left}
        times = collections.Counter(found.values())
        left = [label for label in left if times[found[label]] > 1]
    return [found[label] for label in labels]


def width_of(labels: Iterable[str]) -> float:
    """Return the inches that labels take of a picture beyond those that every picture has for them."""
    return LETTER * max(0, max(map(len, labels), default=0) - NARROW)


def named_panel(axes: Any, key: Sequence[Any], *, small: bool = False) -> None:
    """Write the name of a panel above it."""
    lines = textwrap.wrap(", ".join(map(str, key)), 30 if small else 34)
    axes.set_title("\n".join(lines), loc="left", fontsize=9 if small else 10, color=INK)
