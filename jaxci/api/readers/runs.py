"""Results of runs as users pass them: arrays, or what ``run_seeds`` returned; diverged runs become the worst result."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_floats, missing_values
from jaxci.checks import check_choice, shown
from jaxci.runs.results import SeedRuns

GOALS = ("higher", "lower")


@dataclasses.dataclass(frozen=True)
class Results:
    """Values (n,) or (R, n); ``n_lost`` of them are infinite on the bad side, in place of runs without a result."""

    values: np.ndarray
    n_lost: int
    goal: str | None

    def remarks(self) -> list[str]:
        """Say how many values are no numbers, and how many equal another; nothing where none does."""
        said = []
        if self.n_lost:
            side = "below" if self.goal == "higher" else "above"
            said.append(
                f"{self.n_lost} of {self.values.size} runs diverged or failed (NaN or infinite): each counts as the "
                f"worst, {side} all others"
            )
        ordered = np.sort(self.values, axis=-1)
        same = (ordered[..., 1:] == ordered[..., :-1]) & np.isfinite(ordered[..., 1:])
        pad = [(0, 0)] * (ordered.ndim - 1)
        tied = int(np.sum(np.pad(same, [*pad, (0, 1)]) | np.pad(same, [*pad, (1, 0)])))
        if tied == ordered.size and np.all(same):
            said.append(f"all {tied} values are {ordered.flat[0]:g}: runs that do not vary give intervals of no width")
        elif tied:
            said.append(f"{tied} of {ordered.size} values are tied: the intervals assume a continuous law")
        return said

    def fallen(self, u: float, estimate: Any, low: Any, high: Any) -> list[str]:
        """Say what of an interval for the u-quantile lies on runs without a result; nothing where nothing does."""
        parts = {"the estimate": estimate, "the lower end": low, "the upper end": high}
        names = [name for name, at in parts.items() if np.isinf(at).any()]
        verb = "lies" if len(names) == 1 else "lie"
        return [f"q = {u:g}: {' and '.join(names)} {verb} on runs without a result"] if names else []


def results_of(
    x: Any,
    *,
    goal: Any = None,
    metric: str | None = None,
    bounds: tuple[float, float] | None = None,
    ndim: tuple[int, ...] = (1, 2),
) -> Results:
    """Return results of runs within ``bounds``, NaN and infinity on the bad side counted as the worst by ``goal``."""
    if goal is not None:
        check_choice("goal", goal, GOALS)
    values = as_floats("x", _column(x, metric), (1, 2), finite=False)
    if values.ndim not in ndim:
        raise ValueError(f"x must have shape (n,); got {values.shape}")
    if values.shape[-1] < 2:
        raise ValueError(f"x must hold at least 2 values; got n = {values.shape[-1]}")
    if goal is None and (lost := missing_values(values)):
        raise ValueError(
            f"x must be finite; {lost}: say goal='higher' or goal='lower', and runs that diverged count as the worst"
        )
    worst = -math.inf if goal == "higher" else math.inf
    if (values == -worst).any():
        row = int(np.argwhere(values == -worst)[0][-1])
        raise ValueError(
            f"x must hold no {-worst:g} where goal={goal!r}: it would be the best run; got one in row {row}"
        )
    values = np.where(np.isnan(values), worst, values)
    if np.isinf(values).all(axis=-1).any():
        raise ValueError(f"x must hold a finite result; all {values.shape[-1]} runs diverged")
    check_within("x", values, bounds)
    return Results(values, int(np.isinf(values).sum()), goal)


def _column(x: Any, metric: Any) -> Any:
    """Return one value a seed where ``x`` is what ``run_seeds`` returned, else ``x``."""
    if not isinstance(x, SeedRuns):
        if metric is not None:
            raise TypeError(f"metric is for what run_seeds returned; x is {type(x).__name__}, metric {shown(metric)}")
        return x
    if metric is None and len(x.values) > 1:
        raise ValueError(f"metric must say which results to take: one of {', '.join(x.values)}")
    return x[check_choice("metric", next(iter(x.values)) if metric is None else metric, list(x.values))]


def check_within(name: str, values: np.ndarray, bounds: tuple[float, float] | None) -> None:
    """Refuse finite values outside ``bounds``."""
    if bounds is None:
        return
    outside = ((values < bounds[0]) | (values > bounds[1])) & np.isfinite(values)
    if outside.any():
        raise ValueError(f"{name} must lie within bounds {bounds}; got {shown(values[outside][0])}")


def limits_of(bounds: Any) -> tuple[tuple[float, float] | None, str]:
    """Return the range of the values, and what happens to ends outside it."""
    if bounds is None:
        return None, "clip"
    if isinstance(bounds, str):
        check_choice("bounds", bounds, ("clip",))
        return (0.0, 1.0), "clip"
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be (low, high), 'clip' for [0, 1] or None; got {shown(bounds)}") from None
    if not low < high:
        raise ValueError(f"bounds must be a lower and a higher number; got {shown(bounds)}")
    return (low, high), "transform"
