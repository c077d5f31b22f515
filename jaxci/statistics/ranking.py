"""Statistics of how well scores rank the classes: areas under ROC curves, average precision.

A resample reaches them as weights ``w_i`` in the order of the scores ``s_i``: data are sorted once
and every value costs O(n) in cumulative sums. Rows of equal score are treated together, as one
threshold. ``N_k`` is the weight of class k, N the total. All resamples of a bank are reached at once by
:meth:`RankedStatistic.replicates`.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling import kernels, ranked
from jaxci.special import ratio
from jaxci.statistics.base import ExtremeStatistic, OpposedStatistic, RankedStatistic, Statistic
from jaxci.statistics.rankings import Ranking, area, area_of_pairs, average_precision, partial_area
from jaxci.statistics.sample import PseudoUnits, Sample

OPPOSED_POSITIVE, OPPOSED_NEGATIVE = 0.25, 0.0625
"""What a row weighs on which two models' average precisions differ most, each way: a positive, and a negative."""


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


def placement_variances(prepared: Ranking) -> Placements:
    """Return DeLong's evidence of a ranking, in a program.

    Parameters
    ----------
    prepared : Ranking
        What a binary statistic's ``prepare`` returned.

    Returns
    -------
    Placements

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves,
    Biometrics 44, 837-845; by mid-ranks as in Sun & Xu (2014), Fast implementation of DeLong's algorithm.
    """
    positive, negative = prepared.split(jnp.ones(prepared.labels.shape[0]), 1)
    m, n = jnp.sum(positive), jnp.sum(negative)
    below = prepared.ordering.below(negative)
    above = m - prepared.ordering.below(positive)

    def variance(counts: jax.Array, members: jax.Array, size: jax.Array, most: jax.Array) -> jax.Array:
        apart = counts - ratio(jnp.sum(members * counts), size)
        return ratio(jnp.sum(members * apart**2), (size - 1) * most**2)

    auc = ratio(jnp.sum(positive * below), m * n)
    sizes = m.astype(jnp.int32), n.astype(jnp.int32)
    return Placements(auc, *sizes, variance(below, positive, m, n), variance(above, negative, n, m))


def first_and_last(scores: np.ndarray) -> np.ndarray:
    """Return a score above all others and one below them (2,), on the host."""
    return np.array([np.nextafter(scores.max(), np.inf), np.nextafter(scores.min(), -np.inf)])


