"""Simulate intervals for standard deviations, R2 and correlations of rows in clusters, through ``jaxci.interval``.

Run ``python benchmarks/spread_in_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Nominal 95%; values of one cluster have a normal copula with correlation .5.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats
from simulated import keep, options

import jaxci

RESAMPLES = 999
SHAPES = ((8, 3), (20, 3), (20, 10), (50, 4))
LAWS = {"normal": stats.norm(), "beta(8, 2)": stats.beta(8, 2), "t(5)": stats.t(5), "exponential": stats.expon()}
METRICS = ("std", "r2", "pearsonr")
METHODS = ("auto", "percentile", "bca")
ERROR = 0.6
"""Standard deviation of the errors of predictions, over that of the values."""
MANY = 300_000
"""Clusters that the true values are read off."""


def drawn(law: Any, rng: np.random.Generator, clusters: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values and predictions (clusters * rows,)."""
    both = []
    for _ in range(2):
        normal = np.repeat(rng.normal(size=clusters), rows) + rng.normal(size=clusters * rows)
        both.append(law.ppf(stats.norm.cdf(normal / np.sqrt(2))))
    values, errors = both
    return values, values + ERROR * (errors - law.mean())


def truths(law: Any) -> dict[str, float]:
    """Return the true values."""
    values, predictions = drawn(law, np.random.default_rng(0), MANY, 1)
    unexplained = np.mean((values - predictions) ** 2)
    return {
        "std": float(law.std()),
        "r2": float(1 - unexplained / values.var()),
        "pearsonr": float(np.corrcoef(values, predictions)[0, 1]),
    }


def design(law: Any, clusters: int, rows: int, sets: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Return coverage and mean width of every method, by metric."""
    groups, true = np.repeat(np.arange(clusters), rows), truths(law)
    held: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for number in range(sets):
        values, predictions = drawn(law, np.random.default_rng([number, clusters, rows]), clusters, rows)
        for metric in METRICS:
            data = (values,) if metric == "std" else (values, predictions)
            for method in METHODS:
                options = {"method": method, "groups": groups, "n_resamples": RESAMPLES, "rng": number}
                low, high = jaxci.interval(metric, *data, **options).confidence_interval
                held.setdefault((metric, method), []).append((low <= true[metric] <= high, high - low))
    return {
        metric: {method: tuple(np.round(np.mean(held[metric, method], axis=0), 4).tolist()) for method in METHODS}
        for metric in METRICS
    }


def main() -> None:
    given = options(__doc__, sets=150)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for clusters, rows in SHAPES:
        for name, law in LAWS.items():
            one = design(law, clusters, rows, given.sets)
            found.append({"clusters": clusters, "rows": rows, "law": name, "coverage, width": one})
            cells = "   ".join(f"{m} " + " ".join(f"{c:.3f}" for c, _ in by.values()) for m, by in one.items())
            print(f"{clusters:3d} x {rows:2d} {name:12s} {cells}", flush=True)
    print("each metric:", ", ".join(METHODS))
    keep(given, found)


if __name__ == "__main__":
    main()
