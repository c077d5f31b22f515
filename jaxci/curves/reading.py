"""From users' arrays and options to rows and a curve."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.labelled import Labelled, not_probabilities
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.samples import check_n
from jaxci.checks import check_count, shown
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.remarks import cases, layout_remarks
from jaxci.inference.settings import Settings
from jaxci.statistics.curves import Calibration, Curve, NetBenefit, PrecisionRecall, Roc
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample

HUNDREDTHS = np.arange(1, 100) / 100
FEW = 10
"""Rows of a class below which curves get a remark."""


class Data(NamedTuple):
    """What curves are drawn of: rows and their layout, how to resample, and what is to be said of the data.

    ``rarer`` are the rows of the rarer class; of weighted ones how many of equal weight vary as much.
    """

    sample: Sample
    layout: Layout
    settings: Settings
    source: Randomness
    rarer: float
    remarks: tuple[str, ...]


def _shares(name: str, given: Any) -> np.ndarray:
    """Return shares strictly between 0 and 1."""
    rule = f"{name} must hold numbers between 0 and 1, exclusive; got {shown(given)}"
    try:
        found = np.atleast_1d(np.asarray(given, float)) if np.size(given) else np.empty(0)
    except (TypeError, ValueError):
        raise TypeError(rule) from None
    if found.ndim != 1 or not np.all((found > 0) & (found < 1)):
        raise ValueError(rule)
    return found


def _grid(given: Any) -> np.ndarray:
    if given is None:
        return HUNDREDTHS
    found = _shares("grid", given)
    if len(found) < 2 or np.any(np.diff(found) <= 0):
        raise ValueError(f"grid must hold at least two numbers, ascending; got {shown(given)}")
    return found


def _roc(
    _: Data, *, grid: Any = None, specificities: Any = (0.9,), sensitivities: Any = (0.9,), max_fpr: Any = ()
) -> Curve:
    points = [
        _shares(name, given)
        for name, given in (("specificities", specificities), ("sensitivities", sensitivities), ("max_fpr", max_fpr))
    ]
    return Roc(_grid(grid), *points)


def _precision_recall(_: Data, *, grid: Any = None, recalls: Any = (0.9,)) -> Curve:
    return PrecisionRecall(_grid(grid), _shares("recalls", recalls))


def _decision(_: Data, *, grid: Any = None, thresholds: Any = ()) -> Curve:
    return NetBenefit(_grid(grid), _shares("thresholds", thresholds))


def _calibration(data: Data, *, n_bins: int = 10) -> Curve:
    """Return bins of about as many rows each, or of as much weight, and means within their bins, also by rounding."""
    scores, weights = data.sample.y_score, data.layout.row_weights
    inner = np.arange(1, check_count("n_bins", n_bins, 2)) / n_bins
    edges = np.unique(np.quantile(scores, inner, method="inverted_cdf", weights=weights))
    edges = edges[edges > scores.min()]
    codes = np.searchsorted(edges, scores, side="right")
    held = np.ones(len(scores)) if weights is None else weights
    means = np.bincount(codes, scores * held) / np.bincount(codes, held)
    inside = np.clip(means, np.append(-np.inf, edges), np.append(np.nextafter(edges, -np.inf), np.inf))
    return Calibration(inside, edges)


class Kind(NamedTuple):
    """A kind of curve: what a table calls it, how it is built from its options, and whether it needs probabilities."""

    title: str
    build: Callable[..., Curve]
    probabilities: bool


KINDS: Mapping[str, Kind] = {
    "roc": Kind("ROC curve", _roc, False),
    "precision_recall": Kind("precision-recall curve", _precision_recall, False),
    "calibration": Kind("calibration curve", _calibration, True),
    "decision": Kind("decision curve", _decision, True),
}


def read_curve_data(
    kind: str,
    y_true: Any,
    scores: Mapping[str, Any],
    design: tuple[Any, Any, Any, str],
    pos_label: Any,
    settings: Settings,
    rng: Any,
) -> Data:
    """Return the rows of one model, or of two, one behind the other; ``design`` is what :func:`arranged` takes."""
    settings.check_bank("n_resamples", settings.n_resamples)
    probabilities = KINDS[kind].probabilities
    labelled = Labelled.of({"y_true": y_true}, scores, labels=None, pos_label=pos_label)
    if labelled.n_classes > 2:
        raise ValueError(f"y_true must hold two classes; got {labelled.n_classes} ({shown(labelled.classes)})")
    for name, x in labelled.given.items():
        if probabilities and (fault := not_probabilities(name, x)):
            raise ValueError(fault)
    models = [labelled.sample("", name) for name in scores]
    sample = models[0] if len(models) == 1 else dataclasses.replace(models[0], other=models[1])
    check_n(sample)
    sample, layout = arranged(sample, *design)
    settings.check_layout(layout)
    sizes = sample.class_sizes
    if sizes.min() == 0:
        raise ValueError(f"y_true must hold rows of both classes; got {sizes[0]} negative and {sizes[1]} positive")
    concerns = {"any", "binary", "y_score"} | (set() if probabilities else {"ranking"})
    remarks = [text for concern, text in labelled.remarks if concern in concerns]
    remarks += layout_remarks(layout)
    rarer = min(round(layout.of_some(np.flatnonzero(sample.y_true == code)).effective_size, 9) for code in (0, 1))
    weighted = layout.row_weights is not None
    remarks += [
        f"{name} does not vary: it ranks nothing, and its curve is that of chance"
        for name, model in zip(scores, models, strict=True)
        if not probabilities and model.y_score.min() == model.y_score.max()
    ]
    if rarer < FEW:
        remarks.append(f"a class has only {cases(rarer, 'case', weighted)}: bands that depend on it are rough")
    return Data(sample, layout, settings, randomness(rng), rarer, tuple(remarks))
