"""Coverage of every method on data like the user's: fit a distribution, simulate, judge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import jax
import numpy as np

from jaxci.coverage.cell import Cell, cell_truths, run_cell
from jaxci.coverage.tally import Judgement
from jaxci.distributions import AdaptiveKDE, Cells, Distribution, EmpiricalRows, LogitKDE
from jaxci.results import aligned, html_table, number
from jaxci.statistics.base import Sample, Statistic

SHORTFALL = 0.01
"""A method whose coverage is further below its level than this is not recommended."""
NOMINAL = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.999)
"""Nominal levels tried when a method is calibrated."""


@dataclasses.dataclass(frozen=True, eq=False)
class CoverageCheck:
    """How the methods do on data like the user's.

    Attributes
    ----------
    statistic, distribution : str
        What was estimated, and the distribution that was fitted and simulated.
    n : int
    confidence_level : float
    judgements : tuple of Judgement
        One a method, in the order asked for; coverage by enumeration has no Monte-Carlo error.
    recommended : str or None
        The method with the narrowest intervals among those that reach the level within one
        percentage point and two standard errors; None if none does.
    calibrated_levels : dict of str to float
        Nominal level at which each method reaches ``confidence_level`` (NaN where no level below
        0.999 does); empty unless asked for.
    """

    statistic: str
    distribution: str
    n: int
    confidence_level: float
    judgements: tuple[Judgement, ...]
    recommended: str | None
    calibrated_levels: dict[str, float]
    rng: object = None

    def __getitem__(self, method: str) -> Judgement:
        for judgement in self.judgements:
            if judgement.method == method:
                return judgement
        raise KeyError(f"no method {method!r} here; there are {[j.method for j in self.judgements]}")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        header = ["method", "coverage", "std. error", "below", "above", "mean width"]
        rows = [
            [j.method, *(number(x) for x in (j.coverage, j.coverage_error, j.below, j.above, j.mean_width))]
            for j in self.judgements
        ]
        if self.calibrated_levels:
            header.append("calibrated level")
            for row in rows:
                row.append(number(self.calibrated_levels[row[0]]))
        return header, rows

    def _headline(self) -> str:
        level = f"{100 * self.confidence_level:g}%"
        return (
            f"Coverage of {level} intervals for {self.statistic} at n = {self.n}, data drawn from {self.distribution}"
        )

    def _advice(self) -> str:
        if self.recommended is None:
            return "no method reaches its level here: use calibrate=True, or more data"
        return f"use method={self.recommended!r}: the narrowest that reaches its level"

    def __str__(self) -> str:
        header, rows = self._table()
        return "\n".join([self._headline(), aligned(header, rows), self._advice()])

    def _repr_html_(self) -> str:
        return f"<div>{self._headline()}</div>{html_table(*self._table())}<div>{self._advice()}</div>"


def fitted(statistic: Statistic, sample: Sample) -> Distribution:
    """Return the distribution that suits what ``statistic`` reads of ``sample``.

    Labels: their table. Per-case values: an adaptive kernel estimate, within [0, 1] where all
    values are. Probabilities: a kernel estimate of their logits, with labels. Otherwise the rows.
    """
    if sample.values is not None:
        inside = sample.values.min() >= 0 and sample.values.max() <= 1
        return AdaptiveKDE.fit(sample.values, (0.0, 1.0) if inside else (-np.inf, np.inf))
    if sample.n_classes == 0:
        raise ValueError(
            "a coverage check needs per-case values or class labels; regression rows cannot be simulated yet"
        )
    if "y_score" not in statistic.inputs:
        return Cells.fit(sample.y_true, sample.y_pred, sample.n_classes)
    scores = sample.y_score
    if scores.min() < 0 or scores.max() > 1:
        return EmpiricalRows(sample.y_true, y_score=scores, n_classes=sample.n_classes)
    tiny = np.finfo(float).tiny
    if scores.ndim == 1:
        return LogitKDE.fit(np.log(np.maximum(scores, tiny)) - np.log(np.maximum(1 - scores, tiny)), sample.y_true)
    return LogitKDE.fit(np.log(np.maximum(scores, tiny)), sample.y_true)


def check(
    statistic: Statistic,
    name: str,
    distribution: Distribution,
    n: int,
    methods: Sequence[str],
    key: jax.Array,
    *,
    confidence_level: float = 0.95,
    n_replications: int = 2_000,
    n_resamples: int = 1_999,
    calibrate: bool = False,
    rng: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> CoverageCheck:
    """Judge ``methods`` for ``statistic`` on samples of n from ``distribution``.

    A proportion of all rows is enumerated, without simulation; everything else is simulated
    with shared banks of resamples.

    Raises
    ------
    ValueError
        If the statistic has no true value under the distribution.
    """
    levels = sorted({confidence_level, *(NOMINAL if calibrate else ())})
    groups = max(2, min(80, n_replications // 25))
    cell = Cell(distribution, n, {name: statistic}, methods, levels, n_replications, n_resamples, groups)
    truths = cell_truths(distribution, cell.statistics, key)
    if math.isnan(truths[name].value):
        raise ValueError(truths[name].how)
    result = run_cell(cell, key, truths=truths, progress=progress)
    judged = {level: tuple(j for j in result.judgements if j.level == level) for level in levels}
    chosen = judged[confidence_level]
    reached = {
        method: calibrated_level({level: _of(judged[level], method).coverage for level in levels}, confidence_level)
        for method in ([j.method for j in chosen] if calibrate else [])
    }
    return CoverageCheck(
        name, distribution.label, n, confidence_level, chosen, recommended(chosen, confidence_level), reached, rng
    )


def _of(judgements: Sequence[Judgement], method: str) -> Judgement:
    return next(j for j in judgements if j.method == method)


def recommended(judgements: Sequence[Judgement], level: float) -> str | None:
    """Return the method with the narrowest intervals among those that reach ``level``."""
    good = [
        j for j in judgements if j.coverage + 2 * j.coverage_error >= level - SHORTFALL and not math.isnan(j.mean_width)
    ]
    return min(good, key=lambda j: j.mean_width).method if good else None


def calibrated_level(coverages: dict[float, float], target: float) -> float:
    """Return the smallest nominal level whose coverage reaches ``target``, interpolated; NaN if none does."""
    levels = np.array(sorted(coverages))
    reached = np.maximum.accumulate([coverages[level] for level in levels])
    above = np.flatnonzero(reached >= target)
    if not above.size:
        return math.nan
    right = above[0]
    if right == 0 or reached[right] == target:
        return float(levels[right])
    left = right - 1
    share = (target - reached[left]) / (reached[right] - reached[left])
    return float(levels[left] + share * (levels[right] - levels[left]))
