"""Results do not depend on devices, and the library leaves JAX's global settings alone."""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxci

METRICS = ("accuracy", "f1", "roc_auc", "log_loss", "balanced_accuracy")

# Prints one JSON line: the bits of every number of a small table, and the devices it was computed on.
TABLE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import jax, numpy as np, jaxci
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 60)
score = np.clip(0.5 + 0.3 * (y - 0.5) + 0.25 * rng.normal(size=60), 0.01, 0.99)
groups = np.arange(60) // 3
rows = []
for arguments in ({}, {"groups": groups}, {"memory_limit": 100_000}):
    table = jaxci.evaluate(
        y, (score > 0.5).astype(int), score, metrics=sys.argv[1].split(","), method="bca", n_resamples=199, rng=4,
        **arguments,
    )
    for row in table:
        numbers = [row.estimate, *row.confidence_interval, row.standard_error, *row.bootstrap_distribution]
        rows.append([float(x).hex() for x in numbers])
print(json.dumps({"rows": rows, "devices": len(jax.devices()), "platform": jax.devices()[0].platform}))
"""

IMPORT = """
import json
import jax
before = dict(jax.config.values)
import jaxci
from jaxci import bootstrap, compare, evaluate, interval, jackknife, list_methods, list_metrics, proportion_interval
names = [jaxci.list_metrics(), jaxci.list_methods("f1")]
from jax._src import xla_bridge
changed = sorted(name for name, value in jax.config.values.items() if before.get(name, value) != value)
print(json.dumps({"changed": changed, "initialized": xla_bridge.backends_are_initialized()}))
"""


def run(script, *arguments, **environment):
    """Run ``script`` in a fresh process and return the JSON of its last line."""
    found = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


def numbers(rows):
    return np.array([[float.fromhex(x) for x in row] for row in rows])


@pytest.mark.slow
def test_two_simulated_devices_give_the_bits_of_one():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count="
    one, two = (run(TABLE, ",".join(METRICS), JAX_PLATFORMS="cpu", XLA_FLAGS=f"{flags}{count}") for count in (1, 2))
    assert (one["devices"], two["devices"]) == (1, 2)
    assert len(one["rows"]) == 3 * len(METRICS)
    assert one["rows"] == two["rows"]
    values = numbers(one["rows"])
    np.testing.assert_allclose(values[2 * len(METRICS) :], values[: len(METRICS)], rtol=1e-12)


@pytest.mark.slow
def test_global_64_bit_switch_in_the_environment_changes_nothing():
    off = run(TABLE, "accuracy,roc_auc", JAX_PLATFORMS="cpu", JAX_ENABLE_X64="0")
    on = run(TABLE, "accuracy,roc_auc", JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
    assert off["rows"] == on["rows"]


@pytest.mark.slow
def test_importing_the_library_neither_initializes_nor_configures_jax():
    found = run(IMPORT)
    assert found["changed"] == []
    assert not found["initialized"]


def _calls():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.integers(0, 2, 30)
    guess, score = np.where(rng.random(30) < 0.2, 1 - y, y), rng.random(30)
    return {
        "evaluate": lambda: jaxci.evaluate(y, guess, score, metrics=["f1", "roc_auc"], n_resamples=99, rng=0),
        "interval": lambda: jaxci.interval("median", x, method="bca", n_resamples=99, rng=0),
        "compare": lambda: jaxci.compare("accuracy", y, guess, y, n_resamples=99, rng=0),
        "bootstrap": lambda: jaxci.bootstrap((x,), np.std, n_resamples=99, rng=0),
        "jackknife": lambda: jaxci.jackknife((x,), np.mean),
        "proportion": lambda: jaxci.proportion_interval(7, 30),
        "an error": lambda: jaxci.interval("mean", x, method="wilson"),
    }


CALLS = _calls()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("x64", [False, True])
def test_calls_leave_the_configuration_as_it_was(name, x64):
    with jax.enable_x64(x64):
        before = dict(jax.config.values)
        state = jax.config.jax_enable_x64
        try:
            CALLS[name]()
        except ValueError:
            assert name == "an error"
        assert jax.config.jax_enable_x64 == state == x64
        assert dict(jax.config.values) == before


@pytest.mark.filterwarnings("ignore")
def test_results_hold_numpy_arrays_and_plain_numbers_only():
    rng = np.random.default_rng(3)
    table = jaxci.evaluate(rng.integers(0, 2, 30), rng.integers(0, 2, 30), method="percentile", n_resamples=99, rng=0)
    for row in table:
        assert type(row.estimate) is float
        assert type(row.standard_error) is float
        assert type(row.confidence_interval.low) is float
        assert type(row.confidence_interval.high) is float
        assert type(row.bootstrap_distribution) is np.ndarray
        assert row.bootstrap_distribution.dtype == np.float64
        assert row.dtype == "float64"


@pytest.mark.gpu
def test_an_accelerator_gives_the_results_of_the_cpu():
    platforms = os.environ["JAX_PLATFORMS"]
    here = run(TABLE, ",".join(METRICS), JAX_PLATFORMS=platforms)
    there = run(TABLE, ",".join(METRICS), JAX_PLATFORMS="cpu")
    assert here["platform"] != there["platform"] == "cpu"
    np.testing.assert_allclose(numbers(here["rows"]), numbers(there["rows"]), rtol=1e-10, atol=1e-12)
