"""Statistics of how well scores rank the classes: areas under ROC curves, average precision.

A resample reaches them as weights ``w_i`` in the order of the scores ``s_i``: data are sorted once
and every value costs O(n) in cumulative sums. Rows of equal score are treated together, as one
threshold. ``N_k`` is the weight of class k, N the total. All resamples of a bank are reached at once by
:meth:`RankedStatistic.replicates`.

Statistics of more than two classes score each class k against others by column k of ``y_score``.
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
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import ABSENT_CLASS
from jaxci.records import record, static
from jaxci.resampling import kernels, ranked
from jaxci.statistics.base import RankedStatistic, Sample, Statistic, namespace
from jaxci.statistics.cumulative import Ordering

SCHEMES = ("ovr", "ovo", "micro")
AVERAGES = ("macro", "weighted")
PRECISION_AVERAGES = ("macro", "weighted", "micro")


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


def _ratio(numerator: jax.Array, denominator: jax.Array, otherwise: float | jax.Array = jnp.nan) -> jax.Array:
    """Divide; ``otherwise`` where the denominator is not positive, with a zero gradient there."""
    defined = denominator > 0
    return jnp.where(defined, numerator / jnp.where(defined, denominator, 1), otherwise)


def area(ranking: Ranking, weights: jax.Array, target: int | jax.Array = 1) -> jax.Array:
    """Area under the ROC curve of class ``target`` against all others."""
    positive, negative = ranking.split(weights, target)
    wins = jnp.sum(positive * ranking.ordering.below(negative))
    return _ratio(wins, jnp.sum(positive) * jnp.sum(negative))


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
        gain = _ratio((end - start) * (limit - (start + end) / 2), through - above, gain)
    return _ratio(jnp.sum(positive * gain), jnp.sum(positive) * total)


def average_precision(ranking: Ranking, weights: jax.Array, target: int | jax.Array = 1) -> jax.Array:
    """Average precision of class ``target`` against all others."""
    positive, negative = ranking.split(weights, target)
    found = ranking.ordering.upward(positive)
    precision = _ratio(found, found + ranking.ordering.upward(negative), 0.0)
    return _ratio(jnp.sum(positive * precision), jnp.sum(positive))


def _area_of_pairs(pairs: ranked.PairSums) -> jax.Array:
    """Area under the ROC curve from the weights of its pairs."""
    return _ratio(pairs.wins, pairs.members * pairs.others)


class Placements(NamedTuple):
    """Area under the ROC curve of class 1, and what DeLong's variance of it reads (scalars).

    ``variance = variance_pos / n_pos + variance_neg / n_neg``.

    Attributes
    ----------
    auc : float
        The area.
    n_pos, n_neg : int32
        Rows of class 1, and of class 0.
    variance_pos, variance_neg : float
        Variance (ddof 1) of the placement values of either: for a positive, the share of negatives below
        it, for a negative, the share of positives above it, ties one half. NaN for a class with one member.
    """

    auc: jax.Array
    n_pos: jax.Array
    n_neg: jax.Array
    variance_pos: jax.Array
    variance_neg: jax.Array


def placement_variances(prepared: Ranking, present: jax.Array | None = None) -> Placements:
    """Return DeLong's evidence of a ranking, in a program.

    Parameters
    ----------
    prepared : Ranking
        What a binary statistic's ``prepare`` returned.
    present : (n,) array, optional
        1 for observations and 0 for padding; all are observations by default.

    Returns
    -------
    Placements

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves,
    Biometrics 44, 837-845; by mid-ranks as in Sun & Xu (2014), Fast implementation of DeLong's algorithm.
    """
    present = jnp.ones(prepared.labels.shape[0]) if present is None else present
    positive, negative = prepared.split(present, 1)
    m, n = jnp.sum(positive), jnp.sum(negative)
    below = prepared.ordering.below(negative)
    above = m - prepared.ordering.below(positive)

    def variance(counts: jax.Array, members: jax.Array, size: jax.Array, most: jax.Array) -> jax.Array:
        apart = counts - _ratio(jnp.sum(members * counts), size)
        return _ratio(jnp.sum(members * apart**2), (size - 1) * most**2)

    auc = _ratio(jnp.sum(positive * below), m * n)
    sizes = m.astype(jnp.int32), n.astype(jnp.int32)
    return Placements(auc, *sizes, variance(below, positive, m, n), variance(above, negative, n, m))


Replicates = Callable[[Any, jax.Array], jax.Array]


class ScoreRanking(RankedStatistic):
    """A statistic of the order of scores, which reaches all resamples of a bank in one pass."""

    inputs = ("y_true", "y_score")

    @property
    def is_whole_area(self) -> bool:
        """Whether the statistic is the whole area under the ROC curve: a mean over pairs of rows."""
        return False

    @abc.abstractmethod
    def replicates(self, prepared: Any, bank_t: jax.Array) -> jax.Array:
        """Return :meth:`value` under every column of a transposed bank.

        Parameters
        ----------
        prepared : pytree
            What :meth:`prepare` returned.
        bank_t : (n, B) array
            Weights; integers or half precision for counts.

        Returns
        -------
        (B,) array
            float64 for a bank of float64, else float32. Areas of counts are the very value that
            :meth:`value` gives; precisions equal it up to the order of summation.
        """

    def by_bank(self, prepared: Any, bank_t: jax.Array, scanned: Replicates, compared: Replicates) -> jax.Array:
        """Call the form for the platform: ``scanned`` on a CPU, ``compared`` or, for many rows, :meth:`each`."""
        few = bank_t.shape[0] <= kernels.COMPARED

        def rounded(form: Replicates) -> Replicates:
            return lambda prepared, bank_t: form(prepared, bank_t).astype(kernels.sum_dtype(bank_t))

        return kernels.by_platform(
            prepared, bank_t, cpu=rounded(scanned), accelerator=rounded(compared if few else self.each)
        )


class BinaryRanking(ScoreRanking):
    """A statistic of the scores of class 1 in a problem of two classes."""

    task = "binary"

    def prepare(self, sample: Sample) -> Ranking:
        """Sort by score."""
        assert sample.y_true is not None
        assert sample.y_score is not None
        return Ranking.of(sample.y_true, sample.y_score, sample.n)

    def absent(self, prepared: Ranking, weights: jax.Array) -> jax.Array:
        """Whether one of the classes has no weight."""
        positive, negative = prepared.split(weights, 1)
        return (jnp.sum(positive) == 0) | (jnp.sum(negative) == 0)

    def sort_keys(self, sample: Sample) -> np.ndarray | None:
        """Return the scores (n,)."""
        return sample.y_score


@record
class RocAuc(BinaryRanking):
    """Area under the ROC curve, ``P(s_i > s_j) + P(s_i = s_j) / 2``, i positive, j negative.

    ``sum_{i: y=1} sum_{j: y=0} w_i w_j (1[s_i > s_j] + 1[s_i = s_j] / 2) / (N_1 N_0)``, from 0 to
    1; NaN where a class has no weight. With ``max_fpr`` the area over false-positive rates up to
    that, a, which lies between 0 and a; with ``mcclish`` standardized besides,
    ``(1 + (area - a**2 / 2) / (a - a**2 / 2)) / 2``: 1/2 for scores that do not discriminate, 1
    for perfect ones.

    Parameters
    ----------
    max_fpr : float or None
        Largest false-positive rate, in (0, 1]; None for the whole area.
    mcclish : bool
        Whether to standardize the partial area (what scikit-learn does with ``max_fpr``).

    References
    ----------
    Hanley & McNeil (1982), The meaning and use of the area under a ROC curve; McClish (1989),
    Analyzing a portion of the ROC curve.
    """

    least_n = (25, "AUC")

    max_fpr: float | None = static(default=None)
    mcclish: bool = static(default=False)

    def __post_init__(self) -> None:
        if self.max_fpr is not None and not 0 < self.max_fpr <= 1:
            raise ValueError(f"max_fpr must lie in (0, 1] or be None; got {self.max_fpr!r}")

    @property
    def is_whole_area(self) -> bool:
        """Whether there is no limit on the false-positive rate."""
        return self.max_fpr is None

    def value(self, prepared: Ranking, weights: jax.Array) -> jax.Array:
        """Return the area under ``weights`` (n,)."""
        if self.max_fpr is None:
            return area(prepared, weights)
        return self._scaled(partial_area(prepared, weights, self.max_fpr))

    def _scaled(self, part: jax.Array) -> jax.Array:
        """Standardize a partial area, if asked to."""
        if self.max_fpr is None or not self.mcclish:
            return part
        chance = self.max_fpr**2 / 2
        return 0.5 * (1 + (part - chance) / (self.max_fpr - chance))

    def replicates(self, prepared: Ranking, bank_t: jax.Array) -> jax.Array:
        """Return the area in every resample (B,), from ``bank_t`` (n, B)."""

        def form(wins: Callable[..., ranked.PairSums], *settings: float) -> Replicates:
            return lambda ranking, bank: self._scaled(_area_of_pairs(wins(bank, ranking.descent(), *settings)))

        if self.max_fpr is None:
            return self.by_bank(prepared, bank_t, form(ranked.scanned_wins), form(ranked.compared_wins))
        return self.by_bank(prepared, bank_t, form(ranked.scanned_partial_wins, self.max_fpr), self.each)


@record
class AveragePrecision(BinaryRanking):
    """Average precision, ``sum_t (R_t - R_{t-1}) P_t`` over thresholds t from the highest score down.

    ``R_t`` and ``P_t`` are recall and precision of calling positive all rows that score at least
    t. Not interpolated. From 0 to 1; NaN where class 1 has no weight, 1 where class 0 has none.

    References
    ----------
    Manning, Raghavan & Schuetze (2008), Introduction to information retrieval, section 8.4.
    """

    least_n = (25, "average precision")

    def value(self, prepared: Ranking, weights: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,)."""
        return average_precision(prepared, weights)

    def replicates(self, prepared: Ranking, bank_t: jax.Array) -> jax.Array:
        """Return the average precision in every resample (B,), from ``bank_t`` (n, B)."""

        def scanned(ranking: Ranking, bank_t: jax.Array) -> jax.Array:
            return _ratio(*ranked.scanned_precision(bank_t, ranking.descent()))

        return self.by_bank(prepared, bank_t, scanned, self.each)


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
        codes, counts, scores = _class_scores(sample, 0.0)
        ordering = Ordering.of_columns(scores, sample.n)
        return cls(codes, counts, Ranking(codes[ordering.order], ordering))

    @classmethod
    def pooled(cls, sample: Sample) -> ClassRankings:
        """Rank all pairs of a row and a class; scores of class 0 are ``1 - s`` if only s is given."""
        codes, counts, scores = _class_scores(sample, 1.0)
        ordering, entries = Ordering.of_entries(scores, sample.n)
        member = codes[:, None] == namespace(scores).arange(scores.shape[1])
        return cls(codes, counts, Ranking(member.ravel()[entries].astype(np.int32), ordering))

    def class_weights(self, weights: jax.Array) -> jax.Array:
        """Weight of every class (K,)."""
        return jax.ops.segment_sum(weights, self.codes, self.counts.shape[0])

    def over_classes(self, function: Any) -> Any:
        """Stack ``function(ranking by class k, k)`` over the classes, one after the other."""
        columns = jax.tree.map(jnp.transpose, self.ranking)
        classes = jnp.arange(self.counts.shape[0])
        return jax.lax.map(lambda pair: function(*pair), (columns, classes))


