r"""The bootstrap distribution of a mean of class means, such as the mean recall of K classes, without resampling.

Of n rows of a resample ``(m_1 .. m_K) ~ Multinomial(n; q)`` are of each class; given these, the classes' means are
independent. As m are independent Poisson numbers given their sum, the characteristic function of :math:`\bar S`,
centred, is

.. math:: \varphi(u) = \frac{1}{2\pi P(N = n)} \int_{-\pi}^{\pi} e^{-in\theta}
   \prod_k \sum_m P(N_k = m) e^{i\theta m} g_k(u w_k / m)^m d\theta, \quad N_k \sim Poisson(n q_k),

with ``g_k`` that of a row's value less its mean. The integrand vanishes beyond some :math:`8 / \sqrt n`, and
``phi`` soon, so that a hundred frequencies at two dozen places are all there is to sum; frequencies beyond are looked
at to tell whether values lie on a lattice that they would show.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import scipy
from scipy import special

from jaxci.resampling.exact_mean import NO_ATOMS
from jaxci.resampling.grid_law import SMOOTH_POINTS, GridLaw, smooth_law
from jaxci.resampling.mean_spectrum import TAIL, half_width
from jaxci.special import log_binomial

SUMMED = 64
"""Frequencies that are summed."""
BETWEEN, PEAKS = 192, 40
"""Frequencies beyond these that are looked at: anywhere, and multiples of one at which seven are."""
MOST_ROWS = 100_000
"""Rows of which there is such a law: of more, it takes far longer than drawing."""
MOST_LEFT = 5e-5
"""Error in probability by what is not summed up to which there is such a law."""
REACH = 7.5
"""Standard deviations that sums over Poisson numbers, and integrals, reach; and 8 numbers more."""
NOTHING = 1e-14
"""Modulus that counts for nothing."""


def mean_of_class_means(
    plus: np.ndarray,
    minus: np.ndarray,
    sizes: np.ndarray,
    weights: np.ndarray,
    n: int,
    offset: float = 0.0,
    patience: float = 1.0,
) -> GridLaw | None:
    """Return the bootstrap distribution of ``offset + sum_k weights_k mean_k``, or None where it is not smooth.

    Parameters
    ----------
    plus, minus : (K,) arrays
        Rows of each class whose value is 1, and -1; that of all others is 0.
    sizes, weights : (K,) arrays
        Rows of each class, at least 1, and the weights of their means.
    n : int
        Rows of all classes, and of none.
    offset : float, optional
        A constant.
    patience : float, optional
        How many rows there may be, as a multiple of 100,000.

    Returns
    -------
    GridLaw or None
        None where there are more rows than that, a class is absent from more than 1e-9 of the resamples, or few
        values are likely: where the frequencies that are not summed, of which some hundred are looked at, change
        probabilities by more than 5e-5.
    """
    plus, minus, sizes, weights = (np.asarray(x, float) for x in (plus, minus, sizes, weights))
    shares = np.stack([plus, minus]) / sizes
    means = shares[0] - shares[1]
    varies = shares.sum(axis=0) > means**2
    if n > patience * MOST_ROWS or not varies.any() or np.sum((1 - sizes / n) ** n) > TAIL:
        return None
    rows = _Rows(shares[:, varies], sizes[varies], weights[varies], n)
    half = (
        1.1
        * half_width(n, n * rows.deviation**2, np.max(rows.weights * (1 + np.abs(means[varies])) / rows.chances))
        / n
    )
    unit = np.pi / half
    left = rows.left_out(unit)
    if left > MOST_LEFT:
        return None
    j = np.arange(1, SUMMED + 1)
    summed = rows.characteristic(unit * j)
    least = np.where(minus > 0, -1.0, np.where(plus < sizes, 0.0, 1.0))
    most = np.where(plus > 0, 1.0, np.where(minus < sizes, 0.0, -1.0))
    centre = offset + float(weights @ means)
    low, high = (offset + float(weights @ ends) for ends in (least, most))
    none = NO_ATOMS.atoms, NO_ATOMS.masses
    return smooth_law(summed, half, centre, centre, rows.deviation, left + 2 * TAIL, low, high, *none)


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Shares (2, K) of rows of K classes whose value is 1, and -1, numbers of rows and weights of the means (K,)."""

    shares: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    n: int

    @property
    def chances(self) -> np.ndarray:
        """Share (K,) of each class among all rows."""
        return self.sizes / self.n

    def _numbers(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of rows (M,) of a class, at least 1, and the logarithms of their Poisson probabilities."""
        size = self.sizes[k]
        reach = REACH * math.sqrt(size) + 8
        m = np.arange(max(1.0, math.floor(size - reach)), math.ceil(size + reach) + 1)
        return m, special.xlogy(m, size) - size - special.gammaln(m + 1)

    @functools.cached_property
    def deviation(self) -> float:
        """Standard deviation of the mean."""
        of_rows = self.shares.sum(axis=0) - (self.shares[0] - self.shares[1]) ** 2
        found = 0.0
        for k, chance in enumerate(self.chances):
            m = self._numbers(k)[0]
            mass = np.exp(log_binomial(m, float(self.n), chance))
            found += self.weights[k] ** 2 * of_rows[k] * float(mass @ (1 / m)) / float(mass.sum())
        return math.sqrt(found)

    def characteristic(self, u: np.ndarray) -> np.ndarray:
        """Return the characteristic function (J,) of the centred mean at ``u`` (J,)."""
        order = np.argsort(-self.sizes, kind="stable")
        reach = REACH / math.sqrt(self.sizes[order[0]])
        places = math.ceil(2 * REACH * math.sqrt(self.n)) + 32
        last = min(places // 2, math.ceil(reach * places / (2 * math.pi)) + 1)
        near = 2 * np.pi / places * np.arange(-last, last + 1)
        left, found = np.arange(len(u)), np.ones((len(u), len(near)), complex)
        for k in order:
            m, mass = self._numbers(k)
            modulus, angle = self._of_means(k, m, u[left])
            modulus += mass
            if k == order[0]:  # the integrand is where all numbers of rows are in phase, if anywhere
                most = np.minimum(modulus.argmax(axis=1), len(m) - 2)
                middle = (angle(u, m[most]) - angle(u, m[most + 1]))[:, None]
            row, column = np.nonzero(modulus > math.log(NOTHING))
            turned = angle(u[left][row], m[column]) + middle[left[row], 0] * (m[column] - self.sizes[k])
            waves = np.exp(modulus[row, column]) * np.exp(1j * turned)
            waves = scipy.sparse.csr_array((waves, (row, column)), modulus.shape)
            found[left] *= waves @ np.exp(1j * np.outer(m - self.sizes[k], near))
            left = left[np.abs(found[left]).max(axis=1) > NOTHING]
        theta, others = near + middle, self.n - self.sizes.sum()
        found *= np.exp(others * (np.exp(1j * theta) - 1 - 1j * theta))
        of_sum = special.xlogy(self.n, self.n) - self.n - special.gammaln(self.n + 1)
        return found.sum(axis=1) / (places * math.exp(of_sum))

    def _of_means(self, k: int, m: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, Callable[..., np.ndarray]]:
        """Return what a class' centred mean over m (M,) rows is at ``u`` (J,): log modulus (J, M), and angle.

        The latter is a function of u and m of one shape.
        """
        (up, down), weight = self.shares[:, k], self.weights[k]
        turn = weight * u[:, None] / m
        half = np.sin(turn / 2) ** 2
        along = 2 * (up + down) * half
        across = 4 * (up - down) ** 2 * half * (1 - half)

        def angle(u: np.ndarray, m: np.ndarray) -> np.ndarray:
            turn = weight * u / m
            one = np.arctan2((up - down) * np.sin(turn), 1 - 2 * (up + down) * np.sin(turn / 2) ** 2)
            return m * one - weight * u * (up - down)

        return 0.5 * m * np.log1p(np.maximum(across - (2 - along) * along, -1 + 1e-300)), angle

    def left_out(self, unit: float) -> float:
        """Return about how far the frequencies beyond those that are summed change a probability at most.

        They are looked at where the values of the largest class are in phase, and between.
        """
        last, largest = unit * SMOOTH_POINTS / 2, int(self.sizes.argmax())
        up, down = self.shares[:, largest]
        size, weight = self.sizes[largest], self.weights[largest]
        width = 1 / (2 * np.pi * math.sqrt(size * (up + down - (up - down) ** 2)))
        phases = np.arange(1, PEAKS + 1)[:, None] + width * np.linspace(-3, 3, 7)
        between = np.geomspace((SUMMED + 1) * unit, last, BETWEEN)
        u = np.append(between, 2 * np.pi * size / weight * phases)
        u = np.unique(u[(u >= between[0]) & (u <= last)])
        return float(np.trapezoid(np.abs(self.characteristic(u)), np.log(u))) / np.pi
