r"""Moments of ratios of two sums under resampling.

A resample of n rows has ``R = N / D``, N the sum of the rows' ``a_i`` and D that of their ``b_i >= 0``. Moments of R
come from one integral each,

.. math:: E[N / D; D > 0] = \int_0^\infty E[N e^{-\lambda D}] d\lambda, \qquad
          E[N^2 / D^2; D > 0] = \int_0^\infty \lambda E[N^2 e^{-\lambda D}] d\lambda,

whose integrands are known, as the rows of a resample are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.special import namespace

LEAST = 1e-300
"""Factors and sums below it are taken for it."""
MANY, BLOCK = 1_000, 4_096
"""Rows from which on the moments need few nodes, and kinds of rows that are summed over at a time."""


def with_undefined(centre: Any, first: Any, second: Any, empty: Any, undefined: Any) -> tuple[Any, Any]:
    """Return mean and deviation (...) of ``centre + N / D``, of which 0/0 counts as ``undefined``, NaN as nothing.

    ``first`` and ``second`` are the moments of N / D where D > 0, and ``empty`` the probability that D = 0.
    """
    xp = namespace(first, second)
    left_out = xp.isnan(xp.asarray(undefined))
    beyond = xp.where(left_out, 0.0, undefined - centre)
    known = xp.where(left_out, 1.0 - empty, 1.0)
    known = xp.where(known > 0, known, xp.nan)
    first, second = (first + empty * beyond) / known, (second + empty * beyond**2) / known
    return centre + first, xp.sqrt(xp.maximum(second - first**2, 0.0))


def ratio_moments(apart: Any, parts: Any, shares: Any, n: int) -> tuple[Any, Any]:
    """Return the first and second moment (...) of ``N / D`` where D > 0, for n rows drawn from k kinds.

    Parameters
    ----------
    apart, parts : (..., k) arrays
        What a row of each kind adds to N, 0 on average, and to D, not negative.
    shares : (..., k) array
        Probabilities of the kinds.
    n : int
        Rows of a resample.

    Notes
    -----
    The integrals of the module by the double exponential rule: to about 1e-12 of the deviation, 1e-6 from 1,000 rows
    on. Cost O(k).
    """
    xp = namespace(apart, parts, shares)
    reach, step = (4.0, 0.05) if n < MANY else (2.2, 0.1)
    line = np.arange(-round(reach / step), round(reach / step) + 1) * step
    nodes = np.exp(np.pi / 2 * np.sinh(line))
    weights = step * np.pi / 2 * np.cosh(line) * nodes
    size = xp.sum(shares * parts, axis=-1)[..., None]
    size = n * xp.where(size > 0, size, 1.0)
    rate = nodes / size  # (..., nodes)
    fallen = one = two = xp.zeros(rate.shape)
    for start in range(0, apart.shape[-1], BLOCK):  # sums over the kinds
        e, b, share = (x[..., start : start + BLOCK, None] for x in (apart, parts, shares))
        near = line.size // 2  # up to there differences from the limit at 0 are taken, which do not cancel
        exponent = -rate[..., None, :] * b
        lost, left = xp.expm1(exponent[..., :near]), xp.exp(exponent[..., near:])
        whole = xp.concatenate([lost + 1.0, left], axis=-1)
        kept = xp.concatenate([lost, left], axis=-1)
        fallen = fallen + xp.sum(share * kept, axis=-2)
        one, two = one + xp.sum(share * e * kept, axis=-2), two + xp.sum(share * e * e * whole, axis=-2)
    far = line >= line[near]
    log_decay = xp.where(far, xp.log(xp.maximum(fallen, LEAST)), xp.log1p(xp.where(far, 0.0, fallen)))
    decay = xp.exp((n - 1.0) * log_decay)
    twice = (n - 1.0) * one * xp.exp(max(n - 2.0, 0.0) * log_decay)
    first = n * xp.sum(weights * one * decay, axis=-1) / size[..., 0]
    second = n * xp.sum(weights * rate * (two * decay + one * twice), axis=-1) / size[..., 0]
    return first, second
