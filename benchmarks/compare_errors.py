"""How often ``jaxci.compare`` says that one of two equally good models is better: 5% is what it should be at most.

``python benchmarks/compare_errors.py [--replications 1000] [--metric f1] [--kind errors] [--method auto]
[--json FILE]``: through the verb, data set by data set, of two models with the same law whose errors come together in
part. With ``--worse 0.5`` the second model is worse by half a standard deviation of what decides its errors, and the
share of intervals that leave out the true difference is counted instead, which is 5% too; the truth is that of a
million rows, or of as many in clusters. Labels: two classes, the second rare or not, by the sensitivity and specificity
of both models; scores: normal ones with an area under the ROC curve, correlated between the models; errors: of a
regression, by their law; clusters: labels, and errors of a regression, with effects of clusters that differ between
the models. ``--kind clusters`` runs these alone; rows of FILE that are of other designs than those that are run stay.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats

import jaxci
from jaxci.coverage.store import surroundings

SIZES = (20, 100, 300)
RESAMPLES = 999
MANY = 1_000_000
Data = tuple[Any, ...]
Row = dict[str, Any]
Design = tuple[str, str, int, list[tuple[Data, dict[str, Any]]], Data]

LABELS = {".1 / .95 / .995": (0.1, 0.95, 0.995), ".3 / .8 / .9": (0.3, 0.8, 0.9), ".5 / .96 / .96": (0.5, 0.96, 0.96)}
"""Models by prevalence, sensitivity and specificity."""
AREAS = ((0.5, 0.8), (0.5, 0.97), (0.15, 0.9), (0.02, 0.95))
"""Prevalence and area under the ROC curve."""
ERRORS = ("normal", "exponential", "t(5)", "t(3)")
"""Laws of the errors of regressions."""
REGRESSION = (
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "r2",
    "explained_variance",
    "pearsonr",
    "spearmanr",
    "median_absolute_error",
)
LABELLED = (
    *("accuracy", "balanced_accuracy", "recall", "precision", "f1", "f1_macro", "jaccard"),
    *("matthews_corrcoef", "cohen_kappa_score"),
)
RANKED = ("roc_auc", "average_precision", "log_loss", "brier_score_loss")


def both_classes(rng: np.random.Generator, n: int, prevalence: float) -> np.ndarray:
    """Return labels of independent rows of which each class has one at least."""
    while True:
        y = (rng.random(n) < prevalence).astype(int)
        if 0 < y.sum() < n:
            return y


def labels(
    rng: np.random.Generator, n: int, worse: float, prevalence: float, sensitivity: float, specificity: float
) -> Data:
    """Two models that share half of what decides their errors."""
    y = both_classes(rng, n, prevalence)
    common = rng.normal(size=n)
    right = special.ndtri(np.where(y == 1, sensitivity, specificity))
    limits = (right, right - worse)
    return y, *(np.where(np.sqrt(0.5) * (common + rng.normal(size=n)) < limit, y, 1 - y) for limit in limits)


def scores(rng: np.random.Generator, n: int, worse: float, prevalence: float, area: float) -> Data:
    """Probabilities of two models that share half of their noise."""
    y = both_classes(rng, n, prevalence)
    best, common = np.sqrt(2) * stats.norm.ppf(area), rng.normal(size=n)
    apart = (best, max(best - worse, 0.2))
    noisy = [one * y + np.sqrt(0.5) * (common + rng.normal(size=n)) for one in apart]
    pairs = zip(apart, noisy, strict=True)
    return y, *(special.expit(one * (x - one / 2) + special.logit(prevalence)) for one, x in pairs)


def targets(rng: np.random.Generator, n: int, worse: float, law: str) -> Data:
    """Predictions of two models that share half of their errors, of mean 0."""
    y = rng.normal(10, 3, n)
    common, *own = [_errors(rng, n, law) for _ in range(3)]
    return y, *(y + scale * np.sqrt(0.5) * (common + one) for scale, one in zip((1, 1 + worse), own, strict=True))


def _errors(rng: np.random.Generator, n: int, law: str) -> np.ndarray:
    if law == "normal":
        return rng.normal(size=n)
    return rng.exponential(size=n) - 1 if law == "exponential" else rng.standard_t(float(law[2:-1]), n)


def clusters(rng: np.random.Generator, sizes: np.ndarray, worse: float) -> tuple[Data, np.ndarray]:
    """Two models, the first 90% right, whose errors come together in clusters."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    common, y = rng.normal(size=len(sizes)), rng.integers(0, 2, groups.size)
    limits = (stats.norm.ppf(0.9), stats.norm.ppf(0.9) - worse)
    return (y, *(np.where(_alike(rng, common, groups) < limit, y, 1 - y) for limit in limits)), groups


