"""Time one coverage cell of every kind against a loop over scipy.stats.bootstrap, in one run.

Run ``python benchmarks/coverage_speed.py``; ``--json FILE`` keeps the numbers. n = 250 (251 for the
median), R = 10,000 replications, B = 9,999 resamples, G = 80 banks, all methods that apply of t, z,
percentile, basic and BCa together. Cells of a study share banks, so the time with kept banks is told too.
The loop takes SciPy's percentile interval with a vectorised NumPy statistic at its best batch size, on a
few replications, and is scaled to R; kinds of several statistics have none.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from scipy import stats

from jaxci.coverage import Cell
from jaxci.coverage.banks import KEPT, Banks
from jaxci.coverage.running import cell_truths, judge, simulate
from jaxci.distributions import Cells, Distribution, LogitKDE, Parametric
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import METRICS

METHODS = ("t", "z", "percentile", "basic", "bca")
R, B, G = 10_000, 9_999, 80
VALUES = Parametric("beta", {"a": 8, "b": 2})
AIMS = {"mean": 40, "median": 300, "std": 25, "trimmed_mean": 25, "roc_auc": 25, "accuracy": 10_000}
FIVE = ("mean", "std", "var", "trimmed_mean", "median")


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


def kinds() -> dict[str, tuple[Distribution, int, tuple[str, ...], Callable[..., np.ndarray] | None, tuple[str, ...]]]:
    """Law, n, statistics, the loop's statistic and what it reads."""
    two = Cells(np.array([[0.45, 0.1], [0.1, 0.35]]))
    four = Cells(0.8 * np.eye(4) / 4 + 0.2 * np.ones((4, 4)) / 16)
    columns = ("y_true", "y_score")
    return {
        "mean": (VALUES, 250, ("mean",), np.mean, ("values",)),
        "median": (VALUES, 251, ("median",), np.median, ("values",)),
        "std": (VALUES, 250, ("std",), np.std, ("values",)),
        "trimmed_mean": (VALUES, 250, ("trimmed_mean",), trimmed_mean, ("values",)),
        "roc_auc": (scores(), 250, ("roc_auc",), auc, columns),
        "accuracy": (two, 250, ("accuracy",), accuracy, ("y_true", "y_pred")),
        "five summaries": (VALUES, 250, FIVE, None, ()),
        "median and IQR": (VALUES, 250, ("median", "iqr"), None, ()),
        "average precision": (scores(), 250, ("average_precision",), None, ()),
        "three of a 4 x 4 table": (four, 250, ("balanced_accuracy", "f1_macro", "matthews_corrcoef"), None, ()),
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


class Seconds(NamedTuple):
    """Wall and CPU seconds of one cell, warm: with banks that it draws, and with banks that another cell drew."""

    drawn: float
    drawn_cpu: float
    kept: float
    kept_cpu: float


def cell_seconds(statistics: dict[str, Statistic], law: Distribution, n: int, repeats: int) -> Seconds:
    """Time one cell; medians over ``repeats``."""
    methods = METHODS + (("wilson",) if "accuracy" in statistics else ())
    whole = Cell(law, n, statistics, methods, (0.95,), R, B, G)
    truths = cell_truths(law, whole.statistics, jax.random.key(0))
    simulate(Cell(law, n, statistics, methods, (0.95,), 2 * R // G, B, 2), jax.random.key(1), truths)
    banks, times = Banks(jax.random.key(2), KEPT), []
    for r in range(repeats):
        row = []
        for shared in (Banks(jax.random.key(2)), banks, banks):
            wall, cpu = time.perf_counter(), time.process_time()
            judge(whole, truths, simulate(whole, jax.random.key(r), truths, banks=shared), 0.0)
            row += [time.perf_counter() - wall, time.process_time() - cpu]
        times.append(row[:2] + row[4:])  # the second draws what it keeps
    return Seconds(*np.median(times, axis=0).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--few", type=int, default=100, help="replications of the loop that are timed")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", help="kinds of cells, between commas; all by default")
    arguments = parser.parse_args()
    device = jax.devices()[0]
    print(f"{device.platform} ({device.device_kind}), {platform.machine()}, jax {jax.__version__}, R = {R}, B = {B}")
    rows = []
    for name in arguments.only.split(",") if arguments.only else kinds():
        law, n, statistics, host, reads = kinds()[name]
        few = max(3, arguments.few // 5) if name in ("median", "roc_auc", "trimmed_mean") else arguments.few
        ours = cell_seconds({metric: METRICS[metric] for metric in statistics}, law, n, arguments.repeats)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        row = {"statistic": name, "n": n, "seconds": ours.drawn, "seconds_with_kept_banks": ours.kept}
        row |= {"cpu_seconds": ours.drawn_cpu, "cpu_seconds_with_kept_banks": ours.kept_cpu}
        text = f"{name:22s} n = {n}  cell {ours.drawn:7.3f} s ({ours.drawn_cpu:7.3f} CPU)"
        text += f"  kept banks {ours.kept:7.3f} ({ours.kept_cpu:7.3f})"
        if host is not None:
            theirs = loop_seconds(law, n, host, reads, few)
            row |= {"scipy_seconds": theirs, "ratio": theirs / ours.drawn}
            text += f"  SciPy loop {theirs:8.1f} s, ratio {theirs / ours.drawn:9.1f}, aim >= {AIMS[name]}"
        rows.append(row)
        print(f"{text}  peak so far {peak:.2f} GiB", flush=True)
    if arguments.json:
        found = {"device": device.device_kind, "jax": jax.__version__, "R": R, "B": B, "G": G, "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
