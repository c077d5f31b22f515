"""Intervals for a model's metrics: many at once, or one."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.data import (
    check_sample,
    classification_sample,
    columns_sample,
    configured,
    name_of,
    regression_sample,
    sample_for,
    statistic_by_name,
)
from jaxci.api.estimation import Request, Settings, intervals
from jaxci.api.randomness import randomness
from jaxci.api.validation import (
    check_alternative,
    check_confidence_level,
    check_count,
    check_n,
    is_classification,
    make_layout,
    singleton_strata,
)
from jaxci.resampling.engine import Layout
from jaxci.results import EvaluationTable, IntervalResult, JaxciWarning
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.custom import from_callable
from jaxci.statistics.registry import METRICS

_BINARY_LABELS = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "precision",
    "recall",
    "specificity",
    "matthews_corrcoef",
)
_BINARY_SCORES = ("roc_auc", "average_precision")
_BINARY_PROBABILITIES = ("log_loss", "brier_score_loss")
_CLASS_LABELS = (
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f1_weighted",
    "matthews_corrcoef",
    "cohen_kappa_score",
)
_CLASS_SCORES = ("roc_auc_ovr", "average_precision_macro")
_CLASS_PROBABILITIES = ("log_loss",)
_REGRESSION = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "r2",
)
PER_CLASS = "_per_class"
RESAMPLING = ("bootstrap", "balanced", "bayesian")


def _are_probabilities(scores: np.ndarray | None) -> bool:
    if scores is None or scores.min() < 0 or scores.max() > 1:
        return False
    return scores.ndim == 1 or bool(np.all(np.abs(scores.sum(axis=1) - 1) <= 1e-3))


def default_metrics(sample: Sample) -> list[str]:
    """Return a sensible set of metrics for what was given."""
    if sample.n_classes == 0:
        return list(_REGRESSION)
    binary = sample.n_classes == 2
    names: list[str] = []
    if sample.y_pred is not None:
        names += _BINARY_LABELS if binary else _CLASS_LABELS
    if sample.y_score is not None:
        names += _BINARY_SCORES if binary else _CLASS_SCORES
    if _are_probabilities(sample.y_score):
        names += _BINARY_PROBABILITIES if binary else _CLASS_PROBABILITIES
    return names


def _per_class(name: str, n_classes: int, classes: np.ndarray) -> list[tuple[str, Statistic]]:
    base = name.removesuffix(PER_CLASS)
    if base not in METRICS or not hasattr(METRICS[base], "class_index"):
        known = [m for m, s in METRICS.items() if getattr(s, "average", None) == "binary"]
        raise ValueError(f"unknown metric {name!r}: per-class metrics are {', '.join(m + PER_CLASS for m in known)}")
    return [
        (f"{base}[{classes[k]}]", dataclasses.replace(METRICS[base], average="class", class_index=k))  # type: ignore[type-var]
        for k in range(n_classes)
    ]


def _requested(metrics: Iterable[Any]) -> list[tuple[str, Any]]:
    if isinstance(metrics, str | Statistic):
        metrics = [metrics]
    found: list[tuple[str, Any]] = []
    for metric in metrics:
        if isinstance(metric, str) and metric.endswith(PER_CLASS):
            found.append((metric, None))
        else:
            found.append((name_of(metric), statistic_by_name(metric)))
    if not found:
        raise ValueError("metrics must name at least one metric; got none")
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"metrics must be distinct; {name!r} is given {names.count(name)} times")
    return found


def make_settings(
    confidence_level: Any,
    alternative: Any,
    n_resamples: Any,
    *,
    resampling: Any = "bootstrap",
    resample_size: Any = None,
    memory_limit: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Settings:
    """Check the arguments that all verbs share."""
    if resampling not in RESAMPLING:
        raise ValueError(f"resampling must be one of {', '.join(RESAMPLING)}; got {resampling!r}")
    if resample_size is not None:
        resample_size = check_count("resample_size", resample_size, 2)
        if resampling != "bootstrap":
            raise ValueError(f"resample_size goes with resampling='bootstrap' only; got {resampling!r}")
    return Settings(
        confidence_level=check_confidence_level(confidence_level),
        alternative=check_alternative(alternative),
        n_resamples=check_count("n_resamples", n_resamples, 1),
        resampling=resampling,
        resample_size=resample_size,
        memory_limit=None if memory_limit is None else check_count("memory_limit", memory_limit, 1),
        progress=progress,
    )


def check_resampling(settings: Settings, layout: Layout) -> None:
    """Refuse schemes that cannot honour strata."""
    if layout.strata is not None and not settings.plain:
        raise ValueError(
            "strata go with resampling='bootstrap' and no resample_size only; "
            f"got resampling={settings.resampling!r}, resample_size={settings.resample_size}"
        )


def announce(remarks: Iterable[str]) -> None:
    """Emit each remark once as a warning that points at the caller's line."""
    for remark in dict.fromkeys(remarks):
        warnings.warn(remark, JaxciWarning, stacklevel=3)


