"""Simulate means of training runs, normal, skewed or failing, on one task and over tasks, by the verbs for runs.

Run ``python benchmarks/training_runs.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Of one task there are ``runs_interval`` and ``interval``; of several the mean, the median over tasks and
the interquartile mean, by ``leaderboard`` of two models. "told": runs are skewed. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from simulated import averaged, simulate

import jaxci

FAIL, GOOD, BAD, NOISE = (0.1, 0.3), 0.95, 0.2, 0.02
"""Least and greatest share of runs of a task that fail, what runs come to on average, and how much they vary."""
MANY = 200_000
"""Runs of a task whose interquartile mean is taken for the true one."""
LAWS = ("normal", "beta(8,2)", "lognormal", "failing")
MEANS = {"normal": 0.0, "beta(8,2)": 0.8, "lognormal": float(np.exp(0.5))}


class Design(NamedTuple):
    """The law of runs, runs, tasks, and the standard deviation of the means of tasks that are apart."""

    law: str
    runs: int
    tasks: int
    apart: float = 0.0

    def means(self) -> np.ndarray:
        """Return the true mean of every task."""
        if self.law == "failing":
            return GOOD - (GOOD - BAD) * self.failing()
        middle = (np.arange(self.tasks) + 0.5) / self.tasks
        return MEANS[self.law] + self.apart * special.ndtri(middle)

    def failing(self) -> np.ndarray:
        """Return the share of runs of every task that fail."""
        return np.linspace(*FAIL, self.tasks)

    def draw(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Return the scores (runs, tasks) of one model."""
        shape = runs, self.tasks
        if self.law == "failing":
            return np.where(rng.random(shape) < self.failing(), BAD, GOOD) + NOISE * rng.normal(size=shape)
        drawn = {"normal": rng.normal, "lognormal": rng.lognormal, "beta(8,2)": lambda size: rng.beta(8, 2, size)}
        return self.means() - MEANS[self.law] + drawn[self.law](size=shape)

    def truth(self, aggregate: str) -> float:
        """Return what is estimated."""
        if aggregate != "iqm":
            return float(np.median(self.means()) if aggregate == "median" else np.mean(self.means()))
        scores = np.sort(self.draw(np.random.default_rng(0), MANY).ravel())
        return float(scores[len(scores) // 4 : -len(scores) // 4].mean())


DESIGNS = [Design(law, runs, 1) for law in LAWS for runs in (3, 5, 10, 20, 30)]
DESIGNS += [
    Design(law, runs, tasks, apart)
    for law, apart in (("normal", 0.0), ("normal", 2.0), ("lognormal", 0.0), ("lognormal", 2.0), ("failing", 0.0))
    for runs in (3, 5, 10)
    for tasks in (3, 5, 10)
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width and share of remarks on skewed runs, by what is estimated and verb."""
    names = ("mean",) if design.tasks == 1 else ("mean", "median", "iqm")
    truths = {name: design.truth(name) for name in names}
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {name: {} for name in names}
    for number in range(sets):
        rng = np.random.default_rng([number, design.runs, design.tasks])
        runs = {name: design.draw(rng, design.runs) for name in "ab"}
        for name, truth in truths.items():
            if design.tasks == 1:
                of_one = runs["a"][:, 0]
                found = {
                    "runs_interval": jaxci.runs_interval(of_one),
                    "interval": jaxci.interval("mean", of_one, rng=0),
                }
                rows = [(verb, one.confidence_interval, one.warnings) for verb, one in found.items()]
            else:
                table = jaxci.leaderboard(name, runs, rng=number, n_resamples=999, adjust="none")
                rows = [("leaderboard", row.confidence_interval, table.warnings) for row in table.entries]
            for verb, (low, high), said in rows:
                told = any("runs are skewed" in one for one in said)
                held[name].setdefault(verb, []).append((low <= truth <= high, high - low, told))
    return averaged(held)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, mean width, told")
