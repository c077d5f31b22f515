"""The README: every Python block runs, from top to bottom, and prints what stands below it; commands are known."""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

README = Path(__file__).resolve().parents[2] / "README.md"


class Block(NamedTuple):
    """A fenced block, and the text block right below it, if any."""

    language: str
    code: str
    printed: str | None


def blocks() -> list[Block]:
    found = list(re.finditer(r"^```(\w+)\n(.*?)^```\n", README.read_text(), re.MULTILINE | re.DOTALL))
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


def test_python_blocks_run_and_print_what_stands_below(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    python = [block for block in blocks() if block.language == "python"]
    assert len(python) == 9
    for block in python:
        if block.code.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block.code, names, "README", str(README), 0)
            told: list[str] = []
            runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            runner.run(example, out=told.append, clear_globs=False)
            assert not told, "".join(told)
            names.update(example.globs)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, str(README), "exec"), names)
        assert printed.getvalue().rstrip() == (block.printed or "").rstrip()


def commands() -> list[str]:
    text = "".join(block.code for block in blocks() if block.language == "sh")
    inline = re.findall(r"`(jaxci [a-z][^`]*)`", README.read_text().replace("\n", " "))
    return [line for line in (*text.splitlines(), *inline) if line.startswith("jaxci ")]


def test_commands_are_parsed(tmp_path, monkeypatch):
    """Options and arguments of every ``jaxci`` command are ones that it has."""
    typer = pytest.importorskip("typer")

    from jaxci.cli.app import app

    monkeypatch.chdir(tmp_path)
    found = commands()
    assert len(found) >= 8
    for name in re.findall(r"[\w.]+\.(?:csv|toml)", "\n".join(found)):
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