def layout_remarks(layout: Layout) -> list[str]:
    """Remarks on the design of the data."""
    lonely = singleton_strata(layout)
    if not lonely:
        return []
    return [f"{lonely} strata hold a single unit each, which adds nothing to the variance: intervals are too narrow"]


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    y_score: Any = None,
    *,
    metrics: Iterable[Any] | None = None,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    alternative: str = "two-sided",
    groups: Any = None,
    strata: Any = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = 1,
    zero_division: float = 0,
    absent_class: str = "sklearn",
    sample_weight: Any = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EvaluationTable:
    """Confidence intervals for several metrics of one model, all from one bank of resamples.

    Parameters
    ----------
    y_true : (n,) array_like
        Class labels (numbers, strings, booleans) or regression targets.
    y_pred : (n,) array_like, optional
        Predicted labels or values. Where only ``y_score`` is given, labels are derived from
        it and the table says so.
    y_score : (n,) or (n, K) array_like, optional
        Scores of the positive class, or one column a class in the order of ``labels``.
    metrics : iterable of str or Statistic, optional
        Names (see :func:`jaxci.list_metrics`) or objects; ``"f1_per_class"`` and the like
        give a row a class. By default a set that suits the target and what was given.
    method : str
        One method for all metrics, or "auto" (each row says what was chosen and why).
    confidence_level : float
        Between 0 and 1.
    n_resamples : int
        Bootstrap resamples B, where a method draws any.
    alternative : {"two-sided", "less", "greater"}
        "less" gives upper bounds, "greater" lower bounds.
    groups : (n,) array_like, optional
        Cluster of every row (patient, speaker, game): clusters are resampled, not rows.
    strata : (n,) array_like, optional
        Stratum of every row: resampled within strata.
    labels : sequence, optional
        The K classes in the order of the score columns; by default the sorted labels seen.
    pos_label : label
        The positive class of a binary problem.
    zero_division : {0, 1, nan}
        Value of a ratio 0/0.
    absent_class : {"sklearn", "zero", "skip"}
        What a class counts that is absent from a resample.
    sample_weight : (n,) array_like, optional
        Case weights; weights that are not whole numbers are rescaled to sum to n.
    rng : int, numpy.random.Generator, JAX key or None
        Source of randomness; recorded in the result.
    memory_limit : int, optional
        Bytes a chunk of resamples may use; by default chosen from the device.
    progress : callable, optional
        Called with (resamples done, resamples in all).

    Returns
    -------
    EvaluationTable
        One :class:`~jaxci.results.IntervalResult` a metric.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the table also holds.

    Notes
    -----
    Cost with the default bootstrap: metrics of a confusion matrix O(B K^2), free of n;
    others O(B n). Observations, or clusters, are assumed independent.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> y = np.array([0, 1, 1, 0, 1, 1, 0, 1, 0, 1] * 20)
    >>> guess = np.where(np.arange(200) % 7 == 0, 1 - y, y)
    >>> table = jaxci.evaluate(y, guess, metrics=["accuracy", "f1"], rng=0)
    >>> round(table["accuracy"].estimate, 3)
    0.855
    """
    found = None if metrics is None else _requested(metrics)
    settings = make_settings(confidence_level, alternative, n_resamples, memory_limit=memory_limit, progress=progress)
    tasks = set() if found is None else {s.task for _, s in found if s is not None}
    regression = tasks == {"regression"} or (not tasks and found is None and not is_classification(y_true))
    if y_pred is None and y_score is None:
        raise TypeError("y_pred or y_score must be given; both are None")
    if found is not None and not regression and (tasks & {"regression", "values"}):
        wrong = [name for name, s in found if s is not None and s.task in ("regression", "values")]
        raise ValueError(f"metrics must all be for one kind of target; {', '.join(wrong)} are not for class labels")
    remarks: list[str] = []
    classes = np.array([])
    if regression:
        sample = regression_sample(y_true, y_pred)
    else:
        labelled = classification_sample(y_true, y_pred, y_score, labels=labels, pos_label=pos_label)
        sample, classes = labelled.sample, labelled.classes
    check_n(sample)
    if found is None:
        found = [(name, METRICS[name]) for name in default_metrics(sample)]
        if not found:
            raise ValueError(
                "metrics must be named: y_score alone, outside [0, 1], allows 'roc_auc' and 'average_precision'"
            )
    expanded: list[tuple[str, Statistic]] = []
    for name, statistic in found:
        expanded += _per_class(name, sample.n_classes, classes) if statistic is None else [(name, statistic)]
    for name, statistic in expanded:
        check_sample(name, statistic, sample)
    if not regression:
        remarks += labelled.remarks_for(statistic for _, statistic in expanded)
    layout = make_layout(sample.n, groups, strata, sample_weight)
    check_resampling(settings, layout)
    remarks += layout_remarks(layout)
    options = {"zero_division": float(zero_division), "absent_class": absent_class}
    requests = [Request(name, configured(statistic, **options), method) for name, statistic in expanded]
    source = randomness(rng)
    rows = intervals(requests, sample, layout, settings, source)
    announce([*remarks, *(f"{row.statistic}: {text}" for row in rows for text in row.warnings)])
    return EvaluationTable(tuple(rows), sample.n, source.record, tuple(remarks))


