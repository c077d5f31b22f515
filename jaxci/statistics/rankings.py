"""Data of statistics of ranks: rows by score, of one class or of each, and what is read of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.resampling import ranked
from jaxci.special import namespace, ratio
from jaxci.statistics.cumulative import Ordering
from jaxci.statistics.sample import PseudoUnits, Sample


def _unseen_rows(unseen: PseudoUnits, dtype: Any) -> jax.Array:
    """Return the weight (K, B) of the unseen rows of every class."""
    return (unseen.weights * jnp.asarray(unseen.sizes.of_class)[:, None]).astype(dtype)


@record
class Ranking:
    """Rows by ascending score: ``labels`` (n,) int32, the class codes in that order."""

    labels: Any
    ordering: Ordering

    @classmethod
    def of(cls, labels: Any, scores: Any, n: int) -> Ranking:
        """Rank rows (N,), of which the first ``n`` are observations and the rest padding."""
        ordering = Ordering.of(scores, n)
        return cls(labels if ordering.order is None else labels[ordering.order], ordering)

    @classmethod
    def by_score(cls, sample: Sample) -> Ranking:
        """Rank rows by the score of class 1."""
        assert sample.y_true is not None
        assert sample.y_score is not None
        return cls.of(sample.y_true, sample.y_score, sample.n)

    def split(self, weights: jax.Array, target: int | jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the sorted weights (n,) of class ``target`` and those of all others."""
        in_order = 1.0 * self.ordering.arrange(weights)
        member = jnp.asarray(self.labels) == target
        return jnp.where(member, in_order, 0), jnp.where(member, 0, in_order)

    def descent(self, target: int | jax.Array = 1) -> ranked.Descent:
        """Return the rows from the highest score down, those of class ``target`` as members."""
        labels, order = jnp.asarray(self.labels), self.ordering.order
        rows = jnp.arange(labels.shape[0], dtype=jnp.int32) if order is None else order
        return ranked.Descent.of(rows, labels == target, self.ordering.first)

    def sums(self, bank_t: Any, wanted: frozenset[str], unseen: jax.Array | None) -> ranked.RankSums:
        """Return the ``wanted`` sums (B,) along the ranking, of a transposed bank joined by rows ``unseen`` (2, B)."""
        joined = None if unseen is None else ranked.Unseen(unseen[1], unseen[0])
        return ranked.scanned(bank_t, self.descent(), wanted, unseen=joined)

    def unseen_rows(self, unseen: PseudoUnits, dtype: Any) -> jax.Array:
        """Return the weight (2, B) of the unseen rows of both classes."""
        return _unseen_rows(unseen, dtype)


def with_tied_negatives(sample: Sample) -> tuple[Sample, np.ndarray]:
    """Return a sample by ascending score, rows of class 0 between two of class 1 as one, and how many each counts.

    On the host. Of m rows of class 1 at most 2 m + 1 of class 0 are left: those below, between and tied with these.
    """
    y_true, scores = sample.y_true[: sample.n], sample.y_score[: sample.n]
    counts = np.ones(sample.n) if sample.counts is None else sample.counts
    member = y_true == 1
    ends, others = np.unique(scores[member]), scores[~member]
    place = np.searchsorted(ends, others) + np.searchsorted(ends, others, "right")
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    rows = np.concatenate([np.flatnonzero(member), np.flatnonzero(~member)[first]])
    held = np.concatenate([counts[member], np.bincount(place, counts[~member])])
    order = np.argsort(scores[rows], kind="stable")
    found = dataclasses.replace(sample.take(rows[order]), counts=held[order], padding=0)
    return found, held[order]


def area_of_pairs(wins: jax.Array, members: jax.Array, others: jax.Array) -> jax.Array:
    """Area under the ROC curve from the weight of pairs that members win, and that of either side."""
    return ratio(wins, members.astype(wins.dtype) * others.astype(wins.dtype))


def area(ranking: Ranking, weights: jax.Array, target: int | jax.Array = 1) -> jax.Array:
    """Area under the ROC curve of class ``target`` against all others."""
    positive, negative = ranking.split(weights, target)
    wins = jnp.sum(positive * ranking.ordering.below(negative))
    return ratio(wins, jnp.sum(positive) * jnp.sum(negative))


def partial_area(ranking: Ranking, weights: jax.Array, max_fpr: float) -> jax.Array:
    """Area under the ROC curve of class 1 over false-positive rates from 0 to ``max_fpr``.

    With f the weight of negatives above a positive and l the limit on it, the positive adds
    ``max(l - f, 0)``, averaged over the group of ties that f runs through.
    """
    positive, negative = ranking.split(weights, 1)
    total = jnp.sum(negative)
    limit = max_fpr * total
    above = ranking.ordering.above(negative)
    start = jnp.minimum(above, limit)
    gain = limit - start
    if ranking.ordering.first is not None:
        through = ranking.ordering.upward(negative)
        end = jnp.minimum(through, limit)
        gain = ratio((end - start) * (limit - (start + end) / 2), through - above, gain)
    return ratio(jnp.sum(positive * gain), jnp.sum(positive) * total)


