"""Paired comparison of two models on the same observations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.api.readers.arrays import as_floats, check_lengths
from jaxci.api.readers.layout import make_layout
from jaxci.api.readers.samples import Labelled, check_n, regression_sample
from jaxci.checks import check_choice, check_margin
from jaxci.inference.choice import SMALL_MEAN
from jaxci.inference.engine import intervals, undefined, within_range
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce, layout_remarks
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.auc import delong_difference
from jaxci.intervals.base import Bounds
from jaxci.intervals.capabilities import is_mean
from jaxci.intervals.proportion_difference import mcnemar_pvalue
from jaxci.intervals.proportion_difference import paired_difference as newcombe_paired
from jaxci.intervals.registry import check_known
from jaxci.printing import ComparisonResult, ConfidenceInterval, IntervalResult
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.classification import Accuracy
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.registry import configured, name_of, statistic_by_name

BOOTSTRAP_METHODS = ("percentile", "basic", "normal", "bc", "bca", "studentized")
CLOSED = ("newcombe", "delong")
UNTESTED = "none: the difference is undefined"
METHODS = (*CLOSED, "t", "z", "delta", "exact", "abc", *BOOTSTRAP_METHODS)


def _paired_sample(
    statistic: Statistic, name: str, y_true: Any, a: Any, b: Any, labels: Sequence[Any] | None, pos_label: Any
) -> tuple[Sample, Statistic, tuple[str, ...]]:
    """Build the sample of both models; return it with the statistic settled for it, and remarks."""
    predictions = {"prediction_a": a, "prediction_b": b}
    if statistic.task == "custom":
        raise TypeError(f"statistic must be a metric of predictions, or of values by case, to compare; got {name}")
    if statistic.task == "values":
        if y_true is not None:
            raise TypeError(f"y_true must be None for {name}, which compares per-case values; got an array")
        values = {called: as_floats(called, x) for called, x in predictions.items()}
        check_lengths({called: len(x) for called, x in values.items()})
        first, second = (Sample(values=x) for x in values.values())
        return dataclasses.replace(first, other=second), statistic, ()
    if statistic.task == "regression":
        first, second = (regression_sample(y_true, x, called) for called, x in predictions.items())
        return dataclasses.replace(first, other=second), statistic, ()
    scored = "y_score" in statistic.inputs
    columns = {"y_true": y_true} if scored else {"y_true": y_true, **predictions}
    labelled = Labelled.of(columns, predictions if scored else {}, labels=labels, pos_label=pos_label)
    first, second = (labelled.sample(called, called) for called in predictions)
    sample = dataclasses.replace(first, other=second)
    return sample, labelled.accept(name, statistic), labelled.remarks_for([statistic])


def _auto(statistic: Statistic, layout: Layout) -> tuple[str, str, dict[str, Any]]:
    if layout.plain and isinstance(statistic, Accuracy):
        return "newcombe", "paired proportions: Newcombe's hybrid score interval", {}
    if layout.plain and isinstance(statistic, RocAuc) and statistic.max_fpr is None:
        return "delong", "correlated AUCs of independent rows: DeLong", {}
    if layout.plain and is_mean(statistic):
        if layout.n < SMALL_MEAN:
            return "t", f"a mean of paired differences with n < {SMALL_MEAN}", {}
        return (
            "exact",
            "a mean of paired differences: BCa endpoints of its exact bootstrap",
            {"endpoints": "bca"},
        )
    kind = "rows" if layout.units is None else "clusters"
    return "percentile", f"no formula for this difference: the paired percentile bootstrap over {kind}", {}


def _one_sided(below: float, above: float, alternative: str) -> float:
    """P-value from the mass of the estimate's law at or below and at or above zero."""
    if alternative == "greater":
        return min(1.0, below)
    if alternative == "less":
        return min(1.0, above)
    return min(1.0, 2 * min(below, above))


