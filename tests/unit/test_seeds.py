"""Runs over seeds: random states, recording and resuming, repeatability, and errors."""

from __future__ import annotations

import json
import random
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxci import JaxciWarning
from jaxci.runs import results as module
from jaxci.runs.seeds import run_seeds


@pytest.fixture(autouse=True)
def _no_unexpected_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "runs.jsonl"


def noisy(seed: int) -> float:
    return random.random() + np.random.random()  # noqa: NPY002


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_global_states_are_seeded_and_given_back():
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    np.random.normal()  # noqa: NPY002
    before = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    runs = run_seeds(noisy, 4, repeat=2)
    after = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(after, before)
    assert runs.differing == {}
    assert runs.seeds.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    expected = [random.Random(s).random() + np.random.RandomState(s).random() for s in range(4)]
    assert runs["value"].tolist() == expected
    with pytest.raises(ZeroDivisionError):
        run_seeds(lambda seed: noisy(seed) / 0, 1)
    np.testing.assert_equal((random.getstate(), np.random.get_state(legacy=False)), before)  # noqa: NPY002


def test_without_seed_all_the_states_run_on():
    with pytest.warns(JaxciWarning, match="2 of 2 repeated seeds gave different results"):
        runs = run_seeds(noisy, 2, repeat=2, seed_all=False)
    assert sorted(runs.differing) == [0, 1]


@pytest.mark.parametrize("kind", [str, Path])
def test_a_failed_call_resumes_where_it_stopped(path, kind):
    calls: list[int] = []
    broken = True

    def train(seed: int) -> float:
        calls.append(seed)
        if broken and seed == 7:
            raise RuntimeError("out of memory")
        return noisy(seed)

    file = kind(path)
    with pytest.raises(RuntimeError, match="out of memory") as caught:
        run_seeds(train, [3, 5, 7, 9], file=file)
    [note] = caught.value.__notes__
    assert "seed 7 failed; 2 of 4 runs are in" in note
    assert [line["seed"] for line in lines(path)] == [3, 5]
    broken, calls[:] = False, []
    seen: list[tuple[int, int]] = []
    runs = run_seeds(train, [3, 5, 7, 9], file=file, progress=lambda done, total: seen.append((done, total)))
    assert calls == [7, 9]
    assert seen == [(3, 4), (4, 4)]
    assert runs["value"].tolist() == run_seeds(noisy, [3, 5, 7, 9])["value"].tolist()
    calls.clear()
    assert run_seeds(train, [9, 3], file=file)["value"].tolist() == runs["value"][[3, 0]].tolist()
    assert calls == []


def test_a_failure_without_a_file_says_how_to_keep_runs():
    def train(seed: int) -> float:
        if seed == 1:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(KeyboardInterrupt) as caught:
        run_seeds(train, 3)
    assert "seed 1 failed after 1 of 3 runs" in caught.value.__notes__[0]
    assert "file=" in caught.value.__notes__[0]


def test_a_line_holds_the_run(path):
    run_seeds(lambda seed: {"a": np.float32(0.1), "b": 2}, [4], file=path, varies="split")
    [line] = lines(path)
    assert line.pop("seconds") >= 0
    assert set(line.pop("versions")) >= {"python", "jaxci", "jax", "numpy"}
    assert line.pop("seeded")[:2] == ["random", "numpy"]
    assert line == {"seed": 4, "repetition": 0, "values": {"a": float(np.float32(0.1)), "b": 2.0}, "varies": "split"}


def test_a_torn_last_line_is_written_again(path):
    first = run_seeds(noisy, 3, file=path)
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    kept = len(whole) - len(last)
    for tail in (last[:40], last[:3], b"\0" * 9, last[:-1], b""):
        path.write_bytes(whole[:kept] + tail)
        calls: list[int] = []
        runs = run_seeds(lambda seed, calls=calls: calls.append(seed) or noisy(seed), 3, file=path)
        assert calls == ([] if tail == last[:-1] else [2])
        assert [line["seed"] for line in lines(path)] == [0, 1, 2]
        assert runs["value"].tolist() == first["value"].tolist()


