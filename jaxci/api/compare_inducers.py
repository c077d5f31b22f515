"""Differences of the generalization errors of two learners, or of all pairs of more."""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from jaxci.api.generalization_results import InducerComparison, failure_remark
from jaxci.api.leaderboard_results import Leaderboard, Pair, ranked
from jaxci.api.learning_task import Progress, read_task, settled
from jaxci.checks import check_choice, check_confidence_level, check_distinct, check_number, shown
from jaxci.generalization.base import LossInterval, Resampled
from jaxci.generalization.fits import Outcome, difference
from jaxci.generalization.registry import METHODS
from jaxci.generalization.scores import Score
from jaxci.inducers.registry import as_inducer, inducer_label
from jaxci.inference.loss_intervals import checked_interval
from jaxci.inference.remarks import announce
from jaxci.intervals.multiple import ADJUSTMENTS, adjusted_pvalues
from jaxci.intervals.pvalues import two_sided
from jaxci.printing import ConfidenceInterval, JaxciWarning

DEFAULT = "corrected_t"
"""Method of comparisons: its splits serve every learner, and it allows for what they share."""


def compare_inducers(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    scoring: Any = None,
    method: str = DEFAULT,
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

    By default 10 folds of rows; where rows come in up to 100 groups, each is left out once, and where they have weights
    that differ there are 25 folds.

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
        ``estimate`` is that of a less that of b; ``pvalue`` that of no difference: 1 where all differences of the
        losses are zero, NaN where they are one other number, which tells nothing of how much others would vary.

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
    if rope is not None:
        rope = check_number("rope", rope, "be a difference of at least 0", lambda x: 0 <= x < math.inf)
    task = read_task([a, b], X, y, loss, scoring, groups, sample_weight, pos_label, params, n_jobs, rng)
    method, reason = settled(method, None, task, cv, default=DEFAULT)
    _check_paired(method, options)
    if rope is not None and method != "corrected_t":
        raise ValueError(f"rope needs method='corrected_t', whose t distribution is the posterior; got {method!r}")
    planned, options = task.planned(method, options, cv, stratify, level)
    found = task.fitted(planned.plans, progress)
    apart = _apart(found[0], found[1])
    offset, sign = task.turn
    result = checked_interval(method, apart, level, options).turned(0.0, sign)
    both = [
        {plan: dataclasses.replace(of, failed=apart[plan].failed) for plan, of in one.plans.items()} for one in found
    ]
    each = [offset + sign * checked_interval(method, fits, level, options).estimate for fits in both]
    remarks = [
        *task.said,
        *planned.remarks,
        *(f"{name}: {text}" for name, one in zip("ab", found, strict=True) for text in task.remarks_of(one)),
    ]
    remarks += failure_remark(method, apart, result.low)
    if result.estimate == 0 and result.standard_error == 0:
        remarks.append("all differences of the losses are zero: the learners cannot be told apart on these data")
    elif result.standard_error == 0:
        remarks.append("the differences of the losses do not vary: they tell nothing of how much others would")
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
        pvalue=_pvalue(result),
        test=_test_of(result),
        conclusion=_conclusion(result, task.score),
        rope=rope,
        probabilities=None if rope is None else _posterior(result, rope, task.score.less_is_better),
    )


