"""The bootstrap distribution of order statistics and quantiles without resampling.

For the sorted sample ``x_1 <= .. <= x_n`` the k-th smallest of n draws is at most ``x_i``
when at least k draws fall on ``x_1 .. x_i``, so its law is a difference of binomial tails,
that is of Beta distribution functions, over the sorted sample (Efron 1979, section 3). A
quantile that interpolates linearly between two neighbouring order statistics, the median of
an even n among them, follows from their joint law, which falls off like ``exp(-(j - i))``
away from the diagonal: O(sqrt n) pairs carry it at any n.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

OUTSIDE = 1e-13
"""Mass of the order statistic left out beyond each end of the window of indices."""
ROUNDING = 1e-12
"""Slack in cumulative probabilities: p within it of a step counts as reached."""


@dataclasses.dataclass(frozen=True, eq=False)
class DiscreteDistribution:
    """A law with finitely many atoms.

    Attributes
    ----------
    support : (m,) array
        Atoms, strictly increasing.
    probabilities : (m,) array
        Their masses, which sum to one.
    tolerance : float
        Arguments of :meth:`cdf` this close to an atom are taken to be the atom.
    error_bound : float
        Error of a quantile in standard errors: 0, the law is exact to rounding.
    probability_error : float
        Error in probability.
    """

    support: np.ndarray
    probabilities: np.ndarray
    tolerance: float = 0.0
    error_bound: float = 0.0
    probability_error: float = ROUNDING

    @functools.cached_property
    def mean(self) -> float:
        """Mean of the law."""
        return float(np.dot(self.probabilities, self.support))

    @functools.cached_property
    def standard_error(self) -> float:
        """Standard deviation of the law."""
        return math.sqrt(float(np.dot(self.probabilities, (self.support - self.mean) ** 2)))

    @functools.cached_property
    def _cumulative(self) -> np.ndarray:
        return np.concatenate(([0.0], np.cumsum(self.probabilities)))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return ``P(X < x) + P(X = x) / 2``, the mid-distribution function."""
        x = np.asarray(x, dtype=np.float64)
        below = self._cumulative[np.searchsorted(self.support, x - self.tolerance, side="left")]
        through = self._cumulative[np.searchsorted(self.support, x + self.tolerance, side="right")]
        return np.where(np.isnan(x), np.nan, np.minimum(0.5 * (below + through), 1.0))[()]

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """Return the smallest atom x with ``P(X <= x) >= p``, for p in [0, 1].

        Raises
        ------
        ValueError
            If a p is outside [0, 1] or not a number.
        """
        p = np.asarray(p, dtype=np.float64)
        if not np.all((p >= 0.0) & (p <= 1.0)):
            raise ValueError(f"p must be within [0, 1]; got {p}")
        index = np.searchsorted(self._cumulative[1:], p - ROUNDING, side="left")
        return self.support[np.minimum(index, self.support.size - 1)][()]


def order_statistic_distribution(values_sorted: ArrayLike, k: int) -> DiscreteDistribution:
    r"""Return the exact bootstrap distribution of the k-th smallest value.

    .. math:: P(X^*_{(k)} \le x_{(i)}) = P(\mathrm{Binomial}(n, i/n) \ge k) = I_{i/n}(k, n-k+1)

    Parameters
    ----------
    values_sorted : (n,) array_like
        Non-decreasing values; ties are merged into one atom.
    k : int
        Rank, 1 (minimum) to n (maximum).

    Returns
    -------
    DiscreteDistribution
        Without the values that would be reached with probability below 1e-13 on either
        side, which its mean and standard error therefore leave out too.

    Raises
    ------
    ValueError
        If the values are not a sorted vector without NaN, or k is not a rank.

    Notes
    -----
    Cost O(sqrt n) after the check of the order, O(n).

    Examples
    --------
    >>> law = order_statistic_distribution([1.0, 2.0, 4.0], 2)
    >>> [round(float(p) * 27) for p in law.probabilities]
    [7, 13, 7]
    """
    x = _checked(values_sorted)
    if not 1 <= k <= x.size:
        raise ValueError(f"k must be a rank from 1 to n = {x.size}; got {k}")
    index, mass = _rank_law(x.size, int(k))
    return _discrete(x[index - 1], mass)


