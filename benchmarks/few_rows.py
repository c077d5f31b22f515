"""Simulate intervals of statistics of 2 to 5 rows, fewer than any design of the cards has, through ``jaxci.interval``.

Run ``python benchmarks/few_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data sets a
design. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from simulated import averaged, simulate

import jaxci

LAWS = {"normal": stats.norm(), "exponential": stats.expon(), "uniform": stats.uniform()}
CORRELATIONS = (0.0, 0.6, 0.9, 0.97)
TOGETHER = ("pearsonr", "spearmanr", "r2", "explained_variance")


class Design(NamedTuple):
    """A statistic, a law of values or a correlation of normal columns, and rows."""

    statistic: str
    law: str | float
    n: int

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return a data set."""
        if isinstance(self.law, str):
            return (LAWS[self.law].rvs(size=self.n, random_state=rng),)
        x = rng.normal(size=self.n)
        y = self.law * x + np.sqrt(1 - self.law**2) * rng.normal(size=self.n)
        return (x, y) if self.statistic in ("pearsonr", "spearmanr") else (y, self.law * x)

    @property
    def truth(self) -> float:
        """What is estimated."""
        if isinstance(self.law, str):
            low, high = LAWS[self.law].ppf([0.25, 0.75])
            return float(high - low if self.statistic == "iqr" else LAWS[self.law].std())
        if self.statistic == "spearmanr":
            return float(6 / np.pi * np.arcsin(self.law / 2))
        return self.law if self.statistic == "pearsonr" else self.law**2


DESIGNS = [Design(statistic, law, n) for statistic in ("std", "iqr") for law in LAWS for n in (2, 3, 4, 5)]
DESIGNS += [
    Design(statistic, law, n)
    for statistic in TOGETHER
    for law in CORRELATIONS
    for n in (3, 4, 5)
    if law or statistic != "explained_variance"  # of predictions that are all equal
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width of intervals that exist and share of remarks on so few rows."""
    held: list[tuple[float, ...]] = []
    for number in range(sets):
        data = design.draw(np.random.default_rng([number, design.n]))
        row = jaxci.interval(design.statistic, *data, n_resamples=999, rng=number)
        low, high = row.confidence_interval
        told = any("rows are fewer" in text for text in row.warnings)
        held.append((low <= design.truth <= high, np.nan_to_num(high - low), told))
    return averaged({design.statistic: {"auto": held}})


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, width, told")
