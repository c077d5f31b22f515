"""Runs a coverage cell group by group, counts, and judges every method."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence

import jax
import numpy as np

from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import Cell, Simulation
from jaxci.coverage.dispatch import Dispatch
from jaxci.coverage.enumeration import behaviour_of_proportion, enumerable, enumerated
from jaxci.coverage.tally import Behaviour, CellResult, Judgement, Tally, outcomes
from jaxci.distributions import Distribution, Truth, truth
from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Method
from jaxci.statistics.base import MomentStatistic, Statistic
from jaxci.statistics.summary import Std

PURPOSE_BANK, PURPOSE_TRUTH = 1, 2


def simulate(
    cell: Cell,
    key: jax.Array,
    truths: dict[str, Truth],
    *,
    banks: Banks | None = None,
    groups: Sequence[int] | None = None,
    spread: Spread | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Simulate some groups of a cell, all by default; statistics without a known truth are left out.

    Draws of data set r depend on ``key`` and r alone, the bank of group g on ``banks`` (``key`` by default), n and g.
    The replicates of no more data sets, and no more of a bank, than fit ``memory_limit`` bytes each are held at a time:
    a bank that does not fit is read piece by piece, for which data sets are drawn again each time.
    Cost: G banks of B n draws, R B n multiply-adds a linear statistic, and sorting R rows of B.
    """
    spread = spread or Spread.over()
    banks = banks or Banks(jax.random.fold_in(key, PURPOSE_BANK))
    simulation, tally = Simulation.of(cell, truths), Tally()
    if not simulation.names:
        return tally
    sizes = cell.group_sizes()
    mine = range(len(sizes)) if groups is None else groups
    dispatch = Dispatch(simulation, key, banks, spread, memory_limit)
    with jax.enable_x64(True):
        for done, found in enumerate(dispatch.through(mine), start=1):
            for name, one in zip(simulation.series.names, found.counts, strict=True):
                tally.add(name, found.group, one)
            never = np.full(sizes[found.group], np.nan)
            for name in simulation.series.absent:
                tally.add(name, found.group, outcomes(never, never, 0.0))
            for statistic, estimate in zip(simulation.names, found.estimates, strict=True):
                tally.estimated(statistic, found.group, estimate)
            if progress is not None:
                progress(done, len(mine))
    return tally


def judge(cell: Cell, truths: dict[str, Truth], tally: Tally, seconds: float) -> CellResult:
    """Return the result of a cell from the tally of all its groups, in the order of its statistics."""
    judged, behaved = tally.judge(truths, {name: cell.served(name) for name in cell.statistics})
    judgements: list[Judgement] = []
    behaviours: list[Behaviour] = []
    for name, statistic in cell.statistics.items():
        target, served = truths[name], cell.served(name)
        found = {(j.label, j.level): j for j in judged if j.statistic == name}
        seen = [b for b in behaved if b.statistic == name]
        if not math.isfinite(target.value):
            found = {
                (m, level): _unknown(name, method, level, m) for m, method in served.items() for level in cell.levels
            }
            unknown = math.nan
            seen = [Behaviour(name, unknown, unknown, unknown, unknown, unknown, unknown, (target.how,))]
        elif cell.enumerates(name):
            for label, method in served.items():
                if enumerable(method):
                    for level in cell.levels:
                        found[label, level] = enumerated(name, method, target, cell.n, level, label, cell.n_resamples)
            seen = [behaviour_of_proportion(name, target, cell.n, list(found.values()))]
        judgements += [found[m, level] for m in served for level in cell.levels]
        extra = _remarks(cell.distribution, statistic) if served else ()
        behaviours += [dataclasses.replace(b, flags=(*b.flags, *extra)) for b in seen]
    return CellResult(cell.n, tuple(judgements), tuple(behaviours), seconds)


def _unknown(statistic: str, method: Method, level: float, label: str) -> Judgement:
    unknown = math.nan
    return Judgement(
        statistic, method, level, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, label
    )


def _remarks(distribution: Distribution, statistic: Statistic) -> tuple[str, ...]:
    """Return what the law itself says against trusting moments of a simulation."""
    if distribution.kind != "values" or not isinstance(statistic, MomentStatistic):
        return ()
    spread = distribution.analytic(Std())
    if spread is None or math.isfinite(spread):
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
