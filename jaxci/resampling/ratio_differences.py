r"""The bootstrap distribution of the difference of two models' ratios of counts, without resampling.

Each row is a hit, a miss or neither for either model, which makes nine kinds of rows. Of n rows of a resample
:math:`(H_1, M_1)` are hits and misses of the first model; given these, those of the second are a sum of three
multinomials. With the law of the latter by a Fourier inversion in two dimensions,

.. math:: P(\Delta = d) = \sum_{h, m} P(H_1 = h, M_1 = m) \sum_{x, y} P(H_2 = x, M_2 = y \mid h, m)
   1\Big[\frac{\omega h}{\omega h + m} - \frac{\omega x}{\omega x + y} = d\Big].

Few rows have few counts, and all are summed, on a fine grid of values. Of many rows every k-th count is: the sum
of :math:`e^{iu\Delta}` over them is that over all, to rounding, as long as the frequency u is not large, because

.. math:: \Big|\sum_{j \ne 0} \varphi(2\pi j / k - u g)\Big| \approx 0, \quad |\varphi(\theta)| \le
   e^{-\sigma^2 (1 - \cos\theta)},

where a count has the standard deviation :math:`\sigma` and one more of it changes the difference by g. The law is the
integral over these frequencies. What those beyond add, as values lie on a lattice of sorts, is told by Poisson's sum
over integers :math:`l \ne 0`, with the counts normal about those of the sample and the difference of the second order
there, with gradient g, Hessian B and the covariance :math:`\Sigma` of the counts:

.. math:: E\,e^{iu(\Delta - \hat\Delta)} \approx \sum_l \det(I - iu\Sigma B)^{-1/2}
   e^{-r^T (\Sigma^{-1} - iuB)^{-1} r / 2}, \quad r = ug - 2\pi l.
"""

from __future__ import annotations

import math

import numpy as np

from jaxci.resampling.grid_law import GridLaw
from jaxci.resampling.laws import Atoms
from jaxci.resampling.ratio_counts import MOST_WORK, Nodes, nodes_of
from jaxci.resampling.ratio_grid import Summed
from jaxci.resampling.ratio_kinds import FREQUENCIES, Kinds

GOAL = 9e-4
"""Error bound, in standard deviations, that the grid is made fine enough for."""
MOST_LATTICE = 3e-4
"""Error in probability by the lattice of the values up to which there is such a law."""
POINTS = 1 << 14, 1 << 21
"""Points of the grid, at least and at most."""


def difference_of_ratios(
    kinds: np.ndarray, odds: float, undefined: float, patience: float = 1.0
) -> GridLaw | Atoms | None:
    """Return the bootstrap distribution of ``odds H / (odds H + M)`` of one model less that of another.

    Parameters
    ----------
    kinds : (3, 3) array
        Rows that are a hit, a miss and neither for the first model, by what they are for the second.
    odds : float
        Weight of a hit.
    undefined : float
        What 0/0 counts as; NaN leaves such resamples out.
    patience : float, optional
        How much may be summed, as a multiple of what takes some tenths of a second.

    Returns
    -------
    GridLaw, Atoms or None
        None where it costs too much, or where no resample has a value.
    """
    return law_of_rows(Kinds.of(np.asarray(kinds, float), float(odds), float(undefined)), patience * MOST_WORK)


def law_of_rows(rows: Kinds, work: float = MOST_WORK, *, every: bool = True) -> GridLaw | Atoms | None:
    """Return the law from sums over at most ``work`` counts: over every one where that are no more and it is asked."""
    tried: tuple[int, ...] | None = None
    for frequency in (math.inf, *FREQUENCIES) if every else FREQUENCIES:
        steps = rows.steps(frequency)
        fine = rows.rough(steps) <= GOAL / 4 * rows.slopes[1]
        error = 0.0 if fine else rows.lattice_error(steps)
        if steps == tried or error > MOST_LATTICE:
            continue
        groups = nodes_of(rows, steps, work) if rows.least_work(steps) <= work else []
        needed = sum(group.work for group in groups)
        if groups and needed <= work:
            summed = _summed(groups)
            found = None
            if summed is not None:
                found = summed.atoms() or (summed.on_grid() if fine else summed.smooth(rows.most(steps), error))
            if found is not None or summed is None:
                return found
            tried, work = steps, work - needed
        elif math.isfinite(frequency):
            return None
    return None


def _summed(groups: list[Nodes]) -> Summed | None:
    """Sum all; None where no resample has a value."""
    rows = groups[0].rows
    low, high = min(group.range[0] for group in groups), max(group.range[1] for group in groups)
    if low > high:
        return None
    middle = float(rows.value(rows.means))
    half, deviation = max(high - middle, middle - low, 1e-9), rows.slopes[1]
    while True:
        fine = math.ceil(math.log2(4 * half / (GOAL * max(deviation, 1e-9)) + 8))
        points = min(max(POINTS[0], 1 << fine), POINTS[1])
        found = Summed(middle, 2 * half / (points - 8), np.zeros(points), {}, rows.rough(groups[0].steps))
        for group in groups:
            group.add_to(found)
        if not found.total > 0:
            return None
        deviation = found.moments[1]
        if 2 * found.step <= GOAL * deviation or points == POINTS[1] or found.atoms() is not None:
            return found