def quantile_distribution(values_sorted: ArrayLike, q: float) -> DiscreteDistribution:
    r"""Return the exact bootstrap distribution of a sample quantile (linear, NumPy's default).

    The quantile is :math:`(1-f) X^*_{(k)} + f X^*_{(k+1)}` with :math:`k + f = (n-1) q + 1`.
    From :math:`P(X^*_{(k)} \le x_{(i)}, X^*_{(k+1)} \ge x_{(j)}) = \binom nk (i/n)^k
    ((n-j+1)/n)^{n-k}` for :math:`i < j`, with :math:`b_i = P(\mathrm{Binomial}(n, i/n) = k)`
    and :math:`r_i(g) = (1 - g/(n-i))^{n-k}`,

    .. math::
        P(X^*_{(k)} = x_{(i)}, X^*_{(k+1)} = x_{(i+g)}) &=
            b_i \{1 - (1 - 1/i)^k\} \{r_i(g-1) - r_i(g)\}, \quad g \ge 1, \\
        P(X^*_{(k)} = X^*_{(k+1)} = x_{(i)}) &= P(X^*_{(k)} = x_{(i)}) - b_i \{1 - (1 - 1/i)^k\}.

    Parameters
    ----------
    values_sorted : (n,) array_like
        Non-decreasing values; ties are merged into one atom.
    q : float
        Order of the quantile, in [0, 1].

    Returns
    -------
    DiscreteDistribution
        Exact at every n: pairs of total probability below 1e-12 are left out.

    Raises
    ------
    ValueError
        If the values are not a sorted vector without NaN, or q is outside [0, 1].

    Notes
    -----
    Cost O(sqrt n) pairs, about 40 for each index in the window, and one sort of them; 0.3
    million pairs at n = 10^6.

    References
    ----------
    Maritz & Jarrett, J. Amer. Statist. Assoc. 73 (1978) 194-196, for the median.

    Examples
    --------
    >>> law = quantile_distribution([0.0, 1.0], 0.5)
    >>> law.support.tolist(), law.probabilities.round(12).tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25])
    """
    x = _checked(values_sorted)
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q must be within [0, 1]; got {q}")
    n = x.size
    position = (n - 1) * q
    k = math.floor(position)
    fraction = position - k
    rounding = 4.0 * float(np.finfo(np.float64).eps) * n
    if fraction <= rounding:
        return order_statistic_distribution(x, k + 1)
    if fraction >= 1.0 - rounding:
        return order_statistic_distribution(x, k + 2)
    return _interpolated(x, k + 1, fraction)


def median_distribution(values_sorted: ArrayLike) -> DiscreteDistribution:
    """Return the exact bootstrap distribution of the median, :func:`quantile_distribution` at 1/2.

    For an odd n one order statistic, for an even n the average of the two in the middle.

    Parameters
    ----------
    values_sorted : (n,) array_like
        Non-decreasing values.

    Returns
    -------
    DiscreteDistribution

    Raises
    ------
    ValueError
        If the values are not a sorted vector without NaN.
    """
    return quantile_distribution(values_sorted, 0.5)


def _checked(values_sorted: ArrayLike) -> np.ndarray:
    x = np.asarray(values_sorted, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"values_sorted must be one-dimensional and not empty; got shape {x.shape}")
    if not (np.all(np.isfinite(x)) and np.all(x[1:] >= x[:-1])):
        raise ValueError("values_sorted must be finite and non-decreasing; got values that are not")
    return x


def _rank_law(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices i (from 1) that matter and ``P(X*(k) = x_(i))``."""
    low = math.floor(n * special.betaincinv(k, n - k + 1, OUTSIDE))
    high = math.ceil(n * special.betainccinv(k, n - k + 1, OUTSIDE))
    edges = np.arange(max(low - 1, 0), min(high + 1, n) + 1)
    mass = np.diff(special.betainc(k, n - k + 1, edges / n))
    return edges[1:], mass


def _interpolated(x: np.ndarray, k: int, fraction: float) -> DiscreteDistribution:
    """Return the law of ``(1 - fraction) X*(k) + fraction X*(k+1)``, 1 <= k < n."""
    n = x.size
    index, mass = _rank_law(n, k)
    from scipy import stats  # heavy, and needed here only

    apart = stats.binom.pmf(k, n, index / n)  # P(exactly k draws on x_1 .. x_i)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart *= -np.expm1(k * np.log1p(-1.0 / index))  # and x_i drawn: X*(k) = x_i < X*(k+1)
        above = n - index
        furthest = math.ceil(float(above[0]) * -math.expm1(math.log(1e-16) / (n - k)))
        gap = np.arange(furthest + 1)
        beyond = np.exp((n - k) * np.log1p(-np.minimum(gap / above[:, None], 1.0)))
    beyond[above == 0] = 0.0
    pairs = apart[:, None] * (beyond[:, :-1] - beyond[:, 1:])
    upper = np.minimum(index[:, None] + gap[1:], n)
    left = x[index - 1]
    values = left[:, None] + fraction * (x[upper - 1] - left[:, None])
    tied = np.maximum(mass - apart, 0.0)
    return _discrete(np.concatenate((left, values.ravel())), np.concatenate((tied, pairs.ravel())))


def _discrete(x: np.ndarray, mass: np.ndarray) -> DiscreteDistribution:
    """Sort, drop what has no mass, merge atoms that differ by rounding, normalise."""
    keep = mass > 0.0
    x, mass = x[keep], mass[keep]
    order = np.argsort(x, kind="stable")
    x, mass = x[order], mass[order] / mass.sum()
    middle = x[np.searchsorted(np.cumsum(mass), (0.01, 0.99))]
    tolerance = 4.0 * float(np.finfo(np.float64).eps) * float(np.abs(middle).max())
    first = np.flatnonzero(np.concatenate(([True], np.diff(x) > tolerance)))
    return DiscreteDistribution(x[first], np.add.reduceat(mass, first), tolerance)
