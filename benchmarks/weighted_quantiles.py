"""Simulate intervals of quantiles of few rows with weights or in strata, through ``jaxci.interval``.

Run ``python benchmarks/weighted_quantiles.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Weights tell nothing of values, or rows of high values were drawn more often and weigh less. Nominal
95%.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from simulated import over_needed, simulate

import jaxci

METHODS = ("auto", "percentile")
LAWS = {"normal": stats.norm(), "exponential": stats.expon(), "poisson": stats.poisson(20)}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "q = .1": ("quantile", {"q": 0.1}),
    "median": ("median", {}),
    "q = .9": ("quantile", {"q": 0.9}),
    "iqr": ("iqr", {}),
}


class Design(NamedTuple):
    """A law of the values, how rows were drawn, and how many."""

    law: str
    rows: str
    n: int

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return values (n,) and what else is known of their rows."""
        n = self.n
        x = LAWS[self.law].rvs(size=n, random_state=rng).astype(float)
        if self.rows == "strata":
            return x, {"strata": np.arange(n) % 4}
        if self.rows == "drawn by value":  # a row is kept with the chance 1 / weight
            many = LAWS[self.law].rvs(size=200 * n, random_state=rng).astype(float)
            weight = 1 + 9 * np.exp(-np.maximum(many, 0))
            x = many[rng.random(200 * n) < 1 / weight][:n]
            return x, {"sample_weight": 1 + 9 * np.exp(-np.maximum(x, 0))}
        weights = {
            "gamma": rng.gamma(2.0, size=n),
            "1 to 100": np.exp(rng.random(n) * np.log(100)),
            "a fifth tenfold": np.where(rng.random(n) < 0.2, 10.0, 1.0),
        }
        return x, {"sample_weight": weights[self.rows]}


ROWS = ("gamma", "1 to 100", "a fifth tenfold", "drawn by value", "strata")
DESIGNS = [Design(law, rows, n) for n in (30, 100, 300) for rows in ROWS for law in LAWS]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one and share of remarks, by method."""
    law = LAWS[design.law]
    true = {
        "q = .1": law.ppf(0.1),
        "median": law.ppf(0.5),
        "q = .9": law.ppf(0.9),
        "iqr": law.ppf(0.75) - law.ppf(0.25),
    }
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    estimates: dict[str, list[float]] = {}
    for number in range(sets):
        x, given = design.draw(np.random.default_rng([number, design.n]))
        for asked, (statistic, options) in ASKED.items():
            for method in METHODS:
                row = jaxci.interval(statistic, x, method=method, n_resamples=999, rng=number, **options, **given)
                low, high = row.confidence_interval
                found = (low <= true[asked] <= high, high - low, any("all values" in told for told in row.warnings))
                held.setdefault(asked, {}).setdefault(method, []).append(found)
            estimates.setdefault(asked, []).append(row.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width over the needed, told")
