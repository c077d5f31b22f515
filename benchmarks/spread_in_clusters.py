"""Simulate intervals for standard deviations, squared errors, R2 and correlations of rows in clusters.

Run ``python benchmarks/spread_in_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Through ``jaxci.interval``, nominal 95%, with the share of data sets whose result says that few
clusters decide; values of one cluster have a normal copula with correlation .5.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats
from simulated import keep, options

import jaxci

RESAMPLES = 999
SHAPES = (
    (8, 3, False),
    (20, 3, False),
    (20, 10, False),
    (50, 4, False),
    (60, 3, False),
    (100, 2, False),
    (200, 2, False),
    (8, 15, True),
    (20, 8, True),
    (60, 5, True),
)
"""Clusters, of so many rows; uneven ones are lognormal(0, 1) times as large."""
LAWS = {
    "normal": stats.norm(),
    "beta(8, 2)": stats.beta(8, 2),
    "t(5)": stats.t(5),
    "t(3)": stats.t(3),
    "exponential": stats.expon(),
    "lognormal(.8)": stats.lognorm(0.8),
}
METRICS = ("std", "r2", "pearsonr", "mean_squared_error")
METHODS = ("auto", "percentile", "bca")
ERROR = 0.6
"""Standard deviation of the errors of predictions, over that of the values."""
MANY = 300_000
"""Clusters that the true values are read off."""


def groups_of(clusters: int, rows: int, uneven: bool) -> np.ndarray:
    """Return the cluster (n,) of every row."""
    if not uneven:
        return np.repeat(np.arange(clusters), rows)
    spread = np.exp(stats.norm.ppf((np.arange(clusters) + 0.5) / clusters))
    return np.repeat(np.arange(clusters), np.maximum(1, np.round(rows * spread)).astype(int))


def drawn(law: Any, rng: np.random.Generator, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values and predictions (n,)."""
    both = []
    for _ in range(2):
        normal = rng.normal(size=groups[-1] + 1)[groups] + rng.normal(size=len(groups))
        both.append(law.ppf(stats.norm.cdf(normal / np.sqrt(2))))
    values, errors = both
    return values, values + ERROR * (errors - law.mean())


def truths(law: Any) -> dict[str, float]:
    """Return the true values."""
    values, predictions = drawn(law, np.random.default_rng(0), np.arange(MANY))
    unexplained = np.mean((values - predictions) ** 2)
    return {
        "std": float(law.std()),
        "r2": float(1 - unexplained / values.var()),
        "pearsonr": float(np.corrcoef(values, predictions)[0, 1]),
        "mean_squared_error": float(unexplained),
    }


def design(law: Any, clusters: int, rows: int, uneven: bool, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and the share of remarks on few clusters of every method, by metric."""
    groups, true = groups_of(clusters, rows, uneven), truths(law)
    held: dict[tuple[str, str], list[tuple[bool, float, bool]]] = {}
    for number in range(sets):
        values, predictions = drawn(law, np.random.default_rng([number, clusters, rows]), groups)
        for metric in METRICS:
            data = (values,) if metric == "std" else (values, predictions)
            for method in METHODS:
                options = {"method": method, "groups": groups, "n_resamples": RESAMPLES, "rng": number}
                found = jaxci.interval(metric, *data, **options)
                low, high = found.confidence_interval
                told = any("clusters decide the estimate" in said for said in found.warnings)
                held.setdefault((metric, method), []).append((low <= true[metric] <= high, high - low, told))
    return {
        metric: {method: tuple(np.round(np.mean(held[metric, method], axis=0), 4).tolist()) for method in METHODS}
        for metric in METRICS
    }


def main() -> None:
    given = options(__doc__, sets=150)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for clusters, rows, uneven in SHAPES:
        for name, law in LAWS.items():
            one = design(law, clusters, rows, uneven, given.sets)
            shape = {"clusters": clusters, "rows": rows, "uneven": uneven}
            found.append({**shape, "law": name, "coverage, width, told": one})
            cells = "   ".join(f"{m} " + " ".join(f"{c:.3f}" for c, *_ in by.values()) for m, by in one.items())
            kind = "uneven" if uneven else ""
            print(f"{clusters:3d} x {rows:2d} {kind:6s} {name:12s} {cells}", flush=True)
    print("each metric:", ", ".join(METHODS))
    keep(given, found)


if __name__ == "__main__":
    main()
