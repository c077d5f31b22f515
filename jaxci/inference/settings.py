"""What holds for all statistics of one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxci.checks import check_alternative, check_choice, check_confidence_level, check_count, check_number
from jaxci.intervals.base import Tails, tails
from jaxci.intervals.bootstrap import smallest_bank
from jaxci.resampling.schemes import BLOCKS, RESAMPLING
from jaxci.statistics.layout import Layout

N_RESAMPLES = 9999
"""Resamples drawn where no number is asked for."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Checked arguments that the verbs share.

    ``exact`` says that no number of resamples was asked for: what is computed without any is not drawn. ``together``
    tells in errors of which several intervals the level is that of each, which nobody asked for.
    """

    confidence_level: float = 0.95
    together: str = ""
    alternative: str = "two-sided"
    n_resamples: int = N_RESAMPLES
    exact: bool = False
    resampling: str = "bootstrap"
    resample_size: int | None = None
    block_length: float | None = None
    memory_limit: int | None = None
    progress: Callable[[int, int], None] | None = None

    @classmethod
    def of(
        cls,
        confidence_level: Any,
        alternative: Any,
        n_resamples: Any,
        *,
        resampling: Any = "bootstrap",
        resample_size: Any = None,
        block_length: Any = "auto",
        memory_limit: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Settings:
        """Check the arguments."""
        check_choice("resampling", resampling, RESAMPLING)
        if resample_size is not None:
            resample_size = check_count("resample_size", resample_size, 2)
            if resampling != "bootstrap":
                raise ValueError(f"resample_size goes with resampling='bootstrap' only; got {resampling!r}")
        blocks = resampling in BLOCKS
        if not (isinstance(block_length, str) and block_length == "auto"):
            if not blocks:
                raise ValueError(
                    f"block_length goes with resampling = {', '.join(map(repr, BLOCKS))} only; got {resampling!r}"
                )
            block_length = _length(block_length, resampling)
        return cls(
            confidence_level=check_confidence_level(confidence_level),
            alternative=check_alternative(alternative),
            n_resamples=N_RESAMPLES if n_resamples is None else check_count("n_resamples", n_resamples, 1),
            exact=n_resamples is None,
            resampling=resampling,
            resample_size=resample_size,
            block_length=None if block_length == "auto" else block_length,
            memory_limit=None if memory_limit is None else check_count("memory_limit", memory_limit, 1),
            progress=progress,
        )

    @property
    def tails(self) -> Tails:
        """Error probabilities of both sides."""
        return tails(self.confidence_level, self.alternative)

    @property
    def plain(self) -> bool:
        """Whether resampling is the ordinary bootstrap."""
        return self.resampling == "bootstrap" and self.resample_size is None

    @property
    def scheme(self) -> str:
        """How resamples are drawn, as it was asked for."""
        size = "" if self.resample_size is None else f", resample_size={self.resample_size}"
        return f"resampling={self.resampling!r}{size}"

    @property
    def in_blocks(self) -> bool:
        """Whether blocks of rows are resampled; ``block_length`` None is then estimated."""
        return self.resampling in BLOCKS

    def check_bank(self, name: str, size: int) -> None:
        """Refuse numbers of resamples too small for the level."""
        least = smallest_bank(self.tails)
        if size < least:
            raise ValueError(
                f"{name} must be at least {least} for confidence_level = {self.confidence_level:g}{self.together} "
                f"({self.alternative}); got {size}"
            )

    def check_layout(self, layout: Layout) -> None:
        """Refuse schemes that cannot honour strata or clusters, and blocks longer than the data."""
        if self.in_blocks and layout.units is not None:
            raise ValueError(f"groups do not go with {self.scheme}, which draws blocks of rows in their order")
        if self.block_length is not None and self.block_length >= layout.n:  # one block is all rows: nothing varies
            raise ValueError(f"block_length must be less than n = {layout.n}; got {self.block_length:g}")
        if layout.strata is not None and not self.plain:
            raise ValueError(f"strata go with resampling='bootstrap' and no resample_size only; got {self.scheme}")


def _length(given: Any, resampling: str) -> float:
    """Return a checked length of blocks."""
    if isinstance(given, str):
        raise ValueError(f"block_length must be a number or 'auto'; got {given!r}")
    if resampling == "stationary":
        return check_number("block_length", given, "be at least 1", lambda length: length >= 1)
    return check_number(
        "block_length", given, "be a whole number of at least 1", lambda length: length >= 1 and length % 1 == 0
    )
