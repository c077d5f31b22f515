"""Simulate what rows in few clusters tell of metrics without a formula: medians, lengths, rank correlations.

Run ``python benchmarks/few_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data sets
there are of a design. Normal and exponential values, alike within clusters, and two models with such errors. Nominal
95%.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import expon, norm
from simulated import averaged, simulate

import jaxci

LAWS = {"normal": norm, "exponential": expon}
METHODS = ("auto", "expanded_percentile", "percentile")


class Design(NamedTuple):
    """Law of the values, clusters of so many rows or uneven ones, and the correlation of rows of one cluster."""

    law: str
    clusters: int
    rows: int
    uneven: bool
    correlation: float

    @property
    def groups(self) -> np.ndarray:
        """Cluster of every row."""
        if not self.uneven:
            return np.repeat(np.arange(self.clusters), self.rows)
        spread = np.exp(norm.ppf((np.arange(self.clusters) + 0.5) / self.clusters))
        return np.repeat(np.arange(self.clusters), np.maximum(1, np.round(self.rows * spread)).astype(int))

    def normal(self, rng: np.random.Generator) -> np.ndarray:
        """Return normal values (n,), alike within clusters."""
        groups = self.groups
        shared = rng.normal(size=self.clusters)[groups]
        found: np.ndarray = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * rng.normal(
            size=groups.size
        )
        return found

    def values(self, rng: np.random.Generator) -> np.ndarray:
        """Return values (n,) of the law."""
        found: np.ndarray = LAWS[self.law].ppf(norm.cdf(self.normal(rng)))
        return found


Ask = Callable[..., Any]


def asked(design: Design, rng: np.random.Generator) -> dict[str, tuple[Ask, float]]:
    """Return how every interval is asked for, and the true value."""
    law, groups = LAWS[design.law], design.groups
    x, one, other = (design.values(rng) for _ in range(3))
    noisy = design.normal(rng) + design.normal(rng)
    first = design.normal(rng)

    def of(name: str, *data: np.ndarray) -> Ask:
        return lambda **options: jaxci.interval(name, *data, groups=groups, **options)

    def differ(**options: Any) -> Any:
        return jaxci.compare("median_absolute_error", np.zeros(len(x)), one, other, groups=groups, **options)

    return {
        "median": (of("median", x), float(law.median())),
        "iqr": (of("iqr", x), float(law.ppf(0.75) - law.ppf(0.25))),
        "spearmanr": (of("spearmanr", first, first + noisy), float(6 / np.pi * np.arcsin(np.sqrt(1 / 3) / 2))),
        "difference of median_absolute_error": (differ, 0.0),
    }


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and share of warnings, by metric and method."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for number in range(sets):
        for metric, (ask, true) in asked(design, np.random.default_rng([number, design.clusters])).items():
            for method in METHODS:
                row = ask(method=method, rng=number)
                low, high = row.confidence_interval
                one = low <= true <= high, high - low, bool(row.warnings)
                held.setdefault(metric, {}).setdefault(method, []).append(one)
    return averaged(held)


LAYOUTS = ((5, 20, False), (8, 15, False), (8, 60, False), (15, 12, True), (30, 6, False), (60, 5, True))
DESIGNS = [Design(law, *layout, correlation) for layout in LAYOUTS for law in LAWS for correlation in (0.1, 0.4)]

if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width, warned")
