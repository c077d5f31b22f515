"""Intervals for the area under a ROC curve.

``A = P(score of a positive > score of a negative)``, a tie counting one half; m positives, n
negatives, ``k = min(m, n)``. The placement value of a positive is the share of negatives below
it, that of a negative the share of positives above it (ties one half): their two means are A.

Two facts, free of any assumption beyond independent rows, serve where a variance cannot be
estimated. They follow from pairing k positives with k negatives at random, since the estimate is
the mean of such pairings:

- its variance is at most ``A (1 - A) / k`` (Birnbaum & Klose);
- perfect separation has a probability of at most ``A^k``, so having seen it one may bound A from
  below by ``tail^(1/k)``, the Clopper-Pearson bound for k successes in k trials.
"""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxci.intervals.base import Bounds, Evidence, Method, Tails, normal_steps, open_sides
from jaxci.intervals.capabilities import is_binary_auc, is_whole_auc
from jaxci.intervals.delta import delta_interval
from jaxci.records import record
from jaxci.special import loop, namespace
from jaxci.statistics.base import Statistic


@record
class AucEvidence:
    """What the AUC intervals read: arrays (...) over data sets.

    Attributes
    ----------
    auc : (...) array
        The estimate A.
    n_pos, n_neg : (...) arrays
        Positives m and negatives n.
    placement_variance_pos, placement_variance_neg : (...) arrays
        Variance of the placement values of the positives and of the negatives (ddof 1; NaN for
        a class with one member).
    """

    auc: Any
    n_pos: Any
    n_neg: Any
    placement_variance_pos: Any
    placement_variance_neg: Any

    @property
    def variance(self) -> Any:
        """DeLong's variance of the estimate (NaN where a class has one member)."""
        return self.placement_variance_pos / self.n_pos + self.placement_variance_neg / self.n_neg

    @property
    def pairs(self) -> Any:
        """Disjoint pairs of a positive and a negative, ``k = min(m, n)``."""
        return 1.0 * namespace(self.n_pos, self.n_neg).minimum(self.n_pos, self.n_neg)

    @property
    def separated(self) -> Any:
        """Whether the classes are perfectly separated, in either direction."""
        return (self.auc <= 0) | (self.auc >= 1)


