"""What interval methods ask of a statistic: one question, one function."""

from __future__ import annotations

from typing import TypeGuard

from jaxci.statistics.base import Statistic
from jaxci.statistics.ranking import RocAuc


def averages_rows(statistic: Statistic) -> bool:
    """Whether the statistic is the mean of one value per row, or a monotone function of that mean."""
    return hasattr(statistic, "row_values")


def is_root(statistic: Statistic) -> bool:
    """Whether the statistic is the square root of a mean of one value per row."""
    return averages_rows(statistic) and getattr(statistic, "link", "identity") == "sqrt"


def is_mean(statistic: Statistic) -> bool:
    """Whether the statistic is the plain mean of one value per row."""
    return averages_rows(statistic) and getattr(statistic, "link", "identity") == "identity"


def is_proportion(statistic: Statistic) -> bool:
    """Whether the statistic is a count of successes over a number of trials."""
    return bool(getattr(statistic, "is_proportion", False))


def has_fixed_trials(statistic: Statistic) -> bool:
    """Whether the statistic is a proportion of all rows."""
    return bool(getattr(statistic, "has_fixed_trials", False))


def quantile_order(statistic: Statistic) -> float | None:
    """Return q if the statistic is the q-quantile of one value per row, else None."""
    if statistic.road == "order" and hasattr(statistic, "q"):
        return float(statistic.q)
    return None


def is_whole_auc(statistic: Statistic) -> bool:
    """Whether the statistic is the whole area under one binary ROC curve."""
    return isinstance(statistic, RocAuc) and statistic.max_fpr is None


def is_binary_auc(statistic: Statistic) -> TypeGuard[RocAuc]:
    """Whether the statistic is the area, whole or partial, under one binary ROC curve."""
    return isinstance(statistic, RocAuc)


def has_exact_law(statistic: Statistic) -> bool:
    """Whether the bootstrap distribution of the statistic can be computed."""
    return averages_rows(statistic) or has_fixed_trials(statistic) or quantile_order(statistic) is not None
