"""Simulate intervals of mean errors and of standard deviations of weighted rows, through ``jaxci.interval``.

Run ``python benchmarks/weighted_values.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Errors of half of the rows are larger: the weights of these are small, large, or tell nothing of them.
Nominal 95%.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy import stats
from simulated import over_needed, simulate

import jaxci

LAWS = {"normal": stats.norm(), "exponential": stats.expon(), "t5": stats.t(5), "beta(20, 1)": stats.beta(20, 1)}
METHODS = {"errors": ("auto", "proper_bayesian", "percentile"), "values": ("auto", "studentized", "percentile")}
ERRORS = ("mean_absolute_error", "root_mean_squared_error")


class Design(NamedTuple):
    """What is estimated: of errors, or of values of a law; how rows weigh, and how many there are."""

    of: str
    law: str
    weights: str
    n: int

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return errors or values (n,) and the weights of the rows (n,)."""
        if self.of == "values":
            weights = {"1/2 to 3/2": rng.uniform(0.5, 1.5, n), "lognormal": rng.lognormal(0, 0.7, n)}
            return LAWS[self.law].rvs(size=n, random_state=rng), weights[self.weights]
        if self.law == "lognormal":
            errors, apart = np.exp(0.7 * rng.normal(size=(2, n)))
            power = {"rising": 1.5, "rising, few rows": 2.5, "falling": -1.5, "lognormal": 0.0}[self.weights]
            return errors, errors**power * apart
        larger, factor = rng.random(n) < 0.5, {"ten times": 10.0, "twice": 2.0}[self.law]
        few, many = (0.1, 1.9) if factor > 2 else (0.5, 1.5)
        weights = {
            "large errors weigh less": np.where(larger, few, many),
            "large errors weigh more": np.where(larger, many, few),
            "lognormal": rng.lognormal(0, 0.7, n),
        }
        return np.where(larger, factor, 1.0) * rng.normal(size=n), weights[self.weights]


SIZES = (30, 100, 400)
BY_ERROR = ("large errors weigh less", "large errors weigh more", "lognormal")
DESIGNS = [Design("errors", law, weights, n) for law in ("ten times", "twice") for weights in BY_ERROR for n in SIZES]
DESIGNS += [
    Design("errors", "lognormal", weights, n)
    for weights in ("rising", "rising, few rows", "falling", "lognormal")
    for n in SIZES
]
DESIGNS += [Design("values", law, w, n) for law in LAWS for w in ("1/2 to 3/2", "lognormal") for n in (30, 100)]


@functools.cache
def truth(design: Design, statistic: str) -> float:
    """Return what is estimated: of a law that is known, of others that of three million rows."""
    if statistic == "std":
        return float(LAWS[design.law].std())
    power = 1 if statistic == "mean_absolute_error" else 2
    draws = [design.draw(np.random.default_rng(k), 10**6) for k in range(3)]
    mean = np.mean([np.average(np.abs(errors) ** power, weights=weights) for errors, weights in draws])
    return float(mean ** (1 / power))


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one and share of warnings, by method."""
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    estimates: dict[str, list[float]] = {}
    for number in range(sets):
        values, weights = design.draw(np.random.default_rng([number, design.n]), design.n)
        for statistic in ERRORS if design.of == "errors" else ("std",):
            data = (values,) if statistic == "std" else (np.zeros(design.n), values)
            true = truth(design._replace(n=0), statistic)
            for method in METHODS[design.of]:
                row = jaxci.interval(
                    statistic, *data, sample_weight=weights, method=method, n_resamples=999, rng=number
                )
                low, high = row.confidence_interval
                found = (low <= true <= high, high - low, bool(row.warnings))
                held.setdefault(statistic, {}).setdefault(method, []).append(found)
            estimates.setdefault(statistic, []).append(row.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width over the needed, warned")
