"""Differences of groups to the rest, to all rows and to each other, that hold together."""

from __future__ import annotations

import enum
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxci.api.subgroup_results import Contrast
from jaxci.intervals.differences import Difference, Ends, recovered, studentized
from jaxci.intervals.multiple import FEW, Pairs, adjusted_pvalues, bonferroni_level, simultaneous_level, step_down
from jaxci.results import IntervalResult

DRAWS = 100_000
"""Normal draws that the critical values of several differences are read from."""
STILL = 1e-9
"""Share of its size below which the deviation of replicates is rounding."""


class ToAll(enum.Enum):
    """What is known of the difference of a group to all rows.

    All rows lie ``BETWEEN`` the group and the rest, so that both differences have one sign, and the same p-values; it
    has a law of its ``OWN``; or none of them is the case.
    """

    BETWEEN = enum.auto()
    OWN = enum.auto()
    UNKNOWN = enum.auto()


class Along(NamedTuple):
    """How the statistic T of all rows goes along with those of G groups and of what is left without each, (G,) each.

    To the first order T moves by ``own`` times what that of the group does and by ``rest`` times what that of the rest
    does; the share ``left`` of its variance is none of both. Of a mean these are the shares of the rows, and 0.
    """

    own: np.ndarray
    rest: np.ndarray
    left: np.ndarray

    def difference(self, i: np.ndarray, ends: Ends, error: float, level: float, wider: float) -> Difference:
        """Return the differences of some groups to all rows, whose standard error is ``error``.

        The margins of the group and of the rest, as much as each moves the difference, recover its variance.
        """
        size, step = len(self.own), float(special.ndtri((1 + level) / 2))
        own, rest = (_turned(ends.at(k), share) for k, share in ((i, 1 - self.own[i]), (size + i, -self.rest[i])))
        left = self.left[i] * (step * error) ** 2
        below, above = (np.sqrt(one**2 + other**2 + left) for one, other in zip(own, rest, strict=True))
        apart = ends.estimate[i] - ends.estimate[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(apart == 0, 0.0, step * apart / np.where(apart > 0, below, above))
        return Difference(apart, apart - wider * below, apart + wider * above, z)


def _turned(ends: Ends, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins below and above of ``factor`` times what has these intervals."""
    below, above = ends.estimate - ends.low, ends.high - ends.estimate
    return np.where(factor > 0, below, above) * np.abs(factor), np.where(factor > 0, above, below) * np.abs(factor)


class Apart(NamedTuple):
    """How estimates differ: some differences from their numbers, and the law of all of them, in draws.

    ``difference`` is called with two arrays of numbers and the level of the intervals. Draws of ``few`` clusters do not
    tell how far the largest difference may be.
    """

    difference: Callable[[np.ndarray, np.ndarray, float], Difference]
    draws: Pairs
    few: bool = False

    def together(self, which: Sequence[tuple[int, int]], level: float) -> float:
        """Return the level of the intervals of some differences at which all hold together at ``level``."""
        if self.few:
            return bonferroni_level(level, len(which))
        return simultaneous_level(self.draws.largest(which), level, len(which))

    def adjusted(self, which: Sequence[tuple[int, int]], found: Difference) -> np.ndarray:
        """Return the p-values of some differences, adjusted for their number; NaN where they are."""
        if self.few:
            adjusted = adjusted_pvalues(found.pvalue, "holm")
        else:
            z = np.nan_to_num(found.z, nan=0.0, posinf=1e9, neginf=-1e9)
            drawn = [self.draws.of(*pair) for pair in which]  # no more than are held already
            adjusted = np.fmax(step_down(z, drawn.__getitem__), found.pvalue)
        return np.where(np.isnan(found.z), np.nan, adjusted)

    @property
    def least(self) -> float:
        """The smallest adjusted p-value that draws show."""
        return 0.0 if self.few else 1 / (1 + self.draws.apart.shape[1])


def widening(level: float, together: float) -> float:
    """Return how much wider normal intervals are at the level ``together`` than at ``level``."""
    return float(special.ndtri((1 + together) / 2) / special.ndtri((1 + level) / 2))


def sizes_of(estimates: Sequence[IntervalResult]) -> np.ndarray:
    """Return the numbers of rows, repeated ones of a frequency."""
    return np.array([one.n_rows or one.n for one in estimates], float)


def errors_of(estimates: Sequence[IntervalResult], ends: Ends, level: float) -> np.ndarray:
    """Return standard errors; where a method has none, or 0, those of a normal interval as wide.

    A group without a mistake has an error of 0, and yet it varies: were its draws all 0, differences to it would hang
    together more than they do.
    """
    known = np.array([one.standard_error for one in estimates], float)
    as_wide = (ends.high - ends.low) / (2 * float(special.ndtri((1 + level) / 2)))
    return np.nan_to_num(np.where(known > 0, known, as_wide), nan=0.0, posinf=0.0)


def independent(estimates: Sequence[IntervalResult], ends: Ends, level: float, along: Along | None = None) -> Apart:
    """Return differences of G groups, of what is left without each, and of all rows, where groups are independent.

    What is left without a group is a mean of the others by size, to the first order; so are all rows, unless it is
    known how they go ``along`` with each. Draws are normal.
    """
    size = len(estimates) // 2
    sizes = sizes_of(estimates[:size])
    errors = errors_of(estimates, ends, level)
    shares = np.concatenate([np.eye(size), np.tile(sizes, (size + 1, 1))])
    shares[size + np.arange(size), np.arange(size)] = 0.0
    totals = shares.sum(axis=1, keepdims=True)
    parts = shares / np.where(totals > 0, totals, 1.0) * errors[:size]
    lengths = np.sqrt(np.sum(parts**2, axis=1, keepdims=True))
    parts = parts / np.where(lengths > 0, lengths, 1.0)
    known = parts @ parts.T

    drawn, weights = _normal_draws(size), sizes * errors[:size]
    others = np.sqrt(np.sum((shares[size:] * errors[:size]) ** 2, axis=1))
    scales = np.divide(errors[size:], others, out=np.zeros(size + 1), where=others > 0)
    total, draws = weights @ drawn, np.empty((2 * size + 1, DRAWS))
    np.multiply(errors[:size, None], drawn, out=draws[:size])
    np.multiply(-weights[:, None], drawn, out=draws[size:-1])
    draws[size:-1] += total
    draws[-1] = total
    draws[size:] *= scales[:, None]
    if along is not None:
        draws[-1] = (along.own * errors[:size]) @ drawn

    def difference(i: np.ndarray, j: np.ndarray, together: float) -> Difference:
        if along is not None and (j == 2 * size).all():
            return along.difference(i, ends, errors[-1], level, widening(level, together))
        return recovered(ends.at(i), ends.at(j), known[i, j], level, widening(level, together))

    return Apart(difference, Pairs(draws))


@functools.lru_cache(maxsize=4)
def _normal_draws(size: int) -> np.ndarray:
    """Return a table (size, DRAWS) that critical values are read from: the same for the same data."""
    drawn = np.random.default_rng(0).standard_normal((size, DRAWS))
    drawn.flags.writeable = False
    return drawn


def of_clusters(ends: Ends, replicates: np.ndarray, n_clusters: int, level: float, reaching: bool) -> Apart:
    """Return differences of groups that share clusters: t intervals by the deviation of replicates.

    Resamples of C of C clusters vary by the share (C - 1) / C of what C clusters do, to the first order.
    A group without an error does not vary in resamples, and where ``reaching``, small ones may vary too little, or
    shares are skewed. There a difference is as wide as follows from its intervals at least, times ``sqrt(1 - r)``: for
    a correlation r >= 0 it has at least the share 1 - r of the variances of both.
    """
    draws = Pairs(np.nan_to_num(replicates - np.nanmean(replicates, axis=1, keepdims=True), nan=0.0))
    still = np.abs(draws.apart).max(axis=1) <= STILL * np.abs(ends.estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.where(still | still[:, None], 0.0, np.nan_to_num(np.corrcoef(draws.apart)).clip(0.0, 1.0))

    def difference(i: np.ndarray, j: np.ndarray, together: float) -> Difference:
        drawn = np.array([np.sqrt(np.mean(draws.apart_from(*pair) ** 2)) for pair in zip(i, j, strict=True)])
        error = math.sqrt(n_clusters / (n_clusters - 1)) * drawn
        known = studentized(ends.estimate[i], ends.estimate[j], error, n_clusters - 1, together)
        share, wider = np.sqrt(1 - alike[i, j]), widening(level, together)
        least = recovered(_part(ends.at(i), share), _part(ends.at(j), share), 0.0, level, wider)
        floored = reaching | still[i] | still[j]
        return Difference(
            known.estimate,
            np.where(floored, np.fmin(known.low, least.low), known.low),
            np.where(floored, np.fmax(known.high, least.high), known.high),
            np.where(floored & (np.abs(least.z) < np.abs(known.z)), least.z, known.z),
        )

    return Apart(difference, draws, n_clusters < FEW)


def _part(ends: Ends, share: np.ndarray) -> Ends:
    """Return intervals with a share of their margins."""
    return Ends(
        ends.estimate,
        ends.estimate - share * (ends.estimate - ends.low),
        ends.estimate + share * (ends.high - ends.estimate),
    )


def compared(
    estimates: Sequence[IntervalResult], few: np.ndarray, apart: Apart, level: float, most: float, to_all: ToAll
) -> tuple[list[tuple[Contrast, Contrast]], tuple[int, int, tuple[float, float, float]] | None]:
    """Return the differences of every group to the rest and to all rows, and the largest gap between groups.

    No difference is larger than ``most``, the range of the statistic; none is known of what is ``few``, or leaves few.
    """
    size = len(estimates) // 2

    def contrasts(targets: Sequence[int]) -> list[Contrast]:
        which = list(zip(range(size), targets, strict=True))
        i, j = np.transpose(which)
        found = apart.difference(i, j, apart.together(which, level))
        unknown = few[i] | few[size + i] | few[j]
        found = Difference(*(np.where(unknown, np.nan, x) for x in found))
        columns = (found.estimate, found.low, found.high, found.pvalue, apart.adjusted(which, found))
        return [Contrast(*row) for row in np.transpose(columns).tolist()]

    to_rest = contrasts(range(size, 2 * size))
    if to_all is ToAll.OWN:
        to_whole = contrasts([2 * size] * size)
    else:
        apart_of = [own.estimate - estimates[-1].estimate for own in estimates[:size]]
        scaled = _to_whole if to_all is ToAll.BETWEEN else _margins_of_rest
        to_whole = [scaled(*one) for one in zip(to_rest, apart_of, strict=True)]
    both = [(_within(rest, most), _within(whole, most)) for rest, whole in zip(to_rest, to_whole, strict=True)]
    seen = [g for g in range(size) if not (few[g] or math.isnan(estimates[g].confidence_interval.low))]
    if len(seen) < 2:
        return both, None
    which = [
        (i, j) if estimates[i].estimate >= estimates[j].estimate else (j, i) for i, j in itertools.combinations(seen, 2)
    ]
    i, j = np.transpose(which)
    found = apart.difference(i, j, apart.together(which, level))
    high, low = which[int(np.argmax(found.estimate))]
    largest = float(np.fmax.reduce(np.fmax(found.high, -found.low)))
    least = max(0.0, float(np.fmax.reduce(found.low)))
    return both, (high, low, (float(found.estimate.max()), least, min(largest, most)))


def _within(found: Contrast, most: float) -> Contrast:
    """Return a difference whose interval is cut at what differences can be."""
    low, high = np.clip((found.low, found.high), -most, most).tolist()
    return found._replace(low=low, high=high)


def _to_whole(rest: Contrast, estimate: float) -> Contrast:
    """Return the difference of a group to all rows: that to the rest on the scale of its estimate, with its p-values.

    For a mean the scale is the share of the rows that are not in the group. Where both estimates differ in sign, or the
    rest's is 0, there is no scale.
    """
    if estimate * rest.estimate > 0:
        scale = estimate / rest.estimate
        return rest._replace(estimate=estimate, low=scale * rest.low, high=scale * rest.high)
    return rest if estimate == rest.estimate else _margins_of_rest(rest, estimate)


def _margins_of_rest(rest: Contrast, estimate: float) -> Contrast:
    """Return the difference of a group to all rows with the margins of that to the rest, and without p-values.

    That is on the safe side, as all rows vary less.
    """
    below, above = rest.estimate - rest.low, rest.high - rest.estimate
    return rest._replace(
        estimate=estimate, low=estimate - below, high=estimate + above, pvalue=math.nan, adjusted=math.nan
    )
