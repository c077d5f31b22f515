"""What ``method="auto"`` takes for rows that weigh unlike."""

from __future__ import annotations

import numpy as np

from jaxci.inference.choice_of_many_rows import FEW_MISRANKED, MANY_CLUSTERS, scale_of
from jaxci.inference.features import weights_go_with_scores, weights_go_with_values
from jaxci.inference.standings import Choice
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.bootstrap import Percentile
from jaxci.intervals.capabilities import power_of_variance
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

WEIGHED_BY_SCORE = (
    "weights go with the scores, so that the rows that decide may be few, or missing: 95% intervals covered 80% to "
    "100% in simulations"
)
"""What is said of ranks of such rows, as ``benchmarks/weighted_ranks.py`` found."""

WEIGHED_BY_VALUE = (
    "weights rise with the values, so that few rows may decide: 95% intervals covered 24% to 97% in simulations"
)
"""What is said of means of such values without an upper bound, as ``benchmarks/weighted_values.py`` found."""
LEAST_EFFECTIVE = 10.0
"""Of fewer rows in effect influence tells next to nothing."""

WEIGHTED_DEVIATIONS = (
    "95% intervals of standard deviations of weighted rows covered 82% to 96% in simulations of 30 and 100 rows, least "
    "of skewed values"
)
"""What is said of these, as ``benchmarks/weighted_values.py`` found."""

WEIGHTED_CLUSTERS = (
    "clusters of unlike weight: 95% intervals of metrics of labels covered 87% to 99% in simulations of 8 to 60 such "
    "clusters"
)
"""What is said of metrics of labels of these, as ``benchmarks/weighted_clusters.py`` found."""

ENOUGH_IN_EFFECT = 3
"""From so many wrong and right rows of every class on, times the share of its rows that are in effect, influence tells
how metrics of labels vary: of fewer it covered 67% to 89% where weights have heavy tails.
"""
NONE_SEEN = 0.25
"""Where wrong rows weigh less together than this much of a row in effect, which stands for those that were not seen,
they do not tell of these.
"""
LEAST_ROWS, LEAST_OF_CLASS = 50, 10
"""Among so many rows or more, that none of a class of as many is wrong tells little; fewer tell so little that what is
added would decide.
"""
NONE_OF_CLASS_WRONG = ProperBayesian(mass=0.75)
"""Of such metrics: three wrong rows may have been expected."""
FEW_OF_CLASS_WRONG = (
    "a class has fewer than 3 wrong rows in effect, or right ones: 95% intervals covered 74% to 100% in simulations of "
    "weighted rows, least where wrong rows weigh most"
)
"""What is said where fewer rows of a class are wrong, as ``benchmarks/weighted_labels.py`` found."""

FURTHER = "and Student's quantiles, further out where few decide"


def proper(what: str, layout: Layout) -> Choice:
    """Choose random weights for ``what``, also of what was not seen."""
    units = "rows" if layout.units is None else "clusters"
    return Choice(ProperBayesian(), f"{what}: random weights of the {units}, and of a few that were not seen")


def known_of_weights(statistic: Statistic, layout: Layout, sample: Sample) -> str | None:
    """Say what was found of labels of weighted rows in clusters, and of ranks with which weights go; None of others."""
    weights = layout.row_weights
    if weights is None:
        return None
    if isinstance(statistic, ScoreRanking):
        told = layout.units is None and weights_go_with_scores(sample, weights)
        return WEIGHED_BY_SCORE if told else None
    few = layout.units is not None and layout.n_units < MANY_CLUSTERS and isinstance(statistic, TableStatistic)
    return WEIGHTED_CLUSTERS if few else None


