"""Statistics on their way to an interval, and the programs that evaluate them together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.intervals.base import Method
from jaxci.intervals.exact import Exact
from jaxci.resampling import engine
from jaxci.resampling.engine import Item, Layout, Program
from jaxci.statistics.base import Statistic


@dataclasses.dataclass(frozen=True)
class Request:
    """A statistic under the name it is reported by, and the interval method asked for."""

    name: str
    statistic: Statistic
    method: str | Method = "auto"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Entry:
    """Working state of one request."""

    request: Request
    item: Item
    estimate: float = math.nan
    standard_error: float = math.nan
    acceleration: float = math.nan
    method: Method | None = None
    reason: str = "asked for"
    replicates: np.ndarray | None = None
    errors: np.ndarray | None = None
    absent: int = 0
    remarks: list[str] = dataclasses.field(default_factory=list)

    @property
    def statistic(self) -> Statistic:
        """The statistic asked for."""
        return self.request.statistic

    @property
    def needs(self) -> frozenset[str]:
        """Fields of the evidence that the method reads."""
        assert self.method is not None
        return self.method.needs

    @property
    def needs_slopes(self) -> bool:
        """Whether derivatives in the weights are wanted."""
        if "standard_error" in self.needs:
            return True
        if isinstance(self.method, Exact) or not self.statistic.smooth:
            return False
        return "acceleration" in self.needs and not by_jackknife(self.method)


def by_jackknife(method: Method | None) -> bool:
    """Whether the method asks for the acceleration from leave-one-out values."""
    return method is not None and method.by_jackknife


def programs(entries: Sequence[Entry], layout: Layout) -> list[tuple[Program, list[Entry]]]:
    """Programs that evaluate ``entries`` without resampling: tables by their cells, the rest by units."""
    tables = [entry for entry in entries if by_table(entry, layout)]
    rest = [entry for entry in entries if not by_table(entry, layout)]
    found = [(engine.cell_program([e.item for e in group], layout), group) for group in by_shared_table(tables)]
    if rest:
        program = engine.unit_program([entry.item for entry in rest], layout, engine.make_scheme(layout))
        found.append((program, program_order(rest, program)))
    return found


def by_table(entry: Entry, layout: Layout) -> bool:
    """Whether counts per cell are all that the statistic needs of the data."""
    return engine.is_cells(entry.item.prepared) and layout.units is None and layout.row_weights is None


def by_shared_table(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group entries that share one table."""
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(id(entry.item.prepared), []).append(entry)
    return list(groups.values())


def program_order(entries: Sequence[Entry], program: Program) -> list[Entry]:
    """Entries in the order in which a program lists its statistics: linear ones first."""
    if not program.general:
        return list(entries)
    general = {id(item.prepared) for item in program.general}
    linear = [entry for entry in entries if id(entry.item.prepared) not in general]
    return linear + [entry for entry in entries if id(entry.item.prepared) in general]
