"""Coverage of blocks of rows where each depends on the one before, through the verb that users call.

    python benchmarks/dependent_rows.py [--replications 300] [--json OUT]

Autoregressions of the first order: their mean, their median, and the share of values within one standard deviation
of their law. 95% percentile intervals of 999 resamples, of single rows and of blocks whose length is estimated.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

import jaxci

WAYS = ("bootstrap", "moving", "circular", "stationary")
STATISTICS = {"mean": 0.0, "median": 0.0, "accuracy": float(1 - 2 * stats.norm.sf(1))}


def autoregression(n: int, slope: float, seed: int) -> np.ndarray:
    """Return values with variance 1."""
    noise = np.random.default_rng([seed, n]).normal(size=n + 300)
    return lfilter([np.sqrt(1 - slope**2)], [1.0, -slope], noise)[300:]


def row(statistic: str, n: int, slope: float, replications: int) -> dict[str, Any]:
    """Return coverages and mean widths by the way of resampling."""
    held, width = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0.0)
    for seed in range(replications):
        x = autoregression(n, slope, seed)
        data = (np.abs(x) < 1, np.ones(n, bool)) if statistic == "accuracy" else (x,)
        for way in WAYS:
            low, high = jaxci.interval(
                statistic, *data, method="percentile", resampling=way, n_resamples=999, rng=seed
            ).confidence_interval
            held[way] += low <= STATISTICS[statistic] <= high
            width[way] += (high - low) / replications
    return {
        "statistic": statistic,
        "n": n,
        "slope": slope,
        "replications": replications,
        **{f"coverage, {way}": count / replications for way, count in held.items()},
        **{f"width, {way}": mean for way, mean in width.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for n in (100, 400, 1600):
        for slope in (0.0, 0.3, 0.6, 0.9):
            for statistic in STATISTICS:
                rows.append(row(statistic, n, slope, options.replications))
                found = "  ".join(f"{way} {rows[-1][f'coverage, {way}']:.3f}" for way in WAYS)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")
                print(f"{statistic:9s} n = {n}, slope {slope}: {found}", flush=True)


if __name__ == "__main__":
    main()
