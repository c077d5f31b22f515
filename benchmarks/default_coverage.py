"""Simulate what ``auto`` covers, through ``jaxci.interval`` itself, beside the percentile bootstrap.

Run ``python benchmarks/default_coverage.py``; ``--json FILE`` keeps the numbers and ``--png FILE`` draws them. Nominal
95%. Models are tables by shares of classes and accuracy, or by prevalence, sensitivity and specificity; data sets are
drawn whole, so that a rare class may be missing ("lost" is the share of data sets in which one is); "warned" is the
share of data sets whose row carries a warning. Scores are binormal. Right answers in clusters are beta-binomial with an
intraclass correlation of .3.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy import special, stats

import jaxci
from jaxci import distributions
from jaxci.coverage.store import surroundings
from jaxci.distributions import Cells, GaussianClasses, Mixture, Parametric, RegressionErrors
from jaxci.statistics import F1, Mean
from jaxci.statistics.registry import METRICS

SIZES = (30, 100, 300)
RESAMPLES = 999


TABLES = {
    "2 classes, .1 / .95 / .995": Cells.binary(0.1, 0.95, 0.995),
    "2 classes, .05 / .6 / .98": Cells.binary(0.05, 0.6, 0.98),
    "2 classes, .5 / .98 / .98": Cells.binary(0.5, 0.98, 0.98),
    "3 classes, uneven, .95": Cells.multiclass([5, 3, 2], 0.95),
    "5 classes, even, .98": Cells.multiclass([1, 1, 1, 1, 1], 0.98),
    "5 classes, 40 to 2%, .95": Cells.multiclass([40, 30, 20, 8, 2], 0.95),
}
SCORES = {
    "AUC .99, 20 + 980": (0.99, 20, 980),
    "AUC .9, 5 + 95": (0.9, 5, 95),
    "AUC .99, 15 + 15": (0.99, 15, 15),
    "AUC .7, 10 + 90": (0.7, 10, 90),
    "AUC .99, 150 + 150": (0.99, 150, 150),
    "AUC .9, 250 + 250": (0.9, 250, 250),
}
SPREADS = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "t5": (lambda rng, n: rng.standard_t(5, n), np.sqrt(5 / 3)),
    "beta(8, 2)": (lambda rng, n: rng.beta(8, 2, n), np.sqrt(16 / 1100)),
}
FAILING = 0.06
SCALES = {
    "beta(8, 2)": (lambda rng, n: rng.beta(8, 2, n), 0.8),
    "beta(20, 1)": (lambda rng, n: rng.beta(20, 1, n), 20 / 21),
    "beta(.3, 3)": (lambda rng, n: rng.beta(0.3, 3, n), 0.3 / 3.3),
    "Dice, 6% failures": (
        lambda rng, n: np.where(rng.random(n) < FAILING, 0.0, rng.beta(20, 2, n)),
        (1 - FAILING) * 20 / 22,
    ),
}
"""Values between 0 and 1, with their means."""
ERRORS = {"normal": (lambda rng, n: rng.normal(size=n), 1.0), "t5": (lambda rng, n: rng.standard_t(5, n), 5 / 3)}
"""Errors of a regression, with their mean squares."""
Draws = Callable[[np.random.Generator, int], np.ndarray]
Row = dict[str, Any]


def truths(table: np.ndarray) -> dict[str, float]:
    """Return the true values of what a table gives."""
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    jaccard = hits / (true + taken - hits)
    f1 = 2 * jaccard / (1 + jaccard)
    spread = np.sqrt((1 - (true**2).sum()) * (1 - (taken**2).sum()))
    chance, rare = (true * taken).sum(), int(np.argmin(true))
    return {
        "balanced_accuracy": (hits / true).mean(),
        "f1_macro": f1.mean(),
        f"f1 of class {rare}": f1[rare],
        "matthews_corrcoef": (hits.sum() - chance) / spread,
        "cohen_kappa_score": (hits.sum() - chance) / (1 - chance),
    }


def binormal(area: float, positives: int, negatives: int) -> dict[str, float]:
    """Return the true areas of normal scores of unit variance."""
    z, apart = np.linspace(-12, 16, 100_001), np.sqrt(2) * stats.norm.ppf(area)
    found, taken = positives * stats.norm.sf(z - apart), negatives * stats.norm.sf(z)
    precision = np.trapezoid(stats.norm.pdf(z - apart) * found / (found + taken), z)
    return {"roc_auc": area, "average_precision": float(precision)}


def named(metric: str) -> Any:
    """Return the metric itself: one class is a setting."""
    return F1(average="class", class_index=int(metric[-1])) if metric.startswith("f1 of") else metric


def judged(kind: str, metric: str, n: int, calls: list[Callable[..., Any]], truth: float, lost: float = 0.0) -> Row:
    """Judge the default and the percentile bootstrap of data sets that ``calls`` hold."""
    row: Row = {"kind": kind, "metric": metric, "n": n, "replications": len(calls), "lost": lost}
    for method in ("auto", "percentile"):
        found = [call(method=method) for call in calls]
        ends = np.array([one.confidence_interval for one in found], float)
        covers = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        row[method] = {
            "method": "/".join(sorted({str(one.method) for one in found})),
            "coverage": float(np.mean(covers)),
            "warned": float(np.mean([len(one.warnings) > 0 for one in found])),
            "low_above": float(np.mean(ends[:, 0] > truth)),
            "high_below": float(np.mean(ends[:, 1] < truth)),
            "width": float(np.nanmean(ends[:, 1] - ends[:, 0])),
        }
    return row


def call_of(statistic: Any, *data: Any, **options: Any) -> Callable[..., Any]:
    """Return the verb, held until the method is known."""
    return lambda method: jaxci.interval(statistic, *data, method=method, n_resamples=RESAMPLES, rng=0, **options)


def of_tables(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    for kind, law in TABLES.items():
        table, k = np.asarray(law.table), law.n_classes
        for n in SIZES:
            cells = rng.choice(k * k, p=table.ravel(), size=(replications, n))
            lost = float(np.mean([len(np.unique(one // k)) < k for one in cells]))
            for metric, truth in truths(table).items():
                calls = [call_of(named(metric), one // k, one % k, labels=list(range(k))) for one in cells]
                yield judged(kind, metric, n, calls, truth, lost)


def of_scores(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    for kind, (area, positives, negatives) in SCORES.items():
        y = np.repeat([1, 0], [positives, negatives])
        samples = [rng.normal(size=len(y)) + np.sqrt(2) * stats.norm.ppf(area) * y for _ in range(replications)]
        for metric, truth in binormal(area, positives, negatives).items():
            yield judged(kind, metric, len(y), [call_of(metric, y, s) for s in samples], truth)


def of_values(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    def drawn(laws: dict[str, tuple[Draws, float]]) -> Iterator[tuple[str, int, list[np.ndarray], float]]:
        for law, (draw, truth) in laws.items():
            for n in (10, *SIZES):
                yield law, n, [draw(rng, n) for _ in range(replications)], truth

    for law, n, samples, sd in drawn(SPREADS):
        yield judged(law, "std", n, [call_of("std", x) for x in samples], sd)
    for law, n, samples, mean in drawn(SCALES):
        yield judged(law, "mean within [0, 1]", n, [call_of(Mean(bounds=(0, 1)), x) for x in samples], mean)
    for law, n, samples, square in drawn(ERRORS):
        calls = [call_of("root_mean_squared_error", np.zeros(n), x) for x in samples]
        yield judged(f"{law} errors", "root_mean_squared_error", n, calls, np.sqrt(square))


def of_clusters(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    correlation, size = 0.3, 15
    mass = 1 / correlation - 1
    for share in (0.8, 0.95):
        for clusters in (5, 10, 20, 40):
            groups, calls = np.repeat(np.arange(clusters), size), {}
            for _ in range(replications):
                right = rng.random(groups.size) < rng.beta(share * mass, (1 - share) * mass, clusters)[groups]
                y = rng.integers(0, 2, groups.size)
                for metric in ("accuracy", "balanced_accuracy", "f1 of class 1"):
                    one = call_of(named(metric), y, np.where(right, y, 1 - y), labels=[0, 1], groups=groups)
                    calls.setdefault(metric, []).append(one)
            for metric, kept in calls.items():  # both recalls, and F1 of even classes, are the share of right answers
                yield judged(f"{clusters} clusters of {size}, ICC .3, {share:g}", metric, groups.size, kept, share)


def drawn_from(law: Any, metrics: tuple[str, ...], replications: int) -> Iterator[Row]:
    """Judge metrics of what a law of models draws."""
    draw = jax.jit(jax.vmap(law.sample, in_axes=(0, None)), static_argnums=1)
    for n in SIZES:
        drawn = draw(jax.random.split(jax.random.key(n), replications), n)
        columns = [np.asarray(drawn[name]) for name in ("y_true", "y_score" if law.kind == "scores" else "y_pred")]
        data = list(zip(*columns, strict=True))
        if law.kind == "scores":
            data = [one for one in data if len(np.unique(one[0])) == law.n_classes]
        lost = 1 - len(data) / replications
        for metric in metrics:
            true = float(distributions.truth(law, METRICS[metric], jax.random.key(0)).value)
            yield judged(law.label, metric, n, [call_of(metric, *one) for one in data], true, lost)


def of_probabilities(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    metrics = ("log_loss", "brier_score_loss", "expected_calibration_error", "root_mean_squared_calibration_error")
    for shares, area, temperature in (([0.5, 0.5], 0.99, 1.0), ([0.9, 0.1], 0.95, 1.0), ([0.7, 0.3], 0.9, 0.5)):
        yield from drawn_from(GaussianClasses(shares, area, temperature), metrics, replications)
    for shares in ([0.5, 0.5], [0.9, 0.1]):
        yield from drawn_from(GaussianClasses(shares, 0.999), metrics[:2], replications)
    several = ("roc_auc_ovr", "average_precision_macro", "log_loss")
    yield from drawn_from(GaussianClasses([0.6, 0.3, 0.1], 0.97), several, replications)


def of_regressions(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    metrics = ("mean_absolute_error", "mean_squared_error", "median_absolute_error", "r2", "pearsonr", "spearmanr")
    outliers = Mixture((Parametric("norm"), Parametric("norm", {"scale": 10.0})), (0.96, 0.04))
    for errors in (Parametric("norm"), Parametric("t", {"df": 5}), outliers):
        yield from drawn_from(RegressionErrors(errors, spread=3.0, centre=10.0), metrics, replications)


def of_calibration_in_clusters(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    """Models that are calibrated over all clusters, and not within one: true errors are 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    for clusters in (5, 10, 20):
        groups, calls = np.repeat(np.arange(clusters), 15), {}
        for _ in range(replications):
            logit, shift = 2 * rng.normal(size=groups.size), rng.normal(size=clusters)[groups]
            known = special.expit(logit[:, None] + nodes) @ (weights / weights.sum())
            y = (rng.random(groups.size) < special.expit(logit + shift)).astype(int)
            for metric in ("expected_calibration_error", "root_mean_squared_calibration_error"):
                calls.setdefault(metric, []).append(call_of(metric, y, known, groups=groups))
        for metric, kept in calls.items():
            yield judged(f"{clusters} clusters of 15, deviation 1", metric, groups.size, kept, 0.0)


