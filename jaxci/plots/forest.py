"""Forest plots: estimates and intervals, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.plots.style import PALETTE, REFERENCE, dressed, entitled, hold_x, own_axes, shortened, width_of
from jaxci.printing import number

ROW = 0.32
"""Inches of a row."""
EDGE = 0.025
"""Share of the width by which arrows are inside."""
HOLLOW = "white"


class Bar(NamedTuple):
    """One row: label, estimate and interval, a wider one behind it, what is written beside, and how it is marked."""

    label: str
    estimate: float
    low: float
    high: float
    wider: tuple[float, float] | None = None
    beside: str = ""
    hollow: bool = False
    colour: str = PALETTE[0]


def interval_text(estimate: float, low: float, high: float) -> str:
    """Return an estimate with its interval, as written beside a row."""
    return f"{number(estimate, 3)} [{number(low, 3)}, {number(high, 3)}]"


def draw_bars(
    bars: Sequence[Bar],
    *,
    ax: Any,
    title: str,
    x: str,
    line: float | None = None,
    held: Sequence[float] = (),
    beside: str = "",
    numbers: bool = True,
) -> Any:
    """Draw rows from top to bottom and return the axes; long labels lack their middle.

    Parameters
    ----------
    bars : sequence of Bar
    ax : Axes or None
    title, x : str
        Of the picture, and of its axis.
    line : float, optional
        Where a vertical line stands.
    held : sequence of float
        What the picture holds beside rows and line.
    beside : str
        Heading of what is written beside.
    numbers : bool
        Whether estimates and intervals are written beside.
    """
    labels = shortened([bar.label for bar in bars])
    width = 4.6 + 1.9 * numbers + 0.9 * bool(beside) + width_of(labels)
    axes = own_axes(ax, (width, 1.1 + ROW * max(len(bars), 2)))
    ends = [value for bar in bars for value in (bar.estimate, bar.low, bar.high, *(bar.wider or ()))]
    hold_x(axes, [*ends, *([] if line is None else [line]), *held], 0.09)
    for place, bar in enumerate(bars):
        _bar(axes, place, bar)
    if line is not None:
        axes.axvline(line, **REFERENCE)
    axes.set_yticks(range(len(bars)), labels)
    axes.set_ylim(len(bars) - 0.4, -1.3 if beside else -0.6)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=6)
    entitled(axes, title, x)
    _beside(axes, bars, beside, numbers)
    return axes


def draw_interval(axes: Any, place: float, low: float, high: float, **look: Any) -> None:
    """Draw an interval as a line across axes with their final limits; an infinite end is an arrow at the edge."""
    left, right = axes.get_xlim()
    least, most = left + EDGE * (right - left), right - EDGE * (right - left)
    ends = np.nan_to_num((low, high), nan=math.nan, neginf=least, posinf=most)
    axes.hlines(place, *ends, zorder=2, **look)
    for end in {low, high}:
        if math.isinf(end):
            at, marker = (least, "<") if end < 0 else (most, ">")
            axes.plot([at], [place], marker=marker, color=look["color"], markersize=6, zorder=3)


def _bar(axes: Any, place: int, bar: Bar) -> None:
    """Draw one row; what does not exist is said."""
    if math.isnan(bar.low) or math.isnan(bar.high):
        axes.annotate("no interval", (0.02, place), xycoords=("axes fraction", "data"), fontsize=8, va="center")
    else:
        if bar.wider is not None and all(map(math.isfinite, bar.wider)):
            axes.hlines(place, *bar.wider, color=bar.colour, linewidth=1.1, zorder=2)
        draw_interval(axes, place, bar.low, bar.high, color=bar.colour, linewidth=2.6)
    if math.isfinite(bar.estimate):
        face = HOLLOW if bar.hollow else bar.colour
        axes.plot(
            [bar.estimate], [place], "o", color=bar.colour, markerfacecolor=face, markersize=6, zorder=4,
            markeredgewidth=1.4,
        )  # fmt: skip


def _beside(axes: Any, bars: Sequence[Bar], heading: str, numbers: bool) -> None:
    """Write numbers and words to the right of the rows, on an axis of their own so that they take room."""
    columns = []
    if numbers:
        columns.append([interval_text(bar.estimate, bar.low, bar.high) for bar in bars])
    if heading:
        columns.append([bar.beside for bar in bars])
    if not columns:
        return
    right = dressed(axes.twinx())
    right.grid(False)
    rows, places = [*zip(*columns, strict=True)], [*range(len(bars))]
    if heading:
        rows, places = [(*("" for _ in columns[1:]), heading), *rows], [-0.9, *places]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    right.set_ylim(axes.get_ylim())
    right.set_yticks(places, lines, fontsize=8, family="monospace")
    right.tick_params(axis="y", length=0)
    right.spines[["left", "right", "top", "bottom"]].set_visible(False)
