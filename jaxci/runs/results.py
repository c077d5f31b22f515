"""What :func:`jaxci.run_seeds` returns."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.printing import Printable, number


@dataclasses.dataclass(frozen=True, eq=False)
class SeedRuns(Printable):
    """Metrics of a training function over its seeds.

    Attributes
    ----------
    seeds : (R,) array of int
        The seed of every run, in the order asked for.
    values : dict of str to (R,) array
        Every metric of every run; a function that returns one number has the metric ``"value"``.
    seconds : (R,) array
        How long each run took.
    varies : str
        What the seed controls.
    differing : dict of int to float
        Seeds whose repetitions differ, with the largest difference in any metric; NaN where
        only some of them are NaN.
    warnings : tuple of str
    """

    seeds: np.ndarray
    values: dict[str, np.ndarray]
    seconds: np.ndarray
    varies: str
    differing: dict[int, float]
    warnings: tuple[str, ...] = ()

    def _first(self) -> np.ndarray:
        """Positions of the first run of every seed, in the order asked for."""
        return np.sort(np.unique(self.seeds, return_index=True)[1])

    def __getitem__(self, metric: str) -> np.ndarray:
        """Return a metric, one value a seed: that of its first run."""
        if metric not in self.values:
            raise KeyError(f"no metric {metric!r} in these runs; they have {list(self.values)}")
        return self.values[metric][self._first()]

    def __len__(self) -> int:
        return len(self.seeds)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a run."""
        return [
            {
                "seed": seed,
                "repetition": repetition,
                **{name: float(x[i]) for name, x in self.values.items()},
                "seconds": float(self.seconds[i]),
                "varies": self.varies,
            }
            for i, (seed, repetition) in enumerate(numbered(self.seeds.tolist()))
        ]

    def headline(self) -> str:
        """Return the line above the table."""
        n = len(self._first())
        again = "" if n == len(self) else f" ({len(self)} runs; the table reads the first of each seed)"
        return f"{n} seed{'s' * (n > 1)} varying {self.varies}{again}, {self.seconds.sum():,.1f} seconds of training"

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table, one row a metric."""
        rows = []
        for name in self.values:
            x = self[name]
            with np.errstate(invalid="ignore"):
                spread = np.std(x, ddof=1) if len(x) > 1 else math.nan
                cells = [np.mean(x), spread, np.min(x), np.median(x), np.max(x)]
            rows.append([name, *(number(float(cell)) for cell in cells)])
        return ["metric", "mean", "std. dev.", "smallest", "median", "largest"], rows

    def notes(self) -> list[str]:
        """Return the lines below the table."""
        return [f"warning: {text}" for text in self.warnings]


def numbered(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Return (seed, repetition) for every run; repetitions of a seed count from 0."""
    seen: Counter[int] = Counter()
    pairs = []
    for seed in seeds:
        pairs.append((seed, seen[seed]))
        seen[seed] += 1
    return pairs
