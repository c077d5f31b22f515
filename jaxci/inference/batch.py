"""Evidence of many data sets at once: all of one size and layout, and reading one bank of resamples.

Everything here is traced: a batch comes as a :class:`~jaxci.statistics.sample.Sample` whose arrays have a leading axis,
and leaves as :class:`~jaxci.intervals.base.Evidence` with the same axis. Replicates leave unsorted
(:func:`with_sorted_rows` is the next stage), so that a CPU may sort them on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.batch_laws import Variants, drawn_laws, exact_laws, prepared_of, table_of
from jaxci.inference.batch_posteriors import Unseen, posterior_cores
from jaxci.inference.curvature import curvatures
from jaxci.inference.iterated import Nested, placed
from jaxci.inference.program import Program, Rows, alone, distinct, of_batch, read
from jaxci.inference.replicate import tie_width
from jaxci.inference.slopes import FirstOrder, first_order, jackknife_acceleration, jackknife_error, of_mean
from jaxci.intervals.auc import AucEvidence
from jaxci.intervals.base import Evidence, Method, Nesting, Prior
from jaxci.intervals.capabilities import has_beta_law, is_debiased_calibration
from jaxci.intervals.clusters import ClusterSums
from jaxci.records import record, static
from jaxci.resampling.exact_order import QuantileWeights, RankWeights, quantile_weights
from jaxci.resampling.laws import BootstrapDistribution, Drawn
from jaxci.resampling.share_laws import BetaLaw
from jaxci.statistics.base import LinearStatistic, Statistic, TableStatistic, counted_in_table
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import Gaps, RootMeanSquaredCalibrationError
from jaxci.statistics.ranking import placement_variances
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, OrderStatistic, QuantileStatistic, SecondMoment
from jaxci.statistics.sums import Bank

FLAT = 1e-12
"""Errors of a replicate below this share of the estimate's count as zero."""


class Wanted(NamedTuple):
    """What the methods of one statistic read; hashable, so that it is static under ``jit``."""

    needs: frozenset[str]
    influence: bool
    jackknife: bool
    priors: tuple[Prior, ...] = ()
    nestings: tuple[Nesting, ...] = ()
    leverage: bool = False

    @classmethod
    def by(cls, methods: Iterable[Method], statistic: Statistic) -> Wanted:
        """Return what ``methods`` read of ``statistic``, together."""
        methods = list(methods)
        needs: frozenset[str] = frozenset().union(*(method.needs for method in methods))
        left_out = [method.by_jackknife or not statistic.smooth for method in methods if "acceleration" in method.needs]
        errors = any(method.by_jackknife for method in methods if "standard_error" in method.needs)
        priors = dict.fromkeys(method.prior for method in methods if method.prior is not None)
        nestings = dict.fromkeys(method.nesting for method in methods if method.nesting is not None)
        leverage = any(method.by_leverage for method in methods)
        jackknife = any(left_out) or errors
        return cls(needs, not all(left_out), jackknife, tuple(priors), tuple(nestings), leverage)

    def replicates_of(self, statistic: Statistic, layout: Layout) -> bool:
        """Whether a bank is read: a quantile that is one order statistic has a law over ranks instead."""
        return bool(self.needs & {"replicates", "pivots"}) and not is_order_statistic(statistic, layout)

    def ranks_of(self, statistic: Statistic, layout: Layout) -> QuantileWeights | RankWeights | None:
        """Return the law of a quantile over the ranks of independent values, where it is read (host)."""
        law = "law" in self.needs or ("replicates" in self.needs and is_order_statistic(statistic, layout))
        if not (law and isinstance(statistic, QuantileStatistic)):
            return None
        weights = quantile_weights(layout.n, statistic.probability)
        return weights.of_rank(layout.n) if weights.is_rank else weights


def is_order_statistic(statistic: Statistic, layout: Layout) -> bool:
    """Whether the statistic of independent values, and of every resample, is one of them in ascending order (host)."""
    if not (layout.plain and isinstance(statistic, QuantileStatistic)):
        return False
    return quantile_weights(layout.n, statistic.probability).is_rank


@record
class Reads:
    """What statistics read of a bank whatever the data: each array once, so that programs see what is the same.

    Attributes
    ----------
    arrays : tuple of arrays
    tree : PyTreeDef
        Of one read for each statistic (None where it reads nothing), and of the bank (None where no method asks).
    places : tuple of int
        Place among ``arrays`` of each leaf of the tree.
    """

    arrays: Any
    tree: Any = static()
    places: tuple[int, ...] = static()

    @classmethod
    def of(cls, shared: Sequence[Any], bank: Bank | None) -> Reads:
        """Keep every array once."""
        leaves, tree = jax.tree.flatten((tuple(shared), bank))
        arrays, places = distinct(leaves)
        return cls(tuple(arrays), tree, tuple(places))

    def given(self) -> tuple[tuple[Any, ...], Bank | None]:
        """Return what each statistic reads, and the bank."""
        return jax.tree.unflatten(self.tree, [self.arrays[place] for place in self.places])


