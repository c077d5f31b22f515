"""``method="auto"`` where a sample shows nothing of a kind of rows, and tells too little of how many there are.

Where two rows of n are expected to be of a kind, none is in 13% of samples. The mass of the cards, a quarter of a row,
allows for 1.7 in n then, three quarters for 3, as mid-p does (``benchmarks/none_wrong.py``).
"""

from __future__ import annotations

import numpy as np

from jaxci.inference.choice_of_many_rows import MOST_SMOOTH_DRAWS
from jaxci.inference.features import features_of
from jaxci.inference.standings import Choice
from jaxci.intervals.auc import DeLongLogit, NewcombeAuc, auc_evidence, newcombe_variance
from jaxci.intervals.base import Tails
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.bootstrap import BCa, Percentile, smallest_bank
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.class_ranking import MulticlassRanking
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

NONE_WRONG = ProperBayesian(mass=0.75)
"""Of ranks that are all right."""
NO_LOSS = ProperBayesian(mass=0.75, at_least_normal=True)
"""Of log losses and Brier scores where no row is wrong: losses of rows that are right vary, too."""

CLEAN_CLASS = ProperBayesian(mass=0.5)
"""Of a few classes without errors, and means over such, the rarest of which has none: a quarter of a row of each class
is wrong.
"""
FEW_CLASSES = range(3, 6)
"""So many classes: of more, what every class adds shifts a mean by more than its error."""
RARER = 0.5
"""Times the rows of a class on average, below which a class is rare."""

FEW_LOST = 10
"""Of fewer rows with another class on top resamples of ranks of several classes tell too little, but what allows for
rows that were not seen is 5 to 97 times as wide as needed where scores of right rows lie apart by chance alone.
"""
OF_FEW_LOST = "too little: 95% intervals covered 82% to 97% in simulations"
"""What is said of these."""

CHANCE = ", which has a chance of 5% where three are expected to be: allows for these"
"""Why that tells little."""

UNDERSTATED = 1.5
"""How many times Newcombe's variance of an area, which is that of exponential scores, DeLong's may be."""


def allowing_for_unseen(
    found: Choice, statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample
) -> Choice:
    """Return a choice for independent rows, or another where it does not allow enough for what was not seen."""
    if layout.units is not None:
        return found
    if isinstance(statistic, MeanStatistic) and "y_score" in statistic.of_rows.inputs:
        if found.method.prior is None or features_of(statistic, sample, layout).errors != 0:
            return found
        return _with(found, NO_LOSS, f"no row is wrong by its scores{CHANCE}")
    if isinstance(statistic, ScoreRanking) and layout.row_weights is None:
        bearable = smallest_bank(tails) <= n_resamples and layout.n * float(n_resamples) <= MOST_SMOOTH_DRAWS
        return _of_ranks(found, statistic, sample, layout, bearable=bearable and layout.counts is None)
    if not isinstance(statistic, TableStatistic):
        return found
    if found.method.prior is None or np.count_nonzero(sample.class_sizes) not in FEW_CLASSES:
        return found
    if sample.wrong == 0:
        return _with(found, CLEAN_CLASS, f"no row is wrong{CHANCE}")
    if statistic.averages_classes and _rarest_is_clean(sample):
        return _with(found, CLEAN_CLASS, f"the rarest class has no error{CHANCE}")
    return found


def _with(found: Choice, method: ProperBayesian, why: str) -> Choice:
    """Return a choice of another method; what cards say of the one before is not of it."""
    remark = found.remark if found.standing is None else None
    return found._replace(method=method, reason=why, standing=None, remark=remark)


def _of_ranks(found: Choice, statistic: ScoreRanking, sample: Sample, layout: Layout, *, bearable: bool) -> Choice:
    """Choose for ranks, nearly all of which are right, or which a few positives decide that rank last."""
    lost = features_of(statistic, sample, layout).errors
    drawn = found.method.prior is not None or found.method.name in (Percentile.name, BCa.name)
    if drawn and bearable and statistic.has_extremes:
        alone = isinstance(statistic, MulticlassRanking) and not statistic.micro  # whatever class is on top of a row
        if (lost == 0 or alone) and _sets_classes_apart(sample):
            return _with(found, NONE_WRONG, f"no row is ranked wrongly{CHANCE}")
        if sample.n_classes > 2 and lost < FEW_LOST and found.method.prior is None:
            have = {0: "no row has", 1: "1 row has"}.get(int(lost), f"{lost:.0f} rows have")
            return found._replace(remark=f"{have} another class on top: of so few resamples tell {OF_FEW_LOST}")
    if found.method.name == NewcombeAuc.name and layout.counts is None:
        auc = auc_evidence(sample.y_true[: sample.n], sample.y_score[: sample.n])
        modelled = newcombe_variance(auc.auc, auc.n_pos, auc.n_neg)
        if np.isfinite(auc.variance) and auc.variance > UNDERSTATED * modelled:
            why = f"a ROC AUC that varies {np.sqrt(auc.variance / modelled):.1f} times as much as that of like scores"
            return found._replace(method=DeLongLogit(), reason=f"{why}: DeLong on the logit scale", standing=None)
    return found


def _sets_classes_apart(sample: Sample) -> bool:
    """Whether the score of every class is higher for all its rows than for any other; of two classes it is known."""
    y, scores = sample.y_true[: sample.n], sample.y_score[: sample.n]
    if scores.ndim == 1:
        return True
    return all(scores[y == k, k].min() > scores[y != k, k].max(initial=-np.inf) for k in np.unique(y))


def _rarest_is_clean(sample: Sample) -> bool:
    """Whether a class that is rare has no errors."""
    sizes, taken = sample.class_sizes, sample.predicted_sizes
    y, guess = sample.y_true[: sample.n], sample.y_pred[: sample.n]
    counts = np.ones(sample.n) if sample.counts is None else sample.counts
    right = np.bincount(y, counts * (y == guess), sample.n_classes)
    clean = (sizes > 0) & (right == sizes) & (taken == sizes) & (sizes < RARER * sizes.sum() / sample.n_classes)
    return bool(clean.any())
