"""One cell of a coverage study: a distribution, a sample size, statistics, methods and levels."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.methods import method_by_name
from jaxci.coverage.roads import Draws, Need, Road, road_for
from jaxci.distributions.base import Distribution, Truth, truth
from jaxci.intervals.base import Evidence, Method, Tails, tails
from jaxci.resampling.bank import Bootstrap, replicate_keys
from jaxci.statistics.base import Statistic

PURPOSE_DATA, PURPOSE_BANK, PURPOSE_TRUTH = 0, 1, 2
BLOCK = 2**17
"""Draws of a bank made together: they stay in a CPU's cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """What is simulated.

    Attributes
    ----------
    distribution : Distribution
    n : int
        Sample size.
    statistics : dict of str to Statistic
    methods : sequence of str
        Method names; those that do not serve a statistic are left out for it.
    levels : sequence of float
    n_replications, n_resamples, n_groups : int
        R simulated data sets in G groups, each group with its own bank of B resamples.
    """

    distribution: Distribution
    n: int
    statistics: dict[str, Statistic]
    methods: Sequence[str]
    levels: Sequence[float] = (0.95,)
    n_replications: int = 10_000
    n_resamples: int = 9_999
    n_groups: int = 80

    def served(self, statistic: Statistic) -> dict[str, Method]:
        """Methods that serve ``statistic``, by name."""
        found = {name: method_by_name(name) for name in self.methods}
        return {name: method for name, method in found.items() if method.refusal(statistic) is None}

    def group_sizes(self) -> list[int]:
        """Return the number of data sets in each group; groups may be ragged by one."""
        groups = min(self.n_groups, self.n_replications)
        return [len(part) for part in np.array_split(np.arange(self.n_replications), groups)]


@dataclasses.dataclass(frozen=True, eq=False)
class Judgement:
    """How one method did at one level in one cell.

    Attributes
    ----------
    coverage, coverage_error : float
        Share of closed intervals that hold the truth, and its Monte-Carlo standard error, from
        the variance between groups.
    below, above : float
        Shares of intervals that lie wholly below, and wholly above, the truth.
    invalid : float
        Share of intervals that do not exist (NaN); they count as misses.
    mean_width, median_width : float
        Of the intervals that exist.
    relative_width : float
        Mean width over the interdecile range of the estimate.
    """

    statistic: str
    method: str
    level: float
    coverage: float
    coverage_error: float
    below: float
    above: float
    invalid: float
    mean_width: float
    median_width: float
    relative_width: float


@dataclasses.dataclass(frozen=True, eq=False)
class Behaviour:
    """How the point estimator behaves in one cell.

    ``truth_error`` is the standard error of a simulated truth (0 where it is known); ``flags``
    name what a reader must know (a truth that is not known well enough, undefined samples).
    """

    statistic: str
    truth: float
    truth_error: float
    bias: float
    rmse: float
    standard_error: float
    undefined: float
    flags: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """Judgements and behaviours of one cell, with the seconds it took."""

    n: int
    judgements: tuple[Judgement, ...]
    behaviours: tuple[Behaviour, ...]
    seconds: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row a judgement, with its statistic's behaviour."""
        by_name = {b.statistic: dataclasses.asdict(b) for b in self.behaviours}
        return [
            {
                "n": self.n,
                **dataclasses.asdict(j),
                **{k: v for k, v in by_name[j.statistic].items() if k != "statistic"},
            }
            for j in self.judgements
        ]


