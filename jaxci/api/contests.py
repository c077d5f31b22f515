"""What models are compared on: the rows that all have, or those that any two have."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from jaxci.inference.engine import comparison, intervals
from jaxci.inference.joint import joint_replicates, longest_block
from jaxci.inference.randomness import Randomness
from jaxci.inference.replicate import chunk_workers
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.bootstrap import smallest_bank
from jaxci.intervals.multiple import Differences, Pairs, PairsApart, in_units, level_told_by
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import paired_difference
from jaxci.statistics.sample import Sample

Answer = TypeVar("Answer")


class Contestants(abc.ABC):
    """Models that are ranked: by name, with intervals, differences and replicates.

    Attributes: ``name`` of the statistic, ``names`` of the models, ``settings``, ``source`` of randomness.
    """

    name: str
    names: tuple[str, ...]
    settings: Settings
    source: Randomness

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """Observations."""

    @property
    def n_clusters(self) -> int:
        """Clusters that observations come in, 0 where they are independent."""
        return 0

    @property
    @abc.abstractmethod
    def how(self) -> str:
        """How models hang together."""

    @property
    @abc.abstractmethod
    def replicates(self) -> np.ndarray:
        """Replicates (m, B) of every model."""

    @abc.abstractmethod
    def single(self, level: float) -> list[IntervalResult]:
        """Return the interval of every model."""

    @abc.abstractmethod
    def differences(
        self, which: Sequence[tuple[int, int]], level: float, progress: Callable[[int, int], None] | None
    ) -> list[tuple[IntervalResult, float]]:
        """Return the interval and the p-value of the differences of models."""

    @abc.abstractmethod
    def pairs(self, which: Sequence[tuple[int, int]], estimates: np.ndarray) -> Differences:
        """Return the replicates of differences of models."""

    @abc.abstractmethod
    def remarks(self) -> list[str]:
        """Return what is to be said of the data."""


def _first_drawn(answers: Iterable[Answer], interval_of: Callable[[Answer], IntervalResult]) -> Answer:
    """Return the first answer that was read off resamples, the last where none was."""
    for answer in answers:
        if interval_of(answer).n_resamples:
            break
    return answer


@dataclasses.dataclass(frozen=True)
class Contest(Contestants):
    """What models are compared on: a sample of each, how the rows count, and the replicates that they share."""

    name: str
    statistic: Statistic
    names: tuple[str, ...]
    samples: tuple[Sample, ...]
    layout: Layout
    settings: Settings
    source: Randomness

    @property
    def n(self) -> int:
        """Observations."""
        return self.layout.n

    @property
    def n_clusters(self) -> int:
        """Clusters that observations come in, 0 where they are independent."""
        return 0 if self.layout.units is None else self.layout.n_units

    @property
    def how(self) -> str:
        """How models hang together."""
        mean = " on average" if self.settings.resampling == "stationary" else ""
        blocks = f" of blocks of {self.block_length:.4g} rows{mean}" if self.settings.in_blocks else ""
        return f"{self.settings.n_resamples} resamples{blocks} shared by all models"

    @functools.cached_property
    def block_length(self) -> float:
        """Length of the blocks of rows that all models are resampled with, 1 where rows are drawn."""
        if not self.settings.in_blocks:
            return 1.0
        return longest_block(self.statistic, self.samples, self.layout, self.settings)

    def on(self, members: Sequence[int]) -> tuple[list[Sample], Layout]:
        """Return the samples of some models on the rows that count for all of them, and their layout."""
        return [self.samples[i] for i in members], self.layout

    def levels(self, level: float, several: str) -> list[Settings]:
        """Return the settings that one of ``several`` intervals is asked with, until one of them gives an answer.

        Where no number of resamples was asked for, and they do not tell the level, the first tell what they can: that
        is the answer of methods that read them.
        """
        if level == self.settings.confidence_level:
            return [self.settings]
        at = dataclasses.replace(self.settings, confidence_level=level, together=f", that of {several} together")
        if not at.exact or smallest_bank(at.tails) <= at.n_resamples:
            return [at]
        told = max(self.settings.confidence_level, level_told_by(at.n_resamples))
        return [dataclasses.replace(at, confidence_level=told), at]

    def single(self, level: float) -> list[IntervalResult]:
        """Return the interval of every model."""
        request, levels = Request(self.name, self.statistic), self.levels(level, f"{len(self.names)} models")

        def one(i: int) -> IntervalResult:
            (sample,), layout = self.on([i])
            asked = (intervals([request], sample, layout, settings, self.source)[0] for settings in levels)
            return _first_drawn(asked, lambda found: found)

        return [one(i) for i in range(len(self.names))]

    def differences(
        self, which: Sequence[tuple[int, int]], level: float, progress: Callable[[int, int], None] | None
    ) -> list[tuple[IntervalResult, float]]:
        """Return the interval and the p-value of the differences of models."""
        request = Request(self.name, paired_difference(self.statistic))
        levels = self.levels(level, f"{len(which)} pairs of models")

        def one(pair: tuple[int, int]) -> tuple[IntervalResult, float]:
            (first, second), layout = self.on(pair)
            both = dataclasses.replace(first, other=second)
            asked = (comparison(request, both, layout, settings, self.source) for settings in levels)
            found = _first_drawn(asked, lambda found: found.difference)
            return found.difference, found.pvalue.value

        answers = []
        with ThreadPoolExecutor(chunk_workers()) as own:  # those that replicates are drawn in would wait for themselves
            for answer in own.map(one, which):
                answers.append(answer)
                if progress is not None:
                    progress(len(answers), len(which))
        return answers

    @functools.cached_property
    def replicates(self) -> np.ndarray:
        """Replicates (m, B) of every model."""
        return joint_replicates(
            self.statistic, self.samples, self.layout, self.settings, self.source, self.block_length
        )

    def pairs(self, which: Sequence[tuple[int, int]], estimates: np.ndarray) -> Differences:
        """Return the replicates of differences of models."""
        return Pairs(in_units(np.nan_to_num(self.replicates - estimates[:, None], nan=0.0))[0])

    def check(self) -> None:
        """Refuse rows that models cannot be compared on: none."""

    def remarks(self) -> list[str]:
        """Return what is to be said of the rows: nothing."""
        return []


class Incomplete(Contest):
    """Models that lack some of the cases: values that are NaN. Two are compared on the cases that both have."""

    @functools.cached_property
    def seen(self) -> np.ndarray:
        """Which cases (m, n) every model has."""
        return ~np.isnan([sample.values for sample in self.samples])

    def check(self) -> None:
        """Refuse models, and pairs of them, that are not seen on two cases, and blocks of rows with gaps."""
        if self.settings.in_blocks:
            raise ValueError(f"missing='pairwise' does not go with {self.settings.scheme}, which draws blocks of rows")
        both = self.seen.astype(float) @ self.seen.T
        for i, j in np.argwhere(both < 2)[:1]:
            whose = f"{self.names[i]!r} has" if i == j else f"{self.names[i]!r} and {self.names[j]!r} have together"
            raise ValueError(f"missing='pairwise' needs at least 2 cases of any two models; {whose} {both[i, j]:.0f}")

    def on(self, members: Sequence[int]) -> tuple[list[Sample], Layout]:
        """Return the samples of some models on the cases that all of them have, and their layout."""
        rows = np.flatnonzero(self.seen[list(members)].all(axis=0))
        return [self.samples[i].take(rows) for i in members], self.layout.of_some(rows)

    @functools.cached_property
    def filled(self) -> tuple[Sample, ...]:
        """Samples with 0 for what is missing, which weighs nothing."""
        return tuple(dataclasses.replace(one, values=np.nan_to_num(one.values, nan=0.0)) for one in self.samples)

    def _weighing(self, rows: np.ndarray) -> Layout:
        weights = np.ones(self.layout.n) if self.layout.row_weights is None else self.layout.row_weights
        return dataclasses.replace(self.layout, row_weights=np.where(rows, weights, 0.0))

    @functools.cached_property
    def replicates(self) -> np.ndarray:
        """Replicates (m, B) of every model on the cases that it has."""
        layouts = [self._weighing(rows) for rows in self.seen]
        return joint_replicates(self.statistic, self.filled, layouts, self.settings, self.source)

    def pairs(self, which: Sequence[tuple[int, int]], estimates: np.ndarray) -> Differences:
        """Return the replicates of differences of models, each on the cases that both have."""
        both = [dataclasses.replace(self.filled[i], other=self.filled[j]) for i, j in which]
        layouts = [self._weighing(self.seen[i] & self.seen[j]) for i, j in which]
        found = joint_replicates(paired_difference(self.statistic), both, layouts, self.settings, self.source)
        apart, _ = in_units(np.nan_to_num(found - np.nanmean(found, axis=1, keepdims=True), nan=0.0))
        return PairsApart(dict(zip(which, apart, strict=True)))

    def remarks(self) -> list[str]:
        """Return how many cases models lack."""
        lost: Any = (~self.seen).sum(axis=1)
        if not lost.any():
            return []
        most = int(np.argmax(lost))
        return [
            f"{np.count_nonzero(lost)} of {len(self.names)} models lack cases ({self.names[most]!r} {lost[most]} of "
            f"{self.layout.n}): each is estimated on its own cases, and two are compared on those that both have"
        ]
