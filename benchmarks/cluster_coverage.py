"""Coverage of 95% intervals of a share of rows in clusters, by method, number and sizes of clusters, and correlation.

``python benchmarks/cluster_coverage.py [--replications 20000] [--drawn 400] [--json FILE]``: beta-binomial clusters, of
15 rows each, or of 2 to 80 with that mean (lognormal). Each cell is the share of intervals that hold the truth, and
their mean width: of formulas over all data sets, of ``proper_bayesian`` and ``percentile``, through the verb, over the
first ones.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import jaxci
from jaxci.coverage.store import surroundings
from jaxci.intervals.base import Bounds, tails
from jaxci.intervals.clustered_proportion import ClopperPearsonCluster, effective_size, wilson_cluster
from jaxci.intervals.clusters import ClusterSums, cluster_variance, satterthwaite
from jaxci.intervals.delta import student_steps
from jaxci.intervals.proportion import Wilson

SIDES = tails(0.95)


def cluster_sizes(clusters: int, kind: str) -> np.ndarray:
    """Return the rows of every cluster, 15 on average."""
    uneven = np.exp(stats.norm.ppf((np.arange(clusters) + 0.5) / clusters))
    return {"even": np.full(clusters, 15), "uneven": np.maximum(1, np.round(15 * uneven / uneven.mean())).astype(int)}[
        kind
    ]


def bounds_of(sums: ClusterSums) -> dict[str, Bounds]:
    """Return the bounds (R,) of every method and setting."""
    independent = Wilson().from_counts(sums.totals.sum(-1), sums.rows, SIDES)
    found: dict[str, Bounds] = {"wilson, rows taken for independent": independent}
    for variance in ("CR1", "CR2", "jackknife"):
        squared = cluster_variance(sums, variance)
        size = effective_size(sums, squared)
        degrees = {
            "G - 1": np.full(len(sums.totals), sums.count - 1.0),
            "Satterthwaite, working correlation 0": satterthwaite(sums, variance, 0.0),
            "Satterthwaite, working correlation 1": satterthwaite(sums, variance, 1.0),
        }
        for named, df in degrees.items():
            down, up = student_steps(df, SIDES)
            setting = f"{variance}, {named}"
            found[f"t, {setting}"] = Bounds(sums.mean - down * np.sqrt(squared), sums.mean + up * np.sqrt(squared))
            found[f"wilson_cluster, {setting}"] = wilson_cluster(sums.mean, size, df, SIDES)
            exact = ClopperPearsonCluster().of_share(sums, size, df, SIDES)
            found[f"clopper_pearson_cluster, {setting}"] = exact
    return found


def drawn(sums: ClusterSums, data_sets: int) -> dict[str, Bounds]:
    """Return the bounds of methods that draw, for the first data sets."""
    found: dict[str, Bounds] = {}
    groups = np.repeat(np.arange(sums.count), sums.sizes[0].astype(int))
    for method in ("proper_bayesian", "percentile"):
        ends = []
        for totals in sums.totals[:data_sets]:
            right = np.concatenate([np.arange(size) < k for size, k in zip(sums.sizes[0], totals, strict=True)]).astype(
                int
            )
            one = jaxci.interval(
                "accuracy", right, np.ones_like(right), groups=groups, method=method, n_resamples=999, rng=0
            )
            ends.append(one.confidence_interval)
        found[method] = Bounds(*np.array(ends).T)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=20_000)
    parser.add_argument("--drawn", type=int, default=400)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    rng, rows = np.random.default_rng(0), []
    for share in (0.8, 0.95):
        for clusters in (5, 10, 20, 40):
            for kind in ("even", "uneven"):
                for correlation in (0.05, 0.3):
                    sizes, mass = cluster_sizes(clusters, kind), 1 / correlation - 1
                    chances = rng.beta(share * mass, (1 - share) * mass, (arguments.replications, clusters))
                    sums = ClusterSums(
                        rng.binomial(sizes, chances).astype(float), np.broadcast_to(1.0 * sizes, chances.shape)
                    )
                    row: dict[str, Any] = {
                        "share": share,
                        "clusters": clusters,
                        "sizes": kind,
                        "correlation": correlation,
                    }
                    print(row)
                    for method, (low, high) in {**bounds_of(sums), **drawn(sums, arguments.drawn)}.items():
                        row[method] = {
                            "coverage": float(np.mean((low <= share) & (share <= high))),
                            "width": float(np.mean(high - low)),
                        }
                        print(f"  {method:70s} {row[method]['coverage']:.3f}  {row[method]['width']:.3f}")
                    rows.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps({**surroundings(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
