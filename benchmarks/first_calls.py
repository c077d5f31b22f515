"""Seconds of first calls of a kind, each in a process of its own without kept programs, and with all optimized.

    python benchmarks/first_calls.py --repeats 5 --json FILE

Estimates and derivatives of few rows are computed by programs that XLA optimizes little (``jaxci.quick``). The same
calls are timed with these optimized as the others are, in turn, and once more in each process, where nothing is
compiled. Importing is not counted, nor what any first call loads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CALLS = {
    "evaluate, two classes": "evaluate(y, labels, p)",
    "evaluate, two classes, in 20 clusters": "evaluate(y, labels, p, groups=g)",
    "evaluate, two classes, by 8 groups": "evaluate(y, labels, p, by=h)",
    "evaluate, a regression": "evaluate(x, x + noise)",
    "interval, standard deviation": "interval('std', x)",
    "interval, rank correlation": "interval('spearmanr', x, x + noise)",
    "compare, average precision": "compare('average_precision', y, p, q)",
    "compare, F1": "compare('f1', y, labels, others)",
}
N = 1_000
WAYS = ("quick", "optimized")


def seconds(call: str, way: str) -> list[float]:
    """Return the seconds of the first call in this process, and of the faster of two more."""
    import jaxci
    from jaxci import quick

    if way == "optimized":
        quick.MOST_ROWS = 0
    rng = np.random.default_rng(0)
    y, g, h = rng.integers(0, 2, N), rng.integers(0, 20, N), rng.choice(list("abcdefgh"), N)
    p, q = (np.clip(0.3 * y + 0.7 * rng.random(N), 0, 1) for _ in range(2))
    x, noise = rng.normal(size=(2, N))
    data = {"y": y, "g": g, "h": h, "p": p, "labels": 1 * (p > 0.5), "q": q, "others": 1 * (q > 0.5)}
    data |= {"x": x, "noise": noise}
    jaxci.interval("mean", x[:50])  # what is loaded by any first call does not count
    found = []
    for _ in range(3):
        start = time.perf_counter()
        eval(f"jaxci.{call}", {"jaxci": jaxci, **data})
        found.append(time.perf_counter() - start)
    return [found[0], min(found[1:])]


def of_process(call: str, way: str) -> list[float]:
    """Return :func:`seconds` in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    command = [sys.executable, __file__, "--call", call, "--way", way]
    found: list[float] = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--call", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.call:
        warnings.simplefilter("ignore")
        print(json.dumps(seconds(args.call, args.way)))
        return
    rows: list[dict[str, Any]] = []
    for name, call in CALLS.items():
        runs = {way: [] for way in WAYS}
        for _ in range(args.repeats):
            for way in WAYS:
                runs[way].append(of_process(call, way))
        first, again = ({w: statistics.median(run[i] for run in runs[w]) for w in WAYS} for i in (0, 1))
        row = {"call": name, "first_s": first, "again_s": again, "ratio": first["optimized"] / first["quick"]}
        rows.append(row)
        print(
            f"{name:40s} first {first['quick']:6.2f} s, optimized {first['optimized']:6.2f} s, {row['ratio']:4.1f}x | "
            f"again {1e3 * again['quick']:6.1f} ms, {1e3 * again['optimized']:6.1f} ms",
            flush=True,
        )
    if args.json:
        args.json.write_text(json.dumps({"n": N, "repeats": args.repeats, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
