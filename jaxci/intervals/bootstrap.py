"""Bootstrap intervals: every one is read from the same replicates.

``Evidence.replicates`` may hold NaN (undefined resamples); bounds use the defined ones and
the caller reports how many were not. Replicate quantiles are linear (NumPy's default).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.records import record, static
from jaxci.statistics.base import Statistic


def smallest_bank(tails: Tails) -> int:
    """Return the smallest B whose extreme replicates still lie beyond the tails: ``1/tail - 1``."""
    return max(math.ceil(1 / tail - 1 - 1e-9) for tail in tails if tail > 0)


def defined(replicates: np.ndarray) -> np.ndarray:
    """Return the replicates that are not NaN."""
    return replicates[~np.isnan(replicates)]


def _ends(evidence: Evidence, tails: Tails) -> tuple[float, float]:
    """Return the ends of the estimand's range, for sides with no tail."""
    return evidence.statistic.bounds


def _at(evidence: Evidence, tails: Tails, low: float, high: float) -> Bounds:
    """Read replicate quantiles at the probabilities ``low`` and ``high``."""
    assert evidence.replicates is not None
    values = defined(evidence.replicates)
    ends = _ends(evidence, tails)
    if values.size == 0 or (math.isnan(low) or math.isnan(high)):
        return Bounds(math.nan, math.nan)
    quantiles = np.quantile(values, [np.clip(low, 0, 1), np.clip(high, 0, 1)])
    return Bounds(
        float(quantiles[0]) if tails.lower > 0 else ends[0],
        float(quantiles[1]) if tails.upper > 0 else ends[1],
    )


def median_bias(replicates: np.ndarray, estimate: float) -> float:
    """Return z0: the normal quantile of the share of replicates below the estimate, ties half."""
    values = defined(replicates)
    below = np.mean(values < estimate) + 0.5 * np.mean(values == estimate)
    return float(special.ndtri(below))


def adjusted_probability(p: float, z0: float, acceleration: float) -> float:
    """Return the BCa-adjusted probability of a tail quantile (Efron 1987, eq. 2.3)."""
    shifted = z0 + special.ndtri(p)
    return float(special.ndtr(z0 + shifted / (1 - acceleration * shifted)))


def _probabilities(tails: Tails, z0: float, acceleration: float) -> tuple[float, float]:
    low = adjusted_probability(tails.lower, z0, acceleration) if tails.lower > 0 else 0.0
    high = adjusted_probability(1 - tails.upper, z0, acceleration) if tails.upper > 0 else 1.0
    return low, high


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
        return _at(evidence, tails, tails.lower, 1 - tails.upper)


@record
class Basic(BootstrapMethod):
    """Percentile interval reflected about the estimate. May leave the range."""

    name = "basic"
    leaves_range = True

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return ``2 estimate - quantile`` at the opposite tails."""
        mirrored = _at(evidence, Tails(tails.upper, tails.lower), tails.upper, 1 - tails.lower)
        ends = _ends(evidence, tails)
        low = 2 * evidence.estimate - mirrored.high if tails.lower > 0 else ends[0]
        high = 2 * evidence.estimate - mirrored.low if tails.upper > 0 else ends[1]
        return Bounds(low, high)


@record
class Normal(BootstrapMethod):
    """Normal interval around the bias-corrected estimate with the replicates' standard deviation."""

    name = "normal"
    leaves_range = True

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return ``estimate - bias +- z sd``; bias is the mean replicate minus the estimate."""
        assert evidence.replicates is not None
        values = defined(evidence.replicates)
        if values.size < 2:
            return Bounds(math.nan, math.nan)
        centre = 2 * evidence.estimate - float(np.mean(values))
        return symmetric(centre, float(np.std(values, ddof=1)), evidence, tails)


def symmetric(centre: float, error: float, evidence: Evidence, tails: Tails) -> Bounds:
    """Return ``centre -+ z error`` with open sides at the end of the range."""
    ends = _ends(evidence, tails)
    low = centre + float(special.ndtri(tails.lower)) * error if tails.lower > 0 else ends[0]
    high = centre - float(special.ndtri(tails.upper)) * error if tails.upper > 0 else ends[1]
    return Bounds(low, high)


@record
class BC(BootstrapMethod):
    """Bias-corrected percentile interval: BCa with zero acceleration (Efron 1981)."""

    name = "bc"

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return replicate quantiles at bias-corrected probabilities."""
        assert evidence.replicates is not None
        z0 = median_bias(evidence.replicates, evidence.estimate)
        return _at(evidence, tails, *_probabilities(tails, z0, 0.0))


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
        assert evidence.replicates is not None
        assert evidence.acceleration is not None
        acceleration, remarks = evidence.acceleration, ()
        if math.isnan(acceleration) and self.degenerate == "bc":
            acceleration, remarks = 0.0, (DEGENERATE,)  # type: ignore[assignment]
        z0 = median_bias(evidence.replicates, evidence.estimate)
        found = _at(evidence, tails, *_probabilities(tails, z0, acceleration))
        return found._replace(remarks=remarks)


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
        with np.errstate(invalid="ignore", divide="ignore"):
            pivots = (evidence.replicates - evidence.estimate) / evidence.replicate_errors
        usable = evidence.replicate_errors > 1e-12 * max(evidence.standard_error, np.finfo(float).tiny)
        lost = int(np.sum(~usable & ~np.isnan(evidence.replicates)))
        pivots = pivots[usable & np.isfinite(pivots)]
        if pivots.size == 0:
            return Bounds(math.nan, math.nan, ("every resample has zero standard error; use 'percentile'",))
        ends = _ends(evidence, tails)
        low = evidence.estimate - float(np.quantile(pivots, 1 - tails.lower)) * evidence.standard_error
        high = evidence.estimate - float(np.quantile(pivots, tails.upper)) * evidence.standard_error
        remark = (f"{lost} resamples have zero standard error and were left out of the pivots",) if lost else ()
        return Bounds(low if tails.lower > 0 else ends[0], high if tails.upper > 0 else ends[1], remark)
