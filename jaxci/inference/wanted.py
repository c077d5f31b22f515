"""What the interval methods of one statistic read, together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jaxci.intervals.base import Method, Nesting, Prior
from jaxci.resampling.exact_order import QuantileWeights, RankWeights, quantile_weights
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import QuantileStatistic


class Wanted(NamedTuple):
    """What the methods of one statistic read; hashable, so that it is static under ``jit``."""

    needs: frozenset[str]
    influence: bool
    jackknife: bool
    priors: tuple[Prior, ...] = ()
    nestings: tuple[Nesting, ...] = ()
    leverage: bool = False

    @classmethod
    def by(cls, methods: Iterable[Method], statistic: Statistic) -> Wanted:
        """Return what ``methods`` read of ``statistic``, together."""
        methods = list(methods)
        needs: frozenset[str] = frozenset().union(*(method.needs for method in methods))
        left_out = [method.by_jackknife or not statistic.smooth for method in methods if "acceleration" in method.needs]
        errors = any(method.by_jackknife for method in methods if "standard_error" in method.needs)
        priors = dict.fromkeys(method.prior for method in methods if method.prior is not None)
        nestings = dict.fromkeys(method.nesting for method in methods if method.nesting is not None)
        leverage = any(method.by_leverage for method in methods)
        jackknife = any(left_out) or errors
        return cls(needs, not all(left_out), jackknife, tuple(priors), tuple(nestings), leverage)

    def replicates_of(self, statistic: Statistic, layout: Layout) -> bool:
        """Whether a bank is read: a quantile that is one order statistic has a law over ranks instead."""
        return bool(self.needs & {"replicates", "pivots"}) and not is_order_statistic(statistic, layout)

    def ranks_of(self, statistic: Statistic, layout: Layout) -> QuantileWeights | RankWeights | None:
        """Return the law of a quantile over the ranks of independent values, where it is read (host)."""
        law = "law" in self.needs or ("replicates" in self.needs and is_order_statistic(statistic, layout))
        if not (law and isinstance(statistic, QuantileStatistic)):
            return None
        weights = quantile_weights(layout.n, statistic.probability)
        return weights.of_rank(layout.n) if weights.is_rank else weights


def is_order_statistic(statistic: Statistic, layout: Layout) -> bool:
    """Whether the statistic of independent values, and of every resample, is one of them in ascending order (host)."""
    if not (layout.plain and isinstance(statistic, QuantileStatistic)):
        return False
    return quantile_weights(layout.n, statistic.probability).is_rank
