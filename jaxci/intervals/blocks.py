"""Intervals of blocks of rows in time: quantiles of the replicates, as far out as the long-run variance asks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxci.intervals.base import Bounds, Evidence, Tails, normal_steps, open_sides
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.bootstrap import BootstrapMethod
from jaxci.intervals.clustered_proportion import wilson_cluster
from jaxci.intervals.delta import student_steps
from jaxci.intervals.proportion import ProportionMethod, Wilson
from jaxci.intervals.unseen import reaching_away
from jaxci.records import record
from jaxci.resampling.laws import BootstrapDistribution
from jaxci.special import expit, logit, namespace


class Dependence(NamedTuple):
    """How rows depend on each other in their order, as far as a statistic sees it.

    ``effect`` (...) is the long-run variance of the statistic over that of independent rows, ``degrees`` (...) its
    degrees of freedom, and ``ratio`` (...) the long-run variance's root over that which blocks of the drawn length
    show. ``degrees_of_variance`` (...) are the fewer of both variances, where few rows decide. ``steep`` (...) says
    that rows follow each other so closely that the long-run variance is hardly known.
    """

    effect: Any
    degrees: Any
    ratio: Any
    degrees_of_variance: Any
    steep: Any = False


@record
class BlockT(BootstrapMethod):
    """Student's interval of the long-run variance, of the shape of the replicates drawn in blocks.

    Blocks show too little of what lies further apart than they are long, and their variance is itself an estimate.
    Distances of the quantiles of the replicates from their median are multiplied by what the variance lacks, on the
    scale on which the range of the statistic has no ends, and by Student's quantile over the normal one.

    The long-run variance is that of the derivatives of the statistic in the weights of the rows: of what a row does not
    owe to the one before (slope with Kendall's correction, at most .97 [2]_), and to one further back that stands out,
    or to the two before where rows go in cycles [3]_, by the squares of the first ``.4 n^(2/3)`` cosine waves [1]_. It
    is a quarter of what blocks show at least, and all of that where blocks are longer than these waves, and in smooth
    series, whose slopes sum to more than .97. These are its degrees of freedom, fewer where few rows decide, by the
    kurtosis of the derivatives (:func:`~jaxci.intervals.kurtosis.spread`). Of a range with one end, of which a wrong
    variance multiplies the other, the variance is n/4 times that of independent rows at most, and its degrees of
    freedom are 3 at least. A season that stays the same is taken out of all this, and adds the variance of its own mean
    (:mod:`jaxci.inference.seasons`). Differences of areas and of metrics of labels reach further away from 0, as rows
    on which models differ would have come together (:mod:`jaxci.intervals.unseen`).

    Asymptotic in the number of rows. Of means and medians of autoregressions it covers 93% to 97% with slopes up to .6,
    from 100 rows on, and 89% to 95% at .9; less of areas under curves near 1, as no resample holds a mistake that was
    not seen. It covers less where what is asked for changes slowly beside how long it was seen, above all below noise
    that hides it, and less of spreads and tails (``docs/time.md``).

    References
    ----------
    .. [1] Lazarus, Lewis, Stock & Watson (2018), HAR inference: recommendations for practice, Journal of Business &
       Economic Statistics 36, 541-559, equations (4) and (10).
    .. [2] Andrews & Monahan (1992), An improved heteroskedasticity and autocorrelation consistent covariance matrix
       estimator, Econometrica 60, 953-966.
    .. [3] Shaman & Stine (1988), The bias of autoregressive coefficient estimators, Journal of the American Statistical
       Association 83, 842-848.
    """

    name = "block_t"
    needs = frozenset({"replicates", "dependence", "unseen"})
    requires_blocks = True

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the stretched quantiles."""
        assert evidence.distribution is not None
        known: Dependence = evidence.dependence
        found = Bounds(*_stretched(evidence.distribution, evidence, known.degrees_of_variance, tails))
        if evidence.unseen is not None:  # as many rows as count as one would have come together
            together = evidence.unseen * evidence.xp.maximum(known.effect, 1.0)
            found = reaching_away(found, evidence.estimate, together, tails)
            found = Bounds(*(evidence.xp.clip(end, *evidence.statistic.bounds) for end in found))
        return open_sides(*found, tails, evidence.statistic.bounds)


@record
class BlockBayesian(ProperBayesian):
    """The proper Bayesian bootstrap of blocks: a resample may hold what was not seen, and as much as comes at once.

    To the rows that are drawn in blocks come the pseudo-rows of :class:`ProperBayesian`. Each stands for as many rows
    as count as one, which the long-run variance tells: a mistake that was not seen would have come with its neighbours.
    The distances of the quantiles from the median are stretched as in :class:`BlockT`. Where no row tells how they
    depend on each other n^(1/3) neighbours count as one.

    Asymptotically the interval of :class:`BlockT`. In 135 designs of 30 to 400 rows with slopes up to .9, good models
    and rare classes, it covers 86% to 100%, and percentiles 6% to 95% (``docs/time.md``).
    """

    name = "block_bayesian"
    needs = frozenset({"posterior", "dependence"})
    requires_blocks = True

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the stretched quantiles; a tail below one half leaves the estimate within the interval."""
        assert evidence.posterior is not None
        stretched = _stretched(evidence.posterior, evidence, evidence.dependence.degrees, tails)
        return self.around(evidence, Bounds(*stretched), tails)


@record
class BlockWilson(ProportionMethod):
    """Wilson's interval of as many independent rows as vary as much in the long run, with Student's quantile.

    No more rows than there are; how much they vary is told by the long-run variance of :class:`BlockT`. Where all
    agree, nothing tells how they depend on each other: then n^(1/3) neighbours count as one.

    Asymptotic in the number of rows. Of shares of .68 and .95 of autoregressions it covers 94% to 100% with slopes
    up to .6, from 100 rows on, and 88% to 98% at .9; less where they change more slowly (``docs/time.md``).
    """

    name = "block_wilson"
    needs = frozenset({"count", "nobs", "dependence"})
    takes = frozenset()
    requires_blocks = True

    def of_share(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Return (low, high) of the proportion; the range where there are no trials."""
        effect, degrees, *_ = evidence.dependence
        xp, tried = evidence.xp, evidence.nobs > 0
        size = xp.where(tried, evidence.nobs / xp.maximum(effect, 1.0), 1.0)
        share = evidence.count / xp.where(tried, evidence.nobs, 1.0)
        low, high = wilson_cluster(share, size, degrees, tails)
        return Bounds(xp.where(tried, low, 0.0), xp.where(tried, high, 1.0))

    def from_counts(self, count: ArrayLike, nobs: ArrayLike, tails: Tails) -> Bounds:
        """Return (low, high) of independent rows."""
        return Wilson().from_counts(count, nobs, tails)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say what was taken for granted where all rows agree."""
        if np.all((evidence.count > 0) & (evidence.count < evidence.nobs)):
            return ()
        taken = f"{float(evidence.dependence.effect[0]):.2g} neighbours count as one"
        return (f"all rows agree, so how they depend on each other is unknown: {taken}",)


def _stretched(law: BootstrapDistribution, evidence: Evidence, degrees: Any, tails: Tails) -> tuple[Any, Any]:
    """Return the quantiles of ``law`` at the tails, as far from its median as the long-run variance asks."""
    ratio, xp, ends = evidence.dependence.ratio, evidence.xp, evidence.statistic.bounds
    median = law.quantile(0.5)
    opened = _opened(median, ends)
    inside = xp.isfinite(opened)
    middle = xp.where(inside, opened, 0.0)

    def bound(quantile: Any, step: Any, normal: Any) -> Any:
        reach = xp.where(normal == 0, 1.0, step / xp.where(normal == 0, 1.0, normal))
        apart = xp.where(quantile == median, 0.0, _opened(quantile, ends) - middle)
        return xp.where(inside, _closed(middle + ratio * reach * apart, ends), quantile)

    steps = zip(student_steps(degrees, tails), normal_steps(tails), strict=True)
    quantiles = law.quantile(tails.lower), law.quantile(1 - tails.upper)
    low, high = (bound(q, *both) for q, both in zip(quantiles, steps, strict=True))
    return low, high


def _opened(x: Any, ends: tuple[float, float]) -> Any:
    """Map a range to the whole line: by a logit, or a logarithm where it has one end."""
    low, high = ends
    xp = namespace(x)
    with np.errstate(divide="ignore"):
        if math.isfinite(low) and math.isfinite(high):
            return logit((x - low) / (high - low))
        if math.isfinite(low):
            return xp.log(x - low)
        return -xp.log(high - x) if math.isfinite(high) else x


def _closed(x: Any, ends: tuple[float, float]) -> Any:
    """Return what :func:`_opened` maps to ``x``."""
    low, high = ends
    xp = namespace(x)
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) * expit(x)
    if math.isfinite(low):
        return low + xp.exp(x)
    return high - xp.exp(-x) if math.isfinite(high) else x
