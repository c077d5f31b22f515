"""What every statistic promises: a value as a function of observation weights.

A resample is a row of counts, so a statistic never sees moved data: it is prepared once
from a :class:`Sample` on the host and then evaluated for any vector of non-negative
weights ``w`` (shape ``(n,)``; counts, Dirichlet weights, jackknife zeros, case weights).
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static

SMALL_TABLE = 16
"""Tables of at most so many cells keep them all; larger ones keep the observed."""


def padded(n: int) -> int:
    """Return the padded size for ``n``: eight sizes an octave, at most one eighth more.

    Arrays of data have padded sizes, so data of similar size share one compiled program.
    """
    if n <= 16:
        return n
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


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
    columns : tuple of arrays (n, ...)
        Data of a user's own statistic.
    n_classes : int
        K; 0 where there are no classes.
    other : Sample or None
        The same observations with the predictions of a second model.
    padding : int
        Number of trailing rows that only fill up a padded shape: copies of the last row
        that always have zero weight.
    """

    values: Any = None
    y_true: Any = None
    y_pred: Any = None
    y_score: Any = None
    columns: tuple[np.ndarray, ...] = ()
    n_classes: int = 0
    padding: int = 0
    other: Sample | None = None

    @property
    def n(self) -> int:
        """Number of observations, without padding."""
        fields = (self.values, self.y_true, *self.columns)
        return len(next(x for x in fields if x is not None)) - self.padding

    def take(self, rows: np.ndarray) -> Sample:
        """Return the sample with its rows selected (or permuted) by ``rows``."""
        return self._map(lambda x: x[rows])

    def padded(self) -> Sample:
        """Return the sample with rows up to the padded size."""
        extra = padded(self.n) - self.n
        filled = self._map(lambda x: np.concatenate([x, np.repeat(x[-1:], extra, axis=0)]))
        other = None if filled.other is None else dataclasses.replace(filled.other, padding=extra)
        return dataclasses.replace(filled, padding=extra, other=other)

    def _map(self, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
        names = ("values", "y_true", "y_pred", "y_score")
        changed: dict[str, Any] = {name: change(x) for name in names if (x := getattr(self, name)) is not None}
        other = None if self.other is None else self.other._map(change)
        return dataclasses.replace(self, **changed, columns=tuple(map(change, self.columns)), other=other)

    @functools.cached_property
    def confusion(self) -> Cells:
        """Membership of every row in the (K, K) table of true against predicted class."""
        k = self.n_classes
        exact = np.uint8 if k * k <= 256 else np.int64
        flat = self.y_true.astype(exact)
        flat *= k
        flat += self.y_pred.astype(exact)
        return Cells.observed(flat, (k, k))


class Statistic(abc.ABC):
    """A real-valued function of weighted observations.

    Leaves are frozen :func:`~jaxci.records.record` dataclasses. Class attributes:

    - ``task``: ``"values"``, ``"binary"``, ``"multiclass"`` (which includes binary) or ``"regression"``;
    - ``inputs``: the :class:`Sample` fields it reads;
    - ``road``: how resamples reach it, ``"moments"``, ``"cells"``, ``"order"``, ``"ranked"`` or ``"any"``;
    - ``smooth``: whether the value is differentiable in the weights;
    - ``bounds``: the range of the estimand;
    - ``loss``: whether smaller is better;
    - ``needs_probabilities``: whether ``y_score`` must hold probabilities.
    """

    task: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]]
    road: ClassVar[str]
    smooth: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    loss: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = False

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
        """Weighted sums (k,) for ``weights`` (n,)."""
        return weights @ self.design

    @property
    def size(self) -> int:
        """k, the number of features."""
        return self.design.shape[1]

    def without_rows(self) -> Features:
        """Keep only what ``from_sums`` reads."""
        return Features(None, self.constants)


@record
class Cells:
    """Cell membership of each observation in a finite table.

    ``codes`` (n,) integers index into ``cells`` (C,) int32, the observed cells of the flattened
    table of shape ``shape`` (padded, so that tables of similar size share one program; a
    padding cell lies outside the table). Sums are weights per cell; :meth:`table` spreads them.
    """

    codes: Any
    cells: Any
    shape: tuple[int, ...] = static()

    @classmethod
    def observed(cls, flat: np.ndarray, shape: tuple[int, ...]) -> Cells:
        """Build from the flat table index (n,) of every observation; O(n + table)."""
        whole = int(np.prod(shape))
        if whole <= SMALL_TABLE:
            built = cls(flat, np.arange(whole, dtype=np.int32), shape)
            built.cells[built.counts == 0] = whole
            return built
        cells = np.flatnonzero(np.bincount(flat, minlength=whole))
        place = np.zeros(whole, np.int32)
        place[cells] = np.arange(len(cells), dtype=np.int32)
        padding = padded(len(cells)) - len(cells)
        return cls(place[flat], np.pad(cells, (0, padding), constant_values=whole).astype(np.int32), shape)

    @property
    def size(self) -> int:
        """C, the number of cells, padding included."""
        return self.cells.shape[0]

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """Rows per cell (C,)."""
        if self.size <= SMALL_TABLE:
            return np.array([np.count_nonzero(self.codes == cell) for cell in range(self.size)])
        return np.bincount(self.codes, minlength=self.size)

    def weights_of(self, n: int, row_weights: np.ndarray | None) -> np.ndarray:
        """Weight per cell (C,) of the first ``n`` rows."""
        if row_weights is None:
            return self.counts - np.bincount(self.codes[n:], minlength=self.size).astype(np.float64)
        return np.bincount(self.codes[:n], row_weights, self.size).astype(np.float64)

    def without_rows(self) -> Cells:
        """Keep only what :meth:`table` reads."""
        return Cells(None, self.cells, self.shape)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per cell (C,) for ``weights`` (n,)."""
        return jax.ops.segment_sum(weights, self.codes, self.size)

    def table(self, sums: jax.Array) -> jax.Array:
        """Spread sums (C,) over the whole table."""
        whole = int(np.prod(self.shape))
        if whole <= SMALL_TABLE:
            return jnp.where(jnp.asarray(self.cells) < whole, sums, 0.0).reshape(self.shape)
        return jnp.zeros(whole, sums.dtype).at[self.cells].set(sums, mode="drop").reshape(self.shape)
