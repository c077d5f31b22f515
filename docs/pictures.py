"""Draw the pictures of the documentation kept in ``docs/_static``; run by hand: ``python docs/pictures.py``."""

from __future__ import annotations

from pathlib import Path

import jaxci
from jaxci.data import load_demo
from jaxci.plots.style import INK, PALE, PALETTE, matplotlib_modules
from jaxci.printing import EvaluationTable

STATIC = Path(__file__).parent / "_static"
LEFT_OUT = ("log_loss",)
"""Metrics on a scale of their own."""


def forest(table: EvaluationTable) -> object:
    """Return a figure of the intervals of a table: a row a metric, with its numbers, method and coverage beside it."""
    rows = [row for row in table if row.statistic not in LEFT_OUT]
    figure = matplotlib_modules().figure.Figure(figsize=(8.0, 0.32 * len(rows) + 1.1), layout="constrained")
    axes = figure.subplots()
    places = range(len(rows) - 1, -1, -1)
    for place, row in zip(places, rows, strict=True):
        low, high = row.confidence_interval
        axes.plot([low, high], [place, place], color=PALETTE[0], linewidth=2.2, solid_capstyle="butt")
        axes.plot(row.estimate, place, "s", color=INK, markersize=4)
        values = f"{row.estimate:.3f}  [{low:.3f}, {high:.3f}]"
        for x, text in ((1.03, values), (1.37, str(row.method)), (1.65, f"{100 * row.simulated_coverage:.1f}%")):
            axes.annotate(text, (x, place), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=INK)
    for x, text in ((1.03, "estimate, 95% interval"), (1.37, "method"), (1.65, "held in simulations")):
        axes.annotate(text, (x, len(rows) - 0.3), xycoords=("axes fraction", "data"), fontsize=8, color="#666666")
    axes.set_yticks(places, [row.statistic for row in rows], fontsize=9, color=INK)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.tick_params(length=0, labelsize=9, labelcolor=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


if __name__ == "__main__":
    demo = load_demo()
    found = jaxci.evaluate(demo["target"], demo["prediction"], demo["score"], rng=0)
    forest(found).savefig(STATIC / "forest.png", dpi=140, facecolor="white", bbox_inches="tight")
