"""The true value of a statistic under a distribution: analytic, or simulated with its error."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.distributions.base import Distribution, Truth, check_readable, observations
from jaxci.distributions.user import as_distribution
from jaxci.statistics.base import Statistic
from jaxci.statistics.class_ranking import MulticlassRanking
from jaxci.statistics.current import current, valued
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.order import OrderStatistic, Quantile
from jaxci.statistics.sample import Sample

TOLERANCE = 1e-8
"""Error of root finding and quadrature, relative to the interdecile range of the distribution."""

_BATCHES = 20
_DRAWS = 1_000_000
_DRAWS_HEAVY = 100_000


def truth(distribution: Any, statistic: Statistic, key: jax.Array, size: int | None = None) -> Truth:
    """Return the value of ``statistic`` under ``distribution``, with its error.

    Analytic where the distribution knows it: error 0, or the tolerance of root finding and
    quadrature for quantiles and trimmed means. Otherwise the statistic of one sample of ``size``
    draws in double precision. Its standard error is the standard deviation of the statistic over
    20 batches of ``size / 20``, divided by the root of 20. A statistic that is no mean has a bias
    of order 1/size besides; the difference of the batch mean from the value shows 19 times that
    bias, and a nineteenth of it is added to the error in quadrature. Where batches leave a
    statistic undefined (a rare class), the others give the error. The error is not to be trusted
    where the statistic's own sampling variance is infinite.

    Where a distribution function is flat at level q the sample quantile does not settle, but lies
    with probability one half at either end; the quantile is then the middle of the flat, as is the
    limit of its mean.

    Parameters
    ----------
    distribution : Distribution
        Or what :func:`~jaxci.distributions.as_distribution` reads, such as a frozen ``scipy.stats`` one.
    statistic : Statistic
    key : JAX key
        For the Monte-Carlo draws; not used by an analytic value.
    size : int, optional
        Number of Monte-Carlo draws, at least 40: by default a million, and a hundred thousand for
        the ranking of several classes and functions called on the host.

    Raises
    ------
    ValueError
        If the value does not exist (a moment that is infinite, a NaN), or the statistic reads what
        the distribution does not draw.
    """
    distribution = as_distribution(distribution).of_rows
    check_readable(distribution, statistic)
    name = f"{type(statistic).__name__} of {distribution.label}"
    known = distribution.analytic(statistic)
    if known is not None:
        if not math.isfinite(known):
            raise ValueError(
                f"the true value of {name} does not exist (it is {known}): the moment it needs is infinite or undefined"
            )
        return Truth(float(known), _tolerance(distribution, statistic), "analytic")
    if size is None:
        heavy = isinstance(statistic, MulticlassRanking | HostFunction)
        size = _DRAWS_HEAVY if heavy else _DRAWS
    if size < 2 * _BATCHES:
        raise ValueError(f"size must be at least {2 * _BATCHES}; got {size}")
    value, error = _simulate(distribution, statistic, key, -(-size // _BATCHES))
    if not math.isfinite(value) or not math.isfinite(error):
        raise ValueError(
            f"the true value of {name} cannot be computed: a sample of {size} draws gave {value} "
            f"with standard error {error}"
        )
    return Truth(value, error, f"Monte Carlo, {-(-size // _BATCHES) * _BATCHES} draws")


def _tolerance(distribution: Distribution, statistic: Statistic) -> float:
    """Error of an analytic value."""
    if not isinstance(statistic, OrderStatistic):
        return 0.0
    low, high = (distribution.analytic(Quantile(q)) for q in (0.1, 0.9))
    return 0.0 if low is None or high is None else TOLERANCE * (high - low)


def _simulate(distribution: Distribution, statistic: Statistic, key: jax.Array, batch: int) -> tuple[float, float]:
    """Value of the statistic for all batches together, and its standard error."""
    with jax.enable_x64(True):
        parts = [jax.device_get(_draw(distribution, k, batch)) for k in jax.random.split(key, _BATCHES)]
        whole = jax.tree.map(lambda *drawn: np.concatenate(drawn), *parts)
        value = value_of_rows(statistic, observations(distribution, whole))
        by_batch = np.array([value_of_rows(statistic, observations(distribution, part)) for part in parts])
    by_batch = by_batch[np.isfinite(by_batch)]
    if len(by_batch) < _BATCHES // 2:
        return value, math.nan
    bias = (by_batch.mean() - value) / (_BATCHES - 1)
    return value, math.hypot(by_batch.std(ddof=1) / math.sqrt(_BATCHES), bias)


@functools.partial(jax.jit, static_argnums=2)
def _draw(distribution: Distribution, key: jax.Array, n: int) -> dict[str, Any]:
    return distribution.sample(key, n)


def value_of_rows(statistic: Statistic, sample: Sample) -> float:
    """Return the statistic of a sample, every row once; in the precision that is set."""
    prepared = statistic.prepare(sample)
    if isinstance(statistic, HostFunction):
        return float(statistic.value(prepared, np.ones(sample.n)))
    return float(_compiled(current(statistic, prepared, sample.n), prepared, jnp.ones(sample.n, jnp.float64)))


_compiled = jax.jit(valued)
