"""Bootstrap intervals: every one is read from the same replicates.

``Evidence.replicates`` may hold NaN (undefined resamples); bounds use the defined ones and
the caller reports how many were not. Replicate quantiles are linear (NumPy's default). All
methods work on stacks of data sets: replicates (..., B) and estimates (...).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.replicates import Drawn
from jaxci.records import record, static
from jaxci.statistics.base import Statistic


def smallest_bank(tails: Tails) -> int:
    """Return the smallest B whose extreme replicates still lie beyond the tails: ``1/tail - 1``."""
    return max(math.ceil(1 / tail - 1 - 1e-9) for tail in tails if tail > 0)


def open_ends(low: ArrayLike, high: ArrayLike, evidence: Evidence, tails: Tails) -> Bounds:
    """Return bounds with the end of the estimand's range on a side that has no tail."""
    bottom, top = evidence.statistic.bounds
    low = np.asarray(low) if tails.lower > 0 else np.full_like(high, bottom)
    high = np.asarray(high) if tails.upper > 0 else np.full_like(low, top)
    return Bounds(low[()], high[()])


def median_bias(evidence: Evidence) -> np.ndarray:
    """Return z0: the normal quantile of the share of replicates below the estimate, ties half."""
    return special.ndtri(evidence.rows.share_below(evidence.estimate))


def adjusted_probability(p: float, z0: ArrayLike, acceleration: ArrayLike) -> np.ndarray:
    """Return the BCa-adjusted probability of a tail quantile (Efron 1987, eq. 2.3); 0 and 1 stay."""
    if p in (0.0, 1.0):
        return np.full(np.shape(z0), p)
    shifted = z0 + special.ndtri(p)
    return special.ndtr(z0 + shifted / (1 - acceleration * shifted))


def _quantiles(evidence: Evidence, tails: Tails, z0: ArrayLike = 0.0, acceleration: ArrayLike = 0.0) -> Bounds:
    """Read replicate quantiles at the tails, adjusted for bias and acceleration."""
    low, high = (adjusted_probability(p, z0, acceleration) for p in (tails.lower, 1 - tails.upper))
    return open_ends(evidence.rows.quantile(low), evidence.rows.quantile(high), evidence, tails)


class BootstrapMethod(Method):
    """A method that reads replicates; it serves every statistic."""

    needs = frozenset({"replicates"})

    def refusal(self, statistic: Statistic) -> str | None:
        """Return None: any statistic can be resampled."""
        return None


@record
class Percentile(BootstrapMethod):
    """Quantiles of the replicates. First-order accurate; respects transformations and range."""

    name = "percentile"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return the replicate quantiles at the tails."""
        low, high = (evidence.rows.quantile(p) for p in (tails.lower, 1 - tails.upper))
        return open_ends(low, high, evidence, tails)


@record
class Basic(BootstrapMethod):
    """Percentile interval reflected about the estimate. May leave the range."""

    name = "basic"
    leaves_range = True

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return ``2 estimate - quantile`` at the opposite tails."""
        low, high = (evidence.rows.quantile(p) for p in (1 - tails.lower, tails.upper))
        return open_ends(2 * evidence.estimate - low, 2 * evidence.estimate - high, evidence, tails)


@record
class Normal(BootstrapMethod):
    """Normal interval around the bias-corrected estimate with the replicates' standard deviation."""

    name = "normal"
    leaves_range = True

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return ``estimate - bias +- z sd``; bias is the mean replicate minus the estimate."""
        centre = 2 * evidence.estimate - evidence.rows.mean
        error = evidence.rows.deviation
        low = centre + special.ndtri(tails.lower or 0.5) * error
        return open_ends(low, centre - special.ndtri(tails.upper or 0.5) * error, evidence, tails)


@record
class BC(BootstrapMethod):
    """Bias-corrected percentile interval: BCa with zero acceleration (Efron 1981)."""

    name = "bc"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return replicate quantiles at bias-corrected probabilities."""
        return _quantiles(evidence, tails, median_bias(evidence))


DEGENERATE = (
    "the BCa acceleration is 0/0 (all leave-one-out values are equal, as among ties); it was set to 0, "
    "which is method 'bc'; 'percentile' is the safer choice here"
)


@record
class BCa(BootstrapMethod):
    """Bias-corrected and accelerated percentile interval (Efron 1987). Second-order accurate.

    ``acceleration`` "influence" uses derivatives where the statistic has them and
    leave-one-out values elsewhere; "jackknife" always leave-one-out values, as SciPy does.
    ``degenerate`` says what a 0/0 acceleration becomes: "bc" (zero, with a warning) or "nan".
    """

    name = "bca"
    needs = frozenset({"replicates", "acceleration"})

    acceleration: str = static(default="influence")
    degenerate: str = static(default="bc")

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return replicate quantiles at BCa probabilities."""
        assert evidence.acceleration is not None
        acceleration = np.asarray(evidence.acceleration)
        degenerate = np.isnan(acceleration)
        remarks: tuple[str, ...] = ()
        if self.degenerate == "bc" and degenerate.any():
            acceleration = np.where(degenerate, 0.0, acceleration)
            remarks = (DEGENERATE,)
        return _quantiles(evidence, tails, median_bias(evidence), acceleration)._replace(remarks=remarks)


@record
class Studentized(BootstrapMethod):
    """Bootstrap-t: quantiles of ``(replicate - estimate) / its own standard error`` (Efron 1981).

    Standard errors come from influence values at the resample, so there is no nested bootstrap.
    """

    name = "studentized"
    needs = frozenset({"replicates", "replicate_errors", "standard_error"})
    leaves_range = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics without influence values."""
        if statistic.smooth:
            return None
        return "the studentized bootstrap needs a differentiable statistic; use 'percentile' or 'bca'"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return ``estimate - t_quantile * standard_error``."""
        assert evidence.replicates is not None
        assert evidence.replicate_errors is not None
        assert evidence.standard_error is not None
        estimate, error = np.asarray(evidence.estimate)[..., None], np.asarray(evidence.standard_error)
        least = 1e-12 * np.maximum(error, np.finfo(float).tiny)[..., None]
        flat = ~np.isnan(evidence.replicates) & ~(evidence.replicate_errors > least)
        with np.errstate(invalid="ignore", divide="ignore"):
            pivots = np.where(flat, np.nan, (evidence.replicates - estimate) / evidence.replicate_errors)
        rows = Drawn.of(pivots)
        low = evidence.estimate - rows.quantile(1 - tails.lower) * error
        high = evidence.estimate - rows.quantile(tails.upper) * error
        lost = int(np.sum(flat))
        remarks: tuple[str, ...] = ()
        if lost == flat.size:
            remarks = ("every resample has zero standard error; use 'percentile'",)
        elif lost:
            remarks = (f"{lost} resamples have zero standard error and were left out of the pivots",)
        return open_ends(low, high, evidence, tails)._replace(remarks=remarks)
