"""How rows relate to the units that are resampled: clusters, strata, case weights."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.special import namespace, unit

ROUNDING = 64 * float(np.finfo(float).eps)
"""Values apart by less than that of the largest do not vary."""

LEAST_WEIGHT = 1e-100
"""Weights below such a share of the largest count as it: cubes of smaller ones would be 0."""

EQUAL = 1e-12
"""Weights that differ by so small a share of the largest are equal."""


def uneven(weights: np.ndarray | None) -> bool:
    """Whether rows have weights that differ: rows of equal weight are rows."""
    return weights is not None and bool(np.ptp(weights) > EQUAL * weights.max())


class CaseWeights(NamedTuple):
    """What is known of the case weights of observations that rows stand for.

    Attributes
    ----------
    effective : float
        ``sum(w)^2 / sum(w^2)`` of all.
    heaviest : float
        Share of the weight that one observation holds, at most.
    powers : (m, 4) float64 or None
        Sums over the observations of every row of their weights, as shares of the largest, to the powers 0 to 3; None
        where no table is read.
    """

    effective: float
    heaviest: float
    powers: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """How rows relate to the units that are resampled (host arrays); equal to one of the same content.

    Attributes
    ----------
    n : int
        Observations.
    units : (n,) int32 or None
        Cluster code of every row; None: every row is its own unit.
    strata : (number of units,) int32 or None
        Stratum code of every unit.
    row_weights : (n,) float64 or None
        Case weights; of rows that stand for several observations their sums, (m,).
    counts : (m,) float64 or None
        How many equal observations each of m rows stands for, ``n`` in all; None: each is one. Units are then of rows.
    case_weights : CaseWeights or None
        What is known of the weights of such observations, where they differ.
    features : tuple of float or None
        What is known of which simulated designs such observations are like; None: their rows tell.
    """

    n: int
    units: np.ndarray | None = None
    strata: np.ndarray | None = None
    row_weights: np.ndarray | None = None
    counts: np.ndarray | None = None
    case_weights: CaseWeights | None = None
    features: Any = None

    @functools.cached_property
    def _content(self) -> tuple[Any, ...]:
        of_rows = [self.units, self.strata, self.row_weights, self.counts]
        if self.case_weights is not None:
            of_rows += [np.array(self.case_weights[:2]), self.case_weights.powers]
        return self.n, self.features, *(None if x is None else np.ascontiguousarray(x).tobytes() for x in of_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def n_rows(self) -> int:
        """Number of rows, which may stand for several observations."""
        return self.n if self.counts is None else len(self.counts)

    @property
    def mass(self) -> np.ndarray | None:
        """What each row counts in a sum over observations; None where all count 1."""
        return self.counts if self.row_weights is None else self.row_weights

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.n if self.units is None else int(self.units.max()) + 1

    @property
    def n_strata(self) -> int:
        """Number of strata, 1 where there are none."""
        return 1 if self.strata is None else int(self.strata.max()) + 1

    @property
    def plain(self) -> bool:
        """Whether rows are exchangeable: no clusters, strata or weights."""
        return not self.given

    @property
    def given(self) -> frozenset[str]:
        """What of clusters, strata and weights there is."""
        codes = {"groups": self.units, "strata": self.strata, "sample_weight": self.row_weights}
        return frozenset(name for name, of_rows in codes.items() if of_rows is not None)

    @property
    def rows_are_units(self) -> bool:
        """Whether every observation is a unit of weight 1."""
        return self.units is None and self.row_weights is None

    @property
    def heaviest(self) -> float:
        """Share of the case weight that one observation holds, at most."""
        if self.row_weights is None:
            return 1 / self.n
        if self.case_weights is not None:
            return self.case_weights.heaviest
        return float(1 / (self.row_weights / self.row_weights.max()).sum())

    def powers_of_weights(self) -> np.ndarray:
        """Return the case weights of every row (n, 4), as shares of the largest, to the powers 0 to 3.

        Shares are :data:`LEAST_WEIGHT` or more. Of rows that stand for several observations the sums over these.
        """
        assert self.row_weights is not None
        if self.case_weights is not None:
            assert self.case_weights.powers is not None
            return self.case_weights.powers
        return np.maximum(self.row_weights / self.row_weights.max(), LEAST_WEIGHT)[:, None] ** np.arange(4)

    @property
    def effective_size(self) -> float:
        """Return ``sum(w)^2 / sum(w^2)`` of the case weights, the rows of equal weight that tell as much; n without."""
        if self.row_weights is None:
            return float(self.n)
        if self.case_weights is not None:
            return self.case_weights.effective
        scaled = self.row_weights / self.row_weights.max()
        return float(scaled.sum() ** 2 / (scaled**2).sum())

    def design_effect(self, values: np.ndarray) -> float:
        """Return the design effect of the mean of ``values`` (n,): its variance over that of n independent rows.

        With the mean m, ``r_i = x_i - m`` and ``T_c`` the sum of r over cluster c it is ``sum_c T_c^2 / sum_i r_i^2``.
        With case weights w of sum W, ``T_c`` sums ``w_i r_i`` and it is ``(n / W) sum_c T_c^2 / sum_i w_i r_i^2``, over
        rows of equal weight; with strata, ``T_c`` is less its mean over the m clusters of the stratum, and its square
        ``m / (m - 1) (G - 1) / G`` times that, of G clusters. NaN where there are no clusters, or nothing varies in
        them or between them. Source: Kish (1965), Survey Sampling.
        """
        if self.units is None:
            return math.nan
        weights = np.ones(self.n_rows) if self.mass is None else self.mass / self.mass.max()
        scaled = values / unit(np.abs(values).max())
        apart = scaled - np.average(scaled, weights=weights)
        totals = np.bincount(self.units, weights * apart)
        if self.strata is not None:
            held = np.bincount(self.strata)
            totals -= (np.bincount(self.strata, totals) / held)[self.strata]
            totals *= np.sqrt(held / np.maximum(held - 1, 1) * (1 - 1 / self.n_units))[self.strata]
        rounding = ROUNDING * np.bincount(self.units, weights).max()
        if np.abs(apart).max() <= ROUNDING or np.abs(totals).max() <= rounding:
            return math.nan
        independent = weights.sum() * (weights @ apart**2)
        return float(self.n * (totals @ totals) / independent)

    def intraclass_correlation(self, values: np.ndarray) -> float:
        """Return how alike ``values`` (n,) of a cluster are: the ANOVA estimate, cut to [0, 1].

        ``(B - W) / (B + (m - 1) W)`` of the mean squares B between and W within G clusters of n_c rows,
        ``m = (n - sum n_c^2 / n) / (G - 1)``. 0 where there is one cluster, or each has one row.
        Source: Donner (1986), International Statistical Review 54, 67-82, eq. (2.2).
        """
        if self.units is None or self.n_units < 2 or self.n_units == self.n:
            return 0.0
        scaled = values / unit(np.abs(values).max())
        counts = np.ones(self.n) if self.counts is None else self.counts
        rows = np.bincount(self.units, counts)
        means = np.bincount(self.units, counts * scaled) / rows
        middle = counts @ scaled / self.n
        between = float(rows @ (means - middle) ** 2) / (self.n_units - 1)
        within = float(np.sum(counts * (scaled - means[self.units]) ** 2)) / (self.n - self.n_units)
        typical = (self.n - float(rows @ rows) / self.n) / (self.n_units - 1)
        whole = between + (typical - 1) * within
        return float(np.clip((between - within) / whole, 0.0, 1.0)) if whole > ROUNDING**2 else 0.0

    def leverage(self, capacity: int) -> np.ndarray:
        """Return by how much the influence of each unit (capacity,) counts more than that of as many equal ones.

        ``(1 - 1/n) / (1 - h)`` of n units, of which this one holds a share h of the rows, or of their weight.
        """
        rows = self.sum_rows(np.ones((self.n_rows, 1)), capacity)[:, 0]
        others = (rows.sum() - rows) / rows.sum()
        return (1 - 1 / self.n_units) / np.where(others > 0, others, np.nan)

    def take(self, rows: np.ndarray) -> Layout:
        """Return the layout of permuted rows; units keep their numbers."""
        units = rows.astype(np.int32) if self.units is None else self.units[rows]
        weights, counts = (None if x is None else x[rows] for x in (self.row_weights, self.counts))
        return Layout(self.n, units, self.strata, weights, counts)

    def of_some(self, rows: np.ndarray) -> Layout:
        """Return the layout of some rows alone, of which each is one observation; units are numbered anew."""
        assert self.counts is None
        weights, strata = None if self.row_weights is None else self.row_weights[rows], self.strata
        if weights is not None:
            weights = weights / (weights.sum() / len(rows))
        found, units = (rows, None) if self.units is None else np.unique(self.units[rows], return_inverse=True)
        if strata is not None:
            strata = np.unique(strata[found], return_inverse=True)[1].astype(np.int32)
        return Layout(len(rows), None if units is None else units.astype(np.int32), strata, weights)

    def sum_rows(self, matrix: Any, capacity: int) -> Any:
        """Sum rows (N, k), weighted, within units: (capacity, k); host arrays or traced ones."""
        rows = matrix[: self.n_rows]
        if self.mass is not None:
            rows = rows * self.mass[:, None]
        if namespace(matrix) is jnp:
            return jax.ops.segment_sum(rows, np.arange(self.n) if self.units is None else self.units, capacity)
        out = np.zeros((capacity, matrix.shape[1]))
        if self.units is None:
            out[: self.n_rows] = rows
        else:
            for j in range(matrix.shape[1]):
                out[: self.n_units, j] = np.bincount(self.units, rows[:, j], self.n_units)
        return out

    def count_codes(self, codes: Any, size: int, capacity: int) -> Any:
        """Return the weight of every unit in every one of ``size`` cells (capacity, size); see :meth:`sum_rows`."""
        unit = np.arange(self.n_rows) if self.units is None else self.units
        if namespace(codes) is jnp:
            weights = 1.0 if self.mass is None else self.mass
            return jnp.zeros((capacity, size)).at[unit, codes[: self.n]].add(weights)
        flat = unit.astype(np.int64) * size + codes[: self.n_rows]
        counts = np.bincount(flat, self.mass, capacity * size)
        return counts.astype(np.float64).reshape(capacity, size)
