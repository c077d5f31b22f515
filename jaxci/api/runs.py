"""Scores of runs that differ in their seed: their mean, their quantiles, and the difference of two models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from jaxci.api.quantile_results import RunSummary
from jaxci.api.quantiles import intervals_of
from jaxci.api.readers.arrays import as_floats, missing_values
from jaxci.api.readers.runs import check_within, limits_of, results_of
from jaxci.checks import check_confidence_level
from jaxci.inference.remarks import announce
from jaxci.intervals.base import tails
from jaxci.intervals.cards import shape_of
from jaxci.intervals.parametric import T, t_interval, welch, welch_error
from jaxci.intervals.pvalues import two_sided
from jaxci.printing import ConfidenceInterval
from jaxci.results import ComparisonResult, IntervalResult
from jaxci.special import deviation, mean_of


def _scores(name: str, scores: Any) -> np.ndarray:
    found = as_floats(name, scores, finite=False)
    if len(found) < 2:
        raise ValueError(f"{name} must hold the scores of at least 2 runs; got {len(found)}")
    if lost := missing_values(found):
        raise ValueError(
            f"{name} must be finite; {lost}: the mean has no value where a run diverged; summarize_runs with goal= "
            "counts such runs as the worst, in quantiles"
        )
    return found


UNEVEN = {2: 13, 3: 8}
"""Most per cent of simulations that told models of equal mean apart, by the runs of the model with fewer."""


def uneven_runs(runs: Mapping[str, int]) -> tuple[str, ...]:
    """Say which model has 2 or 3 runs where another one has at least twice as many."""
    fewest = min(runs, key=runs.__getitem__)
    least, most = runs[fewest], max(runs.values())
    if least not in UNEVEN or most < 2 * least:
        return ()
    return (
        f"{fewest} has {least} runs beside {most}: of {least} and many more normal ones 95% intervals told equal means "
        f"apart in up to {UNEVEN[least]}% of simulations; more runs of {fewest} allow for that",
    )


FEW_RUNS = 5
"""Of no more runs ``interval`` is Student's, too."""


def skewed_runs(values: np.ndarray) -> tuple[str, ...]:
    """Say that runs (n,) are more skewed than normal ones."""
    told = _skewness(values)
    if not told:
        return ()
    other = "may allow for more" if len(values) > FEW_RUNS else "gives the same of so few"
    return (
        f"the runs are skewed {told}: Student's interval of their mean may cover less than it says; "
        f"interval('mean', scores) {other}; that of their median (summarize_runs) holds whatever the law is, where "
        "runs are enough for it: 6 at 95%",
    )


