"""Models by the scores of their training runs on several tasks."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy import special

from jaxci.api.contests import Contestants
from jaxci.api.readers.arrays import as_floats
from jaxci.api.readers.models import numbers_of
from jaxci.api.runs import skewed_models, uneven_runs
from jaxci.checks import check_number, shown
from jaxci.inference.randomness import Randomness
from jaxci.inference.run_scores import RunEvidence, run_evidence
from jaxci.inference.settings import Settings
from jaxci.intervals.multiple import Pairs, in_units
from jaxci.intervals.pvalues import NO_VARIATION, two_sided
from jaxci.printing import ConfidenceInterval
from jaxci.results import IntervalResult
from jaxci.statistics.run_scores import AGGREGATES, Aggregate, OptimalityGap, TaskMean, TaskMedian

OF_RUNS_ALONE = frozenset({"iqm", "optimality_gap"})
"""Names that stand for an aggregate of runs whatever the data."""
MOST = 1e305
"""The largest score, of either sign: differences of scores, and margins of some of them, are then numbers."""
FARTHER, LARGE = math.exp(2.0), 10.0
"""How many times as far the upper end of a gap lies at most as it would on the scale of scores; and a ratio of the two
distances at which it does.
"""
FAR = 300
"""Powers of two up to which squares of scores, and products of these, are numbers."""
MANY_RUNS = 50
"""Runs from which on, where they are ten times as many as tasks, rows may be something else."""

FEW_GAPS, OF_FEW_GAPS = 8, "76% to 94% in simulations"
"""Of so few scores below the target it is said how often intervals held (``benchmarks/optimality_gaps.py``)."""


OF_MEDIANS = (
    "94% to 97% of normal runs in simulations, 71% to 93% of lognormal ones and 46% to 98% where 10 to 30% of the runs "
    "of a task fail; those of iqm, which leaves out the lowest and the highest quarter of all scores, 92% to 99% of "
    "all these"
)
"""How often intervals of the median over tasks held, and those of the interquartile mean
(``benchmarks/training_runs.py``).
"""


def of_runs(metric: Any, scores: Any) -> bool:
    """Whether models are asked to be compared by runs on tasks: (R, T) scores of each."""
    if not isinstance(metric, str) or metric not in AGGREGATES:
        return False
    if isinstance(scores, Mapping):
        return metric in OF_RUNS_ALONE or any(np.ndim(x) == 2 for x in scores.values())
    return metric in OF_RUNS_ALONE or numbers_of("y_true", scores).ndim == 3


def aggregate_by_name(name: str, options: Mapping[str, Any]) -> Aggregate:
    """Return an aggregate with its options set."""
    found = AGGREGATES[name]
    fields = {f.name for f in dataclasses.fields(found)}
    for option, value in options.items():
        if option not in fields:
            raise TypeError(f"{name} of runs has no option {option!r}")
        check_number(option, value, "be finite", math.isfinite)
    return dataclasses.replace(found, **options) if options else found


def run_scores(name: str, scores: Any) -> np.ndarray:
    """Return scores (R, T) of runs on tasks, at least two runs; (R,) are of one task."""
    found = as_floats(name, scores, (1, 2))
    found = found[:, None] if found.ndim == 1 else found
    if found.shape[0] < 2 or found.shape[1] < 1:
        raise ValueError(f"{name} must hold at least 2 runs of a task or more; got shape {np.shape(scores)}")
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class RunContest(Contestants):
    """Models with runs of their own on the same tasks; runs of two models are independent."""

    name: str
    statistic: Aggregate
    names: tuple[str, ...]
    scores: tuple[np.ndarray, ...]
    settings: Settings
    source: Randomness

    @classmethod
    def of(
        cls, name: str, options: Mapping[str, Any], scores: Mapping[str, Any], settings: Settings, source: Randomness
    ) -> RunContest:
        """Read the scores of every model by its name."""
        read = {called: run_scores(f"scores of {called!r}", x) for called, x in scores.items()}
        for called, x in read.items():
            largest = x.flat[np.argmax(np.abs(x))]
            if abs(largest) > MOST:
                raise ValueError(f"scores of {called!r} must lie within +-{MOST:g}; got {shown(largest)}")
        widths = {called: x.shape[1] for called, x in read.items()}
        if len(set(widths.values())) > 1:
            found = ", ".join(f"{called!r} has {width}" for called, width in widths.items())
            raise ValueError(f"all models must have scores of the same tasks, a column each; {found}")
        return cls(name, aggregate_by_name(name, options), tuple(scores), tuple(read.values()), settings, source)

    @property
    def n(self) -> int:
        """Runs of all tasks of the first model."""
        return self.scores[0].size

    @property
    def how(self) -> str:
        """How models hang together."""
        return f"{self.settings.n_resamples} resamples of runs within each of {self.scores[0].shape[1]} tasks"

    @functools.cached_property
    def evidence(self) -> list[RunEvidence]:
        """What resamples say of every model, of scores over a power of two."""
        keys = [jax.random.fold_in(self.source.key, number) for number in range(len(self.names))]
        size, statistic, power = self.settings.n_resamples, self.statistic, self._power
        if power and isinstance(statistic, OptimalityGap):
            statistic = dataclasses.replace(statistic, gamma=math.ldexp(statistic.gamma, -power))
        scores = [np.ldexp(x, -power) for x in self.scores]
        found = [run_evidence(statistic, x, key, size) for x, key in zip(scores, keys, strict=True)]
        least = [NO_VARIATION * float(np.max(np.abs(x))) for x in scores]
        errors = [one.standard_error * (one.standard_error > by) for one, by in zip(found, least, strict=True)]
        return [dataclasses.replace(one, standard_error=error) for one, error in zip(found, errors, strict=True)]

    @functools.cached_property
    def _power(self) -> int:
        """The power of two that scores are divided by where their squares would overflow, or vanish; else 0."""
        power = in_units(np.concatenate([x.ravel() for x in self.scores]))[1]
        return power if abs(power) > FAR else 0

    @functools.cached_property
    def replicates(self) -> np.ndarray:
        """Replicates (m, B) of every model."""
        return np.ldexp(np.stack([one.replicates for one in self.evidence]), self._power)

    def single(self, level: float) -> list[IntervalResult]:
        """Return the interval of every model; that of a gap, which is not below 0 and skewed, on the log scale."""
        found = [
            self._interval(one.estimate, one.standard_error, one.degrees, level, x.size)
            for one, x in zip(self.evidence, self.scores, strict=True)
        ]
        return [_on_log_scale(one) for one in found] if isinstance(self.statistic, OptimalityGap) else found

    def differences(
        self, which: Sequence[tuple[int, int]], level: float, progress: Callable[[int, int], None] | None
    ) -> list[tuple[IntervalResult, float]]:
        """Return the interval and the p-value of the differences of models."""
        answers = []
        for i, j in which:
            a, b = self.evidence[i], self.evidence[j]
            parts = np.array([a.standard_error, b.standard_error]) ** 2
            error = math.sqrt(parts.sum())
            inverse = float(parts**2 @ (1 / np.array([a.degrees, b.degrees])))
            degrees = parts.sum() ** 2 / inverse if inverse > 0 else a.degrees + b.degrees
            estimate = a.estimate - b.estimate
            if error == 0 and abs(estimate) <= NO_VARIATION * abs(a.estimate):  # means of equal runs round
                estimate = 0.0
            found = self._interval(estimate, error, degrees, level, self.scores[i].size + self.scores[j].size)
            answers.append((found, two_sided(estimate, error, degrees)))
        return answers

    def pairs(self, which: Sequence[tuple[int, int]], estimates: np.ndarray) -> Pairs:
        """Return the replicates of differences of models."""
        return Pairs(in_units(self.replicates - self.replicates.mean(axis=1, keepdims=True))[0])

    def remarks(self) -> list[str]:
        """Return what is to be said of the aggregate and the runs."""
        found = []
        if isinstance(self.statistic, TaskMedian) and self.scores[0].shape[1] > 1:
            found.append(f"95% intervals of the median over tasks covered {OF_MEDIANS}")
        runs, tasks = self.scores[0].shape
        of_model = dict(zip(self.names, self.scores, strict=True))
        if tasks == 1:
            found += uneven_runs({name: len(x) for name, x in of_model.items()})
        found += skewed_models(of_model) if isinstance(self.statistic, TaskMean | TaskMedian) else ()
        if runs >= max(MANY_RUNS, 10 * tasks) and tasks > 1:
            found.append(
                f"{runs} rows are taken for independent runs on {tasks} tasks; of several answers to each of {runs} "
                "questions give a row an answer, and groups= for the questions"
            )
        found += self._few_gaps()
        still = [name for name, one in zip(self.names, self.evidence, strict=True) if not one.standard_error > 0]
        if still:
            found.append(f"{', '.join(still)}: runs do not differ in {self.name}: the interval has no width")
        return found

    def _few_gaps(self) -> list[str]:
        """Say of which models few scores are below the target, so that these decide."""
        if not isinstance(self.statistic, OptimalityGap):
            return []
        target = self.statistic.gamma
        below = {name: int((x < target).sum()) for name, x in zip(self.names, self.scores, strict=True)}
        few = [f"{count} of {name}" for name, count in below.items() if count < FEW_GAPS]
        if not few:
            return []
        held = f"95% intervals of gaps of fewer than {FEW_GAPS} covered {OF_FEW_GAPS}"
        return [f"few scores are below gamma = {target:g} ({', '.join(few)}): {held}"]

    def _interval(self, estimate: float, error: float, degrees: float, level: float, n: int) -> IntervalResult:
        estimate, error = math.ldexp(estimate, self._power), math.ldexp(error, self._power)
        half = float(special.stdtrit(degrees, (1 + level) / 2)) * error
        return IntervalResult(
            statistic=self.name,
            estimate=estimate,
            confidence_interval=ConfidenceInterval(estimate - half, estimate + half),
            standard_error=error,
            method="stratified_t",
            reason="few runs of each task: Student's t with Satterthwaite's degrees of freedom",
            confidence_level=level,
            alternative="two-sided",
            n=n,
            n_resamples=self.settings.n_resamples,
        )


def _on_log_scale(found: IntervalResult) -> IntervalResult:
    """Return an interval whose ends are symmetric in the logarithm, where the estimate is positive.

    The upper one is at most :data:`FARTHER` times as far as on the scale of the scores: of two runs the logarithm would
    be anything.
    """
    half = found.confidence_interval.high - found.estimate
    if not (found.estimate > 0 and half > 0):
        return found
    ratio = half / found.estimate
    beyond = half * (min(math.expm1(ratio) / ratio, FARTHER) if ratio < LARGE else FARTHER)
    ends = ConfidenceInterval(found.estimate * math.exp(-ratio), min(found.estimate + beyond, sys.float_info.max))
    return dataclasses.replace(found, confidence_interval=ends, reason=f"{found.reason}, on the log scale")
