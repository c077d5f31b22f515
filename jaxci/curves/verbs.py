"""Curves of scores with bands, from users' arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxci.checks import check_choice
from jaxci.curves.finding import compared, single
from jaxci.curves.reading import KINDS, read_curve_data
from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.inference.settings import Settings


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
    positive and a negative that score below all others, and two that score above them, share in it with a quarter of a
    row each [1]_, so that a curve that reaches the corner has a band. The simultaneous band lies between the k-th
    smallest and the k-th largest replicate of every point, k the same for all [2]_. A sensitivity, or a specificity, is
    known no better than at a threshold that is given: its interval holds Jeffreys' of as many rows. In clusters a row
    that was not seen stands for the design effect of as many as a cluster has, and bands are expanded about the
    estimate to Student's quantiles. Rows, or clusters, are assumed independent; asymptotic. What simulations found
    is in ``docs/curves.md``.

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
    0.73
    """
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    design = (groups, strata, sample_weight, weight_type)
    data = read_curve_data("roc", y_true, {"y_score": y_score}, design, pos_label, settings, rng)
    return single(
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
    Weights, bands and assumptions are those of :func:`roc`. At a small recall the precision rests on the few rows of
    the highest scores, and the band is as wide as that. The share of positives is that of the data: strata of the
    classes keep it fixed.
    """
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    design = (groups, strata, sample_weight, weight_type)
    data = read_curve_data("precision_recall", y_true, {"y_score": y_score}, design, pos_label, settings, rng)
    return single("precision_recall", data, {"recalls": recalls, "grid": grid})


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
    positive with the least and a negative with the largest of the predictions weigh an eighth of a row each. There
    predictions of exactly 0 or 1 count as 2.2e-16 (the eps of their type) and 1 less that, with a remark: a few of them
    may decide the slope.
    """
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    design = (groups, strata, sample_weight, weight_type)
    data = read_curve_data("calibration", y_true, {"y_prob": y_prob}, design, pos_label, settings, rng)
    return single("calibration", data, {"n_bins": n_bins})


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
    A net benefit is a mean, and its bands are expanded about the estimate to the width of Student's, of weighted rows
    with Satterthwaite's degrees of freedom. Clusters count alike whatever their size: of 20 clusters of 1 to 63 rows
    95% intervals covered 87% to 91% in simulations, of equal ones 94%.
    """
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    design = (groups, strata, sample_weight, weight_type)
    data = read_curve_data("decision", y_true, {"y_prob": y_prob}, design, pos_label, settings, rng)
    return single("decision", data, {"thresholds": thresholds, "grid": grid})


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
    In clusters each stands for as many rows of its class as the design effect of the difference of the models' ranks.
    The difference of two infinite thresholds has no value; such resamples count as below an interval and as above it.

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
    settings = Settings.of(confidence_level, "two-sided", n_resamples, memory_limit=memory_limit, progress=progress)
    design = (groups, strata, sample_weight, weight_type)
    data = read_curve_data(kind, y_true, {"score_a": score_a, "score_b": score_b}, design, pos_label, settings, rng)
    return compared(kind, data, options)
