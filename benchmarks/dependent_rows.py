"""Coverage of blocks of rows where each depends on the one before, through the verb that users call.

    python benchmarks/dependent_rows.py [--replications 300] [--harder] [--json OUT]

Autoregressions of the first order, and on the same day of the week before: their mean, their median, the shares of
values within one standard deviation of their law and below its 95% quantile, and metrics of scores that depend on each
other, of classes that do: for a fair model, a good one, a rare class, and the difference of two good models, equal and
not. 95% intervals of 999 resamples: percentiles of single rows and of blocks whose length is estimated, and what
``method="auto"`` gives for these. Data of one class are made anew.

Harder to tell (``--harder`` for these alone, 200 data sets each): a state that changes slowly below noise of more than
twice its variance, slopes of .97, spreads and tails, errors whose variance depends on the errors before (GARCH), and
cycles of about 12 rows.
"told" is the share of data sets by the remark on the number of blocks, and on rows that follow each other closely.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections import Counter
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


def below_noise(n: int, slope: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    """Return an autoregression with variance .3 below independent noise with variance .7."""
    return np.sqrt(0.3) * autoregression(n, slope, lag, rng) + np.sqrt(0.7) * rng.normal(size=n)


def garch(n: int, slope: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    """Return values with mean 0 whose variance, 1 on average, has ``slope`` on the one before; .1 by the value."""
    noise, found, variance = rng.normal(size=n + 300), np.zeros(n + 300), 1.0
    for i, one in enumerate(noise):
        found[i] = np.sqrt(variance) * one
        variance = 1 - slope + 0.1 * found[i] ** 2 + (slope - 0.1) * variance
    return found[300:]


def cycle(n: int, slope: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    """Return values that go in cycles of about 12 rows, of roots whose modulus is ``slope``."""
    past = [1.0, -2 * slope * np.cos(np.pi / 6), slope**2]
    return lfilter([1.0], past, rng.normal(size=n + 300))[300:]


LAWS = {"autoregression": autoregression, "below noise": below_noise, "garch": garch, "cycle": cycle}
"""How a series is made."""


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
SPREADS: dict[str, tuple[Callable[..., Made], float]] = {
    "accuracy of 80%": (share(lambda x: x < stats.norm.ppf(0.8)), 0.8),
    "std": (lambda x, _: ("std", (x,)), 1.0),
    "mean_squared_error": (lambda x, _: ("mean_squared_error", (np.zeros(len(x)), x)), 1.0),
    "90% quantile": (lambda x, _: ("quantile", (x,)), float(stats.norm.ppf(0.9))),
    "mean_squared_error of two models": (lambda x, y: ("mean_squared_error", (np.zeros(len(x)), x, y)), 0.0),
}
"""The same, of what is harder to tell."""
HARDER = [
    *(("below noise", n, 0.95, name) for n in (100, 500, 2000) for name in ("mean", "accuracy of 80%")),
    *(("below noise", 8000, 0.99, name) for name in ("mean", "accuracy of 80%")),
    *(
        ("autoregression", n, 0.9, name)
        for n in (30, 100, 500)
        for name in ("std", "mean_squared_error", "90% quantile")
    ),
    *(
        ("autoregression", n, 0.97, name)
        for n in (100, 500)
        for name in ("mean", "median", "accuracy of 80%", "area", "std", "90% quantile")
    ),
    *(("autoregression", 2000, 0.97, name) for name in ("mean", "accuracy of 80%")),
    *(("garch", n, 0.95, f"mean_squared_error{of}") for n in (100, 500) for of in ("", " of two models")),
    *(("cycle", n, 0.95, "mean") for n in (100, 500, 2000)),
]
"""Law, rows, slope, and statistic of these."""


def told(remarks: tuple[str, ...]) -> str:
    """Return what was remarked on: fewer than so many blocks, or rows that follow each other closely."""
    few = re.search(r"fewer than (\d+) blocks", " ".join(remarks))
    return few[1] if few else "closely" if any("so closely that" in text for text in remarks) else "many"


def row(
    statistic: str, n: int, slope: float, lag: int, replications: int, law: str = "autoregression"
) -> dict[str, Any]:
    """Return coverages and median widths by the way of resampling."""
    made, truth = (STATISTICS | MODELS | DIFFERENCES | SPREADS)[statistic]
    held, widths = dict.fromkeys(WAYS, 0), {way: [] for way in WAYS}
    remarks: dict[str, Counter[str]] = {way: Counter() for way in WAYS if way != "rows"}
    verb = jaxci.compare if "models" in statistic else jaxci.interval
    further = {"q": 0.9} if statistic == "90% quantile" else {}
    for seed in range(replications):
        rng = np.random.default_rng([seed, n])
        n_series = 3 if statistic in DIFFERENCES else 2
        name, data = made(*(LAWS[law](n, slope, lag, rng) for _ in range(n_series)))
        while statistic in MODELS | DIFFERENCES and len(np.unique(data[0])) < 2:
            name, data = made(*(LAWS[law](n, slope, lag, rng) for _ in range(n_series)))
        for way, options in WAYS.items():
            found = verb(name, *data, n_resamples=999, rng=seed, **options, **further)
            low, high = found.confidence_interval
            held[way] += low <= truth <= high
            widths[way].append(high - low)
            if way in remarks:
                remarks[way][told(found.warnings)] += 1
    return {
        "law": law,
        "statistic": statistic,
        "n": n,
        "slope": slope,
        "lag": lag,
        "replications": replications,
        **{f"coverage, {way}": int(count) / replications for way, count in held.items()},
        **{f"width, {way}": float(np.median(found)) for way, found in widths.items()},
        **{f"told, {way}": {name: x / replications for name, x in count.items()} for way, count in remarks.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--harder", action="store_true", help="only what is harder to tell")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    designs = [] if options.harder else [("autoregression", *design, options.replications) for design in DESIGNS]
    designs += [(law, n, slope, 1, name, min(200, options.replications)) for law, n, slope, name in HARDER]
    rows = []
    for law, n, slope, lag, statistic, replications in designs:
        rows.append(row(statistic, n, slope, lag, replications, law))
        found = "  ".join(f"{way} {rows[-1][f'coverage, {way}']:.3f}" for way in WAYS)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{law}, {statistic:40s} n = {n}, slope {slope} on row -{lag}: {found}", flush=True)


if __name__ == "__main__":
    main()
