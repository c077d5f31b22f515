"""Means of per-case scores on the grid of a study of segmentation, with the method that it did not have.

M. Andre et al. (2026), Figure 6A, compare t, z and three bootstrap intervals of the mean Dice score for 10 to 250
cases, on densities fitted to 228 sets of scores that are not public. Here are 24 sets of 60 to 300 scores made up to
look like them: beta laws of mean .5 to .97 and several spreads, a third of them with 1 to 8% of cases that failed (Dice
near 0). The rest is their design: an adaptive density is fitted to each, and samples are drawn from that.

    python benchmarks/segmentation_grid.py --json benchmarks/results/segmentation_grid.json \
        --picture benchmarks/results/segmentation_grid.png
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.coverage import load_study
from jaxci.coverage.store import surroundings

SIZES = (10, 25, 50, 100, 250)
METHODS = ("percentile", "basic", "bca", "t", "proper_bayesian")
COLOURS = dict(zip(METHODS, ("tab:purple", "tab:green", "tab:orange", "tab:grey", "tab:blue"), strict=True))
INSTANCES = 24
BANDS = {"proper_bayesian", "t", "percentile"}
"""Methods whose quartiles are drawn."""


def instances() -> dict[str, np.ndarray]:
    """Return sets of scores by name."""
    rng = np.random.default_rng(2)
    found = {}
    for number in range(INSTANCES):
        mean, spread = rng.uniform(0.5, 0.97), rng.uniform(4, 60)
        cases = rng.beta(mean * spread, (1 - mean) * spread, int(rng.integers(60, 300)))
        failing = rng.uniform(0.01, 0.08) if number % 3 == 0 else 0.0
        failed = rng.random(cases.size) < failing
        found[f"instance {number}"] = np.where(failed, 0.05 * rng.random(cases.size), cases)
    return found


def summary(table: Any) -> list[dict[str, Any]]:
    """Return quartiles and extremes of coverage and of width over that of t, by method and size."""
    rows = []
    widths = table.set_index(["distribution", "n", "method"])["median_width"]
    for method in METHODS:
        for n in SIZES:
            own = table[(table["method"] == method) & (table["n"] == n)]
            coverage = own["coverage"].to_numpy()
            ratio = [widths[(d, n, method)] / widths[(d, n, "t")] for d in own["distribution"]]
            lowest, lower, middle, upper, highest = np.quantile(coverage, [0, 0.25, 0.5, 0.75, 1]).round(4).tolist()
            rows.append(
                {
                    "method": method,
                    "n": n,
                    "coverage": middle,
                    "quartiles": [lower, upper],
                    "worst": lowest,
                    "best": highest,
                    "at_least_93": round(float(np.mean(coverage >= 0.93)), 4),
                    "width_over_t": round(float(np.median(ratio)), 4),
                }
            )
    return rows


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw coverage and width against the number of cases."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for method, colour in COLOURS.items():
        own = [row for row in rows if row["method"] == method]
        left.plot(SIZES, [row["coverage"] for row in own], "o-", color=colour, label=method, markersize=4)
        left.plot(SIZES, [row["worst"] for row in own], "x", color=colour, markersize=5)
        if method in BANDS:
            left.fill_between(SIZES, *np.transpose([row["quartiles"] for row in own]), color=colour, alpha=0.15, lw=0)
        right.plot(SIZES, [row["width_over_t"] for row in own], "o-", color=colour, markersize=4)
    left.axhline(0.95, color="black", linewidth=0.8, linestyle="--")
    left.set_ylabel("coverage: median, quartiles, worst (x)")
    left.legend(frameon=False, fontsize=8)
    right.set_ylabel("median width over Student's")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(SIZES, [str(n) for n in SIZES])
        axes.minorticks_off()
        axes.set_xlabel("cases")
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"95% intervals of a mean score, {INSTANCES} made-up sets of segmentations", fontsize=11)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    study = load_study(
        "segmentation",
        instances(),
        bounds=(0, 1),
        sample_sizes=list(SIZES),
        methods=list(METHODS),
        n_replications=arguments.replications,
        n_resamples=arguments.resamples,
    )
    mean = [(name, statistic) for name, statistic in study.statistics if name == "mean"]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        table = type(study)(**{**vars(study), "statistics": mean}).run(folder).to_frame()
    rows = summary(table)
    seconds = time.perf_counter() - start
    for row in rows:
        lower, upper = row["quartiles"]
        print(
            f"{row['method']:16s} n = {row['n']:3d}  covers {row['coverage']:.3f} (quartiles {lower:.3f}, {upper:.3f}; "
            f"worst {row['worst']:.3f}), {row['width_over_t']:.2f} times as wide as t"
        )
    print(f"{len(table)} rows in {seconds:.0f} s")
    if arguments.json:
        settings = {"instances": INSTANCES, "replications": arguments.replications, "resamples": arguments.resamples}
        found = {**surroundings(), **settings, "seconds": round(seconds, 1), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.picture:
        picture(rows, arguments.picture)


if __name__ == "__main__":
    main()
