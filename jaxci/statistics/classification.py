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

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import ABSENT_CLASS, check_choice
from jaxci.records import record, static
from jaxci.special import ratio
from jaxci.statistics.averaged import F1, Jaccard, NegativePredictiveValue, Precision, Recall, Specificity
from jaxci.statistics.base import Shares, Statistic
from jaxci.statistics.confusion import ConfusionStatistic, OneVsRest, mean_defined, total


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
    """Mean recall, ``sum_k (TP_k / t_k) / K``.

    Range [0, 1]; ``adjusted`` for chance, ``(mean - 1/K) / (1 - 1/K)``, [-1, 1]: from -1/(K - 1), with 0 expected from
    labels at random and NaN where K = 1. Reference: ``sklearn.metrics.balanced_accuracy_score``.

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
    averages_hits = True

    adjusted: bool = static(default=False)
    absent_class: str = static(default="sklearn")

    def __post_init__(self) -> None:
        check_choice("absent_class", self.absent_class, ABSENT_CLASS)

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the estimand."""
        return (-1.0, 1.0) if self.adjusted else (0.0, 1.0)

    @property
    def averages_proportions(self) -> bool:
        """Whether it is the mean recall itself."""
        return not self.adjusted

    @property
    def scores_absent_classes(self) -> bool:  # type: ignore[override]
        """Whether classes without rows recall 0, or chance depends on their number."""
        return self.adjusted or self.absent_class == "zero"

    @property
    def absent_share(self) -> float:
        """What the recall of an absent class counts."""
        return 0.0 if self.absent_class == "zero" else np.nan

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
class MatthewsCorrcoef(ConfusionStatistic):
    """Correlation of true and predicted labels, binary or multiclass.

    With ``c_k = TP_k TN_k - FN_k FP_k`` it is
    ``sum_k c_k / sqrt(sum_k t_k (S - t_k) * sum_k p_k (S - p_k))``: for two classes the phi
    coefficient. Range [-1, 1]; 0 where all rows have one true or one predicted class. An absent
    class only leaves the sums. Reference: ``sklearn.metrics.matthews_corrcoef``.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    scores_absent_classes = True

    def score(self, table: jax.Array) -> jax.Array:
        """Return the correlation of the rows and columns of ``table`` (K, K)."""
        counts = OneVsRest.of(table / total(table))
        rejected = counts.others - counts.alarms
        covariance = (counts.hits * rejected - counts.misses * counts.alarms).sum(axis=0)
        spread = (counts.true * counts.others).sum(axis=0) * (counts.predicted * counts.dismissed).sum(axis=0)
        return ratio(covariance, jnp.sqrt(jnp.where(spread > 0, spread, 1)) * (spread > 0), 0.0)


@record
class CohenKappa(ConfusionStatistic):
    """Agreement beyond chance, ``1 - sum_ij d_ij table[i, j] / S / (sum_ij d_ij t_i p_j / S^2)``.

    All disagreements count alike, ``d_ij = 1``, or by how far apart the classes are. Range [-1, 1]; NaN where all
    rows have one true and predicted class, the same one. An absent class only leaves the sums. Reference:
    ``sklearn.metrics.cohen_kappa_score``.

    Parameters
    ----------
    weights : {"linear", "quadratic"}, optional
        Of classes in an order: ``d_ij`` is ``|i - j|`` or its square, with the numbers i and j of the classes among
        the labels. Give ``labels=`` where some are neither true nor predicted in the data.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    scores_absent_classes = True

    weights: str | None = static(default=None)

    def __post_init__(self) -> None:
        if self.weights not in (None, "linear", "quadratic"):
            raise ValueError(f"weights must be 'linear', 'quadratic' or None; got {self.weights!r}")

    def score(self, table: jax.Array) -> jax.Array:
        """Return the agreement of the rows and columns of ``table`` (K, K)."""
        shares = table / total(table)
        if self.weights is None:
            counts = OneVsRest.of(shares)
            return 1 - ratio(counts.misses.sum(axis=0), (counts.predicted * counts.others).sum(axis=0), np.nan)
        apart = self._apart(len(table))
        seen = jnp.tensordot(apart, shares, 2)
        by_chance = jnp.tensordot(apart, shares.sum(axis=1)[:, None] * shares.sum(axis=0), 2)
        return 1 - ratio(seen, by_chance, np.nan)

    def _apart(self, n_classes: int) -> np.ndarray:
        """Return how far apart classes are (K, K)."""
        places = np.arange(n_classes)
        return np.abs(places[:, None] - places) ** (1 if self.weights == "linear" else 2)

    def mistaken_for(self, table: jax.Array) -> jax.Array:
        """Return the relative weights (K, K) of what wrong rows are taken for: of classes in an order the farthest."""
        if self.weights is None:
            return super().mistaken_for(table)
        there = (table.sum(axis=0) > 0) | (table.sum(axis=1) > 0)
        apart = jnp.where(there, self._apart(len(table)), 0)
        return jnp.where((apart > 0) & (apart == apart.max(axis=1, keepdims=True)), 1.0, 0.0)


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
