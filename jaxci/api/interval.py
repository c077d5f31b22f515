"""An interval for one statistic, and what there is to choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxci.api.readers.indexes import of_indexes
from jaxci.api.readers.label_remarks import of_near_names
from jaxci.api.readers.layout import arranged, one_length
from jaxci.api.readers.samples import (
    check_function_options,
    check_n,
    columns_sample,
    is_function,
    named_inputs,
    positional,
    sample_for,
)
from jaxci.checks import check_choice
from jaxci.inference.engine import intervals
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce, layout_remarks
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.intervals.registry import applicable_methods
from jaxci.resampling.schemes import BLOCKS, RESAMPLING
from jaxci.results import IntervalResult
from jaxci.statistics.custom import SampleFunction, from_callable, order_remark
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.registry import METRICS, configured, name_of, statistic_by_name


def interval(
    statistic: Any,
    *data: Any,
    method: str | Method = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int | None = None,
    groups: Any = None,
    strata: Any = None,
    sample_weight: Any = None,
    weight_type: str = "importance",
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    rng: Any = None,
    resampling: str = "bootstrap",
    resample_size: int | None = None,
    block_length: float | str = "auto",
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> IntervalResult:
    """Confidence interval for one statistic.

    Parameters
    ----------
    statistic : str, Statistic or callable
        A metric's name, an object such as ``jaxci.statistics.F1(average="macro")``, or a
        function ``f(*sample) -> float``, which numbers reach in 64 bits and whose value must not
        depend on the order of the rows. A function that JAX can trace runs on the device; another
        one runs on the host, with a warning.
    *data : array_like
        What the statistic reads: ``values``; or ``y_true, y_pred``; or ``y_true, y_score``.
    method : str or Method
        An interval method (:func:`jaxci.list_methods` lists those that serve), or "auto".
    confidence_level, alternative, n_resamples, groups, strata, sample_weight, weight_type, labels, pos_label, rng
        As in :func:`jaxci.evaluate`.
    resampling : {"bootstrap", "balanced", "bayesian", "moving", "circular", "stationary"}
        How resamples are drawn; the last three draw blocks of neighbouring rows, for rows in the order of time that
        depend on those before.
    resample_size : int, optional
        Draws in a resample (m-out-of-n bootstrap); n by default.
    block_length : float or "auto"
        Rows in a block: a whole number, or for "stationary" the mean. "auto" estimates it from the derivatives of the
        statistic in the weights of the rows (Politis & White, 2004); ``reason`` tells it.
    memory_limit, progress
        As in :func:`jaxci.evaluate`.
    **options
        Fields of the statistic (``q``, ``zero_division``, ``bounds`` of a mean ...) or of the method
        (``acceleration``, ``scale``, ``endpoints`` ...). A function of yours has none: bind what it takes beside the
        arrays, as in ``functools.partial(f1_score, average="macro")``.

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
    (0.2384, 0.4368)
    """
    settings = Settings.of(
        confidence_level,
        alternative,
        n_resamples,
        resampling=resampling,
        resample_size=resample_size,
        block_length=block_length,
        memory_limit=memory_limit,
        progress=progress,
    )
    name = name_of(statistic)
    if is_function(statistic):
        check_function_options(statistic, data, method, options)
        sample, remarks = columns_sample(positional(data), numbers=False)
    else:
        resolved, options = configured(statistic_by_name(statistic), options)
        sample, resolved, remarks = sample_for(resolved, name, data, labels=labels, pos_label=pos_label)
    design = {"groups": groups, "strata": strata, "sample_weight": sample_weight}
    columns = positional(data) if is_function(statistic) else named_inputs(resolved, data)
    remarks = (*of_indexes({**columns, **design}), *of_near_names({"groups": groups, "strata": strata}), *remarks)
    check_n(sample)
    sample, layout = arranged(sample, groups, strata, sample_weight, weight_type)
    settings.check_layout(layout)
    if is_function(statistic):
        _check_gathering(settings, weighted=layout.row_weights is not None)
        with jax.enable_x64(True):
            resolved = from_callable(statistic, sample.columns, one_length=one_length(layout))
    request = Request(name, resolved, method, options)
    result = intervals([request], sample, layout, settings, randomness(rng))[0]
    if is_function(statistic):
        told = order_remark(resolved, sample.columns, result.standard_error)
        remarks += () if told is None else (told,)
    dtype = resolved.dtype if isinstance(resolved, SampleFunction) else result.dtype
    result = dataclasses.replace(result, dtype=dtype, warnings=(*remarks, *layout_remarks(layout), *result.warnings))
    announce(result.warnings)
    return result


def _check_gathering(settings: Settings, *, weighted: bool) -> None:
    """Refuse what a function of a sample cannot take: it is resampled by counts that sum to n."""
    if weighted:
        raise ValueError(
            "sample_weight needs a statistic that takes weights: pass jaxci.statistics.WeightedFunction(f)"
        )
    if not settings.plain and settings.resampling != "balanced":
        raise ValueError(
            "a function of a sample can only be resampled by counts that sum to n; pass "
            f"jaxci.statistics.WeightedFunction(f) for {settings.scheme}"
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


def list_methods(
    statistic: Any, *, groups: bool = False, difference: bool = False, resampling: str = "bootstrap"
) -> list[str]:
    """Return the names of the interval methods that serve a statistic.

    Parameters
    ----------
    statistic : str or Statistic
        Its name or an object.
    groups : bool
        Of rows in clusters; by default, of independent rows.
    difference : bool
        Of the difference of two models on the same rows, for :func:`compare`.
    resampling : str
        "moving", "circular" or "stationary": of blocks of rows in the order of time, without ``groups``.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If a name is unknown, or ``groups`` are to go with blocks.

    Examples
    --------
    >>> import jaxci
    >>> jaxci.list_methods("roc_auc")[:3]
    ['delong', 'delong_logit', 'hanley_mcneil']
    >>> jaxci.list_methods("accuracy", groups=True)[:3]
    ['wilson_cluster', 'clopper_pearson_cluster', 'proper_bayesian']
    >>> jaxci.list_methods("roc_auc", difference=True)[:3]
    ['delong', 'delta', 'kurtosis_t']
    >>> jaxci.list_methods("accuracy", resampling="stationary")[:3]
    ['block_t', 'block_wilson', 'block_bayesian']
    """
    found = statistic_by_name(statistic)
    blocks = check_choice("resampling", resampling, RESAMPLING) in BLOCKS
    if blocks and groups:
        raise ValueError(f"groups do not go with resampling={resampling!r}, which draws blocks of rows in their order")
    return applicable_methods(paired_difference(found) if difference else found, groups=groups, blocks=blocks)