def _class_scores(sample: Sample, whole: float) -> tuple[Any, Any, Any]:
    """Return codes (n,), counts (K,) and scores (n, K), class 0 of two scoring ``whole - s``."""
    assert sample.y_true is not None
    assert sample.y_score is not None
    s = sample.y_score
    xp = namespace(s)
    scores = xp.stack([whole - s, s], axis=1) if s.ndim == 1 else s
    codes, classes = sample.y_true[: sample.n], scores.shape[1]
    counts = jnp.bincount(codes, length=classes) if xp is jnp else np.bincount(codes, minlength=classes)
    return sample.y_true, counts.astype(np.int32), scores


def _average(scores: jax.Array, shares: jax.Array, defined: jax.Array, absent_class: str) -> jax.Array:
    """Average ``scores`` by ``shares``, some of them not ``defined``; NaN if none is."""
    if absent_class == "skip":
        shares = jnp.where(defined, shares, 0)
    mean = _ratio(jnp.sum(shares * jnp.where(defined, scores, 0)), jnp.sum(shares))
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

    def value(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Return the area under ``weights`` (n,)."""
        if self.micro:
            return area(prepared.ranking, weights)
        sizes = 1.0 * prepared.class_weights(weights)
        if self.scheme == "ovo":

            def wins(ranking: Ranking, k: jax.Array) -> jax.Array:
                """Weight of pairs, of class k and of each class (K,), in which class k scores higher."""
                member, others = ranking.split(weights, k)
                outranked = others * (jnp.sum(member) - ranking.ordering.below(member))
                return jax.ops.segment_sum(outranked, ranking.labels, len(sizes))

            return self._one_versus_one(prepared.over_classes(wins), sizes)
        areas = prepared.over_classes(lambda ranking, k: area(ranking, weights, k))
        others = jnp.sum(jnp.where(np.eye(len(sizes), dtype=bool), 0, sizes), axis=1)
        return self._one_versus_rest(areas, sizes, others)

    def replicates(self, prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
        """Return the area in every resample (B,), from ``bank_t`` (n, B)."""

        def form(wins: Callable[..., ranked.PairSums], class_wins: Callable[..., Any]) -> Replicates:
            def one_versus_one(data: ClassRankings, bank: jax.Array) -> jax.Array:
                classes = data.counts.shape[0]
                table, sizes = data.over_classes(
                    lambda ranking, k: class_wins(bank, ranking.descent(k), data.codes, classes)
                )
                return jax.vmap(self._one_versus_one, (2, 1))(table, sizes)

            def one_versus_rest(data: ClassRankings, bank: jax.Array) -> jax.Array:
                pairs = data.over_classes(lambda ranking, k: wins(bank, ranking.descent(k)))
                return jax.vmap(self._one_versus_rest, 1)(_area_of_pairs(pairs), pairs.members, pairs.others)

            return one_versus_one if self.scheme == "ovo" else one_versus_rest

        def micro(data: ClassRankings, bank: jax.Array) -> jax.Array:
            return _area_of_pairs(ranked.scanned_wins(bank, data.ranking.descent()))

        if self.micro:
            return self.by_bank(prepared, bank_t, micro, self.each)
        scanned = form(ranked.scanned_wins, ranked.scanned_class_wins)
        return self.by_bank(prepared, bank_t, scanned, form(ranked.compared_wins, ranked.compared_class_wins))

    def _one_versus_rest(self, areas: jax.Array, sizes: jax.Array, others: jax.Array) -> jax.Array:
        """Average the areas (K,) of classes of weights ``sizes`` against rests of weights ``others``."""
        shares = sizes if self.average == "weighted" else jnp.ones_like(sizes)
        return _average(areas, shares, (sizes > 0) & (others > 0), self.absent_class)

    def _one_versus_one(self, table: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average over pairs of classes of weights ``sizes`` (K,) the wins (K, K) of rows over columns."""
        a, b = np.triu_indices(len(sizes), 1)
        scores = _ratio((table[a, b] + table[b, a]) / 2, sizes[a] * sizes[b])
        shares = sizes[a] + sizes[b] if self.average == "weighted" else jnp.ones(len(a), sizes.dtype)
        rule = "skip" if self.absent_class == "sklearn" else self.absent_class
        return _average(scores, shares, (sizes[a] > 0) & (sizes[b] > 0), rule)


@record
class AveragePrecisionMulticlass(MulticlassRanking):
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

    def value(self, prepared: ClassRankings, weights: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,)."""
        if self.micro:
            return average_precision(prepared.ranking, weights)
        sizes = 1.0 * prepared.class_weights(weights)
        return self._over_classes(
            prepared.over_classes(lambda ranking, k: average_precision(ranking, weights, k)), sizes
        )

    def replicates(self, prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
        """Return the average precision in every resample (B,), from ``bank_t`` (n, B)."""

        def scanned(prepared: ClassRankings, bank_t: jax.Array) -> jax.Array:
            if self.micro:
                return _ratio(*ranked.scanned_precision(bank_t, prepared.ranking.descent()))
            sums, sizes = prepared.over_classes(lambda ranking, k: ranked.scanned_precision(bank_t, ranking.descent(k)))
            return jax.vmap(self._over_classes, 1)(_ratio(sums, sizes), sizes)

        return self.by_bank(prepared, bank_t, scanned, self.each)

    def _over_classes(self, scores: jax.Array, sizes: jax.Array) -> jax.Array:
        """Average the precisions (K,) of classes of weights ``sizes``."""
        shares = sizes if self.average == "weighted" else jnp.ones_like(sizes)
        rule = "zero" if self.absent_class == "sklearn" else self.absent_class
        return _average(scores, shares, sizes > 0, rule)


METRICS: dict[str, Statistic] = {
    "roc_auc": RocAuc(),
    "roc_auc_ovr": RocAucMulticlass(),
    "roc_auc_ovr_weighted": RocAucMulticlass(average="weighted"),
    "roc_auc_ovo": RocAucMulticlass(scheme="ovo"),
    "roc_auc_ovo_weighted": RocAucMulticlass(scheme="ovo", average="weighted"),
    "roc_auc_micro": RocAucMulticlass(scheme="micro"),
    "average_precision": AveragePrecision(),
    "average_precision_macro": AveragePrecisionMulticlass(),
    "average_precision_micro": AveragePrecisionMulticlass(average="micro"),
}
"""Statistics by name, with default settings."""
