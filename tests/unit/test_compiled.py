"""Compiled programs that are kept on disk."""

import os
import subprocess
import sys

import pytest

from jaxci import compiled


def test_the_folder_is_that_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.default_folder() == tmp_path / "jaxci"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert compiled.default_folder() == tmp_path / "home" / ".cache" / "jaxci"


def test_a_folder_of_the_users_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "theirs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled.keep_by_environment()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "theirs"
    assert not (tmp_path / "jaxci").exists()


def test_where_nothing_can_be_kept_nothing_is(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compiled.keep_by_environment()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


@pytest.mark.slow
def test_programs_are_kept_unless_told_otherwise(tmp_path):
    pytest.importorskip("typer")
    path, cache = tmp_path / "rows.csv", tmp_path / "cache"
    path.write_text("y,p\n" + "\n".join(f"{i % 2},{(i // 3) % 2}" for i in range(60)))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION")}
    environment |= {"XDG_CACHE_HOME": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

    def run(*before):
        command = [sys.executable, "-m", "jaxci", *before, "evaluate", str(path), "--target", "y", "--pred", "p"]
        found = subprocess.run([*command, "--seed", "0"], env=environment, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        return found.stdout

    printed = run("--no-cache")
    assert not cache.exists()
    assert run() == printed
    kept = {one.name for one in (cache / "jaxci").iterdir()}
    assert kept
    assert run() == printed
    assert {one.name for one in (cache / "jaxci").iterdir() if one.name.endswith("-cache")} == {
        name for name in kept if name.endswith("-cache")
    }