def of_labels_by_weight(statistic: Statistic, layout: Layout, sample: Sample, weighted: str) -> Choice | None:
    """Choose for a metric of labels of weighted rows in no clusters that is no share, or mean of such; None for others.

    What was not seen weighs as rows of its class do, which is wrong where weights go with being right; where enough
    rows of every class are wrong, influence needs nothing of it.
    """
    weights = layout.row_weights
    labels = isinstance(statistic, TableStatistic) and statistic.smooth and statistic.has_extremes
    if layout.units is not None or layout.counts is not None or weights is None or not labels:
        return None
    y, wrong = sample.y_true[: sample.n][weights > 0], (sample.y_true != sample.y_pred)[: sample.n][weights > 0]
    size = sample.n_classes
    rows, of_wrong, heaviest = np.bincount(y, minlength=size), np.bincount(y, wrong, size), np.zeros(size)
    if not rows.all():
        return None
    np.maximum.at(heaviest, y, weights[weights > 0])
    share = weights[weights > 0] / heaviest[y]
    mass, squares, held = (np.bincount(y, x, size) for x in (share, share**2, share * wrong))
    one = squares / mass  # a row in effect
    few = np.minimum(of_wrong, rows - of_wrong) * mass / (rows * one)
    light = np.minimum(held, mass - held) < NONE_SEEN * one
    if round(float(few.min()), 9) >= ENOUGH_IN_EFFECT and not light.any():
        told = f"{ENOUGH_IN_EFFECT} wrong rows in effect, and right ones, or more in every class"
        return Choice(KurtosisT(), f"{weighted}, {told}: influence, {FURTHER}")
    found = proper(weighted, layout)._replace(remark=FEW_OF_CLASS_WRONG)
    if layout.n >= LEAST_ROWS and np.any((of_wrong == 0) & (rows >= LEAST_OF_CLASS)):
        why = f"{found.reason}, as many as where three were expected: no row of a class is wrong"
        return found._replace(method=NONE_OF_CLASS_WRONG, reason=why)
    return found


def of_ranks_by_weight(statistic: Statistic, layout: Layout, sample: Sample, weighted: str) -> Choice | None:
    """Choose for ranks of rows whose weights go with their scores; None for others.

    A light sample of rows that weigh much may hold none of those: what was not seen weighs more than rows on average.
    Where hardly any row is ranked wrongly, slopes tell nothing of rows that would be.
    """
    weights, method = layout.row_weights, KurtosisT(scale=scale_of(statistic))
    if weights is None or not isinstance(statistic, ScoreRanking) or method.refusal(statistic) is not None:
        return None
    if not weights_go_with_scores(sample, weights):
        return None
    if sample.misranked < FEW_MISRANKED:
        return proper(weighted, layout)._replace(remark=WEIGHED_BY_SCORE)
    why = f"{weighted}, and weights go with scores: influence, {FURTHER}"
    return Choice(method, why, remark=WEIGHED_BY_SCORE)


def of_values_by_weight(statistic: Statistic, layout: Layout, sample: Sample, rows: str) -> Choice | None:
    """Choose for a mean of values without a bound, or its root, whose weights rise or fall with them; None for others.

    Beyond the largest value a row that was not seen weighs about as much as the rows that were seen there do, not as
    rows do on average: where large errors weigh little, that made intervals up to 8 times as wide as needed. Where they
    weigh much, few rows decide, and influence tells too little.
    """
    weights = layout.row_weights
    if weights is None or layout.counts is not None or not isinstance(statistic, MeanStatistic):
        return None
    if np.isfinite(statistic.bounds).all() or not (rising := weights_go_with_values(statistic, sample, weights)):
        return None
    bounded = [side for side, end in zip((-1, 1), statistic.bounds, strict=True) if np.isfinite(end)]
    told = WEIGHED_BY_VALUE if rising > 0 else None
    if layout.effective_size < LEAST_EFFECTIVE or bounded == [-rising]:
        return proper(rows, layout)._replace(remark=told)
    on = "log" if statistic.bounds[0] == 0 else "natural"
    why = f"{rows}, and weights go with the values: influence on the {on} scale, {FURTHER}"
    return Choice(KurtosisT(scale=on), why, remark=told)


def of_weighted_deviation(statistic: Statistic, layout: Layout, weighted: str) -> Choice | None:
    """Choose for a standard deviation or variance of weighted rows in no clusters; None for others.

    Percentiles covered 67% to 92% of those of 30 and 100 rows (``benchmarks/weighted_values.py``).
    """
    if layout.units is not None or layout.row_weights is None or power_of_variance(statistic) is None:
        return None
    if layout.effective_size < LEAST_EFFECTIVE:
        return Choice(Percentile(), f"{weighted}, too few: the percentile bootstrap", remark=WEIGHTED_DEVIATIONS)
    why = f"{weighted}, and their deviation: influence on the log scale, {FURTHER}"
    return Choice(KurtosisT(scale="log"), why, remark=WEIGHTED_DEVIATIONS)