def rank_inducers(
    inducers: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    scoring: Any = None,
    method: str = DEFAULT,
    adjust: str = "holm",
    cv: Any = None,
    stratify: bool | None = None,
    confidence_level: float = 0.95,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int = -1,
    rng: Any = None,
    progress: Progress = True,
    **options: Any,
) -> Leaderboard:
    """Learners from the best to the worst, all pairs compared over the same splits and adjusted for their number.

    Parameters
    ----------
    inducers : mapping or sequence
        Two or more learners as in :func:`fit_resamples`, of one task; by name in a mapping.
    method : str
        As in :func:`compare_inducers`: one whose formula holds for differences and gives a p-value.
    adjust : {"holm", "bonferroni", "none"}
        How p-values of the pairs are adjusted; ranks follow from the pairs told apart. Simultaneous intervals of
        the differences are Bonferroni's whatever is chosen, as Holm's test has none.
    X, y, loss, scoring, cv, stratify, confidence_level, groups, sample_weight, pos_label, params, n_jobs, rng, \
    progress, **options
        As in :func:`generalization_interval`.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or the method's formula is not one for differences.

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Inference for the Generalization Error, for the test of a pair.
    .. [2] Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.
    .. [3] Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for Ranks, for the sets of ranks.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + rng.normal(size=150)
    >>> board = jaxci.rank_inducers(["constant", "ridge", "linear"], X, y, rng=0)
    >>> [(entry.name, entry.rank_low, entry.rank_high) for entry in board.entries]
    [('linear', 1, 2), ('ridge', 1, 2), ('constant', 3, 3)]
    """
    level, adjust = check_confidence_level(confidence_level), check_choice("adjust", adjust, ADJUSTMENTS)
    names, learners = _named(inducers)
    task = read_task(learners, X, y, loss, scoring, groups, sample_weight, pos_label, params, n_jobs, rng)
    method, reason = settled(method, None, task, cv, default=DEFAULT)
    _check_paired(method, options)
    planned, options = task.planned(method, options, cv, stratify, level)
    found = task.fitted(planned.plans, progress)
    numbers, sign = list(itertools.combinations(range(len(names)), 2)), task.turn[1]
    each = 1 - (1 - level) / len(numbers)
    results, remarks = [], [*task.said, *planned.remarks]
    for a, b in numbers:
        apart = _apart(found[a], found[b])
        results.append(checked_interval(method, apart, each, options).turned(0.0, sign))
        lost = failure_remark(method, apart, results[-1].low)
        remarks += [f"{names[a]} and {names[b]}: {text}" for text in (*lost, *results[-1].remarks)]
    pvalues = [_pvalue(result) for result in results]
    if any(math.isnan(result.df) and result.pvalue is None and not math.isnan(result.low) for result in results):
        raise ValueError(f"method must be one that gives p-values of differences; {method!r} reads quantiles")
    adjusted = adjusted_pvalues(pvalues, adjust)
    pairs = [
        Pair(names[a], names[b], of.estimate, of.low, of.high, p, float(q))
        for (a, b), of, p, q in zip(numbers, results, pvalues, adjusted, strict=True)
    ]
    alone, lost = _on_common_splits(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxciWarning)
        single = [task.kept(one).interval(method, confidence_level=level, **options) for one in alone]
    for name, one in zip(names, single, strict=True):
        remarks += [f"{name}: {text}" for text in one.warnings if text not in task.said]
    remarks += lost
    announce(remarks)
    entries = ranked(
        names,
        [one.estimate for one in single],
        [one.confidence_interval for one in single],
        [one.standard_error for one in single],
        pairs,
        1 - level,
        task.score.less_is_better,
    )
    fits = sum(one.n_fits for one in found)
    return Leaderboard(
        task.score.name,
        entries,
        tuple(pairs),
        method,
        adjust,
        level,
        len(task.data.y),
        "; ".join((reason, *planned.notes, f"{fits} fits", f"target: {METHODS[method].target}")),
        task.source.record,
        tuple(dict.fromkeys(remarks)),
        less_is_better=task.score.less_is_better,
    )


def _named(inducers: Mapping[str, Any] | Sequence[Any]) -> tuple[list[str], list[Any]]:
    """Return names and learners."""
    if isinstance(inducers, Mapping):
        names, learners = [str(name) for name in inducers], list(inducers.values())
    elif isinstance(inducers, Sequence) and not isinstance(inducers, str):
        learners = list(inducers)
        names = [one if isinstance(one, str) else inducer_label(as_inducer(one)) for one in learners]
    else:
        raise TypeError(f"inducers must be a dict or a list of learners; got {shown(inducers)}")
    if len(learners) < 2:
        raise ValueError(f"inducers must hold at least two learners; got {len(learners)}")
    check_distinct("inducers", names)
    return names, learners


def _check_paired(method: str, options: Mapping[str, Any]) -> None:
    if not METHODS[method].paired or options.get("combine", "oob") != "oob":
        able = ", ".join(known for known, m in METHODS.items() if m.paired)
        raise ValueError(f"method must be one of {able} for a difference of learners; got {method!r} {options or ''}")


def _apart(a: Outcome, b: Outcome) -> dict[str, Resampled]:
    return {plan: difference(of, b.plans[plan]) for plan, of in a.plans.items()}


def _on_common_splits(found: Sequence[Outcome]) -> tuple[list[Outcome], list[str]]:
    """Return fits less the splits in which another learner failed, so that hard ones count for all, and what is said.

    A learner that failed in every split takes none from the others.
    """
    fitted = [one for one in found if any(of.kept.any() for of in one.plans.values())]
    failed = {plan: ~np.all([one.plans[plan].kept for one in fitted], axis=0) for plan in (fitted or found)[0].plans}
    if not any(one.any() for one in failed.values()):
        return list(found), []
    text = "the learners are judged on the splits in which all could be fitted: those that some lack may be hard"

    def of_all(one: Outcome) -> Outcome:
        plans = {plan: dataclasses.replace(of, failed=~of.kept | failed[plan]) for plan, of in one.plans.items()}
        return one._replace(plans=plans)

    return [of_all(one) for one in found], [text]


def _pvalue(of: LossInterval) -> float:
    return two_sided(of.estimate, of.standard_error, of.df) if of.pvalue is None else of.pvalue


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
    if of.standard_error == 0 and of.estimate != 0:
        return "no variation"
    if of.pvalue is not None:
        return "F test of no difference, 10 and 5 degrees of freedom"
    if math.isnan(df):
        return "no p-value from quantiles"
    return "z test of no difference" if math.isinf(df) else f"t test of no difference, {df:g} degrees of freedom"


def _conclusion(of: LossInterval, score: Score) -> str:
    """Say in words what the interval supports."""
    low, high = of.low, of.high
    if math.isnan(low) or math.isnan(high):
        return "nothing can be said without an interval"
    if of.standard_error != 0 and (low > 0 or high < 0):
        return "a is better than b" if (high < 0) == score.less_is_better else "b is better than a"
    return "no difference shown"
