"""What :func:`jaxci.run_seeds` returns."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxci.printing import Printable, number
from jaxci.runs.file import Run, metrics_of

MOST_LISTED = 20
"""Seeds that a warning lists."""


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
    errors : tuple of str or None
        Type and message of the exception that ended each run; None where it did not fail. The metrics of a run
        that failed are NaN.
    warnings : tuple of str
    """

    seeds: np.ndarray
    values: dict[str, np.ndarray]
    seconds: np.ndarray
    varies: str
    differing: dict[int, float]
    errors: tuple[str | None, ...]
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
                "error": self.errors[i],
            }
            for i, (seed, repetition) in enumerate(numbered(self.seeds.tolist()))
        ]

    def headline(self) -> str:
        """Return the line above the table."""
        n = len(self._first())
        again = "" if n == len(self) else f" ({len(self)} runs; the table reads the first of each seed)"
        return f"{n} seed{'s' * (n > 1)} varying {self.varies}{again}, {self.seconds.sum():,.1f} seconds of training"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table, one row a metric."""
        rows = []
        for name in self.values:
            x = self[name]
            with np.errstate(invalid="ignore"):
                spread = np.std(x, ddof=1) if len(x) > 1 else math.nan
                cells = [np.mean(x), spread, np.min(x), np.median(x), np.max(x)]
            rows.append([name, *map(float, cells)])
        return ["metric", "mean", "std. dev.", "smallest", "median", "largest"], rows


def numbered(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Return (seed, repetition) for every run; repetitions of a seed count from 0."""
    seen: Counter[int] = Counter()
    pairs = []
    for seed in seeds:
        pairs.append((seed, seen[seed]))
        seen[seed] += 1
    return pairs


def collected(runs: Sequence[Run]) -> SeedRuns:
    """Return runs, of which one has metrics at least, as a result, with what to know of them."""
    measured = metrics_of(runs)
    assert measured is not None
    seeds = np.array([run.seed for run in runs], np.int64)
    values = {name: np.array([run.values.get(name, math.nan) for run in runs]) for name in measured.values}
    failed = [run for run in runs if run.error is not None]
    repeated = [seed for seed, count in Counter(seeds.tolist()).items() if count > 1]
    largest = {seed: largest_difference([x[seeds == seed] for x in values.values()]) for seed in repeated}
    differing = {seed: spread for seed, spread in largest.items() if spread != 0}
    warnings = []
    if differing:
        most = float(np.max(list(differing.values())))
        warnings.append(
            f"{len(differing)} of {len(repeated)} repeated seeds gave different results (seeds {_listed(differing)}; "
            f"largest difference {number(most)}): the seed does not control all randomness of train"
        )
    if failed:
        warnings.append(
            f"{len(failed)} of {len(runs)} runs failed and have the score NaN (seeds "
            f"{_listed(run.seed for run in failed)}; seed {failed[0].seed}: {' '.join(str(failed[0].error).split())})"
        )
    for name, x in values.items():
        lost = [run.seed for run, value in zip(runs, x, strict=True) if run.error is None and not math.isfinite(value)]
        if lost:
            warnings.append(f"{name} is not finite in {len(lost)} of {len(runs)} runs (seeds {_listed(lost)})")
    unseeded = [run.seed for run in runs if run.seeded and "torch" in run.versions and "torch" not in run.seeded]
    if unseeded:
        warnings.append(
            f"torch was first imported within a run and not seeded there (seeds {_listed(unseeded)}): "
            "import torch before run_seeds"
        )
    for package in dict.fromkeys(name for run in runs for name in run.versions):
        used = list(dict.fromkeys(run.versions[package] for run in runs if package in run.versions))
        if len(used) > 1:
            warnings.append(f"runs were made under {len(used)} versions of {package}: {', '.join(used)}")
    seconds = np.array([run.seconds for run in runs])
    errors = tuple(run.error for run in runs)
    return SeedRuns(seeds, values, seconds, measured.varies, differing, errors, tuple(warnings))


def _listed(seeds: Iterable[int]) -> str:
    """Return seeds for a message, each once."""
    texts = [str(seed) for seed in dict.fromkeys(seeds)]
    return ", ".join(texts[:MOST_LISTED]) + (" ..." if len(texts) > MOST_LISTED else "")


def largest_difference(columns: Iterable[np.ndarray]) -> float:
    """Return the largest range within any column: 0 where all agree exactly, NaN where only some are NaN."""
    spreads = [
        0.0 if np.array_equal(x, np.full_like(x, x[0]), equal_nan=True) else np.max(x) - np.min(x) for x in columns
    ]
    return float(np.max(spreads))