def interval(
    statistic: Any,
    *data: Any,
    method: str = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = 1,
    rng: Any = None,
    resampling: str = "bootstrap",
    resample_size: int | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> IntervalResult:
    """Confidence interval for one statistic.

    Parameters
    ----------
    statistic : str, Statistic or callable
        A metric's name, an object such as ``jaxci.statistics.F1(average="macro")``, or a
        function ``f(*sample) -> float``. A function that JAX can trace runs on the device;
        another one runs on the host, with a warning.
    *data : array_like
        What the statistic reads: ``values``; or ``y_true, y_pred``; or ``y_true, y_score``.
    method : str
        An interval method (:func:`jaxci.list_methods` lists those that serve), or "auto".
    confidence_level, alternative, n_resamples, groups, strata, sample_weight, labels, pos_label, rng
        As in :func:`jaxci.evaluate`.
    resampling : {"bootstrap", "balanced", "bayesian"}
        How resamples are drawn.
    resample_size : int, optional
        Draws in a resample (m-out-of-n bootstrap); n by default.
    memory_limit, progress
        As in :func:`jaxci.evaluate`.
    **options
        Fields of the statistic (``q``, ``zero_division`` ...) or of the method
        (``acceleration``, ``scale``, ``endpoints`` ...).

    Returns
    -------
    IntervalResult

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the result also holds.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> x = np.linspace(0, 1, 40) ** 2
    >>> result = jaxci.interval("mean", x, method="t")
    >>> round(result.confidence_interval.low, 4), round(result.confidence_interval.high, 4)
    (0.2388, 0.436)
    """
    settings = make_settings(
        confidence_level,
        alternative,
        n_resamples,
        resampling=resampling,
        resample_size=resample_size,
        memory_limit=memory_limit,
        progress=progress,
    )
    name = name_of(statistic)
    remarks: tuple[str, ...] = ()
    if callable(statistic) and not isinstance(statistic, Statistic):
        sample = columns_sample(data)
        with jax.enable_x64(True):
            resolved = from_callable(statistic, sample.columns)
        _check_gathering(resolved, settings, sample_weight)
    else:
        resolved = statistic_by_name(statistic)
        fields = {f.name for f in dataclasses.fields(resolved)}  # type: ignore[arg-type]
        own = {key: options.pop(key) for key in list(options) if key in fields}
        resolved = configured(resolved, **own)
        sample, remarks = sample_for(resolved, name, data, labels=labels, pos_label=pos_label)
    check_n(sample)
    layout = make_layout(sample.n, groups, strata, sample_weight)
    check_resampling(settings, layout)
    request = Request(name, resolved, method, options)
    result = intervals([request], sample, layout, settings, randomness(rng))[0]
    result = dataclasses.replace(result, warnings=(*remarks, *layout_remarks(layout), *result.warnings))
    announce(result.warnings)
    return result


def _check_gathering(statistic: Statistic, settings: Settings, sample_weight: Any) -> None:
    """Refuse what a function of a sample cannot take: it is resampled by counts that sum to n."""
    if sample_weight is not None:
        raise ValueError(
            "sample_weight needs a statistic that takes weights: pass jaxci.statistics.WeightedFunction(f)"
        )
    if not settings.plain and settings.resampling != "balanced":
        raise ValueError(
            "a function of a sample can only be resampled by counts that sum to n; pass "
            f"jaxci.statistics.WeightedFunction(f) for resampling={settings.resampling!r}, "
            f"resample_size={settings.resample_size}"
        )


def list_metrics() -> list[str]:
    """Return the names of all metrics.

    Examples
    --------
    >>> import jaxci
    >>> "f1_macro" in jaxci.list_metrics()
    True
    """
    return list(METRICS)


def list_methods(statistic: Any) -> list[str]:
    """Return the names of the interval methods that serve ``statistic`` (a name or an object).

    Examples
    --------
    >>> import jaxci
    >>> jaxci.list_methods("roc_auc")[:3]
    ['delong', 'delong_logit', 'hanley_mcneil']
    """
    from jaxci.api.methods import applicable_methods

    return applicable_methods(statistic_by_name(statistic))
