"""The iterated bootstrap: resamples of resamples say what levels a percentile interval needs."""

from __future__ import annotations

from typing import Any

from jaxci.checks import check_count
from jaxci.intervals.base import Bounds, Evidence, Nesting, Tails, open_sides
from jaxci.intervals.bootstrap import BootstrapMethod
from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import HostFunction


@record
class Calibrated(BootstrapMethod):
    """Percentile interval at levels that a double bootstrap calibrates, each end by itself.

    Every outer resample of the data is resampled in turn. The share ``u`` of its inner resamples whose statistic lies
    below the estimate on the data is the level at which its percentile bound would end at the estimate, which is the
    truth of the resampled world; the quantiles of ``u`` over the outer resamples at ``tail`` and ``1 - tail`` are the
    levels that would have missed it as often as they should, and the ends are the quantiles of the ordinary replicates
    at these. Inner replicates that equal the estimate count one half, so that metrics that take few values, such as
    shares of rows, have one rule for both ends.

    Parameters
    ----------
    n_outer : int
        Outer resamples B1.
    n_inner : int
        Inner resamples B2 of each. All outer resamples share one bank of inner ones.

    Notes
    -----
    Units (rows, or clusters) are independent, and the statistic smooth in their weights: then coverage errs by O(1/n)
    at each end, where the percentile interval's errs by O(n^-1/2). Levels lie in [0, 1]: where more than a tail of the
    outer resamples have all inner ones on one side of the estimate, as where few rows are wrong, an end is the last
    replicate, whose place rests on their number. Where nothing varies there is no width. Undefined inner replicates are
    left out, and so are outer resamples without a defined one. Strata are refused.

    Cost: B1 B2 evaluations, O(B1 B2 C) for tables of C cells of independent rows and O(B1 B2 n) else. Most of the
    Monte-Carlo error is that of the outer resamples: of 1,000, some 2% of the width at each end.

    References
    ----------
    .. [1] Hall (1986), On the bootstrap and confidence intervals, Annals of Statistics 14, 1431-1452.
    .. [2] Beran (1987), Prepivoting to reduce level error of confidence sets, Biometrika 74, 457-468.
    .. [3] Loh (1987), Calibrating confidence coefficients, Journal of the American Statistical Association 82, 155-162.
    .. [4] DiCiccio & Efron (1996), Bootstrap confidence intervals, Statistical Science 11, 189-228.
    """

    name = "calibrated"
    needs = frozenset({"replicates", "levels"})
    takes = frozenset({"groups", "sample_weight"})

    n_outer: int = static(default=1000)
    n_inner: int = static(default=999)

    def __post_init__(self) -> None:
        for name in ("n_outer", "n_inner"):
            check_count(name, getattr(self, name), 1)

    @property
    def nesting(self) -> Nesting:
        """How many resamples of resamples it reads."""
        return Nesting(self.n_outer, self.n_inner)

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse functions that are called on the host."""
        if isinstance(statistic, HostFunction):
            calls = self.n_outer * self.n_inner
            return f"JAX cannot trace it, and n_outer * n_inner = {calls:,} calls on the host are too many"
        return None

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the quantiles of the replicates at the calibrated levels."""
        law, levels = evidence.distribution, evidence.levels
        assert law is not None
        assert levels is not None
        low, high = (law.quantile(levels.quantile(p)) for p in (tails.lower, 1 - tails.upper))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that an end lies at the last replicate."""
        law = evidence.distribution
        assert law is not None
        sides = zip(("lower", "upper"), bounds, evidence.statistic.bounds, (0.0, 1.0), strict=True)
        last = [side for side, end, limit, p in sides if end == law.quantile(p) and end != limit]
        if not last or law.standard_error[0] == 0:
            return ()
        return (f"no replicate lies beyond the {' and the '.join(last)} end, which may have had to reach further",)
