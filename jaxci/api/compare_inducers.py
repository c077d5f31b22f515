"""The difference of the generalization errors of two learners."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special

from jaxci.api.generalization import Progress, read_task, remarks_of, settled
from jaxci.api.generalization_results import InducerComparison, checked_interval, failure_remark
from jaxci.checks import check_confidence_level, shown
from jaxci.generalization.base import LossInterval
from jaxci.generalization.fits import difference
from jaxci.generalization.plans import read_plans
from jaxci.generalization.registry import METHODS
from jaxci.generalization.scores import Score
from jaxci.inference.remarks import announce
from jaxci.printing import ConfidenceInterval


def compare_inducers(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    scoring: Any = None,
    method: str = "corrected_t",
    cv: Any = None,
    stratify: bool | None = None,
    confidence_level: float = 0.95,
    rope: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int = -1,
    rng: Any = None,
    progress: Progress = True,
    **options: Any,
) -> InducerComparison:
    """Difference of the generalization errors of two learners, ``a - b``, paired over the same splits.

    Parameters
    ----------
    a, b : Inducer, str or scikit-learn estimator
        As in :func:`fit_resamples`, of one task.
    method : str
        A method of :func:`generalization_interval` whose formula holds for differences of losses; of
        these "five_by_two_cv" is Dietterich's (1998) 5x2 CV test, "combined_five_by_two_cv" the F test of
        Alpaydin (1999) on the same fits, and "corrected_t" that of Nadeau and Bengio (2003). "auto" as there.
    rope : float, optional
        Differences up to so much are of no practical account: the result then holds the posterior
        probabilities that a is better, that they are equivalent and that b is better, of the Bayesian
        correlated t test (Benavoli et al. 2017), for ``method="corrected_t"``.
    X, y, loss, scoring, cv, stratify, confidence_level, groups, sample_weight, pos_label, params, n_jobs, rng, \
    progress, **options
        As in :func:`generalization_interval`.

    Returns
    -------
    InducerComparison
        ``estimate`` is that of a less that of b; ``pvalue`` that of no difference.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or the method's formula is not one for differences.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> from jaxci.inducers import Constant, Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + rng.normal(size=150)
    >>> result = jaxci.compare_inducers(Ridge(), Constant(), X, y, rng=0)
    >>> result.confidence_interval.high < 0, result.pvalue < 0.001
    (True, True)
    """
    level = check_confidence_level(confidence_level)
    if rope is not None and (isinstance(rope, bool) or not isinstance(rope, int | float) or not 0 <= rope < math.inf):
        raise ValueError(f"rope must be a difference of at least 0; got {shown(rope)}")
    task = read_task([a, b], X, y, loss, scoring, groups, sample_weight, pos_label, params, n_jobs, rng)
    method, reason = settled(method, None, task, cv)
    if not METHODS[method].paired or options.get("combine", "oob") != "oob":
        able = ", ".join(known for known, m in METHODS.items() if m.paired)
        raise ValueError(f"method must be one of {able} for a difference of learners; got {method!r} {options or ''}")
    if rope is not None and method != "corrected_t":
        raise ValueError(f"rope needs method='corrected_t', whose t distribution is the posterior; got {method!r}")
    how = task.splitting(method, options, cv, stratify)
    options = dict(how.options)
    planned = read_plans(how, task.data)
    METHODS[method].rehearse(planned.plans, level, options)
    found = task.fitted(planned.plans, progress)
    apart = {plan: difference(of, found[1].plans[plan]) for plan, of in found[0].plans.items()}
    offset, sign = task.turn
    result = checked_interval(method, apart, level, options).turned(0.0, sign)
    both = [
        {plan: dataclasses.replace(of, failed=apart[plan].failed) for plan, of in one.plans.items()} for one in found
    ]
    each = [offset + sign * checked_interval(method, fits, level, options).estimate for fits in both]
    remarks = [*task.said, *planned.remarks, *(text for one in found for text in remarks_of(one))]
    remarks += failure_remark(method, apart, result.low)
    if result.estimate == 0 and result.standard_error == 0:
        remarks.append("all differences of the losses are zero: the learners cannot be told apart on these data")
    remarks += result.remarks
    announce(remarks)
    fits = found[0].n_fits + found[1].n_fits
    return InducerComparison(
        statistic=task.score.name,
        estimate=result.estimate,
        confidence_interval=ConfidenceInterval(result.low, result.high),
        standard_error=result.standard_error,
        method=method,
        reason="; ".join((reason, *planned.notes, f"{fits} fits", f"target: {METHODS[method].target}")),
        confidence_level=level,
        alternative="two-sided",
        n=len(task.data.y),
        rng=task.source.record,
        warnings=tuple(dict.fromkeys(remarks)),
        estimate_a=each[0],
        estimate_b=each[1],
        pvalue=two_sided(result.estimate, result.standard_error, result.df) if result.pvalue is None else result.pvalue,
        test=_test_of(result),
        conclusion=_conclusion(result.low, result.high, task.score),
        rope=rope,
        probabilities=None if rope is None else _posterior(result, rope, task.score.less_is_better),
    )


def _posterior(of: LossInterval, rope: float, less_is_better: bool) -> dict[str, float]:
    """Return the probabilities of the difference below, within and above -+ ``rope``: Benavoli et al. (2017), eq. 8."""
    if of.standard_error == 0:
        below, above = float(of.estimate < -rope), float(of.estimate > rope)
    else:
        below, above = (
            float(special.stdtr(of.df, (-rope - sign * of.estimate) / of.standard_error)) for sign in (1, -1)
        )
    a, b = (below, above) if less_is_better else (above, below)
    return {"a is better": a, "equivalent": max(0.0, 1 - a - b), "b is better": b}


def _test_of(of: LossInterval) -> str:
    df = of.df
    if of.pvalue is not None:
        return "F test of no difference, 10 and 5 degrees of freedom"
    if math.isnan(df):
        return "no p-value from quantiles"
    return "z test of no difference" if math.isinf(df) else f"t test of no difference, {df:g} degrees of freedom"


def two_sided(estimate: float, error: float, df: float) -> float:
    """Return the p-value of ``estimate`` against 0: 1 or 0 without any error, NaN where there is no test."""
    if math.isnan(df) or math.isnan(estimate):
        return math.nan
    if error == 0:
        return 1.0 if estimate == 0 else 0.0
    ratio = -abs(estimate) / error
    return float(2 * (special.ndtr(ratio) if np.isinf(df) else special.stdtr(df, ratio)))


def _conclusion(low: float, high: float, score: Score) -> str:
    """Say in words what the interval supports."""
    if math.isnan(low) or math.isnan(high):
        return "nothing can be said without an interval"
    if low > 0 or high < 0:
        return "a is better than b" if (high < 0) == score.less_is_better else "b is better than a"
    return "no difference shown"
