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

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import ABSENT_CLASS, check_choice
from jaxci.records import record, static
from jaxci.resampling import ranked
from jaxci.special import ratio
from jaxci.statistics.base import OpposedStatistic, Statistic
from jaxci.statistics.ranking import OPPOSED_NEGATIVE, OPPOSED_POSITIVE, AveragePrecision, ScoreRanking, first_and_last
from jaxci.statistics.rankings import ClassRankings, Ranking, area, area_of_pairs, average_precision
from jaxci.statistics.sample import Sample

SCHEMES = ("ovr", "ovo", "micro")
AVERAGES = ("macro", "weighted")
PRECISION_AVERAGES = ("macro", "weighted", "micro")


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
        return sample.once(ClassRankings.pooled if self.micro else ClassRankings.by_class)

    def absent(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight."""
        return jnp.any((jnp.asarray(prepared.counts) > 0) & (prepared.class_weights(weights) == 0))


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

    of_roc_curve = True
    least_n = (25, "AUC")
    averages_classes = True

    scheme: str = static(default="ovr")
    average: str = static(default="macro")
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        check_choice("scheme", self.scheme, SCHEMES)
        check_choice("average", self.average, AVERAGES)
        check_choice("absent_class", self.absent_class, ABSENT_CLASS)

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

    @property
    def reads(self) -> frozenset[str]:
        """The weight of the pairs that members win, against each class apart for one versus one."""
        return frozenset({"class_wins" if self.scheme == "ovo" else "wins"})

    def from_sums(self, sums: ranked.RankSums) -> jax.Array:
        """Return the area (B,); unseen rows of every class lose all their pairs."""
        members, others = sums.joined
        if self.scheme == "ovo":
            return jax.vmap(self._one_versus_one, (2, 1))(sums.class_wins, members.astype(sums.class_wins.dtype))
        areas = area_of_pairs(sums.wins, members, others)
        return areas if self.micro else jax.vmap(self._one_versus_rest, 1)(areas, members, others)

    def shares_of_classes(self, sizes: np.ndarray) -> np.ndarray:
        """Return about how far the mean moves with the area (K,) of each class of ``sizes`` (K,)."""
        shares = sizes if self.average == "weighted" else np.ones_like(sizes)
        return shares / shares.sum()

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
    """Average precision of K classes, each against the rest by its column.

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
        check_choice("average", self.average, PRECISION_AVERAGES)
        check_choice("absent_class", self.absent_class, ABSENT_CLASS)

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
        column of scores is that of two classes, each the other's rest. Of K > 2 classes all of which have negatives
        above the others, which move most of what they precede, these weigh ``1 / K^2`` of what they do alone:
        ``benchmarks/class_precision_differences.py``.
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
        negative = OPPOSED_NEGATIVE / (len(present) ** 2 if len(present) > 2 else 1)
        return joined, np.tile(np.where(member, OPPOSED_POSITIVE, negative), 2)

    def value(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,)."""
        if self.micro:
            return average_precision(prepared.ranking, weights)
        found = prepared.over_classes(lambda ranking, k: average_precision(ranking, weights, k))
        return self.from_columns(found, 1.0 * prepared.class_weights(weights))

    reads = frozenset({"precision"})

    def from_sums(self, sums: ranked.RankSums) -> jax.Array:
        """Return the average precision (B,), an unseen row of a class last for its own and first for the others."""
        members = sums.joined.members
        found = ratio(sums.precision, members)
        return found if self.micro else jax.vmap(self.from_columns, 1)(found, members)

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
