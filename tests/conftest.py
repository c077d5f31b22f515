"""How tests run: on the CPU unless JAX_PLATFORMS asks for something else, with compiled programs kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Read by JAX when it is imported, and by processes that tests start.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``gpu`` where JAX computes on the CPU."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import jax

    if jax.default_backend() == "cpu":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs an accelerator"))


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
