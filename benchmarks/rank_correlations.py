"""Simulate intervals of rank correlations near 1, through ``jaxci.interval``.

Run ``python benchmarks/rank_correlations.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Values are normal, or heavy-tailed in both columns at once (t with 3 degrees of freedom). Nominal
95%.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr
from simulated import averaged, simulate

import jaxci

METHODS = ("auto", "bc", "percentile")


class Design(NamedTuple):
    """A law of the columns, Spearman's correlation of normal ones that have theirs, and rows."""

    law: str
    correlation: float
    n: int

    def columns(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return two columns (2, n)."""
        pearson = 2 * np.sin(np.pi * self.correlation / 6)
        both = rng.multivariate_normal([0, 0], [[1, pearson], [pearson, 1]], size=n).T
        found: np.ndarray = both / np.sqrt(rng.chisquare(3, size=n) / 3) if self.law == "t3" else both
        return found


@functools.cache
def truth(law: str, correlation: float) -> float:
    """Return Spearman's correlation: known of normal columns, of others that of 600,000 rows."""
    if law == "normal":
        return correlation
    design = Design(law, correlation, 0)
    return float(np.mean([spearmanr(*design.columns(np.random.default_rng(k), 200_000))[0] for k in range(3)]))


DESIGNS = [
    Design(law, r, n) for law in ("normal", "t3") for r in (0.96, 0.97, 0.98, 0.987, 0.993) for n in (30, 100, 300)
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and share of warnings, by method."""
    held: dict[str, list[tuple[float, ...]]] = {}
    true = truth(design.law, design.correlation)
    for number in range(sets):
        columns = design.columns(np.random.default_rng([number, design.n]), design.n)
        for method in METHODS:
            row = jaxci.interval("spearmanr", *columns, method=method, n_resamples=1999, rng=number)
            low, high = row.confidence_interval
            told = any("rank correlation" in warning for warning in row.warnings)
            held.setdefault(method, []).append((low <= true <= high, high - low, told))
    return averaged({"spearmanr": held})


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 250, simulated, "coverage, width, told")
