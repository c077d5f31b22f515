"""Simulate intervals of R2, explained variances and correlations of heavy-tailed targets, through ``jaxci.interval``.

Run ``python benchmarks/heavy_targets.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Errors are normal, with half the variance of targets. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate

import jaxci

ERROR = 0.7
LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t5": lambda rng, n: rng.standard_t(5, size=n) / np.sqrt(5 / 3),
    "t3": lambda rng, n: rng.standard_t(3, size=n) / np.sqrt(3),
    "lognormal": lambda rng, n: rng.lognormal(size=n) / np.sqrt((np.e - 1) * np.e),
    "lognormal, sigma 1.5": lambda rng, n: rng.lognormal(0, 1.5, n) / np.sqrt((np.exp(2.25) - 1) * np.exp(2.25)),
}
"""Targets of standard deviation 1."""
TRUTH = {"r2": 1 - ERROR**2, "explained_variance": 1 - ERROR**2, "pearsonr": 1 / np.sqrt(1 + ERROR**2)}
METHODS = ("auto", "percentile")


class Design(NamedTuple):
    """A law of targets, and rows."""

    targets: str
    n: int


DESIGNS = tuple(Design(law, n) for law in LAWS for n in (30, 100, 400, 1500))


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one, and how often there was a warning, by metric and method."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {metric: {} for metric in TRUTH}
    estimates: dict[str, list[float]] = {metric: [] for metric in TRUTH}
    for number in range(sets):
        rng = np.random.default_rng([number, design.n])
        y = LAWS[design.targets](rng, design.n)
        guess = y + ERROR * rng.normal(size=design.n)
        for metric, truth in TRUTH.items():
            for method in METHODS:
                found = jaxci.interval(metric, y, guess, method=method, n_resamples=999, rng=number)
                low, high = found.confidence_interval
                held[metric].setdefault(method, []).append((low <= truth <= high, high - low, bool(found.warnings)))
            estimates[metric].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width over the needed, warned")
