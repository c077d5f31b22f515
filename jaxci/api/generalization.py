"""Intervals for the generalization error of a learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxci.api.generalization_results import GeneralizationResult, ResampledFits
from jaxci.api.learning_task import Progress, read_task, settled
from jaxci.checks import check_confidence_level, shown
from jaxci.generalization.plans import check_plans, order_remark
from jaxci.inference.remarks import announce
from jaxci.resampling.plan import Plan


def fit_resamples(
    inducer: Any,
    X: Any,
    y: Any,
    *,
    plans: Sequence[Plan],
    loss: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int = -1,
    rng: Any = None,
    progress: Progress = True,
) -> ResampledFits:
    """Fit a learner on every split of ``plans`` once, and keep the losses for any number of intervals.

    Parameters
    ----------
    inducer : Inducer, str or scikit-learn estimator
        A learner of :mod:`jaxci.inducers` (all fits are one JAX program), also by its name and
        fields (``"ridge"``, ``"ridge:alpha=0.1"``), or an estimator or pipeline of scikit-learn, or any
        object with ``fit`` and ``predict`` (cloned or copied, seeded and fitted on the host, in parallel).
    X : (n, d) array_like
    y : (n,) array_like
        Targets or class labels; (n, q) for an estimator of several outputs. Where a learner serves both, the loss or
        the scoring says which they are, and if none is named, whether they look like labels, as in
        :func:`jaxci.evaluate`: many distinct whole numbers do not, which a remark says.
    plans : sequence of Plan
        Of :mod:`jaxci.resampling.splits`, each with another name. A training sample that occurs in
        several of them is fitted once.
    loss : str, callable or Statistic, optional
        "zero_one", "log" or "brier" (summed over the classes) for classes; "squared", "absolute",
        "winsorized" (squared, cut at the 90% quantile of each split's test losses), "standardized" (absolute
        over the standard deviation of the training targets) or "percentual" (absolute over the absolute target) for
        targets; a metric of :func:`jaxci.list_metrics`; a function ``f(y_true, y_pred)`` that returns one
        loss a row (of labels for classes); or a :class:`~jaxci.statistics.WeightedFunction`
        ``f(y_true, prediction, weights)`` of the rows that a split tests (class codes, and probabilities).
        Metrics that are means over rows ("accuracy", "log_loss", "mean_squared_error" ...) are losses;
        of others, such as "roc_auc", intervals are by the methods that permit them. By default
        "zero_one" or "squared".
    scoring : str or callable, optional
        In place of ``loss``: a name of scikit-learn's scorers, with or without ``neg_``, a scorer of
        ``make_scorer``, or a function ``f(estimator, X, y)`` that returns one number.
    groups : (n,) array_like, optional
        Says that rows come in groups, so that methods which count rows as independent are refused.
    sample_weight : (n,) array_like, optional
        Case weights: of fits, and of means over the rows that are tested; for methods that read one number a split.
        Equal weights count as none in means.
    pos_label : scalar, optional
        The positive class of metrics of two classes; by default 1, or else the last of the sorted labels.
    params : dict, optional
        Further arguments of an estimator's ``fit``; those with an entry a row are taken by rows.
    n_jobs : int
        Processes that fit estimators; -1 is as many as there are CPUs.
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
    task = read_task([inducer], X, y, loss, scoring, groups, sample_weight, pos_label, params, n_jobs, rng)
    if not isinstance(plans, list | tuple) or not plans or not all(isinstance(plan, Plan) for plan in plans):
        raise TypeError(f"plans must be a list of plans of jaxci.resampling.splits; got {shown(plans)}")
    check_plans(plans, task.data)
    kept = task.kept(task.fitted(plans, progress)[0], [said for plan in plans for said in order_remark(plan)])
    announce(kept.warnings)
    return kept