@pytest.mark.parametrize("content", ["hello", "hello\n", '{"seed": 1}\n', "[1]\n", "\n"])
def test_another_file_is_refused_and_left_alone(path, content):
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(ValueError, match="file must hold runs recorded by run_seeds"):
        run_seeds(noisy, 1, file=path)
    assert path.read_text() == content


def test_a_file_of_another_experiment_is_refused(path):
    run_seeds(noisy, 2, file=path, varies="init")
    with pytest.raises(ValueError, match=r"varies of seed 0 is 'init' in .*jsonl and 'split' here"):
        run_seeds(noisy, 2, file=path, varies="split")
    with pytest.raises(ValueError, match="seed_all of seed 0 is True"):
        run_seeds(noisy, 2, file=path, seed_all=False)
    with pytest.raises(ValueError, match=r"same metric names .* got \['f1'\] for seed 2 and \['value'\] for seed 0"):
        run_seeds(lambda seed: {"f1": 0.5}, 3, file=path)
    assert len(lines(path)) == 2
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ValueError, match="repetition 0 of seed 0 twice"):
        run_seeds(noisy, 2, file=path)


def test_runs_that_differ_are_reported():
    calls = 0

    def train(seed: int) -> dict[str, float]:
        nonlocal calls
        calls += 1
        return {"same": 1.0, "drifts": seed + (calls * 0.25 if seed == 1 else 0), "lost": 0.0}

    with pytest.warns(JaxciWarning, match=r"1 of 2 repeated seeds .* \(seeds 1; largest difference 0.5000\)"):
        runs = run_seeds(train, [0, 1, 2, 1, 0])
    assert runs.differing == {1: 0.5}
    assert runs.values["drifts"].tolist() == [0.0, 1.5, 2.0, 2.0, 0.0]
    assert runs["drifts"].tolist() == [0.0, 1.5, 2.0]
    assert "warning: 1 of 2" in str(runs)


def test_repetitions_are_resumed_one_by_one(path):
    run_seeds(noisy, 3, file=path)
    calls: list[int] = []
    runs = run_seeds(lambda seed: calls.append(seed) or noisy(seed), 3, file=path, repeat=2)
    assert calls == [0, 1, 2]
    assert runs.differing == {}
    assert [(line["seed"], line["repetition"]) for line in lines(path)[3:]] == [(0, 1), (1, 1), (2, 1)]


def test_nan_is_recorded_and_told(path):
    for _ in range(2):
        with pytest.warns(JaxciWarning, match=r"value is not finite in 2 of 3 runs \(seeds 1, 2\)"):
            runs = run_seeds(lambda seed: [0.5, np.nan, -np.inf][seed], 3, file=path)
        np.testing.assert_array_equal(runs["value"], [0.5, np.nan, -np.inf])
    assert "nan" in str(runs)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([[1.0, 1.0]], 0.0),
        ([[np.nan, np.nan], [np.inf, np.inf]], 0.0),
        ([[1.0, 1.5, 1.25], [0.0, 0.0, 0.0]], 0.5),
        ([[1.0, np.nan], [0.0, 3.0]], np.nan),
        ([[np.inf, 1.0]], np.inf),
    ],
)
def test_largest_difference(columns, expected):
    np.testing.assert_equal(module.largest_difference([np.array(x) for x in columns]), expected)


def test_jax_key_goes_to_functions_that_ask_for_it():
    def both(seed: int, key: jax.Array) -> jax.Array:
        return jax.random.uniform(key) + seed

    def alone(key: jax.Array) -> jax.Array:
        return jax.random.uniform(key)

    largest = 2**32 - 1
    drawn = [float(jax.random.uniform(jax.random.key(s))) for s in (0, largest)]
    assert run_seeds(alone, [0, largest])["value"].tolist() == drawn
    assert run_seeds(lambda seed, *, key=None: alone(key), [0, largest])["value"].tolist() == drawn
    assert run_seeds(both, [0])["value"].tolist() == drawn[:1]


def test_torch_is_seeded_once_imported(monkeypatch, path):
    seeded: list[int] = []
    torch = types.SimpleNamespace(manual_seed=seeded.append, __version__="2")
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    def train(seed: int) -> float:
        monkeypatch.setitem(sys.modules, "torch", torch)
        return 0.0

    for _ in range(2):
        with pytest.warns(JaxciWarning, match=r"torch was first imported .*\(seeds 3\)"):
            run_seeds(train, [3, 4], file=path)
    assert seeded == [4]
    torch.__version__ = "3"
    with pytest.warns(JaxciWarning, match="2 versions of torch: 2, 3"):
        run_seeds(train, [4, 5], file=path)


