"""The command ``doctor``: versions, devices, the cache folder and a test of a second."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Iterator
from pathlib import Path

import typer

from jaxci import __version__

NEEDED = ("jax", "jaxlib", "numpy", "scipy")
OF_DEVELOPERS = ("test", "dev")
FAILED = "failed"
CLOSE = 0.1
"""How far ends of drawn and exact intervals may be apart, in widths: about eight of their standard deviations."""


def doctor() -> None:
    """Show versions, devices and the cache folder, and test in a second that numbers come out right."""
    from jaxci.cli.display import grid, page

    console = page()
    rows = [*_versions(), *_extras(), *_devices(), _cache()]
    if not any(text.startswith(FAILED) for _, text in rows):
        rows.append(_self_test())
    console.print(grid(["", ""], rows))
    if any(text.startswith(FAILED) for _, text in rows):
        raise typer.Exit(1)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _versions() -> Iterator[list[str]]:
    yield ["python", f"{platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"]
    found = {"jaxci": __version__} | {name: _version(name) or "not installed" for name in NEEDED}
    yield ["packages", ", ".join(f"{name} {version}" for name, version in found.items())]


def _extras() -> Iterator[list[str]]:
    """Yield the extras of the package, and what each still needs."""
    try:
        lines = importlib.metadata.requires("jaxci") or []
    except importlib.metadata.PackageNotFoundError:  # read from its source
        return
    found: dict[str, list[str]] = {}
    for line in lines:
        package, of = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if package is not None and of is not None and of[1] not in OF_DEVELOPERS and "[" not in line:
            found.setdefault(of[1], []).append(package[0])
    for extra, names in found.items():
        missing = [name for name in names if _version(name) is None]
        lacks = f"no {', '.join(missing)}: install jaxci[{extra}]"
        yield [f"extra {extra}", lacks if missing else ", ".join(f"{name} {_version(name)}" for name in names)]


def _devices() -> Iterator[list[str]]:
    import jax

    try:
        devices = jax.devices()
    except RuntimeError as error:
        yield ["devices", f"{FAILED}: {' '.join(str(error).split())}"]
        return
    for device in devices:
        memory = (device.memory_stats() or {}).get("bytes_limit")
        size = "" if memory is None else f", {memory / 2**30:.1f} GiB"
        yield [f"device {device.id}", f"{device.platform}: {device.device_kind}{size}"]


def _cache() -> list[str]:
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if folder is None:
        return ["cache", "none: programs are compiled anew in every process"]
    files = [path for path in Path(folder).glob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    return ["cache", f"{folder}: {len(files):,} files, {size:,.1f} MiB; it may be deleted at any time"]


def _self_test() -> list[str]:
    """Compare a bootstrap interval from resamples with that from the exact distribution."""
    import numpy as np

    import jaxci

    start = time.perf_counter()
    x = np.sin(np.arange(50.0))
    exact = jaxci.interval("mean", x, method="percentile").confidence_interval
    drawn = jaxci.interval("mean", x, method="percentile", n_resamples=9_999, rng=0).confidence_interval
    apart = float(np.max(np.abs(np.subtract(drawn, exact))) / (exact.high - exact.low))
    spent = f"in {time.perf_counter() - start:.1f} s"
    said = "passed" if apart < CLOSE else FAILED
    return ["self-test", f"{said} {spent}: a drawn interval lies {apart:.1%} of its width from the exact one"]
