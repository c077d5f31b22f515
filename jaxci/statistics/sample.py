"""Validated observations of one data set."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.sums import Cells, padded

Made = TypeVar("Made")


@record
class Sample:
    """Validated observations, row by row, in the form that statistics read.

    A pytree: host arrays of one data set, or traced arrays with a leading axis over data sets, of which
    ``jax.vmap`` shows a statistic one at a time.

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
    counts : (n,) float64 or None
        How many equal observations each row stands for; None: each is one.
    score_eps : float
        Machine epsilon of the type that ``y_score`` came in.
    padding : int
        Number of trailing rows that only fill up a padded shape: copies of the last row
        that always have zero weight.
    """

    values: Any = None
    y_true: Any = None
    y_pred: Any = None
    y_score: Any = None
    columns: tuple[Any, ...] = ()
    n_classes: int = static(default=0)
    score_eps: float = static(default=float(np.finfo(np.float64).eps))
    padding: int = static(default=0)
    other: Any = None
    counts: Any = None

    @property
    def n(self) -> int:
        """Number of rows, without padding."""
        fields = (self.values, self.y_true, *self.columns)
        return len(next(x for x in fields if x is not None)) - self.padding

    def take(self, rows: Any) -> Sample:
        """Return the sample with its rows selected (or permuted) by ``rows``."""
        return self._map(lambda x: x[rows])

    def padded(self) -> Sample:
        """Return the sample with rows up to the padded size."""
        extra = padded(self.n) - self.n
        filled = self._map(lambda x: np.concatenate([x, np.repeat(x[-1:], extra, axis=0)]))
        other = None if filled.other is None else dataclasses.replace(filled.other, padding=extra)
        return dataclasses.replace(filled, padding=extra, other=other)

    def joined(self, rows: Sample) -> Sample:
        """Return the sample followed by ``rows``, on the host."""
        names = ("y_true", "y_pred", "y_score")
        both = {name: (getattr(self, name), getattr(rows, name)) for name in names}
        other = None if self.other is None or rows.other is None else self.other.joined(rows.other)
        found = {name: np.concatenate([x, y]) for name, (x, y) in both.items() if x is not None and y is not None}
        return dataclasses.replace(self, **found, other=other)  # type: ignore[arg-type]

    def _map(self, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
        names = ("values", "y_true", "y_pred", "y_score")
        changed: dict[str, Any] = {name: change(x) for name in names if (x := getattr(self, name)) is not None}
        other = None if self.other is None else self.other._map(change)
        return dataclasses.replace(self, **changed, columns=tuple(map(change, self.columns)), other=other)

    def against_rest(self, index: int) -> Sample:
        """Return the labels of one class against the rest, which are those of two classes."""
        y_true, y_pred = ((codes == index).astype(np.int32) for codes in (self.y_true, self.y_pred))
        return dataclasses.replace(self, y_true=y_true, y_pred=y_pred, n_classes=2)

    def once(self, make: Callable[[Sample], Made]) -> Made:
        """Return ``make(self)``, the same object every time: statistics that read the same share it."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    @functools.cached_property
    def _made(self) -> dict[Callable[[Sample], Any], Any]:
        return {}

    @functools.cached_property
    def class_sizes(self) -> np.ndarray:
        """Observations of every class (K,), on the host."""
        sizes = np.bincount(self.y_true[: self.n], self.counts, self.n_classes)
        return sizes if self.counts is None else sizes.astype(np.int64)

    @functools.cached_property
    def predicted_sizes(self) -> np.ndarray:
        """Observations that are predicted as every class (K,), on the host."""
        sizes = np.bincount(self.y_pred[: self.n], self.counts, self.n_classes)
        return sizes if self.counts is None else sizes.astype(np.int64)

    @functools.cached_property
    def wrong(self) -> float:
        """Observations whose predicted class is not the true one, on the host."""
        wrong = self.y_true[: self.n] != self.y_pred[: self.n]
        return float(np.count_nonzero(wrong) if self.counts is None else self.counts[wrong].sum())

    @functools.cached_property
    def n_missed_classes(self) -> int:
        """Classes with rows of which none is predicted right, on the host."""
        y, predicted = self.y_true[: self.n], self.y_pred[: self.n]
        hits = np.bincount(y[y == predicted], minlength=self.n_classes)
        return int(np.count_nonzero((hits == 0) & (np.bincount(y, minlength=self.n_classes) > 0)))

    @functools.cached_property
    def misranked(self) -> float:
        """Rows whose highest score is of another class; of two classes n times one less the area under the ROC curve.

        On the host; O(n log n). NaN where one of two classes has no row.
        """
        y, scores = self.y_true[: self.n], self.y_score[: self.n]
        counts = np.ones(self.n) if self.counts is None else self.counts
        if scores.ndim > 1:
            return float(counts[y != scores.argmax(axis=1)].sum())
        positive, negative = (float(counts[y == code].sum()) for code in (1, 0))
        if positive == 0 or negative == 0:
            return math.nan
        order = np.argsort(scores[y != 1])
        below, held = scores[y != 1][order], np.append(0.0, np.cumsum(counts[y != 1][order]))
        ends = (held[np.searchsorted(below, scores[y == 1], side)] for side in ("left", "right"))
        won = sum(float(counts[y == 1] @ end) for end in ends) / 2
        return (positive + negative) * (1 - won / (positive * negative))

    @functools.cached_property
    def confusion(self) -> Cells:
        """Membership of every row in the (K, K) table of true against predicted class."""
        k = self.n_classes
        if namespace(self.y_true) is jnp:
            return Cells(self.y_true.astype(jnp.int32) * k + self.y_pred, np.arange(k * k, dtype=np.int32), (k, k))
        exact = np.uint8 if k * k <= 256 else np.int64
        flat = self.y_true.astype(exact)
        flat *= k
        flat += self.y_pred.astype(exact)
        return Cells.observed(flat, (k, k))


class UnitSizes(NamedTuple):
    """How many rows (or how much of their weight) a unit that was not seen holds.

    Attributes
    ----------
    all : ()
        Of any class.
    of_class, of_rest : (K,) arrays
        Of each class, and of all others.
    of_true : (K,) array or None
        Of rows of each true class that are predicted as another, of rows that differ in weight.
    """

    all: Any
    of_class: Any
    of_rest: Any
    of_true: Any = None


class Together(NamedTuple):
    """Shares of the rows of a cluster that was not seen which all are right, or wrong; others are as all rows are.

    Attributes
    ----------
    all : ()
        Of rows of any class.
    of_class, of_rest : (K,) arrays
        Of each class, and of all others, of which to be predicted as it is wrong.
    """

    all: Any
    of_class: Any
    of_rest: Any


@record
class PseudoUnits:
    """Units that were not seen, one at each extreme of a statistic: the proper Bayesian bootstrap adds them to a bank.

    Attributes
    ----------
    weights : (P, B) array
        Weight of each in every resample.
    sizes : UnitSizes
    reach : (2,) array
        How many ranges of the values beyond the extreme ones the extremes of a mean lie: where it has no bounds, and
        where it has any, at which they are cut.
    together : Together or None
        Of units that are clusters of rows.
    """

    weights: Any
    sizes: UnitSizes
    reach: Any
    together: Together | None = None
