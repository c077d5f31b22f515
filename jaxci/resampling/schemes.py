"""Ways to resample by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxci.resampling.bank import BalancedBootstrap, BayesianBootstrap, Bootstrap, Scheme, StratifiedBootstrap
from jaxci.resampling.blocks import Blocks, CircularBlocks, MovingBlocks, StationaryBlocks
from jaxci.statistics.layout import Layout

BLOCKS: dict[str, type[Blocks]] = {
    "moving": MovingBlocks,
    "circular": CircularBlocks,
    "stationary": StationaryBlocks,
}
"""Ways to resample blocks of rows in their order by name."""


def _bootstrap(layout: Layout, size: int | None, length: Any) -> Scheme:
    if layout.strata is not None:
        return StratifiedBootstrap.of(layout.strata)
    return Bootstrap.of(layout.n_units, size)


def _in_blocks(blocks: type[Blocks]) -> Callable[[Layout, int | None, Any], Scheme]:
    return lambda layout, size, length: blocks.of(layout.n, length)


RESAMPLING: dict[str, Callable[[Layout, int | None, Any], Scheme]] = {
    "bootstrap": _bootstrap,
    "balanced": lambda layout, size, length: BalancedBootstrap(layout.n_units),
    "bayesian": lambda layout, size, length: BayesianBootstrap.of(layout.n_units),
    **{name: _in_blocks(blocks) for name, blocks in BLOCKS.items()},
}
"""Ways to resample by name: the scheme for the units of a layout, of m units a resample or blocks of a length."""


def make_scheme(
    layout: Layout,
    resampling: str = "bootstrap",
    resample_size: int | None = None,
    block_length: float = 1.0,
) -> Scheme:
    """Build the scheme named ``resampling`` for the units of ``layout``; blocks have a ``block_length``."""
    if resampling not in RESAMPLING:
        raise ValueError(f"resampling must be one of {', '.join(RESAMPLING)}; got {resampling!r}")
    return RESAMPLING[resampling](layout, resample_size, block_length)
