"""Metrics by group, with differences that allow for their number."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import special

from jaxci.api.readers.arrays import check_lengths
from jaxci.api.readers.labels import label_values
from jaxci.api.readers.layout import arranged
from jaxci.api.subgroup_results import Contrast, Gap, Subgroup, SubgroupTable
from jaxci.checks import check_distinct, shown
from jaxci.inference.engine import intervals
from jaxci.inference.joint import joint_replicates
from jaxci.inference.randomness import Randomness
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import NoInterval
from jaxci.intervals.capabilities import knows_mistakes
from jaxci.intervals.differences import Difference, Ends, recovered, studentized
from jaxci.intervals.multiple import FEW, Pairs, adjusted_pvalues, bonferroni_level, simultaneous_level, step_down
from jaxci.printing import ConfidenceInterval
from jaxci.results import EvaluationTable, IntervalResult
from jaxci.statistics.averaged import AveragedStatistic
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

DRAWS = 100_000
"""Normal draws that the critical values of several differences are read from."""
BORROWED = 100
"""Rows whose spread a group takes from all others, for a mean of values without a bound."""
LEAST = 6
"""Rows, or clusters, that a group must have to be compared by a metric that knows nothing of what was not seen."""
STILL = 1e-9
"""Share of its size below which the deviation of replicates is rounding."""


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
        units = np.unique(self.groups, return_inverse=True)[1].astype(np.int32)
        given = self.columns["sample_weight"]
        weights = np.ones(len(codes)) if given is None else given.astype(float)
        masks = [codes == g for g in range(size)]
        masks += [~mask for mask in masks] + [np.ones(len(codes), bool)]
        layouts = [Layout(len(codes), units, None, np.where(mask, weights, 0.0)) for mask in masks]
        return joint_replicates(request.statistic, [self.sample] * len(layouts), layouts, self.settings, self.source)

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


class Apart(NamedTuple):
    """How estimates differ: some differences from their numbers, and the law of all of them, in draws.

    ``difference`` is called with two arrays of numbers and the level of the intervals. Draws of ``few`` clusters do not
    tell how far the largest difference may be.
    """

    difference: Callable[[np.ndarray, np.ndarray, float], Difference]
    draws: Pairs
    few: bool = False

    def together(self, which: Sequence[tuple[int, int]], level: float) -> float:
        """Return the level of the intervals of some differences at which all hold together at ``level``."""
        if self.few:
            return bonferroni_level(level, len(which))
        return simultaneous_level(self.draws.largest(which), level, len(which))

    def adjusted(self, which: Sequence[tuple[int, int]], found: Difference) -> np.ndarray:
        """Return the p-values of some differences, adjusted for their number; NaN where they are."""
        if self.few:
            adjusted = adjusted_pvalues(found.pvalue, "holm")
        else:
            z = np.nan_to_num(found.z, nan=0.0, posinf=1e9, neginf=-1e9)
            adjusted = np.fmax(step_down(z, lambda i: self.draws.of(*which[i])), found.pvalue)
        return np.where(np.isnan(found.z), np.nan, adjusted)

    @property
    def least(self) -> float:
        """The smallest adjusted p-value that draws show."""
        return 0.0 if self.few else 1 / (1 + self.draws.apart.shape[1])


def _widening(level: float, together: float) -> float:
    """Return how much wider normal intervals are at the level ``together`` than at ``level``."""
    return float(special.ndtri((1 + together) / 2) / special.ndtri((1 + level) / 2))


def by_group(rows: Rows, overall: EvaluationTable, by: Any) -> SubgroupTable:
    """Return the metrics of ``rows`` in the groups of every column of ``by``, and in their crossing."""
    found: list[Subgroup] = []
    gaps: list[Gap] = []
    said = []
    number, level = itertools.count(1), rows.settings.confidence_level
    for name, column in _columns(by, rows.sample.n).items():
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
            ends, few = _ends(estimates, request.statistic, level, shared), _few(estimates, request.statistic)
            if (
                _scores_absent_classes(request.statistic)
                and (without := rows.without_classes(codes, len(labels))).any()
            ):
                few = few | without
                said.append(f"groups of {name!r} without rows of every class are not compared by {request.name!r}")
            elif few.any():
                what = "rows" if rows.groups is None else "clusters"
                fewer = f"groups of fewer than {LEAST} {what} in {name!r}, or without variation, are"
                said.append(f"{fewer} not compared by {request.name!r}")
            if shared:
                replicates = rows.shared(request, codes, len(labels))
                apart = _of_clusters(ends, replicates, rows.n_clusters, level, _is_unbounded_mean(request.statistic))
            else:
                ordered = isinstance(request.statistic, OrderStatistic)
                if ordered or np.isnan([one.standard_error for one in estimates]).any():
                    parts = [*members, *(np.flatnonzero(codes != g) for g in range(len(labels))), np.arange(len(codes))]
                    ends = _reaching(ends, rows.at(bonferroni_level(level, len(labels)), request), parts, level)
                apart = _independent(estimates, ends, level)
            entries, gap = _compared(estimates, few, apart, level, float(np.diff(request.statistic.bounds)[0]))
            for label, one, size, (to_rest, to_whole) in zip(labels, own, _sizes(own), entries, strict=True):
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
    sizes = _sizes(estimates)
    variances = _errors(estimates, ends, level) ** 2 * sizes
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


def _few(estimates: Sequence[IntervalResult], statistic: Statistic) -> np.ndarray:
    """Return which groups, rests and all rows are too few to be compared, or do not vary in resamples.

    Resamples of 2 rows have a correlation of 1, or a deviation near 0, and R2 of equal targets is 0 whatever the model
    does: a metric that is no mean, and does not know what mistakes that were not seen would do, says nothing of these.
    """
    if isinstance(statistic, MeanStatistic) or knows_mistakes(statistic):
        return np.zeros(len(estimates), bool)
    few = np.array([one.n < LEAST for one in estimates])
    if isinstance(statistic, OrderStatistic):  # quantiles of many rows may be one of few values
        return few
    return few | [np.ptp(one.confidence_interval) == 0 for one in estimates]


def _scores_absent_classes(statistic: Statistic) -> bool:
    """Whether classes without rows count in a plain mean of scores, by a convention that says nothing of the model."""
    if not isinstance(statistic, AveragedStatistic):
        return False
    return statistic.averages_hits and statistic.absent_class != "skip"


def _is_unbounded_mean(statistic: Statistic) -> bool:
    """Whether the statistic is a mean of values that have no bound on a side, or the root of one."""
    return isinstance(statistic, MeanStatistic) and not np.isfinite(statistic.bounds).all()


def _sizes(estimates: Sequence[IntervalResult]) -> np.ndarray:
    """Return the numbers of rows, repeated ones of a frequency."""
    return np.array([one.n_rows or one.n for one in estimates], float)


def _errors(estimates: Sequence[IntervalResult], ends: Ends, level: float) -> np.ndarray:
    """Return standard errors; where a method has none, or 0, those of a normal interval as wide.

    A group without a mistake has an error of 0, and yet it varies: were its draws all 0, differences to it would hang
    together more than they do.
    """
    known = np.array([one.standard_error for one in estimates], float)
    as_wide = (ends.high - ends.low) / (2 * float(special.ndtri((1 + level) / 2)))
    return np.nan_to_num(np.where(known > 0, known, as_wide), nan=0.0, posinf=0.0)


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
    wider = _widening(level, rows.settings.confidence_level)
    low, high = (ends.estimate + (end - ends.estimate) / wider for end in further)
    return Ends(ends.estimate, np.fmin(ends.low, low), np.fmax(ends.high, high))


def _independent(estimates: Sequence[IntervalResult], ends: Ends, level: float) -> Apart:
    """Return differences of G groups, of what is left without each, and of all rows, where groups are independent.

    All rows are a mean of groups by size, to the first order; what is left without one is that of the others. Draws
    are normal.
    """
    size = len(estimates) // 2
    sizes = _sizes(estimates[:size])
    errors = _errors(estimates, ends, level)
    shares = np.concatenate([np.eye(size), np.tile(sizes, (size + 1, 1))])
    shares[size + np.arange(size), np.arange(size)] = 0.0
    totals = shares.sum(axis=1, keepdims=True)
    parts = shares / np.where(totals > 0, totals, 1.0) * errors[:size]
    lengths = np.sqrt(np.sum(parts**2, axis=1, keepdims=True))
    parts = parts / np.where(lengths > 0, lengths, 1.0)
    known = parts @ parts.T

    drawn, weights = _normal_draws(size), sizes * errors[:size]
    others = np.sqrt(np.sum((shares[size:] * errors[:size]) ** 2, axis=1))
    scales = np.divide(errors[size:], others, out=np.zeros(size + 1), where=others > 0)
    total, draws = weights @ drawn, np.empty((2 * size + 1, DRAWS))
    np.multiply(errors[:size, None], drawn, out=draws[:size])
    np.multiply(-weights[:, None], drawn, out=draws[size:-1])
    draws[size:-1] += total
    draws[-1] = total
    draws[size:] *= scales[:, None]

    def difference(i: np.ndarray, j: np.ndarray, together: float) -> Difference:
        return recovered(ends.at(i), ends.at(j), known[i, j], level, _widening(level, together))

    return Apart(difference, Pairs(draws))


@functools.lru_cache(maxsize=4)
def _normal_draws(size: int) -> np.ndarray:
    """Return a table (size, DRAWS) that critical values are read from: the same for the same data."""
    drawn = np.random.default_rng(0).standard_normal((size, DRAWS))
    drawn.flags.writeable = False
    return drawn


def _of_clusters(ends: Ends, replicates: np.ndarray, n_clusters: int, level: float, unbounded: bool) -> Apart:
    """Return differences of groups that share clusters: t intervals by the deviation of replicates.

    Resamples of C of C clusters vary by the share (C - 1) / C of what C clusters do, to the first order.
    A group without an error does not vary in resamples, and of a mean without a bound a small one may vary too little.
    There a difference is as wide as follows from its intervals at least, times ``sqrt(1 - r)``: for a correlation
    r >= 0 it has at least the share 1 - r of the variances of both.
    """
    draws = Pairs(np.nan_to_num(replicates - np.nanmean(replicates, axis=1, keepdims=True), nan=0.0))
    still = np.abs(draws.apart).max(axis=1) <= STILL * np.abs(ends.estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.where(still | still[:, None], 0.0, np.nan_to_num(np.corrcoef(draws.apart)).clip(0.0, 1.0))

    def difference(i: np.ndarray, j: np.ndarray, together: float) -> Difference:
        drawn = np.array([np.sqrt(np.mean(draws.apart_from(*pair) ** 2)) for pair in zip(i, j, strict=True)])
        error = math.sqrt(n_clusters / (n_clusters - 1)) * drawn
        known = studentized(ends.estimate[i], ends.estimate[j], error, n_clusters - 1, together)
        share, wider = np.sqrt(1 - alike[i, j]), _widening(level, together)
        least = recovered(_part(ends.at(i), share), _part(ends.at(j), share), 0.0, level, wider)
        floored = unbounded | still[i] | still[j]
        return Difference(
            known.estimate,
            np.where(floored, np.fmin(known.low, least.low), known.low),
            np.where(floored, np.fmax(known.high, least.high), known.high),
            np.where(floored & (np.abs(least.z) < np.abs(known.z)), least.z, known.z),
        )

    return Apart(difference, draws, n_clusters < FEW)


def _part(ends: Ends, share: np.ndarray) -> Ends:
    """Return intervals with a share of their margins."""
    return Ends(
        ends.estimate,
        ends.estimate - share * (ends.estimate - ends.low),
        ends.estimate + share * (ends.high - ends.estimate),
    )


def _compared(
    estimates: Sequence[IntervalResult], few: np.ndarray, apart: Apart, level: float, most: float
) -> tuple[list[tuple[Contrast, Contrast]], tuple[int, int, tuple[float, float, float]] | None]:
    """Return the differences of every group to the rest and to all rows, and the largest gap between groups.

    No difference is larger than ``most``, the range of the statistic; none is known of what is ``few``.
    """
    size = len(estimates) // 2

    def contrasts(targets: Sequence[int]) -> list[Contrast]:
        which = list(zip(range(size), targets, strict=True))
        i, j = np.transpose(which)
        found = apart.difference(i, j, apart.together(which, level))
        unknown = few[i] | few[j]
        found = Difference(*(np.where(unknown, np.nan, x) for x in found))
        columns = (found.estimate, found.low, found.high, found.pvalue, apart.adjusted(which, found))
        return [Contrast(*row) for row in np.transpose(columns).tolist()]

    whole = estimates[-1].estimate
    both = [
        (_within(rest, most), _within(_to_whole(rest, own.estimate - whole), most))
        for rest, own in zip(contrasts(range(size, 2 * size)), estimates[:size], strict=True)
    ]
    seen = [g for g in range(size) if not (few[g] or math.isnan(estimates[g].confidence_interval.low))]
    if len(seen) < 2:
        return both, None
    which = [
        (i, j) if estimates[i].estimate >= estimates[j].estimate else (j, i) for i, j in itertools.combinations(seen, 2)
    ]
    i, j = np.transpose(which)
    found = apart.difference(i, j, apart.together(which, level))
    high, low = which[int(np.argmax(found.estimate))]
    largest = float(np.fmax.reduce(np.fmax(found.high, -found.low)))
    least = max(0.0, float(np.fmax.reduce(found.low)))
    return both, (high, low, (float(found.estimate.max()), least, min(largest, most)))


def _within(found: Contrast, most: float) -> Contrast:
    """Return a difference whose interval is cut at what differences can be."""
    low, high = np.clip((found.low, found.high), -most, most).tolist()
    return found._replace(low=low, high=high)


def _to_whole(rest: Contrast, estimate: float) -> Contrast:
    """Return the difference of a group to all rows: that to the rest on the scale of its estimate, with its p-values.

    For a mean the scale is the share of the rows that are not in the group. Where both estimates differ in sign, or the
    rest's is 0, there is no scale: the margins are those of the rest, on the safe side as all rows vary less, and there
    are no p-values.
    """
    if estimate * rest.estimate > 0:
        scale = estimate / rest.estimate
        return rest._replace(estimate=estimate, low=scale * rest.low, high=scale * rest.high)
    if estimate == rest.estimate:
        return rest
    below, above = rest.estimate - rest.low, rest.high - rest.estimate
    return rest._replace(
        estimate=estimate, low=estimate - below, high=estimate + above, pvalue=math.nan, adjusted=math.nan
    )
