"""Pictures of curves with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.plots.style import INK, PALETTE, REFERENCE, entitled, legend_beside, own_axes

SQUARE = (5.0, 4.6)


def draw_curve(curve: CurveResult, *, ax: Any, label: str | None, colour: str) -> Any:
    """Draw a curve, its pointwise and its simultaneous band, and what it is held against.

    What the legend of other curves on the axes names already is not named again.
    """
    axes = own_axes(ax, SQUARE if curve.name != "decision curve" else (7.2, 3.6))
    named = axes.get_legend_handles_labels()[1]
    turned = curve.name == "ROC curve"
    x = 1 - curve.x if turned else curve.x
    if curve.reference is not None:
        said = {"decision curve": "treat all", "calibration curve": "perfect", "ROC curve": "chance"}
        axes.plot(x, curve.reference, **REFERENCE, label=_once(said.get(curve.name, "share of positives"), named))
    called = label or curve.name
    level = f"{100 * curve.confidence_level:g}%"
    bands = {"simultaneous": (0.16, f"{level} band of the curve"), "pointwise": (0.28, f"{level} band of each point")}
    if curve.name == "calibration curve":
        for name, width in (("simultaneous", 1.1), ("pointwise", 3.0)):
            axes.vlines(x, *getattr(curve, name), color=colour, linewidth=width, label=_once(bands[name][1], named))
        axes.plot(x, curve.estimate, "o-", color=colour, linewidth=1, markersize=5, label=called, zorder=4)
    else:
        for name, (alpha, text) in bands.items():
            axes.fill_between(
                x, *getattr(curve, name), color=colour, alpha=alpha, linewidth=0, label=_once(text, named)
            )
        axes.plot(x, curve.estimate, color=colour, linewidth=1.8, label=called, zorder=4)
    across = f"1 - {curve.axes[0]}" if turned else curve.axes[0]
    entitled(axes, f"{curve.name}, {curve.size_said}", across, curve.axes[1])
    if curve.name == "decision curve":
        axes.axhline(0, color=INK, linewidth=1, zorder=1, label=_once("treat none", named))
        inside = np.concatenate([curve.estimate, curve.pointwise.high, curve.simultaneous.high])
        most = float(np.max(inside[np.isfinite(inside)], initial=0.05))
        axes.set_ylim(-0.35 * most, 1.08 * most)
        legend_beside(axes)
    else:
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.legend(frameon=False, fontsize=8, loc="best")
    return axes


def _once(text: str, named: Sequence[str]) -> str | None:
    return None if text in named else text


def draw_difference(found: CurveComparison, *, ax: Any) -> Any:
    """Draw the difference of two curves with both bands, and the line of no difference."""
    axes = own_axes(ax, (7.2, 3.6))
    turned = found.a is not None and found.a.name == "ROC curve"
    x = 1 - found.x if turned else found.x
    level = f"{100 * found.confidence_level:g}%"
    axes.fill_between(x, *found.simultaneous, color=PALETTE[0], alpha=0.16, linewidth=0, label=f"{level} band of all")
    axes.fill_between(
        x, *found.pointwise, color=PALETTE[0], alpha=0.28, linewidth=0, label=f"{level} band of each point"
    )
    axes.plot(x, found.estimate, color=PALETTE[0], linewidth=1.8, label="a - b")
    axes.axhline(0, **REFERENCE)
    across = f"1 - {found.axes[0]}" if turned else found.axes[0]
    entitled(axes, f"{found.name}, {found.size_said}, {found.p_said}", across, f"{found.axes[1]}, a - b")
    legend_beside(axes)
    return axes
