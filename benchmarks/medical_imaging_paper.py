"""The designs of Andre et al. (2026) on instances of one's own, and its headlines beside what comes out.

    python benchmarks/medical_imaging_paper.py --out FOLDER --refdata REFDATA [--part NAME] --json OUT
    python benchmarks/medical_imaging_paper.py --from OUT --page docs/medical_imaging.md
    python benchmarks/medical_imaging_paper.py --out FOLDER --refdata REFDATA --estimate

The paper's benchmark data are not public. Segmentation: five metrics of every case of 10 tasks x 4 models made up to
look like them (40 instances a metric). Classification: the logits of three real classifiers, a part each. Both become
study files by ``jaxci study new`` alone, with 1,000 replications, 999 resamples and ``proper_bayesian`` beside the
paper's methods. FOLDER keeps finished cells; a run that was stopped goes on, and ``--json`` reads whatever is done of
all parts. ``--page`` writes what came out beside the paper's headlines. ``--estimate`` says what the paper's whole
design would take on this machine: 228 instances of 9 metrics, and 228 of logits, at its own numbers of replications
and resamples.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from medical_imaging_page import rewritten

from jaxci.cli import main as jaxci
from jaxci.coverage import Study, StudyResults, estimate, load_study
from jaxci.coverage.analysis import convergence_pace, quartiles, required_n
from jaxci.intervals import registry

CLASSES = {"hyperkvasir_therapeutic-interventions": 2, "lapgyn4_anatomical_actions": 4, "lapgyn4_surgical_actions": 8}
PARTS = ("segmentation", *CLASSES)
TASKS, MODELS = 10, 4
SCORES = ("dice", "iou", "nsd", "assd", "hd95")
INSTANCES, METRICS = 228, 9
"""Instances of the paper, of either kind, and metrics of segmentation."""


def made_up_cases(path: Path) -> None:
    """Write overlaps, and distances in millimetres, some of cases that failed."""
    rng, further = np.random.default_rng(2), np.random.default_rng(3)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["task", "model", *SCORES])
        for task in range(TASKS):
            mean, spread, cases = rng.uniform(0.55, 0.95), rng.uniform(4, 40), int(rng.integers(60, 300))
            difficulty, spacing = rng.normal(size=cases), rng.choice([0.5, 0.8, 1.0])
            for model in range(MODELS):
                skill = min(max(mean + rng.normal(scale=0.03), 0.4), 0.97)
                uniform = 0.5 * (1 + np.tanh(0.8 * (0.8 * difficulty + 0.6 * rng.normal(size=cases))))
                dice = np.clip(np.quantile(rng.beta(skill * spread, (1 - skill) * spread, 4000), uniform), 0, 1)
                failed = rng.random(cases) < (rng.uniform(0.01, 0.08) if task % 3 == 0 else 0.0)
                dice[failed] *= 0.05
                distance = spacing * np.round(np.exp(rng.normal(1.2, 0.35, cases)) * (1.02 - dice) * 6 / spacing)
                distance = np.maximum(np.where(failed, distance + 40, distance), spacing)
                surface = np.clip(1 - (1 - dice) ** 1.3 * np.exp(0.3 * further.normal(size=cases)), 0, 1)
                average = spacing * np.exp(0.5 * further.normal(size=cases)) * (1.02 - dice) * 4
                average[failed] += 10
                rows.writerows(
                    [f"task {task}", f"model {model}", *(f"{x:.6f}" for x in overlaps), f"{a:.6g}", f"{d:g}"]
                    for *overlaps, a, d in zip(dice, dice / (2 - dice), surface, average, distance, strict=True)
                )


def whole_design(part: str, folder: Path, refdata: Path) -> Study:
    """Return the study of a part with the paper's sizes, replications and resamples, by the command line."""
    folder.mkdir(parents=True, exist_ok=True)
    toml = folder / f"{part}.toml"
    if not toml.exists():
        if part == "segmentation":
            made_up_cases(folder / "cases.csv")
            given = ["--data", folder / "cases.csv", "--value", ",".join(SCORES), "--by", "task,model"]
        else:
            scores = ",".join(f"logit_{k}" for k in range(CLASSES[part]))
            given = ["--data", refdata / f"{part}_test.csv", "--target", "target", "--score", scores]
        kind = "segmentation" if part == "segmentation" else "classification"
        if jaxci(["study", "new", str(toml), "--design", kind, *map(str, given)]):
            raise SystemExit(1)
    return load_study(toml)


def design(part: str, folder: Path, refdata: Path) -> Study:
    """Return the study of a part that is run."""
    whole = whole_design(part, folder, refdata)
    methods = [*whole.methods, registry.method_by_name("proper_bayesian")]
    numbers = {"n_replications": 1000, "n_resamples": 999, "n_groups": 20}
    return dataclasses.replace(whole, methods=methods, sample_sizes=whole.all_sizes, more_sizes=[], **numbers)


