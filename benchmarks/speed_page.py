"""Write the last part of docs/speed.md from the numbers that ``versus_scipy.py`` and others kept.

Run ``python benchmarks/speed_page.py docs/speed.md``.
"""

from __future__ import annotations

import argparse
import collections
import json
from pathlib import Path
from typing import Any

from medical_imaging_page import table
from peers_page import seconds_text, times_text

RESULTS = Path(__file__).resolve().parent / "results"
RUNS = ("2026-11-21", "2026-11-22")
"""Days of the two runs against SciPy and of coverage cells; of the fits, the first."""
LEARNERS, CALLS = "2026-11-23", "2026-11-26"
START, END = "<!-- figures: written by speed_page.py -->", "<!-- end of the other figures -->"


def name_of(script: str, day: str) -> str:
    """Return the name of the file that a script's run of a day was kept in."""
    return f"{script}_cpu_2cores_{day}.json"


def kept() -> dict[str, Any]:
    """Return all runs that the page shows, by the names of their files."""
    names = [name_of(script, day) for script in ("versus_scipy", "coverage_speed") for day in RUNS]
    names += [name_of("generalization_speed", RUNS[0]), name_of("learners", LEARNERS), name_of("bootstrap_verb", CALLS)]
    return {name: json.loads((RESULTS / name).read_text(encoding="utf-8")) for name in names}


def _from(*names: str) -> list[str]:
    return ["", f"From {' and '.join(f'`{name}`' for name in names)}.", ""]


def _cells(row: dict[str, Any] | None, *keys: str) -> list[str]:
    """Return the texts of seconds and ratios of a row, empty for what it lacks."""
    row = row or {}
    texts = {key: times_text if key == "ratio" else seconds_text for key in keys}
    return [text(row[key]) if key in row else "" for key, text in texts.items()]


def _two_runs(found: dict[str, Any], script: str, key: str) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Return the names of both runs of a script, and their rows by what ``key`` holds."""
    names = [name_of(script, day) for day in RUNS]
    first, second = ({row[key]: row for row in found[name]["rows"]} for name in names)
    return names, first, second


def _against_scipy(found: dict[str, Any]) -> list[str]:
    names, first, second = _two_runs(found, "versus_scipy", "what")
    return [
        *table(
            ["case", "jaxci", "beside", "its time", "times", "jaxci, second run", "times, second run"],
            [
                [
                    what,
                    *_cells(row, "seconds"),
                    row["reference"],
                    *_cells(row, "reference_seconds", "ratio"),
                    *_cells(second.get(what), "seconds", "ratio"),
                ]
                for what, row in first.items()
            ],
        ),
        *_from(*names),
    ]


def _calls(found: dict[str, Any]) -> list[str]:
    name = name_of("bootstrap_verb", CALLS)
    keys = ("seconds", "scipy_seconds", "ratio")
    return [
        *table(
            ["BCa interval of", "n", "jaxci", "SciPy, best batch", "times"],
            [[row["what"], f"{row['n']:,}", *_cells(row, *keys)] for row in found[name]["rows"]],
        ),
        *_from(name),
    ]


def _coverage(found: dict[str, Any]) -> list[str]:
    names, first, second = _two_runs(found, "coverage_speed", "statistic")
    return [
        *table(
            ["cell", "jaxci", "SciPy, scaled", "times", "jaxci, second run", "with kept banks", "times, second run"],
            [
                [
                    statistic,
                    *_cells(first.get(statistic), "seconds", "scipy_seconds", "ratio"),
                    *_cells(second.get(statistic), "seconds", "seconds_with_kept_banks", "ratio"),
                ]
                for statistic in {**first, **second}
            ],
        ),
        *_from(*names),
    ]


def _fits(found: dict[str, Any]) -> list[str]:
    name = name_of("generalization_speed", RUNS[0])
    run = found[name]
    cell = run["corrected t cell"]
    keys = ("ours_s", "scikit_learn_s", "ratio")
    return [
        *table(
            ["625 fits of nested cross-validation", "jaxci", "scikit-learn, joblib", "times"],
            [[model, *_cells(run[f"nested CV, {model}"], *keys)] for model in ("ridge", "logistic")],
        ),
        "",
        f"A coverage cell of {cell['fits']:,.0f} ridge fits took {seconds_text(cell['cold_s'])} with compilation.",
        f".632+ with log loss at n = 20,000 took {run['.632+ at n = 20,000, GiB']:.2f} GiB.",
        *_from(name),
    ]


def _learners(found: dict[str, Any]) -> list[str]:
    name = name_of("learners", LEARNERS)
    run, verdicts = found[name], ("better", "as good", "worse")
    judged = collections.defaultdict(collections.Counter)
    for row in run["losses"]:
        judged[row["learner"]][row["verdict"]] += 1
    losses = [[learner, *(counts[verdict] for verdict in verdicts)] for learner, counts in judged.items()]
    keys = ("ours_s", "theirs_s", "theirs_one_thread_s", "ratio")
    speed = [[learner, *_cells(row, *keys)] for learner, row in run["speed"].items()]
    return [
        *table(["losses of a", *verdicts], losses),
        "",
        *table(["a fit of a", "jaxci", "scikit-learn", "on one thread", "times"], speed),
        *_from(name),
    ]


def figures(found: dict[str, Any]) -> dict[str, str]:
    """Return the figures of each section, in Markdown, by its heading."""
    parts = {
        "SciPy and scikit-learn": _against_scipy,
        "The same call as SciPy's": _calls,
        "Coverage cells": _coverage,
        "Refitting": _fits,
        "Learners": _learners,
    }
    return {heading: "\n".join(part(found)).strip("\n") for heading, part in parts.items()}


def rewritten(page: str, found: dict[str, Any]) -> str:
    """Return the page with the figures of every section replaced by those that were found."""
    for heading, text in figures(found).items():
        before, section = page.split(f"### {heading}\n")
        told, rest = section.split(START, 1)
        page = f"{before}### {heading}\n{told}{START}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    page = parser.parse_args().page
    page.write_text(rewritten(page.read_text(encoding="utf-8"), kept()), encoding="utf-8")


if __name__ == "__main__":
    main()
