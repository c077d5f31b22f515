"""Time one coverage cell of every kind against a loop over scipy.stats.bootstrap, in one run.

Run ``python benchmarks/coverage_speed.py``; ``--json FILE`` keeps the numbers. n = 250 (251 for the
median), R = 10,000 replications, B = 9,999 resamples, G = 80 banks, all methods that apply of t, z,
percentile, basic and BCa together. The loop takes SciPy's percentile interval with a vectorised
NumPy statistic at its best batch size, on a few replications, and is scaled to R.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from scipy import stats

from jaxci.coverage import Cell, run_cell
from jaxci.coverage.cell import cell_truths
from jaxci.distributions import Cells, Distribution, LogitKDE, Parametric
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import METRICS

METHODS = ("t", "z", "percentile", "basic", "bca")
R, B, G = 10_000, 9_999, 80
VALUES = Parametric("beta", {"a": 8, "b": 2})
AIMS = {"mean": 40, "median": 300, "std": 25, "trimmed_mean": 25, "roc_auc": 25, "accuracy": 10_000}


def trimmed_mean(x: np.ndarray, axis: int = -1) -> np.ndarray:
    n = x.shape[axis]
    low, high = int(0.25 * n), n - int(0.25 * n)
    return np.partition(x, (low, high - 1), axis=axis)[..., low:high].mean(axis=axis)


def accuracy(y: np.ndarray, p: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(y == p, axis=axis)


def auc(y: np.ndarray, score: np.ndarray, axis: int = -1) -> np.ndarray:
    ranks = np.argsort(np.argsort(score, axis=axis), axis=axis) + 1  # ties have no weight to speak of here
    positive = np.sum(y, axis=axis)
    wins = np.sum(np.where(y == 1, ranks, 0), axis=axis) - positive * (positive + 1) / 2
    return wins / (positive * (y.shape[axis] - positive))


def scores() -> LogitKDE:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    return LogitKDE.fit(rng.normal(size=400) + 1.2 * labels, labels.astype(np.int32))


def kinds() -> dict[str, tuple[Distribution, int, Callable[..., np.ndarray], tuple[str, ...]]]:
    table = Cells(np.array([[0.45, 0.1], [0.1, 0.35]]))
    return {
        "mean": (VALUES, 250, np.mean, ("values",)),
        "median": (VALUES, 251, np.median, ("values",)),
        "std": (VALUES, 250, np.std, ("values",)),
        "trimmed_mean": (VALUES, 250, trimmed_mean, ("values",)),
        "roc_auc": (scores(), 250, auc, ("y_true", "y_score")),
        "accuracy": (table, 250, accuracy, ("y_true", "y_pred")),
    }


def loop_seconds(law: Distribution, n: int, statistic: Callable[..., np.ndarray], reads: tuple[str, ...], few: int):
    """Seconds of SciPy for R replications, from ``few`` at the best of three batch sizes."""
    draws = [[np.asarray(law.sample(jax.random.key(r), n)[name]) for name in reads] for r in range(few)]

    def once(data: list[np.ndarray], batch: int) -> float:
        start = time.perf_counter()
        stats.bootstrap(
            data,
            statistic,
            n_resamples=B,
            batch=batch,
            paired=len(data) > 1,
            vectorized=True,
            method="percentile",
            rng=1,
        )
        return time.perf_counter() - start

    batches = {batch: np.median([once(data, batch) for data in draws[:3]]) for batch in (100, 500, B)}
    best = min(batches, key=lambda batch: batches[batch])
    return float(np.median([once(data, best) for data in draws]) * R)


def cell_seconds(name: str, statistic: Statistic, law: Distribution, n: int, repeats: int) -> float:
    """Seconds of one cell, warm."""
    whole = Cell(law, n, {name: statistic}, METHODS + (("wilson",) if name == "accuracy" else ()), (0.95,), R, B, G)
    truths = cell_truths(law, whole.statistics, jax.random.key(0))
    run_cell(
        Cell(law, n, {name: statistic}, whole.methods, (0.95,), 2 * R // G, B, 2), jax.random.key(1), truths=truths
    )
    times = []
    for r in range(repeats):
        start = time.perf_counter()
        run_cell(whole, jax.random.key(r), truths=truths)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--few", type=int, default=100, help="replications of the loop that are timed")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default=",".join(AIMS))
    arguments = parser.parse_args()
    device = jax.devices()[0]
    print(f"{device.platform} ({device.device_kind}), {platform.machine()}, jax {jax.__version__}, R = {R}, B = {B}")
    rows = []
    for name in arguments.only.split(","):
        law, n, host, reads = kinds()[name]
        few = max(3, arguments.few // 5) if name in ("median", "roc_auc", "trimmed_mean") else arguments.few
        ours = cell_seconds(name, METRICS[name], law, n, arguments.repeats)
        theirs = loop_seconds(law, n, host, reads, few)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append({"statistic": name, "n": n, "seconds": ours, "scipy_seconds": theirs, "ratio": theirs / ours})
        print(
            f"{name:14s} n = {n}  cell {ours:8.3f} s   SciPy loop ({few} timed) {theirs:9.1f} s   "
            f"ratio {theirs / ours:10.1f}   aim >= {AIMS[name]}   peak so far {peak:.2f} GiB",
            flush=True,
        )
    if arguments.json:
        found = {"device": device.device_kind, "jax": jax.__version__, "R": R, "B": B, "G": G, "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
