"""Bootstrap distributions of batches of data sets: computed laws, and replicates that were drawn."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.inference.slopes import FirstOrder
from jaxci.intervals.base import Evidence, Method, Nesting, Prior
from jaxci.records import record, static
from jaxci.resampling.count_ratio import CountRatioLaw
from jaxci.resampling.exact_mean import mean_distributions
from jaxci.resampling.exact_ratio import RatioLaw
from jaxci.resampling.kernels import sorted_rows
from jaxci.resampling.laws import BootstrapDistribution, Drawn, Root
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.special import namespace
from jaxci.statistics.base import (
    MomentStatistic,
    Statistic,
    TableStatistic,
    has_fixed_trials,
    terms_in_table,
)
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.summary import MeanStatistic

NOISE = 1e-6
"""Cores of sums in single precision closer to the estimate's than this are equal to it."""


@record
class Variants:
    """Evidence that depends on the settings of a method.

    What derivatives tell, what leave-one-out values do, and standard errors (R,) that allow for clusters of unequal
    size, None where not wanted, a posterior for each of ``priors`` and levels for each of ``nestings``.
    """

    influence: FirstOrder
    jackknife: FirstOrder | None
    leveraged: Any
    posteriors: tuple[BootstrapDistribution, ...]
    levels: tuple[Drawn, ...]
    priors: tuple[Prior, ...] = static()
    nestings: tuple[Nesting, ...] = static()

    def given_to(self, method: Method, evidence: Evidence) -> Evidence:
        """Return the evidence with what the method asks for."""
        by_jackknife = method.by_jackknife or not evidence.statistic.smooth
        posterior = None if method.prior is None else self.posteriors[self.priors.index(method.prior)]
        levels = None if method.nesting is None else self.levels[self.nestings.index(method.nesting)]
        jackknife = self.jackknife or FirstOrder(evidence.standard_error)
        error = self.leveraged if method.by_leverage else evidence.standard_error
        if method.by_jackknife and "standard_error" in method.needs:
            error = jackknife.standard_error
        return dataclasses.replace(
            evidence,
            standard_error=error,
            acceleration=(jackknife if by_jackknife else self.influence).acceleration,
            influence=(jackknife if method.by_jackknife else self.influence).contributions,
            posterior=posterior,
            levels=levels,
        )


def prepared_of(programs: Program, number: int) -> Any:
    """Return the prepared data of statistic ``number``."""
    return programs.sources[programs.where[number][0]]


def table_of(program: Program, number: int) -> Any:
    """Return the table of statistic ``number`` of one data set."""
    prepared = prepared_of(program, number)
    return prepared.without_rows().table(prepared.sums(program.multiplicity))


def exact_laws(
    statistic: Statistic, values: Any, parts: dict[str, Any], programs: Program, number: int, layout: Layout
) -> BootstrapDistribution:
    """Exact bootstrap distributions of a mean, a share of all rows or a ratio of counts."""
    if has_fixed_trials(statistic):
        return BinomialLaw(parts["count"], parts["nobs"])
    if isinstance(statistic, TableStatistic):
        if not statistic.is_count_ratio:
            return _ratio_law(statistic, programs, number)
        counted: Any = jax.vmap(lambda program: statistic.count_ratio(table_of(program, number)))(programs)
        return CountRatioLaw.of(counted.hits, counted.misses, layout.n, odds=counted.odds, undefined=counted.undefined)
    assert isinstance(statistic, MeanStatistic)
    law = mean_distributions(values)
    return Root(law) if statistic.link == "sqrt" else law


def _ratio_law(statistic: TableStatistic, programs: Program, number: int) -> RatioLaw:
    """Exact bootstrap distributions of a ratio of sums over independent rows of a table."""
    cells = prepared_of(programs, number)
    totals, sizes = terms_in_table(statistic, shape=cells.shape).reshape(2, -1)[:, cells.codes]
    below = jnp.sum(sizes, axis=-1)
    centre = jnp.sum(totals, axis=-1) / jnp.where(below > 0, below, jnp.nan)
    return RatioLaw(totals - centre[:, None] * sizes, sizes, centre, jnp.asarray(statistic.undefined))


def drawn_laws(statistic: Statistic, prepared: Any, cores: jax.Array, estimate: jax.Array) -> Drawn:
    """Replicates (R, B), unsorted, as differences of their cores from the estimate's, which the last column holds."""
    scaling = jax.vmap(statistic.scaling)(prepared)
    known, noise = cores[:, -1:], NOISE * jnp.ones((), cores.dtype)
    if isinstance(statistic, OrderStatistic) and statistic.quantiles:
        # XLA lays values that were gathered out by column on a CPU, unless they are read once
        known = ((estimate - scaling.offset) / scaling.scale)[:, None].astype(cores.dtype)
        noise = 8 * jnp.finfo(cores.dtype).eps * jnp.abs(known)  # a value far out makes all differences small
    apart = cores[:, :-1] - known
    if isinstance(statistic, MomentStatistic | OrderStatistic):
        apart = jnp.where(jnp.abs(apart) <= noise, 0.0, apart)
    root = scaling.root
    return Drawn(apart, estimate**2 if root else estimate, jnp.broadcast_to(scaling.scale, estimate.shape), root)


def with_sorted_rows(evidence: Evidence, variants: Variants) -> tuple[Evidence, Variants]:
    """Return the evidence with all that was drawn sorted."""
    evidence = dataclasses.replace(
        evidence, distribution=_with_sorted(evidence.distribution), pivots=_with_sorted(evidence.pivots)
    )
    posteriors, levels = (tuple(map(_with_sorted, laws)) for laws in (variants.posteriors, variants.levels))
    return evidence, dataclasses.replace(variants, posteriors=posteriors, levels=levels)


def _with_sorted(law: Any) -> Any:
    return dataclasses.replace(law, ordered=_sorted(law.ordered)) if isinstance(law, Drawn) else law


def _sorted(rows: Any) -> Any:
    return sorted_rows(rows) if namespace(rows) is np else jnp.sort(rows, axis=-1)
