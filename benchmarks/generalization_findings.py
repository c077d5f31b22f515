"""Findings of Schulz-Kuempel et al. (2024) about learners and losses, met again.

    python benchmarks/generalization_findings.py --json OUT

1. 5x2 CV and the 2/3 holdout lose coverage of the risk as n grows, for a learner that keeps learning (forest).
2. CV Wald is too liberal for a tree.
3. Squared error on heavy-tailed targets (chen_10_null) breaks every method; winsorized loss mends it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

from jaxci.coverage import GeneralizationStudy

TWO_THIRDS = {"method": "holdout", "p": 0.66, "label": "holdout_66"}
MEAN_METHODS = ["cv_wald", "corrected_t", {"method": "nested_cv", "n_repeats": 10}]


def studies(replications: int, validation: int) -> dict[str, GeneralizationStudy]:
    common = {"n_replications": replications, "n_validation": validation, "seed": 1, "ends": "formula"}
    return {
        "forest, n grows": GeneralizationStudy(
            ["friedman1"], ["forest"], ["squared"], ["five_by_two_cv", TWO_THIRDS], [100, 500, 2000],
            **common,
        ),
        "tree": GeneralizationStudy(
            ["friedman1", "bates_classif_20"], ["tree", "ridge", "logistic"], ["squared", "zero_one"],
            ["cv_wald", "corrected_t"], [100, 500], **common,
        ),
        "heavy tails": GeneralizationStudy(
            ["chen_10_null"], ["ridge"], ["squared", "winsorized"], MEAN_METHODS, [100, 500], **common
        ),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--validation", type=int, default=20_000)
    parser.add_argument("--only", action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    for name, study in studies(options.replications, options.validation).items():
        if options.only and name not in options.only:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found[name] = study.run(folder, progress=True).table.records()
        print(f"{name}: {time.perf_counter() - start:.0f} s")
        for row in found[name]:
            print(
                f"  {row['distribution']:27s} {row['statistic']:10s} n = {row['n']:4d} {row['method']:15s} risk "
                f"{row['coverage']:.3f} +- {row['coverage_error']:.3f} expected {row['coverage_expected']:.3f} "
                f"width/sd {row['width_over_sd']:.2f}"
            )
    if options.json:
        device = jax.devices()[0]
        head = {"device": f"{device.platform} ({device.device_kind})", "replications": options.replications}
        options.json.write_text(json.dumps({**head, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
