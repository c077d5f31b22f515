"""Paired comparison of two models on the same observations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxci.api.readers.indexes import of_indexes
from jaxci.api.readers.label_remarks import of_near_names
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.models import read_models
from jaxci.api.readers.samples import check_n
from jaxci.checks import check_margin
from jaxci.inference.engine import comparison
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce, layout_remarks
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.intervals.registry import difference_by_name
from jaxci.results import ComparisonResult, IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.registry import configured, name_of, statistic_by_name
from jaxci.statistics.sample import Sample


def _agree(sample: Sample) -> bool:
    """Whether both models predict the same in every row."""
    assert sample.other is not None
    pairs = [(sample.y_pred, sample.other.y_pred), (sample.y_score, sample.other.y_score)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return bool(known) and all(np.array_equal(a, b) for a, b in known)


def _conclusion(result: IntervalResult, statistic: Statistic, margin: float | None, pvalue: float) -> str:
    """Say in words what the interval supports.

    Of values by case and of a user's function it is not known whether larger is better. An interval without width says
    nothing of what was not seen, so that it shows nothing within a margin.
    """
    low, high = result.confidence_interval
    if math.isnan(low) or math.isnan(high):
        return "nothing can be said without an interval"
    if math.isnan(pvalue) and not low <= 0 <= high:
        return "nothing can be said of a difference that does not vary"
    good_low, good_high = (-high, -low) if statistic.loss else (low, high)
    values = statistic.task in ("values", "custom")
    rejected = pvalue <= (1 - result.confidence_level) * (1 + 1e-12)
    if good_low > 0 and rejected:
        text = "a is larger than b" if values else "a is better than b"
    elif good_high < 0 and rejected:
        text = "a is smaller than b" if values else "b is better than a"
    else:
        text = "no difference shown"
    if margin is not None:
        given = "if larger is better, " if values else ""
        shown = "is" if good_low > -margin and low < high else "is not shown to be"
        text += f"; {given}a {shown} non-inferior to b within the margin {margin:g}"
    return text


def _checked_margin(margin: Any, alternative: str, statistic: Statistic) -> float:
    """Return the margin, where the interval has the end that it is held against."""
    open_there = "greater" if statistic.loss else "less"
    if alternative == open_there:
        side = "low" if open_there == "less" else "high"
        rule = f"has no {side} end, which says how much worse a may be"
        raise ValueError(f"margin needs alternative='two-sided' or the other side; alternative={alternative!r} {rule}")
    return check_margin(margin)


def compare(
    statistic: Any,
    y_true: Any,
    prediction_a: Any,
    prediction_b: Any,
    *,
    method: str | Method = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int | None = None,
    margin: float | None = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    rng: Any = None,
    resampling: str = "bootstrap",
    block_length: float | str = "auto",
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> ComparisonResult:
    """Paired difference ``a - b`` of one metric between two models on the same observations.

    Parameters
    ----------
    statistic : str or Statistic
        The metric. For a summary such as "mean" of per-case values (Dice scores, say), pass
        ``y_true=None`` and the values of both models. A
        :class:`~jaxci.statistics.WeightedFunction` is called with ``y_true``, where it is given,
        the prediction of one model and the weights.
    y_true : (n,) array_like or None
        Labels or targets.
    prediction_a, prediction_b : array_like
        Predicted labels or values, or scores for metrics of scores: (n,) or (n, K). Rows are paired by position; a
        remark says where indexes of pandas differ.
    method : str or Method
        "auto", "tango" or "newcombe" (accuracy, recall and other shares of the same rows), "square_and_add" (balanced
        accuracy and other means of such shares), "adjusted_wald" (F1, MCC and other metrics of labels, average
        precision), "kurtosis_t" (smooth metrics: mean losses, R2, correlations), "tango_cluster" (shares, in clusters),
        "sign_flip" or "t" (means and shares, in clusters too), "delong" (ROC AUC), "z" (means), "exact" (means, shares
        and their means, ratios of counts), "delta", "abc", or a bootstrap method.
    confidence_level, alternative, n_resamples, groups, strata, sample_weight, weight_type, labels, pos_label, rng
        As in :func:`jaxci.evaluate`. Every resample takes the same rows for both models.
    resampling, block_length
        As in :func:`jaxci.interval`.
    margin : float, optional
        Non-inferiority margin, positive, in units of the metric; of an interval with the end that is held against it.
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
    settings = Settings.of(
        confidence_level,
        alternative,
        n_resamples,
        resampling=resampling,
        block_length=block_length,
        memory_limit=memory_limit,
        progress=progress,
    )
    name = name_of(statistic)
    base, options = configured(statistic_by_name(statistic), options)
    margin = None if margin is None else _checked_margin(margin, settings.alternative, base)
    chosen = method if isinstance(method, str) and method == "auto" else difference_by_name(method, options)
    given = {"prediction_a": prediction_a, "prediction_b": prediction_b}
    (first, second), base, remarks = read_models(base, name, y_true, given, labels, pos_label)
    design = {"groups": groups, "strata": strata, "sample_weight": sample_weight}
    remarks = (*of_indexes({"y_true": y_true, **given, **design}), *remarks)
    remarks = (*of_near_names({"groups": groups, "strata": strata}), *remarks)
    sample = dataclasses.replace(first, other=second)
    check_n(sample)
    sample, layout = arranged(sample, groups, strata, sample_weight, weight_type)
    settings.check_layout(layout)
    request = Request(name, paired_difference(base), chosen, options if chosen == "auto" else {})
    found = comparison(request, sample, layout, settings, randomness(rng))
    result = found.difference
    warned = (*remarks, *layout_remarks(layout), *result.warnings)
    if result.estimate == 0 and (result.standard_error == 0 or _agree(sample)):
        warned = (*warned, "all paired differences are zero: the models cannot be told apart on these data")
    announce(warned)
    parts = {f.name: getattr(result, f.name) for f in dataclasses.fields(IntervalResult)}
    return ComparisonResult(
        **parts | {"warnings": warned},
        estimate_a=found.estimates[0],
        estimate_b=found.estimates[1],
        pvalue=found.pvalue.value,
        test=found.pvalue.test,
        margin=margin,
        conclusion=_conclusion(result, base, margin, found.pvalue.value),
    )
