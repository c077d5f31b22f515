"""The commands ``jaxci check`` and ``jaxci study``."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

import jaxci
from jaxci.cli import main
from jaxci.cli.tables import read_columns
from jaxci.coverage import Study

SMALL = ["--sizes", "10", "--replications", "20", "--resamples", "29", "--groups", "2"]


MEANS = ["compare", "CASES", "--metric", "mean", "--pred-a", "dice", "--pred-b", "nsd"]
VALUES = ["study", "new", "x.toml", "--design", "segmentation", "--data", "CASES", "--value", "dice"]
CLASSIFICATION = ["study", "new", "x.toml", "--design", "classification", "--data", "CASES"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def cases(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "cases.csv"
    lines = ["model,dice,nsd,y,l0,l1,guess"]
    for row in range(60):
        label = row % 2
        a, b = rng.normal(), rng.normal() + 1.5 * label
        lines.append(
            f"{'ab'[row // 30]},{rng.beta(8, 2):.3f},{rng.beta(5, 2):.3f},{label},{a:.3f},{b:.3f},{int(b > a)}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_check_prints_a_row_a_method(capsys, cases, tmp_path):
    out_file, csv_file = tmp_path / "check.json", tmp_path / "check.csv"
    quick = ["--replications", "50", "--resamples", "49", "--seed", "3"]
    files = ["--json", out_file, "--csv", csv_file]
    code, out, _ = run(
        capsys, "check", cases, "--metric", "mean", "--pred", "dice", "--methods", "t,bca", *quick, *files
    )
    assert code == 0
    assert "coverage" in out
    assert "--seed 3" in out
    assert [row["method"] for row in json.loads(out_file.read_text())["methods"]] == ["t", "bca"]
    assert len(csv_file.read_text().splitlines()) == 3
    code, out, _ = run(
        capsys, "check", cases, "--metric", "accuracy", "--target", "y", "--pred", "guess", "--calibrate"
    )
    assert code == 0
    assert "calibrated" in out


def test_evaluate_with_check_has_a_column_of_coverage(capsys, cases):
    code, out, _ = run(
        capsys, "evaluate", cases, "--target", "y", "--pred", "guess", "--metrics", "accuracy", "--check", "--seed", "1"
    )
    assert code == 0
    assert "coverage" in out


@pytest.mark.slow
def test_a_study_of_per_case_values_from_file_to_report(capsys, cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = ["study", "new", "mine.toml", "--design", "segmentation", "--data", cases]
    code, out, _ = run(capsys, *new, "--value", "dice,nsd", "--by", "model", *SMALL)
    assert code == 0, out
    assert "4 cells" in out
    code, out, _ = run(capsys, "study", "status", "mine.toml")
    assert (code, out.splitlines()[0]) == (0, "0 of 4 cells are done in mine-results")
    code, out, _ = run(capsys, "study", "run", "mine.toml")
    assert (code, out.split(" in ")[0]) == (0, "4 of 4 cells")
    code, out, _ = run(capsys, "study", "status", "mine.toml")
    assert out.startswith("4 of 4")
    code, out, _ = run(capsys, "study", "report", "mine.toml", "--csv", "all.csv")
    assert code == 0
    page = (tmp_path / "mine-results" / "report.html").read_text()
    assert "dice, a" in page
    assert "metric" in (tmp_path / "all.csv").read_text().splitlines()[0]


def test_bounds_reach_the_library(capsys, cases, tmp_path):
    out_file, file = tmp_path / "out.json", tmp_path / "mine.toml"
    check = ["check", cases, "--metric", "mean", "--pred", "dice", "--bounds", "0,1.5", "--methods", "proper_bayesian"]
    assert run(capsys, *check, "--replications", 50, "--resamples", 199, "--seed", 3, "--json", out_file)[0] == 0
    options = {"methods": ["proper_bayesian"], "n_replications": 50, "n_resamples": 199, "rng": 3}
    narrow, wide = (
        jaxci.check_coverage("mean", read_columns(cases, ["dice"])["dice"], bounds=(0, high), **options)
        for high in (1, 1.5)
    )
    found = json.loads(out_file.read_text())["methods"][0]["mean_width"]
    assert found == wide["proper_bayesian"].mean_width > narrow["proper_bayesian"].mean_width
    new = ["study", "new", file, "--design", "segmentation", "--data", cases, "--value", "dice,nsd"]
    assert run(capsys, *new, "--bounds", "0,2", *SMALL)[0] == 0
    study = Study.load(file)
    assert study.named_statistics["mean"].bounds == (0, 2)
    assert [law.bounds for law in study.distributions.values()] == [(0, 2), (0, 2)]


def test_a_study_of_logits(capsys, cases, tmp_path):
    file = tmp_path / "logits.toml"
    new = ["study", "new", file, "--design", "classification", "--data", cases]
    assert run(capsys, *new, "--target", "y", "--score", "l0,l1", "--by", "model", *SMALL)[0] == 0
    assert '"roc_auc"' in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "run", "nothing.toml"], "nothing.toml"),
        (["study", "run", "summary"], "did you mean 'summaries'"),
        (["study", "report", "proportions", "--out", "empty"], "holds no finished cell"),
        (["study", "new", "x.toml", "--design", "segmentation"], "needs data"),
        (["study", "new", "x.toml", "--design", "segmentation", "--data", "CASES"], "--data needs either --value"),
        (["study", "new", "x.toml", "--sizes", "10,x"], "--sizes must be whole numbers"),
        (["study", "new", "CASES"], "exists: give another name"),
        ([*CLASSIFICATION, "--target", "model", "--score", "l0,l1,guess"], "3 columns, and model has 2 labels"),
        (["quantile", "CASES", "--column", "dice", "--plot", "x.foo"], "--plot x.foo"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--n", "1"], "n must be at least 2"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--bounds", "0,.5"], "bounds must hold all values"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--bounds", "0"], "bounds must be two numbers"),
        (["check", "CASES", "--metric", "median", "--pred", "dice", "--bounds", "0,1"], "has no option 'bounds'"),
        ([*MEANS, "--bounds", "0,.5"], "bounds must hold all values; got (0.0, 0.5)"),
        (
            [*MEANS, "--bounds", "0,x"],
            "--bounds must be numbers between commas; could not convert",
        ),
        ([*VALUES, "--bounds", "0,.5"], "dice: values must lie within bounds [0, 0.5]"),
        ([*VALUES, "--bounds", "1,0"], "bounds must be the lowest and the highest value"),
        (["quantile", "CASES", "--column", "dice", "--q", "a"], "--q must be numbers between commas"),
    ],
)
def test_trouble_is_one_line(capsys, cases, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *[cases if a == "CASES" else a for a in arguments])
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_quantiles_of_runs_by_group(capsys, cases, tmp_path):
    files = ["--plot", tmp_path / "q.png", "--csv", tmp_path / "q.csv", "--json", tmp_path / "q.json"]
    code, out, _ = run(capsys, "quantile", cases, "--column", "dice", "--by", "model", "--q", ".1,.5", *files)
    assert code == 0
    assert "a (n = 30)" in out
    assert "order_statistic" in "".join(out.split())
    assert len((tmp_path / "q.csv").read_text().splitlines()) == 5
    assert (tmp_path / "q.png").stat().st_size > 3_000
    assert set(json.loads((tmp_path / "q.json").read_text())) == {"a", "b"}
    code, _, err = run(capsys, "quantile", cases, "--column", "dice", "--q", "ten")
    assert (code, err.count("\n")) == (2, 1)
