"""From statistics and validated data to interval results: replicate, prepare, interval."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.choice import choose, size_remarks
from jaxci.api.methods import applicable_methods, method_by_name
from jaxci.api.randomness import Randomness
from jaxci.intervals.approximate import curvature
from jaxci.intervals.auc import auc_evidence
from jaxci.intervals.base import Bounds, Evidence, Method, Tails, tails
from jaxci.intervals.bootstrap import BCa, smallest_bank
from jaxci.intervals.exact import Exact
from jaxci.intervals.parametric import is_mean
from jaxci.intervals.proportion import is_proportion
from jaxci.resampling import engine
from jaxci.resampling.bank import Scheme
from jaxci.resampling.engine import Influence, Item, Layout, Program, Replicates
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.resampling.exact_order import quantile_distribution
from jaxci.resampling.jackknife import acceleration, deleted_values, mean_acceleration, quantile_left_out
from jaxci.resampling.proportion_law import ProportionDistribution
from jaxci.results import ConfidenceInterval, IntervalResult
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.custom import HOST_REMARK, HostFunction

PURPOSE_UNITS, PURPOSE_CELLS = 0, 1

CELL_COST, DRAW_COST, PRODUCT_COST, PROGRAM_COST = 110.0, 8.0, 0.3, 3e8
"""Nanoseconds a cell, a draw, a multiply-add and compiling the sampler of cells cost: they choose the road."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A statistic under the name it is reported by, and the interval method asked for."""

    name: str
    statistic: Statistic
    method: str | Method = "auto"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What holds for all statistics of one call."""

    confidence_level: float = 0.95
    alternative: str = "two-sided"
    n_resamples: int = 9999
    resampling: str = "bootstrap"
    resample_size: int | None = None
    memory_limit: int | None = None
    progress: Callable[[int, int], None] | None = None

    @property
    def tails(self) -> Tails:
        """Error probabilities of both sides."""
        return tails(self.confidence_level, self.alternative)

    @property
    def plain(self) -> bool:
        """Whether resampling is the ordinary bootstrap."""
        return self.resampling == "bootstrap" and self.resample_size is None


@dataclasses.dataclass
class _Entry:
    """Working state of one request."""

    request: Request
    item: Item
    estimate: float = math.nan
    standard_error: float = math.nan
    acceleration: float = math.nan
    method: Method | None = None
    reason: str = "asked for"
    replicates: np.ndarray | None = None
    errors: np.ndarray | None = None
    absent: int = 0
    remarks: list[str] = dataclasses.field(default_factory=list)

    @property
    def statistic(self) -> Statistic:
        return self.request.statistic

    @property
    def needs(self) -> frozenset[str]:
        assert self.method is not None
        needs = self.method.needs
        if isinstance(self.method, Exact) and self.method.endpoints == "bca":
            needs = needs | {"acceleration"}
        return needs

    @property
    def needs_slopes(self) -> bool:
        """Whether derivatives in the weights are wanted."""
        if "standard_error" in self.needs:
            return True
        if isinstance(self.method, Exact) or not self.statistic.smooth:
            return False
        return "acceleration" in self.needs and not _by_jackknife(self.method)


def _by_jackknife(method: Method | None) -> bool:
    return isinstance(method, BCa) and method.acceleration == "jackknife"


def intervals(
    requests: Sequence[Request], sample: Sample, layout: Layout, settings: Settings, rng: Randomness
) -> list[IntervalResult]:
    """Compute one interval a request, all from one bank of resamples."""
    with jax.enable_x64(True):
        order = _row_order(requests, sample)
        if order is not None:
            sample, layout = sample.take(order), layout.take(order)
        items = engine.prepare([request.statistic for request in requests], sample)
        entries = [_Entry(request, item) for request, item in zip(requests, items, strict=True)]
        for entry in entries:
            _settle_method(entry, sample, layout, settings)
        _replicate(entries, layout, settings, rng)
        _estimate(entries, sample, layout)
        return [_finish(entry, sample, layout, settings, rng) for entry in entries]


def _row_order(requests: Sequence[Request], sample: Sample) -> np.ndarray | None:
    """Order in which the first sorted statistic needs no gather per resample."""
    for request in requests:
        keys = request.statistic.sort_keys(sample)
        if keys is not None:
            return np.argsort(keys, kind="stable")
    return None


def _estimate(entries: Sequence[_Entry], sample: Sample, layout: Layout) -> None:
    """Fill in the estimates that no bank has given, and derivatives where a method reads them."""
    for entry in entries:
        if isinstance(entry.statistic, HostFunction):
            entry.estimate = entry.statistic.value(entry.item.prepared, np.ones(layout.n))
            entry.remarks.append(HOST_REMARK)
        elif layout.plain and hasattr(entry.statistic, "row_values") and math.isnan(entry.estimate):
            mean = float(np.mean(_row_values(entry.statistic, sample)))
            entry.estimate = math.sqrt(mean) if getattr(entry.statistic, "link", "") == "sqrt" else mean
    devices = [entry for entry in entries if not isinstance(entry.statistic, HostFunction)]
    differentiated = [entry for entry in devices if entry.needs_slopes]
    plain = [entry for entry in devices if not entry.needs_slopes and math.isnan(entry.estimate)]
    for group, slopes in ((differentiated, True), (plain, False)):
        for program, members in _programs(group, layout):
            if slopes:
                found: Influence = engine.influence(program)
                for position, entry in enumerate(members):
                    entry.standard_error = float(found.standard_errors[position])
                    entry.acceleration = float(found.accelerations[position])
                    entry.estimate = float(found.estimates[position])
            else:
                for entry, value in zip(members, engine.estimates(program), strict=True):
                    entry.estimate = float(value)


def _programs(entries: Sequence[_Entry], layout: Layout) -> list[tuple[Program, list[_Entry]]]:
    """Programs that evaluate ``entries`` without resampling: tables by their cells, the rest by units."""
    tables = [entry for entry in entries if by_table(entry, layout)]
    rest = [entry for entry in entries if not by_table(entry, layout)]
    found = [(engine.cell_program([e.item for e in group], layout), group) for group in _by_table(tables)]
    if rest:
        program = engine.unit_program([entry.item for entry in rest], layout, engine.make_scheme(layout))
        found.append((program, _program_order(rest, program)))
    return found


def by_table(entry: _Entry, layout: Layout) -> bool:
    """Whether counts per cell are all that the statistic needs of the data."""
    return engine.is_cells(entry.item.prepared) and layout.units is None and layout.row_weights is None


def _by_table(entries: Sequence[_Entry]) -> list[list[_Entry]]:
    """Group entries that share one table."""
    groups: dict[int, list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(id(entry.item.prepared), []).append(entry)
    return list(groups.values())


def _program_order(entries: Sequence[_Entry], program: Program) -> list[_Entry]:
    """Entries in the order in which a program lists its statistics: linear ones first."""
    if not program.general:
        return list(entries)
    general = {id(item.prepared) for item in program.general}
    linear = [entry for entry in entries if id(entry.item.prepared) not in general]
    return linear + [entry for entry in entries if id(entry.item.prepared) in general]


def _settle_method(entry: _Entry, sample: Sample, layout: Layout, settings: Settings) -> None:
    """Choose the method or check the one asked for."""
    request, statistic = entry.request, entry.statistic
    if request.method == "auto":
        if request.options:
            raise TypeError(
                f"options {', '.join(request.options)} belong to a method; name the method instead of 'auto'"
            )
        if settings.plain:
            entry.method, entry.reason = choose(statistic, layout, settings.n_resamples, settings.tails)
        else:
            entry.method, entry.reason = (
                method_by_name("percentile"),
                f"asked for {settings.resampling} resampling",
            )
        values = _row_values(statistic, sample) if is_mean(statistic) else None
        entry.remarks += size_remarks(statistic, sample, layout.n_units, values)
        return
    method = method_by_name(request.method, request.options)
    entry.method = method
    refusal = method.refusal(statistic)
    if refusal is not None:
        names = ", ".join(applicable_methods(statistic))
        raise ValueError(f"method {method.name!r} cannot serve {request.name!r}: {refusal}. Methods that can: {names}")
    if method.assumes_iid and not layout.plain:
        given = [
            name
            for name, present in (
                ("groups", layout.units is not None),
                ("strata", layout.strata is not None),
                ("sample_weight", layout.row_weights is not None),
            )
            if present
        ]
        raise ValueError(
            f"method {method.name!r} assumes independent rows of equal weight and cannot use {' and '.join(given)}; "
            "use 'percentile', 'bca' or 'delta', or method='auto'"
        )


def _row_values(statistic: Statistic, sample: Sample) -> np.ndarray:
    return np.asarray(statistic.row_values(sample))  # type: ignore[attr-defined]


def _check_bank(entry: _Entry, settings: Settings) -> None:
    least = smallest_bank(settings.tails)
    if settings.n_resamples < least:
        raise ValueError(
            f"n_resamples must be at least {least} for confidence_level = {settings.confidence_level:g} "
            f"({settings.alternative}); got {settings.n_resamples}"
        )


def _replicate(entries: Sequence[_Entry], layout: Layout, settings: Settings, rng: Randomness) -> None:
    """Draw one bank for every entry whose method reads replicates."""
    drawing = [entry for entry in entries if "replicates" in entry.needs]
    if not drawing:
        return
    for entry in drawing:
        _check_bank(entry, settings)
    scheme = engine.make_scheme(layout, settings.resampling, settings.resample_size)
    cells, rest = _split_cells(drawing, layout, settings, scheme)
    hosted = [entry for entry in rest if isinstance(entry.statistic, HostFunction)]
    rest = [entry for entry in rest if entry not in hosted]
    for group in _by_table(cells):
        program = engine.cell_program([entry.item for entry in group], layout)
        _draw(group, program, PURPOSE_CELLS, settings, rng)
    if rest:
        program = engine.unit_program([entry.item for entry in rest], layout, scheme)
        _draw(_program_order(rest, program), program, PURPOSE_UNITS, settings, rng)
    for entry in hosted:
        entry.replicates = host_replicates(entry, layout, scheme, settings, rng)


def _split_cells(
    entries: Sequence[_Entry], layout: Layout, settings: Settings, scheme: Scheme
) -> tuple[list[_Entry], list[_Entry]]:
    """Decide which statistics resample their table and which read the bank of units."""
    able = [entry for entry in entries if by_table(entry, layout) and settings.plain]
    if not able:
        return [], list(entries)
    rest = [entry for entry in entries if entry not in able]
    strata = 1 if layout.strata is None else int(layout.strata.max()) + 1
    width = sum(group[0].item.prepared.size for group in _by_table(able))
    by_cells = CELL_COST * width * strata * settings.n_resamples + PROGRAM_COST
    by_units = PRODUCT_COST * layout.n * width * settings.n_resamples
    if not rest:  # otherwise the bank of units is drawn anyway
        by_units += DRAW_COST * layout.n * settings.n_resamples
    return (able, rest) if by_cells < by_units else ([], list(entries))


def _draw(entries: Sequence[_Entry], program: Program, purpose: int, settings: Settings, rng: Randomness) -> None:
    errors = any("replicate_errors" in entry.needs for entry in entries)
    found: Replicates = engine.replicate(
        program,
        jax.random.fold_in(rng.key, purpose),
        settings.n_resamples,
        errors=errors,
        memory_limit=settings.memory_limit,
        progress=settings.progress,
    )
    for position, entry in enumerate(entries):
        entry.estimate = float(found.estimates[position])
        entry.replicates = found.values[position]
        entry.errors = None if found.errors is None else found.errors[position]
        entry.absent = int(found.absent[position].sum())


def host_replicates(entry: _Entry, layout: Layout, scheme: Scheme, settings: Settings, rng: Randomness) -> np.ndarray:
    """Evaluate a host function on every resample, drawing counts in chunks."""
    key = jax.random.fold_in(rng.key, PURPOSE_UNITS)
    block = max(1, min(settings.n_resamples, 2**20 // scheme.n_units) // scheme.block) * scheme.block
    draw = jax.jit(lambda start: scheme.counts(key, start + jnp.arange(block, dtype=jnp.int32)))
    found: list[float] = []
    for start in range(0, settings.n_resamples, block):
        units = np.asarray(draw(jnp.int32(start)))
        rows = units[:, : layout.n] if layout.units is None else units[:, layout.units]
        for weights in rows[: settings.n_resamples - start]:
            found.append(float(entry.statistic.value(entry.item.prepared, weights)))
        if settings.progress is not None:
            settings.progress(len(found), settings.n_resamples)
    return np.array(found)


def _acceleration(entry: _Entry, sample: Sample, layout: Layout) -> float:
    """BCa acceleration: from derivatives, or from leave-one-out values."""
    if entry.needs_slopes:
        return entry.acceleration
    if hasattr(entry.statistic, "row_values") and layout.plain and not _by_jackknife(entry.method):
        return mean_acceleration(_row_values(entry.statistic, sample))
    if isinstance(entry.statistic, HostFunction):
        ones = np.ones(layout.n)
        found: list[float] = []
        for unit in range(layout.n_units):
            weights = ones.copy()
            weights[unit if layout.units is None else layout.units == unit] = 0
            found.append(float(entry.statistic.value(entry.item.prepared, weights)))
        return acceleration(np.array(found), np.ones(len(found)))
    if layout.plain and entry.statistic.road == "order" and hasattr(entry.statistic, "q"):
        values_sorted = np.sort(_ordered_values(entry, sample))
        return acceleration(*quantile_left_out(values_sorted, float(entry.statistic.q)))
    ((program, _),) = _programs([entry], layout)
    multiplicity = np.asarray(program.multiplicity)
    units = np.flatnonzero(multiplicity > 0)
    return acceleration(deleted_values(program, 0, units[:, None]), multiplicity[units])


def _ordered_values(entry: _Entry, sample: Sample) -> np.ndarray:
    """Values whose order statistics the statistic reads (n,)."""
    return np.asarray(entry.statistic.prepare(sample).values)


def _evidence(entry: _Entry, sample: Sample, layout: Layout) -> Evidence:
    """Gather what the method needs."""
    statistic, needs = entry.statistic, entry.needs
    parts: dict[str, Any] = {}
    if is_proportion(statistic) and ({"count", "distribution"} & needs):
        parts["count"], parts["nobs"] = _successes(entry, layout)
    if "values" in needs:
        parts["values"] = (
            _row_values(statistic, sample) if hasattr(statistic, "row_values") else _ordered_values(entry, sample)
        )
    if "distribution" in needs:
        parts["distribution"] = _distribution(entry, sample, parts)
    if "auc" in needs:
        parts["auc"] = auc_evidence(sample.y_true, sample.y_score)
    if "curvature" in needs:
        ((program, _),) = _programs([entry], layout)
        parts["curvature"] = curvature(program, 0)
    if "acceleration" in needs:
        parts["acceleration"] = _acceleration(entry, sample, layout)
    return Evidence(
        statistic=statistic,
        estimate=entry.estimate,
        n=layout.n_units,
        standard_error=entry.standard_error,
        replicates=entry.replicates,
        replicate_errors=entry.errors,
        **parts,
    )


def _successes(entry: _Entry, layout: Layout) -> tuple[float, float]:
    prepared = entry.item.prepared
    counts = np.bincount(prepared.codes[: layout.n], minlength=prepared.size).astype(float)
    table = np.zeros(prepared.shape).reshape(-1)
    inside = prepared.cells < table.size
    table[prepared.cells[inside]] = counts[inside]
    found = entry.statistic.successes(jnp.asarray(table.reshape(prepared.shape)))  # type: ignore[attr-defined]
    return float(found[0]), float(found[1])


def _distribution(entry: _Entry, sample: Sample, parts: dict[str, Any]) -> Any:
    statistic = entry.statistic
    if getattr(statistic, "has_fixed_trials", False):
        return ProportionDistribution(parts["count"], parts["nobs"])
    if hasattr(statistic, "row_values"):
        return mean_distribution(_row_values(statistic, sample))
    return quantile_distribution(np.sort(_ordered_values(entry, sample)), float(statistic.q))  # type: ignore[attr-defined]


def _undefined(entry: _Entry) -> str:
    task = entry.statistic.task
    if task in ("binary", "multiclass"):
        return f"{entry.request.name} is undefined on these data (a class may be absent); there is no interval"
    return f"{entry.request.name} is undefined on these data; there is no interval"


def _finish(entry: _Entry, sample: Sample, layout: Layout, settings: Settings, rng: Randomness) -> IntervalResult:
    """Compute bounds, clip them, and say what a reader should know."""
    method = entry.method
    assert method is not None
    remarks = list(entry.remarks)
    error = entry.standard_error
    if math.isnan(entry.estimate):
        bounds = Bounds(math.nan, math.nan)
        remarks = [_undefined(entry)]
    else:
        evidence = _evidence(entry, sample, layout)
        bounds = method.bounds(evidence, settings.tails)
        remarks += bounds.remarks
        error = _standard_error(entry, evidence)
    low, high = float(bounds.low), float(bounds.high)
    bottom, top = entry.statistic.bounds
    if low < bottom or high > top:
        low, high = max(low, bottom), min(high, top)
        remarks.append(f"the {method.name} interval left the range [{bottom:g}, {top:g}] and was clipped to it")
    if low == high and not any("width" in r for r in remarks):
        remarks.append("the interval has zero width: the data show no variation in this statistic")
    drawn = entry.replicates is not None
    if drawn:
        remarks += _bank_remarks(entry, settings)
    return IntervalResult(
        statistic=entry.request.name,
        estimate=entry.estimate,
        confidence_interval=ConfidenceInterval(low, high),
        standard_error=error,
        method=method.name,
        reason=entry.reason,
        confidence_level=settings.confidence_level,
        alternative=settings.alternative,
        n=layout.n_units,
        n_resamples=settings.n_resamples if drawn else 0,
        bootstrap_distribution=entry.replicates,
        rng=rng.record if drawn else None,
        warnings=tuple(dict.fromkeys(remarks)),
    )


def _standard_error(entry: _Entry, evidence: Evidence) -> float:
    """Return the standard error that goes with the interval; NaN where there is none."""
    if not math.isnan(entry.standard_error):
        return entry.standard_error
    if evidence.auc is not None:
        return math.sqrt(evidence.auc.variance) if evidence.auc.variance >= 0 else math.nan
    if evidence.curvature is not None:
        return float(evidence.curvature.standard_error)
    if evidence.replicates is not None:
        values = evidence.replicates[~np.isnan(evidence.replicates)]
        return float(np.std(values, ddof=1)) if values.size > 1 else math.nan
    if evidence.distribution is not None:
        error = float(evidence.distribution.standard_error)
        root = getattr(entry.statistic, "link", "identity") == "sqrt"
        return error / (2 * entry.estimate) if root and entry.estimate > 0 else error
    if evidence.count is not None and evidence.nobs:
        return math.sqrt(entry.estimate * (1 - entry.estimate) / evidence.nobs)
    if evidence.values is not None and is_mean(entry.statistic):
        return float(np.std(evidence.values, ddof=1)) / math.sqrt(len(evidence.values))
    return math.nan


def _bank_remarks(entry: _Entry, settings: Settings) -> list[str]:
    assert entry.replicates is not None
    remarks = []
    undefined = int(np.isnan(entry.replicates).sum())
    if undefined:
        share = 100 * undefined / settings.n_resamples
        remarks.append(
            f"the statistic was undefined in {undefined} of {settings.n_resamples} resamples ({share:.2g}%); "
            "the interval is read from the others"
        )
    if entry.absent > undefined and hasattr(entry.statistic, "absent_class"):
        remarks.append(
            f"a class was absent from {entry.absent} of {settings.n_resamples} resamples; "
            "see absent_class for what they count as"
        )
    return remarks
