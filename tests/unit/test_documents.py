"""The documents: Python blocks run, from top to bottom, and print what stands below them; commands are known."""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import re
import shlex
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from jaxci.distributions.files import KINDS
from jaxci.inducers import INDUCERS
from jaxci.intervals.registry import METHODS
from jaxci.statistics.registry import METRICS

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
REPOSITORY = "https://(?:raw.githubusercontent|github).com/jaxci/jaxci"
DOCUMENTS = {
    "README.md": 3,
    "docs/cards.md": 1,
    "docs/choose.md": 1,
    "docs/clusters.md": 3,
    "docs/curves.md": 4,
    "docs/coverage_studies.md": 1,
    "docs/extending.md": 10,
    "docs/generalization.md": 3,
    "docs/get_started.md": 7,
    "docs/graded_answers.md": 2,
    "docs/leaderboards.md": 3,
    "docs/planning.md": 7,
    "docs/masks.md": 3,
    "docs/studies.md": 1,
    "docs/streaming.md": 2,
    "docs/time.md": 1,
    "docs/training_runs.md": 1,
    "docs/weights.md": 3,
}
"""Documents with Python blocks, and how many each has."""


class Block(NamedTuple):
    """A fenced block, and the text block right below it, if any."""

    language: str
    code: str
    printed: str | None


def blocks(path: Path) -> list[Block]:
    found = list(re.finditer(r"^```(\w+)\n(.*?)^```\n", path.read_text(), re.MULTILINE | re.DOTALL))
    below = {one.end(): two for one, two in itertools.pairwise(found) if one.end() == two.start()}
    return [
        Block(one[1], one[2], two[2] if (two := below.get(one.end())) is not None and two[1] == "text" else None)
        for one in found
    ]


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


class Checker(doctest.OutputChecker):
    """Compares what was printed, numbers to a relative 1e-12: processors differ in the last digits of a float64."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        wanted, found = ([float(number) for number in NUMBER.findall(text)] for text in (want, got))
        words = (NUMBER.sub("#", text) for text in (want, got))
        return found == pytest.approx(wanted, rel=1e-12, abs=0) and super().check_output(*words, optionflags)


@pytest.fixture
def registries() -> Iterator[None]:
    """Take away again what a document registers."""
    kept = [(registry, dict(registry)) for registry in (METRICS, METHODS, INDUCERS, KINDS)]
    yield
    for registry, members in kept:
        registry.clear()
        registry.update(members)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_python_blocks_run_and_print_what_stands_below(document, tmp_path, monkeypatch, registries):
    monkeypatch.chdir(tmp_path)
    path = ROOT / document
    module = types.ModuleType("document")  # a module of the reader's, from which study files may import
    monkeypatch.setitem(sys.modules, "document", module)
    names = vars(module)
    python = [block for block in blocks(path) if block.language == "python"]
    assert len(python) == DOCUMENTS[document]
    for block in python:
        if block.code.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block.code, names, document, str(path), 0)
            told: list[str] = []
            runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            runner.run(example, out=told.append, clear_globs=False)
            assert not told, "".join(told)
            names.update(example.globs)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, document, "exec", dont_inherit=True), names)
        assert printed.getvalue().rstrip() == (block.printed or "").rstrip()


def test_every_document_is_executed_and_links_lead_somewhere():
    documents = [README, *sorted((ROOT / "docs").glob("*.md"))]
    with_python = {
        str(path.relative_to(ROOT)) for path in documents if any(b.language == "python" for b in blocks(path))
    }
    assert with_python == set(DOCUMENTS)
    for path in documents:
        of_the_repository = re.findall(rf"{REPOSITORY}/(?:(?:blob|tree)/)?main/([^)#]+)", path.read_text())
        assert [link for link in of_the_repository if not (ROOT / link).exists()] == [], path.name
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
        assert [link for link in links if not (path.parent / link).exists()] == [], path.name


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page, and the site with it."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ +(.+)$", prose, re.MULTILINE)]
    slugs = [re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles]
    return {slug if (before := slugs[:i].count(slug)) == 0 else f"{slug}-{before}" for i, slug in enumerate(slugs)}


def test_links_to_headings_lead_to_one():
    checked = 0
    for path in (README, *sorted((ROOT / "docs").glob("*.md"))):
        page = path.read_text()
        links = [(path.parent / to if to else path, one) for to, one in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page)]
        links += [(ROOT / to, one) for to, one in re.findall(rf"{REPOSITORY}/blob/main/([^)#]+\.md)#([^)]+)\)", page)]
        assert [(to.name, one) for to, one in links if to.suffix == ".md" and one not in anchors(to)] == [], path.name
        checked += len(links)
    assert checked >= 15


def test_rows_of_tables_stand_below_a_heading():
    """A blank line within a table would leave the rows below it as they are typed."""
    for path in (README, *sorted((ROOT / "docs").glob("*.md"))):
        for found in re.finditer(r"(?:^\|.*\n)+", path.read_text(), re.MULTILINE):
            lines = found[0].splitlines()
            assert re.fullmatch(r"\|(?: *:?-+:? *\|)+", "".join(lines[1:2])), (path.name, lines[0])


def commands() -> list[str]:
    pages = [README, *(ROOT / "docs" / f"{name}.md" for name in ("command_line", "coverage_studies", "training_runs"))]
    text = "".join(block.code for page in pages for block in blocks(page) if block.language == "sh")
    inline = [
        found for page in pages for found in re.findall(r"`(jaxci [a-z][^`]*)`", page.read_text().replace("\n", " "))
    ]
    return [line for line in (*text.splitlines(), *inline) if line.startswith("jaxci ")]


def test_commands_are_parsed(tmp_path, monkeypatch):
    """Options and arguments of every ``jaxci`` command are ones that it has."""
    typer = pytest.importorskip("typer")

    from jaxci.cli.app import app

    monkeypatch.chdir(tmp_path)
    found = commands()
    assert len(found) >= 24
    for name in re.findall(r"[\w.]+\.(?:csv|toml|jsonl)", "\n".join(found)):
        Path(name).touch()
    for line in found:
        words = shlex.split(line, comments=True)[1:]
        command = typer.main.get_command(app)
        while words and isinstance(command, typer.core.TyperGroup):
            context = command.make_context(command.name, [], resilient_parsing=True)
            command = command.get_command(context, words.pop(0))
            assert command is not None, line
        if not isinstance(command, typer.core.TyperGroup):
            command.make_context(command.name, words)  # raises where an option or an argument is not one of it
