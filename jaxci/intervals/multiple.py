"""Many comparisons at once: adjusted p-values, simultaneous levels and sets of models that may be the best.

What is tested are statistics ``z`` in units of standard errors; how they hang together is told by replicates, taken
from their estimates in the same units. Each statistic may come from a test of its own: a p-value p has
``z = Phi^{-1}(1 - p / 2)``.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

ADJUSTMENTS = ("holm", "bonferroni", "none")
"""Adjustments that read p-values alone."""
FURTHEST, BLOCK = 16, 2_000
"""Models that are paired first in every resample, and resamples that are looked at together."""
TOO_CLOSE = 0.5
"""Correlation of two models from which on all pairs are formed in every resample."""
ROUNDING = 1e-9
"""Share of a bound that rounding may take."""
FEW = 30
"""Rows, clusters or runs below which resamples do not tell how far the largest statistic of several may be."""


def adjusted_pvalues(pvalues: Sequence[float], adjust: str) -> np.ndarray:
    """Return p-values adjusted for their number m.

    "bonferroni": ``min(1, m p)``; "holm" (1979): the largest of ``(m - i) p`` up to each, p-values in ascending order,
    i from 0; NaN counts as 1.
    """
    p = np.nan_to_num(np.asarray(pvalues, np.float64), nan=1.0)
    if adjust == "none" or not len(p):
        return p
    if adjust == "bonferroni":
        return np.minimum(1.0, len(p) * p)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, steps)
    return found


def two_sided_z(pvalues: Any) -> np.ndarray:
    """Return how many standard errors a normal statistic is from 0 that has the two-sided p-values; NaN counts as 1."""
    p = np.clip(np.nan_to_num(np.asarray(pvalues, np.float64), nan=1.0), 1e-300, 1.0)
    return -special.ndtri(p / 2)


def in_units(apart: np.ndarray) -> tuple[np.ndarray, int]:
    """Return numbers (...) over the power of two at the largest, and that power: their squares do not overflow."""
    power = int(np.frexp(np.max(np.abs(apart), initial=0.0))[1])
    return np.ldexp(apart, -power), power


def standardized(replicates: np.ndarray, estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return replicates (m, B) less their estimates (m,) in standard errors, and these (m,).

    Undefined replicates, and all of a statistic that never varies, are 0: they never are the largest.
    """
    apart, power = in_units(np.nan_to_num(replicates - estimates[:, None], nan=0.0))
    errors = np.sqrt(np.mean(apart**2, axis=1))
    return apart / np.where(errors > 0, errors, 1.0)[:, None], np.ldexp(errors, power)


def largest_of(apart: np.ndarray) -> np.ndarray:
    """Return the largest (B,) of standardized statistics (m, B), where those that never vary count as independent ones.

    A perfect model does not vary in resamples, and yet its interval may miss.
    """
    still = ~apart.any(axis=1)
    drawn = np.random.default_rng(0).standard_normal((int(still.sum()), apart.shape[1]))
    return np.abs(np.concatenate([apart[~still], drawn])).max(axis=0)


NO_MORE = 1e-9
"""What the difference of two models that vary alike may be beside what each of them varies."""


class Differences(abc.ABC):
    """Differences of models i less j in resamples."""

    @abc.abstractmethod
    def apart_from(self, i: int, j: int) -> np.ndarray:
        """Return the replicates (B,) of one difference, less its estimate."""

    def of(self, i: int, j: int) -> np.ndarray:
        """Return the replicates (B,) of one difference in standard errors; 0 where it never varies."""
        found = self.apart_from(i, j)
        error = np.sqrt(np.mean(found**2))
        return found / error if error > 0 else np.zeros_like(found)

    def largest(self, which: Iterable[tuple[int, int]]) -> np.ndarray:
        """Return the largest of some differences, of either sign, in every resample (B,)."""
        return functools.reduce(np.maximum, (np.abs(self.of(i, j)) for i, j in which))


