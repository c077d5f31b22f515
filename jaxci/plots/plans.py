"""Pictures of plans: what other numbers of cases would have given."""

from __future__ import annotations

import math
from typing import Any

from jaxci.api.planning_results import Plan
from jaxci.api.quantile_results import QuantilePlan
from jaxci.plots.style import INK, PALETTE, REFERENCE, entitled, matplotlib_modules, own_axes

NEAR = 16
"""Sizes so many times smaller than the planned one, or larger, are not drawn."""
FEW = 15
"""So many sizes are marked; more are a line."""


def draw_plan(plan: Plan | QuantilePlan, *, ax: Any, title: str, x: str) -> Any:
    """Draw width, assurance or power at the sizes that were tried, what was wanted of it, and the planned size."""
    axes = own_axes(ax, (6.0, 3.2))
    ticker = matplotlib_modules().ticker
    what, wanted, found = ("width", math.nan, {plan.n: plan.expected_width}) if plan.tried is None else plan.tried
    near = {n: y for n, y in sorted(found.items()) if plan.n / NEAR <= n <= plan.n * NEAR and math.isfinite(y)}
    look = {"color": PALETTE[0], "markersize": 4, "linewidth": 1.6, "markerfacecolor": "white"}
    axes.plot(list(near), list(near.values()), "o-" if len(near) <= FEW else "-", **look)
    axes.plot([plan.n], [near.get(plan.n, math.nan)], "o", color=PALETTE[0], markersize=8, zorder=4)
    axes.axvline(plan.n, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 10, "color": INK}
    axes.annotate(f"{plan.n:,} {x}", (plan.n, 0.92 if what == "width" else 0.04), (5, 0), **place)
    if math.isfinite(wanted):
        axes.axhline(wanted, **REFERENCE)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda n, _: f"{n:,.0f}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xlim(right=1.6 * max([plan.n, *near]))
    if what != "width":
        axes.set_ylim(-0.02, 1.02)
    entitled(axes, f"{title}; dashed: wanted", x, what)
    return axes