def test_frame_and_tables():
    runs = run_seeds(lambda seed: {"accuracy": 0.5 + seed / 10, "loss": 1.0}, [2, 0, 2], varies="data order")
    rows = runs.to_frame()
    assert list(rows) == ["seed", "repetition", "accuracy", "loss", "seconds", "varies", "error"]
    assert rows["repetition"].tolist() == [0, 0, 1]
    head, columns, _, accuracy, loss = str(runs).splitlines()
    assert head.startswith("2 seeds varying data order (3 runs; the table reads the first of each seed)")
    assert columns.split("  ")[0] == "metric"
    assert accuracy.split() == ["accuracy", "0.6000", "0.1414", "0.5000", "0.6000", "0.7000"]
    assert loss.split()[0] == "loss"
    assert "<td>accuracy</td>" in runs._repr_html_()
    assert "nan" in str(run_seeds(lambda seed: 1.0, 1))
    with pytest.raises(KeyError, match=r"no metric 'f1' in these runs; they have \['accuracy', 'loss'\]"):
        runs["f1"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"train": 3}, TypeError, "train must be callable; got 3"),
        ({"train": lambda: 0.0}, TypeError, "train must accept one argument, the seed"),
        ({"train": lambda a, b: 0.0}, TypeError, "train must accept one argument, the seed"),
        ({"train": lambda seed: "good"}, TypeError, "a number or a non-empty dict .* got 'good' for seed 0"),
        ({"train": lambda seed: None}, TypeError, "a number or a non-empty dict .* got None for seed 0"),
        ({"train": lambda seed: [0.5]}, TypeError, r"a number or a non-empty dict .* got \[0.5\] for seed 0"),
        ({"train": lambda seed: np.ones(2)}, TypeError, r"got \[1.0, 1.0\] for seed 0"),
        ({"train": lambda seed: 1j}, TypeError, "got 1j for seed 0"),
        ({"train": lambda seed: {}}, TypeError, "got {} for seed 0"),
        ({"train": lambda seed: {1: 0.5}}, TypeError, "got {1: 0.5} for seed 0"),
        ({"train": lambda seed: {"a": "b"}}, TypeError, "got {'a': 'b'} for seed 0"),
        ({"train": lambda seed: {f"m{seed}": 0.5}}, ValueError, r"got \['m1'\] for seed 1 and \['m0'\] for seed 0"),
        ({"seeds": 0}, ValueError, "seeds must be at least 1; got 0"),
        ({"seeds": []}, ValueError, "seeds must hold at least one seed; got none"),
        ({"seeds": True}, TypeError, "seeds must be an integer; got True"),
        ({"seeds": 2.5}, TypeError, "seeds must be an integer or an iterable of integers; got 2.5"),
        ({"seeds": [0, -1]}, ValueError, r"seeds\[1\] must be at least 0; got -1"),
        ({"seeds": [0.5]}, TypeError, r"seeds\[0\] must be an integer; got 0.5"),
        ({"seeds": [2**32]}, ValueError, r"seeds\[0\] must be below 2\*\*32; got 4294967296"),
        ({"varies": 3}, TypeError, "varies must be a str; got 3"),
        ({"varies": " "}, ValueError, "varies must say what the seed controls; got ' '"),
        ({"seed_all": 1}, TypeError, "seed_all must be True or False; got 1"),
        ({"repeat": 0}, ValueError, "repeat must be at least 1; got 0"),
        ({"file": 3}, TypeError, "file must be a path or None; got 3"),
        ({"file": "."}, ValueError, "file must be the path of a file; got the folder"),
        ({"progress": 3}, TypeError, "progress must be callable or None; got 3"),
    ],
)
def test_bad_arguments(change, error, message):
    arguments = {"train": noisy, "seeds": 2, **change}
    with pytest.raises(error, match=message):
        run_seeds(arguments.pop("train"), arguments.pop("seeds"), **arguments)