def _pvalue(result: IntervalResult, sample: Sample, statistic: Statistic, alternative: str) -> tuple[float, str]:
    """P-value that matches the interval's method."""
    estimate, error = result.estimate, result.standard_error
    if math.isnan(estimate):
        return math.nan, UNTESTED
    if result.bootstrap_distribution is not None:
        values = result.bootstrap_distribution
        values = values[~np.isnan(values)]
        below = (np.sum(values <= 0) + 1) / (values.size + 1)
        above = (np.sum(values >= 0) + 1) / (values.size + 1)
        return _one_sided(float(below), float(above), alternative), "bootstrap: share of replicates beyond 0"
    if result.method == "exact":
        law = mean_distribution(statistic.row_values(sample))  # type: ignore[attr-defined]
        below = float(law.share_below(0.0))
        return _one_sided(below, 1 - below, alternative), "exact bootstrap: mass beyond 0"
    if not error > 1e-12 * abs(estimate):
        return (1.0 if estimate == 0 else math.nan), "no variation"
    if result.method == "t":
        below = float(special.stdtr(result.n - 1, -estimate / _mean_error(statistic, sample)))
        return _one_sided(below, 1 - below, alternative), "paired t"
    below = float(special.ndtr(-estimate / error))
    return _one_sided(below, 1 - below, alternative), "normal"


def _mean_error(statistic: Statistic, sample: Sample) -> float:
    values = statistic.row_values(sample)  # type: ignore[attr-defined]
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


class _Closed(NamedTuple):
    """What a closed form says of a difference."""

    estimate: float
    bounds: Bounds
    standard_error: float
    pvalue: float
    test: str
    remarks: tuple[str, ...] = ()


def _newcombe(sample: Sample, settings: Settings) -> _Closed:
    assert sample.other is not None
    right_a = sample.y_pred == sample.y_true
    right_b = sample.other.y_pred == sample.y_true
    only_a, only_b = int(np.sum(right_a & ~right_b)), int(np.sum(right_b & ~right_a))
    both, neither = int(np.sum(right_a & right_b)), int(np.sum(~right_a & ~right_b))
    low, high = newcombe_paired(both, only_a, only_b, neither, settings.tails)
    n = sample.n
    error = math.sqrt(max(only_a + only_b - (only_a - only_b) ** 2 / n, 0.0)) / n
    if settings.alternative == "two-sided":
        pvalue = float(mcnemar_pvalue(only_a, only_b))
    else:
        more = only_a if settings.alternative == "greater" else only_b
        total = only_a + only_b
        pvalue = float(special.bdtrc(more - 1, total, 0.5)) if more > 0 else 1.0
    return _Closed((only_a - only_b) / n, Bounds(low, high), error, pvalue, "exact McNemar")


def _delong(sample: Sample, settings: Settings) -> _Closed:
    assert sample.other is not None
    if len(np.unique(sample.y_true)) < 2:
        remark = undefined("the difference of two AUCs", "binary")
        return _Closed(math.nan, Bounds(math.nan, math.nan), math.nan, math.nan, UNTESTED, (remark,))
    found = delong_difference(sample.y_true, sample.y_score, sample.other.y_score, settings.tails)
    low, high = found.bounds
    z = special.ndtri(max(settings.tails.sides))
    width = high - found.difference if settings.tails.has_upper else found.difference - low
    error, pvalue = float(abs(width / z)), float(found.pvalue)
    if settings.alternative != "two-sided" and error > 0:
        below = float(special.ndtr(-found.difference / error))
        pvalue = _one_sided(below, 1 - below, settings.alternative)
    return _Closed(float(found.difference), found.bounds, error, pvalue, "DeLong", found.remarks)


def _conclusion(result: IntervalResult, statistic: Statistic, margin: float | None) -> str:
    """Say in words what the interval supports; of values by case it is not known whether larger is better."""
    low, high = result.confidence_interval
    if math.isnan(low) or math.isnan(high):
        return "nothing can be said without an interval"
    good_low, good_high = (-high, -low) if statistic.loss else (low, high)
    values = statistic.task == "values"
    if good_low > 0:
        text = "a is larger than b" if values else "a is better than b"
    elif good_high < 0:
        text = "a is smaller than b" if values else "b is better than a"
    else:
        text = "no difference shown"
    if margin is not None:
        given = "if larger is better, " if values else ""
        shown = "is" if good_low > -margin else "is not shown to be"
        text += f"; {given}a {shown} non-inferior to b within the margin {margin:g}"
    return text


