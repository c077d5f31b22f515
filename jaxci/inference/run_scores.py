"""Resamples of training runs within tasks, and what they say of an aggregate of the scores."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.resampling.kernels import count_rows, in_parts
from jaxci.statistics.run_scores import Aggregate

TOGETHER = 2**22
"""Scores that are drawn at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class RunEvidence:
    """An aggregate of runs, its replicates (B,), its standard error and the degrees of freedom of that."""

    estimate: float
    replicates: np.ndarray
    standard_error: float
    degrees: float


def run_evidence(aggregate: Aggregate, scores: np.ndarray, key: jax.Array, n_resamples: int) -> RunEvidence:
    """Return what resamples of runs within tasks say of an aggregate of ``scores`` (R, T).

    Every resample draws R - 1 of the R runs of each task, with replacement, so that the variance of a mean is unbiased
    however few they are [1]_. Tasks are given: they are not resampled. The degrees of freedom are Satterthwaite's, of
    the parts of the variance that tasks have: with the means m_t by task of what drives the aggregate theta,
    ``v_t = cov(theta, m_t)^2 / var(m_t)`` over resamples and ``(R - 1) (sum v_t)^2 / sum v_t^2``.

    References
    ----------
    .. [1] Rao and Wu (1988), Resampling Inference with Complex Survey Data, JASA 83, 231-241, section 2, m = n - 1.
    """
    runs, tasks = scores.shape
    with jax.enable_x64(True):
        found, means = jax.device_get(_replicates(aggregate, jnp.asarray(scores), key, n_resamples, runs - 1))
        estimate = float(aggregate(jnp.asarray(scores)))
    apart, moves = found - found.mean(), means - means.mean(axis=0)
    variances = np.mean(moves**2, axis=0)
    parts = (apart @ moves / n_resamples) ** 2 / np.where(variances > 0, variances, 1.0)
    squares = float(parts @ parts)
    degrees = (runs - 1) * float(parts.sum() ** 2 / squares if squares > 0 else tasks)
    return RunEvidence(estimate, found, math.sqrt(np.mean(apart**2)), degrees)


@functools.partial(jax.jit, static_argnames=("aggregate", "n_resamples", "draws"))
def _replicates(
    aggregate: Callable[[Any], Any], scores: jax.Array, key: jax.Array, n_resamples: int, draws: int
) -> tuple[jax.Array, jax.Array]:
    """Return the aggregate (B,) and means by task (B, T) of resamples of ``draws`` runs of each task."""
    runs, tasks = scores.shape
    driving = aggregate.driving(scores)  # type: ignore[attr-defined]

    def one(own: jax.Array) -> tuple[jax.Array, jax.Array]:
        rows = jax.random.randint(own, (draws, tasks), 0, runs)
        drawn = jnp.take_along_axis(scores, rows, axis=0)
        return aggregate(drawn), jnp.take_along_axis(driving, rows, axis=0).mean(axis=0)

    size = max(1, min(n_resamples, TOGETHER // (draws * tasks)))
    return jax.lax.map(one, jax.random.split(key, n_resamples), batch_size=size)


def _wins(first: Any, second: Any) -> Any:
    """Return which pairs of runs (..., R, R', T) ``first`` wins, ties halved."""
    apart = first[..., :, None, :] - second[..., None, :, :]
    return (apart > 0) + 0.5 * (apart == 0)


def improvement_evidence(first: np.ndarray, second: np.ndarray, key: jax.Array, n_resamples: int) -> RunEvidence:
    """Return what resamples of runs within tasks say of the share of pairs of runs of a task that ``first`` wins.

    The degrees of freedom are Satterthwaite's, of the variances of the placements of each model's runs in each task
    [1]_. Where one model wins throughout the standard error is 0, and both count as many runs as the one with fewer.

    References
    ----------
    .. [1] Brunner and Munzel (2000), The Nonparametric Behrens-Fisher Problem, Biometrical Journal 42, 17-25.
    """
    with jax.enable_x64(True):
        draws = _improvements(jnp.asarray(first), jnp.asarray(second), key, n_resamples)
        by_task = np.asarray(draws)
    wins = _wins(first, second)
    parts = np.stack([wins.mean(axis=1).var(axis=0, ddof=1), wins.mean(axis=0).var(axis=0, ddof=1)], axis=1)
    parts /= len(first), len(second)
    squares = float(np.sum(parts**2 / (len(first) - 1, len(second) - 1)))
    fewer = min(len(first), len(second))
    degrees = float(parts.sum()) ** 2 / squares if squares > 0 else first.shape[1] * 2 * (fewer - 1)
    variance = by_task.var(axis=0).sum() / first.shape[1] ** 2 if squares > 0 else 0.0
    return RunEvidence(float(wins.mean()), by_task.mean(axis=1), math.sqrt(variance), degrees)


@functools.partial(jax.jit, static_argnames="n_resamples")
def _improvements(first: jax.Array, second: jax.Array, key: jax.Array, n_resamples: int) -> jax.Array:
    """Return the shares of pairs that ``first`` wins (B, T) in resamples of R - 1 of the R runs of each task and model.

    How often runs are drawn weighs which of all pairs are won: a product for each task.
    """
    wins = _wins(first, second)

    def counts(own: jax.Array, scores: jax.Array) -> jax.Array:
        runs, tasks = scores.shape
        return count_rows(jax.random.randint(own, (runs - 1, tasks), 0, runs).T.astype(jnp.int32), runs)

    def of(keys: jax.Array) -> jax.Array:
        own = jax.vmap(jax.random.split)(keys)
        ours, theirs = (
            jax.vmap(counts, (0, None))(own[:, side], scores) for side, scores in enumerate((first, second))
        )
        of_tasks = [
            jnp.sum((ours[:, task] @ wins[..., task]) * theirs[:, task], axis=1) for task in range(first.shape[1])
        ]
        return jnp.stack(of_tasks, axis=1) / ((len(first) - 1) * (len(second) - 1))

    return in_parts(of, jax.random.split(key, n_resamples), max(1, TOGETHER // (first.size + second.size)))


@functools.partial(jax.jit, static_argnames="n_resamples")
def profile_replicates(scores: jax.Array, thresholds: jax.Array, key: jax.Array, n_resamples: int) -> jax.Array:
    """Return the share of scores above thresholds (B, K) in resamples of R - 1 of the R runs of each task."""
    runs, tasks = scores.shape

    def one(own: jax.Array) -> jax.Array:
        rows = jax.random.randint(own, (runs - 1, tasks), 0, runs)
        ordered = jnp.sort(jnp.take_along_axis(scores, rows, axis=0).ravel())
        return 1 - jnp.searchsorted(ordered, thresholds, side="right") / ordered.size

    size = max(1, min(n_resamples, TOGETHER // (scores.size + thresholds.size)))
    return jax.lax.map(one, jax.random.split(key, n_resamples), batch_size=size)
