"""Time jaxci against SciPy and scikit-learn, warm, in one run, B = 9,999, float64.

Run ``python benchmarks/versus_scipy.py``; ``--json FILE`` keeps the numbers. Ratios are of
medians. Slow references are timed on fewer resamples and scaled; the table says which.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

import jaxci
from jaxci.inference.drawing import PURPOSE_CELLS
from jaxci.inference.program import of_tables
from jaxci.inference.replicate import replicate
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample

B = 9_999
SIX = ["accuracy", "balanced_accuracy", "f1", "precision", "recall", "matthews_corrcoef"]


def median_time(call: Callable[[], object], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def labels(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    score = rng.normal(size=n) + y
    return y, (score > 0.5).astype(int), score


def f1_numpy(y: np.ndarray, p: np.ndarray, axis: int = -1) -> np.ndarray:
    hits = np.sum(y & p, axis=axis)
    return 2 * hits / (np.sum(y, axis=axis) + np.sum(p, axis=axis))


def scipy_mean(x: np.ndarray, method: str, n_resamples: int = B, batch: int = 100) -> Callable[[], object]:
    return lambda: stats.bootstrap((x,), np.mean, n_resamples=n_resamples, batch=batch, method=method, rng=1)


def mean_rows(repeats: int) -> list[dict]:
    x = np.random.default_rng(0).lognormal(size=1_000)
    drawn = median_time(lambda: jaxci.bootstrap((x,), np.mean, method="percentile", rng=1), repeats)
    exact = median_time(lambda: jaxci.interval("mean", x, method="exact", endpoints="bca"), repeats)
    percentile = min(median_time(scipy_mean(x, "percentile", batch=b), repeats) for b in (100, 1_000, B))
    bca = min(median_time(scipy_mean(x, "BCa", batch=b), repeats) for b in (100, 1_000, B))
    rows = [
        row("mean, drawn, n = 1,000", drawn, "SciPy percentile, best batch", percentile, "<= 2.5x its time"),
        row("mean, exact BCa, n = 1,000", exact, "SciPy BCa, best batch", bca, ">= 15x"),
    ]
    x = np.random.default_rng(0).lognormal(size=1_000_000)
    exact = median_time(lambda: jaxci.interval("mean", x, method="exact", endpoints="bca"), 3)
    few = median_time(scipy_mean(x, "percentile", n_resamples=100, batch=10), 1) * B / 100
    rows.append(row("mean, exact BCa, n = 10^6", exact, "SciPy percentile, B = 100 scaled", few, ">= 300x"))
    exact = median_time(lambda: jaxci.interval("mean", x, method="percentile"), 3)
    rows.append(row("mean, percentile by default, n = 10^6", exact, "SciPy percentile, B = 100 scaled", few, ">= 400x"))
    return rows


def ratio_rows(repeats: int) -> list[dict]:
    rng = np.random.default_rng(0)
    x, weight = rng.lognormal(size=100_000), rng.exponential(size=100_000)
    exact = median_time(lambda: jaxci.interval("mean", x, method="bca", sample_weight=weight), repeats)
    few = {"n_resamples": 399, "rng": 1}
    drawn = median_time(lambda: jaxci.interval("mean", x, method="bca", sample_weight=weight, **few), 3) * B / 399
    y, p, _ = labels(100_000)
    f1 = median_time(lambda: jaxci.interval("f1", y, p, method="bca"), repeats)
    f1_drawn = median_time(lambda: jaxci.interval("f1", y, p, method="bca", n_resamples=B, rng=1), repeats)
    return [
        row("ratio of sums, exact BCa, n = 10^5", exact, "drawn, B = 399 scaled", drawn, ">= 20x"),
        row("F1, exact BCa, n = 10^5", f1, "drawn", f1_drawn, "of its order"),
    ]


def resampling_stage(n: int, repeats: int) -> float:
    y, p, _ = labels(n)
    sample = Sample(y_true=y.astype(np.int32), y_pred=p.astype(np.int32), n_classes=2)
    with jax.enable_x64(True):
        program, scheme = of_tables([METRICS[name] for name in SIX], sample.confusion, Layout(n))
        key = jax.random.fold_in(jax.random.key(0), PURPOSE_CELLS)
        return median_time(lambda: replicate(program, scheme, key, B), repeats)


def cell_rows(repeats: int) -> list[dict]:
    rows = []
    y, p, _ = labels(10_000)
    reference = min(
        median_time(
            lambda b=b: stats.bootstrap(
                (y.astype(bool), p.astype(bool)),
                f1_numpy,
                paired=True,
                vectorized=True,
                n_resamples=B,
                batch=b,
                method="percentile",
                rng=1,
            ),
            1,
        )
        for b in (10, 100)
    )
    for n in (10_000, 1_000_000):
        y, p, _ = labels(n)
        ours = median_time(
            lambda y=y, p=p: jaxci.evaluate(y, p, metrics=SIX, method="percentile", n_resamples=B, rng=1), repeats
        )
        rows.append(
            row(f"six cell metrics, n = {n:,}", ours, "SciPy F1 alone, n = 10,000, best batch", reference, ">= 50x")
        )
    small, large = resampling_stage(10_000, repeats), resampling_stage(1_000_000, repeats)
    rows.append(row("cells, resampling stage, n = 10^6", large, "the same at n = 10^4", small, "<= 1.3x its time"))
    return rows


def auc_rows(repeats: int) -> list[dict]:
    y, _, score = labels(10_000)
    ours = median_time(lambda: jaxci.interval("roc_auc", y, score, method="percentile", rng=1), repeats)
    rng = np.random.default_rng(1)

    def loop() -> None:
        for _ in range(200):
            rows = rng.integers(0, len(y), len(y))
            roc_auc_score(y[rows], score[rows])

    reference = median_time(loop, 1) * B / 200
    return [row("ROC AUC, n = 10,000", ours, "scikit-learn loop, 200 rounds scaled", reference, ">= 8x")]


def row(what: str, ours: float, than: str, reference: float, aim: str) -> dict:
    return {
        "what": what,
        "seconds": ours,
        "reference": than,
        "reference_seconds": reference,
        "ratio": reference / ours,
        "aim": aim,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("mean", "ratio", "cells", "auc"), default=None)
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {"mean": mean_rows, "ratio": ratio_rows, "cells": cell_rows, "auc": auc_rows}
    rows = [r for name, part in parts.items() if args.only in (None, name) for r in part(args.repeats)]
    device = jax.devices()[0]
    print(f"{device.device_kind} ({device.platform}), {platform.machine()}, jax {jax.__version__}, B = {B:,}")
    for r in rows:
        print(
            f"{r['what']:36s} {1e3 * r['seconds']:10.2f} ms | {r['reference']:40s} "
            f"{1e3 * r['reference_seconds']:12.1f} ms | ratio {r['ratio']:9.2f} | aim {r['aim']}"
        )
    if args.json:
        args.json.write_text(json.dumps({"device": device.device_kind, "jax": jax.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
