"""Intervals for the generalization error of a learner, and for the difference of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from scipy import special

from jaxci.api.generalization_results import (
    GeneralizationResult,
    ResampledFits,
    check_permitted,
    checked_interval,
    failure_remark,
)
from jaxci.api.learning import Learning, read_learning, read_plans, read_score
from jaxci.api.randomness import Randomness, randomness
from jaxci.api.remarks import announce
from jaxci.api.validation import check_choice, check_confidence_level
from jaxci.generalization.fits import Outcome, Pace, Score, difference, distinct_samples, fit_plans
from jaxci.generalization.losses import Loss
from jaxci.generalization.registry import METHODS, recommended
from jaxci.resampling.plan import Plan
from jaxci.results import ComparisonResult, ConfidenceInterval

Progress = bool | Callable[[int, int], None]
PURPOSE_PLANS, PURPOSE_FITS = 101, 102


def _fitted(
    inducer: Any, data: Learning, plans: Sequence[Plan], score: Score, source: Randomness, progress: Progress
) -> Outcome:
    if not plans:
        raise ValueError("plans must hold at least one plan; got none")
    names = [plan.name for plan in plans]
    for plan in plans:
        if plan.n != len(data.y):
            raise ValueError(f"plans must be for the {len(data.y)} rows of y; {plan.name!r} has {plan.n}")
        if names.count(plan.name) > 1:
            raise ValueError(f"plans must have different names; got {plan.name!r} twice")
    pace = Pace(len(distinct_samples(plans)[0]), progress is True, progress if callable(progress) else None)
    key = jax.random.fold_in(source.key, PURPOSE_FITS)
    found = fit_plans(inducer, data.X, data.y, plans, score, data.n_classes, key, pace)
    if len(found.errors) == found.n_fits:
        raise ValueError(f"the estimator failed in all of {found.n_fits} fits; the first said: {found.errors[0]}")
    return found


def _remarks(found: Outcome) -> tuple[str, ...]:
    remarks = []
    if found.not_converged:
        remarks.append(f"{found.not_converged} of {found.n_fits} fits did not converge; their predictions were used")
    if found.errors:
        remarks.append(
            f"the estimator failed in {len(found.errors)} of {found.n_fits} fits; the first said: {found.errors[0]}"
        )
    return tuple(remarks)


def fit_resamples(
    inducer: Any,
    X: Any,
    y: Any,
    *,
    plans: Sequence[Plan],
    loss: Any = None,
    groups: Any = None,
    rng: Any = None,
    progress: Progress = True,
) -> ResampledFits:
    """Fit a learner on every split of ``plans`` once, and keep the losses for any number of intervals.

    Parameters
    ----------
    inducer : Inducer or scikit-learn estimator
        A learner of :mod:`jaxci.inducers` (all fits are one JAX program), or an estimator or
        pipeline of scikit-learn (cloned, seeded and fitted on the host, in parallel).
    X : (n, d) array_like
    y : (n,) array_like
        Targets or class labels.
    plans : sequence of Plan
        Of :mod:`jaxci.resampling.splits`, each with another name. A training sample that occurs in
        several of them is fitted once.
    loss : str or Statistic, optional
        "zero_one", "log" or "brier" for classes; "squared", "absolute", "winsorized" (squared, cut at
        the 90% quantile of each split's test losses), "standardized" (absolute over the standard
        deviation of the training targets) or "percentual" (absolute over the absolute target) for
        targets; or a metric of :func:`jaxci.list_metrics` that is no mean over rows, such as
        "roc_auc", for the methods that permit it. By default "zero_one" or "squared".
    groups : (n,) array_like, optional
        Says that rows come in groups, so that methods which count rows as independent are refused.
    rng : int, numpy.random.Generator, JAX key or None
    progress : bool or callable
        True writes fits and time left to stderr where a run is long; a function is called with
        (done, total).

    Returns
    -------
    ResampledFits
        ``.interval(method)`` reads an interval from it.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or every fit fails; the message names it.
    """
    source = randomness(rng)
    data = read_learning(inducer, X, y, groups)
    name, score = read_score(loss, data)
    found = _fitted(inducer, data, plans, score, source, progress)
    remarks = _remarks(found)
    announce(remarks)
    return ResampledFits(found.plans, name, found.n_fits, source.record, remarks, groups is not None, score.bounds)


def _settled(method: str, target: str | None, data: Learning, score: Score) -> tuple[str, str]:
    """Return the method and why."""
    check_choice("method", method, ("auto", *METHODS))
    if target is not None:
        check_choice("target", target, ("risk", "expected_risk"))
    if method != "auto":
        return method, "asked for"
    if target == "risk" and data.groups is None and isinstance(score, Loss):
        return "nested_cv", "the method whose interval is for the risk of the model fitted on all rows"
    if target == "expected_risk" and len(data.y) <= 100:
        return "conservative_z", "few rows, and the expected risk as the target"
    return recommended(len(data.y), isinstance(score, Loss), data.groups is not None)


def generalization_interval(
    inducer: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    method: str = "auto",
    plan: Any = None,
    confidence_level: float = 0.95,
    target: str | None = None,
    groups: Any = None,
    rng: Any = None,
    progress: Progress = True,
    **options: Any,
) -> GeneralizationResult:
    """Confidence interval for the generalization error of a learner.

    Parameters
    ----------
    inducer, X, y, loss, rng, progress
        As in :func:`fit_resamples`.
    method : str
        "holdout", "replace_one_cv", "repeated_replace_one_cv", "cv_wald", "corrected_t",
        "conservative_z", "five_by_two_cv", "nested_cv", "oob", "bootstrap_632",
        "bootstrap_632_plus", "bootstrap_case_cv", "two_stage_bootstrap",
        "location_shifted_bootstrap", "oob_t", "oob_percentile", or "auto": nested cross-validation up
        to 100 rows, the corrected t interval above.
    plan : Plan, sequence of Plan, splitter or pairs of indices, optional
        The plans of the method; by default at its usual settings, stratified by class or with groups
        kept together. A scikit-learn splitter, or pairs (train, test) of row numbers, can stand for
        holdout, subsampling, k-fold, 5x2 and bootstrap plans.
    confidence_level : float
    target : {"risk", "expected_risk"}, optional
        What "auto" should aim at: the risk of the model fitted on these rows, or its expectation over
        data sets. What a result is for is in its ``target``.
    groups : (n,) array_like, optional
        Group of every row: groups are split as a whole.
    **options
        Of the method's formula: ``variance``, ``correction``, ``constant``, ``internal_error``,
        ``clip``, ``bias_correction``, ``one_sided``, ``combine``, ``swapped``.

    Returns
    -------
    GeneralizationResult
        Where too many fits failed for the method, bounds are NaN and ``warnings`` says why.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names it.

    Notes
    -----
    Rows, or groups, independent and identically distributed. The number of fits is in ``n_fits``;
    METHODS in :mod:`jaxci.generalization` gives the formula of each cost.

    References
    ----------
    .. [1] Schulz-Kuempel et al. (2024), Constructing confidence intervals for "the" generalization error.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> from jaxci.inducers import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + rng.normal(size=150)
    >>> result = jaxci.generalization_interval(Ridge(), X, y, rng=0)
    >>> result.method, result.n_fits, result.confidence_interval.low < 1 < result.confidence_interval.high
    ('corrected_t', 25, True)
    """
    level = check_confidence_level(confidence_level)
    source = randomness(rng)
    data = read_learning(inducer, X, y, groups)
    name, score = read_score(loss, data)
    method, reason = _settled(method, target, data, score)
    check_permitted(method, not isinstance(score, Loss), name, groups is not None)
    plans = read_plans(plan, method, data, _seed(source), options)
    found = _fitted(inducer, data, plans, score, source, progress)
    fits = ResampledFits(
        found.plans, name, found.n_fits, source.record, _remarks(found), groups is not None, score.bounds
    )
    result = fits.interval(method, confidence_level=level, reason=reason, **options)
    announce(result.warnings)
    return result


def _seed(source: Randomness) -> int:
    return int(jax.random.bits(jax.random.fold_in(source.key, PURPOSE_PLANS)))


def compare_inducers(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    method: str = "corrected_t",
    plan: Any = None,
    confidence_level: float = 0.95,
    groups: Any = None,
    rng: Any = None,
    progress: Progress = True,
    **options: Any,
) -> ComparisonResult:
    """Difference of the generalization errors of two learners, ``a - b``, paired over the same splits.

    Parameters
    ----------
    a, b : Inducer or scikit-learn estimator
        Of one task.
    method : str
        A method of :func:`generalization_interval` whose formula holds for differences of losses; of
        these "five_by_two_cv" is Dietterich's (1998) 5x2 CV test and "corrected_t" that of Nadeau
        and Bengio (2003). "auto" as there.
    X, y, loss, plan, confidence_level, groups, rng, progress, **options
        As in :func:`generalization_interval`.

    Returns
    -------
    ComparisonResult
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
    source = randomness(rng)
    data, other = (read_learning(one, X, y, groups) for one in (a, b))
    if data.n_classes != other.n_classes:
        raise ValueError(f"a and b must be of one task; got {data.task} and {other.task}")
    name, score = read_score(loss, data)
    method, reason = _settled(method, None, data, score)
    if not METHODS[method].paired:
        able = ", ".join(known for known, m in METHODS.items() if m.paired)
        raise ValueError(f"method must be one of {able} for a difference of learners; got {method!r}")
    check_permitted(method, not isinstance(score, Loss), name, groups is not None)
    plans = read_plans(plan, method, data, _seed(source), options)
    found = [_fitted(one, part, plans, score, source, progress) for one, part in ((a, data), (b, other))]
    apart = {plan: difference(of, found[1].plans[plan]) for plan, of in found[0].plans.items()}
    result = checked_interval(method, apart, level, options)
    each = [checked_interval(method, one.plans, level, options).estimate for one in found]
    remarks = [text for one in found for text in _remarks(one)] + failure_remark(method, apart)
    if result.estimate == 0 and result.standard_error == 0:
        remarks.append("all differences of the losses are zero: the learners cannot be told apart on these data")
    remarks += result.remarks
    announce(remarks)
    return ComparisonResult(
        statistic=name,
        estimate=result.estimate,
        confidence_interval=ConfidenceInterval(result.low, result.high),
        standard_error=result.standard_error,
        method=method,
        reason=f"{reason}; {found[0].n_fits + found[1].n_fits} fits; target: {METHODS[method].target}",
        confidence_level=level,
        alternative="two-sided",
        n=len(data.y),
        rng=source.record,
        warnings=tuple(dict.fromkeys(remarks)),
        estimate_a=each[0],
        estimate_b=each[1],
        pvalue=two_sided(result.estimate, result.standard_error, result.df),
        test=_test_of(result.df),
        conclusion=_conclusion(result.low, result.high),
    )


def _test_of(df: float) -> str:
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


def _conclusion(low: float, high: float) -> str:
    if high < 0:
        return "the loss of a is lower"
    return "the loss of b is lower" if low > 0 else "no difference shown"
