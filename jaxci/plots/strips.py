"""Strips of dots: the values behind a row, one dot each, with a line at their middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.generalization_results import ResampledFits
from jaxci.checks import check_choice
from jaxci.coverage.analysis import levels_of
from jaxci.coverage.results import ColumnTable
from jaxci.plots.style import INK, PALETTE, entitled, own_axes, shortened, width_of
from jaxci.segmentation.table import METRICS, CaseTable

MOST_STRIPS = 40
"""Rows of a picture of a table, at most."""
MEASURES = (
    "coverage",
    "coverage_median",
    "pace",
    "required_n",
    "difference",
    "coefficient",
    "distance",
    "mean_width",
    "relative_bias",
    "pace_median",
)
"""Columns that tell the most, the first of which that a table has is drawn."""
FIRST = ("metric", "statistic", "method", "estimator")
"""Columns that rows of a picture are of before others."""
SETTINGS = ("level", "n")
"""Columns of numbers that tell rows apart."""
UNTOLD = ("covered_by_group", "flags", "how")
"""Columns of words that say how a row came about, not what it is of."""


def draw_strips(
    strips: Mapping[str, np.ndarray], *, ax: Any, title: str, x: str, middles: Mapping[str, float] | None = None
) -> Any:
    """Draw the finite values of every row as dots, and a line at their middle.

    Parameters
    ----------
    strips : dict of str to (m,) array
        From top to bottom.
    ax : Axes or None
    title, x : str
    middles : dict of str to float, optional
        By row; the median by default.
    """
    labels = shortened(list(strips))
    axes = own_axes(ax, (6.0 + width_of(labels), 1.3 + 0.26 * max(len(strips), 3)))
    for place, (name, values) in enumerate(strips.items()):
        known = values[np.isfinite(values)]
        jitter = ((np.arange(len(known)) * 0.618) % 1 - 0.5) * (0.5 if len(known) > 1 else 0.0)
        axes.plot(known, place + jitter, "o", color=PALETTE[0], markersize=4, alpha=0.7, markeredgewidth=0)
        if len(known) > 1:
            middle = float(np.median(known)) if middles is None else middles[name]
            axes.vlines(middle, place - 0.35, place + 0.35, color=INK, linewidth=2, zorder=3)
        if len(known) == 0:
            axes.annotate("none", (0.02, place), xycoords=("axes fraction", "data"), fontsize=8, va="center")
    axes.set_yticks(range(len(strips)), labels)
    axes.set_ylim(len(strips) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.locator_params(axis="x", nbins=6)
    entitled(axes, title, x)
    return axes


def draw_cases(cases: CaseTable, *, ax: Any, metric: str) -> Any:
    """Draw one measure of every case by label."""
    check_choice("metric", metric, METRICS)
    labels, values = cases.column("label"), np.asarray(cases.column(metric), float)
    strips = {f"label {label}": values[labels == label] for label in cases.labels}
    return draw_strips(strips, ax=ax, title=f"{metric} of {len(cases.cases)} cases; line: median", x=metric)


def draw_fits(fits: ResampledFits, *, ax: Any) -> Any:
    """Draw the mean loss of every split by plan, and their mean; splits that could not be fitted are left out."""
    offset, sign = fits.turn
    strips = {name: offset + sign * np.where(of.kept, of.means, np.nan) for name, of in fits.fits.items()}
    middles = {row["plan"]: row["mean"] for row in fits.records()}
    title = f"{fits.headline()}: a dot a split; line: mean"
    return draw_strips(strips, ax=ax, title=title, x=fits.loss, middles=middles)


def draw_column(table: ColumnTable, *, ax: Any, value: str | None, by: Sequence[str] | None) -> Any:
    """Draw a column of numbers by columns of words, or of sample sizes.

    Raises
    ------
    ValueError
        If the table has no rows or no numbers, or ``value`` or ``by`` names no such column.
    """
    numbers = [name for name, column in table.columns.items() if column.dtype.kind in "fiu"]
    if not len(table) or not numbers:
        raise ValueError("a picture needs rows and a column of numbers; the table has none")
    if value is None:
        value = next((name for name in MEASURES if name in numbers), numbers[-1])
    check_choice("value", value, numbers)
    for name in by or ():
        check_choice("by", name, list(table.columns))
    keys = _telling(table, value) if by is None else list(by)
    rows: dict[str, list[float]] = {}
    words = [[_worded(name, entry) for entry in table[name].tolist()] for name in keys]
    for number, *key in zip(table[value].tolist(), *words, strict=True):
        rows.setdefault(", ".join(key) or "all", []).append(number)
    said = value.replace("_", " ")
    named = f" by {', '.join(keys).replace('_', ' ')}" if keys else ""
    several = "; line: median" if any(len(found) > 1 for found in rows.values()) else ""
    strips = {name: np.asarray(found, float) for name, found in rows.items()}
    return draw_strips(strips, ax=ax, title=f"{said}{named}{several}", x=said)


def _telling(table: ColumnTable, value: str) -> list[str]:
    """Return the columns that tell rows apart, as many of the first as leave no more strips than a picture holds."""
    words = [name for name, column in table.columns.items() if column.dtype.kind in "USO" and name not in UNTOLD]
    words.sort(key=lambda name: name not in FIRST)
    found: list[str] = []
    for name in [*words, *(name for name in SETTINGS if name in table.columns and value != name)]:
        tried = [*found, name]
        combined = set(zip(*(table[one].tolist() for one in tried), strict=True))
        if len(levels_of(table[name])) > 1 and len(combined) <= MOST_STRIPS:
            found = tried
    return found


def _worded(name: str, entry: Any) -> str:
    return entry if isinstance(entry, str) else f"{name} = {entry:g}"
