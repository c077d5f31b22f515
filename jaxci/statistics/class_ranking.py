"""Statistics of how well scores rank several classes: areas and precisions of each class, averaged.

Each class k is scored against others by column k of ``y_score``.
A class of the full sample may be left without weight by a resample; the field ``absent_class``
says what then happens:

============= ========================================= ======================== =====================
value         one versus rest                           one versus one           average precision
============= ========================================= ======================== =====================
``"sklearn"`` macro: NaN; weighted: left out            pairs of classes present macro: 0 for the class
``"zero"``    0 for the class, the divisor is unchanged 0 for the class's pairs  0 for the class
``"skip"``    left out                                  pairs of classes present left out
============= ========================================= ======================== =====================

``"sklearn"`` is what scikit-learn returns when ``labels`` is fixed to all classes. Weighted
averages never count an absent class of weight 0. A class that takes all the weight has no area
against the rest either and is handled in the same way (NaN under ``"sklearn"``). Where no class or pair
has a score the value is NaN. Micro averages pool all classes and need no rule.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import ABSENT_CLASS
from jaxci.records import record, static
from jaxci.resampling import kernels, ranked
from jaxci.special import namespace
from jaxci.statistics.base import OpposedStatistic, Statistic
from jaxci.statistics.cumulative import Ordering
from jaxci.statistics.ranking import (
    OPPOSED_NEGATIVE,
    OPPOSED_POSITIVE,
    AveragePrecision,
    Ranking,
    Replicates,
    ScoreRanking,
    area,
    area_of_pairs,
    average_precision,
    first_and_last,
    ratio,
    unseen_rows,
)
from jaxci.statistics.sample import PseudoUnits, Sample

SCHEMES = ("ovr", "ovo", "micro")
AVERAGES = ("macro", "weighted")
PRECISION_AVERAGES = ("macro", "weighted", "micro")


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

    def class_weights(self, weights: jax.Array) -> jax.Array:
        """Weight of every class (K,)."""
        return jax.ops.segment_sum(weights, self.codes, self.counts.shape[0])

    def unseen_rows(self, unseen: PseudoUnits, dtype: Any) -> jax.Array:
        """Return the weight (K, B) of the unseen rows of every class; of classes without a row 0."""
        return unseen_rows(unseen, dtype) * (jnp.asarray(self.counts) > 0)[:, None]

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
    scores = xp.stack([whole - s, s], axis=1) if s.ndim == 1 else s
    codes, classes = sample.y_true[: sample.n], scores.shape[1]
    counts = jnp.bincount(codes, length=classes) if xp is jnp else np.bincount(codes, minlength=classes)
    return sample.y_true, counts.astype(np.int32), scores


def _joined_by(pairs: ranked.PairSums, members: jax.Array, others: jax.Array) -> ranked.PairSums:
    """Add members and others that lose all their pairs."""
    return pairs._replace(members=pairs.members + members, others=pairs.others + others)


def _average(scores: jax.Array, shares: jax.Array, defined: jax.Array, absent_class: str) -> jax.Array:
    """Average ``scores`` by ``shares``, some of them not ``defined``; NaN if none is."""
    if absent_class == "skip":
        shares = jnp.where(defined, shares, 0)
    mean = ratio(jnp.sum(shares * jnp.where(defined, scores, 0)), jnp.sum(shares))
    undefined = ~jnp.any(defined)
    if absent_class == "sklearn":
        undefined |= jnp.any(~defined & (shares > 0))
    return jnp.where(undefined, jnp.nan, mean)


class MulticlassRanking(ScoreRanking):
    """A statistic of the scores of K classes."""

    task = "multiclass"

    @property
    @abc.abstractmethod
    def micro(self) -> bool:
        """Whether all classes are pooled."""

    ranked_by = "classes"

    @abc.abstractmethod
    def of_column(self, ranking: Ranking, weights: jax.Array, k: jax.Array, n_classes: int) -> jax.Array:
        """Return what the statistic reads of rows (n,) of ``weights`` that are ranked by the score of class ``k``."""

    @abc.abstractmethod
    def from_columns(self, found: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average what :meth:`of_column` returned (K, ...) over classes of weights ``sizes`` (K,)."""

    @abc.abstractmethod
    def of_entries(self, ranking: Ranking, weights: jax.Array) -> jax.Array:
        """Return the micro average of pairs of a row and a class (m,), with label 1 where the class is the row's."""

    def of_columns(self, rankings: Ranking, weights: jax.Array) -> jax.Array:
        """Return the statistic of a ranking for every class, or of one of entries."""
        if self.micro:
            return self.of_entries(jax.tree.map(lambda x: x[0], rankings), weights[0])
        n_classes = weights.shape[0]

        def one(column: tuple[Ranking, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            ranking, own, k = column
            return self.of_column(ranking, own, k, n_classes), jnp.sum(ranking.split(own, k)[0])

        return self.from_columns(*jax.lax.map(one, (rankings, weights, jnp.arange(n_classes))))

    def prepare(self, sample: Sample) -> ClassRankings:
        """Sort by the score of every class, or by all scores at once."""
        return ClassRankings.pooled(sample) if self.micro else ClassRankings.by_class(sample)

    def absent(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight."""
        return jnp.any((jnp.asarray(prepared.counts) > 0) & (prepared.class_weights(weights) == 0))


def _check(**choices: tuple[str, tuple[str, ...]]) -> None:
    for name, (value, known) in choices.items():
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")


@record
class RocAucMulticlass(MulticlassRanking):
    """Area under the ROC curve of K classes.

    - ``"ovr"``: mean over k of the area of class k against the rest by column k;
    - ``"ovo"``: mean over pairs a < b of ``(A(a|b) + A(b|a)) / 2``, with ``A(a|b)`` the area of
      class a against b alone by column a;
    - ``"micro"``: area of the n K pairs of a row and a class, positive where the class is the
      row's.

    From 0 to 1. Weighted means use ``N_k`` (one versus rest) or ``N_a + N_b`` (one versus one).

    Parameters
    ----------
    scheme : {"ovr", "ovo", "micro"}
        What is averaged.
    average : {"macro", "weighted"}
        How; of no effect for "micro".
    absent_class : {"sklearn", "zero", "skip"}
        Rule for a class without weight (see the module).

    References
    ----------
    Hand & Till (2001), A simple generalisation of the area under the ROC curve for multiple class
    classification problems, eq. 7 (one versus one); Provost & Domingos (2001), Well-trained PETs
    (one versus rest, weighted).
    """

    least_n = (25, "AUC")
    averages_classes = True

    scheme: str = static(default="ovr")
    average: str = static(default="macro")
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        _check(
            scheme=(self.scheme, SCHEMES),
            average=(self.average, AVERAGES),
            absent_class=(self.absent_class, ABSENT_CLASS),
        )

    @property
    def micro(self) -> bool:
        """Whether all classes are pooled."""
        return self.scheme == "micro"

    @property
    def ranked_by(self) -> str:  # type: ignore[override]
        """By what rows are ranked."""
        return {"ovr": "classes", "ovo": "pairs", "micro": "entries"}[self.scheme]

    def value(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Return the area under ``weights`` (n,)."""
        if self.micro:
            return self.of_entries(prepared.ranking, weights)
        sizes = 1.0 * prepared.class_weights(weights)
        found = prepared.over_classes(lambda ranking, k: self.of_column(ranking, weights, k, len(sizes)))
        return self.from_columns(found, sizes)

    def of_entries(self, ranking: Ranking, weights: jax.Array) -> jax.Array:
        """Return the area of pairs of a row and a class."""
        return area(ranking, weights)

    def of_column(self, ranking: Ranking, weights: jax.Array, k: jax.Array, n_classes: int) -> jax.Array:
        """Return the area of class ``k``, or the weight of pairs, of it and each class (K,), in which it wins."""
        if self.scheme == "ovr":
            return area(ranking, weights, k)
        member, others = ranking.split(weights, k)
        outranked = others * (jnp.sum(member) - ranking.ordering.below(member))
        return jax.ops.segment_sum(outranked, ranking.labels, n_classes)

    def from_columns(self, found: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average areas (K,), or wins (K, K) of rows over columns, over classes of weights ``sizes`` (K,)."""
        if self.scheme == "ovo":
            return self._one_versus_one(found, sizes)
        others = jnp.sum(jnp.where(np.eye(len(sizes), dtype=bool), 0, sizes), axis=1)
        return self._one_versus_rest(found, sizes, others)

    def replicates(self, prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
        """Return the area in every resample (B,), from ``bank_t`` (n, B)."""
        return self._joined(prepared, bank_t, None)

    def posterior(self, prepared: ClassRankings, shared: jax.Array, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the area (B,) with a row of every class that scores lowest for its own and highest for the others."""
        return self._joined(prepared, shared, prepared.unseen_rows(unseen, kernels.sum_dtype(shared)))

    def _joined(self, prepared: ClassRankings, bank_t: jax.Array, unseen: jax.Array | None) -> jax.Array:
        """Return the area (B,) where rows ``unseen`` (K, B) of every class lose all pairs."""

        def form(wins: Callable[..., ranked.PairSums], class_wins: Callable[..., Any]) -> Replicates:
            def one_versus_one(data: ClassRankings, bank: jax.Array) -> jax.Array:
                classes = data.counts.shape[0]
                table, sizes = data.over_classes(
                    lambda ranking, k: class_wins(bank, ranking.descent(k), data.codes, classes)
                )
                sizes = sizes if unseen is None else sizes + unseen
                return jax.vmap(self._one_versus_one, (2, 1))(table, sizes)

            def one_versus_rest(data: ClassRankings, bank: jax.Array) -> jax.Array:
                pairs = data.over_classes(lambda ranking, k: wins(bank, ranking.descent(k)))
                if unseen is not None:
                    pairs = _joined_by(pairs, unseen, jnp.sum(unseen, axis=0) - unseen)
                return jax.vmap(self._one_versus_rest, 1)(area_of_pairs(pairs), pairs.members, pairs.others)

            return one_versus_one if self.scheme == "ovo" else one_versus_rest

        def many(form: Replicates) -> Replicates | None:
            return None if unseen is None else form

        def micro(data: ClassRankings, bank: jax.Array) -> jax.Array:
            pairs = ranked.scanned_wins(bank, data.ranking.descent())
            if unseen is not None:
                rows = jnp.sum(unseen, axis=0)
                pairs = _joined_by(pairs, rows, (len(unseen) - 1) * rows)
            return area_of_pairs(pairs)

        if self.micro:
            return self.by_bank(prepared, bank_t, micro, self.each if unseen is None else micro, many(micro))
        scanned = form(ranked.scanned_wins, ranked.scanned_class_wins)
        compared = form(ranked.compared_wins, ranked.compared_class_wins)
        return self.by_bank(prepared, bank_t, scanned, compared, many(scanned))

    def _one_versus_rest(self, areas: jax.Array, sizes: jax.Array, others: jax.Array) -> jax.Array:
        """Average the areas (K,) of classes of weights ``sizes`` against rests of weights ``others``."""
        shares = sizes if self.average == "weighted" else jnp.ones_like(sizes)
        return _average(areas, shares, (sizes > 0) & (others > 0), self.absent_class)

    def _one_versus_one(self, table: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average over pairs of classes of weights ``sizes`` (K,) the wins (K, K) of rows over columns."""
        a, b = np.triu_indices(len(sizes), 1)
        scores = ratio((table[a, b] + table[b, a]) / 2, sizes[a] * sizes[b])
        shares = sizes[a] + sizes[b] if self.average == "weighted" else jnp.ones(len(a), sizes.dtype)
        rule = "skip" if self.absent_class == "sklearn" else self.absent_class
        return _average(scores, shares, (sizes[a] > 0) & (sizes[b] > 0), rule)


@record
class AveragePrecisionMulticlass(MulticlassRanking, OpposedStatistic):
    """Average precision of K classes: a mean over classes, each against the rest by its column.

    ``"micro"`` is the average precision of the n K pairs of a row and a class, positive where the
    class is the row's. From 0 to 1. A weighted mean uses ``N_k``.

    Parameters
    ----------
    average : {"macro", "weighted", "micro"}
        How the classes are averaged.
    absent_class : {"sklearn", "zero", "skip"}
        Rule for a class without weight (see the module).
    """

    least_n = (25, "average precision")
    averages_classes = True

    average: str = static(default="macro")
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        _check(average=(self.average, PRECISION_AVERAGES), absent_class=(self.absent_class, ABSENT_CLASS))

    @property
    def micro(self) -> bool:
        """Whether all classes are pooled."""
        return self.average == "micro"

    @property
    def ranked_by(self) -> str:  # type: ignore[override]
        """By what rows are ranked."""
        return "entries" if self.micro else "classes"

    def of_entries(self, ranking: Ranking, weights: jax.Array) -> jax.Array:
        """Return the average precision of pairs of a row and a class."""
        return average_precision(ranking, weights)

    def of_column(self, ranking: Ranking, weights: jax.Array, k: jax.Array, n_classes: int) -> jax.Array:
        """Return the average precision of class ``k`` against all others."""
        return average_precision(ranking, weights, k)

    def opposed_rows(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return for every class that has rows a member and another row which the models rank first and last.

        In the column of the class; those of other classes agree. The other row is of the largest other class. One
        column of scores is that of two classes, each the other's rest.
        """
        assert sample.other is not None
        if sample.y_score.ndim == 1:
            opposed, masses = AveragePrecision().opposed_rows(sample)
            return opposed, np.full(len(masses), masses.mean())
        present, sizes = np.flatnonzero(sample.class_sizes), sample.class_sizes
        others = np.array([int(np.argmax(np.where(np.arange(len(sizes)) == k, -1, sizes))) for k in present])
        column, member = np.tile(present, 2), np.repeat([True, False], len(present))
        true = np.where(member, column, np.tile(others, 2))
        rows = np.arange(len(true))

        def scores(found: np.ndarray, ahead: bool) -> np.ndarray:
            first, last = first_and_last(found)
            given = np.full((len(true), len(sizes)), last)
            given[rows[~member], true[~member]] = first
            given[rows, column] = first if ahead else last
            return given

        def both_ways(model: Sample, ahead: bool) -> Sample:
            found = np.concatenate([scores(model.y_score, ahead), scores(model.y_score, not ahead)])
            return dataclasses.replace(model, y_true=twice, y_pred=None, y_score=found, padding=0)

        twice = np.tile(true, 2).astype(sample.y_true.dtype)
        joined = dataclasses.replace(both_ways(sample, True), other=both_ways(sample.other, False))
        return joined, np.tile(np.where(member, OPPOSED_POSITIVE, OPPOSED_NEGATIVE), 2)

    def value(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,)."""
        return self._joined_value(prepared, weights, jnp.zeros(prepared.counts.shape[0]))

    def _joined_value(self, prepared: ClassRankings, weights: jax.Array, unseen: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,) and those of rows ``unseen`` (K,), ranked worst."""
        total = jnp.sum(unseen)
        if self.micro:
            return average_precision(prepared.ranking, weights, 1, (len(unseen) - 1) * total, total)

        def of_class(ranking: Ranking, k: jax.Array) -> jax.Array:
            return average_precision(ranking, weights, k, total - unseen[k], unseen[k])

        return self.from_columns(prepared.over_classes(of_class), 1.0 * prepared.class_weights(weights) + unseen)

    def replicates(self, prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
        """Return the average precision in every resample (B,), from ``bank_t`` (n, B)."""
        nothing = jnp.zeros((prepared.counts.shape[0], 1), kernels.sum_dtype(bank_t))
        return self.by_bank(prepared, bank_t, self._scanned(nothing), self.each)

    def posterior(self, prepared: ClassRankings, shared: jax.Array, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the mean (B,) with a row of every class that scores lowest for its own and highest for the others."""
        rows = prepared.unseen_rows(unseen, kernels.sum_dtype(shared))

        def each(data: ClassRankings, bank_t: jax.Array) -> jax.Array:
            return self.each_joined(functools.partial(self._joined_value, data), bank_t, rows)

        return self.by_bank(prepared, shared, self._scanned(rows), each, each)

    def _scanned(self, unseen: jax.Array) -> Replicates:
        """Return the form for CPUs, with rows ``unseen`` (K, B) of every class."""
        total = jnp.sum(unseen, axis=0)

        def scanned(prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
            if self.micro:
                others = (len(unseen) - 1) * total
                return ratio(*ranked.scanned_precision(bank_t, prepared.ranking.descent(), others, total))

            def of_class(ranking: Ranking, k: jax.Array) -> tuple[jax.Array, jax.Array]:
                return ranked.scanned_precision(bank_t, ranking.descent(k), total - unseen[k], unseen[k])

            sums, sizes = prepared.over_classes(of_class)
            return jax.vmap(self.from_columns, 1)(ratio(sums, sizes), sizes)

        return scanned

    def from_columns(self, found: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average the precisions (K,) of classes of weights ``sizes``."""
        shares = sizes if self.average == "weighted" else jnp.ones_like(sizes)
        rule = "zero" if self.absent_class == "sklearn" else self.absent_class
        return _average(found, shares, sizes > 0, rule)


METRICS: dict[str, Statistic] = {
    "roc_auc_ovr": RocAucMulticlass(),
    "roc_auc_ovr_weighted": RocAucMulticlass(average="weighted"),
    "roc_auc_ovo": RocAucMulticlass(scheme="ovo"),
    "roc_auc_ovo_weighted": RocAucMulticlass(scheme="ovo", average="weighted"),
    "roc_auc_micro": RocAucMulticlass(scheme="micro"),
    "average_precision_macro": AveragePrecisionMulticlass(),
    "average_precision_micro": AveragePrecisionMulticlass(average="micro"),
}
"""Statistics by name, with default settings."""
