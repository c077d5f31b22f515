"""Heat maps of coverage: methods by sample size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.plots.style import INK, PALETTE, entitled, matplotlib_modules, own_axes

SHORT = 10.0
"""Points below the level at which the colour is the strongest."""


def draw_heat(found: Mapping[tuple[str, int], float], level: float, *, ax: Any, title: str) -> Any:
    """Draw coverage in percent by method and n: darker the more it lacks; empty where there is none.

    Rows are ordered by what a method lacks on average. The numbers are in the cells, so that grey tells as much.
    """
    sizes = sorted({n for _, n in found})
    lacking = {m: [max(0.0, level - found[m, n]) for n in sizes if (m, n) in found] for m, _ in found}
    methods = sorted(lacking, key=lambda m: float(np.nan_to_num(np.mean(lacking[m]), nan=math.inf)))
    table = np.array([[found.get((m, n), math.nan) for n in sizes] for m in methods])
    axes = own_axes(ax, (max(6.2, 2.6 + 0.62 * len(sizes)), 1.3 + 0.27 * len(methods)))
    colours = matplotlib_modules().colors.LinearSegmentedColormap.from_list("lack", ["#F7F7F7", PALETTE[1]])
    axes.imshow(np.clip(level - table, 0, SHORT), cmap=colours, vmin=0, vmax=SHORT, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        if not math.isnan(value):
            ink = "white" if level - value > 0.8 * SHORT else INK
            axes.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=8, color=ink)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    axes.set_yticks(range(len(methods)), methods)
    entitled(axes, title, "sample size n")
    return axes
