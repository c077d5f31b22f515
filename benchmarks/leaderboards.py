"""How often what a leaderboard says holds: simultaneous intervals, sets of ranks, the confidence set, equal models.

    python benchmarks/leaderboards.py [--data-sets 200] [--json OUT]

Ten models, of which the five best are equally good, go through ``jaxci.leaderboard`` as users call it. A data set
counts as held where all ten intervals hold their truths, where all 45 intervals of differences do, where all sets of
ranks hold the true ranks, and where all five best models are called tied with the best; and as wrong where any two of
the five are told apart. Where rows depend on the one before (``slope``) they are resampled in blocks, and one by one.
Of a mean there are five normal values, or three training runs on one task.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.signal import lfilter

import jaxci

EQUAL, MODELS = 5, 10
RESAMPLES = 1_999


Draws = tuple[np.ndarray, Callable[[np.random.Generator], tuple[Any, Any]]]


def labels(n: int, best: float, step: float, slope: float = 0.0) -> Draws:
    """Return true accuracies, and draws of labels with guesses that are right or wrong on the same hard rows.

    How hard rows are, and what models make of them, depends with ``slope`` on the row before.
    """
    truth = np.r_[np.full(EQUAL, best), best - step * np.arange(1, MODELS - EQUAL + 1)]

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        y, noise = rng.integers(0, 2, n), rng.normal(size=(1 + MODELS, n + 100))
        hard, *own = lfilter([np.sqrt(1 - slope**2)], [1.0, -slope], noise)[:, 100:]
        own = np.sqrt(0.5) * hard + np.sqrt(0.5) * np.stack(own)
        right = own < special.ndtri(truth)[:, None]
        return y, {f"m{i}": np.where(right[i], y, 1 - y) for i in range(MODELS)}

    return truth, draw


def scores(n: int, best: float, step: float) -> Draws:
    """Return true areas under the ROC curve, and draws of a third positives with binormal scores."""
    truth = np.r_[np.full(EQUAL, best), best - step * np.arange(1, MODELS - EQUAL + 1)]
    shift = np.sqrt(2) * stats.norm.ppf(truth)

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        y = (np.arange(n) % 3 == 0).astype(int)
        own = np.sqrt(0.5) * (rng.normal(size=n) + rng.normal(size=(MODELS, n)))
        return y, {f"m{i}": own[i] + shift[i] * y for i in range(MODELS)}

    return truth, draw


def few(*shape: int) -> Draws:
    """Return true means, and draws of normal values (n,) or of scores of runs (R, T)."""
    truth = np.r_[np.zeros(EQUAL), -0.5 * np.arange(1, MODELS - EQUAL + 1)]

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        return {f"m{i}": mean + rng.normal(size=shape) for i, mean in enumerate(truth)}, None

    return truth, draw


DESIGNS = {
    ("accuracy", 100, 0.95, 0.0, "bootstrap"): labels(100, 0.95, 0.05),
    ("accuracy", 300, 0.9, 0.0, "bootstrap"): labels(300, 0.9, 0.03),
    ("accuracy", 1000, 0.98, 0.0, "bootstrap"): labels(1000, 0.98, 0.01),
    ("roc_auc", 150, 0.9, 0.0, "bootstrap"): scores(150, 0.9, 0.03),
    ("accuracy", 300, 0.9, 0.7, "bootstrap"): labels(300, 0.9, 0.03, 0.7),
    ("accuracy", 300, 0.9, 0.7, "stationary"): labels(300, 0.9, 0.03, 0.7),
    ("mean", 5, 0.0, 0.0, "bootstrap"): few(5),
    ("mean of runs", 3, 0.0, 0.0, "bootstrap"): few(3, 1),
}


def simulate(
    metric: str, truth: np.ndarray, draw: Callable[..., Any], resampling: str, data_sets: int
) -> dict[str, float]:
    """Return shares of data sets."""
    rng, names = np.random.default_rng(1), [f"m{i}" for i in range(MODELS)]
    ranks = {name: (1 + np.sum(truth > x), np.sum(truth >= x)) for name, x in zip(names, truth, strict=True)}
    counts = dict.fromkeys(("intervals", "differences", "ranks", "confidence_set", "told_apart", "size_of_set"), 0.0)
    for seed in range(data_sets):
        y, guesses = draw(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            board = jaxci.leaderboard(
                metric.split()[0], y, guesses, n_resamples=RESAMPLES, resampling=resampling, rng=seed
            )
        at = dict(zip(names, truth, strict=True))
        apart = [pair for pair in board.pairs if at[pair.a] == at[pair.b]]
        counts["intervals"] += all(
            e.simultaneous_interval[0] <= at[e.name] <= e.simultaneous_interval[1] for e in board
        )
        counts["differences"] += all(p.low - 1e-12 <= at[p.a] - at[p.b] <= p.high + 1e-12 for p in board.pairs)
        counts["ranks"] += all(e.rank_low <= ranks[e.name][1] and e.rank_high >= ranks[e.name][0] for e in board)
        counts["confidence_set"] += all(board[name].tied for name in names[:EQUAL])
        counts["told_apart"] += any(pair.adjusted <= 0.05 for pair in apart)
        counts["size_of_set"] += sum(entry.tied for entry in board)
    return {name: count / data_sets for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for (metric, n, best, slope, resampling), (truth, draw) in DESIGNS.items():
        started = time.perf_counter()
        found = simulate(metric, truth, draw, resampling, options.data_sets)
        of = {"metric": metric, "n": n, "best": best, "slope": slope, "resampling": resampling}
        rows.append({**of, "data_sets": options.data_sets, **found})
        shown = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{metric} {best}, n = {n}, slope {slope}, {resampling}: {shown}", end=" ")
        print(f"({time.perf_counter() - started:.0f} s)", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"level": 0.95, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
