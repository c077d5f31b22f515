"""The documentation site: it is built without a warning, and its tables are complete and true."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jaxci
from jaxci.coverage import card
from jaxci.intervals.registry import DIFFERENCES, METHODS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
SPEED = ROOT / "benchmarks" / "results" / "peers_cpu_2cores_2026-11-24.json"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    for extra in ("sphinx", "myst_nb", "sphinx_book_theme", "numpydoc"):
        pytest.importorskip(extra, reason="the site needs the extra 'docs'")
    made = shutil.ignore_patterns("_build", "api", "notebooks", "*.json")
    for part in ("docs", "notebooks", "benchmarks/results"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=made)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "html"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.stem for path in (tmp_path / "html").glob("*.html")}
    assert {path.stem for path in DOCS.glob("*.md")} <= pages
    front = (tmp_path / "html" / "index.html").read_text()
    assert 'src="_images/forest.png"' in front
    shown = (tmp_path / "html" / "api" / "jaxci.evaluate.html").read_text()
    assert "weight_type" in shown
    assert "Raises" in shown


def test_the_page_of_the_api_holds_every_public_name():
    page = (DOCS / "api.md").read_text()
    listed = set(re.findall(r"^   ([\w.]+)$", page, re.MULTILINE))
    assert set(jaxci.__all__) - listed == set()
    methods = {f"{cls.__module__.removeprefix('jaxci.')}.{cls.__name__}" for cls in (METHODS | DIFFERENCES).values()}
    assert methods - listed == set()


def rows_of(page: str, heading: str) -> list[list[str]]:
    """Cells of the table below the line that starts with ``heading``."""
    lines = page[page.index(f"| {heading} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_methods_is_complete():
    page = (DOCS / "choose.md").read_text()
    assert [row[0].strip("`") for row in rows_of(page, "method")] == list(METHODS)
    assert {row[0].strip("`") for row in rows_of(page, "method of a difference")} == set(DIFFERENCES)


def test_the_table_of_methods_quotes_the_cards():
    quoted = 0
    for row in rows_of((DOCS / "choose.md").read_text(), "method"):
        if not row[-1]:
            continue
        median, worst, metric, n = re.fullmatch(r"(\.\d+), (\.\d+) \((.+), n = (\d+)\)", row[-1]).groups()
        name = row[0].strip("`")
        found = [one for one in card(metric).at(int(n)).records() if one["method"] == name]
        assert len(found) == 1, name
        told = [f"{found[0][key]:.3f}".lstrip("0") for key in ("median", "worst")]
        assert (found[0]["n"], told) == (int(n), [median, worst]), name
        quoted += 1
    assert quoted >= 20


def test_the_readme_is_short_and_reads_well_elsewhere():
    text = README.read_text()
    assert len(text.splitlines()) < 200
    assert len(text.encode()) < 8 * 1024
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_the_figure_of_speed_is_that_of_the_kept_run():
    case = next(one for one in json.loads(SPEED.read_text())["cases"] if one["name"] == "cells-1e6")
    ours, scipy = case["rows"]["jaxci (exact)"], case["rows"]["SciPy"]
    times, in_cpu_time = (float(f"{scipy[name]:.2g}") for name in ("ratio", "ratio_cpu"))
    told = f"{ours['seconds']:.2g} s on two CPU cores, {times:,.0f} times as fast as SciPy's bootstrap"
    assert f"{told} ({in_cpu_time:,.0f} times in CPU time" in " ".join(README.read_text().split())
