"""Whether an interval can be trusted on data like the user's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.interval import interval
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.samples import check_n, is_function, sample_for
from jaxci.checks import check_confidence_level, check_count, shown
from jaxci.coverage.cell import Cell
from jaxci.coverage.check import CoverageCheck, check, quick_methods
from jaxci.coverage.fitting import fitted
from jaxci.coverage.running import run_cell
from jaxci.coverage.tally import Judgement
from jaxci.distributions.base import Distribution
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.remarks import announce
from jaxci.intervals.base import Method
from jaxci.intervals.registry import method_by_name
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import configured, name_of, statistic_by_name
from jaxci.statistics.sample import Sample

PURPOSE_CHECK = 7
"""Separates the draws of a check from those of the intervals beside it."""


def check_coverage(
    statistic: Any,
    *data: Any,
    methods: Iterable[str | Method] | None = None,
    n: int | None = None,
    confidence_level: float = 0.95,
    n_replications: int = 2_000,
    n_resamples: int = 1_999,
    max_replications: int | None = None,
    calibrate: bool = False,
    groups: Any = None,
    strata: Any = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    rng: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> CoverageCheck:
    """Coverage and width of interval methods on data like the user's.

    A distribution is fitted to the data, samples of n are drawn from it, and every method is
    judged by how often its two-sided interval holds the true value. Labels are drawn from their
    table, per-case values from an adaptive kernel estimate, probabilities from a kernel estimate
    of their logits with their labels, everything else from the rows themselves: of a regression, or
    of the columns that a user's own statistic reads. With ``groups`` rows are drawn in as many clusters of the
    same relative sizes, and as alike as those of the data; with ``strata`` each has its law and its share.

    Parameters
    ----------
    statistic : str or Statistic
        A metric's name, or an object such as ``jaxci.statistics.F1(average="macro")`` or
        ``jaxci.statistics.WeightedFunction(f)``.
    *data : array_like
        What the statistic reads: ``values``; or ``y_true, y_pred``; or ``y_true, y_score``; or the
        columns of a weighted function, numbers or truth values.
    methods : iterable of str or Method, optional
        Interval methods; by default those that are quick to simulate for the statistic.
    n : int, optional
        Sample size to judge the methods at; that of the data by default.
    confidence_level : float
        Between 0 and 1.
    n_replications, n_resamples : int
        Simulated data sets R, and bootstrap resamples B of each.
    max_replications : int, optional
        R is doubled until the recommendation is settled beyond the error of the simulation, or it would be more than
        this; 4 R by default. With R itself nothing is added.
    calibrate : bool
        Whether to look for the nominal level at which each method reaches ``confidence_level``
        (the iterated bootstrap, on shared banks of resamples), and, where ``n`` is that of the
        data, to compute the interval for them at that level.
    groups, strata, labels, pos_label, rng, progress
        As in :func:`jaxci.evaluate`.
    **options
        Fields of the statistic (``q``, ``zero_division``, ``bounds`` of a mean, which the data drawn keep ...).

    Returns
    -------
    CoverageCheck
        One row a method; ``recommended`` names the one to use.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, a method does not serve the statistic, or the statistic
        has no true value under the fitted distribution.

    Notes
    -----
    The coverage of a share of all rows (accuracy) is a finite sum without simulation error.
    Everything else carries the Monte-Carlo error ``coverage_error``, from the variance between
    groups of data sets that share a bank. Clusters are assumed to differ in nothing but their size: rows of one are
    copies of each other with a probability that is the intraclass correlation
    (:class:`~jaxci.distributions.Clustered`). Source: Andre et al. (2026), section 4, for the fitted distributions;
    Beran (1987) for calibration; Donner (1986) for the correlation.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> y = np.array([0, 1] * 20)
    >>> guess = np.where(np.arange(40) % 5 == 0, 1 - y, y)
    >>> result = jaxci.check_coverage("accuracy", y, guess, methods=["wald", "wilson"])
    >>> round(result["wald"].coverage, 3), round(result["wilson"].coverage, 3), str(result.recommended)
    (0.905, 0.928, 'wilson')
    """
    name = name_of(statistic)
    if is_function(statistic):
        raise TypeError(f"statistic must be a metric's name or an object of jaxci.statistics; got {shown(statistic)}")
    resolved, options = configured(statistic_by_name(statistic), options)
    if "sample_weight" in options:
        raise TypeError("check_coverage takes no sample_weight: simulated rows weigh alike")
    if options:
        raise TypeError(f"{name} has no option {next(iter(options))!r}")
    sample, resolved, remarks = sample_for(resolved, name, data, labels=labels, pos_label=pos_label)
    check_n(sample)
    if sample.y_score is not None and len(np.unique(sample.y_true)) < 2:
        raise ValueError("y_true must hold at least 2 classes where scores are simulated; got 1")
    level = check_confidence_level(confidence_level)
    size = sample.n if n is None else check_count("n", n, 2)
    replications = check_count("n_replications", n_replications, 2)
    resamples = check_count("n_resamples", n_resamples, 1)
    most = 4 * replications
    if max_replications is not None:
        most = check_count("max_replications", max_replications, replications)
    sample, layout = arranged(sample, groups, strata, None, "importance")
    chosen = quick_methods(resolved, layout.given) if methods is None else _serving(methods, resolved, layout.given)
    source = randomness(rng)
    found = check(
        resolved,
        name,
        _fitted([resolved], sample, layout, size),
        size,
        chosen,
        jax.random.fold_in(source.key, PURPOSE_CHECK),
        confidence_level=level,
        n_replications=replications,
        n_resamples=resamples,
        max_replications=most,
        calibrate=calibrate,
        progress=progress,
    )
    calibrated = None
    chosen_one = _to_calibrate(found)
    if chosen_one is not None and size == sample.n:
        at = found.calibrated_levels[chosen_one.label]
        calibrated = interval(
            resolved,
            *data,
            method=chosen_one.method,
            confidence_level=at,
            groups=groups,
            strata=strata,
            labels=labels,
            pos_label=pos_label,
            rng=source.record,
        )
        calibrated = dataclasses.replace(calibrated, statistic=name)
    found = dataclasses.replace(found, calibrated=calibrated, rng=source.record, flags=(*remarks, *found.flags))
    announce(found.flags)
    return found


def _serving(methods: Iterable[str | Method], statistic: Statistic, given: frozenset[str]) -> list[Method]:
    """Return ``methods`` as a list of those, each once, that serve ``statistic``."""
    chosen = list(map(method_by_name, [methods] if isinstance(methods, str | Method) else methods))
    if not chosen:
        raise ValueError("methods must name at least one method; got none")
    for method in chosen:
        refusal = method.refusal_of_rows(statistic, given)
        if refusal is not None:
            raise ValueError(f"methods must serve the statistic; {refusal}")
    return list(dict.fromkeys(chosen))


def _fitted(statistics: Sequence[Statistic], sample: Sample, layout: Layout, n: int) -> Distribution:
    with jax.enable_x64(True):
        return fitted(statistics, sample, layout, n)


def _to_calibrate(found: CoverageCheck) -> Judgement | None:
    """Return the method to calibrate: the recommended one, or the one whose level changes least."""
    levels = found.calibrated_levels
    reached = [j for j in found.judgements if not math.isnan(levels.get(j.label, math.nan))]
    best = [j for j in reached if j.method == found.recommended]
    return min(best or reached, key=lambda j: abs(levels[j.label] - found.confidence_level), default=None)


def _simulated(method: Any, statistic: Statistic, given: frozenset[str]) -> Method:
    """Return the method whose coverage is simulated: by draws where its law is one of a single data set."""
    found = method_by_name(method)
    return found if found.refusal_of_rows(statistic, given) is None else found.drawn


def with_coverage(
    rows: Sequence[IntervalResult],
    statistics: dict[str, Statistic],
    sample: Sample,
    layout: Layout,
    source: Randomness,
) -> list[IntervalResult]:
    """Return the rows of a table, each with the coverage that its own method reaches on data like these.

    Statistics that read the same columns are judged on the same simulated data sets.
    """
    key = jax.random.fold_in(source.key, PURPOSE_CHECK)
    by_inputs: dict[str, list[IntervalResult]] = {}
    for row in rows:
        if not math.isnan(row.estimate):
            by_inputs.setdefault("scores" if "y_score" in statistics[row.statistic].inputs else "rest", []).append(row)
    judged = {}
    for together in by_inputs.values():
        mine = {row.statistic: statistics[row.statistic] for row in together}
        methods = {row.statistic: [_simulated(row.method, mine[row.statistic], layout.given)] for row in together}
        level = together[0].confidence_level
        law = _fitted(list(mine.values()), sample, layout, sample.n)
        cell = Cell(law, sample.n, mine, methods, [level], n_replications=2_000, n_resamples=1_999)
        judged.update({j.statistic: j for j in run_cell(cell, key).judgements})
    return [
        dataclasses.replace(
            row, coverage=judged[row.statistic].coverage, coverage_error=judged[row.statistic].coverage_error
        )
        if row.statistic in judged
        else row
        for row in rows
    ]