@dataclasses.dataclass(frozen=True)
class Pairs(Differences):
    """Differences of models that are resampled together: replicates ``apart`` (m, B), less the models' estimates."""

    apart: np.ndarray

    @functools.cached_property
    def widest(self) -> np.ndarray:
        """How far the replicates of each model are from its estimate at most (m,)."""
        return np.maximum(self.apart.max(axis=1), -self.apart.min(axis=1))

    def apart_from(self, i: int, j: int) -> np.ndarray:
        """Return the replicates (B,) of one difference, less its estimate; 0 where it is of rounding alone."""
        found = self.apart[i] - self.apart[j]
        found[np.abs(found) <= NO_MORE * max(self.widest[i], self.widest[j])] = 0.0
        return found

    def largest(self, which: Iterable[tuple[int, int]]) -> np.ndarray:
        """Return the largest of some differences, of either sign, in every resample (B,)."""
        which = list(which)
        members = sorted({*itertools.chain(*which)})
        if len(members) > 4 * FURTHEST and 2 * len(which) == len(members) * (len(members) - 1):
            in_a_row = members[-1] - members[0] < len(members)
            apart = self.apart[members[0] : members[-1] + 1] if in_a_row else self.apart[members]
            together = apart @ apart.T / apart.shape[1]
            errors = np.sqrt(np.diag(together))
            units = np.where(errors > 0, errors, 1.0)
            closest = float(np.max(np.abs(np.triu(together / (units * units[:, None]), 1))))
            if closest < TOO_CLOSE:
                squares = errors**2 + errors[:, None] ** 2 - 2 * together
                factors = np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
                blocks = (apart[:, start : start + BLOCK] for start in range(0, apart.shape[1], BLOCK))
                return np.concatenate([_widest(block, units, factors, closest) for block in blocks])
        return super().largest(which)


def _widest(apart: np.ndarray, errors: np.ndarray, factors: np.ndarray, closest: float) -> np.ndarray:
    """Return the largest (b,) of all differences of ``apart`` (m, b), of either sign, times their ``factors`` (m, m).

    Two models that are x and y of their own standard errors from 0, of correlation r, are no more than
    ``sqrt((x^2 + y^2) / (1 - |r|))`` standard errors of their difference apart (Cauchy and Schwarz): in most resamples
    the largest is among the few models that are furthest from 0. The others are paired where that is not sure.
    """
    size = (np.abs(apart) / errors[:, None]).T
    order = np.argpartition(size, -FURTHEST - 1, axis=1)[:, -FURTHEST - 1 :].T
    next_one, furthest = order[0], order[1:]
    values = np.take_along_axis(apart, furthest, axis=0)
    found = np.zeros(apart.shape[1])
    for i, j in itertools.combinations(range(FURTHEST), 2):
        found = np.maximum(found, np.abs(values[i] - values[j]) * factors[furthest[i], furthest[j]])
    reach = size.max(axis=1) ** 2 + np.take_along_axis(size.T, next_one[None], axis=0)[0] ** 2
    unsure = np.flatnonzero(reach * (1 + ROUNDING) >= (1 - closest) * found**2)
    others = apart[:, unsure]
    for i in range(len(apart) - 1):
        differences = np.abs(others[i] - others[i + 1 :]) * factors[i, i + 1 :, None]
        found[unsure] = np.maximum(found[unsure], differences.max(axis=0))
    return found


@dataclasses.dataclass(frozen=True)
class PairsApart(Differences):
    """Differences that each have cases of their own: replicates (B,) by pair, less the estimate."""

    replicates: Mapping[tuple[int, int], np.ndarray]

    def apart_from(self, i: int, j: int) -> np.ndarray:
        """Return the replicates (B,) of one difference, less its estimate."""
        return self.replicates[i, j] if (i, j) in self.replicates else -self.replicates[j, i]


def bonferroni_level(level: float, number: int) -> float:
    """Return the level of each of ``number`` intervals at which all hold together at ``level``, however they hang."""
    return 1 - (1 - level) / number


