"""P-values of "the true value is 0", the tests that go with intervals.

The interval of a general method holds 0 where its p-value is not below its error probability: both are one test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

UNDEFINED = "none: the difference is undefined"
"""What is said in place of a test where there is no estimate."""
NO_VARIATION = 1e-12
"""A standard error below this share of the estimate is none."""
STEP = 1e-13
"""Relative error of a p-value that is found by search, times its logarithm where that is below -1."""


class PValue(NamedTuple):
    """A p-value and the name of its test."""

    value: float
    test: str


def one_or_two_sided(below: float, above: float, alternative: str) -> float:
    """Return a p-value from the mass of the estimate's law at or below 0 and at or above it."""
    if alternative == "greater":
        return min(1.0, below)
    if alternative == "less":
        return min(1.0, above)
    return min(1.0, 2 * min(below, above))


def standardized_test(
    estimate: float, standard_error: float, law: Callable[[float], Any], test: str, alternative: str
) -> PValue:
    """Return the p-value of ``estimate / standard_error`` under a symmetric ``law``, a distribution function."""
    ratio = estimate / standard_error
    return PValue(one_or_two_sided(float(law(-ratio)), float(law(ratio)), alternative), test)


def two_sided(estimate: float, error: float, df: float) -> float:
    """Return the p-value of ``estimate`` against 0; NaN where there is no test.

    Without any variation it is 1 for an estimate of 0, and else NaN: values that do not vary tell nothing of how much
    others would.
    """
    if math.isnan(df) or math.isnan(estimate):
        return math.nan
    if error == 0:
        return 1.0 if estimate == 0 else math.nan
    ratio = -abs(estimate) / error
    return float(2 * (special.ndtr(ratio) if np.isinf(df) else special.stdtr(df, ratio)))


def varies(estimate: float, standard_error: float) -> bool:
    """Whether a standard error is more than rounding errors of the estimate."""
    return standard_error > NO_VARIATION * abs(estimate)


def sign_test(estimate: float, n: int, alternative: str) -> PValue:
    """Return the p-value where n differences are all equal: that n signs agree, 1 where they are zero."""
    if estimate == 0:
        return PValue(1.0, "no variation")
    alike = 0.5**n
    return PValue(one_or_two_sided(*((alike, 1.0) if estimate > 0 else (1.0, alike)), alternative), "sign test")


def smallest_tail(rejects: Callable[[np.ndarray], Any], least: float, at_once: int = 1) -> float:
    """Return the smallest tail from which on a one-sided bound excludes 0, between ``least`` and 1, by search.

    ``rejects`` says of some tails, ``at_once`` at most, whether the bounds with them exclude 0; one at a time is
    halving.
    """
    if np.all(rejects(np.array([least]))):
        return least
    if not np.all(rejects(np.array([1 - STEP]))):
        return 1.0
    low, high = np.log(least), 0.0
    while high - low > STEP * max(1.0, -low):  # logarithms of tails near 1e-300 are further apart than STEP
        points = np.linspace(low, high, at_once + 2)
        first = int(np.argmax(np.append(rejects(np.exp(points[1:-1])), True)))
        low, high = points[first], points[first + 1]
    return float(np.exp(high))
