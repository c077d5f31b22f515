"""Whole-curve ROC bands of jaxci beside those of rocci: how often they hold, and how high they are.

    python benchmarks/curves_beside.py [--sets 200] [--json FILE]

Binormal scores, whose curve is known; bands at 99 specificities, .01 to .99. Without rocci jaxci stands alone.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import jaxci

DESIGNS = ((100, 0.5, 0.9), (100, 0.5, 0.98), (200, 0.2, 0.95), (1000, 0.3, 0.9))
"""Rows, share of positives, area."""
SPECIFICITIES = np.arange(1, 100) / 100
Band = tuple[np.ndarray, np.ndarray]


def of_jaxci(y: np.ndarray, score: np.ndarray, seed: int) -> Band:
    """Return the simultaneous band of sensitivities."""
    curve = jaxci.curves.roc(y, score, grid=SPECIFICITIES, n_resamples=1999, rng=seed)
    return curve.simultaneous.low, curve.simultaneous.high


def of_rocci(y: np.ndarray, score: np.ndarray, seed: int) -> Band:
    """Return the same of rocci, linear between the points of its grid."""
    import rocci

    band = rocci.roc_band(y, score, n_boot=2000, random_state=seed)
    return tuple(np.interp(1 - SPECIFICITIES, band.fpr, x) for x in (band.lower, band.upper))  # type: ignore[return-value]


def judged(bands: Callable[..., Band], design: tuple[int, float, float], sets: int) -> dict[str, float]:
    """Return how often the band held the whole curve, its mean height, and milliseconds a call."""
    n, share, area = design
    apart = np.sqrt(2) * stats.norm.ppf(area)
    truth = stats.norm.sf(stats.norm.ppf(SPECIFICITIES) - apart)
    held, heights, times = [], [], []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        y = (np.arange(n) < round(n * share)).astype(int)
        score = rng.normal(size=n) + apart * y
        start = time.process_time()
        low, high = bands(y, score, seed)
        times.append(time.process_time() - start)
        held.append(bool(np.all((low <= truth + 1e-12) & (truth <= high + 1e-12))))
        heights.append(float(np.mean(high - low)))
    return {
        "held": float(np.mean(held)),
        "height": float(np.mean(heights)),
        "cpu_milliseconds": 1e3 * float(np.median(times)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    peers: dict[str, Callable[..., Band]] = {"jaxci": of_jaxci}
    if importlib.util.find_spec("rocci") is not None:
        peers["rocci"] = of_rocci
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"sets": options.sets, "versions": {p: importlib.metadata.version(p) for p in peers}}
    found["rows"] = []
    print("n     share  area  library  held   height  CPU ms")
    for design in DESIGNS:
        for name, bands in peers.items():
            row = judged(bands, design, options.sets)
            found["rows"].append({"n": design[0], "share": design[1], "area": design[2], "library": name, **row})
            print(
                f"{design[0]:<5d} {design[1]:<6g} {design[2]:<5g} {name:8s} {row['held']:.3f}  {row['height']:.3f}   "
                f"{row['cpu_milliseconds']:.0f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
