"""Evidence of many data sets at once: all of one size and layout, and reading one bank of resamples.

Everything here is traced: a batch comes as a :class:`~jaxci.statistics.sample.Sample` whose arrays have a leading axis,
and leaves as :class:`~jaxci.intervals.base.Evidence` with the same axis. Replicates leave unsorted
(:func:`with_sorted_rows` is the next stage), so that a CPU may sort them on the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.batch_laws import Variants, drawn_laws, exact_laws, prepared_of, table_of
from jaxci.inference.batch_replicates import Replicated, cores_by_order, reads_bank
from jaxci.inference.curvature import curvatures
from jaxci.inference.iterated import Nested, placed
from jaxci.inference.places import places
from jaxci.inference.program import Program, Rows, alone, read
from jaxci.inference.replicate import tie_width
from jaxci.inference.slopes import (
    FirstOrder,
    contributions,
    contributions_left_out,
    first_order,
    jackknife_acceleration,
    jackknife_error,
    of_mean,
)
from jaxci.inference.table_laws import shares_of_units
from jaxci.inference.wanted import Wanted
from jaxci.intervals.auc import AucEvidence
from jaxci.intervals.base import Evidence, Nesting
from jaxci.intervals.capabilities import has_beta_law, is_debiased_calibration
from jaxci.intervals.clusters import ClusterSums
from jaxci.intervals.mover import shares_in_clusters
from jaxci.resampling.exact_order import QuantileWeights, RankWeights
from jaxci.resampling.laws import BootstrapDistribution, Drawn
from jaxci.resampling.share_laws import BetaLaw
from jaxci.special import unit
from jaxci.statistics.base import LinearStatistic, Shares, Statistic, TableStatistic, counted_in_table
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.probability import Calibration, ClusterGaps, Gaps
from jaxci.statistics.ranking import placement_variances
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, SecondMoment
from jaxci.statistics.sums import Bank

FLAT = 1e-12
"""Errors of a replicate below this share of the estimate's count as zero."""


def batch_evidence(
    statistics: Sequence[Statistic],
    wanted: Sequence[Wanted],
    sample: Sample,
    programs: Program,
    found: Replicated,
    ranks: Sequence[QuantileWeights | RankWeights | None],
    uniform: Any,
    nested: Mapping[Nesting, Nested],
    layout: Layout,
) -> list[tuple[Evidence, Variants]]:
    """Return the evidence of every statistic for a batch of data sets.

    Parameters
    ----------
    statistics, wanted : sequences of length S
    sample : Sample
        Arrays (R, n, ...).
    programs : Program
        :func:`programs_of` them.
    found : Replicated
        What all resamples make of them.
    ranks : sequence
        :meth:`Wanted.ranks_of` for every statistic.
    uniform : (R,) or None
        Draws from (0, 1).
    nested : mapping of Nesting to Nested
        Resamples of resamples of every size that some method reads.
    layout : Layout
        Of the rows of every data set.
    """
    return [
        _evidence(statistic, want, number, sample, programs, found, ranks[number], uniform, nested, layout)
        for number, (statistic, want) in enumerate(zip(statistics, wanted, strict=True))
    ]


