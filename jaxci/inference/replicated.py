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
from jaxci.intervals.base import Method
from jaxci.intervals.bootstrap import ExpandedPercentile
from jaxci.intervals.registry import method_by_name
from jaxci.results import IntervalResult
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import Calibration
from jaxci.statistics.sample import Sample


class Replicated(NamedTuple):
    """A statistic asked for, its value and B replicates (1 + B,), remarks, and in how many a class is absent."""

    request: Request
    values: np.ndarray
    absent: int = 0
    remarks: tuple[str, ...] = ()


def intervals_from(
    replicated: Sequence[Replicated], n: int, settings: Settings, rng: Randomness, reason: str
) -> list[IntervalResult]:
    """Compute the intervals of statistics of n independent units; ``reason`` says how replicates were drawn."""
    found = []
    for request, values, absent, remarks in replicated:
        method, why, remark = _method(request)
        if method.needs != {"replicates"} or method.nesting is not None:
            raise ValueError(
                f"method {method.name!r} reads more of {request.name!r} than replicates, which are all that is kept; "
                "use 'percentile', 'expanded_percentile', 'basic', 'normal' or 'bc', or method='auto'"
            )
        entry = Entry(request, None, Rows(), float(values[0]), method=method, reason=reason + why)
        entry.remarks += [*remark, *remarks]
        entry.replicates, entry.absent = values[1:], absent
        check_bank(entry, settings)
        with jax.enable_x64(True):
            found.append(finish(entry, Sample(), Layout(n), settings, rng, DesignEffect())[0])
    return found


def _method(request: Request) -> tuple[Method, str, list[str]]:
    """Return the method that is asked for, or expanded percentiles but of what resamples exaggerate; and why."""
    if request.method != "auto":
        return method_by_name(request.method, request.options), "", []
    if not isinstance(request.statistic, Calibration):
        return ExpandedPercentile(), "", []
    choice = of_calibration()
    return choice.method, f"; {choice.reason}", [choice.remark or ""]
