"""What interval methods ask of a statistic: one question, one function."""

from __future__ import annotations

from typing import Any, TypeGuard

from jaxci.intervals.unseen import MASS as AREA_MASS
from jaxci.statistics.base import OpposedStatistic, Statistic, TableStatistic, has_fixed_trials, is_proportion, is_ratio
from jaxci.statistics.class_ranking import RocAucMulticlass
from jaxci.statistics.order import OrderStatistic, QuantileStatistic
from jaxci.statistics.paired import Paired, PairedTable
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import OPPOSED_POSITIVE, BinaryRanking, ScoreRanking
from jaxci.statistics.summary import MeanStatistic, SecondMoment


def averages_proportions(statistic: Statistic) -> bool:
    """Whether the statistic is a mean of independent proportions."""
    return isinstance(statistic, TableStatistic) and statistic.averages_proportions


def averages_shares(statistic: Statistic) -> bool:
    """Whether the statistic is a mean of proportions of classes, which may share rows, or of functions of them."""
    return isinstance(statistic, TableStatistic) and statistic.averages_shares


def quantile_order(statistic: Statistic) -> float | None:
    """Return q if the statistic is the q-quantile of one value per row, else None."""
    return statistic.probability if isinstance(statistic, QuantileStatistic) else None


def quantile_terms(statistic: Statistic) -> tuple[tuple[float, Any, int], ...]:
    """Return the factor, the q and the model of every quantile that the statistic is a sum of; empty where it is none.

    The model is 0, or 1 of the second of two.
    """
    if isinstance(statistic, Paired):
        terms = quantile_terms(statistic.statistic)
        return tuple((sign * factor, q, model) for model, sign in enumerate((1.0, -1.0)) for factor, q, _ in terms)
    return tuple((*term, 0) for term in statistic.quantiles) if isinstance(statistic, OrderStatistic) else ()


def knows_mistakes(statistic: Statistic) -> bool:
    """Whether the statistic is one of labels or their scores that knows what mistakes which were not seen would do."""
    return statistic.has_extremes and statistic.task in ("binary", "multiclass")


def scores_absent_classes(statistic: Statistic) -> bool:
    """Whether the statistic counts, by a convention, a class of which there are no rows, or how many have some."""
    return isinstance(statistic, TableStatistic) and statistic.scores_absent_classes


def power_of_variance(statistic: Statistic) -> float | None:
    """Return p if the statistic is the variance of one value per row to the power p, else None."""
    return statistic.power if isinstance(statistic, SecondMoment) else None


def is_binary_auc(statistic: Statistic) -> TypeGuard[BinaryRanking]:
    """Whether the statistic is the area, whole or partial, under one binary ROC curve."""
    return isinstance(statistic, BinaryRanking) and statistic.of_roc_curve


def is_whole_auc(statistic: Statistic) -> bool:
    """Whether the statistic is the whole area under one binary ROC curve."""
    return isinstance(statistic, BinaryRanking) and statistic.is_whole_area


def lies_between(statistic: Statistic) -> bool:
    """Whether all rows have a value between those of the two parts that they consist of, as ratios of sums have."""
    if isinstance(statistic, MeanStatistic):
        return True
    return isinstance(statistic, TableStatistic) and (
        statistic.is_ratio or statistic.is_proportion or statistic.is_count_ratio
    )


def is_debiased_calibration(statistic: Statistic) -> TypeGuard[Calibration]:
    """Whether the statistic is the root mean squared calibration error, whose mean square is unbiased."""
    return isinstance(statistic, Calibration) and statistic.debiased


def is_exaggerated(statistic: Statistic) -> bool:
    """Whether the statistic is a calibration error that is larger the fewer rows there are, by chance alone."""
    return isinstance(statistic, Calibration) and not statistic.debiased


def is_share_difference(statistic: Statistic) -> TypeGuard[PairedTable]:
    """Whether the statistic is the difference of two models' shares of the same rows: all, or those of a true class."""
    if not isinstance(statistic, PairedTable):
        return False
    of_one = statistic.statistic
    return has_fixed_trials(of_one) or (is_proportion(of_one) and of_one.trials_by_truth and of_one.share is None)


def is_ratio_difference(statistic: Statistic) -> TypeGuard[PairedTable]:
    """Whether the statistic is the difference of two models' ratios of counts of rows, such as precision or F1."""
    return isinstance(statistic, PairedTable) and statistic.statistic.is_count_ratio


def averages_share_differences(statistic: Statistic) -> TypeGuard[PairedTable]:
    """Whether the statistic is the difference of two models' means of shares of the same rows, such as mean recalls."""
    if not isinstance(statistic, PairedTable):
        return False
    return averages_proportions(statistic.statistic) and statistic.statistic.trials_by_truth


def is_auc_difference(statistic: Statistic) -> TypeGuard[Paired]:
    """Whether the statistic is the difference of two models' whole areas under a binary ROC curve."""
    return isinstance(statistic, Paired) and is_whole_auc(statistic.statistic)


def averages_areas(statistic: Statistic) -> TypeGuard[Paired]:
    """Whether the statistic is the difference of two models' mean areas of several classes, each ranked by itself."""
    own = statistic.statistic if isinstance(statistic, Paired) else None
    return isinstance(own, RocAucMulticlass) and not own.micro


def has_opposed_rows(statistic: Statistic) -> TypeGuard[Paired]:
    """Whether the statistic is a smooth difference that knows on which rows two models differ most."""
    return isinstance(statistic, Paired) and isinstance(statistic.statistic, OpposedStatistic) and statistic.smooth


def opposed_mass(statistic: Statistic) -> float | None:
    """Mass of a positive that one model ranks first and the other last, each way; None of what does not rank."""
    if is_auc_difference(statistic) or averages_areas(statistic):
        return AREA_MASS
    ranks = has_opposed_rows(statistic) and isinstance(statistic.statistic, ScoreRanking)
    return OPPOSED_POSITIVE if ranks else None


def has_beta_law(statistic: Statistic) -> bool:
    """Whether the statistic is a proportion of rows itself, so that of independent rows its posterior is known."""
    return isinstance(statistic, TableStatistic) and statistic.is_proportion and statistic.share is None


def has_exact_law(statistic: Statistic, given: frozenset[str] = frozenset()) -> bool:
    """Whether the bootstrap distribution of the statistic can be computed.

    Of rows with clusters or weights (``given``) it can be where the statistic is a ratio of sums over them.
    """
    if given:
        return (isinstance(statistic, MeanStatistic) or is_ratio(statistic)) and given <= {"groups", "sample_weight"}
    return isinstance(statistic, MeanStatistic | QuantileStatistic) or is_ratio(statistic)


def may_have_exact_law(statistic: Statistic) -> bool:
    """Whether the bootstrap distribution can be computed for some data: of differences and means of shares, too."""
    of_two = is_share_difference(statistic) or is_ratio_difference(statistic) or averages_share_differences(statistic)
    return has_exact_law(statistic) or of_two or averages_proportions(statistic)
