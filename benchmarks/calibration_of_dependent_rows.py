"""Simulate intervals for the root mean squared calibration error of rows with weights or in clusters.

Run ``python benchmarks/calibration_of_dependent_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the
number of data sets a design. Through ``jaxci.interval``, nominal 95%, by default and with the basic bootstrap.
"""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
from scipy import special, stats
from simulated import keep, options

import jaxci

METRIC, BINS = "root_mean_squared_calibration_error", 15
METHODS = ("auto", "basic")
RESAMPLES = 999
SHAPES = (
    ("weights", 50, 1, False),
    ("weights", 200, 1, False),
    ("clusters", 5, 10, False),
    ("clusters", 5, 10, True),
    ("clusters", 20, 5, False),
    ("clusters", 20, 30, False),
    ("clusters", 20, 30, True),
    ("clusters", 20, 100, True),
    ("clusters", 50, 4, True),
    ("clusters", 60, 30, True),
)
"""Clusters, of so many rows; the sizes of uneven ones have a negative binomial law, their standard deviation 1.2 times
the mean. Weights are lognormal(0, 1)."""
LOGITS = {"balanced": (0.0, 3.0), "rare": (-4.0, 2.0)}
"""Mean and standard deviation of the logits of the probabilities."""
SHIFTS = (0.0, 1.0)
"""By how much the logits are too small."""
SPREAD = {"weights": (0.0,), "clusters": (0.0, 1.0, 2.0)}
"""Standard deviation of what all logits of a cluster have besides."""
OF_CLUSTERS = 0.7
"""Correlation of a cluster's mean logit with each of its logits."""


@functools.cache
def truth(logits: tuple[float, float], shift: float, spread: float) -> float:
    """Return the error of the law of all rows."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    logit = logits[0] + logits[1] * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    p = special.expit(logit)
    true = special.expit(logit[:, None] + shift + spread * nodes) @ (weights / weights.sum())
    bins = np.minimum((BINS * p).astype(int), BINS - 1)
    rows = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, true - p, BINS) / np.maximum(rows, 1)
    return math.sqrt(rows @ gaps**2 / rows.sum())


def sizes_of(rng: np.random.Generator, clusters: int, rows: int, uneven: bool) -> np.ndarray:
    """Return the rows of every cluster."""
    if not uneven:
        return np.full(clusters, rows)
    return 1 + rng.negative_binomial(0.7, 0.7 / (rows - 0.3), clusters)


def design(kind: str, clusters: int, rows: int, uneven: bool, by: str, spread: float, shift: float, sets: int) -> dict:
    """Return coverage, mean width and the share of results that say it may be less, of every method."""
    mean, scale = LOGITS[by]
    true = truth(LOGITS[by], shift, spread)
    held: dict[str, list[tuple[bool, float, bool]]] = {method: [] for method in METHODS}
    for number in range(sets):
        rng = np.random.default_rng([number, clusters, rows])
        groups = np.repeat(np.arange(clusters), sizes_of(rng, clusters, rows, uneven))
        n, common = len(groups), OF_CLUSTERS * rng.normal(size=clusters)[groups]
        logit = mean + scale * (common + math.sqrt(1 - OF_CLUSTERS**2) * rng.normal(size=n))
        chance = special.expit(logit + shift + spread * rng.normal(size=clusters)[groups])
        y = (rng.random(n) < chance).astype(int)
        if not 0 < y.sum() < n:
            continue
        given = {"groups": groups} if kind == "clusters" else {"sample_weight": np.exp(rng.normal(size=n))}
        for method in METHODS:
            extra = {"n_resamples": RESAMPLES, "rng": number, "method": method}
            found = jaxci.interval(METRIC, y, special.expit(logit), **given, **extra)
            low, high = found.confidence_interval
            told = any("of calibration errors covered" in x or "decide the estimate" in x for x in found.warnings)
            held[method].append((low <= true + 1e-9 and true <= high, high - low, told))
    return {method: np.round(np.mean(held[method], axis=0), 4).tolist() for method in METHODS}


def main() -> None:
    given = options(__doc__, sets=150)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for kind, clusters, rows, uneven in SHAPES:
        for by in LOGITS:
            for spread in SPREAD[kind]:
                for shift in SHIFTS:
                    one = design(kind, clusters, rows, uneven, by, spread, shift, given.sets)
                    shape = {"kind": kind, "clusters": clusters, "rows": rows, "uneven": uneven}
                    found.append({**shape, "by": by, "spread": spread, "shift": shift, "coverage, width, told": one})
                    cells = "   ".join(f"{m} {c:.3f} {w:.3f} {told:.2f}" for m, (c, w, told) in one.items())
                    print(f"{kind} {clusters:3d} x {rows:3d} {uneven!s:5s} {by} {spread} {shift}  {cells}", flush=True)
    keep(given, found)


if __name__ == "__main__":
    main()
