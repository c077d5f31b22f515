"""``jaxci masks``: folders of images to the table of cases and its summaries."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")

from jaxci.cli import main
from jaxci.segmentation import reading
from jaxci.segmentation.files import Geometry


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders of six masks each, and a reader that needs no library."""
    rng = np.random.default_rng(0)
    found = {}
    for number in range(6):
        mask = np.zeros((8, 9), int)
        mask[2:6, 2:7] = 1 + number % 2
        for side in ("pred", "ref"):
            path = tmp_path / side / f"case{number}.nii.gz"
            path.parent.mkdir(exist_ok=True)
            path.touch()
            found[str(path)] = mask if side == "ref" else np.where(rng.random(mask.shape) < 0.2, 0, mask)
    place = Geometry((2.0, 1.0), (0.0, 0.0), (1.0, 0.0, 0.0, 1.0))
    monkeypatch.setattr(reading, "read_image", lambda path: (found[str(path)], place))
    return tmp_path / "pred", tmp_path / "ref"


def run(capsys, *arguments):
    code = main(["masks", *map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.mark.slow
def test_cases_and_summaries(capsys, folders, tmp_path):
    (tmp_path / "groups.csv").write_text("case,group\n" + "".join(f"case{k},p{k // 2}\n" for k in range(6)))
    out = tmp_path / "cases.csv", tmp_path / "cases.json"
    options = ["--metrics", "dice", "--method", "percentile", "--tolerance", 1, "--groups", tmp_path / "groups.csv"]
    code, told, _ = run(capsys, *folders, *options, "--csv", out[0], "--json", out[1], "--seed", 1)
    assert code == 0
    assert "trimmed_mean" in told
    assert "empty in both masks of 3 of 6 cases" in " ".join(told.split())
    rows = list(csv.DictReader(out[0].read_text().splitlines()))
    assert [row["case"] for row in rows[::2]] == [f"case{k}" for k in range(6)]
    assert rows[0]["group"] == "p0"
    assert json.loads(out[1].read_text())["columns"]["reference_volume"][0] == 40


def test_spacing_and_labels(capsys, folders, tmp_path):
    out = tmp_path / "cases.csv"
    options = ["--metrics", "dice", "--method", "t", "--tolerance", 1, "--labels", "2", "--spacing", "1,1"]
    assert run(capsys, *folders, *options, "--csv", out)[0] == 2  # t has none for a median
    assert [row["reference_volume"] for row in csv.DictReader(out.read_text().splitlines())][:2] == ["0.0", "20.0"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--spacing", "1,x"], "--spacing"),
        (["--labels", "liver"], "--labels must be whole numbers"),
        (["--empty", "best"], "worst, nan, error"),
        (["--metrics", "dice,dise"], "--metrics must be one of"),
        (["--metrics", "dice,"], "--metrics must have no empty place between commas; got 'dice,'"),
    ],
)
def test_refusals(capsys, folders, options, word):
    code, _, err = run(capsys, *folders, *options)
    assert code == 2
    assert word in err
    assert len(err.strip().splitlines()) == 1


def test_no_folder(capsys, folders, tmp_path):
    code, _, err = run(capsys, tmp_path / "nowhere", folders[1])
    assert code == 2
    assert "there is no folder" in err


def test_groups_and_what_is_skipped(capsys, folders, tmp_path):
    groups = tmp_path / "groups.csv"
    groups.write_text("case,group\n" + "".join(f"case{k},{'p' if k else ''}\n" for k in range(6)))
    code, _, err = run(capsys, *folders, "--spacing", "1", "--groups", groups)
    assert (code, "--groups must name the group of every case; that of 'case0' is missing" in err) == (2, True)
    (folders[0] / "notes.txt").touch()
    options = ["--metrics", "dice", "--method", "percentile", "--tolerance", 1, "--spacing", "1", "--labels", "1"]
    code, told, _ = run(capsys, *folders, *options, "--seed", 1)
    assert (code, "pred: notes.txt skipped, which is no image file" in " ".join(told.split())) == (0, True)
