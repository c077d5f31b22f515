"""From statistics and validated data to interval results: replicate, prepare, interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from jaxci.inference.choice import choose
from jaxci.inference.cut_losses import cut_remarks
from jaxci.inference.design import DesignEffect, design_effect
from jaxci.inference.drawing import fill_levels, fill_replicates, settle_blocks
from jaxci.inference.ends import has_width, is_endless, within_range
from jaxci.inference.evidence import error_or_zero, gather, rounding, standard_error
from jaxci.inference.held import few_programs_at_times
from jaxci.inference.known_laws import row_values_of
from jaxci.inference.left_out import check_derivatives, deciding_remark
from jaxci.inference.program import RowReader
from jaxci.inference.randomness import Randomness
from jaxci.inference.remarks import (
    calibration_remarks,
    convention_remarks,
    missing_kind_remarks,
    pivots_in_strata,
    size_remarks,
)
from jaxci.inference.request import Entry, Request, by_table, programs
from jaxci.inference.runs import n_drawn
from jaxci.inference.settings import Settings
from jaxci.inference.shares import count_trials
from jaxci.inference.slopes import FirstOrder, contributions, effective_units, first_order, of_mean
from jaxci.inference.slopes import estimates as program_estimates
from jaxci.inference.slopes import slopes as program_slopes
from jaxci.inference.table_laws import law_of_table
from jaxci.intervals.base import Bounds, Evidence, Method
from jaxci.intervals.blocks import BlockBayesian, BlockT, BlockWilson
from jaxci.intervals.bootstrap import Percentile
from jaxci.intervals.calibration import BlockGaps
from jaxci.intervals.capabilities import has_exact_law, is_debiased_calibration, knows_mistakes
from jaxci.intervals.pvalues import UNDEFINED, PValue
from jaxci.intervals.quantile import OrderStatistic
from jaxci.intervals.registry import applicable_methods, difference_by_name, method_by_name
from jaxci.intervals.woodruff import Woodruff
from jaxci.printing import ConfidenceInterval
from jaxci.resampling.schemes import BLOCKS
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import QuantileStatistic
from jaxci.statistics.paired import Paired
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean


def intervals(
    requests: Sequence[Request], sample: Sample, layout: Layout, settings: Settings, rng: Randomness
) -> list[IntervalResult]:
    """Compute one interval a request; those that read resamples of one kind share them."""
    few_programs_at_times()
    with jax.enable_x64(True):
        reader = RowReader(sample, layout, exchangeable=not settings.in_blocks)
        entries = [Entry.of(request, reader) for request in requests]
        for entry in entries:
            _settle_method(entry, sample, layout, settings)
            _settle_source(entry, layout, settings)
        settle_blocks(entries, sample, layout, settings)
        fill_replicates(entries, sample, layout, settings, rng)
        count_trials(entries, layout)
        _estimate(entries, sample, layout)
        fill_levels(entries, layout, settings, rng)
        effect = design_effect([entry.statistic for entry in entries], sample, layout)
        return [finish(entry, sample, layout, settings, rng, effect)[0] for entry in entries]


class Comparison(NamedTuple):
    """The interval of a difference, the statistic of both models, and the p-value of no difference."""

    difference: IntervalResult
    estimates: tuple[float, float]
    pvalue: PValue


def comparison(request: Request, sample: Sample, layout: Layout, settings: Settings, rng: Randomness) -> Comparison:
    """Compute the interval of a paired statistic, with the test that goes with it."""
    assert isinstance(request.statistic, Paired)
    assert sample.other is not None
    few_programs_at_times()
    with jax.enable_x64(True):
        reader, of_one = RowReader(sample, layout, exchangeable=not settings.in_blocks), request.statistic.statistic
        entry = Entry.of(request, reader)
        (a,), (b,) = (_estimates([of_one], one, layout) for one in (reader, RowReader(sample.other, layout)))
        if not is_mean(request.statistic):  # the mean of differences has fewer rounding errors
            entry.estimate = a - b
        entry.scale = float(np.nanmax([abs(a), abs(b), 0]))
        entry.remarks += convention_remarks(of_one, request.name, sample, layout)
        _settle_method(entry, sample, layout, settings)
        _settle_source(entry, layout, settings)
        settle_blocks([entry], sample, layout, settings)
        fill_replicates([entry], sample, layout, settings, rng)
        if entry.replicates is not None:  # the same on both sides is no difference, whatever the order of its sums
            alike = np.abs(entry.replicates) <= rounding(entry.scale, *of_one.bounds)
            entry.replicates = np.where(alike, 0.0, entry.replicates)
        _estimate([entry], sample, layout)
        if abs(entry.estimate) <= rounding(entry.scale, *of_one.bounds):
            entry.estimate = 0.0
        fill_levels([entry], layout, settings, rng)
        effect = design_effect([of_one], sample, layout)
        result, evidence = finish(entry, sample, layout, settings, rng, effect)
        assert entry.method is not None
        pvalue = PValue(math.nan, UNDEFINED)
        if evidence is not None:
            pvalue = entry.method.pvalue(evidence, result.standard_error, settings.alternative)
    return Comparison(result, (a, b), pvalue)


def estimates_of(statistics: Sequence[Statistic], sample: Sample, layout: Layout) -> list[float]:
    """Return the values of statistics on the data."""
    with jax.enable_x64(True):
        return _estimates(statistics, RowReader(sample, layout), layout)


def _estimates(statistics: Sequence[Statistic], reader: RowReader, layout: Layout) -> list[float]:
    entries = [Entry.of(Request("", statistic), reader) for statistic in statistics]
    for entry in entries:
        entry.method = Percentile()
    _estimate(entries, reader.sample, layout)
    return [entry.estimate for entry in entries]


def _estimate(entries: Sequence[Entry], sample: Sample, layout: Layout) -> None:
    """Fill in the estimates that no bank has given, and derivatives where a method reads them."""
    for entry in entries:
        statistic = entry.statistic
        if entry.on_host:
            entry.estimate = float(statistic.value(entry.prepared, np.ones(layout.n)))  # type: ignore[arg-type]
        elif isinstance(statistic, MeanStatistic) and _is_plain_mean(entry, layout):
            found, first = of_mean(row_values_of(statistic, sample), statistic.link == "sqrt")
            if math.isnan(entry.estimate):
                entry.estimate = float(found)
            _settle_slopes(entry, first, layout)
    devices = [entry for entry in entries if not entry.on_host and not _is_plain_mean(entry, layout)]
    derived = [entry.needs_slopes or entry.counts_effective_units(layout) for entry in devices]
    differentiated = list(itertools.compress(devices, derived))
    plain = [one for one, told in zip(devices, derived, strict=True) if not told and math.isnan(one.estimate)]
    for program, members in programs(differentiated, layout):
        values, slopes = (np.asarray(x) for x in program_slopes(program))
        multiplicity = np.asarray(program.multiplicity)
        first = first_order(slopes, multiplicity)
        for position, entry in enumerate(members):
            if math.isnan(entry.estimate):
                entry.estimate = float(values[position])
            check_derivatives(entry, layout, slopes[position])
            entry.effective_units = float(effective_units(slopes[position], multiplicity))
            error, own = first.standard_error[position], slopes[position]
            if layout.units is not None and entry.method is not None and entry.method.by_leverage:
                own = own * layout.leverage(len(multiplicity))
                error = first_order(own, multiplicity).standard_error
            if entry.method is not None and "influence" in entry.needs:
                entry.contributions = contributions(np.repeat(own, multiplicity.astype(int)))
            _settle_slopes(entry, FirstOrder(error, first.acceleration[position]), layout)
    for program, members in programs(plain, layout):
        for entry, value in zip(members, np.asarray(program_estimates(program)), strict=True):
            entry.estimate = float(value)


def _is_plain_mean(entry: Entry, layout: Layout) -> bool:
    return layout.plain and layout.counts is None and isinstance(entry.statistic, MeanStatistic)


def _settle_slopes(entry: Entry, first: FirstOrder, layout: Layout) -> None:
    entry.standard_error = error_or_zero(float(first.standard_error), entry, layout)
    entry.acceleration = float(first.acceleration) if entry.standard_error > 0 else math.nan


def _without_rows_alike(statistic: Statistic, layout: Layout, settings: Settings) -> Method:
    """Return the method for resamples that are not those of independent rows."""
    if not settings.in_blocks:
        return Percentile()
    if is_debiased_calibration(statistic):
        return BlockGaps()
    wilson = BlockWilson()
    if not (wilson.refusal(statistic) or wilson.unusable(layout.given)):
        return wilson
    return BlockBayesian() if knows_mistakes(statistic) else BlockT()


def _settle_method(entry: Entry, sample: Sample, layout: Layout, settings: Settings) -> None:
    """Choose the method or check the one asked for."""
    request, statistic = entry.request, entry.statistic
    entry.remarks += cut_remarks(statistic, sample, layout)
    if request.method == "auto":
        for option in request.options:
            raise TypeError(f"{request.name} has no option {option!r}, and method 'auto' has none")
        if settings.plain:
            choice = choose(statistic, layout, settings.n_resamples, settings.tails, sample)
            entry.method, entry.reason, entry.standing = choice.method, choice.reason, choice.standing
            entry.remarks += [] if choice.remark is None else [choice.remark]
        else:
            entry.method = _without_rows_alike(statistic, layout, settings)
            entry.reason = f"asked for {settings.resampling} resampling"
        values = row_values_of(statistic, sample) if isinstance(statistic, MeanStatistic) else None
        judged = entry.standing is not None
        entry.remarks += size_remarks(statistic, sample, layout, values, entry.method, judged=judged)
        return
    method = method_by_name(request.method, request.options)
    if isinstance(request.method, str) and not settings.exact and "n_resamples" not in request.options:
        method = method.with_resamples(settings.n_resamples)
    entry.method = method
    refusal = method.refusal_of_data(statistic, layout.given & method.takes)
    if refusal is not None:
        names = ", ".join(method.name for method in _serving(statistic, layout))
        raise ValueError(f"method {method.name!r} cannot serve {request.name!r}: {refusal}. Methods that can: {names}")
    if method.requires_blocks and not settings.in_blocks:
        raise ValueError(
            f"resampling must be {', '.join(map(repr, BLOCKS))} for method {method.name!r}, which is for rows in the "
            f"order of time; got {settings.resampling!r}"
        )
    if not (settings.plain or method.requires_blocks) and "replicates" not in method.needs:
        raise ValueError(
            f"method {method.name!r} reads no resamples, so it cannot go with {settings.scheme}; "
            f"{_others(statistic, layout, settings)}"
        )
    if settings.in_blocks and method.reads_formulas:
        raise ValueError(
            f"method {method.name!r} takes rows for independent, so it cannot go with {settings.scheme}; "
            f"{_others(statistic, layout, settings)}"
        )
    if not settings.plain and method.nesting is not None:
        raise ValueError(
            f"method {method.name!r} resamples n of n units twice, so it cannot go with {settings.scheme}; "
            f"{_others(statistic, layout, settings)}"
        )
    if by_rows := _needed_rows(entry, sample, layout):
        serving: tuple[str, ...] = COUNTED_METHODS
        if isinstance(statistic, QuantileStatistic):
            serving = (OrderStatistic.name if layout.row_weights is None else Woodruff.name,)
        raise ValueError(
            f"method {method.name!r} reads {by_rows} of {request.name!r}, for which {layout.n:,} rows that are only "
            f"counted are too many; use {' or '.join(map(repr, serving))}, or method='auto'"
        )
    if method.requires_groups and layout.units is None:
        raise ValueError(f"groups must be given for method {method.name!r}, which is for rows in clusters; got None")
    refused = method.unusable(layout.given)
    if refused:
        alike = "" if "sample_weight" in method.takes else " of equal weight"
        why = "" if "groups" in method.takes else f" assumes independent rows{alike} and"
        why = " with these settings" if refused <= method.takes else why
        raise ValueError(
            f"method {method.name!r}{why} cannot use {' and '.join(sorted(refused))}; "
            f"{_others(statistic, layout, settings)}"
        )


def _serving(statistic: Statistic, layout: Layout, blocks: bool = False) -> list[Method]:
    """Return the methods that serve a statistic of rows of the layout, whether or not they use all that is given."""
    by_name = difference_by_name if isinstance(statistic, Paired) else method_by_name
    names = applicable_methods(statistic, groups=layout.units is not None, blocks=blocks)
    methods = map(by_name, names)
    return [one for one in methods if one.refusal_of_data(statistic, layout.given & one.takes) is None]


def _others(statistic: Statistic, layout: Layout, settings: Settings) -> str:
    """Say which methods go with the layout and the resampling that another cannot go with."""
    kept = [one for one in _serving(statistic, layout, settings.in_blocks) if not one.unusable(layout.given)]
    if not settings.plain:
        kept = [
            method
            for method in kept
            if method.requires_blocks or ("replicates" in method.needs and method.nesting is None)
        ]
    if settings.in_blocks:
        kept = [method for method in kept if not method.reads_formulas]
    return f"use method='auto', or one that can: {', '.join(method.name for method in kept)}"


PATIENCE = 20.0
"""How much more than what takes about a second a law that was asked for by name may cost."""
COUNTED_METHODS = ("delong_logit", "exact", "delta")
"""Methods for rows that are only counted, but for those of quantiles."""


def _needed_rows(entry: Entry, sample: Sample, layout: Layout) -> str:
    """Say what a method reads of rows of which there are only counts; empty where these do."""
    assert entry.method is not None
    if layout.counts is None or layout.units is not None or by_table(entry, layout):
        return ""
    if entry.by_jackknife:
        return "leave-one-out values"
    if isinstance(entry.statistic, QuantileStatistic):
        return "" if entry.method.reads_counts else "more than two order statistics"
    if (
        entry.method.reads_resamples
        and entry.method.nesting is None
        and n_drawn(entry.statistic, sample, layout) < layout.n
    ):
        return ""
    found = entry.method.needs - {"standard_error", "acceleration", "law", "auc", "gaps", "places"}
    return "resamples" if entry.method.reads_resamples else ", ".join(sorted(found))


def _settle_source(entry: Entry, layout: Layout, settings: Settings) -> None:
    """Decide whether a bootstrap method reads the exact law instead of replicates."""
    method = entry.method
    assert method is not None
    reads_law = settings.exact and settings.plain and method.reads_law
    asked = "law" in method.needs
    known = has_exact_law(entry.statistic, layout.given)
    entry.law = law_of_table(entry, layout) if reads_law or asked else None
    entry.exact = reads_law and (entry.law is not None or known)
    if asked and entry.law is None and not known:
        entry.law = law_of_table(entry, layout, PATIENCE)
    if asked and entry.law is None and not known:
        raise ValueError(
            f"method {method.name!r} knows no bootstrap law of {entry.request.name!r} of these data, or it would take "
            "more than about a minute; use 'percentile' or 'bca', which draw resamples"
        )


def undefined(name: str, task: str) -> str:
    """Say that a statistic has no value on the data."""
    why = " (a class may be absent)" if task in ("binary", "multiclass") else ""
    return f"{name} is undefined on these data{why}; there is no interval"


WITHOUT_WIDTH = "taken by simulations of data like these, which tell nothing of an interval without width"
"""Reason of a method that stands on the cards, where its interval has no width."""


class Answer(NamedTuple):
    """Bounds with all that a reader should know of them, the standard error beside them, and the evidence, if any."""

    bounds: Bounds
    remarks: tuple[str, ...]
    standard_error: float = math.nan
    evidence: Evidence | None = None


def _answer(entry: Entry, sample: Sample, layout: Layout, settings: Settings, rng: Randomness) -> Answer:
    method, ends = entry.method, entry.statistic.bounds
    assert method is not None
    if math.isnan(entry.estimate):
        return Answer(Bounds(math.nan, math.nan), (undefined(entry.request.name, entry.statistic.task),))
    trials = entry.trials
    if trials is not None and trials.nobs == 0:
        name = entry.request.name
        remark = f"{name} is a share of no rows at all (0/0): the estimate is a convention, and could be anything"
        return Answer(Bounds(*ends), (*entry.remarks, remark))
    evidence = gather(entry, sample, layout, rng)
    found, remarks = method.interval(evidence, settings.tails)
    seen = [] if entry.replicates is None else _bank_remarks(entry, settings)
    if is_endless(entry, found):
        remark = f"{entry.request.name} is infinite on these data (as where it divides by 0); there is no interval"
        return Answer(Bounds(math.nan, math.nan), (*entry.remarks, remark, *seen))
    found, remarks = within_range(found, remarks, *ends, method.name)
    few = deciding_remark(entry, layout, settings.n_resamples)
    seen += [] if few is None else [few]
    seen += pivots_in_strata(layout, method)
    if entry.standing is None:
        seen += calibration_remarks(entry.statistic, method, in_blocks=settings.in_blocks)
    beyond = entry.estimate in ends and found.low < found.high  # it rests on what was not seen
    if not (math.isnan(found.low) or beyond):
        seen += missing_kind_remarks(entry.statistic, layout, method, plain=settings.plain)
    return Answer(found, (*entry.remarks, *remarks, *seen), standard_error(entry, evidence), evidence)


def finish(
    entry: Entry, sample: Sample, layout: Layout, settings: Settings, rng: Randomness, effect: DesignEffect
) -> tuple[IntervalResult, Evidence | None]:
    """Compute bounds, and say what a reader should know."""
    assert entry.method is not None
    answer = _answer(entry, sample, layout, settings, rng)
    remarks = [entry.statistic.remark] if isinstance(entry.statistic, HostFunction) else []
    drawn = entry.replicates is not None
    standing, reason = entry.standing, entry.reason
    if standing is not None and not has_width(answer.bounds, *entry.statistic.bounds):
        standing, reason = None, WITHOUT_WIDTH
    result = IntervalResult(
        statistic=entry.request.name,
        estimate=entry.estimate,
        confidence_interval=ConfidenceInterval(*answer.bounds),
        standard_error=answer.standard_error,
        method=entry.method,
        reason=reason,
        simulated_coverage=math.nan if standing is None else standing.typical,
        simulated_worst=math.nan if standing is None else standing.worst,
        confidence_level=settings.confidence_level,
        alternative=settings.alternative,
        n=layout.n_units,
        n_rows=0 if layout.units is None else layout.n,
        n_resamples=settings.n_resamples if drawn else entry.method.own_resamples,
        bootstrap_distribution=entry.replicates,
        rng=rng.record if drawn or "uniform" in entry.method.needs else None,
        warnings=tuple(dict.fromkeys([*remarks, *answer.remarks])),
        design_effect=effect.value,
        design_effect_of=effect.of,
        error_bound=_error_bound(entry, answer.evidence),
    )
    return result, answer.evidence


def _error_bound(entry: Entry, evidence: Evidence | None) -> float:
    """Return the error of ends that are read from an exact law; NaN where there is none."""
    law = None if evidence is None else evidence.distribution if entry.exact else evidence.law
    return math.nan if law is None else float(np.squeeze(law.error))


def _bank_remarks(entry: Entry, settings: Settings) -> list[str]:
    """Say in how many resamples the statistic was undefined, or a class absent."""
    assert entry.replicates is not None
    undefined_in = int(np.isnan(entry.replicates).sum())
    if undefined_in == settings.n_resamples:
        return [f"the statistic was undefined in all of {settings.n_resamples} resamples; there is no interval"]
    remarks = []
    if undefined_in:
        remarks.append(
            f"the statistic was undefined in {undefined_in} of {settings.n_resamples} resamples "
            f"({100 * undefined_in / settings.n_resamples:.3g}%); the interval is read from the others"
        )
    if infinite := int(np.isinf(entry.replicates).sum()):
        remarks.append(f"the statistic was infinite in {infinite} of {settings.n_resamples} resamples")
    if entry.absent > undefined_in and entry.statistic.absent_class is not None:
        remarks.append(
            f"a class was absent from {entry.absent} of {settings.n_resamples} resamples; "
            "see absent_class for what they count as"
        )
    return remarks