class _Tally:
    """Counts and widths of one method at one level, group by group."""

    def __init__(self) -> None:
        self.covered: list[int] = []
        self.sizes: list[int] = []
        self.below = self.above = self.invalid = 0
        self.widths: list[np.ndarray] = []

    def add(self, low: np.ndarray, high: np.ndarray, target: float) -> None:
        missing = np.isnan(low) | np.isnan(high)
        below, above = high < target, low > target
        self.covered.append(int(np.sum(~missing & ~below & ~above)))
        self.sizes.append(low.size)
        self.below += int(np.sum(below & ~missing))
        self.above += int(np.sum(above & ~missing))
        self.invalid += int(missing.sum())
        self.widths.append((high - low)[~missing].astype(np.float32))

    def judge(self, statistic: str, method: str, level: float, interdecile: float) -> Judgement:
        total = sum(self.sizes)
        coverage = sum(self.covered) / total
        widths = np.concatenate(self.widths)
        finite = widths[np.isfinite(widths)]
        mean = float(finite.mean()) if finite.size else math.nan
        return Judgement(
            statistic,
            method,
            level,
            coverage,
            group_error(np.array(self.covered), np.array(self.sizes)),
            self.below / total,
            self.above / total,
            self.invalid / total,
            mean,
            float(np.median(finite)) if finite.size else math.nan,
            mean / interdecile if interdecile > 0 else math.nan,
        )


def group_error(covered: np.ndarray, sizes: np.ndarray) -> float:
    """Return the standard error of a coverage from the variance between groups (G,) of ``sizes`` data sets.

    With one group there is none; then the binomial error, a lower bound, is returned.
    """
    total = sizes.sum()
    p = covered.sum() / total
    if len(sizes) < 2:
        return math.sqrt(p * (1 - p) / total)
    squares = np.sum((covered - sizes * p) ** 2) * len(sizes) / (len(sizes) - 1)
    return float(math.sqrt(squares) / total)


def need_of(methods: Sequence[Method]) -> Need:
    """Return what ``methods`` read, together."""
    needs = frozenset().union(*(method.needs for method in methods)) if methods else frozenset()
    return Need("replicates" in needs, "acceleration" in needs, "standard_error" in needs)


BATCHED = frozenset({"replicates", "acceleration", "values", "count", "nobs"})
"""Evidence that methods read for whole groups at once."""


def group_bounds(method: Method, evidence: Evidence, sides: Tails) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of every data set of a group, clipped to the estimand's range."""
    size = len(evidence.estimate)
    if method.needs <= BATCHED:
        found = method.bounds(evidence, sides)
        low, high = np.asarray(found.low, float), np.asarray(found.high, float)
    else:
        low, high = np.full(size, np.nan), np.full(size, np.nan)
        for r in range(size):
            if np.isnan(evidence.estimate[r]):
                continue
            one = dataclasses.replace(
                evidence,
                estimate=float(evidence.estimate[r]),
                standard_error=None if evidence.standard_error is None else float(evidence.standard_error[r]),
                values=None if evidence.values is None else evidence.values[r],
            )
            low[r], high[r] = method.bounds(one, sides)[:2]
    undefined = np.isnan(evidence.estimate)
    bottom, top = evidence.statistic.bounds
    low, high = np.maximum(low, bottom), np.minimum(high, top)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def draw(distribution: Distribution, key: jax.Array, start: int, size: int, n: int) -> Draws:
    """Draw ``size`` data sets of n observations, numbered from ``start``."""
    return {k: np.asarray(v) for k, v in _draw(distribution, key, jnp.int32(start), size=size, n=n).items()}


def _draw_core(
    distribution: Distribution, key: jax.Array, start: jax.Array, *, size: int, n: int
) -> dict[str, jax.Array]:
    keys = replicate_keys(key, start + jnp.arange(size, dtype=jnp.int32))
    return jax.vmap(lambda k: distribution.sample(k, n))(keys)


_draw = jax.jit(_draw_core, static_argnames=("size", "n"))


