"""Coverage of all intervals for the generalization error, beside an independent simulation in NumPy.

    python benchmarks/generalization_coverage.py --json OUT [--reference FOLDER] [--replications 500]

Problems bates_regr_20 (ridge), bates_classif_20 (logistic) and friedman1 (linear) at n = 100 and 500, every
method at its usual settings (bootstrap case CV at n = 100 only). ``--reference`` holds what
``benchmarks/generalization_reference.py --json FOLDER/NAME.json`` wrote; each number is then compared in
units of the Monte-Carlo error of the difference.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

from jaxci.coverage import GeneralizationStudy
from jaxci.generalization import METHODS

CASES = (
    ("bates_regr_20", "ridge", "squared"),
    ("bates_classif_20", "logistic", "zero_one"),
    ("friedman1", "linear", "squared"),
)
SIZES = (100, 500)
NAMED_OTHERWISE = {"two_stage_bootstrap": "two_stage_bootstrap_distinct"}
"""The simulation has two readings of the second stage; ours never tests a row of which a copy trains."""
PAIRS = (
    ("coverage", "coverage_error", "coverage_risk", "coverage_risk_error"),
    ("coverage_expected", "coverage_expected_error", "coverage_expected_risk", "coverage_expected_risk_error"),
)


def methods() -> list[Any]:
    return [{"method": name, "largest_n": 100} if name == "bootstrap_case_cv" else name for name in METHODS]


def read_reference(folder: Path | None) -> dict[tuple[str, int, str, str], dict[str, Any]]:
    found = {}
    for path in sorted(folder.glob("*.json")) if folder else []:
        for row in json.loads(path.read_text()):
            if row["loss"] in ("squared", "zero_one"):
                found[row["problem"], row["n"], row["learner"], row["method"]] = row
    return found


def apart(ours: float, error: float, theirs: float, other: float, smallest: float) -> float:
    """Return the difference in units of its error; shares near 0 or 1 have at least the ``smallest`` one."""
    return (ours - theirs) / math.hypot(max(error, smallest), max(other, smallest))


def compared(row: dict[str, Any], other: dict[str, Any], replications: int) -> dict[str, float]:
    """Return differences of coverage, estimate and width in units of their errors."""
    least = 1 / min(replications, other["replications"])
    found = {}
    for ours, error, theirs, their_error in PAIRS:
        found[ours] = apart(row[ours], row[error], other[theirs], other[their_error], least)
    error = row["estimate_sd"] / math.sqrt(replications)
    found["estimate"] = apart(row["estimate"], error, other["mean_point"], other["mean_point_error"], 0.0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--problem", choices=[problem for problem, _, _ in CASES], action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reference = read_reference(options.reference)
    rows, largest = [], 0.0
    for problem, learner, loss in CASES:
        if options.problem and problem not in options.problem:
            continue
        study = GeneralizationStudy(
            [problem],
            [learner],
            [loss],
            methods(),
            SIZES,
            n_replications=options.replications,
            n_groups=50,
            seed=1,
            ends="formula",
        )
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            results = study.run(folder, progress=True)
        print(f"{problem}, {learner}: {time.perf_counter() - start:.0f} s")
        for row in results.table.records():
            theirs = NAMED_OTHERWISE.get(row["method"], row["method"])
            other = reference.get((problem, row["n"], learner, theirs))
            line = (
                f"{row['n']:4d} {row['method']:27s} risk {row['coverage']:.3f} expected {row['coverage_expected']:.3f} "
                f"estimate {row['estimate']:.4f} (truth {row['truth']:.4f}) width/sd {row['width_over_sd']:5.2f} "
                f"fits {row['fits']:6.0f}"
            )
            kept = {name: row[name] for name in row if name not in ("flags", "distribution", "statistic")}
            if other is not None:
                kept["reference"] = {name: other[name] for name in other if name not in ("problem", "learner")}
                kept["apart"] = compared(row, other, options.replications)
                largest = max(largest, *map(abs, kept["apart"].values()))
                line += " | NumPy " + " ".join(f"{name} {z:+.1f}" for name, z in kept["apart"].items())
            rows.append({"loss": loss, **kept})
            print(line)
    if reference:
        print(f"largest difference: {largest:.1f} Monte-Carlo errors, of {3 * len(rows)} comparisons")
    if options.json:
        device = jax.devices()[0]
        head = {"device": f"{device.platform} ({device.device_kind})", "replications": options.replications}
        options.json.write_text(json.dumps({**head, "largest_difference": largest, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