def average_precision(ranking: Ranking, weights: jax.Array, target: int | jax.Array = 1) -> jax.Array:
    """Average precision of class ``target`` against all others."""
    positive, negative = ranking.split(weights, target)
    found = ranking.ordering.upward(positive)
    precision = ratio(found, found + ranking.ordering.upward(negative), 0.0)
    return ratio(jnp.sum(positive * precision), jnp.sum(positive))


@record
class ClassRankings:
    """Data of a statistic of K classes.

    Attributes
    ----------
    codes : (n,) int32
        Class of every row.
    counts : (K,) int32
        Observations of every class in the full sample.
    ranking : Ranking
        Rows by the score of each class, with fields (n, K); or, for a micro average, all pairs of
        a row and a class by score, (n * K,), with label 1 where the class is the row's.
    """

    codes: Any
    counts: Any
    ranking: Ranking

    @classmethod
    def by_class(cls, sample: Sample) -> ClassRankings:
        """Rank rows by every column of scores; those of class 0 are ``-s`` if only s is given."""
        codes, counts, scores = class_scores(sample, 0.0)
        ordering = Ordering.of_columns(scores, sample.n)
        return cls(codes, counts, Ranking(codes[ordering.order], ordering))

    @classmethod
    def pooled(cls, sample: Sample) -> ClassRankings:
        """Rank all pairs of a row and a class; scores of class 0 are ``1 - s`` if only s is given."""
        codes, counts, scores = class_scores(sample, 1.0)
        ordering, entries = Ordering.of_entries(scores, sample.n)
        member = codes[:, None] == namespace(scores).arange(scores.shape[1])
        return cls(codes, counts, Ranking(member.ravel()[entries].astype(np.int32), ordering))

    @property
    def is_pooled(self) -> bool:
        """Whether all pairs of a row and a class are one ranking."""
        return self.ranking.labels.ndim == 1

    def class_weights(self, weights: jax.Array) -> jax.Array:
        """Weight of every class (K,)."""
        return jax.ops.segment_sum(weights, self.codes, self.counts.shape[0])

    def unseen_rows(self, unseen: PseudoUnits, dtype: Any) -> jax.Array:
        """Return the weight (K, B) of the unseen rows of every class; of classes without a row 0."""
        return _unseen_rows(unseen, dtype) * (jnp.asarray(self.counts) > 0)[:, None]

    def sums(self, bank_t: Any, wanted: frozenset[str], unseen: jax.Array | None) -> ranked.RankSums:
        """Return the ``wanted`` sums along every ranking (K, ..., B), or along the one of pairs (B,).

        Of a transposed bank joined by rows ``unseen`` (K, B) of every class.
        """
        classes = self.counts.shape[0]

        def joined(k: Any) -> ranked.Unseen | None:
            if unseen is None:
                return None
            members, total = unseen[k], jnp.sum(unseen, axis=0)
            return ranked.Unseen(members, total - members)

        if self.is_pooled:
            pairs = None if unseen is None else jnp.sum(unseen, axis=0)
            weights = None if pairs is None else ranked.Unseen(pairs, (classes - 1) * pairs)
            return ranked.scanned(bank_t, self.ranking.descent(), wanted, unseen=weights)
        return self.over_classes(
            lambda ranking, k: ranked.scanned(bank_t, ranking.descent(k), wanted, self.codes, classes, joined(k))
        )

    def over_classes(self, function: Any) -> Any:
        """Stack ``function(ranking by class k, k)`` over the classes, one after the other."""
        columns = jax.tree.map(jnp.transpose, self.ranking)
        classes = jnp.arange(self.counts.shape[0])
        return jax.lax.map(lambda pair: function(*pair), (columns, classes))


def class_scores(sample: Sample, whole: float) -> tuple[Any, Any, Any]:
    """Return codes (n,), counts (K,) and scores (n, K), class 0 of two scoring ``whole - s``."""
    assert sample.y_true is not None
    assert sample.y_score is not None
    s = sample.y_score
    xp = namespace(s)
    scores = xp.stack([_rest(s, whole), s], axis=1) if s.ndim == 1 else s
    codes, classes = sample.y_true[: sample.n], scores.shape[1]
    counts = jnp.bincount(codes, length=classes) if xp is jnp else np.bincount(codes, minlength=classes)
    return sample.y_true, counts.astype(np.int32), scores


def _rest(s: Any, whole: float) -> Any:
    """Return ``whole - s``, on the host as the value of ``s`` (n,) that it is but for rounding: so that both tie."""
    rest = whole - s
    if namespace(s) is jnp or not whole:
        return rest
    known = np.unique(s)
    above = np.searchsorted(known, rest).clip(max=len(known) - 1)
    near = (known[above], known[np.maximum(above - 1, 0)])
    nearest = np.where(np.abs(near[0] - rest) <= np.abs(near[1] - rest), *near)
    return np.where(np.abs(nearest - rest) <= np.finfo(np.float64).eps, nearest, rest)