def _bank_core(key: jax.Array, group: jax.Array, *, n: int, n_resamples: int) -> jax.Array:
    own = jax.random.fold_in(key, group)
    scheme = Bootstrap.of(n)
    rows = max(1, BLOCK // n)
    blocks = -(-n_resamples // rows)
    starts = jnp.arange(blocks, dtype=jnp.int32) * rows

    def block(start: jax.Array) -> jax.Array:
        return scheme.counts(own, start + jnp.arange(rows, dtype=jnp.int32))[:, :n]

    counts = jax.lax.map(block, starts).reshape(-1, n)[:n_resamples]
    return jnp.concatenate([counts, jnp.ones((1, n), counts.dtype)])


_bank = jax.jit(_bank_core, static_argnames=("n", "n_resamples"))


def run_cell(
    cell: Cell,
    key: jax.Array,
    *,
    truths: dict[str, Truth] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CellResult:
    """Simulate one cell.

    Draws of data set r depend on ``key`` and r alone, the bank of group g on ``key`` and g.
    Cost: G banks of B n draws, R B n multiply-adds a linear statistic, and sorting R rows of B.
    """
    started = time.perf_counter()
    truths = truths or cell_truths(cell, key)
    served = {name: cell.served(statistic) for name, statistic in cell.statistics.items()}
    classes = cell.distribution.n_classes
    roads: dict[str, Road] = {
        name: road_for(statistic, cell.n, need_of(list(served[name].values())), classes)
        for name, statistic in cell.statistics.items()
        if served[name]
    }
    tallies = {(s, m, level): _Tally() for s in roads for m in served[s] for level in cell.levels}
    estimates: dict[str, list[np.ndarray]] = {name: [] for name in roads}
    banked = any(road.uses_bank for road in roads.values())
    data_key, bank_key = jax.random.fold_in(key, PURPOSE_DATA), jax.random.fold_in(key, PURPOSE_BANK)
    sizes = cell.group_sizes()
    start = 0
    for group, size in enumerate(sizes):
        with jax.enable_x64(True):
            draws = draw(cell.distribution, data_key, start, size, cell.n)
        bank = _bank(bank_key, jnp.int32(group), n=cell.n, n_resamples=cell.n_resamples) if banked else None
        for name, road in roads.items():
            evidence = road.evidence(draws, bank if road.uses_bank else None)
            estimates[name].append(np.asarray(evidence.estimate))
            for method_name, method in served[name].items():
                for level in cell.levels:
                    low, high = group_bounds(method, evidence, tails(level))
                    tallies[name, method_name, level].add(low, high, truths[name].value)
        start += size
        if progress is not None:
            progress(group + 1, len(sizes))
    behaviours, judgements = [], []
    for name in roads:
        found = np.concatenate(estimates[name])
        defined = found[~np.isnan(found)]
        interdecile = float(np.subtract(*np.quantile(defined, [0.9, 0.1]))) if defined.size else math.nan
        mine = [
            tally.judge(name, method, level, interdecile) for (s, method, level), tally in tallies.items() if s == name
        ]
        judgements += mine
        behaviours.append(_behaviour(name, truths[name], found, defined, mine))
    return CellResult(cell.n, tuple(judgements), tuple(behaviours), time.perf_counter() - started)


def cell_truths(cell: Cell, key: jax.Array) -> dict[str, Truth]:
    """Return the true value of every statistic under the cell's distribution."""
    own = jax.random.fold_in(key, PURPOSE_TRUTH)
    return {name: truth(cell.distribution, statistic, own) for name, statistic in cell.statistics.items()}


def _behaviour(
    name: str, target: Truth, found: np.ndarray, defined: np.ndarray, judgements: Sequence[Judgement]
) -> Behaviour:
    flags = []
    undefined = 1 - defined.size / found.size
    if undefined > 0:
        flags.append(f"the statistic was undefined in {100 * undefined:.2g}% of the samples; they count as misses")
    widths = [j.mean_width for j in judgements if math.isfinite(j.mean_width)]
    if widths and target.error > 0.02 * min(widths):
        flags.append("the truth is simulated, and its error is not small against the width of the intervals")
    bias = float(defined.mean()) - target.value if defined.size else math.nan
    spread = float(defined.std(ddof=1)) if defined.size > 1 else math.nan
    rmse = math.sqrt(float(np.mean((defined - target.value) ** 2))) if defined.size else math.nan
    return Behaviour(name, target.value, target.error, bias, rmse, spread, undefined, tuple(flags))
