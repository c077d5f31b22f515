"""First-order behaviour of statistics: standard errors and BCa accelerations, from derivatives or left-out values.

Written against an array namespace: NumPy arrays of one data set, or traced arrays with leading axes over data sets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxci.inference.program import Program
from jaxci.quick import Quick
from jaxci.special import mean_of, namespace, unit


class FirstOrder(NamedTuple):
    """Standard errors (...), accelerations (...), NaN where nothing varies, and contributions (..., n) where wanted."""

    standard_error: Any
    acceleration: Any = None
    contributions: Any = None


def first_order(slopes: Any, multiplicity: Any) -> FirstOrder:
    """Return the infinitesimal-jackknife error and acceleration of ``slopes`` (..., U), each for several units."""
    xp = namespace(slopes)
    scale = unit(xp.max(xp.abs(slopes), axis=-1))
    scaled = slopes / scale[..., None]
    square = multiplicity * scaled * scaled
    squares, cubes = xp.sum(square, axis=-1), xp.sum(square * scaled, axis=-1)
    varies = squares > 0
    acceleration = xp.where(varies, cubes / (6 * xp.where(varies, squares, 1.0) ** 1.5), xp.nan)
    return FirstOrder(xp.sqrt(squares) * scale, acceleration)


def effective_units(slopes: Any, multiplicity: Any) -> Any:
    """Return how many units alike would vary as ``slopes`` (..., U) do, each for several units; NaN where none does.

    It is ``(sum u^2)^2 / sum u^4``: n where all move the estimate alike, 1 where one alone does.
    """
    xp = namespace(slopes)
    largest = xp.max(xp.abs(slopes), axis=-1)
    squares = (slopes / unit(largest)[..., None]) ** 2
    fourths = xp.sum(multiplicity * squares**2, axis=-1)
    return xp.where(
        largest > 0, xp.sum(multiplicity * squares, axis=-1) ** 2 / xp.where(fourths > 0, fourths, 1.0), xp.nan
    )


def contributions(slopes: Any) -> Any:
    """Return what n units contribute to the estimate (..., n): n times their ``slopes`` (..., n), less the mean.

    The sum of squares over ``n (n - 1)`` is the variance, of slopes that are scaled within strata, too.
    """
    found = slopes.shape[-1] * slopes
    return found - found.mean(axis=-1, keepdims=True)


def contributions_left_out(left_out: Any) -> Any:
    """Return what units contribute (..., n), from the values (..., n) without each: Tukey's pseudo-values, centred."""
    return (left_out.shape[-1] - 1) * (left_out.mean(axis=-1, keepdims=True) - left_out)


def of_mean(values: Any, root: bool) -> tuple[Any, FirstOrder]:
    """Return estimate (...) and first-order behaviour of the mean of ``values`` (..., n), or of its root."""
    xp, n = namespace(values), values.shape[-1]
    mean = mean_of(values)
    found = first_order(values - mean[..., None], 1.0)
    error = found.standard_error / n
    if not root:
        return mean, FirstOrder(error, found.acceleration)
    estimate = xp.sqrt(mean)
    positive = estimate > 0
    of_root = xp.where(positive, error / xp.where(positive, 2 * estimate, 1.0), 0.0)
    return estimate, FirstOrder(of_root, found.acceleration)


def jackknife_acceleration(left_out: Any, multiplicity: Any) -> Any:
    """Return the BCa acceleration (...) from leave-one-out values (..., m); NaN where they are all equal.

    ``multiplicity`` (m,) or (..., m) says how many units each stands for.
    """
    xp = namespace(left_out)
    total = xp.sum(xp.asarray(multiplicity), axis=-1)
    centred = (xp.sum(multiplicity * left_out, axis=-1) / total)[..., None] - left_out
    scaled = centred / unit(xp.max(xp.abs(left_out), axis=-1))[..., None]
    spread = xp.sum(multiplicity * scaled**2, axis=-1)
    varies = spread > total * 1e-28
    cubes = xp.sum(multiplicity * scaled**3, axis=-1)
    return xp.where(varies, cubes / (6 * xp.where(varies, spread, 1.0) ** 1.5), xp.nan)


def jackknife_error(left_out: Any, multiplicity: Any) -> Any:
    """Return the jackknife standard error (...) from leave-one-out values (..., m).

    Its square is ``(n - 1)/n sum_i (v_i - v)^2`` of n units, their values' mean v. ``multiplicity`` (m,) or (..., m)
    says how many units each value stands for. Source: Efron & Tibshirani (1993), An introduction to the bootstrap,
    eq. (11.5).
    """
    xp = namespace(left_out)
    scale = unit(xp.max(xp.abs(left_out), axis=-1))
    scaled, n = left_out / scale[..., None], xp.sum(xp.asarray(multiplicity), axis=-1)
    centred = scaled - (xp.sum(multiplicity * scaled, axis=-1) / n)[..., None]
    return xp.sqrt((n - 1) / n * xp.sum(multiplicity * centred**2, axis=-1)) * scale


def _units(program: Program) -> int:
    """Return the number of units: the same for the rows of clusters and for counts of these."""
    return len(program.multiplicity)


slopes = Quick(Program.slopes, _units)
"""Values (S,) and derivatives (S, U) of the statistics of a program on its data."""

estimates = Quick(Program.estimates, _units)
"""Values (S,) of the statistics of a program on its data."""
