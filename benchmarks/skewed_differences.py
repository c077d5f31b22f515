"""Simulate intervals for means of skewed paired differences, by ``compare``.

Run ``python benchmarks/skewed_differences.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data sets
a design has. Beside the default stand ``kurtosis_t`` without ``skewed`` and Student's interval. Widths are over those
that a normal interval needs, ``told`` is the share of rows with a remark. Nominal 95%.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate

import jaxci

METHODS = ("auto", "kurtosis_t", "t")


class Design(NamedTuple):
    """The law of the differences, and how many there are."""

    law: str
    n: int


LAWS = (
    "normal",
    "exponential",
    "lognormal(0, 0.7)",
    "lognormal(0, 1)",
    "lognormal(0, 1), one in ten",
    "squared errors, 1.2 times",
    "t(3)",
    "-1, 0 or 1, one in ten",
)
DESIGNS = tuple(Design(law, n) for law in LAWS for n in (20, 50, 100, 300))


def drawn(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return differences (n,) and their mean."""
    n = design.n
    if design.law == "normal":
        return rng.normal(size=n), 0.0
    if design.law == "exponential":
        return rng.exponential(size=n), 1.0
    if design.law.startswith("lognormal"):
        sd, share = (0.7, 1.0) if "0.7" in design.law else (1.0, 0.1 if "ten" in design.law else 1.0)
        return (rng.random(n) < share) * rng.lognormal(0, sd, n), share * math.exp(sd**2 / 2)
    if design.law.startswith("squared"):
        one, other = rng.normal(size=(2, n))
        return (1.2 * one + 0.3 * other) ** 2 - one**2, 0.53
    if design.law == "t(3)":
        return rng.standard_t(3, n), 0.0
    return rng.choice([-1.0, 0.0, 1.0], n, p=[0.05, 0.9, 0.05]), 0.0


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told, by method."""
    rng = np.random.default_rng(5)
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {"mean": {name: [] for name in METHODS}}
    estimates: dict[str, list[float]] = {"mean": []}
    for _ in range(sets):
        apart, true = drawn(design, rng)
        for name in METHODS:
            found = jaxci.compare("mean", None, apart, np.zeros(design.n), method=name)
            low, high = found.confidence_interval
            held["mean"][name].append((low <= true <= high, high - low, bool(found.warnings)))
        estimates["mean"].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 1_000, simulated, "coverage, width over needed, told")
