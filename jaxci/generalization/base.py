"""What methods read: the losses of a plan's splits; and what they return."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxci.checks import shown
from jaxci.resampling.plan import Plan


class LossInterval(NamedTuple):
    """Estimate of a generalization error, interval and standard error (NaN where there is none).

    ``df`` are the degrees of freedom of the t distribution behind it: infinite for a normal one, NaN
    for quantiles. ``pvalue`` is that of 0, where it is not that of a t or normal distribution.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    df: float = math.nan
    remarks: tuple[str, ...] = ()
    pvalue: float | None = None

    def turned(self, offset: float, sign: float) -> LossInterval:
        """Return the interval of ``offset + sign * loss``, for a sign of 1 or -1."""
        ends = sorted((offset + sign * self.low, offset + sign * self.high))
        return self._replace(estimate=offset + sign * self.estimate, low=ends[0], high=ends[1])

    def times(self, unit: float) -> LossInterval:
        """Return the interval in another unit."""
        parts = {name: unit * getattr(self, name) for name in ("estimate", "low", "high", "standard_error")}
        return self._replace(**parts)


class IncompleteFits(ValueError):
    """A method that needs every split met failed fits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Resampled:
    """Losses of the splits of one plan.

    Attributes
    ----------
    plan : Plan
    losses : (S, n) array
        Loss of row i under the model of split s; read where ``plan.test_mask`` is true.
    failed : (S,) bool array, optional
        Splits whose model could not be fitted; their losses are not read.
    no_information : (S,) array, optional
        No-information rate of the models that are tested on their training sample; NaN for others.
    scores : (S,) array, optional
        A metric of the split that is not a mean of losses; ``losses`` are then all NaN.
    weights : (n,) array, optional
        Case weights of the mean losses of splits.
    of_means : bool
        Whether ``scores`` are means of losses over the rows that splits test.
    """

    plan: Plan
    losses: np.ndarray
    failed: np.ndarray | None = None
    no_information: np.ndarray | None = None
    scores: np.ndarray | None = None
    weights: np.ndarray | None = None
    of_means: bool = False

    def __post_init__(self) -> None:
        shape = self.plan.test_mask.shape
        if np.shape(self.losses) != shape:
            raise ValueError(f"losses must have the shape of the plan, {shape}; got {np.shape(self.losses)}")
        if self.scores is None:
            bad = self.plan.test_mask & ~np.isfinite(self.losses) & self.kept[:, None]
            if bad.any():
                split, row = np.argwhere(bad)[0]
                raise ValueError(
                    f"losses must be finite where rows are tested; {int(bad.sum())} are not, first at ({split}, {row})"
                )

    @property
    def largest(self) -> float:
        """The largest loss, or metric, of those that are read, of either sign; 0 where there is none."""
        read = self.means if self.scores is not None else self.tested
        return float(np.max(np.abs(read), initial=0.0, where=~np.isnan(read)))

    def over(self, power: int) -> Resampled:
        """Return the losses over a power of two."""
        columns = {name: getattr(self, name) for name in ("losses", "no_information", "scores")}
        less = {name: np.ldexp(x, -power) for name, x in columns.items() if x is not None}
        return dataclasses.replace(self, **less)

    @property
    def kept(self) -> np.ndarray:
        """Splits whose model was fitted (S,)."""
        return np.ones(len(self.plan), bool) if self.failed is None else ~self.failed

    @functools.cached_property
    def tested(self) -> np.ndarray:
        """Losses (S, n) in double precision, NaN where a split does not test."""
        return np.where(self.plan.test_mask & self.kept[:, None], np.asarray(self.losses, np.float64), np.nan)

    @functools.cached_property
    def sums(self) -> np.ndarray:
        """Sum of the losses of every split (S,)."""
        return np.nansum(self.tested, axis=1)

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """Rows that every split tests (S,)."""
        return self.plan.test_mask.sum(axis=1)

    @functools.cached_property
    def means(self) -> np.ndarray:
        """Mean loss, or the metric, of every split (S,); NaN where the fit failed."""
        if self.scores is not None:
            found = np.asarray(self.scores, np.float64)
        elif self.weights is not None:
            weights = np.where(self.plan.test_mask, self.weights, 0.0)
            found = np.nansum(self.tested * weights, axis=1) / weights.sum(axis=1)
        else:
            found = self.sums / self.sizes
        return np.where(self.kept, found, np.nan)

    @functools.cached_property
    def masses(self) -> np.ndarray:
        """What every split counts for in the mean over splits (S,): its rows, or their weight; metrics count alike."""
        if self.scores is not None and not self.of_means:
            return np.ones(len(self.plan))
        return self.sizes.astype(np.float64) if self.weights is None else self.plan.test_mask @ self.weights

    @functools.cached_property
    def between(self) -> float:
        """Variance of the loss between the classes whose shares every split keeps; 0 where splits keep none.

        What samples of n rows vary by because their classes do, ``sum_k p_k (r_k - r)^2``, times n: splits within
        classes do not show it. Classes count by their shares p_k of all rows, with mean loss r_k; where rows have
        weights, by ``P_k^2 / p_k`` with shares P_k of the weight.
        """
        if self.plan.strata is None or self.scores is not None:
            return 0.0
        seen = (self.plan.test_mask & self.kept[:, None]).any(axis=0)
        if not seen.any():
            return 0.0
        by_row = np.nanmean(self.tested[:, seen], axis=0)
        weights = np.ones(self.plan.n) if self.weights is None else self.weights
        strata = self.plan.strata[seen]
        mass = np.bincount(strata, weights[seen])
        means = np.bincount(strata, weights[seen] * by_row) / np.where(mass > 0, mass, 1.0)
        of_weight, of_rows = (
            np.where(mass > 0, np.bincount(self.plan.strata, each, len(mass))[: len(mass)], 0.0)
            for each in (weights, np.ones(self.plan.n))
        )
        of_weight, of_rows = of_weight / of_weight.sum(), of_rows / of_rows.sum()
        squares = of_weight * (means - of_weight @ means) ** 2
        return float(squares @ (of_weight / np.where(mass > 0, of_rows, 1.0)))

    def says_one_class(self, codes: np.ndarray) -> bool:
        """Whether every model gives one class to all rows that it tests, as losses of 0 and 1 tell.

        ``codes`` (n,) are classes. Where no split tests two classes it cannot be told, and is denied.
        """
        members = codes[:, None] == np.arange(codes.max() + 1)
        sizes, wrong = (~np.isnan(self.tested)).astype(float) @ members, np.nan_to_num(self.tested) @ members
        telling = (sizes > 0).sum(axis=1) > 1
        alike = ((wrong == 0) | (wrong == sizes)).all(axis=1) & (((wrong == 0) & (sizes > 0)).sum(axis=1) <= 1)
        return bool(telling.any() and alike[telling].all())

    def need(self, method: str, *names: str) -> None:
        """Refuse another plan than one of ``names``."""
        if self.plan.name not in names:
            raise ValueError(f"{method} needs a plan {' or '.join(names)}; got {self.plan.name!r}")

    def need_all(self, method: str) -> None:
        """Raise where a fit failed."""
        if not self.kept.all():
            raise IncompleteFits(
                f"{method} needs the losses of every split; {int((~self.kept).sum())} of {len(self.plan)} fits "
                f"of the plan {self.plan.name!r} failed, so there is no interval"
            )


def pooled(means: np.ndarray, masses: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean over all rows of splits with mean losses (S,) and rows, or weight, ``masses`` (S,).

    The second are the splits' parts in its error, ``(mean - pooled) mass / mean mass``, as of any ratio of sums. Of
    splits of one size they are the mean of their means, and deviations from it.
    """
    shares = masses / masses.mean()
    mean = float(np.mean(shares * means))
    return mean, (means - mean) * shares