def placements(y_true: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Placements as counts, exact in floating point, for scores (s, rows).

    Returns the negatives below each positive (s, m) and the positives above each negative (s, n).
    """
    positive, score = np.asarray(y_true) == 1, np.asarray(scores, float)
    if score.ndim != 2 or positive.ndim != 1 or score.shape[1] != positive.size:
        raise ValueError(f"scores must have one value per row of y_true ({positive.size}); got shape {score.shape}")
    if not np.isfinite(score).all():
        raise ValueError(f"scores must be finite; got {int((~np.isfinite(score)).sum())} that are not")
    m = int(positive.sum())
    n = positive.size - m
    if m == 0 or n == 0:
        raise ValueError(f"y_true must hold both classes, 0 and 1; got {m} positives and {n} negatives")
    below = np.stack([_counted_below(row[positive], row[~positive]) for row in score])
    above = np.stack([m - _counted_below(row[~positive], row[positive]) for row in score])
    return below, above


def _counted_below(x: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Count the ``others`` (n,) below each of ``x`` (m,), ties one half.

    Those of ``x`` are looked for in their order: each is near the one before it, also in memory.
    """
    ordered, order = np.sort(others), np.argsort(x)
    counts, rising = np.empty(len(x)), x[order]
    counts[order] = (np.searchsorted(ordered, rising, side="left") + np.searchsorted(ordered, rising, side="right")) / 2
    return counts


def auc_evidence(y_true: ArrayLike, score: ArrayLike, counts: ArrayLike | None = None) -> AucEvidence:
    """Compute the AUC and the variances of its placement values.

    Parameters
    ----------
    y_true : (rows,) array_like
        1 for positives, 0 for negatives.
    score : (rows,) array_like
        Finite scores, larger for positives.
    counts : (rows,) array_like, optional
        How many times each row occurs, whole numbers of at least 1; once by default.

    Returns
    -------
    AucEvidence

    Raises
    ------
    ValueError
        If a class is absent, a score is not finite, or the lengths differ.

    Notes
    -----
    From midranks, on the host: O(rows log rows).

    References
    ----------
    .. [1] Sun & Xu (2014), Fast implementation of DeLong's algorithm, IEEE Signal Processing
       Letters 21(11), 1389-1393.
    """
    if counts is not None:
        return _counted_evidence(np.asarray(y_true) == 1, np.asarray(score, float), np.asarray(counts, float))
    (below,), (above,) = placements(y_true, np.asarray(score, float)[None])
    m, n = below.size, above.size
    var_pos = float(below.var(ddof=1)) / n**2 if m > 1 else math.nan
    var_neg = float(above.var(ddof=1)) / m**2 if n > 1 else math.nan
    return AucEvidence(float(below.sum()) / (m * n), m, n, var_pos, var_neg)


def _counted_evidence(positive: np.ndarray, score: np.ndarray, counts: np.ndarray) -> AucEvidence:
    """Return the evidence of rows that occur ``counts`` times: what :func:`auc_evidence` gives of them repeated."""
    thresholds, place = np.unique(score, return_inverse=True)
    of_class = [np.bincount(place, counts * member, len(thresholds)) for member in (positive, ~positive)]
    (m, n), share = [size.sum() for size in of_class], []
    for members, others in (of_class, of_class[::-1]):
        below = (np.cumsum(others) - others / 2) / others.sum()
        mean = members @ below / members.sum()
        variance = members @ (below - mean) ** 2 / (members.sum() - 1) if members.sum() > 1 else math.nan
        share.append((float(mean), float(variance)))
    return AucEvidence(share[0][0], float(m), float(n), share[0][1], share[1][1])


class AucMethod(Method):
    """A method that reads :class:`AucEvidence`.

    Under perfect separation, in either direction, no variance can be estimated. Methods that need one then
    return the exact bound for k successes in k = min(m, n) trials, with a remark.
    """

    needs = frozenset({"auc"})
    takes = frozenset()

    @abc.abstractmethod
    def of_auc(self, auc: AucEvidence, tails: Tails) -> Bounds:
        """Return bounds for classes that are not perfectly separated."""

    @abc.abstractmethod
    def doubts(self, auc: AucEvidence) -> tuple[str, ...]:
        """Say on what a variance rests that the data of one data set do not give."""

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not the whole area under one binary ROC curve."""
        if is_whole_auc(statistic):
            return None
        partial = f" with max_fpr={statistic.max_fpr:g}" if is_binary_auc(statistic) else ""
        return (
            f"{self.name!r} needs the whole area under one binary ROC curve; {type(statistic).__name__}{partial} is "
            "not that (method='percentile' serves partial and averaged areas)"
        )

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.auc``."""
        auc: AucEvidence = evidence.auc
        xp = namespace(auc.auc)
        low, high = open_sides(*self.of_auc(auc, tails), tails, evidence.statistic.bounds)
        least = tails.lower ** (1 / auc.pairs) if tails.has_lower else 0.0
        most = 1 - tails.upper ** (1 / auc.pairs) if tails.has_upper else 1.0
        low = xp.where(auc.auc <= 0, 0.0, xp.where(auc.auc >= 1, least, low))[()]
        high = xp.where(auc.auc >= 1, 1.0, xp.where(auc.auc <= 0, most, high))[()]
        return Bounds(low, high)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that the classes are separated, or on what a variance rests."""
        auc: AucEvidence = evidence.auc
        if not np.any(auc.separated):
            return self.doubts(auc)
        remark = (
            f"the classes are perfectly separated, so the {self.name!r} interval does not exist: the bound is "
            f"method='clopper_pearson' on {int(np.min(auc.pairs))} disjoint pairs of a positive and a negative"
        )
        return (remark,)


def _delong_error(auc: AucEvidence) -> Any:
    """DeLong's standard error, or the greatest one possible."""
    xp = namespace(auc.auc)
    return xp.sqrt(xp.where(auc.variance > 0, auc.variance, auc.auc * (1 - auc.auc) / auc.pairs))


def _delong_doubts(auc: AucEvidence) -> tuple[str, ...]:
    if np.all(auc.variance > 0):
        return ()
    k = int(np.min(auc.pairs))
    if k == 1:
        reason = "a class has a single member, so DeLong's variance does not exist"
    else:
        reason = "all scores are equal, so DeLong's variance is zero"
    return (f"{reason}: its upper bound A (1 - A) / {k} was used; method='hanley_mcneil' models it instead",)


@record
class DeLong(AucMethod):
    """DeLong's interval of an area under the ROC curve, ``A +- z sqrt(S_pos / m + S_neg / n)``.

    S are the placement variances. Asymptotic, independent rows. May leave [0, 1]. With one member in a class, or all
    scores equal, the variance is replaced by its upper bound ``A (1 - A) / min(m, n)``, with a remark. Of classes that
    are perfectly separated, where the variance is 0, it is the interval of ``min(m, n)`` disjoint pairs, with a remark.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845.
    .. [2] Birnbaum & Klose (1957), Bounds for the variance of the Mann-Whitney statistic, Annals
       of Mathematical Statistics 28, 933-945.
    """

    name = "delong"
    leaves_range = True

    def of_auc(self, auc: AucEvidence, tails: Tails) -> Bounds:
        """Return bounds for classes that are not perfectly separated."""
        return delta_interval(auc.auc, _delong_error(auc), tails)

    def doubts(self, auc: AucEvidence) -> tuple[str, ...]:
        """Say that the variance was replaced by its upper bound."""
        return _delong_doubts(auc)


@record
class DeLongLogit(AucMethod):
    """DeLong's interval of an area on the logit scale, ``logit(A) +- z SE / (A (1 - A))``, transformed back.

    Asymptotic, independent rows. Stays in [0, 1]. Degenerate variances as in :class:`DeLong`.

    References
    ----------
    .. [1] Pepe (2003), The Statistical Evaluation of Medical Tests for Classification and
       Prediction, chapter 5.
    """

    name = "delong_logit"

    def of_auc(self, auc: AucEvidence, tails: Tails) -> Bounds:
        """Return bounds for classes that are not perfectly separated."""
        return delta_interval(auc.auc, _delong_error(auc), tails, "logit")

    def doubts(self, auc: AucEvidence) -> tuple[str, ...]:
        """Say that the variance was replaced by its upper bound."""
        return _delong_doubts(auc)


@record
class HanleyMcNeil(AucMethod):
    """Normal interval of an area with a variance that depends on it and the class sizes alone.

    ``(A (1 - A) + (m - 1)(A / (2 - A) - A^2) + (n - 1)(2 A^2 / (1 + A) - A^2)) / (m n)``, which
    is that of exponential scores. Asymptotic, independent rows; wrong where the shapes of the two
    score distributions differ much. May leave [0, 1].

    References
    ----------
    .. [1] Hanley & McNeil (1982), The meaning and use of the area under a ROC curve, Radiology
       143, 29-36, eq. (1).
    """

    name = "hanley_mcneil"
    leaves_range = True
    models_variance = True

    def of_auc(self, auc: AucEvidence, tails: Tails) -> Bounds:
        """Return bounds for classes that are not perfectly separated."""
        a, m, n = auc.auc, 1.0 * auc.n_pos, 1.0 * auc.n_neg
        both_pos, both_neg = a / (2 - a) - a**2, 2 * a**2 / (1 + a) - a**2
        variance = (a * (1 - a) + (m - 1) * both_pos + (n - 1) * both_neg) / (m * n)
        return delta_interval(a, namespace(a).sqrt(variance), tails)

    def doubts(self, auc: AucEvidence) -> tuple[str, ...]:
        """Say that a single member of a class tells nothing of its spread."""
        if np.min(auc.pairs) > 1:
            return ()
        remark = (
            "a class has a single member: the variance of 'hanley_mcneil' rests on its model alone; "
            "method='delong_logit' gives a conservative interval"
        )
        return (remark,)


HALVINGS = 60
"""Steps that find a root in [0, 1] to the last bits."""


def newcombe_variance(t: Any, m: Any, n: Any) -> Any:
    """Return the variance that :class:`NewcombeAuc` reads, of an area t of m positives and n negatives."""
    both = (m + n) / 2 - 1
    return t * (1 - t) * (1 + both * (1 - t) / (2 - t) + both * t / (1 + t)) / (m * n)


@record
class NewcombeAuc(AucMethod):
    """Newcombe's score interval of an area under the ROC curve.

    ``V(t) = t (1 - t) (1 + N (1 - t) / (2 - t) + N t / (1 + t)) / (m n)`` with ``N = (m + n) / 2 - 1``: m and n in the
    two last terms are replaced by their mean, so that positives and negatives may change places. Stays in [0, 1] and
    has width under perfect separation. Asymptotic, independent rows; of 18 binormal designs (A = .7, .9, .99; 5 + 95 to
    100 + 900 rows) its 95% intervals covered .945 to .985.

    References
    ----------
    .. [1] Newcombe (2006), Confidence intervals for an effect size measure based on the Mann-Whitney statistic,
       part 2, Statistics in Medicine 25, 559-573, method 5.
    """

    name = "newcombe"
    models_variance = True

    def of_auc(self, auc: AucEvidence, tails: Tails) -> Bounds:
        """Return bounds, also for classes that are perfectly separated."""
        a, m, n = auc.auc, 1.0 * auc.n_pos, 1.0 * auc.n_neg
        xp = namespace(a)

        def beyond(t: Any, z: Any) -> Any:
            return xp.abs(a - t) > z * xp.sqrt(newcombe_variance(t, m, n))

        def end(outer: Any, z: Any) -> Any:
            def halve(state: tuple[int, Any, Any]) -> tuple[int, Any, Any]:
                step, out, inside = state
                middle = (out + inside) / 2
                rejected = beyond(middle, xp.abs(z))
                return step + 1, xp.where(rejected, middle, out), xp.where(rejected, inside, middle)

            start = 0, xp.where(z >= 0, outer, 1.0 - outer) + xp.zeros_like(a), xp.asarray(a, float)
            return loop(xp, lambda state: state[0] < HALVINGS, halve, start)[2]

        down, up = normal_steps(tails)
        return Bounds(end(0.0, down), end(1.0, up))

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.auc``."""
        return open_sides(*self.of_auc(evidence.auc, tails), tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that separated classes give an interval of this kind alone."""
        if not np.any(evidence.auc.separated):
            return self.doubts(evidence.auc)
        return ("the classes are perfectly separated: the width comes from the model of the variance alone",)

    def doubts(self, auc: AucEvidence) -> tuple[str, ...]:
        """Nothing: no variance is estimated."""
        return ()
