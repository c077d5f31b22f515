"""Replicates of one data set for all that is asked of it: which road, which scheme, and who shares a bank."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.dependence import block_length, dependence, influence
from jaxci.inference.iterated import levels
from jaxci.inference.posterior import draws_posterior, posterior_in_blocks, posterior_of
from jaxci.inference.randomness import Randomness
from jaxci.inference.replicate import Replicates, Resampled, replicate, tie_width
from jaxci.inference.request import Entry, by_shared_table, by_table, programs, table_program, unit_program
from jaxci.inference.runs import in_runs
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Nesting
from jaxci.resampling.bank import CellBootstrap, Scheme
from jaxci.resampling.schemes import make_scheme
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample

PURPOSE_UNITS, PURPOSE_CELLS, PURPOSE_POSTERIOR = 0, 1, 2

STEEP = (
    "rows follow each other so closely that their variance in the long run is hardly known: 95% intervals of such "
    "series covered 81% to 93% in simulations; rows further apart tell more"
)
WORST = "of what changes slowly or in spells"
"""What intervals of blocks cover least: a slow state below noise looks like independent rows to any estimate."""
HARDLY_ANY = 3
"""Below so many blocks nothing is known of what intervals cover."""
FEW_BLOCKS = {20: "6% to 100%", 60: "46% to 97%", 200: "71% to 95%"}
FEW_BLOCKS_STRETCHED = {20: "62% to 100%", 60: "72% to 100%", 200: "80% to 96%"}
FEW_BLOCKS_OF_SHARES = {20: "64% to 98%", 60: "64% to 100%", 200: "86% to 96%"}
"""What 95% intervals covered in simulations of fewer blocks than these: percentiles, and methods that allow for them
with resamples and without.

Blocks of estimated length count as n^(1/3) rows at least: estimates are too short just where intervals cover least.
"""

FEW_BATCHES, COVERED_OF_BATCHES = 60, "76% to 100%"
"""The same of calibration errors, of blocks that are taken for clusters."""

CELL_COST, DRAW_COST, PRODUCT_COST, PROGRAM_COST = 110.0, 8.0, 0.3, 3e8
"""Nanoseconds a cell, a draw, a multiply-add and compiling the sampler of cells cost: they choose the road."""


def check_bank(entry: Entry, settings: Settings) -> None:
    """Refuse numbers of resamples too small for the level."""
    assert entry.method is not None
    sizes = {"n_resamples": settings.n_resamples}
    if entry.method.nesting is not None:
        sizes |= {f"n_{name}": size for name, size in entry.method.nesting._asdict().items()}
    for name, size in sizes.items():
        settings.check_bank(name, size)


def fill_replicates(
    entries: Sequence[Entry], sample: Sample, layout: Layout, settings: Settings, rng: Randomness
) -> None:
    """Draw one bank for every entry whose method reads replicates, and one for those that read a posterior."""
    drawing = [entry for entry in entries if entry.draws]
    posteriors = [entry for entry in entries if draws_posterior(entry, layout)]
    for entry in (*drawing, *posteriors):
        check_bank(entry, settings)
    if settings.in_blocks:
        for entry in posteriors:
            blocks = make_scheme(layout, settings.resampling, settings.resample_size, entry.block_length)
            _draw([entry], *posterior_in_blocks(entry, sample, layout, blocks), PURPOSE_POSTERIOR, settings, rng)
    else:
        for posterior, weights, members in posterior_of(posteriors, sample, layout):
            _draw(members, posterior, weights, PURPOSE_POSTERIOR, settings, rng)
    if not drawing:
        return
    tables = [entry for entry in drawing if _by_cells(entry, layout, settings)]
    hosted = [entry for entry in drawing if entry.on_host]
    rest = [entry for entry in drawing if entry not in tables and entry not in hosted]
    for group in by_shared_table(tables):
        program, cells = table_program(group, layout)
        _draw(group, program, cells, PURPOSE_CELLS, settings, rng)
    if settings.plain:
        runs = [(entry, in_runs(entry, sample, layout)) for entry in rest]
        for entry, found in runs:
            if found is not None:
                observed = CellBootstrap(found.program.multiplicity[None])
                _draw([entry], found.program, observed, PURPOSE_CELLS, settings, rng)
        rest = [entry for entry, found in runs if found is None]
    for scheme, members in _by_scheme(rest, layout, settings):
        program = unit_program(members, layout, exchangeable=not settings.in_blocks)
        _draw(members, program, scheme, PURPOSE_UNITS, settings, rng)
    for scheme, members in _by_scheme(hosted, layout, settings):
        for entry in members:
            entry.replicates = host_replicates(entry, layout, scheme, settings, rng)


def settle_blocks(entries: Sequence[Entry], sample: Sample, layout: Layout, settings: Settings) -> None:
    """Find the lengths of blocks, of each statistic's own where none is given, and how rows depend on each other."""
    if not settings.in_blocks:
        return
    for entry in entries:
        assert entry.method is not None
        if "gaps" in entry.needs:
            _settle_batches(entry, layout, settings)
            continue
        estimated = settings.block_length is None
        reads_dependence = "dependence" in entry.needs
        series = influence(entry, sample, layout) if estimated or reads_dependence else np.zeros(0)
        length = settings.block_length or block_length(series, settings.resampling)
        if reads_dependence:
            one_end = sum(np.isfinite(entry.statistic.bounds)) == 1
            entry.dependence = dependence(series, length, settings.resampling, one_end=one_end)
            entry.remarks += [STEEP] if entry.dependence.steep else []
            entry.reason += f"; design effect {entry.dependence.effect:.3g}" if "replicates" not in entry.needs else ""
        if entry.method.reads_resamples:
            entry.block_length = length
            mean = " on average" if settings.resampling == "stationary" else ""
            entry.reason += f"; blocks of {length:.4g} rows{mean}{', estimated' if estimated else ''}"
        least = max(length, float(np.cbrt(layout.n))) if estimated else length
        if entry.method.reads_resamples and layout.n < HARDLY_ANY * least:
            entry.remarks.append(
                f"{layout.n} rows are {layout.n / least:.2g} blocks of {least:.3g}: so few do not tell how blocks "
                "vary, and the interval covers less than it says; shorter blocks or more rows help"
            )
            continue
        if entry.dependence is not None and entry.dependence.steep:  # what such series cover is said already
            continue
        told = FEW_BLOCKS_STRETCHED if entry.method.reads_resamples else FEW_BLOCKS_OF_SHARES
        for few, covered in (told if reads_dependence else FEW_BLOCKS).items():
            if layout.n < few * least:
                worst = "of spreads and of tails" if reads_dependence else "for areas and shares near 1"
                advice = "more rows help" if reads_dependence else "method='auto' allows for it, and more rows help"
                entry.remarks.append(
                    f"{layout.n} rows are {layout.n / least:.0f} blocks of {least:.3g}: 95% intervals of fewer "
                    f"than {few} blocks covered {covered} in simulations, least {WORST}, and {worst}; {advice}"
                )
                break


