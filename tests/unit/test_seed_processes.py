"""Runs over seeds in several processes, and runs that fail."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci import JaxciWarning, read_runs
from jaxci.runs import processes
from jaxci.runs.seeds import run_seeds

pytest.importorskip("joblib")


@pytest.fixture(autouse=True)
def _no_unexpected_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def flaky(seed: int) -> float:
    if seed in (1, 3):
        raise RuntimeError(f"out of memory\nunder seed {seed}")
    return seed / 10


@pytest.mark.slow
def test_processes_give_what_one_gives_in_the_same_order(path):
    def train(seed: int, key: jax.Array) -> dict[str, Any]:
        drawn = random.random() + np.random.normal()  # noqa: NPY002
        return {"drawn": drawn, "key": jax.random.normal(key, dtype=jnp.result_type(float))}

    seen: list[tuple[int, int]] = []
    with jax.enable_x64(True):
        serial = run_seeds(train, [4, 0, 7], repeat=2)
        both = run_seeds(train, [4, 0, 7], repeat=2, n_jobs=2, file=path, progress=lambda *at: seen.append(at))
    assert both.seeds.tolist() == serial.seeds.tolist() == [4, 4, 0, 0, 7, 7]
    for name in ("drawn", "key"):
        assert both.values[name].tolist() == serial.values[name].tolist()
    assert both["key"][0] != np.float32(both["key"][0])  # the setting of the caller reached the processes
    assert both.differing == {}
    assert seen == [(i, 6) for i in range(1, 7)]
    assert sorted((line["seed"], line["repetition"]) for line in lines(path)) == [
        (s, r) for s in (0, 4, 7) for r in (0, 1)
    ]

    def fails(seed: int) -> float:
        if seed == 1:
            raise ValueError("no such file")
        return float(seed)

    with pytest.raises(ValueError, match="no such file") as caught:
        run_seeds(fails, [1, 2], n_jobs=2)
    where, how = caught.value.__notes__
    assert "in the process of seed 1" in where
    assert "in fails" in where
    assert "seed 1 failed after" in how
    with pytest.warns(JaxciWarning, match="1 of 3 runs failed"):
        runs = run_seeds(fails, 3, n_jobs=2, on_error="record")
    assert runs.errors == (None, "ValueError: no such file", None)
    np.testing.assert_array_equal(runs["value"], [0.0, np.nan, 2.0])


@pytest.mark.slow
def test_a_run_that_ends_the_process_by_train_itself_fails():
    def leaves(seed: int) -> float:
        return sys.exit("no data") if seed == 1 else float(seed)

    for n_jobs in (1, 2):
        with pytest.warns(JaxciWarning, match="1 of 3 runs failed"):
            runs = run_seeds(leaves, 3, n_jobs=n_jobs, on_error="record")
        assert runs.errors == (None, "RuntimeError: train called for the end of the process: SystemExit: no data", None)


def test_what_cannot_travel_is_refused_before_any_run(path, monkeypatch):
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"train must be picklable for n_jobs other than 1: TypeError: .*n_jobs=1"):
        run_seeds(lambda seed: float(lock.locked()), 4, n_jobs=2, file=path)
    assert lines(path) == []
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match=r"n_jobs other than 1 needs joblib: install jaxci\[sklearn\]"):
        run_seeds(lambda seed: 0.0, 4, n_jobs=2)
    assert run_seeds(lambda seed: 0.0, 2, n_jobs=1)["value"].tolist() == [0.0, 0.0]


class Untravelled(Exception):
    def __init__(self, what: str, where: str) -> None:
        super().__init__(what)


@pytest.mark.parametrize("error", [ValueError, Untravelled])
def test_an_error_travels_or_its_text_does(error):
    def train(seed: int) -> float:
        raise error(*("odd", "here")[: 1 + (error is Untravelled)])

    from jaxci.runs.training import Trainer

    sent = processes._attempt(processes._packed(Trainer(train, "init", True)), {}, False, 3, 0)
    outcome = pickle.loads(sent)
    assert type(outcome.error) is (RuntimeError if error is Untravelled else ValueError)
    assert "odd" in str(outcome.error)
    assert outcome.run.error == f"{error.__name__}: odd"
    assert "in the process of seed 3" in outcome.error.__notes__[0]
    assert processes._attempt(b"not a trainer", {}, False, 3, 0).startswith("UnpicklingError")


def test_failed_runs_are_recorded_and_made_again_on_demand(path):
    for again in (flaky, lambda seed: 9.0):  # the second call makes none again
        with pytest.warns(JaxciWarning, match=r"2 of 5 runs failed .* \(seeds 1, 3; seed 1: RuntimeError: out"):
            runs = run_seeds(again, 5, file=path, on_error="record")
        np.testing.assert_array_equal(runs["value"], [0.0, np.nan, 0.2, np.nan, 0.4])
    assert runs.errors[3] == "RuntimeError: out of memory\nunder seed 3"
    assert runs.records()[1]["error"] == "RuntimeError: out of memory\nunder seed 1"
    assert "warning: 2 of 5 runs failed and have the score NaN" in str(runs)
    assert lines(path)[1]["error"] == runs.errors[1]
    assert lines(path)[1]["values"] == {}
    assert "error" not in lines(path)[0]
    with pytest.raises(RuntimeError, match="out of memory") as caught:
        run_seeds(flaky, 5, file=path)
    assert "seed 1 failed; 3 of 5 runs are in" in caught.value.__notes__[0]
    assert len(lines(path)) == 5
    mended = run_seeds(lambda seed: 9.0, 5, file=path)
    assert mended["value"].tolist() == [0.0, 9.0, 0.2, 9.0, 0.4]
    assert mended.errors == (None,) * 5
    read = read_runs(path)
    assert read["value"].tolist() == mended["value"].tolist()
    assert read.varies == "init"


def test_a_failure_is_one_of_train_alone(path):
    with pytest.raises(TypeError, match="train must return a number"):
        run_seeds(lambda seed: None if seed else 1.0, 2, on_error="record")
    with pytest.raises(ValueError, match="train failed under every seed; under seed 4 with ZeroDivisionError"):
        run_seeds(lambda seed: 1 / 0, [4, 5], on_error="record", file=path)
    with pytest.raises(ValueError, match="has 2 runs, all failed"):
        read_runs(path)

    def stopped(seed: int) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_seeds(stopped, 2, on_error="record")
    calls: list[int] = []

    def once(seed: int) -> float:
        calls.append(seed)
        return 1 / 0 if len(calls) == 2 else 1.0

    with pytest.warns(JaxciWarning) as told:
        runs = run_seeds(once, 2, repeat=2, on_error="record")
    assert str(told[0].message).startswith("1 of 2 repeated seeds gave different results")
    assert str(told[1].message).startswith("1 of 4 runs failed")
    assert list(runs.differing) == [0]


def test_a_file_is_read_without_running(path, tmp_path):
    run_seeds(lambda seed: {"a": seed / 2, "b": 1.0}, [3, 1], file=path, repeat=2)
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[-1][:30])
    runs = read_runs(str(path))
    assert runs.seeds.tolist() == [1, 1, 3, 3]
    assert runs["a"].tolist() == [0.5, 1.5]
    assert path.read_bytes().endswith(whole.splitlines()[-1][:30])
    with pytest.raises(FileNotFoundError):
        read_runs(tmp_path / "none.jsonl")
    (tmp_path / "empty").write_text("")
    with pytest.raises(ValueError, match="has 0 runs"):
        read_runs(tmp_path / "empty")
    with pytest.raises(TypeError, match="file must be a path; got None"):
        read_runs(None)
    path.write_bytes(
        whole + whole.splitlines()[0].replace(b"init", b"split").replace(b'"seed": 3', b'"seed": 8') + b"\n"
    )
    with pytest.raises(ValueError, match=r"varies of seed 8 is 'split' in .* and 'init' for seed 3"):
        read_runs(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be a number of processes, or -1 .* got 0"),
        ({"n_jobs": True}, "n_jobs must be .* got True"),
        ({"n_jobs": "2"}, "n_jobs must be .* got '2'"),
        ({"on_error": "ignore"}, "on_error must be one of raise, record; got 'ignore'"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        run_seeds(flaky, 2, **change)


SCRIPT = """
import sys, time
from jaxci import run_seeds

def train(seed):
    time.sleep(0.3)
    return seed / 7

run_seeds(train, 20, n_jobs=2, file=sys.argv[1])
"""


@pytest.mark.slow
def test_a_killed_call_loses_its_current_runs_only(path, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(script), str(path)])
    deadline = time.monotonic() + 120
    while (not path.exists() or len(path.read_bytes().splitlines()) < 4) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = len(lines(path))
    assert 4 <= kept < 20
    calls: list[int] = []
    runs = run_seeds(lambda seed: calls.append(seed) or seed / 7, 20, file=path)
    assert len(calls) == 20 - kept
    assert runs["value"].tolist() == [seed / 7 for seed in range(20)]


@pytest.mark.slow
def test_a_process_that_dies_stops_the_call(path):
    def train(seed: int) -> float:
        if seed == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(seed)

    told = r"a process ended while seeds (\d, )?2.* were under way, by train itself, for want of memory or from outside"
    with pytest.raises(RuntimeError, match=told) as caught:
        run_seeds(train, 6, n_jobs=2, file=path, on_error="record")
    assert "run_seeds: the call stopped; " in caught.value.__notes__[0]
    assert all(line["values"]["value"] == line["seed"] for line in lines(path))
