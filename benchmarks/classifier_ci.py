"""Coverage of intervals for a decision tree's accuracy, beside the numbers published with the design.

S. Raschka, "Creating Confidence Intervals for Machine Learning Classifiers" (2022), repeated 1000
times: populations of ``make_classification``, 1000 rows to train, 1000 to test, 200 resamples.
The published .632 interval weights training accuracy by .632 and out-of-bag accuracy by .368;
Efron's estimator has it the other way round, and both are here.

    python benchmarks/classifier_ci.py --repetitions 1000 --json benchmarks/results/classifier_ci_1000.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import jaxci
from jaxci.coverage.classifier import ClassifierStudy, Population, hits

PUBLISHED = {
    "normal": 0.956,
    "oob_t": 0.985,
    "oob_percentile": 0.980,
    "bootstrap_632_reversed": 0.832,
    "test_bootstrap": 0.945,
}
PUBLISHED_REPETITIONS = 1000


def compared(row: dict[str, Any]) -> dict[str, Any]:
    """Add the published coverage, where there is one, and its distance in binomial standard errors."""
    published = PUBLISHED.get(row["method"])
    if published is None:
        return {**row, "published": None, "distance_in_errors": None, "agrees": None}
    error = math.hypot(row["coverage_error"], math.sqrt(published * (1 - published) / PUBLISHED_REPETITIONS))
    distance = (row["coverage"] - published) / error
    return {**row, "published": published, "distance_in_errors": distance, "agrees": abs(distance) <= 2}


def truth_check(seed: int, n_rows: int) -> dict[str, float]:
    """Compare the exact accuracy of one tree with its accuracy on rows of scikit-learn's own generator.

    Rows come unshuffled, half of each class before labels are flipped, so that the centres, the
    covariances and the redundant features' map can be read off them.
    """
    features, labels = make_classification(
        n_rows,
        5,
        n_redundant=2,
        n_clusters_per_class=1,
        flip_y=0.25,
        shuffle=False,
        random_state=seed,
    )
    halves = np.array_split(features[:, :2], 2)
    redundant = np.linalg.lstsq(features[:100, :2], features[:100, 2:4])[0]
    mixing = np.array([np.linalg.cholesky(np.cov(half.T)).T for half in halves])
    population = Population(np.round([half.mean(axis=0) for half in halves]), mixing, redundant)
    chosen = np.random.default_rng(seed).permutation(n_rows)[:1000]
    rest = np.setdiff1d(np.arange(n_rows), chosen)
    features = features.astype(np.float32)
    tree = DecisionTreeClassifier(max_depth=3, random_state=42).fit(features[chosen], labels[chosen].astype(float))
    measured, exact = float(hits(tree, features[rest], labels[rest]).mean()), population.accuracy(tree)
    return {
        "seed": seed,
        "rows": len(rest),
        "exact": exact,
        "measured": measured,
        "error": math.sqrt(exact * (1 - exact) / len(rest)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checks", type=int, default=5, help="trees whose exact accuracy is compared with a sample")
    parser.add_argument("--check-rows", type=int, default=5_000_000)
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    study = ClassifierStudy(n_repeats=args.repetitions, seed=args.seed)
    started = time.perf_counter()
    rows = [compared(row) for name in study.cell_names() for row in study.run_cell(name)]
    seconds = time.perf_counter() - started
    checks = [truth_check(seed, args.check_rows) for seed in range(args.checks)]
    for row in rows:
        beside = "" if row["published"] is None else f" | published {row['published']:.3f}, agrees: {row['agrees']}"
        print(
            f"{row['method']:24s} {row['coverage']:.3f} +- {row['coverage_error']:.3f} | below {row['below']:.3f}, "
            f"above {row['above']:.3f} | width {row['mean_width']:.4f}, bias {row['bias']:+.4f}, "
            f"sd {row['standard_error']:.4f}{beside}"
        )
    for check in checks:
        distance = (check["measured"] - check["exact"]) / check["error"]
        print(f"truth of seed {check['seed']}: exact {check['exact']:.5f}, {distance:+.2f} errors from a sample")
    if args.json:
        record = {
            "study": study.to_dict(),
            "published_by": "Raschka 2022, 1000 repetitions; .632 there is bootstrap_632_reversed",
            "agrees_means": "within 2 binomial standard errors of the difference",
            "rows": rows,
            "truth_checks": checks,
            "seconds": seconds,
            "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "processes": 1},
            "versions": {module.__name__: module.__version__ for module in (jaxci, np, scipy, sklearn)},
            "date": datetime.date.today().isoformat(),
        }
        args.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