def targets_in_clusters(rng: np.random.Generator, sizes: np.ndarray, worse: float) -> tuple[Data, np.ndarray]:
    """Predictions of two models whose normal errors come together in clusters."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    common, y = rng.normal(size=len(sizes)), rng.normal(10, 3, groups.size)
    return (y, *(y + scale * _alike(rng, common, groups) for scale in (1, 1 + worse))), groups


def _alike(rng: np.random.Generator, common: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return normal numbers of one model: of their variance 20% are of the cluster, and 20% of model and cluster."""
    own = rng.normal(size=len(common))
    return (common + own)[groups] * np.sqrt(0.2) + np.sqrt(0.6) * rng.normal(size=groups.size)


def value(metric: str, y: np.ndarray, guess: np.ndarray) -> float:
    """Return the metric of one model."""
    method = "order_statistic" if metric == "median_absolute_error" else "delta"
    return jaxci.interval(metric, y, guess, method=method).estimate


def designs(rng: np.random.Generator, replications: int, worse: float) -> Iterator[Design]:
    """Yield kind, metric, number of rows, data sets with options of the verb, and very many rows."""
    yield from in_clusters(rng, replications, worse, clusters, "accuracy", "balanced_accuracy")
    for n in SIZES:
        for kind, model in LABELS.items():
            data = [(labels(rng, n, worse, *model), {}) for _ in range(replications)]
            many = labels(rng, MANY, worse, *model)
            for metric in LABELLED:
                yield f"labels {kind}", metric, n, data, many
        for prevalence, area in AREAS:
            data = [(scores(rng, n, worse, prevalence, area), {}) for _ in range(replications)]
            many = scores(rng, MANY, worse, prevalence, area)
            for metric in RANKED:
                yield f"scores {prevalence:g} / {area:g}", metric, n, data, many
        for law in ERRORS:
            data = [(targets(rng, n, worse, law), {}) for _ in range(replications)]
            many = targets(rng, MANY, worse, law)
            for metric in REGRESSION:
                yield f"errors {law}", metric, n, data, many
    yield from in_clusters(rng, replications, worse, targets_in_clusters, "mean_absolute_error")


def in_clusters(
    rng: np.random.Generator,
    replications: int,
    worse: float,
    draw: Callable[[np.random.Generator, np.ndarray, float], tuple[Data, np.ndarray]],
    *metrics: str,
) -> Iterator[Design]:
    """Yield the designs of few and many clusters, even and uneven, of the metrics."""
    for count in (5, 6, 10, 20, 40):
        uneven = np.exp(stats.norm.ppf((np.arange(count) + 0.5) / count))
        for kind, sizes in (
            ("even", np.full(count, 15)),
            ("uneven", np.maximum(1, np.round(15 * count * uneven / uneven.sum())).astype(int)),
        ):
            drawn = [draw(rng, sizes, worse) for _ in range(replications)]
            many, _ = draw(rng, np.ones(MANY, int), worse)
            data = [(one, {"groups": groups}) for one, groups in drawn]
            for metric in metrics:
                yield f"{count} {kind} clusters", metric, int(sizes.sum()), data, many


def wrong(found: Any, truth: float) -> bool:
    """Whether a verdict finds a difference where there is none, or an interval leaves out the true one."""
    if truth == 0:
        return bool(found.conclusion != "no difference shown")
    low, high = found.confidence_interval
    return not low <= truth <= high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1_000)
    parser.add_argument("--worse", type=float, default=0.0)
    parser.add_argument("--metric", action="append", help="only these; all by default")
    parser.add_argument("--kind", default="", help="only designs in whose name this is")
    parser.add_argument("--method", action="append", help="auto and percentile by default")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows: list[Row] = []
    methods = arguments.method or ["auto", "percentile"]
    for kind, metric, n, data, many in designs(np.random.default_rng(0), arguments.replications, arguments.worse):
        if (arguments.metric and metric not in arguments.metric) or arguments.kind not in kind:
            continue
        truth = value(metric, many[0], many[1]) - value(metric, many[0], many[2]) if arguments.worse else 0.0
        row: Row = {"kind": kind, "metric": metric, "n": n, "replications": len(data)}
        for method in methods:
            found = [
                jaxci.compare(metric, *one, method=method, n_resamples=RESAMPLES, rng=i, **options)
                for i, (one, options) in enumerate(data)
            ]
            row[method] = {
                "method": "/".join(sorted({str(one.method) for one in found})),
                "error": float(np.mean([wrong(one, truth) for one in found])),
                "warned": float(np.mean([bool(one.warnings) for one in found])),
            }
        rows.append(row)
        said = [f"{row[one]['method']} {row[one]['error']:.3f} (warned {row[one]['warned']:.2f})" for one in methods]
        print(f"{kind:24s} {metric:24s} n = {n:4d}  {'; '.join(said)}", flush=True)
    if arguments.json:
        old = json.loads(arguments.json.read_text())["rows"] if arguments.json.exists() else []
        made = {(row["kind"], row["metric"], row["n"]) for row in rows}
        rows += [row for row in old if (row["kind"], row["metric"], row["n"]) not in made]
        arguments.json.write_text(json.dumps({**surroundings(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