def skewed_models(scores: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Say which models have runs (n,), or (n, tasks), that are more skewed than normal ones."""
    found = [f"{name} {told}" for name, x in scores.items() if (told := _skewness(x, len(scores)))]
    if not found:
        return ()
    return (f"runs are skewed, of {', '.join(found)}: Student's intervals of their means may cover less than they say",)


def _skewness(values: np.ndarray, models: int = 1) -> str:
    """Return how skewed runs (n,), or (n, tasks), are; empty where normal ones may be as skewed.

    The skewness is that of the runs about the mean of their task, averaged over the tasks whose runs vary. One model is
    allowed two standard errors of normal runs, and several so many that all together are told of as seldom as one.

    References
    ----------
    Cramer (1946), Mathematical Methods of Statistics, section 29.3, of the error.
    """
    n, by_task = len(values), np.atleast_2d(values.T)
    errors = deviation(by_task, ddof=0)
    by_task, errors = by_task[errors > 0], errors[errors > 0]
    if n < 3 or not len(by_task):  # two are never skewed
        return ""
    skewness = float(shape_of(((by_task - mean_of(by_task)[:, None]) / errors[:, None]).ravel())[0])
    most = -float(special.ndtri(special.ndtr(-2) / models))
    usual = most * math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)) / len(by_task))
    return f"({skewness:.1f}, of normal ones seldom above {usual:.1f})" if skewness > usual else ""


def runs_interval(scores: Any, *, bounds: Any = None, confidence_level: float = 0.95) -> IntervalResult:
    """Confidence interval for the mean score over seeds, by Student's t.

    Parameters
    ----------
    scores : (r,) array_like
        Score of every run, r >= 2.
    bounds : (low, high), "clip" or None
        Range of the scores: ends outside are cut off. "clip" stands for (0, 1).
    confidence_level : float

    Returns
    -------
    IntervalResult

    Raises
    ------
    ValueError
        If there are fewer than 2 scores, or one is not finite, or not within ``bounds``.

    Warns
    -----
    JaxciWarning
        If the runs do not vary, or are skewed.

    Notes
    -----
    Says how the score varies with what the seed controls, and nothing of other test sets. Student's interval takes the
    runs for normal: of 5 lognormal ones it covers 82%, and of 5 of which one in ten fails and comes to a bad score 43%.
    Where the runs are more skewed than normal ones it warns; few do not tell, and where none failed nothing does.
    :func:`summarize_runs` has intervals of quantiles, which hold whatever the law is.

    References
    ----------
    .. [1] Raschka (2022), Creating Confidence Intervals for Machine Learning Classifiers, method 4.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.runs_interval([0.91, 0.93, 0.92, 0.95])
    >>> round(result.confidence_interval.low, 4), round(result.confidence_interval.high, 4)
    (0.9003, 0.9547)
    """
    values, limits = _scores("scores", scores), limits_of(bounds)[0]
    check_within("scores", values, limits)
    level = check_confidence_level(confidence_level)
    estimate = float(mean_of(values))
    error = float(deviation(values, ddof=1)) / math.sqrt(len(values))
    interval = _within(values, level, limits) if error > 0 else ConfidenceInterval(estimate, estimate)
    still = "the runs do not vary, so the interval has no width: more of them may tell"
    warned = skewed_runs(values) if error > 0 else (still,)
    announce(warned)
    return IntervalResult(
        statistic="mean of runs",
        estimate=estimate,
        confidence_interval=interval,
        standard_error=error,
        method=T(),
        reason="runs under different seeds are independent",
        confidence_level=level,
        alternative="two-sided",
        n=len(values),
        warnings=warned,
    )


def _within(values: np.ndarray, level: float, limits: tuple[float, float] | None) -> ConfidenceInterval:
    """Return Student's interval of the mean of values (n,), its ends cut off at ``limits``."""
    low, high = np.clip(t_interval(values, tails(level)), *(limits or (-math.inf, math.inf)))
    return ConfidenceInterval(float(low), float(high))


def welch_interval(scores_a: Any, scores_b: Any, *, confidence_level: float = 0.95) -> ComparisonResult:
    """Difference of the mean scores of two models over seeds, ``a - b``, by Welch's t.

    Parameters
    ----------
    scores_a, scores_b : (r_a,), (r_b,) array_like
        Score of every run, at least 2 each; not paired.
    confidence_level : float

    Returns
    -------
    ComparisonResult
        Where the scores of neither model vary there is no test: the p-value is 1 for equal means, and else NaN
        (SciPy's ``ttest_ind`` says NaN and 0).

    Raises
    ------
    ValueError
        If a model has fewer than 2 scores, or one is not finite.

    Warns
    -----
    JaxciWarning
        If neither model's runs vary, a model has 2 or 3 runs and the other one at least twice as many, or runs are
        skewed.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.welch_interval([0.91, 0.93, 0.92, 0.95], [0.88, 0.90, 0.89])
    >>> round(result.estimate, 4), round(result.pvalue, 4)
    (0.0375, 0.0158)
    """
    a, b = _scores("scores_a", scores_a), _scores("scores_b", scores_b)
    level = check_confidence_level(confidence_level)
    error, df = welch_error(a, b)
    estimate = float(mean_of(a) - mean_of(b))
    low, high = welch(a, b, tails(level)) if error > 0 else (estimate, estimate)
    still = "the runs of neither model vary: they tell nothing of how much others would"
    warned = (*uneven_runs({"a": len(a), "b": len(b)}), *skewed_models({"a": a, "b": b})) if error > 0 else (still,)
    announce(warned)
    return ComparisonResult(
        statistic="mean of runs",
        estimate=estimate,
        confidence_interval=ConfidenceInterval(float(low), float(high)),
        standard_error=error,
        method="welch",
        reason="runs are not paired, and their variances may differ",
        confidence_level=level,
        alternative="two-sided",
        n=len(a) + len(b),
        estimate_a=float(mean_of(a)),
        estimate_b=float(mean_of(b)),
        pvalue=two_sided(estimate, error, df),
        test=f"Welch's t test, {df:.3g} degrees of freedom" if error > 0 else "no variation",
        conclusion=_higher(low, high) if error > 0 else "no difference shown",
        warnings=warned,
    )


def _higher(low: float, high: float) -> str:
    return "a is higher" if low > 0 else "b is higher" if high < 0 else "no difference shown"


def summarize_runs(
    x: Any,
    *,
    qs: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
    goal: str | None = None,
    metric: str | None = None,
    bounds: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> RunSummary:
    """Summarize the results of n training runs: the mean, and how bad or good a run can turn out.

    Parameters
    ----------
    x : (n,) array_like or SeedRuns
        One result a run; of what :func:`jaxci.run_seeds` returned, the first run of every seed.
    qs : sequence of float
    goal : {"higher", "lower"} or None
        Which results are good: the higher, by default. It must be said where a run diverged or failed (NaN, or
        an infinity that is not good), which counts as the worst in the quantiles; the mean is then not defined.
    metric : str, optional
        Which results of a SeedRuns with several.
    bounds, confidence_level, rng
        As in :func:`quantile_interval`, which gives the quantiles by ``method="auto"``.

    Returns
    -------
    RunSummary

    Raises
    ------
    ValueError
        If there are fewer than 2 results, one is NaN and ``goal`` is not given, or an argument breaks its rule.

    Warns
    -----
    JaxciWarning
        As :func:`quantile_interval` does, and where the runs are skewed, for the interval of their mean.

    References
    ----------
    Lehmann and Paromau (2025), section 5.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> summary = jaxci.summarize_runs(np.linspace(0.8, 0.9, 30), qs=[0.5])
    >>> round(summary.mean, 3), summary.quantiles.method
    (0.85, ('order_statistic',))
    """
    limits = limits_of(bounds)[0]
    results = results_of(x, goal=goal, metric=metric, bounds=limits, ndim=(1,))
    values = results.values
    quantiles = intervals_of(
        results, np.sort(np.atleast_1d(qs)), bounds=bounds, confidence_level=confidence_level, rng=rng
    )
    mean, interval = math.nan, ConfidenceInterval(math.nan, math.nan)
    skewed: tuple[str, ...] = ()
    if not results.n_lost:
        mean = float(values.mean())
        interval = _within(values, quantiles.confidence_level, limits)
        skewed = skewed_runs(values)
    found = RunSummary(len(values), mean, interval, quantiles, goal or "higher", (*skewed, *quantiles.warnings))
    announce(found.warnings)
    return found
