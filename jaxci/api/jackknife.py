"""The jackknife of a metric or of any function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.readers.samples import columns_sample, is_function, positional, sample_for
from jaxci.checks import check_count
from jaxci.inference.program import of_sample
from jaxci.inference.remarks import announce
from jaxci.inference.replicate import deleted_values, subsets
from jaxci.inference.slopes import estimates
from jaxci.resampling.threads import begin
from jaxci.results import JackknifeResult
from jaxci.special import deviation
from jaxci.statistics.custom import as_scalar
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import name_of, statistic_by_name


def jackknife(data: Any, statistic: Any, *, delete: int = 1) -> JackknifeResult:
    """Jackknife bias and standard error.

    Parameters
    ----------
    data : array_like (n,), or tuple of array_like
        What the statistic reads: values; or a tuple such as ``(y_true, y_pred)``.
    statistic : str, Statistic or callable
        A metric's name, an object of ``jaxci.statistics``, or a function ``f(*data) -> float``, which numbers reach
        in 64 bits.
    delete : int
        Observations d left out at a time; all C(n, d) subsets are used.

    Returns
    -------
    JackknifeResult
        ``estimate``, ``bias`` ``(n - d)/d (mean_s theta_s - theta)``, ``bias_corrected``,
        ``standard_error`` ``sqrt((n - d)/(d C(n, d)) sum_s (theta_s - mean)^2)`` and
        ``pseudo_values`` ``(n theta - (n - d) theta_s)/d``.

    Raises
    ------
    ValueError, TypeError
        If the data do not suit the statistic, or there are too many subsets.

    Warns
    -----
    JaxciWarning
        If the statistic is undefined on the data or without some observations, or a function is
        given missing values; or if the statistic is not smooth and one observation is left out at a time: the
        standard error is then inconsistent (Efron 1979).

    Notes
    -----
    Cost O(n k) for moments and confusion-matrix metrics, O(n^2) for others. Assumes
    independent observations and a smooth statistic. Reference: Efron and Tibshirani (1993),
    chapter 11, eqs. 11.4 to 11.10; Shao and Wu (1989) for d > 1.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> result = jaxci.jackknife(np.array([1.0, 2.0, 3.0, 4.0]), "mean")
    >>> round(result.standard_error, 6), result.bias
    (0.645497, 0.0)
    """
    begin()
    arrays = tuple(data) if isinstance(data, tuple) else (data,)
    delete = check_count("delete", delete, 1)
    if is_function(statistic):
        sample, remarks = columns_sample(positional(arrays), numbers=False)
    else:
        resolved = statistic_by_name(statistic)
        sample, resolved, remarks = sample_for(resolved, name_of(statistic), arrays, labels=None, pos_label=1)
    n = sample.n
    if n - delete < 1:
        raise ValueError(f"delete must be less than the number of observations, n = {n}; got {delete}")
    left_out = subsets(n, delete)
    with jax.enable_x64(True):
        if is_function(statistic):
            estimate, values = _of_function(statistic, sample.columns, left_out)
        else:
            program = of_sample(resolved, sample, Layout(n))
            estimate = float(estimates(program)[0])
            (values,) = deleted_values(program, left_out)
    if not is_function(statistic) and not resolved.smooth and delete == 1:
        remarks += (
            "the statistic is not smooth: the delete-1 jackknife standard error is inconsistent; "
            "use the bootstrap, or delete more than sqrt(n) observations",
        )
    undefined = int(np.isnan(values).sum()) + math.isnan(estimate)
    if undefined:
        remarks += (f"the statistic is undefined (NaN) in {undefined} of {len(values) + 1} evaluations",)
    announce(remarks)
    factor = (n - delete) / delete
    mean = float(np.mean(values))
    bias = factor * (mean - estimate)
    return JackknifeResult(
        estimate=estimate,
        bias=bias,
        bias_corrected=estimate - bias,
        standard_error=math.sqrt(factor) * float(deviation(values, ddof=0)),
        pseudo_values=(n * estimate - (n - delete) * values) / delete,
        delete=delete,
    )


def _of_function(
    function: Callable[..., Any], columns: Sequence[np.ndarray], left_out: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the value of a function of the data, and those (m,) of the data without each row of ``left_out`` (m, d).

    The function gets arrays of its own, which it may change.
    """
    estimate = as_scalar(function(*(x.copy() for x in columns)))
    values = [as_scalar(function(*(np.delete(x, some, axis=0) for x in columns))) for some in left_out]
    return estimate, np.array(values)
