"""The page of the designs of a source paper holds the figures of the kept run."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks" / "results" / "medical_imaging_paper.json"
PAGE = ROOT / "docs" / "medical_imaging.md"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("medical_imaging_page")
    finally:
        sys.path.pop(0)


def test_the_page_holds_the_figures_of_the_kept_run(page):
    text = PAGE.read_text(encoding="utf-8")
    assert page.rewritten(text, json.loads(KEPT.read_text(encoding="utf-8"))) == text


def test_the_kept_run_is_whole(page):
    found = json.loads(KEPT.read_text(encoding="utf-8"))
    parts = {name: value["cells"] for name, value in found.items() if "cells" in value}
    assert parts == {
        "segmentation": "1800 of 1800",
        "hyperkvasir_therapeutic-interventions": "12 of 12",
        "lapgyn4_anatomical_actions": "12 of 12",
        "lapgyn4_surgical_actions": "12 of 12",
    }


def test_a_size_that_is_not_reached_is_said_so(page):
    assert page.size({"median n": 17.2, "reached": "40 of 40"}) == "17 (40 of 40)"
    assert page.size({"median n": float("inf"), "reached": "3 of 40"}) == "not reached (3 of 40)"
