"""What tells of data and estimate which simulated designs are like them."""

from __future__ import annotations

import math

import numpy as np
import scipy
from scipy import special

from jaxci.inference.design import natural_values
from jaxci.intervals.cards import Features, shape_of
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.regression import QuadraticStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

LARGEST = 20_000
"""Above so many independent rows the rules decide: no design of the cards is as large."""

GOES_WITH, GOES_SURELY = 0.3, 3.0
"""Rank correlation from which on weights go with scores, and how many times its error it is without any, at least."""


FAR, BY_CHANCE = 2.0, 0.01
"""Times as far as within any stratum that values of strata which are unlike lie apart, and the level at which chance is
ruled out.
"""
FEW_LOSSES = 4
"""Fewer losses, which are skewed, do not tell how far they lie apart in a stratum."""


def features_of(statistic: Statistic, sample: Sample, layout: Layout) -> Features:
    """Return the features of data by which cards are read."""
    if layout.features is not None:
        return layout.features
    found = features_of_rows(statistic, sample)
    if layout.units is None:
        return found
    return found.in_clusters(
        np.bincount(layout.units, layout.counts), layout.intraclass_correlation(natural_values(statistic, sample))
    )


def differ_little(statistic: Statistic, sample: Sample, layout: Layout) -> bool:
    """Whether rows come in large clusters that differ little, see :meth:`Features.differ_little`."""
    if layout.units is None:
        return False
    units, ranks = layout.n_units, isinstance(statistic, ScoreRanking)
    least = Features(layout.n, errors=math.inf, design_effect=1.0)  # which asks for no sums over rows
    if not least.differ_little(units, ranks=ranks):
        return False
    return features_of(statistic, sample, layout).differ_little(units, ranks=ranks)


def weights_go_with_scores(sample: Sample, weights: np.ndarray) -> bool:
    """Whether among rows of one of two classes ``weights`` (n,) rise or fall with the score, beyond chance."""
    if sample.n_classes != 2 or sample.y_score is None:
        return False
    scores, classes = np.asarray(sample.y_score)[: sample.n], (sample.y_true[: sample.n] == code for code in (0, 1))
    return any(_go_together(scores[rows], weights[: sample.n][rows]) for rows in classes)


def weights_go_with_values(statistic: MeanStatistic, sample: Sample, weights: np.ndarray) -> int:
    """Return 1 or -1 where ``weights`` (n,) of rows rise or fall with the values averaged, beyond chance; else 0."""
    return _go_together(np.asarray(statistic.averaged_values(sample))[: sample.n], weights[: sample.n])


def _go_together(one: np.ndarray, other: np.ndarray) -> int:
    """Return 1 or -1 where the ranks of two columns (n,) are correlated beyond chance, by the sign; else 0."""
    ranks = scipy.stats.rankdata([one, other], axis=1)
    if len(one) < 2 or not np.ptp(ranks, axis=1).all():
        return 0
    correlation = float(np.corrcoef(ranks)[0, 1])
    surely = abs(correlation) >= max(GOES_WITH, GOES_SURELY / math.sqrt(len(one) - 1))
    return int(np.sign(correlation)) if surely else 0


def heaviest_tails(statistic: Statistic, sample: Sample) -> float:
    """Return the largest kurtosis of the columns whose spread a statistic reads; 0 where it reads none.

    Cards know the shape of the errors alone: their targets are normal.
    """
    if not isinstance(statistic, QuadraticStatistic):
        return 0.0
    columns = [np.asarray(getattr(sample, name))[: sample.n] for name in statistic.spread_of]
    return max(float(shape_of(column, sample.counts)[1]) for column in columns)


def strata_are_unlike(statistic: Statistic, sample: Sample, layout: Layout) -> bool:
    """Whether the values that are averaged lie much further apart together than within any stratum, beyond chance.

    Rows that were not seen are thought beyond the range of all. Where one stratum has that range, as of losses of a
    class that is predicted badly, they are not too far.
    """
    if layout.strata is None or not isinstance(statistic, MeanStatistic):
        return False
    strata = layout.strata if layout.units is None else layout.strata[layout.units]
    counts = np.ones(len(strata)) if layout.counts is None else layout.counts
    values, held = np.asarray(statistic.averaged_values(sample))[: len(strata)], np.bincount(strata, counts)
    least, most = np.full(len(held), np.inf), np.full(len(held), -np.inf)
    np.minimum.at(least, strata, values)
    np.maximum.at(most, strata, values)
    there, n = held > 0, float(counts.sum())
    groups = np.count_nonzero(there)
    if np.isfinite(statistic.bounds).any() and held[there].min() < FEW_LOSSES:
        return False
    if groups < 2 or n <= groups or most.max() - least.min() <= FAR * np.max(most[there] - least[there]):
        return False
    apart = values - (np.bincount(strata, counts * values) / np.maximum(held, 1))[strata]
    within = float(counts @ apart**2)
    between = float(counts @ (values - np.average(values, weights=counts)) ** 2) - within
    if not within > 0:
        return False
    ratio = between / (groups - 1) / (within / (n - groups))
    return float(special.fdtrc(groups - 1, n - groups, ratio)) < BY_CHANCE


def features_of_rows(statistic: Statistic, sample: Sample) -> Features:
    """Return the features of data whose rows are independent."""
    n = sample.n if sample.counts is None else float(sample.counts.sum())
    if sample.y_true is None or statistic.task == "regression":  # losses of counted rows are values, too
        values = sample.values if sample.y_true is None else sample.y_true - sample.y_pred
        return features_of_values(values[: sample.n], sample.counts)
    errors = sample.wrong if "y_pred" in statistic.inputs else sample.misranked
    sizes = sample.predicted_sizes if predictions_count(statistic, sample) else sample.class_sizes
    return features_of_classes(n, sizes, errors)


def predictions_count(statistic: Statistic, sample: Sample) -> bool:
    """Whether the rows predicted as each of more than two classes are what a statistic has below its line."""
    return sample.n_classes > 2 and isinstance(statistic, TableStatistic) and statistic.averages_precision


def features_of_values(values: np.ndarray, counts: np.ndarray | None) -> Features:
    """Return the features of independent values, or errors of a regression, (n,), each ``counts`` times."""
    n = len(values) if counts is None else float(counts.sum())
    if not (values != values[0]).any():  # nothing is known of their law
        return Features(n)
    skewness, kurtosis = shape_of(values, counts)
    return Features(n, skewness=float(skewness), kurtosis=float(kurtosis))


def features_of_classes(n: float, sizes: np.ndarray, errors: float) -> Features:
    """Return the features of n independent rows of classes of ``sizes`` (K,), of which ``errors`` are wrong."""
    rarest = float(sizes.min() if len(sizes) == 2 else sizes[sizes > 0].min())
    return Features(n, max(2, int(np.count_nonzero(sizes))), rarest, errors)
