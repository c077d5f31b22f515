"""What every statistic promises: a value as a function of observation weights.

A resample is a row of counts, so a statistic never sees moved data: it is prepared once
from a :class:`Sample` on the host and then evaluated for any vector of non-negative
weights ``w`` (shape ``(n,)``; counts, Dirichlet weights, jackknife zeros, case weights).
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Validated observations, row by row, in the form that statistics read (host arrays).

    Attributes
    ----------
    values : (n,) float64 or None
        Per-case values of a summary statistic.
    y_true : (n,) int32 class codes ``0..K-1``, or (n,) float64 regression targets, or None
        In a binary problem code 1 is the positive class.
    y_pred : like ``y_true``, or None
    y_score : (n,) float64 scores of the positive class, (n, K) class scores, or None
    n_classes : int
        K; 0 where there are no classes.
    """

    values: np.ndarray | None = None
    y_true: np.ndarray | None = None
    y_pred: np.ndarray | None = None
    y_score: np.ndarray | None = None
    n_classes: int = 0

    @property
    def n(self) -> int:
        """Number of observations."""
        first = self.values if self.values is not None else self.y_true
        assert first is not None
        return len(first)

    def take(self, rows: np.ndarray) -> Sample:
        """Return the sample with its rows selected (or permuted) by ``rows``."""
        pick = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ("values", "y_true", "y_pred", "y_score")
        }
        return Sample(**pick, n_classes=self.n_classes)


class Statistic(abc.ABC):
    """A real-valued function of weighted observations.

    Leaves are frozen :func:`~jaxci.records.record` dataclasses. Class attributes:

    - ``task``: ``"values"``, ``"binary"``, ``"multiclass"`` (which includes binary) or ``"regression"``;
    - ``inputs``: the :class:`Sample` fields it reads;
    - ``road``: how resamples reach it, ``"moments"``, ``"cells"``, ``"order"``, ``"ranked"`` or ``"any"``;
    - ``smooth``: whether the value is differentiable in the weights;
    - ``bounds``: the range of the estimand.
    """

    task: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]]
    road: ClassVar[str]
    smooth: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    @abc.abstractmethod
    def prepare(self, sample: Sample) -> Any:
        """Turn observations into what :meth:`value` reads: a pytree of float64 / int32 arrays (host)."""

    @abc.abstractmethod
    def value(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Return the statistic (a scalar, NaN where undefined) under ``weights`` (n,)."""

    def absent(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight (a scalar boolean)."""
        return jnp.zeros((), bool)

    def sort_keys(self, sample: Sample) -> np.ndarray | None:
        """Row order (n,) in which :meth:`prepare` needs no gather per resample, if there is one."""
        return None


class LinearStatistic(Statistic):
    """A function of weighted sums: ``value = from_sums(prepared, weights @ design)``.

    Moments read sums of per-observation features; cells read a weighted table of counts.
    ``prepared`` is :class:`Features` or :class:`Cells`. ``from_sums`` must be invariant to
    the scale of the sums (it divides by the total weight itself).
    """

    @abc.abstractmethod
    def from_sums(self, prepared: Any, sums: jax.Array) -> jax.Array:
        """Return the statistic from ``sums`` (k,)."""

    def absent_in_sums(self, prepared: Any, sums: jax.Array) -> jax.Array:
        """Like :meth:`absent`, from ``sums`` (k,)."""
        return jnp.zeros((), bool)

    def value(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Return the statistic under ``weights`` (n,)."""
        return self.from_sums(prepared, prepared.sums(weights))

    def absent(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight."""
        return self.absent_in_sums(prepared, prepared.sums(weights))


@record
class Features:
    """Per-observation features of a moment statistic.

    ``design`` (n, k) has a first column of ones; ``constants`` is any pytree (centres,
    scales) that ``from_sums`` needs. Centre data before squaring it.
    """

    design: Any
    constants: Any = ()

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weighted sums (..., k) for ``weights`` (..., n)."""
        return weights @ self.design

    @property
    def size(self) -> int:
        """k, the number of features."""
        return self.design.shape[1]


@record
class Cells:
    """Cell membership of each observation in a finite table.

    ``codes`` (n,) int32 index into ``cells`` (C,) int32, the observed cells of the flattened
    table of shape ``shape``. Sums are weights per observed cell; :meth:`table` spreads them.
    """

    codes: Any
    cells: Any
    shape: tuple[int, ...] = static()

    @classmethod
    def observed(cls, flat: np.ndarray, shape: tuple[int, ...]) -> Cells:
        """Build from the flat table index (n,) of every observation."""
        cells, codes = np.unique(flat, return_inverse=True)
        return cls(codes.astype(np.int32), cells.astype(np.int32), shape)

    @property
    def size(self) -> int:
        """C, the number of observed cells."""
        return self.cells.shape[0]

    @property
    def design(self) -> jax.Array:
        """Membership as an indicator matrix (n, C)."""
        return jax.nn.one_hot(self.codes, self.size, dtype=float)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per observed cell (..., C) for ``weights`` (..., n)."""
        if weights.ndim == 1:
            return jax.ops.segment_sum(weights, self.codes, self.size)
        return weights @ self.design.astype(weights.dtype)

    def table(self, sums: jax.Array) -> jax.Array:
        """Spread sums (C,) over the whole table."""
        flat = jnp.zeros(int(np.prod(self.shape)), sums.dtype).at[self.cells].set(sums)
        return flat.reshape(self.shape)