def _settle_batches(entry: Entry, layout: Layout, settings: Settings) -> None:
    """Find the length of blocks of rows that are taken for clusters."""
    length = math.ceil(settings.block_length or min(round(2 * math.cbrt(layout.n)), layout.n // 2))
    entry.block_length, blocks = float(length), math.ceil(layout.n / length)
    entry.reason += f"; {blocks} blocks of {length} rows for clusters"
    if blocks < FEW_BATCHES:
        entry.remarks.append(
            f"{layout.n} rows are {blocks} blocks of {length}: 95% intervals of calibration errors of fewer than "
            f"{FEW_BATCHES} blocks covered {COVERED_OF_BATCHES} in simulations, least where a class is rare"
        )


def _by_scheme(entries: Sequence[Entry], layout: Layout, settings: Settings) -> list[tuple[Scheme, list[Entry]]]:
    """Group entries by the scheme they read."""
    groups: dict[float, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.block_length, []).append(entry)
    made = {length: make_scheme(layout, settings.resampling, settings.resample_size, length) for length in groups}
    return [(made[length], members) for length, members in groups.items()]


def _by_cells(entry: Entry, layout: Layout, settings: Settings) -> bool:
    """Decide whether a statistic resamples its table or reads the bank of units, whatever else is asked for."""
    if not (settings.plain and by_table(entry, layout)):
        return False
    if layout.counts is not None:
        return True
    width = entry.prepared.size
    by_cells = CELL_COST * width * layout.n_strata * settings.n_resamples + PROGRAM_COST
    return by_cells < (PRODUCT_COST * width + DRAW_COST) * layout.n * settings.n_resamples


def _draw(
    entries: Sequence[Entry],
    program: Resampled,
    scheme: Scheme,
    purpose: int,
    settings: Settings,
    rng: Randomness,
) -> None:
    errors = any("pivots" in entry.needs for entry in entries)
    found: Replicates = replicate(
        program,
        scheme,
        rng.key,
        settings.n_resamples,
        purpose=purpose,
        errors=errors,
        memory_limit=settings.memory_limit,
        progress=settings.progress,
    )
    for position, entry in enumerate(entries):
        if math.isnan(entry.estimate):
            entry.estimate = float(found.estimates[position])
        entry.replicates = found.values[position]
        entry.errors = None if found.errors is None else found.errors[position]
        entry.absent = int(found.absent[position].sum())


def fill_levels(entries: Sequence[Entry], layout: Layout, settings: Settings, rng: Randomness) -> None:
    """Fill in the levels of entries whose method reads resamples of resamples; those of one size share them."""
    sizes: dict[Nesting, list[Entry]] = {}
    for entry in entries:
        assert entry.method is not None
        if entry.method.nesting is not None:
            sizes.setdefault(entry.method.nesting, []).append(entry)
    for nesting, sharing in sizes.items():
        for program, members in programs(sharing, layout):
            estimates = np.array([entry.estimate for entry in members])
            slack = tie_width(np.stack([entry.replicates for entry in members]), estimates)  # type: ignore[misc]
            found = levels(program, layout.n_units, nesting, rng.key, estimates, slack, settings.memory_limit)
            for entry, one in zip(members, found, strict=True):
                entry.levels = one


def host_replicates(entry: Entry, layout: Layout, scheme: Scheme, settings: Settings, rng: Randomness) -> np.ndarray:
    """Evaluate a host function on every resample, drawing counts in chunks."""
    key = jax.random.fold_in(rng.key, PURPOSE_UNITS)
    block = max(1, min(settings.n_resamples, 2**20 // scheme.n_units) // scheme.block) * scheme.block
    draw = jax.jit(lambda start: scheme.counts(key, start + jnp.arange(block, dtype=jnp.int32)))
    found: list[float] = []
    for start in range(0, settings.n_resamples, block):
        units = np.asarray(draw(jnp.int32(start)))
        rows = units[:, : layout.n] if layout.units is None else units[:, layout.units]
        for weights in rows[: settings.n_resamples - start]:
            found.append(float(entry.statistic.value(entry.prepared, weights)))
        if settings.progress is not None:
            settings.progress(len(found), settings.n_resamples)
    return np.array(found)