def compare(
    statistic: Any,
    y_true: Any,
    prediction_a: Any,
    prediction_b: Any,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    margin: float | None = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = 1,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> ComparisonResult:
    """Paired difference ``a - b`` of one metric between two models on the same observations.

    Parameters
    ----------
    statistic : str or Statistic
        The metric. For a summary such as "mean" of per-case values (Dice scores, say), pass
        ``y_true=None`` and the values of both models.
    y_true : (n,) array_like or None
        Labels or targets.
    prediction_a, prediction_b : array_like
        Predicted labels or values, or scores for metrics of scores: (n,) or (n, K).
    method : str
        "auto", "newcombe" (accuracy), "delong" (ROC AUC), "t" or "z" (means), "exact"
        (means), "delta", "abc", or a bootstrap method.
    confidence_level, alternative, n_resamples, groups, strata, sample_weight, labels, pos_label, rng
        As in :func:`jaxci.evaluate`. Every resample takes the same rows for both models.
    margin : float, optional
        Non-inferiority margin, positive, in units of the metric.
    memory_limit, progress
        As in :func:`jaxci.evaluate`.
    **options
        Fields of the statistic or of the method.

    Returns
    -------
    ComparisonResult
        The interval of the difference, both estimates, a p-value with the name of its test,
        and what the interval says of superiority and non-inferiority.

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
    >>> y = np.arange(100) % 2
    >>> a = np.where(np.arange(100) % 10 == 0, 1 - y, y)
    >>> b = np.where(np.arange(100) % 4 == 0, 1 - y, y)
    >>> result = jaxci.compare("accuracy", y, a, b)
    >>> round(result.estimate, 2), result.conclusion
    (0.15, 'a is better than b')
    """
    settings = Settings.of(confidence_level, alternative, n_resamples, memory_limit=memory_limit, progress=progress)
    check_choice("method", method, ("auto", *METHODS))
    margin = None if margin is None else check_margin(margin)
    name = name_of(statistic)
    base, options = configured(statistic_by_name(statistic), options)
    sample, base, remarks = _paired_sample(base, name, y_true, prediction_a, prediction_b, labels, pos_label)
    check_n(sample)
    layout = make_layout(sample.n, groups, strata, sample_weight)
    source = randomness(rng)
    reason = "asked for"
    if method in ("auto", *CLOSED):
        check_known(method, options)
    if method == "auto":
        method, reason, options = _auto(base, layout)
    difference = paired_difference(base)
    weights = np.ones(sample.n) if layout.row_weights is None else layout.row_weights
    with jax.enable_x64(True):
        estimates = [
            float(base.value(base.prepare(x), jnp.asarray(weights))) for x in (sample, sample.other) if x is not None
        ]
    if method in CLOSED:
        result, pvalue, test = _closed_form(method, base, sample, layout, settings, name)
    else:
        request = Request(name, difference, method, options)
        result = intervals([request], sample, layout, settings, source)[0]
        pvalue, test = _pvalue(result, sample, difference, settings.alternative)
    warned = (*remarks, *layout_remarks(layout), *result.warnings)
    if result.estimate == 0 and result.standard_error == 0:
        warned = (*warned, "all paired differences are zero: the models cannot be told apart on these data")
    announce(warned)
    parts = {f.name: getattr(result, f.name) for f in dataclasses.fields(IntervalResult)}
    parts |= {"reason": reason, "warnings": warned}
    return ComparisonResult(
        **parts,
        estimate_a=estimates[0],
        estimate_b=estimates[1],
        pvalue=pvalue,
        test=test,
        margin=margin,
        conclusion=_conclusion(result, base, margin),
    )


def _closed_form(
    method: str, base: Statistic, sample: Sample, layout: Layout, settings: Settings, name: str
) -> tuple[IntervalResult, float, str]:
    """Newcombe's interval for paired accuracies, DeLong's for correlated AUCs."""
    wanted = Accuracy if method == "newcombe" else RocAuc
    if not isinstance(base, wanted) or getattr(base, "max_fpr", None) is not None:
        raise ValueError(f"method {method!r} compares {wanted.__name__} only; got {name!r}; use 'percentile'")
    if not layout.plain:
        raise ValueError(
            f"method {method!r} assumes independent rows of equal weight and cannot use groups, strata or "
            "sample_weight; use 'percentile'"
        )
    found = _newcombe(sample, settings) if method == "newcombe" else _delong(sample, settings)
    bounds, remarks = within_range(found.bounds, found.remarks, *paired_difference(base).bounds, method)
    result = IntervalResult(
        statistic=name,
        estimate=found.estimate,
        confidence_interval=ConfidenceInterval(bounds.low, bounds.high),
        standard_error=found.standard_error,
        method=method,
        reason="",
        confidence_level=settings.confidence_level,
        alternative=settings.alternative,
        n=layout.n,
        warnings=remarks,
    )
    return result, found.pvalue, found.test
