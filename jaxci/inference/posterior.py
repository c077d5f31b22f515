"""Posteriors of one data set: weights of its units, and of units that were not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.program import Program
from jaxci.inference.request import Entry, by_shared_table, by_table, table_program, unit_program
from jaxci.inference.runs import in_runs
from jaxci.intervals.base import Prior
from jaxci.intervals.capabilities import has_beta_law
from jaxci.records import record, static
from jaxci.resampling.bank import Scheme
from jaxci.resampling.laws import BootstrapDistribution, Drawn
from jaxci.resampling.posterior import GammaTables, PosteriorOfBlocks, PosteriorWeights, WeightsWithinStrata
from jaxci.resampling.share_laws import BetaLaw
from jaxci.special import namespace
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import PseudoUnits, Sample, Together, UnitSizes
from jaxci.statistics.sums import Bank

FARTHER, SURE = 2.25, 1.2815515655446004
"""How many times the deviation of clusters, at most with a probability of 90% (a normal quantile), the rows of one that
was not seen go along. Twice that of 20 clusters or more is too little where these are alike by .3; of a few it tells
too little for any fixed number of times.
"""


@record
class Posterior:
    """A program whose resamples are rows of weights of its units and, after them, of pseudo-units.

    Attributes
    ----------
    program : Program
    sizes : UnitSizes
    reach : (S, 2) array
        The same, of every statistic.
    ends : tuple of int
        Where the pseudo-units of each statistic end.
    together : Together or None
        How the rows of a cluster that was not seen go along, of units that are clusters.
    """

    program: Program
    sizes: UnitSizes
    reach: Any
    ends: tuple[int, ...] = static()
    together: Together | None = None

    @property
    def whole(self) -> np.ndarray:
        """The weights of the data: pseudo-units have none."""
        return np.concatenate([self.program.multiplicity, np.zeros(self.ends[-1])])

    def of_rows(self, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Return the values (S, B) under ``rows``; no errors, and no class is ever absent."""
        program, units = self.program, len(self.program.multiplicity)
        unseen, shared = rows[:, units:].T, program.shared(Bank.of(rows[:, :units]))
        found = []
        for number, (start, end) in enumerate(zip((0, *self.ends[:-1]), self.ends, strict=True)):
            joined = PseudoUnits(unseen[start:end], self.sizes, jnp.asarray(self.reach)[number], self.together)
            statistic, source = program.statistics[number], program.sources[program.where[number][0]]
            found.append(statistic.scaling(source)(program.posterior_cores(shared, joined, [number])[0]))
        values = jnp.stack(found)
        return values, None, jnp.zeros(values.shape, bool)


def posterior_of(
    entries: Sequence[Entry], sample: Sample, layout: Layout
) -> Iterator[tuple[Posterior, PosteriorWeights, list[Entry]]]:
    """Yield the posteriors of ``entries`` with their weights: of tables by cells, and of ranks by runs, where few."""
    tables = [
        entry for entry in entries if by_table(entry, layout) and entry.prepared.size * layout.n_strata < layout.n
    ]
    rest = []
    for entry in entries:
        if entry in tables:
            continue
        runs = in_runs(entry, sample, layout)
        if runs is None:
            rest.append(entry)
            continue
        posterior, masses = _joined(runs.program, [entry], runs.sample, runs.layout)
        yield posterior, posterior_weights(posterior.program, masses, tabulated=True), [entry]
    for group in by_shared_table(tables):
        posterior, masses = _joined(table_program(group, layout)[0], group, sample, layout)
        yield posterior, posterior_weights(posterior.program, masses, tabulated=True), group
    if rest:
        posterior, masses = _joined(unit_program(rest, layout), rest, sample, layout)
        yield posterior, posterior_weights(posterior.program, masses, tabulated=False), rest


def posterior_weights(program: Program, masses: Sequence[tuple[float, ...]], *, tabulated: bool) -> PosteriorWeights:
    """Return the weights of the units of a program and of pseudo-units of the ``masses`` of each statistic.

    Units stand for one observation or none unless they are ``tabulated``.
    """
    held = np.asarray(program.multiplicity)
    if program.strata is not None:
        return PosteriorWeights.of(held, masses, WeightsWithinStrata.of(held, program.strata, program.n_strata))
    return PosteriorWeights.of(held, masses, GammaTables.of(held) if tabulated else None)


def posterior_in_blocks(
    entry: Entry, sample: Sample, layout: Layout, blocks: Scheme
) -> tuple[Posterior, PosteriorOfBlocks]:
    """Return the posterior of rows that are drawn in blocks, and its weights.

    A row that was not seen stands for as many as count as one.
    """
    assert entry.dependence is not None
    program = unit_program([entry], layout, exchangeable=False)
    posterior, (masses,) = _joined(program, [entry], sample, layout, alike=max(1.0, entry.dependence.effect))
    return posterior, PosteriorOfBlocks(blocks, GammaTables.of(masses))


def _joined(
    program: Program, entries: Sequence[Entry], sample: Sample, layout: Layout, alike: float = 1.0
) -> tuple[Posterior, list[tuple[float, ...]]]:
    """Return the posterior of ``entries`` whose units are ``alike`` as many times, and the masses of each."""
    priors = [_prior(entry) for entry in entries]
    masses = [prior.masses(entry.statistic, sample.n_classes) for entry, prior in zip(entries, priors, strict=True)]
    reach = np.array([(prior.reach, prior.bounded_reach) for prior in priors])
    ends = tuple(int(end) for end in np.cumsum([len(one) for one in masses]))
    held = jax.tree.map(lambda size: alike * size, sizes(sample, layout))
    return Posterior(program, held, reach, ends, going_along(sample, layout)), masses


