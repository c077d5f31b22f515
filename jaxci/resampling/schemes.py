"""Ways to resample by name."""

from __future__ import annotations

from jaxci.resampling.bank import BalancedBootstrap, BayesianBootstrap, Bootstrap, Scheme, StratifiedBootstrap
from jaxci.resampling.blocks import Blocks, CircularBlocks, MovingBlocks, StationaryBlocks
from jaxci.statistics.layout import Layout

BLOCKS: dict[str, type[Blocks]] = {
    "moving": MovingBlocks,
    "circular": CircularBlocks,
    "stationary": StationaryBlocks,
}
"""Ways to resample blocks of rows in their order by name."""
RESAMPLING = ("bootstrap", "balanced", "bayesian", *BLOCKS)
"""Ways to resample by name."""


def make_scheme(
    layout: Layout,
    resampling: str = "bootstrap",
    resample_size: int | None = None,
    block_length: float = 1.0,
) -> Scheme:
    """Build the scheme named ``resampling`` for the units of ``layout``; blocks have a ``block_length``."""
    if resampling not in RESAMPLING:
        raise ValueError(f"resampling must be one of {', '.join(RESAMPLING)}; got {resampling!r}")
    if resampling in BLOCKS:
        return BLOCKS[resampling].of(layout.n, block_length)
    if resampling == "balanced":
        return BalancedBootstrap(layout.n_units)
    if resampling == "bayesian":
        return BayesianBootstrap.of(layout.n_units)
    if layout.strata is not None:
        return StratifiedBootstrap.of(layout.strata)
    return Bootstrap.of(layout.n_units, resample_size)