def generalization_interval(
    inducer: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    scoring: Any = None,
    method: str = "auto",
    cv: Any = None,
    stratify: bool | None = None,
    confidence_level: float = 0.95,
    target: str | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int = -1,
    rng: Any = None,
    progress: Progress = True,
    **options: Any,
) -> GeneralizationResult:
    """Confidence interval for the generalization error of a learner.

    Parameters
    ----------
    inducer, X, y, loss, scoring, sample_weight, pos_label, params, n_jobs, rng, progress
        As in :func:`fit_resamples`.
    method : str
        "holdout", "replace_one_cv", "repeated_replace_one_cv", "cv_wald", "corrected_t",
        "conservative_z", "five_by_two_cv", "combined_five_by_two_cv", "nested_cv", "oob", "bootstrap_632",
        "bootstrap_632_plus", "bootstrap_case_cv", "two_stage_bootstrap",
        "location_shifted_bootstrap", "oob_t", "oob_percentile", or "auto": nested cross-validation up
        to 100 rows, the corrected t interval above, for metrics, for groups, and where ``cv`` is given.
    cv : int, splitter, pairs of indices, Plan or sequence of Plan, optional
        How rows are split; by default as is usual for the method (see Notes). A number of folds, a
        scikit-learn splitter, or pairs (train, test) of row numbers can stand for holdout, subsampling,
        k-fold, 5x2 and bootstrap plans.
    stratify : bool, optional
        Whether splits keep the shares of classes. By default they do where the rarest class has fewer than
        10 rows (50 for a metric that is no mean of losses), so that no split lacks it, and not otherwise
        (see Notes). Of splits that ``cv`` gives it is seen whether they do.
    confidence_level : float
    target : {"risk", "expected_risk"}, optional
        What "auto" should aim at: the risk of the model fitted on these rows, or its expectation over
        data sets. What a result is for is in its ``target``.
    groups : (n,) array_like, optional
        Group of every row: groups are split as a whole.
    **options
        Of the method's usual plans: ``n_folds``, ``n_repeats``, ``p`` (the share that trains),
        ``n_subsamples``, ``n_pairs``, ``n_resamples``, ``n_outer``, ``n_inner``; and of its formula:
        ``variance``, ``correction``, ``constant``, ``internal_error``, ``clip``, ``scale``, ``bounds`` (of
        "nearer_end"), ``bias_correction``, ``one_sided``, ``combine``, ``swapped``.

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
    Rows, or groups, independent and identically distributed. The number of models fitted is in
    ``n_fits``.

    Data sets vary in the shares of their classes, and splits that keep them do not show it: intervals read off
    them by the plain formulas are too narrow (with 10% positives they cover 59 to 81% of 95). So rows are split
    whatever their class; where splits keep the shares, the variance of the loss between classes is added to that
    between splits, ``sum_k p_k (r_k - r)^2`` over the rows that a split tests. Methods whose formula has no place
    for it refuse such splits. A metric that is no mean of losses has no such term.

    Up to 100 groups the corrected t interval of a mean loss leaves each group out once, and that of a loss without
    a bound has its ends on the log scale; more are drawn into 25 subsamples. Else the corrected t interval and nested
    cross-validation of such a loss have their ends on the scale of cube roots. Of a zero-one loss both also reach as
    far as Wilson's score interval with their error, and a metric with two bounds that is no mean has its ends on the
    scale of cube roots of the distance from the nearer one, and of a metric of classes no closer to the best value
    than those of as many rows all predicted right. ``scale="plain"`` asks for the published formula, but where it
    has no width and that of rows all predicted right is known, which is then taken. A zero-one loss that
    no tested row has, or every one, has Clopper and Pearson's interval for as many rows (or groups), since nothing
    varies.

    Where rows have weights that differ, rows, or more than 100 groups, are dealt into 25 folds for the corrected t
    interval. Splits count by the rows, or the weight, that they test: intervals are for the mean over rows, however
    uneven the groups.

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
    task = read_task([inducer], X, y, loss, scoring, groups, sample_weight, pos_label, params, n_jobs, rng)
    method, reason = settled(method, target, task, cv)
    planned, options = task.planned(method, options, cv, stratify, level)
    fits = task.kept(task.fitted(planned.plans, progress)[0], planned.remarks)
    result = fits.interval(method, confidence_level=level, **options)
    result = dataclasses.replace(result, reason="; ".join(filter(None, (reason, *planned.notes, result.reason))))
    announce(result.warnings)
    return result