class ScoreRanking(RankedStatistic, ExtremeStatistic):
    """A statistic of the order of scores, which reaches all resamples of a bank in one pass."""

    inputs = ("y_true", "y_score")
    walks = True
    of_roc_curve: ClassVar[bool] = False
    """Whether the statistic is an area under a ROC curve, whole or partial, or an average of such areas."""
    least_class: ClassVar[int] = 100
    """Size of the rarest class below which studies found too few errors in resamples."""
    ties_negatives: ClassVar[bool] = False
    """Whether rows of class 0 that follow each other, with none of class 1 between, might as well tie."""

    def pseudo_masses(self, n_classes: int) -> tuple[float, ...]:
        """Return the masses of a row of every class that is ranked worst: one row together of two classes.

        Of K classes each of K rankings meets a member and K - 1 others, which share its mass.
        """
        return (2.0 / n_classes**2,) * n_classes

    @property
    def is_whole_area(self) -> bool:
        """Whether the statistic is the whole area under the ROC curve: a mean over pairs of rows."""
        return False

    @property
    @abc.abstractmethod
    def ranked_by(self) -> str:
        """By what rows are ranked.

        "score" is that of class 1; "classes" are the scores of every class, of it and of all others; "pairs" the same
        where it matters which class another row is of; "entries" are all pairs of a row and a class together.
        """

    @abc.abstractmethod
    def of_columns(self, rankings: Ranking, weights: jax.Array) -> jax.Array:
        """Return the statistic of rankings whose rows need not be the same.

        Parameters
        ----------
        rankings : Ranking
            With fields (K, m), one ranking for every class, or (1, m) by a score or by entries. Labels are class
            codes, of "classes" any other but the class in question; rows come in ascending order.
        weights : (K, m) or (1, m) array
            Of the rows of every ranking; 0 for those that only fill up.
        """

    @property
    @abc.abstractmethod
    def reads(self) -> frozenset[str]:
        """What it reads of the sums along its rankings, names out of ``ranked.SUMS``; none where it walks by itself."""

    @abc.abstractmethod
    def from_sums(self, sums: ranked.RankSums) -> jax.Array:
        """Return the statistic (B,) from the sums along its ranking (B,), or along that of every class (K, ..., B)."""

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
        return ranked_cores([self], prepared, bank_t)[0]

    def posterior(self, prepared: Any, shared: jax.Array, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the statistic (B,) with a row of every class that scores lowest for its own, highest for others."""
        return ranked_cores([self], prepared, shared, unseen)[0]


def ranked_cores(
    statistics: Sequence[ScoreRanking], prepared: Any, bank_t: Any, unseen: PseudoUnits | None = None
) -> list[jax.Array]:
    """Return the core (B,) of statistics of one source that read sums along its rankings.

    One walk along each ranking gives what all of them read.

    Parameters
    ----------
    statistics : sequence of ScoreRanking
    prepared : pytree
        What :meth:`~jaxci.statistics.base.Statistic.prepare` of each returned.
    bank_t : (n, B) array
        Weights.
    unseen : PseudoUnits, optional
        What joins the bank.
    """
    dtype = kernels.sum_dtype(bank_t)
    wanted = frozenset[str]().union(*(statistic.reads for statistic in statistics))
    rows = None if unseen is None else prepared.unseen_rows(unseen, dtype)
    sums = prepared.sums(bank_t, wanted, rows)
    return [statistic.from_sums(sums).astype(dtype) for statistic in statistics]


class BinaryRanking(ScoreRanking):
    """A statistic of the scores of class 1 in a problem of two classes."""

    task = "binary"
    ranked_by = "score"
    ties_negatives = True
    max_fpr: float | None = None
    """Largest false-positive rate that an area under the ROC curve is limited to; None without a limit."""

    def of_columns(self, rankings: Ranking, weights: jax.Array) -> jax.Array:
        """Return the statistic of the one ranking."""
        return self.value(jax.tree.map(lambda x: x[0], rankings), weights[0])

    def prepare(self, sample: Sample) -> Ranking:
        """Sort by score."""
        return sample.once(Ranking.by_score)

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

    of_roc_curve = True
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

    @property
    def has_extremes(self) -> bool:  # type: ignore[override]
        """Whether a row of either class can be ranked worst: not where false-positive rates are limited."""
        return self.max_fpr is None

    @property
    def reads(self) -> frozenset[str]:
        """The weight of the pairs that positives win; a partial area has a walk of its own."""
        return frozenset({"wins"} if self.max_fpr is None else ())

    def from_sums(self, sums: ranked.RankSums) -> jax.Array:
        """Return the area, with an unseen positive ranked below all others, and a negative above them."""
        found = area_of_pairs(sums.wins, sums.members, sums.others)
        if sums.unseen is None:
            return found
        joined = sums.joined
        return found * (sums.members / joined.members) * (sums.others / joined.others)

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
        share = self.max_fpr
        if share is None:
            return super().replicates(prepared, bank_t)

        sums = ranked.scanned_partial_wins(bank_t, prepared.descent(), share)
        return self._scaled(area_of_pairs(sums.wins, sums.members, sums.others)).astype(kernels.sum_dtype(bank_t))


@record
class AveragePrecision(BinaryRanking, OpposedStatistic):
    """Average precision, ``sum_t (R_t - R_{t-1}) P_t`` over thresholds t from the highest score down.

    ``R_t`` and ``P_t`` are recall and precision of calling positive all rows that score at least
    t. Not interpolated. From 0 to 1; NaN where class 1 has no weight, 1 where class 0 has none.

    References
    ----------
    Manning, Raghavan & Schuetze (2008), Introduction to information retrieval, section 8.4.
    """

    least_n = (25, "average precision")
    least_class = 200

    def opposed_rows(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return a positive and a negative that one model ranks first and the other last, and the same changed.

        A quarter of a positive and a sixteenth of a negative each way: a negative above all others moves the
        precision at every threshold.
        """
        assert sample.other is not None
        y_true, place = np.array([1, 1, 0, 0], sample.y_true.dtype), np.array([0, 1, 0, 1])
        first, second = (
            dataclasses.replace(model, y_true=y_true, y_pred=None, y_score=first_and_last(model.y_score)[at], padding=0)
            for model, at in ((sample, place), (sample.other, 1 - place))
        )
        rows = dataclasses.replace(first, other=second)
        return rows, np.repeat([OPPOSED_POSITIVE, OPPOSED_NEGATIVE], 2)

    reads = frozenset({"precision"})

    def from_sums(self, sums: ranked.RankSums) -> jax.Array:
        """Return the average precision, an unseen positive ranked below all others, and a negative above them."""
        return ratio(sums.precision, sums.joined.members)

    def value(self, prepared: Ranking, weights: jax.Array) -> jax.Array:
        """Return the average precision under ``weights`` (n,)."""
        return average_precision(prepared, weights)


METRICS: dict[str, Statistic] = {"roc_auc": RocAuc(), "average_precision": AveragePrecision()}
"""Statistics by name, with default settings."""
