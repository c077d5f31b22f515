"""Coverage of blocks of rows where each depends on the one before, through the verb that users call.

    python benchmarks/dependent_rows.py [--replications 300] [--json OUT]

Autoregressions of the first order, and on the same day of the week before: their mean, their median, the shares of
values within one standard deviation of their law and below its 95% quantile, and metrics of scores that depend on each
other, of classes that do: for a fair model, a good one, a rare class, and the difference of two good models, equal and
not. 95% intervals of 999 resamples: percentiles of single rows and of blocks whose length is estimated, and what
``method="auto"`` gives for these. Data of one class are made anew.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import integrate, special, stats
from scipy.signal import lfilter

import jaxci

WAYS = {
    "rows": {"method": "percentile"},
    "blocks, percentile": {"method": "percentile", "resampling": "stationary"},
    "blocks, auto": {"resampling": "stationary"},
}
Made = tuple[str, tuple[np.ndarray, ...]]
GAP, LARGE_GAP, LESS = 1.2, 3.1, 2.6
"""Of the mean scores of two classes, in standard deviations: areas of .80, .986 and .967, recalls of .73 and .94."""
RARE = 0.1
"""Share of the rare class."""


def autoregression(n: int, slope: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    """Return values with variance 1, each with ``slope`` on the one ``lag`` rows before."""
    past = [1.0, *np.zeros(lag - 1), -slope]
    return lfilter([np.sqrt(1 - slope**2)], past, rng.normal(size=n + 300))[300:]


def share(below: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Made]:
    """Return what makes labels of which a share is right."""
    return lambda x, _: ("accuracy", (below(x), np.ones(len(x), bool)))


def scored(metric: str, gap: float, positives: float) -> tuple[Callable[..., Made], float]:
    """Return what makes classes, of which a share is positive, and what a metric reads; and its value in the law."""
    cut = stats.norm.isf(positives)

    def made(x: np.ndarray, other: np.ndarray) -> Made:
        y = other > cut
        score = x + gap * y
        read = {
            "roc_auc": score,
            "average_precision": score,
            "brier_score_loss": special.expit(gap * score - gap**2 / 2),
        }
        return metric, (y, read.get(metric, score > gap / 2))

    return made, value(metric, gap, positives)


def value(metric: str, gap: float, positives: float) -> float:
    """Return the value of a metric in the law: of scores N(gap, 1) and N(0, 1), cut half way."""
    recall = stats.norm.cdf(gap / 2)
    if metric == "roc_auc":
        return float(stats.norm.cdf(gap / np.sqrt(2)))
    if metric == "balanced_accuracy":
        return float(recall)
    if metric == "matthews_corrcoef":
        predicted = positives * recall + (1 - positives) * (1 - recall)
        apart = positives * (recall - predicted)
        return float(apart / np.sqrt(positives * (1 - positives) * predicted * (1 - predicted)))

    def loss(t: float) -> float:
        p = special.expit(gap * t - gap**2 / 2)
        return positives * (1 - p) ** 2 * stats.norm.pdf(t - gap) + (1 - positives) * p**2 * stats.norm.pdf(t)

    def precision(t: float) -> float:
        right, wrong = positives * stats.norm.sf(t - gap), (1 - positives) * stats.norm.sf(t)
        return right / (right + wrong) * stats.norm.pdf(t - gap)

    found = {"brier_score_loss": loss, "average_precision": precision}[metric]
    return float(integrate.quad(found, -12, 12 + gap, limit=200)[0])


STATISTICS: dict[str, tuple[Callable[..., Made], float]] = {
    "mean": (lambda x, _: ("mean", (x,)), 0.0),
    "median": (lambda x, _: ("median", (x,)), 0.0),
    "accuracy of 68%": (share(lambda x: np.abs(x) < 1), float(1 - 2 * stats.norm.sf(1))),
    "accuracy of 95%": (share(lambda x: x < stats.norm.ppf(0.95)), 0.95),
    "area": scored("roc_auc", GAP, 0.5),
}
"""How data are made of two series, and the true value."""
MODELS = {
    f"{metric}{name}": scored(metric, gap, positives)
    for metric in ("roc_auc", "average_precision", "balanced_accuracy", "matthews_corrcoef", "brier_score_loss")
    for name, gap, positives in (("", LARGE_GAP, 0.5), (", rare", GAP, RARE), (", good, rare", LARGE_GAP, RARE))
}
"""The same, of good models and of rare classes."""


SIZES = (100, 400, 1600)


def two_models(metric: str, positives: float, gap: float = LARGE_GAP) -> tuple[Callable[..., Made], float]:
    """Return what makes classes and the labels, or scores, of two good models, the second with ``gap``."""
    (one, true), (other_one, other_true) = scored(metric, LARGE_GAP, positives), scored(metric, gap, positives)

    def made(x: np.ndarray, other: np.ndarray, second: np.ndarray) -> Made:
        (_, (y, a)), (_, (_, b)) = one(x, other), other_one(second, other)
        return metric, (y, a, b)

    return made, true - other_true


DIFFERENCES = {
    f"{metric} of two models{name}": two_models(metric, positives)
    for metric in ("roc_auc", "average_precision", "balanced_accuracy")
    for name, positives in (("", 0.5), (", rare", RARE))
} | {
    f"roc_auc of unequal models{name}": two_models("roc_auc", positives, LESS)
    for name, positives in (("", 0.5), (", rare", RARE))
}
"""The same, of two good models."""


DESIGNS = [
    *((n, slope, 1, name) for n in SIZES for slope in (0.0, 0.3, 0.6, 0.9) for name in STATISTICS),
    *((n, slope, 7, "mean") for n in SIZES for slope in (0.5, 0.8)),
    *((n, slope, 1, name) for n in (30, 100, 400) for slope in (0.0, 0.6, 0.9) for name in MODELS | DIFFERENCES),
]
"""Rows, slope, on which row before, and statistic."""


def row(statistic: str, n: int, slope: float, lag: int, replications: int) -> dict[str, Any]:
    """Return coverages and median widths by the way of resampling."""
    made, truth = (STATISTICS | MODELS | DIFFERENCES)[statistic]
    held, widths = dict.fromkeys(WAYS, 0), {way: [] for way in WAYS}
    for seed in range(replications):
        rng = np.random.default_rng([seed, n])
        n_series = 3 if statistic in DIFFERENCES else 2
        verb = jaxci.compare if statistic in DIFFERENCES else jaxci.interval
        name, data = made(*(autoregression(n, slope, lag, rng) for _ in range(n_series)))
        while statistic in MODELS | DIFFERENCES and len(np.unique(data[0])) < 2:
            name, data = made(*(autoregression(n, slope, lag, rng) for _ in range(n_series)))
        for way, options in WAYS.items():
            low, high = verb(name, *data, n_resamples=999, rng=seed, **options).confidence_interval
            held[way] += low <= truth <= high
            widths[way].append(high - low)
    return {
        "statistic": statistic,
        "n": n,
        "slope": slope,
        "lag": lag,
        "replications": replications,
        **{f"coverage, {way}": int(count) / replications for way, count in held.items()},
        **{f"width, {way}": float(np.median(found)) for way, found in widths.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for n, slope, lag, statistic in DESIGNS:
        rows.append(row(statistic, n, slope, lag, options.replications))
        found = "  ".join(f"{way} {rows[-1][f'coverage, {way}']:.3f}" for way in WAYS)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{statistic:40s} n = {n}, slope {slope} on row -{lag}: {found}", flush=True)


if __name__ == "__main__":
    main()
