"""Statistics of a confusion matrix: what they have in common."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.resampling.kernels import in_blocks
from jaxci.special import ratio
from jaxci.statistics.base import OpposedStatistic, TableStatistic
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, Cells

FEW = 16
"""Up to so many classes the diagonal of a table is picked one by one."""
MOST_WRONG = 400
"""Over so many wrong labels, of all classes together, rows that are wrong are spread at most, or over one of each."""


class OneVsRest(NamedTuple):
    """Weights of each class against the rest, (K, ...) each.

    ``hits`` TP, ``misses`` FN, ``alarms`` FP; ``others`` is the weight whose true class is another
    one (TN + FP), ``dismissed`` the weight predicted as another one (TN + FN).
    """

    hits: jax.Array
    misses: jax.Array
    alarms: jax.Array
    others: jax.Array
    dismissed: jax.Array

    @classmethod
    def of(cls, table: jax.Array) -> OneVsRest:
        """Read the weights off a ``table`` (K, K, ...); further axes run over tables."""
        size = table.shape[0]
        hits = (
            jnp.stack([table[k, k] for k in range(size)]) if size <= FEW else jnp.moveaxis(jnp.diagonal(table), -1, 0)
        )
        off = ~np.eye(size, dtype=bool).reshape(size, size, *[1] * (table.ndim - 2))
        errors = jnp.where(off, table, 0)
        misses, alarms = errors.sum(axis=1), errors.sum(axis=0)
        others = jnp.where(off, hits + misses, 0).sum(axis=1)
        dismissed = jnp.where(off, hits + alarms, 0).sum(axis=1)
        return cls(hits, misses, alarms, others, dismissed)

    @property
    def true(self) -> jax.Array:
        """Weight of each true class, ``t_k`` (K, ...)."""
        return self.hits + self.misses

    @property
    def predicted(self) -> jax.Array:
        """Weight of each predicted class, ``p_k`` (K, ...)."""
        return self.hits + self.alarms

    def pooled(self) -> OneVsRest:
        """Sum over the classes (...)."""
        return OneVsRest(*(weight.sum(axis=0) for weight in self))


def of_two(table: jax.Array, index: int) -> jax.Array:
    """Return the table (2, 2, ...) of one class, the last, against the rest, from that of all (K, K, ...)."""
    own, true, predicted = table[index, index], table[index].sum(axis=0), table[:, index].sum(axis=0)
    missed, alarms = true - own, predicted - own
    rest = total(table) - true - alarms
    return jnp.stack([jnp.stack([rest, alarms]), jnp.stack([missed, own])])


def total(table: jax.Array) -> jax.Array:
    """Return the whole weight (...) of a ``table`` (K, K, ...)."""
    return table.sum(axis=(0, 1))


def mean_defined(scores: jax.Array, weights: jax.Array) -> jax.Array:
    """Weighted mean (...) of the ``scores`` (K, ...) that are not NaN.

    Where these all have weight 0 the mean is unweighted, and NaN where there are none.
    """
    defined = ~jnp.isnan(scores)
    scores, weights = jnp.where(defined, scores, 0), jnp.where(defined, weights, 0)
    weights = jnp.where(weights.sum(axis=0) > 0, weights, defined)
    return ratio((weights * scores).sum(axis=0), weights.sum(axis=0), np.nan)


class Alike(NamedTuple):
    """How clusters that were not seen go along: others of their rows are as the rows of a ``table`` (K, K) are.

    ``share`` (K,) of the rows of each class go along. ``of_any``: others are as rows of any class, else as of theirs.
    """

    table: jax.Array
    share: jax.Array
    of_any: bool


def unseen_table(right: jax.Array, wrong: jax.Array, spread: jax.Array, alike: Alike | None) -> jax.Array:
    """Return the table (K, K, B) of weights (K, B) of rows of each class that are ``right``, and ``wrong``.

    Wrong rows are ``spread`` (K, K, 1) over predictions.
    """
    others = None
    if alike is not None:
        share = alike.share.astype(right.dtype)[:, None]
        table = alike.table.astype(right.dtype)
        others = (1 - share) * (right + wrong)
        right, wrong = share * right, share * wrong
        if alike.of_any:
            others = (table.sum(axis=1) / table.sum())[:, None] * others.sum(axis=0)
        rows = table.sum(axis=1, keepdims=True)
        others = others[:, None] * jnp.where(rows > 0, table / jnp.where(rows > 0, rows, 1.0), 0.0)[..., None]
    found = jnp.eye(len(right), dtype=right.dtype)[..., None] * right[:, None] + spread * wrong[:, None]
    return found if others is None else found + others


def _all_or_none(weights: jax.Array, never: jax.Array) -> jax.Array:
    """Return weights (2 K, B) of right and wrong rows, of the classes ``never`` (K,) predicted all of one kind."""
    right, wrong = jnp.split(weights, 2)
    first = jnp.argmax(never)
    kind = right[first] > wrong[first]
    both = right + wrong
    right = jnp.where(never[:, None], jnp.where(kind, both, 0.0), right)
    return jnp.concatenate([right, jnp.where(never[:, None], jnp.where(kind, 0.0, both), wrong)])


class ConfusionStatistic(TableStatistic, OpposedStatistic):
    """A function of the table of true against predicted classes."""

    task: ClassVar[str] = "multiclass"
    inputs: ClassVar[tuple[str, ...]] = ("y_true", "y_pred")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @abc.abstractmethod
    def score(self, table: jax.Array) -> jax.Array:
        """Return the statistic (...) of a ``table`` (K, K, ...) of positive total weight."""

    def check_classes(self, n_classes: int) -> None:
        """Raise where the statistic is not meant for ``n_classes`` classes."""
        return None

    def prepare(self, sample: Sample) -> Cells:
        """Return the cell of the (K, K) table that each observation falls in, one object a sample.

        Raises
        ------
        ValueError
            If labels are missing, or their classes are not what ``average`` asks for.
        """
        if sample.y_true is None or sample.y_pred is None:
            raise ValueError(f"{type(self).__name__} needs class labels y_true and y_pred; one is missing")
        self.check_classes(sample.n_classes)
        return sample.confusion

    def core(self, prepared: Cells, sums: jax.Array) -> jax.Array:
        """Return the statistic (...) from weights per observed cell (C, ...)."""
        table = prepared.table(jnp.asarray(sums, jnp.result_type(sums, 1.0)))
        return jnp.where(total(table) > 0, self.score(table), np.nan)

    def pseudo_masses(self, n_classes: int) -> tuple[float, ...]:
        """Return the masses of rows that are right, one of each class, and of rows that are wrong.

        Those of a share of all rows are one row together.
        """
        if self.has_fixed_trials:
            return (1.0 / n_classes,) * (2 * n_classes)
        return ((1.0 if n_classes == 2 else 0.5),) * (2 * n_classes)

    def mistaken_for(self, table: jax.Array) -> jax.Array:
        """Return the relative weights (K, K) of what wrong rows of every class that were not seen are taken for."""
        return jnp.where(~np.eye(len(table), dtype=bool), table.sum(axis=0), 0.0)

    def posterior(self, prepared: Any, shared: Bank, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the statistic (B,) with rows of every class that are right, and others that are wrong.

        Wrong rows of a class are spread over the others as all predictions are (:meth:`mistaken_for`). Of more than two
        classes those that have no row gain none. Of means over classes rows are of predicted ones where predictions
        count below the line, wrong ones of true classes as all rows are. Those that were never predicted gain rows that
        are all right, or all wrong, of all such classes: what they score may be anything, and 0 if they never are.
        """
        known = prepared.without_rows()
        observed = known.table(prepared.sums(whole))
        size = observed.shape[0]
        by_prediction = self.averages_precision
        table = observed.T if by_prediction else observed
        spread = self.mistaken_for(table)
        other = ~np.eye(size, dtype=bool)
        spread = jnp.where(spread.sum(axis=1, keepdims=True) > 0, spread, other)
        spread = spread / spread.sum(axis=1, keepdims=True)
        held, along = unseen.sizes, unseen.together
        own = jnp.asarray(held.of_class)
        wrong = own if held.of_true is None or not by_prediction else spread @ jnp.asarray(held.of_true)
        sizes = held.all if self.has_fixed_trials else jnp.concatenate([own, wrong])[:, None]
        if size > 2 and not self.has_fixed_trials:
            there = table.sum(axis=1) > 0
            there = there | (table.sum(axis=0) > 0) if by_prediction else there
            sizes = sizes * jnp.tile(there, 2)[:, None]
        sums = prepared.bank_sums(shared)
        added = unseen.weights
        if by_prediction:
            added = _all_or_none(added, table.sum(axis=1) == 0)
        weights = (added * sizes).astype(sums.dtype)
        spread = spread[..., None].astype(sums.dtype)
        alike = None
        if along is not None:
            share = jnp.broadcast_to(along.all, size) if self.has_fixed_trials else jnp.asarray(along.of_class)
            alike = Alike(table, share, of_any=self.has_fixed_trials)

        def score(part: jax.Array) -> jax.Array:
            cells, right, wrong = part[: -2 * size], part[-2 * size : -size], part[-size:]
            added = unseen_table(right, wrong, spread, alike)
            return self.score(known.table(cells) + (jnp.swapaxes(added, 0, 1) if by_prediction else added))

        return in_blocks(score, jnp.concatenate([sums, weights]))

    def opposed_rows(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return rows of every class that has any, on which one model is right and the other is wrong.

        Wrong labels of a class are spread over the other classes that have rows as the models predict them, the most
        frequent ones where there are many. Both ways together a class gains one row of two classes, half a row of more;
        of a share of all rows all classes together gain two.
        """
        assert sample.other is not None
        size = sample.n_classes
        predicted = np.bincount(sample.y_pred, minlength=size) + np.bincount(sample.other.y_pred, minlength=size)
        classes = np.flatnonzero(sample.class_sizes) if size > 2 else np.arange(size)
        each = 1.0 / len(classes) if self.has_fixed_trials else (0.5 if size == 2 else 0.25)
        true, wrong, masses = [], [], []
        for k in classes:
            spread = np.where((np.arange(size) == k) | (sample.class_sizes == 0), 0, predicted)
            if not spread.any():
                spread = 1 * (np.arange(size) != k)
            labels = np.argsort(-spread, kind="stable")[: max(1, min(size, MOST_WRONG // size))]
            labels = labels[spread[labels] > 0]
            true.append(np.full(len(labels), k))
            wrong.append(labels)
            masses.append(each * spread[labels] / spread[labels].sum())
        right, other = (np.concatenate(x).astype(sample.y_true.dtype) for x in (true, wrong))
        twice = np.concatenate([right, right])
        second = dataclasses.replace(
            sample.other, y_true=twice, y_pred=np.concatenate([other, right]), y_score=None, padding=0
        )
        rows = dataclasses.replace(
            sample, y_true=twice, y_pred=np.concatenate([right, other]), y_score=None, padding=0, other=second
        )
        return rows, np.tile(np.concatenate(masses), 2)

    def absent_in_sums(self, prepared: Cells, sums: jax.Array) -> jax.Array:
        """Whether a true class that has cells in ``prepared`` has no weight."""
        table = prepared.table(sums)
        n_classes = table.shape[0]
        expected = jnp.zeros(n_classes, bool).at[prepared.cells // n_classes].set(True, mode="drop")
        return jnp.any(expected & (table.sum(axis=1) == 0))