def normal(estimate: float, error: float, level: float) -> LossInterval:
    """Return estimate -+ z errors."""
    half = float(special.ndtri((1 + level) / 2)) * error
    return LossInterval(estimate, estimate - half, estimate + half, error, math.inf)


def student(estimate: float, error: float, df: int, level: float) -> LossInterval:
    """Return estimate -+ t errors."""
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    return LossInterval(estimate, estimate - half, estimate + half, error, float(df))


SCALES = ("plain", "log", "cube_root", "wilson", "nearer_end")
ANY = (-math.inf, math.inf)
"""The range of losses without bounds."""


def on_scale(
    found: LossInterval, scale: str, mean: float | None = None, bounds: tuple[float, float] = ANY
) -> LossInterval:
    """Return ``estimate -+ h`` with ends that are symmetric on another scale, for the mean of a positive loss.

    ``mean`` is that of the losses whose error h holds, by default the estimate. "log": ``mean exp(-+ h / mean)``, moved
    by ``estimate - mean``, and cut at 0. "cube_root": the same of ``mean (1 -+ h / (3 mean))^3``, on which means of
    squared normal errors are nearly normal (Wilson and Hilferty 1931); a root below 0 counts as 0. "wilson", for a loss
    of 0 or 1: also as far as the score interval of the estimate, ``(q - estimate)^2 <= k q (1 - q)`` with
    ``k = h^2 / (mean (1 - mean))``. "nearer_end", for what lies between ``bounds``: "cube_root" of its distance from
    the nearer one, cut at both.
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(map(repr, SCALES))}; got {scale!r}")
    if scale == "plain" or found.high == found.low:
        return found
    about = found.estimate if mean is None else mean
    if scale == "wilson":
        return _reaching_wilson(found, about)
    if scale == "nearer_end":
        return _between(found, bounds)
    if about <= 0:
        raise ValueError(f"scale={scale!r} needs a positive mean loss; got {about:g}")
    ratio, moved = (found.high - found.estimate) / about, found.estimate - about
    low, high = (math.exp(-ratio), math.exp(ratio)) if scale == "log" else _by_cube_roots(ratio)
    return found._replace(low=max(moved + about * low, min(found.estimate, 0.0)), high=moved + about * high)


def check_bounds(bounds: Any) -> None:
    """Refuse what is no pair of numbers in ascending order, between which losses lie."""
    pair = isinstance(bounds, tuple | list) and len(bounds) == 2 and all(isinstance(end, int | float) for end in bounds)
    if not (pair and -math.inf < bounds[0] < bounds[1] < math.inf):
        raise ValueError(f"scale='nearer_end' needs bounds, two numbers between which losses lie; got {shown(bounds)}")


def _between(found: LossInterval, bounds: tuple[float, float]) -> LossInterval:
    check_bounds(bounds)
    bottom, top = bounds
    rounding = 1e-12 * (top - bottom)
    if not bottom - rounding <= found.estimate <= top + rounding:
        raise ValueError(f"scale='nearer_end' needs a mean within {bounds}; got {found.estimate:g}")
    end, side = (bottom, 1.0) if found.estimate - bottom < top - found.estimate else (top, -1.0)
    apart = side * (found.estimate - end)
    if apart <= 0:
        return found
    near, far = (end + side * apart * ratio for ratio in _by_cube_roots((found.high - found.estimate) / apart))
    low, high = (near, far) if side > 0 else (far, near)
    return found._replace(low=max(low, bottom), high=min(high, top))


def _by_cube_roots(ratio: float) -> tuple[float, float]:
    """Return the ends of 1 -+ ratio on the scale of cube roots; a root below 0 counts as 0."""
    return max(0.0, 1 - ratio / 3) ** 3, (1 + ratio / 3) ** 3


def _reaching_wilson(found: LossInterval, mean: float) -> LossInterval:
    if not 0 < mean < 1:
        raise ValueError(f"scale='wilson' needs a mean loss between 0 and 1; got {mean:g}")
    p, k = min(max(found.estimate, 0.0), 1.0), (found.high - found.estimate) ** 2 / (mean * (1 - mean))
    centre, half = (p + k / 2) / (1 + k), math.sqrt(k * (p * (1 - p) + k / 4)) / (1 + k)
    return found._replace(low=min(found.low, centre - half), high=max(found.high, centre + half))


def quantiles(estimate: float, values: np.ndarray, shift: float, level: float) -> LossInterval:
    """Return the central quantiles of ``values``, moved by ``-shift``."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]) - shift
    return LossInterval(estimate, float(low), float(high), float(np.std(values, ddof=1)))
