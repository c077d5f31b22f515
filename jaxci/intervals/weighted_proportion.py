"""Wilson's interval for a proportion of rows that are weighted by importance."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxci.intervals.base import Bounds, Tails, normal_steps, open_sides
from jaxci.special import namespace

PRIOR_ROWS = 0.5
"""Rows that weigh as those of their classes do, which join the successes and the failures that were seen."""

SPREAD_ROWS = 30.0
"""Rows of which one account takes the weights to be spread as those of their classes are, whatever their mean.

A few rows of a heavy tail show too little of it. Where a twentieth of the rows holds half of the weight, intervals of
95% cover .90 at worst with 20 such rows and .92 with 30. More would widen those where failures weigh less.
"""

STEPS = 60
"""Halvings of [0, 1] that find a bound."""


class Weighing(NamedTuple):
    """How the rows of a proportion weigh: means over the rows that succeed, and over those that fail.

    The last axis runs over two accounts: the rows that were seen with :data:`PRIOR_ROWS` more, and with
    :data:`SPREAD_ROWS` more, which are spread as those of their classes. Of many rows both say what was seen, whether
    or not weights go with success.

    Attributes
    ----------
    rows, total : (...) arrays
        Number of rows, and the sum of their weights.
    success, failure : (3, ..., 2) arrays
        Means of the weights, of their squares and of their cubes.
    """

    rows: Any
    total: Any
    success: Any
    failure: Any

    @classmethod
    def of(cls, seen: Any, potential: Any, whole: Any) -> Weighing:
        """Read it off sums.

        Parameters
        ----------
        seen : (4, 2, ...) array
            Number of rows, sums of weights, of their squares and of their cubes: of successes, and of trials.
        potential : (4, 2, ...) array
            The same of rows that could be either.
        whole : (4,) array
            The same of all rows, where none could be one of them.
        """
        xp = namespace(seen)

        def means(seen: Any, potential: Any) -> Any:
            there = potential[0] > 0
            of_class = [
                xp.where(there, sums / xp.where(there, potential[0], 1.0), all_rows / whole[0])
                for sums, all_rows in zip(potential[1:], whole[1:], strict=True)
            ]

            def joined(scale: Any, rows: float) -> Any:
                return [
                    (sums + rows * scale**power * mean) / (seen[0] + rows)
                    for power, (sums, mean) in enumerate(zip(seen[1:], of_class, strict=True), 1)
                ]

            few, more = joined(1.0, PRIOR_ROWS), joined(joined(1.0, SPREAD_ROWS)[0] / of_class[0], SPREAD_ROWS)
            return xp.stack([xp.stack(pair, axis=-1) for pair in zip(few, more, strict=True)])

        success = means(seen[:, 0], potential[:, 0])
        failure = means(seen[:, 1] - seen[:, 0], potential[:, 1] - potential[:, 0])
        return cls(seen[0, 1], seen[1, 1], success, failure)

    def reach(self, share: Any, z: Any) -> Any:
        """Return how far above a proportion (...) the weight that succeeds may lie, or below it where z is negative.

        It is ``z + g / 6 (z^2 - 1)`` standard errors, by the account that says more: the expansion of Cornish and
        Fisher, where g is the skewness that differences of weights among successes, and among failures, add to that of
        a count. With means a, b of the weights of successes and failures, A, B of their squares and C, D of their
        cubes, n rows of which a share p of the weight succeeds weigh ``w = n / (p / a + (1 - p) / b)``; their weighted
        successes less p of their weight have the variance ``w p (1 - p) ((1 - p) A / a + p B / b)`` and the third
        moment ``w p (1 - p) ((1 - p)^2 C / a - p^2 D / b)``, ``C = A^2 / a`` and ``D = B^2 / b`` where weights do not
        differ. At least half of z and at most twice of it.
        """
        xp, p = namespace(share, self.total), share[..., None]
        weight = self.rows[..., None] / (p / self.success[0] + (1 - p) / self.failure[0])
        alike, more = zip(*(_unevenness(weights) for weights in (self.success, self.failure)), strict=True)
        spread = (1 - p) * alike[0] + p * alike[1]
        varies = (p > 0) & (p < 1) & (spread > 0)
        third = ((1 - p) * alike[0]) ** 2 * more[0] - (p * alike[1]) ** 2 * more[1]
        variance = xp.where(varies, weight * p * (1 - p) * spread, 1.0)
        skewness = xp.where(varies, weight * p * (1 - p) * third / variance**1.5, 0.0)
        steps = xp.clip(abs(z) + xp.sign(z) * skewness / 6 * (z**2 - 1), abs(z) / 2, 2 * abs(z))
        found = xp.where(varies, steps * xp.sqrt(variance) / self.total[..., None], 0.0)
        return xp.where(xp.all(spread > 0, axis=-1), xp.max(found, axis=-1), xp.inf)


def _unevenness(weights: Any) -> tuple[Any, Any]:
    """Return the weight of rows alike that vary as much as some of weights whose moments (3, ...) are given.

    Beside it, how much larger the mean cube is than theirs, as a share of theirs.
    """
    alike = weights[1] / weights[0]
    return alike, weights[2] / weights[1] / alike - 1


def rows_in_effect(successes: Any, trials: Any, square_successes: Any, square_trials: Any) -> Any:
    """Return how many rows of equal weight vary as much as the rows seen do: of a linearized proportion.

    With sums of weights s of t, their share p, and sums of squared weights S of successes and F of failures,
    ``p (1 - p) t^2 / (S (1 - p)^2 + F p^2)``, and ``t^2 / (S + F)`` where all rows agree; 0 where there are none.

    References
    ----------
    .. [1] Kish (1965), Survey Sampling, sections 8.2 and 11.7.
    """
    xp = namespace(trials)
    tried = trials > 0
    whole = xp.where(tried, trials, 1.0)
    share, failures = successes / whole, square_trials - square_successes
    spread = square_successes * (1 - share) ** 2 + failures * share**2
    varies = (share * (1 - share) > 0) & (spread > 0)
    size = share * (1 - share) * whole**2 / xp.where(varies, spread, 1.0)
    alike = whole**2 / xp.where(tried, square_trials, 1.0)
    return xp.where(tried, xp.where(varies, size, alike), 0.0)


def weighted_wilson(share: Any, weighing: Weighing, tails: Tails) -> Bounds:
    """Return the proportions that the score test of weighted rows does not reject.

    The share of the weight that succeeds is as far from the ends as the score test with corrected skewness lets it be
    (:meth:`Weighing.reach`), so that failures that were not seen weigh what failures would.

    Parameters
    ----------
    share : (...) array
        The weighted proportion.
    weighing : Weighing
        Of its rows.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : (...) arrays
        Bounds in [0, 1]; Wilson's where all rows weigh the same.

    Notes
    -----
    Asymptotic. ``benchmarks/weighted_labels.py`` simulates it.

    References
    ----------
    .. [1] Wilson (1927), JASA 22, 209-212.
    .. [2] Kish (1965), Survey Sampling, section 11.7, on weights that are unrelated to what is measured.
    .. [3] Gart & Nam (1988), Approximate interval estimation of the ratio of binomial parameters: a review and
       corrections for skewness, Biometrics 44, 323-338.
    """
    xp = namespace(share)
    down, up = (xp.full(xp.shape(share), step) for step in normal_steps(tails))
    z, inner = xp.stack([down, -up]), xp.stack([share, share])
    outer = xp.where(z > 0, 0.0, 1.0)
    for _ in range(STEPS):  # of both ends at once
        middle = (inner + outer) / 2
        kept = abs(middle - share) <= weighing.reach(middle, z[..., None])
        inner, outer = xp.where(kept, middle, inner), xp.where(kept, outer, middle)
    low, high = (inner + outer) / 2
    return open_sides(xp.where(share <= 0, 0.0, low), xp.where(share >= 1, 1.0, high), tails, (0.0, 1.0))
