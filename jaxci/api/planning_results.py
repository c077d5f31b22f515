"""What :func:`jaxci.plan` returns."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from jaxci.printing import Printable, number
from jaxci.records import Named


class Tried(NamedTuple):
    """Sizes that a plan tried, and what they give.

    Attributes
    ----------
    what : str
        "width", "assurance" or "power".
    wanted : float
        Of it.
    found : dict of int to float
        By number of cases.
    """

    what: str
    wanted: float
    found: dict[int, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Plan(Printable):
    """How many cases an interval of a given width, or a difference between two models, takes.

    Attributes
    ----------
    statistic : str
    n : int
        Cases (rows).
    positives : int or None
        Positive cases expected among them, rounded; None where they are not known or there are none.
    clusters : int or None
        Clusters that the cases come in; None where they are independent.
    method : Method or str
        The interval whose width, or the comparison whose power, is planned.
    expected : str
        What was expected of the data.
    value : float
        The metric, or the difference, that is expected; NaN where that is not known, nor needed.
    width, difference, power : float or None
        What was asked for.
    expected_width : float
        Width of the interval at ``n``: where the sample is as expected for closed forms, the mean over samples for
        simulated ones; NaN for a plan of a difference.
    assurance : float
        Share of samples of ``n`` in which the interval is no wider than ``width``, averaged over what a pilot leaves
        open of a share; NaN for a plan of a difference.
    reached_power : float
        Power at ``n``; NaN for a plan of a width.
    coverage : float
        Share of the simulated intervals that hold the truth; NaN where nothing was simulated.
    width_error, assurance_error, coverage_error : float
        Monte-Carlo standard errors; 0 for closed forms, NaN where there is no value.
    found_by : str
        "closed form", "enumeration", "normal approximation", or "simulation" with its size.
    n_replications : int
        Simulated data sets of each size that was tried; 0 where nothing was simulated.
    reason : str
        Why this method, and how the number was found.
    confidence_level : float
    warnings : tuple of str
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``; None where nothing was drawn.
    tried : Tried or None
        Other numbers of cases and what they give, as ``plot`` draws them.
    """

    statistic: str
    n: int
    positives: int | None
    clusters: int | None
    method: Named | str
    expected: str
    value: float
    width: float | None
    difference: float | None
    power: float | None
    expected_width: float
    assurance: float
    reached_power: float
    confidence_level: float
    found_by: str
    reason: str
    coverage: float = math.nan
    width_error: float = math.nan
    assurance_error: float = math.nan
    coverage_error: float = math.nan
    n_replications: int = 0
    warnings: tuple[str, ...] = ()
    rng: Any = None
    tried: Tried | None = dataclasses.field(default=None, repr=False)

    unlisted = frozenset({"tried"})

    def headline(self) -> str:
        """Return the line above the table."""
        level = f"{100 * self.confidence_level:g}%"
        if self.width is not None:
            return f"Cases for {level} intervals of width {self.width:g}"
        return f"Cases for {level} intervals to show a difference with power {self.power:g}"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        header, cells = ["metric", "cases"], [self.statistic, f"{self.n:,}"]
        for name, count in (("positives", self.positives), ("clusters", self.clusters)):
            if count is not None:
                header.append(name)
                cells.append(f"{count:,}")
        numbers = {"expected": self.value, "width": self.expected_width, "assurance": self.assurance}
        if self.width is None:
            numbers = {"difference": self.value, "power": self.reached_power}
        header += [*numbers, "method"]
        return header, [[*cells, *("" if math.isnan(x) else x for x in numbers.values()), str(self.method)]]

    def notes(self) -> list[str]:
        """Return the lines below the table: how the number was found, why the method, and warnings."""
        lines = [f"expected: {self.expected}", f"found by {self.found_by}"]
        if self.n_replications:
            errors = f"width {number(self.width_error)}, assurance {number(self.assurance_error)}"
            held = f"{100 * self.coverage:.1f}% (+- {100 * self.coverage_error:.1f}%) of the intervals held the truth"
            lines.append(f"Monte-Carlo errors: {errors}; {held}")
        return [*lines, f"{self.method}: {self.reason}", *super().notes()]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row."""
        return [self.to_dict() | {"method": str(self.method), "warnings": "; ".join(self.warnings)}]
