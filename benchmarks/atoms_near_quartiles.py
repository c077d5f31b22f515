"""Simulate interquartile lengths of values of which about a quarter are 0, as overlaps of masks that failed are.

Run ``python benchmarks/atoms_near_quartiles.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from simulated import over_needed, simulate

import jaxci

CASES = 4
"""Values of a cluster."""


class Design(NamedTuple):
    """Share of values that are 0, how many values, and whether they come in clusters."""

    zeros: float
    n: int
    clustered: bool

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return a data set, and the cluster of every value."""
        x = rng.beta(8, 3, self.n)
        x[rng.random(self.n) < self.zeros] = 0.0
        return x, np.arange(self.n) // CASES

    @property
    def truth(self) -> float:
        """What is estimated."""
        ends = (np.array([0.25, 0.75]) - self.zeros) / (1 - self.zeros)
        low, high = stats.beta(8, 3).ppf(np.maximum(ends, 0.0)) * (ends > 0)
        return float(high - low)


DESIGNS = [Design(zeros, n, False) for zeros in (0.1, 0.2, 0.27, 0.3, 0.4) for n in (60, 100, 200, 500)]
DESIGNS += [Design(zeros, CASES * clusters, True) for zeros in (0.1, 0.27, 0.3) for clusters in (10, 20, 40)]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, width over the needed one and share of remarks on an atom near a quartile."""
    held: list[tuple[float, ...]] = []
    estimates = []
    for number in range(sets):
        values, clusters = design.draw(np.random.default_rng([number, design.n]))
        given = {"groups": clusters} if design.clustered else {}
        row = jaxci.interval("iqr", values, n_resamples=1999, rng=number, **given)
        low, high = row.confidence_interval
        told = any("next to a quartile" in text for text in row.warnings)
        held.append((low <= design.truth <= high, high - low, told))
        estimates.append(row.estimate)
    return over_needed({"iqr": {"auto": held}}, {"iqr": estimates})


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width over needed, told")
