"""How tests run: on the CPU unless JAX_PLATFORMS asks for something else, with compiled programs kept."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Read by JAX when it is imported, and by processes that tests start.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.03")
# Read by scikit-learn: threads of several workers on the same cores spend their time on waiting for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")


FALSE_ALARM = 1e-6
"""Chance with which one comparison of draws with their law rejects a correct program."""

SUITE_FALSE_ALARM = 1e-2
"""Chance with which draws make any test of the suite fail a correct program: the sum of all that tests state."""

STATED = pytest.StashKey[dict[str, float]]()
"""The chance of a false alarm that every collected test states, by its name: also of those that are not run."""


QUICK = (
    "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
"""XLA's flags for programs that are compiled quickly; most tests run a program once, on little data."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile quickly, but for the statistical tests where they are alone: these compute for long and as users do."""
    if config.option.markexpr != "statistical" and "XLA_FLAGS" not in os.environ and _knows(QUICK):
        os.environ["XLA_FLAGS"] = QUICK
        os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # read by JAX, and by processes that tests start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Let XLA optimize what a test and its fixtures compile that is marked ``computes`` or ``statistical``."""
    mark = item.get_closest_marker("computes") or item.get_closest_marker("statistical")
    if mark is None or mark.args == (False,):
        return (yield)
    import jax

    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        return (yield)
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def _knows(flags: str) -> bool:
    """Whether XLA knows ``flags``: a process that is given an unknown one aborts."""
    first = [sys.executable, "-c", "import jax; jax.devices('cpu')"]
    return subprocess.run(first, env={**os.environ, "XLA_FLAGS": flags}, capture_output=True).returncode == 0


def pytest_collection_finish() -> None:
    """Let the collector of garbage rest: it would search a million objects for what tracing leaves behind."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the chances that tests state, and skip tests marked ``gpu`` where JAX computes on the CPU."""
    stated = {item.nodeid: item.get_closest_marker("false_alarm") for item in items}
    config.stash[STATED] = {name: float(mark.args[0]) for name, mark in stated.items() if mark is not None}
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import jax

    if jax.default_backend() == "cpu":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs an accelerator"))


@pytest.fixture
def false_alarm(request: pytest.FixtureRequest) -> float:
    """Level of one comparison: a p-value below it fails.

    Draws have fixed keys, so that a test always passes or always fails: the p-value is the chance that a correct
    program would have drawn beyond the bound when the key was written down.
    """
    if request.node.get_closest_marker("false_alarm") is None:
        pytest.fail("a test that compares draws with their law states the chance of a false alarm: mark it")
    return FALSE_ALARM


@pytest.fixture(scope="session")
def stated_false_alarms(pytestconfig: pytest.Config) -> tuple[dict[str, float], float]:
    """Chances of a false alarm that tests state, by name, and the most that all of them may have together."""
    return pytestconfig.stash[STATED], SUITE_FALSE_ALARM


@pytest.fixture(scope="session")
def refdata() -> Path:
    """Folder of real predictions beside the checkout."""
    folder = ROOT.parent / "shared" / "refdata"
    if not folder.is_dir():
        pytest.skip("no real predictions beside the checkout")
    return folder


MOST_MAPPINGS = 30_000
"""Memory mappings from which on compiled programs are dropped: Linux allows a process 65,530 of them."""


@pytest.fixture(autouse=True, scope="module")
def few_programs() -> Iterator[None]:
    """Drop compiled programs when they are many: each takes memory mappings, and XLA crashes where none are left."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and mappings.read_bytes().count(b"\n") > MOST_MAPPINGS:
        import jax

        jax.clear_caches()


@pytest.fixture
def float64() -> Iterator[None]:
    """Run the test with 64-bit types in JAX."""
    import jax

    with jax.enable_x64(True):
        yield
