"""The threads that evaluate chunks, and a refusal of processes in which neither they nor JAX's live on."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

_computed = False
_orphaned = False


def _after_fork() -> None:
    global _orphaned
    _orphaned = _computed


os.register_at_fork(after_in_child=_after_fork)


def begin() -> None:
    """Note that this process computes; every verb does so first.

    Raises
    ------
    RuntimeError
        In a process forked from one that had computed: of its threads, JAX's among them, only one lives on, and
        the first computation would wait for the others forever.
    """
    global _computed
    if _orphaned:
        raise RuntimeError(
            f"process {os.getpid()} was forked from one that had already computed with jaxci, and JAX does not survive "
            "a fork: start processes with multiprocessing.get_context('spawn'), or fork before the first use"
        )
    _computed = True


@functools.cache
def pool(workers: int) -> ThreadPoolExecutor:
    """Return the pool of so many threads, one for all calls."""
    return ThreadPoolExecutor(workers, thread_name_prefix="jaxci")


def each(
    function: Callable[[Item], Found],
    items: Iterable[Item],
    workers: int,
    finished: Callable[[int], None] | None = None,
) -> list[Found]:
    """Return ``function`` of every item, in their order; ``finished`` gets how many are done."""
    waiting = [pool(workers).submit(function, item) for item in items]
    found = []
    try:
        for future in waiting:
            found.append(future.result())
            if finished is not None:
                finished(len(found))
    finally:  # an interrupt leaves no work behind
        for future in waiting:
            future.cancel()
    return found
