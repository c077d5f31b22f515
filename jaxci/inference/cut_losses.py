"""Rows with a probability of 0 for their class, or nearly: how large their losses are is a convention, and is said."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jaxci.inference.remarks import OF_TWO
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.probability import of_own_class
from jaxci.statistics.sample import Sample


class CutLosses(NamedTuple):
    """How many of n rows have a probability for their class below ``least``, and whether any of these is above 0."""

    cut: int = 0
    n: int = 0
    least: float = 0.0
    positive: bool = False

    @classmethod
    def of(cls, sample: Sample, times: np.ndarray) -> CutLosses:
        """Count the rows of a sample, the first of which count so many ``times``."""
        p, least = np.asarray(of_own_class(sample))[: len(times)], sample.score_eps
        cut = (p < least) & (times > 0)
        return cls(int(times[cut].sum()), int(times.sum()), float(least), bool(p[cut].any()))

    def joined(self, other: CutLosses) -> CutLosses:
        """Return that of these rows and others together."""
        least = max(self.least, other.least)
        return CutLosses(self.cut + other.cut, self.n + other.n, least, self.positive or other.positive)

    def remarks(self, model: str = "") -> list[str]:
        """Return what is to be said where there are such rows."""
        if not self.cut:
            return []
        have, their = ("has", "its") if self.cut == 1 else ("have", "their")
        near, endless = (f"below {self.least:.2g}", "") if self.positive else ("of 0", " is infinite and")
        return [
            f"{self.cut:,} of {self.n:,} rows{model and f' of {model}'} {have} a probability {near} for {their} class: "
            f"the loss there{endless} was cut at {-math.log(self.least):.3g}, that of {self.least:.2g}"
        ]


def cut_remarks(statistic: Statistic, sample: Sample, layout: Layout) -> list[str]:
    """Remark on such rows of one model or two, where losses are cut."""
    own = statistic.statistic if isinstance(statistic, Paired) else statistic
    if not own.cuts_probabilities:
        return []
    mass = np.ones(layout.n_rows) if layout.mass is None else layout.mass
    times = (np.ones(layout.n_rows, np.int64) if layout.counts is None else layout.counts) * (mass > 0)
    pairs = [("", sample)] if own is statistic else zip(OF_TWO, (sample, sample.other), strict=True)
    return [text for model, data in pairs for text in CutLosses.of(data, times).remarks(model)]
