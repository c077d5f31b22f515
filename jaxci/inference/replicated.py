"""Intervals from replicates that were drawn while rows passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from jaxci.inference.choice_by_rules import of_calibration
from jaxci.inference.design import DesignEffect
from jaxci.inference.drawing import check_bank
from jaxci.inference.engine import finish
from jaxci.inference.program import Rows
from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Entry, Request
from jaxci.inference.settings import Settings
from jaxci.inference.standings import Choice
from jaxci.intervals.bootstrap import ExpandedPercentile
from jaxci.intervals.registry import method_by_name
from jaxci.results import IntervalResult
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import Calibration
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Features


class Replicated(NamedTuple):
    """A statistic asked for, its value and B replicates (1 + B,), remarks, and in how many a class is absent.

    ``sums`` (U, p) are of the features of a calibration error, by cluster, or (1, p) of all rows.
    """

    request: Request
    values: np.ndarray
    absent: int = 0
    remarks: tuple[str, ...] = ()
    sums: np.ndarray | None = None


def intervals_from(
    replicated: Sequence[Replicated], n: int, settings: Settings, rng: Randomness, reason: str
) -> list[IntervalResult]:
    """Compute the intervals of statistics of n independent units; ``reason`` says how replicates were drawn."""
    found = []
    for request, values, absent, remarks, sums in replicated:
        clustered = sums is not None and len(sums) == n
        choice = _choice(request, clustered)
        by_sums = sums is not None and choice.method.needs == {"gaps"}
        if not by_sums and (choice.method.needs != {"replicates"} or choice.method.nesting is not None):
            raise ValueError(
                f"method {choice.method.name!r} reads more of {request.name!r} than replicates, which are all that is "
                "kept; use 'percentile', 'expanded_percentile', 'basic', 'normal' or 'bc', or method='auto'"
            )
        entry = Entry(request, Features(sums) if by_sums else None, Rows(), float(values[0]), method=choice.method)
        entry.remarks += remarks
        entry.reason = choice.reason if by_sums else reason + f"; {choice.reason}" * bool(choice.reason)
        if not by_sums:
            entry.replicates, entry.absent = values[1:], absent
            check_bank(entry, settings)
        layout = Layout(n, np.arange(n, dtype=np.int32)) if by_sums and clustered else Layout(n)
        with jax.enable_x64(True):
            found.append(finish(entry, Sample(), layout, settings, rng, DesignEffect())[0])
    return found


def _choice(request: Request, clustered: bool) -> Choice:
    """Return the method that is asked for, or expanded percentiles but of what resamples exaggerate; and why."""
    if request.method != "auto":
        method = method_by_name(request.method, request.options)
        return Choice(method, "asked for" if method.needs == {"gaps"} else "")
    if not isinstance(request.statistic, Calibration):
        return Choice(ExpandedPercentile(), "")
    return of_calibration(request.statistic, *(("rows in clusters", "Student's") if clustered else ()))
