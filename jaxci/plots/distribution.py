"""Histograms of resamples, with estimate and interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.plots.forest import draw_interval, interval_text
from jaxci.plots.style import INK, PALETTE, hold_x, own_axes

BINS = 40


def draw_distribution(
    values: np.ndarray, estimate: float, interval: Sequence[float], *, ax: Any, held: Sequence[float] = ()
) -> Any:
    """Draw a histogram of the finite ``values``, a line at an estimate and a bar below for an interval.

    The picture holds the finite ends of the interval, and what is ``held`` beside them.
    """
    axes = own_axes(ax, (6.0, 3.4))
    finite = values[np.isfinite(values)]
    distinct = np.unique(finite)
    if len(distinct) <= BINS:  # atoms stay atoms
        gap = 0.8 * float(np.min(np.diff(distinct))) if len(distinct) > 1 else 0.1
        counts = np.array([np.sum(finite == x) for x in distinct])
        left, right = distinct - gap / 2, distinct + gap / 2
    else:
        counts, edges = np.histogram(finite, BINS)
        left, right = edges[:-1], edges[1:]
    hold_x(axes, [*left, *right, estimate, *interval, *held], 0.05)
    look = {"color": PALETTE[5], "edgecolor": "white", "linewidth": 0.4}
    axes.bar(left, counts / len(finite), width=right - left, align="edge", **look)
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.1 * top, 1.16 * top)
    draw_interval(axes, -0.05 * top, *interval, color=PALETTE[0], linewidth=4)
    axes.vlines(estimate, -0.09 * top, top, color=INK, linewidth=1.4)
    axes.annotate(
        f"estimate {interval_text(estimate, *interval)}",
        (0.99, 0.98), xycoords="axes fraction", ha="right", va="top", fontsize=9, color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
    )  # fmt: skip
    return axes
