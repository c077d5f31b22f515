"""What 95% intervals of means of smooth series cover, in which rows follow each other closely.

Run ``python benchmarks/smooth_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets. Independent normal values under a moving average of normal weights of some standard deviation (rows), or with an
autoregression of order 2 with one root twice; true mean 0. Stationary blocks of estimated length, through
``jaxci.interval``: what ``method="auto"`` gives, and the percentiles. "told" is the share of data sets in which a
remark says that rows follow each other closely.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

import jaxci

METHODS = ("auto", "percentile")
RESAMPLES = 999
DESIGNS = [("smoothed", 3, 400), ("smoothed", 5, 400), ("smoothed", 5, 1600), ("smoothed", 15, 1600)]
DESIGNS += [("double root", 0.8, 400), ("double root", 0.9, 400), ("double root", 0.95, 1600)]


def draw(rng: np.random.Generator, kind: str, how: float, n: int) -> np.ndarray:
    """Return one series (n,)."""
    if kind == "smoothed":
        reach = int(6 * how)
        return gaussian_filter1d(rng.normal(size=n + 2 * reach), how)[reach : reach + n]
    return lfilter([1.0], [1.0, -2 * how, how * how], rng.normal(size=n + 500))[500:]


def design(kind: str, how: float, n: int, sets: int) -> dict[str, Any]:
    """Return the coverage and mean width of every method."""
    held, width, told = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0.0), 0
    for r in range(sets):
        x = draw(np.random.default_rng([r, n, round(100 * how)]), kind, how, n)
        for method in METHODS:
            options = {"method": method, "resampling": "stationary", "n_resamples": RESAMPLES, "rng": r}
            found = jaxci.interval("mean", x, **options)
            low, high = found.confidence_interval
            held[method] += bool(low <= 0 <= high)
            width[method] += high - low
            told += method == "auto" and any("follow each other so closely" in text for text in found.warnings)
    of = {name: {m: x / sets for m, x in one.items()} for name, one in (("coverage", held), ("width", width))}
    return {"kind": kind, "by": how, "n": n, "sets": sets, **of, "told": told / sets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for kind, how, n in DESIGNS:
        rows.append(design(kind, how, n, arguments.sets))
        print(rows[-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"resamples": RESAMPLES, "designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
