"""Curves of scores with bands, from users' arrays."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.layout import arranged
from jaxci.api.readers.samples import Labelled, check_n, not_probabilities
from jaxci.checks import check_choice, check_count, shown
from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.inference.curves import curve_replicates
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.remarks import announce, layout_remarks
from jaxci.inference.settings import Settings
from jaxci.intervals.bands import Band, excluded, expanded, pointwise, simultaneous
from jaxci.printing import ConfidenceInterval, IntervalResult
from jaxci.statistics.curves import Calibration, Curve, NetBenefit, PrecisionRecall, Quantity, Roc
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample

HUNDREDTHS = np.arange(1, 100) / 100
METHOD = "proper Bayesian bootstrap"
FEW = 10
"""Rows of a class below which curves get a remark."""


TOO_FEW = "{:,} resamples are too few for the simultaneous band, which is the envelope of all of them"
DESIGN = ("groups", "strata", "sample_weight", "weight_type")


class Data(NamedTuple):
    """What curves are drawn of: rows and their layout, how to resample, and what is to be said of the data."""

    sample: Sample
    layout: Layout
    settings: Settings
    source: Randomness
    remarks: tuple[str, ...]


def roc(
    y_true: Any,
    y_score: Any,
    *,
    specificities: Any = (0.9,),
    sensitivities: Any = (0.9,),
    max_fpr: Any = (),
    grid: Any = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    pos_label: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveResult:
    """Receiver operating characteristic: sensitivity by specificity, with bands.

    Parameters
    ----------
    y_true : (n,) array_like
        Labels of two classes.
    y_score : (n,) or (n, 2) array_like
        Scores of the positive class, or a column a class.
    specificities, sensitivities : float or sequence of float
        Where sensitivity, specificity and the threshold get an interval of their own.
    max_fpr : float or sequence of float
        False-positive rates up to which the area gets an interval.
    grid : (G,) array_like, optional
        Specificities of the curve, ascending; by default .01, .02, ... .99.
    groups, strata, sample_weight, weight_type, pos_label, confidence_level, rng, memory_limit, progress
        As in :func:`jaxci.evaluate`.
    n_resamples : int, optional
        B, 9,999 by default.

    Returns
    -------
    CurveResult

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Notes
    -----
    All intervals and bands are read off one bank of weights: rows (or clusters) weigh Dirichlet(1, ..., 1), and a
    positive that scores below all others and a negative that scores above them share in it with a quarter of a row
    each [1]_, so that a curve that reaches the corner has a band. The simultaneous band lies between the k-th smallest
    and the k-th largest replicate of every point, k the same for all [2]_. Rows, or clusters, are assumed independent;
    asymptotic. In simulations of 100 to 300 rows and areas of .9 to .98 (``docs/curves.md``) 95% bands held the whole
    curve in 97 to 100% of data sets, of net benefits in 94 to 96%.

    References
    ----------
    .. [1] Muliere & Secchi (1996), Bayesian nonparametric predictive inference and bootstrap techniques.
    .. [2] Beran (1988), Balanced simultaneous confidence sets.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> curve = jaxci.curves.roc(y, rng.normal(size=200) + 2 * y, n_resamples=999, rng=0)
    >>> round(curve["sensitivity at specificity 0.9"].estimate, 2)
    0.84
    """
    data = _read(
        y_true,
        {"y_score": y_score},
        groups=groups,
        strata=strata,
        sample_weight=sample_weight,
        weight_type=weight_type,
        pos_label=pos_label,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        memory_limit=memory_limit,
        progress=progress,
    )
    return _single(
        "roc", data, {"specificities": specificities, "sensitivities": sensitivities, "max_fpr": max_fpr, "grid": grid}
    )


def precision_recall(
    y_true: Any,
    y_score: Any,
    *,
    recalls: Any = (0.9,),
    grid: Any = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    pos_label: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveResult:
    """Precision by recall, with bands.

    Parameters
    ----------
    y_true, y_score
        As in :func:`roc`.
    recalls : float or sequence of float
        Where precision and threshold get an interval of their own.
    grid : (G,) array_like, optional
        Recalls of the curve, ascending; by default .01, .02, ... .99.
    groups, strata, sample_weight, weight_type, pos_label, confidence_level, n_resamples, rng, memory_limit, progress
        As in :func:`roc`.

    Returns
    -------
    CurveResult
        ``reference`` is the share of positives, the precision of scores that tell nothing.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Notes
    -----
    Weights, bands and assumptions are those of :func:`roc`. At a small recall the precision rests on a few rows, and
    the band is as wide as that. The share of positives is that of the data: strata of the classes keep it fixed.
    """
    data = _read(
        y_true,
        {"y_score": y_score},
        groups=groups,
        strata=strata,
        sample_weight=sample_weight,
        weight_type=weight_type,
        pos_label=pos_label,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        memory_limit=memory_limit,
        progress=progress,
    )
    return _single("precision_recall", data, {"recalls": recalls, "grid": grid})


def calibration(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    pos_label: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveResult:
    """Observed share by bins of predicted probability, with bands; slope and intercept of the recalibration.

    Parameters
    ----------
    y_true : (n,) array_like
        Labels of two classes.
    y_prob : (n,) or (n, 2) array_like
        Probability of the positive class, or of each class.
    n_bins : int
        Bins of about as many rows each; rows of one probability share a bin, so that there may be fewer.
    groups, strata, sample_weight, weight_type, pos_label, confidence_level, n_resamples, rng, memory_limit, progress
        As in :func:`roc`.

    Returns
    -------
    CurveResult
        ``x`` is the mean prediction of every bin. ``curve["slope"]`` is b of ``logit P(y = 1) = a + b logit(p)``, below
        1 where predictions are too extreme; ``curve["intercept"]`` is a at b = 1, above 0 where they are too low in
        all.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Notes
    -----
    Weights and bands are those of :func:`roc`, with half a row of either class in every bin: the share of a bin of
    independent rows then has Jeffreys' law. Bins are taken as given. In the recalibration (Van Calster et al., 2016) a
    positive with the least and a negative with the largest of the predictions weigh an eighth of a row each.
    """
    data = _read(
        y_true,
        {"y_prob": y_prob},
        probabilities=True,
        groups=groups,
        strata=strata,
        sample_weight=sample_weight,
        weight_type=weight_type,
        pos_label=pos_label,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        memory_limit=memory_limit,
        progress=progress,
    )
    return _single("calibration", data, {"n_bins": n_bins})


def decision(
    y_true: Any,
    y_prob: Any,
    *,
    thresholds: Any = (),
    grid: Any = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    pos_label: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveResult:
    """Net benefit by the probability from which on a row is treated (decision curve), with bands.

    Parameters
    ----------
    y_true, y_prob
        As in :func:`calibration`.
    thresholds : float or sequence of float
        Where the net benefit, and what it is more than that of treating all, get an interval of their own.
    grid : (G,) array_like, optional
        Threshold probabilities of the curve, ascending; by default .01, .02, ... .99.
    groups, strata, sample_weight, weight_type, pos_label, confidence_level, n_resamples, rng, memory_limit, progress
        As in :func:`roc`.

    Returns
    -------
    CurveResult
        ``reference`` is the net benefit of treating all; that of treating none is 0.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Notes
    -----
    With t the threshold the net benefit is ``TP / n - FP / n * t / (1 - t)``, in true positives a row (Vickers and
    Elkin, 2006). Weights, bands and assumptions are those of :func:`roc`, with a positive above all others and a
    negative below them besides, a quarter of a row each: beyond the largest prediction nothing else tells of a benefit.
    A net benefit is a mean, and its bands are expanded about the estimate to the width of Student's.
    """
    data = _read(
        y_true,
        {"y_prob": y_prob},
        probabilities=True,
        groups=groups,
        strata=strata,
        sample_weight=sample_weight,
        weight_type=weight_type,
        pos_label=pos_label,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        memory_limit=memory_limit,
        progress=progress,
    )
    return _single("decision", data, {"thresholds": thresholds, "grid": grid})


def compare(
    kind: str,
    y_true: Any,
    score_a: Any,
    score_b: Any,
    *,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    pos_label: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> CurveComparison:
    """Difference ``a - b`` of the curves of two models on the same rows, with bands.

    Parameters
    ----------
    kind : {"roc", "precision_recall", "decision"}
    y_true : (n,) array_like
        Labels of two classes.
    score_a, score_b : (n,) or (n, 2) array_like
        Scores of both models.
    groups, strata, sample_weight, weight_type, pos_label, confidence_level, n_resamples, rng, memory_limit, progress
        As in :func:`roc`. Every resample takes the same rows for both models.
    **options
        Points and grid, as the curve's own function takes them.

    Returns
    -------
    CurveComparison
        ``.a`` and ``.b`` are both curves, ``.points`` the differences of what is read off them, ``.pvalue`` of no
        difference anywhere.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Notes
    -----
    Weights and bands are those of :func:`roc`; here four rows that were not seen share in the weight, an eighth each,
    on which one model is right and the other as wrong as it can be: curves that agree in all resamples need not agree.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> a, b = rng.normal(size=200) + 3 * y, rng.normal(size=200) + y
    >>> found = jaxci.curves.compare("roc", y, a, b, n_resamples=999, rng=0)
    >>> found.pvalue < 0.05
    True
    """
    check_choice("kind", kind, KINDS)
    if kind == "calibration":
        raise ValueError("kind must not be 'calibration': two models have different bins, whose shares do not compare")
    data = _read(
        y_true,
        {"score_a": score_a, "score_b": score_b},
        probabilities=KINDS[kind].probabilities,
        groups=groups,
        strata=strata,
        sample_weight=sample_weight,
        weight_type=weight_type,
        pos_label=pos_label,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        memory_limit=memory_limit,
        progress=progress,
    )
    return _compared(kind, data, options)


def _shares(name: str, given: Any, low: float, high: float) -> np.ndarray:
    """Return shares strictly between two ends; ``high`` itself is one of them where it is 1 of an area."""
    found = np.atleast_1d(np.asarray(given, float)) if np.size(given) else np.empty(0)
    if found.ndim != 1 or not np.all((found > low) & (found < high)):
        raise ValueError(f"{name} must hold numbers between {low:g} and {high:g}; got {shown(given)}")
    return found


def _grid(given: Any) -> np.ndarray:
    if given is None:
        return HUNDREDTHS
    found = _shares("grid", given, 0, 1)
    if len(found) < 2 or np.any(np.diff(found) <= 0):
        raise ValueError(f"grid must hold at least two numbers, ascending; got {shown(given)}")
    return found


def _roc(
    _: Sample, *, grid: Any = None, specificities: Any = (0.9,), sensitivities: Any = (0.9,), max_fpr: Any = ()
) -> Curve:
    points = [
        _shares(name, given, 0, 1)
        for name, given in (("specificities", specificities), ("sensitivities", sensitivities), ("max_fpr", max_fpr))
    ]
    return Roc(_grid(grid), *points)


def _precision_recall(_: Sample, *, grid: Any = None, recalls: Any = (0.9,)) -> Curve:
    return PrecisionRecall(_grid(grid), _shares("recalls", recalls, 0, 1))


def _decision(_: Sample, *, grid: Any = None, thresholds: Any = ()) -> Curve:
    return NetBenefit(_grid(grid), _shares("thresholds", thresholds, 0, 1))


def _calibration(sample: Sample, *, n_bins: int = 10) -> Curve:
    """Return bins of about as many rows each."""
    scores = sample.y_score
    inner = np.arange(1, check_count("n_bins", n_bins, 2)) / n_bins
    edges = np.unique(np.quantile(scores, inner, method="inverted_cdf"))
    edges = edges[edges > scores.min()]
    codes = np.searchsorted(edges, scores, side="right")
    return Calibration(np.bincount(codes, scores) / np.bincount(codes), edges)


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


def _read(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    pos_label: Any,
    confidence_level: float,
    n_resamples: int | None,
    rng: Any,
    memory_limit: int | None,
    progress: Callable[[int, int], None] | None,
    probabilities: bool = False,
    **design: Any,
) -> Data:
    """Return the rows of one model, or of two, one behind the other."""
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    labelled = Labelled.of({"y_true": y_true}, scores, labels=None, pos_label=pos_label)
    if labelled.n_classes > 2:
        raise ValueError(f"y_true must hold two classes; got {labelled.n_classes} ({shown(labelled.classes)})")
    for name, x in labelled.given.items():
        if probabilities and (fault := not_probabilities(name, x)):
            raise ValueError(fault)
    models = [labelled.sample("", name) for name in scores]
    sample = models[0] if len(models) == 1 else dataclasses.replace(models[0], other=models[1])
    check_n(sample)
    sample, layout = arranged(sample, *(design[name] for name in DESIGN))
    settings.check_layout(layout)
    sizes = sample.class_sizes
    if sizes.min() == 0:
        raise ValueError(f"y_true must hold rows of both classes; got {sizes[0]} negative and {sizes[1]} positive")
    remarks = [text for concern, text in labelled.remarks if concern in ("any", "binary", "y_score")]
    remarks += layout_remarks(layout)
    if sizes.min() < FEW:
        remarks.append(f"a class has only {sizes.min()} cases: bands that depend on it are rough")
    return Data(sample, layout, settings, randomness(rng), tuple(remarks))


def _single(kind: str, data: Data, options: Mapping[str, Any]) -> CurveResult:
    """Return the curve of one model."""
    curve = KINDS[kind].build(data.sample, **options)
    (estimates,), (replicates,) = curve_replicates(curve, data.sample, data.layout, data.settings, data.source)
    found = CurveResult(**_parts(kind, curve, data, estimates, replicates, _reference(curve, data)))
    announce(found.warnings)
    return found


def _compared(kind: str, data: Data, options: Mapping[str, Any]) -> CurveComparison:
    """Return the difference of the curves of two models."""
    known = set(inspect.signature(KINDS[kind].build).parameters) - {"_"}
    for name in options:
        if name not in known:
            raise TypeError(f"a {KINDS[kind].title} has no option {name!r}; it has {', '.join(sorted(known))}")
    curve = KINDS[kind].build(data.sample, **options)
    estimates, replicates = curve_replicates(curve, data.sample, data.layout, data.settings, data.source)
    both = [
        CurveResult(**_parts(kind, curve, data, *one, _reference(curve, data)))
        for one in zip(estimates, replicates, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        apart, of_resamples = estimates[0] - estimates[1], replicates[0] - replicates[1]
    parts = _parts(kind, curve, data, apart, of_resamples, None, difference=True)
    pvalue = excluded(of_resamples[: len(curve.grid)], np.zeros(len(curve.grid)))
    found = CurveComparison(**parts, a=both[0], b=both[1], pvalue=pvalue)
    announce(found.warnings)
    return found


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
    on_grid = replicates[:size], estimates[:size], level, bounds
    units = data.layout.n_units
    clustered = data.layout.units is not None

    def widened(band: Band, about: np.ndarray, tail: float = (1 - level) / 2) -> Band:
        return expanded(band, about, units, tail) if curve.is_mean else band

    points = []
    for quantity, value, row in zip(curve.quantities(), estimates[size:], replicates[size:], strict=True):
        ends = open_ends if difference else (quantity.low, quantity.high)
        one = np.array([value])
        low, high = (float(x[0]) for x in widened(pointwise(row[None], one, level, ends), one))
        points.append(_point(quantity, float(value), ConfidenceInterval(low, high), row, data))
    x, y = curve.axes
    together, tail = simultaneous(*on_grid)
    few = () if tail else (TOO_FEW.format(data.settings.n_resamples),)
    return {
        "name": ("difference of " if difference else "") + KINDS[kind].title + ("s" if difference else ""),
        "axes": (x, f"difference in {y}" if difference else y),
        "x": np.asarray(curve.grid),
        "estimate": estimates[:size],
        "pointwise": widened(pointwise(*on_grid), estimates[:size]),
        "simultaneous": widened(together, estimates[:size], tail or 1 / data.settings.n_resamples),
        "points": tuple(points),
        "confidence_level": level,
        "n": units,
        "n_resamples": data.settings.n_resamples,
        "reference": reference,
        "n_rows": data.layout.n if clustered else 0,
        "rng": data.source.record,
        "warnings": (*data.remarks, *few),
        "bootstrap_distribution": replicates[:size],
    }


def _point(
    quantity: Quantity, value: float, interval: ConfidenceInterval, row: np.ndarray, data: Data
) -> IntervalResult:
    """Return the interval of what is read off a curve."""
    finite = row[np.isfinite(row)]
    return IntervalResult(
        quantity.name,
        value,
        interval,
        float(finite.std(ddof=1)) if len(finite) > 1 else math.nan,
        METHOD,
        "read off the replicates of the curve",
        data.settings.confidence_level,
        "two-sided",
        data.layout.n_units,
        n_rows=data.layout.n if data.layout.units is not None else 0,
        n_resamples=data.settings.n_resamples,
        bootstrap_distribution=row,
        rng=data.source.record,
    )
