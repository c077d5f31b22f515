"""The examples in the help of the commands run as they stand."""

import re
import shlex

import numpy as np
import pytest

pytest.importorskip("typer")

import typer

import jaxci
from jaxci.cli import main
from jaxci.cli.app import COMMANDS
from jaxci.cli.examples import EXAMPLES
from jaxci.cli.study import study

N = 120
SMALL = {  # in place of numbers that would take long
    "check": ["--replications", "20", "--resamples", "99"],
}


def written(name, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the files are that examples name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    label = np.arange(N) % 2
    guesses = {
        name: np.where(rng.random(N) < right, label, 1 - label) for name, right in (("a", 0.9), ("b", 0.8), ("c", 0.7))
    }
    scores = {name: np.clip(0.3 * label + 0.6 * rng.random(N), 0.02, 0.98).round(4) for name in ("p", "p1", "p2")}
    written(
        "predictions.csv", {"label": label, "guess": guesses["a"], "patient": np.arange(N) // 3, **guesses, **scores}
    )
    dice = rng.beta(8, 2, N).round(4)
    written("cases.csv", {"dice": dice, "task": np.arange(N) // 60, "model": np.arange(N) // 30 % 2})
    x = rng.normal(size=(2, N)).round(4)
    written("data.csv", {"x1": x[0], "x2": x[1], "y": (x[0] + rng.normal(size=N)).round(4)})
    written("folds.csv", {"loss": dice, "fold": np.arange(N) % 5})
    jaxci.run_seeds(lambda seed: {"accuracy": seed % 7 / 10}, 30, file="runs.jsonl")
    return tmp_path


def ran(line, *more):
    assert main([*shlex.split(line)[1:], *more]) == 0, line


def lines(*names):
    return [pytest.param(name, line, id=line) for name in names for line in EXAMPLES[name]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(
    ("name", "line"),
    lines(*(name for name in EXAMPLES if name not in ("masks", "run", "estimate", "status", "report", "merge"))),
)
def test_an_example_runs(folder, capsys, name, line):
    ran(line, *SMALL.get(name, []))
    assert capsys.readouterr().out


@pytest.mark.slow
def test_examples_of_masks_run(folder, capsys):
    images = pytest.importorskip("SimpleITK")
    for side in ("predictions", "references"):
        (folder / side).mkdir()
        for case in range(6):
            mask = np.zeros((8, 8, 8), np.uint8)
            mask[2:6, 2:6, 2 : 4 + case % 2 + (side == "references")] = 1
            images.WriteImage(images.GetImageFromArray(mask), str(folder / side / f"{case}.nii"))
    for line in EXAMPLES["masks"]:
        ran(line)


@pytest.mark.slow
def test_examples_of_studies_run(folder, capsys):
    for name in ("mine", "other"):
        ran(f"jaxci study new {name}.toml --design proportions --sizes 10")
    ran("jaxci study run other.toml")
    for name in ("estimate", "run", "status", "report", "merge"):
        for line in EXAMPLES[name]:
            ran(line)


def test_commands_with_options_of_their_own_have_examples_in_their_help(capsys):
    commands = {one.__name__ for group in COMMANDS.values() for one in group if not isinstance(one, typer.Typer)}
    of_a_study = {one.name or one.callback.__name__ for one in study.registered_commands}
    assert set(EXAMPLES) == (commands | of_a_study) - {"demo", "metrics", "doctor", "list"}
    for name in EXAMPLES:
        assert main([*(["study"] if name in of_a_study else []), name, "--help"]) == 0
        page = re.sub(r"\s+", " ", capsys.readouterr().out)
        assert all(line in page for line in EXAMPLES[name]), name
