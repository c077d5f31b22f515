"""The proper Bayesian bootstrap: a resample may hold what was not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxci.intervals.base import Bounds, Evidence, Method, Prior, Tails, open_sides
from jaxci.intervals.delta import delta_interval
from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import is_mean_between_ends

AT_END, NO_TAIL = 1e-7, 1e-300
"""How far from an end of its range, as a share of it, a mean is taken to be the end; what a tail of 0 counts as."""


@record
class ProperBayesian(Method):
    """Quantiles of the statistic under random weights of the rows and of a few rows that were not seen.

    Rows weigh Dirichlet(1, ..., 1), as in Rubin's Bayesian bootstrap, and pseudo-rows at the extremes of the statistic
    share in it with ``mass`` each: a resample may then hold an error that the data do not show, and an interval has
    width where nothing went wrong. Pseudo-rows are

    - for a mean of values (or its root), one at each end: ``reach`` ranges of the values beyond the extreme ones, or
      ``bounded_reach`` where values have a bound, at which they are cut; the bounds where values do not vary; of log
      losses and Brier scores the high one is what rows would lose, on average, were they of another class, if more;
    - for a confusion table of two classes, or of one class against the rest, one in each cell; of more classes, half a
      row of each that is right and half a row that is wrong, spread over the others as all predictions are (of classes
      in an order, whose kappa is weighted, at the farthest), or, for
      precision, of each as it is predicted, spread as all rows are; for the share of all rows that are right, one right
      and one wrong;
    - for areas under ROC curves and average precision, 2 / K^2 of a row of each class, ranked worst.

    With ``groups`` a pseudo-row stands for a cluster of mean size. Its rows go along as those of the clusters that were
    seen do: of a table a share of them are right, or wrong, and the others as all rows of their class are; the mean of
    a cluster that is mistaken lies as much nearer to that of all. The share is 1 where clusters are of one mind, no row
    is wrong, or rows have weights, and the smaller the more the rows of a cluster differ. With ``strata`` the units of
    each keep their weight together, and pseudo-rows come to all. Of more than two classes those without a row gain
    none. A proportion of x among n independent rows, whatever the number of classes, has the law
    Beta(x + mass, n - x + mass), and nothing is drawn. Where all values of a mean lie at an end of their range, the
    interval reaches at least as far as the mid-p interval of as many trials (or clusters) that all went alike: no law
    within the range varies more than one of its ends alone.

    Parameters
    ----------
    mass : float
        Weight of a pseudo-row, in rows.
    reach, bounded_reach : float
        How far the pseudo-rows of a mean lie beyond the values, in ranges of these.
    at_least_normal : bool
        Whether ends reach at least as far as those of the delta method, which a mass above 1/4 may shift them past.

    Notes
    -----
    Asymptotically the percentile bootstrap's interval. Mass 1/4 is near nominal for confusion tables, ranks, bounded
    means and few clusters, where classes have some 5 rows; see ``docs/proper_bayesian.md`` for what was measured.
    The standard error of a mean is the usual one, that of others the deviation of the weighted
    statistic.

    References
    ----------
    .. [1] Muliere & Secchi (1996), Bayesian nonparametric predictive inference and bootstrap techniques, Annals of
       the Institute of Statistical Mathematics 48, 663-673.
    .. [2] Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, 130-134.
    """

    name = "proper_bayesian"

    mass: float = static(default=0.25)
    reach: float = static(default=1.0)
    bounded_reach: float = static(default=2.0)
    at_least_normal: bool = static(default=False)

    def __post_init__(self) -> None:
        for name, least in (("mass", "above 0"), ("reach", "0 or more"), ("bounded_reach", "0 or more")):
            value = getattr(self, name)
            if not (value > 0 or (value == 0 and name != "mass")) or value == float("inf"):
                raise ValueError(f"{name} must be a finite number {least}; got {value!r}")

    @property
    def needs(self) -> frozenset[str]:
        """The posterior, and the standard error where ends reach as far as that does."""
        return frozenset({"posterior", "standard_error"} if self.at_least_normal else {"posterior"})

    @property
    def prior(self) -> Prior:
        """What it adds to the data."""
        return Prior(self.mass, self.reach, self.bounded_reach)

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse statistics that do not say what the unseen could be."""
        if statistic.has_extremes:
            return None
        known = "a mean of row values, a confusion table, the area under a whole ROC curve, average precision"
        return f"{self.name!r} needs known extremes ({known}); {type(statistic).__name__} with these settings has none"

    def bounds(self, evidence: Evidence, tails: Tails, critical: Any) -> Bounds:
        """Return the quantiles at the tails; a tail below one half leaves the estimate within the interval."""
        law = evidence.posterior
        assert law is not None
        found = Bounds(law.quantile(tails.lower), law.quantile(1 - tails.upper))
        if is_mean_between_ends(evidence.statistic):
            found = _beyond_ends(evidence, found, tails)
        if self.at_least_normal:
            xp, normal = evidence.xp, delta_interval(evidence.estimate, evidence.standard_error, tails)
            found = Bounds(xp.minimum(found.low, normal[0]), xp.maximum(found.high, normal[1]))
        return self.around(evidence, found, tails)

    @staticmethod
    def around(evidence: Evidence, bounds: Bounds, tails: Tails) -> Bounds:
        """Return bounds that leave the estimate within, where tails are below one half."""
        (low, high), estimate, xp = bounds, evidence.estimate, evidence.xp
        low = xp.where((tails.lower < 0.5) & (low > estimate), estimate, low)
        high = xp.where((tails.upper < 0.5) & (high < estimate), estimate, high)
        return open_sides(low, high, tails, evidence.statistic.bounds)

    def remarks(self, evidence: Evidence, bounds: Bounds) -> tuple[str, ...]:
        """Say that nothing of what the interval allows for was seen, where it has a width."""
        bottom, top = evidence.statistic.bounds
        estimate = float(evidence.estimate[0])
        if bottom < estimate < top or np.all(bounds[0] == bounds[1]):
            return ()
        rests = f"n, and on the {self.mass:g} rows of each kind that {self.name!r} adds"
        if is_mean_between_ends(evidence.statistic):
            rests = "n alone"
        return (f"the estimate is {estimate:g}, the end of its range: how far the interval reaches rests on {rests}",)


def _beyond_ends(evidence: Evidence, bounds: Bounds, tails: Tails) -> Bounds:
    """Return bounds of means that reach as far as mid-p's where the estimate is an end of the range."""
    (low, high), estimate, xp = bounds, evidence.estimate, evidence.xp
    bottom, top = evidence.statistic.bounds
    near = AT_END * (top - bottom)
    sides = (xp.log(2 * xp.maximum(tail, NO_TAIL)) for tail in (tails.lower, tails.upper))
    down, up = ((bottom - top) * xp.expm1(side / evidence.n) for side in sides)
    low = xp.where((estimate >= top - near) & (tails.lower < 0.5), xp.minimum(low, top - down), low)
    return Bounds(low, xp.where((estimate <= bottom + near) & (tails.upper < 0.5), xp.maximum(high, bottom + up), high))
