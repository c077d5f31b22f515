"""What a release says of itself agrees everywhere."""

import re
import tomllib
from pathlib import Path

import jaxci

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {jaxci.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {jaxci.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_extra_that_an_error_names_exists():
    named = {
        extra
        for path in (ROOT / "jaxci").rglob("*.py")
        for extra in re.findall(r"install jaxci\[(\w+)\]", path.read_text())
    }
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_every_dependency_has_a_lower_bound():
    lines = [*PROJECT["dependencies"], *(x for extra in PROJECT["optional-dependencies"].values() for x in extra)]
    assert [x for x in lines if not x.startswith("jaxci[") and ">=" not in x] == []


def test_links_of_the_project_are_of_its_repository():
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} == set(PROJECT["urls"])
    assert all(url.startswith(PROJECT["urls"]["Homepage"]) for url in PROJECT["urls"].values())
    assert PROJECT["urls"]["Homepage"] in (ROOT / "CITATION.cff").read_text()
