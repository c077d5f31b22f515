"""Metrics of a confusion matrix that are ratios of each class, averaged: precision, recall, F, Jaccard.

Notation and what an absent class counts: :mod:`jaxci.statistics.classification`.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import ABSENT_CLASS, check_choice
from jaxci.records import record, static
from jaxci.resampling.kernels import in_blocks
from jaxci.special import namespace, ratio
from jaxci.statistics.base import CountRatio, Shares, Statistic
from jaxci.statistics.confusion import (
    Alike,
    ConfusionStatistic,
    OneVsRest,
    mean_defined,
    of_two,
    total,
    unseen_table,
)
from jaxci.statistics.sample import PseudoUnits
from jaxci.statistics.sums import Bank

AVERAGES = ("binary", "micro", "macro", "weighted", "class")

LEAST_SHARE = -0.5
"""Bounds of a share below it are taken for it: ``2 J / (1 + J)`` has a pole at -1."""


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
        The class scored where ``average`` is "class"; else it stays 1, and ``pos_label`` of the verbs names the class.
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
    meeting: ClassVar[bool] = False
    """Whether the rows counted of two classes meet where one is taken for the other, a failure of both."""

    average: str = static(default="binary")
    class_index: int = static(default=1)
    zero_division: float = static(default=0.0)
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        check_choice("average", self.average, AVERAGES)
        check_choice("absent_class", self.absent_class, ABSENT_CLASS)
        if self.average != "class" and self.class_index != 1:
            raise ValueError(
                f"class_index goes with average='class' alone; got {self.class_index!r} and average={self.average!r} "
                "(pos_label names the positive one of two classes)"
            )
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
    def against_rest(self) -> tuple[Statistic, int] | None:
        """The same score of two classes, and the class that is the positive one of them; None of others."""
        if self.average != "class":
            return None
        return dataclasses.replace(self, average="binary", class_index=1), self.class_index

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

    def pseudo_masses(self, n_classes: int) -> tuple[float, ...]:
        """Return the masses of rows that are right, and wrong: of one class out of several of it and of the rest."""
        return super().pseudo_masses(2 if self.average == "class" else n_classes)

    def posterior(self, prepared: Any, shared: Bank, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the statistic (B,) with unseen rows: of one class those of it and of the rest, as of two classes."""
        if self.average != "class":
            return super().posterior(prepared, shared, unseen, whole)
        known, k = prepared.without_rows(), self.class_index
        rest, own = (jnp.asarray(sizes)[k] for sizes in (unseen.sizes.of_rest, unseen.sizes.of_class))
        sums = prepared.bank_sums(shared)
        weights = (unseen.weights * jnp.stack([rest, own, rest, own])[:, None]).astype(sums.dtype)
        two = dataclasses.replace(self, average="binary", class_index=1)
        other, along, alike = (1.0 - jnp.eye(2))[..., None].astype(sums.dtype), unseen.together, None
        if along is not None:
            share = jnp.stack([jnp.asarray(along.of_rest)[k], jnp.asarray(along.of_class)[k]])
            alike = Alike(of_two(known.table(prepared.sums(whole)), k), share, of_any=False)

        def score(part: jax.Array) -> jax.Array:
            table = of_two(known.table(part[:-4]), k)
            return two.score(table + unseen_table(part[-4:-2], part[-2:], other, alike))

        return in_blocks(score, jnp.concatenate([sums, weights]))

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
    def averages_hits(self) -> bool:  # type: ignore[override]
        """Whether it is the plain mean over classes of scores that are 0 without a right prediction."""
        return self.average == "macro" and self.scores_hits

    @property
    def scores_absent_classes(self) -> bool:  # type: ignore[override]
        """Whether classes without rows count in the plain mean of the scores, or leave it at 0 or 1 as in F1."""
        by_prevalence = self.average == "binary" and not self.trials_by_truth
        return by_prevalence or (self.averages_hits and self.absent_class != "skip")

    @property
    def averages_proportions(self) -> bool:
        """Whether it is the mean over classes of proportions of rows that no two classes share."""
        return self.apart and self.average == "macro"

    @property
    def absent_share(self) -> float | None:
        """What the share of a class counts that has no trials; None where that depends on its rows, too."""
        of_true = self.trials_by_truth and self.scores_hits
        if self.absent_class == "skip":
            return np.nan if of_true else None
        if self.absent_class == "zero" and self.scores_hits:
            return 0.0 if of_true or self.zero_division == 0 else None
        return self.zero_division

    @property
    def averages_shares(self) -> bool:
        """Whether it is the mean over classes of proportions, or of functions of them."""
        return self.averages_proportions or (self.meeting and self.average == "macro")

    def shares(self, table: jax.Array) -> Shares | None:
        """Return the proportion of every class.

        Those of two classes i and j that meet in e rows, all failures, have the covariance ``e s_i s_j / (t_i t_j)^2``
        with s successes of t trials (multinomial, delta method), hence the correlation ``e (s_i s_j)^(1/2) / (f_i f_j
        t_i t_j)^(1/2)`` with f failures.
        """
        if not self.averages_shares:
            return None
        counts = OneVsRest.of(table)
        scores = self.scores(counts)
        counted = 1.0 * ~jnp.isnan(scores)
        weights, scores = counted / counted.sum(axis=0), jnp.nan_to_num(scores)
        successes, trials = self.counted(counts)
        if self.averages_proportions:
            return Shares(successes, trials, weights, scores)
        failures = trials - successes
        root = jnp.sqrt(ratio(successes, failures * trials, 0.0))
        off = 1.0 - jnp.eye(len(trials))
        correlations = 1 - off + off * (table + table.T) * root * root[:, None]
        return Shares(successes, trials, weights, scores, jnp.full_like(scores, self.odds), correlations)

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
    trials_by_prediction: ClassVar[bool] = True

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


@record
class F1(AveragedStatistic):
    """Harmonic mean of precision and recall, ``2 TP_k / (2 TP_k + FP_k + FN_k)``: the Dice index.

    Range [0, 1]; ``zero_division`` where the class is neither true nor predicted, an absent class
    by ``absent_class``. Micro F1 is accuracy; that of one class is ``2 J / (1 + J)``, J the Jaccard index, a
    proportion of the rows that are of the class or taken for it. Reference: ``sklearn.metrics.f1_score``.
    """

    proportions: ClassVar[tuple[str, ...]] = ("binary", "class", "micro")
    meeting: ClassVar[bool] = True
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
    meeting: ClassVar[bool] = True
    pooled_odds: ClassVar[float | None] = 0.5

    def fraction(self, counts: OneVsRest) -> tuple[jax.Array, jax.Array]:
        """Return TP and TP + FP + FN."""
        return counts.hits, counts.true + counts.alarms
