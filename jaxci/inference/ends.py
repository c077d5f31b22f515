"""Ends of intervals: within the range of the estimand, apart from each other, and finite."""

from __future__ import annotations

import math

import numpy as np

from jaxci.inference.evidence import rounding
from jaxci.inference.request import Entry
from jaxci.intervals.base import Bounds


def has_width(bounds: Bounds, bottom: float, top: float) -> bool:
    """Whether bounds exist and are further apart than rounding in the range of the estimand."""
    return bounds.high - bounds.low > rounding(*bounds, bottom, top)


def is_endless(entry: Entry, found: Bounds) -> bool:
    """Whether both ends are the same infinity, or the statistic is infinite and no resample tells of finite values."""
    low, high = (float(np.squeeze(end)) for end in found)
    if math.isinf(low) and low == high:
        return True
    return math.isinf(entry.estimate) and entry.replicates is not None and not np.isfinite(entry.replicates).any()


def within_range(
    found: Bounds, remarks: tuple[str, ...], bottom: float, top: float, method: str
) -> tuple[Bounds, tuple[str, ...]]:
    """Clip bounds to the range of the estimand; say so, and where nothing lies between them or they do not exist."""
    if np.isnan(found.low) or np.isnan(found.high):
        other = "" if method == "percentile" else "; use 'percentile'"
        missing = f"the {method} interval does not exist on these data{other}"
        return Bounds(math.nan, math.nan), remarks or (missing,)
    low, high = (min(max(float(np.squeeze(end)), bottom), top) for end in found)
    slack = rounding(low, high, bottom, top)
    clipped = found.low < bottom - slack or found.high > top + slack
    if clipped:
        remarks += (f"the {method} interval left the range [{bottom:g}, {top:g}] and was clipped to it",)
    if not has_width(Bounds(low, high), bottom, top) and not any("width" in remark for remark in remarks):
        why = "nothing of it lies within the range" if clipped else "the data show no variation in this statistic"
        remarks += (f"the interval has zero width: {why}",)
    return Bounds(low, high), remarks
