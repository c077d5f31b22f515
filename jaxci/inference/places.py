"""Where quantiles lie among the rows, and how much the share of the rows below varies under their design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.intervals.capabilities import quantile_terms
from jaxci.intervals.clusters import ClusterSums
from jaxci.intervals.kurtosis import Spread, spread, spread_of_clusters
from jaxci.intervals.woodruff import Place, Places
from jaxci.special import namespace
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import Ordered
from jaxci.statistics.paired import Paired

MASS = 0.25
"""Of a cluster at the largest and the smallest contribution, as for ``kurtosis_t``."""


LEAST_DEGREES = 0.05
"""Of freedom, of one row that holds nearly all of the weight: Student's quantiles are astronomic, but numbers."""


def places(statistic: Statistic, prepared: Any, layout: Layout) -> Places:
    """Return the places of the quantiles whose sum a statistic is, of one data set; host arrays or traced ones."""
    terms = quantile_terms(statistic)
    sorted_values: Sequence[Ordered] = prepared if isinstance(prepared, tuple) else (prepared,)
    xp = namespace(sorted_values[0].values)
    once, twice = (xp.asarray(x) for x in _masses(layout))
    found = [_placed(sorted_values[which], q, once) for _, q, which in terms]
    apart = xp.stack([rows for _, rows in found], axis=-1)
    covariance, degrees = _covariance(apart, once, twice, layout)
    total = xp.sum(once)
    independent = xp.sum(once[:, None] * apart**2, axis=0) / total
    shares = tuple(q for _, q, _ in terms)
    spreads = xp.stack([xp.asarray(q * (1 - q), float) for q in shares])
    own = xp.diagonal(covariance)
    varies = (independent > 0) & (own > 0)
    errors = xp.sqrt(xp.where(varies, spreads * own / xp.where(varies, independent, 1.0), 0.0))
    root = xp.sqrt(xp.where(varies, own, 1.0))
    correlations = xp.where(np.eye(len(terms)) == 1, 1.0, covariance / root[:, None] / root)
    factors = tuple(float(factor) for factor, _, _ in terms)
    even = isinstance(statistic, Paired)
    return Places(tuple(place for place, _ in found), factors, even, shares, errors, correlations, degrees)


def _masses(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the weights, and of their squares, of what each row stands for (m,)."""
    if layout.counts is not None and layout.row_weights is not None:
        powers = layout.powers_of_weights()
        return powers[:, 1], powers[:, 2]
    once = np.ones(layout.n_rows) if layout.mass is None else layout.mass / layout.mass.max()
    return (layout.counts, layout.counts) if layout.counts is not None else (once, once**2)


def _placed(ordered: Ordered, q: Any, once: Any) -> tuple[Place, Any]:
    """Return the place of the quantile, and by how much each row (m,) is more below it than a share q is.

    Rows that are tied with it are below in part, so that a share q is in all.
    """
    xp = namespace(ordered.values)
    values, order = xp.asarray(ordered.values), ordered.order
    mass = once if order is None else once[order]
    through = xp.cumsum(mass)
    total = through[-1]
    place = Place(values, through / total)
    middle = place.first_at(q, "values")
    below, tied = values < middle, values == middle
    part = (q * total - xp.sum(mass * below)) / xp.sum(mass * tied)
    apart = below + part * tied - q
    if order is None:
        return place, apart
    if xp is np:
        rows = np.empty_like(apart)
        rows[order] = apart
        return place, rows
    return place, xp.zeros_like(apart).at[order].set(apart)


def _covariance(apart: Any, once: Any, twice: Any, layout: Layout) -> tuple[Any, Any]:
    """Return the covariance (K, K) of the shares of the weight below the quantiles, and its degrees of freedom.

    Of rows alone it is theirs; of clusters, and in strata, that of the sums of their rows.
    """
    xp, total, n = namespace(apart), once.sum(), layout.n_units
    if layout.units is None and layout.strata is None:
        covariance = xp.matmul((twice[:, None] * apart).T, apart) / total**2 * (n / (n - 1))
        return covariance, xp.asarray(max(layout.effective_size - 1.0, LEAST_DEGREES))
    weighed = once[:, None] * apart
    if layout.units is not None:
        weighed = Layout(layout.n, layout.units).sum_rows(weighed, n)
    sums = n * weighed / total
    if layout.strata is not None:
        sums = _within(sums, layout)
    sizes = None
    if layout.units is not None:
        sums = sums * layout.leverage(n)[:, None]
        sizes = xp.asarray(layout.sum_rows(np.ones((layout.n_rows, 1)), n)[:, 0])
    sums = sums - sums.mean(axis=0)
    own = [_spread(sums[:, k], sizes) for k in range(sums.shape[1])]
    covariance = xp.matmul(sums.T, sums) / (n * (n - 1))
    inflation = xp.stack([one.standard_error for one in own])
    root = xp.sqrt(xp.diagonal(covariance))
    scale = xp.where(root > 0, inflation / xp.where(root > 0, root, 1.0), 0.0)
    return covariance * scale[:, None] * scale, xp.min(xp.stack([one.degrees_of_freedom for one in own]))


def _spread(influence: Any, sizes: Any) -> Spread:
    if sizes is None:
        return spread(influence, MASS)
    return spread_of_clusters(influence, MASS, ClusterSums(sizes, sizes))


def _within(sums: Any, layout: Layout) -> Any:
    """Return the sums (U, K) of units less the mean of their stratum, scaled so that the variance is unbiased."""
    assert layout.strata is not None
    held = np.bincount(layout.strata)
    mean = Layout(layout.n_units, layout.strata).sum_rows(sums, len(held)) / held[:, None]
    scale = np.sqrt(np.where(held > 1, held / np.maximum(held - 1, 1), 0.0) * (1 - 1 / layout.n_units))
    return (sums - mean[layout.strata]) * scale[layout.strata][:, None]
