"""Many models on the same rows: in order, with what the data can say of the order."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.contests import Contest, Incomplete
from jaxci.api.leaderboard_results import Leaderboard, Pair, ranked
from jaxci.api.readers.indexes import of_indexes
from jaxci.api.readers.label_remarks import of_near_names
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.models import by_name, of_index_columns, read_models
from jaxci.api.readers.samples import check_n
from jaxci.api.run_boards import RunContest, of_runs
from jaxci.checks import check_choice, shown
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import BOTH, OF_TWO, announce, layout_remarks
from jaxci.inference.settings import Settings
from jaxci.intervals.base import tails
from jaxci.intervals.bootstrap import smallest_bank
from jaxci.intervals.multiple import (
    ADJUSTMENTS,
    FEW,
    adjusted_pvalues,
    bonferroni_level,
    largest_of,
    model_confidence_set,
    sidak_level,
    simultaneous_level,
    standardized,
    step_down,
    two_sided_z,
)
from jaxci.printing import first_few, gathered
from jaxci.resampling.schemes import BLOCKS
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import configured, name_of, statistic_by_name
from jaxci.statistics.run_scores import Aggregate
from jaxci.statistics.sample import Sample

MISSING = ("raise", "pairwise")
"""What becomes of values by case that models lack."""
NUMBERS = re.compile(r"[0-9.,-]+")


def leaderboard(
    metric: Any,
    y_true: Any,
    predictions: Any = None,
    *,
    groups: Any = None,
    strata: Any = None,
    confidence_level: float = 0.95,
    adjust: str = "max_t",
    reference: str = "best",
    less_is_better: bool | None = None,
    missing: str = "raise",
    n_resamples: int | None = None,
    resampling: str = "bootstrap",
    block_length: float | str = "auto",
    sample_weight: Any = None,
    weight_type: str = "importance",
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    rng: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Leaderboard:
    """Models from the best to the worst on the same rows, and which of them are really different.

    Parameters
    ----------
    metric : str or Statistic
        As in :func:`jaxci.compare`. Of training runs on several tasks: "iqm" (interquartile mean), "mean", "median"
        (over tasks, of means over runs) or "optimality_gap" (of ``gamma``, 1 by default).
    y_true : (n,) array_like
        Labels or targets. For a summary of per-case values, such as "mean", the values themselves, in place of
        ``predictions``: a dict or frame of (n,) values by model, or an array (models, n). Of training runs the scores:
        a dict of (runs, tasks) by model, or an array (models, runs, tasks); models have runs of their own.
    predictions : dict or frame of array_like, or list of files
        Predicted labels or values of every model by its name, or scores for metrics of scores: (n,) or (n, K). A file
        (CSV, JSON lines or Parquet) is one model, of the file's name; it holds one column, or the scores of the
        classes, whose names end in the labels, and nothing else but an index without a name.
    groups, strata, n_resamples, sample_weight, weight_type, labels, pos_label, rng, memory_limit
        As in :func:`jaxci.evaluate`. Every resample takes the same rows for all models.
    confidence_level : float
        Of every interval, and of all sets of ranks together.
    resampling : {"bootstrap", "stationary", "circular", "moving"}
        "bootstrap" draws rows; the others draw blocks of rows that follow each other, for rows in the order of time.
    block_length : float or "auto"
        As in :func:`jaxci.interval`; what is shared by all models is read off blocks of the longest such length.
    adjust : {"max_t", "holm", "bonferroni", "none"}
        How p-values and intervals of differences allow for their number. "max_t" reads off the resamples how the
        differences hang together, and is never wider than "bonferroni". Of fewer than 30 rows, clusters or runs (of the
        model with fewest) resamples do not tell that, and "holm" is used.
    reference : str
        "best": all pairs are compared. A model's name: each other model is compared with that one only.
    less_is_better : bool, optional
        Which end of the metric is the good one, where the metric does not know: of values and of your own functions
        larger ones are better unless told.
    missing : {"raise", "pairwise"}
        What becomes of values by case that are NaN, where a model skipped the case: an error; or every model is
        estimated on the cases that it has, and two are compared on those that both have.
    progress : callable, optional
        Called with differences (done, total).
    **options
        Fields of the metric.

    Returns
    -------
    Leaderboard
        Entries by rank, with marginal and simultaneous intervals, sets of ranks, the probability of being best (the
        share of resamples in which a model is, ties shared) and whether it is tied: with the best, as it is in the
        model confidence set, or with the model that is the reference. Those whose metric is NaN are last, and not tied.

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
    The interval and the p-value of every difference are those of :func:`jaxci.compare`, by the method that serves so
    few or so many rows that differ. How differences hang together is read off ``n_resamples`` resamples that all models
    share: p-values become standard errors, and the largest of these is held against the largest of every resample, step
    by step [1]_. Simultaneous intervals are those of one at the level of the largest, at most Bonferroni's; by default,
    of methods that read resamples, at most the level that these tell, which a remark says. A rank is no better than one
    more than the number of models shown to be better, and no worse than the number of those not shown to be worse [2]_.
    The model confidence set leaves the worst out as long as the largest difference is larger than chance allows [3]_:
    by resamples, or, of fewer than 30 rows, clusters or runs, by Bonferroni's p-value of the pairs that are left.
    Observations, or clusters, are assumed independent, but in blocks.

    Training runs are resampled within each task, of every model by itself, R - 1 of R runs at a time, so that
    variances are unbiased; tasks are given [4]_, [5]_. Where runs are few, intervals of all models hold together by
    Sidak's level, as models are independent. Intervals are Student's with Satterthwaite's degrees of freedom.
    Coverage of 95% intervals, lognormal scores on 1, 6 and 26 tasks of unlike scale, 3 to 10 runs: mean 92 to 95%,
    iqm 94 to 98%, optimality_gap 95 to 97% (one task with few runs below gamma: 74 to 90%), median 87 to 93%;
    percentiles of resamples of R runs would cover 76 to 90% where there are few. Two models whose runs do not vary are
    not told apart: the p-value is 1 for equal aggregates, and else NaN, which is adjusted as 1.

    References
    ----------
    .. [1] Romano and Wolf (2005), Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing.
    .. [2] Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for Ranks, section 3.
    .. [3] Hansen, Lunde and Nason (2011), The Model Confidence Set, the range statistic.
    .. [4] Agarwal et al. (2021), Deep Reinforcement Learning at the Edge of the Statistical Precipice, section 4.
    .. [5] Rao and Wu (1988), Resampling Inference with Complex Survey Data, section 2.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> right = {"a": 0.90, "b": 0.89, "c": 0.70}
    >>> guesses = {name: np.where(rng.random(500) < share, y, 1 - y) for name, share in right.items()}
    >>> board = jaxci.leaderboard("accuracy", y, guesses, rng=0)
    >>> [(entry.name, entry.rank_low, entry.rank_high, entry.tied) for entry in board]
    [('b', 1, 2, True), ('a', 1, 2, True), ('c', 3, 3, False)]
    """
    settings = Settings.of(
        confidence_level,
        "two-sided",
        n_resamples,
        resampling=check_choice("resampling", resampling, ("bootstrap", *BLOCKS)),
        block_length=block_length,
        memory_limit=memory_limit,
    )
    settings.check_bank("n_resamples", settings.n_resamples)
    adjust, reference = check_choice("adjust", adjust, ("max_t", *ADJUSTMENTS)), str(reference)
    if less_is_better is not None and not isinstance(less_is_better, bool):
        raise TypeError(f"less_is_better must be True, False or None; got {shown(less_is_better)}")
    if predictions is None and of_runs(metric, y_true):
        given = by_name("y_true", y_true, ndim=3)
        _check_reference(reference, given)
        rows = {"groups": groups, "strata": strata, "sample_weight": sample_weight, "pos_label": pos_label}
        rows |= {"labels": labels, "memory_limit": memory_limit}
        if said := [name for name, x in rows.items() if x is not None]:
            raise TypeError(f"{said[0]} must be None for {metric} of runs on tasks")
        if weight_type != "importance":
            raise TypeError(f"weight_type is for rows with weights; {metric} is of runs on tasks")
        if settings.in_blocks:
            raise ValueError(f"{settings.scheme} is for rows in the order of time; {metric} is of runs on tasks")
        if check_choice("missing", missing, MISSING) != "raise":
            raise ValueError(f"missing='pairwise' is for values by case; {metric} is of runs on tasks")
        runs = RunContest.of(metric, options, given, settings, randomness(rng))
        less = _loss(less_is_better, runs.statistic, metric)
        return _told(_ranked(runs, adjust, reference, less, progress), runs.remarks())
    name = name_of(metric)
    statistic, options = configured(statistic_by_name(metric), options)
    for option in options:
        raise TypeError(f"{name} has no option {option!r}")
    what = "predictions"
    if predictions is None:
        y_true, predictions, what = None, y_true, "y_true"
    given = by_name(what, predictions, truth=y_true if labels is None else labels)
    _check_reference(reference, given)
    called = {f"predictions[{one!r}]": x for one, x in given.items()}
    pairwise = check_choice("missing", missing, MISSING) == "pairwise"
    if pairwise and statistic.task != "values":
        raise ValueError(f"missing='pairwise' is for values by case, as of 'mean'; {name} is of {statistic.task}")
    advice = "; missing='pairwise' compares any two models on the cases that both have"
    samples, statistic, remarks = read_models(
        statistic, name, y_true, called, labels, pos_label, finite=not pairwise, advice=advice
    )
    design = {"groups": groups, "strata": strata, "sample_weight": sample_weight}
    remarks = (*of_index_columns(predictions), *of_indexes({"y_true": y_true, **called, **design}), *remarks)
    check_n(samples[0])
    shared, layout = arranged(_with_all(samples), groups, strata, sample_weight, weight_type)
    settings.check_layout(layout)
    kind = Incomplete if pairwise else Contest
    contest = kind(name, statistic, tuple(given), _apart(shared), layout, settings, randomness(rng))
    contest.check()
    if statistic.task == "custom" and less_is_better is None:
        remarks = (*remarks, f"larger values of {name!r} are taken for better; less_is_better=True is for a loss")
    near = of_near_names({"groups": groups, "strata": strata})
    board = _ranked(contest, adjust, reference, _loss(less_is_better, statistic, name), progress)
    return _told(board, [*remarks, *near, *layout_remarks(layout), *contest.remarks(), *_alike(contest, board.pairs)])


def _loss(less_is_better: bool | None, statistic: Statistic | Aggregate, name: str) -> bool:
    """Whether less is better: as the statistic knows, or as told of those that do not."""
    if less_is_better is None or less_is_better == statistic.loss:
        return statistic.loss
    if isinstance(statistic, Statistic) and statistic.task not in ("values", "custom"):
        known = "a loss" if statistic.loss else "better where it is larger"
        raise ValueError(f"less_is_better is for metrics that do not know; {name} is {known}; got {less_is_better}")
    return less_is_better


def _told(board: Leaderboard, remarks: Sequence[str]) -> Leaderboard:
    """Return the board with remarks before its own, all of them announced."""
    board = dataclasses.replace(board, warnings=tuple(dict.fromkeys((*remarks, *board.warnings))))
    announce(board.warnings)
    return board


def _check_reference(reference: str, given: Mapping[str, Any]) -> None:
    if reference != "best":
        check_choice("reference", reference, ("best", *given))


def _with_all(samples: Sequence[Sample]) -> Sample:
    """Return the first sample with all others behind it, so that rows of all are taken or left together."""
    found = samples[-1]
    for one in samples[-2::-1]:
        found = dataclasses.replace(one, other=found)
    return found


def _apart(sample: Sample) -> tuple[Sample, ...]:
    """Return the samples that :func:`_with_all` has put together."""
    found, rest = [], sample
    while rest is not None:
        found.append(dataclasses.replace(rest, other=None))
        rest = rest.other
    return tuple(found)


def _units(contest: Contest | RunContest, which: Sequence[tuple[int, int]]) -> tuple[int, str]:
    """Return how many runs, clusters or rows two models are compared on at least, and which of these they are."""
    if isinstance(contest, RunContest):
        return min(len(x) for x in contest.scores), "runs"
    return min(contest.on(pair)[1].n_units for pair in which), "clusters" if contest.n_clusters else "rows"


def _ranked(
    contest: Contest | RunContest,
    adjust: str,
    reference: str,
    less_is_better: bool,
    progress: Callable[[int, int], None] | None,
) -> Leaderboard:
    """Return the models by rank."""
    names, level = contest.names, contest.settings.confidence_level
    marginal = contest.single(level)
    estimates = np.array([one.estimate for one in marginal])
    if reference == "best":
        which = list(itertools.combinations(range(len(names)), 2))
    else:
        which = [(i, names.index(reference)) for i in range(len(names)) if names[i] != reference]
    units, what = _units(contest, which)
    few = units < FEW
    independent = few and adjust == "max_t" and isinstance(contest, RunContest)
    if few and adjust == "max_t":
        adjust = "holm"
    pairs = contest.pairs(which, estimates)

    def one_of(number: int, largest: Callable[[], np.ndarray]) -> float:
        if adjust == "max_t":
            return simultaneous_level(largest(), level, number)
        return level if adjust == "none" else bonferroni_level(level, number)

    def largest_model() -> np.ndarray:
        return largest_of(standardized(contest.replicates, estimates)[0])

    of_model = sidak_level(level, len(names)) if independent else one_of(len(names), largest_model)
    levels = of_model, one_of(len(which), lambda: pairs.largest(which))
    together, differences = contest.single(levels[0]), contest.differences(which, levels[1], progress)
    pvalues = [p for _, p in differences]
    z = two_sided_z(pvalues)
    adjusted = adjusted_pvalues(pvalues, "none" if adjust == "max_t" else adjust)
    if adjust == "max_t":  # at least the p-value of the pair alone, which is not read off resamples
        signed = np.copysign(z, [of.estimate for of, _ in differences])
        stepped = np.minimum(step_down(signed, lambda i: pairs.of(*which[i])), adjusted_pvalues(pvalues, "bonferroni"))
        adjusted = np.maximum(adjusted, stepped)
    found = tuple(
        Pair(names[i], names[j], of.estimate, *of.confidence_interval, p, float(q))
        for (i, j), (of, p), q in zip(which, differences, adjusted, strict=True)
    )
    ends, errors = [one.confidence_interval for one in marginal], [one.standard_error for one in marginal]
    entries = ranked(names, estimates.tolist(), ends, errors, found, 1 - level, less_is_better)
    sign = 1.0 if less_is_better else -1.0
    best = _shares_best(sign * contest.replicates)
    if reference == "best":
        worse = np.zeros((len(names), len(names)))
        for (i, j), (of, _), score in zip(which, differences, z, strict=True):
            worse[i, j] = sign * np.nan_to_num(np.sign(of.estimate)) * score
            worse[j, i] = -worse[i, j]
        among = np.where(np.isnan(estimates), np.nan, model_confidence_set(worse, None if few else pairs))
        tied = among > 1 - level
    else:
        among = np.full(len(names), np.nan)
        tied = ~np.isnan(estimates)
        for (i, _), (of, _), q in zip(which, differences, adjusted, strict=True):
            tied[i] = q > 1 - level and not np.isnan(of.estimate)
    place = {name: number for number, name in enumerate(names)}
    entries = tuple(
        entry._replace(
            tied=bool(tied[place[entry.name]]),
            simultaneous_interval=together[place[entry.name]].confidence_interval,
            probability_best=float(best[place[entry.name]]),
            pvalue_best=float(among[place[entry.name]]),
        )
        for entry in entries
    )
    used = dict.fromkeys(str(of.method) for of, _ in differences)
    exact = "Holm, Bonferroni and Sidak" if independent else "Holm and Bonferroni"
    too_few = f"; {units} {what} are too few for max-t: {exact} are in its place" if few else ""
    return Leaderboard(
        contest.name,
        entries,
        found,
        ", ".join(used),
        adjust,
        level,
        contest.n,
        f"intervals: {', '.join(dict.fromkeys(str(one.method) for one in marginal))}; {contest.how}{too_few}",
        contest.source.record,
        (
            *_remarks(names, marginal),
            *_remarks_of_pairs(found, [of for of, _ in differences], {x for one in marginal for x in one.warnings}),
            *_untold(together, levels[0], level, f"{len(names)} models"),
            *_untold([of for of, _ in differences], levels[1], level, f"{len(which)} pairs of models"),
            *_still(found),
        ),
        reference,
        less_is_better,
        contest.n_clusters,
    )


def _shares_best(losses: np.ndarray) -> np.ndarray:
    """Return the share of resamples (m,) in which a model has the least loss (m, B), ties shared."""
    losses = np.where(np.isnan(losses), np.inf, losses)
    least = losses == losses.min(axis=0)
    return (least / least.sum(axis=0)).mean(axis=1)


def _remarks(names: Sequence[str], results: Sequence[IntervalResult]) -> tuple[str, ...]:
    """Return what is said of the models, once where it is said of several."""
    said = gathered((name, text) for name, result in zip(names, results, strict=True) for text in result.warnings)
    return tuple(text if len(of) == len(names) else f"{', '.join(of)}: {text}" for text, of in said.items())


def _remarks_of_pairs(
    pairs: Sequence[Pair], differences: Sequence[IntervalResult], said: Collection[str]
) -> tuple[str, ...]:
    """Return what is said of differences, once where it is the same of several but for numbers.

    What is ``said`` of models, or is about one of the two, is left out: the model's own interval says it.
    """
    alike: dict[str, dict[str, str]] = {}
    for pair, difference in zip(pairs, differences, strict=True):
        for text in difference.warnings:
            if text not in said and not any(f"of {one} " in text for one in (*OF_TWO, BOTH)):
                alike.setdefault(NUMBERS.sub("", text), {}).setdefault(f"{pair.a} - {pair.b}", text)
    remarks = []
    for of in alike.values():
        name, text = next(iter(of.items()))
        which = name if len(of) == 1 else f"{len(of)} of {len(pairs)} differences, such as {name}"
        remarks.append(f"{which}: {text}")
    return tuple(remarks)


def _untold(results: Sequence[IntervalResult], level: float, whole: float, several: str) -> tuple[str, ...]:
    """Say where intervals that hold together are of less than their level, as resamples do not tell it."""
    short = [one for one in results if one.confidence_level < level]
    if not short:
        return ()
    drawn, least = short[0].n_resamples, smallest_bank(tails(level))
    return (
        f"{several} hold together at {100 * whole:g}% by intervals of {100 * level:.6g}% each; {drawn} resamples tell "
        f"up to {100 * short[0].confidence_level:.6g}%, which {len(short)} of the {len(results)} have: ask for "
        f"n_resamples={least} for more",
    )


def _still(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Say which pairs have an interval without width, whatever their p-value."""
    still = [f"{pair.a} - {pair.b}" for pair in pairs if pair.low == pair.high]
    if not still:
        return ()
    return (f"{first_few(still)}: the difference does not vary, so its interval has no width",)


def _alike(contest: Contest, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Say which pairs predict the same, or have the same values, in every row."""
    own = dict(zip(contest.names, contest.samples, strict=True))
    alike = [f"{pair.a} - {pair.b}" for pair in pairs if _same(own[pair.a], own[pair.b])]
    if not alike:
        return ()
    return (f"{first_few(alike)}: all paired differences are zero: the models cannot be told apart on these data",)


def _same(first: Sample, second: Sample) -> bool:
    known = [(getattr(first, name), getattr(second, name)) for name in ("y_pred", "y_score", "values")]
    known += zip(first.columns, second.columns, strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in known if a is not None and b is not None)
