"""Metrics by group, with differences that allow for their number."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy import special

from jaxci.api.readers.arrays import check_lengths
from jaxci.api.readers.label_remarks import of_near_names
from jaxci.api.readers.labels import label_values
from jaxci.api.readers.layout import arranged
from jaxci.api.subgroup_differences import (
    Along,
    ToAll,
    compared,
    errors_of,
    independent,
    of_clusters,
    sizes_of,
    widening,
)
from jaxci.api.subgroup_results import Gap, Subgroup, SubgroupTable
from jaxci.checks import check_distinct, shown
from jaxci.inference.design import unit_influence
from jaxci.inference.engine import intervals
from jaxci.inference.joint import joint_replicates
from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import NoInterval
from jaxci.intervals.capabilities import is_exaggerated, knows_mistakes, lies_between, scores_absent_classes
from jaxci.intervals.differences import Ends
from jaxci.intervals.multiple import FEW, bonferroni_level
from jaxci.printing import ConfidenceInterval
from jaxci.results import EvaluationTable, IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

BORROWED = 100
"""Rows whose spread a group takes from all others, for a mean of values without a bound."""
ROUNDING = 1e-9
"""Share of a variance below which the sum of squares of what rows contribute is rounding."""
LEAST = 6
"""Rows, or clusters, that a group must have to be compared by a metric that knows nothing of what was not seen."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one data set, what is asked of them, and how they are resampled."""

    sample: Sample
    requests: tuple[Request, ...]
    settings: Settings
    source: Randomness
    columns: Mapping[str, np.ndarray | None]
    weight_type: str

    @property
    def groups(self) -> np.ndarray | None:
        """Cluster of every row."""
        return self.columns["groups"]

    def of(self, rows: np.ndarray, number: int) -> list[IntervalResult]:
        """Return the intervals of some rows, or what says why there are none."""
        given = self.columns["sample_weight"]
        weights = np.ones(self.sample.n) if given is None else np.asarray(given)
        counted = rows[weights[rows] > 0]
        if self.groups is None:
            what, units = "row", float(np.sum(weights[rows])) if self.weight_type == "frequency" else len(counted)
        else:
            what, units = "cluster", len(np.unique(self.groups[counted]))
        if units < 2:
            why = f"a group of one {what} has no interval" if units else "a group without weight has no interval"
            return [self._nothing(request, counted, why) for request in self.requests]
        columns: dict[str, Any] = {name: None if x is None else x[rows] for name, x in self.columns.items()}
        sample, layout = arranged(self.sample.take(rows), **columns, weight_type=self.weight_type)
        source = Randomness(jax.random.fold_in(self.source.key, number))  # groups are resampled apart
        return intervals(self.requests, sample, layout, self.settings, source)

    def at(self, level: float, request: Request) -> Rows:
        """Return the same rows, of which one thing is asked at a confidence level."""
        return dataclasses.replace(
            self, requests=(request,), settings=dataclasses.replace(self.settings, confidence_level=level)
        )

    def _nothing(self, request: Request, rows: np.ndarray, why: str) -> IntervalResult:
        nan = math.nan
        return IntervalResult(
            request.name, nan, ConfidenceInterval(nan, nan), nan, "none", why, self.settings.confidence_level,
            "two-sided", len(rows), warnings=(why,),
        )  # fmt: skip

    def straddle(self, codes: np.ndarray) -> bool:
        """Whether clusters have rows of several groups."""
        if self.groups is None:
            return False
        units = np.unique(self.groups, return_inverse=True)[1]
        first = np.zeros(units.max() + 1, np.int64)
        first[units] = codes
        return bool(np.any(first[units] != codes))

    def shared(self, request: Request, codes: np.ndarray, size: int) -> np.ndarray:
        """Return replicates (2 G + 1, B) of a metric of G groups, of what is left without each, and of all rows.

        Resamples are of clusters, which take their rows of all groups along.
        """
        assert self.groups is not None
        masks = [codes == g for g in range(size)]
        masks += [~mask for mask in masks]
        layouts = self._layouts([*masks, np.ones(len(codes), bool)])
        return joint_replicates(request.statistic, [self.sample] * len(layouts), layouts, self.settings, self.source)

    def _layouts(self, masks: Sequence[np.ndarray]) -> list[Layout]:
        """Return layouts of all rows in which only those of a mask (n,) weigh anything."""
        units = None if self.groups is None else np.unique(self.groups, return_inverse=True)[1].astype(np.int32)
        given = self.columns["sample_weight"]
        weights = np.ones(self.sample.n) if given is None else given.astype(float)
        return [Layout(self.sample.n, units, None, np.where(mask, weights, 0.0)) for mask in masks]

    def along_whole(self, statistic: Statistic, codes: np.ndarray, errors: np.ndarray) -> Along | None:
        """Return how a statistic of all rows goes along with those of G independent groups; None where not known.

        By the influence of each row, or cluster, on both; ``errors`` (2 G + 1,) are those of groups, of what is left
        without each, and of all rows. What has no mistakes to tell by goes along as a mean does.
        """
        size = len(errors) // 2
        masks = [codes == g for g in range(size)]
        masks += [~mask for mask in masks]
        layouts = self._layouts([*masks, np.ones(len(codes), bool)])
        found = []
        for layout, error in zip(layouts, errors, strict=True):
            influence = unit_influence(statistic, self.sample, layout)
            if influence is None:
                return None
            influence = self._spread(influence, layout)
            length = np.linalg.norm(influence)  # of a quantile it is that of the share below
            found.append(influence if statistic.smooth or length == 0 else influence * (error / length))
        whole, parts = found[-1], np.array(found[:-1])
        given = self.columns["sample_weight"]
        weights = np.ones(len(codes)) if given is None else given.astype(float)
        shares = np.array([weights[mask].sum() for mask in masks]) / weights.sum()
        squares, total = np.sum(parts**2, axis=1), float(whole @ whole)
        least = ROUNDING * errors**2
        told = (squares > least[:-1]) & (total > least[-1])
        moved = np.divide(parts @ whole, squares, out=shares, where=told)
        known = moved**2 * squares
        left = 1 - (known[:size] + known[size:]) / total if total > least[-1] else np.zeros(size)
        return Along(moved[:size], moved[size:], np.clip(left, 0.0, 1.0))

    def _spread(self, influence: np.ndarray, layout: Layout) -> np.ndarray:
        """Return what units contribute (U,) as they vary: rows of a frequency apart, within strata from their mean."""
        assert layout.row_weights is not None
        if self.groups is not None:
            return influence
        weights, strata = layout.row_weights, self.columns["strata"]
        counts = weights if self.weight_type == "frequency" else (weights > 0).astype(float)
        each = np.divide(influence, counts, out=np.zeros(len(counts)), where=counts > 0)
        if strata is not None:
            codes = np.unique(strata, return_inverse=True)[1]
            held = np.bincount(codes, counts)
            mean = np.divide(np.bincount(codes, influence), held, out=np.zeros(len(held)), where=held > 0)
            each = each - mean[codes]
        return each * np.sqrt(counts)

    def without_classes(self, codes: np.ndarray, size: int) -> np.ndarray:
        """Return whether G groups, what is left without each, and all rows (2 G + 1,) lack a class that rows have."""
        truth = self.sample.y_true[: self.sample.n]
        counts = np.zeros((size, int(truth.max()) + 1), np.int64)
        np.add.at(counts, (codes, truth), 1)
        whole = counts.sum(axis=0)
        lacking: np.ndarray = np.any((np.vstack([counts, whole - counts, whole]) == 0) & (whole > 0), axis=1)
        return lacking

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        assert self.groups is not None
        return len(np.unique(self.groups))


