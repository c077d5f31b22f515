"""Statistics of users' own as they compute now."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import numpy as np

from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import HostFunction
from jaxci.tracing import as_now

S = TypeVar("S", bound=Statistic)


def current(statistic: S, prepared: Any, n: int) -> S:
    """Return a statistic as its code computes now of ``prepared`` data of n rows: programs of what it was do not serve.

    One of the library's is returned as it is, as is a function on the host, which is not compiled.
    """
    if isinstance(statistic, HostFunction):
        return statistic
    return as_now(statistic, valued, prepared, jax.ShapeDtypeStruct((n,), np.float64))


def valued(statistic: Statistic, prepared: Any, weights: jax.Array) -> jax.Array:
    """Return the value of a statistic under weights (n,)."""
    return statistic.value(prepared, weights)