def _evidence(
    statistic: Statistic,
    want: Wanted,
    number: int,
    sample: Sample,
    programs: Program,
    found: Replicated,
    ranks: QuantileWeights | RankWeights | None,
    uniform: Any,
    nested: Mapping[Nesting, Nested],
    layout: Layout,
) -> tuple[Evidence, Variants]:
    cores = found.cores.get(number)
    values = _values(statistic, sample, programs, number) if layout.plain else None
    estimate, first, leveraged = _first_order(statistic, want, values, programs, number, layout)
    parts: dict[str, Any] = {}
    if values is not None and "values" in want.needs:
        parts["values"] = values
    if "clusters" in want.needs or (layout.units is not None and "values" in want.needs):
        parts["clusters"] = _cluster_sums(statistic, sample, programs, number, layout)
    if layout.units is not None and want.leverage:
        rows = layout.sum_rows(np.ones((layout.n, 1)), layout.n_units)[:, 0]
        parts["sizes"] = jnp.broadcast_to(rows, (*estimate.shape, layout.n_units))
    if "uniform" in want.needs:
        parts["uniform"] = uniform
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        parts["count"], parts["nobs"] = _trials(statistic, programs, number)
    if isinstance(statistic, TableStatistic) and "shares" in want.needs:
        parts["shares"] = _shares(statistic, programs, number, layout)
    if "auc" in want.needs:
        parts["auc"] = AucEvidence(*jax.vmap(placement_variances)(prepared_of(programs, number)))
    if "places" in want.needs:
        parts["places"] = jax.vmap(lambda one: places(statistic, statistic.prepare(one), layout))(sample)
    if "gaps" in want.needs:
        assert is_debiased_calibration(statistic)
        parts["gaps"] = jax.vmap(lambda program: _gaps(statistic, program, number, layout))(programs)
    if "curvature" in want.needs:
        parts["curvature"] = curvatures(programs, number)
    if ranks is not None:
        law = ranks.distribution(values)
        if "law" in want.needs:
            parts["law"] = law
        if "replicates" in want.needs and cores is None:
            parts["distribution"] = law
    elif "law" in want.needs:
        parts["law"] = exact_laws(statistic, values, parts, programs, number, layout)
    if cores is not None:
        parts["distribution"] = drawn_laws(statistic, prepared_of(programs, number), cores, estimate)
        parts["core"] = jnp.zeros_like(estimate)
    if "pivots" in want.needs and cores is not None:
        errors = found.errors[number][:, :-1]
        known = errors > FLAT * first.standard_error[:, None]
        apart = parts["distribution"].mapped(parts["distribution"].ordered) - estimate[:, None]
        parts["pivots"] = Drawn(jnp.where(known, apart / jnp.where(known, errors, 1.0), jnp.nan))
    jackknife = _of_left_out(statistic, want, values, programs, number, layout) if want.jackknife else None
    evidence = Evidence(
        statistic=statistic, estimate=estimate, n=layout.n_units, standard_error=first.standard_error, **parts
    )
    posteriors = _posteriors(statistic, want, number, programs, evidence, found, layout)
    levels = tuple(_levels(number, programs, evidence, nested[one]) for one in want.nestings)
    return evidence, Variants(first, jackknife, leveraged, posteriors, levels, want.priors, want.nestings)


def _posteriors(
    statistic: Statistic,
    want: Wanted,
    number: int,
    programs: Program,
    evidence: Evidence,
    found: Replicated,
    layout: Layout,
) -> tuple[BootstrapDistribution, ...]:
    """Posteriors of all data sets under each prior: known ones of shares, others drawn and unsorted."""
    if want.priors and layout.plain and has_beta_law(statistic):
        return tuple(BetaLaw(evidence.count, evidence.nobs, prior.mass) for prior in want.priors)
    prepared = prepared_of(programs, number)
    return tuple(drawn_laws(statistic, prepared, cores, evidence.estimate) for cores in found.posteriors[number])


def _levels(number: int, programs: Program, evidence: Evidence, nested: Nested) -> Drawn:
    """Levels (R, B1) of all data sets, unsorted, one data set after another."""
    law, estimate = evidence.distribution, evidence.estimate

    def one(given: tuple[Program, jax.Array, jax.Array]) -> jax.Array:
        program, estimate, slack = given
        return placed(alone(program, number), nested, estimate[None], slack[None]).levels[0]

    slack = tie_width(law.replicates if isinstance(law, Drawn) else estimate[:, None], estimate)
    return Drawn(jax.lax.map(one, (programs, estimate, slack)))


def _values(statistic: Statistic, sample: Sample, programs: Program, number: int) -> Any:
    """Averaged values of rows, or the sorted ones (R, n) of an order statistic or a variance; None for others."""
    if isinstance(statistic, SecondMoment):
        return jnp.sort(sample.values, axis=-1)
    if isinstance(statistic, MeanStatistic):
        return jax.vmap(statistic.row_values)(sample).astype(np.float64)
    if isinstance(statistic, OrderStatistic):
        return prepared_of(programs, number).values
    return None


def _cluster_sums(statistic: Statistic, sample: Sample, programs: Program, number: int, layout: Layout) -> ClusterSums:
    """Return sums (R, G) of a mean, or successes and trials of a share, by clusters."""
    if isinstance(statistic, MeanStatistic):
        values = jax.vmap(statistic.row_values)(sample).astype(np.float64)
        totals = jax.vmap(lambda one: layout.sum_rows(one[:, None], layout.n_units)[:, 0])(values)
        rows = layout.sum_rows(np.ones((layout.n, 1)), layout.n_units)[:, 0]
        return ClusterSums(totals, jnp.broadcast_to(rows, totals.shape))
    assert isinstance(statistic, TableStatistic)
    cells = prepared_of(programs, number)  # a traced table holds every cell
    of_cell = counted_in_table(statistic, shape=cells.cells.shape).reshape(2, -1)
    successes, trials = jnp.moveaxis(jnp.matmul(cells.members, of_cell.T), -1, 0)
    return ClusterSums(successes, trials)


