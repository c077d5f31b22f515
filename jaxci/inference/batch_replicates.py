"""What the resamples of a bank make of many data sets at once, of one size and layout. Everything here is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxci.inference.batch_posteriors import Unseen, posterior_cores
from jaxci.inference.program import Program, distinct, of_batch, read
from jaxci.inference.wanted import Wanted
from jaxci.records import record, static
from jaxci.resampling.kernels import mapped
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank


@record
class Replicated:
    """What resamples make of a batch of data sets: arrays (R, B + 1) whose last column is of the data themselves.

    Attributes
    ----------
    cores : dict of int to array
        Cores of the statistics that read a bank, by number.
    errors : dict of int to array
        Their standard errors at every resample, where wanted.
    posteriors : list of lists of arrays
        Cores of every statistic under the weights of each of its priors.
    """

    cores: Any
    errors: Any
    posteriors: Any

    @classmethod
    def joined(cls, pieces: Sequence[Replicated]) -> Replicated:
        """Return the replicates of all resamples from those of some at a time, in their order."""
        return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), *pieces)


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


def programs_of(statistics: Sequence[Statistic], sample: Sample, layout: Layout) -> Program:
    """Return the programs of a batch of data sets (R, n, ...)."""
    return jax.vmap(lambda one: of_batch(statistics, one, layout))(sample)


def replicates_of(
    statistics: Sequence[Statistic],
    wanted: Sequence[Wanted],
    sample: Sample,
    programs: Program,
    shared: Sequence[Any],
    bank: Bank | None,
    unseen: Sequence[Unseen | None],
    layout: Layout,
) -> Replicated:
    """Return what the resamples of a bank, or some of them, make of a batch of data sets.

    Parameters
    ----------
    statistics, wanted : sequences of length S
    sample : Sample
        Arrays (R, n, ...).
    programs : Program
        :func:`programs_of` them.
    shared : sequence
        :meth:`~jaxci.statistics.base.Statistic.shared` of every statistic that reads a bank, None for others. The last
        row of the bank is all ones.
    bank : Bank or None
        The bank itself, for standard errors of replicates.
    unseen : sequence
        Of every statistic whose posterior is drawn, None for others.
    layout : Layout
        Of the rows of every data set.
    """
    cores = _cores(statistics, programs, shared, layout)
    errors = {}
    for number in (i for i in cores if "pivots" in wanted[i].needs):
        assert bank is not None
        errors[number] = jax.lax.map(lambda program, i=number: program.errors(bank, [i])[0], programs)
    posteriors = posterior_cores(statistics, [want.priors for want in wanted], sample, programs, unseen, layout)
    return Replicated(cores, errors, posteriors)


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
    walking = tuple(i for i in drawn if i not in sorting and statistics[i].walks)
    apart = tuple(i for i in drawn if i not in (*sorting, *together, *walking))
    found: dict[int, jax.Array] = {i: cores_by_order(programs, i, shared[i]) for i in sorting}
    if together:
        found.update(zip(together, jax.vmap(lambda program: program.cores(shared, together))(programs), strict=True))
    if walking:
        found.update(zip(walking, mapped(lambda program: program.cores(shared, walking), programs), strict=True))
    if apart:
        found.update(zip(apart, jax.lax.map(lambda program: program.cores(shared, apart), programs), strict=True))
    return found


def cores_by_order(programs: Program, number: int, bank: Bank) -> jax.Array:
    """Cores (R, B) of a statistic on every resample, of which every data set reads what suits the order of its rows."""

    def one(program: Program) -> jax.Array:
        rows = program.rows[program.where[number][1]]
        return program.cores({number: read([program.statistics[number]], [rows], bank)[0]}, (number,))[0]

    return jax.lax.map(one, programs)
