"""What 95% intervals of means of series with a season cover, one that stays and one that changes.

Run ``python benchmarks/fixed_seasons.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets. A season that stays is a wave, or a step of two sevenths of the period, of random phase, added to standard normal
noise that is independent or depends on the row before (.5). One that changes is an autoregression on the row a period
before. Stationary blocks of estimated length, through ``jaxci.interval`` with ``method="auto"``. "needed" is the width
by the root mean squared error of the estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.signal import lfilter
from simulated import simulate

import jaxci

RESAMPLES = 999


class Design(NamedTuple):
    """A kind of season, its period, amplitude or slope, and the number of rows."""

    kind: str
    period: int
    by: float
    n: int


DESIGNS = [
    *(Design("wave", period, by, n) for n in (120, 400, 1600) for period in (7, 12, 24) for by in (1.0, 3.0)),
    *(Design("wave", 365, by, 4000) for by in (1.0, 3.0)),
    *(Design("step", 7, 2.0, n) for n in (120, 400, 1600)),
    *(Design("wave on dependent rows", period, 2.0, n) for n in (120, 400, 1600) for period in (7, 24)),
    *(Design("changes", period, by, n) for n in (120, 400, 1600) for period in (7, 12) for by in (0.5, 0.8, 0.9)),
]


def draw(rng: np.random.Generator, design: Design) -> np.ndarray:
    """Return one series (n,)."""
    kind, period, by, n = design
    if kind == "changes":
        return lfilter([1.0], [1.0, *np.zeros(period - 1), -by], rng.normal(size=n + 100 * period))[100 * period :]
    rows = np.arange(n) + rng.integers(period)
    noise = lfilter([1.0], [1.0, -0.5 * (kind != "wave" and kind != "step")], rng.normal(size=n + 100))[100:]
    if kind == "step":
        return noise + by * ((rows % period < 2 * period / 7) - 2 / 7)
    return noise + by * np.sin(2 * np.pi * rows / period)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the coverage, mean and median width, and the width that is needed."""
    ends, errors = [], []
    for r in range(sets):
        x = draw(np.random.default_rng([r, *design[1::2], round(10 * design.by)]), design)
        errors.append(x.mean())
        found = jaxci.interval("mean", x, resampling="stationary", n_resamples=RESAMPLES, rng=r)
        ends.append(found.confidence_interval)
    low, high = np.array(ends).T
    needed = 2 * stats.norm.ppf(0.975) * np.sqrt(np.mean(np.square(errors)))
    kept = np.mean((low <= 0) & (high >= 0)), np.mean(high - low), np.median(high - low), needed
    return {"mean": {"auto": tuple(np.round(kept, 4).tolist())}}


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, mean width, median width, needed")