def _prior(entry: Entry) -> Prior:
    assert entry.method is not None
    assert entry.method.prior is not None
    return entry.method.prior


def sizes(sample: Sample, layout: Layout) -> UnitSizes:
    """Return how many rows (or how much of their weight) a unit that was not seen holds.

    A cluster holds as many as clusters do on average, of a class as those that have any. A row weighs an effective row,
    ``sum w^2 / sum w``: where weights differ errors are rarer than rows. Host arrays, or traced ones.
    """
    n_classes = max(1, sample.n_classes)
    if layout.rows_are_units:
        return UnitSizes(np.float64(1.0), np.ones(n_classes), np.ones(n_classes))
    codes = np.zeros(layout.n, np.int64) if sample.n_classes == 0 else sample.y_true
    held = layout.count_codes(codes, n_classes, layout.n_units)
    xp = namespace(held)
    rest = held.sum(axis=1, keepdims=True) - held
    if layout.units is None:
        whole = (held**2).sum() / held.sum()
        of_units = [((x**2).sum(axis=0), x.sum(axis=0)) for x in (held, rest)]
        own, others = (np.where(y > 0, x / np.where(y > 0, y, 1.0), whole) for x, y in of_units)
        return UnitSizes(whole, own, others, own)
    mean = held.sum() / (held > 0).any(axis=1).sum()
    of_units = [(x.sum(axis=0), (x > 0).sum(axis=0)) for x in (held, rest)]
    return UnitSizes(mean, *(xp.where(y > 0, x / xp.maximum(y, 1), mean) for x, y in of_units))


def going_along(sample: Sample, layout: Layout) -> Together | None:
    """Return how the rows of a cluster that was not seen go along, by how they do in those that were; None of rows.

    None, too, of rows in clusters that have weights: a few heavy ones tell too little of it.

    Of a class with the error rate e let the ``n_c`` rows of a cluster hold ``x_c`` errors: the deviation of what it
    contributes, ``(x_c - n_c e) / m`` with the mean size m, over that of a row, ``sqrt(e (1 - e))``, is 1 where the
    rows of each cluster are alike, and one over the root of m where they have nothing in common. Of few clusters it is
    hardly known: at most ``sqrt(v / chi^2)`` times as much with 90%, by the lower tenth of the law of chi^2 of v
    degrees of freedom (as Wilson and Hilferty approximate it), one less than clusters of one size that would tell as
    much. The share is :data:`FARTHER` times that, at most 1, and 1 where no row is wrong, or all are. Host arrays, or
    traced ones.
    """
    if layout.units is None or layout.row_weights is not None:
        return None
    size = max(1, sample.n_classes)
    if sample.n_classes == 0 or sample.y_pred is None:
        return Together(np.float64(1.0), np.ones(size), np.ones(size))
    xp, units = namespace(sample.y_pred), layout.n_units
    true, wrong = sample.y_true, sample.y_true != sample.y_pred

    def counted(codes: Any) -> Any:
        return layout.count_codes(xp.where(wrong, codes, size), size + 1, units)[:, :size]

    held = layout.count_codes(true, size, units)
    whole, errors = held.sum(axis=1, keepdims=True), counted(true)
    return Together(
        _alike(whole, errors.sum(axis=1, keepdims=True))[0],
        _alike(held, errors),
        _alike(whole - held, counted(sample.y_pred)),
    )


def _alike(held: Any, errors: Any) -> Any:
    """Return the share (K,) from the numbers (U, K) of rows and of errors."""
    xp = namespace(held)
    total, units = held.sum(axis=0), (held > 0).sum(axis=0)
    share = errors.sum(axis=0) / xp.where(total > 0, total, 1.0)
    mean = total / xp.maximum(units, 1)
    between = ((errors - held * share) ** 2).sum(axis=0) / xp.maximum(units - 1, 1)
    known = (share > 0) & (share < 1) & (units > 1)
    found = between / xp.where(known, mean**2 * share * (1 - share), 1.0)
    least = 1.0 / xp.maximum(mean, 1.0)
    ninths = 2.0 / 9.0 / xp.maximum(total**2 / xp.where(total > 0, (held**2).sum(axis=0), 1.0) - 1.0, 0.1)
    certain = xp.maximum(1 - ninths - SURE * xp.sqrt(ninths), 0.01) ** 3
    return xp.where(known, xp.minimum(FARTHER * xp.sqrt(xp.maximum(found, least) / certain), 1.0), 1.0)


def draws_posterior(entry: Entry, layout: Layout) -> bool:
    """Whether a method reads a posterior that must be drawn: that of a share of independent rows is known."""
    known = layout.plain and entry.dependence is None and has_beta_law(entry.statistic)
    return "posterior" in entry.needs and not known


def posterior_law(entry: Entry, layout: Layout) -> BootstrapDistribution:
    """Return the posterior of one data set, known or drawn."""
    assert entry.method is not None
    assert entry.method.prior is not None
    if draws_posterior(entry, layout):
        assert entry.replicates is not None
        return Drawn.of(entry.replicates[None])
    assert entry.trials is not None
    return BetaLaw(np.array([entry.trials.successes]), np.array([entry.trials.nobs]), entry.method.prior.mass)
