"""Time and memory of measuring pairs of masks of 128 x 128 x 128 voxels, one pair in memory at a time.

    python benchmarks/masks.py --pairs 200 --json benchmarks/results/masks.json

Masks are rough ellipsoids with radii of 18 to 40 voxels; with ``--full`` they reach through the whole image. Making a
pair counts, too, and is told apart. Each surface runs in a process of its own, so that its peak memory (VmHWM of /proc)
is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SIZE = 128
SPACING = (2.0, 0.8, 0.8)
SURFACES = ("elements", "voxels", "faces")


def ellipsoid(rng: np.random.Generator, low: float, high: float, centre: np.ndarray) -> np.ndarray:
    """Return an ellipsoid with radii between ``low`` and ``high`` voxels and a rough surface."""
    grid = np.ogrid[:SIZE, :SIZE, :SIZE]
    away = sum(((x - c) / r) ** 2 for x, c, r in zip(grid, centre, rng.uniform(low, high, 3), strict=True))
    return away + rng.uniform(-0.1, 0.1, (SIZE,) * 3).astype(np.float32) <= 1


def pairs(n: int, full: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs: a reference, and a prediction with other radii that lies two voxels beside."""
    for number in range(n):
        rng = np.random.default_rng(number)
        low, high = (55.0, 63.0) if full else (18.0, 40.0)
        centre = np.full(3, SIZE / 2)
        yield ellipsoid(rng, low, high, centre + rng.integers(-2, 3, 3)), ellipsoid(rng, low, high, centre)


def run(n: int, surface: str, full: bool) -> dict[str, float]:
    """Measure, after a pair that compiles; return seconds and the peak memory."""
    import jaxci

    made = 0.0

    def timed() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        nonlocal made
        source = pairs(n, full)
        while True:
            start = time.perf_counter()
            pair = next(source, None)
            made += time.perf_counter() - start
            if pair is None:
                return
            yield pair

    class Sides:
        """One pair at a time, each side asked for in turn."""

        def __init__(self) -> None:
            self.source = timed()

        def predictions(self) -> Iterator[np.ndarray]:
            for prediction, reference in self.source:
                self.reference = reference
                yield prediction
                del prediction, reference

        def references(self) -> Iterator[np.ndarray]:
            while True:
                yield self.reference

    one = next(pairs(1, full))
    options = {"spacing": SPACING, "tolerance": 2.0, "surface": surface}
    jaxci.segmentation.cases([one[0]], [one[1]], **options)
    sides = Sides()
    start = time.perf_counter()
    cpu = time.process_time()
    references = sides.references()
    table = jaxci.segmentation.cases(sides.predictions(), (next(references) for _ in range(n)), **options)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    status = Path("/proc/self/status").read_text()
    return {
        "pairs": n,
        "seconds": seconds,
        "seconds making pairs": made,
        "cpu seconds": cpu,
        "peak MiB": int(status.split("VmHWM:")[1].split()[0]) / 1024,
        "mean dice": float(table["dice"].mean()),
        "mean hd95": float(table["hd95"].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--surface", choices=SURFACES)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="*", default=SURFACES)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if asked.surface:
        print(json.dumps(run(asked.pairs, asked.surface, asked.full)))
        return
    found = {}
    for surface in asked.only:
        command = [sys.executable, __file__, "--surface", surface, "--pairs", str(asked.pairs)]
        load = os.getloadavg()[0]
        text = subprocess.run(command + ["--full"] * asked.full, capture_output=True, text=True, check=True).stdout
        found[surface] = {**json.loads(text.splitlines()[-1]), "load before": load}
        print(surface, found[surface], flush=True)
    if asked.json:
        from importlib.metadata import version

        about = {
            "voxels": SIZE**3,
            "full": asked.full,
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "versions": {name: version(name) for name in ("jax", "numpy", "scipy")},
            "date": time.strftime("%Y-%m-%d"),
        }
        asked.json.write_text(json.dumps({**about, "surfaces": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
