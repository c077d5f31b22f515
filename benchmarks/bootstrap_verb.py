"""``jaxci.bootstrap`` beside ``scipy.stats.bootstrap``: the same calls, B = 9,999, warm medians, in one run.

    python benchmarks/bootstrap_verb.py --json FILE

SciPy gets the fastest of three batch sizes.
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
from versus_scipy import B, median_time

import jaxci


def share_of_sums(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    return x.sum(axis) / y.sum(axis)


def correlation(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    dx, dy = x - x.mean(axis, keepdims=True), y - y.mean(axis, keepdims=True)
    return (dx * dy).sum(axis) / np.sqrt((dx**2).sum(axis) * (dy**2).sum(axis))


def upper_tenth(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.quantile(x, 0.9, axis=axis)


STATISTICS: dict[str, tuple[Callable[..., Any], int]] = {
    "np.mean": (np.mean, 1),
    "np.std": (np.std, 1),
    "np.median": (np.median, 1),
    "np.quantile, by a function of one's own": (upper_tenth, 1),
    "ratio of sums, paired": (share_of_sums, 2),
    "correlation, paired": (correlation, 2),
}
"""Functions, and how many samples each takes."""


def rows(repeats: int) -> list[dict[str, Any]]:
    found = []
    rng = np.random.default_rng(0)
    for n in (100, 1_000, 10_000):
        columns = rng.gamma(4.0, size=(2, n))
        for name, (function, taken) in STATISTICS.items():
            given: dict[str, Any] = {"paired": taken == 2, "vectorized": True, "n_resamples": B, "method": "BCa"}
            data = tuple(columns[:taken])
            ours = median_time(lambda data=data, f=function, more=given: jaxci.bootstrap(data, f, **more), repeats)
            theirs = min(
                median_time(
                    lambda data=data, f=function, more=given, b=b: stats.bootstrap(data, f, batch=b, **more), repeats
                )
                for b in (10, 100, 1_000)
            )
            row = {"what": name, "n": n, "seconds": ours, "scipy_seconds": theirs, "ratio": theirs / ours}
            print(f"{name:40s} n = {n:6,}: {1e3 * ours:8.1f} ms, SciPy {1e3 * theirs:8.1f} ms, {row['ratio']:.2f}x")
            found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = {"rows": rows(options.repeats)}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
