"""Wilson's interval for a proportion of rows that are weighted by importance."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxci.intervals.base import Bounds, Tails, normal_steps, open_sides
from jaxci.special import namespace

PRIOR_ROWS = 0.5
"""Rows that weigh as those of their classes do, which join the successes and the failures that were seen."""

STEPS = 60
"""Halvings of [0, 1] that find a bound."""


class Weighing(NamedTuple):
    """How the rows of a proportion weigh: means over the rows that succeed, and over those that fail.

    The last axis runs over two accounts: the rows that were seen with :data:`PRIOR_ROWS` more, and the classes that
    they come of, whose rows weigh the same whether they succeed or fail.

    Attributes
    ----------
    rows, total : (...) arrays
        Number of rows, and the sum of their weights.
    success, success_square, failure, failure_square : (..., 2) arrays
        Means of the weights and of their squares.
    """

    rows: Any
    total: Any
    success: Any
    success_square: Any
    failure: Any
    failure_square: Any

    @classmethod
    def of(cls, seen: Any, potential: Any, whole: Any) -> Weighing:
        """Read it off sums.

        Parameters
        ----------
        seen : (3, 2, ...) array
            Number of rows, sum of weights and of their squares: of successes, and of trials.
        potential : (3, 2, ...) array
            The same of rows that could be either.
        whole : (3,) array
            The same of all rows, where none could be one of them.
        """
        xp = namespace(seen)

        def means(seen: Any, potential: Any) -> tuple[Any, Any]:
            there = potential[0] > 0
            of_class = [
                xp.where(there, sums / xp.where(there, potential[0], 1.0), all_rows / whole[0])
                for sums, all_rows in zip(potential[1:], whole[1:], strict=True)
            ]
            joined = [
                (sums + PRIOR_ROWS * mean) / (seen[0] + PRIOR_ROWS)
                for sums, mean in zip(seen[1:], of_class, strict=True)
            ]
            first, second = (xp.stack(pair, axis=-1) for pair in zip(joined, of_class, strict=True))
            return first, second

        success = means(seen[:, 0], potential[:, 0])
        failure = means(seen[:, 1] - seen[:, 0], potential[:, 1] - potential[:, 0])
        return cls(seen[0, 1], seen[1, 1], *success, *failure)

    def size(self, share: Any) -> Any:
        """Return how many rows of equal weight would tell as much of a proportion (...), by the less certain account.

        With means a, b of the weights of successes and failures, and A, B of their squares, n rows of which a share p
        of the weight succeeds weigh ``w = n / (p / a + (1 - p) / b)``, and the variance of their weighted successes
        less p of their weight is ``w p (1 - p) ((1 - p) A / a + p B / b)``.
        """
        xp, p = namespace(share, self.total), share[..., None]
        weight = self.rows[..., None] / (p / self.success + (1 - p) / self.failure)
        spread = weight * ((1 - p) * self.success_square / self.success + p * self.failure_square / self.failure)
        spread = xp.max(spread, axis=-1)
        return xp.where(spread > 0, self.total**2 / xp.where(spread > 0, spread, 1.0), 0.0)


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

    The share of the weight that succeeds is ``p +- z sqrt(p (1 - p) / n(p))`` at its ends, with n(p) rows in effect
    (:meth:`Weighing.size`), so that failures that were not seen weigh what failures would.

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
    """
    xp = namespace(share)

    def end(z: Any, sign: float) -> Any:
        outside = xp.asarray(0.0 if sign * z < 0 else 1.0)
        inner, outer = share, xp.broadcast_to(outside, share.shape)
        for _ in range(STEPS):
            middle = (inner + outer) / 2
            apart = abs(middle - share) * xp.sqrt(weighing.size(middle))
            kept = apart <= abs(z) * xp.sqrt(middle * (1 - middle))
            inner, outer = xp.where(kept, middle, inner), xp.where(kept, outer, middle)
        return (inner + outer) / 2

    down, up = normal_steps(tails)
    low, high = end(down, -1.0), end(up, 1.0)
    return open_sides(xp.where(share <= 0, 0.0, low), xp.where(share >= 1, 1.0, high), tails, (0.0, 1.0))
