"""One cell of a coverage study: a distribution, a sample size, statistics, methods and levels."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.enumeration import behaviour_of_proportion, enumerable, enumerated
from jaxci.coverage.tally import Behaviour, CellResult, Judgement, Tally
from jaxci.distributions.base import Distribution, Truth, predictions, predicts, truth
from jaxci.inference.roads import Draws, Need, Road, road_for
from jaxci.inference.sharding import Spread
from jaxci.inference.supplements import supplemented
from jaxci.intervals.base import Evidence, Method, NoInterval, Tails, tails
from jaxci.intervals.registry import method_by_name
from jaxci.resampling.bank import Bootstrap, replicate_keys
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import Variance

PURPOSE_DATA, PURPOSE_BANK, PURPOSE_TRUTH, PURPOSE_CHOICE = 0, 1, 2, 3
BLOCK = 2**17
"""Draws of a bank made together: they stay in a CPU's cache."""
BUDGET = 2**29
"""Bytes that the replicates of some data sets may take at a time, where no limit is given."""
BYTES_PER_REPLICATE = 32
"""Products, their sorted copies and what methods make of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """What is simulated.

    Attributes
    ----------
    distribution : Distribution
    n : int
        Sample size.
    statistics : dict of str to Statistic
    methods : sequence of str, or dict of str to sequence of str
        Method names, the same for all statistics or by the name of each; those that do not serve
        a statistic are left out for it.
    levels : sequence of float
    n_replications, n_resamples, n_groups : int
        R simulated data sets in G groups, each group with its own bank of B resamples.
    """

    distribution: Distribution
    n: int
    statistics: dict[str, Statistic]
    methods: Sequence[str] | Mapping[str, Sequence[str]]
    levels: Sequence[float] = (0.95,)
    n_replications: int = 10_000
    n_resamples: int = 9_999
    n_groups: int = 80

    def served(self, name: str) -> dict[str, Method]:
        """Methods that serve the statistic called ``name``, by name."""
        wanted = self.methods[name] if isinstance(self.methods, Mapping) else self.methods
        found = {method: method_by_name(method) for method in wanted}
        return {m: method for m, method in found.items() if method.refusal(self.statistics[name]) is None}

    def simulated(self, name: str) -> dict[str, Method]:
        """Methods whose coverage is simulated: a share of all rows is enumerated instead."""
        served = self.served(name)
        if not getattr(self.statistics[name], "has_fixed_trials", False):
            return served
        return {method: found for method, found in served.items() if not enumerable(method)}

    def group_sizes(self) -> list[int]:
        """Return the number of data sets in each group; groups may be ragged by one."""
        groups = min(self.n_groups, self.n_replications)
        return [len(part) for part in np.array_split(np.arange(self.n_replications), groups)]


def need_of(methods: Iterable[Method]) -> Need:
    """Return what ``methods`` read, together."""
    needs: frozenset[str] = frozenset().union(*(method.needs for method in methods))
    return Need("replicates" in needs, "acceleration" in needs, "standard_error" in needs)


BATCHED = frozenset({"replicates", "acceleration", "values", "count", "nobs", "uniform", "standard_error"})
"""Evidence that methods read for whole groups at once."""
ALONE = frozenset({"auc", "law", "curvature", "pivots"})
"""Evidence that is computed data set by data set."""


def group_bounds(
    method: Method, evidence: Evidence, sides: Tails, alone: Callable[[int], Evidence]
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of every data set of a group, clipped to the estimand's range; ``alone(r)`` is evidence of one."""
    undefined = np.isnan(evidence.estimate)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = _bounds(method, evidence, sides, alone, undefined)
    bottom, top = evidence.statistic.bounds
    low, high = np.maximum(low, bottom), np.minimum(high, top)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def _bounds(
    method: Method, evidence: Evidence, sides: Tails, alone: Callable[[int], Evidence], undefined: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds as the method gives them: of the whole group at once where it can."""
    low, high = np.full(undefined.shape, np.nan), np.full(undefined.shape, np.nan)
    try:
        critical = method.critical(evidence.statistic, evidence.n, sides)
    except NoInterval:
        return low, high
    if method.needs <= BATCHED:
        found = method.bounds(evidence, sides, critical)
        return np.asarray(found.low, float), np.asarray(found.high, float)
    for r in np.flatnonzero(~undefined):
        with contextlib.suppress(ValueError):  # there is no such evidence for these data: NaN
            low[r], high[r] = method.bounds(alone(int(r)), sides, critical)
    return low, high


def draw(
    distribution: Distribution, key: jax.Array, start: int, size: int, n: int, spread: Spread | None = None
) -> Draws:
    """Draw ``size`` data sets of n observations, numbered from ``start``; predicted classes follow from scores."""
    ids = jnp.arange(start, start + size, dtype=jnp.int32)
    found = (spread or Spread.over())(_drawn, ids, (distribution, key), n=n)
    draws = {name: np.asarray(x) for name, x in found.items()}
    if predicts(distribution):
        scores = draws["y_score"]
        flat = predictions(scores.reshape(-1, *scores.shape[2:]))
        draws["y_pred"] = flat.reshape(scores.shape[:2])
    return draws


def _drawn(ids: jax.Array, shared: tuple[Distribution, jax.Array], *, n: int) -> dict[str, jax.Array]:
    distribution, key = shared
    return jax.vmap(lambda k: distribution.sample(k, n))(replicate_keys(key, ids))


def _uniforms(key: jax.Array, start: int, size: int) -> np.ndarray:
    """Return a draw from (0, 1) for each data set from number ``start`` on, for randomized methods."""
    keys = replicate_keys(jax.random.fold_in(key, PURPOSE_CHOICE), jnp.arange(start, start + size, dtype=jnp.int32))
    return np.asarray(jax.vmap(jax.random.uniform)(keys), np.float64)


def _bank(key: jax.Array, group: int, n: int, n_resamples: int, spread: Spread) -> jax.Array:
    """Return the bank of a group (B + 1, n): counts of every resample, and a last row of ones."""
    own = jax.random.fold_in(key, group)
    rows = max(1, BLOCK // n)
    starts = jnp.arange(-(-n_resamples // rows), dtype=jnp.int32) * rows
    counts = spread(_counts, starts, (own, Bootstrap.of(n)), n=n, rows=rows)
    return _closed(counts, n=n, n_resamples=n_resamples)


def _counts(starts: jax.Array, shared: tuple[jax.Array, Bootstrap], *, n: int, rows: int) -> jax.Array:
    key, scheme = shared

    def block(start: jax.Array) -> jax.Array:
        return scheme.counts(key, start + jnp.arange(rows, dtype=jnp.int32))[:, :n]

    return jax.lax.map(block, starts)


def _closed_core(counts: jax.Array, *, n: int, n_resamples: int) -> jax.Array:
    counts = counts.reshape(-1, n)[:n_resamples]
    return jnp.concatenate([counts, jnp.ones((1, n), counts.dtype)])


_closed = jax.jit(_closed_core, static_argnames=("n", "n_resamples"))


def simulate(
    cell: Cell,
    key: jax.Array,
    truths: dict[str, Truth],
    *,
    groups: Sequence[int] | None = None,
    spread: Spread | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Simulate some groups of a cell, all by default; statistics without a known truth are left out.

    Draws of data set r depend on ``key`` and r alone, the bank of group g on ``key`` and g. The
    replicates of no more data sets than fit ``memory_limit`` bytes are held at a time.
    Cost: G banks of B n draws, R B n multiply-adds a linear statistic, and sorting R rows of B.
    """
    spread = spread or Spread.over()
    methods = {name: cell.simulated(name) for name in cell.statistics if math.isfinite(truths[name].value)}
    roads: dict[str, Road] = {
        name: road_for(cell.statistics[name], cell.n, need_of(found.values()), cell.distribution.n_classes, spread)
        for name, found in methods.items()
        if found
    }
    tally = Tally()
    if not roads:
        return tally
    banked = any(road.uses_bank for road in roads.values())
    data_key, bank_key = jax.random.fold_in(key, PURPOSE_DATA), jax.random.fold_in(key, PURPOSE_BANK)
    starts = np.concatenate([[0], np.cumsum(cell.group_sizes())])
    mine = range(len(starts) - 1) if groups is None else groups
    classes = cell.distribution.n_classes
    most = max(len(spread.devices), (memory_limit or BUDGET) // (BYTES_PER_REPLICATE * (cell.n_resamples + cell.n)))
    for done, group in enumerate(mine):
        bank = _bank(bank_key, group, cell.n, cell.n_resamples, spread) if banked else None
        for start in range(int(starts[group]), int(starts[group + 1]), most):
            size = min(most, int(starts[group + 1]) - start)
            with jax.enable_x64(True):
                draws = draw(cell.distribution, data_key, start, size, cell.n, spread)
            for name, road in roads.items():
                evidence = road.evidence(draws, bank if road.uses_bank else None)
                if any("uniform" in method.needs for method in methods[name].values()):
                    evidence = dataclasses.replace(evidence, uniform=_uniforms(key, start, size))
                tally.estimated(name, group, np.asarray(evidence.estimate))
                for method_name, method in methods[name].items():
                    needs = method.needs & ALONE
                    whole = functools.partial(supplemented, evidence, draws, classes, needs, bank, spread)
                    alone = functools.lru_cache(maxsize=None)(whole)
                    for level in cell.levels:
                        low, high = group_bounds(method, evidence, tails(level), alone)
                        tally.add((name, method_name, level), group, low, high, truths[name].value)
        if progress is not None:
            progress(done + 1, len(mine))
    return tally


def judge(cell: Cell, truths: dict[str, Truth], tally: Tally, seconds: float) -> CellResult:
    """Return the result of a cell from the tally of all its groups, in the order of its statistics."""
    judged, behaved = tally.judge(truths)
    judgements: list[Judgement] = []
    behaviours: list[Behaviour] = []
    for name, statistic in cell.statistics.items():
        target, served = truths[name], cell.served(name)
        found = {(j.method, j.level): j for j in judged if j.statistic == name}
        seen = [b for b in behaved if b.statistic == name]
        if not math.isfinite(target.value):
            found = {(m, level): _unknown(name, m, level) for m in served for level in cell.levels}
            unknown = math.nan
            seen = [Behaviour(name, unknown, unknown, unknown, unknown, unknown, unknown, (target.how,))]
        elif getattr(statistic, "has_fixed_trials", False):
            for method in served:
                if enumerable(method):
                    for level in cell.levels:
                        found[method, level] = enumerated(name, method, target.value, cell.n, level)
            seen = [behaviour_of_proportion(name, target, cell.n, list(found.values()))]
        judgements += [found[m, level] for m in served for level in cell.levels]
        extra = _remarks(cell.distribution, statistic) if served else ()
        behaviours += [dataclasses.replace(b, flags=(*b.flags, *extra)) for b in seen]
    return CellResult(cell.n, tuple(judgements), tuple(behaviours), seconds)


def _unknown(statistic: str, method: str, level: float) -> Judgement:
    return Judgement(statistic, method, level, *[math.nan] * 8)


def _remarks(distribution: Distribution, statistic: Statistic) -> tuple[str, ...]:
    """Return what the law itself says against trusting moments of a simulation."""
    if distribution.kind != "values" or statistic.road != "moments":
        return ()
    variance = distribution.analytic(Variance())
    if variance is None or math.isfinite(variance):
        return ()
    return ("the variance of the distribution is infinite: widths, bias and RMSE of a simulation do not settle",)


def run_cell(
    cell: Cell,
    key: jax.Array,
    *,
    truths: dict[str, Truth] | None = None,
    spread: Spread | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CellResult:
    """Simulate one cell and judge every method; see :func:`simulate` for the cost."""
    started = time.perf_counter()
    truths = truths or cell_truths(cell.distribution, cell.statistics, key)
    tally = simulate(cell, key, truths, spread=spread, progress=progress)
    return judge(cell, truths, tally, time.perf_counter() - started)


def cell_truths(distribution: Distribution, statistics: dict[str, Statistic], key: jax.Array) -> dict[str, Truth]:
    """Return the true value of every statistic; NaN, with the reason in ``how``, where there is none."""
    own = jax.random.fold_in(key, PURPOSE_TRUTH)
    found: dict[str, Truth] = {}
    for name, statistic in statistics.items():
        try:
            found[name] = truth(distribution, statistic, own)
        except ValueError as error:
            found[name] = Truth(math.nan, math.nan, str(error))
    return found
