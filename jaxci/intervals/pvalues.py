"""P-values of "the true value is 0", the tests that go with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

UNDEFINED = "none: the difference is undefined"
"""What is said in place of a test where there is no estimate."""
NO_VARIATION = 1e-12
"""A standard error below this share of the estimate is none."""


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
    if not standard_error > NO_VARIATION * abs(estimate):
        return PValue(1.0 if estimate == 0 else np.nan, "no variation")
    below = float(law(-estimate / standard_error))
    return PValue(one_or_two_sided(below, 1 - below, alternative), test)


def bootstrap_test(replicates: np.ndarray, alternative: str) -> PValue:
    """Return the p-value from the share of replicates (B,) at or beyond 0, counting the estimate as one more."""
    known = replicates[~np.isnan(replicates)]
    if not known.size:
        return PValue(np.nan, UNDEFINED)
    below, above = (float((np.sum(side) + 1) / (known.size + 1)) for side in (known <= 0, known >= 0))
    return PValue(one_or_two_sided(below, above, alternative), "bootstrap: share of replicates beyond 0")