def of_weights(replications: int, rng: np.random.Generator) -> Iterator[Row]:
    """Accuracy .95 of rows weighted by importance, exponential, and of rows counted 0 to 2 times."""
    for n in SIZES:
        calls: dict[str, list[Callable[..., Any]]] = {"importance": [], "zeros": []}
        for _ in range(replications):
            y = rng.integers(0, 2, n)
            guess = np.where(rng.random(n) < 0.95, y, 1 - y)
            weights = rng.exponential(size=n)
            calls["importance"].append(call_of("accuracy", y, guess, sample_weight=weights))
            thinned = np.where(rng.random(n) < 0.3, 0.0, weights)
            calls["zeros"].append(call_of("accuracy", y, guess, sample_weight=thinned))
        for kind, kept in calls.items():
            yield judged(f"exponential weights, {kind}", "accuracy", n, kept, 0.95)


def draw(rows: list[Row], path: Path) -> None:
    """Draw coverage as two maps over designs and sizes: by the percentile bootstrap and by the default."""
    import matplotlib.pyplot as plt

    designs = list(dict.fromkeys((row["metric"], row["kind"]) for row in rows))
    sizes = sorted({row["n"] for row in rows})
    figure, panels = plt.subplots(
        1, 2, figsize=(4 + 0.8 * len(sizes), 0.17 * len(designs) + 1), layout="constrained", sharey=True
    )
    for axes, method in zip(panels, ("percentile", "auto"), strict=True):
        coverage = np.full((len(designs), len(sizes)), np.nan)
        for row in rows:
            coverage[designs.index((row["metric"], row["kind"])), sizes.index(row["n"])] = row[method]["coverage"]
        shades = axes.imshow(coverage, cmap="RdYlGn", vmin=0.7, vmax=1, aspect="auto")
        for (y, x), value in np.ndenumerate(coverage):
            if not np.isnan(value):
                light = value < 0.74 or value > 0.975  # on what is dark in these shades
                text = {"ha": "center", "va": "center", "fontsize": 6, "color": "white" if light else "black"}
                axes.text(x, y, f"{value:.2f}".lstrip("0"), **text)
        axes.set_xticks(range(len(sizes)), sizes, fontsize=6)
        axes.set(xlabel="n", title=method)
    panels[0].set_yticks(range(len(designs)), [f"{metric}, {kind}" for metric, kind in designs], fontsize=6)
    figure.colorbar(shades, ax=panels, label="coverage of nominal 95% intervals", shrink=0.3, extend="min")
    figure.savefig(path, dpi=130)


PARTS = {
    "tables": of_tables,
    "scores": of_scores,
    "values": of_values,
    "clusters": of_clusters,
    "probabilities": of_probabilities,
    "regressions": of_regressions,
    "calibration in clusters": of_calibration_in_clusters,
    "weights": of_weights,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1_000)
    parser.add_argument("--only", choices=tuple(PARTS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rows = []
    for name in [arguments.only] if arguments.only else PARTS:
        for row in PARTS[name](arguments.replications, np.random.default_rng(0)):
            rows.append(row)
            mine, other = row["auto"], row["percentile"]
            print(
                f"{row['kind']:30s} {row['metric']:24s} n = {row['n']:4d} lost {row['lost']:.2f}  {mine['method']:15s} "
                f"covers {mine['coverage']:.3f} ({mine['low_above']:.3f} low, {mine['high_below']:.3f} high; warned "
                f"{mine['warned']:.2f}), width {mine['width']:.3f}; "
                f"percentile {other['coverage']:.3f}, width {other['width']:.3f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({**surroundings(), "rows": rows}, indent=1) + "\n")
    if arguments.png:
        draw(rows, arguments.png)


if __name__ == "__main__":
    main()