def batch_evidence(
    statistics: Sequence[Statistic],
    wanted: Sequence[Wanted],
    sample: Sample,
    shared: Sequence[Any],
    ranks: Sequence[QuantileWeights | RankWeights | None],
    bank: Bank | None,
    uniform: Any,
    unseen: Sequence[Unseen | None],
    nested: Mapping[Nesting, Nested],
    layout: Layout,
) -> list[tuple[Evidence, Variants]]:
    """Return the evidence of every statistic for a batch of data sets.

    Parameters
    ----------
    statistics, wanted : sequences of length S
    sample : Sample
        Arrays (R, n, ...).
    shared : sequence
        :meth:`~jaxci.statistics.base.Statistic.shared` of every statistic that reads a bank, None for others. The last
        row of the bank is all ones.
    ranks : sequence
        :meth:`Wanted.ranks_of` for every statistic.
    bank : Bank or None
        The bank itself, for standard errors of replicates.
    uniform : (R,) or None
        Draws from (0, 1).
    unseen : sequence
        Of every statistic whose posterior is drawn, None for others.
    nested : mapping of Nesting to Nested
        Resamples of resamples of every size that some method reads.
    layout : Layout
        Of the rows of every data set.
    """
    programs = jax.vmap(lambda one: of_batch(statistics, one, layout))(sample)
    cores = _cores(statistics, programs, shared, layout)
    posteriors = posterior_cores(statistics, [want.priors for want in wanted], sample, programs, unseen, layout)
    return [
        _evidence(
            statistic,
            want,
            number,
            sample,
            programs,
            cores.get(number),
            ranks[number],
            bank,
            uniform,
            posteriors[number],
            nested,
            layout,
        )
        for number, (statistic, want) in enumerate(zip(statistics, wanted, strict=True))
    ]


def reads_bank(statistic: Statistic, layout: Layout) -> bool:
    """Whether a statistic reads the bank itself, as what it reads of it depends on the data."""
    return statistic.reads_sorted and not layout.plain


def _cores(
    statistics: Sequence[Statistic], programs: Program, shared: Sequence[Any], layout: Layout
) -> dict[int, jax.Array]:
    """Cores (R, B + 1) of the statistics that read a bank: for all data sets together, or for one after another."""
    drawn = [i for i, one in enumerate(shared) if one is not None]
    sorting = [i for i in drawn if reads_bank(statistics[i], layout)]
    together = tuple(i for i in drawn if i not in sorting and statistics[i].together)
    apart = tuple(i for i in drawn if i not in sorting and i not in together)
    found: dict[int, jax.Array] = {i: _cores_by_order(programs, i, shared[i]) for i in sorting}
    if together:
        found.update(zip(together, jax.vmap(lambda program: program.cores(shared, together))(programs), strict=True))
    if apart:
        found.update(zip(apart, jax.lax.map(lambda program: program.cores(shared, apart), programs), strict=True))
    return found


def _cores_by_order(programs: Program, number: int, bank: Bank) -> jax.Array:
    """Cores (R, B) of a statistic on every resample, of which every data set reads what suits the order of its rows."""

    def one(program: Program) -> jax.Array:
        rows = program.rows[program.where[number][1]]
        return program.cores({number: read([program.statistics[number]], [rows], bank)[0]}, (number,))[0]

    return jax.lax.map(one, programs)


