"""Programs that compile quickly, for what is computed once on each data set: estimates and derivatives.

To optimize such a program takes XLA several times as long as it takes to run it on a few thousand rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

OPTIONS: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""XLA's settings for a CPU with which it optimizes little."""
MOST_ROWS = 1 << 14
"""Rows up to which a program is compiled quickly: of more it runs for too long."""


def longest(*arguments: Any) -> int:
    """Return the length of the longest array."""
    return max((max(np.shape(x), default=1) for x in jax.tree.leaves(arguments)), default=1)


class Quick:
    """The compiled ``function`` of arrays, to be called on the host: optimized where it has many ``rows``.

    It is the same on an accelerator, and where XLA does not know :data:`OPTIONS`, as ``jax.jit`` makes it. The last bit
    of what it returns may depend on how it was compiled: what must be equal needs as many ``rows``.
    """

    def __init__(self, function: Callable[..., Any], rows: Callable[..., int] = longest) -> None:
        self.optimized, self.quickly = jax.jit(function), jax.jit(function, compiler_options=OPTIONS)
        self.rows = rows
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns."""
        few = self.rows(*arguments) <= MOST_ROWS
        return (self.quickly if few and _on_cpu() and _known() else self.optimized)(*arguments)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


@functools.cache
def _known() -> bool:
    """Whether XLA knows :data:`OPTIONS`."""
    try:
        jax.jit(lambda x: x, compiler_options=OPTIONS).lower(np.zeros(1)).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
