"""Simulate intervals for means of scores of several classes of rows in clusters, through ``jaxci.interval``.

Run ``python benchmarks/classes_in_clusters.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of
data sets a design. Clusters differ in how well they are predicted, and in their classes. Nominal 95%.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from simulated import CLASS_MEANS, averaged, class_means, confusion, keep, options, show

import jaxci
from jaxci.intervals.delta import Delta

RESAMPLES = 499
METHODS = ("auto", "proper_bayesian", "square_and_add", "percentile", Delta(scale="logit", use_t=True))
MANY = 60_000
"""Clusters that the true values are read off."""


class Design(NamedTuple):
    """Shares of the classes, how far the logit of the true one is raised, and clusters.

    ``spread`` is the standard deviation of the raise between clusters, ``alike`` the sum of the parameters of their
    Dirichlet law of shares (infinite where they have the same).
    """

    shares: tuple[float, ...]
    raised: float
    clusters: int
    rows: int
    spread: float
    alike: float

    def drawn(self, rng: np.random.Generator, clusters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return classes, predictions and clusters (clusters * rows,)."""
        shares = np.array(self.shares)
        of_cluster = np.tile(shares, (clusters, 1))
        if np.isfinite(self.alike):
            of_cluster = rng.dirichlet(shares * self.alike, size=clusters)
        groups = np.repeat(np.arange(clusters), self.rows)
        above = rng.random(len(groups))[:, None] > np.cumsum(of_cluster, axis=1)[groups]
        y = np.minimum(above.sum(axis=1), len(shares) - 1)
        logits = rng.normal(size=(len(y), len(shares))) + np.log(shares)
        logits[np.arange(len(y)), y] += (self.raised + self.spread * rng.normal(size=clusters))[groups]
        return y, logits.argmax(axis=1), groups


UNEVEN, TEN = (0.37, 0.25, 0.2, 0.15, 0.03), (0.1,) * 10
DESIGNS = (
    Design((0.5, 0.35, 0.15), 3.0, 10, 5, 1.0, 10),
    Design((0.5, 0.35, 0.15), 3.0, 20, 5, 1.0, 10),
    Design((0.6, 0.34, 0.06), 2.5, 12, 8, 0.7, 10),
    Design(UNEVEN, 2.2, 10, 10, 1.0, np.inf),
    Design(UNEVEN, 2.2, 20, 10, 0.7, 20),
    Design(UNEVEN, 4.0, 20, 10, 1.0, 5),
    Design(UNEVEN, 2.2, 30, 10, 1.0, 10),
    Design(UNEVEN, 4.0, 40, 10, 1.0, 5),
    Design(TEN, 2.0, 10, 30, 0.7, 5),
    Design(TEN, 3.0, 20, 20, 0.5, 10),
    Design(TEN, 4.0, 40, 5, 1.0, 20),
    Design(UNEVEN, 3.0, 80, 5, 1.0, 10),
    Design(UNEVEN, 3.0, 120, 5, 1.0, 10),
)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width of every method, by metric."""
    y, guess, _ = design.drawn(np.random.default_rng(0), MANY)
    true: dict[str, float] = class_means(confusion(y, guess, len(design.shares)))
    held: dict[str, dict[str, list[tuple[bool, float]]]] = {}
    for number in range(sets):
        y, guess, groups = design.drawn(np.random.default_rng([number, design.clusters]), design.clusters)
        for metric in CLASS_MEANS:
            for method in METHODS:
                given: dict[str, Any] = {"labels": list(range(len(design.shares))), "n_resamples": RESAMPLES}
                row = jaxci.interval(metric, y, guess, method=method, groups=groups, rng=number, **given)
                low, high = row.confidence_interval
                name = method if isinstance(method, str) else method.label
                held.setdefault(metric, {}).setdefault(name, []).append((low <= true[metric] <= high, high - low))
    return averaged(held)


def main() -> None:
    given = options(__doc__, sets=150)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for design in DESIGNS:
        one = simulated(design, given.sets)
        found.append(design._asdict() | {"alike": str(design.alike), "coverage, width": one})
        print(design)
        show(one)
    keep(given, found)


if __name__ == "__main__":
    main()