def sidak_level(level: float, number: int) -> float:
    """Return the level of each of ``number`` independent intervals at which all hold together at ``level``."""
    return level ** (1 / number)


def simultaneous_level(largest: np.ndarray, level: float, number: int) -> float:
    """Return the level of each of ``number`` intervals at which all hold together at ``level``.

    ``largest`` (B,) is the largest statistic of every resample, in standard errors: its quantile is the critical value
    of all, and the level is that of a normal interval with it (single-step max-t), at most :func:`bonferroni_level`:
    resamples with heavy tails would take it further. Those of fewer than :data:`FEW` units have tails too light.
    """
    critical = float(np.quantile(largest, level, method="higher"))
    return max(level, min(float(2 * special.ndtr(critical) - 1), bonferroni_level(level, number)))


def level_told_by(n_resamples: int) -> float:
    """Return a level of two-sided intervals, close to the largest, whose ends so many resamples tell."""
    return 1 - 2 / n_resamples


def step_down(z: np.ndarray, replicates: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return p-values of differences and their directions, adjusted by the step-down max-t test.

    Every difference is two hypotheses, that it is not above 0 and that it is not below: both are tested together, so
    that no direction is told wrongly either.

    Parameters
    ----------
    z : (m,) array
        Differences in standard errors, of either sign.
    replicates : callable
        From the number of a difference to its replicates (B,), of either sign.

    Returns
    -------
    (m,) array
        The share of resamples, the data among them, in which the largest of the one-sided statistics that are no larger
        reaches it; at least that of any larger one.

    References
    ----------
    .. [1] Romano and Wolf (2005), Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing, section 4.
    .. [2] Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for Ranks, section 3, which has both directions.
    """
    size, toward = np.abs(z), np.where(np.signbit(z), -1.0, 1.0)
    found, order = np.ones(len(z)), np.argsort(size, kind="stable")
    largest = np.full_like(replicates(0), -np.inf)
    for number in order:  # against the direction of the data no hypothesis falls
        largest = np.maximum(largest, -toward[number] * replicates(int(number)))
    for number in order:
        largest = np.maximum(largest, toward[number] * replicates(int(number)))
        found[number] = (1 + np.count_nonzero(largest >= size[number])) / (1 + len(largest))
    best_first = order[::-1]
    found[best_first] = np.maximum.accumulate(found[best_first])
    return found


def model_confidence_set(z: np.ndarray, pairs: Differences | None) -> np.ndarray:
    """Return p-values of models being among the best (Hansen, Lunde and Nason 2011, the range statistic T_R).

    Parameters
    ----------
    z : (m, m) array
        How much worse model i is than j, in standard errors; antisymmetric.
    pairs : Differences or None
        Replicates of the differences of models; None: what chance allows is Bonferroni's for the pairs that are left.

    Returns
    -------
    (m,) array
        Models with a p-value above alpha are the set that holds all best models with probability 1 - alpha. The
        best model of the data has 1.

    Notes
    -----
    The worst model, that with the largest statistic against another one, is left out as long as the largest statistic
    of those that are left is larger than chance allows; p-values are the largest up to each. Cost O(m^2 B).
    """
    left, order, largest = list(range(len(z))), [], []
    while len(left) > 1:
        within = z[np.ix_(left, left)]
        largest.append(float(within.max()))
        order.append(left.pop(int(np.argmax(within.max(axis=1)))))
    found = np.ones(len(z))
    if pairs is None:
        size = np.arange(len(z), 1, -1)
        found[order] = np.minimum(1.0, size * (size - 1) * special.ndtr(-np.array(largest)))
    else:
        reached: Any = 0.0
        inside = list(left)
        for model, statistic in zip(order[::-1], largest[::-1], strict=True):
            reached = np.maximum(reached, pairs.largest((model, other) for other in inside))
            inside.append(model)
            found[model] = (1 + np.count_nonzero(reached >= statistic)) / (1 + len(reached))
    found[order] = np.maximum.accumulate(found[order])
    return found
