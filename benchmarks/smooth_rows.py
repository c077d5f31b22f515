"""What 95% intervals of means of smooth series cover, in which rows follow each other closely.

Run ``python benchmarks/smooth_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets. Independent normal values under a moving average of normal weights of some standard deviation (rows), or with an
autoregression of order 2 with one root twice; true mean 0. Stationary blocks of estimated length, through
``jaxci.interval``: what ``method="auto"`` gives, and the percentiles. "told" is the share of data sets in which a
remark says that rows follow each other closely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter
from simulated import simulate

import jaxci

METHODS = ("auto", "percentile")
RESAMPLES = 999


class Design(NamedTuple):
    """A kind of series: the standard deviation of the weights, or the root, and the number of rows."""

    kind: str
    by: float
    n: int


DESIGNS = [
    *(Design("smoothed", by, n) for by, n in ((3, 400), (5, 400), (5, 1600), (15, 1600))),
    *(Design("double root", by, n) for by, n in ((0.8, 400), (0.9, 400), (0.95, 1600))),
]


def draw(rng: np.random.Generator, design: Design) -> np.ndarray:
    """Return one series (n,)."""
    kind, by, n = design
    if kind == "smoothed":
        reach = int(6 * by)
        return gaussian_filter1d(rng.normal(size=n + 2 * reach), by)[reach : reach + n]
    return lfilter([1.0], [1.0, -2 * by, by * by], rng.normal(size=n + 500))[500:]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the coverage and mean width of every method, and how often the remark was made."""
    kept: dict[str, list[tuple[bool, float, bool]]] = {method: [] for method in METHODS}
    for r in range(sets):
        x = draw(np.random.default_rng([r, design.n, round(100 * design.by)]), design)
        for method in METHODS:
            options = {"method": method, "resampling": "stationary", "n_resamples": RESAMPLES, "rng": r}
            found = jaxci.interval("mean", x, **options)
            low, high = found.confidence_interval
            told = any("follow each other so closely" in text for text in found.warnings)
            kept[method].append((low <= 0 <= high, high - low, told))
    return {"mean": {method: tuple(np.mean(rows, axis=0).tolist()) for method, rows in kept.items()}}


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width, told")
