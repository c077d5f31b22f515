"""Simulate optimality gaps of training runs most of which reach the target, by ``leaderboard``.

Run ``python benchmarks/optimality_gaps.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design, of two algorithms each. Scores are normal. "told": few scores are below the target. Nominal 95%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from simulated import averaged, simulate

import jaxci


class Design(NamedTuple):
    """Runs of tasks, and by how many standard deviations of .1 they are above the target of 1 on average."""

    runs: int
    tasks: int
    above: float

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return the scores (runs, tasks) of one algorithm."""
        return 1 + 0.1 * (self.above + rng.normal(size=(self.runs, self.tasks)))

    @property
    def truth(self) -> float:
        """The mean of what normal scores are below the target."""
        return float(0.1 * (stats.norm.pdf(self.above) - self.above * stats.norm.sf(self.above)))


DESIGNS = [
    Design(*design)
    for design in (
        (3, 10, 0.0),
        (5, 5, 0.0),
        (5, 5, 1.0),
        (5, 8, -0.2),
        (5, 20, 1.5),
        (10, 1, 1.0),
        (10, 5, 1.5),
        (10, 10, 1.0),
        (10, 10, 2.0),
        (20, 1, 1.0),
    )
]


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the gap and share of remarks, with a remark on few scores and without."""
    held: dict[str, list[tuple[float, ...]]] = {"told": [], "untold": []}
    for number in range(sets):
        rng = np.random.default_rng([number, *design[:2]])
        runs = {name: design.draw(rng) for name in "ab"}
        table = jaxci.leaderboard("optimality_gap", runs, rng=number, n_resamples=999, adjust="none")
        few = any("below gamma" in one for one in table.warnings)
        for row in table.entries:
            low, high = row.confidence_interval
            found = (low <= design.truth <= high, (high - low) / design.truth, few)
            held["told" if few else "untold"].append(found)
    return averaged({"optimality_gap": {which: found for which, found in held.items() if len(found) >= sets // 2}})


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 400, simulated, "coverage, mean width over the gap, told")
