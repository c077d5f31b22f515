"""Compiled programs that a process holds: dropped before they are too many."""

from __future__ import annotations

import itertools
from pathlib import Path

import jax

EVERY = 32
"""Calls of the engine between two looks at the memory mappings; each compiles a few programs at most."""

_calls = itertools.count(1)


def mappings() -> tuple[int, int] | None:
    """Return the memory mappings of this process and the most it may have; None where the system does not say."""
    try:
        used = Path("/proc/self/maps").read_bytes().count(b"\n")
        return used, int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return None


def few_programs() -> None:
    """Drop compiled programs when they are many: each takes memory mappings, and XLA crashes where none are left."""
    counted = mappings()
    if counted is not None and counted[0] > counted[1] // 2:
        jax.clear_caches()


def few_programs_at_times() -> None:
    """Call :func:`few_programs` at every 32nd call: a loop over data of ever new shapes would end in a crash."""
    if next(_calls) % EVERY == 0:
        few_programs()
