"""Aggregates of the scores of training runs on several tasks."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import jax.numpy as jnp

CUT = 0.25
"""Share of the scores that the interquartile mean leaves out at either end."""


@dataclasses.dataclass(frozen=True)
class Aggregate(abc.ABC):
    """One number from scores (..., R, T) of R runs on T tasks.

    Class attributes: ``loss`` (whether less is better).
    """

    loss: ClassVar[bool] = False

    @abc.abstractmethod
    def __call__(self, scores: Any) -> Any:
        """Return the aggregate (...)."""

    def driving(self, scores: Any) -> Any:
        """Return values like ``scores`` (R, T) whose means by task drive the aggregate, to the first order."""
        return scores


class TaskMean(Aggregate):
    """The mean over tasks of the mean over runs."""

    def __call__(self, scores: Any) -> Any:
        """Return the aggregate (...)."""
        return scores.mean(axis=(-2, -1))


class TaskMedian(Aggregate):
    """The median over tasks of the mean over runs."""

    def __call__(self, scores: Any) -> Any:
        """Return the aggregate (...)."""
        return jnp.median(scores.mean(axis=-2), axis=-1)


class InterquartileMean(Aggregate):
    """The mean of the middle half of all scores: ``floor(R T / 4)`` are left out at either end."""

    def __call__(self, scores: Any) -> Any:
        """Return the aggregate (...)."""
        ordered = jnp.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
        cut = int(CUT * ordered.shape[-1])
        return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)

    def driving(self, scores: Any) -> Any:
        """Return the scores cut at the lowest and the highest that count."""
        ordered = jnp.sort(scores.ravel())
        cut = int(CUT * len(ordered))
        return jnp.clip(scores, ordered[cut], ordered[len(ordered) - 1 - cut])


@dataclasses.dataclass(frozen=True)
class OptimalityGap(Aggregate):
    """By how much the scores, cut at ``gamma``, are below it on average: the lack of those that are not good enough."""

    gamma: float = 1.0
    loss: ClassVar[bool] = True

    def __call__(self, scores: Any) -> Any:
        """Return the aggregate (...)."""
        return self.gamma - jnp.minimum(scores, self.gamma).mean(axis=(-2, -1))

    def driving(self, scores: Any) -> Any:
        """Return the scores, cut at ``gamma``."""
        return jnp.minimum(scores, self.gamma)


AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {"mean": TaskMean(), "median": TaskMedian(), "iqm": InterquartileMean(), "optimality_gap": OptimalityGap()}
)
"""Aggregates by the names that users type."""