def _evidence(
    statistic: Statistic,
    want: Wanted,
    number: int,
    sample: Sample,
    programs: Program,
    cores: jax.Array | None,
    ranks: QuantileWeights | RankWeights | None,
    bank: Bank | None,
    uniform: Any,
    drawn: Sequence[jax.Array],
    nested: Mapping[Nesting, Nested],
    layout: Layout,
) -> tuple[Evidence, Variants]:
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
    counting = {"count", "nobs", "law", *(["posterior"] if layout.plain and has_beta_law(statistic) else [])}
    if isinstance(statistic, TableStatistic) and statistic.is_proportion and want.needs & counting:
        parts["count"], parts["nobs"] = _trials(statistic, programs, number)
    if isinstance(statistic, TableStatistic) and "shares" in want.needs:
        found = jax.vmap(lambda program: statistic.shares(table_of(program, number)))(programs)
        parts["shares"] = jax.tree.map(lambda x: x.astype(float), found)
    if "auc" in want.needs:
        parts["auc"] = AucEvidence(*jax.vmap(placement_variances)(prepared_of(programs, number)))
    if "gaps" in want.needs:
        assert is_debiased_calibration(statistic)
        parts["gaps"] = jax.vmap(lambda program: _gaps(statistic, program, number))(programs)
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
        assert bank is not None
        errors = jax.lax.map(lambda program: program.errors(bank, [number])[0], programs)[:, :-1]
        known = errors > FLAT * first.standard_error[:, None]
        apart = parts["distribution"].mapped(parts["distribution"].ordered) - estimate[:, None]
        parts["pivots"] = Drawn(jnp.where(known, apart / jnp.where(known, errors, 1.0), jnp.nan))
    jackknife = _of_left_out(statistic, values, programs, number, layout) if want.jackknife else None
    evidence = Evidence(
        statistic=statistic, estimate=estimate, n=layout.n_units, standard_error=first.standard_error, **parts
    )
    posteriors = _posteriors(statistic, want, number, programs, evidence, drawn, layout)
    levels = tuple(_levels(statistic, number, programs, evidence, nested[one]) for one in want.nestings)
    influence = first.acceleration if want.influence else None
    return evidence, Variants(influence, jackknife, leveraged, posteriors, levels, want.priors, want.nestings)


def _posteriors(
    statistic: Statistic,
    want: Wanted,
    number: int,
    programs: Program,
    evidence: Evidence,
    drawn: Sequence[jax.Array],
    layout: Layout,
) -> tuple[BootstrapDistribution, ...]:
    """Posteriors of all data sets under each prior: known ones of shares, others ``drawn`` and unsorted."""
    if want.priors and layout.plain and has_beta_law(statistic):
        return tuple(BetaLaw(evidence.count, evidence.nobs, prior.mass) for prior in want.priors)
    prepared = prepared_of(programs, number)
    return tuple(drawn_laws(statistic, prepared, cores, evidence.estimate) for cores in drawn)


def _levels(statistic: Statistic, number: int, programs: Program, evidence: Evidence, nested: Nested) -> Drawn:
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


def _first_order(
    statistic: Statistic, want: Wanted, values: Any, programs: Program, number: int, layout: Layout
) -> tuple[Any, FirstOrder, Any]:
    """Estimates (R,) with their standard errors and accelerations, NaN where there are no derivatives.

    At last standard errors (R,) that allow for clusters of unequal size, None where not wanted.
    """
    if values is not None and isinstance(statistic, MeanStatistic):
        estimate, first = of_mean(values, statistic.link == "sqrt")
        return estimate, first, first.standard_error
    if not statistic.smooth:
        estimate = jax.vmap(lambda program: program.value(number, program.multiplicity))(programs)
        unknown = jnp.full_like(estimate, jnp.nan)
        return estimate, FirstOrder(unknown, unknown), unknown
    estimate, slopes = jax.vmap(lambda program: program.slope(number))(programs)
    first = first_order(slopes, programs.multiplicity)
    if layout.units is None or not want.leverage:
        return estimate, first, first.standard_error
    leverage = layout.leverage(layout.n_units)
    return estimate, first, first_order(slopes * leverage, programs.multiplicity).standard_error


def _of_left_out(statistic: Statistic, values: Any, programs: Program, number: int, layout: Layout) -> FirstOrder:
    """Errors and accelerations (R,) from leave-one-out values: of sums, or a bank of weights like any other."""
    if values is not None and isinstance(statistic, OrderStatistic):
        found = statistic.left_out(values)
        return FirstOrder(jackknife_error(*found), jackknife_acceleration(*found))
    n = layout.n_units
    bank = Bank.of(1.0 - jnp.eye(n), counts=layout.plain)
    if isinstance(statistic, LinearStatistic):
        left_out = jax.vmap(lambda program: program.core_without(number, jnp.arange(n)[:, None]))(programs)
    elif reads_bank(statistic, layout):
        left_out = _cores_by_order(programs, number, bank)
    else:
        shared = {number: read([statistic], [Rows(layout.units)], bank)[0]}
        (left_out,) = jax.lax.map(lambda program: program.cores(shared, (number,)), programs)
    scaled = jax.vmap(lambda prepared, core: statistic.scaling(prepared)(core))(prepared_of(programs, number), left_out)
    once = np.ones(n)
    return FirstOrder(jackknife_error(scaled, once), jackknife_acceleration(scaled, once))


def _trials(statistic: TableStatistic, programs: Program, number: int) -> Any:
    return jax.vmap(lambda program: statistic.successes(table_of(program, number)))(programs)


def _gaps(statistic: RootMeanSquaredCalibrationError, program: Program, number: int) -> Gaps:
    return statistic.gaps(prepared_of(program, number).sums(program.multiplicity).astype(float))
