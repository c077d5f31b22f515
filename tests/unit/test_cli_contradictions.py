"""Options of the command line that contradict one another, or tell of what is not there: one error names them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jaxci

pytest.importorskip("typer")
pytest.importorskip("rich")

from jaxci.cli import main

N = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go where there is a file of rows, one of losses of two repeats, and two models each of which is a file."""
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["jaxci"])
    y = rng.integers(0, 2, N)
    columns = {"y": y, "truth": y == 1, "dice": rng.beta(8, 2, N), "x": rng.normal(size=N), "g": np.arange(N) // 3}
    columns |= {name: np.where(rng.random(N) < 0.2, 1 - y, y) for name in ("a", "b")}
    columns |= {"guess": columns["a"] == 1, "other": columns["b"] == 1}
    write(tmp_path / "rows.csv", columns)
    fold, row = np.tile(np.arange(N) % 5, 2), np.tile(np.arange(N), 2)
    again = np.repeat([0, 1], N)
    losses = {"loss": rng.normal(size=2 * N) ** 2, "fold": fold, "row": row, "rep": again, "g": row // 3 + again}
    write(tmp_path / "losses.csv", losses)
    for number in (1, 2):
        write(tmp_path / f"net.v{number}.csv", {"score": np.clip(y + rng.normal(0, 0.5, N), 0.01, 0.99)}, sep=";")
    return tmp_path


def write(path: Path, columns: dict[str, np.ndarray], sep: str = ",") -> None:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([sep.join(columns), *(sep.join(map(str, row)) for row in rows)]) + "\n")


PLAN = ["plan", "accuracy", "--power", ".8"]
PILOT = ["--pilot", "rows.csv", "--target", "y"]
FIT = ["generalization", "rows.csv", "--target", "dice", "--features", "x,g", "--seed", "0", "--cv", "5", "--model"]
NEW = ["study", "new", "my.toml"]
SEGMENTATION = [*NEW, "--design", "segmentation", "--data", "rows.csv"]
LOSSES = ["--loss", "loss", "--fold", "fold", "--row", "row", "--repeat", "rep", "--groups", "g"]
EVALUATE = ["evaluate", "rows.csv", "--target", "y", "--pred", "a"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*PLAN, "--expected", ".8", "-a", ".9", "-b", ".85"], "--expected is the metric of model a, as -a is"),
        ([*PLAN, "-a", ".9", "-b", ".85", "--sep", ";"], "--sep is of the file --pilot, which is not given"),
        ([*PLAN, *PILOT, "--pred", "a"], "--power compares two models: name their columns by --models"),
        (["plan", "accuracy", *PILOT, "--models", "a,b", "--width", ".1"], "--models goes with --power"),
        (["plan", "accuracy", "-a", ".8", "--width", ".1"], "--a goes with --power"),
        (["plan", "mean", "--mean", "1", "--sd", "1", "--power", ".8"], "--mean goes with --width"),
        (
            [*PLAN, *PILOT, "--models", "a,b", "--groups", "g", "--icc", "0", "--cluster-size", "2"],
            "--icc and --cluster-size must be left out where groups of the pilot tell of clusters; got both",
        ),
        (
            ["plan", "mean", "--sd", ".2", "--correlation", ".5", "-a", "5", "-b", "4.95", "--power", ".8"],
            "--correlation must be left out with 'sd'",
        ),
        (
            ["plan", "mean", "--sd", ".2", "-a", "5", "-b", "4.95", "--power", ".8", "--bounds", "0,1"],
            "--a must lie in [0, 1]; got 5.0",
        ),
        ([*FIT, "tree:tune=max_depth:values=1,2"], "field must be a number of Tree that shapes no arrays (min_leaf)"),
        ([*FIT, "mlp:tune=hidden:values=4,8"], "field must be a number of MLP that shapes no arrays"),
        ([*FIT, "ridge:tune=alpha:values=0.1,x"], "values must be numbers; got 'x'"),
        ([*FIT, "ridge:tune=alpha:values=-1,1"], "alpha must be a number of at least 0; got -1"),
        ([*FIT, "ridge:tune=alpha:values=nan,1"], "values must be numbers; got nan"),
        ([*FIT, "ridge:alpha=1:alpha=200"], "fields of a learner must be distinct; 'alpha' is given 2 times"),
        ([*FIT, "ridge:alpha=1_0"], "alpha must be a number of at least 0; got '1_0'"),
        ([*FIT, "ridge:name=foo"], "a learner has its name before the first colon"),
        (
            ["losses", "losses.csv", *LOSSES],
            "column 'g' must be the same in all lines of a row; got 0 and 1 in row 0",
        ),
        (
            [*NEW, "--design", "classification", "--data", "rows.csv", "--value", "dice"],
            "the design 'classification' reads --target and --score of --data; --target is not given",
        ),
        (
            [*SEGMENTATION, "--target", "y", "--score", "x"],
            "the design 'segmentation' reads --value of --data; --value is not given",
        ),
        (
            [*SEGMENTATION, "--value", "dice", "--target", "y"],
            "the design 'segmentation' reads --value of --data: leave out --target",
        ),
        ([*NEW, "--value", "dice"], "--value is of the file --data, which is not given"),
        (
            [*SEGMENTATION, "--value", "dice", "--bounds", "dice=0:1", "--bounds", "dice=0:2"],
            "--bounds must name a column once; got 'dice' again",
        ),
        ([*SEGMENTATION, "--value", "dice,dice"], "--value must be distinct"),
        ([*SEGMENTATION, "--value", "dice", "--by", "g,g"], "--by must be distinct; 'g' is given 2 times"),
        (["study", "new", "."], "FILE must be a file to write; got '.'"),
        ([*EVALUATE, "--by", "g,g"], "--by must be distinct; 'g' is given 2 times"),
        ([*EVALUATE, "--score", "p, p"], "--score must be distinct; 'p' is given 2 times"),
        (
            [*EVALUATE, "--stream", "--block-length", "5"],
            "--strata, --by, --bounds, --check, --weight-type, --resampling and --block-length need --whole",
        ),
        ([*EVALUATE, "--csv", "out", "--json", "./out"], "--csv and --json must be different files; got 'out' twice"),
        ([*EVALUATE, "--csv", "rows.csv"], "--csv and FILE must be different files; got 'rows.csv' twice"),
        (["methods", "tango", "--difference"], "--difference goes with a metric; 'tango' is a method"),
        (["methods", "wilson", "--n", "50"], "--n goes with a metric; 'wilson' is a method"),
    ],
)
def test_a_contradiction_is_named(capsys, folder, arguments, said):
    code = main(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1
    assert not (folder / "out").exists()


@pytest.mark.parametrize("how", [["--strata", "truth"], ["--groups", "truth"]])
def test_a_column_of_labels_may_name_strata_and_groups(capsys, folder, how):
    asked = ["compare", "rows.csv", "--metric", "accuracy", "--target", "truth", "--pred-a", "guess"]
    assert main([*asked, "--pred-b", "other", *how, "--seed", "0"]) == 0
    assert "accuracy" in capsys.readouterr().out


def test_columns_come_before_files_of_their_names(capsys, folder):
    for name in ("a", "b"):
        write(folder / name, {"guess": np.zeros(N, int)})
    asked = ["leaderboard", "rows.csv", "--target", "y", "--models", "a,b", "--metric", "accuracy", "--seed", "0"]
    assert main([*asked, "--json", "board.json"]) == 0
    capsys.readouterr()
    right = {entry["name"]: entry["estimate"] for entry in json.loads(Path("board.json").read_text())["entries"]}
    assert min(right.values()) > 0.7


@pytest.mark.parametrize("target", [["--target", "y", "--metric", "roc_auc"], ["--metric", "mean"]])
def test_files_of_models_with_a_separator_and_dots_in_their_names(capsys, folder, target):
    write(
        folder / "semi.csv",
        {"y": np.loadtxt("rows.csv", delimiter=",", skiprows=1, usecols=0, dtype=int), "z": np.zeros(N)},
        ";",
    )
    asked = ["leaderboard", "semi.csv", "--sep", ";", "--models", "net.v1.csv,net.v2.csv", *target]
    assert main([*asked, "--seed", "0", "--resamples", "99"]) == 0
    assert {"net.v1", "net.v2"} <= set(capsys.readouterr().out.split())


def test_one_value_may_be_tuned(capsys, folder):
    assert main([*FIT, "ridge:tune=alpha:values=1"]) == 0
    assert main([*FIT, "ridge:alpha=1"]) == 0
    first, second = (part for part in capsys.readouterr().out.split("repeat with --seed 0\n") if part.strip())
    assert first.split("squared", 1)[1].split()[:3] == second.split("squared", 1)[1].split()[:3]


def test_quantiles_that_are_drawn_show_the_seed_of_all_groups(capsys, folder):
    asked = ["quantile", "rows.csv", "--column", "dice", "--by", "y", "--method", "harrell_davis"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert main([*asked, "--seed", out.split("repeat with --seed ")[1].strip()]) == 0
    assert capsys.readouterr().out == out


def test_names_that_files_of_results_take_for_numbers_are_refused():
    with pytest.raises(ValueError, match="distributions must not be named as a number is; got 'inf'"):
        jaxci.coverage.Study({"inf": jaxci.distributions.Empirical(np.arange(5.0))}, ["mean"], ["t"], [10])


@pytest.mark.parametrize(
    ("arguments", "out", "said"),
    [
        (["quantile", "rows.csv", "--column", "x"], "rows.csv", "--csv and FILE must be different files"),
        (["evaluate", "more", "--target", "y", "--pred", "guess"], "more/a.csv", "--csv and FILE must be"),
        (["evaluate", "more/a.csv", "--target", "y", "--pred", "guess"], "more/../more/a.csv", "--csv and FILE must"),
        (["evaluate", "more/a.csv", "--target", "y", "--pred", "guess"], "linked.csv", "--csv and FILE must"),
        (["masks", "more", "others"], "more/a.csv", "--csv and PREDICTIONS must be"),
        (
            ["leaderboard", "rows.csv", "--target", "y", "--models", "more/a.csv,others/b.csv", "--metric", "accuracy"],
            "more/a.csv",
            "--models and --csv must be different files",
        ),
    ],
)
def test_what_is_read_is_not_overwritten(capsys, folder, arguments, out, said):
    for name in ("more/a.csv", "others/b.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        write(folder / name, {"guess": np.zeros(N, int)} if arguments[0] == "leaderboard" else {"y": [0], "guess": [1]})
    (folder / "linked.csv").symlink_to(folder / "more" / "a.csv")
    before = (folder / out).read_bytes()
    assert main([*arguments, "--csv", out]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")
    assert (folder / out).read_bytes() == before