def by_group(rows: Rows, overall: EvaluationTable, by: Any) -> SubgroupTable:
    """Return the metrics of ``rows`` in the groups of every column of ``by``, and in their crossing."""
    found: list[Subgroup] = []
    gaps: list[Gap] = []
    columns = _columns(by, rows.sample.n)
    single = [*columns.items()][: max(1, len(columns) - 1)]  # the last of several is their crossing
    said = of_near_names({f"by[{name!r}]": column for name, column in single})
    number, level = itertools.count(1), rows.settings.confidence_level
    for name, column in columns.items():
        labels, codes = np.unique(column, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(f"by must name at least two groups; all rows of {name!r} are {shown(labels[0])}")
        members = [np.flatnonzero(codes == g) for g in range(len(labels))]
        tables = [rows.of(one, next(number)) for one in members]
        others = tables[::-1]  # of two groups the rest is the other one, with the same resamples
        if len(labels) > 2:
            others = [rows.of(np.flatnonzero(codes != g), next(number)) for g in range(len(labels))]
        shared = rows.straddle(codes)
        if shared:
            said.append(f"clusters have rows in several groups of {name!r}: differences allow for that")
            if rows.n_clusters < FEW:
                said.append(
                    f"{rows.n_clusters} clusters are too few for max-t: differences by {name!r} are adjusted by Holm "
                    "and Bonferroni"
                )
        for place, request in enumerate(rows.requests):
            own, rest = [table[place] for table in tables], [table[place] for table in others]
            whole = overall.rows[place]
            estimates = [*own, *rest, whole]
            ends = _ends(estimates, request.statistic, level, shared)
            few, without = _few(estimates, ends, request.statistic), np.zeros(len(estimates), bool)
            if scores_absent_classes(request.statistic):
                without = rows.without_classes(codes, len(labels))
            if without.any():
                said.append(f"groups of {name!r} without rows of every class are not compared by {request.name!r}")
            if (few & ~without).any():
                what = "rows" if rows.groups is None else "clusters"
                fewer = f"groups of fewer than {LEAST} {what} in {name!r}, or without variation, are"
                said.append(f"{fewer} not compared by {request.name!r}")
            few |= without
            if is_exaggerated(request.statistic):
                said.append(
                    f"{request.name!r} is larger the fewer rows there are: groups of {name!r} are not compared by it"
                )
                few[:] = True
            to_all = ToAll.BETWEEN if lies_between(request.statistic) else ToAll.OWN
            if shared:
                replicates = rows.shared(request, codes, len(labels))
                apart = of_clusters(ends, replicates, rows.n_clusters, level, not _is_bounded_mean(request.statistic))
            else:
                ordered = isinstance(request.statistic, OrderStatistic)
                if ordered or np.isnan([one.standard_error for one in estimates]).any():
                    parts = [*members, *(np.flatnonzero(codes != g) for g in range(len(labels))), np.arange(len(codes))]
                    ends = _reaching(ends, rows.at(bonferroni_level(level, len(labels)), request), parts, level)
                along = None
                if to_all is ToAll.OWN:
                    along = rows.along_whole(request.statistic, codes, errors_of(estimates, ends, level))
                    to_all = ToAll.UNKNOWN if along is None else ToAll.OWN
                apart = independent(estimates, ends, level, along)
            most = float(np.diff(request.statistic.bounds)[0])
            entries, gap = compared(estimates, few, apart, level, most, to_all)
            for label, one, size, (to_rest, to_whole) in zip(labels, own, sizes_of(own), entries, strict=True):
                found.append(Subgroup(name, str(label), int(size), one, to_rest, to_whole, apart.least))
            if gap is not None:
                high, low, found_gap = gap
                gaps.append(Gap(name, request.name, str(labels[high]), str(labels[low]), *found_gap))
    return SubgroupTable(
        overall.rows, overall.n, overall.rng, (*overall.warnings, *said), subgroups=tuple(found), gaps=tuple(gaps)
    )


def _columns(by: Any, n: int) -> dict[str, np.ndarray]:
    """Return the columns of groups by name, and after several of them their crossing."""
    if isinstance(by, Mapping):
        check_distinct("by", [str(name) for name in by])
        given = {str(name): column for name, column in by.items()}
    elif hasattr(by, "columns") and hasattr(by, "__getitem__"):  # a frame of any library
        check_distinct("by", [str(name) for name in by.columns])
        given = {str(name): by[name] for name in by.columns}
    else:
        given = {str(getattr(by, "name", None) or "group"): by}
    if not given:
        raise ValueError("by must hold at least one column; got none")
    columns = {name: label_values(f"by[{name!r}]", column) for name, column in given.items()}
    check_lengths({"the data": n, **{f"by[{name!r}]": len(column) for name, column in columns.items()}})
    for name, column in columns.items():
        if len(np.unique(column)) == n:
            raise ValueError(
                f"by must hold groups of rows; in {name!r} each of the {n} rows is a group of its own: cut numbers "
                "into classes"
            )
    if len(columns) > 1:
        crossed = [
            ", ".join(f"{k} = {v}" for k, v in zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        columns[" x ".join(columns)] = np.array(crossed)
    return columns


def _ends(estimates: Sequence[IntervalResult], statistic: Statistic, level: float, shared: bool) -> Ends:
    """Return the intervals that differences of G groups, of what is left without each, and of all rows follow from.

    A small group may hold none of the large values of a mean without a bound, and does not know then how it varies. On
    a side without a bound its interval reaches at least as far as with ``BORROWED`` rows that spread as all others; of
    ``shared`` clusters, whose skewness differences may lack, the interval is that.
    """
    ends = Ends(*np.transpose([(one.estimate, *one.confidence_interval) for one in estimates]))
    if not _is_unbounded_mean(statistic):
        return ends
    sizes = sizes_of(estimates)
    variances = errors_of(estimates, ends, level) ** 2 * sizes
    others = np.append(np.roll(variances[:-1], len(estimates) // 2), variances[-1])
    pooled = (sizes * variances + BORROWED * others) / (sizes + BORROWED)
    margins = float(special.ndtri((1 + level) / 2)) * np.sqrt(pooled / sizes)
    low, high = ends.estimate - margins, ends.estimate + margins
    if shared:
        return Ends(ends.estimate, low, high)
    bottom, top = np.isfinite(statistic.bounds)
    return Ends(
        ends.estimate,
        ends.low if bottom else np.minimum(ends.low, low),
        ends.high if top else np.maximum(ends.high, high),
    )


def _few(estimates: Sequence[IntervalResult], ends: Ends, statistic: Statistic) -> np.ndarray:
    """Return which groups, rests and all rows are too few to be compared, or do not vary in resamples.

    Resamples of 2 rows have a correlation of 1, or a deviation near 0, and R2 of equal targets is 0 whatever the model
    does: a metric that is no mean, and does not know what mistakes that were not seen would do, says nothing of these.
    What does not vary tells nothing of what others are like, whatever the metric.
    """
    of_few_values = isinstance(statistic, OrderStatistic)  # quantiles of many rows may be one of few values
    still = np.zeros(len(estimates), bool) if of_few_values else ends.low == ends.high
    if isinstance(statistic, MeanStatistic) or knows_mistakes(statistic):
        return still
    return still | [one.n < LEAST for one in estimates]


def _is_bounded_mean(statistic: Statistic) -> bool:
    """Whether the statistic is a mean of values with bounds on both sides, or the root of one."""
    return isinstance(statistic, MeanStatistic) and bool(np.isfinite(statistic.bounds).all())


def _is_unbounded_mean(statistic: Statistic) -> bool:
    """Whether the statistic is a mean of values that have no bound on a side, or the root of one."""
    return isinstance(statistic, MeanStatistic) and not _is_bounded_mean(statistic)


def _reaching(ends: Ends, rows: Rows, parts: Sequence[np.ndarray], level: float) -> Ends:
    """Return intervals that, as much wider as normal ones are at the level of ``rows``, hold theirs of all ``parts``.

    Intervals for quantiles, and others without a standard error, may grow faster with their level than normal ones.
    Parts of too few rows for that level keep theirs.
    """

    def interval_of(part: np.ndarray) -> tuple[float, float]:
        try:
            low, high = rows.of(part, 0)[0].confidence_interval
        except NoInterval:
            return math.nan, math.nan
        return low, high

    further = np.transpose([interval_of(part) for part in parts])
    wider = widening(level, rows.settings.confidence_level)
    low, high = (ends.estimate + (end - ends.estimate) / wider for end in further)
    return Ends(ends.estimate, np.fmin(ends.low, low), np.fmax(ends.high, high))
