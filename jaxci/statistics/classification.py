"""Statistics of a confusion matrix: accuracy, F measures, correlation and agreement of class labels.

Every statistic here is a function of one table, ``table[i, j]`` = weight of the observations of
true class i that were predicted as class j, so a resample reaches it as K x K counts. Classes are
scored one against the rest: with ``t_k`` the true and ``p_k`` the predicted weight of class k and
``S`` the total, ``TP_k = table[k, k]``, ``FN_k = t_k - TP_k``, ``FP_k = p_k - TP_k`` and
``TN_k = S - t_k - FP_k``. Sums that may vanish are added up from non-negative terms and never
obtained by subtraction, so that "is it zero?" has an exact answer for real weights too.

A class of the full sample that a resample leaves without weight is *absent*. What happens to its
score is the field ``absent_class``:

============= =========================================== ======================================
value         precision, recall, F, Jaccard of that class specificity, NPV of that class
============= =========================================== ======================================
``"sklearn"`` ratio as is, ``zero_division`` where 0 / 0  ratio as is (it is defined)
``"zero"``    0, and the divisor of a mean stays K        ratio as is (it is defined)
``"skip"``    NaN, left out of the mean over classes      NaN, left out of the mean over classes
============= =========================================== ======================================

``"sklearn"`` is what scikit-learn does when ``labels`` is fixed to all classes. Balanced accuracy
drops the class under ``"sklearn"`` and ``"skip"``. Micro averages, accuracy, error rate, Matthews
correlation and kappa have no score by class and need no rule. The value is NaN where the total
weight is 0.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.base import CountRatio, Shares, Statistic
from jaxci.statistics.confusion import (
    ConfusionStatistic,
    OneVsRest,
    check_absent_class,
    mean_defined,
    ratio,
    total,
)

AVERAGES = ("binary", "micro", "macro", "weighted", "class")


@record
class Accuracy(ConfusionStatistic):
    """Share of correct predictions, ``sum_k TP_k / S``.

    Range [0, 1]; an absent class only leaves the sums. Reference: ``sklearn.metrics.accuracy_score``.
    """

    is_proportion = True
    has_fixed_trials = True

    def score(self, table: jax.Array) -> jax.Array:
        """Return the share of weight on the diagonal of ``table`` (K, K)."""
        return jnp.trace(table) / total(table)

    def successes(self, table: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return (correct rows, all rows)."""
        return jnp.trace(table), total(table)


