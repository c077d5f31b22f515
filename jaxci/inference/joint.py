"""One statistic of several models on the same resamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxci.inference.dependence import block_length, influence
from jaxci.inference.drawing import PURPOSE_UNITS, host_replicates
from jaxci.inference.program import Program, RowReader
from jaxci.inference.randomness import Randomness
from jaxci.inference.replicate import replicate
from jaxci.inference.request import Entry, Request, unit_program
from jaxci.inference.settings import Settings
from jaxci.records import record
from jaxci.resampling.schemes import make_scheme
from jaxci.statistics.base import LinearStatistic, Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Bank

TOGETHER = {True: 64, False: 8}
"""Models that are evaluated in one program: where sums over rows are all they need, and else."""
BUDGET = 2**28
"""Bytes that resamples may use by default where sums are all: products of few resamples by many models are slow."""


@record
class Stacked:
    """Programs of one shape, of as many models, under the same resamples: a leading axis over models.

    Attributes
    ----------
    program : Program
        The first.
    every : Program
        All, arrays stacked.
    """

    program: Program
    every: Program

    @classmethod
    def of(cls, programs: Sequence[Program]) -> Stacked:
        """Stack programs."""
        return cls(programs[0], jax.tree.map(lambda *arrays: np.stack(arrays), *programs))

    @property
    def whole(self) -> Any:
        """The weights (U,) of the data."""
        return self.program.whole

    def of_rows(self, rows: jax.Array, *, errors: bool) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Return values, none of the standard errors, and whether a class is absent, (M, B), under ``rows`` (B, U)."""
        bank = Bank.of(rows)
        values, absent = jax.vmap(lambda one: (one.values(bank), one.absent(bank)))(self.every)
        return values[:, 0], None, absent[:, 0]


def longest_block(statistic: Statistic, samples: Sequence[Sample], layout: Layout, settings: Settings) -> float:
    """Return the length of blocks that all models are resampled with: the longest that any of them needs."""
    if settings.block_length is not None:
        return settings.block_length
    with jax.enable_x64(True):
        entries = [Entry.of(Request("", statistic), RowReader(one, layout, exchangeable=False)) for one in samples]
        series = [influence(entry, one, layout) for entry, one in zip(entries, samples, strict=True)]
    return max(block_length(one, settings.resampling) for one in series)


def joint_replicates(
    statistic: Statistic,
    samples: Sequence[Sample],
    layout: Layout | Sequence[Layout],
    settings: Settings,
    rng: Randomness,
    length: float = 1.0,
) -> np.ndarray:
    """Return replicates (m, B) of a statistic of m models; every resample takes the same units for all.

    ``samples`` hold the same rows with the predictions of each model. Rows keep their order, so that a unit of the
    bank is the same row for every model. Several ``layout`` of the same units differ in what their rows weigh.
    ``length`` is that of blocks of rows, where these are drawn.
    """
    layouts = [layout] * len(samples) if isinstance(layout, Layout) else list(layout)
    scheme = make_scheme(layouts[0], settings.resampling, settings.resample_size, length)
    with jax.enable_x64(True):
        entries = [
            Entry.of(Request("", statistic), RowReader(one, of, exchangeable=False))
            for one, of in zip(samples, layouts, strict=True)
        ]
        if entries[0].on_host:
            both = zip(entries, layouts, strict=True)
            return np.stack([host_replicates(entry, of, scheme, settings, rng) for entry, of in both])
        programs = [unit_program([one], of, exchangeable=False) for one, of in zip(entries, layouts, strict=True)]
        found = np.empty((len(entries), settings.n_resamples))
        linear = isinstance(statistic, LinearStatistic)
        size, limit = TOGETHER[linear], settings.memory_limit or (BUDGET if linear else None)
        for members in _alike(programs):
            for some in (members[start : start + size] for start in range(0, len(members), size)):
                found[some] = replicate(
                    Stacked.of([programs[number] for number in some]),
                    scheme,
                    rng.key,
                    settings.n_resamples,
                    purpose=PURPOSE_UNITS,
                    memory_limit=limit,
                ).values
    return found


def _alike(programs: Sequence[Program]) -> list[list[int]]:
    """Group the numbers of programs that have one shape."""
    groups: dict[Any, list[int]] = {}
    for number, program in enumerate(programs):
        leaves, form = jax.tree.flatten(program)
        groups.setdefault((form, tuple((np.shape(x), np.asarray(x).dtype) for x in leaves)), []).append(number)
    return list(groups.values())
