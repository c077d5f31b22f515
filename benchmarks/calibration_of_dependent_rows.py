"""Simulate intervals for the root mean squared calibration error of rows with weights, in clusters or in time.

Run ``python benchmarks/calibration_of_dependent_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the
number of data sets a design. Through ``jaxci.interval``, nominal 95%, by default and by what resamples tell alone: the
basic bootstrap, and ``block_t`` of rows in time.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import signal, special, stats
from simulated import simulate

import jaxci

METRIC, BINS = "root_mean_squared_calibration_error", 15
METHODS = {"weights": ("auto", "basic"), "clusters": ("auto", "basic"), "time": ("auto", "block_t")}
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
    ("time", 1, 100, False),
    ("time", 1, 300, False),
    ("time", 1, 1_000, False),
)
"""Kind of design, clusters, of so many rows; the sizes of uneven ones have a negative binomial law, their standard
deviation 1.2 times the mean. Weights are lognormal(0, 1)."""
LOGITS = {"balanced": (0.0, 3.0), "rare": (-4.0, 2.0)}
"""Mean and standard deviation of the logits of the probabilities."""
SHIFTS = (0.0, 1.0)
"""By how much the logits are too small."""
SPREAD = {"weights": (0.0,), "clusters": (0.0, 1.0, 2.0), "time": (0.0, 1.0)}
"""Standard deviation of what all logits of a cluster have besides, or rows that follow each other have alike."""
SLOPES = {"weights": (0.0,), "clusters": (0.0,), "time": (0.6, 0.9)}
"""Of the autoregressions that logits, and what they have besides, follow in time."""
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


class Design(NamedTuple):
    """One design, of the constants of this module."""

    kind: str
    clusters: int
    rows: int
    uneven: bool
    by: str
    spread: float
    shift: float
    slope: float


def designs() -> Iterator[Design]:
    """Yield all designs."""
    for shape in SHAPES:
        kind = shape[0]
        for by, spread, shift, slope in itertools.product(LOGITS, SPREAD[kind], SHIFTS, SLOPES[kind]):
            yield Design(*shape, by, spread, shift, slope)


def series(rng: np.random.Generator, n: int, slope: float) -> np.ndarray:
    """Return an autoregression (n,) of standard normal values."""
    noise = rng.normal(size=n)
    noise[1:] *= math.sqrt(1 - slope**2)
    found: np.ndarray = signal.lfilter([1.0], [1.0, -slope], noise)
    return found


def drawn(rng: np.random.Generator, given: Design) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return classes and logits (n,) of one data set, and how its rows depend on each other."""
    groups = np.repeat(np.arange(given.clusters), sizes_of(rng, given.clusters, given.rows, given.uneven))
    n = len(groups)
    if given.kind == "time":
        logit, besides = series(rng, n, given.slope), series(rng, n, given.slope)
    else:
        common = OF_CLUSTERS * rng.normal(size=given.clusters)[groups]
        logit = common + math.sqrt(1 - OF_CLUSTERS**2) * rng.normal(size=n)
        besides = rng.normal(size=given.clusters)[groups]
    mean, scale = LOGITS[given.by]
    logit = mean + scale * logit
    y = (rng.random(n) < special.expit(logit + given.shift + given.spread * besides)).astype(int)
    if given.kind == "time":
        return y, logit, {"resampling": "stationary"}
    return y, logit, {"groups": groups} if given.kind == "clusters" else {"sample_weight": np.exp(rng.normal(size=n))}


def simulated(given: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and the share of results that say it may be less, of every method."""
    true, methods = truth(LOGITS[given.by], given.shift, given.spread), METHODS[given.kind]
    held: dict[str, list[tuple[bool, float, bool]]] = {method: [] for method in methods}
    for number in range(sets):
        y, logit, design = drawn(np.random.default_rng([number, given.clusters, given.rows]), given)
        if not 0 < y.sum() < len(y):
            continue
        for method in methods:
            extra = {"n_resamples": RESAMPLES, "rng": number, "method": method}
            found = jaxci.interval(METRIC, y, special.expit(logit), **design, **extra)
            low, high = found.confidence_interval
            told = any("of calibration errors" in x or "decide the estimate" in x for x in found.warnings)
            held[method].append((low <= true + 1e-9 and true <= high, high - low, told))
    return {METRIC: {method: tuple(np.round(np.mean(held[method], axis=0), 4).tolist()) for method in methods}}


def main() -> None:
    simulate(__doc__, designs(), 150, simulated, "coverage, width, told")


if __name__ == "__main__":
    main()
