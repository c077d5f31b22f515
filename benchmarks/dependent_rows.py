"""Coverage of blocks of rows where each depends on the one before, through the verb that users call.

    python benchmarks/dependent_rows.py [--replications 300] [--json OUT]

Autoregressions of the first order, and on the same day of the week before: their mean, their median, the shares of
values within one standard deviation of their law and below its 95% quantile, and the area under the curve of scores
that depend on each other, of classes that do. 95% intervals of 999 resamples: percentiles of single rows and of
blocks whose length is estimated, and what ``method="auto"`` gives for these.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

import jaxci

WAYS = {
    "rows": {"method": "percentile"},
    "blocks, percentile": {"method": "percentile", "resampling": "stationary"},
    "blocks, auto": {"resampling": "stationary"},
}
GAP, LARGE_GAP = 1.2, 3.1
"""Of the mean scores of two classes, in standard deviations: areas of .80 and .986."""


def autoregression(n: int, slope: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    """Return values with variance 1, each with ``slope`` on the one ``lag`` rows before."""
    past = [1.0, *np.zeros(lag - 1), -slope]
    return lfilter([np.sqrt(1 - slope**2)], past, rng.normal(size=n + 300))[300:]


def share(below: Callable[[np.ndarray], np.ndarray]) -> Callable[..., tuple[str, tuple[np.ndarray, ...]]]:
    """Return what makes labels of which a share is right."""
    return lambda x, _: ("accuracy", (below(x), np.ones(len(x), bool)))


def scored(gap: float) -> tuple[Callable[..., tuple[str, tuple[np.ndarray, ...]]], float]:
    """Return what makes classes and their scores, and the area."""
    return lambda x, other: ("roc_auc", (other > 0, x + gap * (other > 0))), float(stats.norm.cdf(gap / np.sqrt(2)))


STATISTICS: dict[str, tuple[Callable[..., tuple[str, tuple[np.ndarray, ...]]], float]] = {
    "mean": (lambda x, _: ("mean", (x,)), 0.0),
    "median": (lambda x, _: ("median", (x,)), 0.0),
    "accuracy of 68%": (share(lambda x: np.abs(x) < 1), float(1 - 2 * stats.norm.sf(1))),
    "accuracy of 95%": (share(lambda x: x < stats.norm.ppf(0.95)), 0.95),
    "area": scored(GAP),
    "area near 1": scored(LARGE_GAP),
}
"""How data are made of two series, and the true value."""


SIZES = (100, 400, 1600)
DESIGNS = [
    *((n, slope, 1, name) for n in SIZES for slope in (0.0, 0.3, 0.6, 0.9) for name in [*STATISTICS][:5]),
    *((n, 0.5, 7, "mean") for n in SIZES),
    *((n, 0.6, 1, "area near 1") for n in (30, *SIZES)),
]
"""Rows, slope, on which row before, and statistic."""


def row(statistic: str, n: int, slope: float, lag: int, replications: int) -> dict[str, Any]:
    """Return coverages and median widths by the way of resampling."""
    made, truth = STATISTICS[statistic]
    held, widths = dict.fromkeys(WAYS, 0), {way: [] for way in WAYS}
    for seed in range(replications):
        rng = np.random.default_rng([seed, n])
        name, data = made(autoregression(n, slope, lag, rng), autoregression(n, slope, lag, rng))
        for way, options in WAYS.items():
            low, high = jaxci.interval(name, *data, n_resamples=999, rng=seed, **options).confidence_interval
            held[way] += low <= truth <= high
            widths[way].append(high - low)
    return {
        "statistic": statistic,
        "n": n,
        "slope": slope,
        "lag": lag,
        "replications": replications,
        **{f"coverage, {way}": int(count) / replications for way, count in held.items()},
        **{f"width, {way}": float(np.median(found)) for way, found in widths.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for n, slope, lag, statistic in DESIGNS:
        rows.append(row(statistic, n, slope, lag, options.replications))
        found = "  ".join(f"{way} {rows[-1][f'coverage, {way}']:.3f}" for way in WAYS)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{statistic:15s} n = {n}, slope {slope} on row -{lag}: {found}", flush=True)


if __name__ == "__main__":
    main()
