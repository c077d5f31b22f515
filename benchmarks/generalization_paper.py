"""The methods of Schulz-Kuempel et al. (2024) side by side, judged by the paper's rule, beside the paper's verdicts.

    python benchmarks/generalization_paper.py --out FOLDER --json OUT [--learner ridge]

Two problems of regression (ridge), two of classification (logistic) and the first of each for a forest of 10 trees,
at n = 100, 500 and 1,000. The rule of section 5.4: a method is kept where the average undercoverage over problems,
learners and sizes is at most .1 and the median of its widths over the standard deviation of its estimates at most 8.
FOLDER keeps finished cells; a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import jax

from jaxci.coverage import GeneralizationStudy

SIZES = [100, 500, 1000]
LEARNERS: dict[str, tuple[list[str], Any, str, bool, int]] = {
    "ridge": (["bates_regr_20", "friedman1"], "ridge", "squared", True, 200),
    "logistic": (["bates_classif_20", "highdim_100"], "logistic", "zero_one", True, 200),
    "forest": (["friedman1"], {"name": "forest", "n_trees": 10}, "squared", False, 100),
    "forest_of_classes": (["bates_classif_20"], {"name": "forest", "n_trees": 10}, "zero_one", False, 100),
}
"""Problems, learner, loss, whether methods of more than 400 fits are run too, and replications."""

METHODS: list[tuple[dict[str, Any], str, bool]] = [
    (
        {"method": "corrected_t", "label": "cort_25_90", "scale": "plain", "n_subsamples": 25, "p": 0.9},
        "best: recommended",
        False,
    ),
    (
        {"method": "corrected_t", "label": "cort_25_80", "scale": "plain", "n_subsamples": 25, "p": 0.8},
        "kept; .9 is the only sensible p",
        False,
    ),
    ({"method": "conservative_z", "label": "conz_10_5", "n_subsamples": 5, "n_pairs": 10}, "best: recommended", False),
    (
        {"method": "conservative_z", "label": "conz_25_10", "n_subsamples": 10, "n_pairs": 25, "largest_n": 100},
        "best on small data: recommended",
        True,
    ),
    (
        {"method": "nested_cv", "label": "ncv_3_5", "scale": "plain", "n_repeats": 3},
        "best; slightly conservative",
        False,
    ),
    (
        {"method": "nested_cv", "label": "ncv_25_5", "scale": "plain", "n_repeats": 25, "largest_n": 500},
        "best on small data: recommended",
        True,
    ),
    ({"method": "holdout", "label": "holdout_90", "p": 0.9}, "kept; 4 points under, wide", False),
    ({"method": "holdout", "label": "holdout_66", "p": 0.66}, "kept; bias grows with n for forests", False),
    ({"method": "cv_wald", "label": "cv_10_allpairs", "n_folds": 10}, "kept; narrow, too liberal", False),
    ({"method": "five_by_two_cv", "label": "52cv"}, "kept, then excluded: worse than those above", False),
    ({"method": "oob", "label": "oob_100", "n_resamples": 100}, "dismissed", False),
    ({"method": "bootstrap_632_plus", "label": "632plus_100", "n_resamples": 100}, "dismissed", False),
    ({"method": "location_shifted_bootstrap", "label": "lsb_100", "n_resamples": 100}, "dismissed", False),
    ({"method": "replace_one_cv", "label": "rocv_5", "n_folds": 5, "largest_n": 100}, "dismissed", True),
    (
        {"method": "two_stage_bootstrap", "label": "tsb_200_10", "n_outer": 200, "n_inner": 10, "largest_n": 100},
        "dismissed",
        True,
    ),
    (
        {"method": "bootstrap_case_cv", "label": "bccv_100", "n_resamples": 100, "largest_n": 100},
        "narrow enough, no better than others",
        True,
    ),
]
"""Settings as in Table 4 of the paper, its verdict, and whether it takes more than 400 fits a data set."""


def study(name: str) -> GeneralizationStudy:
    """Return the cells of one learner."""
    problems, learner, loss, costly, replications = LEARNERS[name]
    methods = [method for method, _, many in METHODS if costly or not many]
    return GeneralizationStudy(
        problems, {name: learner}, [loss], methods, SIZES,
        n_replications=replications, n_groups=20, n_validation=20_000, seed=4, ends="formula",
    )  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Judge each method by the paper's rule, and count its problems of coverage by size."""
    found = []
    for method, verdict, _ in METHODS:
        mine = [row for row in rows if row["method"] == method["label"]]
        if not mine:
            continue
        under = statistics.fmean(max(0.95 - row["coverage"], 0.0) for row in mine)
        under_expected = statistics.fmean(max(0.95 - row["coverage_expected"], 0.0) for row in mine)
        width = statistics.median(row["width_over_sd"] for row in mine)
        found.append(
            {
                "method": method["label"],
                "cells": len(mine),
                "undercoverage": under,
                "undercoverage_expected": under_expected,
                "median_relative_width": width,
                "kept": max(under, under_expected) <= 0.1 and width <= 8,
                "paper": verdict,
                **{
                    f"coverage, {learner}, n = {n}": statistics.fmean(row["coverage"] for row in cell)
                    for learner in LEARNERS
                    for n in SIZES
                    if (cell := [row for row in mine if (row["inducer"], row["n"]) == (learner, n)])
                },
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--learner", action="append", choices=list(LEARNERS))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.learner or LEARNERS:
        rows += study(name).run(options.out / name, progress=True).table.records()
    judged = summary(rows)
    for row in judged:
        print(
            f"{row['method']:15s} under {row['undercoverage']:.3f} (expected risk {row['undercoverage_expected']:.3f}) "
            f"width {row['median_relative_width']:.2f} {'kept' if row['kept'] else 'dismissed':9s} "
            f"paper: {row['paper']}"
        )
    if options.json:
        device = jax.devices()[0]
        head = {"device": f"{device.platform} ({device.device_kind})"}
        options.json.write_text(json.dumps({**head, "summary": judged, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
