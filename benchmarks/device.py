"""Time every kind of coverage cell on the device at hand, with what its programs move and compute.

Run ``python benchmarks/device.py``; ``--json FILE`` keeps the numbers. R = 10,000 data sets in G = 80 groups, B = 9,999
resamples. A stage is timed on one group, or on as many as an accelerator takes together, warm, and given for all of
them; flops and bytes are those that XLA's ``cost_analysis`` counts for the compiled program (loops are counted once, so
both are lower bounds where a stage has one), and stand beside the peaks of the device where they are known.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxci.coverage import Cell
from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import Simulation, counts_of, counts_of_groups, rows_of_evidence
from jaxci.coverage.dispatch import Dispatch
from jaxci.coverage.running import cell_truths, run_cell
from jaxci.distributions import Cells, EmpiricalTargets, LogitKDE, Parametric
from jaxci.inference.sharding import Spread
from jaxci.statistics.registry import METRICS

R, B, G = 10_000, 9_999, 80
PEAKS = {
    "H100": (3.35e12, 67e12),
    "H200": (4.8e12, 67e12),
    "A100": (2.04e12, 19.5e12),
}
"""Bytes and float32 operations a second, by a part of the device's name (SXM boards)."""
METHODS = ("t", "percentile", "basic", "bca")
VALUES = Parametric("beta", {"a": 8, "b": 2})


def logits(k: int) -> LogitKDE:
    rng = np.random.default_rng(k)
    labels = (np.arange(400) % k).astype(np.int32)
    drawn = rng.normal(size=(400, k)) + 1.5 * np.eye(k)[labels]
    return LogitKDE.fit(drawn[:, 1] - drawn[:, 0] if k == 2 else drawn, labels)


def table(k: int) -> Cells:
    return Cells(np.random.default_rng(k).random((k, k)) + 2 * np.eye(k))


def targets() -> EmpiricalTargets:
    y, noise = np.random.default_rng(0).normal(size=(2, 400))
    return EmpiricalTargets(y, y + noise / 2)


KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "mean": (VALUES, ("mean",)),
    "five summaries": (VALUES, ("mean", "median", "trimmed_mean", "std", "iqr")),
    "regression": (targets(), ("root_mean_squared_error", "r2", "pearsonr")),
    "table, K = 2": (table(2), ("precision", "recall", "f1", "matthews_corrcoef")),
    "table, K = 4": (table(4), ("balanced_accuracy", "f1_macro", "matthews_corrcoef")),
    "ranks, K = 2": (logits(2), ("roc_auc", "average_precision")),
    "ranks, K = 4": (logits(4), ("roc_auc_ovr", "average_precision_macro")),
}


def seconds(function: Callable[[], Any], repeats: int) -> float:
    """Median seconds of a call, after one that compiles."""
    jax.block_until_ready(function())
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function())
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def cost(program: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """Return what XLA counts for the compiled program, whether or not it is a jitted one."""
    found = (program if hasattr(program, "lower") else jax.jit(program)).lower(*arguments).compile().cost_analysis()
    counted = found[0] if isinstance(found, list) else found or {}
    return {"flops": float(counted.get("flops", 0)), "bytes": float(counted.get("bytes accessed", 0))}


def stages(cell: Cell, repeats: int) -> dict[str, dict[str, float]]:
    """Time the stages of some groups and return them for all G."""
    key, spread = jax.random.key(0), Spread.over(jax.local_devices()[:1])
    simulation = Simulation.of(cell, cell_truths(cell.distribution, cell.statistics, key))
    road = Dispatch(simulation, key, Banks(key, 2**31), spread)
    ids = np.arange(R // G, dtype=np.int32)
    found = {}

    def of_all(function: Callable[[], Any]) -> dict[str, float]:
        """Seconds that a call takes for all groups, which is one for ``count`` of them."""
        return {"seconds": seconds(function, repeats) * G / count}

    with jax.enable_x64(True):
        count = 1 if spread.on_cpu else min(G, road.most_together)
        drawing = simulation.asked, cell.layout, cell.n_resamples, spread
        static = simulation.static
        if count > 1:
            found[f"banks, {count} groups"] = of_all(functools.partial(Banks(key).of_groups, range(count), *drawing))
            name, function, rows = f"to counters, {count} groups", counts_of_groups, road.rows(range(count), count)
            shared, static = simulation.judging(simulation.fixed(key)), {"reading": simulation.reading, **static}
        else:
            found["bank"] = of_all(functools.partial(Banks(key).of, 0, *drawing))
            reading = functools.partial(road.drawn, 0, simulation.asked)
            found["reading a kept bank"] = of_all(reading)
            fixed, rows = simulation.fixed(key, reading()), (ids, None)
            name, function, shared = "data to counters", counts_of, simulation.judging(fixed)
            if spread.on_cpu:
                name, function, shared = "evidence (rows are sorted by the host)", rows_of_evidence, fixed
        every = functools.partial(spread, function, rows, shared, **static)
        counted = cost(functools.partial(function, **static), rows, shared)
        found[name] = of_all(every) | {k: v * G / count for k, v in counted.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", help="kinds of cells, between semicolons; all by default")
    parser.add_argument("--n", type=int, default=250)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--whole", action="store_true", help="also run every cell from key to judgement")
    arguments = parser.parse_args()
    device = jax.devices()[0]
    peak = next((found for part, found in PEAKS.items() if part in device.device_kind), None)
    print(f"{device.platform} ({device.device_kind}), {platform.machine()}, jax {jax.__version__}, R = {R}, B = {B}")
    chosen = arguments.only.split(";") if arguments.only else list(KINDS)
    rows = []
    for kind in chosen:
        law, names = KINDS[kind]
        cell = Cell(law, arguments.n, {name: METRICS[name] for name in names}, METHODS, (0.95,), R, B, G)
        timed = stages(cell, arguments.repeats)
        if arguments.whole:
            truths = cell_truths(law, cell.statistics, jax.random.key(0))
            run = functools.partial(run_cell, cell, truths=truths)
            run(jax.random.key(1))
            start = time.perf_counter()
            run(jax.random.key(2))
            timed["whole cell"] = {"seconds": time.perf_counter() - start}
        for stage, numbers in timed.items():
            rows.append({"kind": kind, "n": arguments.n, "stage": stage, **numbers})
            line = f"{kind:16s} {stage:40s} {1e3 * numbers['seconds']:10.1f} ms"
            if "flops" in numbers:
                line += f"  {numbers['flops']:.2e} flops  {numbers['bytes']:.2e} bytes"
            if "flops" in numbers and peak is not None:
                line += f"  at the peak {1e3 * max(numbers['bytes'] / peak[0], numbers['flops'] / peak[1]):.1f} ms"
            print(line, flush=True)
    if arguments.json:
        versions = {name: version(name) for name in ("jaxci", "jax", "numpy", "scipy")}
        head = {"device": device.device_kind, "peak": peak, "date": date.today().isoformat(), **versions}
        arguments.json.write_text(json.dumps({**head, "R": R, "B": B, "G": G, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
