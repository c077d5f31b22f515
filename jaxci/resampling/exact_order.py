"""The bootstrap distribution of order statistics and quantiles without resampling.

For the sorted sample ``x_1 <= .. <= x_n`` the k-th smallest of n draws is at most ``x_i``
when at least k draws fall on ``x_1 .. x_i``, so its law is a difference of binomial tails,
that is of Beta distribution functions, over the sorted sample (Efron 1979, section 3). A
quantile that interpolates linearly between two neighbouring order statistics, the median of
an even n among them, follows from their joint law, which falls off like ``exp(-(j - i))``
away from the diagonal: O(sqrt n) pairs carry it at any n.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.records import record
from jaxci.resampling.kernels import stable_order
from jaxci.resampling.laws import Atoms, RankLaw, picked, rank
from jaxci.special import between, namespace

OUTSIDE = 1e-13
"""Mass of the order statistic left out beyond each end of the window of indices."""
MIDDLE = (0.01, 0.99)
"""Shares of a law between which atoms are typical: their size tells what is rounding."""
TOLERANCE = 4.0 * float(np.finfo(np.float64).eps)
"""Atoms that differ by less, relative to their size, are one."""


def quantile_distribution(values_sorted: ArrayLike, q: float) -> Atoms:
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
    Atoms
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
    >>> law.atoms.tolist(), law.masses.round(12).tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25])
    """
    x = _checked(values_sorted)
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q must be within [0, 1]; got {q}")
    weights = quantile_weights(x.size, q)
    return discrete(weights.atoms(x), weights.mass, weights.of_values(x))


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


@record
class RankWeights:
    """Law of one order statistic of n draws: ``cumulative`` (n,) over the ranks of the sample."""

    cumulative: Any

    def distribution(self, ordered: Any) -> RankLaw:
        """Return the laws of the order statistic of ascending values (..., n)."""
        return RankLaw(ordered, namespace(ordered).broadcast_to(self.cumulative, ordered.shape))


@record
class QuantileWeights:
    """Law of a sample quantile over pairs of ranks: it depends on n and q alone.

    The quantile is :func:`~jaxci.special.between` ``x_(left)`` and ``x_(right)``, ranks from 0, with probability
    ``mass`` (m,).
    """

    left: Any
    right: Any
    fraction: Any
    mass: Any

    @property
    def is_rank(self) -> bool:
        """Whether the quantile is one order statistic."""
        return self.fraction == 0.0

    def of_rank(self, n: int) -> RankWeights:
        """Return the law over all ranks of n values where the quantile is one of them."""
        mass = np.zeros(n)
        mass[self.left] = self.mass / self.mass.sum()
        return RankWeights(np.cumsum(mass))

    def atoms(self, ordered: Any) -> Any:
        """Return the values (..., m) that the quantile takes on ascending values (..., n)."""
        return between(ordered[..., self.left], ordered[..., self.right], self.fraction)

    def of_values(self, ordered: Any) -> Any:
        """Whether each atom (..., m) is a value of the data, and not one between two."""
        return ordered[..., self.left] == ordered[..., self.right]

    def distribution(self, ordered: Any) -> Atoms:
        """Return the laws of the quantile of ascending values (..., n), NumPy's or JAX's: O(m log m) a data set."""
        xp = namespace(ordered)
        found = self.atoms(ordered)
        order = xp.argsort(found, axis=-1)
        support = xp.take_along_axis(found, order, axis=-1)
        masses = xp.asarray(self.mass / self.mass.sum())[order]
        reached = xp.cumsum(masses, axis=-1)
        places = (rank(reached, p, reached.shape[-1], through=False) for p in MIDDLE)
        ends = [xp.abs(picked(support, xp.minimum(place, reached.shape[-1] - 1))) for place in places]
        tolerance = TOLERANCE * xp.maximum(*ends)
        values = xp.take_along_axis(self.of_values(ordered), order, axis=-1)
        return Atoms(_settled(support, values, tolerance[..., None]), masses, tolerance)


@functools.lru_cache(maxsize=16)
def quantile_weights(n: int, q: float) -> QuantileWeights:
    """Return the law of the linear quantile of order q of n draws over the ranks of the sample; host, O(sqrt n)."""
    position = (n - 1) * q
    k = math.floor(position)
    fraction = position - k
    rounding = 4.0 * float(np.finfo(np.float64).eps) * n
    if fraction <= rounding or fraction >= 1.0 - rounding:
        index, mass = _rank_law(n, k + 1 if fraction <= rounding else k + 2)
        return _weights(index, index, 0.0, mass)
    return _interpolated(n, k + 1, fraction)


def _weights(left: np.ndarray, right: np.ndarray, fraction: float, mass: np.ndarray) -> QuantileWeights:
    """Keep what has mass; ranks from 1 become places."""
    keep = mass > 0.0
    return QuantileWeights(left[keep] - 1, right[keep] - 1, fraction, mass[keep])


def _interpolated(n: int, k: int, fraction: float) -> QuantileWeights:
    """Return the law of ``(1 - fraction) X*(k) + fraction X*(k+1)``, 1 <= k < n."""
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
    left = np.concatenate((index, np.repeat(index, gap.size - 1)))
    tied = np.maximum(mass - apart, 0.0)
    return _weights(left, np.concatenate((index, upper.ravel())), fraction, np.concatenate((tied, pairs.ravel())))


def _settled(atoms: Any, values: Any, tolerance: Any) -> Any:
    """Return ascending ``atoms`` (..., m) with those next to a value of the data, by rounding, put on that value.

    ``values`` (..., m) says which of them are values of the data.
    """
    xp = namespace(atoms)
    lower, upper = xp.where(values, atoms, -np.inf), xp.where(values, atoms, np.inf)
    if xp is np:
        below: Any = np.maximum.accumulate(lower, axis=-1)
        above: Any = np.minimum.accumulate(upper[..., ::-1], axis=-1)[..., ::-1]
    else:
        below = jax.lax.cummax(lower, axis=lower.ndim - 1)
        above = jax.lax.cummin(upper, axis=upper.ndim - 1, reverse=True)
    return xp.where(atoms - below <= tolerance, below, xp.where(above - atoms <= tolerance, above, atoms))


def discrete(x: np.ndarray, mass: np.ndarray, values: np.ndarray | None = None) -> Atoms:
    """Return the law of values (m,) with their ``mass``: those that differ by rounding are one atom.

    ``values`` (m,) says which are exact, all by default: such a one stands for those that differ from it by rounding.
    """
    keep = mass > 0.0
    x, mass = x[keep], mass[keep]
    order = stable_order(x)
    x, mass = x[order], mass[order] / mass.sum()
    tolerance = TOLERANCE * float(np.abs(x[np.searchsorted(np.cumsum(mass), MIDDLE)]).max())
    if values is not None:
        x = _settled(x, values[keep][order], tolerance)
    first = np.flatnonzero(np.concatenate(([True], np.diff(x) > tolerance)))
    return Atoms(x[first], np.add.reduceat(mass, first), tolerance)
