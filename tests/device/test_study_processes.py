"""A study gives one table, whatever the devices, the processes, and the moment it was killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxci.coverage import GeneralizationStudy, Study

# Arguments: folder, processes, index, port (0: no others).
RUN = """
import sys
import jax
folder, count, index, port = sys.argv[1], *map(int, sys.argv[2:5])
if port:
    jax.distributed.initialize(f"localhost:{port}", count, index)
from jaxci.coverage import load_study
results = load_study(folder + ".toml").run(folder)
print(results.n_done, len(jax.local_devices()))
"""


def design(tmp_path, **changes):
    from jaxci.distributions import Cells, Parametric

    laws = {"beta": Parametric("beta", {"a": 8, "b": 2}), "table": Cells(np.array([[0.5, 0.1], [0.1, 0.3]]))}
    arguments = {"n_replications": 60, "n_resamples": 79, "n_groups": 6, "seed": 1}
    arguments |= {"statistics": ["mean", "trimmed_mean", "std", "f1"], "methods": ["t", "percentile", "bca"]}
    return Study(laws, **({"sample_sizes": [12]} | arguments | changes))


def start(folder, count=1, index=0, port=0, devices=1):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    surroundings = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", RUN, str(folder), str(count), str(index), str(port)]
    return subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out.split()[-2:]  # what collectives print comes before


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


FEW = {"statistics": ["mean", "f1"], "methods": ["t", "percentile"]}
"""What is judged where a slow test judges more."""


def reference(tmp_path, **changes):
    """Table of one process and one device: this one's."""
    return design(tmp_path, **changes).run(tmp_path / "reference").columns


def same_tables(found, expected):
    assert set(found) == set(expected)
    for name, column in expected.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(found[name], column, rtol=1e-6, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], column, err_msg=name)
    np.testing.assert_array_equal(found["coverage"], expected["coverage"])


@pytest.mark.slow
def test_replications_on_three_simulated_devices(tmp_path):
    study = design(tmp_path)
    study.save(tmp_path / "study.toml")
    assert finish(start(tmp_path / "study", devices=3)) == ["2", "3"]
    same_tables(study.results(tmp_path / "study").columns, reference(tmp_path))


@pytest.mark.slow
def test_three_processes(tmp_path):
    study = design(tmp_path, **FEW)
    study.save(tmp_path / "study.toml")
    port = free_port()
    processes = [start(tmp_path / "study", 3, i, port) for i in range(3)]
    for process in processes:
        assert finish(process) == ["2", "1"]
    same_tables(study.results(tmp_path / "study").columns, reference(tmp_path, **FEW))
    assert not list((tmp_path / "study" / "parts").iterdir())


@pytest.mark.slow
def test_two_runs_on_one_folder_share_its_cells(tmp_path):
    study = design(tmp_path, **FEW, sample_sizes=[8, 9, 10, 11, 12, 13])
    study.save(tmp_path / "study.toml")
    for process in [start(tmp_path / "study") for _ in range(2)]:
        assert finish(process) == ["12", "1"]
    cells = [json.loads(path.read_text()) for path in (tmp_path / "study" / "cells").iterdir()]
    assert len({cell["surroundings"]["process"] for cell in cells}) == 2
    assert not list((tmp_path / "study" / "claims").iterdir())
    same_tables(study.results(tmp_path / "study").columns, study.run(tmp_path / "reference").columns)


@pytest.mark.slow
def test_a_run_takes_over_the_cell_of_one_that_was_killed(tmp_path):
    study = design(tmp_path, **FEW, n_replications=2_000, n_resamples=999, n_groups=40)
    study.save(tmp_path / "study.toml")
    victim = start(tmp_path / "study")
    claims = tmp_path / "study" / "claims"
    deadline = time.monotonic() + 120
    while not (claims.exists() and list(claims.glob("beta*")) and not list(claims.glob("true*"))):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    other = start(tmp_path / "study")
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert list(claims.glob("beta*"))
    assert finish(other) == ["2", "1"]
    assert not list(claims.iterdir())
    same_tables(study.results(tmp_path / "study").columns, study.run(tmp_path / "reference").columns)


@pytest.mark.slow
def test_a_study_of_learners_over_devices_and_processes(tmp_path):
    design = {"n_replications": 7, "n_groups": 3, "n_validation": 500}
    # A learner without LAPACK: in jaxlib 0.10 two batched calls at once, on simulated devices, can block each other.
    study = GeneralizationStudy(["friedman1"], ["lasso"], ["squared"], ["cv_wald", "oob_t"], [30], **design)
    tables = [dict(study.run(tmp_path / "one").columns)]
    for name, count, devices in (("devices", 1, 2), ("processes", 2, 1)):
        study.save(tmp_path / f"{name}.toml")
        port = free_port() if count > 1 else 0
        processes = [start(tmp_path / name, count, i, port, devices) for i in range(count)]
        for process in processes:
            assert finish(process) == ["1", str(devices)]
        tables.append(dict(study.results(tmp_path / name).columns))
    for table in tables:
        del table["seconds"]
    for table in tables[1:]:
        same_tables(table, tables[0])


@pytest.mark.slow
def test_killed_at_any_moment_and_run_again(tmp_path):
    study = design(tmp_path, n_replications=3_000, n_resamples=999, n_groups=60, **FEW)
    whole = study.run(tmp_path / "whole").columns
    study.save(tmp_path / "study.toml")
    process = start(tmp_path / "study")
    cells = tmp_path / "study" / "cells"
    deadline = time.monotonic() + 120
    while not (cells.exists() and any(p.suffix == ".json" for p in cells.iterdir())):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = [p for p in cells.iterdir() if p.suffix == ".json"]
    stamps = {p: p.stat().st_mtime_ns for p in kept}
    again = study.run(tmp_path / "study").columns
    assert stamps == {p: p.stat().st_mtime_ns for p in kept}
    for name, column in whole.items():
        np.testing.assert_array_equal(again[name], column)


@pytest.mark.slow
def test_killed_at_random_moments_and_run_again(tmp_path):
    study = design(tmp_path, n_replications=3_000, n_resamples=999, n_groups=60, **FEW)
    started = time.monotonic()
    whole = study.run(tmp_path / "whole").columns
    took = time.monotonic() - started
    study.save(tmp_path / "study.toml")
    moments = np.random.default_rng().uniform(0, 1, 2)  # new ones in every run: each must do
    for moment in moments:
        process = start(tmp_path / "study")
        time.sleep(1 + (took + 4) * moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    again = study.run(tmp_path / "study").columns
    for name, column in whole.items():
        np.testing.assert_array_equal(again[name], column, err_msg=f"{name}, killed at {moments}")
