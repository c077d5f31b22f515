"""Files that the command line writes: there whole, or as they were before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxci.cli.tables import write_csv, write_json
from jaxci.whole_files import whole_file, write_whole


def test_a_result_takes_the_place_of_the_file_before_when_it_is_whole(tmp_path):
    path, before = tmp_path / "out.json", tmp_path / "before.json"
    path.write_text("before")
    os.link(path, before)
    write_json(path, {"estimate": float("nan")})
    assert path.read_text() == '{\n  "estimate": null\n}\n'
    assert before.read_text() == "before"  # the bytes that were there were not written over


def test_a_file_that_cannot_be_finished_leaves_the_one_before(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(ValueError, match="fields not in fieldnames"):
        write_csv(path, [{"a": 1}, {"a": 2, "b": 3}])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_has_the_ending_of_its_file(tmp_path):
    with whole_file(tmp_path / "table.csv.gz") as draft:
        assert draft.parent == tmp_path
        assert draft.suffixes == [".csv", ".gz"]
        draft.touch()
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv.gz"]


def test_trouble_names_the_file_and_not_its_draft(tmp_path):
    path = tmp_path / "nowhere" / "out.json"
    with pytest.raises(FileNotFoundError) as caught:
        write_json(path, {})
    assert caught.value.filename == str(path)


@pytest.mark.skipif(os.name == "nt", reason="links and devices as POSIX has them")
def test_links_and_devices_are_written_as_they_stand(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.touch()
    link.symlink_to(target)
    write_json(link, {})
    assert link.is_symlink()
    assert target.read_text() == "{}\n"
    reading, writing = os.pipe()
    with os.fdopen(reading) as read, os.fdopen(writing, "wb"):
        write_json(Path(f"/dev/fd/{writing}"), {"n": 1})
        assert read.readline() == "{\n"


@pytest.mark.parametrize("write", [lambda path: write_json(path, {}), lambda path: write_whole(path, b"{}")])
def test_an_interrupted_write_leaves_the_file_before_and_no_draft(tmp_path, monkeypatch, write):
    def stopped(descriptor):
        raise KeyboardInterrupt

    path = tmp_path / "out.json"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        write(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
