"""Simulate ``jaxci.compare`` of regressions, of which one fails on few rows, or errs in proportion to skewed targets.

Run ``python benchmarks/failing_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data sets a
design has. Beside the default stands the interval whose ends do not allow for skewness. Widths are over those that a
normal interval needs, ``told`` is the share of rows with a remark. Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from simulated import over_needed, simulate

import jaxci
from jaxci.intervals.kurtosis import KurtosisT

METRICS = ("root_mean_squared_error", "r2", "pearsonr", "spearmanr", "mean_absolute_error")
METHODS = {"auto": "auto", "not skewed": KurtosisT(error="jackknife")}
MANY = 1_000_000


class Design(NamedTuple):
    """How models err, and the number of rows."""

    law: str
    n: int


LAWS = ("normal", "t(5)", "in proportion to skewed targets", "one in twenty fails")
DESIGNS = tuple(Design(law, n) for law in LAWS for n in (20, 50, 200))


def drawn(law: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets and predictions of two models (n,)."""
    if law.startswith("in proportion"):
        y = rng.gamma(1, 3, n)
        return y, y * rng.lognormal(0, 0.3, n), y * rng.lognormal(0, 0.6, n)
    y = rng.normal(size=n)
    if law == "normal":
        return y, y + 0.5 * rng.normal(size=n), y + 0.6 * rng.normal(size=n)
    if law == "t(5)":
        return y, y + 0.5 * rng.standard_t(5, n), y + 0.7 * rng.standard_t(5, n)
    far = (rng.random(n) < 1 / 20) * rng.normal(0, 3, n)
    return y, y + rng.normal(0, 0.3, n) + far, y + rng.normal(0, 0.3, n)


@functools.cache
def truth(law: str) -> dict[str, float]:
    """Return the true differences."""
    y, *both = drawn(law, MANY, np.random.default_rng(1))
    found = {}
    for metric in METRICS:
        one, other = (jaxci.interval(metric, y, guess, method="delta").estimate for guess in both)
        found[metric] = one - other
    return found


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told, by metric and method."""
    rng = np.random.default_rng(5)
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {metric: {name: [] for name in METHODS} for metric in METRICS}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for _ in range(sets):
        data = drawn(design.law, design.n, rng)
        for metric in METRICS:
            for name, method in METHODS.items():
                found = jaxci.compare(metric, *data, method=method)
                low, high = found.confidence_interval
                held[metric][name].append((low <= truth(design.law)[metric] <= high, high - low, bool(found.warnings)))
            estimates[metric].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width over needed, told")
