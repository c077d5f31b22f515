"""Simulate ``jaxci.compare`` of mean squared errors of two models in clusters, with errors of light and heavy tails.

Run ``python benchmarks/heavy_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data
sets there are of a design. Errors of the second model are ``ratio`` times as large as those of the first. Nominal 95%.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from simulated import averaged, simulate

import jaxci

METRIC = "mean_squared_error"
METHODS = ("auto", "sign_flip", "kurtosis_t")
ALIKE, ROWS = 0.4, 10
"""Correlation of errors of one model in a cluster, half of which both models have in common, and its mean size."""
Law = Callable[[np.random.Generator, int], Any]
LAWS: dict[str, Law] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t(5)": lambda rng, n: rng.standard_t(5, n) / np.sqrt(5 / 3),
    "t(3)": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "lognormal": lambda rng, n: (rng.lognormal(size=n) - np.exp(0.5)) / np.sqrt(np.e**2 - np.e),
}
"""Laws of what errors are sums of, of mean 0 and variance 1."""


class Design(NamedTuple):
    """Law, clusters of equal or uneven size, and ratio of errors."""

    law: str
    clusters: int
    uneven: bool
    ratio: float

    @property
    def groups(self) -> np.ndarray:
        """Cluster of every row."""
        sizes = np.full(self.clusters, ROWS)
        if self.uneven:
            spread = np.exp(stats.norm.ppf((np.arange(self.clusters) + 0.5) / self.clusters))
            sizes = np.maximum(1, np.round(ROWS * spread / spread.mean())).astype(int)
        return np.repeat(np.arange(self.clusters), sizes)

    def errors(self, rng: np.random.Generator, groups: np.ndarray) -> list[np.ndarray]:
        """Errors (n,) of both models."""
        draw = LAWS[self.law]
        alike, common = draw(rng, self.clusters), draw(rng, groups.size)
        return [
            times * np.sqrt(ALIKE / 2) * (alike + draw(rng, self.clusters))[groups]
            + times * np.sqrt((1 - ALIKE) / 2) * (common + draw(rng, groups.size))
            for times in (1, self.ratio)
        ]


DESIGNS = [
    Design(law, clusters, uneven, ratio)
    for law in LAWS
    for clusters in (8, 12, 20, 40)
    for uneven in (False, True)
    for ratio in (1.0, 1.6)
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width, and shares of p-values below .05 and of remarks on few clusters, by method."""
    groups, true = design.groups, 1 - design.ratio**2
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {METRIC: {method: [] for method in METHODS}}
    for number in range(sets):
        rng = np.random.default_rng([number, design.clusters, design.uneven])
        y = rng.normal(size=groups.size)
        models = [y + error for error in design.errors(rng, groups)]
        for method in METHODS:
            row = jaxci.compare(METRIC, y, *models, groups=groups, method=method, rng=number)
            low, high = row.confidence_interval
            told = any("clusters decide the difference" in said for said in row.warnings)
            held[METRIC][method].append((low <= true <= high, high - low, row.pvalue < 0.05, told))
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, width, below .05, told")
