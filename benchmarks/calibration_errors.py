"""Simulate the interval for the root mean squared calibration error of rows with weights, in strata, clusters or time.

Run ``python benchmarks/calibration_errors.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the
number of data sets a design. Through ``jaxci.interval``, nominal 95%, and in some designs beside what resamples tell
alone: the basic bootstrap, and ``block_t`` of rows in time.
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
RESAMPLES = 999
SIZES = {
    "rows": ((30, 1, False), (50, 1, False), (100, 1, False), (300, 1, False)),
    "weights": ((30, 1, False), (50, 1, False), (100, 1, False), (300, 1, False)),
    "class weights": ((30, 1, False), (50, 1, False), (100, 1, False), (300, 1, False)),
    "strata": ((30, 1, False), (100, 1, False), (300, 1, False)),
    "clusters": (
        *((5, 6, False), (5, 10, True), (8, 12, False), (8, 12, True), (20, 5, True), (20, 15, False)),
        *((20, 30, True), (20, 100, True), (50, 6, True), (60, 30, True)),
    ),
    "weighted clusters": ((8, 12, False), (20, 15, True)),
    "time": ((1, 30, False), (1, 100, False), (1, 300, False), (1, 1_000, False)),
}
"""Clusters, of so many rows; the sizes of uneven ones have a negative binomial law, their standard deviation 1.2 times
the mean."""
RESAMPLED = {"weights": "basic", "clusters": "basic", "time": "block_t"}
"""What the default is compared with, where models are balanced or rare and not overconfident."""
MODELS = {"balanced": (0.0, 3.0), "good": (0.0, 8.0), "rare": (-4.0, 2.0), "1%": (-6.0, 1.8)}
"""Mean and standard deviation of the logits of the probabilities. Good models are right in 96%."""
ERRORS = {"calibrated": (0.0, 1.0), "too low": (1.0, 1.0), "overconfident": (0.0, 0.5)}
"""What is added to the logits, and by how much they are multiplied, for the true ones."""
SPREAD = {"clusters": (0.0, 2.0), "weighted clusters": (0.0, 2.0), "time": (0.0, 1.0)}
"""Standard deviation of what all logits of a cluster have besides, or rows that follow each other have alike."""
SLOPES = {"time": (0.6, 0.9)}
"""Of the autoregressions that logits, and what they have besides, follow in time."""
POSITIVE, STRATA = 5.0, (-2.0, 0.0, 2.0)
"""Class weight of positive rows, and what is added to the logits of each stratum. Other weights are lognormal(0, 1)."""
OF_CLUSTERS = 0.7
"""Correlation of a cluster's mean logit with each of its logits."""


class Design(NamedTuple):
    """One design, of the constants of this module."""

    kind: str
    clusters: int
    rows: int
    uneven: bool
    model: str
    errors: str
    spread: float
    slope: float


def designs() -> Iterator[Design]:
    """Yield all designs."""
    for kind, sizes in SIZES.items():
        settings = MODELS, ERRORS, SPREAD.get(kind, (0.0,)), SLOPES.get(kind, (0.0,))
        for size, *setting in itertools.product(sizes, *settings):
            yield Design(kind, *size, *setting)


@functools.cache
def truth(model: str, errors: str, spread: float, positive: float, strata: tuple[float, ...]) -> float:
    """Return the error of the law of all rows, of which positive ones have a weight."""
    (mean, scale), (shift, slope) = MODELS[model], ERRORS[errors]
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    rows, gaps = np.zeros(BINS), np.zeros(BINS)
    for stratum in strata:
        logit = mean + stratum + scale * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
        p = special.expit(logit)
        true = special.expit(slope * logit[:, None] + shift + spread * nodes) @ (weights / weights.sum())
        bins = np.minimum((BINS * p).astype(int), BINS - 1)
        rows += np.bincount(bins, positive * true + 1 - true, BINS)
        gaps += np.bincount(bins, positive * true * (1 - p) - (1 - true) * p, BINS)
    means = gaps / np.where(rows > 0, rows, 1.0)
    return math.sqrt(rows @ means**2 / rows.sum())


def sizes_of(rng: np.random.Generator, given: Design) -> np.ndarray:
    """Return the rows of every cluster."""
    if not given.uneven:
        return np.full(given.clusters, given.rows)
    return 1 + rng.negative_binomial(0.7, 0.7 / (given.rows - 0.3), given.clusters)


def series(rng: np.random.Generator, n: int, slope: float) -> np.ndarray:
    """Return an autoregression (n,) of standard normal values."""
    noise = rng.normal(size=n)
    noise[1:] *= math.sqrt(1 - slope**2)
    found: np.ndarray = signal.lfilter([1.0], [1.0, -slope], noise)
    return found


def drawn(rng: np.random.Generator, given: Design) -> tuple[np.ndarray, np.ndarray, dict[str, Any], float]:
    """Return classes and logits (n,) of one data set, how its rows differ or depend on each other, and the truth."""
    (mean, scale), (shift, slope) = MODELS[given.model], ERRORS[given.errors]
    groups = np.repeat(np.arange(given.clusters), sizes_of(rng, given))
    n = len(groups)
    if given.kind == "time":
        logit, besides = series(rng, n, given.slope), series(rng, n, given.slope)
    else:
        common = OF_CLUSTERS * rng.normal(size=given.clusters)[groups]
        logit = common + math.sqrt(1 - OF_CLUSTERS**2) * rng.normal(size=n)
        besides = rng.normal(size=given.clusters)[groups]
    strata, stratum = (STRATA, np.arange(n) % len(STRATA)) if given.kind == "strata" else ((0.0,), np.zeros(n, int))
    logit = mean + scale * logit + np.array(strata)[stratum]
    y = (rng.random(n) < special.expit(slope * logit + shift + given.spread * besides)).astype(int)
    weights, positive = np.exp(rng.normal(size=n)), 1.0
    if given.kind == "class weights":
        weights, positive = np.where(y == 1, POSITIVE, 1.0), POSITIVE
    told = {
        "rows": {},
        "strata": {"strata": stratum},
        "clusters": {"groups": groups},
        "weighted clusters": {"groups": groups, "sample_weight": weights},
        "time": {"resampling": "stationary"},
    }
    rows = told.get(given.kind, {"sample_weight": weights})
    return y, logit, rows, truth(given.model, given.errors, given.spread, positive, strata)


def simulated(given: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and the share of results that say it may be less, of every method."""
    other = given.model in ("balanced", "rare") and given.errors != "overconfident" and given.kind in RESAMPLED
    held: dict[str, list[tuple[bool, float, bool]]] = {"auto": [], **({RESAMPLED[given.kind]: []} if other else {})}
    for number in range(sets):
        y, logit, rows, true = drawn(np.random.default_rng([number, given.clusters, given.rows]), given)
        if not 0 < y.sum() < len(y):
            continue
        for method, found in held.items():
            extra = {"n_resamples": RESAMPLES, "rng": number, "method": method}
            row = jaxci.interval(METRIC, y, special.expit(logit), **rows, **extra)
            low, high = row.confidence_interval
            told = any(x in said for said in row.warnings for x in ("calibration errors", "decide the", "are rough"))
            found.append((low <= true + 1e-9 and true <= high, high - low, told))
    return {METRIC: {method: tuple(np.round(np.mean(x, axis=0), 4).tolist()) for method, x in held.items()}}


def main() -> None:
    simulate(__doc__, designs(), 150, simulated, "coverage, width, told")


if __name__ == "__main__":
    main()