@record
class ErrorRate(ConfusionStatistic):
    """Share of wrong predictions, ``1 - accuracy = sum_k FN_k / S``.

    Range [0, 1]; an absent class only leaves the sums. Reference: ``sklearn.metrics.zero_one_loss``.
    """

    loss: ClassVar[bool] = True
    is_proportion = True
    has_fixed_trials = True

    def score(self, table: jax.Array) -> jax.Array:
        """Return the share of weight off the diagonal of ``table`` (K, K)."""
        return OneVsRest.of(table).misses.sum(axis=0) / total(table)

    def successes(self, table: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return (wrong rows, all rows)."""
        return OneVsRest.of(table).misses.sum(axis=0), total(table)


@record
class BalancedAccuracy(ConfusionStatistic):
    """Mean recall, ``sum_k (TP_k / t_k) / K``; adjusted for chance, ``(mean - 1/K) / (1 - 1/K)``.

    Range [0, 1]; adjusted, [-1, 1]: from -1/(K - 1), with 0 expected from labels at random and NaN
    where K = 1. Reference: ``sklearn.metrics.balanced_accuracy_score``.

    Parameters
    ----------
    adjusted : bool
        Rescale so that chance is 0 and a perfect prediction 1.
    absent_class : {"sklearn", "zero", "skip"}
        An absent class leaves the mean, and K counts the rest ("sklearn", "skip"), or it
        recalls 0 and K stays ("zero").
    """

    least_n = (50, "balanced accuracy")
    trials_by_truth = True

    adjusted: bool = static(default=False)
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        check_absent_class(self.absent_class)

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the estimand."""
        return (-1.0, 1.0) if self.adjusted else (0.0, 1.0)

    @property
    def averages_proportions(self) -> bool:
        """Whether it is the mean recall itself."""
        return not self.adjusted

    def shares(self, table: jax.Array) -> Shares | None:
        """Return the recall of every class, whose rows are independent of those of the others."""
        counts = OneVsRest.of(table)
        counted = jnp.ones_like(counts.true) if self.absent_class == "zero" else 1.0 * (counts.true > 0)
        recalls = ratio(counts.hits, counts.true, 0.0)
        if not self.averages_proportions:
            return None
        return Shares(counts.hits, counts.true, counted / counted.sum(axis=0), recalls)

    def score(self, table: jax.Array) -> jax.Array:
        """Return the mean recall over the rows of ``table`` (K, K)."""
        counts = OneVsRest.of(table)
        recalls = ratio(counts.hits, counts.true, 0.0 if self.absent_class == "zero" else np.nan)
        mean = mean_defined(recalls, jnp.ones_like(recalls))
        if not self.adjusted:
            return mean
        n_scored = (~jnp.isnan(recalls)).sum(axis=0)
        return ratio(n_scored * mean - 1, n_scored - 1, np.nan)


@record
class AveragedStatistic(ConfusionStatistic):
    """A ratio of one-vs-rest weights for each class, reduced over the classes.

    Parameters
    ----------
    average : {"binary", "micro", "macro", "weighted", "class"}
        "binary": the score of class 1 of two; "micro": the ratio of the sums over classes;
        "macro": the mean over classes; "weighted": the mean weighted by ``t_k``; "class": the score
        of one class. Classes with an undefined (NaN) score leave the mean, as in scikit-learn.
    class_index : int
        The class scored where ``average`` is "class".
    zero_division : {0.0, 1.0, nan}
        The ratio 0 / 0. Everywhere in this module it may also be NaN, for Jaccard too.
    absent_class : {"sklearn", "zero", "skip"}
        The score of a class without weight in ``y_true``; see the module's table.
    """

    scores_hits: ClassVar[bool] = True
    """Whether the numerator is TP, which an absent class lacks by definition."""
    proportions: ClassVar[tuple[str, ...]] = ()
    """The averages under which the statistic is a proportion of rows, or an increasing function of one."""
    odds: ClassVar[float] = 1.0
    """Weight of a hit in the ratio of one class, as a function of the proportion that :meth:`counted` counts."""
    pooled_odds: ClassVar[float | None] = None
    """The same where the sums over classes make a ratio of the rows that are right to those that are wrong."""
    apart: ClassVar[bool] = False
    """Whether the ratios of two classes are proportions of different rows."""

    average: str = static(default="binary")
    class_index: int = static(default=1)
    zero_division: float = static(default=0.0)
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        if self.average not in AVERAGES:
            raise ValueError(f"average must be one of {AVERAGES}; got {self.average!r}")
        check_absent_class(self.absent_class)
        if np.isnan(self.zero_division):
            # One NaN object for all: static fields are compared, and NaN equals itself by identity only.
            object.__setattr__(self, "zero_division", np.nan)
        elif self.zero_division not in (0.0, 1.0):
            raise ValueError(f"zero_division must be 0.0, 1.0 or nan; got {self.zero_division!r}")

    @property
    def task(self) -> str:  # type: ignore[override]
        """Kind of problem the statistic is for."""
        return "binary" if self.average == "binary" else "multiclass"

    @property
    def is_proportion(self) -> bool:
        """Whether the statistic is a proportion of independent rows, or tells of one, under its ``average``."""
        return self.average in self.proportions

    @property
    def has_fixed_trials(self) -> bool:
        """Whether the statistic is a share of all rows."""
        return self.is_proportion and self.average not in ("binary", "class")

    @property
    def averages_classes(self) -> bool:  # type: ignore[override]
        """Whether it averages over classes."""
        return self.average in ("macro", "weighted", "micro")

    def of_class(self, index: int) -> Statistic | None:
        """Return the score of one class against the rest."""
        return dataclasses.replace(self, average="class", class_index=index) if self.average == "binary" else None

    @property
    def scored_class(self) -> int:
        """The class whose score is returned where ``average`` is "binary" or "class"."""
        return 1 if self.average == "binary" else self.class_index

    @abc.abstractmethod
    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return numerator and denominator of the ratio, shaped like the ``counts``."""

    def counted(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return successes and trials of every class: of the ratio itself unless a leaf names another ``share``."""
        return self.fraction(counts)

    def check_classes(self, n_classes: int) -> None:
        """Raise where ``average`` and ``class_index`` do not fit ``n_classes``."""
        if self.average == "binary" and n_classes != 2:
            raise ValueError(f"average='binary' needs exactly 2 classes; got {n_classes}")
        if self.average == "class" and not 0 <= self.class_index < n_classes:
            raise ValueError(
                f"class_index must be from 0 to {n_classes - 1} ({n_classes} classes); got {self.class_index}"
            )

    def scores(self, counts: OneVsRest) -> jax.Array:
        """Return the score of every class (K, ...), NaN for one that is left out."""
        scores = ratio(*self.fraction(counts), self.zero_division)
        if self.absent_class == "zero" and self.scores_hits:
            return jnp.where(counts.true > 0, scores, 0)
        return jnp.where(counts.true > 0, scores, np.nan) if self.absent_class == "skip" else scores

    def score(self, table: jax.Array) -> jax.Array:
        """Return the averaged score of ``table`` (K, K)."""
        counts = OneVsRest.of(table)
        if self.average == "micro":
            return ratio(*self.fraction(counts.pooled()), self.zero_division)
        scores = self.scores(counts)
        if self.average in ("binary", "class"):
            return scores[self.scored_class]
        return mean_defined(scores, counts.true if self.average == "weighted" else jnp.ones_like(scores))

    @property
    def averages_proportions(self) -> bool:
        """Whether it is the mean over classes of proportions of rows that no two classes share."""
        return self.apart and self.average == "macro"

    def shares(self, table: jax.Array) -> Shares | None:
        """Return the proportion of every class."""
        if not self.averages_proportions:
            return None
        counts = OneVsRest.of(table)
        scores = self.scores(counts)
        counted = 1.0 * ~jnp.isnan(scores)
        return Shares(*self.fraction(counts), counted / counted.sum(axis=0), jnp.nan_to_num(scores))

    @property
    def is_ratio(self) -> bool:
        """Whether it is the ratio of one class, or of the sums over classes, whatever class is absent."""
        if self.average in ("binary", "class"):
            same = self.absent_class == "zero" and (self.zero_division == 0 or not self.scores_hits)
            return same or self.absent_class == "sklearn"
        return self.average == "micro" or self.has_fixed_trials

    @property
    def undefined(self) -> float:  # type: ignore[override]
        """What 0/0 counts as."""
        return self.zero_division

    def terms(self, table: jax.Array) -> tuple[jax.Array, jax.Array] | None:
        """Return numerator and denominator."""
        if not self.is_ratio:
            return None
        counts = OneVsRest.of(table)
        if self.average in ("binary", "class"):
            numerators, denominators = self.fraction(counts)
            return numerators[self.scored_class], denominators[self.scored_class]
        return self.successes(table) if self.has_fixed_trials else self.fraction(counts.pooled())

    @property
    def is_count_ratio(self) -> bool:
        """Whether it is a ratio of hits and misses of the class, or of all rows."""
        if self.average == "micro":
            return self.pooled_odds is not None
        return self.is_proportion and not self.has_fixed_trials and self.is_ratio

    def count_ratio(self, table: jax.Array) -> CountRatio | None:
        """Return hits and misses of the class, or of all rows."""
        if not self.is_count_ratio:
            return None
        if self.average == "micro" and self.pooled_odds is not None:
            hits = jnp.trace(table)
            return CountRatio(hits, total(table) - hits, self.pooled_odds, self.zero_division)
        hits, trials = (counted[self.scored_class] for counted in self.counted(OneVsRest.of(table)))
        return CountRatio(hits, trials - hits, self.odds, self.zero_division)

    def successes(self, table: jax.Array) -> tuple[jax.Array, jax.Array] | None:
        """Return (successes, trials) of a proportion of independent rows; None if it is not one."""
        if not self.is_proportion:
            return None
        if self.average in ("binary", "class"):
            successes, trials = self.counted(OneVsRest.of(table))
            return successes[self.scored_class], trials[self.scored_class]
        return jnp.trace(table), total(table)


@record
class Precision(AveragedStatistic):
    """Share of correct rows among those predicted as the class, ``TP_k / (TP_k + FP_k)``.

    Range [0, 1]; ``zero_division`` where the class is never predicted, an absent class by
    ``absent_class``. Micro precision is accuracy. Reference: ``sklearn.metrics.precision_score``.
    """

    proportions: ClassVar[tuple[str, ...]] = ("binary", "class", "micro")
    apart: ClassVar[bool] = True

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and TP + FP."""
        return counts.hits, counts.predicted


@record
class Recall(AveragedStatistic):
    """Share of a class that is found, ``TP_k / (TP_k + FN_k)``: sensitivity.

    Range [0, 1]; an absent class by ``absent_class``, where the default gives ``zero_division``.
    Micro and weighted recall are accuracy. Reference: ``sklearn.metrics.recall_score``.
    """

    proportions: ClassVar[tuple[str, ...]] = ("binary", "class", "micro", "weighted")
    apart: ClassVar[bool] = True
    trials_by_truth = True

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and TP + FN."""
        return counts.hits, counts.true


@record
class Specificity(AveragedStatistic):
    """Share of the other classes not taken for the class, ``TN_k / (TN_k + FP_k)``.

    Range [0, 1]; ``zero_division`` where there is no other class, an absent class keeps its score
    unless ``absent_class="skip"``. Reference: ``sklearn.metrics.recall_score`` of "not class k".
    """

    scores_hits: ClassVar[bool] = False
    proportions: ClassVar[tuple[str, ...]] = ("binary", "class")
    trials_by_truth = True

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TN and TN + FP."""
        return counts.others - counts.alarms, counts.others


@record
class NegativePredictiveValue(AveragedStatistic):
    """Share of correct rows among those not predicted as the class, ``TN_k / (TN_k + FN_k)``.

    Range [0, 1]; ``zero_division`` where every row is predicted as the class, an absent class keeps
    its score unless ``absent_class="skip"``. Reference: ``sklearn.metrics.precision_score`` of
    "not class k".
    """

    scores_hits: ClassVar[bool] = False
    proportions: ClassVar[tuple[str, ...]] = ("binary", "class")

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TN and TN + FN."""
        return counts.dismissed - counts.misses, counts.dismissed


@record
class FBeta(AveragedStatistic):
    """Weighted harmonic mean of precision and recall, ``TP_k / (a p_k + (1 - a) t_k)``.

    ``a = 1 / (1 + beta^2)``: 0 is precision, infinity is recall. Range [0, 1]; ``zero_division``
    where the class is neither true nor predicted, an absent class by ``absent_class``. Micro F is
    accuracy. Reference: ``sklearn.metrics.fbeta_score``.

    Parameters
    ----------
    beta : float
        How many times as important recall is as precision (traced).
    """

    proportions: ClassVar[tuple[str, ...]] = ("micro",)

    beta: float = 2.0

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and the weighted mean of TP + FP and TP + FN."""
        share = 1 / (1 + jnp.square(jnp.asarray(self.beta, counts.hits.dtype)))
        return counts.hits, share * counts.predicted + (1 - share) * counts.true


LEAST_SHARE = -0.5
"""Bounds of a share below it are taken for it: ``2 J / (1 + J)`` has a pole at -1."""


@record
class F1(AveragedStatistic):
    """Harmonic mean of precision and recall, ``2 TP_k / (2 TP_k + FP_k + FN_k)``: the Dice index.

    Range [0, 1]; ``zero_division`` where the class is neither true nor predicted, an absent class
    by ``absent_class``. Micro F1 is accuracy; that of one class is ``2 J / (1 + J)``, J the Jaccard index, a
    proportion of the rows that are of the class or taken for it. Reference: ``sklearn.metrics.f1_score``.
    """

    proportions: ClassVar[tuple[str, ...]] = ("binary", "class", "micro")
    odds: ClassVar[float] = 2.0

    @property
    def share(self) -> str | None:
        """The Jaccard index, for one class."""
        return None if self.average == "micro" else "TP / (TP + FP + FN)"

    def of_share(self, share: Any) -> Any:
        """Return F1 for a Jaccard index, and its derivative."""
        if self.share is None:
            return share, 1.0
        share = namespace(share).maximum(share, LEAST_SHARE)
        return 2 * share / (1 + share), 2 / (1 + share) ** 2

    def counted(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and TP + FP + FN."""
        return counts.hits, counts.true + counts.alarms

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return 2 TP and 2 TP + FP + FN."""
        return 2 * counts.hits, counts.predicted + counts.true


@record
class Jaccard(AveragedStatistic):
    """Intersection over union of true and predicted rows, ``TP_k / (TP_k + FP_k + FN_k)``.

    Range [0, 1]; ``zero_division`` where the class is neither true nor predicted, an absent class
    by ``absent_class``. Reference: ``sklearn.metrics.jaccard_score``.
    """

    proportions: ClassVar[tuple[str, ...]] = ("binary", "class")
    pooled_odds: ClassVar[float | None] = 0.5

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and TP + FP + FN."""
        return counts.hits, counts.true + counts.alarms


@record
class MatthewsCorrcoef(ConfusionStatistic):
    """Correlation of true and predicted labels, binary or multiclass.

    With ``c_k = TP_k TN_k - FN_k FP_k`` it is
    ``sum_k c_k / sqrt(sum_k t_k (S - t_k) * sum_k p_k (S - p_k))``: for two classes the phi
    coefficient. Range [-1, 1]; 0 where all rows have one true or one predicted class. An absent
    class only leaves the sums. Reference: ``sklearn.metrics.matthews_corrcoef``.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def score(self, table: jax.Array) -> jax.Array:
        """Return the correlation of the rows and columns of ``table`` (K, K)."""
        counts = OneVsRest.of(table / total(table))
        rejected = counts.others - counts.alarms
        covariance = (counts.hits * rejected - counts.misses * counts.alarms).sum(axis=0)
        spread = (counts.true * counts.others).sum(axis=0) * (counts.predicted * counts.dismissed).sum(axis=0)
        return ratio(covariance, jnp.sqrt(jnp.where(spread > 0, spread, 1)) * (spread > 0), 0.0)


@record
class CohenKappa(ConfusionStatistic):
    """Agreement beyond chance, ``1 - sum_k FN_k / S / (sum_k p_k (S - t_k) / S^2)``.

    Range [-1, 1]; NaN where all rows have one true and predicted class, the same one. An absent
    class only leaves the sums. Reference: ``sklearn.metrics.cohen_kappa_score`` (unweighted).
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def score(self, table: jax.Array) -> jax.Array:
        """Return the agreement of the rows and columns of ``table`` (K, K)."""
        counts = OneVsRest.of(table / total(table))
        return 1 - ratio(counts.misses.sum(axis=0), (counts.predicted * counts.others).sum(axis=0), np.nan)


METRICS: dict[str, Statistic] = {
    "accuracy": Accuracy(),
    "error_rate": ErrorRate(),
    "balanced_accuracy": BalancedAccuracy(),
    "precision": Precision(),
    "precision_macro": Precision(average="macro"),
    "precision_micro": Precision(average="micro"),
    "precision_weighted": Precision(average="weighted"),
    "recall": Recall(),
    "recall_macro": Recall(average="macro"),
    "recall_micro": Recall(average="micro"),
    "recall_weighted": Recall(average="weighted"),
    "specificity": Specificity(),
    "specificity_macro": Specificity(average="macro"),
    "negative_predictive_value": NegativePredictiveValue(),
    "f1": F1(),
    "f1_macro": F1(average="macro"),
    "f1_micro": F1(average="micro"),
    "f1_weighted": F1(average="weighted"),
    "jaccard": Jaccard(),
    "jaccard_macro": Jaccard(average="macro"),
    "jaccard_micro": Jaccard(average="micro"),
    "jaccard_weighted": Jaccard(average="weighted"),
    "matthews_corrcoef": MatthewsCorrcoef(),
    "cohen_kappa_score": CohenKappa(),
}
