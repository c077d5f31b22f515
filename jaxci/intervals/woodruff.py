"""Woodruff's interval: quantiles of rows of any design, by the share of the rows below."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from jaxci.checks import check_choice
from jaxci.intervals.base import Bounds, Evidence, Method, NoInterval, Tails, open_sides
from jaxci.intervals.capabilities import quantile_terms
from jaxci.intervals.delta import student_steps
from jaxci.records import record, static
from jaxci.special import expit, logit, namespace
from jaxci.statistics.base import Statistic

ROUNDING = 1e-12
"""Shares apart by less are equal."""

SCALES = ("natural", "logit")
ENDS = ("range", "values")


def _moved(share: Any, apart: Any, scale: str) -> Any:
    """Return ``share`` moved by ``apart`` (...), on the logit scale by as much of that as it is at the share."""
    if scale == "natural":
        return share + apart
    inside = (share > 0) & (share < 1)
    xp, at = namespace(apart), namespace(share, apart).where(inside, share, 0.5)
    return xp.where(inside, expit(logit(at) + apart / (at * (1 - at))), share + apart)


class Place(NamedTuple):
    """Where a quantile lies: ``values`` (..., n) ascending, and the ``share`` (..., n) of the weight up to each."""

    values: Any
    share: Any

    def first_at(self, share: Any, ends: str = "range") -> Any:
        """Return the first value (...) up to which at least ``share`` (...) of the weight lies.

        Where all have so much it is the first, or with ``ends`` at the range of the statistic -inf.
        """
        found = self._value(share - ROUNDING, "left")
        return found if ends == "values" else namespace(found).where(share <= 0, -np.inf, found)

    def first_above(self, share: Any, ends: str = "range") -> Any:
        """Return the first value (...) up to which more than ``share`` (...) of the weight lies.

        Where none has so much it is the last, or with ``ends`` at the range of the statistic inf.
        """
        found = self._value(share + ROUNDING, "right")
        return found if ends == "values" else namespace(found).where(share >= 1, np.inf, found)

    def _value(self, share: Any, side: Literal["left", "right"]) -> Any:
        xp, n = namespace(self.share), self.values.shape[-1]
        if xp is np and self.share.size == n:  # one data set on the host, and any number of shares
            place = np.searchsorted(self.share.reshape(-1), share + np.zeros(self.share.shape[:-1]), side)
            return self.values.reshape(-1)[np.minimum(place, n - 1)]
        if xp is np:
            flat = self.share.reshape(-1, n), np.broadcast_to(share, self.share.shape[:-1]).ravel()
            place = np.array([np.searchsorted(*one, side) for one in zip(*flat, strict=True)])
            place = place.reshape(self.share.shape[:-1])
        else:
            at = xp.asarray(share)[..., None]
            before = self.share < at if side == "left" else self.share <= at
            place = xp.sum(before, axis=-1)
        return xp.take_along_axis(self.values, xp.minimum(place, n - 1)[..., None], axis=-1)[..., 0]

    def at(self, share: Any) -> Any:
        """Return the quantile (...), halfway between two values that share the place."""
        return (self.first_at(share, "values") + self.first_above(share, "values")) / 2


@record
class Places:
    """What is known of the quantiles whose sum, by ``factors`` (K,), a statistic is.

    The ``places`` of K quantiles of the ``shares`` (K,); the standard ``errors`` (..., K) of the share of the weight
    below each, their ``correlations`` (..., K, K), and how many ``degrees`` (...) of freedom they have. Of two models
    the intervals are ``even``: as far below as above, so that models that err alike differ by nothing.
    """

    places: tuple[Place, ...]
    factors: tuple[float, ...] = static()
    even: bool = static()
    shares: tuple[Any, ...]
    errors: Any
    correlations: Any
    degrees: Any

    def distances(self, step: Any, scale: str = "natural", ends: str = "range") -> tuple[Any, Any]:
        """Return how far ``step`` (...) standard errors of shares lie below and above the sum of the quantiles (...).

        Zou's combination (2008) of the intervals of its terms: the root of the sum of squares, with their correlations.
        """
        xp, below, above = namespace(self.errors), [], []
        for number, (place, factor, q) in enumerate(zip(self.places, self.factors, self.shares, strict=True)):
            apart, middle = step * self.errors[..., number], place.at(q)
            low = abs(factor) * (middle - place.first_at(_moved(q, -apart, scale), ends))
            high = abs(factor) * (place.first_above(_moved(q, apart, scale), ends) - middle)
            if self.even:
                low = high = (low + high) / 2
            low, high = (low, high) if factor > 0 else (high, low)
            below.append(low)
            above.append(high)
        signs = np.sign(self.factors)
        correlations = self.correlations * signs[:, None] * signs

        def together(terms: list[Any]) -> Any:
            distances = xp.stack(terms, axis=-1)
            known = xp.where(xp.isinf(distances), 0.0, distances)
            squares = xp.einsum("...i,...ij,...j->...", known, correlations, known)
            squares = xp.where(squares > ROUNDING * xp.sum(known**2, axis=-1), squares, 0.0)
            found = xp.where(xp.isinf(distances).any(axis=-1), np.inf, xp.sqrt(squares))
            return xp.sign(step) * found

        return together(below), together(above)

    @property
    def standard_error(self) -> Any:
        """Half the distance (...) between the ends that lie one standard error of the shares away."""
        below, above = self.distances(namespace(self.errors).ones_like(self.degrees), "logit", "values")
        return (below + above) / 2


@record
class Woodruff(Method):
    """Interval of a quantile between the values at which the share below is a step of standard errors away.

    With F the weighted distribution and s the standard error of the share of the weight below the estimate, from
    ``inf{x: F(x) >= q - t s}`` to ``inf{x: F(x) > q + t s}``: the values of which a test of "a share q lies below" does
    not reject. s is that of the design: weights, strata and clusters. Sums of quantiles, such as the interquartile
    range, and differences of two models', join the intervals of their terms by the root of the sum of squares, with the
    correlations of the shares (Zou 2008).

    No density is estimated and nothing is resampled, so it costs one sort: the interval for very many rows, and for
    clusters, of which resamples tell too little where they are few.

    Attributes
    ----------
    scale : {"natural", "logit"}
        Scale on which the share is moved. On the natural one it may leave (0, 1), of extreme quantiles and of few rows
        or clusters; on the logit scale it does not, but few rows are covered too seldom by that.
    ends : {"range", "values"}
        Where an interval ends on the side on which the share leaves (0, 1): with the range of the statistic, or with
        the last of the values. With the values it covers as often as any interval among these can.

    Notes
    -----
    Asymptotic; of independent rows of equal weight :class:`~jaxci.intervals.quantile.OrderStatistic` holds its level at
    every n. A share's error is ``sqrt(q (1 - q) D / n)``, with the design effect D of the places of the rows, in which
    ties count in part; clusters are spread, and have degrees of freedom, as of
    :class:`~jaxci.intervals.kurtosis.KurtosisT`. In 5 to 60 clusters medians, interquartile lengths and differences of
    median errors are covered 90% to 100% on the logit scale, by percentiles 76% to 98%
    (``benchmarks/few_clusters.py``).

    References
    ----------
    .. [1] Woodruff (1952), Confidence intervals for medians and other position measures, Journal of the American
       Statistical Association 47, 635-646.
    .. [2] Francisco & Fuller (1991), Quantile estimation with a complex survey design, Annals of Statistics 19,
       454-469.
    .. [3] Zou (2008), On the estimation of additive interaction by use of the four-by-two table and beyond, American
       Journal of Epidemiology 168, 212-224.
    """

    scale: str = static(default="natural")
    ends: str = static(default="range")

    name = "woodruff"
    of_differences = True
    reads_counts = True
    tails_at_once = 64
    needs = frozenset({"places"})
    takes = frozenset({"groups", "strata", "sample_weight"})

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, SCALES)
        check_choice("ends", self.ends, ENDS)

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is no sum of quantiles."""
        if quantile_terms(statistic):
            return None
        return f"{self.name!r} is for quantiles, their ranges, and differences of these"

    def critical(self, statistic: Statistic, n: int, tails: Tails) -> Any:
        """Refuse a single unit."""
        if n < 2:
            raise NoInterval(f"method {self.name!r} needs at least 2 rows or clusters; got {n}")
        return ()

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Bounds from ``evidence.places``."""
        found: Places = evidence.places
        down, up = (step * evidence.xp.ones_like(found.errors[..., 0]) for step in student_steps(found.degrees, tails))
        if len(found.places) == 1:
            ((place,), (q,)), error = (found.places, found.shares), found.errors[..., 0]
            low = place.first_at(_moved(q, -down * error, self.scale), self.ends)
            high = place.first_above(_moved(q, up * error, self.scale), self.ends)
            low, high = evidence.xp.minimum(low, evidence.estimate), evidence.xp.maximum(high, evidence.estimate)
        else:
            low = evidence.estimate - found.distances(down, self.scale, self.ends)[0]
            high = evidence.estimate + found.distances(up, self.scale, self.ends)[1]
        low, high = (evidence.xp.where(evidence.xp.isnan(evidence.estimate), np.nan, end) for end in (low, high))
        return open_sides(low, high, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that an end is that of the range, for want of values beyond the quantile."""
        if not (np.isinf(bounds.low) | np.isinf(bounds.high)).any():
            return ()
        return (
            f"too few rows tell what lies beyond the quantile, so that the {self.name!r} interval ends where the range "
            "does; ends='values' ends at the last value",
        )
