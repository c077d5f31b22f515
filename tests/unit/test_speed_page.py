"""The page of speed: its figures are those of the kept run, and right answers are told from wrong ones."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks" / "results" / "peers_cpu_2cores_2026-11-24.json"
PAGE = ROOT / "docs" / "speed.md"


def module(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    return module("peers")


@pytest.fixture(scope="module")
def other_runs() -> ModuleType:
    return module("speed_page")


def test_the_page_holds_the_figures_of_the_kept_run(peers):
    page = PAGE.read_text()
    assert peers.rewritten(page, json.loads(KEPT.read_text())) == page


def test_the_page_names_the_run_that_it_shows():
    assert KEPT.name in PAGE.read_text()


def test_every_case_and_every_peer_stands_in_the_kept_run(peers):
    found = json.loads(KEPT.read_text())
    assert [entry["name"] for entry in found["cases"]] == [case.name for case in peers.CASES]
    for entry in found["cases"]:
        if entry["goal"] is None and "note" not in entry:
            assert set(peers.PEERS) <= set(entry["rows"]), entry["name"]
            assert all(row.get("verdict") or row["status"] != "ok" for row in entry["rows"].values()), entry["name"]


def test_another_run_changes_the_page(peers):
    found = json.loads(KEPT.read_text())
    found["cases"][0]["rows"]["SciPy"]["seconds"] *= 2
    assert peers.rewritten(PAGE.read_text(), found) != PAGE.read_text()


def test_the_last_part_holds_the_figures_of_the_other_runs_and_names_them(other_runs):
    page, found = PAGE.read_text(), other_runs.kept()
    assert other_runs.rewritten(page, found) == page
    assert page.count(other_runs.START) == page.count(other_runs.END) == len(other_runs.figures(found))
    assert all(f"`{name}`" in page for name in found)


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("versus_scipy", ("rows", 0, "seconds")),
        ("coverage_speed", ("rows", 0, "scipy_seconds")),
        ("generalization_speed", ("nested CV, ridge", "ratio")),
        ("learners", ("speed", "forest, classes", "ours_s")),
    ],
)
def test_every_other_run_changes_the_last_part(other_runs, script, path):
    page, found = PAGE.read_text(), other_runs.kept()
    part = next(run for name, run in found.items() if name.startswith(script))
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] *= 2
    assert other_runs.rewritten(page, found) != page


def test_no_figure_of_time_is_typed_beside_the_tables(other_runs):
    last = PAGE.read_text().split("<!-- end of the figures -->")[1]
    typed = re.sub(f"{other_runs.START}.*?{other_runs.END}", "", last, flags=re.DOTALL)
    assert re.findall(r"\d (?:s|ms|GiB)\b|times as fast as", typed) == []


def test_ends_of_a_mean_are_those_of_many_resamples(peers):
    cases = importlib.import_module("peers_cases")
    rng = np.random.default_rng(5)
    x = rng.lognormal(size=40)
    means = np.concatenate([x[rng.integers(0, 40, (10_000, 40))].mean(axis=1) for _ in range(20)])
    exact = cases.of_mean(x, "percentile", "mean")
    ends = tuple(np.quantile(means, [0.025, 0.975]))
    assert exact.errors["mean"] == pytest.approx(x.std() / np.sqrt(40))
    far, chance, said = cases.verdict({"mean": ends}, exact, "percentile", len(means))
    assert far < chance < 0.03
    assert said != "wrong"


@pytest.mark.parametrize(
    ("moved", "draws", "said"),
    [(0.005, None, "right"), (0.05, None, "wrong"), (0.05, 9_999, "within Monte-Carlo error"), (0.2, 9_999, "wrong")],
)
def test_verdicts(peers, moved, draws, said):
    cases = importlib.import_module("peers_cases")
    reference = cases.Reference({"mean": (-2.0, 2.0)}, {"mean": 1.0}, None, 0.0, "")
    assert cases.verdict({"mean": (-2.0, 2.0 + moved)}, reference, "percentile", draws)[2] == said
    assert cases.verdict({"mean": (np.nan, 2.0)}, reference, "percentile", draws)[2] == "wrong"


def test_draws_of_means_are_as_quick_as_the_page_says():
    cases = {case["name"]: case["rows"] for case in json.loads(KEPT.read_text())["cases"]}
    quickest = {
        name: min((row["seconds"], peer) for peer, row in rows.items() if peer != "jaxci (exact)" and "seconds" in row)[
            1
        ]
        for name, rows in cases.items()
        if name.startswith(("mean-", "brier-"))
    }
    ours = dict.fromkeys(("mean-1e5", "mean-1e6", "brier-1e5"), "jaxci (drawn)")
    assert quickest == ours | {"mean-bca-1e3": "foostrap"}
