"""Curves with their bands, and what is read off them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxci.intervals.bands import Band
from jaxci.printing import Printable, gathered, p_said
from jaxci.results import IntervalResult

ROWS = 9
"""Points of a curve that a printed table shows, about."""


@dataclasses.dataclass(frozen=True, eq=False)
class CurveResult(Printable):
    """A curve, its bands, and intervals of what is read off it.

    Attributes
    ----------
    name : str
        "ROC curve", "precision-recall curve", "calibration curve" or "decision curve"; "difference of" two of them.
    axes : (str, str)
        What ``x`` and ``estimate`` are.
    x : (G,) array
        Where the curve is known; of a calibration curve the mean prediction of every bin.
    estimate : (G,) array
    pointwise : Band
        ``.low`` and ``.high`` (G,): each point for itself lies within with probability ``confidence_level``.
    simultaneous : Band
        The whole curve, at all ``x``, lies within with probability ``confidence_level``.
    points : tuple of IntervalResult
        What is read off the curve; ``curve["area under the curve"]`` gives one by name.
    confidence_level : float
    n : int
        Independent units: rows, or clusters.
    n_resamples : int
    reference : (G,) array or None
        What the curve is held against: of a decision curve the net benefit of treating all, of a calibration curve
        ``x``, of a precision-recall curve the share of positives.
    n_rows : int
        Rows in the clusters, 0 where rows are the units.
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``.
    warnings : tuple of str
    bootstrap_distribution : (G, B) array
        Replicates of the curve.
    """

    name: str
    axes: tuple[str, str]
    x: np.ndarray
    estimate: np.ndarray
    pointwise: Band
    simultaneous: Band
    points: tuple[IntervalResult, ...]
    confidence_level: float
    n: int
    n_resamples: int
    reference: np.ndarray | None = None
    n_rows: int = 0
    rng: Any = None
    warnings: tuple[str, ...] = ()
    bootstrap_distribution: np.ndarray | None = dataclasses.field(default=None, repr=False)

    unlisted = frozenset({"bootstrap_distribution"})

    def __getitem__(self, name: str) -> IntervalResult:
        for point in self.points:
            if point.statistic == name:
                return point
        raise KeyError(f"no {name!r} is read off this curve; it has {[point.statistic for point in self.points]}")

    def __iter__(self) -> Iterator[IntervalResult]:
        return iter(self.points)

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds, by name: bands by their ends."""
        bands = {name: getattr(self, name)._asdict() for name in ("pointwise", "simultaneous")}
        return super().contents() | bands

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a point of the grid, then one a quantity; what a row does not have is NaN."""
        along = [
            {
                "quantity": self.axes[1],
                self.axes[0]: float(x),
                "estimate": float(estimate),
                "low": float(low),
                "high": float(high),
                "band_low": float(least),
                "band_high": float(most),
            }
            for x, estimate, low, high, least, most in self._table()
        ]
        missing = {"band_low": math.nan, "band_high": math.nan}
        read = [
            {
                "quantity": point.statistic,
                self.axes[0]: math.nan,
                "estimate": point.estimate,
                "low": point.confidence_interval.low,
                "high": point.confidence_interval.high,
                **missing,
            }
            for point in self.points
        ]
        return along + read

    def _table(self) -> list[tuple[float, ...]]:
        columns = (self.x, self.estimate, *self.pointwise, *self.simultaneous)
        return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))

    def headline(self) -> str:
        """Return the line above the table."""
        size = f"{self.n_rows:,} rows in {self.n:,} clusters" if self.n_rows else f"n = {self.n}"
        return f"{self.name}, {100 * self.confidence_level:g}% intervals and simultaneous band, {size}"

    @property
    def size_said(self) -> str:
        """Rows, and clusters where these are the units, as the title of a picture has them."""
        return f"n = {self.n_rows:,} in {self.n:,} clusters" if self.n_rows else f"n = {self.n:,}"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table: some points of the curve, then the quantities."""
        step = max(1, round((len(self.x) + 1) / (ROWS + 1)))
        some = self._table()[step - 1 :: step] if step > 1 else self._table()
        rows: list[list[Any]] = [[f"{self.axes[1]} at {x:.3g}", *map(float, values)] for x, *values in some]
        rows += [[p.statistic, float(p.estimate), *map(float, p.confidence_interval), "", ""] for p in self.points]
        return ["", "estimate", "low", "high", "band low", "band high"], rows

    def notes(self) -> list[str]:
        """Return the lines below the table: what the band says, and warnings."""
        said = (
            f"low to high: each for itself; band: the whole curve at {len(self.x)} points; both from the same "
            f"{self.n_resamples:,} resamples"
        )
        told = gathered((point.statistic, text) for point in self.points for text in point.warnings)
        return [said, *super().notes(), *(f"warning ({', '.join(names)}): {text}" for text, names in told.items())]


@dataclasses.dataclass(frozen=True, eq=False)
class CurveComparison(CurveResult):
    """The difference ``a - b`` of two curves on the same rows, with both of them.

    Attributes
    ----------
    a, b : CurveResult
        The curves of both models.
    pvalue : float
        Of no difference anywhere on the grid: the least error probability at which the simultaneous band leaves 0.
    """

    a: CurveResult | None = None
    b: CurveResult | None = None
    pvalue: float = math.nan

    @property
    def p_said(self) -> str:
        """The p-value as a sentence has it."""
        return p_said(self.pvalue, 1 / (self.n_resamples + 1))

    def notes(self) -> list[str]:
        """Return the lines below the table: the test, what the band says, and warnings."""
        apart = (self.simultaneous.low > 0) | (self.simultaneous.high < 0)
        where = f"the band leaves 0 at {int(apart.sum())} of {len(self.x)} points" if apart.any() else "it holds 0"
        return [f"no difference anywhere: {self.p_said}; {where}", *super().notes()]
