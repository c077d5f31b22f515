"""Curves of one model, or of two, with bands and what is read off them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.curves.reading import KINDS, Data
from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.inference.curves import curve_replicates
from jaxci.inference.remarks import announce, cases
from jaxci.intervals.bands import Band, Expansion, Simultaneous, pointwise
from jaxci.intervals.base import tails
from jaxci.intervals.proportion import Jeffreys
from jaxci.printing import ConfidenceInterval
from jaxci.results import IntervalResult
from jaxci.statistics.curves import Calibration, Curve, PrecisionRecall, Quantity, Roc
from jaxci.statistics.layout import Layout

METHOD = "proper Bayesian bootstrap"
FEW_IN_TAIL = 100
"""Rows of the rarer class below which a threshold has a remark."""
RATES = {"sensitivity": 1, "specificity": 0}
"""Of which class a rate that is read off a ROC curve is a share."""
TOO_FEW = "{:,} resamples are too few for the simultaneous band, which is the envelope of all of them"


def single(kind: str, data: Data, options: Mapping[str, Any]) -> CurveResult:
    """Return the curve of one model."""
    curve = KINDS[kind].build(data, **options)
    (estimates,), (replicates,), data = _replicated(curve, data)
    found = CurveResult(**_parts(kind, curve, data, estimates, replicates, _reference(curve, data)))
    announce(found.warnings)
    return found


def compared(kind: str, data: Data, options: Mapping[str, Any]) -> CurveComparison:
    """Return the difference of the curves of two models."""
    known = set(inspect.signature(KINDS[kind].build).parameters) - {"_"}
    for name in options:
        if name not in known:
            raise TypeError(f"a {KINDS[kind].title} has no option {name!r}; it has {', '.join(sorted(known))}")
    curve = KINDS[kind].build(data, **options)
    estimates, replicates, data = _replicated(curve, data)
    both = [
        CurveResult(**_parts(kind, curve, data, *one, _reference(curve, data)))
        for one in zip(estimates, replicates, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        apart, of_resamples = estimates[0] - estimates[1], replicates[0] - replicates[1]
    parts = _parts(kind, curve, data, apart, of_resamples, None, difference=True)
    found = CurveComparison(**parts, a=both[0], b=both[1])
    announce(found.warnings)
    return found


def _replicated(curve: Curve, data: Data) -> tuple[np.ndarray, np.ndarray, Data]:
    """Return the curves (m, S) of the models, their replicates (m, S, B), and the data with what is said of both."""
    estimates, replicates = curve_replicates(curve, data.sample, data.layout, data.settings, data.source)
    models = [data.sample] if data.sample.other is None else [data.sample, data.sample.other]
    settled = [curve.settled(model, values) for model, values in zip(models, estimates, strict=True)]
    remarks = dict.fromkeys([*data.remarks, *(one.remark for one in settled if one.remark)])
    return np.stack([one.values for one in settled]), replicates, data._replace(remarks=tuple(remarks))


def _reference(curve: Curve, data: Data) -> np.ndarray | None:
    """Return what a curve is held against."""
    if isinstance(curve, Calibration):
        return np.asarray(curve.grid)
    if isinstance(curve, Roc):
        return 1 - np.asarray(curve.grid)
    share = float(np.average(data.sample.y_true, weights=data.layout.row_weights))
    if isinstance(curve, PrecisionRecall):
        return np.full(len(curve.grid), share)
    return share - (1 - share) * curve.grid / (1 - curve.grid)


def _weights(layout: Layout) -> np.ndarray:
    """Return what each unit weighs (U,): the rows of a cluster on average."""
    weights = np.ones(layout.n) if layout.row_weights is None else layout.row_weights
    if layout.units is None:
        return weights
    return np.bincount(layout.units, weights) / np.bincount(layout.units)


def _parts(
    kind: str,
    curve: Curve,
    data: Data,
    estimates: np.ndarray,
    replicates: np.ndarray,
    reference: np.ndarray | None,
    *,
    difference: bool = False,
) -> dict[str, Any]:
    """Return what a result holds, from the values (S,) of a curve and their replicates (S, B)."""
    size, level = len(curve.grid), data.settings.confidence_level
    open_ends = (-np.inf, np.inf)
    bounds = open_ends if difference else curve.bounds
    clustered = data.layout.units is not None
    expansion = Expansion.of(_weights(data.layout)) if curve.is_mean or clustered else None
    rates = isinstance(curve, Roc) and not difference
    points = []
    for quantity, value, row in zip(curve.quantities(), estimates[size:], replicates[size:], strict=True):
        ends = open_ends if difference else (quantity.low, quantity.high)
        low, high = (float(x[0]) for x in pointwise(row[None], np.array([value]), level, ends, expansion))
        if math.isinf(value):
            low, high = (low, value) if value > 0 else (value, high)
        if rates and (name := quantity.name.split(" at ")[0]) in RATES:
            low, high = map(float, _of_rate(Band(low, high), value, RATES[name], data))
        points.append(_point(quantity, float(value), ConfidenceInterval(low, high), row, data))
    x, y = curve.axes
    together = Simultaneous(replicates[:size], estimates[:size], bounds, expansion)
    band, enough = together.band(level)
    alone = pointwise(replicates[:size], estimates[:size], level, bounds, expansion)
    if rates:
        alone = _of_rate(alone, estimates[:size], RATES["sensitivity"], data)
        band = _joined(band, alone)
    few = () if enough else (TOO_FEW.format(data.settings.n_resamples),)
    of_difference = {"pvalue": together.excluded(np.zeros(size))} if difference else {}
    if few and difference:
        few = (f"{few[0]}; no p-value of them is below {together.excluded(np.full(size, np.inf)):.2g}",)
    return of_difference | {
        "name": ("difference of " if difference else "") + KINDS[kind].title + ("s" if difference else ""),
        "axes": (x, f"difference in {y}" if difference else y),
        "x": np.asarray(curve.grid),
        "estimate": estimates[:size],
        "pointwise": alone,
        "simultaneous": band,
        "points": tuple(points),
        "confidence_level": level,
        "n": data.layout.n_units,
        "n_resamples": data.settings.n_resamples,
        "reference": reference,
        "n_rows": data.layout.n if clustered else 0,
        "rng": data.source.record,
        "warnings": (*data.remarks, *few),
        "bootstrap_distribution": replicates[:size],
    }


def _of_rate(band: Band, rates: Any, code: int, data: Data) -> Band:
    """Return intervals of rates (...) of class ``code``, at least Jeffreys' for that share of as many rows.

    A rate at a threshold that is given is a share; one at a threshold that is found is known no better.
    """
    n = data.layout.of_some(np.flatnonzero(data.sample.y_true == code)).effective_size
    return _joined(band, Band(*Jeffreys().from_counts(rates * n, n, tails(data.settings.confidence_level))))


def _joined(one: Band, other: Band) -> Band:
    return Band(np.minimum(one.low, other.low), np.maximum(one.high, other.high))


def _point(
    quantity: Quantity, value: float, interval: ConfidenceInterval, row: np.ndarray, data: Data
) -> IntervalResult:
    """Return the interval of what is read off a curve."""
    finite, missing = row[np.isfinite(row)], np.count_nonzero(np.isnan(row))
    remarks = []
    if quantity.in_tail and data.rarer < FEW_IN_TAIL:
        few = cases(data.rarer, "row", data.layout.row_weights is not None)
        why = f"a threshold lies in the tail of a class, of {few}: 95% intervals of 25 covered 88% to 91%"
        remarks.append(f"{why} in simulations")
    if missing:
        of_them = f"{missing:,} of {len(row):,} resamples"
        remarks.append(f"it has no value in {of_them}, which count as below the interval and as above it")
    return IntervalResult(
        quantity.name,
        value,
        interval,
        float(finite.std(ddof=1)) if len(finite) > 1 and math.isfinite(value) else math.nan,
        METHOD,
        "read off the replicates of the curve",
        data.settings.confidence_level,
        "two-sided",
        data.layout.n_units,
        n_rows=data.layout.n if data.layout.units is not None else 0,
        n_resamples=data.settings.n_resamples,
        bootstrap_distribution=row,
        warnings=tuple(remarks),
        rng=data.source.record,
    )
