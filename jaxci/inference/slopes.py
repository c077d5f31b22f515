"""First-order behaviour of statistics: standard errors and BCa accelerations, from derivatives or left-out values.

Written against an array namespace: NumPy arrays of one data set, or traced arrays with leading axes over data sets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from jaxci.inference.program import Program
from jaxci.statistics.base import namespace


class FirstOrder(NamedTuple):
    """Standard errors (...) and accelerations (...), NaN where nothing varies."""

    standard_error: Any
    acceleration: Any


def first_order(slopes: Any, multiplicity: Any) -> FirstOrder:
    """Return the infinitesimal-jackknife error and acceleration of ``slopes`` (..., U), each for several units."""
    xp = namespace(slopes)
    squares = xp.sum(multiplicity * slopes**2, axis=-1)
    cubes = xp.sum(multiplicity * slopes**3, axis=-1)
    varies = squares > 0
    acceleration = xp.where(varies, cubes / (6 * xp.where(varies, squares, 1.0) ** 1.5), xp.nan)
    return FirstOrder(xp.sqrt(squares), acceleration)


def of_mean(values: Any, root: bool) -> tuple[Any, FirstOrder]:
    """Return estimate (...) and first-order behaviour of the mean of ``values`` (..., n), or of its root."""
    xp, n = namespace(values), values.shape[-1]
    mean = xp.mean(values, axis=-1)
    apart = values - mean[..., None]
    widest = xp.max(xp.abs(apart), axis=-1, keepdims=True)  # squares and cubes of large values must not overflow
    unit = xp.where(widest > 0, widest, 1.0)
    found = first_order(apart / unit, 1.0)
    error = found.standard_error * unit[..., 0] / n
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
    scale = xp.max(xp.abs(left_out), axis=-1)
    unit = xp.where(scale > 0, scale, 1.0)[..., None]
    spread = xp.sum(multiplicity * (centred / unit) ** 2, axis=-1)
    varies = spread > total * 1e-28
    cubes = xp.sum(multiplicity * (centred / unit) ** 3, axis=-1)
    return xp.where(varies, cubes / (6 * xp.where(varies, spread, 1.0) ** 1.5), xp.nan)


slopes = jax.jit(Program.slopes)
"""Values (S,) and derivatives (S, U) of the statistics of a program on its data."""

estimates = jax.jit(Program.estimates)
"""Values (S,) of the statistics of a program on its data."""