def estimates(folder: Path, refdata: Path) -> dict[str, str]:
    """Return what the paper's two designs would take on this machine."""
    found = {}
    studies = [whole_design(part, folder, refdata) for part in CLASSES]
    of_all = dict(pair for study in studies for pair in study.statistics)  # those of two classes, and of more
    logits = {f"{i}": studies[i % 3].distributions["all"] for i in range(INSTANCES)}
    segmented = whole_design("segmentation", folder, refdata)
    laws = list(segmented.distributions.values())
    of_scores = [laws[i * 40 : (i + 1) * 40] for i in range(len(SCORES))]
    values = {f"{m} {i}": of_scores[m % len(SCORES)][i % 40] for m in range(METRICS) for i in range(INSTANCES)}
    statistics = {"segmentation": segmented.statistics, "classification": tuple(of_all.items())}
    for name, study, laws in (("segmentation", segmented, values), ("classification", studies[-1], logits)):
        whole = dataclasses.replace(study, distributions=laws, tags={}, bounds={}, statistics=statistics[name])
        found[name] = str(estimate(whole, folder / "nothing", budget=120.0))
    return found


def _medians(results: StudyResults, by: list[str]) -> list[dict[str, Any]]:
    table = quartiles(results.columns, by=by)
    return [
        dict(zip(table, row, strict=True)) for row in zip(*(column.tolist() for column in table.values()), strict=True)
    ]


def _paces(results: StudyResults, by: str) -> dict[str, float]:
    """Return medians over instances of how fast coverage converges."""
    paces = convergence_pace(results.columns, results.tags)
    return {name: float(np.nanmedian(paces["pace"][paces[by] == name])) for name in sorted(set(paces[by].tolist()))}


def _sizes(results: StudyResults, **target: float) -> dict[str, Any]:
    """Return the median over instances of the size that a target takes, by method, and in how many it is reached."""
    found = required_n(results.columns, by=("distribution", "method"), **target)
    return {
        method: {
            "median n": float(np.median(np.where(mine := found["reached"][rows], found["required_n"][rows], np.inf))),
            "reached": f"{int(mine.sum())} of {int(rows.sum())}",
        }
        for method in dict.fromkeys(found["method"].tolist())
        if (rows := found["method"] == method).any()
    }


def segmentation(results: StudyResults) -> dict[str, Any]:
    """Return what the paper's headlines of segmentation are here."""
    dice, means = results.where(metric="dice"), results.where(statistic="mean")
    mean_dice = dice.where(statistic="mean")
    medians = results.where(statistic="median", method="bca")
    return {
        "mean Dice, coverage and width by method and n": _medians(mean_dice, ["method", "n"]),
        "Dice, coverage by summary, method and n": _medians(dice, ["statistic", "method", "n"]),
        "pace by metric (mean, percentile)": _paces(means.where(method="percentile"), "metric"),
        "pace by summary (Dice, percentile)": _paces(dice.where(method="percentile"), "statistic"),
        "n for 92.5% coverage (mean Dice)": _sizes(mean_dice, coverage=0.925),
        "n for width 0.1 (mean Dice)": _sizes(mean_dice, width=0.1),
        "BCa of a median by metric and n": _medians(medians, ["metric", "n"]),
    }


def classification(results: StudyResults) -> dict[str, Any]:
    """Return what the paper's headlines of classification are here, for one instance."""
    columns, found = results.columns, {}
    for metric in dict.fromkeys(columns["statistic"].tolist()):
        one = results.where(statistic=metric).columns
        found[metric] = {
            "n": sorted(set(one["n"].tolist())),
            **{
                method: {
                    "coverage": one["coverage"][rows][np.argsort(one["n"][rows])].round(4).tolist(),
                    "mean width": one["mean_width"][rows][np.argsort(one["n"][rows])].round(4).tolist(),
                }
                for method in dict.fromkeys(one["method"].tolist())
                if (rows := one["method"] == method).any()
            },
            "n for 94% coverage": _sizes(results.where(statistic=metric), coverage=0.94),
            "n for width 0.1": _sizes(results.where(statistic=metric), width=0.1),
        }
    return found


def seconds_of(folder: Path) -> float:
    """Return the seconds that the cells in a folder took together."""
    return sum(json.loads(file.read_text(encoding="utf-8"))["seconds"] for file in (folder / "cells").glob("*.json"))


def found_in(folder: Path, refdata: Path) -> dict[str, Any]:
    """Return the headlines of all parts of which cells are done."""
    found: dict[str, Any] = {
        "machine": {"system": platform.machine(), "cores": os.cpu_count(), "date": str(date.today())},
        "numbers": {"replications": 1000, "resamples": 999, "groups": 20},
    }
    for part in PARTS:
        if (folder / part / "cells").is_dir():
            results = design(part, folder, refdata).results(folder / part)
            of_part = segmentation if part == "segmentation" else classification
            found[part] = {
                "cells": f"{results.n_done} of {results.n_cells}",
                "seconds": round(seconds_of(folder / part)),
                **of_part(results),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", action="append", choices=PARTS, default=[])
    parser.add_argument("--refdata", type=Path, default=Path("../shared/refdata"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.source:
        found = json.loads(options.source.read_text(encoding="utf-8"))
        options.page.write_text(rewritten(options.page.read_text(encoding="utf-8"), found), encoding="utf-8")
        return
    if options.estimate:
        print("\n".join(f"{name}: {text}" for name, text in estimates(options.out, options.refdata).items()))
        return
    for part in options.part or PARTS:
        design(part, options.out, options.refdata).run(options.out / part, progress=True)
    if options.json:
        options.json.write_text(json.dumps(found_in(options.out, options.refdata), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
