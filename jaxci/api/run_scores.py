"""Scores of training runs on several tasks: how often one model beats another, and shares above thresholds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.readers.arrays import as_floats
from jaxci.api.run_boards import run_scores
from jaxci.checks import check_confidence_level, check_count, check_distinct, shown
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.run_scores import improvement_evidence, profile_replicates
from jaxci.intervals.base import tails
from jaxci.intervals.clustered_proportion import korn_graubard, wilson_cluster
from jaxci.intervals.multiple import simultaneous_level
from jaxci.printing import ConfidenceInterval, Printable, number
from jaxci.results import IntervalResult

SHOWN = 5
"""Thresholds of a profile that are printed."""


def probability_of_improvement(
    scores_a: Any, scores_b: Any, *, confidence_level: float = 0.95, n_resamples: int = 9_999, rng: Any = None
) -> IntervalResult:
    """Probability that a run of one model beats a run of another on the same task, averaged over tasks.

    Parameters
    ----------
    scores_a, scores_b : (R, T) array_like
        Scores of R runs, at least 2, on T tasks; (R,) of one task. The models may differ in their runs.
    confidence_level : float
    n_resamples : int
        Resamples of runs within tasks that tell the standard error.
    rng : int, numpy.random.Generator, JAX key or None

    Returns
    -------
    IntervalResult
        Equal scores count one half.

    Raises
    ------
    ValueError, TypeError
        If scores are not finite, of fewer than 2 runs, or of different tasks.

    Notes
    -----
    Runs are independent, and tasks are given. The interval is Wilson's at the size of a sample whose share has the
    variance of R - 1 runs resampled of each task, at most that of models that are alike,
    ``3 T R_a R_b / (R_a + R_b + 1)``, with Student's quantile at the degrees of freedom of Brunner and Munzel's test.
    Where one model wins throughout, the runs of the other may be the only ones that vary: both count as many runs as
    the one with fewer. Coverage of 95% intervals, 1 to 26 tasks, 3 to 30 runs, probabilities of .5 to .97, standard
    deviations of runs up to 10 times apart: 94 to 100%.

    References
    ----------
    .. [1] Agarwal et al. (2021), Deep Reinforcement Learning at the Edge of the Statistical Precipice, section 4.3.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.probability_of_improvement([[3, 5], [4, 6], [5, 9]], [[1, 5], [2, 7], [4, 4]], rng=0)
    >>> round(result.estimate, 3)
    0.778
    """
    first, second = run_scores("scores_a", scores_a), run_scores("scores_b", scores_b)
    if (tasks := first.shape[1]) != second.shape[1]:
        raise ValueError(f"scores_a and scores_b must be of the same tasks; got {tasks} and {second.shape[1]} columns")
    level, size = check_confidence_level(confidence_level), check_count("n_resamples", n_resamples, 99)
    source = randomness(rng)
    found = improvement_evidence(first, second, source.key, size)
    spread, variance = found.estimate * (1 - found.estimate), found.standard_error**2
    fewer = min(len(first), len(second))
    runs_a, runs_b = (len(first), len(second)) if variance > 0 else (fewer, fewer)
    alike = 3 * tasks * runs_a * runs_b / (runs_a + runs_b + 1)
    effective = min(alike, spread / variance) if variance > 0 else alike
    low, high = wilson_cluster(np.float64(found.estimate), effective, found.degrees, tails(level))
    return IntervalResult(
        statistic="probability of improvement",
        estimate=found.estimate,
        confidence_interval=ConfidenceInterval(float(low), float(high)),
        standard_error=found.standard_error,
        method="wilson_effective",
        reason="runs are resampled within tasks",
        confidence_level=level,
        alternative="two-sided",
        n=first.size + second.size,
        n_resamples=size,
        rng=source.record,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Profile:
    """Shares (K,) of the scores of one model above thresholds, with pointwise and simultaneous bounds."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    simultaneous_low: np.ndarray
    simultaneous_high: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class PerformanceProfiles(Printable):
    """Shares of runs and tasks that score above thresholds, by model.

    Attributes
    ----------
    thresholds : (K,) array
    profiles : dict of Profile
    confidence_level : float
        Of the bounds at one threshold, and of a model's simultaneous bounds at all.
    n_resamples : int
    rng
        Repeats the result when passed as ``rng``.
    """

    thresholds: np.ndarray
    profiles: Mapping[str, Profile]
    confidence_level: float
    n_resamples: int
    rng: Any = None

    def headline(self) -> str:
        """Return the line above the table."""
        return f"shares of scores above thresholds, {100 * self.confidence_level:g}% simultaneous bounds"

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table: some of the thresholds."""
        places = np.unique(np.linspace(0, len(self.thresholds) - 1, SHOWN).round().astype(int))
        rows = [
            [name, *(number(x[k]) for x in (self.thresholds, one.share, one.simultaneous_low, one.simultaneous_high))]
            for name, one in self.profiles.items()
            for k in places
        ]
        return ["name", "threshold", "share", "low", "high"], rows

    def notes(self) -> list[str]:
        """Return the line below the table."""
        return [f"{self.n_resamples} resamples of runs within tasks; {len(self.thresholds)} thresholds"]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a model and threshold."""
        return [
            {"name": name, "threshold": float(self.thresholds[k])}
            | {f.name: float(getattr(one, f.name)[k]) for f in dataclasses.fields(one)}
            for name, one in self.profiles.items()
            for k in range(len(self.thresholds))
        ]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the fields, and a flat row a model and threshold."""
        return {**super().contents(), "profiles": self.records()}

    def __getitem__(self, name: str) -> Profile:
        return self.profiles[name]


def performance_profiles(
    scores: Mapping[str, Any],
    thresholds: Sequence[float] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9_999,
    rng: Any = None,
) -> PerformanceProfiles:
    """Share of runs and tasks in which a model scores above thresholds, with bands.

    Parameters
    ----------
    scores : dict of (R, T) array_like
        Scores of R runs, at least 2, on the same T tasks, by model.
    thresholds : sequence of float, optional
        Ascending; by default 101 quantiles of all scores.
    confidence_level : float
    n_resamples : int
        Resamples of runs within tasks that tell how shares at several thresholds hang together.
    rng : int, numpy.random.Generator, JAX key or None

    Returns
    -------
    PerformanceProfiles

    Raises
    ------
    ValueError, TypeError
        If scores are not finite, of fewer than 2 runs, or of different tasks.

    Notes
    -----
    Runs are independent, and tasks are given. A share is a mean over tasks of shares p_t of R runs, each of variance
    ``q_t (1 - q_t) / (R - 1)`` with ``q_t = (R p_t + 1/2) / (R + 1)``, which is never 0. Bounds are Wilson's at the
    size of a sample whose share has that variance; the simultaneous ones at the level whose normal quantile is the
    quantile of the largest of all standardized shares in resamples, and there no narrower than Korn and Graubard's
    exact ones [3]_, as a few scores beyond a threshold say less of so high a level than Wilson's bounds have it.
    Coverage of 95% bands, normal and lognormal scores of 3 to 20 runs on 1 to 26 tasks: pointwise 96 to 100%,
    simultaneous 95 to 100%.

    References
    ----------
    .. [1] Agarwal et al. (2021), Deep Reinforcement Learning at the Edge of the Statistical Precipice, section 4.2.
    .. [2] Dean and Pagano (2015), Evaluating confidence interval methods for binomial proportions in clustered surveys.
    .. [3] Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
       estimated from survey data.
    """
    if not isinstance(scores, Mapping) or not scores:
        raise TypeError(f"scores must be a dict of scores by model; got {shown(scores)}")
    check_distinct("scores", [str(name) for name in scores])
    read = {str(name): run_scores(f"scores[{name!r}]", x) for name, x in scores.items()}
    if len({x.shape[1] for x in read.values()}) > 1:
        found = ", ".join(f"{name!r} has {x.shape[1]}" for name, x in read.items())
        raise ValueError(f"all models must have scores of the same tasks, a column each; {found}")
    if thresholds is None:
        at = np.unique(np.quantile(np.concatenate([x.ravel() for x in read.values()]), np.linspace(0, 1, 101)))
    else:
        at = as_floats("thresholds", thresholds)
        if len(at) < 1 or np.any(np.diff(at) <= 0):
            raise ValueError(f"thresholds must ascend; got {shown(thresholds)}")
    level, size = check_confidence_level(confidence_level), check_count("n_resamples", n_resamples, 99)
    source = randomness(rng)
    profiles = {
        name: _profile(x, at, level, size, Randomness(jax.random.fold_in(source.key, i)))
        for i, (name, x) in enumerate(read.items())
    }
    return PerformanceProfiles(at, profiles, level, size, source.record)


def _profile(scores: np.ndarray, at: np.ndarray, level: float, n_resamples: int, source: Randomness) -> Profile:
    runs, tasks = scores.shape
    shares = (scores[..., None] > at).mean(axis=0)
    smooth = (runs * shares + 0.5) / (runs + 1)
    parts = smooth * (1 - smooth) / (runs - 1) / tasks**2
    errors = np.sqrt(parts.sum(axis=0))
    degrees = (runs - 1) * parts.sum(axis=0) ** 2 / np.sum(parts**2, axis=0)
    share = shares.mean(axis=0)
    size = np.maximum(share, 0.5 / scores.size) * np.maximum(1 - share, 0.5 / scores.size) / errors**2
    with jax.enable_x64(True):
        drawn = np.asarray(profile_replicates(jnp.asarray(scores), jnp.asarray(at), source.key, n_resamples))
    together = tails(simultaneous_level(np.max(np.abs(drawn - share) / errors, axis=1), level, len(at)))
    low, high = wilson_cluster(share, size, degrees, together)
    exact_low, exact_high = korn_graubard(share, size, math.inf, degrees, together)
    bounds = wilson_cluster(share, size, degrees, tails(level))
    return Profile(share, *bounds, np.minimum(low, exact_low), np.maximum(high, exact_high))