def _shares(statistic: TableStatistic, programs: Program, number: int, layout: Layout) -> Shares:
    """Return the proportions (R, K) that a statistic averages, of independent rows that tell as much as clusters."""
    found = jax.vmap(lambda program: statistic.shares(table_of(program, number)))(programs)
    shares: Shares = jax.tree.map(lambda x: x.astype(float), found)
    if layout.units is None:
        return shares
    cells = prepared_of(programs, number)
    sums = jax.vmap(lambda cells: shares_of_units(statistic, cells.cells, cells.members))(cells)
    return shares_in_clusters(shares, ClusterSums(*(x.astype(float) for x in sums)), shares.trials)


def _first_order(
    statistic: Statistic, want: Wanted, values: Any, programs: Program, number: int, layout: Layout
) -> tuple[Any, FirstOrder, Any]:
    """Estimates (R,) with their first-order terms, NaN where there are no derivatives.

    At last standard errors (R,) that allow for clusters of unequal size, None where not wanted.
    """
    if values is not None and isinstance(statistic, MeanStatistic):
        root = statistic.link == "sqrt"
        estimate, first = of_mean(values, root)
        slopes = values / (unit(2 * estimate)[:, None] if root else 1.0) / layout.n
        return estimate, _wanted(want, first, slopes, layout), first.standard_error
    if not statistic.smooth:
        estimate = jax.vmap(lambda program: program.value(number, program.multiplicity))(programs)
        unknown = jnp.full_like(estimate, jnp.nan)
        return estimate, _wanted(want, FirstOrder(unknown, unknown), None, layout), unknown
    estimate, slopes = jax.vmap(lambda program: program.slope(number))(programs)
    first = first_order(slopes, programs.multiplicity)
    if layout.units is None or not want.leverage:
        return estimate, _wanted(want, first, slopes, layout), first.standard_error
    slopes = slopes * layout.leverage(layout.n_units)
    leveraged = first_order(slopes, programs.multiplicity).standard_error
    return estimate, _wanted(want, first, slopes, layout), leveraged


def _wanted(want: Wanted, first: FirstOrder, slopes: Any, layout: Layout) -> FirstOrder:
    """Return what is read of first-order terms, with the contributions (R, n) whose ``slopes`` (R, n) are given."""
    added = contributions(slopes) if "influence" in want.needs and slopes is not None else None
    return FirstOrder(first.standard_error, first.acceleration if want.influence else None, added)


def _of_left_out(
    statistic: Statistic, want: Wanted, values: Any, programs: Program, number: int, layout: Layout
) -> FirstOrder:
    """First-order terms from leave-one-out values: of sums, or a bank of weights like any other."""
    if values is not None and isinstance(statistic, OrderStatistic):
        found = statistic.left_out(values)
        return FirstOrder(jackknife_error(*found), jackknife_acceleration(*found))
    n = layout.n_units
    bank = Bank.of(1.0 - jnp.eye(n), counts=layout.plain)
    if isinstance(statistic, LinearStatistic):
        left_out = jax.vmap(lambda program: program.core_without(number, jnp.arange(n)[:, None]))(programs)
    elif reads_bank(statistic, layout):
        left_out = cores_by_order(programs, number, bank)
    else:
        shared = {number: read([statistic], [Rows(layout.units)], bank)[0]}
        (left_out,) = jax.lax.map(lambda program: program.cores(shared, (number,)), programs)
    scaled = jax.vmap(lambda prepared, core: statistic.scaling(prepared)(core))(prepared_of(programs, number), left_out)
    once = np.ones(n)
    added = contributions_left_out(scaled) if "influence" in want.needs else None
    return FirstOrder(jackknife_error(scaled, once), jackknife_acceleration(scaled, once), added)


def _trials(statistic: TableStatistic, programs: Program, number: int) -> Any:
    return jax.vmap(lambda program: statistic.successes(table_of(program, number)))(programs)


def _gaps(statistic: Calibration, program: Program, number: int, layout: Layout) -> Gaps | ClusterGaps | None:
    if layout.units is not None:
        return statistic.gaps_of_clusters(prepared_of(program, number).design.astype(float))
    return statistic.gaps(prepared_of(program, number).sums(program.multiplicity).astype(float))
